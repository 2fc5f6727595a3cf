"""A released histogram: counts of bins, what they add up to, and bars.

All here is computed from noisy counts, so it costs nothing. Sums of bins have errors of their own:
the noise that they are made of is drawn again and added up in the same way, since errors cancel in
part where coarser bins or margins were counted too (`release.plane`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpframe.aggregates.base import nearest_integer
from dpframe.aggregates.compile import Compiled
from dpframe.bounds.keys import covers_every_row
from dpframe.bounds.rows import Stored
from dpframe.errors import ParameterError
from dpframe.mechanisms import Law
from dpframe.plan.bins import Wish
from dpframe.plan.functions.base import exactly
from dpframe.plan.shown import Axis, Levels, Shown
from dpframe.release.bars import html_bars, text_bars
from dpframe.release.intervals import checked
from dpframe.release.ladder import Floats, Whole
from dpframe.release.noisy import Mixed
from dpframe.release.nonnegative import nearest_counts
from dpframe.release.plane import Plane
from dpframe.release.ranges import (
    Rectangles,
    alike,
    cells_of,
    drawn,
    draws_for,
    every_cell,
    half_width,
    place_of,
    place_of_category,
    sums_of,
)
from dpframe.release.table import CONFIDENCE, Release
from dpframe.release.windows import ROW

_MOST_ADJUSTED = 4_000
"""Counts up to which a public total makes error bars of sums on levels smaller; beyond, it would
not show."""


class Histogram(Release):
    """A noisy count for each bin. `between` adds bins up, with the error of the sum."""

    _shown: Shown
    _plane: Plane
    _reason: str
    """Why coarser counts were measured, or were not."""
    _sums: Mapping[str, Rectangles]
    """For each column, the bins that each row of a group adds up."""
    _axes: tuple[Axis, ...]
    """Those that can be added up: none where groups have different bins."""
    _numbers: tuple[Whole, ...]
    """The numbers of the bins of each axis that declared values can be in."""
    _groups: int
    _heads: pl.DataFrame
    """The keys of each group."""
    _every: pl.DataFrame
    """The table of all bins."""
    _drawn: dict[int, Floats]
    """Errors that were drawn, by their number: ranges have the same ones."""
    _halves: dict[tuple[tuple[int, int], float], float]
    """Half widths that were found, by the size of rectangles and the confidence."""

    @classmethod
    def of(
        cls, release: Release, shown: Shown, levels: Levels | None = None, reason: str = ""
    ) -> Histogram:
        """A release of counts as a histogram."""
        found = cls.__new__(cls)
        found.__dict__ |= release.__dict__
        found._intervals, found._drawn, found._halves = {}, {}, {}
        found._shown, found._reason = shown, reason
        rows = found._parts.compiled.groupings[0].frame
        numbers = cells_of(rows, [axis.key for axis in shown.axes])
        found._axes = shown.axes if numbers is not None else ()
        found._numbers = (np.arange(rows.height),) if numbers is None else numbers
        found._plane = Plane.over(found._numbers, levels)
        cells = max(1, found._plane.cells)
        found._groups = rows.height // cells
        by = shown.by if found._axes else ()
        found._heads = found._finished.select(*exactly(by), ROW)[::cells]
        found._sums = {shown.count: every_cell(found._plane.shape)}
        if shown.wish.cumulative:
            name = shown.wish.cumulative_name
            while name in found._finished.columns:
                name += "_"
            upto = every_cell(found._plane.shape)
            upto[:, 0] = 0
            found._sums = {**found._sums, name: upto}
        found._fill()
        found._every = found._finished
        return found

    # --- counts ----------------------------------------------------------------------------------

    @property
    def edges(self) -> tuple[Any, ...]:
        """The ends of the bins, of a histogram of one column with bins."""
        return self._edges(self._shown.axes[0])

    def _edges(self, axis: Axis) -> tuple[Any, ...]:
        return tuple(self._parts.compiled.bins.get(axis.key, ()))

    @cached_property
    def _counts(self) -> Floats:
        """The unbiased counts, by group, row and column of a plane.

        Under Gaussian noise, a unit beyond `max_rows` weighs differently on each level, and what
        is estimated for it lies between. Like all that declarations change, bars do not cover that.
        """
        values = self._parts.estimates(0)
        counts, start = [], 0
        for n, m in self._plane.sizes:
            end = start + n * m * self._groups
            counts.append(values[start:end].reshape(self._groups, n, m))
            start = end
        found = self._plane.estimate(counts) if self._plane.cells else counts[0]
        return found if self._total is None else self._with_total(found, self._total)

    @cached_property
    def _total(self) -> int | None:
        """The total that counts are to add up to, where it is public."""
        return public_total(self._parts.compiled) if self._wish.consistent else None

    @property
    def _wish(self) -> Wish:
        return self._shown.wish

    def _with_total(self, counts: Floats, total: float) -> Floats:
        """The counts that add up to a total and are nearest, as the covariance of noise measures.

        The last three axes are groups, rows and columns.
        """
        missing = total - counts.sum(axis=(-3, -2, -1), keepdims=True)
        found: Floats = counts + missing * (self._plane.shares / counts.shape[-3])
        return found

    @cached_property
    def _final(self) -> Floats:
        """The counts as they are shown, which post-processing may have biased."""
        if self._wish.consistent:
            flat = self._counts.reshape(self._groups, math.prod(self._plane.shape))
            return nearest_counts(flat, self._total).reshape(self._counts.shape)
        return self._counts

    def _fill(self) -> None:
        """Put the sums into the table."""
        columns = []
        for name, rectangles in self._sums.items():
            values = sums_of(self._final, rectangles).ravel()
            if self._wish.nonnegative:
                values = np.maximum(values, 0)
            columns.append(_whole(name, values))
        self._finished = self._finished.with_columns(columns).select(
            *exactly(c for c in self._finished.columns if c != ROW),
            *exactly(c.name for c in columns if c.name not in self._finished.columns),
            ROW,
        )

    # --- errors ----------------------------------------------------------------------------------

    def _bounds(self, confidence: float = CONFIDENCE) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        if checked(confidence) in self._intervals:
            return self._intervals[confidence]
        found = {}
        for name, rectangles in self._sums.items():
            halves = np.tile(self._half_widths(rectangles, confidence), self._groups)
            centre = np.rint(sums_of(self._counts, rectangles).ravel())
            low, high = centre - halves, centre + halves
            if self._wish.nonnegative or self._wish.consistent:
                low, high = np.maximum(low, 0), np.maximum(high, 0)
                shown = self._finished[name].to_numpy()
                low, high = np.minimum(low, shown), np.maximum(high, shown)
            found[name] = (low, high)
        self._intervals[confidence] = found
        return found

    def _half_widths(self, rectangles: Rectangles, confidence: float) -> NDArray[np.float64]:
        """What the errors of sums stay within; the same for every group, since noise is."""
        law, step = self._parts.laws[0], self._parts.layout.step(0)
        if not isinstance(law, Law | Mixed) or not self._plane.cells:  # it is public
            return np.zeros(len(rectangles))
        sizes = alike(rectangles)
        if not self._plane.has_levels and sizes is not None:
            groups = None if self._total is None else self._groups
            found = np.zeros(len(rectangles))
            for size, those in sizes.items():
                if (size, confidence) not in self._halves:
                    self._halves[size, confidence] = half_width(
                        self._plane, size, groups, law, step, confidence, self._source
                    )
                found[those] = self._halves[size, confidence]
            return found
        counts = sum(n * m for n, m in self._plane.sizes) * self._drawn_groups
        draws = draws_for(counts, confidence)
        if draws not in self._drawn:
            self._drawn[draws] = self._errors(draws)
        sums = np.abs(np.rint(sums_of(self._drawn[draws], rectangles)))
        return np.quantile(sums, confidence, axis=0, method="inverted_cdf")

    @property
    def _drawn_groups(self) -> int:
        """How many groups are drawn at once: all that share a public total, else one."""
        cells = self._groups * self._plane.cells
        return self._groups if self._total is not None and cells <= _MOST_ADJUSTED else 1

    def _errors(self, draws: int) -> Floats:
        """Errors of the bins of one group, drawn anew: a plane per draw."""
        law, step = self._parts.laws[0], self._parts.layout.step(0)
        if not isinstance(law, Law | Mixed) or not self._plane.cells:  # it is public
            return np.zeros((draws, *self._plane.shape))
        groups = self._drawn_groups
        counts = [
            drawn(law, draws * groups * n * m, self._source).reshape(-1, n, m) * step
            for n, m in self._plane.sizes
        ]
        errors = self._plane.estimate(counts)
        if self._total is not None and groups == self._groups:
            errors = self._with_total(errors.reshape(draws, groups, *self._plane.shape), 0)[:, 0]
        return errors

    def redraws(self, draws: int) -> pl.DataFrame:
        """What the table may be without noise, `draws` times over; see `Release.redraws`."""
        frames = []
        shape = (draws, self._groups, *self._plane.shape)
        for error in self._errors(draws * self._groups).reshape(shape):
            sums = {n: sums_of(self._counts - error, which) for n, which in self._sums.items()}
            columns = [_whole(name, values.ravel()) for name, values in sums.items()]
            frames.append(self.frame.with_columns(columns))
        return pl.concat(frames)

    # --- ranges ----------------------------------------------------------------------------------

    def between(self, low: Any = None, high: Any = None) -> Histogram:
        """The rows between two edges of the bins, for each group: a sum of bins, at no cost.

        None is the first or the last edge. Of a plane, ranges go by their columns:
        `between({"age": (18, 65), "cost": (None, 1_000)})` is a rectangle, and a category is named,
        `{"ward": "er"}`. What is left out is added up whole. The error is that of the sum, which is
        far less than the errors of the bins together, above all where coarser counts were measured.
        """
        asked = low if isinstance(low, Mapping) else None
        if asked is None and len(self._axes) == 1:
            asked = {self._axes[0].title: (low, high)}
        bins = [axis for axis in self._axes if axis.has_bins]
        if asked is None or not bins:
            raise ParameterError(
                "there are no ranges of bins here" if not bins else "a plane has two ranges",
                why="ranges are those of bins, which have an order, and which all groups share"
                if not bins
                else f"its columns are {' and '.join(axis.title for axis in self._axes)}",
                fix='session.histogram("visits", "age", bins=11, epsilon=0.1).between(10, 50)'
                if not bins
                else f'between({{"{bins[0].title}": {self._edges(bins[0])[:2]!r}}})',
            )
        self._refuse_unknown(asked)
        ends, columns = [], []
        for axis, numbers in zip(self._axes, self._numbers, strict=True):
            kinds = [self._every.schema[name] for name in axis.columns]
            if axis.has_bins:
                edges = self._edges(axis)
                first, last = place_of(axis.title, edges, asked.get(axis.title, (None, None)))
                ends += np.searchsorted(numbers, [first, last]).tolist()
                values = [edges[first], edges[last]]
            elif axis.title in asked:
                keys = self._every[axis.columns[0]].unique(maintain_order=True).to_list()
                place = place_of_category(axis.title, keys, asked[axis.title])
                ends += [place, place + 1]
                values = [keys[place]]
            else:
                ends += [0, len(numbers)]
                continue
            named = zip(axis.columns, values, kinds, strict=True)
            columns += [pl.lit(v, dtype=kind).alias(name) for name, v, kind in named]
        ends += [0, 1] if len(ends) == 2 else []
        return self._with(self._heads.with_columns(columns), np.array([ends]))

    def margin(self, column: str) -> Histogram:
        """The histogram of one column of a plane: the sums of its rows or columns, at no cost.

        It counts the rows that are in the plane: those with a value in both columns. Its error is
        that of the sum. With `margins=True` it was measured itself where that is
        better, and the cells were made to agree with it.
        """
        titles = [axis.title for axis in self._axes]
        if len(titles) != 2 or not isinstance(column, str) or column not in titles:
            raise ParameterError(
                f"{column!r} is not one of the two columns of a plane",
                why=f"the columns of this histogram are {', '.join(titles) or 'not the same'}",
                fix='session.histogram("visits", ["age", "cost"], bins=11, margins=True,'
                ' epsilon=0.1).margin("age")',
            )
        own, (n, m) = titles.index(column), self._plane.shape
        rectangles = every_cell((n, 1) if own == 0 else (1, m))
        rectangles[:, [2, 3] if own == 0 else [0, 1]] = (0, m if own == 0 else n)
        rows = np.arange(self._every.height).reshape(self._groups, n, m)
        first = rows[:, :, 0] if own == 0 else rows[:, 0, :]
        names = (*self._shown.by, *self._axes[own].columns, ROW)
        return self._with(self._every[first.ravel()].select(exactly(names)), rectangles)

    def _refuse_unknown(self, asked: Mapping[str, Any]) -> None:
        titles = [axis.title for axis in self._axes]
        stray = [name for name in asked if name not in titles]
        if stray:
            raise ParameterError(
                f"between names {', '.join(map(repr, stray))}",
                why=f"the histogram is of {' and '.join(titles)}",
                fix=f'between({{"{titles[0]}": (low, high)}})',
            )

    def _with(self, frame: pl.DataFrame, rectangles: Rectangles) -> Histogram:
        """The same measurements, with other sums of bins shown."""
        found = copy.copy(self)
        found._intervals = {}
        found.__dict__.pop("errors", None)
        found._sums = {self._shown.count: rectangles}
        found._finished = frame
        found._fill()
        return found

    # --- display ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return text_bars(self.frame, self._bounds(), self._shown.count, self._caption())

    def _repr_html_(self) -> str:
        return html_bars(self.frame, self._bounds(), self._shown.count, self._caption())

    def _caption(self) -> str:
        lines = [super()._caption()]
        reason = f"; {self._reason}" if self._reason and not self.reused else ""
        if self._plane.margins or self._plane.has_levels or reason:
            lines.append(counts_text(self._plane) + reason)
        return "\n".join([*lines, *finish_text(self._wish, self._total is not None)])


def _whole(name: str, values: Floats) -> pl.Series:
    return pl.Series(name, values).to_frame().select(nearest_integer(pl.all())).to_series()


def public_total(compiled: Compiled) -> int | None:
    """The number of all rows, where it is public and every row is in some bin."""
    table, finest = compiled.table, compiled.groupings[0]
    if table.size is None or table.unit_column is not None or compiled.private:
        return None
    covered = all(covers_every_row(key, finest.public[name]) for name, key in finest.keys)
    # Joined or grouped rows are there or not, so their number is never public.
    whole = compiled.where is None and isinstance(compiled.source, Stored)
    return table.size if whole and covered else None


def counts_text(plane: Plane) -> str:
    """What was counted for each group, in words."""
    if plane.margins:
        n, m = plane.shape
        return f"{n * m:,} cells + {n:,} + {m:,} sums in the margins were counted, and agree"
    if plane.has_levels:
        axes = [axis.sizes for axis in (plane.rows, plane.columns) if axis.bins > 1]
        each = [" + ".join(f"{size:,}" for size in reversed(sizes)) for sizes in axes]
        counted = each[0] if len(each) == 1 else f"({each[0]}) x ({each[1]})"
        return f"{counted} counts of coarse and fine bins, which agree"
    return "counts of the bins alone"


def finish_text(wish: Wish, has_total: bool) -> list[str]:
    """What was done to the counts on request, and how that biases them."""
    if wish.consistent:
        whole = "the public number of rows" if has_total else "their noisy total"
        said = f"counts are not negative and add up to {whole}: nearly empty bins come out too"
        return [f"{said} large on average, and the others too small"]
    if wish.nonnegative:
        return ["counts below 0 were raised to 0: nearly empty bins come out too large"]
    return []

"""A released histogram: counts of bins, what they add up to, and bars.

All here is computed from noisy counts, so it costs nothing. Sums of bins have errors of their own:
the noise of the bins is drawn again and added up in the same way, since their errors cancel in part
where counts were measured on several levels (`release.ladder`).
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpframe.bounds.keys import covers_every_row
from dpframe.bounds.rows import Stored
from dpframe.errors import ParameterError
from dpframe.mechanisms import Law, Source
from dpframe.plan.bins import Shown
from dpframe.release.bars import html_bars, text_bars
from dpframe.release.ladder import Floats, Ladder
from dpframe.release.noisy import ROW, Mixed, Noise
from dpframe.release.nonnegative import nearest_counts
from dpframe.release.table import CONFIDENCE, Release

_DRAWN = 4_000_000
"""Noise that is drawn again for error bars, all bins together."""

_MOST_ADJUSTED = 4_000
"""Counts up to which a public total makes error bars smaller; beyond, it would not show."""

Runs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""For each row of a group, the first of its bins and the one after its last."""


@dataclass(frozen=True, slots=True)
class Finish:
    """What is done to the counts of a histogram on request."""

    cumulative: bool = False
    nonnegative: bool = False
    consistent: bool = False
    reason: str = ""
    """Why levels of bins were measured, or were not."""


class Histogram(Release):
    """A noisy count for each bin. `between` adds bins up, with the error of the sum."""

    _shown: Shown
    _ladder: Ladder
    _finish: Finish
    _runs: Mapping[str, Runs]
    _numbers: NDArray[np.int64]
    """The numbers of the bins that declared values can be in."""
    _groups: int
    _drawn: dict[int, Floats]
    """Errors that were drawn, by their number: ranges have the same ones."""

    @classmethod
    def of(cls, release: Release, shown: Shown, finish: Finish | None = None) -> Histogram:
        """A release of counts as a histogram."""
        found = cls.__new__(cls)
        found.__dict__ |= release.__dict__
        found._intervals = {}
        found._shown, found._finish = shown, finish or Finish()
        compiled = found._parts.compiled
        rows = compiled.groupings[0].frame
        numbers = _numbers(rows, len(shown.by), shown)
        if numbers is None:  # groups that have different bins: none of their ranges are alike
            found._shown = replace(shown, by=(), low=None)
            numbers = np.arange(rows.height)
        per_group = len(numbers)
        found._numbers = numbers
        found._groups = rows.height // max(1, per_group)
        found._drawn = {}
        found._ladder = Ladder.over(numbers, shown.ladder, max(1, len(compiled.sets)))
        each = np.arange(per_group)
        found._runs = {shown.count: (each, each + 1)}
        if found._finish.cumulative:
            name = "cumulative"
            while name in found._finished.columns:
                name += "_"
            found._runs = {**found._runs, name: (np.zeros_like(each), each + 1)}
        found._fill()
        return found

    # --- counts ----------------------------------------------------------------------------------

    @property
    def edges(self) -> tuple[Any, ...]:
        """The ends of the bins, of a histogram of one column with bins."""
        return tuple(self._parts.compiled.bins.get(self._shown.keys[0], ()))

    @cached_property
    def _counts(self) -> Floats:
        """The unbiased counts: a row per group, a column per bin.

        Under Gaussian noise, a unit beyond `max_rows` weighs differently on each level, and what
        is estimated for it lies between. Like all that declarations change, bars do not cover that.
        """
        values = self._parts.estimates(0)
        levels, start = [], 0
        for size in self._ladder.sizes if self._ladder.bins else []:
            end = start + size * self._groups
            levels.append(values[start:end].reshape(self._groups, size))
            start = end
        found = self._ladder.estimate(levels) if levels else values.reshape(0, 0)
        return found if self._total is None else self._with_total(found, self._total)

    @cached_property
    def _total(self) -> int | None:
        """The number of all rows, where it is public and every row is in some bin."""
        compiled = self._parts.compiled
        table = compiled.table
        if not self._finish.consistent or table.size is None or table.unit_column is not None:
            return None
        finest = compiled.groupings[0]
        covered = all(covers_every_row(key, finest.public[name]) for name, key in finest.keys)
        # Joined or grouped rows are there or not, so their number is never public.
        whole = compiled.where is None and isinstance(compiled.source, Stored)
        known = whole and not compiled.private and covered
        return table.size if known else None

    def _with_total(self, counts: Floats, total: float) -> Floats:
        """The counts that add up to a total and are nearest, as the covariance of noise measures.

        The last two axes are groups and bins.
        """
        weights = (
            self._ladder.spread.sum(axis=0) if self._ladder.cells else np.ones(counts.shape[-1])
        )
        share = weights / (weights.sum() * counts.shape[-2])
        missing = total - counts.sum(axis=(-2, -1), keepdims=True)
        found: Floats = counts + missing * share
        return found

    @cached_property
    def _final(self) -> Floats:
        """The counts as they are shown, which post-processing may have biased."""
        if self._finish.consistent:
            return nearest_counts(self._counts, self._total)
        return self._counts

    def _sums(self, counts: Floats, runs: Runs) -> Floats:
        """For each group and row, the sum of a run of bins."""
        whole = np.concatenate([np.zeros((len(counts), 1)), np.cumsum(counts, axis=1)], axis=1)
        first, last = runs
        found: Floats = whole[:, last] - whole[:, first]
        return found

    def _fill(self) -> None:
        """Put the sums into the table."""
        columns = []
        for name, runs in self._runs.items():
            values = self._sums(self._final, runs).ravel()
            if self._finish.nonnegative:
                values = np.maximum(values, 0)
            columns.append(pl.Series(name, np.rint(values).astype(np.int64)))
        self._finished = self._finished.with_columns(columns).select(
            *(c for c in self._finished.columns if c != ROW),
            *(c.name for c in columns if c.name not in self._finished.columns),
            ROW,
        )

    # --- errors ----------------------------------------------------------------------------------

    def _bounds(self, confidence: float = CONFIDENCE) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        if confidence in self._intervals:
            return self._intervals[confidence]
        found = {}
        plain = not self._ladder.cells and self._total is None
        single = [n for n, (first, last) in self._runs.items() if np.all(last - first == 1)]
        halves = {}
        if plain and single:  # the law of the noise says it exactly
            low, high = super()._bounds(confidence)[self._shown.count]
            self._intervals.pop(confidence)
            halves[single[0]] = (high - low) / 2
        drawn = {n: runs for n, runs in self._runs.items() if n not in halves}
        halves |= self._half_widths(drawn, confidence)
        for name, runs in self._runs.items():
            centre = np.rint(self._sums(self._counts, runs).ravel())
            low, high = centre - halves[name], centre + halves[name]
            if self._finish.nonnegative or self._finish.consistent:
                low, high = np.maximum(low, 0), np.maximum(high, 0)
                shown = self._finished[name].to_numpy()
                low, high = np.minimum(low, shown), np.maximum(high, shown)
            found[name] = (low, high)
        self._intervals[confidence] = found
        return found

    def _half_widths(self, drawn: Mapping[str, Runs], confidence: float) -> dict[str, Any]:
        """What the errors of sums stay within; the same for every group, since noise is."""
        if not drawn:
            return {}
        if not isinstance(confidence, float | int) or not 0 < confidence < 1:
            super()._bounds(confidence)  # which refuses it
        cells = max(1, sum(self._ladder.sizes) * self._drawn_groups)
        fewest = min(5_000, max(2_000, math.ceil(100 / (1 - confidence))))
        draws = min(10_000, max(fewest, _DRAWN // cells))
        if draws not in self._drawn:
            self._drawn[draws] = self._errors(draws)
        found = {}
        for name, runs in drawn.items():
            sums = np.abs(np.rint(self._sums(self._drawn[draws], runs)))
            half = np.quantile(sums, confidence, axis=0, method="inverted_cdf")
            found[name] = np.tile(half, self._groups)
        return found

    @property
    def _drawn_groups(self) -> int:
        """How many groups are drawn at once: all that share a public total, else one."""
        cells = self._groups * self._ladder.bins
        return self._groups if self._total is not None and cells <= _MOST_ADJUSTED else 1

    def _errors(self, draws: int) -> Floats:
        """Errors of the bins of one group, drawn anew: a row per draw."""
        law, step = self._parts.laws[0], self._parts.layout.step(0)
        if not isinstance(law, Law | Mixed) or not self._ladder.bins:  # it is public
            return np.zeros((draws, self._ladder.bins))
        groups = self._drawn_groups
        levels = [
            _drawn(law, draws * groups * size, self._source).reshape(-1, size) * step
            for size in self._ladder.sizes
        ]
        errors = self._ladder.estimate(levels)
        if self._total is not None and groups == self._groups:
            errors = self._with_total(errors.reshape(draws, groups, -1), 0)[:, 0]
        return errors

    def redraws(self, draws: int) -> pl.DataFrame:
        """What the table may be without noise, `draws` times over; see `Release.redraws`."""
        frames = []
        errors = self._errors(draws * self._groups).reshape(draws, self._groups, -1)
        for error in errors:
            sums = {n: self._sums(self._counts - error, runs) for n, runs in self._runs.items()}
            columns = [pl.Series(n, np.rint(v.ravel()).astype(np.int64)) for n, v in sums.items()]
            frames.append(self.frame.with_columns(columns))
        return pl.concat(frames)

    # --- ranges ----------------------------------------------------------------------------------

    def between(self, low: Any = None, high: Any = None) -> Histogram:
        """The rows between two edges of the bins, for each group: a sum of bins, at no cost.

        None is the first or the last edge. The error is that of the sum, which is far less than the
        errors of the bins together, above all where counts were measured on several levels.
        """
        if self._shown.low is None or self._shown.count not in self._runs:
            raise ParameterError(
                "there are no ranges of bins here",
                why="ranges are those of the bins of one column",
                fix='session.histogram("visits", "age", bins=11, epsilon=0.1).between(10, 50)',
            )
        edges = self.edges
        first, last = self._edge(low, 0), self._edge(high, len(edges) - 1)
        if first >= last:
            raise ParameterError(
                f"between({low!r}, {high!r}) is empty",
                why="a range reaches from one edge to a later one",
                fix=f"between({edges[0]!r}, {edges[-1]!r})",
            )
        found = copy.copy(self)
        found._intervals = {}
        found.__dict__.pop("errors", None)
        bins = np.searchsorted(self._numbers, [first, last])
        found._runs = {self._shown.count: (bins[:1], bins[1:])}
        groups = self._finished.select(*self._shown.by, ROW)[:: max(1, self._ladder.bins)]
        ends = {self._shown.low: edges[first], self._shown.high or "high": edges[last]}
        found._finished = groups.select(
            *self._shown.by,
            *(pl.lit(v, dtype=self._finished.schema[n]).alias(n) for n, v in ends.items()),
            ROW,
        )
        found._fill()
        return found

    def _edge(self, value: Any, default: int) -> int:
        if value is None:
            return default
        edges = self.edges
        # An even cut may end in ...0000001, and nobody writes that.
        near = [i for i, edge in enumerate(edges) if edge == value or _is_close(edge, value)]
        if len(near) != 1:
            raise ParameterError(
                f"{value!r} is not an edge of the bins",
                why="rows inside a bin cannot be told apart",
                fix=f"one of {', '.join(map(str, edges[:6]))}{', ...' if len(edges) > 6 else ''}",
            )
        return near[0]

    # --- display ---------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return text_bars(self.frame, self._bounds(), self._shown.count, self._caption())

    def _repr_html_(self) -> str:
        return html_bars(self.frame, self._bounds(), self._shown.count, self._caption())

    def _caption(self) -> str:
        lines = [super()._caption()]
        reason = f"; {self._finish.reason}" if self._finish.reason and not self.reused else ""
        if self._ladder.cells:
            sizes = " + ".join(f"{size:,}" for size in reversed(self._ladder.sizes))
            lines.append(f"{sizes} counts of coarse and fine bins, which agree{reason}")
        elif reason:
            lines.append(f"counts of the bins alone{reason}")
        if self._finish.consistent:
            whole = "the public number of rows" if self._total is not None else "their noisy total"
            lines.append(
                f"counts are not negative and add up to {whole}: nearly empty bins come out too"
                " large on average, and the others too small"
            )
        elif self._finish.nonnegative:
            lines.append("counts below 0 were raised to 0: nearly empty bins come out too large")
        return "\n".join(lines)


def _drawn(law: Noise, count: int, source: Source) -> Floats:
    """Draws of noise as floats, which is all that error bars need, and quicker for a mixture."""
    if not isinstance(law, Mixed):
        return law.draw(count, source).astype(np.float64)
    total = np.zeros(count)
    for inner, weight, times in law.terms:
        for _ in range(times):
            total += inner.draw(count, source).astype(np.float64) * float(weight)
    return total


def _numbers(rows: pl.DataFrame, by: int, shown: Shown) -> NDArray[np.int64] | None:
    """The numbers of the bins of every group; None where groups have different ones."""
    groups = rows.select(rows.columns[:by]).unique().height if by else 1
    size = rows.height // max(1, groups)
    if shown.low is None:
        return np.arange(size)
    numbers = rows[shown.keys[0]].to_numpy()
    if rows.height != groups * size or (numbers.reshape(groups, size) != numbers[:size]).any():
        return None
    return numbers[:size]


def _is_close(edge: Any, value: Any) -> bool:
    numbers = isinstance(edge, int | float) and isinstance(value, int | float)
    return numbers and math.isclose(edge, value, rel_tol=1e-12, abs_tol=1e-300)

"""The answer to a query: a noisy table that carries its error bars and its cost."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
import polars as pl
import polars.selectors as cs

from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.mechanisms import MeasuredQuantiles, ModeSelection, Source
from dpframe.plan.nodes import aggregate_of, listed, place_in_list
from dpframe.plan.parts import RankedCells
from dpframe.release.columns import bare_columns
from dpframe.release.display import html_table, text_table
from dpframe.release.intervals import checked, intervals, redraws
from dpframe.release.lists import with_lists
from dpframe.release.noisy import NoisyParts, finish
from dpframe.release.windows import ROW
from dpframe.release.words import expr_text, mode_text, ranks_text

CONFIDENCE = 0.95
"""The confidence of `errors` and of what is displayed."""


class Release:
    """A noisy table. It can be used as a Polars frame, or read by anything that speaks Arrow.

    Error bars cover the noise that was added. They do not cover what declarations changed: values
    clamped to a range, units scaled down to `max_rows`, rows outside declared keys.
    """

    def __init__(
        self,
        parts: NoisyParts,
        loss: Loss,
        source: Source,
        *,
        note: str = "",
        reused: bool = False,
    ) -> None:
        self._parts = parts
        self._source = source
        self._note = note
        self._finished = finish(parts)
        self._intervals: dict[float, dict[str, tuple[np.ndarray, np.ndarray]]] = {}
        self.loss = loss
        self.reused = reused
        """Whether it was answered from earlier measurements, at no cost."""
        self.learned: Mapping[str, tuple[Any, Any]] = {}
        """The ranges that were learned for this answer, by what they are the range of."""

    def with_learned_bounds(self, learned: Mapping[str, tuple[Any, Any]], loss: Loss) -> Release:
        """The same answer, which says what was learned before it, and what both cost."""
        found = copy.copy(self)
        found.learned, found.loss = learned, loss
        return found

    def __copy__(self) -> Release:
        found = object.__new__(type(self))
        found.__dict__.update(self.__dict__)
        return found

    def __deepcopy__(self, _: object) -> Release:
        return copy.copy(self)  # nothing of a release changes

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ParameterError(
            "a release is not pickled",
            why="it draws its noise again for the error bars that are asked of it, in this process",
            fix="release.frame, or release.intervals(0.95): a frame with error bars",
        )

    @property
    def frame(self) -> pl.DataFrame:
        """The noisy table."""
        return with_lists(self._flat)

    @property
    def _flat(self) -> pl.DataFrame:
        """The noisy table with a column for each place of a list."""
        return self._finished.drop(cs.starts_with(ROW))

    def intervals(self, confidence: float = CONFIDENCE) -> pl.DataFrame:
        """The table with `name_low` and `name_high` after every noisy column `name`.

        Each interval covers its noise-free value with probability `confidence`. An underscore is
        appended to a name that is taken.
        """
        bounds = self._bounds(confidence)
        taken, ends_of = set(self.frame.columns), dict[tuple[str, str], str]()
        columns: list[pl.Series] = []
        for column in self._flat:
            columns.append(column)
            place = listed(column.name)
            shown = column.name if place is None else place[0]
            ends = bounds.get(column.name, ())
            for end, values in zip(("low", "high"), ends, strict=False):
                name = ends_of.get((shown, end), f"{shown}_{end}")
                while name in taken and (shown, end) not in ends_of:
                    name += "_"
                taken.add(name)
                ends_of[shown, end] = name
                series = _as_kind(pl.Series(values, nan_to_null=True), column.dtype)
                columns.append(series.alias(place_in_list(name, place[1]) if place else name))
        return with_lists(pl.DataFrame(columns))

    def _bounds(self, confidence: float = CONFIDENCE) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Per noisy column, the ends of its intervals; the same ones whenever they are asked."""
        if checked(confidence) not in self._intervals:
            found = intervals(self._parts, self._finished, confidence, self._source)
            self._intervals[confidence] = found
        return self._intervals[confidence]

    @cached_property
    def errors(self) -> pl.DataFrame:
        """The table with every noisy number replaced by its error: half its 95% interval.

        The error of a day or an instant is a duration, NULL where it is unknown. The most frequent
        value of a group has none, nor has a quantile with `error_bars=False`: NULL.
        """
        halves = {name: _half(low, high) for name, (low, high) in self._bounds().items()}
        schema = self._flat.schema
        found = self._flat.with_columns(
            _as_duration(pl.Series(half), schema[name]).alias(name) for name, half in halves.items()
        )
        bare = bare_columns(self._parts)
        return with_lists(found.with_columns(pl.lit(None).alias(name) for name in bare))

    def redraws(self, draws: int) -> pl.DataFrame:
        """What the table may be without noise, `draws` times over: the known noise, drawn again.

        All groups are in it, whatever HAVING and LIMIT left out. It tells nothing that the release
        does not, and serves to find the error of whatever is computed from several columns.
        """
        return with_lists(redraws(self._parts, draws, self._source))

    def item(self) -> Any:
        """The only value of a table with one row and one column."""
        if self.frame.shape != (1, 1):
            rows, columns = self.frame.shape
            raise ParameterError(
                f"item() of a table with {rows} rows and {columns} columns",
                why="it is the value of a table that has one row and one column",
                fix="release.frame is the whole table",
            )
        return self.frame.item()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table over without copying, to DuckDB, pandas, pyarrow or Polars."""
        return self.frame.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self._finished.height

    def __repr__(self) -> str:
        return text_table(self._flat, self._bounds(), self._caption())

    def _repr_html_(self) -> str:
        return html_table(self._flat, self._bounds(), self._caption())

    def _bare_lines(self) -> list[str]:
        """What is known of each choice without an error bar, in rows: how far off it may be."""
        parts, lines = self._parts, []
        index = {part: i for i, part in enumerate(parts.layout.parts)}
        calls = dict(aggregate_of(parts.compiled.plan).aggregates)
        names = [name for name, _ in parts.compiled.aggregates]
        for name, recipe in zip(names, parts.layout.recipes, strict=True):
            i = index[next(iter(recipe.parts.values()))]
            part, law, step = parts.layout.parts[i], parts.laws[i], parts.layout.step(i)
            groups, said = parts.compiled.groups, ""
            if isinstance(law, ModeSelection) and groups:
                said = mode_text(law, part, step, groups)
            elif isinstance(law, MeasuredQuantiles) and isinstance(part, RankedCells):
                said = "" if part.counted else f"no error bar; {ranks_text(law, part, step)}"
            if said:
                lines.append(f"{expr_text(calls[name])}: {said}")
        return lines

    def _caption(self) -> str:
        cost = f"cost: {self.loss}" if not self._note else self._note
        lines = []
        bare = self._bare_lines()
        if len(self._parts.compiled.aggregates) > len(bare):
            lines.append(f"± covers the noise with {CONFIDENCE:.0%} confidence; {cost}")
        else:
            lines.append(cost)
        lines += bare
        for name, (low, high) in self.learned.items():
            lines.append(f"{name} was clipped to [{low:,g}, {high:,g}], a range learned privately")
        chosen = self._parts.compiled.chosen
        if chosen is not None and chosen.sure > 1:
            lines.append(
                f"keys of few units are missing: one of {chosen.half:,} units is shown half of the"
                f" time, one of {chosen.sure:,} units 99% of the time"
            )
        if chosen is not None and chosen.left_out:
            lines.append(
                f"{chosen.left_out:,} more keys were chosen than a query may have: the last ones in"
                " order are left out"
            )
        return "\n".join(lines)


def _half(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Half the width of intervals; infinite where an end is, and 0 where there is no value."""
    known = np.isfinite(low) & np.isfinite(high)
    wide = np.where(np.isnan(low) & np.isnan(high), 0.0, np.inf)
    return np.where(known, (np.where(known, high, 0) - np.where(known, low, 0)) / 2, wide)


def _as_kind(ends: pl.Series, kind: pl.DataType) -> pl.Series:
    """The ends of intervals in the type of their column; a time that is unknown is NULL."""
    if not kind.is_temporal():
        return ends
    return _known(ends).round(0).cast(pl.Int64).cast(kind)


def _as_duration(errors: pl.Series, kind: pl.DataType) -> pl.Series:
    if not kind.is_temporal():
        return errors
    unit = 86_400_000_000 if kind == pl.Date else 1
    return (_known(errors) * unit).round(0).cast(pl.Int64).cast(pl.Duration("us"))


def _known(numbers: pl.Series) -> pl.Series:
    return numbers.set(~numbers.is_finite(), None)

"""Error bars of what is computed from many groups: the noise of all of them is redrawn together.

A share is one count over the sum of all, so its error bar takes redraws of whole tables. Where a
number is linear in the noise (sums, averages, running totals), or nearly so (shares), quantiles of
its redraws are its interval. Others need more, because a redraw adds noise to what has noise:

- The largest of noisy numbers is too large on average, and its redraws are so twice. It exceeds the
  largest true number by the largest noise at the most, so the lower end takes that off: a second
  reading of each redraw. No true number exceeds the upper end of its own interval, nor that of the
  largest redraw. The smallest number is the same turned round.
- A rank changes wherever two numbers may change places. All pairs that the noise may have swapped
  are found at once, from the law of the largest difference of noise (Tukey's), and ranks are
  counted with all such pairs for and against a row.
- Quantiles and deviations: see `release.second_bounds`. Steps, as `n > 40`: see `release.bent`.
- Rows kept by a noisy number (HAVING, WHERE) may be others in truth. One reading has all rows that
  are kept in some redraw, another those that are kept in every one.

An interval holds what all readings say, so it covers at least at the stated rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
import polars.selectors as cs

from dpframe.bounds.windows import PARTS_OF_RANK, QUANTILES, SPREADS
from dpframe.engines import windows as engine
from dpframe.mechanisms import Source
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, WindowCall
from dpframe.plan.functions.base import exactly
from dpframe.plan.nodes import Aggregate, Filter, Limit, Node, Regroup, Sort, Window
from dpframe.release.above import noisy_below, reads
from dpframe.release.bent import ADDED, bent_below, farthest_values, is_bent
from dpframe.release.noisy import NoisyParts, PostProcessing, Redrawn, finish, with_aggregates
from dpframe.release.places import possible_places
from dpframe.release.rank_bounds import is_rank_by_noise, rank_bounds
from dpframe.release.redraws import (
    MOST_CELLS,
    number_of_draws,
    quantiles,
    redrawn_parts,
    with_places,
)
from dpframe.release.second_bounds import quantile_end, spread_ends
from dpframe.release.windows import DRAW, ROW, Again, Over, identity

Reading = Literal["plain", "most", "least"]
"""Redraws as they are; with all rows that may be kept and the largest ranks; or with the fewest."""

_FEWEST_DRAWS = 400
_MOST_VALUES = 20_000_000
"""Redrawn values of one column; large tables are redrawn less often."""


def joint_intervals(
    parts: NoisyParts, finished: pl.DataFrame, names: list[str], confidence: float, source: Source
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The low and high ends for every finished row, of columns computed from many groups."""
    draws = _number_of_draws(confidence, parts.compiled.groups)
    chunk = max(1, MOST_CELLS // max(1, parts.compiled.groups))
    joint = _Joint(parts, confidence)
    kinds: list[Redrawn] = ["possible"]
    if any(recipe.possible is not None for recipe in parts.layout.recipes):
        kinds.append("nearest")
    readings = [(kind, reading) for kind in kinds for reading in joint.readings()]
    tables = {
        (which, name): np.full((draws, finished.height), np.nan)
        for which in readings
        for name in names
    }
    by = identity(finished)
    place = finished.with_row_index(_PLACE).select(_PLACE, *by)
    for start in range(0, draws, chunk):
        count = min(chunk, draws - start)
        redrawn = _redrawn(parts, count, source)
        for which in readings:
            kind, reading = which
            found = joint.run(with_aggregates(parts, redrawn, redrawn=kind), reading, count)
            rows = found.select(DRAW, *by, cs.by_name(*names).to_physical().cast(pl.Float64))
            rows = _beside(rows, place, by)
            at = rows[DRAW].to_numpy() + start, rows[_PLACE].to_numpy()
            for name in names:
                tables[which, name][at] = rows[name].to_numpy()
    return {
        name: _hull([tables[which, name] for which in readings], (1 - confidence) / 2)
        for name in names
    }


_PLACE = f"{ROW}_place"


def joint_redraws(parts: NoisyParts, draws: int, source: Source) -> pl.DataFrame:
    """What the noise-free table may have been, `draws` times."""
    whole = with_aggregates(parts, _redrawn(parts, draws, source), redrawn="possible")
    return _Joint(parts, 0.95).run(whole, "plain", draws).drop(cs.starts_with(ROW))


def _number_of_draws(confidence: float, groups: int) -> int:
    most = max(_FEWEST_DRAWS, _MOST_VALUES // max(1, groups))
    return max(min(number_of_draws(confidence), most), math.ceil(10 / (1 - confidence)))


def _redrawn(parts: NoisyParts, draws: int, source: Source) -> pl.DataFrame:
    groups = list(range(parts.compiled.groups))
    spans = possible_places(parts, groups, draws, source, parts.places())
    places = {number: span.outer() for number, span in spans.items()}
    found = with_places(parts, redrawn_parts(parts, groups, draws, source, alike=False), places)
    numbers = np.repeat(np.arange(draws, dtype=np.int64), len(groups))
    return found.with_columns(pl.Series(DRAW, numbers))


def _hull(tables: Sequence[np.ndarray], tail: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of all readings together; one that knows nothing of a row says nothing of it."""
    lows, highs, silent = [], [], []
    for table in tables:
        low, high = quantiles(table, tail)
        lows.append(low)
        highs.append(high)
        silent.append(np.isnan(table).all(axis=0))
    quiet = np.array(silent)
    quiet &= ~quiet.all(axis=0)
    low = np.where(quiet, np.inf, np.array(lows)).min(axis=0)
    high = np.where(quiet, -np.inf, np.array(highs)).max(axis=0)
    return low, high


def _beside(rows: pl.DataFrame, other: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Rows with the columns of the other table that belong to them; those without are left out."""
    if not by:
        return rows.join(other, how="cross")
    return rows.join(other, on=list(by), how="inner", nulls_equal=True)


class _Joint:
    """The plan above the aggregate, run on many redraws of the whole table at once."""

    def __init__(self, parts: NoisyParts, confidence: float) -> None:
        self._plan = parts.compiled.plan
        self._post = PostProcessing(parts.compiled)
        self._confidence = confidence
        self._released: dict[int, pl.DataFrame] = {}
        finish(parts, self._released)
        aggregates = {name for name, _ in parts.compiled.aggregates}
        self._nodes = list(noisy_below(self._plan, aggregates))
        self._noisy = {id(node): names for node, names, _ in self._nodes}
        self._chosen_by_noise = {id(node): chosen for node, _, chosen in self._nodes}
        self._bent = {id(node): names for node, names in bent_below(self._plan, aggregates)}
        self._reading: Reading = "plain"
        self._draws = 0

    def readings(self) -> list[Reading]:
        """The readings that differ."""
        many = [i for i, (node, _, _) in enumerate(self._nodes) if _is_of_many(node)]
        below = self._nodes[: many[-1]] if many else []
        kept = [(n.predicate, noisy) for n, noisy, _ in below if isinstance(n, Filter)]
        kept += [
            (call.where, noisy)
            for node, noisy, _ in self._nodes
            for call in _calls(node)
            if isinstance(call, AggregateCall) and call.where is not None
        ]
        if any(reads(condition, noisy) for condition, noisy in kept):
            return ["plain", "most", "least"]
        calls = [
            (call, noisy)
            for node, noisy, _ in self._nodes
            for call in _calls(node)
            if reads(call, noisy)
        ]
        either = (*_EXTREMES, *QUANTILES, *SPREADS)
        if any(call.name in either or is_rank_by_noise(call, noisy) for call, noisy in calls):
            return ["most", "least"]
        if any(self._is_bent(node, call) for node, _, _ in self._nodes for call in _calls(node)):
            return ["most", "least"]
        return ["plain"]

    def run(self, frame: pl.DataFrame, reading: Reading, draws: int) -> pl.DataFrame:
        """The finished rows of all draws; those that are left out at the end are among them."""
        self._reading, self._draws = reading, draws
        return self._run(self._plan, frame, inner=False)

    def _run(self, node: Node, frame: pl.DataFrame, *, inner: bool) -> pl.DataFrame:
        """One node; `inner` if others compute on its rows, so that it matters which are kept."""
        if isinstance(node, Aggregate):
            return frame
        (parent,) = node.parents
        rows = self._run(parent, frame, inner=inner or _is_of_many(node))
        match node:
            case Filter() | Sort() | Limit() if not inner:
                return rows
            case Filter():
                return self._filtered(node, rows)
            case Sort():
                return self._post.step(node, rows).sort(DRAW, maintain_order=True)
            case Limit():
                last = None if node.rows is None else node.offset + node.rows
                at = pl.int_range(pl.len()).over(DRAW)
                kept = at >= node.offset
                return rows.filter(kept if last is None else kept & (at < last))
            case Window():
                return self._windowed(node, rows)
            case Regroup():
                return self._regrouped(node, rows)
            case _:
                return self._post.step(node, rows)

    def _filtered(self, node: Filter, rows: pl.DataFrame) -> pl.DataFrame:
        kept = self._post.step(node, rows)
        by = identity(rows)
        if self._reading == "plain" or not by or not reads(node.predicate, self._noisy[id(node)]):
            return kept
        often = kept.group_by(by).len(_TIMES)
        if self._reading == "least":
            often = often.filter(pl.col(_TIMES) == self._draws)
        return rows.join(often, on=by, how="semi", nulls_equal=True)

    def _windowed(self, node: Window, rows: pl.DataFrame) -> pl.DataFrame:
        over = Over(self._post.domains(node.parent), node)
        inputs = over.inputs(rows)
        noisy = self._noisy[id(node)]
        found = over.values(self._farthest(node, inputs, identity(inputs)))
        before, after = self._released[id(node.parent)], self._released[id(node)]
        for number, (name, call) in enumerate(node.columns):
            of_chosen = call.name in PARTS_OF_RANK and self._chosen_by_noise[id(node)]
            if self._reading == "plain" or not (reads(call, noisy) or of_chosen):
                continue
            upper = self._reading == "most"
            if is_rank_by_noise(call, noisy) or of_chosen:
                bounds = rank_bounds(
                    over, number, noisy, inputs, over.inputs(before), self._confidence, self._draws
                )
                found = found.with_columns(self._ranks(inputs, bounds).alias(name))
            elif call.name in QUANTILES:
                parted = [engine.partition(number, i) for i in range(len(call.partition))]
                before_it = over.inputs(before)
                end = quantile_end(
                    over, number, inputs, before_it, parted, self._confidence, upper=upper
                )
                ends = before_it.select(identity(before_it)).hstack(end.select(name))
                found = found.with_columns(self._beside(inputs, ends, [name]))
            elif call.name in SPREADS:
                before_it = over.inputs(before)
                found = found.with_columns(
                    spread_ends(over, number, inputs, before_it, (), (), upper=upper)
                )
            elif self._takes_off(call, over.looked[number].result):
                column = engine.argument(number, 0)
                less = over.values(self._noise(inputs, over.inputs(before), column), [number])
                shown = self._beside(inputs, after, [name])
                found = found.with_columns(shown[name] - less[name])
        return pl.concat([rows, found], how="horizontal")

    def _regrouped(self, node: Regroup, rows: pl.DataFrame) -> pl.DataFrame:
        again = Again(self._post.domains(node.parent), node)
        noisy = self._noisy[id(node)]
        inputs, draws = self._chosen(again, again.inputs(rows), noisy), range(self._draws)
        own = [c for c in identity(inputs) if c not in again.keys]
        found = again.values(self._farthest(node, inputs, own), draws=draws)
        before, after = self._released[id(node.parent)], self._released[id(node)]
        upper, before_it = self._reading == "most", again.inputs(before)
        for number, (name, call) in enumerate(node.aggregates):
            if self._reading == "plain" or not reads(call, noisy):
                continue
            if call.name in QUANTILES:
                keys = list(again.keys)
                end = quantile_end(
                    again, number, inputs, before_it, keys, self._confidence, upper=upper
                )
                found = found.with_columns(self._beside(found, end, [name]))
            elif call.name in SPREADS:
                keys = list(again.keys)
                found = found.with_columns(
                    spread_ends(again, number, inputs, before_it, keys, draws, upper=upper)
                )
            elif self._takes_off(call, again.looked[number].result):
                column = engine.argument(number, 0)
                noise = self._noise(inputs, again.inputs(before), column, list(again.keys))
                less = again.values(noise, [number], draws)
                shown = self._beside(found, after, [name])
                found = found.with_columns(shown[name] - less[name])
        return self._with_missing(again, found, node)

    def _ranks(self, inputs: pl.DataFrame, bounds: pl.DataFrame) -> pl.Series:
        """Every other redraw has the end of what a rank may be; those between, all that it may be.

        So what is kept by its rank, `r = 2` say, is kept in some redraw if it may be.
        """
        both = self._beside(inputs, bounds, ["least", "most"])
        least, most = (both[end].to_numpy().astype(float) for end in ("least", "most"))
        draw = inputs[DRAW].to_numpy()
        between = (draw // 2) / max(1, (self._draws - 1) // 2)
        found = np.where(draw % 2 == 0, both[self._reading], least + (most - least) * between)
        whole = both["least"].dtype.is_integer()
        return (
            pl.Series(np.rint(found) if whole else found).fill_nan(None).cast(both["least"].dtype)
        )

    def _with_missing(self, again: Again, found: pl.DataFrame, node: Regroup) -> pl.DataFrame:
        """Where no row is sure to be kept, sums may be 0."""
        if self._reading != "least" or not self._chosen_by_noise[id(node)]:
            return found
        if again.keys:
            keys = [*again.keys, *(name for name, _ in node.keys)]
            groups = self._released[id(node)].select(keys)
            every = pl.DataFrame({DRAW: range(self._draws)}, schema={DRAW: found.schema[DRAW]})
            every = groups.join(every, how="cross")
            found = every.join(
                found.drop(name for name, _ in node.keys),
                on=[DRAW, *again.keys],
                how="left",
                nulls_equal=True,
                maintain_order="left",
            )
        added = [
            name for name, call in node.aggregates if call.name in ("SUM", "COUNT", "COUNT_IF")
        ]
        return found.with_columns(pl.col(added).fill_null(0)) if added else found

    def _chosen(self, again: Again, inputs: pl.DataFrame, noisy: set[str]) -> pl.DataFrame:
        """The same for FILTER by noisy numbers: rows that some redraw has, or that all have."""
        by = [c for c in identity(inputs) if c not in again.keys]
        for number, (_, call) in enumerate(again.node.aggregates):
            if call.where is None or not reads(call.where, noisy) or self._reading == "plain":
                continue
            kept = pl.col(engine.where(number)).fill_null(False)
            kept = kept.any() if self._reading == "most" else kept.all()
            inputs = inputs.with_columns(kept.over(by) if by else kept)
        return inputs

    def _is_bent(self, node: Node, call: WindowCall | AggregateCall) -> bool:
        """Whether a function adds up bent functions of noise."""
        noisy, bent = self._noisy[id(node)], self._bent[id(node)]
        return call.name in ADDED and any(is_bent(arg, noisy, bent) for arg in call.args)

    def _farthest(
        self, node: Window | Regroup, inputs: pl.DataFrame, by: list[str]
    ) -> pl.DataFrame:
        """The rows, where bent functions are the least or the largest that they may be."""
        for number, call in enumerate(_calls(node)):
            if self._reading != "plain" and self._is_bent(node, call):
                largest = self._reading == "most"
                inputs = farthest_values(inputs, number, call.name, by, largest=largest)
        return inputs

    def _takes_off(self, call: WindowCall | AggregateCall, result: Domain) -> bool:
        """Whether the noise is taken off after looking for an extreme, and not before it."""
        return self._reading == "least" and call.name in _EXTREMES and result.type.is_number

    def _noise(
        self,
        inputs: pl.DataFrame,
        released: pl.DataFrame,
        column: str,
        apart: Sequence[str] = (),
    ) -> pl.DataFrame:
        """The rows with the noise that was redrawn in place of the values of a column."""
        by = [c for c in identity(inputs) if c not in apart]
        shown = _attached(inputs, released, by, [column])
        return inputs.with_columns(shown[column] - inputs[column])

    def _beside(
        self, rows: pl.DataFrame, other: pl.DataFrame, columns: Sequence[str]
    ) -> pl.DataFrame:
        return _attached(rows, other, identity(rows), columns)


_TIMES = f"{ROW}_times"
_EXTREMES = ("MIN", "MAX")


def _is_of_many(node: Node) -> bool:
    return isinstance(node, Window | Regroup)


def _calls(node: Node) -> list[Any]:
    if isinstance(node, Window):
        return [call for _, call in node.columns]
    return [call for _, call in node.aggregates] if isinstance(node, Regroup) else []


def _attached(
    rows: pl.DataFrame, other: pl.DataFrame, by: Sequence[str], columns: Sequence[str]
) -> pl.DataFrame:
    """Columns of the other table, row for row; NULL where it has no such row."""
    if not by:
        return other.select(exactly(columns))[[0] * rows.height]
    picked = other.select(*by, *exactly(columns))
    found = rows.select(by).join(
        picked, on=list(by), how="left", nulls_equal=True, maintain_order="left"
    )
    return found.select(exactly(columns))

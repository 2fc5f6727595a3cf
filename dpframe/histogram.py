"""Which counts a histogram measures: the bins alone, or coarser bins or margins too.

Sums of many bins add up their noise. Counts on several levels share the cost, so each has more
noise, but a range of bins is then a sum of few counts; and so are the rows and columns of a plane
that were counted themselves. For one cost the average error of such a sum is known for every way,
before anything is spent: the best is taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from dpframe.bounds.keys import covers_every_row
from dpframe.budget.exact import Number
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.plan.bins import bins_in, pointer
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import Call, Expr, conjunction
from dpframe.plan.nodes import Node, aggregate_of
from dpframe.plan.shown import Levels, Shape, Shown, on_levels
from dpframe.query import Query
from dpframe.release.cost import Cost
from dpframe.release.display import number
from dpframe.release.histogram import Histogram, counts_text, finish_text, public_total
from dpframe.release.ladder import Ladder, shapes
from dpframe.release.plane import Plane, largest_weight
from dpframe.release.ranges import cells_of

Analyse = Callable[[Node], Query]
"""Makes a question of a plan, for the same analyst and about the same tables."""

_NORMAL = 1.96
"""The half width of a 95% interval, in deviations, of a sum of many errors."""

_MOST_CELLS = 4_096
"""Cells of a plane with levels: its error bars are found by drawing the noise of all of them."""


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to answer: the question for its counts, and what they are made into."""

    query: Query
    levels: Levels | None
    plane: Plane
    reason: str = ""

    def error(self, cost: Cost, margins: bool) -> float:
        """The predicted error of an average range of bins, or of an average margin."""
        plane, (deviation, half) = self.plane, self.query.predicted(cost)
        if not margins or not deviation or plane.has_levels:
            found = plane.margin_variance() if margins else plane.range_variance()
            return _NORMAL * deviation * math.sqrt(found)
        (n, m), excess = plane.shape, half / deviation - _NORMAL
        # Tails are those of the noise where one count matters most, and normal where many do.
        tails = [_NORMAL + excess * largest_weight(plane, size) for size in ((1, m), (n, 1))]
        tail = (n * tails[0] + m * tails[1]) / (n + m)
        return tail * deviation * math.sqrt(plane.margin_variance())

    def cell_error(self, cost: Cost) -> float:
        """The predicted error of an average bin: mostly that of its own count."""
        return self.query.predicted(cost)[1] * math.sqrt(self.plane.cell_variance())


class HistogramQuery(Query):
    """A histogram that was understood and costs nothing yet.

    Which counts it measures follows from its cost, so each of `explain`, `cost` and `release`
    chooses the way with the least predicted error. Guarantee: each way is a query of its own with
    public groups, whose sensitivity counts every level that a unit is in; all that is done to the
    noisy counts is post-processing. The choice depends on declarations, on the cost, and on what
    was released before, never on a row.
    """

    def __init__(self, flat: Query, plan: Node, shown: Shown, analyse: Analyse) -> None:
        """Take the question for the bins alone; `analyse` makes those for other plans."""
        super().__init__(
            flat._asking, flat._compiled, flat._engine, flat._version, flat._asked, flat._said
        )
        shown = shown.grouped_by(flat.compiled.private)
        self._flat, self._plan, self._shown, self._analyse = flat, plan, shown, analyse
        self._ways: tuple[_Way, ...] | None = None
        _refuse_impossible(shown, plan)

    @property
    def columns(self) -> dict[str, Domain]:
        """The columns of the answer, and what is known of each before it is asked."""
        found = super().columns
        if self._shown.wish.cumulative:
            found[self._shown.wish.cumulative_name] = Domain(Type.INT, nullable=False)
        return found

    # --- asking ----------------------------------------------------------------------------------

    def cost_of(self, cost: Cost, *, fresh: bool) -> Loss:
        """What `answer` would be charged."""
        return self._way(cost).query.cost_of(cost, fresh=fresh)

    def explain_of(self, cost: Cost, *, fresh: bool, notes: Sequence[str] = ()) -> str:
        """What `answer` would do, with what is counted beside the bins, and why."""
        way = self._way(cost)
        return way.query.explain_of(cost, fresh=fresh, notes=[*notes, *self._notes(way, cost)])

    def answer(self, cost: Cost, *, fresh: bool, warned: bool = False) -> Histogram:
        """Release at a cost; `warned` if what there is to warn of was said before."""
        way = self._way(cost)
        found = way.query.answer(cost, fresh=fresh, warned=warned)
        return Histogram.of(found, self._shown, way.levels, way.reason)

    def release(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        error_bars: bool = True,
        fresh: bool = False,
    ) -> Histogram:
        """Charge the cost, then measure, add noise and finish; see `Query.release`."""
        cost = Cost(epsilon, rho, share, error, confidence, delta, error_bars)
        return self.answer(cost, fresh=fresh)

    # --- the way ---------------------------------------------------------------------------------

    @property
    def _adds_up(self) -> bool:
        """Whether sums of bins were asked for, so that more than the bins may be counted."""
        wish = self._shown.wish
        return bool(wish.cumulative or wish.hierarchical or wish.margins)

    def _way(self, cost: Cost) -> _Way:
        """The way with the least predicted error for its cost."""
        if cost.error is not None and self._adds_up:
            raise ParameterError(
                "error= is met by counts of single bins",
                why="sums of bins have other errors, each of its own size",
                fix="say epsilon=, and look at release.errors",
            )
        if not self._adds_up:
            return _Way(self._flat, None, Plane(Ladder(1), Ladder(1)))
        if self._ways is None:
            self._ways = tuple(self._possible())
        flat, *others = self._ways
        forced = self._shown.wish.hierarchical and others
        ways = others if forced else [flat, *others]
        if not self._flat.has_cost(cost):
            known = next((way for way in reversed(ways) if way.query.is_known()), None)
            return known or flat
        margins = self._shown.wish.margins
        errors = {id(way): way.error(cost, margins) for way in self._ways}
        best = min(ways, key=lambda way: errors[id(way)])
        rest = [errors[id(way)] for way in self._ways if (way is flat) != (best is flat)]
        if not rest or self._flat.compiled.table.public:
            return best
        reason = self._reason(best, errors[id(best)], min(rest))
        return _Way(best.query, best.levels, best.plane, reason)

    def _possible(self) -> list[_Way]:
        """The bins alone, and what may be better for the sums that were asked for."""
        shown, wish, compiled = self._shown, self._shown.wish, self._flat.compiled
        keys = [axis.key for axis in shown.axes]
        by = [name for name in compiled.public.columns if name not in keys]
        rows = compiled.public.sort([*by, *keys], nulls_last=True)
        numbers = cells_of(rows, keys)
        if numbers is None:
            raise ParameterError(
                "groups with bins of their own have no sums of bins",
                why="their ranges of bins are not alike: some values are in no row of a group",
                fix="group by another column, or ask for the bins alone",
            )
        flat = _Way(self._flat, None, Plane.over(numbers, None))
        found = [flat]
        candidates = []
        # Where NULL is a category, a condition cannot tell it from values that are in none.
        apart = all(not values.null_count() for _, values in self._open_categories())
        if wish.margins and flat.plane.cells and apart:
            candidates.append(Levels((None,) * len(keys), margins=True))
        if wish.hierarchical is not False and (wish.hierarchical or not wish.margins):
            candidates += self._levels([len(own) for own in numbers])
        for levels in dict.fromkeys(candidates):
            # Levels are those of bins: each has all categories, and needs no condition.
            inside = self._inside() if levels.margins else None
            plan = on_levels(self._plan, keys, levels, inside)
            found.append(_Way(self._analyse(plan), levels, Plane.over(numbers, levels)))
        return found

    def _levels(self, sizes: Sequence[int]) -> list[Levels]:
        """The levels with the least error where they share a cost: Laplace or Gaussian noise."""
        cells = math.prod(sizes)
        if len(sizes) > 1 and cells > _MOST_CELLS:
            raise ParameterError(
                f"a plane of {cells:,} cells has no levels",
                why=f"their error bars take too long to find beyond {_MOST_CELLS:,} cells",
                fix="fewer bins=, or margins=True, which is there for planes of any size",
            )
        found = []
        for norm in (1, 2):
            each = [
                [None, *_best_shapes(size, norm)] if axis.has_bins else [None]
                for axis, size in zip(self._shown.axes, sizes, strict=True)
            ]
            # Errors of rectangles are products of those on each axis, and so are shared costs.
            pairs = [pair for pair in itertools.product(*each) if any(pair)]
            if pairs:
                errors = [
                    math.prod(map(_shared_error, sizes, pair, [norm] * len(pair))) for pair in pairs
                ]
                found.append(Levels(tuple(pairs[int(np.argmin(errors))])))
        return found

    def _open_categories(self) -> list[tuple[Expr, pl.Series]]:
        """Categories that not every row is in: a column, and the categories that it has."""
        compiled, exprs = self._flat.compiled, dict(aggregate_of(self._plan).keys)
        typed = dict(compiled.keys)
        found = [
            (axis, compiled.public[axis.key]) for axis in self._shown.axes if not axis.has_bins
        ]
        return [
            (exprs[axis.key], values.unique())
            for axis, values in found
            if not covers_every_row(typed[axis.key], values)
        ]

    def _inside(self) -> Expr | None:
        """That a row is in some category, where others may be there too: margins count no others."""
        return conjunction(
            tuple(
                Call("in", (column,), tuple(values.sort().to_list()))
                for column, values in self._open_categories()
            )
        )

    # --- in words --------------------------------------------------------------------------------

    def _reason(self, best: _Way, error: float, other: float) -> str:
        kind = "a range of bins"
        if len(self._shown.axes) > 1:
            kind = "a margin" if self._shown.wish.margins else "a rectangle of bins"
        rest = "from the bins alone"
        if best.levels is None:
            rest = "with margins" if self._shown.wish.margins else "with coarser bins"
            rest += " counted too"
        return (
            f"{kind} is then off by ± {number(error, error)} on average,"
            f" and would be by ± {number(other, other)} {rest}"
        )

    def _notes(self, way: _Way, cost: Cost) -> list[str]:
        """What is counted beside the bins and why, and what is done to the counts."""
        lines = []
        if self._adds_up and self._flat.compiled.table.public:
            lines.append("counts  of the bins alone: the table is public, and they are exact")
        elif self._adds_up and not self._flat.has_cost(cost):
            lines.append("counts  which levels are counted follows from the cost")
        elif self._adds_up:
            lines += [f"counts  {counts_text(way.plane).removeprefix('counts ')}"]
            alone = self._shown.wish.hierarchical is False
            why = "as was asked for" if alone else "nothing coarser can be counted"
            if self._shown.wish.margins and not alone:
                why = "margins cannot be counted: NULL is a category, and looks like values of none"
            lines += [f"     {way.reason or why}"]
            each = way.cell_error(cost)
            cell = "one bin" if len(self._shown.axes) == 1 else "one cell"
            lines += [f"     {cell} is then off by ± {number(each, each)} on average"]
        total = public_total(self._flat.compiled) is not None
        return [*lines, *(f"after   {line}" for line in finish_text(self._shown.wish, total))]


def _refuse_impossible(shown: Shown, plan: Node) -> None:
    """Refuse what has no meaning for the columns of a histogram."""
    wish, bins = shown.wish, [axis for axis in shown.axes if axis.has_bins]
    calls = list(bins_in([key for _, key in aggregate_of(plan).keys]))
    place = calls[0].place if calls else None
    # In SQL an option has a name of its own; in Python it is an argument.
    equals = "=" if place is None else ""
    origin = calls[0].args[0].origin if calls else None
    value = origin.text() if origin is not None else "age"
    if (wish.cumulative and (len(shown.axes) > 1 or not bins)) or (wish.hierarchical and not bins):
        option = "cumulative" if wish.cumulative else "hierarchical"
        kind = "bins of one column" if wish.cumulative else "bins of one column, or of two"
        raise ParameterError(
            f"{option}{equals} is for {kind}{pointer(place)}",
            why="categories have no order, and a plane has no rows below an edge",
            fix='session.histogram("visits", "age", bins=11, cumulative=True, epsilon=0.1)'
            if place is None
            else place.advice(f"HISTOGRAM({value}, 11, cumulative := TRUE)"),
        )
    if wish.margins and len(shown.axes) < 2:
        raise ParameterError(
            f"margins{equals} is for a histogram of two columns{pointer(place)}",
            why="they are the sums of the rows and columns of a plane",
            fix='session.histogram("visits", ["age", "cost"], bins=11, margins=True, epsilon=0.1)'
            if place is None
            else place.advice(
                f"HISTOGRAM({value}, 11, other_column, 20, margins := TRUE), or leave margins out"
            ),
        )


@lru_cache(maxsize=256)
def _shared_error(bins: int, shape: Shape, norm: int) -> float:
    """The deviation of an average range of bins where levels share a cost of Laplace noise of 1.

    Under Gaussian noise (norm 2), noise grows with the root of the number of levels.
    """
    levels = Ladder.over(np.arange(bins), *(shape or (None, 1)))
    return math.sqrt(levels.range_variance()) * math.pow(levels.height, 1 / norm)


def _best_shapes(bins: int, norm: int) -> list[Shape]:
    """The best levels of one axis, if it has any."""
    best = min(shapes(bins), key=lambda shape: _shared_error(bins, shape, norm), default=None)
    return [] if best is None else [best]

"""Which counts a histogram measures: the bins alone, or coarser bins too.

Sums of many bins add up their noise. Counts on several levels share the cost, so each has more
noise, but a range of bins is then a sum of few counts. For one cost the average error of a range is
known for every way, before anything is spent: the best is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from dpframe.budget.exact import Number
from dpframe.declare import Table
from dpframe.errors import ParameterError
from dpframe.frontends.histograms import histogram_plan
from dpframe.plan.bins import Closed, Shown, on_levels
from dpframe.plan.nodes import Node
from dpframe.query import Query
from dpframe.release.asking import Said
from dpframe.release.cost import Cost
from dpframe.release.display import number
from dpframe.release.histogram import Finish, Histogram
from dpframe.release.ladder import Ladder, shapes

Analyse = Callable[[Node, Shown, Finish], Query]

Shape = tuple[int, int] | None
"""How many bins make one of the next level, and the number of levels; None for the bins alone."""


class Histograms:
    """What a session answers about the distribution of columns."""

    _tables: Mapping[str, Table]

    def table(self, name: str) -> object:
        """The rows of a registered table; an error for any other."""
        raise NotImplementedError

    def _analysed(
        self,
        plan: Node,
        asked: str,
        keys: Mapping[str, Iterable[Any]] | None = None,
        said: Said | None = None,
        shown: Shown | None = None,
        finish: Finish | None = None,
    ) -> Query:
        raise NotImplementedError

    def histogram(
        self,
        table: str,
        column: str | Sequence[str],
        *,
        bins: int | None = None,
        edges: Sequence[Any] | Mapping[str, Sequence[Any]] | None = None,
        by: str | Sequence[str] = (),
        closed: Closed = "left",
        cumulative: bool = False,
        hierarchical: bool | None = None,
        nonnegative: bool = False,
        consistent: bool = False,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        fresh: bool = False,
    ) -> Histogram:
        """Count the rows in each bin of a column, or of two columns at once.

        `bins` cuts the declared range evenly, `edges` are the ends of the bins (of two columns,
        `edges={"age": [...]}`), and a column with declared keys has a bin for each. `by` names
        columns whose groups are counted apart. One unit changes all bins together by no more than
        its weight, so bins are not paid for singly. A bin has its lower end, and with
        `closed="right"` its upper one.

        `cumulative` adds the rows below each upper end. Sums of many bins add up their noise:
        `hierarchical=True` counts coarser bins too, for a part of the cost, so that the error of a
        range of bins (`release.between(low, high)`) grows with the logarithm of their number.
        Cumulative counts are measured so where that is predicted to be better.

        `nonnegative` raises counts below 0 to 0: then bins that are nearly empty come out too large
        on average, and so do sums over many bins. `consistent` takes the nearest counts that are
        not negative and add up: to the number of rows where that is public, else to their noisy
        total. Then nearly empty bins come out too large, and the others too small by as much.

        >>> import dpframe as dp, polars as pl
        >>> session = dp.Session(dp.Budget(epsilon=1))
        >>> people = pl.DataFrame({"age": [31, 59]})
        >>> session.register("people", people, columns={"age": dp.Range(0, 110)})
        >>> ages = session.histogram("people", "age", bins=11, cumulative=True, epsilon=0.5)
        >>> ages.frame.columns
        ['low', 'high', 'count', 'cumulative']
        >>> ages.between(10, 50).frame.columns
        ['low', 'high', 'count']
        """
        columns = [column] if isinstance(column, str) else list(column)
        groups = [by] if isinstance(by, str) else list(by)
        self.table(table)  # which says what is registered
        plan, shown = histogram_plan(self._tables[table], columns, bins, edges, groups, closed)
        asked = f"histogram of {', '.join(columns)}" + (
            f" by {', '.join(groups)}" if groups else ""
        )
        query = histogram_query(
            plan,
            shown,
            Finish(cumulative, nonnegative, consistent),
            hierarchical,
            Cost(epsilon, rho, share, error, confidence, delta),
            lambda plan, shown, finish: self._analysed(
                plan, f"{asked} in {table}", shown=shown, finish=finish
            ),
        )
        found = query.release(
            epsilon=epsilon,
            rho=rho,
            share=share,
            error=error,
            confidence=confidence,
            delta=delta,
            fresh=fresh,
        )
        assert isinstance(found, Histogram)
        return found


def histogram_query(
    plan: Node,
    shown: Shown,
    finish: Finish,
    hierarchical: bool | None,
    cost: Cost,
    analyse: Analyse,
) -> Query:
    """The question with the least error for its cost: on levels where `hierarchical`.

    None chooses: levels for cumulative counts, where they are better.
    """
    if shown.low is None and (finish.cumulative or hierarchical):
        raise ParameterError(
            "cumulative= and hierarchical= are for bins of one column",
            why="categories have no order, and a plane has no rows below an edge",
            fix='session.histogram("visits", "age", bins=11, cumulative=True, epsilon=0.1)',
        )
    if cost.error is not None and (finish.cumulative or hierarchical):
        raise ParameterError(
            "error= is met by counts of single bins",
            why="sums of bins have other errors, each of its own size",
            fix="say epsilon=, and look at release.errors",
        )
    flat = analyse(plan, shown, finish)
    if hierarchical is False or not (finish.cumulative or hierarchical):
        return flat
    bins = flat.bins(shown.keys[0])
    ways: dict[Shape, Query] = {}
    for shape in {_best_shape(bins, norm) for norm in (1, 2)}:
        if shape is not None:
            levels = replace(shown, ladder=shape[0])
            ways[shape] = analyse(on_levels(plan, *shape), levels, finish)
    if not hierarchical or not ways:
        ways[None] = flat
    known = next((q for q in ways.values() if not q.has_cost(cost) and q.is_known()), None)
    if known is not None:
        return known
    errors = {shape: q.deviation(cost) * _range_error(bins, shape) for shape, q in ways.items()}
    best = min(errors, key=lambda shape: errors[shape])
    if len(errors) == 1 or hierarchical:
        return ways[best]
    other = min(e for shape, e in errors.items() if (shape is None) != (best is None))
    return ways[best].finished(replace(finish, reason=_reason(best, errors[best], other)))


def _reason(best: Shape, error: float, other: float) -> str:
    error, other = 1.96 * error, 1.96 * other
    rest = "with coarser bins too" if best is None else "from the bins alone"
    return (
        f"a range of bins is then off by ± {number(error, error)} on average,"
        f" and would be by ± {number(other, other)} {rest}"
    )


@lru_cache(maxsize=64)
def _range_error(bins: int, shape: Shape) -> float:
    """The deviation of an average range of bins, for counts with a deviation of 1."""
    levels = Ladder(bins) if shape is None else Ladder.over(np.arange(bins), *shape)
    return math.sqrt(levels.range_variance())


@lru_cache(maxsize=64)
def _best_shape(bins: int, norm: int) -> Shape:
    """The levels with the least error where they share a cost: Laplace or Gaussian noise."""

    def error(shape: tuple[int, int]) -> float:
        return _range_error(bins, shape) * math.pow(shape[1], 1 / norm)

    return min(shapes(bins), key=error, default=None)

"""Ranges that nobody declared, learned privately: `bounds="auto"`.

A fifth of the cost buys noisy counts of the values by their power of two, both signs. Where such a
count is clearly above its noise there are values, and the range reaches from the first of these
powers to the last, and to 0: many small values may hide in buckets of a few each. The rest of the cost answers the query with its argument clipped to that range.
The range is computed from noisy counts alone (post-processing), so nothing else is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, TypeAlias

import polars as pl

from dpframe.bounds.analysis import typed
from dpframe.bounds.lower import Lowering
from dpframe.bounds.refine import refined
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.plan.domains import Type
from dpframe.plan.exprs import AggregateCall, Call, Expr, Literal, literal
from dpframe.plan.nodes import Aggregate, Filter, Node, aggregate_of
from dpframe.query import Query
from dpframe.release.cost import Cost, single_cost
from dpframe.release.table import Release
from dpframe.release.words import expr_text

LEARNING_SHARE = Fraction(1, 5)
"""The part of the cost that learning takes, all ranges together."""

_POWERS = {Type.INT: range(62), Type.FLOAT: range(-20, 61)}
"""Numbers nearer to 0 than the first power are in one bucket, those beyond the last in another."""

_MISTAKEN = 0.05
"""The chance that some empty bucket is taken for one with values."""

_COUNTS = ("COUNT", "COUNT_IF", "APPROX_DISTINCT", "N_UNIQUE", "MODE")
"""Aggregates that need no range."""

Analyse: TypeAlias = Callable[[Node], Query]


def open_arguments(plan: Node, lowering: Lowering) -> dict[Expr, Type]:
    """The numbers that are added up and have no bounds, each once, with their types."""
    node = aggregate_of(plan)
    rows = lowering.rows(node.parent)
    columns = refined(rows.table.domains, rows.where)
    found = {}
    for _, call in node.aggregates:
        for arg in call.args if call.name not in _COUNTS else ():
            domain = typed(rows.over_source(arg), columns).domain
            if domain.type in _POWERS and not domain.is_bounded:
                found[arg] = domain.type
    return found


@dataclass(frozen=True, slots=True)
class Learning:
    """A query, and what has to be learned before it can be answered."""

    plan: Node
    arguments: Mapping[Expr, Type]
    analyse: Analyse
    ledger: Ledger
    asked: str
    queries: int | None

    def release(self, bounds: str, cost: Cost, *, fresh: bool) -> Release:
        """Learn the range of each argument, then answer the query with what is left of the cost.

        Whatever can be refused is refused before anything is spent: the query is analysed with the
        widest ranges first, and the whole cost must fit into the budget.
        """
        default = None if self.queries is None else Fraction(1, self.queries)
        if bounds != "auto":
            raise ParameterError(
                f'bounds={bounds!r} is not "auto"',
                why="ranges are learned from the rows for a part of the cost, or declared with the"
                " table",
                fix='bounds="auto"; or session.register(..., columns={"cost": dp.Range(0, 5000)}),'
                " without bounds=",
            )
        name, amount = single_cost(replace(cost, takes_error=False), default)
        if name == "error":
            raise ParameterError(
                'bounds="auto" with error=',
                why="ranges are learned for a part of a cost, which has to be said",
                fix='bounds="auto", epsilon=0.5',
            )
        learning = LEARNING_SHARE if self.arguments else Fraction(0)
        rest: dict[str, Any] = {name: amount * (1 - learning)}
        answering = replace(cost, **rest)
        if not self.arguments:
            return self.analyse(self.plan).answer(answering, fresh=fresh)
        each: dict[str, Any] = {name: amount * learning / len(self.arguments)}
        counting = Cost(**each)
        counts = {a: self.analyse(_counted(self.plan, a, k)) for a, k in self.arguments.items()}
        warned = self._foreseen(counts.values(), counting, answering, fresh=fresh)
        spent, found = Loss.none(), {}
        for argument, query in counts.items():
            release = query.answer(counting, fresh=fresh, warned=warned)
            spent = spent + release.loss
            found[argument] = _range(_seen(release), self.arguments[argument])
        last = self.analyse(_clipped(self.plan, found))
        answer = last.answer(answering, fresh=fresh, warned=warned)
        named = {expr_text(argument): ends for argument, ends in found.items()}
        return answer.with_learned_bounds(named, spent + answer.loss)

    def _foreseen(
        self, counts: Iterable[Query], counting: Cost, answering: Cost, *, fresh: bool
    ) -> bool:
        """Refuse the whole, or warn of it, before a part is charged; whether that was needed.

        What the ranges will be is not known yet, so the query stands for itself with the widest.
        """
        loss = Loss.none()
        for query in counts:
            loss = loss + query.cost_of(counting, fresh=fresh)
        widest = {
            a: _range([-len(_POWERS[k]), len(_POWERS[k])], k) for a, k in self.arguments.items()
        }
        query = self.analyse(_clipped(self.plan, widest))
        answered = query.cost_of(answering, fresh=True)
        if loss == Loss.none():
            return False  # the ranges are known: what follows is one release, refused as a whole
        whole = loss + answered
        self.ledger.check(whole, asked=self.asked)
        query.warn(whole)
        return True


# --- buckets: 0 for small numbers, i from the i-th power on, -i for the same below 0 -------------


def _edges(kind: Type) -> list[Any]:
    return [2**p if kind is Type.INT else 2.0**p for p in _POWERS[kind]]


def _counted(plan: Node, arg: Expr, kind: Type) -> Node:
    """How many rows there are in each bucket."""
    node, edges, place = aggregate_of(plan), _edges(kind), arg.origin

    def arm(comparison: str, edge: Any, bucket: int) -> tuple[Expr, Literal]:
        return Call(comparison, (arg, literal(edge)), place=place), literal(bucket)

    arms = [arm("greater_equal", e, i + 1) for i, e in reversed(list(enumerate(edges)))]
    arms += [arm("greater", -e, -i) for i, e in enumerate(edges)]
    flat = [expr for pair in arms for expr in pair]
    bucket = Call("case", (*flat, literal(-len(edges))), place=place)
    present = Call("not", (Call("is_null", (arg,), place=place),), place=place)
    count = AggregateCall("COUNT", (), place=place)
    return Aggregate(Filter(node.parent, present), (("bucket", bucket),), (("n", count),))


def _seen(release: Release) -> list[int]:
    """The buckets that clearly have rows; if there is none, the one with the largest noisy count."""
    bounds = release.intervals(1 - _MISTAKEN / len(release))
    seen: list[int] = bounds.filter(pl.col("n_low") > 0)["bucket"].to_list()
    return seen or [bounds.sort("n", descending=True)["bucket"][0]]


def _range(buckets: list[int], kind: Type) -> tuple[Any, Any]:
    """The least range that holds these buckets, and 0.

    >>> _range([0, 3], Type.INT), _range([-1, 2], Type.FLOAT)[1] == 2.0**-18
    ((0, 7), True)
    """
    edges = _edges(kind)
    edges.append(edges[-1] * 2)
    last = 1 if kind is Type.INT else 0  # the last integer before an edge

    def high(bucket: int) -> Any:
        return edges[bucket] - last if bucket >= 0 else -edges[-bucket - 1]

    zero = type(edges[0])(0)
    return min(zero, -high(-min(buckets))), max(zero, high(max(buckets)))


def _clipped(plan: Node, ranges: Mapping[Expr, tuple[Any, Any]]) -> Node:
    """The query, with arguments clipped to their ranges; NULL stays NULL."""
    if isinstance(plan, Aggregate):
        calls = []
        for name, call in plan.aggregates:
            args = tuple(_clip(arg, ranges.get(arg)) for arg in call.args)
            calls.append((name, replace(call, args=args) if call.name not in _COUNTS else call))
        return replace(plan, aggregates=tuple(calls))
    (parent,) = plan.parents
    return replace(plan, parent=_clipped(parent, ranges))  # type: ignore[call-arg]


def _clip(arg: Expr, ends: tuple[Any, Any] | None) -> Expr:
    return arg if ends is None else Call("clip", (arg,), ends, place=arg.origin)

"""Ranges that nobody declared, learned privately: `bounds="auto"`.

A fifth of the cost buys noisy counts of the values by their power of two, both signs. Where such a
count is clearly above its noise there are values, and the range reaches from the first of these
powers to the last, and to 0: many small values may hide in buckets of a few each. The rest of the cost answers the query with its argument clipped to that range.
The range is computed from noisy counts alone (post-processing), so nothing else is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

import polars as pl

from dpframe.bounds.analysis import typed
from dpframe.bounds.lower import Lowering
from dpframe.bounds.refine import refined
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.plan.domains import Type
from dpframe.plan.exprs import AggregateCall, Call, Expr, Literal, literal
from dpframe.plan.nodes import Aggregate, Filter, Node, aggregate_of
from dpframe.query import Query
from dpframe.release.asking import Said
from dpframe.release.cost import Cost, single_cost
from dpframe.release.display import number
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

_THEN = "then    the question, clipped to what is found, which its noise follows from"

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


def missing_ranges(bounds: str, plan: Node, lowering: Lowering) -> dict[Expr, Type]:
    """What `bounds="auto"` has to learn before a plan can be answered."""
    if bounds == "auto":
        return open_arguments(plan, lowering)
    raise ParameterError(
        f'bounds={bounds!r} is not "auto"',
        why="ranges are learned from the rows for a part of the cost, or declared with the table",
        fix='bounds="auto"; or session.register(..., columns={"cost": dp.Range(0, 5000)}),'
        " without bounds=",
    )


class LearningQuery(Query):
    """A question that lacks ranges, which are learned first; it costs nothing yet.

    Guarantee: the counts and the answer are queries of their own, with declared or clipped
    arguments, and both are charged. Whatever can be refused is refused before anything is spent:
    the question is analysed with the widest ranges first, and the whole cost must fit into the
    budget.
    """

    def __init__(
        self, plan: Node, arguments: Mapping[Expr, Type], analyse: Analyse, said: Said
    ) -> None:
        """Take a plan, and what it lacks; `analyse` makes the questions that it is answered by."""
        widest = {a: _range([-len(_POWERS[k]), len(_POWERS[k])], k) for a, k in arguments.items()}
        wide = analyse(_clipped(plan, widest))
        super().__init__(
            wide._asking, wide._compiled, wide._engine, wide._version, wide._asked, said
        )
        self._plan, self._arguments, self._analyse, self._wide = plan, arguments, analyse, wide
        self._counts = {a: analyse(_counted(plan, a, k)) for a, k in arguments.items()}

    def cost_of(self, cost: Cost, *, fresh: bool) -> Loss:
        """What `answer` would be charged."""
        counting, answering = self._shares(cost, fresh)
        counts = self._cost_of_counts(counting, fresh)
        if counts != Loss.none():
            # What the ranges will be is not known yet: the question stands with the widest.
            return counts + self._wide.cost_of(answering, fresh=True)
        return self._clipped(self._learned(counting, fresh)[0]).cost_of(answering, fresh=fresh)

    def explain_of(self, cost: Cost, *, fresh: bool, notes: Sequence[str] = ()) -> str:
        """What is learned first, as a question of its own; then the answer, if that is known."""
        if not self.has_cost(cost) and not self._is_learned(fresh):
            counted = "counts of its values by their power of two, for a fifth of the cost"
            lines = [f"first   a range for {expr_text(a)}: {counted}" for a in self._counts]
            lines += [_THEN, *notes, "cost    to be said: explain(epsilon=0.1)"]
            return "\n".join([*lines, f"left    {self._asking.ledger.room}"])
        counting, answering = self._shares(cost, fresh)
        if self._cost_of_counts(counting, fresh) == Loss.none():
            found, _ = self._learned(counting, fresh)
            known = [
                f"range   {expr_text(arg)} is clipped to [{low:,g}, {high:,g}], learned before"
                for arg, (low, high) in found.items()
            ]
            return self._clipped(found).explain_of(answering, fresh=fresh, notes=[*notes, *known])
        lines = []
        for arg, query in self._counts.items():
            paid, (_, half) = query.cost_of(counting, fresh=fresh), query.predicted(counting)
            lines += [
                f"first   a range for {expr_text(arg)}: counts of its values by their power of two",
                f"     each within ± {number(half, half)} 95% of the time; cost: {paid}",
            ]
        rest = self._wide.cost_of(answering, fresh=True)
        lines += [_THEN, f"     cost: {rest}", *notes]
        loss = self.cost_of(cost, fresh=fresh)
        return "\n".join([*lines, f"cost    {loss}", f"left    {self._asking.left_after(loss)}"])

    def answer(self, cost: Cost, *, fresh: bool, warned: bool = False) -> Release:
        """Learn the range of each argument, then answer with what is left of the cost."""
        counting, answering = self._shares(cost, fresh)
        if self._cost_of_counts(counting, fresh) != Loss.none():
            # Else the ranges are known: what follows is one release, refused as a whole.
            whole = self.cost_of(cost, fresh=fresh)
            self._said.check(whole)
            self._asking.ledger.check(whole, asked=self._asked)
            if not warned:
                self.warn(whole)
            warned = True
        found, spent = self._learned(counting, fresh)
        answer = self._clipped(found).answer(answering, fresh=fresh, warned=warned)
        named = {expr_text(argument): ends for argument, ends in found.items()}
        return answer.with_learned_bounds(named, spent + answer.loss)

    def _is_learned(self, fresh: bool) -> bool:
        """Whether the ranges are known from earlier counts, whatever their noise."""
        return not fresh and all(query.is_known() for query in self._counts.values())

    def _shares(self, cost: Cost, fresh: bool) -> tuple[Cost, Cost]:
        """What learning each range may cost, and what is left for the answer."""
        cost = self._checked(cost)
        if not self.has_cost(cost) and self._is_learned(fresh):
            return Cost(), cost  # the answer may be known, too
        name, amount = single_cost(replace(cost, takes_error=False), self._asking.default_share)
        if name == "error":
            raise ParameterError(
                'bounds="auto" with error=',
                why="ranges are learned for a part of a cost, which has to be said",
                fix='bounds="auto", epsilon=0.5',
            )
        each: dict[str, Any] = {name: amount * LEARNING_SHARE / len(self._arguments)}
        rest: dict[str, Any] = {name: amount * (1 - LEARNING_SHARE)}
        return Cost(**each), replace(cost, **rest)

    def _cost_of_counts(self, counting: Cost, fresh: bool) -> Loss:
        loss = Loss.none()
        for query in self._counts.values():
            loss = loss + query.cost_of(counting, fresh=fresh)
        return loss

    def _learned(self, counting: Cost, fresh: bool) -> tuple[dict[Expr, tuple[Any, Any]], Loss]:
        """The range of each argument, and what it cost."""
        found, spent = {}, Loss.none()
        for argument, query in self._counts.items():
            release = query.answer(counting, fresh=fresh, warned=True)
            spent = spent + release.loss
            found[argument] = _range(_seen(release), self._arguments[argument])
        return found, spent

    def _clipped(self, ranges: Mapping[Expr, tuple[Any, Any]]) -> Query:
        return self._analyse(_clipped(self._plan, ranges))


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

"""Bins of a histogram, written out: their ends follow from declared ranges, or were given.

Guarantee: that of a grouped count. A row is in one bin at most, so whatever the number of bins, a
unit changes them by no more than its weight together. The ends are computed from declarations and
from what the analyst wrote, never from a row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, cast

from dpframe.bounds.analysis import typed
from dpframe.bounds.lower import Lowering
from dpframe.bounds.refine import refined
from dpframe.errors import ParameterError, UnboundedError
from dpframe.plan.bins import (
    HIGH,
    LOW,
    Closed,
    bins_in,
    edges_error,
    edges_fix,
    pointer,
    shown_edge,
)
from dpframe.plan.coding import EXACT_DOUBLES
from dpframe.plan.domains import INT64, Domain, Type, type_of_value
from dpframe.plan.exprs import (
    AggregateCall,
    Call,
    Column,
    Expr,
    WindowCall,
    columns_of,
    conjunction,
    literal,
    transform,
)
from dpframe.plan.nodes import Aggregate, Filter, Node, Project, Regroup, Window, aggregate_of

Edges = tuple[Any, ...]


def with_bins(plan: Node, lowering: Lowering) -> tuple[Node, dict[str, Edges]]:
    """The plan with its bins written out, and the edges of each key that is bins.

    Bins are closed on one side, and the bin at the other end of them all is closed on both. Rows
    without a value, or beyond given edges, are in no bin: they are filtered out.
    """
    node = aggregate_of(plan)
    calls = list(bins_in([key for _, key in node.keys]))
    if not calls:
        return plan, {}
    needed = frozenset(c for call in calls for c in columns_of(call))
    rows = lowering.rows(node.parent, needed)
    written: dict[Expr, Expr] = {}
    ends: dict[Expr, Edges] = {}
    conditions: list[Expr] = []
    for call in calls:
        value = rows.over_source(call.args[0])
        domain = typed(value, rows.table.domains).domain
        if not domain.is_bounded:  # the query itself may bound it
            inside = typed(value, refined(rows.table.domains, rows.where)).domain
            domain = inside.with_nullable(domain.nullable)
        cuts = _edges(call, domain)
        ends[call] = cuts
        conditions += _inside(call.args[0], domain, cuts)
        written[call] = _number(call, domain, cuts)
    predicate = conjunction(tuple(conditions))
    parent = node.parent if predicate is None else Filter(node.parent, predicate)
    keys = tuple((name, transform(key, written.get)) for name, key in node.keys)
    edges = {name: ends[key] for name, key in node.keys if key in ends}
    named = {f"{LOW}{name}": _chosen(name, cuts[:-1]) for name, cuts in edges.items()}
    named |= {f"{HIGH}{name}": _chosen(name, cuts[1:]) for name, cuts in edges.items()}
    return _above(plan, replace(node, parent=parent, keys=keys), named), edges


def _above(plan: Node, node: Aggregate, named: Mapping[str, Expr]) -> Node:
    """The plan over another aggregate, with the ends of bins computed where they are named."""

    def change(expr: Expr) -> Expr | None:
        return named.get(expr.name) if isinstance(expr, Column) else None

    if isinstance(plan, Aggregate):
        return node
    (parent,) = plan.parents
    below = _above(parent, node, named)
    match plan:
        case Project():
            return Project(below, tuple((n, transform(e, change)) for n, e in plan.columns))
        case Filter():
            return Filter(below, transform(plan.predicate, change))
        case Window():
            calls = ((n, cast(WindowCall, transform(c, change))) for n, c in plan.columns)
            return Window(below, tuple(calls))
        case Regroup():
            keys = tuple((n, transform(e, change)) for n, e in plan.keys)
            found = ((n, cast(AggregateCall, transform(c, change))) for n, c in plan.aggregates)
            return Regroup(below, keys, tuple(found))
    return replace(plan, parent=below)  # type: ignore[call-arg]


# --- edges ---------------------------------------------------------------------------------------


def _edges(call: Call, domain: Domain) -> Edges:
    """The ends of all bins: as given, or cut evenly from the declared range."""
    bins, edges, closed, _ = call.params
    if domain.type is Type.BOOL or (domain.type is Type.TEXT and domain.values is not None):
        raise ParameterError(
            f"{_name(call)} is a {domain.type.value}, and has no bins to be counted"
            f"{pointer(call.place)}",
            why="its values lie in no order that could be cut; each has a bin of its own",
            fix=_categories_fix(call),
        )
    if edges is not None and domain.type is not Type.TEXT:
        return _given(call, domain, edges)
    if not domain.is_bounded or domain.type is Type.TEXT or _is_too_wide(domain):
        raise UnboundedError(
            f"{_name(call)} has no range to be cut into bins{pointer(call.place)}",
            why="bins that follow the data would tell of it",
            fix=_range_fix(call, domain),
        )
    if domain.low == domain.high:
        return (domain.low, domain.high)
    if domain.type is Type.DATE:
        days = (domain.high - domain.low).days
        starts = [domain.low + timedelta(days=days * i // bins) for i in range(bins)]
        return (*dict.fromkeys(starts), domain.high)
    if domain.type is Type.TIMESTAMP:
        width = (domain.high - domain.low) / bins
        return (*dict.fromkeys(domain.low + width * i for i in range(bins)), domain.high)
    if _is_told_apart_as_integers(domain):
        span = domain.high - domain.low
        starts = [domain.low + span * i // bins for i in range(bins)]
        return (*dict.fromkeys(starts), domain.high)
    low, high = float(domain.low), float(domain.high)
    width = (high - low) / bins
    if width > 0:
        found = (low, *(_edge(i, low, width, closed) for i in range(1, bins)), high)
        if _rise(found):
            return found
    raise ParameterError(
        f"the range of {_name(call)} is too narrow for {bins} bins{pointer(call.place)}",
        why="numbers of this size lie further apart than the bins would",
        fix=edges_fix(call.place),
    )


def _rise(edges: Edges) -> bool:
    return all(a < b for a, b in itertools.pairwise(edges))


def _is_told_apart_as_integers(domain: Domain) -> bool:
    """Whether values are integers that doubles would confuse, and constants of 64 bits do not."""
    ends = (domain.low, domain.high)
    large = any(abs(end) > EXACT_DOUBLES for end in ends)
    return domain.type is Type.INT and large and all(INT64[0] <= e <= INT64[1] for e in ends)


def _range_fix(call: Call, domain: Domain) -> str:
    """How to say what is cut: edges, or the range of the column where it is one."""
    edges = edges_fix(call.place, domain.type)
    names = columns_of(call)
    if len(names) != 1:
        return edges
    return f'{edges}, or session.register(..., columns={{"{names[0]}": dp.Range(low, high)}})'


def _categories_fix(call: Call) -> str:
    """How values that are not cut are counted."""
    name = getattr(call.args[0], "name", "x")
    name = name if name.isidentifier() else "x"
    fix = f"HISTOGRAM({name}), or beside bins of a number HISTOGRAM({name}, age, 11)"
    return "leave bins= out" if call.place is None else call.place.advice(fix)


def _is_too_wide(domain: Domain) -> bool:
    numbers = domain.type in (Type.INT, Type.FLOAT)
    return numbers and not math.isfinite(float(domain.high) - float(domain.low))


def _name(call: Call) -> str:
    names = columns_of(call)
    return names[0] if len(names) == 1 else "the expression"


def _edge(number: int, low: float, width: float, closed: Closed) -> float:
    """The end between two bins of even width, such that rows with this value are on its side.

    Rows are numbered by (x - low) / width, which rounds, so the end may have to be moved a little.
    """
    edge = low + width * number
    ulp = math.ulp(max(abs(low), abs(edge)))
    while closed == "left" and (edge - low) / width < number:
        edge += ulp
    while closed == "right" and (edge - low) / width > number:
        edge -= ulp
    return edge


def _given(call: Call, domain: Domain, given: Edges) -> Edges:
    """Edges as they were given, checked against the values that they cut."""
    fault = _fault(domain, given)
    if fault:
        raise edges_error(call.args[0], fault, call.place, domain.type)
    return given


def _fault(domain: Domain, given: Edges) -> str:
    """What is wrong with edges of such values; nothing where they are as they should be."""
    numbers = domain.type in (Type.INT, Type.FLOAT)
    kinds = {Type.INT, Type.FLOAT} if numbers else {domain.type}
    for edge in given:
        if not isinstance(edge, int | float | date) or type_of_value(edge) not in kinds:
            return f"have {shown_edge(edge)}, which is no {domain.type.value}"
    if len(given) < 2:
        return "have one edge, and two make a bin" if given else "have no edge, and two make a bin"
    if any(getattr(edge, "tzinfo", None) is not None for edge in given):
        return "have a time zone, and its values have none"
    endless = [edge for edge in given if numbers and not math.isfinite(edge)]
    if endless:
        what = "is no number" if math.isnan(endless[0]) else "has no end"
        return f"have {endless[0]}, which {what}"
    for low, high in itertools.pairwise(given):
        if not low < high:
            return f"do not rise: {high} comes after {low}"
    before = domain.low is not None and given[-1] < domain.low
    if before or (domain.high is not None and given[0] > domain.high):
        low, high = (f"{end:g}" if numbers else end for end in (domain.low, domain.high))
        return f"lie beyond its range, {low} to {high}"
    return ""


# --- expressions ---------------------------------------------------------------------------------


def _inside(value: Expr, domain: Domain, cuts: Edges) -> list[Expr]:
    """That a row is in some bin: it has a value, and not beyond the edges."""
    found: list[Expr] = []
    if domain.nullable:
        found.append(Call("not", (Call("is_null", (value,)),)))
    if domain.low is None or cuts[0] > domain.low:
        found.append(Call("greater_equal", (value, literal(cuts[0]))))
    if domain.high is None or cuts[-1] < domain.high:
        found.append(Call("less_equal", (value, literal(cuts[-1]))))
    return found


def _number(call: Call, domain: Domain, cuts: Edges) -> Expr:
    """The number of the bin that a value is in."""
    (value,), (_, edges, closed, _) = call.args, call.params
    if len(cuts) == 2:
        return literal(0)
    even = edges is None and domain.type in (Type.INT, Type.FLOAT)
    if even and not _is_told_apart_as_integers(domain):
        return _even(value, cuts, closed)
    symbol = "less" if closed == "left" else "less_equal"
    return _search(0, len(cuts) - 2, lambda i: Call(symbol, (value, literal(cuts[i]))), literal)


def _even(value: Expr, cuts: Edges, closed: Closed) -> Expr:
    """The number of a bin of even width, without a comparison for each.

    All bins together are the range of the value, so nothing is below the first one; the very end of
    the range, and what a division rounds up, is in the last one.
    """
    last = len(cuts) - 2
    above = Call("subtract", (Call("cast", (value,), ("DOUBLE",)), literal(float(cuts[0]))))
    scaled = Call("divide", (above, literal((cuts[-1] - cuts[0]) / (last + 1))))
    if closed == "left":
        number = Call("cast", (Call("floor", (scaled,)),), ("BIGINT",))
        return Call("least", (number, literal(last)))
    ceiling = Call("cast", (Call("ceil", (scaled,)),), ("BIGINT",))
    below_one = Call("subtract", (ceiling, literal(1)))
    return Call("greatest", (literal(0), Call("least", (below_one, literal(last)))))


def _chosen(key: str, values: Edges) -> Expr:
    """One of some values, by the number of the bin."""
    number = Column(key)
    return _search(
        0,
        len(values) - 1,
        lambda i: Call("less", (number, literal(i))),
        lambda i: literal(values[i]),
    )


def _search(
    first: int, last: int, is_before: Callable[[int], Expr], value: Callable[[int], Expr]
) -> Expr:
    """Nested CASEs that find a number by halving, so that they are never deep."""
    if first == last:
        return value(first)
    middle = (first + last + 1) // 2
    below = _search(first, middle - 1, is_before, value)
    return Call("case", (is_before(middle), below, _search(middle, last, is_before, value)))

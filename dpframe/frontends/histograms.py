"""Histograms as plans: a count for each bin of a column, grouped by expressions with public keys."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from dpframe.declare import Table
from dpframe.errors import ParameterError, UnboundedError
from dpframe.plan.domains import Domain, Type, type_of_value
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, conjunction, literal
from dpframe.plan.nodes import Aggregate, Filter, Node, Project, Scan

Edges = Sequence[Any] | Mapping[str, Sequence[Any]]
"""The edges of one column, or of each by its name."""

MOST_BINS = 1000
"""Bins of one column."""


def histogram_plan(
    table: Table,
    columns: Sequence[str],
    bins: int | None,
    edges: Edges | None,
    by: Sequence[str],
    *,
    nonnegative: bool = False,
) -> Node:
    """The plan that counts the rows in each bin of one column, or of two.

    Guarantee: that of a grouped count. A row is in one bin, so whatever the number of bins, a unit
    changes them by no more than its weight together. Bins are closed below and open above, the last
    one closed. Rows without a value, or beyond given edges, are in no bin.
    """
    keys: list[tuple[str, Expr]] = [(f"k{i}", Column(name)) for i, name in enumerate(by)]
    shown: list[tuple[str, Expr]] = [(name, Column(f"k{i}")) for i, name in enumerate(by)]
    conditions: list[Expr] = []
    for name in columns:
        domain, key = table.domains[name], f"k{len(keys)}"
        prefix = f"{name}_" if len(columns) > 1 else ""
        own = edges.get(name) if isinstance(edges, Mapping) else edges
        if domain.values is not None and own is None:
            keys.append((key, Column(name)))
            shown.append((name, Column(key)))
            continue
        others = isinstance(edges, Mapping) and own is not None  # bins= is for the other column
        cuts = _edges(name, domain, None if others else bins, own)
        conditions += _inside(name, domain, cuts)
        equal = own is None and domain.type in (Type.INT, Type.FLOAT)
        keys.append((key, _equal_bin(name, cuts) if equal else _bin(name, cuts)))
        shown += [
            (f"{prefix}low", _chosen(key, cuts[:-1])),
            (f"{prefix}high", _chosen(key, cuts[1:])),
        ]
    predicate = conjunction(tuple(conditions))
    rows: Node = Scan(table.name)
    rows = rows if predicate is None else Filter(rows, predicate)
    counted = Aggregate(rows, tuple(keys), (("a0", AggregateCall("COUNT", ())),))
    count: Expr = Column("a0")
    if nonnegative:
        count = Call("greatest", (count, literal(0)))
    return Project(counted, (*shown, ("count", count)))


def _edges(
    name: str, domain: Domain, bins: int | None, edges: Sequence[Any] | None
) -> tuple[Any, ...]:
    """The ends of all bins: as given, or cut evenly from the declared range."""
    if (bins is None) == (edges is None):
        raise ParameterError(
            f"a histogram of {name} takes either bins= or edges=",
            why="only columns with declared keys have bins of their own",
            fix="bins=20, or edges=[0, 18, 65, 110]",
        )
    if edges is not None:
        return _given(name, domain, edges)
    if isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= MOST_BINS:
        raise ParameterError(
            f"bins={bins!r} is not a whole number from 1 to {MOST_BINS:,}",
            why="each bin is released with noise of its own",
            fix="bins=20",
        )
    if not domain.is_bounded or domain.type in (Type.BOOL, Type.TEXT):
        raise UnboundedError(
            f"{name} has no range to be cut into bins",
            why="bins that follow the data would tell of it",
            fix=f'edges=[...], or session.register(..., columns={{"{name}": dp.Range(low, high)}})',
        )
    if domain.low == domain.high:
        return (domain.low, domain.high)
    if domain.type is Type.DATE:
        days = (domain.high - domain.low).days
        starts = [domain.low + timedelta(days=days * i // bins) for i in range(bins)]
        return (*dict.fromkeys(starts), domain.high)
    if domain.type is Type.TIMESTAMP:
        width = (domain.high - domain.low) / bins
        return (*(domain.low + width * i for i in range(bins)), domain.high)
    low, high = float(domain.low), float(domain.high)
    return (*(_edge(i, low, (high - low) / bins) for i in range(bins)), high)


def _edge(number: int, low: float, width: float) -> float:
    """The lower end of a bin of even width: a value that rows with it are counted in that bin by.

    Rows are numbered by (x - low) / width, which rounds, so the end may have to be a little higher.
    """
    edge = low + width * number
    ulp = math.ulp(max(abs(low), abs(edge)))
    while (edge - low) / width < number:
        edge += ulp
    return edge


def _given(name: str, domain: Domain, edges: Sequence[Any]) -> tuple[Any, ...]:
    """Edges as they were given, checked."""
    given = tuple(edges)
    kinds = {type_of_value(e) if isinstance(e, int | float | date) else None for e in given}
    numbers = kinds <= {Type.INT, Type.FLOAT} and domain.type in (Type.INT, Type.FLOAT)
    finite = not numbers or all(map(math.isfinite, given))
    fitting = len(given) >= 2 and finite and (numbers or kinds == {domain.type})
    if not fitting or any(not a < b for a, b in itertools.pairwise(given)):
        raise ParameterError(
            f"edges= for {name} are not at least two rising values of its type",
            why="each bin reaches from one edge to the next",
            fix="edges=[0, 18, 65, 110]",
        )
    if len(given) > MOST_BINS + 1:
        raise ParameterError(
            f"{len(given) - 1:,} bins are too many",
            why=f"a column may have {MOST_BINS:,}; each is released with noise of its own",
            fix="edges=[0, 18, 65, 110]",
        )
    return given


def _inside(name: str, domain: Domain, cuts: tuple[Any, ...]) -> list[Expr]:
    """That a row is in some bin: it has a value, and not beyond the edges."""
    column = Column(name)
    found: list[Expr] = []
    if domain.nullable:
        found.append(Call("not", (Call("is_null", (column,)),)))
    if domain.low is None or cuts[0] > domain.low:
        found.append(Call("greater_equal", (column, literal(cuts[0]))))
    if domain.high is None or cuts[-1] < domain.high:
        found.append(Call("less_equal", (column, literal(cuts[-1]))))
    return found


def _equal_bin(name: str, cuts: tuple[Any, ...]) -> Expr:
    """The number of a bin of even width."""
    last = len(cuts) - 2
    if last == 0:
        return literal(0)
    above = Call("subtract", (Call("cast", (Column(name),), ("DOUBLE",)), literal(float(cuts[0]))))
    scaled = Call("divide", (above, literal((cuts[-1] - cuts[0]) / (last + 1))))
    number = Call("cast", (Call("floor", (scaled,)),), ("BIGINT",))
    return Call("greatest", (literal(0), Call("least", (number, literal(last)))))


def _bin(name: str, cuts: tuple[Any, ...]) -> Expr:
    """The number of a bin between given edges."""
    column = Column(name)
    return _search(0, len(cuts) - 2, lambda i: Call("less", (column, literal(cuts[i]))), literal)


def _chosen(key: str, values: tuple[Any, ...]) -> Expr:
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

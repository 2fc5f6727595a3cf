"""Histograms as plans: a count for each bin of a column, grouped by expressions with public keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dpframe.declare import Table
from dpframe.errors import ParameterError, QueryError
from dpframe.plan.bins import HIGH, LOW, Closed, Shown, binned
from dpframe.plan.exprs import AggregateCall, Column, Expr
from dpframe.plan.nodes import Aggregate, Node, Project, Scan

Edges = Sequence[Any] | Mapping[str, Sequence[Any]]
"""The edges of one column, or of each by its name."""


def histogram_plan(
    table: Table,
    columns: Sequence[str],
    bins: int | None,
    edges: Edges | None,
    by: Sequence[str],
    closed: Closed = "left",
) -> tuple[Node, Shown]:
    """The plan that counts the rows in each bin of one column, or of two; and what it shows.

    Guarantee: that of a grouped count; see `bounds.bins`.
    """
    if closed not in ("left", "right"):
        raise ParameterError(
            f"closed={closed!r} is neither 'left' nor 'right'",
            why="a value on the edge of two bins is in one of them",
            fix='closed="left": 18 is in the bin from 18 on',
        )
    _refuse_misnamed(table, columns, by, edges)
    keys: list[tuple[str, Expr]] = [(f"k{i}", Column(name)) for i, name in enumerate(by)]
    shown: list[tuple[str, Expr]] = [(name, Column(f"k{i}")) for i, name in enumerate(by)]
    own_keys, ends = [], []
    for name in columns:
        key = f"k{len(keys)}"
        own_keys.append(key)
        prefix = f"{name}_" if len(columns) > 1 else ""
        own = edges.get(name) if isinstance(edges, Mapping) else edges
        if table.domains[name].values is not None and own is None:
            keys.append((key, Column(name)))
            shown.append((name, Column(key)))
            continue
        others = isinstance(edges, Mapping) and own is not None  # bins= is for the other column
        keys.append((key, binned(Column(name), None if others else bins, own, closed)))
        ends += [f"{prefix}low", f"{prefix}high"]
        shown += [(ends[-2], Column(f"{LOW}{key}")), (ends[-1], Column(f"{HIGH}{key}"))]
    counted = Aggregate(Scan(table.name), tuple(keys), (("a0", AggregateCall("COUNT", ())),))
    names = _unique([*(name for name, _ in shown), "count"])
    one_column = len(columns) == 1 and bool(ends)
    low, high = (names[-3], names[-2]) if one_column else (None, None)
    found = Shown(tuple(names[: len(by)]), tuple(own_keys), low, high, names[-1])
    outputs = zip(names, [*(expr for _, expr in shown), Column("a0")], strict=True)
    return Project(counted, tuple(outputs)), found


def _unique(names: Sequence[str]) -> list[str]:
    """Names with an underscore where a group has the name of an end or of the count."""
    found: list[str] = []
    for name in names:
        while name in found:
            name += "_"
        found.append(name)
    return found


def _refuse_misnamed(
    table: Table, columns: Sequence[str], by: Sequence[str], edges: Edges | None
) -> None:
    if not 1 <= len(columns) <= 2:
        raise ParameterError(
            f"a histogram of {len(columns)} columns",
            why="bins lie on a line or in a plane; more columns have hardly any rows per bin",
            fix='one column, or two: ["age", "cost"]; by= names further groups',
        )
    for name in (*columns, *by):
        if name not in table.storage:
            raise QueryError(
                f"{name!r} is not a column of {table.name}",
                why=f"its columns are {', '.join(table.storage)}",
                fix=f'session.histogram("{table.name}", "{next(iter(table.storage))}", bins=20,'
                " epsilon=0.1)",
            )
        if name not in table.domains:
            raise QueryError(
                f"{name} is a column of type {table.storage[name].name}, which cannot be used",
                why="its values have no order or code that every engine shares",
                fix="cast it to a number, text, date or naive timestamp before registering",
            )
    twice = [name for i, name in enumerate((*columns, *by)) if name in (*columns, *by)[:i]]
    if twice:
        raise ParameterError(
            f"{twice[0]} is named twice",
            why="bins of a column and groups of its values would be the same",
            fix="name each column once",
        )
    stray = set(edges) - set(columns) if isinstance(edges, Mapping) else set()
    if stray:
        raise ParameterError(
            f"edges= names {', '.join(sorted(map(str, stray)))}",
            why=f"the histogram is of {', '.join(columns)}",
            fix='edges={"age": [0, 18, 65, 110]}',
        )

"""Histograms as plans: a count for each bin of a column, grouped by expressions with public keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dpframe.errors import ParameterError, QueryError
from dpframe.frontends.polars import PrivateRows
from dpframe.plan.bins import HIGH, LOW, NO_WISH, OPTIONS, Closed, Wish, binned
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Column, Expr
from dpframe.plan.nodes import Aggregate, Node, Project
from dpframe.plan.shown import Axis, Shown

Edges: TypeAlias = Sequence[Any] | Mapping[str, Sequence[Any]]
"""The edges of one column, or of each by its name."""


def histogram_plan(
    rows: PrivateRows,
    domain_of: Callable[[Expr], Domain | None],
    columns: Sequence[str],
    bins: int | Mapping[str, int] | None,
    edges: Edges | None,
    by: Sequence[str],
    closed: Closed = "left",
    wish: Wish = NO_WISH,
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
    _refuse_wishes(wish)
    _refuse_misnamed(rows, columns, by, bins, edges)
    keys: list[tuple[str, Expr]] = [(f"k{i}", rows.columns[name]) for i, name in enumerate(by)]
    shown: list[tuple[str, Expr]] = [(name, Column(f"k{i}")) for i, name in enumerate(by)]
    own: list[tuple[str, str, int]] = []
    for name in columns:
        key, expr = f"k{len(keys)}", rows.columns[name]
        prefix = f"{name}_" if len(columns) > 1 else ""
        given = edges.get(name) if isinstance(edges, Mapping) else edges
        domain = domain_of(expr)
        if domain is not None and domain.values is not None and given is None:
            keys.append((key, expr))
            shown.append((name, Column(key)))
            own.append((key, name, 1))
            continue
        others = isinstance(edges, Mapping) and given is not None  # bins= is for the other column
        even = bins.get(name) if isinstance(bins, Mapping) else bins
        keys.append((key, binned(expr, None if others else even, given, closed)))
        shown += [
            (f"{prefix}low", Column(f"{LOW}{key}")),
            (f"{prefix}high", Column(f"{HIGH}{key}")),
        ]
        own.append((key, name, 2))
    counted = Aggregate(rows.node(), tuple(keys), (("a0", AggregateCall("COUNT", ())),))
    names = _unique([*(name for name, _ in shown), "count"])
    axes, start = [], len(by)
    for key, title, width in own:
        axes.append(Axis(key, title, tuple(names[start : start + width])))
        start += width
    outputs = zip(names, [*(expr for _, expr in shown), Column("a0")], strict=True)
    found = Shown(tuple(names[: len(by)]), tuple(axes), names[-1], wish)
    return Project(counted, tuple(outputs)), found


def _refuse_wishes(wish: Wish) -> None:
    for name in OPTIONS:
        value = getattr(wish, name)
        if not isinstance(value, bool) and not (name == "hierarchical" and value is None):
            raise ParameterError(
                f"{name}={value!r} is neither True nor False",
                why="it is asked for, or it is not",
                fix=f"{name}=True",
            )


def _unique(names: Sequence[str]) -> list[str]:
    """Names with an underscore where a group has the name of an end or of the count."""
    found: list[str] = []
    for name in names:
        while name in found:
            name += "_"
        found.append(name)
    return found


def _refuse_misnamed(
    rows: PrivateRows,
    columns: Sequence[str],
    by: Sequence[str],
    bins: int | Mapping[str, int] | None,
    edges: Edges | None,
) -> None:
    table = rows.table
    if not 1 <= len(columns) <= 2:
        raise ParameterError(
            f"a histogram of {len(columns)} columns",
            why="bins lie on a line or in a plane; more columns have hardly any rows per bin",
            fix='one column, or two: ["age", "cost"]; by= names further groups',
        )
    for name in (*columns, *by):
        if not isinstance(name, str) or name not in rows.columns:
            raise QueryError(
                f"{name!r} is not a column of {table.name}",
                why=f"its columns are {', '.join(rows.columns)}",
                fix=f'session.histogram("{table.name}", "{next(iter(rows.columns))}", bins=20,'
                " epsilon=0.1)",
            )
        expr = rows.columns[name]
        if isinstance(expr, Column) and expr.name not in table.domains:
            kind = table.storage[expr.name].name
            raise QueryError(
                f"{name} is a column of type {kind}, which cannot be used",
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
    for option, given in (("bins", bins), ("edges", edges)):
        stray = set(given) - set(columns) if isinstance(given, Mapping) else set()
        if stray:
            raise ParameterError(
                f"{option}= names {', '.join(sorted(map(str, stray)))}",
                why=f"the histogram is of {', '.join(columns)}",
                fix='bins={"age": 11}' if option == "bins" else 'edges={"age": [0, 18, 65, 110]}',
            )

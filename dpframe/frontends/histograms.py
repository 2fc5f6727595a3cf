"""Histograms as plans: a count for each bin of a column, grouped by expressions with public keys."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from dpframe.declare import readable
from dpframe.errors import ParameterError, QueryError, UnboundedError
from dpframe.frontends.polars import PrivateRows
from dpframe.plan.bins import HIGH, LOW, MOST_BINS, NO_WISH, OPTIONS, Closed, Wish, binned
from dpframe.plan.domains import Domain, Type, number_of_values
from dpframe.plan.exprs import AggregateCall, Column, Expr
from dpframe.plan.nodes import RESERVED, Aggregate, Node, Project
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
    _refuse_misnamed(rows, domain_of, columns, by, bins, edges)
    _refuse_ignored(rows, domain_of, columns, bins, edges)
    keys: list[tuple[str, Expr]] = [(f"k{i}", rows.columns[name]) for i, name in enumerate(by)]
    shown: list[tuple[str, Expr]] = [(name, Column(f"k{i}")) for i, name in enumerate(by)]
    own: list[tuple[str, str, int]] = []
    for name in columns:
        key, expr = f"k{len(keys)}", rows.columns[name]
        prefix = f"{name}_" if len(columns) > 1 else ""
        given = edges.get(name) if isinstance(edges, Mapping) else edges
        domain = domain_of(expr)
        others = given is not None and isinstance(edges, Mapping) and not isinstance(bins, Mapping)
        even = bins.get(name) if isinstance(bins, Mapping) else bins
        if given is None and _is_listed(domain, even):
            keys.append((key, expr))
            shown.append((name, Column(key)))
            own.append((key, name, 1))
            continue
        _refuse_unordered(rows, name, domain, even, given)
        even = None if others else even  # bins= is for the other column
        keys.append((key, binned(expr, even, given, closed)))
        shown += [
            (f"{prefix}low", Column(f"{LOW}{key}")),
            (f"{prefix}high", Column(f"{HIGH}{key}")),
        ]
        own.append((key, name, 2))
    counted = Aggregate(rows.node(), tuple(keys), (("a0", AggregateCall("COUNT", ())),))
    names = _unique([*(name for name, _ in shown), "count"])
    _refuse_reserved(rows, names, (*by, *columns))
    axes, start = [], len(by)
    for key, title, width in own:
        axes.append(Axis(key, title, tuple(names[start : start + width])))
        start += width
    outputs = zip(names, [*(expr for _, expr in shown), Column("a0")], strict=True)
    found = Shown(tuple(names[: len(by)]), tuple(axes), names[-1], wish)
    return Project(counted, tuple(outputs)), found


def _is_listed(domain: Domain | None, bins: Any) -> bool:
    """Whether each value has a bin of its own, as in SQL: values have no order, or are few."""
    if domain is None:
        return False
    if _is_category(domain):
        return True  # bins= is for the other column of a plane
    size = number_of_values(domain)
    return bins is None and (_has_keys(domain) or (size is not None and size <= MOST_BINS))


def _has_keys(domain: Domain | None) -> bool:
    """Whether the values are known, each by itself."""
    return domain is not None and (domain.values is not None or domain.type is Type.BOOL)


def _is_category(domain: Domain | None) -> bool:
    """Whether values have no order that bins could be cut from, and are known."""
    return domain is not None and domain.type in (Type.BOOL, Type.TEXT) and _has_keys(domain)


def _refuse_ignored(
    rows: PrivateRows,
    domain_of: Callable[[Expr], Domain | None],
    columns: Sequence[str],
    bins: int | Mapping[str, int] | None,
    edges: Edges | None,
) -> None:
    """Refuse a number of bins where there is nothing to be cut into them."""
    domains = {name: domain_of(rows.columns[name]) for name in columns}
    categories = [name for name in columns if _is_category(domains[name])]
    if isinstance(bins, Mapping):
        uncut = [name for name in categories if name in bins]
    else:
        cut = edges if isinstance(edges, Mapping) else ()
        others = [name for name in columns if name not in categories and name not in cut]
        uncut = [*categories, *cut] if bins is not None and not others else []
    if not uncut:
        return
    name, domain = uncut[0], domains[uncut[0]]
    if domain is None or name not in categories:
        raise ParameterError(
            f"bins= beside edges= for {name}",
            why="edges are the ends of the bins, so there is nothing left to cut",
            fix="leave bins= or edges= out",
        )
    given = bins.items() if isinstance(bins, Mapping) else ()
    kept = {column: number for column, number in given if column not in uncut}
    fix = f"bins={kept}" if kept else "leave bins= out"
    if len(columns) == 1:
        fix = _asked(rows, name, domain) or fix
    raise ParameterError(
        f"bins= for {name}, which is a {domain.type.value}",
        why="its values lie in no order that could be cut; each has a bin of its own",
        fix=fix,
    )


def _refuse_unordered(
    rows: PrivateRows, name: str, domain: Domain | None, bins: Any, edges: Any
) -> None:
    """Refuse values that no bins can be made of, with what can be asked of them."""
    if domain is None:
        return
    if edges is not None and domain.type in (Type.BOOL, Type.TEXT) and _is_listed(domain, None):
        raise ParameterError(
            f"edges= for {name}, which is a {domain.type.value}",
            why="its values lie in no order; each has a bin of its own",
            fix=_asked(rows, name, domain) or "leave edges= out",
        )
    if domain.type is Type.TEXT:
        raise UnboundedError(
            f"{name} is a text, and has no declared keys",
            why="values that follow the data would tell of it, and text has no range",
            fix=f'session.register(..., columns={{"{name}": dp.Keys(["a", "b"])}})',
        )
    if bins is None and edges is None and not domain.is_bounded:
        raise UnboundedError(
            f"{name} has neither edges nor a range to be cut into bins",
            why="bins that follow the data would tell of it",
            fix=f'edges=[0, 18, 65, 110], or session.register(..., columns={{"{name}":'
            " dp.Range(low, high)}) and bins=20",
        )


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


def _refuse_reserved(rows: PrivateRows, names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse names that a released table cannot have, because they are the library's own."""
    for name in names:
        if name.lower().startswith(RESERVED):
            column = next(c for c in columns if name.startswith(c))
            raise QueryError(
                f"a column of the answer would be called {name}",
                why=f"names that begin with {RESERVED} are the library's own",
                fix=f'session.table("{rows.table.name}").rename({{"{column}": "renamed"}})',
            )


def _asked(
    rows: PrivateRows, name: str, domain: Domain | None, by: str | None = None
) -> str | None:
    """A histogram of a column that is answered, as code; None if the column has none."""
    if domain is None or not (_is_listed(domain, None) or domain.is_bounded):
        return None
    options = "" if _is_listed(domain, None) and domain.type is not Type.INT else ", bins=20"
    options += f', by="{by}"' if by else ""
    if rows.columns[name] == Column(name) and name in rows.table.domains and rows.table.name:
        return f'session.histogram("{rows.table.name}", "{name}"{options}, epsilon=0.1)'
    return f'.histogram("{name}"{options})'


def _meant(
    rows: PrivateRows,
    domain_of: Callable[[Expr], Domain | None],
    near: str | None,
    other: str | None,
) -> str:
    """The histogram that a misspelt name was meant for, or one of another column.

    Where the name is of a group, `other` is the column whose bins are counted.
    """
    domains = {name: domain_of(expr) for name, expr in rows.columns.items()}
    if other is not None and near is not None and near != other and _has_keys(domains[near]):
        found = _asked(rows, other, domains.get(other), near) if other in domains else None
        if found is not None:
            return found
    first = [near] if near is not None and other is None else []
    asked = (_asked(rows, name, domains[name]) for name in (*first, *domains))
    return next((code for code in asked if code is not None), "check the name")


def _refuse_misnamed(
    rows: PrivateRows,
    domain_of: Callable[[Expr], Domain | None],
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
    for i, name in enumerate((*columns, *by)):
        if not isinstance(name, str) or name not in rows.columns:
            near = next(iter(difflib.get_close_matches(str(name), rows.columns, n=1)), None)
            raise QueryError(
                f"{name!r} is not a column of {table.name}"
                + (f"; did you mean {near!r}?" if near else ""),
                why=f"its columns are {', '.join(rows.columns)}",
                fix=_meant(rows, domain_of, near, columns[0] if i >= len(columns) else None),
            )
        expr = rows.columns[name]
        if isinstance(expr, Column) and expr.name not in table.domains:
            stored = table.storage[expr.name]
            why, fix = readable(stored)
            raise QueryError(
                f"{name} is a column of type {stored.name}, which cannot be used", why=why, fix=fix
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

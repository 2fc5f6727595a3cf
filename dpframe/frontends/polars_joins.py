"""`.join` and `.unique` of private rows, with the column names that Polars would give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import polars as pl

from dpframe.errors import QueryError
from dpframe.frontends.polars import PrivateRows
from dpframe.frontends.polars_arguments import flat
from dpframe.frontends.polars_text import Written
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.nodes import GroupRows, Join, Node, Project

How = Literal["inner", "left", "semi", "anti", "cross"]
_LEFT, _RIGHT = "left", "right"


def join_names(
    on: Any, left_on: Any, right_on: Any, how: str, left: list[str], right: list[str]
) -> list[tuple[str, str]]:
    """The pairs of columns that a join compares."""
    if how == "cross":
        given: tuple[list[str], list[str]] = ([], [])
        if not (on is left_on is right_on is None):
            raise QueryError(
                'how="cross" compares no columns',
                why="every row is put beside every other",
                fix='leave on= out, or how="inner"',
            )
    elif on is not None and left_on is None and right_on is None:
        given = (_names(on), _names(on))
    elif on is None and left_on is not None and right_on is not None:
        given = (_names(left_on), _names(right_on))
    else:
        raise QueryError(
            "the join does not say what it compares",
            why="it takes on=, or left_on= and right_on= together",
            fix='.join(other, on="user_id")',
        )
    if len(given[0]) != len(given[1]) or (how != "cross" and not given[0]):
        raise QueryError(
            f"{len(given[0])} columns are compared with {len(given[1])}",
            why="columns are compared in pairs",
            fix='.join(other, left_on=["a", "b"], right_on=["c", "d"])',
        )
    for names, known in zip(given, (left, right), strict=True):
        for name in names:
            if name not in known:
                raise QueryError(
                    f"there is no column {name!r} to join on",
                    why=f"the columns are {', '.join(known)}",
                    fix="check the name",
                )
    return list(zip(*given, strict=True))


def _names(given: Any) -> list[str]:
    names = []
    for each in flat([given]):
        plain = isinstance(each, pl.Expr) and each.meta.is_column()
        if not isinstance(each, str) and not plain:
            raise QueryError(
                f"{each} is not the name of a column",
                why="a join compares columns",
                fix='.with_columns(key=...) first, then .join(other, on="key")',
            )
        names.append(each.meta.output_name() if isinstance(each, pl.Expr) else each)
    return names


def joined(
    left: PrivateRows,
    right: PrivateRows,
    pairs: list[tuple[str, str]],
    how: How,
    suffix: str,
    place: Written,
) -> tuple[Node, dict[str, Expr]]:
    """The node of a join, and what each of its columns is called."""
    if not isinstance(suffix, str) or suffix.encode(errors="ignore").decode() != suffix:
        raise QueryError(
            f"suffix={suffix!r} is no text",
            why="it is added to names that both sides have",
            fix='suffix="_right"',
        )
    sides = (_prefixed(left, _LEFT), _prefixed(right, _RIGHT))
    on = tuple((Column(f"{_LEFT}.{a}"), Column(f"{_RIGHT}.{b}")) for a, b in pairs)
    node = Join(*sides, "inner" if how == "cross" else how, on, place=place)
    names = _polars_names(list(left.columns), list(right.columns), pairs, how, suffix)
    return node, {name: Column(inner, place) for name, inner in names.items()}


def _prefixed(rows: PrivateRows, side: str) -> Node:
    columns = tuple((f"{side}.{n}", e) for n, e in rows.columns.items() if rows.is_usable(e))
    return Project(rows.node(), columns)


def _polars_names(
    left: list[str], right: list[str], pairs: list[tuple[str, str]], how: How, suffix: str
) -> Mapping[str, str]:
    """Which column of which side each output is: Polars itself is asked, with rows of its own."""
    keys = ({a for a, _ in pairs}, {b for _, b in pairs})
    frames: list[pl.DataFrame] = []
    sources: dict[int, str] = {}
    for side, names, compared in zip((_LEFT, _RIGHT), (left, right), keys, strict=True):
        cells = {}
        for name in names:
            number = len(sources) + 1
            sources[number] = f"{side}.{name}"
            cells[name] = [0 if name in compared else number]
        frames.append(pl.DataFrame(cells))
    found: pl.DataFrame
    if how == "cross":
        found = frames[0].join(frames[1], how="cross", suffix=suffix)
    elif how in ("semi", "anti"):
        return {name: f"{_LEFT}.{name}" for name in left}
    else:
        found = frames[0].join(
            frames[1],
            left_on=[a for a, _ in pairs],
            right_on=[b for _, b in pairs],
            how=how,
            suffix=suffix,
        )
    shown: dict[str, str] = {}
    for name, (cell,) in zip(found.columns, found.iter_columns(), strict=True):
        if cell:
            shown[name] = sources[cell]
        elif name in left:
            shown[name] = f"{_LEFT}.{name}"
        else:
            shown[name] = f"{_RIGHT}.{name if name in right else name.removesuffix(suffix)}"
    return shown


def unique_rows(rows: PrivateRows, subset: Iterable[str] | None, place: Written) -> Node:
    """One row for all that are equal, where the unit is among the columns."""
    chosen = list(rows.columns) if subset is None else list(subset)
    if set(chosen) != set(rows.columns):
        raise QueryError(
            f"{place.text()} keeps one of several different rows",
            why="which of them would depend on their order",
            fix=".select(...) the columns that matter, then .unique()",
        )
    for name, expr in rows.columns.items():
        if not rows.is_usable(expr):
            raise QueryError(
                f"column {name!r} cannot be compared",
                why="its values have no order or code that every engine shares",
                fix=f'.drop("{name}").unique()',
            )
    node = Project(rows.node(), tuple(rows.columns.items()))
    return GroupRows(node, tuple((name, Column(name)) for name in chosen), (), place)

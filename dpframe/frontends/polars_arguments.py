"""Arguments of methods: expressions, names and constants, read as named terms."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any, TypeAlias

import polars as pl

from dpframe.errors import QueryError
from dpframe.frontends.polars_json import Schema, terms_of
from dpframe.frontends.polars_terms import Term, Unreadable
from dpframe.frontends.polars_text import code_of, polars_error
from dpframe.plan.nodes import RESERVED

IntoExpr: TypeAlias = pl.Expr | str | bool | int | float | date | None
"""An expression, the name of a column, or a constant, as in Polars."""

Columns: TypeAlias = str | pl.Expr | Iterable[str | pl.Expr]
"""Columns by name or selector."""

Renaming: TypeAlias = Mapping[str, str] | Callable[[str], str]
"""New names of columns, by their old ones."""

Named: TypeAlias = list[tuple[str, Term]]
"""Terms, each under the name that its column will have."""


def terms(given: Any, schema: Schema) -> list[Term]:
    """The terms of one argument: an expression, the name of a column, or a constant."""
    given = expression(given, pl.col if isinstance(given, str) else pl.lit)
    try:
        return terms_of(given, schema)
    except Unreadable as unreadable:
        problem = str(unreadable)
    raise polars_error(
        str(given),
        f"cannot be read: {problem}",
        why="only expressions whose every step is known can be bounded",
        fix="write it with Polars' own functions, on columns that are there",
    )


def expression(given: Any, made: Callable[[Any], pl.Expr] = pl.lit) -> pl.Expr:
    """An expression as it is; a constant, or the name of a column, as Polars makes one of it."""
    if isinstance(given, pl.Expr):
        return given
    # Polars panics where a decimal is no number.
    if not isinstance(given, Decimal) or given.is_finite():
        try:
            return made(given)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            pass  # raised below, outside the handler
    raise QueryError(
        f"a {type(given).__name__} is no expression"
        if not isinstance(given, str | int | Decimal)
        else f"{str(given)[:40]!r} is no expression",
        why="methods take Polars expressions, names of columns and constants",
        fix='pl.col("age") + 1, or "age"',
    )


def named_terms(given: Iterable[Any], by_name: Mapping[str, Any], schema: Schema) -> Named:
    """Positional and keyword arguments, each under the name that its column will have."""
    found = [(output_name(term), term) for each in flat(given) for term in terms(each, schema)]
    for name, each in by_name.items():
        listed = terms(each, schema)
        if len(listed) != 1:
            raise QueryError(
                f"{name}=... stands for {len(listed)} columns",
                why="a name is for one column",
                fix="name them by .name.suffix(...), or one by one",
            )
        found.append((name, listed[0]))
    return found


def released(found: Named) -> Named:
    """Refuse names that a released table cannot have: two of one name, or the library's own."""
    for name, term in unique(found):
        if name.startswith(RESERVED):
            raise polars_error(
                term,
                f"a name cannot begin with {RESERVED}",
                why="such names are the library's own",
                fix='.alias("n")',
            )
    return found


def flat(given: Iterable[Any]) -> list[Any]:
    """Arguments, with lists of them taken apart."""
    found: list[Any] = []
    for each in given:
        listed = isinstance(each, Iterable) and not isinstance(each, str | pl.Expr | pl.Series)
        found += flat(each) if listed else [each]
    return found


def output_name(term: Term) -> str:
    """The name that Polars gives the result: that of the leftmost column, unless said otherwise."""
    match term.name:
        case "alias" | "col":
            return str(term.options["name"])
        case "lit":
            return "literal"
        case "when":
            return output_name(term.inputs[1])
        case "name.keep":
            return _root_name(term)
        case "name.suffix":
            return output_name(term.inputs[0]) + str(term.options["value"])
        case "name.prefix":
            return str(term.options["value"]) + output_name(term.inputs[0])
        case "name.to_lowercase":
            return output_name(term.inputs[0]).lower()
        case "name.to_uppercase":
            return output_name(term.inputs[0]).upper()
    if term.name.startswith("name."):
        raise polars_error(
            term,
            "is not a way to name a column here",
            why="names must be known before anything is computed",
            fix='.alias("n"), .name.suffix("_mean")',
        )
    return output_name(term.inputs[0]) if term.inputs else term.name


def _root_name(term: Term) -> str:
    while term.name != "col" and term.inputs:
        term = term.inputs[1 if term.name == "when" else 0]
    return str(term.options["name"]) if term.name == "col" else output_name(term)


def unique(found: Named) -> Named:
    """Refuse two columns of one name."""
    seen: set[str] = set()
    for name, term in found:
        if name in seen:
            raise polars_error(
                term,
                f"a column named {name!r} is there already",
                why="each column has a name of its own",
                fix='.alias("another_name")',
            )
        seen.add(name)
    return found


# --- what methods other than select and filter make of their arguments ---------------------------


def _column(name: str) -> Term:
    return Term("col", options={"name": name})


def conditions(given: Iterable[Any], equal: Mapping[str, Any], schema: Schema) -> Named:
    """Predicates, and columns that equal a value: `filter(pl.col("age") > 17, ward="er")`."""
    found = named_terms(given, {}, schema)
    for name, value in equal.items():
        constant = terms(expression(value), schema)
        found.append((name, Term("eq", (_column(name), *constant))))
    return found


def not_null(columns: Iterable[str]) -> Named:
    """Conditions that these columns are not NULL."""
    return [(name, Term("is_not_null", (_column(name),))) for name in columns]


def chosen(given: Any, schema: Schema) -> list[str]:
    """The names of columns that are given by name or selector, all of them there."""
    found = [term for each in flat([given]) for term in terms(each, schema)]
    for term in found:
        if term.name != "col":
            raise polars_error(
                term,
                "is no column",
                why="this method takes names of columns and selectors",
                fix='"age", or cs.numeric()',
            )
    names = [str(term.options["name"]) for term in found]
    missing = [name for name in names if name not in schema()]
    if missing:
        raise no_such_column(found[names.index(missing[0])], missing[0], schema())
    return names


def without(given: Any, schema: Schema) -> Named:
    """All columns but these."""
    dropped = set(chosen(given, schema))
    return [(name, _column(name)) for name in schema() if name not in dropped]


def renamed(given: Renaming, schema: Schema) -> tuple[Named, dict[str, str]]:
    """All columns, some of them under other names; and which they are."""
    names = {name: given(name) for name in schema()} if callable(given) else given
    if not isinstance(names, Mapping) or not all(isinstance(new, str) for new in names.values()):
        raise QueryError(
            "the new names are neither a mapping of texts nor a function of the old ones",
            why="each column that is renamed says what it is called from then on",
            fix='.rename({"cost": "paid"}), or .rename(str.upper)',
        )
    chosen(list(names), schema)
    every = [(names.get(name, name), _column(name)) for name in schema()]
    return every, {old: new for old, new in names.items() if old != new}


def no_such_column(term: Term, name: str, columns: Iterable[str]) -> QueryError:
    """The error for a name that no column has."""
    listed = list(columns)
    near = difflib.get_close_matches(name, listed, n=1)
    return polars_error(
        term,
        "no such column" + (f"; did you mean {near[0]}?" if near else ""),
        why=f"the columns are {', '.join(listed)}",
        fix="check the name",
    )


def source_code(given: Named) -> str:
    """Named terms as the arguments of a method."""
    texts = []
    for name, term in given:
        code = code_of(term)
        texts.append(code if output_name(term) == name else f"{name}={code}")
    return ", ".join(texts)

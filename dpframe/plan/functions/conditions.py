"""Comparisons, boolean logic, IN and IS NULL."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from dpframe.plan.domains import Domain, Type, boolean, type_of_value
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    any_nullable,
    common_type,
    each,
    literal_as,
    register,
    same_type,
)
from dpframe.plan.sqltext import duckdb_literal

MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
    "equal": "equal",
    "not_equal": "not_equal",
}
"""The comparison that says the same with its sides exchanged."""


def _condition(domains: Domains, params: Params) -> Domain:
    return boolean(any_nullable(domains))


def _comparison(
    name: str, sql: str, symbol: str, polars: Callable[[Any, Any], pl.Expr]
) -> Function:
    return Function(
        name,
        (sql,),
        same_type,
        _condition,
        lambda args, params: f"({args[0]} {symbol} {args[1]})",
        lambda args, params: polars(args[0], args[1]),
    )


def _list_value(domain: Domain, value: Any) -> Any:
    """A value of IN's list, in the type of the left side."""
    if type_of_value(value) is Type.FLOAT and domain.type is Type.INT:
        raise Refused("the list holds numbers that are not integers", "write integers in the list")
    return literal_as(value, domain.type)


def _in_list(domains: Domains, params: Params) -> Params:
    # Engines convert the list each in its own way (2.5 becomes 2 beside an integer), so we do.
    return tuple(_list_value(domains[0], value) for value in params)


def _joined(word: str) -> Callable[[Sequence[str], Params], str]:
    return lambda args, params: "(" + f" {word} ".join(args) + ")"


def register_all() -> None:
    """Put these functions into the table."""
    register(
        _comparison("equal", "eq", "=", operator.eq),
        _comparison("not_equal", "neq", "<>", operator.ne),
        _comparison("less", "lt", "<", operator.lt),
        _comparison("less_equal", "lte", "<=", operator.le),
        _comparison("greater", "gt", ">", operator.gt),
        _comparison("greater_equal", "gte", ">=", operator.ge),
        Function(
            "is_distinct",
            ("nullsafeneq",),
            same_type,
            lambda domains, params: boolean(nullable=False),
            lambda args, params: f"({args[0]} IS DISTINCT FROM {args[1]})",
            lambda args, params: args[0].ne_missing(args[1]),
        ),
        Function(
            "and",
            ("and",),
            each(Type.BOOL),
            _condition,
            _joined("AND"),
            lambda args, params: functools.reduce(operator.and_, args),
        ),
        Function(
            "or",
            ("or",),
            each(Type.BOOL),
            _condition,
            _joined("OR"),
            lambda args, params: functools.reduce(operator.or_, args),
        ),
        Function(
            "not",
            ("not",),
            each(Type.BOOL),
            _condition,
            lambda args, params: f"(NOT {args[0]})",
            lambda args, params: ~args[0],
        ),
        Function(
            "is_null",
            (),
            lambda domains, params: (common_type(domains),),
            lambda domains, params: boolean(nullable=False),
            lambda args, params: f"({args[0]} IS NULL)",
            lambda args, params: args[0].is_null(),
        ),
        Function(
            "in",
            (),
            lambda domains, params: (domains[0].type,),
            _condition,
            lambda args, params: f"({args[0]} IN ({', '.join(duckdb_literal(p) for p in params)}))",
            lambda args, params: args[0].is_in(list(params)),
            fixed=_in_list,
        ),
    )

"""Functions of many rows of a noisy table: which there are, and what they yield.

Guarantee: none is needed. The table was released, so whatever is computed from it is
post-processing. These are the functions that have one meaning in SQL and in Polars, and error bars.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpframe.bounds.analysis import Typed, condition, in_common_type, refused, typed
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Expr, Literal, WindowCall, literal

RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
"""Functions of the order of rows alone."""

PARTS_OF_RANK = ("PERCENT_RANK", "CUME_DIST", "NTILE")
"""Functions of the place of a row and of the number of rows."""

_SHIFTS = ("LAG", "LEAD")
QUANTILES: dict[str, str | None] = {
    "MEDIAN": "MEDIAN",
    "QUANTILE": "QUANTILE_DISC",
    "QUANTILE_CONT": "QUANTILE_CONT",
    "QUANTILE_DISC": "QUANTILE_DISC",
    "PERCENTILE_CONT": "QUANTILE_CONT",
    "PERCENTILE_DISC": "QUANTILE_DISC",
    "QUANTILE_nearest": None,
    "QUANTILE_lower": None,
    "QUANTILE_higher": None,
    "QUANTILE_midpoint": None,
}
"""Places among numbers, and what DuckDB calls them; None are those that Polars has alone.

Each is one of the numbers in order, or lies between two of them at a fixed part of the way, so it
rises with every number, which is what their error bars need.
"""

SPREADS = {
    "STDDEV": "STDDEV_SAMP",
    "STDDEV_SAMP": "STDDEV_SAMP",
    "STDDEV_POP": "STDDEV_POP",
    "VARIANCE": "VAR_SAMP",
    "VAR_SAMP": "VAR_SAMP",
    "VARIANCE_POP": "VAR_POP",
    "VAR_POP": "VAR_POP",
}
"""How far numbers are from each other, and what DuckDB calls it."""

_PLAIN = ("COUNT", "SUM", "AVG", "MIN", "MAX")
AGGREGATES = (*_PLAIN, "COUNT_IF", *QUANTILES, *SPREADS)
"""What a noisy table can be aggregated by again."""

_OF_ONE = (*_PLAIN[1:], "COUNT_IF", "MEDIAN", *SPREADS, "FIRST_VALUE", "LAST_VALUE", "NTILE")
_OF_TWO = (*(name for name in QUANTILES if name != "MEDIAN"), "NTH_VALUE")
_OTHERS = ("FIRST_VALUE", "LAST_VALUE", "NTH_VALUE")
WINDOWS = (*AGGREGATES, *RANKS, *PARTS_OF_RANK, *_SHIFTS, *_OTHERS)
"""What can stand before OVER."""

_SHOWN_AGGREGATES = (*_PLAIN, "COUNT_IF", "MEDIAN", "QUANTILE_CONT", "STDDEV", "VAR_POP")


@dataclass(frozen=True, slots=True)
class Looked:
    """A function of many rows, analysed."""

    args: tuple[Typed, ...]
    partition: tuple[Typed, ...]
    order: tuple[Typed, ...]
    where: Typed | None
    result: Domain


def window_of(call: WindowCall, columns: Mapping[str, Domain]) -> Looked:
    """Analyse a function over a window.

    >>> from dpframe.plan.exprs import Column
    >>> counts = {"n": Domain(Type.INT, nullable=False)}
    >>> window_of(WindowCall("AVG", (Column("n"),)), counts).result.type
    <Type.FLOAT: 'DOUBLE'>
    """
    if call.name not in WINDOWS:
        raise refused(
            call,
            "is not a function that is answered over windows",
            why="each has an error bar of its own, and this one has none yet",
            fix="use one of "
            + ", ".join((*_SHOWN_AGGREGATES, *RANKS, *PARTS_OF_RANK, *_SHIFTS, *_OTHERS)),
        )
    by_place = (*RANKS, *PARTS_OF_RANK, *_SHIFTS)
    if call.name in by_place and not call.order and not call.frame:
        raise refused(
            call,
            "has no order",
            why="which row comes first would be left to chance",
            fix="OVER (ORDER BY COUNT(*) DESC), or OVER (ORDER BY month)",
        )
    args = tuple(typed(arg, columns) for arg in call.args)
    args = _shifted(call, args) if call.name in _SHIFTS else _counted(call, call.name, args)
    partition = tuple(typed(p, columns) for p in call.partition)
    order = tuple(typed(by.expr, columns) for by in call.order)
    return Looked(args, partition, order, None, _result(call, call.name, args))


def regrouped(call: AggregateCall, columns: Mapping[str, Domain]) -> Looked:
    """Analyse an aggregate of a noisy table."""
    if call.name not in AGGREGATES or call.distinct:
        raise refused(
            call,
            "is not answered of released numbers",
            why="each has an error bar of its own, and this one has none yet",
            fix=f"use one of {', '.join(_SHOWN_AGGREGATES)}, or compute it from release.frame",
        )
    args = _counted(call, call.name, tuple(typed(arg, columns) for arg in call.args))
    where = None if call.where is None else condition(call.where, columns)
    return Looked(args, (), (), where, _result(call, call.name, args))


def _counted(call: Expr, name: str, args: tuple[Typed, ...]) -> tuple[Typed, ...]:
    """As many arguments as there should be; those that say which row are constants."""
    wanted = {1} if name in _OF_ONE else {2} if name in _OF_TWO else {0}
    if len(args) not in (wanted if name != "COUNT" else {0, 1}):
        raise _arguments(call)
    if name in ("NTILE", "NTH_VALUE"):
        step = args[-1].expr
        if not (isinstance(step, Literal) and step.type is Type.INT and 1 <= _number(step) < 2**31):
            raise refused(
                call,
                "takes a whole number from 1 on",
                why="how many parts there are, or which row is meant, is said in the question",
                fix="NTILE(4) OVER (ORDER BY COUNT(*)), or NTH_VALUE(n, 2) OVER (ORDER BY month)",
            )
    if name in QUANTILES and len(args) == 2:
        level = args[1].expr
        number = isinstance(level, Literal) and level.type in (Type.INT, Type.FLOAT)
        if not number or not 0 <= _number(level) <= 1:
            raise refused(
                call,
                "takes a level between 0 and 1",
                why="which quantile is meant is said in the question",
                fix="QUANTILE_CONT(n, 0.9)",
            )
    if name == "COUNT_IF" and args[0].domain.type is not Type.BOOL:
        raise refused(
            call,
            "takes a condition",
            why=f"its argument is a {args[0].domain.type.value}",
            fix="COUNT_IF(n > 40)",
        )
    if _computes(name) and args[0].domain.type is Type.BOOL:  # TRUE counts as 1
        return (in_common_type([args[0], Typed(*_ONE)])[0], *args[1:])
    return args


def _computes(name: str) -> bool:
    """Whether a function yields numbers that none of its arguments may be: DuckDB takes no BOOLEAN."""
    return name in ("SUM", "AVG", *SPREADS) or name in _BETWEEN


_BETWEEN = ("QUANTILE_CONT", "PERCENTILE_CONT", "QUANTILE_midpoint")
"""Quantiles that may lie between two numbers."""


_ONE = (literal(1), Domain(Type.INT, 1, 1, nullable=False))


def _number(expr: Expr) -> float:
    assert isinstance(expr, Literal)
    value: Any = expr.value
    return float(value)


def _shifted(call: WindowCall, args: tuple[Typed, ...]) -> tuple[Typed, ...]:
    """LAG(x, how far, what stands in for it): a step of 1 unless another is said."""
    if not 1 <= len(args) <= 3:
        raise _arguments(call)
    value, *rest = args
    if rest:
        step = rest[0].expr
        whole = isinstance(step, Literal) and step.type is Type.INT
        if not whole:
            raise refused(
                call,
                "has no fixed step",
                why="how many rows it looks back is said in the question",
                fix=f"{call.name}(COUNT(*), 1) OVER (ORDER BY month)",
            )
    if len(rest) == 2:
        value, other = in_common_type([value, rest[1]])
        return (value, rest[0], other)
    return (value, *rest)


def _result(call: Expr, name: str, args: tuple[Typed, ...]) -> Domain:
    if name in RANKS or name in ("COUNT", "COUNT_IF", "NTILE"):
        return Domain(Type.INT, 0, 2**50, nullable=False)
    if name in PARTS_OF_RANK:
        return Domain(Type.FLOAT, 0.0, 1.0, nullable=False)
    kind = args[0].domain.type
    if kind is Type.NULL:
        raise refused(
            call, "looks at NULL alone", why="it has no type", fix="name a column: SUM(n)"
        )
    if name in ("SUM", "AVG", *QUANTILES, *SPREADS):
        if not kind.is_number:
            raise refused(
                call,
                "adds up what is no number" if name in ("SUM", "AVG") else "takes numbers",
                why=f"its argument is a {kind.value}",
                fix="SUM(n), with n a count, a sum or an average",
            )
        exact = name == "SUM" or (name in QUANTILES and name not in (*_BETWEEN, "MEDIAN"))
        return Domain(kind if exact and kind is Type.INT else Type.FLOAT)
    return Domain(kind)


def _arguments(call: Expr) -> Exception:
    return refused(
        call,
        "has too few or too many arguments",
        why="COUNT takes one or none, LAG and LEAD one to three, quantiles and NTH_VALUE two, ranks"
        " none, the others one",
        fix="add or drop an argument",
    )

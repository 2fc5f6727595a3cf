"""Functions of many rows of a noisy table: which there are, and what they yield.

Guarantee: none is needed. The table was released, so whatever is computed from it is
post-processing. These are the functions that have one meaning in SQL and in Polars, and error bars.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dpframe.bounds.analysis import Typed, condition, in_common_type, refused, typed
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Expr, Literal, WindowCall

RANKS = ("ROW_NUMBER", "RANK", "DENSE_RANK")
"""Functions of the order of rows alone."""

_SHIFTS = ("LAG", "LEAD")
_OF_ONE = ("SUM", "AVG", "MIN", "MAX", "FIRST_VALUE", "LAST_VALUE")
AGGREGATES = ("COUNT", "SUM", "AVG", "MIN", "MAX")
"""What a noisy table can be aggregated by again."""

WINDOWS = (*AGGREGATES, *RANKS, *_SHIFTS, "FIRST_VALUE", "LAST_VALUE")
"""What can stand before OVER."""


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
            fix=f"use one of {', '.join(WINDOWS)}",
        )
    if (call.name in RANKS or call.name in _SHIFTS) and not call.order and not call.frame:
        raise refused(
            call,
            "has no order",
            why="which row comes first would be left to chance",
            fix="OVER (ORDER BY COUNT(*) DESC), or OVER (ORDER BY month)",
        )
    args = tuple(typed(arg, columns) for arg in call.args)
    if call.name in _SHIFTS:
        args = _shifted(call, args)
    elif len(args) > (call.name not in RANKS) or (call.name in _OF_ONE and not args):
        raise _arguments(call)
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
            fix=f"use one of {', '.join(AGGREGATES)}, or compute it from release.frame",
        )
    args = tuple(typed(arg, columns) for arg in call.args)
    if len(args) > 1 or (call.name != "COUNT" and not args):
        raise _arguments(call)
    where = None if call.where is None else condition(call.where, columns)
    return Looked(args, (), (), where, _result(call, call.name, args))


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
    if name in RANKS or name == "COUNT":
        return Domain(Type.INT, 0, 2**50, nullable=False)
    kind = args[0].domain.type
    if kind is Type.NULL:
        raise refused(
            call, "looks at NULL alone", why="it has no type", fix="name a column: SUM(n)"
        )
    if name in ("SUM", "AVG"):
        if not kind.is_number:
            raise refused(
                call,
                "adds up what is no number",
                why=f"its argument is a {kind.value}",
                fix="SUM(n), with n a count, a sum or an average",
            )
        return Domain(Type.FLOAT if name == "AVG" or kind is Type.FLOAT else Type.INT)
    return Domain(kind)


def _arguments(call: Expr) -> Exception:
    return refused(
        call,
        "has too few or too many arguments",
        why="COUNT takes one or none, LAG and LEAD one to three, ranks none, the others one",
        fix="add or drop an argument",
    )

"""Functions of `Expr.dt`: how each is read."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING

from dpframe.plan.exprs import Expr, Literal, literal
from dpframe.plan.functions.shifts import shifted_constant

if TYPE_CHECKING:
    from dpframe.frontends.polars_exprs import Step

_UNITS = {
    "1y": "year",
    "1q": "quarter",
    "1mo": "month",
    "1w": "week",
    "1d": "day",
    "1h": "hour",
    "1m": "minute",
    "1s": "second",
}

_MONTHS = {"y": 12, "q": 3, "mo": 1}
_DAYS = {"w": 7, "d": 1}

_SHORT = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y", "%h": "%b"}
"""Directives that stand for others."""


def _date_trunc(step: Step) -> Expr:
    every = step.constant(1, "the unit")
    if every not in _UNITS:
        raise step.error(f"{every!r} is no unit", fix=f"one of {', '.join(_UNITS)}")
    return step.call("date_trunc", step.first(), params=(_UNITS[every],))


def _offset(step: Step) -> Expr:
    by = step.constant(1, "the offset")
    parts = re.findall(r"([0-9]{1,9})(mo|[yqwd])", by) if isinstance(by, str) else []
    if not parts or re.fullmatch(r"-?([0-9]{1,9}(mo|[yqwd]))+", by) is None:
        raise step.error(f"{by!r} is no offset", fix='dt.offset_by("1mo"), or "-2w", "1y", "3d"')
    sign = -1 if by.startswith("-") else 1
    months, days = (
        sign * sum(int(count) * units[unit] for count, unit in parts if unit in units)
        for units in (_MONTHS, _DAYS)
    )
    value = step.first()
    if isinstance(value, Literal) and isinstance(value.value, date):
        folded = shifted_constant(value.value, (months, days, 0), keeps=True)
        if folded is not None:
            return step.literal(folded)
    return step.call("date_add", value, params=(months, days, 0, "DATE"))


def _written(step: Step) -> Expr:
    """A date as text; without a format it depends on the type, as "iso" does."""
    form = step.term.options["value"]
    if "%" not in form:
        raise step.error("has no format", fix='dt.to_string("%Y-%m-%d")')
    spelt = re.sub("%.", lambda found: _SHORT.get(found.group(), found.group()), form)
    return step.call("strftime", step.first(), params=(spelt,))


def _elapsed(step: Step) -> Expr:
    unit = step.term.options["value"]
    microseconds = step.call("microseconds", step.first())
    if unit == "Microseconds":
        return microseconds
    if unit == "Milliseconds":
        return step.call("floor_divide", microseconds, literal(1_000))
    raise step.error(
        "counts nanoseconds",
        why="times have microseconds here, and a nanosecond count of them may leave 64 bits",
        fix='dt.timestamp("us")',
    )


def _days_between(step: Step) -> Expr:
    (given,) = step.term.inputs
    if given.name != "sub" or step.term.options["fractional"]:
        raise step.error(
            "counts whole days of a difference",
            why="a duration is no number: what it is counted in has to be said with it",
            fix='(pl.col("end") - pl.col("start")).dt.total_days()',
        )
    return step.call("total_days", *(step.reader.read(each, step.depth) for each in given.inputs))


TIMES: dict[str, tuple[tuple[str, ...], Callable[[Step], Expr]]] = {
    "dt.truncate": ((), _date_trunc),
    "dt.date": ((), lambda step: step.call("cast", step.first(), params=("DATE",))),
    "dt.offset_by": ((), _offset),
    "dt.to_string": (("value",), _written),
    "dt.timestamp": (("value",), _elapsed),
    "dt.total_days": (("fractional",), _days_between),
}
"""The options that each one looks at, and the reader itself."""

"""Dates and timestamps written as text, in the formats that every engine writes alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta

from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import Domains, Function, Params, Refused, register
from dpframe.plan.functions.times import instants, temporal
from dpframe.plan.sqltext import duckdb_literal

_MOST_DAYS = 20_000
"""Texts are listed as group keys for ranges of dates up to this long."""

_LONGEST_FORMAT = 1_000
"""Characters of a format; with more, the text of one date could take any amount of memory."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Python's own strftime follows the locale and writes the year 5 as "5" on some systems.
_OF_DAYS: dict[str, Callable[[date], str]] = {
    "%Y": lambda d: f"{d.year:04}",
    "%y": lambda d: f"{d.year % 100:02}",
    "%m": lambda d: f"{d.month:02}",
    "%d": lambda d: f"{d.day:02}",
    "%j": lambda d: f"{d.timetuple().tm_yday:03}",
    "%B": lambda d: _MONTHS[d.month - 1],
    "%b": lambda d: _MONTHS[d.month - 1][:3],
    "%A": lambda d: _WEEKDAYS[d.weekday()],
    "%a": lambda d: _WEEKDAYS[d.weekday()][:3],
    "%u": lambda d: str(d.isoweekday()),
    "%w": lambda d: str(d.isoweekday() % 7),
    "%G": lambda d: f"{d.isocalendar()[0]:04}",
    "%V": lambda d: f"{d.isocalendar()[1]:02}",
    "%%": lambda d: "%",
}
_OF_TIMES = ("%H", "%I", "%p", "%M", "%S")


def _format(params: Params) -> str:
    (text,) = params
    if not isinstance(text, str):
        raise Refused("STRFTIME takes a format in quotes", "STRFTIME(x, '%Y-%m')")
    if len(text) > _LONGEST_FORMAT:
        raise Refused(
            f"the format has more than {_LONGEST_FORMAT:,} characters", "STRFTIME(x, '%Y-%m')"
        )
    for written in re.findall(r"%.?", text, re.DOTALL):
        if written not in _OF_DAYS and written not in _OF_TIMES:
            raise Refused(
                f"the format {written!r} is not written the same on every engine",
                "use " + " ".join((*_OF_DAYS, *_OF_TIMES)),
            )
    return text


def _written(day: date, text: str) -> str:
    return re.sub("%.", lambda found: _OF_DAYS[found.group()](day), text)


def _domain(domains: Domains, params: Params) -> Domain:
    (arg,), text = domains, _format(params)
    if any(written in _OF_TIMES for written in re.findall("%.", text)):
        return Domain(Type.TEXT, nullable=arg.nullable)
    days = _days(arg, text)
    if days is None:
        return Domain(Type.TEXT, nullable=arg.nullable)
    values = tuple(sorted({_written(day, text) for day in days}))
    return Domain(Type.TEXT, nullable=arg.nullable, values=values, null_is_value=arg.null_is_value)


def _days(arg: Domain, text: str) -> Sequence[date] | None:
    """Days on which every text that can be written is written; None where they are too many."""
    months_and_weekdays = {"%m", "%B", "%b", "%A", "%a", "%u", "%w", "%%"}
    if arg.is_bounded:
        first, length = instants(arg)[0].date(), arg.high.toordinal() - arg.low.toordinal()
    if set(re.findall("%.", text)) <= months_and_weekdays and (not arg.is_bounded or length > 365):
        first, length = date(2024, 1, 1), 365  # every month has every weekday
    elif not arg.is_bounded:
        return None
    return None if length > _MOST_DAYS else [first + timedelta(days=i) for i in range(length + 1)]


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "strftime",
            (),
            lambda domains, params: temporal(domains[0], Type.TIMESTAMP),
            _domain,
            lambda args, params: f"STRFTIME({args[0]}, {duckdb_literal(params[0])})",
            lambda args, params: args[0].dt.strftime(params[0]),
        ),
    )

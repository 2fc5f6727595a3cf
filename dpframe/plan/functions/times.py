"""Functions of dates and timestamps. Timestamps are naive: no time zone is guessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl

from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import Domains, Function, Params, Refused, register

_MOST_DERIVED_VALUES = 20_000
"""Truncated instants are listed as group keys up to this many."""


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a date, its range whatever the date, and its Polars form."""

    low: int
    high: int
    polars: Callable[[pl.Expr], pl.Expr]
    of_time: bool = False


_FIELDS = {
    "year": _Field(1, 9999, lambda x: x.dt.year()),
    "quarter": _Field(1, 4, lambda x: x.dt.quarter()),
    "month": _Field(1, 12, lambda x: x.dt.month()),
    "week": _Field(1, 53, lambda x: x.dt.week()),
    "day": _Field(1, 31, lambda x: x.dt.day()),
    "dow": _Field(0, 6, lambda x: x.dt.weekday() % 7),  # Sunday is 0
    "isodow": _Field(1, 7, lambda x: x.dt.weekday()),
    "doy": _Field(1, 366, lambda x: x.dt.ordinal_day()),
    "hour": _Field(0, 23, lambda x: x.dt.hour(), of_time=True),
    "minute": _Field(0, 59, lambda x: x.dt.minute(), of_time=True),
    "second": _Field(0, 59, lambda x: x.dt.second(), of_time=True),
}

_ALIASES = {
    "day_of_week": "dow",
    "dayofweek": "dow",
    "weekday": "dow",
    "dayofweekiso": "isodow",
    "day_of_month": "day",
    "dayofmonth": "day",
    "day_of_year": "doy",
    "dayofyear": "doy",
    "weekofyear": "week",
    "years": "year",
    "months": "month",
    "days": "day",
    "hours": "hour",
    "minutes": "minute",
    "seconds": "second",
}

_UNITS = {
    "year": "1y",
    "quarter": "1q",
    "month": "1mo",
    "week": "1w",
    "day": "1d",
    "hour": "1h",
    "minute": "1m",
    "second": "1s",
}


def _known(name: Any, table: dict[str, Any], function: str) -> str:
    plain = str(name).lower()
    plain = _ALIASES.get(plain, plain)
    if plain not in table:
        raise Refused(f"{function} knows no {name!r}", f"one of {', '.join(table)}")
    return plain


def _temporal(domain: Domain, target: Type) -> tuple[Type]:
    if not (domain.type.is_temporal or domain.type is Type.NULL):
        raise Refused(
            f"it takes a DATE or a TIMESTAMP, not {domain.type.value}",
            "convert the argument first, for example CAST(x AS DATE)",
        )
    return (target,)


def _extract_coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
    field = _FIELDS[_known(params[0], _FIELDS, "EXTRACT")]
    kept = Type.DATE if domains[0].type is Type.NULL else domains[0].type
    return _temporal(domains[0], Type.TIMESTAMP if field.of_time else kept)


def _extract_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    name = _known(params[0], _FIELDS, "EXTRACT")
    field = _FIELDS[name]
    if name != "year":
        return Domain(Type.INT, field.low, field.high, arg.nullable)
    # Any calendar year is possible, but that is no *declared* bound.
    low, high = (arg.low.year, arg.high.year) if arg.is_bounded else (None, None)
    return Domain(Type.INT, low, high, arg.nullable)


def _extract_polars(arg: pl.Expr, params: Params) -> pl.Expr:
    field = _FIELDS[_known(params[0], _FIELDS, "EXTRACT")]
    return field.polars(arg).cast(pl.Int64)


def _truncate(moment: datetime, unit: str) -> datetime:
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=moment.month - (moment.month - 1) % 3, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
        case "day":
            return day
        case "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
        case "minute":
            return moment.replace(second=0, microsecond=0)
        case _:
            return moment.replace(microsecond=0)


_STEPS = {
    "year": timedelta(days=366),
    "quarter": timedelta(days=92),
    "month": timedelta(days=31),
    "week": timedelta(days=7),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
}


def _all_truncated(low: datetime, high: datetime, unit: str) -> tuple[datetime, ...] | None:
    """Every instant that truncation can yield between two others, or None for too many."""
    step = _STEPS[unit]
    if (high - low) / step > _MOST_DERIVED_VALUES:
        return None
    found = [low]
    # One step is never less than one unit, so truncating the sum lands on the next one.
    while found[-1] < high and found[-1] <= datetime.max - step:
        found.append(_truncate(found[-1] + step, unit))
    return tuple(f for f in found if f <= high)


def _truncate_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    unit = _known(params[0], _UNITS, "DATE_TRUNC")
    if not arg.is_bounded:
        return Domain(Type.TIMESTAMP, nullable=arg.nullable)
    low, high = _truncate(arg.low, unit), _truncate(arg.high, unit)
    return Domain(
        Type.TIMESTAMP, low, high, arg.nullable, _all_truncated(low, high, unit), arg.null_is_value
    )


_EPOCH = datetime(1970, 1, 1)


def _elapsed_domain(domains: Domains, params: Params) -> Domain:
    """Days or microseconds since 1970, whole numbers without gaps."""
    (arg,) = domains
    if not arg.is_bounded:
        return Domain(Type.INT, nullable=arg.nullable)
    if arg.type is Type.DATE:
        low, high = ((end - _EPOCH.date()).days for end in (arg.low, arg.high))
    else:
        low, high = ((end - _EPOCH) // timedelta(microseconds=1) for end in (arg.low, arg.high))
    return Domain(Type.INT, low, high, arg.nullable)


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "day_number",
            (),
            lambda domains, params: _temporal(domains[0], Type.DATE),
            _elapsed_domain,
            lambda args, params: f"CAST({args[0]} - DATE '1970-01-01' AS BIGINT)",
            lambda args, params: args[0].to_physical().cast(pl.Int64),
        ),
        Function(
            "microseconds",
            (),
            lambda domains, params: _temporal(domains[0], Type.TIMESTAMP),
            _elapsed_domain,
            lambda args, params: f"epoch_us({args[0]})",
            lambda args, params: args[0].to_physical().cast(pl.Int64),
        ),
        Function(
            "extract",
            (),
            _extract_coerce,
            _extract_domain,
            lambda args, params: f"EXTRACT({_known(params[0], _FIELDS, 'EXTRACT')} FROM {args[0]})",
            lambda args, params: _extract_polars(args[0], params),
        ),
        Function(
            "date_trunc",
            (),
            lambda domains, params: _temporal(domains[0], Type.TIMESTAMP),
            _truncate_domain,
            lambda args, params: (
                f"DATE_TRUNC('{_known(params[0], _UNITS, 'DATE_TRUNC')}', {args[0]})"
            ),
            lambda args, params: args[0].dt.truncate(
                _UNITS[_known(params[0], _UNITS, "DATE_TRUNC")]
            ),
        ),
    )

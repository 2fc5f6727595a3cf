"""Fields, starts and names of dates and timestamps. Timestamps are naive: no zone is guessed.

Every date and timestamp in a plan lies in the calendar from 0001-01-01 to 9999-12-31; what a
function would put outside of it is NULL.
"""

from __future__ import annotations

import calendar
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl

from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import Domains, Function, Params, Refused, register, whole_array

_MOST_DERIVED_VALUES = 20_000
"""Truncated instants are listed as group keys up to this many."""

EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a date: its range whatever the date, its Polars form, its value where it grows.

    `grows` computes fields that never fall from one day to the next, so that the ends of a range
    of dates bound them. Their calendar range is no *declared* bound.
    """

    polars: Callable[[pl.Expr], pl.Expr]
    low: int = 1
    high: int = 0
    grows: Callable[[datetime], int] | None = None
    of_time: bool = False


def _whole(field: pl.Expr) -> pl.Expr:
    return field.cast(pl.Int64)


_FIELDS = {
    "year": _Field(lambda x: x.dt.year(), grows=lambda d: d.year),
    "isoyear": _Field(lambda x: x.dt.iso_year(), grows=lambda d: d.isocalendar()[0]),
    "decade": _Field(lambda x: _whole(x.dt.year()) // 10, grows=lambda d: d.year // 10),
    "century": _Field(
        lambda x: (_whole(x.dt.year()) - 1) // 100 + 1, grows=lambda d: (d.year - 1) // 100 + 1
    ),
    "millennium": _Field(
        lambda x: (_whole(x.dt.year()) - 1) // 1000 + 1, grows=lambda d: (d.year - 1) // 1000 + 1
    ),
    "yearweek": _Field(
        lambda x: _whole(x.dt.iso_year()) * 100 + _whole(x.dt.week()),
        grows=lambda d: d.isocalendar()[0] * 100 + d.isocalendar()[1],
    ),
    "quarter": _Field(lambda x: x.dt.quarter(), 1, 4),
    "month": _Field(lambda x: x.dt.month(), 1, 12),
    "week": _Field(lambda x: x.dt.week(), 1, 53),
    "day": _Field(lambda x: x.dt.day(), 1, 31),
    "dow": _Field(lambda x: x.dt.weekday() % 7, 0, 6),  # Sunday is 0
    "isodow": _Field(lambda x: x.dt.weekday(), 1, 7),
    "doy": _Field(lambda x: x.dt.ordinal_day(), 1, 366),
    "hour": _Field(lambda x: x.dt.hour(), 0, 23, of_time=True),
    "minute": _Field(lambda x: x.dt.minute(), 0, 59, of_time=True),
    "second": _Field(lambda x: x.dt.second(), 0, 59, of_time=True),
    "millisecond": _Field(
        lambda x: _whole(x.dt.second()) * 1000 + _whole(x.dt.millisecond()),
        0,
        59_999,
        of_time=True,
    ),
    "microsecond": _Field(
        lambda x: _whole(x.dt.second()) * 10**6 + _whole(x.dt.microsecond()),
        0,
        59_999_999,
        of_time=True,
    ),
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
    "isoweek": "week",
    "centuries": "century",
    "millennia": "millennium",
    **{
        f"{unit}s": unit
        for unit in (
            *("year", "quarter", "month", "week", "day", "hour", "minute", "second"),
            *("decade", "millisecond", "microsecond"),
        )
    },
}

_YEARS = {"decade": 10, "century": 100, "millennium": 1000}
"""Units of several years, which begin at a multiple of their length."""

_UNITS = {
    "microsecond": "1us",
    "millisecond": "1ms",
    "second": "1s",
    "minute": "1m",
    "hour": "1h",
    "day": "1d",
    "week": "1w",
    "month": "1mo",
    "quarter": "1q",
    "year": "1y",
    "decade": "",
    "century": "",
    "millennium": "",
}


def unit_named(name: Any, known: tuple[str, ...], function: str) -> str:
    """The unit of time that a word means, or `Refused`.

    >>> unit_named("MONTHS", ("month",), "DATE_TRUNC")
    'month'
    """
    plain = str(name).lower()
    plain = _ALIASES.get(plain, plain)
    if plain not in known:
        raise Refused(f"{function} knows no {name!r}", f"one of {', '.join(known)}")
    return plain


def temporal(domain: Domain, target: Type) -> tuple[Type]:
    """Take a date or a timestamp, converted to `target`."""
    if not (domain.type.is_temporal or domain.type is Type.NULL):
        raise Refused(
            f"it takes a DATE or a TIMESTAMP, not {domain.type.value}",
            "convert the argument first, for example CAST(x AS DATE)",
        )
    return (target,)


def _kept(domain: Domain) -> Type:
    return Type.DATE if domain.type is Type.NULL else domain.type


def instants(domain: Domain) -> tuple[datetime, datetime]:
    """The ends of a bounded domain as instants."""
    low, high = (
        end if isinstance(end, datetime) else datetime(end.year, end.month, end.day)
        for end in (domain.low, domain.high)
    )
    return low, high


# --- EXTRACT -------------------------------------------------------------------------------------


def _field(params: Params) -> str:
    return unit_named(params[0], tuple(_FIELDS), "EXTRACT")


def _extract_coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
    of_time = _FIELDS[_field(params)].of_time
    return temporal(domains[0], Type.TIMESTAMP if of_time else _kept(domains[0]))


def _extract_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    field = _FIELDS[_field(params)]
    if field.grows is None:
        return Domain(Type.INT, field.low, field.high, arg.nullable)
    if not arg.is_bounded:
        return Domain(Type.INT, nullable=arg.nullable)
    low, high = (field.grows(end) for end in instants(arg))
    return Domain(Type.INT, low, high, arg.nullable)


def _epoch_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    if not arg.is_bounded:
        return Domain(Type.FLOAT, nullable=arg.nullable)
    low, high = ((end - EPOCH) / timedelta(seconds=1) for end in instants(arg))
    return Domain(Type.FLOAT, low, high, arg.nullable)


def _epoch_polars(value: pl.Expr) -> pl.Expr:
    count = value.dt.epoch("us").cast(pl.Float64)
    return count / whole_array(pl.lit(1e6), count)


# --- DATE_TRUNC ----------------------------------------------------------------------------------


def truncated(moment: datetime, unit: str) -> datetime | None:
    """The start of the unit that an instant is in; None where that is before the year 1.

    >>> truncated(datetime(2024, 5, 17), "quarter")
    datetime.datetime(2024, 4, 1, 0, 0)
    """
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "decade" | "century" | "millennium":
            year = moment.year - moment.year % _YEARS[unit]
            return day.replace(year=year, month=1, day=1) if year else None
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
        case "second":
            return moment.replace(microsecond=0)
        case "millisecond":
            return moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        case _:
            return moment


_STEPS = {
    "millennium": timedelta(days=365_243),
    "century": timedelta(days=36_525),
    "decade": timedelta(days=3_653),
    "year": timedelta(days=366),
    "quarter": timedelta(days=92),
    "month": timedelta(days=31),
    "week": timedelta(days=7),
    "day": timedelta(days=1),
    "hour": timedelta(hours=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "millisecond": timedelta(milliseconds=1),
    "microsecond": timedelta(microseconds=1),
}


def _all_truncated(low: datetime, high: datetime, unit: str) -> tuple[datetime, ...] | None:
    """Every instant that truncation can yield between two others, or None for too many."""
    step = _STEPS[unit]
    if (high - low) / step > _MOST_DERIVED_VALUES:
        return None
    found = [low]
    # One step is never less than one unit, so truncating the sum lands on the next one.
    while found[-1] < high and found[-1] <= datetime.max - step:
        found.append(truncated(found[-1] + step, unit) or low)
    return tuple(f for f in found if f <= high)


def _truncation(params: Params) -> tuple[str, bool]:
    """The unit, and whether dates stay dates: DuckDB makes timestamps of them, others do not."""
    return unit_named(params[0], tuple(_UNITS), "DATE_TRUNC"), "DATE" in params[1:]


def _truncate_coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
    _, keeps = _truncation(params)
    return temporal(domains[0], _kept(domains[0]) if keeps else Type.TIMESTAMP)


def _truncate_fixed(domains: Domains, params: Params) -> Params:
    unit, _ = _truncation(params)
    return (unit, "DATE") if domains[0].type is Type.DATE else (unit,)


def _truncate_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    unit, _ = _truncation(params)
    if not arg.is_bounded:
        return Domain(arg.type, nullable=arg.nullable or unit in _YEARS)
    first, last = (truncated(end, unit) for end in instants(arg))
    nullable = arg.nullable or first is None
    if last is None:
        return Domain(arg.type)
    low = first or datetime(_YEARS[unit], 1, 1)
    ends: list[Any] = [low, last]
    values: Sequence[Any] | None = _all_truncated(low, last, unit)
    if arg.type is Type.DATE:
        ends = [end.date() for end in ends]
        values = None if values is None else [value.date() for value in values]
    return Domain(
        arg.type,
        low=ends[0],
        high=ends[1],
        nullable=nullable,
        values=None if values is None else tuple(values),
        null_is_value=arg.null_is_value or first is None,
    )


def _truncate_duckdb(value: str, params: Params) -> str:
    unit, as_date = _truncation(params)
    found = f"DATE_TRUNC('{unit}', {value})"
    if unit in _YEARS:
        found = f"CASE WHEN EXTRACT(year FROM {value}) >= {_YEARS[unit]} THEN {found} END"
    return f"CAST({found} AS DATE)" if as_date else found


def _truncate_polars(value: pl.Expr, params: Params) -> pl.Expr:
    unit, as_date = _truncation(params)
    if unit in _YEARS:
        year = _whole(value.dt.year())
        start = year - year % _YEARS[unit]
        first = pl.when(start > 0).then(start)
        found = pl.date(first, 1, 1).cast(pl.Datetime("us"))
    else:
        found = value.cast(pl.Datetime("us")).dt.truncate(_UNITS[unit])
    return found.cast(pl.Date) if as_date else found


# --- LAST_DAY ------------------------------------------------------------------------------------


def _last_day(day: datetime) -> date:
    return day.date().replace(day=calendar.monthrange(day.year, day.month)[1])


def _last_day_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    if not arg.is_bounded:
        return Domain(Type.DATE, nullable=arg.nullable)
    low, high = (_last_day(end) for end in instants(arg))
    return Domain(Type.DATE, low, high, arg.nullable)


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "extract",
            (),
            _extract_coerce,
            _extract_domain,
            lambda args, params: f"EXTRACT({_field(params)} FROM {args[0]})",
            lambda args, params: _whole(_FIELDS[_field(params)].polars(args[0])),
            repeats=True,
        ),
        Function(
            "epoch",
            ("timetounix", "epoch"),
            lambda domains, params: temporal(domains[0], Type.TIMESTAMP),
            _epoch_domain,
            lambda args, params: (
                f"(CAST(epoch_us({args[0]}) AS DOUBLE) / CAST('1000000.0' AS DOUBLE))"
            ),
            lambda args, params: _epoch_polars(args[0]),
            repeats=True,
        ),
        Function(
            "date_trunc",
            (),
            _truncate_coerce,
            _truncate_domain,
            lambda args, params: _truncate_duckdb(args[0], params),
            lambda args, params: _truncate_polars(args[0], params),
            repeats=True,
            fixed=_truncate_fixed,
        ),
        Function(
            "last_day",
            ("lastday",),
            lambda domains, params: temporal(domains[0], Type.TIMESTAMP),
            _last_day_domain,
            lambda args, params: f"LAST_DAY({args[0]})",
            lambda args, params: args[0].cast(pl.Date).dt.month_end(),
        ),
    )

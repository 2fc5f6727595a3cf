"""Arithmetic of dates and timestamps: moving them by an interval, and what lies between two.

A shifted date that leaves the calendar (0001-01-01 to 9999-12-31) is NULL. Months are added first
and end at the last day of a shorter month, then days, then time, as in DuckDB and PostgreSQL.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta

import polars as pl

from dpframe.plan.domains import FIRST_DAY, FIRST_TIME, LAST_DAY, LAST_TIME, Domain, Type
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    any_nullable,
    register,
)
from dpframe.plan.functions.times import EPOCH, instants, temporal, unit_named
from dpframe.plan.sqltext import duckdb_literal

_MOST_MONTHS = 120_000
_MOST_DAYS = 3_660_000
_MOST_MICROSECONDS = _MOST_DAYS * 86_400 * 10**6
"""More than the whole calendar; so no sum of a date and an interval overflows on an engine."""

_FIRST, _LAST = ((d - EPOCH.date()).days for d in (FIRST_DAY, LAST_DAY))


# --- a date and an interval ----------------------------------------------------------------------


def shifted(moment: datetime, months: int, days: int, microseconds: int) -> datetime | None:
    """An instant moved by an interval, or None where it leaves the calendar.

    >>> shifted(datetime(2024, 1, 31), 1, 0, 0)
    datetime.datetime(2024, 2, 29, 0, 0)
    """
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    try:
        last = calendar.monthrange(year, month + 1)[1] if 1 <= year <= 9999 else 0
        day = min(moment.day, last)
        moved = moment.replace(year=year, month=month + 1, day=day)
        return moved + timedelta(days=days, microseconds=microseconds)
    except (ValueError, OverflowError):
        return None


def shifted_constant(day: date, interval: tuple[int, int, int], *, keeps: bool) -> date | None:
    """A constant plus an interval is a constant, so that WHERE proves what it says.

    A date becomes an instant, unless it `keeps` to be one.
    """
    is_date = not isinstance(day, datetime)
    moment = datetime(day.year, day.month, day.day) if is_date else day
    found = shifted(moment, *interval)  # type: ignore[arg-type]
    return found.date() if found and keeps and is_date and not interval[2] else found


def _interval(params: Params) -> tuple[int, int, int]:
    months, days, microseconds = params[:3]
    limits = (_MOST_MONTHS, _MOST_DAYS, _MOST_MICROSECONDS)
    if not all(abs(n) <= most for n, most in zip(params[:3], limits, strict=True)):
        raise Refused("the interval is longer than the calendar", "write a shorter one")
    # What has both signs may leave the calendar half-way and come back, on some engines only.
    if min(params[:3]) < 0 < max(params[:3]):
        raise Refused("parts of the interval have different signs", "add them one by one")
    return months, days, microseconds


def _shift_coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
    """Dates become timestamps, as in DuckDB, unless the fourth parameter says that they stay."""
    _, _, microseconds = _interval(params)
    stays = "DATE" in params[3:] and domains[0].type is Type.DATE and not microseconds
    return temporal(domains[0], Type.DATE if stays else Type.TIMESTAMP)


def _shift_fixed(domains: Domains, params: Params) -> Params:
    return (*params[:3], "DATE") if domains[0].type is Type.DATE else params[:3]


def _shift_domain(domains: Domains, params: Params) -> Domain:
    (arg,), interval = domains, _interval(params)
    if not arg.is_bounded:
        return Domain(arg.type)
    low, high = _outermost(*instants(arg), interval)
    if low is None and high is None:
        return Domain(arg.type)
    ends: list[date] = [low or FIRST_TIME, high or LAST_TIME]
    if arg.type is Type.DATE:
        ends = [datetime.date(end) for end in ends]  # type: ignore[arg-type]
    nullable = arg.nullable or low is None or high is None
    return Domain(arg.type, ends[0], ends[1], nullable)


def _outermost(
    low: datetime, high: datetime, interval: tuple[int, int, int]
) -> tuple[datetime | None, datetime | None]:
    """The first and the last instant that those between two are moved to, None off the calendar.

    Days keep their order, but the last ones of a long month become one day of a shorter one: there an
    evening of the 30th is moved past a morning of the 31st. So what is moved furthest is an end, or
    the first instant of the day after the first one, or the last instant of the day before the last.

    >>> _outermost(datetime(2023, 1, 29), datetime(2023, 1, 31), (1, 0, 0))[1]
    datetime.datetime(2023, 2, 28, 23, 59, 59, 999999)
    """
    firsts, lasts = [low], [high]
    if low.date() < high.date():
        firsts.append(datetime.combine(low, time.min) + timedelta(days=1))
        lasts.append(datetime.combine(high, time.min) - timedelta(microseconds=1))
    earliest, latest = ([shifted(end, *interval) for end in some] for some in (firsts, lasts))
    return (
        None if None in earliest else min(earliest),  # type: ignore[type-var]
        None if None in latest else max(latest),  # type: ignore[type-var]
    )


def _shift_duckdb(args: Sequence[str], params: Params) -> str:
    months, days, microseconds = params[:3]
    moved = f"CAST({args[0]} AS TIMESTAMP)"
    for count, unit in ((months, "months"), (days, "days"), (microseconds, "microseconds")):
        if count:
            moved = f"({moved} + to_{unit}({count}))"
    first, last = duckdb_literal(FIRST_TIME), duckdb_literal(LAST_TIME)
    inside = f"CASE WHEN {moved} BETWEEN {first} AND {last} THEN {moved} END"
    return f"CAST({inside} AS DATE)" if "DATE" in params[3:] else inside


def _shift_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    months, days, microseconds = params[:3]
    moved = args[0].cast(pl.Datetime("us"))
    if months:
        moved = moved.dt.offset_by(f"{months}mo")
    moved = moved + pl.lit(timedelta(days=days, microseconds=microseconds), pl.Duration("us"))
    count = moved.to_physical()
    inside = count.is_between(_microseconds(FIRST_TIME), _microseconds(LAST_TIME))
    found = pl.when(inside).then(moved)
    return found.cast(pl.Date) if "DATE" in params[3:] else found


def _microseconds(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


# --- a date and a number of days -----------------------------------------------------------------


def _add_days_domain(domains: Domains, params: Params) -> Domain:
    (day, count), (sign,) = domains, params
    if not (day.is_bounded and count.is_bounded):
        return Domain(Type.DATE)
    fewest, most = sorted((sign * count.low, sign * count.high))
    low, high = (day.low - FIRST_DAY).days + fewest, (day.high - FIRST_DAY).days + most
    end = (LAST_DAY - FIRST_DAY).days
    if high < 0 or low > end:
        return Domain(Type.DATE)
    first, last = (FIRST_DAY + timedelta(days=min(max(d, 0), end)) for d in (low, high))
    return Domain(Type.DATE, first, last, any_nullable(domains) or low < 0 or high > end)


def _add_days_duckdb(args: Sequence[str], params: Params) -> str:
    (day, count), (sign,) = args, params
    total = f"({day} - CAST('1970-01-01' AS DATE)) {'+' if sign > 0 else '-'} {count}"
    moved = f"CAST('1970-01-01' AS DATE) + CAST({total} AS INTEGER)"
    inside = f"CASE WHEN {total} BETWEEN {_FIRST} AND {_LAST} THEN {moved} END"
    return f"CASE WHEN {count} BETWEEN {-_MOST_DAYS} AND {_MOST_DAYS} THEN {inside} END"


def _add_days_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    (day, count), (sign,) = args, params
    total = _day_number(day) + sign * count.clip(-_MOST_DAYS, _MOST_DAYS)
    inside = pl.when(total.is_between(_FIRST, _LAST)).then(total)
    return inside.cast(pl.Int32).cast(pl.Date)


def _day_number(day: pl.Expr) -> pl.Expr:
    return day.cast(pl.Int32).cast(pl.Int64)


# --- between two dates ---------------------------------------------------------------------------


def _days_between_domain(domains: Domains, params: Params) -> Domain:
    last, first = domains
    if not (last.is_bounded and first.is_bounded):
        return Domain(Type.INT, nullable=any_nullable(domains))
    low, high = (last.low - first.high).days, (last.high - first.low).days
    return Domain(Type.INT, low, high, any_nullable(domains))


_LENGTHS = {
    "microsecond": 1,
    "millisecond": 10**3,
    "second": 10**6,
    "minute": 60 * 10**6,
    "hour": 3600 * 10**6,
    "day": 86_400 * 10**6,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
DIFFERENCES = (*_MONTHS, "week", *_LENGTHS)
"""Units that DATE_DIFF counts in."""


def _unit(params: Params) -> str:
    return unit_named(params[0], DIFFERENCES, "DATE_DIFF")


def _number_of(moment: datetime, unit: str) -> int:
    """The number of the unit that an instant is in, counted from some start."""
    if unit in _MONTHS:
        return (moment.year * 12 + moment.month - 1) // _MONTHS[unit]
    return _microseconds(moment) // _LENGTHS[unit]


def _difference(start: datetime, end: datetime, unit: str) -> int:
    """How many starts of a unit lie between; but weeks are seven whole days, as in DuckDB."""
    if unit == "week":
        days = _number_of(end, "day") - _number_of(start, "day")
        return abs(days) // 7 * (1 if days >= 0 else -1)
    return _number_of(end, unit) - _number_of(start, unit)


def _difference_domain(domains: Domains, params: Params) -> Domain:
    start, end = domains
    if not (start.is_bounded and end.is_bounded):
        return Domain(Type.INT, nullable=any_nullable(domains))
    (first, last), unit = instants(start), _unit(params)
    low, high = instants(end)
    return Domain(
        Type.INT,
        _difference(last, low, unit),
        _difference(first, high, unit),
        any_nullable(domains),
    )


def _difference_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    unit = _unit(params)

    def number(value: pl.Expr, unit: str) -> pl.Expr:
        if unit in _MONTHS:
            months = value.dt.year().cast(pl.Int64) * 12 + value.dt.month().cast(pl.Int64) - 1
            return months // _MONTHS[unit]
        return value.dt.epoch("us") // _LENGTHS[unit]

    start, end = (number(arg, "day" if unit == "week" else unit) for arg in args)
    if unit != "week":
        return end - start
    days = end - start
    return (days.abs() // 7) * days.sign()


# --- what + and - mean beside a date -------------------------------------------------------------


def sum_instead(domains: Domains, params: Params) -> tuple[str, Params] | None:
    """The entry that adds these arguments, where one is a date."""
    match [d.type for d in domains]:
        case [Type.DATE, Type.INT]:
            return "add_days", (1,)
        case [Type.INT, Type.DATE]:
            return "days_and_date", (1,)
    _refuse_dates(domains)
    return None


def difference_instead(domains: Domains, params: Params) -> tuple[str, Params] | None:
    """The entry that subtracts these arguments, where one is a date."""
    match [d.type for d in domains]:
        case [Type.DATE, Type.INT]:
            return "add_days", (-1,)
        case [Type.DATE, Type.DATE]:
            return "days_between", ()
    _refuse_dates(domains)
    return None


def _refuse_dates(domains: Domains) -> None:
    if any(d.type.is_temporal for d in domains):
        names = " and ".join(d.type.value for d in domains)
        raise Refused(
            f"{names} have no such sum or difference",
            "x + INTERVAL '1' DAY, a date plus or minus whole days, or"
            " DATE_DIFF('hour', start, end)",
        )


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "date_add",
            (),
            _shift_coerce,
            _shift_domain,
            _shift_duckdb,
            _shift_polars,
            repeats=True,
            fixed=_shift_fixed,
        ),
        Function(
            "add_days",
            (),
            lambda domains, params: (Type.DATE, Type.INT),
            _add_days_domain,
            _add_days_duckdb,
            _add_days_polars,
            repeats=True,
        ),
        Function(  # the same with the number first; only a sum can be written so
            "days_and_date",
            (),
            lambda domains, params: (Type.INT, Type.DATE),
            lambda domains, params: _add_days_domain(domains[::-1], params),
            lambda args, params: _add_days_duckdb(args[::-1], params),
            lambda args, params: _add_days_polars(args[::-1], params),
            repeats=True,
        ),
        Function(
            "days_between",
            (),
            lambda domains, params: (Type.DATE, Type.DATE),
            _days_between_domain,
            lambda args, params: f"({args[0]} - {args[1]})",
            lambda args, params: _day_number(args[0]) - _day_number(args[1]),
        ),
        Function(
            "date_diff",
            (),
            lambda domains, params: (_unit(params), (Type.TIMESTAMP, Type.TIMESTAMP))[1],
            _difference_domain,
            lambda args, params: f"DATE_DIFF('{_unit(params)}', {args[0]}, {args[1]})",
            _difference_polars,
            repeats=True,
        ),
    )

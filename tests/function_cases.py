"""Every function of the table, called in SQL or Polars: what it should compute, and on which rows.

`Bench` computes all of them on both engines, as they are executed for a query.
"""

from __future__ import annotations

import calendar
import math
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from unittest.mock import Mock

import duckdb
import polars as pl

import dpframe as dp
from dpframe.bounds.analysis import Typed, typed
from dpframe.declare import Row, Table, declare
from dpframe.engines import duckdb_text, polars_codes, polars_exprs
from dpframe.engines.duckdb import DuckDBEngine
from dpframe.engines.polars import PolarsEngine
from dpframe.frame import Frame
from dpframe.frontends.sql import plan_of
from dpframe.plan.coding import coding_for
from dpframe.plan.domains import Type
from dpframe.plan.nodes import aggregate_of
from dpframe.plan.parts import CodedSum

COLUMNS = {
    "i": dp.Range(-1000, 1000),
    "j": dp.Range(-7, 7),
    "x": dp.Range(-1e6, 1e6),
    "z": dp.Range(0.001, 50),
    "k": dp.Keys(["er", "icu", "é", "12"]),
    "d": dp.Range(date(1, 1, 1), date(9999, 12, 31)),
    "t": dp.Range(datetime(1, 1, 1), datetime.max),
}
"""`y`, `s`, `b`, `f32`, `dec`, `n` and `ms` are declared nothing of."""

FLOATS = (
    *(0.0, -0.0, 0.5, 1.5, 2.5, -2.5, 0.49999999999999994, 0.1, 0.3, 1 / 3, 4.35, 1.005, 2.675),
    *(1.0, 3.0, 10.0, 49.0, 98.0, 7.0, 123456.789, 1e6, 1e6 + 1, -1e6, 1e15 + 0.3, 1e22),
    *(4.2860766678797244e145, 1e300, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324),
    *(2.2250738585072014e-308, 1e-310, math.nan, math.inf, -math.inf, 9007199254740993.0),
    *(
        9.223372036854775e18,
        -(2.0**63),
        2.0**63,
        1e19,
        709.0,
        710.0,
        -745.2,
        0.001,
        1e-17,
        6.5,
        7.5,
        -0.5,
    ),
)
TEXTS = (
    *("", "a", "A", "ab", "er", "icu", " a ", "\u00a0x\u3000", "é", "É", "日本語", "🙂", "Жж"),
    *("%", "_", "a%", "\\", "a\\b", "'", '"', "a.b", "(", "12", "-5", "+7", "+-7", "007", "3.5"),
    *("-0.0", "1e3", "1e400", ".5", "5.", "nan", "inf", "true", "1_000", "4.35", "9" * 18),
    *("9" * 19, "2024-02-29", "2023-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "a\0b"),
    *("2024-01-01 12:34:56", "2024-01-01 24:00:00", "2024-01-01 23:59:60", "abcdef" * 9),
)
DAYS = (0, 1, -1, 19723, 19782, -719162, 2932896, -719163, 2932897, 2**31 - 1, -(2**31), 10957, 58)
INTEGERS = (0, 1, -1, 2, 3, 7, -7, 49, 50, 99, 100, -100, 999, 1000, 1001, 2**53 + 1, -(2**63))
SECONDS = (0, 1_704_067_200, -1, 1_709_251_199, -62_135_596_800, 253_402_300_799, 951_782_400)


def rows() -> pl.DataFrame:
    """Rows in which each column meets all of its values, in no common order."""
    draw = random.Random(20240229)
    size = 64

    def some(values: Any) -> list[Any]:
        listed = [*values, None]
        cells = [listed[i % len(listed)] for i in range(size)]
        draw.shuffle(cells)
        return cells

    instants = [s * 10**6 + extra for s in SECONDS for extra in (0, 1, 999_999)]
    columns = {
        "i": pl.Series(some(INTEGERS), dtype=pl.Int64),
        "j": pl.Series(some(range(-8, 9)), dtype=pl.Int8),
        "x": pl.Series(some(FLOATS), dtype=pl.Float64),
        "y": pl.Series(some(FLOATS), dtype=pl.Float64),
        "z": pl.Series(some(FLOATS), dtype=pl.Float64),
        "f32": pl.Series(some(FLOATS), dtype=pl.Float64).cast(pl.Float32),
        "dec": pl.Series(some([Decimal(v) for v in ("0.00", "0.05", "-7.15", "1234567.89")])),
        "n": pl.Series(some([-(2**63), 2**63 - 1, 0, 5, -3]), dtype=pl.Int64),
        "s": pl.Series(some(TEXTS), dtype=pl.String),
        "k": pl.Series(some(["er", "icu", "é", "12", "other"]), dtype=pl.Categorical),
        "b": pl.Series(some([True, False]), dtype=pl.Boolean),
        "d": pl.Series(some(DAYS), dtype=pl.Int32).cast(pl.Date),
        "t": pl.Series(some(instants), dtype=pl.Int64).cast(pl.Datetime("us")),
        "ms": pl.Series(some([0, -1, 2**63 - 1, -(2**63), 1]), dtype=pl.Int64).cast(
            pl.Datetime("ms")
        ),
    }
    return pl.DataFrame(columns)


# --- what each function should compute, in Python -------------------------------------------------
#
# `r` is a row as it is read: NaN is None, values lie in the declared domain.


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """None where an argument is None, or where mathematics has no answer."""

    def total(*args: Any) -> Any:
        if any(a is None for a in args):
            return None
        try:
            found = function(*args)
        except (ValueError, ZeroDivisionError):
            return None
        except OverflowError:
            return math.inf
        return None if isinstance(found, float) and math.isnan(found) else found

    return total


def half_away(value: float, digits: int = 0) -> float:
    factor = 10.0 ** abs(digits)
    scaled = value * factor if digits > 0 else value / factor
    if math.isinf(scaled):
        return scaled
    whole = math.floor(abs(Fraction(scaled)) + Fraction(1, 2))
    rounded = math.copysign(float(whole), scaled)
    return rounded / factor if digits > 0 else rounded * factor


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def kleene_and(a: bool | None, b: bool | None) -> bool | None:
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def kleene_or(a: bool | None, b: bool | None) -> bool | None:
    if a is True or b is True:
        return True
    return None if a is None or b is None else False


def to_integer(value: float, bits: int = 64) -> int | None:
    if not -(2.0**63) <= value < 2.0**63:
        return None
    rounded = round(value)
    return rounded if -(2 ** (bits - 1)) <= rounded < 2 ** (bits - 1) else None


def like(text: str, pattern: str) -> bool:
    """LIKE by its definition, letter by letter."""
    if not pattern:
        return not text
    if pattern[0] == "%":
        return any(like(text[i:], pattern[1:]) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and like(text[1:], pattern[1:])


def day_of(value: date | datetime) -> date:
    return value.date() if isinstance(value, datetime) else value


def truncate(value: date | datetime, unit: str) -> datetime:
    moment = value if isinstance(value, datetime) else datetime(value.year, value.month, value.day)
    day = datetime(moment.year, moment.month, moment.day)
    return {
        "year": lambda: datetime(moment.year, 1, 1),
        "quarter": lambda: datetime(moment.year, (moment.month - 1) // 3 * 3 + 1, 1),
        "month": lambda: datetime(moment.year, moment.month, 1),
        "week": lambda: day - timedelta(days=day.weekday()),
        "day": lambda: day,
        "hour": lambda: day + timedelta(hours=moment.hour),
        "minute": lambda: moment.replace(second=0, microsecond=0),
        "second": lambda: moment.replace(microsecond=0),
    }[unit]()


FIELDS: dict[str, Callable[[Any], int]] = {
    "year": lambda v: v.year,
    "quarter": lambda v: (v.month - 1) // 3 + 1,
    "month": lambda v: v.month,
    "week": lambda v: v.isocalendar().week,
    "day": lambda v: v.day,
    "dow": lambda v: v.isoweekday() % 7,
    "isodow": lambda v: v.isoweekday(),
    "doy": lambda v: v.timetuple().tm_yday,
    "hour": lambda v: getattr(v, "hour", 0),
    "minute": lambda v: getattr(v, "minute", 0),
    "second": lambda v: getattr(v, "second", 0),
}


def read_number(text: str) -> float | None:
    plain = text.isascii() and all(c in "0123456789+-.eE" for c in text)
    if not plain or text in ("", "."):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def read_integer(text: str, bits: int = 64) -> int | None:
    digits = text[1:] if text[:1] in ("+", "-") and text else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 18):
        return None
    value = int(text)
    return value if -(2 ** (bits - 1)) <= value < 2 ** (bits - 1) else None


def read_day(text: str) -> date | None:
    return date.fromisoformat(text) if len(text) == 10 and text[4:5] == "-" else None


def read_moment(text: str) -> datetime | None:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S") if len(text) == 19 else None


SPACES = "".join(map(chr, (0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))


@dataclass(frozen=True)
class Case:
    """An expression, and what it means."""

    sql: str
    """SQL; or a Polars expression, which begins with `pl.`"""
    python: Callable[[Any], Any]
    close: bool = False
    """Mathematics that libraries round in their own way."""
    narrower: bool = False
    """Yields NULL for some of what plain DuckDB reads."""

    @property
    def polars(self) -> pl.Expr | None:
        """The Polars expression, if it is one."""
        return eval(self.sql, {"pl": pl, "date": date}) if self.sql.startswith("pl.") else None


def _arithmetic() -> Iterator[Case]:
    yield Case("x + 0.1", lambda r: strict(lambda a: a + 0.1)(r.x))
    yield Case("y - x", lambda r: strict(lambda a, b: a - b)(r.y, r.x))
    yield Case("i * 3", lambda r: strict(lambda a: a * 3)(r.i))
    yield Case("x * 0.1", lambda r: strict(lambda a: a * 0.1)(r.x))
    yield Case("x * x", lambda r: strict(lambda a: a * a)(r.x))
    yield Case("i * i", lambda r: strict(lambda a: a * a)(r.i))
    yield Case("-x", lambda r: strict(lambda a: -a)(r.x))
    yield Case("-n", lambda r: strict(lambda a: -float(a))(r.n), narrower=True)
    yield Case("ABS(y)", lambda r: strict(abs)(r.y))
    yield Case("ABS(i)", lambda r: strict(abs)(r.i))
    yield Case("n + n", lambda r: strict(lambda a: float(a) + float(a))(r.n), narrower=True)
    yield Case("SIGN(y)", lambda r: strict(lambda a: (a > 0) - (a < 0))(r.y))
    for divisor in ("49", "10", "3", "0.3", "1e-3", "-7", "4.2860766678797244e145"):
        number = float(divisor)
        yield Case(f"x / {divisor}", lambda r, n=number: strict(lambda a: a / n)(r.x))
        yield Case(f"z / {divisor}", lambda r, n=number: strict(lambda a: a / n)(r.z))
        yield Case(f"i / {divisor}", lambda r, n=number: strict(lambda a: a / n)(r.i))
        yield Case(f"{divisor} / x", lambda r, n=number: strict(lambda a: n / a)(r.x))
    yield Case("x / 0", lambda r: None)
    yield Case("x / y", lambda r: strict(lambda a, b: a / b)(r.x, r.y))
    yield Case("x / CAST(j AS DOUBLE)", lambda r: strict(lambda a, b: a / b)(r.x, r.j))
    yield Case("y / 49", lambda r: strict(lambda a: a / 49)(r.y))
    yield Case("f32 / 49", lambda r: strict(lambda a: a / 49)(r.f32))
    yield Case("dec / 49", lambda r: strict(lambda a: a / 49)(r.dec))
    yield Case("(x / 49) / 3", lambda r: strict(lambda a: a / 49 / 3)(r.x))
    yield Case(
        "CASE WHEN b THEN x ELSE z END / 49",
        lambda r: strict(lambda a: a / 49)(r.x if r.b else r.z),
    )
    yield Case(
        "x / CASE WHEN b IS NULL THEN 3.0 ELSE 49.0 END",
        lambda r: strict(lambda a: a / (3.0 if r.b is None else 49.0))(r.x),
    )
    for divisor in (7, -7, 1, 49):
        yield Case(f"i // {divisor}", lambda r, n=divisor: strict(truncated)(r.i, n))
        yield Case(
            f"i % {divisor}", lambda r, n=divisor: strict(lambda a: a - n * truncated(a, n))(r.i)
        )
    yield Case("i // j", lambda r: strict(truncated)(r.i, r.j))
    yield Case("MOD(i, j)", lambda r: strict(lambda a, b: a - b * truncated(a, b))(r.i, r.j))
    yield Case("n % 10", lambda r: strict(lambda a: a - 10 * truncated(a, 10))(r.n))
    yield Case("100 % j", lambda r: strict(lambda b: 100 - b * truncated(100, b))(r.j))


def _rounding() -> Iterator[Case]:
    def whole(function: Callable[[float], int]) -> Callable[[float], float]:
        return lambda a: a if math.isinf(a) else float(function(a))

    yield Case("FLOOR(y)", lambda r: strict(whole(math.floor))(r.y))
    yield Case("CEIL(y)", lambda r: strict(whole(math.ceil))(r.y))
    yield Case("FLOOR(x / 49)", lambda r: strict(lambda a: float(math.floor(a / 49)))(r.x))
    yield Case("FLOOR(i)", lambda r: r.i)
    for digits in (0, 1, 2, 5, -1, -3):
        yield Case(f"ROUND(x, {digits})", lambda r, n=digits: strict(half_away)(r.x, n))
    yield Case("ROUND(y)", lambda r: strict(half_away)(r.y))
    yield Case("ROUND(z, 2)", lambda r: strict(half_away)(r.z, 2))
    yield Case("ROUND(z, -2)", lambda r: strict(half_away)(r.z, -2))


def _mathematics() -> Iterator[Case]:
    yield Case("SQRT(x)", lambda r: strict(math.sqrt)(r.x))
    yield Case("LN(x)", lambda r: strict(math.log)(r.x), close=True)
    yield Case("LN(z)", lambda r: strict(math.log)(r.z), close=True)
    yield Case("EXP(x)", lambda r: strict(math.exp)(r.x), close=True)
    for exponent in (0, 1, 2, 3, 8, 9, 12, 0.5, 1.5, -1, -2, -9, -0.5):
        yield Case(
            f"POWER(z, {exponent})",
            lambda r, e=exponent: strict(lambda a: math.pow(a, e))(r.z),
            close=True,
        )
    yield Case("POWER(x, 2)", lambda r: strict(lambda a: a * a)(r.x))
    yield Case("POWER(x, 1.5)", lambda r: strict(lambda a: math.pow(a, 1.5))(r.x), close=True)
    yield Case("POWER(x, -1)", lambda r: strict(lambda a: 1 / a)(r.x), close=True)


def _conditions() -> Iterator[Case]:
    symbols: dict[str, Callable[[Any, Any], bool]] = {
        "=": lambda a, b: a == b,
        "<>": lambda a, b: a != b,
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
    }
    for symbol, compare in symbols.items():
        yield Case(f"x {symbol} 0.5", lambda r, c=compare: strict(lambda a: c(a, 0.5))(r.x))
        yield Case(f"x {symbol} y", lambda r, c=compare: strict(c)(r.x, r.y))
        yield Case(f"i {symbol} 7", lambda r, c=compare: strict(lambda a: c(a, 7))(r.i))
        yield Case(f"n {symbol} 2.5", lambda r, c=compare: strict(lambda a: c(a, 2.5))(r.n))
        yield Case(
            f"d {symbol} '2024-01-01'", lambda r, c=compare: strict(c)(r.d, date(2024, 1, 1))
        )
        yield Case(
            f"t {symbol} DATE '2024-01-01'",
            lambda r, c=compare: strict(c)(r.t, datetime(2024, 1, 1)),
        )
        yield Case(
            f"s {symbol} 'a'",
            lambda r, c=compare: strict(lambda a: c(a.encode(), b"a"))(r.s),
        )
    yield Case("b = TRUE", lambda r: r.b)
    yield Case("x IS DISTINCT FROM y", lambda r: r.x != r.y)
    yield Case("s IS NOT DISTINCT FROM k", lambda r: r.s == r.k)
    yield Case("b AND x > 0", lambda r: kleene_and(r.b, strict(lambda a: a > 0)(r.x)))
    yield Case("b OR x > 0", lambda r: kleene_or(r.b, strict(lambda a: a > 0)(r.x)))
    yield Case("NOT b", lambda r: strict(lambda a: not a)(r.b))
    yield Case("x IS NULL", lambda r: r.x is None)
    yield Case("b IS NOT TRUE", lambda r: r.b is not True)
    yield Case("i IN (7, 49, -1)", lambda r: strict(lambda a: a in (7, 49, -1))(r.i))
    yield Case("x IN (1, 2.5, 0)", lambda r: strict(lambda a: a in (1, 2.5, 0))(r.x))
    yield Case("s IN ('a', 'é')", lambda r: strict(lambda a: a in ("a", "é"))(r.s))
    yield Case("s NOT IN ('a', '12')", lambda r: strict(lambda a: a not in ("a", "12"))(r.s))
    yield Case("d IN ('2024-01-01')", lambda r: strict(lambda a: a == date(2024, 1, 1))(r.d))
    yield Case("i IN (7, NULL)", lambda r: True if r.i == 7 else None)
    yield Case("i BETWEEN 3 AND 49", lambda r: strict(lambda a: 3 <= a <= 49)(r.i))
    for pattern in ("a%", "%b", "_", "%.%", "%\\%", "", "%", "a_", "(%"):
        yield Case(f"s LIKE '{pattern}'", lambda r, p=pattern: strict(lambda a: like(a, p))(r.s))
    yield Case("s NOT LIKE 'a%'", lambda r: strict(lambda a: not like(a, "a%"))(r.s))
    yield Case("starts_with(s, 'a')", lambda r: strict(lambda a: a.startswith("a"))(r.s))
    yield Case("ends_with(s, '5')", lambda r: strict(lambda a: a.endswith("5"))(r.s))
    yield Case("contains(s, '.')", lambda r: strict(lambda a: "." in a)(r.s))


def _choices() -> Iterator[Case]:
    def least(pick: Any, *values: Any) -> Any:
        there = [v for v in values if v is not None]
        return pick(there) if there else None

    yield Case("CASE WHEN x > 0 THEN i WHEN b THEN j ELSE 5 END", _case)
    yield Case("CASE i WHEN 7 THEN 'seven' ELSE s END", lambda r: "seven" if r.i == 7 else r.s)
    yield Case("IF(b, x, y)", lambda r: r.x if r.b else r.y)
    yield Case("COALESCE(x, y, 1)", lambda r: next(v for v in (r.x, r.y, 1.0) if v is not None))
    yield Case("COALESCE(s, k, '-')", lambda r: next(v for v in (r.s, r.k, "-") if v is not None))
    yield Case("NULLIF(i, 7)", lambda r: None if r.i == 7 else r.i)
    yield Case("LEAST(x, y)", lambda r: least(min, r.x, r.y))
    yield Case("LEAST(x, 2.5, y)", lambda r: least(min, r.x, 2.5, r.y))
    yield Case("GREATEST(i, j)", lambda r: least(max, r.i, r.j))
    yield Case("GREATEST(i, x)", lambda r: least(max, None if r.i is None else float(r.i), r.x))
    yield Case("LEAST(d, DATE '2000-01-01')", lambda r: least(min, r.d, date(2000, 1, 1)))
    yield Case("GREATEST(0, LEAST(y, 3.7))", lambda r: max(0.0, least(min, r.y, 3.7)))


def _case(r: Any) -> Any:
    if r.x is not None and r.x > 0:
        return r.i
    return r.j if r.b else 5


def _casts() -> Iterator[Case]:
    yield Case("CAST(y AS BIGINT)", lambda r: strict(to_integer)(r.y))
    yield Case("CAST(x AS SMALLINT)", lambda r: strict(lambda a: to_integer(a, 16))(r.x))
    yield Case("CAST(i AS TINYINT)", lambda r: strict(lambda a: to_integer(a, 8))(r.i))
    yield Case("CAST(n AS DOUBLE)", lambda r: strict(float)(r.n))
    yield Case("CAST(i AS BOOLEAN)", lambda r: strict(bool)(r.i))
    yield Case("CAST(b AS INT)", lambda r: strict(int)(r.b))
    yield Case("CAST(s AS BIGINT)", lambda r: strict(read_integer)(r.s), narrower=True)
    yield Case(
        "CAST(s AS TINYINT)", lambda r: strict(lambda a: read_integer(a, 8))(r.s), narrower=True
    )
    yield Case("CAST(s AS DOUBLE)", lambda r: strict(read_number)(r.s), narrower=True)
    yield Case("CAST(s AS DATE)", lambda r: strict(read_day)(r.s), narrower=True)
    yield Case("CAST(s AS TIMESTAMP)", lambda r: strict(read_moment)(r.s), narrower=True)
    yield Case("CAST(t AS DATE)", lambda r: strict(day_of)(r.t))
    yield Case("CAST(d AS TIMESTAMP)", lambda r: strict(lambda a: truncate(a, "day"))(r.d))
    yield Case("CAST(i AS VARCHAR)", lambda r: strict(str)(r.i))
    yield Case("CAST(b AS VARCHAR)", lambda r: strict(lambda a: str(a).lower())(r.b))
    yield Case("CAST(d AS VARCHAR)", lambda r: strict(lambda a: a.isoformat())(r.d))


def _texts() -> Iterator[Case]:
    yield Case("LOWER(s)", lambda r: strict(str.lower)(r.s))
    yield Case("UPPER(s)", lambda r: strict(str.upper)(r.s))
    yield Case("TRIM(s)", lambda r: strict(lambda a: a.strip(SPACES))(r.s))
    yield Case("LTRIM(s)", lambda r: strict(lambda a: a.lstrip(SPACES))(r.s))
    yield Case("RTRIM(s)", lambda r: strict(lambda a: a.rstrip(SPACES))(r.s))
    yield Case("LENGTH(s)", lambda r: strict(len)(r.s))
    yield Case("SUBSTRING(s, 2, 2)", lambda r: strict(lambda a: a[1:3])(r.s))
    yield Case("SUBSTRING(s, 2)", lambda r: strict(lambda a: a[1:])(r.s))
    yield Case("LEFT(s, 2)", lambda r: strict(lambda a: a[:2])(r.s))
    yield Case("REPLACE(s, 'a', '$1')", lambda r: strict(lambda a: a.replace("a", "$1"))(r.s))
    yield Case("REPLACE(s, '.', '')", lambda r: strict(lambda a: a.replace(".", ""))(r.s))
    yield Case("s || k", lambda r: strict(lambda a, b: a + b)(r.s, r.k))
    yield Case(
        "CONCAT(s, i, b, d)",
        lambda r: "".join(
            "" if v is None else str(v).lower() if isinstance(v, bool) else str(v)
            for v in (r.s, r.i, r.b, r.d)
        ),
    )


def _times() -> Iterator[Case]:
    for name, field in FIELDS.items():
        yield Case(f"EXTRACT({name} FROM d)", lambda r, f=field: strict(f)(r.d))
        yield Case(f"EXTRACT({name} FROM t)", lambda r, f=field: strict(f)(r.t))
    yield Case("date_part('month', ms)", lambda r: strict(lambda a: a.month)(r.ms))
    for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second"):
        for column in ("d", "t"):
            yield Case(
                f"DATE_TRUNC('{unit}', {column})",
                lambda r, u=unit, c=column: strict(lambda a: truncate(a, u))(getattr(r, c)),
            )


WHITE_SPACE = SPACES + "".join(map(chr, (*range(0x09, 0x0E), 0x85, 0x2028, 0x2029)))


def half_even(value: float, digits: int = 0) -> float:
    factor = 10.0 ** abs(digits)
    scaled = value * factor if digits > 0 else value / factor
    if math.isinf(scaled):
        return scaled
    rounded = math.copysign(float(round(Fraction(scaled))), scaled)
    return rounded / factor if digits > 0 else rounded * factor


def _dataframes() -> Iterator[Case]:
    """What Polars has and SQL lacks, or means otherwise."""
    for divisor in (7, -7, 3, 1):
        yield Case(f'pl.col("i") // {divisor}', lambda r, d=divisor: strict(lambda a: a // d)(r.i))
        yield Case(f'pl.col("i") % {divisor}', lambda r, d=divisor: strict(lambda a: a % d)(r.i))
    yield Case('pl.col("i") // pl.col("j")', lambda r: strict(lambda a, b: a // b)(r.i, r.j))
    yield Case('pl.col("i") % pl.col("j")', lambda r: strict(lambda a, b: a % b)(r.i, r.j))
    yield Case('pl.col("z") // 0.3', lambda r: strict(lambda a: float(math.floor(a / 0.3)))(r.z))
    yield Case("pl.lit(-3) % 0 + pl.col('i')", lambda r: None)
    yield Case("pl.lit(-3) // 0 + pl.col('i')", lambda r: None)
    for digits in (0, 1, 2):
        yield Case(f'pl.col("x").round({digits})', lambda r, d=digits: strict(half_even)(r.x, d))
    yield Case('pl.col("y").truncate()', lambda r: strict(_whole)(r.y))
    yield Case('pl.col("x").cast(pl.Int64)', lambda r: strict(math.trunc)(r.x))
    yield Case('pl.col("y").clip(-1, 2.5)', lambda r: strict(lambda a: min(max(a, -1.0), 2.5))(r.y))
    yield Case('pl.col("i").clip(-3, 40)', lambda r: strict(lambda a: min(max(a, -3), 40))(r.i))
    yield Case('pl.col("i").clip(upper_bound=5)', lambda r: strict(lambda a: min(a, 5))(r.i))
    yield Case(
        'pl.col("d").clip(date(1970, 1, 1), date(2024, 1, 1))',
        lambda r: strict(lambda a: min(max(a, date(1970, 1, 1)), date(2024, 1, 1)))(r.d),
    )
    yield Case('pl.col("x").is_nan()', lambda r: r.x is None)
    yield Case('pl.col("x").fill_nan(0.5)', lambda r: 0.5 if r.x is None else r.x)
    yield Case(
        'pl.col("b") ^ (pl.col("i") > 0)', lambda r: strict(lambda a, b: a != (b > 0))(r.b, r.i)
    )
    yield Case('pl.col("s") + "x"', lambda r: strict(lambda a: a + "x")(r.s))
    yield Case('pl.col("i") + pl.col("j")', lambda r: strict(lambda a, b: a + b)(r.i, r.j))
    yield Case('pl.col("s").str.len_bytes()', lambda r: strict(lambda a: len(a.encode()))(r.s))
    for side, method in (("", "strip"), ("_start", "lstrip"), ("_end", "rstrip")):
        for characters in (None, "a5."):
            yield Case(
                f'pl.col("s").str.strip_chars{side}({characters!r})',
                lambda r, m=method, c=characters: strict(
                    lambda a: getattr(a, m)(WHITE_SPACE if c is None else c)
                )(r.s),
            )
    yield Case('pl.col("i").is_in([1, None, 7])', lambda r: strict(lambda a: a in (1, 7))(r.i))
    yield Case('pl.col("i").is_in([1, None], nulls_equal=True)', lambda r: r.i in (1, None))
    yield Case('pl.col("i").is_in([], nulls_equal=False)', lambda r: strict(lambda a: False)(r.i))
    yield Case('pl.col("i").replace({1: 10, None: -1})', lambda r: {1: 10, None: -1}.get(r.i, r.i))
    yield Case(
        'pl.col("k").replace_strict({"er": 1, "icu": 2}, default=None)',
        lambda r: {"er": 1, "icu": 2}.get(r.k),
    )
    yield Case('pl.col("d").dt.weekday()', lambda r: strict(lambda a: a.isoweekday())(r.d))
    yield Case('pl.sum_horizontal("i", "j")', lambda r: (r.i or 0) + (r.j or 0))
    yield Case(
        'pl.mean_horizontal("i", "j")',
        lambda r: strict(lambda *v: sum(v) / len(v))(*[v for v in (r.i, r.j) if v is not None]),
    )


def _whole(value: float) -> float:
    return value if math.isinf(value) else float(math.trunc(value))


def _angles() -> Iterator[Case]:
    yield Case(
        "TRUNC(y)",
        lambda r: strict(lambda a: a if math.isinf(a) else float(math.trunc(a)))(r.y),
    )
    yield Case("TRUNC(i)", lambda r: r.i)
    yield Case("LOG10(x)", lambda r: strict(math.log10)(r.x), close=True)
    yield Case("LOG2(z)", lambda r: strict(math.log2)(r.z), close=True)
    yield Case("DEGREES(x)", lambda r: strict(math.degrees)(r.x), close=True)
    yield Case("RADIANS(z)", lambda r: strict(math.radians)(r.z), close=True)
    for name, function in {"SIN": math.sin, "COS": math.cos, "ATAN": math.atan}.items():
        yield Case(f"{name}(z)", lambda r, f=function: strict(f)(r.z), close=True)


def _patterns() -> Iterator[Case]:
    yield Case("s ILIKE 'A%'", lambda r: strict(lambda a: a.lower().startswith("a"))(r.s))
    yield Case("s LIKE '%!%%' ESCAPE '!'", lambda r: strict(lambda a: "%" in a)(r.s))
    for pattern in ("^a", "[0-9]+$", "a|b", "^.?$", "[^a-z]", "[.]", "^[+-]?[0-9]{1,3}$"):
        compiled = re.compile(pattern.replace("$", r"\Z"))  # Python's $ is before a last \n, too
        yield Case(
            f"regexp_matches(s, '{pattern}')",
            lambda r, p=compiled: strict(lambda a: p.search(a) is not None)(r.s),
        )
    yield Case("RIGHT(s, 2)", lambda r: strict(lambda a: a[-2:])(r.s))
    yield Case("LPAD(s, 4, '0')", lambda r: strict(lambda a: a.rjust(4, "0")[:4])(r.s))
    yield Case("RPAD(s, 4, 'é')", lambda r: strict(lambda a: a.ljust(4, "é")[:4])(r.s))
    yield Case("STRPOS(s, '.')", lambda r: strict(lambda a: a.find(".") + 1)(r.s))
    yield Case("STRPOS(s, 'a')", lambda r: strict(lambda a: a.find("a") + 1)(r.s))
    yield Case(
        "SPLIT_PART(s, '-', 2)",
        lambda r: strict(lambda a: [*a.split("-"), "", ""][1])(r.s),
    )


def _shifts() -> Iterator[Case]:
    def add(moment: Any, months: int, days: int, seconds: int) -> datetime | None:
        year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
        if not 1 <= year <= 9999:
            return None
        day = min(moment.day, calendar.monthrange(year, month + 1)[1])
        moved = truncate(moment, "day").replace(year=year, month=month + 1, day=day)
        if isinstance(moment, datetime):
            moved = datetime.combine(moved.date(), moment.time())
        try:
            return moved + timedelta(days=days, seconds=seconds)
        except OverflowError:
            return None

    intervals = {
        "1 MONTH": (1, 0, 0),
        "13 MONTH": (13, 0, 0),
        "4 YEAR": (48, 0, 0),
        "9 DAY": (0, 9, 0),
        "36 HOUR": (0, 0, 129_600),
        "5000 YEAR": (60_000, 0, 0),
    }
    for written, (months, days, seconds) in intervals.items():
        for column, sign in (("d", 1), ("t", 1), ("d", -1), ("t", -1)):
            yield Case(
                f"{column} {'+' if sign > 0 else '-'} INTERVAL {written}",
                lambda r, c=column, p=(sign * months, sign * days, sign * seconds): strict(
                    lambda a: add(a, *p)
                )(getattr(r, c)),
                narrower=True,
            )

    def plus(day: date, count: int) -> date | None:
        total = day.toordinal() + count
        return date.fromordinal(total) if 1 <= total <= date.max.toordinal() else None

    yield Case("d + CAST(i AS INT)", lambda r: strict(plus)(r.d, r.i), narrower=True)
    yield Case(
        "d - CAST(i AS INT)", lambda r: strict(lambda a, b: plus(a, -b))(r.d, r.i), narrower=True
    )
    yield Case("d + CAST(j AS INT)", lambda r: strict(plus)(r.d, r.j), narrower=True)
    yield Case("CAST(i AS INT) + d", lambda r: strict(plus)(r.d, r.i), narrower=True)
    yield Case(
        "d - DATE '2024-01-01'", lambda r: strict(lambda a: (a - date(2024, 1, 1)).days)(r.d)
    )
    yield Case("last_day(d)", lambda r: strict(last_day)(r.d))
    yield Case("last_day(t)", lambda r: strict(last_day)(r.t))
    yield Case(
        "DATE_DIFF('day', d, t)", lambda r: strict(lambda a, b: (day_of(b) - a).days)(r.d, r.t)
    )
    yield Case(
        "DATE_DIFF('month', d, DATE '2024-01-01')",
        lambda r: strict(lambda a: (2024 - a.year) * 12 + 1 - a.month)(r.d),
    )
    yield Case(
        "DATE_DIFF('hour', t, TIMESTAMP '2024-01-01 00:30:00')",
        lambda r: strict(
            lambda a: (datetime(2024, 1, 1) - truncate(a, "hour")) // timedelta(hours=1)
        )(r.t),
    )
    yield Case("strftime(d, '%Y-%m-%d')", lambda r: strict(lambda a: a.isoformat())(r.d))
    yield Case(
        "EXTRACT(epoch FROM t)",
        lambda r: strict(lambda a: (a - datetime(1970, 1, 1)) / timedelta(seconds=1))(r.t),
        close=True,
    )


def last_day(day: Any) -> date:
    return date(day.year, day.month, calendar.monthrange(day.year, day.month)[1])


CASES = [
    *_angles(),
    *_patterns(),
    *_shifts(),
    *_arithmetic(),
    *_rounding(),
    *_mathematics(),
    *_conditions(),
    *_choices(),
    *_casts(),
    *_texts(),
    *_times(),
    *_dataframes(),
]


# --- the two engines, on any frame ----------------------------------------------------------------


class Row_:
    """A row by the names of its columns."""

    def __init__(self, cells: dict[str, Any]) -> None:
        self.__dict__.update(cells)


class Bench:
    """All expressions, analysed once for each engine's storage."""

    def __init__(
        self,
        frame: pl.DataFrame,
        cases: Sequence[Case] = CASES,
        columns: Mapping[str, Any] = COLUMNS,
        *,
        some_refused: bool = False,
    ) -> None:
        self.columns = columns
        self.connection = duckdb.connect()
        self.polars = self._declared(PolarsEngine(frame).storage())
        self.connection.register("frame", frame)
        self.duckdb = self._declared(DuckDBEngine(self.connection.table("frame")).storage())
        self.cases: list[Case] = []
        self.exprs: list[Typed] = []
        for case in cases:
            with suppress(dp.QueryError) if some_refused else nullcontext():
                self.exprs.append(self._typed(case))
                self.cases.append(case)

    def _declared(self, storage: Any) -> Table:
        return declare(
            "t",
            storage,
            unit=Row(),
            columns=self.columns,
            neighbors="add_remove",
            size=None,
            public=False,
        )

    def _typed(self, case: Case) -> Typed:
        if case.polars is not None:
            rows = Frame.of_table(self.polars, Mock(), Mock()).with_columns(found=case.polars)._rows
            return typed(rows.columns["found"], self.polars.domains)
        plan = plan_of(f"SELECT COUNT({case.sql}) FROM t", {"t": self.polars})
        (_, call), *_ = aggregate_of(plan).aggregates
        return typed(call.args[0], self.polars.domains)

    def polars_exprs(self) -> list[pl.Expr]:
        read = polars_exprs.reader(self.polars)
        values = [polars_exprs.polars_of(e.expr, read) for e in self.exprs]
        codes = [polars_codes.code_of(p, self.polars) for p in self.sums()]
        return [e.alias(f"e{i}") for i, e in enumerate([*values, *codes])]

    def duckdb_exprs(self) -> str:
        read = duckdb_text.reader(self.duckdb)
        values = [duckdb_text.sql_of(e.expr, read) for e in self.exprs]
        codes = [duckdb_text.code_of(p, self.duckdb) for p in self.sums()]
        return ", ".join(f"{e} AS e{i}" for i, e in enumerate([*values, *codes]))

    def sums(self) -> list[CodedSum]:
        """The codes of those expressions that SUM takes."""
        found = []
        for e in self.exprs:
            if e.domain.type in (Type.INT, Type.FLOAT) and e.domain.is_bounded:
                found.append(CodedSum(None, e.expr, coding_for(e.domain), 0, e.domain.nullable))
        return found

    def on_polars(self, frame: pl.DataFrame, engine: str = "streaming") -> list[tuple[Any, ...]]:
        found = frame.lazy().select(self.polars_exprs()).collect(engine=engine)  # type: ignore[call-overload]
        return found.rows()  # type: ignore[no-any-return]

    def on_duckdb(self, frame: pl.DataFrame) -> list[tuple[Any, ...]]:
        self.connection.register("frame", frame)
        return self.connection.execute(f"SELECT {self.duckdb_exprs()} FROM frame").fetchall()  # type: ignore[no-any-return]

    def name(self, index: int) -> str:
        if index < len(self.cases):
            return self.cases[index].sql
        return f"code of {self.sums()[index - len(self.cases)].expr}"

"""Hypothesis strategies: declared tables with hostile rows, their neighbours, and SQL over them.

`worlds()` draws a schema, its declaration, a table and a neighbour of it (one unit added, removed
or replaced). `statements(world)` draws SQL from a typed grammar that reaches every entry of the
function table. Expressions are built by type, and wrapped where they have no bounds, so that most
statements are accepted; a refused one is fine too.

Left out on purpose: LOWER and UPPER map some 213 code points differently on DuckDB and Polars (ß,
İ, final Σ and other characters with special casing), so text stays within characters on which they
agree. A row still maps alone, so that is a difference in answers, not in privacy.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Context, Decimal
from typing import Any

import polars as pl
from hypothesis import assume
from hypothesis import strategies as st

import dpframe as dp

Draw = Callable[[st.SearchStrategy[Any]], Any]

EPOCH = datetime(1970, 1, 1)
ENUM = pl.Enum(["er", "icu", "gp", "é", ""])

NAMES = (
    # Plain ones first: Hypothesis shrinks towards them.
    *("a", "b", "c", "d", "e", "f"),
    # Names that generated code uses itself, or that mean something to an engine.
    *("k0", "k1", "u", "n", "m", "g", "c0", "c1", "w0", "w2", "p0", "v0", "one", "data"),
    *("pairs", "heavy", "is_heavy", "dpframe_rows", "__dpframe_row", "__dpframe", "literal"),
    *("select", "Group", "x y", 'we"ird', "o'clock", "tab.col", "Straße", "日本", "^c$", "*"),
    *("len", "count", "date", "rowid", "%s", "$1", "a;b", "--", "é" * 20),
)


@dataclass(frozen=True)
class ColumnSpec:
    """A column: its type, what is declared of it, and the stored values that cells come from."""

    name: str
    kind: str
    """int, float, text, bool, date or time."""
    dtype: pl.DataType
    declared: dp.Range | dp.Keys | None
    pool: tuple[Any, ...]

    @property
    def sql(self) -> str:
        return '"' + self.name.replace('"', '""') + '"'

    @property
    def is_bounded(self) -> bool:
        if self.kind == "bool":
            return True
        return isinstance(self.declared, dp.Range) or (
            isinstance(self.declared, dp.Keys) and self.kind != "text"
        )

    @property
    def size(self) -> float:
        """How many values a group key over it has."""
        if isinstance(self.declared, dp.Keys):
            return len(self.declared.values)
        if self.kind == "bool":
            return 3
        if isinstance(self.declared, dp.Range) and self.kind == "int":
            return math.floor(self.declared.high) - math.ceil(self.declared.low) + 2
        if isinstance(self.declared, dp.Range) and self.kind == "date":
            return (self.declared.high - self.declared.low).days + 2
        return math.inf


@dataclass(frozen=True, repr=False)
class World:
    """A declaration, a table, and a neighbour of the table."""

    columns: tuple[ColumnSpec, ...]
    unit: dp.Row | dp.Unit
    neighbors: str
    size: int | None
    table: pl.DataFrame
    neighbour: pl.DataFrame

    @property
    def declared(self) -> dict[str, Any]:
        return {c.name: c.declared for c in self.columns if c.declared is not None}

    @property
    def registration(self) -> dict[str, Any]:
        """The keyword arguments of `Session.register`."""
        return {
            "unit": self.unit,
            "columns": self.declared,
            "neighbors": self.neighbors,
            "size": self.size,
        }

    def __repr__(self) -> str:
        lines = [f"declared as {self.registration!r}"]
        for name, frame in (("table", self.table), ("neighbour", self.neighbour)):
            lines.append(f"{name} ({frame.height} rows) = {as_code(frame)}")
        return "\n".join(lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """For Hypothesis, which would print the frames: Polars panics on days beyond its calendar."""
        printer.text(repr(self))


def as_code(frame: pl.DataFrame) -> str:
    """Python that makes the frame again, whatever it holds."""
    columns = []
    for series in frame:
        # Renamed, because methods of a series named "*" or "^a$" take its name for a pattern.
        name, dtype, plain = series.name, series.dtype, series.alias("x")
        if dtype.is_temporal():
            cells, count = plain.to_physical(), "pl.Int32" if dtype == pl.Date else "pl.Int64"
            made = (
                f"pl.Series({name!r}, {_runs(cells.to_list())}, dtype={count}).cast(pl.{dtype!r})"
            )
        else:
            made = f"pl.Series({name!r}, {_runs(plain.to_list())}, dtype=pl.{dtype!r})"
        columns.append(made)
    return "pl.DataFrame([" + ", ".join(columns) + "])"


def _runs(cells: list[Any]) -> str:
    """A list, with repetitions written as such."""
    runs = [(text, len(list(same))) for text, same in itertools.groupby(map(repr, cells))]
    if len(runs) == len(cells):
        return f"[{', '.join(text for text, _ in runs)}]"
    return " + ".join(f"[{text}] * {count}" for text, count in runs)


def series_of(name: str, dtype: pl.DataType, cells: Sequence[Any]) -> pl.Series:
    """A column from stored values: days and instants are counts of their own unit."""
    if dtype == pl.Date:
        return pl.Series(name, cells, dtype=pl.Int32).cast(pl.Date)
    if isinstance(dtype, pl.Datetime):
        return pl.Series(name, cells, dtype=pl.Int64).cast(dtype)
    return pl.Series(name, cells, dtype=dtype)


# --- values --------------------------------------------------------------------------------------

_INTEGERS = {
    pl.Int64(): (-(2**63), 2**63 - 1),
    pl.Int32(): (-(2**31), 2**31 - 1),
    pl.Int16(): (-(2**15), 2**15 - 1),
    pl.Int8(): (-(2**7), 2**7 - 1),
    pl.UInt8(): (0, 2**8 - 1),
    pl.UInt32(): (0, 2**32 - 1),
    pl.UInt64(): (0, 2**64 - 1),
    pl.Int128(): (-(2**127), 2**127 - 1),
}
_WIDE = (pl.UInt64(), pl.Int128())
"""Columns of these cannot be asked about unless they are declared."""

_FLOATS = (
    *(0.0, 1.0, 0.5, -1.0, 2.0, 49.0, 3.0, 0.1, 1 / 3, -0.0, 1.5, 2.5, -2.5, 0.49999999999999994),
    *(math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-310),
    *(1.7976931348623157e308, -1.7976931348623157e308, 1e200, -1e150, 1e22, 1e16, 123456.789),
    *(9007199254740993.0, 9.223372036854775e18, -9.223372036854775807e18, 1e-5, 709.0, 6.02214e23),
)

_TEXTS = (
    *("", "a", "A", "b", "er", "icu", "gp", "ab", "abc", " ", " a ", "\ta\n", "\u00a0x\u3000"),
    *(
        "é",
        "É",
        "日本語",
        "🙂",
        "naïve",
        "Ж",
        "ж",
        "%",
        "_",
        "a%",
        "\\",
        "\\%",
        "'",
        '"',
        "a.b",
        "^a$",
    ),
    *("0", "1", "12", "-5", "+7", "+-7", "007", "3.5", "-0.0", "1e3", "1e400", "-1e400", ".5"),
    *("5.", "1e-400", "nan", "inf", "NULL", "true", "1_000", "\uff19", "4.35", "0.1", "1e", "0x10"),
    *("9" * 18, "9" * 19, "1" * 60, "2024-02-29", "2023-02-29", "0000-01-01", "0001-01-01"),
    *("9999-12-31", "10000-01-01", "2024-1-1", "2024-01-01 12:34:56", "2024-01-01 24:00:00"),
    *("2024-01-01 23:59:60", "1969-12-31 23:59:59", "0000-01-01 00:00:00", "2024-13-01", "a\0b"),
)

_DECIMALS = ((10, 2), (18, 6), (38, 10), (4, 0))

FIRST_DAY, LAST_DAY = -719162, 2932896  # 0001-01-01 and 9999-12-31

_DAYS = (
    *(0, 19723, 19782, 1, -1, 18262, 20000, FIRST_DAY, LAST_DAY, FIRST_DAY - 1, LAST_DAY + 1),
    *(-(2**31), 2**31 - 1, -(2**31) + 1, -25567, 10957, FIRST_DAY + 6, 19722, 19724),
)

_SECONDS = (
    *(0, 1_704_067_200, -1, 1_709_251_199, 1_709_251_200, -62_135_596_800, 253_402_300_799),
    *(-62_135_596_801, 253_402_300_800, 1_577_836_800, -2_208_988_800, 951_782_400),
)

_PER_SECOND = {"ms": 10**3, "us": 10**6, "ns": 10**9}


def _physical(seconds: int, unit: str, extra: int) -> int:
    return min(max(seconds * _PER_SECOND[unit] + extra, -(2**63)), 2**63 - 1)


_INSTANTS = {
    unit: (
        *(_physical(s, unit, 0) for s in _SECONDS),
        *(_physical(1_704_067_200, unit, extra) for extra in (1, -1, 999, 123_456)),
        *(-(2**63), 2**63 - 1, -(2**63) + 1, 2**63 - 2, -1, -1001, 1500),
    )
    for unit in _PER_SECOND
}


def _values(kind: str, dtype: pl.DataType) -> st.SearchStrategy[Any]:
    """Stored values of a type, the nasty ones most of the time."""
    if kind == "int":
        low, high = _INTEGERS[dtype]
        few = [
            v for v in (0, 1, 2, 3, 5, 7, 10, -1, -3, 20, 100, 2**40, 2**53 + 1) if low <= v <= high
        ]
        edges = [low, low + 1, high - 1, high]
        return st.one_of(st.sampled_from(few), st.sampled_from(few + edges), st.integers(low, high))
    if kind == "float" and isinstance(dtype, pl.Decimal):
        scale, most = dtype.scale or 0, 10 ** (dtype.precision or 38) - 1
        digits = st.one_of(
            st.sampled_from([0, 1, -1, 5, 10**scale, 3 * 10**scale, most, -most, most // 3]),
            st.integers(-most, most),
        )
        return digits.filter(lambda d: abs(d) <= most).map(
            lambda d: Decimal(d).scaleb(-scale, Context(prec=38))  # the usual 28 digits round up
        )
    if kind == "float" and dtype == pl.Float32:
        return st.one_of(st.sampled_from(_FLOATS).map(_single), st.floats(width=32))
    if kind == "float":
        return st.one_of(st.sampled_from(_FLOATS), st.floats())
    if kind == "text" and isinstance(dtype, pl.Enum):
        return st.sampled_from(ENUM.categories.to_list())
    if kind == "text":
        letters = st.text("aAbBzZ019é日 %_-", max_size=4)
        return st.one_of(st.sampled_from(_TEXTS), st.sampled_from(_TEXTS), letters)
    if kind == "bool":
        return st.booleans()
    if kind == "date":
        return st.one_of(st.sampled_from(_DAYS), st.integers(-30000, 30000))
    assert isinstance(dtype, pl.Datetime)
    return st.one_of(
        st.sampled_from(_INSTANTS[dtype.time_unit]),
        st.integers(-(2**62), 2**62)
        if dtype.time_unit == "ns"
        else st.sampled_from(_SECONDS).map(lambda s: _physical(s, dtype.time_unit, 777)),
    )


def _single(value: float) -> float:
    return float(pl.Series([value], dtype=pl.Float64).cast(pl.Float32)[0])


_DTYPES: tuple[tuple[str, pl.DataType], ...] = (
    *((("int", pl.Int64()),) * 3),
    *((("float", pl.Float64()),) * 3),
    *(("int", dtype) for dtype in _INTEGERS),
    ("float", pl.Float32()),
    ("float", pl.Decimal(10, 2)),
    *((("text", pl.String()),) * 4),
    ("text", pl.Categorical()),
    ("text", ENUM),
    *((("bool", pl.Boolean()),) * 2),
    *((("date", pl.Date()),) * 3),
    *((("time", pl.Datetime("us")),) * 2),
    ("time", pl.Datetime("ns")),
    ("time", pl.Datetime("ms")),
)


# --- declarations --------------------------------------------------------------------------------

_INT_RANGES = (
    *((0, 5), (0, 110), (-3, 7), (1, 12), (0, 1), (-1, -1), (2, 9), (-10, 0), (0.5, 6.5)),
    *((0, 50_000), (-1000, 2**31), (0, 2**40), (-(2**41), 2**41), (1, 2**53), (-(2**62), 2**62)),
    *((-(2**63), 2**63 - 1), (300, 400), (-500, -400)),
    *((2**60, 2**60 + 1000), (-(2**63), 9 - 2**63), (2**63 - 1001, 2**63 - 1)),
)

_FLOAT_RANGES = (
    *((0, 1), (-1, 1), (0, 50_000), (0.1, 0.7), (-2.5, 2.5), (1, 100), (-100, -0.001), (0.0, 0.0)),
    *((-1e30, 1e30), (1e-30, 1e-20), (5e-324, 1e-300), (0, 2.0**53), (-1e6, 3.7)),
    *((1e15, 1e15 + 1), (-7.001, -7)),
)

_DATE_RANGES = (
    (date(2024, 1, 1), date(2024, 1, 20)),
    (date(2023, 12, 25), date(2024, 3, 5)),
    (date(1969, 12, 20), date(1970, 1, 10)),
    (date.min, date(1, 1, 9)),
    (date(9999, 12, 20), date.max),
    (date(2000, 1, 1), date(2029, 12, 31)),
    (date.min, date.max),
)

_TIME_RANGES = (
    (datetime(2024, 1, 1), datetime(2024, 3, 1, 12, 30, 15, 123456)),
    (datetime(1969, 12, 31, 23, 0), datetime(1970, 1, 1, 1, 0, 0, 1)),
    (datetime(2000, 1, 1), date(2029, 12, 31)),
    (datetime.min, datetime.max),
)


@st.composite
def _declarations(draw: Draw, kind: str, pool: tuple[Any, ...], dtype: pl.DataType) -> Any:
    choice = draw(st.sampled_from(("range", "range", "range", "keys", "nothing")))
    if choice == "nothing":
        if dtype not in _WIDE:
            return None
        choice = "range"
    if choice == "range" and kind in ("int", "float", "date", "time"):
        ranges = {
            "int": _INT_RANGES,
            "float": _FLOAT_RANGES,
            "date": _DATE_RANGES,
            "time": _TIME_RANGES,
        }
        low, high = draw(st.sampled_from(ranges[kind]))
        return dp.Range(low, high, nullable=not draw(st.sampled_from((False, False, False, True))))
    if kind == "bool":
        return draw(
            st.sampled_from((None, dp.Keys([True, False]), dp.Keys([True]), dp.Keys([False, None])))
        )
    keys = [key for key in (_as_key(v, kind, dtype) for v in pool) if key is not None]
    keys += draw(st.sampled_from(_SOME_KEYS[kind]))
    unique = list(dict.fromkeys(keys))[: draw(st.integers(1, 6))]
    return dp.Keys([*unique, None] if draw(st.sampled_from((False, False, True))) else unique)


_SOME_KEYS: dict[str, tuple[list[Any], ...]] = {
    "int": ([1, 2, 3], [0, 7, 300, -4], [2**63 - 1, -(2**63), 0]),
    "float": ([0.0, 1.0], [0.5, 0.1, -2.5], [1, 2, 1e300]),
    "text": (["er", "icu", "gp"], ["a", "A", "é", ""], ["12", "x", "日本語"]),
    "date": ([date(2024, 1, 1), date(2024, 2, 29)], [date.min, date.max]),
    "time": ([datetime(2024, 1, 1), date(2024, 2, 29)], [datetime.min, datetime.max]),
}


def _as_key(value: Any, kind: str, dtype: pl.DataType) -> Any:
    """A stored value as a key that may be declared, or None where it may not."""
    if value is None:
        return None
    if kind == "int":
        return value if -(2**63) <= value < 2**63 else None
    if kind == "float":
        return float(value) if math.isfinite(value) else None
    if kind == "text":
        return value
    if kind == "date":
        return (EPOCH + timedelta(days=value)).date() if FIRST_DAY <= value <= LAST_DAY else None
    assert isinstance(dtype, pl.Datetime)
    try:
        return EPOCH + timedelta(microseconds=value * 10**6 // _PER_SECOND[dtype.time_unit])
    except OverflowError:
        return None


@st.composite
def _columns(draw: Draw, name: str) -> ColumnSpec:
    kind, dtype = draw(st.sampled_from(_DTYPES))
    if isinstance(dtype, pl.Decimal):
        dtype = pl.Decimal(*draw(st.sampled_from(_DECIMALS)))
    pool = tuple(draw(st.lists(_values(kind, dtype), min_size=1, max_size=5)))
    declared = draw(_declarations(kind, pool, dtype))
    return ColumnSpec(name, kind, dtype, declared, (*pool, *_inside(declared, kind, dtype)))


def _inside(declared: Any, kind: str, dtype: pl.DataType) -> tuple[Any, ...]:
    """Stored values at and just beyond the ends of a declared range, where the type can hold them."""
    if not isinstance(declared, dp.Range):
        return ()
    if kind == "int":
        low, high = _INTEGERS[dtype]
        first, last = math.ceil(declared.low), math.floor(declared.high)
        ends = (first, last, first - 1, last + 1, (first + last) // 2)
        return tuple(v for v in ends if low <= v <= high)
    if kind == "float" and dtype == pl.Float64:
        first, last = float(declared.low), float(declared.high)
        return (first, last, math.nextafter(last, math.inf), first / 2 + last / 2)
    if kind == "date":
        return tuple((d - EPOCH.date()).days for d in (declared.low, declared.high))
    return ()


# --- units and neighbours ------------------------------------------------------------------------

_UNIT_IDS: tuple[tuple[str, pl.DataType, tuple[tuple[Any, ...], ...]], ...] = (
    # Each id is listed with everything that is the same value.
    ("int", pl.Int64(), ((1,), (2,), (3,), (None,), (2**63 - 1,), (-(2**63),))),
    ("int", pl.UInt8(), ((0,), (1,), (255,), (None,))),
    ("text", pl.String(), (("a",), ("A",), ("",), (None,), ("é",), ("a ",))),
    ("float", pl.Float64(), ((0.0, -0.0), (math.nan,), (1.5,), (math.inf,), (None,), (5e-324,))),
    ("float", pl.Float32(), ((0.0, -0.0), (math.nan,), (0.5,), (None,))),
    ("text", ENUM, (("er",), ("icu",), ("",), (None,))),
    ("date", pl.Date(), ((0,), (19723,), (None,), (2**31 - 1,), (-(2**31),))),
    ("time", pl.Datetime("ns"), ((0,), (1,), (999,), (None,), (2**63 - 1,))),
    ("bool", pl.Boolean(), ((True,), (False,), (None,))),
)

_COPIES = (1, 1, 1, 1, 2, 3, 7, 40, 300)


@st.composite
def worlds(draw: Draw) -> World:
    """A declared schema, a table and its neighbour."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique_by=str.lower))
    has_unit = draw(st.booleans())
    columns = [draw(_columns(name)) for name in names[has_unit:]]
    ids: tuple[tuple[Any, ...], ...] = ()
    unit: dp.Row | dp.Unit = dp.Row()
    if has_unit:
        kind, dtype, ids = draw(st.sampled_from(_UNIT_IDS))
        own = tuple(v for group in ids for v in group if v is not None)
        declared = draw(_declarations(kind, own, dtype)) if draw(st.booleans()) else None
        columns.append(ColumnSpec(names[0], kind, dtype, declared, own))
        unit = dp.Unit(names[0], max_rows=draw(st.integers(1, 5)))
    neighbors = draw(st.sampled_from(("add_remove", "add_remove", "replace")))
    specs = tuple(columns)
    rows = _Rows(draw, specs, ids)
    order = draw(st.permutations(range(len(ids)))) if has_unit else [0]
    first, second, *rest = order if has_unit else (0, 0, 0)
    others = rows.of(rest, least=0, most=6)
    before = others + rows.of([first], least=1, most=5 if has_unit else 1)
    after = others
    if neighbors == "replace":
        after = others + rows.of([second], least=1, most=5 if has_unit else 1)
    if draw(st.booleans()):
        before, after = after, before
    if draw(st.booleans()):
        before = before[::-1]
    size = None
    if neighbors == "replace":
        size = len({rows.owner(r) for r in before}) if has_unit else len(before)
    return World(specs, unit, neighbors, size, rows.frame(before), rows.frame(after))


class _Rows:
    """Draws rows that belong to given units."""

    def __init__(self, draw: Draw, columns: tuple[ColumnSpec, ...], ids: Any) -> None:
        self.draw, self.columns, self.ids = draw, columns, ids
        self.cells = [st.sampled_from((*c.pool, None)) for c in columns]

    def of(self, owners: Sequence[int], least: int, most: int) -> list[tuple[Any, ...]]:
        """Some rows of these units; with a unit column, each may be there many times over."""
        rows: list[tuple[Any, ...]] = []
        if not owners:
            return rows
        for _ in range(self.draw(st.integers(least, most))):
            row = [self.draw(cell) for cell in self.cells]
            if self.ids:
                row[-1] = self.draw(st.sampled_from(self.ids[self.draw(st.sampled_from(owners))]))
                rows += [tuple(row)] * self.draw(st.sampled_from(_COPIES))
            else:
                rows.append(tuple(row))
        return rows

    def owner(self, row: tuple[Any, ...]) -> int:
        """Which unit a row belongs to."""
        return next(i for i, same in enumerate(self.ids) if _is_one_of(row[-1], same))

    def frame(self, rows: list[tuple[Any, ...]]) -> pl.DataFrame:
        cells = zip(*rows, strict=True) if rows else [()] * len(self.columns)
        return pl.DataFrame(
            [series_of(c.name, c.dtype, list(v)) for c, v in zip(self.columns, cells, strict=True)]
        )


def _is_one_of(value: Any, same: tuple[Any, ...]) -> bool:
    if value is None or value != value:
        return any(v is None if value is None else v is not None and v != v for v in same)
    return value in [v for v in same if v is not None]


# --- SQL -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Sql:
    """An expression as text, and whether it surely has finite bounds."""

    text: str
    bounded: bool = True


def quoted(value: str) -> str:
    """A text as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def literal_of(value: Any, column: ColumnSpec, *, stored: bool = True) -> str | None:
    """A value of a column as an SQL literal, or None where it has none."""
    if stored and column.kind in ("date", "time"):
        value = _as_key(value, column.kind, column.dtype)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if column.kind == "text":
        return quoted(value) if "\0" not in value else None
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, date):
        return f"DATE '{value.isoformat()}'"
    return str(value) if abs(value) < 2**100 else None


_FIELDS = (
    *("year", "quarter", "month", "week", "day", "dow", "isodow", "doy"),
    *("isoyear", "decade", "century", "millennium", "yearweek"),
)
_TIME_FIELDS = ("hour", "minute", "second", "millisecond", "microsecond")
_FIELD_FUNCTIONS = (
    *("year", "month", "day", "quarter", "week", "dayofweek", "isodow", "dayofyear"),
    *("isoyear", "yearweek", "century"),
)
_GROWING = ("year", "isoyear", "decade", "century", "millennium", "yearweek")
"""Fields that are bounded only where the date is."""
_UNITS = (
    *("year", "quarter", "month", "week", "day", "hour", "minute", "second"),
    *("decade", "century", "millennium", "millisecond", "microsecond"),
)
_INTERVALS = (
    *("1 DAY", "3 MONTH", "1 YEAR", "2 WEEK", "1 QUARTER", "36 HOUR", "90 MINUTE", "59 SECOND"),
    *("'1 month 2 days'", "100 YEAR", "9998 YEAR", "1 MICROSECOND", "3652058 DAY", "0 DAY"),
)
_DIFFERENCES = (
    *("year", "quarter", "month", "week", "day", "hour", "minute", "second"),
    *("millisecond", "microsecond"),
)
_FORMATS = ("%Y-%m", "%B", "%a", "%H:%M", "%j %G-%V %u", "%d.%m.%y %p", "plain %%", "%A %w %b %S")
_REGEXES = (
    *("a", "^a", "b$", "", "[a-c]+", "[^a-c]", r"\d", r"\w{2,3}", r"\s", r"\W", "(a|b)*c?", "."),
    *(r"\bA", "^.{1,2}$", "é", "[é日]", r"a\.b", "[[:alpha:]]$", r"^\S+$", "(?:a|)b", r"\%"),
)
_WHOLE = ("0", "1", "2", "3", "5", "7", "10", "49", "100", "-1", "-3", "4294967296")
_DIVISORS = ("2", "3", "7", "10", "49", "-3", "1")
_REAL = ("0.5", "1.5", "2.5", "0.1", "49.0", "1e-3", "-2.25", "3.0", "1e10", "0.0")
_PATTERNS = ("%", "a%", "%a", "_", "%a%", "", "__", "é%", "%\\%", "1_", "a.b", "%'%", "[a]")
_SQL_DAYS = ("2024-01-01", "2024-02-29", "1970-01-01", "0001-01-01", "9999-12-31", "2023-12-31")
_SQL_TIMES = ("2024-01-01 12:34:56", "1970-01-01 00:00:00", "2024-01-15 00:00:00")
_EXPONENTS = ("2", "3", "0", "1", "8", "0.5", "1.5", "-1", "-2", "9", "-0.5", "12")


_COLUMNS_OF = {
    "number": ("int", "float"),
    "whole": ("int",),
    "real": ("float",),
    "text": ("text",),
    "day": ("date",),
    "moment": ("time",),
    "condition": ("bool",),
}


class Grammar:
    """Draws SQL expressions of a wanted type over some columns."""

    def __init__(self, draw: Draw, columns: Sequence[ColumnSpec]) -> None:
        self.draw = draw
        self.columns = columns

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def below(self, count: int) -> int:
        return int(self.draw(st.integers(0, count - 1)))

    def column(self, *kinds: str) -> Sql | None:
        found = [c for c in self.columns if c.kind in kinds]
        if not found:
            return None
        chosen = self.pick(*found)
        return Sql(chosen.sql, chosen.is_bounded)

    def _kind(self, *options: str) -> Callable[[int], Sql]:
        """One of these types; most of the time one that some column has."""
        there = {c.kind for c in self.columns}
        likely = [o for o in options if there & set(_COLUMNS_OF[o])]
        chosen = self.pick(*(likely if likely and self.below(8) else options))
        found: Callable[[int], Sql] = getattr(self, chosen)
        return found

    def any(self, depth: int) -> Sql:
        return self._kind("number", "text", "condition", "day", "moment")(depth)

    def number(self, depth: int) -> Sql:
        return self._kind("whole", "real")(depth)

    def _choices(self, kind: Callable[[int], Sql], depth: int) -> Sql:
        """What every type has: CASE, COALESCE, NULLIF, LEAST, GREATEST, IF."""
        first, second = kind(depth - 1), kind(depth - 1)
        both = first.bounded and second.bounded
        match self.below(8):
            case 0:
                test, other = self.condition(depth - 1), self.condition(0)
                return Sql(
                    f"CASE WHEN {test.text} THEN {first.text} WHEN {other.text}"
                    f" THEN {second.text} ELSE {first.text} END",
                    both,
                )
            case 1:
                return Sql(f"COALESCE({first.text}, {second.text})", both)
            case 2:
                return Sql(f"NULLIF({first.text}, {second.text})", first.bounded)
            case 3:
                return Sql(f"LEAST({first.text}, {second.text})", both)
            case 4:
                return Sql(f"GREATEST({first.text}, {second.text}, {first.text})", both)
            case 5:
                test = self.condition(depth - 1)
                return Sql(f"CASE WHEN {test.text} THEN {first.text} END", first.bounded)
            case 6:
                other = kind(0)
                return Sql(
                    f"CASE {first.text} WHEN {other.text} THEN {second.text} ELSE {first.text} END",
                    both,
                )
            case _:
                test = self.condition(depth - 1)
                return Sql(f"IF({test.text}, {first.text}, {second.text})", both)

    def whole(self, depth: int) -> Sql:
        """An integer."""
        found = self.column("int")
        if depth <= 0:
            if found is not None and self.below(4):
                return found
            return Sql(self.pick(*_WHOLE))
        choice = self.below(22)
        a = self.whole(depth - 1) if choice < 9 else Sql("")
        match choice:
            case 0 | 1:
                b = self.whole(depth - 1)
                return Sql(f"({a.text} {self.pick('+', '-')} {b.text})", a.bounded and b.bounded)
            case 2:
                b = a if self.below(3) == 0 else self.whole(depth - 1)
                return Sql(f"({a.text} * {b.text})", a.bounded and b.bounded)
            case 3:
                return Sql(f"(- {a.text})", a.bounded)
            case 4:
                return Sql(f"ABS({a.text})", a.bounded)
            case 5:
                return Sql(f"({a.text} // {self.pick(*_DIVISORS)})", a.bounded)
            case 6:
                return Sql(f"({a.text} % {self.pick(*_DIVISORS)})")
            case 7:
                b = self.whole(0)
                return Sql(f"({a.text} // {b.text})", a.bounded)
            case 8:
                b = self.whole(0)
                return Sql(f"MOD({a.text}, {b.text})", a.bounded or b.bounded)
            case 9:
                return Sql(f"SIGN({self.number(depth - 1).text})")
            case 10:
                text = self.text(depth - 1)
                return Sql(f"LENGTH({text.text})", False)
            case 11 | 12:
                return self._field(depth)
            case 13:
                a = self.real(depth - 1)
                return Sql(f"CAST({a.text} AS {self.pick('BIGINT', 'SMALLINT', 'INT')})", a.bounded)
            case 14:
                target = self.pick("BIGINT", "INTEGER", "TINYINT")
                return Sql(f"CAST({self.text(depth - 1).text} AS {target})", False)
            case 15:
                return Sql(f"CAST({self.condition(depth - 1).text} AS INT)")
            case 16 if found is not None:
                return found
            case 17:
                part = quoted(self.pick("a", "é", "1", " "))
                return Sql(f"strpos({self.text(depth - 1).text}, {part})", False)
            case 18:
                x, y = self.day(depth - 1), self.day(0)
                return Sql(f"({x.text} - {y.text})", x.bounded and y.bounded)
            case 19 | 20:
                x = self.day(depth - 1) if self.below(2) else self.moment(depth - 1)
                y = self.day(0) if self.below(2) else self.moment(0)
                unit = self.pick(*_DIFFERENCES)
                return Sql(f"DATE_DIFF('{unit}', {x.text}, {y.text})", x.bounded and y.bounded)
            case _:
                return self._choices(self.whole, depth)

    def _field(self, depth: int) -> Sql:
        when = self.day(depth - 1) if self.below(2) else self.moment(depth - 1)
        match self.below(4):
            case 0:
                field = self.pick(*_FIELD_FUNCTIONS)
                return Sql(f"{field}({when.text})", field not in _GROWING or when.bounded)
            case 1:
                field = self.pick(*_FIELDS, *_TIME_FIELDS)
                return Sql(
                    f"date_part('{field}', {when.text})", field not in _GROWING or when.bounded
                )
            case _:
                field = self.pick(*_FIELDS, *_TIME_FIELDS)
                return Sql(
                    f"EXTRACT({field} FROM {when.text})", field not in _GROWING or when.bounded
                )

    def real(self, depth: int) -> Sql:
        """A float."""
        found = self.column("float")
        if depth <= 0:
            if found is not None and self.below(5):
                return found
            return Sql(self.pick(*_REAL))
        choice = self.below(20)
        a = self.number(depth - 1) if choice < 13 or choice > 15 else Sql("")
        match choice:
            case 0:
                b = self.real(depth - 1)
                return Sql(
                    f"({a.text} {self.pick('+', '-', '*')} {b.text})", a.bounded and b.bounded
                )
            case 1:
                x = self.real(depth - 1)
                return Sql(f"({x.text} * {x.text})", x.bounded)
            case 2 | 3:
                return Sql(f"({a.text} / {self.pick(*_DIVISORS, '0.3', '1e-3', '0')})", a.bounded)
            case 4:
                return Sql(f"({a.text} / {self.number(depth - 1).text})", False)
            case 5:
                return Sql(f"{self.pick('FLOOR', 'CEIL')}({a.text})", a.bounded)
            case 6 | 7:
                digits = self.pick("", ", 1", ", 2", ", 0", ", -1", ", 5", ", -3")
                return Sql(f"ROUND({a.text}{digits})", a.bounded)
            case 8:
                return Sql(f"SQRT({a.text})", a.bounded)
            case 9:
                return Sql(f"LN({a.text})", a.bounded)
            case 10:
                return Sql(f"EXP({a.text})", False)
            case 11:
                return Sql(f"POWER({a.text}, {self.pick(*_EXPONENTS)})", False)
            case 12:
                return Sql(f"CAST({a.text} AS DOUBLE)", a.bounded)
            case 13:
                return Sql(f"CAST({self.text(depth - 1).text} AS DOUBLE)", False)
            case 14:
                x = self.real(depth - 1)
                return Sql(f"(- {x.text})", x.bounded)
            case 16:
                return Sql(f"{self.pick('LOG10', 'LOG2', 'LOG')}({a.text})", a.bounded)
            case 17:
                name = self.pick("DEGREES", "RADIANS", "TRUNC", "TRUNC")
                return Sql(f"{name}({a.text})", a.bounded)
            case 18:
                return Sql(f"{self.pick('SIN', 'COS', 'ATAN')}({a.text})")
            case 19:
                when = self.day(depth - 1) if self.below(2) else self.moment(depth - 1)
                return Sql(f"EXTRACT(epoch FROM {when.text})", when.bounded)
            case _:
                return self._choices(self.real, depth)

    def text(self, depth: int) -> Sql:
        """A text."""
        found = self.column("text")
        if depth <= 0:
            if found is not None and self.below(5):
                return found
            return Sql(quoted(self.pick(*(t for t in _TEXTS if "\0" not in t))))
        a = self.text(depth - 1)
        match self.below(16):
            case 0:
                return Sql(f"{self.pick('LOWER', 'UPPER')}({a.text})")
            case 1 | 2:
                return Sql(f"{self.pick('TRIM', 'LTRIM', 'RTRIM')}({a.text})")
            case 3:
                start, length = self.pick(1, 2, 5), self.pick("", ", 0", ", 1", ", 3")
                return Sql(f"SUBSTRING({a.text}, {start}{length})")
            case 4:
                return Sql(f"LEFT({a.text}, {self.pick(0, 1, 3)})")
            case 5:
                old, new = self.pick("a", "1", "é", "%", "."), self.pick("", "b", "$1", "\\")
                return Sql(f"REPLACE({a.text}, {quoted(old)}, {quoted(new)})")
            case 6:
                others = (self.whole(0), self.condition(0), self.day(0), self.text(0))
                return Sql(f"CONCAT({a.text}, {self.pick(*others).text}, {self.text(0).text})")
            case 7:
                return Sql(f"({a.text} || {self.pick(self.text(0), self.whole(0)).text})")
            case 8:
                others = (self.whole(depth - 1), self.condition(0), self.day(0))
                return Sql(f"CAST({self.pick(*others).text} AS VARCHAR)")
            case 9 if found is not None:
                return found
            case 10:
                return Sql(f"RIGHT({a.text}, {self.pick(0, 1, 3)})")
            case 11:
                fill = quoted(self.pick("0", "é", "%"))
                return Sql(f"{self.pick('LPAD', 'RPAD')}({a.text}, {self.pick(0, 1, 4)}, {fill})")
            case 12:
                part = quoted(self.pick("a", "-", "é", " "))
                return Sql(f"SPLIT_PART({a.text}, {part}, {self.pick(1, 2, 5)})")
            case 13:
                when = self.day(depth - 1) if self.below(2) else self.moment(depth - 1)
                match self.below(3):
                    case 0:
                        return Sql(f"{self.pick('MONTHNAME', 'DAYNAME')}({when.text})")
                    case _:
                        return Sql(f"STRFTIME({when.text}, '{self.pick(*_FORMATS)}')")
            case _:
                return self._choices(self.text, depth)

    def day(self, depth: int) -> Sql:
        """A date."""
        found = self.column("date")
        if depth <= 0:
            if found is not None and self.below(5):
                return found
            return Sql(f"DATE '{self.pick(*_SQL_DAYS)}'")
        match self.below(8):
            case 0:
                a = self.moment(depth - 1)
                return Sql(f"CAST({a.text} AS DATE)", a.bounded)
            case 1:
                return Sql(f"CAST({self.text(depth - 1).text} AS DATE)", False)
            case 2 if found is not None:
                return found
            case 3:
                a, b = self.day(depth - 1), self.whole(0)
                sign = self.pick("+", "-")
                first, second = (b, a) if sign == "+" and self.below(2) else (a, b)
                return Sql(f"({first.text} {sign} {second.text})", a.bounded and b.bounded)
            case 4:
                a = self.day(depth - 1) if self.below(2) else self.moment(depth - 1)
                return Sql(f"LAST_DAY({a.text})", a.bounded)
            case _:
                return self._choices(self.day, depth)

    def moment(self, depth: int) -> Sql:
        """A timestamp."""
        found = self.column("time")
        if depth <= 0:
            if found is not None and self.below(5):
                return found
            return Sql(f"TIMESTAMP '{self.pick(*_SQL_TIMES)}'")
        match self.below(8):
            case 0:
                a = self.day(depth - 1)
                return Sql(f"CAST({a.text} AS TIMESTAMP)", a.bounded)
            case 1 | 2:
                a = self.day(depth - 1) if self.below(2) else self.moment(depth - 1)
                return Sql(f"DATE_TRUNC('{self.pick(*_UNITS)}', {a.text})", a.bounded)
            case 3:
                return Sql(f"CAST({self.text(depth - 1).text} AS TIMESTAMP)", False)
            case 4 if found is not None:
                return found
            case 5 | 6:
                a = self.day(depth - 1) if self.below(2) else self.moment(depth - 1)
                sign, interval = self.pick("+", "-"), self.pick(*_INTERVALS)
                return Sql(f"({a.text} {sign} INTERVAL {interval})", a.bounded)
            case _:
                return self._choices(self.moment, depth)

    def condition(self, depth: int) -> Sql:
        """A boolean."""
        found = self.column("bool")
        if depth <= 0:
            if found is not None and self.below(3):
                return found
            return self._comparison(0)
        match self.below(14):
            case 0:
                a, b = self.condition(depth - 1), self.condition(depth - 1)
                return Sql(f"({a.text} AND {b.text})")
            case 1:
                a, b = self.condition(depth - 1), self.condition(depth - 1)
                return Sql(f"({a.text} OR {b.text})")
            case 2:
                return Sql(f"(NOT {self.condition(depth - 1).text})")
            case 3:
                return Sql(f"({self.any(depth - 1).text} IS {self.pick('', 'NOT ')}NULL)")
            case 4 | 5:
                return self._listed(depth)
            case 6:
                kind = self._kind("number", "text", "day", "moment")
                a, b, c = kind(depth - 1), kind(0), kind(0)
                return Sql(f"({a.text} {self.pick('', 'NOT ')}BETWEEN {b.text} AND {c.text})")
            case 7 | 8:
                a, pattern = self.text(depth - 1), quoted(self.pick(*_PATTERNS))
                tests = ("LIKE", "LIKE", "NOT LIKE", "ILIKE", "NOT ILIKE", "starts_with")
                test = self.pick(*tests, "ends_with", "contains", "regexp_matches", "~", "escape")
                if test in ("regexp_matches", "~"):
                    pattern = quoted(self.pick(*_REGEXES))
                if test == "escape":
                    return Sql(
                        f"({a.text} LIKE {quoted(self.pick('a!%', '!_%', '%!!'))} ESCAPE '!')"
                    )
                if test == "regexp_matches" and self.below(2):
                    ascii_only = quoted(self.pick("a", "[k-s]", "^B", r"\\w"))
                    return Sql(f"regexp_matches({a.text}, {ascii_only}, 'i')")
                if test.isupper() or test == "~":
                    return Sql(f"({a.text} {test} {pattern})")
                return Sql(f"{test}({a.text}, {pattern})")
            case 9:
                kind = self._kind("number", "text", "condition", "day")
                word = self.pick("IS DISTINCT FROM", "IS NOT DISTINCT FROM")
                return Sql(f"({kind(depth - 1).text} {word} {kind(0).text})")
            case 10:
                word = self.pick("IS TRUE", "IS NOT TRUE", "IS FALSE")
                return Sql(f"({self.condition(depth - 1).text} {word})")
            case 11:
                return Sql(self.pick("TRUE", "FALSE", "CAST(1 AS BOOLEAN)", "(1 = NULL)"))
            case _:
                return self._comparison(depth - 1)

    def about_a_column(self) -> Sql:
        """A column against literals of its own: what a WHERE clause proves of rows follows from it."""
        found = [c for c in self.columns if c.kind != "bool" and self._own(c)]
        if not found:
            return self._comparison(0)
        column = self.pick(*found)
        own = self._own(column)
        symbol = self.pick("<", "<=", ">", ">=", "=", "<>")
        match self.below(6):
            case 0:
                return Sql(f"({column.sql} BETWEEN {self.pick(*own)} AND {self.pick(*own)})")
            case 1:
                return Sql(f"({column.sql} IN ({', '.join(own[: 1 + self.below(3)])}))")
            case 2:
                return Sql(f"({self.pick(*own)} {symbol} {column.sql})")
            case _:
                return Sql(f"({column.sql} {symbol} {self.pick(*own)})")

    def _own(self, column: ColumnSpec) -> list[str]:
        values = [literal_of(v, column) for v in column.pool]
        if isinstance(column.declared, dp.Keys):
            values += [literal_of(v, column, stored=False) for v in column.declared.values]
        if column.kind in ("int", "float"):
            values += ["0", "2.5", "NULL"]
        return [v for v in dict.fromkeys(values) if v is not None]

    def _listed(self, depth: int) -> Sql:
        word = self.pick("IN", "NOT IN")
        match self._kind("text", "real", "day", "whole").__name__:
            case "text":
                a, values = self.text(depth - 1), [quoted(self.pick("a", "er", "é", "12", ""))]
            case "real":
                a, values = self.real(depth - 1), [self.pick(*_REAL), self.pick(*_WHOLE)]
            case "day":
                days = [quoted(d) if self.below(2) else f"DATE '{d}'" for d in _SQL_DAYS[:3]]
                a, values = self.day(depth - 1), days
            case _:
                a, values = self.whole(depth - 1), [self.pick(*_WHOLE), self.pick(*_WHOLE)]
        if self.below(6) == 0:
            values.append("NULL")
        return Sql(f"({a.text} {word} ({', '.join(values)}))")

    def _comparison(self, depth: int) -> Sql:
        if depth <= 0 and self.columns and self.below(3) == 0:
            return self.about_a_column()
        symbol = self.pick("=", "<>", "<", "<=", ">", ">=", "!=")
        match self._kind("number", "text", "day", "moment", "condition").__name__:
            case "text":
                a, b = self.text(depth), self.text(0)
            case "day" if self.below(3):
                a, b = self.day(depth), Sql(quoted(self.pick(*_SQL_DAYS)))
            case "day":
                a, b = self.day(depth), self.day(0) if self.below(2) else self.moment(0)
            case "moment":
                a, b = self.moment(depth), self.moment(0) if self.below(2) else self.day(0)
            case "condition":
                a, b = self.condition(depth - 1) if depth > 0 else Sql("TRUE"), Sql("TRUE")
            case _ if self.below(6) == 0:
                x, divisor = self.number(0), self.pick(*_DIVISORS)  # one bit of rounding tells
                a, b = Sql(f"(({x.text} / {divisor}) * {divisor})"), x
            case _:
                a, b = self.number(depth), self.number(0)
        if self.below(4) == 0:
            a, b = b, a
        return Sql(f"({a.text} {symbol} {b.text})")

    def bounded_number(self, depth: int) -> str:
        """A number that SUM and AVG take."""
        found = self.condition(depth) if self.below(12) == 0 else self.number(depth)
        if found.bounded:
            return found.text
        low, high = self.pick((0, 10), (-3, 3), (-0.5, 100.25), (5, 6))
        return f"GREATEST({low}, LEAST({found.text}, {high}))"


@st.composite
def statements(draw: Draw, world: World) -> str:
    """A SELECT over the table `t`, most of them answerable."""
    rows = Grammar(draw, world.columns)
    keys = draw(_keys(world))
    if keys and rows.below(3) == 0:
        keys = [*keys[:2], *_private_key(rows, world)]
    unit = next((c.sql for c in world.columns if c.name == getattr(world.unit, "column", None)), "")
    aggregates = [_aggregate(rows, unit) for _ in range(1 + rows.below(3))]
    items, group_by = [], []
    for i, key in enumerate(keys):
        alias = f"key{i}"
        form = rows.below(4)
        shown = f"{key} AS {alias}" if form != 3 else key
        if form != 2:
            items.append(shown)
        group_by.append({0: alias, 1: str(len(items))}.get(form, key))
    for i, found in enumerate(aggregates):
        items.append(_finished(rows, found, aggregates) + (f" AS a{i}" if rows.below(2) else ""))
    if keys and rows.below(8) == 0:
        listed, order = ", ".join(keys), rows.pick("", " DESC")
        text = f"SELECT {listed} FROM t WHERE {_where(rows)} GROUP BY {listed}"
        return f"{text} ORDER BY {aggregates[0]}{order} LIMIT {rows.pick(1, 2)}"
    text = f"SELECT {', '.join(items)} FROM t"
    if rows.below(5) < 3:
        text += f" WHERE {_where(rows)}"
    if group_by and rows.below(6) == 0:
        text += f" GROUP BY {rows.pick('ROLLUP', 'CUBE', 'GROUPING SETS')} ({', '.join(keys)})"
    elif group_by:
        text += f" GROUP BY {', '.join(group_by)}"
    if rows.below(4) == 0:
        symbol, least = rows.pick(">", ">=", "<>"), rows.pick("0", "3", "-1.5")
        text += f" HAVING {rows.pick(*aggregates)} {symbol} {least}"
    if rows.below(4) == 0:
        text += f" ORDER BY {rows.pick('1', aggregates[0], *group_by[:1])}{rows.pick('', ' DESC')}"
    if rows.below(5) == 0:
        text += f" LIMIT {rows.pick(0, 1, 5)}" + rows.pick("", " OFFSET 1")
    return text


def _where(rows: Grammar) -> str:
    if rows.below(2):
        return rows.condition(2 if rows.below(3) else 1).text
    return " AND ".join(rows.about_a_column().text for _ in range(1 + rows.below(3)))


_OF_ONE = (
    # Twice: they are measured in a way of their own, which few cases would have otherwise.
    *("VAR_POP", "VAR_SAMP", "STDDEV", "STDDEV_POP", "SEM") * 2,
    *("SKEWNESS", "KURTOSIS"),
    *("SKEWNESS_POP", "KURTOSIS_POP", "FSUM", "FAVG", "GEOMEAN"),
)
_OF_TWO = (
    *("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2"),
    *("REGR_COUNT", "REGR_SXX", "REGR_SYY", "REGR_SXY", "WEIGHTED_AVG"),
)


def _aggregate(rows: Grammar, unit: str) -> str:
    depth = rows.pick(0, 1, 1, 2, 2, 3)
    match rows.below(15):
        case 14:
            value = rows.any(0) if rows.below(4) == 0 else rows.condition(1)
            text = f"MODE({value.text})"
        case 10:
            text = f"{rows.pick(*_OF_ONE)}({rows.bounded_number(rows.pick(0, 1))})"
        case 11:
            y, x = (rows.bounded_number(rows.pick(0, 0, 1)) for _ in range(2))
            text = f"{rows.pick(*_OF_TWO)}({y}, {x})"
        case 12 | 13:
            text = _quantile(rows, depth)
        case 0:
            text = "COUNT(*)"
        case 1:
            text = f"COUNT({rows.any(depth).text})"
        case 2:
            text = f"COUNT_IF({rows.condition(depth).text})"
        case 3 if unit and rows.below(2):
            text = f"COUNT(DISTINCT {unit})"
        case 3:
            few = ", ".join(rows.any(depth).text for _ in range(rows.pick(1, 1, 2, 3)))
            text = f"COUNT(DISTINCT {rows.pick(few, f'ROW({few}, {unit or 1})')})"
        case 4 | 5 | 6:
            text = f"SUM({rows.bounded_number(depth)})"
        case _:
            text = f"AVG({rows.bounded_number(depth)})"
    if rows.below(4) == 0:
        text += f" FILTER (WHERE {rows.condition(1).text})"
    return text


def _quantile(rows: Grammar, depth: int) -> str:
    """A place in the distribution of a number, a day or an instant."""
    times = [c.sql for c in rows.columns if c.kind in ("date", "timestamp")]
    value = rows.pick(*times) if times and rows.below(3) == 0 else rows.bounded_number(depth)
    share = rows.pick("0", "0.25", "0.5", "0.999", "1")
    return rows.pick(
        f"MEDIAN({value})",
        f"MIN({value})",
        f"MAX({value})",
        f"QUANTILE_CONT({value}, {share})",
        f"QUANTILE_DISC({value}, {share})",
        f"PERCENTILE_CONT({share}) WITHIN GROUP (ORDER BY {value} DESC)",
    )


def _finished(rows: Grammar, found: str, aggregates: list[str]) -> str:
    """An aggregate, or some arithmetic over it."""
    match rows.below(12):
        case 0:
            return f"{found} / {rows.pick(*aggregates)}"
        case 1:
            return f"ROUND({found}, 1)"
        case 2:
            return f"2 * {found} - {rows.pick(*aggregates)}"
        case 3:
            return f"CASE WHEN {found} > 3 THEN {found} ELSE 0 END"
        case 4:
            return f"COALESCE({found} / NULLIF({rows.pick(*aggregates)}, 0), -1)"
        case _:
            return found


_MOST_KEYS = 130


@st.composite
def _keys(draw: Draw, world: World) -> list[str]:
    """Up to three keys whose values are public."""
    unit = getattr(world.unit, "column", None)
    finite = [c for c in world.columns if c.size <= _MOST_KEYS and c.name != unit]
    ranged = [c for c in world.columns if c.kind == "time" and _is_short(c.declared)]
    grammar = Grammar(draw, finite)
    if not (finite or ranged) or grammar.below(3) == 0:
        return []
    keys: list[str] = []
    size = 1.0
    for _ in range(grammar.pick(1, 1, 2, 3)):
        if ranged and (not finite or grammar.below(4) == 0):
            chosen = grammar.pick(*ranged)
            keys.append(f"DATE_TRUNC('{grammar.pick('year', 'month', 'week')}', {chosen.sql})")
            size *= 40
        else:
            chosen = grammar.pick(*finite)
            keys.append(_key(Grammar(draw, [chosen]), chosen, finite, draw))
            size *= chosen.size
        if size > 2000:
            break
    return list(dict.fromkeys(keys))


def _private_key(rows: Grammar, world: World) -> list[str]:
    """A key whose values are known from the rows alone, if some column has one."""
    unit = getattr(world.unit, "column", None)
    kinds = ("text", "int", "date", "time")
    open_ended = [c for c in world.columns if c.size == math.inf and c.kind in kinds]
    if not (open_ended := [c for c in open_ended if c.name != unit]):
        return []
    column = rows.pick(*open_ended)
    derived = {
        "text": ("UPPER({0})", "LEFT({0}, 1)", "({0} || 'x')"),
        "int": ("({0} % 3)", "({0} // 7)", "CASE WHEN {0} > 2 THEN {0} END"),
        "date": ("DATE_TRUNC('month', {0})", "EXTRACT(year FROM {0})"),
        "time": ("DATE_TRUNC('day', {0})", "CAST({0} AS DATE)"),
    }[column.kind]
    return [rows.pick("{0}", "{0}", "{0}", *derived).format(column.sql)]


def _is_short(declared: Any) -> bool:
    if not isinstance(declared, dp.Range):
        return False
    return bool(declared.high.year - declared.low.year < 40)


def _key(grammar: Grammar, column: ColumnSpec, finite: list[ColumnSpec], draw: Draw) -> str:
    match grammar.below(8):
        case 0 | 1 | 2:
            return column.sql
        case 3:
            few = Grammar(draw, [c for c in finite if c.size <= 12] or [column])
            return f"CASE WHEN {few.condition(1).text} THEN 'p' ELSE {few.text(0).text} END"
        case 4 if column.kind in ("int", "float"):
            found = grammar.whole(2)
            return found.text if column.sql in found.text else f"({column.sql} + {found.text})"
        case 5 if column.kind == "text":
            found = grammar.text(2)
            return found.text if column.sql in found.text else f"({column.sql} || {found.text})"
        case 6 if column.kind == "date":
            return grammar._field(1).text if grammar.below(2) else grammar.moment(1).text
        case 7 if column.kind in ("int", "float"):
            return f"{grammar.pick('FLOOR', 'ROUND', 'CEIL')}({column.sql} / {grammar.pick(*_DIVISORS)})"
        case _:
            test = grammar.condition(1).text
            return f"COALESCE({test}, {column.sql} IS NULL)"


@st.composite
def cases(draw: Draw, queries: int = 1) -> tuple[World, list[str]]:
    """A world and some statements about it."""
    world = draw(worlds())
    return world, [draw(statements(world)) for _ in range(queries)]


@st.composite
def sum_cases(draw: Draw, queries: int = 1) -> tuple[World, list[str]]:
    """A world, and sums of its float columns as they are, over the whole table."""
    world = draw(worlds())
    plain = [c.sql for c in world.columns if c.kind == "float" and isinstance(c.declared, dp.Range)]
    assume(plain)
    rows, found = Grammar(draw, world.columns), []
    for _ in range(queries):
        keys = draw(_keys(world))[:1] if rows.below(2) else []
        aggregates = [
            f"{rows.pick('SUM', 'AVG', 'SUM', 'COUNT')}({rows.pick(*plain)})"
            for _ in range(1 + rows.below(2))
        ]
        text = f"SELECT {', '.join([*keys, *aggregates])} FROM t"
        found.append(text + (f" GROUP BY {', '.join(keys)}" if keys else ""))
    return world, found

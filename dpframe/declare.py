"""What a data owner declares, once per table: the unit of privacy and what columns can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Literal

from dpframe.errors import DeclarationError
from dpframe.plan.domains import INT64, Domain, Type, type_of_value
from dpframe.plan.stages import STAGED

Neighbors = Literal["add_remove", "replace"]

MOST_ROWS_PER_UNIT = 2**20


@dataclass(frozen=True, slots=True)
class Range:
    """The values of a column lie in [`low`, `high`]; a value outside is clamped on reading.

    NaN is read as NULL. With `nullable=False`, NULL is read as `low`, so that `COUNT(*)` and the
    count behind `AVG` are one and the same measurement. Bounds must be public knowledge, never
    computed from the data.

    >>> Range(0, 110)
    Range(0, 110)
    """

    low: Any
    high: Any
    nullable: bool = True

    def __repr__(self) -> str:
        return f"Range({self.low!r}, {self.high!r}{'' if self.nullable else ', nullable=False'})"


@dataclass(frozen=True, slots=True, init=False)
class Keys:
    """A column takes one of these public values; any other is read as NULL, and in no group.

    List `None` among the values to make NULL a group of its own.

    >>> Keys(["er", "icu"])
    Keys(['er', 'icu'])
    """

    values: tuple[Any, ...]

    def __init__(self, values: Iterable[Any]) -> None:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise DeclarationError(
                f"dp.Keys({values!r}) is not a list of values",
                why="each value of the column is listed by itself",
                fix='dp.Keys(["er", "icu"])',
            )
        object.__setattr__(self, "values", tuple(values))

    def __repr__(self) -> str:
        return f"Keys({list(self.values)!r})"


@dataclass(frozen=True, slots=True)
class Row:
    """Each row is one protected unit."""


@dataclass(frozen=True, slots=True)
class Unit:
    """All rows that share a value of `column` are one unit, which weighs at most `max_rows` rows.

    No row is dropped: the contributions of a unit with more rows are scaled down together.
    """

    column: str
    max_rows: int


@dataclass(frozen=True, slots=True)
class Storage:
    """How a column is stored: the type it is read as, and what its own type can hold.

    `type` is None where the stored type cannot be read (a list, a time with a zone, ...).
    """

    type: Type | None
    name: str
    low: int | None = None
    high: int | None = None
    exact: bool = True
    """Whether it is read without a conversion."""
    decimals: int | None = None
    """The decimal places of a decimal number."""
    repeats: bool = False
    """Whether a value that occurs often may be stored once, as Parquet files do."""

    @property
    def is_wide(self) -> bool:
        """Whether a column can hold integers beyond those of 64 bits with a sign.

        >>> Storage(Type.INT, "UBIGINT", 0, 2**64 - 1).is_wide
        True
        """
        if self.type is not Type.INT or self.low is None or self.high is None:
            return False
        return self.low < INT64[0] or self.high > INT64[1]


def readable(stored: Storage) -> tuple[str, str]:
    """Why a column of a type that cannot be read is refused, and what makes it readable."""
    if "TIME ZONE" in stored.name.upper() or "time_zone" in stored.name:
        return (
            "a time with a zone is another day in another zone, and no zone is guessed",
            'pl.col("x").dt.convert_time_zone("UTC").dt.replace_time_zone(None) before registering',
        )
    if stored.is_wide:
        fix = 'columns={"x": dp.Range(0, 10**15)}; or, of identifiers, pl.col("x").cast(pl.String)'
        return (
            "beyond 64 bits with a sign, different integers would be read as one and the same",
            f"{fix} before registering",
        )
    return (
        "its values have no order or code that every engine shares",
        "cast it to a number, text, date or naive timestamp before registering",
    )


@dataclass(frozen=True, slots=True)
class Table:
    """A registered table: what is known of it before any row is read."""

    name: str
    storage: Mapping[str, Storage] = field(hash=False)
    domains: Mapping[str, Domain] = field(hash=False)
    unit: Row | Unit = Row()
    neighbors: Neighbors = "add_remove"
    size: int | None = None
    public: bool = False

    @property
    def max_rows(self) -> int:
        """How many rows one unit weighs at most."""
        return self.unit.max_rows if isinstance(self.unit, Unit) else 1

    @property
    def unit_column(self) -> str | None:
        """The column that names the unit, or None where each row is its own."""
        return self.unit.column if isinstance(self.unit, Unit) else None


def declare(
    name: str,
    storage: Mapping[str, Storage],
    *,
    unit: Row | Unit,
    columns: Mapping[str, Range | Keys],
    neighbors: Neighbors,
    size: int | None,
    public: bool,
) -> Table:
    """Check a declaration against the real schema, and report every problem at once."""
    problems: list[str] = []
    domains: dict[str, Domain] = {}
    unit_column = unit.column if isinstance(unit, Unit) else None
    for column, stored in storage.items():
        lost = stored.is_wide and column != unit_column  # units are told apart as they are stored
        if stored.type is not None and not lost:
            domains[column] = _undeclared(stored.type)
    for column, declared in columns.items():
        if column not in storage:
            problems.append(f"column {column!r} does not exist{_nearest(column, storage)}")
            continue
        try:
            domains[column] = _domain(declared, storage[column])
        except ValueError as problem:
            problems.append(f"column {column!r}: {problem}")
    problems += _table_problems(name, storage, unit, neighbors, size, public)
    if problems:
        raise DeclarationError(
            f"table {name!r} cannot be registered:" + "".join(f"\n  - {p}" for p in problems),
            why="bounds and noise follow from the declaration, so it has to fit the data's schema",
            fix=f"correct each line above; the columns are {', '.join(map(repr, storage))}",
        )
    return Table(name, storage, domains, unit, neighbors, size, public)


def with_keys(tables: Mapping[str, Table], keys: Mapping[str, Iterable[Any]]) -> dict[str, Table]:
    """The tables as if these columns had been declared with these keys."""
    if not isinstance(keys, Mapping):
        raise DeclarationError(
            f"keys={keys!r} is not a mapping",
            why="public keys are listed for a column by its name",
            fix='keys={"ward": ["er", "icu"]}',
        )
    found = dict(tables)
    for column, values in keys.items():
        holders = [name for name, table in tables.items() if column in table.storage]
        columns = {c: None for table in tables.values() for c in table.storage}
        problem = f"column {column!r} does not exist{_nearest(column, columns)}"
        try:
            listed = values if isinstance(values, Keys) else Keys(values)
            for name in holders:
                domain = _domain(listed, tables[name].storage[column])
                found[name] = replace(found[name], domains={**found[name].domains, column: domain})
        except ValueError as error:
            problem, holders = str(error), []
        if not holders:
            raise DeclarationError(
                f"keys= for {column!r} of {', '.join(tables)}: {problem}",
                why="the query is answered as if the column had been declared with these keys",
                fix=f"the columns are {', '.join(map(repr, columns))}",
            )
    return found


def _undeclared(kind: Type) -> Domain:
    if kind is Type.BOOL:
        return Domain(Type.BOOL, False, True)
    return Domain(kind)


def _table_problems(
    name: str,
    storage: Mapping[str, Storage],
    unit: object,
    neighbors: object,
    size: object,
    public: object,
) -> list[str]:
    problems = []
    if not storage:
        problems.append("the data has no columns")
    lowered: dict[str, str] = {}
    for column in storage:
        if column.lower() in lowered:
            problems.append(
                f"columns {lowered[column.lower()]!r} and {column!r} differ in case only; SQL"
                " cannot tell them apart"
            )
        lowered[column.lower()] = column
        if column.lower().startswith(STAGED):  # engines would read it as computed, unclamped
            problems.append(
                f"column {column!r}: names that begin with {STAGED} are the library's own"
            )
    if isinstance(unit, Unit):
        problems += _unit_problems(unit, storage)
    elif not isinstance(unit, Row):
        problems.append(f"unit={unit!r} is neither dp.Row() nor dp.Unit(column, max_rows=...)")
    if neighbors not in ("add_remove", "replace"):
        problems.append(f"neighbors={neighbors!r} is neither 'add_remove' nor 'replace'")
    valid_size = isinstance(size, int) and not isinstance(size, bool) and size > 0
    if neighbors == "replace" and not valid_size:
        problems.append("neighbors='replace' needs size=..., the public number of units")
    if neighbors != "replace" and size is not None:
        problems.append("size= goes with neighbors='replace'; otherwise the size is private")
    if not isinstance(public, bool):
        problems.append(f"public={public!r} is neither True nor False")
    return problems


def _unit_problems(unit: Unit, storage: Mapping[str, Storage]) -> list[str]:
    problems = []
    if not isinstance(unit.column, str) or unit.column not in storage:
        problems.append(
            f"the unit's column {unit.column!r} does not exist{_nearest(unit.column, storage)}"
        )
    elif storage[unit.column].type is None:
        problems.append(
            f"the unit's column {unit.column!r} is stored as {storage[unit.column].name},"
            " which cannot be compared"
        )
    rows = unit.max_rows
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= MOST_ROWS_PER_UNIT:
        problems.append(f"max_rows={rows!r} is not an integer from 1 to {MOST_ROWS_PER_UNIT}")
    return problems


def _nearest(column: str, storage: Mapping[str, object]) -> str:
    import difflib

    found = difflib.get_close_matches(str(column), list(storage), n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def _domain(declared: object, stored: Storage) -> Domain:
    if stored.type is None:
        why, fix = readable(stored)
        raise ValueError(f"its type {stored.name} cannot be read: {why}; {fix}")
    if isinstance(declared, Range):
        return _range_domain(declared, stored)
    if isinstance(declared, Keys):
        return _keys_domain(declared, stored.type, stored.name)
    raise ValueError(f"{declared!r} is neither dp.Range(low, high) nor dp.Keys([...])")


def _range_domain(declared: Range, stored: Storage) -> Domain:
    kind = stored.type
    assert kind is not None
    if kind in (Type.TEXT, Type.BOOL):
        raise ValueError(f"a range makes no sense for {stored.name}; declare dp.Keys([...])")
    if not isinstance(declared.nullable, bool):
        raise ValueError(f"nullable={declared.nullable!r} is neither True nor False")
    low, high = (_bound(end, kind, stored.name) for end in (declared.low, declared.high))
    if kind is Type.INT:
        low, high = math.ceil(low), math.floor(high)
    if low > high:
        raise ValueError(f"{declared!r} holds no value: low > high")
    if kind is Type.INT and not (low >= -(2**63) and high < 2**63):
        raise ValueError(f"{declared!r} does not fit in 64 bits")
    if kind is Type.FLOAT:
        low, high = float(low), float(high)
        if not (abs(low) <= 1e200 and abs(high) <= 1e200):
            raise ValueError(f"{declared!r} is wider than 1e200")
    return Domain(
        kind,
        low,
        high,
        declared.nullable,
        null_is_value=declared.nullable,
        decimals=stored.decimals,
    )


def _bound(end: object, kind: Type, name: str) -> Any:
    if kind.is_number:
        if isinstance(end, bool) or not hasattr(end, "__float__"):
            raise ValueError(f"the bound {end!r} is not a number, but the column is {name}")
        try:
            finite = math.isfinite(float(end))
        except OverflowError:
            raise ValueError("a bound is beyond every float") from None
        except TypeError:  # an array, or a type in place of a value of it
            raise ValueError("a bound is not a number") from None
        if not finite:
            raise ValueError(f"the bound {end!r} is not finite")
        return end
    if type(end) is datetime and kind is Type.TIMESTAMP and end.tzinfo is None:
        return end
    if type(end) is date:
        return end if kind is Type.DATE else datetime(end.year, end.month, end.day)
    wanted = "datetime.date" if kind is Type.DATE else "datetime.datetime without a time zone"
    raise ValueError(f"the bound {end!r} is not a {wanted}, but the column is {name}")


def _keys_domain(declared: Keys, kind: Type, name: str) -> Domain:
    given = [v for v in declared.values if v is not None]
    if not given:
        raise ValueError("dp.Keys needs at least one value")
    values = []
    for value in given:
        try:
            found = type_of_value(value)
        except TypeError:
            found = None
        if found is Type.INT and kind is Type.FLOAT and abs(value) < 2**1023:
            value, found = float(value), Type.FLOAT
        if found is Type.DATE and kind is Type.TIMESTAMP:
            value, found = datetime(value.year, value.month, value.day), Type.TIMESTAMP
        if found is not kind:
            raise ValueError(f"the key {value!r} is not a {kind.value}, but the column is {name}")
        if found is Type.FLOAT and not math.isfinite(value):
            raise ValueError(f"the key {value!r} is not finite")
        if found is Type.INT and not -(2**63) <= value < 2**63:
            raise ValueError(f"the key {value!r} does not fit in 64 bits")
        if found is Type.TEXT and value.encode(errors="ignore").decode() != value:
            raise ValueError(f"the key {value!r} has half of a character in it")
        values.append(value)
    if len(set(values)) < len(values) or declared.values.count(None) > 1:
        raise ValueError("a key is listed twice")
    values.sort()
    ordered = kind is not Type.TEXT
    return Domain(
        kind,
        low=values[0] if ordered else None,
        high=values[-1] if ordered else None,
        values=tuple(values),
        null_is_value=None in declared.values,
    )

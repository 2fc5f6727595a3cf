"""What is known of a value before any row is read: its type, bounds and possible values."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any

INT64 = (-(2**63), 2**63 - 1)

# Python and both engines agree on this calendar. Dates outside it (DuckDB even has an infinite
# one) are clamped to it on reading, so that no later conversion can fail on a row.
FIRST_DAY, LAST_DAY = date.min, date.max
FIRST_TIME, LAST_TIME = datetime.min, datetime.max


class Type(enum.Enum):
    """The types that a plan computes in, whatever width the storage has."""

    BOOL = "BOOLEAN"
    INT = "BIGINT"
    FLOAT = "DOUBLE"
    TEXT = "VARCHAR"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    NULL = "NULL"

    @property
    def is_number(self) -> bool:
        """Whether sums of this type make sense; a boolean counts as 0 or 1."""
        return self in (Type.INT, Type.FLOAT, Type.BOOL)

    @property
    def is_temporal(self) -> bool:
        """Whether this type is a day or an instant."""
        return self in (Type.DATE, Type.TIMESTAMP)


def of_64_bits(number: Any) -> Any:
    """A number as constants are: integers beyond 64 bits are floats, and beyond those infinite.

    >>> of_64_bits(2**63 - 1), of_64_bits(10**30), of_64_bits(-(10**400))
    (9223372036854775807, 1e+30, -inf)
    """
    if not isinstance(number, int) or INT64[0] <= number <= INT64[1]:
        return number
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def type_of_value(value: object) -> Type:
    """Name the type of a Python value; bool before int, datetime before date.

    >>> type_of_value(True), type_of_value(1)
    (<Type.BOOL: 'BOOLEAN'>, <Type.INT: 'BIGINT'>)
    """
    match value:
        case None:
            return Type.NULL
        case bool():
            return Type.BOOL
        case int():
            return Type.INT
        case float():
            return Type.FLOAT
        case str():
            return Type.TEXT
        case datetime():
            return Type.TIMESTAMP
        case date():
            return Type.DATE
    raise TypeError(f"no type for a {type(value).__name__}")


@dataclass(frozen=True, slots=True)
class Domain:
    """Type, bounds and possible values of an expression.

    `low` and `high` are `None` where nothing *declared* bounds the value: a column's storage
    width is no bound, it would make for absurd noise. `values` lists the non-null values where
    they were declared one by one. `nullable` says whether the executed expression can yield NULL;
    `null_is_value` whether NULL is one of the values that were declared, and so a group of its own.
    """

    type: Type
    low: Any = None
    high: Any = None
    nullable: bool = True
    values: tuple[Any, ...] | None = None
    null_is_value: bool = True
    decimals: int | None = None
    """How many decimal places values have at most, where the column's own type says so."""

    @property
    def is_bounded(self) -> bool:
        """Whether both ends are known."""
        return self.low is not None and self.high is not None

    @property
    def is_constant(self) -> bool:
        """Whether only one value is possible, NULL aside."""
        return self.is_bounded and bool(self.low == self.high)

    def with_nullable(self, nullable: bool) -> Domain:
        """The same domain, with another nullability."""
        return replace(self, nullable=nullable)


def of_literal(value: Any) -> Domain:
    """The domain of one known value."""
    kind = type_of_value(value)
    if kind is Type.NULL:
        return Domain(Type.NULL)
    ordered = kind is not Type.TEXT
    return Domain(
        kind,
        low=value if ordered else None,
        high=value if ordered else None,
        nullable=False,
        values=(value,),
        null_is_value=False,
    )


def boolean(nullable: bool = True) -> Domain:
    """The domain of a condition."""
    return Domain(Type.BOOL, False, True, nullable)


def number_of_values(domain: Domain) -> int | None:
    """How many non-null values are possible, or None where that is not known to be finite.

    >>> number_of_values(Domain(Type.INT, 0, 110))
    111
    """
    if domain.values is not None:
        return len(domain.values)
    if domain.type is Type.BOOL:
        return 2
    if not domain.is_bounded:
        return None
    if domain.type is Type.INT:
        return int(domain.high - domain.low) + 1
    if domain.type is Type.DATE:
        return int((domain.high - domain.low).days) + 1
    return None


def possible_values(domain: Domain) -> tuple[Any, ...]:
    """All non-null values, in order; call it only where `number_of_values` is small."""
    if domain.values is not None:
        return domain.values
    if domain.type is Type.BOOL:
        return (False, True)
    if domain.type is Type.INT:
        return tuple(range(domain.low, domain.high + 1))
    days = (domain.high - domain.low).days
    return tuple(domain.low + timedelta(days=day) for day in range(days + 1))


def in_words(domain: Domain) -> str:
    """What is known of a value, for people.

    >>> in_words(Domain(Type.INT, 0, 110))
    'from 0 to 110'
    """
    if domain.values is not None:
        shown = ", ".join(map(repr, domain.values[:5]))
        return f"one of {shown}" + (", ..." if len(domain.values) > 5 else "")
    if domain.is_bounded:
        return f"from {domain.low} to {domain.high}"
    return "no bounds declared"


def union(domains: list[Domain]) -> Domain:
    """The least domain that holds every one of these, all of one type (NULL aside)."""
    typed = [d for d in domains if d.type is not Type.NULL]
    nullable = any(d.nullable for d in domains)
    if not typed:
        return Domain(Type.NULL)
    bounded = all(d.is_bounded for d in typed)
    return Domain(
        typed[0].type,
        low=min(d.low for d in typed) if bounded else None,
        high=max(d.high for d in typed) if bounded else None,
        nullable=nullable,
    )


def merged(domains: list[Domain]) -> Domain:
    """The least domain that holds every one of these, as `union`, with values where all list them.

    >>> merged([of_literal(1), of_literal(5)]).values
    (1, 5)
    """
    found = union(domains)
    values = {v for d in domains for v in d.values or ()}
    listed = all(d.values is not None for d in domains if d.type is not Type.NULL)
    null_is_value = any(d.null_is_value and d.nullable for d in domains)
    ordered = tuple(sorted(values)) if listed and values else None
    return replace(found, values=ordered, null_is_value=null_is_value)


def outward(low: float, high: float) -> tuple[float | None, float | None]:
    """Widen a computed float interval by a few units in the last place; infinite means unknown.

    The bounds of an interval are themselves rounded, and the functions of an engine's mathematics
    library are accurate to about one unit in the last place. The *coding* of a sum clamps to the
    interval whatever happens, so a value beyond it would cost accuracy, never privacy.
    """
    for _ in range(4):
        low, high = math.nextafter(low, -math.inf), math.nextafter(high, math.inf)
    ends = (low, high)
    return (
        ends[0] if math.isfinite(ends[0]) else None,
        ends[1] if math.isfinite(ends[1]) else None,
    )

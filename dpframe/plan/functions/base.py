"""What one entry of the function table holds, and the helpers that entries share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import polars as pl
import polars.selectors as cs

from dpframe.plan.domains import Domain, Type, type_of_value

Domains = tuple[Domain, ...]
Params = tuple[Any, ...]


class Refused(Exception):
    """An entry does not take these arguments; the analysis adds what was written and where."""

    def __init__(self, why: str, fix: str) -> None:
        self.why = why
        self.fix = fix
        super().__init__(why)


@dataclass(frozen=True, slots=True)
class Function:
    """One function: how it is written, what it proves, and how each engine computes it.

    Every rendering is total (it yields NULL where mathematics has no answer, and never raises on a
    row), means the same on every engine, and computes each row from that row alone: a result that
    depends on how rows are batched would let one row change the values of others.
    """

    name: str
    """The name in the plan."""
    sql: tuple[str, ...]
    """Keys of the sqlglot nodes, or lower-case names of functions, that are read as this one."""
    coerce: Callable[[Domains, Params], tuple[Type, ...]]
    """The types that the arguments are converted to first."""
    domain: Callable[[Domains, Params], Domain]
    """The domain of the result, from those of the converted arguments."""
    duckdb: Callable[[Sequence[str], Params], str]
    polars: Callable[[Sequence[pl.Expr], Params], pl.Expr]
    literals: int = 0
    """How many trailing SQL arguments are parameters: literals, fixed before any row is read."""
    may_be_nan: bool = False
    """Whether infinite arguments can make it NaN, which the plan then turns into NULL."""
    repeats: bool = False
    """Whether a rendering mentions an argument more than once."""
    keeps_integers: bool = False
    """Whether integers pass through unchanged, so that the call can be left out."""
    is_whole: bool = False
    """Whether a float that it yields is a whole number, so that a cast to integers need not round."""
    step: Callable[[Params], Fraction | None] = lambda params: None
    """Of what every float that it yields is a multiple, if that is a power of ten."""
    fixed: Callable[[Domains, Params], Params] = lambda domains, params: params
    """Checks the parameters, and gives them the types that the renderings take."""
    instead: Callable[[Domains, Params], tuple[str, Params] | None] = lambda domains, params: None
    """Another entry, and its parameters, that arguments of these domains are meant for; an empty
    name stands for the argument itself."""


FUNCTIONS: dict[str, Function] = {}


def register(*functions: Function) -> None:
    """Add entries to the table."""
    for function in functions:
        if function.name in FUNCTIONS:
            raise ValueError(f"{function.name} is registered twice")
        FUNCTIONS[function.name] = function


def whole_step(params: Params) -> Fraction:
    """The step of whole numbers."""
    return Fraction(1)


# --- conversions of arguments -------------------------------------------------------------------


def common_type(domains: Domains) -> Type:
    """The one type that values of these types are compared or chosen in.

    >>> common_type((Domain(Type.INT), Domain(Type.FLOAT)))
    <Type.FLOAT: 'DOUBLE'>
    """
    types = {d.type for d in domains} - {Type.NULL}
    if not types:
        return Type.NULL
    if len(types) == 1:
        return types.pop()
    if types <= {Type.BOOL, Type.INT}:
        return Type.INT
    if types <= {Type.BOOL, Type.INT, Type.FLOAT}:
        return Type.FLOAT
    if types <= {Type.DATE, Type.TIMESTAMP}:
        return Type.TIMESTAMP
    if Type.TEXT in types:
        (temporal,) = (types - {Type.TEXT}) or {Type.TEXT}
        texts = [d for d in domains if d.type is Type.TEXT]
        # A date written as text, as SQL users do: d >= '2024-01-01'.
        if temporal.is_temporal and all(is_literal(d) for d in texts):
            return temporal
    names = " and ".join(sorted(t.value for t in types))
    raise Refused(f"{names} do not mix", "convert one side, for example CAST(x AS BIGINT)")


def is_literal(domain: Domain) -> bool:
    """Whether exactly one value is possible, NULL excluded."""
    return domain.values is not None and len(domain.values) == 1 and not domain.nullable


def same_type(domains: Domains, params: Params = ()) -> tuple[Type, ...]:
    """Convert every argument to their common type."""
    return (common_type(domains),) * len(domains)


def each(*types: Type) -> Callable[[Domains, Params], tuple[Type, ...]]:
    """Convert the arguments to these types, one by one; the last one repeats."""

    def coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
        return tuple(types[min(i, len(types) - 1)] for i in range(len(domains)))

    return coerce


def numbers(domains: Domains, params: Params = ()) -> tuple[Type, ...]:
    """Take numbers only: all integers, or all floats."""
    for domain in domains:
        if not (domain.type.is_number or domain.type is Type.NULL):
            raise Refused(
                f"it takes numbers, not {domain.type.value}",
                "convert the argument first, for example CAST(x AS DOUBLE)",
            )
    kind = common_type(domains)
    return (Type.INT if kind in (Type.BOOL, Type.NULL) else kind,) * len(domains)


def integers_unless_overflow(
    low_high: Callable[[Domains], tuple[float, float]],
) -> Callable[[Domains, Params], tuple[Type, ...]]:
    """Compute integers as integers where the result provably fits in 64 bits, else as floats."""

    def coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
        types = numbers(domains)
        if Type.FLOAT not in types:
            low, high = low_high(domains)
            if not (low >= -(2**63) and high < 2**63):
                return (Type.FLOAT,) * len(types)
        return types

    return coerce


def literal_as(value: Any, target: Type) -> Any:
    """A literal's value in another type, or `Refused`."""
    kind = type_of_value(value)
    if value is None or kind is target:
        return value
    try:
        match kind, target:
            case (Type.TEXT, Type.DATE):
                return date.fromisoformat(value)
            case (Type.TEXT, Type.TIMESTAMP):
                moment = datetime.fromisoformat(value)
                if moment.tzinfo is None:
                    return moment
            case (Type.DATE, Type.TIMESTAMP):
                return datetime(value.year, value.month, value.day)
            case (Type.BOOL, Type.INT) | (Type.BOOL | Type.INT, Type.FLOAT):
                return int(value) if target is Type.INT else float(value)
            case _:
                pass
    except (ValueError, OverflowError):
        pass
    raise Refused(
        f"{value!r} is not a {target.value}",
        "write dates as DATE '2024-01-31' and times as TIMESTAMP '2024-01-31 12:00:00'",
    )


def column(name: str) -> pl.Expr:
    """A Polars column by its exact name: `pl.col("^a$")` would be column a, and "*" all of them."""
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return cs.by_name(name).as_expr() if is_pattern else pl.col(name)


def exactly(names: Iterable[str]) -> list[pl.Expr]:
    """Polars columns to select or sort by, by their exact names."""
    return [column(name) for name in names]


# --- intervals ----------------------------------------------------------------------------------


def ends(domain: Domain) -> tuple[Any, Any]:
    """Low and high as numbers; an unknown end is infinite."""
    low = -math.inf if domain.low is None else domain.low
    high = math.inf if domain.high is None else domain.high
    return low, high


def known(end: float) -> Any:
    """An end of an interval, or None where it is infinite or undefined."""
    return end if not isinstance(end, float) or math.isfinite(end) else None


def spanning(kind: Type, corners: Sequence[float], nullable: bool) -> Domain:
    """The domain from the values at the corners of the arguments' box."""
    if any(math.isnan(c) for c in corners):
        return Domain(kind, nullable=nullable)
    return Domain(kind, known(min(corners)), known(max(corners)), nullable)


def corners(operation: Callable[[Any, Any], float], domains: Domains) -> tuple[float, float]:
    """The least and the most at the corners of the arguments' box; infinite if one is undefined."""
    values = [operation(a, b) for a, b in itertools.product(*(ends(d) for d in domains))]
    if any(math.isnan(v) for v in values):
        return -math.inf, math.inf
    return min(values), max(values)


def any_nullable(domains: Domains) -> bool:
    """Most functions are NULL exactly where an argument is."""
    return any(d.nullable for d in domains)


def whole_array(value: pl.Expr, like: pl.Expr) -> pl.Expr:
    """Make a constant into a whole array, as long as `like`.

    Polars divides by a *scalar* by multiplying with its rounded reciprocal, and by an array
    exactly; a one-row batch counts as an array. So `x / 49.0` depends on where a batch ends, which
    is to say on other rows. An array divisor is always exact. Only arithmetic with an array makes
    one: a choice (`pl.when`) of constants is a scalar again where all rows of a batch choose alike.
    """
    return value + (like > 0).cast(pl.Float64) * 0.0

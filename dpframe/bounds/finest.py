"""The few values that keys are computed from, where columns have too many to list.

`FLOOR(cost / 1000) * 1000` reads a float, but nothing of it beyond `FLOOR(cost / 1000)`, which has one
value for each whole number within its bounds. So the keys are those of these values, and no others.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpframe.bounds.analysis import Typed, typed
from dpframe.plan.domains import Domain, Type, number_of_values, possible_values
from dpframe.plan.exprs import Call, Column, Expr, Literal, columns_of, number_of_terms, transform
from dpframe.plan.functions.base import FUNCTIONS

_NAME = "__dpframe_finest"

_EXACT = 2**53
"""Floats are multiples of a step, without gaps, up to so many of them."""

_MOST_TERMS = 300


@dataclass(frozen=True, slots=True)
class Finest:
    """Expressions with few values each, and keys that read nothing else of a row."""

    parts: tuple[Typed, ...]
    """By their numbers they are columns of what the keys are computed from."""
    keys: tuple[Typed, ...]


def name_of(number: int) -> str:
    """What the keys call a part."""
    return f"{_NAME}{number}"


def finest(keys: Sequence[Typed], columns: Mapping[str, Domain], most: int) -> Finest | None:
    """What keys are computed from, if that has no more than `most` combinations of values.

    Guarantee: each value that a key can have on a row follows from a combination of these.
    """
    found: dict[Expr, Typed] = {}
    for key in keys:
        # Each term is analysed with all that is in it, so long ones are taken as they are.
        long = number_of_terms(key.expr) > _MOST_TERMS
        fewest = {key.expr: key} if long else _fewest(key.expr, columns)
        if fewest is None:
            return None
        found |= fewest
    for expr in sorted(found, key=number_of_terms, reverse=True):
        others = [other for other in found if other != expr]
        if _reads_only(expr, others):  # CAST(x AS BIGINT) // 10, beside CAST(x AS BIGINT)
            del found[expr]
    parts = tuple(found.values())
    if _size(parts) > most:
        return None
    domains = {name_of(i): part.domain for i, part in enumerate(parts)}
    names = {expr: Column(name_of(i)) for i, expr in enumerate(found)}
    return Finest(parts, tuple(typed(transform(k.expr, names.get), domains) for k in keys))


def number_of(part: Typed) -> int | None:
    """How many values other than NULL an expression can have, if that is known to be finite."""
    steps = _steps(part)
    return number_of_values(part.domain) if steps is None else len(steps[1])


def values_of(part: Typed) -> tuple[Any, ...]:
    """These values, in order."""
    steps = _steps(part)
    if steps is None:
        return possible_values(part.domain)
    step, numbers = steps
    # Divided as engines divide: 3 / 10 is the float that ROUND(x, 1) yields, 3 * 0.1 is not.
    if step < 1:
        return tuple(n / step.denominator for n in numbers)
    return tuple(float(n * step) for n in numbers)


def _steps(part: Typed) -> tuple[Fraction, range] | None:
    """Of what a float is a multiple, if a function makes it one, and of how many."""
    call, domain = part.expr, part.domain
    if domain.type is not Type.FLOAT or domain.values is not None or not isinstance(call, Call):
        return None
    step = FUNCTIONS[call.function].step(call.params)
    if step is None or not domain.is_bounded:
        return None
    low, high = (round(Fraction(end) / step) for end in (domain.low, domain.high))
    return (step, range(low, high + 1)) if max(-low, high) <= _EXACT else None


def _fewest(expr: Expr, columns: Mapping[str, Domain]) -> dict[Expr, Typed] | None:
    """The parts with the fewest values that an expression is computed from, as they stand in it."""
    if isinstance(expr, Literal):
        return {}
    part = typed(expr, columns)
    own = None if math.isinf(_size([part])) else {expr: part}
    found: dict[Expr, Typed] = {}
    for child in expr.children:
        parts = _fewest(child, columns)
        if parts is None:
            return own
        found |= parts
    # A value outside declared keys is NULL, and in no group: only the column itself knows of it.
    outside = any(columns[c].nullable and not columns[c].null_is_value for c in columns_of(expr))
    smaller = own is None or outside or _size(found.values()) < _size(own.values())
    return found if expr.children and smaller else own


def _size(parts: Iterable[Typed]) -> float:
    sizes = [number_of(part) for part in parts]
    return math.prod(math.inf if size is None else size for size in sizes)


def _reads_only(expr: Expr, parts: Sequence[Expr]) -> bool:
    known = dict.fromkeys(parts, Literal(None, Type.NULL))
    return not columns_of(transform(expr, known.get))

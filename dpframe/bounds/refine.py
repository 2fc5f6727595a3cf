"""What a WHERE clause proves of the rows that pass it.

Rows that fail the predicate contribute nothing, so bounds, keys and nullability may use what the
predicate says. This reads only simple conditions on one column; anything else proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time
from typing import Any

from dpframe.plan.domains import INT64, Domain, Type, type_of_value
from dpframe.plan.exprs import Call, Column, Expr, Literal, conjuncts
from dpframe.plan.functions import Refused, literal_as
from dpframe.plan.functions.conditions import MIRRORED


def refined(columns: Mapping[str, Domain], where: Expr | None) -> dict[str, Domain]:
    """The domains of columns in rows that pass `where`.

    >>> from dpframe.plan.exprs import literal
    >>> old = Call("greater_equal", (Column("age"), literal(65)))
    >>> refined({"age": Domain(Type.INT, 0, 110)}, old)["age"].low
    65
    """
    found = dict(columns)
    for condition in conjuncts(where):
        if not isinstance(condition, Call):
            continue
        if condition.function == "or":
            found |= _either(found, condition.args)
            continue
        for name in _never_null(condition):
            if name in found:
                found[name] = replace(found[name], nullable=False)
        match condition:
            case Call(function=op, args=(Column() as column, Literal() as bound)):
                found[column.name] = _compared(found[column.name], op, bound.value)
            case Call(function=op, args=(Literal() as bound, Column() as column)):
                mirrored = MIRRORED.get(op, "")
                found[column.name] = _compared(found[column.name], mirrored, bound.value)
            case Call(function="in", args=(Column() as column,), params=values):
                found[column.name] = _listed(found[column.name], values)
            case Call(function="is_null", args=(Column() as column,)):
                found[column.name] = _only_null(found[column.name])
    return found


def _either(columns: Mapping[str, Domain], arms: Sequence[Expr]) -> dict[str, Domain]:
    """The columns whose values every arm lists: rows that pass have one of all those values."""
    arms = [arm for arm in arms if not _keeps_nothing(arm)]
    if not arms:
        return {}
    first, *others = (refined(columns, arm) for arm in arms)
    found = {}
    for name, domain in first.items():
        each = [domain, *(other[name] for other in others)]
        if all(d.values is not None and d != columns[name] for d in each):
            values = sorted({v for d in each for v in d.values or ()})
            nullable = any(d.nullable for d in each)
            found[name] = _with_values(replace(columns[name], nullable=nullable), tuple(values))
    return found


def _keeps_nothing(condition: Expr) -> bool:
    return isinstance(condition, Literal) and condition.value in (None, False)


def _never_null(condition: Call) -> list[str]:
    """Columns that are not NULL where the condition is true: those it compares directly."""
    if condition.function in (*MIRRORED, "in", "like", "starts_with", "ends_with", "contains"):
        return [a.name for a in condition.args if isinstance(a, Column)]
    match condition:
        case Call("not", (Call("is_null", (Column() as column,)),)):
            return [column.name]
    return []


def _compared(domain: Domain, op: str, value: Any) -> Domain:
    if op == "equal" and (domain.type is Type.TEXT or not domain.is_bounded):
        return _listed(domain, (value,))
    if domain.values is not None and domain.type is Type.TEXT:
        return domain
    if value is None:  # no row passes a comparison with NULL; any domain is true of no rows
        return domain
    if domain.type in (Type.BOOL, Type.TEXT):
        return domain
    if domain.type is Type.DATE and isinstance(value, datetime) and value.time() == time():
        value = value.date()  # day < TIMESTAMP '2024-01-01 00:00:00'
    try:
        bound = value if domain.type.is_number else literal_as(value, domain.type)
    except Refused:
        return domain
    if domain.type.is_number and (isinstance(bound, str) or not _is_exact(bound, domain.type)):
        return domain
    low, high = domain.low, domain.high
    whole = domain.type is Type.INT
    if op in ("greater", "greater_equal", "equal"):
        least = _least_integer(bound, op == "greater") if whole else bound
        low = least if low is None else max(low, least)
    if op in ("less", "less_equal", "equal"):
        most = -_least_integer(-bound, op == "less") if whole else bound
        high = most if high is None else min(high, most)
    if low is not None and high is not None and low > high:
        return domain  # no row passes; any domain is true of no rows
    values = domain.values and tuple(v for v in domain.values if low <= v <= high)
    return replace(domain, low=low, high=high, values=values or domain.values)


def _is_exact(bound: Any, kind: Type) -> bool:
    """Whether an engine compares with this very number.

    Beyond 2^53 integers are compared with fractions, and fractions with integers, as rounded
    floats: values next to the bound may pass on its other side.
    """
    if isinstance(bound, float) and not math.isfinite(bound):
        return False
    if isinstance(bound, float) is (kind is Type.INT):
        return bool(abs(bound) <= 2**53)
    return isinstance(bound, float) or bool(INT64[0] <= bound <= INT64[1])


def _least_integer(bound: float, strictly: bool) -> int:
    return math.floor(bound) + 1 if strictly else math.ceil(bound)


def _listed(domain: Domain, values: Sequence[Any]) -> Domain:
    """The domain of a column that equals one of these constants."""
    if domain.values is not None:
        kept = tuple(v for v in domain.values if v in values)
    else:
        kept = _as_keys(domain.type, values)
        if domain.is_bounded:  # a value beyond the range is read as one of its ends
            kept = tuple(v for v in kept if domain.low <= v <= domain.high)
    return _with_values(domain, kept) if kept else domain


def _as_keys(kind: Type, values: Sequence[Any]) -> tuple[Any, ...]:
    """Constants as values of a column, sorted; empty if one of them is of another kind.

    Floats are left alone: which of them are one key is a question of its own.
    """
    if kind not in (Type.TEXT, Type.INT, Type.DATE, Type.TIMESTAMP):
        return ()
    try:
        found = {literal_as(v, kind) for v in values if v is not None}
    except Refused:
        return ()
    return tuple(sorted(v for v in found if type_of_value(v) is kind))


def _only_null(domain: Domain) -> Domain:
    """The domain of a column that is NULL, where NULL is a group of its own."""
    if not (domain.nullable and domain.null_is_value) or domain.type is Type.FLOAT:
        return domain
    return replace(domain, values=())


def _with_values(domain: Domain, values: tuple[Any, ...]) -> Domain:
    ordered = domain.type is not Type.TEXT and bool(values)
    return replace(
        domain,
        values=values,
        low=values[0] if ordered else None,
        high=values[-1] if ordered else None,
    )

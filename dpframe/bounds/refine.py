"""What a WHERE clause proves of the rows that pass it.

Rows that fail the predicate contribute nothing, so bounds, keys and nullability may use what the
predicate says. This reads only simple conditions on one column; anything else proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, time
from typing import Any

from dpframe.plan.domains import Domain, Type
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
    return found


def _never_null(condition: Call) -> list[str]:
    """Columns that are not NULL where the condition is true: those it compares directly."""
    if condition.function in (*MIRRORED, "in", "like", "starts_with", "ends_with", "contains"):
        return [a.name for a in condition.args if isinstance(a, Column)]
    match condition:
        case Call("not", (Call("is_null", (Column() as column,)),)):
            return [column.name]
    return []


def _compared(domain: Domain, op: str, value: Any) -> Domain:
    if domain.values is not None and domain.type is Type.TEXT:
        return _listed(domain, (value,)) if op == "equal" else domain
    if value is None:  # no row passes a comparison with NULL; any domain is true of no rows
        return domain
    if not domain.is_bounded or domain.type is Type.BOOL:
        return domain
    if domain.type is Type.DATE and isinstance(value, datetime) and value.time() == time():
        value = value.date()  # day < TIMESTAMP '2024-01-01 00:00:00'
    try:
        bound = value if domain.type.is_number else literal_as(value, domain.type)
    except Refused:
        return domain
    if domain.type.is_number and (isinstance(bound, str) or not math.isfinite(bound)):
        return domain
    low, high = domain.low, domain.high
    whole = domain.type is Type.INT
    if op in ("greater", "greater_equal", "equal"):
        low = max(low, _least_integer(bound, op == "greater") if whole else bound)
    if op in ("less", "less_equal", "equal"):
        high = min(high, -_least_integer(-bound, op == "less") if whole else bound)
    if low > high:  # no row passes; any domain is true of no rows
        return domain
    values = domain.values and tuple(v for v in domain.values if low <= v <= high)
    return replace(domain, low=low, high=high, values=values or domain.values)


def _least_integer(bound: float, strictly: bool) -> int:
    return math.floor(bound) + 1 if strictly else math.ceil(bound)


def _listed(domain: Domain, values: tuple[Any, ...]) -> Domain:
    if domain.values is None:
        return domain
    kept = tuple(v for v in domain.values if v in values)
    if not kept:
        return domain
    ordered = domain.type is not Type.TEXT
    return replace(
        domain,
        values=kept,
        low=kept[0] if ordered else None,
        high=kept[-1] if ordered else None,
    )

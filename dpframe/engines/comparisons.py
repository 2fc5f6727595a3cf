"""Conditions that ask the same of a column as it is stored as of one that is read through its domain.

Reading clamps, which costs more than comparing does. But whether `age >= 65` holds of a clamped age is
whether it holds of the age, if the range goes from below 65 to above.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from dpframe.declare import Storage, Table
from dpframe.plan.domains import FIRST_DAY, LAST_DAY, Domain, Type, type_of_value
from dpframe.plan.exprs import Call, Column, Expr, Literal, conjunction
from dpframe.plan.functions.conditions import MIRRORED

_INFINITY = Literal(math.inf, Type.FLOAT)

_OPERATORS = {
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
}


def as_stored(condition: Expr, table: Table) -> Expr | None:
    """A condition on stored values that the same rows pass; None where none is known.

    A row passes where a condition is TRUE. Where this one is FALSE, the other may be NULL, or the other
    way round: so only AND and OR are looked into, which are TRUE of just the same rows then.

    It is one array per column on every engine: no constant stands alone in it, and no choice.
    """
    match condition:
        case Call(function="and" | "or" as both, args=args):
            found = [as_stored(arg, table) for arg in args]
            known = [f for f in found if f is not None]
            return Call(both, tuple(known)) if len(known) == len(found) else None
        case Call(function=op, args=(Column() as column, Literal() as value)) if op in MIRRORED:
            return _comparison(op, column, value, table)
        case Call(function=op, args=(Literal() as value, Column() as column)) if op in MIRRORED:
            return _comparison(MIRRORED[op], column, value, table)
        case Call(function="in", args=(Column() as column,), params=values) if values:
            alike = [_holds_alike("equal", column.name, value, table) for value in values]
            return condition if all(alike) else None
    return None


def _comparison(op: str, column: Column, value: Literal, table: Table) -> Expr | None:
    if not _holds_alike(op, column.name, value.value, table):
        return None
    found = Call(op, (column, value))
    exceeds = op in ("greater", "greater_equal", "not_equal")
    if exceeds and table.domains[column.name].type is Type.FLOAT:
        # NaN exceeds every number, and is read as none.
        return conjunction((found, Call("less_equal", (column, _INFINITY))))
    return found


def _holds_alike(op: str, name: str, value: Any, table: Table) -> bool:
    """Whether a comparison says the same of all stored values, NaN aside, and of what they are read as."""
    domain, storage = table.domains.get(name), table.storage.get(name)
    if domain is None or storage is None or value is None or value != value:
        return False
    if not type_of_value(value) is domain.type is storage.type:
        return False
    if not (storage.exact or domain.type is Type.FLOAT):
        return False
    if not domain.nullable and _holds(op, _read_for_null(domain), value):
        return False  # of NULL, too
    if domain.values is not None:  # what is not listed is read as NULL
        return op == "equal" and domain.type is not Type.FLOAT and value in domain.values
    ends = _ends(domain, storage)
    if ends is None:
        return domain.type is Type.TEXT
    low, high = ends
    # The value is inside, and what lies beyond an end fares as the end does.
    below = low is None or (low <= value and _holds(op, low, value) == _far(op, above=False))
    above = high is None or (value <= high and _holds(op, high, value) == _far(op, above=True))
    return below and above


def _holds(op: str, left: Any, right: Any) -> bool:
    return left is not None and bool(_OPERATORS[op](left, right))


def _far(op: str, *, above: bool) -> bool:
    """What a comparison says of values far above a number, or far below."""
    return op == "not_equal" or (op != "equal" and above == op.startswith("greater"))


def _read_for_null(domain: Domain) -> Any:
    """What NULL is read as, where a column is declared to have none."""
    return domain.values[0] if domain.values else domain.low


def _ends(domain: Domain, storage: Storage) -> tuple[Any, Any] | None:
    """The ends that values are clamped to, None for one where they are not; or None if that is not known."""
    match domain.type:
        case Type.INT if not storage.is_wide:
            return domain.low, domain.high
        case Type.FLOAT | Type.TIMESTAMP:
            return (domain.low, domain.high) if domain.is_bounded else (None, None)
        case Type.DATE:
            return domain.low or FIRST_DAY, domain.high or LAST_DAY
    return None

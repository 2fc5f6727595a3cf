"""One text per meaning: the same question in other words, names or order has the same fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from dpframe.errors import InternalError
from dpframe.plan.exprs import Call, Column, Expr, Literal, conjuncts
from dpframe.plan.parts import (
    GRAINS,
    Blend,
    CodedSum,
    CountDistinct,
    CountRows,
    CountUnits,
    GridCounts,
    Part,
    RankedCells,
)
from dpframe.plan.surroundings import RATIO

_ORDER_FREE = {"and", "or", "equal", "not_equal", "add", "multiply", "least", "greatest"}
_MIRRORED = {"greater": "less", "greater_equal": "less_equal"}


def canonical(expr: Expr) -> str:
    """An analysed expression as text, the same for `a < b` and `b > a`, `a AND b` and `b AND a`.

    >>> a, b = Column("a"), Column("b")
    >>> canonical(Call("less", (a, b))) == canonical(Call("greater", (b, a)))
    True
    """
    match expr:
        case Column():
            return f"col({expr.name!r})"
        case Literal():
            return f"{expr.type.name}({_constant(expr.value)})"
        case Call("and" | "or"):
            members = sorted({canonical(e) for e in _flattened(expr, expr.function)})
            return f"{expr.function}({','.join(members)})"
        case Call():
            name, args = expr.function, [canonical(arg) for arg in expr.args]
            if name in _MIRRORED:
                name, args = _MIRRORED[name], args[::-1]
            if name in _ORDER_FREE:
                args.sort()
            params = [_constant(p) for p in expr.params]
            if name == "in":
                params.sort()
            return f"{name}({','.join([*args, *params])})"
    raise InternalError(f"no fingerprint for a {type(expr).__name__}")


def _flattened(expr: Expr, function: str) -> list[Expr]:
    if isinstance(expr, Call) and expr.function == function:
        return [inner for arg in expr.args for inner in _flattened(arg, function)]
    return [expr]


def _constant(value: Any) -> str:
    if isinstance(value, date | datetime):
        return f"{type(value).__name__}:{value.isoformat()}"
    return f"{type(value).__name__}:{value!r}"


def canonical_where(where: Expr | None) -> str:
    """A predicate, whatever the order of its conjuncts."""
    return "&".join(sorted({canonical(c) for c in conjuncts(where)}))


def canonical_part(part: Part) -> str:
    """A part, with everything that its integers depend on."""
    where = canonical_where(part.condition)
    match part:
        case CountRows() | CountUnits():
            return f"{type(part).__name__}[{where}]"
        case CountDistinct():
            compared = ",".join(sorted(canonical(expr) for expr, _ in part.compared))
            return f"CountDistinct({compared})[{where}]"
        case CodedSum():
            coding = part.coding
            grid = f"{coding.low},{coding.high},{coding.scale},{coding.is_integer},{part.centre}"
            return f"CodedSum({canonical(part.expr)};{grid})[{where}]"
        case Blend():
            return f"Blend({canonical_part(part.codes)};{part.finer},{part.above})"
        case GridCounts():
            coding = part.coding
            grid = f"{coding.low},{coding.high},{coding.scale},{coding.is_integer}"
            grid += f",{part.width},{part.size}"
            if isinstance(part, RankedCells):
                around = f",{RATIO}" if part.counted else ""
                grid += f",{GRAINS}{around};{','.join(map(str, part.levels))}"
            return f"{type(part).__name__}({canonical(part.expr)};{grid})[{where}]"
    raise InternalError(f"no fingerprint for a {type(part).__name__}")


def fingerprint(words: Sequence[str]) -> str:
    """A short name for a sequence of texts; no two sequences share one.

    >>> fingerprint(["ab", "c"]) == fingerprint(["a", "bc"])
    False
    """
    digest = hashlib.sha256()
    for word in words:
        coded = word.encode()
        digest.update(len(coded).to_bytes(8, "big") + coded)
    return digest.hexdigest()

"""Types and domains of expressions, from declared domains alone. What is not proven is refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dpframe.errors import InternalError, QueryError
from dpframe.plan.domains import Domain, Type, of_literal
from dpframe.plan.exprs import Call, Column, Expr, Literal
from dpframe.plan.functions import FUNCTIONS, Refused, literal_as
from dpframe.plan.functions.base import common_type
from dpframe.plan.functions.casts import WHOLE

_IMPLICIT = {
    (Type.BOOL, Type.INT),
    (Type.BOOL, Type.FLOAT),
    (Type.INT, Type.FLOAT),
    (Type.DATE, Type.TIMESTAMP),
    (Type.INT, Type.TEXT),
    (Type.BOOL, Type.TEXT),
    (Type.DATE, Type.TEXT),
}


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression in which every conversion is explicit, and what is known of its values."""

    expr: Expr
    domain: Domain


def typed(expr: Expr, columns: Mapping[str, Domain]) -> Typed:
    """Analyse an expression over columns of these domains.

    >>> age = {"age": Domain(Type.INT, 0, 110)}
    >>> typed(Call("add", (Column("age"), Literal(1, Type.INT))), age).domain.high
    111
    """
    match expr:
        case Column():
            if expr.name not in columns:
                raise InternalError(f"column {expr.name!r} was not resolved")
            return Typed(expr, columns[expr.name])
        case Literal():
            return Typed(expr, of_literal(expr.value))
        case Call():
            args = tuple(typed(arg, columns) for arg in expr.args)
            try:
                return _call(expr, args)
            except Refused as refusal:
                why, fix = refusal.why, refusal.fix
            raise refused(expr, "cannot be computed", why=why, fix=fix)
    raise InternalError(f"a {type(expr).__name__} is no row expression")


def refused(
    expr: Expr, what: str, *, why: str, fix: str, kind: type[QueryError] = QueryError
) -> QueryError:
    """The error for an expression, with the place where it was written."""
    origin = expr.origin
    text = origin.text() if origin else "the expression"
    pointer = origin.pointer() if origin else ""
    advice = origin.advice(fix) if origin else fix
    return kind(f"{text} {what}{pointer}", why=why, fix=advice)


def condition(expr: Expr, columns: Mapping[str, Domain]) -> Typed:
    """Analyse a predicate; it must be a boolean."""
    found = typed(expr, columns)
    if found.domain.type not in (Type.BOOL, Type.NULL):
        raise refused(
            expr,
            f"is a {found.domain.type.value}, not a condition",
            why="only a boolean can keep or drop a row",
            fix="compare it with something, for example x > 0",
        )
    return _converted(found, Type.BOOL)


def in_common_type(found: Sequence[Typed]) -> list[Typed]:
    """The expressions, each converted to the one type that they are compared or stacked in."""
    why = fix = ""
    try:
        kind = common_type(tuple(f.domain for f in found))
        return [_converted(f, kind) for f in found]
    except Refused as refusal:
        why, fix = refusal.why, refusal.fix
    raise refused(found[0].expr, "does not fit the other side", why=why, fix=fix)


def _call(call: Call, args: tuple[Typed, ...]) -> Typed:
    function = FUNCTIONS[call.function]
    other = function.instead(tuple(a.domain for a in args), call.params)
    if other is not None:  # a date plus a number is no sum of numbers
        name, params = other
        return _call(replace(call, function=name, params=params), args) if name else args[0]
    if function.name == "multiply" and args[0].expr == args[1].expr:
        # x * x is never negative, which intervals alone do not see.
        function, args = FUNCTIONS["square"], args[:1]
    types = function.coerce(tuple(a.domain for a in args), call.params)
    args = tuple(_converted(a, t) for a, t in zip(args, types, strict=True))
    if function.keeps_integers and args[0].domain.type is Type.INT:
        return args[0]
    domains = tuple(a.domain for a in args)
    domain = function.domain(domains, call.params)
    params = function.fixed(domains, call.params)
    if function.name == "cast":
        if domain.type is Type.INT and _is_whole(args[0]):
            params = (params[0], WHOLE)
        function, params = FUNCTIONS["convert"], (domains[0].type.name, *params)
    result = Typed(
        replace(call, function=function.name, args=tuple(a.expr for a in args), params=params),
        domain,
    )
    infinite = any(d.type is Type.FLOAT and not d.is_bounded for d in (*domains, domain))
    if function.may_be_nan and domain.type is Type.FLOAT and infinite:
        clean = FUNCTIONS["nan_to_null"]
        return Typed(
            Call(clean.name, (result.expr,), place=call.place), clean.domain((domain,), ())
        )
    return result


def _is_whole(arg: Typed) -> bool:
    """Whether a float is known to be a whole number."""
    call = arg.expr
    is_float = arg.domain.type is Type.FLOAT
    return is_float and isinstance(call, Call) and FUNCTIONS[call.function].is_whole


def _converted(arg: Typed, target: Type) -> Typed:
    source = arg.domain.type
    if source is target:
        return arg
    if isinstance(arg.expr, Literal) and (source is Type.NULL or target is not Type.TEXT):
        value = literal_as(arg.expr.value, target)
        # NULL has no values at all, so that CASE without ELSE keeps the bounds of its arms.
        domain = Domain(target, values=()) if value is None else of_literal(value)
        return Typed(Literal(value, target, arg.expr.place), domain)
    if source is not Type.NULL and (source, target) not in _IMPLICIT:
        raise Refused(
            f"{target.value} is needed, and {source.value} was given",
            f"convert it, for example CAST(x AS {target.value})",
        )
    call = Call("convert", (arg.expr,), (source.name, target.value), place=arg.expr.origin)
    domain = FUNCTIONS["convert"].domain((arg.domain,), call.params)
    return Typed(call, domain)

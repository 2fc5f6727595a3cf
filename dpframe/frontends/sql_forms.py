"""Forms of SQL that dialects write or mean in their own way, read as calls of the function table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpframe.frontends.sql_origin import origin_of
from dpframe.plan.exprs import Call, Expr, literal

if TYPE_CHECKING:
    from dpframe.frontends.sql_exprs import ExprReader


def _matches(reader: ExprReader, node: exp.Expression) -> Expr:
    """A regular expression, anywhere in the text or the whole of it."""
    flags = node.args.get("flag")
    options = "" if flags is None else reader.value(flags)
    if isinstance(node, exp.RegexpILike):
        options = f"{options}i"
    full = isinstance(node, exp.RegexpFullMatch | exp.SimilarTo) or bool(
        node.args.get("full_match")
    )
    params = (reader.value(node.expression), options, full)
    return reader.call("regexp_matches", node, [node.this], params)


def _divided(reader: ExprReader, node: exp.Div) -> Expr:
    # In some dialects a quotient of integers is an integer.
    params = ("typed",) if node.args.get("typed") else ()
    return reader.call("divide", node, [node.this, node.expression], params)


def _exclusive(reader: ExprReader, node: exp.Xor) -> Expr:
    """One of two conditions, not both."""
    either = reader.call("or", node, [node.this, node.expression])
    both = Call("and", either.args, place=either.place)
    return Call("and", (either, Call("not", (both,), place=either.place)), place=either.place)


def _strict_if_said(reader: ExprReader, node: exp.Expression) -> Expr:
    """LEAST and GREATEST, which in some dialects are NULL where an argument is."""
    found = reader.call(node.key, node, [node.this, *node.expressions])
    if node.args.get("ignore_nulls"):
        return found
    missing = tuple(Call("is_null", (arg,), place=found.place) for arg in found.args)
    return Call("case", (Call("or", missing), literal(None), found), place=found.place)


def _concat(reader: ExprReader, node: exp.Concat) -> Expr:
    # NULL is left out, or makes all of it NULL: dialects differ.
    name = "concat" if node.args.get("coalesce") else "concat_operator"
    return reader.call(name, node, node.expressions)


def _log(reader: ExprReader, node: exp.Log) -> Expr:
    """LOG(x) is to base 10; LOG(base, x) to base 2 or 10, and also how LOG2 and LOG10 are parsed."""
    base = 10 if node.expression is None else reader.value(node.this)
    if base not in (2, 10):
        raise reader.error(
            node, "takes base 2 or 10", why="others are not exact", fix="LN(x) / LN(3)"
        )
    return reader.call(f"log{base}", node, [node.expression or node.this])


def _padded(reader: ExprReader, node: exp.Pad) -> Expr:
    fill = node.args.get("fill_pattern")
    params = (reader.value(node.expression), " " if fill is None else reader.value(fill))
    return reader.call("lpad" if node.args.get("is_left") else "rpad", node, [node.this], params)


def _nvl2(reader: ExprReader, node: exp.Nvl2) -> Expr:
    missing = reader.call("is_null", node, [node.this])
    otherwise = node.args.get("false") or exp.Null()
    arms = (reader.read(otherwise), reader.read(node.args["true"]))
    return Call("case", (missing, *arms), place=missing.place)


def _decoded(reader: ExprReader, node: exp.DecodeCase) -> Expr:
    """DECODE(x, 1, 'a', 2, 'b', 'c'), in which NULL equals NULL."""
    subject, *rest = (reader.read(e) for e in node.expressions)
    place, args = origin_of(node, reader.statement), []
    for value, result in zip(rest[::2], rest[1::2], strict=False):
        distinct = Call("is_distinct", (subject, value), place=place)
        args += [Call("not", (distinct,), place=place), result]
    return Call("case", (*args, rest[-1] if len(rest) % 2 else literal(None)), place=place)


def _safe_divided(reader: ExprReader, node: exp.SafeDivide) -> Expr:
    return reader.call("divide", node, [node.this, node.expression])


FORM_READERS: dict[type[exp.Expression], Callable[[ExprReader, Any], Expr]] = {
    exp.RegexpLike: _matches,
    exp.RegexpILike: _matches,
    exp.RegexpFullMatch: _matches,
    exp.SimilarTo: _matches,
    exp.Div: _divided,
    exp.Xor: _exclusive,
    exp.SafeDivide: _safe_divided,
    exp.Least: _strict_if_said,
    exp.Greatest: _strict_if_said,
    exp.Concat: _concat,
    exp.Log: _log,
    exp.Pad: _padded,
    exp.Nvl2: _nvl2,
    exp.DecodeCase: _decoded,
}

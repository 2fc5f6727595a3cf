"""sqlglot expressions, read as plan expressions. What is not known is refused."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpframe.errors import DPFrameError
from dpframe.frontends.sql_forms import FORM_READERS
from dpframe.frontends.sql_known import (
    REFUSED,
    REFUSED_NAMES,
    arguments_of,
    function_of,
    is_foreign,
    known_functions,
    refuse_unread,
)
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.frontends.sql_times import TIME_READERS, field_function
from dpframe.plan.domains import Type, of_64_bits
from dpframe.plan.exprs import Call, Expr, literal
from dpframe.plan.functions import Refused, literal_as

if TYPE_CHECKING:
    from dpframe.frontends.sql_origin import SQLOrigin

_TYPES = {
    "TINYINT": "TINYINT",
    "SMALLINT": "SMALLINT",
    "INT": "INT",
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE",
    "VARCHAR": "VARCHAR",
    "TEXT": "VARCHAR",
    "CHAR": "VARCHAR",
    "DATE": "DATE",
    "TIMESTAMP": "TIMESTAMP",
    "DATETIME": "TIMESTAMP",
    "TIMESTAMPNTZ": "TIMESTAMP",
    "BOOLEAN": "BOOLEAN",
}

_OPTIONAL_LITERALS = {"round": 0, "substring": 1}
"""How many of a function's literal arguments must be there, where that is not all of them."""


@dataclass(frozen=True, slots=True)
class ExprReader:
    """Reads expressions of one statement; `leaf` decides what a column or an aggregate becomes."""

    statement: str
    leaf: Callable[[exp.Expression], Expr | None]

    def read(self, node: exp.Expression) -> Expr:
        """The plan expression of a node."""
        found = self.leaf(node)
        if found is not None:
            return found
        self._refuse_known(node)
        reader = _READERS.get(type(node))
        if reader is None and is_foreign(node) and self._name(node) is not None:
            raise self._unknown(node)  # before its arguments, whose names only the parser knows
        refuse_unread(node, arguments_of(node), self.statement)
        if reader is not None:
            return reader(self, node)
        return field_function(self, node) or self._function(node)

    def error(self, node: exp.Expression, what: str, *, why: str, fix: str) -> DPFrameError:
        """An error at this node."""
        return sql_error(node, self.statement, what, why=why, fix=fix)

    def value(self, node: exp.Expression | None) -> Any:
        """The value of a literal, or an error: parameters are fixed before any row is read."""
        match node:
            case exp.Literal() if node.is_string:
                return node.this
            case exp.RawString():
                return node.this
            case exp.Literal():
                return self._number(node, node.this)
            case exp.Boolean():
                return bool(node.this)
            case exp.Null():
                return None
            case exp.Neg(this=exp.Literal() as inner) if not inner.is_string:
                return self._number(node, f"-{inner.this}")
            case exp.Paren():
                return self.value(node.this)
            case exp.DPipe() if all(_is_text(n) for n in (node.this, node.expression)):
                return node.this.this + node.expression.this
            case exp.Cast():
                return self._dated(node)
        raise self.error(
            node or exp.Null(),
            "is not a literal",
            why="this argument must be fixed before any row is read",
            fix="EXP(y * LN(x)) for POWER(x, y)"
            if node is not None and isinstance(node.parent, exp.Pow)
            else "write a constant in its place",
        )

    def _number(self, node: exp.Expression, text: str) -> int | float:
        number = _number(text)
        if not math.isfinite(number):
            raise self.error(
                node, "is no finite number", why="it is larger than 1.8e308", fix="write it smaller"
            )
        return number

    def _refuse_known(self, node: exp.Expression) -> None:
        words = REFUSED.get(type(node))
        if isinstance(node, exp.Anonymous):
            words = REFUSED_NAMES.get(node.name.lower())
        if words is not None:
            what, why, fix = words
            raise self.error(node, what, why=why, fix=fix)

    def _place(self, node: exp.Expression) -> SQLOrigin | None:
        return origin_of(node, self.statement)

    def call(
        self, name: str, node: exp.Expression, args: list[exp.Expression], params: Any = ()
    ) -> Call:
        """A call of an entry of the function table, of what these nodes are read as."""
        return Call(name, tuple(self.read(a) for a in args), tuple(params), self._place(node))

    def _function(self, node: exp.Expression) -> Expr:
        function = function_of(node)
        if function is None:
            raise self._unknown(node)
        given = [a for key in node.arg_types for a in _expressions(node.args.get(key))]
        if isinstance(node, exp.Anonymous):
            given = node.expressions
        if function.literals:
            fewest = _OPTIONAL_LITERALS.get(function.name, function.literals)
            if not fewest < len(given) <= 1 + function.literals:
                raise self.error(
                    node,
                    f"{function.name.upper()} has too few or too many arguments",
                    why=f"it takes {1 + fewest}"
                    + (f" or {1 + function.literals}" if fewest < function.literals else ""),
                    fix="add or drop an argument",
                )
            return self.call(function.name, node, given[:1], [self.value(g) for g in given[1:]])
        return self.call(function.name, node, given)

    def _name(self, node: exp.Expression) -> str | None:
        """The name that a node is called by in the text, if it is written as a call."""
        place = self._place(node)
        written = re.match(r"\w+(?=\s*\()", place.text()) if place is not None else None
        return None if written is None else written.group().upper()

    def _unknown(self, node: exp.Expression) -> DPFrameError:
        name = self._name(node)
        if name is None:
            return self.error(
                node,
                "is not an expression that is known",
                why="each one needs proven bounds, and the same meaning on every engine",
                fix="the functions are " + ", ".join(known_functions()),
            )
        known = known_functions()
        near = difflib.get_close_matches(name, known, n=1)
        return self.error(
            node,
            f"the function {name} is not known" + (f"; {near[0]} is" if near else ""),
            why="a function needs proven bounds, and the same meaning on every engine",
            fix="use one of " + ", ".join(known),
        )

    def _dated(self, node: exp.Cast) -> Any:
        """DATE '2024-01-31', which parses as a cast of a literal."""
        text, target = self.value(node.this), self._type(node)
        if target in ("DATE", "TIMESTAMP") and isinstance(text, str):
            try:
                return literal_as(text, Type(target))
            except Refused as refusal:
                why, fix = refusal.why, refusal.fix
            raise self.error(node, "is not a constant of its type", why=why, fix=fix)
        raise self.error(
            node,
            "is not a literal",
            why="this argument must be fixed before any row is read",
            fix="write the constant itself",
        )

    def _type(self, node: exp.Expression) -> str:
        name = node.args["to"].this
        plain = getattr(name, "name", str(name))
        if plain not in _TYPES or node.args["to"].expressions:
            raise self.error(
                node,
                f"there is no CAST to {node.args['to'].sql('duckdb')}",
                why="narrow floats, decimals and nested types have no exact code",
                fix="CAST(x AS DOUBLE), or one of " + ", ".join(sorted(set(_TYPES.values()))),
            )
        return _TYPES[plain]


def _is_text(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and bool(node.is_string)


def _number(text: str) -> int | float:
    try:
        whole = int(text)
    except ValueError:
        return float(text)
    found: int | float = of_64_bits(whole)
    return found


def _expressions(value: Any) -> list[exp.Expression]:
    if isinstance(value, list):
        return [v for v in value if isinstance(v, exp.Expression)]
    return [value] if isinstance(value, exp.Expression) else []


def _literal(reader: ExprReader, node: exp.Expression) -> Expr:
    return literal(reader.value(node), origin_of(node, reader.statement))


def _cast(reader: ExprReader, node: exp.Expression) -> Expr:
    target = reader._type(node)
    constant = isinstance(node.this, exp.Literal) and node.this.is_string
    if constant and target in ("DATE", "TIMESTAMP"):
        return literal(reader.value(node), origin_of(node, reader.statement))
    rounding = node.meta.get("rounding")
    params = (target,) if rounding is None else (target, rounding)
    return reader.call("cast", node, [node.this], params)


def _connected(reader: ExprReader, node: Any) -> Expr:
    """Read a AND b AND c as one call of three arguments, however long the chain is."""
    found = reader.call(node.key, node, list(node.flatten()))
    flat = [e for arg in found.args for e in _terms(arg, found.function)]
    return replace(found, args=tuple(flat))


def _terms(expr: Expr, function: str) -> tuple[Expr, ...]:
    return expr.args if isinstance(expr, Call) and expr.function == function else (expr,)


def _like(reader: ExprReader, node: exp.Expression, escape: Any = None) -> Expr:
    if not isinstance(node, exp.Like | exp.ILike):
        raise reader.error(node, "ESCAPE stands after LIKE", why="only", fix="x LIKE 'a!%'")
    pattern = reader.value(node.expression)
    escape = node.meta.get("escape") if escape is None else escape
    if pattern is None:
        return literal(None, origin_of(node, reader.statement))
    if not isinstance(pattern, str):
        raise reader.error(node, "LIKE takes a text", why="a pattern is text", fix="x LIKE 'a%'")
    params = (pattern,) if escape is None else (pattern, escape)
    found = reader.call(node.key, node, [node.this], params)
    return Call("not", (found,), place=found.place) if node.args.get("negate") else found


def _negated(reader: ExprReader, node: exp.Expression) -> Expr:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return _literal(reader, node)
    return reader.call("negate", node, [node.this])


def _case(reader: ExprReader, node: exp.Expression) -> Expr:
    place = origin_of(node, reader.statement)
    args: list[Expr] = []
    subject = None if node.this is None else reader.read(node.this)
    for arm in node.args["ifs"]:
        test = reader.read(arm.this)
        if subject is not None:
            test = Call("equal", (subject, test), place=place)
        args += [test, reader.read(arm.args["true"])]
    default = node.args.get("default")
    args.append(literal(None) if default is None else reader.read(default))
    return Call("case", tuple(args), place=place)


def _if(reader: ExprReader, node: exp.Expression) -> Expr:
    otherwise = node.args.get("false") or exp.Null()
    return reader.call("case", node, [node.this, node.args["true"], otherwise])


def _in(reader: ExprReader, node: exp.Expression) -> Expr:
    if node.args.get("query") is not None or not node.expressions:
        raise reader.error(
            node,
            "IN takes a list of constants",
            why="a subquery over private rows needs its own bound on what one unit changes",
            fix="x IN ('a', 'b')",
        )
    place = origin_of(node, reader.statement)
    constants = [e for e in node.expressions if not e.find(exp.Column)]
    values = tuple(reader.value(e) for e in constants)
    listed = tuple(v for v in values if v is not None)
    found: list[Expr] = []
    if listed:
        found.append(Call("in", (reader.read(node.this),), listed, place))
    for other in node.expressions:
        if other.find(exp.Column):
            found.append(Call("equal", (reader.read(node.this), reader.read(other)), place=place))
    # x IN (1, NULL) is true or unknown, never false.
    if len(listed) < len(values):
        found.append(literal(None))
    return found[0] if len(found) == 1 else Call("or", tuple(found), place=place)


def _between(reader: ExprReader, node: exp.Expression) -> Expr:
    value, place = reader.read(node.this), origin_of(node, reader.statement)
    low, high = reader.read(node.args["low"]), reader.read(node.args["high"])
    return Call(
        "and",
        (
            Call("greater_equal", (value, low), place=place),
            Call("less_equal", (value, high), place=place),
        ),
        place=place,
    )


def _is(reader: ExprReader, node: exp.Expression) -> Expr:
    if isinstance(node.expression, exp.Null):
        return reader.call("is_null", node, [node.this])
    if isinstance(node.expression, exp.Boolean):
        place = origin_of(node, reader.statement)
        distinct = reader.call("is_distinct", node, [node.this, node.expression])
        return Call("not", (distinct,), place=place)
    raise reader.error(node, "IS takes NULL, TRUE or FALSE", why="nothing else is", fix="x IS NULL")


def _not_distinct(reader: ExprReader, node: exp.Expression) -> Expr:
    distinct = reader.call("is_distinct", node, [node.this, node.expression])
    return Call("not", (distinct,), place=origin_of(node, reader.statement))


def _nullif(reader: ExprReader, node: exp.Expression) -> Expr:
    place = origin_of(node, reader.statement)
    value, other = reader.read(node.this), reader.read(node.expression)
    return Call(
        "case", (Call("equal", (value, other), place=place), literal(None), value), place=place
    )


def _trim(reader: ExprReader, node: exp.Expression) -> Expr:
    if node.expression is not None:
        raise reader.error(
            node,
            "TRIM removes spaces only",
            why="other characters are not supported",
            fix="TRIM(x)",
        )
    side = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(
        str(node.args.get("position") or ""), "trim"
    )
    return reader.call(side, node, [node.this])


def _escaped(reader: ExprReader, node: exp.Escape) -> Expr:
    return _like(reader, node.this, reader.value(node.expression))


_READERS: dict[type[exp.Expression], Callable[[ExprReader, Any], Expr]] = {
    exp.Literal: _literal,
    exp.Boolean: _literal,
    exp.Null: _literal,
    exp.Paren: lambda reader, node: reader.read(node.this),
    exp.And: _connected,
    exp.Or: _connected,
    exp.Neg: _negated,
    exp.Like: _like,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Case: _case,
    exp.If: _if,
    exp.In: _in,
    exp.Between: _between,
    exp.Is: _is,
    exp.NullSafeEQ: _not_distinct,
    exp.EqualNull: _not_distinct,
    exp.Nullif: _nullif,
    exp.Trim: _trim,
    exp.ILike: _like,
    exp.Escape: _escaped,
    exp.RawString: _literal,
    exp.Pi: lambda reader, node: literal(math.pi, origin_of(node, reader.statement)),
    **FORM_READERS,
    **TIME_READERS,
}

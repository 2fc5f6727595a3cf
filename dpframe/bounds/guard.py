"""Expressions that stay total where only WHERE bounds their inputs.

What a WHERE clause proves lets arithmetic stay in 64 bits. But an engine may compute an expression
before it drops the rows that fail: DuckDB moves conditions on a subquery's columns, and on group
keys, below its filter. Such a row would overflow, and the error would tell of it. So where the
proof decides how an expression is computed, its columns are clamped to what was proven: that
changes no row that passes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dpframe.bounds.analysis import Typed, typed
from dpframe.bounds.refine import refined
from dpframe.errors import QueryError
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, Literal, transform


def guarded(expr: Expr, columns: Mapping[str, Domain], where: Expr | None) -> Expr:
    """The same value in rows that pass `where`, and no error in those that fail.

    >>> from dpframe.plan.exprs import literal
    >>> x, columns = Column("x"), {"x": Domain(Type.INT)}
    >>> below = Call("less", (x, literal(9)))
    >>> above = Call("greater", (x, literal(0)))
    >>> both = Call("and", (below, above))
    >>> guarded(Call("add", (x, x)), columns, both).args[0].function
    'case'
    >>> guarded(x, columns, both) == x
    True
    """
    if isinstance(expr, AggregateCall):
        kept = None if expr.where is None else guarded(expr.where, columns, where)
        return replace(expr, args=tuple(guarded(a, columns, where) for a in expr.args), where=kept)
    if where is None or not isinstance(expr, Call):
        return expr
    narrow = refined(columns, where)
    if _executed(expr, columns) == _executed(expr, narrow):
        return expr

    def change(inner: Expr) -> Expr | None:
        if not isinstance(inner, Column):
            return None
        return _clamped(inner, columns[inner.name], narrow[inner.name])

    return transform(expr, change)


def _executed(expr: Expr, columns: Mapping[str, Domain]) -> Expr | None:
    try:
        found: Typed = typed(expr, columns)
    except QueryError:
        return None
    return found.expr


def _clamped(column: Column, wide: Domain, narrow: Domain) -> Expr:
    """A column inside the bounds that WHERE proves; what lies outside fails anyway."""
    same = (wide.low, wide.high) == (narrow.low, narrow.high)
    if same or not narrow.is_bounded or narrow.type in (Type.TEXT, Type.BOOL):
        return column
    low, high = Literal(narrow.low, narrow.type), Literal(narrow.high, narrow.type)
    below, above = Call("less", (column, low)), Call("greater", (column, high))
    return Call("case", (below, low, above, high, column), place=column.place)

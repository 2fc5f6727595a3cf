"""Expressions: columns, literals, calls of known functions and of aggregates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from dpframe.plan.domains import Type, type_of_value


class Origin(Protocol):
    """The place in what the user wrote that an expression was read from."""

    def text(self) -> str:
        """The words themselves."""

    def pointer(self) -> str:
        """Lines that show the place, for an error message; empty where there is none."""

    def advice(self, fix: str) -> str:
        """A fix that is written as SQL, in the language that the user writes."""


@dataclass(frozen=True, slots=True)
class Expr:
    """A value per row (or, above an aggregate, per group)."""

    @property
    def children(self) -> tuple[Expr, ...]:
        """The expressions this one is computed from."""
        return ()

    @property
    def origin(self) -> Origin | None:
        """Where the user wrote it."""
        return None


@dataclass(frozen=True, slots=True)
class Column(Expr):
    """A column of the rows below."""

    name: str
    place: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def origin(self) -> Origin | None:
        return self.place


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant. The type is a field because `1 == True == 1.0` in Python."""

    value: Any
    type: Type
    place: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def origin(self) -> Origin | None:
        return self.place


def literal(value: Any, place: Origin | None = None) -> Literal:
    """A constant of the type that its value has.

    >>> literal(1) == literal(True)
    False
    """
    return Literal(value, type_of_value(value), place)


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A function of the table in `plan.functions`, of expressions and of fixed parameters.

    Parameters are what must be known before any row is read: the pattern of LIKE, the list of IN,
    the unit of DATE_TRUNC.
    """

    function: str
    args: tuple[Expr, ...]
    params: tuple[Any, ...] = ()
    place: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args

    @property
    def origin(self) -> Origin | None:
        return self.place


@dataclass(frozen=True, slots=True)
class AggregateCall(Expr):
    """An aggregate by its SQL name: `AVG(cost) FILTER (WHERE age > 17)`."""

    name: str
    args: tuple[Expr, ...]
    distinct: bool = False
    where: Expr | None = None
    place: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (*self.args, self.where) if self.where is not None else self.args

    @property
    def origin(self) -> Origin | None:
        return self.place


@dataclass(frozen=True, slots=True)
class WindowOrder:
    """What the rows of a window are ordered by."""

    expr: Expr
    descending: bool = False
    nulls_last: bool = True


@dataclass(frozen=True, slots=True)
class WindowCall(Expr):
    """A function of many rows of a noisy table: `SUM(n) OVER (PARTITION BY ward ORDER BY month)`."""

    name: str
    args: tuple[Expr, ...] = ()
    partition: tuple[Expr, ...] = ()
    order: tuple[WindowOrder, ...] = ()
    frame: str = ""
    """Which rows around each one are looked at, in SQL; empty for what SQL says without it."""
    place: Origin | None = field(default=None, compare=False, repr=False)

    @property
    def children(self) -> tuple[Expr, ...]:
        return (*self.args, *self.partition, *(by.expr for by in self.order))

    @property
    def origin(self) -> Origin | None:
        return self.place


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and everything in it, outermost first."""
    yield expr
    for child in expr.children:
        yield from walk(child)


MOST_TERMS = 5_000
"""Terms of one expression, once what it reads is written out; columns of columns grow fast."""


def number_of_terms(expr: Expr) -> int:
    """How many terms it has, written out; what it holds several times is looked at once."""
    sizes: dict[int, int] = {}

    def size(each: Expr) -> int:
        if id(each) not in sizes:
            sizes[id(each)] = 1 + sum(size(child) for child in each.children)
        return sizes[id(each)]

    return size(expr)


def columns_of(expr: Expr) -> tuple[str, ...]:
    """The names of the columns that it reads, in order of first use, once each."""
    return tuple(dict.fromkeys(e.name for e in walk(expr) if isinstance(e, Column)))


def transform(expr: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """Rebuild from the top: where `change` answers, its answer stands; elsewhere descend."""
    changed = change(expr)
    if changed is not None:
        return changed
    match expr:
        case Call():
            return replace(expr, args=tuple(transform(a, change) for a in expr.args))
        case AggregateCall():
            return replace(
                expr,
                args=tuple(transform(a, change) for a in expr.args),
                where=None if expr.where is None else transform(expr.where, change),
            )
        case WindowCall():
            return replace(
                expr,
                args=tuple(transform(a, change) for a in expr.args),
                partition=tuple(transform(p, change) for p in expr.partition),
                order=tuple(replace(by, expr=transform(by.expr, change)) for by in expr.order),
            )
        case _:
            return expr


def conjuncts(expr: Expr | None) -> tuple[Expr, ...]:
    """The conditions that are ANDed together, flattened."""
    if expr is None:
        return ()
    if isinstance(expr, Call) and expr.function == "and":
        return tuple(c for arg in expr.args for c in conjuncts(arg))
    return (expr,)


def conjunction(conditions: tuple[Expr, ...]) -> Expr | None:
    """AND them together, each once; None for no condition at all."""
    unique = tuple(dict.fromkeys(conditions))
    if len(unique) <= 1:
        return unique[0] if unique else None
    return Call("and", unique)

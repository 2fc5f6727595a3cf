"""What an aggregate is made of: alternative recipes of parts, and how to finish from noisy ones."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar, Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpframe.bounds.analysis import Typed, condition, refused, typed
from dpframe.declare import Table
from dpframe.errors import QueryError, UnboundedError
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import (
    AggregateCall,
    Call,
    Column,
    Expr,
    columns_of,
    conjunction,
    conjuncts,
)
from dpframe.plan.parts import Part


@dataclass(frozen=True, slots=True)
class Recipe:
    """One way to compute an aggregate.

    `weights` says how far the answer moves when a part's noise moves by one unit of value; it
    steers the split of the budget and the choice between recipes, and has no bearing on privacy.
    """

    parts: Mapping[str, Part]
    weights: Mapping[str, float]
    finish: Callable[[Mapping[str, pl.Expr]], pl.Expr]
    name: str
    possible: Callable[[Mapping[str, pl.Expr]], pl.Expr] | None = None
    """What true parts always satisfy where there is an answer at all; error bars rely on it."""
    redrawn: Callable[[Mapping[str, pl.Expr], Mapping[str, pl.Expr]], pl.Expr] | None = None
    """For error bars: the answer that redrawn parts give, the measured ones given too.

    It is what `finish` makes of them, unless that cuts off what the answer is computed from: noise
    that is cut off on one side is no longer centred. Nor may it fold values over: a square of a
    number that may be on either side of 0 is never seen to be 0. It is NULL where the answer may be
    anything, because what it is divided by may be 0.
    """
    ends: Callable[[Mapping[str, pl.Expr]], tuple[pl.Expr, pl.Expr]] | None = None
    """For error bars: the least and the largest answer that is possible, if only rows are few."""
    place: Place | None = None
    """For parts that are grids: `finish` gets the place on the grid that this finds."""
    instead_above: float | None = None
    """Taken instead of the others, and only then, where their deviation would be above this."""

    @property
    def is_bare(self) -> bool:
        """Whether the answer has no error bar."""
        return self.place is not None and not self.place.has_bars


Levels = Sequence[NDArray[np.float64]]
"""Noisy counts, one array per part: one row per group, one column per cell."""


_Floats = NDArray[np.float64]
Span = tuple[_Floats, _Floats, _Floats, _Floats]
"""The first and the last end of the cells that a place may lie in; and of what is likely of these."""


class Place(Protocol):
    """A place on a grid of noisy counts, in codes above the lowest one; NaN where there is none.

    `deviations` are the standard deviations of the noise, one per part.
    """

    def find(self, counts: Levels, deviations: Sequence[float]) -> NDArray[np.float64]:
        """The place in each group."""

    def possible(
        self, counts: Levels, deviations: Sequence[float], normals: NDArray[np.float64]
    ) -> Span:
        """Where the true place may be, for each normal: a draw of its confidence distribution.

        The true place is left of the first end about as often as a normal number is below this one,
        and right of the last end as often as one is above.
        """

    @property
    def has_bars(self) -> bool:
        """Whether `possible` says anything of how far off the place may be."""

    @property
    def is_chosen(self) -> bool:
        """Whether a private choice has a say in the place, which then may lie outside `possible`."""

    @property
    def is_apart(self) -> bool:
        """Whether, given the place that `find` gives, the draws of `possible` come from fresh noise."""

    def influence(self, counts: Levels, deviations: Sequence[float]) -> NDArray[np.float64]:
        """How the noise of each cell, of all parts, enters: places with like ones move alike."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The rows that an aggregate ranges over: their table, and what is known of their columns."""

    table: Table
    columns: Mapping[str, Domain] = field(hash=False)
    groups: int | None = 1
    """How many groups there are; None where their keys are still to be chosen."""


class Aggregate(ABC):
    """An aggregate of SQL. A new one is one file: a subclass with `@aggregate`."""

    sql_names: ClassVar[tuple[str, ...]]
    """The SQL names that are read as this aggregate."""

    is_linear: ClassVar[bool] = True
    """Whether the answer moves with the noise of its parts by fixed factors: its weights."""

    @classmethod
    @abstractmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Aggregate:
        """Check the arguments, or refuse with the place and the fix."""

    @property
    @abstractmethod
    def result(self) -> Domain:
        """The type of the answer, for what is computed from it afterwards."""

    @property
    def family(self) -> Hashable:
        """Aggregates of one family take recipes of the same number; None for none."""
        return None

    def beside(self, others: Sequence[Aggregate]) -> Aggregate:
        """The aggregate as it is measured in a query that asks for these too."""
        return self

    def without_bars(self) -> Aggregate:
        """The same with nothing spent on error bars alone; where they come for free, they stay."""
        return self

    @abstractmethod
    def recipes(self) -> tuple[Recipe, ...]:
        """The ways to compute it."""

    def terms(self) -> Mapping[Part, Fraction] | None:
        """The answer as a sum of parts, each times a fixed factor; None where it is no such sum."""
        parts = self.recipes()[0].parts
        if not self.is_linear or len(parts) != 1:
            return None
        return dict.fromkeys(parts.values(), Fraction(1))


_LAST_INTEGER = float(2**63 - 2**10)
"""The largest float that is a 64-bit integer."""


def nearest_integer(value: pl.Expr) -> pl.Expr:
    """The nearest 64-bit integer; at the ends of their range, where noise or a sum leads beyond it."""
    return value.cast(pl.Float64).round(0).clip(-_LAST_INTEGER, _LAST_INTEGER).cast(pl.Int64)


WHOLE = Domain(Type.INT, -(2**50), 2**50, nullable=False)
"""The result of counting. The bounds only say that small multiples of it are integers again."""

REAL = Domain(Type.FLOAT, nullable=False)
"""The result of averaging."""

MOST_CELLS = 2**20
"""All groups together have this many cells of a grid."""

_LARGEST = 1e300
"""Numbers up to this are added up; the noise of a unit's many rows must still be a float."""

AGGREGATES: dict[str, type[Aggregate]] = {}

_A = TypeVar("_A", bound=type[Aggregate])


def aggregate(cls: _A) -> _A:
    """Register an aggregate under its SQL names."""
    for name in cls.sql_names:
        AGGREGATES[name] = cls
    return cls


# --- what several aggregates need ----------------------------------------------------------------


def only_argument(call: AggregateCall, scope: Scope) -> Typed:
    """The one argument of an aggregate, analysed."""
    if len(call.args) != 1:
        raise refused(
            call,
            f"has {len(call.args)} arguments",
            why=f"{call.name} takes one",
            fix=f"{call.name}(x)",
        )
    return typed(call.args[0], scope.columns)


def not_distinct(call: AggregateCall) -> None:
    """Refuse DISTINCT where it would have to be ignored."""
    if call.distinct:
        raise refused(
            call,
            "is not supported",
            why="distinct values are counted, not added up; ignoring DISTINCT would be wrong",
            fix=f"{call.name}(x) without DISTINCT, or COUNT(DISTINCT x)",
        )


def two_arguments(call: AggregateCall, names: str) -> None:
    """Refuse another number of arguments than the two that go by these names."""
    if len(call.args) != 2:
        raise refused(
            call,
            f"has {len(call.args)} arguments",
            why=f"{call.name} takes two",
            fix=f"{call.name}({names})",
        )


def summable(call: AggregateCall, scope: Scope) -> Typed:
    """The argument of SUM or AVG: a number with declared bounds."""
    not_distinct(call)
    found = only_argument(call, scope)
    if found.domain.type is Type.BOOL:
        found = typed(Call("cast", call.args, ("BIGINT",), place=call.place), scope.columns)
    if not found.domain.type.is_number:
        raise refused(
            call,
            f"adds up a {found.domain.type.value}",
            why="only numbers have a sum",
            fix=_not_summable_fix(call, found.domain.type),
            kind=QueryError,
        )
    return bounded(call, found, scope)


def _not_summable_fix(call: AggregateCall, kind: Type) -> str:
    """What can be asked of values that are no numbers."""
    text = argument_text(call)
    if kind.is_temporal:
        written = f"AVG({text})" if text == "x" or call.origin is None else call.origin.text()
        alone = rf"(?<!\w){re.escape(text)}(?!\w)"
        seconds = re.sub(alone, lambda _: f"EPOCH({text})", written, count=1)
        return f"MEDIAN({text}), or {seconds}, of seconds since 1970"
    return f"COUNT(DISTINCT {text}), or COUNT({text})"


def argument_text(call: AggregateCall, index: int = 0) -> str:
    """A column that an aggregate is of, as it was written, for a fix; x for an expression."""
    column = call.args[index] if index < len(call.args) else None
    whole = call.origin
    if isinstance(column, Column) and column.origin is not None and whole is not None:
        text = column.origin.text()
        # What a subquery computes is written there, and has another name here.
        return text if text in whole.text() else "x"
    return "x"


def bounded(call: AggregateCall, found: Typed, scope: Scope) -> Typed:
    """The analysed first argument of an aggregate, refused unless its range is known."""
    if not found.domain.is_bounded:
        raise refused(
            call,
            "has no bounds",
            why=_unbounded_reason(call.args[0], scope),
            fix=_unbounded_fix(call.args[0], scope) + _learned_fix(found.domain.type),
            kind=UnboundedError,
        )
    ends = (found.domain.low, found.domain.high)
    if found.domain.type.is_number and max(map(abs, ends)) > _LARGEST:
        raise refused(
            call,
            "has bounds that are too large",
            why=f"sums of numbers beyond {_LARGEST:g} leave the range of floats",
            fix="bound it in the query: SUM(GREATEST(low, LEAST(x, high)))",
            kind=UnboundedError,
        )
    return found


def _unbounded_columns(expr: Expr, scope: Scope) -> list[str]:
    found = [c for c in columns_of(expr) if not scope.columns[c].is_bounded]
    return [c for c in found if scope.columns[c].type is not Type.TEXT]  # which takes no range


def _unbounded_reason(expr: Expr, scope: Scope) -> str:
    open_columns = _unbounded_columns(expr, scope)
    if open_columns and not scope.table.name:  # columns of derived rows have names of our own
        return (
            "one row could change the answer without limit: no range is declared for what it is"
            " computed from, or it counts or adds up rows, which may be any number"
        )
    if open_columns:
        return f"one row could change the answer without limit: no range is declared for {', '.join(open_columns)}"
    return "the expression can grow without limit within the declared ranges (a division by a range that holds 0, say)"


def _unbounded_fix(expr: Expr, scope: Scope) -> str:
    open_columns = _unbounded_columns(expr, scope) if scope.table.name else []
    if open_columns and isinstance(expr, Column):
        return f'session.register(..., columns={{"{open_columns[0]}": dp.Range(low, high)}})'
    if open_columns:
        ranges = ", ".join(f'"{c}": dp.Range(low, high)' for c in open_columns)
        return f"session.register(..., columns={{{ranges}}})"
    return "bound it in the query: SUM(GREATEST(low, LEAST(x, high)))"


def _learned_fix(kind: Type) -> str:
    numbers = kind in (Type.INT, Type.FLOAT)
    return '; or release with bounds="auto", which learns a range' if numbers else ""


def rows_where(call: AggregateCall, scope: Scope, present: Typed | None = None) -> Expr | None:
    """The condition under which a row counts: its FILTER, and a value that is not NULL."""
    conditions: tuple[Expr, ...] = ()
    if call.where is not None:
        conditions = conjuncts(condition(call.where, scope.columns).expr)
    if present is not None and present.domain.nullable:
        conditions += (Call("not", (Call("is_null", (present.expr,)),)),)
    return conjunction(conditions)

"""COUNT: of rows, of values, of pairs, of units, of different values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import (
    WHOLE,
    Aggregate,
    Recipe,
    Scope,
    aggregate,
    nearest_integer,
    not_distinct,
    only_argument,
    rows_where,
)
from dpframe.aggregates.cells import Occupied, cells_of
from dpframe.aggregates.moments import present_rows
from dpframe.bounds.analysis import Typed, condition, refused, typed
from dpframe.plan.domains import Domain, Type, number_of_values
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, conjunction, conjuncts
from dpframe.plan.parts import CountDistinct, CountRows, CountUnits, GridCounts, Part


@aggregate
@dataclass(frozen=True, slots=True)
class Count(Aggregate):
    """The noisy number of rows, of non-null values, of units, or of different values.

    Guarantee: one unit moves the count of rows by at most its weight, over all groups together;
    it moves the count of units by at most 1 in each group it is in, and the count of different
    values by at most the weight of those that it holds, of which there are no more than possible.

    Where the noise of a count of different values would leave more than a quarter of what is possible
    open, they are counted one by one: guarantee that of `GridCounts`, which is as private. What has
    more rows than the noise hides is then known to be there, and error bars hold no more than all.
    """

    sql_names: ClassVar[tuple[str, ...]] = (
        *("COUNT", "COUNT_IF", "APPROX_DISTINCT", "N_UNIQUE"),
        "REGR_COUNT",
    )
    part: Part
    cells: GridCounts | None = None
    """Of different values, the rows that have each, where they can be counted."""

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Count:
        if call.distinct or call.name in ("APPROX_DISTINCT", "N_UNIQUE"):
            part = _different(call, scope)
            return cls(part, _each_counted(call, part, scope))
        if call.name == "COUNT_IF":
            true = condition(call.args[0], scope.columns).expr
            return cls(CountRows(conjunction((*conjuncts(rows_where(call, scope)), true))))
        if call.name == "REGR_COUNT":
            return cls(CountRows(_pairs(call, scope)))
        if not call.args:
            return cls(CountRows(rows_where(call, scope)))
        return cls(CountRows(rows_where(call, scope, only_argument(call, scope))))

    @property
    def result(self) -> Domain:
        return WHOLE

    def recipes(self) -> tuple[Recipe, ...]:
        def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
            return nearest_integer(noisy["count"])

        alone = Recipe({"count": self.part}, {"count": 1.0}, finish, "a count")
        if self.cells is None:
            return (alone,)
        each = Recipe(
            {"counts": self.cells},
            {"counts": 1.0},
            lambda noisy: nearest_integer(noisy["place"]),
            f"counts of its {self.cells.size:,} values: the noise of their number would be larger",
            place=Occupied(),
            # Then a 95% interval of the number, about four deviations from end to end, is wider than
            # a quarter of the values: more than those that are expected to have only a few rows.
            instead_above=self.cells.size / 16,
        )
        return alone, each


def _each_counted(call: AggregateCall, part: Part, scope: Scope) -> GridCounts | None:
    """The cells of single values; tuples have none."""
    if not isinstance(part, CountDistinct) or part.beside:
        return None
    return cells_of(call, only_argument(call, scope), part.condition, scope)


def _pairs(call: AggregateCall, scope: Scope) -> Expr | None:
    """The condition under which a row counts in a regression: both of its numbers are there."""
    not_distinct(call)
    kinds = [typed(arg, scope.columns).domain.type for arg in call.args]
    if len(kinds) != 2 or not all(kind.is_number or kind is Type.BOOL for kind in kinds):
        raise refused(
            call,
            f"has {len(kinds)} arguments" if len(kinds) != 2 else "is not of numbers",
            why="a regression is of two numbers",
            fix="REGR_COUNT(y, x), or COUNT(*) FILTER (WHERE y IS NOT NULL AND x IS NOT NULL)",
        )
    return present_rows(call, scope)


def _different(call: AggregateCall, scope: Scope) -> Part:
    """COUNT(DISTINCT x): of units where x names them, else of values."""
    where = rows_where(call, scope)
    if call.args == (Column(scope.table.unit_column or ""),):
        # SQL's COUNT(DISTINCT x) leaves NULL out, though NULL is a unit like any other.
        present = Call("not", (Call("is_null", call.args),))
        return CountUnits(conjunction((*conjuncts(where), present)))
    if len(call.args) > 1 and call.name != "APPROX_DISTINCT":
        return _different_tuples(call, scope)
    value = only_argument(call, scope)
    if call.name == "N_UNIQUE" and value.domain.nullable:
        # NULL is one more value: a pair is not NULL, whatever is in it.
        missing = typed(Call("is_null", (value.expr,), place=call.place), scope.columns)
        beside = ((missing.expr, missing.domain.type),)
        possible = _possible([value], nulls=True)
        return CountDistinct(where, value.expr, value.domain.type, beside, possible)
    possible = _possible([value], nulls=False)
    return CountDistinct(where, value.expr, value.domain.type, possible=possible)


def _different_tuples(call: AggregateCall, scope: Scope) -> Part:
    """COUNT(DISTINCT a, b), of rows without NULL in them; or N_UNIQUE, where NULL is a value."""
    found = [typed(arg, scope.columns) for arg in call.args]
    conditions = conjuncts(rows_where(call, scope))
    if call.name != "N_UNIQUE":
        nullable = [each.expr for each in found if each.domain.nullable]
        conditions += tuple(Call("not", (Call("is_null", (expr,)),)) for expr in nullable)
    first, *others = ((each.expr, each.domain.type) for each in found)
    possible = _possible(found, nulls=call.name == "N_UNIQUE")
    return CountDistinct(conjunction(conditions), *first, tuple(others), possible)


def _possible(values: Sequence[Typed], *, nulls: bool) -> int | None:
    """How many different tuples of values there can be; None if that may be any number."""
    found = 1
    for value in values:
        number = number_of_values(value.domain)
        if number is None:
            return None
        found *= number + (nulls and value.domain.nullable)
    return found

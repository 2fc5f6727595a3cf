"""SUM: directly, or from a centred sum and a count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import (
    REAL,
    WHOLE,
    Aggregate,
    Recipe,
    Scope,
    aggregate,
    rows_where,
    summable,
)
from dpframe.bounds.analysis import Typed
from dpframe.plan.coding import coding_for
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Expr
from dpframe.plan.parts import CodedSum, CountRows


@aggregate
@dataclass(frozen=True, slots=True)
class Sum(Aggregate):
    """The noisy sum of a bounded number.

    Guarantee: one unit moves it by at most its weight times the largest magnitude in the declared
    range. Where the range does not straddle zero, the deviations from its middle are smaller than
    the values, and middle * count + sum of deviations may be the more accurate recipe.
    """

    sql_names: ClassVar[tuple[str, ...]] = ("SUM",)
    value: Typed
    where: Expr | None
    present: Expr | None
    max_rows: int

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Sum:
        value = summable(call, scope)
        where, present = rows_where(call, scope), rows_where(call, scope, value)
        return cls(value, where, present, scope.table.max_rows)

    @property
    def result(self) -> Domain:
        return REAL if self.value.domain.type is Type.FLOAT else WHOLE

    def recipes(self) -> tuple[Recipe, ...]:
        coding = coding_for(self.value.domain, self.max_rows)
        whole = self.value.domain.type is not Type.FLOAT
        expr, nullable = self.value.expr, self.value.domain.nullable
        direct = CodedSum(self.where, expr, coding, 0, nullable)
        recipes = [
            Recipe(
                {"sum": direct},
                {"sum": 1.0},
                lambda noisy: _as_sum(noisy["sum"], whole),
                "the sum itself",
            )
        ]
        if coding.centre != 0:
            centred = CodedSum(self.where, expr, coding, coding.centre, nullable)
            middle = coding.value(coding.centre)

            def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
                return _as_sum(noisy["deviations"] + middle * noisy["count"], whole)

            recipes.append(
                Recipe(
                    {"deviations": centred, "count": CountRows(self.present)},
                    {"deviations": 1.0, "count": abs(middle)},
                    finish,
                    "a centred sum and a count",
                )
            )
        return tuple(recipes)


def _as_sum(value: pl.Expr, whole: bool) -> pl.Expr:
    """Sums of integers are integers again, while they fit in 64 bits."""
    if not whole:
        return value.cast(pl.Float64)
    return value.cast(pl.Float64).round(0).clip(-(2.0**62), 2.0**62).cast(pl.Int64)

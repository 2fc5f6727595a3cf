"""AVG: a noisy centred sum over a noisy count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import (
    REAL,
    Aggregate,
    Recipe,
    Scope,
    aggregate,
    rows_where,
    summable,
)
from dpframe.bounds.analysis import Typed
from dpframe.plan.coding import coding_for
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Expr
from dpframe.plan.parts import CodedSum, CountRows


@aggregate
@dataclass(frozen=True, slots=True)
class Mean(Aggregate):
    """Noisy centred sum over noisy count, clamped to the declared range.

    Guarantee: that of its two parts. Both are weighted by the same factor per unit, so bounding
    units does not bias the mean. Where the noisy count is below 1 there is
    nothing to go by, and the middle of the range is released; NULL if the table is public.
    """

    sql_names: ClassVar[tuple[str, ...]] = ("AVG", "MEAN")
    is_linear: ClassVar[bool] = False
    value: Typed
    where: Expr | None
    present: Expr | None
    max_rows: int
    public: bool

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Mean:
        value = summable(call, scope)
        where, present = rows_where(call, scope), rows_where(call, scope, value)
        return cls(value, where, present, scope.table.max_rows, scope.table.public)

    @property
    def result(self) -> Domain:
        return REAL.with_nullable(self.public)

    def recipes(self) -> tuple[Recipe, ...]:
        domain = self.value.domain
        coding = coding_for(domain, self.max_rows)
        middle = coding.value(coding.centre)
        half_width = coding.value(coding.magnitude(coding.centre))
        low, high = float(domain.low), float(domain.high)

        def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
            count = noisy["count"].cast(pl.Float64)
            mean = (middle + noisy["deviations"] / count).clip(low, high)
            return pl.when(count >= 1).then(mean).otherwise(None if self.public else middle)

        parts = {
            "deviations": CodedSum(
                self.where, self.value.expr, coding, coding.centre, domain.nullable
            ),
            "count": CountRows(self.present),
        }
        # The count's noise moves the mean by (mean - middle) / n. Where the mean lies is private;
        # half-way between the middle and an end is assumed for the split of the budget.
        weights = {"deviations": 1.0, "count": half_width / 2}
        return (
            Recipe(
                parts,
                weights,
                finish,
                "a centred sum over a count",
                possible=lambda noisy: noisy["count"] >= 1,
            ),
        )

"""AVG: from noisy sums from both ends of the range, or a noisy centred sum over a noisy count."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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
from dpframe.bounds.near import Near, near_zero
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Expr
from dpframe.plan.parts import CountRows, Ends, Part

Noisy = Mapping[str, pl.Expr]


@aggregate
@dataclass(frozen=True, slots=True)
class Mean(Aggregate):
    """How far the values lie above the low end of their range, and below its high end, noisily.

    Guarantee: that of its two parts, which one unit moves together by no more than it may move one
    (`bounds.sensitivity`), so each has the noise of a sum that gets the whole budget. Of noise with
    independent parts none fits what a row can do more closely: its level sets have the shape of
    that set (Hardt and Talwar 2010). The alternative is a centred sum over a count, which the mean
    may share with other aggregates. All parts are weighted by the same factor per unit, so
    bounding units does not bias the mean. Where the noisy count is below 1 there is nothing to go
    by, and the middle of the range is released; NULL if the table is public.
    """

    sql_names: ClassVar[tuple[str, ...]] = ("AVG", "MEAN", "FAVG")
    is_linear: ClassVar[bool] = False
    value: Typed
    near: Near
    where: Expr | None
    present: Expr | None
    public: bool

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Mean:
        value = summable(call, scope)
        where, present = rows_where(call, scope), rows_where(call, scope, value)
        near = near_zero(call.args[0], value, scope.columns, scope.table.max_rows)
        return cls(value, near, where, present, scope.table.public)

    @property
    def result(self) -> Domain:
        return REAL.with_nullable(self.public)

    def recipes(self) -> tuple[Recipe, ...]:
        domain, coding = self.value.domain, self.near.coding
        middle = self.near.value(coding.centre)
        low, high = float(domain.low), float(domain.high)
        deviations = self.near.summed(self.where, coding.centre)

        def known(count: pl.Expr, mean: pl.Expr) -> pl.Expr:
            unknown = None if self.public else middle
            return pl.when(count >= 1).then(mean.clip(low, high)).otherwise(unknown)

        def recipe(
            parts: Mapping[str, Part],
            weights: Mapping[str, float],
            rows: Callable[[Noisy], pl.Expr],
            mean: Callable[[Noisy], pl.Expr],
            name: str,
        ) -> Recipe:
            def redrawn(noisy: Noisy, measured: Noisy) -> pl.Expr:
                """NULL where there are too few rows to go by, where the mean may be anything."""
                return pl.when(rows(noisy) >= 1).then(mean(noisy).clip(low, high))

            return Recipe(
                parts,
                weights,
                lambda noisy: known(rows(noisy), mean(noisy)),
                name,
                possible=lambda noisy: rows(noisy) >= 1,
                redrawn=redrawn,
                ends=lambda noisy: (pl.lit(low), pl.lit(high)),
            )

        # The count's noise moves the mean by (mean - middle) / n. Where the mean lies is private;
        # half-way between the middle and an end is assumed for the split of the budget.
        half_width = coding.half_width
        centred = recipe(
            {"deviations": deviations, "count": CountRows(self.present)},
            {"deviations": 1.0, "count": half_width / 2},
            lambda noisy: noisy["count"].cast(pl.Float64),
            lambda noisy: middle + noisy["deviations"] / noisy["count"].cast(pl.Float64),
            "a centred sum over a count",
        )
        ends = Ends.of(deviations)
        if ends is None:
            return (centred,)
        first, span = self.near.value(coding.low), ends.span

        def rows(noisy: Noisy) -> pl.Expr:
            return (noisy["above"] - noisy["below"]) / span

        # At a quarter of the range, which is what is assumed above, the two weigh 3/4 and 1/4; at
        # three quarters, 1/4 and 3/4.
        weight = math.hypot(3 / 4, 1 / 4) / math.sqrt(2)
        from_ends = recipe(
            {"above": ends.above, "below": ends.below},
            {"above": weight, "below": weight},
            rows,
            lambda noisy: first + noisy["above"] / rows(noisy),
            "sums from both ends of the range",
        )
        return (from_ends, centred)

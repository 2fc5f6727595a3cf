"""WEIGHTED_AVG: values that count more or less."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import (
    Aggregate,
    Recipe,
    Scope,
    aggregate,
    argument_text,
    not_distinct,
    summable,
    two_arguments,
)
from dpframe.aggregates.moments import UNSURE, Centred, averaged, centred, present_rows
from dpframe.bounds.analysis import refused
from dpframe.errors import UnboundedError
from dpframe.plan.coding import coding_for
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Call
from dpframe.plan.parts import CodedSum


@aggregate
@dataclass(frozen=True, slots=True)
class WeightedMean(Aggregate):
    """The noisy sum of weighted deviations from the middle of the range, over that of weights.

    Guarantee: that of its parts, the sum of weights and the sum of each weight times how far its
    value lies from the middle of the declared range, over rows where both are there. Both are
    weighted by the same factor per unit. A weight is not negative, so the mean is inside the range
    of the values. Where the noisy sum of weights is not above 0, NULL is released.
    """

    sql_names: ClassVar[tuple[str, ...]] = ("WAVG", "WEIGHTED_AVG")
    is_linear: ClassVar[bool] = False
    value: Centred
    deviations: CodedSum
    weights: CodedSum

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> WeightedMean:
        not_distinct(call)
        two_arguments(call, "x, w")
        value, weight = centred(call, 0, scope), summable(replace(call, args=call.args[1:]), scope)
        if weight.domain.low < 0:
            x, w = argument_text(call, 0), argument_text(call, 1)
            raise refused(
                call,
                "has weights that may be negative",
                why="their sum may be 0 with any rows at all, and a mean could be anything",
                fix=f"SUM({x} * {w}) / SUM({w}), or GREATEST({w}, 0) for the weight",
                kind=UnboundedError,
            )
        present = present_rows(call, scope)
        product = Call("multiply", (value.expr, call.args[1]), place=call.place)
        # Not `averaged(...).shift`: what is measured are sums, from 0.
        deviations = replace(averaged(product, present, scope).part, centre=0)
        coding = coding_for(weight.domain, scope.table.max_rows)
        weights = CodedSum(present, weight.expr, coding, 0, weight.domain.nullable)
        return cls(value, deviations, weights)

    @property
    def result(self) -> Domain:
        return UNSURE

    def recipes(self) -> tuple[Recipe, ...]:
        value = self.value

        def uncut(noisy: Mapping[str, pl.Expr], measured: Mapping[str, pl.Expr]) -> pl.Expr:
            mean = value.middle + noisy["deviations"] / noisy["weights"]
            return pl.when(noisy["weights"] > 0).then(mean)

        def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
            return uncut(noisy, noisy).clip(value.low, value.high)

        def ends(noisy: Mapping[str, pl.Expr]) -> tuple[pl.Expr, pl.Expr]:
            return 0 * noisy["weights"] + value.low, 0 * noisy["weights"] + value.high

        # The noise of the weights moves the mean by how far it lies from the middle: half-way
        # between the middle and an end is assumed, as for AVG.
        return (
            Recipe(
                {"deviations": self.deviations, "weights": self.weights},
                {"deviations": 1.0, "weights": value.half_width / 2},
                finish,
                "a centred sum of weighted values over a sum of weights",
                possible=lambda noisy: noisy["weights"] > 0,
                redrawn=uncut,
                ends=ends,
            ),
        )

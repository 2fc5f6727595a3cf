"""GEOMETRIC_MEAN: the mean of logarithms, taken back."""

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
    summable,
)
from dpframe.aggregates.mean import Mean
from dpframe.bounds.analysis import refused
from dpframe.errors import UnboundedError
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Call


@aggregate
@dataclass(frozen=True, slots=True)
class GeometricMean(Aggregate):
    """The exponential of the noisy mean of logarithms, as DuckDB's `EXP(AVG(LN(x)))`.

    Guarantee: that of the mean, of values whose logarithms have a range: the declared one has to
    begin above 0.
    """

    sql_names: ClassVar[tuple[str, ...]] = ("GEOMEAN", "GEOMETRIC_MEAN")
    is_linear: ClassVar[bool] = False
    logarithms: Mean

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> GeometricMean:
        value = summable(call, scope)
        if value.domain.low <= 0:
            raise refused(
                call,
                "has logarithms without bounds",
                why="the logarithm falls without limit towards 0, and the declared range holds 0",
                fix=f"EXP(AVG(LN(GREATEST({argument_text(call)}, 1)))), with the least"
                f" {argument_text(call)} that counts in place of 1",
                kind=UnboundedError,
            )
        logarithm = Call("ln", call.args, place=call.place)
        return cls(Mean.read(replace(call, name="AVG", args=(logarithm,)), scope))

    @property
    def result(self) -> Domain:
        return self.logarithms.result

    def recipes(self) -> tuple[Recipe, ...]:
        return tuple(_taken_back(recipe) for recipe in self.logarithms.recipes())


def _taken_back(recipe: Recipe) -> Recipe:
    """The same recipe of logarithms, its answer and all that error bars take from it as exponentials."""
    redrawn, ends = recipe.redrawn, recipe.ends

    def finish(noisy: Noisy) -> pl.Expr:
        return recipe.finish(noisy).exp()

    def again(noisy: Noisy, measured: Noisy) -> pl.Expr:
        assert redrawn is not None
        return redrawn(noisy, measured).exp()

    def limits(noisy: Noisy) -> tuple[pl.Expr, pl.Expr]:
        assert ends is not None
        low, high = ends(noisy)
        return low.exp(), high.exp()

    return replace(
        recipe,
        finish=finish,
        name=f"{recipe.name}, of logarithms",
        redrawn=None if redrawn is None else again,
        ends=None if ends is None else limits,
    )


Noisy = Mapping[str, pl.Expr]

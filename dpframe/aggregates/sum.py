"""SUM: directly, from a centred sum and a count, or from sums from both ends of the range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import (
    REAL,
    WHOLE,
    Aggregate,
    Recipe,
    Scope,
    aggregate,
    nearest_integer,
    rows_where,
    summable,
)
from dpframe.bounds.near import Near, near_zero
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Expr
from dpframe.plan.parts import CodedSum, CountRows, Ends, Part

_SMALL = 2**20
"""Integers up to this are summed to integers: 2^30 rows of them stay below 2^50."""


@aggregate
@dataclass(frozen=True, slots=True)
class Sum(Aggregate):
    """The noisy sum of a bounded number.

    Guarantee: one unit moves it by at most its weight times the largest magnitude in the declared
    range. Where the range does not straddle zero, the deviations from its middle are smaller than
    the values, and middle * count + sum of deviations may be the more accurate recipe. Beside a
    mean or a count, sums from both ends of the range serve all of them. Far from zero only these two
    are fine enough: what is summed is how far values lie above the low end of their range.

    Over no values it is 0 and noise, never NULL: that would tell that there are none. A public table
    may tell, and there it is NULL as in SQL. Sums are exact before the noise, so those that DuckDB
    has for accuracy (FSUM, KAHAN_SUM) are the same.
    """

    sql_names: ClassVar[tuple[str, ...]] = ("SUM", "FSUM", "KAHAN_SUM", "SUMKAHAN")
    near: Near
    where: Expr | None
    present: Expr | None
    public: bool

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Sum:
        value = summable(call, scope)
        where, present = rows_where(call, scope), rows_where(call, scope, value)
        near = near_zero(call.args[0], value, scope.columns, scope.table.max_rows)
        return cls(near, where, present, scope.table.public)

    @property
    def result(self) -> Domain:
        return (WHOLE if self._is_whole else REAL).with_nullable(self.public)

    @property
    def _is_whole(self) -> bool:
        """Sums of small integers are integers again; larger ones might not fit in 64 bits."""
        coding = self.near.coding
        return not self.near.offset and coding.is_integer and coding.magnitude() <= _SMALL

    def recipes(self) -> tuple[Recipe, ...]:
        near, coding, whole = self.near, self.near.coding, self._is_whole
        direct = near.summed(self.where, 0)
        if self.public:
            return (_exact_sum(direct, CountRows(self.present), near.offset, whole),)
        if near.offset and coding.low == coding.high:
            return (_multiple(CountRows(self.present), float(near.offset)),)
        recipes = []
        if not near.offset:
            recipes.append(
                Recipe(
                    {"sum": direct},
                    {"sum": 1.0},
                    lambda noisy: _as_sum(noisy["sum"], whole),
                    "the sum itself",
                )
            )
        if near.offset or coding.centre != 0:
            centred = near.summed(self.where, coding.centre)
            middle = near.value(coding.centre)

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
        ends = Ends.of(direct)
        low, high = near.value(coding.low), near.value(coding.high)
        # With an end at zero, the sum itself is one of the two.
        if ends is not None and low != 0 and high != 0:
            span = ends.span

            def from_ends(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
                return _as_sum((high * noisy["above"] - low * noisy["below"]) / span, whole)

            recipes.append(
                Recipe(
                    {"above": ends.above, "below": ends.below},
                    {"above": abs(high) / span, "below": abs(low) / span},
                    from_ends,
                    "sums from both ends of the range",
                )
            )
        return tuple(recipes)

    def terms(self) -> Mapping[Part, Fraction] | None:
        if self.public or not self.near.offset:
            return Aggregate.terms(self)
        deviations, counted = self.near.summed(self.where, 0), CountRows(self.present)
        return {deviations: Fraction(1), counted: Fraction(self.near.offset)}


def _exact_sum(total: CodedSum, values: CountRows, offset: float, whole: bool) -> Recipe:
    """The sum of a public column, which is NULL where there are no values."""

    def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
        found = noisy["sum"] + float(offset) * noisy["values"] if offset else noisy["sum"]
        return pl.when(noisy["values"] > 0).then(_as_sum(found, whole))

    parts = {"sum": total, "values": values}
    return Recipe(parts, dict.fromkeys(parts, 1.0), finish, "the sum itself")


def _multiple(values: CountRows, value: float) -> Recipe:
    """The sum of a constant."""
    weights = {"count": abs(value)}
    return Recipe(
        {"count": values}, weights, lambda noisy: value * noisy["count"], "a count of equal values"
    )


def _as_sum(value: pl.Expr, whole: bool) -> pl.Expr:
    return nearest_integer(value) if whole else value.cast(pl.Float64)

"""What aggregates of powers and products share: centred values, and their mean powers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from dpframe.aggregates.base import Scope, rows_where, summable
from dpframe.bounds.analysis import Typed, refused, typed
from dpframe.bounds.near import Near, near_zero
from dpframe.errors import UnboundedError
from dpframe.plan.coding import coding_for
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Call, Expr, conjunction, conjuncts, literal
from dpframe.plan.parts import CodedSum, CountRows, Part

UNSURE = Domain(Type.FLOAT)
"""The result of what has no value for a group of too few rows: then it is NULL."""

SMALLEST, LARGEST = 1e-50, 1e50
"""Half widths of ranges whose fourth powers, and products of those with noise, are floats."""


@dataclass(frozen=True, slots=True)
class Centred:
    """A value less the middle of its declared range: powers of it are as small as they can be."""

    value: Typed
    near: Near
    expr: Expr
    """The deviation, not analysed yet."""

    @property
    def middle(self) -> float:
        """What is subtracted: the middle that AVG goes by too, so that the two share a part."""
        return self.near.value(self.near.coding.centre)

    @property
    def half_width(self) -> float:
        """The largest deviation."""
        return self.near.coding.half_width

    @property
    def low(self) -> float:
        """The least value."""
        return float(self.value.domain.low)

    @property
    def high(self) -> float:
        """The largest value."""
        return float(self.value.domain.high)

    def power(self, exponent: int) -> Expr:
        """The deviation, multiplied with itself."""
        product = self.expr
        for _ in range(exponent - 1):
            product = Call("multiply", (product, self.expr), place=self.expr.origin)
        return product

    def mean(self, where: Expr | None) -> Averaged:
        """The mean of the deviation itself, from the part that AVG measures."""
        return Averaged(self.near.summed(where, self.near.coding.centre), 0.0)


def centred(call: AggregateCall, index: int, scope: Scope) -> Centred:
    """One argument of an aggregate, which must be a bounded number."""
    value = summable(replace(call, args=(call.args[index],)), scope)
    near = near_zero(call.args[index], value, scope.columns, scope.table.max_rows)
    number = Call("cast", (near.expr,), ("DOUBLE",), place=call.place)
    middle = literal(near.coding.value(near.coding.centre))
    found = Centred(value, near, Call("subtract", (number, middle), place=call.place))
    if not SMALLEST <= found.half_width <= LARGEST:
        raise refused(
            call,
            "has a range whose powers leave that of floats",
            why=f"half of it is {found.half_width:.3g}, not between {SMALLEST:g} and {LARGEST:g}",
            fix=f"count in other units: {call.name}(x / {found.half_width:.0e})",
            kind=UnboundedError,
        )
    return found


@dataclass(frozen=True, slots=True)
class Averaged:
    """The mean of an expression over the rows that count, from a part and the count of rows."""

    part: CodedSum
    shift: float
    """The part measures deviations from this."""

    def of(self, noisy: pl.Expr, count: pl.Expr) -> pl.Expr:
        """The noisy mean."""
        return noisy / count + self.shift


def averaged(expr: Expr, where: Expr | None, scope: Scope) -> Averaged:
    """The part behind the mean of an expression, over rows where it is not NULL."""
    found = typed(expr, scope.columns)
    coding = coding_for(found.domain, scope.table.max_rows)
    part = CodedSum(where, found.expr, coding, coding.centre, found.domain.nullable)
    return Averaged(part, coding.value(coding.centre))


def present_rows(call: AggregateCall, scope: Scope) -> Expr | None:
    """The condition under which a row counts: FILTER, and no argument is NULL."""
    conditions: tuple[Expr, ...] = ()
    for argument in call.args:
        found: Typed = typed(argument, scope.columns)
        conditions += conjuncts(rows_where(call, scope, found))
    return conjunction(conditions)


def parts_of(means: Mapping[str, Averaged], present: Expr | None) -> dict[str, Part]:
    """The parts of several means, and the count that all share."""
    return {**{name: mean.part for name, mean in means.items()}, "count": CountRows(present)}


def mean_values(
    means: Mapping[str, Averaged], noisy: Mapping[str, pl.Expr]
) -> tuple[pl.Expr, dict[str, pl.Expr]]:
    """The noisy count, and each noisy mean."""
    count = noisy["count"].cast(pl.Float64)
    return count, {name: mean.of(noisy[name], count) for name, mean in means.items()}

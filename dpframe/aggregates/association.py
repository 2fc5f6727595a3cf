"""COVAR, CORR and REGR: how two columns vary together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import Aggregate, Recipe, Scope, aggregate, not_distinct
from dpframe.aggregates.moments import (
    UNSURE,
    Averaged,
    Centred,
    averaged,
    centred,
    mean_values,
    parts_of,
    present_rows,
)
from dpframe.bounds.analysis import refused
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Call, Expr


@dataclass(frozen=True, slots=True)
class _Kind:
    """What one of the aggregates needs, and how it is computed from central moments."""

    needs: frozenset[str]
    """Which squares it needs besides the product."""
    finish: Callable[[_Moments], pl.Expr]
    fewest: int = 1


@dataclass(frozen=True, slots=True)
class _Moments:
    """Noisy moments of y and x."""

    count: pl.Expr
    mean_y: pl.Expr
    mean_x: pl.Expr
    product: pl.Expr
    """The covariance, of a population."""
    square_y: pl.Expr
    square_x: pl.Expr

    @property
    def slope(self) -> pl.Expr:
        return self.product / self.square_x

    @property
    def correlation(self) -> pl.Expr:
        return (self.product / (self.square_x * self.square_y).sqrt()).clip(-1, 1)


_KINDS = {
    "COVAR_POP": _Kind(frozenset(), lambda m: m.product),
    "COVAR_SAMP": _Kind(frozenset(), lambda m: m.product * m.count / (m.count - 1), 2),
    "CORR": _Kind(frozenset("yx"), lambda m: m.correlation, 2),
    "REGR_SLOPE": _Kind(frozenset("x"), lambda m: m.slope, 2),
    "REGR_INTERCEPT": _Kind(frozenset("x"), lambda m: m.mean_y - m.slope * m.mean_x, 2),
    "REGR_R2": _Kind(frozenset("yx"), lambda m: m.correlation**2, 2),
    "REGR_AVGX": _Kind(frozenset(), lambda m: m.mean_x),
    "REGR_AVGY": _Kind(frozenset(), lambda m: m.mean_y),
}


@aggregate
@dataclass(frozen=True, slots=True)
class Association(Aggregate):
    """Covariance, correlation and the line of least squares, from noisy means of products.

    Guarantee: that of its parts, the count of rows where both columns have a value, and sums of
    the two values, their product and their squares, each less the middle of its range. All are
    weighted by the same factor per unit. Where the noise leaves no variance to divide by, or the
    noisy count is too small, NULL is released.
    """

    sql_names: ClassVar[tuple[str, ...]] = tuple(_KINDS)
    is_linear: ClassVar[bool] = False
    kind: str
    y: Centred
    x: Centred
    means: tuple[tuple[str, Averaged], ...]
    present: Expr | None

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Association:
        not_distinct(call)
        if len(call.args) != 2:
            raise refused(
                call,
                f"has {len(call.args)} arguments",
                why=f"{call.name} takes two",
                fix=f"{call.name}(y, x)",
            )
        y, x = (centred(call, i, scope) for i in (0, 1))
        present = present_rows(call, scope)
        wanted: dict[str, Expr] = {}
        if call.name not in ("REGR_AVGX", "REGR_AVGY"):
            wanted["yx"] = Call("multiply", (y.expr, x.expr), place=call.place)
        needs = _KINDS[call.name].needs
        wanted |= {name * 2: side.power(2) for name, side in (("y", y), ("x", x)) if name in needs}
        means = {"y": y.mean(present), "x": x.mean(present)}
        means |= {name: averaged(expr, present, scope) for name, expr in wanted.items()}
        return cls(call.name, y, x, tuple(means.items()), present)

    @property
    def result(self) -> Domain:
        return UNSURE

    def recipes(self) -> tuple[Recipe, ...]:
        means, kind = dict(self.means), _KINDS[self.kind]
        y, x = self.y, self.x

        def moments(noisy: Mapping[str, pl.Expr]) -> _Moments:
            count, found = mean_values(means, noisy)
            zero = pl.lit(0.0)
            mean_y, mean_x = found["y"], found["x"]
            return _Moments(
                count,
                y.middle + mean_y,
                x.middle + mean_x,
                found.get("yx", zero) - mean_y * mean_x,
                found.get("yy", zero) - mean_y**2,
                found.get("xx", zero) - mean_x**2,
            )

        def known(found: _Moments) -> pl.Expr:
            """Whether there is a value: rows enough, and variances above 0."""
            there = found.count >= kind.fewest
            there = there & (found.square_y > 0) if "y" in kind.needs else there
            return there & (found.square_x > 0) if "x" in kind.needs else there

        def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
            found = moments(noisy)
            return pl.when(known(found)).then(kind.finish(found)).fill_nan(None)

        sizes = {"y": y.half_width, "x": x.half_width}
        weights = {}
        for name in means:
            # Relative to the largest product of the two, so that all are of one kind.
            largest = 1.0
            for letter in name:
                largest *= sizes[letter]
            weights[name] = 1.0 / largest
        weights["count"] = 0.25
        parts = parts_of(means, self.present)
        name = "means of centred values and their products"
        return (Recipe(parts, weights, finish, name, lambda noisy: known(moments(noisy))),)

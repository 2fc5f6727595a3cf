"""COVAR, CORR and REGR: how two columns vary together. REGR_COUNT is a count."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import Aggregate, Recipe, Scope, aggregate, not_distinct, two_arguments
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
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Call, Expr


@dataclass(frozen=True, slots=True)
class _Kind:
    """What one of the aggregates needs, and how it is computed from central moments."""

    means: tuple[str, ...]
    """Whose means it needs: of y, of x, of their product, of their squares."""
    finish: Callable[[_Moments], pl.Expr]
    fewest: int = 1
    may_be_flat: bool = False
    """Whether variances of 0 have an answer, because nothing is divided by them."""

    @property
    def squares(self) -> list[str]:
        """The variables whose variance it needs."""
        return [name[0] for name in self.means if name in ("yy", "xx")]


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


_LINE = ("y", "x", "yx", "xx")
_KINDS = {
    "COVAR_POP": _Kind(("y", "x", "yx"), lambda m: m.product),
    "COVAR_SAMP": _Kind(("y", "x", "yx"), lambda m: m.product * m.count / (m.count - 1), 2),
    "CORR": _Kind((*_LINE, "yy"), lambda m: m.correlation, 2),
    "REGR_SLOPE": _Kind(_LINE, lambda m: m.slope, 2),
    "REGR_INTERCEPT": _Kind(_LINE, lambda m: m.mean_y - m.slope * m.mean_x, 2),
    "REGR_R2": _Kind((*_LINE, "yy"), lambda m: m.correlation**2, 2),
    "REGR_SXX": _Kind(("x", "xx"), lambda m: m.square_x.clip(0) * m.count, may_be_flat=True),
    "REGR_SYY": _Kind(("y", "yy"), lambda m: m.square_y.clip(0) * m.count, may_be_flat=True),
    "REGR_SXY": _Kind(("y", "x", "yx"), lambda m: m.product * m.count),
    "REGR_AVGX": _Kind(("x",), lambda m: m.mean_x),
    "REGR_AVGY": _Kind(("y",), lambda m: m.mean_y),
}


@aggregate
@dataclass(frozen=True, slots=True)
class Association(Aggregate):
    """Covariance, correlation, sums of squares and the line of least squares, from noisy means.

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
        two_arguments(call, "y, x")
        y, x = (centred(call, i, scope) for i in (0, 1))
        present = present_rows(call, scope)
        product = Call("multiply", (y.expr, x.expr), place=call.place)
        products = {"yx": product, "yy": y.power(2), "xx": x.power(2)}
        sides = {"y": y, "x": x}
        means = tuple(
            (name, sides[name].mean(present))
            if name in sides
            else (name, averaged(products[name], present, scope))
            for name in _KINDS[call.name].means
        )
        return cls(call.name, y, x, means, present)

    @property
    def result(self) -> Domain:
        return UNSURE

    def recipes(self) -> tuple[Recipe, ...]:
        means, kind = dict(self.means), _KINDS[self.kind]
        y, x = self.y, self.x

        # No two variables vary together more than each varies alone (Cauchy, Popoviciu).
        most = y.half_width * x.half_width

        def moments(noisy: Mapping[str, pl.Expr]) -> _Moments:
            count, found = mean_values(means, noisy)
            zero = pl.lit(0.0)
            mean_y, mean_x = found.get("y", zero), found.get("x", zero)
            return _Moments(
                count,
                y.middle + mean_y,
                x.middle + mean_x,
                found.get("yx", zero) - mean_y * mean_x,
                found.get("yy", zero) - mean_y**2,
                found.get("xx", zero) - mean_x**2,
            )

        def cut(found: _Moments) -> _Moments:
            return _Moments(
                found.count,
                found.mean_y.clip(y.low, y.high),
                found.mean_x.clip(x.low, x.high),
                found.product.clip(-most, most),
                found.square_y.clip(upper_bound=y.half_width**2),
                found.square_x.clip(upper_bound=x.half_width**2),
            )

        def possible(found: _Moments) -> pl.Expr:
            """Whether true moments may be so: rows enough, and variances above 0, or at 0."""
            there = found.count >= kind.fewest
            for letter, square in (("y", found.square_y), ("x", found.square_x)):
                if letter in kind.squares:
                    there &= square >= 0 if kind.may_be_flat else square > 0
            return there

        def known(found: _Moments) -> pl.Expr:
            """Whether there is a value; a variance below 0 is read as 0 where that may be."""
            return found.count >= kind.fewest if kind.may_be_flat else possible(found)

        def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
            found = cut(moments(noisy))
            return pl.when(known(found)).then(kind.finish(found)).fill_nan(None)

        def redrawn(noisy: Mapping[str, pl.Expr], measured: Mapping[str, pl.Expr]) -> pl.Expr:
            """Of moments that are not cut off; squared correlations of the other sign count as 0."""
            found = moments(noisy)
            value = kind.finish(found)
            if self.kind == "REGR_R2":
                value = value * (found.product * moments(measured).product >= 0)
            return pl.when(known(found)).then(value).fill_nan(None)

        def ends(noisy: Mapping[str, pl.Expr]) -> tuple[pl.Expr, pl.Expr]:
            count = moments(noisy).count.clip(kind.fewest)
            largest = most * count / (count - 1) if self.kind == "COVAR_SAMP" else 0 * count + most
            limits = {
                "CORR": (-1.0, 1.0),
                "REGR_R2": (0.0, 1.0),
                "REGR_AVGX": (x.low, x.high),
                "REGR_AVGY": (y.low, y.high),
                "REGR_SLOPE": (-math.inf, math.inf),
                "REGR_INTERCEPT": (-math.inf, math.inf),
            }
            totals = {
                "REGR_SXX": (0.0, x.half_width**2),
                "REGR_SYY": (0.0, y.half_width**2),
                "REGR_SXY": (-most, most),
            }
            if self.kind in totals:  # of all rows together
                low, high = totals[self.kind]
                return low * count, high * count
            if self.kind not in limits:
                return -largest, largest
            low, high = limits[self.kind]
            return 0 * count + low, 0 * count + high

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
        return (
            Recipe(
                parts,
                weights,
                finish,
                name,
                lambda noisy: possible(cut(moments(noisy))),
                redrawn,
                ends,
            ),
        )

"""VAR and STDDEV, SKEWNESS and KURTOSIS, each of a population or a sample; SEM."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import (
    Aggregate,
    Recipe,
    Scope,
    aggregate,
    not_distinct,
    only_argument,
    rows_where,
)
from dpframe.aggregates.blends import BLENDED, Blends, blends_of
from dpframe.aggregates.moments import (
    UNSURE,
    Averaged,
    averaged,
    centred,
    mean_values,
    parts_of,
    present_rows,
)
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import AggregateCall, Expr
from dpframe.plan.parts import Part

_NAMES = {
    "VARIANCE": "VAR_SAMP",
    "VARIANCE_SAMP": "VAR_SAMP",
    "VAR_SAMP": "VAR_SAMP",
    "VARIANCE_POP": "VAR_POP",
    "VAR_POP": "VAR_POP",
    "STDDEV": "STDDEV_SAMP",
    "STDDEV_SAMP": "STDDEV_SAMP",
    "STDDEV_POP": "STDDEV_POP",
    "SKEWNESS": "SKEWNESS",
    "SKEWNESS_POP": "SKEWNESS_POP",
    "KURTOSIS": "KURTOSIS",
    "KURTOSIS_POP": "KURTOSIS_POP",
    "SEM": "SEM",
}

_POWERS = {"SKEWNESS": 3, "SKEWNESS_POP": 3, "KURTOSIS": 4, "KURTOSIS_POP": 4}
_FEWEST = {"VAR_POP": 1, "STDDEV_POP": 1, "SEM": 1, "SKEWNESS": 3, "KURTOSIS": 4}
"""Rows below which there is no value: two, unless it stands here."""


@aggregate
@dataclass(frozen=True, slots=True)
class Spread(Aggregate):
    """How widely the values of a group lie, from blends of squares or from mean centred powers.

    Guarantee: that of its parts. For a variance these are three sums of products of distances from
    both ends of the range (`plan.parts.Blend`). One unit moves all three together by no more than
    it may move one (`bounds.sensitivity`), so each has the noise of a sum that gets the whole
    budget. A shape, or a variance beside one, comes from the count of rows and one sum for each
    power of the value less the middle of its range, which split the budget. All are weighted by the
    same factor per unit, so bounding units does not bias it. Noise can make a variance negative;
    then 0 is released. Where the noisy count is too small, or a shape is asked for and no variance
    is left, there is nothing to go by, and NULL is released.
    """

    sql_names: ClassVar[tuple[str, ...]] = tuple(_NAMES)
    is_linear: ClassVar[bool] = False
    kind: str
    half_width: float
    means: tuple[tuple[str, Averaged], ...]
    present: Expr | None
    blends: Blends | None

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Spread:
        not_distinct(call)
        kind = _NAMES[call.name]
        only_argument(call, scope)
        value, where = centred(call, 0, scope), rows_where(call, scope)
        powers = range(2, _POWERS.get(kind, 2) + 1)
        means = [(f"power {p}", averaged(value.power(p), where, scope)) for p in powers]
        means.insert(0, ("power 1", value.mean(where)))
        present = present_rows(call, scope)
        blends = None if kind in _POWERS else blends_of(value.mean(where).part, scope.table)
        return cls(kind, value.half_width, tuple(means), present, blends)

    @property
    def result(self) -> Domain:
        return UNSURE

    def recipes(self) -> tuple[Recipe, ...]:
        return (
            self._from_powers(),
            *(() if self.blends is None else (self._blended(self.blends),)),
        )

    def _from_powers(self) -> Recipe:
        means, half_width = dict(self.means), self.half_width

        def central(noisy: Mapping[str, pl.Expr]) -> tuple[pl.Expr, list[pl.Expr]]:
            """The count, and the central moments from the second on, in half widths."""
            count, found = mean_values(means, noisy)
            raw = [v / half_width**p for p, v in enumerate(found.values(), start=1)]
            mean = raw[0]
            moments = [raw[1] - mean**2]
            if len(raw) > 2:
                moments.append(raw[2] - 3 * mean * raw[1] + 2 * mean**3)
            if len(raw) > 3:
                moments.append(raw[3] - 4 * mean * raw[2] + 6 * mean**2 * raw[1] - 3 * mean**4)
            return count, moments

        # How far each moves the variance. In half widths, with a mean of m and a variance of v, the
        # mean power moves it by 2m and the count by 1/2 + m^2 - v; both m and the deviation are
        # assumed half-way between the middle and an end.
        weights = {name: half_width ** (2 - power) for power, name in enumerate(means, start=1)}
        weights["count"] = half_width**2 / 2
        name = f"means of {len(means)} centred powers"
        return self._recipe(parts_of(means, self.present), weights, central, name)

    def _blended(self, blends: Blends) -> Recipe:
        in_half_widths = (blends.span / self.half_width) ** 2

        def central(noisy: Mapping[str, pl.Expr]) -> tuple[pl.Expr, list[pl.Expr]]:
            count, mean, square = blends.moments(noisy)
            return count, [(square - mean**2) * in_half_widths]

        # With a mean of m ranges above the low end and a variance of v squared ranges, the three
        # move the variance by (1 - m)^2 - v, -m(1 - m) - v and m^2 - v. Where these lie is private:
        # m is assumed at a quarter of the range, or at three quarters, and v at a sixteenth.
        end = math.hypot(9 / 16 - 1 / 16, 1 / 16 - 1 / 16) / math.sqrt(2)
        weights = {"above": end, "between": 3 / 16 + 1 / 16, "below": end}
        return self._recipe(blends.parts, weights, central, BLENDED)

    def _recipe(
        self,
        parts: Mapping[str, Part],
        weights: Mapping[str, float],
        central: Callable[[Mapping[str, pl.Expr]], tuple[pl.Expr, list[pl.Expr]]],
        name: str,
    ) -> Recipe:
        """From the count of rows and their central moments, in half widths of the range."""
        half_width = self.half_width
        fewest, shape = _FEWEST.get(self.kind, 2), self.kind in _POWERS

        def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
            count, moments = central(noisy)
            # No distribution on an interval varies more than one on its ends (Popoviciu).
            moments[0] = moments[0].clip(0, 1)
            low, high = limits(count)
            value = _FINISH[self.kind](count, moments, half_width).clip(low, high)
            return pl.when(known(count, moments)).then(value)

        def known(count: pl.Expr, moments: list[pl.Expr]) -> pl.Expr:
            """Whether there is a value: the shape of a distribution that does not vary is unknown."""
            return (count >= fewest) & (moments[0] > 0) if shape else count >= fewest

        def limits(count: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
            return _LIMITS[self.kind](count.clip(fewest), half_width)

        def redrawn(noisy: Mapping[str, pl.Expr], measured: Mapping[str, pl.Expr]) -> pl.Expr:
            """The same, not cut off above: a variance that is too large is divided by, and counts."""
            count, moments = central(noisy)
            moments[0] = moments[0].clip(0)
            value = _FINISH[self.kind](count, moments, half_width)
            return pl.when(known(count, moments)).then(value)

        def possible(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
            count, moments = central(noisy)
            return (count >= fewest) & (moments[0] >= 0) & (moments[0] <= 1)

        def ends(noisy: Mapping[str, pl.Expr]) -> tuple[pl.Expr, pl.Expr]:
            return limits(central(noisy)[0])

        return Recipe(parts, weights, finish, name, possible, redrawn, ends)


Finish = Callable[[pl.Expr, list[pl.Expr], float], pl.Expr]


def _variance(count: pl.Expr, moments: list[pl.Expr], half_width: float) -> pl.Expr:
    return moments[0] * half_width**2


def _sample_variance(count: pl.Expr, moments: list[pl.Expr], half_width: float) -> pl.Expr:
    return _variance(count, moments, half_width) * count / (count - 1)


def _skewness(count: pl.Expr, moments: list[pl.Expr], half_width: float) -> pl.Expr:
    return moments[1] / moments[0] ** 1.5


def _sample_skewness(count: pl.Expr, moments: list[pl.Expr], half_width: float) -> pl.Expr:
    """The adjusted Fisher-Pearson coefficient, as DuckDB computes it."""
    return _adjusted_skewness(count, _skewness(count, moments, half_width))


def _adjusted_skewness(count: pl.Expr, plain: pl.Expr) -> pl.Expr:
    return plain * (count * (count - 1)).sqrt() / (count - 2)


def _kurtosis(count: pl.Expr, moments: list[pl.Expr], half_width: float) -> pl.Expr:
    """The excess kurtosis: that of a normal distribution is 0."""
    return moments[2] / moments[0] ** 2 - 3


def _sample_kurtosis(count: pl.Expr, moments: list[pl.Expr], half_width: float) -> pl.Expr:
    """The excess kurtosis with the correction for samples, as DuckDB computes it."""
    return _adjusted_kurtosis(count, _kurtosis(count, moments, half_width))


def _adjusted_kurtosis(count: pl.Expr, plain: pl.Expr) -> pl.Expr:
    return (count - 1) / ((count - 2) * (count - 3)) * ((count + 1) * plain + 6)


def _standard_error(count: pl.Expr, moments: list[pl.Expr], half_width: float) -> pl.Expr:
    """Of a mean: from the deviation of the population, as DuckDB computes it."""
    return (_variance(count, moments, half_width) / count).sqrt()


_FINISH: dict[str, Finish] = {
    "SEM": _standard_error,
    "VAR_POP": _variance,
    "VAR_SAMP": _sample_variance,
    "STDDEV_POP": lambda *given: _variance(*given).sqrt(),
    "STDDEV_SAMP": lambda *given: _sample_variance(*given).sqrt(),
    "SKEWNESS": _sample_skewness,
    "SKEWNESS_POP": _skewness,
    "KURTOSIS": _sample_kurtosis,
    "KURTOSIS_POP": _kurtosis,
}

Limits = Callable[[pl.Expr, float], tuple[pl.Expr, pl.Expr]]


def _variances(count: pl.Expr, half_width: float) -> tuple[pl.Expr, pl.Expr]:
    # No distribution on an interval varies more than one on its ends (Popoviciu).
    return 0 * count, 0 * count + half_width**2


def _sample_variances(count: pl.Expr, half_width: float) -> tuple[pl.Expr, pl.Expr]:
    return 0 * count, half_width**2 * count / (count - 1)


def _skewnesses(count: pl.Expr, half_width: float) -> tuple[pl.Expr, pl.Expr]:
    # One row apart from all others, which are equal, is as skewed as it gets (Wilkins 1944).
    most = (count - 2) / (count - 1).sqrt()
    return -most, most


def _kurtoses(count: pl.Expr, half_width: float) -> tuple[pl.Expr, pl.Expr]:
    # Two values, equally often, are the flattest; one row apart is the other extreme.
    return 0 * count - 2, count - 5 + 1 / (count - 1)


def _adjusted(limits: Limits, adjust: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Limits:
    def found(count: pl.Expr, half_width: float) -> tuple[pl.Expr, pl.Expr]:
        low, high = limits(count, half_width)
        return adjust(count, low), adjust(count, high)

    return found


def _root(limits: Limits) -> Limits:
    return _adjusted(limits, lambda _, end: end.sqrt())


def _standard_errors(count: pl.Expr, half_width: float) -> tuple[pl.Expr, pl.Expr]:
    return 0 * count, half_width / count.sqrt()


_LIMITS: dict[str, Limits] = {
    "SEM": _standard_errors,
    "VAR_POP": _variances,
    "VAR_SAMP": _sample_variances,
    "STDDEV_POP": _root(_variances),
    "STDDEV_SAMP": _root(_sample_variances),
    "SKEWNESS": _adjusted(_skewnesses, _adjusted_skewness),
    "SKEWNESS_POP": _skewnesses,
    "KURTOSIS": _adjusted(_kurtoses, _adjusted_kurtosis),
    "KURTOSIS_POP": _kurtoses,
}
"""What is possible of so many rows on a range, whatever they are."""

"""Tails, widths and variances, against sums of the exact pmf in decimals."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpframe.errors import ParameterError
from dpframe.mechanisms import DiscreteGaussian, DiscreteLaplace

LAWS = [DiscreteLaplace, DiscreteGaussian]


def weight(law, z: int) -> Decimal:
    if isinstance(law, DiscreteLaplace):
        return (-Decimal(z) * law.scale.denominator / law.scale.numerator).exp()
    return (-Decimal(z * z) * law.sigma.denominator**2 / (2 * law.sigma.numerator**2)).exp()


def exact_tail(law, t: int) -> Decimal:
    """Return `P(|Z| > t)` to 30 digits."""
    with localcontext() as context:
        context.prec = 50
        if isinstance(law, DiscreteLaplace):
            return 2 * weight(law, t + 1) / (1 + weight(law, 1))
        reach = math.ceil(13 * law.sigma) + 8
        total = 1 + 2 * sum(weight(law, z) for z in range(1, reach))
        return 2 * sum(weight(law, z) for z in range(t + 1, t + reach)) / total


SMALL = [Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(9, 4), Fraction(10), Fraction(80)]


@pytest.mark.parametrize("scale", SMALL, ids=str)
@pytest.mark.parametrize("law", LAWS)
def test_tails_are_rounded_up_and_barely(law, scale):
    law = law(scale)
    for t in {0, 1, 2, int(scale), int(3 * scale), int(6 * scale), int(9 * scale)}:
        exact = exact_tail(law, t)
        assert exact <= Decimal(law.tail(t)) <= exact * (1 + Decimal(2) ** -38)


@pytest.mark.parametrize("sigma", [Fraction(255), Fraction(256), Fraction(257), Fraction(1000, 3)])
def test_gaussian_tails_agree_where_sums_give_way_to_the_series(sigma):
    law = DiscreteGaussian(sigma)
    with localcontext() as context:
        context.prec = 40
        reach = math.ceil(13 * sigma)
        weights = [weight(law, z) for z in range(reach)]
        total = 2 * sum(weights) - 1
        for t in (0, 10, int(sigma), int(2 * sigma), int(5 * sigma), int(7 * sigma)):
            exact = 2 * sum(weights[t + 1 :]) / total
            assert exact <= Decimal(law.tail(t)) <= exact * (1 + Decimal(2) ** -30)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "scale", [Fraction(1, 1024), Fraction(1), Fraction(10**9), Fraction(2**200)]
)
def test_tails_decrease_from_at_most_one_and_stay_positive(law, scale):
    law = law(scale)
    widths = [0, 1, 10, 10**6, 10**9, 10**12, 2**200, 2**210, 10**400]
    tails = [law.tail(t) for t in widths]
    assert all(0 < b <= a <= 1 for a, b in pairwise(tails))


@settings(deadline=None, max_examples=60)
@given(
    law=st.sampled_from(LAWS),
    scale=st.fractions(Fraction(1, 8), 30, max_denominator=1000),
    confidence=st.floats(0.01, 0.9999),
    answers=st.sampled_from([1, 2, 10, 1000]),
)
def test_half_widths_are_the_least_that_cover(law, scale, confidence, answers):
    law = law(scale)
    w = law.half_width(confidence, answers)
    with localcontext() as context:
        context.prec = 40
        wanted = Decimal(confidence)
        assert (1 - exact_tail(law, w)) ** answers >= wanted
        if w:
            short = (1 - exact_tail(law, w - 1)) ** answers
            assert short < wanted + Decimal(10) ** -9 * (1 - wanted)


@pytest.mark.parametrize("confidence", [0.1, 0.5, 0.95, 0.999999])
@pytest.mark.parametrize("answers", [1, 3, 10**6])
def test_half_widths_of_large_scales_are_sharp(confidence, answers):
    law = DiscreteLaplace(Fraction(10**9))
    w = law.half_width(confidence, answers)
    with localcontext() as context:
        context.prec = 40
        assert (1 - exact_tail(law, w)) ** answers >= Decimal(confidence)
        assert (1 - exact_tail(law, w - 2)) ** answers < Decimal(confidence)


@pytest.mark.parametrize("answers", [1, 20])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(12), Fraction(10**9)])
@pytest.mark.parametrize("law", LAWS)
def test_draws_stay_within_their_half_width_as_often_as_promised(stream, law, scale, answers):
    law = law(scale)
    w = law.half_width(0.9, answers)
    draws = law.draw(20_000 * answers, stream(81)).reshape(-1, answers)
    covered = np.mean(np.all(np.abs(draws) <= w, axis=1))
    assert covered >= 0.9 - 4.5 * math.sqrt(0.09 / 20_000)
    if scale > 100:
        assert covered <= 0.9 + 4.5 * math.sqrt(0.09 / 20_000)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("confidence", [1e-300, 1e-9, 0.5, 0.95, 1 - 2.0**-53])
def test_half_widths_exist_at_every_scale_and_confidence(law, confidence):
    widths = []
    for k in range(-10, 201, 15):
        made = law(Fraction(2) ** k)
        widths.append(made.half_width(confidence))
        assert made.half_width(confidence, 2**63) >= widths[-1]
    assert widths == sorted(widths)


@settings(deadline=None, max_examples=60)
@given(
    law=st.sampled_from(LAWS),
    error=st.one_of(st.integers(0, 50), st.integers(0, 10**6)),
    confidence=st.floats(0.1, 0.999),
    answers=st.sampled_from([1, 7]),
)
def test_accuracy_first_finds_the_largest_scale_that_meets_it(law, error, confidence, answers):
    made = law.for_half_width(error, confidence, answers)
    assert made.half_width(confidence, answers) <= error
    more = law(made._scale * (1 + Fraction(1, 2**24)))
    assert more.half_width(confidence, answers) > error or more.tail(error) * (
        1 + 2.0**-20
    ) > -math.expm1(math.log(confidence) / answers)


@pytest.mark.parametrize("law", LAWS)
def test_an_error_beyond_the_largest_scale_gets_the_largest(law):
    assert law.for_half_width(2**400, 0.95)._scale == 2**200
    assert law.for_half_width(0, 1 - 2.0**-53, 2**63).half_width(1 - 2.0**-53, 2**63) == 0


@pytest.mark.parametrize("scale", [*SMALL, Fraction(7), Fraction(8), Fraction(300)], ids=str)
@pytest.mark.parametrize("law", LAWS)
def test_variances_are_those_of_the_discrete_law(law, scale):
    law = law(scale)
    reach = math.ceil(60 * scale) + 8
    with localcontext() as context:
        context.prec = 40
        weights = [weight(law, z) for z in range(reach)]
        total = 2 * sum(weights) - 1
        exact = 2 * sum(z * z * w for z, w in enumerate(weights)) / total
    assert law.variance == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize("law", LAWS)
def test_variances_of_extreme_scales_are_finite(law):
    assert law(Fraction(1, 1024)).variance == 0.0
    assert law(Fraction(2**200)).variance == pytest.approx(
        2.0**400 * (2 if law is DiscreteLaplace else 1), rel=1e-12
    )


@pytest.mark.parametrize("law", LAWS)
def test_figures_do_not_depend_on_numpy_error_settings(law):
    with np.errstate(all="raise"):
        for scale in (Fraction(1, 1024), Fraction(3), Fraction(300)):
            made = law(scale)
            assert made.tail(50) >= 0
            assert made.variance >= 0
            assert made.half_width(0.99) >= 0


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0, -0.5, 1.5, float("nan"), "0.9", None, True])
@pytest.mark.parametrize("law", LAWS)
def test_confidences_outside_the_open_interval_are_refused(law, confidence):
    with pytest.raises(ParameterError, match="confidence is"):
        law(Fraction(1)).half_width(confidence)
    with pytest.raises(ParameterError, match="confidence is"):
        law.for_half_width(3, confidence)


@pytest.mark.parametrize("answers", [0, -1, 1.5, True, None, 2**63 + 1])
def test_bad_numbers_of_answers_are_refused(answers):
    with pytest.raises(ParameterError, match="answers is"):
        DiscreteLaplace(Fraction(1)).half_width(0.9, answers)


@pytest.mark.parametrize("t", [-1, 0.5, None])
@pytest.mark.parametrize("law", LAWS)
def test_tails_of_bad_widths_are_refused(law, t):
    with pytest.raises(ParameterError, match="t is"):
        law(Fraction(1)).tail(t)
    with pytest.raises(ParameterError, match="error is"):
        law.for_half_width(t, 0.9)


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(1, 2), Fraction(3, 2), Fraction(10)])
@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
def test_the_lead_of_one_draw_over_another_is_bounded(law: Any, scale: Fraction) -> None:
    noise, z = law(scale), np.arange(-300, 301)
    size = np.abs(z) / float(scale)
    weights = np.exp(-size if law is DiscreteLaplace else -(size**2) / 2)
    weights /= weights.sum()
    differences = np.convolve(weights, weights)
    for t in range(100):
        exact = differences[601 + t :].sum()
        assert noise.lead_tail(t) >= exact * (1 - 1e-12) or exact < 1e-300
        if scale > 1 and exact > 1e-12:
            assert noise.lead_tail(t) <= exact * (1 + 1e-8)
    lead = noise.lead(1e-4)
    assert noise.lead_tail(lead) <= 1e-4
    assert lead == 0 or noise.lead_tail(lead - 1) > 1e-4

"""Scales round up, and the loss is recomputed from the scale that is used."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpframe.errors import ParameterError
from dpframe.mechanisms import DiscreteGaussian, DiscreteLaplace
from dpframe.mechanisms.scales import floor_log2, round_scale_up, sqrt_up

LAWS = [DiscreteLaplace, DiscreteGaussian]
costs = st.one_of(
    st.fractions(Fraction(1, 10**6), 10**4),
    st.floats(1e-6, 1e4).map(Fraction),
    st.builds(Fraction, st.integers(1, 2**300), st.just(2**290)),
).filter(lambda cost: cost >= Fraction(1, 10**6))
sensitivities = st.one_of(st.integers(1, 100), st.integers(1, 2**70))


@given(epsilon=costs, sensitivity=sensitivities)
def test_laplace_noise_never_costs_more_than_was_asked(epsilon, sensitivity):
    law = DiscreteLaplace.for_epsilon(epsilon, sensitivity)
    loss = law.loss(sensitivity)
    assert loss.epsilon == sensitivity / law.scale <= epsilon
    clamped = law.scale == Fraction(1, 1024)
    assert clamped or loss.epsilon >= epsilon * (1 - Fraction(1, 2**50))


@given(rho=costs, squared=sensitivities)
def test_gaussian_noise_never_costs_more_than_was_asked(rho, squared):
    law = DiscreteGaussian.for_rho(rho, squared)
    loss = law.loss(squared)
    assert squared / (2 * law.sigma**2) <= rho
    assert loss.rho == squared / (2 * law.sigma**2)
    clamped = law.sigma == Fraction(1, 1024)
    assert clamped or loss.rho >= rho * (1 - Fraction(1, 2**48))


def test_short_scales_are_kept_exactly():
    assert DiscreteLaplace.for_epsilon(Fraction(3, 10), 1).scale == Fraction(10, 3)
    assert DiscreteLaplace.for_epsilon(Fraction(0.1), 7).scale == 7 / Fraction(0.1)
    assert DiscreteGaussian.for_rho(Fraction(9, 2), 1).sigma == Fraction(1, 3)
    assert DiscreteGaussian.for_rho(Fraction(1, 2), 49).sigma == 7


def test_irrational_scales_round_up_to_what_a_float_shows():
    sigma = DiscreteGaussian.for_rho(Fraction(1, 4), 1).sigma  # the square root of 2
    assert 2 < sigma**2 < 2 + Fraction(1, 2**50)
    assert Fraction(float(sigma)) == sigma


@given(square=st.fractions(Fraction(1, 10**12), 10**30))
def test_square_roots_are_rounded_up_by_less_than_a_float_shows(square):
    root = sqrt_up(square)
    assert square <= root**2 <= square * (1 + Fraction(1, 2**50))


@given(value=st.fractions(Fraction(1, 10**30), 10**30))
def test_floor_log2_brackets_its_argument(value):
    k = floor_log2(value)
    assert Fraction(2) ** k <= value < Fraction(2) ** (k + 1)


@given(scale=st.builds(Fraction, st.integers(2**200, 2**300), st.integers(2**200, 2**210 - 1)))
def test_long_scales_are_rounded_up_to_53_bits(scale):
    rounded = round_scale_up("scale", scale)
    assert (
        max(scale, Fraction(1, 1024))
        <= rounded
        <= max(scale, Fraction(1, 1024)) * (1 + Fraction(1, 2**52))
    )


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "scale",
    [
        0,
        -1,
        Fraction(-1, 3),
        Fraction(1, 1025),
        2**200 + 1,
        10**5000,
        Fraction(1, 10**5000),
        0.5,
        float("nan"),
        float("inf"),
        True,
        "1",
        None,
    ],
    ids=lambda scale: str(scale)[:12] if not isinstance(scale, int | Fraction) else "",
)
def test_scales_that_no_noise_has_are_refused(law, scale):
    with pytest.raises(ParameterError) as caught:
        law(scale)
    assert caught.value.why
    assert "Fraction" in caught.value.fix
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("law", LAWS)
def test_the_ends_of_the_range_are_allowed(law):
    assert law(Fraction(1, 1024)) == law(Fraction(1, 1024))
    assert law(2**200)._scale == Fraction(2**200)


def test_a_cost_that_needs_less_than_the_least_noise_gets_the_least():
    law = DiscreteLaplace.for_epsilon(Fraction(10**9), 1)
    assert law.scale == Fraction(1, 1024)
    assert law.loss(1).epsilon == 1024


@pytest.mark.parametrize(
    "cost", [0, -1, Fraction(0), 0.5, float("nan"), float("inf"), True, "1", None]
)
def test_costs_that_are_not_positive_fractions_are_refused(cost):
    with pytest.raises(ParameterError, match="epsilon is"):
        DiscreteLaplace.for_epsilon(cost, 1)
    with pytest.raises(ParameterError, match="rho is"):
        DiscreteGaussian.for_rho(cost, 1)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, Fraction(1), True, "1", None])
def test_sensitivities_that_are_not_positive_integers_are_refused(sensitivity):
    with pytest.raises(ParameterError, match="l1_sensitivity is"):
        DiscreteLaplace.for_epsilon(Fraction(1), sensitivity)
    with pytest.raises(ParameterError, match="l1_sensitivity is"):
        DiscreteLaplace(1).loss(sensitivity)
    with pytest.raises(ParameterError, match="l2_squared_sensitivity is"):
        DiscreteGaussian.for_rho(Fraction(1), sensitivity)
    with pytest.raises(ParameterError, match="l2_squared_sensitivity is"):
        DiscreteGaussian(1).loss(sensitivity)


@pytest.mark.parametrize("law", [DiscreteLaplace, DiscreteGaussian])
def test_a_cost_too_small_for_any_noise_is_refused(law):
    tiny = Fraction(1, 2**500)
    with pytest.raises(ParameterError, match=r"about 2\*\*"):
        law.for_epsilon(tiny, 1) if law is DiscreteLaplace else law.for_rho(tiny, 1)


@pytest.mark.parametrize("law", LAWS)
def test_laws_are_values(law):
    a, b = law(Fraction(3, 2)), law(Fraction(6, 4))
    assert a == b
    assert hash(a) == hash(b)
    assert pickle.loads(pickle.dumps(a)) == a
    assert law(3)._scale == Fraction(3)
    with pytest.raises(AttributeError):
        a.scale = Fraction(1)

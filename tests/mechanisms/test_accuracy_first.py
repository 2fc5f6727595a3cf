"""The searches behind accuracy-first parameters, and the rows that a mean needs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpframe.errors import ParameterError
from dpframe.mechanisms import DiscreteGaussian, DiscreteLaplace, rows_for_mean
from dpframe.mechanisms.accuracy import allowed_failure, least_cost, least_that, rounded_up


@given(bound=st.integers(-50, 10**30), start=st.integers(-50, 50))
def test_the_least_integer_is_found(bound, start):
    assert least_that(lambda n: n >= bound, start) == max(bound, start)


@given(st.fractions(Fraction(1, 10**20), 10**20))
def test_the_least_cost_is_found_and_meets(bound):
    cost = least_cost(lambda c: c >= bound)
    assert bound <= cost <= bound * (1 + Fraction(1, 2**29))


def test_costs_end_where_no_mechanism_is():
    assert least_cost(lambda c: True) == Fraction(1, 2**100)
    with pytest.raises(ParameterError, match="no cost"):
        least_cost(lambda c: False)


@pytest.mark.parametrize("confidence", [0.01, 0.5, 0.95, 0.999999])
@pytest.mark.parametrize("answers", [1, 3, 10**6])
def test_failures_add_up_to_no_more_than_was_allowed(confidence, answers):
    each = Fraction(allowed_failure(confidence, answers))
    if answers < 10:
        assert (1 - each) ** answers >= Fraction(confidence)
    assert (1 - float(each)) ** answers == pytest.approx(confidence, rel=1e-9)


def test_failures_are_rounded_up():
    assert rounded_up(0.0) > 0
    assert 0.1 < rounded_up(0.1) < 0.1 + 1e-12
    assert rounded_up(2.0) == 1


@pytest.mark.parametrize("law", [DiscreteLaplace(Fraction(500)), DiscreteGaussian(Fraction(500))])
@pytest.mark.parametrize("error", [Fraction(1, 3), 2])
def test_a_mean_of_enough_rows_is_accurate(stream, law, error):
    rows = rows_for_mean(law, error, 0.9)
    assert law.half_width(0.9) <= rows * error
    assert law.half_width(0.9) > (rows - 1) * error
    off = np.abs(law.draw(20_000, stream(120))) / rows
    assert np.mean(off <= float(error)) >= 0.9 - 0.01


def test_a_mean_over_a_noisy_count_needs_more_rows(stream):
    noise, count = DiscreteLaplace(Fraction(500)), DiscreteLaplace(Fraction(10))
    rows = rows_for_mean(noise, 2, 0.9, count_noise=count, largest=50)
    assert rows > rows_for_mean(noise, 2, 0.9)
    y, z = noise.draw(20_000, stream(121)), count.draw(20_000, stream(122))
    for mean in (50, -50, 0):
        off = np.abs((mean * rows + y) / (rows + z) - mean)
        assert np.mean(off <= 2) >= 0.9


def test_many_means_need_more_rows():
    noise = DiscreteLaplace(Fraction(500))
    assert rows_for_mean(noise, 1, 0.9, answers=100) > rows_for_mean(noise, 1, 0.9)


@pytest.mark.parametrize("error", [0, -1, 0.5, float("nan"), None])
def test_bad_errors_are_refused(error):
    with pytest.raises(ParameterError, match="error is"):
        rows_for_mean(DiscreteLaplace(Fraction(1)), error, 0.9)


def test_a_noisy_count_needs_the_largest_value():
    noise = DiscreteLaplace(Fraction(1))
    with pytest.raises(ParameterError, match="largest"):
        rows_for_mean(noise, 1, 0.9, count_noise=noise)
    with pytest.raises(ParameterError, match="largest is -1"):
        rows_for_mean(noise, 1, 0.9, count_noise=noise, largest=-1)
    with pytest.raises(ParameterError, match="confidence"):
        rows_for_mean(noise, 1, 1.0, count_noise=noise, largest=1)

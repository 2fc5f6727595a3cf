"""Randomized response: certified probabilities, exact laws, unbiased estimates."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpframe.errors import ParameterError
from dpframe.mechanisms import RandomizedResponse, Source

EPSILONS = [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)]


def odds(truth: Fraction, categories: int) -> Fraction:
    """Return the largest ratio between the chances of one report from two categories."""
    other = (1 - truth) / categories
    return (truth + other) / other


@pytest.mark.parametrize("categories", [2, 3, 100, 2**32])
@pytest.mark.parametrize("epsilon", [*EPSILONS, Fraction(1, 10**6), Fraction(40)], ids=str)
def test_the_truth_is_told_as_often_as_epsilon_allows_and_no_more(epsilon, categories):
    truth = RandomizedResponse(epsilon, categories).truth
    more = truth + Fraction(1, 2**64)
    with localcontext() as context:
        context.prec = 80
        limit = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        found = odds(truth, categories)
        assert Decimal(found.numerator) / found.denominator <= limit
        over = odds(more, categories) if more < 1 else None
        assert over is None or Decimal(over.numerator) / over.denominator > limit


@settings(deadline=None)
@given(
    epsilon=st.fractions(Fraction(1, 10**5), 100, max_denominator=10**6),
    categories=st.integers(2, 50),
)
def test_the_loss_is_attained_and_never_above_epsilon(epsilon, categories):
    made = RandomizedResponse(epsilon, categories)
    attained = math.log(odds(made.truth, categories))
    assert made.loss.epsilon <= epsilon
    assert float(made.loss.epsilon) == pytest.approx(attained, rel=1e-9)


def test_an_epsilon_beyond_a_word_is_charged_as_what_it_gets():
    made = RandomizedResponse(Fraction(1000), 2)
    assert made.truth == 1 - Fraction(1, 2**64)
    assert 45 < made.loss.epsilon < 46


@pytest.mark.parametrize("categories", [2, 5])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2)])
def test_reports_follow_the_exact_law(stream, epsilon, categories):
    made = RandomizedResponse(epsilon, categories)
    other = float((1 - made.truth) / categories)
    for code in (0, categories - 1):
        reports = made.apply(np.full(500_000, code), stream(100 + code))
        expected = np.full(categories, other)
        expected[code] += float(made.truth)
        counts = np.bincount(reports, minlength=categories)
        assert stats.chisquare(counts, expected * 500_000).pvalue > 1e-4


def test_a_code_outside_the_categories_is_answered_at_random(stream):
    made = RandomizedResponse(Fraction(5), 3)
    for code in (-1, 3, 2**62, 2**80):
        codes = np.full(30_000, code, dtype=np.int64 if code < 2**63 else object)
        assert stats.chisquare(np.bincount(made.apply(codes, stream(101)))).pvalue > 1e-4


def test_estimates_are_unbiased():
    made = RandomizedResponse(Fraction(2, 3), 3)
    held = [700, 0, 42]
    other = (1 - made.truth) / 3
    expected = [sum(held) * other + n * made.truth for n in held]
    # The estimator is affine, so it is unbiased if it maps expected counts to the true ones.
    scaled = [count * 3 * 2**64 for count in expected]
    assert all(count.denominator == 1 for count in scaled)
    estimates = made.estimate([int(count) for count in scaled])
    assert [estimate / (3 * 2**64) for estimate in estimates] == held


def test_estimates_add_up_to_the_number_of_rows(stream):
    made = RandomizedResponse(Fraction(1), 4)
    reports = made.apply(np.arange(1000) % 4, stream(102))
    assert sum(made.estimate(np.bincount(reports, minlength=4))) == 1000


@pytest.mark.parametrize("categories", [2, 6])
def test_errors_cover_and_variances_bound(stream, categories):
    made, rows, source = RandomizedResponse(Fraction(1), categories), 500, stream(103)
    codes = np.zeros(rows, dtype=np.int64)
    codes[: rows // 3] = 1
    held = np.bincount(codes, minlength=categories)
    bound = made.error(rows, 0.9)
    misses, errors = 0, []
    for _ in range(600):
        counts = np.bincount(made.apply(codes, source), minlength=categories)
        error = np.array([float(e) for e in made.estimate(counts)]) - held
        misses += np.abs(error).max() > bound
        errors.append(error)
    assert misses <= 60
    assert np.var(errors, axis=0).max() <= made.variance(rows) * 1.3
    assert np.abs(np.mean(errors, axis=0)).max() <= 5 * math.sqrt(made.variance(rows) / 600)


@pytest.mark.parametrize("error", [50.0, 500.0])
@pytest.mark.parametrize("categories", [2, 10])
def test_accuracy_first_finds_the_least_epsilon(error, categories):
    made = RandomizedResponse.for_error(error, 100_000, 0.95, categories=categories)
    assert made.error(100_000, 0.95) <= error
    less = RandomizedResponse(made.epsilon * (1 - Fraction(1, 2**20)), categories)
    assert less.error(100_000, 0.95) > error * (1 - 1e-5)


def test_an_error_that_no_epsilon_buys_is_refused():
    with pytest.raises(ParameterError, match="no cost"):
        RandomizedResponse.for_error(-1.0, 100, 0.95)


@pytest.mark.parametrize("epsilon", [0, -1, 0.5, float("nan"), True, "1", None])
def test_bad_epsilons_are_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon is"):
        RandomizedResponse(epsilon)


@pytest.mark.parametrize("categories", [0, 1, -2, 2.0, True, None, 2**32 + 1])
def test_bad_numbers_of_categories_are_refused(categories):
    with pytest.raises(ParameterError, match="categories is"):
        RandomizedResponse(Fraction(1), categories)


def test_an_epsilon_that_tells_nothing_is_refused():
    with pytest.raises(ParameterError, match="too small"):
        RandomizedResponse(Fraction(1, 2**70), 2)


@pytest.mark.parametrize(
    "codes", [[0.5], ["4711"], "4711", [True], [None], np.zeros((2, 2), int), 1]
)
def test_codes_that_are_not_integers_are_refused_and_not_quoted(codes):
    with pytest.raises(ParameterError, match="codes") as caught:
        RandomizedResponse(Fraction(1)).apply(codes, Source())
    assert "4711" not in str(caught.value)


def test_bad_counts_rows_and_confidences_are_refused():
    made = RandomizedResponse(Fraction(1), 3)
    with pytest.raises(ParameterError, match="2 counts for 3 categories"):
        made.estimate([1, 2])
    with pytest.raises(ParameterError, match="rows is"):
        made.error(-1, 0.9)
    with pytest.raises(ParameterError, match="confidence is"):
        made.error(10, 1.0)
    assert made.apply([], Source()).size == 0

"""One exponential variate, digit by digit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.mechanisms import LazyExponential


def test_more_digits_refine_and_never_change_what_was_known(stream):
    source = stream(11)
    for _ in range(200):
        e = LazyExponential(source)
        seen = {bits: e.digits(bits) for bits in (0, 3, 8, 9, 53, 54, 400)}
        for bits, digits in seen.items():
            assert seen[400] >> (400 - bits) == digits
            assert e.digits(bits) == digits


def test_answers_about_one_variate_agree_with_its_digits(stream):
    source = stream(12)
    for _ in range(300):
        e = LazyExponential(source)
        at_least = {x: e.at_least(x, 7) for x in (0, 1, 5, 7, 20)}
        floors = {p: e.floor_times(p, 3) for p in (1, 2, 10**6, 2**80)}
        value = Fraction(e.digits(200), 2**200)
        assert at_least == {x: value >= Fraction(x, 7) for x in at_least}
        assert floors == {p: math.floor(value * p / 3) for p in floors}


@pytest.mark.usefixtures("one_bit_words")
@pytest.mark.parametrize(("p", "q"), [(1, 2), (1, 1), (3, 2), (5, 1)])
def test_floors_of_multiples_are_geometric_exactly(explore, p, q):
    found, left = explore(lambda source: LazyExponential(source).floor_times(p, q), 12_000)
    assert left < Fraction(1, 3)
    for g in range(6):
        upto = float(sum(mass for floor, mass in found.items() if floor < g))
        exact = -math.expm1(-g * q / p)
        assert upto - 1e-12 <= exact <= upto + float(left) + 1e-12


@pytest.mark.usefixtures("one_bit_words")
@pytest.mark.parametrize(("p", "q"), [(0, 1), (1, 512), (1, 7), (2, 3), (3, 1)])
def test_a_variate_exceeds_a_ratio_with_its_exact_probability(explore, p, q):
    found, left = explore(lambda source: LazyExponential(source).at_least(p, q), 8000)
    low = float(found.get(True, Fraction(0)))
    assert left < Fraction(1, 40)
    assert low - 1e-12 <= math.exp(-p / q) <= low + float(left) + 1e-12


@pytest.mark.usefixtures("one_bit_words")
@pytest.mark.parametrize("bits", [1, 4])
def test_digits_after_known_ones_have_their_exact_probabilities(explore, bits):
    # Given `bits` digits of E, the next two are those of an exponential cut off at 2**-bits.
    def next_two(source):
        return LazyExponential(source, (0, bits)).digits(bits + 2)

    found, left = explore(next_two, 6000)
    width = 2.0**-bits
    assert left < Fraction(1, 100)
    for d in range(4):
        exact = math.exp(-d * width / 4) * math.expm1(-width / 4) / math.expm1(-width)
        assert float(found[d]) - 1e-12 <= exact <= float(found[d] + left) + 1e-12


def test_variates_are_exponential(stream):
    source = stream(13)
    draws = np.array([LazyExponential(source).digits(53) / 2**53 for _ in range(20_000)])
    assert stats.kstest(draws, "expon").pvalue > 1e-3


def test_digits_below_the_first_word_are_fair(stream):
    source = stream(14)
    low = [LazyExponential(source).digits(130) & 0xFF for _ in range(8000)]
    assert stats.chisquare(np.bincount(low, minlength=256)).pvalue > 1e-3

"""Exact coins, checked by enumerating every string of random bits."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpframe.errors import ParameterError
from dpframe.mechanisms import bernoulli, bernoulli_exp, uniform_below


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 8, 11])
def test_a_uniform_integer_gives_each_candidate_the_same_chance(explore, count):
    found, left = explore(lambda source: uniform_below(count, source), 4000)
    assert set(found) == set(range(count))
    assert all(mass <= Fraction(1, count) <= mass + left for mass in found.values())
    assert left < Fraction(1, 50)


@pytest.mark.usefixtures("one_bit_words")
@pytest.mark.parametrize(("p", "q"), [(0, 1), (1, 1), (1, 2), (1, 3), (5, 7), (99, 100), (3, 2)])
def test_a_rational_coin_has_its_exact_probability(explore, p, q):
    found, left = explore(lambda source: bernoulli(p, q, source), 400)
    low = found.get(True, Fraction(0))
    assert low <= min(Fraction(p, q), 1) <= low + left
    assert left < Fraction(1, 10**20)


@pytest.mark.usefixtures("one_bit_words")
@pytest.mark.parametrize(
    ("p", "q"), [(0, 1), (1, 256), (1, 10), (1, 3), (1, 2), (9, 10), (1, 1), (3, 2), (2, 1), (7, 2)]
)
def test_an_exponential_coin_has_its_exact_probability(explore, p, q):
    found, left = explore(lambda source: bernoulli_exp(p, q, source), 20_000)
    low = float(found.get(True, Fraction(0)))
    assert low - 1e-12 <= math.exp(-p / q) <= low + float(left) + 1e-12
    assert left < Fraction(1, 100)


def test_words_of_64_bits_give_the_same_coin(stream):
    source = stream(5)
    n = 40_000
    for p, q in [(1, 3), (3, 2)]:
        for coin, chance in [(bernoulli, min(p / q, 1)), (bernoulli_exp, math.exp(-p / q))]:
            hits = sum(coin(p, q, source) for _ in range(n))
            assert abs(hits - n * chance) <= 4.5 * math.sqrt(n * chance * (1 - chance))


def test_a_coin_is_decided_beyond_64_bits(script):
    # 1/3 is 0.010101..., so these 64 bits tie with it, and the next word decides.
    tie = "01" * 32
    assert bernoulli(1, 3, script(tie + "00" * 32)) is True
    assert bernoulli(1, 3, script(tie + "11" * 32)) is False


def test_certain_and_impossible_coins_never_differ(stream):
    source = stream(6)
    assert all(bernoulli(7, 7, source) for _ in range(100))
    assert not any(bernoulli(0, 7, source) for _ in range(100))
    assert all(bernoulli_exp(0, 7, source) for _ in range(100))


@pytest.mark.parametrize(("p", "q"), [(-1, 2), (1, 0), (1, -1)])
def test_a_ratio_that_is_no_probability_is_refused(stream, p, q):
    for coin in (bernoulli, bernoulli_exp):
        with pytest.raises(ParameterError, match="ratio"):
            coin(p, q, stream(7))


@pytest.mark.parametrize("count", [0, -3])
def test_an_empty_range_is_refused(stream, count):
    with pytest.raises(ParameterError, match="range"):
        uniform_below(count, stream(7))

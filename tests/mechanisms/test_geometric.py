"""Vector arithmetic against exact fractions: the error bounds that the code states."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpframe.mechanisms import DiscreteGaussian, Source, geometric
from dpframe.mechanisms.gaussian import _Exponents
from dpframe.mechanisms.geometric import Geometric, signed

scales = st.one_of(
    st.fractions(Fraction(1, 1024), 40, max_denominator=10**6),
    st.builds(
        lambda p, k: Fraction(p, 2**60) * Fraction(2) ** k,
        st.integers(2**60, 2**61 - 1),
        st.integers(-10, 56),
    ),
    st.sampled_from([Fraction(2) ** k for k in range(-10, 57)]),
)


class Refusing(Source):
    """A source for code that must not draw."""

    def take(self, count: int) -> bytes:
        raise AssertionError("asked for bits")


class Settled(Source):
    """Zeros: every further digit of a lane is 0."""

    def take(self, count: int) -> bytes:
        return bytes(count)


def near_integers(scale: Fraction, rng: np.random.Generator) -> list[int]:
    """Digits of exponentials, most of them where `scale * E` is next to an integer."""
    digits = [0, 1, (32 << 53) - 1, *rng.integers(0, 32 << 53, 40).tolist()]
    top = math.floor(32 * scale)
    for g in rng.integers(1, max(2, min(top, 2**62)), 60).tolist():
        at = math.floor(g / scale * 2**53)
        digits += [at - 1, at, at + 1]
    return [d for d in digits if 0 <= d < 32 << 53]


@settings(deadline=None, max_examples=150)
@given(scale=scales, seed=st.integers(0, 2**32))
def test_floors_are_exact_and_undecided_lanes_are_handed_over(scale, seed):
    digits = near_integers(scale, np.random.default_rng(seed))
    law = Geometric(scale)
    coarse = scale / 2**law.fine
    # With zeros as further digits E is exactly digits / 2**53 plus almost nothing.
    floors = law._floor(np.array(digits, dtype=np.uint64), Settled())
    assert floors.tolist() == [math.floor(coarse * Fraction(d, 2**53)) for d in digits]


@settings(deadline=None, max_examples=100)
@given(scale=scales, seed=st.integers(0, 2**32))
def test_decided_floors_hold_for_every_continuation_of_the_digits(scale, seed):
    law = Geometric(scale)
    coarse = scale / 2**law.fine
    for d in near_integers(scale, np.random.default_rng(seed)):
        try:
            floor = int(law._floor(np.array([d], dtype=np.uint64), Refusing())[0])
        except AssertionError:
            continue
        upper = coarse * Fraction(d + 1, 2**53)
        last = math.ceil(upper) - 1
        assert floor == math.floor(coarse * Fraction(d, 2**53)) == max(last, 0)


@settings(deadline=None, max_examples=200)
@given(sigma=scales, seed=st.integers(0, 2**32))
def test_exponents_stay_within_their_stated_error(sigma, seed):
    rng = np.random.default_rng(seed)
    law = DiscreteGaussian(sigma)
    m = law._nearest
    top = math.ceil(32 * sigma)
    sizes = {0, m, m - 1, m + 1, top, top - 1, *rng.integers(0, top + 1, 100).tolist()}
    sizes = [y for y in sizes if 0 <= y <= top] if sigma >= Fraction(1, 32) else [0]
    made = _Exponents(sigma, m).approximate(np.array(sizes, dtype=np.int64)).tolist()
    for y, approximate in zip(sizes, made, strict=True):
        exact = ((y - sigma) ** 2 - (m - sigma) ** 2) / (2 * sigma**2) * 2**49
        assert exact >= 0
        assert approximate - 2**30 <= exact < approximate + 2**33


def test_minus_zero_is_dropped_and_signs_follow_the_top_bit():
    top = np.uint64(1 << 63)
    spare = np.array([0, top, 0, top, top], dtype=np.uint64)
    sizes = np.array([0, 0, 5, 5, 1], dtype=np.int64)
    assert signed(sizes, {}, spare).tolist() == [0, 5, -5, -1]
    chosen = np.array([True, True, False, True, True])
    assert signed(sizes, {}, spare, chosen).tolist() == [0, -5, -1]


def test_wide_lanes_widen_the_array_only_if_they_must():
    spare = np.array([0, 1 << 63, 0], dtype=np.uint64)
    sizes = np.array([4, 0, 6], dtype=np.int64)
    small = signed(sizes, {1: 2**63 - 1}, spare)
    assert small.dtype == np.int64
    assert small.tolist() == [4, -(2**63) + 1, 6]
    large = signed(sizes, {1: 2**70}, spare)
    assert large.dtype == object
    assert large.tolist() == [4, -(2**70), 6]


@pytest.mark.parametrize("scale", [Fraction(2**31), Fraction(2**56), Fraction(10**16, 3)])
def test_fine_parts_with_an_open_coin_are_kept_with_their_probability(stream, scale):
    # Words whose top 30 bits are zero leave the first coin open: r is kept with probability
    # 1 - 2**30 (1 - exp(-r / scale)).
    law = Geometric(scale)
    n, r = 30_000, (1 << law.fine) - 1

    class Open(type(stream(0))):
        def words(self, count):
            return np.full(count, r, dtype=np.uint64)

    kept = np.count_nonzero(law._rest(n, Open(41)) == r)
    # What is not kept is redrawn, and hits r again with probability about 2**-fine.
    chance = 1 + 2**30 * math.expm1(-r / float(scale))
    chance += (1 - chance) * 2.0**-law.fine
    assert abs(kept - n * chance) <= 4.5 * math.sqrt(n * chance * (1 - chance) + 1)


def test_large_scales_split_where_one_word_of_digits_is_too_short():
    assert Geometric(Fraction(2**31 - 1)).fine == 0
    assert Geometric(Fraction(2**31)).fine == 1
    assert Geometric(Fraction(2**57 - 1)).fine == 26
    assert geometric._COARSE_BITS + 26 <= 64

"""Coins and uniform picks in lanes."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.mechanisms import choices
from dpframe.mechanisms.choices import (
    coins,
    first_accepted,
    flips,
    one_of_each,
    scaled_coin,
    uniform_each,
)

SCALES = [Fraction(1, 3), Fraction(10), Fraction(10**9, 7), Fraction(2**56), Fraction(2**90)]


@pytest.mark.parametrize("share", [Fraction(1, 10), Fraction(1), Fraction(5, 2)])
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_coins_succeed_with_the_exponential_of_their_gap(stream, scale, share):
    gap, lanes = max(1, round(scale * share)), 200_000 if scale < 2**57 else 20_000
    gaps = np.full(lanes, gap, dtype=np.int64 if gap < 2**63 else object)
    won = int(flips(gaps, scale, stream(70)).sum())
    chance = math.exp(-float(gap / scale))
    assert stats.binomtest(won, lanes, chance).pvalue > 1e-4


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_a_gap_of_zero_always_succeeds_and_a_huge_one_never_does(stream, scale):
    gaps = np.zeros(40_000, dtype=np.int64)
    gaps[::2] = 2**63 - 1
    won = flips(gaps, min(scale, Fraction(2**50)), stream(71))
    assert won[1::2].all()
    assert not won[::2].any()


def test_coins_of_wide_lanes_are_decided_exactly(stream, monkeypatch):
    class Wide:
        """A geometric whose every third lane did not fit."""

        def __init__(self, scale):
            self.scale = scale

        def draw(self, first, second, source):
            wide = {lane: 10**30 + lane for lane in range(0, first.size, 3)}
            return np.full(first.size, -1, dtype=np.int64), wide

    monkeypatch.setattr(choices, "Geometric", Wide)
    won = flips(np.full(9, 2**62), Fraction(3), stream(72))
    assert won.tolist() == [True, False, False] * 3


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10, 64])
def test_uniform_picks_are_uniform(stream, count):
    drawn = uniform_each(np.full(100_000, count), stream(73))
    counts = np.bincount(drawn, minlength=count)
    assert len(counts) == count
    assert count == 1 or stats.chisquare(counts).pvalue > 1e-4


def test_uniform_picks_reach_both_ends_of_wide_ranges(stream):
    count = 2**62 + 1
    drawn = uniform_each(np.full(50_000, count), stream(74))
    assert 0 <= drawn.min() < count / 1000
    assert count - count / 1000 < drawn.max() < count


def test_every_lane_has_its_own_range(stream):
    counts = np.tile([1, 2, 5], 40_000)
    drawn = uniform_each(counts, stream(75))
    for place, count in enumerate([1, 2, 5]):
        found = np.bincount(drawn[place::3], minlength=count)
        assert len(found) == count
        assert count == 1 or stats.chisquare(found).pvalue > 1e-4


def test_one_success_of_each_row_is_picked_uniformly(stream):
    wins = np.tile([[True, False, True, True], [False, True, False, False]], (50_000, 1))
    picked = one_of_each(wins, stream(76))
    assert wins[np.arange(100_000), picked].all()
    assert (picked[1::2] == 1).all()
    assert stats.chisquare(np.bincount(picked[::2], minlength=4)[[0, 2, 3]]).pvalue > 1e-4


def test_rows_are_drawn_independently_whatever_their_neighbours(stream):
    easy, hard = [0, 0, 0, 0], [0, 900, 900, 900]
    gaps = np.array([easy, hard] * 30_000)
    chosen = first_accepted(gaps, Fraction(2), stream(77))
    assert (chosen[1::2] == 0).all()
    assert stats.chisquare(np.bincount(chosen[::2], minlength=4)).pvalue > 1e-4


@pytest.mark.parametrize(("p", "q"), [(1, 3), (2, 7), (10**30 - 1, 10**30), (1, 2**64 * 3)])
def test_rational_coins_succeed_as_often_as_they_should(stream, p, q):
    won = int(coins(p, q, 100_000, stream(78)).sum())
    assert stats.binomtest(won, 100_000, p / q).pvalue > 1e-4


def test_a_tie_of_a_rational_coin_is_settled_by_more_bits(stream):
    class Tied(type(stream(0))):
        """Every word of a vector is the first digits of 1/3; single bits are fair."""

        def words(self, count):
            return np.full(count, 2**64 // 3, dtype=np.uint64)

    won = int(coins(1, 3, 30_000, Tied(79)).sum())
    assert stats.binomtest(won, 30_000, 1 / 3).pvalue > 1e-4  # 2**64 / 3 has a fraction of 1/3


@pytest.mark.parametrize("bits", [0, 1, 63])
def testscaled_coins_succeed_as_often_as_they_should(stream, bits):
    exponent, source = Fraction(math.ceil(bits * math.log(2) * 10) + 3, 10), stream(85)
    chance = 2.0**bits * math.exp(-float(exponent))
    won = sum(scaled_coin(exponent, bits, source) for _ in range(3000))
    assert stats.binomtest(won, 3000, chance).pvalue > 1e-4
    assert not scaled_coin(Fraction(2**80), bits, source)


@pytest.mark.parametrize(("far", "bits"), [(44, 63), (1, 1), (2, 2)])
@pytest.mark.parametrize("kind", [np.int64, object])
def test_columns_far_behind_have_their_exact_chance(stream, monkeypatch, far, bits, kind):
    # With the far columns nearer than they are, the rare path is taken all the time.
    monkeypatch.setattr(choices, "FAR", far)
    monkeypatch.setattr(choices, "FAR_BITS", bits)
    gaps, source = np.array([0, 1, 4, 9, 9, 25, 100], dtype=kind)[np.newaxis], stream(86)
    drawn = [int(first_accepted(gaps, Fraction(4), source)[0]) for _ in range(4000)]
    weights = np.exp(-gaps[0].astype(float) / 4)[:6]
    counts = np.bincount(drawn, minlength=6)
    assert len(counts) == 6
    assert stats.chisquare(counts, weights / weights.sum() * 4000).pvalue > 1e-4


@pytest.mark.parametrize("columns", [3, 2000])
@pytest.mark.parametrize("rows", [1, 16, 17, 300])
def test_every_shape_of_rows_is_drawn_from(stream, rows, columns):
    gaps = np.full((rows, columns), 50)
    gaps[:, columns // 2] = 0
    gaps[:, -1] = 0
    chosen = first_accepted(gaps, Fraction(1), stream(87))
    assert set(chosen.tolist()) <= {columns // 2, columns - 1}
    assert rows < 16 or len(set(chosen.tolist())) == 2

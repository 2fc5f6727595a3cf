"""Many lazy exponentials at once, and every way out of the 64-bit code."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.mechanisms import LazyExponentials, lanes
from dpframe.mechanisms.cuts import CELLS, Table, cut, table
from dpframe.mechanisms.lanes import FIRST_BITS, draw_cells, draw_residues


def geometric_fit(cells: np.ndarray) -> float:
    """Return the p-value of `floor(256 E)`, in bins of 16 cells and the tail."""
    bins = np.minimum(cells.astype(int) // 16, 100)
    edges = np.exp(-np.arange(101) / 16)
    expected = np.append(-np.diff(edges), edges[-1]) * len(cells)
    return float(stats.chisquare(np.bincount(bins, minlength=101), expected).pvalue)


def test_cells_have_their_law(stream):
    source = stream(21)
    cells, wide = draw_cells(source.words(400_000), source)
    assert not wide
    assert geometric_fit(cells) > 1e-3


def test_the_guide_and_the_scalar_code_read_every_word_alike(stream):
    words = stream(22).words(20_000)
    cells, _ = draw_cells(words, stream(22))
    assert cells.tolist() == [table().resolve(int(w), stream(22)) for w in words]


def test_words_at_and_beside_every_cut_are_read_alike():
    class Zeros(lanes.Source):
        def take(self, count: int) -> bytes:
            return bytes(count)

    words = np.concatenate([table().array - np.uint64(1), table().array + np.uint64(1)])
    cells, wide = draw_cells(words, Zeros())
    assert cells[:CELLS].tolist() == list(range(CELLS))
    assert cells[CELLS:-1].tolist() == list(range(1, CELLS))
    assert wide == {2 * CELLS - 1: CELLS}
    # A tie is decided by further digits; zeros are below those of every cut.
    tied, _ = draw_cells(table().array.copy(), Zeros())
    assert tied.tolist() == list(range(CELLS))


@pytest.mark.parametrize("count", [3, 200])
def test_ties_in_lanes_are_decided_by_further_digits(count):
    k = 500

    class Following(lanes.Source):
        def take(self, size: int) -> bytes:
            digits = (cut(k, 128) & ((1 << 64) - 1)) + 1
            return digits.to_bytes(8, "little")

    words = np.full(count, table().cuts[k - 1], dtype=np.uint64)
    cells, _ = draw_cells(words, Following())
    assert cells.tolist() == [k] * count


def test_words_of_eight_bits_tie_always_and_keep_the_law(stream, monkeypatch):
    short = Table(8)
    assert set(short.guide.tolist()) == {int(lanes.OPEN)}
    monkeypatch.setattr(lanes, "table", lambda: short)
    source = stream(23)
    cells, _ = draw_cells(source.words(20_000), source)
    assert geometric_fit(cells) > 1e-3


@pytest.mark.parametrize("few", [0, 10**9])
def test_values_whose_first_coin_is_open_are_kept_with_their_probability(stream, monkeypatch, few):
    # Given eight zero bits, d is kept with probability 1 - 2**8 (1 - exp(-d / 2**53)).
    monkeypatch.setattr(lanes, "_FEW", few)
    source = stream(24 + (few > 0))
    n = 30_000 if few else 120_000
    for d in (1, 1 << 43, 1 << 44, 3 << 43, (1 << 45) - 1):
        words = np.full(n, d, dtype=np.uint64)
        kept = np.count_nonzero(draw_residues(words, source) == d)
        chance = 1 + 256 * math.expm1(-d / 2**53)
        assert abs(kept - n * chance) <= 4.5 * math.sqrt(n * chance * (1 - chance) + 1)


def test_values_whose_second_coin_succeeds_go_on_in_python_integers(monkeypatch):
    asked = []

    def alternate(p, q, k, source):
        asked.append((p, q, k))
        return False

    class Zeros(lanes.Source):
        def take(self, count: int) -> bytes:
            return bytes(count)

    monkeypatch.setattr(lanes, "alternate", alternate)
    monkeypatch.setattr(lanes, "_residue", lambda source: 77)
    monkeypatch.setattr(lanes, "_FEW", 0)
    words = np.full(9, 5, dtype=np.uint64)
    assert draw_residues(words, Zeros()).tolist() == [77] * 9
    assert asked == [(5, 1 << 53, 3)] * 9


def test_residues_leave_the_top_bits_of_their_words_unused(stream):
    source = stream(26)
    words = source.words(5000)
    top = np.uint64((1 << 64) - (1 << 53))
    again = draw_residues(words ^ top, stream(27))
    assert np.array_equal(draw_residues(words, stream(27)), again)
    assert again.max() < 1 << FIRST_BITS


def test_a_lane_continues_the_digits_that_its_word_holds(stream):
    noise = LazyExponentials(50, stream(28))
    for i in range(len(noise)):
        assert noise.lane(i).digits(53) == int(noise.digits[i])
        assert noise.lane(i).digits(300) >> 247 == int(noise.digits[i])
        assert noise.lane(i) is noise.lane(i)


def test_lanes_are_exponential(stream):
    noise = LazyExponentials(100_000, stream(29))
    assert noise.digits.dtype == np.uint64
    assert stats.kstest(noise.digits / 2.0**53, "expon").pvalue > 1e-3


def test_neighbouring_lanes_are_independent(stream):
    e = LazyExponentials(200_000, stream(30)).digits / 2.0**53
    assert abs(np.corrcoef(e[:-1], e[1:])[0, 1]) < 4.5 / math.sqrt(len(e))


def test_a_wide_lane_is_a_lower_bound_with_digits_behind_it(stream):
    class Ones(type(stream(0))):
        def words(self, count):
            words = super().words(count).copy()
            words[1] = (1 << 64) - 1
            return words

    noise = LazyExponentials(8, Ones(31))
    assert int(noise.digits[1]) == 32 << 53
    assert noise.lane(1).digits(0) >= 32
    assert Fraction(noise.lane(1).digits(60), 2**60) >= 32
    assert (noise.digits[np.arange(8) != 1] < np.uint64(32 << 53)).all()


def test_no_lanes_are_an_empty_array(stream):
    assert len(LazyExponentials(0, stream(32))) == 0

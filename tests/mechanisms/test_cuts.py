"""The constant table, against an independent computation in decimals."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpframe.errors import InternalError
from dpframe.mechanisms import cuts
from dpframe.mechanisms.cuts import CELLS, OPEN, Table, cut, exp_bounds, table


def decimal_cuts(bits: int, digits: int) -> list[int]:
    with localcontext() as context:
        context.prec = digits
        one = Decimal(2) ** bits
        return [int(one * (1 - (Decimal(-k) / 256).exp())) for k in range(1, CELLS + 1)]


def test_every_cut_equals_its_decimal_value():
    assert table().cuts == decimal_cuts(64, 60)


def test_cuts_to_128_bits_equal_their_decimal_values():
    expected = decimal_cuts(128, 80)
    for k in [*range(1, 300), *range(300, CELLS + 1, 397), CELLS]:
        assert cut(k, 128) == expected[k - 1]


def test_cuts_are_distinct_and_increasing():
    assert np.all(np.diff(table().array) > 0)
    assert table().array.dtype == np.uint64
    assert table().array.tolist() == table().cuts


@pytest.mark.parametrize("bits", [8, 16, 24, 64])
def test_every_guide_cell_is_right_for_all_of_its_words(bits):
    made = Table(bits)
    width = bits - made.guide_bits
    for cell, found in enumerate(made.guide.tolist()):
        first, last = cell << width, (cell + 1 << width) - 1
        below, upto = bisect_left(made.cuts, first), bisect_right(made.cuts, last)
        # Undecided exactly where a word of the cell could tie with a cut, or pass them all.
        assert found == (int(OPEN) if below != upto or upto == CELLS else below)


def test_a_table_that_its_enclosures_do_not_decide_is_an_error(monkeypatch):
    monkeypatch.setattr(cuts, "_GUARD", 4)
    with pytest.raises(InternalError, match="no enclosure decides"):
        Table(64)


def test_a_cut_that_no_enclosure_decides_is_an_error(monkeypatch):
    monkeypatch.setattr(cuts, "exp_bounds", lambda p, q, bits: (0, 1 << bits))
    with pytest.raises(InternalError, match="no enclosure decides"):
        cut.__wrapped__(5, 64)


@given(
    p=st.integers(0, 10**6),
    q=st.integers(1, 10**4),
    bits=st.integers(1, 300),
)
def test_exp_bounds_enclose_the_exponential_tightly(p, q, bits):
    low, high = exp_bounds(p, q, bits)
    with localcontext() as context:
        context.prec = 150
        exact = 2**bits * (-Decimal(p) / q).exp()
        slack = exact * Decimal(10) ** -140
        assert low <= exact + slack
        assert high >= exact - slack
    assert high - low <= 2


def test_exp_bounds_hold_for_long_and_tiny_ratios():
    assert exp_bounds(10**40, 1, 64) == (0, 1)
    low, high = exp_bounds(1, 10**40, 64)
    assert low <= 2**64 <= high + 1
    assert high - low <= 2


@pytest.mark.parametrize("bits", [1, 2])
def test_short_words_give_every_cell_its_exact_probability(explore, bits):
    # Words this short tie with a cut nearly always.
    found, left = explore(Table(bits).draw, 8000)
    assert left < Fraction(1, 4)
    for k in (0, 1, 7, 100, 255, 256, 700, 2000):
        upto = float(sum(mass for cell, mass in found.items() if cell <= k))
        exact = -math.expm1(-(k + 1) / 256)
        assert upto - 1e-12 <= exact <= upto + float(left) + 1e-12


@pytest.mark.usefixtures("one_bit_words")
def test_cells_beyond_the_last_cut_have_their_exact_probabilities(explore):
    # Six cells of width 1/2: the tail starts again at E = 3.
    found, left = explore(Table(1).draw, 8000)
    assert left < Fraction(1, 100)
    for k in range(12):
        upto = float(sum(mass for cell, mass in found.items() if cell <= k))
        exact = -math.expm1(-(k + 1) / 2)
        assert upto - 1e-12 <= exact <= upto + float(left) + 1e-12


def test_a_word_that_ties_with_a_cut_is_decided_by_its_next_digits(script):
    for k in (1, 300, 4000, CELLS - 1):
        word = table().cuts[k - 1]
        following = cut(k, 128) & ((1 << 64) - 1)
        assert table().resolve(word, script(f"{following + 1:064b}")) == k
        assert table().resolve(word, script(f"{following - 1:064b}")) == k - 1
        # A second tie goes on to the third word.
        third = cut(k, 192) & ((1 << 64) - 1)
        assert table().resolve(word, script(f"{following:064b}{third + 1:064b}")) == k
        assert table().resolve(word, script(f"{following:064b}{third - 1:064b}")) == k - 1


def test_a_word_above_every_cut_starts_again_beyond_them(script):
    ones = (1 << 64) - 1
    assert table().resolve(ones, script(f"{ones:064b}" * 3 + "0" * 64)) == 4 * CELLS
    assert table().resolve(table().cuts[-1] + 1, script("0" * 64)) == CELLS
    assert table().resolve(table().cuts[-1] - 1, script("")) == CELLS - 1

"""The most frequent cell of every group: the exact law, and what it loses between neighbours."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.mechanisms import ModeSelection

TABLES = [[0, 0, 0], [2, 0, 1], [1, 4, 0, 0], [3, 3]]


def law(counts, scale, concentrated):
    """The probability of every cell: proportional, or by a coin for each in random order."""
    coins = [math.exp(-(max(counts) - count) / scale) for count in counts]
    if concentrated:
        return [coin / sum(coins) for coin in coins]
    found = [0.0] * len(counts)
    for won in itertools.product((False, True), repeat=len(counts)):
        chance = math.prod(c if w else 1 - c for c, w in zip(coins, won, strict=True))
        for i, w in enumerate(won):
            found[i] += chance / sum(won) if w and chance else 0.0
    return found


@pytest.mark.parametrize("counts", TABLES)
@pytest.mark.parametrize("concentrated", [False, True])
def test_cells_are_chosen_with_the_probabilities_of_the_definition(stream, counts, concentrated):
    groups = 20_000
    mode = ModeSelection(Fraction(3, 2), concentrated)
    found = Counter(mode.choose(np.tile(counts, (groups, 1)), stream(1)).tolist())
    expected = [groups * p for p in law(counts, 1.5, concentrated)]
    chi = sum((found[i] - e) ** 2 / e for i, e in enumerate(expected))
    assert chi <= stats.chi2.ppf(1 - 1e-6, len(counts) - 1)


def neighbours(counts):
    """A unit of up to two rows more, or a row that moves."""
    for i, j in itertools.product(range(len(counts)), repeat=2):
        yield 2, [c + (k == i) + (k == j) for k, c in enumerate(counts)]
        moved = [c - (k == i) + (k == j) for k, c in enumerate(counts)]
        if min(moved) >= 0:
            yield 2, moved
        yield 1, [c + (k == i) for k, c in enumerate(counts)]


@pytest.mark.parametrize("counts", TABLES)
def test_the_loss_of_a_group_grows_with_its_l1_distance(counts):
    """So the losses of groups that a unit is spread over add up to that of all its weight."""
    pure = ModeSelection.for_epsilon(Fraction(1), l1=2)
    squared = ModeSelection.for_rho(Fraction(1, 2), l2_squared=4)
    for distance, after in neighbours(counts):
        one, other = (law(c, float(pure.scale), False) for c in (counts, after))
        ratios = [abs(math.log(a / b)) for a, b in zip(one, other, strict=True)]
        assert max(ratios) <= float(pure.loss(distance).epsilon) + 1e-9
        one, other = (law(c, float(squared.scale), True) for c in (counts, after))
        for order in (1.5, 2, 8, 64):
            spent = sum(a**order * b ** (1 - order) for a, b in zip(one, other, strict=True))
            limit = order * float(squared.zcdp_loss(distance**2).rho)
            assert math.log(spent) / (order - 1) <= limit + 1e-9


def test_costs_are_recomputed_from_the_scale():
    assert ModeSelection.for_epsilon(Fraction(1, 3), l1=5).loss(5).epsilon == Fraction(1, 3)
    assert ModeSelection.for_rho(Fraction(1, 8), l2_squared=4).zcdp_loss(4).rho == Fraction(1, 8)
    assert ModeSelection.for_rho(Fraction(1, 7), l2_squared=3).zcdp_loss(3).rho <= Fraction(1, 7)


@pytest.mark.parametrize("concentrated", [False, True])
def test_the_largest_count_is_missed_by_no_more_than_was_said(stream, concentrated):
    mode = ModeSelection(Fraction(10), concentrated)
    error = mode.error(0.95, cells=6, groups=1)
    counts = np.tile([100, 100 - error - 1, *[100 - error - 1] * 4], (4_000, 1))
    missed = (mode.choose(counts, stream(2)) > 0).mean()
    assert 0.02 < missed <= 0.06

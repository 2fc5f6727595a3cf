"""Quantiles by selection: the exact law, what it loses between neighbours, and how far it is off."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.budget.halving import Swap, rank_errors, reach, rounds
from dpframe.errors import InternalError, ParameterError
from dpframe.mechanisms import QuantileSelection, quantiles

HALF = (Fraction(1, 2),)
SKEWED = (Fraction(9, 10),)
THREE = (Fraction(1, 4), Fraction(1, 2), Fraction(9, 10))
TWO = (Fraction(1, 3), Fraction(2, 3))


def law(counts, grains, levels, scale, swap=None):
    """The probability of every outcome, from the definition: each position, each round."""
    weights = [count for count in counts for _ in range(grains)]
    steps = [step for found in rounds(levels) for step in found]
    alone = [len(found) == 1 for found in rounds(levels) for _ in found]
    outcomes = {(): 1.0}
    for number, step in enumerate(steps):
        before, outcomes = outcomes, {}
        for chosen, probability in before.items():
            known = {s.index: x for s, x in zip(steps[:number], chosen, strict=True)}
            low = 0 if step.after is None else known[step.after] + 1
            high = len(weights) if step.before is None else known[step.before]
            far = reach(step.share, swap, alone=alone[number])
            for x, share in _one(weights, low, high, step.share, far * grains * scale).items():
                outcomes[*chosen, x] = probability * share
    order = np.argsort([step.index for step in steps])
    return {tuple(chosen[i] for i in order): p for chosen, p in outcomes.items()}


def _one(weights, low, high, share, scale):
    if low >= high:
        return {min(low, high, len(weights) - 1): 1.0}
    p, d = share.numerator, share.denominator
    total, below, found = sum(weights[low:high]), 0, {}
    for x in range(low, high):
        above = total - below - weights[x]
        gap = max(
            0,
            (d - p) * below - p * (weights[x] + above),
            p * above - (d - p) * (below + weights[x]),
        )
        found[x] = math.exp(-gap / float(2 * d * scale))
        below += weights[x]
    whole = sum(found.values())
    return {x: weight / whole for x, weight in found.items()}


# --- the law ---------------------------------------------------------------------------------------

CASES = [
    ([3, 0, 1, 5], 2, HALF, Fraction(2)),
    ([3, 0, 1, 5], 3, SKEWED, Fraction(1, 3)),
    ([0, 0, 7, 0, 0, 1, 2], 1, THREE, Fraction(3, 2)),
    ([0, 0, 0], 2, TWO, Fraction(1)),
    ([100, 2, 90], 3, TWO, Fraction(1)),
    ([0, 9], 1, THREE, Fraction(4)),
    ([5], 1, THREE, Fraction(1)),
]


@pytest.mark.parametrize(("counts", "grains", "levels", "scale"), CASES)
@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("swap", [None, Swap(one_group=True, norm=1), Swap(False, norm=2)])
def test_positions_are_chosen_with_the_probabilities_of_the_definition(
    stream, monkeypatch, counts, grains, levels, scale, far, swap
):
    if far:  # so that far positions are proposed often: exp(-3) < 2**-4
        for name, value in (("FAR", 3), ("FAR_BITS", 4), ("_RARE_BITS", 1)):
            monkeypatch.setattr(quantiles, name, value)
    groups = 2_000 if far else 20_000
    table = np.tile(np.array(counts), (groups, 1))
    mechanism = QuantileSelection(levels, scale, swap)
    found = mechanism.choose(table, len(counts), grains, stream(1))
    seen = Counter(map(tuple, found.tolist()))
    expected = law(counts, grains, levels, scale, swap)
    assert set(seen) <= set(expected)
    often = {x: groups * p for x, p in expected.items() if groups * p > 5}
    rest = groups - sum(often.values())
    observed = [*(seen[x] for x in often), groups - sum(seen[x] for x in often)]
    wanted = [*often.values(), rest]
    chi = sum((o - w) ** 2 / w for o, w in zip(observed, wanted, strict=True) if w > 1)
    assert chi <= stats.chi2.ppf(1 - 1e-6, max(1, len(wanted) - 1))


def test_only_the_first_cells_are_chosen_and_counted(stream):
    counts = np.array([[1, 2, 3, 10**6]] * 500)
    found = QuantileSelection(HALF, Fraction(1, 100)).choose(counts, 3, 4, stream(2))
    assert set((found // 4).ravel().tolist()) <= {1, 2}


@pytest.mark.parametrize("size", [1, 2**20, 2**45])
def test_counts_of_any_size_are_ranked_exactly(stream, size):
    """Large counts leave 64 bits when they are multiplied by a level."""
    counts = np.full((2, 1000), size, dtype=np.int64)
    levels = (Fraction(123_457, 999_999), Fraction(1, 2))
    scale = max(Fraction(size, 10**4), Fraction(1, 1024))
    found = QuantileSelection(levels, scale).choose(counts, 1000, 4096, stream(3))
    assert np.allclose(found / (1000 * 4096), [float(level) for level in levels], atol=1e-4)


@pytest.mark.parametrize("levels", [(), (Fraction(0),), (Fraction(1),), (*TWO[::-1],)])
def test_levels_rise_and_lie_inside(levels):
    with pytest.raises(ParameterError, match="levels"):
        QuantileSelection(levels, Fraction(1))


# --- privacy ---------------------------------------------------------------------------------------

TABLES = [[0, 0, 0], [2, 0, 1], [1, 4, 0, 0, 2], [0, 3, 3], [6, 0, 0, 6]]


def furthest(one, other):
    """The largest log-ratio of two laws, in either direction."""
    assert set(one) == set(other)
    return max(abs(math.log(one[x] / other[x])) for x in one)


@pytest.mark.parametrize("levels", [HALF, SKEWED, TWO, THREE])
@pytest.mark.parametrize("counts", TABLES)
@pytest.mark.parametrize("grains", [1, 2])
def test_one_unit_changes_no_probability_beyond_the_loss(counts, grains, levels):
    """Rows added anywhere, one or two of a unit; and a row that moves to another cell."""
    mechanism = QuantileSelection.for_epsilon(levels, Fraction(1), l1=2)
    before = law(counts, grains, levels, mechanism.scale)
    promised = float(mechanism.loss(l1=2).epsilon)
    assert promised <= 1
    cells, tight = range(len(counts)), 0.0
    for first in cells:
        for second in cells:
            added = [c + (i == first) + (i == second) for i, c in enumerate(counts)]
            moved = [c - (i == first) + (i == second) for i, c in enumerate(counts)]
            for after in (added, moved):
                if min(after) >= 0:
                    found = furthest(before, law(after, grains, levels, mechanism.scale))
                    assert found <= promised + 1e-9
                    tight = max(tight, found)
    assert tight > promised / 8  # the bound is no formality


def test_the_promise_of_a_median_is_attained():
    """With most positions on one side, a row on the other one moves the odds by all of epsilon."""
    mechanism = QuantileSelection.for_epsilon(HALF, Fraction(1, 2), l1=1)
    before, after = (law([0] * 2000 + [3, n], 1, HALF, mechanism.scale) for n in (0, 1))
    assert 0.49 < furthest(before, after) <= 0.5


def renyi(one, other, order):
    return math.log(sum(one[x] ** order * other[x] ** (1 - order) for x in one)) / (order - 1)


@pytest.mark.parametrize("order", [1.5, 2, 8, 64])
@pytest.mark.parametrize("levels", [HALF, SKEWED, THREE])
def test_concentrated_loss_holds_at_every_order(levels, order):
    """A row that moves within its group is at L1 distance 2: its square is 4, and not 2."""
    mechanism = QuantileSelection.for_rho(levels, Fraction(1, 2), l2_squared=4)
    rho = float(mechanism.zcdp_loss(l2_squared=4).rho)
    assert rho <= 0.5
    for counts in TABLES:
        before = law(counts, 1, levels, mechanism.scale)
        for first in range(len(counts)):
            for second in range(len(counts)):
                moved = [c - (i == first) + (i == second) for i, c in enumerate(counts)]
                if min(moved) >= 0:
                    after = law(moved, 1, levels, mechanism.scale)
                    for one, other in ((before, after), (after, before)):
                        assert renyi(one, other, order) <= rho * order + 1e-9


def test_groups_share_one_loss():
    """A unit of weight 3 with 2 rows here and 1 there: the groups' losses add up to one."""
    pure = QuantileSelection.for_epsilon(THREE, Fraction(1), l1=3)
    squared = QuantileSelection.for_rho(THREE, Fraction(1, 2), l2_squared=5)
    for one, other in (([2, 0, 1], [1, 4, 0]), ([0, 3, 3], [0, 0, 0])):
        for i in range(3):
            for j in range(3):
                here = [c + 2 * (k == i) for k, c in enumerate(one)]
                there = [c + (k == j) for k, c in enumerate(other)]
                pairs = [(one, here), (other, there)]
                laws = [[law(c, 1, THREE, pure.scale) for c in pair] for pair in pairs]
                assert sum(furthest(a, b) for a, b in laws) <= pure.loss(l1=3).epsilon + 1e-9
                laws = [[law(c, 1, THREE, squared.scale) for c in pair] for pair in pairs]
                spent = sum(renyi(a, b, 4) for a, b in laws)
                assert spent <= 4 * squared.zcdp_loss(l2_squared=5).rho + 1e-9


# --- a unit that is replaced -----------------------------------------------------------------------

SWAPS = [Swap(one_group=True, norm=1), Swap(one_group=True, norm=2)]


def replaced(counts, weight):
    """All tables where up to `weight` rows left, anywhere, and up to as many entered, anywhere."""
    found = {tuple(counts)}
    cells = range(len(counts))
    for _ in range(weight):
        found |= {(*t[:i], t[i] - 1, *t[i + 1 :]) for t in found for i in cells if t[i]}
    for _ in range(weight):
        found |= {(*t[:i], t[i] + 1, *t[i + 1 :]) for t in found for i in cells}
    return found


@pytest.mark.parametrize("levels", [HALF, SKEWED, TWO, THREE])
@pytest.mark.parametrize("counts", TABLES)
@pytest.mark.parametrize("weight", [1, 2])
def test_a_replaced_unit_changes_no_probability_beyond_the_loss(counts, weight, levels):
    """What leaves and what enters may weigh differently: a filter or NULL leaves out the rest."""
    for swap in (Swap(one_group=True, norm=1), Swap(one_group=False, norm=1)):
        mechanism = QuantileSelection.for_epsilon(levels, Fraction(1), l1=weight, swap=swap)
        promised = float(mechanism.loss(l1=weight).epsilon)
        assert promised <= 1
        before = law(counts, 1, levels, mechanism.scale, swap)
        found = [
            furthest(before, law(other, 1, levels, mechanism.scale, swap))
            for other in replaced(counts, weight)
        ]
        assert max(found) <= promised + 1e-9


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 20)])
def test_the_promise_of_one_range_is_attained_by_one_row_that_moves(share):
    """Were it any smaller, this would exceed it: a row moves from one side to the other.

    Nearly all positions lie in one stretch without rows, where the gap is 0, and all on the other
    side of it. There it rises by d, and at the first position it falls by d.
    """
    p, d = share.numerator, share.denominator
    swap = Swap(one_group=True, norm=1)
    mechanism = QuantileSelection.for_epsilon((share,), Fraction(1, 2), l1=1, swap=swap)
    stretch = [0] * 60_000
    before = law([0, 0, 5 * p, *stretch, 5 * (d - p)], 1, (share,), mechanism.scale, swap)
    after = law([1, 0, 5 * p, *stretch, 5 * (d - p) - 1], 1, (share,), mechanism.scale, swap)
    found = furthest(before, after)
    assert 0.495 < found <= 0.5


def test_the_promise_of_two_groups_is_attained_by_a_row_that_moves_between_them():
    swap = Swap(one_group=False, norm=1)
    mechanism = QuantileSelection.for_epsilon(SKEWED, Fraction(1, 2), l1=1, swap=swap)
    stretch = [0] * 60_000
    # Above the quantile, a row moves the gaps before it by 9 of 10, in either direction.
    tables = [[9 + 90, *stretch, 11, 0, n] for n in (0, 1)]
    before, after = (law(t, 1, SKEWED, mechanism.scale, swap) for t in tables)
    entered = furthest(before, after)
    assert 0.245 < entered <= 0.25  # and as much in the group that it leaves


@pytest.mark.parametrize("order", [1.5, 2, 8, 64])
@pytest.mark.parametrize("levels", [HALF, SKEWED, THREE])
def test_the_concentrated_loss_of_a_replaced_unit_holds_at_every_order(levels, order):
    for weight, swap in ((1, SWAPS[1]), (2, SWAPS[1]), (1, Swap(one_group=False, norm=2))):
        mechanism = QuantileSelection.for_rho(levels, Fraction(1, 2), weight**2, swap)
        rho = float(mechanism.zcdp_loss(weight**2).rho)
        assert rho <= 0.5
        for counts in TABLES[:4]:
            before = law(counts, 1, levels, mechanism.scale, swap)
            for other in replaced(counts, weight):
                after = law(other, 1, levels, mechanism.scale, swap)
                for one, two in ((before, after), (after, before)):
                    assert renyi(one, two, order) <= rho * order + 1e-9


@pytest.mark.parametrize("levels", [HALF, SKEWED, THREE])
def test_groups_that_a_replaced_unit_is_spread_over_share_one_loss(levels):
    """It has 2 rows here and 1 there, and another one the other way round."""
    pure, squared = (Swap(one_group=False, norm=norm) for norm in (1, 2))
    chosen = QuantileSelection.for_epsilon(levels, Fraction(1), 3, pure)
    weighed = QuantileSelection.for_rho(levels, Fraction(1, 2), 5, squared)
    one, other = [2, 1, 3], [1, 4, 1]
    for i in range(3):
        for j in range(3):
            here = [c + 2 * (k == i) - (k == j) for k, c in enumerate(one)]
            there = [c + (k == j) - 2 * (k == i) for k, c in enumerate(other)]
            if min(here + there) < 0:
                continue
            pairs = [(one, here), (other, there)]
            laws = [[law(c, 1, levels, chosen.scale, pure) for c in pair] for pair in pairs]
            assert sum(furthest(a, b) for a, b in laws) <= chosen.loss(l1=3).epsilon + 1e-9
            laws = [[law(c, 1, levels, weighed.scale, squared) for c in pair] for pair in pairs]
            for order in (2, 16):
                spent = sum(renyi(a, b, order) for a, b in laws)
                assert spent <= order * weighed.zcdp_loss(l2_squared=5).rho + 1e-9


def test_gaps_of_spread_units_move_apart_by_all_that_is_bounded():
    """The reach for zCDP is no larger than it must be: squares of scores' ranges add up to it.

    A unit with weights of u here and w there, their squares adding up to 1, is replaced by its mirror
    image. Gaps move by M u + (1 - M) w in both groups, most where u : w is M : (1 - M).
    """
    far = 0.9
    u, w = (x / math.hypot(far, 1 - far) for x in (far, 1 - far))
    moved = 2 * (far * u + (1 - far) * w) ** 2
    assert moved == pytest.approx(float(reach(SKEWED[0], Swap(False, 2), alone=True)) ** 2, 2e-3)


def test_a_replaced_unit_is_charged_in_the_norm_that_was_bounded():
    pure, squared = (QuantileSelection(HALF, Fraction(1), swap) for swap in SWAPS)
    with pytest.raises(InternalError, match="norm"):
        pure.zcdp_loss(1)
    with pytest.raises(InternalError, match="norm"):
        squared.loss(1)


# --- accuracy --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "levels", [HALF, SKEWED, THREE, tuple(Fraction(i, 8) for i in range(1, 8))]
)
@pytest.mark.parametrize("swap", [None, Swap(True, 1), Swap(False, 1), Swap(False, 2)])
def test_ranks_are_off_as_far_as_predicted(stream, levels, swap):
    rows, groups = 2_000, 400
    scale = Fraction(4)
    counts = np.ones((groups, rows), dtype=np.int64)
    mechanism = QuantileSelection(levels, scale, swap)
    found = mechanism.choose(counts, rows, 16, stream(4)) / 16
    wanted = [float(level) * rows for level in levels]
    off = np.sqrt(((found - wanted) ** 2).mean(axis=0))
    predicted = np.array(rank_errors(levels, swap)) * math.sqrt(2) * float(scale)
    assert np.hypot.reduce(predicted) == pytest.approx(
        np.hypot.reduce(rank_errors(levels)) * math.sqrt(mechanism.variance)
    )
    assert (off < 1.25 * predicted).all()
    assert (off > 0.75 * predicted).all()


@pytest.mark.parametrize("scale", [Fraction(1, 100), Fraction(5), Fraction(10**4)])
def test_quantiles_never_cross(stream, scale):
    levels = tuple(Fraction(i, 20) for i in range(1, 20))
    counts = np.random.default_rng(1).poisson(0.3, (200, 12))
    found = QuantileSelection(levels, scale).choose(counts, 12, 2, stream(5))
    assert (np.diff(found, axis=1) >= 0).all()
    assert found.min() >= 0
    assert found.max() < 24


def test_a_cell_of_many_rows_is_shared_by_the_quantiles_on_either_side(stream):
    """60 of 100 rows in the first cell: 3/4 lies beyond it, whatever was chosen inside it."""
    counts = np.zeros((50, 101), dtype=np.int64)
    counts[:, 0], counts[:, 1:] = 6_000_000, 40_000
    levels = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    found = QuantileSelection(levels, Fraction(1)).choose(counts, 101, 4096, stream(6)) / 4096
    assert (found[:, :2] < 1).all()
    assert np.allclose(found[:, 2], 1 + 100 * 15 / 40, atol=0.1)

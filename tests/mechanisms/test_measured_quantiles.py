"""Quantiles with counts around them: the exact law, and what both together lose."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from mechanisms.test_quantiles import HALF, SKEWED, THREE, TWO, replaced
from mechanisms.test_quantiles import law as law_of_places
from scipy import stats

from dpframe.budget.halving import Swap
from dpframe.errors import InternalError
from dpframe.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    MeasuredQuantiles,
    QuantileSelection,
)
from dpframe.plan.surroundings import Surroundings, edges_around


def laplace(z, scale):
    """The probability of one draw."""
    rate = math.exp(-1 / float(scale))
    return (1 - rate) / (1 + rate) * rate ** abs(z)


def gaussian(z, sigma):
    whole = sum(math.exp(-(k**2) / (2 * float(sigma) ** 2)) for k in range(-60, 61))
    return math.exp(-(z**2) / (2 * float(sigma) ** 2)) / whole


def counted(counts, places, grains):
    """The edges around places, and the exact rows between them."""
    (edges,) = edges_around(np.array([places]) // grains, len(counts)).tolist()
    return edges, [sum(counts[a:b]) for a, b in itertools.pairwise(edges)]


# --- the law ---------------------------------------------------------------------------------------


def seen_and_expected(counts, levels, noise, density, stream):
    """How often each row of places and counts came up, and its probability by the definition."""
    groups, grains, scale = 30_000, 2, Fraction(1, 2)
    measured = MeasuredQuantiles(QuantileSelection(levels, scale), noise)
    table = np.tile(np.array(counts), (groups, 1))
    found = measured.measure(table, len(counts), grains, edges_around, stream(1))
    rows = np.array(found, dtype=np.int64).reshape(groups, -1)
    seen = Counter(map(tuple, rows.tolist()))
    expected = {}
    for places, chance in law_of_places(counts, grains, levels, scale).items():
        edges, exact = counted(counts, places, grains)
        for row in seen:
            if row[: len(places) + len(edges)] == (*places, *edges):
                noisy = row[len(places) + len(edges) :]
                probability = chance
                for a, b, true, value in zip(edges[:-1], edges[1:], exact, noisy, strict=True):
                    probability *= density(value - true) if a < b else value == 0
                expected[row] = probability
    return seen, expected, groups


@pytest.mark.parametrize(
    ("noise", "density"),
    [
        (DiscreteLaplace(Fraction(1, 2)), lambda z: laplace(z, Fraction(1, 2))),
        (DiscreteGaussian(Fraction(1, 2)), lambda z: gaussian(z, Fraction(1, 2))),
    ],
    ids=["laplace", "gaussian"],
)
@pytest.mark.parametrize(
    ("counts", "levels"), [([3, 0, 5], HALF), ([2, 4], TWO), ([7], HALF), ([0, 0, 0], HALF)]
)
def test_places_and_counts_have_the_probabilities_of_the_definition(
    stream, counts, levels, noise, density
):
    seen, expected, groups = seen_and_expected(counts, levels, noise, density, stream)
    assert set(seen) == set(expected)  # the edges are those around the places
    assert all(p > 0 for p in expected.values())  # no noise where there is nothing to count
    often = {row: groups * p for row, p in expected.items() if groups * p > 5}
    rest = groups - sum(often.values())
    chi = sum((seen[row] - wanted) ** 2 / wanted for row, wanted in often.items())
    chi += (groups - sum(seen[row] for row in often) - rest) ** 2 / max(rest, 1)
    assert chi <= stats.chi2.ppf(1 - 1e-6, len(often))


@pytest.mark.parametrize(("counts", "levels"), [([3, 0, 5], HALF), ([2, 4], TWO)])
def test_without_counts_places_alone_have_the_probabilities_of_the_definition(
    stream, counts, levels
):
    groups, scale = 30_000, Fraction(1, 2)
    bare = MeasuredQuantiles(QuantileSelection(levels, scale), None)
    table = np.tile(np.array(counts), (groups, 1))
    found = bare.measure(table, len(counts), 2, edges_around, stream(1))
    seen = Counter(map(tuple, np.array(found).reshape(groups, len(levels)).tolist()))
    expected = law_of_places(counts, 2, levels, scale)
    assert set(seen) <= set(expected)
    often = {places: groups * p for places, p in expected.items() if groups * p > 5}
    chi = sum((seen[places] - wanted) ** 2 / wanted for places, wanted in often.items())
    assert chi <= stats.chi2.ppf(1 - 1e-6, len(often))


@pytest.mark.parametrize("levels", [HALF, TWO, THREE])
@pytest.mark.parametrize("swap_of", [lambda _: None, lambda norm: Swap(False, norm)])
def test_without_counts_choosing_has_the_whole_cost(levels, swap_of):
    cost = Fraction(1, 3)
    pure = MeasuredQuantiles.for_epsilon(levels, cost, 4, swap_of(1), counted=False)
    assert pure.choice == QuantileSelection.for_epsilon(levels, cost, 4, swap_of(1))
    assert pure.loss(4) == pure.choice.loss(4)
    assert pure.loss(4).epsilon <= cost
    concentrated = MeasuredQuantiles.for_rho(levels, cost, 16, swap_of(2), counted=False)
    assert concentrated.choice == QuantileSelection.for_rho(levels, cost, 16, swap_of(2))
    assert concentrated.zcdp_loss(16) == concentrated.choice.zcdp_loss(16)
    assert concentrated.zcdp_loss(16).rho <= cost


def test_rows_beyond_the_cells_count_nowhere(stream):
    counts = np.array([[1, 2, 3, 10**6]] * 50)
    measured = MeasuredQuantiles.for_epsilon(HALF, Fraction(1000), l1=1)
    rows = np.array(measured.measure(counts, 3, 4, edges_around, stream(2))).reshape(50, -1)
    around = Surroundings.of(rows, positions=1)
    assert (around.edges.max(axis=1) == 3).all()
    assert (around.counts.sum(axis=1) == 6).all()


@pytest.mark.parametrize("size", [1, 2**20, 2**41])
def test_counts_of_any_size_are_added_up_exactly(stream, size):
    counts = np.full((3, 500), size, dtype=np.int64)
    measured = MeasuredQuantiles(
        QuantileSelection(THREE, Fraction(1)), DiscreteLaplace(Fraction(1, 1024))
    )
    rows = np.array(measured.measure(counts, 500, 4096, edges_around, stream(3)), dtype=object)
    around = Surroundings.of(rows.reshape(3, -1), positions=3)
    assert (around.counts == np.diff(around.edges, axis=1) * size).all()


# --- privacy ---------------------------------------------------------------------------------------

TABLES = [[0, 0, 0], [2, 0, 1], [1, 4, 0, 0, 2], [0, 3, 3]]


def neighbours(counts):
    """Rows added anywhere, one or two of a unit; and a row that moves to another cell."""
    cells = range(len(counts))
    for first in cells:
        for second in cells:
            yield [c + (i == first) + (i == second) for i, c in enumerate(counts)]
            moved = [c - (i == first) + (i == second) for i, c in enumerate(counts)]
            if min(moved) >= 0:
                yield moved


@pytest.mark.parametrize("levels", [HALF, TWO, THREE])
@pytest.mark.parametrize("counts", TABLES)
def test_one_unit_changes_no_probability_beyond_the_loss(counts, levels):
    """Given the places, the ratio of Laplace noise is at most exp(L1 distance of the counts / scale)."""
    mechanism = MeasuredQuantiles.for_epsilon(levels, Fraction(1), l1=2)
    promised = float(mechanism.loss(l1=2).epsilon)
    assert promised <= 1
    before, tight = law_of_places(counts, 2, levels, mechanism.choice.scale), 0.0
    for other in neighbours(counts):
        after = law_of_places(other, 2, levels, mechanism.choice.scale)
        for places, chance in before.items():
            _, one = counted(counts, places, 2)
            _, two = counted(other, places, 2)
            moved = sum(abs(a - b) for a, b in zip(one, two, strict=True))
            spent = abs(math.log(chance / after[places])) + moved / float(mechanism.noise.scale)
            assert spent <= promised + 1e-9
            tight = max(tight, spent)
    assert tight > promised / 4


@pytest.mark.parametrize("order", [1.5, 2, 16])
@pytest.mark.parametrize("levels", [HALF, THREE])
def test_concentrated_loss_holds_at_every_order(levels, order):
    """Given the places, counts at L2 distance v lose `order * v**2 / (2 sigma**2)`, or less."""
    mechanism = MeasuredQuantiles.for_rho(levels, Fraction(1, 2), l2_squared=4)
    rho = float(mechanism.zcdp_loss(l2_squared=4).rho)
    assert rho <= 0.5
    sigma = float(mechanism.noise.sigma)
    for counts in TABLES:
        before = law_of_places(counts, 1, levels, mechanism.choice.scale)
        for other in neighbours(counts):
            after = law_of_places(other, 1, levels, mechanism.choice.scale)
            total = 0.0
            for places, chance in before.items():
                pair = zip(counted(counts, places, 1)[1], counted(other, places, 1)[1], strict=True)
                squared = sum((a - b) ** 2 for a, b in pair)
                noise = math.exp(order * (order - 1) * squared / (2 * sigma**2))
                total += chance**order * after[places] ** (1 - order) * noise
            assert math.log(total) / (order - 1) <= rho * order + 1e-9


@pytest.mark.parametrize("levels", [HALF, SKEWED, TWO])
@pytest.mark.parametrize("weight", [1, 2])
def test_a_replaced_unit_changes_no_probability_beyond_the_loss(levels, weight):
    swap = Swap(one_group=True, norm=1)
    mechanism = MeasuredQuantiles.for_epsilon(levels, Fraction(1), weight, swap)
    promised = float(mechanism.loss(weight).epsilon)
    assert promised <= 1
    for counts in TABLES:
        before = law_of_places(counts, 1, levels, mechanism.choice.scale, swap)
        for other in replaced(counts, weight):
            after = law_of_places(other, 1, levels, mechanism.choice.scale, swap)
            for places, chance in before.items():
                pair = zip(counted(counts, places, 1)[1], counted(other, places, 1)[1], strict=True)
                moved = sum(abs(a - b) for a, b in pair)
                spent = abs(math.log(chance / after[places])) + moved / float(mechanism.noise.scale)
                assert spent <= promised + 1e-9


@pytest.mark.parametrize("order", [1.5, 2, 16])
@pytest.mark.parametrize("levels", [HALF, SKEWED])
def test_the_concentrated_loss_of_a_replaced_unit_holds_at_every_order(levels, order):
    """Cells that gain and cells that lose: the squares of both add up, no more."""
    for weight, swap in ((1, Swap(True, 2)), (2, Swap(True, 2)), (1, Swap(False, 2))):
        mechanism = MeasuredQuantiles.for_rho(levels, Fraction(1, 2), weight**2, swap)
        rho, sigma = float(mechanism.zcdp_loss(weight**2).rho), float(mechanism.noise.sigma)
        assert rho <= 0.5
        for counts in TABLES:
            before = law_of_places(counts, 1, levels, mechanism.choice.scale, swap)
            for other in replaced(counts, weight):
                after = law_of_places(other, 1, levels, mechanism.choice.scale, swap)
                total = 0.0
                for places, chance in before.items():
                    sides = (counted(table, places, 1)[1] for table in (counts, other))
                    squared = sum((a - b) ** 2 for a, b in zip(*sides, strict=True))
                    noise = math.exp(order * (order - 1) * squared / (2 * sigma**2))
                    total += chance**order * after[places] ** (1 - order) * noise
                assert math.log(total) / (order - 1) <= rho * order + 1e-9


def test_the_loss_is_the_sum_of_both_and_of_its_own_kind():
    pure = MeasuredQuantiles.for_epsilon(THREE, Fraction(1), l1=3)
    both = pure.choice.loss(l1=3) + pure.noise.loss(3)
    assert pure.loss(l1=3) == both
    assert both.epsilon == 1
    with pytest.raises(InternalError):
        pure.zcdp_loss(l2_squared=9)
    squared = MeasuredQuantiles.for_rho(THREE, Fraction(1, 2), l2_squared=9)
    assert squared.zcdp_loss(l2_squared=9).rho == (
        squared.choice.zcdp_loss(9).rho + squared.noise.loss(9).rho
    )
    with pytest.raises(InternalError):
        squared.loss(l1=3)


# --- accuracy --------------------------------------------------------------------------------------


@pytest.mark.parametrize("pure", [True, False])
def test_a_place_is_little_further_off_than_with_the_whole_cost(pure):
    cost = Fraction(1, 4)
    if pure:
        whole = QuantileSelection.for_epsilon(THREE, cost, 1)
        found = MeasuredQuantiles.for_epsilon(THREE, cost, 1)
    else:
        whole = QuantileSelection.for_rho(THREE, cost, 1)
        found = MeasuredQuantiles.for_rho(THREE, cost, 1)
    further = Fraction(4, 3) if pure else math.sqrt(4 / 3)
    assert found.choice.scale / whole.scale == pytest.approx(float(further), rel=1e-3)

"""Top-k against the law of its rounds."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpframe.errors import ParameterError
from dpframe.mechanisms import ExponentialMechanism, PeeledTopK, PermuteAndFlip, Source, TopK


def exact_law(scale: Fraction, scores, k: int) -> dict[tuple[int, ...], float]:
    """Return the probability of each ordered choice: draws without replacement."""
    weights = [math.exp(score / float(scale)) for score in scores]
    law = {}
    for order in itertools.permutations(range(len(scores)), k):
        left, chance = sum(weights), 1.0
        for i in order:
            chance *= weights[i] / left
            left -= weights[i]
        law[order] = chance
    return law


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_ordered_choices_follow_the_exact_law(stream, k):
    top, scores = TopK(Fraction(k), 1, k), [4, 4, 3, 0]
    law = exact_law(top.scale, scores, k)
    rows = np.broadcast_to(np.array(scores), (200_000, 4))
    drawn = top.select_each(rows, stream(80))
    codes = drawn @ 4 ** np.arange(k)
    counts = [np.count_nonzero(codes == np.dot(order, 4 ** np.arange(k))) for order in law]
    assert sum(counts) == 200_000  # no candidate twice
    expected = np.array(list(law.values()))
    assert stats.chisquare(counts, expected / expected.sum() * 200_000).pvalue > 1e-4


def flip_law(scale: Fraction, scores) -> list[float]:
    """Return the law of one permute-and-flip, over all sets of coins that succeed."""
    best = max(scores)
    coins = [math.exp((score - best) / float(scale)) for score in scores]
    law = [0.0] * len(scores)
    for flips in itertools.product([False, True], repeat=len(scores)):
        chance = math.prod(c if f else 1 - c for c, f in zip(coins, flips, strict=True))
        for i, success in enumerate(flips):
            law[i] += chance / sum(flips) if success else 0.0
    return law


@pytest.mark.parametrize("k", [1, 2, 3])
def test_peeled_choices_follow_the_exact_law(stream, k):
    top, scores = PeeledTopK(Fraction(k), 1, k), [4, 4, 3, 0]
    law = {}
    for order in itertools.permutations(range(4), k):
        left, chance = list(range(4)), 1.0
        for i in order:
            chance *= flip_law(top.scale, [scores[j] for j in left])[left.index(i)]
            left.remove(i)
        law[order] = chance
    rows = np.broadcast_to(np.array(scores), (100_000, 4))
    codes = top.select_each(rows, stream(85)) @ 4 ** np.arange(k)
    counts = [np.count_nonzero(codes == np.dot(order, 4 ** np.arange(k))) for order in law]
    assert sum(counts) == 100_000
    expected = np.array(list(law.values()))
    assert stats.chisquare(counts, expected / expected.sum() * 100_000).pvalue > 1e-4


def test_peeling_costs_what_its_rounds_cost_and_is_never_less_accurate():
    top = PeeledTopK(Fraction(1), 2, k=10)
    assert top.round == PermuteAndFlip(Fraction(1, 10), 2)
    assert top.loss == 10 * top.round.loss
    assert top.loss.epsilon == 1
    for k, candidates in itertools.product([1, 2, 10], [10, 100, 10_000]):
        peeled, gumbel = (kind(Fraction(1), 1, k) for kind in (PeeledTopK, TopK))
        assert peeled.error(0.95, candidates) <= gumbel.error(0.95, candidates)


@pytest.mark.parametrize("kind", [TopK, PeeledTopK])
def test_one_selection_is_a_row_of_many(stream, kind):
    top = kind(Fraction(1000), 1, k=3)
    assert top.select([5, 900, 300, 700], stream(81)) == [1, 3, 2]
    assert top.select([2**90, 0, -(2**90)], stream(82)) == [0, 1, 2]
    assert top.select_each(np.zeros((0, 3), int), stream(83)).shape == (0, 3)


def test_the_loss_is_that_of_its_rounds():
    top = TopK(Fraction(1), 2, k=10)
    each = ExponentialMechanism(Fraction(1, 10), 2)
    assert top.round == each
    assert top.loss == 10 * each.loss
    assert top.loss.epsilon == 1
    assert top.zcdp_loss.rho == Fraction(1, 80)
    assert TopK(Fraction(1), 2, k=10, monotone=True).scale == top.scale / 2


@pytest.mark.parametrize("k", [1, 7, 100])
def test_a_rho_is_met(k):
    top = TopK.for_rho(Fraction(1, 10), 1, k)
    assert Fraction(1, 10) * (1 - Fraction(1, 2**45)) <= top.zcdp_loss.rho <= Fraction(1, 10)


@pytest.mark.parametrize("kind", [TopK, PeeledTopK])
def test_no_chosen_score_is_further_below_its_rank_than_the_error(stream, kind):
    scores = np.array([50, 48, 44, 30, 29, 5, 3, 0])
    top = kind(Fraction(3, 2), 1, k=3)
    error = top.error(0.9, len(scores))
    drawn = top.select_each(np.broadcast_to(scores, (20_000, len(scores))), stream(84))
    short = scores[:3] - scores[drawn]
    assert np.mean(np.all(short <= error, axis=1)) >= 0.9
    assert top.error(0.9, 8) > kind(Fraction(3, 2), 1, k=1).error(0.9, 8)


@pytest.mark.parametrize("error", [1, 20, 3000])
def test_accuracy_first_finds_the_least_epsilon(error):
    top = TopK.for_error(error, 0.95, 1000, sensitivity=2, k=5)
    assert top.error(0.95, 1000) <= error
    less = TopK(top.epsilon * (1 - Fraction(1, 2**20)), 2, k=5)
    assert less.error(0.95, 1000) >= error
    assert less.round.failure(error, 1000) > top.round.failure(error, 1000)


@pytest.mark.parametrize("k", [0, -1, 1.0, True, None, "2"])
def test_bad_numbers_of_choices_are_refused(k):
    with pytest.raises(ParameterError, match="k is"):
        TopK(Fraction(1), 1, k)
    with pytest.raises(ParameterError, match="k is"):
        TopK.for_rho(Fraction(1), 1, k)


def test_more_choices_than_candidates_are_refused():
    top = TopK(Fraction(1), 1, k=3)
    with pytest.raises(ParameterError, match="k is 3"):
        top.select([1, 2], Source())
    with pytest.raises(ParameterError, match="k is 3"):
        top.select_each(np.zeros((5, 2), int), Source())
    with pytest.raises(ParameterError, match="candidates is 2"):
        top.error(0.95, 2)
    with pytest.raises(ParameterError, match="candidates is 2"):
        TopK.for_error(10, 0.95, 2, sensitivity=1, k=3)


@pytest.mark.parametrize(
    "scores", [[1.5, 2, 3], ["a", 1, 2], "abc", [True, 1, 2], np.zeros((2, 2))]
)
def test_bad_scores_are_refused(scores):
    with pytest.raises(ParameterError):
        TopK(Fraction(1), 1, k=1).select(scores, Source())


@pytest.mark.parametrize("epsilon", [0, 0.5, float("nan"), True])
def test_bad_parameters_are_refused(epsilon):
    with pytest.raises(ParameterError, match="epsilon is"):
        TopK(epsilon, 1, k=1)
    with pytest.raises(ParameterError, match="sensitivity is 0"):
        TopK(Fraction(1), 0, k=1)
    with pytest.raises(ParameterError, match="monotone is"):
        TopK(Fraction(1), 1, k=1, monotone="yes")

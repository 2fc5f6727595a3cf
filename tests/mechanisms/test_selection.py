"""Selections against their exact laws, their losses against the definition, errors against both."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpframe.errors import ParameterError
from dpframe.mechanisms import ExponentialMechanism, NoisyMax, PermuteAndFlip, Source

MECHANISMS = [ExponentialMechanism, PermuteAndFlip, NoisyMax]
SCORES = [[5, 5, 4, 0], [0, 7, 6], [3, 3, 3, 3, 3], [-2, 10, 9, 9, 3], [0, 40]]


def exact_law(mechanism, scores) -> np.ndarray:
    """Return the probability of each candidate, from formulas that the library does not use."""
    b = float(mechanism.scale)
    gaps = np.array([float(max(scores) - score) for score in scores])
    if isinstance(mechanism, ExponentialMechanism):
        weights = np.exp(-gaps / b)
        return weights / weights.sum()
    if isinstance(mechanism, PermuteAndFlip):
        law = np.zeros(len(scores))
        coins = np.exp(-gaps / b)
        for wins in itertools.product([False, True], repeat=len(scores)):
            chance = math.prod(p if won else 1 - p for p, won in zip(coins, wins, strict=True))
            if any(wins):
                law += chance * np.array(wins) / sum(wins)
        return law
    # Noisy max: sum over the largest noisy score v, and over the sets of candidates that reach it.
    reach = int(gaps.max() + 45 * b) + 1
    values = np.arange(-reach, reach + 1)
    q = math.exp(-1 / b)
    at = [(1 - q) / (1 + q) * q ** np.abs(values + gap) for gap in gaps]
    below = [np.concatenate([[0.0], np.cumsum(p)[:-1]]) for p in at]
    law = np.zeros(len(scores))
    for wins in itertools.product([False, True], repeat=len(scores)):
        if any(wins):
            pairs = zip(at, below, wins, strict=True)
            chance = math.prod(p if won else less for p, less, won in pairs).sum()
            law += chance * np.array(wins) / sum(wins)
    return law


def fit(counts, law) -> float:
    keep = np.asarray(law) * counts.sum() > 5
    merged = np.append(counts[keep], counts[~keep].sum())
    expected = np.append(law[keep], 1 - law[keep].sum()) * counts.sum()
    if expected[-1] < 5:
        merged, expected = merged[:-1], expected[:-1] * merged[:-1].sum() / expected[:-1].sum()
    return float(stats.chisquare(merged, expected).pvalue) if len(merged) > 1 else 1.0


@pytest.mark.parametrize("scores", SCORES, ids=str)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_million_selections_follow_the_exact_law(stream, mechanism, scores):
    made = mechanism(Fraction(3, 4), sensitivity=1)
    law = exact_law(made, scores)
    assert law.sum() == pytest.approx(1)
    rows = np.broadcast_to(np.array(scores), (250_000, len(scores)))
    source = stream(hash(tuple(scores)) % 1000)
    counts = sum(
        np.bincount(made.select_each(rows, source), minlength=len(scores)) for _ in range(4)
    )
    assert counts.sum() == 1_000_000
    assert fit(counts, law) > 1e-4


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_one_selection_at_a_time_follows_the_same_law(stream, mechanism, monotone):
    made, scores, source = mechanism(Fraction(1), 2, monotone), [9, 7, 8, 2], stream(61)
    drawn = [made.select(scores, source) for _ in range(5000)]
    assert fit(np.bincount(drawn, minlength=4), exact_law(made, scores)) > 1e-4


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_wide_integers_follow_the_same_law(stream, mechanism):
    unit = 1 << 70
    made = mechanism(Fraction(1), sensitivity=unit)
    rows = np.empty((4000, 3), dtype=object)
    rows[:] = [5 * unit, 3 * unit, 4 * unit]
    drawn = made.select_each(rows, stream(62))
    expected = exact_law(mechanism(Fraction(1), sensitivity=1), [5, 3, 4])
    if mechanism is NoisyMax:  # ties all but vanish on so fine a grid
        expected = exact_law(mechanism(Fraction(1), sensitivity=100), [500, 300, 400])
    assert fit(np.bincount(drawn, minlength=3), expected) > 1e-4


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    "scores",
    [[2**63 - 1, -(2**63)], [2**100, 2**100 - 3], [-(2**63), -(2**63)]],
    ids=["a", "b", "c"],
)
def test_no_score_wraps_around(stream, mechanism, scores):
    made = mechanism(Fraction(100), sensitivity=1)
    drawn = {made.select(scores, stream(seed)) for seed in range(64)}
    assert drawn == ({0, 1} if scores[0] == scores[1] else {0})


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.uint8, np.uint64, object])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_integer_type_is_taken(stream, mechanism, kind):
    made = mechanism(Fraction(1000), sensitivity=1)
    assert made.select(np.array([1, 100, 3], dtype=kind), stream(1)) == 1


@pytest.mark.parametrize("mechanism", [ExponentialMechanism, PermuteAndFlip])
def test_many_candidates_follow_the_law_too(stream, mechanism):
    made, source = mechanism(Fraction(1), 1), stream(63)
    scores = np.zeros(20_000, dtype=np.int64)
    scores[10_000:] = -2  # their coin is exp(-1)
    late = sum(made.select(scores, source) >= 10_000 for _ in range(1000))
    assert stats.binomtest(late, 1000, 1 / (1 + math.e)).pvalue > 1e-4


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_best_candidate_far_ahead_of_a_crowd_is_found(stream, mechanism):
    scores = np.zeros(30_000, dtype=np.int64)
    scores[17] = 10_000
    assert mechanism(Fraction(1), sensitivity=1).select(scores, stream(64)) == 17


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_single_candidate_is_chosen(mechanism):
    assert mechanism(Fraction(1), sensitivity=1).select([-7], Source()) == 0
    assert (
        mechanism(Fraction(1), sensitivity=1).select_each(np.zeros((0, 3), int), Source()).size == 0
    )


# The loss.


@settings(deadline=None, max_examples=80)
@given(
    mechanism=st.sampled_from(MECHANISMS),
    epsilon=st.sampled_from([Fraction(1, 2), Fraction(2), Fraction(5)]),
    pairs=st.lists(st.tuples(st.integers(0, 6), st.integers(-2, 2)), min_size=2, max_size=4),
    monotone=st.booleans(),
)
def test_no_neighbour_changes_a_probability_by_more_than_the_loss(
    mechanism, epsilon, pairs, monotone
):
    made = mechanism(epsilon, 2, monotone)
    one = [score for score, _ in pairs]
    other = [score + (abs(move) if monotone else move) for score, move in pairs]
    p, q = exact_law(made, one), exact_law(made, other)
    assert np.abs(np.log(p / q)).max() <= float(made.loss.epsilon) + 1e-9


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_loss_is_nearly_attained(mechanism, monotone):
    # Far behind a rival, a candidate's chance is the tail of its noise.
    made = mechanism(Fraction(1, 2), 1, monotone)
    p = exact_law(made, [0, 60])
    q = exact_law(made, [1, 60 if monotone else 59])
    assert np.abs(np.log(p / q)).max() > 0.93 * made.loss.epsilon


@settings(deadline=None, max_examples=60)
@given(
    epsilon=st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(4)]),
    pairs=st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 3)), min_size=2, max_size=5),
    monotone=st.booleans(),
    order=st.sampled_from([1.01, 2.0, 8.0, 60.0]),
)
def test_the_exponential_mechanism_is_within_its_zcdp_loss(epsilon, pairs, monotone, order):
    made = ExponentialMechanism(epsilon, 3, monotone)
    p = exact_law(made, [score for score, _ in pairs])
    q = exact_law(made, [score + (abs(move) if monotone else move) for score, move in pairs])
    for a, b in ((p, q), (q, p)):
        moment = np.log(np.sum(a * np.exp((order - 1) * np.log(a / b))))
        assert moment / (order - 1) <= order * float(made.zcdp_loss.rho) + 1e-9


def test_losses_follow_from_the_scale_that_is_used():
    assert PermuteAndFlip(Fraction(1, 3), 5).scale == 30
    assert PermuteAndFlip(Fraction(1, 3), 5, monotone=True).scale == 15
    for monotone in (False, True):
        made = ExponentialMechanism(Fraction(1, 3), 5, monotone)
        assert made.loss.epsilon == Fraction(1, 3)
        assert made.zcdp_loss.rho == Fraction(1, 72)
    long = Fraction(2**200 + 1, 2**201 + 3)
    assert 0 < PermuteAndFlip(long, 1).loss.epsilon <= long
    assert PermuteAndFlip(Fraction(10**9), 1).loss.epsilon == 2048


@pytest.mark.parametrize("rho", [Fraction(1, 50), Fraction(1, 3), Fraction(2)])
def test_the_exponential_mechanism_meets_a_rho(rho):
    made = ExponentialMechanism.for_rho(rho, sensitivity=3)
    assert rho * (1 - Fraction(1, 2**45)) <= made.zcdp_loss.rho <= rho


# The error.


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("candidates", [2, 5, 9])
@pytest.mark.parametrize("error", [0, 3, 30, 70])
def test_failure_bounds_hold_where_all_others_just_miss(mechanism, candidates, error):
    made = mechanism(Fraction(1, 2), sensitivity=1)
    chance = 1 - exact_law(made, [0] + [-error - 1] * (candidates - 1))[0]
    bound = made.failure(error, candidates)
    assert chance <= bound + 1e-12
    if mechanism is not NoisyMax:  # those bounds are attained
        assert bound <= chance * 1.001 + 1e-9


@settings(deadline=None, max_examples=60)
@given(
    mechanism=st.sampled_from(MECHANISMS),
    scores=st.lists(st.integers(-12, 0), min_size=1, max_size=4),
    error=st.integers(0, 12),
)
def test_failure_bounds_hold_for_all_scores(mechanism, scores, error):
    made = mechanism(Fraction(1), sensitivity=1)
    law = exact_law(made, [0, *scores])
    missed = sum(p for p, score in zip(law, [0, *scores], strict=True) if -score > error)
    assert missed <= made.failure(error, 1 + len(scores)) + 1e-12


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("candidates", [1, 2, 1000, 10**6])
@pytest.mark.parametrize("answers", [1, 20])
def test_errors_are_the_least_that_the_bound_gives(mechanism, candidates, answers):
    made = mechanism(Fraction(1, 7), sensitivity=3)
    error = made.error(0.9, candidates, answers)
    allowed = 1 - 0.9 ** (1 / answers)
    assert made.failure(error, candidates) <= allowed
    assert not error or made.failure(error - 1, candidates) > allowed * (1 - 1e-9)


def test_permute_and_flip_errs_less_than_the_others():
    errors = [m(Fraction(1, 10), sensitivity=1).error(0.95, 50) for m in MECHANISMS]
    assert errors[1] == min(errors)


@settings(deadline=None, max_examples=40)
@given(
    mechanism=st.sampled_from(MECHANISMS),
    error=st.integers(0, 5000),
    confidence=st.sampled_from([0.5, 0.95, 0.999]),
    candidates=st.sampled_from([2, 30, 10**5]),
    monotone=st.booleans(),
)
def test_accuracy_first_finds_the_least_epsilon(mechanism, error, confidence, candidates, monotone):
    made = mechanism.for_error(error, confidence, candidates, sensitivity=2, monotone=monotone)
    assert made.error(confidence, candidates) <= error
    assert made.monotone is monotone
    less = mechanism(made.epsilon * (1 - Fraction(1, 2**20)), 2, monotone)
    assert less.failure(error, candidates) > (1 - confidence) * (1 - 1e-4)


def test_failures_are_never_zero_where_they_are_possible():
    for mechanism in MECHANISMS:
        assert 0 < mechanism(Fraction(1000), sensitivity=1).failure(10**6, 2) < 1e-300


# What is refused.


@pytest.mark.parametrize("epsilon", [0, -1, 0.5, float("nan"), float("inf"), True, "1", None])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bad_epsilons_are_refused(mechanism, epsilon):
    with pytest.raises(ParameterError, match="epsilon is"):
        mechanism(epsilon, sensitivity=1)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.0, Fraction(1), True, "1", None, float("nan")])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_bad_sensitivities_are_refused(mechanism, sensitivity):
    with pytest.raises(ParameterError, match="sensitivity is"):
        mechanism(Fraction(1), sensitivity)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_other_bad_parameters_are_refused(mechanism):
    with pytest.raises(ParameterError, match="monotone is"):
        mechanism(Fraction(1), 1, monotone=1)
    with pytest.raises(ParameterError, match=r"scale is about 2\*\*"):
        mechanism(Fraction(1, 2**300), 1)
    made = mechanism(Fraction(1), 1)
    for candidates in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="candidates"):
            made.error(0.95, candidates)
    for error in (-1, 0.5, None):
        with pytest.raises(ParameterError, match="error is"):
            made.failure(error, 3)
    for confidence in (0, 1, 0.0, 1.0, float("nan"), "0.9"):
        with pytest.raises(ParameterError, match="confidence is"):
            made.error(confidence, 3)


@pytest.mark.parametrize(
    "scores",
    [
        [1.5, 2],
        [float("nan"), 1],
        ["4711", 1],
        "4711",
        [None, 4711],
        [True, 4711],
        np.array([0.5, 4711.0]),
        np.array([True, False]),
        np.array([[4711, 1]]),
        np.array(4711),
        4711,
        None,
    ],
    ids=str,
)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_scores_that_are_not_integers_are_refused_and_not_quoted(mechanism, scores):
    with pytest.raises(ParameterError, match="scores") as caught:
        mechanism(Fraction(1), 1).select(scores, Source())
    assert "4711" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_an_empty_list_of_candidates_is_refused(mechanism):
    made = mechanism(Fraction(1), 1)
    with pytest.raises(ParameterError, match="there are 0 candidates"):
        made.select([], Source())
    with pytest.raises(ParameterError, match="there are 0 candidates"):
        made.select_each(np.zeros((3, 0), int), Source())
    with pytest.raises(ParameterError, match="rows and columns"):
        made.select_each([[1, 2]], Source())


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_mechanisms_are_values(mechanism):
    a, b = mechanism(Fraction(1, 2), 1), mechanism(Fraction(2, 4), 1)
    assert a == b
    assert hash(a) == hash(b)
    assert pickle.loads(pickle.dumps(a)) == a
    assert a != PermuteAndFlip(Fraction(1, 2), 2)
    assert ExponentialMechanism(Fraction(1), 1) != PermuteAndFlip(Fraction(1), 1)
    with pytest.raises(AttributeError):
        a.epsilon = Fraction(1)

"""Sparse vector against its exact law, and its loss against the definition."""

from __future__ import annotations

import copy
import itertools
import math
import os
import pickle
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpframe.errors import ParameterError
from dpframe.mechanisms import AboveThreshold, DiscreteLaplace, NumericSparse, Source
from dpframe.mechanisms.sparse_vector import _cube_root


def pmf(law: DiscreteLaplace, z: np.ndarray) -> np.ndarray:
    q = math.exp(-1 / float(law.scale))
    return (1 - q) / (1 + q) * q ** np.abs(z)


def at_least(law: DiscreteLaplace, t: np.ndarray) -> np.ndarray:
    q = math.exp(-1 / float(law.scale))
    with np.errstate(over="ignore"):
        return np.where(
            t > 0, q ** np.maximum(t, 0) / (1 + q), 1 - q ** np.maximum(1 - t, 0) / (1 + q)
        )


def exact_law(svt: AboveThreshold, queries) -> dict[tuple[bool, ...], float]:
    """Return the probability of each sequence of answers, by summing over the threshold's noise."""
    reach = int(40 * svt.threshold_noise.scale) + 40
    z = np.arange(-reach, reach + 1)
    law: dict[tuple[bool, ...], float] = {}
    for answers in itertools.product([False, True], repeat=len(queries)):
        ends = [i for i, above in enumerate(answers, 1) if above][: svt.answers]
        asked = ends[-1] if len(ends) == svt.answers else len(answers)
        chance = pmf(svt.threshold_noise, z)
        for query, above in zip(queries[:asked], answers[:asked], strict=True):
            over = at_least(svt.query_noise, svt.threshold + z - query)
            chance = chance * (over if above else 1 - over)
        law[answers[:asked]] = float(chance.sum())
    return law


def run(svt, queries, source) -> tuple:
    monitor, answers = svt.start(source), []
    for query in queries:
        if not monitor.left:
            break
        answers.append(monitor.ask(query))
    return tuple(answers)


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("answers", [1, 2])
def test_answers_follow_the_exact_law(stream, answers, monotone):
    svt = AboveThreshold(Fraction(2), 1, threshold=10, answers=answers, monotone=monotone)
    queries, source = [8, 12, 9], stream(90)
    law = exact_law(svt, queries)
    assert sum(law.values()) == pytest.approx(1)
    found = Counter(run(svt, queries, source) for _ in range(10_000))
    assert set(found) <= set(law)
    expected = np.array(list(law.values()))
    counts = [found[outcome] for outcome in law]
    assert stats.chisquare(counts, expected / expected.sum() * 10_000).pvalue > 1e-4


@settings(deadline=None, max_examples=40)
@given(
    queries=st.lists(st.tuples(st.integers(-6, 6), st.integers(-2, 2)), min_size=1, max_size=5),
    answers=st.integers(1, 3),
    monotone=st.booleans(),
    falls=st.booleans(),
    epsilon=st.sampled_from([Fraction(1, 2), Fraction(2)]),
)
def test_no_neighbour_changes_a_sequence_by_more_than_the_loss(
    queries, answers, monotone, falls, epsilon
):
    svt = AboveThreshold(epsilon, 2, threshold=0, answers=answers, monotone=monotone)
    one = exact_law(svt, [query for query, _ in queries])
    sign = -1 if falls else 1
    moved = [query + (sign * abs(move) if monotone else move) for query, move in queries]
    other = exact_law(svt, moved)
    worst = max(abs(math.log(one[outcome] / other[outcome])) for outcome in one)
    assert worst <= float(svt.loss.epsilon) + 1e-9


def test_the_loss_is_nearly_attained():
    # Many answers below push the threshold's noise up; then one comes above against the odds.
    svt = AboveThreshold(Fraction(1), 1, threshold=0)
    z = np.arange(-400, 401)

    def chance(below: int, above: int) -> float:
        under = 1 - at_least(svt.query_noise, z - below)
        over = at_least(svt.query_noise, z - above)
        return float(np.sum(pmf(svt.threshold_noise, z) * under**10_000 * over))

    loss = math.log(chance(0, 0) / chance(1, -1))
    assert 0.97 < loss <= svt.loss.epsilon


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("answers", [1, 5, 100])
def test_the_split_gives_the_comparison_the_least_variance(answers, monotone):
    svt = AboveThreshold(Fraction(1), 3, 0, answers, monotone)
    shares = np.linspace(0.001, 0.999, 997)
    moved = 3 * answers * (1 if monotone else 2)
    best = np.min((3 / shares) ** 2 + (moved / (1 - shares)) ** 2)
    used = float(svt.threshold_noise.scale) ** 2 + float(svt.query_noise.scale) ** 2
    assert used <= best * 1.001
    assert svt.loss.epsilon == 1


def test_values_are_released_with_fresh_noise(stream, fit):
    svt, source = NumericSparse(Fraction(2), 1, threshold=5, answers=1), stream(91)
    released = [svt.start(source).ask(6) for _ in range(20_000)]
    above = np.array([value - 6 for value in released if value is not None])
    chance = exact_law(svt.detector, [6])[(True,)]
    assert stats.binomtest(len(above), 20_000, chance).pvalue > 1e-4
    # Were the noise of the comparison reused, only high values would come out.
    assert fit(svt.value_noise, above) > 1e-4


def test_the_numeric_loss_is_that_of_its_parts():
    svt = NumericSparse(Fraction(1), 2, threshold=5, answers=3, share=Fraction(1, 4))
    assert svt.detector == AboveThreshold(Fraction(3, 4), 2, 5, 3)
    assert svt.value_noise.scale == 24
    assert svt.loss == svt.detector.loss + 3 * svt.value_noise.loss(2)
    assert svt.loss.epsilon == 1
    assert svt.loss.rho < svt.detector.loss.rho + svt.loss.epsilon**2 / 2


@pytest.mark.parametrize("answers", [1, 3])
def test_a_spent_mechanism_refuses(stream, answers):
    for mechanism in (AboveThreshold, NumericSparse):
        monitor = mechanism(Fraction(10), 1, 0, answers).start(stream(92))
        for left in range(answers, 0, -1):
            assert monitor.left == left
            assert monitor.ask(10**6)
        for _ in range(2):
            with pytest.raises(ParameterError, match=f"all {answers} answers") as caught:
                monitor.ask(10**6)
            assert "start" in caught.value.fix


def test_threads_share_the_last_answer_once():
    monitor = AboveThreshold(Fraction(10), 1, 0, answers=5).start(Source())

    def ask(_):
        try:
            return monitor.ask(10**6)
        except ParameterError:
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, range(200))) == 5


@pytest.mark.parametrize("mechanism", [AboveThreshold, NumericSparse])
def test_a_running_mechanism_is_never_copied(mechanism, monkeypatch):
    monitor = mechanism(Fraction(1), 1, 0).start(Source())
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(ParameterError, match="cannot be copied"):
            duplicate(monitor)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(ParameterError, match="forked"):
        monitor.ask(0)


def test_a_running_mechanism_shows_what_is_left_and_no_noise():
    monitor = AboveThreshold(Fraction(1), 1, threshold=4711, answers=2).start(Source())
    assert repr(monitor) == "<AboveMonitor: 2 of 2 answers left>"


@pytest.mark.parametrize("mechanism", [AboveThreshold, NumericSparse])
def test_answers_are_as_wrong_as_promised_and_no_more(stream, mechanism):
    svt, source = mechanism(Fraction(1), 1, threshold=0, answers=1), stream(93)
    error = svt.error(0.9, queries=10)
    right = 0
    for _ in range(400):
        answers = run(svt, [-error - 1] * 9 + [error], source)
        # Nothing above before the last, and the last above.
        right += len(answers) == 10 and answers[-1] not in (False, None)
    assert right >= 360 - 4.5 * math.sqrt(36)


@pytest.mark.parametrize("error", [3, 100, 20_000])
@pytest.mark.parametrize("mechanism", [AboveThreshold, NumericSparse])
def test_accuracy_first_finds_the_least_epsilon(mechanism, error):
    fixed = {"sensitivity": 2, "threshold": 7, "answers": 3}
    svt = mechanism.for_error(error, 0.95, 50, **fixed)
    assert svt.error(0.95, 50) <= error
    assert svt.threshold == 7
    less = mechanism(svt.epsilon * Fraction(9, 10), **fixed)
    assert less.error(0.95, 50) > error


@pytest.mark.parametrize("query", [1.0, float("nan"), "4711", None, True, [4711]])
@pytest.mark.parametrize("mechanism", [AboveThreshold, NumericSparse])
def test_queries_that_are_not_integers_are_refused_and_not_quoted(mechanism, query):
    monitor = mechanism(Fraction(1), 1, 0).start(Source())
    with pytest.raises(ParameterError, match="the query is not an integer") as caught:
        monitor.ask(query)
    assert "4711" not in str(caught.value)
    assert monitor.left == 1


@pytest.mark.parametrize("mechanism", [AboveThreshold, NumericSparse])
def test_wide_queries_are_compared_exactly(mechanism):
    monitor = mechanism(Fraction(10), 1, threshold=2**100, answers=2).start(Source())
    assert not monitor.ask(2**100 - 1000)
    assert monitor.ask(2**100 + 1000)
    assert monitor.ask(np.int64(0)) in (False, None)


@pytest.mark.parametrize("mechanism", [AboveThreshold, NumericSparse])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("epsilon", [0, -1, 0.5, float("nan"), True, "1", Fraction(1, 2**400)]),
        ("sensitivity", [0, -1, 1.0, True, None]),
        ("threshold", [0.5, float("nan"), True, "1", None]),
        ("answers", [0, -1, 1.0, True, None]),
        ("monotone", [0, 1, None, "no"]),
    ],
)
def test_bad_parameters_are_refused(mechanism, name, values):
    good = {"epsilon": Fraction(1), "sensitivity": 1, "threshold": 0}
    for value in values:
        with pytest.raises(ParameterError) as caught:
            mechanism(**good | {name: value})
        assert caught.value.why
        assert caught.value.fix


@pytest.mark.parametrize("share", [0, 1, Fraction(3, 2), 0.5, -1, None])
def test_bad_shares_are_refused(share):
    with pytest.raises(ParameterError, match="share is"):
        NumericSparse(Fraction(1), 1, 0, share=share)


@pytest.mark.parametrize("queries", [0, -1, 1.5])
def test_bad_numbers_of_queries_are_refused(queries):
    with pytest.raises(ParameterError, match="queries is"):
        AboveThreshold(Fraction(1), 1, 0).error(0.95, queries)


@given(st.integers(1, 10**40))
def test_cube_roots_are_integer_parts(value):
    root = _cube_root(value)
    assert root**3 <= value < (root + 1) ** 3

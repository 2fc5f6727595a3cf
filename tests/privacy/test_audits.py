"""Every mechanism is audited on neighbouring inputs, and so is a broken twin of each.

An audit returns an epsilon that the mechanism certainly has (see `audit`). It must stay below the
claimed loss; and the same audit, with as many draws, must put each twin above the claim that it
does not keep. The twins are mistakes that were made before: a forgotten factor, noise of the wrong
scale, noise used twice, a threshold for one key and a unit that holds three.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import pytest
from privacy.audit import epsilon_at_least
from scipy import stats
from streams import Stream

from dpframe.budget.convert import zcdp_to_epsilon
from dpframe.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    NoisyMax,
    NumericSparse,
    PeeledTopK,
    PermuteAndFlip,
    RandomizedResponse,
    Source,
    ThresholdedGaussian,
    ThresholdedLaplace,
    TopK,
    TruncatedGeometric,
)

DRAWS = 100_000
ONE = Fraction(1)

Outputs = tuple[np.ndarray, np.ndarray]
"""Codes of the outputs on one input, and on its neighbour."""


@dataclass(frozen=True)
class Case:
    """A mechanism with its claim, on two neighbours; and twins that do not keep the claim."""

    epsilon: float
    draw: Callable[[Source], Outputs]
    twins: dict[str, Callable[[Source], Outputs]]
    delta: float = 0.0
    tight: float = 0.0
    """Where the neighbours are near the worst: how much of epsilon the audit should find."""


# Noise.


def laplace(scale: Fraction, moved: int) -> Callable[[Source], Outputs]:
    law = DiscreteLaplace(scale)
    return lambda source: (law.draw(DRAWS, source), law.draw(DRAWS, source) + moved)


def gaussian(sigma: Fraction) -> Callable[[Source], Outputs]:
    law = DiscreteGaussian(sigma)
    return lambda source: (law.draw(DRAWS, source), law.draw(DRAWS, source) + 1)


def laplace_case() -> Case:
    law = DiscreteLaplace.for_epsilon(ONE, 2)
    return Case(
        float(law.loss(2).epsilon),
        laplace(law.scale, 2),
        {
            "sensitivity halved": laplace(DiscreteLaplace.for_epsilon(ONE, 1).scale, 2),
            "wrong scale": laplace(law.scale * Fraction(7, 10), 2),
        },
        tight=0.9,
    )


def gaussian_case() -> Case:
    rho, delta = Fraction(1, 2), Fraction(1, 100)
    law = DiscreteGaussian.for_rho(rho, 1)
    return Case(
        float(zcdp_to_epsilon(law.loss(1).rho, delta)),
        gaussian(law.sigma),
        {"sigma for rho, not for its root": gaussian(law.sigma / 2)},
        delta=float(delta),
        tight=0.7,
    )


# Selection. A candidate rises and its twenty rivals fall; or it rises, and they stay.

RISES, FALLS, STAYS = [1] + [0] * 20, [0] + [1] * 20, [0] * 21


def selection(mechanism, one, other) -> Callable[[Source], Outputs]:
    def draw(source: Source) -> Outputs:
        rows = (np.broadcast_to(np.array(scores), (DRAWS, len(scores))) for scores in (one, other))
        chosen = [mechanism.select_each(scores, source) for scores in rows]
        if chosen[0].ndim == 2:  # an ordered choice of k becomes one code
            chosen = [c @ (len(one) ** np.arange(c.shape[1])) for c in chosen]
        return chosen[0], chosen[1]

    return draw


def selection_case(mechanism, monotone: bool) -> Case:
    made = mechanism(ONE, 1, monotone)
    if monotone:
        twins = {"not monotone": selection(made, RISES, FALLS)}
    else:
        twins = {"forgotten factor 2": selection(mechanism(ONE, 1, monotone=True), RISES, FALLS)}
    doubled = (
        [2 * score for score in RISES],
        [2 * score for score in (STAYS if monotone else FALLS)],
    )
    twins["sensitivity halved"] = selection(made, *doubled)
    return Case(
        float(made.loss.epsilon),
        selection(made, RISES, STAYS if monotone else FALLS),
        twins,
        tight=0.7,
    )


def top_k_case(kind: type[TopK | PeeledTopK]) -> Case:
    # Two candidates rise and ten rivals fall.
    made, one, other = kind(ONE, 1, k=2), [1, 1] + [0] * 10, [0, 0] + [1] * 10
    return Case(
        float(made.loss.epsilon),
        selection(made, one, other),
        {"every round with the whole epsilon": selection(kind(2 * ONE, 1, k=2), one, other)},
        tight=0.45,
    )


# Sparse vector. A code may be any function of the answers: that is post-processing.


def sparse(mechanism, one, other, runs: int, code) -> Callable[[Source], Outputs]:
    def answers(queries, source: Source) -> list:
        monitor = mechanism.start(source)
        return [monitor.ask(query) for query in queries if monitor.left]

    def codes(queries, source: Source) -> np.ndarray:
        return np.array([code(answers(queries, source)) for _ in range(runs)])

    return lambda source: (codes(one, source), codes(other, source))


def first_above(answers: list[bool]) -> int:
    return answers.index(True) if True in answers else len(answers)


def broken(mechanism, **noise):
    """Return a mechanism whose noise, or threshold, is not the one it claims to have."""
    twin = replace(mechanism)
    twin.__dict__.update(noise)  # where cached properties are kept
    return twin


def reused_query_noise(mechanism: AboveThreshold, one, other) -> Callable[[Source], Outputs]:
    """Draw the queries' noise once, and use it for all of them."""

    def codes(queries, source: Source) -> np.ndarray:
        bar = mechanism.threshold_noise.draw(DRAWS, source) + mechanism.threshold
        noise = mechanism.query_noise.draw(DRAWS, source)
        above = np.array(queries)[:, None] + noise >= bar
        return np.where(above.any(axis=0), above.argmax(axis=0), len(queries))

    return lambda source: (codes(one, source), codes(other, source))


def above_case() -> Case:
    made = AboveThreshold(ONE, 1, threshold=0)
    silent = broken(made, query_noise=DiscreteLaplace(Fraction(1, 1024)))  # Stoddard et al. 2014
    return Case(
        float(made.loss.epsilon),
        sparse(made, [0, 0, 0], [1, 1, -1], 15_000, first_above),
        {
            "noise reused": reused_query_noise(made, [0, 1], [1, 0]),
            "no noise on queries": sparse(silent, [0, 1], [1, 0], 8000, first_above),
        },
        tight=0.2,
    )


def answers_case() -> Case:
    # Twenty queries that rise tell where the threshold is, twenty that fall answer against it. Every
    # answer above costs, so the noise has to grow with their number.
    made = AboveThreshold(2 * ONE, 1, threshold=0, answers=40)
    single = replace(made, answers=1)
    twin = broken(made, query_noise=single.query_noise, threshold_noise=single.threshold_noise)
    one, other = [0] * 40, [1] * 20 + [-1] * 20

    def excess(answers: list[bool]) -> int:
        return sum(answers[:20]) - sum(answers[20:])

    return Case(
        float(made.loss.epsilon),
        sparse(made, one, other, 2000, excess),
        {"query noise for one answer": sparse(twin, one, other, 2000, excess)},
    )


def numeric_case() -> Case:
    made = NumericSparse(4 * ONE, 1, threshold=0, answers=2)
    one, other = [100, 100], [101, 99]

    def reused(source: Source) -> Outputs:
        noise = [made.value_noise.draw(DRAWS, source) for _ in range(2)]
        first, second = zip((one, other), noise, strict=True)
        return tuple((q[0] + z) - (q[1] + z) for q, z in (first, second))

    def difference(answers: list[int | None]) -> int:
        return answers[0] - answers[1] if None not in answers else -(10**6)

    return Case(
        float(made.loss.epsilon),
        sparse(made, one, other, 15_000, difference),
        {"value noise reused": reused},
        tight=0.2,
    )


# Randomized response.


def response(mechanism: RandomizedResponse, draws: int = DRAWS) -> Callable[[Source], Outputs]:
    return lambda source: (
        mechanism.apply(np.zeros(draws, dtype=np.int64), source),
        mechanism.apply(np.ones(draws, dtype=np.int64), source),
    )


def response_case(categories: int) -> Case:
    made = RandomizedResponse(ONE, categories)
    return Case(
        float(made.loss.epsilon),
        response(made),
        {"truth for twice the epsilon": response(RandomizedResponse(2 * ONE, categories))},
        tight=0.8,
    )


# Partitions. A unit that is added holds new keys, which leak by delta, or joins others.

DELTA = Fraction(1, 50)


def partitions(rule, one, other) -> Callable[[Source], Outputs]:
    def codes(totals, source: Source) -> np.ndarray:
        shown = rule.keep(np.repeat(np.array(totals)[:, None], DRAWS, axis=1), source)
        return (2 ** np.arange(len(totals))) @ shown

    return lambda source: (codes(one, source), codes(other, source))


def noisy_partitions(rule, one: int, other: int) -> Callable[[Source], Outputs]:
    def codes(total: int, source: Source) -> np.ndarray:
        shown, noisy = rule.release(np.full(DRAWS, total), source)
        found = np.full(DRAWS, -(10**9))
        found[shown] = noisy
        return found

    return lambda source: (codes(one, source), codes(other, source))


def partition_case(rule, one, other, twins, tight: float = 0.0) -> Case:
    return Case(
        float(rule.loss.epsilon), partitions(rule, one, other), twins, float(rule.loss.delta), tight
    )


def geometric_joined_case() -> Case:
    rule = TruncatedGeometric(ONE, DELTA)
    twin = TruncatedGeometric(2 * ONE, DELTA)
    return partition_case(rule, [2], [1], {"wrong scale": partitions(twin, [2], [1])}, tight=0.6)


def geometric_new_case() -> Case:
    rule, one, other = TruncatedGeometric(ONE, DELTA, groups=3), [1, 1, 1], [0, 0, 0]
    twins = {"delta for one key": partitions(TruncatedGeometric(ONE, DELTA), one, other)}
    return partition_case(rule, one, other, twins)


def laplace_keys_case() -> Case:
    rule, one, other = ThresholdedLaplace(ONE, DELTA, groups=3), [1, 1, 1], [0, 0, 0]
    low = broken(rule, threshold=ThresholdedLaplace(rule.epsilon / 3, DELTA).threshold)
    return partition_case(rule, one, other, {"threshold for one key": partitions(low, one, other)})


def laplace_rows_case() -> Case:
    # One unit holds one key with four rows: the delta is that of a total of four, not of one.
    rule, one, other = ThresholdedLaplace(ONE, DELTA, per_key=4), [4], [0]
    low = broken(rule, threshold=rule.threshold - 3)
    twins = {"threshold for one row": partitions(low, one, other)}
    return partition_case(rule, one, other, twins)


def laplace_totals_case() -> Case:
    rule = ThresholdedLaplace(ONE, DELTA)
    at = rule.threshold
    twin = broken(rule, noise=DiscreteLaplace(rule.noise.scale / 2), threshold=at)
    return Case(
        float(rule.loss.epsilon),
        noisy_partitions(rule, at, at + 1),
        {"sensitivity halved": noisy_partitions(twin, at, at + 1)},
        float(rule.loss.delta),
        tight=0.7,
    )


def union_case() -> Case:
    rho = Fraction(1, 10)
    rule = ThresholdedGaussian(rho, DELTA, groups=9, grid=90)
    epsilon = float(zcdp_to_epsilon(rule.loss.rho, Fraction(1, 10**6)))
    one, other = [rule.weight(9)] * 9, [0] * 9
    low = broken(rule, threshold=ThresholdedGaussian(rho, DELTA, grid=90).threshold)
    return Case(
        epsilon,
        partitions(rule, one, other),
        {
            "threshold for one key": partitions(low, one, other),
            "weights not divided": partitions(rule, [90] * 9, other),
        },
        float(rule.loss.delta) + 1e-6,
    )


def union_totals_case() -> Case:
    rule, delta = ThresholdedGaussian(Fraction(1, 2), DELTA, grid=20), Fraction(1, 100)
    at = rule.threshold
    twin = broken(rule, noise=DiscreteGaussian(rule.noise.sigma / 2), threshold=at)
    return Case(
        float(zcdp_to_epsilon(rule.loss.rho, delta)),
        noisy_partitions(rule, at, at + 20),
        {"sigma for rho, not for its root": noisy_partitions(twin, at, at + 20)},
        float(rule.loss.delta + delta),
        tight=0.5,
    )


CASES = {
    "Laplace": laplace_case(),
    "Gaussian": gaussian_case(),
    "exponential mechanism": selection_case(ExponentialMechanism, monotone=False),
    "exponential mechanism, monotone": selection_case(ExponentialMechanism, monotone=True),
    "permute-and-flip": selection_case(PermuteAndFlip, monotone=False),
    "permute-and-flip, monotone": selection_case(PermuteAndFlip, monotone=True),
    "noisy max": selection_case(NoisyMax, monotone=False),
    "noisy max, monotone": selection_case(NoisyMax, monotone=True),
    "top-k": top_k_case(TopK),
    "top-k, peeled": top_k_case(PeeledTopK),
    "above threshold": above_case(),
    "above threshold, forty answers": answers_case(),
    "numeric sparse": numeric_case(),
    "randomized response": response_case(2),
    "randomized response, 8 categories": response_case(8),
    "truncated geometric, joined key": geometric_joined_case(),
    "truncated geometric, new keys": geometric_new_case(),
    "thresholded Laplace, new keys": laplace_keys_case(),
    "thresholded Laplace, several rows": laplace_rows_case(),
    "thresholded Laplace, totals": laplace_totals_case(),
    "thresholded Gaussian, new keys": union_case(),
    "thresholded Gaussian, totals": union_totals_case(),
}
TWINS = [(name, twin) for name, case in CASES.items() for twin in case.twins]


@pytest.mark.parametrize("name", CASES)
def test_no_mechanism_loses_more_than_it_claims(name):
    case = CASES[name]
    found = epsilon_at_least(*case.draw(Stream(1)), delta=case.delta)
    assert case.tight * case.epsilon <= found <= case.epsilon


@pytest.mark.parametrize(("name", "twin"), TWINS)
def test_a_broken_twin_is_caught_by_the_same_audit(name, twin):
    case = CASES[name]
    assert epsilon_at_least(*case.twins[twin](Stream(2)), delta=case.delta) > case.epsilon


# The audit itself.


def test_the_audit_exceeds_the_truth_as_seldom_as_it_says():
    # Coins of 3/4 and 1/4 have epsilon log(3) exactly; at this failure rate a few must exceed it.
    random = np.random.default_rng(3)
    exceeded = sum(
        epsilon_at_least(random.random(200) < 0.75, random.random(200) < 0.25, failure=0.2)
        > np.log(3)
        for _ in range(300)
    )
    assert stats.binomtest(exceeded, 300, 0.2, alternative="greater").pvalue > 1e-3


def test_the_audit_finds_nothing_between_equal_laws():
    random = np.random.default_rng(4)
    one, other = random.integers(0, 10**6, 20_000), random.integers(0, 10**6, 20_000)
    assert epsilon_at_least(one, other) == 0
    assert epsilon_at_least(one % 5, other % 5) == 0


def test_the_audit_does_not_fit_its_events_to_the_draws_that_bound_them():
    # Disjoint outputs that appear once each would look like an infinite loss to one sample.
    assert epsilon_at_least(np.arange(20_000), np.arange(20_000, 40_000)) == 0


def test_the_audit_nears_the_truth_with_more_draws():
    random = np.random.default_rng(5)
    bounds = [
        epsilon_at_least(random.random(n) < 0.75, random.random(n) < 0.25)
        for n in (100, 1000, 10_000, 100_000)
    ]
    assert bounds == sorted(bounds)
    assert 0.95 * np.log(3) < bounds[-1] < np.log(3)


def test_a_delta_is_taken_off_before_the_ratio():
    random = np.random.default_rng(6)
    one, other = random.random(100_000) < 0.1, np.zeros(100_000)
    assert epsilon_at_least(one, other) > 5
    assert epsilon_at_least(one, other, delta=0.11) == 0

"""Partition selection: deltas against brute force, probabilities against the definition."""

from __future__ import annotations

import math
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpframe.errors import ParameterError
from dpframe.mechanisms import (
    Source,
    ThresholdedGaussian,
    ThresholdedLaplace,
    TruncatedGeometric,
)
from dpframe.mechanisms.set_union import _tail_above

MILLIONTH = Fraction(1, 10**6)
RULES = [
    TruncatedGeometric(Fraction(1), MILLIONTH),
    ThresholdedLaplace(Fraction(1), MILLIONTH),
    ThresholdedGaussian(Fraction(1, 10), MILLIONTH, grid=16),
]


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_key_that_nobody_holds_is_never_shown(stream, rule):
    assert not rule.keep(np.zeros(200_000, dtype=np.int64), stream(110)).any()
    assert not rule.keep([0, -5, -(2**80)], stream(111)).any()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_a_key_that_everybody_holds_is_always_shown(stream, rule):
    assert rule.keep(np.full(1000, 10**6), stream(112)).all()
    assert rule.keep([10**30, 0, 2**63 - 1], stream(113)).tolist() == [True, False, True]
    assert rule.keep([], stream(114)).tolist() == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_totals_that_are_not_integers_are_refused_and_not_quoted(rule):
    for totals in ([0.5], ["4711"], "4711", [True], [None], np.array([float("nan")]), 4711):
        with pytest.raises(ParameterError, match="totals") as caught:
            rule.keep(totals, Source())
        assert "4711" not in str(caught.value)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: type(rule).__name__)
def test_rules_are_values(rule):
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert hash(rule) == hash(pickle.loads(pickle.dumps(rule)))


@pytest.mark.parametrize("rule", [TruncatedGeometric, ThresholdedLaplace, ThresholdedGaussian])
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("cost", [0, -1, 0.5, float("nan"), True, "1", None]),
        ("delta", [0, 1, 0.5, Fraction(0), Fraction(1), Fraction(-1), Fraction(1, 2**201), None]),
        ("groups", [0, -1, 1.0, True, None]),
    ],
)
def test_bad_parameters_are_refused(rule, name, values):
    for value in values:
        good = {"cost": Fraction(1), "delta": MILLIONTH, "groups": 1} | {name: value}
        with pytest.raises(ParameterError) as caught:
            rule(*good.values())
        assert caught.value.why
        assert caught.value.fix


# The optimal rule.


@settings(deadline=None, max_examples=40)
@given(
    epsilon=st.fractions(Fraction(1, 50), 6, max_denominator=1000),
    delta=st.sampled_from(
        [Fraction(1, 2**60), Fraction(1, 10**9), Fraction(1, 100), Fraction(2, 5)]
    ),
)
def test_every_step_of_the_optimal_rule_keeps_the_guarantee(epsilon, delta):
    rule = TruncatedGeometric(epsilon, delta)
    claimed = rule.loss.delta
    assert claimed <= delta
    with localcontext() as context:
        context.prec = 80
        e, d = decimal(epsilon).exp(), decimal(claimed)
        p, n = Decimal(0), 0
        while p < 1:
            n += 1
            q = decimal(rule.chance(n))
            for one, other in ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p)):
                assert one <= e * other + d
            # And no step could be larger, but for rounding.
            best = min(e * p + d, 1 - (1 - p - d) / e, Decimal(1))
            assert best - q <= Decimal(2) ** -62
            assert q > p
            p = q
    assert rule.chance(0) == 0
    assert rule.chance(n) == rule.chance(10**9) == 1


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_the_optimal_rule_has_the_closed_form_of_its_paper(epsilon):
    rule, e, d = TruncatedGeometric(epsilon, MILLIONTH), float(epsilon), 1e-6
    crossing = 1 + math.floor(math.log((math.exp(e) + 2 * d - 1) / (d * (math.exp(e) + 1))) / e)
    first = (math.expm1(crossing * e)) / math.expm1(e) * d
    for n in range(1, 3 * crossing):
        if n <= crossing:
            expected = math.expm1(n * e) / math.expm1(e) * d
        else:
            m = n - crossing
            expected = -math.expm1(-m * e) * (1 + d / math.expm1(e)) + math.exp(-m * e) * first
        assert float(rule.chance(n)) == pytest.approx(min(1, expected), rel=1e-6)


def test_keys_are_shown_as_often_as_the_optimal_rule_says(stream):
    rule = TruncatedGeometric(Fraction(1, 2), Fraction(1, 100))
    totals = np.repeat(np.arange(25), 20_000)
    shown = rule.keep(totals, stream(115)).reshape(25, 20_000).sum(axis=1)
    for n, count in enumerate(shown.tolist()):
        chance = float(rule.chance(n))
        assert (
            stats.binomtest(count, 20_000, chance).pvalue > 1e-4 if chance < 1 else count == 20_000
        )


def test_a_unit_with_several_keys_pays_for_each():
    rule = TruncatedGeometric(Fraction(1), MILLIONTH, groups=4)
    alone = TruncatedGeometric(Fraction(1, 4), MILLIONTH / 4)
    assert rule.loss == 4 * alone.loss
    assert rule.loss.epsilon == 1
    assert rule.loss.delta <= MILLIONTH
    assert [rule.chance(n) for n in range(60)] == [alone.chance(n) for n in range(60)]


def test_the_optimal_rule_shows_more_than_a_threshold_does():
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(2)):
        best = TruncatedGeometric(epsilon, MILLIONTH).units_for(0.95)
        assert best <= ThresholdedLaplace(epsilon, MILLIONTH).total_for(0.95)


@pytest.mark.parametrize("units", [2, 10, 300])
def test_the_optimal_rule_of_least_epsilon_is_found(units):
    rule = TruncatedGeometric.for_units(units, 0.9, delta=Fraction(1, 10**5))
    assert rule.units_for(0.9) <= units
    less = TruncatedGeometric(rule.epsilon * (1 - Fraction(1, 2**20)), Fraction(1, 10**5))
    assert less.chance(units) < Fraction(9, 10) + Fraction(1, 10**4)


def test_a_key_of_one_unit_cannot_be_made_likely():
    with pytest.raises(ParameterError, match="no cost"):
        TruncatedGeometric.for_units(1, 0.9, delta=MILLIONTH)


def test_what_a_word_or_a_table_cannot_hold_is_refused():
    with pytest.raises(ParameterError, match="below 2\\*\\*-64"):
        TruncatedGeometric(Fraction(1), Fraction(1, 2**65))
    with pytest.raises(ParameterError, match="below 2\\*\\*-64"):
        TruncatedGeometric(Fraction(1), Fraction(1, 2**60), groups=100)
    with pytest.raises(ParameterError, match="below 2\\*\\*-14"):
        TruncatedGeometric(Fraction(1, 10**6), MILLIONTH)
    assert TruncatedGeometric(Fraction(10**6), MILLIONTH).chance(2) >= Fraction(1, 2)


# Thresholds with Laplace noise.


def spreads(most: int, groups: int, per_key: int, largest: int | None = None):
    """Yield every way in which a unit can spread at most `most` over its keys."""
    yield ()
    if groups:
        for w in range(1, min(per_key if largest is None else largest, most) + 1):
            for rest in spreads(most - w, groups - 1, per_key, w):
                yield (w, *rest)


@pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1), Fraction(6)], ids=str)
@pytest.mark.parametrize(
    ("groups", "per_key", "most"),
    [(1, 1, None), (5, 1, None), (1, 6, None), (3, 4, None), (7, 7, 7), (4, 3, 8), (9, 4, 9)],
)
def test_the_delta_of_a_threshold_covers_the_worst_unit(epsilon, groups, per_key, most):
    rule = ThresholdedLaplace(epsilon, Fraction(1, 1000), groups, per_key, most)
    q = math.exp(-1 / float(rule.noise.scale))
    s = groups * per_key if most is None else most

    def leak(spread) -> tuple[float, float]:
        chances = [q ** (rule.threshold - w) / (1 + q) for w in spread]
        return 1 - math.prod(1 - p for p in chances), sum(chances)

    leaks = [leak(spread) for spread in spreads(s, groups, per_key)]
    claimed = float(rule.loss.delta)
    assert max(shown for shown, _ in leaks) <= claimed * (1 + 1e-9)
    assert claimed <= 1 / 1000
    if s == groups * per_key or s == groups == per_key:
        assert max(total for _, total in leaks) == pytest.approx(claimed, rel=1e-9)
    assert claimed <= 1.5 * max(total for _, total in leaks)


@settings(deadline=None, max_examples=40)
@given(
    epsilon=st.fractions(Fraction(1, 1000), 30, max_denominator=1000),
    delta=st.sampled_from(
        [Fraction(1, 2**200), Fraction(1, 10**12), Fraction(1, 50), Fraction(9, 10)]
    ),
    groups=st.sampled_from([1, 3, 1000]),
    per_key=st.sampled_from([1, 4, 10**6]),
)
def test_thresholds_are_the_least_for_their_delta(epsilon, delta, groups, per_key):
    rule = ThresholdedLaplace(epsilon, delta, groups, per_key)
    assert rule.loss.delta <= delta
    assert rule.loss.epsilon <= epsilon
    assert rule.threshold > per_key
    if rule.threshold > per_key + 1:
        assert rule._delta_at(rule.threshold - 1) > delta


def test_noise_is_for_what_a_unit_adds_to_all_keys():
    assert ThresholdedLaplace(Fraction(1, 2), MILLIONTH, groups=3, per_key=4).noise.scale == 24
    bounded = ThresholdedLaplace(Fraction(1, 2), MILLIONTH, 3, 4, l1_sensitivity=5)
    assert bounded.noise.scale == 10
    assert ThresholdedLaplace(Fraction(1, 2), MILLIONTH, 3, 4, l1_sensitivity=99).noise.scale == 24
    with pytest.raises(ParameterError, match="l1_sensitivity is 3"):
        ThresholdedLaplace(Fraction(1), MILLIONTH, 3, 4, l1_sensitivity=3)
    with pytest.raises(ParameterError, match="per_key is"):
        ThresholdedLaplace(Fraction(1), MILLIONTH, 3, 0)


def test_shown_totals_are_noisy_and_reach_the_threshold(stream, fit):
    rule = ThresholdedLaplace(Fraction(1, 3), Fraction(1, 1000))
    totals = np.repeat([0, 1, rule.threshold, 10**6], 50_000)
    shown, noisy = rule.release(totals, stream(116))
    assert noisy.min() >= rule.threshold
    assert noisy.size == shown.sum()
    by_total = shown.reshape(4, -1).mean(axis=1)
    assert by_total[0] == 0
    assert by_total[1] <= 1 / 1000 + 5 * math.sqrt(1e-3 / 50_000)
    assert by_total[2] == pytest.approx(1 / (1 + math.exp(-1 / 3)), abs=0.01)  # P(Z >= 0)
    assert by_total[3] == 1
    assert fit(rule.noise, noisy[-50_000:] - 10**6) > 1e-4


def test_wide_totals_do_not_wrap(stream):
    rule = ThresholdedLaplace(Fraction(1), MILLIONTH)
    shown, noisy = rule.release([2**63 - 1, 2**90, 0], stream(117))
    assert shown.tolist() == [True, True, False]
    assert all(
        abs(value - total) < 100 for value, total in zip(noisy, [2**63 - 1, 2**90], strict=True)
    )


@pytest.mark.parametrize("total", [5, 40, 1000])
def test_the_threshold_of_least_epsilon_is_found(total):
    rule = ThresholdedLaplace.for_total(total, 0.9, delta=MILLIONTH, groups=2)
    assert rule.total_for(0.9) <= total
    less = ThresholdedLaplace(rule.epsilon * (1 - Fraction(1, 2**16)), MILLIONTH, 2)
    assert less.total_for(0.9) >= total
    short = rule.total_for(0.9) - rule.threshold
    assert rule.noise.tail(short) / 2 <= 0.1
    assert not short or rule.noise.tail(short - 1) / 2 > 0.1


# Set union.


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 2), Fraction(1), Fraction(7, 3), Fraction(40)], ids=str
)
@pytest.mark.parametrize("deviations", [1, 2, 5, 9])
def test_gaussian_tails_are_bounded_from_above_and_closely(sigma, deviations):
    t = math.ceil(deviations * sigma + Fraction(1, 2))
    bound = decimal(_tail_above(t, sigma))
    with localcontext() as context:
        context.prec = 50
        square = decimal(2 * sigma * sigma)
        weights = [(-Decimal(z * z) / square).exp() for z in range(math.ceil(16 * sigma) + 8)]
        exact = sum(weights[t:]) / (2 * sum(weights) - 1)
    assert exact <= bound
    if sigma >= 40:
        assert bound <= exact * Decimal("1.01")


@pytest.mark.parametrize("x", [1.0, 2.0, 4.5, 6.0, 12.0, 37.0])
def test_the_continued_fraction_is_the_normal_tail(x):
    bound = float(_tail_above(Fraction(x) + Fraction(1, 2), Fraction(1)))
    assert stats.norm.sf(x) <= bound * (1 + 1e-13)
    assert bound <= stats.norm.sf(x) * (1 + 1e-6)


@pytest.mark.parametrize("groups", [1, 2, 10, 300])
@pytest.mark.parametrize(
    "rho", [Fraction(1, 1000), Fraction(1, 10), Fraction(2), Fraction(50)], ids=str
)
@pytest.mark.parametrize("delta", [Fraction(1, 10**9), Fraction(1, 50)], ids=str)
def test_the_delta_of_a_set_union_covers_every_number_of_keys(rho, groups, delta):
    rule = ThresholdedGaussian(rho, delta, groups, grid=1000)
    sigma = float(rule.noise.sigma)
    leaks = [
        t * stats.norm.sf((rule.threshold - 0.5 - rule.weight(t)) / sigma)
        for t in range(1, groups + 1)
    ]
    assert max(leaks) <= rule.loss.delta * (1 + 1e-9)
    assert rule.loss.delta <= delta
    assert rule.loss.rho <= rho
    if rule.threshold > 2 * 1000 + 1 and rule.threshold > 1000 + sigma + 2:
        # The threshold is within a step of the least; sqrt(groups) rounds a weight by one more.
        assert max(leaks) >= float(delta) * math.exp(-40 / sigma)


@pytest.mark.parametrize("grid", [1, 7, 1000, 2**20, 2**40])
def test_the_weights_of_a_unit_have_norm_at_most_the_grid(grid):
    groups = min(500, grid * grid)
    rule = ThresholdedGaussian(Fraction(1, 10), MILLIONTH, groups, grid)
    for keys in range(1, groups + 1):
        weight = rule.weight(keys)
        assert keys * weight**2 <= grid**2 < keys * (weight + 1) ** 2
        assert weight >= 1
    assert rule.weight(groups + 1) == 0
    held = np.array([1, groups, groups + 1, 10**12, 0, -3])
    assert rule.weights(held).tolist() == [grid, rule.weight(groups), 0, 0, 0, 0]
    assert rule.loss.rho <= Fraction(1, 10)


def test_a_union_of_many_sets_is_shown(stream):
    rule = ThresholdedGaussian(Fraction(1, 2), MILLIONTH, groups=4)
    held = np.tile([[True, True, True, True, False], [True, False, False, False, False]], (50, 1))
    totals = (held * rule.weights(held.sum(axis=1))[:, None]).sum(axis=0)
    shown = rule.keep(totals, stream(118))
    assert shown.tolist() == [True, True, True, True, False]


def test_the_union_of_least_rho_is_found():
    rule = ThresholdedGaussian.for_units(60, 0.9, delta=MILLIONTH, groups=9, keys=9)
    assert rule.units_for(0.9, keys=9) <= 60
    less = ThresholdedGaussian(rule.rho * (1 - Fraction(1, 2**10)), MILLIONTH, 9)
    assert less.units_for(0.9, keys=9) >= 60
    assert rule.units_for(0.9, keys=1) < rule.units_for(0.9, keys=9)
    with pytest.raises(ParameterError, match="keys is 10"):
        rule.units_for(0.9, keys=10)


def test_a_grid_too_coarse_for_its_groups_is_refused():
    with pytest.raises(ParameterError, match="grid is 3"):
        ThresholdedGaussian(Fraction(1), MILLIONTH, groups=10, grid=3)
    with pytest.raises(ParameterError, match="grid is 0"):
        ThresholdedGaussian(Fraction(1), MILLIONTH, groups=10, grid=0)
    with pytest.raises(ParameterError, match="keys is 0"):
        ThresholdedGaussian(Fraction(1), MILLIONTH).weight(0)


@pytest.mark.parametrize("rho", [Fraction(1, 10**12), Fraction(10**9)])
def test_extreme_costs_end_in_a_threshold(rho):
    rule = ThresholdedGaussian(rho, Fraction(1, 2**200), groups=100)
    assert rule.threshold > 2 * rule.grid
    assert 0 < rule.loss.delta <= Fraction(1, 2**200)
    other = ThresholdedLaplace(rho, Fraction(1, 2**200), groups=100)
    assert 0 < other.loss.delta <= Fraction(1, 2**200)

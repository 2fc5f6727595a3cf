"""Conversions are sound and tight, held against dp-accounting and the exact Gaussian curve."""

import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpframe.budget.convert import (
    largest_epsilon_in_renyi,
    largest_epsilon_in_rho,
    order_for,
    renyi_level,
    renyi_to_delta,
    renyi_to_epsilon,
    zcdp_to_delta,
    zcdp_to_epsilon,
)
from dpframe.budget.loss import Loss

orders = st.fractions(Fraction(3, 2), 200, max_denominator=20)
amounts = st.fractions(Fraction(1, 10**4), 5, max_denominator=10**4)
deltas = st.sampled_from([Fraction(1, 10**k) for k in (2, 4, 6, 10, 15)])


@settings(max_examples=30, deadline=None)
@given(orders, amounts, deltas)
def test_renyi_to_epsilon_agrees_with_dp_accounting(order, renyi, delta):
    theirs, _ = rdp_privacy_accountant.compute_epsilon([float(order)], [float(renyi)], float(delta))
    ours = float(renyi_to_epsilon(order, renyi, delta))
    # dp-accounting may also report an epsilon from a bound that does not depend on the order.
    assert theirs <= ours + 1e-9
    by_formula = (
        float(renyi)
        + math.log1p(-1 / float(order))
        - math.log(float(delta) * float(order)) / (float(order) - 1)
    )
    assert math.isclose(ours, max(0, by_formula), rel_tol=1e-9, abs_tol=1e-12)


@settings(max_examples=30, deadline=None)
@given(orders, amounts, amounts)
def test_renyi_to_delta_agrees_with_dp_accounting(order, renyi, epsilon):
    theirs, _ = rdp_privacy_accountant.compute_delta([float(order)], [float(renyi)], float(epsilon))
    ours = float(renyi_to_delta(order, renyi, epsilon))
    assert theirs <= ours * (1 + 1e-9)


@settings(max_examples=30, deadline=None)
@given(orders, amounts, deltas)
def test_there_and_back_never_gains(order, epsilon, delta):
    level = renyi_level(order, epsilon, delta)
    if level > 0:
        assert renyi_to_epsilon(order, level, delta) <= epsilon
        assert renyi_to_delta(order, level, epsilon) <= delta * (1 + Fraction(1, 10**20))
        above = level + Fraction(1, 10**9)
        assert renyi_to_epsilon(order, above, delta) > epsilon


@settings(max_examples=25, deadline=None)
@given(st.fractions(Fraction(1, 1000), 2, max_denominator=1000), deltas)
def test_zcdp_conversion_is_sound_for_the_gaussian_and_within_a_tenth_of_it(rho, delta):
    """A continuous Gaussian is rho-zCDP exactly, and its true epsilon is known."""
    mu = math.sqrt(2 * float(rho))

    def true_delta(epsilon):
        tail = norm.logcdf(-epsilon / mu - mu / 2)
        return norm.cdf(-epsilon / mu + mu / 2) - math.exp(epsilon + tail)

    epsilon = zcdp_to_epsilon(rho, delta)
    assert true_delta(float(epsilon)) <= float(delta) * (1 + 1e-6)
    if delta <= Fraction(1, 10**6):
        assert true_delta(0.88 * float(epsilon)) > float(delta)
    assert float(zcdp_to_delta(rho, epsilon)) <= float(delta) * 1.001


def test_the_order_leaves_gaussian_releases_the_most_room():
    for epsilon, delta in [("0.1", "1e-6"), ("1", "1e-6"), ("5", "1e-9"), ("20", "1e-3")]:
        e, d = Fraction(epsilon), Fraction(delta)
        order = order_for(e, d)
        room = renyi_level(order, e, d) / order
        for factor in ("0.5", "0.8", "0.99", "1.01", "1.2", "2"):
            other = 1 + (order - 1) * Fraction(factor)
            assert renyi_level(other, e, d) / other <= room * (1 + Fraction(1, 10**6))


@settings(max_examples=30, deadline=None)
@given(orders, amounts)
def test_the_largest_epsilon_fits_and_a_little_more_does_not(order, room):
    in_renyi = largest_epsilon_in_renyi(order, room)
    assert Loss.pure(in_renyi).renyi(order) <= room
    assert Loss.pure(in_renyi * (1 + Fraction(1, 10**9))).renyi(order) > room
    in_rho = largest_epsilon_in_rho(room)
    assert Loss.pure(in_rho).rho <= room
    assert Loss.pure(in_rho * (1 + Fraction(1, 10**9))).rho > room


@pytest.mark.parametrize("room", [Fraction(0), Fraction(-1), Fraction(1, 10**400)])
def test_no_room_holds_no_epsilon(room):
    assert largest_epsilon_in_rho(room) == 0
    assert largest_epsilon_in_renyi(Fraction(2), room) == 0


def best_binary_delta(order: float, renyi: float, epsilon: float) -> float:
    """Maximise P(S) - e^epsilon Q(S) over all pairs of that divergence: two outcomes suffice."""
    log_p = np.linspace(-30, -1e-3, 20_000)
    low, high = np.full_like(log_p, -60.0), log_p.copy()
    for _ in range(60):
        log_q = (low + high) / 2
        inside = order * log_p + (1 - order) * log_q
        outside = order * np.log1p(-np.exp(log_p)) + (1 - order) * np.log1p(-np.exp(log_q))
        apart = np.logaddexp(inside, outside) > (order - 1) * renyi
        low, high = np.where(apart, log_q, low), np.where(apart, high, log_q)
    return float(np.max(np.exp(log_p) - np.exp(epsilon + high)))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_lossless_conversion_would_gain_next_to_nothing(epsilon):
    """What the docstring says about Asoodeh et al.; the search is also a check from below."""
    delta = Fraction(1, 10**6)
    order = order_for(Fraction(str(epsilon)), delta)
    level = renyi_level(order, Fraction(str(epsilon)), delta)
    lossless = best_binary_delta(float(order), float(level), epsilon)
    assert lossless <= 1e-6 * (1 + 1e-9)
    assert math.log(1e-6 / lossless) / (float(order) - 1) < 1e-5 * epsilon * 2

"""Composition theorems, held against dp-accounting and against each other."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpframe.budget.batch import ScalarGaussian, ScalarLaplace, batch_epsilon
from dpframe.budget.compose import compose, optimal_delta
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError


def bounds(losses, delta):
    return {b.theorem: b.epsilon for b in compose(losses, delta=delta).bounds}


@pytest.mark.parametrize(("epsilon", "times"), [("0.1", 100), ("0.5", 10), ("1", 3), ("0.01", 400)])
def test_the_optimal_bound_is_that_of_an_independent_accountant(epsilon, times):
    found = bounds(times * [Loss.pure(epsilon)], "1e-6")["optimal"]
    independent = batch_epsilon([times * Loss.pure(epsilon)], delta="1e-6")
    assert math.isclose(float(found), independent, rel_tol=0.01)


@settings(max_examples=25, deadline=None)
@given(
    st.fractions(Fraction(1, 100), 1, max_denominator=100),
    st.integers(1, 40),
    st.sampled_from(["1e-3", "1e-6", "1e-12"]),
)
def test_no_theorem_beats_the_optimal_bound(epsilon, times, delta):
    found = bounds(times * [Loss.pure(epsilon)], delta)
    best = found.pop("optimal")
    for theorem, bound in found.items():
        assert bound >= best * (1 - Fraction(1, 10**9)), theorem


@settings(max_examples=25, deadline=None)
@given(st.fractions(Fraction(1, 20), 1, max_denominator=20), st.integers(1, 12))
def test_the_optimal_delta_is_the_divergence_of_randomized_responses(epsilon, times):
    e, total = float(epsilon), float(times * epsilon) / 3
    yes = math.exp(e) / (1 + math.exp(e))
    direct = 0.0
    for n in range(times + 1):
        p = math.comb(times, n) * yes ** (times - n) * (1 - yes) ** n
        q = math.comb(times, n) * yes**n * (1 - yes) ** (times - n)
        direct += max(0.0, p - math.exp(total) * q)
    found = float(optimal_delta(epsilon, times, times * epsilon / 3))
    assert found == pytest.approx(direct, rel=1e-9, abs=1e-15)


def test_the_advanced_theorem_has_the_constants_of_its_proof():
    found = bounds(100 * [Loss.pure("0.1")], "1e-6")["advanced"]
    mean = 100 * 0.1 * math.tanh(0.05)
    assert float(found) == pytest.approx(mean + math.sqrt(2 * math.log(1e6) * 100 * 0.01))


def test_own_deltas_are_taken_off_first():
    losses = 10 * [Loss.approximate("0.1", "1e-8")]
    assert bounds(losses, "1e-6")["basic"] == 1
    assert bounds(losses, "1e-8")["basic"] is None
    exact_fit = compose(losses, delta="1e-7")
    assert exact_fit.best.theorem in {"basic", "optimal"}
    with pytest.raises(ParameterError, match="own deltas"):
        _ = compose(losses, delta="1e-8").best


def test_with_own_deltas_the_optimal_bound_is_theorem_3_3():
    """1 - (1 - delta)^k (1 - delta_i) at epsilon (k - 2i) e, evaluated directly."""
    k, e, own, i = 8, 0.25, 1e-4, 2
    terms = sum(
        math.comb(k, n) * (math.exp((k - n) * e) - math.exp((k - 2 * i + n) * e)) for n in range(i)
    )
    delta = 1 - (1 - own) ** k * (1 - terms / (1 + math.exp(e)) ** k)
    found = bounds(k * [Loss.approximate("0.25", "1e-4")], delta)["optimal"]
    assert float(found) == pytest.approx((k - 2 * i) * e, rel=1e-6)


def test_gaussian_batches_have_no_pure_bound():
    found = bounds(10 * [Loss.zcdp("0.001")], "1e-6")
    assert found["basic"] is None
    assert found["advanced"] is None
    assert found["zCDP"] <= found["Renyi"]


def test_an_empty_batch_costs_nothing():
    assert compose([], delta="1e-6").best.epsilon == 0
    assert compose([]).best.epsilon == 0


def test_without_delta_only_the_sum_of_epsilons_is_known():
    composition = compose(3 * [Loss.pure("0.1")])
    assert composition.best.theorem in {"basic", "optimal"}
    assert composition.best.epsilon == Fraction(3, 10)


@pytest.mark.parametrize("delta", [1, 2, -1, math.nan])
def test_delta_is_a_chance(delta):
    with pytest.raises(ParameterError):
        compose([Loss.pure(1)], delta=delta)


def test_a_batch_is_accounted_below_any_theorem():
    laplaces = [ScalarLaplace(Fraction(50), sensitivity=5, times=100)]
    theorems = bounds(100 * [Loss.laplace(scale=Fraction(50), l1_sensitivity=5)], "1e-6")
    assert batch_epsilon(laplaces, delta="1e-6") < float(theorems["optimal"])
    mixed = [*laplaces, ScalarGaussian(Fraction(45), times=10), Loss.approximate("0.1", "1e-8")]
    assert batch_epsilon(mixed, delta="1e-6") > batch_epsilon(laplaces, delta="1e-6")


def test_a_batch_refuses_what_has_no_distribution():
    with pytest.raises(ParameterError, match="no pure epsilon"):
        batch_epsilon([Loss.zcdp("0.1")], delta="1e-6")
    with pytest.raises(ParameterError, match="delta"):
        batch_epsilon([], delta=1)


def test_without_dp_accounting_the_error_says_how_to_install_it(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dp_accounting.pld.privacy_loss_distribution", None)
    with pytest.raises(ParameterError, match=r'pip install "dpframe\[accounting\]"'):
        batch_epsilon([], delta="1e-6")

"""The filter is never looser than an independent accountant, and not much tighter."""

import math
from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from dpframe.budget.batch import ScalarGaussian, batch_epsilon
from dpframe.budget.budget import Budget
from dpframe.budget.filters import Filter
from dpframe.budget.loss import Loss
from dpframe.budget.spent import Spent

gaussians = st.integers(4, 60).map(lambda sigma: ("gaussian", sigma))
laplaces = st.integers(2, 60).map(lambda scale: ("laplace", scale))


def loss_of(kind, parameter):
    if kind == "gaussian":
        return Loss.gaussian(sigma=Fraction(parameter), l2_squared_sensitivity=1)
    return Loss.laplace(scale=Fraction(parameter), l1_sensitivity=1)


def event_of(kind, parameter):
    if kind == "gaussian":
        return dp_accounting.GaussianDpEvent(parameter)
    return dp_accounting.DiscreteLaplaceDpEvent(1 / parameter, 1)


def distribution_of(kind, parameter):
    if kind == "gaussian":
        return pld.from_discrete_gaussian_mechanism(float(parameter), use_connect_dots=True)
    return pld.from_discrete_laplace_mechanism(1 / parameter, use_connect_dots=True)


def play(account, wishes):
    """Ask adaptively: each refusal makes the analyst ask for twice the noise."""
    spent, admitted = Spent(), []
    for kind, parameter in wishes:
        for _ in range(3):
            loss = loss_of(kind, parameter)
            if account.admits(spent, loss):
                spent = account.after(spent, loss)
                admitted.append((kind, parameter))
                break
            parameter *= 2
    return spent, admitted


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.one_of(gaussians, laplaces), min_size=5, max_size=40),
    st.sampled_from([("1", "1e-6"), ("0.5", "1e-4"), ("3", "1e-9")]),
)
def test_whatever_was_admitted_is_within_the_budget_by_dp_accounting(wishes, budget):
    epsilon, delta = budget
    account = Filter.for_budget(Budget(epsilon=epsilon, delta=delta))
    spent, admitted = play(account, wishes)
    if not admitted:
        return
    composed = pld.identity()
    for release in admitted:
        composed = composed.compose(distribution_of(*release))
    assert composed.get_delta_for_epsilon(float(epsilon)) <= float(delta) * (1 + 1e-6)
    if spent.renyi <= account.level and all(kind == "gaussian" for kind, _ in admitted):
        accountant = RdpAccountant([float(account.order)])
        for release in admitted:
            accountant.compose(event_of(*release))
        assert accountant.get_epsilon(float(account.conversion_delta)) <= float(epsilon) + 1e-9


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.sampled_from([2.0, 8.5, 22.51, 64.0]))
def test_renyi_losses_agree_with_dp_accounting(scale, order):
    accountant = RdpAccountant([order])
    accountant.compose(dp_accounting.LaplaceDpEvent(float(scale)))
    continuous = float(accountant.rdp[0]) if hasattr(accountant, "rdp") else accountant._rdp[0]
    discrete = float(loss_of("laplace", scale).renyi(Fraction(str(order))))
    # The discrete law loses more than its continuous cousin, and less so the finer the grid.
    assert continuous * (1 - 1e-9) <= discrete <= continuous * (1 + 0.5 / scale)


def noise_for(epsilon: str, delta: str, releases: int) -> tuple[float, float]:
    """Give the sigma of each of so many Gaussian releases: by the filter, and by PLD."""
    account = Filter.for_budget(Budget(epsilon=epsilon, delta=delta))
    rho = account.share(Fraction(1, releases)).rho
    by_filter = 1 / math.sqrt(2 * float(rho))
    low, high = by_filter / 2, by_filter
    for _ in range(20):
        middle = (low + high) / 2
        batch = [ScalarGaussian(Fraction(middle), times=releases)]
        if batch_epsilon(batch, delta=delta) <= float(epsilon):
            high = middle
        else:
            low = middle
    return by_filter, high


@pytest.mark.parametrize(
    ("epsilon", "delta", "most"), [("1", "1e-6", 1.10), ("3", "1e-6", 1.10), ("1", "1e-9", 1.10)]
)
def test_a_hundred_gaussian_releases_need_at_most_a_tenth_more_noise_than_by_pld(
    epsilon, delta, most
):
    by_filter, by_pld = noise_for(epsilon, delta, 100)
    assert 1 <= by_filter / by_pld <= most


def test_a_hundred_gaussian_releases_at_their_share_are_all_admitted():
    account = Filter.for_budget(Budget(epsilon=1, delta="1e-6"))
    rho = account.share(Fraction(1, 100)).rho
    sigma = Fraction(math.isqrt(int(10**24 / (2 * rho))) + 1, 10**12)
    loss = Loss.gaussian(sigma=sigma, l2_squared_sensitivity=1)
    spent = Spent()
    for _ in range(100):
        assert account.admits(spent, loss)
        spent = account.after(spent, loss)
    assert not account.admits(spent, loss)

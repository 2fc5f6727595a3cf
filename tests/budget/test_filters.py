"""One suite that every filter passes, then what is particular to each."""

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpframe.budget.budget import Budget
from dpframe.budget.filters import ApproximateFilter, Filter
from dpframe.budget.loss import Loss
from dpframe.budget.spent import Spent
from dpframe.errors import ParameterError

costs = st.fractions(Fraction(1, 10**4), Fraction(1, 2), max_denominator=10**4)
releases = st.one_of(
    st.builds(Loss.pure, costs),
    st.builds(lambda rho: Loss.zcdp(rho / 10), costs),
    st.builds(lambda e: Loss.laplace(scale=1 / e, l1_sensitivity=1), costs),
    st.builds(lambda e: Loss.approximate(e, Fraction(1, 10**8)), costs),
)
histories = st.lists(releases, max_size=8)
shares = st.lists(st.tuples(st.integers(1, 9), st.booleans()), min_size=1, max_size=8)

# The tests below run for each subclass, which Hypothesis would otherwise take for a mistake.
inherited = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.differing_executors]
)

A_LITTLE = 1 + Fraction(1, 10**6)


def spend(account: Filter, losses) -> Spent:
    """Ask for each release; spend those that are admitted."""
    spent = Spent()
    for loss in losses:
        if account.admits(spent, loss):
            spent = account.after(spent, loss)
    return spent


class FilterSuite:
    """What every filter promises."""

    budget: Budget

    @pytest.fixture(scope="class")
    @classmethod
    def account(cls):
        return Filter.for_budget(cls.budget)

    def test_nothing_spent_holds(self, account):
        assert account.holds(Spent())
        assert account.room(Spent())

    @inherited
    @given(history=histories)
    def test_admitted_releases_hold_and_nothing_is_always_admitted(self, account, history):
        spent = spend(account, history)
        assert account.holds(spent)
        assert account.admits(spent, Loss.none())

    @inherited
    @given(history=histories)
    def test_the_room_is_admitted_and_a_little_more_is_not(self, account, history):
        spent = spend(account, history)
        room = account.room(spent)
        if room.epsilon:
            assert account.admits(spent, Loss.pure(room.epsilon))
            assert not account.admits(spent, Loss.pure(room.epsilon * A_LITTLE))
        if room.rho:
            assert account.admits(spent, Loss.zcdp(room.rho))
            assert not account.admits(spent, Loss.zcdp(room.rho * A_LITTLE))
        if room.delta:
            assert account.admits(spent, Loss.approximate(0, room.delta))
        assert not account.admits(spent, Loss.approximate(0, room.delta + Fraction(1, 10**12)))

    @inherited
    @given(parts=shares)
    def test_shares_that_add_up_to_the_whole_are_all_admitted(self, account, parts):
        whole = sum(weight for weight, _ in parts)
        spent = Spent()
        for weight, gaussian in parts:
            share = account.share(Fraction(weight, whole))
            use_gaussian = gaussian and share.rho
            loss = Loss.zcdp(share.rho) if use_gaussian else Loss.pure(share.epsilon)
            if share.delta:
                loss += Loss.approximate(0, share.delta)
            assert account.admits(spent, loss)
            spent = account.after(spent, loss)

    @pytest.mark.parametrize("k", [1, 2, 3, 7, 30, 100])
    def test_k_pure_releases_at_their_share_of_epsilon_are_all_admitted(self, account, k):
        loss = Loss.pure(account.share(Fraction(1, k)).pure_epsilon)
        spent = Spent()
        for _ in range(k):
            assert account.admits(spent, loss)
            spent = account.after(spent, loss)

    @inherited
    @given(history=histories, loss=releases, more=releases)
    def test_what_is_refused_stays_refused_for_more(self, account, history, loss, more):
        spent = spend(account, history)
        if not account.admits(spent, loss):
            assert not account.admits(spent, loss + more)
            assert not account.admits(account.after(spent, more), loss)

    @inherited
    @given(history=histories)
    def test_a_release_counts_the_same_in_one_piece_or_in_many(self, account, history):
        pieces = Spent()
        for loss in history:
            pieces = account.after(pieces, loss)
        whole = account.after(Spent(), sum(history, Loss.none()))
        assert (pieces.epsilon, pieces.rho, pieces.renyi, pieces.delta) == (
            whole.epsilon,
            whole.rho,
            whole.renyi,
            whole.delta,
        )

    def test_the_sums_survive_being_written_down(self, account):
        spent = account.after(Spent(), Loss.pure("1/3") + Loss.zcdp("1/7"))
        assert Spent.from_json(spent.to_json()) == spent

    @pytest.mark.parametrize("bad", [0, -1, 2, math.nan])
    def test_a_share_is_a_part_of_the_whole(self, account, bad):
        with pytest.raises(ParameterError):
            account.share(bad)


class TestPureFilter(FilterSuite):
    budget = Budget(epsilon=1)

    def test_ten_releases_at_a_tenth_fit_without_float_dust(self, account):
        spent = spend(account, 10 * [Loss.pure(0.1)])
        assert spent.releases == 10
        assert spent.epsilon == 1

    def test_gaussian_noise_is_never_admitted(self, account):
        assert not account.admits(Spent(), Loss.zcdp("1e-100"))
        assert account.share(1).rho == 0


class TestConcentratedFilter(FilterSuite):
    budget = Budget(rho="0.1")

    def test_a_hundred_gaussians_fit_to_the_last(self, account):
        loss = Loss.gaussian(sigma=Fraction(10), l2_squared_sensitivity=1)
        assert spend(account, 30 * [loss]).releases == 20


class TestApproximateFilter(FilterSuite):
    budget = Budget(epsilon=1, delta=1e-6)

    def test_the_order_is_fixed_before_anything_is_spent(self, account):
        again = Filter.for_budget(self.budget)
        assert (again.order, again.level) == (account.order, account.level)
        kept = Filter.for_budget(self.budget, order=Fraction(30))
        assert kept.order == 30
        assert kept.level < account.epsilon

    def test_the_deltas_make_up_the_budget(self, account):
        assert account.own_delta + account.conversion_delta == self.budget.delta

    def test_pure_releases_may_use_the_whole_epsilon(self, account):
        assert account.admits(Spent(), Loss.pure(1))
        assert not account.admits(Spent(), Loss.pure("1.0000001"))

    def test_many_small_pure_releases_go_beyond_the_sum_of_epsilons(self, account):
        spent = spend(account, 600 * [Loss.pure("0.01")])
        assert 4 < spent.epsilon < 5

    def test_what_is_stated_so_far_never_exceeds_the_budget(self, account):
        for loss in (Loss.zcdp("0.0237"), Loss.pure(1), 200 * Loss.pure("0.01")):
            assert account.admits(Spent(), loss)
            assert 0 < account.epsilon_so_far(account.after(Spent(), loss)) <= 1
        assert account.epsilon_so_far(Spent()) == 0


class TestApproximateFilterOfASmallBudget(FilterSuite):
    budget = Budget(epsilon="1/1000", delta="1e-9")


class TestApproximateFilterOfALargeBudget(FilterSuite):
    budget = Budget(epsilon=30, delta="0.01")


def test_sums_stay_small_however_many_releases():
    account = Filter.for_budget(Budget(epsilon=10**6, delta=1e-6))
    spent, true = Spent(), Fraction(0)
    for n in range(1, 300):
        loss = Loss.laplace(scale=Fraction(10**12 + n * n, 10**9 + 2 * n), l1_sensitivity=1)
        spent, true = account.after(spent, loss), true + loss.epsilon
    assert spent.epsilon.denominator.bit_length() <= 256
    assert true <= spent.epsilon <= true + Fraction(300, 2**128)


def outcomes(loss: Loss) -> list[tuple[float, float]]:
    """Give the worst (epsilon, delta) mechanism: outcome probabilities under two neighbours."""
    e, d = float(loss.epsilon), float(loss.delta)
    yes = math.exp(e) / (1 + math.exp(e))
    return [
        (d, 0),
        ((1 - d) * yes, (1 - d) * (1 - yes)),
        ((1 - d) * (1 - yes), (1 - d) * yes),
        (0, d),
    ]


def worst_delta(account: Filter, strategy, depth: int) -> float:
    """Play an adaptive strategy to the end on every path; sum (P - e^epsilon Q)+ over them."""
    bound = math.exp(float(account.budget.epsilon))

    def play(history, spent, p, q):
        if p <= bound * q * 1e-30 or not p:
            return 0.0
        loss = strategy(history) if len(history) < depth else None
        if loss is None or not account.admits(spent, loss):
            return max(0.0, p - bound * q)
        after = account.after(spent, loss)
        return sum(
            play((*history, answer), after, p * to, q * from_)
            for answer, (to, from_) in enumerate(outcomes(loss))
        )

    return play((), Spent(), 1.0, 1.0)


@settings(max_examples=20, deadline=None)
@given(
    menu=st.lists(
        st.sampled_from(["0.05", "0.1", "0.2", "0.3", "0.5", "0.8"]), min_size=3, max_size=9
    ),
    deltas=st.lists(st.sampled_from([0, "0.002", "0.01"]), min_size=3, max_size=9),
    seed=st.integers(0, 10**6),
    epsilon=st.sampled_from(["0.5", "1"]),
)
def test_no_adaptive_strategy_loses_more_than_the_budget(menu, deltas, seed, epsilon):
    """Exact: every path of the game is enumerated, so the divergence is not estimated."""
    account = Filter.for_budget(Budget(epsilon=epsilon, delta="0.1"))

    def strategy(history):
        state = hash((seed, history))
        cost, delta = menu[state % len(menu)], deltas[state // 7 % len(deltas)]
        return Loss.approximate(cost, delta) if delta else Loss.pure(cost)

    assert worst_delta(account, strategy, depth=6) <= 0.1


@pytest.mark.parametrize("greed", ["0.1", "0.2", "0.34"])
def test_going_on_only_while_it_pays_does_not_beat_the_filter(greed):
    """The adversary that breaks fixed-parameter theorems: stop when the loss is already large."""
    account = Filter.for_budget(Budget(epsilon=1, delta="0.05"))

    def strategy(history):
        lead = history.count(1) - history.count(2)
        return Loss.pure(greed) if lead < 8 else Loss.pure("0.01")

    assert worst_delta(account, strategy, depth=9) <= 0.05


def test_the_game_finds_a_filter_that_is_too_loose():
    account = Filter.for_budget(Budget(epsilon=1, delta="0.05"))
    account.level *= 2  # as if losses were half of what they are
    account.epsilon *= 2
    assert worst_delta(account, lambda history: Loss.pure("0.5"), depth=4) > 0.05


def test_mixing_branches_does_not_beat_the_filter():
    """Spend pure epsilon on some paths and Renyi loss with own deltas on others."""
    account = Filter.for_budget(Budget(epsilon=1, delta="0.1"))
    assert isinstance(account, ApproximateFilter)
    for first, pure, many in itertools.product(("0.1", "0.3"), ("0.7", "0.9"), ("0.05", "0.15")):

        def strategy(history, first=first, pure=pure, many=many):
            if not history:
                return Loss.approximate(first, "0.01")
            return Loss.pure(many) if history[0] == 1 else Loss.approximate(pure, "0.005")

        assert worst_delta(account, strategy, depth=7) <= 0.1

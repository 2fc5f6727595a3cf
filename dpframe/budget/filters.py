"""Privacy filters: whether the next release may run, after any adaptive choices.

A composition theorem speaks about costs that were fixed beforehand. A session's analyst picks each
query *and its cost* after reading the answers so far. A filter stays valid then: it looks at the
sums of the losses so far and of the next one, and refuses the next one if a bound would be passed.

**Setting.** Fix two neighbouring tables, an analyst, and the analyst's coins. Step t of the session
has, given the answers y_1 .. y_{t-1}, laws P_t and Q_t under the two tables, and costs that those
answers determine; so are refusals, which therefore tell nothing. P and Q are the laws of the whole
transcript y, and Z(y) = log(dP/dQ)(y).

**Own deltas.** If step t is (epsilon_t, delta_t)-private, P_t = (1 - delta_t) P'_t + delta_t P''_t
and likewise Q_t, with P'_t and Q'_t epsilon_t-indistinguishable (Kairouz, Oh and Viswanath 2015).
A transcript without any double-primed step has weight w(y) = prod (1 - delta_t) <= 1 under both
laws, and one with such a step has probability at most D, if the filter keeps sum delta_t <= D on
every path. So P(S) - e^e Q(S) <= D + int_S w (dP' - e^e dQ'), where P' and Q' are the laws of a
session without deltas. The rest of the proof is about P' and Q', and about
int_S (dP' - e^e dQ')+, which is larger.

**Pure sum.** If sum epsilon_t <= e on every path, then dP' <= e^e dQ' at each transcript, step by
step, and the integral is at most 0.

**zCDP sum.** If sum rho_t <= r on every path, then at every order a > 1 the process
exp((a - 1) (Z_t - a sum_{i <= t} rho_i)) has expectation at most 1 under P': each factor has, given
the past (Feldman and Zrnic 2021). At the end the sum is at most r, so
E exp((a - 1) Z) <= exp((a - 1) a r): the session is r-zCDP.

**One Renyi order.** The same with order a fixed before the first release, losses tau_t at that
order and sum tau_t <= L gives D_a(P' || Q') <= L, which is (e, d')-privacy if L is the level that
`convert.renyi_level` gives for (a, e, d'). The order comes from the budget alone.

**Either, at no cost.** The approximate filter admits a release if, after it, sum epsilon_t <= e
*or* sum tau_t <= L. Let G be the transcripts that end with the first condition true. Sums only
grow, so along a transcript in G the pure condition always held, and along one outside G the Renyi
condition always held. On G, dP' <= e^e dQ'. Outside G, compare with the session that is stopped
where the Renyi condition would break: it has the same densities there, and it is (e, d')-private,
so int over S minus G of (dP' - e^e dQ')+ is at most d'. Together: (e, d' + D), with d' + D = d.

The split of d into d' and D must not depend on the transcript either: an analyst who sees a large
Z could else put all of d where it hurts. Hence a constant, `OWN_DELTA_SHARE`.

A mechanism that goes on interacting after it was charged in full (sparse vector) may interleave
with later releases: these filters stay valid under concurrent composition (Haney et al. 2023).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

from dpframe.budget.budget import Budget
from dpframe.budget.convert import (
    largest_epsilon_in_renyi,
    largest_epsilon_in_rho,
    order_for,
    renyi_level,
    zcdp_to_epsilon,
)
from dpframe.budget.exact import Number, positive, readable
from dpframe.budget.loss import Loss
from dpframe.budget.room import Room, Share
from dpframe.budget.spent import Spent
from dpframe.errors import ParameterError

OWN_DELTA_SHARE = Fraction(1, 4)
"""The part of an approximate budget's delta kept for mechanisms with a delta of their own.

It costs Gaussian workloads 1.3% more noise at (1, 1e-6)."""


class Filter(ABC):
    """Decides, from sums alone, whether one more release keeps the whole session private.

    >>> tenth = Loss.pure(0.1)
    >>> account = Filter.for_budget(Budget(epsilon=1))
    >>> account.admits(account.after(Spent(), 9 * tenth), tenth)
    True
    >>> account.admits(account.after(Spent(), 10 * tenth), tenth)
    False
    """

    budget: Budget
    level: Fraction
    """What the sum that the filter watches may reach."""
    order: Fraction | None = None
    """The Renyi order whose losses `Spent.renyi` sums, where the filter has one."""

    @staticmethod
    def for_budget(budget: Budget, *, order: Fraction | None = None) -> Filter:
        """Make the filter of a budget; `order` keeps the Renyi order of an older session.

        Any order fixed before the first release is valid: a ledger remembers its own.
        """
        if budget.rho is not None:
            return ConcentratedFilter(budget)
        if budget.delta is not None:
            return ApproximateFilter(budget, order)
        return PureFilter(budget)

    def after(self, spent: Spent, loss: Loss) -> Spent:
        """Give the sums once this loss is spent too."""
        return spent.plus(loss, self.order)

    def admits(self, spent: Spent, loss: Loss) -> bool:
        """Say whether a release of this loss may run."""
        return self.holds(self.after(spent, loss))

    @abstractmethod
    def holds(self, spent: Spent) -> bool:
        """Say whether sums like these keep the promise."""

    @abstractmethod
    def room(self, spent: Spent) -> Room:
        """Give what one more release may cost."""

    @abstractmethod
    def share(self, fraction: Number) -> Share:
        """Give what a share in (0, 1] of the whole budget is worth."""

    @abstractmethod
    def describe(self, spent: Spent) -> str:
        """Say what is spent of what."""


class PureFilter(Filter):
    """The sum of pure epsilons stays within the budget's.

    >>> account = Filter.for_budget(Budget(epsilon=1))
    >>> spent = account.after(Spent(), Loss.pure("0.8"))
    >>> print(account.describe(spent), "|", account.room(spent))
    epsilon 0.8 of 1 | epsilon 0.2
    """

    def __init__(self, budget: Budget) -> None:
        assert budget.epsilon is not None
        self.budget = budget
        self.level = budget.epsilon

    def holds(self, spent: Spent) -> bool:
        """Say whether the epsilons fit, and nothing had a delta."""
        return spent.epsilon <= self.level and not spent.delta

    def room(self, spent: Spent) -> Room:
        """Give the epsilon that is left."""
        return Room(_left(self.level, spent.epsilon), Fraction(0), Fraction(0))

    def share(self, fraction: Number) -> Share:
        """Give that share of epsilon; no Gaussian release has a pure epsilon."""
        epsilon = _share(fraction) * self.level
        return Share(epsilon, Fraction(0), Fraction(0), epsilon)

    def describe(self, spent: Spent) -> str:
        """Say `epsilon 0.8 of 1`."""
        return f"epsilon {readable(spent.epsilon)} of {readable(self.level)}"


class ConcentratedFilter(Filter):
    """The sum of rhos stays within the budget's.

    >>> account = Filter.for_budget(Budget(rho=0.1))
    >>> spent = account.after(Spent(), Loss.zcdp("0.09"))
    >>> print(account.describe(spent), "|", account.room(spent))
    rho 0.09 of 0.1 | epsilon 0.1415 or rho 0.01
    """

    def __init__(self, budget: Budget) -> None:
        assert budget.rho is not None
        self.budget = budget
        self.level = budget.rho

    def holds(self, spent: Spent) -> bool:
        """Say whether the rhos fit, and nothing had a delta."""
        return spent.rho <= self.level and not spent.delta

    def room(self, spent: Spent) -> Room:
        """Give the rho that is left, and the pure epsilon that it is worth."""
        rho = _left(self.level, spent.rho)
        return Room(largest_epsilon_in_rho(rho), rho, Fraction(0))

    def share(self, fraction: Number) -> Share:
        """Give that share of rho, and the pure epsilon that it is worth."""
        rho = _share(fraction) * self.level
        epsilon = largest_epsilon_in_rho(rho)
        return Share(epsilon, rho, Fraction(0), epsilon)

    def describe(self, spent: Spent) -> str:
        """Say `rho 0.09 of 0.1`."""
        return f"rho {readable(spent.rho)} of {readable(self.level)}"


class ApproximateFilter(Filter):
    """The sum of Renyi losses at one order stays within a level, or that of pure epsilons does.

    >>> account = Filter.for_budget(Budget(epsilon=1, delta=1e-6))
    >>> float(account.order), float(account.level)
    (22.51, 0.53455...)
    >>> spent = account.after(Spent(), 50 * Loss.gaussian(sigma=50, l2_squared_sensitivity=1))
    >>> print(account.describe(spent))
    epsilon 0.6306 of 1 (delta 1e-6)
    >>> print(account.room(spent))
    epsilon 0.3345 or rho 0.01374, delta 2.5e-7
    """

    def __init__(self, budget: Budget, order: Fraction | None = None) -> None:
        assert budget.epsilon is not None
        assert budget.delta is not None
        self.budget = budget
        self.epsilon = budget.epsilon
        self.own_delta = OWN_DELTA_SHARE * budget.delta
        self.conversion_delta = budget.delta - self.own_delta
        if order is None:
            order = order_for(self.epsilon, self.conversion_delta)
        elif order <= 1:
            raise ParameterError(
                f"the Renyi order is {order}", why="it has to be above 1", fix="order=None"
            )
        self.order: Fraction = order
        self.level = renyi_level(self.order, self.epsilon, self.conversion_delta)

    def holds(self, spent: Spent) -> bool:
        """Say whether one of the two sums fits, and the mechanisms' own deltas do."""
        fits = spent.renyi <= self.level or spent.epsilon <= self.epsilon
        return fits and spent.delta <= self.own_delta

    def room(self, spent: Spent) -> Room:
        """Give what is left to a pure release in the better branch, and to a Gaussian one."""
        renyi = _left(self.level, spent.renyi)
        pure = _left(self.epsilon, spent.epsilon)
        return Room(
            max(pure, largest_epsilon_in_renyi(self.order, renyi)),
            renyi / self.order,
            _left(self.own_delta, spent.delta),
        )

    def share(self, fraction: Number) -> Share:
        """Give that share of the Renyi level to either kind of release."""
        part = _share(fraction)
        renyi = part * max(self.level, Fraction(0))
        return Share(
            largest_epsilon_in_renyi(self.order, renyi),
            renyi / self.order,
            part * self.own_delta,
            part * self.epsilon,
        )

    def describe(self, spent: Spent) -> str:
        """Say `epsilon 0.8 of 1 (delta 1e-6)`."""
        so_far = readable(self.epsilon_so_far(spent))
        delta = readable(self.own_delta + self.conversion_delta)
        return f"epsilon {so_far} of {readable(self.epsilon)} (delta {delta})"

    def epsilon_so_far(self, spent: Spent) -> Fraction:
        """Give an epsilon that, with the budget's delta, holds for the releases so far.

        The smaller of three upper bounds: the pure sum, the Renyi sum and the zCDP sum, converted.
        It presumes that costs were not chosen by looking at answers; for a session whose costs
        were, what holds is the budget itself.
        """
        converted = spent.renyi + self.epsilon - self.level
        bounds = [converted, zcdp_to_epsilon(spent.rho, self.conversion_delta)]
        if not isinstance(spent.epsilon, float):
            bounds.append(spent.epsilon)
        return min(bounds)


def _left(level: Fraction, spent: Fraction | float) -> Fraction:
    if isinstance(spent, float):
        return Fraction(0)
    return max(Fraction(0), level - spent)


def _share(fraction: Number) -> Fraction:
    share = positive(fraction, "share")
    if share > 1:
        raise ParameterError(
            f"share is {fraction}",
            why="it is a part of the whole budget, in (0, 1]",
            fix="share=0.1",
        )
    return share

"""Composition theorems side by side, for releases whose costs are fixed up front.

A session does not use these: its costs are chosen adaptively, and it runs a filter
(`budget.filters`). They answer what a batch costs, and what each theorem is worth.

- *basic*: epsilons and deltas add up (Dwork et al. 2006).
- *advanced*: for any d > 0, `sum rho + sqrt(2 log(1/d) sum e^2)` at `d + sum delta`. A privacy loss
  lies in `[-e, e]` and has mean at most rho, which is `e tanh(e/2)` or less, so Azuma's inequality
  with range `2 e` gives `exp(-t^2 / (2 sum e^2))` (Dwork, Rothblum and Vadhan 2010, with the
  constants of Kairouz, Oh and Viswanath 2015, theorem 3.5).
- *optimal*: for k releases of the same epsilon, the exact answer (Kairouz, Oh and Viswanath 2015,
  theorem 3.3): no bound that knows only (epsilon, delta) of each can be better.
- *zCDP*: rhos add up, then are converted (Bun and Steinke 2016; Canonne et al. 2020).
- *Renyi*: Renyi losses add up at each order; the best of a grid of orders is converted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpframe.budget.convert import renyi_to_epsilon, zcdp_to_epsilon
from dpframe.budget.enclosure import Enclosure, round_up
from dpframe.budget.exact import Number, exact, readable
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError

ORDERS = tuple(1 + Fraction(f"{10 ** (x / 8):.2e}") for x in range(-16, 33))
"""From 1.01 to 10001, eight to a factor of ten."""


@dataclass(frozen=True, slots=True)
class Bound:
    """What one theorem says: an epsilon at the delta asked for, or why it says nothing."""

    theorem: str
    epsilon: Fraction | None
    silent: str = ""


@dataclass(frozen=True, slots=True)
class Composition:
    """What a batch of releases costs by each theorem; `best` is the least."""

    delta: Fraction
    bounds: tuple[Bound, ...]

    @property
    def best(self) -> Bound:
        """The theorem with the smallest epsilon."""
        known = [bound for bound in self.bounds if bound.epsilon is not None]
        if not known:
            raise ParameterError(
                f"no theorem bounds the batch at delta {readable(self.delta)}",
                why="; ".join(f"{bound.theorem}: {bound.silent}" for bound in self.bounds),
                fix="compose(losses, delta=1e-6)",
            )
        return min(known, key=lambda bound: bound.epsilon or Fraction(0))

    def __str__(self) -> str:
        lines = [f"at delta {readable(self.delta)}"]
        for bound in self.bounds:
            said = bound.silent if bound.epsilon is None else f"epsilon {readable(bound.epsilon)}"
            lines.append(f"{bound.theorem:<10}{said}")
        return "\n".join(lines)


def compose(losses: Iterable[Loss], *, delta: Number = 0) -> Composition:
    """Compare what composition theorems say about releases whose costs are fixed up front.

    >>> print(compose(100 * [Loss.pure("0.1")], delta="1e-6"))
    at delta 1e-6
    basic     epsilon 10
    advanced  epsilon 5.757
    optimal   epsilon 4.775
    zCDP      epsilon 5.22
    Renyi     epsilon 5.079
    >>> compose(2 * [Loss.zcdp("0.01")], delta="1e-6").best.theorem
    'zCDP'
    """
    listed = list(losses) if isinstance(losses, Iterable) else [losses]
    strange = [type(loss).__name__ for loss in listed if not isinstance(loss, Loss)]
    if strange:
        raise ParameterError(
            f"a {strange[0]} is not a Loss",
            why="theorems compose what releases cost: release.loss, or a loss that is named",
            fix="dp.compose([dp.Loss.pure(0.1)] * 50, delta=1e-6), or dp.Loss.zcdp(0.01)",
        )
    batch = sum(listed, Loss.none())
    total = exact(delta, "delta")
    if not 0 <= total < 1:
        raise ParameterError(f"delta is {delta}", why="it lies in [0, 1)", fix="delta=1e-6")
    spare = total - batch.delta
    theorems: dict[str, Callable[[Loss, Fraction], Fraction | str]] = {
        "basic": _basic,
        "advanced": _advanced,
        "optimal": _optimal,
        "zCDP": _zcdp,
        "Renyi": _renyi,
    }
    bounds = []
    for name, theorem in theorems.items():
        found: Fraction | str = f"the releases' own deltas sum to {readable(batch.delta)}"
        if spare >= 0:
            found = theorem(batch, spare)
        bounds.append(Bound(name, None, found) if isinstance(found, str) else Bound(name, found))
    return Composition(total, tuple(bounds))


def optimal_delta(epsilon: Fraction, times: int, total: Fraction) -> Fraction:
    """Give the delta at `total` of this many pure epsilon releases, exact but rounded up.

    The hockey-stick divergence of `times` randomized responses,
    `sum_l C(k, l) (e^((k-l) epsilon) - e^(total + l epsilon))+ / (1 + e^epsilon)^k`.
    """

    def divergence(digits: int) -> Enclosure:
        answer = Enclosure.of(epsilon, digits).exp()
        all_outcomes = (answer + Enclosure.of(1, digits)).log() * Enclosure.of(times, digits)
        delta = Enclosure.of(0, digits)
        for lies in range(times + 1):
            far, near = (times - lies) * epsilon, total + lies * epsilon
            if far <= near:
                break
            weight = Enclosure.of(math.comb(times, lies), digits)
            p = (Enclosure.of(far, digits) - all_outcomes).exp()
            q = (Enclosure.of(near, digits) - all_outcomes).exp()
            delta = delta + weight * (p - q)
        return delta

    return max(Fraction(0), round_up(divergence))


def _basic(batch: Loss, spare: Fraction) -> Fraction | str:
    return batch.epsilon if isinstance(batch.epsilon, Fraction) else _NOT_PURE


def _advanced(batch: Loss, spare: Fraction) -> Fraction | str:
    if batch.concentrated:
        return _NOT_PURE
    if not spare:
        return _NEEDS_DELTA
    squares = sum((count * term.epsilon**2 for term, count in batch.terms), Fraction(0))

    def deviation(digits: int) -> Enclosure:
        # sqrt(x) = exp(log(x) / 2)
        two_log = Enclosure.of(-2, digits) * Enclosure.of(spare, digits).log()
        square = two_log * Enclosure.of(squares, digits)
        return (square.log() / Enclosure.of(2, digits)).exp()

    return batch.rho + round_up(deviation) if squares else Fraction(0)


def _optimal(batch: Loss, spare: Fraction) -> Fraction | str:
    epsilons = {term.epsilon for term, _ in batch.terms}
    if batch.concentrated:
        return _NOT_PURE
    if len(epsilons) != 1:
        return "it needs releases of one epsilon"
    if len({term.delta for term, _ in batch.terms}) != 1:
        return "it needs releases of one delta"
    ((epsilon,), times) = epsilons, sum(count for _, count in batch.terms)
    if times > _MOST_RELEASES:
        return f"it is summed term by term, for up to {_MOST_RELEASES} releases"
    own = batch.terms[0][0].delta
    # 1 - (1 - own)^k (1 - delta) <= total, with total = spare + k own
    allowed = 1 - (1 - spare - times * own) / (1 - own) ** times
    low, high = 0.0, float(times * epsilon)
    goal = float(allowed)
    for _ in range(60):
        middle = (low + high) / 2
        if _float_delta(float(epsilon), times, middle) <= goal:
            high = middle
        else:
            low = middle
    for back in range(40):  # floats may be off in the last places: step up until it is proven
        candidate = Fraction(f"{high * (1 + 1e-12 * 2**back):.12e}")
        if candidate >= times * epsilon:
            break
        if optimal_delta(epsilon, times, candidate) <= allowed:
            return candidate
    return times * epsilon


def _float_delta(epsilon: float, times: int, total: float) -> float:
    lies = range(int((times * epsilon - total) / (2 * epsilon)) + 1)
    norm = times * math.log1p(math.exp(-epsilon))
    result = 0.0
    for n in lies:
        if (gap := total - (times - 2 * n) * epsilon) < 0:
            choose = math.lgamma(times + 1) - math.lgamma(n + 1) - math.lgamma(times - n + 1)
            result -= math.exp(choose - n * epsilon - norm) * math.expm1(gap)
    return result


def _zcdp(batch: Loss, spare: Fraction) -> Fraction | str:
    return zcdp_to_epsilon(batch.rho, spare) if spare else _NEEDS_DELTA


def _renyi(batch: Loss, spare: Fraction) -> Fraction | str:
    if not spare:
        return _NEEDS_DELTA
    return min(renyi_to_epsilon(order, batch.renyi(order), spare) for order in ORDERS)


_NOT_PURE = "a release has no pure epsilon"
_NEEDS_DELTA = "it needs a delta above the releases' own"
_MOST_RELEASES = 10_000

"""From one definition of privacy to another, each step rounded against the optimist.

Renyi to approximate: if the Renyi divergence of order `a` is at most `tau` both ways, the
mechanism is (epsilon, delta)-differentially private whenever

    delta >= exp((a - 1) (tau - epsilon)) (1 - 1/a)^a / (a - 1),

(Canonne, Kamath and Steinke 2020, proposition 12). In short: with `Z` the privacy loss, delta is
at most `E[(1 - e^(epsilon - Z))+]`, and `(1 - e^(epsilon - z)) <= c e^((a-1) z)` for all z when c
is the value at the maximum, `z = epsilon + log(a / (a - 1))`. It is the best that the moment alone
gives. Asoodeh et al. 2020 also use that both laws add up to 1. At the orders that `order_for`
picks that would lower epsilon by less than one part in 10^5 at delta 1e-6 (and by less than one in
a hundred at delta 1e-3), and it has no closed form to certify, so it is left out.

Searches for a good order or the largest epsilon run in floats; what they find is then *checked*
in certified arithmetic, so a poor search costs accuracy and never privacy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from dpframe.budget.enclosure import Enclosure, round_up
from dpframe.budget.loss import Loss


def renyi_to_epsilon(order: Fraction, renyi: Fraction, delta: Fraction) -> Fraction:
    """Give the epsilon at this delta of a mechanism with this Renyi loss, rounded up.

    >>> float(renyi_to_epsilon(Fraction(22), Fraction(1, 2), Fraction(1, 10**6)))
    0.9641...
    """
    return max(Fraction(0), renyi + round_up(lambda digits: _conversion(order, delta, digits)))


def renyi_level(order: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """Give the largest Renyi loss at `order` that implies (epsilon, delta), rounded down.

    It is negative if no loss at this order does.
    """
    return epsilon - round_up(lambda digits: _conversion(order, delta, digits))


def renyi_to_delta(order: Fraction, renyi: Fraction, epsilon: Fraction) -> Fraction:
    """Give the delta at this epsilon of a mechanism with this Renyi loss, rounded up."""

    def delta(digits: int) -> Enclosure:
        shrink = Enclosure.of(1 - 1 / order, digits).log() * Enclosure.of(order, digits)
        moment = Enclosure.of((order - 1) * (renyi - epsilon), digits)
        return (moment + shrink).exp() / Enclosure.of(order - 1, digits)

    if (order - 1) * (renyi - epsilon) > 10**6:  # no promise is left, and exp would overflow
        return Fraction(1)
    return min(Fraction(1), round_up(delta))


def zcdp_to_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Give the epsilon at this delta of a rho-zCDP mechanism, rounded up.

    >>> float(zcdp_to_epsilon(Fraction(1, 10), Fraction(1, 10**6)))
    2.1419...
    """
    if not rho:
        return Fraction(0)
    small, log_inverse = float(rho), _log_inverse(delta)
    order = _search(lambda a: a * small + _float_conversion(a, log_inverse))
    return renyi_to_epsilon(order, order * rho, delta)


def zcdp_to_delta(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Give the delta at this epsilon of a rho-zCDP mechanism, rounded up."""
    if not rho:
        return Fraction(0)
    small, e = float(rho), float(epsilon)

    def log_delta(a: float) -> float:
        return (a - 1) * (a * small - e) + a * math.log1p(-1 / a) - math.log(a - 1)

    order = _search(log_delta)
    return renyi_to_delta(order, order * rho, epsilon)


def order_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Choose the Renyi order whose level for (epsilon, delta) holds the most Gaussian releases.

    A Gaussian release loses `a rho` at order a, so the room in rho is `level(a) / a`.

    >>> order = order_for(Fraction(1), Fraction(1, 10**6))
    >>> float(order), float(renyi_level(order, Fraction(1), Fraction(1, 10**6)) / order)
    (21.98, 0.02435...)
    """
    e, log_inverse = float(epsilon), _log_inverse(delta)
    return _search(lambda a: (_float_conversion(a, log_inverse) - e) / a)


def largest_epsilon_in_rho(rho: Fraction) -> Fraction:
    """Give the largest pure epsilon whose zCDP loss is at most `rho`, rounded down.

    >>> float(largest_epsilon_in_rho(Fraction(1, 100)))
    0.1415...
    """
    r = max(float(rho), 0.0)
    # epsilon tanh(epsilon / 2) is at least epsilon - 0.56, so the answer is below the second end.
    return _largest(
        lambda e: e * math.tanh(e / 2), lambda e: Loss.pure(e).rho, rho, r + math.sqrt(2 * r) + 1
    )


@lru_cache(maxsize=256)  # a release asks for the room before it and, twice, for that after it
def largest_epsilon_in_renyi(order: Fraction, renyi: Fraction) -> Fraction:
    """Give the largest pure epsilon whose Renyi loss at `order` is at most `renyi`, rounded down.

    >>> float(largest_epsilon_in_renyi(Fraction(22), Fraction(1, 10)))
    0.1298...
    """
    a = float(order)

    def loss(e: float) -> float:
        return (_log_cosh(e * (a - 0.5)) - _log_cosh(e / 2)) / (a - 1)

    # D_a is at least epsilon - log(2) / (a - 1).
    high = max(float(renyi), 0.0) + math.log(2) / (a - 1)
    return _largest(loss, lambda e: Loss.pure(e).renyi(order), renyi, high)


def _conversion(order: Fraction, delta: Fraction, digits: int) -> Enclosure:
    """Enclose what epsilon exceeds the Renyi loss by."""
    order_, less = Enclosure.of(order, digits), Enclosure.of(order - 1, digits)
    shrink = Enclosure.of(1 - 1 / order, digits).log()
    return shrink - (Enclosure.of(delta, digits).log() + order_.log()) / less


def _float_conversion(a: float, log_inverse_delta: float) -> float:
    return math.log1p(-1 / a) + (log_inverse_delta - math.log(a)) / (a - 1)


def _log_inverse(delta: Fraction) -> float:
    return math.log(delta.denominator) - math.log(delta.numerator)


def _log_cosh(x: float) -> float:
    if x < 1:
        return math.log1p(2 * math.sinh(x / 2) ** 2)
    return x - math.log(2) + math.log1p(math.exp(-2 * x))


def _search(cost: Callable[[float], float]) -> Fraction:
    """Find an order of four digits (less 1) near the least cost: a scan, then golden sections."""
    points = [10 ** (x / 8) for x in range(-64, 97)]
    best = min(range(len(points)), key=lambda i: cost(1 + points[i]))
    low = math.log(points[max(best - 1, 0)])
    high = math.log(points[min(best + 1, len(points) - 1)])
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(40):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if cost(1 + math.exp(left)) < cost(1 + math.exp(right)):
            high = right
        else:
            low = left
    return 1 + Fraction(f"{math.exp((low + high) / 2):.3e}")


def _largest(
    estimate: Callable[[float], float],
    certified: Callable[[Fraction], Fraction],
    room: Fraction,
    high: float,
) -> Fraction:
    """Find the largest epsilon of twelve digits whose certified cost fits the room, or nearly."""
    low, target = 0.0, float(room)
    for _ in range(80):
        middle = (low + high) / 2
        if estimate(middle) <= target:
            low = middle
        else:
            high = middle
    for doubling in range(40):
        # Floats may be off by a few units in the last place: step back until it is proven.
        candidate = Fraction(f"{low * (1 - 1e-12 * (2**doubling - 0.5)):.11e}")
        if candidate <= 0:
            break
        if certified(candidate) <= room:
            return candidate
    return Fraction(0)

"""Accuracy both ways: the error at given parameters, and the least cost for a wanted error.

Each mechanism states its own error, because each has its own theorem: `Law.half_width` for added
noise, `error` for selection, top-k, sparse vector and randomized response, `units_for` for
partition selection; with `for_half_width`, `for_error` and `for_units` the other way round. Here is
what they share, and the number of rows that makes a mean accurate.

Failure probabilities are floats, rounded up. Privacy does not depend on them; error bars do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from dpframe.errors import ParameterError
from dpframe.mechanisms.law import Law
from dpframe.mechanisms.scales import check_cost, check_count

_FEWEST = Fraction(1, 1 << 100)
_MOST = Fraction(1 << 300)
"""Costs that are searched. Beyond them a mechanism is all noise, or none."""

_STEPS = 30
_MOST_ANSWERS = 1 << 1000
"""More is as many, and floats would not hold the failures."""


def allowed_failure(confidence: float, answers: int = 1) -> float:
    """Return how often each of several independent answers may fail, rounded down.

    All of them hold with probability `confidence` if each fails with at most this one.

    >>> allowed_failure(0.5), allowed_failure(0.5, answers=10)
    (0.49999..., 0.06696...)
    """
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise ParameterError(
            f"confidence is {confidence!r}, not a float strictly between 0 and 1",
            why="noise is unbounded: it stays within no bound for certain",
            fix="confidence=0.95",
        )
    count = min(check_count("answers", answers, least=1), _MOST_ANSWERS)
    return -math.expm1(math.log(confidence) / count) * (1 - 2.0**-50)


def rounded_up(failure: float) -> float:
    """Return a probability that is certainly above one computed in a dozen floating operations."""
    return min(1.0, math.nextafter(failure * (1 + 2.0**-40), 2.0))


def least_that(meets: Callable[[int], bool], start: int = 0) -> int:
    """Return the least integer of at least `start` that meets a bound which all larger ones meet.

    >>> least_that(lambda n: n * n >= 200)
    15
    """
    low, high, step = start - 1, start, 1
    while not meets(high):
        low, high, step = high, high + step, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def least_cost(meets: Callable[[Fraction], bool]) -> Fraction:
    """Return the least epsilon or rho that meets a bound which all larger ones meet.

    Within one part in 2**30, and never too small.

    >>> cost = least_cost(lambda epsilon: epsilon >= Fraction(1, 3))
    >>> cost >= Fraction(1, 3), float(cost)
    (True, 0.33333333...)
    """
    cost = Fraction(1)
    while not meets(cost):
        cost *= 2
        if cost > _MOST:
            raise ParameterError(
                "no cost buys this accuracy",
                why="the mechanism misses it even with the least noise there is",
                fix="ask for a larger error, more units or a lower confidence",
            )
    while cost > _FEWEST and meets(cost / 2):
        cost /= 2
    if cost <= _FEWEST:
        return cost
    step = cost / 4
    for _ in range(_STEPS):
        if meets(cost - step):
            cost -= step
        step /= 2
    return cost


def rows_for_mean(
    noise: Law,
    error: Fraction | int,
    confidence: float,
    *,
    count_noise: Law | None = None,
    largest: int | None = None,
    answers: int = 1,
) -> int:
    """Return the fewest rows n at which a mean is within `error` of the mean of the n rows.

    The mean is a sum with `noise` over n where n is public. Where it is not, it is a sum with
    `noise` over a count with `count_noise`, and no value is larger than `largest` in size (values
    are coded around the middle of their range). Then with `|Y| <= y` and `|Z| <= z < n` for the
    noise of the sum S and of the count,

        |(S + Y) / (n + Z) - S / n|  =  |Y - Z S / n| / (n + Z)  <=  (y + z largest) / (n - z).

    All numbers are in grid units. The bound covers noise, not the sampling of rows.

    >>> from dpframe.mechanisms import DiscreteLaplace
    >>> noise = DiscreteLaplace.for_epsilon(Fraction(1, 10), l1_sensitivity=100)
    >>> rows_for_mean(noise, 1, 0.95)  # a mean of values in 0 .. 100, to within 1
    2996
    """
    wanted = check_cost("error", error)
    if count_noise is None:
        return max(1, math.ceil(noise.half_width(confidence, answers) / wanted))
    if largest is None:
        raise ParameterError(
            "count_noise is given, but not the largest value",
            why="a wrong count moves the mean by as much as the values are large",
            fix="rows_for_mean(noise, 1, 0.95, count_noise=noise, largest=50)",
        )
    size = check_count("largest", largest, least=0)
    # Both noises stay within their width with the square root of the confidence each.
    allowed_failure(confidence)
    each = math.nextafter(math.sqrt(confidence), 1.0)
    y, z = noise.half_width(each, answers), count_noise.half_width(each, answers)
    return max(1, z + math.ceil((y + z * size) / wanted))

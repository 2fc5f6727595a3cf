"""Exact coins: events whose probability is a rational, or the exponential of one.

A coin is decided by comparing uniform bits with its probability, most significant bits first, and
by asking for more bits while the comparison is open. Integers only; no rounding, no modulo.
"""

from __future__ import annotations

from dpframe.errors import ParameterError
from dpframe.mechanisms.source import Source

_WORD = 64


def uniform_below(count: int, source: Source) -> int:
    """Draw an integer from `range(count)`, each with the same chance.

    >>> uniform_below(1, Source())
    0
    """
    if count < 1:
        raise ParameterError(
            f"no integer lies in range({count})",
            why="a uniform draw needs at least one candidate",
            fix="uniform_below(1, source)",
        )
    width = (count - 1).bit_length()
    while (draw := source.bits(width)) >= count:
        pass
    return draw


def bernoulli(p: int, q: int, source: Source) -> bool:
    """Return True with probability `p/q`; certain from `p/q = 1` upwards, impossible at 0.

    >>> bernoulli(0, 3, Source()), bernoulli(3, 3, Source())
    (False, True)
    """
    _check_ratio(p, q)
    return _coin(p, q, source)


def bernoulli_exp(p: int, q: int, source: Source) -> bool:
    """Return True with probability `exp(-p/q)`, for any `p/q >= 0`.

    Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020),
    algorithm 1, after von Neumann.

    >>> bernoulli_exp(0, 1, Source())
    True
    """
    _check_ratio(p, q)
    while p > q:
        if not alternate(1, 1, 1, source):
            return False
        p -= q
    return alternate(p, q, 1, source)


def alternate(p: int, q: int, k: int, source: Source) -> bool:
    """Continue von Neumann's series for `exp(-p/q)`, `0 <= p/q <= 1`, from its k-th coin on.

    With `x = p/q`, coin k succeeds with probability `x/k`; the first failure at an odd k means
    True. The first k - 1 coins all succeed with probability `x**(k-1)/(k-1)!`, so from k = 1 the
    chance of True is `(1 - x) + (x**2/2 - x**3/6) + ... = exp(-x)`.
    """
    while _coin(p, q * k, source):
        k += 1
    return k % 2 == 1


def _coin(p: int, q: int, source: Source) -> bool:
    # The uniform variate U lies in [u, u + 1) / 2**width. Compare it with p/q.
    u, width = source.bits(_WORD), _WORD
    while True:
        below = (p << width) - u * q
        if below <= 0:
            return False
        if below >= q:
            return True
        u = u << _WORD | source.bits(_WORD)
        width += _WORD


def _check_ratio(p: int, q: int) -> None:
    if p < 0 or q <= 0:
        raise ParameterError(
            f"{p}/{q} is not a ratio of at least 0",
            why="a coin's probability is p/q or exp(-p/q)",
            fix="bernoulli(1, 2, source)",
        )

"""What the discrete Laplace and the discrete Gaussian have in common.

A law is the distribution of one integer of noise, symmetric about 0. Draws are exact. The accuracy
figures (`variance`, `tail`, `half_width`) are floats: they describe the discrete law itself, not a
continuous cousin, and tails and widths are rounded up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from operator import index
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dpframe.errors import ParameterError
from dpframe.mechanisms.scales import (
    LARGEST_SCALE,
    LEAST_SCALE,
    check_count,
    floor_log2,
)
from dpframe.mechanisms.source import Pool, Source

_VECTOR_SCALE = 1 << 57
"""Below this, `32 * scale` fits in a signed 64-bit integer with a bit to spare."""

_SHORT = 6
"""Draws up to which Python integers are quicker than the call overhead of arrays."""

_CHUNK = 1 << 14
"""Lanes worked on at once: the arrays of a chunk stay in the processor's cache."""

_MOST_ANSWERS = 1 << 63


class Law(ABC):
    """A symmetric distribution on the integers, drawn exactly."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of one draw."""

    @abstractmethod
    def tail(self, t: int) -> float:
        """Return `P(|Z| > t)`, rounded up."""

    @abstractmethod
    def lead_tail(self, t: int) -> float:
        """Bound `P(Z1 - Z2 > t)` for two independent draws, rounded up."""

    def lead(self, failure: float) -> int:
        """Return a t that the difference of two draws exceeds with at most this probability.

        It is how far the value behind a larger noisy one may be below another.

        >>> from dpframe.mechanisms import DiscreteLaplace
        >>> DiscreteLaplace(Fraction(10)).lead(0.05)
        33
        """
        low, high = -1, max(1, round(math.sqrt(2 * self.variance)))
        while self.lead_tail(high) > failure:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.lead_tail(middle) > failure else (low, middle)
        return high

    def draw(self, n: int, source: Source) -> NDArray[Any]:
        """Return n independent draws, as int64 unless one of them does not fit.

        In that case the array holds Python integers (dtype object); nothing wraps around.

        >>> from dpframe.mechanisms import DiscreteLaplace
        >>> DiscreteLaplace(Fraction(3)).draw(5, Source()).dtype
        dtype('int64')
        """
        n = check_count("n", n, least=0)
        if n <= _SHORT or self._scale >= _VECTOR_SCALE:
            pool = Pool(source)
            return as_integers(self._one(pool) for _ in range(n))
        parts: list[NDArray[Any]] = []
        missing = n
        while missing:
            # A few spare lanes make a second round unlikely. Lanes are independent and kept in
            # order, so dropping the surplus favours no value.
            wanted = missing / self._acceptance
            lanes = min(_CHUNK, int(wanted + 3 * math.sqrt(wanted)) + 1)
            part = self._batch(lanes, source)[:missing]
            parts.append(part)
            missing -= part.size
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def add(self, values: Sequence[int] | NDArray[Any], source: Source) -> list[int]:
        """Return each value plus fresh noise, as exact Python integers of any size.

        >>> from dpframe.mechanisms import DiscreteLaplace
        >>> DiscreteLaplace(Fraction(1, 1024)).add([10**30, 7], Source())
        [1000000000000000000000000000000, 7]
        """
        exact = _exact_integers(values)
        noise = self.draw(len(exact), source).tolist()
        return [value + z for value, z in zip(exact, noise, strict=True)]

    def half_width(self, confidence: float, answers: int = 1) -> int:
        """Return the least w such that all of `answers` draws lie in [-w, w] with `confidence`.

        Draws are independent, so that probability is the exact product `(1 - tail(w))**answers`;
        there is no union bound. Tails are rounded up by less than one part in 2**30 (where they
        exceed 1e-12), so the result may be above the least w where two tails are that close.

        >>> from dpframe.mechanisms import DiscreteLaplace
        >>> noise = DiscreteLaplace(Fraction(10))
        >>> noise.half_width(0.95), noise.half_width(0.95, answers=100)
        (30, 76)
        """
        allowed = _allowed_tail(confidence, answers)
        # Gallop from a guess to a bracket, then bisect: tail(low) > allowed >= tail(high).
        high, step = max(0, self._guess(allowed)), 1
        while self.tail(high) > allowed:
            high, step = high + step, 2 * step
        low, step = high - 1, 1
        while low >= 0 and self.tail(low) <= allowed:
            high, low, step = low, low - step, 2 * step
        low = max(low, -1)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.tail(middle) > allowed else (low, middle)
        return high

    @classmethod
    def for_half_width(cls, error: int, confidence: float, answers: int = 1) -> Self:
        """Return the law that costs least among those with a `half_width` of at most `error`.

        That is the one with the largest scale: accuracy comes first, and the loss follows from it.
        The scale is within one part in 2**30 of the largest.

        >>> from dpframe.mechanisms import DiscreteLaplace
        >>> noise = DiscreteLaplace.for_half_width(30, 0.95)
        >>> noise.half_width(0.95), float(noise.scale)
        (30, 10.18...)
        """
        error = check_count("error", error, least=0)
        allowed = _allowed_tail(confidence, answers)

        def meets(scale: Fraction) -> bool:
            return cls._of_scale(scale).tail(error) <= allowed

        # The largest power of two that meets it, starting from a guess, then 30 further bits.
        guess = (error + 1) / Fraction(max(1.0, -math.log(allowed)))
        scale = Fraction(2) ** floor_log2(min(max(guess, LEAST_SCALE), LARGEST_SCALE))
        while scale > LEAST_SCALE and not meets(scale):
            scale /= 2
        while scale < LARGEST_SCALE and meets(2 * scale):
            scale *= 2
        step = scale / 2
        while scale < LARGEST_SCALE and step * (1 << 30) >= scale:
            scale = scale + step if meets(scale + step) else scale
            step /= 2
        return cls._of_scale(scale)

    # What a law must define besides.

    @classmethod
    @abstractmethod
    def _of_scale(cls, scale: Fraction) -> Self: ...

    @property
    @abstractmethod
    def _scale(self) -> Fraction: ...

    @property
    @abstractmethod
    def _acceptance(self) -> float:
        """Roughly which share of lanes `_batch` accepts; it sizes batches, no more."""

    @abstractmethod
    def _guess(self, allowed: float) -> int:
        """Guess the w with `tail(w) = allowed`; it saves time, no more."""

    @abstractmethod
    def _attempt(self, source: Source) -> int | None:
        """Propose one variate in Python integers; None if it is rejected."""

    @abstractmethod
    def _batch(self, lanes: int, source: Source) -> NDArray[Any]:
        """Make `lanes` independent attempts in arrays and return the accepted ones in order."""

    def _one(self, source: Source) -> int:
        while (z := self._attempt(source)) is None:
            pass
        return z


def as_integers(values: Iterable[int]) -> NDArray[Any]:
    """Return an int64 array, or an array of Python integers if one of them does not fit."""
    values = list(values)
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return np.array(values, dtype=object)


def _exact_integers(values: Sequence[int] | NDArray[Any]) -> list[int]:
    try:
        return [index(v) for v in (values.tolist() if isinstance(values, np.ndarray) else values)]
    except TypeError:
        pass
    # Raised here, outside the handler, because the original names the type of a private value.
    raise ParameterError(
        "noise was asked for on values that are not integers",
        why="the noise lives on the integers, and rounding a value would change its sensitivity",
        fix="law.add([3, 1, 4], source)",
    )


def _allowed_tail(confidence: object, answers: object) -> float:
    """Return the largest tail of one draw that leaves `confidence` for all answers, rounded down."""
    if not isinstance(confidence, float) or not 0 < confidence < 1:
        raise ParameterError(
            f"confidence is {confidence!r}, not a float strictly between 0 and 1",
            why="noise is unbounded: it stays within no width for certain",
            fix="confidence=0.95",
        )
    count = check_count("answers", answers, least=1)
    if count > _MOST_ANSWERS:
        raise ParameterError(
            "answers is over 2**63",
            why="nobody reads that many, and floats do not hold their tails",
            fix="answers=1",
        )
    return -math.expm1(math.log(confidence) / count) * (1 - 2.0**-50)

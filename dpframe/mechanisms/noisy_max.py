"""Report noisy max with discrete Laplace noise."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from dpframe.mechanisms.accuracy import rounded_up
from dpframe.mechanisms.choices import one_of_each
from dpframe.mechanisms.inputs import add_exactly
from dpframe.mechanisms.lanes import Integers
from dpframe.mechanisms.laplace import DiscreteLaplace
from dpframe.mechanisms.selection import Selection
from dpframe.mechanisms.source import Source


class NoisyMax(Selection):
    """Add discrete Laplace noise to every score, and report which is largest; ties are drawn.

    Dwork and Roth 2014, section 3.3; `selection` proves it for integers with ties.
    Permute-and-flip is more accurate at the same cost: this one is here for comparison.

    >>> from fractions import Fraction
    >>> best = NoisyMax(Fraction(1, 10), sensitivity=1, monotone=True)
    >>> print(best.scale, best.loss, best.error(0.95, candidates=100))
    10 epsilon 0.1 86
    """

    def failure(self, error: int, candidates: int) -> float:
        """Bound the chance of missing the best score by more than `error`.

        Some rival's noise has to exceed that of the best candidate by `t = error + 1`: a union
        bound over the rivals. With `q = exp(-1/scale)` the difference D of two draws has
        `P(D = d) = ((1 - q) / (1 + q))**2 q**d (d + (1 + q**2) / (1 - q**2))`, which sums to the
        tail below.
        """
        decay, t = self._decay(error, candidates), min(error + 1, 1 << 1000)
        x = float(1 / self.scale)
        q, less = math.exp(-x), -math.expm1(-x)
        offset = (1 + q * q) / -math.expm1(-2 * x)
        tail = decay * ((t + offset) * less + q) / (1 + q) ** 2
        return rounded_up((candidates - 1) * tail)

    def _choose(self, gaps: NDArray[Any], source: Source) -> Integers:
        noise = DiscreteLaplace(self.scale).draw(gaps.size, source).reshape(gaps.shape)
        noisy = add_exactly(noise, -gaps)
        return one_of_each(noisy == noisy.max(axis=1, keepdims=True), source)

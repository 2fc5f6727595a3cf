"""Deterministic sources, exact probabilities by enumeration, and goodness of fit."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats
from streams import Stream

from dpframe.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    Source,
    coins,
    cuts,
    exponential,
)


class Exhausted(Exception):
    """A scripted source ran out of bits."""


class Script(Source):
    """Exactly the bits it is given, then `Exhausted`."""

    def __init__(self, bits: str) -> None:
        self._bits = bits
        self._at = 0

    def bits(self, count: int) -> int:
        end = self._at + count
        if end > len(self._bits):
            raise Exhausted
        taken, self._at = self._bits[self._at : end], end
        return int(taken, 2) if count else 0

    def take(self, count: int) -> bytes:
        return self.bits(8 * count).to_bytes(count, "big")


@pytest.fixture
def stream() -> Callable[[int], Source]:
    return Stream


@pytest.fixture
def script() -> Callable[[str], Source]:
    return Script


@pytest.fixture
def explore() -> Callable[..., tuple[dict[Hashable, Fraction], Fraction]]:
    """Run a draw on every bit string, shortest first, for a number of runs.

    Returns the probability of each outcome among the strings that ended, and the probability of
    those that did not: the true probability of x lies in [found[x], found[x] + left].
    """

    def explore(draw: Callable[[Source], Hashable], runs: int):
        found: dict[Hashable, Fraction] = {}
        queue: list[tuple[int, str]] = [(0, "")]
        for _ in range(runs):
            if not queue:
                break
            length, bits = heapq.heappop(queue)
            try:
                outcome = draw(Script(bits))
            except Exhausted:
                for bit in "01":
                    heapq.heappush(queue, (length + 1, bits + bit))
            else:
                found[outcome] = found.get(outcome, Fraction(0)) + Fraction(1, 2**length)
        return found, 1 - sum(found.values(), Fraction(0))

    return explore


@pytest.fixture
def one_bit_words(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Shrink every word and cell, so that all strings of random bits can be enumerated.

    Comparisons ask for one bit at a time, cells are 1/2 wide and there are six of them, and one
    digit follows at a time. The code is the same.
    """
    cuts.cut.cache_clear()
    for module in (cuts, exponential):
        monkeypatch.setattr(module, "CELL_BITS", 1)
    monkeypatch.setattr(cuts, "CELLS", 6)
    monkeypatch.setattr(coins, "_WORD", 1)
    monkeypatch.setattr(exponential, "FIRST_BITS", 1)
    monkeypatch.setattr(exponential, "_NEXT_BITS", 1)
    table = cuts.Table(1)
    monkeypatch.setattr(exponential, "table", lambda: table)
    yield
    cuts.cut.cache_clear()


def cdf(law: Law, z: np.ndarray) -> np.ndarray:
    """Return `P(Z <= z)`, from formulas that the library does not use."""
    z = np.asarray(z, dtype=float)
    if isinstance(law, DiscreteLaplace):
        b = float(law.scale)
        upper = np.exp(-(z + 1) / b) / (1 + math.exp(-1 / b))
        with np.errstate(over="ignore"):
            lower = np.exp(z / b) / (1 + math.exp(-1 / b))
        return np.where(z >= 0, 1 - upper, lower)
    assert isinstance(law, DiscreteGaussian)
    sigma = float(law.sigma)
    if sigma > 2000:
        return special.ndtr((z + 0.5) / sigma)
    reach = int(12 * sigma) + 12
    weights = np.exp(-((np.arange(-reach, reach + 1) / sigma) ** 2) / 2)
    total = np.concatenate([[0.0], np.cumsum(weights)]) / weights.sum()
    return total[np.clip(np.floor(z) + reach + 1, 0, 2 * reach + 1).astype(int)]


@pytest.fixture
def fit() -> Callable[[Law, np.ndarray], float]:
    """Return the p-value of a chi-square test of draws against their law, tails included."""

    def fit(law: Law, draws: np.ndarray) -> float:
        sd = math.sqrt(law.variance)
        rough = np.linspace(-9, 9, 73) * sd
        edges = np.unique(np.floor(np.concatenate([rough, np.arange(-12, 12)])))
        inside = cdf(law, edges)
        # Merge cells until each expects at least 12 draws.
        kept, last = [], 0.0
        for edge, p in zip(edges, inside, strict=True):
            if (p - last) * len(draws) >= 12 and (1 - p) * len(draws) >= 12:
                kept.append(edge)
                last = p
        assert kept, "too few draws for two cells"
        expected = np.diff(np.concatenate([[0.0], cdf(law, np.array(kept)), [1.0]])) * len(draws)
        cells = np.searchsorted(np.array(kept), draws.astype(float), side="left")
        counts = np.bincount(cells, minlength=len(kept) + 1)
        return float(stats.chisquare(counts, expected).pvalue)

    return fit

"""Where rows below an edge come to be enough: what noisy counts at a few edges say of that.

Edges rise, and so does the gap at each of them: the rows below, less those that there should be. A
quantile lies in the cell that ends with the first edge whose gap is 0 or more. Gaps are known with
normal noise of known covariances C.

*The test.* Say that the quantile lies in the cell that ends with edge j. Then no gap up to j is
larger than its noise less the rows r[i] between i and j. So the largest gap up to j, in deviations,
`M = max over i <= j of gap[i] / deviation[i]`, is below m with a probability of at most

    P(noise[i] - r[i] <= m * deviation[i] for all i <= j) = Phi(m) * P(the same for i < j | that for j),

because then the gap at j is not below its noise.
Where this is small at the M that was seen, the quantile lies further right. With `Phi(m)` alone it
would be a test as well, that of one edge, and the right one where the rows before j are many. But
where cells are nearly empty, all of them have to fall behind by chance at once, which is rarer: the
bars would cover more than they say. What lies between edges is known far better than the gaps
themselves, because the noise of all other cells cancels, so r is taken from the counts. They have
noise as well, so the test is no longer exact: where 5% are stated, simulated rates are between 0.6%
next to many empty cells, and 6.5% next to heaps of a few deviations of a count. From the other side
the same holds, mirrored.

Nothing is assumed of how rows lie in a cell, so gaps and heaps do no harm. Edges may be left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BAND = 10
"""How many edges before j are looked at. Those further off matter less; without them, bars are wider."""

_DRAWS = 64
_MOST_SCORE = 6.0
_GROUPS = 64
"""Groups worked on at a time."""


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps at edges, a row for each group, and their noise."""

    gaps: Floats
    sure: Floats
    """-inf or inf at edges that all rows lie to one side of, whatever the noise; else 0."""
    covariances: Floats
    """A matrix for each group."""

    @property
    def deviations(self) -> Floats:
        """Of the noise at each edge."""
        return _deviations(self.covariances)

    def scores(self) -> tuple[Floats, Floats]:
        """For each edge, two normal scores that rise along the edges.

        The first one is low where the quantile lies right of the cell that ends there; the second
        one is high where it lies left of the cell that starts there.
        """
        found = [self._part(i) for i in range(0, len(self.gaps), _GROUPS)]
        if not found:
            return self.gaps, self.gaps
        left, right = zip(*found, strict=True)
        return np.concatenate(left), np.concatenate(right)

    def _part(self, start: int) -> tuple[Floats, Floats]:
        some = slice(start, start + _GROUPS)
        gaps, sure, shared = self.gaps[some], self.sure[some], self.covariances[some]
        noise = _noise(shared)
        left = _behind(gaps, sure, shared, noise)
        right = -_behind(-gaps[:, ::-1], -sure[:, ::-1], shared[:, ::-1, ::-1], noise[:, :, ::-1])
        rising = np.maximum.accumulate(left, axis=1)
        falling: Floats = np.minimum.accumulate(right, axis=1)[:, ::-1]
        return rising, falling


def _behind(gaps: Floats, sure: Floats, shared: Floats, noise: Floats) -> Floats:
    """The normal score of the probability in the module's docstring, at each edge."""
    deviations = _deviations(shared)
    tested = (sure == 0) & (deviations > 0)
    safe = np.where(tested, deviations, 1.0)
    fixed = np.where(gaps == 0, 0.0, np.copysign(_MOST_SCORE, gaps))
    fixed = np.where(sure == 0, fixed, np.copysign(_MOST_SCORE, sure))
    scores = np.where(tested, gaps / safe, fixed).clip(-_MOST_SCORE, _MOST_SCORE)
    most = np.maximum.accumulate(scores, axis=1)
    # Only edges that may end an interval need more than the probability of one edge.
    group, edge = ((most < 0) & (most > -_MOST_SCORE) & tested).nonzero()
    seen, own = most[group, edge], safe[group, edge]
    of_one = log_phi(seen)
    # Noise at the edge, given that it is below what was seen; and what else moves those before it.
    below = _normal(np.log(_CHANCES) + of_one[:, None]) * own[:, None]
    drawn = noise[group, :, edge]
    holds = np.ones(below.shape, dtype=bool)
    for step in range(1, min(_BAND, gaps.shape[1] - 1) + 1):
        before = np.maximum(edge - step, 0)
        slope = (shared[group, before, edge] / own**2)[:, None]
        moved = slope * (below - drawn) + noise[group, :, before]
        rows = np.maximum(gaps[group, edge] - gaps[group, before], 0)
        limit = rows + seen * safe[group, before]
        counts = (edge >= step) & tested[group, before]
        holds &= (moved <= limit[:, None]) | ~counts[:, None]
    rarer = (holds.sum(axis=1) + 0.5) / (_DRAWS + 0.5)
    found: Floats = most.copy()
    found[group, edge] = _normal(of_one + np.log(rarer))
    return found


def _deviations(covariances: Floats) -> Floats:
    found: Floats = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return found


def _noise(covariances: Floats) -> Floats:
    """Noise as it may be at the edges of each group, always from the same normal numbers.

    These need not be random, only scattered: whoever asks for the bars again gets the same ones.
    """
    edges = covariances.shape[1]
    points = np.add.outer(12.9898 * np.arange(1, _DRAWS + 1), 78.233 * np.arange(1, edges + 1))
    normals = _normal(np.log((np.sin(points) * 43758.5453 % 1).clip(1e-9, 1)))
    normals = (normals - normals.mean(axis=0)) / normals.std(axis=0)
    largest = np.max(covariances, axis=(1, 2), keepdims=True, initial=0.0)
    rounding = np.where(largest > 0, largest, 1.0) * 1e-9 * np.eye(edges)
    found: Floats = normals @ np.linalg.cholesky(covariances + rounding).transpose(0, 2, 1)
    return found


_CHANCES = (np.arange(_DRAWS) * 37 % _DRAWS + 0.5) / _DRAWS
_PLACES = np.linspace(-12, 12, 4801)
_LOGS = np.array([math.log(math.erfc(-z / math.sqrt(2)) / 2) for z in _PLACES.tolist()])


def log_phi(scores: Floats) -> Floats:
    """The logarithm of the chance that a normal number is below each of these."""
    found: Floats = np.interp(scores, _PLACES, _LOGS)
    return found


def _normal(logs: Floats) -> Floats:
    found: Floats = np.interp(logs, _LOGS, _PLACES)
    return found

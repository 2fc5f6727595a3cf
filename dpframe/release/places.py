"""Places on grids for error bars: where they may be, as far as the noise of the counts leaves it open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from dpframe.aggregates.base import Place
from dpframe.mechanisms import Source
from dpframe.release.noisy import NoisyParts

_ALONE = 0.7
"""The share of a tail, at the most, for tests of each score by itself; the rest is for their sum.

Much of what the former refute the sum refutes, too, so it keeps more than that. With half of the tail,
bars among heaps are up to a third wider; with nine tenths, those of spread rows are.
"""


class Spans(NamedTuple):
    """For each draw and group, the ends of the cells that a place may lie in."""

    first: np.ndarray
    last: np.ndarray
    likely_first: np.ndarray
    """The same, where heaps are seen; else where the place lies if rows are even."""
    likely_last: np.ndarray
    normals: np.ndarray

    def outer(self) -> np.ndarray:
        """For draws below the middle of the noise the first end, else the last one.

        Whatever rises with the place alone has the quantiles of these as its interval.
        """
        return np.where(self.normals < 0, self.first, self.last)


class Score(NamedTuple):
    """Something that moves a column: for each redraw and group, a normal number and the column."""

    normals: np.ndarray
    values: np.ndarray

    @classmethod
    def of_values(cls, values: np.ndarray) -> Score:
        """The score of all other noise, from redraws of the column that has no other."""
        away = values - np.median(values, axis=0)
        deviations = away.std(axis=0)
        return cls(away / np.where(deviations > 0, deviations, 1), values)

    def weight(self) -> np.ndarray:
        """How far the column moves with it, for each group: over its middle 90%, up or down."""
        order = np.argsort(self.normals, axis=0)
        first, last = (round(share * (len(order) - 1)) for share in (0.05, 0.95))
        ends = (np.take_along_axis(self.values, order[[at]], axis=0)[0] for at in (last, first))
        high, low = ends
        moved: np.ndarray = high - low
        return moved


def not_refuted(
    low: np.ndarray, high: np.ndarray, scores: Sequence[Score], tail: float
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of a column of several places over all redraws that the noise does not refute.

    Quantiles of redraws are not enough. Of two places that each lie at one or the other end of a
    gap, with chances of 1 to 5, both are at the less likely end in 1 of 36 redraws, and yet they
    may well be there: what is drawn around measured places is no probability of true ones. So
    redraws are tested. Scores of the true places are normal numbers with known correlations, and so
    is their sum with any weights. Weights are how far each moves the column: then where it moves
    evenly, the sum says how far the column itself is off. Redraws in which a place by itself is
    refuted are left out as well. Scores of redraws have the same law as those of the true places,
    so how often one test or the other refutes what is true is counted on them: for each end, in the
    direction that matters, a share of `tail`, however rows lie. Weights are looked for on the redraws
    as well, which have noise: where 5% are stated, simulated rates reach 6%. Where rows lie evenly,
    what is left covers more: it also holds places that are wrong in ways which cancel.
    """
    scores = [score for score in scores if score.normals.any()]  # others have no noise to tell of
    farthest = -NormalDist().inv_cdf(tail * _ALONE / max(1, len(scores)))
    weights = [score.weight() for score in scores]
    total = sum(score.normals * weight for score, weight in zip(scores, weights, strict=True))
    inside = np.all([np.abs(score.normals) <= farthest for score in scores], axis=0)
    found = []
    for values, side in ((low, -1), (high, 1)):
        ways = [np.where(weight < 0, -side, side) for weight in weights]
        alone = np.any(
            [way * score.normals > farthest for score, way in zip(scores, ways, strict=True)],
            axis=0,
        )
        kept = inside & (side * total <= _limit(side * total, alone, tail))
        found.append(np.fmax.reduce(np.where(kept, side * values, -np.inf), axis=0) * side)
    known = ~np.isnan(low).all(axis=0)
    return np.where(known, found[0], -np.inf), np.where(known, found[1], np.inf)


def _limit(total: np.ndarray, refuted: np.ndarray, tail: float) -> np.ndarray:
    """The limit of a sum that leaves out so many of the redraws that, with those refuted, it is the tail."""
    left = np.floor(tail * len(total) - refuted.sum(axis=0)).astype(int).clip(0)
    others = np.sort(np.where(refuted, -np.inf, total), axis=0)
    limit: np.ndarray = np.take_along_axis(others, len(total) - 1 - left[None, :], axis=0)[0]
    return limit


def possible_places(
    parts: NoisyParts, groups: list[int], draws: int, source: Source, places: Iterable[int]
) -> dict[int, Spans]:
    """Where these places on grids may have been, by number.

    A count of rows below a place is a sum over many cells, so its noise is close to normal, with a
    deviation and correlations that are known. Drawing that instead of the noise of every cell is
    thousands of times quicker.
    """
    random = source.floats()
    found = {}
    for members in _sharing(parts, set(places)).values():
        counts = [parts.estimates(i)[groups] for i in members[0][2]]
        deviations = [parts.deviation(i) for i in members[0][2]]
        rows = np.stack([place.influence(counts, deviations) for _, place, _ in members], axis=1)
        sizes = np.linalg.norm(rows, axis=2, keepdims=True)
        rows = rows / np.where(sizes > 0, sizes, 1)
        correlations = rows @ rows.transpose(0, 2, 1)
        # A place at the very end of the range is where no count moves it, yet others are possible.
        numbers = np.arange(len(members))
        correlations[:, numbers, numbers] = 1
        drawn = _evened(_correlated(correlations, draws, random))
        for place_number, (number, place, _) in enumerate(members):
            at = drawn[place_number]
            found[number] = Spans(*place.possible(counts, deviations, at), at)
    return found


def _sharing(
    parts: NoisyParts, places: set[int]
) -> dict[tuple[int, ...], list[tuple[int, Place, tuple[int, ...]]]]:
    """These places by the parts that they share."""
    found: dict[tuple[int, ...], list[tuple[int, Place, tuple[int, ...]]]] = {}
    for number, (place, indices) in parts.places().items():
        if number in places:
            found.setdefault(indices, []).append((number, place, indices))
    return found


def _correlated(correlations: np.ndarray, draws: int, random: np.random.Generator) -> np.ndarray:
    """Normal numbers for each place, draw and group, with a matrix of correlations per group."""
    values, vectors = np.linalg.eigh(correlations)
    roots = vectors * np.sqrt(values.clip(0))[:, None, :]
    independent = random.standard_normal((draws, *correlations.shape[:2]))
    drawn: np.ndarray = np.einsum("gij,dgj->idg", roots, independent)
    return drawn


def _evened(drawn: np.ndarray) -> np.ndarray:
    """The same draws in the same order, as evenly as normal numbers can lie.

    Error bars end at edges of cells, each about twice as far away as the one before. Left to chance,
    their ends would jump from one to the next whenever somebody asks for the bars again.
    """
    found = np.empty_like(drawn)
    even = _even_normals(drawn.shape[1])[None, :, None]
    np.put_along_axis(found, np.argsort(drawn, axis=1), even, axis=1)
    return found


@lru_cache(maxsize=8)
def _even_normals(draws: int) -> np.ndarray:
    normal = NormalDist()
    return np.array([normal.inv_cdf((i + 0.5) / draws) for i in range(draws)])

"""Places where a share of the rows lies below: found on a tree of noisy counts, or chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpframe.aggregates.base import Levels
from dpframe.aggregates.tree import Floats, Tree
from dpframe.plan.parts import GRAINS, RankedCells

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rank:
    """The place where a share of the rows lies below: quantile * rows + inside * noise."""

    tree: Tree
    quantile: float
    inside: float
    side: str
    """Which end of a stretch without rows is meant: left, right, or its middle."""

    @property
    def is_apart(self) -> bool:
        return False

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        ranks = self.tree.ranks(counts)
        gaps = self._gaps(ranks, deviations)
        rows = np.arange(len(gaps))
        ends = []
        for side, behind in (("right", gaps <= 0), ("left", gaps < 0)):
            if self.side in (side, "middle"):
                edge = behind.sum(axis=1).clip(1, self.tree.size)
                ends.append(self._codes(edge, gaps[rows, edge - 1], gaps[rows, edge]))
        return np.where(ranks[:, -1] >= 1, np.mean(ends, axis=0), np.nan)

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Floats:
        noise = self.tree.deviations(self.quantile, deviations)
        if not noise.any():
            return np.broadcast_to(self.find(counts, deviations), normals.shape)
        ranks = self.tree.ranks(counts)
        gaps = self._gaps(ranks, deviations)
        # Where the difference has no noise, at an end, all rows lie on one side for certain.
        sure = np.where(np.arange(noise.size) == 0, -np.inf, np.inf)
        scores = np.where(noise > 0, gaps / np.where(noise > 0, noise, 1), sure)
        scores = np.maximum.accumulate(scores, axis=1)
        places = np.empty(normals.shape)
        for group, drawn in enumerate(normals.T):
            edge = np.searchsorted(scores[group], drawn).clip(1, self.tree.size)
            ends = (gaps[group][e] - drawn * noise[e] for e in (edge - 1, edge))
            places[:, group] = self._codes(edge, *ends)
        return np.where(ranks[:, -1] >= 1, places, np.nan)

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        places = np.nan_to_num(self.find(counts, deviations)) / self.tree.width
        return self.tree.influence(self.quantile, places, deviations)

    def _gaps(self, ranks: Floats, deviations: Sequence[float]) -> Floats:
        """At each edge, the rows below less those that there should be; they never fall."""
        rows = ranks[:, -1:]
        if not self.inside:
            return ranks - self.quantile * rows
        noise = self.inside * self.tree.deviations(self.quantile, deviations)
        # Well on its side of the median, however few rows there are.
        ends = (0, rows / 4) if self.inside > 0 else (rows * 3 / 4, rows)
        wanted = np.clip(self.quantile * rows + noise, *ends)
        gaps: Floats = np.maximum.accumulate(ranks - wanted, axis=1)
        return gaps

    def _codes(self, edge: Indices, low: Floats, high: Floats) -> Floats:
        """The place between an edge and the one before, in codes above the lowest one.

        A cell of a single code is that code. In wider ones rows are taken to lie evenly, so gaps
        rise steadily, from `low` to `high`.
        """
        if self.tree.width == 1:
            return (edge - 1).astype(float)
        rise = high - low
        share = np.where(rise > 0, -low / np.where(rise > 0, rise, 1), 0.5).clip(0, 1)
        codes: Floats = (edge - 1 + share) * self.tree.width
        return codes


@dataclass(frozen=True, slots=True)
class ChosenRank:
    """The place of a quantile that was chosen by private selection, with error bars of a tree.

    The last of the counts are no counts, but the chosen positions. What the tree knows of the place
    comes from noise of its own, so the two are independent.
    """

    on_tree: Rank
    chosen: RankedCells
    index: int
    """Which of the levels it is."""

    @property
    def is_apart(self) -> bool:
        return True

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        rows = self.on_tree.tree.ranks(counts[:-1])[:, -1]
        return np.where(rows >= 1, _codes(counts[-1][:, self.index], self.chosen), np.nan)

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Floats:
        return self.on_tree.possible(counts[:-1], deviations[:-1], normals)

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        return self.on_tree.influence(counts[:-1], deviations[:-1])


@dataclass(frozen=True, slots=True)
class Outermost:
    """MIN or MAX, from the tree, beside quantiles that were chosen: it does not lie inside them."""

    on_tree: Rank
    chosen: RankedCells

    @property
    def is_apart(self) -> bool:
        return False

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        found = self.on_tree.find(counts[:-1], deviations[:-1])
        first = self.on_tree.quantile == 0
        end = _codes(counts[-1][:, 0 if first else -1], self.chosen)
        return np.minimum(found, end) if first else np.maximum(found, end)

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Floats:
        return self.on_tree.possible(counts[:-1], deviations[:-1], normals)

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        return self.on_tree.influence(counts[:-1], deviations[:-1])


def _codes(positions: Floats, chosen: RankedCells) -> Floats:
    """The codes that positions lie in, above the lowest one."""
    codes: Floats = np.floor((positions + 0.5) * (chosen.width / GRAINS))
    return codes

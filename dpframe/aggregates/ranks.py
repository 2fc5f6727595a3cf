"""Places where a share of the rows lies below: found on a tree of noisy counts, or chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpframe.aggregates.base import Levels
from dpframe.aggregates.tree import Floats, Tree
from dpframe.plan.coding import Coding
from dpframe.plan.parts import GRAINS, RankedCells
from dpframe.plan.surroundings import Surroundings

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rank:
    """The place where a share of the rows lies below: quantile * rows + inside * noise."""

    tree: Tree
    quantile: float
    inside: float
    side: str
    """Which end of a stretch without rows is meant: left, right, or its middle."""
    has_bars: ClassVar[bool] = True
    is_chosen: ClassVar[bool] = False
    is_apart: ClassVar[bool] = False

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
        scores = np.maximum.accumulate(_scores(gaps, noise, sure), axis=1)
        places = np.empty(normals.shape)
        for group, drawn in enumerate(normals.T):
            edge = np.searchsorted(scores[group], drawn).clip(1, self.tree.size)
            # Nothing says where in its cell it lies, so an interval takes whole cells.
            places[:, group] = _end_of(drawn, edge - 1, edge, self.tree.width, self.tree.coding)
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
    """The place of a quantile that was chosen, with error bars of the rows counted around it.

    `Surroundings` says what there is of each group. A true count of rows below an edge that is a
    share of all rows, or more, says that the quantile lies below that edge, and the other way round.
    Nothing says where it lies between two edges. So possible places are whole cells, and for a draw
    below the middle of the noise the left end of such a cell is taken, else the right one.

    Let s be the noisy rows below an edge less the share there should be, in deviations of its
    noise. For a normal z below 0, the first edge with s >= z ends the cell. The true quantile lies
    in a cell whose last edge has no rows missing, so that edge has s >= z with the probability of a
    normal number above z: as often, the quantile is not to the left of what is taken. For z above 0
    the same holds from the right. It holds at each edge by itself, so counts are not made to rise,
    and gaps and heaps of rows do no harm.
    """

    chosen: RankedCells
    index: int
    """Which of the levels it is."""
    has_bars: ClassVar[bool] = True
    is_chosen: ClassVar[bool] = True
    is_apart: ClassVar[bool] = True

    @property
    def quantile(self) -> float:
        return float(self.chosen.levels[self.index])

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        around = self._around(counts)
        place = _codes(around.positions[:, self.index], self.chosen)
        return np.where(around.counts.sum(axis=1) >= 1, place, np.nan)

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Floats:
        around = self._around(counts)
        edges, last = around.edges, around.edges.shape[1] - 1
        scores = self._missing(around, deviations[-1])
        rising = np.maximum.accumulate(scores, axis=1)
        falling = np.minimum.accumulate(scores[:, ::-1], axis=1)[:, ::-1]
        places = np.empty(normals.shape)
        for group, drawn in enumerate(normals.T):
            left = np.searchsorted(rising[group], drawn, side="left").clip(1, last) - 1
            right = np.searchsorted(falling[group], drawn, side="right").clip(1, last)
            first, end = edges[group][left], edges[group][right]
            places[:, group] = _end_of(drawn, first, end, self.chosen.width, self.chosen.coding)
        return np.where(around.counts.sum(axis=1) >= 1, places, np.nan)

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        around = self._around(counts)
        widths = np.diff(around.edges, axis=1)
        middle = np.floor(around.positions[:, self.index, None] / GRAINS) + 0.5
        below = ((middle - around.edges[:, :-1]) / np.where(widths > 0, widths, 1)).clip(0, 1)
        moves: Floats = np.where(widths > 0, (below - self.quantile) * deviations[-1], 0.0)
        return moves

    def _around(self, counts: Levels) -> Surroundings:
        return Surroundings.of(counts[-1], len(self.chosen.levels))

    def _missing(self, around: Surroundings, deviation: float) -> Floats:
        """At each edge, the rows below less those that there should be, in deviations of the noise.

        Each cell below has a coefficient of 1 - quantile, each one above of -quantile. At an end of
        the range all rows lie on one side, for certain.
        """
        edges, q = around.edges, self.quantile
        start = np.zeros((len(edges), 1))
        ranks = np.concatenate([start, np.cumsum(around.counts, axis=1)], axis=1)
        noisy = np.cumsum(np.diff(edges, axis=1) > 0, axis=1)
        below = np.concatenate([start, noisy], axis=1)
        above = below[:, -1:] - below
        noise = deviation * np.sqrt(below * (1 - q) ** 2 + above * q**2)
        gaps = ranks - q * ranks[:, -1:]
        scores = _scores(gaps, noise, np.where(gaps == 0, 0.0, np.copysign(np.inf, gaps)))
        scores = np.where(edges <= 0, -np.inf, scores)
        found: Floats = np.where(edges >= edges[:, -1:], np.inf, scores)
        return found


@dataclass(frozen=True, slots=True)
class Outermost:
    """MIN or MAX, from the tree, beside quantiles that were chosen: it does not lie inside them."""

    on_tree: Rank
    chosen: RankedCells
    has_bars: ClassVar[bool] = True
    is_chosen: ClassVar[bool] = True
    is_apart: ClassVar[bool] = False

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        found = self.on_tree.find(counts[:-1], deviations[:-1])
        first = self.on_tree.quantile == 0
        positions = Surroundings.of(counts[-1], len(self.chosen.levels)).positions
        end = _codes(positions[:, 0 if first else -1], self.chosen)
        return np.minimum(found, end) if first else np.maximum(found, end)

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Floats:
        return self.on_tree.possible(counts[:-1], deviations[:-1], normals)

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        return self.on_tree.influence(counts[:-1], deviations[:-1])


def _scores(gaps: Floats, noise: Floats, sure: Floats) -> Floats:
    """Gaps in deviations of their noise; where there is none, what is sure."""
    found: Floats = np.where(noise > 0, gaps / np.where(noise > 0, noise, 1), sure)
    return found


def _end_of(drawn: Floats, left: Any, right: Any, width: int, coding: Coding) -> Floats:
    """The end of a cell that is further out: left of it for draws below the middle, else right.

    Of whole numbers, the last one before an edge is meant.
    """
    before = 1 if coding.is_integer else 0
    found: Floats = np.where(drawn < 0, left * float(width), right * float(width) - before)
    return found


def _codes(positions: Floats, chosen: RankedCells) -> Floats:
    """The codes that positions lie in, above the lowest one."""
    codes: Floats = np.floor((positions + 0.5) * (chosen.width / GRAINS))
    return codes

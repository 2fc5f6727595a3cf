"""Places where a share of the rows lies below: found on a tree of noisy counts, or chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpframe.aggregates.base import Levels, Span
from dpframe.aggregates.crossings import Gaps
from dpframe.aggregates.tree import Floats, Tree
from dpframe.plan.parts import GRAINS, RankedCells
from dpframe.plan.surroundings import Surroundings

Indices = NDArray[np.int64]

_NEAR = (*range(18), *(math.floor(17 * 1.3**i) for i in range(1, 20)))
"""Which edges to each side of a chosen place are looked at: further off, fewer of them.

Distances double from one edge to the next, so the first 18 reach over a grid of 2**16 cells: one of
them that was left out would be an error bar that ends twice as far away, or four times.
"""

_EVEN, _HEAPED = 1.3, 2.0
"""Steps of a tree's edges are about equally many rows apart. One that holds this many times as many
as lie nearer, and the noise, may have a heap at its end: the more, the more surely it has.
"""

_STEP, _REACH = 0.25, 4.0
"""How far apart the edges of a tree are that error bars may end at, in deviations of the noise."""


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

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Span:
        noise = self.tree.deviations(self.quantile, deviations)
        if not noise.any():
            place = np.broadcast_to(self.find(counts, deviations), normals.shape)
            return place, place, place, place
        ranks = self.tree.ranks(counts)
        smooth = self._gaps(ranks, deviations)
        if self.inside:
            return _where(ranks[:, -1] >= 1, self._beyond(smooth, noise, normals))
        edges = self._edges(smooth, noise)
        sums = self.tree.sums(counts)
        gaps = np.take_along_axis(sums - self.quantile * sums[:, -1:], edges, axis=1)
        sure = np.where(edges <= 0, -np.inf, np.where(edges >= self.tree.size, np.inf, 0.0))
        shared = self.tree.covariances(self.quantile, edges.astype(float), deviations)
        spans = _spans(Gaps(gaps, sure, shared), edges, normals, self.tree)
        return _where(ranks[:, -1] >= 1, spans)

    def _beyond(self, gaps: Floats, noise: Floats, normals: Floats) -> Span:
        """The same for MIN and MAX, whose gaps do not rise by rows alone: of each edge by itself."""
        sure = np.where(np.arange(noise.size) == 0, -np.inf, np.inf)
        scores = np.where(noise > 0, gaps / np.where(noise > 0, noise, 1), sure)
        scores = np.maximum.accumulate(scores, axis=1)
        before = 1 if self.tree.coding.is_integer else 0
        edges = np.empty(normals.shape)
        for group, drawn in enumerate(normals.T):
            edges[:, group] = np.searchsorted(scores[group], drawn).clip(1, self.tree.size)
        first, last = (edges - 1) * self.tree.width, edges * self.tree.width - before
        return first, last, first, last

    def _edges(self, gaps: Floats, noise: Floats) -> Indices:
        """Edges that error bars may end at: steps of the noise apart, as far as there is one.

        More of them would not tell more: where cells are nearly empty, so many counts all have
        noise, and some would seem to be enough by chance.
        """
        steps = np.arange(-_REACH, _REACH + _STEP, _STEP) * float(np.median(noise[noise > 0]))
        size, found = self.tree.size, []
        for row in gaps:
            reached = np.searchsorted(row, steps).clip(max=size)
            heaps = reached[1:][np.diff(reached) == 0]
            # Not where a step is reached: the noise of the cell before has a hand in that.
            between = (reached[1:] + reached[:-1]) // 2
            found.append(np.unique([0, *between, *heaps, *(heaps - 1).clip(0), size]))
        longest = max((row.size for row in found), default=0)
        edges = np.full((len(found), longest), size, dtype=np.int64)
        for group, row in enumerate(found):
            edges[group, : row.size] = row
        return edges

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        places = np.nan_to_num(self.find(counts, deviations)) / self.tree.width
        return self.tree.influence(self.quantile, places, deviations)

    def _gaps(self, ranks: Floats, deviations: Sequence[float]) -> Floats:
        """At each edge, the rows below less those that there should be; they never fall."""
        gaps: Floats = ranks - self._wanted(ranks[:, -1:], deviations)
        return np.maximum.accumulate(gaps, axis=1) if self.inside else gaps

    def _wanted(self, rows: Floats, deviations: Sequence[float]) -> Floats:
        """How many rows there should be below an edge."""
        if not self.inside:
            return self.quantile * rows
        noise = self.inside * self.tree.deviations(self.quantile, deviations)
        # Well on its side of the median, however few rows there are.
        ends = (0, rows / 4) if self.inside > 0 else (rows * 3 / 4, rows)
        wanted: Floats = np.clip(self.quantile * rows + noise, *ends)
        return wanted

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


_SURELY_EMPTY = 2.0
"""Deviations of a total that lie between it and one row, before there are said to be none.

The counts around a choice have a small share of the cost, so their total is far noisier than the
choice: with 100 rows it would often be below 1, and a good answer thrown away for it.
"""


def _may_have_rows(around: Surroundings, deviation: float) -> NDArray[np.bool_]:
    """Whether the counts leave it open that a group has rows; without noise, whether it has."""
    cells = (np.diff(around.edges, axis=1) > 0).sum(axis=1)
    noise = deviation * np.sqrt(cells)
    found: NDArray[np.bool_] = around.counts.sum(axis=1) >= 1 - _SURELY_EMPTY * noise
    return found


@dataclass(frozen=True, slots=True)
class ChosenRank:
    """The place of a quantile that was chosen, with error bars of the rows counted around it.

    `Surroundings` says what there is of each group. A true count of rows below an edge that is a
    share of all rows, or more, says that the quantile lies below that edge, and the other way round.
    Nothing says where it lies between two edges. So possible places are whole cells.

    `Gaps` has, for every cell, two scores of how far the counts at the edges speak against it. For a
    normal z below 0, the first cell whose score from the left is z or more is taken: the true
    quantile lies to the left of that about as often as a normal number lies below z. For z above 0
    the same holds from the right. Nothing is taken to be even, so gaps and heaps do no harm.

    Where nothing was counted there are no error bars, and nothing says whether a group has rows.
    """

    chosen: RankedCells
    index: int
    """Which of the levels it is."""
    is_chosen: ClassVar[bool] = True
    is_apart: ClassVar[bool] = True

    @property
    def has_bars(self) -> bool:
        return self.chosen.counted

    @property
    def quantile(self) -> float:
        return float(self.chosen.levels[self.index])

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        around = self._around(counts)
        place = _codes(around.positions[:, self.index], self.chosen)
        if not self.has_bars:
            return place
        return np.where(_may_have_rows(around, deviations[-1]), place, np.nan)

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Span:
        if not self.has_bars:
            place = np.broadcast_to(self.find(counts, deviations), normals.shape)
            return place, place, place, place
        around = self._around(counts)
        cells = around.positions[:, self.index] // GRAINS
        middle = (around.edges <= cells[:, None]).sum(axis=1)[:, None]
        last = around.edges.shape[1] - 1
        steps = np.array([0, *(step for step in _NEAR if 0 < step <= last), last])
        near = (middle + np.concatenate([-steps[:0:-1], steps])).clip(0, last)
        edges = np.take_along_axis(around.edges, near, axis=1)
        missing = self._missing(around, near, deviations[-1])
        spans = _spans(missing, edges, normals, self.chosen, chosen=steps.size - 1)
        return _where(_may_have_rows(around, deviations[-1]), spans)

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        around = self._around(counts)
        widths = np.diff(around.edges, axis=1)
        middle = np.floor(around.positions[:, self.index, None] / GRAINS) + 0.5
        below = ((middle - around.edges[:, :-1]) / np.where(widths > 0, widths, 1)).clip(0, 1)
        moves: Floats = np.where(widths > 0, (below - self.quantile) * deviations[-1], 0.0)
        return moves

    def _around(self, counts: Levels) -> Surroundings:
        return Surroundings.of(counts[-1], len(self.chosen.levels))

    def _missing(self, around: Surroundings, near: Indices, deviation: float) -> Gaps:
        """At edges by number, the rows below less those that there should be.

        Each cell below has a coefficient of 1 - q, each one above of -q. With b[i] cells below, of
        k, edges i before j share `(1 - q) b[i] - q b[j] + q**2 k` of the variance of a cell.
        """
        edges, q = around.edges, self.quantile
        start = np.zeros((len(edges), 1))
        ranks = np.concatenate([start, np.cumsum(around.counts, axis=1)], axis=1)
        below = np.concatenate([start, np.cumsum(np.diff(edges, axis=1) > 0, axis=1)], axis=1)
        gaps = ranks - q * ranks[:, -1:]
        sure = np.where(edges <= 0, -np.inf, np.where(edges >= edges[:, -1:], np.inf, 0.0))
        gaps, sure, some = (np.take_along_axis(rows, near, axis=1) for rows in (gaps, sure, below))
        one, other = some[:, :, None], some[:, None, :]
        shared = (1 - q) * np.minimum(one, other) - q * np.maximum(one, other)
        shared = (shared + q**2 * below[:, -1, None, None]) * deviation**2
        return Gaps(gaps, sure, shared)


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

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Span:
        return self.on_tree.possible(counts[:-1], deviations[:-1], normals)

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        return self.on_tree.influence(counts[:-1], deviations[:-1])


def _spans(
    gaps: Gaps,
    edges: NDArray[Any],
    normals: Floats,
    grid: Tree | RankedCells,
    chosen: int | None = None,
) -> Span:
    """Where the place may be, for each draw and group: the first and the last code of its cells.

    Nothing says where in its cell it lies, nor in which one of two that are both possible. Of whole
    numbers, the last one before an edge is meant. The other two are the same for a cell with a heap;
    in one without, they are where the place would be if rows lay evenly. `chosen` is the edge that
    cells grow away from, where they do.
    """
    before = 1 if grid.coding.is_integer else 0
    rising, falling = gaps.scores()
    noise = gaps.deviations.max(axis=1, initial=0.0)
    # Of sorted draws, those between the same two edges follow each other: there are few such pieces.
    order = np.argsort(normals.T, axis=1)
    ordered = np.take_along_axis(normals.T, order, axis=1)
    found = np.empty((4, *ordered.shape))
    for group, drawn in enumerate(ordered):
        up, down, at = rising[group], falling[group], edges[group].astype(float)
        left, right, pieces = _pieces(drawn, up, down)
        if chosen is None:
            heaped = _heaped_step(gaps.gaps[group], left, right, noise[group])
        else:
            shared = gaps.covariances[group]
            heaped = _heaped_cell(gaps.gaps[group], shared, left, right, chosen)
        first, last, heaped = at[left][pieces], at[right][pieces], heaped[pieces]
        below = np.searchsorted(drawn, 0.0)
        even = np.concatenate(
            [np.interp(drawn[:below], up, at), np.interp(drawn[below:], down, at)]
        )
        even = np.minimum(np.maximum(even, first), last)
        likely = even + heaped * (first - even), even + heaped * (last - even)
        for ends, values in zip(found[:, group], (first, last, *likely), strict=True):
            ends[order[group]] = values
    found *= float(grid.width)
    first, last, *inner = found.transpose(0, 2, 1)
    return first, last - before, inner[0], np.maximum(inner[1] - before, inner[0])


def _pieces(drawn: Floats, rising: Floats, falling: Floats) -> tuple[Indices, Indices, Indices]:
    """The edges to the left and right of each piece of sorted draws, and the piece of every draw.

    The edge to the left is the last one with a score below the draw, from the left; the one to the
    right is the first with a score above it, from the right. Both are edges of one cell at least.
    """
    ups = np.searchsorted(drawn, rising[1:-1], side="right")
    downs = np.searchsorted(drawn, falling[1:-1], side="left")
    starts = np.sort(np.concatenate([[0], ups, downs]))
    pieces = np.repeat(np.arange(starts.size), np.diff(starts, append=drawn.size))
    left = np.searchsorted(ups, starts, side="right")
    right = np.searchsorted(downs, starts, side="right") + 1
    return left, right, pieces


def _heaped_step(rows: Floats, left: Indices, right: Indices, noise: float) -> Floats:
    """How surely there is a heap between two edges of a tree, from 0 to 1."""
    nearer = np.where(rows[left] * rows[right] > 0, np.abs(rows[[left, right]]).min(axis=0), 0)
    heap = (rows[right] - rows[left]) / (nearer + noise)
    found: Floats = (_HEAPED * (heap - _EVEN)).clip(0, 1)
    return found


def _heaped_cell(
    rows: Floats, shared: Floats, left: Indices, right: Indices, chosen: int
) -> Floats:
    """The same where cells grow away from a chosen edge, each as wide as all that are nearer.

    Of even rows a cell holds as many as lie nearer, so `(far - near) - (near - chosen)` of the gaps is
    noise around 0. Its variance is small, because the noise of all other cells cancels. From half a
    deviation below 0 on, rows are less and less taken to be even, and from half a deviation above 0
    on, not at all: to take them so by mistake makes an error bar miss, not to do so makes it wider.
    """
    above = right > chosen
    near = np.where(above, np.maximum(left, chosen), np.minimum(right, chosen))
    far = np.where(above, right, left)
    more = np.abs(rows[far] - rows[near]) - np.abs(rows[near] - rows[chosen])
    variance = shared[far, far] + 4 * shared[near, near] + shared[chosen, chosen]
    variance = variance + 2 * shared[far, chosen] - 4 * (shared[far, near] + shared[near, chosen])
    deviation = np.sqrt(variance.clip(0))
    certain = np.where(more > 0, 1.0, 0.0)
    found: Floats = np.where(deviation > 0, more / np.where(deviation > 0, deviation, 1), certain)
    return (found + 0.5).clip(0, 1)


def _where(known: NDArray[np.bool_], spans: Span) -> Span:
    """The spans of groups that have rows; NaN for others."""
    first, last, *inner = (np.where(known, ends, np.nan) for ends in spans)
    return first, last, inner[0], inner[1]


def _codes(positions: Floats, chosen: RankedCells) -> Floats:
    """The codes that positions lie in, above the lowest one."""
    codes: Floats = np.floor((positions + 0.5) * (chosen.width / GRAINS))
    return codes

"""Counts of a plane of bins, made into one from all that was measured: least squares.

A line is a plane with one column. Two ways to count more than the cells have closed forms. Levels
of coarser bins (`release.ladder`) on each axis: every level of one is counted for every level of
the other, so with A and B the matrices that add up the bins of each axis, A x B (Kronecker) adds up
the cells, and its least squares solution is that of B after that of A. Margins: the sums of rows
and of columns beside the cells. With P and Q the projections to the mean over the n rows and m
columns, the normal equations are I + m (I x Q) + n (P x I), which all of I, P and Q diagonalise:
1 on what has no row and no column means, 1 + m on differences of row means, 1 + n on those of
column means, and 1 + n + m on the mean of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpframe.plan.shown import Levels
from dpframe.release.ladder import Floats, Ladder, Whole


@dataclass(frozen=True)
class Plane:
    """Rows and columns of cells, and what is counted beside the cells. All noise has one scale."""

    rows: Ladder
    columns: Ladder
    margins: bool = False

    @classmethod
    def over(cls, numbers: Sequence[Whole], levels: Levels | None) -> Plane:
        """The plane of bins of these numbers, for one axis or two."""
        shapes = [None] * len(numbers) if levels is None else list(levels.shapes)
        axes = [
            Ladder.over(own, *(shape or (None, 1)))
            for own, shape in zip(numbers, shapes, strict=True)
        ]
        return cls(axes[0], axes[1] if axes[1:] else Ladder(1), bool(levels and levels.margins))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.rows.bins, self.columns.bins

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.rows.bins * self.columns.bins

    @property
    def has_levels(self) -> bool:
        """Whether coarser bins were counted too."""
        return bool(self.rows.cells or self.columns.cells)

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """The rows and columns of every grouping, as they follow each other; the cells are first."""
        if self.margins:
            n, m = self.shape
            return [(n, m), (n, 1), (1, m)]
        return [(n, m) for n in self.rows.sizes for m in self.columns.sizes]

    def estimate(self, counts: Sequence[Floats]) -> Floats:
        """The cells from all that was counted; before rows and columns go groups, or draws."""
        if self.margins:
            return self._with_margins(*counts)
        height = self.columns.height
        lines = []
        for j in range(height):  # the rows of cells first, for each level of columns
            own = [np.swapaxes(one, 1, 2) for one in counts[j::height]]
            lines.append(np.swapaxes(_along_last(self.rows, own), 1, 2))
        return _along_last(self.columns, lines)

    def _with_margins(self, cells: Floats, by_row: Floats, by_column: Floats) -> Floats:
        n, m = self.shape
        whole = cells + by_row + by_column
        row, column = whole.mean(axis=2, keepdims=True), whole.mean(axis=1, keepdims=True)
        mean = row.mean(axis=1, keepdims=True)
        own = whole - row - column + mean
        found: Floats = own + (row - mean) / (1 + m) + (column - mean) / (1 + n)
        found += mean / (1 + n + m)
        return found

    @property
    def shares(self) -> Floats:
        """How a change of the total is shared among the cells: by their covariance with it."""
        if self.margins:
            return np.full(self.shape, 1 / self.cells)
        whole = np.outer(self.rows.spread.sum(axis=0), self.columns.spread.sum(axis=0))
        found: Floats = whole / whole.sum()
        return found

    # --- errors, for noise with variance 1 -------------------------------------------------------

    def range_variance(self) -> float:
        """The variance of the sum over a rectangle of cells, averaged over all rectangles."""
        if not self.margins:
            return self.rows.range_variance() * self.columns.range_variance()
        ends = [_runs_of(bins) for bins in self.shape]
        return self._variance(*(means for runs in ends for means in runs))

    def margin_variance(self) -> float:
        """The variance of the sum over a row or a column of cells, averaged over all of them."""
        n, m = self.shape
        if self.margins:
            rows = self._variance(1 - 1 / n, 1 / n, 0.0, float(m))
            columns = self._variance(0.0, float(n), 1 - 1 / m, 1 / m)
        else:
            first, second = self.rows.spread, self.columns.spread
            rows = float(np.trace(first) / n * second.sum())
            columns = float(np.trace(second) / m * first.sum())
        return (n * rows + m * columns) / (n + m)

    def cell_variance(self) -> float:
        """The variance of a cell, averaged over all cells."""
        n, m = self.shape
        if self.margins:
            return self._variance(1 - 1 / n, 1 / n, 1 - 1 / m, 1 / m)
        return float(np.trace(self.rows.spread) / n * np.trace(self.columns.spread) / m)

    def _variance(self, off_row: float, on_row: float, off_col: float, on_col: float) -> float:
        """With margins, of a rectangle that has these squared lengths off and on the means."""
        n, m = self.shape
        across = off_row * on_col / (1 + m) + on_row * off_col / (1 + n)
        return off_row * off_col + across + on_row * on_col / (1 + n + m)


def _along_last(ladder: Ladder, levels: Sequence[Floats]) -> Floats:
    """What a ladder estimates along the last axis."""
    if not ladder.cells:
        return levels[0]
    before = levels[0].shape[:-1]
    found = ladder.estimate([one.reshape(-1, one.shape[-1]) for one in levels])
    return found.reshape(*before, ladder.bins)


def _runs_of(bins: int) -> tuple[float, float]:
    """Of a run of bins, averaged over all: its squared length off and on the mean of all bins."""
    lengths = np.arange(1, bins + 1)
    often = (bins + 1 - lengths) / (bins * (bins + 1) / 2)
    on = float(often @ (lengths**2 / bins))
    return float(often @ lengths) - on, on


# --- rectangles of cells that are all alike ------------------------------------------------------


def weights_of(
    plane: Plane, rectangle: tuple[int, int], groups: int | None
) -> list[tuple[float, int]]:
    """What the error of a rectangle is made of: weights, and how many counts have each.

    It is for planes without levels, where no cell differs from another, so that only the size of a
    rectangle matters. `groups` is how many planes have a public total together, which is then
    shared evenly; None for no such total.
    """
    (n, m), (a, b) = plane.shape, rectangle
    # The rectangle itself, as its means over rows and columns; then what least squares makes of it.
    found = {(i, j): float(i and j) for i in (True, False) for j in (True, False)}
    if plane.margins:
        row = {True: b / m, False: 0.0}
        column = {True: a / n, False: 0.0}
        mean = a * b / (n * m)
        for i, j in found:
            own = found[i, j] - row[i] - column[j] + mean
            own += (row[i] - mean) / (1 + m) + (column[j] - mean) / (1 + n)
            found[i, j] = own + mean / (1 + n + m)
    if groups is not None:  # the error of the total is taken from all cells alike
        lost = a * b / (groups * n * m) * (1 / (1 + n + m) if plane.margins else 1.0)
        found = {place: weight - lost for place, weight in found.items()}
    sizes_a, sizes_b = {True: a, False: n - a}, {True: b, False: m - b}
    weights = [(w, sizes_a[i] * sizes_b[j]) for (i, j), w in found.items()]
    if plane.margins:
        for i in (True, False):
            weights.append((sum(found[i, j] * sizes_b[j] for j in (True, False)), sizes_a[i]))
        for j in (True, False):
            weights.append((sum(found[i, j] * sizes_a[i] for i in (True, False)), sizes_b[j]))
    if groups is not None and groups > 1:
        others = groups - 1
        weights.append((-lost, others * n * m))
        if plane.margins:
            weights += [(-lost * m, others * n), (-lost * n, others * m)]
    return [(weight, count) for weight, count in weights if weight and count]


def largest_weight(plane: Plane, rectangle: tuple[int, int]) -> float:
    """How far one count makes up the error of a rectangle: 1 for one alone, near 0 for many.

    It is what remains of the noise's fourth cumulant, so its tails remain to about that part.

    >>> flat = Plane(Ladder(3), Ladder(5))
    >>> largest_weight(flat, (1, 1)), largest_weight(flat, (1, 5))
    (1.0, 0.2)
    """
    terms = weights_of(plane, rectangle, None)
    squares = sum(weight**2 * count for weight, count in terms)
    return sum(weight**4 * count for weight, count in terms) / squares**2

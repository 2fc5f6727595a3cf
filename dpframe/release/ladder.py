"""Counts on several levels of bins, made into one: least squares over a tree of bins.

Level j counts the rows in each run of b^j bins, with noise of one scale. Every level estimates the
same numbers, so they are combined: of all counts of bins, those whose sums are nearest to what was
measured. With A the matrix that adds up bins for each level, the estimate is P A' y where
P = (A' A)^-1, unbiased, and with the least variance of all linear unbiased ones (Gauss and Markov).
P times the variance of the noise is the covariance of the bins. Then a sum of adjacent bins has a
variance that grows with the cube of the number of levels under Laplace noise, and with its square
under Gaussian, not with the number of bins (Hay et al. 2010; Qardaji, Yang and Li 2013).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]

_MOST_LEVELS = 6


@dataclass(frozen=True)
class Ladder:
    """Bins, and for each coarser level the cell that each bin is in."""

    bins: int
    cells: tuple[Whole, ...] = ()

    @classmethod
    def over(cls, numbers: Whole, branching: int | None, height: int) -> Ladder:
        """The levels over bins of these numbers, some of which may be missing."""
        if branching is None or not len(numbers):
            return cls(len(numbers))
        levels = [numbers // branching**level for level in range(1, height)]
        return cls(len(numbers), tuple(np.unique(one, return_inverse=True)[1] for one in levels))

    @property
    def height(self) -> int:
        """The number of levels, the bins themselves included."""
        return 1 + len(self.cells)

    @property
    def sizes(self) -> list[int]:
        """How many counts each level has, the finest first."""
        return [self.bins, *(int(one.max()) + 1 for one in self.cells)]

    @cached_property
    def blocks(self) -> list[slice]:
        """The bins of each cell of the coarsest level: bins of different ones are independent."""
        starts = np.unique(self.cells[-1], return_index=True)[1].tolist()
        return [slice(*ends) for ends in itertools.pairwise([*starts, self.bins])]

    @cached_property
    def spread(self) -> Floats:
        """The covariance P of the estimated bins, in units of the variance of the noise.

        Cells of a level are unions of those of the level below, so each level takes one step of
        Sherman and Morrison's formula in every cell.
        """
        spread = np.eye(self.bins)
        for block in self.blocks if self.cells else []:
            own = spread[block, block]
            for level in self.cells:
                cells = level[block] - level[block.start]
                sums = _added(own, cells)  # of each row over each cell
                inside = np.take_along_axis(sums, cells[:, None], axis=1)[:, 0]
                own = own - (sums / (1 + np.bincount(cells, inside))) @ sums.T
            spread[block, block] = own
        return spread

    def estimate(self, levels: Sequence[Floats]) -> Floats:
        """The bins from the counts of every level; rows are groups, or draws of noise."""
        if not self.cells:
            return levels[0]
        found: Floats = levels[0].astype(np.float64)
        for counts, cells in zip(levels[1:], self.cells, strict=True):
            found = found + counts[:, cells]
        for block in self.blocks:
            found[:, block] = found[:, block] @ self.spread[block, block]
        return found

    def range_variance(self) -> float:
        """The variance of the sum of a run of bins, averaged over all runs; noise has variance 1."""
        if not self.cells:
            return (self.bins + 2) / 3
        sums = np.zeros((self.bins + 1, self.bins + 1))
        sums[1:, 1:] = np.cumsum(np.cumsum(self.spread, axis=0), axis=1)
        edges = self.bins + 1
        # Over all pairs of edges i < j, of var(S_j - S_i) = C_jj + C_ii - 2 C_ij.
        whole = 2 * edges * np.trace(sums) - 2 * sums.sum()
        return float(whole / (edges * (edges - 1)))


def _added(rows: Floats, cells: Whole) -> Floats:
    """Sums over the columns of each cell; cells are runs of columns."""
    starts = np.searchsorted(cells, np.arange(int(cells.max()) + 1))
    found: Floats = np.add.reduceat(rows, starts, axis=1)
    return found


def shapes(bins: int) -> list[tuple[int, int]]:
    """Branchings and heights worth comparing: for each height, the least even branching.

    >>> shapes(100)
    [(10, 2), (5, 3), (4, 4), (3, 5)]
    """
    found: dict[int, int] = {}
    for height in range(2, _MOST_LEVELS + 1):
        branching = math.ceil(round(bins ** (1 / height), 9))
        if branching >= 2 and branching not in found and branching ** (height - 1) < bins:
            found[branching] = height
    return list(found.items())

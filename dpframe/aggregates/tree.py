"""A tree of counts over a declared range, and the places on it where ranks are reached.

Level after level, cells are cut into `branching` smaller ones, and every level is measured. A count
of all rows below some value is then a sum of few cells, whatever the resolution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpframe.aggregates.base import Levels
from dpframe.plan.coding import Coding
from dpframe.plan.exprs import Expr
from dpframe.plan.parts import GridCounts

Floats = NDArray[np.float64]

_MOST_LEVELS = 6

_MOST_CUTS = 16
"""A smallest cell is cut into up to this many, for what is chosen rather than counted."""


@dataclass(frozen=True, slots=True)
class Tree:
    """`branching`^`height` cells of `width` codes each, counted on every level."""

    coding: Coding
    width: int
    branching: int
    height: int

    @classmethod
    def over(cls, coding: Coding, most_cells: int) -> Tree:
        """A tree down to single codes, or to `most_cells` cells.

        With h levels of b cells under one another, a rank adds up about h * b cells, whose noise
        has a deviation proportional to h: the height that makes h^3 * b least is taken.

        >>> tree = Tree.over(Coding(0, 110, 0, is_integer=True), most_cells=4096)
        >>> tree.width, tree.branching, tree.height
        (1, 11, 2)
        """
        codes = coding.high - coding.low + 1
        cells = min(codes, most_cells)
        shapes = [(h, _root(cells, h)) for h in range(1, _MOST_LEVELS + 1)]
        height, branching = min(shapes, key=lambda s: (s[0] ** 3 * s[1], s))
        width = -(-codes // branching**height)
        # Wide cells are made a little wider, so that they can be cut into equal ones.
        even = min(_MOST_CUTS, 1 << max(0, (width // 8).bit_length() - 1))
        return cls(coding, -(-width // even) * even, branching, height)

    def cut(self, most_cells: int) -> int:
        """Into how many equal ones a smallest cell is cut, for up to `most_cells` in all.

        >>> Tree(Coding(0, 2**20 - 1, 0, is_integer=True), 256, 16, 3).cut(2**16)
        16
        """
        most = max(1, min(_MOST_CUTS, most_cells // self.size, self.width))
        return max(times for times in range(1, most + 1) if self.width % times == 0)

    @property
    def size(self) -> int:
        """The number of the smallest cells."""
        return int(self.branching**self.height)

    def rank_error(self, quantile: float) -> float:
        """The deviation of a rank, in units of the noise of each level, in the mean over edges."""
        return _rank_error(self, quantile)

    def parts(self, expr: Expr, condition: Expr | None) -> dict[str, GridCounts]:
        """The counts to measure, by level."""
        found = {}
        for level in range(self.height):
            below = self.branching ** (self.height - level - 1)
            cells = self.branching ** (level + 1)
            part = GridCounts(condition, expr, self.coding, self.width * below, cells)
            found[f"level {level + 1}"] = part
        return found

    def sums(self, counts: Levels) -> Floats:
        """How many rows lie below each edge of the smallest cells, as counted; a row per group.

        Cells that share a parent are all moved alike so that they add up to it.
        """
        cells = counts[0]
        for level in counts[1:]:
            children = level.reshape(len(level), -1, self.branching)
            missing = cells - children.sum(axis=2)
            cells = (children + missing[:, :, None] / self.branching).reshape(len(level), -1)
        found: Floats = np.zeros((len(cells), self.size + 1))
        np.cumsum(cells, axis=1, out=found[:, 1:])
        return found

    def ranks(self, counts: Levels) -> Floats:
        """How many rows lie below each edge of the smallest cells, never falling.

        Noise makes the sums rise and fall: of the least rising bound above and the largest below,
        the middle is taken, within 0 and the total.
        """
        sums = self.sums(counts)
        sums = sums.clip(0, np.maximum(sums[:, -1:], 0))
        above = np.maximum.accumulate(sums, axis=1)
        middle: Floats = np.minimum.accumulate(sums[:, ::-1], axis=1)[:, ::-1]
        middle += above
        middle /= 2
        return middle

    def deviations(self, quantile: float, noise: Sequence[float]) -> Floats:
        """At each edge, the deviation of (rows below) - quantile * (all rows), before it is smoothed.

        Let f be the share of a cell that lies below the edge. The coefficient of a cell in that
        difference is f less the f of its parent; for the top level, less `quantile`.
        """
        edges = np.arange(self.size + 1)
        variance = np.zeros(self.size + 1)
        parent = np.full(self.size + 1, quantile)
        for level, deviation in enumerate(noise):
            position = edges / self.branching ** (self.height - level - 1)
            whole = np.floor(position)
            rest = position - whole
            before = whole if level == 0 else whole % self.branching
            after = self.branching - before - 1
            squares = before * (1 - parent) ** 2 + (rest - parent) ** 2 + after * parent**2
            variance += deviation**2 * squares
            parent = rest
        found: Floats = np.sqrt(variance)
        return found

    def covariances(self, quantile: float, edges: Floats, noise: Sequence[float]) -> Floats:
        """Those of the same differences at some edges: a matrix for each row of them.

        With p cells of a parent below one edge and p' below the other, of b, the products of their
        shares f add up to `sum f f'`, less `p p' / b`. Below other parents one f is that of the
        parent, so there is nothing in common. The top level has `quantile` instead of p / b.
        """
        found = np.zeros((*edges.shape, edges.shape[1]))
        for level, deviation in enumerate(noise):
            position = edges / self.branching ** (self.height - level - 1)
            # An edge between two parents is the end of the first one: its f are all 1.
            parent = np.zeros_like(position)
            if level:
                parent = np.maximum(np.ceil(position / self.branching) - 1, 0)
            inner = position - parent * self.branching
            low = np.minimum(inner[:, :, None], inner[:, None, :])
            high = np.maximum(inner[:, :, None], inner[:, None, :])
            whole = np.floor(low)
            both = whole + (low - whole) * (high - whole).clip(0, 1)
            if level:
                shared = both - low * high / self.branching
                shared *= parent[:, :, None] == parent[:, None, :]
            else:
                shared = both - quantile * (low + high) + quantile**2 * self.branching
            found += deviation**2 * shared
        return found

    def influence(self, quantile: float, edges: Floats, noise: Sequence[float]) -> Floats:
        """The coefficients of `deviations` at one edge per group, times the noise of each cell."""
        columns = []
        parent = np.full((len(edges), 1), quantile)
        for level, deviation in enumerate(noise):
            size = self.branching ** (self.height - level - 1)
            starts = np.arange(self.branching ** (level + 1)) * size
            below = ((edges[:, None] - starts) / size).clip(0, 1)
            siblings = below.reshape(len(edges), starts.size // self.branching, self.branching)
            columns.append(((siblings - parent[:, :, None]) * deviation).reshape(below.shape))
            parent = below
        return np.concatenate(columns, axis=1)


@lru_cache(maxsize=256)
def _rank_error(tree: Tree, quantile: float) -> float:
    squares = tree.deviations(quantile, [1.0] * tree.height)[1:-1] ** 2
    return math.sqrt(float(squares.mean())) if squares.size else 1.0


def _root(cells: int, height: int) -> int:
    """The least branching that makes for so many cells."""
    found = max(1, math.floor(math.pow(cells, 1 / height)))
    while found**height < cells:
        found += 1
    return found

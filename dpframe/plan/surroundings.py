"""Cells that grow around chosen positions on a grid: where rows are counted once these are known.

Next to a position cells are as fine as the grid, and each further one is as wide as all of those
between it and the position. So a few dozen cells reach over the whole grid, and tell at every
distance, to within a factor of 2, how many rows lie that near.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

RATIO = 2
"""By how much the distance grows from one edge to the next.

Fewer cells have less noise together, but say less of where their rows lie, so error bars end at
edges: they are about `sqrt(cells) * (RATIO - 1) / log(RATIO)` wide, which is least near 2.
"""


class Surroundings(NamedTuple):
    """What is released of a grid with chosen positions: a row for each group."""

    positions: NDArray[Any]
    edges: NDArray[Any]
    """Rising numbers of cells of the grid: from the first, to the end."""
    counts: NDArray[Any]
    """Rows between an edge and the next."""

    @classmethod
    def of(cls, rows: NDArray[Any], positions: int) -> Surroundings:
        """Take apart rows that hold all three, one after the other, with so many positions."""
        edges = (rows.shape[1] - positions + 1) // 2
        first, second, third = np.split(rows, [positions, positions + edges], axis=1)
        return cls(first, second, third)


def number_of_edges(positions: int, size: int) -> int:
    """How many edges there are around so many positions on a grid of `size` cells."""
    return min(2 * positions * len(_distances(size)), size + 1)


def edges_around(cells: Integers, size: int) -> Integers:
    """The edges around the cells that chosen positions lie in: a row for each group.

    Cells never fall along a row. Between two of them, edges belong to the nearer one. They are
    public wherever the cells are. Rows have equally many edges: what is missing is the last edge
    again, so that nothing lies between.

    >>> edges_around(np.array([[5]]), size=20).tolist()
    [[0, 1, 3, 4, 5, 6, 7, 8, 10, 14, 20, 20, 20, 20]]
    >>> edges_around(np.array([[2, 3]]), size=5).tolist()
    [[0, 1, 2, 3, 4, 5]]
    """
    steps = _distances(size)
    middles = (cells[:, :-1] + 1 + cells[:, 1:]) // 2
    ends = np.zeros((len(cells), 1), dtype=np.int64)
    first = np.concatenate([ends, middles], axis=1)[:, :, None]
    last = np.concatenate([middles, ends + size], axis=1)[:, :, None]
    both = [cells[:, :, None] - steps[::-1], cells[:, :, None] + 1 + steps]
    edges = np.concatenate(both, axis=2).clip(first, last)
    edges = edges.reshape(len(cells), 2 * steps.size * cells.shape[1])
    edges[:, 1:][edges[:, 1:] == edges[:, :-1]] = size
    found: Integers = np.sort(edges, axis=1)[:, : number_of_edges(cells.shape[1], size)]
    return found


def _distances(size: int) -> Integers:
    """From 0 on, until the whole grid is within reach."""
    found = [0, 1]
    while found[-1] < size:
        found.append(found[-1] * RATIO)
    return np.array(found, dtype=np.int64)

"""Counts that could be counts: not negative, whole, and with a total that they add up to.

Noise makes some counts negative. Raising these to 0 alone makes the total too large: by about 0.4
standard deviations for every empty bin. Here the nearest counts of the same total are taken. What
is not linear is biased: nearly empty bins still come out too large on average, and now the others
too small by as much together.
"""

from __future__ import annotations

import numpy as np

from dpframe.release.ladder import Floats


def nearest_counts(counts: Floats, total: float | None = None) -> Floats:
    """Whole counts of at least 0, nearest to these; a row per group.

    They add up to `total` over all groups, or else, in each group, to the sum that they have.
    """
    if total is not None:
        return _whole(_on_simplex(counts.ravel(), total), total).reshape(counts.shape)
    rows = []
    for row in counts:
        sum_of_row = max(0.0, float(np.rint(row.sum())))
        rows.append(_whole(_on_simplex(row, sum_of_row), sum_of_row))
    return np.array(rows).reshape(counts.shape)


def _on_simplex(counts: Floats, total: float) -> Floats:
    """The nearest point whose coordinates are not negative and add up to a total.

    It is the counts less one constant, raised to 0 where that is negative (Held et al. 1974).

    >>> _on_simplex(np.array([5.0, 3.0, -2.0]), 6.0).tolist()
    [4.0, 2.0, 0.0]
    """
    if not counts.size:
        return counts
    falling = np.sort(counts)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(counts) + 1)
    kept = int(np.nonzero(falling - excess >= 0)[0][-1]) if total > 0 else 0
    return np.maximum(counts - excess[kept], 0) if total > 0 else np.zeros_like(counts)


def _whole(counts: Floats, total: float) -> Floats:
    """Whole numbers that add up: those with the largest fractions are rounded up.

    >>> _whole(np.array([1.5, 0.75, 0.75]), 3).tolist()
    [1.0, 1.0, 1.0]
    """
    floors = np.floor(counts)
    missing = round(float(total - floors.sum()))
    order = np.argsort(floors - counts, kind="stable")
    floors[order[: max(0, missing)]] += 1
    return floors

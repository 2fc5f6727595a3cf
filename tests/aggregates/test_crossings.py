"""Tests of edges together: they miss at their rate, whether cells are empty, light or heaps."""

from __future__ import annotations

import numpy as np
import pytest

from dpframe.aggregates.crossings import Gaps

RELEASES, CELLS, Q = 4_000, 16, 0.5

PROFILES = {
    # Rows in cells on either side of the middle edge, which is the last one before the quantile.
    "empty": [0] * 5,
    "light": [0.1, 0.2, 0.4, 0.8, 1.6],
    "even": [1] * 5,
    "heap": [50, 0, 0, 0, 0],
    "small heap": [5, 0, 0, 0, 0],
    "heap further off": [0, 0, 0, 50, 0],
}
LEAST = {"empty": 0.1, "heap further off": 0.2}
"""Where next to nothing is counted, noise at all edges at once is what a bar takes to miss."""


def released(rows: list[float], seed: int = 0) -> tuple[Gaps, int]:
    """Gaps of 0 at the middle edge, with the noise of cells."""
    middle = CELLS // 2
    sides = [*rows, *[30.0] * (middle - len(rows))]
    true = np.concatenate([-np.cumsum(sides)[::-1], [0.0], np.cumsum(sides)])
    walks = np.cumsum(np.random.default_rng(seed).normal(size=(RELEASES, CELLS)), axis=1)
    walks = np.concatenate([np.zeros((RELEASES, 1)), walks], axis=1)
    below = np.arange(CELLS + 1.0)
    one, other = below[:, None], below[None, :]
    shared = (1 - Q) * np.minimum(one, other) - Q * np.maximum(one, other) + Q**2 * CELLS
    sure = np.zeros((RELEASES, CELLS + 1))
    sure[:, 0], sure[:, -1] = -np.inf, np.inf
    gaps = true + walks - Q * walks[:, -1:]
    return Gaps(gaps, sure, np.broadcast_to(shared, (RELEASES, *shared.shape)).copy()), middle


@pytest.mark.parametrize("kind", [*PROFILES])
@pytest.mark.parametrize("tail", [0.05, 0.2])
def test_the_true_cell_is_left_out_about_as_often_as_stated(kind: str, tail: float) -> None:
    """The cell that ends at the middle edge, from the left; the one that starts there, from the right."""
    gaps, middle = released(PROFILES[kind])
    rising, falling = gaps.scores()
    cut = {0.05: 1.645, 0.2: 0.842}[tail]
    # Both sides mirror one another, so they miss with the same probability.
    missed = ((rising[:, middle] < -cut).mean() + (falling[:, middle] > cut).mean()) / 2
    assert LEAST.get(kind, 0.4) * tail <= missed <= 1.4 * tail, (kind, missed)


def test_scores_rise_along_the_edges() -> None:
    rising, falling = released(PROFILES["light"])[0].scores()
    for scores in (rising, falling):
        assert (np.diff(scores, axis=1) >= 0).all()
    assert (rising[:, -1] > 5).all()
    assert (falling[:, 0] < -5).all()


def test_next_to_light_cells_it_is_nearer_to_the_rate_than_each_edge_by_itself() -> None:
    gaps, middle = released(PROFILES["light"])
    alone = np.maximum.accumulate(gaps.gaps / gaps.deviations, axis=1)[:, middle]
    together = gaps.scores()[0][:, middle]
    assert (alone < -1.645).mean() < 0.7 * (together < -1.645).mean()


def test_without_groups_there_are_no_scores() -> None:
    none = Gaps(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 3, 3)))
    assert [scores.shape for scores in none.scores()] == [(0, 3), (0, 3)]

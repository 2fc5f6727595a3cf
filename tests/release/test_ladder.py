"""Counts on several levels: the least squares solution, its covariance, and how errors grow."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpframe.release.ladder import Ladder, shapes


def matrix(ladder: Ladder) -> np.ndarray:
    """What adds up bins for each level, one level under another."""
    levels = [np.eye(int(cells.max()) + 1)[cells].T for cells in ladder.cells]
    return np.vstack([np.eye(ladder.bins), *levels])


CASES = [(n, shape) for n in (3, 7, 16, 40) for shape in shapes(n)]


@pytest.mark.parametrize(("bins", "shape"), CASES)
def test_the_estimate_is_that_of_least_squares(bins: int, shape: tuple[int, int]) -> None:
    ladder = Ladder.over(np.arange(bins), *shape)
    adding = matrix(ladder)
    assert np.allclose(ladder.spread, np.linalg.inv(adding.T @ adding))
    counts = np.random.default_rng(1).normal(size=(5, len(adding)))
    levels = np.split(counts, np.cumsum(ladder.sizes)[:-1], axis=1)
    assert np.allclose(ladder.estimate(levels), counts @ np.linalg.pinv(adding).T)


@pytest.mark.parametrize(("bins", "shape"), [*CASES, (9, None)])
def test_the_variance_of_ranges_is_the_average_over_all(
    bins: int, shape: tuple[int, int] | None
) -> None:
    ladder = Ladder(bins) if shape is None else Ladder.over(np.arange(bins), *shape)
    runs = [(i, j) for i in range(bins) for j in range(i + 1, bins + 1)]
    rows = np.array([[float(i <= k < j) for k in range(bins)] for i, j in runs])
    assert math.isclose(
        ladder.range_variance(), np.einsum("ij,jk,ik->i", rows, ladder.spread, rows).mean()
    )


def test_bins_that_no_value_is_in_may_be_missing() -> None:
    numbers = np.array([0, 1, 4, 9, 10])
    ladder = Ladder.over(numbers, 3, 3)
    assert ladder.sizes == [5, 3, 2]
    assert [cells.tolist() for cells in ladder.cells] == [[0, 0, 1, 2, 2], [0, 0, 0, 1, 1]]
    exact = [np.array([[5.0, 1, 2, 0, 7]]), np.array([[6.0, 2, 7]]), np.array([[8.0, 7]])]
    assert np.allclose(ladder.estimate(exact), exact[0])
    assert Ladder.over(numbers[:0], 3, 3).sizes == [0]


@pytest.mark.parametrize("norm", [1, 2])
def test_the_error_of_a_range_grows_with_the_logarithm_of_the_bins(norm: int) -> None:
    """Levels that share a cost: under Laplace noise each has `height` times the deviation."""

    def best(bins: int) -> float:
        return min(
            math.sqrt(Ladder.over(np.arange(bins), *shape).range_variance())
            * shape[1] ** (1 / norm)
            for shape in shapes(bins)
        )

    sizes = [16, 64, 256, 1000]
    flat = [math.sqrt(Ladder(bins).range_variance()) for bins in sizes]
    errors = [best(bins) for bins in sizes]
    # Each step has four times the bins: twice the error if they are added up one by one.
    assert all(1.9 < later / earlier < 2.1 for earlier, later in itertools.pairwise(flat))
    steps = [later - earlier for earlier, later in itertools.pairwise(errors)]
    assert all(later / earlier < 1.6 for earlier, later in itertools.pairwise(errors))
    assert max(steps) < 3  # about the same for each step, as a logarithm has it
    assert errors[-1] < flat[-1] / 2

"""Counts that could be counts: the nearest ones that are not negative, whole and add up."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import optimize

from dpframe.release.nonnegative import _on_simplex, nearest_counts

TABLES = arrays(
    np.float64, st.tuples(st.integers(1, 4), st.just(4)), elements=st.floats(-100, 100, width=32)
)
COUNTS = arrays(np.float64, st.integers(1, 8), elements=st.floats(-100, 100, width=32))


@given(COUNTS, st.integers(0, 300))
def test_it_is_the_nearest_point_of_that_total(counts: np.ndarray, total: int) -> None:
    found = _on_simplex(counts, total)
    assert (found >= 0).all()
    assert np.isclose(found.sum(), total)
    # Where something is left, all moved alike; the others would be below 0 (Karush, Kuhn, Tucker).
    kept = found > 0
    moved = counts - found
    if kept.any():
        assert np.allclose(moved[kept], moved[kept][0], atol=1e-9)
        assert (moved[~kept] <= moved[kept][0] + 1e-9).all()


def test_it_agrees_with_a_solver() -> None:
    counts = np.array([12.0, -3.0, 0.5, 7.25, -9.0])
    best = optimize.minimize(
        lambda x: ((x - counts) ** 2).sum(),
        np.full(5, 2.0),
        bounds=[(0, None)] * 5,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 10},
    )
    assert np.allclose(_on_simplex(counts, 10.0), best.x, atol=1e-4)


@given(TABLES)
def test_counts_are_whole_and_each_group_keeps_its_sum(counts: np.ndarray) -> None:
    found = nearest_counts(counts)
    assert (found >= 0).all()
    assert (found == np.rint(found)).all()
    assert found.sum(axis=1).tolist() == np.maximum(np.rint(counts.sum(axis=1)), 0).tolist()


@given(COUNTS, st.integers(0, 300))
def test_a_public_total_is_met(counts: np.ndarray, total: int) -> None:
    found = nearest_counts(counts.reshape(1, -1), total)
    assert found.sum() == total
    assert (found >= 0).all()

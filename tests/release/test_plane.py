"""Cells, margins and levels of a plane: the least squares solution, its covariance, its errors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpframe.plan.shown import Levels, Shape
from dpframe.release.plane import Plane, weights_of

SHAPES: list[tuple[int, int, Levels | None]] = [
    (3, 4, None),
    (3, 4, Levels((None, None), margins=True)),
    (1, 5, Levels((None, None), margins=True)),
    (6, 2, Levels((None, None), margins=True)),
    (7, 5, Levels(((3, 2), None))),
    (7, 5, Levels((None, (2, 3)))),
    (4, 9, Levels(((2, 2), (3, 2)))),
    (8, 8, Levels(((2, 3), (2, 3)))),
]


def adding(bins: int, shape: Shape) -> list[np.ndarray]:
    """For each level of an axis, the matrix that adds up its bins."""
    branching, height = shape or (1, 1)
    return [
        np.eye(math.ceil(bins / branching**level))[np.arange(bins) // branching**level].T
        for level in range(height)
    ]


def matrix(n: int, m: int, levels: Levels | None) -> np.ndarray:
    """What adds up cells for each grouping, one grouping under another."""
    if levels is not None and levels.margins:
        rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))
        return np.vstack([np.eye(n * m), rows, columns])
    shapes = (None, None) if levels is None else levels.shapes
    pairs = itertools.product(adding(n, shapes[0]), adding(m, shapes[1]))
    return np.vstack([np.kron(a, b) for a, b in pairs])


@pytest.mark.parametrize(("n", "m", "levels"), SHAPES)
def test_the_estimate_is_that_of_least_squares(n: int, m: int, levels: Levels | None) -> None:
    plane, whole = Plane.over([np.arange(n), np.arange(m)], levels), matrix(n, m, levels)
    sizes = [a * b for a, b in plane.sizes]
    assert sum(sizes) == len(whole)
    measured = np.random.default_rng(2).normal(size=(3, len(whole)))
    parts = np.split(measured, np.cumsum(sizes)[:-1], axis=1)
    counts = [p.reshape(3, *size) for p, size in zip(parts, plane.sizes, strict=True)]
    expected = measured @ np.linalg.pinv(whole).T
    assert np.allclose(plane.estimate(counts).reshape(3, -1), expected)
    spread = np.linalg.inv(whole.T @ whole)
    shares = spread.sum(axis=0) / spread.sum()
    assert np.allclose(plane.shares.ravel(), shares)


@pytest.mark.parametrize(("n", "m", "levels"), SHAPES)
def test_variances_are_averages_over_all(n: int, m: int, levels: Levels | None) -> None:
    plane, whole = Plane.over([np.arange(n), np.arange(m)], levels), matrix(n, m, levels)
    spread = np.linalg.inv(whole.T @ whole)

    def variance(first: int, last: int, left: int, right: int) -> float:
        inside = np.zeros((n, m))
        inside[first:last, left:right] = 1
        return float(inside.ravel() @ spread @ inside.ravel())

    rows = list(itertools.combinations(range(n + 1), 2))
    columns = list(itertools.combinations(range(m + 1), 2))
    each = [variance(*r, *c) for r in rows for c in columns]
    assert math.isclose(plane.range_variance(), np.mean(each))
    cells = [variance(i, i + 1, j, j + 1) for i in range(n) for j in range(m)]
    assert math.isclose(plane.cell_variance(), np.mean(cells))
    margins = [variance(i, i + 1, 0, m) for i in range(n)]
    margins += [variance(0, n, j, j + 1) for j in range(m)]
    assert math.isclose(plane.margin_variance(), np.mean(margins))


@pytest.mark.parametrize("groups", [None, 1, 3])
@pytest.mark.parametrize("margins", [False, True])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (4, 1), (1, 5), (4, 5)])
def test_the_error_of_a_rectangle_is_made_of_the_counts_that_matter(
    size: tuple[int, int], margins: bool, groups: int | None
) -> None:
    """The weights of least squares, and of a public total that all cells share, written out."""
    n, m = 4, 5
    levels = Levels((None, None), margins=True) if margins else None
    plane, one = Plane.over([np.arange(n), np.arange(m)], levels), matrix(n, m, levels)
    planes = groups or 1
    estimate = np.kron(np.eye(planes), np.linalg.pinv(one))
    if groups is not None:
        cells = planes * n * m
        estimate = (np.eye(cells) - np.full((cells, cells), 1 / cells)) @ estimate
    inside = np.zeros((planes, n, m))
    inside[0, : size[0], : size[1]] = 1
    expected = inside.ravel() @ estimate
    terms = [np.full(count, weight) for weight, count in weights_of(plane, size, groups)]
    found = np.concatenate([np.zeros(0), *terms])
    expected = expected[np.abs(expected) > 1e-12]
    found = found[np.abs(found) > 1e-12]
    assert np.allclose(np.sort(found), np.sort(expected))


@pytest.mark.parametrize("norm", [1, 2])
def test_margins_pay_for_many_rows_and_columns(norm: int) -> None:
    """Three groupings share the cost; a margin is then nearly one count, whatever their number.

    Under Laplace noise that takes three times the deviation, more than few cells add up to.
    """
    levels = Levels((None, None), margins=True)

    def gain(bins: int) -> float:
        numbers = [np.arange(bins), np.arange(bins)]
        counted = Plane.over(numbers, levels).margin_variance()
        flat = Plane.over(numbers, None).margin_variance()
        return math.sqrt(counted / flat) * levels.groupings ** (1 / norm)

    assert (gain(2) > 1) == (norm == 1)
    assert gain(30) < 0.6
    assert gain(900) < 0.1 * (1 if norm == 1 else 0.6)

"""A tree of counts: its shape, its ranks, and the noise that it claims for them."""

from __future__ import annotations

import numpy as np
import pytest

from dpframe.aggregates.tree import Tree
from dpframe.plan.coding import Coding
from dpframe.plan.exprs import Column

SHAPES = [(1, 4096), (2, 4096), (111, 4096), (366, 4096), (5000, 4096), (2**30, 4096), (2**30, 16)]


def tree(codes: int, most: int = 4096) -> Tree:
    return Tree.over(Coding(-7, codes - 8, 0, is_integer=True), most)


def levels(made: Tree, codes: np.ndarray) -> list[np.ndarray]:
    """The exact counts of every level, of one group."""
    found = []
    for part in made.parts(Column("x"), None).values():
        counts = np.bincount((codes - part.coding.low) // part.width, minlength=part.size)
        found.append(counts.astype(float)[None, :])
    return found


@pytest.mark.parametrize(("codes", "most"), SHAPES)
def test_the_cells_of_every_level_cover_the_range(codes: int, most: int) -> None:
    made = tree(codes, most)
    for part in made.parts(Column("x"), None).values():
        assert part.width * part.size >= codes
        assert (codes - 1) // part.width < part.size
    assert made.size < 2 * most
    assert (made.width == 1) == (codes <= most)


def test_few_codes_are_one_level_and_many_are_three() -> None:
    assert [tree(n).height for n in (10, 111, 1000, 4096, 2**30)] == [1, 2, 2, 3, 3]


@pytest.mark.parametrize(("codes", "most"), SHAPES)
def test_without_noise_ranks_are_counts_of_rows_below(codes: int, most: int) -> None:
    made = tree(codes, most)
    rows = np.random.default_rng(1).integers(-7, codes - 7, 500)
    ranks = made.ranks(levels(made, rows))[0]
    edges = made.coding.low + np.arange(made.size + 1) * made.width
    assert np.allclose(ranks, [(rows < edge).sum() for edge in edges])


def test_ranks_never_fall_whatever_the_noise() -> None:
    made = tree(2**30, 256)
    random = np.random.default_rng(2)
    noisy = [
        random.normal(0, 50, (200, part.size)) for part in made.parts(Column("x"), None).values()
    ]
    ranks = made.ranks(noisy)
    assert (np.diff(ranks, axis=1) >= 0).all()
    assert (ranks[:, 0] == 0).all()


@pytest.mark.parametrize("quantile", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("codes", [9, 111, 5000])
def test_the_claimed_deviation_is_the_length_of_the_influence(codes: int, quantile: float) -> None:
    made = tree(codes, 1000)
    noise = [1.0, 2.0, 4.0][: made.height]
    claimed = made.deviations(quantile, noise)
    edges = np.arange(made.size + 1)
    lengths = np.linalg.norm(made.influence(quantile, edges.astype(float), noise), axis=1)
    assert np.allclose(claimed, lengths)


@pytest.mark.parametrize("codes", [9, 111, 5000])
def test_covariances_are_the_products_of_influences(codes: int) -> None:
    made = tree(codes, 1000)
    noise = [1.0, 2.0, 4.0][: made.height]
    # Ends, borders between parents, and edges inside them.
    edges = np.unique([0, 1, 3, made.branching, made.size // 2, made.size - 1, made.size])
    moves = made.influence(0.3, edges.astype(float), noise)
    found = made.covariances(0.3, np.array([edges, edges[::-1]], dtype=float), noise)
    assert np.allclose(found[0], moves @ moves.T)
    assert np.allclose(found[1], (moves @ moves.T)[::-1, ::-1])


def test_the_influence_is_that_of_the_rank_before_it_is_smoothed() -> None:
    """Plain sums over consistent cells, computed cell by cell, are the linear form it claims."""
    made = tree(1000, 1000)
    random = np.random.default_rng(3)
    counts = [random.normal(100, 5, (1, p.size)) for p in made.parts(Column("x"), None).values()]
    cells = counts[0][0]
    for level in counts[1:]:
        children = level[0].reshape(-1, made.branching)
        cells = (children + (cells - children.sum(axis=1))[:, None] / made.branching).ravel()
    for edge in (0, 1, 17, 500, 731, made.size):
        form = made.influence(0.3, np.array([float(edge)]), [1.0] * made.height)[0]
        linear = form @ np.concatenate([level[0] for level in counts])
        assert linear == pytest.approx(cells[:edge].sum() - 0.3 * cells.sum())

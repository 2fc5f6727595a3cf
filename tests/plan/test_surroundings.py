"""Cells around chosen positions: one partition of the grid, whatever the positions are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpframe.plan.surroundings import Surroundings, edges_around, number_of_edges


@st.composite
def chosen(draw: st.DrawFn) -> tuple[list[int], int]:
    size = draw(st.integers(1, 3_000))
    cells = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=8))
    return sorted(cells), size


@given(chosen())
def test_edges_cut_the_whole_grid_into_cells(given: tuple[list[int], int]) -> None:
    cells, size = given
    (edges,) = edges_around(np.array([cells]), size)
    assert edges[0] == 0
    assert edges[-1] == size
    assert (np.diff(edges) >= 0).all()
    assert edges.size == number_of_edges(len(cells), size)


@given(chosen())
def test_each_chosen_cell_is_a_cell_of_its_own(given: tuple[list[int], int]) -> None:
    cells, size = given
    (edges,) = edges_around(np.array([cells]), size)
    assert set(cells) <= set(edges.tolist())
    assert {cell + 1 for cell in cells} <= set(edges.tolist())


@given(chosen())
def test_no_cell_is_wider_than_it_is_far_from_a_chosen_one(given: tuple[list[int], int]) -> None:
    cells, size = given
    (edges,) = edges_around(np.array([cells]), size)
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if low not in cells:
            distance = min(min(abs(low - cell - 1), abs(cell - high)) for cell in cells)
            assert high - low <= max(1, distance)


def test_groups_have_edges_of_their_own() -> None:
    cells = np.array([[3, 9], [0, 0], [50, 99]])
    edges = edges_around(cells, 100)
    for row, found in zip(cells, edges, strict=True):
        assert found.tolist() == edges_around(row[None], 100)[0].tolist()


def test_rows_are_taken_apart_as_they_were_put_together() -> None:
    positions, edges, counts = (np.arange(2 * n).reshape(2, n) for n in (3, 6, 5))
    around = Surroundings.of(np.concatenate([positions, edges, counts], axis=1), positions=3)
    for one, other in zip(around, (positions, edges, counts), strict=True):
        assert (one == other).all()

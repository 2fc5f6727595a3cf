"""What noise does not refute of several places: it holds the truth, however places jump."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpframe.release.places import Score, not_refuted

DRAWS, RELEASES, TAIL = 2_000, 3_000, 0.05

Jump = Callable[[np.ndarray], np.ndarray]
PLACES: dict[str, tuple[Jump, Jump]] = {
    "even": (lambda z: z, lambda z: 2 * z),
    "two heaps": (lambda z: np.where(z > 0, 5.0, 0.0), lambda z: np.where(z >= 0, 5.0, 0.0)),
    "far heaps": (lambda z: np.where(z > 1.5, 9.0, z), lambda z: np.where(z < -1.0, -9.0, z)),
    "steps": (np.ceil, lambda z: np.floor(2 * z) / 2),
}
"""Where two places are, by how far noise is above the score that the true one has."""


@pytest.mark.parametrize("correlation", [-0.6, 0.0, 0.6])
@pytest.mark.parametrize("signs", [(1, -1), (1, 1)], ids=["difference", "sum"])
@pytest.mark.parametrize("kind", [*PLACES])
def test_each_end_misses_no_more_often_than_its_tail(
    kind: str, signs: tuple[int, int], correlation: float
) -> None:
    """A column is measured many times: each time redraws lie around other noise."""
    random = np.random.default_rng(1)
    shared = np.linalg.cholesky([[1, correlation], [correlation, 1]])
    noise, drawn = (
        np.einsum("ij,jrn->irn", shared, random.standard_normal((2, rows, RELEASES)))
        for rows in (1, DRAWS)
    )
    values = [
        sign * place(z - z_true)
        for sign, place, z, z_true in zip(signs, PLACES[kind], drawn, noise, strict=True)
    ]
    scores = [Score(z, value) for z, value in zip(drawn, values, strict=True)]
    truth = sum(
        sign * float(place(np.zeros(1))[0]) for sign, place in zip(signs, PLACES[kind], strict=True)
    )
    low, high = not_refuted(sum(values), sum(values), scores, TAIL)
    misses = [float(np.mean(low > truth + 1e-9)), float(np.mean(high < truth - 1e-9))]
    # The weights of places come from the same redraws, which the docstring says the price of.
    chance = 3 * (TAIL * (1 - TAIL) / RELEASES) ** 0.5
    assert max(misses) <= 0.06 + chance
    if kind == "even":  # and ends are no further away than they need be
        assert min(misses) >= TAIL / 2


def test_scores_without_noise_take_no_share_of_the_tail() -> None:
    random = np.random.default_rng(2)
    first, second = random.standard_normal((2, DRAWS, 3))
    values = first - second
    scores = [Score(first, first), Score(second, -second)]
    silent = Score.of_values(np.ones((DRAWS, 3)))
    with_it, without = (not_refuted(values, values, s, TAIL) for s in ([*scores, silent], scores))
    assert np.array_equal(with_it, without)

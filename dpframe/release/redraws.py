"""Redrawing known noise: what the noise-free parts may have been, many times over."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from dpframe.aggregates.base import Place
from dpframe.mechanisms import MeasuredQuantiles, ModeSelection, Source
from dpframe.release.noisy import NoisyParts, group_frame

FEWEST = 20
"""Possible redraws below which an interval is unknown."""

MOST_CELLS = 2_000_000
"""Redrawn values held in memory at a time."""


def number_of_draws(confidence: float) -> int:
    """How many redraws an interval takes."""
    return min(20_000, max(2_000, math.ceil(100 / (1 - confidence))))


def quantiles(table: np.ndarray, tail: float) -> tuple[np.ndarray, np.ndarray]:
    """Outer order statistics of the redraws that have a value (not NULL), column by column.

    Conditioning on these is what a flat prior on possible truths gives. The fewer they are, the
    less they tell of the truth, so the tails that are cut off shrink with their share; simulated
    coverage fell below the stated rate without this. Where hardly any has a value, nothing is known.
    """
    draws, columns = table.shape[0], np.arange(table.shape[1])
    counts = (~np.isnan(table)).sum(axis=0)
    beyond = np.floor(counts * tail * (counts / draws)).astype(int)
    first, last = beyond.clip(max=draws - 1), (counts - 1 - beyond).clip(min=0)
    places = np.unique(np.concatenate([first, last]))
    # NaN goes last. Where all columns look at the same few places, there is no need to sort.
    few = 0 < places.size <= FEWEST
    ordered = np.partition(table, places, axis=0) if few else np.sort(table, axis=0)
    known = counts >= max(FEWEST, draws // 100)
    low = np.where(known, ordered[first, columns], -np.inf)
    high = np.where(known, ordered[last, columns], np.inf)
    return low, high


def redrawn_parts(
    parts: NoisyParts,
    groups: list[int],
    draws: int,
    source: Source,
    places: set[int],
    *,
    alike: bool,
    inside: bool = False,
) -> pl.DataFrame:
    """What the noise-free parts may have been: `draws` copies of all groups, one after the other.

    With `alike`, groups share their redraws, which is quicker: each may be looked at by itself.
    Of places on grids only these are found, and the others are NULL. They are at the ends of the
    cells that they may lie in, or `inside` them.
    """
    frame = group_frame(parts, np.tile(np.array(groups, dtype=np.int64), draws).tolist())
    columns = _possible_places(parts, groups, draws, source, places, inside=inside)
    unread = pl.Series([None], dtype=pl.Float64).new_from_index(0, frame.height)
    columns += [unread.alias(f"q{number}") for number in parts.places() if number not in places]
    for i in parts.single():
        law = parts.laws[i]
        estimate = np.tile(parts.estimates(i)[groups], draws)
        if law is not None and not isinstance(law, MeasuredQuantiles | ModeSelection):
            noise = law.draw(draws if alike else len(estimate), source).astype(float)
            noise = np.repeat(noise, len(groups)) if alike else noise
            estimate = estimate - noise * parts.layout.step(i)
        columns.append(pl.Series(f"p{i}", estimate))
    recipes = (recipe for recipe in parts.layout.recipes if recipe.nearest is not None)
    compared = {part for recipe in recipes for part in recipe.parts.values()}
    for i, part in enumerate(parts.layout.parts):
        if part in compared:
            columns.append(pl.Series(f"m{i}", np.tile(parts.estimates(i)[groups], draws)))
    return frame.with_columns(columns)


def _possible_places(
    parts: NoisyParts,
    groups: list[int],
    draws: int,
    source: Source,
    places: set[int],
    *,
    inside: bool,
) -> list[pl.Series]:
    """Where these places on grids may have been, as columns.

    A count of rows below a place is a sum over many cells, so its noise is close to normal, with a
    deviation and correlations that are known. Drawing that instead of the noise of every cell is
    thousands of times quicker.
    """
    random = source.floats()
    columns = []
    for members in _sharing(parts, places).values():
        counts = [parts.estimates(i)[groups] for i in members[0][2]]
        deviations = [parts.deviation(i) for i in members[0][2]]
        rows = np.stack([place.influence(counts, deviations) for _, place, _ in members], axis=1)
        sizes = np.linalg.norm(rows, axis=2, keepdims=True)
        rows = rows / np.where(sizes > 0, sizes, 1)
        correlations = rows @ rows.transpose(0, 2, 1)
        # A place at the very end of the range is where no count moves it, yet others are possible.
        numbers = np.arange(len(members))
        correlations[:, numbers, numbers] = 1
        drawn = _correlated(correlations, draws, random)
        for place_number, (number, place, _) in enumerate(members):
            at = drawn[place_number]
            where = random.random(at.shape) if inside else None
            found = place.possible(counts, deviations, at, where)
            columns.append(pl.Series(f"q{number}", found.ravel()))
    return columns


def _sharing(
    parts: NoisyParts, places: set[int]
) -> dict[tuple[int, ...], list[tuple[int, Place, tuple[int, ...]]]]:
    """These places by the parts that they share."""
    found: dict[tuple[int, ...], list[tuple[int, Place, tuple[int, ...]]]] = {}
    for number, (place, indices) in parts.places().items():
        if number in places:
            found.setdefault(indices, []).append((number, place, indices))
    return found


def _correlated(correlations: np.ndarray, draws: int, random: np.random.Generator) -> np.ndarray:
    """Normal numbers for each place, draw and group, with a matrix of correlations per group."""
    values, vectors = np.linalg.eigh(correlations)
    roots = vectors * np.sqrt(values.clip(0))[:, None, :]
    independent = random.standard_normal((draws, *correlations.shape[:2]))
    drawn: np.ndarray = np.einsum("gij,dgj->idg", roots, independent)
    return drawn

"""Redrawing known noise: what the noise-free parts may have been, many times over."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from dpframe.mechanisms import MeasuredQuantiles, ModeSelection, Source
from dpframe.release.noisy import NoisyParts, group_frame

FEWEST = 20
"""Possible redraws below which an interval is unknown."""

MOST_CELLS = 2_000_000
"""Redrawn values held in memory at a time."""


def number_of_draws(confidence: float) -> int:
    """How many redraws an interval takes."""
    return min(20_000, max(2_000, math.ceil(100 / (1 - confidence))))


def quantiles(table: np.ndarray, tail: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Outer order statistics of the redraws that have a value (not NULL), column by column.

    Conditioning on these is what a flat prior on possible truths gives. The fewer they are, the
    less they tell of the truth, so the tails that are cut off shrink with their share; simulated
    coverage fell below the stated rate without this. Where hardly any has a value, nothing is known.
    """
    draws, columns = table.shape[0], np.arange(table.shape[1])
    counts = (~np.isnan(table)).sum(axis=0)
    beyond = np.floor(counts * tail * (counts / draws)).astype(int)
    first, last = beyond.clip(max=draws - 1), (counts - 1 - beyond).clip(min=0)
    # NaN goes last. Sorting what lies in a row takes less than half of partitioning columns.
    ordered = table.T.copy()
    ordered.sort(axis=1)
    known = counts >= max(FEWEST, draws // 100)
    low = np.where(known, ordered[columns, first], -np.inf)
    high = np.where(known, ordered[columns, last], np.inf)
    return low, high


def redrawn_parts(
    parts: NoisyParts, groups: list[int], draws: int, source: Source, *, alike: bool
) -> pl.DataFrame:
    """What the noise-free parts may have been: `draws` copies of all groups, one after the other.

    With `alike`, groups share their redraws, which is quicker: each may be looked at by itself.
    """
    frame = group_frame(parts, np.tile(np.array(groups, dtype=np.int64), draws))
    columns = []
    for i in parts.single():
        law = parts.laws[i]
        estimate = np.tile(parts.estimates(i)[groups], draws)
        if law is not None and not isinstance(law, MeasuredQuantiles | ModeSelection):
            noise = law.draw(draws if alike else len(estimate), source).astype(float)
            noise = np.repeat(noise, len(groups)) if alike else noise
            estimate = estimate - noise * parts.layout.step(i)
        columns.append(pl.Series(f"p{i}", estimate))
    recipes = (recipe for recipe in parts.layout.recipes if recipe.redrawn is not None)
    compared = {part for recipe in recipes for part in recipe.parts.values()}
    for i, part in enumerate(parts.layout.parts):
        if part in compared:
            columns.append(pl.Series(f"m{i}", np.tile(parts.estimates(i)[groups], draws)))
    return frame.with_columns(columns)


def with_places(
    parts: NoisyParts, frame: pl.DataFrame, places: Mapping[int, np.ndarray]
) -> pl.DataFrame:
    """Redrawn parts, and beside them places on grids, by number; those that are not given are NULL."""
    unread = pl.Series([None], dtype=pl.Float64).new_from_index(0, frame.height)
    columns = [unread.alias(f"q{number}") for number in parts.places() if number not in places]
    columns += [pl.Series(f"q{number}", place.ravel()) for number, place in places.items()]
    return frame.with_columns(columns)

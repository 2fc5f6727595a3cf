"""Error bars: exact where the law of the noise gives them, else by redrawing the known noise.

The noise of every part is public: its law and its scale. Where a column *is* a part, its interval
is a quantile of that law. Where it is computed from parts, the true parts are the noisy ones less
noise of a known law, so redrawing that noise yields what the truth may be, and the quantiles of the
recomputed column are its interval. For a ratio this is the fiducial (Fieller) interval.

Redrawn parts may be impossible: a negative variance, say. Two readings of them are both honest, and
the interval holds both. Taken as the nearest possible value, an interval still covers at its rate,
but may shrink to a point at the end of what is possible. Left out, it never does, but it would also
never reach a truth at that end. Together they cover at least at the stated rate, and at such an end
by up to half of the rest more, because then only one side can be missed.

Intervals cover the noise. They do not cover clamping to declared ranges, the weighting of units
with more than `max_rows` rows, or values outside declared keys.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from dpframe.errors import ParameterError
from dpframe.mechanisms import Law, Source
from dpframe.plan.exprs import Column
from dpframe.plan.nodes import Project, Regroup
from dpframe.release.above import (
    above,
    carried_to_top,
    looks_at_many_rows,
    noisy_at_top,
    of_many_rows,
    reads,
    unknown_at_top,
)
from dpframe.release.joint import joint_intervals, joint_redraws
from dpframe.release.noisy import NoisyParts, PostProcessing, Redrawn, with_aggregates
from dpframe.release.redraws import MOST_CELLS, number_of_draws, quantiles, redrawn_parts
from dpframe.release.windows import ROW


@np.errstate(over="ignore", invalid="ignore")  # of what lies beyond the largest float
def intervals(
    parts: NoisyParts, finished: pl.DataFrame, confidence: float, source: Source
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Per output column that depends on noise, the low and high ends for every finished row.

    The ends of a day are in days since 1970, those of an instant in microseconds.
    """
    if not isinstance(confidence, float | int) or not 0 < confidence < 1:
        raise ParameterError(
            f"confidence={confidence!r} is not between 0 and 1",
            why="an interval covers the noise-free answer with this probability",
            fix="intervals(0.95)",
        )
    if all(law is None for law in parts.laws):
        return {name: _without_noise(finished, name) for name in _noisy_columns(parts, finished)}
    exact = _single_parts(parts)
    plan, aggregates = parts.compiled.plan, {name for name, _ in parts.compiled.aggregates}
    of_many, unknown = of_many_rows(plan), unknown_at_top(plan, aggregates)
    found = {}
    redrawn, together = [], []
    for name in _noisy_columns(parts, finished):
        if name in unknown:
            ends = np.full(finished.height, np.inf)
            found[name] = -ends, ends
        elif name in of_many:
            together.append(name)
        elif name in exact:
            found[name] = _exact(parts, finished, name, exact[name], float(confidence))
        else:
            redrawn.append(name)
    if together:
        found |= joint_intervals(parts, finished, together, float(confidence), source)
    if redrawn:
        found |= _redrawn(parts, finished, redrawn, float(confidence), source)
    return found


def _noisy_columns(parts: NoisyParts, finished: pl.DataFrame) -> list[str]:
    """Columns of numbers and times computed from at least one aggregate, and from no mode."""
    noisy = noisy_at_top(parts.compiled.plan, {name for name, _ in parts.compiled.aggregates})
    noisy -= mode_columns(parts)
    kinds = {c: finished[c].dtype for c in finished.columns if c in noisy}
    return [c for c, kind in kinds.items() if kind.is_numeric() or kind.is_temporal()]


def mode_columns(parts: NoisyParts) -> set[str]:
    """The columns that read the most frequent value of a group, which has no error bar."""
    found = {
        name
        for (name, _), recipe in zip(parts.compiled.aggregates, parts.layout.recipes, strict=True)
        if recipe.place is not None and not recipe.place.has_bars
    }
    return carried_to_top(parts.compiled.plan, found)


def _single_parts(parts: NoisyParts) -> dict[str, int]:
    """Output columns that are one part, as it is: a count, a sum measured directly."""
    index = {part: i for i, part in enumerate(parts.layout.parts)}
    direct = {}
    for (name, _), recipe in zip(parts.compiled.aggregates, parts.layout.recipes, strict=True):
        i = index[next(iter(recipe.parts.values()))]
        # Averaged or added-up noise has no closed form.
        single = len(recipe.parts) == 1 and recipe.place is None
        if single and isinstance(parts.laws[i], Law | None):
            direct[name] = i
    for node in reversed(above(parts.compiled.plan)):
        if isinstance(node, Regroup):
            direct = {}
        if isinstance(node, Project):
            direct = {
                name: direct[expr.name]
                for name, expr in node.columns
                if isinstance(expr, Column) and expr.name in direct
            }
    return direct


def _exact(
    parts: NoisyParts, finished: pl.DataFrame, name: str, index: int, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    law = parts.laws[index]
    values = finished[name].to_numpy().astype(float)
    if not isinstance(law, Law):
        return values, values
    half_width = law.half_width(confidence) * parts.layout.step(index)
    if parts.layout.bits[index] and finished[name].dtype.is_integer():
        half_width += 0.5  # a weighted count was rounded to a whole number
    return values - half_width, values + half_width


def _without_noise(finished: pl.DataFrame, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Both ends are the value; NaN where there is none."""
    values = finished[name].to_physical().cast(pl.Float64).to_numpy()
    return values, values


def _redrawn(
    parts: NoisyParts, finished: pl.DataFrame, names: list[str], confidence: float, source: Source
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rows = finished[ROW].to_list()
    draws = number_of_draws(confidence)
    chunk = max(1, MOST_CELLS // draws)
    lows: dict[str, list[np.ndarray]] = {name: [] for name in names}
    highs: dict[str, list[np.ndarray]] = {name: [] for name in names}
    apart, chosen = _chosen_columns(parts)
    read = _places_read(parts)
    of_several = {name for name in names if len(read[name]) > 1}
    by_themselves = set(names) - of_several
    tails = {name: (1 - confidence) / (1 if name in apart else 2) for name in names}
    for start in range(0, len(rows), chunk):
        groups = rows[start : start + chunk]
        alone, several = [], []
        if by_themselves:
            places = {place for name in by_themselves for place in read[name]}
            redrawn = redrawn_parts(parts, groups, draws, source, places, alike=True)
            alone.append(_finished(parts, redrawn, "possible"))
            if any(recipe.possible is not None for recipe in parts.layout.recipes):
                alone.append(_finished(parts, redrawn, "nearest"))
        if of_several:
            places = {place for name in of_several for place in read[name]}
            redrawn = redrawn_parts(parts, groups, draws, source, places, alike=True, inside=True)
            several.append(_finished(parts, redrawn, "possible"))
        for name in names:
            ends = []
            for reading in several if name in of_several else alone:
                numbers = reading[name].to_physical().cast(pl.Float64)
                table = numbers.to_numpy().reshape(draws, len(groups))
                with np.errstate(invalid="ignore"):
                    ends.append(quantiles(table, tails[name]))
            lows[name].append(np.min([low for low, _ in ends], axis=0))
            highs[name].append(np.max([high for _, high in ends], axis=0))
    empty = np.zeros(0)
    found = {}
    for name in names:
        low, high = (np.concatenate([empty, *ends[name]]) for ends in (lows, highs))
        if name in chosen:
            place = finished[name].to_physical().cast(pl.Float64).to_numpy()
            low, high = np.fmin(low, place), np.fmax(high, place)
        found[name] = low, high
    return found


def _chosen_columns(parts: NoisyParts) -> tuple[set[str], set[str]]:
    """Columns that come from chosen places and no other noise, and all that come from some.

    What is released for them need not lie in the interval that redraws give, so that is widened to
    hold it. The redraws of the former come from noise that was drawn after the places were chosen:
    whatever these are, each end of the interval misses the truth with probability a at the most. If
    what is released lies to the right of the truth, the widened interval can miss it on the left
    alone; if it lies to the left, on the right alone. So each end may have the whole of 1 -
    confidence.
    """
    places = {number: place for number, (place, _) in parts.places().items()}
    apart, chosen, noisy = set(), set(), set()
    for number, (name, _) in enumerate(parts.compiled.aggregates):
        noisy.add(name)
        if number in places and places[number].is_chosen:
            chosen.add(name)
            if places[number].is_apart:
                apart.add(name)
    for node in reversed(above(parts.compiled.plan)):
        if isinstance(node, Project):
            columns = [(name, expr) for name, expr in node.columns if reads(expr, noisy)]
            others = noisy - apart
            apart = {name for name, expr in columns if not reads(expr, others)}
            chosen = {name for name, expr in columns if reads(expr, chosen)}
            noisy = {name for name, _ in columns}
    return apart, chosen


def _places_read(parts: NoisyParts) -> dict[str, set[int]]:
    """The places on grids that each column is computed from, by number."""
    places = parts.places()
    read = {
        name: {number} & places.keys() for number, (name, _) in enumerate(parts.compiled.aggregates)
    }
    for node in reversed(above(parts.compiled.plan)):
        if isinstance(node, Project):
            read = {
                name: set().union(*(some for c, some in read.items() if reads(expr, {c})))
                for name, expr in node.columns
            }
    return read


def redraws(parts: NoisyParts, draws: int, source: Source) -> pl.DataFrame:
    """What the noise-free table may have been, all groups of it, `draws` times."""
    if looks_at_many_rows(parts.compiled.plan):
        return joint_redraws(parts, draws, source)
    groups = list(range(parts.compiled.groups))
    redrawn = redrawn_parts(parts, groups, draws, source, set(parts.places()), alike=False)
    return _finished(parts, redrawn, "possible").drop(ROW)


def _finished(parts: NoisyParts, frame: pl.DataFrame, redrawn: Redrawn) -> pl.DataFrame:
    """What the noise-free table may have been, from redrawn parts."""
    whole = with_aggregates(parts, frame, redrawn=redrawn)
    return PostProcessing(parts.compiled).apply(whole, keep_all=True)

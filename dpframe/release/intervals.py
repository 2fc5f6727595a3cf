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

Where redrawn parts leave nothing to divide by, the truth may be anything that is possible
(`release.unsure`): intervals reach as far, where that is a share of the redraws above half a tail.
What is computed from several places holds all of them that the noise does not refute jointly
(`release.places`).

Intervals cover the noise. They do not cover clamping to declared ranges, the weighting of units
with more than `max_rows` rows, or values outside declared keys.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import polars as pl

from dpframe.errors import ParameterError
from dpframe.mechanisms import Law, Source
from dpframe.plan.nodes import Node
from dpframe.release.above import looks_at_many_rows, of_many_rows, unknown_at_top
from dpframe.release.columns import (
    chosen_columns,
    noisy_columns,
    places_read,
    plain_aggregates,
    single_parts,
)
from dpframe.release.joint import joint_intervals, joint_redraws
from dpframe.release.noisy import NoisyParts, PostProcessing, Redrawn, measured, with_aggregates
from dpframe.release.places import Score, not_refuted, possible_places
from dpframe.release.redraws import (
    MOST_CELLS,
    number_of_draws,
    quantiles,
    redrawn_parts,
    with_places,
)
from dpframe.release.unsure import Watched, ends_of, farthest, watch
from dpframe.release.windows import ROW


def checked(confidence: float) -> float:
    """A probability, or an error."""
    if isinstance(confidence, float | int) and 0 < confidence < 1:
        return confidence
    raise ParameterError(
        f"confidence={confidence!r} is not between 0 and 1",
        why="an interval covers the noise-free answer with this probability",
        fix="intervals(0.95)",
    )


@np.errstate(over="ignore", invalid="ignore")  # of what lies beyond the largest float
def intervals(
    parts: NoisyParts, finished: pl.DataFrame, confidence: float, source: Source
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Per output column that depends on noise, the low and high ends for every finished row.

    The ends of a day are in days since 1970, those of an instant in microseconds.
    """
    if all(law is None for law in parts.laws):
        return {name: _without_noise(finished, name) for name in noisy_columns(parts, finished)}
    exact = single_parts(parts)
    plan, aggregates = parts.compiled.plan, {name for name, _ in parts.compiled.aggregates}
    of_many, unknown = of_many_rows(plan), unknown_at_top(plan, aggregates)
    found = {}
    redrawn, together = [], []
    for name in noisy_columns(parts, finished):
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
    values = _floats(finished, name)
    return values, values


def _redrawn(
    parts: NoisyParts, finished: pl.DataFrame, names: list[str], confidence: float, source: Source
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rows = finished[ROW].to_list()
    draws = number_of_draws(confidence)
    chunk = max(1, MOST_CELLS // draws)
    lows: dict[str, list[np.ndarray]] = {name: [] for name in names}
    highs: dict[str, list[np.ndarray]] = {name: [] for name in names}
    apart, _ = chosen_columns(parts)
    read = places_read(parts)
    tails = {name: (1 - confidence) / (1 if name in apart else 2) for name in names}
    watched = watch(parts)
    for start in range(0, len(rows), chunk):
        redrawn = _Redrawn(parts, watched, rows[start : start + chunk], draws, source, read, names)
        for name in names:
            low, high = redrawn.interval(name, tails[name])
            lows[name].append(low)
            highs[name].append(high)
    empty = np.zeros(0)
    found = {}
    for name in names:
        low, high = (np.concatenate([empty, *ends[name]]) for ends in (lows, highs))
        # What was chosen need not lie in it, nor what was cut off at the end of what is possible.
        value = _floats(finished, name)
        found[name] = np.fmin(low, value), np.fmax(high, value)
    return found


Table = np.ndarray
"""A number for each redraw and group."""


class _Redrawn:
    """What the noise-free table may have been in some groups, many times over."""

    def __init__(
        self,
        parts: NoisyParts,
        watched: Watched,
        groups: list[int],
        draws: int,
        source: Source,
        read: Mapping[str, set[int]],
        names: list[str],
    ) -> None:
        self._parts, self._watched = parts, watched
        self._shape = draws, len(groups)
        self._several = {name: sorted(read[name]) for name in names if len(read[name]) > 1}
        places = {place for name in names for place in read[name]}
        self._spans = possible_places(parts, groups, draws, source, places)
        self._frame = redrawn_parts(parts, groups, draws, source, alike=True)
        above = PostProcessing(parts.compiled, plan=watched.plan)
        self._measured = above.apply(measured(parts), keep_all=True)[groups]
        self._readings: list[Redrawn] = ["nearest"]
        if any(recipe.possible is not None for recipe in parts.layout.recipes):
            self._readings.append("possible")
        outer = {number: spans.outer() for number, spans in self._spans.items()}
        self._alone = {reading: self._at(outer, reading) for reading in self._readings}
        self._ends = ends_of(parts, self._frame)
        self._farthest = farthest(parts, self._ends)
        self._plain = plain_aggregates(parts)

    def _at(self, places: Mapping[int, Table], reading: Redrawn) -> pl.DataFrame:
        """The finished table, where places on grids lie here."""
        return _finished(self._parts, self._frame, places, reading, self._watched.plan)

    def interval(self, name: str, tail: float) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the error bars of a column, for each group."""
        least, most = self._limits(name, tail)
        found = [self._ends_in(name, tail, reading, least, most) for reading in self._readings]
        lows, highs = zip(*found, strict=True)
        return np.maximum(np.min(lows, axis=0), least), np.minimum(np.max(highs, axis=0), most)

    def _ends_in(
        self, name: str, tail: float, reading: Redrawn, least: np.ndarray, most: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if name in self._several:
            low, high, unsure = self._of_several(name, reading)
        else:
            frame = self._alone[reading]
            low = high = self._column(frame, name)
            unsure = self._watched.unsure(name, frame, self._measured)
        if reading == "possible":
            high = np.where(unsure, np.nan, high)
            low = high if name not in self._several else np.where(unsure, np.nan, low)
        elif unsure.any():
            low, high = np.where(unsure, least, low), np.where(unsure, most, high)
        # Where the measured parts were such, there would be no answer, or one of the other sign.
        # What is left is a selection, so these count twice.
        twice = 0.0 if reading == "possible" else unsure.mean(axis=0)
        rest = np.full(len(least), tail) - twice
        ends = quantiles(high, rest.clip(0))
        if low is not high:
            ends = quantiles(low, rest.clip(0))[0], ends[1]
        if name not in self._several:
            return ends
        jointly = self._jointly(name, tail, reading)
        return np.minimum(ends[0], jointly[0]), np.maximum(ends[1], jointly[1])

    def _limits(self, name: str, tail: float) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest that a column can be, for each group.

        More rows allow for more: a small share of the tail is left for their number.
        """
        ends = self._ends.get(self._plain.get(name, ""))
        if ends is not None:
            low, high = (end.to_numpy().reshape(self._shape) for end in ends)
            if (low == low[0]).all() and (high == high[0]).all():
                return low[0], high[0]
            share = np.full(low.shape[1], tail / 8)
            return quantiles(low, share)[0], quantiles(high, share)[1]
        least, most = self._farthest.get(name, (-math.inf, math.inf))
        return np.full(self._shape[1], least), np.full(self._shape[1], most)

    def _of_several(
        self, name: str, reading: Redrawn, *, likely: bool = False
    ) -> tuple[Table, Table, Table]:
        """Redraws of a column of several places, for both its ends; and where it may be anything.

        Each place may lie anywhere in its cells. So for each redraw the ends are looked for: those
        of the places that it rises with, and the other ones of those that it falls with.
        """
        spans = {number: self._spans[number] for number in self._several[name]}
        first, last = (2, 3) if likely else (0, 1)
        places = {number: span[first] for number, span in spans.items()}
        start = self._column(self._at(places, reading), name)
        ends = [dict(places), dict(places)]
        for number, span in spans.items():
            moved = self._column(self._at({**places, number: span[last]}, reading), name)
            rises = moved >= start
            ends[0][number] = np.where(rises, span[first], span[last])
            ends[1][number] = np.where(rises, span[last], span[first])
        frames = [self._at(end, reading) for end in ends]
        unsure = [self._watched.unsure(name, frame, self._measured) for frame in frames]
        low, high = (self._column(frame, name) for frame in frames)
        return low, high, unsure[0] | unsure[1]

    def _jointly(self, name: str, tail: float, reading: Redrawn) -> tuple[np.ndarray, np.ndarray]:
        """The ends of a column of several places over those that noise does not refute jointly."""
        spans = {number: self._spans[number] for number in self._several[name]}
        low, high, _ = self._of_several(name, reading, likely=True)
        middle = {
            number: 0 * span.first + np.median(span.outer(), axis=0)
            for number, span in spans.items()
        }
        scores = []
        for number, span in spans.items():
            moved = self._column(self._at({**middle, number: span.outer()}, reading), name)
            scores.append(Score(span.normals, moved))
        scores.append(Score.of_values(self._column(self._at(middle, reading), name)))
        return not_refuted(low, high, scores, tail)

    def _column(self, frame: pl.DataFrame, name: str) -> Table:
        return _floats(frame, name).reshape(self._shape)


def _floats(frame: pl.DataFrame, name: str) -> np.ndarray:
    # By another name: methods of a series called "^a$" look for the columns of that pattern.
    found: np.ndarray = frame[name].alias("value").to_physical().cast(pl.Float64).to_numpy()
    return found


def redraws(parts: NoisyParts, draws: int, source: Source) -> pl.DataFrame:
    """What the noise-free table may have been, all groups of it, `draws` times."""
    if looks_at_many_rows(parts.compiled.plan):
        return joint_redraws(parts, draws, source)
    groups = list(range(parts.compiled.groups))
    spans = possible_places(parts, groups, draws, source, parts.places())
    places = {number: span.outer() for number, span in spans.items()}
    redrawn = redrawn_parts(parts, groups, draws, source, alike=False)
    return _finished(parts, redrawn, places, "possible", parts.compiled.plan).drop(ROW)


def _finished(
    parts: NoisyParts,
    frame: pl.DataFrame,
    places: Mapping[int, np.ndarray],
    redrawn: Redrawn,
    plan: Node,
) -> pl.DataFrame:
    """What the noise-free table may have been: from redrawn parts, and places by number."""
    whole = with_aggregates(parts, with_places(parts, frame, places), redrawn=redrawn)
    return PostProcessing(parts.compiled, plan=plan).apply(whole, keep_all=True)

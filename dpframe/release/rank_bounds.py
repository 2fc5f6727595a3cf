"""Which ranks a row may have without the noise."""

from __future__ import annotations

import numpy as np
import polars as pl

from dpframe.bounds.windows import PARTS_OF_RANK
from dpframe.engines import windows as engine
from dpframe.plan.exprs import Expr, Literal, WindowCall
from dpframe.release.above import is_rank, reads
from dpframe.release.windows import DRAW, ROW, Over, identity

_ALIKE = 1.3
"""Noise within this factor counts as equal: then the largest difference of two has the best bound."""

_X, _D, _PART, _NOISE, _SPREAD, _HALF, _SURE = (
    f"{ROW}_{word}" for word in ("x", "d", "part", "noise", "spread", "half", "sure")
)


def is_rank_by_noise(call: Expr, noisy: set[str]) -> bool:
    """Whether it is a rank by a noisy number."""
    if not isinstance(call, WindowCall) or not is_rank(call):
        return False
    return any(reads(by.expr, noisy) for by in call.order)


def rank_bounds(
    over: Over,
    number: int,
    noisy: set[str],
    inputs: pl.DataFrame,
    released: pl.DataFrame,
    confidence: float,
    draws: int,
) -> pl.DataFrame:
    """The least and the largest rank of each released row: columns `least` and `most`.

    With probability `confidence`, no difference of two true numbers is further from that of the
    noisy ones than the half widths of both rows together. Then a row is surely behind those whose
    intervals lie before its own, and surely ahead of those behind.
    """
    _, call = over.node.columns[number]
    by, first = identity(inputs), call.order[0]
    if not by:  # a table of one row
        one, rows_of_it = np.array([1]), np.array([1])
        ends = {end: _part(call, one, rows_of_it) for end in ("least", "most")}
        return pl.DataFrame(ends)
    parted = [engine.partition(number, i) for i in range(len(call.partition))]
    key, sign = engine.order(number, 0), 1.0 if first.descending else -1.0
    score = pl.col(key).to_physical().cast(pl.Float64, strict=False) * sign
    parts = released.select(parted).unique(maintain_order=True) if parted else pl.DataFrame()
    rows = released.select(*by, *parted, score.alias(_X))
    if parted:
        rows = rows.join(parts.with_row_index(_PART), on=parted, how="left", nulls_equal=True)
    else:
        rows = rows.with_columns(pl.lit(0, dtype=pl.UInt32).alias(_PART))
    present = inputs.select(DRAW, *by, score.alias(_D))
    joined = present.join(rows.select(*by, _X, _PART), on=by, nulls_equal=True)
    joined = joined.with_columns((pl.col(_X) - pl.col(_D)).alias(_NOISE))
    stats = joined.group_by(by).agg(
        pl.col(_NOISE).std(ddof=0).alias(_SPREAD),
        (pl.col(_NOISE).count() == pl.len()).alias(_HALF),
        (pl.len() == draws).alias(_SURE),
    )
    known = stats.select(*by, pl.when(_HALF).then(_SPREAD).alias(_SPREAD), _SURE)
    rows = rows.join(known, on=by, how="left", nulls_equal=True, maintain_order="left")
    known_order = reads(first.expr, noisy)
    halves = _half_widths(joined, rows, by, confidence) if known_order else np.inf
    values = rows[_X].fill_null(0).to_numpy()
    half = np.where(rows[_X].is_null().to_numpy(), np.inf, halves)
    half = np.where(np.isnan(half), np.inf, half)
    others = _absent(inputs, released, by)
    least, most = np.zeros(rows.height, np.int64), np.zeros(rows.height, np.int64)
    fewest, largest = np.zeros(rows.height, np.int64), np.zeros(rows.height, np.int64)
    part, sure = rows[_PART].to_numpy(), rows[_SURE].fill_null(False).to_numpy()
    for each in np.unique(part):
        at = np.flatnonzero(part == each)
        low, high = values[at] - half[at], values[at] + half[at]
        firmly = np.sort(low[sure[at]])
        most[at] = at.size - np.searchsorted(np.sort(high), low, side="left") + others
        if call.name == "DENSE_RANK":
            least[at] = 1 + _chains(low[sure[at]], high[sure[at]], high)
        else:
            least[at] = 1 + firmly.size - np.searchsorted(firmly, high, side="right")
        fewest[at], largest[at] = firmly.size + ~sure[at], at.size + others
    return rows.select(by).with_columns(
        pl.Series("least", _part(call, least, largest)),
        pl.Series("most", _part(call, np.minimum(most, largest), fewest)),
    )


def _part(call: WindowCall, place: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """What a function makes of the place of a row among so many: the rank itself, or a share."""
    place = np.minimum(place, rows) if call.name in PARTS_OF_RANK else place
    found: np.ndarray = place
    match call.name:
        case "PERCENT_RANK":
            found = (place - 1) / np.maximum(rows - 1, 1)
        case "CUME_DIST":
            found = place / rows
        case "NTILE":
            (parts,) = call.args
            assert isinstance(parts, Literal)
            size, more = np.divmod(rows, int(parts.value))  # the first ones have one row more
            last = more * (size + 1)
            later = more + (place - 1 - last) // np.maximum(size, 1) + 1
            found = np.where(place <= last, (place - 1) // (size + 1) + 1, later)
    return found


def _half_widths(
    joined: pl.DataFrame, rows: pl.DataFrame, by: list[str], confidence: float
) -> np.ndarray:
    """How far each number may be off, so that differences of all of them hold together."""
    noise = joined.join(rows.select(*by, _SPREAD), on=by, nulls_equal=True)
    noise = noise.filter(pl.col(_SPREAD).is_not_null())
    found = noise.group_by(DRAW, _PART).agg(
        ((pl.col(_NOISE).max() - pl.col(_NOISE).min()) / 2).alias(_X),
        (pl.col(_NOISE).abs() / pl.col(_SPREAD)).fill_nan(0).max().alias(_D),
        pl.col(_SPREAD).max().alias(_HALF),
        pl.col(_SPREAD).min().alias(_SPREAD),
    )
    bounds = found.group_by(_PART).agg(
        pl.col(_X, _D).quantile(confidence, "higher"), pl.col(_HALF).max(), pl.col(_SPREAD).min()
    )
    alike = pl.col(_HALF) <= _ALIKE * pl.col(f"{_SPREAD}_right")
    halves = rows.join(bounds, on=_PART, how="left", suffix="_right", maintain_order="left").select(
        pl.when(alike).then(f"{_X}_right").otherwise(pl.col(_D) * pl.col(_SPREAD))
    )
    return halves.to_series().to_numpy().astype(float)


def _absent(inputs: pl.DataFrame, released: pl.DataFrame, by: list[str]) -> int:
    """How many rows a redraw has that were not released; each may stand before any other."""
    elsewhere = inputs.select(by).unique().join(released, on=by, how="anti", nulls_equal=True)
    return elsewhere.height


def _chains(low: np.ndarray, high: np.ndarray, above: np.ndarray) -> np.ndarray:
    """How many intervals there are, one after the other and apart, above each of these ends."""
    order = np.argsort(low)
    lows, nearest = low[order], np.minimum.accumulate(high[order][::-1])[::-1]
    ends = np.sort(high)[::-1]
    known: dict[float, int] = {}

    def length(end: float) -> int:
        at = int(np.searchsorted(lows, end, side="right"))
        return 0 if at == lows.size else 1 + known[float(nearest[at])]

    for end in ends:  # from the highest on, so that what is above is known
        known[float(end)] = length(float(end))
    return np.array([length(float(end)) for end in above], dtype=np.int64)

"""Error bars of quantiles and deviations of noisy numbers.

Guarantee: these read released numbers, so they cost nothing (Dwork and Roth 2014, Prop. 2.1).

- A quantile never falls where no number does. With the stated probability, no number is further
  from its true one than its share of a common band; then the true quantile lies between that of
  the lower ends and that of the upper ends.
- Noise makes numbers vary more. If y = t + e, then var(y) = s^2 + 2 s u + var(e), where s is the
  deviation of the true numbers t and u is that of the noise in their direction. The law of the
  noise is known and the direction is nearly that of y, so each redraw of e yields the s that goes
  with it. Where the noise alone varies as much as y does, s may be as small as 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dpframe.bounds.windows import SPREADS
from dpframe.engines import windows as engine
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import Column
from dpframe.release.windows import DRAW, ROW, Again, Over, identity

_NOISE, _SPREAD, _MOST = (f"{ROW}_{word}" for word in ("noise", "spread", "most"))
_FARTHEST = 1e300
"""How far a number may be off of which redraws do not tell."""

_FLOAT = Domain(Type.FLOAT)


def noise_of(
    inputs: pl.DataFrame, released: pl.DataFrame, column: str, by: Sequence[str]
) -> pl.DataFrame:
    """The rows of all redraws with the released value of a column, and with its redrawn noise."""
    value = pl.col(column).cast(pl.Float64)
    shown = released.select(*by, value.alias(_MOST))
    found = inputs.with_columns(value.alias(_NOISE))
    if by:
        found = found.join(shown, on=list(by), how="left", nulls_equal=True, maintain_order="left")
    else:
        found = found.with_columns(shown[_MOST].first() if shown.height else None)
    return found.with_columns((pl.col(_MOST) - pl.col(_NOISE)).alias(_NOISE))


def quantile_end(
    whole: Over | Again,
    number: int,
    inputs: pl.DataFrame,
    released: pl.DataFrame,
    apart: Sequence[str],
    confidence: float,
    *,
    upper: bool,
) -> pl.DataFrame:
    """An end of a quantile of released rows: that of the ends of their common band.

    Rows that differ in the columns `apart` are never looked at together.
    """
    column = engine.argument(number, 0)
    by = [c for c in identity(inputs) if c not in apart]
    noise = noise_of(inputs, released, column, by).select(DRAW, *by, *apart, _NOISE)
    known = (pl.col(_NOISE).count() == pl.len()) if by else pl.col(_NOISE).is_not_null().all()
    stats = (
        noise.group_by(by).agg(pl.when(known).then(pl.col(_NOISE).std(ddof=0)).alias(_SPREAD))
        if by
        else noise.select(pl.when(known).then(pl.col(_NOISE).std(ddof=0)).alias(_SPREAD))
    )
    joined = noise.join(stats, on=by, nulls_equal=True) if by else noise.join(stats, how="cross")
    scaled = (pl.col(_NOISE).abs() / pl.col(_SPREAD)).fill_nan(0).max().alias(_MOST)
    band = joined.group_by(DRAW, *apart).agg(scaled)
    level = pl.col(_MOST).quantile(confidence, "higher")
    widest = band.group_by(list(apart)).agg(level) if apart else band.select(level)
    rows = released.with_row_index(_NOISE)
    rows = (
        rows.join(stats, on=by, how="left", nulls_equal=True)
        if by
        else rows.join(stats, how="cross")
    )
    rows = (
        rows.join(widest, on=list(apart), how="left", nulls_equal=True)
        if apart
        else rows.join(widest, how="cross")
    )
    half = (pl.col(_SPREAD) * pl.col(_MOST)).fill_null(_FARTHEST)
    value = pl.col(column).cast(pl.Float64)
    moved = rows.sort(_NOISE).with_columns((value + half if upper else value - half).alias(column))
    return whole.computed(moved.drop(_NOISE, _SPREAD, _MOST), {number: _call(whole, number)})


def spread_ends(
    whole: Over | Again,
    number: int,
    inputs: pl.DataFrame,
    released: pl.DataFrame,
    apart: Sequence[str],
    draws: Sequence[int],
    *,
    upper: bool,
) -> pl.Series:
    """An end of a deviation or variance, for each redraw of the noise."""
    first, second = engine.argument(number, 0), engine.argument(number, 1)
    by = [c for c in identity(inputs) if c not in apart]
    both = noise_of(inputs, released, first, by)
    name, call, _ = _call(whole, number)
    kind = SPREADS[call.name].rpartition("_")[2]

    def run(function: str, *columns: str) -> np.ndarray:
        names = [first, second][: len(columns)]
        frame = both.with_columns(pl.col(c).alias(n) for c, n in zip(columns, names, strict=True))
        args = tuple(Column(n) for n in names)
        changed: Any = replace(call, name=f"{function}_{kind}", args=args)
        found = whole.computed(frame.drop(_MOST, _NOISE), {number: (name, changed, _FLOAT)}, draws)
        return found[name].to_numpy()

    shown, noise = run("VAR", _MOST), run("VAR", _NOISE)
    shared = run("COVAR", _MOST, _NOISE)
    with np.errstate(invalid="ignore", divide="ignore"):
        along = np.where(shown > 0, shared / np.sqrt(shown), -np.sqrt(noise))
        inside = along**2 + shown - noise
        found = np.sqrt(np.maximum(inside, 0)) - along
        found = found if upper else np.where(shown < noise, 0.0, found)
    found = np.where(np.isnan(shown), np.nan, np.maximum(found, 0))
    found = found**2 if SPREADS[call.name].startswith("VAR") else found
    return pl.Series(name, found).fill_nan(None)


def _call(whole: Over | Again, number: int) -> tuple[str, Any, Domain]:
    listed: Sequence[Any] = whole.node.columns if isinstance(whole, Over) else whole.node.aggregates
    return (*listed[number], _FLOAT)

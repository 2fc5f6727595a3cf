"""How a histogram looks: a bar beside every count, with the error at its end."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from dpframe.plan.functions.base import column
from dpframe.release.display import Bounds, html_table, text_table

_MOST_ROWS = 60
"""Bins shown; the frame holds them all."""

_WIDTH = 24
"""Characters of the longest bar."""

_LEGEND = "█ to the lower end of the error bar, ▓ to the count, ░ to the upper end"


def text_bars(frame: pl.DataFrame, bounds: Bounds, name: str, caption: str) -> str:
    """A plain-text table with a bar for each row."""
    bars = [_bar(*span) for span in _spans(frame, bounds, name)]
    legend = f"{_LEGEND}\n{caption}" if any(bars) else caption
    return text_table(
        _readable(frame, bounds), bounds, legend, beside={"": bars}, most_rows=_MOST_ROWS
    )


def html_bars(frame: pl.DataFrame, bounds: Bounds, name: str, caption: str) -> str:
    """An HTML table with a bar for each row, and a whisker for its error."""
    bars = [_html_bar(*span) for span in _spans(frame, bounds, name)]
    return html_table(
        _readable(frame, bounds), bounds, caption, beside={"": bars}, most_rows=_MOST_ROWS
    )


def _readable(frame: pl.DataFrame, bounds: Bounds) -> pl.DataFrame:
    """Ends of bins with no more digits than tell them apart: 0.3, not 0.30000000000000004."""
    shorter = []
    for name, kind in frame.schema.items():
        if kind.is_float() and name not in bounds:
            steps = frame[name].alias("value").unique().sort().diff().drop_nulls()
            finest = float(steps.min() or 1)  # type: ignore[arg-type]
            digits = min(12, max(1, 2 - math.floor(math.log10(finest))))
            shorter.append(column(name).round(digits))
    return frame.with_columns(shorter)


def _spans(frame: pl.DataFrame, bounds: Bounds, name: str) -> list[tuple[float, float, float]]:
    """For each row the low end, the count and the high end, as shares of the longest bar."""
    values = frame[name].to_numpy().astype(float)
    low, high = bounds.get(name, (values, values))
    ends = np.stack([low, values, high])[:, :_MOST_ROWS]
    longest = float(ends.max(initial=0, where=np.isfinite(ends)))
    if longest <= 0:
        return [(0.0, 0.0, 0.0)] * ends.shape[1]
    return [tuple(row) for row in (ends / longest).clip(0, 1).T.tolist()]


def _bar(low: float, value: float, high: float) -> str:
    """A bar of blocks.

    >>> _bar(0.5, 0.75, 1.0)
    '████████████▓▓▓▓▓▓░░░░░░'
    """
    ends = [math.floor(share * _WIDTH + 0.5) for share in (low, value, high)]
    return "█" * ends[0] + "▓" * (ends[1] - ends[0]) + "░" * (ends[2] - ends[1])


_TRACK = "position:relative;width:180px;height:12px"
_FILL = "position:absolute;left:0;top:0;height:12px;background:#4c78a8;border-radius:0 2px 2px 0"
_LINE = "position:absolute;top:5px;height:2px;background:currentColor;opacity:.75"
_CAP = "position:absolute;top:2px;height:8px;width:2px;background:currentColor;opacity:.75"


def _html_bar(low: float, value: float, high: float) -> str:
    parts = [f'<div style="{_FILL};width:{value:.2%}"></div>']
    if high > low:
        parts += [
            f'<div style="{_LINE};left:{low:.2%};width:{high - low:.2%}"></div>',
            *(f'<div style="{_CAP};left:calc({end:.2%} - 1px)"></div>' for end in (low, high)),
        ]
    return f'<div style="{_TRACK}">{"".join(parts)}</div>'

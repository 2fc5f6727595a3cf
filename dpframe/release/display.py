"""How a noisy table looks: every number beside its error."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl

from dpframe.plan.nodes import listed

Beside = Mapping[str, Sequence[str]]
"""Further columns by what stands above them: texts, or HTML, for the rows that are shown."""

Bounds = Mapping[str, tuple[np.ndarray, np.ndarray]]
"""Per noisy column, the low and high ends of its intervals."""

_MOST_ROWS = 20
"""Rows shown; the frame holds them all."""


_GROUPED_FROM = 10_000
"""Digits are grouped in a column that has such numbers, so the years of dates stay as they are."""

_MOST_EXACT = 1e15
"""Whole numbers of doubles are written out up to here."""


def number(value: float, error: float, *, grouped: bool = True) -> str:
    """A number with the digits that its error leaves meaningful; `grouped` by thousands, or not.

    >>> number(1234.5678, 12.3), number(0.123456, 0.002), number(7, 3.0)
    ('1,235', '0.1235', '7')
    >>> number(-0.02, 1.0), number(3.64e-20, 2e-22), number(0.0, 2e-22)
    ('0.0', '3.640e-20', '0')
    >>> number(2024.3, 11.0, grouped=False)
    '2024'
    """
    comma = "," if grouped else ""
    if not math.isfinite(value):
        return "unknown"
    if isinstance(value, int):
        return f"{value:{comma}}"
    if not math.isfinite(error) or error <= 0:
        return _unsigned_zero(f"{value:{comma}.6g}")
    digits = max(0, 1 - math.floor(math.log10(error)))
    if error >= 10 or (error.is_integer() and value.is_integer()):
        digits = 0
    if digits <= _MOST_DIGITS:
        return _unsigned_zero(f"{value:{comma}.{digits}f}")
    if value == 0:
        return "0"
    return f"{value:.{max(0, digits + math.floor(math.log10(abs(value))))}e}"


_MOST_DIGITS = 12
"""Digits behind the point; what is smaller is written with an exponent."""


def _unsigned_zero(text: str) -> str:
    """Nothing below 0 is left of a number that is rounded to 0."""
    return text.removeprefix("-") if not text.strip("-0.,") else text


def plain(text: str) -> str:
    """Text that cannot break out of its line or colour a terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def _cells(
    frame: pl.DataFrame, bounds: Bounds, most_rows: int
) -> tuple[list[str], list[list[str]], list[bool]]:
    """Names, texts, and whether these are numbers; the places of a list are in one column."""
    names: list[str] = []
    shown: list[list[str]] = []
    for name in frame.columns:
        values = frame[name].head(most_rows).to_list()
        if name not in bounds:
            texts = [_without_error(value) for value in values]
        else:
            low, high = (end[:most_rows].tolist() for end in bounds[name])
            grouped = _is_grouped(values, low, high)
            texts = [_cell(*cell, grouped) for cell in zip(values, low, high, strict=True)]
        place = listed(name)
        if place is None:
            names.append(name)
            shown.append(texts)
        elif place[1] == 0:
            names.append(place[0])
            shown.append([f"[{text}]" for text in texts])
        else:
            shown[-1] = [f"{a[:-1]}, {b}]" for a, b in zip(shown[-1], texts, strict=True)]
    return names, shown, [name in bounds for name in names]


def _without_error(value: object) -> str:
    """A key, or what was written in the query: it tells rows apart, so it stays as it is.

    >>> _without_error(2024.0), _without_error(1e6), _without_error(36.66666666)
    ('2024', '1000000', '36.6667')
    """
    if value is None:
        return "NULL"
    if not isinstance(value, float):
        return plain(str(value))
    if value.is_integer() and abs(value) < _MOST_EXACT:
        return _unsigned_zero(f"{value:.0f}")
    return number(value, 0, grouped=False)


def _is_grouped(values: list[Any], low: list[float], high: list[float]) -> bool:
    """Whether a column has numbers, or errors, that are easier read with their digits grouped."""
    numbers = (v for v in values if isinstance(v, int | float))
    errors = ((b - a) / 2 for a, b in zip(low, high, strict=True))
    return any(math.isfinite(n) and abs(n) >= _GROUPED_FROM for n in (*numbers, *errors))


def _cell(value: float | date | None, low: float, high: float, grouped: bool) -> str:
    if value is None:
        return "NULL"
    error = (high - low) / 2
    if isinstance(value, date):
        unit = _SECONDS[isinstance(value, datetime)]
        return f"{value} ± {_duration(error * unit)}" if error else str(value)
    if not math.isfinite(error):
        return f"{number(value, 0, grouped=grouped)} ± unknown"
    if error == 0:  # no unit can change it: there is no noise to speak of
        return number(value, 0, grouped=grouped)
    shown, beside = (number(each, error, grouped=grouped) for each in (value, error))
    return f"{shown} ± {beside}"


_SECONDS = {False: 86_400, True: 1e-6}
"""Of one step of a day, and of an instant."""


def _duration(seconds: float) -> str:
    """A length of time in the largest unit that it has one of.

    >>> _duration(90), _duration(5400), _duration(3 * 86_400)
    ('90 s', '1.5 h', '3 days')
    """
    if not math.isfinite(seconds):
        return "unknown"
    for size, name in ((86_400, "days"), (3600, "h")):
        if seconds >= size:
            return f"{seconds / size:,.3g} {name}"
    return f"{seconds:.3g} s"


def _more(frame: pl.DataFrame, most_rows: int) -> str:
    hidden = frame.height - most_rows
    return f"... and {hidden:,} more rows in .frame" if hidden > 0 else ""


def _width(text: str) -> int:
    """How many places a text takes in a terminal.

    >>> _width("er"), _width("日本"), _width("e\u0301te\u0301")
    (2, 4, 3)
    """
    # Han and the like take two places, accents of their own none.
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))


def text_table(
    frame: pl.DataFrame,
    bounds: Bounds,
    caption: str,
    *,
    beside: Beside | None = None,
    most_rows: int = _MOST_ROWS,
) -> str:
    """A plain-text table."""
    beside = beside or {}
    found, cells, numeric = _cells(frame, bounds, most_rows)
    columns = [*cells, *map(list, beside.values())]
    numeric += [False for _ in beside]
    names = [plain(name) for name in (*found, *beside)]
    widths = [max(map(_width, [name, *cells])) for name, cells in zip(names, columns, strict=True)]

    def line(cells: Iterable[str]) -> str:
        padded = []
        for cell, width, right in zip(cells, widths, numeric, strict=True):
            space = " " * (width - _width(cell))
            padded.append(space + cell if right else cell + space)
        return "  ".join(padded).rstrip()

    rows = [line(row) for row in zip(*columns, strict=True)]
    rule = "  ".join("─" * width for width in widths).rstrip()
    hidden = _more(frame, most_rows)
    return "\n".join(part for part in [line(names), rule, *rows, hidden, caption] if part)


_STYLE = (
    "border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:13px;margin:4px 0;"
    "color:inherit"
)


def html_table(
    frame: pl.DataFrame,
    bounds: Bounds,
    caption: str,
    *,
    beside: Beside | None = None,
    most_rows: int = _MOST_ROWS,
) -> str:
    """An HTML table for notebooks; the error stands lighter beside the number."""
    beside = beside or {}
    names, columns, numeric = _cells(frame, bounds, most_rows)
    sides = ["right" if right else "left" for right in numeric]
    head = "".join(
        f'<th style="text-align:{side};padding:4px 12px;border-bottom:2px solid currentColor">'
        f"{html.escape(plain(name))}</th>"
        for name, side in zip((*names, *beside), (*sides, *("left",) * len(beside)), strict=True)
    )
    further = list(zip(*beside.values(), strict=True)) or [()] * frame.height
    body = "".join(
        "<tr>"
        + "".join(_html_cell(c, s) for c, s in zip(row, sides, strict=True))
        + "".join(f'<td style="padding:3px 12px">{cell}</td>' for cell in more)
        + "</tr>"
        for row, more in zip(zip(*columns, strict=True), further, strict=False)
    )
    listed = [_more(frame, most_rows), *caption.split("\n")]
    notes = "<br>".join(html.escape(note) for note in listed if note)
    return (
        f'<table style="{_STYLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f'<div style="font-size:11px;opacity:.7">{notes}</div>'
    )


def _html_cell(text: str, side: str) -> str:
    value, plus_minus, error = text.partition(" ± ")
    shown = html.escape(value if plus_minus and side == "right" else text)
    if plus_minus and side == "right":
        shown += f' <span style="opacity:.6">± {html.escape(error)}</span>'
    return f'<td style="text-align:{side};padding:3px 12px;white-space:nowrap">{shown}</td>'

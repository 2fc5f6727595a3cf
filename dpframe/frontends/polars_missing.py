"""Methods of Polars that private rows do not have: what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_OF_NUMBERS = {
    **{name: f"{name}()" for name in ("count", "max", "mean", "median", "min", "n_unique")},
    **{name: f"{name}()" for name in ("null_count", "std", "sum", "var")},
    "quantile": "quantile(0.5)",
}
"""Methods that aggregate every column, as the expression that aggregates some."""

_OF_ROWS = ("height", "shape")
_OF_TYPES = ("collect_schema", "dtypes", "info", "schema", "width")

METHODS = {
    "a frame": (
        *("drop", "drop_nulls", "filter", "group_by", "histogram", "join", "rename", "select"),
        *("unique", "with_columns"),
    ),
    "group_by(...)": ("agg", "len"),
}
"""What can be done with private rows, and with groups of them."""


def no_attribute(kind: str, name: str, code: str, numbers: Sequence[str]) -> AttributeError:
    """The error for a name that private rows or groups of them lack.

    `code` is how they were written, `numbers` are their columns that can be aggregated.
    """
    method = "select" if "select" in METHODS[kind] else "agg"
    columns = ", ".join(f'"{column}"' for column in numbers[:3]) or '"x"'
    what = f"{kind} has no {name}"
    why = "each aggregate is paid for and needs bounds, so the columns are named"
    if name in _OF_NUMBERS:
        fix = f"{code}.{method}(pl.col({columns}).{_OF_NUMBERS[name]})"
    elif name == "describe":
        column = f"pl.col({columns})"
        shown = (f'{column}.{each}().name.suffix("_{each}")' for each in ("mean", "std"))
        fix = f"{code}.{method}(pl.len(), {', '.join(shown)})"
    elif name in numbers:
        why = "columns are named in expressions, and each aggregate of one is paid for"
        fix = f'{code}.{method}(pl.col("{name}").mean())'
    elif name in _OF_ROWS:
        fix = f"{code}.{method}(pl.len())"
    elif name in _OF_TYPES and kind == "a frame":
        why = "types follow from what was declared; they are shown beside the ranges of columns"
        fix = f"print({code}), and {code}.columns are the names"
    else:
        near = difflib.get_close_matches(name, METHODS[kind], n=1)
        what += f"; did you mean {near[0]}?" if near else ""
        why = "rows are private: they are filtered, computed with and aggregated, never shown"
        fix = f"use one of {', '.join(METHODS[kind])}"
    return AttributeError(f"{what}\n  why: {why}\n  fix: {fix}")

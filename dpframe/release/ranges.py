"""Sums over rectangles of bins: their numbers, their errors, and how they are named."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from datetime import date
from numbers import Number
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpframe.errors import ParameterError
from dpframe.mechanisms import Law, Source
from dpframe.release.ladder import Floats, Whole
from dpframe.release.noisy import Mixed, Noise
from dpframe.release.plane import Plane, weights_of

Rectangles = NDArray[np.int64]
"""A row for each sum: the first row and the one after the last, and the same of columns."""

_DRAWN = 4_000_000
"""Noise that is drawn again for error bars, all bins together."""

_MOST_SIZES = 8
"""Rectangles of different sizes whose errors are found one by one, where no cell is special."""

_MANY = 100
"""Equal independent terms whose sum is as good as normal: then a quantile is off by under 1%."""


def cells_of(rows: pl.DataFrame, axes: Sequence[str]) -> tuple[Whole, ...] | None:
    """The numbers of the bins of each axis, where every group has all of their combinations.

    Groups come first in the order of rows, so that those of one group follow each other. None where
    groups have different bins. Categories are numbered as they come.
    """
    found: list[Whole] = []
    codes = []
    for key in axes:
        values = rows[key].unique(maintain_order=True)
        whole = values.dtype.is_integer() and not values.null_count()
        numbers = np.sort(values.to_numpy()).astype(np.int64) if whole else np.arange(len(values))
        found.append(numbers)
        places = pl.DataFrame({key: pl.Series(numbers, dtype=values.dtype) if whole else values})
        joined = rows.select(key).join(
            places.with_row_index("place"), on=key, how="left", nulls_equal=True,
            maintain_order="left",
        )  # fmt: skip
        codes.append(joined["place"].cast(pl.Int64).to_numpy())
    cells = math.prod(map(len, found))
    if not cells or rows.height % cells:
        return None if cells else tuple(found)
    expected = [grid.ravel() for grid in np.indices([len(own) for own in found])]
    alike = all((c.reshape(-1, cells) == e).all() for c, e in zip(codes, expected, strict=True))
    return tuple(found) if alike else None


def every_cell(shape: tuple[int, int]) -> Rectangles:
    """The rectangle of each cell, row by row."""
    row, column = (grid.ravel() for grid in np.indices(shape))
    return np.column_stack([row, row + 1, column, column + 1]).astype(np.int64)


def sums_of(counts: Floats, rectangles: Rectangles) -> Floats:
    """For each group (or draw) and rectangle, the sum of its cells."""
    first, last, left, right = rectangles.T
    if np.all(last - first == 1) and np.all(right - left == 1):
        cells: Floats = counts[:, first, left]
        return cells
    groups, n, m = counts.shape
    whole = np.zeros((groups, n + 1, m + 1))
    whole[:, 1:, 1:] = np.cumsum(np.cumsum(counts, axis=1), axis=2)
    found: Floats = whole[:, last, right] - whole[:, first, right]
    found -= whole[:, last, left] - whole[:, first, left]
    return found


# --- errors --------------------------------------------------------------------------------------


def alike(rectangles: Rectangles) -> dict[tuple[int, int], NDArray[np.int64]] | None:
    """The rectangles of each size; None for many sizes."""
    sizes = np.column_stack(
        [rectangles[:, 1] - rectangles[:, 0], rectangles[:, 3] - rectangles[:, 2]]
    )
    unique, which = np.unique(sizes, axis=0, return_inverse=True)
    if len(unique) > _MOST_SIZES:
        return None
    return {(int(a), int(b)): np.nonzero(which == i)[0] for i, (a, b) in enumerate(unique)}


def half_width(
    plane: Plane,
    size: tuple[int, int],
    groups: int | None,
    law: Noise,
    step: float,
    confidence: float,
    source: Source,
) -> float:
    """What the error of a rectangle stays within, on a plane where no cell is special."""
    terms = weights_of(plane, size, groups)
    if isinstance(law, Law) and len(terms) == 1 and terms[0] == (1.0, 1):
        # The law of the noise says it exactly; counts by weight are then rounded.
        return law.half_width(confidence) * step + (0.0 if step == 1 else 0.5)
    if all(count >= _MANY for _, count in terms):
        variance = sum(weight**2 * count for weight, count in terms) * law.variance
        return _half_normal(math.sqrt(variance) * step, confidence)
    draws = draws_for(sum(count for _, count in terms if count < _MANY), confidence)
    errors, many = np.zeros(draws), 0.0
    for weight, count in terms:
        if count >= _MANY:
            many += weight**2 * count
        else:
            own = drawn(law, draws * count, source).reshape(draws, count)
            errors += weight * own.sum(axis=1)
    if many:
        errors += math.sqrt(many * law.variance) * source.floats().standard_normal(draws)
    errors = np.abs(np.rint(errors * step))
    return float(np.quantile(errors, confidence, method="inverted_cdf"))


def draws_for(counts: int, confidence: float) -> int:
    """How often noise is drawn again, where each time so many counts are drawn."""
    fewest = min(5_000, max(2_000, math.ceil(100 / (1 - confidence))))
    return min(10_000, max(fewest, _DRAWN // max(1, counts)))


def drawn(law: Noise, count: int, source: Source) -> Floats:
    """Draws of noise as floats, which is all that error bars need, and quicker for a mixture."""
    if not isinstance(law, Mixed):
        return law.draw(count, source).astype(np.float64)
    total = np.zeros(count)
    for inner, weight, times in law.terms:
        for _ in range(times):
            total += inner.draw(count, source).astype(np.float64) * float(weight)
    return total


def _half_normal(deviation: float, confidence: float) -> float:
    """The least whole number that a rounded normal error stays within."""
    half = NormalDist().inv_cdf((1 + confidence) / 2) * deviation
    return float(max(0, math.ceil(half - 0.5)))


# --- names ---------------------------------------------------------------------------------------


def place_of(title: str, edges: Sequence[Any], asked: Any) -> tuple[int, int]:
    """The numbers of the first and the last edge of a range; None is the end of all bins."""
    if not isinstance(asked, tuple | list) or len(asked) != 2:
        raise ParameterError(
            f"{asked!r} is not a range of {title}",
            why="a range reaches from one edge of the bins to a later one",
            fix=f'{{"{title}": ({edges[0]!r}, {edges[-1]!r})}}',
        )
    low, high = asked
    first, last = _edge(edges, low, 0), _edge(edges, high, len(edges) - 1)
    if first >= last:
        raise ParameterError(
            f"between({low!r}, {high!r}) is empty",
            why="a range reaches from one edge to a later one",
            fix=f"between({edges[0]!r}, {edges[-1]!r})",
        )
    return first, last


def place_of_category(title: str, keys: Sequence[Any], asked: Any) -> int:
    """The number of a category."""
    if asked not in keys:
        raise ParameterError(
            f"{asked!r} is not one of the categories of {title}",
            why=f"they are {', '.join(map(repr, keys[:6]))}{', ...' if len(keys) > 6 else ''}",
            fix=f'{{"{title}": {keys[0]!r}}}, or leave it out for all of them together',
        )
    return keys.index(asked)


def _edge(edges: Sequence[Any], value: Any, default: int) -> int:
    if value is None:
        return default
    # An even cut may end in ...0000001, and nobody writes that.
    written = isinstance(value, Number | date)  # arrays and expressions compare in other ways
    near = [i for i, e in enumerate(edges) if written and (e == value or _is_close(e, value))]
    if len(near) != 1:
        raise ParameterError(
            f"{value!r} is not an edge of the bins",
            why="rows inside a bin cannot be told apart",
            fix=f"one of {', '.join(map(str, edges[:6]))}{', ...' if len(edges) > 6 else ''}",
        )
    return near[0]


def _is_close(edge: Any, value: Any) -> bool:
    numbers = isinstance(edge, int | float) and isinstance(value, int | float)
    finite = numbers and abs(value) <= sys.float_info.max
    return finite and math.isclose(edge, value, rel_tol=1e-12, abs_tol=1e-300)

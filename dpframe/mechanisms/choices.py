"""Many exact choices at once: coins of probability `exp(-gap / scale)`, and uniform picks.

What a selection mechanism is made of. Each function treats its lanes as independent, and decides
each of them from uniform bits and integers alone.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.mechanisms.exponential import LazyExponential
from dpframe.mechanisms.geometric import Geometric
from dpframe.mechanisms.lanes import Integers, word
from dpframe.mechanisms.source import Pool, Source

_VECTOR_SCALE = 1 << 57
"""Below this, `Geometric` draws in lanes."""

_CHUNK = 1 << 14
"""Lanes worked on at once: the arrays of a chunk stay in the processor's cache."""


def flips(gaps: NDArray[Any], scale: Fraction, source: Source) -> NDArray[np.bool_]:
    """Flip one coin per gap of 0 or more, True with probability `exp(-gap / scale)`.

    `floor(scale * E) >= gap` for an exponential E is that coin.

    >>> flips(np.array([0, 0]), Fraction(3), Source()).tolist()
    [True, True]
    """
    lanes = gaps.ravel()
    if lanes.dtype == object or scale >= _VECTOR_SCALE:
        pool, p, q = Pool(source), scale.numerator, scale.denominator
        coins = [LazyExponential(pool).at_least(gap * q, p) for gap in lanes.tolist()]
        return np.array(coins, dtype=np.bool_).reshape(gaps.shape)
    sizes = Geometric(scale)
    won = np.empty(lanes.size, dtype=np.bool_)
    for start in range(0, lanes.size, _CHUNK):
        won[start : start + _CHUNK] = _reach(sizes, lanes[start : start + _CHUNK], source)
    return won.reshape(gaps.shape)


def _reach(sizes: Geometric, gaps: Integers, source: Source) -> NDArray[np.bool_]:
    words = source.words(2 * gaps.size)
    drawn, wide = sizes.draw(words[: gaps.size], words[gaps.size :], source)
    won: NDArray[np.bool_] = drawn >= gaps
    for lane, size in wide.items():
        won[lane] = size >= int(gaps[lane])
    return won


def uniform_each(counts: Integers, source: Source) -> Integers:
    """Draw one integer from each `range(count)`, all with the same chance, for counts >= 1.

    Uniform bits, as many as `count - 1` has; a lane that reaches its count is drawn again.

    >>> uniform_each(np.array([1, 1, 1]), Source()).tolist()
    [0, 0, 0]
    """
    below = (counts - 1).view(np.uint64)
    masks = below.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        masks |= masks >> word(shift)
    drawn = source.words(counts.size) & masks
    while (again := (drawn > below).nonzero()[0]).size:
        drawn[again] = source.words(again.size) & masks[again]
    return drawn.view(np.int64)


def one_of_each(wins: NDArray[np.bool_], source: Source) -> Integers:
    """Pick one True of each row, all with the same chance; every row must hold one.

    >>> one_of_each(np.array([[False, True, False], [False, False, True]]), Source()).tolist()
    [1, 2]
    """
    places = wins.ravel().nonzero()[0]
    counts = np.count_nonzero(wins, axis=1)
    firsts = np.cumsum(counts) - counts
    columns: Integers = places[firsts + uniform_each(counts, source)] % wins.shape[1]
    return columns


def first_accepted(gaps: NDArray[Any], scale: Fraction, source: Source) -> Integers:
    """Draw a column of each row with probability proportional to `exp(-gap / scale)`.

    Columns are proposed uniformly, with replacement, until a coin of `flips` accepts one. Every
    row must hold a gap of 0, so a row of n columns expects at most n proposals.
    """
    rows, columns = gaps.shape
    chosen = np.empty(rows, dtype=np.int64)
    open_rows = np.arange(rows)
    proposals = 16
    while open_rows.size:
        # Several proposals to a row at once, in their order; those after the first success are
        # dropped, and depend on nothing that was kept. Rows that are hard get more at a time.
        tries = max(1, min(proposals, columns, _CHUNK // open_rows.size))
        proposals *= 8
        counts = np.full(open_rows.size * tries, columns, dtype=np.int64)
        picks = uniform_each(counts, source).reshape(open_rows.size, tries)
        won = flips(gaps[open_rows[:, None], picks], scale, source)
        first = won.argmax(axis=1)
        ended = won.any(axis=1)
        chosen[open_rows[ended]] = picks[ended, first[ended]]
        open_rows = open_rows[~ended]
    return chosen

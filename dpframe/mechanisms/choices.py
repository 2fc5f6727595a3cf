"""Many exact choices at once: coins of probability `exp(-gap / scale)`, and uniform picks.

What a selection mechanism is made of. Each function treats its lanes as independent, and decides
each of them from uniform bits and integers alone.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.mechanisms.coins import bernoulli, uniform_below
from dpframe.mechanisms.cuts import exp_bounds
from dpframe.mechanisms.exponential import LazyExponential
from dpframe.mechanisms.geometric import Geometric
from dpframe.mechanisms.lanes import Integers, word
from dpframe.mechanisms.source import Pool, Source

_VECTOR_SCALE = 1 << 57
"""Below this, `Geometric` draws in lanes."""

_CHUNK = 1 << 14
"""Lanes worked on at once: the arrays of a chunk stay in the processor's cache."""

_FEW_ROWS, _MANY_COLUMNS = 16, 1 << 10
"""Rows up to which, and columns from which, each row is drawn by itself."""

FAR, FAR_BITS = 44, 63
"""`exp(-44) < 2**-63`."""


def flips(gaps: NDArray[Any], scale: Fraction, source: Source) -> NDArray[np.bool_]:
    """Flip one coin per gap of 0 or more, True with probability `exp(-gap / scale)`.

    `floor(scale * E) >= gap` for an exponential E is that coin.

    >>> flips(np.array([0, 0]), Fraction(3), Source()).tolist()
    [True, True]
    """
    lanes = gaps.ravel()
    if lanes.dtype == object or scale >= _VECTOR_SCALE:
        pool, p, q = Pool(source), scale.numerator, scale.denominator
        found = [LazyExponential(pool).at_least(gap * q, p) for gap in lanes.tolist()]
        return np.array(found, dtype=np.bool_).reshape(gaps.shape)
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


def coins(p: int, q: int, lanes: int, source: Source) -> NDArray[np.bool_]:
    """Flip coins of the rational probability `p/q < 1`: one word each, and more for a tie.

    >>> coins(0, 3, 4, Source()).tolist()
    [False, False, False, False]
    """
    below, rest = divmod(p << 64, q)
    words = source.words(lanes)
    won: NDArray[np.bool_] = words < word(below)
    for lane in (words == word(below)).nonzero()[0].tolist():
        won[lane] = bernoulli(rest, q, source)
    return won


def first_accepted(gaps: NDArray[Any], scale: Fraction, source: Source) -> Integers:
    """Draw a column of each row with probability proportional to `exp(-gap / scale)`.

    Columns are proposed uniformly, with replacement, until a coin of `flips` accepts one. Every
    row must hold a gap of 0, so a row of n columns expects at most n proposals.
    """
    rows, columns = gaps.shape
    if rows <= _FEW_ROWS or columns >= _MANY_COLUMNS:
        return np.array([_accepted(row, scale, source) for row in gaps], dtype=np.int64)
    chosen = np.empty(rows, dtype=np.int64)
    open_rows = np.arange(rows)
    tries = 1
    while open_rows.size:
        # Several proposals to a row at once, in their order; those after the first success are
        # dropped, and depend on nothing that was kept. The last rows get more at a time.
        picks = uniform_each(np.full(open_rows.size * tries, columns), source)
        picks = picks.reshape(open_rows.size, tries)
        won = flips(gaps[open_rows[:, np.newaxis], picks], scale, source)
        ended = won.any(axis=1)
        chosen[open_rows[ended]] = picks[ended, won[ended].argmax(axis=1)]
        open_rows = open_rows[~ended]
        tries = max(1, min(2 * tries, _CHUNK // max(1, open_rows.size)))
    return chosen


def _accepted(gaps: NDArray[Any], scale: Fraction, source: Source) -> int:
    """Do the same for one row, where most columns may be too far behind to be worth a coin.

    Columns further than `FAR` scales behind are proposed `2**FAR_BITS` times less often than the
    others, and accepted that much more often: `2**FAR_BITS * exp(-gap / scale) < 1`.
    """
    reach = math.floor(FAR * scale)
    behind = (gaps > reach).astype(np.bool_)
    near, far = (~behind).nonzero()[0], behind.nonzero()[0]
    tries = 16
    while True:
        picks = near[uniform_each(np.full(tries, near.size), source)]
        won = flips(gaps[picks], scale, source)
        apart = coins(far.size, (near.size << FAR_BITS) + far.size, tries, source)
        for lane in apart.nonzero()[0].tolist():
            picks[lane] = far[uniform_below(far.size, source)]
            exponent = int(gaps[picks[lane]]) / scale
            won[lane] = scaled_coin(exponent, FAR_BITS, source)
        if won.any():
            return int(picks[won.argmax()])
        tries = min(8 * tries, _CHUNK)


def scaled_coin(exponent: Fraction, bits: int, source: Source) -> bool:
    """Return True with probability `2**bits * exp(-exponent)`, which is at most 1."""
    drawn, width = source.bits(64), 64
    while True:
        # The uniform variate lies in [drawn, drawn + 1) / 2**width.
        low, high = exp_bounds(exponent.numerator, exponent.denominator, width + bits + 8)
        if (drawn + 1) << 8 <= low:
            return True
        if drawn << 8 >= high:
            return False
        drawn, width = drawn << 64 | source.bits(64), width + 64

"""Many lazy exponentials side by side, in NumPy's 64-bit integers.

Each lane holds what `LazyExponential` holds, as `floor(2**53 * E)` in one word. Whatever a word
cannot hold or decide is left to Python integers: a lane knows all that was drawn for it, so the
scalar code goes on from there, and the law of the result is the same on either path.

A lane is *wide* if `E >= 32` (probability exp(-32)). Wide lanes are handed over as Python integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpframe.mechanisms.coins import alternate
from dpframe.mechanisms.cuts import CELL_BITS, CELLS, OPEN, table
from dpframe.mechanisms.exponential import FIRST_BITS, LazyExponential
from dpframe.mechanisms.source import Source

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

LANE_BITS = CELL_BITS + FIRST_BITS
"""Digits after the binary point of a lane: 53."""

SPARE_BITS = 64 - LANE_BITS
"""Bits of each word given to `residues` that it does not use: 11, at the top."""


def word(value: int) -> Words:
    """Return a constant for arithmetic with words.

    NumPy takes a 0-d array as an operand in two thirds of the time that a scalar needs.
    """
    return np.array(value, dtype=np.uint64)


def integer(value: int) -> Integers:
    """Return a constant for arithmetic with signed integers."""
    return np.array(value, dtype=np.int64)


_FIRST = word(FIRST_BITS)
_DIGITS = word((1 << FIRST_BITS) - 1)
_FIRST_COIN = word(((1 << CELL_BITS) - 1) << FIRST_BITS)
_ZERO = word(0)
_FEW = 6
"""Lanes up to which Python integers are quicker than the call overhead of arrays."""


def join(cells: Words, residues: Words) -> Words:
    """Return `floor(2**53 * E)` from `floor(2**8 * E)` and the 45 digits that follow."""
    digits = cells << _FIRST
    digits |= residues
    return digits


def draw_cells(words: Words, source: Source) -> tuple[Words, dict[int, int]]:
    """Turn uniform words into `floor(256 E)` for one exponential each.

    The second result maps each wide lane to its cell; its word is 0 and means nothing.
    """
    guide = table()
    if guide.bits < 64:
        words = words >> word(64 - guide.bits)
    found = guide.guide.take((words >> guide.guide_shift).view(np.int64))
    unclear = (found == OPEN).nonzero()[0]
    scalar = unclear
    if unclear.size > _FEW:
        asked = words[unclear]
        passed = guide.array.searchsorted(asked, side="right")
        found[unclear] = passed
        # A word that equals the last cut it passed is a tie; cut k has index k - 1.
        tied = guide.array.take(passed - 1, mode="clip") == asked
        scalar = unclear[tied | (passed == CELLS)]
    wide: dict[int, int] = {}
    for lane in scalar.tolist():
        cell = guide.resolve(int(words[lane]), source)
        if cell >= CELLS:
            wide[lane] = cell
            cell = 0
        found[lane] = cell
    return found.astype(np.uint64), wide


def draw_residues(words: Words, source: Source) -> Words:
    """Turn uniform words into the 45 digits that follow a cell, leaving their top bits unused.

    A value d is uniform and kept with probability `exp(-d / 2**53)`. Its first coin, of
    probability `d / 2**53 < 2**-8`, fails at once unless eight uniform bits are all zero.
    """
    digits = words & _DIGITS
    unclear = ((words & _FIRST_COIN) == _ZERO).nonzero()[0]
    if unclear.size > _FEW:
        digits[unclear] = _settle(digits[unclear], source)
    else:
        for lane in unclear.tolist():
            d = int(digits[lane])
            if source.bits(FIRST_BITS) < d and not alternate(d, 1 << LANE_BITS, 2, source):
                digits[lane] = _residue(source)
    return digits


def _settle(digits: Words, source: Source) -> Words:
    """Finish the coins of values whose first eight bits were zero; redraw those not kept."""
    first = ((source.words(digits.size) >> word(64 - FIRST_BITS)) < digits).nonzero()[0]
    if not first.size:
        return digits
    # The first coin succeeded, so the second, of probability d / 2**54, decides: a failure there
    # means that d is not kept.
    second = (source.words(first.size) >> word(63 - LANE_BITS)) < digits[first]
    for lane in first[second].tolist():
        if not alternate(int(digits[lane]), 1 << LANE_BITS, 3, source):
            digits[lane] = _residue(source)
    again = first[~second]
    if again.size:
        digits[again] = draw_residues(source.words(again.size), source)
    return digits


def _residue(source: Source) -> int:
    while True:
        digits = source.bits(FIRST_BITS)
        if alternate(digits, 1 << LANE_BITS, 1, source):
            return digits


class LazyExponentials:
    """Independent exponential variates, each known to 53 binary digits and refined on demand.

    `digits[i]` is `floor(2**53 * E_i)` as uint64, except that it is `32 << 53` in the wide lanes,
    where it is a lower bound only. `lane(i)` is the same variate with digits without limit.

    >>> noise = LazyExponentials(4, Source())
    >>> noise.lane(2).digits(53) == int(noise.digits[2])
    True
    """

    def __init__(self, count: int, source: Source) -> None:
        self._source = source
        self._lanes: dict[int, LazyExponential] = {}
        words = source.words(2 * count)
        cells, wide = draw_cells(words[:count], source)
        self.digits: Words = join(cells, draw_residues(words[count:], source))
        for lane, cell in wide.items():
            self.digits[lane] = CELLS << FIRST_BITS
            self._lanes[lane] = LazyExponential(source, (cell, CELL_BITS))

    def __len__(self) -> int:
        return int(self.digits.size)

    def lane(self, i: int) -> LazyExponential:
        """Return variate i; every call for the same i returns the same object."""
        if i not in self._lanes:
            known = int(self.digits[i]), LANE_BITS
            self._lanes[i] = LazyExponential(self._source, known)
        return self._lanes[i]

"""The constant table behind every draw: where `floor(256 E)` changes, for `E ~ Exp(1)`.

A uniform variate U falls at or above cut k with probability `P(256 E >= k) = exp(-k/256)`, so the
number of cuts at or below U is distributed as `floor(256 E)`. The table holds the first 64 binary
digits of cuts 1 to 8192 (`E < 32`). They come from integer enclosures: an irrational number is kept
between two integers, and a digit that the enclosure does not decide is an error, never a guess.

A uniform word that equals the digits of a cut is a tie. `Table.resolve` settles it with further
digits of both; above the last cut it starts again, since an exponential has no memory.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from dpframe.errors import InternalError
from dpframe.mechanisms.source import Source

CELL_BITS = 8
"""The table resolves an exponential to `2**-CELL_BITS`."""

CELLS = 8192
"""Cuts in the table. `E < CELLS / 256 = 32` except with probability `exp(-32)`, about 2**-46."""

OPEN = np.uint16(0xFFFF)
"""What the guide holds where the leading bits of a word do not decide its cell."""

_GUARD = 64
_GUIDE_BITS = 16


def exp_bounds(p: int, q: int, bits: int) -> tuple[int, int]:
    """Return integers `low <= 2**bits * exp(-p/q) <= high` for `p/q >= 0`.

    They differ by 1 or 2 in practice; callers must check, not assume, that this decides them.

    >>> exp_bounds(1, 1, 10)
    (376, 377)
    """
    # exp(-x) = exp(-x / 2**halvings) ** (2**halvings) with x / 2**halvings <= 1/2. Each squaring
    # doubles the relative error, so the working precision grows with the number of halvings.
    halvings = max(0, (2 * p // q).bit_length())
    guard = 2 * halvings + 32
    one = 1 << (bits + guard)
    x_low = p * one // (q << halvings)
    x_high = x_low + 1
    # The series 1 - x + x**2/2 - ... alternates and its terms shrink, so the sum is within the
    # first term left out.
    low = high = 0
    term_low = term_high = one
    sign, k = 1, 0
    while term_high > 1:
        low, high = (
            (low + term_low, high + term_high) if sign > 0 else (low - term_high, high - term_low)
        )
        k += 1
        sign = -sign
        term_low = term_low * x_low // (one * k)
        term_high = -(-term_high * x_high // (one * k))
    low, high = low - term_high, high + term_high
    for _ in range(halvings):
        low, high = low * low // one, -(-high * high // one)
    return max(0, low >> guard), -(-high >> guard)


@lru_cache(maxsize=4096)
def cut(k: int, bits: int) -> int:
    """Return `floor(2**bits * (1 - exp(-k/256)))`: the leading digits of cut k.

    >>> cut(256, 10)  # 1024 * (1 - 1/e) = 647.3
    647
    """
    for guard in (64, 256, 1024):
        low, high = exp_bounds(k, 1 << CELL_BITS, bits + guard)
        if low >> guard == high >> guard:
            return (1 << bits) - 1 - (low >> guard)
    raise InternalError(f"no enclosure decides {bits} bits of cut {k}")


class Table:
    """The cuts 1 .. CELLS to `bits` binary digits, and a guide from leading bits to cells."""

    def __init__(self, bits: int = 64) -> None:
        self.bits = bits
        self.cuts = _cuts(bits)
        self.array: NDArray[np.uint64] = np.array(self.cuts, dtype=np.uint64)
        self.guide_bits = min(_GUIDE_BITS, bits)
        self.guide_shift: NDArray[np.uint64] = np.array(bits - self.guide_bits, dtype=np.uint64)
        self.guide: NDArray[np.uint16] = self._guide()

    def _guide(self) -> NDArray[np.uint16]:
        shift = self.bits - self.guide_bits
        first = np.arange(1 << self.guide_bits, dtype=np.uint64) << self.guide_shift
        last = first | np.uint64((1 << shift) - 1)
        below = np.searchsorted(self.array, first, side="left")
        upto = np.searchsorted(self.array, last, side="right")
        decided = (below == upto) & (upto < CELLS)
        return np.where(decided, upto, OPEN).astype(np.uint16)

    def draw(self, source: Source) -> int:
        """Draw `floor(256 E)` for a fresh exponential E, exactly and without limit."""
        return self.resolve(source.bits(self.bits), source)

    def resolve(self, word: int, source: Source) -> int:
        """Return `floor(256 E)` for the exponential whose uniform variate begins with `word`."""
        passed = bisect_right(self.cuts, word)
        cell = passed
        if passed and self.cuts[passed - 1] == word:
            cell = self._untie(bisect_left(self.cuts, word, 0, passed), passed, word, source)
        if cell < CELLS:
            return cell
        # U is at or above the last cut, that is 256 E >= CELLS. What E exceeds it by is
        # distributed like a fresh exponential.
        return CELLS + self.draw(source)

    def _untie(self, low: int, high: int, word: int, source: Source) -> int:
        # Cuts 1 .. low are below U, those after `high` are above it; the digits so far leave the
        # rest open. Cut k has index k - 1.
        width = self.bits
        while low < high:
            word = word << self.bits | source.bits(self.bits)
            width += self.bits
            contested = range(low + 1, high + 1)
            digits = partial(cut, bits=width)
            low, high = (
                low + bisect_left(contested, word, key=digits),
                low + bisect_right(contested, word, key=digits),
            )
        return low


def _cuts(bits: int) -> list[int]:
    guard = _GUARD
    one_bits = bits + guard
    low, high = ratio_low, ratio_high = exp_bounds(1, 1 << CELL_BITS, one_bits)
    top = (1 << bits) - 1
    cuts: list[int] = []
    for _ in range(CELLS):
        digits = low >> guard
        if digits != high >> guard:
            raise InternalError(f"no enclosure decides {bits} bits of cut {len(cuts) + 1}")
        cuts.append(top - digits)
        low = low * ratio_low >> one_bits
        high = -(-high * ratio_high >> one_bits)
    return cuts


@cache
def table() -> Table:
    """Return the table of 64-bit cuts, built at first use."""
    return Table()

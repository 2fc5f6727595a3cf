"""Geometric variates `floor(b E)`, many at once: the sizes of Laplace and Gaussian noise.

`P(floor(b E) >= g) = exp(-g/b)` for an exponential E. The product is computed in 64-bit limbs with
an error bound; lanes where the bound leaves the floor open are finished in Python integers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.mechanisms.coins import alternate, bernoulli, bernoulli_exp
from dpframe.mechanisms.cuts import CELL_BITS
from dpframe.mechanisms.exponential import LazyExponential
from dpframe.mechanisms.lanes import (
    LANE_BITS,
    Integers,
    Words,
    draw_cells,
    draw_residues,
    integer,
    join,
    word,
)
from dpframe.mechanisms.law import as_integers
from dpframe.mechanisms.scales import floor_log2
from dpframe.mechanisms.source import Source

_COARSE_BITS = 30
"""Scales from `2**(_COARSE_BITS + 1)` on are split into a coarse and a fine part."""

_LOW = word((1 << 32) - 1)
_HALF = word(32)
_SIGN = integer(63)
_MINUS_ZERO = integer(-1)


class Geometric:
    """Draws `floor(scale * E)` in lanes, for a scale below 2**57.

    The variate factors: with `b = scale / 2**fine`, `floor(scale * E)` is
    `2**fine * floor(b E) + rest`, and the two parts are independent. So one word of digits is
    precise enough for any scale.

    Let X be `floor(2**53 E) < 2**58` and `B = floor(b * 2**s) < 2**63`. Then `2**(53 + s) * b * E`
    lies in `[X B, X B + X + B + 1)`. H, the sum of the limbs of `X B / 2**64` without the lowest
    product, is too small by less than 2, and `X + B + 1 < 2**64`, so `2**(s - 11) * b * E` lies in
    `[H, H + 3)`: the floor is decided unless the fraction of H is one of the last two.
    """

    def __init__(self, scale: Fraction) -> None:
        self.p, self.q = scale.numerator, scale.denominator
        magnitude = floor_log2(scale)
        self.fine = max(0, magnitude - _COARSE_BITS)
        s = 62 - magnitude + self.fine
        multiplier = (self.p << s) // (self.q << self.fine)
        self._high, self._low = word(multiplier >> 32), word(multiplier & 0xFFFFFFFF)
        shift = s - (64 - LANE_BITS)
        self._shift = word(shift)
        self._fraction = word((1 << shift) - 1)
        self._decided = word((1 << shift) - 3)

    def draw(self, first: Words, second: Words, source: Source) -> tuple[Integers, dict[int, int]]:
        """Turn two uniform words per lane into one variate; the top 11 bits of `second` stay unused.

        The second result holds the wide lanes as Python integers. Their entry in the array is 0
        and means nothing.
        """
        cells, outside = draw_cells(first, source)
        sizes = self._floor(join(cells, draw_residues(second, source)), source)
        wide = {
            lane: LazyExponential(source, (cell, CELL_BITS)).floor_times(
                self.p, self.q << self.fine
            )
            for lane, cell in outside.items()
        }
        if self.fine:
            rest = self._rest(sizes.size, source)
            sizes <<= np.int64(self.fine)
            sizes |= rest
            wide = {lane: size << self.fine | int(rest[lane]) for lane, size in wide.items()}
        for lane in wide:
            sizes[lane] = 0
        return sizes, wide

    def _floor(self, digits: Words, source: Source) -> Integers:
        top = digits >> _HALF  # below 2**26
        product = digits & _LOW
        product *= self._high  # below 2**63
        product += top * self._low  # below 2**58, so the sum does not wrap
        product >>= _HALF
        top *= self._high
        product += top
        unclear = ((product & self._fraction) > self._decided).nonzero()[0]
        product >>= self._shift
        sizes = product.view(np.int64)
        for lane in unclear.tolist():
            e = LazyExponential(source, (int(digits[lane]), LANE_BITS))
            sizes[lane] = e.floor_times(self.p, self.q << self.fine)
        return sizes

    def _rest(self, lanes: int, source: Source) -> Integers:
        """Draw r below `2**fine` with `P(r)` proportional to `exp(-r / scale)`.

        Uniform, and kept with probability `exp(-r / scale)`, where `r / scale < 2**-30`: the first
        coin fails at once unless 30 uniform bits are all zero.
        """
        p, q = self.p, self.q
        words = source.words(lanes)
        rest = (words & word((1 << self.fine) - 1)).view(np.int64)
        for lane in (words < word(1 << (64 - _COARSE_BITS))).nonzero()[0].tolist():
            r = int(rest[lane])
            # Given those zeros, the first coin succeeds with probability 2**30 times its own.
            kept = not bernoulli(r * q << _COARSE_BITS, p, source) or alternate(r * q, p, 2, source)
            while not kept:
                r = source.bits(self.fine)
                kept = bernoulli_exp(r * q, p, source)
            rest[lane] = r
        return rest


def signed(
    sizes: Integers,
    wide: dict[int, int],
    spare: Words,
    accepted: NDArray[np.bool_] | None = None,
) -> NDArray[Any]:
    """Give each accepted size the sign of its spare top bit, and drop the lanes of minus zero."""
    minus = spare.view(np.int64) >> _SIGN  # -1 or 0
    flipped: NDArray[Any] = sizes
    if wide:
        flipped = sizes.astype(object)
        for lane, size in wide.items():
            flipped[lane] = size
    flipped = flipped ^ minus  # -size - 1 or size: only minus zero gives -1
    kept = flipped != _MINUS_ZERO
    if accepted is not None:
        kept &= accepted
    values: NDArray[Any] = (flipped - minus)[kept]
    return as_integers(values) if wide else values

"""A lazy exponential: `E ~ Exp(1)`, revealed digit by digit and never rounded.

Every law in dpframe is a function of exponential variates, and only a few digits of a variate
decide its value. `LazyExponential` draws the digits that a comparison needs, remembers them, and
draws more when asked: the answers are those of one real number E, fixed from the start.

Given its leading digits, what is left of an exponential is an exponential truncated to the width
of the last digit. Its next digits are therefore drawn uniformly and kept with probability
`exp(-value)` of the value that they add.
"""

from __future__ import annotations

from dpframe.mechanisms.coins import alternate
from dpframe.mechanisms.cuts import CELL_BITS, table
from dpframe.mechanisms.source import Source

FIRST_BITS = 45
"""Digits revealed after the cell: 53 in all, which is what the vector code keeps in a word."""

_NEXT_BITS = 64


class LazyExponential:
    """One exponential variate with mean 1, known to as many binary digits as were asked for.

    >>> e = LazyExponential(Source())
    >>> coarse, fine = e.digits(4), e.digits(200)
    >>> fine >> 196 == coarse  # more digits refine what was known, and never change it
    True
    """

    __slots__ = ("_bits", "_known", "_source")

    def __init__(self, source: Source, known: tuple[int, int] | None = None) -> None:
        """Draw a fresh variate, or continue one whose `(floor(2**bits * E), bits)` is known."""
        self._source = source
        self._known, self._bits = (table().draw(source), CELL_BITS) if known is None else known

    def digits(self, bits: int) -> int:
        """Return `floor(2**bits * E)`, revealing digits as needed.

        So `digits(bits) / 2**bits <= E < (digits(bits) + 1) / 2**bits`.
        """
        if bits > self._bits:
            self._reveal(bits - self._bits)
        return self._known >> (self._bits - bits)

    def floor_times(self, p: int, q: int) -> int:
        """Return `floor(E * p/q)` for `p, q > 0`.

        `P(floor(E * p/q) >= g) = exp(-g * q/p)`: a geometric variate with scale p/q.
        """
        while True:
            unit = q << self._bits
            whole, rest = divmod(self._known * p, unit)
            if rest + p <= unit:
                return whole
            self._refine()

    def at_least(self, p: int, q: int) -> bool:
        """Tell whether `E >= p/q`, which happens with probability `exp(-p/q)` for `p/q >= 0`."""
        while True:
            above = self._known * q - (p << self._bits)
            if above >= 0:
                return True
            if above + q <= 0:
                return False
            self._refine()

    def _refine(self) -> None:
        self._reveal(FIRST_BITS if self._bits == CELL_BITS else _NEXT_BITS)

    def _reveal(self, count: int) -> None:
        bits = self._bits + count
        while True:
            tail = self._source.bits(count)
            if alternate(tail, 1 << bits, 1, self._source):
                break
        self._known = self._known << count | tail
        self._bits = bits

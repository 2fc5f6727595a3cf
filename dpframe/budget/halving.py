"""How several quantiles share a cost: in rounds, the middle ones first.

Once the middle quantile is chosen, those below it concern the rows below it and those above it the
others, so all that are chosen in one round cost as much as one (Kaplan, Schnapp and Stemmer 2022).
m levels take `log2(m + 1)` rounds, rounded up.

What a quantile is chosen by moves with the unit that is protected; `reach` says how far, and
`mechanisms.quantiles` why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

FINEST = 10**6
"""Levels are fractions with denominators up to this."""

COUNTED = Fraction(1, 4)
"""What part of a cost goes to the counts that error bars come from.

Bars are as wide as 1/s of such a share s of a pure cost, places as far off as 1/(1 - s), and both
are the roots of these for zCDP: either way, one percent of the places' error buys (1 - s)/s percent
of the bars' width. At a quarter that is three percent. Places are then 4/3, or sqrt(4/3), as far
off as with the whole cost, and bars reach 1.4 times as far as those of a tree of counts would, which
is five times as far off. An eighth would make them twice as wide to spare a seventh of the error.
"""


@dataclass(frozen=True, slots=True)
class Step:
    """One quantile of a round: which level, what share of its range, between which others."""

    index: int
    share: Fraction
    after: int | None
    before: int | None


@lru_cache(maxsize=64)
def rounds(levels: tuple[Fraction, ...]) -> list[list[Step]]:
    """The steps of each round; levels rise and lie between 0 and 1.

    >>> for steps in rounds((Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))):
    ...     print([(step.index, str(step.share)) for step in steps])
    [(1, '1/2')]
    [(0, '1/2'), (2, '1/2')]
    """
    found: list[list[Step]] = []
    ranges: list[tuple[int, int]] = [(0, len(levels))] if levels else []
    while ranges:
        steps, inner = [], []
        for start, end in ranges:
            middle = (start + end) // 2
            low = levels[start - 1] if start else Fraction(0)
            high = levels[end] if end < len(levels) else Fraction(1)
            share = ((levels[middle] - low) / (high - low)).limit_denominator(FINEST)
            after, before = start - 1 if start else None, end if end < len(levels) else None
            steps.append(Step(middle, share, after, before))
            inner += [(a, b) for a, b in ((start, middle), (middle + 1, end)) if a < b]
        found.append(steps)
        ranges = inner
    return found


@dataclass(frozen=True, slots=True)
class Swap:
    """One unit is replaced by another: what leaves and what enters are bounded each by itself."""

    one_group: bool
    """Whether all rows are in one group, so that a round of one step has a single range."""
    norm: int
    """Which norm over the groups is bounded: 1 for a pure cost, 2 for zCDP."""


def reach(share: Fraction, swap: Swap | None, *, alone: bool) -> Fraction:
    """How far a gap of this share moves, as a part of the most that it can, for a weight of 1.

    `mechanisms.quantiles` has the proof. `alone` says that the round has one step. Roots are rounded
    up to 1/1024.

    >>> most = Fraction(99, 100)
    >>> for swap in (None, Swap(one_group=True, norm=1), Swap(False, norm=1), Swap(False, norm=2)):
    ...     print(float(reach(most, swap, alone=True)))
    0.99
    1.0
    1.98
    1.400390625
    """
    far = max(share, 1 - share)
    if swap is None:
        return far
    if swap.one_group and alone:
        return Fraction(1)
    if swap.norm == 1:
        return 2 * far
    square = 2 * (far**2 + (1 - far) ** 2)
    return Fraction(math.isqrt(math.ceil(square * 2**20) - 1) + 1, 2**10)


@lru_cache(maxsize=64)
def rank_errors(levels: tuple[Fraction, ...], swap: Swap | None = None) -> tuple[float, ...]:
    """How far the rank of each quantile is off, in units of what a median alone would be.

    These are units of a median where rows are added or removed. The share s of a range is off by
    twice its `reach`, and inherits what the ends of its range are off: the one before it by `1 - s`,
    the one after it by s.

    >>> rank_errors((Fraction(1, 2),)), rank_errors((Fraction(9, 10),))
    ((1.0,), (1.8,))
    >>> rank_errors((Fraction(9, 10),), Swap(one_group=True, norm=1))
    (2.0,)
    """
    squares = [0.0] * len(levels)
    for steps in rounds(levels):
        for step in steps:
            share = float(step.share)
            square = (2 * float(reach(step.share, swap, alone=len(steps) == 1))) ** 2
            if step.after is not None:
                square += (1 - share) ** 2 * squares[step.after]
            if step.before is not None:
                square += share**2 * squares[step.before]
            squares[step.index] = square
    return tuple(map(math.sqrt, squares))


@lru_cache(maxsize=64)
def swap_factor(levels: tuple[Fraction, ...], swap: Swap | None) -> float:
    """How many times as far ranks are off as where a unit of the same weight is added or removed."""
    one, other = (math.hypot(*rank_errors(levels, change)) for change in (swap, None))
    return one / other

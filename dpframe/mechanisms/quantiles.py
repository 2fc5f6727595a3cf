"""Quantiles by private selection: positions on a grid, chosen by the rows on either side of them.

*Positions.* Each cell of a grid has the same number of positions, its grains, and its rows are taken
to lie evenly on them: with c rows in a cell of g grains, each grain weighs c/g. For a range of
positions, let A(x) be the weight of the range before x, so that n = A(end) is all of it. The
quantile `p/d` is wanted where `p n / d` is reached, and x misses it by

    gap(x) = max(0, d A(x) - p n, p n - d A(x + 1)),

d times the weight by which A would have to move. Written out, the middle term is
`(d - p) A(x) - p (n - A(x))` and the last one `p (n - A(x + 1)) - (d - p) A(x + 1)`: each is a sum of
weights with factors of at most `max(p, d - p)` in size, so where the weights of the range change by
v in L1, no gap changes by more than `max(p, d - p) v`.

*One quantile.* x is chosen with probability proportional to `exp(-gap(x) / b)`, where b is
`2 d reach scale`, and the reach is `max(p, d - p) / d`: the exponential mechanism (McSherry and Talwar 2007; Smith 2011). A change
of v costs at most `v / scale` of epsilon, and `(v / scale)**2 / 8` of zCDP (Cesar and Rogers 2021).

*Several quantiles* (Kaplan, Schnapp and Stemmer 2022). The middle one x is chosen first, over all
positions. Those below it are then chosen among the positions before x, those above it among the
positions after x, each as the quantile of that range which it is of the levels between: 1/4 is the
half of what is below 1/2. So there are rounds, `log2(m + 1)` of them rounded up for m levels, and
what is chosen never crosses. A range that is empty, because its neighbours were chosen side by
side, has no row to ask: its end is taken.

*Why it is private.* In each round the ranges of a group share no position, and which they are
depends on earlier choices alone. Where the cells of group k change by d[k] in L1, each row's weight
falls into the ranges in parts that add up to at most itself, so the changes v[k, i] of the ranges
add up to at most d[k]. All choices of a round together cost at most `sum v[k, i] / scale <=
sum d[k] / scale`, and of zCDP `sum v[k, i]**2 / (8 scale**2) <= sum d[k]**2 / (8 scale**2)`, because a
sum of squares is at most the square of the sum. `l1` bounds the sum of d[k] and `l2_squared` that of
d[k]**2, for whatever one unit changes. Rounds compose, adaptively.

*A unit that is replaced* (`Swap`). Of a range, weights of u leave and weights of w enter. Then
`d A(x) - p n` moves by `(d - p) (w' - u') - p (w'' - u'')`, where ' is what lies before x and '' the
rest, so up by at most `(d - p) w + p u`, and down by at most `p w + (d - p) u`. With M the larger
one of p/d and 1 - p/d, no gap changes by more than

    d f,    f = M max(u, w) + (1 - M) min(u, w),

because the larger one of several numbers moves by no more than one of them. That is so whatever
the two weigh, also where the one has no value, or is left out by a filter, and the number of rows is
no longer the same. Scores that move by at most d f each cost `2 d f / b = f / (reach * scale)` of
epsilon, and an eighth of its square of zCDP. What both weigh is bounded over groups and ranges: u and
w add up to at most l each, and so do the squares of what they add up to in a group, to l_2. In one
round, then:

- *One range in all* (one group, one step): `f <= l`. A reach of 1 costs at most `l / scale`, and
  `(l / scale)**2 / 8`.
- *Several ranges, pure.* f is convex, so the sum of all f / reach is largest where all of u is in one
  range i, and all of w in one range j. With reaches of 2 M it is `l / (2 M) <= l` if i = j, because
  M >= 1/2, and else `l / 2 + l / 2`.
- *Several ranges, zCDP.* `f**2 <= (M**2 + (1 - M)**2) (u**2 + w**2)` (Cauchy and Schwarz). Reaches
  whose squares are at least `2 (M**2 + (1 - M)**2)` make `f**2 / reach**2` at most `(u**2 + w**2) / 2`.
  The squares of a group's ranges add up to at most the square of their sum, so all together to l_2.

So a round costs as much as where a unit of that weight is added, and the reach says how much less
is known for it. Two removals, which it was bounded by before, would be a reach of 2 M in each case.

*Exactness.* Weights are integers in grains of a count, gaps are integers, and coins are exact. No
float is computed from a count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.budget.halving import Swap, reach, rounds, swap_factor
from dpframe.budget.loss import Loss
from dpframe.errors import InternalError, ParameterError
from dpframe.mechanisms.choices import FAR, FAR_BITS, flips, scaled_coin, uniform_each
from dpframe.mechanisms.coins import bernoulli, uniform_below
from dpframe.mechanisms.inputs import private_integers
from dpframe.mechanisms.lanes import Integers, word
from dpframe.mechanisms.scales import check_cost, check_count, check_scale, round_scale_up, sqrt_up
from dpframe.mechanisms.source import Source

_SAFE = 1 << 61
"""Weights below this are worked on in 64 bits."""

_LANES = 1 << 16
"""Proposals made at once."""

_MOST_POSITIONS = 1 << 38
_RARE_BITS = 24
"""The chance to propose a far position is below 2**-24 for so many; see `_is_far`."""


@dataclass(frozen=True)
class QuantileSelection:
    """Choose the positions of quantiles, of every group by itself.

    `scale` is what a round's epsilon divides the sensitivity into. The module says why it is
    private; `loss` and `zcdp_loss` are recomputed from the scale.

    >>> middle = QuantileSelection.for_epsilon((Fraction(1, 2),), Fraction(1, 10), l1=1)
    >>> print(middle.scale, middle.loss(l1=1))
    10 epsilon 0.1
    """

    levels: tuple[Fraction, ...]
    scale: Fraction
    swap: Swap | None = None
    """How a unit is replaced; None where it is added or removed.

    Where it is replaced, `l1` and `l2_squared` bound what leaves, and what enters, each by itself.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_scale("scale", self.scale))
        inside = all(0 < level < 1 for level in self.levels)
        if not self.levels or not inside or sorted(set(self.levels)) != list(self.levels):
            raise ParameterError(
                "levels are not between 0 and 1, or do not rise",
                why="each quantile is chosen between those next to it",
                fix="levels=(Fraction(1, 4), Fraction(1, 2))",
            )

    @classmethod
    def for_epsilon(
        cls, levels: tuple[Fraction, ...], epsilon: Fraction, l1: int, swap: Swap | None = None
    ) -> QuantileSelection:
        """Return the most accurate selection whose `loss` is at most `epsilon`."""
        moved = check_count("l1", l1, least=1) * len(rounds(levels))
        return cls(levels, round_scale_up("scale", moved / check_cost("epsilon", epsilon)), swap)

    @classmethod
    def for_rho(
        cls, levels: tuple[Fraction, ...], rho: Fraction, l2_squared: int, swap: Swap | None = None
    ) -> QuantileSelection:
        """Return the most accurate selection whose `zcdp_loss` is at most `rho`."""
        moved = Fraction(check_count("l2_squared", l2_squared, least=1) * len(rounds(levels)))
        scale = sqrt_up(moved / (8 * check_cost("rho", rho)))
        return cls(levels, round_scale_up("scale", scale), swap)

    @property
    def name(self) -> str:
        """What it is called."""
        return "exponential mechanism"

    @property
    def rounds(self) -> int:
        """How many selections there are one after the other."""
        return len(rounds(self.levels))

    def loss(self, l1: int) -> Loss:
        """What it costs as a pure epsilon, where cells move by at most `l1`."""
        self._refuse_other_norm(1)
        return Loss.pure(self.rounds * l1 / self.scale)

    def zcdp_loss(self, l2_squared: int) -> Loss:
        """What it costs as zCDP, where the L1 norms of the groups have at most this L2 norm.

        Charge either this or `loss`, not both.
        """
        self._refuse_other_norm(2)
        return Loss.zcdp(self.rounds * l2_squared / (8 * self.scale**2))

    def _refuse_other_norm(self, norm: int) -> None:
        if self.swap is not None and self.swap.norm != norm:
            raise InternalError("a unit that is replaced was bounded in another norm")

    @property
    def variance(self) -> float:
        """The variance of the rank of a median where rows lie evenly: that of a Laplace law.

        Where units are replaced, it is such that all levels together are as far off as they are.
        """
        return 2 * (float(self.scale) * swap_factor(self.levels, self.swap)) ** 2

    def choose(
        self, counts: NDArray[Any], cells: int, grains: int, source: Source
    ) -> NDArray[np.int64]:
        """Return the chosen positions: a row for each row of counts, a column for each level.

        Positions are those of the first `cells` cells, `grains` to a cell. Rows beyond them count
        nowhere.
        """
        if cells * grains > _MOST_POSITIONS:
            raise InternalError("a grid of too many positions")
        rows = private_integers(counts, "counts")[:, :cells]
        ranks = _Ranks(rows, grains)
        chosen = np.zeros((len(rows), len(self.levels)), dtype=np.int64)
        last = cells * grains
        for steps in rounds(self.levels):
            for step in steps:
                far = reach(step.share, self.swap, alone=len(steps) == 1)
                low = np.zeros(len(rows), dtype=np.int64)
                high = np.full(len(rows), last, dtype=np.int64)
                if step.after is not None:
                    low = chosen[:, step.after] + 1
                if step.before is not None:
                    high = chosen[:, step.before]
                found = np.minimum(low, high).clip(max=last - 1)
                asked = (low < high).nonzero()[0]
                at = _Range(ranks, asked, low[asked], high[asked], step.share)
                found[asked] = self._one(at, far, source)
                chosen[:, step.index] = found
        return chosen

    def _one(self, at: _Range, far: Fraction, source: Source) -> Integers:
        """Choose one position of `[low, high)` in each of some groups, by the exponential mechanism.

        Gaps fall up to the wanted rank and rise after it, so positions that are at most `FAR` scales
        behind are neighbours: they are found by bisection, proposed uniformly, and accepted with
        probability `exp(-gap / scale)`. The others are proposed `2**FAR_BITS` times less often, and
        accepted that much more often.
        """
        scale = 2 * at.d * far * at.ranks.grains * self.scale
        low, high = at.low, at.high
        first, end = at.within(math.floor(FAR * scale))
        chosen = np.empty(len(low), dtype=np.int64)
        waiting, tries = np.arange(len(low)), 16
        while waiting.size:
            some = np.repeat(waiting, tries)
            picks = first[some] + uniform_each(end[some] - first[some], source)
            won = flips(at.gaps(some, picks), scale, source)
            for lane in _rare(source.words(some.size)):
                i = int(some[lane[0]])
                near, width = int(end[i] - first[i]), int(high[i] - low[i])
                if _is_far(lane[1], width - near, near, source):
                    pick = int(low[i]) + uniform_below(width - near, source)
                    pick += near if pick >= first[i] else 0
                    gap = int(at.gaps(np.array([i]), np.array([pick]))[0])
                    picks[lane[0]] = pick
                    won[lane[0]] = scaled_coin(gap / scale, FAR_BITS, source)
            won, picks = won.reshape(-1, tries), picks.reshape(-1, tries)
            ended = won.any(axis=1)
            chosen[waiting[ended]] = picks[ended, won[ended].argmax(axis=1)]
            waiting = waiting[~ended]
            tries = max(1, min(4 * tries, _LANES // max(1, waiting.size)))
        return chosen


def _rare(words: NDArray[np.uint64]) -> Iterator[tuple[int, int]]:
    """The lanes that may stand for a far position, with their word: one in 2**24 of all."""
    for lane in (words < word(1 << (64 - _RARE_BITS))).nonzero()[0].tolist():
        yield lane, int(words[lane])


def _is_far(drawn: int, far: int, near: int, source: Source) -> bool:
    """Decide, from a uniform word, a coin of probability `far / (near * 2**FAR_BITS + far)`.

    With at most 2**38 positions it is below `2 * far * 2**-64 <= 2**-25`, so a word that is not
    rare decides against.
    """
    whole = (near << FAR_BITS) + far
    below, rest = divmod(far << 64, whole)
    return drawn < below or (drawn == below and bernoulli(rest, whole, source))


class _Ranks:
    """The weight of all positions before any one, group by group, in grains of a count."""

    def __init__(self, counts: NDArray[Any], grains: int) -> None:
        self.grains = grains
        self.width = counts.shape[1]
        self.edges = np.zeros(counts.size + 2, dtype=counts.dtype)
        np.cumsum(counts, out=self.edges[1:-1])
        self.edges[-1] = self.edges[-2]  # after the last cell there is an empty one
        if int(self.edges[-1]) * grains >= _SAFE:
            self.edges = self.edges.astype(object)

    def before(self, groups: Integers, positions: Integers) -> NDArray[Any]:
        """The weight of a group before a position of it."""
        start = groups * self.width
        cells, rest = np.divmod(positions, self.grains)
        edge = self.edges[start + cells]
        inner = (self.edges[start + cells + 1] - edge) * rest
        weight: NDArray[Any] = (edge - self.edges[start]) * self.grains + inner
        return weight

    def largest(self) -> int:
        """The most that any group weighs."""
        totals = np.diff(self.edges[0 : self.edges.size - 1 : self.width])
        return int(totals.max(initial=0)) * self.grains


class _Range:
    """A range of positions in each of some groups, and how far each misses a share of its weight."""

    def __init__(
        self, ranks: _Ranks, groups: Integers, low: Integers, high: Integers, share: Fraction
    ) -> None:
        self.ranks, self.groups, self.low, self.high = ranks, groups, low, high
        self.p, self.d = p, d = share.numerator, share.denominator
        self.wide = 2 * ranks.largest() * d >= _SAFE
        self.start = self._exact(ranks.before(groups, low))
        self.wanted = p * (self._exact(ranks.before(groups, high)) - self.start)

    def _exact(self, weights: NDArray[Any]) -> NDArray[Any]:
        return weights.astype(object) if self.wide else weights

    def gaps(self, lanes: Integers, positions: Integers) -> NDArray[Any]:
        """How far positions of some of the groups miss it."""
        groups = self.groups[lanes]
        over, under = (
            self.d * (self._exact(self.ranks.before(groups, positions + i)) - self.start[lanes])
            - self.wanted[lanes]
            for i in (0, 1)
        )
        found: NDArray[Any] = np.maximum(np.maximum(over, -under), 0)
        return found

    def within(self, reach: int) -> tuple[Integers, Integers]:
        """The positions with gaps of at most `reach`: from the first, to before the end.

        There is always one: where the weight passes the wanted one, the gap is 0.
        """
        ranks, grains = self.ranks, self.ranks.grains
        # Nothing weighs more than the heaviest group; so that no sum leaves 64 bits.
        reach = min(reach, ranks.largest() * self.d)
        begin = self.groups * ranks.width
        base, edges = ranks.edges[begin], ranks.edges
        # The last position with before(x) <= most.
        most = self._narrow(self.start + (self.wanted + reach) // self.d)
        cell = np.searchsorted(edges, base + most // grains, side="right") - 1
        cell = np.minimum(cell, begin + ranks.width - 1)
        counted = edges[cell + 1] - edges[cell]
        inner = (most - (edges[cell] - base) * grains) // np.maximum(counted, 1)
        inner = np.where(counted > 0, inner.clip(max=grains - 1), grains - 1)
        end = np.minimum((cell - begin) * grains + inner + 1, self.high)
        # The first position with before(x + 1) >= least.
        least = self._narrow(self.start - (reach - self.wanted) // self.d)
        some = least > 0
        cell = np.searchsorted(edges, base - (-least // grains), side="left") - 1
        cell = np.maximum(cell, begin)
        counted = edges[cell + 1] - edges[cell]
        inner = -(((edges[cell] - base) * grains - least) // np.maximum(counted, 1))
        inner = np.where(counted > 0, inner, 1)
        first = np.where(some, (cell - begin) * grains + inner - 1, 0)
        first = np.maximum(first, self.low)
        return first.astype(np.int64), end.astype(np.int64)

    def _narrow(self, weights: NDArray[Any]) -> NDArray[Any]:
        return weights.astype(self.ranks.edges.dtype)

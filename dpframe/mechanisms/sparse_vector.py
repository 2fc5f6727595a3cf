"""Sparse vector: ask many questions, pay for the few answers above a threshold.

Integer queries arrive one by one, each chosen after the answers to the last. `AboveThreshold` says
of each whether it is above the threshold, and `NumericSparse` adds a fresh noisy value where it is.
Answers below are free, however many; after `answers` of them above, it stops. The whole loss is
known, and charged, before the first question.

The variant is algorithm 1 of Lyu, Su and Li, "Understanding the Sparse Vector Technique" (2017),
one of only two, of the six that they examine, which are as private as was claimed. The threshold
gets noise once, every query its own, and what is compared is never released.

*Proof, for integers.* Let s be the sensitivity, c the number of answers above, `epsilon_1` and
`epsilon_2` the shares of threshold and queries. Given the threshold's noise z, the answers so far
have the probability `prod P(v < T + z - q_i) prod P(v >= T + z - q_j)`, over those below and those
above. Compare z on one table with `z + s` on its neighbour: that noise is `exp(epsilon_1)` less
likely at most; no query has moved by more than s, so each factor below is at least as large; each
factor above has its bound moved by at most 2s, which costs `exp(epsilon_2 / c)` at query noise of
scale `2 c s / epsilon_2`. There are at most c of those. If all queries move in one direction,
either they fall, then compare z with z and bounds move by s, or they rise, then compare z with
`z + s`, and bounds move by at most s again: scale `c s / epsilon_2` does. The ratio holds for
every z, so it holds for the sum over z; and each query is fixed by the answers before it.

Shares in the ratio `1 : (2c)**(2/3)` (`1 : c**(2/3)` if monotone) give the comparison the least
variance (Lyu, Su and Li, section 4.2); any ratio is private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Self

from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.mechanisms.accuracy import allowed_failure, least_cost
from dpframe.mechanisms.inputs import check_flag
from dpframe.mechanisms.laplace import DiscreteLaplace
from dpframe.mechanisms.scales import check_cost, check_count
from dpframe.mechanisms.source import Source
from dpframe.mechanisms.sparse_monitors import AboveMonitor, NumericMonitor

_ROOT_BITS = 10
"""Binary digits of the ratio between the shares."""


@dataclass(frozen=True)
class AboveThreshold:
    """Say of each query whether it is above a public threshold, up to `answers` times yes.

    `sensitivity` is the most that one unit moves any query. Queries are `monotone` if a unit that
    is added raises none of them, or lowers none of them (counts).

    >>> svt = AboveThreshold(Fraction(1), sensitivity=1, threshold=1000, answers=4)
    >>> svt.threshold_noise.scale, svt.query_noise.scale
    (Fraction(5, 1), Fraction(10, 1))
    >>> print(svt.loss, svt.error(0.95, queries=1000))
    epsilon 1 124
    """

    epsilon: Fraction
    sensitivity: int
    threshold: int
    answers: int = 1
    monotone: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_cost("epsilon", self.epsilon))
        check_count("sensitivity", self.sensitivity, least=1)
        check_count("answers", self.answers, least=1)
        check_flag("monotone", self.monotone)
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int):
            raise ParameterError(
                f"threshold is {self.threshold!r}, not an integer",
                why="queries are integers, and are compared with it exactly",
                fix="threshold=100",
            )
        _ = self.threshold_noise, self.query_noise  # refuse scales that no noise has

    @cached_property
    def threshold_noise(self) -> DiscreteLaplace:
        """The noise of the threshold, drawn once."""
        return DiscreteLaplace.for_epsilon(self.epsilon / (1 + self._ratio), self.sensitivity)

    @cached_property
    def query_noise(self) -> DiscreteLaplace:
        """The noise of every query."""
        share = self.epsilon * self._ratio / (1 + self._ratio)
        return DiscreteLaplace.for_epsilon(share, self._bounds_move)

    @property
    def loss(self) -> Loss:
        """What all answers together cost, however many queries there are."""
        threshold = self.sensitivity / self.threshold_noise.scale
        return Loss.pure(threshold + self._bounds_move / self.query_noise.scale)

    def start(self, source: Source) -> AboveMonitor:
        """Draw the threshold's noise; charge `loss` before."""
        return AboveMonitor(self, source)

    def error(self, confidence: float, queries: int) -> int:
        """Bound how wrong any answer to this many queries is, at this confidence.

        No query answered "above" is more than this below the threshold, and no other is this far
        above it: each noise stays within its width with the square root of the confidence.
        """
        count = check_count("queries", queries, least=1)
        allowed_failure(confidence)
        each = math.nextafter(math.sqrt(confidence), 1.0)
        return self.threshold_noise.half_width(each) + self.query_noise.half_width(each, count)

    @classmethod
    def for_error(
        cls,
        error: int,
        confidence: float,
        queries: int,
        *,
        sensitivity: int,
        threshold: int,
        answers: int = 1,
        monotone: bool = False,
    ) -> Self:
        """Return the mechanism that costs least among those with at most this `error`."""
        wanted = check_count("error", error, least=0)
        rest = (sensitivity, threshold, answers, monotone)
        return cls(
            least_cost(lambda epsilon: cls(epsilon, *rest).error(confidence, queries) <= wanted),
            *rest,
        )

    @property
    def _bounds_move(self) -> int:
        """How far the bounds on the noise of all answers above move between neighbours, added up."""
        return self.answers * self.sensitivity * (1 if self.monotone else 2)

    @property
    def _ratio(self) -> Fraction:
        moves = self.answers if self.monotone else 2 * self.answers
        return Fraction(_cube_root(moves * moves << 3 * _ROOT_BITS), 1 << _ROOT_BITS)


@dataclass(frozen=True)
class NumericSparse:
    """Say of each query whether it is above a threshold, and if so its value with fresh noise.

    `share` of epsilon goes to the values. Dwork and Roth 2014, algorithm 3: an `AboveThreshold`
    and c Laplace mechanisms, asked in turns. They compose as if asked one after the other, in pure
    epsilon (Vadhan and Wang 2021) and at every Renyi order (Lyu 2022).

    >>> svt = NumericSparse(Fraction(1), sensitivity=1, threshold=1000, answers=4)
    >>> svt.value_noise.scale, svt.value_noise.half_width(0.95, answers=4)
    (Fraction(8, 1), 35)
    >>> print(svt.loss)
    epsilon 1
    """

    epsilon: Fraction
    sensitivity: int
    threshold: int
    answers: int = 1
    monotone: bool = False
    share: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_cost("epsilon", self.epsilon))
        if check_cost("share", self.share) >= 1:
            raise ParameterError(
                f"share is {self.share}, not below 1",
                why="something has to be left for telling what is above the threshold",
                fix="share=Fraction(1, 2)",
            )
        _ = self.detector, self.value_noise  # check the rest

    @cached_property
    def detector(self) -> AboveThreshold:
        """What tells which queries are above."""
        return AboveThreshold(
            self.epsilon * (1 - self.share),
            self.sensitivity,
            self.threshold,
            self.answers,
            self.monotone,
        )

    @cached_property
    def value_noise(self) -> DiscreteLaplace:
        """The noise of every released value."""
        return DiscreteLaplace.for_epsilon(
            self.epsilon * self.share / self.answers, self.sensitivity
        )

    @property
    def loss(self) -> Loss:
        """What all answers together cost, however many queries there are."""
        return self.detector.loss + self.answers * self.value_noise.loss(self.sensitivity)

    def start(self, source: Source) -> NumericMonitor:
        """Draw the threshold's noise; charge `loss` before."""
        return NumericMonitor(self, source)

    def error(self, confidence: float, queries: int) -> int:
        """Bound how wrong any answer to this many queries is, released values included."""
        allowed_failure(confidence)
        each = math.nextafter(math.sqrt(confidence), 1.0)
        values = self.value_noise.half_width(each, self.answers)
        return max(values, self.detector.error(each, queries))

    @classmethod
    def for_error(
        cls,
        error: int,
        confidence: float,
        queries: int,
        *,
        sensitivity: int,
        threshold: int,
        answers: int = 1,
        monotone: bool = False,
    ) -> Self:
        """Return the mechanism, and its share, that costs least among those with this `error`."""
        allowed_failure(confidence)
        each = math.nextafter(math.sqrt(confidence), 1.0)
        detector = AboveThreshold.for_error(
            error,
            each,
            queries,
            sensitivity=sensitivity,
            threshold=threshold,
            answers=answers,
            monotone=monotone,
        )
        scale = DiscreteLaplace.for_half_width(error, each, answers).scale
        values = answers * sensitivity / scale
        total = detector.epsilon + values
        return cls(total, sensitivity, threshold, answers, monotone, values / total)


def _cube_root(value: int) -> int:
    """Return the integer part of a cube root, by Newton's method from above."""
    root = 1 << -(-value.bit_length() // 3)
    while (better := (2 * root + value // (root * root)) // 3) < root:
        root = better
    return root

"""Sparse vector: ask many questions, pay for the few answers above a threshold.

Integer queries arrive one by one, each chosen after the answers to the last. `AboveThreshold` says
of each whether it is above the threshold, and `NumericSparse` adds a fresh noisy value where it is.
Below the threshold costs nothing; after `answers` times above, it stops. The whole loss is known,
and charged, before the first question.

The variant is algorithm 1 of Lyu, Su and Li, "Understanding the Sparse Vector Technique" (2017),
which is private; four of the six that they examine are not. The threshold gets noise once, every
query its own, and what is compared is never released.

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
import os
import threading
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NoReturn, Self

from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.mechanisms.accuracy import allowed_failure, least_cost
from dpframe.mechanisms.inputs import check_flag, private_integer
from dpframe.mechanisms.laplace import DiscreteLaplace
from dpframe.mechanisms.scales import check_cost, check_count
from dpframe.mechanisms.source import Source

_ROOT_BITS = 10
"""Binary digits of the ratio between the shares."""


@dataclass(frozen=True)
class AboveThreshold:
    """Say of each query whether it is above a public threshold, up to `answers` times yes.

    `sensitivity` is the most that one unit moves any query. `monotone` queries all rise, or all
    fall, when a unit is added.

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

        def made(epsilon: Fraction) -> Self:
            return cls(epsilon, sensitivity, threshold, answers, monotone)

        return made(least_cost(lambda e: made(e).error(confidence, queries) <= wanted))

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
        """Bound how wrong any "above" or its absence is; `value_noise.half_width` is for values."""
        return self.detector.error(confidence, queries)


class _Monitor:
    """The state of a running sparse vector: its noisy threshold, and the answers left.

    A copy would answer with the same noise again and be charged once, so there are none: not by
    `copy`, not by `pickle`, not in a forked child.
    """

    __slots__ = ("_detector", "_left", "_lock", "_owner", "_source", "_threshold")

    def __init__(self, detector: AboveThreshold, source: Source) -> None:
        self._detector = detector
        self._source = source
        self._left = detector.answers
        self._threshold = detector.threshold_noise.add([detector.threshold], source)[0]
        self._lock = threading.Lock()
        self._owner = os.getpid()

    @property
    def left(self) -> int:
        """How many more answers above the threshold there are."""
        return self._left

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self._left} of {self._detector.answers} answers left>"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise ParameterError(
            "a running sparse vector cannot be copied",
            why="the copy would reuse its noise, and both were charged as one",
            fix="mechanism.start(source) starts another; charge its loss",
        )

    def _above(self, value: int) -> bool:
        query = private_integer(value, "the query")
        with self._lock:
            if os.getpid() != self._owner:
                self.__reduce_ex__(None)
            if not self._left:
                raise ParameterError(
                    f"all {self._detector.answers} answers above the threshold were given",
                    why="the loss that was charged covers that many, and no query after the last",
                    fix="mechanism.start(source) starts another; charge its loss",
                )
            above = self._detector.query_noise.add([query], self._source)[0] >= self._threshold
            self._left -= above
            return above


class AboveMonitor(_Monitor):
    """A running `AboveThreshold`.

    >>> monitor = AboveThreshold(Fraction(1), sensitivity=1, threshold=0).start(Source())
    >>> monitor.ask(10**9), monitor.left
    (True, 0)
    >>> monitor.ask(0)
    Traceback (most recent call last):
    ...
    dpframe.errors.ParameterError: all 1 answers above the threshold were given
      why: the loss that was charged covers that many, and no query after the last
      fix: mechanism.start(source) starts another; charge its loss
    """

    __slots__ = ()

    def ask(self, value: int) -> bool:
        """Tell whether a query with this exact value is, noisily, at least the threshold."""
        return self._above(value)


class NumericMonitor(_Monitor):
    """A running `NumericSparse`.

    >>> monitor = NumericSparse(Fraction(1), sensitivity=1, threshold=0, answers=2).start(Source())
    >>> monitor.ask(-(10**9)) is None, monitor.left
    (True, 2)
    """

    __slots__ = ("_value_noise",)

    def __init__(self, mechanism: NumericSparse, source: Source) -> None:
        super().__init__(mechanism.detector, source)
        self._value_noise = mechanism.value_noise

    def ask(self, value: int) -> int | None:
        """Return the value with fresh noise if it is, noisily, above the threshold; else None."""
        return self._value_noise.add([value], self._source)[0] if self._above(value) else None


def _cube_root(value: int) -> int:
    """Return the integer part of a cube root, by Newton's method from above."""
    root = 1 << -(-value.bit_length() // 3)
    while (better := (2 * root + value // (root * root)) // 3) < root:
        root = better
    return root

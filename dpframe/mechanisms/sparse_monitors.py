"""Running sparse vectors: the state between one query and the next."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, NoReturn

from dpframe.errors import ParameterError
from dpframe.mechanisms.inputs import private_integer
from dpframe.mechanisms.source import Source

if TYPE_CHECKING:
    from dpframe.mechanisms.sparse_vector import AboveThreshold, NumericSparse


class Monitor:
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

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        _refuse_copy()

    def _above(self, value: int) -> bool:
        query = private_integer(value, "the query")
        if os.getpid() != self._owner:
            _refuse_copy()
        with self._lock:  # two threads must not share the last answer
            if not self._left:
                raise ParameterError(
                    f"all {self._detector.answers} answers above the threshold were given",
                    why="the loss that was charged covers that many, and no query after the last",
                    fix="mechanism.start(source) starts another; charge its loss",
                )
            above = self._detector.query_noise.add([query], self._source)[0] >= self._threshold
            self._left -= above
            return above


class AboveMonitor(Monitor):
    """A running `AboveThreshold`.

    >>> from fractions import Fraction
    >>> from dpframe.mechanisms import AboveThreshold
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


class NumericMonitor(Monitor):
    """A running `NumericSparse`.

    >>> from fractions import Fraction
    >>> from dpframe.mechanisms import NumericSparse
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


def _refuse_copy() -> NoReturn:
    raise ParameterError(
        "a running sparse vector cannot be copied, nor used in a forked process",
        why="two copies would answer with the same noise, and were charged as one",
        fix="mechanism.start(source) starts another; charge its loss",
    )

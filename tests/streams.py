"""Random bits that are the same in every run."""

from __future__ import annotations

import threading

import numpy as np

from dpframe.mechanisms import Source


class Stream(Source):
    """The bits that follow from a seed, each handed out once, to whichever thread asks."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._ready = b""
        self._at = 0
        self._lock = threading.Lock()

    def take(self, count: int) -> bytes:
        with self._lock:
            if self._at + count > len(self._ready):
                self._ready, self._at = self._generator.bytes(max(count, 1 << 20)), 0
            self._at += count
            return self._ready[self._at - count : self._at]

"""The one door through which randomness enters: uniform bits from the operating system.

Every draw in dpframe asks a `Source`. There is no seed and no switch that turns noise off: a test
that wants a fixed stream subclasses `Source` and overrides `take`.

Short requests go to `os.urandom`, a system call. Long ones go to OpenSSL's `RAND_bytes`, which is
seeded by the operating system, reseeds itself in a forked child, and is an order of magnitude
faster per byte. Nothing is buffered between requests, so two processes never share a bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

_SHORT = 256
"""Bytes up to which a system call is quicker than OpenSSL's call overhead."""

_POOL_BYTES = 64


class Source:
    """Uniform and independent bits.

    >>> Source().words(3).shape
    (3,)
    """

    __slots__ = ()

    def take(self, count: int) -> bytes:
        """Return `count` fresh random bytes. Every other method draws on this one."""
        if count <= _SHORT:
            return os.urandom(count)
        return _bulk()(count)

    def bits(self, count: int) -> int:
        """Return `count` uniform bits as an integer below `2**count`."""
        size = (count + 7) >> 3
        return int.from_bytes(self.take(size), "little") >> ((size << 3) - count)

    def floats(self) -> np.random.Generator:
        """A generator of floating-point numbers that protect nobody, such as error bars need."""
        return np.random.default_rng(self.bits(128))

    def words(self, count: int) -> NDArray[np.uint64]:
        """Return `count` uniform 64-bit words; the array is read-only."""
        return np.frombuffer(self.take(count << 3), dtype=np.uint64, count=count)


class Pool(Source):
    """A source that asks its parent for 64 bytes at a time and hands them out bit by bit.

    For one call of one thread: it keeps unused bits, so a pool that outlived a fork would give
    both processes the same ones. Make it, use it, drop it.
    """

    __slots__ = ("_held", "_parent", "_reserve")

    def __init__(self, parent: Source) -> None:
        self._parent = parent
        self._reserve = 0
        self._held = 0

    def take(self, count: int) -> bytes:
        """Return `count` fresh random bytes."""
        return self.bits(count << 3).to_bytes(count, "little")

    def bits(self, count: int) -> int:
        """Return `count` uniform bits as an integer below `2**count`."""
        while self._held < count:
            more = int.from_bytes(self._parent.take(_POOL_BYTES), "little")
            self._reserve |= more << self._held
            self._held += _POOL_BYTES << 3
        value = self._reserve & ((1 << count) - 1)
        self._reserve >>= count
        self._held -= count
        return value


@cache
def _bulk() -> Callable[[int], bytes]:
    # `ssl` takes longer to import than all of dpframe's noise, so it loads with the first long
    # request. A Python built without it still has its system calls.
    try:
        from ssl import RAND_bytes
    except ImportError:
        return os.urandom
    return RAND_bytes

"""What engines share about stored integers that are wider than the plan's."""

from __future__ import annotations

import itertools

from dpframe.declare import Storage
from dpframe.plan.domains import INT64, Domain, Type


def is_wide(storage: Storage) -> bool:
    """Whether a column can hold integers beyond 64 bits.

    >>> is_wide(Storage(Type.INT, "UBIGINT", 0, 2**64 - 1))
    True
    """
    if storage.type is not Type.INT or storage.low is None or storage.high is None:
        return False
    return storage.low < INT64[0] or storage.high > INT64[1]


def unlisted_integer(domain: Domain) -> int:
    """An integer that is no declared key: what one beyond 64 bits stands for among keys.

    NULL may be a key, and so may the ends of the range; a cast would stop at the first such row.

    >>> unlisted_integer(Domain(Type.INT, 0, 5, values=(0, 1, 5)))
    2
    """
    return next(v for v in itertools.count() if v not in (domain.values or ()))

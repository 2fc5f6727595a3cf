"""What engines share about stored integers that are wider than the plan's."""

from __future__ import annotations

import itertools

from dpframe.plan.domains import Domain


def unlisted_integer(domain: Domain) -> int:
    """An integer that is no declared key: what one beyond 64 bits stands for among keys.

    NULL may be a key, and so may the ends of the range; a cast would stop at the first such row.

    >>> from dpframe.plan.domains import Type
    >>> unlisted_integer(Domain(Type.INT, 0, 5, values=(0, 1, 5)))
    2
    """
    return next(v for v in itertools.count() if v not in (domain.values or ()))

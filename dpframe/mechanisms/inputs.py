"""Private integers on their way in: checked, and never quoted.

Whatever a mechanism is given may be read from private rows, so what it refuses it names by kind,
and raises outside the handler: no exception carries a value, not even in its context.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.errors import ParameterError
from dpframe.mechanisms.law import as_integers

_SAFE = 1 << 62
"""Integers smaller than this in size can be added and subtracted in pairs in 64 bits."""

_MOST = 1 << 63


def check_flag(name: str, value: object) -> bool:
    """Return a switch, which has to be True or False and nothing that merely behaves like it."""
    if isinstance(value, bool):
        return value
    raise ParameterError(
        f"{name} is {value!r}, not True or False",
        why="it changes how much noise is needed",
        fix=f"{name}=True",
    )


def check_candidates(candidates: object) -> int:
    """Return a number of candidates of at least 1."""
    if isinstance(candidates, int) and not isinstance(candidates, bool):
        if 1 <= candidates <= _MOST:
            return candidates
        candidates = "over 2**63" if candidates > 0 else candidates
    raise ParameterError(
        f"there are {candidates} candidates",
        why="a selection names one of them, so there has to be one, in a list that can exist",
        fix="mechanism.select([0], source)",
    )


def private_integer(value: object, name: str) -> int:
    """Return one private integer as a Python integer."""
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise ParameterError(
        f"{name} is not an integer",
        why="noise lives on the integers, and rounding a value would change its sensitivity",
        fix=f"{name}=3",
    )


def private_integers(values: Sequence[int] | NDArray[Any], name: str) -> NDArray[Any]:
    """Return private integers as int64, or as Python integers (dtype object) if one is wider.

    >>> private_integers([3, -1], "scores").dtype, private_integers([3, 1 << 80], "scores").dtype
    (dtype('int64'), dtype('O'))
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.dtype != np.uint64:
        return values.astype(np.int64, copy=False)
    found = _python_integers(values)
    if found is None:
        raise ParameterError(
            f"{name} are not all integers",
            why="noise lives on the integers, and rounding a value would change its sensitivity",
            fix=f"{name}=[3, 1, 4]",
        )
    array = as_integers(found)
    return array.reshape(values.shape) if isinstance(values, np.ndarray) else array


def add_exactly(values: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
    """Return sums that never wrap around: in 64 bits where they fit, else in Python integers.

    >>> add_exactly(np.array([2**63 - 1]), np.array([1]))
    array([9223372036854775808], dtype=object)
    """
    if values.dtype == object or others.dtype == object or not (_fits(values) and _fits(others)):
        values, others = values.astype(object), others.astype(object)
    total: NDArray[Any] = values + others
    return total


def gaps_below_best(scores: NDArray[Any]) -> NDArray[Any]:
    """Return how far each score of a row is below the best of its row.

    >>> gaps_below_best(np.array([[3, 1, 4], [7, 7, 6]])).tolist()
    [[1, 3, 0], [0, 0, 1]]
    """
    if scores.dtype != object and _fits(scores):
        gaps: NDArray[Any] = scores.max(axis=-1, keepdims=True) - scores
        return gaps
    wide = scores.astype(object)
    gaps = wide.max(axis=-1, keepdims=True) - wide
    return as_integers(gaps.ravel().tolist()).reshape(gaps.shape)


def _fits(values: NDArray[Any]) -> bool:
    return not values.size or (int(values.min()) > -_SAFE and int(values.max()) < _SAFE)


def _python_integers(values: Sequence[int] | NDArray[Any]) -> list[int] | None:
    if isinstance(values, str | bytes):
        return None
    try:
        found = values.ravel().tolist() if isinstance(values, np.ndarray) else list(values)
        return None if any(isinstance(v, bool) for v in found) else [index(v) for v in found]
    except TypeError:
        return None

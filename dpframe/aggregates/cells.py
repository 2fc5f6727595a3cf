"""Cells of the single values of an expression, and which of them have rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpframe.aggregates.base import MOST_CELLS, Levels, Scope, Span
from dpframe.aggregates.crossings import log_phi
from dpframe.aggregates.tree import Floats
from dpframe.bounds.analysis import Typed, typed
from dpframe.plan.coding import Coding
from dpframe.plan.domains import Type, number_of_values, possible_values
from dpframe.plan.exprs import AggregateCall, Call, Expr, literal
from dpframe.plan.parts import GridCounts

_MOST_LISTED = 1_000
"""Declared values that are told apart one by one; ranges of integers and days may be longer."""

_MOST_UNKNOWN = 256
"""Values of a group where the groups are still to be chosen."""


@dataclass(frozen=True, slots=True)
class Occupied:
    """How many cells have rows, as far as noisy counts of them tell.

    A cell without rows is counted only if its noise is above a limit, and one with rows is left out
    only if its noise is below the opposite of that. For all cells together neither happens more
    often than `cells * P(noise > limit)` (Boole's inequality). So those above the limit are too few,
    and those above its opposite too many, each but for that chance: bars cover more than they say.
    What lies between may be empty, or have few rows; the answer leaves it out.
    """

    has_bars: ClassVar[bool] = True
    is_chosen: ClassVar[bool] = False
    is_apart: ClassVar[bool] = False

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        (rows,) = counts
        limit = _limits(np.log([0.5]), rows.shape[1], deviations[0])
        found: Floats = (rows > limit).sum(axis=1).astype(float)
        return found

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Span:
        (rows,) = counts
        found = np.empty((2, *normals.shape))
        for ends, side in zip(found, (1, -1), strict=True):
            chances = np.minimum(log_phi(side * normals), math.log(0.5))
            limits = side * _limits(chances, rows.shape[1], deviations[0])
            for group, cells in enumerate(np.sort(rows, axis=1)):
                below = np.searchsorted(cells, limits[:, group], side="right")
                ends[:, group] = cells.size - below
        first, last = found
        return first, last, first, last

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        return np.zeros(counts[0].shape)


def _limits(chances: Floats, cells: int, deviation: float) -> Floats:
    """What the noise of none of so many cells is above, but for chances that are given as logarithms.

    That of Laplace noise, whose tail beyond it is heavier than that of Gaussian noise.
    """
    found: Floats = deviation / math.sqrt(2) * (math.log(cells / 2) - chances).clip(0)
    return found


def cells_of(
    call: AggregateCall, value: Typed, where: Expr | None, scope: Scope
) -> GridCounts | None:
    """A cell for each value, if there are at least two and they can all be counted in each group."""
    size = number_of_values(value.domain)
    if size is None or not 2 <= size <= most_values(value, scope) or scope.table.public:
        return None
    code, low = coded(call, value, scope)
    return GridCounts(where, code, Coding(low, low + size - 1, 0, is_integer=True), 1, size)


def most_values(value: Typed, scope: Scope) -> int:
    """How many values of each group can be counted one by one."""
    most = _MOST_UNKNOWN if scope.groups is None else MOST_CELLS // scope.groups
    return min(most, _MOST_LISTED) if value.domain.values is not None else most


def coded(call: AggregateCall, value: Typed, scope: Scope) -> tuple[Expr, int]:
    """The value as a whole number, NULL where it is none, and the lowest of those numbers."""
    (expr,), domain, place = call.args, value.domain, call.place
    if domain.values is None and domain.type is Type.INT:
        return value.expr, int(domain.low)
    if domain.values is None and domain.type is Type.DATE:
        days = typed(Call("day_number", (expr,), place=place), scope.columns)
        return days.expr, int(days.domain.low)
    arms: list[Expr] = []
    for number, one in enumerate(possible_values(domain)):
        arms += [Call("equal", (expr, literal(one)), place=place), literal(number)]
    return typed(Call("case", (*arms, literal(None)), place=place), scope.columns).expr, 0

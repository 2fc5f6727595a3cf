"""MODE: the most frequent value of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import polars as pl

from dpframe.aggregates.base import (
    Aggregate,
    Levels,
    Recipe,
    Scope,
    Span,
    aggregate,
    not_distinct,
    only_argument,
    rows_where,
)
from dpframe.aggregates.cells import coded, most_values
from dpframe.aggregates.tree import Floats
from dpframe.bounds.analysis import Typed, refused
from dpframe.plan.coding import Coding
from dpframe.plan.domains import Domain, Type, number_of_values, possible_values
from dpframe.plan.exprs import AggregateCall, Column
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.parts import FrequentCell


@dataclass(frozen=True, slots=True)
class Chosen:
    """The number of a chosen value; how often it occurs is not released, so it has no error bar."""

    has_bars: ClassVar[bool] = False
    is_chosen: ClassVar[bool] = True
    is_apart: ClassVar[bool] = True

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        found: Floats = counts[0][:, 0]
        return found

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Span:
        place = np.broadcast_to(counts[0][:, 0], normals.shape)
        return place, place, place, place

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        return np.zeros((len(counts[0]), 1))


@aggregate
@dataclass(frozen=True, slots=True)
class Mode(Aggregate):
    """A value that is about the most frequent one of its group, by private selection.

    Guarantee: that of `FrequentCell`. Only the value is released, in every group one: where there
    are no rows it is any of them. NULL is no value. It needs a finite set of values: declared keys,
    a range of integers or days, or a condition.
    """

    sql_names: ClassVar[tuple[str, ...]] = ("MODE",)
    is_linear: ClassVar[bool] = False
    value: Typed
    part: FrequentCell

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Mode:
        not_distinct(call)
        value = only_argument(call, scope)
        size = _size(call, value, scope)
        code, low = coded(call, value, scope)
        coding = Coding(low, low + size - 1, 0, is_integer=True)
        where = rows_where(call, scope)
        return cls(value, FrequentCell(where, code, coding, 1, size))

    @property
    def result(self) -> Domain:
        domain = self.value.domain
        return Domain(domain.type, domain.low, domain.high, nullable=False, values=domain.values)

    def recipes(self) -> tuple[Recipe, ...]:
        name = f"a choice among {self.part.size:,} values, by how often they occur"
        parts = {"chosen": self.part}
        return (Recipe(parts, {"chosen": 1.0}, partial(_named, self.value), name, place=Chosen()),)


def _named(value: Typed, noisy: Mapping[str, pl.Expr]) -> pl.Expr:
    """The value that a number stands for."""
    kind = POLARS_TYPES[value.domain.type]
    values = pl.Series(possible_values(value.domain), dtype=kind)
    numbers = pl.Series(range(len(values)), dtype=pl.Int64)
    return noisy["place"].cast(pl.Int64).replace_strict(numbers, values, return_dtype=kind)


def _size(call: AggregateCall, value: Typed, scope: Scope) -> int:
    """How many values there are, refused unless they can all be counted."""
    size = number_of_values(value.domain)
    if size is None or value.domain.type is Type.FLOAT:
        column = value.expr.name if isinstance(value.expr, Column) else "x"
        raise refused(
            call,
            "is chosen among values that are not known beforehand",
            why="only values that are possible without looking at a row can be released",
            fix=f'columns={{"{column}": dp.Keys([...])}} when registering, or dp.Range(low, high)'
            " for whole numbers and days",
        )
    most = most_values(value, scope)
    if size > most:
        raise refused(
            call,
            f"is chosen among {size:,} values in each group",
            why=f"each value of each group is counted, and {most:,} of them can be here",
            fix="take the mode of something coarser, for example age // 10; or group by fewer columns",
        )
    return size

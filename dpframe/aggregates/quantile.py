"""MEDIAN, QUANTILE, MIN and MAX: places in the distribution of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpframe.aggregates.base import (
    MOST_CELLS,
    Aggregate,
    Levels,
    Recipe,
    Scope,
    aggregate,
    bounded,
    not_distinct,
    rows_where,
)
from dpframe.aggregates.tree import Floats, Tree
from dpframe.bounds.analysis import Typed, refused, typed
from dpframe.plan.coding import coding_for
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Call, Expr, Literal, literal

_NAMES = {
    "MEDIAN": "CONT",
    "QUANTILE": "DISC",
    "QUANTILE_CONT": "CONT",
    "QUANTILE_DISC": "DISC",
    "PERCENTILE_CONT": "CONT",
    "PERCENTILE_DISC": "DISC",
    "APPROX_QUANTILE": "DISC",
    "MIN": "MIN",
    "MAX": "MAX",
}

_SIZES = (4096, 256, 64, 16)
"""Cells of one group, the fewer the more groups there are."""

_UNKNOWN = 64
"""Cells of one group where the groups are still to be chosen."""

_INSIDE = 3.0
"""How many deviations of the noise MIN and MAX keep from the ends."""

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rank:
    """The place where a share of the rows lies below: quantile * rows + inside * noise."""

    tree: Tree
    quantile: float
    inside: float
    side: str
    """Which end of a stretch without rows is meant: left, right, or its middle."""

    def find(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        ranks = self.tree.ranks(counts)
        gaps = self._gaps(ranks, deviations)
        rows = np.arange(len(gaps))
        ends = []
        for side, behind in (("right", gaps <= 0), ("left", gaps < 0)):
            if self.side in (side, "middle"):
                edge = behind.sum(axis=1).clip(1, self.tree.size)
                ends.append(self._codes(edge, gaps[rows, edge - 1], gaps[rows, edge]))
        return np.where(ranks[:, -1] >= 1, np.mean(ends, axis=0), np.nan)

    def possible(self, counts: Levels, deviations: Sequence[float], normals: Floats) -> Floats:
        noise = self.tree.deviations(self.quantile, deviations)
        if not noise.any():
            return np.broadcast_to(self.find(counts, deviations), normals.shape)
        ranks = self.tree.ranks(counts)
        gaps = self._gaps(ranks, deviations)
        # Where the difference has no noise, at an end, all rows lie on one side for certain.
        sure = np.where(np.arange(noise.size) == 0, -np.inf, np.inf)
        scores = np.where(noise > 0, gaps / np.where(noise > 0, noise, 1), sure)
        scores = np.maximum.accumulate(scores, axis=1)
        places = np.empty(normals.shape)
        for group, drawn in enumerate(normals.T):
            edge = np.searchsorted(scores[group], drawn).clip(1, self.tree.size)
            ends = (gaps[group][e] - drawn * noise[e] for e in (edge - 1, edge))
            places[:, group] = self._codes(edge, *ends)
        return np.where(ranks[:, -1] >= 1, places, np.nan)

    def influence(self, counts: Levels, deviations: Sequence[float]) -> Floats:
        places = np.nan_to_num(self.find(counts, deviations)) / self.tree.width
        return self.tree.influence(self.quantile, places, deviations)

    def _gaps(self, ranks: Floats, deviations: Sequence[float]) -> Floats:
        """At each edge, the rows below less those that there should be; they never fall."""
        rows = ranks[:, -1:]
        if not self.inside:
            return ranks - self.quantile * rows
        noise = self.inside * self.tree.deviations(self.quantile, deviations)
        # Well on its side of the median, however few rows there are.
        ends = (0, rows / 4) if self.inside > 0 else (rows * 3 / 4, rows)
        wanted = np.clip(self.quantile * rows + noise, *ends)
        gaps: Floats = np.maximum.accumulate(ranks - wanted, axis=1)
        return gaps

    def _codes(self, edge: Indices, low: Floats, high: Floats) -> Floats:
        """The place between an edge and the one before, in codes above the lowest one.

        A cell of a single code is that code. In wider ones rows are taken to lie evenly, so gaps
        rise steadily, from `low` to `high`.
        """
        if self.tree.width == 1:
            return (edge - 1).astype(float)
        rise = high - low
        share = np.where(rise > 0, -low / np.where(rise > 0, rise, 1), 0.5).clip(0, 1)
        codes: Floats = (edge - 1 + share) * self.tree.width
        return codes


@aggregate
@dataclass(frozen=True, slots=True)
class Quantile(Aggregate):
    """A quantile from noisy counts over a tree of cells that covers the declared range.

    Guarantee: that of its parts, the counts of rows in the cells of each level. All quantiles of
    a column share them, so they cost as much as one, and never cross. Small ranges of integers and
    dates have a cell for each value; wider ones have cells in which rows are taken to lie evenly.

    MIN and MAX are the values that about as many rows lie beyond as three standard deviations of
    the noise in that count: the very first and last row are what privacy hides. Where the noisy
    number of rows is below 1 there is nothing to go by, and NULL is released.
    """

    sql_names: ClassVar[tuple[str, ...]] = tuple(_NAMES)
    is_linear: ClassVar[bool] = False
    value: Typed
    """What was asked about; `measured` is the same as a number, less `offset`."""
    measured: Typed
    offset: int | float
    where: Expr | None
    quantile: float
    kind: str
    cells: int

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Quantile:
        not_distinct(call)
        quantile, kind = _quantile(call), _NAMES[call.name]
        if quantile in (0, 1):
            kind = "MAX" if quantile else "MIN"
        value = bounded(call, _ordered(call, scope), scope)
        measured, offset = _measured(call.args[0], value, scope)
        where = rows_where(call, scope)
        return cls(value, measured, offset, where, quantile, kind, _cells(call, scope))

    @property
    def result(self) -> Domain:
        domain = self.value.domain
        if self.kind != "CONT":
            return Domain(domain.type, domain.low, domain.high)
        return Domain(Type.TIMESTAMP if domain.type.is_temporal else Type.FLOAT)

    def recipes(self) -> tuple[Recipe, ...]:
        tree = Tree.over(coding_for(self.measured.domain), self.cells)
        side = {"CONT": "middle", "DISC": "left", "MIN": "right", "MAX": "left"}[self.kind]
        inside = {"MIN": _INSIDE, "MAX": -_INSIDE}.get(self.kind, 0.0)
        parts = tree.parts(self.measured.expr, self.where)

        def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
            coding = tree.coding
            number = (noisy["place"] + coding.low) * 2.0**-coding.shift + self.offset
            return self._as_value(pl.when(noisy["place"].is_not_nan()).then(number))

        return (
            Recipe(
                parts,
                dict.fromkeys(parts, 1.0),
                finish,
                f"a tree of counts, down to {tree.size:,} cells",
                place=Rank(tree, self.quantile, inside, side),
            ),
        )

    def _as_value(self, number: pl.Expr) -> pl.Expr:
        """A number in the type of the answer, inside the declared range."""
        domain = self.value.domain
        if domain.type is Type.FLOAT:
            return number.clip(domain.low, domain.high)
        if not domain.type.is_temporal:
            if self.kind == "CONT":
                return number.clip(float(domain.low), float(domain.high))
            # A float next to the end of 64 bits may lie beyond it.
            whole = number.round(0).cast(pl.Int64, strict=False)
            whole = pl.when(number.is_not_null()).then(whole.fill_null(domain.high))
            return whole.clip(domain.low, domain.high)
        if domain.type is Type.DATE and self.kind != "CONT":
            return number.round(0).cast(pl.Int32).cast(pl.Date).clip(domain.low, domain.high)
        microseconds = number * (_DAY if domain.type is Type.DATE else 1)
        moment = microseconds.round(0).cast(pl.Int64).cast(pl.Datetime("us"))
        low, high = (_moment(end) for end in (domain.low, domain.high))
        return moment.clip(low, high)


_DAY = 86_400_000_000


def _moment(end: date) -> datetime:
    return end if isinstance(end, datetime) else datetime(end.year, end.month, end.day)


def _quantile(call: AggregateCall) -> float:
    """Which quantile is meant: from the name, or the second argument."""
    fixed = {"MEDIAN": 0.5, "MIN": 0.0, "MAX": 1.0}.get(call.name)
    wanted = 1 if fixed is not None else 2
    if len(call.args) != wanted:
        given = "a column" if fixed is not None else "a column and a quantile"
        raise refused(
            call,
            f"has {len(call.args)} arguments",
            why=f"{call.name} takes {given}",
            fix=f"{call.name}(x)" if fixed is not None else f"{call.name}(x, 0.25)",
        )
    if fixed is not None:
        return fixed
    match call.args[1]:
        case Literal(value, Type.INT | Type.FLOAT) if 0 <= value <= 1:
            return float(value)
    raise refused(
        call,
        "has no quantile between 0 and 1",
        why="which quantile is meant must be a number that is known before any row is read",
        fix=f"{call.name}(x, 0.25)",
    )


def _ordered(call: AggregateCall, scope: Scope) -> Typed:
    found = typed(call.args[0], scope.columns)
    if found.domain.type in (Type.INT, Type.FLOAT, Type.DATE, Type.TIMESTAMP):
        return found
    raise refused(
        call,
        f"orders a {found.domain.type.value}",
        why="quantiles are found on a grid over a declared range of numbers or times",
        fix="GROUP BY x with COUNT(*) shows how its values are distributed",
    )


def _measured(expr: Expr, value: Typed, scope: Scope) -> tuple[Typed, int | float]:
    """The value as a number on a fine enough grid, and what was subtracted for that."""
    clock = {Type.DATE: "day_number", Type.TIMESTAMP: "microseconds"}.get(value.domain.type)
    if clock is not None:
        expr = Call(clock, (expr,), place=expr.origin)
    number = typed(expr, scope.columns)
    low, high = number.domain.low, number.domain.high
    # The grid is as fine as the largest magnitude allows: far from 0, it would be too coarse.
    fine = coding_for(number.domain).is_integer
    if fine or high - low >= max(abs(low), abs(high)) / _FINE:
        return number, 0
    shifted = Call("subtract", (expr, literal(low)), place=expr.origin)
    return typed(shifted, scope.columns), low


_FINE = 1024


def _cells(call: AggregateCall, scope: Scope) -> int:
    """How many cells a group has: fewer where there are many groups."""
    if scope.groups is None:
        return _UNKNOWN
    for cells in _SIZES:
        if scope.groups * cells <= MOST_CELLS:
            return cells
    raise refused(
        call,
        f"is asked for {scope.groups:,} groups",
        why=f"each takes a grid of counts, and {MOST_CELLS // _SIZES[-1]:,} of them are measured at most",
        fix="group by fewer columns, or by coarser ones, for example age // 10",
    )

"""MEDIAN, QUANTILE, MIN and MAX: places in the distribution of a column."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache, partial
from typing import ClassVar

import polars as pl

from dpframe.aggregates.base import (
    MOST_CELLS,
    Aggregate,
    Place,
    Recipe,
    Scope,
    aggregate,
    argument_text,
    bounded,
    not_distinct,
    rows_where,
)
from dpframe.aggregates.ranks import ChosenRank, Outermost, Rank
from dpframe.aggregates.tree import Tree
from dpframe.bounds.analysis import Typed, refused, typed
from dpframe.bounds.near import Near, near_zero
from dpframe.budget.halving import FINEST, rank_errors
from dpframe.plan.coding import Coding
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Call, Expr, columns_of
from dpframe.plan.parts import RankedCells

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

_MOST_LEVELS = 64
"""Quantiles of one column that are chosen together."""

_INSIDE = 3.0
"""How many deviations of the noise MIN and MAX keep from the ends."""


@aggregate
@dataclass(frozen=True, slots=True)
class Quantile(Aggregate):
    """A quantile on a grid that covers the declared range, in one of two ways.

    *A tree of counts*: noisy counts of the cells of each level. Guarantee: that of those counts.

    *Chosen*: by private selection on a finer grid, all quantiles of the column together, in rounds;
    then, with a small part of the cost, rows are counted around what was chosen. Guarantee: that of
    `RankedCells`, in which choosing and counting add up. A place that is chosen comes without any
    measure of how far off it is; the counts have one, and the error bars come from them.

    For few quantiles choosing is several times as accurate; for many, or on few cells, the tree is.
    The recipe with the smaller predicted error of ranks, error bars counted in, is taken by all
    quantiles of a column, so that they never cross. Small ranges of integers and dates have a cell
    for each value; in wider cells rows are taken to lie evenly.

    MIN and MAX are the values that about as many rows lie beyond as three standard deviations of
    the noise in that count: the very first and last row are what privacy hides. Where the noisy
    number of rows is below 1 there is nothing to go by, and NULL is released.
    """

    sql_names: ClassVar[tuple[str, ...]] = tuple(_NAMES)
    is_linear: ClassVar[bool] = False
    value: Typed
    """What was asked about; `measured` is the same as a number, next to 0."""
    measured: Near
    where: Expr | None
    quantile: float
    kind: str
    cells: int
    """How many smallest cells a tree has, at most."""
    most_cells: int
    """The same for the grid that quantiles are chosen on."""
    levels: tuple[Fraction, ...] = ()
    """All levels that are chosen together with this one; none where nothing is chosen."""
    bars: bool = True
    """Whether what is chosen has error bars, which take a part of the cost."""

    @classmethod
    def read(cls, call: AggregateCall, scope: Scope) -> Quantile:
        not_distinct(call)
        quantile, kind = _quantile(call), _NAMES[call.name]
        if quantile in (0, 1):
            kind = "MAX" if quantile else "MIN"
        value = bounded(call, _ordered(call, scope), scope)
        measured = _measured(call.args[0], value, scope)
        where = rows_where(call, scope)
        cells = _cells(call, scope)
        # Of a public table nothing has to be chosen: the tree is exact.
        finer = 0 if scope.table.public else max(cells, MOST_CELLS // (scope.groups or MOST_CELLS))
        return cls(value, measured, where, quantile, kind, cells, finer)

    @property
    def result(self) -> Domain:
        domain = self.value.domain
        if self.kind != "CONT":
            return Domain(domain.type, domain.low, domain.high)
        return Domain(Type.TIMESTAMP if domain.type.is_temporal else Type.FLOAT)

    @property
    def family(self) -> Hashable:
        return (self.measured.typed.expr, self.where)

    @property
    def level(self) -> Fraction | None:
        """The quantile as a fraction that can be chosen; MIN and MAX cannot."""
        return None if self.kind in ("MIN", "MAX") else _level(self.quantile)

    def beside(self, others: Sequence[Aggregate]) -> Quantile:
        """All quantiles of the same values are chosen together."""
        alike = [o for o in others if isinstance(o, Quantile) and o.family == self.family]
        levels = tuple(sorted({o.level for o in alike if o.level is not None}))
        some = self.most_cells and len(levels) <= _MOST_LEVELS
        return replace(self, levels=levels if some else ())

    def without_bars(self) -> Quantile:
        return replace(self, bars=False)

    def recipes(self) -> tuple[Recipe, ...]:
        tree = Tree.over(self.measured.coding, self.cells)
        side = {"CONT": "middle", "DISC": "left", "MIN": "right", "MAX": "left"}[self.kind]
        inside = {"MIN": _INSIDE, "MAX": -_INSIDE}.get(self.kind, 0.0)
        counts = tree.parts(self.measured.typed.expr, self.where)
        rank = Rank(tree, self.quantile, inside, side)
        # Squares of levels with equal noise add up to that of the rank.
        each = tree.rank_error(self.quantile) / math.sqrt(tree.height)
        counted = Recipe(
            counts,
            dict.fromkeys(counts, each),
            partial(self._finish, tree.coding),
            f"a tree of counts, down to {tree.size:,} cells",
            place=rank,
        )
        return (counted, self._chosen(counted, rank)) if self.levels else (counted,)

    def _chosen(self, counted: Recipe, rank: Rank) -> Recipe:
        """The recipe that chooses; MIN and MAX stay on the tree, outside what is chosen."""
        tree, level = rank.tree, self.level
        times = tree.cut(self.most_cells)
        cells = RankedCells(
            self.where,
            self.measured.typed.expr,
            tree.coding,
            tree.width // times,
            tree.size * times,
            self.levels,
            self.bars,
        )
        if level is None:
            parts = {**counted.parts, "chosen": cells}
            weights = {**counted.weights, "chosen": 0.0}
            place: Place = Outermost(rank, cells)
            return replace(counted, parts=parts, weights=weights, place=place)
        index = self.levels.index(level)
        return replace(
            counted,
            parts={"chosen": cells},
            weights={"chosen": rank_errors(self.levels)[index]},
            name=f"the exponential mechanism on {cells.inside:,} cells",
            place=ChosenRank(cells, index),
        )

    def _finish(self, coding: Coding, noisy: Mapping[str, pl.Expr]) -> pl.Expr:
        number = (noisy["place"] + coding.low) / float(coding.scale) + self.measured.offset
        return self._as_value(pl.when(noisy["place"].is_not_nan()).then(number))

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


@lru_cache(maxsize=256)
def _level(quantile: float) -> Fraction:
    near = Fraction(str(quantile)).limit_denominator(FINEST)
    return min(max(near, Fraction(1, FINEST)), 1 - Fraction(1, FINEST))


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
    constant = None if columns_of(call.args[1]) else typed(call.args[1], {}).domain
    # Bounds of a constant expression are its value: they need no engine to compute it.
    if constant is not None and constant.type in (Type.INT, Type.FLOAT):
        known = constant.is_constant and not constant.nullable
        if known and 0 <= constant.low <= 1:
            return float(constant.low)
    raise refused(
        call,
        "has no quantile between 0 and 1",
        why="which quantile is meant must be a number that is known before any row is read",
        fix=f"QUANTILE_{_NAMES[call.name]}({argument_text(call)}, 0.25)",
    )


def _ordered(call: AggregateCall, scope: Scope) -> Typed:
    found = typed(call.args[0], scope.columns)
    if found.domain.type in (Type.INT, Type.FLOAT, Type.DATE, Type.TIMESTAMP):
        return found
    text = argument_text(call)
    counted = f"SELECT {text}, COUNT(*) FROM ... GROUP BY {text}, for the values and their counts"
    raise refused(
        call,
        f"orders a {found.domain.type.value}",
        why="quantiles are found on a grid over a declared range of numbers or times",
        fix=f"COUNT_IF({text}), or {counted}" if found.domain.type is Type.BOOL else counted,
    )


def _measured(expr: Expr, value: Typed, scope: Scope) -> Near:
    """The value as a number on a fine enough grid."""
    clock = {Type.DATE: "day_number", Type.TIMESTAMP: "microseconds"}.get(value.domain.type)
    if clock is not None:
        expr = Call(clock, (expr,), place=expr.origin)
    return near_zero(expr, typed(expr, scope.columns), scope.columns)


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

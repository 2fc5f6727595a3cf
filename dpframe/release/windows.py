"""Windows and second aggregates, run on a noisy table or on many redraws of it at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl
import polars.selectors as cs

from dpframe.bounds.analysis import Typed, typed
from dpframe.bounds.windows import Looked, regrouped, window_of
from dpframe.engines import windows as engine
from dpframe.engines.polars_exprs import polars_of, with_stages
from dpframe.plan.domains import Domain
from dpframe.plan.functions.base import column, exactly
from dpframe.plan.nodes import Regroup, Window, chain
from dpframe.plan.stages import Staging

ROW = "__dpframe_row"
"""A column that says which group a finished row came from.

Names that begin so are of columns that go with a row, whatever is computed from it.
"""

DRAW = f"{ROW}_draw"
"""A column that says which redraw a row belongs to."""

REGROUPED = f"{ROW}_key"
"""Columns whose names begin so tell rows apart that were grouped again."""


def identity(frame: pl.DataFrame) -> list[str]:
    """The columns that tell the rows of one draw apart."""
    return [c for c in frame.columns if c.startswith(ROW) and c != DRAW]


class Over:
    """The windows of one node."""

    def __init__(self, below: Mapping[str, Domain], node: Window) -> None:
        self.node = node
        self.looked = {i: window_of(call, below) for i, (_, call) in enumerate(node.columns)}

    def inputs(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows, beside what their windows look at."""
        columns: dict[str, Typed] = {}
        for number, found in self.looked.items():
            columns |= _arguments(number, found)
            columns |= {engine.partition(number, i): p for i, p in enumerate(found.partition)}
            columns |= {engine.order(number, i): by for i, by in enumerate(found.order)}
        return _with_values(rows, columns)

    def values(self, inputs: pl.DataFrame, only: Collection[int] | None = None) -> pl.DataFrame:
        """A column for each window, or for some; redraws do not see each other."""
        calls = {
            i: (name, call, self.looked[i].result)
            for i, (name, call) in enumerate(self.node.columns)
            if only is None or i in only
        }
        return self.computed(inputs, calls)

    def computed(
        self, inputs: pl.DataFrame, calls: Mapping[int, Any], draws: Sequence[int] = ()
    ) -> pl.DataFrame:
        """The same for other functions of the same windows, by the numbers of these."""
        return engine.windowed(inputs, calls, [DRAW] if DRAW in inputs.columns else [])


class Again:
    """The aggregates of one node that groups a noisy table again."""

    def __init__(self, below: Mapping[str, Domain], node: Regroup) -> None:
        self.node = node
        depth = sum(isinstance(other, Regroup) for other in chain(node))
        own = [f"{REGROUPED}{depth}_{i}" for i in range(len(node.keys))]
        self.keys = {name: typed(key, below) for name, (_, key) in zip(own, node.keys, strict=True)}
        self.looked = {i: regrouped(call, below) for i, (_, call) in enumerate(node.aggregates)}

    def inputs(self, rows: pl.DataFrame) -> pl.DataFrame:
        """What the aggregates look at: rows go by the groups that they will be in."""
        columns = dict(self.keys)
        for number, found in self.looked.items():
            columns |= _arguments(number, found)
            if found.where is not None:
                columns[engine.where(number)] = found.where
        return _with_values(rows, columns).select(cs.starts_with(ROW), cs.starts_with(engine.INPUT))

    def values(
        self,
        inputs: pl.DataFrame,
        only: Collection[int] | None = None,
        draws: Sequence[int] = (),
    ) -> pl.DataFrame:
        """One row per group, in each of the draws where there are some."""
        calls = {
            i: (name, call, self.looked[i].result)
            for i, (name, call) in enumerate(self.node.aggregates)
            if only is None or i in only
        }
        return self.computed(inputs, calls, draws)

    def computed(
        self, inputs: pl.DataFrame, calls: Mapping[int, Any], draws: Sequence[int] = ()
    ) -> pl.DataFrame:
        """The same for other functions of the same groups, by the numbers of these."""
        by = [DRAW] if DRAW in inputs.columns else []
        found = engine.regrouped(inputs, [*by, *self.keys], calls)
        if by and not self.keys:  # no row at all makes a row, too
            every = pl.DataFrame({DRAW: draws}, schema={DRAW: found.schema[DRAW]})
            found = every.join(found, on=DRAW, how="left", maintain_order="left")
            counts = [
                name for name, call, _ in calls.values() if call.name in ("COUNT", "COUNT_IF")
            ]
            found = found.with_columns(pl.col(counts).fill_null(0))
        names = zip(self.keys, self.node.keys, strict=True)
        return found.with_columns(pl.col(own).alias(name) for own, (name, _) in names)


def _arguments(number: int, found: Looked) -> dict[str, Typed]:
    return {engine.argument(number, i): arg for i, arg in enumerate(found.args)}


def _with_values(rows: pl.DataFrame, columns: Mapping[str, Typed]) -> pl.DataFrame:
    """The rows with columns of these names beside them."""
    staging = Staging()
    exprs = {name: staging.rewrite(found.expr) for name, found in columns.items()}
    staged = with_stages(rows.lazy(), staging.stages, column)
    staged = staged.with_columns(polars_of(e, column).alias(name) for name, e in exprs.items())
    return staged.select(*exactly(rows.columns), *columns).collect(engine="in-memory")

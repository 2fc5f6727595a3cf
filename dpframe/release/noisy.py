"""Noisy parts, and the columns finished from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from dpframe.aggregates.base import Place
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import Layout, layout_for
from dpframe.bounds.analysis import condition, typed
from dpframe.bounds.windows import regrouped, window_of
from dpframe.engines.polars_exprs import polars_of, with_stages
from dpframe.errors import InternalError
from dpframe.mechanisms import Law, MeasuredQuantiles, ModeSelection, Source
from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import column, exactly
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.nodes import (
    GROUPING,
    Aggregate,
    Filter,
    Limit,
    Node,
    Project,
    Regroup,
    Sort,
    Window,
)
from dpframe.plan.parts import ChosenCells, GridCounts, RankedCells
from dpframe.plan.stages import STAGED, Staging
from dpframe.plan.surroundings import Surroundings
from dpframe.release.above import check_public
from dpframe.release.windows import ROW, Again, Over

Redrawn = Literal["possible", "nearest"]
"""What an error bar takes redrawn parts for that cannot be the true ones: no value, or the nearest."""

_CHOOSING = (Filter, Sort, Limit)
"""Nodes that keep some of the rows, or put them in order."""


class Noise(Protocol):
    """A law of noise, as far as error bars need to know it."""

    @property
    def variance(self) -> float:
        """The variance of one draw."""

    def draw(self, n: int, source: Source) -> NDArray[Any]:
        """Return n independent draws."""


class Mixed:
    """The noise of a sum of independent draws: of averaged measurements, or of added-up groups.

    It is drawn exactly, term by term. Its tail has no closed form, so intervals redraw it.
    """

    def __init__(self, terms: Sequence[tuple[Law, int, int]]) -> None:
        """Take terms (law, weight, how many independent draws)."""
        self.terms = tuple(terms)

    @property
    def variance(self) -> float:
        """The variance of one draw."""
        return sum(law.variance * weight**2 * times for law, weight, times in self.terms)

    def draw(self, n: int, source: Source) -> NDArray[Any]:
        """Return n independent draws."""
        total = np.zeros(n, dtype=object)
        for law, weight, times in self.terms:
            for _ in range(times):
                total = total + law.draw(n, source).astype(object) * weight
        return total


@dataclass(frozen=True, slots=True)
class NoisyParts:
    """What was measured: integers with noise, and the law of the noise of each part.

    Everything a release shows is computed from this and from public things.
    """

    compiled: Compiled
    layout: Layout
    laws: tuple[Noise | MeasuredQuantiles | ModeSelection | None, ...]
    """None for a part that no unit can change: it needs no noise."""
    values: tuple[tuple[int, ...], ...]
    _known: dict[int, np.ndarray] = field(
        init=False, default_factory=dict, repr=False, compare=False
    )
    """Estimates that were asked for before: those of a grid are a million numbers."""

    def width(self, index: int) -> int:
        """How many integers of a part there are for each group.

        Quantiles that were chosen among others come with what was counted around all of them.
        """
        groups, part = self.compiled.groups, self.layout.parts[index]
        return len(self.values[index]) // groups if groups else part.cells

    def estimates(self, index: int) -> np.ndarray:
        """A part in units of value: one number per group, or one row of cells for a grid."""
        if index not in self._known:
            self._known[index] = self._estimates(index)
            self._known[index].flags.writeable = False
        return self._known[index]

    def _estimates(self, index: int) -> np.ndarray:
        part, step = self.layout.parts[index], self.layout.step(index)
        with np.errstate(over="ignore"):  # beyond the largest float it is infinite, and no error
            found = np.array(self.values[index], dtype=float)
            if not isinstance(part, GridCounts):
                return found * step
            rows = found.reshape(-1, self.width(index))
            if isinstance(part, RankedCells):  # positions and edges are no counts
                around = Surroundings.of(rows, len(part.levels))
                return np.concatenate([*around[:2], around.counts * step], axis=1)
            return rows if isinstance(part, ChosenCells) else rows * step

    def deviation(self, index: int) -> float:
        """The standard deviation of the noise in a part's numbers, in units of value."""
        law = self.laws[index]
        noise = law.noise if isinstance(law, MeasuredQuantiles) else law
        return 0.0 if noise is None else math.sqrt(noise.variance) * self.layout.step(index)

    def single(self) -> list[int]:
        """The parts that are one number per group."""
        return [i for i, p in enumerate(self.layout.parts) if not isinstance(p, GridCounts)]

    def places(self) -> dict[int, tuple[Place, tuple[int, ...]]]:
        """The aggregates that are places on grids, and the parts that each is found from."""
        index = {part: i for i, part in enumerate(self.layout.parts)}
        return {
            number: (recipe.place, tuple(index[part] for part in recipe.parts.values()))
            for number, recipe in enumerate(self.layout.recipes)
            if recipe.place is not None
        }


def keys_alone(compiled: Compiled) -> NoisyParts:
    """The groups of a query that measures nothing: SELECT DISTINCT."""
    return NoisyParts(compiled, layout_for(compiled, norm=1), (), ())


def group_frame(
    parts: NoisyParts, groups: Sequence[int] | np.ndarray | None = None
) -> pl.DataFrame:
    """The public keys, and which group each row is."""
    compiled = parts.compiled
    numbers = range(compiled.groups) if groups is None else groups
    rows = pl.Series(ROW, numbers, dtype=pl.Int64)
    if not compiled.keys:
        return rows.to_frame()
    shown = compiled.shown if groups is None else compiled.shown[rows]
    return shown.hstack([rows])


def with_aggregates(
    parts: NoisyParts, frame: pl.DataFrame, *, redrawn: Redrawn | None = None
) -> pl.DataFrame:
    """Finish every aggregate from part columns `p0`, `p1`, ... of the frame, and places `q0`, ...

    If these were redrawn for an error bar, an aggregate whose parts cannot be the true ones is
    either NULL or the nearest value that is possible; then `m0`, `m1`, ... are the measured parts.
    """
    columns = []
    index = {part: i for i, part in enumerate(parts.layout.parts)}
    recipes = zip(parts.compiled.aggregates, parts.layout.recipes, strict=True)
    for number, ((name, _), recipe) in enumerate(recipes):
        noisy = {role: pl.col(f"p{index[part]}") for role, part in recipe.parts.items()}
        if recipe.place is not None:
            noisy = {"place": pl.col(f"q{number}")}
        value = recipe.finish(noisy)
        if redrawn is not None and recipe.redrawn is not None:
            measured = {role: pl.col(f"m{index[part]}") for role, part in recipe.parts.items()}
            value = recipe.redrawn(noisy, measured)
        if redrawn == "possible" and recipe.possible is not None:
            value = pl.when(recipe.possible(noisy)).then(value)
        columns.append(value.alias(name))
    # Lazily, because what aggregates have in common is then computed once: moments, say.
    return frame.lazy().with_columns(columns).collect(engine="in-memory")


def domains_after_aggregate(compiled: Compiled) -> dict[str, Domain]:
    """What is known of the columns that post-processing starts from."""
    known = {name: key.domain for name, key in compiled.keys}
    if compiled.sets:
        known = {name: domain.with_nullable(True) for name, domain in known.items()}
        flag = Domain(Type.INT, 0, 1, nullable=False)
        known |= {f"{GROUPING}{name}": flag for name, _ in compiled.keys}
    return known | {name: found.result for name, found in compiled.aggregates}


class PostProcessing:
    """HAVING, arithmetic, windows, ORDER BY and LIMIT, on a noisy table: free of cost."""

    def __init__(
        self,
        compiled: Compiled,
        *,
        plan: Node | None = None,
        known: dict[str, Domain] | None = None,
    ) -> None:
        """Take another plan, or more knowledge of the aggregates, where error bars need them."""
        self._known = domains_after_aggregate(compiled) if known is None else known
        self._plan = compiled.plan if plan is None else plan
        self._noisy = {name for name, _ in compiled.aggregates}

    def check(self) -> None:
        """Analyse every expression before anything is spent."""
        self.domains(self._plan)
        check_public(self._plan, self._noisy)

    def domains(self, node: Node) -> dict[str, Domain]:
        """The columns of a node."""
        match node:
            case Aggregate():
                return self._known
            case Project():
                below = self.domains(node.parent)
                return {name: typed(expr, below).domain for name, expr in node.columns}
            case Filter():
                below = self.domains(node.parent)
                condition(node.predicate, below)
                return below
            case Window():
                below = self.domains(node.parent)
                return below | {name: window_of(c, below).result for name, c in node.columns}
            case Regroup():
                below = self.domains(node.parent)
                keys = {name: typed(key, below).domain for name, key in node.keys}
                return keys | {name: regrouped(c, below).result for name, c in node.aggregates}
            case Sort() | Limit():
                return self.domains(node.parent)
        raise InternalError(f"a {type(node).__name__} above the aggregate")

    def apply(
        self,
        frame: pl.DataFrame,
        *,
        keep_all: bool = False,
        seen: dict[int, pl.DataFrame] | None = None,
    ) -> pl.DataFrame:
        """Run the plan above the aggregate; with `keep_all`, its arithmetic row by row alone.

        Then what looks at many rows is NULL. `seen` collects the table at every node, by its id.
        """
        return self._apply(self._plan, frame, keep_all, {} if seen is None else seen)

    def _apply(
        self, node: Node, frame: pl.DataFrame, keep_all: bool, seen: dict[int, pl.DataFrame]
    ) -> pl.DataFrame:
        if not isinstance(node, Aggregate):
            (parent,) = node.parents
            frame = self._apply(parent, frame, keep_all, seen)
            if keep_all and isinstance(node, Window):
                kinds = self.domains(node)
                frame = frame.with_columns(
                    pl.lit(None, dtype=POLARS_TYPES[kinds[name].type]).alias(name)
                    for name, _ in node.columns
                )
            elif not (keep_all and isinstance(node, _CHOOSING)):
                frame = self.step(node, frame)
        seen[id(node)] = frame
        return frame

    def step(self, node: Node, rows: pl.DataFrame) -> pl.DataFrame:
        """Run one node on the rows of its parent."""
        match node:
            case Project():
                below = self.domains(node.parent)
                staging = Staging()
                exprs = [(n, staging.rewrite(typed(e, below).expr)) for n, e in node.columns]
                columns = [polars_of(e, column).alias(n) for n, e in exprs]
                return (
                    with_stages(rows.lazy(), staging.stages, column)
                    .select(*columns, cs.starts_with(ROW))
                    .collect(engine="in-memory")
                )
            case Filter():
                staging = Staging()
                predicate = condition(node.predicate, self.domains(node.parent)).expr
                kept = polars_of(staging.rewrite(predicate), column)
                found = (
                    with_stages(rows.lazy(), staging.stages, column)
                    .filter(kept)
                    .collect(engine="in-memory")
                )
                return found.drop(cs.starts_with(STAGED))
            case Sort():
                return rows.sort(
                    exactly(key.column.name for key in node.by),
                    descending=[key.descending for key in node.by],
                    nulls_last=[key.nulls_last for key in node.by],
                    maintain_order=True,
                )
            case Limit():
                return rows.slice(node.offset, node.rows)
            case Window():
                over = Over(self.domains(node.parent), node)
                return pl.concat([rows, over.values(over.inputs(rows))], how="horizontal")
            case Regroup():
                again = Again(self.domains(node.parent), node)
                return again.values(again.inputs(rows))
        raise InternalError(f"a {type(node).__name__} above the aggregate")


def finish(parts: NoisyParts, seen: dict[int, pl.DataFrame] | None = None) -> pl.DataFrame:
    """The finished table, with the group of every row in the column `ROW`.

    `seen` collects the table at every node above the aggregate; see `PostProcessing.apply`.
    """
    return PostProcessing(parts.compiled).apply(measured(parts), seen=seen)


def measured(parts: NoisyParts) -> pl.DataFrame:
    """The aggregates as they were measured, a row for each group."""
    frame = group_frame(parts)
    columns = [pl.Series(f"p{i}", parts.estimates(i)) for i in parts.single()]
    for number, (place, indices) in parts.places().items():
        counts = [parts.estimates(i) for i in indices]
        found = place.find(counts, [parts.deviation(i) for i in indices])
        columns.append(pl.Series(f"q{number}", found))
    return with_aggregates(parts, frame.with_columns(columns))

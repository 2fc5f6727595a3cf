"""What every engine offers: its schema, exact parts, and expressions on small public tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
import polars as pl
import polars.selectors as cs
from numpy.typing import NDArray

from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import Layout
from dpframe.bounds.analysis import Typed
from dpframe.bounds.rows import ON, Selected, Source, Stored
from dpframe.bounds.sensitivity import EACH_GROUP
from dpframe.declare import Storage, Table, Unit
from dpframe.errors import EngineError
from dpframe.plan.exprs import Call, Column, Expr, columns_of, conjunction, conjuncts
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.parts import Blend, CodedSum, CountDistinct, CountRows, GridCounts, Part
from dpframe.plan.stages import Stages, Staging

T = TypeVar("T")

TOO_WIDE = 2**100
"""The norm of a unit in more groups than it may be: whatever is divided by it is 0."""


@dataclass(frozen=True, slots=True)
class KeyFilter:
    """Which values of a key belong to some public group.

    `values` is None where every value does: derived keys cover all that rows can yield.
    """

    values: tuple[object, ...] | None
    null: bool


@dataclass(frozen=True, slots=True)
class Request:
    """What to measure: per public group, the exact integers of some parts.

    Where the table has a unit column, contributions are bounded by weight: a unit whose row counts
    over the groups have a `norm`-norm m above `max_rows` has every part scaled by max_rows / m,
    rounded toward zero, on a grid `bits` finer than the part's own. Where `norm` is `EACH_GROUP`,
    that is done in each group by itself, with the rows that the unit has there for m.
    """

    table: Table
    """What is known of the columns of `source`."""
    source: Source
    where: Expr | None
    keys: tuple[Expr, ...]
    frame: pl.DataFrame
    """The public groups, one column per key."""
    key_filters: tuple[KeyFilter, ...]
    parts: tuple[Part, ...]
    bits: tuple[int, ...]
    norm: float
    stages: Stages
    """Columns that the expressions above read, and that are computed first."""
    chosen: pl.DataFrame | None = None
    """Combinations of the keys that it names (`k1`, ...): rows with others belong to no group."""
    most_groups: int | None = None
    """A unit in more groups than this is counted in none; None for no such limit."""

    @property
    def key_names(self) -> list[str]:
        """What the engine calls the keys."""
        return [f"k{i}" for i in range(len(self.keys))]

    @property
    def weighs_each_group(self) -> bool:
        """Whether units are weighed in each group by itself, rather than over all of them."""
        return self.norm == EACH_GROUP

    @property
    def counts_every_row(self) -> bool:
        """Whether nothing is asked but how many rows a table has, each of them a unit of its own."""
        bare = isinstance(self.source, Stored) and self.where is None and not self.keys
        counts = all(isinstance(p, CountRows) and p.condition is None for p in self.parts)
        return bare and counts and self.table.unit_column is None

    def only(self, indices: Sequence[int]) -> Request:
        """The same request for some of its parts."""
        parts = tuple(self.parts[i] for i in indices)
        return replace(self, parts=parts, bits=tuple(self.bits[i] for i in indices))


def request_for(compiled: Compiled, layout: Layout) -> Request:
    """What an engine has to measure for a query laid out in some norm."""
    filters = []
    for name, key in compiled.keys:
        public = compiled.frame[name]
        listed = name not in compiled.private and _is_declared_list(key, compiled.table)
        values = tuple(v for v in dict.fromkeys(public) if v is not None) if listed else None
        filters.append(KeyFilter(values, public.null_count() > 0))
    staging = Staging()
    where = None if compiled.where is None else staging.rewrite(compiled.where)
    keys = tuple(staging.rewrite(key.expr) for _, key in compiled.keys)
    parts = tuple(_staged(part, staging) for part in layout.parts)
    chosen = None
    places = {name: f"k{i}" for i, (name, _) in enumerate(compiled.keys)}
    if compiled.only:
        chosen = compiled.frame.rename(places)
    elif compiled.chosen is not None:
        chosen = compiled.chosen.frame.rename({n: places[n] for n in compiled.private})
    return Request(
        compiled.table,
        compiled.source,
        where,
        keys,
        compiled.frame,
        tuple(filters),
        parts,
        layout.bits,
        layout.context.norm,
        staging.stages,
        chosen,
    )


def _is_declared_list(key: Typed, table: Table) -> bool:
    """Whether a key is a column with declared keys; a list in WHERE lets no other row pass."""
    return isinstance(key.expr, Column) and table.domains[key.expr.name].values is not None


def candidates_request(
    compiled: Compiled, part: Part, *, bits: int, norm: int, most_groups: int | None
) -> Request:
    """What an engine has to measure so that private keys can be chosen.

    Each unit adds to the keys that it holds, over all of them together at most 1 in the `norm`-norm
    (2^bits steps), or nothing if they are more than `most_groups`. Rows that belong to no public
    group do not count.
    """
    table, staging = compiled.table, Staging()
    if isinstance(table.unit, Unit):
        table = replace(table, unit=replace(table.unit, max_rows=1))
    keys = [(name, key) for name, key in compiled.keys if name in compiled.private]
    where = where_candidates_count(compiled)
    return Request(
        table,
        compiled.source,
        None if where is None else staging.rewrite(where),
        tuple(staging.rewrite(key.expr) for _, key in keys),
        pl.DataFrame(schema={name: POLARS_TYPES[key.domain.type] for name, key in keys}),
        tuple(KeyFilter(None, _null_is_key(key, compiled)) for _, key in keys),
        (part,),
        (bits,),
        norm,
        staging.stages,
        most_groups=most_groups,
    )


def where_candidates_count(compiled: Compiled) -> Expr | None:
    """WHERE, and that a row is in some public group: its key is not NULL where NULL is no key."""
    present = (
        Call("not", (Call("is_null", (key.expr,)),))
        for name, key in compiled.keys
        if name not in compiled.private
        and key.domain.nullable
        and compiled.public[name].null_count() == 0
    )
    return conjunction((*conjuncts(compiled.where), *present))


def _null_is_key(key: Typed, compiled: Compiled) -> bool:
    """Whether NULL is a key: not if it can only stand for values outside declared ones."""
    read = [compiled.table.domains[c] for c in columns_of(key.expr)]
    return key.domain.nullable and any(domain.null_is_value for domain in read)


def _staged(part: Part, staging: Staging) -> Part:
    condition = None if part.condition is None else staging.rewrite(part.condition)
    if isinstance(part, CountDistinct):
        beside = tuple((staging.rewrite(expr), kind) for expr, kind in part.beside)
        expr = staging.rewrite(part.expr)
        return replace(part, condition=condition, expr=expr, beside=beside)
    if isinstance(part, CodedSum | Blend | GridCounts):
        return replace(part, condition=condition, expr=staging.rewrite(part.expr))
    return replace(part, condition=condition)


def sum_that_counts(part: Part, parts: Sequence[Part]) -> CodedSum | None:
    """Of the sums among `parts`, one whose non-null codes are exactly the rows that `part` counts.

    AVG measures a sum of x and a count of rows where x is not NULL; the codes serve both.
    """
    if isinstance(part, CountRows):
        for other in parts:
            if isinstance(other, CodedSum):
                present = Call("not", (Call("is_null", (other.expr,)),))
                if part.condition == conjunction((*conjuncts(other.condition), present)):
                    return other
    return None


def grids_of(parts: Sequence[Part]) -> dict[int, dict[int, int]]:
    """The grids to measure, by index, each with the coarser ones that are added up from it.

    A coarser grid comes with how many cells of the finer one make up one of its own.
    """
    grids = [(i, p) for i, p in enumerate(parts) if isinstance(p, GridCounts)]
    found: dict[int, dict[int, int]] = {}
    for i, part in sorted(grids, key=lambda each: each[1].width):
        for j, finest in grids:
            if j not in found:
                continue
            times, rest = divmod(part.width, finest.width)
            if part.codes == finest.codes and rest == 0 and part.size * times == finest.size:
                found[j][i] = times
                break
        else:
            found[i] = {i: 1}
    return found


class Engine(ABC):
    """One registered table's data, and the means to compute on it."""

    name: str

    @property
    def is_steady(self) -> bool:
        """Whether the data plainly holds the same rows each time it is read: see `steady`."""
        return True

    def height(self) -> int | None:
        """How many rows there are now, where that is known without reading them."""
        return None

    @abstractmethod
    def storage(self) -> Mapping[str, Storage]:
        """The columns and how they are stored."""

    @abstractmethod
    def groups(self, request: Request) -> pl.DataFrame:
        """Keys `k0`, ... and exact parts `p0`, ... of groups that have rows, in any order."""

    @abstractmethod
    def cells(self, request: Request) -> pl.DataFrame:
        """Keys, `cell`, and the exact count `p0` of cells that have rows, for the one grid asked."""

    @abstractmethod
    def evaluate(self, exprs: Sequence[Typed], table: pl.DataFrame) -> pl.DataFrame:
        """Expressions on a public table whose columns already hold values of their domains."""

    @abstractmethod
    def public_rows(self, selected: Selected) -> pl.DataFrame:
        """The rows of a selection from public tables."""

    @abstractmethod
    def attach(self, connection: Any, view: str) -> None:
        """Let a DuckDB connection read the data under a name."""

    def is_unique(self, selected: Selected) -> bool:
        """Whether no two rows of a public selection agree on what a join compares."""
        found = withhold_rows(self.name, lambda: self.public_rows(selected))
        keys = found.select(cs.starts_with(ON)).drop_nulls()
        return keys.height == keys.unique().height

    def measure(self, request: Request) -> list[list[int]]:
        """The exact parts, one list per part, in the order of the public groups.

        A group without rows is 0 everywhere; a row of no public group counts nowhere. Of a grid,
        the cells of a group follow each other. Nothing that goes wrong until they are integers may
        be shown: an integer that is none is quoted by Python itself.
        """
        return withhold_rows(self.name, partial(self._measured, request))

    def _measured(self, request: Request) -> list[list[int]]:
        if request.keys and request.frame.height == 0:
            return [[] for _ in request.parts]
        height = self.height() if request.counts_every_row else None
        if height is not None:
            return [[height] for _ in request.parts]
        found: dict[int, list[int]] = {}
        single = [i for i, p in enumerate(request.parts) if not isinstance(p, GridCounts)]
        for some in _separated(request, single):
            aligned = self._aligned(request.only(some))
            for place, i in enumerate(some):
                found[i] = [_exact(v) for v in aligned[f"p{place}"].to_list()]
        for finest, levels in grids_of(request.parts).items():
            counts = self._grid(request.only([finest]))
            for i, times in levels.items():
                summed = np.add.reduceat(counts, np.arange(0, counts.shape[1], times), axis=1)
                found[i] = summed.ravel().tolist()
        return [found[i] for i in range(len(request.parts))]

    def _grid(self, request: Request) -> NDArray[np.int64]:
        """The exact counts of a grid: one row per public group, one column per cell."""
        groups = request.frame.height if request.keys else 1
        (part,) = request.parts
        assert isinstance(part, GridCounts)
        counts = np.zeros((groups, part.size), dtype=np.int64)
        found = self.cells(request)
        if request.keys:
            places = request.frame.clone()
            places.columns = request.key_names
            found = found.with_columns(pl.col(c).cast(t) for c, t in places.schema.items()).join(
                places.with_row_index("row"), on=request.key_names, nulls_equal=True
            )
        else:
            found = found.with_columns(row=pl.lit(0))
        # On the finer grid of weighting, 2^43 rows still fit.
        exact = found.select("row", "cell", "p0").cast(pl.Int64)
        counts[exact["row"].to_numpy(), exact["cell"].to_numpy()] = exact["p0"].to_numpy()
        return counts

    def candidates(self, request: Request) -> tuple[pl.DataFrame, NDArray[np.int64]]:
        """The keys that rows have, sorted, and the exact total of what units add to each.

        Both are private: they are for partition selection, and for nothing else.
        """

        def run() -> pl.DataFrame:
            found = self.groups(request)
            tests = [
                pl.col(name).is_not_null()
                for name, kept in zip(request.key_names, request.key_filters, strict=True)
                if not kept.null
            ]
            kept = found.filter(tests) if tests else found
            # A unit adds 2^20 at the most, so totals of 2^43 units fit.
            kept = kept.select(*request.key_names, pl.col("p0").fill_null(0).cast(pl.Int64))
            names = dict(zip(request.key_names, request.frame.columns, strict=True))
            return kept.rename(names).cast(request.frame.schema).sort(request.frame.columns)

        found = withhold_rows(self.name, run)
        return found.drop("p0"), found["p0"].to_numpy()

    def _aligned(self, request: Request) -> pl.DataFrame:
        found = self.groups(request)
        if not request.keys:
            return found
        groups = request.frame.clone()
        groups.columns = request.key_names
        return groups.join(
            found.cast(groups.schema),
            on=request.key_names,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )


def measured(engine: Engine, compiled: Compiled, layout: Layout) -> list[list[int]]:
    """The exact parts of a query, one list per part, grouping after grouping."""
    found = [engine.measure(request_for(one, layout)) for one in compiled.groupings]
    return [[v for values in part for v in values] for part in zip(*found, strict=True)]


def _separated(request: Request, parts: list[int]) -> list[list[int]]:
    """Weighted counts of different values one by one, since each weighs units in its own way."""
    if request.table.unit_column is None:
        return [parts] if parts else []
    alone = [[i] for i in parts if isinstance(request.parts[i], CountDistinct)]
    together = [i for i in parts if not isinstance(request.parts[i], CountDistinct)]
    return [*([together] if together else []), *alone]


def _exact(value: object) -> int:
    return 0 if value is None else int(value)  # type: ignore[call-overload]


def withhold_rows(engine: str, run: Callable[[], T]) -> T:
    """Run, and replace any engine error by one that cannot quote a private value.

    It is raised outside the handler, so that the original is not kept in `__context__` either.
    """
    try:
        return run()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        kind = type(error).__name__
        # DuckDB reports Ctrl-C as an error of its own.
        interrupted = isinstance(error, RuntimeError) and "interrupted" in str(error)
    if interrupted:
        raise KeyboardInterrupt
    raise EngineError(
        f"{engine} stopped with {kind}",
        why="its message may quote private values, so it is withheld",
        fix="check that the data can still be read (files in place, memory, schema unchanged)",
    )

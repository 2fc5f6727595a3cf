"""What every engine offers: its schema, exact parts, and expressions on small public tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import polars as pl
import polars.selectors as cs

from dpframe.aggregates.compile import Compiled, Layout
from dpframe.bounds.analysis import Typed
from dpframe.bounds.rows import ON, Selected, Source
from dpframe.declare import Storage, Table
from dpframe.errors import EngineError
from dpframe.plan.exprs import Call, Column, Expr, conjunction, conjuncts
from dpframe.plan.parts import CodedSum, CountRows, Part
from dpframe.plan.stages import Stages, Staging

T = TypeVar("T")


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
    rounded toward zero, on a grid `bits` finer than the part's own.
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
    norm: int
    stages: Stages
    """Columns that the expressions above read, and that are computed first."""

    @property
    def key_names(self) -> list[str]:
        """What the engine calls the keys."""
        return [f"k{i}" for i in range(len(self.keys))]


def request_for(compiled: Compiled, layout: Layout) -> Request:
    """What an engine has to measure for a query laid out in some norm."""
    filters = []
    for name, key in compiled.keys:
        public = compiled.frame[name]
        listed = isinstance(key.expr, Column) and key.domain.values is not None
        values = tuple(public.drop_nulls().unique().to_list()) if listed else None
        filters.append(KeyFilter(values, public.null_count() > 0))
    staging = Staging()
    where = None if compiled.where is None else staging.rewrite(compiled.where)
    keys = tuple(staging.rewrite(key.expr) for _, key in compiled.keys)
    parts = tuple(_staged(part, staging) for part in layout.parts)
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
    )


def _staged(part: Part, staging: Staging) -> Part:
    condition = None if part.condition is None else staging.rewrite(part.condition)
    if isinstance(part, CodedSum):
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


class Engine(ABC):
    """One registered table's data, and the means to compute on it."""

    name: str

    @abstractmethod
    def storage(self) -> Mapping[str, Storage]:
        """The columns and how they are stored."""

    @abstractmethod
    def groups(self, request: Request) -> pl.DataFrame:
        """Keys `k0`, ... and exact parts `p0`, ... of groups that have rows, in any order."""

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

        A group without rows is 0 everywhere; a row of no public group counts nowhere.
        """
        aligned = withhold_rows(self.name, lambda: self._aligned(request))
        return [[_exact(v) for v in aligned[f"p{i}"].to_list()] for i in range(len(request.parts))]

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

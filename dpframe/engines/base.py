"""What every engine offers: its schema, exact parts, and expressions on small public tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from dpframe.aggregates.compile import Compiled, Layout
from dpframe.bounds.analysis import Typed
from dpframe.declare import Storage, Table
from dpframe.errors import EngineError
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.parts import Part

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
    where: Expr | None
    keys: tuple[Expr, ...]
    frame: pl.DataFrame
    """The public groups, one column per key."""
    key_filters: tuple[KeyFilter, ...]
    parts: tuple[Part, ...]
    bits: tuple[int, ...]
    norm: int

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
    return Request(
        compiled.table,
        compiled.where,
        tuple(key.expr for _, key in compiled.keys),
        compiled.frame,
        tuple(filters),
        layout.parts,
        layout.bits,
        layout.context.norm,
    )


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

    def measure(self, request: Request) -> list[list[int]]:
        """The exact parts, one list per part, in the order of the public groups.

        A group without rows is 0 everywhere; a row of no public group counts nowhere.
        """
        found = withhold_rows(self.name, lambda: self.groups(request))
        names = [f"p{i}" for i in range(len(request.parts))]
        if not request.keys:
            return [[_exact(found[name][0]) if found.height else 0] for name in names]
        groups = request.frame.clone()
        groups.columns = request.key_names
        aligned = groups.join(
            found, on=request.key_names, how="left", nulls_equal=True, maintain_order="left"
        )
        return [[_exact(v) for v in aligned[name].to_list()] for name in names]


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
    raise EngineError(
        f"{engine} stopped with {kind}",
        why="its message may quote private values, so it is withheld",
        fix="check that the data can still be read (files in place, memory, schema unchanged)",
    )

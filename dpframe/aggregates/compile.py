"""From a plan to what has to be measured: rows, public keys, and the parts of every aggregate."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from dpframe.aggregates.base import AGGREGATES, Aggregate, Scope, argument_text
from dpframe.aggregates.refused import COMPUTED, REFUSED
from dpframe.bounds.analysis import Typed, condition, refused, typed
from dpframe.bounds.bins import with_bins
from dpframe.bounds.guard import guarded
from dpframe.bounds.keys import (
    MOST_GROUPS,
    ChosenKeys,
    Evaluate,
    in_sets,
    key_sets,
    with_chosen,
)
from dpframe.bounds.lower import Lowering
from dpframe.bounds.refine import refined
from dpframe.bounds.rows import Source, Stored
from dpframe.bounds.sensitivity import (
    Context,
)
from dpframe.declare import Table
from dpframe.plan.exprs import AggregateCall, Column, Expr, columns_of
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.nodes import Node, Scan, aggregate_of, chain
from dpframe.plan.rules import mode_as_winner


@dataclass(frozen=True, slots=True)
class Compiled:
    """A query, analysed: everything that does not depend on its cost."""

    table: Table
    """The columns that are read, of a registered table or of what was derived from several."""
    source: Source
    plan: Node
    where: Expr | None
    keys: tuple[tuple[str, Typed], ...]
    public: pl.DataFrame
    """Every combination of the public keys."""
    frame: pl.DataFrame
    """Every combination of all keys, once they are known."""
    aggregates: tuple[tuple[str, Aggregate], ...]
    private: tuple[str, ...] = ()
    """The keys without a public set of values, which have to be chosen first."""
    chosen: ChosenKeys | None = None
    """The private keys that were released; with them, `frame` has all groups."""
    sets: tuple[tuple[str, ...], ...] = ()
    """Several groupings, each by some of the keys; none for one by all of them."""
    only: tuple[int, ...] = ()
    """Which public groups `frame` has, if not all: rows of others belong to none."""
    bins: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    """The edges of the bins, for keys that are bins."""
    far: frozenset[int] = frozenset()
    """The aggregates, by number, that take the recipe for noise that would be too large."""
    written: Node | None = None
    """The plan before its bins were written out, to be explained; None where it has none."""

    @property
    def awaits_keys(self) -> bool:
        """Whether private keys have to be chosen before anything can be measured."""
        return bool(self.private) and self.chosen is None

    @property
    def groupings(self) -> tuple[Compiled, ...]:
        """One query for each grouping. In a coarser one, private keys are those of the finest."""
        return tuple(map(self._grouped_by, self.sets)) if self.sets else (self,)

    def _grouped_by(self, names: tuple[str, ...]) -> Compiled:
        keys = tuple(key for key in self.keys if key[0] in names)
        ordered = [name for name, _ in keys]
        private = [name for name in ordered if name in self.private]
        public = self.public.select(n for n in ordered if n not in private).unique()
        one = replace(self, keys=keys, public=public, private=tuple(private), chosen=None, sets=())
        if self.chosen is None or not private:
            return replace(one, frame=public.sort(public.columns, nulls_last=True))
        shown = self.chosen.frame.select(private).unique().sort(private, nulls_last=True)
        return one.with_keys(replace(self.chosen, frame=shown))

    @property
    def shown(self) -> pl.DataFrame:
        """The keys of every row of the noisy table."""
        if not self.sets:
            return self.frame
        schema = {name: POLARS_TYPES[key.domain.type] for name, key in self.keys}
        return in_sets([one.frame for one in self.groupings], pl.Schema(schema))

    @property
    def groups(self) -> int:
        """How many rows the noisy table has."""
        if self.sets:
            return sum(one.groups for one in self.groupings)
        return self.frame.height if self.keys else 1

    @property
    def cells(self) -> int:
        """How many integers the largest part has per group."""
        recipes = (recipe for _, found in self.aggregates for recipe in found.recipes())
        return max((p.cells for r in recipes for p in r.parts.values()), default=1)

    def without_bars(self) -> Compiled:
        """The query with nothing spent on error bars alone."""
        bare = tuple((name, found.without_bars()) for name, found in self.aggregates)
        return replace(self, aggregates=bare)

    def with_keys(self, chosen: ChosenKeys) -> Compiled:
        """The query over the released keys: from here on they are as good as public."""
        names = [name for name, _ in self.keys]
        return replace(self, frame=with_chosen(self.public, chosen.frame, names), chosen=chosen)

    def among(self, groups: Sequence[int]) -> Compiled:
        """The query over some of its public groups, whose number is public."""
        return replace(self, frame=self.frame[list(groups)], only=tuple(groups))

    def context(self, norm: float) -> Context:
        """What sensitivities depend on. It must not depend on how many keys will be released."""
        groups = MOST_GROUPS if self.private else max(one.groups for one in self.groupings)
        # Joined or grouped rows are there or not, so their number is never public.
        filtered = self.where is not None or not isinstance(self.source, Stored)
        sets = max(1, len(self.sets))
        return Context(self.table, groups, bool(self.keys), filtered, norm, sets)


def compile_plan(plan: Node, lowering: Lowering, evaluate: Evaluate) -> Compiled:
    """Analyse a plan; whatever is not proven bounded is refused."""
    written = mode_as_winner(plan)
    plan, bins = with_bins(written, lowering)
    node = aggregate_of(plan)
    needed = [expr for _, expr in (*node.keys, *node.aggregates)]
    rows = lowering.rows(node.parent, frozenset(c for e in needed for c in columns_of(e)))
    table, where = rows.table, rows.where
    checked = None if where is None else condition(where, table.domains).expr
    columns = refined(table.domains, where)

    def over_source(expr: Expr) -> Expr:
        return guarded(rows.over_source(expr), table.domains, where)

    keyed = [(name, over_source(expr)) for name, expr in node.keys]
    _refuse_unit_as_key(keyed, table)
    keys = tuple((name, typed(expr, columns)) for name, expr in keyed)
    found = key_sets(keys, columns, evaluate)
    groups = None if found.private else max(1, found.public.height)
    scope = Scope(table, columns, groups)
    resolved = [(n, _resolve(over_source(call), scope)) for n, call in node.aggregates]
    asked = [found for _, found in resolved]
    aggregates = tuple((name, found.beside(asked)) for name, found in resolved)
    public = found.public
    compiled = Compiled(
        table, rows.source, plan, checked, keys, public, public, aggregates, found.private
    )
    return replace(compiled, sets=node.sets, bins=bins, written=written)


def tables_of(plan: Node) -> tuple[str, ...]:
    """The tables that a plan reads, once each."""
    return tuple(dict.fromkeys(n.table for n in chain(plan) if isinstance(n, Scan)))


def _refuse_unit_as_key(keys: Sequence[tuple[str, Expr]], table: Table) -> None:
    for _, expr in keys:
        if expr == Column(table.unit_column or "") and not table.public:
            raise refused(
                expr,
                "names the protected unit",
                why="one group per unit would release the units themselves",
                fix="group by an attribute of the unit, or ask COUNT(DISTINCT unit)",
            )


def _resolve(call: Expr, scope: Scope) -> Aggregate:
    assert isinstance(call, AggregateCall)
    found = AGGREGATES.get(call.name)
    if call.name in REFUSED:
        why, fix = REFUSED[call.name]
        fix = fix.format(argument_text(call))
        raise refused(call, "cannot be released", why=why, fix=fix)
    if call.name in COMPUTED:
        raise refused(
            call,
            "is not an aggregate that can be measured",
            why="it can be computed from others, whose bounds on what one unit changes are proven",
            fix=COMPUTED[call.name].format(argument_text(call), argument_text(call, 1)),
        )
    if found is None:
        near = difflib.get_close_matches(call.name, AGGREGATES, n=1)
        known = ", ".join(sorted(AGGREGATES))
        raise refused(
            call,
            "is not an aggregate that can be measured" + (f"; {near[0]} is" if near else ""),
            why="each aggregate needs a proven bound on what one unit changes",
            fix=f"use one of {known}",
        )
    return found.read(call, scope)

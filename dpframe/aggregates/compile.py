"""From a plan to what has to be measured: rows, public keys, and the parts of every aggregate."""

from __future__ import annotations

import difflib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import polars as pl

from dpframe.aggregates.base import AGGREGATES, Aggregate, Recipe, Scope
from dpframe.aggregates.refused import REFUSED
from dpframe.bounds.analysis import Typed, condition, refused, typed
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
    Sensitivity,
    bounded_together,
    extra_bits,
    sensitivity_of,
)
from dpframe.budget.split import predicted_error, shares
from dpframe.declare import Table
from dpframe.plan.exprs import AggregateCall, Column, Expr, columns_of
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.nodes import Node, Scan, aggregate_of, chain
from dpframe.plan.parts import CodedSum, Ends, Part, step_of
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

    def with_keys(self, chosen: ChosenKeys) -> Compiled:
        """The query over the released keys: from here on they are as good as public."""
        names = [name for name, _ in self.keys]
        return replace(self, frame=with_chosen(self.public, chosen.frame, names), chosen=chosen)

    def context(self, norm: int) -> Context:
        """What sensitivities depend on. It must not depend on how many keys will be released."""
        groups = MOST_GROUPS if self.private else max(one.groups for one in self.groupings)
        # Joined or grouped rows are there or not, so their number is never public.
        filtered = self.where is not None or not isinstance(self.source, Stored)
        sets = max(1, len(self.sets))
        return Context(self.table, groups, bool(self.keys), filtered, norm, sets)


def compile_plan(plan: Node, lowering: Lowering, evaluate: Evaluate) -> Compiled:
    """Analyse a plan; whatever is not proven bounded is refused."""
    plan = mode_as_winner(plan)
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
    aggregates = tuple((n, _resolve(over_source(call), scope)) for n, call in node.aggregates)
    public = found.public
    compiled = Compiled(
        table, rows.source, plan, checked, keys, public, public, aggregates, found.private
    )
    return replace(compiled, sets=node.sets)


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
        raise refused(call, "cannot be released", why=why, fix=fix)
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


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts to measure for one norm, each with its sensitivity and share of the budget."""

    context: Context
    recipes: tuple[Recipe, ...]
    """One per aggregate of the query."""
    parts: tuple[Part, ...]
    sensitivities: tuple[Sensitivity, ...]
    bits: tuple[int, ...]
    """How many bits finer than its code each part is measured."""
    shares: tuple[Fraction, ...]
    predicted: float
    """Predicted squared error per unit of budget, for comparing layouts of one norm."""
    together: tuple[tuple[int, ...], ...] = ()
    """All parts by index; those that share one bound, and so one share and one loss, together."""

    def step(self, index: int) -> float:
        """The value of one integer step of a part."""
        return float(step_of(self.parts[index], self.bits[index]))


_FEW_LAYOUTS = 64
"""Up to so many choices of recipes are all tried."""


def layout_for(compiled: Compiled, norm: int) -> Layout:
    """Choose a recipe per aggregate so that the predicted error of the whole query is least.

    Recipes share parts, so the choice is joint: `SUM(x)` alone is measured directly, beside
    `AVG(x)` it comes from the same parts for free. Of few choices the best is taken; of many, each
    aggregate in turn takes its best recipe given the others, until none changes.
    """
    context = compiled.context(norm)
    options = options_for(compiled)
    parts = tuple({p: None for o in options for r in o for p in r.parts.values()})
    groups = bounded_together(parts, context)
    together = {parts[i]: parts[group[0]] for group in groups for i in group}
    sizes = {part: _noise_size(part, context) for part in parts}
    alone = [min(_error_alone(r, sizes, together, norm) for r in choices) for choices in options]

    def weights(picks: Sequence[int]) -> dict[Part, float]:
        recipes = [choices[pick] for choices, pick in zip(options, picks, strict=True)]
        return _together(_weights(recipes, alone, sizes), together)

    def error(picks: Sequence[int]) -> float:
        return predicted_error(weights(picks), norm)

    def improved(picks: list[int]) -> list[int]:
        changed = True
        while changed:
            changed = False
            for i, choices in enumerate(options):
                tried = [[*picks[:i], pick, *picks[i + 1 :]] for pick in range(len(choices))]
                best = min(tried, key=error)
                if error(best) < error(picks) * (1 - 1e-9):
                    picks, changed = best, True
        return picks

    if math.prod(map(len, options)) <= _FEW_LAYOUTS:
        every = [list(picks) for picks in itertools.product(*(range(len(o)) for o in options))]
        chosen = min(every, key=error)
    else:
        # From one start alone, a mean and a count might never come to share their parts.
        most = max(map(len, options), default=1)
        starts = [[min(pick, len(choices) - 1) for choices in options] for pick in range(most)]
        chosen = min(map(improved, starts), key=error)
    recipes = tuple(choices[pick] for choices, pick in zip(options, chosen, strict=True))
    used = tuple({part: None for recipe in recipes for part in recipe.parts.values()})
    weighed = weights(chosen)
    share = dict(zip(weighed, shares(list(weighed.values()), norm), strict=True))
    return Layout(
        context,
        recipes,
        used,
        tuple(sensitivity_of(p, context) for p in used),
        tuple(extra_bits(p, context) for p in used),
        tuple(share[together[p]] for p in used),
        predicted_error(weighed, norm),
        bounded_together(used, context),
    )


def options_for(compiled: Compiled) -> list[tuple[Recipe, ...]]:
    """The recipes of every aggregate, and for counts, to share the parts of others.

    Totals of several groupings are shown as the sums of their groups, to the last digit. What is
    divided by a range could not be, so there nothing is made of sums from both ends.
    """
    options = [found.recipes() for _, found in compiled.aggregates]
    if compiled.sets:
        return [tuple(r for r in choices if "above" not in r.parts) for choices in options]
    if compiled.table.neighbors != "add_remove":
        return options
    summed = (p for o in options for r in o for p in r.parts.values() if isinstance(p, CodedSum))
    ends = list(dict.fromkeys(e for e in map(Ends.of, summed) if e is not None))
    return [
        (*choices, *(_counted(r, e) for r in choices for e in ends if _counts(r, e)))
        for choices in options
    ]


def _counts(recipe: Recipe, ends: Ends) -> bool:
    """Whether a recipe is the count of the rows that are measured from both ends."""
    return tuple(recipe.parts.values()) == (ends.above.counted,)


def _counted(recipe: Recipe, ends: Ends) -> Recipe:
    """The same, from the sums from both ends: every row adds the whole range to the two."""
    (role,), span = recipe.parts, ends.span

    def finish(noisy: Mapping[str, pl.Expr]) -> pl.Expr:
        return recipe.finish({role: (noisy["above"] - noisy["below"]) / span})

    return Recipe(
        {"above": ends.above, "below": ends.below},
        dict.fromkeys(("above", "below"), recipe.weights[role] / span),
        finish,
        "sums from both ends of a range",
    )


def _noise_size(part: Part, context: Context) -> float:
    """The sensitivity of a part in units of value, in the norm that its noise answers to."""
    found = sensitivity_of(part, context)
    size = (
        float(found.l1)
        if context.norm == 1 and found.l1 is not None
        else math.sqrt(found.l2_squared)
    )
    return size * float(step_of(part, extra_bits(part, context)))


def _together(weights: Mapping[Part, float], together: Mapping[Part, Part]) -> dict[Part, float]:
    """The weights of what shares one bound, added up: it shares one share of the budget, too."""
    found: dict[Part, float] = {}
    for part, weight in weights.items():
        found[together[part]] = found.get(together[part], 0.0) + weight
    return found


def _error_alone(
    recipe: Recipe, sizes: Mapping[Part, float], together: Mapping[Part, Part], norm: int
) -> float:
    """The predicted error of one recipe that gets the whole budget, 1 where it has no noise.

    Sizes reach from 1e-300 to 1e300, so they are scaled before they are squared.
    """
    moves = {part: recipe.weights[role] * sizes[part] for role, part in recipe.parts.items()}
    largest = max(moves.values())
    if largest == 0:
        return 1.0
    scaled = {part: (move / largest) ** 2 for part, move in moves.items()}
    return largest * math.sqrt(predicted_error(_together(scaled, together), norm))


_LEAST_WEIGHT = 1e-12
"""A part with noise always gets some of the budget, however little it matters."""


def _weights(
    recipes: Sequence[Recipe], alone: Sequence[float], sizes: Mapping[Part, float]
) -> dict[Part, float]:
    """How much the squared noise of each part, at unit budget, weighs in the query's error."""
    weights: dict[Part, float] = {}
    for recipe, base in zip(recipes, alone, strict=True):
        for role, part in recipe.parts.items():
            move = recipe.weights[role] * sizes[part] / base
            least = _LEAST_WEIGHT if sizes[part] else 0.0
            weights[part] = weights.get(part, 0.0) + max(move * move, least)
    return weights

"""Which parts a query measures: the choice of a recipe for every aggregate, and of their shares."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import polars as pl

from dpframe.aggregates.base import Aggregate, Recipe
from dpframe.aggregates.blends import Blends, blends_of
from dpframe.aggregates.compile import Compiled
from dpframe.bounds.sensitivity import (
    EACH_GROUP,
    Context,
    Sensitivity,
    bounded_together,
    extra_bits,
    sensitivity_of,
)
from dpframe.budget.halving import rounds
from dpframe.budget.split import predicted_error, shares
from dpframe.plan.parts import Blend, ChosenCells, CodedSum, Ends, Part, RankedCells, step_of


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
    reasons: tuple[str, ...] = ()
    """Per aggregate, why its recipe was taken, where its family had another one."""

    def step(self, index: int) -> float:
        """The value of one integer step of a part."""
        return float(step_of(self.parts[index], self.bits[index]))


_FEW_LAYOUTS = 64
"""Up to so many choices of recipes are all tried."""


def layout_for(compiled: Compiled, norm: int) -> Layout:
    """Choose a recipe per aggregate so that the predicted error of the whole query is least.

    Recipes share parts, so the choice is joint: `SUM(x)` alone is measured directly, beside
    `AVG(x)` it comes from the same parts for free. Of few choices the best is taken; of many, each
    family of aggregates in turn takes its best recipe given the others, until none changes.
    """
    context = compiled.context(norm)
    options = options_for(compiled)
    families = families_of([found for _, found in compiled.aggregates])
    parts = tuple({p: None for o in options for r in o for p in r.parts.values()})
    groups = bounded_together(parts, context)
    together = {parts[i]: number for number, group in enumerate(groups) for i in group}
    sizes = {part: _noise_size(part, context) for part in parts}
    alone = [min(_error_alone(r, sizes, together, norm) for r in choices) for choices in options]

    weighs = [
        [_weights(recipe, base, sizes, together) for recipe in choices]
        for choices, base in zip(options, alone, strict=True)
    ]

    def weights(picks: Sequence[int]) -> dict[int, float]:
        """By the number of what shares one bound, because many choices are tried."""
        found: dict[int, float] = {}
        for choices, pick in zip(weighs, picks, strict=True):
            for number, weight in choices[pick].items():
                found[number] = found.get(number, 0.0) + weight
        return found

    def error(picks: Sequence[int]) -> float:
        return predicted_error(weights(picks), norm)

    chosen = _best_picks([len(o) for o in options], families, error)
    recipes = tuple(choices[pick] for choices, pick in zip(options, chosen, strict=True))
    reasons = [""] * len(options)
    for members in families:
        first = members[0]
        if recipes[first].place is not None and len(options[first]) == 2:
            other = 1 - chosen[first]
            times = math.sqrt(error(_instead(chosen, members, other)) / error(chosen))
            for i in members:
                if options[i][other].name != recipes[i].name:
                    reasons[i] = f"{options[i][other].name} would be off {times:.3g} times as far"
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
        tuple(reasons),
    )


def _best_picks(
    sizes: Sequence[int], families: Sequence[Sequence[int]], error: Callable[[list[int]], float]
) -> list[int]:
    """The number of the recipe that each aggregate takes, of so many; all of a family the same."""
    ranges = [range(sizes[members[0]]) for members in families]

    def of_families(picks: Sequence[int]) -> list[int]:
        found = [0] * len(sizes)
        for members, pick in zip(families, picks, strict=True):
            found = _instead(found, members, pick)
        return found

    def improved(picks: list[int]) -> list[int]:
        changed = True
        while changed:
            changed = False
            for members, numbers in zip(families, ranges, strict=True):
                best = min((_instead(picks, members, n) for n in numbers), key=error)
                if error(best) < error(picks) * (1 - 1e-9):
                    picks, changed = best, True
        return picks

    if math.prod(map(len, ranges)) <= _FEW_LAYOUTS:
        return min(map(of_families, itertools.product(*ranges)), key=error)
    # From one start alone, a mean and a count might never come to share their parts.
    starts = [[min(n, len(r) - 1) for r in ranges] for n in range(max(map(len, ranges)))]
    return min((improved(of_families(start)) for start in starts), key=error)


def _instead(picks: Sequence[int], members: Sequence[int], pick: int) -> list[int]:
    return [pick if i in members else p for i, p in enumerate(picks)]


def families_of(aggregates: Sequence[Aggregate]) -> list[list[int]]:
    """Which aggregates take their recipes together."""
    found: dict[Hashable, list[int]] = {}
    for i, aggregate in enumerate(aggregates):
        found.setdefault(i if aggregate.family is None else (aggregate.family,), []).append(i)
    return list(found.values())


def options_for(compiled: Compiled, *, of_any_blends: bool = False) -> list[tuple[Recipe, ...]]:
    """The recipes of every aggregate, and for counts, sums and means, to share the parts of others.

    With `of_any_blends`, also from blends that the query itself would not measure, which come last:
    an earlier query may have.
    Totals of several groupings are shown as the sums of their groups, to the last digit. What is
    divided by a range could not be, so there nothing is made of sums from both ends.
    """
    options = [found.recipes() for _, found in compiled.aggregates]
    if compiled.sets:
        return [tuple(r for r in choices if "above" not in r.parts) for choices in options]
    if compiled.table.neighbors != "add_remove":
        return options
    parts = [p for choices in options for r in choices for p in r.parts.values()]
    summed = [p for p in parts if isinstance(p, CodedSum)]
    ends = list(dict.fromkeys(e for e in map(Ends.of, summed) if e is not None))
    blends = dict.fromkeys(Blends.around(p) for p in parts if isinstance(p, Blend))
    if of_any_blends:
        known = (blends_of(part, compiled.table) for part in summed)
        blends |= dict.fromkeys(found for found in known if found is not None)
    return [
        (
            *choices,
            *(_counted(r, e) for r in choices for e in ends if _counts(r, e)),
            *(r for b in blends for r in _first(map(b.instead, choices))),
        )
        for choices in options
    ]


def _first(recipes: Iterable[Recipe | None]) -> list[Recipe]:
    """The first that there is, if any: all ways from the same parts to an answer are one."""
    return [recipe for recipe in recipes if recipe is not None][:1]


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


def layout_to_choose_by(compiled: Compiled, parts: Sequence[Part]) -> Layout:
    """The parts that scores of groups are made of: they get no noise, so they share no budget."""
    context = compiled.context(EACH_GROUP)
    claims = tuple(sensitivity_of(part, context) for part in parts)
    bits = tuple(extra_bits(part, context) for part in parts)
    apart = tuple((i,) for i in range(len(parts)))
    return Layout(context, (), tuple(parts), claims, bits, (), 0.0, apart)


def _noise_size(part: Part, context: Context) -> float:
    """The sensitivity of a part in units of value, in the norm that its noise answers to.

    It is that of numeric noise which moves a rank as far as choosing does. A choice of rank has a
    deviation of sqrt(2) scales, and its rounds share the cost. With a pure cost, noise of the size
    s has a deviation of sqrt(2) s, and r rounds have scales of r s; with zCDP, s / sqrt(2 rho), and
    scales of s sqrt(r / (8 rho)).
    """
    found = sensitivity_of(part, context)
    size = (
        float(found.l1)
        if context.norm == 1 and found.l1 is not None
        else math.sqrt(found.l2_squared)
    )
    if isinstance(part, ChosenCells):
        steps = len(rounds(part.levels)) if isinstance(part, RankedCells) else 1
        size *= steps if context.norm == 1 else math.sqrt(steps / 2)
    return size * float(step_of(part, extra_bits(part, context)))


def _together(weights: Mapping[Part, float], together: Mapping[Part, int]) -> dict[int, float]:
    """The weights of what shares one bound, added up: it shares one share of the budget, too."""
    found: dict[int, float] = {}
    for part, weight in weights.items():
        found[together[part]] = found.get(together[part], 0.0) + weight
    return found


def _error_alone(
    recipe: Recipe, sizes: Mapping[Part, float], together: Mapping[Part, int], norm: int
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
    recipe: Recipe, base: float, sizes: Mapping[Part, float], together: Mapping[Part, int]
) -> dict[int, float]:
    """How much the squared noise of its parts, at unit budget, weighs in the query's error."""
    weights: dict[Part, float] = {}
    for role, part in recipe.parts.items():
        move = recipe.weights[role] * sizes[part] / base
        least = _LEAST_WEIGHT if sizes[part] else 0.0
        weights[part] = weights.get(part, 0.0) + max(move * move, least)
    return _together(weights, together)

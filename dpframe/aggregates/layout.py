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
from dpframe.budget.halving import COUNTED, Swap, rank_errors, rounds, swap_factor
from dpframe.budget.split import predicted_error, shares
from dpframe.errors import InternalError
from dpframe.plan.parts import Blend, ChosenCells, CodedSum, Ends, Part, RankedCells, step_of
from dpframe.plan.surroundings import number_of_edges


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
    options = [
        tuple(r for r in choices if (r.instead_above is not None) == (i in compiled.far))
        for i, choices in enumerate(options_for(compiled))
    ]
    families = families_of([found for _, found in compiled.aggregates])
    # Parts by number: hashing what they measure, again and again, would take most of the time.
    number = {part: i for i, part in enumerate(_all_parts(r for o in options for r in o))}
    groups = bounded_together(tuple(number), context)
    together = {i: group[0] for group in groups for i in group}
    sizes = [_noise_size(part, context) for part in number]
    moves = [[_moves(recipe, number, sizes) for recipe in choices] for choices in options]
    weighed = []
    for choices in moves:
        alone = min(_error_alone(one, together, norm) for one in choices)
        weighed.append([_together(_weights(one, alone, sizes), together) for one in choices])

    def weights(picks: Sequence[int]) -> dict[int, float]:
        return _added(choices[pick] for choices, pick in zip(weighed, picks, strict=True))

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
                    other_way, bare = options[i][other], recipes[i].is_bare
                    included = "" if bare or other_way.is_bare else ", bars included"
                    reasons[i] = (
                        f"{other_way.name} would have {times:.3g} times the error{included}"
                    )
    used = _all_parts(recipes)
    best = weights(chosen)
    share = dict(zip(best, shares(list(best.values()), norm), strict=True))
    return Layout(
        context,
        recipes,
        used,
        tuple(sensitivity_of(p, context) for p in used),
        tuple(extra_bits(p, context) for p in used),
        tuple(share[together[number[p]]] for p in used),
        predicted_error(best, norm),
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
    found, swap = sensitivity_of(part, context), None
    if isinstance(part, RankedCells):
        found, swap = chosen_by(found, context)
    size = (
        float(found.l1)
        if context.norm == 1 and found.l1 is not None
        else math.sqrt(found.l2_squared)
    )
    if isinstance(part, RankedCells):
        size *= _ranked_size(part, 1 if context.norm == 1 else 2, swap)
    elif isinstance(part, ChosenCells):
        size *= 1 if context.norm == 1 else math.sqrt(1 / 2)
    return size * float(step_of(part, extra_bits(part, context)))


def chosen_by(claim: Sensitivity, context: Context) -> tuple[Sensitivity, Swap | None]:
    """The bound that quantiles are chosen by, and how a unit is replaced, where it is.

    Then the bound is that of what leaves, and of what enters, by itself: it must not be used for a
    unit that is added or removed, nor the other way round.
    """
    replaced = context.table.neighbors == "replace"
    if replaced != (claim.each is not None):
        raise InternalError("quantiles without a bound for what leaves and what enters")
    if claim.each is None:
        return claim, None
    one_group = not context.grouped and context.sets == 1 and context.groups == 1
    return claim.each, Swap(one_group, 1 if context.norm == 1 else 2)


def _ranked_size(part: RankedCells, norm: int, swap: Swap | None) -> float:
    """What quantiles that are chosen, with their error bars, come to: a geometric mean of both.

    Without error bars it is the places alone.

    Of the cost, a share s goes to the bars. Places are off by as much as `1 / (1 - s)`, and bars are
    as wide as `1 / s`; s is the best share where `place**(1 - s) * bar**s` is what should be small.
    So that is what the share says of how much a bar counts against its place, and recipes are
    compared by it as well. The same holds for zCDP, with roots of both. On a tree of counts, errors
    and bars are alike.

    A bar reaches as far as the noise of all cells around the places, each of which counts for one
    half where about as many lie on either side. Where a unit is replaced, counts move twice as far
    in L1 as what enters alone, and sqrt(2) times as far in L2.
    """
    steps = len(rounds(part.levels))
    if not part.counted:
        place = float(steps) if norm == 1 else math.sqrt(steps / 2)
        return place if swap is None else place * swap_factor(part.levels, swap)
    counted, levels = float(COUNTED), len(part.levels)
    around = min(part.inside, levels * number_of_edges(1, max(1, part.inside // levels)))
    typical = math.sqrt(sum(error**2 for error in rank_errors(part.levels)) / levels)
    place, bar = steps / (1 - counted), math.sqrt(around) / 2 / typical / counted
    if norm == 2:
        place, bar = math.sqrt(place / 2), math.sqrt(around / counted) / 2 / typical
    if swap is not None:
        place, bar = place * swap_factor(part.levels, swap), bar * 2 ** (1 / norm)
    return float(place ** (1 - counted) * bar**counted)


def _all_parts(recipes: Iterable[Recipe]) -> tuple[Part, ...]:
    return tuple(dict.fromkeys(part for recipe in recipes for part in recipe.parts.values()))


Moves = Sequence[tuple[int, float]]
"""Parts by number, and how far the noise of each moves an aggregate, at unit budget."""


def _moves(recipe: Recipe, number: Mapping[Part, int], sizes: Sequence[float]) -> Moves:
    numbers = {role: number[part] for role, part in recipe.parts.items()}
    return [(i, recipe.weights[role] * sizes[i]) for role, i in numbers.items()]


def _added(weights: Iterable[Mapping[int, float]]) -> dict[int, float]:
    found: dict[int, float] = {}
    for some in weights:
        for i, weight in some.items():
            found[i] = found.get(i, 0.0) + weight
    return found


def _together(
    weights: Sequence[tuple[int, float]], together: Mapping[int, int]
) -> dict[int, float]:
    """The weights of what shares one bound, added up: it shares one share of the budget, too."""
    return _added({together[i]: weight} for i, weight in weights)


def _error_alone(moves: Moves, together: Mapping[int, int], norm: int) -> float:
    """The predicted error of one recipe that gets the whole budget, 1 where it has no noise.

    Sizes reach from 1e-300 to 1e300, so they are scaled before they are squared.
    """
    largest = max(move for _, move in moves)
    if largest == 0:
        return 1.0
    scaled = [(i, (move / largest) ** 2) for i, move in moves]
    return largest * math.sqrt(predicted_error(_together(scaled, together), norm))


_LEAST_WEIGHT = 1e-12
"""A part with noise always gets some of the budget, however little it matters."""


def _weights(moves: Moves, alone: float, sizes: Sequence[float]) -> list[tuple[int, float]]:
    """How much the squared noise of each part, at unit budget, weighs in the query's error."""
    return [(i, max((m / alone) ** 2, _LEAST_WEIGHT if sizes[i] else 0.0)) for i, m in moves]

"""Answers for free: noisy parts that were measured before, found again by what they mean.

Whatever is computed from numbers that were already released reveals nothing more
(post-processing), so a query whose parts are all on the ledger costs nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import mul
from typing import Any

from dpframe.aggregates.base import Aggregate, Recipe
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import Layout, families_of, options_for
from dpframe.bounds.analysis import Typed
from dpframe.bounds.keys import covers_every_row
from dpframe.bounds.sensitivity import sensitivity_of
from dpframe.budget.halving import rank_errors
from dpframe.mechanisms import (
    Law,
    MeasuredQuantiles,
    ModeSelection,
    QuantileSelection,
)
from dpframe.plan.fingerprint import canonical, canonical_part, canonical_where, fingerprint
from dpframe.plan.parts import Blend, CodedSum, Part, RankedCells, step_of
from dpframe.release.kept_keys import (
    MOST_KEPT,
    Find,
    canonical_names,
    canonical_order,
    chosen_words,
    table_words,
)
from dpframe.release.noisy import NoisyParts
from dpframe.release.stored import Found, combined, decoded, encoded, encoded_levels, levels_of

_FACTOR_BITS = 40
"""How finely the count that two sums know is kept."""

_MOST_PARTS = 16
"""Numbers per group from which on fewer groups are kept."""

_MOST_DROPPED = 3
"""Sums over keys are kept for queries of up to this many keys."""


def part_keys(compiled: Compiled, norm: float, version: str) -> Callable[[Part], str]:
    """The fingerprints under which the parts of a query are kept."""
    return _keyed(compiled, compiled.keys, norm, version)


def _keyed(
    compiled: Compiled, keys: Sequence[tuple[str, Typed]], norm: float, version: str
) -> Callable[[Part], str]:
    table = compiled.table
    fixed = [
        *table_words(compiled, version),
        f"weighted in norm {norm}" if table.unit_column is not None else "rows",
        canonical_where(compiled.where),
        *sorted(canonical(key.expr) for _, key in keys),
        *chosen_words(compiled, keys),
    ]
    return lambda part: fingerprint([*fixed, canonical_part(part)])


# --- keeping -------------------------------------------------------------------------------------


def kept_parts(parts: NoisyParts, version: str) -> dict[str, bytes]:
    """What to store after a release: every part, and its sums over keys that can be dropped.

    Of several groupings, each is kept like a query of its own.
    """
    compiled, layout = parts.compiled, parts.layout
    if compiled.sets:
        return {k: v for one in _pieces(parts) for k, v in kept_parts(one, version).items()}
    kept: dict[str, bytes] = {}
    cells = sum(part.cells for part in layout.parts)
    if compiled.groups * max(1, cells // _MOST_PARTS) > MOST_KEPT:
        return kept
    for keys in _subsets(compiled, layout.context.norm):
        key_of = _keyed(compiled, keys, layout.context.norm, version)
        for i, law in enumerate(parts.laws):
            dropped = len(keys) < len(compiled.keys)
            if not isinstance(law, Law | MeasuredQuantiles | ModeSelection) or (
                dropped and not layout.parts[i].adds_up
            ):
                continue  # a unit or a value in two groups is one, so these do not add up
            summed = _summed(compiled, keys, parts.values[i], parts.width(i))
            if summed is not None:
                values, times = summed
                kept[key_of(layout.parts[i])] = encoded(law, times, values, layout.bits[i])
                for part, levels in _each_level(layout.parts[i]):
                    kept[key_of(part)] = encoded_levels(levels)
        for count, stored in _counts_from_sums(parts, keys):
            kept.setdefault(key_of(count), stored)
    return kept


def _counts_from_sums(
    parts: NoisyParts, keys: Sequence[tuple[str, Typed]]
) -> Iterator[tuple[Part, bytes]]:
    """The counts of rows that sums which are bounded together know: each row adds the bound to them.

    Of sums from both ends of a range one is negative. A count is kept on a grid of powers of two, so
    it is multiplied with the nearest fraction of that kind, which is off by less than one part in
    2^40.
    """
    compiled, layout = parts.compiled, parts.layout
    for group in layout.together:
        part, law = layout.parts[group[0]], parts.laws[group[0]]
        if not isinstance(part, CodedSum | Blend) or not isinstance(law, Law):
            continue
        if len(group) < (3 if isinstance(part, Blend) else 2):
            continue
        added = [_summed(compiled, keys, parts.values[i], 1) for i in group]
        sides = [each for each in added if each is not None]
        if len(sides) < len(group):
            continue
        signs = [-1 if _is_negative(layout.parts[i]) else 1 for i in group]
        steps = part.magnitude << layout.bits[group[0]]
        bits = _FACTOR_BITS + steps.bit_length()
        factor = round(Fraction(1 << bits, steps))
        rows = zip(*(values for values, _ in sides), strict=True)
        values = tuple(sum(map(mul, signs, row)) * factor for row in rows)
        if values:
            codes = part.codes if isinstance(part, Blend) else part
            yield codes.counted, encoded(law, len(group) * sides[0][1], values, bits, factor)


def _is_negative(part: Part) -> bool:
    """Whether a sum is of how far values lie below the high end of their range."""
    return isinstance(part, CodedSum) and part.centre == part.coding.high


def _each_level(part: Part) -> Iterator[tuple[RankedCells, tuple[Fraction, ...]]]:
    """Each of several quantiles by itself, and all that it was chosen together with."""
    if isinstance(part, RankedCells) and len(part.levels) > 1:
        for level in part.levels:
            yield replace(part, levels=(level,)), part.levels


def _pieces(parts: NoisyParts) -> Iterator[NoisyParts]:
    """What was measured for each grouping, finer ones first: a measured total replaces their sums."""
    start, found = 0, []
    for one in parts.compiled.groupings:
        end = start + one.groups
        widths = (parts.width(i) for i in range(len(parts.values)))
        released = zip(parts.values, widths, strict=True)
        values = tuple(v[start * width : end * width] for v, width in released)
        found.append(replace(parts, compiled=one, values=values))
        start = end
    return iter(sorted(found, key=lambda piece: -len(piece.compiled.keys)))


def _subsets(compiled: Compiled, norm: float) -> list[tuple[tuple[str, Typed], ...]]:
    """The groupings that follow from this one: all its keys, and fewer where no row is lost.

    A key can be dropped by adding up over its values if every row has one of them. Weighting in
    the Euclidean norm depends on the grouping, so there nothing is added up.
    """
    everything = tuple(compiled.keys)
    weighted = compiled.table.unit_column is not None
    if len(everything) > _MOST_DROPPED or compiled.only or (weighted and norm != 1):
        return [everything]
    complete = [
        (name, key)
        for name, key in everything
        if name not in compiled.private and covers_every_row(key, compiled.public[name])
    ]
    found = []
    for size in range(len(complete) + 1):
        for dropped in itertools.combinations(complete, size):
            found.append(tuple(k for k in everything if k not in dropped))
    return found


def _summed(
    compiled: Compiled, keys: Sequence[tuple[str, Typed]], values: tuple[int, ...], cells: int
) -> tuple[tuple[int, ...], int] | None:
    """Values in the canonical order of their groups, and how many were added up for each."""
    if not compiled.keys:
        return values, 1
    each = _by_group(values, cells)
    if not keys:
        return _added(each, cells), len(each)
    frame = compiled.frame
    names = canonical_names(keys)
    if len(keys) == len(compiled.keys):  # nothing is added up
        order = canonical_order(frame, names)
        return tuple(itertools.chain.from_iterable(each[row] for row in order)), 1
    groups: dict[tuple[Any, ...], list[tuple[int, ...]]] = {}
    for row, of_group in zip(frame.select(names).iter_rows(), each, strict=True):
        groups.setdefault(row, []).append(of_group)
    sizes = {len(members) for members in groups.values()}
    if len(sizes) > 1:
        return None  # groups of different sizes would have different noise
    fewer = frame.select(names).unique().sort(names, nulls_last=True)
    added = [_added(groups[row], cells) for row in fewer.iter_rows()]
    return tuple(itertools.chain.from_iterable(added)), next(iter(sizes), 1)


def _by_group(values: tuple[int, ...], cells: int) -> list[tuple[int, ...]]:
    return [values[i : i + cells] for i in range(0, len(values), cells)]


def _added(members: Sequence[tuple[int, ...]], cells: int) -> tuple[int, ...]:
    """The sums over groups, cell by cell."""
    return tuple(map(sum, zip(*members, strict=True))) if members else (0,) * cells


# --- finding -------------------------------------------------------------------------------------


def reusable(
    compiled: Compiled, find: Find, version: str, limits: Mapping[str, float] | None
) -> NoisyParts | None:
    """The answer from parts that were measured before, or None if some are missing.

    Sums over finer groups are noisier than a direct measurement, a tree of counts that was measured
    for other quantiles is noisier than choosing, and so may be a mean from what was measured for a
    variance. They are used only where the deviation of each aggregate stays within `limits` (what
    the cost that was said would buy), or where no cost was said.
    """
    if compiled.sets:
        return _joined(
            compiled, [reusable(one, find, version, limits) for one in compiled.groupings]
        )
    own, every = options_for(compiled), options_for(compiled, of_any_blends=True)
    options = list(zip(own, every, strict=True))
    for norm in (1, 2):
        found = _found_in(compiled, options, find, version, norm, limits)
        if found is not None:
            return found
    return None


def _joined(compiled: Compiled, pieces: Sequence[NoisyParts | None]) -> NoisyParts | None:
    """The groupings as one answer, if all are known, with noise of the same laws."""
    known = [piece for piece in pieces if piece is not None]
    first = known[0] if known else None
    if first is None or len(known) < len(pieces):
        return None
    layout = first.layout
    for piece in known:
        alike = piece.layout.parts == layout.parts and piece.layout.bits == layout.bits
        alike = alike and all(piece.width(i) == first.width(i) for i in range(len(layout.parts)))
        if (
            not alike
            or piece.laws != first.laws
            or layout.context.norm != piece.layout.context.norm
        ):
            return None
    values = tuple(
        tuple(v for piece in known for v in piece.values[i]) for i in range(len(layout.parts))
    )
    context = compiled.context(layout.context.norm)
    return NoisyParts(compiled, replace(layout, context=context), first.laws, values)


def _found_in(
    compiled: Compiled,
    options: Sequence[tuple[Sequence[Recipe], Sequence[Recipe]]],
    find: Find,
    version: str,
    norm: int,
    limits: Mapping[str, float] | None,
) -> NoisyParts | None:
    """The same, from parts of one norm.

    Each aggregate has two lists of recipes: what the query would measure itself, and that with what
    an earlier one may have measured.
    """
    context = compiled.context(norm)
    key_of = part_keys(compiled, norm, version)
    known: dict[Part, Found | None] = {}

    def look(part: Part) -> Found | None:
        if part not in known:
            found = [decoded(b) for b in find(key_of(part)) if levels_of(b) is None]
            if isinstance(part, RankedCells):
                found += _chosen_among_others(part)
            known[part] = combined(found)
        return known[part]

    def _chosen_among_others(part: RankedCells) -> Iterator[Found]:
        for levels in {levels_of(b) for b in find(key_of(replace(part, levels=part.levels[:1])))}:
            if levels is not None and set(part.levels) < set(levels):
                joint = look(replace(part, levels=levels))
                if joint is not None:
                    yield _some_levels(joint, levels, part.levels, compiled.groups)

    usables: list[dict[int, tuple[float, Recipe]]] = []
    for (name, _), (choices, more) in zip(compiled.aggregates, options, strict=True):
        usable: dict[int, tuple[float, Recipe]] = {}
        for pick, recipe in enumerate(more):
            looked = {role: look(part) for role, part in recipe.parts.items()}
            there = {role: found for role, found in looked.items() if found is not None}
            if len(there) < len(looked):
                continue
            deviation = math.hypot(
                *(
                    recipe.weights[role]
                    * found.deviation(float(step_of(recipe.parts[role], found.bits)))
                    for role, found in there.items()
                )
            )
            derived = any(found.derived for found in there.values())
            coarser = not _is_chosen(recipe) and any(map(_is_chosen, choices))
            worse = derived or coarser or pick >= len(choices)
            if worse and limits is not None and deviation > limits[name]:
                continue
            # Of two that are as good, the one with the numbers that were released themselves.
            usable[pick] = deviation * (1 + 1e-6 * derived), recipe
        usables.append(usable)
    recipes = _of_families([found for _, found in compiled.aggregates], usables)
    if recipes is None:
        return None
    parts = tuple(dict.fromkeys(p for recipe in recipes for p in recipe.parts.values()))
    measured = [known[part] for part in parts]
    layout = Layout(
        context,
        tuple(recipes),
        parts,
        tuple(sensitivity_of(p, context) for p in parts),
        tuple(m.bits for m in measured if m is not None),
        tuple(Fraction(0) for _ in parts),
        0.0,
    )
    laws = tuple(m.law for m in measured if m is not None)
    values = tuple(_in_query_order(compiled, m.values) for m in measured if m is not None)
    return NoisyParts(compiled, layout, laws, values)


def _is_chosen(recipe: Recipe) -> bool:
    return recipe.place is not None and recipe.place.is_chosen


def _of_families(
    aggregates: Sequence[Aggregate], options: Sequence[Mapping[int, tuple[float, Recipe]]]
) -> list[Recipe] | None:
    """The most accurate usable recipe of every aggregate, the same of all in a family."""
    found: dict[int, Recipe] = {}
    for members in families_of(aggregates):
        shared = set.intersection(*(set(options[i]) for i in members))
        if not shared:
            return None
        best = min(sorted(shared), key=lambda pick: sum(options[i][pick][0] for i in members))
        found |= {i: options[i][best][1] for i in members}
    return [found[i] for i in range(len(aggregates))]


def _some_levels(
    found: Found, levels: tuple[Fraction, ...], some: tuple[Fraction, ...], groups: int
) -> Found:
    """Some of several quantiles that were chosen together, with a scale that says how far they are off.

    What was counted around all of them goes with them: error bars are the same as beside the others.
    """
    law = found.law
    assert isinstance(law, MeasuredQuantiles)
    swap = law.choice.swap
    together, alone = rank_errors(levels, swap), rank_errors(some, swap)
    places = [levels.index(level) for level in some]
    ratio = max(1.0, *(together[i] / error for i, error in zip(places, alone, strict=True)))
    scale = law.choice.scale * Fraction(ratio).limit_denominator(100)
    each = _by_group(found.values, len(found.values) // max(1, groups) or 1)
    values = [v for row in each for v in (*(row[i] for i in places), *row[len(levels) :])]
    return replace(
        found,
        law=MeasuredQuantiles(QuantileSelection(some, scale, swap), law.noise),
        values=tuple(values),
    )


def _in_query_order(compiled: Compiled, values: tuple[int, ...]) -> tuple[int, ...]:
    """From the canonical order of groups to that of this query's keys."""
    if not compiled.keys or not values:
        return values
    order = canonical_order(compiled.frame, canonical_names(compiled.keys))
    placed: list[tuple[int, ...]] = [()] * len(order)
    each = _by_group(values, len(values) // len(order))
    for row, of_group in zip(order, each, strict=True):
        placed[row] = of_group
    return tuple(itertools.chain.from_iterable(placed))

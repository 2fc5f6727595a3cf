"""What the columns of a noisy table are made of: one part as it is, places, choices, arithmetic."""

from __future__ import annotations

import polars as pl

from dpframe.mechanisms import Law
from dpframe.plan.exprs import Column
from dpframe.plan.nodes import Project, Regroup
from dpframe.release.above import above, carried_to_top, noisy_at_top, reads
from dpframe.release.noisy import NoisyParts


def noisy_columns(parts: NoisyParts, finished: pl.DataFrame) -> list[str]:
    """Columns of numbers and times that are computed from aggregates, all with error bars."""
    noisy = noisy_at_top(parts.compiled.plan, {name for name, _ in parts.compiled.aggregates})
    noisy -= bare_columns(parts)
    kinds = {c: finished[c].dtype for c in finished.columns if c in noisy}
    return [c for c, kind in kinds.items() if kind.is_numeric() or kind.is_temporal()]


def bare_columns(parts: NoisyParts) -> set[str]:
    """The columns that read something without an error bar: a mode, a quantile that was to have none."""
    found = {
        name
        for (name, _), recipe in zip(parts.compiled.aggregates, parts.layout.recipes, strict=True)
        if recipe.is_bare
    }
    return carried_to_top(parts.compiled.plan, found)


def single_parts(parts: NoisyParts) -> dict[str, int]:
    """Output columns that are one part, as it is: a count, a sum measured directly."""
    index = {part: i for i, part in enumerate(parts.layout.parts)}
    direct = {}
    for (name, _), recipe in zip(parts.compiled.aggregates, parts.layout.recipes, strict=True):
        i = index[next(iter(recipe.parts.values()))]
        # Averaged or added-up noise has no closed form.
        single = len(recipe.parts) == 1 and recipe.place is None
        if single and isinstance(parts.laws[i], Law | None):
            direct[name] = i
    for node in reversed(above(parts.compiled.plan)):
        if isinstance(node, Regroup):
            direct = {}
        if isinstance(node, Project):
            direct = {
                name: direct[expr.name]
                for name, expr in node.columns
                if isinstance(expr, Column) and expr.name in direct
            }
    return direct


def chosen_columns(parts: NoisyParts) -> tuple[set[str], set[str]]:
    """Columns that come from chosen places and no other noise, and all that come from some.

    What is released for them need not lie in the interval that redraws give, so that is widened to
    hold it. The redraws of the former come from noise that was drawn after the places were chosen:
    whatever these are, each end of the interval misses the truth with probability a at the most. If
    what is released lies to the right of the truth, the widened interval can miss it on the left
    alone; if it lies to the left, on the right alone. So each end may have the whole of 1 -
    confidence.
    """
    places = {number: place for number, (place, _) in parts.places().items()}
    apart, chosen, noisy = set(), set(), set()
    for number, (name, _) in enumerate(parts.compiled.aggregates):
        noisy.add(name)
        if number in places and places[number].is_chosen:
            chosen.add(name)
            if places[number].is_apart:
                apart.add(name)
    for node in reversed(above(parts.compiled.plan)):
        if isinstance(node, Project):
            columns = [(name, expr) for name, expr in node.columns if reads(expr, noisy)]
            others = noisy - apart
            apart = {name for name, expr in columns if not reads(expr, others)}
            chosen = {name for name, expr in columns if reads(expr, chosen)}
            noisy = {name for name, _ in columns}
    return apart, chosen


def places_read(parts: NoisyParts) -> dict[str, set[int]]:
    """The places on grids that each column is computed from, by number."""
    places = parts.places()
    read = {
        name: {number} & places.keys() for number, (name, _) in enumerate(parts.compiled.aggregates)
    }
    for node in reversed(above(parts.compiled.plan)):
        if isinstance(node, Project):
            read = {
                name: set().union(*(some for c, some in read.items() if reads(expr, {c})))
                for name, expr in node.columns
            }
    return read


def plain_aggregates(parts: NoisyParts) -> dict[str, str]:
    """Columns that are an aggregate as it is, and its name."""
    found = {name: name for name, _ in parts.compiled.aggregates}
    for node in reversed(above(parts.compiled.plan)):
        if isinstance(node, Project):
            found = {
                name: found[expr.name]
                for name, expr in node.columns
                if isinstance(expr, Column) and expr.name in found
            }
    return found

"""Which columns of a noisy table may be anything, because what they are divided by may be 0.

Say that b is known with noise, and a / b is asked for. The values of a / b that the noise does not
refute are an interval only where it refutes that b is 0, or of the other sign; else they reach
beyond all bounds (Fieller 1954). So a redraw in which a divisor has another sign than the measured
one speaks for both ends of an error bar, and one in which an aggregate has no value does too: that
of a slope where no variance is left.

Why that covers: for a true value v of a / b with b > 0, the bar misses v on the left only if fewer
redraws than its tail have `a - v b < 0`, which has normal or Laplace noise around 0: each redraw
with b > 0 and a / b < v is one of them, and those with b < 0 are counted as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from dpframe.plan.exprs import Call, Column, Expr, columns_of
from dpframe.plan.nodes import RESERVED, Aggregate, Node, Project
from dpframe.release.noisy import NoisyParts, PostProcessing, domains_after_aggregate

_DIVIDES = ("divide", "integer_divide", "modulo")


@dataclass(frozen=True, slots=True)
class Watched:
    """The plan above an aggregate, with columns that show what each other column depends on."""

    plan: Node
    read: Mapping[str, frozenset[str]]
    """By column, the names under which it is read below."""
    shown: Mapping[str, Expr]
    """By such a name, how it is read from the table."""
    divisors: frozenset[str] = field(default_factory=frozenset)
    """The names that stand for divisors; others stand for aggregates that may have no value."""

    def unsure(self, name: str, redrawn: pl.DataFrame, measured: pl.DataFrame) -> np.ndarray:
        """For each redraw and group, whether a column may be anything."""
        found = np.zeros((redrawn.height // max(1, measured.height), measured.height), dtype=bool)
        for watched in self.read.get(name, ()):
            column = self.shown[watched]
            assert isinstance(column, Column)
            table = _floats(redrawn[column.name]).reshape(found.shape)
            if watched in self.divisors:
                found |= ~(table * np.sign(_floats(measured[column.name])) > 0)
            else:
                found |= np.isnan(table)
        return found


def _floats(column: pl.Series) -> np.ndarray:
    return column.cast(pl.Float64).to_numpy()


def watch(parts: NoisyParts) -> Watched:
    """The plan of a query, in which divisors and aggregates are columns that can be looked at."""
    named = zip(parts.compiled.aggregates, parts.layout.recipes, strict=True)
    open_ended = [name for (name, _), recipe in named if recipe.redrawn is not None]
    return _watch(parts.compiled.plan, open_ended)


def _watch(node: Node, aggregates: list[str]) -> Watched:
    if isinstance(node, Aggregate):
        names = {name: f"{RESERVED}_watched_{name}" for name in aggregates}
        read = {name: frozenset({watched}) for name, watched in names.items()}
        return Watched(node, read, {watched: Column(name) for name, watched in names.items()})
    below = _watch(node.parent, aggregates)  # type: ignore[attr-defined]
    if not isinstance(node, Project):
        return replace(below, plan=replace(node, parent=below.plan))  # type: ignore[call-arg]
    shown, divisors, read = dict(below.shown), set(below.divisors), {}
    for name, expr in node.columns:
        reads = {w for column in columns_of(expr) for w in below.read.get(column, ())}
        for divisor in _divisors(expr):
            watched = f"{RESERVED}_watched_{len(shown)}"
            shown[watched] = divisor
            divisors.add(watched)
            reads.add(watched)
        read[name] = frozenset(reads)
    plan = Project(below.plan, (*node.columns, *shown.items()))
    above = {watched: Column(watched) for watched in shown}
    return Watched(plan, read, above, frozenset(divisors))


def _divisors(expr: Expr) -> Iterator[Expr]:
    """What an expression divides by, unless it is a constant."""
    if isinstance(expr, Call) and expr.function in _DIVIDES and columns_of(expr.args[1]):
        yield expr.args[1]
    for child in expr.children:
        yield from _divisors(child)


def ends_of(parts: NoisyParts, frame: pl.DataFrame) -> dict[str, tuple[pl.Series, pl.Series]]:
    """For each aggregate that says so, the ends of what is possible of redrawn parts."""
    index = {part: i for i, part in enumerate(parts.layout.parts)}
    found = {}
    for (name, _), recipe in zip(parts.compiled.aggregates, parts.layout.recipes, strict=True):
        if recipe.ends is not None:
            noisy = {role: pl.col(f"p{index[part]}") for role, part in recipe.parts.items()}
            low, high = recipe.ends(noisy)
            both = frame.lazy().with_columns(low=low, high=high).select("low", "high").collect()
            found[name] = both["low"], both["high"]
    return found


def farthest(
    parts: NoisyParts, ends: Mapping[str, tuple[pl.Series, pl.Series]]
) -> dict[str, tuple[float, float]]:
    """For each column of the answer, ends of what it can be where its aggregates have these."""
    known = domains_after_aggregate(parts.compiled)
    for name, (low, high) in ends.items():
        first, last = float(low.min() or 0), float(high.max() or 0)  # type: ignore[arg-type]
        if math.isfinite(first) and math.isfinite(last):
            known[name] = replace(known[name], low=first, high=last)
    found = PostProcessing(parts.compiled, known=known).domains(parts.compiled.plan)
    return {
        name: (float(domain.low), float(domain.high))
        for name, domain in found.items()
        if domain.type.is_number and domain.low is not None and domain.high is not None
    }

"""Groupings that agree: totals become the sums of their groups, by least squares.

ROLLUP and the like measure each grouping with noise of its own, so a total differs from the sum of
its groups, which both estimate the same number. Among all tables whose totals are sums, the one
nearest to what was measured is released. This is post-processing: it costs nothing. Every number
becomes more accurate, or stays as it was (Gauss and Markov; Hay et al. 2010), and keeps the error
bar of its own measurement, which is then wider than need be.

It applies to counts and sums of rows, and to groupings that lose no row against the finest one.
Units are counted once in a total and once in each group, so those do not add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpframe.aggregates.compile import Compiled
from dpframe.bounds.keys import covers_every_row
from dpframe.mechanisms import Law, MeasuredQuantiles, ModeSelection
from dpframe.plan.parts import CodedSum, Part
from dpframe.release.noisy import Mixed, Noise, NoisyParts

_STEPS = 100
"""Steps of the solver; as many as there are groupings are enough where keys are a full product."""

_FINER_BITS = 10
"""How much finer than whole numbers cells are kept where rounding them would show in a total."""

Cells = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Coarser:
    """A grouping whose groups are unions of the finest ones."""

    start: int
    """Where its groups begin in the table."""
    group: NDArray[np.int64]
    """For each of the finest groups, the one that it belongs to."""
    groups: int

    def sums(self, cells: Cells) -> Cells:
        found: Cells = np.bincount(self.group, cells, self.groups).astype(np.float64)
        return found


def reconciled(parts: NoisyParts) -> NoisyParts:
    """The same parts, with totals that are the sums of their groups wherever they should be."""
    compiled = parts.compiled
    weighted = compiled.table.unit_column is not None
    if not compiled.sets or (weighted and parts.layout.context.norm != 1):
        return parts  # weighting in the Euclidean norm depends on the grouping
    start, finest, coarser = _family(compiled)
    if not coarser or not finest:
        return parts
    laws, bits, values = list(parts.laws), list(parts.layout.bits), list(parts.values)
    for i, part in enumerate(parts.layout.parts):
        law = laws[i]
        if law is None or isinstance(law, MeasuredQuantiles | ModeSelection):
            continue
        if not part.adds_up or part.cells != 1:
            continue
        finer, grain = _grid(part, bits[i], law, finest)
        values[i] = _adjusted(values[i], start, finest, coarser, finer, grain)
        laws[i], bits[i] = _on_finer_grid(law, finer), bits[i] + finer
    layout = replace(parts.layout, bits=tuple(bits))
    return NoisyParts(compiled, layout, tuple(laws), tuple(values))


def _grid(part: Part, bits: int, law: Noise, finest: int) -> tuple[int, int]:
    """How many bits finer cells are kept, or of how many bits they are multiples.

    Counts and sums of integers are shown as whole numbers, so cells are whole, and add up as they
    are shown. Rounding each adds a twelfth to its variance, and a total adds up many cells: where
    that would show, cells are kept on a finer grid, and add up but for rounding what is shown.
    """
    whole = bits if not isinstance(part, CodedSum) or part.coding.is_integer else 0
    if finest <= law.variance / 4**whole:
        return 0, whole
    return (0 if bits else _FINER_BITS), 0


def _family(compiled: Compiled) -> tuple[int, int, list[_Coarser]]:
    """The finest grouping (where it begins, its size), and those that it adds up to."""
    groupings = compiled.groupings
    starts = np.cumsum([0, *(one.groups for one in groupings)]).tolist()
    widest = max(range(len(groupings)), key=lambda i: (len(groupings[i].keys), groupings[i].groups))
    names = {name for name, _ in groupings[widest].keys}
    complete = {
        name
        for name, key in compiled.keys
        if name not in compiled.private and covers_every_row(key, compiled.public[name])
    }
    found = []
    for i, one in enumerate(groupings):
        kept = [name for name, _ in one.keys]
        cells = _with_computed(groupings[widest].frame, compiled.public, kept)
        if i != widest and cells is not None and names - set(kept) <= complete:
            found.append(_Coarser(starts[i], _places(cells, one.frame, kept), one.groups))
    return starts[widest], groupings[widest].groups, found


def _with_computed(
    cells: pl.DataFrame, public: pl.DataFrame, kept: list[str]
) -> pl.DataFrame | None:
    """The finest groups, with the keys of a coarser grouping that follow from theirs.

    Bins follow from finer bins. Where a key does not follow, groups are no unions of the finest.
    """
    more = [name for name in kept if name not in cells.columns]
    if not more:
        return cells
    own = [name for name in cells.columns if name in public.columns]
    if not own or not set(more) <= set(public.columns):
        return None
    known = public.select(*own, *more).unique()
    if known.height > known.select(own).unique().height:
        return None
    return cells.join(known, on=own, how="left", nulls_equal=True, maintain_order="left")


def _places(cells: pl.DataFrame, groups: pl.DataFrame, kept: list[str]) -> NDArray[np.int64]:
    if not kept:
        return np.zeros(cells.height, dtype=np.int64)
    found = cells.select(kept).join(
        groups.with_row_index("__dpframe_row"),
        on=kept,
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    return found["__dpframe_row"].cast(pl.Int64).to_numpy()


def _adjusted(
    values: Sequence[int],
    start: int,
    finest: int,
    coarser: Sequence[_Coarser],
    finer: int,
    grain: int,
) -> tuple[int, ...]:
    """Correct the finest groups, and add them up."""
    cells = values[start : start + finest]
    missing = [_residual(values, cells, one) for one in coarser]
    moved = np.rint(np.ldexp(_least_squares(missing, coarser, finest), finer))
    half = (1 << grain) >> 1
    corrected = [
        ((v << finer) + int(m) + half) >> grain << grain
        for v, m in zip(cells, moved.tolist(), strict=True)
    ]
    result = [v << finer for v in values]
    result[start : start + finest] = corrected
    for one in coarser:
        totals = [0] * one.groups
        for group, value in zip(one.group.tolist(), corrected, strict=True):
            totals[group] += value
        result[one.start : one.start + one.groups] = totals
    return tuple(result)


def _residual(values: Sequence[int], cells: Sequence[int], one: _Coarser) -> Cells:
    """What a total was measured above the sum of its groups; exact, so that nothing is lost."""
    left = list(values[one.start : one.start + one.groups])
    for group, value in zip(one.group.tolist(), cells, strict=True):
        left[group] -= value
    return np.array(left, dtype=np.float64)


def _least_squares(missing: Sequence[Cells], coarser: Sequence[_Coarser], finest: int) -> Cells:
    """The correction d with the least |d|^2 + sum |A d - missing|^2, by conjugate gradients.

    All groupings of a part have noise of one scale, so squares weigh alike.
    """

    def normal(d: Cells) -> Cells:
        return d + sum((one.sums(d)[one.group] for one in coarser), np.zeros(finest))

    spread = zip(missing, coarser, strict=True)
    residual = sum((m[one.group] for m, one in spread), np.zeros(finest))
    found, direction, size = np.zeros(finest), residual.copy(), float(residual @ residual)
    for _ in range(_STEPS):
        if size < 1e-12:
            break
        image = normal(direction)
        step = size / float(direction @ image)
        found += step * direction
        residual -= step * image
        before, size = size, float(residual @ residual)
        direction = residual + size / before * direction
    return found


def _on_finer_grid(law: Noise, finer: int) -> Noise:
    if not finer:
        return law
    terms = ((law, 1, 1),) if isinstance(law, Law) else getattr(law, "terms", ())
    return Mixed([(inner, weight << finer, times) for inner, weight, times in terms])

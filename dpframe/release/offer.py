"""A way to answer a query at a cost: the noise of every part, and what it all loses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import Layout, chosen_by, layout_for
from dpframe.budget.loss import Loss
from dpframe.budget.room import Share
from dpframe.declare import Table
from dpframe.engines.base import Engine
from dpframe.errors import InternalError, ParameterError
from dpframe.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    MeasuredQuantiles,
    ModeSelection,
    Source,
)
from dpframe.plan.parts import GRAINS, CodedSum, FrequentCell, GridCounts, Part, RankedCells
from dpframe.plan.surroundings import edges_around
from dpframe.release.kept_keys import kept_keys
from dpframe.release.selection import (
    SELECTION_SHARE,
    Selection,
    concentrated_selection,
    pure_selection,
)

Choosing = MeasuredQuantiles | ModeSelection
"""What chooses cells by their counts."""

Measure = Law | MeasuredQuantiles | ModeSelection
"""What stands between the exact integers of a part and those that are released."""

_L = TypeVar("_L")
_S = TypeVar("_S")


@dataclass(frozen=True, slots=True)
class Offer:
    """Parts with their noise, and the loss that is charged, recomputed from the scales used."""

    layout: Layout
    laws: tuple[Measure | None, ...]
    loss: Loss
    selection: Selection | None = None
    """How private keys are chosen first, where they have to be; its loss is part of `loss`."""

    @property
    def noise(self) -> str:
        """The name of the noise that is added."""
        noises = (law.noise if isinstance(law, MeasuredQuantiles) else law for law in self.laws)
        if not any(isinstance(noise, Law) for noise in noises):
            return "none"
        return "discrete Laplace" if self.layout.context.norm == 1 else "discrete Gaussian"

    @property
    def mechanism(self) -> str:
        """All that runs, for the ledger."""
        chosen = dict.fromkeys(law.name for law in self.laws if isinstance(law, Choosing))
        names = [] if self.selection is None else [f"{self.selection.name} selection"]
        names += chosen
        if self.noise != "none" or (self.laws and not chosen) or not names:
            names.append(self.noise)
        return ", ".join(names)

    @property
    def scales(self) -> str:
        """The scale of every part's noise in units of value, for the ledger."""
        return ", ".join(
            " and ".join(f"{float(s) * self.layout.step(i):.6g}" for s in _scales(law)) or "exact"
            for i, law in enumerate(self.laws)
        )

    @property
    def note(self) -> str:
        """How the groups that are measured were found, where the answer says so."""
        return ""

    def choose(self, compiled: Compiled, engine: Engine, source: Source) -> Compiled:
        """The query over the groups that are chosen first; as it is, where none have to be.

        They are released: nothing else leaves this function.
        """
        if self.selection is None:
            return compiled
        return compiled.with_keys(self.selection.choose(compiled, engine, source))

    def kept(self, compiled: Compiled, version: str) -> dict[str, bytes]:
        """What to store of the groups that were chosen."""
        return {} if self.selection is None else kept_keys(compiled, version)

    def too_far(self, compiled: Compiled) -> frozenset[int]:
        """The aggregates whose noise is so large that there is a recipe for that; by number."""
        if compiled.sets:
            return frozenset()  # sums of groups are shown as totals, to the last digit
        limits = (
            min(
                (r.instead_above for r in found.recipes() if r.instead_above is not None),
                default=None,
            )
            for _, found in compiled.aggregates
        )
        return frozenset(
            i for i, limit in enumerate(limits) if limit is not None and self.deviation(i) > limit
        )

    def deviation(self, aggregate: int) -> float:
        """The predicted standard deviation, up to the factor that its recipe leaves out."""
        recipe = self.layout.recipes[aggregate]
        index = {part: i for i, part in enumerate(self.layout.parts)}
        moves = []
        for role, part in recipe.parts.items():
            law = self.laws[index[part]]
            if law is not None:
                step = self.layout.step(index[part])
                moves.append(recipe.weights[role] * step * math.sqrt(law.variance))
        return math.hypot(*moves)


def _scales(law: Measure | None) -> tuple[Fraction, ...]:
    match law:
        case MeasuredQuantiles():
            return (law.choice.scale, *_scales(law.noise))
        case DiscreteGaussian():
            return (law.sigma,)
        case DiscreteLaplace() | ModeSelection():
            return (law.scale,)
    return ()


def laplace_offer(
    compiled: Compiled,
    epsilon: Fraction,
    delta: Fraction | None = None,
    layout: Layout | None = None,
) -> Offer:
    """Split a pure epsilon among the parts, each with discrete Laplace noise.

    Where keys have to be chosen, that takes its share first, and `delta`. The layout does not
    depend on the cost, so whoever tries several may find it once.
    """
    layout = layout or layout_for(compiled, norm=1)
    laws: list[Measure | None] = [None] * len(layout.parts)
    selection, epsilon = _with_selection(compiled, "epsilon", pure_selection, epsilon, delta)
    loss = Loss.none() if selection is None else selection.loss
    for group in layout.together:
        sensitivity, cost = layout.sensitivities[group[0]], epsilon * layout.shares[group[0]]
        if sensitivity.is_zero or sensitivity.l1 is None:
            continue
        part, moved = layout.parts[group[0]], sensitivity.l1
        law: DiscreteLaplace | Choosing
        if isinstance(part, FrequentCell):
            law = _calibrated("epsilon", ModeSelection.for_epsilon, cost, moved)
        elif isinstance(part, RankedCells):
            each, swap = chosen_by(sensitivity, layout.context)
            moved = moved if each.l1 is None else each.l1
            make = partial(
                MeasuredQuantiles.for_epsilon, part.levels, swap=swap, counted=part.counted
            )
            law = _calibrated("epsilon", make, cost, moved)
        else:
            law = _calibrated("epsilon", DiscreteLaplace.for_epsilon, cost, moved)
        for i in group:
            laws[i] = law
        loss = loss + law.loss(moved)  # once: the bound is that of the parts together
    return Offer(layout, tuple(laws), loss, selection)


def gaussian_offer(
    compiled: Compiled,
    rho: Fraction,
    delta: Fraction | None = None,
    layout: Layout | None = None,
) -> Offer:
    """Split a zCDP rho among the parts, each with discrete Gaussian noise; see `laplace_offer`."""
    layout = layout or layout_for(compiled, norm=2)
    laws: list[Measure | None] = [None] * len(layout.parts)
    selection, rho = _with_selection(compiled, "rho", concentrated_selection, rho, delta)
    loss = Loss.none() if selection is None else selection.loss
    for group in layout.together:
        sensitivity, cost = layout.sensitivities[group[0]], rho * layout.shares[group[0]]
        if sensitivity.is_zero:
            continue
        part, moved = layout.parts[group[0]], sensitivity.l2_squared
        law: DiscreteGaussian | Choosing
        if isinstance(part, RankedCells | FrequentCell):
            make: Callable[[Fraction, int], Choosing] = ModeSelection.for_rho
            if isinstance(part, RankedCells):
                each, swap = chosen_by(sensitivity, layout.context)
                moved = each.l2_squared
                make = partial(
                    MeasuredQuantiles.for_rho, part.levels, swap=swap, counted=part.counted
                )
            law = _calibrated("rho", make, cost, moved)
            loss = loss + law.zcdp_loss(moved)
        else:
            law = _calibrated("rho", DiscreteGaussian.for_rho, cost, moved)
            loss = loss + law.loss(moved)  # once, as above
        for i in group:
            laws[i] = law
    return Offer(layout, tuple(laws), loss, selection)


def _with_selection(
    compiled: Compiled,
    name: str,
    make: Callable[[Table, Fraction, Fraction], Selection],
    cost: Fraction,
    delta: Fraction | None,
) -> tuple[Selection | None, Fraction]:
    """How keys are chosen, if they have to be, and what is left for measuring."""
    if not compiled.awaits_keys:
        return None, cost
    if delta is None:
        raise InternalError("keys are chosen without a delta")
    share = SELECTION_SHARE if compiled.aggregates else Fraction(1)
    selection = _calibrated(name, lambda c, d: make(compiled.table, c, d), cost * share, delta)
    return selection, cost * (1 - share)


def _calibrated(name: str, make: Callable[[Fraction, _S], _L], cost: Fraction, size: _S) -> _L:
    """Speak of what the analyst said, not of the scale that it comes to."""
    try:
        return make(cost, size)
    except ParameterError:
        pass
    raise ParameterError(
        f"{name} is too small for this query",
        why="the noise would be larger than the numbers that can report it",
        fix=f"{name}=0.01",
    )


def released(part: Part, law: Measure, exact: Sequence[int], source: Source) -> tuple[int, ...]:
    """What is released of a part instead of its exact integers."""
    if isinstance(law, Law):
        return tuple(law.add(exact, source))
    if isinstance(law, ModeSelection) and isinstance(part, FrequentCell):
        return tuple(law.choose(_by_group(part, exact), source).tolist())
    if isinstance(law, ModeSelection) or not isinstance(part, RankedCells):
        raise InternalError(f"nothing to choose from in a {type(part).__name__}")
    return tuple(law.measure(_by_group(part, exact), part.inside, GRAINS, edges_around, source))


def _by_group(part: GridCounts, exact: Sequence[int]) -> NDArray[np.int64]:
    return np.array(exact, dtype=np.int64).reshape(-1, part.size)


def of_public_rows(part: Part, exact: Sequence[int]) -> tuple[int, ...]:
    """What is released of a part where there is nothing to protect."""
    if isinstance(part, FrequentCell):
        return tuple(_by_group(part, exact).argmax(axis=1).tolist())
    return tuple(exact)


def exact_offer(compiled: Compiled) -> Offer:
    """No noise, no loss: for public tables only."""
    layout = layout_for(compiled, norm=1)
    return Offer(layout, (None,) * len(layout.parts), Loss.none())


def best_offer(compiled: Compiled, share: Share, delta: Fraction | None = None) -> Offer:
    """Of Laplace and Gaussian noise worth the same share of a budget, the one with less error."""
    offers = []
    if share.epsilon > 0:
        offers.append(laplace_offer(compiled, share.epsilon, delta))
    if share.rho > 0:
        offers.append(gaussian_offer(compiled, share.rho, delta))
    return min(offers, key=lambda offer: _log_error(offer, len(compiled.aggregates)))


def _log_error(offer: Offer, aggregates: int) -> float:
    """The logarithms of predicted deviations, added up: comparable whatever the columns' units are.

    The size of the groups that are missing counts like one more column.
    """
    missing = 0.0 if offer.selection is None else math.log(offer.selection.units_for(0.5))
    return missing + sum(math.log(max(offer.deviation(i), 1e-300)) for i in range(aggregates))


def public_values(parts: Sequence[Part], offer: Offer, size: int | None) -> dict[int, int]:
    """Parts that no unit can change, which are therefore known without looking at the data."""
    known = {}
    for i, (part, sensitivity) in enumerate(zip(parts, offer.layout.sensitivities, strict=True)):
        if sensitivity.is_zero and size is not None and not isinstance(part, CodedSum):
            known[i] = size << offer.layout.bits[i]
    return known

"""A measured part as the ledger keeps it: the law of its noise, and its released integers."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dpframe.budget.halving import Swap
from dpframe.errors import InternalError
from dpframe.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    MeasuredQuantiles,
    ModeSelection,
    QuantileSelection,
)
from dpframe.release.noisy import Mixed
from dpframe.release.offer import Measure

_WEIGHT_BITS = 10
"""Several measurements of a part are averaged with weights of this many bits."""


@dataclass(frozen=True, slots=True)
class Found:
    """One part, as the ledger has it: perhaps several measurements, averaged."""

    law: Mixed | Measure
    values: tuple[int, ...]
    bits: int
    derived: bool

    def deviation(self, step: float) -> float:
        """The standard deviation of its noise, in units of value."""
        return math.sqrt(self.law.variance) * step


def encoded(law: Measure, times: int, values: Sequence[int], bits: int, factor: int = 1) -> bytes:
    """What to store of a fresh measurement: `times` draws of a law added up, times a factor."""
    body: dict[str, Any] = {}
    if isinstance(law, MeasuredQuantiles):
        name, scale = "quantiles", law.choice.scale
        body["levels"] = [str(level) for level in law.choice.levels]
        if law.noise is not None:
            counted, deviation = _named(law.noise)
            body["counted"] = [counted, str(deviation)]
        if law.choice.swap is not None:
            body["swap"] = [law.choice.swap.one_group, law.choice.swap.norm]
    elif isinstance(law, ModeSelection):
        name, scale = ("weighed mode" if law.concentrated else "mode"), law.scale
    else:
        name, scale = _named(law)
    body |= {"law": name, "scale": str(scale), "times": times, "bits": bits, "values": values}
    if factor != 1:
        body["factor"] = factor
    return json.dumps(body).encode()


def _named(law: Measure) -> tuple[str, Fraction]:
    """The name of noise that is added, and its scale."""
    if isinstance(law, DiscreteLaplace):
        return "laplace", law.scale
    if isinstance(law, DiscreteGaussian):
        return "gaussian", law.sigma
    raise InternalError("only fresh measurements are stored")


def _law(name: str, scale: Fraction) -> DiscreteLaplace | DiscreteGaussian:
    return DiscreteLaplace(scale) if name == "laplace" else DiscreteGaussian(scale)


def encoded_levels(levels: Sequence[Fraction]) -> bytes:
    """What to store of a quantile that was chosen together with others: which ones."""
    return json.dumps({"law": _AMONG, "levels": [str(level) for level in levels]}).encode()


def levels_of(payload: bytes) -> tuple[Fraction, ...] | None:
    """The levels that a quantile was chosen together with; None for what is stored itself."""
    body = json.loads(payload)
    return tuple(map(Fraction, body["levels"])) if body["law"] == _AMONG else None


_AMONG = "among quantiles"


def decoded(payload: bytes) -> Found:
    """What was stored."""
    body = json.loads(payload)
    scale = Fraction(body["scale"])
    if body["law"] == "quantiles":
        swap = Swap(*body["swap"]) if "swap" in body else None
        choice = QuantileSelection(tuple(map(Fraction, body["levels"])), scale, swap)
        counted = body.get("counted")
        noise = None if counted is None else _law(counted[0], Fraction(counted[1]))
        chosen = MeasuredQuantiles(choice, noise)
        return Found(chosen, tuple(body["values"]), int(body["bits"]), False)
    if body["law"] in ("mode", "weighed mode"):
        mode = ModeSelection(scale, concentrated=body["law"] == "weighed mode")
        return Found(mode, tuple(body["values"]), int(body["bits"]), False)
    law: Law = _law(body["law"], scale)
    times = int(body["times"])
    summed = law if times == 1 else Mixed([(law, body.get("factor", 1), times)])
    return Found(summed, tuple(body["values"]), int(body["bits"]), times > 1)


def combined(found: list[Found]) -> Found | None:
    """Average several measurements by inverse variance; direct ones alone, where there are any.

    Of several choices the most accurate is taken: a mean of positions might be where no row is.
    """
    chosen = [f for f in found if isinstance(f.law, MeasuredQuantiles | ModeSelection)]
    if chosen:
        return min(chosen, key=lambda f: f.law.variance)
    direct = [f for f in found if not f.derived] or found
    if len(direct) <= 1:
        return direct[0] if direct else None
    bits = direct[0].bits
    same_grid = [f for f in direct if f.bits == bits]
    # By the least variance, which is 0 in floats where the noise of a large cost is nearly none.
    variances = [f.law.variance for f in same_grid]
    least = min(variances)
    precision = [1.0 if v == least else least / v for v in variances]
    whole = 1 << _WEIGHT_BITS
    weights = [round(p / sum(precision) * whole) for p in precision]
    weights[weights.index(max(weights))] += whole - sum(weights)
    terms = []
    for f, weight in zip(same_grid, weights, strict=True):
        assert not isinstance(f.law, MeasuredQuantiles | ModeSelection)
        inner = f.law.terms if isinstance(f.law, Mixed) else ((f.law, 1, 1),)
        terms += [(law, w * weight, times) for law, w, times in inner]
    columns = zip(*(f.values for f in same_grid), strict=True)
    values = tuple(sum(w * v for w, v in zip(weights, vs, strict=True)) for vs in columns)
    return Found(Mixed(terms), values, bits + _WEIGHT_BITS, direct[0].derived)

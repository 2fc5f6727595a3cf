"""Partition selection: which keys of a GROUP BY may be shown when the keys are not public.

A key that only one unit holds gives that unit away, so a key is shown only if enough units hold it,
noisily. That takes an additive delta. Three rules, here, in `thresholds` and in `set_union`:

| rule | a unit | also releases |
|---|---|---|
| `TruncatedGeometric` | adds 1 to each of its keys; best if that is one key | nothing |
| `ThresholdedLaplace` | adds integers of bounded L1 norm | the noisy totals |
| `ThresholdedGaussian` | adds weights of bounded L2 norm to many keys | the noisy totals |

A key that no unit holds has total 0 and is never shown. Whoever releases keys sorts them first:
their order in the data may tell more than the keys do.

*Why a delta is enough.* Let D hold one unit more than D'. Of its keys, those that others hold too
are in both tables; call the rest new. Let E be the event that no new key is shown, of probability
at least `1 - delta` on D. Given E, the output on D has the law of a mechanism on the keys of D'
alone, whose totals the unit moves by its bounded contribution: that pair of laws has the plain
loss, in pure epsilon or in zCDP. So D and D' differ by the plain loss but for an event of
probability delta: (epsilon, delta)-DP, and delta-approximate zCDP (Bun and Steinke 2016,
definition 8.1). Where neighbours replace a unit by another, charge `loss.for_group(2)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError
from dpframe.mechanisms.accuracy import allowed_failure, least_cost
from dpframe.mechanisms.cuts import exp_bounds
from dpframe.mechanisms.inputs import private_integers
from dpframe.mechanisms.scales import check_cost, check_count
from dpframe.mechanisms.source import Source

_LEAST_DELTA = Fraction(1, 1 << 200)
_WORD = 1 << 64
_BITS = 192
_LEAST_EPSILON = Fraction(1, 1 << 14)


class PartitionRule(ABC):
    """Decide for each key, by the total of what units add to it, whether it is shown."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """What showing all keys costs, its additive delta included."""

    @abstractmethod
    def keep(self, totals: Sequence[int] | NDArray[Any], source: Source) -> NDArray[np.bool_]:
        """Decide which keys are shown; a total of 0 is a key that nobody holds, and never is."""


@dataclass(frozen=True)
class TruncatedGeometric(PartitionRule):
    """Show a key held by n units with the largest probability that (epsilon, delta) allows.

    Desfontaines, Voss, Gipson and Mandayam 2022. The probabilities begin at 0 for n = 0 and grow
    as fast as the definition lets them,

        p(n) = min(exp(epsilon) p(n-1) + delta, 1 - exp(-epsilon) (1 - p(n-1) - delta), 1),

    which no rule exceeds at any n if a unit holds one key. Here they are integers over 2**64, each
    rounded down after the exact recursion from the last one: so every step keeps both inequalities,
    and one uniform word decides a key. A unit that adds 1 to each of up to `groups` keys takes part
    in that many independent decisions, each with its share of epsilon and delta.

    >>> rule = TruncatedGeometric(Fraction(1), Fraction(1, 10**5))
    >>> float(rule.chance(1)), rule.units_for(0.95), rule.chance(100)
    (9.99...e-06, 14, Fraction(1, 1))
    >>> print(rule.loss)
    epsilon 1, delta 1e-5
    """

    epsilon: Fraction
    delta: Fraction
    groups: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_cost("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_delta(self.delta))
        check_count("groups", self.groups, least=1)
        if not self._step:
            raise ParameterError(
                f"delta over {self.groups} groups is below 2**-64",
                why="each decision is made by one word of bits",
                fix="ThresholdedLaplace takes any delta",
            )
        _ = self._chances

    @property
    def loss(self) -> Loss:
        """(epsilon, delta), with the delta that is left after rounding down."""
        each = self.epsilon / self.groups, Fraction(self._step, _WORD)
        return self.groups * Loss.approximate(*each)

    def keep(self, totals: Sequence[int] | NDArray[Any], source: Source) -> NDArray[np.bool_]:
        """Decide which keys are shown, from the number of units that hold each."""
        held = private_integers(totals, "totals")
        top = len(self._chances)
        units = np.minimum(np.maximum(held, 0), top).astype(np.int64)
        words = source.words(units.size).reshape(units.shape)
        # Past the table the chance is 1; where it is 0, no word is below it.
        shown: NDArray[np.bool_] = words < self._chances.take(units, mode="clip")
        shown |= units == top
        return shown

    def chance(self, units: int) -> Fraction:
        """Return the probability that a key held by this many units is shown."""
        n = check_count("units", units, least=0)
        return Fraction(int(self._chances[n]), _WORD) if n < len(self._chances) else Fraction(1)

    def units_for(self, confidence: float) -> int:
        """Return how many units make a key shown with this confidence."""
        wanted = Fraction(1) - Fraction(allowed_failure(confidence))
        return next(n for n in range(len(self._chances) + 1) if self.chance(n) >= wanted)

    @classmethod
    def for_units(
        cls, units: int, confidence: float, *, delta: Fraction, groups: int = 1
    ) -> TruncatedGeometric:
        """Return the rule of least epsilon that shows a key of this many units with confidence."""
        wanted = Fraction(1) - Fraction(allowed_failure(confidence))
        n = check_count("units", units, least=1)
        cost = least_cost(
            lambda epsilon: (
                epsilon / groups >= _LEAST_EPSILON
                and cls(epsilon, delta, groups).chance(n) >= wanted
            )
        )
        return cls(cost, delta, groups)

    @property
    def _step(self) -> int:
        return self.delta.numerator * _WORD // (self.delta.denominator * self.groups)

    @property
    def _chances(self) -> NDArray[np.uint64]:
        return _chances(self.epsilon / self.groups, self._step)


@lru_cache(maxsize=64)
def _chances(epsilon: Fraction, step: int) -> NDArray[np.uint64]:
    """Return the probabilities below 1, for n = 0, 1, ..., times 2**64, from `step = 2**64 delta`."""
    if epsilon < _LEAST_EPSILON:
        raise ParameterError(
            "epsilon per group is below 2**-14",
            why="the table of probabilities would have over a million entries",
            fix="ThresholdedLaplace takes any epsilon",
        )
    # x is at least exp(-epsilon), so 1/x is at most exp(epsilon): both keep the guarantee.
    one = 1 << _BITS
    _, x = exp_bounds(epsilon.numerator, epsilon.denominator, _BITS)
    chances, p = [], 0
    while p < _WORD:
        chances.append(p)
        left = max(0, _WORD - p - step)
        p = min(p * one // x + step, _WORD - -(-left * x // one))
    table = np.array(chances, dtype=np.uint64)
    table.flags.writeable = False  # it is shared
    return table


def check_delta(value: object) -> Fraction:
    """Return a delta as a fraction."""
    if isinstance(value, Fraction) and _LEAST_DELTA <= value < 1:
        return value
    raise ParameterError(
        f"delta is {value!r}, not a Fraction in [2**-200, 1)"[:120],
        why="it is a probability, counted exactly; without one no key can ever be shown",
        fix="delta=Fraction(1, 10**6)",
    )

"""Running sums of losses: all that a filter needs to know about the past."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction

from dpframe.budget.exact import readable
from dpframe.budget.loss import Loss

_EXACT_BITS = 256
_GRID = 2**128


@dataclass(frozen=True, slots=True)
class Spent:
    """The losses of the releases so far, summed in each definition.

    Sums are exact until their denominator passes 256 bits, then rounded up to multiples of 2^-128,
    so that adding to them costs the same after ten releases as after ten million.

    >>> Spent().plus(Loss.pure(0.1)).plus(Loss.pure(0.2)).epsilon
    Fraction(3, 10)
    """

    epsilon: Fraction | float = Fraction(0)
    """Pure epsilons; `math.inf` once a release had none."""
    rho: Fraction = Fraction(0)
    renyi: Fraction = Fraction(0)
    """Renyi losses at the order of the filter; 0 for filters without one."""
    delta: Fraction = Fraction(0)
    releases: int = 0

    def __repr__(self) -> str:
        sums = [] if isinstance(self.epsilon, float) else [f"epsilon {readable(self.epsilon)}"]
        sums.append(f"rho {readable(self.rho)}")
        sums += [f"delta {readable(self.delta)}"] if self.delta else []
        return f"<Spent on {self.releases} releases: {', '.join(sums)}>"

    def plus(self, loss: Loss, order: Fraction | None = None) -> Spent:
        """Add one release."""
        epsilon = self.epsilon + loss.epsilon
        return Spent(
            math.inf if isinstance(epsilon, float) else _bounded(epsilon),
            _bounded(self.rho + loss.rho),
            _bounded(self.renyi + loss.renyi(order)) if order else self.renyi,
            _bounded(self.delta + loss.delta),
            self.releases + 1,
        )

    def to_json(self) -> str:
        """Write the sums as exact text.

        >>> Spent().plus(Loss.pure("1/3")).to_json() == Spent.from_json(
        ...     Spent().plus(Loss.pure("1/3")).to_json()).to_json()
        True
        """
        sums = [str(self.epsilon), str(self.rho), str(self.renyi), str(self.delta), self.releases]
        return json.dumps(sums, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Spent:
        """Read what `to_json` wrote."""
        epsilon, rho, renyi, delta, releases = json.loads(text)
        return cls(
            math.inf if epsilon == "inf" else Fraction(epsilon),
            Fraction(rho),
            Fraction(renyi),
            Fraction(delta),
            int(releases),
        )


def _bounded(total: Fraction) -> Fraction:
    if total.denominator.bit_length() <= _EXACT_BITS:
        return total
    return Fraction(-(-total.numerator * _GRID // total.denominator), _GRID)

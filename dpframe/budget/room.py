"""What is left of a budget, and what a share of it is worth, in terms an analyst can ask with."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from dpframe.budget.exact import readable


@dataclass(frozen=True, slots=True)
class Room:
    """What one more release may cost: this epsilon *or* this rho, and this delta.

    `epsilon` is for any pure mechanism (Laplace noise, selection), `rho` for any zCDP one (Gaussian
    noise). Each is admitted; both are rounded down where they are not rational.
    """

    epsilon: Fraction
    rho: Fraction
    delta: Fraction

    def __bool__(self) -> bool:
        return self.epsilon > 0 or self.rho > 0

    def __str__(self) -> str:
        parts = [("epsilon", self.epsilon), ("rho", self.rho)]
        main = " or ".join(f"{name} {readable(part, up=False)}" for name, part in parts if part > 0)
        delta = f", delta {readable(self.delta, up=False)}" if self.delta > 0 else ""
        return (main or "nothing") + delta

    def __repr__(self) -> str:
        return f"<Room {self}>"


@dataclass(frozen=True, slots=True)
class Share:
    """What a share of the whole budget is worth to a release.

    Releases whose shares add up to 1 or less are all admitted, in any order and any mix of pure
    releases at `epsilon` and Gaussian ones at `rho`. `pure_epsilon` is the share of the budget's
    own epsilon: those add up among pure releases alone.
    """

    epsilon: Fraction
    rho: Fraction
    delta: Fraction
    pure_epsilon: Fraction

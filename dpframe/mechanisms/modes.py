"""The most frequent of several cells, chosen in every group by itself.

Scores are the counts of a group's cells. One more unit raises some of them and lowers none, by d[k]
in group k, in L1 and so at the most in each cell. Noise of one scale in all groups then costs
`d[k] / scale` in group k by permute-and-flip (McKenna and Sheldon 2020; monotone scores), and by the
exponential mechanism too, which as zCDP costs `(d[k] / scale)**2 / 8`: its loss lies in an interval
as long as scores move apart, over the scale (Cesar and Rogers 2021). Groups are independent, so
their costs add up to `sum d[k] / scale <= l1 / scale` and `sum d[k]**2 / (8 scale**2) <= l2_squared /
(8 scale**2)`. A unit that is replaced is one removed and one added: the first bound holds with the
sum of both, and scores move apart by no more than the L1 distance, which gives the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from dpframe.budget.loss import Loss
from dpframe.mechanisms.lanes import Integers
from dpframe.mechanisms.scales import check_cost, check_count, check_scale, round_scale_up, sqrt_up
from dpframe.mechanisms.selection import ExponentialMechanism, PermuteAndFlip, Selection
from dpframe.mechanisms.source import Source


@dataclass(frozen=True)
class ModeSelection:
    """Choose a frequent cell of every group; counts are not released.

    With a pure cost it is permute-and-flip, with zCDP (`concentrated`) the exponential mechanism.

    >>> mode = ModeSelection.for_epsilon(Fraction(1, 10), l1=1)
    >>> print(mode.scale, mode.loss(l1=1), mode.error(0.95, cells=3, groups=1))
    10 epsilon 0.1 29
    """

    scale: Fraction
    concentrated: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", check_scale("scale", self.scale))

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, l1: int) -> ModeSelection:
        """Return the most accurate selection whose `loss` is at most `epsilon`."""
        moved = Fraction(check_count("l1", l1, least=1))
        return cls(round_scale_up("scale", moved / check_cost("epsilon", epsilon)))

    @classmethod
    def for_rho(cls, rho: Fraction, l2_squared: int) -> ModeSelection:
        """Return the most accurate selection whose `zcdp_loss` is at most `rho`."""
        moved = Fraction(check_count("l2_squared", l2_squared, least=1))
        scale = sqrt_up(moved / (8 * check_cost("rho", rho)))
        return cls(round_scale_up("scale", scale), concentrated=True)

    def loss(self, l1: int) -> Loss:
        """What it costs as a pure epsilon, where cells move by at most `l1`."""
        return Loss.pure(l1 / self.scale)

    def zcdp_loss(self, l2_squared: int) -> Loss:
        """What the exponential mechanism costs as zCDP, with this L2 norm of the groups' L1 norms.

        Charge either this or `loss`, not both.
        """
        return Loss.zcdp(l2_squared / (8 * self.scale**2))

    @property
    def variance(self) -> float:
        """The size of the noise that the choice amounts to, for comparing offers."""
        return 2 * float(self.scale) ** 2

    @property
    def name(self) -> str:
        """What it is called."""
        return "exponential mechanism" if self.concentrated else "permute-and-flip"

    def error(self, confidence: float, cells: int, groups: int) -> int:
        """How far the chosen counts may be below the largest ones, in all groups together."""
        return self._mechanism.error(confidence, cells, groups)

    def choose(self, counts: NDArray[Any], source: Source) -> Integers:
        """Return the chosen column of each row of counts."""
        return self._mechanism.select_each(counts, source)

    @property
    def _mechanism(self) -> Selection:
        kind = ExponentialMechanism if self.concentrated else PermuteAndFlip
        return kind(1 / self.scale, sensitivity=1, monotone=True)

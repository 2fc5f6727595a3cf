"""Quantiles by private selection, and then noisy counts of the rows around them.

A position that was chosen says nothing of how far off it may be. The counts do: how many rows lie
below an edge, less the share that should. That is where error bars come from. Who wants none may
leave the counts out: then choosing has the whole cost, and there is no noise.

*Why it is private.* First the positions are chosen (`QuantileSelection`). The edges are a function of
the chosen positions and of public things, so given these, the counts of group k are a histogram of
its rows in fixed cells that share no row. Where the cells of the grid change by d[k] in L1, cells
that are added up from them change by at most d[k] in L1, and so by at most d[k] in L2, because a sum
of squares is at most the square of the sum. However many there are, discrete Laplace noise on all of
them costs at most `sum d[k] / scale <= l1 / scale`, and discrete Gaussian noise at most
`sum d[k]**2 / (2 sigma**2) <= l2_squared / (2 sigma**2)` of zCDP. Choosing and counting compose,
adaptively: the losses add up. Where a unit is replaced, cells lose and gain at most `l1` each: together
at most twice that in L1. In L2 the square of their difference is at most the sum of both squares,
because neither is negative, and so at most twice `l2_squared`. Between two edges that are the same there is no row, whatever the
data, so that needs no noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpframe.budget.halving import COUNTED, Swap
from dpframe.budget.loss import Loss
from dpframe.errors import InternalError
from dpframe.mechanisms.gaussian import DiscreteGaussian
from dpframe.mechanisms.inputs import private_integers
from dpframe.mechanisms.lanes import Integers
from dpframe.mechanisms.laplace import DiscreteLaplace
from dpframe.mechanisms.quantiles import QuantileSelection
from dpframe.mechanisms.scales import check_cost
from dpframe.mechanisms.source import Source


@dataclass(frozen=True)
class MeasuredQuantiles:
    """Choose the positions of quantiles, then count the rows in cells around them, with noise.

    The module says why it is private; `loss` and `zcdp_loss` are recomputed from the scales.

    >>> middle = MeasuredQuantiles.for_epsilon((Fraction(1, 2),), Fraction(1), l1=1)
    >>> print(middle.choice.scale, middle.noise.scale, middle.loss(l1=1))
    4/3 4 epsilon 1
    >>> bare = MeasuredQuantiles.for_epsilon((Fraction(1, 2),), Fraction(1), l1=1, counted=False)
    >>> print(bare.choice.scale, bare.noise, bare.loss(l1=1))
    1 None epsilon 1
    """

    choice: QuantileSelection
    noise: DiscreteLaplace | DiscreteGaussian | None
    """That of the counts; None where nothing is counted."""

    @classmethod
    def for_epsilon(
        cls,
        levels: tuple[Fraction, ...],
        epsilon: Fraction,
        l1: int,
        swap: Swap | None = None,
        *,
        counted: bool = True,
    ) -> MeasuredQuantiles:
        """Return the most accurate one whose `loss` is at most `epsilon`."""
        if not counted:
            return cls(QuantileSelection.for_epsilon(levels, epsilon, l1, swap), None)
        counting = check_cost("epsilon", epsilon) * COUNTED
        choice = QuantileSelection.for_epsilon(levels, epsilon - counting, l1, swap)
        return cls(choice, DiscreteLaplace.for_epsilon(counting, _moved(l1, swap)))

    @classmethod
    def for_rho(
        cls,
        levels: tuple[Fraction, ...],
        rho: Fraction,
        l2_squared: int,
        swap: Swap | None = None,
        *,
        counted: bool = True,
    ) -> MeasuredQuantiles:
        """Return the most accurate one whose `zcdp_loss` is at most `rho`."""
        if not counted:
            return cls(QuantileSelection.for_rho(levels, rho, l2_squared, swap), None)
        counting = check_cost("rho", rho) * COUNTED
        choice = QuantileSelection.for_rho(levels, rho - counting, l2_squared, swap)
        return cls(choice, DiscreteGaussian.for_rho(counting, _moved(l2_squared, swap)))

    @property
    def name(self) -> str:
        """What it is called."""
        return self.choice.name

    def loss(self, l1: int) -> Loss:
        """What it costs as a pure epsilon, where cells move by at most `l1`."""
        if self.noise is None:
            return self.choice.loss(l1)
        if not isinstance(self.noise, DiscreteLaplace):
            raise InternalError("Gaussian noise is charged as zCDP")
        return self.choice.loss(l1) + self.noise.loss(_moved(l1, self.choice.swap))

    def zcdp_loss(self, l2_squared: int) -> Loss:
        """What it costs as zCDP, where the L1 norms of the groups have at most this L2 norm."""
        if self.noise is None:
            return self.choice.zcdp_loss(l2_squared)
        if not isinstance(self.noise, DiscreteGaussian):
            raise InternalError("Laplace noise is charged as a pure loss")
        moved = _moved(l2_squared, self.choice.swap)
        return self.choice.zcdp_loss(l2_squared) + self.noise.loss(moved)

    @property
    def variance(self) -> float:
        """The variance of the rank of a median where rows lie evenly; counts do not move it."""
        return self.choice.variance

    def measure(
        self,
        counts: NDArray[Any],
        cells: int,
        grains: int,
        edges_around: Callable[[Integers, int], Integers],
        source: Source,
    ) -> list[int]:
        """Return, for each row of counts, the chosen positions, the edges, and what is between.

        Without noise for the counts, the positions are all. `edges_around` makes edges of the cells
        that the positions lie in, from 0 to `cells`.
        """
        rows = private_integers(counts, "counts")[:, :cells]
        positions = self.choice.choose(rows, cells, grains, source)
        if self.noise is None:
            chosen: list[int] = positions.ravel().tolist()
            return chosen
        edges = edges_around(positions // grains, cells)
        between = rows_between(rows, edges).astype(object)
        some = np.diff(edges, axis=1) > 0
        between[some] = self.noise.add(between[some].tolist(), source)
        released: list[int] = np.concatenate([positions, edges, between], axis=1).ravel().tolist()
        return released


def _moved(one: int, swap: Swap | None) -> int:
    """The bound for what is counted: a unit that is replaced leaves cells, and enters others."""
    return one if swap is None else 2 * one


def rows_between(counts: NDArray[Any], edges: Integers) -> NDArray[Any]:
    """The counts of a row added up between each of its edges and the next.

    >>> rows_between(np.array([[3, 1, 4, 1]]), np.array([[0, 2, 3, 3, 4]])).tolist()
    [[4, 4, 0, 1]]
    """
    below = np.zeros((len(counts), counts.shape[1] + 1), dtype=counts.dtype)
    np.cumsum(counts, axis=1, out=below[:, 1:])
    found: NDArray[Any] = np.diff(np.take_along_axis(below, edges, axis=1), axis=1)
    return found

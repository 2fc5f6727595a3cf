"""How a query's budget is split among its parts: by formula, for the least total error.

Laplace noise with a share f of epsilon has variance proportional to w / f^2 (w the squared size of
the part's noise at the whole budget); Gaussian noise with a share f of rho, to w / f. Lagrange
multipliers give shares proportional to w^(1/3) and w^(1/2). The split concerns accuracy alone:
whatever it is, the losses of the parts add up to the cost of the query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

_POWER = {1: 1 / 3, 2: 1 / 2}
_GRAIN = 2**20


def shares(weights: Sequence[float], norm: int) -> tuple[Fraction, ...]:
    """Exact shares that add up to 1; a part with no noise (weight 0) needs none.

    >>> shares([1.0, 1.0], norm=1)
    (Fraction(1, 2), Fraction(1, 2))
    >>> [round(float(share), 3) for share in shares([8.0, 1.0, 0.0], norm=1)]
    [0.667, 0.333, 0.0]
    """
    raw = [w ** _POWER[norm] for w in weights]
    total = sum(raw)
    grains = [max(1, round(r / total * _GRAIN)) if r > 0 else 0 for r in raw]
    whole = sum(grains) or 1
    return tuple(Fraction(grain, whole) for grain in grains)


def predicted_error(weights: Mapping[Any, float], norm: int) -> float:
    """The total squared error, at unit budget, of the best split."""
    power = _POWER[norm]
    return float(sum(w**power for w in weights.values()) ** (1 / power))

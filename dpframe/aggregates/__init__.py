"""Each aggregate as exact integer parts, and how to finish from noisy ones."""

from dpframe.aggregates import (
    association,
    count,
    geometric,
    mean,
    mode,
    quantile,
    spread,
    sum,
    weighted,
)
from dpframe.aggregates.base import AGGREGATES, Aggregate, Recipe, Scope

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "Recipe",
    "Scope",
    "association",
    "count",
    "geometric",
    "mean",
    "mode",
    "quantile",
    "spread",
    "sum",
    "weighted",
]

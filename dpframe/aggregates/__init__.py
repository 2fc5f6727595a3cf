"""Each aggregate as exact integer parts, and how to finish from noisy ones."""

from dpframe.aggregates import association, count, mean, mode, quantile, spread, sum
from dpframe.aggregates.base import AGGREGATES, Aggregate, Recipe, Scope

__all__ = [
    "AGGREGATES",
    "Aggregate",
    "Recipe",
    "Scope",
    "association",
    "count",
    "mean",
    "mode",
    "quantile",
    "spread",
    "sum",
]

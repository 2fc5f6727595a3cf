"""Exact discrete noise and private selection."""

from dpframe.mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from dpframe.mechanisms.exponential import LazyExponential
from dpframe.mechanisms.gaussian import DiscreteGaussian
from dpframe.mechanisms.lanes import LazyExponentials
from dpframe.mechanisms.laplace import DiscreteLaplace
from dpframe.mechanisms.law import Law
from dpframe.mechanisms.source import Source

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Law",
    "LazyExponential",
    "LazyExponentials",
    "Source",
    "bernoulli",
    "bernoulli_exp",
    "uniform_below",
]

"""Exact discrete noise and private selection."""

from dpframe.mechanisms.accuracy import rows_for_mean
from dpframe.mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from dpframe.mechanisms.exponential import LazyExponential
from dpframe.mechanisms.gaussian import DiscreteGaussian
from dpframe.mechanisms.lanes import LazyExponentials
from dpframe.mechanisms.laplace import DiscreteLaplace
from dpframe.mechanisms.law import Law
from dpframe.mechanisms.measured_quantiles import MeasuredQuantiles
from dpframe.mechanisms.modes import ModeSelection
from dpframe.mechanisms.noisy_max import NoisyMax
from dpframe.mechanisms.partitions import PartitionRule, TruncatedGeometric
from dpframe.mechanisms.quantiles import QuantileSelection
from dpframe.mechanisms.randomized_response import RandomizedResponse
from dpframe.mechanisms.selection import ExponentialMechanism, PermuteAndFlip, Selection
from dpframe.mechanisms.set_union import ThresholdedGaussian
from dpframe.mechanisms.source import Source
from dpframe.mechanisms.sparse_vector import AboveThreshold, NumericSparse
from dpframe.mechanisms.thresholds import ThresholdedLaplace
from dpframe.mechanisms.top_k import PeeledTopK, TopK

__all__ = [
    "AboveThreshold",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "ExponentialMechanism",
    "Law",
    "LazyExponential",
    "LazyExponentials",
    "MeasuredQuantiles",
    "ModeSelection",
    "NoisyMax",
    "NumericSparse",
    "PartitionRule",
    "PeeledTopK",
    "PermuteAndFlip",
    "QuantileSelection",
    "RandomizedResponse",
    "Selection",
    "Source",
    "ThresholdedGaussian",
    "ThresholdedLaplace",
    "TopK",
    "TruncatedGeometric",
    "bernoulli",
    "bernoulli_exp",
    "rows_for_mean",
    "uniform_below",
]

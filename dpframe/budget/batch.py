"""The tightest account of a batch that is fixed up front, by Google's dp-accounting.

A privacy loss distribution (PLD) composes mechanisms exactly, up to a grid that is rounded
pessimistically. It is valid only if all parameters were chosen before the first answer: a filter
that tracked whole distributions would not be valid under adaptive choice. So this is for planning
a batch, and nothing here is charged to a ledger. It computes in floating point.

A scalar is one integer that moves by at most `sensitivity`. Vectors whose norm is bounded have no
single PLD in this library: describe them by their `Loss`, whose (epsilon, delta) is a sound
stand-in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from importlib import import_module
from types import ModuleType
from typing import Any

from dpframe.budget.exact import Number, positive
from dpframe.budget.loss import Loss
from dpframe.errors import ParameterError


@dataclass(frozen=True, slots=True)
class ScalarLaplace:
    """So many integers, each with fresh discrete Laplace noise."""

    scale: Fraction
    sensitivity: int = 1
    times: int = 1


@dataclass(frozen=True, slots=True)
class ScalarGaussian:
    """So many integers, each with fresh discrete Gaussian noise."""

    sigma: Fraction
    sensitivity: int = 1
    times: int = 1


def batch_epsilon(
    releases: Iterable[ScalarLaplace | ScalarGaussian | Loss], *, delta: Number
) -> float:
    """Give the epsilon at this delta of releases that were all fixed up front.

    >>> batch_epsilon([ScalarGaussian(Fraction(45), times=100)], delta=1e-6)
    0.93...
    """
    chance = positive(delta, "delta")
    if chance >= 1:
        raise ParameterError(f"delta is {delta}", why="it lies in (0, 1)", fix="delta=1e-6")
    accounting = _dp_accounting()
    composed: Any = accounting.identity()
    for release in releases:
        match release:
            case ScalarLaplace(scale, sensitivity, times):
                one = accounting.from_discrete_laplace_mechanism(
                    float(1 / scale), sensitivity, use_connect_dots=True
                )
                composed = composed.compose(one.self_compose(times))
            case ScalarGaussian(sigma, sensitivity, times):
                one = accounting.from_discrete_gaussian_mechanism(
                    float(sigma), sensitivity, use_connect_dots=True
                )
                composed = composed.compose(one.self_compose(times))
            case Loss():
                composed = _compose_loss(accounting, composed, release)
    return float(composed.get_epsilon_for_delta(float(chance)))


def _compose_loss(accounting: ModuleType, composed: Any, loss: Loss) -> Any:
    if loss.concentrated:
        raise ParameterError(
            f"{loss!r} has no pure epsilon",
            why="a zCDP bound alone has no privacy loss distribution",
            fix="ScalarGaussian(sigma, sensitivity, times)",
        )
    for term, count in loss.terms:
        parameters = accounting.common.DifferentialPrivacyParameters(
            float(term.epsilon), float(term.delta)
        )
        one = accounting.from_privacy_parameters(parameters)
        composed = composed.compose(one.self_compose(count))
    return composed


def _dp_accounting() -> ModuleType:
    try:
        return import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        pass  # raised below, outside the handler
    raise ParameterError(
        "dp-accounting is not installed",
        why="privacy loss distributions are composed by it",
        fix='pip install "dpframe[accounting]"',
    )

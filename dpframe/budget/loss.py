"""What a release costs: a privacy loss that composes, exact or rounded up.

A `Loss` is a list of the mechanisms that ran, not one number, because each budget reads it in its
own definition: pure `epsilon`, `rho` of zero-concentrated DP, the Renyi loss at one order, and an
additive `delta`. Mechanisms run on adaptively chosen queries compose by adding up, in each of
these definitions (Dwork et al. 2006; Bun and Steinke 2016; Mironov 2017). What each mechanism
costs, and why, is in `budget.terms`.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from dpframe.budget.exact import Number, exact, positive, readable
from dpframe.budget.terms import Bounded, Laplace, Term, renyi_of, rho_of
from dpframe.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Loss:
    """What a release costs, in every definition that a budget may be stated in.

    Build one with `Loss.laplace`, `Loss.gaussian`, `Loss.pure`, `Loss.zcdp`, `Loss.approximate` or
    `Loss.none`; add them up with `+`, repeat one with `*`.

    >>> count = Loss.laplace(scale=Fraction(10), l1_sensitivity=1)
    >>> print(count, "|", 2 * count, "|", count.for_group(3))
    epsilon 0.1 | epsilon 0.2 | epsilon 0.3
    >>> print(count + Loss.gaussian(sigma=Fraction(10), l2_squared_sensitivity=2))
    rho 0.015
    >>> print(count + Loss.approximate("0.1", "1e-6"))
    epsilon 0.2, delta 1e-6
    """

    terms: tuple[tuple[Term, int], ...] = ()
    """Mechanisms with a pure epsilon, each with how often it ran; sorted, without repeats."""

    concentrated: Fraction = Fraction(0)
    """The zCDP loss of all other mechanisms, which have no pure epsilon."""

    def __post_init__(self) -> None:
        # A negative loss would be a refund.
        if self.concentrated < 0 or any(count < 1 for _, count in self.terms):
            raise ParameterError(
                "a loss below 0",
                why="a release cannot give privacy back",
                fix="Loss.none() is the least loss",
            )

    @classmethod
    def none(cls) -> Loss:
        """Nothing: the answer does not depend on the private rows."""
        return cls()

    @classmethod
    def laplace(cls, *, scale: Fraction, l1_sensitivity: int) -> Loss:
        """Discrete Laplace noise on integers that one unit moves by at most this L1 norm."""
        scale = positive(scale, "scale")
        return cls._of([(Laplace(scale, _steps(l1_sensitivity, "l1_sensitivity")), 1)])

    @classmethod
    def gaussian(cls, *, sigma: Fraction, l2_squared_sensitivity: int) -> Loss:
        """Discrete Gaussian noise on integers; the *square* of the L2 norm is an integer."""
        moved = _steps(l2_squared_sensitivity, "l2_squared_sensitivity")
        return cls(concentrated=moved / (2 * positive(sigma, "sigma") ** 2))

    @classmethod
    def pure(cls, epsilon: Number) -> Loss:
        """Any mechanism that is epsilon-differentially private."""
        return cls._of([(Bounded(positive(epsilon, "epsilon"), Fraction(0)), 1)])

    @classmethod
    def zcdp(cls, rho: Number) -> Loss:
        """Any mechanism that is rho-zCDP."""
        return cls(concentrated=positive(rho, "rho"))

    @classmethod
    def approximate(cls, epsilon: Number, delta: Number) -> Loss:
        """Any mechanism that is (epsilon, delta)-differentially private; epsilon may be 0."""
        return cls._of([(Bounded(exact(epsilon, "epsilon"), positive(delta, "delta")), 1)])

    @property
    def epsilon(self) -> Fraction | float:
        """The pure epsilon (next to `delta`), or `math.inf` if there is none."""
        if self.concentrated:
            return math.inf
        return sum((count * term.epsilon for term, count in self.terms), Fraction(0))

    @property
    def delta(self) -> Fraction:
        """The sum of the mechanisms' own deltas."""
        return sum((count * term.delta for term, count in self.terms), Fraction(0))

    @property
    def rho(self) -> Fraction:
        """The zCDP loss (next to `delta`), rounded up where it is not rational."""
        return sum((count * rho_of(term) for term, count in self.terms), self.concentrated)

    def renyi(self, order: Fraction) -> Fraction:
        """Give the Renyi loss (next to `delta`) at an order above 1, rounded up."""
        if order <= 1:
            raise ParameterError(
                f"the Renyi order is {order}", why="it has to be above 1", fix="order=Fraction(2)"
            )
        return sum(
            (count * renyi_of(term, order) for term, count in self.terms), order * self.concentrated
        )

    def for_group(self, k: int) -> Loss:
        """Give the loss that protects any k units together.

        Pure epsilon grows k-fold, rho by k squared (Bun and Steinke 2016, proposition 1.9).
        """
        if k < 1:
            raise ParameterError(
                f"a group of {k} units", why="a group has one unit or more", fix="loss.for_group(2)"
            )
        return self._of(
            ((term.for_group(k), count) for term, count in self.terms), k * k * self.concentrated
        )

    def __add__(self, other: Loss) -> Loss:
        if not isinstance(other, Loss):
            return NotImplemented
        return self._of([*self.terms, *other.terms], self.concentrated + other.concentrated)

    def __mul__(self, times: int) -> Loss:
        if not isinstance(times, int) or times < 0:
            return NotImplemented
        return self._of(
            ((term, times * count) for term, count in self.terms), times * self.concentrated
        )

    __rmul__ = __mul__

    def __str__(self) -> str:
        if self == Loss.none():
            return "nothing"
        main = (
            f"rho {readable(self.rho)}"
            if self.concentrated
            else f"epsilon {readable(self.epsilon)}"
        )
        return f"{main}, delta {readable(self.delta)}" if self.delta else main

    def __repr__(self) -> str:
        return f"<Loss {self}>"

    def to_json(self) -> str:
        """Write the loss as exact text.

        >>> Loss.laplace(scale=Fraction(5, 2), l1_sensitivity=1).to_json()
        '{"laplace":[["5/2",1,1]]}'
        """
        laplace = [[str(t.scale), t.moved, n] for t, n in self.terms if isinstance(t, Laplace)]
        bounded = [
            [str(t.epsilon), str(t.delta), n] for t, n in self.terms if isinstance(t, Bounded)
        ]
        rho = str(self.concentrated) if self.concentrated else ""
        fields = {"laplace": laplace, "bounded": bounded, "rho": rho}
        return json.dumps({k: v for k, v in fields.items() if v}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Loss:
        """Read what `to_json` wrote."""
        fields = json.loads(text)
        terms: list[tuple[Term, int]] = [
            (Laplace(Fraction(scale), moved), count)
            for scale, moved, count in fields.pop("laplace", [])
        ]
        terms += [
            (Bounded(Fraction(epsilon), Fraction(delta)), count)
            for epsilon, delta, count in fields.pop("bounded", [])
        ]
        loss = cls._of(terms, Fraction(fields.pop("rho", 0)))
        if fields or loss.to_json() != text:
            raise ValueError("not the text of a loss")
        return loss

    @classmethod
    def _of(cls, terms: Iterable[tuple[Term, int]], concentrated: Fraction = Fraction(0)) -> Loss:
        counts: Counter[Term] = Counter()
        for term, count in terms:
            if count and (term.epsilon or term.delta):
                counts[term] += count
        ordered = sorted(counts.items(), key=lambda item: (type(item[0]).__name__, item[0]))
        return cls(tuple(ordered), concentrated)


def _steps(value: int, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ParameterError(
            f"{name} is {value!r}",
            why="noise is added to integers, which move by an integer of 0 or more",
            fix=f"{name}=1",
        )
    return value

"""Mechanisms with a pure epsilon, and what each costs in the other definitions, with the proofs.

What each mechanism costs at Renyi order `a > 1`:

- *Any pure epsilon mechanism.* Its pair of output laws on two neighbours is a post-processing of
  randomized response (Kairouz, Oh and Viswanath 2015), for which
  `D_a = log(cosh(epsilon (a - 1/2)) / cosh(epsilon / 2)) / (a - 1)`.
  Hence `rho = epsilon tanh(epsilon / 2)`: put `u = (a - 1/2)^2`. The function
  `h(u) = log cosh(epsilon sqrt(u))` is concave, since `h'(u)` is `epsilon^2 / 2` times
  `tanh(y) / y` at `y = epsilon sqrt(u)`, which decreases. So
  `(a - 1) D_a = h(u) - h(1/4) <= (u - 1/4) h'(1/4) = a (a - 1) epsilon tanh(epsilon / 2)`.
- *Discrete Laplace of scale `b`, moved by an integer `s`.* With `q = exp(-1/b)` and
  `t = q^(2a-1)`, summing three geometric series gives `D_a = log(M(s)) / (a - 1)`,
  `M(s) = ((1 - q t) exp((a-1) s/b) + (q - t) exp(-a s/b)) / ((1 + q) (1 - t))`.
  Both coefficients are positive, so `log M` is convex in `s`; it is 0 at 0 and never negative, so
  it is superadditive and grows. A vector moved by at most `s` in L1 norm therefore loses the most
  when one coordinate takes the whole move: the formula holds for vectors.
  Its `rho` is `D_1 = (s - 2 q (1 - q^s) / (1 - q^2)) / b`, which lies below `epsilon
  tanh(epsilon / 2)`, and no smaller one will do (Harrison and Manurangsi 2026 prove the like). With
  `y = (a - 1/2) / b`, M is a constant times
  `(sinh((s+1) y) - q sinh((s-1) y)) / sinh(y) = U_s(c) - q U_{s-2}(c)`, `c = cosh(y)`: a polynomial
  in c, even or odd. At c = cos(x) it is `(sin((s+1) x) - q sin((s-1) x)) / sin(x)`, which changes
  sign s times in (0, pi), because `sin((s+1) x)` is -1 and 1 in turn at s + 1 points there. So its
  s roots are some `+-cos(x_i)` (and 0 for odd s), and M is a product of `cosh(y)^2 - cos(x_i)^2`
  (and cosh(y)). Each factor is `const prod_k (1 + y^2 / (x_i + pi k)^2)` over all integers k, whose
  logarithm is concave in `y^2`. So `h(u) = log M` is concave in `u = (a - 1/2)^2`, and as above
  `(a - 1) D_a = h(u) - h(1/4) <= a (a - 1) h'(1/4)`, where `h'(1/4) = D_1`.
- *Discrete Gaussian, moved by at most `s` in L2 norm.* `D_a <= a s^2 / (2 sigma^2)` (Canonne,
  Kamath and Steinke 2020, theorem 4 and its multivariate form): zCDP with exactly that `rho`.
- *(epsilon, delta) mechanisms.* Each pair of laws is, but for an event of probability `delta`
  under both, a pure epsilon pair (Kairouz et al.): pure epsilon, and `delta` adds up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpframe.budget.enclosure import Enclosure, round_up
from dpframe.budget.exact import readable
from dpframe.errors import ParameterError

_LARGEST_EXPONENT = 10**6
"""Past it `D_a` and `rho` are within about one part in 10^6 of `epsilon`, which bounds both."""


@dataclass(frozen=True, slots=True, order=True)
class Laplace:
    """Discrete Laplace noise of this scale on integers that one unit moves by `moved` in L1."""

    scale: Fraction
    moved: int

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.moved < 0:
            raise ParameterError(
                f"Laplace noise of scale {self.scale} on integers that move by {self.moved}",
                why="the scale has to be above 0, and the move 0 or more",
                fix="Loss.laplace(scale=Fraction(10), l1_sensitivity=1)",
            )

    @property
    def epsilon(self) -> Fraction:
        """Exactly `moved / scale`."""
        return self.moved / self.scale

    @property
    def delta(self) -> Fraction:
        """None."""
        return Fraction(0)

    def for_group(self, k: int) -> Laplace:
        """Give the loss for k units: together they move the integers k times as far."""
        return Laplace(self.scale, k * self.moved)

    def moment(self, order: Fraction, digits: int) -> Enclosure:
        """Enclose `exp((order - 1) D_order)`, as in the module docstring."""
        one = Enclosure.of(1, digits)
        q = Enclosure.of(-1 / self.scale, digits).exp()
        t = Enclosure.of((1 - 2 * order) / self.scale, digits).exp()
        away = Enclosure.of((order - 1) * self.epsilon, digits).exp()
        back = Enclosure.of(-order * self.epsilon, digits).exp()
        return ((one - q * t) * away + (q - t) * back) / ((one + q) * (one - t))

    def mean(self, digits: int) -> Enclosure:
        """Enclose the mean privacy loss `D_1`."""
        one, b = Enclosure.of(1, digits), Enclosure.of(self.scale, digits)
        q = Enclosure.of(-1 / self.scale, digits).exp()
        q_to_s = Enclosure.of(-self.epsilon, digits).exp()
        back = Enclosure.of(2, digits) * q * (one - q_to_s) / (one - q * q)
        return (Enclosure.of(self.moved, digits) - back) / b


@dataclass(frozen=True, slots=True, order=True)
class Bounded:
    """Any mechanism known only by its `(epsilon, delta)`."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        if self.epsilon < 0 or not 0 <= self.delta <= 1:
            raise ParameterError(
                f"({readable(self.epsilon)}, {readable(self.delta)}) is no privacy loss",
                why="epsilon has to be 0 or more, and delta between 0 and 1",
                fix="Loss.approximate(0.1, 1e-9)",
            )

    def for_group(self, k: int) -> Bounded:
        """Give `(k epsilon, (1 + e^epsilon + ... + e^((k-1) epsilon)) delta)`.

        P(S) <= e^epsilon P'(S) + delta, applied k times along a path of neighbours.
        """
        return Bounded(k * self.epsilon, _group_delta(self, k))

    def moment(self, order: Fraction, digits: int) -> Enclosure:
        """Enclose `exp((order - 1) D_order)` of randomized response, the worst case."""
        far, near = (order - Fraction(1, 2)) * self.epsilon, self.epsilon / 2
        return _cosh_doubled(far, digits) / _cosh_doubled(near, digits)

    def mean(self, digits: int) -> Enclosure:
        """Enclose the mean privacy loss `epsilon tanh(epsilon / 2)` of randomized response."""
        one, e = Enclosure.of(1, digits), Enclosure.of(self.epsilon, digits)
        return e * (e.exp() - one) / (e.exp() + one)


Term = Laplace | Bounded


@lru_cache(maxsize=4096)
def renyi_of(term: Term, order: Fraction) -> Fraction:
    """Give the Renyi loss of one mechanism at this order, rounded up."""
    if not term.epsilon or order * term.epsilon > _LARGEST_EXPONENT:
        return term.epsilon

    def divergence(digits: int) -> Enclosure:
        return term.moment(order, digits).log() / Enclosure.of(order - 1, digits)

    return min(term.epsilon, max(Fraction(0), round_up(divergence)))


@lru_cache(maxsize=4096)
def rho_of(term: Term) -> Fraction:
    """Give the zCDP loss of one mechanism, which is its mean privacy loss, rounded up."""
    if not term.epsilon or term.epsilon > _LARGEST_EXPONENT:
        return term.epsilon
    return min(term.epsilon, max(Fraction(0), round_up(term.mean)))


def _group_delta(term: Bounded, k: int) -> Fraction:
    if not term.delta or not term.epsilon:
        return min(Fraction(1), k * term.delta)
    if k * term.epsilon > _LARGEST_EXPONENT:
        return Fraction(1)

    def geometric_sum(digits: int) -> Enclosure:
        one, e = Enclosure.of(1, digits), Enclosure.of(term.epsilon, digits)
        every = (Enclosure.of(k * term.epsilon, digits).exp() - one) / (e.exp() - one)
        return Enclosure.of(term.delta, digits) * every

    return min(Fraction(1), round_up(geometric_sum))


def _cosh_doubled(value: Fraction, digits: int) -> Enclosure:
    return Enclosure.of(value, digits).exp() + Enclosure.of(-value, digits).exp()

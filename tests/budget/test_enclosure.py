"""Enclosures hold, checked against series of exact fractions (no decimal, no float)."""

from decimal import Decimal, Inexact, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpframe.budget.enclosure import Enclosure, round_up

small = st.fractions(min_value=-30, max_value=30, max_denominator=10**6)
positive = st.fractions(min_value=Fraction(1, 10**6), max_value=10**6, max_denominator=10**6)


def exp_between(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound e^x by its series at x / 2^k, whose tail is below twice its first missing term."""
    halvings = 0
    while abs(x) > Fraction(1, 2):
        x, halvings = x / 2, halvings + 1
    total, term = Fraction(0), Fraction(1)
    for n in range(1, 60):
        total, term = total + term, term * x / n
    low, high = total - 2 * abs(term), total + 2 * abs(term)
    for _ in range(halvings):  # keep the fractions short, outwards
        low, high = _short(low * low, -1), _short(high * high, 1)
    return low, high


def _short(value: Fraction, side: int) -> Fraction:
    grid = 10**90
    return Fraction(side * -(-side * value.numerator * grid // value.denominator), grid)


@given(small, st.sampled_from([5, 20, 50]))
def test_exp_is_enclosed(x, digits):
    low, high = exp_between(x)
    found = Enclosure.of(x, digits).exp()
    assert Fraction(found.low) <= high
    assert Fraction(found.high) >= low
    assert Fraction(found.low) < Fraction(found.high)


@given(positive, st.sampled_from([5, 20, 50]))
def test_log_is_enclosed(x, digits):
    found = Enclosure.of(x, digits).log()
    assert exp_between(Fraction(found.low))[0] <= x <= exp_between(Fraction(found.high))[1]


def test_the_neighbours_of_zero_are_numbers_that_can_be_used():
    found = Enclosure.of(1, 5).log()
    assert (
        -(Fraction(1, 10**9)) < Fraction(found.low) < 0 < Fraction(found.high) < Fraction(1, 10**9)
    )
    assert 0 < round_up(lambda digits: Enclosure.of(-(10**6), digits).exp()) < Fraction(1, 10**9)


@given(small, small, st.sampled_from([3, 10]))
def test_arithmetic_is_enclosed(x, y, digits):
    a, b = Enclosure.of(x, digits), Enclosure.of(y, digits)
    results = [(a + b, x + y), (a - b, x - y), (a * b, x * y)]
    if y:
        results.append((a / b, x / y))
    for found, true in results:
        assert Fraction(found.low) <= true <= Fraction(found.high)


def test_dividing_by_an_enclosure_of_zero_is_refused():
    with pytest.raises(ZeroDivisionError):
        Enclosure.of(1, 5) / Enclosure(Decimal(-1), Decimal(1), 5)


def test_cancelling_formulas_get_the_digits_they_need():
    tiny = Fraction(1, 10**60)

    def exp_minus_one(digits):
        return Enclosure.of(tiny, digits).exp() - Enclosure.of(1, digits)

    found = round_up(exp_minus_one)
    true = tiny + tiny**2 / 2
    assert true <= found <= true * (1 + Fraction(1, 10**25))


def test_the_callers_decimal_context_does_not_matter():
    plain = round_up(lambda digits: Enclosure.of(1, digits).exp())
    with localcontext() as context:
        context.prec = 3
        context.traps[Inexact] = True
        assert round_up(lambda digits: Enclosure.of(1, digits).exp()) == plain

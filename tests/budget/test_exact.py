from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpframe.budget.exact import exact, positive, readable
from dpframe.errors import ParameterError


def test_a_float_means_the_decimal_it_prints_as():
    assert sum([exact(0.1, "epsilon")] * 10) == 1
    assert exact(0.024499999999999997, "epsilon") == Fraction("0.024499999999999997")


@pytest.mark.parametrize(
    ("given_", "meant"),
    [
        (1, Fraction(1)),
        ("1/3", Fraction(1, 3)),
        (" 0.5 ", Fraction(1, 2)),
        (Decimal("1e-6"), Fraction(1, 10**6)),
        (Fraction(2, 7), Fraction(2, 7)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int8(3), Fraction(3)),
    ],
)
def test_numbers_are_read_as_meant(given_, meant):
    number = exact(given_, "epsilon")
    assert number == meant
    assert type(number.numerator) is int


@pytest.mark.parametrize(
    "bad",
    [
        True,
        False,
        float("nan"),
        float("inf"),
        -float("inf"),
        Decimal("NaN"),
        Decimal("Infinity"),
        "ten",
        "1/0",
        "",
        None,
        1j,
        "1e99999999999",
        "1e\uff19\uff19\uff19\uff19\uff19\uff19",  # digits, but wide ones
        Decimal("1e99999"),
        b"1",
    ],
)
def test_what_is_no_finite_number_is_refused(bad):
    with pytest.raises(ParameterError, match="epsilon"):
        exact(bad, "epsilon")


@pytest.mark.parametrize("bad", [0, -1, 0.0, -0.0, "-1/3", Fraction(0)])
def test_what_is_not_positive_is_refused(bad):
    with pytest.raises(ParameterError, match="greater than 0"):
        positive(bad, "epsilon")


@given(st.fractions(min_value=0, max_value=10**12))
def test_what_is_shown_errs_to_the_side_it_says(value):
    assert Fraction(readable(value)) >= value >= Fraction(readable(value, up=False))


@given(st.decimals(min_value=0, max_value=1, places=6))
def test_short_decimals_are_shown_in_full(value):
    assert Fraction(readable(Fraction(value))) == Fraction(value)


def test_the_callers_decimal_context_does_not_matter():
    with localcontext() as context:
        context.prec = 2
        assert readable(Fraction(123456, 10**6)) == "0.123456"

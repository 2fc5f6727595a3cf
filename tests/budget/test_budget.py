from decimal import Decimal
from fractions import Fraction

import pytest

from dpframe.budget.budget import Budget
from dpframe.errors import ParameterError


@pytest.mark.parametrize("tenth", [0.1, "0.1", "1/10", Fraction(1, 10), Decimal("0.1")])
def test_one_tenth_is_one_tenth_however_it_is_written(tenth):
    assert Budget(epsilon=tenth) == Budget(epsilon="0.1")
    assert Budget(rho=tenth).rho == Fraction(1, 10)
    assert hash(Budget(epsilon=tenth, delta=tenth)) == hash(Budget(epsilon=0.1, delta=0.1))


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"delta": 1e-6},
        {"epsilon": 1, "rho": 1},
        {"rho": 1, "delta": 1e-6},
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": float("nan")},
        {"epsilon": float("inf")},
        {"epsilon": True},
        {"epsilon": 1, "delta": 0},
        {"epsilon": 1, "delta": 1},
        {"epsilon": 1, "delta": 2},
        {"epsilon": 1, "delta": -1e-6},
    ],
)
def test_what_is_no_budget_is_refused(fields):
    with pytest.raises(ParameterError):
        Budget(**fields)


@pytest.mark.parametrize(
    "budget",
    [Budget(epsilon="1/3"), Budget(rho=0.1), Budget(epsilon=1, delta=1e-6)],
    ids=str,
)
def test_a_budget_survives_being_written_down(budget):
    assert Budget.from_json(budget.to_json()) == budget


def test_budgets_read_well():
    assert repr(Budget(epsilon=1.0, delta=1e-6)) == "<Budget epsilon 1, delta 1e-6>"
    assert str(Budget(rho=0.5)) == "rho 0.5"


def test_a_budget_cannot_be_raised():
    with pytest.raises(AttributeError):
        Budget(epsilon=1).epsilon = Fraction(2)

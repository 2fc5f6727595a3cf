"""How private keys are chosen: the rule for each unit and cost, its loss, and its odds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import dpframe as dp
from dpframe.declare import Table
from dpframe.mechanisms import ThresholdedGaussian, ThresholdedLaplace, TruncatedGeometric
from dpframe.release.selection import (
    concentrated_selection,
    delta_for,
    most_keys,
    pure_selection,
)

HALF, DELTA = Fraction(1, 2), Fraction(1, 10**6)


def table(unit: dp.Row | dp.Unit, neighbors: Any = "add_remove") -> Table:
    return Table("t", {}, {}, unit, neighbors, 100 if neighbors == "replace" else None)


ROW, UNIT = dp.Row(), dp.Unit("u", max_rows=5)


def test_a_row_is_in_one_group_so_the_best_rule_is_used() -> None:
    assert isinstance(pure_selection(table(ROW), HALF, DELTA).rule, TruncatedGeometric)


@pytest.mark.parametrize(
    ("epsilon", "delta"), [(Fraction(1, 10**6), DELTA), (HALF, Fraction(1, 10**30))]
)
def test_where_its_table_would_be_too_long_or_too_coarse_a_threshold_is(
    epsilon: Fraction, delta: Fraction
) -> None:
    found = pure_selection(table(ROW), epsilon, delta)
    assert isinstance(found.rule, ThresholdedLaplace)
    assert found.loss.epsilon <= epsilon
    assert found.loss.delta <= delta


@pytest.mark.parametrize("unit", [ROW, UNIT], ids=["row", "unit"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_no_rule_costs_more_than_was_said(unit: Any, neighbors: Any) -> None:
    pure = pure_selection(table(unit, neighbors), HALF, DELTA)
    assert pure.loss.epsilon <= HALF
    assert pure.loss.delta <= DELTA
    rho = Fraction(1, 20)
    concentrated = concentrated_selection(table(unit, neighbors), rho, DELTA)
    assert concentrated.loss.rho <= rho
    assert concentrated.loss.delta <= DELTA


@pytest.mark.parametrize("unit", [ROW, UNIT], ids=["row", "unit"])
def test_replacing_a_unit_is_two_changes(unit: Any) -> None:
    once = pure_selection(table(unit), HALF, DELTA).units_for(0.5)
    twice = pure_selection(table(unit, "replace"), HALF, DELTA).units_for(0.5)
    assert 1.8 * once < twice < 2.4 * once


def test_a_rho_buys_the_rule_that_shows_smaller_groups() -> None:
    small = concentrated_selection(table(ROW), Fraction(1, 100), DELTA)
    assert isinstance(small.rule, ThresholdedGaussian)
    assert small.units_for(0.5) < pure_selection(table(ROW), Fraction(14, 100), DELTA).units_for(
        0.5
    )
    large = concentrated_selection(table(ROW), Fraction(20), Fraction(1, 10))
    assert isinstance(large.rule, TruncatedGeometric)


@pytest.mark.parametrize("unit", [ROW, UNIT], ids=["row", "unit"])
def test_more_units_are_surer_to_be_shown(unit: Any) -> None:
    for found in (
        pure_selection(table(unit), HALF, DELTA),
        concentrated_selection(table(unit), Fraction(1, 20), DELTA),
    ):
        assert 1 < found.units_for(0.5) < found.units_for(0.9) < found.units_for(0.99)


def test_a_unit_may_hold_several_times_its_rows_in_keys() -> None:
    assert [most_keys(table(dp.Unit("u", max_rows=r))) for r in (1, 4, 5, 100)] == [16, 16, 20, 400]
    assert most_keys(table(ROW)) == 1


def test_delta_is_as_said_or_a_part_of_what_the_budget_keeps() -> None:
    budget = dp.Budget(epsilon=1, delta="1e-6")
    kept = Fraction(1, 4 * 10**6)
    assert delta_for(None, None, budget) == kept / 10
    assert delta_for(None, Fraction(1, 3), budget) == kept / 3
    assert delta_for("1e-9", Fraction(1, 3), budget) == Fraction(1, 10**9)


@pytest.mark.parametrize("delta", [0, -1, 1, 2, 1e-100, float("nan"), "x"])
def test_a_delta_is_a_probability(delta: Any) -> None:
    with pytest.raises(dp.ParameterError):
        delta_for(delta, None, dp.Budget(epsilon=1, delta=1e-6))

"""What a condition proves of the rows that pass it, and never more than that."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpframe.bounds.refine import refined
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import Call, Column, Expr, literal

AGE = {"age": Domain(Type.INT, 0, 110)}
COST = {"cost": Domain(Type.FLOAT, 0.0, 9.5)}
WARD = {"ward": Domain(Type.TEXT, values=("er", "gp", "icu"))}

COMPARISONS = {
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
}


def compare(op: str, value: Any, column: str = "age", *, mirrored: bool = False) -> Expr:
    sides = (Column(column), literal(value))
    return Call(op, sides[::-1] if mirrored else sides)


@pytest.mark.parametrize(
    ("op", "value", "low", "high"),
    [
        ("greater_equal", 65, 65, 110),
        ("greater", 65, 66, 110),
        ("less", 65, 0, 64),
        ("less_equal", 65, 0, 65),
        ("equal", 65, 65, 65),
        ("not_equal", 65, 0, 110),
        ("greater", 64.5, 65, 110),
        ("less", 64.5, 0, 64),
        ("greater", -5, 0, 110),
        ("less", 1000, 0, 110),
        ("greater", 1000, 0, 110),
        ("equal", 64.5, 0, 110),
        ("greater", None, 0, 110),
    ],
)
def test_comparisons_bound_an_integer(op: str, value: Any, low: int, high: int) -> None:
    found = refined(AGE, compare(op, value))["age"]
    assert (found.low, found.high) == (low, high)


def test_a_row_that_passes_a_comparison_is_not_null() -> None:
    assert not refined(AGE, compare("less", 5))["age"].nullable
    assert not refined(WARD, compare("equal", "er", "ward"))["ward"].nullable
    either = Call("or", (compare("less", 5), literal(None)))
    assert refined(AGE, either)["age"].nullable
    assert refined(AGE, Call("is_null", (Column("age"),)))["age"].nullable
    there = Call("not", (Call("is_null", (Column("age"),)),))
    assert not refined(AGE, there)["age"].nullable


@settings(max_examples=300, deadline=None)
@given(
    op=st.sampled_from(sorted(COMPARISONS)),
    value=st.one_of(st.integers(-200, 200), st.floats(-200, 200), st.integers(-(2**62), 2**62)),
    mirrored=st.booleans(),
)
def test_no_value_that_passes_is_left_out(op: str, value: Any, mirrored: bool) -> None:
    for columns, possible in ((AGE, range(111)), (COST, [0.0, 0.25, 1.0, 3.5, 9.5])):
        (name,) = columns
        found = refined(columns, compare(op, value, name, mirrored=mirrored))[name]
        for row in possible:
            sides = (value, row) if mirrored else (row, value)
            if COMPARISONS[op](*sides):
                assert found.low <= row <= found.high


@given(listed=st.lists(st.sampled_from(["er", "gp", "icu", "nowhere"]), min_size=1, max_size=4))
def test_a_list_keeps_every_declared_value_in_it(listed: list[str]) -> None:
    found = refined(WARD, Call("in", (Column("ward"),), tuple(listed)))["ward"]
    assert found.values is not None
    assert set(found.values) >= {"er", "gp", "icu"} & set(listed)


def test_conditions_are_taken_together() -> None:
    both = Call("and", (compare("greater", 10), Call("and", (compare("less", 20), literal(True)))))
    found = refined(AGE, both)["age"]
    assert (found.low, found.high) == (11, 19)


def test_what_is_not_simple_proves_nothing() -> None:
    doubled = Call("greater", (Call("add", (Column("age"), literal(1))), literal(65)))
    assert refined(AGE, doubled) == AGE
    assert refined(AGE, Call("not", (compare("less", 5),))) == AGE
    assert refined(AGE, None) == AGE


# --- lists of values for columns that have none --------------------------------------------------

OPEN = {
    "name": Domain(Type.TEXT),
    "zip": Domain(Type.INT),
    "day": Domain(Type.DATE),
    "cost": Domain(Type.FLOAT),
    "ward": Domain(Type.TEXT, values=("er", "gp", "icu"), null_is_value=False),
}


def listed(column: str, *values: Any) -> Expr:
    return Call("in", (Column(column),), values)


def either(*arms: Expr) -> Expr:
    return Call("or", arms)


def is_null(column: str) -> Expr:
    return Call("is_null", (Column(column),))


@pytest.mark.parametrize(
    ("column", "condition", "values", "nullable"),
    [
        ("name", listed("name", "b", "a"), ("a", "b"), False),
        ("name", compare("equal", "a", "name"), ("a",), False),
        ("name", compare("equal", "a", "name", mirrored=True), ("a",), False),
        ("zip", listed("zip", 7, 5), (5, 7), False),
        ("zip", compare("equal", 5, "zip"), (5,), False),
        ("day", listed("day", "2024-01-02"), (date(2024, 1, 2),), False),
        ("name", is_null("name"), (), True),
        ("name", either(listed("name", "a"), is_null("name")), ("a",), True),
        ("name", either(listed("name", "a"), literal(None)), ("a",), False),
        ("name", either(listed("name", "a"), compare("equal", "c", "name")), ("a", "c"), False),
        (
            "name",
            either(
                Call("and", (listed("name", "a"), compare("less", 5, "zip"))), listed("name", "b")
            ),
            ("a", "b"),
            False,
        ),
        ("ward", either(listed("ward", "er"), listed("ward", "gp", "x")), ("er", "gp"), False),
    ],
)
def test_a_list_is_all_that_a_column_can_be(
    column: str, condition: Expr, values: Any, nullable: bool
) -> None:
    found = refined(OPEN, condition)[column]
    assert (found.values, found.nullable) == (values, nullable)


@pytest.mark.parametrize(
    ("column", "condition"),
    [
        ("name", either(listed("name", "a"), compare("less", 5, "zip"))),
        ("name", either(listed("name", "a"), Call("like", (Column("name"),), ("b%",)))),
        ("name", Call("not", (listed("name", "a"),))),
        ("name", compare("not_equal", "a", "name")),
        ("name", either(is_null("name"), compare("greater", "a", "name"))),
        ("zip", listed("zip", 1.5)),
        ("zip", compare("equal", 2.0, "zip")),
        ("name", listed("name", 5)),
        ("cost", listed("cost", 1.5)),
        ("cost", is_null("cost")),
        ("day", compare("equal", "no day", "day")),
        ("ward", is_null("ward")),
    ],
)
def test_what_is_no_list_proves_none(column: str, condition: Expr) -> None:
    assert refined(OPEN, condition)[column].values == OPEN[column].values

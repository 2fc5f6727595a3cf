"""Domains of expressions hold every value that rows can yield, on every engine."""

from __future__ import annotations

import itertools
import math
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe as dp
from dpframe.bounds.analysis import typed
from dpframe.frontends.sql import plan_of
from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions import FUNCTIONS
from dpframe.plan.functions.shifts import shifted
from dpframe.plan.nodes import Filter, chain

COLUMNS = {
    "a": dp.Range(-7, 9),
    "b": dp.Range(1, 5, nullable=False),
    "f": dp.Range(-2.5, 4.0),
    "g": dp.Range(0.5, 2.0, nullable=False),
    "d": dp.Range(date(2023, 12, 1), date(2024, 2, 1)),
    "s": dp.Keys(["x", "yy", ""]),
}
WHOLE = list(range(-9, 12))
ROWS = pl.DataFrame(
    {
        "a": [*WHOLE, None],
        "b": [*range(-5, 16), None],
        "f": [*(v / 4 for v in WHOLE), math.nan],
        "g": [*(v / 8 for v in WHOLE), None],
        "d": [*(date(2023, 11, 20 + v % 10) for v in WHOLE[:20]), date(2024, 5, 5), None],
        "s": [*["x", "yy", "", "zzz"] * 5, None, None],
    }
)
ENGINES = ("duckdb", "polars")


def opened(engine: str) -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", ROWS, columns=COLUMNS, engine=engine)  # type: ignore[arg-type]
    return session


SESSIONS = {engine: opened(engine) for engine in ENGINES}


def domain_of(expression: str) -> Domain:
    tables = SESSIONS["polars"]._tables
    plan = plan_of(f"SELECT COUNT(*) FROM t WHERE ({expression}) IS NULL", tables)
    (node,) = [n for n in chain(plan) if isinstance(n, Filter)]
    return typed(node.predicate.children[0], tables["t"].domains).domain


def truth(session: dp.Session, condition: str) -> int:
    """Rows that meet a condition, by the exact part itself."""
    from dpframe.aggregates.layout import layout_for
    from dpframe.engines.base import request_for

    query = session.query(f"SELECT COUNT(*) FROM t WHERE {condition}")
    request = request_for(query._compiled, layout_for(query._compiled, 1))
    return int(query._engine.measure(request)[0][0])


@pytest.mark.parametrize(
    ("expression", "low", "high", "nullable"),
    [
        ("a + b", -6, 14, True),
        ("a - b", -12, 8, True),
        ("a * b", -35, 45, True),
        ("a * a", 0, 81, True),
        ("b * b", 1, 25, False),
        ("-a", -9, 7, True),
        ("ABS(a)", 0, 9, True),
        ("SIGN(a)", -1, 1, True),
        ("a // b", -7, 9, True),
        ("a % b", -4, 4, True),
        ("a / g", -14.0, 18.0, True),
        ("FLOOR(f)", -3.0, 4.0, True),
        ("CEIL(f)", -2.0, 4.0, True),
        ("LEAST(b, 3)", 1, 3, False),
        ("GREATEST(b, 3)", 3, 5, False),
        ("COALESCE(a, 0)", -7, 9, False),
        ("NULLIF(b, 3)", 1, 5, True),
        ("CASE WHEN a > 0 THEN 1 ELSE b END", 1, 5, False),
        ("CASE WHEN a > 0 THEN b END", 1, 5, True),
        ("LENGTH(s)", 0, 2, True),
        ("MONTH(d)", 1, 12, True),
        ("YEAR(d)", 2023, 2024, True),
        ("CAST(f AS INT)", -2, 4, True),
        ("CAST(a > 0 AS INT)", 0, 1, True),
        ("a IS NULL", False, True, False),
        ("POWER(f, 2)", 0.0, 16.0, True),
        ("b + 0.5", 1.5, 5.5, False),
    ],
)
def test_intervals_of_expressions(expression: str, low: Any, high: Any, nullable: bool) -> None:
    found = domain_of(expression)
    assert found.nullable == nullable
    assert found.low == pytest.approx(low, abs=1e-9)
    assert found.high == pytest.approx(high, abs=1e-9)


@pytest.mark.parametrize(
    "expression",
    ["a / b - a / 0", "1 / a", "LN(g - 0.5)", "a % 0 + 1e308 * f * 1e308", "EXP(f * 1000)"],
)
def test_what_can_grow_without_limit_has_no_bounds_or_wide_ones(expression: str) -> None:
    found = domain_of(expression)
    assert not found.is_bounded or found.nullable


@pytest.mark.parametrize("months", [1, -2, 25])
def test_timestamps_that_are_moved_by_months_lie_in_their_domain(months: int) -> None:
    # An evening of the 30th is moved past a morning of the 31st: both days become the 28th.
    interval = (months, 0, 0)
    ends = [datetime(2023, 1, 28) + timedelta(hours=12 * i) for i in range(12)]
    for low, high in itertools.combinations(ends, 2):
        found = FUNCTIONS["date_add"].domain((Domain(Type.TIMESTAMP, low, high),), interval)
        minutes = range((high - low) // timedelta(minutes=1) + 1)
        moved = [shifted(low + timedelta(minutes=i), *interval) for i in minutes]
        assert found.low == min(moved)
        assert timedelta(0) <= found.high - max(moved) < timedelta(minutes=1)


NUMBERS = st.sampled_from(["a", "b", "f", "g", "1", "-3", "0.5", "LENGTH(s)", "MONTH(d)"])


@st.composite
def expressions(draw: st.DrawFn, depth: int = 2) -> str:
    if depth == 0:
        return draw(NUMBERS)
    x, y = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    template = draw(
        st.sampled_from(
            [
                *("({x} + {y})", "({x} - {y})", "({x} * {y})", "({x} / {y})", "(-{x})"),
                *("ABS({x})", "FLOOR({x})", "CEIL({x})", "ROUND({x})", "SQRT({x})", "LN({x})"),
                *(
                    "LEAST({x}, {y})",
                    "GREATEST({x}, {y})",
                    "COALESCE({x}, {y})",
                    "NULLIF({x}, {y})",
                ),
                *("CASE WHEN {x} > {y} THEN {x} ELSE {y} END", "CASE WHEN {x} > 1 THEN {y} END"),
                *("POWER({x}, 2)", "CAST({x} AS INT)", "SIGN({x})", "ROUND({x}, 1)", "{x}"),
            ]
        )
    )
    return str(template.format(x=x, y=y))


@settings(max_examples=60, deadline=None)
@given(expression=expressions())
def test_every_value_lies_in_its_domain_on_both_engines(expression: str) -> None:
    try:
        found = domain_of(expression)
    except dp.QueryError:
        return
    for session in SESSIONS.values():
        if not found.nullable:
            assert truth(session, f"({expression}) IS NULL") == 0
        if found.is_bounded and math.isfinite(found.low) and math.isfinite(found.high):
            for op, end in (("<", found.low), (">", found.high)):
                slack = 1e-9 * max(1.0, abs(end)) * (-1 if op == "<" else 1)
                bound = repr(float(end) + slack)
                assert truth(session, f"({expression}) {op} {bound}") == 0


@settings(max_examples=60, deadline=None)
@given(expression=expressions())
def test_both_engines_count_the_same_rows(expression: str) -> None:
    for condition in (f"({expression}) > 0.5", f"({expression}) IS NULL"):
        try:
            counts = {truth(session, condition) for session in SESSIONS.values()}
        except dp.QueryError:
            continue
        assert len(counts) == 1, condition

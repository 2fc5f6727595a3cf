"""Sums on DuckDB: whichever way one is measured, it is the sum that exact arithmetic has."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines import duckdb_sums
from dpframe.engines.base import Request, request_for
from dpframe.engines.duckdb import DuckDBEngine
from dpframe.engines.duckdb_parts import statement_for
from dpframe.engines.duckdb_sums import Way, ways_of
from dpframe.plan.parts import Blend, CodedSum, CountRows

LOW, HIGH = -3.0, 10.0
SCALE = 2**23  # the codes of [-3, 10]: 10 is below 2^4, and a row contributes 2^27 steps


class Asked:
    """A question about one float column, and the engine that holds it."""

    def __init__(
        self,
        values: list[float | None],
        text: str,
        *,
        nullable: bool = True,
        ends: tuple[float, float] = (LOW, HIGH),
    ) -> None:
        keys = [i % 2 for i in range(len(values))]
        frame = pl.DataFrame({"x": values, "k": keys}, schema={"x": pl.Float64, "k": pl.Int64})
        session = dp.Session(dp.Budget(epsilon=1))
        columns = {"x": dp.Range(*ends, nullable=nullable), "k": dp.Keys([0, 1])}
        session.register("t", frame, columns=columns, engine="duckdb")
        query = session.query(text)
        self.values = values
        self.nullable = nullable
        self.request = request_for(query._compiled, layout_for(query._compiled, 1))
        engine = query._engine
        assert isinstance(engine, DuckDBEngine)
        self.engine = engine

    def found(self, way: Way) -> list[Any]:
        """The parts of the one group, as that way measures them; None for one that it leaves open."""
        statement = statement_for(self.request, way)
        frame = self.engine._run(statement.sql, self.request.source)
        return [frame.select(part).item() for part in statement.parts]

    def expected(self) -> list[int]:
        return [exact(part, self.values, self.nullable) for part in self.request.parts]


def exact(part: Any, values: list[float | None], nullable: bool) -> int:
    """A part in exact rational arithmetic."""
    if isinstance(part, CountRows):
        return sum(not nullable or (v is not None and not math.isnan(v)) for v in values)
    codes = []
    for value in values:
        if value is None or math.isnan(value):
            if not nullable:
                codes.append(part.coding.low)
            continue
        ends = [part.coding.value(end) for end in (part.coding.low, part.coding.high)]
        codes.append(round(Fraction(min(max(value, ends[0]), ends[1])) * part.coding.scale))
    if isinstance(part, CodedSum):
        return sum(code - part.centre for code in codes)
    assert isinstance(part, Blend)
    rows, of_codes, of_squares = part.terms
    squares = [
        round(Fraction((code - part.coding.low) ** 2 * part.finer, part.reach)) for code in codes
    ]
    return rows * len(codes) + of_codes * sum(codes) + of_squares * sum(squares)


EXTREME = [
    math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0, LOW, HIGH,
    # where doubles are halves, and around the largest sums that are vouched for
    -(2.0**51) / SCALE, -(2.0**51 + 0.5) / SCALE, -(2.0**52 - 0.5) / SCALE, -(2.0**52) / SCALE,
    2.0**51 / SCALE, (2.0**52 - 1) / SCALE, 2.0**52 / SCALE, 2.0**53 / SCALE, 999_999.0, -999.0,
]  # fmt: skip
VALUES = st.one_of(
    st.none(),
    st.floats(-30, 30),
    st.sampled_from(EXTREME),
    st.integers(-(2**27), 2**27).map(lambda i: (i + 0.5) / SCALE),  # halfway between two codes
)


RANGES = [(LOW, HIGH), (0.0, 10.0), (-20.0, -1.0), (0.0, 0.0), (2.5, 2.5), (-1e-9, 1e-9)]


@settings(max_examples=100)
@given(
    values=st.lists(VALUES, max_size=12),
    nullable=st.booleans(),
    text=st.sampled_from(["SUM(x)", "AVG(x)", "VAR_POP(x)", "SUM(x), COUNT(x)"]),
    ends=st.sampled_from(RANGES),
)
def test_every_way_knows_the_exact_sum_or_says_that_it_does_not(
    values: list[float | None], nullable: bool, text: str, ends: tuple[float, float]
) -> None:
    asked = Asked(values, f"SELECT {text} FROM t", nullable=nullable, ends=ends)
    for way in Way:
        for found, expected in zip(asked.found(way), asked.expected(), strict=True):
            assert found is None or int(found) == expected
    assert None not in asked.found(Way.DOUBLES)
    assert [int(v) for v in asked.found(Way.INTEGERS)] == asked.expected()


def test_a_range_of_one_value_bounds_what_is_not_clamped() -> None:
    """Both ends are one, and so are the distances from them: nothing but the end may be left."""
    for end in (0.0, 2.5, -3.0):
        asked = Asked([1.0, -70.0, None, 9.5], "SELECT SUM(x) FROM t", ends=(end, end))
        assert [int(v) for v in asked.found(Way.UNCLAMPED)] == asked.expected()


@pytest.mark.parametrize("value", [None, 4.25, -(2.0**20), 2.0**28, LOW, HIGH])
def test_rows_need_not_be_clamped_for_their_sum_to_be(value: float | None) -> None:
    asked = Asked([value, 1.5, 70.0, -70.0, None], "SELECT SUM(x) FROM t")
    assert [int(v) for v in asked.found(Way.UNCLAMPED)] == asked.expected()


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2.0**52 / SCALE, 1e300])
def test_what_is_too_far_off_is_left_open_and_measured_another_way(value: float) -> None:
    asked = Asked([value, 1.5, 70.0], "SELECT SUM(x) FROM t")
    assert None in asked.found(Way.UNCLAMPED)
    assert asked.engine.measure(asked.request) == [[v] for v in asked.expected()]
    # The second time, nothing is tried in vain.
    assert ways_of(asked.request, asked.engine._beyond) == [Way.DOUBLES, Way.INTEGERS]
    assert asked.engine.measure(asked.request) == [[v] for v in asked.expected()]


def test_a_group_that_is_left_open_is_measured_with_all_others_again() -> None:
    asked = Asked([1.0, math.nan, 2.0, 3.0], "SELECT k, SUM(x) FROM t GROUP BY k")
    (part,) = asked.request.parts
    sums = [exact(part, [1.0, 2.0], True), exact(part, [math.nan, 3.0], True)]
    assert asked.engine.measure(asked.request) == [sums]


def test_more_rows_than_doubles_hold_are_added_up_as_integers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(duckdb_sums, "EXACT_DOUBLES", 3 * 2**27)
    asked = Asked([9.0, 8.0, 7.0, math.nan], "SELECT SUM(x) FROM t WHERE x > 0")
    assert None not in asked.found(Way.DOUBLES)
    asked = Asked([9.0, 8.0, 7.0, 6.0, 5.0], "SELECT SUM(x) FROM t WHERE x > 0")
    assert None in asked.found(Way.DOUBLES)
    assert asked.engine.measure(asked.request) == [[v] for v in asked.expected()]
    assert asked.engine._is_long


def ways(text: str) -> list[Way]:
    return ways_of(Asked([1.0], text).request, frozenset())


def test_the_time_of_a_query_about_some_rows_does_not_tell_of_single_ones() -> None:
    """Leaving rows unclamped may fail by one row, so it is for whole tables alone."""
    assert ways("SELECT SUM(x) FROM t") == list(Way)
    assert ways("SELECT k, AVG(x) FROM t GROUP BY k") == list(Way)
    for text in (
        "SELECT SUM(x) FROM t WHERE k = 1",
        "SELECT SUM(x) FILTER (WHERE k = 1) FROM t",
        "SELECT k < 2 AS few, SUM(x) FROM t GROUP BY few",
        "SELECT SUM(x + 1) FROM t",
        "SELECT SUM(x) FROM (SELECT x FROM t WHERE k = 1)",
        "SELECT VAR_POP(x) FROM t",
    ):
        assert ways(text) == [Way.DOUBLES, Way.INTEGERS], text


def test_what_is_no_sum_on_a_grid_is_measured_at_once() -> None:
    for text in ("SELECT COUNT(*) FROM t", "SELECT SUM(k) FROM t", "SELECT COUNT(x) FROM t"):
        assert ways(text) == [Way.INTEGERS]


def test_codes_too_large_for_doubles_are_integers() -> None:
    request = Asked([1.0], "SELECT SUM(x) FROM t WHERE k = 1").request
    (part,) = request.parts
    assert isinstance(part, CodedSum)
    wide = replace(part, coding=replace(part.coding, high=2**40))
    assert isinstance(request, Request)
    assert ways_of(replace(request, parts=(wide,)), frozenset()) == [Way.INTEGERS]


INTEGERS = st.one_of(
    st.none(), st.integers(-30, 30), st.sampled_from([2**63 - 1, -(2**63), 2**31, 10, -3])
)


@settings(max_examples=20)
@given(
    values=st.lists(INTEGERS, max_size=12),
    nullable=st.booleans(),
    ends=st.sampled_from([(0, 10), (-3, 10), (4, 4), (-20, -7), (5, 2**15)]),
    text=st.sampled_from(
        [
            "SELECT SUM(x) FROM t",
            "SELECT AVG(x), COUNT(x) FROM t",
            "SELECT k, SUM(x), COUNT(*) FROM t GROUP BY k",
            "SELECT SUM(x), AVG(x) FILTER (WHERE k = 1) FROM t WHERE k < 2",
            "SELECT SUM(x) FROM t WHERE x > 0",
        ]
    ),
)
def test_integers_of_files_are_clamped_as_those_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[int | None],
    nullable: bool,
    ends: tuple[int, int],
    text: str,
) -> None:
    """A file lists values that occur often, and each is clamped once."""
    frame = pl.DataFrame(
        {"x": values * 3, "k": [i % 3 for i in range(3 * len(values))], "u": [0] * 3 * len(values)},
        schema={"x": pl.Int64, "k": pl.Int64, "u": pl.Int64},
    )
    path = tmp_path_factory.mktemp("files") / "t.parquet"
    frame.write_parquet(path)
    columns = {"x": dp.Range(*ends, nullable=nullable), "k": dp.Keys([0, 1, 2])}
    for unit in (None, dp.Unit("u", max_rows=4)):
        measured = []
        for data, engine in ((str(path), "duckdb"), (frame, "duckdb"), (frame, "polars")):
            session = dp.Session(dp.Budget(epsilon=1))
            session.register("t", data, unit=unit, columns=columns, engine=engine)
            query = session.query(text)
            request = request_for(query._compiled, layout_for(query._compiled, 1))
            measured.append(query._engine.measure(request))
        assert measured[0] == measured[1] == measured[2]


def test_a_chain_of_functions_clamps_few_integers_of_files_alone(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1, None, 70], "y": [1, 2, 3]})
    frame.write_parquet(tmp_path / "t.parquet")

    def statement(data: Any, text: str, high: int = 10) -> str:
        session = dp.Session(dp.Budget(epsilon=1))
        session.register("t", data, columns={"x": dp.Range(0, high)}, engine="duckdb")
        compiled = session.query(text)._compiled
        return statement_for(request_for(compiled, layout_for(compiled, 1))).sql

    path, text = str(tmp_path / "t.parquet"), "SELECT SUM(x) FROM t"
    assert "LEAST" in statement(path, text)
    assert "LEAST" not in statement(frame, text)
    assert "LEAST" not in statement(path, text, high=10**6)
    # What WHERE narrows is clamped to the declared range, which is not the one of the codes.
    assert "LEAST" not in statement(path, "SELECT SUM(x) FROM t WHERE x > 3")
    assert "LEAST" not in statement(path, "SELECT SUM(x) FILTER (WHERE y = 1) FROM t")

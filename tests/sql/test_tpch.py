"""TPC-H with customers as the unit: what is answered, what waits for joins, what DP refuses."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from sql import tpch

import dpframe as dp

FILE = Path(__file__).parent / "tpch.sql"

ANSWERED, REFUSED = "answered", "refused"

STATUS = {
    **dict.fromkeys(range(1, 23), ANSWERED),
    # An average, or a sum, over the lines of all customers decides about one customer's line: one
    # unit could change what every other one contributes.
    **dict.fromkeys((17, 20), REFUSED),
    # It looks for lines of the same order by other suppliers: only equations say which rows match.
    21: REFUSED,
}


def queries() -> dict[int, str]:
    found = {}
    for chunk in re.split(r";[ \t]*\n", FILE.read_text(encoding="utf-8")):
        number = re.search(r"(?m)^-- Q(\d+) .*\n", chunk)
        if number is not None:
            found[int(number.group(1))] = chunk[number.end() :].strip()
    return found


QUERIES = queries()


@pytest.fixture(scope="module", params=["duckdb", "polars"])
def session(request: pytest.FixtureRequest) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=10**6))
    tpch.register(opened, request.param)
    return opened


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, frame in tpch.tables().items():
            connection.register(name, frame)
        yield connection


def test_there_are_22_queries_and_18_are_to_be_answered() -> None:
    assert list(QUERIES) == list(STATUS) == list(range(1, 23))
    assert sum(status != REFUSED for status in STATUS.values()) >= 18


def test_the_tables_are_the_same_every_time() -> None:
    first, again = tpch.tables(), tpch.tables()
    assert all(first[name].equals(again[name]) for name in first)
    for name, (column, most) in tpch.PRIVATE.items():
        assert first[name][column].value_counts()["count"].max() <= most


@pytest.mark.parametrize("number", QUERIES)
def test_each_query_means_something_to_plain_duckdb(
    number: int, plain: duckdb.DuckDBPyConnection
) -> None:
    rows = plain.execute(QUERIES[number]).fetchall()
    assert rows
    assert any(value for row in rows for value in row)


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("number", [n for n, status in STATUS.items() if status == ANSWERED])
def test_what_is_answered_is_what_plain_duckdb_answers(
    number: int, session: dp.Session, plain: duckdb.DuckDBPyConnection
) -> None:
    frame = session.sql(QUERIES[number], epsilon=1, fresh=True).frame
    if "n" in frame.columns and frame.height > 1:  # public groups without rows are present, too
        frame = frame.filter(pl.col("n") != 0)
    expected = plain.execute(QUERIES[number]).fetchall()
    assert len(frame) == len(expected)
    for ours, theirs in zip(frame.rows(), expected, strict=True):
        assert all(map(_is_same, ours, theirs)), (ours, theirs)


def _is_same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, float):
        # Up to 120 lines of a customer share the grid, so its steps are coarser: 1 / 2^23.
        return math.isclose(ours, float(theirs), rel_tol=1e-5, abs_tol=1e-3)
    return bool(ours == theirs)


@pytest.mark.parametrize("number", [n for n, status in STATUS.items() if status != ANSWERED])
def test_what_is_not_answered_is_refused_with_a_reason_and_costs_nothing(
    number: int, session: dp.Session
) -> None:
    before = session.spent
    with pytest.raises(dp.QueryError) as caught:
        session.sql(QUERIES[number], epsilon=1)
    assert caught.value.why
    assert caught.value.fix
    assert session.spent == before

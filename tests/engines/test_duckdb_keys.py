"""Keys on DuckDB: groups that are found faster are the same groups."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines.base import Engine, Request, request_for
from dpframe.engines.duckdb_parts import statement_for

FRAME = pl.DataFrame(
    {"x": [0.5, 19.9, 20.0, 399.9, 1e9, -5.0, None, float("nan"), 127.0 * 20], "u": range(9)}
)


def asked(high: int) -> tuple[Engine, Request]:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", FRAME, columns={"x": dp.Range(0, high)}, engine="duckdb")
    text = "SELECT CAST(FLOOR(x / 20) AS BIGINT) AS b, COUNT(*) FROM t GROUP BY b"
    query = session.query(text)
    return query._engine, request_for(query._compiled, layout_for(query._compiled, 1))


@pytest.mark.parametrize(("high", "is_narrow"), [(2559, True), (2560, False), (400, True)])
def test_keys_that_fit_have_8_bits(high: int, is_narrow: bool) -> None:
    engine, request = asked(high)
    assert ("AS TINYINT" in statement_for(request).sql) == is_narrow
    expected = [0] * (high // 20 + 1)
    for value in FRAME["x"].fill_nan(None).drop_nulls():
        expected[int(min(max(value, 0.0), float(high)) // 20)] += 1
    assert engine.measure(request) == [[*expected, 2]]  # two rows have no value


def test_rows_of_keys_that_were_not_chosen_are_not_taken_for_rows_without_one() -> None:
    """Of chosen keys, rows may have others: in 8 bits those would be NULL, which may be chosen."""
    _, request = asked(400)
    chosen = replace(request, chosen=pl.DataFrame({"k0": [0, 1, None]}))
    assert "AS TINYINT" not in statement_for(chosen).sql

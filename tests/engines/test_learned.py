"""What a public table holds is learned from it, and enforced when it is read."""

from __future__ import annotations

import math
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

import dpframe as dp
from dpframe.declare import Row, declare
from dpframe.engines.learned import learned_domains
from dpframe.engines.polars import PolarsEngine
from dpframe.plan.domains import Domain


@pytest.fixture(params=["polars", "duckdb"])
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param


def domains(**cells: Any) -> dict[str, Domain]:
    engine = PolarsEngine(pl.DataFrame(cells))
    options: dict[str, Any] = {"neighbors": "add_remove", "size": None, "public": True}
    table = declare("p", engine.storage(), unit=Row(), columns={}, **options)
    return dict(learned_domains(table, engine))


def test_few_values_are_listed_and_many_have_a_range() -> None:
    found = domains(
        few=[3, 1, 1, None] * 500, many=range(2000), text=[f"t{i}" for i in range(2000)]
    )
    assert (found["few"].values, found["few"].nullable) == ((1, 3), True)
    assert (found["many"].values, found["many"].low, found["many"].high) == (None, 0, 1999)
    assert not found["many"].nullable
    assert found["text"].values is None
    assert not found["text"].is_bounded


def test_floats_have_a_range_without_nan_and_none_beside_infinity() -> None:
    found = domains(x=[0.5, math.nan, 2.5], y=[0.5, math.inf, 1.0], z=[None, math.nan, None])
    assert (found["x"].low, found["x"].high, found["x"].values) == (0.5, 2.5, None)
    assert found["x"].nullable
    assert not found["y"].is_bounded
    assert not found["z"].is_bounded


def test_dates_and_text_can_be_grouped_by(engine: Any) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    frame = pl.DataFrame({"d": [date(2024, 1, 1), None], "t": ["b", "a"], "k": [1, 2]})
    session.register("p", frame, public=True, engine=engine)
    assert session.sql("SELECT d, COUNT(*) AS n FROM p GROUP BY d").frame.rows() == [
        (date(2024, 1, 1), 1),
        (None, 1),
    ]
    assert session.sql("SELECT t, SUM(k) AS n FROM p GROUP BY t").frame.rows() == [
        ("a", 2),
        ("b", 1),
    ]


def test_what_was_declared_stays(engine: Any) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    columns = {"t": dp.Keys(["a", "z"])}
    session.register(
        "p", pl.DataFrame({"t": ["b", "a"]}), public=True, columns=columns, engine=engine
    )
    assert session.sql("SELECT t, COUNT(*) AS n FROM p GROUP BY t").frame.rows() == [
        ("a", 1),
        ("z", 0),
    ]


def test_a_file_that_changed_is_looked_at_again(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pl.DataFrame({"t": ["a", "b"]}).write_parquet(path)
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("p", path, public=True)
    asked = "SELECT t, COUNT(*) AS n FROM p GROUP BY t"
    assert session.sql(asked).frame["t"].to_list() == ["a", "b"]
    pl.DataFrame({"t": ["a", "c", "c"]}).write_parquet(path)
    assert session.sql(asked).frame.rows() == [("a", 1), ("c", 2)]


def test_rows_that_came_later_break_no_bound() -> None:
    """The plan is made before the rows are read; what it did not see is clamped, or no key."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE p AS SELECT 1 AS k, 2.0::DOUBLE AS w, 'a' AS t")
    connection.execute("INSERT INTO p VALUES (2, 1.0, 'a')")
    session = dp.Session(dp.Budget(epsilon=1))
    frame = pl.DataFrame({"u": [1, 2], "k": [1, 7]})
    session.register("r", frame, unit=dp.Unit("u", max_rows=1))
    session.register("p", connection.table("p"), public=True)
    query = session.query("SELECT SUM(w) AS s FROM r JOIN p USING (k)")
    connection.execute("INSERT INTO p VALUES (7, 1e9, 'b'), (NULL, NULL, NULL)")
    part = query._compiled.aggregates[0][1].recipes()[0].parts["sum"]
    assert part.coding.value(part.coding.high) <= 2.0  # type: ignore[union-attr]
    assert query.release(epsilon=0.5).frame.height == 1


def test_a_session_says_which_tables_are_public() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("p", pl.DataFrame({"t": ["a"]}), public=True)
    assert "the table is public" in session.describe()
    assert "read from the table" in session.describe()

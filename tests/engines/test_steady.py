"""Data that may hold other rows each time it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines.base import measured
from dpframe.engines.steady import is_steady, scans_a_table
from dpframe.plan.parts import CodedSum

CONNECTION = duckdb.connect()
CONNECTION.execute("CREATE TABLE stored AS SELECT 1 AS u, 5 AS x FROM range(600)")
FRAME = pl.LazyFrame({"u": [1, 2], "x": [5.0, 6.0], "s": ["a", "b"]})


def ever_fewer_rows() -> pl.LazyFrame:
    """A frame of one unit that has half as many rows each time it is read."""
    reads: list[int] = []

    def rows(frame: pl.DataFrame) -> pl.DataFrame:
        reads.append(0)
        return pl.concat([frame] * 2 ** (10 - len(reads)))

    return pl.LazyFrame({"u": [1], "x": [5]}).map_batches(rows)


FICKLE: dict[str, Callable[[], Any]] = {
    "code": ever_fewer_rows,
    "chance": lambda: CONNECTION.sql(
        "SELECT 1 AS u, 5 AS x FROM range(600) WHERE random() < 0.005"
    ),
    "sample": lambda: CONNECTION.sql(
        "SELECT u, x FROM (SELECT 1 AS u, 5 AS x FROM range(600)) USING SAMPLE 0.5 PERCENT (bernoulli)"
    ),
}


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("sql", ["COUNT(*) AS n, SUM(x) AS total", "MEDIAN(x) AS middle"])
@pytest.mark.parametrize(
    ("source", "engine"),
    [("code", "polars"), ("code", "duckdb"), ("chance", None), ("sample", None)],
)
def test_a_unit_is_bounded_on_the_rows_that_are_added_up(
    source: str, engine: Any, sql: str, beside: bool, norm: int
) -> None:
    """Read twice, these are other rows: a unit that was light then could count in full now."""
    opened = dp.Session(dp.Budget(epsilon=1))
    unit, columns = dp.Unit("u", max_rows=2), {"x": dp.Range(0, 10)}
    opened.register("t", FICKLE[source](), engine=engine, unit=unit, columns=columns)
    opened.register("more", pl.DataFrame({"x": range(11)}), public=True)
    query = opened.query(f"SELECT {sql} FROM t{' JOIN more USING (x)' if beside else ''}")
    layout = layout_for(query._compiled, norm)
    for _ in range(1 if source == "code" else 25):
        found = measured(query._engine, query._compiled, layout)
        for part, exact, bits in zip(layout.parts, found, layout.bits, strict=True):
            most = 2 * 5 if isinstance(part, CodedSum) else 2
            assert sum(exact) <= most << bits


@pytest.mark.parametrize(
    "frame",
    [
        FRAME,
        FRAME.filter((pl.col("x") > 1) & pl.col("u").is_in([1, 2])).select("u", y=pl.col("x") + 1),
        FRAME.with_columns(pl.when(pl.col("x") > 5).then(1).otherwise(2).alias("y")),
        FRAME.with_columns(y=pl.col("s").str.len_chars()).drop("x").rename({"u": "v"}),
        FRAME.cast({"x": pl.Int8}).drop_nulls(),
    ],
)
def test_frames_that_look_at_one_row_after_the_other_need_not_be_kept(frame: pl.LazyFrame) -> None:
    assert is_steady(frame)


@pytest.mark.parametrize(
    "frame",
    [
        FRAME.unique(),
        FRAME.head(1),
        FRAME.group_by("u").agg(pl.first("x")),
        FRAME.with_columns(pl.col("x").shuffle()),
        FRAME.with_columns(pl.col("x").sample(fraction=1)),
        FRAME.with_columns(y=pl.col("x").rank("random")),
        FRAME.with_columns(y=pl.col("x").sum().over("u")),
        FRAME.with_columns(y=pl.col("x").unique().first()),
        FRAME.map_batches(lambda frame: frame),
        FRAME.select("u", pl.col("x").map_batches(lambda x: x, return_dtype=pl.Float64)),
        FRAME.join(FRAME, on="u"),
        FRAME.with_row_index(),
        FRAME.with_columns(pl.lit("first\nUNIQUE")),
    ],
)
def test_frames_that_may_differ_each_time_are_not_taken_for_steady(frame: pl.LazyFrame) -> None:
    assert not is_steady(frame)


def test_a_scan_of_a_file_is_steady(tmp_path: Any) -> None:
    FRAME.collect().write_parquet(tmp_path / "t.parquet")
    assert is_steady(pl.scan_parquet(tmp_path / "t.parquet").filter(pl.col("x") > 1))


@pytest.mark.parametrize(
    ("sql", "steady"),
    [
        ("FROM stored", True),
        ("SELECT x, u FROM stored", True),
        ("FROM stored TABLESAMPLE system(10%)", False),
        ("FROM stored USING SAMPLE 3 ROWS", False),
        ("SELECT u, random() AS x FROM stored", False),
        ("FROM stored LIMIT 3", False),
        ("SELECT DISTINCT u FROM stored", False),
    ],
)
def test_only_a_table_itself_has_one_state(sql: str, steady: bool) -> None:
    assert scans_a_table(CONNECTION.sql(sql)) is steady


def test_a_column_named_like_a_scan_makes_no_table() -> None:
    CONNECTION.register("fickle", FRAME.select(pl.col("x").shuffle().alias("─ Seq Scan ─")))
    assert not scans_a_table(CONNECTION.sql("FROM fickle"))


def test_a_view_that_was_replaced_is_looked_at_again() -> None:
    """A relation names its view. By the time of a query, chance may have come into it."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS u, 5 AS x FROM range(600)")
        connection.execute("CREATE VIEW seen AS FROM kept")
        opened = dp.Session(dp.Budget(epsilon=1))
        opened.register("t", connection.sql("FROM seen"), unit=dp.Unit("u", max_rows=2))
        query = opened.query("SELECT COUNT(*) AS n FROM t")
        layout = layout_for(query._compiled, 1)
        connection.execute("CREATE OR REPLACE VIEW seen AS FROM kept WHERE random() < 0.005")
        for _ in range(50):
            ((found,),) = measured(query._engine, query._compiled, layout)
            assert found <= 2 << layout.bits[0]

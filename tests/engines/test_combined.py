"""Tables from different places are put together on one engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines.base import request_for

LEFT = pl.DataFrame({"u": [1, 1, 2, None], "x": [1, 2, 3, 4]})
RIGHT = pl.DataFrame({"v": [1, 2, 2, None], "y": [10, 20, 30, 40]})
ASKED = "SELECT COUNT(*), SUM(x), SUM(y) FROM a JOIN b ON a.u = b.v"


def measured(session: dp.Session, sql: str) -> list[float]:
    query = session.query(sql)
    layout = layout_for(query._compiled, 1)
    found = query._engine.measure(request_for(query._compiled, layout))
    return [values[0] * layout.step(i) for i, values in enumerate(found)]


def session(left: Any, right: Any) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=1))
    columns = {"x": dp.Range(0, 100)}
    opened.register("a", left, unit=dp.Unit("u", max_rows=10), columns=columns)
    columns = {"y": dp.Range(0, 100)}
    opened.register("b", right, unit=dp.Unit("v", max_rows=10), columns=columns)
    return opened


def places(frame: pl.DataFrame, path: Path) -> dict[str, Any]:
    """The same rows in everything that can be registered."""
    frame.write_parquet(path.with_suffix(".parquet"))
    frame.write_csv(path.with_suffix(".csv"))
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute("CREATE TABLE rows AS SELECT * FROM frame")
    found = {
        "frame": frame,
        "lazy": frame.lazy(),
        "scan": pl.scan_parquet(path.with_suffix(".parquet")),
        "parquet": path.with_suffix(".parquet"),
        "csv": str(path.with_suffix(".csv")),
        "relation": connection.table("rows"),
        "arrow": frame.to_arrow(),
    }
    if pytest.importorskip("pandas"):
        found["pandas"] = frame.to_pandas(use_pyarrow_extension_array=True)
    return found


@pytest.mark.parametrize("which", range(8))
def test_any_two_places_give_the_same_answer(which: int, tmp_path: Path) -> None:
    lefts, rights = places(LEFT, tmp_path / "a"), places(RIGHT, tmp_path / "b")
    name = list(lefts)[which]
    # Each place meets itself, a frame and a relation.
    for other in {name, "frame", "relation"}:
        expected = [4.0, 9.0, 70.0]
        assert sorted(measured(session(lefts[name], rights[other]), ASKED)) == sorted(expected)


def test_a_relation_that_changes_is_read_again() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows AS SELECT 1 AS v, 10 AS y")
    opened = session(LEFT, connection.table("rows"))
    asked = "SELECT COUNT(*) FROM a JOIN b ON a.u = b.v"
    assert measured(opened, asked) == [2.0]
    connection.execute("INSERT INTO rows VALUES (2, 5)")
    assert measured(opened, asked) == [3.0]


@pytest.mark.parametrize("place", ["parquet", "csv", "relation", "two of one connection", "arrow"])
def test_threads_may_ask_of_several_tables(place: str, tmp_path: Path) -> None:
    """Whoever came second was refused by DuckDB, after the question was paid for."""
    if place == "two of one connection":
        connection = duckdb.connect()
        for name, frame in (("l", LEFT), ("r", RIGHT)):
            connection.register("frame", frame)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame")
        opened = session(connection.table("l"), connection.table("r"))
    else:
        lefts, rights = places(LEFT, tmp_path / "a"), places(RIGHT, tmp_path / "b")
        opened = session(lefts[place], rights[place])
    asked = [ASKED, "SELECT SUM(x) FROM a", "SELECT SUM(y) FROM b"]
    alone = [measured(opened, sql) for sql in asked]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda i: measured(opened, asked[i % 3]), range(60)))
    assert found == [alone[i % 3] for i in range(60)]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_tables_may_have_names_in_any_script(engine: Any) -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    for name, frame in (("Größe", LEFT), ("日本", RIGHT)):
        unit = dp.Unit(frame.columns[0], max_rows=9)
        opened.register(name, frame, unit=unit, engine=engine)
    assert measured(opened, 'SELECT COUNT(*) FROM "Größe" g JOIN "日本" j ON g.u = j.v') == [4.0]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_units_stored_in_different_widths_are_the_same(engine: Any) -> None:
    narrow = LEFT.with_columns(pl.col("u").cast(pl.UInt8))
    opened = dp.Session(dp.Budget(epsilon=1))
    opened.register("a", narrow, unit=dp.Unit("u", max_rows=9), engine=engine)
    opened.register("b", RIGHT, unit=dp.Unit("v", max_rows=9), engine=engine)
    assert measured(opened, "SELECT COUNT(*) FROM a JOIN b ON a.u = b.v") == [4.0]
    stacked = "SELECT COUNT(DISTINCT w) FROM (SELECT u AS w FROM a UNION ALL SELECT v FROM b)"
    assert measured(opened, stacked) == [2.0]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("dtype", [pl.Float64, pl.UInt64, pl.Datetime("us")])
def test_units_that_engines_compare_differently_are_refused(engine: Any, dtype: Any) -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    frame = LEFT.with_columns(pl.col("u").cast(dtype))
    opened.register("a", frame, unit=dp.Unit("u", max_rows=9), engine=engine)
    with pytest.raises(dp.QueryError, match="cannot be joined, stacked or grouped by"):
        opened.query("SELECT COUNT(*) FROM a JOIN a AS b ON a.u = b.u")


# --- what cannot be read ----------------------------------------------------------------------------

MANY = 300_000


def unreadable_file(folder: Path) -> Path:
    """A file whose last text is no UTF-8."""
    texts = pa.array([b"1"] * MANY + [b"\xff\xfe"], pa.binary()).view(pa.string())
    rows = pa.table({"v": [1] * (MANY + 1), "t": texts, "y": [1] * (MANY + 1)})
    pq.write_table(rows, folder / "unreadable.parquet", row_group_size=20_000)
    return folder / "unreadable.parquet"


def raising_frame() -> pl.LazyFrame:
    """A lazy frame whose last row stops it."""
    v, texts = pl.repeat(1, 10 * MANY + 1, eager=True), pl.repeat("1", 10 * MANY, eager=True)
    rows = pl.DataFrame({"v": v, "t": pl.concat([texts, pl.Series(["one"])])})
    return rows.lazy().select("v", y=pl.col("t").cast(pl.Int64), t=pl.lit("1"))


@pytest.mark.parametrize("place", ["polars", "duckdb", "lazy", "lazy on duckdb", "one table"])
@pytest.mark.parametrize(
    "asked",
    [
        "SELECT SUM(y), COUNT(t) FROM (SELECT u FROM a WHERE x = 9) a JOIN b ON a.u = b.v",
        "SELECT SUM(y), COUNT(t) FROM (SELECT u FROM a WHERE x = 9) a LEFT JOIN b ON a.u = b.v",
        "SELECT SUM(y), COUNT(t) FROM b WHERE v IN (SELECT u FROM a WHERE x = 9)",
    ],
)
def test_what_cannot_be_read_is_met_whatever_it_is_joined_with(
    asked: str, place: str, tmp_path: Path
) -> None:
    """Where the other side had no rows it was not read, so an error told whether it had some."""
    other: Any = raising_frame() if "lazy" in place else str(unreadable_file(tmp_path))
    engine: Any = "polars" if place in ("polars", "lazy") else "duckdb"
    bound, columns = dp.Unit("v", max_rows=10), {"y": dp.Range(0, 100)}
    for x in (1, 9):
        opened = dp.Session(dp.Budget(epsilon=10))
        opened.register("b", other, unit=bound, columns=columns, engine=engine)
        if place == "one table":
            asked = asked.replace("SELECT u FROM a WHERE x", "SELECT v AS u FROM b WHERE y")
        else:
            rows = pl.DataFrame({"u": [1, 2], "x": [x, 2]})
            opened.register("a", rows, unit=dp.Unit("u", max_rows=10), engine=engine)
        with pytest.raises(dp.EngineError):
            opened.sql(asked, epsilon=1)

"""Every kind of data opens on an engine, in place; what cannot be opened is said clearly."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from polars.io.plugins import register_io_source

import dpframe as dp
from dpframe.engines import sources
from dpframe.engines.base import Engine
from dpframe.engines.sandbox import BELIEVES
from dpframe.engines.sources import engine_for, open_data
from dpframe.mechanisms import Law

ENGINES = ("duckdb", "polars")
ROWS = [(1, 1.5, "a"), (2, None, "b"), (3, 2.5, None), (40, 0.5, "a")]
FRAME = pl.DataFrame(ROWS, schema={"x": pl.Int64, "y": pl.Float64, "s": pl.String}, orient="row")
COLUMNS = {"x": dp.Range(0, 10), "y": dp.Range(0, 2), "s": dp.Keys(["a", "b", "c"])}


@pytest.fixture(autouse=True)
def _no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))


def session(data: Any, engine: Any = None, **options: Any) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=100))
    opened.register("t", data, columns=options.pop("columns", COLUMNS), engine=engine, **options)
    return opened


def answers(data: Any, engine: Any = None) -> list[list[tuple[Any, ...]]]:
    opened = session(data, engine)
    return [
        opened.sql("SELECT COUNT(*), COUNT(y), SUM(x), SUM(y) FROM t", epsilon=1).frame.rows(),
        opened.sql("SELECT s, COUNT(*) FROM t GROUP BY s", epsilon=1).frame.rows(),
    ]


# x = 40 is clamped to 10, y = 2.5 to 2; the empty public group "c" is present.
EXPECTED = [[(4, 3, 16, 4.0)], [("a", 2), ("b", 1), ("c", 0)]]


def parquet(folder: Path) -> str:
    FRAME.write_parquet(folder / "t.parquet")
    return str(folder / "t.parquet")


def csv(folder: Path) -> str:
    FRAME.write_csv(folder / "t.csv")
    return str(folder / "t.csv")


def pattern(folder: Path) -> str:
    for i in range(4):
        FRAME[i : i + 1].write_parquet(folder / f"part{i}.parquet")
    return str(folder / "part*.parquet")


def nested(folder: Path) -> str:
    for i in range(2):
        (folder / f"year={i}").mkdir()
        FRAME[2 * i : 2 * i + 2].write_csv(folder / f"year={i}" / "t.csv")
    return str(folder / "**" / "*.csv")


CONNECTION = duckdb.connect()
CONNECTION.execute("CREATE TABLE stored (x BIGINT, y DOUBLE, s VARCHAR)")
CONNECTION.executemany("INSERT INTO stored VALUES (?, ?, ?)", ROWS)

SOURCES: dict[str, Any] = {
    "frame": lambda folder: FRAME,
    "lazy frame": lambda folder: FRAME.lazy(),
    "scan": lambda folder: pl.scan_parquet(parquet(folder)),
    "arrow table": lambda folder: FRAME.to_arrow(),
    "record batch": lambda folder: FRAME.to_arrow().to_batches()[0],
    "pandas": lambda folder: FRAME.to_pandas(),
    "pandas arrow": lambda folder: FRAME.to_pandas(use_pyarrow_extension_array=True),
    "parquet": parquet,
    "parquet path": lambda folder: Path(parquet(folder)),
    "parquet pattern": pattern,
    "csv": csv,
    "csv path": lambda folder: Path(csv(folder)),
    "csv pattern": nested,
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_data_gives_the_same_answers(
    source: str, engine: str, tmp_path: Path
) -> None:
    if source.startswith("csv") and engine == "polars":
        with pytest.raises(dp.DeclarationError, match="read by DuckDB"):
            session(SOURCES[source](tmp_path), engine)
        return
    assert answers(SOURCES[source](tmp_path), engine) == EXPECTED


@pytest.mark.parametrize("sql", ["FROM stored", "SELECT s, y, x FROM stored WHERE x > -1"])
def test_relations_and_tables_of_duckdb_are_read_where_they_are(sql: str) -> None:
    assert answers(CONNECTION.sql(sql)) == EXPECTED
    assert answers(CONNECTION.table("stored")) == EXPECTED


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("frame", "Polars"),
        ("lazy frame", "Polars"),
        ("scan", "Polars"),
        ("arrow table", "DuckDB"),
        ("pandas", "DuckDB"),
        ("parquet", "DuckDB"),
        ("csv", "DuckDB"),
    ],
)
def test_the_engine_follows_the_data(source: str, expected: str, tmp_path: Path) -> None:
    assert engine_for(SOURCES[source](tmp_path), None).name == expected


def test_the_engine_can_be_asked_for() -> None:
    assert engine_for(FRAME, "duckdb").name == "DuckDB"
    assert engine_for(FRAME.to_arrow(), "polars").name == "Polars"
    assert "t on DuckDB" in session(FRAME, "duckdb").describe()


@pytest.mark.parametrize("engine", ["spark", "DuckDB", "", 5])
def test_an_unknown_engine_is_refused(engine: Any) -> None:
    with pytest.raises(dp.ParameterError, match="is unknown"):
        engine_for(FRAME, engine)


def test_a_relation_is_not_moved_to_polars() -> None:
    with pytest.raises(dp.DeclarationError, match="stays on DuckDB"):
        engine_for(CONNECTION.table("stored"), "polars")


@pytest.mark.parametrize(
    "data",
    [
        None,
        5,
        [1, 2],
        {"x": [1]},
        b"t.parquet",
        np.zeros(3),
        FRAME["x"],
        pd.Series([1]),
        pa.array([1]),
        FRAME.to_arrow().to_reader(),
        pl.col("x"),
        object(),
    ],
    ids=lambda data: type(data).__name__,
)
def test_what_is_no_table_is_refused(data: Any) -> None:
    with pytest.raises(dp.DeclarationError, match="cannot be registered") as caught:
        session(data)
    assert type(data).__name__ in str(caught.value)


def test_a_connection_is_no_table() -> None:
    with pytest.raises(dp.DeclarationError):
        session(CONNECTION)


# --- files ---------------------------------------------------------------------------------------


def write(folder: Path, name: str, content: bytes) -> str:
    (folder / name).write_bytes(content)
    return str(folder / name)


@pytest.mark.parametrize("engine", [None, *ENGINES])
@pytest.mark.parametrize(
    "name", ["missing.parquet", "missing.csv", "no/such/*.parquet", "", "t", "a\0b.csv", "."]
)
def test_a_missing_file_is_said_to_be_missing(name: str, engine: Any, tmp_path: Path) -> None:
    with pytest.raises(dp.DeclarationError, match="no file at") as caught:
        session(str(tmp_path / name) if name else "", engine)
    assert "parquet" in caught.value.fix


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(dp.DeclarationError, match="no file at"):
        session(str(tmp_path))
    with pytest.raises(dp.DeclarationError, match="no file at"):
        session(tmp_path)


@pytest.mark.parametrize("name", ["t.json", "t.xlsx", "t", "t.parquet.bak", "t.feather"])
def test_other_endings_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(dp.DeclarationError, match="is neither Parquet nor CSV"):
        session(write(tmp_path, name, b"{}"))


def test_parquet_and_csv_do_not_mix(tmp_path: Path) -> None:
    parquet(tmp_path)
    csv(tmp_path)
    with pytest.raises(dp.DeclarationError, match="neither Parquet nor CSV"):
        session(str(tmp_path / "t.*"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1garbagePAR1", b"x,y\n1,2\n"])
def test_a_damaged_parquet_file_is_refused(content: bytes, engine: str, tmp_path: Path) -> None:
    with pytest.raises(dp.DeclarationError, match="cannot be opened") as caught:
        session(write(tmp_path, "t.parquet", content), engine)
    assert caught.value.__context__ is None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ending", ["CSV", "tsv", "PARQUET", "pq"])
def test_endings_are_read_in_any_case(ending: str, engine: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{ending}"
    if ending.lower() in ("csv", "tsv"):
        engine = "duckdb"  # which alone reads them
        FRAME.write_csv(path, separator="\t" if ending == "tsv" else ",")
    else:
        FRAME.write_parquet(path)
    assert answers(str(path), engine) == EXPECTED


@pytest.mark.parametrize("engine", ENGINES)
def test_names_with_quotes_and_brackets_are_names(engine: str, tmp_path: Path) -> None:
    for name in (
        "it's.parquet",
        'say "hi".parquet',
        "a;b.parquet",
        "é日本.parquet",
        "[ab].parquet",
    ):
        FRAME.write_parquet(tmp_path / name)
        assert answers(str(tmp_path / name), engine) == EXPECTED


@pytest.mark.parametrize("engine", ENGINES)
def test_files_of_different_columns_are_refused(engine: str, tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a.parquet")
    FRAME.select(z="x").write_parquet(tmp_path / "b.parquet")
    with pytest.raises(dp.DeclarationError, match="different columns"):
        session(str(tmp_path / "*.parquet"), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_vanished_is_an_engine_error(engine: str, tmp_path: Path) -> None:
    path = parquet(tmp_path)
    opened = session(path, engine)
    Path(path).unlink()
    with pytest.raises(dp.EngineError) as caught:
        opened.sql("SELECT SUM(x) FROM t", epsilon=1)
    assert caught.value.__context__ is None


# --- NaN, which the statistics of a file leave out -------------------------------------------------

NAN_QUERIES = [
    "SELECT SUM(y) FROM t WHERE s = 'b'",
    "SELECT SUM(-y), COUNT(y) FROM t",
    "SELECT SUM(CAST(y AS BIGINT)) FROM t WHERE y >= 0",
    "SELECT COUNT(*) FROM t WHERE y > 1.9",
    "SELECT COUNT(*) FROM t WHERE y IS NULL",
    "SELECT CAST(y AS BIGINT) AS k, COUNT(*) FROM t GROUP BY k",
]


def with_nan(folder: Path, kind: Any = pl.Float64) -> str:
    """DuckDB is told that all values lie inside the declared range, and would believe it."""
    values = pl.Series("y", [0.5, float("nan"), 1.5, 1.0] * 100, dtype=kind)
    data = pl.DataFrame({"y": values, "s": ["a", "b", "c", "a"] * 100})
    pq.write_table(data.to_arrow(), folder / "nan.parquet")
    return str(folder / "nan.parquet")


@pytest.mark.parametrize("kind", [pl.Float64, pl.Float32])
@pytest.mark.parametrize("sql", NAN_QUERIES)
def test_nan_in_a_parquet_file_is_null_whatever_its_statistics_say(
    sql: str, kind: Any, tmp_path: Path
) -> None:
    path = with_nan(tmp_path, kind)
    columns = {"y": COLUMNS["y"], "s": COLUMNS["s"]}
    found = [session(path, e, columns=columns).sql(sql, epsilon=1).frame.rows() for e in ENGINES]
    in_memory = session(pl.read_parquet(path), "duckdb", columns=columns)
    assert found[0] == found[1] == in_memory.sql(sql, epsilon=1).frame.rows()


def test_a_relation_over_files_takes_nothing_from_their_statistics(tmp_path: Path) -> None:
    path = with_nan(tmp_path)
    columns = {"y": COLUMNS["y"], "s": COLUMNS["s"]}
    connection = duckdb.connect()
    connection.sql(f"CREATE VIEW behind AS SELECT s, y FROM '{path}'")
    made = [
        lambda: connection.sql(f"SELECT * FROM read_parquet('{path}', can_have_nan = true)"),
        lambda: connection.sql(f"SELECT s, y + 1 AS y FROM '{path}' WHERE s = 'a'"),
        lambda: connection.sql(f"SELECT s, IF(y <= 1.5, 1, 0) AS y FROM '{path}'"),
        lambda: connection.sql(f"SELECT s, y FROM '{path}' WHERE y > 7"),
        lambda: connection.table("behind"),
    ]
    for relation in made:
        with pytest.raises(dp.DeclarationError, match="whose statistics DuckDB believes") as caught:
            session(relation(), columns=columns)
    fix = re.search(r'connection.execute\("(.*)"\)', str(caught.value))
    assert fix is not None
    connection.execute(fix.group(1))
    exact = [300, 200, 400, 0, 300]
    for relation, expected in zip(made, exact, strict=True):
        opened = session(relation(), columns={**columns, "y": dp.Range(0, 3)})
        assert opened.sql("SELECT COUNT(y) FROM t", epsilon=1).item() == expected
    connection = duckdb.connect()
    connection.sql(f"CREATE TABLE copied AS SELECT * FROM '{path}'")  # DuckDB's own know of NaN
    opened = session(connection.table("copied"), columns=columns)
    assert opened.sql("SELECT COUNT(y) FROM t", epsilon=1).item() == 300


# --- what else a file could make of a row ----------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("more", [[], ["gp"]])
def test_rows_of_a_file_are_looked_at_one_by_one(
    engine: str, more: list[str], tmp_path: Path
) -> None:
    """Of a run of equal texts and NULL, DuckDB's own scan keeps all or none."""
    wards = ["er"] * 90 + [None] * 10 + more
    data = pl.DataFrame({"ward": wards}, schema={"ward": pl.String})
    pq.write_table(data.to_arrow(), tmp_path / "t.parquet", use_dictionary=False)
    opened = session(str(tmp_path / "t.parquet"), engine, columns={})
    for condition, expected in (
        ("ward IS NULL", 10),
        ("ward IS NOT NULL", 90 + len(more)),
        ("ward IS DISTINCT FROM 'er'", 10 + len(more)),
        ("ward IS NOT DISTINCT FROM NULL", 10),
        ("COALESCE(ward, 'xx') = 'xx'", 10),
        ("ward = 'er'", 90),
    ):
        found = opened.sql(f"SELECT COUNT(*) FROM t WHERE {condition}", epsilon=1, fresh=True)
        assert found.item() == expected, condition


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("use_dictionary", [False, True])
def test_text_that_cannot_be_read_fails_whatever_rows_are_asked_for(
    engine: str, use_dictionary: bool, tmp_path: Path
) -> None:
    offsets = pa.py_buffer(np.array([0, 2, 4, 6], dtype=np.int32).tobytes())
    texts = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"er\xff\xfegp"))
    table = pa.table({"ward": texts, "x": [1, 2, 3]})
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=use_dictionary, row_group_size=1)
    opened = session(str(tmp_path / "t.parquet"), engine, columns={"x": dp.Range(0, 10)})
    for x in (1, 2, 3):
        with pytest.raises(dp.EngineError) as caught:
            opened.sql(f"SELECT COUNT(*) FROM t WHERE x = {x} AND ward <> 'zz'", epsilon=1)
        assert caught.value.__context__ is None


def test_a_column_keeps_the_type_that_its_bounds_were_proven_from(tmp_path: Path) -> None:
    """An unsigned number needs no lower bound, until the file is written again with signed ones."""
    path, columns = tmp_path / "t.parquet", {"x": dp.Range(0, 10)}
    before = pl.DataFrame({"x": [1, 2]}, schema={"x": pl.UInt32})
    after = pl.DataFrame({"x": [-(10**9), 3]}, schema={"x": pl.Int64})
    before.write_parquet(path)
    connection = duckdb.connect()
    connection.register("before", before)
    connection.register("after", after)
    connection.sql("CREATE TABLE t AS SELECT * FROM before")
    connection.sql("CREATE VIEW v AS SELECT x FROM t")
    opened = [
        session(data, columns=columns)
        for data in (str(path), connection.table("t"), connection.sql("SELECT * FROM t"))
    ]
    assert [one.sql("SELECT SUM(x) FROM t", epsilon=1).item() for one in opened] == [3, 3, 3]
    after.write_parquet(path)
    connection.sql("DELETE FROM t")
    connection.sql("ALTER TABLE t ALTER x TYPE BIGINT")
    connection.sql("INSERT INTO t SELECT * FROM after")
    assert [one.sql("SELECT SUM(x) FROM t", epsilon=1).item() for one in opened] == [3, 3, 3]


@pytest.mark.parametrize("source", ["parquet", "arrow table", "pandas"])
def test_threads_may_ask_one_session(source: str, tmp_path: Path) -> None:
    opened = session(SOURCES[source](tmp_path), "duckdb")

    def ask(number: int) -> int:
        return int(opened.sql("SELECT SUM(x) FROM t", epsilon=1, fresh=True).item())

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(24))) == {16}


# --- CSV cells -----------------------------------------------------------------------------------


def long_csv(folder: Path, *bad: str) -> str:
    """Types are found in the first rows; the bad ones come long after."""
    lines = ["x,y,s,d", *("5,1.5,a,2024-01-31" for _ in range(30_000)), *bad]
    return write(folder, "long.csv", "\n".join(lines).encode())


@pytest.mark.parametrize(
    "bad",
    [
        "alice@example.com,1.5,a,2024-01-31",
        "5,alice@example.com,a,2024-01-31",
        "5,1.5,a,alice@example.com",
        "99999999999999999999999,1e999,a,2024-13-45",
        "NaN,inf,a,0000-00-00",
    ],
)
def test_a_bad_cell_is_null_and_raises_nothing(bad: str, tmp_path: Path) -> None:
    opened = session(long_csv(tmp_path, bad))
    (row,) = opened.sql("SELECT COUNT(*), COUNT(x), COUNT(d) FROM t", epsilon=1).frame.rows()
    assert row[1] >= 30_000
    assert row[2] >= 30_000
    assert row[0] == 30_001


@pytest.mark.parametrize("bad", ["5", "5,1.5,a,2024-01-31,extra,cells", '"5,1.5,a', ",,,", ""])
def test_a_bad_line_raises_nothing(bad: str, tmp_path: Path) -> None:
    opened = session(long_csv(tmp_path, bad, "5,1.5,b,2024-01-31"))
    (row,) = opened.sql("SELECT COUNT(*), SUM(x) FROM t", epsilon=1).frame.rows()
    assert 30_000 <= row[0] <= 30_002


def test_an_error_about_a_csv_file_quotes_no_cell(tmp_path: Path) -> None:
    text = "x,y\nalice@example.com,1\n" * 3 + '"alice@example.com'
    try:
        session(write(tmp_path, "t.csv", text.encode()))
    except dp.DPFrameError as error:
        shown = "".join(traceback.format_exception(error))
        assert "alice" not in shown.replace(str(tmp_path), "")


ODD_CELLS = [
    "two\nlines",
    "a\r\nb",
    '"\n"\n,,,\n"',
    "''",
    "'a','b'",
    "# no comment",
    "semi;colon;s",
    'say "x"',
    "\\",
    "",
]


@pytest.mark.parametrize(("separator", "first"), [(",", True), (";", False), ("\t", False)])
@pytest.mark.parametrize("cell", ODD_CELLS)
def test_no_row_of_a_csv_file_changes_how_others_are_read(
    cell: str, first: bool, separator: str, tmp_path: Path
) -> None:
    usual = [(i, "Smith, John", i % 10) for i in range(60)]
    odd = [(60, cell, 5)]
    rows = [*odd, *usual] if first else [*usual, *odd]
    data = pl.DataFrame(rows, schema=["id", "name", "x"], orient="row")
    data.write_csv(tmp_path / "t.csv", separator=separator)
    opened = session(str(tmp_path / "t.csv"), columns={"x": dp.Range(0, 9), "id": dp.Range(0, 99)})
    asked = "SELECT COUNT(*), COUNT(id), SUM(x) FROM t"
    assert opened.sql(asked, epsilon=1).frame.row(0) == (61, 61, 275)


def test_csv_files_with_other_headers_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("y,x\n1,2\n")
    with pytest.raises(dp.DeclarationError, match="cannot be opened"):
        session(str(tmp_path / "*.csv"), columns={})


def test_lines_of_a_csv_file_may_end_as_on_windows(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b'x,name\r\n1,"a\r\nb"\r\n2,c\r\n')
    opened = session(str(tmp_path / "t.csv"), columns={"x": dp.Range(0, 9)})
    assert opened.sql("SELECT COUNT(*), SUM(x) FROM t", epsilon=1).frame.row(0) == (2, 3)


def test_a_csv_file_without_rows_has_its_columns(tmp_path: Path) -> None:
    opened = session(write(tmp_path, "t.csv", b"x,y\n"), columns={})
    assert opened.sql("SELECT COUNT(*) FROM t", epsilon=1).item() == 0


# --- odd frames ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_table_is_answered_like_any_other(engine: str) -> None:
    assert answers(FRAME.clear(), engine) == [
        [(0, 0, 0, 0.0)],
        [("a", 0), ("b", 0), ("c", 0)],
    ]


@pytest.mark.parametrize("engine", ENGINES)
def test_columns_that_cannot_be_read_do_not_hinder_the_others(engine: str) -> None:
    data = FRAME.with_columns(
        pl.lit(None).alias("nothing"),
        pl.struct(a=1).alias("record"),
        pl.concat_list("x", "x").alias("several"),
        pl.lit(b"x").alias("bytes"),
        pl.duration(days=1).alias("span"),
        pl.time(1).alias("clock"),
    )
    assert answers(data, engine) == EXPECTED
    described = session(data, engine).describe()
    assert described.count("cannot be used") >= 5


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "dtype",
    [
        pl.Int8,
        pl.Int16,
        pl.Int32,
        pl.Int64,
        pl.Int128,
        pl.UInt8,
        pl.UInt16,
        pl.UInt32,
        pl.UInt64,
        pl.Float32,
        pl.Float64,
        pl.Decimal(20, 4),
    ],
    ids=str,
)
def test_numbers_of_every_width_are_read(dtype: Any, engine: str) -> None:
    data = pl.DataFrame({"x": pl.Series([1, None, 100, 3]).cast(dtype)})
    if (dtype, engine) == (pl.Int128, "duckdb"):  # DuckDB cannot scan them
        with pytest.raises(dp.DeclarationError, match="cannot be opened"):
            session(data, engine, columns={"x": dp.Range(0, 10)})
        return
    opened = session(data, engine, columns={"x": dp.Range(0, 10)})
    (row,) = opened.sql("SELECT COUNT(x), SUM(x), AVG(x) FROM t", epsilon=1).frame.rows()
    assert row[0] == 3
    assert row[1:] == pytest.approx((14, 14 / 3))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Enum(["a", "b", "z"]), pl.String], ids=str)
def test_text_of_every_kind_is_read(dtype: Any, engine: str) -> None:
    data = pl.DataFrame({"s": pl.Series(["a", "b", None, "z"]).cast(dtype)})
    opened = session(data, engine, columns={"s": dp.Keys(["a", "b", "c"])})
    found = opened.sql("SELECT s, COUNT(*) FROM t WHERE s LIKE '_' GROUP BY s", epsilon=1)
    assert found.frame.rows() == [("a", 1), ("b", 1), ("c", 0)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_of_every_unit_are_read(unit: Any, engine: str) -> None:
    times = pl.Series(["2024-01-01 10:30:00", None, "1999-12-31 23:59:59"])
    data = pl.DataFrame({"d": times.str.to_datetime(time_unit=unit)})
    opened = session(data, engine, columns={})
    found = opened.sql("SELECT COUNT(d), SUM(EXTRACT(hour FROM d)) FROM t", epsilon=1)
    assert found.frame.rows() == [(2, 33)]


HOSTILE = [
    *("k0", "p0", "u", "n", "a0", "one", "m", "g", "c0", "w0", "c1", "k1", "v0", "is_heavy"),
    *("pairs", "heavy", "data", "inputs", "dpframe_rows", "__dpframe", "__dpframe_row"),
    *('q"uote', "new\nline", "sp ace", "é", "日本", "select", "a.b", "%s", "{0}", "'", "`", "\\"),
    "weird;drop table t",
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", [None, dp.Unit("n", max_rows=3)], ids=["row", "unit"])
def test_any_name_of_a_column_is_a_name(unit: dp.Unit | None, engine: str) -> None:
    data = pl.DataFrame({name: [i, i + 1, i + 2] for i, name in enumerate(HOSTILE)})
    declared = {name: dp.Range(0, 99) for name in HOSTILE}
    opened = session(data, engine, columns=declared, unit=unit)
    for i, name in enumerate(HOSTILE):
        if unit is not None and i % 3:
            continue  # a third of them will do
        quoted = '"' + name.replace('"', '""') + '"'
        total = opened.sql(
            f"SELECT SUM({quoted} + 1), COUNT(*) FILTER (WHERE {quoted} > {i}) FROM t"
            f" WHERE {quoted} <= {i + 1}",
            epsilon=1,
        )
        assert total.frame.rows() == [(2 * i + 3, 1)], name
        if unit is None or name != unit.column:
            grouped = opened.sql(
                f"SELECT {quoted} + 0 AS k, COUNT(*) AS c FROM t GROUP BY k HAVING c > 0", epsilon=1
            )
            assert grouped.frame.rows() == [(i + j, 1) for j in range(3)], name


@pytest.mark.parametrize(
    "data",
    [
        pa.table([[1], [2]], names=["x", "x"]),
        pd.DataFrame({"x": ["a", 1]}),
        pl.LazyFrame({"x": [1]}).select(pl.col("nothing")),
        pl.scan_parquet("/no/such/file.parquet"),
    ],
    ids=["two columns of one name", "mixed objects", "a column that is not there", "no file"],
)
def test_a_frame_that_polars_cannot_read_is_refused(data: Any) -> None:
    with pytest.raises(dp.DeclarationError):
        session(data, "polars", columns={})


# --- nothing is copied -----------------------------------------------------------------------------


def counting_scan() -> tuple[pl.LazyFrame, list[list[str] | None]]:
    """A frame that writes down when it is read, and which columns of it."""
    reads: list[list[str] | None] = []

    def read(
        columns: list[str] | None, predicate: Any, rows: int | None, batch: int | None
    ) -> Iterator[pl.DataFrame]:
        reads.append(columns)
        yield FRAME.select(columns) if columns else FRAME

    return register_io_source(read, schema=FRAME.schema), reads


def test_registering_reads_no_row_and_a_query_reads_once() -> None:
    scan, reads = counting_scan()
    opened = session(scan)
    query = opened.query("SELECT s, COUNT(*), AVG(y), SUM(x) FROM t WHERE x > 0 GROUP BY s")
    query.explain(epsilon=1)
    assert reads == []
    query.release(epsilon=1)
    assert len(reads) == 1
    opened.sql("SELECT SUM(x) FROM t", epsilon=1)
    assert reads[1:] == [["x"]], "only the columns that are needed"


def test_a_user_level_query_reads_once() -> None:
    scan, reads = counting_scan()
    opened = session(scan, unit=dp.Unit("s", max_rows=1))
    opened.sql("SELECT COUNT(*), AVG(y), COUNT(DISTINCT s) FROM t", epsilon=1)
    assert len(reads) == 1


@pytest.mark.parametrize("source", ["arrow table", "pandas", "frame"])
def test_duckdb_scans_what_it_is_given_in_place(source: str, tmp_path: Path) -> None:
    engine: Engine = engine_for(SOURCES[source](tmp_path), "duckdb")
    relation = engine._relation  # type: ignore[attr-defined]
    tables = relation.query("dpframe_rows", "SELECT COUNT(*) FROM duckdb_tables()")
    assert tables.fetchall() == [(0,)]


def test_the_sandbox_reads_nothing_else(tmp_path: Path) -> None:
    path = parquet(tmp_path)
    engine: Engine = engine_for(FRAME, "duckdb")
    relation = engine._relation  # type: ignore[attr-defined]
    for statement in (
        f"SELECT * FROM read_parquet('{path}')",
        f"SELECT * FROM '{path}'",
        "SELECT * FROM FRAME",
    ):
        with pytest.raises(duckdb.Error):
            relation.query("dpframe_rows", statement).fetchall()


def test_files_have_a_version_that_changes_with_them(tmp_path: Path) -> None:
    path = parquet(tmp_path)
    opened = open_data(path, None)
    before = opened.version()
    assert before == open_data(path, "polars").version()
    FRAME.head(2).write_parquet(path)
    assert opened.version() != before


def test_a_file_that_takes_the_place_of_another_is_a_new_version(tmp_path: Path) -> None:
    path, other = Path(parquet(tmp_path)), tmp_path / "other.parquet"
    opened = open_data(path, None)
    before, times = opened.version(), path.stat()
    other.write_bytes(path.read_bytes())
    os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))
    os.replace(other, path)
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (times.st_size, times.st_mtime_ns)
    assert opened.version() != before


def test_a_pattern_stands_for_the_files_that_were_opened(tmp_path: Path) -> None:
    """Were a later one part of the version, its rows would be taken for measured."""
    FRAME.write_parquet(tmp_path / "a.parquet")
    opened = open_data(str(tmp_path / "*.parquet"), None)
    before = opened.version()
    FRAME.write_parquet(tmp_path / "b.parquet")
    assert opened.version() == before
    assert open_data(str(tmp_path / "*.parquet"), None).version() != before


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_are_added_to_a_frame_in_place_are_not_registered(engine: str) -> None:
    frame = FRAME.clone()
    opened = session(frame, engine)
    frame.extend(FRAME)
    assert frame.height == 2 * FRAME.height
    assert opened.sql("SELECT COUNT(*) FROM t", epsilon=1).item() == FRAME.height


def test_a_lazy_frame_has_the_version_of_the_files_that_it_reads(tmp_path: Path) -> None:
    path = parquet(tmp_path)
    opened = open_data(pl.scan_parquet(path).filter(pl.col("x") > 1), None)
    before = opened.version()
    assert before is not None
    assert opened.version() == before
    FRAME.head(2).write_parquet(path)
    assert opened.version() not in (None, before)
    Path(path).unlink()
    with pytest.raises(dp.EngineError, match="not where it was"):
        opened.version()


def test_a_lazy_frame_over_files_that_are_elsewhere_has_no_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sources, "files_of", lambda frame: ["s3://bucket/t.parquet"])
    assert open_data(FRAME.lazy(), None).version() is None


def test_a_lazy_frame_that_cannot_be_told_has_no_version(tmp_path: Path) -> None:
    paths = [parquet(tmp_path), str(tmp_path / "more.parquet")]
    FRAME.write_parquet(paths[1])
    for frame in (
        pl.scan_parquet(paths),
        FRAME.lazy().map_batches(lambda rows: rows),
        FRAME.lazy().with_columns(pl.col("x").map_batches(lambda x: x, return_dtype=pl.Int64)),
        FRAME.lazy().group_by("s").map_groups(lambda rows: rows, schema=None),
        FRAME.lazy().select(pl.col("x").shuffle()),
        FRAME.lazy().select(pl.col("x").sample(2)),
        FRAME.lazy().filter(pl.col("s") == "Parquet SCAN ["),
    ):
        assert open_data(frame, None).version() is None
    assert open_data(FRAME.lazy().filter(pl.col("x") > 0), None).version() is not None


def test_what_can_change_unnoticed_has_no_version() -> None:
    assert open_data(FRAME.to_pandas(), None).version() is None
    assert open_data(CONNECTION.table("stored"), None).version() is None
    assert open_data(FRAME, None).version() is not None


def test_a_type_that_lies_beyond_the_range_is_clamped_to_its_end() -> None:
    """The end is no number of that type, so it cannot be compared with."""
    connection = duckdb.connect()
    connection.sql(
        f"CREATE TABLE far AS SELECT CAST(x AS UHUGEINT) AS x FROM (VALUES (7), ({2**100}), (NULL)) AS v(x)"
    )
    opened = session(connection.table("far"), columns={"x": dp.Range(-9, -6)})
    assert opened.sql("SELECT COUNT(x), SUM(x) FROM t", epsilon=1).frame.row(0) == (2, -12)


# --- settings of a user's own connection -----------------------------------------------------------

WIDE_AS_BYTES = "SET arrow_lossless_conversion = true"


def test_a_connection_that_hands_over_wide_integers_as_bytes_is_refused() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE stored AS SELECT 1 AS x")
    connection.execute(WIDE_AS_BYTES)
    with pytest.raises(dp.DeclarationError, match="arrow_lossless_conversion = false"):
        session(connection.table("stored"), columns={})


@pytest.mark.parametrize("age", ["age::INT", "2147483600::INT + LENGTH(age)::INT * 30"])
@pytest.mark.parametrize("kind", ["relation", "view", "view that is replaced"])
@pytest.mark.parametrize("disabled", ["", BELIEVES], ids=["as it is", "no condition is moved"])
def test_a_relation_that_raises_does_not_tell_for_which_rows(
    disabled: str, kind: str, age: str
) -> None:
    """A condition that was moved below a cast made queries fail just where they named that row."""
    connection = duckdb.connect(config={"disabled_optimizers": disabled})
    connection.execute(
        "CREATE TABLE people AS FROM (VALUES ('bob', '1'), ('alice', 'x1')) v(s, age)"
    )
    asked = f"SELECT s, {age} AS x FROM people"
    first = "SELECT s, 1::INT AS x FROM people" if kind == "view that is replaced" else asked
    connection.execute(f"CREATE VIEW cast_people AS {first}")
    relation = connection.sql(asked) if kind == "relation" else connection.table("cast_people")
    opened = session(relation, columns={"x": dp.Range(0, 120)})
    connection.execute(f"CREATE OR REPLACE VIEW cast_people AS {asked}")
    for name in ("bob", "alice"):
        with pytest.raises(dp.EngineError):
            opened.sql(f"SELECT SUM(x) FROM t WHERE s = '{name}'", epsilon=1)
        with pytest.raises(dp.EngineError):
            opened.sql(f"SELECT SUM(CASE WHEN s = '{name}' THEN x END) FROM t", epsilon=1)


@pytest.mark.parametrize("profile", ["PRAGMA enable_profiling", "SET enable_profiling = 'json'"])
def test_a_relation_whose_queries_are_profiled_is_refused(
    profile: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """DuckDB printed how many rows a condition lets through: the exact count, beside the noisy one."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE stored AS SELECT range AS x FROM range(3217)")
    opened = session(connection.table("stored"), columns={})
    joined = session(connection.table("stored"), columns={}, unit=dp.Unit("x", max_rows=1))
    joined.register("b", connection.table("stored"), unit=dp.Unit("x", max_rows=1))
    connection.execute(profile)
    with pytest.raises(dp.DeclarationError, match="prints a profile"):
        session(connection.table("stored"), columns={})
    with pytest.raises(dp.DeclarationError, match="prints a profile"):
        opened.sql("SELECT COUNT(*) FROM t WHERE x >= 0", epsilon=1)
    with pytest.raises(dp.DeclarationError, match="prints a profile"):
        joined.sql("SELECT COUNT(*) FROM t JOIN b ON t.x = b.x", epsilon=1)
    assert opened.spent.epsilon == joined.spent.epsilon == 0
    assert "3217" not in capfd.readouterr().out
    connection.execute("PRAGMA disable_profiling")
    assert opened.sql("SELECT COUNT(*) FROM t WHERE x >= 0", epsilon=1).item() == 3217


@pytest.mark.parametrize(
    "macro",
    ["MACRO sum(x) AS 777", "TEMP MACRO isnan(x) AS false", 'MACRO "ABS"(x) AS 1'],
)
def test_a_relation_beside_a_macro_for_a_function_of_duckdb_is_refused(macro: str) -> None:
    """Bounds and sums were computed by the macro in its place."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE stored AS SELECT 5 AS x")
    connection.execute("CREATE MACRO of_my_own(x) AS x + 1")
    session(connection.table("stored"), columns={})
    connection.execute(f"CREATE {macro}")
    with pytest.raises(dp.DeclarationError, match="has a macro called"):
        session(connection.table("stored"), columns={})


def test_a_relation_with_two_columns_of_one_name_is_refused() -> None:
    """The type of the one said that the values of the other need no clamp: a sum moved by 10^6."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE a AS SELECT 1 AS id, 1000000 AS x")
    connection.execute("CREATE TABLE b AS SELECT 1 AS id, 2::TINYINT AS x")
    joined = connection.sql("SELECT * FROM a JOIN b ON a.id = b.id")
    with pytest.raises(dp.DeclarationError, match="several columns called 'id'"):
        session(joined, columns={"x": dp.Range(-128, 127)})
    apart = connection.sql("SELECT a.id, a.x FROM a JOIN b ON a.id = b.id")
    opened = session(apart, columns={"x": dp.Range(-128, 127)})
    assert opened.sql("SELECT SUM(x) FROM t", epsilon=1).item() == 127


@pytest.mark.parametrize("asked", ["COUNT(DISTINCT s)", "COUNT(DISTINCT x)", "SUM(x)", "MEDIAN(x)"])
def test_an_exact_part_that_is_no_integer_is_not_quoted(asked: str) -> None:
    """Python says which literal is invalid, and that literal was the exact count."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE stored AS SELECT range AS x, 'a' AS s FROM range(5)")
    unit = dp.Unit("x", max_rows=2)
    opened = session(connection.table("stored"), columns={"x": dp.Range(0, 10)}, unit=unit)
    connection.execute(WIDE_AS_BYTES)
    with pytest.raises(dp.EngineError) as caught:
        opened.sql(f"SELECT {asked} FROM t", epsilon=1)
    shown = "".join(traceback.format_exception(caught.value))
    assert "literal" not in shown
    assert "\\x" not in shown
    assert caught.value.__context__ is None


@pytest.mark.parametrize("engine", ENGINES)
def test_the_number_of_rows_is_taken_from_a_file_as_it_is_now(engine: str, tmp_path: Path) -> None:
    opened = session(parquet(tmp_path), engine)
    asked = "SELECT COUNT(*) FROM t"
    assert opened.sql(asked, epsilon=1).frame.item() == 4
    pl.concat([FRAME] * 3).write_parquet(tmp_path / "t.parquet")
    assert opened.sql(asked, epsilon=1, fresh=True).frame.item() == 12
    assert opened.sql(f"{asked} WHERE x > 1", epsilon=1).frame.item() == 9


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("asked", ["COUNT(*)", "COUNT(*), COUNT(x)", "COUNT(y)"])
def test_rows_are_read_for_whatever_is_not_just_their_number(
    asked: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = session(FRAME, engine)
    query = opened.query(f"SELECT {asked} FROM t")
    monkeypatch.setattr(query._engine, "height", lambda: 1_000)
    found = query.release(epsilon=1).frame.row(0)
    assert found == {"COUNT(*)": (1_000,), "COUNT(y)": (3,)}.get(asked, (4, 4))
    by_unit = session(FRAME, engine, unit=dp.Unit("s", max_rows=1))
    assert by_unit.sql("SELECT COUNT(*) FROM t", epsilon=1).frame.item() == 3


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_was_written_again_is_read_in_the_types_it_had(
    engine: str, tmp_path: Path
) -> None:
    path = str(tmp_path / "t.parquet")
    pl.DataFrame({"x": [1, 2, 3]}, schema={"x": pl.UInt8}).write_parquet(path)
    opened = session(path, engine, columns={"x": dp.Range(0, 10)})
    asked = "SELECT COUNT(x), SUM(x) FROM t"
    assert opened.sql(asked, epsilon=1).frame.row(0) == (3, 6)
    pl.DataFrame({"y": [0] * 4, "x": [7, 10**6, -5, None]}).write_parquet(path)
    assert opened.sql(asked, epsilon=1).frame.row(0) == (1, 7)

"""Conditions that are asked of stored values keep the rows that they keep of values as they are read."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines import duckdb_text, polars_exprs
from dpframe.engines.base import request_for
from dpframe.engines.comparisons import as_stored

ENGINES = ("duckdb", "polars")
NUMBERS = [None, -7, -1, 0, 1, 2, 3, 5, 9, 10, 11, 100]
FLOATS = [
    *(None if n is None else float(n) for n in NUMBERS),
    math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, 2.5, 9.999999999999998,
]  # fmt: skip
DAYS = [None, *(date(2024, 1, d) for d in (1, 2, 9, 10, 11, 31)), date(1, 1, 1), date(9999, 12, 31)]
TIMES = [None, *(datetime(2024, 1, d, 5, 6, 7, 8) for d in (1, 2, 9, 10, 11, 31))]
TEXTS = [None, "", "er", "ER", "icu", "gp", "é", "zz"]


def rows() -> pl.DataFrame:
    size = 3 * max(map(len, (NUMBERS, FLOATS, DAYS, TIMES, TEXTS)))

    def repeated(values: list[Any], dtype: Any) -> pl.Series:
        return pl.Series([values[i % len(values)] for i in range(size)], dtype=dtype)

    return pl.DataFrame(
        {
            "i": repeated(NUMBERS, pl.Int64),
            "tiny": repeated(NUMBERS, pl.Int8),
            "wide": repeated([n if n is None or n >= 0 else 2**64 - 1 for n in NUMBERS], pl.UInt64),
            "f": repeated(FLOATS, pl.Float64),
            "g": repeated(FLOATS, pl.Float32),
            "d": repeated(DAYS, pl.Date),
            "m": repeated(TIMES, pl.Datetime("us")),
            "ns": repeated(TIMES, pl.Datetime("ns")),
            "s": repeated(TEXTS, pl.String),
            "t": repeated(TEXTS, pl.String),
            "k": repeated(NUMBERS, pl.Int64),
        }
    )


def declared(nullable: bool) -> dict[str, dp.Range | dp.Keys]:
    day, moment = (date(2024, 1, 2), date(2024, 1, 10)), (datetime(2024, 1, 2), datetime(2024, 1, 10, 5, 6, 7, 8))  # fmt: skip
    numbers = {name: dp.Range(1, 10, nullable=nullable) for name in ("i", "tiny", "wide", "f", "g")}
    others = {"d": dp.Range(*day, nullable=nullable), "m": dp.Range(*moment, nullable=nullable)}
    return {**numbers, **others, "ns": dp.Range(*moment), "s": dp.Keys(["er", "icu"]), "k": dp.Keys([1, 2, 9])}  # fmt: skip


def counts(engine: str, conditions: list[str], nullable: bool, data: Any) -> list[int]:
    """Of each condition, the exact number of rows that it keeps."""
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", data, columns=declared(nullable), engine=engine)  # type: ignore[arg-type]
    found = []
    for condition in conditions:
        query = session.query(f"SELECT COUNT(*) FROM t WHERE {condition}")
        request = request_for(query._compiled, layout_for(query._compiled, 1))
        found.append(int(query._engine.measure(request)[0][0]))
    return found


def conditions() -> list[str]:
    compared = ["<", "<=", ">", ">=", "=", "<>"]
    numbers = [("i", n) for n in (-7, 0, 1, 2, 9, 10, 11)] + [("tiny", 5), ("wide", 5), ("k", 2), ("k", 3)]  # fmt: skip
    floats = [(name, n) for name in ("f", "g") for n in ("0.0", "1.0", "2.5", "10.0", "11.0")]
    days = [("d", f"DATE '2024-01-{day:02}'") for day in (1, 2, 9, 10, 11)]
    times = [(name, f"TIMESTAMP '2024-01-{day:02} 05:06:07.000008'") for name in ("m", "ns") for day in (1, 2, 9, 10)]  # fmt: skip
    texts = [("s", "'er'"), ("s", "'gp'"), ("t", "'er'"), ("t", "'é'")]
    single = [f"{c} {op} {v}" for c, v in (*numbers, *floats, *days, *times, *texts) for op in compared]  # fmt: skip
    return [
        *single,
        "5 > i", "2.5 <= f", "i IN (2, 3, 5)", "i IN (1, 5)", "s IN ('er', 'icu')", "s IN ('er', 'gp')",
        "i BETWEEN 2 AND 9", "f BETWEEN 2 AND 9", "NOT (f > 5)", "NOT (i > 5 AND f > 5)",
        "i > 5 OR f > 5", "(i > 5 OR f > 5) AND s = 'er'", "i > 5 AND f + 1 > 5", "i > 5 AND f IS NULL",
        "i > 5 OR f + 1 > 5", "f > 5 AND NOT (f > 9)", "(f > 2) IS NULL", "i = NULL", "f > i",
    ]  # fmt: skip


@pytest.mark.parametrize("nullable", [True, False])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_rows_pass_as_of_values_that_are_read_first(
    engine: str, nullable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = counts(engine, conditions(), nullable, rows())
    for module in (duckdb_text, polars_exprs):
        monkeypatch.setattr(module, "as_stored", lambda condition, table: None)
    expected = counts(engine, conditions(), nullable, rows())
    assert dict(zip(conditions(), found, strict=True)) == dict(zip(conditions(), expected, strict=True))  # fmt: skip


def test_both_engines_keep_the_same_rows() -> None:
    one, other = (counts(engine, conditions(), True, rows()) for engine in ENGINES)
    assert dict(zip(conditions(), one, strict=True)) == dict(zip(conditions(), other, strict=True))


@pytest.mark.parametrize(
    ("condition", "known"),
    [
        ("i > 5", True),
        ("i > 1", True),
        ("i >= 1", False),  # 0 is read as 1
        ("i < 10", False),  # 11 is read as 10, which is not less; NULL of a column without is 1
        ("i = 1", False),
        ("i = 5", True),
        ("i <> 5", False),  # NULL is read as 1
        ("wide > 5", False),
        ("f > 5", True),
        ("f <= 5", False),
        ("s = 'er'", True),
        ("s = 'gp'", False),  # is read as NULL
        ("s <> 'er'", False),
        ("i > 5 AND f > 5", True),
        ("i > 5 OR f + 1 > 5", False),
        ("NOT (i > 5)", False),
        ("d > DATE '2024-01-05'", True),
        ("f > i", False),
    ],
)
def test_only_what_is_proven_is_asked_of_stored_values(condition: str, known: bool) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", rows(), columns=declared(nullable=False), engine="polars")
    compiled = session.query(f"SELECT COUNT(*) FROM t WHERE {condition}")._compiled
    assert compiled.where is not None
    assert (as_stored(compiled.where, compiled.table) is not None) == known


@pytest.mark.parametrize("lazy", [True, False])
def test_statistics_of_a_file_keep_no_rows_out(tmp_path: Any, lazy: bool) -> None:
    """A row group whose least value is written as NaN must not be skipped."""
    path = str(tmp_path / "t.parquet")
    pl.DataFrame({"f": [2.0] * 1000 + [math.nan] * 2}).write_parquet(path, row_group_size=501)
    session = dp.Session(dp.Budget(epsilon=1))
    data = pl.scan_parquet(path) if lazy else path
    session.register("t", data, columns={"f": dp.Range(1, 10)}, engine="polars")
    query = session.query("SELECT COUNT(*) FROM t WHERE f < 5")
    request = request_for(query._compiled, layout_for(query._compiled, 1))
    assert query._engine.measure(request) == [[1000]]


def test_conditions_stay_above_the_scan(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "t.parquet")
    pl.DataFrame({"i": [1, 2, 3]}).write_parquet(path)
    plans = []
    collect = pl.LazyFrame.collect

    def noted(self: pl.LazyFrame, **options: Any) -> Any:
        plans.append(self.explain(optimizations=options["optimizations"]))
        return collect(self, **options)

    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", path, columns={"i": dp.Range(0, 9)}, engine="polars")
    query = session.query("SELECT SUM(i) FROM t WHERE i > 1")
    request = request_for(query._compiled, layout_for(query._compiled, 1))
    monkeypatch.setattr(pl.LazyFrame, "collect", noted)
    query._engine.measure(request)
    (plan,) = plans
    assert "FILTER" in plan
    assert "SELECTION" not in plan  # what Polars calls a condition inside a scan

"""Every function computes a row from that row alone, and computes what SQL says.

A kernel whose result for a row depends on the batch that it is in voids every sensitivity: one
added row would move the values of others. It has happened: Polars divides by a scalar through its
rounded reciprocal, but exactly where the batch is a single row, or holds a NULL.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from function_cases import CASES, COLUMNS, Bench, Case, Row_, rows

import dpframe as dp
from dpframe.declare import Table
from dpframe.mechanisms import Law
from dpframe.plan.coding import Coding
from dpframe.plan.exprs import Call, walk
from dpframe.plan.functions import FUNCTIONS, divisions


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return rows()


@pytest.fixture(scope="module")
def bench(frame: pl.DataFrame) -> Bench:
    return Bench(frame)


@pytest.fixture(scope="module")
def alone(bench: Bench, frame: pl.DataFrame) -> list[tuple[Any, ...]]:
    """Every row in a frame of its own, on Polars."""
    exprs = bench.polars_exprs()
    return [frame[i : i + 1].select(exprs).row(0) for i in range(frame.height)]


def bits(value: Any) -> Any:
    """A value that tells NaN from NaN not, and 0.0 from -0.0 not: neither reaches an integer."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def assert_same(
    bench: Bench, found: list[tuple[Any, ...]], expected: list[tuple[Any, ...]], where: str
) -> None:
    wrong = []
    for row, (ours, theirs) in enumerate(zip(found, expected, strict=True)):
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if bits(a) != bits(b):
                wrong.append(f"{bench.name(i)} of row {row}: {a!r} {where}, {b!r} alone")
    assert not wrong, "\n".join(wrong[:20])


def test_every_function_is_tried(bench: Bench) -> None:
    tried = {e.function for t in bench.exprs for e in walk(t.expr) if isinstance(e, Call)}
    # Each of these is executed as another, or made by sums and quantiles.
    others = {"cast", "plus", "xor", "is_nan", "fill_nan", "day_number", "microseconds"}
    others |= {"total_days", "above"}
    assert set(FUNCTIONS) - tried == others


def test_these_rows_tell_a_division_by_reciprocal(
    frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What follows finds the difference, if the work-around is taken out."""
    monkeypatch.setattr(divisions, "whole_array", lambda value, like: value)
    naive = Bench(frame, [case for case in CASES if case.sql == "z / 49"])
    batch = naive.on_polars(frame)
    assert batch != [naive.on_polars(frame[i : i + 1])[0] for i in range(frame.height)]


@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
def test_polars_computes_a_row_in_a_batch_as_alone(
    bench: Bench, frame: pl.DataFrame, alone: list[tuple[Any, ...]], engine: str
) -> None:
    assert_same(bench, bench.on_polars(frame, engine), alone, f"in one batch ({engine})")
    many = pl.concat([frame] * 20)
    assert_same(bench, bench.on_polars(many, engine), alone * 20, f"in a big batch ({engine})")


@pytest.mark.parametrize("size", [2, 5, 64])
def test_polars_computes_a_row_in_chunks_of_any_size_as_alone(
    bench: Bench, frame: pl.DataFrame, alone: list[tuple[Any, ...]], size: int
) -> None:
    chunks = [frame[i : i + size] for i in range(0, frame.height, size)]
    assert_same(
        bench,
        bench.on_polars(pl.concat(chunks, rechunk=False)),
        alone,
        f"in chunks of {size}",
    )
    apart = [row for chunk in chunks for row in bench.on_polars(chunk, "in-memory")]
    assert_same(bench, apart, alone, f"in frames of {size}")
    with pl.Config(streaming_chunk_size=size):
        assert_same(bench, bench.on_polars(frame), alone, f"streamed by {size}")


def test_polars_computes_a_row_among_its_like_as_alone(
    bench: Bench, frame: pl.DataFrame, alone: list[tuple[Any, ...]]
) -> None:
    """In a batch of equals every mask is constant, and every column may be taken for a scalar."""
    exprs = bench.polars_exprs()
    for i in range(frame.height):
        copies = frame[[i] * 9].select(exprs).rows()
        assert_same(bench, copies, [alone[i]] * 9, f"(row {i}) among its like")


@pytest.mark.parametrize("column", ["x", "y", "i", "s", "d"])
def test_polars_computes_a_row_of_a_sorted_or_null_free_batch_as_alone(
    bench: Bench, frame: pl.DataFrame, alone: list[tuple[Any, ...]], column: str
) -> None:
    numbered = frame.with_row_index("__row").sort(column)
    for part in (numbered, numbered.drop_nulls(column), numbered.drop_nulls()):
        expected = [alone[i] for i in part["__row"]]
        assert_same(bench, bench.on_polars(part.drop("__row")), expected, f"sorted by {column}")


def test_duckdb_computes_a_row_in_a_batch_as_alone(bench: Bench, frame: pl.DataFrame) -> None:
    single = [bench.on_duckdb(frame[i : i + 1])[0] for i in range(0, frame.height, 8)]
    whole = bench.on_duckdb(frame)
    assert_same(bench, whole[::8], single, "in one batch")
    assert_same(bench, bench.on_duckdb(pl.concat([frame] * 40)), whole * 40, "in many vectors")
    bench.connection.execute("CREATE OR REPLACE TABLE stored AS SELECT * FROM frame")
    listed = f"SELECT {bench.duckdb_exprs()} FROM stored"
    stored = bench.connection.execute(listed).fetchall()
    assert_same(bench, stored, whole * 40, "in a table")


def test_both_engines_compute_the_same_rows(
    bench: Bench, frame: pl.DataFrame, alone: list[tuple[Any, ...]]
) -> None:
    assert_same(bench, bench.on_duckdb(frame), alone, "on DuckDB")


# --- against Python and plain SQL -----------------------------------------------------------------


def as_read(frame: pl.DataFrame, table: Table) -> list[dict[str, Any]]:
    """The rows as the plan means them, by Python alone."""
    found = []
    for stored in frame.select(
        pl.all().exclude("d", "t", "ms"), pl.col("d", "t", "ms").to_physical()
    ).rows(named=True):
        row = {name: _read(name, value) for name, value in stored.items()}
        found.append(row)
    return found


def _read(name: str, value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if name in ("d", "t", "ms"):
        unit = {"d": timedelta(days=1), "t": timedelta(microseconds=1)}.get(
            name, timedelta(milliseconds=1)
        )
        try:
            moment = datetime(1970, 1, 1) + value * unit
        except OverflowError:
            moment = datetime.max if value > 0 else datetime.min
            if name == "ms":  # whole milliseconds
                moment = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        return moment.date() if name == "d" else moment
    if isinstance(value, Decimal):
        return float(value)
    declared: Any = COLUMNS.get(name)
    if isinstance(declared, dp.Keys):
        return value if value in declared.values else None
    if isinstance(declared, dp.Range):
        return min(max(value, type(value)(declared.low)), type(value)(declared.high))
    return value


def agree(ours: Any, theirs: Any, *, close: bool) -> bool:
    if bits(ours) == bits(theirs):
        return True
    if not close or not isinstance(ours, float) or not isinstance(theirs, float):
        return False
    return math.isclose(ours, theirs, rel_tol=1e-14, abs_tol=5e-324)


def test_rows_are_what_python_computes(
    bench: Bench, frame: pl.DataFrame, alone: list[tuple[Any, ...]]
) -> None:
    wrong = []
    for row, found in zip(as_read(frame, bench.polars), alone, strict=True):
        for case, ours in zip(CASES, found, strict=False):
            expected = case.python(Row_(row))
            if not agree(ours, expected, close=case.close):
                wrong.append(f"{case.sql}: {ours!r}, in Python {expected!r}, of {row}")
    assert not wrong, "\n".join(wrong[:15])


def test_codes_are_what_exact_arithmetic_gives(bench: Bench, alone: list[tuple[Any, ...]]) -> None:
    """Clamp, scale by a power of two, round half to even, in fractions."""
    sums = bench.sums()
    positions = {id(e.expr): i for i, e in enumerate(bench.exprs)}
    for found in alone:
        for part, code in zip(sums, found[len(CASES) :], strict=True):
            value = found[positions[id(part.expr)]]
            assert code == exact_code(value, part.coding), (part.expr, value)


def exact_code(value: float | None, coding: Coding) -> int | None:
    if value is None:
        return None
    if math.isinf(value):
        return coding.high if value > 0 else coding.low
    scaled = Fraction(value) * Fraction(2) ** coding.shift
    return min(max(round(scaled), coding.low), coding.high)


def plain_frame(frame: pl.DataFrame, table: Table) -> pl.DataFrame:
    """The rows as they are read, in plain types."""
    schema = {
        name: {"j": pl.Int64, "k": pl.String, "f32": pl.Float64, "dec": pl.Float64}.get(
            name, pl.Datetime("us") if name == "ms" else dtype
        )
        for name, dtype in frame.schema.items()
    }
    return pl.DataFrame(as_read(frame, table), schema=schema)


def test_rows_are_what_plain_polars_computes(
    bench: Bench, frame: pl.DataFrame, alone: list[tuple[Any, ...]]
) -> None:
    """The user's expressions themselves, on rows as they are read; only here are they executed."""
    plain = plain_frame(frame, bench.polars)
    wrong = []
    for i, case in enumerate(CASES):
        if case.polars is None or "_nan(" in case.sql:  # there is no NaN in rows as they are read
            continue
        for ours, theirs in zip(alone, plain.select(case.polars).to_series(), strict=True):
            undefined = isinstance(theirs, float) and not math.isfinite(theirs)
            if not (ours[i] is None and undefined) and bits(ours[i]) != bits(theirs):
                wrong.append(f"{case.sql}: {ours[i]!r}, plain Polars {theirs!r}")
    assert not wrong, "\n".join(wrong[:15])


def test_rows_are_what_plain_duckdb_computes(
    bench: Bench, frame: pl.DataFrame, alone: list[tuple[Any, ...]]
) -> None:
    """The user's text itself, on rows as they are read; only here is it ever executed."""
    read = as_read(frame, bench.polars)
    connection = duckdb.connect()
    connection.register("plain", plain_frame(frame, bench.polars))
    listed = ", ".join(f"TRY({case.sql})" if case.polars is None else "NULL" for case in CASES)
    wrong = []
    for row, theirs, ours in zip(
        read, connection.execute(f"SELECT {listed} FROM plain").fetchall(), alone, strict=True
    ):
        for case, a, b in zip(CASES, ours, theirs, strict=False):
            if case.polars is not None:
                continue
            undefined = isinstance(b, float) and not math.isfinite(b)
            if a is None and (undefined or case.narrower):
                continue
            b = float(b) if isinstance(b, Decimal) else b
            if not agree(a, b, close=case.close) and not _is_wider(case, a, b):
                wrong.append(f"{case.sql}: {a!r}, plain DuckDB {b!r}, of {row}")
    assert not wrong, "\n".join(wrong[:15])


def _is_wider(case: Case, ours: Any, theirs: Any) -> bool:
    """Integers that may overflow are floats here, and an error in DuckDB if they do."""
    return case.narrower and isinstance(ours, float) and (theirs is None or float(theirs) == ours)


# --- choices that come out alike ------------------------------------------------------------------


ALIKE = [
    "100 >= CASE WHEN i > 5 THEN 5 ELSE i END",
    "5 = CASE WHEN i > 5 THEN 5 ELSE i END",
    "0 <> CASE WHEN i > 5 THEN 5 ELSE i END",
    "50 + 50 > CASE WHEN i > 5 THEN 5 ELSE i END",
    "TIMESTAMP '2025-01-01 00:00:00' >= t",
    "DATE '2025-01-01' > d",
    "NOT 100 < CASE WHEN i > 5 THEN 5 ELSE i END",
    "(100 >= CASE WHEN i > 5 THEN 5 ELSE i END) IS NOT NULL",
]
"""Conditions that come out as one value where all rows of a batch choose alike."""

SHAPES = [
    "COUNT(*) FROM r WHERE {}",
    "COUNT_IF({}) FROM r",
    "COUNT(*) FILTER (WHERE {}) FROM r WHERE 1 < 2",
    "SUM(CASE WHEN {} THEN 1 ELSE 0 END) FROM r",
    "COUNT(*) FROM (SELECT i, d, t FROM r WHERE {}) AS s",
    "COUNT(*) FROM r WHERE ({}) AND i >= 0 AND TRUE",
    "COUNT(*) FROM r WHERE ({}) OR i < 0",
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rows", [1, 50, 130_000])
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_conditions_that_come_out_alike_keep_every_row_they_should(
    shape: str, rows: int, lazy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many batches there are, and wherever Polars moves the filter."""
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    alike = pl.DataFrame({"i": [9], "d": [date(2030, 1, 1)], "t": [datetime(2030, 1, 1)]})
    frame = (
        pl.concat([alike] * rows)
        if rows < 100
        else alike.select(pl.all().repeat_by(rows).explode())
    )
    limits = (date(2024, 1, 1), date(2024, 3, 1))
    columns = {"i": dp.Range(0, 10), "d": dp.Range(*limits), "t": dp.Range(*limits)}
    session = dp.Session(dp.Budget(epsilon=100))
    session.register("r", frame.lazy().filter(pl.lit(True)) if lazy else frame, columns=columns)
    for condition in ALIKE:
        text = "SELECT " + shape.format(condition)
        assert session.sql(text, epsilon=1).frame.item() == rows, text


@pytest.mark.parametrize("condition", ALIKE)
@pytest.mark.parametrize("statement", ["COUNT(*) AS n FROM r WHERE {}", "COUNT_IF({}) AS n FROM r"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_row_that_differs_from_all_others_moves_a_count_by_itself_alone(
    condition: str, statement: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A choice that is the same for a whole batch once made a condition of one row for all of it."""
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    alike, other = (9, date(2030, 1, 1), datetime(2030, 1, 1)), (1, date(2024, 1, 2), EARLY)
    counts = []
    for given in ([alike] * 50, [*[alike] * 50, other]):
        session = dp.Session(dp.Budget(epsilon=10))
        frame = pl.DataFrame(given, schema=["i", "d", "t"], orient="row")
        limits = (date(2024, 1, 1), date(2024, 3, 1))
        columns = {"i": dp.Range(0, 10), "d": dp.Range(*limits), "t": dp.Range(*limits)}
        session.register("r", frame, columns=columns, engine=engine)  # type: ignore[arg-type]
        # One at a time: asked together, the two uses of a condition hide what goes wrong in each.
        text = "SELECT " + statement.format(condition)
        counts.append(session.sql(text, epsilon=1).frame.item())
    assert counts[0] == 50
    assert 0 <= counts[1] - counts[0] <= 1


EARLY = datetime(2024, 1, 2)

"""Counting different values: weights by hand, neighbours, and what is kept."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.bounds.sensitivity import COUNT_BITS
from dpframe.engines.base import request_for

COLUMNS = {"k": dp.Keys(["a", "b", "c"]), "x": dp.Range(-3, 40), "y": dp.Range(-1.0, 4.0)}


def table(seed: int, rows: int = 120) -> pl.DataFrame:
    """Few units with many values, and many with few."""
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "u": [min(int(draw.expovariate(0.5)), 12) for _ in range(rows)],
            "k": [draw.choice(["a", "b", "c", "other", None]) for _ in range(rows)],
            "x": [draw.choice([None, *range(-5, 60)]) for _ in range(rows)],
            "y": [draw.choice([None, 0.0, -0.0, 1.5, float("nan"), 9.0]) for _ in range(rows)],
            "t": [draw.choice(["A", "a", "b ", "b", "", None, "é"]) for _ in range(rows)],
        }
    )


def measured(frame: pl.DataFrame, sql: str, norm: int, **options: Any) -> list[list[int]]:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", frame, columns=COLUMNS, **options)
    compiled = session.query(sql)._compiled
    return session._engines["t"].measure(request_for(compiled, layout_for(compiled, norm)))


GROUPED = "SELECT k, COUNT(DISTINCT x) FROM t GROUP BY k"


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("max_rows", [1, 3, 50])
def test_a_value_counts_as_its_heaviest_holder(engine: str, max_rows: int) -> None:
    frame = table(max_rows)
    unit = dp.Unit("u", max_rows=max_rows)
    (found,) = measured(frame, GROUPED, 1, unit=unit, engine=engine)
    held = frame.filter(pl.col("k").is_in(["a", "b", "c"]), pl.col("x").is_not_null())
    held = held.select("u", "k", pl.col("x").clip(-3, 40)).unique()
    sizes = dict(held.group_by("u").len().rows())
    best: dict[tuple[str, int], int] = {}
    for owner, key, value in held.rows():
        weight = int(min(Fraction(1), Fraction(max_rows, sizes[owner])) * (1 << COUNT_BITS))
        best[key, value] = max(best.get((key, value), 0), weight)
    assert found == [sum(w for (k, _), w in best.items() if k == key) for key in "abc"]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_texts_are_compared_byte_by_byte_and_zero_has_no_sign(engine: str) -> None:
    frame = pl.DataFrame(
        {
            "k": ["a"] * 6,
            "x": [1] * 6,
            "t": ["A", "a", "a ", "a", None, ""],
            "y": [0.0, -0.0, None, float("nan"), 9.0, 4.0],
            "u": range(6),
        }
    )
    asked = "SELECT COUNT(DISTINCT t), COUNT(DISTINCT y), APPROX_COUNT_DISTINCT(x) FROM t"
    for unit, one in ((None, 1), (dp.Unit("u", max_rows=1), 1 << COUNT_BITS)):
        found = measured(frame, asked, 1, unit=unit, engine=engine)
        assert found == [[4 * one], [2 * one], [one]]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("max_rows", [1, 2, 5])
def test_removing_one_unit_stays_within_sensitivity(engine: str, norm: int, max_rows: int) -> None:
    for seed in range(3):
        frame, unit = table(seed), dp.Unit("u", max_rows=max_rows)
        (whole,) = measured(frame, GROUPED, norm, unit=unit, engine=engine)
        for owner in (0, 1, 5):
            rest = frame.filter(pl.col("u") != owner)
            (less,) = measured(rest, GROUPED, norm, unit=unit, engine=engine)
            moves = [a - b for a, b in zip(whole, less, strict=True)]
            assert min(moves) >= 0  # one more unit never lowers a count
            assert sum(m**norm for m in moves) <= (max_rows << COUNT_BITS) ** norm


def test_replacing_a_row_moves_an_ungrouped_count_by_one() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", table(1), columns=COLUMNS, neighbors="replace", size=120)
    layout = layout_for(session.query("SELECT COUNT(DISTINCT x) FROM t")._compiled, 1)
    assert layout.sensitivities[0].l1 == 1
    grouped = layout_for(session.query(GROUPED)._compiled, 1)
    assert (grouped.sensitivities[0].l1, grouped.sensitivities[0].l2_squared) == (2, 2)


def test_different_values_and_units_of_groups_are_not_added_up_to_a_total() -> None:
    session = dp.Session(dp.Budget(epsilon=100))
    columns = {"k": dp.Range(0, 1, nullable=False), "x": dp.Range(0, 9)}
    frame = pl.DataFrame({"k": [0, 1], "x": [5, 5], "u": [1, 1]})
    session.register("t", frame, columns=columns, unit=dp.Unit("u", max_rows=2))
    for counted in ("x", "u"):
        session.sql(f"SELECT k, COUNT(DISTINCT {counted}) FROM t GROUP BY k", epsilon=1)
        assert not session.sql(f"SELECT COUNT(DISTINCT {counted}) FROM t", epsilon=1).reused


@pytest.mark.filterwarnings("ignore::dpframe.PrivacyWarning")
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=2)], ids=["row", "unit"])
def test_polars_counts_null_among_different_values_and_sql_does_not(engine: Any, unit: Any) -> None:
    session = dp.Session(dp.Budget(epsilon=10**6))
    columns = {"x": dp.Range(0, 9), "z": dp.Range(0, 9, nullable=False), "k": dp.Keys(["a", "b"])}
    frame = pl.DataFrame(
        {
            "x": [1, None, 2, None],
            "y": [1.5, float("nan"), None, -0.0],
            "z": [1, 1, 2, 2],
            "k": ["a", "a", None, "elsewhere"],
            "u": [1, 2, 3, 4],
        }
    )
    session.register("t", frame, columns=columns, engine=engine, unit=unit)
    values = pl.col("x", "y", "z", "k").n_unique()
    found = session.table("t").select(values).release(epsilon=10**5)
    # What is no declared key is NULL, and so is NaN.
    assert found.frame.row(0) == (3, 3, 2, 2)
    known = session.sql(
        "SELECT COUNT(DISTINCT x) AS x, COUNT(DISTINCT z) AS z FROM t", epsilon=10**5
    )
    assert known.frame.row(0) == (2, 2)
    assert session.table("t").select(pl.col("x").drop_nulls().n_unique()).release().reused
    assert session.table("t").select(pl.struct("x").n_unique()).release().reused


def test_a_group_with_the_most_different_values_can_win() -> None:
    session = dp.Session(dp.Budget(epsilon=10))
    frame = pl.DataFrame({"k": ["a"] * 50 + ["b"] * 50, "x": [*range(50), *[7] * 50]})
    columns = {"k": dp.Keys(["a", "b"]), "x": dp.Range(0, 100)}
    session.register("t", frame, columns=columns)
    asked = "SELECT k FROM t GROUP BY k ORDER BY COUNT(DISTINCT x) DESC LIMIT 1"
    assert session.sql(asked, epsilon=1).item() == "a"


TUPLES = "SELECT k, COUNT(DISTINCT (x, t)) FROM t GROUP BY k"
WITHOUT_NULL = "SELECT k, COUNT(DISTINCT x, t) FROM t GROUP BY k"


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("text", [TUPLES, WITHOUT_NULL])
@pytest.mark.parametrize("norm", [1, 2])
def test_tuples_are_weighed_like_values(engine: str, text: str, norm: int) -> None:
    frame, unit = table(7), dp.Unit("u", max_rows=2)
    (whole,) = measured(frame, text, norm, unit=unit, engine=engine)
    for owner in (0, 1, 5):
        rest = frame.filter(pl.col("u") != owner)
        (less,) = measured(rest, text, norm, unit=unit, engine=engine)
        moves = [a - b for a, b in zip(whole, less, strict=True)]
        assert min(moves) >= 0
        assert sum(m**norm for m in moves) <= (2 << COUNT_BITS) ** norm


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_null_inside_a_tuple_is_a_value_and_zero_has_no_sign(engine: str) -> None:
    frame = pl.DataFrame(
        {
            "k": ["a"] * 7,
            "y": [0.0, -0.0, None, float("nan"), 1.0, None, 1.0],
            "t": ["a", "a", "a", "a", None, None, "A"],
            "u": range(7),
        }
    )
    asked = "SELECT COUNT(DISTINCT (y, t)), COUNT(DISTINCT y, t), COUNT(DISTINCT (y, NULL)) FROM t"
    for unit, one in ((None, 1), (dp.Unit("u", max_rows=1), 1 << COUNT_BITS)):
        session = dp.Session(dp.Budget(epsilon=1))
        columns = {"y": COLUMNS["y"], "k": COLUMNS["k"]}
        session.register("t", frame, columns=columns, unit=unit, engine=engine)
        compiled = session.query(asked)._compiled
        found = session._engines["t"].measure(request_for(compiled, layout_for(compiled, 1)))
        # (0, a), (NULL, a) twice, (1, NULL), (NULL, NULL), (1, A)
        assert found == [[5 * one], [2 * one], [3 * one]]


def test_the_order_of_a_tuple_makes_no_difference() -> None:
    session = dp.Session(dp.Budget(epsilon=10))
    session.register("t", table(1), columns=COLUMNS)
    session.sql("SELECT COUNT(DISTINCT (x, t)) FROM t", epsilon=1)
    assert session.sql("SELECT COUNT(DISTINCT (t, x)) FROM t", epsilon=1).reused
    assert not session.sql("SELECT COUNT(DISTINCT t, x) FROM t", epsilon=1).reused
    pairs = session.table("t").select(n=pl.struct("t", "x").n_unique())
    assert pairs.release(epsilon=1).reused
    assert "count of different tuples (t, x)" in pairs.explain(epsilon=1)

"""Lists of quantiles: one column, with the numbers and the error bars of its quantiles."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import duckdb
import polars as pl
import pytest

import dpframe as dp

TABLE = pl.DataFrame(
    {
        "x": [i % 100 for i in range(3_000)],
        "k": ["a", "b", "b"] * 1_000,
        "day": [date(2024, 1, 1) + timedelta(i % 60) for i in range(3_000)],
        "u": [i % 700 for i in range(3_000)],
    }
)
COLUMNS = {
    "x": dp.Range(0, 100),
    "k": dp.Keys(["a", "b"]),
    "day": dp.Range(date(2024, 1, 1), date(2024, 3, 31)),
}


def session(**options: Any) -> dp.Session:
    found = dp.Session(dp.Budget(epsilon=20))
    found.register("t", TABLE, columns=COLUMNS, **options)
    return found


SINGLE = "SELECT k, QUANTILE_CONT(x, 0.25) AS a, COUNT(*) AS n, QUANTILE_CONT(x, 0.75) AS b FROM t GROUP BY k"
LIST = "SELECT k, QUANTILE_CONT(x, [0.75, 0.25]) AS q, COUNT(*) AS n FROM t GROUP BY k"


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [dp.Row(), dp.Unit("u", max_rows=3)], ids=["row", "unit"])
def test_a_list_has_the_numbers_and_the_error_bars_of_its_quantiles(engine: str, unit: Any) -> None:
    asked = session(engine=engine, unit=unit)
    single = asked.sql(SINGLE, epsilon=1)
    found = asked.sql(LIST, epsilon=1)
    assert found.reused
    assert found.frame.schema == {"k": pl.String, "q": pl.List(pl.Float64), "n": pl.Int64}
    assert found.frame["q"].to_list() == [[b, a] for a, b in single.frame.select("a", "b").rows()]
    ends = found.intervals(0.9)
    assert ends.columns == ["k", "q", "q_low", "q_high", "n", "n_low", "n_high"]
    assert ends.schema["q_low"] == pl.List(pl.Float64)
    for row in ends.rows(named=True):
        assert len(row["q_low"]) == 2
        assert all(low <= high for low, high in zip(row["q_low"], row["q_high"], strict=True))
    errors = single.errors
    for ours, b, a in zip(found.errors["q"], errors["b"], errors["a"], strict=True):
        assert ours.to_list() == pytest.approx([b, a], rel=1e-9)


def test_it_is_shown_with_its_error_bars_and_read_by_arrow() -> None:
    release = session().sql(LIST, epsilon=1)
    line = repr(release).splitlines()[2]
    assert line.count("±") == 3
    assert "[" in line
    assert "q = [PERCENTILE_CONT(" in session().query(LIST).explain(epsilon=1)
    assert "__dpframe" not in repr(release) + release._repr_html_()
    assert duckdb.sql("SELECT len(q) FROM release").fetchall() == [(2,), (2,)]


def test_lists_of_days_have_errors_in_time_and_names_stay_apart() -> None:
    text = "SELECT QUANTILE_DISC(day, [0.5, 0.9]) AS q, MAX(x) AS q_low, MEDIAN(x) AS q FROM t"
    release = session().sql(text, epsilon=1)
    assert release.frame.columns == ["q", "q_low", "q_1"]
    assert release.frame.schema["q"] == pl.List(pl.Date)
    assert release.errors.schema["q"] == pl.List(pl.Duration("us"))
    named = release.intervals().columns
    assert named == [
        "q",
        "q_low_",
        "q_high",
        "q_low",
        "q_low_low",
        "q_low_high",
        "q_1",
        "q_1_low",
        "q_1_high",
    ]


def test_in_polars_a_list_can_be_kept_and_renamed_but_not_computed_with() -> None:
    asked = session().table("t").group_by("k").agg(q=pl.col("x").quantile([0.25, 0.5], "linear"))
    assert asked.columns == ["k", "q"]
    assert asked.select(pl.col("q").alias("z"), "k").columns == ["z", "k"]
    kept = asked.sort("k", descending=True).head(1).drop("k").release(epsilon=1).frame
    assert kept.schema == {"q": pl.List(pl.Float64)}
    for refused in (lambda: asked.sort("q"), lambda: asked.filter(pl.col("q") > 1)):
        with pytest.raises(dp.QueryError, match="is a list"):
            refused()
    with pytest.raises(dp.QueryError, match="no quantiles in the list"):
        session().table("t").select(pl.col("x").quantile([]))


def test_an_empty_public_table_has_no_list() -> None:
    asked = dp.Session(dp.Budget(epsilon=1))
    asked.register("t", TABLE.clear(), public=True)
    asked.register("w", pl.DataFrame({"x": [1, 2, 3]}), public=True)
    assert asked.sql("SELECT QUANTILE_DISC(x, [0.5, 0.1]) AS q FROM w").item().to_list() == [2, 1]
    assert asked.sql("SELECT QUANTILE_DISC(x, [0.5, 0.1]) AS q FROM w WHERE x > 5").item() is None

"""A release is a noisy table that carries its error bars, and can be taken anywhere."""

from __future__ import annotations

import html
import itertools
import math
import re
from datetime import date
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dpframe as dp
from dpframe.release.display import number, text_table

HOSTILE = ["<script>alert(1)</script>", "a & b ± 3", "\x1b[31mred", "new\nline", "|", '"', "NULL"]
DATA = pl.DataFrame(
    {
        "k": ["a", "b"] * 100,
        "x": [float(i % 10) for i in range(200)],
        "whole": list(range(200)),
        "<b>h": [HOSTILE[i % len(HOSTILE)] for i in range(200)],
    }
)
COLUMNS = {
    "k": dp.Keys(["a", "b"]),
    "x": dp.Range(0, 10),
    "whole": dp.Range(0, 200),
    "<b>h": dp.Keys(HOSTILE),
}


def release(text: str, epsilon: float = 1, **options: Any) -> dp.Release:
    session = dp.Session(dp.Budget(epsilon=1000))
    session.register("t", DATA, columns=COLUMNS, **options)
    return session.sql(text, epsilon=epsilon)


GROUPED = "SELECT k, COUNT(*) AS n, AVG(x) AS a, SUM(x) / SUM(whole) AS r FROM t GROUP BY k"


def test_the_frame_has_the_columns_that_were_asked_for_in_order() -> None:
    found = release("SELECT COUNT(*) AS n, k, AVG(x) AS a, 'c' AS c FROM t GROUP BY k")
    assert found.frame.columns == ["n", "k", "a", "c"]
    assert found.frame.schema == {
        "n": pl.Int64,
        "k": pl.String,
        "a": pl.Float64,
        "c": pl.String,
    }
    assert len(found) == found.frame.height == 2


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("COUNT(*)", pl.Int64),
        ("SUM(whole)", pl.Int64),
        ("SUM(x)", pl.Float64),
        ("AVG(whole)", pl.Float64),
        ("COUNT(*) / 2", pl.Float64),
        ("COUNT(*) // 2", pl.Int64),
        ("COUNT(*) > 2", pl.Boolean),
        ("CAST(AVG(x) AS INT)", pl.Int64),
        ("COUNT(*)::VARCHAR", pl.String),
    ],
)
def test_columns_have_the_types_of_sql(expression: str, dtype: Any) -> None:
    assert release(f"SELECT {expression} AS v FROM t").frame["v"].dtype == dtype


def test_frames_are_not_shared() -> None:
    found = release(GROUPED)
    found.frame.insert_column(0, pl.Series("mine", [1, 2]))
    assert "mine" not in found.frame.columns


def test_unnamed_and_repeated_columns_get_names_of_their_own() -> None:
    text = "SELECT COUNT(*), COUNT(*), SUM(x) AS s, AVG(x) AS s, k FROM t GROUP BY k"
    assert release(text).frame.columns == ["count(*)", "count(*)_1", "s", "s_1", "k"]


# --- error bars ------------------------------------------------------------------------------------


def test_every_noisy_number_has_an_error_and_nothing_else_has() -> None:
    text = """SELECT k, UPPER(k) AS big, 5 AS five, COUNT(*) AS n, AVG(x) AS a, COUNT(*) > 5 AS yes,
              COUNT(*) * 2 + 1 AS m, COUNT(*)::VARCHAR AS t FROM t GROUP BY k"""
    found = release(text)
    bounds = [c for c in found.intervals().columns if c.endswith(("_low", "_high"))]
    assert bounds == ["n_low", "n_high", "a_low", "a_high", "m_low", "m_high"]
    errors = found.errors
    assert errors.columns == found.frame.columns
    assert errors["k"].to_list() == ["a", "b"]
    assert errors["five"].to_list() == [5, 5]
    assert (errors.select("n", "a", "m").min_horizontal() > 0).all()


def test_errors_are_half_of_the_95_percent_interval() -> None:
    found = release(GROUPED)
    bounds = found.intervals(0.95)
    for name in ("n", "a", "r"):
        half = (bounds[f"{name}_high"] - bounds[f"{name}_low"]) / 2
        assert found.errors[name].to_list() == half.to_list()


def test_more_confidence_takes_a_wider_interval() -> None:
    found = release(GROUPED)
    for name in ("n", "a", "r"):
        widths = []
        for confidence in (0.5, 0.8, 0.9, 0.95, 0.99, 0.999):
            bounds = found.intervals(confidence)
            widths.append((bounds[f"{name}_high"] - bounds[f"{name}_low"]).to_numpy())
        # Redrawn intervals are themselves a little random.
        assert all((b >= a * 0.9).all() for a, b in itertools.pairwise(widths))
        assert (widths[-1] > widths[0]).all()


def test_an_interval_holds_its_number() -> None:
    bounds = release(GROUPED).intervals(0.9)
    for name in ("n", "a", "r"):
        inside = (bounds[f"{name}_low"] <= bounds[name]) & (bounds[name] <= bounds[f"{name}_high"])
        assert inside.all()


def test_asking_again_gives_the_same_interval() -> None:
    found = release(GROUPED)
    assert found.intervals(0.9).equals(found.intervals(0.9))
    assert found.intervals().equals(found.intervals(0.95))


@pytest.mark.parametrize(
    "confidence", [0, 1, -0.5, 1.5, math.nan, math.inf, "0.95", None, True, [0.9]], ids=repr
)
def test_a_confidence_lies_between_0_and_1(confidence: Any) -> None:
    with pytest.raises((dp.ParameterError, TypeError)) as caught:
        release("SELECT COUNT(*) FROM t").intervals(confidence)
    if not isinstance(confidence, list):
        assert isinstance(caught.value, dp.ParameterError)


def test_names_that_end_like_bounds_are_kept_apart() -> None:
    text = """SELECT COUNT(*) AS n, COUNT(x) AS n_low, SUM(x) AS n_high, k AS w, AVG(x) AS w_low
              FROM t GROUP BY k"""
    found = release(text)
    bounds = found.intervals()
    assert len(set(bounds.columns)) == len(bounds.columns) == 5 + 2 * 4
    assert bounds["w"].to_list() == ["a", "b"]
    assert "±" in repr(found)
    assert found.errors["w"].to_list() == ["a", "b"]


def test_the_error_of_a_count_is_that_of_its_noise() -> None:
    found = release("SELECT COUNT(*) AS n FROM t", epsilon=0.5)
    # Laplace noise of scale 2: P(|Z| > t) = about exp(-t / 2), 5% at t = 6.
    assert found.errors.item() == 6


# --- where it can be taken -------------------------------------------------------------------------


def test_pyarrow_polars_pandas_and_duckdb_read_a_release_directly() -> None:
    found = release(GROUPED)
    rows = found.frame.rows()
    assert [tuple(row.values()) for row in pa.table(found).to_pylist()] == rows
    assert pl.DataFrame(found).rows() == rows
    assert duckdb.sql("SELECT * FROM found").fetchall() == rows
    assert duckdb.sql("SELECT SUM(n) FROM found").fetchall() == [(found.frame["n"].sum(),)]
    taken = pd.DataFrame.from_arrow(found) if hasattr(pd.DataFrame, "from_arrow") else None
    if taken is not None:
        assert list(taken.itertuples(index=False, name=None)) == rows


def test_an_empty_release_keeps_its_schema_everywhere() -> None:
    found = release("SELECT k, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY k HAVING n > 1000000")
    assert len(found) == 0
    assert pa.table(found).schema.names == ["k", "n", "a"]
    assert duckdb.sql("SELECT * FROM found").fetchall() == []
    assert found.errors.shape == (0, 3)
    assert found.intervals(0.5).shape == (0, 7)
    assert repr(found).split("\n")[0].split() == ["k", "n", "a"]
    assert "<table" in found._repr_html_()


def test_item_is_the_only_value() -> None:
    assert isinstance(release("SELECT COUNT(*) FROM t").item(), int)
    assert isinstance(release("SELECT AVG(x) FROM t").item(), float)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (GROUPED, "2 rows and 4 columns"),
        ("SELECT COUNT(*), AVG(x) FROM t", "1 rows and 2 columns"),
        ("SELECT COUNT(*) FROM t LIMIT 0", "0 rows and 1 columns"),
    ],
)
def test_item_of_a_larger_table_is_refused(text: str, shape: str) -> None:
    with pytest.raises(dp.ParameterError, match=shape):
        release(text).item()


# --- how it looks ----------------------------------------------------------------------------------


def test_the_repr_shows_every_number_beside_its_error_and_the_cost() -> None:
    shown = repr(release(GROUPED))
    lines = shown.split("\n")
    assert lines[0].split() == ["k", "n", "a", "r"]
    assert set(lines[1]) <= {"─", " "}
    assert all(line.count("±") == 3 for line in lines[2:4])
    assert lines[-1] == "± covers the noise with 95% confidence; cost: epsilon 1"


def test_counts_are_shown_as_whole_numbers() -> None:
    shown = repr(release("SELECT COUNT(*) AS n, SUM(whole) AS s FROM t"))
    n, s = re.findall(r"(\S+) ± (\S+)", shown)
    assert re.fullmatch(r"-?[\d,]+", n[0])
    assert re.fullmatch(r"[\d,]+", n[1])
    assert re.fullmatch(r"-?[\d,]+", s[0])


DAYS = pl.DataFrame({"day": [date(2020 + i % 5, 1 + i % 12, 3) for i in range(1000)]})
DECLARED = {"day": dp.Range(date(2015, 1, 1), date(2030, 12, 31), nullable=False)}


def of_days(text: str) -> str:
    session = dp.Session(dp.Budget(epsilon=1000))
    session.register("t", DAYS, columns=DECLARED)
    return repr(session.sql(text, epsilon=1))


@pytest.mark.parametrize(
    "year", ["YEAR(day)", "EXTRACT(year FROM day)", "YEAR(day)::DOUBLE", "YEAR(day) + 0.5"]
)
def test_a_year_that_is_a_key_is_shown_as_it_is(year: str) -> None:
    shown = of_days(f"SELECT {year} AS y, COUNT(*) * 1000 AS n FROM t GROUP BY y")
    keys = [line.split()[0] for line in shown.split("\n")[2:-1]]
    assert [key.removesuffix(".5") for key in keys] == [str(year) for year in range(2015, 2031)]
    assert re.search(r"\d\d\d,000 ±", shown)


@pytest.mark.parametrize("of", ["MAX(YEAR(day))", "YEAR(MAX(day))", "MEDIAN(YEAR(day))"])
def test_the_digits_of_a_measured_year_are_not_grouped(of: str) -> None:
    assert re.match(r"20\d\d", of_days(f"SELECT {of} AS y FROM t").split("\n")[2].strip())
    assert re.search(r"20\d\d", of_days("SELECT AVG(YEAR(day)) AS y FROM t"))


def test_digits_are_grouped_in_columns_that_have_five_of_them_or_more() -> None:
    def shown(*values: float, error: float = 0.5) -> list[str]:
        series = pl.Series("n", values)
        ends = (series.to_numpy() - error, series.to_numpy() + error)
        return text_table(series.to_frame(), {"n": ends}, "").split("\n")[2:]

    assert shown(1000, 9999) == ["1000 ± 0.50", "9999 ± 0.50"]
    assert shown(1000, 10_000) == [" 1,000 ± 0.50", "10,000 ± 0.50"]
    assert shown(5, 2000, error=20_000) == ["    5 ± 20,000", "2,000 ± 20,000"]
    assert shown(2024, 2025, error=0) == ["2024", "2025"]
    assert shown(12_345, error=math.inf) == ["12,345 ± unknown"]


def test_edges_of_bins_are_shown_as_they_are() -> None:
    session = dp.Session(dp.Budget(epsilon=1000))
    pay = pl.DataFrame({"pay": [1000.0, 30_000.0, 2e6]})
    session.register("t", pay, columns={"pay": dp.Range(0.0, 2e6)})
    shown = repr(session.histogram("t", "pay", bins=4, epsilon=1)).split("\n")
    assert [line.split()[:2] for line in shown[2:6]] == [
        ["0", "500000"],
        ["500000", "1000000"],
        ["1000000", "1500000"],
        ["1500000", "2000000"],
    ]


def test_columns_of_text_and_numbers_are_aligned() -> None:
    lines = repr(release("SELECT k, COUNT(*) * 1000 AS n FROM t GROUP BY k")).split("\n")
    assert len({len(line) for line in lines[:4]}) == 1


def test_long_tables_are_cut_in_what_is_shown_only() -> None:
    found = release("SELECT whole, COUNT(*) AS n FROM t GROUP BY whole")
    assert len(found) == 202
    assert "... and 182 more rows in .frame" in repr(found)
    assert found._repr_html_().count("<tr>") == 21


def test_hostile_names_and_keys_cannot_break_out_of_html() -> None:
    text = 'SELECT "<b>h", COUNT(*) AS "<img src=x onerror=alert(1)>" FROM t GROUP BY 1'
    shown = release(text)._repr_html_()
    tags = re.findall(r"<(/?\w+)", shown)
    assert set(tags) <= {"table", "/table", "thead", "/thead", "tbody", "/tbody", "tr", "/tr"} | {
        *("th", "/th", "td", "/td", "span", "/span", "div", "/div", "br")
    }
    assert html.escape("<script>alert(1)</script>") in shown
    assert html.escape("<b>h") in shown
    assert html.escape("<img src=x onerror=alert(1)>") in shown


def test_hostile_names_and_keys_cannot_break_out_of_a_terminal() -> None:
    text = 'SELECT "<b>h", COUNT(*) AS "two\nlines" FROM t GROUP BY 1'
    found = release(text)
    shown = repr(found)
    assert "\x1b" not in shown
    assert len(shown.split("\n")) == 2 + len(HOSTILE) + 1
    assert "new\\nline" in shown
    assert "two\\nlines" in shown
    assert "\x1b[31mred" in found.frame["<b>h"].to_list(), "the data is as it was declared"


def test_hostile_candidates_cannot_break_out_of_a_terminal_either() -> None:
    session = dp.Session(dp.Budget(epsilon=1000))
    session.register("t", DATA, columns=COLUMNS)
    chosen = session.select('SELECT "<b>h", COUNT(*) FROM t GROUP BY 1', k=len(HOSTILE), epsilon=1)
    assert len(str(chosen).splitlines()) == len(HOSTILE) + 1
    assert "\x1b" not in str(chosen)
    assert "\x1b" not in chosen._repr_html_()


def test_nothing_is_shown_as_minus_0() -> None:
    shown = str(release("SELECT -0.0 * COUNT(*) AS zero, -COUNT(*) / 1e15 AS least FROM t"))
    assert re.search(r"(?<![\d.])-0(?![.\d])", shown) is None
    assert re.search(r"-2\.\d+e-13 ± \d\.\de-15", shown)
    for value, error in ((-0.3, 50.0), (-0.0, 1.0), (-0.0, 0.0), (-0.04, 2.0), (-1e-30, 1e-3)):
        assert not number(value, error).startswith("-")
    assert number(-0.06, 0.1) == "-0.06"


def test_null_is_shown_as_null() -> None:
    found = release("SELECT COUNT(*) / 0 AS nothing, NULL AS none FROM t")
    assert found.frame.row(0) == (None, None)
    assert repr(found).count("NULL") >= 2


def test_what_overflows_is_unknown_not_an_error() -> None:
    found = release("SELECT COUNT(*) * 1e308 AS p, EXP(COUNT(*) * 10) AS e FROM t")
    assert "unknown" in repr(found)
    assert found.errors.row(0) == (math.inf, math.inf)


def test_the_loss_is_what_was_charged() -> None:
    session = dp.Session(dp.Budget(epsilon=2))
    session.register("t", DATA, columns=COLUMNS)
    found = session.sql(GROUPED, epsilon=0.3)
    assert found.loss.epsilon == session.spent.epsilon
    assert float(found.loss.epsilon) == pytest.approx(0.3)
    assert found.loss.epsilon <= 0.3 + 1e-12


def test_noise_is_there_and_different_every_time() -> None:
    session = dp.Session(dp.Budget(epsilon=1000))
    session.register("t", DATA, columns=COLUMNS)
    drawn = {
        session.sql("SELECT COUNT(*) FROM t", epsilon=0.1, fresh=True).item() for _ in range(20)
    }
    assert len(drawn) > 5


@pytest.mark.parametrize("unit", [None, dp.Unit("whole", max_rows=1)], ids=["row", "unit"])
def test_released_counts_average_to_the_truth(unit: dp.Unit | None) -> None:
    session = dp.Session(dp.Budget(epsilon=1000))
    session.register("t", DATA, columns=COLUMNS, unit=unit)
    drawn = [
        session.sql("SELECT COUNT(*) FROM t", epsilon=1, fresh=True).item() for _ in range(300)
    ]
    # The standard error is 1.4 / sqrt(300) = 0.08; truncation would shift the mean by 0.5.
    assert abs(np.mean(drawn) - 200) < 0.45


def test_columns_stand_below_each_other_in_any_script() -> None:
    session = dp.Session(dp.Budget(epsilon=10))
    words = ["er", "日本", "été", "e\u0301te\u0301"]
    session.register("t", pl.DataFrame({"k": words}), columns={"k": dp.Keys(words)})
    shown = repr(session.sql("SELECT k, 7 AS n, COUNT(*) AS m FROM t GROUP BY k", epsilon=1))
    _, rule, *rows = shown.splitlines()[:6]
    assert rule == rule.rstrip()
    starts = {row.split()[0]: row.index("7") for row in rows}
    # Two places for each of the two, and none for an accent.
    assert [starts[word] for word in words] == [6, 4, 6, 8]

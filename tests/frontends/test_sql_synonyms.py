"""Aggregates under other names are the same question as under their own: one plan, one answer."""

from __future__ import annotations

import polars as pl
import pytest

import dpframe as dp
from dpframe.plan.nodes import Node

PAIRS = [
    ("duckdb", "IQR(x)", "QUANTILE_CONT(x, 0.75) - QUANTILE_CONT(x, 0.25)"),
    (
        "duckdb",
        "2 * IQR(x + 1) FILTER (WHERE y > 2)",
        """2 * (QUANTILE_CONT(x + 1, 0.75) FILTER (WHERE y > 2)
        - QUANTILE_CONT(x + 1, 0.25) FILTER (WHERE y > 2))""",
    ),
    ("spark", "IQR(x)", "PERCENTILE(x, 0.75) - PERCENTILE(x, 0.25)"),
    ("duckdb", "MODE() WITHIN GROUP (ORDER BY k)", "MODE(k)"),
    ("postgres", "MODE() WITHIN GROUP (ORDER BY k DESC)", "MODE(k)"),
    ("duckdb", "MEAN(x)", "AVG(x)"),
]
SPELLED = [
    ("spark", "SKEWNESS(x)", "SKEWNESS_POP(x)"),
    ("databricks", "KURTOSIS(x)", "KURTOSIS_POP(x)"),
    ("trino", "SKEWNESS(x)", "SKEWNESS_POP(x)"),
    ("trino", "KURTOSIS(x)", "KURTOSIS(x)"),
    ("snowflake", "SKEW(x)", "SKEWNESS(x)"),
    ("spark", "STD(x)", "STDDEV(x)"),
    ("mysql", "std(x)", "STDDEV_POP(x)"),
    ("mysql", "VARIANCE(x)", "VAR_POP(x)"),
    ("mysql", "VAR_SAMP(x)", "VAR_SAMP(x)"),
    ("spark", "PERCENTILE(x, array(0.25, 0.5))", "QUANTILE_CONT(x, [0.25, 0.5])"),
    ("spark", "PERCENTILE_APPROX(x, 0.25, 100)", "APPROX_QUANTILE(x, 0.25)"),
    ("databricks", "APPROX_PERCENTILE(x, 0.25)", "APPROX_QUANTILE(x, 0.25)"),
    ("tsql", "VARP(x)", "VAR_POP(x)"),
    ("bigquery", "APPROX_QUANTILES(x, 4)", "QUANTILE(x, [0.0, 0.25, 0.5, 0.75, 1.0])"),
    ("bigquery", "APPROX_QUANTILES(x, 100)[OFFSET(50)]", "QUANTILE(x, 0.5)"),
    ("bigquery", "APPROX_QUANTILES(x, 2)[ORDINAL(1)]", "QUANTILE(x, 0.0)"),
]


@pytest.fixture(scope="module")
def session() -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=100))
    rows = pl.DataFrame({"x": range(200), "y": [1, 2, 3, 4] * 50, "k": ["a", "b"] * 100})
    columns = {"x": dp.Range(0, 199), "y": dp.Range(1, 4), "k": dp.Keys(["a", "b"])}
    opened.register("t", rows, columns=columns)
    return opened


def plan(session: dp.Session, dialect: str, item: str) -> Node:
    return session.query(f"SELECT {item} AS v FROM t", dialect=dialect)._compiled.plan


@pytest.mark.parametrize(("dialect", "written", "meant"), PAIRS)
def test_both_ways_of_writing_it_are_one_plan(
    session: dp.Session, dialect: str, written: str, meant: str
) -> None:
    assert plan(session, dialect, written) == plan(session, dialect, meant)


@pytest.mark.parametrize(("dialect", "written", "meant"), SPELLED)
def test_a_dialect_means_what_duckdb_calls_otherwise(
    session: dp.Session, dialect: str, written: str, meant: str
) -> None:
    assert plan(session, dialect, written) == plan(session, "duckdb", meant)


def test_the_distance_of_quartiles_has_the_name_that_was_written(session: dp.Session) -> None:
    found = session.sql("SELECT k, iqr(x), IQR(y) AS z FROM t GROUP BY k", epsilon=1)
    assert found.frame.columns == ["k", "iqr(x)", "z"]
    assert {"iqr(x)_low", "z_high"} <= set(found.intervals().columns)


def test_the_distance_of_quartiles_of_groups_is_free(session: dp.Session) -> None:
    counts = "SELECT x // 20 AS d, COUNT(*) AS n FROM t GROUP BY 1"
    session.sql(counts, epsilon=1)
    found = session.sql(f"SELECT IQR(n) AS i, QUANTILE_CONT(n, 0.25) AS q FROM ({counts}) AS g")
    assert str(found.loss) == "nothing"
    over = session.sql(
        "SELECT x // 20 AS d, IQR(COUNT(*)) OVER () AS i, COUNT(*) AS n FROM t GROUP BY 1"
    )
    assert str(over.loss) == "nothing"
    assert set(over.frame["i"]) == {found.frame["i"].item()}


@pytest.mark.parametrize("places", ["[OFFSET(101)]", "[ORDINAL(0)]", "[OFFSET(x)]"])
def test_a_place_beyond_all_quantiles_is_refused(session: dp.Session, places: str) -> None:
    with pytest.raises(dp.SQLError):
        plan(session, "bigquery", f"APPROX_QUANTILES(x, 100){places}")


@pytest.mark.parametrize("dialect", ["databricks", "spark"])
def test_a_frequency_that_the_parser_leaves_out_is_refused(
    session: dp.Session, dialect: str
) -> None:
    with pytest.raises(dp.SQLError, match="PERCENTILE has more than 2 arguments"):
        plan(session, dialect, "PERCENTILE(x, 0.5, y)")


@pytest.mark.parametrize(
    ("quotient", "is_whole"),
    [
        ("SUM(x) / COUNT(*)", False),
        ("(SUM(x + 1) + 1) / 7", False),
        ("SUM(CASE WHEN y > 2 THEN x END) / 7", False),
        ("SUM(CASE WHEN y > 2 THEN 1 ELSE 0 END) / COUNT(*)", True),
        ("SUM(x) FILTER (WHERE y > 2) / SUM(CASE WHEN x > 2 THEN 1 END)", False),
        ("CAST(SUM(x) AS INT) / 7", True),
        ("SUM(CAST(x AS INT)) / 7", True),
        ("SUM(x::bigint) / 7", False),
        ("SUM(CASE x WHEN 2 THEN 1 END) / COUNT(*)", True),
        ("COUNT(*) / 7", True),
    ],
)
def test_a_quotient_of_sums_in_postgresql_is_whole_where_they_add_up_integers(
    session: dp.Session, quotient: str, is_whole: bool
) -> None:
    """PostgreSQL's sum of BIGINT is a NUMERIC, and that of INTEGER a BIGINT."""
    assert ("params=('typed',)" in str(plan(session, "postgres", quotient))) == is_whole

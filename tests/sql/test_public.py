"""Public tables are answered exactly, at no cost, and mean what plain DuckDB means."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest
from test_accepted import PRIVATE, STATEMENTS, Accepted, compare, plain  # noqa: F401  a fixture

import dpframe as dp


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("accepted", [*STATEMENTS, *PRIVATE], ids=lambda s: s.claim)
def test_accepted_statements_are_answered_as_plain_duckdb_does(
    accepted: Accepted,
    engine: str,
    public_sessions: dict[str, dp.Session],
    plain: dict[bool, duckdb.DuckDBPyConnection],  # noqa: F811
) -> None:
    public = public_sessions[engine]
    release = public.sql(accepted.text, dialect=accepted.dialect)
    compare(accepted.text, release, plain[True].execute(accepted.plain).fetchall())
    assert release.loss == dp.Loss.none()
    assert public.spent.releases == 0


AGGREGATES = [
    *("COUNT(*)", "COUNT(x)", "COUNT_IF(x > 1)", "COUNT(DISTINCT x)", "SUM(x)", "SUM(f)"),
    *("AVG(x)", "AVG(f)", "SUM(x) FILTER (WHERE x > 2)", "AVG(f) FILTER (WHERE f < 0)"),
    *("VAR_POP(f)", "VAR_SAMP(f)", "STDDEV_POP(f)", "STDDEV(f)", "SKEWNESS(f)", "KURTOSIS(f)"),
    "KURTOSIS_POP(f)",
    *("COVAR_POP(f, x)", "COVAR_SAMP(f, x)", "CORR(f, x)", "REGR_SLOPE(f, x)"),
    *("REGR_INTERCEPT(f, x)", "REGR_R2(f, x)", "REGR_AVGX(f, x)", "REGR_AVGY(f, x)"),
    *("MEDIAN(x)", "MIN(x)", "MAX(x)", "QUANTILE_DISC(x, 0.5)"),
    *("COALESCE(SUM(x), -1)", "SUM(x) + 1", "AVG(x) IS NULL"),
]
ROWS = {
    "some": ([1, 2, 2, 7, None], [0.5, None, 1.5, 4.0, 2.0]),
    "one": ([3], [0.25]),
    "two": ([3, 4], [0.25, 0.75]),
    "no values": ([None, None], [None, None]),
    "all equal": ([4, 4, 4, 4], [1.5, 1.5, 1.5, 1.5]),
}


def table(names: list[str]) -> pl.DataFrame:
    schema = {"k": pl.String, "x": pl.Int64, "f": pl.Float64}
    rows = [(name, x, f) for name in names for x, f in zip(*ROWS[name], strict=True)]
    return pl.DataFrame(rows, schema=schema, orient="row")


def expected(frame: pl.DataFrame, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute("SET ieee_floating_point_ops = false")
        connection.register("t", frame)
        # DuckDB alone says NULL for COUNT_IF over nothing; it is a count, and 0 everywhere else.
        rows = connection.execute(sql.replace("COUNT_IF(x > 1)", COUNTED)).fetchall()
        # What has no value is NULL here, whether DuckDB says NULL or NaN.
        return [tuple(None if cell != cell else cell for cell in row) for row in rows]


COUNTED = "COUNT(*) FILTER (WHERE x > 1)"


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("aggregate", AGGREGATES)
def test_groups_without_values_and_empty_tables_are_as_in_plain_duckdb(
    aggregate: str, engine: Any
) -> None:
    columns = {"k": dp.Keys(list(ROWS)), "x": dp.Range(0, 9), "f": dp.Range(0, 5)}
    for names in (list(ROWS), ["no values"], []):
        session = dp.Session(dp.Budget(epsilon=1))
        frame = table(names)
        session.register("t", frame, columns=columns, engine=engine, public=True)
        whole = f"SELECT {aggregate} AS v FROM t"
        compare(whole, session.sql(whole), expected(frame, whole))
        by_key = f"SELECT k, {aggregate} AS v, COUNT(*) AS n FROM t GROUP BY k"
        release = session.sql(by_key)
        if frame.height:
            compare(by_key, release, expected(frame, by_key))
        errors = release.errors
        if errors.schema["v"].is_numeric():
            assert errors["v"].to_list() == [0.0] * errors.height
        assert "inf" not in repr(release)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_private_table_never_answers_null_for_want_of_rows(engine: Any) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    columns = {"x": dp.Range(0, 9), "f": dp.Range(0, 5)}
    session.register("t", table(["no values"]), columns=columns, engine=engine)
    row = session.sql("SELECT SUM(x), SUM(f), AVG(x), AVG(f) FROM t", epsilon="0.5").frame.row(0)
    assert None not in row


@pytest.mark.parametrize("asked", ["ANY_VALUE(ward)", "LIST(ward)", "ARG_MAX(ward, age)"])
def test_a_refusal_does_not_call_public_rows_private(
    asked: str, public_sessions: dict[str, dp.Session]
) -> None:
    with pytest.raises(dp.QueryError, match="answers are about many") as refused:
        public_sessions["polars"].sql(f"SELECT {asked} FROM visits")
    assert "private" not in str(refused.value)

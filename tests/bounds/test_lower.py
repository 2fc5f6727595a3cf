"""Who owns a row, what it weighs, and what stays known of its columns."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import layout_for
from dpframe.bounds.rows import Grouped, Joined, Stacked, stored_tables
from dpframe.engines.base import request_for


@pytest.fixture(params=["polars", "duckdb"])
def session(request: pytest.FixtureRequest) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=10))
    a = pl.DataFrame({"u": [1, 2, 2], "i": [1, 2**62, 2**63 - 1], "x": [1, 2, 3]})
    b = pl.DataFrame({"v": [1, 2], "y": [5, 6]})
    engine: Any = request.param
    columns = {"x": dp.Range(0, 9)}
    opened.register("a", a, unit=dp.Unit("u", max_rows=3), columns=columns, engine=engine)
    columns = {"y": dp.Range(0, 9)}
    opened.register("b", b, unit=dp.Unit("v", max_rows=7), columns=columns, engine=engine)
    opened.register("p", pl.DataFrame({"x": [1, 2], "w": [0.5, 2.0]}), public=True, engine=engine)
    return opened


def compiled(session: dp.Session, sql: str) -> Compiled:
    return session.query(sql)._compiled


def test_a_joined_row_weighs_what_the_heavier_table_says(session: dp.Session) -> None:
    found = compiled(session, "SELECT COUNT(*) FROM a JOIN b ON u = v")
    assert found.table.max_rows == 7
    assert isinstance(found.source, Joined)
    assert [t.name for t in stored_tables(found.source)] == ["a", "b"]
    assert compiled(session, "SELECT COUNT(*) FROM a JOIN p USING (x)").table.max_rows == 3


def test_one_row_for_each_unit_weighs_one_row(session: dp.Session) -> None:
    found = compiled(session, "SELECT COUNT(*) FROM (SELECT u, SUM(x) AS s FROM a GROUP BY u)")
    assert found.table.max_rows == 1
    assert isinstance(found.source, Grouped)
    by_more = "SELECT COUNT(*) FROM (SELECT u, x, COUNT(*) AS n FROM a GROUP BY u, x)"
    assert compiled(session, by_more).table.max_rows == 3


def test_stacked_rows_keep_their_unit(session: dp.Session) -> None:
    sql = "SELECT COUNT(DISTINCT w) FROM (SELECT u AS w FROM a UNION ALL SELECT v FROM b)"
    found = compiled(session, sql)
    assert isinstance(found.source, Stacked)
    assert found.table.max_rows == 7


def test_bounds_go_through_joins_and_a_missing_row_may_be_null(session: dp.Session) -> None:
    for how, nullable in (("JOIN", False), ("LEFT JOIN", True)):
        found = compiled(session, f"SELECT SUM(w) FROM a {how} p ON a.x = p.x")
        (domain,) = [d for d in found.table.domains.values() if d.high == 2.0]
        assert (domain.low, domain.nullable) == (0.5, nullable)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(d) FROM (SELECT u, i + i AS d FROM a WHERE i BETWEEN 0 AND 100) WHERE d < 50",
        (
            "SELECT SUM(d) FROM (SELECT u, i * i AS d FROM a WHERE i BETWEEN 0 AND 100) z JOIN b"
            " ON u = v WHERE d < 50 AND d = 1"
        ),
        "SELECT i + 1 AS k, COUNT(*) FROM a WHERE i BETWEEN 0 AND 3 GROUP BY k",
        (
            "SELECT SUM(s) FROM (SELECT u, MAX(i * i) AS s FROM a WHERE i BETWEEN 0 AND 9 GROUP BY u)"
            " WHERE s < 50"
        ),
        "SELECT SUM(i + 9214364837600034815) FROM a WHERE i BETWEEN 0 AND 9007199254740992.0",
        (
            "SELECT COUNT(*) FROM (SELECT u, i + i AS d FROM a WHERE i BETWEEN 0 AND 100) z"
            " JOIN p ON z.d = p.x"
        ),
    ],
)
def test_a_row_that_where_drops_stops_no_query(session: dp.Session, sql: str) -> None:
    """DuckDB computed i + i, which overflows, to see whether it is below 50."""
    query = session.query(sql)
    found = query._engine.measure(request_for(query._compiled, layout_for(query._compiled, 1)))
    assert sum(map(len, found)) > 0


def test_other_aliases_and_another_order_are_the_same_question(session: dp.Session) -> None:
    first = "SELECT COUNT(*), SUM(a.x) FROM a JOIN b ON a.u = b.v JOIN p ON p.x = a.x WHERE y > 1"
    spent = session.sql(first, epsilon=1).loss
    assert spent.epsilon == 1
    for again in (
        first,
        "SELECT COUNT(*), SUM(l.x) FROM a l JOIN b r ON r.v = l.u JOIN p q ON l.x = q.x WHERE r.y > 1",
        "SELECT SUM(a.x), COUNT(*) FROM p, b, a WHERE b.y > 1 AND a.u = b.v AND p.x = a.x",
    ):
        assert session.sql(again).reused
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        session.sql(first.replace("y > 1", "y > 2"))


def test_another_version_of_either_table_is_another_question(tmp_path: Any) -> None:
    opened = dp.Session(dp.Budget(epsilon=10))
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for path, unit in zip(paths, "uv", strict=True):
        pl.DataFrame({unit: [1, 2]}).write_parquet(path)
        opened.register(path.stem, path, unit=dp.Unit(unit, max_rows=1))
    asked = "SELECT COUNT(*) FROM a JOIN b ON u = v"
    opened.sql(asked, epsilon=1)
    assert opened.sql(asked).reused
    for path, unit in zip(paths, "uv", strict=True):
        pl.DataFrame({unit: [1, 2, 3]}).write_parquet(path)
        assert not opened.sql(asked, epsilon=1).reused
        assert opened.sql(asked).reused


def test_explain_shows_both_sides_of_a_join_and_the_unit(session: dp.Session) -> None:
    sql = (
        "SELECT SUM(LEAST(s, 5)) FROM b JOIN (SELECT u, SUM(x) AS s FROM a GROUP BY u"
        " HAVING COUNT(*) > 1) z ON b.v = z.u"
    )
    text = session.query(sql).explain(epsilon=1)
    for words in (
        "inner join on b.v = z.u",
        "filter (COUNT(*) > 1)",
        "inside each unit: SUM(x), COUNT(*) by u",
        "all rows of one b.v = a.u, weighing at most 7 rows",
        "sum of LEAST(s, 5)",
        "scan a",
        "scan b",
    ):
        assert words in text, text
    assert "__dpframe" not in text


def test_a_column_cannot_pass_for_a_computed_one() -> None:
    """Computed columns are not clamped on reading, so a declared range would not hold."""
    opened = dp.Session(dp.Budget(epsilon=1))
    frame = pl.DataFrame({"__dpframe_stage0": [10**9]})
    with pytest.raises(dp.DeclarationError, match="the library's own"):
        opened.register("t", frame, columns={"__dpframe_stage0": dp.Range(0, 1)})


def test_columns_of_columns_that_grow_too_large_are_refused_at_once(session: dp.Session) -> None:
    """Written out, each subquery is three times as large as the one within."""
    rows = "SELECT x FROM a"
    for _ in range(9):
        rows = f"SELECT x + x - x AS x FROM ({rows})"
    with pytest.raises(dp.QueryError, match="too large once subqueries are written out"):
        session.query(f"SELECT SUM(x) FROM ({rows})")

"""What an engine refuses only where a row is there is refused before anything is spent."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.engines import rehearsal
from dpframe.engines.duckdb import DuckDBEngine
from dpframe.plan.functions import patterns, texts

TOO_LONG = {"polars": f"s LIKE '{'_' * 20_000}'", "duckdb": "SUBSTRING(s, 4294967296) = 'a'"}
ASKED = (
    "SELECT COUNT(*) FROM t WHERE name = 'alice' AND {}",
    "SELECT SUM(CASE WHEN {} THEN x ELSE 0 END) FROM t WHERE name = 'alice'",
    "SELECT COUNT(*) FILTER (WHERE {}) FROM t",
    "SELECT CASE WHEN {} THEN 'a' ELSE 'b' END AS k, COUNT(*) FROM t GROUP BY k",
    "SELECT COUNT(DISTINCT CASE WHEN {} THEN x END) FROM t",
    "SELECT MEDIAN(CASE WHEN {} THEN x END) FROM t",
    "SELECT COUNT(*) FROM (SELECT x FROM t WHERE {}) r JOIN p ON r.x = p.x",
    "SELECT SUM(m) FROM (SELECT u, MAX(CASE WHEN {} THEN 1 ELSE 0 END) AS m FROM t GROUP BY u)",
    "SELECT CASE WHEN {} THEN 'a' ELSE 'b' END AS k FROM t GROUP BY k ORDER BY COUNT(*) DESC LIMIT 1",
)


@pytest.fixture
def unbounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if nobody had known what engines refuse, and nothing had been tried yet."""
    monkeypatch.setattr(rehearsal, "_tried", set())
    monkeypatch.setattr(patterns, "_LONGEST_LIKE", 10**6)
    monkeypatch.setattr(texts, "_LAST_CHARACTER", 2**63 - 1)


def session(engine: Any) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=1))
    data = pl.DataFrame({"u": [1, 2], "s": ["a", "b"], "name": ["bob", "eve"], "x": [1, 2]})
    unit = dp.Unit("u", max_rows=2)
    opened.register("t", data, unit=unit, columns={"x": dp.Range(0, 9)}, engine=engine)
    opened.register("p", pl.DataFrame({"x": [1, 2]}), public=True, engine=engine)
    return opened


@pytest.mark.usefixtures("unbounded")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("sql", ASKED)
def test_what_would_fail_on_a_row_is_refused_before_the_charge(sql: str, engine: Any) -> None:
    opened = session(engine)
    for _ in range(2):  # what was refused is not taken for what was tried
        with pytest.raises(dp.QueryError, match="does not compute"):
            opened.sql(sql.format(TOO_LONG[engine]), epsilon=0.1)
    assert opened.spent.epsilon == 0
    assert opened.sql(sql.format("s LIKE 'a%'"), epsilon=0.1).frame.height > 0


def test_functions_are_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []

    def counted(self: Any, exprs: Any, table: pl.DataFrame) -> pl.DataFrame:
        tried.append(exprs)
        return table

    monkeypatch.setattr(rehearsal, "_tried", set())
    opened = session("duckdb")
    monkeypatch.setattr(DuckDBEngine, "evaluate", counted)
    for pattern in ("a%", "a%", "b%"):
        opened.query(f"SELECT COUNT(*) FROM t WHERE s LIKE '{pattern}' OR name LIKE '{pattern}'")
    assert len(tried) == 2

"""What the columns of an answer are called, above all where a star stands for them."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest
from noiseless import without_noise

import dpframe as dp
from dpframe.errors import SQLError

DATA = pl.DataFrame({"w": ["a", "a", "b"], "x": [1, 2, 3]})
INNER = "(SELECT w, COUNT(*) AS N, SUM(x) AS S FROM t GROUP BY w)"


def session() -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=100))
    opened.register("t", DATA, columns={"w": dp.Keys(["a", "b"]), "x": dp.Range(0, 3)})
    return opened


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT * FROM {INNER}",
        f"SELECT *, N + 1 AS m FROM {INNER}",
        f"SELECT N + 1 AS m, * FROM {INNER}",
        f"SELECT *, RANK() OVER (ORDER BY N DESC) AS place FROM {INNER} QUALIFY place = 1",
        f"SELECT q.* FROM {INNER} AS q",
        f"SELECT * EXCLUDE (w) FROM {INNER}",
        f"SELECT * EXCLUDE (w), N + 1 AS m FROM {INNER}",
        f"SELECT * REPLACE (N + 1 AS N) FROM {INNER}",
        f"WITH q AS {INNER} SELECT *, 1 AS one FROM q",
        f"SELECT *, 2 AS two FROM (SELECT *, 1 AS one FROM {INNER})",
    ],
)
def test_columns_of_a_star_are_those_that_it_stands_for(
    sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_noise(monkeypatch)
    found = session().sql(sql, epsilon=1).frame
    expected = duckdb.connect().register("t", DATA).sql(sql)
    assert found.columns == expected.columns
    assert sorted(found.rows()) == sorted(expected.fetchall())


def test_columns_of_one_name_are_told_apart() -> None:
    found = session().query(f"SELECT *, *, N FROM {INNER}").release(epsilon=1).frame
    assert found.columns == ["w", "N", "S", "w_1", "N_1", "S_1", "N_2"]


def test_two_different_stars_are_refused() -> None:
    with pytest.raises(SQLError, match="two different stars"):
        session().query(f"SELECT * EXCLUDE (w), * FROM {INNER}")

"""A text is read once, and again when there are other tables."""

from __future__ import annotations

import polars as pl
import pytest

import dpframe as dp
from dpframe.frontends.sql_plans import _MOST, Plans


@pytest.fixture
def session() -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=100))
    session.register("t", pl.DataFrame({"x": [1, 2]}), columns={"x": dp.Range(0, 9)})
    return session


def test_the_same_text_is_the_same_plan(session: dp.Session) -> None:
    plans = Plans(session._tables)
    text = "SELECT SUM(x) FROM t"
    assert plans.of(text, "duckdb") is plans.of(text, "duckdb")
    assert plans.of(text, "duckdb") == Plans(session._tables).of(text, "duckdb")


def test_a_dialect_reads_the_same_text_in_its_own_way(session: dp.Session) -> None:
    plans = Plans(session._tables)
    text = "SELECT SUM(x / 2) FROM t"  # integers are divided as integers in PostgreSQL
    assert plans.of(text, "duckdb") != plans.of(text, "postgres")


def test_a_text_that_was_refused_is_read_again_when_its_table_is_there(
    session: dp.Session,
) -> None:
    text = "SELECT COUNT(*) FROM later"
    with pytest.raises(dp.UserError, match="later"):
        session.query(text)
    session.register("later", pl.DataFrame({"x": [1]}))
    assert session.sql(text, epsilon=1).frame.height == 1


def test_public_rows_are_read_for_every_question_anew(tmp_path: object) -> None:
    path = f"{tmp_path}/wards.parquet"
    session = dp.Session(dp.Budget(epsilon=1))
    pl.DataFrame({"beds": [1, 2]}).write_parquet(path)
    session.register("wards", path, public=True)
    text = "SELECT SUM(beds) AS beds FROM wards"
    assert session.sql(text).frame["beds"].to_list() == [3]
    pl.DataFrame({"beds": [10, 20]}).write_parquet(path)
    assert session.sql(text).frame["beds"].to_list() == [30]


def test_only_so_many_are_kept(session: dp.Session) -> None:
    plans = Plans(session._tables)
    for i in range(_MOST + 1):
        plans.of(f"SELECT COUNT(*) FROM t WHERE x > {i}", "duckdb")
    assert len(plans._plans) == 1


@pytest.mark.parametrize(
    ("text", "dialect"), [(["SELECT"], "duckdb"), ("SELECT COUNT(*) FROM t", [])]
)
def test_what_is_no_text_is_refused(session: dp.Session, text: object, dialect: object) -> None:
    with pytest.raises(dp.UserError):
        session.sql(text, epsilon=1, dialect=dialect)  # type: ignore[arg-type]

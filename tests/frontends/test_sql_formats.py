"""Formats of dates mean what they mean to the database whose dialect it is, or are refused.

What is expected of 2024-03-02 15:04:09 was written by PostgreSQL 15, MariaDB 10.11 and Spark 4; that of
the others follows their manuals.
"""

from __future__ import annotations

from datetime import datetime

import polars as pl
import pytest

import dpframe as dp

CALLS = {
    "bigquery": "FORMAT_TIMESTAMP({}, seen)",
    "databricks": "DATE_FORMAT(seen, {})",
    "mysql": "DATE_FORMAT(seen, {})",
    "postgres": "TO_CHAR(seen, {})",
    "snowflake": "TO_CHAR(seen, {})",
    "spark": "DATE_FORMAT(seen, {})",
    "trino": "date_format(seen, {})",
    "tsql": "FORMAT(seen, {})",
}
WRITTEN = [
    ("postgres", "YYYY-MM", "2024-03"),
    ("postgres", 'yyyy"T"mm', "2024T03"),
    ("postgres", "YY DDD ID", "24 062 6"),
    ("postgres", "HH24:MI", "15:04"),
    ("postgres", "HH12:MI:SS AM", "03:04:09 PM"),
    ("postgres", "HH", "03"),
    ("postgres", "IYYY-IW", "2024-09"),
    ("postgres", "FMDay, FMMonth", "Saturday, March"),
    ("postgres", "Mon Dy", "Mar Sat"),
    ("postgres", "100%", "100%"),
    ("mysql", "%Y-%m", "2024-03"),
    ("mysql", "%M %b", "March Mar"),
    ("mysql", "%W %a %w", "Saturday Sat 6"),
    ("mysql", "%H:%i", "15:04"),
    ("mysql", "%h %p %r", "03 PM 03:04:09 PM"),
    ("mysql", "%x-%v", "2024-09"),
    ("mysql", "100%% at", "100% at"),
    ("trino", "%Y-%m %i", "2024-03 04"),
    ("spark", "yyyy-MM", "2024-03"),
    ("spark", "yy y DDD", "24 2024 062"),
    ("spark", "E EEEE MMM MMMM dd", "Sat Saturday Mar March 02"),
    ("spark", "HH:mm:ss", "15:04:09"),
    ("spark", "hh a", "03 PM"),
    ("databricks", "yyyyMMdd", "20240302"),
    ("tsql", "yyyy-MM", "2024-03"),
    ("tsql", "ddd dddd MMM MMMM", "Sat Saturday Mar March"),
    ("tsql", "HH:mm hh tt", "15:04 03 PM"),
    ("snowflake", "YYYY-MM", "2024-03"),
    ("snowflake", "Mon MMMM DY HH24:mi", "Mar March Sat 15:04"),
    ("bigquery", "%F %R %b %A", "2024-03-02 15:04 Mar Saturday"),
]
REFUSED = [
    ("postgres", "Month", "'th'"),  # padded with blanks
    ("postgres", "D", "'D'"),  # Sunday is 1
    ("postgres", "Q", "'Q'"),
    ("postgres", "MON", "'MON'"),
    ("postgres", "FMDD", "'FMDD'"),
    ("postgres", "DDth", "'th'"),
    ("postgres", 'YYYY"', "'\"'"),
    ("postgres", "HH24 SSSS", "'SSSS'"),  # seconds since midnight
    ("postgres", "ssss", "'ssss'"),
    ("postgres", "IYYY IDDD", "'IDDD'"),  # the day of a year of weeks
    ("mysql", "%e", "'%e'"),
    ("mysql", "%V", "'%V'"),  # weeks from Sunday on
    ("mysql", "%B", "'%B'"),  # the letter B
    ("mysql", "%", "'%'"),
    ("trino", "%w", "'%w'"),
    ("spark", "d/M/yyyy", "'d'"),
    ("spark", "Q", "'Q'"),
    ("spark", "EEEEE", "'EEEEE'"),
    ("spark", "[yyyy]", "'['"),
    ("tsql", "d", "language"),
    ("tsql", "d.M", "'d'"),
    ("tsql", "ss.fff", "'fff'"),
    ("snowflake", "FF3", "'FF'"),
    ("bigquery", "%E4Y", "'%E'"),
    ("bigquery", "%e", "'%e'"),
]


@pytest.fixture(scope="module")
def session() -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=1))
    moment = datetime(2024, 3, 2, 15, 4, 9)
    opened.register("t", pl.DataFrame({"seen": [moment], "name": ["a"]}), public=True)
    return opened


def asked(dialect: str, form: str) -> str:
    quoted = "'" + form.replace("'", "''") + "'"
    return f"SELECT {CALLS[dialect].format(quoted)} AS f, COUNT(*) AS n FROM t GROUP BY 1"


@pytest.mark.parametrize(("dialect", "form", "expected"), WRITTEN)
def test_a_format_is_written_as_the_database_writes_it(
    session: dp.Session, dialect: str, form: str, expected: str
) -> None:
    found = session.sql(asked(dialect, form), dialect=dialect).frame
    assert found["f"].to_list() == [expected]


@pytest.mark.parametrize(("dialect", "form", "named"), REFUSED)
def test_what_is_not_known_in_a_format_is_refused_and_named(
    session: dp.Session, dialect: str, form: str, named: str
) -> None:
    """It would stand in every answer: TO_CHAR(day, 'Q') would be the letter Q for all days."""
    with pytest.raises(dp.SQLError, match="format") as raised:
        session.sql(asked(dialect, form), dialect=dialect)
    assert named in str(raised.value)
    assert "fix: use " in str(raised.value)


@pytest.mark.parametrize(
    "call",
    [
        "DATE_FORMAT(seen, name)",
        "DATE_FORMAT(seen, CONCAT('y', 'y'))",
        "DATE_FORMAT(seen, 'yy' 'yy')",
    ],
)
def test_a_format_is_one_text_in_quotes(session: dp.Session, call: str) -> None:
    with pytest.raises(dp.SQLError, match="format is not one text"):
        session.sql(f"SELECT {call} AS f, COUNT(*) AS n FROM t GROUP BY 1", dialect="spark")


def test_other_texts_in_a_call_are_not_its_format(session: dp.Session) -> None:
    text = "TO_CHAR(COALESCE(seen, TIMESTAMP '2020-01-01 00:00:00'), 'YYYY')"
    found = session.sql(f"SELECT {text} AS f, COUNT(*) AS n FROM t GROUP BY 1", dialect="postgres")
    assert found.frame["f"].to_list() == ["2024"]


@pytest.mark.parametrize("dialect", ["bigquery", "mysql", "trino"])
def test_words_are_no_letters_where_other_functions_take_directives(
    session: dp.Session, dialect: str
) -> None:
    text = "SELECT TO_CHAR(seen, 'yyyy') AS f, COUNT(*) AS n FROM t GROUP BY 1"
    with pytest.raises(dp.SQLError, match="TO_CHAR means something else"):
        session.sql(text, dialect=dialect)


@pytest.mark.parametrize(
    ("dialect", "call", "expected"),
    [
        ("mysql", "MONTHNAME(seen)", "March"),
        ("mysql", "DAYNAME(seen)", "Saturday"),
        ("spark", "MONTHNAME(seen)", "Mar"),
        ("databricks", "DAYNAME(seen)", "Sat"),
        ("snowflake", "MONTHNAME(seen)", "Mar"),
        ("tsql", "DATENAME(weekday, seen)", "Saturday"),
    ],
)
def test_names_of_months_and_days_are_as_long_as_the_database_writes_them(
    session: dp.Session, dialect: str, call: str, expected: str
) -> None:
    text = f"SELECT {call} AS f, COUNT(*) AS n FROM t GROUP BY {call}"
    assert session.sql(text, dialect=dialect).frame["f"].to_list() == [expected]

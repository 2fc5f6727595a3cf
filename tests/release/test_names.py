"""Columns of a release may be called anything, also what Polars takes for a pattern.

`pl.col("*")` is every column and `pl.col("^n.*$")` those that match, also where a series of that name
is asked for something: such names failed once the budget was spent.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import polars as pl
import pytest

import dpframe as dp

PLAIN = {"key": "key", "value": "value", "day": "day", "n": "n", "other": "other"}
ODD = {"key": "*", "value": "^v.*$", "day": "^.*$", "n": "^n.*$", "other": "{other}"}
DATA = pl.DataFrame(
    {
        "key": [1, 2, 2, 3] * 40,
        "value": [1.5, 2.0, 3.0, 4.5] * 40,
        "day": [date(2024, 1, 1), date(2024, 5, 1), date(2024, 9, 1), None] * 40,
        "other": [1, 2, 3, 4] * 40,
    }
)

ASKED = (
    'SELECT "key", COUNT(*) AS "n" FROM t GROUP BY "key"',
    'SELECT "key", COUNT(*) AS "n" FROM t GROUP BY "key" HAVING "n" > 50 ORDER BY "n" DESC LIMIT 2',
    (
        'SELECT "key", "n", RANK() OVER (ORDER BY "n" DESC) AS "value", "n" / SUM("n") OVER () AS "day"'
        ' FROM (SELECT "key", COUNT(*) AS "n" FROM t GROUP BY "key")'
    ),
    (
        'SELECT MAX("key") AS "n", SUM("n") AS "key" FROM'
        ' (SELECT "key", COUNT(*) AS "n" FROM t GROUP BY "key")'
    ),
    (
        'SELECT "key", AVG("n") AS "value", STDDEV("n") AS "n" FROM'
        ' (SELECT "key", "other", COUNT(*) AS "n" FROM t GROUP BY "key", "other") GROUP BY "key"'
    ),
    'SELECT "key", HISTOGRAM("value", 2) FROM t GROUP BY "key"',
    'SELECT HISTOGRAM("key", "value", 2) FROM t',
    'SELECT "key", MEDIAN("day") AS "day", MAX("value") AS "n" FROM t GROUP BY "key" ORDER BY "n"',
    'SELECT "key", QUANTILE_CONT("value", [0.2, 0.5]) AS "n" FROM t GROUP BY "key"',
    'SELECT "key" FROM t GROUP BY "key" ORDER BY COUNT(*) DESC LIMIT 1',
    'SELECT MODE("key") AS "key", AVG("value") / COUNT(*) AS "n" FROM t',
    'SELECT "key", VAR_POP("value") AS "value", CORR("value", "other") AS "n" FROM t GROUP BY "key"',
)
HISTOGRAMS: tuple[dict[str, Any], ...] = (
    {"column": ["value", "key"], "bins": 2},
    {"column": "value", "bins": 2, "by": ["key"]},
    {"column": "day", "bins": 3, "by": ["key"], "cumulative": True},
    {"column": ["value", "other"], "bins": 2, "by": ["key"], "margins": True},
)


def session(names: Mapping[str, str], engine: Any, **options: Any) -> dp.Session:
    declared = {
        "key": dp.Keys([1, 2, 3]),
        "value": dp.Range(0, 5),
        "day": dp.Range(date(2024, 1, 1), date(2024, 12, 31)),
        "other": dp.Keys([1, 2, 3, 4]),
    }
    opened = dp.Session(dp.Budget(epsilon=1000))
    columns = {names[name]: found for name, found in declared.items()}
    data = DATA.rename({name: names[name] for name in DATA.columns})
    opened.register("t", data, columns=columns, engine=engine, **options)
    return opened


def asked(names: Mapping[str, str], sql: str) -> str:
    for name, other in names.items():
        sql = sql.replace(f'"{name}"', f'"<{other}>"')
    return sql.replace('"<', '"').replace('>"', '"')


def looked_at(release: dp.Release) -> dp.Release:
    assert release.frame.height == release.intervals(0.9).height == release.errors.height
    assert release.redraws(3).columns == release.frame.columns or "MODE" in repr(release)
    assert repr(release)
    assert release._repr_html_()
    return release


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("sql", ASKED)
def test_any_name_of_a_released_column_is_a_name(sql: str, engine: Any) -> None:
    exact = session(PLAIN, engine, public=True).sql(sql).frame
    found = session(ODD, engine, public=True).sql(asked(ODD, sql)).frame
    assert found.rows() == exact.rows()
    if "HISTOGRAM" not in sql:
        assert found.columns == [ODD.get(name, name) for name in exact.columns]
    release = looked_at(session(ODD, engine).sql(asked(ODD, sql), epsilon=1))
    assert release.frame.columns == found.columns


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("options", HISTOGRAMS, ids=str)
def test_any_name_of_a_column_of_a_histogram_is_a_name(
    options: dict[str, Any], engine: Any
) -> None:
    def named(given: Any, names: Mapping[str, str]) -> Any:
        return [names[n] for n in given] if isinstance(given, list) else names[given]

    def ask(names: Mapping[str, str], **registered: Any) -> dp.Histogram:
        chosen = {key: named(options[key], names) for key in ("column", "by") if key in options}
        cost = {} if registered else {"epsilon": 1}
        return session(names, engine, **registered).histogram("t", **options | chosen, **cost)

    assert ask(ODD, public=True).frame.rows() == ask(PLAIN, public=True).frame.rows()
    found = ask(ODD)
    looked_at(found)
    if options.get("margins"):
        looked_at(found.margin(ODD["value"]))
        looked_at(found.between({ODD["value"]: (None, 2.5), ODD["other"]: (None, 2.5)}))

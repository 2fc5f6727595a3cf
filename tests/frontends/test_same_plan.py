"""The same question in SQL and in Polars is one question: one fingerprint, and the second is free."""

from __future__ import annotations

import itertools
from datetime import date, datetime
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest
from chains import Twin, frame_of, twin_cases
from hypothesis import HealthCheck, Phase, given, settings
from strategies import World

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.errors import QueryError
from dpframe.release.reuse import part_keys

SCHEMA = {
    "id": pl.Int64,
    "age": pl.Int64,
    "cost": pl.Float64,
    "score": pl.Int32,
    "ward": pl.String,
    "sex": pl.String,
    "active": pl.Boolean,
    "day": pl.Date,
    "seen": pl.Datetime("us"),
    "name": pl.String,
}
COLUMNS = {
    "age": dp.Range(0, 110),
    "cost": dp.Range(0, 50_000),
    "score": dp.Range(-50, 50),
    "ward": dp.Keys(["er", "icu", "gp"]),
    "sex": dp.Keys(["f", "m"]),
    "day": dp.Range(date(2024, 1, 1), date(2024, 12, 31)),
    "seen": dp.Range(datetime(2024, 3, 1), datetime(2024, 3, 3, 23, 59, 59)),
}

YOUNG = "pl.when(pl.col('age') < 18).then(pl.lit('young')).otherwise(pl.lit('old'))"

WHOLE_STATEMENTS: list[tuple[str, str]] = [
    ("SELECT COUNT(*) AS n FROM t", "t.select(n=pl.len())"),
    ("SELECT COUNT(age) AS n FROM t", "t.select(n=pl.col('age').count())"),
    ("SELECT COUNT(*) AS n FROM t", "t.select(n=pl.col('age').len())"),
    ("SELECT SUM(age) AS s FROM t", "t.select(s=pl.sum('age'))"),
    ("SELECT AVG(cost) AS c FROM t", "t.select(c=pl.mean('cost'))"),
    ("SELECT COUNT(DISTINCT id) AS n FROM t", "t.select(n=pl.col('id').n_unique())"),
    (
        "SELECT COUNT(DISTINCT (id, ward)) AS n FROM t",
        "t.select(n=pl.struct('id', 'ward').n_unique())",
    ),
    (
        "SELECT COUNT(DISTINCT (age // 2, cost)) FILTER (WHERE cost > 5) AS n FROM t",
        "t.select(n=pl.struct(pl.col('age') // 2, z='cost').filter(pl.col('cost') > 5).n_unique())",
    ),
    (
        "SELECT ward, QUANTILE_CONT(cost, [0.25, 0.5]) AS q, COUNT(*) AS n FROM t GROUP BY ward",
        "t.group_by('ward').agg(pl.col('cost').quantile([0.25, 0.5], 'linear').alias('q'), n=pl.len())",
    ),
    (
        "SELECT QUANTILE_DISC(cost, [0.5]) FILTER (WHERE age > 3) AS cost FROM t",
        "t.select(pl.col('cost').filter(pl.col('age') > 3).quantile([0.5]))",
    ),
    (
        "SELECT COUNT(*) FILTER (WHERE age IS NULL) AS n FROM t",
        "t.select(n=pl.col('age').null_count())",
    ),
    (
        "SELECT SUM(cost) FILTER (WHERE age > 65) AS s FROM t",
        "t.select(s=pl.col('cost').filter(pl.col('age') > 65).sum())",
    ),
    (
        "SELECT COUNT(*) FILTER (WHERE age > 65) AS n FROM t",
        "t.select(n=pl.col('id').filter(pl.col('age') > 65).len())",
    ),
    ("SELECT AVG(age) AS a FROM t", "t.select(a=pl.col('age').drop_nulls().mean())"),
    ("SELECT SUM(active) AS s FROM t", "t.select(s=pl.col('active').sum())"),
    (
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM t WHERE age >= 65 GROUP BY ward",
        "t.filter(pl.col('age') >= 65).group_by('ward').agg(n=pl.len(), cost=pl.col('cost').mean())",
    ),
    (
        "SELECT ward, sex, COUNT(*) AS len FROM t GROUP BY ward, sex",
        "t.group_by('ward', 'sex').len()",
    ),
    (
        "SELECT sex, ward, COUNT(*) AS len FROM t GROUP BY sex, ward",
        "t.group_by(['ward', 'sex']).agg(pl.len()).select('sex', 'ward', 'len')",
    ),
    (
        "SELECT ward, SUM(cost) / COUNT(*) AS m FROM t GROUP BY ward",
        "t.group_by('ward').agg(m=pl.col('cost').sum() / pl.len())",
    ),
    (
        "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward HAVING COUNT(*) > 10",
        "t.group_by('ward').agg(n=pl.len()).filter(pl.col('n') > 10)",
    ),
    (
        "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 2",
        "t.group_by('ward').agg(n=pl.len()).sort('n', descending=True).head(2)",
    ),
    (
        "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC LIMIT 2",
        "t.group_by('ward').agg(n=pl.len()).top_k(2, by='n')",
    ),
    (
        "SELECT ward FROM t GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1",
        "t.group_by('ward').agg(pl.len()).top_k(1, by='len').select('ward')",
    ),
    (
        "SELECT ward FROM t GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1",
        "t.group_by('ward').len().select(pl.col('ward').top_k_by('len', 1))",
    ),
    (
        "SELECT ARG_MAX(ward, n) AS ward FROM (SELECT ward, COUNT(*) AS n FROM t GROUP BY ward)",
        "t.group_by('ward').len().sort('len', descending=True).first().drop('len')",
    ),
    (
        "WITH g AS (SELECT ward, SUM(cost) AS c FROM t GROUP BY ward) SELECT MIN_BY(ward, c) AS w FROM g",
        "t.group_by('ward').agg(pl.col('cost').sum()).bottom_k(1, by='cost').select(w='ward')",
    ),
    (
        "SELECT ward FROM t GROUP BY ward HAVING ward <> 'er' ORDER BY COUNT(DISTINCT id) DESC LIMIT 1",
        "t.group_by('ward').agg(n=pl.col('id').n_unique()).filter(pl.col('ward') != 'er').top_k(1, by='n').select('ward')",
    ),
    (
        "SELECT ward FROM t GROUP BY ward ORDER BY COUNT(*) LIMIT 2",
        "t.group_by('ward').len().select(pl.col('ward').bottom_k_by('len', 2))",
    ),
    (
        "SELECT ward, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM t GROUP BY ward",
        "t.group_by('ward').agg(n=pl.len()).with_columns(share=pl.col('n') / pl.col('n').sum())",
    ),
    (
        "SELECT ward, sex, n / SUM(n) OVER (PARTITION BY ward) AS share FROM (SELECT ward, sex, COUNT(*) AS n FROM t GROUP BY ward, sex)",
        "t.group_by('ward', 'sex').agg(n=pl.len()).select('ward', 'sex', share=pl.col('n') / pl.col('n').sum().over('ward'))",
    ),
    (
        "SELECT ward, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM t GROUP BY ward",
        "t.group_by('ward').agg(n=pl.len()).with_columns(r=pl.col('n').rank('min', descending=True))",
    ),
    (
        "SELECT MONTH(day) AS m, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY MONTH(day)) AS s, LAG(COUNT(*)) OVER (ORDER BY MONTH(day)) AS b FROM t WHERE day IS NOT NULL GROUP BY 1",
        "t.filter(pl.col('day').is_not_null()).group_by(m=pl.col('day').dt.month()).agg(n=pl.len()).with_columns(s=pl.col('n').cum_sum(), b=pl.col('n').shift(1))",
    ),
    (
        "SELECT MAX(n) AS n, AVG(n) AS a, COUNT(*) AS c FROM (SELECT ward, COUNT(*) AS n FROM t GROUP BY ward)",
        "t.group_by('ward').agg(n=pl.len()).select(pl.col('n').max(), a=pl.col('n').mean(), c=pl.len())",
    ),
    (
        "SELECT ward, SUM(n) AS n FROM (SELECT ward, sex, COUNT(*) AS n FROM t GROUP BY ward, sex) GROUP BY ward",
        "t.group_by('ward', 'sex').agg(n=pl.len()).group_by('ward').agg(pl.col('n').sum())",
    ),
    (
        "WITH w AS (SELECT ward, COUNT(*) AS n FROM t GROUP BY ward) SELECT ward, n FROM w WHERE n > (SELECT AVG(n) FROM w)",
        "t.group_by('ward').agg(n=pl.len()).filter(pl.col('n') > pl.col('n').mean())",
    ),
    (
        "SELECT MODE(ward) AS ward FROM t",
        "t.select(pl.col('ward').mode().first())",
    ),
    (
        "SELECT age // 10 AS decade, COUNT(*) AS n FROM t GROUP BY age // 10",
        "t.group_by(decade=pl.col('age') // 10).agg(n=pl.len())",
    ),
    (
        "SELECT age // 10 AS decade, COUNT(*) AS n FROM t GROUP BY age // 10",
        "t.with_columns(decade=pl.col('age') // 10).group_by('decade').agg(n=pl.len())",
    ),
    (
        "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM t GROUP BY 1",
        "t.group_by(m=pl.col('day').dt.truncate('1mo')).agg(n=pl.len())",
    ),
    (
        "SELECT CASE WHEN age < 18 THEN 'young' ELSE 'old' END AS g, COUNT(*) AS n FROM t GROUP BY 1",
        f"t.group_by(g={YOUNG}).agg(n=pl.len())",
    ),
    (
        "SELECT EXTRACT(isodow FROM day) AS d, COUNT(*) AS n FROM t GROUP BY 1",
        "t.group_by(d=pl.col('day').dt.weekday()).agg(n=pl.len())",
    ),
    (
        "SELECT AVG(cost / 2) AS c FROM t WHERE ward = 'er' AND sex = 'f'",
        "t.filter(ward='er', sex='f').select(c=(pl.col('cost') / 2).mean())",
    ),
    (
        "SELECT COUNT(*) AS n FROM t WHERE age > 17 AND age < 65",
        "t.filter(pl.col('age') > 17).filter(pl.col('age') < 65).select(n=pl.len())",
    ),
    (
        "SELECT COUNT(*) AS n FROM t WHERE age IS NOT NULL AND cost IS NOT NULL",
        "t.drop_nulls(['age', 'cost']).select(n=pl.len())",
    ),
    (
        "SELECT SUM(age) AS age, SUM(cost) AS cost FROM t",
        "t.select(pl.col('age', 'cost').sum())",
    ),
    (
        "SELECT SUM(cost) AS cost FROM t",
        "t.select(cs.float().sum())",
    ),
    (
        "SELECT AVG(cost) AS c, AVG(cost) * 2 AS twice FROM t",
        "t.select(c=pl.col('cost').mean(), twice=pl.col('cost').mean() * 2)",
    ),
    (
        "SELECT ward AS place, AVG(age) AS years FROM t GROUP BY ward",
        "t.rename({'ward': 'place', 'age': 'years'}).group_by('place').agg(pl.col('years').mean())",
    ),
    (
        "SELECT ward, COUNT(*) AS len FROM t GROUP BY ward",
        "t.drop('cost').select('ward', 'age').group_by('ward').len()",
    ),
]

CONDITIONS: list[tuple[str, str]] = [
    ("age = 30", "pl.col('age') == 30"),
    ("age <> 30", "pl.col('age') != 30"),
    ("30 < age", "pl.col('age') > 30"),
    ("age + 1 > 30", "pl.col('age') + 1 > 30"),
    ("age - 1 > 30", "pl.col('age') - 1 > 30"),
    ("age * 2 >= score", "pl.col('age') * 2 >= pl.col('score')"),
    ("cost / 3 < 100.5", "pl.col('cost') / 3 < 100.5"),
    ("-score < 3", "-pl.col('score') < 3"),
    ("ABS(score) < 3", "pl.col('score').abs() < 3"),
    ("SIGN(score) = 1", "pl.col('score').sign() == 1"),
    ("FLOOR(cost) = 3", "pl.col('cost').floor() == 3"),
    ("CEIL(cost) = 3", "pl.col('cost').ceil() == 3"),
    ("ROUND(cost, 1) = 3", "pl.col('cost').round(1, mode='half_away_from_zero') == 3"),
    ("ROUND(cost) = 3", "pl.col('cost').round(mode='half_away_from_zero') == 3"),
    ("SQRT(cost) > 3", "pl.col('cost').sqrt() > 3"),
    ("LN(cost) > 3", "pl.col('cost').log() > 3"),
    ("EXP(score) > 3", "pl.col('score').exp() > 3"),
    ("POWER(cost, 2) > 3", "pl.col('cost') ** 2 > 3"),
    ("POWER(cost, 0.5) > 3", "pl.col('cost').pow(0.5) > 3"),
    ("age % 7 = 3", "pl.col('age') % 7 == 3"),
    ("age BETWEEN 18 AND 65", "pl.col('age').is_between(18, 65)"),
    ("age >= 18 AND age < 65", "pl.col('age').is_between(18, 65, closed='left')"),
    ("ward IN ('er', 'icu')", "pl.col('ward').is_in(['er', 'icu'])"),
    ("ward NOT IN ('er', 'icu')", "~pl.col('ward').is_in(['icu', 'er'])"),
    ("age IN (1, 2)", "pl.col('age').is_in({1, 2})"),
    ("day IN (DATE '2024-02-29')", "pl.col('day').is_in([date(2024, 2, 29)])"),
    ("age IS NULL", "pl.col('age').is_null()"),
    ("age IS NOT NULL", "pl.col('age').is_not_null()"),
    ("age IS DISTINCT FROM 3", "pl.col('age').ne_missing(3)"),
    ("age IS NOT DISTINCT FROM 3", "pl.col('age').eq_missing(3)"),
    ("active", "pl.col('active')"),
    ("NOT active", "~pl.col('active')"),
    ("active OR age > 3", "pl.col('active') | (pl.col('age') > 3)"),
    ("active OR age > 3", "pl.any_horizontal('active', pl.col('age') > 3)"),
    ("active AND age > 3 AND score < 0", "(pl.col('age') > 3) & 'active' & (pl.col('score') < 0)"),
    ("active AND age > 3", "pl.all_horizontal(pl.col('age') > 3, 'active')"),
    ("COALESCE(age, 0) > 3", "pl.col('age').fill_null(0) > 3"),
    ("COALESCE(age, score, 0) > 3", "pl.coalesce('age', 'score', pl.lit(0)) > 3"),
    ("LEAST(age, score) > 3", "pl.min_horizontal('age', 'score') > 3"),
    ("GREATEST(age, score) > 3", "pl.max_horizontal('score', 'age') > 3"),
    ("NULLIF(age, 0) > 3", "pl.when(pl.col('age') == 0).then(None).otherwise('age') > 3"),
    (
        "CASE WHEN age < 3 THEN 1 WHEN age < 9 THEN 2 ELSE 3 END = 2",
        "pl.when(pl.col('age') < 3).then(1).when(pl.col('age') < 9).then(2).otherwise(3) == 2",
    ),
    (
        "CASE age WHEN 1 THEN 10 WHEN 2 THEN 20 ELSE age END > 3",
        "pl.col('age').replace({1: 10, 2: 20}) > 3",
    ),
    ("CAST(age AS DOUBLE) > 3", "pl.col('age').cast(pl.Float64) > 3"),
    ("CAST(age AS SMALLINT) > 3", "pl.col('age').cast(pl.Int16) > 3"),
    ("CAST(age AS VARCHAR) = '3'", "pl.col('age').cast(pl.String) == '3'"),
    ("CAST(name AS BIGINT) > 3", "pl.col('name').cast(pl.Int64) > 3"),
    ("CAST(name AS BIGINT) > 3", "pl.col('name').str.to_integer(strict=False) > 3"),
    (
        "CAST(name AS DATE) > DATE '2024-01-01'",
        "pl.col('name').str.to_date('%Y-%m-%d') > date(2024, 1, 1)",
    ),
    ("CAST(seen AS DATE) > DATE '2024-03-01'", "pl.col('seen').dt.date() > date(2024, 3, 1)"),
    (
        "CAST(day AS TIMESTAMP) > TIMESTAMP '2024-03-01 12:00:00'",
        "pl.col('day').cast(pl.Datetime('us')) > datetime(2024, 3, 1, 12)",
    ),
    ("LENGTH(name) > 3", "pl.col('name').str.len_chars() > 3"),
    ("LOWER(name) = 'ann'", "pl.col('name').str.to_lowercase() == 'ann'"),
    ("UPPER(name) = 'ANN'", "pl.col('name').str.to_uppercase() == 'ANN'"),
    ("STARTS_WITH(name, 'A')", "pl.col('name').str.starts_with('A')"),
    ("ENDS_WITH(name, 'A')", "pl.col('name').str.ends_with('A')"),
    ("CONTAINS(name, 'A.')", "pl.col('name').str.contains('A.', literal=True)"),
    ("CONTAINS(name, 'A')", "pl.col('name').str.contains('A')"),
    ("SUBSTRING(name, 2, 3) = 'x'", "pl.col('name').str.slice(1, 3) == 'x'"),
    ("SUBSTRING(name, 2) = 'x'", "pl.col('name').str.slice(1) == 'x'"),
    ("LEFT(name, 2) = 'x'", "pl.col('name').str.head(2) == 'x'"),
    (
        "REPLACE(name, 'a', 'b') = 'x'",
        "pl.col('name').str.replace_all('a', 'b', literal=True) == 'x'",
    ),
    ("name || ward = 'x'", "pl.col('name') + pl.col('ward') == 'x'"),
    ("name || '-' || ward = 'x'", "pl.col('name') + '-' + pl.col('ward') == 'x'"),
    ("CONCAT(name, ward) = 'x'", "pl.concat_str('name', 'ward', ignore_nulls=True) == 'x'"),
    ("YEAR(day) = 2024", "pl.col('day').dt.year() == 2024"),
    ("QUARTER(day) = 2", "pl.col('day').dt.quarter() == 2"),
    ("MONTH(day) = 2", "pl.col('day').dt.month() == 2"),
    ("WEEK(day) = 2", "pl.col('day').dt.week() == 2"),
    ("DAY(day) = 2", "pl.col('day').dt.day() == 2"),
    ("DAYOFYEAR(day) = 2", "pl.col('day').dt.ordinal_day() == 2"),
    ("EXTRACT(hour FROM seen) = 2", "pl.col('seen').dt.hour() == 2"),
    ("EXTRACT(minute FROM seen) = 2", "pl.col('seen').dt.minute() == 2"),
    ("EXTRACT(second FROM seen) = 2", "pl.col('seen').dt.second() == 2"),
    (
        "DATE_TRUNC('week', seen) > TIMESTAMP '2024-03-01 00:00:00'",
        "pl.col('seen').dt.truncate('1w') > datetime(2024, 3, 1)",
    ),
    ("STRFTIME(seen, '%Y-%m') = 'x'", "pl.col('seen').dt.to_string('%Y-%m') == 'x'"),
    ("EXTRACT(isoyear FROM day) = 2024", "pl.col('day').dt.iso_year() == 2024"),
    (
        "seen + INTERVAL 1 MONTH > '2024-03-01'",
        "pl.col('seen').dt.offset_by('1mo') > datetime(2024, 3, 1)",
    ),
    (
        "seen < TIMESTAMP '2024-01-31 12:00:00' + INTERVAL 1 MONTH",
        "pl.col('seen') < pl.lit(datetime(2024, 1, 31, 12)).dt.offset_by('1mo')",
    ),
    ("day - DATE '2024-02-01' > 3", "(pl.col('day') - date(2024, 2, 1)).dt.total_days() > 3"),
    ("REGEXP_MATCHES(name, '^A.c')", "pl.col('name').str.contains('^A.c')"),
    ("RIGHT(name, 2) = 'x'", "pl.col('name').str.tail(2) == 'x'"),
    ("SIN(cost) > 0", "pl.col('cost').sin() > 0"),
    ("ATAN(cost) > 0", "pl.col('cost').arctan() > 0"),
    ("DEGREES(cost) > 0", "pl.col('cost').degrees() > 0"),
    ("day >= DATE '2024-02-29'", "pl.col('day') >= date(2024, 2, 29)"),
    ("seen < TIMESTAMP '2024-03-02 01:02:03'", "pl.col('seen') < datetime(2024, 3, 2, 1, 2, 3)"),
]
"""Predicates; each makes a query of its own."""

PAIRS = [
    *WHOLE_STATEMENTS,
    *(
        (f"SELECT COUNT(*) AS n FROM t WHERE {sql}", f"t.filter({polars}).select(n=pl.len())")
        for sql, polars in CONDITIONS
    ),
]


@pytest.fixture(scope="module")
def session() -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=10**6))
    opened.register(
        "t", pl.DataFrame(schema=SCHEMA), columns=COLUMNS, unit=dp.Unit("id", max_rows=3)
    )
    return opened


def fingerprints(query: dp.Query) -> list[str]:
    """Everything that a query measures, by what it means."""
    compiled = query._compiled
    return sorted(
        part_keys(compiled, norm, "version")(part)
        for norm in (1, 2)
        for part in layout_for(compiled, norm).parts
    )


def test_there_are_enough_pairs() -> None:
    assert len(set(PAIRS)) == len(PAIRS) >= 80


@pytest.mark.parametrize(("sql", "code"), PAIRS, ids=[code for _, code in PAIRS])
def test_both_front_ends_ask_the_same(session: dp.Session, sql: str, code: str) -> None:
    asked, chained = session.query(sql), frame_of(code, session).query()
    assert fingerprints(asked) == fingerprints(chained)
    assert asked._compiled.frame.equals(chained._compiled.frame) or "sex" in sql


@pytest.mark.parametrize(("sql", "code"), WHOLE_STATEMENTS, ids=[c for _, c in WHOLE_STATEMENTS])
@pytest.mark.parametrize("first", ["sql", "polars"])
def test_the_second_is_free(sql: str, code: str, first: str) -> None:
    session = dp.Session(dp.Budget(epsilon=2))
    session.register("t", pl.DataFrame(schema=SCHEMA), columns=COLUMNS, unit=dp.Unit("id", 3))
    queries = [session.query(sql), frame_of(code, session).query()]
    before, after = (q.release(epsilon=1) for q in (queries if first == "sql" else queries[::-1]))
    assert not before.reused
    assert after.reused
    assert after.loss == dp.Loss.none()
    assert before.frame.columns == after.frame.columns
    assert _rows(before.frame) == _rows(after.frame)


def _rows(frame: pl.DataFrame) -> list[str]:
    """Rows, whatever their order; Polars truncates dates to dates, SQL to timestamps."""
    return sorted(map(repr, frame.with_columns(cs.date().cast(pl.Datetime("us"))).rows()))


def test_different_questions_differ(session: dp.Session) -> None:
    found = [(sql, tuple(fingerprints(session.query(sql)))) for sql, _ in PAIRS[-len(CONDITIONS) :]]
    for (sql, ours), (other, theirs) in itertools.combinations(dict(found).items(), 2):
        assert ours != theirs, (sql, other)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(twin_cases(queries=6))
def test_random_questions_in_both_languages_are_one(case: tuple[World, list[Twin]]) -> None:
    world, asked = case
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", world.table.clear(), engine="polars", **world.registration)
    for twin in asked:
        sql = _read(lambda: session.query(twin.sql))  # noqa: B023
        chain = _read(lambda: frame_of(twin.polars, session).query())  # noqa: B023
        assert isinstance(sql, str) == isinstance(chain, str), (twin, sql, chain)
        if not isinstance(sql, str) and not isinstance(chain, str):
            assert fingerprints(sql) == fingerprints(chain), twin


def _read(ask: Any) -> dp.Query | str:
    try:
        return ask()  # type: ignore[no-any-return]
    except QueryError as refusal:
        return str(refusal)

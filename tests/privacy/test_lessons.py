"""One test for each way in which a peer leaked: the lines of LESSONS.md, by their numbers.

Lines 15 to 18 (thresholds, conversions, accountants) are tested in `tests/mechanisms` and
`tests/budget`.
"""

from __future__ import annotations

import inspect
import math
import random
from datetime import date
from typing import Any

import duckdb
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import Layout, layout_for
from dpframe.engines.base import request_for
from dpframe.engines.duckdb_parts import statement_for
from dpframe.errors import QueryError, SQLError, UnboundedError

ENGINES = ("polars", "duckdb")
NORMS = (1, 2)


def session_with(
    data: Any, *, columns: dict[str, Any] | None = None, engine: Any = None, **terms: Any
) -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=10**6))
    session.register("t", data, columns=columns or {}, engine=engine, **terms)
    return session


def planned(session: dp.Session, sql: str, norm: int = 1) -> tuple[Compiled, Layout]:
    compiled = session.query(sql)._compiled
    return compiled, layout_for(compiled, norm)


def exact(session: dp.Session, sql: str, norm: int = 1) -> list[list[int]]:
    compiled, layout = planned(session, sql, norm)
    return session._engines["t"].measure(request_for(compiled, layout))


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Any:
    return request.param


# --- 1 --------------------------------------------------------------------------------------------

NULL_MAKERS = (
    *("CAST(s AS BIGINT)", "CAST(s AS DATE)", "x % y", "x // y", "x / y", "x / 0", "LN(x)"),
    *("SQRT(x)", "POWER(x, -1)", "POWER(x, 0.5)", "CAST(x AS TINYINT)", "NULLIF(x, 3)"),
    *("CASE WHEN x > 3 THEN x END", "CAST(f AS SMALLINT)", "f / x", "CAST('a' AS DOUBLE)"),
)


@pytest.mark.parametrize("expression", NULL_MAKERS)
def test_lesson_01_null_is_expected_wherever_an_engine_makes_one(
    engine: str, expression: str
) -> None:
    """Where a row counts unless NULL, the count is measured, not taken for the public size."""
    frame = pl.DataFrame(
        {
            "x": [-(10**9), 0, 3, 200, None],
            "y": [0, 5, -5, None, 1],
            "f": [math.nan, math.inf, -1e300, 0.5, None],
            "s": ["12", "a", "", None, "2024-02-30"],
        }
    )
    session = session_with(
        frame,
        engine=engine,
        columns={
            "x": dp.Range(-300, 300, nullable=False),
            "y": dp.Range(-5, 5, nullable=False),
            "f": dp.Range(-1e5, 1e5, nullable=False),
        },
        neighbors="replace",
        size=5,
    )
    asked = f"SELECT COUNT({expression}) FROM t"
    (claim,) = planned(session, asked)[1].sensitivities
    assert claim.l1 == 1, "the number of values is not the number of rows"
    assert exact(session, asked)[0][0] < 5, "the rows above make it NULL at least once"


def test_lesson_01_a_filler_moves_a_clamped_sum_by_one_row(engine: str) -> None:
    """NaN, infinity and NULL each move a sum by less than one row may, filler or not."""
    for nullable in (True, False):
        columns = {"x": dp.Range(2.0, 10.0, nullable=nullable)}
        plain = session_with(pl.DataFrame({"x": [3.0] * 100}), columns=columns, engine=engine)
        (before,), (claim,) = (
            exact(plain, "SELECT SUM(x) FROM t")[0],
            planned(plain, "SELECT SUM(x) FROM t")[1].sensitivities,
        )
        for filler in (math.nan, math.inf, -math.inf, None, 1e308):
            more = pl.DataFrame({"x": [*[3.0] * 100, filler]})
            session = session_with(more, columns=columns, engine=engine)
            (after,) = exact(session, "SELECT SUM(x) FROM t")[0]
            assert claim.l1 is not None
            assert abs(after - before) <= claim.l1


# --- 2 and 3 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("narrow", ["FLOAT", "REAL", "DECIMAL(10, 2)", "HALF_FLOAT"])
def test_lesson_02_narrow_floats_are_refused(narrow: str) -> None:
    session = session_with(pl.DataFrame({"x": [1.0]}), columns={"x": dp.Range(0, 1)})
    with pytest.raises(SQLError, match="CAST"):
        session.query(f"SELECT SUM(CAST(x AS {narrow})) FROM t")


def test_lesson_02_columns_of_narrow_floats_are_widened_before_anything_else(engine: str) -> None:
    values = [0.1, 16777217.0, 3.4e38, -1e-45]
    narrow = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float32)})
    wide = narrow.cast(pl.Float64)
    asked = "SELECT SUM(x), SUM(x * 3), AVG(x / 7) FROM t"
    columns = {"x": dp.Range(-1e9, 1e9)}
    first = exact(session_with(narrow, columns=columns, engine=engine), asked)
    assert first == exact(session_with(wide, columns=columns, engine=engine), asked)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    "key", ["k", "LOWER(k)", "CASE WHEN k = 'A' THEN 'b' ELSE LOWER(k) END", "COALESCE(k, 'x')"]
)
def test_lesson_03_units_are_bounded_on_the_keys_that_are_released(
    engine: str, norm: int, key: str
) -> None:
    """Whatever a key is made of, what one unit adds over all groups stays below its weight."""
    draw = random.Random(3)
    letters = ["a", "A", "b", "B", "c", None]
    own = pl.DataFrame({"u": [1] * 500, "k": [draw.choice(letters) for _ in range(500)]})
    session = session_with(
        own,
        unit=dp.Unit("u", max_rows=3),
        columns={"k": dp.Keys(["a", "A", "b", "B", "c", None])},
        engine=engine,
    )
    asked = f"SELECT {key} AS key, COUNT(*) FROM t GROUP BY key"
    (counts,), (claim,) = (
        exact(session, asked, norm),
        planned(session, asked, norm)[1].sensitivities,
    )
    assert 0 < sum(c * c for c in counts) <= claim.l2_squared
    assert claim.l1 is None or sum(map(abs, counts)) <= claim.l1


# --- 4 --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "(SELECT * FROM t LIMIT 10) AS s",
        "(SELECT * FROM t ORDER BY x LIMIT 10) AS s",
        "(SELECT * FROM t OFFSET 5) AS s",
        "(SELECT x FROM t ORDER BY x DESC LIMIT 1) AS s",
        "(SELECT * FROM t USING SAMPLE 10) AS s",
        "t TABLESAMPLE 10 ROWS",
    ],
)
def test_lesson_04_limit_over_private_rows_is_refused(source: str) -> None:
    session = session_with(pl.DataFrame({"x": [1]}), columns={"x": dp.Range(0, 1)})
    with pytest.raises(QueryError):
        session.query(f"SELECT COUNT(*) FROM {source}")


def test_lesson_04_limit_after_the_aggregate_is_free() -> None:
    session = session_with(pl.DataFrame({"x": [1]}), columns={"x": dp.Range(0, 5)})
    release = session.sql("SELECT x, COUNT(*) AS n FROM t GROUP BY x LIMIT 2", epsilon=0.5)
    assert release.frame.height == 2


# --- 5, 6 and 7 -----------------------------------------------------------------------------------


def test_lesson_05_counts_are_not_clamped_to_the_size_of_the_table() -> None:
    session = session_with(pl.DataFrame({"x": [1, 2, 3]}))
    found = [
        session.sql("SELECT COUNT(*) AS n FROM t", epsilon=0.01, fresh=True) for _ in range(40)
    ]
    counts = [release.item() for release in found]
    assert min(counts) < 0
    assert max(counts) > 3


def test_lesson_05_a_public_size_is_the_declared_one_not_that_of_the_data(engine: str) -> None:
    frame = pl.DataFrame({"x": [1, 2, 3]})
    session = session_with(frame, neighbors="replace", size=1000, engine=engine)
    assert session.sql("SELECT COUNT(*) AS n FROM t", epsilon=0.5).item() == 1000


def test_lesson_06_integers_are_not_truncated_toward_zero() -> None:
    """A count of 0 with symmetric noise is as often below 0 as above."""
    session = session_with(pl.DataFrame({"x": [1]}).clear())
    asked = "SELECT COUNT(*) AS n FROM t"
    found = [session.sql(asked, epsilon=0.1, fresh=True).item() for _ in range(400)]
    below, above = sum(n < 0 for n in found), sum(n > 0 for n in found)
    # 400 fair coins: a difference of 120 is six standard deviations.
    assert abs(below - above) < 120
    assert abs(sum(found) / len(found)) < 6 * math.sqrt(2) / 0.1 / 20


def test_lesson_07_no_noise_is_drawn_in_the_database(engine: str) -> None:
    session = session_with(
        pl.DataFrame({"u": [1, 1], "x": [1.0, 2.0]}),
        unit=dp.Unit("u", max_rows=1),
        columns={"x": dp.Range(0, 1)},
    )
    compiled, layout = planned(session, "SELECT COUNT(*), AVG(x) FROM t WHERE x > 0")
    sql = statement_for(request_for(compiled, layout)).sql.lower()
    assert not any(word in sql for word in ("random", "setseed", "uuid", "sample"))


def test_lesson_07_nothing_turns_the_noise_off_or_charges_nothing() -> None:
    for method in (dp.Session.sql, dp.Session.register, dp.Session.__init__):
        names = set(inspect.signature(method).parameters)
        assert not names & {"seed", "random_state", "noise", "debug", "exact", "rows", "source"}
    session = session_with(pl.DataFrame({"x": [1]}))
    before = str(session.remaining)
    session.sql("SELECT COUNT(*) FROM t", epsilon=0.25)
    assert str(session.remaining) != before


# --- 8 and 9 --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "asked",
    ["SUM(x)", "AVG(x)", "SUM(f)", "SUM(x + f)", "SUM(EXP(f))", "SUM(LENGTH(s))", "SUM(1 / f)"],
)
def test_lesson_08_a_sum_without_a_declared_range_is_refused(asked: str) -> None:
    frame = pl.DataFrame({"x": [1], "f": [0.5], "s": ["a"]})
    with pytest.raises(UnboundedError, match="no bounds"):
        session_with(frame).query(f"SELECT {asked} FROM t")


PLAIN = (
    "SELECT COUNT(*) AS a FROM t",
    "SELECT COUNT(*) FILTER (WHERE x > 3) AS a, COUNT(x) AS b, COUNT(DISTINCT u) AS c FROM t",
    "SELECT COUNT(DISTINCT u) FILTER (WHERE x > 3) AS a FROM t WHERE s IS NOT NULL",
    "SELECT SUM(x) FILTER (WHERE s LIKE 'a%') AS a, SUM(x) FILTER (WHERE s NOT LIKE 'a%') AS b FROM t",
    "SELECT SUM(x * x) AS a, AVG(x) AS b, SUM(x) / COUNT(*) AS c FROM t WHERE NOT (x = 3)",
    "SELECT s, COUNT(*) AS a, SUM(x) AS b FROM t WHERE s IN ('a', 'ab') GROUP BY s ORDER BY s",
    "SELECT x % 3 AS k, COUNT(*) AS a FROM t WHERE x IS NOT NULL GROUP BY x % 3 ORDER BY k",
    "SELECT x // 2 AS k, COUNT_IF(f < 1) AS a FROM t WHERE x > 1 GROUP BY 1 ORDER BY 1",
    "SELECT CASE WHEN f > 0.5 THEN 1 ELSE 0 END AS k, COUNT(*) AS a FROM t GROUP BY k ORDER BY k",
    "SELECT COUNT(DISTINCT x) AS a, COUNT(DISTINCT s) FILTER (WHERE x > 3) AS b FROM t",
    "SELECT VARIANCE(x) AS a, VAR_POP(f) AS b, STDDEV(x) FILTER (WHERE s LIKE 'a%') AS c FROM t",
    "SELECT COUNT(*) AS a FROM t WHERE f BETWEEN 0.25 AND 1 AND s NOT LIKE '%b'",
    "SELECT COUNT(*) AS a FROM t WHERE s IS DISTINCT FROM 'a' OR x NOT BETWEEN 2 AND 4",
    "SELECT s, AVG(f) AS a FROM t WHERE s <> 'zz' GROUP BY s HAVING COUNT(*) > 2 ORDER BY a DESC LIMIT 2",
)


@pytest.mark.parametrize("sql", PLAIN)
def test_lesson_09_an_accepted_statement_means_what_the_plain_engine_means(
    engine: str, sql: str
) -> None:
    """A public table is answered exactly, so its answers can be held against plain SQL."""
    draw = random.Random(9)
    frame = pl.DataFrame(
        {
            "u": [draw.choice([1, 2, 3, None]) for _ in range(60)],
            "x": [draw.choice([0, 1, 2, 3, 4, 5, None]) for _ in range(60)],
            "f": [draw.choice([0.0, 0.25, 0.5, 1.0, 2.0]) for _ in range(60)],
            "s": [draw.choice(["a", "ab", "b", "bb", None]) for _ in range(60)],
        }
    )
    session = session_with(
        frame,
        unit=dp.Unit("u", max_rows=60),
        columns={
            "x": dp.Range(0, 5),
            "f": dp.Range(0, 2, nullable=False),
            "s": dp.Keys(["a", "ab", "b", "bb"]),
        },
        public=True,
        engine=engine,
    )
    connection = duckdb.connect()
    connection.register("t", frame)
    expected = connection.execute(sql).fetchall()
    found = session.sql(sql).frame.rows()
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            assert a == b or a == pytest.approx(b, rel=1e-6)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(DISTINCT x) FROM t",
        "SELECT VARIANCE(DISTINCT x) FROM t",
        "SELECT AVG(x ORDER BY x) FROM t",
        "SELECT COUNT(*) FROM t, t AS other",
        "SELECT SUM(x) OVER () FROM t",
        "SELECT COUNT(*) FROM t WHERE x BETWEEN SYMMETRIC 4 AND 2",
    ],
)
def test_lesson_09_what_would_have_to_be_ignored_is_refused(sql: str) -> None:
    frame = pl.DataFrame({"x": [1], "s": ["a"]})
    with pytest.raises(QueryError):
        session_with(frame, columns={"x": dp.Range(0, 5)}).query(sql)


_MANY_RANGES = "".join(map(chr, range(0x3000, 0x9000, 2)))


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        (f"s LIKE '{'_' * 20_000}'", "more than 1,000 characters"),
        (f"s ILIKE '{'_%' * 10_000}'", "more than 1,000 characters"),
        (f"regexp_matches(s, '[{_MANY_RANGES}]{{45}}')", "more than 500 characters"),
        (f"regexp_matches(s, '[^{_MANY_RANGES}]')", "more than 500 characters"),
        (f"STRFTIME(d, '{'%A' * 10_000}') = s", "more than 1,000 characters"),
    ],
)
def test_lesson_12_a_pattern_that_an_engine_may_refuse_is_refused_before(
    engine: str, condition: str, why: str
) -> None:
    """Polars found patterns too long where a row was there to match, after the charge."""
    rows = pl.DataFrame({"s": ["a"], "x": [1], "d": [date(2024, 1, 1)]})
    session = session_with(rows, engine=engine)
    with pytest.raises(QueryError, match=why):
        session.query(f"SELECT COUNT(*) FILTER (WHERE {condition}) FROM t WHERE x = 1")


@pytest.mark.parametrize(
    "condition",
    [
        *(f"s LIKE '{part * 500}'" for part in ("_%", "a_", "é%")),
        *(f"regexp_matches(s, '{part}')" for part in ("[^\\w]" * 48, "a{498}", "[^a]{48}")),
        f"regexp_matches(s, '[{_MANY_RANGES[:499]}]')",
        f"regexp_matches(s, '[^{_MANY_RANGES[:100]}]{{3}}')",
    ],
)
def test_lesson_12_the_longest_patterns_fail_on_no_row(engine: str, condition: str) -> None:
    session = session_with(pl.DataFrame({"s": ["a", None, "é" * 9000]}), engine=engine)
    exact(session, f"SELECT COUNT(*) FROM t WHERE {condition}")


@pytest.mark.parametrize("far", [2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1])
def test_lesson_12_a_place_beyond_every_text_fails_on_no_row(engine: str, far: int) -> None:
    """DuckDB found places of more than 32 bits where a text was there to cut, after the charge."""
    session = session_with(pl.DataFrame({"s": ["abc", "", None]}), engine=engine)
    for cut, expected in (
        (f"SUBSTRING(s, {far})", ""),
        (f"SUBSTRING(s, {far}, {far})", ""),
        (f"SUBSTRING(s, 2, {far})", "bc"),
        (f"LEFT(s, {far})", "abc"),
    ):
        same = f"SELECT COUNT(*) FROM t WHERE s = 'abc' AND {cut} = '{expected}'"
        assert exact(session, same) == [[1]]


# --- 10 to 14 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", NORMS)
def test_lesson_10_one_weight_scales_numerator_and_denominator(engine: str, norm: int) -> None:
    """The mean of a unit's rows is what it was, though the unit weighs less."""
    frame = pl.DataFrame({"u": [7] * 64, "x": [9.0, 3.0] * 32})
    session = session_with(
        frame, unit=dp.Unit("u", max_rows=4), columns={"x": dp.Range(0, 10)}, engine=engine
    )
    compiled, layout = planned(session, "SELECT AVG(x) FROM t", norm)
    values = session._engines["t"].measure(request_for(compiled, layout))
    noisy = pl.DataFrame({f"p{i}": [v[0] * layout.step(i)] for i, v in enumerate(values)})
    (recipe,), (weighed,) = layout.recipes, layout.together[:1]
    roles = {role: pl.col(f"p{layout.parts.index(p)}") for role, p in recipe.parts.items()}
    assert noisy.select(recipe.finish(roles)).item() == pytest.approx(6, rel=1e-5)
    # Four rows weigh 4, or 4 ranges of 10 from both ends together.
    if len(weighed) == 2:
        assert abs(noisy["p0"] - noisy["p1"]).item() == pytest.approx(40, rel=1e-5)
    else:
        assert noisy.select(roles["count"]).item() == pytest.approx(4, rel=1e-5)


@pytest.mark.parametrize("key", ["u", '"u"', "(u)", "t.u"])
def test_lesson_11_the_unit_is_no_group_key(key: str) -> None:
    frame = pl.DataFrame({"u": [1, 2], "x": [1, 2]})
    session = session_with(
        frame, unit=dp.Unit("u", max_rows=1), columns={"u": dp.Range(0, 9), "x": dp.Range(0, 9)}
    )
    with pytest.raises(QueryError, match="unit"):
        session.query(f"SELECT {key}, COUNT(*) FROM t GROUP BY {key}")
    with pytest.raises(QueryError, match="unit"):
        session.query(f"SELECT COUNT(*) FROM t GROUP BY x, {key}")


def test_lesson_12_no_row_makes_an_accepted_query_fail(engine: str) -> None:
    nasty = pl.DataFrame(
        {
            "x": [0, -(2**63), 2**63 - 1, None],
            "f": [math.nan, math.inf, -5e-324, 1.7976931348623157e308],
            "s": ["", "1e999", "9" * 400, "0000-00-00"],
            "d": pl.Series([-(2**31), 2**31 - 1, 0, None], dtype=pl.Int32).cast(pl.Date),
        }
    )
    expressions = (
        *("f / x", "x // 7", "x % 7", "LN(f)", "SQRT(f)", "EXP(f)", "POWER(f, -3)", "x * x"),
        *("-x", "ABS(x)", "CAST(f AS BIGINT)", "CAST(s AS INT)", "CAST(s AS DOUBLE)", "x + x"),
        *("CAST(s AS DATE)", "CAST(s AS TIMESTAMP)", "SUBSTRING(s, 500)", "EXTRACT(week FROM d)"),
        *("DATE_TRUNC('week', d)", "d || ''", "CAST(d AS TIMESTAMP)", "ROUND(f, 15)"),
    )
    session = session_with(nasty, engine=engine)
    for expression in expressions:
        assert exact(session, f"SELECT COUNT({expression}) FROM t")[0][0] <= 4


def test_lesson_12_the_least_integer_divided_by_minus_one_is_refused_or_answered(
    engine: str,
) -> None:
    """It overflows, and DuckDB stops: it must not be up to a row whether a query succeeds."""
    frame = pl.DataFrame({"x": [-(2**63)], "y": [-1]})
    session = session_with(
        frame,
        columns={"x": dp.Range(-(2**63), 2**63 - 1), "y": dp.Range(-5, 5)},
        engine=engine,
    )
    for sql in ("SELECT COUNT(x // y) FROM t", "SELECT COUNT(MOD(x, y)) FROM t"):
        with pytest.raises(QueryError, match="cannot be computed"):
            session.query(sql)


@pytest.mark.parametrize(
    ("first", "then", "times"),
    [
        (f"REPLACE(s, 'a', '{'a' * 90}')", f"REPLACE({{0}}, 'a', '{'a' * 90}')", 3),
        (f"CONCAT(s, '{'a' * 9000}')", "CONCAT({0}, {0})", 6),
        (f"s || '{'a' * 9000}'", "({0}) || ({0})", 6),
    ],
)
def test_lesson_12_no_text_outgrows_the_memory(
    engine: str, first: str, then: str, times: int
) -> None:
    """Of one letter, ever longer texts could be made, until the engine stopped: if it was there."""
    session = session_with(pl.DataFrame({"s": ["a", "bob", None]}), engine=engine)
    made = first
    for _ in range(times):
        made = then.format(made)
    assert exact(session, f"SELECT COUNT(*) FROM t WHERE LENGTH({made}) > 262144") == [[0]]


def test_lesson_13_sums_depend_on_neither_order_nor_length(engine: str) -> None:
    """Floats would: (1e16 + 1) - 1e16 is 0. And the claim is the same for any number of rows."""
    values = [1e16, 1.0, -1e16, 0.1, 0.2, 0.3, 1e-3] * 50
    claims, totals = [], set()
    for n in (1, 7, 350):
        for order in range(3):
            mixed = random.Random(order).sample(values[:n], n)
            session = session_with(
                pl.DataFrame({"x": mixed}), columns={"x": dp.Range(-1e16, 1e16)}, engine=engine
            )
            if n == 350:
                totals.add(exact(session, "SELECT SUM(x) FROM t")[0][0])
            claims.append(planned(session, "SELECT SUM(x) FROM t")[1].sensitivities)
    assert len(totals) == 1
    assert all(claim == claims[0] for claim in claims)


def test_lesson_14_wide_sums_do_not_wrap_around() -> None:
    """Nine million rows of 2^40 add up to more than 64 bits hold."""
    rows, value = 9_000_000, 2**40
    connection = duckdb.connect()
    relation = connection.sql(f"SELECT {value} AS x, 1 AS g FROM range({rows})")
    frame = pl.DataFrame({"x": pl.repeat(value, rows, eager=True, dtype=pl.Int64)}).with_columns(
        g=pl.lit(1, dtype=pl.Int64)
    )
    for data in (relation, frame, frame.lazy()):
        session = session_with(data, columns={"x": dp.Range(0, value), "g": dp.Range(1, 1)})
        assert exact(session, "SELECT SUM(x) FROM t") == [[rows * value]]
        grouped = "SELECT g, SUM(x) FROM t WHERE g IS NOT NULL GROUP BY g"
        assert exact(session, grouped) == [[rows * value]]


# --- 19 and 20 ------------------------------------------------------------------------------------


def test_lesson_19_empty_input_is_answered_with_noise_like_any_other(engine: str) -> None:
    frame = pl.DataFrame({"x": [1.5], "k": ["a"]})
    columns = {"x": dp.Range(0, 10), "k": dp.Keys(["a", "b"])}
    asked = "SELECT k, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS m FROM t GROUP BY k"
    shapes = set()
    for data in (frame, frame.clear(), frame.filter(pl.col("k") == "b")):
        found = session_with(data, columns=columns, engine=engine).sql(asked, epsilon=0.5).frame
        assert found["k"].to_list() == ["a", "b"]
        assert found.null_count().sum_horizontal()[0] == 0
        shapes.add((tuple(found.columns), tuple(map(str, found.dtypes)), found.height))
    assert len(shapes) == 1


def test_lesson_20_released_keys_are_sorted_whatever_order_rows_have(engine: str) -> None:
    keys = ["b", "é", "a", "B", "ab", ""]
    for order in range(4):
        mixed = random.Random(order).sample(keys, len(keys))
        session = session_with(
            pl.DataFrame({"k": mixed * 3}), columns={"k": dp.Keys([*mixed, None])}, engine=engine
        )
        found = session.sql("SELECT k, COUNT(*) AS n FROM t GROUP BY k", epsilon=0.5).frame
        assert found["k"].to_list() == [*sorted(keys), None]

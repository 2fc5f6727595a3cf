"""SQL becomes a plan: the same meaning the same plan, and nothing of it lost on the way."""

from __future__ import annotations

import ast
from pathlib import Path

import polars as pl
import pytest
import sqlglot
from sqlglot import exp

import dpframe as dp
from dpframe.declare import Row, Storage, Table, declare
from dpframe.frontends import sql_known
from dpframe.frontends.sql import plan_of
from dpframe.frontends.sql_origin import SQLOrigin, origin_of
from dpframe.frontends.sql_parse import parse
from dpframe.plan.domains import Type
from dpframe.plan.exprs import AggregateCall, Call, Column, literal
from dpframe.plan.functions import FUNCTIONS
from dpframe.plan.nodes import Aggregate, Filter, Limit, Node, Project, Scan, Sort, chain

STORAGE = {
    "age": Storage(Type.INT, "BIGINT"),
    "cost": Storage(Type.FLOAT, "DOUBLE"),
    "ward": Storage(Type.TEXT, "VARCHAR"),
    "day": Storage(Type.DATE, "DATE"),
    "Flag": Storage(Type.BOOL, "BOOLEAN"),
}


def visits() -> Table:
    return declare(
        "visits",
        STORAGE,
        unit=Row(),
        columns={"age": dp.Range(0, 110)},
        neighbors="add_remove",
        size=None,
        public=False,
    )


TABLES = {"visits": visits()}


def plan(text: str) -> Node:
    return plan_of(text, TABLES)


def test_a_plan_reads_from_the_table_up() -> None:
    text = """SELECT ward, COUNT(*) AS n FROM visits WHERE age > 17
              GROUP BY ward HAVING n > 5 ORDER BY n DESC LIMIT 3 OFFSET 1"""
    kinds = [type(node) for node in chain(plan(text))]
    assert kinds == [Limit, Sort, Project, Filter, Aggregate, Filter, Scan]


def test_names_of_columns_are_those_of_the_table() -> None:
    found = next(n for n in chain(plan("SELECT SUM(AGE) FROM Visits")) if isinstance(n, Aggregate))
    assert found.aggregates == (("a0", AggregateCall("SUM", (Column("age"),))),)
    flagged = plan('SELECT COUNT_IF("fLAG") FROM visits')
    (call,) = next(n for n in chain(flagged) if isinstance(n, Aggregate)).aggregates
    assert call[1].args == (Column("Flag"),)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT COUNT(*) FROM visits", "select  count( * )\nfrom VISITS -- comment"),
        (
            "SELECT COUNT(*) FROM visits v WHERE v.age > 5",
            "SELECT COUNT(*) FROM visits WHERE age>5",
        ),
        ("SELECT COUNT(*) FROM visits", "(SELECT COUNT(*) FROM visits);"),
        ("SELECT COUNT(*) FROM visits", "FROM visits SELECT COUNT(*)"),
        (
            "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY ward",
            "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY 1",
        ),
        (
            "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY w ORDER BY n",
            "SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY ALL ORDER BY 2",
        ),
        (
            "SELECT AVG(cost) AS a FROM visits WHERE age BETWEEN 5 AND 9",
            "SELECT mean(cost) AS a FROM visits WHERE (age >= 5) AND (age <= 9)",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE (age > 1 AND age < 9) AND cost > 5",
            "SELECT COUNT(*) AS n FROM visits WHERE age > 1 AND (age < 9 AND cost > 5)",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE age NOT IN (1, 2)",
            "SELECT COUNT(*) AS n FROM visits WHERE NOT age IN (1, 2)",
        ),
        (
            "SELECT COUNT(*) AS n FROM visits WHERE ward NOT LIKE 'a%'",
            "SELECT COUNT(*) AS n FROM visits WHERE NOT ward LIKE 'a%'",
        ),
        (
            "SELECT EXTRACT(month FROM day) AS m, COUNT(*) AS n FROM visits GROUP BY m",
            "SELECT month(day) AS m, COUNT(*) AS n FROM visits GROUP BY m",
        ),
        (
            "SELECT SUM(CAST(age AS DOUBLE)) AS s FROM visits",
            "SELECT SUM(age::DOUBLE) AS s FROM visits",
        ),
        (
            "SELECT COUNT(*) FILTER (WHERE age > 5) AS n FROM visits",
            "SELECT COUNT(*) FILTER (age > 5) AS n FROM visits",
        ),
    ],
)
def test_the_same_meaning_is_the_same_plan(one: str, other: str) -> None:
    assert [n for n in chain(plan(one)) if not isinstance(n, Project)] == [
        n for n in chain(plan(other)) if not isinstance(n, Project)
    ]


def test_the_same_aggregate_is_written_down_once() -> None:
    found = plan("SELECT COUNT(*) + COUNT(*) FROM visits HAVING count(*) > 5 ORDER BY COUNT(*)")
    (calls,) = [n.aggregates for n in chain(found) if isinstance(n, Aggregate)]
    assert len(calls) == 1


def test_constants_keep_their_types() -> None:
    def where(text: str) -> object:
        found = plan(f"SELECT COUNT(*) FROM visits WHERE cost > {text}")
        (node,) = [n for n in chain(found) if isinstance(n, Filter)]
        assert isinstance(node.predicate, Call)
        return node.predicate.args[1]

    assert where("1") == literal(1)
    assert where("1.0") == literal(1.0)
    assert where("1e3") == literal(1000.0)
    assert where("-5") == literal(-5)
    assert where("TRUE") == literal(True)
    assert where("NULL") == literal(None)
    assert where("9223372036854775807") == literal(2**63 - 1)
    assert where("-9223372036854775808") == literal(-(2**63))
    assert where("9223372036854775808") == literal(float(2**63))


# --- nothing is ignored ---------------------------------------------------------------------------


def test_the_text_of_the_user_never_reaches_an_engine() -> None:
    package = Path(dp.__file__).parent
    for path in (package / "engines").glob("*.py"):
        names = {
            node.id for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Name)
        }
        assert "sqlglot" not in names, path


@pytest.mark.parametrize(
    ("kind", "flag"),
    [
        (exp.Like, "any_new_flag"),
        (exp.Add, "checked"),
        (exp.Sum, "partial"),
        (exp.Round, "truncate"),
        (exp.Between, "symmetric"),
        (exp.Cast, "format"),
    ],
)
def test_what_a_node_says_beyond_what_is_read_is_refused(kind: type, flag: str) -> None:
    node = kind(this=exp.column("age"))
    node.args[flag] = True
    with pytest.raises(dp.SQLError, match="is not understood here"):
        sql_known.refuse_unread(node, sql_known.arguments_of(node), "SELECT 1")


def test_functions_are_offered_by_names_that_can_be_written() -> None:
    offered = sql_known.known_functions()
    assert {"ABS", "ROUND", "COALESCE", "SUBSTRING", "STARTS_WITH", "CASE", "CAST"} <= set(offered)
    assert not {"DPIPE", "EQ", "NULLSAFENEQ", "INTDIV", "ADD", "NEQ"} & set(offered)
    assert offered == sorted(offered)


@pytest.mark.parametrize(
    "name",
    [n for n in sql_known.known_functions() if n not in ("CASE", "CAST", "EXTRACT", "TRY_CAST")],
)
def test_every_function_that_is_offered_is_found(name: str) -> None:
    arguments = {"STARTS_WITH": "ward, 'a'", "ENDS_WITH": "ward, 'a'", "CONTAINS": "ward, 'a'"}
    arguments |= {"REPLACE": "ward, 'a', 'b'", "SUBSTRING": "ward, 1", "LEFT": "ward, 1"}
    arguments |= {"POWER": "age, 2", "NULLIF": "age, 1", "MOD": "age, 2", "PI": ""}
    arguments |= dict.fromkeys(("PREFIX", "SUFFIX", "STRPOS"), "ward, 'a'")
    arguments |= dict.fromkeys(("REGEXP_MATCHES", "REGEXP_FULL_MATCH"), "ward, 'a'")
    arguments |= dict.fromkeys(("LPAD", "RPAD"), "ward, 3, '0'")
    arguments |= {"RIGHT": "ward, 1", "SPLIT_PART": "ward, '-', 1", "NVL2": "age, 1, 2"}
    arguments |= {"DATE_ADD": "day, INTERVAL 1 DAY", "DATE_DIFF": "'day', day, day"}
    arguments |= {"DATE_TRUNC": "'month', day", "STRFTIME": "day, '%Y'"}
    text = f"SELECT COUNT(*) FROM visits WHERE {name}({arguments.get(name, 'age')}) IS NULL"
    assert plan(text)


def test_every_entry_of_the_function_table_can_be_reached_by_sql() -> None:
    # The analysis makes these.
    unwritten = {"square", "nan_to_null", "convert", "add_days", "days_and_date", "days_between"}
    unwritten |= {"day_number", "microseconds", "above"}  # and sums and quantiles these
    by_reader = {"case", "cast", "extract", "date_trunc", "in", "is_null", "like", "negate"}
    polars_only = {"plus", "xor", "is_nan", "fill_nan", "floor_divide", "floor_quotient"}
    polars_only |= {"floor_modulo", "round_even", "truncate", "clip", "length_in_bytes"}
    polars_only |= {"strip_chars", "strip_chars_start", "strip_chars_end", "total_days"}
    by_reader |= {"date_add", "date_diff", "strftime", "ilike", "regexp_matches", "lpad", "rpad"}
    for name, function in FUNCTIONS.items():
        assert function.sql or name in unwritten | by_reader | polars_only, name


# --- places ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "written",
    [
        "age",
        "visits.age",
        '"Flag"',
        "COUNT(*)",
        "MIN(age)",
        "SUM(age + cost)",
        "COUNT(DISTINCT age)",
        "CAST(age AS INT)",
        "TRY_CAST(age AS INT)",
        "age::DOUBLE",
        "age::DECIMAL(10, 2)",
        "DATE '2024-01-31'",
        "CASE WHEN age > 5 THEN 1 ELSE 2 END",
        "CASE age WHEN 5 THEN 1 END",
        "NOT Flag",
        "-age",
        "age IS NULL",
        "age IS NOT NULL",
        "(SELECT 5)",
        "EXISTS (SELECT 5)",
        "FLOOR(cost / 10)",
        "EXTRACT(month FROM day)",
        "TRIM(BOTH 'x' FROM ward)",
        "COUNT(*) OVER ()",
        "RANDOM()",
        "age IN (1, 2)",
        "age BETWEEN 1 AND 2",
        "ward LIKE 'a)%'",
        "CURRENT_DATE",
        "COALESCE(age, (1 + 2))",
    ],
)
def test_the_place_of_an_expression_is_its_own_text(written: str) -> None:
    text = f"SELECT 1, {written} FROM visits"
    node = parse(text).expressions[1]
    place = origin_of(node, text)
    assert place is not None
    assert (place.text(), place.start) == (written, 10)


def test_a_place_on_a_later_line_counts_lines_and_columns() -> None:
    text = "SELECT COUNT(*)\nFROM visits\n  WHERE nothing > 5"
    start = text.index("nothing")
    shown = SQLOrigin(text, start, start + 7).pointer()
    assert shown == "\n  line 3, column 9:\n      WHERE nothing > 5\n            ^^^^^^^"


def test_a_place_over_several_lines_is_underlined_on_its_first() -> None:
    text = "SELECT SUM(\n  age\n) FROM visits"
    place = origin_of(parse(text).expressions[0], text)
    assert place is not None
    assert place.text() == "SUM( age )"
    assert place.pointer().endswith("\n           ^^^^")


def test_columns_of_a_place_count_characters() -> None:
    text = "SELECT '日本🎉', nothing FROM visits"
    place = origin_of(sqlglot.parse_one(text, dialect="duckdb").expressions[1], text)
    assert place is not None
    assert place.start == text.index("nothing")


def test_an_integer_beyond_every_float_is_no_finite_number() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", pl.DataFrame({"x": [1]}), columns={"x": dp.Range(0, 9)})
    for condition in (f"x < {10**400}", "x < 1e400"):
        with pytest.raises(dp.SQLError, match="is no finite number"):
            session.query(f"SELECT COUNT(*) FROM t WHERE {condition}")


def test_tuples_are_named_as_they_are_written() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", pl.DataFrame({"a": [1], "b": [2]}), columns={"b": dp.Range(0, 3)})
    text = "SELECT COUNT(DISTINCT a, b // 2), COUNT(DISTINCT (a, b)) FROM t"
    names = list(session.query(text).columns)
    assert names == ["count(DISTINCT a, b // 2)", "count(DISTINCT (a, b))"]

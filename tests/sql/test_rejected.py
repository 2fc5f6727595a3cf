"""What cannot be answered is refused with its place, its reason and a fix; it costs nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import dpframe as dp
from dpframe.engines.base import Engine

FILE = Path(__file__).parent / "rejected.sql"


class Rejected(NamedTuple):
    text: str
    kind: str
    place: str
    words: str
    underlined: str
    dialect: str = "duckdb"


def statements(file: Path = FILE) -> Iterator[Rejected]:
    for chunk in re.split(r"(?m)^--! ", file.read_text(encoding="utf-8"))[1:]:
        header, _, rest = chunk.partition("\n")
        expected, words, underlined = (part.strip(" ") for part in header.split(" | "))
        kind, _, place = expected.partition(" ")
        text = re.split(r"(?m)^;$", rest)[0].removesuffix("\n")
        dialect = "duckdb"
        if text.startswith("--: dialect "):
            first, _, text = text.partition("\n")
            dialect = first[12:]
        yield Rejected(text, kind, place, words, underlined, dialect)


STATEMENTS = list(statements())


@pytest.fixture(scope="module", params=["duckdb", "polars"])
def session(request: pytest.FixtureRequest) -> dp.Session:
    """A table whose unit is id, with a column without bounds and two that cannot be read."""
    opened = dp.Session(dp.Budget(epsilon=1, delta=1e-6))
    opened.register(
        "visits",
        request.getfixturevalue("tables")[True].with_columns(
            weight=pl.lit(70.5),
            tags=pl.concat_list(pl.lit("a"), pl.lit("b")),
            zoned=pl.col("seen").dt.replace_time_zone("UTC"),
        ),
        columns=request.getfixturevalue("declarations"),
        unit=dp.Unit("id", max_rows=5),
        engine=request.param,
    )
    return opened


@pytest.fixture(autouse=True)
def no_rows_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(self: Engine, request: object) -> None:
        raise AssertionError("the data was touched")

    monkeypatch.setattr(Engine, "measure", measure)


def refusal(session: dp.Session, text: str, dialect: str = "duckdb") -> dp.DPFrameError:
    before, room = session.spent, session.remaining
    with pytest.raises(dp.UserError) as caught:
        session.sql(text, epsilon=0.5, dialect=dialect)
    assert session.spent == before, "something was spent"
    assert session.remaining == room
    return caught.value


def underlined(message: str) -> tuple[str, str]:
    """The place that a message names, and the words above its underline."""
    found = re.search(r"\n  line (\d+), column (\d+):\n    (.*)\n    ( *)(\^+)", message)
    if found is None:
        return "", ""
    line, column, shown, before, marks = found.groups()
    return f"{line}:{column}", shown[len(before) : len(before) + len(marks)]


@pytest.mark.parametrize("rejected", STATEMENTS, ids=[s.text[:60] or "empty" for s in STATEMENTS])
def test_it_is_refused_with_its_place_and_costs_nothing(
    rejected: Rejected, session: dp.Session
) -> None:
    error = refusal(session, rejected.text, rejected.dialect)
    assert type(error).__name__ == rejected.kind
    assert rejected.words in str(error)
    assert underlined(error.what) == (rejected.place, rejected.underlined)
    assert error.why
    assert error.fix
    assert error.__cause__ is None
    assert error.__context__ is None
    assert not re.search(r"sqlglot|duckdb\.|polars\.|<class|Token", str(error), re.IGNORECASE)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n FROM visits GROUP BY n",
        "SELECT NTILE(4) OVER (ORDER BY age) AS t, COUNT(*) FROM visits GROUP BY t",
    ],
)
def test_what_is_written_instead_of_a_key_of_groups_is_answered(
    text: str, session: dp.Session
) -> None:
    fix = refusal(session, text).fix
    assert session.query("SELECT" + fix.partition("SELECT")[2])


def test_a_key_of_groups_is_left_out_beside_others(session: dp.Session) -> None:
    for called in ("COUNT(*)", "NTILE(4) OVER (ORDER BY COUNT(*))", "AVG(age) + 1"):
        select = f"SELECT ward AS w, {called} AS n FROM visits"
        fix = refusal(session, f"{select} GROUP BY w, n").fix
        assert fix == "GROUP BY ward; n is in each row of the answer then"
        assert session.query(f"{select} {fix.split(';')[0]}")


GROUPED = "FROM visits GROUP BY ward"
COUNTED = f"(SELECT ward, COUNT(*) AS n {GROUPED})"


@pytest.mark.parametrize(
    ("other", "together"),
    [
        (
            "SELECT ward, AVG(age) AS m FROM visits WHERE active GROUP BY ward",
            f"SELECT ward, COUNT(*) AS n, AVG(age) FILTER (WHERE active) AS m {GROUPED}",
        ),
        (
            "SELECT v.ward, 1 + SUM(v.age) / COUNT(*) AS m FROM visits v GROUP BY 1",
            f"SELECT ward, COUNT(*) AS n, 1 + SUM(age) / COUNT(*) AS m {GROUPED}",
        ),
        ("SELECT ward, AVG(age) AS m FROM visits GROUP BY ward HAVING m > 3", None),
        ("SELECT ward, COUNT(*) FILTER (WHERE active) AS m FROM visits GROUP BY ward", None),
        ("SELECT ward, AVG(age) AS m FROM (SELECT * FROM visits) GROUP BY ward", None),
        ("SELECT sex AS ward, AVG(age) AS m FROM visits GROUP BY sex", None),
    ],
)
def test_released_tables_that_are_joined_are_one_query_with_both_aggregates(
    session: dp.Session, other: str, together: str | None
) -> None:
    example = f"SELECT ward, COUNT(*) AS n, AVG(age) FILTER (WHERE active) AS m {GROUPED}"
    for text in (
        f"SELECT a.ward, n, m FROM {COUNTED} a JOIN ({other}) b ON a.ward = b.ward",
        f"SELECT ward, n / m FROM {COUNTED} a LEFT JOIN ({other}) b USING (ward) ORDER BY n",
        f"SELECT a.ward, n, m FROM {COUNTED} a, ({other}) b WHERE a.ward = b.ward",
        f"SELECT * FROM {COUNTED} a JOIN ({other}) b USING (ward)",
        f"SELECT x.n FROM (SELECT n, m FROM {COUNTED} a JOIN ({other}) b USING (ward)) x",
        f"WITH b AS ({other}) SELECT n, m FROM {COUNTED} a JOIN b USING (ward)",
    ):
        error = refusal(session, text)
        assert "two released tables are not joined" in error.what
        assert underlined(error.what)[1]
        assert error.fix == (together or example)
        assert session.query(error.fix)


def test_totals_that_are_joined_are_one_query_too(session: dp.Session) -> None:
    total = "SELECT COUNT(*) AS n FROM visits WHERE active"
    mean = "SELECT AVG(age) AS m FROM visits WHERE active"
    error = refusal(session, f"SELECT n, m FROM ({total}) a CROSS JOIN ({mean}) b")
    assert error.fix == "SELECT COUNT(*) AS n, AVG(age) AS m FROM visits WHERE active"
    assert session.query(error.fix)


def test_a_public_table_is_joined_before_rows_are_grouped() -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    keys = {"ward": dp.Keys(["er", "icu"])}
    opened.register("visits", pl.DataFrame({"ward": ["er", "icu"]}), columns=keys)
    wards = pl.DataFrame({"ward": ["er", "icu"], "region": ["north", "south"]})
    opened.register("wards", wards, public=True)
    for tables in (f"{COUNTED} a JOIN wards USING (ward)", f"wards JOIN {COUNTED} a USING (ward)"):
        error = refusal(opened, f"SELECT region, n FROM {tables}")
        assert "a released table is not joined" in error.what
        assert opened.query(error.fix)


def test_there_are_at_least_200_statements_each_once() -> None:
    assert len(STATEMENTS) >= 200
    assert len({(s.text, s.dialect) for s in STATEMENTS}) == len(STATEMENTS)


def test_what_is_placed_is_most_of_it() -> None:
    # Only an empty text, several statements, a missing FROM and placeholders are nowhere.
    assert sum(1 for s in STATEMENTS if not s.place) <= 15


# --- texts that are too long for a file of examples ------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT {'(' * 500}COUNT(*){')' * 500} FROM visits",
        f"SELECT {'(' * 150}COUNT(*){')' * 150} FROM visits",
        f"SELECT COUNT(*) FROM visits WHERE {'NOT ' * 2000}active",
        f"SELECT COUNT(*) FROM visits WHERE {'NOT ' * 150}active",
        f"SELECT COUNT(*) FROM visits WHERE {'+'.join(['age'] * 3000)} > 5",
        f"SELECT COUNT(*) FROM visits WHERE {' AND '.join(['age > 5'] * 3000)}",
        f"SELECT COUNT(*) FROM visits WHERE {' OR '.join(['age > 5'] * 3000)}",
        f"SELECT {'ABS(' * 300}SUM(age){')' * 300} FROM visits",
        f"SELECT {'CASE WHEN TRUE THEN ' * 200}1{' END' * 200}, COUNT(*) FROM visits",
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 200 + "visits" + ")" * 200,
        "(" * 5000 + "SELECT COUNT(*) FROM visits" + ")" * 5000,
        f"SELECT COUNT({'NULLIF(' * 30}age{', 3)' * 30}) FROM visits",
        f"SELECT COUNT(*) FROM visits WHERE {'(' * 30}active{' BETWEEN FALSE AND TRUE)' * 30}",
        f"SELECT COUNT({'CASE ' * 30}age{' WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE 5 END' * 30}) FROM visits",
    ],
    ids=lambda text: text[:40],
)
def test_what_is_nested_too_deeply_is_refused(text: str, session: dp.Session) -> None:
    error = refusal(session, text)
    assert "nested too deeply" in str(error) or "only a registered table" in str(error)


def test_a_long_line_is_shown_around_the_place(session: dp.Session) -> None:
    text = f"SELECT COUNT(*) FROM visits WHERE age IN ({', '.join(map(str, range(900)))}, nothing)"
    error = refusal(session, text)
    assert underlined(error.what) == (f"1:{text.index('nothing') + 1}", "nothing")
    assert max(map(len, str(error).split("\n"))) < 250


@pytest.mark.parametrize("text", [None, 5, b"SELECT 1", ["SELECT 1"], pl.col("age")])
def test_a_query_is_a_text(text: object, session: dp.Session) -> None:
    with pytest.raises(dp.ParameterError, match="the query is a"):
        session.query(text)  # type: ignore[arg-type]


def test_tabs_and_control_characters_do_not_move_the_underline(session: dp.Session) -> None:
    error = refusal(session, "SELECT\tCOUNT(\x1b[31mnothing) FROM visits")
    assert "\x1b" not in str(error)
    error = refusal(session, "SELECT\t\tCOUNT(nothing)\tFROM visits")
    assert underlined(error.what) == ("1:15", "nothing")


def test_the_session_answers_after_any_number_of_refusals(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rejected in STATEMENTS[:40]:
        refusal(session, rejected.text, rejected.dialect)
    assert "cost    epsilon 0.5" in session.query("SELECT COUNT(*) FROM visits").explain(
        epsilon=0.5
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT SUM(weight) FROM visits", 'columns={"weight": dp.Range(low, high)}'),
        ("SELECT COUNT(*) FROM nowhere", 'session.register("nowhere"'),
        ("SELECT age FROM visits", "GROUP BY age, or AVG(age)"),
        ("SELECT COUNT(*) FROM visits WHERE name ILIKE 'İ%'", "LOWER(x) LIKE"),
        ("SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE", "DATE '2024-01-31'"),
        ("SELECT COUNT(zoned) FROM visits", ".dt.replace_time_zone(None)"),
        ("SELECT SUM(DISTINCT age) FROM visits", "COUNT(DISTINCT x)"),
        ("SELECT FIRST(ward) FROM visits", "MODE(ward)"),
    ],
)
def test_the_fix_is_something_to_write(text: str, words: str, session: dp.Session) -> None:
    assert words in refusal(session, text).fix


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("SELECT AVG(day) FROM visits", ["MEDIAN(day)", "AVG(EPOCH(day))"]),
        ("SELECT SUM(seen) FROM visits", ["MEDIAN(seen)", "SUM(EPOCH(seen))"]),
        ("SELECT CORR(day, age) FROM visits", ["CORR(EPOCH(day), age)"]),
        ("SELECT VAR_SAMP(name) FROM visits", ["COUNT(DISTINCT name)", "COUNT(name)"]),
        ("SELECT HISTOGRAM(cost) FROM visits", ["HISTOGRAM(cost, 20)"]),
        ("SELECT QUANTILE_CONT(age, score) FROM visits", ["QUANTILE_CONT(age, 0.25)"]),
        (
            "SELECT WEIGHTED_AVG(age, change) FROM visits",
            ["SUM(age * change) / SUM(change)"],
        ),
        ("SELECT GEOMEAN(cost) FROM visits", ["EXP(AVG(LN(GREATEST(cost, 1))))"]),
        ("SELECT PRODUCT(cost) FROM visits", ["SUM(LN(GREATEST(cost, 1)))"]),
        ("SELECT MAD(age) FROM visits", ["QUANTILE_CONT(age, 0.75) - QUANTILE_CONT(age, 0.25)"]),
        (
            "SELECT HISTOGRAM(age, 5, score, 5, cumulative := TRUE) FROM visits",
            ["HISTOGRAM(age, 11, cumulative := TRUE)"],
        ),
    ],
)
def test_the_fix_is_understood_when_it_is_pasted(
    text: str, better: list[str], session: dp.Session
) -> None:
    fix = refusal(session, text).fix
    for words in better:
        assert words in fix
        assert session.query(f"SELECT {words} FROM visits").cost(epsilon=0.5).epsilon == 0.5

"""Group keys follow from what is declared: all of them, sorted, and no row is looked at."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.bounds.keys import ChosenKeys
from dpframe.engines.base import Engine

DATA = pl.DataFrame(
    {
        "age": [5, None],
        "ward": ["er", "nowhere"],
        "sex": ["f", None],
        "flag": [True, None],
        "day": [date(2024, 1, 5), None],
        "time": [datetime(2024, 1, 5, 7), None],
        "cost": [1.5, None],
    }
)
COLUMNS = {
    "age": dp.Range(0, 20),
    "ward": dp.Keys(["er", "gp", "icu"]),
    "sex": dp.Keys(["f", "m", None]),
    "day": dp.Range(date(2023, 12, 30), date(2024, 1, 8)),
    "time": dp.Range(datetime(2024, 1, 1), datetime(2024, 1, 1, 5, 30), nullable=False),
    "cost": dp.Range(0, 35),
}


@pytest.fixture(autouse=True)
def _no_row_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def groups(self: Engine, request: object) -> None:
        raise AssertionError("the data was touched")

    monkeypatch.setattr(Engine, "measure", groups)


@pytest.fixture(scope="module", params=["duckdb", "polars"])
def session(request: pytest.FixtureRequest) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=1))
    opened.register("t", DATA, columns=COLUMNS, engine=request.param)
    return opened


def keys(session: dp.Session, key: str, where: str = "TRUE") -> list[Any]:
    query = session.query(f"SELECT {key} AS k, COUNT(*) FROM t WHERE {where} GROUP BY {key}")
    return query._compiled.frame.to_series().to_list()


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("ward", ["er", "gp", "icu"]),
        ("sex", ["f", "m", None]),
        ("flag", [False, True, None]),
        ("age", [*range(21), None]),
        ("age // 10", [0, 1, 2, None]),
        ("age % 3", [0, 1, 2, None]),
        ("age > 5", [False, True, None]),
        ("age IS NULL", [False, True]),
        ("CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END", ["adult", "minor"]),
        ("CASE WHEN age < 18 THEN 'minor' END", ["minor", None]),
        ("CASE WHEN age > 100 THEN 'old' ELSE 'young' END", ["young"]),
        (
            "CASE WHEN cost < 5 THEN 'low' WHEN cost < 9 THEN 'mid' ELSE 'high' END",
            ["high", "low", "mid"],
        ),
        ("CASE WHEN cost < 5 THEN 2.5 WHEN cost < 9 THEN 1 END", [1.0, 2.5, None]),
        ("COALESCE(age // 10, -1)", [-1, 0, 1, 2]),
        ("NULLIF(age // 10, 1)", [0, 2, None]),
        ("LEAST(age, 2)", [0, 1, 2]),
        ("FLOOR(age / 10)", [0.0, 1.0, 2.0, None]),
        ("age * 0", [0, None]),
        ("UPPER(ward)", ["ER", "GP", "ICU"]),
        ("LENGTH(ward)", [2, 3]),
        ("ward || sex", ["erf", "erm", "gpf", "gpm", "icuf", "icum", None]),
        ("ward = 'er'", [False, True]),
        ("MONTH(day)", [1, 12, None]),
        ("YEAR(day)", [2023, 2024, None]),
        ("dayofweek(day)", [0, 1, 2, 3, 4, 5, 6, None]),
        ("date_trunc('month', day)", [datetime(2023, 12, 1), datetime(2024, 1, 1), None]),
        ("date_trunc('hour', time)", [datetime(2024, 1, 1, h) for h in range(6)]),
        ("CAST(cost / 10 AS INT)", [0, 1, 2, 3, 4, None]),
        ("SIGN(age - 10)", [-1, 0, 1, None]),
        ("FLOOR(cost / 10)", [0.0, 1.0, 2.0, 3.0, None]),
        ("FLOOR(cost / 10) * 10", [0.0, 10.0, 20.0, 30.0, None]),
        ("CAST(FLOOR(cost / 10) AS BIGINT) * 10", [0, 10, 20, 30, None]),
        ("CAST(cost AS BIGINT) // 10 * 10", [0, 10, 20, 30, None]),
        ("CEIL(cost / 20)", [0.0, 1.0, 2.0, None]),
        ("TRUNC(cost / 20 - 1)", [-1.0, 0.0, None]),
        ("ROUND(cost, -1)", [0.0, 10.0, 20.0, 30.0, 40.0, None]),
        ("ROUND(cost / 100, 1)", [0.0, 0.1, 0.2, 0.3, 0.4, None]),
        ("COALESCE(FLOOR(cost / 20), -1)", [-1.0, 0.0, 1.0]),
        ("CASE WHEN age IS NULL THEN FLOOR(cost / 20) ELSE -1 END", [-1.0, 0.0, 1.0, None]),
        (
            "ward || CAST(CAST(FLOOR(cost / 30) AS INT) AS VARCHAR)",
            [f"{w}{i}" for w in ("er", "gp", "icu") for i in (0, 1)] + [None],
        ),
        ("CASE WHEN ward = 'er' THEN cost END > 5", [False, True, None]),
    ],
)
def test_keys_follow_from_declared_domains(
    key: str, expected: list[Any], session: dp.Session
) -> None:
    assert keys(session, key) == expected


@pytest.mark.parametrize(
    ("key", "where", "expected"),
    [
        ("age", "age BETWEEN 3 AND 5", [3, 4, 5]),
        ("age", "age >= 19", [19, 20]),
        ("age", "age > 18.5", [19, 20]),
        ("age", "17 < age AND age <> 3", [18, 19, 20]),
        ("age // 10", "age < 15", [0, 1]),
        ("ward", "ward IN ('er', 'gp')", ["er", "gp"]),
        ("ward", "ward = 'er'", ["er"]),
        ("sex", "sex IS NOT NULL", ["f", "m"]),
        ("sex", "sex = 'f'", ["f"]),
        ("day", "day >= '2024-01-07'", [date(2024, 1, 7), date(2024, 1, 8)]),
    ],
)
def test_where_narrows_the_keys(
    key: str, where: str, expected: list[Any], session: dp.Session
) -> None:
    assert keys(session, key, where) == expected


@pytest.mark.parametrize("where", ["age = NULL", "age > 1000", "age < 5 AND age > 9", "NULL"])
def test_a_where_that_keeps_nothing_keeps_the_keys(where: str, session: dp.Session) -> None:
    assert len(keys(session, "ward", where)) == 3
    assert keys(session, "age", where)


def test_keys_of_several_columns_are_every_combination(session: dp.Session) -> None:
    query = session.query("SELECT ward, sex, flag, COUNT(*) FROM t GROUP BY ward, sex, flag")
    assert query._compiled.groups == 3 * 3 * 3


@pytest.mark.parametrize(
    ("keys", "groups"),
    [
        ("FLOOR(cost / 10), FLOOR(cost / 10) * 10", 5),
        ("CAST(cost AS INT), CAST(cost AS INT) // 10, CAST(cost AS INT) // 20", 37),
        ("FLOOR(cost / 10) * 10, FLOOR(cost / 10) > 1", 5),
        ("FLOOR(cost / 10), age // 10, FLOOR(cost / 10) + age // 10", 5 * 4),
        ("FLOOR(cost / 10), CEIL(cost / 20)", 5 * 4),
    ],
)
def test_keys_of_the_same_steps_are_computed_from_them(
    keys: str, groups: int, session: dp.Session
) -> None:
    assert session.query(f"SELECT {keys}, COUNT(*) FROM t GROUP BY ALL")._compiled.groups == groups


@pytest.mark.parametrize(
    "key", ["FLOOR(cost * 1000000)", "ROUND(cost, 9)", "cost + 1", "SQRT(cost)"]
)
def test_floats_of_too_many_values_are_refused(key: str, session: dp.Session) -> None:
    with pytest.raises(dp.QueryError, match="no public set of values"):
        keys(session, key)


@pytest.mark.parametrize(
    ("key", "groups"), [("FLOOR(m / 10)", 4), ("ROUND(m, -1) > 10", 3), ("m > 10", 3)]
)
def test_a_mean_of_each_unit_is_cut_into_bins(key: str, groups: int) -> None:
    """The mean itself is analysed once more where it stands, and may be written otherwise then."""
    opened = dp.Session(dp.Budget(epsilon=1))
    rows = pl.DataFrame({"u": [1, 1, 2], "x": [1.0, 2.0, 3.0]})
    opened.register("r", rows, unit=dp.Unit("u", max_rows=2), columns={"x": dp.Range(0, 29)})
    inner = "SELECT u, AVG(x) AS m FROM r GROUP BY u"
    query = opened.query(f"SELECT {key} AS k, COUNT(*) FROM ({inner}) GROUP BY k")
    assert query._compiled.groups == groups
    opened.query(f"SELECT HISTOGRAM(m, 3) FROM ({inner})")


def test_keys_of_one_column_are_enumerated_together(session: dp.Session) -> None:
    query = session.query("SELECT age, age // 10 AS d, COUNT(*) FROM t GROUP BY age, d")
    assert query._compiled.groups == 22


@pytest.mark.parametrize("key", ["cost", "time", "LOWER(CAST(time AS VARCHAR))", "cost * 2"])
def test_a_key_without_a_public_set_of_values_is_refused(key: str, session: dp.Session) -> None:
    with pytest.raises(dp.QueryError):
        keys(session, key)


def test_too_many_groups_are_refused() -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    columns = {"a": dp.Range(0, 10**6), "b": dp.Range(0, 2000), "c": dp.Range(0, 2000)}
    data = pl.DataFrame({"a": [1], "b": [1], "c": [1]})
    opened.register("t", data, columns=columns)
    with pytest.raises(dp.QueryError, match="1,000,00"):
        opened.query("SELECT a, COUNT(*) FROM t GROUP BY a")
    with pytest.raises(dp.QueryError, match="4,008,004 groups"):
        opened.query("SELECT b, c, COUNT(*) FROM t GROUP BY b, c")
    assert opened.query("SELECT a // 1000 AS k, COUNT(*) FROM t GROUP BY k")._compiled.groups > 1000


# --- keys that are not public ----------------------------------------------------------------------


@pytest.fixture
def with_delta() -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=1, delta=1e-6))
    data = pl.DataFrame({"name": ["x"], "zip": [1], "id": [1], "ward": ["er"], "age": [3]})
    columns = {
        "ward": dp.Keys(["er", "gp"]),
        "age": dp.Range(0, 3, nullable=False),
        "id": dp.Range(0, 10**9),
    }
    opened.register("t", data, columns=columns)
    return opened


@pytest.mark.parametrize(
    ("keys", "private", "public"),
    [
        ("name", ["name"], 0),
        ("ward", [], 2),
        ("name, ward", ["name"], 2),
        ("ward, zip, age", ["zip"], 8),
        ("id", ["id"], 0),  # declared, but with more values than a query may have groups
        ("name, LOWER(name), ward", ["name", "LOWER(name)"], 2),
        ("ward, ward || name", ["ward", "ward || name"], 0),  # they read the same column
        ("zip > 3", [], 3),
        ("ward || zip", ["ward || zip"], 0),
    ],
)
def test_keys_without_a_public_set_of_values_are_private(
    keys: str, private: list[str], public: int, with_delta: dp.Session
) -> None:
    compiled = with_delta.query(f"SELECT COUNT(*) FROM t GROUP BY {keys}")._compiled
    written = dict(zip((name for name, _ in compiled.keys), keys.split(", "), strict=True))
    assert [written[name] for name in compiled.private] == private
    assert compiled.public.height == public
    assert compiled.awaits_keys == bool(private)


def test_the_sensitivity_does_not_depend_on_how_many_keys_are_chosen(
    with_delta: dp.Session,
) -> None:
    compiled = with_delta.query("SELECT name, COUNT(*) FROM t GROUP BY name")._compiled
    chosen = ChosenKeys(pl.DataFrame({"k0": ["a", "b", None]}), 1, 1)
    assert compiled.with_keys(chosen).context(2) == compiled.context(2)
    assert compiled.with_keys(chosen).frame["k0"].to_list() == ["a", "b", None]


def test_groupings_are_one_table_with_null_for_absent_keys(with_delta: dp.Session) -> None:
    sql = "SELECT ward, age, COUNT(*) FROM t GROUP BY ROLLUP (ward, age)"
    compiled = with_delta.query(sql)._compiled
    assert compiled.groups == compiled.shown.height == 2 * 4 + 2 + 1
    assert compiled.shown.row(-1) == (None, None, 1, 1)
    assert compiled.shown.row(8) == ("er", None, 0, 1)
    assert compiled.context(1).sets == 3


def test_keys_computed_from_a_key_follow_from_its_values(session: dp.Session) -> None:
    """A float has too many values to enumerate, but its floor has few, and a tenth of that follows."""
    tens = "CAST(FLOOR(cost) AS BIGINT)"
    query = session.query(
        f"SELECT {tens} AS one, {tens} // 10 AS ten, COUNT(*) FROM t GROUP BY one, ten"
    )
    expected = [(i, i // 10) for i in range(36)] + [(None, None)]
    assert query._compiled.frame.rows() == expected
    other = session.query(
        f"SELECT {tens} AS one, CAST(CEIL(cost) AS BIGINT) AS up, COUNT(*) FROM t GROUP BY one, up"
    )
    assert other._compiled.frame.height == 37 * 37  # neither follows from the other

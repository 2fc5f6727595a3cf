"""A declaration is checked against the real schema, and every problem is reported at once."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from noiseless import without_noise

import dpframe as dp
from dpframe.plan.domains import Type

DATA = pl.DataFrame(
    {
        "whole": [1, 2],
        "small": pl.Series([1, 2], dtype=pl.UInt8),
        "real": [1.5, None],
        "text": ["a", None],
        "flag": [True, None],
        "day": [date(2024, 1, 1), None],
        "time": [datetime(2024, 1, 1), None],
        "list": [[1], [2]],
    }
)


def register(data: pl.DataFrame = DATA, **options: Any) -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", data, **options)
    return session


def problems(**options: Any) -> list[str]:
    """The lines of the one error that a declaration raises."""
    with pytest.raises(dp.DeclarationError) as caught:
        register(**options)
    assert caught.value.why
    assert caught.value.fix
    return [line.strip(" -") for line in caught.value.what.split("\n")[1:]]


def problem(column: str, declared: object) -> str:
    (found,) = problems(columns={column: declared})
    return found


def test_all_problems_are_in_one_error() -> None:
    found = problems(
        columns={
            "whol": dp.Range(0, 1),
            "whole": dp.Range(5, 1),
            "real": dp.Range(0, math.inf),
            "text": dp.Range(0, 1),
            "day": dp.Keys(["x"]),
            "flag": "yes",
            "list": dp.Keys([1]),
        },
        unit=dp.Unit("nobody", 0),
        neighbors="swap",
        size=-1,
        public="maybe",
    )
    assert len(found) == 12
    assert found[0] == "column 'whol' does not exist (did you mean 'whole'?)"
    for column in ("whole", "real", "text", "day", "flag", "list", "nobody"):
        assert any(repr(column) in line for line in found), column
    for words in ("max_rows=0", "neighbors='swap'", "size=", "public='maybe'"):
        assert any(words in line for line in found), words


def test_the_fix_lists_the_columns_that_there_are() -> None:
    with pytest.raises(dp.DeclarationError) as caught:
        register(columns={"nope": dp.Range(0, 1)})
    assert all(repr(column) in caught.value.fix for column in DATA.columns)


def test_names_of_columns_are_exact() -> None:
    assert problem("WHOLE", dp.Range(0, 1)).startswith("column 'WHOLE' does not exist")


# --- ranges --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "low", "high"),
    [
        ("whole", 0, 110),
        ("whole", -(2**63), 2**63 - 1),
        ("whole", 0.5, 9.5),
        ("whole", Decimal("0.5"), Fraction(7, 2)),
        ("whole", np.int64(0), np.int32(5)),
        ("small", -5, 1000),
        ("real", 0, 1),
        ("real", -1e200, 1e200),
        ("real", np.float64(0), np.float32(5)),
        ("real", 0, 0),
        ("day", date(2020, 1, 1), date(2024, 12, 31)),
        ("time", datetime(2020, 1, 1), datetime(2024, 12, 31, 23)),
        ("time", date(2020, 1, 1), date(2024, 12, 31)),
    ],
)
def test_a_range_of_its_type_is_accepted(column: str, low: Any, high: Any) -> None:
    register(columns={column: dp.Range(low, high)})


def test_bounds_of_integers_are_rounded_inward() -> None:
    session = register(columns={"whole": dp.Range(0.5, 9.5)})
    domain = session._tables["t"].domains["whole"]
    assert (domain.low, domain.high) == (1, 9)
    assert (type(domain.low), type(domain.high)) == (int, int)


@pytest.mark.parametrize(
    ("column", "declared", "words"),
    [
        ("whole", dp.Range(5, 1), "holds no value: low > high"),
        ("whole", dp.Range(0.2, 0.8), "holds no value"),
        ("whole", dp.Range(2**63, 2**64), "does not fit in 64 bits"),
        ("whole", dp.Range(math.nan, 1), "the bound nan is not finite"),
        ("whole", dp.Range(0, math.inf), "the bound inf is not finite"),
        ("real", dp.Range(0, math.nan), "the bound nan is not finite"),
        ("real", dp.Range(-math.inf, 0), "the bound -inf is not finite"),
        ("real", dp.Range(-1e300, 1e300), "is wider than 1e200"),
        ("real", dp.Range(1.0, 0.5), "low > high"),
        ("whole", dp.Range("0", "9"), "the bound '0' is not a number"),
        ("whole", dp.Range(None, 9), "the bound None is not a number"),
        ("whole", dp.Range(False, True), "the bound False is not a number"),
        ("real", dp.Range(0, 1j), "the bound 1j is not a number"),
        ("real", dp.Range([0], 1), "the bound [0] is not a number"),
        ("whole", dp.Range(date(2024, 1, 1), 5), "is not a number"),
        ("text", dp.Range(0, 9), "a range makes no sense for String"),
        ("flag", dp.Range(0, 1), "a range makes no sense for Boolean"),
        ("day", dp.Range(0, 9), "the bound 0 is not a"),
        ("day", dp.Range("2024-01-01", "2024-12-31"), "the bound '2024-01-01' is not a"),
        ("day", dp.Range(datetime(2024, 1, 1), datetime(2024, 2, 1)), "is not a"),
        ("day", dp.Range(date(2024, 2, 1), date(2024, 1, 1)), "low > high"),
        ("time", dp.Range(0, 1), "the bound 0 is not a"),
        ("list", dp.Range(0, 1), "its type List(Int64) cannot be read"),
    ],
)
def test_a_range_that_does_not_fit_is_refused(column: str, declared: Any, words: str) -> None:
    assert words in problem(column, declared)


def test_a_bound_beyond_every_float_is_refused() -> None:
    assert "whole" in problem("whole", dp.Range(0, 10**400))


def test_nullable_is_true_or_false() -> None:
    assert "nullable" in problem("whole", dp.Range(0, 1, nullable="no"))  # type: ignore[arg-type]


# --- keys ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "keys"),
    [
        ("text", ["a", "b", None]),
        ("text", ("a", "é", "", "a'b", '"', "\0", "\n")),
        ("text", {"a", "b"}),
        ("text", iter(["a", "b"])),
        ("whole", range(5)),
        ("whole", [-(2**63), 2**63 - 1]),
        ("real", [0, 0.5, 1]),
        ("flag", [True, False, None]),
        ("day", [date(2024, 1, 1)]),
        ("time", [datetime(2024, 1, 1), date(2024, 1, 2)]),
    ],
)
def test_keys_of_their_type_are_accepted(column: str, keys: Any) -> None:
    register(columns={column: dp.Keys(keys)})


@pytest.mark.parametrize(
    ("column", "keys", "words"),
    [
        ("text", [], "needs at least one value"),
        ("text", [None], "needs at least one value"),
        ("text", ["a", "a"], "listed twice"),
        ("text", ["a", None, None], "listed twice"),
        ("text", [1], "the key 1 is not a VARCHAR"),
        ("text", [b"a"], "the key b'a' is not a VARCHAR"),
        ("text", [["a"]], "the key ['a'] is not a VARCHAR"),
        ("whole", ["a"], "the key 'a' is not a BIGINT"),
        ("whole", [1.5], "the key 1.5 is not a BIGINT"),
        ("whole", [True], "the key True is not a BIGINT"),
        ("whole", [2**63], "does not fit in 64 bits"),
        ("whole", [1, 1.0], "is not a BIGINT"),
        ("real", [math.nan], "the key nan is not finite"),
        ("real", [math.inf], "the key inf is not finite"),
        ("real", [1, 1.0], "listed twice"),
        ("flag", [0, 1], "the key 0 is not a BOOLEAN"),
        ("day", ["2024-01-01"], "is not a DATE"),
        ("list", [1], "cannot be read"),
    ],
)
def test_keys_that_do_not_fit_are_refused(column: str, keys: Any, words: str) -> None:
    assert words in problem(column, dp.Keys(keys))


def test_a_text_is_not_a_list_of_keys() -> None:
    with pytest.raises(dp.DeclarationError):
        register(columns={"text": dp.Keys("er")})


@pytest.mark.parametrize("keys", [5, None])
def test_keys_are_a_list(keys: Any) -> None:
    with pytest.raises(dp.DeclarationError):
        register(columns={"text": dp.Keys(keys)})


@pytest.mark.parametrize("declared", [None, 5, "0-9", (0, 9), [0, 9], dp.Range, dp.Row()])
def test_anything_else_is_neither_a_range_nor_keys(declared: object) -> None:
    assert "is neither dp.Range(low, high) nor dp.Keys([...])" in problem("whole", declared)


# --- the unit, the neighbours, the table ----------------------------------------------------------


@pytest.mark.parametrize("column", ["whole", "real", "text", "flag", "day", "time"])
def test_any_comparable_column_can_name_the_unit(column: str) -> None:
    register(unit=dp.Unit(column, max_rows=3))


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        (dp.Unit("whol", max_rows=3), "'whol' does not exist (did you mean 'whole'?)"),
        (dp.Unit("list", max_rows=3), "which cannot be compared"),
        (dp.Unit(None, max_rows=3), "None does not exist"),  # type: ignore[arg-type]
        (dp.Unit("whole", max_rows=0), "max_rows=0 is not an integer"),
        (dp.Unit("whole", max_rows=-1), "max_rows=-1 is not an integer"),
        (dp.Unit("whole", max_rows=1.5), "max_rows=1.5"),  # type: ignore[arg-type]
        (dp.Unit("whole", max_rows=True), "max_rows=True"),
        (dp.Unit("whole", max_rows="3"), "max_rows='3'"),  # type: ignore[arg-type]
        (dp.Unit("whole", max_rows=2**20 + 1), "from 1 to 1048576"),
        ("whole", "is neither dp.Row() nor dp.Unit"),
        (dp.Row, "is neither dp.Row() nor dp.Unit"),
        (5, "is neither dp.Row() nor dp.Unit"),
    ],
)
def test_a_unit_that_does_not_fit_is_refused(unit: Any, words: str) -> None:
    (found,) = problems(unit=unit)
    assert words in found


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"neighbors": "replace"}, "needs size="),
        ({"neighbors": "replace", "size": 0}, "needs size="),
        ({"neighbors": "replace", "size": True}, "needs size="),
        ({"neighbors": "replace", "size": 1.5}, "needs size="),
        ({"size": 5}, "size= goes with neighbors='replace'"),
        ({"neighbors": "both"}, "neighbors='both' is neither"),
        ({"public": 1}, "public=1 is neither True nor False"),
    ],
)
def test_neighbours_that_make_no_sense_are_refused(options: dict[str, Any], words: str) -> None:
    assert any(words in line for line in problems(**options))


@pytest.mark.parametrize("name", ["", "1x", "a b", "t;drop", "a.b", "a-b", '"t"', 5, None, b"t"])
def test_a_table_name_is_a_plain_word(name: Any) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    with pytest.raises(dp.DeclarationError, match="is not a table name"):
        session.register(name, DATA)


def test_a_table_is_registered_once_whatever_its_case() -> None:
    session = register()
    with pytest.raises(dp.DeclarationError, match="registered already"):
        session.register("T", DATA)


def test_columns_are_a_mapping() -> None:
    with pytest.raises(dp.DeclarationError, match="is not a mapping"):
        register(columns=["whole"])
    with pytest.raises(dp.DeclarationError, match="does not exist"):
        register(columns={5: dp.Range(0, 1)})


def test_a_table_has_columns_that_sql_can_tell_apart() -> None:
    with pytest.raises(dp.DeclarationError, match="the data has no columns"):
        register(pl.DataFrame())
    with pytest.raises(dp.DeclarationError, match="'a' and 'A' differ in case only"):
        register(pl.DataFrame({"a": [1], "A": [2]}))


def test_a_refused_table_leaves_no_trace() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    with pytest.raises(dp.DeclarationError):
        session.register("t", DATA, columns={"nope": dp.Range(0, 1)})
    session.register("t", DATA, columns={"whole": dp.Range(0, 1)})
    assert "nope" not in session.describe()


def test_what_is_not_declared_has_no_bounds() -> None:
    domains = register()._tables["t"].domains
    assert not domains["whole"].is_bounded
    assert not domains["small"].is_bounded, "a column's width is no declared bound"
    assert domains["flag"].is_bounded
    assert "list" not in domains
    assert {name: d.type for name, d in domains.items()} == {
        "whole": Type.INT,
        "small": Type.INT,
        "real": Type.FLOAT,
        "text": Type.TEXT,
        "flag": Type.BOOL,
        "day": Type.DATE,
        "time": Type.TIMESTAMP,
    }


def test_declarations_show_as_they_are_written() -> None:
    assert repr(dp.Range(0, 110)) == "Range(0, 110)"
    assert repr(dp.Range(0, 1.5, nullable=False)) == "Range(0, 1.5, nullable=False)"
    assert repr(dp.Keys(["a", None])) == "Keys(['a', None])"
    assert dp.Unit("id", max_rows=3) == dp.Unit("id", 3)
    assert len({dp.Range(0, 1), dp.Range(0, 1), dp.Keys(["a"]), dp.Keys(["a"])}) == 2


# --- integers beyond 64 bits ------------------------------------------------------------------------

IDENTIFIERS = pl.DataFrame(
    {"u": pl.Series([2**63 + 1, 2**63 + 2, 2**63 + 1, 5], dtype=pl.UInt64), "x": [1, 2, 3, 4]}
)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("public", [False, True], ids=["private", "public"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(DISTINCT u) FROM t",
        "SELECT COUNT(*) FROM t WHERE u = 9223372036854775809",
        "SELECT u, COUNT(*) FROM t GROUP BY u",
    ],
)
def test_identifiers_that_would_be_read_as_one_are_refused(
    sql: str, public: bool, engine: Any
) -> None:
    opened = dp.Session(dp.Budget(epsilon=1, delta=1e-6))
    opened.register("t", IDENTIFIERS, engine=engine, public=public)
    with pytest.raises(dp.QueryError, match=r"a column of type U\w+ cannot be used") as caught:
        opened.sql(sql, epsilon=0.1)
    assert "different integers would be read as one" in str(caught.value)
    assert opened.spent.epsilon == 0
    with pytest.raises(dp.QueryError, match="different integers would be read as one"):
        opened.table("t").filter(pl.col("u") > 3).select(pl.len()).release(epsilon=0.1)
    # The rest of the table can be asked about, and text or a range makes the column readable.
    assert opened.sql("SELECT COUNT(*) FROM t", epsilon=0.1).frame.height == 1
    as_text = IDENTIFIERS.with_columns(pl.col("u").cast(pl.String))
    opened.register("texts", as_text, engine=engine, public=True)
    assert opened.sql("SELECT COUNT(DISTINCT u) FROM texts").item() == 3
    opened.register("ranged", IDENTIFIERS, columns={"u": dp.Range(0, 10**15)}, engine=engine)
    assert opened.sql("SELECT SUM(u) AS s FROM ranged", epsilon=0.1).frame.height == 1


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_units_beyond_64_bits_are_told_apart(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)
    opened = dp.Session(dp.Budget(epsilon=100))
    opened.register("t", IDENTIFIERS, unit=dp.Unit("u", max_rows=2), engine=engine)
    assert opened.sql("SELECT COUNT(DISTINCT u) AS n FROM t", epsilon=1).item() == 3

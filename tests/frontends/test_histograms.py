"""Histograms are grouped counts: bins, edges, categories, and what is refused."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.mechanisms import Law

ROWS = 500
RANDOM = np.random.default_rng(8)
TABLE = pl.DataFrame(
    {
        "age": RANDOM.integers(0, 111, ROWS),
        "x": [None if i % 7 == 0 else v for i, v in enumerate(RANDOM.normal(0, 2, ROWS).tolist())],
        "day": [date(2024, 1, 1) + timedelta(days=int(d)) for d in RANDOM.integers(0, 366, ROWS)],
        "ward": RANDOM.choice(["er", "icu", "gp"], ROWS),
        "free": RANDOM.integers(0, 9, ROWS),
    }
)
COLUMNS = {
    "age": dp.Range(0, 110),
    "x": dp.Range(-3, 3),
    "day": dp.Range(date(2024, 1, 1), date(2024, 12, 31)),
    "ward": dp.Keys(["er", "gp", "icu"]),
}


@pytest.fixture(params=["polars", "duckdb"])
def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dp.Session:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    opened = dp.Session(dp.Budget(epsilon=1000))
    opened.register("t", TABLE, columns=COLUMNS, engine=request.param)
    return opened


@pytest.mark.parametrize("column", ["old", "age", "day", "ward"])
def test_few_values_have_bins_of_their_own_as_in_sql(column: str) -> None:
    opened = dp.Session(dp.Budget(epsilon=10))
    frame = TABLE.with_columns(old=pl.col("age") > 60)
    opened.register("t", frame, columns=COLUMNS)
    in_sql = opened.sql(f"SELECT HISTOGRAM({column}) FROM t", epsilon=1)
    called = opened.histogram("t", column)  # the same question, so that it costs nothing
    assert called.frame.rows() == in_sql.frame.rows()
    assert called.loss == dp.Loss.none()
    plane = opened.table("t").histogram([column, "x"], bins={"x": 4}).release(epsilon=1)
    assert plane.frame.columns == [column, "x_low", "x_high", "count"]


def test_a_condition_beside_bins_has_two_of_its_own(session: dp.Session) -> None:
    rows = session.table("t").with_columns(old=pl.col("age") > 60)
    plane = rows.histogram(["old", "x"], bins=4).release(epsilon=1).frame
    assert set(plane["old"].to_list()) == {False, True, None}
    assert plane["count"].sum() == TABLE["x"].count()


MISSPELT = [
    (("agee",), {"bins": 20}, "did you mean 'age'", '"age", bins=20'),
    (("wards",), {}, "did you mean 'ward'", '"ward", epsilon'),
    (("fre",), {"bins": 20}, "did you mean 'free'", '"age", bins=20'),  # which has no range
    (("zzz",), {"bins": 20}, "is not a column", '"age", bins=20'),
    (("x",), {"bins": 5, "by": "war"}, "did you mean 'ward'", '"x", bins=20, by="ward"'),
]


@pytest.mark.parametrize(("asked", "options", "words", "fix"), MISSPELT)
def test_a_misspelt_column_is_named_with_one_that_is_answered(
    session: dp.Session, asked: Any, options: Any, words: str, fix: str
) -> None:
    with pytest.raises(dp.QueryError, match=words) as refusal:
        session.histogram("t", *asked, epsilon=1, **options)
    assert fix in refusal.value.fix
    assert eval(refusal.value.fix, {"session": session}).frame.height


@pytest.mark.parametrize("bins", [1, 2, 7, 11, 30])
@pytest.mark.parametrize(("column", "ends"), [("age", (0, 110)), ("x", (-3, 3))])
def test_equal_bins_are_those_of_numpy(
    session: dp.Session, column: str, ends: tuple[int, int], bins: int
) -> None:
    found = session.histogram("t", column, bins=bins, epsilon=1).frame
    values = TABLE[column].drop_nulls().to_numpy().clip(*ends)
    expected, edges = np.histogram(values, bins, ends)
    assert found["count"].to_list() == expected.tolist()
    assert np.allclose(found["low"], edges[:-1])
    assert np.allclose(found["high"], edges[1:])


def test_every_value_is_counted_in_the_bin_whose_ends_are_shown(session: dp.Session) -> None:
    """Ends such as 0.1 + 0.2 are what the rows are compared with, rounding included."""
    values = pl.DataFrame({"v": np.arange(0, 101) / 100})
    session.register("v", values, columns={"v": dp.Range(0, 1)})
    found = session.histogram("v", "v", bins=10, epsilon=1).frame
    for low, high, count in found.rows():
        inside = (values["v"] >= low) & ((values["v"] < high) | (high == 1))
        assert count == inside.sum()


def test_given_edges_leave_out_what_lies_beyond_them(session: dp.Session) -> None:
    found = session.histogram("t", "age", edges=[18, 30, 65], epsilon=1).frame
    expected, _ = np.histogram(TABLE["age"], [18, 30, 65])
    assert found.rows() == [(18, 30, expected[0]), (30, 65, expected[1])]
    # A column without a range has edges too: they bound it.
    assert session.histogram("t", "free", edges=[0, 4, 8], epsilon=1).frame["count"].sum() == ROWS


def test_days_have_bins(session: dp.Session) -> None:
    found = session.histogram("t", "day", bins=4, epsilon=1).frame
    assert found["count"].sum() == ROWS
    assert found.schema["low"] == pl.Date()
    for low, high, count in found.rows():
        last = high == date(2024, 12, 31)
        inside = (TABLE["day"] >= low) & ((TABLE["day"] <= high) if last else TABLE["day"] < high)
        assert count == inside.sum()


def test_categories_groups_and_two_columns(session: dp.Session) -> None:
    wards = session.histogram("t", "ward", epsilon=1).frame
    counts = TABLE.group_by("ward").len().sort("ward")
    assert wards.rows() == counts.rows()
    both = session.histogram("t", "age", bins=2, by="ward", epsilon=1).frame
    assert both.columns == ["ward", "low", "high", "count"]
    assert both.group_by("ward").agg(pl.col("count").sum()).sort("ward").rows() == counts.rows()
    edges = {"age": [0, 50, 110], "x": [-3, 0, 3]}
    plane = session.histogram("t", ["age", "x"], edges=edges, epsilon=1).frame
    assert plane.columns == ["age_low", "age_high", "x_low", "x_high", "count"]
    kept = TABLE.drop_nulls("x")
    expected, *_ = np.histogram2d(kept["age"], kept["x"].clip(-3, 3), [edges["age"], edges["x"]])
    assert plane["count"].to_list() == expected.ravel().tolist()
    mixed = session.histogram("t", ["ward", "age"], bins=2, epsilon=1).frame
    assert mixed.columns == ["ward", "age_low", "age_high", "count"]


@pytest.mark.parametrize("bins", [1, 10, 1000])
def test_the_number_of_bins_costs_nothing(bins: int) -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    opened.register("t", TABLE, columns=COLUMNS)
    layout = layout_for(opened.table("t").histogram("x", bins=bins).compiled, 1)
    assert [s.l1 for s in layout.sensitivities] == [1]


def test_counts_are_raised_to_zero_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.full(n, -(10**6), dtype=np.int64))
    opened = dp.Session(dp.Budget(epsilon=10))
    opened.register("t", TABLE, columns=COLUMNS)
    asked: dict[str, Any] = {"bins": 5, "epsilon": 1}
    assert (opened.histogram("t", "x", **asked).frame["count"] < 0).all()
    again = opened.histogram("t", "x", nonnegative=True, **asked)
    assert again.reused  # the same counts
    assert (again.frame["count"] == 0).all()


# --- the same question in other words -----------------------------------------------------------


def test_sql_and_the_method_are_one_question(session: dp.Session) -> None:
    for options, sql in [
        ({"bins": 11}, "SELECT HISTOGRAM(age, 11) FROM t"),
        ({"edges": [0, 18, 65, 110]}, "SELECT HISTOGRAM(age, [0, 18, 65, 110]) AS n FROM t"),
        ({"bins": 5, "by": "ward"}, "SELECT ward, HISTOGRAM(age, 5) FROM t GROUP BY ward"),
    ]:
        first = session.histogram("t", "age", epsilon=1, **options)
        again = session.sql(sql)
        assert again.reused
        assert again.frame.rows() == first.frame.rows()
    wards = session.histogram("t", "ward", epsilon=1)
    assert session.sql("SELECT HISTOGRAM(ward) FROM t").frame.rows() == wards.frame.rows()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_chain_is_the_question_that_is_closed_on_the_right(engine: Any) -> None:
    opened = dp.Session(dp.Budget(epsilon=100))
    opened.register("t", TABLE, columns=COLUMNS, engine=engine)
    table, age = opened.table("t"), pl.col("age")
    for options, chain in [
        ({"bins": 11}, table.select(age.hist(bin_count=11))),
        ({"bins": 10}, table.select(age.hist())),
        ({"edges": [0, 18, 65, 110]}, table.select(age.hist([0, 18, 65, 110]).alias("n"))),
        ({"bins": 5, "by": "ward"}, table.group_by("ward").agg(age.hist(bin_count=5))),
    ]:
        first = opened.histogram("t", "age", closed="right", epsilon=1, **options)
        again = chain.release()
        assert again.reused
        assert again.frame.rows() == first.frame.rows()
        assert not opened.sql("SELECT HISTOGRAM(age, 11) FROM t", epsilon=1, fresh=True).reused


@pytest.mark.parametrize("bins", [1, 2, 7, 11, 30])
def test_bins_of_a_chain_are_those_of_polars(session: dp.Session, bins: int) -> None:
    ends = pl.DataFrame({"age": [0, 110], "x": [-3.0, 3.0]})
    for column in ("age", "x"):
        found = session.table("t").select(pl.col(column).hist(bin_count=bins)).release(epsilon=1)
        # With a row at each end of the range, Polars cuts the range that was declared.
        low, high = ends[column].to_list()
        values = pl.concat([TABLE[column].drop_nulls().clip(low, high), ends[column]])
        plain = values.to_frame().select(pl.col(column).hist(bin_count=bins)).to_series()
        expected = plain.cast(pl.Int64).to_list()
        expected[0] -= 1
        expected[-1] -= 1
        assert found.frame["count"].to_list() == expected


def test_edges_of_a_chain_are_those_of_polars(session: dp.Session) -> None:
    edges = [18, 30, 65]
    found = session.table("t").select(pl.col("age").hist(edges)).release(epsilon=1)
    assert found.frame["count"].to_list() == TABLE["age"].hist(edges)["count"].to_list()
    kept = pl.col("ward") == "er"
    some = session.table("t").select(pl.col("age").filter(kept).hist(edges)).release(epsilon=1)
    plain = TABLE.filter(kept)["age"].hist(edges)["count"]
    assert some.frame["count"].to_list() == plain.to_list()


@pytest.mark.filterwarnings("ignore:`cut` is deprecated")
def test_bins_to_group_by_are_those_of_polars(session: dp.Session) -> None:
    keys = [pl.col("age").cut([18, 65])]
    if hasattr(pl.Expr, "bin_intervals"):
        keys.append(pl.col("age").bin_intervals([18, 65], labels=["a", "b", "c"]))
    for key in keys:
        found = session.table("t").group_by(key).agg(pl.len()).release(epsilon=1).frame.drop_nulls()
        plain = TABLE.group_by(key).agg(pl.len())
        names = (pl.col("age").cast(pl.String), pl.col("len").cast(pl.Int64))
        assert sorted(found.select(*names).rows()) == sorted(plain.select(*names).rows())


@pytest.mark.parametrize(
    ("chain", "words"),
    [
        (lambda t, x: t.select(x.hist(bin_count=4), pl.len()), "no other aggregates beside it"),
        (lambda t, x: t.select(pl.len(), x.hist(bin_count=4)), "no other aggregates beside it"),
        (lambda t, x: t.select(pl.col("age", "x").hist(bin_count=4)), "no other aggregates"),
        (lambda t, x: t.select(x.hist(bin_count=4) + 1), "makes a row for each bin"),
        (lambda t, x: t.select(x.hist(bin_count=4).cum_sum() + 1), "looks at several rows"),
        (lambda t, x: t.select(x.hist(bin_count=4).cum_sum(reverse=True)), "reverse=True is not"),
        (lambda t, x: t.select(x.hist(bin_count=4).cum_sum(), pl.len()), "no other aggregates"),
        (lambda t, x: t.select(x.cum_sum().hist(bin_count=4)), "looks at several rows"),
        (lambda t, x: t.select(x.hist(bin_count=4).cum_sum()).head(2), "go with all of its bins"),
        (
            lambda t, x: t.select(x.hist(bin_count=4)).with_columns(pl.col("count").reverse()),
            "looks at several rows",
        ),
        (lambda t, x: t.histogram("nobody", bins=4), "'nobody' is not a column of t"),
        (lambda t, x: t.histogram(["x", "age"], bins=4, cumulative=True), "bins of one column"),
        (lambda t, x: t.select(x.hist(bin_count=4).sum()), "an aggregate cannot stand here"),
        (lambda t, x: t.filter(x.hist(bin_count=4) > 1), "an aggregate cannot stand here"),
        (lambda t, x: t.with_columns(x.hist(bin_count=4)), "an aggregate cannot stand here"),
        (
            lambda t, x: t.select(x.hist(4, include_category=True)),
            "include_category makes a struct",
        ),
        (lambda t, x: t.select(x.hist([1, 2], include_breakpoint=True)), "makes a struct"),
        (lambda t, x: t.select(x.hist(pl.col("age"))), "are not a list of numbers"),
        (lambda t, x: t.select(x.hist(bin_count=0)), "bins=0 is not a whole number"),
        (lambda t, x: t.select(x.hist([3, 1])), "do not rise: 1 comes after 3"),
        (lambda t, x: t.select(x.hist([4, 9])), "lie beyond its range, -3 to 3"),
        (lambda t, x: t.select(pl.col("ward").hist(bin_count=3)), "VARCHAR, and has no bins"),
        (lambda t, x: t.select((x > 3).hist(bin_count=3)), "BOOLEAN, and has no bins"),
        (lambda t, x: t.select(pl.col("free").hist(bin_count=3)), "no range to be cut into bins"),
        (lambda t, x: t.select(pl.col("nobody").hist(bin_count=3)), "nobody"),
    ],
)
def test_what_no_chain_can_ask_is_refused_and_costs_nothing(chain: Any, words: str) -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    opened.register("t", TABLE, columns=COLUMNS)
    with pytest.raises(dp.UserError, match=words) as caught:
        chain(opened.table("t"), pl.col("x")).release(epsilon=0.5)
    assert caught.value.fix
    assert str(opened.remaining) == "epsilon 1"


def test_values_that_are_not_cut_are_counted_as_they_are() -> None:
    opened = dp.Session(dp.Budget(epsilon=10))
    opened.register("t", TABLE, columns=COLUMNS)
    known = {"session": opened, "pl": pl}
    for asked in ('"t", "ward", bins=3', '"t", "ward", bins={"ward": 3}'):
        with pytest.raises(dp.ParameterError) as refusal:
            eval(f"session.histogram({asked}, epsilon=0.1)", known)
        assert eval(refusal.value.fix, known).frame.columns == ["ward", "count"]
    with pytest.raises(dp.ParameterError) as refusal:
        opened.histogram("t", ["ward", "age"], bins={"ward": 3, "age": 2}, epsilon=0.1)
    kept = eval(f"dict({refusal.value.fix})")
    assert len(opened.histogram("t", ["ward", "age"], epsilon=0.1, **kept).frame) == 6
    with pytest.raises(dp.ParameterError) as refusal:
        opened.sql("SELECT HISTOGRAM(ward, 3) FROM t", epsilon=0.1)
    fixed = refusal.value.fix.split(", or ")[0]
    assert opened.sql(f"SELECT {fixed} FROM t", epsilon=0.1).frame.columns == ["ward", "count"]
    with pytest.raises(dp.ParameterError) as refusal:
        opened.table("t").select(pl.col("ward").hist(bin_count=3)).release(epsilon=0.1)
    found = eval(f"session.table('t'){refusal.value.fix}", known).release(epsilon=0.1)
    assert found.frame.columns == ["ward", "len"]


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64])
def test_numbers_with_declared_keys_are_cut_where_bins_are_asked_for(kind: Any) -> None:
    opened = dp.Session(dp.Budget(epsilon=10))
    rows = pl.DataFrame({"stage": [0, 1, 2, 3] * 5}, schema={"stage": kind})
    opened.register("t", rows, columns={"stage": dp.Keys([0, 1, 2, 3])})
    cut = opened.histogram("t", "stage", bins=2, epsilon=1).frame
    assert cut.rows() == opened.sql("SELECT HISTOGRAM(stage, 2) FROM t", epsilon=1).frame.rows()
    assert cut["high"].to_list() == [1.5, 3]
    assert len(opened.histogram("t", "stage", epsilon=1).frame) == 4


def test_what_is_done_to_the_rows_of_a_chain(session: dp.Session) -> None:
    chain = session.table("t").group_by("ward").agg(n=pl.col("age").hist(bin_count=2))
    found = chain.filter(pl.col("low") > 0).sort("n", descending=True).head(2).release(epsilon=1)
    assert found.frame.columns == ["ward", "low", "high", "n"]
    assert found.frame["low"].to_list() == [55, 55]
    assert found.frame["n"].is_sorted(descending=True)


# --- what is asked for ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        ("x", {}, "takes either bins= or edges="),
        ("wide", {}, "takes either bins= or edges="),
        ("free", {}, "neither edges nor a range"),
        ("text", {}, "has no declared keys"),
        ("flag", {"edges": [0, 1]}, "each has a bin of its own"),
        ("flag", {"bins": 2}, "bins= for flag, which is a BOOLEAN"),
        ("ward", {"bins": 3}, "bins= for ward, which is a VARCHAR"),
        ("ward", {"bins": {"ward": 3}}, "bins= for ward, which is a VARCHAR"),
        (["ward", "age"], {"bins": 3, "edges": {"age": [0, 9]}}, "bins= for ward, which is a"),
        ("age", {"bins": 3, "edges": {"age": [0, 9]}}, "bins= beside edges= for age"),
        ("age", {"bins": {"age": 3}, "edges": {"age": [0, 9]}}, "takes either bins= or edges="),
        (["ward", "flag"], {"bins": 3}, "bins= for ward, which is a VARCHAR"),
        (["age", "flag"], {"bins": {"age": 3, "flag": 2}}, "bins= for flag, which is a BOOLEAN"),
        ("age", {"bins": 5, "edges": [0, 1]}, "takes either bins= or edges="),
        ("age", {"bins": 0}, "bins=0 is not a whole number"),
        ("age", {"bins": True}, "bins=True is not a whole number"),
        ("age", {"bins": 1001}, "bins=1001 is not"),
        ("age", {"bins": 1.5}, "bins=1.5 is not a whole number"),
        ("age", {"bins": -4}, "bins=-4 is not a whole number"),
        ("age", {"bins": "11"}, "bins='11' is not a whole number"),
        ("age", {"edges": []}, "have no edge, and two make a bin"),
        ("age", {"edges": "0, 1"}, "are '0, 1', and no list"),
        ("age", {"edges": 5}, "are 5, and no list"),
        ("age", {"edges": [0, None]}, "have NULL, which is no number and no day"),
        ("age", {"edges": [0, [1]]}, "have \\[1\\], which is no number and no day"),
        ("age", {"edges": [False, True]}, "have False, which is no BIGINT"),
        ("age", {"edges": [0, float("inf")]}, "have inf, which has no end"),
        ("age", {"edges": [10, 5, 20]}, "do not rise: 5 comes after 10"),
        ("age", {"edges": range(1002)}, "1,001 bins are too many"),
        ("age", {"edges": {"x": [0, 1]}}, "edges= names x"),
        ("age", {"bins": {"x": 5}}, "bins= names x"),
        (["age", "x"], {"bins": {"age": 5}}, "takes either bins= or edges="),
        (["age", "x"], {"bins": {"x": 5, "age": "3"}}, "bins='3' is not a whole number"),
        ("age", {"bins": 5, "closed": "both"}, "closed='both' is neither"),
        ("age", {"bins": 5, "by": "nobody"}, "'nobody' is not a column of t"),
        ("age", {"bins": 5, "by": "age"}, "age is named twice"),
        ("age", {"bins": 5, "delta": 1e-9}, "delta= is not needed here"),
        (["age", "age"], {"bins": 5}, "age is named twice"),
        ([], {"bins": 5}, "a histogram of 0 columns"),
        (5, {"bins": 5}, "5 is not a column of t"),
        (None, {"bins": 5}, "None is not a column of t"),
        ([["age"]], {"bins": 5}, "is not a column of t"),
        (pl.col("age"), {"bins": 5}, "is not a column of t"),
        (["age", "x", "ward"], {"bins": 5}, "a histogram of 3 columns"),
        ("text", {"bins": 5}, "text is a text, and has no declared keys"),
        ("text", {"edges": [0, 1]}, "text is a text, and has no declared keys"),
        ("listed", {"bins": 5}, "which cannot be used"),
        ("ward", {"cumulative": True}, "is for bins of one column"),
        ("ward", {"hierarchical": True}, "is for bins of one column"),
        (["age", "x"], {"bins": 5, "cumulative": True}, "is for bins of one column"),
        ("age", {"edges": [5]}, "have one edge, and two make a bin"),
        ("age", {"edges": [5, 5]}, "do not rise: 5 comes after 5"),
        ("age", {"edges": [0, float("nan")]}, "have nan, which is no number"),
        ("age", {"edges": ["a", "b"]}, "have 'a', which is no BIGINT"),
        ("age", {"edges": [120, 130]}, "lie beyond its range, 0 to 110"),
        ("age", {"edges": [-9, -1]}, "lie beyond its range, 0 to 110"),
        ("day", {"edges": [date(2024, 1, 1)]}, "have one edge, and two make a bin"),
        ("day", {"edges": [date(2020, 1, 1), date(2021, 1, 1)]}, "beyond its range, 2024-01-01"),
        ("day", {"edges": [0, 10]}, "have 0, which is no DATE"),
        ("free", {"bins": 5}, "has no range to be cut into bins"),
        ("nobody", {"bins": 5}, "is not a column of t"),
    ],
)
def test_what_is_no_histogram_is_refused_and_costs_nothing(
    column: str, options: dict[str, Any], words: str
) -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    more = TABLE.with_columns(
        text=pl.lit("a"), listed=pl.concat_list(pl.lit(1)), flag=pl.col("age") > 40, wide=pl.lit(7)
    )
    opened.register("t", more, columns={**COLUMNS, "wide": dp.Range(0, 1000)})
    with pytest.raises(dp.UserError, match=words) as caught:
        opened.histogram("t", column, epsilon=0.5, **options)
    assert caught.value.why
    assert caught.value.fix
    assert str(opened.remaining) == "epsilon 1"


def test_error_is_promised_for_single_bins_alone() -> None:
    opened = dp.Session(dp.Budget(epsilon=10))
    opened.register("t", TABLE, columns=COLUMNS)
    release = opened.histogram("t", "x", bins=5, error=20)
    assert release.errors["count"].max() <= 20
    for option in ("cumulative", "hierarchical"):
        with pytest.raises(dp.ParameterError, match="is met by counts of single bins"):
            opened.histogram("t", "x", bins=5, error=20, **{option: True})
    with pytest.raises(dp.QueryError, match="is not a registered table"):
        opened.histogram("nothing", "x", bins=5, epsilon=0.1)


def test_numbers_of_numpy_are_numbers(session: dp.Session) -> None:
    first = session.histogram("t", "age", edges=[0, 55, 110], epsilon=1)
    for edges in (np.array([0, 55, 110]), pl.Series([0, 55, 110]), (0, 55, 110)):
        assert session.histogram("t", "age", edges=edges).frame.equals(first.frame)
    assert len(session.histogram("t", "x", bins=np.int64(4), epsilon=1)) == 4


@pytest.mark.parametrize("rows", [[], [None, None, None]])
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"consistent": True}])
def test_a_table_without_values_has_empty_bins(
    session: dp.Session, rows: list[Any], options: dict[str, Any]
) -> None:
    data = pl.DataFrame({"v": pl.Series(rows, dtype=pl.Float64)})
    session.register("none", data, columns={"v": dp.Range(0, 1)})
    found = session.histogram("none", "v", bins=9, cumulative=True, epsilon=1, **options)
    assert found.frame["count"].to_list() == [0] * 9
    assert found.frame["cumulative"].to_list() == [0] * 9
    assert "low" in repr(found)


def test_names_in_any_alphabet(session: dp.Session) -> None:
    data = pl.DataFrame({"Größe 💡": [0.5, 0.7], "count": ["a", "b"], "low": ["c", "d"]})
    columns = {
        "Größe 💡": dp.Range(0, 1),
        "count": dp.Keys(["a", "b"]),
        "low": dp.Keys(["c", "d"]),
    }
    session.register("t2", data, columns=columns)
    found = session.histogram(
        "t2", "Größe 💡", bins=2, by=["count", "low"], cumulative=True, epsilon=1
    )
    assert found.frame.columns == ["count", "low", "low_", "high", "count_", "cumulative"]
    assert found.frame.filter(count="a", low="c")["count_"].to_list() == [0, 1]
    assert found.between(0, 1).frame["count_"].to_list() == [1, 0, 0, 1]
    sql = 'SELECT "count", "low", HISTOGRAM("Größe 💡", 2) FROM t2 GROUP BY ALL'
    assert session.sql(sql).frame["count_1"].to_list() == found.frame["count_"].to_list()
    chain = session.table("t2").group_by("count", "low").agg(pl.col("Größe 💡").hist(bin_count=2))
    assert chain.release(epsilon=1).frame.columns == ["count", "low", "low_", "high", "count_"]


def test_groups_may_be_chosen_privately() -> None:
    opened = dp.Session(dp.Budget(epsilon=100, delta=1e-4))
    data = pl.DataFrame({"name": ["a"] * 400 + ["b"] * 400, "v": [0.1, 0.9] * 400})
    opened.register("t", data, columns={"v": dp.Range(0, 1)})
    found = opened.histogram("t", "v", bins=2, by="name", epsilon=1, delta=1e-5)
    assert found.frame["name"].to_list() == ["a", "a", "b", "b"]
    assert found.between(0, 1).frame["name"].to_list() == ["a", "b"]
    levels = opened.histogram(
        "t", "v", bins=50, by="name", hierarchical=True, epsilon=1, delta=1e-5, fresh=True
    )
    assert levels._plane.rows.height > 1
    ones = levels.between(0.5, 1).frame
    assert ones["name"].to_list() == ["a", "b"]
    assert (abs(ones["count"] - 200) < 100).all()


def test_groups_of_the_value_itself_have_bins_of_their_own(session: dp.Session) -> None:
    """Whoever is older than 60 is in no lower bin: such groups are not there, and have no ranges."""
    sql = "SELECT age > 60 AS old, HISTOGRAM(age, 4) AS n FROM t GROUP BY old"
    found = session.sql(sql, epsilon=1)
    bins = [(False, 0, 27.5), (False, 27.5, 55), (False, 55, 82.5)]
    bins += [(True, 55, 82.5), (True, 82.5, 111)]
    age, rows = pl.col("age"), []
    for old, low, high in bins:
        inside = (age >= low) & (age < high) & ((age > 60) == old)
        rows.append((old, low, TABLE.filter(inside).height))
    assert [(bool(a), b, d) for a, b, _, d in found.frame.drop_nulls().rows()] == rows
    assert isinstance(found, dp.Histogram)
    with pytest.raises(dp.ParameterError, match="no ranges of bins"):
        found.between(0, 55)


PLANE = pl.DataFrame(
    {
        "ward": ["er", "gp", "icu", "elsewhere"] * 300,
        "insurer": ["a", "b", None] * 400,
        "age": [i % 90 for i in range(1_200)],
        "name": [f"n{i % 5}" for i in range(1_200)],
        "u": [i % 200 for i in range(1_200)],
    }
)


def plane_session(**options: Any) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=50, delta=1e-6))
    columns = {
        "ward": dp.Keys(["er", "gp", "icu"]),
        "insurer": dp.Keys(["a", "b"]),
        "age": dp.Range(0, 100),
    }
    opened.register("t", PLANE, columns=columns, **options)
    return opened


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [dp.Row(), dp.Unit("u", max_rows=5)], ids=["row", "unit"])
def test_a_plane_of_categories_and_bins_is_that_of_python(engine: Any, unit: Any) -> None:
    opened = plane_session(engine=engine, unit=unit)
    whole = opened.histogram("t", ["ward", "age"], bins=5, epsilon=1)
    found = opened.sql("SELECT HISTOGRAM(ward, age, 5) FROM t", epsilon=1)
    assert found.reused
    assert found.frame.equals(whole.frame)
    assert isinstance(found, dp.Histogram)
    turned = opened.sql("SELECT HISTOGRAM(age, 5, ward) AS n FROM t", epsilon=1)
    assert turned.reused
    assert turned.frame.columns == ["age_low", "age_high", "ward", "n"]
    assert isinstance(turned, dp.Histogram)
    some = {"ward": "gp", "age": (20, 60)}
    assert turned.between(some).frame["n"].item() == whole.between(some).frame["count"].item()
    for axis in ("ward", "age"):
        counts = turned.margin(axis).frame["n"].to_list()
        assert counts == whole.margin(axis).frame["count"].to_list()
    pairs = opened.histogram("t", ["ward", "insurer"], epsilon=1)
    both = opened.sql("SELECT HISTOGRAM(ward, insurer) FROM t", epsilon=1)
    assert both.reused
    assert both.frame.equals(pairs.frame)


def test_margins_of_a_plane_of_categories_and_bins() -> None:
    opened = plane_session()
    whole = opened.histogram("t", ["ward", "age"], bins=5, margins=True, epsilon=1)
    for text in (
        "HISTOGRAM(ward, age, 5, margins := TRUE)",
        "HISTOGRAM(age, 5, ward, margins := TRUE)",
    ):
        found = opened.sql(f"SELECT {text} FROM t", epsilon=1)
        assert found.reused
        assert isinstance(found, dp.Histogram)
        for axis in ("ward", "age"):
            assert found.margin(axis).frame["count"].equals(whole.margin(axis).frame["count"])


def test_rows_of_a_plane_can_be_ordered_and_filtered() -> None:
    opened = plane_session()
    text = "SELECT HISTOGRAM(ward, age, [0, 18, 65]) FILTER (WHERE insurer = 'a') AS n FROM t ORDER BY n DESC LIMIT 2"
    assert opened.sql(text, epsilon=1).frame.shape == (2, 4)


def test_categories_that_are_chosen_are_groups_of_a_histogram() -> None:
    opened = plane_session()
    found = opened.sql("SELECT HISTOGRAM(name, age, 5) FROM t", epsilon=1)
    assert found.frame.columns == ["name", "age_low", "age_high", "count"]
    assert found.frame["name"].n_unique() == 5
    with pytest.raises(dp.ParameterError, match="margins is for a histogram of two columns"):
        opened.sql("SELECT HISTOGRAM(name, age, 5, margins := TRUE) FROM t", epsilon=1)


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_counts_of_bins_are_aggregated_again_by_a_select_around_them(engine: Any) -> None:
    session = dp.Session(dp.Budget(epsilon=10**6))
    frame = pl.DataFrame({"k": ["a", "b", "a", "a"], "x": [1, 2, 8, 9], "u": [1, 1, 2, 3]})
    columns = {"k": dp.Keys(["a", "b"]), "x": dp.Range(0, 9)}
    session.register("t", frame, columns=columns, unit=dp.Unit("u", max_rows=5), engine=engine)

    def rows(text: str) -> list[tuple[Any, ...]]:
        return session.sql(text, epsilon=1000).frame.rows()

    bins = "(SELECT k, HISTOGRAM(x, [0, 5, 9]) AS n FROM t GROUP BY k)"
    assert rows(f"SELECT SUM(n) AS n, COUNT(*) AS m FROM {bins}") == [(4, 4)]
    assert rows(f"SELECT k, MAX(n) AS n FROM {bins} GROUP BY k") == [("a", 2), ("b", 1)]
    assert rows(f"SELECT SUM(n) AS n FROM {bins} WHERE low >= 5") == [(2,)]
    assert rows('SELECT AVG("count") AS n FROM (SELECT HISTOGRAM(x, [0, 5, 9]) FROM t)') == [(2.0,)]
    assert rows(f"WITH h AS {bins} SELECT SUM(n) FILTER (WHERE high <= 5) AS n FROM h") == [(2,)]
    of_units = "(SELECT u, LEAST(COUNT(*), 3) AS n FROM t GROUP BY u)"
    assert [n for *_, n in rows(f"SELECT HISTOGRAM(n, [1, 2, 3]) FROM {of_units}")] == [2, 1]
    with pytest.raises(dp.QueryError, match="makes bins inside each unit"):
        rows("SELECT COUNT(*) FROM (SELECT u, HISTOGRAM(x, 3) FROM t GROUP BY u)")

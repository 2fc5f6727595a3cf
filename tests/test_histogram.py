"""Which counts a histogram measures: the better way for its cost, chosen before it is spent."""

from __future__ import annotations

import datetime as times
import re
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import Stream

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.plan.shown import Levels, on_levels

RANDOM = np.random.default_rng(4)
TABLE = pl.DataFrame(
    {
        "u": RANDOM.integers(0, 500, 2_000),
        "x": RANDOM.normal(0, 1, 2_000),
        "age": RANDOM.integers(0, 111, 2_000),
        "ward": RANDOM.choice(["er", "gp"], 2_000),
    }
)
COLUMNS = {
    "x": dp.Range(-3, 3, nullable=False),
    "age": dp.Range(0, 110, nullable=False),
    "ward": dp.Keys(["er", "gp"]),
}


def opened(budget: dp.Budget | None = None, **registered: Any) -> dp.Session:
    session = dp.Session(budget or dp.Budget(epsilon=100, delta=1e-6))
    session.register("t", TABLE, columns=COLUMNS, **registered)
    return session


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=6)])
@pytest.mark.parametrize("column", ["x", "age"])
@pytest.mark.parametrize("shape", [(10, 2), (4, 3), (2, 6)])
def test_a_unit_weighs_the_same_on_every_level_whatever_the_bins(
    engine: Any, unit: Any, column: str, shape: tuple[int, int]
) -> None:
    session = opened(engine=engine, unit=unit)
    flat = session.table("t").histogram(column, bins=90, by="ward")
    plan = on_levels(flat._plan, ["k1"], Levels((shape,)))
    compiled = session._analysed(plan, "").compiled
    rows = 1 if unit is None else 6 << 20
    assert [s.l1 for s in layout_for(compiled, 1).sensitivities] == [shape[1] * rows]
    assert [s.l2_squared for s in layout_for(compiled, 2).sensitivities] == [shape[1] * rows**2]
    # Every level has every cell that a value can be in, and no other.
    reached = session.histogram("t", column, bins=90, epsilon=1)._numbers[0]
    for level, one in enumerate(compiled.groupings):
        cells = np.unique(reached // shape[0] ** level)
        assert one.frame.height == 2 * len(cells)


def test_many_bins_are_counted_on_levels_and_few_alone() -> None:
    session = opened()
    many = session.histogram("t", "x", bins=200, cumulative=True, epsilon=0.1)
    assert many._plane.rows.height > 1
    assert "counts of coarse and fine bins, which agree; a range of bins is then off by" in repr(
        many
    )
    few = session.histogram("t", "x", bins=5, cumulative=True, epsilon=0.1)
    assert few._plane.rows.height == 1
    assert "counts of the bins alone; a range of bins is then off by" in repr(few)
    plain = session.histogram("t", "x", bins=200, epsilon=0.1)
    assert plain._plane.rows.height == 1


def test_hierarchical_is_taken_at_its_word() -> None:
    session = opened()
    few = session.histogram("t", "x", bins=5, hierarchical=True, epsilon=0.1)
    assert few._plane.rows.height == 2
    many = session.histogram("t", "x", bins=200, hierarchical=False, cumulative=True, epsilon=0.1)
    assert many._plane.rows.height == 1
    alone = session.histogram("t", "x", bins=2, hierarchical=True, epsilon=0.1)
    assert alone._plane.rows.height == 1  # there is nothing between two bins and their total


def test_gaussian_noise_takes_more_levels() -> None:
    session = opened()
    laplace = session.histogram("t", "x", bins=300, hierarchical=True, epsilon=0.1)
    gaussian = session.histogram("t", "x", bins=300, hierarchical=True, rho=0.01)
    assert laplace._plane.rows.height < gaussian._plane.rows.height


def test_the_way_that_is_chosen_has_the_smaller_errors() -> None:
    """The predicted order of the two is that of their error bars."""
    for bins, better in [(5, False), (300, True)]:
        found = {}
        for hierarchical in (False, True):
            release = opened().histogram(
                "t", "x", bins=bins, cumulative=True, hierarchical=hierarchical, epsilon=0.1
            )
            found[hierarchical] = float(release.errors["cumulative"].mean() or 0)
        assert (found[True] < found[False]) == better


def test_what_was_measured_on_levels_answers_other_questions() -> None:
    session = opened()
    first = session.histogram("t", "x", bins=100, hierarchical=True, epsilon=0.1)
    spent = session.spent
    again = session.histogram("t", "x", bins=100, hierarchical=True, cumulative=True)
    assert again.reused
    assert again.frame["count"].equals(first.frame["count"])
    assert session.histogram("t", "x", bins=100).reused
    assert session.sql("SELECT HISTOGRAM(x, 100) FROM t").reused
    assert session.spent == spent


def test_cumulative_counts_come_from_bins_that_are_known_where_no_cost_is_said() -> None:
    session = opened()
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        session.histogram("t", "x", bins=100, cumulative=True)
    session.histogram("t", "x", bins=100, epsilon=0.1)
    found = session.histogram("t", "x", bins=100, cumulative=True)
    assert found.reused
    assert found.frame["cumulative"].to_list() == found.frame["count"].cum_sum().to_list()


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=1), dp.Budget(rho=0.1)])
def test_every_kind_of_budget(budget: dp.Budget) -> None:
    session = opened(budget, unit=dp.Unit("u", max_rows=6))
    found = session.histogram("t", "x", bins=60, by="ward", cumulative=True, share=0.2)
    assert len(found) == 120
    assert found.errors["cumulative"].min() > 0


def test_a_public_table_is_counted_exactly() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", TABLE, columns=COLUMNS, public=True)
    found = session.histogram("t", "age", bins=11, cumulative=True, epsilon=0.1)
    expected, _ = np.histogram(TABLE["age"], 11, (0, 110))
    assert found.frame["count"].to_list() == expected.tolist()
    assert found.errors["cumulative"].to_list() == [0] * 11


def test_bars_stand_beside_the_counts() -> None:
    found = opened().histogram("t", "age", bins=4, epsilon=1)
    lines = repr(found).split("\n")
    assert lines[0].split() == ["low", "high", "count"]
    assert all("█" in line for line in lines[2:6])
    longest = max(found.frame["count"])
    for line, count in zip(lines[2:6], found.frame["count"], strict=True):
        assert abs(line.count("█") + line.count("▓") - 24 * count / longest) <= 1.5
    page = found._repr_html_()
    assert page.count("<tr>") == 5
    assert page.count("position:relative") == 4


def test_bars_of_many_bins_and_of_negative_counts() -> None:
    session = opened()
    many = session.histogram("t", "x", bins=1000, epsilon=0.01)
    assert (many.frame["count"] < 0).any()
    assert "... and 940 more rows in .frame" in repr(many)
    assert repr(many).count("\n") < 70
    assert many._repr_html_().count("<tr>") == 61
    assert "0.30000000000000004" not in repr(session.histogram("t", "x", bins=20, epsilon=1))


# --- what would happen, before anything is spent -------------------------------------------------


def test_a_histogram_is_explained_before_anything_is_spent() -> None:
    session = opened(dp.Budget(epsilon=1))
    query = session.table("t").histogram("x", bins=200, by="ward", cumulative=True)
    said = query.explain(epsilon=0.1)
    for words in (
        "aggregate COUNT(*) by (ward, 200 bins of x) and (ward, (200 bins of x // 15))",
        "unit    one row, added or removed",
        "sensitivity 2 in L1: one row adds or removes at most 1, in each of 2 groupings",
        "discrete Laplace noise with 100% of the cost; 95% of the time within ± 60",
        "counts  14 + 200 counts of coarse and fine bins, which agree",
        "a range of bins is then off by ± 163 on average, and would be by ± 227 from the bins",
        "one bin is then off by ±",
        "cost    epsilon 0.1",
        "left    epsilon 0.9",
    ):
        assert words in said
    assert str(query.cost(epsilon=0.1)) == "epsilon 0.1"
    assert str(session.remaining) == "epsilon 1"
    release = query.release(epsilon=0.1)
    assert "14 + 200 counts of coarse and fine bins, which agree; a range of bins" in repr(release)
    assert str(session.remaining) == "epsilon 0.9"
    assert "nothing: every part was measured before" in query.explain(epsilon=0.1)
    assert query.cost(epsilon=0.1).epsilon == 0
    assert "it would be refused: only epsilon 0.9 remains" in query.explain(epsilon=1, fresh=True)


def test_explanations_predict_the_errors_of_the_answer() -> None:
    """The average of the error bars of ranges and margins is what was said before, or nearly."""
    session = opened()
    session._source = Stream(4)  # the same noise in every run
    frame = session.table("t")
    levels = frame.histogram("x", bins=60, hierarchical=True)
    release = levels.release(rho=0.01)
    edges = release.edges
    every = [(i, j) for i in range(60) for j in range(i + 1, 61)]
    pairs = [every[k] for k in np.random.default_rng(3).integers(0, len(every), 150)]
    halves = [release.between(edges[i], edges[j]).errors["count"][0] for i, j in pairs]
    assert _off_by(levels.explain(rho=0.01, fresh=True)) == pytest.approx(_rms(halves), rel=0.08)
    plane = frame.histogram(["x", "age"], bins=12, margins=True)
    both = [plane.release(rho=0.01).margin(name).errors["count"] for name in ("x", "age")]
    found = _rms([half for margin in both for half in margin])
    assert _off_by(plane.explain(rho=0.01, fresh=True)) == pytest.approx(found, rel=0.08)
    wide = frame.histogram(["x", "age"], bins=30, margins=True)
    release = wide.release(epsilon=0.1)
    said = wide.explain(epsilon=0.1, fresh=True)
    assert release._plane.margins
    assert _off_by(said) == pytest.approx(release.margin("x").errors["count"][0], rel=0.08)
    cell = float(re.search(r"one cell is then off by ± (\d+)", said)[1])  # type: ignore[index]
    assert cell == pytest.approx(release.errors["count"][0], rel=0.08)


def _rms(halves: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(halves))))


def _off_by(said: str) -> float:
    return float(re.search(r"is then off by ± ([\d.]+) on average, and would", said)[1])  # type: ignore[index]


@pytest.mark.parametrize(
    ("column", "options", "cost", "words"),
    [
        ("x", {"bins": 5, "cumulative": True}, {"epsilon": 0.1}, "counts  of the bins alone\n"),
        (
            "x",
            {"bins": 5, "cumulative": True},
            {},
            "which levels are counted follows from the cost",
        ),
        ("x", {"bins": 2, "hierarchical": True}, {"rho": 0.1}, "nothing coarser can be counted"),
        (
            "x",
            {"bins": 99, "cumulative": True, "hierarchical": False},
            {"rho": 0.1},
            "as was asked for",
        ),
        (["x", "age"], {"bins": 3, "margins": True}, {"epsilon": 0.1}, "with margins counted too"),
        (
            ["x", "age"],
            {"bins": 9, "margins": True},
            {"rho": 0.1},
            "81 cells + 9 + 9 sums in the margins",
        ),
        (
            ["x", "age"],
            {"bins": 20, "hierarchical": True},
            {"rho": 0.1},
            "(3 + 7 + 20) x (3 + 7 + 20) counts of coarse and fine bins",
        ),
        (["ward", "age"], {"bins": 9, "hierarchical": True}, {"rho": 0.1}, "a rectangle of bins"),
        (
            "x",
            {"bins": 4, "nonnegative": True},
            {"epsilon": 1},
            "after   counts below 0 were raised",
        ),
        (
            "ward",
            {"consistent": True},
            {"epsilon": 1},
            "after   counts are not negative and add up",
        ),
        ("x", {"bins": 4}, {"error": 20}, "95% of the time within ± 20"),
    ],
)
def test_explanations_say_what_is_counted_and_why(
    column: Any, options: dict[str, Any], cost: dict[str, Any], words: str
) -> None:
    session = opened(dp.Budget(rho=1) if "rho" in cost else dp.Budget(epsilon=10))
    before = str(session.remaining)
    assert words in session.table("t").histogram(column, **options).explain(**cost)
    assert str(session.remaining) == before


def test_a_chain_of_rows_has_histograms_of_what_it_computes() -> None:
    session = opened()
    some = session.table("t").filter(pl.col("ward") == "er").with_columns(y=pl.col("age") * 2)
    found = some.histogram("y", bins=11, cumulative=True).release(epsilon=1)
    values = TABLE.filter(pl.col("ward") == "er")["age"].to_numpy() * 2
    expected, _ = np.histogram(values, 11, (0, 220))
    assert np.abs(found.frame["count"].to_numpy() - expected).max() < 30
    sql = "SELECT HISTOGRAM(age * 2, 11, cumulative := TRUE) FROM t WHERE ward = 'er'"
    assert session.sql(sql).frame.equals(found.frame)


# --- the same question in three languages --------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("options", "sql"),
    [
        ({"cumulative": True}, "cumulative := TRUE"),
        ({"hierarchical": True}, "hierarchical => true"),
        ({"cumulative": True, "hierarchical": False}, "cumulative := TRUE, hierarchical := FALSE"),
        ({"consistent": True, "hierarchical": True}, "consistent := TRUE, Hierarchical := TRUE"),
        ({"nonnegative": True}, "nonnegative := TRUE"),
    ],
)
def test_options_are_the_same_in_sql_and_free_the_second_time(
    engine: Any, options: dict[str, Any], sql: str
) -> None:
    session = opened(engine=engine, unit=dp.Unit("u", max_rows=6))
    text = f"SELECT ward, HISTOGRAM(x, 100, {sql}) FROM t GROUP BY ward"
    first = session.sql(text, epsilon=0.1)
    assert isinstance(first, dp.Histogram)
    spent = session.spent
    again = session.histogram("t", "x", bins=100, by="ward", epsilon=0.1, **options)
    chain = session.table("t").histogram("x", bins=100, by="ward", **options)
    assert again.reused
    assert again.frame.equals(first.frame)
    assert again.errors.columns == first.errors.columns
    assert chain.release().frame.equals(first.frame)
    assert session.query(text).cost(epsilon=0.1).epsilon == 0
    assert session.spent == spent
    assert first.between(-3, 0).frame.height == 2


def test_cumulative_sums_of_a_polars_histogram_are_the_same_question() -> None:
    session = opened()
    chain = session.table("t").group_by("ward").agg(pl.col("x").hist(bin_count=200).cum_sum())
    assert "14 + 200 counts of coarse and fine bins" in chain.explain(epsilon=0.1)
    first = chain.release(epsilon=0.1)
    assert first.frame.columns == ["ward", "low", "high", "count", "cumulative"]
    again = session.histogram("t", "x", bins=200, by="ward", closed="right", cumulative=True)
    assert again.reused
    assert again.frame.equals(first.frame)
    named = session.table("t").select(pl.col("age").hist([0, 50, 110]).cum_sum().alias("below"))
    found = named.release(epsilon=1).frame
    assert found.columns == ["low", "high", "count", "below"]
    assert found["below"].to_list() == found["count"].cum_sum().to_list()


def test_groups_with_bins_of_their_own_have_no_sums() -> None:
    sql = "SELECT age > 60 AS old, HISTOGRAM(age, 4, cumulative := TRUE) AS n FROM t GROUP BY old"
    with pytest.raises(dp.ParameterError, match="groups with bins of their own"):
        opened().sql(sql, epsilon=1)


def test_planes_of_many_cells_have_margins_and_no_levels() -> None:
    session = opened(dp.Budget(rho=1))
    with pytest.raises(dp.ParameterError, match="a plane of 10,000 cells has no levels") as caught:
        session.histogram("t", ["x", "age"], bins=100, hierarchical=True, rho=0.1)
    assert "margins=True" in caught.value.fix
    assert session.spent == opened().spent
    found = session.histogram("t", ["x", "age"], bins=100, margins=True, rho=0.1)
    assert found._plane.margins


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        ("x", {"margins": True}, "margins= is for a histogram of two columns"),
        ("x", {"margins": 1}, "margins=1 is neither True nor False"),
        ("x", {"cumulative": None}, "cumulative=None is neither True nor False"),
        ("x", {"hierarchical": "yes"}, "hierarchical='yes' is neither True nor False"),
        (["x", "age"], {"cumulative": True}, "cumulative= is for bins of one column"),
        ("ward", {"hierarchical": True}, "hierarchical= is for bins of one column, or of two"),
    ],
)
def test_options_without_a_meaning_are_refused(
    column: Any, options: dict[str, Any], words: str
) -> None:
    session = opened(dp.Budget(epsilon=1))
    bins = None if column == "ward" else 5
    with pytest.raises(dp.ParameterError, match=words) as caught:
        session.histogram("t", column, bins=bins, epsilon=0.5, **options)
    assert caught.value.fix
    assert str(session.remaining) == "epsilon 1"


def test_the_text_of_a_question_may_say_its_cost() -> None:
    session = opened()
    sql = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1)"
        " HISTOGRAM(x, 200, cumulative := TRUE) FROM t"
    )
    found = session.sql(sql)
    assert isinstance(found, dp.Histogram)
    assert found._plane.has_levels
    assert str(found.loss) == "epsilon 0.1"


def test_margins_are_captioned_and_shown_with_bars() -> None:
    found = opened().histogram("t", ["x", "age"], bins=9, margins=True, rho=0.01)
    assert "81 cells + 9 + 9 sums in the margins were counted, and agree; a margin is" in repr(
        found
    )
    page = found.margin("age")._repr_html_()
    assert page.count("<tr>") == 10
    assert "age_low" in page


def test_a_plane_with_margins_answers_its_cells_and_its_columns_alone_for_free() -> None:
    session = opened()
    plane = session.histogram("t", ["x", "age"], bins=12, margins=True, rho=0.01)
    assert plane._plane.margins
    spent = session.spent
    assert session.histogram("t", ["x", "age"], bins=12).reused
    assert session.histogram("t", "x", bins=12).reused
    assert session.sql("SELECT HISTOGRAM(age, 12) FROM t").reused
    assert session.spent == spent


def test_groups_of_a_plane_may_be_chosen_privately() -> None:
    session = dp.Session(dp.Budget(epsilon=100, delta=1e-4))
    data = pl.DataFrame(
        {"name": ["a"] * 900 + ["b"] * 600, "v": [0.1, 0.9] * 750, "w": [0.2, 0.3, 0.8] * 500}
    )
    columns = {"v": dp.Range(0, 1, nullable=False), "w": dp.Range(0, 1, nullable=False)}
    session.register("t", data, columns=columns)
    for options in ({"margins": True}, {"hierarchical": True}):
        found = session.histogram(
            "t", ["v", "w"], bins=6, by="name", rho=0.3, delta=1e-5, fresh=True, **options
        )
        assert found._plane.margins or found._plane.has_levels
        rows = found.margin("v").frame
        assert rows["name"].to_list() == ["a"] * 6 + ["b"] * 6
        exact = [450, 0, 0, 0, 0, 450, 300, 0, 0, 0, 0, 300]
        assert (abs(rows["count"] - pl.Series(exact)) < 25).all()
        lower = found.between({"v": (0, 0.5), "w": (0, 0.5)}).frame
        assert lower["name"].to_list() == ["a", "b"]
        assert (abs(lower["count"] - pl.Series([300, 200])) < 40).all()


def test_the_ledger_remembers_what_was_asked() -> None:
    session = opened()
    session.histogram("t", "x", bins=30, by="ward", cumulative=True, epsilon=0.1)
    asked = session.ledger.entries()["asked"].to_list()
    assert asked == ["""session.table("t").histogram('x', bins=30, by=['ward'], cumulative=True)"""]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("option", ["margins", "hierarchical", None])
def test_planes_are_the_same_question_in_sql(engine: Any, option: str | None) -> None:
    session = opened(engine=engine, unit=dp.Unit("u", max_rows=6))
    said = f", {option} := TRUE" if option else ""
    sql = f"SELECT ward, HISTOGRAM(x, 9, age, [0, 50, 110]{said}) FROM t GROUP BY ward"
    first = session.sql(sql, rho=0.01)
    assert isinstance(first, dp.Histogram)
    options = {option: True} if option else {}
    again = session.histogram(
        "t", ["x", "age"], bins={"x": 9}, edges={"age": [0, 50, 110]}, by="ward", **options
    )
    assert again.reused
    assert again.frame.equals(first.frame)
    assert first.frame.columns == ["ward", "x_low", "x_high", "age_low", "age_high", "count"]
    corner = {"x": (-3, -1), "age": (0, 50)}
    assert first.between(corner).frame.equals(again.between(corner).frame)
    assert first.margin("age").frame.equals(again.margin("age").frame)
    assert (first._plane.margins, first._plane.has_levels) == (
        option == "margins",
        option == "hierarchical",
    )


def test_planes_of_values_that_do_not_combine_freely_have_cells_alone() -> None:
    session = opened()
    cells = session.sql("SELECT HISTOGRAM(age, 5, age // 2, 5) FROM t", epsilon=1)
    assert isinstance(cells, dp.Histogram)
    with pytest.raises(dp.ParameterError, match="no ranges of bins here"):
        cells.between({"age": (0, 22)})
    with pytest.raises(dp.ParameterError, match="bins of their own"):
        session.sql("SELECT HISTOGRAM(age, 5, age // 2, 5, margins := TRUE) FROM t", epsilon=1)


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("low", "high"), [(10**18, 10**18 + 50), (2**63 - 12, 2**63 - 1), (-(2**63), -(2**63) + 30)]
)
def test_integers_that_doubles_confuse_have_bins(low: int, high: int, engine: Any) -> None:
    data = pl.DataFrame({"x": [low, low, low + 1, high]})
    session = dp.Session(dp.Budget(epsilon=10**4))
    session.register("t", data, columns={"x": dp.Range(low, high)}, engine=engine)
    found = session.sql("SELECT HISTOGRAM(x, 5) FROM t", epsilon=1000).frame
    assert found["low"][0] == low
    assert found["high"][-1] == high
    assert found["count"].to_list() == [3, 0, 0, 0, 1]


@pytest.mark.parametrize(("low", "high"), [(0, 5e-324), (1, 1 + 4e-16)])
def test_a_range_too_narrow_for_its_bins_is_refused(low: float, high: float) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", pl.DataFrame({"x": [1.0]}), columns={"x": dp.Range(low, high)})
    with pytest.raises(dp.ParameterError, match="too narrow for 5 bins"):
        session.sql("SELECT HISTOGRAM(x, 5) FROM t", epsilon=1)


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_edges_beyond_64_bits_are_floats_as_in_sql(engine: Any) -> None:
    session = dp.Session(dp.Budget(epsilon=10**4))
    data = pl.DataFrame({"x": [1, 2, 3]})
    session.register("t", data, columns={"x": dp.Range(0, 9)}, engine=engine)
    found = session.histogram("t", "x", edges=[-(10**30), 2, 10**30], epsilon=1000)
    assert found.frame.rows() == [(-1e30, 2.0, 1), (2.0, 1e30, 2)]


@pytest.mark.parametrize(
    ("edges", "of_numbers", "of_times"),
    [
        ([0, 10**400], "have inf, which has no end", "have 0, which is no TIMESTAMP"),
        ([0, float("inf")], "have inf, which has no end", "have 0, which is no TIMESTAMP"),
        (
            [datetime(2024, 1, 1, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC)],
            "have 2024-01-01 00:00:00",
            "have a time zone, and its values have none",
        ),
        (
            [date(2024, 1, 1), date(2025, 1, 1)],
            "have 2024-01-01, which is no DOUBLE",
            "have 2024-01-01, which is no TIMESTAMP",
        ),
        ([2, 1], "do not rise: 1 comes after 2", "have 2, which is no TIMESTAMP"),
        ([20, 30], "lie beyond its range, 0 to 9", "have 20, which is no TIMESTAMP"),
    ],
)
@pytest.mark.parametrize("column", ["x", "at"])
def test_edges_that_do_not_fit_are_refused_with_some_that_do(
    edges: Any, of_numbers: str, of_times: str, column: str
) -> None:
    session = dp.Session(dp.Budget(epsilon=10))
    data = pl.DataFrame({"x": [1.0], "at": [datetime(2025, 5, 1)]})
    ends = dp.Range(datetime(2020, 1, 1), datetime(2030, 1, 1))
    session.register("t", data, columns={"x": dp.Range(0, 9), "at": ends})
    with pytest.raises(
        dp.ParameterError, match=of_numbers if column == "x" else of_times
    ) as caught:
        session.histogram("t", column, edges=edges, epsilon=1)
    assert session.spent.epsilon == 0
    fitting = eval(caught.value.fix.removeprefix("edges="), {"datetime": times})
    assert session.histogram("t", column, edges=fitting, epsilon=1).frame.height >= 1


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    "asked", [{"column": "x", "by": ["__DPframe_row"]}, {"column": ["x", "__DPframe_row"]}], ids=str
)
def test_names_of_the_library_s_own_are_refused_before_the_charge(
    asked: dict[str, Any], engine: Any
) -> None:
    """A group of such a name met a column of the release, once the budget was spent."""
    session = dp.Session(dp.Budget(epsilon=1))
    columns = {"x": dp.Range(0, 9), "__DPframe_row": dp.Keys([1, 2])}
    data = pl.DataFrame({"x": [1, 2], "__DPframe_row": [1, 2]})
    session.register("t", data, columns=columns, engine=engine)
    with pytest.raises(dp.QueryError, match="__DPframe_row") as caught:
        session.histogram("t", bins=3, epsilon=0.1, **asked)
    assert session.spent.epsilon == 0
    fixed = eval(str(caught.value).partition("fix: ")[2]).histogram("x", bins=3, by="renamed")
    assert fixed.release(epsilon=0.1).frame.columns == ["renamed", "low", "high", "count"]

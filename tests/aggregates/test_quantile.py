"""Quantiles, MIN and MAX: what they are, that they never cross, and that their bars cover."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from noiseless import without_noise
from streams import Stream

import dpframe as dp
from dpframe.aggregates import quantile
from dpframe.aggregates.layout import layout_for
from dpframe.mechanisms import MeasuredQuantiles
from dpframe.plan.parts import Part, RankedCells
from dpframe.plan.surroundings import number_of_edges

RANDOM = np.random.default_rng(5)
ROWS = 4_000
DAYS = (date(2024, 1, 1), date(2024, 12, 31))
TABLE = pl.DataFrame(
    {
        "u": RANDOM.integers(0, 1_500, ROWS),
        "age": RANDOM.integers(0, 111, ROWS),
        "cost": RANDOM.lognormal(7, 1, ROWS).clip(0, 50_000),
        "far": 1e9 + RANDOM.random(ROWS),
        "day": [DAYS[0] + timedelta(days=int(d)) for d in RANDOM.integers(0, 366, ROWS)],
        "time": [
            datetime(2024, 1, 1) + timedelta(seconds=int(s))
            for s in RANDOM.integers(0, 10**6, ROWS)
        ],
        "ward": RANDOM.choice(["er", "icu"], ROWS),
    }
)
COLUMNS = {
    "age": dp.Range(0, 110),
    "cost": dp.Range(0, 50_000),
    "far": dp.Range(1e9, 1e9 + 1),
    "day": dp.Range(*DAYS),
    "time": dp.Range(datetime(2024, 1, 1), datetime(2024, 1, 13)),
    "ward": dp.Keys(["er", "icu"]),
}
ENGINES = ["polars", "duckdb"]
UNITS = [None, dp.Unit("u", max_rows=2)]


def session(data: pl.DataFrame = TABLE, engine: Any = None, **options: Any) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=10**5, delta=1e-6))
    opened.register("t", data, columns=COLUMNS, engine=engine, **options)
    return opened


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", ["age", "cost", "far", "day", "time"])
@pytest.mark.parametrize("counted", [False, True], ids=["chosen", "counted"])
def test_without_noise_quantiles_are_within_a_cell_of_the_true_ones(
    column: str, engine: str, counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_noise(monkeypatch)
    if counted:
        monkeypatch.setattr(quantile, "_MOST_LEVELS", 0)
    shares = (0.05, 0.25, 0.5, 0.99)
    listed = ", ".join(f"QUANTILE_DISC({column}, {q}) AS q{i}" for i, q in enumerate(shares))
    (found,) = session(engine=engine).sql(f"SELECT {listed} FROM t", epsilon=1).frame.rows()
    values = TABLE[column].to_physical().to_numpy().astype(float)
    width = {"age": 0, "cost": 50_000 / 4096, "far": 1 / 4096, "day": 0}.get(column)
    width = 12 * 86_400e6 / 4096 if width is None else width
    kind = TABLE[column].dtype
    ours = pl.Series(found, dtype=kind).to_physical().to_list()
    for place, share in zip(map(float, ours), shares, strict=True):
        # Any value between two rows is as good a quantile as the first of them.
        assert (values < place - width * 1.001).sum() <= share * ROWS + counted
        assert (values <= place + width * 1.001).sum() >= share * ROWS - counted
    if counted:
        expected = np.quantile(values, shares, method="inverted_cdf")
        assert np.abs(np.array(ours, dtype=float) - expected).max() <= width * 1.001


def parts_of(sql: str, norm: int = 1) -> tuple[Part, ...]:
    return layout_for(session().query(sql)._compiled, norm).parts


def test_quantiles_of_one_column_share_one_measurement() -> None:
    one = parts_of("SELECT MEDIAN(cost) FROM t")
    many = parts_of(
        "SELECT MEDIAN(cost), QUANTILE_CONT(cost, 0.9), QUANTILE_DISC(cost, 0.5) FROM t"
    )
    (cells,) = one
    assert isinstance(cells, RankedCells)
    assert many == (replace(cells, levels=(Fraction(1, 2), Fraction(9, 10))),)
    beside = parts_of("SELECT MEDIAN(cost), MAX(cost) FROM t", norm=2)
    assert set(beside) == {cells, *parts_of("SELECT MAX(cost) FROM t")}
    apart = parts_of("SELECT MEDIAN(cost), MEDIAN(age), MEDIAN(cost) FILTER (WHERE age > 9) FROM t")
    assert sum(isinstance(part, RankedCells) for part in apart) == 3


def test_few_quantiles_are_chosen_and_many_come_from_a_tree() -> None:
    def is_chosen(column: str, number: int, norm: int = 1) -> bool:
        shares = (i / (number + 1) for i in range(1, number + 1))
        listed = ", ".join(f"QUANTILE_CONT({column}, {q:.4f})" for q in shares)
        return any(isinstance(p, RankedCells) for p in parts_of(f"SELECT {listed} FROM t", norm))

    assert [is_chosen("cost", n) for n in (1, 3, 5, 9, 65)] == [True, True, True, False, False]
    assert not is_chosen("age", 9)  # on few cells, a tree has few levels
    assert is_chosen("cost", 63, norm=2)  # rounds, and cells, add up to less under zCDP
    assert not is_chosen("age % 3", 1)  # three counts are less noise than a choice and its bars
    assert is_chosen("age", 1)


def test_it_is_said_which_way_is_taken_and_why() -> None:
    one = session().query("SELECT MEDIAN(cost) AS m FROM t").explain(epsilon=1)
    assert "quantile 0.5 of cost, chosen among 65,516 cells, in 1 round\n" in one
    assert "exponential mechanism with 75% of the cost" in one
    assert "error bars from counts around what is chosen, with 25% of the cost" in one
    assert "from the exponential mechanism on 65,516 cells\n" in one
    assert "a tree of counts, down to 4,096 cells would have" in one
    few = session().query("SELECT MEDIAN(age % 3) AS m FROM t").explain(epsilon=1)
    assert "from a tree of counts, down to 3 cells" in few
    assert "the exponential mechanism on 3 cells" in few


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.5}], ids=str)
@pytest.mark.parametrize("unit", UNITS, ids=["row", "unit"])
@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_a_replaced_unit_costs_a_quantile_as_much_as_one_that_is_added(
    unit: dp.Unit | None, cost: dict[str, Any]
) -> None:
    """One that is far from the middle is hardly further off, at the same cost; stored as such."""
    found = {}
    for neighbors in ("add_remove", "replace"):
        opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
        size = {} if neighbors == "add_remove" else {"size": 40}
        rows = pl.DataFrame({"u": [*range(40)] * 3, "x": [float(i) for i in range(120)]})
        columns = {"x": dp.Range(0.0, 500.0)}
        given: Any = {"unit": dp.Unit("u", max_rows=5) if unit else None, "neighbors": neighbors}
        opened.register("t", rows, columns=columns, **given, **size)
        asked = "SELECT QUANTILE_CONT(x, 0.99) AS q FROM t"
        text = opened.query(asked).explain(**cost)
        assert ("by what it weighs, not by twice that" in text) == (neighbors == "replace")
        released = opened.sql(asked, **cost)
        (law,) = released._parts.laws
        assert isinstance(law, MeasuredQuantiles)
        found[neighbors] = law
        (again,) = opened.sql(asked)._parts.laws  # free
        assert again == law
        for spent, most in cost.items():
            assert 0.99 * most < float(getattr(released.loss, spent)) <= most
    one, other = found["add_remove"], found["replace"]
    assert one.choice.scale == other.choice.scale
    assert other.variance / one.variance == pytest.approx((100 / 99) ** 2)
    ratio = other.noise.variance / one.noise.variance
    assert ratio == pytest.approx(4 if "epsilon" in cost else 2, rel=0.01)


def test_the_ledger_names_what_ran() -> None:
    opened = session()
    opened.sql("SELECT MEDIAN(cost) AS m FROM t", epsilon=1)
    mechanisms = opened.ledger.entries()["mechanism"].drop_nulls().to_list()
    assert mechanisms[-1] == "exponential mechanism, discrete Laplace"


def test_another_quantile_is_free_where_a_tree_was_measured() -> None:
    opened = session()
    opened._source = Stream(1)  # the same noise in every run
    opened.sql("SELECT age > 50 AS old, MAX(cost) AS m FROM t GROUP BY old", epsilon=1)
    asked = "SELECT age > 50 AS old, QUANTILE_CONT(cost, 0.9) AS q FROM t GROUP BY old"
    assert opened.sql(asked).reused
    whole = opened.sql("SELECT QUANTILE_CONT(cost, 0.9) AS q FROM t")
    assert whole.reused  # the counts of all groups, added up cell by cell
    truth = TABLE["cost"].quantile(0.9)
    assert whole.item() == pytest.approx(truth, rel=0.2)
    # What the tree gives is far from what such a cost buys.
    assert not opened.sql(asked, epsilon=1).reused


def test_what_was_chosen_is_kept_for_the_same_question_and_each_part_of_it() -> None:
    opened = session()
    asked = "SELECT ward, MEDIAN(cost) AS m, QUANTILE_CONT(cost, 0.9) AS q FROM t GROUP BY ward"
    first = opened.sql(asked, epsilon=1)
    again = opened.sql(asked, epsilon=1)
    assert again.reused
    assert again.frame.equals(first.frame)
    one = opened.sql("SELECT ward, QUANTILE_CONT(cost, 0.9) AS q FROM t GROUP BY ward", epsilon=1)
    assert one.reused
    assert one.frame["q"].equals(first.frame["q"])
    other = opened.sql("SELECT ward, QUANTILE_CONT(cost, 0.8) AS q FROM t GROUP BY ward", epsilon=1)
    assert not other.reused


def test_some_of_the_quantiles_that_were_chosen_together_are_free() -> None:
    """With the same places and the same error bars, however many of them are asked for again."""
    shares = {"a": 0.1, "b": 0.5, "c": 0.75, "d": 0.9}
    listed = {name: f"QUANTILE_CONT(cost, {q}) AS {name}" for name, q in shares.items()}
    opened = session(unit=UNITS[1])
    asked = "SELECT ward, {} FROM t GROUP BY ward"
    first = opened.sql(asked.format(", ".join(listed.values())), rho=0.5)
    for some in ("b", "ad", "dcb"):
        again = opened.sql(asked.format(", ".join(listed[name] for name in some)), rho=0.5)
        assert again.reused
        before, bounds = first.intervals(), again.intervals()
        for name in some:
            assert again.frame[name].equals(first.frame[name])
            # Bars end at the same few edges, which redraws may just reach or not.
            same = bounds[f"{name}_low"] == before[f"{name}_low"]
            same &= bounds[f"{name}_high"] == before[f"{name}_high"]
            assert same.any()
    with_one_more = "QUANTILE_CONT(cost, 0.9) AS a, QUANTILE_CONT(cost, 0.95) AS b"
    assert not opened.sql(asked.format(with_one_more), rho=0.5).reused


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_of_two_choices_the_more_accurate_one_is_kept() -> None:
    opened = session()
    asked = "SELECT MEDIAN(cost) AS m FROM t"
    best = opened.sql(asked, epsilon=2).item()
    opened.sql(asked, epsilon=0.01, fresh=True)
    assert opened.sql(asked).item() == best


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", UNITS, ids=["row", "unit"])
def test_totals_of_several_groupings_are_chosen_too(unit: dp.Unit | None, engine: str) -> None:
    opened = session(engine=engine, unit=unit)
    asked = "SELECT ward, MEDIAN(cost) AS m FROM t GROUP BY ROLLUP (ward)"
    found = opened.sql(asked, epsilon=20)
    assert found.loss.epsilon <= 20
    truth = TABLE["cost"].median()
    assert found.frame.filter(pl.col("ward").is_null())["m"].item() == pytest.approx(truth, rel=0.1)
    assert opened.sql(asked).reused


def test_decimals_are_read_as_such() -> None:
    values = [Decimal("1.25")] * 500 + [Decimal("3.75")] * 501
    opened = dp.Session(dp.Budget(epsilon=100))
    opened.register("t", pl.DataFrame({"x": values}), columns={"x": dp.Range(0, 10)})
    found = opened.sql(
        "SELECT QUANTILE_DISC(x, 0.25) AS a, QUANTILE_DISC(x, 0.9) AS b FROM t", epsilon=1
    )
    assert found.frame.row(0) == (1.25, 3.75)


@pytest.mark.parametrize("epsilon", [0.001, 0.05, 1])
@pytest.mark.parametrize("unit", UNITS, ids=["row", "unit"])
def test_quantiles_never_cross(unit: dp.Unit | None, epsilon: float) -> None:
    shares = [0.01, 0.2, 0.5, 0.51, 0.9, 0.999]
    listed = ", ".join(f"QUANTILE_CONT(cost, {q}) AS q{i}" for i, q in enumerate(shares))
    data = TABLE.with_columns(ward=pl.lit("er")).head(300)
    asked = f"SELECT {listed}, MIN(cost) AS low, MEDIAN(cost) AS mid, MAX(cost) AS high FROM t"
    for _ in range(5):
        *found, low, middle, high = (
            session(data, unit=unit).sql(asked, epsilon=epsilon).frame.row(0)
        )
        if found[0] is not None:
            assert found == sorted(found)
            assert low <= middle <= high


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_a_group_without_rows_has_no_quantile(monkeypatch: pytest.MonkeyPatch) -> None:
    without_noise(monkeypatch)
    asked = "SELECT ward, MEDIAN(cost) AS m FROM t GROUP BY ward"
    data = TABLE.with_columns(ward=pl.lit("er"))
    unknown = session(data).sql(asked, epsilon=1)  # so noisy a count of 0 may as well be one of 50
    assert unknown.frame["m"].is_null().to_list() == [False, False]
    low, high = unknown.intervals().select("m_low", "m_high").row(1)
    assert high - low > 0.9 * (COLUMNS["cost"].high - COLUMNS["cost"].low)
    found = session(data).sql(asked, epsilon=1_000)
    assert found.frame["m"].is_null().to_list() == [False, True]
    assert "NULL" in repr(found)


def test_a_public_table_has_its_exact_minimum_and_maximum() -> None:
    opened = session(TABLE, public=True)
    asked = "SELECT MIN(age) AS a, MAX(age) AS b, MIN(day) AS c, QUANTILE_DISC(age, 1) AS d FROM t"
    expected = (TABLE["age"].min(), TABLE["age"].max(), TABLE["day"].min(), TABLE["age"].max())
    assert opened.sql(asked).frame.row(0) == expected


def test_descending_order_mirrors_a_percentile() -> None:
    opened = session()
    up = opened.query("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost DESC) FROM t")
    down = opened.query("SELECT QUANTILE_CONT(cost, 0.75) FROM t")
    assert up._compiled.aggregates == down._compiled.aggregates


def test_polars_quantiles_are_those_of_sql() -> None:
    opened, column = session(), pl.col("cost")
    chained = opened.table("t").select(
        column.median(), column.min().alias("low"), column.quantile(0.9, "linear").alias("q")
    )
    asked = "SELECT MEDIAN(cost), MIN(cost), QUANTILE_CONT(cost, 0.9) FROM t"
    ours = [found for _, found in chained.query()._compiled.aggregates]
    theirs = [found for _, found in opened.query(asked)._compiled.aggregates]
    assert ours == theirs


def test_many_groups_have_coarser_grids_and_too_many_are_refused() -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    data = pl.DataFrame({"g": [1], "x": [1.0]})
    for name, groups, size in (("a", 10, 4096), ("b", 1_000, 256), ("c", 60_000, 24)):
        columns = {"g": dp.Range(1, groups, nullable=False), "x": dp.Range(0, 1)}
        opened.register(name, data, columns=columns)
        compiled = opened.query(f"SELECT g, MEDIAN(x) FROM {name} GROUP BY g")._compiled
        assert compiled.cells == size
    opened.register(
        "d", data, columns={"g": dp.Range(1, 100_000, nullable=False), "x": dp.Range(0, 1)}
    )
    with pytest.raises(dp.QueryError, match="is asked for 100,000 groups"):
        opened.query("SELECT g, MEDIAN(x) FROM d GROUP BY g")


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_quantiles_of_private_keys_are_released() -> None:
    data = TABLE.with_columns(name=pl.col("ward"))
    opened = session(data)
    found = opened.sql(
        "SELECT name, MEDIAN(age) AS m FROM t GROUP BY name", epsilon=50, delta=1e-7
    ).frame
    assert found["name"].to_list() == ["er", "icu"]


@pytest.mark.parametrize(
    "asked", ["MEDIAN(age) AS m", "MEDIAN(age) AS m, QUANTILE(cost, 0.9) AS q"]
)
def test_where_no_private_key_is_released_there_is_no_quantile(asked: str) -> None:
    """Whether any key was is no reason to stop: the answer is a table without rows."""
    opened = session(TABLE.with_columns(name=pl.int_range(ROWS).cast(pl.String)))
    found = opened.sql(f"SELECT name, {asked} FROM t GROUP BY name", epsilon=0.01, delta=1e-9)
    assert found.frame.is_empty()
    assert found.intervals().is_empty()


def test_times_have_error_bars_of_their_own_kind() -> None:
    found = session().sql("SELECT MEDIAN(day) AS m, MAX(day) AS last FROM t", epsilon=0.2)
    bounds = found.intervals()
    assert bounds.schema["m_low"] == pl.Datetime("us")
    assert bounds.schema["last_high"] == pl.Date()
    assert (bounds["m_low"] <= bounds["m"]).all()
    assert found.errors.schema["m"] == pl.Duration("us")
    assert "±" in repr(found)


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize(("rows", "epsilon"), [(30, 1), (100, 0.5), (300, 0.3)])
def test_few_rows_have_a_median_and_a_wide_error_bar(rows: int, epsilon: float) -> None:
    """The total of the counts around it is so noisy that it says nothing of whether there are rows."""
    groups, values = 200, np.random.default_rng(rows).uniform(0, 1_000, rows)
    data = {"g": np.repeat(np.arange(groups), rows), "x": np.tile(values, groups)}
    opened = dp.Session(dp.Budget(epsilon=10**4))
    columns = {"g": dp.Range(0, groups - 1, nullable=False), "x": dp.Range(0, 1_000)}
    opened.register("t", pl.DataFrame(data), columns=columns)
    asked = "SELECT g, MEDIAN(x) AS m FROM t GROUP BY g"
    bounds = pl.concat(
        [opened.sql(asked, epsilon=epsilon, fresh=True).intervals() for _ in range(3)]
    )
    assert bounds["m"].null_count() < 0.03 * bounds.height
    assert 0.93 <= covers(bounds.drop_nulls(), "m", float(np.median(values))) <= 0.99


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.5}], ids=str)
@pytest.mark.parametrize(("asked", "truth"), [("MIN(x)", 0.0), ("MIN(x) + 1", 1.0), ("MAX(-x)", 0)])
def test_a_heap_at_the_very_end_of_a_range_has_an_error_bar(
    asked: str, truth: float, cost: dict[str, Any]
) -> None:
    """No count moves a place that lies there, yet the bar is a whole cell."""
    values = np.where(RANDOM.random(5_000) < 0.3, 0.0, RANDOM.exponential(500, 5_000))
    opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    opened.register("t", pl.DataFrame({"x": values}), columns={"x": dp.Range(0, 5_000)})
    found = opened.sql(f"SELECT {asked} AS m FROM t", **cost)
    value, low, high = found.intervals().row(0)
    assert low <= value <= high
    assert low <= truth <= high
    assert 0 < high - low < 5


# --- accuracy --------------------------------------------------------------------------------------

GROUPS, EACH, RUNS = 250, 400, 8
"""With more groups, cells would be wider than error bars, which take whole cells."""
VALUES = RANDOM.gamma(2, 100, EACH).clip(0, 1_000)
MANY = pl.DataFrame(
    {
        "g": np.repeat(np.arange(GROUPS), EACH),
        "x": np.tile(VALUES, GROUPS),
        "u": np.repeat(np.arange(GROUPS * EACH // 2), 2),
    }
)
QUANTILES = {
    "low": "QUANTILE_CONT(x, 0.1)",
    "mid": "MEDIAN(x)",
    "high": "QUANTILE_CONT(x, 0.9)",
    "iqr": "QUANTILE_CONT(x, 0.75) - QUANTILE_CONT(x, 0.25)",
    "mean": "(QUANTILE_CONT(x, 0.5) + QUANTILE_CONT(x, 0.55)) / 2",
    "last": "MAX(x)",
}
AT = {percent: float(np.quantile(VALUES, percent / 100)) for percent in (10, 25, 50, 55, 75, 90)}
TRUTH = {
    "low": AT[10],
    "mid": AT[50],
    "high": AT[90],
    "iqr": AT[75] - AT[25],
    "mean": (AT[50] + AT[55]) / 2,
}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("cost", "unit", "names", "chosen"),
    [
        ({"epsilon": 2}, None, ["low", "mid", "high", "iqr", "mean", "last"], False),
        ({"epsilon": 2}, None, ["low", "mid", "high"], True),
        ({"rho": 0.5}, dp.Unit("u", max_rows=2), ["low", "mid", "high", "iqr", "mean"], True),
        ({"rho": 0.5}, dp.Unit("u", max_rows=2), ["mid", "last"], True),
    ],
    ids=["laplace-row", "laplace-row-chosen", "gaussian-unit", "gaussian-unit-and-last"],
)
def test_intervals_cover_over_two_thousand_releases(
    cost: dict[str, Any],
    unit: dp.Unit | None,
    names: list[str],
    chosen: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Noise is drawn for every group anew, so equal groups are as many simulated releases."""
    columns = {"g": dp.Range(0, GROUPS - 1, nullable=False), "x": dp.Range(0, 1_000)}
    listed = ", ".join(f"{QUANTILES[name]} AS {name}" for name in names)
    asked = f"SELECT g, {listed} FROM t GROUP BY g"
    if not chosen:
        monkeypatch.setattr(quantile, "_MOST_LEVELS", 0)
    opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    opened._source = Stream(1)  # the same noise in every run
    opened.register("t", MANY, columns=columns, unit=unit)
    bounds = released(opened, asked, cost, chosen)
    truth = TRUTH
    if "last" in names:  # how many rows lie beyond it depends on the scale of the noise
        without_noise(monkeypatch)
        last = opened.sql(f"{asked} LIMIT 1", fresh=True, **cost).frame["last"][0]
        truth = TRUTH | {"last": last}
    for name in names:
        covered = covers(bounds, name, truth[name])
        # Of two places each may be a heap anywhere in its cell, which even rows are not.
        assert 0.93 <= covered <= (1.0 if name in ("iqr", "mean") else 0.98), (name, covered)


def released(opened: dp.Session, asked: str, cost: dict[str, Any], chosen: bool) -> pl.DataFrame:
    """The error bars of 2,000 releases."""
    bounds = []
    for _ in range(RUNS):
        found = opened.sql(asked, fresh=True, **cost)
        assert any(isinstance(p, RankedCells) for p in found._parts.layout.parts) == chosen
        bounds.append(found.intervals(0.95))
    return pl.concat(bounds)


def covers(bounds: pl.DataFrame, name: str, truth: float) -> float:
    """The share of error bars that hold the truth."""
    low, high = bounds[f"{name}_low"], bounds[f"{name}_high"]
    share = ((low - 1e-9 <= truth) & (truth <= high + 1e-9)).mean()
    assert isinstance(share, float)
    return share


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("cost", [{"epsilon": 2}, {"rho": 0.5}], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("names", [["mid"], ["iqr"], ["low"], ["high"], ["mean"]], ids=str)
def test_intervals_of_few_quantiles_cover_at_their_rate(
    names: list[str], cost: dict[str, Any]
) -> None:
    columns = {"g": dp.Range(0, GROUPS - 1, nullable=False), "x": dp.Range(0, 1_000)}
    opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    opened._source = Stream(1)
    opened.register("t", MANY, columns=columns)
    listed = ", ".join(f"{QUANTILES[name]} AS {name}" for name in names)
    bounds = released(opened, f"SELECT g, {listed} FROM t GROUP BY g", cost, chosen=True)
    for name in names:
        covered = covers(bounds, name, TRUTH[name])
        # Of two places each may be a heap anywhere in its cell, which even rows are not.
        assert 0.93 <= covered <= (1.0 if name in ("iqr", "mean") else 0.98), (name, covered)


HEAPED = {
    "gap": np.concatenate([RANDOM.normal(100, 20, 200), RANDOM.normal(800, 20, 200)]),
    "two heaps": np.repeat([100.3, 800.1], [203, 197]),
    "heaps": RANDOM.choice(np.arange(10) * 80 + 7.7, 400),
    "many heaps": np.repeat(np.arange(50) * 20 + 3.3, 8),
    "even": np.linspace(1, 999, 400),
}


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("cost", [{"epsilon": 2}, {"rho": 0.5}], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("kind", [*HEAPED])
def test_gaps_and_heaps_of_rows_do_not_fall_out_of_intervals(
    kind: str, cost: dict[str, Any]
) -> None:
    """Where rows lie unevenly, what is chosen may be far off; its bars tell."""
    groups, values = 500, HEAPED[kind]
    data = pl.DataFrame({"g": np.repeat(np.arange(groups), 400), "x": np.tile(values, groups)})
    columns = {"g": dp.Range(0, groups - 1, nullable=False), "x": dp.Range(0, 1_000)}
    opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    opened._source = Stream(1)
    opened.register("t", data, columns=columns)
    asked = "SELECT g, MEDIAN(x) AS m, QUANTILE_DISC(x, 0.5) AS d FROM t GROUP BY g"
    # The lower end of a gap between heaps is the hardest: 2,000 releases tell 95% from 93%.
    found = [opened.sql(asked, fresh=True, **cost) for _ in range(4 if kind == "many heaps" else 1)]
    assert isinstance(found[0]._parts.layout.parts[0], RankedCells)
    bounds = pl.concat([release.intervals(0.95) for release in found])
    assert covers(bounds, "m", float(np.median(values))) >= 0.93
    first = float(np.quantile(values, 0.5, method="inverted_cdf"))
    assert covers(bounds, "d", first) >= 0.93


def test_bars_on_the_finest_grid_are_as_wide_as_the_noise_of_their_counts() -> None:
    """Of edges that were left out, bars would end at the next one, four times as far away."""
    rows, opened = 10_000, dp.Session(dp.Budget(epsilon=10**4))
    opened._source = Stream(1)
    data = pl.DataFrame({"x": np.linspace(0, 1_000, rows)})
    opened.register("t", data, columns={"x": dp.Range(0, 1_000)})
    widths = []
    for _ in range(20):
        found = opened.sql("SELECT MEDIAN(x) AS m FROM t", epsilon=1, fresh=True)
        (part,) = found._parts.layout.parts
        assert isinstance(part, RankedCells)
        _, low, high = found.intervals(0.95).row(0)
        widths.append((high - low) * rows / 1_000)
    edges = number_of_edges(1, part.inside)
    deviation = found._parts.deviation(0) * (edges / 4) ** 0.5  # each cell counts for a half
    # The next edge is up to twice as far away as where the noise ends.
    assert np.median(widths) < 2 * 2 * 1.645 * deviation


def test_a_choice_is_far_nearer_than_a_tree_and_its_bars_hardly_wider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, opened = 10_000, dp.Session(dp.Budget(epsilon=10**4))
    opened._source = Stream(1)
    data = pl.DataFrame({"x": np.linspace(0, 1_000, rows)})
    opened.register("t", data, columns={"x": dp.Range(0, 1_000)})

    def error_and_width() -> tuple[float, float]:
        found = [
            opened.sql("SELECT MEDIAN(x) AS m FROM t", epsilon=1, fresh=True) for _ in range(40)
        ]
        ends = np.array([release.intervals(0.95).row(0) for release in found])
        return float(np.mean((ends[:, 0] - 500) ** 2)) ** 0.5, float(
            np.mean(ends[:, 2] - ends[:, 1])
        )

    chosen = error_and_width()
    monkeypatch.setattr(quantile, "_MOST_LEVELS", 0)
    counted = error_and_width()
    assert chosen[0] < counted[0] / 3
    assert chosen[1] < counted[1] * 2


@pytest.mark.parametrize("levels", [1, 0], ids=["chosen", "tree"])
def test_whoever_asks_for_the_bars_of_a_place_again_gets_the_same(
    monkeypatch: pytest.MonkeyPatch, levels: int
) -> None:
    monkeypatch.setattr(quantile, "_MOST_LEVELS", levels)
    found = session().sql(
        "SELECT ward, QUANTILE_CONT(cost, 0.3) AS q FROM t GROUP BY ward", epsilon=1
    )
    for confidence in (0.5, 0.95):
        assert found.intervals(confidence).equals(found.intervals(confidence))


BETWEEN = {
    "four heaps, far": np.repeat([100.3, 300.2, 500.7, 800.1], [101, 100, 99, 101]),
    "four heaps, near": np.repeat([100.3, 300.2, 500.7, 800.1], [100, 101, 100, 100]),
    "twenty heaps": np.repeat(
        np.arange(20) * 45 + 20.3, [20] * 4 + [21] + [20] * 9 + [19] + [20] * 4 + [21]
    ),
}
"""Each quartile is the last row of a heap, or the first: those that make their distance extreme."""


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("cost", [{"epsilon": 2}, {"rho": 0.5}], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("kind", [*BETWEEN])
def test_the_distance_of_quartiles_between_heaps_is_in_its_interval(
    kind: str, cost: dict[str, Any]
) -> None:
    groups, values = 500, BETWEEN[kind]
    data = {"g": np.repeat(np.arange(groups), values.size), "x": np.tile(values, groups)}
    columns = {"g": dp.Range(0, groups - 1, nullable=False), "x": dp.Range(0, 1_000)}
    opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    opened._source = Stream(1)
    opened.register("t", pl.DataFrame(data), columns=columns)
    found = opened.sql(f"SELECT g, {QUANTILES['iqr']} AS iqr FROM t GROUP BY g", **cost)
    truth = float(np.quantile(values, 0.75) - np.quantile(values, 0.25))
    assert covers(found.intervals(0.95), "iqr", truth) >= 0.93


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_the_error_is_what_theory_predicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The deviation of the rank, over the density of rows at the median."""
    opened = dp.Session(dp.Budget(epsilon=10**4))
    opened._source = Stream(1)
    groups, each = 200, 2_000
    data = pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), each),
            "x": np.tile((np.arange(each) + 0.5) / each, groups),
        }
    )
    columns = {"g": dp.Range(0, groups - 1, nullable=False), "x": dp.Range(0, 1)}
    opened.register("t", data, columns=columns)
    query = opened.query("SELECT g, MEDIAN(x) AS m FROM t GROUP BY g")
    found = query.release(epsilon=1).frame["m"].to_numpy()
    chosen = np.sqrt(2) * 4 / 3 / each  # three quarters of the cost
    assert 0.8 * chosen < np.std(found - 0.5) < 1.2 * chosen
    monkeypatch.setattr(quantile, "_MOST_LEVELS", 0)
    query = opened.query("SELECT g, MEDIAN(x) AS m FROM t GROUP BY g")
    found = query.release(epsilon=1, fresh=True).frame["m"].to_numpy()
    recipe = query._compiled.aggregates[0][1].recipes()[0]
    tree = recipe.place.tree  # type: ignore[union-attr]
    noise = [np.sqrt(2) * tree.height] * tree.height
    counted = tree.deviations(0.5, noise)[tree.size // 2 - 8 : tree.size // 2 + 8].mean() / each
    assert 0.7 * counted < np.std(found - 0.5) < 1.4 * counted
    assert counted > 5 * chosen


# --- without error bars -----------------------------------------------------------------------------

BARE: dict[str, Any] = {"epsilon": 0.5, "error_bars": False}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", UNITS, ids=["row", "unit"])
def test_without_error_bars_quantiles_have_none_and_others_keep_theirs(
    unit: Any, engine: str
) -> None:
    asked = """SELECT ward, MEDIAN(cost) AS mid, MEDIAN(cost) - QUANTILE_CONT(cost, 0.25) AS apart,
        QUANTILE_CONT(age, [0.25, 0.75]) AS q, MEDIAN(day) AS day, COUNT(*) AS n, MAX(cost) AS last
        FROM t GROUP BY ward"""
    found = session(engine=engine, unit=unit).sql(asked, **BARE)
    ends = [name for name in found.intervals().columns if name.endswith(("_low", "_high"))]
    assert ends == ["n_low", "n_high", "last_low", "last_high"]
    bare = ["mid", "apart", "q", "day"]
    assert found.errors.select(bare).null_count().row(0) == (2,) * 4
    assert found.errors.select("n", "last").null_count().row(0) == (0, 0)
    shown = repr(found)
    assert "MEDIAN(cost): no error bar; where rows lie evenly, ranks are off by about" in shown
    assert shown.splitlines()[2].count("±") == 2
    assert "no error bar" in found._repr_html_()


def test_without_error_bars_only_the_place_is_kept() -> None:
    opened = session(engine="polars")
    found = opened.sql("SELECT QUANTILE_CONT(cost, 0.2), MEDIAN(cost) FROM t", **BARE)
    ((part,), (values,)) = found._parts.layout.parts, found._parts.values
    assert isinstance(part, RankedCells)
    assert not part.counted
    assert len(values) == part.cells == 2
    assert found.loss == dp.Loss.pure(0.5)
    (entry,) = opened.ledger.entries().rows(named=True)
    assert entry["mechanism"] == "exponential mechanism"


@pytest.mark.parametrize("cost", [{"epsilon": 0.1}, {"rho": 0.005}], ids=str)
@pytest.mark.parametrize("swapped", [{}, {"neighbors": "replace", "size": 20_000}], ids=str)
def test_without_error_bars_ranks_are_off_by_what_the_whole_cost_predicts(
    swapped: dict[str, Any], cost: dict[str, Any]
) -> None:
    """With them, by 4/3 or sqrt(4/3) of that: a share of the cost pays for the bars."""
    rows, runs = 20_000, 1_500
    even = pl.DataFrame({"x": (np.arange(rows) + 0.5) / rows})
    opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    opened.register("t", even, columns={"x": dp.Range(0, 1)}, **swapped)
    query = opened.query("SELECT MEDIAN(x) AS m FROM t")
    # By its law: a Laplace of scale 1 / epsilon, and the exponential mechanism at sqrt(8 rho).
    scale = 1 / cost["epsilon"] if "epsilon" in cost else 1 / (8 * cost["rho"]) ** 0.5
    expected = scale * 2**0.5 * (2 if swapped else 1)
    found = np.array(
        [query.release(error_bars=False, fresh=True, **cost).item() for _ in range(runs)]
    )
    off = float(np.sqrt(np.mean(((found - 0.5) * rows) ** 2)))
    assert off == pytest.approx(expected, rel=4 * 1.12 / runs**0.5)  # kurtosis 6: sqrt(5) / 2


def test_places_with_error_bars_serve_those_without_but_not_the_other_way_round() -> None:
    opened = session(engine="polars")
    query = opened.query("SELECT MEDIAN(cost) AS m FROM t")
    bare = query.release(**BARE)
    assert bare.loss.epsilon == query.cost(epsilon=0.5).epsilon == Fraction(1, 2)
    assert query.cost(**BARE) == dp.Loss.none()
    assert query.release(**BARE).item() == bare.item()
    assert "every part was measured before" in query.explain(**BARE)
    with_bars = query.release(epsilon=0.5)
    again = query.release(**BARE)  # of two that are free, the one that says more
    assert again.reused
    assert again.item() == with_bars.item()
    assert again.intervals().columns == ["m", "m_low", "m_high"]


def test_quantiles_chosen_together_without_error_bars_serve_each() -> None:
    opened = session(engine="polars")
    three = opened.sql("SELECT QUANTILE_CONT(cost, [0.25, 0.5, 0.75]) AS q FROM t", **BARE)
    one = opened.sql("SELECT QUANTILE_CONT(cost, 0.75) AS q FROM t", error_bars=False)
    assert one.reused
    assert one.item() == three.frame["q"][0][2]


def test_empty_groups_have_a_place_where_nothing_is_counted() -> None:
    """Nothing says that there are no rows: any value of the range is as good as another."""
    found = session(TABLE.filter(pl.col("ward") == "er")).sql(
        "SELECT ward, MEDIAN(cost) AS m FROM t GROUP BY ward", **BARE
    )
    assert found.frame["m"].null_count() == 0
    assert found.frame["m"].is_between(0, 50_000).all()


def test_it_is_explained_that_there_are_no_error_bars() -> None:
    said = session().query("SELECT MEDIAN(cost) FROM t").explain(epsilon=1, error_bars=False)
    assert "exponential mechanism with 100% of the cost" in said
    assert said.count("no error bars") == 1


def test_without_error_bars_more_is_chosen() -> None:
    """A tree has its bars for free, so what it is compared with has a third more of the cost."""
    query = session().query("SELECT QUANTILE_CONT(age, [0.2, 0.4, 0.6, 0.8]) AS q FROM t")
    with_bars, without = query.explain(epsilon=1), query.explain(epsilon=1, error_bars=False)
    assert "from a tree of counts" in with_bars
    assert "times the error, bars included\n" in with_bars
    assert "from the exponential mechanism" in without
    assert "times the error\n" in without


@pytest.mark.parametrize("given", [0, None, "no"])
def test_error_bars_are_wanted_or_not(given: Any) -> None:
    opened = session()
    with pytest.raises(dp.ParameterError, match="neither True nor False"):
        opened.sql("SELECT MEDIAN(cost) FROM t", epsilon=1, error_bars=given)
    assert opened.spent.epsilon == 0


def test_a_chain_and_a_histogram_take_the_same_argument() -> None:
    opened = session(engine="polars")
    chain = opened.table("t").select(pl.col("cost").median())
    found = chain.release(**BARE)
    assert found.intervals().columns == ["cost"]
    assert chain.cost(**BARE) == dp.Loss.none()
    assert chain.explain(**BARE)
    bins = opened.table("t").histogram("age", bins=3).release(**BARE)
    assert "count_low" in bins.intervals().columns

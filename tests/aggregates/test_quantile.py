"""Quantiles, MIN and MAX: what they are, that they never cross, and that their bars cover."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from privacy.audit import Stream

import dpframe as dp
from dpframe.aggregates.compile import layout_for
from dpframe.mechanisms import Law

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


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("column", ["age", "cost", "far", "day", "time"])
def test_without_noise_quantiles_are_within_a_cell_of_the_true_ones(
    column: str, engine: str
) -> None:
    shares = (0.05, 0.25, 0.5, 0.99)
    listed = ", ".join(f"QUANTILE_DISC({column}, {q}) AS q{i}" for i, q in enumerate(shares))
    (found,) = session(engine=engine).sql(f"SELECT {listed} FROM t", epsilon=1).frame.rows()
    values = TABLE[column].to_physical().to_numpy().astype(float)
    width = {"age": 0, "cost": 50_000 / 4096, "far": 1 / 4096, "day": 0}.get(column)
    width = 12 * 86_400e6 / 4096 if width is None else width
    kind = TABLE[column].dtype
    ours = pl.Series(found, dtype=kind).to_physical().to_list()
    expected = np.quantile(values, shares, method="inverted_cdf")
    assert np.abs(np.array(ours, dtype=float) - expected).max() <= width * 1.001


def test_quantiles_of_one_column_share_their_parts_and_cost_as_much_as_one() -> None:
    opened = session()
    one = opened.query("SELECT MEDIAN(cost) FROM t")._compiled
    many = opened.query(
        "SELECT MEDIAN(cost), MIN(cost), QUANTILE_CONT(cost, 0.9), MAX(cost) FROM t"
    )._compiled
    assert layout_for(one, 1).parts == layout_for(many, 1).parts
    assert layout_for(one, 1).shares == layout_for(many, 1).shares


def test_another_quantile_of_a_measured_column_is_free() -> None:
    opened = session()
    opened.sql("SELECT age > 50 AS old, MEDIAN(cost) AS m FROM t GROUP BY old", epsilon=1)
    again = opened.sql(
        "SELECT age > 50 AS old, QUANTILE_CONT(cost, 0.9) AS q FROM t GROUP BY old", epsilon=1
    )
    assert again.reused
    whole = opened.sql("SELECT QUANTILE_CONT(cost, 0.9) AS q FROM t")
    assert whole.reused  # the counts of all groups, added up cell by cell
    truth = TABLE["cost"].quantile(0.9)
    assert whole.item() == pytest.approx(truth, rel=0.1)


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


def test_a_group_without_rows_has_no_quantile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    data = TABLE.with_columns(ward=pl.lit("er"))
    found = session(data).sql("SELECT ward, MEDIAN(cost) AS m FROM t GROUP BY ward", epsilon=1)
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
    for name, groups, size in (("a", 10, 4096), ("b", 1_000, 256), ("c", 60_000, 16)):
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


def test_times_have_error_bars_of_their_own_kind() -> None:
    found = session().sql("SELECT MEDIAN(day) AS m, MAX(day) AS last FROM t", epsilon=0.2)
    bounds = found.intervals()
    assert bounds.schema["m_low"] == pl.Datetime("us")
    assert bounds.schema["last_high"] == pl.Date()
    assert (bounds["m_low"] <= bounds["m"]).all()
    assert found.errors.schema["m"] == pl.Duration("us")
    assert "±" in repr(found)


# --- accuracy --------------------------------------------------------------------------------------

GROUPS, EACH = 2_000, 400
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


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("cost", "unit"),
    [({"epsilon": 2}, None), ({"rho": 0.5}, dp.Unit("u", max_rows=2))],
    ids=["laplace-row", "gaussian-unit"],
)
def test_intervals_cover_over_two_thousand_releases(
    cost: dict[str, Any], unit: dp.Unit | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise is drawn for every group anew, so equal groups are as many simulated releases."""
    columns = {"g": dp.Range(0, GROUPS - 1, nullable=False), "x": dp.Range(0, 1_000)}
    listed = ", ".join(f"{sql} AS {name}" for name, sql in QUANTILES.items())
    asked = f"SELECT g, {listed} FROM t GROUP BY g"
    opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    opened._source = Stream(1)  # the same noise in every run
    opened.register("t", MANY, columns=columns, unit=unit)
    found = opened.sql(asked, **cost)
    bounds = found.intervals(0.95)
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    truth = opened.sql(f"{asked} LIMIT 1", fresh=True, **cost).frame
    for name in QUANTILES:
        low, high = bounds[f"{name}_low"], bounds[f"{name}_high"]
        true = truth[name][0]
        covered = ((low - 1e-9 <= true) & (true <= high + 1e-9)).mean()
        assert 0.93 <= covered <= 0.985, (name, covered)


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_the_error_is_what_theory_predicts() -> None:
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
    recipe = query._compiled.aggregates[0][1].recipes()[0]
    tree = recipe.place.tree  # type: ignore[union-attr]
    noise = [np.sqrt(2) * tree.height] * tree.height
    predicted = tree.deviations(0.5, noise)[tree.size // 2 - 8 : tree.size // 2 + 8].mean() / each
    assert 0.7 * predicted < np.std(found - 0.5) < 1.4 * predicted

"""Ranges that are learned: where they lie, what they cost, and what is refused before any cost."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe import ranges

RANDOM = np.random.default_rng(3)
ROWS = 20_000
TABLE = pl.DataFrame(
    {
        "ward": RANDOM.choice(["er", "gp"], ROWS),
        "cost": RANDOM.uniform(0, 900, ROWS),
        "change": RANDOM.integers(-100, 30, ROWS),
        "small": RANDOM.uniform(-0.2, -0.1, ROWS),
        "pid": np.arange(ROWS) // 2,
    }
).with_columns(odd=pl.Series([None, float("nan"), 5.0, -0.0] * (ROWS // 4)))


@pytest.fixture(autouse=True)
def hardly_any_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty bucket is taken for one with values in 5% of cases; not while it is tested."""
    monkeypatch.setattr(ranges, "_MISTAKEN", 1e-6)


def session(budget: dp.Budget | None = None, **options: Any) -> dp.Session:
    found = dp.Session(budget or dp.Budget(epsilon=100, delta=1e-6))
    found.register("t", TABLE, columns={"ward": dp.Keys(["er", "gp"])}, **options)
    return found


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [None, dp.Unit("pid", max_rows=2)], ids=["row", "unit"])
def test_the_learned_range_holds_the_values_up_to_a_power_of_two(engine: str, unit: Any) -> None:
    asked = session(engine=engine, unit=unit)
    text = "SELECT AVG(cost) AS c, SUM(change) AS s, AVG(small) AS m, AVG(odd) AS o FROM t"
    release = asked.sql(text, epsilon=1, bounds="auto")
    assert release.learned == {
        "cost": (0.0, 1024.0),
        "change": (-127, 31),
        "small": (-0.25, 0.0),
        "odd": (-(2.0**-20), 8.0),
    }
    assert release.loss.epsilon == 1
    row = release.frame.row(0, named=True)
    assert row["c"] == pytest.approx(TABLE["cost"].mean(), rel=0.05)
    assert row["s"] == pytest.approx(TABLE["change"].sum(), rel=0.05)
    assert row["o"] == pytest.approx(2.5, rel=0.05)
    assert "cost was clipped to [0, 1,024]" in repr(release)


def test_learning_is_charged_with_the_answer_and_both_are_free_the_next_time() -> None:
    asked = session(dp.Budget(epsilon=1))
    text = "SELECT ward, SUM(cost * 2) AS s FROM t WHERE change < 0 GROUP BY ward"
    first = asked.sql(text, epsilon="0.4", bounds="auto")
    assert asked.remaining.epsilon == Fraction(6, 10)
    again = asked.sql(text, epsilon="0.4", bounds="auto")
    assert again.reused
    assert again.learned == first.learned == {"(cost * 2)": (0.0, 2048.0)}
    assert again.frame.equals(first.frame)
    assert asked.remaining.epsilon == Fraction(6, 10)


def test_a_filter_sees_the_values_as_they_are() -> None:
    """Only what is added up is clipped; a bound on the column would move the condition too."""
    asked = session()
    release = asked.sql(
        "SELECT COUNT(*) AS n, SUM(change) AS s FROM t WHERE cost > 890", epsilon=1, bounds="auto"
    )
    expected = TABLE.filter(pl.col("cost") > 890)
    assert release.frame["n"][0] == pytest.approx(expected.height, abs=20)


def test_without_anything_to_learn_it_is_a_query_like_any_other() -> None:
    asked = session()
    release = asked.sql("SELECT COUNT(*), SUM(change > 5) FROM t", epsilon=1, bounds="auto")
    assert release.learned == {}
    assert asked.spent.releases == 1


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("SELECT AVG(cost) FROM t", {"epsilon": 2}),
        ("SELECT AVG(cost) FROM t", {}),
        ("SELECT AVG(cost) FROM t", {"error": 10}),
        ("SELECT AVG(cost) FROM t", {"epsilon": 0.5, "bounds": "wide"}),
        ("SELECT AVG(cost) FROM t", {"epsilon": 0.5, "rho": 0.1}),
        ("SELECT AVG(cost) FROM t", {"rho": 0.1}),
        ("SELECT AVG(ward) FROM t", {"epsilon": 0.5}),
        ("SELECT AVG(cost), MEDIAN(ward) FROM t", {"epsilon": 0.5}),
        ("SELECT SUM(DISTINCT cost) FROM t", {"epsilon": 0.5}),
        ("SELECT cost, SUM(cost) FROM t GROUP BY cost", {"epsilon": 0.5}),
    ],
)
def test_what_is_refused_costs_nothing(text: str, options: dict[str, Any]) -> None:
    asked = session(dp.Budget(epsilon=1))
    with pytest.raises(dp.UserError):
        asked.sql(text, **{"bounds": "auto", **options})
    assert asked.spent.releases == 0


def test_an_empty_table_gets_some_range() -> None:
    asked = dp.Session(dp.Budget(epsilon=10))
    asked.register("t", TABLE.clear())
    ((low, high),) = asked.sql("SELECT SUM(cost) FROM t", epsilon=1, bounds="auto").learned.values()
    assert low <= 0 <= high


def test_where_warnings_are_errors_nothing_is_learned_for_no_answer() -> None:
    """Learning costs 0.4 and the answer 1.6: the warning is due before the first charge."""
    asked = session()
    with pytest.raises(dp.PrivacyWarning, match="costs epsilon 2"):
        asked.sql("SELECT AVG(cost) FROM t", epsilon=2, bounds="auto")
    assert asked.spent.releases == 0


def test_the_whole_is_warned_of_once() -> None:
    asked = session()
    with pytest.warns(dp.PrivacyWarning) as said:
        asked.sql("SELECT AVG(cost), SUM(change) FROM t", epsilon=6, bounds="auto")
    assert [str(warning.message).split(":")[0] for warning in said] == [
        "this release costs epsilon 6"
    ]
    assert said[0].filename == __file__


def test_an_analysts_own_budget_refuses_the_whole() -> None:
    analyst = session().as_analyst("ana", dp.Budget(epsilon="0.5"))
    with pytest.raises(dp.BudgetError, match="for ana"):
        analyst.sql("SELECT AVG(cost) FROM t", epsilon="0.6", bounds="auto")
    assert analyst.spent.releases == 0


def test_a_delta_that_is_not_needed_is_refused_before_any_cost() -> None:
    asked = session()
    with pytest.raises(dp.ParameterError, match="not needed"):
        asked.sql("SELECT AVG(cost) FROM t", epsilon=0.5, delta=1e-9, bounds="auto")
    assert asked.spent.releases == 0


@pytest.mark.parametrize("bounds", ["autoo", {"cost": (0, 900)}, True])
def test_bounds_are_auto_or_nothing(bounds: Any) -> None:
    asked = session()
    with pytest.raises(dp.ParameterError, match='is not "auto"') as refused:
        asked.sql("SELECT SUM(cost) FROM t", bounds=bounds, epsilon=1)
    assert 'bounds="auto"' in refused.value.fix
    assert asked.spent.releases == 0


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_chain_learns_ranges_as_sql_does(engine: str) -> None:
    asked = session(engine=engine)
    chain = asked.table("t").group_by("ward").agg(pl.col("cost").mean(), s=pl.col("change").sum())
    release = chain.release(epsilon=1, bounds="auto")
    assert release.learned == {"cost": (0.0, 1024.0), "change": (-127, 31)}
    assert release.loss.epsilon == chain.cost(epsilon=1, bounds="auto", fresh=True).epsilon == 1
    text = "SELECT ward, AVG(cost) AS cost, SUM(change) AS s FROM t GROUP BY ward"
    again = asked.sql(text, epsilon=1, bounds="auto")
    assert again.reused
    assert again.frame.equals(release.frame)
    assert chain.release(bounds="auto").reused


def test_what_is_learned_is_explained_before_and_after() -> None:
    asked = session(dp.Budget(epsilon=1))
    query = asked.query("SELECT SUM(change) AS s FROM t", bounds="auto")
    assert "cost    to be said" in query.explain()
    before = query.explain(epsilon=0.5)
    assert "first   a range for change" in before
    assert before.endswith("cost    epsilon 0.5\nleft    epsilon 0.5")
    assert query.explain(epsilon=2).endswith("it would be refused: only epsilon 1 remains")
    assert asked.spent.releases == 0
    query.release(epsilon=0.5)
    assert "range   change is clipped to [-127, 31], learned before" in query.explain(epsilon=0.5)
    assert query.cost(epsilon=0.5).epsilon == 0
    assert query.cost(epsilon=0.5, fresh=True).epsilon == Fraction(1, 2)


def test_an_error_about_a_missing_range_says_how_to_learn_one() -> None:
    asked = session()
    chain = asked.table("t").select(pl.col("cost").sum())
    for ask in (chain.query, lambda: asked.query("SELECT MEDIAN(cost) FROM t")):
        with pytest.raises(dp.UnboundedError) as refused:
            ask()
        assert 'bounds="auto"' in refused.value.fix


def test_a_statement_says_the_whole_cost() -> None:
    asked = session()
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) SUM(change) AS s FROM t"
    assert asked.sql(text, bounds="auto").loss.epsilon == Fraction(1, 2)
    with pytest.raises(dp.ParameterError, match="said twice"):
        asked.sql(text, bounds="auto", epsilon=1)

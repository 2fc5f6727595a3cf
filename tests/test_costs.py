"""Costs: accuracy first, default shares, analysts, and plain warnings."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest

import dpframe as dp

TABLE = pl.DataFrame({"x": [float(i % 100) for i in range(5_000)], "k": ["a", "b"] * 2_500})
COLUMNS = {"x": dp.Range(0, 100, nullable=False), "k": dp.Keys(["a", "b"])}


def session(budget: dp.Budget, **options: object) -> dp.Session:
    found = dp.Session(budget, **options)  # type: ignore[arg-type]
    found.register("t", TABLE, columns=COLUMNS)
    return found


@pytest.mark.parametrize(
    "budget", [dp.Budget(epsilon=1), dp.Budget(rho=0.5), dp.Budget(epsilon=1, delta=1e-6)]
)
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT COUNT(*) AS n FROM t", 50),
        ("SELECT k, SUM(x) AS n FROM t GROUP BY k", 4000),
        ("SELECT k, SUM(x) AS n, COUNT(*) AS m FROM t GROUP BY k", 4000),
    ],
)
def test_an_error_that_is_asked_for_is_met_at_the_least_cost(
    budget: dp.Budget, text: str, error: int
) -> None:
    query = session(budget).query(text)
    met = query.release(error=error, confidence=0.95)
    assert met.errors["n"].max() <= error  # type: ignore[operator]
    # A tenth less of whatever it cost would not do.
    loss = met.loss
    less = {"epsilon": loss.epsilon * Fraction(9, 10)}
    if loss.epsilon == float("inf"):
        less = {"rho": loss.rho * Fraction(8, 10)}
    if "SUM" not in text or "COUNT" not in text:
        worse = query.release(**less, fresh=True)  # type: ignore[arg-type]
        assert worse.errors["n"].max() > error  # type: ignore[operator]


def test_the_error_of_a_mean_cannot_be_promised() -> None:
    asked = session(dp.Budget(epsilon=1))
    with pytest.raises(dp.ParameterError, match="error= cannot be promised"):
        asked.sql("SELECT AVG(x) FROM t", error=1)
    assert asked.spent.releases == 0


@pytest.mark.parametrize("aggregate", ["MEDIAN(x)", "QUANTILE_CONT(x, 0.9)", "VAR_SAMP(x)"])
def test_what_has_no_promised_error_is_called_by_what_was_written(aggregate: str) -> None:
    asked = session(dp.Budget(epsilon=1))
    with pytest.raises(dp.ParameterError) as refused:
        asked.sql(f"SELECT COUNT(*), {aggregate} FROM t", error=1)
    assert refused.value.what == f"error= cannot be promised for {aggregate}"
    assert refused.value.fix == "epsilon=0.1, and look at release.errors"
    release = asked.sql(f"SELECT COUNT(*), {aggregate} AS a FROM t", epsilon=0.1)
    assert release.errors["a"][0] > 0


def test_only_costs_that_a_question_takes_are_suggested() -> None:
    asked = session(dp.Budget(epsilon=1))
    with pytest.raises(dp.ParameterError, match="or error=100"):
        asked.sql("SELECT COUNT(*) FROM t")
    with pytest.raises(dp.ParameterError, match="or error=100"):
        asked.select("SELECT k, COUNT(*) FROM t GROUP BY k")
    with pytest.raises(dp.ParameterError, match="no cost was said") as refused:
        asked.sql("SELECT SUM(1 / x) FROM t", bounds="auto")
    assert "error=" not in refused.value.fix


def test_an_error_finer_than_the_grid_is_refused() -> None:
    asked = session(dp.Budget(epsilon=1))
    with pytest.raises(dp.ParameterError, match="no cost meets"):
        asked.sql("SELECT SUM(x) FROM t", error=1e-12)


@pytest.mark.parametrize(
    "cost",
    [
        {"confidence": 0.9},
        {"error": 5, "confidence": 1.0},
        {"error": 5, "confidence": "much"},
        {"epsilon": 1, "confidence": 0.9},
        {"error": 0},
        {"error": float("nan")},
        {"error": 5, "epsilon": 1},
    ],
)
def test_confidence_goes_with_an_error(cost: dict[str, object]) -> None:
    with pytest.raises(dp.ParameterError):
        session(dp.Budget(epsilon=1)).sql("SELECT COUNT(*) FROM t", **cost)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::dpframe.PrivacyWarning")
@pytest.mark.parametrize(
    "budget", [dp.Budget(epsilon=1), dp.Budget(rho=0.1), dp.Budget(epsilon=1, delta=1e-6)]
)
def test_queries_shares_the_budget_equally_and_all_are_admitted(budget: dp.Budget) -> None:
    asked = session(budget, queries=4)
    for i in range(4):
        asked.sql(f"SELECT COUNT(*) FROM t WHERE x > {i}")
    assert asked.spent.releases == 4
    if budget.delta is None:
        with pytest.raises(dp.BudgetError):
            asked.sql("SELECT COUNT(*) FROM t WHERE x > 50")


def test_a_release_above_epsilon_one_warns() -> None:
    asked = session(dp.Budget(epsilon=100))
    with pytest.warns(dp.PrivacyWarning, match="costs epsilon 2"):
        asked.sql("SELECT COUNT(*) FROM t", epsilon=2)


def test_a_delta_that_could_release_somebody_outright_warns() -> None:
    asked = dp.Session(dp.Budget(epsilon=10, delta=1e-3))
    asked.register("t", TABLE, columns=COLUMNS, neighbors="replace", size=5_000)
    with pytest.warns(dp.PrivacyWarning, match="is not below 1 / 5,000"):
        asked.sql("SELECT k, COUNT(*) FROM t GROUP BY k", epsilon=0.1)


def test_a_budget_nearly_gone_warns() -> None:
    asked = session(dp.Budget(epsilon=1))
    with pytest.warns(dp.PrivacyWarning, match="nearly gone"):
        asked.sql("SELECT COUNT(*) FROM t", epsilon="0.95")


@pytest.mark.filterwarnings("ignore::dpframe.PrivacyWarning")
def test_an_analyst_has_a_budget_of_their_own_under_the_total() -> None:
    asked = session(dp.Budget(epsilon=10))
    ann = asked.as_analyst("ann", dp.Budget(epsilon=2))
    ann.sql("SELECT COUNT(*) FROM t", share=Fraction(1, 4))
    assert ann.remaining.epsilon == Fraction(3, 2)
    assert asked.remaining.epsilon == Fraction(19, 2)
    with pytest.raises(dp.BudgetError):
        ann.sql("SELECT COUNT(*) FROM t WHERE x > 1", epsilon=Fraction(16, 10))
    again = asked.as_analyst("ann")
    assert again.remaining.epsilon == Fraction(3, 2)
    again.sql("SELECT SUM(x) FROM t", share=Fraction(1, 4))  # of her budget, not of the total
    assert again.remaining.epsilon == 1
    with pytest.raises(dp.ParameterError, match="an analyst cannot give budgets"):
        ann.as_analyst("bob", dp.Budget(epsilon=9))


def test_where_warnings_are_errors_nothing_is_spent_for_no_answer() -> None:
    asked = session(dp.Budget(epsilon=100))
    with pytest.raises(dp.PrivacyWarning):  # pytest turns warnings into errors
        asked.sql("SELECT COUNT(*) FROM t", epsilon=2)
    assert asked.spent.releases == 0

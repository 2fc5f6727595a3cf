"""Winners within an error: the promise holds, at the least cost, and is kept by what is reused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import Stream

import dpframe as dp
from dpframe.mechanisms import Law
from dpframe.release.chosen import choice_offer, error_of
from dpframe.release.cost import Cost
from dpframe.release.winners import contest_of

WARDS = [f"w{i}" for i in range(20)]
COLUMNS = {"ward": dp.Keys(WARDS), "cost": dp.Range(0, 10), "age": dp.Range(0, 9)}
TABLE = pl.DataFrame(
    {
        "ward": [WARDS[min(i % 23, 19)] for i in range(4_000)],
        "cost": [float(i % 10) for i in range(4_000)],
        "age": [i % 7 for i in range(4_000)],
        "pid": [i % 800 for i in range(4_000)],
    }
)
BUDGETS = [dp.Budget(epsilon=50), dp.Budget(rho=50), dp.Budget(epsilon=20, delta=1e-6)]
BEST = "SELECT ward FROM visits GROUP BY ward ORDER BY {} DESC LIMIT {}"


def session(budget: dp.Budget | None = None, **options: Any) -> dp.Session:
    found = dp.Session(budget or dp.Budget(epsilon=50))
    found.register("visits", TABLE, columns=COLUMNS, **options)
    return found


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("unit", [dp.Row(), dp.Unit("pid", max_rows=3)], ids=["row", "unit"])
@pytest.mark.parametrize(("score", "k"), [("COUNT(*)", 1), ("COUNT(*)", 4), ("SUM(cost)", 1)])
def test_the_cost_is_the_least_that_keeps_the_promise(
    budget: dp.Budget, unit: dp.Row | dp.Unit, score: str, k: int
) -> None:
    query = session(budget, unit=unit).query(BEST.format(score, k))
    error, confidence = 300, 0.9
    loss = query.cost(error=error, confidence=confidence)
    assert f"cost    {loss}" in query.explain(error=error, confidence=confidence)
    pure = loss.epsilon != float("inf")
    contest = contest_of(query.compiled)
    assert contest is not None

    def nearest(part: Fraction) -> float:
        """How far behind the winners may be, by the better of both ways at a part of the cost."""
        cost = Cost(epsilon=loss.epsilon * part) if pure else Cost(rho=loss.rho * part)  # type: ignore[operator]
        chosen = choice_offer(contest.ballot, k, cost, budget, None)
        noisy = contest.error_of_noisy(query._offer(query.compiled, cost), confidence)
        return min(error_of(contest.ballot, chosen, confidence), noisy)

    assert nearest(Fraction(1)) <= error
    # One step of a score may be worth a hundredth of the cost, where scores are small.
    assert nearest(Fraction(98, 100)) > error


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [dp.Row(), dp.Unit("pid", max_rows=5)], ids=["row", "unit"])
def test_it_is_charged_said_and_the_same_in_polars(engine: str, unit: dp.Row | dp.Unit) -> None:
    asked = session(unit=unit, engine=engine)
    text = BEST.format("COUNT(*)", 1)
    expected = asked.query(text).cost(error=200, confidence=0.99)
    release = asked.sql(text, error=200, confidence=0.99)
    assert release.loss == expected
    assert asked.spent.epsilon == expected.epsilon
    assert release.item() == "w19"
    assert "with 99% confidence within" in repr(release)
    chained = asked.table("visits").group_by("ward").len().top_k(1, by="len").select("ward")
    assert chained.release(error=200, confidence=0.99).reused
    argmax = "SELECT ARG_MAX(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
    assert asked.query(argmax).cost(error=200, confidence=0.99) == dp.Loss.none()


@pytest.mark.parametrize("budget", BUDGETS[:2], ids=str)
@pytest.mark.parametrize("k", [1, 3])
def test_the_promise_holds_where_it_is_hardest(budget: dp.Budget, k: int) -> None:
    """All that may not be chosen is just beyond the error."""
    query = session(budget).query(BEST.format("COUNT(*)", k))
    error = 40
    contest = contest_of(query.compiled)
    assert contest is not None
    ahead = [error + 1] * k + [0] * (20 - k)
    offer = choice_offer(contest.ballot, k, Cost(error=error), budget, None)
    made, rounds = offer.mechanism, np.tile(ahead, (2_000, 1))
    chosen = made.select_each(rounds, Stream(71)).reshape(2_000, k)
    assert 0.935 <= np.mean((chosen < k).all(axis=1)) <= 0.99
    counts = query._offer(query.compiled, Cost(error=error))
    (law,) = counts.laws
    assert isinstance(law, Law)
    noisy = law.draw(2_000 * 20, Stream(72)).reshape(2_000, 20) + rounds
    behind = noisy[:, :k].min(axis=1) < noisy[:, k:].max(axis=1)
    assert 0.94 <= 1 - np.mean(behind) <= 0.99


def test_noisy_scores_are_taken_where_they_cost_less() -> None:
    query = session().query(BEST.format("COUNT(*)", 5))
    said = query.explain(error=100)
    assert "with the best noisy scores; with 95% confidence within 100 of the best" in said
    assert "(chosen by rounds of permute-and-flip, within 100 for epsilon" in said
    release = query.release(error=100)
    assert len(release) == 5
    assert "by noisy scores of 20 groups, with 95% confidence within 100 of the best" in repr(
        release
    )
    assert "within" in query.explain(epsilon=0.1, fresh=True)
    assert "for epsilon" not in query.explain(epsilon=0.1, fresh=True)


def test_the_error_of_a_selection_is_in_units_of_its_score() -> None:
    asked = session()
    choice = asked.select("SELECT ward, SUM(cost) FROM visits GROUP BY ward", error=500)
    assert 490 <= choice.error() <= 500
    assert choice.loss.epsilon == asked.spent.epsilon
    less = asked.select(
        "SELECT ward, SUM(cost) FROM visits GROUP BY ward", error=500, confidence=0.5
    )
    assert less.loss.epsilon < choice.loss.epsilon
    assert less.error(0.5) <= 500 < less.error()
    assert "with 50% confidence within" in repr(less)


@pytest.mark.parametrize("by", ["", " GROUP BY ward"])
def test_the_most_frequent_value_is_within_an_error_in_all_groups(by: str) -> None:
    query = session().query(f"SELECT MODE(age) AS m, COUNT(*) AS n FROM visits{by}")
    release = query.release(error=60, confidence=0.9)
    assert release.errors["n"].max() <= 80  # type: ignore[operator]
    offer = query._offer(query.compiled, Cost(error=60, confidence=0.9))
    groups = 20 if by else 1
    chooses = next(law for law in offer.laws if hasattr(law, "choose"))
    assert chooses.error(0.9, 10, groups) <= 60  # type: ignore[union-attr]
    if not by:  # alone, it is a contest of values
        return
    alone = session().query("SELECT MODE(age) AS m FROM visits GROUP BY ward")
    loss = alone.cost(error=60, confidence=0.9)
    within = [
        alone._offer(alone.compiled, Cost(epsilon=loss.epsilon * part)).laws[0]  # type: ignore[operator]
        for part in (1, Fraction(98, 100))
    ]
    enough, less = (law.error(0.9, 10, groups) for law in within)  # type: ignore[union-attr]
    assert enough <= 60 < less


def test_winners_are_reused_only_if_they_keep_the_promise() -> None:
    asked = session()
    text = BEST.format("COUNT(*)", 1)
    asked.sql(text, error=200)
    assert asked.query(text).cost(error=200) == dp.Loss.none()
    assert asked.query(text).cost(error=200, confidence=0.99) != dp.Loss.none()
    assert asked.query(text).cost(error=20) != dp.Loss.none()
    asked.sql(text, error=20)
    assert asked.query(text).cost(error=20) == dp.Loss.none()


def test_noisy_scores_are_reused_only_if_they_keep_the_promise() -> None:
    asked = session()
    asked.sql("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon=1)
    assert asked.query(BEST.format("COUNT(*)", 3)).cost(error=50) == dp.Loss.none()
    assert asked.query(BEST.format("COUNT(*)", 3)).cost(error=1) != dp.Loss.none()


@pytest.mark.parametrize("error", [0, -5, float("nan"), float("inf"), "many", True])
def test_what_is_no_error_is_refused(error: Any) -> None:
    asked = session()
    for ask in (
        lambda: asked.sql(BEST.format("COUNT(*)", 1), error=error),
        lambda: asked.select("SELECT ward, COUNT(*) FROM visits GROUP BY ward", error=error),
    ):
        with pytest.raises(dp.ParameterError, match="error"):
            ask()
    assert asked.spent.releases == 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC",
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) * SUM(cost) DESC LIMIT 1",
        "SELECT ward FROM visits GROUP BY ROLLUP (ward) ORDER BY COUNT(*) DESC LIMIT 1",
    ],
)
def test_winners_that_nothing_is_known_of_are_refused(text: str) -> None:
    asked = session()
    with pytest.raises(dp.ParameterError, match="cannot be promised for these winners"):
        asked.sql(text, error=100)
    assert len(asked.sql(text, epsilon=1)) >= 1


def test_winners_among_keys_that_are_not_public_are_refused() -> None:
    asked = dp.Session(dp.Budget(epsilon=5, delta=1e-6))
    asked.register("visits", TABLE, columns={"age": dp.Range(0, 9)})
    for text in (BEST.format("COUNT(*)", 1), "SELECT ward, MODE(age) FROM visits GROUP BY ward"):
        with pytest.raises(dp.ParameterError, match="cannot be promised"):
            asked.sql(text, error=100)
    assert asked.spent.releases == 0


def test_a_tiny_error_has_a_cost_and_a_finer_one_than_the_grid_has_none() -> None:
    asked = session()
    query = asked.query(BEST.format("COUNT(*)", 1))
    assert 1 < query.cost(error=0.5).epsilon < 10  # the very best, in nineteen cases of twenty
    with pytest.raises(dp.ParameterError, match="no cost meets that error"):
        asked.query(BEST.format("SUM(cost)", 1)).cost(error=1e-12)


def test_numbers_of_many_groups_are_within_an_error_and_their_winners_are_not_promised() -> None:
    """A place among all groups is a number that is shown; keys in its order are winners."""
    place = "RANK() OVER (ORDER BY COUNT(*) DESC) AS place"
    asked = session()
    query = asked.query(f"SELECT ward, COUNT(*) AS n, {place} FROM visits GROUP BY ward ORDER BY 3")
    assert query.cost(error=20) == asked.query(
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    ).cost(error=20)
    alone = f"SELECT ward FROM (SELECT ward, {place} FROM visits GROUP BY ward) ORDER BY place"
    with pytest.raises(dp.ParameterError, match="cannot be promised for these winners"):
        asked.query(alone).cost(error=20)

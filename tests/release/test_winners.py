"""Winners without scores: which queries are contests, how they are answered, and what they cost."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.release.winners import contest_of

COLUMNS = {
    "ward": dp.Keys(["er", "gp", "icu"]),
    "cost": dp.Range(0, 100),
    "n": dp.Range(0, 199, nullable=False),
}
TABLE = pl.DataFrame(
    {
        "ward": ["er"] * 500 + ["gp"] * 300 + ["icu"] * 200 + ["elsewhere", None] * 400,
        "cost": [1.0] * 500 + [50.0] * 300 + [2.0] * 200 + [100.0] * 800,
        "n": [i % 200 for i in range(1800)],
        "pid": [i % 100 for i in range(1800)],
    }
)
MOST = "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1"


def session(budget: dp.Budget | None = None, **options: Any) -> dp.Session:
    found = dp.Session(budget or dp.Budget(epsilon=100, delta=1e-6))
    found.register("visits", TABLE, columns=COLUMNS, **options)
    return found


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [None, dp.Unit("pid", max_rows=20)], ids=["row", "unit"])
@pytest.mark.parametrize(
    ("text", "winners"),
    [
        (MOST, ["er"]),
        ("SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) LIMIT 1", ["icu"]),
        ("SELECT ward FROM visits GROUP BY ward ORDER BY SUM(cost) DESC LIMIT 1", ["gp"]),
        ("SELECT UPPER(ward) FROM visits GROUP BY ward ORDER BY -COUNT(*), ward LIMIT 1", ["ER"]),
        ("SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 2", ["er", "gp"]),
        (
            "SELECT ward FROM visits GROUP BY 1 ORDER BY COUNT(*) / 2 DESC FETCH FIRST ROW ONLY",
            ["er"],
        ),
    ],
)
def test_winners_are_found(engine: str, unit: Any, text: str, winners: list[str]) -> None:
    asked = session(engine=engine, unit=unit)
    assert contest_of(asked.query(text)._compiled) is not None
    release = asked.sql(text, epsilon=1)
    assert release.frame.to_series().to_list() == winners
    assert release.frame.width == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n DESC LIMIT 1",
        "SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 3 ORDER BY COUNT(*) DESC LIMIT 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY AVG(cost) DESC LIMIT 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) * NULL DESC LIMIT 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY CAST(COUNT(*) AS VARCHAR) DESC LIMIT 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 0",
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC, SUM(cost) LIMIT 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY ward LIMIT 1",
        "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC",
    ],
)
def test_other_queries_are_answered_from_noisy_numbers(text: str) -> None:
    asked = session()
    assert contest_of(asked.query(text)._compiled) is None
    assert "chosen among" not in repr(asked.sql(text, epsilon=1))


def test_the_polars_words_for_it_are_the_same_contest_and_free() -> None:
    asked = session()
    first = asked.sql(MOST, epsilon=1)
    counted = asked.table("visits").group_by("ward").agg(pl.len())
    for again in (
        counted.top_k(1, by="len").select("ward"),
        counted.sort("len", descending=True).head(1).select("ward"),
    ):
        release = again.release(epsilon=1)
        assert release.reused
        assert release.frame.equals(first.frame)
    assert asked.query(MOST).cost(epsilon=1).epsilon == 0
    assert "nothing" in asked.query(MOST).explain(epsilon=1)
    assert asked.spent.releases == 1
    assert not asked.sql(MOST, epsilon=1, fresh=True).reused
    assert asked.spent.releases == 2


def test_another_contest_is_not_answered_by_an_earlier_one() -> None:
    asked = session()
    asked.sql(MOST, epsilon=1)
    for text in (
        MOST.replace("DESC", ""),
        MOST.replace("LIMIT 1", "LIMIT 2"),
        MOST.replace("GROUP BY", "WHERE cost < 10 GROUP BY"),
        MOST.replace("COUNT(*)", "SUM(cost)"),
        MOST.replace("COUNT(*)", "COUNT(cost)"),
    ):
        assert not asked.sql(text, epsilon=1).reused


def test_many_winners_are_taken_from_noisy_counts_which_are_better_then() -> None:
    text = "SELECT n FROM visits GROUP BY n ORDER BY COUNT(*) DESC LIMIT {}"
    asked = session()
    assert "which is not released" in asked.query(text.format(1)).explain(epsilon=1)
    assert "which is not released" not in asked.query(text.format(150)).explain(epsilon=1)
    assert len(asked.sql(text.format(150), epsilon=1)) == 150


def test_explain_says_how_and_the_ledger_knows() -> None:
    asked = session(unit=dp.Unit("pid", max_rows=4))
    said = asked.query(MOST).explain(epsilon=0.5)
    assert "permute-and-flip" in said
    assert "one unit moves each group's by at most 4, all in one direction" in said
    assert asked.query(MOST).cost(epsilon=0.5).epsilon == 0.5
    assert asked.spent.releases == 0
    release = asked.sql(MOST, epsilon=0.5)
    assert "within" in repr(release)
    assert "cost: epsilon 0.5" in repr(release)
    assert asked.spent.releases == 1


def test_a_voter_who_votes_for_all_moves_each_count_of_voters_by_one() -> None:
    asked = session(unit=dp.Unit("pid", max_rows=3))
    text = "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(DISTINCT pid) DESC LIMIT 1"
    contest = contest_of(asked.query(text)._compiled)
    assert contest is not None
    assert contest.ballot.sensitivity * contest.ballot.step == 1
    assert contest.ballot.monotone


def test_a_contest_that_is_too_expensive_is_refused_and_costs_nothing() -> None:
    asked = session(dp.Budget(epsilon=1))
    with pytest.raises(dp.BudgetError):
        asked.sql(MOST, epsilon=2)
    with pytest.raises(dp.ParameterError):
        asked.sql(MOST)
    assert asked.spent.releases == 0


@pytest.mark.parametrize(
    "score", ["COUNT(*) * 1e300 * 1e300", "COUNT(*) * 1e-300 + SUM(cost) * 1e300"]
)
def test_factors_beyond_any_noise_are_sorted_by_noisy_numbers(score: str) -> None:
    text = f"SELECT ward FROM visits GROUP BY ward ORDER BY {score} DESC LIMIT 1"
    assert len(session().sql(text, epsilon=1)) == 1


def test_an_empty_table_has_winners_too() -> None:
    asked = dp.Session(dp.Budget(epsilon=1))
    asked.register("visits", TABLE.clear(), columns=COLUMNS)
    assert asked.sql(MOST, epsilon=0.1).item() in ("er", "gp", "icu")

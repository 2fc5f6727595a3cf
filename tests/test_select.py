"""Choosing the best candidate: sensitivities are derived, and the winner is usually right."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import polars as pl
import pytest

import dpframe as dp
from dpframe.engines.base import request_for
from dpframe.release.choice import Ballot, ballot_of

COLUMNS = {"ward": dp.Keys(["er", "gp", "icu"]), "cost": dp.Range(0, 100), "debt": dp.Range(-5, 5)}
TABLE = pl.DataFrame(
    {
        "ward": ["er"] * 500 + ["gp"] * 300 + ["icu"] * 200,
        "cost": [1.0] * 500 + [50.0] * 300 + [2.0] * 200,
        "debt": [1.0] * 1000,
        "pid": [i % 100 for i in range(1000)],
    }
)


def session(budget: dp.Budget | None = None, **options: object) -> dp.Session:
    found = dp.Session(budget or dp.Budget(epsilon=100, delta=1e-6))
    found.register("visits", TABLE, columns=COLUMNS, **options)  # type: ignore[arg-type]
    return found


def ballot(text: str, *, largest: bool = True, **options: object) -> Ballot:
    return ballot_of(session(**options).query(text)._compiled, largest=largest)


BY_COUNT = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
IN_TWENTIES = "CAST(FLOOR(cost / 20) AS BIGINT)"


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": Fraction(1, 8)}, {"share": 0.01}])
def test_a_clear_winner_wins(cost: dict[str, object]) -> None:
    assert session().select(BY_COUNT, **cost).winner == "er"  # type: ignore[arg-type]


def test_the_smallest_can_be_chosen_too() -> None:
    assert session().select(BY_COUNT, epsilon=1, largest=False).winner == "icu"


def test_scores_may_combine_counts_and_sums() -> None:
    text = "SELECT ward, SUM(cost) - 2 * COUNT(*) / 4 AS s FROM visits GROUP BY ward"
    assert session().select(text, epsilon=1).winner == "gp"


def test_top_k_is_in_order() -> None:
    choice = session().select(BY_COUNT, epsilon=1, k=3)
    assert choice.frame["ward"].to_list() == ["er", "gp", "icu"]
    assert len(choice) == 3


def test_a_large_cost_is_warned_of_before_it_is_charged() -> None:
    opened = session()
    with pytest.raises(dp.PrivacyWarning, match="costs epsilon 3"):
        opened.select(BY_COUNT, epsilon=3)
    assert opened.spent.epsilon == 0


def test_columns_are_candidates_where_there_are_no_groups() -> None:
    text = """SELECT COUNT(*) FILTER (WHERE cost < 10) AS cheap,
                     COUNT(*) FILTER (WHERE cost >= 10) AS dear FROM visits"""
    assert session().select(text, epsilon=1).winner == "cheap"


@pytest.mark.parametrize(
    ("score", "value", "monotone"),
    [
        ("COUNT(*)", 1, True),
        ("3 * COUNT(*)", 3, True),
        ("-COUNT(*)", 1, True),
        ("SUM(cost)", 100, True),
        ("SUM(debt)", 5, False),
        ("SUM(cost) + COUNT(*)", 101, True),
        ("SUM(cost) - COUNT(*)", 101, False),
        ("COUNT(*) / 2", Fraction(1, 2), True),
    ],
)
def test_the_sensitivity_of_a_score_is_derived(score: str, value: Fraction, monotone: bool) -> None:
    found = ballot(f"SELECT ward, {score} AS s FROM visits GROUP BY ward")
    assert found.sensitivity * found.step == value
    assert found.monotone is monotone


def test_a_unit_counts_for_all_its_rows_and_replacing_is_not_monotone() -> None:
    by_unit = ballot(BY_COUNT, unit=dp.Unit("pid", max_rows=4))
    assert by_unit.sensitivity * by_unit.step == 4
    replaced = ballot(BY_COUNT, neighbors="replace", size=1000)
    assert not replaced.monotone


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [dp.Row(), dp.Unit("pid", max_rows=4)])
@pytest.mark.parametrize("score", ["COUNT(*)", "SUM(debt) - 3 * COUNT(*)", "COUNT(*) - SUM(cost)"])
def test_removing_one_unit_stays_within_sensitivity(
    engine: str, unit: dp.Row | dp.Unit, score: str
) -> None:
    text = f"SELECT ward, {score} AS s FROM visits GROUP BY ward"

    def scores(data: pl.DataFrame) -> tuple[Ballot, list[int]]:
        asked = dp.Session(dp.Budget(epsilon=1))
        asked.register("visits", data, columns=COLUMNS, unit=unit, engine=engine)  # type: ignore[arg-type]
        query = asked.query(text)
        found = ballot_of(query._compiled, largest=True)
        request = request_for(query._compiled, found.layout)
        return found, found.scores(query._engine.measure(request))

    found, whole = scores(TABLE)
    for pid in (0, 7, 99):
        rows = TABLE.filter(pl.col("pid") != pid) if isinstance(unit, dp.Unit) else TABLE[1:]
        _, less = scores(rows)
        moves = [a - b for a, b in zip(whole, less, strict=True)]
        assert max(map(abs, moves)) <= found.sensitivity
        if found.monotone:
            assert min(moves) >= 0 or max(moves) <= 0


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ward, AVG(cost) FROM visits GROUP BY ward",
        "SELECT ward, SUM(cost) / COUNT(*) FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) * COUNT(*) FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*), SUM(cost) FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > 3",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 1",
    ],
)
def test_a_score_whose_sensitivity_is_not_proven_is_refused(text: str) -> None:
    asked = session()
    with pytest.raises(dp.QueryError):
        asked.select(text, epsilon=1)
    assert asked.spent.releases == 0


@pytest.mark.parametrize("k", [0, -1, 4, True, 1.5, "2"])
def test_a_number_of_winners_that_makes_no_sense_is_refused(k: object) -> None:
    asked = session()
    with pytest.raises(dp.ParameterError, match="k="):
        asked.select(BY_COUNT, epsilon=1, k=k)  # type: ignore[arg-type]
    assert asked.spent.releases == 0


def test_the_choice_is_charged_and_a_refused_one_is_not() -> None:
    asked = session(dp.Budget(epsilon=1))
    asked.select(BY_COUNT, epsilon="0.4")
    assert asked.remaining.epsilon == Fraction(6, 10)
    with pytest.raises(dp.BudgetError):
        asked.select(BY_COUNT, epsilon="0.7")
    with pytest.raises(dp.BudgetError):
        asked.select(BY_COUNT, rho="0.01")
    assert asked.remaining.epsilon == Fraction(6, 10)


def test_the_error_of_a_choice_covers() -> None:
    text = "SELECT ward, COUNT(*) FROM visits GROUP BY ward"
    best = {"er": 500, "gp": 300, "icu": 200}
    asked = session(dp.Budget(epsilon=1000))
    wins: Counter[bool] = Counter()
    for _ in range(300):
        choice = asked.select(text, epsilon=Fraction(1, 100))
        wins[500 - best[choice.winner] <= choice.error(0.9)] += 1
    assert wins[True] >= 0.85 * 300


def test_it_reads_well() -> None:
    shown = repr(session().select(BY_COUNT, epsilon=1))
    assert shown.startswith("1. er\n")
    assert "cost: epsilon 1" in shown
    assert "<li>er</li>" in session().select(BY_COUNT, epsilon=1)._repr_html_()


@pytest.mark.parametrize(
    ("text", "words", "fix"),
    [
        (
            "SELECT COUNT(*) FROM visits GROUP BY ward",
            "no key of GROUP BY is selected",
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
        ),
        (
            "SELECT ward FROM visits GROUP BY ward",
            "there is no score",
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
        ),
        (
            "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY ward",
            "there are 2 scores: n, s",
            "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
        ),
        (
            "SELECT HISTOGRAM(cost, 5) FROM visits",
            "the bins of cost are no candidates",
            f"SELECT {IN_TWENTIES}, COUNT(*) FROM visits GROUP BY {IN_TWENTIES}",
        ),
    ],
)
def test_what_is_no_choice_is_refused_with_one_that_is(text: str, words: str, fix: str) -> None:
    asked = session()
    with pytest.raises(dp.QueryError, match=words) as refused:
        asked.select(text, epsilon=1)
    assert refused.value.fix == fix
    assert asked.spent.releases == 0
    assert len(asked.select(fix, epsilon=0.5)) == 1

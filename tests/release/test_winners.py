"""Winners without scores: which queries are contests, how they are answered, and what they cost."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from privacy.audit import epsilon_at_least
from scipy import stats
from streams import Stream

import dpframe as dp
from dpframe.budget.filters import Filter
from dpframe.engines.base import request_for
from dpframe.mechanisms import ExponentialMechanism, PeeledTopK, PermuteAndFlip, TopK
from dpframe.release.choice import Ballot
from dpframe.release.chosen import choice_offer, choose, error_of
from dpframe.release.cost import Cost
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
VOTES = "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(DISTINCT pid) DESC LIMIT 1"


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
        "SELECT ward, GROUPING(ward) AS g FROM visits GROUP BY ROLLUP (ward) ORDER BY COUNT(*) LIMIT 1",
        "SELECT ward FROM visits GROUP BY CUBE (ward) ORDER BY COUNT(*) DESC LIMIT 1",
        "SELECT ward FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1 LIMIT 2) ORDER BY n LIMIT 1",
        "SELECT w FROM (SELECT ward AS w FROM visits GROUP BY 1 ORDER BY COUNT(*) LIMIT 1) WHERE w > 'a'",
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
    contest = contest_of(asked.query(VOTES)._compiled)
    assert contest is not None
    assert contest.ballot.sensitivity * contest.ballot.step == 1
    assert contest.ballot.monotone


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_unit_counts_in_full_in_each_of_its_groups(engine: str) -> None:
    """Voter 0 votes three times for each of 30, which is ten times what it may weigh in all."""
    names = [f"日本 {i:02}" for i in range(30)]
    votes = pl.DataFrame({"pid": [0] * 90 + [1] * 10, "dish": names * 3 + [names[7]] * 10})
    for score, best, expected in (
        ("COUNT(DISTINCT pid)", 2, 1),
        ("COUNT(*)", (3 + 9), 3),  # the ten votes of voter 1 weigh nine
        ("SUM(1 - 2)", -(3 + 9), -3),
    ):
        asked = dp.Session(dp.Budget(epsilon=1))
        columns = {"dish": dp.Keys(names)}
        unit = dp.Unit("pid", max_rows=9)
        asked.register("votes", votes, columns=columns, unit=unit, engine=engine)  # type: ignore[arg-type]
        text = f"SELECT dish FROM votes GROUP BY dish ORDER BY {score} DESC LIMIT 1"
        query = asked.query(text)
        contest = contest_of(query._compiled)
        assert contest is not None
        ballot = contest.ballot
        measured = query._engine.measure(request_for(query._compiled, ballot.layout))
        found = [score * ballot.step for score in ballot.scores(measured)]
        assert found == [best if i == 7 else expected for i in range(30)]


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("unit", [None, dp.Unit("pid", max_rows=2)], ids=["row", "unit"])
@pytest.mark.parametrize(
    "score",
    [
        "COUNT(*)",
        "COUNT(DISTINCT pid)",
        "COUNT(DISTINCT x)",
        "SUM(x)",
        "3 * COUNT(*) FILTER (WHERE x > 1) + SUM(x + 2)",
        "COUNT(*) - SUM(x) / 2",
    ],
)
def test_one_unit_moves_each_score_by_no_more_than_is_said(
    engine: str, neighbors: str, unit: Any, score: str
) -> None:
    """On random neighbours; and where scores are monotone, all move in one direction."""
    random = np.random.default_rng(3)
    for _ in range(3):
        table = pl.DataFrame(
            {
                "pid": random.choice([0, 1, 2, 3, None], 40).tolist(),
                "ward": random.choice(["er", "gp", "icu", "elsewhere", None], 40).tolist(),
                "x": random.choice([-2, 0, 1, 5, 99, None], 40).tolist(),
            },
            schema={"pid": pl.Int64, "ward": pl.String, "x": pl.Int64},
        )
        rest = table.filter(pl.col("pid").ne_missing(1)) if unit else table[1:]
        if neighbors == "replace":
            other = pl.DataFrame({"pid": [7] * 30, "ward": ["er", "gp"] * 15, "x": [5] * 30})
            rest = pl.concat([rest, other if unit else other[:1]])
        ballots, scores = zip(
            *(_scores(t, score, engine, neighbors, unit) for t in (table, rest)), strict=True
        )
        moves = [a - b for a, b in zip(*scores, strict=True)]
        assert max(map(abs, moves)) <= ballots[0].sensitivity
        if ballots[0].monotone:
            assert min(moves) >= 0 or max(moves) <= 0


def _scores(
    table: pl.DataFrame, score: str, engine: str, neighbors: str, unit: Any
) -> tuple[Ballot, list[int]]:
    asked = dp.Session(dp.Budget(epsilon=1))
    columns = {"ward": dp.Keys(["er", "gp", "icu", None]), "x": dp.Range(-2, 5)}
    size = 100 if neighbors == "replace" else None
    asked.register(
        "t", table, columns=columns, unit=unit, engine=engine, neighbors=neighbors, size=size
    )  # type: ignore[arg-type]
    query = asked.query(f"SELECT ward FROM t GROUP BY ward ORDER BY {score} LIMIT 1")
    contest = contest_of(query._compiled)
    assert contest is not None
    measured = query._engine.measure(request_for(query._compiled, contest.ballot.layout))
    return contest.ballot, contest.ballot.scores(measured)


def test_a_voter_who_votes_for_two_of_three_costs_no_more_than_epsilon() -> None:
    """An audit of the whole: what is found lies below what is charged, and not far below."""
    votes = pl.DataFrame({"pid": [0] * 40 + [1], "ward": ["er", "gp"] * 20 + ["icu"]})
    found = []
    for table in (votes, votes.filter(pl.col("pid") != 0)):
        asked = dp.Session(dp.Budget(epsilon=1))
        unit = dp.Unit("pid", max_rows=1)
        asked.register("visits", table, columns={"ward": COLUMNS["ward"]}, unit=unit)
        query = asked.query(VOTES)
        contest = contest_of(query._compiled)
        assert contest is not None
        measured = query._engine.measure(request_for(query._compiled, contest.ballot.layout))
        offer = choice_offer(contest.ballot, 1, Cost(epsilon=1), asked.budget, None)
        scores = np.tile(contest.ballot.scores(measured), (40_000, 1))
        found.append(offer.mechanism.select_each(scores, Stream(9 + len(found))))
        assert offer.loss.epsilon == 1
    assert 0.3 <= epsilon_at_least(*found) <= 1


def test_replacing_a_unit_moves_a_count_no_further_than_adding_one() -> None:
    """It leaves some groups and enters others: no count moves by more than one unit's part in it."""
    for score, moved in (("COUNT(DISTINCT pid)", 1), ("COUNT(*)", 3), ("SUM(cost)", 300)):
        asked = session(unit=dp.Unit("pid", max_rows=3), neighbors="replace", size=100)
        contest = contest_of(asked.query(VOTES.replace("COUNT(DISTINCT pid)", score))._compiled)
        assert contest is not None
        assert contest.ballot.sensitivity * contest.ballot.step == moved
        assert not contest.ballot.monotone


# --- which groups compete ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "winners"),
    [
        ("SELECT ward FROM visits GROUP BY ward HAVING ward <> 'er' ORDER BY COUNT(*) DESC LIMIT 1", ["gp"]),
        ("SELECT ward FROM visits GROUP BY ward HAVING ward > 'er' ORDER BY COUNT(*) LIMIT 1", ["icu"]),
        ("SELECT ARG_MAX(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)", ["er"]),
        ("SELECT ARG_MIN(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)", ["icu"]),
        ("SELECT MAX_BY(ward, s) FROM (SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward)", ["gp"]),
        ("SELECT ward FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY n) LIMIT 1", ["icu"]),
    ],
)  # fmt: skip
def test_contests_in_other_words(text: str, winners: list[str]) -> None:
    asked = session()
    assert contest_of(asked.query(text)._compiled) is not None
    release = asked.sql(text, epsilon=1)
    assert release.frame.to_series().to_list() == winners
    assert asked.sql(text, epsilon=1).reused


def test_arg_max_is_the_same_contest_and_free() -> None:
    asked = session()
    asked.sql(MOST, epsilon=1)
    inner = "(SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
    for text in (
        f"SELECT ARG_MAX(ward, n) FROM {inner}",
        f"SELECT MAX_BY(LOWER(ward), n) AS w FROM {inner} AS t",
        f"WITH t AS {inner} SELECT ARG_MIN(ward, -n) AS w FROM t",
        f"SELECT ARG_MAX(ward, n) FROM {inner} WHERE ward IN ('er', 'gp', 'icu')",
        f"SELECT UPPER(w) AS w FROM (SELECT ARG_MAX(ward, n) AS w FROM {inner})",
    ):
        assert asked.sql(text, epsilon=1).reused, text
    assert not asked.sql(f"SELECT ARG_MAX(ward, n) FROM {inner} WHERE ward > 'a' AND ward < 'h'", epsilon=1).reused  # fmt: skip
    assert asked.spent.releases == 2


def test_arg_max_passes_over_null_and_order_by_does_not() -> None:
    asked = dp.Session(dp.Budget(epsilon=10))
    table = pl.DataFrame({"ward": ["é", "日本", "日本", *[None] * 50]})
    asked.register("visits", table, columns={"ward": dp.Keys(["é", "日本", "x", None])})
    assert asked.sql(MOST, epsilon=1).item() is None
    text = "SELECT ARG_MAX(ward, n) FROM (SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward)"
    contest = contest_of(asked.query(text)._compiled)
    assert contest is not None
    assert contest.ballot.candidates["k0"].to_list() == ["x", "é", "日本"]
    assert asked.sql(text, epsilon=1).item() in ("é", "日本", "x")
    assert "chosen among 3 groups" in asked.query(text).explain(epsilon=1, fresh=True)


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_one_group_is_the_winner_whatever_its_score(rows: int) -> None:
    asked = dp.Session(dp.Budget(epsilon=10))
    asked.register("visits", TABLE[:rows], columns={"ward": dp.Keys(["er"])})
    assert asked.sql(MOST, epsilon=0.1).frame["ward"].to_list() == ["er"]


@pytest.mark.parametrize(("limit", "count"), [(0, 0), (3, 3), (99, 3), (2**45, 3)])
def test_there_are_no_more_winners_than_groups(limit: int, count: int) -> None:
    text = MOST.replace("LIMIT 1", f"LIMIT {limit}")
    for epsilon in (0.1, 1):
        release = session().sql(text, epsilon=epsilon)
        assert release.frame["ward"].n_unique() == release.frame.height == count


def test_groups_with_equal_scores_win_equally_often() -> None:
    asked = session()
    contest = contest_of(asked.query(MOST)._compiled)
    assert contest is not None
    offer = choice_offer(contest.ballot, 1, Cost(epsilon=1), asked.budget, None)
    source, wins = Stream(17), Counter()
    for _ in range(3000):
        wins[choose(contest.ballot, offer, [[5, 5, 5]], source)[0]] += 1
    assert stats.chisquare([wins[i] for i in range(3)]).pvalue > 1e-4


# --- the mechanism with the least error --------------------------------------------------------------


GROUPS = "SELECT n FROM visits GROUP BY n ORDER BY {} DESC LIMIT {}"


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("score", ["COUNT(*)", "COUNT(DISTINCT pid)", "SUM(cost)"])
@pytest.mark.parametrize(
    ("budget", "cost"),
    [
        (dp.Budget(epsilon=10), {"epsilon": 0.5}),
        (dp.Budget(epsilon=10), {"share": 0.05}),
        (dp.Budget(rho=1), {"epsilon": 0.5}),
        (dp.Budget(rho=1), {"rho": 0.02}),
        (dp.Budget(rho=1), {"share": 0.05}),
        (dp.Budget(epsilon=2, delta=1e-6), {"epsilon": 0.5}),
        (dp.Budget(epsilon=2, delta=1e-6), {"rho": 0.02}),
        (dp.Budget(epsilon=2, delta=1e-6), {"share": 0.05}),
    ],
)
def test_no_other_mechanism_of_that_cost_has_less_error(
    budget: dp.Budget, cost: dict[str, Any], score: str, k: int
) -> None:
    asked = session(budget, unit=dp.Unit("pid", max_rows=5))
    query = asked.query(GROUPS.format(score, k))
    contest, counts = contest_of(query._compiled), query._offer(query._compiled, Cost(**cost))
    assert contest is not None
    ballot = contest.ballot
    offer = choice_offer(ballot, k, Cost(**cost), budget, None)
    bound = ballot.sensitivity, ballot.monotone
    rivals: list[float] = []
    share = Filter.for_budget(budget).share(Fraction(1, 20)) if "share" in cost else None
    epsilon = share.epsilon if share else Fraction(str(cost.get("epsilon", 0)))
    rho = share.rho if share else Fraction(str(cost.get("rho", 0)))
    if epsilon:
        rivals += [TopK(epsilon, bound[0], k, bound[1]).error(0.95, 200)]
        rivals += [PeeledTopK(epsilon, bound[0], k, bound[1]).error(0.95, 200)]
    if rho:
        rivals += [TopK.for_rho(rho, bound[0], k, bound[1]).error(0.95, 200)]
    error = error_of(ballot, offer, 0.95)
    assert error == min(rivals) * ballot.step
    said = query.explain(**cost)
    if error < contest.error_of_noisy(counts):
        assert f"by {offer.name}" in said
        assert "which is not released" in said
    else:
        assert "with the best noisy scores" in said
        assert f"chosen by {offer.name}, within" in said


@pytest.mark.parametrize("kind", [PermuteAndFlip, ExponentialMechanism])
def test_the_error_of_a_winner_covers_at_its_rate(kind: Any) -> None:
    """In the worst case, where all other groups are just beyond the error; and as theory has it."""
    made = kind(Fraction(1, 10), 1, True)
    error = made.error(0.95, 200)
    factor = 2 if kind is PermuteAndFlip else 1
    assert error == pytest.approx(10 * math.log(199 / (factor * 0.05)), abs=2)
    rows = np.tile([error + 1] + [0] * 199, (2000, 1))
    right = np.mean(made.select_each(rows, Stream(41)) == 0)
    assert 0.93 <= right <= 0.98


@pytest.mark.parametrize("kind", [PeeledTopK, TopK])
def test_the_error_of_several_winners_covers_at_its_rate(kind: Any) -> None:
    made = kind(Fraction(1), 1, 3, True)
    error = made.error(0.95, 200)
    rows = np.tile([3 * error + 3, 2 * error + 2, error + 1] + [0] * 197, (2000, 1))
    right = np.all(made.select_each(rows, Stream(42)) == [0, 1, 2], axis=1)
    assert np.mean(right) >= 0.93  # not all ranks can be at their worst, so it may be above 98%


@pytest.mark.parametrize("cost", [{"epsilon": 0.1}, {"rho": 0.005}])
@pytest.mark.parametrize("k", [1, 4])
def test_the_error_of_noisy_scores_covers_at_its_rate(cost: dict[str, Any], k: int) -> None:
    query = session().query(GROUPS.format("COUNT(*)", k))
    contest, counts = contest_of(query._compiled), query._offer(query._compiled, Cost(**cost))
    assert contest is not None
    error, law = contest.error_of_noisy(counts), counts.laws[0]
    assert law is not None
    noise = law.draw(2000 * 200, Stream(43)).reshape(2000, 200).astype(float)
    noise[:, :k] += error  # k groups are ahead by the error: are they behind none of the others?
    right = np.mean(noise[:, :k].min(axis=1) >= noise[:, k:].max(axis=1))
    assert 0.93 <= right <= 0.985


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

"""Winners with their numbers: when they are chosen first, that it is better, and what is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import Stream

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines.base import request_for
from dpframe.release.cost import Cost, offer_for
from dpframe.release.winners_first import WinnersFirst

DISHES = [f"dish {i:02}" for i in range(20)]
COUNTS = {name: 10 * (i + 1) for i, name in enumerate(DISHES)}
"""How many people like each dish: person p likes those with more than p votes."""

VOTES = pl.DataFrame(
    [
        {"person": p, "dish": name, "x": p % 3}
        for name, count in COUNTS.items()
        for p in range(count)
    ]
)
BEST = "SELECT dish, COUNT(DISTINCT person) AS n FROM votes GROUP BY dish ORDER BY n DESC LIMIT 1"


def session(budget: dp.Budget | None = None, max_rows: int = 20, **options: Any) -> dp.Session:
    found = dp.Session(budget or dp.Budget(epsilon=100, delta=1e-6))
    columns = {"dish": dp.Keys(DISHES), "x": dp.Range(0, 2, nullable=False)}
    unit = dp.Unit("person", max_rows=max_rows)
    found.register("votes", VOTES, unit=unit, columns=columns, **options)
    return found


def offers(asked: dp.Session, text: str, cost: dict[str, Any]) -> tuple[Any, Any]:
    """What is taken, and what noisy numbers of all groups would be."""
    query = asked.query(text)
    every = offer_for(query._compiled, Cost(**cost), asked.budget, None)
    return query._offer(query._compiled, Cost(**cost)), every


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.1}, {"share": 0.01}])
def test_where_a_unit_is_in_many_groups_winners_come_first(cost: dict[str, Any]) -> None:
    asked = session()
    taken, every = offers(asked, BEST, cost)
    assert isinstance(taken, WinnersFirst)
    assert taken.deviation(0) < every.deviation(0) / 2
    assert taken.layout.sensitivities[0].linf == 1
    for name, value in cost.items():
        if name != "share":
            assert float(getattr(taken.loss, name)) <= value * (1 + 1e-9)
    assert "then measured" in asked.query(BEST).explain(**cost)
    assert asked.query(BEST).cost(**cost) == taken.loss


@pytest.mark.parametrize(
    ("text", "options"),
    [
        (BEST, {"max_rows": 1}),
        (BEST.replace("LIMIT 1", "LIMIT 15"), {}),
        (BEST.replace("LIMIT 1", "LIMIT 20"), {}),
        (BEST.replace("LIMIT 1", "LIMIT 0"), {}),
        (BEST.replace("LIMIT 1", "LIMIT 1 OFFSET 1"), {}),
        (BEST.replace("COUNT(DISTINCT person)", "COUNT(*)"), {}),
        (BEST.replace("COUNT(DISTINCT person)", "SUM(x)"), {}),
        (BEST.replace("AS n", "AS n, SUM(x) AS s"), {}),
        (BEST.replace("ORDER BY", "HAVING COUNT(*) > 3 ORDER BY"), {}),
        (BEST.replace("n DESC", "n DESC, COUNT(*)"), {}),
    ],
)
def test_elsewhere_noisy_numbers_of_all_groups_are_no_worse(
    text: str, options: dict[str, Any]
) -> None:
    """For counts of rows and sums that is proven: one group moves as far as all of them do."""
    taken, _ = offers(session(**options), text, {"epsilon": 1})
    assert not isinstance(taken, WinnersFirst)


def test_rows_are_in_one_group_each_so_nothing_is_gained() -> None:
    asked = dp.Session(dp.Budget(epsilon=1))
    asked.register("votes", VOTES, columns={"dish": dp.Keys(DISHES)})
    text = BEST.replace("COUNT(DISTINCT person)", "COUNT(*)")
    assert not isinstance(offers(asked, text, {"epsilon": 1})[0], WinnersFirst)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_the_winner_and_its_number_are_right_and_free_the_next_time(engine: str) -> None:
    asked = session(engine=engine)
    first = asked.sql(BEST, epsilon=1)
    assert first.frame["dish"].item() in DISHES[-3:]
    assert abs(first.frame["n"].item() - COUNTS[first.frame["dish"].item()]) < 40
    assert "then measured; cost: epsilon 1" in repr(first)
    assert asked.remaining.epsilon == 99
    again = asked.sql(BEST, epsilon=1)
    assert again.reused
    assert again.frame.equals(first.frame)
    assert asked.query(BEST).cost(epsilon=1) == dp.Loss.none()
    chain = asked.table("votes").group_by("dish").agg(n=pl.col("person").n_unique())
    assert chain.top_k(1, by="n").release(epsilon=1).frame.equals(first.frame)
    alone = "SELECT dish FROM votes GROUP BY dish ORDER BY COUNT(DISTINCT person) DESC LIMIT 1"
    assert asked.sql(alone, epsilon=1).frame["dish"].item() == first.frame["dish"].item()
    assert asked.spent.releases == 1
    assert not asked.sql(BEST, epsilon=1, fresh=True).reused


def test_numbers_of_some_groups_answer_no_question_about_all() -> None:
    for text in (
        "SELECT dish, COUNT(DISTINCT person) AS n FROM votes GROUP BY dish",
        BEST.replace("LIMIT 1", "LIMIT 2"),
        BEST.replace("DESC", ""),
        "SELECT COUNT(DISTINCT person) AS n FROM votes",
    ):
        asked = session()
        asked.sql(BEST, epsilon=1)
        assert not asked.sql(text, epsilon=1).reused, text


def test_a_refused_release_costs_nothing() -> None:
    asked = session(dp.Budget(epsilon=0.5))
    with pytest.raises(dp.BudgetError):
        asked.sql(BEST, epsilon=1)
    assert asked.spent.releases == 0


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize(
    "text",
    [
        "SELECT k, COUNT(DISTINCT u), COUNT(*), SUM(x) FROM t GROUP BY k",
        "SELECT k, x // 2 AS h, COUNT(DISTINCT u), COUNT(*) FROM t GROUP BY k, h",
        "SELECT x % 3 AS r, COUNT(DISTINCT u), COUNT(DISTINCT k) FROM t GROUP BY r",
    ],
)
def test_one_unit_moves_the_numbers_of_some_groups_by_no_more_than_is_said(
    engine: str, neighbors: str, text: str
) -> None:
    """Rows of all other groups weigh nothing, and count nowhere."""
    random = np.random.default_rng(5)
    keys = ["a", "é", None]
    for _ in range(2):
        table = pl.DataFrame(
            {
                "u": random.choice([0, 1, 2, None], 60).tolist(),
                "k": random.choice([*keys, "elsewhere"], 60).tolist(),
                "x": random.integers(0, 6, 60),
            },
            schema={"u": pl.Int64, "k": pl.String, "x": pl.Int64},
        )
        rest = table.filter(pl.col("u").ne_missing(1))
        if neighbors == "replace":
            rest = pl.concat([rest, pl.DataFrame({"u": [9] * 12, "k": ["a"] * 12, "x": range(12)})])
        found = []
        for data in (table, rest):
            asked = dp.Session(dp.Budget(epsilon=1))
            asked.register(
                "t",
                data,
                columns={"k": dp.Keys(keys), "x": dp.Range(0, 5, nullable=False)},
                unit=dp.Unit("u", max_rows=3),
                engine=engine,  # type: ignore[arg-type]
                neighbors=neighbors,  # type: ignore[arg-type]
                size=50 if neighbors == "replace" else None,
            )
            query = asked.query(text)
            some = query._compiled.among([0, 2])
            layout = layout_for(some, 1)
            found.append(query._engine.measure(request_for(some, layout)))
        for claim, before, after in zip(layout.sensitivities, *found, strict=True):
            moved = [abs(a - b) for a, b in zip(before, after, strict=True)]
            assert len(moved) == 2
            assert claim.l1 is not None
            assert sum(moved) <= claim.l1
            assert max(moved) <= claim.linf


def test_the_error_bar_of_the_winner_covers() -> None:
    """The number is measured after the choice, so it is not the largest of many noisy ones."""
    asked = session(dp.Budget(epsilon=10**6))
    asked._source = Stream(5)  # the same noise in every run
    covered = 0
    for _ in range(300):
        release = asked.sql(BEST, epsilon=1, fresh=True)
        low, high = release.intervals(0.95).select("n_low", "n_high").row(0)
        covered += low <= COUNTS[release.frame["dish"].item()] <= high
    assert 0.93 <= covered / 300 <= 0.98

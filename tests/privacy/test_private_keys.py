"""Keys that are not public: one that a single unit holds is hardly ever shown, one of none never.

The audits ask whole sessions, at a delta large enough to be measured. One table holds many keys,
each of its own units, and every rule decides key by key, so one answer is many draws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from privacy.audit import epsilon_at_least
from scipy import stats
from streams import Stream

import dpframe as dp
from dpframe.engines.base import Request, candidates_request
from dpframe.release import selection

DELTA = 0.1
FAILURE = 1e-6
UNITS = 400

Answer = Callable[[], list[Any]]


def asking(frame: pl.DataFrame, engine: Any, unit: dp.Unit | None, **cost: float) -> Answer:
    """Ask for the distinct keys, each time in a session of its own, of other random bits."""
    seeds = iter(range(10**6))

    def ask() -> list[Any]:
        session = dp.Session(dp.Budget(epsilon=1, delta=0.8))
        session._source = Stream(next(seeds))
        session.register("t", frame, engine=engine, unit=unit)
        release = session.sql("SELECT DISTINCT k FROM t WHERE x > 0", delta=DELTA, **cost)
        assert release.loss.delta <= DELTA
        return release.frame["k"].to_list()

    return ask


def lonely(keys_each: int) -> pl.DataFrame:
    """Every unit holds keys that no other holds; and keys that only WHERE leaves nobody to hold."""
    rows = [(u, f"{u}/{i}", 1) for u in range(UNITS) for i in range(keys_each)]
    rows += [(u, f"nobody's {u}", 0) for u in range(UNITS)]
    return pl.DataFrame(rows, schema=["u", "k", "x"], orient="row")


def shown_units(ask: Answer, runs: int) -> int:
    """How many units were given away by a key, over all runs; and no key without a holder."""
    given_away = 0
    for _ in range(runs):
        keys = ask()
        assert not any(key.startswith("nobody") for key in keys)
        given_away += len({key.split("/")[0] for key in keys})
    return given_away


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("cost", [{"epsilon": 0.5}, {"rho": 0.1}], ids=["epsilon", "rho"])
@pytest.mark.parametrize("keys_each", [None, 1, 5, 16])
def test_a_key_of_one_unit_is_shown_with_probability_delta_at_most(
    engine: Any, cost: dict[str, float], keys_each: int | None
) -> None:
    unit = None if keys_each is None else dp.Unit("u", max_rows=3)
    ask, runs = asking(lonely(keys_each or 1), engine, unit, **cost), 8
    given_away = shown_units(ask, runs)
    assert given_away <= stats.binom.ppf(1 - FAILURE, runs * UNITS, DELTA)
    if keys_each is None and "epsilon" in cost:  # the best rule there is uses all of delta
        assert given_away >= stats.binom.ppf(FAILURE, runs * UNITS, DELTA)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_unit_in_too_many_groups_has_no_say(engine: Any) -> None:
    ask = asking(lonely(17), engine, dp.Unit("u", max_rows=4), rho=0.1)
    assert shown_units(ask, 4) == 0


def test_the_audit_finds_units_that_do_not_spread_their_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unbounded(compiled: Any, part: Any, **options: Any) -> Request:
        found = candidates_request(compiled, part, **options)
        unit = replace(found.table.unit, max_rows=1000)
        return replace(found, table=replace(found.table, unit=unit))

    monkeypatch.setattr(selection, "candidates_request", unbounded)
    ask, runs = asking(lonely(16), "polars", dp.Unit("u", max_rows=3), epsilon=0.5), 8
    assert shown_units(ask, runs) > stats.binom.ppf(1 - FAILURE, runs * UNITS, DELTA)


def held(units: int, keys: int) -> pl.DataFrame:
    """Every key is held by as many units, of which each holds no other."""
    rows = [(k * units + i, str(k), 1) for k in range(keys) for i in range(units)]
    return pl.DataFrame(rows, schema=["u", "k", "x"], orient="row")


@pytest.mark.parametrize(("level", "fewer"), [("row", 2), ("unit", 6)])
def test_one_unit_more_or_less_is_hidden_by_epsilon_and_delta(level: str, fewer: int) -> None:
    """Shown or not, key by key, on tables where each key has one unit more, or less."""
    unit, keys, runs = (None if level == "row" else dp.Unit("u", max_rows=2)), 1000, 20
    codes = []
    for units in (fewer, fewer + 1):
        ask = asking(held(units, keys), "polars", unit, epsilon=0.5)
        found = [ask() for _ in range(runs)]
        codes.append(np.concatenate([np.isin(np.arange(keys), np.array(f, int)) for f in found]))
    assert 0.05 < codes[0].mean() < codes[1].mean() < 0.95  # there is something to tell
    assert epsilon_at_least(*codes, delta=DELTA) <= 0.5
    if level == "row":
        assert epsilon_at_least(*codes) > 0.1  # and without the delta, it is told


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_the_order_of_keys_does_not_follow_the_data(engine: Any) -> None:
    frame = held(200, 12).with_columns(pl.col("k").str.zfill(2))
    answers = [
        asking(rows, engine, None, epsilon=0.9)()
        for rows in (frame, frame.reverse(), frame.sample(fraction=1.0, shuffle=True, seed=1))
    ]
    assert answers[0] == answers[1] == answers[2] == sorted(answers[0])
    assert len(answers[0]) == 12

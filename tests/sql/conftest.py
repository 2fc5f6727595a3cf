"""One table of visits, in two states: without gaps, and with NULLs in every column that can."""

from __future__ import annotations

import sys
from datetime import date, datetime, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from noiseless import without_noise

import dpframe as dp
from dpframe.aggregates import quantile
from dpframe.mechanisms import ExponentialMechanism, PermuteAndFlip

sys.path.insert(0, str(Path(__file__).parent))  # `from shop import session`

ROWS = 240
LIMITS = (date(2024, 1, 1), date(2024, 12, 31))
TIMES = (datetime(2024, 3, 1), datetime(2024, 3, 3, 23, 59, 59))


def visits(*, gaps: bool) -> pl.DataFrame:
    """All values lie in their declared domains."""
    random = np.random.default_rng(20_240_301)

    def some(values: list[object], every: int) -> list[object]:
        return [None if gaps and i % every == 0 else v for i, v in enumerate(values)]

    def pick(values: list[object]) -> list[object]:
        return [values[i] for i in random.integers(0, len(values), ROWS)]

    days = [LIMITS[0] + timedelta(days=int(d)) for d in random.integers(0, 366, ROWS)]
    times = [TIMES[0] + timedelta(seconds=int(s)) for s in random.integers(0, 3 * 86_400, ROWS)]
    names = ["Ann", "bob", " Cy ", "Dé", "", "a_b%c", "it's", "日本"]
    return pl.DataFrame(
        {
            "id": random.integers(0, 60, ROWS),
            "age": some(random.integers(0, 111, ROWS).tolist(), 17),
            "cost": some((random.random(ROWS) * 50_000).round(2).tolist(), 13),
            "score": random.integers(-50, 51, ROWS).astype(np.int32),
            "change": random.random(ROWS) * 20 - 10,
            "ward": some(pick(["er", "icu", "gp"]), 5),
            "sex": pick(["f", "m"]),
            "active": some(pick([True, False]), 4),
            "day": some(days, 11),
            "seen": times,
            "name": some(pick(list(names)), 9),
            "Home Zip": random.integers(1, 6, ROWS),
        }
    )


def declared(*, gaps: bool) -> dict[str, dp.Range | dp.Keys]:
    wards = ["er", "icu", "gp", None] if gaps else ["er", "icu", "gp"]
    return {
        "age": dp.Range(0, 110, nullable=gaps),
        "cost": dp.Range(0, 50_000, nullable=gaps),
        "score": dp.Range(-50, 50, nullable=False),
        "change": dp.Range(-10, 10, nullable=False),
        "ward": dp.Keys(wards),
        "sex": dp.Keys(["f", "m"]),
        "day": dp.Range(*LIMITS, nullable=gaps),
        "seen": dp.Range(*TIMES, nullable=False),
        "Home Zip": dp.Range(1, 5, nullable=False),
    }


def session(
    engine: str, *, gaps: bool, unit: bool, budget: dp.Budget | None = None, public: bool = False
) -> dp.Session:
    """A session that can afford every statement; a unit's rows are all within its weight."""
    opened = dp.Session(budget or dp.Budget(epsilon=10**6))
    opened.register(
        "visits",
        visits(gaps=gaps),
        columns=declared(gaps=gaps),
        engine=engine,  # type: ignore[arg-type]
        unit=dp.Unit("id", max_rows=16) if unit else None,
        public=public,
    )
    return opened


@pytest.fixture(scope="session")
def tables() -> dict[bool, pl.DataFrame]:
    return {gaps: visits(gaps=gaps) for gaps in (False, True)}


@pytest.fixture(scope="session")
def declarations() -> dict[str, dp.Range | dp.Keys]:
    return declared(gaps=True)


@pytest.fixture(scope="session")
def sessions() -> dict[tuple[str, bool, bool], dp.Session]:
    """By engine, whether there are gaps, and whether id is the unit."""
    return {
        (engine, gaps, unit): session(engine, gaps=gaps, unit=unit)
        for engine in ("duckdb", "polars")
        for gaps in (False, True)
        for unit in (False, True)
    }


@pytest.fixture(scope="session")
def sessions_with_delta() -> dict[tuple[str, bool, bool], dp.Session]:
    """The same, with a delta to choose private keys with."""
    return {
        (engine, gaps, unit): session(
            engine, gaps=gaps, unit=unit, budget=dp.Budget(epsilon=10**6, delta=0.99)
        )
        for engine in ("duckdb", "polars")
        for gaps in (False, True)
        for unit in (False, True)
    }


@pytest.fixture(scope="session")
def public_sessions() -> dict[str, dp.Session]:
    """The table with gaps, registered as public; by engine."""
    return {
        engine: session(engine, gaps=True, unit=False, public=True)
        for engine in ("duckdb", "polars")
    }


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw is 0, the best is chosen, and quantiles come from the tree, which is exact then.

    The library has no such switch; this replaces laws. A quantile that is chosen is any value
    between two rows, where plain DuckDB has the middle: see `aggregates/test_quantile.py`.
    """
    without_noise(monkeypatch)
    monkeypatch.setattr(quantile, "_MOST_LEVELS", 0)
    for kind in (PermuteAndFlip, ExponentialMechanism):
        monkeypatch.setattr(kind, "_choose", lambda self, gaps, source: gaps.argmin(axis=1))

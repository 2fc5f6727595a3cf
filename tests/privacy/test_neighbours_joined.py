"""No unit moves a part further than was claimed, whatever tables a question joins and stacks.

The harness and what it checks are in `fuzz_joins.py`, which also runs any number of cases from the
command line. Here it runs the same 300 every time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from fuzz import Broken
from fuzz_joins import Harness, run, world

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.bounds import lower
from dpframe.engines import polars_rows
from dpframe.engines.base import request_for

CASES, SHARDS = 300, 5


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_promise_holds_on_random_neighbours(shard: int) -> None:
    harness = Harness()
    run(CASES // SHARDS, 100 * shard, harness)
    assert harness.seen["accepted"] >= 0.5 * harness.seen["cases"]
    for kind in ("grouped", "units", "rows", "moved", "replaced", "private"):
        assert harness.seen[kind] > 0, f"no accepted case was {kind}"


# --- the harness itself: it must find what is broken on purpose -----------------------------------


@pytest.mark.parametrize(
    ("check", "sql"),
    [
        ("_require_one_owner", "SELECT COUNT(*) FROM a JOIN b ON a.k = b.k"),
        ("_require_one_owner", "SELECT COUNT(*) FROM a, b"),
        (
            "_require_one_owner",
            "SELECT COUNT(*) FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
        ),
        ("_require_one_owner", "SELECT COUNT(*) FROM e JOIN a ON e.k = a.k"),
        (
            "_require_different_tables",
            "SELECT COUNT(*) FROM (SELECT n FROM e UNION ALL SELECT k FROM e)",
        ),
    ],
)
def test_the_harness_finds_a_check_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, check: str, sql: str
) -> None:
    monkeypatch.setattr(lower, check, lambda *_: None)
    harness = Harness()

    def look() -> None:
        for seed in range(150):
            harness.check(world(seed), [sql])

    with pytest.raises(Broken, match=r"claimed|raised"):
        look()


def test_the_harness_finds_an_engine_that_joins_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    original = polars_rows._joined
    monkeypatch.setattr(
        polars_rows, "_joined", lambda source, frames: original(source, frames).unique()
    )
    with pytest.raises(Broken, match="differs"):
        run(400, 0, Harness())


def test_the_harness_finds_a_replacement_that_is_taken_for_a_removal() -> None:
    harness = Harness()

    def look() -> None:
        for case in map(world, range(60)):
            if case.neighbors == "replace":
                removed = replace(case, neighbors="add_remove")
                harness.check(removed, ["SELECT n, COUNT(*) FROM a GROUP BY n"])

    with pytest.raises(Broken, match="claimed"):
        look()


# --- attacks that worked once ---------------------------------------------------------------------


def measured(session: dp.Session, sql: str) -> list[list[int]]:
    query = session.query(sql)
    return query._engine.measure(request_for(query._compiled, layout_for(query._compiled, 1)))


@pytest.fixture(params=["polars", "duckdb"])
def shop(request: pytest.FixtureRequest) -> dp.Session:
    """One unit with a thousand rows, and one with a single row."""
    session = dp.Session(dp.Budget(epsilon=1))
    unit = dp.Unit("u", max_rows=2)
    frame = pl.DataFrame({"u": [1] * 1000 + [2], "x": range(1001)})
    columns = {"x": dp.Range(0, 2000)}
    session.register("t", frame, unit=unit, columns=columns, engine=request.param)
    session.register("r", frame, columns=columns, engine=request.param)
    texts = frame.with_columns(pl.col("u").cast(pl.String))
    session.register("s", texts, unit=unit, columns=columns, engine=request.param)
    session.register("p", pl.DataFrame({"u": [1, 1, 2]}), public=True, engine=request.param)
    return session


@pytest.mark.parametrize(
    "sql",
    [
        (
            'SELECT COUNT(*) FROM (SELECT u, x AS "__dpframe_unit" FROM t UNION ALL'
            ' SELECT u, x AS "__dpframe_unit" FROM t WHERE x < 0)'
        ),
        'SELECT COUNT(*) FROM (SELECT DISTINCT u, x AS "__DPFRAME_UNIT" FROM t)',
        'SELECT COUNT(*) FROM (SELECT u, x AS "__dpframe_unit" FROM t) a JOIN p ON a.u = p.u',
        'SELECT COUNT(*) FROM t AS "__dpframe_unit" JOIN p ON "__dpframe_unit".u = p.u',
        (
            'SELECT COUNT(*) FROM (SELECT u, x AS "__dpframe_stage0", x AS "__dpframe_on0", x AS k0,'
            " x AS l0 FROM t) a JOIN p ON a.u = p.u WHERE k0 >= 0 AND l0 >= 0"
        ),
    ],
)
def test_no_name_takes_the_place_of_the_unit(shop: dp.Session, sql: str) -> None:
    (found,) = measured(shop, sql)
    assert found[0] <= (2 + 2) << 20  # two units, at most two rows each


def test_a_row_that_is_a_unit_is_not_counted_twice(shop: dp.Session) -> None:
    for sql in (
        "SELECT COUNT(*) FROM (SELECT x FROM r UNION ALL SELECT x FROM r)",
        "SELECT COUNT(*) FROM (SELECT x FROM r WHERE x > 5 UNION ALL SELECT x + 1 FROM r)",
        (
            "SELECT COUNT(*) FROM (SELECT r.x FROM r JOIN (SELECT DISTINCT u FROM p) q"
            " ON r.u = q.u UNION ALL SELECT x FROM r)"
        ),
    ):
        with pytest.raises(dp.QueryError, match="stacked twice"):
            shop.query(sql)
    with pytest.raises(dp.QueryError, match="match several rows"):
        shop.query("SELECT COUNT(*) FROM r JOIN p ON r.u = p.u")


def test_units_of_different_types_are_not_the_same(shop: dp.Session) -> None:
    """DuckDB compares 1 with '1' and with '01': two units on one side, one on the other."""
    for sql in (
        "SELECT COUNT(*) FROM t JOIN s ON t.u = s.u",
        "SELECT COUNT(*) FROM (SELECT u FROM t UNION ALL SELECT u FROM s)",
        "SELECT COUNT(*) FROM t WHERE u IN (SELECT u FROM s)",
    ):
        with pytest.raises(dp.QueryError, match="different types"):
            shop.query(sql)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_public_key_that_is_no_longer_unique_still_matches_once(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("r", pl.DataFrame({"k": [1, 1, 2, None]}), engine=engine)
    public = pl.DataFrame({"k": [1, 1, 2, 2, None], "w": [1, 2, 3, 4, 5]})
    session.register("p", public, public=True, engine=engine)
    monkeypatch.setattr("dpframe.engines.base.Engine.is_unique", lambda *_: True)
    assert measured(session, "SELECT COUNT(*) FROM r JOIN p ON r.k = p.k") == [[3]]
    assert measured(session, "SELECT COUNT(*) FROM r LEFT JOIN p ON r.k = p.k") == [[4]]

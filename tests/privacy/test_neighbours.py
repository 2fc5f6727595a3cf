"""No unit moves a part further than was claimed, on any table, for any query that is accepted.

The harness and what it checks are in `fuzz.py`, which also runs any number of cases from the
command line. Here it runs the same 2,000 every time.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from fuzz import NORMS, Broken, Harness, run
from hypothesis import HealthCheck, Phase, given, seed, settings
from strategies import cases

import dpframe as dp
from dpframe.aggregates.compile import Compiled, Layout, layout_for
from dpframe.bounds import sensitivity
from dpframe.engines import duckdb_parts, polars, polars_exprs
from dpframe.engines.base import Engine, request_for
from dpframe.errors import QueryError
from dpframe.plan.functions import FUNCTIONS
from dpframe.plan.parts import CodedSum, CountUnits

CASES = 2000
SHARDS = 10
LEAST_ACCEPTED = 0.8


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_promise_holds_on_random_neighbours(shard: int) -> None:
    """Sensitivities, equal engines, no errors, public plans, no dependence on order: see `fuzz`."""
    harness = Harness()
    run(CASES // SHARDS, 7919 * shard, harness)
    assert harness.seen["cases"] >= CASES // SHARDS
    assert harness.seen["accepted"] >= LEAST_ACCEPTED * harness.seen["cases"]
    for kind in ("grouped", "weighted", "replaced", "released"):
        assert harness.seen[kind] > 0, f"no accepted case was {kind}"


def test_the_grammar_reaches_every_function() -> None:
    harness = Harness()

    @seed(1)
    @settings(
        max_examples=60,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases(queries=12))
    def plan(case: Any) -> None:
        harness.plan(*case)

    plan()
    missing = set(FUNCTIONS) - set(harness.functions)
    assert not missing, f"no accepted query calls {missing}"


# --- the harness itself: it must find what is broken on purpose -----------------------------------


def test_the_harness_finds_a_claim_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensitivity, "_size", lambda part: max(_magnitude(part) - 1, 0))
    with pytest.raises(Broken, match="claimed"):
        run(400, 3, Harness(), shrink=False)


def _magnitude(part: Any) -> int:
    return part.magnitude if isinstance(part, CodedSum) else 1


def test_the_harness_finds_a_unit_that_is_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars, "_scaled", lambda pairs, request: pairs)
    with pytest.raises(Broken, match=r"claimed|differs"):
        run(400, 5, Harness(), shrink=False)


def test_the_harness_finds_a_norm_that_is_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    original = duckdb_parts._norm
    monkeypatch.setattr(
        duckdb_parts, "_norm", lambda text, norm: original(text, norm).replace("CEIL", "FLOOR")
    )
    with pytest.raises(Broken, match="duckdb"):
        run(800, 5, Harness(), shrink=False)


def test_the_harness_finds_a_clamp_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars_exprs, "_integer", lambda value, *_: value)
    with pytest.raises(Broken):
        run(400, 5, Harness(), shrink=False)


# --- weights, computed a second time --------------------------------------------------------------


def units_table(rows: int, units: int, draw: random.Random) -> pl.DataFrame:
    """Few heavy units and many light ones, over five groups."""
    owners = [min(int(draw.expovariate(0.7)), units - 1) for _ in range(rows)]
    return pl.DataFrame(
        {
            "u": [None if owner == 3 else owner for owner in owners],
            "k": [draw.choice(["a", "b", "c", "d", "e", None]) for _ in range(rows)],
            "x": [draw.choice([None, -3, 0, 1, 7, 12, 400]) for _ in range(rows)],
            "y": [draw.choice([None, 0.25, -1.5, 3.0, 1e9]) for _ in range(rows)],
        }
    )


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("max_rows", [1, 3, 10])
def test_weights_are_those_of_the_design(engine: Any, norm: int, max_rows: int) -> None:
    """Each unit alone, scaled by hand in exact arithmetic, adds up to what the engine returns."""
    frame = units_table(200, 9, random.Random(max_rows))
    asked = (
        "SELECT k, COUNT(*), COUNT(x), SUM(x), AVG(y), COUNT(DISTINCT u) FROM t GROUP BY k",
        "SELECT COUNT(*), SUM(y), AVG(x), COUNT(DISTINCT u) FROM t WHERE x IS NOT NULL",
        "SELECT k, SUM(x), SUM(y) FILTER (WHERE x > 0) FROM t GROUP BY k",
    )
    for sql in asked:
        compiled, layout, found = measured(frame, sql, engine, norm, max_rows)
        owners = frame["u"].unique().to_list()
        total = [[0] * len(values) for values in found]
        for owner in owners:
            own = frame.filter(pl.col("u").eq_missing(pl.lit(owner)))
            # With a bound that no unit exceeds, a unit's parts come out as they are.
            _, _, raw = measured(own, sql, engine, norm, 2**10, layout=layout)
            for i, values in enumerate(by_hand(raw, own, compiled, layout, norm, max_rows)):
                total[i] = [a + b for a, b in zip(total[i], values, strict=True)]
        assert found == total, sql


def measured(
    frame: pl.DataFrame,
    sql: str,
    engine: Any,
    norm: int,
    max_rows: int,
    layout: Layout | None = None,
) -> tuple[Compiled, Layout, list[list[int]]]:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register(
        "t",
        frame,
        unit=dp.Unit("u", max_rows=max_rows),
        columns={
            "k": dp.Keys(["a", "b", "c", "d"]),
            "x": dp.Range(-3, 12),
            "y": dp.Range(-1.0, 4.0),
        },
        engine=engine,
    )
    compiled = session.query(sql)._compiled
    used = layout or layout_for(compiled, norm)
    opened: Engine = session._engines["t"]
    return compiled, used, opened.measure(request_for(compiled, used))


def by_hand(
    raw: list[list[int]],
    own: pl.DataFrame,
    compiled: Compiled,
    layout: Layout,
    norm: int,
    max_rows: int,
) -> list[list[int]]:
    """DESIGN, section 3: v becomes sign(v) * (|v| * r div m), where m exceeds r."""
    kept = own.filter(pl.col("x").is_not_null()) if compiled.where is not None else own
    rows = [kept.height]
    if compiled.keys:
        rows = [kept.filter(pl.col("k") == key).height for key in compiled.frame["k0"]]
    found = []
    for part, values in zip(layout.parts, raw, strict=True):
        counts = [int(r > 0) for r in rows] if isinstance(part, CountUnits) else rows
        found.append([shrunk(v, counts, norm, max_rows) for v in values])
    return found


def shrunk(value: int, counts: list[int], norm: int, max_rows: int) -> int:
    squared = sum(counts) ** 2 if norm == 1 else sum(c * c for c in counts)
    if squared <= max_rows**2:
        return value
    if norm == 1:
        factor = Fraction(max_rows, sum(counts))
    else:
        factor = Fraction(max_rows << 20, rounded_up_root(squared))
    size = abs(value) * factor
    return (size.numerator // size.denominator) * (1 if value >= 0 else -1)


def rounded_up_root(squared: int) -> int:
    """The norm in units of 2^-20, as the engines round it; it must not be below the true one."""
    import math

    found = math.ceil(math.sqrt(float(squared)) * 2.0**20 * (1 + 2**-40))
    assert found * found >= squared << 40
    return found


@pytest.mark.parametrize("size", [1e-200, 1e160, 1e200])
def test_a_range_of_any_size_can_be_summed(size: float) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", pl.DataFrame({"x": [0.5]}), columns={"x": dp.Range(0, size)})
    release = session.sql("SELECT SUM(x) AS s, AVG(x) AS m, COUNT(*) AS n FROM t", epsilon=0.5)
    assert release.frame.height == 1


def test_a_refusal_is_a_query_error_whatever_the_table_holds() -> None:
    """Refusals are decided by the declaration: an empty table gets the same words."""
    texts = []
    for frame in (pl.DataFrame({"x": [1.5, None]}), pl.DataFrame({"x": [0.0]}).clear()):
        session = dp.Session(dp.Budget(epsilon=1))
        session.register("t", frame)
        with pytest.raises(QueryError) as refusal:
            session.query("SELECT SUM(x) FROM t")
        texts.append(str(refusal.value))
    assert texts[0] == texts[1]

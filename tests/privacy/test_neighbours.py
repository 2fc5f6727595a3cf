"""No unit moves a part further than was claimed, on any table, for any query that is accepted.

The harness and what it checks are in `fuzz.py`, which also runs any number of cases from the
command line. Here it runs the same 2,000 every time.
"""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from chains import chain_cases
from fuzz import NORMS, Broken, Harness, run
from hypothesis import HealthCheck, Phase, given, seed, settings
from strategies import cases

import dpframe as dp
from dpframe.aggregates import layout as laying_out
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import Layout, chosen_by, layout_for, layout_to_choose_by
from dpframe.bounds import sensitivity
from dpframe.bounds.sensitivity import EACH_GROUP
from dpframe.budget.halving import reach
from dpframe.engines import duckdb_parts, polars, polars_exprs, polars_weights
from dpframe.engines.base import Engine, request_for
from dpframe.errors import DeclarationError, QueryError
from dpframe.mechanisms.measured_quantiles import rows_between
from dpframe.plan.functions import FUNCTIONS
from dpframe.plan.parts import Blend, ChosenCells, CodedSum, CountUnits, RankedCells
from dpframe.plan.surroundings import edges_around

CASES = 2000
SHARDS = 10
LEAST_ACCEPTED = 0.8


@pytest.mark.long
@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_promise_holds_on_random_neighbours(shard: int) -> None:
    """Sensitivities, equal engines, no errors, public plans, no dependence on order: see `fuzz`."""
    harness = Harness()
    # Not shrunk, which takes minutes: `python tests/privacy/fuzz.py` does that.
    run(CASES // SHARDS, 7919 * shard, harness, shrink=False)
    for more in range(1, 6):  # variances alone are rare among so many aggregates
        if not harness.seen["blended"]:
            run(harness.seen["cases"] + 50, 7919 * shard + more, harness, shrink=False)
    assert harness.seen["cases"] >= CASES // SHARDS
    assert harness.seen["accepted"] >= LEAST_ACCEPTED * harness.seen["cases"]
    kinds = ("grouped", "weighted", "replaced", "released", "private", "scored", "chosen")
    for kind in (*kinds, "blended"):
        assert harness.seen[kind] > 0, f"no accepted case was {kind}"


def test_every_promise_holds_with_several_threads() -> None:
    """Workers of the test suite have one thread each, because they share the cores; users do not."""
    command = [sys.executable, str(Path(__file__).with_name("fuzz.py"))]
    threads = {"POLARS_MAX_THREADS": "4"}
    done = subprocess.run(
        [*command, "--cases", "40", "--seed", "3", "--no-shrink"],
        env=os.environ | threads,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "40 cases" in done.stdout


CHAIN_CASES = 240
CHAIN_SHARDS = 2


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:`cut` is deprecated")
@pytest.mark.parametrize("shard", range(CHAIN_SHARDS))
def test_every_promise_holds_on_random_neighbours_for_chains(shard: int) -> None:
    """The same, asked by chaining Polars expressions."""
    harness = Harness()
    run(CHAIN_CASES // CHAIN_SHARDS, 7919 * shard, harness, language="polars")
    assert harness.seen["accepted"] >= LEAST_ACCEPTED * harness.seen["cases"]
    for kind in ("grouped", "weighted", "replaced", "released"):
        assert harness.seen[kind] > 0, f"no accepted case was {kind}"


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:`cut` is deprecated")
def test_the_grammars_reach_every_function() -> None:
    harness = Harness()
    for number in range(1, 10):
        for drawn, examples in ((chain_cases(queries=12), 40), (cases(queries=12), 25)):

            @seed(number)
            @settings(
                max_examples=examples,
                database=None,
                deadline=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
            )
            @given(drawn)
            def plan(case: Any) -> None:
                harness.plan(*case)

            plan()
        missing = set(FUNCTIONS) - set(harness.functions) - {"microseconds"}  # of instants alone
        if not missing:
            return
    raise AssertionError(f"no accepted query calls {missing}")


# --- the harness itself: it must find what is broken on purpose -----------------------------------


def test_the_harness_finds_a_claim_that_is_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sensitivity, "_size", lambda part: max(_magnitude(part) - 1, 0))
    with pytest.raises(Broken, match="claimed"):
        run(400, 3, Harness(), shrink=False)


def test_the_harness_finds_parts_that_are_not_bounded_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def everything(parts: Any, context: Any) -> tuple[tuple[int, ...], ...]:
        return (
            (tuple(range(len(parts))),)
            if len(parts) > 1
            else tuple((i,) for i in range(len(parts)))
        )

    monkeypatch.setattr(laying_out, "bounded_together", everything)
    with pytest.raises(Broken, match="claimed"):
        run(400, 3, Harness(), shrink=False)


def test_the_harness_finds_blends_that_add_up_to_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each by itself keeps to its bound: a square from the high end, and a product of the whole."""
    usual = Blend.terms.fget  # type: ignore[attr-defined]

    def terms(part: Blend) -> Any:
        return (part.magnitude, 0, 0) if part.above == 1 else usual(part)

    monkeypatch.setattr(Blend, "terms", property(terms))
    with pytest.raises(Broken, match=r"Blend.* and Blend.* claimed"):
        run(400, 6, Harness(), shrink=False)


def _magnitude(part: Any) -> int:
    return part.magnitude if isinstance(part, CodedSum) else 1


def test_the_harness_finds_a_unit_that_is_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars, "scaled", lambda pairs, request: pairs)
    with pytest.raises(Broken, match=r"claimed|differs"):
        run(400, 20, Harness(), shrink=False)


def test_the_harness_finds_a_unit_that_is_not_bounded_in_one_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(polars_weights, "_scaled_in_each_group", lambda pairs, request: pairs)
    with pytest.raises(Broken, match=r"norm inf|differs"):
        run(400, 24, Harness(), shrink=False)


def test_the_harness_finds_a_norm_that_is_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    original = duckdb_parts._norm
    monkeypatch.setattr(
        duckdb_parts, "_norm", lambda text, norm: original(text, norm).replace("CEIL", "FLOOR")
    )
    with pytest.raises(Broken, match="duckdb"):
        run(800, 22, Harness(), shrink=False)


def test_the_harness_finds_a_clamp_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polars_exprs, "_integer", lambda value, *_: value)
    with pytest.raises(Broken):
        run(400, 22, Harness(), shrink=False)


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
@pytest.mark.parametrize("norm", [*NORMS, EACH_GROUP])
@pytest.mark.parametrize("max_rows", [1, 3, 10])
def test_weights_are_those_of_the_design(engine: Any, norm: float, max_rows: int) -> None:
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
    norm: float,
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
    used = layout or layout_for(compiled, 1 if norm == EACH_GROUP else int(norm))
    if norm == EACH_GROUP and layout is None:
        used = layout_to_choose_by(compiled, used.parts)
    opened: Engine = session._engines["t"]
    return compiled, used, opened.measure(request_for(compiled, used))


def by_hand(
    raw: list[list[int]],
    own: pl.DataFrame,
    compiled: Compiled,
    layout: Layout,
    norm: float,
    max_rows: int,
) -> list[list[int]]:
    """DESIGN, section 3: v becomes sign(v) * (|v| * r div m), where m exceeds r.

    Where groups are chosen, each group is weighed by itself: m is what the unit has there.
    """
    kept = own.filter(pl.col("x").is_not_null()) if compiled.where is not None else own
    rows = [kept.height]
    if compiled.keys:
        rows = [kept.filter(pl.col("k") == key).height for key in compiled.frame["k0"]]
    found = []
    for part, values in zip(layout.parts, raw, strict=True):
        counts = [int(r > 0) for r in rows] if isinstance(part, CountUnits) else rows
        if norm == EACH_GROUP:
            each = zip(values, counts, strict=True)
            found.append([shrunk(v, [count], 1, max_rows) for v, count in each])
        else:
            found.append([shrunk(v, counts, norm, max_rows) for v in values])
    return found


def shrunk(value: int, counts: list[int], norm: float, max_rows: int) -> int:
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


# --- attacks that worked once ---------------------------------------------------------------------


def answer(data: Any, sql: str, **registration: Any) -> list[list[int]]:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", data, **registration)
    compiled = session.query(sql)._compiled
    return session._engines["t"].measure(request_for(compiled, layout_for(compiled, 1)))


def test_a_collation_does_not_let_one_row_rename_the_group_of_others() -> None:
    """Under NOCASE 'er' and 'ER' are one group, which DuckDB names after the first row it meets."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE plain (ward VARCHAR COLLATE NOCASE, u VARCHAR COLLATE NOCASE)")
    connection.execute("INSERT INTO plain SELECT 'er', 'a' FROM range(1000)")
    connection.execute("CREATE TABLE attacked AS FROM plain LIMIT 0")
    connection.execute("INSERT INTO attacked VALUES ('ER', 'A')")
    connection.execute("INSERT INTO attacked SELECT 'er', 'a' FROM range(1000)")
    keys = {"ward": dp.Keys(["er", "icu"])}
    for setting in ("binary", "nocase"):
        connection.execute(f"SET default_collation = '{setting}'")
        for table in ("plain", "attacked"):
            for key in ("ward", "ward || ''", "CASE WHEN ward = 'er' THEN ward END"):
                asked = f"SELECT {key} AS k, COUNT(*) FROM t GROUP BY k"
                assert answer(connection.table(table), asked, columns=keys)[0][0] == 1000
            unit = dp.Unit("u", max_rows=2)
            both = answer(connection.table(table), "SELECT COUNT(*) FROM t", unit=unit)
            assert both == [[(2 + (table == "attacked")) << 20]]  # 'A' is another unit than 'a'


@pytest.mark.parametrize("others", [[], [1.0], [1.0, 2.0], [None], [0.0, -0.0]])
def test_a_unit_called_nan_is_bounded_like_any_other(engine_name: Any, others: list[Any]) -> None:
    """Joins of Polars find NaN in unsorted keys only; a single key counts as sorted."""
    owners = [*others, *[math.nan] * 500]
    frame = pl.DataFrame({"u": pl.Series(owners, dtype=pl.Float64), "x": [1] * len(owners)})
    for sql in ("SELECT COUNT(*) FROM t", "SELECT x, COUNT(*) FROM t WHERE x = 1 GROUP BY x"):
        unit = dp.Unit("u", max_rows=2)
        columns = {"x": dp.Range(1, 1)}
        (found,) = answer(frame, sql, unit=unit, columns=columns, engine=engine_name)
        assert sum(found) == (2 + len(others)) << 20


@pytest.mark.parametrize("dtype", [pl.UInt64, pl.Int128])
def test_an_integer_beyond_64_bits_is_in_no_group_and_stops_no_query(dtype: Any) -> None:
    most = 2**64 - 1 if dtype == pl.UInt64 else 2**127 - 1
    frame = pl.DataFrame({"x": pl.Series([1, most, most, None, 2**63 - 1], dtype=dtype)})
    relation = duckdb.connect().sql(
        f"SELECT CAST(UNNEST(['1', '{most}', '{most}', NULL, '{2**63 - 1}'])"
        f" AS {'UBIGINT' if dtype == pl.UInt64 else 'HUGEINT'}) AS x"
    )
    for keys, expected in (
        ([0, 1, 2], [0, 1, 0]),
        ([1, 2**63 - 1], [1, 1]),
        ([1, None], [1, 1]),
        ([0, 2**63 - 1, None], [0, 1, 1]),
    ):
        for data in (frame, relation):
            columns = {"x": dp.Keys(keys)}
            grouped = answer(data, "SELECT x, COUNT(*) FROM t GROUP BY x", columns=columns)
            assert grouped == [expected]
            assert answer(data, "SELECT COUNT(x) FROM t", columns=columns) == [
                [sum(n for key, n in zip(keys, expected, strict=True) if key is not None)]
            ]


def test_a_name_that_polars_takes_for_a_pattern_is_a_name(engine_name: Any) -> None:
    """The unit is "^a$", of which every row has its own; "a" would be one unit for all."""
    frame = pl.DataFrame({"^a$": [1, 2, 3, 4], "a": [7, 7, 7, 7], "*": [5, 6, 7, 8]})
    for name in ("^a$", "*"):
        unit = dp.Unit(name, max_rows=1)
        assert answer(frame, "SELECT COUNT(*) FROM t", unit=unit, engine=engine_name) == [[4 << 20]]
    columns = {"*": dp.Range(0, 9), "^a$": dp.Range(1, 2)}
    asked = 'SELECT SUM("*"), SUM("^a$") FROM t'
    assert answer(frame, asked, columns=columns, engine=engine_name) == [[26], [7]]
    grouped = 'SELECT "^a$" + 1 AS k, COUNT(*) FROM t WHERE "^a$" > 0 GROUP BY k'
    assert answer(frame, grouped, columns=columns, engine=engine_name) == [[1, 3]]


def test_a_column_of_the_table_may_be_called_as_one_of_ours(engine_name: Any) -> None:
    """Polars computed the sum of lengths from the coded c0, which it had named c1."""
    texts = pl.Series("c1", ["", "icu"], dtype=pl.Enum(["er", "icu", ""]))
    frame = pl.DataFrame({"c0": [-1000, 7]}).with_columns(texts)
    columns = {"c0": dp.Range(-1000, 1000), "c1": dp.Keys(["er", "", "icu"])}
    sql = (
        "SELECT c1, SUM(GREATEST(-3, LEAST(LENGTH(c1), 3))), SUM(c0),"
        " AVG(EXTRACT(dow FROM DATE '9999-12-31') // c0) FROM t"
        " WHERE NOT (c1 > '') GROUP BY c1, COALESCE('1' = 'abc', c1 IS NULL)"
    )
    found = answer(frame, sql, columns=columns, engine=engine_name)
    assert found[:2] == [[0, 0, 0], [-1000, 0, 0]]


def test_columns_called_like_those_of_the_engine_stay_apart(engine_name: Any) -> None:
    """Polars merged steps, and the codes of a sum were read for a text that is called "c1"."""
    frame = pl.DataFrame({"w0": [7, 7], "c1": ["er", "er"], "u": [1, 2], "k0": [5, 5]})
    columns = {
        "w0": dp.Range(-(2**63), 2**63 - 1),
        "c1": dp.Keys(["er", "gp"]),
        "k0": dp.Range(0, 9),
    }
    for unit, one in ((None, 1), (dp.Unit("u", max_rows=2), 1 << 20)):
        for select in ("CORR(1, w0)", "CORR(1, k0)", "AVG(w0), AVG(k0), VAR_POP(k0)"):
            for key in ("", "c1, ", "k0, "):
                asked = f"SELECT {key}COUNT(TRIM(c1)) AS n, {select} FROM t"
                asked += f" GROUP BY {key[:-2]}" if key else ""
                found = answer(frame, asked, columns=columns, unit=unit, engine=engine_name)
                assert sum(found[0]) == 2 * one


def test_a_value_beyond_the_last_key_is_no_key(engine_name: Any) -> None:
    frame = pl.DataFrame({"x": [1, 2, 99, -5], "b": [True, False, False, None]})
    columns = {"x": dp.Keys([1, 2, 3]), "b": dp.Keys([True])}
    for sql, expected in (
        ("SELECT x, COUNT(*) FROM t GROUP BY x", [[1, 1, 0]]),
        ("SELECT x + 0 AS k, COUNT(*) FROM t GROUP BY k", [[1, 1, 0]]),
        ("SELECT SUM(x) FROM t", [[3]]),
        ("SELECT SUM(b), COUNT(b) FROM t", [[1], [1]]),
    ):
        assert answer(frame, sql, columns=columns, engine=engine_name) == expected


def test_constants_alone_are_added_up_over_all_rows(engine_name: Any) -> None:
    frame = pl.DataFrame({"x": [1, 2, 3]})
    asked = "SELECT SUM(2) AS a, COUNT(*) FILTER (WHERE TRUE) AS b, COUNT(1) AS c FROM t"
    for data, n in ((frame, 3), (frame.clear(), 0)):
        session = dp.Session(dp.Budget(epsilon=1))
        session.register("t", data, public=True, engine=engine_name)
        # A public table says, as SQL does, that there is nothing to add up.
        assert session.sql(asked).frame.row(0) == (2 * n or None, n, n)


def test_objects_of_pandas_get_their_types_when_they_are_registered() -> None:
    """DuckDB guesses from a sample: one odd row stopped every query, after the charge."""
    pandas = pytest.importorskip("pandas")
    cells = [1] * 12_345 + ["alice@example.org"] + [1] * 50_000
    frame = pandas.DataFrame({"x": pandas.Series(cells, dtype=object)})
    with pytest.raises(DeclarationError) as refusal:
        answer(frame, "SELECT COUNT(x) FROM t")
    assert "alice" not in str(refusal.value)
    assert answer(frame.assign(x=1).astype(object), "SELECT COUNT(x) FROM t") == [[62_346]]


@pytest.fixture(params=["polars", "duckdb"])
def engine_name(request: pytest.FixtureRequest) -> Any:
    return request.param


# --- cells that are chosen by their counts --------------------------------------------------------


def chosen_cells(frame: pl.DataFrame, engine: Any, norm: int, **options: Any) -> tuple[Any, Any]:
    """The claim for a median by group, and the exact cells of each group."""
    session = dp.Session(dp.Budget(epsilon=1))
    columns = {"k": dp.Keys(["a", "b", "c", "d"]), "y": dp.Range(-1.0, 4.0)}
    session.register("t", frame, columns=columns, engine=engine, **options)
    compiled = session.query("SELECT k, MEDIAN(y), MAX(y) FROM t GROUP BY k")._compiled
    layout = layout_for(compiled, norm)
    (i,) = (i for i, part in enumerate(layout.parts) if isinstance(part, ChosenCells))
    found = session._engines["t"].measure(request_for(compiled, layout))[i]
    return layout.sensitivities[i], np.array(found).reshape(4, -1)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
@pytest.mark.parametrize("max_rows", [None, 1, 3])
def test_the_groups_of_chosen_cells_move_as_far_as_claimed_in_l1(
    norm: int, neighbors: Any, max_rows: int | None, engine_name: Any
) -> None:
    """What a choice costs grows with the L1 distance of each group, not with that of each cell."""
    draw, furthest = random.Random(1), 0.0
    unit = None if max_rows is None else dp.Unit("u", max_rows=max_rows)
    options: dict[str, Any] = {"unit": unit, "neighbors": neighbors}
    for _ in range(3):
        frame = units_table(120, 7, draw).with_row_index("row")
        owner = frame["u"][0] if max_rows is not None else None
        own = pl.col("row") == 0 if max_rows is None else pl.col("u").eq_missing(pl.lit(owner))
        without = frame.filter(~own)
        if neighbors == "replace":  # every row of the unit now lies elsewhere
            keys = pl.Series([draw.choice("abcd") for _ in range(frame.height)])
            moved = {
                "y": pl.lit(2.0),
                "k": pl.when(pl.col("row") % 2 == 0).then("k").otherwise(keys),
            }
            without = frame.with_columns(
                pl.when(own).then(v).otherwise(k).alias(k) for k, v in moved.items()
            )
            options["size"] = frame["u"].n_unique() if max_rows is not None else frame.height
        claim, before = chosen_cells(frame, engine_name, norm, **options)
        _, after = chosen_cells(without, engine_name, norm, **options)
        groups = [int(d) for d in np.abs(before - after).sum(axis=1)]
        assert max(groups) <= claim.linf
        assert sum(d * d for d in groups) <= claim.l2_squared
        assert claim.l1 is None or sum(groups) <= claim.l1
        furthest = max(furthest, sum(d * d for d in groups) / claim.l2_squared)
        # What is counted after the choice, wherever that fell, moves no further in any norm.
        for places in (1, 2, 7):
            size = before.shape[1]
            chosen = np.sort(np.random.default_rng(places).integers(0, size, (4, places)), axis=1)
            edges = edges_around(chosen, size)
            moved = np.abs(rows_between(before, edges) - rows_between(after, edges))
            within = [int(d) for d in moved.ravel()]
            assert (moved.sum(axis=1) <= groups).all()
            assert sum(d * d for d in within) <= claim.l2_squared
            assert claim.l1 is None or sum(within) <= claim.l1
    # The claim is no formality; spread over four groups, a unit has a quarter of it at the most.
    assert furthest > 0.15


def replaced_cells(
    frame: pl.DataFrame, engine: Any, norm: int, select: str, **options: Any
) -> tuple[Any, RankedCells, Any]:
    """The layout of a query for quantiles, the part that they are chosen by, and its exact cells."""
    session = dp.Session(dp.Budget(epsilon=1))
    columns = {"k": dp.Keys(["a", "b"]), "y": dp.Range(0, 999), "z": dp.Range(0, 9)}
    session.register("t", frame, columns=columns, engine=engine, neighbors="replace", **options)
    compiled = session.query(f"SELECT {select}")._compiled
    layout = layout_for(compiled, norm)
    (i,) = (i for i, part in enumerate(layout.parts) if isinstance(part, RankedCells))
    part = layout.parts[i]
    assert isinstance(part, RankedCells)
    found = session._engines["t"].measure(request_for(compiled, layout))[i]
    return layout, part, np.array(found).reshape(compiled.groups, -1)[:, : part.inside]


SHARE = Fraction(9, 10)


def ranges_moved(before: Any, after: Any) -> list[Fraction]:
    """For each group, how far scores of all its positions move apart, as a part of d.

    From the definition: gaps of both tables, the largest rise of one plus the largest fall of
    another one. Every cell is a position, and so is each edge between two of them.
    """
    p, d = SHARE.numerator, SHARE.denominator
    found = []
    for pair in zip(before.tolist(), after.tolist(), strict=True):
        gaps = []
        for cells in pair:
            total, below = sum(cells), 0
            row = []
            for count in (c for cell in cells for c in (0, cell, 0)):
                row.append(max(0, d * below - p * total, p * total - d * (below + count)))
                below += count
            gaps.append(row)
        moved = [one - two for one, two in zip(*gaps, strict=True)]
        found.append(Fraction(max(moved) - min(moved), d))
    return found


REPLACED = {
    "all rows": "QUANTILE_CONT(y, 0.9) FROM t",
    "filter": "QUANTILE_CONT(y, 0.9) FROM t WHERE z > 4",
    "null": "QUANTILE_CONT(CASE WHEN z > 4 THEN y END, 0.9) FROM t",
    "groups": "k, QUANTILE_CONT(y, 0.9) FROM t GROUP BY k",
}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("select", REPLACED.values(), ids=REPLACED)
@pytest.mark.parametrize("max_rows", [None, 2])
def test_scores_of_quantiles_move_apart_no_further_than_a_replaced_unit_is_charged(
    norm: int, select: str, max_rows: int | None, engine_name: Any
) -> None:
    """The loss is the range of scores over b, in all groups together, whatever leaves and enters."""
    draw, furthest = random.Random(7), 0.0
    unit = None if max_rows is None else dp.Unit("u", max_rows=max_rows)

    def rows(own: int, count: int, values: list[int]) -> list[dict[str, Any]]:
        picks = {"k": ["a", "b"], "y": values, "z": [0, 9, 9, 9]}
        return [{"u": own, **{k: draw.choice(v) for k, v in picks.items()}} for _ in range(count)]

    for _ in range(8):
        # Others lie between the two ends, on both sides of the quantile; the one that is replaced
        # lies at an end.
        others = [
            row
            for u in range(1, 30)
            for row in rows(u, 1 if max_rows is None else 2, [400] * 9 + [600])
        ]
        weights = (1, 1) if max_rows is None else (draw.randint(1, 4), draw.randint(1, 4))
        ends = draw.choice([(0, 999), (999, 0), (0, 0), (999, 999)])
        tables = [
            pl.DataFrame(rows(0, weight, [end]) + others)
            for weight, end in zip(weights, ends, strict=True)
        ]
        size = tables[0].height if max_rows is None else 30
        found = [replaced_cells(t, engine_name, norm, select, unit=unit, size=size) for t in tables]
        layout, part, before = found[0]
        assert part.levels == (SHARE,)
        i = layout.parts.index(part)
        each, swap = chosen_by(layout.sensitivities[i], layout.context)
        assert swap is not None
        assert swap.one_group == ("GROUP BY" not in select)
        far = reach(SHARE, swap, alone=True)
        losses = [moved / (2 * far) for moved in ranges_moved(before, found[1][2])]
        assert sum(loss**2 for loss in losses) <= each.l2_squared
        if norm == 1:
            assert each.l1 is not None
            assert sum(losses) <= each.l1
            furthest = max(furthest, float(sum(losses)) / each.l1)
        # What is counted afterwards loses and gains as much as a unit that is added, each.
        left, entered = (np.maximum(m, 0) for m in (before - found[1][2], found[1][2] - before))
        for moved in (left, entered):
            assert each.l1 is None or moved.sum() <= each.l1
            assert (moved.sum(axis=1) ** 2).sum() <= each.l2_squared
        assert int((np.abs(before - found[1][2]) ** 2).sum()) <= 2 * each.l2_squared
    if norm == 1:
        # From one end to the other, or from group to group: all of what is charged, on some tables.
        assert furthest > (0.99 if max_rows is None else 0.5)

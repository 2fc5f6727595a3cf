"""What one unit can change, part by part: the numbers that noise is calibrated to."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import Layout, layout_for, layout_to_choose_by
from dpframe.bounds.sensitivity import bounded_together
from dpframe.engines.base import measured
from dpframe.errors import InternalError
from dpframe.plan.parts import CodedSum, Ends, GridCounts, RankedCells

DATA = pl.DataFrame({"id": [1], "x": [1], "y": [1.0], "k": ["a"]})
COLUMNS = {
    "x": dp.Range(-3, 10, nullable=False),
    "y": dp.Range(0, 4),
    "k": dp.Keys(["a", "b", "c"]),
}


def layout(text: str, norm: int = 1, **options: Any) -> Layout:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", DATA, columns=COLUMNS, **options)
    return layout_for(session.query(text)._compiled, norm)


def value(text: str, norm: int = 1, **options: Any) -> float:
    """The sensitivity of the only part of a query, in units of value."""
    found = layout(text, norm, **options)
    (sensitivity,) = found.sensitivities
    size = sensitivity.l1 if norm == 1 else sensitivity.l2_squared**0.5
    assert size is not None
    return size * found.step(0)


REPLACE = {"neighbors": "replace", "size": 100}
UNIT = {"unit": dp.Unit("id", max_rows=5)}


@pytest.mark.parametrize(
    ("text", "options", "l1", "l2"),
    [
        ("SELECT COUNT(*) FROM t", {}, 1, 1),
        ("SELECT COUNT(*) FROM t WHERE x > 1", {}, 1, 1),
        ("SELECT k, COUNT(*) FROM t GROUP BY k", {}, 1, 1),
        ("SELECT k, COUNT(*) FROM t GROUP BY ROLLUP (k)", {}, 2, 2**0.5),
        ("SELECT k, SUM(x) FROM t GROUP BY GROUPING SETS ((k, x), k, ())", {}, 30, 10 * 3**0.5),
        ("SELECT k, COUNT(*) FROM t GROUP BY ROLLUP (k)", UNIT, 10, 5 * 2**0.5),
        ("SELECT k, COUNT(*) FROM t GROUP BY ROLLUP (k)", REPLACE, 4, 2),
        ("SELECT SUM(x) FROM t", {}, 10, 10),
        ("SELECT SUM(x) FROM t WHERE x > 2", {}, 10, 10),
        ("SELECT SUM(x) FROM t WHERE x < 2", {}, 3, 3),
        ("SELECT SUM(-x) FROM t", {}, 10, 10),
        ("SELECT SUM(x * x) FROM t", {}, 100, 100),
        ("SELECT SUM(ABS(x)) FROM t", {}, 10, 10),
        ("SELECT SUM(LEAST(x, 2)) FROM t", {}, 3, 3),
        ("SELECT SUM(CASE WHEN y > 1 THEN x END) FROM t", {}, 10, 10),
        ("SELECT SUM(0) FROM t", {}, 1, 1),
        ("SELECT COUNT(*) FROM t", UNIT, 5, 5),
        ("SELECT k, COUNT(*) FROM t GROUP BY k", UNIT, 5, 5),
        ("SELECT SUM(x) FROM t", UNIT, 50, 50),
        ("SELECT COUNT(DISTINCT id) FROM t", UNIT, 1, 1),
        ("SELECT k, COUNT(DISTINCT id) FROM t GROUP BY k", UNIT, 3, 3**0.5),
        # Of different values a unit holds no more than are possible.
        ("SELECT COUNT(DISTINCT x) FROM t", UNIT, 5, 5),
        ("SELECT COUNT(DISTINCT x) FROM t WHERE x BETWEEN 2 AND 4", UNIT, 3, 3),
        ("SELECT COUNT(DISTINCT y) FROM t", UNIT, 5, 5),
        ("SELECT COUNT(DISTINCT k) FROM t", UNIT, 3, 3),
        ("SELECT COUNT(DISTINCT k) FILTER (WHERE k <> 'a') FROM t", UNIT, 3, 3),
        ("SELECT COUNT(DISTINCT x > 1) FROM t", UNIT, 2, 2),
        ("SELECT COUNT(DISTINCT (k, x > 1)) FROM t", UNIT, 5, 5),
        ("SELECT COUNT(DISTINCT (x > 1, y > 1)) FROM t", UNIT, 5, 5),
        ("SELECT COUNT(DISTINCT (x > 1, x > 2)) FROM t", UNIT, 4, 4),
        ("SELECT COUNT(DISTINCT y > 1, x > 2) FROM t", UNIT, 4, 4),
        ("SELECT k, COUNT(DISTINCT x > 1) FROM t GROUP BY k", UNIT, 5, 12**0.5),
        ("SELECT x > 1, COUNT(DISTINCT x > 1) FROM t GROUP BY x > 1", UNIT, 4, 8**0.5),
        ("SELECT COUNT(DISTINCT k) FROM t", UNIT | REPLACE, 3, 3),
        ("SELECT x > 1, COUNT(DISTINCT x > 1) FROM t GROUP BY x > 1", UNIT | REPLACE, 8, 4),
        ("SELECT COUNT(*) FROM t WHERE x > 1", REPLACE, 1, 1),
        ("SELECT k, COUNT(*) FROM t GROUP BY k", REPLACE, 2, 2**0.5),
        ("SELECT SUM(x) FROM t", REPLACE, 13, 13),
        ("SELECT SUM(x) FROM t WHERE y > 1", REPLACE, 13, 13),
        ("SELECT SUM(x) FROM t WHERE x > 2", REPLACE, 10, 10),
        ("SELECT COUNT(*) FROM t", UNIT | REPLACE, 5, 5),
        ("SELECT SUM(x) FROM t", UNIT | REPLACE, 65, 65),
        ("SELECT SUM(y) FROM t", UNIT | REPLACE, 20, 20),
        ("SELECT SUM(x) FROM t WHERE x < 0", UNIT | REPLACE, 15, 15),
        ("SELECT COUNT(DISTINCT x) FROM t", UNIT | REPLACE, 5, 5),
        ("SELECT k, COUNT(*) FROM t GROUP BY k", UNIT | REPLACE, 10, 5 * 2**0.5),
        ("SELECT k, COUNT(DISTINCT x) FROM t GROUP BY k", UNIT | REPLACE, 10, 5 * 2**0.5),
        ("SELECT k, COUNT(DISTINCT id) FROM t GROUP BY k", UNIT | REPLACE, 3, 3**0.5),
        ("SELECT k, SUM(y) FROM t GROUP BY k", UNIT | REPLACE, 40, 20 * 2**0.5),
        ("SELECT k, SUM(x) FROM t GROUP BY k", UNIT | REPLACE, 100, 5 * 218**0.5),
        ("SELECT k, COUNT(*) FROM t GROUP BY ROLLUP (k)", UNIT | REPLACE, 20, 10),
    ],
)
def test_one_unit_moves_a_part_by_at_most(
    text: str, options: dict[str, Any], l1: float, l2: float
) -> None:
    assert value(text, 1, **options) == pytest.approx(l1)
    assert value(text, 2, **options) == pytest.approx(l2)


@pytest.mark.parametrize(
    ("text", "options", "linf"),
    [
        ("SELECT k, COUNT(*) FROM t GROUP BY k", {}, 1),
        ("SELECT k, COUNT(*) FROM t GROUP BY k", REPLACE, 1),
        ("SELECT k, SUM(x) FROM t GROUP BY k", REPLACE, 13),
        ("SELECT k, COUNT(*) FROM t GROUP BY k", UNIT, 5),
        ("SELECT k, COUNT(*) FROM t GROUP BY k", UNIT | REPLACE, 5),
        ("SELECT k, COUNT(DISTINCT id) FROM t GROUP BY k", UNIT, 1),
        ("SELECT k, COUNT(DISTINCT id) FROM t GROUP BY k", UNIT | REPLACE, 1),
        ("SELECT k, COUNT(DISTINCT x) FROM t GROUP BY k", UNIT, 5),
        ("SELECT k, COUNT(DISTINCT x) FROM t GROUP BY k", UNIT | REPLACE, 5),
        ("SELECT k, COUNT(DISTINCT x > 1) FROM t GROUP BY k", UNIT, 2),
        ("SELECT k, COUNT(DISTINCT x > 1) FROM t GROUP BY k", UNIT | REPLACE, 2),
        ("SELECT k, SUM(x) FROM t GROUP BY k", UNIT, 50),
        ("SELECT k, SUM(x) FROM t GROUP BY k", UNIT | REPLACE, 65),
        ("SELECT k, SUM(y) FROM t GROUP BY k", UNIT | REPLACE, 20),
        ("SELECT COUNT(*) FROM t", UNIT | REPLACE, 5),
        ("SELECT COUNT(DISTINCT id) FROM t", UNIT | REPLACE, 1),
    ],
)
def test_one_unit_moves_the_score_of_a_group_by_at_most(
    text: str, options: dict[str, Any], linf: float
) -> None:
    """Over all groups together it may move as many of them as there are."""
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", DATA, columns=COLUMNS, **options)
    compiled = session.query(text)._compiled
    found = layout_to_choose_by(compiled, layout_for(compiled, 1).parts)
    (claim,) = found.sensitivities
    assert claim.linf * found.step(0) == pytest.approx(linf)
    if "unit" in options:
        assert claim.l1 == claim.linf * compiled.groups
        assert claim.l2_squared == claim.linf**2 * compiled.groups


def test_cells_are_no_scores() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", DATA, columns=COLUMNS, **UNIT)
    compiled = session.query("SELECT k, MEDIAN(y) FROM t GROUP BY k")._compiled
    with pytest.raises(InternalError, match="no bound in each group"):
        layout_to_choose_by(compiled, layout_for(compiled, 1).parts)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("options", [{}, REPLACE, UNIT, UNIT | REPLACE], ids=str)
@pytest.mark.parametrize("grouped", ["", "k, {} GROUP BY k"], ids=["whole", "grouped"])
@pytest.mark.parametrize("value", ["0", "x - x", "0 * y"])
def test_a_sum_that_can_only_be_zero_has_noise_all_the_same(
    value: str, grouped: str, options: dict[str, Any], norm: int
) -> None:
    """It is measured on private rows: a claim of 0 would be one that no noise belongs to."""
    select, _, group = (grouped or "{}").partition("{}")
    found = layout(f"SELECT {select}SUM({value}) FROM t{group}", norm, **options)
    for claim in found.sensitivities:
        assert not claim.is_zero
        assert 0 < claim.linf**2 <= claim.l2_squared
        assert norm == 2 or (claim.l1 is not None and claim.l2_squared <= claim.l1**2)


def test_a_public_number_of_rows_moves_not_at_all() -> None:
    (found,) = layout("SELECT COUNT(*) FROM t", **REPLACE).sensitivities
    assert found.is_zero
    (grouped,) = layout("SELECT k, COUNT(*) FROM t GROUP BY k", **REPLACE).sensitivities
    assert not grouped.is_zero


def test_bounds_in_different_norms_are_consistent() -> None:
    for options in ({}, REPLACE, UNIT, UNIT | REPLACE):
        for text in (
            "SELECT COUNT(*), SUM(x), AVG(y) FROM t WHERE x > 0",
            "SELECT k, COUNT(*), SUM(x), AVG(y) FROM t GROUP BY k",
        ):
            for found in layout(text, 1, **options).sensitivities:
                assert found.l1 is not None
                assert found.linf**2 <= found.l2_squared <= found.l1**2
                assert found.why


def test_every_reason_is_in_words_and_units_of_value() -> None:
    (found,) = layout("SELECT SUM(y) FROM t", **UNIT).sensitivities
    assert found.why == "one unit weighs at most 5 rows of at most 4 each"


@pytest.mark.parametrize(
    ("options", "norm", "size"),
    [
        ({}, 1, 1),
        ({}, 2, 1),
        (REPLACE, 1, 2),
        (REPLACE, 2, 2**0.5),
        (UNIT, 1, 5),
        (UNIT, 2, 5),
        (UNIT | REPLACE, 1, 10),
        (UNIT | REPLACE, 2, 5 * 2**0.5),
    ],
)
@pytest.mark.parametrize(
    "select", ["MEDIAN(y), MAX(y) FROM t", "k, MEDIAN(y), MAX(y) FROM t GROUP BY k"]
)
def test_counts_over_a_grid_move_like_one_count(
    select: str, options: dict[str, Any], norm: int, size: float
) -> None:
    found = layout(f"SELECT {select}", norm, **options)
    assert [type(part) for part in found.parts] == [RankedCells] + [GridCounts] * 3
    for i, claim in enumerate(found.sensitivities):
        steps = claim.l1 if norm == 1 else claim.l2_squared**0.5
        assert steps is not None
        # A row that moves within a group is at an L1 distance of 2 there, in either norm.
        chosen = isinstance(found.parts[i], RankedCells)
        within = {1: 2, 5: 10}[options["unit"].max_rows if "unit" in options else 1]
        wanted = within if chosen and "size" in options else size
        assert steps * found.step(i) == pytest.approx(wanted)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("options", [{}, UNIT], ids=["row", "unit"])
def test_sums_from_both_ends_share_one_bound(norm: int, options: Any) -> None:
    found = layout("SELECT COUNT(*), AVG(x), SUM(x) FROM t", norm, **options)
    if norm == 1:
        assert found.together == ((0, 1),)
    for group in found.together:
        assert len({found.sensitivities[i] for i in group}) == 1


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("own", [[-3] * 9, [10] * 9, [-3, 10] * 4, [4], [0, 1, 9, 10, -3, 7]])
def test_a_unit_moves_both_sums_together_by_no_more_than_one(
    own: list[int], norm: int, engine: Any
) -> None:
    """Whatever its rows are, and however many: one bound holds for the two."""
    keys = ["a", "b", "c"] * 3
    others = pl.DataFrame({"id": [2, 3, 3], "x": [1, 2, 10], "k": ["a", "b", "c"]})
    rows = pl.DataFrame({"id": [1] * len(own), "x": own, "k": keys[: len(own)]})
    measured_of = []
    for data in (others, pl.concat([others, rows])):
        session = dp.Session(dp.Budget(epsilon=1))
        columns = {name: COLUMNS[name] for name in ("x", "k")}
        session.register("t", data, columns=columns, engine=engine, **UNIT)
        query = session.query("SELECT k, AVG(x) FROM t GROUP BY k")
        plan = layout_for(query._compiled, norm)
        if len(plan.together) > 1:
            pytest.skip("the layout of this norm takes a count of its own")
        measured_of.append(measured(query._engine, query._compiled, plan))
    before, after = measured_of
    moved = [abs(a - b) for i in (0, 1) for a, b in zip(before[i], after[i], strict=True)]
    claim = plan.sensitivities[0]
    assert sum(m * m for m in moved) <= claim.l2_squared
    assert claim.l1 is None or sum(moved) <= claim.l1


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    ("text", "one", "other"),
    [
        ("SELECT COUNT(*) FROM t WHERE x >= 0", [("a", 1)] * 9, [("a", -1)]),
        ("SELECT SUM(x) FROM t", [("a", 10)] * 9, [("a", -3)] * 7),
        ("SELECT COUNT(DISTINCT x) FROM t", [("a", i) for i in range(5)], [("a", None)]),
        (
            "SELECT COUNT(DISTINCT k) FILTER (WHERE x < 9) FROM t",
            [(k, 1) for k in "abc"] * 3,
            [("a", None)],
        ),
        ("SELECT k, COUNT(*) FROM t GROUP BY k", [("a", 1)] * 9, [("b", 1)] * 6),
        ("SELECT k, COUNT(DISTINCT id) FROM t GROUP BY k", [(k, 1) for k in "abc"], []),
        ("SELECT k, SUM(ABS(x)) FROM t GROUP BY k", [("a", 10)] * 9, [("b", 10)] * 6),
        # In L1 from one group to another; in L2 from both ends in two groups to the other ones.
        (
            "SELECT k, SUM(x) FROM t GROUP BY k",
            [("a", 10)] * 958 + [("b", -3)] * 287,
            [("a", -3)] * 287 + [("b", 10)] * 958,
        ),
    ],
)
def test_what_a_replaced_unit_may_move_is_moved_by_some(
    text: str, one: list[Any], other: list[Any], norm: int, engine: Any
) -> None:
    """No unit moves more than is claimed, and some unit moves (nearly) as much."""
    stays = [(2, "a", 10**6), (3, "b", 10**6)]
    found = []
    for rows in (one, other):
        data = pl.DataFrame(
            [*stays, *((1, k, x) for k, x in rows)],
            schema={"id": pl.Int64, "k": pl.String, "x": pl.Int64},
            orient="row",
        )
        session = dp.Session(dp.Budget(epsilon=1))
        columns = {"x": dp.Range(-3, 10), "k": COLUMNS["k"]}
        options = UNIT | {"neighbors": "replace", "size": 3}
        session.register("t", data, columns=columns, engine=engine, **options)
        query = session.query(text)
        plan = layout_for(query._compiled, norm)
        found.append(measured(query._engine, query._compiled, plan))
    (before,), (after,) = found
    (claim,) = plan.sensitivities
    moved = [abs(a - b) for a, b in zip(before, after, strict=True)]
    square = sum(m * m for m in moved)
    assert max(moved) <= claim.linf
    assert square <= claim.l2_squared
    if norm == 2:
        assert square >= 0.999 * claim.l2_squared
    else:
        assert claim.l1 is not None
        assert (0.8 if "SUM(x) FROM t GROUP" in text else 1) * claim.l1 <= sum(moved) <= claim.l1


def test_where_a_row_is_replaced_both_sums_are_paid_for() -> None:
    """From one end to the other is twice the range, in the two together."""
    found = layout("SELECT AVG(x) FROM t WHERE x > 0", **REPLACE)
    assert all(len(group) == 1 for group in found.together)
    part = next(p for p in found.parts if isinstance(p, CodedSum))
    ends = Ends.of(part)
    assert ends is not None
    assert bounded_together([ends.above, ends.below], found.context) == ((0,), (1,))

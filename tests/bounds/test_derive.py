"""Tables that describe derived rows: their unit, their weight, and what stays known of columns."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.bounds.derive import analysed, derived, named_columns, selected, visible_table
from dpframe.bounds.lower import Lowering
from dpframe.bounds.rows import ON, UNIT, Rows, Selected
from dpframe.declare import Table, declare
from dpframe.engines.polars import PolarsEngine
from dpframe.frontends.sql import plan_of
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import Call, Column, literal
from dpframe.plan.nodes import aggregate_of

FRAME = pl.DataFrame({"u": [1, 2], "x": [3, 4], "f": [0.5, 1.5], "t": ["a", "b"]})
COLUMNS = {"x": dp.Range(0, 9), "f": dp.Range(0.0, 2.0)}


def table(frame: pl.DataFrame = FRAME, **options: Any) -> Table:
    given = {
        "unit": dp.Unit("u", max_rows=3),
        "columns": {n: c for n, c in COLUMNS.items() if n in frame.columns},
        "neighbors": "add_remove",
        "size": None,
        "public": False,
    }
    return declare("t", PolarsEngine(frame).storage(), **{**given, **options})


def rows(source: Table, sql: str) -> Rows:
    """The rows that a query ranges over."""
    plan = plan_of(sql, {"t": source})
    lowering = Lowering({"t": source}, lambda selected: False)
    return lowering.rows(aggregate_of(plan).parent)


def test_a_selection_brings_its_unit_along_as_it_is_stored() -> None:
    found = selected(rows(table(), "SELECT COUNT(*) FROM t WHERE x > 4"), {"k": Column("x")})
    assert isinstance(found, Selected)
    assert dict(found.columns) == {"k": Column("x")}
    assert found.result.unit == dp.Unit(UNIT, 3)
    assert set(found.result.domains) == {"k", UNIT}
    assert found.result.name == ""


def test_rows_that_are_units_stay_so() -> None:
    alone = table(unit=dp.Row())
    found = selected(rows(alone, "SELECT COUNT(*) FROM t"), {"k": Column("x")})
    assert found.result.unit == dp.Row()
    assert UNIT not in found.result.domains


def test_what_a_join_compares_gets_names_that_no_user_can_take() -> None:
    given = rows(table(), "SELECT COUNT(*) FROM t")
    found = selected(given, {"k": Column("x")}, on=[analysed(given, Column("t"))])
    assert [name for name, _ in found.columns] == ["k", f"{ON}0"]


def test_an_expression_is_known_by_the_rows_that_are_kept() -> None:
    kept = rows(table(), "SELECT COUNT(*) FROM t WHERE x > 4 AND f IS NOT NULL")
    twice = Call("multiply", (Column("x"), literal(2)))
    domain = analysed(kept, twice).domain
    assert (domain.low, domain.high, domain.nullable) == (10, 18, False)
    assert not analysed(kept, Column("f")).domain.nullable
    every = rows(table(), "SELECT COUNT(*) FROM t")
    assert analysed(every, twice).domain == Domain(Type.INT, 0, 18)


def test_what_is_visible_goes_by_the_names_above_and_the_unit_by_its_own() -> None:
    named = rows(table(), "SELECT COUNT(*) FROM (SELECT u AS who, x + 1 AS y FROM t)")
    shown = visible_table(named)
    assert shown.unit == dp.Unit("who", 3)
    assert (shown.domains["y"].low, shown.domains["y"].high) == (1, 10)
    hidden = visible_table(rows(table(), "SELECT COUNT(*) FROM (SELECT x AS u FROM t)"))
    assert hidden.unit == dp.Unit(UNIT, 3)  # a column that took its name is not the unit


def test_derived_rows_weigh_what_the_heaviest_table_says() -> None:
    like = selected(rows(table(), "SELECT COUNT(*) FROM t"), {"k": Column("x")}).result
    heavy = table(unit=dp.Unit("u", max_rows=8))
    found = derived({"k": like.domains["k"]}, [table(), heavy], like)
    assert found.unit == dp.Unit(UNIT, 8)
    assert not found.public
    assert set(found.domains) == {"k", UNIT}


def test_what_is_derived_from_public_tables_alone_is_public() -> None:
    public = table(unit=dp.Row(), public=True)
    like = selected(rows(public, "SELECT COUNT(*) FROM t"), {"k": Column("x")}).result
    assert derived({"k": like.domains["k"]}, [], like).public
    assert not derived({"k": like.domains["k"]}, [table()], like).public


def test_how_neighbours_differ_is_kept() -> None:
    replaced = table(neighbors="replace", size=7)
    given = rows(replaced, "SELECT COUNT(*) FROM t")
    like = selected(given, {"k": Column("x")}).result
    for found in (like, derived({}, [replaced], like), visible_table(given)):
        assert (found.neighbors, found.size) == ("replace", 7)


def test_the_units_column_stays_the_units_column() -> None:
    given = rows(table(), "SELECT COUNT(*) FROM t")
    outputs = {"who": Column("u"), "y": Column("x")}
    names = {"who": "l0", "y": "l1"}
    assert named_columns(outputs, names, given) == {"who": Column(UNIT), "y": Column("l1")}
    assert named_columns(outputs, names, None) == {"who": Column("l0"), "y": Column("l1")}


@pytest.mark.parametrize(
    "units",
    [
        pl.Series("u", [0.5, 1.5]),
        pl.Series("u", [1, 2], dtype=pl.UInt64),
        pl.Series("u", [1, 2], dtype=pl.Datetime("us")),
    ],
    ids=lambda s: str(s.dtype),
)
def test_units_that_engines_compare_differently_are_refused(units: pl.Series) -> None:
    odd = table(FRAME.with_columns(units))
    with pytest.raises(dp.QueryError, match="cannot be joined, stacked or grouped by"):
        selected(rows(odd, "SELECT COUNT(*) FROM t"), {"k": Column("x")})

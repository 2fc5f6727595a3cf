"""GROUP BY in a subquery: what is known of each value, who owns each row, and what is refused."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import layout_for
from dpframe.bounds.rows import UNIT, Grouped
from dpframe.mechanisms import Law
from dpframe.plan.domains import Domain, Type

ROWS = pl.DataFrame(
    {
        "u": [1, 1, 1, 2, 2, None],
        "x": [1, 5, None, 9, 9, 2],
        "f": [0.5, 2.0, None, -1.0, -1.0, 0.25],
        "t": ["a", "b", "a", None, "a", "b"],
        "d": [date(2024, 1, day) for day in range(1, 7)],
        "b": [True, False, None, True, True, None],
    }
)
COLUMNS = {
    "x": dp.Range(0, 9),
    "f": dp.Range(-1.0, 2.0),
    "t": dp.Keys(["a", "b"]),
    "d": dp.Range(date(2024, 1, 1), date(2024, 1, 31)),
}


@pytest.fixture(params=["polars", "duckdb"])
def session(request: pytest.FixtureRequest) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=10))
    engine: Any = request.param
    opened.register("t", ROWS, unit=dp.Unit("u", max_rows=3), columns=COLUMNS, engine=engine)
    opened.register("r", ROWS, columns=COLUMNS, engine=engine)
    opened.register("p", ROWS, public=True, engine=engine)
    opened.register("open", ROWS, unit=dp.Unit("u", max_rows=3), engine=engine)
    return opened


def compiled(session: dp.Session, value: str, table: str = "t") -> Compiled:
    asked = f"SELECT COUNT(v) FROM (SELECT u, {value} AS v FROM {table} GROUP BY u)"
    return session.query(asked)._compiled


def measures(found: Compiled) -> dict[str, Domain]:
    assert isinstance(found.source, Grouped)
    return {name: found.table.domains[name] for name, _ in found.source.measures}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("COUNT(*)", Domain(Type.INT, 1, nullable=False)),
        ("COUNT(x)", Domain(Type.INT, 0, nullable=False)),
        ("COUNT(DISTINCT t)", Domain(Type.INT, 0, nullable=False)),
        ("COUNT_IF(x > 3)", Domain(Type.INT, 0, nullable=False)),
        ("COUNT(*) FILTER (WHERE x > 3)", Domain(Type.INT, 0, nullable=False)),
        ("MIN(x)", Domain(Type.INT, 0, 9)),
        ("MAX(f)", Domain(Type.FLOAT, -1.0, 2.0)),
        ("MAX(d)", Domain(Type.DATE, date(2024, 1, 1), date(2024, 1, 31))),
        ("BOOL_OR(b)", Domain(Type.BOOL, False, True)),
        ("SUM(x)", Domain(Type.INT, 0)),
        ("SUM(-x)", Domain(Type.INT, high=0)),
        ("SUM(b)", Domain(Type.INT, 0)),
        ("SUM(f)", Domain(Type.INT)),
    ],
)
def test_what_is_known_of_a_value_follows_from_declared_ranges(
    session: dp.Session, value: str, expected: Domain
) -> None:
    """How many rows a unit has is bounded by nothing, so a count or a sum has one bound at most."""
    (domain,) = measures(compiled(session, value)).values()
    assert (domain.type, domain.low, domain.high) == (expected.type, expected.low, expected.high)
    assert domain.nullable == expected.nullable


def test_a_mean_stays_within_the_range_of_its_values(session: dp.Session) -> None:
    outer = "SELECT SUM(v) FROM (SELECT u, AVG(f) AS v FROM t GROUP BY u)"
    layout = layout_for(session.query(outer)._compiled, 1)
    (part,) = layout.parts
    assert part.coding.value(part.coding.low) == -1.0  # type: ignore[union-attr]
    assert part.coding.value(part.coding.high) == 2.0  # type: ignore[union-attr]


def test_a_row_for_each_unit_weighs_one_and_other_keys_keep_the_weight(session: dp.Session) -> None:
    alone = compiled(session, "COUNT(*)")
    assert alone.table.max_rows == 1
    assert isinstance(alone.source, Grouped)
    assert alone.source.keys == (UNIT,)
    asked = "SELECT COUNT(*) FROM (SELECT u, t, COUNT(*) AS n FROM t GROUP BY u, t)"
    assert session.query(asked)._compiled.table.max_rows == 3
    # A computed key is a key like any other, whatever it is computed from.
    asked = "SELECT COUNT(*) FROM (SELECT u, x // 2 AS h FROM t GROUP BY u, h)"
    assert session.query(asked)._compiled.table.max_rows == 3


def test_values_are_exact_and_null_is_a_unit_like_any_other(
    session: dp.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    asked = (
        "SELECT COUNT(*), SUM(n), SUM(s), SUM(m), COUNT(w) FROM (SELECT u, LEAST(COUNT(*), 9) AS n,"
        " LEAST(SUM(x), 50) AS s, MIN(x) AS m, SUM(f) FILTER (WHERE x > 100) AS w FROM t GROUP BY u)"
    )
    # Three units; six rows; all of x; the least of each; no f.
    assert session.sql(asked, epsilon=1).frame.row(0) == (3, 6, 26, 12, 0)


def test_each_measure_and_its_argument_are_computed_once(session: dp.Session) -> None:
    asked = (
        "SELECT COUNT(a), COUNT(b), COUNT(c) FROM"
        " (SELECT u, SUM(x) AS a, SUM(x) + 1 AS b, AVG(x) AS c FROM t GROUP BY u)"
    )
    found = session.query(asked)._compiled
    assert isinstance(found.source, Grouped)
    assert sorted(m.kind for _, m in found.source.measures) == ["total", "values"]
    assert [name for name, _ in found.source.input.columns] == ["in0"]


def test_values_that_nobody_reads_are_not_computed(session: dp.Session) -> None:
    asked = "SELECT COUNT(*) FROM (SELECT u, SUM(x) AS a, MAX(f) AS b FROM t GROUP BY u)"
    found = session.query(asked)._compiled
    assert isinstance(found.source, Grouped)
    assert found.source.measures == ()


def test_public_rows_may_be_grouped_by_anything(session: dp.Session) -> None:
    asked = "SELECT COUNT(*), SUM(n) FROM (SELECT t, LEAST(COUNT(*), 100) AS n FROM p GROUP BY t)"
    assert session.query(asked)._compiled.table.public
    assert session.sql(asked).frame.row(0) == (3, 6)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT COUNT(*) FROM (SELECT t FROM t GROUP BY t)", "rows of different units"),
        ("SELECT COUNT(*) FROM (SELECT u + 1 FROM t GROUP BY u + 1)", "rows of different units"),
        ("SELECT COUNT(*) FROM (SELECT x FROM r GROUP BY x)", "each row is a unit of its own"),
        ("SELECT COUNT(*) FROM (SELECT u, f FROM t GROUP BY u, f)", "differ in their last digits"),
        (
            "SELECT COUNT(v) FROM (SELECT u, COUNT(DISTINCT f) AS v FROM t GROUP BY u)",
            "differ in their last digits",
        ),
        ("SELECT SUM(v) FROM (SELECT u, SUM(x) AS v FROM open GROUP BY u)", "declared ranges"),
        ("SELECT COUNT(v) FROM (SELECT u, AVG(t) AS v FROM t GROUP BY u)", "declared ranges"),
        ("SELECT COUNT(v) FROM (SELECT u, MIN(t) AS v FROM t GROUP BY u)", "sort text alike"),
        ("SELECT COUNT(v) FROM (SELECT u, SUM(DISTINCT x) AS v FROM t GROUP BY u)", "no rule here"),
        ("SELECT COUNT(v) FROM (SELECT u, MEDIAN(x) AS v FROM t GROUP BY u)", "no rule here"),
        ("SELECT COUNT(v) FROM (SELECT u, FIRST(x) AS v FROM t GROUP BY u)", "order of rows"),
        # A count of a unit's rows has no upper bound, and neither has its sum.
        ("SELECT SUM(v) FROM (SELECT u, COUNT(*) AS v FROM t GROUP BY u)", "may be any number"),
    ],
)
def test_what_has_no_owner_no_bound_or_no_rule_is_refused(
    session: dp.Session, sql: str, why: str
) -> None:
    with pytest.raises(dp.QueryError, match=why):
        session.query(sql)

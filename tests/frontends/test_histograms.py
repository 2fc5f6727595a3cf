"""Histograms are grouped counts: bins, edges, categories, and what is refused."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.compile import compile_plan, layout_for
from dpframe.bounds.lower import Lowering
from dpframe.frontends.histograms import histogram_plan
from dpframe.mechanisms import Law

ROWS = 500
RANDOM = np.random.default_rng(8)
TABLE = pl.DataFrame(
    {
        "age": RANDOM.integers(0, 111, ROWS),
        "x": [None if i % 7 == 0 else v for i, v in enumerate(RANDOM.normal(0, 2, ROWS).tolist())],
        "day": [date(2024, 1, 1) + timedelta(days=int(d)) for d in RANDOM.integers(0, 366, ROWS)],
        "ward": RANDOM.choice(["er", "icu", "gp"], ROWS),
        "free": RANDOM.integers(0, 9, ROWS),
    }
)
COLUMNS = {
    "age": dp.Range(0, 110),
    "x": dp.Range(-3, 3),
    "day": dp.Range(date(2024, 1, 1), date(2024, 12, 31)),
    "ward": dp.Keys(["er", "gp", "icu"]),
}


@pytest.fixture(params=["polars", "duckdb"])
def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dp.Session:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    opened = dp.Session(dp.Budget(epsilon=1000))
    opened.register("t", TABLE, columns=COLUMNS, engine=request.param)
    return opened


@pytest.mark.parametrize("bins", [1, 2, 7, 11, 30])
@pytest.mark.parametrize(("column", "ends"), [("age", (0, 110)), ("x", (-3, 3))])
def test_equal_bins_are_those_of_numpy(
    session: dp.Session, column: str, ends: tuple[int, int], bins: int
) -> None:
    found = session.histogram("t", column, bins=bins, epsilon=1).frame
    values = TABLE[column].drop_nulls().to_numpy().clip(*ends)
    expected, edges = np.histogram(values, bins, ends)
    assert found["count"].to_list() == expected.tolist()
    assert np.allclose(found["low"], edges[:-1])
    assert np.allclose(found["high"], edges[1:])


def test_every_value_is_counted_in_the_bin_whose_ends_are_shown(session: dp.Session) -> None:
    """Ends such as 0.1 + 0.2 are what the rows are compared with, rounding included."""
    values = pl.DataFrame({"v": np.arange(0, 101) / 100})
    session.register("v", values, columns={"v": dp.Range(0, 1)})
    found = session.histogram("v", "v", bins=10, epsilon=1).frame
    for low, high, count in found.rows():
        inside = (values["v"] >= low) & ((values["v"] < high) | (high == 1))
        assert count == inside.sum()


def test_given_edges_leave_out_what_lies_beyond_them(session: dp.Session) -> None:
    found = session.histogram("t", "age", edges=[18, 30, 65], epsilon=1).frame
    expected, _ = np.histogram(TABLE["age"], [18, 30, 65])
    assert found.rows() == [(18, 30, expected[0]), (30, 65, expected[1])]
    # A column without a range has edges too: they bound it.
    assert session.histogram("t", "free", edges=[0, 4, 8], epsilon=1).frame["count"].sum() == ROWS


def test_days_have_bins(session: dp.Session) -> None:
    found = session.histogram("t", "day", bins=4, epsilon=1).frame
    assert found["count"].sum() == ROWS
    assert found.schema["low"] == pl.Date()
    for low, high, count in found.rows():
        last = high == date(2024, 12, 31)
        inside = (TABLE["day"] >= low) & ((TABLE["day"] <= high) if last else TABLE["day"] < high)
        assert count == inside.sum()


def test_categories_groups_and_two_columns(session: dp.Session) -> None:
    wards = session.histogram("t", "ward", epsilon=1).frame
    counts = TABLE.group_by("ward").len().sort("ward")
    assert wards.rows() == counts.rows()
    both = session.histogram("t", "age", bins=2, by="ward", epsilon=1).frame
    assert both.columns == ["ward", "low", "high", "count"]
    assert both.group_by("ward").agg(pl.col("count").sum()).sort("ward").rows() == counts.rows()
    edges = {"age": [0, 50, 110], "x": [-3, 0, 3]}
    plane = session.histogram("t", ["age", "x"], edges=edges, epsilon=1).frame
    assert plane.columns == ["age_low", "age_high", "x_low", "x_high", "count"]
    kept = TABLE.drop_nulls("x")
    expected, *_ = np.histogram2d(kept["age"], kept["x"].clip(-3, 3), [edges["age"], edges["x"]])
    assert plane["count"].to_list() == expected.ravel().tolist()
    mixed = session.histogram("t", ["ward", "age"], bins=2, epsilon=1).frame
    assert mixed.columns == ["ward", "age_low", "age_high", "count"]


@pytest.mark.parametrize("bins", [1, 10, 1000])
def test_the_number_of_bins_costs_nothing(bins: int) -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    opened.register("t", TABLE, columns=COLUMNS)
    table, engine = opened._tables["t"], opened._engines["t"]
    plan, _ = histogram_plan(table, ["x"], bins, None, [])
    lowering = Lowering({"t": table}, engine.is_unique)
    layout = layout_for(compile_plan(plan, lowering, engine.evaluate), 1)
    assert [s.l1 for s in layout.sensitivities] == [1]


def test_counts_are_raised_to_zero_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.full(n, -(10**6), dtype=np.int64))
    opened = dp.Session(dp.Budget(epsilon=10))
    opened.register("t", TABLE, columns=COLUMNS)
    asked: dict[str, Any] = {"bins": 5, "epsilon": 1}
    assert (opened.histogram("t", "x", **asked).frame["count"] < 0).all()
    again = opened.histogram("t", "x", nonnegative=True, **asked)
    assert again.reused  # the same counts
    assert (again.frame["count"] == 0).all()


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        ("age", {}, "takes either bins= or edges="),
        ("age", {"bins": 5, "edges": [0, 1]}, "takes either bins= or edges="),
        ("age", {"bins": 0}, "bins=0 is not a whole number"),
        ("age", {"bins": True}, "bins=True is not a whole number"),
        ("age", {"bins": 1001}, "bins=1001 is not"),
        ("age", {"edges": [5]}, "are not at least two rising values"),
        ("age", {"edges": [5, 5]}, "are not at least two rising values"),
        ("age", {"edges": [0, float("nan")]}, "are not at least two rising values"),
        ("age", {"edges": ["a", "b"]}, "are not at least two rising values"),
        ("day", {"edges": [0, 10]}, "are not at least two rising values"),
        ("free", {"bins": 5}, "has no range to be cut into bins"),
        ("nobody", {"bins": 5}, "is not a column of t"),
    ],
)
def test_what_is_no_histogram_is_refused_and_costs_nothing(
    column: str, options: dict[str, Any], words: str
) -> None:
    opened = dp.Session(dp.Budget(epsilon=1))
    opened.register("t", TABLE, columns=COLUMNS)
    with pytest.raises(dp.UserError, match=words):
        opened.histogram("t", column, epsilon=0.5, **options)
    assert str(opened.remaining) == "epsilon 1"

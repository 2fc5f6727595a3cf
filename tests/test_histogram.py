"""Which counts a histogram measures: the better way for its cost, chosen before it is spent."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.frontends.histograms import histogram_plan
from dpframe.plan.bins import on_levels

RANDOM = np.random.default_rng(4)
TABLE = pl.DataFrame(
    {
        "u": RANDOM.integers(0, 500, 2_000),
        "x": RANDOM.normal(0, 1, 2_000),
        "age": RANDOM.integers(0, 111, 2_000),
        "ward": RANDOM.choice(["er", "gp"], 2_000),
    }
)
COLUMNS = {
    "x": dp.Range(-3, 3, nullable=False),
    "age": dp.Range(0, 110, nullable=False),
    "ward": dp.Keys(["er", "gp"]),
}


def opened(budget: dp.Budget | None = None, **registered: Any) -> dp.Session:
    session = dp.Session(budget or dp.Budget(epsilon=100, delta=1e-6))
    session.register("t", TABLE, columns=COLUMNS, **registered)
    return session


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=6)])
@pytest.mark.parametrize("column", ["x", "age"])
@pytest.mark.parametrize("shape", [(10, 2), (4, 3), (2, 6)])
def test_a_unit_weighs_the_same_on_every_level_whatever_the_bins(
    engine: Any, unit: Any, column: str, shape: tuple[int, int]
) -> None:
    session = opened(engine=engine, unit=unit)
    plan, _ = histogram_plan(session._tables["t"], [column], 90, None, ["ward"])
    compiled = session._analysed(on_levels(plan, *shape), "")._compiled
    rows = 1 if unit is None else 6 << 20
    assert [s.l1 for s in layout_for(compiled, 1).sensitivities] == [shape[1] * rows]
    assert [s.l2_squared for s in layout_for(compiled, 2).sensitivities] == [shape[1] * rows**2]
    # Every level has every cell that a value can be in, and no other.
    reached = session.histogram("t", column, bins=90, epsilon=1)._numbers
    for level, one in enumerate(compiled.groupings):
        cells = np.unique(reached // shape[0] ** level)
        assert one.frame.height == 2 * len(cells)


def test_many_bins_are_counted_on_levels_and_few_alone() -> None:
    session = opened()
    many = session.histogram("t", "x", bins=200, cumulative=True, epsilon=0.1)
    assert many._ladder.height > 1
    assert "counts of coarse and fine bins, which agree; a range of bins is then off by" in repr(
        many
    )
    few = session.histogram("t", "x", bins=5, cumulative=True, epsilon=0.1)
    assert few._ladder.height == 1
    assert "counts of the bins alone; a range of bins is then off by" in repr(few)
    plain = session.histogram("t", "x", bins=200, epsilon=0.1)
    assert plain._ladder.height == 1


def test_hierarchical_is_taken_at_its_word() -> None:
    session = opened()
    few = session.histogram("t", "x", bins=5, hierarchical=True, epsilon=0.1)
    assert few._ladder.height == 2
    many = session.histogram("t", "x", bins=200, hierarchical=False, cumulative=True, epsilon=0.1)
    assert many._ladder.height == 1
    alone = session.histogram("t", "x", bins=2, hierarchical=True, epsilon=0.1)
    assert alone._ladder.height == 1  # there is nothing between two bins and their total


def test_gaussian_noise_takes_more_levels() -> None:
    session = opened()
    laplace = session.histogram("t", "x", bins=300, hierarchical=True, epsilon=0.1)
    gaussian = session.histogram("t", "x", bins=300, hierarchical=True, rho=0.01)
    assert laplace._ladder.height < gaussian._ladder.height


def test_the_way_that_is_chosen_has_the_smaller_errors() -> None:
    """The predicted order of the two is that of their error bars."""
    for bins, better in [(5, False), (300, True)]:
        found = {}
        for hierarchical in (False, True):
            release = opened().histogram(
                "t", "x", bins=bins, cumulative=True, hierarchical=hierarchical, epsilon=0.1
            )
            found[hierarchical] = float(release.errors["cumulative"].mean() or 0)
        assert (found[True] < found[False]) == better


def test_what_was_measured_on_levels_answers_other_questions() -> None:
    session = opened()
    first = session.histogram("t", "x", bins=100, hierarchical=True, epsilon=0.1)
    spent = session.spent
    again = session.histogram("t", "x", bins=100, hierarchical=True, cumulative=True)
    assert again.reused
    assert again.frame["count"].equals(first.frame["count"])
    assert session.histogram("t", "x", bins=100).reused
    assert session.sql("SELECT HISTOGRAM(x, 100) FROM t").reused
    assert session.spent == spent


def test_cumulative_counts_come_from_bins_that_are_known_where_no_cost_is_said() -> None:
    session = opened()
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        session.histogram("t", "x", bins=100, cumulative=True)
    session.histogram("t", "x", bins=100, epsilon=0.1)
    found = session.histogram("t", "x", bins=100, cumulative=True)
    assert found.reused
    assert found.frame["cumulative"].to_list() == found.frame["count"].cum_sum().to_list()


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=1), dp.Budget(rho=0.1)])
def test_every_kind_of_budget(budget: dp.Budget) -> None:
    session = opened(budget, unit=dp.Unit("u", max_rows=6))
    found = session.histogram("t", "x", bins=60, by="ward", cumulative=True, share=0.2)
    assert len(found) == 120
    assert found.errors["cumulative"].min() > 0


def test_a_public_table_is_counted_exactly() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", TABLE, columns=COLUMNS, public=True)
    found = session.histogram("t", "age", bins=11, cumulative=True, epsilon=0.1)
    expected, _ = np.histogram(TABLE["age"], 11, (0, 110))
    assert found.frame["count"].to_list() == expected.tolist()
    assert found.errors["cumulative"].to_list() == [0] * 11


def test_bars_stand_beside_the_counts() -> None:
    found = opened().histogram("t", "age", bins=4, epsilon=1)
    lines = repr(found).split("\n")
    assert lines[0].split() == ["low", "high", "count"]
    assert all("█" in line for line in lines[2:6])
    longest = max(found.frame["count"])
    for line, count in zip(lines[2:6], found.frame["count"], strict=True):
        assert abs(line.count("█") + line.count("▓") - 24 * count / longest) <= 1.5
    page = found._repr_html_()
    assert page.count("<tr>") == 5
    assert page.count("position:relative") == 4


def test_bars_of_many_bins_and_of_negative_counts() -> None:
    session = opened()
    many = session.histogram("t", "x", bins=1000, epsilon=0.01)
    assert (many.frame["count"] < 0).any()
    assert "... and 940 more rows in .frame" in repr(many)
    assert repr(many).count("\n") < 70
    assert many._repr_html_().count("<tr>") == 61
    assert "0.30000000000000004" not in repr(session.histogram("t", "x", bins=20, epsilon=1))

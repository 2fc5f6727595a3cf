"""Totals are the sums of their groups, and no number is less accurate for it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import Stream

import dpframe as dp
from dpframe.release.cost import Cost

COLUMNS = {
    "a": dp.Range(0, 5, nullable=False),
    "b": dp.Range(0, 3),
    "ward": dp.Keys(["er", "icu"]),
    "x": dp.Range(0, 9, nullable=False),
}


def rows() -> pl.DataFrame:
    random = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "u": random.integers(0, 300, 2000),
            "a": random.integers(0, 6, 2000),
            "b": [None if v == 4 else int(v) for v in random.integers(0, 5, 2000)],
            "ward": random.choice(["er", "icu", "gp"], 2000),
            "x": random.integers(0, 10, 2000),
        }
    )


def asked(seed: int = 0, **options: Any) -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=100, delta=1e-6))
    session._source = Stream(seed)
    session.register("t", rows(), columns=COLUMNS, **options)
    return session


CUBE = (
    "SELECT a, b, COUNT(*) AS n, SUM(x) AS s, GROUPING(a) AS ga, GROUPING(b) AS gb"
    " FROM t GROUP BY CUBE (a, b)"
)


def sums_agree(frame: pl.DataFrame, columns: list[str]) -> bool:
    """Whether the groups of every grouping add up to the same total."""
    totals = frame.group_by("ga", "gb").agg(pl.col(columns).sum())
    return totals.height == 4 and totals.select(columns).unique().height == 1


@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=10)], ids=["row", "unit"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_totals_are_the_sums_of_their_groups(unit: Any, engine: Any) -> None:
    session = asked(unit=unit, engine=engine)
    for release in (session.sql(CUBE, epsilon=1), session.sql(CUBE)):
        frame = release.frame
        assert frame.height == 6 * 5 + 6 + 5 + 1
        assert sums_agree(frame, ["n", "s"])
        by_a = frame.filter(ga=0, gb=0).group_by("a").agg(pl.col("s").sum()).sort("a")
        assert by_a.equals(frame.filter(ga=0, gb=1).select("a", "s").sort("a"))


def test_asking_again_shows_the_same_numbers() -> None:
    session = asked()
    first = session.sql(CUBE, epsilon=1)
    again = session.sql(CUBE)
    assert again.reused
    assert again.frame.equals(first.frame)
    assert session.sql("SELECT a, COUNT(*) FROM t GROUP BY a").reused
    assert session.spent.releases == 1


def test_numbers_become_more_accurate() -> None:
    truth = rows().height
    alone, together = [], []
    for seed in range(40):
        session = asked(seed)
        frame = session.sql(CUBE, epsilon=0.5).frame
        together.append(frame.filter(ga=1, gb=1)["n"].item() - truth)
        alone.append(session.sql("SELECT COUNT(*) AS n FROM t").item() - truth)
    assert np.std(together) < 0.8 * np.std(alone)


def test_error_bars_cover() -> None:
    exact = asked(public=True).sql(CUBE).frame
    inside, number = 0, 0
    for seed in range(30):
        found = asked(seed).sql(CUBE, epsilon=0.5).intervals(0.9)
        for name in ("n", "s"):
            low, high = found[f"{name}_low"], found[f"{name}_high"]
            inside += ((low <= exact[name]) & (exact[name] <= high)).sum()
            number += found.height
    assert inside / number > 0.9


def test_many_cells_are_kept_on_a_finer_grid() -> None:
    session = dp.Session(dp.Budget(epsilon=100))
    session.register(
        "t", pl.DataFrame({"a": [1, 2]}), columns={"a": dp.Range(0, 2000, nullable=False)}
    )
    release = session.sql("SELECT a, COUNT(*) AS n FROM t GROUP BY ROLLUP (a)", epsilon=1)
    assert release._parts.layout.bits == (10,)
    values = release._parts.values[0]
    assert sum(values[:-1]) == values[-1]
    assert release.errors["n"].max() < 20


@pytest.mark.parametrize(
    "sql",
    [
        # Rows of other wards are in the total, and in no group.
        "SELECT ward, COUNT(*) AS n FROM t GROUP BY ROLLUP (ward)",
        # Weights in the Euclidean norm depend on the grouping.
        "SELECT a, COUNT(*) AS n FROM t GROUP BY ROLLUP (a)",
        # A unit is counted in each of its groups.
        "SELECT a, COUNT(DISTINCT u) AS n FROM t GROUP BY ROLLUP (a)",
        # Neither grouping is the finer one.
        "SELECT a, b, COUNT(*) AS n FROM t GROUP BY GROUPING SETS ((a), (b))",
    ],
)
def test_what_need_not_add_up_is_left_alone(sql: str) -> None:
    session = asked(unit=dp.Unit("u", max_rows=10))
    release = session.sql(sql, rho=0.5)
    (kept,) = release._parts.values
    raw = session.query(sql)._known(release._parts.compiled, None, Cost())
    assert raw is not None
    assert raw.values == (kept,)


def test_units_of_groups_are_no_free_count_of_all_units() -> None:
    session = asked(unit=dp.Unit("u", max_rows=10))
    session.sql("SELECT a, COUNT(DISTINCT u) AS n FROM t GROUP BY a", epsilon=1)
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        session.sql("SELECT COUNT(DISTINCT u) AS n FROM t")


def test_numbers_of_different_values_are_not_made_to_add_up() -> None:
    """A value in two groups is one value: a total is less than the sum of its groups."""
    frame = pl.DataFrame({"age": [i % 4 for i in range(4000)], "x": [i % 50 for i in range(4000)]})
    session = dp.Session(dp.Budget(epsilon=10**6))
    session.register(
        "t", frame, columns={"age": dp.Range(0, 3, nullable=False), "x": dp.Range(0, 99)}
    )
    asked = "SELECT age, COUNT(DISTINCT x) AS n FROM t GROUP BY ROLLUP (age)"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = session.sql(asked, epsilon=10**5).frame
    assert found.filter(pl.col("age").is_null())["n"].item() == 50
    assert found.filter(pl.col("age").is_not_null())["n"].to_list() == [25, 25, 25, 25]


def test_groups_of_coarser_keys_are_the_sums_of_finer_ones() -> None:
    """`a // 2` follows from `a`, so its groups are unions of those of `a`."""
    release = asked().sql(
        "SELECT a, a // 2 AS pair, COUNT(*) AS n, GROUPING(a) AS ga, GROUPING(a // 2) AS gp"
        " FROM t GROUP BY GROUPING SETS ((a // 2), (a))",
        epsilon=0.1,
    )
    fine = release.frame.filter(ga=0).group_by(pl.col("a") // 2).agg(pl.col("n").sum()).sort("a")
    assert fine["n"].to_list() == release.frame.filter(gp=0).sort("pair")["n"].to_list()


def test_groups_that_overlap_are_left_as_they_were_measured() -> None:
    """Neither of `a // 2` and `a // 3` follows from the other: nothing has to add up."""
    session = asked()
    release = session.sql(
        "SELECT a // 2 AS two, a // 3 AS three, COUNT(*) AS n FROM t"
        " GROUP BY GROUPING SETS ((a // 2), (a // 3))",
        epsilon=0.1,
    )
    for column in ("two", "three"):
        alone = session.sql(
            f"SELECT a // {2 if column == 'two' else 3} AS k, COUNT(*) AS n FROM t GROUP BY k"
        )
        assert alone.reused
        shown = release.frame.filter(pl.col(column).is_not_null())["n"].to_list()
        assert alone.frame["n"].to_list() == shown

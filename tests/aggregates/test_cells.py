"""Different values of a small domain: counted one by one where the noise of their number is too large."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from noiseless import without_noise
from streams import Stream

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines.base import measured
from dpframe.plan.parts import CountDistinct, GridCounts
from dpframe.release.offer import Offer

pytestmark = pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")

GROUPS, RUNS = 250, 8


def session(rows: list[int], engine: Any = "duckdb", unit: Any = None) -> dp.Session:
    """Many equal groups, in which each value has so many rows: as many releases at once."""
    values = [f"v{i}" for i in range(len(rows))]
    one = pl.DataFrame({"k": np.repeat(values, rows)}, schema={"k": pl.String})
    others = pl.DataFrame({"k": [None, "other"]})  # in no group of values
    one = pl.concat([one, others])
    data = pl.concat([one.with_columns(g=pl.lit(g)) for g in range(GROUPS)])
    data = data.with_row_index("u").with_columns(pl.col("u") // 2)
    opened = dp.Session(dp.Budget(epsilon=10**5, delta=1e-6))
    opened._source = Stream(1)
    columns = {"g": dp.Range(0, GROUPS - 1, nullable=False), "k": dp.Keys(values)}
    opened.register("t", data, columns=columns, engine=engine, unit=unit)
    return opened


ASKED = "SELECT g, COUNT(DISTINCT k) AS n FROM t GROUP BY g"


def releases(opened: dp.Session, cost: dict[str, float]) -> tuple[pl.DataFrame, type]:
    found = [opened.sql(ASKED, fresh=True, **cost) for _ in range(RUNS)]  # type: ignore[arg-type]
    (part,) = found[0]._parts.layout.parts
    return pl.concat([release.intervals(0.95) for release in found]), type(part)


@pytest.mark.long
@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=2)], ids=["row", "unit"])
@pytest.mark.parametrize("cost", [{"epsilon": 0.5}, {"rho": 0.05}], ids=["laplace", "gaussian"])
@pytest.mark.parametrize(
    "rows", [[90] * 5, [90, 90, 0, 0, 1], [0] * 4, [9, 0] * 3, [3] * 6], ids=str
)
def test_intervals_cover_over_two_thousand_releases(
    rows: list[int], cost: dict[str, float], unit: Any
) -> None:
    """They cover more than they say, because they hold for all values together."""
    bounds, part = releases(session(rows, unit=unit), cost)
    assert part is GridCounts
    truth = sum(count > 0 for count in rows)
    held = (bounds["n_low"] <= truth) & (truth <= bounds["n_high"])
    assert held.mean() >= 0.95  # type: ignore[operator]
    assert (bounds["n_low"] >= 0).all()
    assert (bounds["n_high"] <= len(rows)).all()
    assert bounds["n"].is_between(bounds["n_low"], bounds["n_high"]).all()


def test_what_has_many_rows_is_known_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds, _ = releases(session([400] * 5), {"epsilon": 0.1})
    assert (bounds["n"] == 5).mean() > 0.99  # type: ignore[operator]
    # A count of the values alone would be anything from far below 0 to far above all of them.
    monkeypatch.setattr(Offer, "too_far", lambda self, compiled: frozenset())
    alone, part = releases(session([400] * 5), {"epsilon": 0.1})
    assert part is CountDistinct
    assert alone["n"].std() > 10  # type: ignore[operator]


@pytest.mark.parametrize(
    ("cost", "part"),
    [
        ({"epsilon": 0.1}, GridCounts),
        ({"epsilon": 2}, GridCounts),
        ({"epsilon": 5}, CountDistinct),
        ({"share": 0.9}, CountDistinct),
        ({"error": 3}, CountDistinct),
    ],
    ids=str,
)
def test_the_cost_decides(cost: dict[str, float], part: type) -> None:
    """A deviation of a sixteenth of the five values is that of epsilon 3."""
    text = session([9] * 5).query("SELECT COUNT(DISTINCT k) FROM t").explain(**cost)
    assert ("counts of k, of each of 5 values" in text) == (part is GridCounts)
    assert ("count of different values of k" in text) == (part is CountDistinct)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize(
    "item",
    [
        "COUNT(DISTINCT k)",
        "APPROX_COUNT_DISTINCT(k)",
        "COUNT(DISTINCT k) FILTER (WHERE k <> 'v1')",
        "COUNT(DISTINCT k = 'v1')",
        "COUNT(DISTINCT LENGTH(k))",
    ],
)
def test_without_noise_it_is_the_number(
    item: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_noise(monkeypatch)
    text = f"SELECT {item} AS n FROM t"
    found = [session([7, 1, 0, 3], engine).sql(text, epsilon=e).item() for e in (0.1, 100)]
    assert found[0] == found[1] > 0


def test_what_was_counted_is_free_in_other_words() -> None:
    opened = session([90] * 5)
    first = opened.sql("SELECT COUNT(DISTINCT k) AS n FROM t", epsilon=0.1)
    again = opened.table("t").select(n=pl.col("k").drop_nulls().n_unique()).release(epsilon=0.1)
    assert first.frame.equals(again.frame)
    assert str(again.loss) == "nothing"
    assert first.intervals(0.9).equals(again.intervals(0.9))
    measured_again = opened.sql("SELECT COUNT(DISTINCT k) AS n FROM t", epsilon=2, fresh=True)
    assert measured_again.loss.epsilon == 2


def test_winners_by_different_values_are_chosen_as_before() -> None:
    text = "SELECT g // 100 AS h FROM t GROUP BY h ORDER BY COUNT(DISTINCT k) DESC LIMIT 1"
    assert session([9] * 5).sql(text, epsilon=0.1).frame.height == 1


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize(
    "own", [["v0"], ["v0", "v1", "v2"], ["v1"] * 9, [None, "v2", "x"]], ids=str
)
def test_one_unit_moves_the_counts_by_no_more_than_is_claimed(
    own: list[str | None], norm: int, engine: Any
) -> None:
    found = []
    for rows in ([], own):
        data = pl.DataFrame({"u": [2, 3, *[1] * len(rows)], "k": ["v0", "v1", *rows]})
        opened = dp.Session(dp.Budget(epsilon=1))
        opened.register(
            "t",
            data,
            columns={"k": dp.Keys(["v0", "v1", "v2"])},
            unit=dp.Unit("u", max_rows=4),
            engine=engine,
        )
        query = opened.query("SELECT COUNT(DISTINCT k) FROM t")
        compiled = replace(query._compiled, far=frozenset([0]))
        layout = layout_for(compiled, norm)
        assert isinstance(layout.parts[0], GridCounts)
        found.append(np.array(measured(query._engine, compiled, layout)[0]))
    moved = np.abs(found[1] - found[0]).astype(float)
    (claim,) = layout.sensitivities
    assert (moved**2).sum() <= claim.l2_squared
    assert claim.l1 is None or moved.sum() <= claim.l1

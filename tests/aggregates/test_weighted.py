"""Weighted and geometric means: what has no value, and what is shared with plain ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.mechanisms import Law

COLUMNS = {"x": dp.Range(1, 9), "w": dp.Range(0, 4)}


def answer(
    monkeypatch: pytest.MonkeyPatch, select: str, rows: list[tuple[Any, Any]], noise: int = 0
) -> tuple[Any, ...]:
    """The answer over a few rows when every draw of noise is the same number."""
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.full(n, noise, dtype=np.int64))
    session = dp.Session(dp.Budget(epsilon=100))
    frame = pl.DataFrame(rows, schema={"x": pl.Float64, "w": pl.Float64}, orient="row")
    session.register("t", frame, columns=COLUMNS)
    return session.sql(f"SELECT {select} FROM t", epsilon=1).frame.row(0)


def test_only_rows_with_a_value_and_a_weight_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(1.0, 1.0), (5.0, 3.0), (9.0, None), (None, 4.0), (9.0, 0.0)]
    assert answer(monkeypatch, "WEIGHTED_AVG(x, w)", rows) == pytest.approx((4.0,))
    assert answer(monkeypatch, "GEOMEAN(x)", [(1.0, 1.0), (4.0, 0.0)]) == pytest.approx((2.0,))


def test_no_weight_has_no_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(monkeypatch, "WEIGHTED_AVG(x, w)", []) == (None,)
    assert answer(monkeypatch, "WEIGHTED_AVG(x, w)", [(3.0, 0.0)]) == (None,)


@pytest.mark.parametrize("noise", [-(10**12), -3, 3, 10**12])
def test_noise_of_any_size_gives_a_value_in_the_range_or_none(
    monkeypatch: pytest.MonkeyPatch, noise: int
) -> None:
    rows = [(1.0, 1.0), (5.0, 3.0)]
    weighted, geometric = answer(monkeypatch, "WEIGHTED_AVG(x, w), GEOMEAN(x)", rows, noise)
    assert weighted is None or 1 <= weighted <= 9
    assert 1 - 1e-9 <= geometric <= 9 + 1e-9


def test_a_geometric_mean_is_free_after_the_mean_of_logarithms() -> None:
    session = dp.Session(dp.Budget(epsilon=10))
    session.register("t", pl.DataFrame({"x": [1.0, 4.0], "w": [1.0, 2.0]}), columns=COLUMNS)
    logarithms = session.sql("SELECT AVG(LN(x)) AS m FROM t", epsilon=1)
    found = session.sql("SELECT GEOMEAN(x) AS g FROM t", epsilon=1)
    assert found.reused
    assert found.item() == pytest.approx(np.exp(logarithms.item()))


def test_sums_of_squares_share_the_parts_of_variances() -> None:
    session = dp.Session(dp.Budget(epsilon=10))
    columns = {name: dp.Range(0, 9, nullable=False) for name in "xw"}
    session.register("t", pl.DataFrame({"x": [1.0, 4.0], "w": [1.0, 2.0]}), columns=columns)
    asked = """SELECT REGR_SXX(x, w), REGR_SYY(x, w), REGR_SXY(x, w), REGR_COUNT(x, w), CORR(x, w),
               COUNT(*) FROM t"""
    assert len(layout_for(session.query(asked)._compiled, 1).parts) == 6

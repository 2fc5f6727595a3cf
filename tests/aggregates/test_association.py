"""How two columns vary together: shared parts, and what has no value."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.mechanisms import Law

GROUP = pl.DataFrame({"x": np.linspace(0, 10, 50), "y": np.linspace(80, 20, 50)})


def test_a_whole_regression_is_measured_once() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    columns = {name: dp.Range(0, 100, nullable=False) for name in "xy"}
    session.register("t", GROUP, columns=columns)
    asked = """SELECT REGR_SLOPE(y, x), REGR_INTERCEPT(y, x), REGR_R2(y, x), CORR(y, x),
               COVAR_POP(y, x), AVG(x), AVG(y), VAR_POP(x), COUNT(*) FROM t"""
    # The count, the two means, the product and the two squares.
    assert len(layout_for(session.query(asked)._compiled, 1).parts) == 6


ALL = "COVAR_POP(y, x), COVAR_SAMP(y, x), CORR(y, x), REGR_SLOPE(y, x), REGR_INTERCEPT(y, x)"


def answer(
    monkeypatch: pytest.MonkeyPatch, rows: list[tuple[Any, Any]], noise: int = 0
) -> tuple[Any, ...]:
    """The answer over a few rows when every draw of noise is the same number."""
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.full(n, noise, dtype=np.int64))
    session = dp.Session(dp.Budget(epsilon=100))
    frame = pl.DataFrame(rows, schema={"y": pl.Float64, "x": pl.Float64}, orient="row")
    session.register("t", frame, columns={"x": dp.Range(-4, 12), "y": dp.Range(0, 8)})
    return session.sql(f"SELECT {ALL} FROM t", epsilon=1).frame.row(0)


def test_only_rows_with_both_values_count(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(1.0, 2.0), (3.0, 4.0), (8.0, None), (None, 12.0), (None, None)]
    assert answer(monkeypatch, rows) == pytest.approx((1.0, 2.0, 1.0, 1.0, -1.0))


def test_too_few_rows_and_constants_have_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(monkeypatch, []) == (None,) * 5
    assert answer(monkeypatch, [(1.0, 2.0)]) == (0.0, None, None, None, None)
    assert answer(monkeypatch, [(1.0, 2.0), (3.0, 2.0)]) == (0.0, 0.0, None, None, None)


@pytest.mark.parametrize("noise", [-(10**12), -3, 3, 10**12])
def test_a_correlation_is_between_minus_one_and_one_or_none(
    monkeypatch: pytest.MonkeyPatch, noise: int
) -> None:
    found = answer(monkeypatch, [(1.0, 2.0), (3.0, 4.0), (2.0, 9.0)], noise)[2]
    assert found is None or -1 <= found <= 1

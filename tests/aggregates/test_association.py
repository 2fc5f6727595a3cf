"""How two columns vary together: shared parts, honest intervals, and what has no value."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from privacy.audit import Stream

import dpframe as dp
from dpframe.aggregates.compile import layout_for
from dpframe.mechanisms import Law

RELEASES = 2_000
ROWS = 200

RANDOM = np.random.default_rng(8)
X = RANDOM.uniform(0, 10, ROWS)
GROUP = pl.DataFrame(
    {"x": X, "y": (30 + 4 * X + RANDOM.normal(0, 8, ROWS)).clip(0, 100), "u": np.arange(ROWS) // 2}
)
TABLE = pl.concat(
    [GROUP.with_columns(g=pl.lit(g), u=pl.col("u") + g * ROWS) for g in range(RELEASES)]
)
COLUMNS = {
    "g": dp.Range(0, RELEASES - 1, nullable=False),
    "x": dp.Range(0, 10, nullable=False),
    "y": dp.Range(0, 100),
}
SLOPE, INTERCEPT = np.polyfit(GROUP["x"], GROUP["y"], 1)
TRUTH: dict[str, float] = {
    "COVAR_POP(y, x)": float(np.cov(GROUP["y"], GROUP["x"], ddof=0)[0, 1]),
    "CORR(y, x)": float(np.corrcoef(GROUP["y"], GROUP["x"])[0, 1]),
    "REGR_SLOPE(y, x)": float(SLOPE),
    "REGR_INTERCEPT(y, x)": float(INTERCEPT),
}


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("asked", "unit"),
    [*((asked, None) for asked in TRUTH), ("CORR(y, x)", dp.Unit("u", max_rows=2))],
)
def test_intervals_cover_the_truth(asked: str, unit: dp.Unit | None) -> None:
    session = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    session._source = Stream(1)  # the same noise in every run
    session.register("t", TABLE, columns=COLUMNS, unit=unit)
    cost = 8 if unit is None else 16
    found = session.sql(f"SELECT g, {asked} AS v FROM t GROUP BY g", epsilon=cost).intervals(0.95)
    slack = 1e-6 * abs(TRUTH[asked])  # the grid that floats are coded on
    low, high = found["v_low"].to_numpy() - slack, found["v_high"].to_numpy() + slack
    assert 0.93 <= np.mean((low <= TRUTH[asked]) & (TRUTH[asked] <= high)) <= 0.98


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

"""Variances, deviations and shapes: shared parts, honest intervals, and what has no value."""

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
ROWS = 150

RANDOM = np.random.default_rng(5)
GROUP = pl.DataFrame(
    {
        "x": (RANDOM.gamma(2.0, 1.2, ROWS)).clip(0, 10),
        "y": RANDOM.integers(20, 60, ROWS),
        "u": np.arange(ROWS) // 2,
    }
)
TABLE = pl.concat(
    [GROUP.with_columns(g=pl.lit(g), u=pl.col("u") + g * ROWS) for g in range(RELEASES)]
)
COLUMNS = {
    "g": dp.Range(0, RELEASES - 1, nullable=False),
    "x": dp.Range(0, 10, nullable=False),
    "y": dp.Range(0, 100),
}
TRUTH: dict[str, Any] = {
    "VAR_POP(x)": GROUP["x"].var(ddof=0),
    "STDDEV(y)": GROUP["y"].std(),
    "SKEWNESS(x)": GROUP["x"].skew(bias=False),
    "KURTOSIS(x)": GROUP["x"].kurtosis(bias=False),
}


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("asked", "unit"),
    [*((asked, None) for asked in TRUTH), ("VAR_POP(x)", dp.Unit("u", max_rows=2))],
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


def test_moments_of_one_column_share_their_parts() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", GROUP, columns={"x": dp.Range(0, 10, nullable=False)})
    asked = "SELECT AVG(x), VAR_SAMP(x), STDDEV_POP(x), COUNT(*), COUNT(x) FROM t"
    assert len(layout_for(session.query(asked)._compiled, 1).parts) == 3
    more = "SELECT VAR_POP(x), SKEWNESS(x), KURTOSIS(x), SUM(x) FROM t"
    assert len(layout_for(session.query(more)._compiled, 1).parts) == 5


def answer(
    monkeypatch: pytest.MonkeyPatch, select: str, values: list[float | None], noise: int = 0
) -> tuple[Any, ...]:
    """The answer over a few rows when every draw of noise is the same number."""
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.full(n, noise, dtype=np.int64))
    session = dp.Session(dp.Budget(epsilon=100))
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})
    session.register("t", frame, columns={"x": dp.Range(-4, 12)})
    return session.sql(f"SELECT {select} FROM t", epsilon=1).frame.row(0)


ALL = "VAR_POP(x), VAR_SAMP(x), STDDEV_POP(x), STDDEV(x), SKEWNESS(x), KURTOSIS(x)"


def test_too_few_rows_have_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    none = (None,) * 6
    assert answer(monkeypatch, ALL, []) == none
    assert answer(monkeypatch, ALL, [None, None]) == none
    assert answer(monkeypatch, ALL, [3.0]) == (0.0, None, 0.0, None, None, None)
    assert answer(monkeypatch, ALL, [3.0, 5.0, None]) == (1.0, 2.0, 1.0, 2.0**0.5, None, None)


def test_a_constant_has_no_variance_and_no_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(monkeypatch, ALL, [3.0] * 5) == (0.0, 0.0, 0.0, 0.0, None, None)


@pytest.mark.parametrize("noise", [-(10**12), -3, 3, 10**12])
def test_noise_of_any_size_gives_a_possible_variance_or_none(
    monkeypatch: pytest.MonkeyPatch, noise: int
) -> None:
    population, _, deviation, *_ = answer(monkeypatch, ALL, [3.0, 5.0, 9.0], noise)
    assert population is None or 0 <= population <= 64
    assert deviation is None or 0 <= deviation <= 8


@pytest.mark.parametrize("size", [1e-200, 1e80, 1e160])
def test_a_range_whose_powers_are_no_floats_is_refused(size: float) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", pl.DataFrame({"x": [0.0]}), columns={"x": dp.Range(0, size)})
    for name in ("VAR_POP(x)", "KURTOSIS(x)", "CORR(x, x)"):
        with pytest.raises(dp.UnboundedError, match="powers leave that of floats"):
            session.query(f"SELECT {name} FROM t")

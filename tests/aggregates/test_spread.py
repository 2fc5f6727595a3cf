"""Variances, deviations and shapes: shared parts, and what has no value."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.mechanisms import Law

ROWS = 150
GROUP = pl.DataFrame({"x": np.linspace(0, 10, ROWS)})


def test_moments_of_one_column_share_their_parts() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", GROUP, columns={"x": dp.Range(0, 10, nullable=False)})
    asked = "SELECT AVG(x), VAR_SAMP(x), STDDEV_POP(x), COUNT(*), COUNT(x) FROM t"
    assert len(layout_for(session.query(asked)._compiled, 1).parts) == 3
    more = f"SELECT VAR_POP(x), SKEWNESS(x), KURTOSIS(x), {SHAPES}, SUM(x) FROM t"
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
SHAPES = "SKEWNESS_POP(x), KURTOSIS_POP(x)"


def test_too_few_rows_have_no_value(monkeypatch: pytest.MonkeyPatch) -> None:
    none = (None,) * 6
    assert answer(monkeypatch, ALL, []) == none
    assert answer(monkeypatch, ALL, [None, None]) == none
    assert answer(monkeypatch, ALL, [3.0]) == (0.0, None, 0.0, None, None, None)
    assert answer(monkeypatch, ALL, [3.0, 5.0, None]) == (1.0, 2.0, 1.0, 2.0**0.5, None, None)


def test_a_constant_has_no_variance_and_no_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(monkeypatch, ALL, [3.0] * 5) == (0.0, 0.0, 0.0, 0.0, None, None)


def test_the_shape_of_a_population_needs_two_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert answer(monkeypatch, SHAPES, []) == (None, None)
    assert answer(monkeypatch, SHAPES, [3.0]) == (None, None)
    assert answer(monkeypatch, SHAPES, [3.0] * 5) == (None, None)
    assert answer(monkeypatch, SHAPES, [3.0, 5.0]) == (0.0, -2.0)
    values = [1.0, 2.0, 4.0, 9.0]
    plain = pl.Series(values)
    assert answer(monkeypatch, SHAPES, [*values, None]) == pytest.approx(
        (plain.skew(), plain.kurtosis()), rel=1e-6
    )


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

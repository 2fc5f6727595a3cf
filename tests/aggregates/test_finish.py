"""From noisy parts to numbers: what each aggregate makes of any noise at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.mechanisms import Law


def finished(
    monkeypatch: pytest.MonkeyPatch, select: str, noise: int, data: dict[str, Any], **columns: Any
) -> tuple[Any, ...]:
    """The answer when every draw of noise is the same number."""
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.full(n, noise, dtype=np.int64))
    session = dp.Session(dp.Budget(epsilon=100))
    session.register("t", pl.DataFrame(data), columns=columns)
    return session.sql(f"SELECT {select} FROM t", epsilon=1).frame.row(0)


@pytest.mark.parametrize("noise", [-100, -2, -1, 0, 1, 100])
def test_counts_are_the_noisy_counts_even_below_zero(
    monkeypatch: pytest.MonkeyPatch, noise: int
) -> None:
    assert finished(monkeypatch, "COUNT(*)", noise, {"x": [1, 2]}) == (2 + noise,)


@pytest.mark.parametrize("noise", [-100, -1, 0, 1, 100])
def test_sums_of_integers_are_exact_integers_and_noise(
    monkeypatch: pytest.MonkeyPatch, noise: int
) -> None:
    found = finished(monkeypatch, "SUM(x)", noise, {"x": [3, 4]}, x=dp.Range(0, 10))
    assert found == (7 + noise,)


@pytest.mark.parametrize("noise", [-(10**9), -3, -2, -1, 0, 1, 10**9])
def test_a_mean_stays_in_the_declared_range_whatever_the_noise(
    monkeypatch: pytest.MonkeyPatch, noise: int
) -> None:
    (mean,) = finished(monkeypatch, "AVG(x)", noise, {"x": [3, 4]}, x=dp.Range(2, 10))
    assert 2 <= mean <= 10


def test_a_mean_over_no_noisy_rows_is_the_middle_of_the_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    empty = {"x": pl.Series([None, None], dtype=pl.Int64)}
    found = finished(monkeypatch, "AVG(x)", -50, empty, x=dp.Range(2, 10))
    assert found == (6.0,)


@pytest.mark.parametrize("noise", [-5, -2, 0, 7])
def test_division_by_a_noisy_zero_is_null(monkeypatch: pytest.MonkeyPatch, noise: int) -> None:
    (ratio,) = finished(monkeypatch, "SUM(x) / COUNT(*)", noise, {"x": [3, 4]}, x=dp.Range(0, 10))
    assert (ratio is None) == (noise == -2)


def test_functions_of_impossible_noisy_numbers_are_null(monkeypatch: pytest.MonkeyPatch) -> None:
    found = finished(monkeypatch, "SQRT(COUNT(*)), LN(COUNT(*)), COUNT(*) % 0", -9, {"x": [1, 2]})
    assert found == (None, None, None)


def test_large_sums_do_not_wrap_around(monkeypatch: pytest.MonkeyPatch) -> None:
    huge = dp.Range(0, 2**62)
    found = finished(
        monkeypatch, "SUM(x), SUM(x) * 1000, SUM(x) + SUM(x)", 0, {"x": [2**62] * 5}, x=huge
    )
    total = 5 * 2**62
    assert found == (pytest.approx(total), pytest.approx(total * 1000), pytest.approx(total * 2))


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_an_average_of_nothing_but_null_is_the_middle(
    monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    session = dp.Session(dp.Budget(epsilon=100))
    data = pl.DataFrame({"x": pl.Series([None, None], dtype=pl.Float64)})
    session.register("t", data, columns={"x": dp.Range(0, 8)}, engine=engine)  # type: ignore[arg-type]
    found = session.sql("SELECT COUNT(*), COUNT(x), SUM(x), AVG(x) FROM t", epsilon=1)
    assert found.frame.row(0) == (2, 0, 0.0, 4.0)

"""Linear regression: right without noise, honest with it, and refused where nothing bounds it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import Stream

import dpframe as dp
from dpframe.mechanisms import Law
from dpframe.regression import positive_semidefinite

RANGES = {"a": dp.Range(0, 100), "b": dp.Range(-5, 5), "y": dp.Range(-500, 3_000)}
TRUTH = {"intercept": 500.0, "a": 12.0, "b": -40.0}


def table(rows: int, seed: int, noise: float = 60.0) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    a, b = random.uniform(0, 100, rows), random.integers(-5, 6, rows)
    y = 500 + 12 * a - 40 * b + random.normal(0, noise, rows)
    return pl.DataFrame({"a": a, "b": b, "y": y, "u": np.arange(rows)})


def fitted(frame: pl.DataFrame, cost: Any, **options: Any) -> Any:
    session = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    session._source = Stream(int(frame["y"].sum()))  # the same noise in every run
    session.register("t", frame, columns=RANGES, **options)
    return session.linear_regression("t", "y", x=["a", "b"], **cost)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=2)], ids=["row", "unit"])
def test_without_noise_it_is_least_squares(
    monkeypatch: pytest.MonkeyPatch, engine: str, unit: Any
) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    frame = table(300, 1)
    gaps = pl.DataFrame({"a": [None, 5.0], "b": [1, None], "y": [9.0, 9.0], "u": [998, 999]})
    found = fitted(
        pl.concat([frame, gaps.cast(frame.schema)]), {"epsilon": 1}, engine=engine, unit=unit
    )
    design = np.column_stack([np.ones(300), frame["a"], frame["b"]])
    expected, residual, *_ = np.linalg.lstsq(design, frame["y"].to_numpy(), rcond=None)
    assert list(found.coefficients.values()) == pytest.approx(expected, rel=1e-5)
    errors = np.sqrt(np.diag(np.linalg.inv(design.T @ design)) * residual[0] / (300 - 3))
    assert found.frame["standard_error"].to_list() == pytest.approx(errors, rel=1e-3)
    predicted = found.predict(frame.head(3)).to_numpy()
    assert predicted == pytest.approx(design[:3] @ expected, rel=1e-4)


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize(
    ("cost", "rows", "noise"),
    [({"epsilon": 2}, 1_500, 60.0), ({"rho": 0.1}, 1_500, 60.0), ({"rho": 1}, 100, 200.0)],
    ids=["laplace", "gaussian", "few"],
)
def test_intervals_cover_the_line_that_made_the_rows(
    cost: dict[str, float], rows: int, noise: float
) -> None:
    """Rows and noise are drawn anew each time: 450 intervals a setting, 1,350 in all."""
    held = []
    for seed in range(150):
        found = fitted(table(rows, seed, noise), cost)
        for term, _, _, low, high in found.frame.iter_rows():
            held.append(low <= TRUTH[term] <= high)
    assert 0.93 <= np.mean(held) <= 0.98


def test_it_is_one_release_and_free_the_second_time() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", table(200, 1), columns=RANGES)
    first = session.linear_regression("t", "y", x=["a", "b"], epsilon=0.5)
    again = session.linear_regression("t", "y", x=["a", "b"], epsilon=0.5)
    assert session.spent.releases == 1
    assert again.coefficients == first.coefficients
    assert "± covers noise and sampling" in repr(first)
    assert first.loss.epsilon == 0.5


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_too_few_rows_give_wide_intervals_and_no_error(rows: int) -> None:
    found = fitted(table(rows, 1), {"epsilon": 0.1})
    assert found.frame["standard_error"].is_finite().all()
    assert found.frame["standard_error"].min() > 1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("y", "x"),
    [
        ("y", []),
        ("y", ["y"]),
        ("y", ["a", "a"]),
        ("y", ["u"]),
        ("y", ["nothing"]),
        ("y", ["word"]),
        ("u", ["a"]),
        ("y", [f"x{i}" for i in range(50)]),
    ],
)
def test_what_has_no_range_or_makes_no_sense_is_refused(y: str, x: list[str]) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", table(20, 1).with_columns(word=pl.lit("w")), columns=RANGES)
    with pytest.raises(dp.UserError):
        session.linear_regression("t", y, x=x, epsilon=0.5)
    assert session.spent.releases == 0


def test_a_projected_matrix_is_nearer_to_every_gram_matrix() -> None:
    random = np.random.default_rng(2)
    for _ in range(50):
        rows = random.normal(size=(6, 4))
        truth = rows.T @ rows
        noise = random.normal(size=(4, 4)) * 4
        noisy = truth + noise + noise.T
        projected = positive_semidefinite(noisy)
        assert np.linalg.eigvalsh(projected).min() > -1e-9
        assert np.linalg.norm(projected - truth) <= np.linalg.norm(noisy - truth) + 1e-9


def test_a_missing_cost_is_asked_for_with_arguments_that_there_are() -> None:
    with pytest.raises(dp.ParameterError, match="no cost was said") as refused:
        fitted(table(50, 1), {})
    assert "error=" not in refused.value.fix

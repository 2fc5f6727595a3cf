"""Histograms after release: sums of bins, their error bars, and counts that could be counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from privacy.audit import Stream

import dpframe as dp
from dpframe.mechanisms import Law
from dpframe.release.histogram import Histogram

GROUPS = 2_000
"""Histograms in one release, each with noise of its own: as good as so many releases."""
BINS = 16
ROWS = GROUPS * 30
RANDOM = np.random.default_rng(6)
TABLE = pl.DataFrame(
    {
        "u": np.arange(ROWS) // 3,
        "g": RANDOM.integers(0, GROUPS, ROWS),
        "x": RANDOM.integers(0, BINS, ROWS),
    }
)
COLUMNS = {
    "g": dp.Range(0, GROUPS - 1, nullable=False),
    "x": dp.Range(0, BINS, nullable=False),
}
ROW_LEVEL: dict[str, Any] = {}
USER_LEVEL: dict[str, Any] = {"unit": dp.Unit("u", max_rows=3)}
REPLACED: dict[str, Any] = {"neighbors": "replace", "size": ROWS}


def opened(seed: int = 1, engine: Any = None, **registered: Any) -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=10**5, delta=1e-6))
    session._source = Stream(seed)  # the same noise in every run
    session.register("t", TABLE, columns=COLUMNS, engine=engine, **registered)
    return session


def truth() -> np.ndarray:
    found, *_ = np.histogram2d(TABLE["g"], TABLE["x"], [np.arange(GROUPS + 1), np.arange(BINS + 1)])
    return found


def covered(release: Histogram, column: str, expected: np.ndarray) -> np.ndarray:
    """Of each row of a group, how many intervals hold the true value: a row per group."""
    low, high = (release.intervals()[f"{column}_{end}"].to_numpy() for end in ("low", "high"))
    inside = (low <= expected.ravel()) & (expected.ravel() <= high)
    return inside.reshape(expected.shape)


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize(
    ("registered", "cost"),
    [
        (ROW_LEVEL, {"epsilon": 0.1}),
        (ROW_LEVEL, {"rho": 0.01}),
        (USER_LEVEL, {"epsilon": 0.1}),
        (USER_LEVEL, {"rho": 0.01}),
        (REPLACED, {"epsilon": 0.1}),
    ],
)
def test_error_bars_of_counts_sums_and_ranges_cover(
    registered: dict[str, Any], cost: dict[str, float], hierarchical: bool
) -> None:
    exact = truth()
    release = opened(**registered).histogram(
        "t", "x", bins=BINS, by="g", cumulative=True, hierarchical=hierarchical, **cost
    )
    for name, expected in (("count", exact), ("cumulative", exact.cumsum(axis=1))):
        each = covered(release, name, expected).mean(axis=0)
        assert each.min() >= 0.93, name
        assert each.max() <= 0.98, name
    for low, high in [(0, 5), (3, 4), (2, 14), (7, 16)]:
        expected = exact[:, low:high].sum(axis=1, keepdims=True)
        assert 0.93 <= covered(release.between(low, high), "count", expected).mean() <= 0.98


def test_sums_have_the_errors_that_theory_predicts() -> None:
    """The deviation over 2,000 histograms is that of least squares, within a twentieth."""
    exact = truth().cumsum(axis=1)
    release = opened().histogram(
        "t", "x", bins=BINS, by="g", cumulative=True, hierarchical=True, epsilon=0.1
    )
    errors = release.frame["cumulative"].to_numpy().reshape(exact.shape) - exact
    law = release._parts.laws[0]
    assert law is not None
    spread = np.cumsum(np.cumsum(release._ladder.spread, axis=0), axis=1)
    predicted = np.sqrt(np.diag(spread) * law.variance) * release._parts.layout.step(0)
    assert np.allclose(errors.std(axis=0), predicted, rtol=0.08)
    assert abs(errors.mean()) < predicted.mean() / 30


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("registered", [ROW_LEVEL, USER_LEVEL, REPLACED])
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"consistent": True}])
def test_without_noise_all_sums_are_exact(
    engine: str, registered: dict[str, Any], options: dict[str, Any]
) -> None:
    exact = truth()
    release = opened(engine=engine, **registered).histogram(
        "t", "x", bins=BINS, by="g", cumulative=True, epsilon=1, **options
    )
    assert release.frame["count"].to_list() == exact.ravel().tolist()
    assert release.frame["cumulative"].to_list() == exact.cumsum(axis=1).ravel().tolist()
    part = release.between(3, 9)
    assert part.frame.columns == ["g", "low", "high", "count"]
    assert part.frame["count"].to_list() == exact[:, 3:9].sum(axis=1).tolist()
    assert part.frame["low"].unique().to_list() == [3]
    assert release.between().frame["count"].to_list() == exact.sum(axis=1).tolist()


def test_levels_agree_and_single_counts_add_up_to_ranges() -> None:
    release = opened().histogram("t", "x", bins=BINS, hierarchical=True, epsilon=0.1)
    counts = release.frame["count"].to_list()
    for low, high in [(0, 16), (3, 9), (8, 16)]:
        assert release.between(low, high).frame["count"].item() == sum(counts[low:high])


def test_ranges_cost_nothing_and_are_the_same_whenever_they_are_asked() -> None:
    session = opened()
    release = session.histogram("t", "x", bins=BINS, hierarchical=True, epsilon=0.1)
    spent = session.spent
    one = release.between(2, 9)
    assert one.loss == release.loss
    assert session.spent == spent
    assert one.intervals().equals(one.intervals())
    assert one.frame.equals(release.between(2.0, 9).frame)
    assert release.errors.equals(release.errors)


def test_redraws_have_the_errors_of_the_release() -> None:
    release = opened().histogram(
        "t", "x", bins=BINS, cumulative=True, hierarchical=True, epsilon=0.1
    )
    drawn = release.redraws(2_000)["cumulative"].to_numpy().reshape(2_000, BINS)
    low, high = (release.intervals()[f"cumulative_{end}"].to_numpy() for end in ("low", "high"))
    inside = ((low <= drawn) & (drawn <= high)).mean(axis=0)
    assert inside.min() > 0.93
    assert inside.max() < 0.97


@pytest.mark.parametrize("registered", [ROW_LEVEL, REPLACED])
@pytest.mark.parametrize("hierarchical", [False, True])
def test_consistent_counts_are_not_negative_and_add_up(
    registered: dict[str, Any], hierarchical: bool
) -> None:
    session = opened(**registered)
    asked: dict[str, Any] = {"bins": BINS, "by": "g", "hierarchical": hierarchical, "epsilon": 0.02}
    plain = session.histogram("t", "x", **asked)
    assert (plain.frame["count"] < 0).any()
    found = session.histogram("t", "x", consistent=True, cumulative=True, **asked)
    assert found.reused
    counts = found.frame["count"].to_numpy().reshape(GROUPS, BINS)
    sums = found.frame["cumulative"].to_numpy().reshape(GROUPS, BINS)
    assert (counts >= 0).all()
    assert (np.diff(sums, axis=1) >= 0).all()
    assert (counts.cumsum(axis=1) == sums).all()
    if registered:
        assert counts.sum() == ROWS
    else:
        totals = plain.between().frame["count"].to_numpy()
        assert (counts.sum(axis=1) == np.maximum(totals, 0)).all()
    intervals = found.intervals()
    assert (intervals["count_low"] >= 0).all()
    assert (intervals["count_low"] <= intervals["count"]).all()
    assert (intervals["count"] <= intervals["count_high"]).all()
    covers = covered(found, "count", truth())
    assert covers.mean() >= 0.94


def test_a_public_total_makes_error_bars_smaller_and_they_cover() -> None:
    """Of two bins whose total is public, either one tells both."""
    session = dp.Session(dp.Budget(epsilon=10**4))
    session._source = Stream(3)
    data = pl.DataFrame({"x": [0] * 700 + [1] * 300})
    columns = {"x": dp.Range(0, 1, nullable=False)}
    session.register("t", data, columns=columns, neighbors="replace", size=1_000)
    asked: dict[str, Any] = {"bins": 2, "epsilon": 0.1, "fresh": True}
    alone = session.histogram("t", "x", **asked).errors["count"][0]
    inside, halves = [], []
    for _ in range(300):
        release = session.histogram("t", "x", consistent=True, **asked)
        low, high = release.intervals().select("count_low", "count_high").row(0)
        inside.append(low <= 700 <= high)
        halves.append((high - low) / 2)
        assert release.frame["count"].sum() == 1_000
    assert 0.92 <= np.mean(inside) <= 0.98
    assert np.mean(halves) < 0.8 * alone


def test_a_filter_or_null_makes_the_total_private() -> None:
    session = opened(**REPLACED)
    assert session.histogram("t", "x", bins=4, consistent=True, epsilon=1)._total == ROWS
    beyond = session.histogram("t", "x", edges=[0, 5], consistent=True, epsilon=1)
    assert beyond._total is None
    nullable = dp.Session(dp.Budget(epsilon=10))
    nullable.register("t", TABLE, columns={"x": dp.Range(0, BINS)}, **REPLACED)
    assert nullable.histogram("t", "x", bins=4, consistent=True, epsilon=1)._total is None


def test_raising_to_zero_clips_the_error_bars_too() -> None:
    session = opened()
    asked: dict[str, Any] = {"bins": BINS, "by": "g", "epsilon": 0.02}
    plain = session.histogram("t", "x", **asked).intervals()
    found = session.histogram("t", "x", nonnegative=True, **asked).intervals()
    for name in ("count", "count_low", "count_high"):
        assert found[name].to_list() == plain[name].clip(0).to_list()


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (0.5, 4, "0.5 is not an edge of the bins"),
        (0, 17, "17 is not an edge of the bins"),
        ("a", 4, "'a' is not an edge of the bins"),
        (float("nan"), 4, "nan is not an edge of the bins"),
        (4, 4, "is empty"),
        (5, 4, "is empty"),
    ],
)
def test_what_is_no_range_is_refused(low: Any, high: Any, words: str) -> None:
    release = opened().histogram("t", "x", bins=BINS, epsilon=1)
    with pytest.raises(dp.ParameterError, match=words):
        release.between(low, high)


def test_categories_and_planes_have_no_ranges() -> None:
    session = dp.Session(dp.Budget(epsilon=10))
    columns = {"a": dp.Keys(["x", "y"]), "b": dp.Range(0, 1)}
    session.register("t", pl.DataFrame({"a": ["x"], "b": [0.5]}), columns=columns)
    for column in ("a", ["a", "b"]):
        release = session.histogram("t", column, bins=2, epsilon=1)
        assert release.frame["count"].len() == (2 if column == "a" else 4)
        with pytest.raises(dp.ParameterError, match="no ranges of bins"):
            release.between(0, 1)


@pytest.mark.parametrize("confidence", [0, 1, 1.5, float("nan"), "high"])
def test_a_confidence_lies_between_0_and_1(confidence: Any) -> None:
    release = opened().histogram("t", "x", bins=4, hierarchical=True, epsilon=1)
    with pytest.raises(dp.ParameterError, match="is not between 0 and 1"):
        release.intervals(confidence)


def test_wider_intervals_for_more_confidence() -> None:
    release = opened().histogram("t", "x", bins=BINS, hierarchical=True, epsilon=0.1)
    widths = []
    for confidence in (0.5, 0.9, 0.95, 0.99, 0.999):
        found = release.intervals(confidence)
        widths.append(float((found["count_high"] - found["count_low"]).mean() or math.nan))
    assert widths == sorted(widths)
    assert widths[0] < widths[-1] / 3

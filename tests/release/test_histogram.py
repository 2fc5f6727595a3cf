"""Histograms after release: sums of bins, their error bars, and counts that could be counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import Stream

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
        "y": RANDOM.integers(0, 5, ROWS),
    }
)
COLUMNS = {
    "g": dp.Range(0, GROUPS - 1, nullable=False),
    "x": dp.Range(0, BINS, nullable=False),
    "y": dp.Range(0, 5, nullable=False),
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
    spread = np.cumsum(np.cumsum(release._plane.rows.spread, axis=0), axis=1)
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


def test_categories_have_no_ranges() -> None:
    session = dp.Session(dp.Budget(epsilon=10))
    columns = {"a": dp.Keys(["x", "y"]), "b": dp.Keys(["v", "w"])}
    session.register("t", pl.DataFrame({"a": ["x"], "b": ["v"]}), columns=columns)
    for column in ("a", ["a", "b"]):
        release = session.histogram("t", column, epsilon=1)
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


# --- planes --------------------------------------------------------------------------------------

PLANE: dict[str, Any] = {"edges": {"x": [0, 4, 8, 12, 16], "y": [0, 2, 3, 5]}}


def true_planes(groups: int = GROUPS) -> np.ndarray:
    """Of each group, the counts of a plane: 4 bins of x, 3 of y."""
    rows = TABLE.filter(pl.col("g") < groups)
    column = np.array([0, 0, 1, 2, 2])[rows["y"]]
    cells = rows["g"].to_numpy() * 12 + rows["x"].to_numpy() // 4 * 3 + column
    return np.bincount(cells, minlength=groups * 12).reshape(groups, 4, 3)


WAYS: list[dict[str, Any]] = [
    {},
    {"margins": True},
    {"hierarchical": True},
    {"hierarchical": True, "margins": True},
]


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("kind", ["row", "user", "replaced"])
@pytest.mark.parametrize("options", [*WAYS, {"margins": True, "consistent": True}])
def test_without_noise_planes_margins_and_rectangles_are_exact(
    engine: Any, kind: str, options: dict[str, Any]
) -> None:
    groups = 20
    data, exact = TABLE.filter(pl.col("g") < groups), true_planes(groups)
    replaced = {"neighbors": "replace", "size": data.height}
    registered: dict[str, Any] = {"row": {}, "user": USER_LEVEL, "replaced": replaced}[kind]
    session = dp.Session(dp.Budget(epsilon=10**5, delta=1e-6))
    columns = {**COLUMNS, "g": dp.Range(0, groups - 1, nullable=False)}
    session.register("t", data, columns=columns, engine=engine, **registered)
    release = session.histogram("t", ["x", "y"], by="g", rho=1, **PLANE, **options)
    assert release._plane.margins == options.get("margins", False)
    assert release.frame["count"].to_list() == exact.ravel().tolist()
    rows, lines = release.margin("x"), release.margin("y")
    assert rows.frame.columns == ["g", "x_low", "x_high", "count"]
    assert rows.frame["count"].to_list() == exact.sum(axis=2).ravel().tolist()
    assert lines.frame["count"].to_list() == exact.sum(axis=1).ravel().tolist()
    assert lines.frame["y_low"].to_list() == [0, 2, 3] * groups
    assert lines.frame["g"].to_list() == np.repeat(np.arange(groups), 3).tolist()
    part = release.between({"x": (4, 12), "y": (None, 3)})
    assert part.frame["count"].to_list() == exact[:, 1:3, :2].sum(axis=(1, 2)).tolist()
    assert part.frame.row(0)[1:5] == (4, 12, 0, 3)
    again = part.between({"x": (0, 4)}).frame["count"]  # of all bins, not of that part
    assert again.to_list() == exact[:, 0].sum(axis=1).tolist()


@pytest.mark.parametrize("options", WAYS)
@pytest.mark.parametrize(
    ("registered", "cost"), [(ROW_LEVEL, {"epsilon": 0.1}), (USER_LEVEL, {"rho": 0.01})]
)
def test_error_bars_of_cells_margins_and_rectangles_cover(
    registered: dict[str, Any], cost: dict[str, float], options: dict[str, Any]
) -> None:
    exact = true_planes()
    release = opened(**registered).histogram("t", ["x", "y"], by="g", **PLANE, **options, **cost)
    forced = "hierarchical" in options or "rho" in cost
    assert release._plane.margins == ("margins" in options and forced)
    shown = [
        (release, exact),
        (release.margin("x"), exact.sum(axis=2)),
        (release.margin("y"), exact.sum(axis=1)),
        (release.between({"x": (4, 12), "y": (2, 5)}), exact[:, 1:3, 1:].sum(axis=(1, 2))),
        (release.between({"x": (4, None)}), exact[:, 1:].sum(axis=(1, 2))),
        (release.between({}), exact.sum(axis=(1, 2))),
    ]
    for found, expected in shown:
        each = covered(found, "count", expected.reshape(GROUPS, -1)).mean(axis=0)
        assert each.min() >= 0.93
        assert each.max() <= 0.98


def test_cells_add_up_to_the_margins_and_both_to_the_total() -> None:
    release = opened().histogram("t", ["x", "y"], margins=True, rho=0.01, **PLANE)
    cells = release._counts[0]
    for column, axis in (("x", 1), ("y", 0)):
        shown = release.margin(column).frame["count"].to_numpy()
        assert np.abs(shown - cells.sum(axis=axis)).max() <= 0.5  # but for rounding what is shown
    whole = opened().histogram("t", ["x", "y"], margins=True, consistent=True, rho=0.01, **PLANE)
    counts = whole.frame["count"].to_numpy().reshape(4, 3)
    assert whole.margin("x").frame["count"].to_list() == counts.sum(axis=1).tolist()
    assert whole.margin("y").frame["count"].to_list() == counts.sum(axis=0).tolist()


def test_error_bars_of_a_plane_with_a_public_total_cover_and_are_smaller() -> None:
    data, exact = TABLE.filter(pl.col("g") == 0), true_planes(1)
    session = dp.Session(dp.Budget(rho=10**4))
    session._source = Stream(5)
    columns = {name: COLUMNS[name] for name in ("x", "y")}
    session.register("t", data, columns=columns, neighbors="replace", size=data.height)
    query = session.table("t").histogram(["x", "y"], margins=True, consistent=True, **PLANE)
    inside, half = [], 0.0
    for _ in range(200):
        release = query.release(rho=0.1, fresh=True)
        assert release._plane.margins
        assert release.frame["count"].sum() == data.height
        part = release.between({"x": (0, 8)})
        half = half or float(part._half_widths(part._sums["count"], 0.95)[0])
        centre = part._counts[0, :2].sum()
        inside.append(abs(centre - exact[0, :2].sum()) <= half + 0.5)
    assert 0.91 <= np.mean(inside) <= 0.99
    plain = session.histogram("t", ["x", "y"], margins=True, rho=0.1, **PLANE)
    assert half < 0.9 * plain.between({"x": (0, 8)}).errors["count"][0]


def test_large_planes_have_margins_and_rectangles_too() -> None:
    """Sums of many equal errors are as good as normal, so that no large plane is drawn again."""
    session = dp.Session(dp.Budget(rho=10**4))
    session._source = Stream(7)
    columns = {"g": dp.Range(0, GROUPS, nullable=False), "u": dp.Range(0, ROWS // 3)}
    session.register("t", TABLE, columns=columns)
    release = session.histogram("t", ["g", "u"], bins=250, margins=True, rho=0.01)
    exact, *_ = np.histogram2d(TABLE["g"], TABLE["u"], 250, [(0, GROUPS), (0, ROWS // 3)])
    assert release._plane.margins
    shown = [
        (release, exact.ravel()),
        (release.margin("g"), exact.sum(axis=1)),
        (release.margin("u"), exact.sum(axis=0)),
    ]
    for found, expected in shown:
        low, high = (found.intervals()[f"count_{end}"].to_numpy() for end in ("low", "high"))
        assert 0.9 <= ((low <= expected) & (expected <= high)).mean() <= 0.99
    # Two groupings more share the cost; then a margin of 250 cells is nearly one count.
    flat = session.histogram("t", ["g", "u"], bins=250, rho=0.01)
    assert release.margin("g").errors["count"][0] < 0.15 * flat.margin("g").errors["count"][0]
    assert release.errors["count"][0] < 1.8 * flat.errors["count"][0]


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((0, 4), "a plane has two ranges"),
        (({"z": (0, 4)},), "between names 'z'"),
        (({"x": (0, 5)},), "5 is not an edge of the bins"),
        (({"x": 4},), "4 is not a range of x"),
        (({"x": (0, 4, 8)},), "is not a range of x"),
        (({"y": (3, 2)},), "is empty"),
    ],
)
def test_what_is_no_rectangle_is_refused(asked: tuple[Any, ...], words: str) -> None:
    release = opened().histogram("t", ["x", "y"], epsilon=1, **PLANE)
    with pytest.raises(dp.ParameterError, match=words) as caught:
        release.between(*asked)
    assert caught.value.fix


def test_what_is_no_margin_is_refused() -> None:
    session = opened()
    with pytest.raises(dp.ParameterError, match="'z' is not one of the two columns"):
        session.histogram("t", ["x", "y"], epsilon=1, **PLANE).margin("z")
    with pytest.raises(dp.ParameterError, match="'x' is not one of the two columns"):
        session.histogram("t", "x", bins=4, epsilon=1).margin("x")


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_margins_of_categories_count_the_rows_of_the_cells_and_no_others(engine: Any) -> None:
    """A row of no declared category is in no cell, so it is in no margin either."""
    rows = 400
    data = pl.DataFrame(
        {
            "ward": RANDOM.choice(["er", "gp", "other"], rows),
            "kind": RANDOM.choice([3, 1, 7], rows),
            "v": [None if i % 5 == 0 else float(i % 10) for i in range(rows)],
        }
    )
    session = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    columns = {"ward": dp.Keys(["gp", "er"]), "kind": dp.Keys([1, 3, 7]), "v": dp.Range(0, 10)}
    session.register("t", data, columns=columns, engine=engine)
    kept = data.filter(pl.col("ward") != "other").drop_nulls("v")
    plane = session.histogram("t", ["ward", "v"], bins=5, margins=True, rho=1)
    assert plane._plane.margins
    wards = plane.margin("ward").frame
    assert wards.rows() == kept.group_by("ward").agg(pl.len()).sort("ward").rows()
    counts, _ = np.histogram(kept["v"], 5, (0, 10))
    assert plane.margin("v").frame["count"].to_list() == counts.tolist()
    one = plane.between({"ward": "er", "v": (0, 4)}).frame
    inside = kept.filter((pl.col("ward") == "er") & (pl.col("v") < 4)).height
    assert one.rows() == [("er", 0, 4, inside)]
    assert (
        plane.between({"v": (None, 4)}).frame["count"].item() == kept.filter(pl.col("v") < 4).height
    )
    with pytest.raises(dp.ParameterError, match="'icu' is not one of the categories of ward"):
        plane.between({"ward": "icu"})
    kinds = session.histogram("t", ["ward", "kind"], margins=True, rho=1)
    assert kinds._plane.margins
    in_wards = data.filter(pl.col("ward") != "other")
    assert kinds.margin("kind").frame.rows() == (
        in_wards.group_by("kind").agg(pl.len()).sort("kind").rows()
    )


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("keys", [["er", "gp", None], ["er", "gp"]])
def test_null_is_a_category_of_a_plane_where_it_is_declared(engine: Any, keys: list[Any]) -> None:
    data = pl.DataFrame(
        {"ward": ["er", "gp", None, "zz", "er", None], "v": [0.1, 0.9, 0.2, 0.3, 0.6, 0.8]}
    )
    session = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    columns = {"ward": dp.Keys(keys), "v": dp.Range(0, 1)}
    session.register("t", data, columns=columns, engine=engine)
    asked: dict[str, Any] = {"bins": 2, "rho": 1, "fresh": True}
    flat = session.histogram("t", ["ward", "v"], **asked)
    for options in ({"margins": True}, {"hierarchical": True}):
        bins = {"bins": 2} if "margins" in options else {"bins": 8}
        query = session.table("t").histogram(["ward", "v"], **bins, **options)
        plane = query.release(rho=1, fresh=True)
        if "margins" in options and None in keys:  # what is in no category looks like NULL
            assert not plane._plane.margins
            assert "margins cannot be counted: NULL is a category" in query.explain(rho=1)
        else:
            assert plane._plane.margins or plane._plane.has_levels
        assert plane.margin("ward").frame.rows() == flat.margin("ward").frame.rows()
        half = plane.between({"v": (0, 0.5)}).frame["count"].item()
        assert half == flat.between({"v": (0, 0.5)}).frame["count"].item() == len(keys) - 1
        assert plane.between({"ward": keys[-1]}).frame["count"].item() == (2 if None in keys else 1)


def test_error_bars_of_a_range_are_the_same_whenever_it_is_asked_for() -> None:
    release = opened().histogram("t", ["x", "y"], margins=True, rho=0.01, **PLANE)
    first = release.between({"x": (0, 8)}).intervals()
    assert first.equals(release.between({"x": (0, 8)}).intervals())

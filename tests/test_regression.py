"""Linear regression: right without noise, honest with it, and refused where nothing bounds it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import Stream

import dpframe as dp
from dpframe.mechanisms import Law
from dpframe.regression import positive_semidefinite
from dpframe.release.display import number

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


@pytest.mark.long
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
    assert first.loss.epsilon == 0.5


def test_each_term_is_shown_with_its_error_bar() -> None:
    names = {"a": "a <b>", "b": "b", "y": "y\n"}
    session = dp.Session(dp.Budget(epsilon=1))
    ranges = {names[name]: RANGES[name] for name in names}
    session.register("t", table(200, 1).rename(names), columns=ranges)
    found = session.linear_regression("t", "y\n", x=["a <b>", "b"], epsilon=0.5)
    text, page = repr(found), found._repr_html_()
    low, high = found.frame.select("low", "high").row(1)
    error = number((high - low) / 2, (high - low) / 2)
    assert [line.split("  ")[0] for line in text.split("\n")[2:5]] == ["intercept", "a <b>", "b"]
    assert f"± {error}" in text.split("\n")[3]
    assert "± covers noise and sampling with 95% confidence; cost: epsilon 0.5" in text
    assert "y\\n is the intercept and" in text
    assert f"± {error}</span>" in page
    assert "a &lt;b&gt;" in page
    assert "<b>" not in page


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


MIXED = table(40, 1).with_columns(
    pl.lit(date(2024, 5, 1)).alias("day"),
    pl.lit(datetime(2024, 5, 1, 12)).alias("at"),
    (pl.col("a") > 40).alias("old"),
    pl.lit("w").alias("word"),
)
MIXED_RANGES = {
    **RANGES,
    "day": dp.Range(date(2024, 1, 1), date(2024, 12, 31)),
    "at": dp.Range(datetime(2024, 1, 1), datetime(2025, 1, 1)),
    "word": dp.Keys(["v", "w"]),
}


def mixed() -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=10**4))
    session.register("t", MIXED, columns=MIXED_RANGES)
    return session


@pytest.mark.parametrize("x", [None, 3, [3], [["a"]], [None], pl.Series(["a", "a"])], ids=repr)
def test_what_names_no_columns_is_refused_with_ones_that_it_may_name(x: Any) -> None:
    session = mixed()
    with pytest.raises(dp.ParameterError, match="each named once") as refusal:
        session.linear_regression("t", "y", x=x, epsilon=1)
    assert eval(refusal.value.fix, {"session": session}).coefficients


def test_a_misspelt_column_is_not_one_without_a_range() -> None:
    session = mixed()
    with pytest.raises(dp.QueryError, match="did you mean 'old'") as refusal:
        session.linear_regression("t", "y", x=["a", "olds"], epsilon=1)
    assert 'x=["a", "old"]' in refusal.value.fix
    assert not isinstance(refusal.value, dp.UnboundedError)
    assert eval(refusal.value.fix, {"session": session}).coefficients
    with pytest.raises(dp.QueryError, match="'zzz' is not a column") as refusal:
        session.linear_regression("t", "y", x=["zzz"], epsilon=1)
    assert eval(refusal.value.fix, {"session": session}).coefficients


@pytest.mark.parametrize(("name", "new"), [("day", "days"), ("at", "days"), ("word", "flag")])
def test_what_is_no_number_is_refused_with_a_number_that_it_can_be(name: str, new: str) -> None:
    session = mixed()
    with pytest.raises(dp.QueryError, match="not a number") as refusal:
        session.linear_regression("t", "y", x=[name], epsilon=1)
    made = refusal.value.fix.replace("...", '"other"')
    if new == "days":  # beside the ranges that were there
        made = made.replace('columns={"days"', 'columns={**RANGES, "days"')
    else:
        made = made.removesuffix(")") + ", columns=RANGES)"
    eval(made, {"session": session, "data": MIXED, "dp": dp, "pl": pl, "RANGES": RANGES})
    assert new in session.linear_regression("other", "y", x=[new], epsilon=1).coefficients


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_condition_counts_as_0_and_1(monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    session = dp.Session(dp.Budget(epsilon=100))
    session.register("t", MIXED, columns=RANGES, engine=engine)
    found = session.linear_regression("t", "y", x=["old"], epsilon=1)
    old, young = (MIXED.filter(pl.col("old") == which)["y"].mean() for which in (True, False))
    assert found.coefficients == pytest.approx(
        {"intercept": young, "old": old - young},  # type: ignore[operator]
        rel=1e-4,
    )
    assert found.predict(MIXED.select("old").head(2)).null_count() == 0


def test_a_frame_that_the_line_says_nothing_of_is_refused() -> None:
    line = fitted(table(200, 1), {"epsilon": 1})
    for frame, said in (
        (pl.DataFrame({"aa": [3], "b": [1]}), "has no column 'a'"),
        (pl.DataFrame({"a": ["3"], "b": [1]}), "not a number"),
    ):
        with pytest.raises(dp.ParameterError, match=said) as refusal:
            line.predict(frame)
        predict = {"predict": line.predict, "frame": frame, "pl": pl}
        assert len(eval(refusal.value.fix, predict)) == 1
    for other in ({"a": [3], "b": [1]}, table(3, 1).lazy(), None):
        with pytest.raises(dp.ParameterError, match="not a polars DataFrame") as refusal:
            line.predict(other)
        assert len(eval(refusal.value.fix, {"predict": line.predict, "pl": pl})) == 1


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


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("low", [2**60, -(2**63), 2**63 - 1001])
def test_integers_far_from_zero_have_a_line(low: int, engine: Any) -> None:
    """As floats they would be multiples of 256 or more, of a range of 1000."""
    near = np.arange(1001)
    y = 3 + 0.02 * near + (near * 7919 % 11 - 5) / 10
    frame = pl.DataFrame({"x": [low + v for v in near.tolist()], "y": y})
    session = dp.Session(dp.Budget(epsilon=10**7))
    columns = {"x": dp.Range(low, low + 1000), "y": dp.Range(0, 30)}
    session.register("t", frame, columns=columns, engine=engine)
    slope, _ = np.polyfit(near, y, 1)
    found = session.linear_regression("t", "y", x="x", epsilon=10**5)
    assert found.coefficients["x"] == pytest.approx(slope, rel=1e-4)
    error = found.frame["standard_error"][1]
    assert error == pytest.approx(np.std(y - slope * near) / near.std() / np.sqrt(1001), rel=0.05)

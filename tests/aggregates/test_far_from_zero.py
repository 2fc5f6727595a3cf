"""Numbers in a narrow range far from 0: their answers are as good as those of the same next to 0."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from noiseless import without_noise
from streams import Stream

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.plan.coding import is_far_from_zero
from dpframe.plan.domains import Domain, Type
from dpframe.plan.parts import CodedSum

pytestmark = pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")

ENGINES = ("polars", "duckdb")
ROWS = 1001

# Where a range of integers begins that ends 1000 later.
LOWS = (2**60, 2**62 + 7, -(2**63), -(2**60) - 999, 2**63 - 1001, 2**45)

SHIFTED = (
    *("VAR_POP(x)", "VAR_SAMP(x)", "STDDEV(x)", "STDDEV_POP(x)", "SEM(x)"),
    *("SKEWNESS(x)", "KURTOSIS(x)", "COVAR_POP(y, x)", "COVAR_SAMP(x, y)", "CORR(x, y)"),
    *("REGR_SLOPE(y, x)", "REGR_R2(y, x)", "REGR_SXX(y, x)", "REGR_SXY(x, y)", "CORR(x, x)"),
)
"""What stays the same where a number is added to all values."""

PLACED = ("AVG(x)", "SUM(x)", "MEDIAN(x)", "REGR_AVGX(y, x)", "WEIGHTED_AVG(x, y)")
"""What moves along with the values; a sum, as often as there are rows."""


def offsets(rows: int = ROWS) -> list[int]:
    """Numbers from 0 to 1000, with more of the small ones."""
    return [i * i * 1000 // (rows - 1) ** 2 for i in range(rows)]


def session_of(
    values: Sequence[Any],
    span: dp.Range,
    engine: str = "polars",
    dtype: Any = None,
    **options: Any,
) -> dp.Session:
    frame = pl.DataFrame(
        {
            "x": pl.Series(values, dtype=dtype),
            "y": [float(i % 7 + i // 200) for i in range(len(values))],
            "g": [i % 2 for i in range(len(values))],
            "u": [i // 2 for i in range(len(values))],
        }
    )
    session = dp.Session(dp.Budget(epsilon=10**12, delta=1e-6))
    session._source = Stream(3)
    columns = {"x": span, "y": dp.Range(0, 12), "g": dp.Range(0, 1, nullable=False)}
    if options.pop("no_gaps", False):
        columns["x"] = dp.Range(span.low, span.high, nullable=False)
    session.register("t", frame, columns=columns, engine=engine, **options)  # type: ignore[arg-type]
    return session


def plain(asked: str, values: Sequence[Any]) -> float:
    """What DuckDB says of values next to 0."""
    frame = pl.DataFrame(  # noqa: F841  DuckDB finds it by its name
        {"x": values, "y": [float(i % 7 + i // 200) for i in range(len(values))]}
    )
    named = asked.replace("WEIGHTED_AVG(x, y)", "SUM(x * y) / SUM(y)")
    return float(duckdb.sql(f"SELECT {named} FROM frame").fetchall()[0][0])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("low", LOWS)
def test_moments_hold_the_truth_at_any_cost(low: int, engine: str) -> None:
    session = session_of([low + v for v in offsets()], dp.Range(low, low + 1000), engine)
    for asked, epsilon in itertools.product(SHIFTED, (1, 1e5)):
        bounds = session.sql(f"SELECT {asked} AS v FROM t", epsilon=epsilon).intervals(0.9999)
        truth = plain(asked, offsets())
        slack = 1e-5 * abs(truth)
        least, most = bounds["v_low"].item(), bounds["v_high"].item()
        assert least - slack <= truth <= most + slack, (asked, epsilon)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("low", LOWS)
def test_places_hold_the_truth_up_to_what_a_double_holds(low: int, engine: str) -> None:
    session = session_of([low + v for v in offsets()], dp.Range(low, low + 1000), engine)
    for asked, epsilon in itertools.product(PLACED, (1, 1e5)):
        bounds = session.sql(f"SELECT {asked} AS v FROM t", epsilon=epsilon).intervals(0.9999)
        times = ROWS if asked.startswith("SUM") else 1
        truth = Fraction(low) * times + Fraction(plain(asked, offsets()))
        slack = Fraction(3 * math.ulp(float(truth))) + 1
        least, most = Fraction(bounds["v_low"].item()), Fraction(bounds["v_high"].item())
        assert least - slack <= truth <= most + slack, (asked, epsilon)
        assert most - least < (2 * 10**3 if times == 1 else abs(truth)) + slack


@pytest.mark.parametrize("engine", ENGINES)
def test_fractions_far_from_zero(engine: str) -> None:
    values = [1e15 + v / 8 for v in range(9)] * 100
    session = session_of(values, dp.Range(1e15, 1e15 + 1.0), engine)
    near = [v - 1e15 for v in values]
    for asked in SHIFTED:
        bounds = session.sql(f"SELECT {asked} AS v FROM t", epsilon=1e6).intervals(0.9999)
        truth = plain(asked, near)
        slack = 1e-5 * abs(truth) + 1e-9
        assert bounds["v_low"].item() - slack <= truth <= bounds["v_high"].item() + slack, asked
    assert session.sql("SELECT AVG(x) FROM t", epsilon=1e6).item() == 1e15 + 0.5


@pytest.mark.parametrize("engine", ENGINES)
def test_decimals_and_epochs_far_from_zero(engine: str) -> None:
    cells = [Decimal(10**12) + Decimal(v) / 100 for v in range(0, 5000, 5)]
    session = session_of(cells, dp.Range(10**12, 10**12 + 50), engine, dtype=pl.Decimal(18, 2))
    truth = float(np.std([v / 100 for v in range(0, 5000, 5)]))
    found = session.sql("SELECT STDDEV_POP(x) FROM t", epsilon=1e6).item()
    assert found == pytest.approx(truth, rel=1e-4)
    first = datetime(2024, 5, 1)
    times = [first + timedelta(seconds=v * 36) for v in range(100)] * 10
    session = session_of(times, dp.Range(first, first + timedelta(hours=1)), engine)
    truth = float(np.std([v * 36 for v in range(100)]))
    for asked, times in (("EPOCH(x)", 1), ("EXTRACT(epoch FROM x) * 1000000", 1e6)):
        found = session.sql(f"SELECT STDDEV_POP({asked}) FROM t", epsilon=1e6).item()
        assert found == pytest.approx(truth * times, rel=1e-4), asked


@pytest.mark.parametrize("engine", ENGINES)
def test_expressions_filters_and_groups_are_moved_as_well(engine: str) -> None:
    low = 2**60
    session = session_of([low + v for v in offsets()], dp.Range(low, low + 1000), engine)
    near, numbers = pl.Series(offsets()), pl.Series(range(ROWS))
    cases = {
        "SELECT STDDEV_POP(x * 2) FROM t": 2 * near.std(ddof=0),  # type: ignore[operator]
        "SELECT STDDEV_POP(x) FILTER (WHERE g = 1) FROM t": near.filter(numbers % 2 == 1).std(0),
        f"SELECT STDDEV_POP(x) FROM t WHERE x > {low + 500}": near.filter(near > 500).std(0),
        "SELECT COVAR_POP(x, x * 4) FROM t": 4 * near.var(ddof=0),  # type: ignore[operator]
        "SELECT STDDEV_POP(-x) FROM t": near.std(0),
        "SELECT STDDEV_POP(z) FROM (SELECT x + 9 AS z FROM t)": near.std(0),
        f"SELECT AVG(x - {low}) FROM t": near.mean(),
    }
    for asked, truth in cases.items():
        assert session.sql(asked, epsilon=1e6).item() == pytest.approx(truth, rel=1e-3), asked
    grouped = session.sql("SELECT g, STDDEV_POP(x) AS d FROM t GROUP BY g ORDER BY g", epsilon=1e6)
    for g, found in grouped.frame.rows():
        assert found == pytest.approx(near.filter(numbers % 2 == g).std(0), rel=1e-3)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_where_drops_never_overflow(engine: str) -> None:
    """An engine may compute them first; next to the other end of 64 bits, a difference has no room."""
    low = 2**63 - 1001
    values = [low + v for v in offsets()] + [-(2**63), -1, 0, None] * 50
    session = session_of(values, dp.Range(-(2**63), 2**63 - 1), engine, dtype=pl.Int64)
    near = float(np.std(offsets()))
    for asked in (
        f"SELECT STDDEV_POP(x) FROM t WHERE x >= {low}",
        f"SELECT STDDEV_POP(x) FROM (SELECT x FROM t WHERE x >= {low})",
        f"SELECT SQRT(COVAR_POP(x, x)) FROM t WHERE x >= {low} AND y >= 0",
    ):
        assert session.sql(asked, epsilon=1e6).item() == pytest.approx(near, rel=1e-3)
    found = session.sql(f"SELECT MEDIAN(x), AVG(x) FROM t WHERE x >= {low}", epsilon=1e6)
    assert all(low - 1024 <= value <= low + 2048 for value in found.frame.row(0))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("low", [2**60, -(2**63), 2**63 - 11])
def test_engines_clamp_before_they_subtract(
    low: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_noise(monkeypatch)
    outside = [v for v in (low - 1, low + 11, -(2**63), 2**63 - 1) if -(2**63) <= v < 2**63]
    values = [low, low + 3, low + 10, *outside, None]
    session = session_of(values, dp.Range(low, low + 10), engine, dtype=pl.Int64)
    near = [min(max(v - low, 0), 10) for v in values if v is not None]
    found = session.sql("SELECT VAR_POP(x), COUNT(x), SKEWNESS(x) FROM t", epsilon=1e3).frame.row(0)
    assert found[0] == pytest.approx(np.var(near), rel=1e-6)
    assert found[1] == len(near)
    assert found[2] == pytest.approx(plain("SKEWNESS(x)", near), rel=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=2)])
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_units_and_replaced_rows(engine: str, unit: Any, neighbors: Any) -> None:
    low, options = 2**62, {"unit": unit, "neighbors": neighbors}
    if neighbors == "replace":
        options["size"] = ROWS if unit is None else (ROWS + 1) // 2
    session = session_of(
        [low + v for v in offsets()], dp.Range(low, low + 1000), engine, no_gaps=True, **options
    )
    found = session.sql("SELECT STDDEV_POP(x), AVG(x), SUM(x) FROM t", epsilon=1e7).frame.row(0)
    assert found[0] == pytest.approx(np.std(offsets()), rel=1e-2)
    assert found[1] == pytest.approx(low + float(np.mean(offsets())), abs=1024)
    assert found[2] == pytest.approx(ROWS * low, rel=1e-5)


def test_intervals_cover_at_their_rate() -> None:
    """Over 2,000 releases at once, of a group each."""
    low, releases, rows = 2**60, 2_000, 60
    values = [low + 1000 * i // (rows - 1) for i in range(rows)]
    near = [v - low for v in values]
    frame = pl.DataFrame({"x": values * releases, "g": np.repeat(np.arange(releases), rows)})
    session = dp.Session(dp.Budget(epsilon=10**9))
    session._source = Stream(1)
    columns = {"x": dp.Range(low, low + 1000), "g": dp.Range(0, releases - 1, nullable=False)}
    session.register("t", frame, columns=columns)
    for epsilon, asked in itertools.product((10, 1e4), ("VAR_POP(x)", "STDDEV(x)", "KURTOSIS(x)")):
        release = session.sql(f"SELECT g, {asked} AS v FROM t GROUP BY g", epsilon=epsilon)
        bounds, truth = release.intervals(0.95).drop_nulls("v"), plain(asked, near)
        # Codes of powers are rounded to 2^-27 of their range.
        slack = 1e-6 * abs(truth)
        held = (bounds["v_low"] - slack <= truth) & (truth <= bounds["v_high"] + slack)
        assert 0.93 <= held.mean() <= 1.0, (epsilon, asked)  # type: ignore[operator]


@pytest.mark.parametrize("engine", ENGINES)
def test_means_and_sums_of_a_subquery_keep_their_digits(engine: str) -> None:
    low = 1e15
    values = [low + (i % 9) / 4 for i in range(1000)]
    session = session_of(
        values, dp.Range(low, low + 2), engine, unit=dp.Unit("u", max_rows=4), no_gaps=True
    )
    frame = pl.DataFrame({"x": [v - low for v in values], "u": [i // 2 for i in range(1000)]})
    means = frame.group_by("u").agg(pl.col("x").mean())["x"]
    inner = "SELECT u, AVG(x) AS m FROM t GROUP BY u"
    found = session.sql(f"SELECT STDDEV_POP(m) FROM ({inner})", epsilon=1e6).item()
    # The means themselves are doubles around 1e15, an eighth apart.
    assert found == pytest.approx(means.std(ddof=0), rel=1e-3)
    inner = (
        f"SELECT u, LEAST(GREATEST(SUM(x), {2 * low!r}), {2 * low + 4!r}) AS s FROM t GROUP BY u"
    )
    found = session.sql(f"SELECT STDDEV_POP(s) FROM ({inner})", epsilon=1e6).item()
    assert found == pytest.approx(2 * means.std(ddof=0), rel=1e-3)  # type: ignore[operator]


def test_a_public_table_is_summed_to_the_last_digit() -> None:
    values = [2**60 + 512 * v for v in range(8)]
    session = session_of(values, dp.Range(2**60, 2**60 + 5000), public=True)
    assert session.sql("SELECT SUM(x), AVG(x), STDDEV_POP(x) FROM t").frame.row(0) == (
        float(sum(values)),
        pytest.approx(2**60 + 1792, abs=256),
        pytest.approx(np.std([512 * v for v in range(8)])),
    )


def test_a_constant_far_from_zero_does_not_vary() -> None:
    session = session_of([2**60 + 77] * 50, dp.Range(2**60 + 77, 2**60 + 77))
    release = session.sql("SELECT STDDEV_POP(x) AS d FROM t", epsilon=1)
    assert release.item() <= release.intervals()["d_high"].item() < 1
    assert session.sql("SELECT SUM(0.1) FROM t", epsilon=1e6).item() == pytest.approx(5, rel=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_groups_are_chosen_by_sums_far_from_zero(engine: str) -> None:
    """The score is the sum itself: each value counts with all of its size."""
    low = 2**60
    values = [low + (900 if i % 2 else 100) for i in range(400)] + [low] * 3
    session = session_of(values, dp.Range(low, low + 1000), engine)
    for sign, best in (("", 0), ("-", 1)):  # group 0 has one row more
        for total in ("SUM(x)", "SUM(0.5)"):
            asked = f"SELECT g, {sign}{total} AS s FROM t GROUP BY g"
            assert session.select(asked, epsilon=100).winner == best, asked
    # What is left of the sum where its size is taken off again is the deviations alone.
    less = f"SELECT g, SUM(x) - {low} * COUNT(x) AS s FROM t GROUP BY g"
    assert session.select(less, epsilon=1).winner == 1
    weighed = "SELECT SUM(0.5) AS half, SUM(0.75) - COUNT(*) AS less FROM t"
    assert session.select(weighed, epsilon=10).winner == "half"
    top = session.sql("SELECT g FROM t GROUP BY g ORDER BY SUM(x) DESC LIMIT 1", epsilon=1e6)
    assert top.frame["g"].to_list() == [0]


# --- what is measured -------------------------------------------------------------------------------

FAR = "SELECT COUNT(x), SUM(x), AVG(x), STDDEV(x), VAR_POP(x) FROM t"


def test_moments_share_their_parts_far_from_zero_too() -> None:
    for low in (0, 2**60):
        session = session_of([low + v for v in offsets()], dp.Range(low, low + 1000))
        layout = layout_for(session.query(FAR)._compiled, 1)
        assert len(layout.parts) == 3
        mean = layout_for(session.query("SELECT COUNT(x), AVG(x) FROM t")._compiled, 1)
        assert len(mean.parts) == 2


@pytest.mark.parametrize("low", [0, 2**60])
@pytest.mark.parametrize("first", ["COUNT(x), SUM(x), AVG(x)", "STDDEV(x)", "AVG(x)"])
def test_counts_sums_and_means_stay_free(low: int, first: str) -> None:
    session = session_of([low + v for v in offsets()], dp.Range(low, low + 1000))
    session.sql(f"SELECT {first} FROM t", epsilon=1)
    for asked in ("AVG(x)", "SUM(x)", "COUNT(x)"):
        release = session.sql(f"SELECT {asked} AS v FROM t")
        assert release.loss.epsilon == 0, asked


def test_sql_and_polars_measure_the_same_parts() -> None:
    session = session_of([2**60 + v for v in offsets()], dp.Range(2**60, 2**60 + 1000))
    x = pl.col("x")
    for asked, expr in (
        ("STDDEV(x)", x.std()),
        ("AVG(x * 2)", (x * 2).mean()),
        ("SUM(x)", x.sum()),
    ):
        written = layout_for(session.query(f"SELECT {asked} AS v FROM t")._compiled, 1)
        chained = session.table("t").select(v=expr)
        assert layout_for(chained.query()._compiled, 1).parts == written.parts


def test_what_one_row_changes_follows_from_the_width_alone() -> None:
    session = session_of([2**60 + v for v in offsets()], dp.Range(2**60, 2**60 + 1000))
    parts = layout_for(session.query("SELECT AVG(x) FROM t")._compiled, 1).parts
    assert [p.magnitude for p in parts if isinstance(p, CodedSum)] == [1000, 1000]


def test_explain_says_what_is_subtracted() -> None:
    for low, text in ((2**60, f"(x - {2**60})"), (-(2**60), f"(x + {2**60})")):
        session = session_of([low + v for v in offsets()], dp.Range(low, low + 1000))
        assert text in session.query("SELECT STDDEV(x) FROM t").explain(epsilon=1)


def test_which_ranges_are_far_from_zero() -> None:
    far = [(2**41, 2**41 + 1), (-(2**63), 1 - 2**63), (2**62, 2**62 + 2**51)]
    near = [(0, 1), (2**39, 2**39 + 1), (-1, 2**62), (2**62, 2**62 + 2**53)]
    assert all(is_far_from_zero(Domain(Type.INT, *ends)) for ends in far)
    assert not any(is_far_from_zero(Domain(Type.INT, *ends)) for ends in near)
    assert is_far_from_zero(Domain(Type.INT, 2**39, 2**39 + 1), max_rows=4)
    assert is_far_from_zero(Domain(Type.FLOAT, 5000.0, 5001.0))
    assert not is_far_from_zero(Domain(Type.FLOAT, 5000.0, 5001.0, decimals=2))
    assert not is_far_from_zero(Domain(Type.FLOAT, 0.0, 0.0))

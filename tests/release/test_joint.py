"""Error bars of what is computed from many groups: shares, totals, extremes, ranks, kept rows.

Each value of `g` is one simulated release: windows do not look beyond it, and noise is drawn for
every group by itself. Truths come from DuckDB.
"""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.errors import QueryError
from dpframe.release import joint
from dpframe.release.rank_bounds import _chains

pytestmark = pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")

RELEASES = 150
SIZES = {"tied": [50] * 5, "spread": [5, 39, 41, 160, 640]}
STEPPED = {**SIZES, "above": [41] * 5}
INNER = "SELECT g, k, COUNT(*) AS n FROM t GROUP BY g, k"
WINDOWS = f"""
    SELECT g, k, n / SUM(n) OVER (PARTITION BY g) AS share,
        SUM(n) OVER (PARTITION BY g ORDER BY k) AS total,
        n - LAG(n) OVER (PARTITION BY g ORDER BY k) AS change,
        MAX(n) OVER (PARTITION BY g) AS most,
        RANK() OVER (PARTITION BY g ORDER BY n DESC) AS r,
        DENSE_RANK() OVER (PARTITION BY g ORDER BY n) AS d
    FROM ({INNER})
"""
AGAIN = f"""
    SELECT g, MIN(n) AS least, AVG(n) AS mean, MAX(n) - MIN(n) AS spread,
        COUNT(*) FILTER (WHERE n > 40) AS large
    FROM ({INNER}) GROUP BY g
"""
KEPT = f"SELECT g, COUNT(*) AS c, SUM(n) AS s FROM ({INNER}) WHERE n > 40 GROUP BY g"
AGAIN_PLACES = f"""
    SELECT g, MEDIAN(n) AS median, QUANTILE_CONT(n, 0.9) AS high, STDDEV(n) AS deviation,
        VAR_POP(n) AS variance
    FROM ({INNER}) GROUP BY g
"""
STEPS = f"""
    SELECT g, COUNT_IF(n > 40) AS a, SUM(CASE WHEN n > 40 THEN 1 ELSE 0 END) AS b,
        COUNT(CASE WHEN n > 40 THEN 1 END) AS c, AVG(CASE WHEN n > 40 THEN n END) AS d,
        SUM(ABS(n - 40)) AS e
    FROM ({INNER}) GROUP BY g
"""
PLACES = f"""
    SELECT g, k, NTILE(2) OVER (PARTITION BY g ORDER BY n) AS part,
        PERCENT_RANK() OVER (PARTITION BY g ORDER BY n) AS p,
        CUME_DIST() OVER (PARTITION BY g ORDER BY n DESC) AS c,
        NTH_VALUE(n, 2) OVER (PARTITION BY g ORDER BY k) AS second
    FROM ({INNER})
"""
QUALIFIED = f"""
    SELECT g, SUM(n) AS s, COUNT(*) AS c FROM
        ({INNER} QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY n DESC, k) <= 2) GROUP BY g
"""
SECOND = f"""
    SELECT g, SUM(n) AS s FROM
        ({INNER} QUALIFY ROW_NUMBER() OVER (PARTITION BY g ORDER BY n, k) = 2) GROUP BY g
"""
MORE = (AGAIN_PLACES, STEPS, PLACES, QUALIFIED, SECOND)
LEFT = """
    SELECT g, k, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY g) AS share
    FROM t GROUP BY g, k HAVING COUNT(*) > 40
"""


def table(sizes: list[int]) -> pl.DataFrame:
    one = pl.DataFrame({"k": np.repeat(np.arange(len(sizes)), sizes)})
    return pl.concat([one.with_columns(g=pl.lit(g)) for g in range(RELEASES)])


def opened(rows: pl.DataFrame, budget: dp.Budget | None = None) -> dp.Session:
    session = dp.Session(budget or dp.Budget(epsilon=10**6))
    columns = {"g": dp.Range(0, RELEASES - 1, nullable=False), "k": dp.Range(0, 4, nullable=False)}
    session.register("t", rows, columns=columns)
    return session


@pytest.mark.parametrize(
    ("shape", "texts"),
    [*((shape, (WINDOWS, AGAIN, KEPT, LEFT)) for shape in SIZES), *((s, MORE) for s in STEPPED)],
)
def test_intervals_of_many_groups_cover_at_their_rate(
    shape: str, texts: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint, "number_of_draws", lambda confidence: 400)
    rows = table(STEPPED[shape])
    session, plain = opened(rows), duckdb.connect()
    plain.register("t", rows)
    for text in texts:
        found = session.sql(text, epsilon=0.3).intervals(0.9)
        truth = plain.sql(text).pl().with_columns(cs.decimal().cast(pl.Float64))
        keys = [c for c in ("g", "k") if c in truth.columns]
        both = found.join(truth, on=keys, suffix="_true")
        for name in (c for c in truth.columns if c not in keys):
            known = both.filter(pl.col(f"{name}_true").is_not_null())
            low, high = known[f"{name}_low"] - 1e-9, known[f"{name}_high"] + 1e-9
            covered = float(
                ((low <= known[f"{name}_true"]) & (known[f"{name}_true"] <= high)).mean()
            )
            assert covered > 0.85, (name, covered)
            if name in ("share", "total", "change", "mean") and text is not LEFT:
                assert covered < 0.94, (name, covered)  # no wider than need be


INTERPOLATIONS = ("nearest", "lower", "higher", "midpoint", "linear", "equiprobable")
LEVELS = (0.0, 0.1, 0.25, 0.29, 0.5, 0.625, 0.9, 1.0)


def quantiles(level: float, *, over: bool = False) -> list[pl.Expr]:
    found = {m: pl.col("n").quantile(level, m) for m in INTERPOLATIONS}
    return [(q.over("g") if over else q).alias(f"{m}_{level}") for m, q in found.items()]


@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_of_noisy_numbers_are_those_of_plain_polars(level: float) -> None:
    """Asked again of the same release, for free, they are what Polars makes of its table."""
    random = np.random.default_rng(5)
    keys = {"g": random.integers(0, RELEASES, 2000), "k": random.integers(0, 5, 2000)}
    session = opened(pl.DataFrame(keys))
    # A group of an odd number of rows beside even ones, and numbers that are NULL.
    rows = session.table("t").filter(~((pl.col("g") < 9) & (pl.col("k") == 2)))
    some = pl.when(pl.col("n") % 3 > 0).then(pl.col("n"))
    inner = rows.group_by("g", "k").agg(n=pl.len()).with_columns(n=some)
    plain = inner.release(epsilon=1).frame
    assert plain["n"].null_count() > 100
    for ours, theirs in (
        (inner.select(*quantiles(level)), plain.select(*quantiles(level))),
        (
            inner.group_by("g").agg(*quantiles(level)).sort("g"),
            plain.group_by("g").agg(*quantiles(level)).sort("g"),
        ),
        (
            inner.with_columns(*quantiles(level, over=True)).sort("g", "k"),
            plain.with_columns(*quantiles(level, over=True)).sort("g", "k"),
        ),
        (
            inner.group_by("g").agg(pl.col("n").filter(pl.col("k") > 1).quantile(level)).sort("g"),
            plain.group_by("g").agg(pl.col("n").filter(pl.col("k") > 1).quantile(level)).sort("g"),
        ),
    ):
        free = ours.release()
        assert free.loss == dp.Loss.none()
        numbers = cs.numeric().cast(pl.Float64)
        assert_frame_equal(free.frame.select(numbers), theirs.select(numbers))


@pytest.mark.parametrize("shape", STEPPED)
def test_intervals_of_quantiles_cover_at_their_rate_whatever_their_interpolation(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint, "number_of_draws", lambda confidence: 400)
    rows = table(STEPPED[shape])
    levels = [q for level in (0.1, 0.5, 0.9) for q in quantiles(level)[:4]]
    chain = opened(rows).table("t").group_by("g", "k").agg(n=pl.len()).group_by("g").agg(*levels)
    found = chain.release(epsilon=0.3).intervals(0.9)
    truth = rows.group_by("g", "k").agg(n=pl.len()).group_by("g").agg(*levels)
    both = found.join(truth, on="g", suffix="_true")
    for name in truth.columns[1:]:
        true = both[f"{name}_true"]
        covered = (
            (both[f"{name}_low"] - 1e-9 <= true) & (true <= both[f"{name}_high"] + 1e-9)
        ).mean()
        assert covered > 0.85, (name, covered)
        assert both[f"{name}_high"].is_finite().all()
        inside = (both[f"{name}_low"] <= both[name]) & (both[name] <= both[f"{name}_high"])
        assert inside.all()


def test_shares_add_up_and_count_the_noise_of_the_whole() -> None:
    """The share of the only group that counts is nearly certain, whatever its own noise is."""
    release = opened(table([5000, 1])).sql(
        "SELECT k, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM t WHERE g = 0 AND k < 2 GROUP BY k",
        epsilon=0.1,
    )
    assert release.frame["share"].sum() == pytest.approx(1)
    # The count of the other group is within 30 of 5,000; that of its own would add as much again.
    assert release.errors["share"][0] < 1.25 * 30 / 5000


@pytest.mark.parametrize(
    "text",
    [
        WINDOWS,
        AGAIN,
        KEPT,
        LEFT,
        *MORE,
        f"WITH w AS ({INNER}) SELECT n / (SELECT SUM(n) FROM w) FROM w",
    ],
)
def test_what_is_computed_from_groups_measures_no_more_than_the_groups(text: str) -> None:
    """The guarantee is that of the counts: the same parts, sensitivities, loss, and ledger."""
    session = opened(table([3, 4]), dp.Budget(epsilon=1))
    groups, computed = session.query(INNER), session.query(text)
    for norm in (1, 2):
        ours, theirs = (layout_for(q.compiled, norm) for q in (computed, groups))
        assert ours.parts == theirs.parts
        assert ours.sensitivities == theirs.sensitivities
    assert computed.cost(epsilon=0.5) == groups.cost(epsilon=0.5)
    groups.release(epsilon=0.5)
    free = computed.release()
    assert free.reused
    assert free.loss == dp.Loss.none()


def test_the_order_of_noisy_numbers_leaves_running_totals_without_an_error_bar() -> None:
    text = f"SELECT k, SUM(n) OVER (ORDER BY n DESC) AS total FROM ({INNER}) WHERE g = 0"
    ends = opened(table([5, 9])).sql(text, epsilon=1).intervals()
    assert ends["total_low"].is_infinite().all()
    assert ends["total_high"].is_infinite().all()


def test_a_number_of_groups_that_no_noise_chose_is_exact() -> None:
    release = opened(table([5, 9])).sql(
        f"SELECT COUNT(*) AS c, MAX(n) AS m FROM ({INNER})", epsilon=1
    )
    assert release.frame["c"].item() == 5 * RELEASES
    assert release.intervals().columns == ["c", "m", "m_low", "m_high"]


def test_bins_of_a_histogram_are_added_up_as_any_groups_are() -> None:
    bins = opened(table([5, 9])).table("t").select(pl.col("k").hist(bin_count=2))
    summed = bins.with_columns(total=pl.col("count").cum_sum()).release(epsilon=1).frame
    assert summed["total"].to_list() == summed["count"].cum_sum().to_list()


def test_redraws_are_of_whole_tables() -> None:
    text = f"SELECT k, n / SUM(n) OVER () AS share FROM ({INNER}) WHERE g = 0"
    redrawn = opened(table([50, 90])).sql(text, epsilon=1).redraws(30)
    assert redrawn.height == 30 * 5
    per_draw = redrawn["share"].to_numpy().reshape(30, 5).sum(axis=1)
    assert per_draw == pytest.approx(np.ones(30))


def test_best_rows_of_noisy_numbers_are_not_computed_on() -> None:
    inner = f"{INNER} ORDER BY n DESC LIMIT 3"
    with pytest.raises(QueryError, match="LIMIT keeps rows by noisy numbers"):
        opened(table([5])).query(f"SELECT SUM(n) FROM ({inner})")


def test_chains_are_of_intervals_that_do_not_meet() -> None:
    low, high = np.array([0.0, 1, 3, 10]), np.array([2.0, 4, 5, 11])
    assert _chains(low, high, np.array([-1.0, 2, 4.5, 11])).tolist() == [3, 2, 1, 0]


def test_what_is_no_number_is_null() -> None:
    """Infinities of both signs add up to NaN."""
    signed = "(CASE WHEN g = 0 THEN -1 ELSE 1 END) * EXP(COUNT(*) * 1000.0 + 1000000)"
    text = f"SELECT SUM(e) AS s FROM (SELECT g, {signed} AS e FROM t GROUP BY g)"
    assert opened(table([5, 9])).sql(text, epsilon=1).frame["s"].item() is None


@pytest.mark.parametrize("function", ["STDDEV(b)", "VAR_POP(b)", "QUANTILE_CONT(b, 0.5)", "AVG(b)"])
@pytest.mark.parametrize("over", ["", " OVER ()"])
def test_conditions_count_as_numbers(function: str, over: str) -> None:
    """DuckDB computes no deviation of a BOOLEAN, and said so after the question was paid for."""
    session = dp.Session(dp.Budget(epsilon=1))
    columns = {"g": dp.Keys([1, 2])}
    session.register("t", pl.DataFrame({"g": [1, 1, 2]}), columns=columns)
    inner = "SELECT g, COUNT(*) > 1 AS b FROM t GROUP BY g"
    found = session.sql(f"SELECT {function}{over} AS y FROM ({inner})", epsilon=0.5)
    assert found.frame.schema["y"] == pl.Float64
    assert found.intervals(0.9).columns == ["y", "y_low", "y_high"]


def test_a_frame_may_reach_beyond_what_an_engine_counts() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", pl.DataFrame({"g": [1, 1, 2]}), columns={"g": dp.Keys([1, 2])})
    frame = f"ROWS BETWEEN {10**20} PRECEDING AND CURRENT ROW"
    sql = f"SELECT g, n, SUM(n) OVER (ORDER BY g {frame}) AS y FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g)"  # fmt: skip
    found = session.sql(sql, epsilon=0.5).frame.sort("g")
    assert found["y"].to_list() == found["n"].cum_sum().to_list()

"""Chaining: what a user of Polars types, what comes back, and what is refused and how."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest

import dpframe as dp
from dpframe.mechanisms import Law
from dpframe.plan.nodes import aggregate_of

VISITS = pl.DataFrame(
    {
        "id": [1, 1, 2, 3, 4, 5, 6, 7],
        "age": [30, 31, 70, None, 18, 64, 65, 110],
        "cost": [10.0, 20.5, None, 3.25, 100.0, 0.0, 7.5, float("nan")],
        "change": [-7, -3, 0, 1, 3, 7, 8, -8],
        "ward": ["er", "er", "icu", "gp", "gp", "er", None, "icu"],
        "active": [True, False, None, True, True, False, True, True],
        "day": [date(2024, 1, d) for d in (1, 7, 8, 14, 15, 29, 30, 31)],
        "seen": [datetime(2024, 1, d, d % 24, 5) for d in (1, 7, 8, 14, 15, 29, 30, 31)],
        "name": ["Ann", " bob\t", "Cy", "Dé", "", "日本", None, "x-y"],
        "tags": [["a"], [], None, ["b"], [], [], [], []],
    },
    schema_overrides={"change": pl.Int32},
)
COLUMNS: dict[str, Any] = {
    "age": dp.Range(0, 110),
    "cost": dp.Range(0, 200),
    "change": dp.Range(-10, 10, nullable=False),
    "ward": dp.Keys(["er", "icu", "gp", None]),
    "day": dp.Range(date(2024, 1, 1), date(2024, 1, 31), nullable=False),
    "seen": dp.Range(datetime(2024, 1, 1), datetime(2024, 1, 31, 23, 59)),
}


@pytest.fixture
def session() -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=10**6))
    opened.register("visits", VISITS, columns=COLUMNS, unit=dp.Unit("id", max_rows=5))
    return opened


@pytest.fixture
def visits(session: dp.Session) -> dp.Frame:
    return session.table("visits")


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every draw is 0. The library has no such switch; this replaces the law itself."""
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))


def answered(frame: Any) -> pl.DataFrame:
    found: pl.DataFrame = frame.release(epsilon=1).frame
    return found


# --- the methods, against plain Polars -----------------------------------------------------------

PLAIN = VISITS.with_columns(pl.col("cost").fill_nan(None)).lazy()
"""The rows as they are read: NaN is NULL, and all values lie in their ranges."""

CHAINS = [
    "t.select(pl.len())",
    "t.select(pl.len(), pl.col('age').sum(), pl.col('cost').mean().alias('c'))",
    "t.select(pl.col('age').count(), all=pl.col('age').len(), missing=pl.col('age').null_count())",
    "t.select(n=pl.col('id').n_unique())",
    "t.filter(pl.col('age') >= 65).select(pl.len())",
    "t.filter(pl.col('age') > 17, pl.col('cost') < 50, ward='er').select(pl.len())",
    "t.filter([pl.col('age') > 17, pl.col('active')]).select(pl.len())",
    "t.filter(pl.col('age') > 17).filter('active').select(pl.col('cost').sum())",
    "t.with_columns(double=pl.col('age') * 2).select(pl.col('double').sum())",
    "t.with_columns(age=pl.col('age') + 1).with_columns(pl.col('age') * 2).select(pl.col('age').sum())",
    "t.with_columns(pl.col('age', 'change') * 2).select(pl.col('age', 'change').sum())",
    "t.select('age', b='change').select(pl.col('age').sum(), pl.col('b').sum())",
    "t.rename({'age': 'years'}).select(pl.col('years').mean())",
    "t.drop('id').drop(cs.temporal()).select(pl.col('age').mean())",
    "t.drop_nulls(cs.float()).select(pl.len())",
    "t.drop_nulls(['cost', 'age']).select(pl.len())",
    "t.drop('tags').drop_nulls().select(pl.len())",
    "t.select(cs.integer().exclude('id').sum())",
    "t.select(pl.col('^(age|cost)$').sum().name.suffix('_total'))",
    "t.select(pl.col('age', 'cost').mean().name.prefix('mean_'))",
    "t.select(pl.col(pl.Int32).sum())",
    "t.select(pl.col('age').filter(pl.col('active')).sum())",
    "t.select(pl.col('age').filter(pl.col('active')).len())",
    "t.select(pl.col('age').drop_nulls().len())",
    "t.select((pl.col('cost') > 5).sum(), share=pl.col('active').mean())",
    "t.select(ratio=pl.col('cost').sum() / pl.col('age').sum())",
    "t.select(pl.col('cost').skew(), b=pl.col('cost').skew(bias=False))",
    "t.select(pl.col('cost').kurtosis(), b=pl.col('cost').kurtosis(bias=False))",
    "t.select(pl.col('cost').kurtosis(fisher=False), b=pl.col('cost').kurtosis(fisher=False, bias=False))",
    "t.select(pl.col('change').filter(pl.col('age') > 20).skew())",
    "t.select(r=pl.when(pl.len() > 3).then(pl.col('age').sum()).otherwise(0))",
    "t.select((pl.col('cost').sum() / pl.len()).round(2).alias('mean'))",
    "t.group_by('ward').len().sort('ward')",
    "t.group_by('ward').len('n').sort('ward', nulls_last=True)",
    "t.group_by('ward').agg(pl.len(), pl.col('age').sum()).sort('ward')",
    "t.group_by(w='ward').agg(n=pl.len()).sort('w')",
    "t.group_by('ward').agg(pl.len()).filter(pl.col('len') > 2).sort('ward')",
    "t.group_by('ward').agg(pl.len()).filter(ward='er')",
    "t.group_by('ward').agg(pl.len()).drop_nulls().sort('len', 'ward', descending=[True, False])",
    "t.group_by('ward').agg(pl.len()).sort(pl.col('len') * 2, 'ward').head(2)",
    "t.group_by('ward').agg(pl.len()).sort('ward').limit(3).select('len')",
    "t.group_by('ward').agg(pl.len()).sort('ward').slice(1, 2)",
    "t.group_by('ward').agg(pl.len()).top_k(1, by='len')",
    "t.group_by('ward').agg(pl.len()).bottom_k(1, by='len')",
    "t.group_by('ward').len().sort('len', descending=True).first()",
    "t.group_by('ward').len().select(pl.col('ward', 'len').top_k_by('len', 1))",
    "t.group_by('ward').len().select(pl.col('len').bottom_k_by('len', 1), w=pl.col('ward').bottom_k_by('len', 1))",
    "t.group_by('ward').agg(pl.len()).sort('ward').with_columns(pl.col('len') * 10, k=1)",
    "t.group_by('ward').agg(pl.len(), pl.col('age').mean()).sort('ward').with_columns(cs.float() * 2)",
    "t.group_by('ward').agg(pl.len(), pl.col('age').mean()).sort('ward').select(cs.numeric())",
    "t.group_by('ward').agg(pl.len(), pl.col('age').mean()).sort('ward').drop(cs.string())",
    "t.group_by('ward').agg(pl.len()).sort('ward').rename({'len': 'n'}).drop('ward')",
    "t.group_by('ward').agg(pl.len()).sort('len', 'ward').filter(pl.col('len') > 1).head(1)",
    "t.group_by('ward', 'active').len().filter(pl.col('len').rank('min', descending=True).over('ward') <= 1).sort('ward', 'active')",
    "t.group_by('active', 'ward').len().sort('len', 'active', descending=True).group_by('ward').head(1).sort('ward')",
    "t.group_by('active', 'ward').len().sort('len', 'active').filter(pl.col('len') > 1).group_by('ward').head(1).sort('ward')",
    "t.group_by('ward').len().select(m=pl.col('len').median(), s=pl.col('len').std(), v=pl.col('len').var(ddof=0), q=pl.col('len').quantile(0.9, 'linear'), c=(pl.col('len') > 2).sum())",
    "t.group_by('ward').len().select(a=pl.col('len').quantile(0.5, 'equiprobable'), b=pl.col('len').quantile(0.25, 'linear'))",
    "t.group_by('ward').len().select(pl.col('len').quantile(0.5))",
    "t.group_by('ward').len().select(*(pl.col('len').quantile(q, m).alias(f'{m}{q}') for m in ('nearest', 'lower', 'higher', 'midpoint') for q in (0, 0.1, 0.29, 0.5, 0.75, 1)))",
    "t.group_by('ward').len().with_columns(z=(pl.col('len') - pl.col('len').mean()) / pl.col('len').std()).sort('ward')",
    "t.group_by(pl.col('seen').dt.weekday()).len().filter(pl.col('len') > 0).sort('seen')",
    "t.group_by(pl.col('day').dt.truncate('1w')).len().filter(pl.col('len') > 0).sort('day')",
    "t.with_columns(w=pl.col('day').dt.truncate('1mo')).group_by('w').len().sort('w')",
    "t.group_by(pl.col('change') // 5).len().filter(pl.col('len') > 0).sort('change')",
    "t.group_by(pl.col('change') % 3).len().filter(pl.col('len') > 0).sort('change')",
    "t.group_by(pl.col('change').clip(-2, 2)).len().filter(pl.col('len') > 0).sort('change')",
    "t.group_by(pl.col('ward').replace({'er': 'emergency'})).len().sort('ward')",
    "t.group_by(pl.col('ward').replace_strict({'er': 1, 'gp': 2}, default=0)).len().sort('ward')",
]


@pytest.mark.parametrize("code", CHAINS)
def test_a_chain_answers_what_plain_polars_does(
    visits: dp.Frame, no_noise: None, code: str
) -> None:
    ours = answered(eval(code, {"t": visits, "pl": pl, "cs": cs}))
    theirs = eval(code, {"t": PLAIN, "pl": pl, "cs": cs}).collect()
    assert ours.columns == theirs.columns
    assert ours.height == theirs.height
    for row, expected in zip(ours.rows(), theirs.rows(), strict=True):
        assert all(_equal(a, b) for a, b in zip(row, expected, strict=True)), (row, expected)


def _equal(ours: Any, theirs: Any) -> bool:
    """Sums of floats lie on a fine grid; the rest is exact."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-9)
    return bool(ours == theirs)


# --- where Polars and SQL differ: Polars is followed ---------------------------------------------

EXPRESSIONS = [
    *("pl.col('change') // 3", "pl.col('change') // -3", "pl.col('change') % 3"),
    *("pl.col('change') % -3", "pl.col('change') // 0", "pl.col('change') % 0"),
    *("pl.col('cost') // 7", "pl.col('change') / 4", "pl.col('change') ** 2"),
    *("(pl.col('change') / 2).round()", "(pl.col('change') / 2).cast(pl.Int64)"),
    *("(pl.col('change') / 2).round(mode='half_away_from_zero')", "pl.col('cost').round(1)"),
    *("pl.col('age').is_in([30, None])", "pl.col('age').is_in([30, None], nulls_equal=True)"),
    *("pl.col('age').is_in([])", "~pl.col('age').is_in([30])"),
    *("pl.col('age').eq_missing(None)", "pl.col('age').ne_missing(30)"),
    *("pl.col('age').clip(20, 60)", "pl.col('age').clip(None, 60)", "pl.col('cost').clip(5)"),
    *("pl.col('day').clip(date(2024, 1, 7), date(2024, 1, 20))",),
    *("pl.col('day').dt.weekday()", "pl.col('day').dt.ordinal_day()", "pl.col('day').dt.week()"),
    *("pl.col('day').dt.truncate('1mo').dt.day()", "pl.col('seen').dt.hour()"),
    *("pl.col('name').str.len_chars()", "pl.col('name').str.len_bytes()"),
    *("pl.col('name').str.strip_chars().str.len_chars()", "pl.col('name').str.slice(1, 2)"),
    *("pl.col('name').str.strip_chars('Any')", "pl.col('name').str.head(2)"),
    *("pl.col('name') + pl.col('ward')", "pl.concat_str('name', 'ward', separator='/')"),
    *("pl.concat_str('name', 'ward', ignore_nulls=True)", "pl.col('name').str.contains('y')"),
    *("pl.col('name').str.replace_all('b', 'B')", "pl.col('name').str.to_uppercase()"),
    *(
        "pl.col('age').fill_null(0)",
        "pl.coalesce('age', 'change')",
        "pl.max_horizontal('age', 'change')",
    ),
    *("pl.sum_horizontal('age', 'change')", "pl.mean_horizontal('age', 'change')"),
    *("pl.sum_horizontal(cs.integer())", "pl.col('active') ^ (pl.col('age') > 40)"),
    *("pl.any_horizontal('active', pl.col('age') > 40)", "pl.col('age').replace({30: 0, None: 1})"),
    *(
        "pl.all_horizontal('active', pl.col('age') > 40)",
        "pl.col('age').is_between(30, 70, 'none')",
    ),
    *("pl.when(pl.col('age') > 40).then(1).when('active').then(2).otherwise(3)",),
    *("pl.when('active').then(pl.col('age'))", "pl.col('age').log(10)", "pl.col('age').log1p()"),
    *("pl.col('age').log10()", "pl.col('age').sqrt()", "(pl.col('change') / 5).exp()"),
    *("pl.col('ward').cast(pl.String).str.len_chars()", "pl.col('active').cast(pl.Int8)"),
    *("pl.col('change').sign()", "-pl.col('change')", "pl.col('change').abs()"),
    *("pl.col('change').cast(pl.String)", "pl.col('day').cast(pl.String)"),
    *("pl.col('day').cast(pl.Datetime('us')) == pl.col('seen')", "pl.col('seen').dt.date()"),
    *("pl.col('age') + 0.5", "pl.col('active') & (pl.col('age') > 40)", "1 - pl.col('age')"),
    *("pl.col('age').sin()", "pl.col('change').cos()", "pl.col('change').arctan()"),
    *("pl.col('age').degrees()", "pl.col('change').radians()"),
    *("pl.col('day').dt.to_string('%Y-%m')", "pl.col('day').dt.strftime('%d %b %F')"),
    *("pl.col('seen').dt.to_string('%H:%M')", "pl.col('seen').dt.strftime('%T')"),
    *("pl.col('seen').dt.timestamp('us')", "pl.col('day').dt.timestamp('ms')"),
    *("pl.col('seen').dt.epoch('s')", "pl.col('day').dt.epoch('us')"),
    *("pl.col('day').dt.offset_by('1mo')", "pl.col('day').dt.offset_by('-1y2mo')"),
    *("pl.col('seen').dt.offset_by('2w1d')", "pl.col('seen').dt.offset_by('-1q')"),
    *("(pl.col('seen').dt.date() - pl.col('day')).dt.total_days()",),
    *("pl.col('day').dt.century()", "pl.col('day').dt.iso_year()", "pl.col('day').dt.millennium()"),
    *("pl.col('name').str.tail(2)", "pl.col('name').str.tail(0)"),
    *("pl.col('name').str.pad_start(5, '*')", "pl.col('name').str.pad_end(4)"),
    *("pl.col('name').str.contains('^A|y$')", "pl.col('name').str.contains('[a-c]+.?n')"),
    *("pl.col('name').str.contains('[.]')", "pl.col('name').str.contains('[^a-z]{2,}')"),
    *(r"pl.col('name').str.contains('^[\\--z]')", "pl.col('name').str.contains('[n]|--|&&')"),
]


@pytest.mark.parametrize("code", EXPRESSIONS)
def test_an_expression_means_what_it_means_in_polars(
    visits: dp.Frame, no_noise: None, code: str
) -> None:
    """Rows that equal what plain Polars computes are counted: all of them, or none."""
    expr = eval(code, {"pl": pl, "cs": cs, "date": date})
    plain = PLAIN.select("id", expr.alias("x")).collect()
    column = plain["x"]
    if column.dtype.is_float():
        wanted = plain.with_columns(pl.col("x").replace([float("inf"), float("-inf")], None))
        column = wanted["x"].fill_nan(None)
    for value in column.unique().to_list():
        same = expr.eq_missing(value)
        if isinstance(value, float):
            same = expr.is_between(value - 1e-9, value + 1e-9).fill_null(value=False)
        counted = answered(visits.filter(same).select(pl.len()))
        expected = sum(_equal(v, value) for v in column.to_list())
        assert counted.item() == expected, value


@pytest.mark.filterwarnings("ignore:`cut` is deprecated")
@pytest.mark.parametrize(
    "breaks", [[10], [0, 7.5], [-1.5, 0, 20.5, 1e21], [1e-7, 0.1, 1 / 3], [100000000, 1e22]]
)
@pytest.mark.parametrize("left_closed", [False, True])
def test_cut_has_the_labels_of_polars(
    visits: dp.Frame, no_noise: None, breaks: list[float], left_closed: bool
) -> None:
    expr = pl.col("cost").cut(breaks, left_closed=left_closed).alias("bin")
    plain = PLAIN.select(expr.cast(pl.String)).collect()["bin"].value_counts().rows()
    ours = answered(visits.group_by(expr).len())
    assert {row for row in ours.rows() if row[1]} == set(plain)
    every = pl.Series([*breaks, -1e300, 1e300], dtype=pl.Float64).cut(
        breaks, left_closed=left_closed
    )
    assert set(every.cast(pl.String)) <= set(ours["bin"])  # empty bins are there, too


ENDLESS = [[float("nan")], [float("-inf"), 3.0], [3.0, float("inf")], [7, 3]]


@pytest.mark.filterwarnings("ignore:`cut` is deprecated", "ignore:.*experimental")
@pytest.mark.parametrize("breaks", ENDLESS, ids=str)
@pytest.mark.parametrize("method", ["cut", "bin_intervals"])
def test_breaks_that_do_not_rise_from_number_to_number_are_refused(
    visits: dp.Frame, breaks: list[float], method: str
) -> None:
    if not hasattr(pl.Expr, method):
        pytest.skip("newer Polars only")
    options = {} if method == "cut" else {"labels": False}
    with pytest.raises(dp.QueryError, match=r"a break is NaN|rising breaks") as refusal:
        visits.group_by(getattr(pl.col("cost"), method)(breaks, **options)).len()
    fixed = eval(refusal.value.fix, {"pl": pl})
    assert visits.group_by(fixed).len().query()


@pytest.mark.filterwarnings("ignore:.*experimental")
@pytest.mark.skipif(not hasattr(pl.Expr, "bin_intervals"), reason="newer Polars only")
@pytest.mark.parametrize("right_closed", [False, True])
@pytest.mark.parametrize("labels", [False, ["low", "mid", "high"]])
def test_bin_intervals_is_read_like_cut(
    visits: dp.Frame, no_noise: None, labels: Any, right_closed: bool
) -> None:
    expr = pl.col("cost").bin_intervals([3.25, 20], labels=labels, right_closed=right_closed)
    kind = pl.Int64 if labels is False else pl.String
    plain = PLAIN.select(expr.cast(kind)).collect()["cost"].value_counts().rows()
    assert {row for row in answered(visits.group_by(expr).len()).rows() if row[1]} == set(plain)


def test_nan_is_null(visits: dp.Frame, no_noise: None) -> None:
    missing = answered(
        visits.select(
            a=pl.col("cost").is_nan().sum(),
            b=pl.col("cost").null_count(),
            c=pl.col("cost").is_not_nan().sum(),
            d=pl.col("cost").drop_nans().count(),
        )
    )
    assert missing.row(0) == (2, 2, 6, 6)
    filled = answered(visits.select(pl.col("cost").fill_nan(100).sum()))
    assert filled.item() == pytest.approx(341.25, rel=1e-4)


def test_a_division_by_zero_is_null(visits: dp.Frame, no_noise: None) -> None:
    assert answered(visits.filter((pl.col("age") / 0).is_null()).select(pl.len())).item() == 8


# --- refusals name what was written --------------------------------------------------------------

REFUSED = [
    ("t.select(pl.col('cost').rank())", 'pl.col("cost").rank()', "several rows"),
    ("t.with_columns(pl.col('cost').shift())", 'pl.col("cost").shift(1)', "several rows"),
    ("t.with_columns(pl.col('cost').sum().over('ward'))", '.over(pl.col("ward"))', "several rows"),
    ("t.with_columns(pl.col('cost').cum_sum())", 'pl.col("cost").cum_sum()', "several rows"),
    ("t.with_columns(x=pl.col('cost') - pl.col('cost').mean())", 'pl.col("cost").mean()', "cannot"),
    ("t.filter(pl.col('cost') > pl.col('cost').mean())", 'pl.col("cost").mean()', "cannot stand"),
    ("t.select('ward', pl.len())", "pl.len()", "cannot stand here"),
    ("t.group_by('ward').agg(pl.col('cost'))", 'pl.col("cost")', "outside an aggregate"),
    ("t.group_by('ward').agg('cost')", 'pl.col("cost")', "outside an aggregate"),
    ("t.group_by('ward').agg(pl.col('cost').first())", 'pl.col("cost").first()', "several rows"),
    ("t.group_by('ward').agg(pl.col('cost').sum().sum())", 'pl.col("cost").sum()', "cannot"),
    ("t.select(pl.col('cost').sum().filter(pl.col('age') > 3))", "filter", "filters an aggregate"),
    ("t.select(pl.lit(1).sum())", "pl.lit(1).sum()", "aggregates a constant"),
    ("t.group_by(pl.lit(1)).agg(pl.len())", "pl.lit(1)", "constant"),
    ("t.group_by('ward').agg(pl.lit(1))", "", "no aggregate"),
    ("t.group_by('ward').agg()", "", "no aggregate"),
    ("t.group_by('ward').agg(pl.len(), pl.len())", "pl.len()", "already"),
    ("t.group_by('ward').agg(ward=pl.len())", "pl.len()", "already"),
    ("t.group_by('name').agg(pl.len())", 'pl.col("name")', "no public set"),
    ("t.group_by('id').agg(pl.len())", 'pl.col("id")', "protected unit"),
    ("t.rename({'id': 'x'}).group_by('x').agg(pl.len())", 'pl.col("x")', "protected unit"),
    ("t.select(pl.col('id').sum())", 'pl.col("id").sum()', "no bounds"),
    ("t.select(pl.col('agee').sum())", 'pl.col("agee")', "did you mean age?"),
    ("t.select(pl.col('tags').count())", 'pl.col("tags")', "cannot be used"),
    ("t.filter(pl.col('active').bitwise_and())", "bitwise_and()", "every bit"),
    ("t.filter(pl.col('active').all())", "all()", "one row decides"),
    ("t.group_by('ward').agg(pl.len(), pl.col('active').any())", "any()", "one row decides"),
    ("t.group_by('ward').len().select(pl.col('len').product())", "product()", "already"),
    ("t.select(pl.len(), pl.col('cost').entropy().alias('k'))", "entropy()", "proven bound"),
    ("t.select(pl.len(), pl.col('cost').sinh().alias('k'))", "sinh()", "not known"),
    ("t.select(pl.len(), pl.col('cost').first().alias('k'))", "first()", "several rows"),
    ("t.select(pl.corr('age', 'cost', method='spearman'))", 'method="spearman"', "ranks"),
    ("t.filter(pl.col('age').tan() > 0)", 'pl.col("age").tan()', "not known"),
    (r"t.filter(pl.col('name').str.contains(r'a\d'))", "str.contains(", "Unicode"),
    (r"t.filter(pl.col('name').str.contains(r'\<a'))", "str.contains(", "Polars alone"),
    ("t.filter(pl.col('name').str.contains('[a-z&&b]'))", "str.contains(", "Polars alone"),
    ("t.filter(pl.col('name').str.contains('[[:alpha:] --a]'))", "str.contains(", "Polars alone"),
    ("t.filter(pl.col('name').str.contains('[a~~b]'))", "str.contains(", "Polars alone"),
    ("t.filter(pl.col('name').str.contains('(?i)a'))", 'str.contains("(?i)a")', "Unicode"),
    ("t.filter(pl.col('name').str.contains('a['))", 'str.contains("a[")', "pattern"),
    ("t.filter(pl.col('name').str.replace_all('a.c', 'b') == '')", "str.replace(", "regular"),
    ("t.filter(pl.col('name').str.pad_start(pl.col('age')) == '')", "pad_start", "not a constant"),
    ("t.filter((pl.col('seen') - pl.col('seen')).dt.total_days() > 1)", "total_days", "two dates"),
    (
        "t.filter((pl.col('age') - pl.col('age')).dt.total_days() > 1)",
        "total_days",
        "two dates|DATE",
    ),
    ("t.filter(pl.col('day').dt.total_days() > 1)", "total_days", "whole days"),
    ("t.filter(pl.col('day').dt.offset_by('1h') > date(2024, 1, 1))", "offset_by", "no offset"),
    ("t.filter(pl.col('day').dt.offset_by('1mo-1d') > date(2024, 1, 1))", "offset_by", "no offset"),
    ("t.filter(pl.col('day').dt.offset_by('9' * 5000 + 'd') > date(2024, 1, 1))", "", "no offset"),
    ("t.filter(pl.col('day').dt.to_string() == '')", "dt.to_string()", "no format"),
    ("t.filter(pl.col('day').dt.to_string('%U') == '')", "dt.to_string()", "same on every engine"),
    ("t.filter(pl.col('day').dt.timestamp('ns') > 1)", "dt.timestamp()", "nanoseconds"),
    ("t.filter(pl.col('age').is_in(pl.col('change')))", "is_in", "not a constant"),
    ("t.filter(pl.col('age').cast(pl.UInt8) > 0)", 'pl.col("age").cast(pl.UInt8)', "no cast"),
    ("t.filter(pl.col('age').cast(pl.Float32) > 0)", "cast(pl.Float32)", "no cast"),
    ("t.filter(pl.col('ward').replace_strict({'er': 1}) > 0)", "replace_strict", "default"),
    ("t.filter(pl.col('age') > float('nan'))", "age", "not finite"),
    ("t.filter(pl.col('age') > 2**70)", "", "not read"),
    ("t.filter(pl.col('age') + pl.col('name') > 3)", "", "do not mix|needed|compute"),
    ("t.filter('age')", 'pl.col("age")', "not a condition"),
    ("t.filter(pl.col('age').is_nan())", "is_nan()", "never NaN"),
    ("t.filter(pl.col('day').dt.truncate('3d') == date(2024, 1, 1))", "3d", "no unit"),
    (
        "t.filter(pl.col('age').fill_null(strategy='mean') > 0)",
        "fill_null(strategy=",
        "fill_null looks at several rows",
    ),
    ("t.filter(pl.col('age').forward_fill() > 0)", "forward_fill()", "several rows"),
    ("t.filter(pl.col('age').rolling_mean(3) > 0)", "rolling_mean(", "several rows"),
    ("t.filter(pl.col('age').shuffle() > 0)", "shuffle()", "several rows"),
    ("t.select(pl.col('age').sample(2))", "sample(2)", "several rows"),
    ("t.select(pl.col('age').rle_id())", "rle_id()", "several rows"),
    ("t.select(pl.col('age').bottom_k(4))", "bottom_k(4)", "several rows"),
    ("t.select(pl.col('age').tail(4))", "tail()", "several rows"),
    ("t.select(pl.col('age').arccos().sum())", "arccos()", "not known"),
    ("t.filter(pl.col('age') ** pl.col('change') > 0)", "**", "not a constant"),
    ("t.filter(pl.col('name').str.slice(-2) == 'a')", "str.slice(-2", "from the end"),
    ("t.select(pl.len().alias('__dpframe_x'))", "", "cannot begin"),
    (
        "t.group_by('ward').agg(pl.len()).select(pl.col('len').mode())",
        'pl.col("len").mode()',
        "released numbers",
    ),
    ("t.group_by('ward').agg(pl.len()).filter(pl.col('n') > 3)", 'pl.col("n")', "no such column"),
    ("t.group_by('ward').agg(pl.len()).sort('n')", 'pl.col("n")', "no such column"),
    ("t.group_by('ward', maintain_order=True)", "maintain_order", "order of the rows"),
    ("t.drop('nope')", "nope", "no such column"),
    ("t.rename({'nope': 'x'})", "nope", "no such column"),
    ("t.sort('age')", "", "not sorted"),
    ("t.head(3)", "", "not sorted or cut"),
    ("t.top_k(3, by='age')", "", "not sorted or cut"),
    ("t.select(pl.col('ward').value_counts(sort=True))", "value_counts()", "several rows"),
    ("t.select(pl.col('ward').top_k_by('cost', 1))", "top_k_by(", "several rows"),
    ("t.select(pl.col('ward').sort_by('cost').last())", "last()", "several rows"),
    ("t.group_by('ward').agg(pl.col('cost').arg_max())", "arg_max()", "several rows"),
    ("t.group_by('ward').len().select(pl.col('ward').sort_by('len').last())", "last()", ""),
    ("t.group_by('ward').len().select(pl.col('ward').get(pl.col('len').arg_max()))", "get", ""),
    ("t.group_by('ward').len().sort('len').tail(1)", "", "counted from the start"),
    (
        "t.group_by('ward').len().select('len', pl.col('ward').top_k_by('len', 1))",
        "",
        "not cut to the same rows",
    ),
    (
        "t.group_by('ward').len().select(pl.col('ward').top_k_by('len', pl.col('len')))",
        "top_k_by(",
        "no fixed number",
    ),
    (
        "t.group_by('ward').len().select(pl.col('ward').top_k_by('n', 1))",
        'pl.col("n")',
        "no such column",
    ),
    ("t.unique()", "tags", "cannot be compared"),
    ("t.select('ward').unique().select(pl.len())", ".unique()", "across units"),
    ("t.drop('tags').unique('ward')", ".unique()", "keeps one of several"),
    ("t.select('id', 'ward').unique(keep='none')", "none", "is not answered"),
    ("t.join(t, on='age')", ".join(", "does not equate the units"),
    ("t.join(t, on='nope')", "nope", "no column"),
    ("t.join(t)", "", "does not say what it compares"),
    ("t.join(t, on='id', how='full')", "full", "belong to no unit"),
    ("t.join(t, left_on=['id', 'age'], right_on='id')", "", "in pairs"),
    ("t.join(t, on=pl.col('id') + 1)", "", "not the name of a column"),
    ("t.join(pl.DataFrame({'id': [1]}), on='id')", "DataFrame", "cannot be joined"),
    ("t.release(epsilon=1)", 'session.table("visits")', "returns rows"),
    ("t.filter(pl.col('age') > 3).collect()", 'filter(pl.col("age") > 3)', "returns rows"),
    ("t.select(pl.len()).collect()", "", "released, not collected"),
]


@pytest.mark.parametrize(("code", "named", "said"), REFUSED, ids=[code for code, *_ in REFUSED])
def test_what_is_refused_is_named_as_it_was_written(
    visits: dp.Frame, code: str, named: str, said: str
) -> None:
    with pytest.raises(dp.QueryError) as refusal:
        eval(code, {"t": visits, "pl": pl, "date": date}).query()
    what = refusal.value.what
    assert named in what
    assert re.search(said, what + refusal.value.why)
    assert refusal.value.fix
    assert not re.search(r"\b[A-Z]{3,}\(", refusal.value.fix), "a fix in SQL"


@pytest.mark.parametrize(
    ("asked", "better"),
    [
        ("pl.col('day').mean()", 'pl.col("day").median()'),
        ("pl.col('name').sum()", 'pl.col("name").drop_nulls().n_unique()'),
        ("pl.col('cost').quantile(2)", 'pl.col("cost").quantile(0.25)'),
    ],
)
def test_the_fix_is_understood_when_it_is_pasted(visits: dp.Frame, asked: str, better: str) -> None:
    with pytest.raises(dp.QueryError) as refusal:
        visits.select(eval(asked, {"pl": pl})).query()
    assert better in refusal.value.fix
    visits.select(eval(better, {"pl": pl})).query()


def test_floats_are_counted_in_bins_rather_than_grouped_by(visits: dp.Frame) -> None:
    with pytest.raises(dp.QueryError, match="no public set") as refusal:
        visits.group_by("cost").len().query()
    assert refusal.value.fix.startswith('pl.col("cost").hist(bin_count=20), or ')
    visits.select(pl.col("cost").hist(bin_count=20)).query()


AGGREGATES = [
    ("pl.col('cost').median()", "MEDIAN"),
    ("pl.col('cost').quantile(0.3, 'linear')", "QUANTILE_CONT"),
    ("pl.col('cost').quantile(0.3)", "QUANTILE_DISC"),
    ("pl.col('cost').var()", "VAR_SAMP"),
    ("pl.col('cost').var(ddof=0)", "VAR_POP"),
    ("pl.col('cost').std()", "STDDEV_SAMP"),
    ("pl.col('cost').skew()", "SKEWNESS_POP"),
    ("pl.col('cost').skew(bias=False)", "SKEWNESS"),
    ("pl.col('cost').kurtosis()", "KURTOSIS_POP"),
    ("pl.col('cost').kurtosis(fisher=False, bias=False)", "KURTOSIS"),
    ("pl.col('ward').drop_nulls().approx_n_unique()", "COUNT"),
    ("pl.col('cost').min()", "MIN"),
    ("pl.col('cost').max()", "MAX"),
    ("pl.col('ward').mode()", "MODE"),
    ("pl.corr('age', 'cost')", "CORR"),
    ("pl.cov('age', 'cost')", "COVAR_SAMP"),
    ("pl.col('cost').sum()", "SUM"),
    ("pl.col('cost').mean()", "AVG"),
]


@pytest.mark.parametrize(("code", "name"), AGGREGATES)
def test_aggregates_go_by_their_names_in_sql(visits: dp.Frame, code: str, name: str) -> None:
    """So that one that is not measured yet works by itself once it is."""
    summary = visits.select(eval(code, {"pl": pl}).alias("x"))
    assert isinstance(summary, dp.Summary)
    ((_, call),) = aggregate_of(summary._table.plan()).aggregates
    assert call.name == name


INSTEAD = [
    ("pl.col('active').any()", "{}.sum(), part={}.mean()", 'pl.col("active")'),
    ("(pl.col('age') > 30).all()", "{}.sum(), part={}.mean()", '(pl.col("age") > 30)'),
    ("pl.col('age').bitwise_xor()", "({} % 2 == 1).sum()", 'pl.col("age")'),
    ("pl.col('age').product()", "{}.clip(1, 1000).log().sum()", 'pl.col("age")'),
    ("pl.corr('age', 'cost', method='spearman')", "{}", 'pl.corr(pl.col("age"), pl.col("cost"))'),
]


@pytest.mark.parametrize(("code", "instead", "value"), INSTEAD, ids=[code for code, *_ in INSTEAD])
def test_what_is_offered_instead_of_an_aggregate_is_answered(
    visits: dp.Frame, code: str, instead: str, value: str
) -> None:
    with pytest.raises(dp.QueryError) as refusal:
        visits.select(eval(code, {"pl": pl}))
    offered = instead.replace("{}", value)
    assert all(part in refusal.value.fix for part in offered.split(", part="))
    assert eval(f"t.select({offered})", {"t": visits, "pl": pl}).query()


def test_aggregates_are_offered_for_one_that_is_not_measured(visits: dp.Frame) -> None:
    with pytest.raises(dp.QueryError) as refusal:
        visits.group_by("ward").agg(pl.col("cost").entropy())
    offered = refusal.value.fix.removeprefix("use one of ").split(", ")
    assert {"kurtosis", "mean", "skew", "sum"} < set(offered)
    assert "abs" not in offered


@pytest.mark.skipif(not hasattr(pl.Expr, "max_by"), reason="this Polars has no max_by")
def test_max_by_and_min_by_keep_the_best_group(visits: dp.Frame) -> None:
    grouped = visits.group_by("ward").len()
    for method, other in (("max_by", "top_k"), ("min_by", "bottom_k")):
        chosen = grouped.select(getattr(pl.col("ward"), method)("len")).query()
        expected = getattr(grouped, other)(1, by="len").select("ward").query()
        assert chosen._compiled.plan == expected._compiled.plan
    with pytest.raises(dp.QueryError, match="several rows"):
        visits.select(pl.col("ward").max_by("cost"))


@pytest.mark.filterwarnings("ignore::polars.exceptions.PolarsInefficientMapWarning")
def test_python_code_is_refused(visits: dp.Frame) -> None:
    with pytest.raises(dp.QueryError, match=r"cannot be read|not known"):
        visits.filter(pl.col("age").map_elements(lambda x: x > 3, return_dtype=pl.Boolean))
    with pytest.raises(dp.QueryError, match=r"cannot be read|not known"):
        visits.filter(pl.col("age").map_batches(lambda s: s > 3, return_dtype=pl.Boolean))


def test_what_grows_without_end_is_refused(visits: dp.Frame) -> None:
    doubled = pl.col("age") + pl.col("age")
    grown = visits
    for _ in range(11):
        grown = grown.with_columns(age=doubled)
    with pytest.raises(dp.QueryError, match="too large"):
        grown.with_columns(age=doubled)
    deep = pl.col("age")
    for _ in range(300):
        deep = (deep + 1).abs()
    with pytest.raises(dp.QueryError, match="nested too deeply"):
        visits.filter(deep > 0)
    wide = pl.any_horizontal(pl.col("age") == i for i in range(300))
    assert visits.filter(wide).select(pl.len()).query()


def test_a_refusal_costs_nothing(session: dp.Session) -> None:
    before = session.spent
    with pytest.raises(dp.QueryError):
        session.table("visits").select(pl.col("cost").rank()).release(epsilon=1)
    assert session.spent == before


# --- what Polars has, and private rows have not ---------------------------------------------------

EVERY_COLUMN = ["count", "max", "mean", "median", "min", "n_unique", "null_count", "quantile"]
EVERY_COLUMN += ["describe", "std", "sum", "var", "height"]


@pytest.mark.parametrize("name", EVERY_COLUMN)
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_what_aggregates_every_column_says_how_to_aggregate_some(
    session: dp.Session, name: str, grouped: bool
) -> None:
    rows: Any = session.table("visits").filter(pl.col("age") > 3)
    rows = rows.group_by("ward", "age") if grouped else rows
    assert not hasattr(rows, name)
    with pytest.raises(AttributeError, match="why: each aggregate is paid for") as refusal:
        getattr(rows, name)()
    fix = str(refusal.value).split("fix: ")[1]
    assert eval(fix, {"session": session, "pl": pl}).query()
    assert ".filter(" in fix


def test_a_misspelt_method_is_told_the_ones_there_are(visits: dp.Frame) -> None:
    for rows, name, meant in (
        (visits, "filtre", "filter"),
        (visits.group_by("ward"), "aggr", "agg"),
    ):
        with pytest.raises(AttributeError, match=f"did you mean {meant}?"):
            getattr(rows, name)
        with pytest.raises(AttributeError, match="use one of") as refusal:
            rows.to_pandas()  # type: ignore[attr-defined]
        offered = str(refusal.value).split("use one of ")[1].split(", ")
        assert all(callable(getattr(rows, each)) for each in offered)
    assert not hasattr(visits, "_ipython_display_")


HABITS: dict[str, Callable[[Any], object]] = {
    'rows["age"]': lambda rows: rows["age"],
    'rows["agee"]': lambda rows: rows["agee"],
    'rows["name"]': lambda rows: rows["name"],
    'rows[["age", "cost"]]': lambda rows: rows[["age", "cost"]],
    "rows[0]": lambda rows: rows[0],
    "rows[:5]": lambda rows: rows[:5],
    'rows[pl.col("age") > 18]': lambda rows: rows[pl.col("age") > 18],
    "len(rows)": len,
    "list(rows)": list,
    "bool(rows)": bool,
    "reversed(rows)": reversed,
}


@pytest.mark.parametrize("habit", HABITS)
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_looking_at_private_rows_is_refused_with_an_aggregate_to_ask_for(
    session: dp.Session, habit: str, grouped: bool
) -> None:
    rows: Any = session.table("visits").filter(pl.col("age") > 3)
    rows = rows.group_by("ward") if grouped else rows
    with pytest.raises(dp.QueryError, match="rows are private") as refusal:
        HABITS[habit](rows)
    fix = refusal.value.fix.split(", or ")[0]
    assert eval(fix, {"session": session, "pl": pl}).query()
    assert ".filter(" in fix
    assert session.spent == dp.Session(dp.Budget(epsilon=1)).spent
    for shown in ("age", "cost"):
        assert (shown in fix.split("> 3)")[1]) == (shown in habit)


@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_names_of_columns_are_looked_for_among_the_columns(
    session: dp.Session, grouped: bool
) -> None:
    rows: Any = session.table("visits")
    rows = rows.group_by("ward") if grouped else rows
    known = {"session": session, "pl": pl}
    with pytest.raises(dp.QueryError, match='"in" does not look') as refusal:
        "age" in rows  # noqa: B015
    assert eval(refusal.value.fix, known) is True
    with pytest.raises(dp.QueryError, match="not changed in its place") as refusal:
        rows["age"] = 1
    assert eval(refusal.value.fix, known).columns == session.table("visits").columns
    with pytest.raises(dp.QueryError, match="is not iterated") as refusal:
        iter(rows)
    assert eval(refusal.value.fix.split(", or ")[1].split()[0], known)[0] == "id"


@pytest.mark.parametrize("name", ["schema", "dtypes", "collect_schema", "width"])
def test_types_are_shown_beside_what_was_declared(session: dp.Session, name: str) -> None:
    with pytest.raises(AttributeError, match=f"a frame has no {name}") as refusal:
        getattr(session.table("visits"), name)
    assert r'fix: print(session.table("visits"))' in str(refusal.value)


def test_a_column_is_no_attribute_and_is_named_in_an_expression(session: dp.Session) -> None:
    visits: Any = session.table("visits")
    for rows in (visits, visits.group_by("ward")):
        with pytest.raises(AttributeError, match="columns are named in expressions") as refusal:
            rows.age  # noqa: B018
        fix = str(refusal.value).split("fix: ")[1]
        assert eval(fix, {"session": session, "pl": pl}).query()


@pytest.mark.parametrize(
    ("habit", "answer"),
    [
        (lambda table: table["n"], [3, 2, 2, 1]),
        (lambda table: table["nn"], [3, 2, 2, 1]),
        (len, 4),
        (bool, 4),
        (lambda table: [n for _, n in table], [3, 2, 2, 1]),
        (lambda table: "n" in table, True),
    ],
)
def test_a_table_that_is_not_released_says_so_and_how_to_release_it(
    session: dp.Session, no_noise: None, habit: Callable[[Any], object], answer: object
) -> None:
    table = session.table("visits").group_by("ward").agg(n=pl.len()).sort("n", descending=True)
    with pytest.raises(dp.QueryError, match="not released yet") as refusal:
        habit(table)
    found = eval(refusal.value.fix, {"session": session, "pl": pl})
    if isinstance(found, pl.Series):
        found = found.to_list()
    elif hasattr(found, "__next__"):
        found = [n for _, n in found]
    assert found == answer


# --- what is shown --------------------------------------------------------------------------------


def test_a_frame_shows_what_is_declared_and_never_a_row(visits: dp.Frame) -> None:
    frame = visits.with_columns(decade=pl.col("age") // 10)
    for shown in (repr(frame), frame._repr_html_()):
        assert "from 0 to 110" in shown
        assert "from 0 to 11" in shown
        assert "one of &#x27;er&#x27;" in shown or "one of 'er'" in shown
        assert "weighing at most 5 rows" in shown
        assert "Ann" not in shown
        assert "20.5" not in shown
    assert frame.columns[-1] == "decade"
    assert repr(frame.group_by("ward")) == '<GroupBy: pl.col("ward"); .agg(...) comes next>'
    summary = frame.group_by("ward").agg(pl.len())
    assert repr(summary) == "<Summary: ward, len; .release(epsilon=...) answers it>"


def test_the_ledger_keeps_the_chain_as_code(session: dp.Session) -> None:
    summary = (
        session.table("visits")
        .filter(pl.col("age") >= 65, ward="er")
        .with_columns(x=pl.when(pl.col("active")).then(pl.col("cost")).otherwise(0) * 2)
        .group_by(pl.col("day").dt.month().alias("m"))
        .agg(n=pl.len(), x=pl.col("x").clip(0, 9).mean().round(1))
        .sort("n", descending=True)
        .head(3)
    )
    text = repr(summary.query())
    assert text == (
        '<Query: session.table("visits").filter(pl.col("age") >= 65, pl.col("ward") == "er")'
        '.with_columns(x=pl.when(pl.col("active")).then(pl.col("cost")).otherwise(0) * 2)'
        '.group_by(pl.col("day").dt.month().alias("m"))'
        '.agg(n=pl.len(), pl.col("x").clip(0, 9).mean().round(1))'
        '.sort(pl.col("n"), descending=True).head(3)>'
    )


def test_explain_cost_and_release_are_those_of_a_query(session: dp.Session) -> None:
    summary = session.table("visits").group_by("ward").agg(pl.len(), pl.col("cost").mean())
    assert summary.cost(epsilon=0.5).epsilon == 0.5
    assert "sensitivity" in summary.explain(epsilon=0.5)
    release = summary.release(epsilon=0.5)
    assert release.frame.columns == ["ward", "len", "cost"]
    assert release.intervals(0.9).height == 4
    assert session.sql(
        "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY ward", epsilon=0.5
    ).reused


def test_frames_are_not_changed_by_their_methods(visits: dp.Frame, no_noise: None) -> None:
    base = visits.filter(pl.col("age") > 17)
    base.filter(pl.col("age") > 100)
    base.with_columns(age=pl.lit(0))
    assert answered(base.select(pl.len())).item() == 7
    summary = base.group_by("ward").agg(pl.len())
    summary.head(1)
    assert answered(summary).height == 4


def test_a_table_that_is_not_there(session: dp.Session) -> None:
    with pytest.raises(dp.QueryError, match="did you mean 'visits'"):
        session.table("visit")


def test_columns_are_renamed_by_a_function_too(visits: dp.Frame) -> None:
    assert visits.rename(str.upper).columns == [name.upper() for name in visits.columns]
    found = visits.group_by("ward").len().rename(lambda name: f"{name}_")
    assert found.release(epsilon=0.1).frame.columns == ["ward_", "len_"]


def test_wrong_numbers_of_rows_and_directions(visits: dp.Frame) -> None:
    summary = visits.group_by("ward").agg(pl.len())
    with pytest.raises(dp.ParameterError, match="not a number of rows"):
        summary.head(-1)
    with pytest.raises(dp.ParameterError, match="directions"):
        summary.sort("ward", "len", descending=[True])


def test_more_rows_than_an_engine_counts_are_all_rows() -> None:
    """Polars takes no such number, and said so after the question was paid for."""
    session = dp.Session(dp.Budget(epsilon=10))
    session.register("t", pl.DataFrame({"w": ["a"]}), columns={"w": dp.Keys(["a", "b"])})
    summary = session.table("t").group_by("w").len().sort("len")
    for table in (summary.head(2**70), summary.slice(0, 2**70), summary.group_by("w").head(2**70)):
        assert table.release(epsilon=1).frame.height == 2
    assert summary.slice(2**70, 1).release(epsilon=1).frame.height == 0


# --- the namespace --------------------------------------------------------------------------------


@pytest.mark.parametrize("lazy", [False, True])
def test_a_frame_opens_a_session_of_its_own(lazy: bool) -> None:
    data: Any = VISITS.lazy() if lazy else VISITS
    session = data.dp.session(
        dp.Budget(epsilon=1), name="visits", unit=dp.Unit("id", max_rows=5), columns=COLUMNS
    )
    assert session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.5).frame.columns == ["n"]
    assert session.table("visits").select(pl.len()).release(epsilon=0.5).reused


@pytest.mark.parametrize("lazy", [False, True])
def test_a_frame_is_protected_on_a_budget_or_in_a_session(lazy: bool) -> None:
    data: Any = VISITS.lazy() if lazy else VISITS
    alone = data.dp.protect(dp.Budget(epsilon=1), columns=COLUMNS)
    assert alone.select(pl.len()).release(epsilon=0.5).frame.columns == ["len"]
    with pytest.raises(dp.BudgetError):
        alone.select(pl.col("age").sum()).release(epsilon=1)
    session = dp.Session(dp.Budget(epsilon=1))
    assert data.dp.protect(session, name="visits").columns == VISITS.columns
    assert session.table("visits").columns == VISITS.columns


# --- several tables ------------------------------------------------------------------------------

WARDS = pl.DataFrame({"ward": ["er", "icu", "gp"], "beds": [10, 20, 30], "age": [1, 2, 3]})
BILLS = pl.DataFrame({"who": [1, 1, 3, 9], "paid": [5.0, 7.0, 9.0, 11.0]})


@pytest.fixture(params=["polars", "duckdb"])
def tables(request: pytest.FixtureRequest) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=10**6))
    unit = dp.Unit("id", max_rows=20)
    opened.register("visits", VISITS, columns=COLUMNS, unit=unit, engine=request.param)
    opened.register(
        "wards",
        WARDS,
        public=True,
        columns={"beds": dp.Range(0, 50), "age": dp.Range(0, 9)},
        engine=request.param,
    )
    opened.register(
        "bills",
        BILLS,
        columns={"paid": dp.Range(0, 20)},
        unit=dp.Unit("who", max_rows=20),
        engine=request.param,
    )
    return opened


JOINS = [
    "v.join(w, on='ward').select(pl.len(), pl.col('beds').sum(), n=pl.col('id').n_unique())",
    "v.join(w, on='ward', how='left').select(pl.len(), b=pl.col('beds').count())",
    "v.join(w, on='ward', suffix='_w').group_by('ward').agg(pl.col('age_w').mean()).sort('ward')",
    "v.join(w.filter(pl.col('beds') > 15), on='ward', how='semi').select(pl.len())",
    "v.join(w.filter(pl.col('beds') > 15), on='ward', how='anti').select(pl.len())",
    "v.join(b, left_on='id', right_on='who').select(pl.len(), pl.col('paid', 'age').sum())",
    "v.join(b, left_on='id', right_on='who', how='left').select(pl.len(), pl.col('paid').count())",
    "v.join(b, left_on='id', right_on='who', how='semi').filter(pl.col('age') > 30).select(pl.len())",
    "v.join(b, left_on='id', right_on='who', how='anti').select(pl.len())",
    "v.join(w, how='cross').filter(pl.col('age') > pl.col('beds') * 2).select(pl.len())",
    "v.join(w, on='ward').join(b, left_on='id', right_on='who').select(pl.len(), pl.col('paid').sum())",
    "v.select('id', 'ward').unique().select(pl.len())",
    "v.with_columns(x=pl.col('age') * 2).join(w, on='ward').select(pl.col('x').sum())",
]


@pytest.mark.parametrize("code", JOINS)
def test_joins_and_unique_rows_answer_as_polars_does(
    tables: dp.Session, code: str, no_noise: None
) -> None:
    private = {"v": tables.table("visits"), "w": tables.table("wards"), "b": tables.table("bills")}
    plain = {"v": VISITS.drop("tags").lazy(), "w": WARDS.lazy(), "b": BILLS.lazy()}
    ours = eval(code, {"pl": pl, **private}).release(epsilon=1).frame
    theirs = eval(code, {"pl": pl, **plain}).collect()
    assert ours.columns == theirs.columns
    kept = [row for row in theirs.rows() if row[0] is not None]
    for mine, plainly in zip([r for r in ours.rows() if r[0] is not None], kept, strict=True):
        assert mine == pytest.approx(plainly)


def test_a_joined_frame_has_the_columns_that_polars_gives_it(tables: dp.Session) -> None:
    v, w, b = (tables.table(name) for name in ("visits", "wards", "bills"))
    for ours, theirs in (
        (v.join(w, on="ward"), VISITS.join(WARDS, on="ward")),
        (v.join(w, on="ward", how="left", suffix="2"), VISITS.join(WARDS, on="ward", suffix="2")),
        (
            v.join(b, left_on="id", right_on="who"),
            VISITS.join(BILLS, left_on="id", right_on="who"),
        ),
        (v.join(w, how="cross"), VISITS.join(WARDS, how="cross")),
        (v.join(v, on="id", how="semi"), VISITS.join(VISITS, on="id", how="semi")),
    ):
        assert ours.columns == theirs.columns
    shown = repr(v.join(b, left_on="id", right_on="who"))
    assert "all rows of one id" in shown
    assert "from 0.0 to 20.0" in shown

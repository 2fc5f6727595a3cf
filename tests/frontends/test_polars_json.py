"""Serialised expressions, read by the one module that knows their form."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest

from dpframe.frontends.polars_arguments import output_name
from dpframe.frontends.polars_json import terms_of
from dpframe.frontends.polars_terms import Term, Unreadable
from dpframe.frontends.polars_text import code_of

SCHEMA = {"a": pl.Int64(), "b": pl.Float64(), "s": pl.String(), "d": pl.Date()}


def read(expr: pl.Expr) -> list[Term]:
    return terms_of(expr, lambda: SCHEMA)


class Serialised:
    """An expression that serialises as it is told to."""

    def __init__(self, node: Any) -> None:
        self.text = json.dumps(node)

    @property
    def meta(self) -> Serialised:
        return self

    def serialize(self, *, format: str) -> str:
        return self.text


WRITTEN = [
    'pl.col("a")',
    'pl.col("a") + 1',
    '(pl.col("a") + 1) * 2.5',
    'pl.col("a") - (pl.col("b") - 1)',
    '~(pl.col("a") > 3)',
    '-pl.col("a")',
    '(pl.col("a") > 3) & (pl.col("b") < 1) & (pl.col("s") == "x")',
    'pl.when(pl.col("a") > 3).then(1).when(pl.col("b") > 3).then(2).otherwise(3)',
    'pl.when(pl.col("a") > 3).then(pl.lit("b"))',
    'pl.coalesce(pl.col("s"), pl.lit("b"))',
    'pl.col("s").fill_null("b")',
    'pl.col("a").is_in([1, None])',
    'pl.col("a").fill_nan(0)',
    'pl.col("a").cast(pl.Int64)',
    'pl.col("a").cast(pl.Datetime("us"))',
    'pl.col("s").str.len_chars()',
    'pl.col("s").str.slice(1, 2)',
    'pl.col("s") == "it\\"s \\\\"',
    'pl.col("d").dt.weekday()',
    'pl.coalesce(pl.col("a"), pl.col("b"), 0)',
    'pl.max_horizontal(pl.col("a"), pl.col("b"))',
    "pl.len()",
    'pl.col("a").filter(pl.col("b") > 1).sum()',
    'pl.col("a").sum() / pl.len()',
    'pl.col("a").rank()',
    'pl.col("a").alias("x")',
    'pl.col("a").name.suffix("_x")',
    'pl.col("a").clip(0, 3)',
    'pl.col("a") ** 2',
    'pl.col("a") // 2 == 3',
    'pl.col("a").round(2)',
    'pl.corr(pl.col("a"), pl.col("b"))',
    'pl.corr(pl.col("a"), pl.col("b"), method="spearman")',
    'pl.cov(pl.col("a"), pl.col("b"), ddof=0)',
    'pl.col("a").std(ddof=0)',
    'pl.col("a").skew()',
    'pl.col("a").kurtosis(fisher=False, bias=False)',
]


@pytest.mark.parametrize("written", WRITTEN)
def test_code_reads_as_it_was_written(written: str) -> None:
    (term,) = read(eval(written, {"pl": pl}))
    again = code_of(term)
    assert again.replace("(", "").replace(")", "") == written.replace("(", "").replace(")", "")
    (same,) = read(eval(again, {"pl": pl}))
    assert same == term  # whatever parentheses it has


NAMED = [
    *(pl.col("a"), pl.col("a") + pl.col("b"), pl.col("a").alias("x") + 1, 1 + pl.col("a")),
    *(pl.len(), pl.lit(1), pl.col("a").sum() / pl.len(), pl.len() / pl.col("a").sum()),
    *(pl.when(pl.col("a") > 1).then(pl.col("b")).otherwise(0), pl.coalesce("b", "a")),
    *(pl.max_horizontal("b", "a"), pl.concat_str("s", "d"), pl.corr("b", "a"), pl.cov("a", "b")),
    *(pl.col("b").filter(pl.col("a") > 1).sum(), pl.col("s").str.len_chars(), ~(pl.col("a") > 1)),
    *(pl.col("a").alias("x").name.suffix("_y"), pl.col("a").name.prefix("y_").sum()),
    *(pl.col("a").name.to_uppercase(), pl.col("a", "b").sum().name.suffix("_x"), pl.all()),
    *(cs.numeric() * 2, cs.string(), cs.exclude("a"), pl.col("^[ab]$"), pl.exclude("a", "s")),
    *(pl.sum_horizontal(cs.numeric()), pl.col("a").alias("x").name.keep(), pl.nth(1)),
    *(pl.col("a", "b") + pl.col("b", "a"), cs.by_dtype(pl.Date).is_null(), -pl.col("b")),
    *(pl.when(pl.col("a") > 1).then(cs.numeric()).otherwise(0), pl.col("a").cast(pl.String)),
]


@pytest.mark.parametrize("expr", NAMED, ids=str)
def test_columns_have_the_names_that_polars_gives_them(expr: pl.Expr) -> None:
    plain = pl.LazyFrame(schema=SCHEMA).select(expr).collect_schema().names()
    assert [output_name(term) for term in read(expr)] == plain


def test_constants_keep_their_types() -> None:
    from datetime import date, datetime

    values = [
        1,
        2.5,
        "x",
        True,
        None,
        date(2024, 1, 31),
        datetime(2024, 1, 31, 1, 2, 3, 4),
        [1, None],
    ]
    for value in values:
        (term,) = read(pl.lit(value))
        assert term == Term("lit", options={"value": value})
        assert type(term.options["value"]) is type(value)
    (narrow,) = read(pl.lit(3, dtype=pl.Int8))
    assert narrow.options == {"value": 3}
    (series,) = read(pl.lit(pl.Series(["a", None])))
    assert series.options == {"value": ["a", None]}


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_constant_that_is_not_finite_is_unreadable(value: float) -> None:
    with pytest.raises(Unreadable, match="not finite"):
        read(pl.col("a") > value)


def test_selectors_of_different_widths_are_unreadable() -> None:
    with pytest.raises(Unreadable, match="different numbers"):
        read(pl.col("a", "b") + pl.col("a", "b", "d"))


@pytest.mark.parametrize(
    "node",
    [
        None,
        1,
        [],
        {},
        {"Column": "a", "Literal": 1},
        {"BinaryExpr": {}},
        {"BinaryExpr": {"left": {"Column": "a"}, "op": 3, "right": {"Column": "a"}}},
        {"Function": {"input": [], "function": {"Boolean": {"A": 1, "B": 2}}}},
        {"Literal": {"Scalar": {"Nonsense": 1}}},
        {"Literal": {}},
        {"Selector": "Nonsense"},
        {"Cast": {"expr": {"Column": "a"}, "dtype": "Int64", "options": "Strict"}},
        {"Agg": "Sum"},
    ],
)
def test_a_form_that_is_not_known_is_unreadable(node: Any) -> None:
    with pytest.raises(Unreadable):
        read(Serialised(node))  # type: ignore[arg-type]


def test_unknown_steps_are_terms_that_nothing_reads() -> None:
    for node in ({"Mystery": {"input": {"Column": "a"}}}, {"Mystery": [1, 2]}):
        (term,) = read(Serialised(node))  # type: ignore[arg-type]
        assert term.name == "mystery"
        assert term.options == {"unread": True}

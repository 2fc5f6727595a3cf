"""A query is laid out in parts so that its predicted error is least, each part once."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates import AGGREGATES
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import layout_for, options_for
from dpframe.bounds.sensitivity import bounded_together, sensitivity_of
from dpframe.budget.split import predicted_error
from dpframe.plan.parts import CodedSum, CountDistinct, CountRows, CountUnits, GridCounts

DATA = pl.DataFrame({"id": [1, 2], "a": [1, 2], "b": [1.0, 2.0], "c": [5, 6], "k": ["x", "y"]})
COLUMNS = {
    "a": dp.Range(0, 10, nullable=False),
    "b": dp.Range(-3, 7),
    "c": dp.Range(1000, 1010, nullable=False),
    "k": dp.Keys(["x", "y"]),
}


def compiled(select: str, **options: Any) -> Compiled:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", DATA, columns=COLUMNS, **options)
    return session.query(f"SELECT {select} FROM t")._compiled


QUERIES = [
    "COUNT(*)",
    "SUM(a)",
    "SUM(c)",
    "AVG(a)",
    "COUNT(*), SUM(a)",
    "COUNT(*), SUM(c)",
    "COUNT(*), AVG(a), SUM(a)",
    "AVG(c), SUM(c), COUNT(*), SUM(a)",
    "SUM(b), AVG(b), COUNT(b)",
    "SUM(a) / SUM(c), COUNT(*)",
    "SUM(a + c), AVG(a), AVG(c)",
    "COUNT(*) FILTER (WHERE a > 5), SUM(c) FILTER (WHERE a > 5), COUNT(*)",
]


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("select", QUERIES)
def test_the_layout_is_the_best_of_all_choices_of_recipes(select: str, norm: int) -> None:
    query = compiled(select)
    layout = layout_for(query, norm)
    context = query.context(norm)

    def size(part: Any) -> float:
        found = sensitivity_of(part, context)
        steps = found.l1 if norm == 1 else found.l2_squared**0.5
        shift = part.coding.shift if isinstance(part, CodedSum) else 0
        return float(steps or 0) / 2.0**shift

    options = options_for(query)
    parts = [p for choices in options for recipe in choices for p in recipe.parts.values()]
    bound = {parts[i]: group for group in bounded_together(parts, context) for i in group}

    def error(recipes: Any, bases: Any) -> float:
        weights: dict[Any, float] = {}
        for recipe, base in zip(recipes, bases, strict=True):
            for role, part in recipe.parts.items():
                squared = (recipe.weights[role] * size(part)) ** 2 / (base or 1)
                weights[bound[part]] = weights.get(bound[part], 0) + squared
        return predicted_error(weights, norm)

    alone = [min(error([recipe], [1]) for recipe in choices) for choices in options]
    errors = [error(recipes, alone) for recipes in itertools.product(*options)]
    assert layout.predicted <= min(errors) * (1 + 1e-9)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("select", QUERIES)
def test_shares_add_up_to_one_and_every_part_has_one(select: str, norm: int) -> None:
    layout = layout_for(compiled(select), norm)
    assert sum(layout.shares[group[0]] for group in layout.together) == 1
    assert sorted(i for group in layout.together for i in group) == list(range(len(layout.parts)))
    assert all(len({layout.shares[i] for i in group}) == 1 for group in layout.together)
    assert all(share > 0 for share in layout.shares)
    assert len(set(layout.parts)) == len(layout.parts) == len(layout.shares) == len(layout.bits)


def test_every_recipe_finds_its_parts_in_the_layout() -> None:
    layout = layout_for(compiled("COUNT(*), AVG(a), SUM(c), SUM(b)"), 1)
    for recipe in layout.recipes:
        assert set(recipe.parts.values()) <= set(layout.parts)


def test_a_public_part_takes_no_share() -> None:
    query = compiled("COUNT(*), SUM(a)", neighbors="replace", size=10)
    layout = layout_for(query, 1)
    shares = dict(zip(layout.parts, layout.shares, strict=True))
    assert shares[CountRows(None)] == 0
    assert sum(shares.values()) == Fraction(1)


def test_each_aggregate_is_made_of_the_closed_vocabulary() -> None:
    unit = {"unit": dp.Unit("id", max_rows=3)}
    query = compiled(
        "COUNT(*), COUNT(b), SUM(a), AVG(b), COUNT_IF(a > 5), COUNT(DISTINCT id), COUNT(DISTINCT a)",
        **unit,
    )
    for _, found in query.aggregates:
        for recipe in found.recipes():
            for part in recipe.parts.values():
                assert type(part) in (CountRows, CountUnits, CountDistinct, CodedSum, GridCounts)
                assert set(recipe.weights) == set(recipe.parts)


def test_aggregates_are_known_by_their_sql_names() -> None:
    assert {"COUNT", "COUNT_IF", "SUM", "AVG", "MEAN"} <= set(AGGREGATES)


def test_the_unit_is_no_key_but_buckets_of_it_are() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", DATA, columns={"id": dp.Keys([1, 2])}, unit=dp.Unit("id", max_rows=3))
    with pytest.raises(dp.QueryError, match="names the protected unit"):
        session.query("SELECT id, COUNT(*) FROM t GROUP BY id")
    # A function of the unit may be a key: buckets are useful, and the values are public.
    session.query("SELECT id % 2, COUNT(*) FROM t GROUP BY id % 2")


@pytest.mark.parametrize(
    ("refused", "instead"),
    [
        ("ANY_VALUE(k)", "MODE(k)"),
        ("LAST(a)", "AVG(a)"),
        ("BOOL_AND(f)", "COUNT_IF(NOT f)"),
        ("LOGICAL_OR(f)", "AVG(CAST(f AS INT))"),
        ("BIT_AND(a)", "COUNT_IF(a % 2 = 1)"),
        ("STRING_AGG(k, ', ')", "SELECT k, COUNT(*) FROM ... GROUP BY k"),
        ("ARRAY_AGG(a ORDER BY b)", "SELECT a, COUNT(*) FROM ... GROUP BY a"),
        ("BITSTRING_AGG(a)", "SELECT a, COUNT(*) FROM ... GROUP BY a"),
        (
            "ARG_MAX(k, b)",
            "SELECT ARG_MAX(k, n) FROM (SELECT k, COUNT(*) AS n FROM ... GROUP BY k)",
        ),
        ("MIN(f)", "COUNT_IF(f)"),
        ("MAX(k)", "SELECT k, COUNT(*) FROM ... GROUP BY k"),
    ],
)
def test_what_is_refused_names_what_to_ask_of_the_same_column(refused: str, instead: str) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    data = DATA.with_columns(f=pl.col("a") > 1)
    session.register("t", data, columns=COLUMNS)
    with pytest.raises(dp.QueryError) as error:
        session.query(f"SELECT {refused} FROM t")
    assert instead in error.value.fix
    whole = instead if instead.startswith("SELECT") else f"SELECT {instead} FROM ..."
    session.query(whole.replace("...", "t"))


@pytest.mark.parametrize(
    ("refused", "instead"),
    [
        ("pl.col('k').str.join(', ')", 't.group_by(pl.col("k")).len()'),
        ("pl.col('a').implode()", 't.group_by(pl.col("a")).len()'),
        ("pl.col('k').max()", 't.group_by(pl.col("k")).len()'),
        ("pl.col('f').max()", 't.select(pl.col("f").sum())'),
    ],
)
def test_what_is_refused_in_a_chain_names_what_to_write(refused: str, instead: str) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", DATA.with_columns(f=pl.col("a") > 1), columns=COLUMNS)
    names = {"t": session.table("t"), "pl": pl}
    with pytest.raises(dp.QueryError) as error:
        names["t"].select(eval(refused, names)).query()
    assert instead.removeprefix("t.select(").removeprefix("t").rstrip(")") in error.value.fix
    eval(instead, names).query()

"""Blends: three sums that a unit moves together no further than one, and what follows from them."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from streams import Stream

import dpframe as dp
from dpframe.aggregates.blends import Blends
from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import Layout, layout_for, options_for
from dpframe.bounds.sensitivity import EACH_GROUP, bounded_together, extra_bits, sensitivity_of
from dpframe.engines.base import measured
from dpframe.errors import InternalError
from dpframe.mechanisms import Law
from dpframe.plan.coding import Coding, coding_for
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import Column
from dpframe.plan.parts import Blend, CodedSum

ENGINES: Any = ("polars", "duckdb")


def blends(coding: Coding, max_rows: int = 1) -> tuple[Blend, Blend, Blend] | None:
    return Blend.of(CodedSum(None, Column("x"), coding), max_rows)


# --- the arithmetic of one row --------------------------------------------------------------------

CODINGS = [
    *(
        Coding(low, low + reach, 0, is_integer=True)
        for low in (0, -7, 2**39)
        for reach in (1, 2, 9)
    ),
    Coding(-5, 2**15 - 5, 0, is_integer=True),
    Coding(0, 2**15 + 1, 0, is_integer=True),
    Coding(-(2**30), 2**30, 0, is_integer=True),
    Coding(0, 2**31 - 1, 0, is_integer=True),
    Coding(0, 999_999, 0, is_integer=False, decimals=2),
    coding_for(Domain(Type.FLOAT, 0.0, 1000.0)),
    coding_for(Domain(Type.FLOAT, -3.7, 11.3), max_rows=100),
]


@pytest.mark.parametrize("max_rows", [1, 100, 2**20])
@pytest.mark.parametrize("coding", CODINGS, ids=str)
def test_the_three_products_of_a_row_are_not_negative_and_add_up(
    coding: Coding, max_rows: int
) -> None:
    """With the doubles that engines compute in: the bound is no approximation."""
    found = blends(coding, max_rows)
    assert found is not None
    one, draw = found[0], random.Random(1)
    codes = {coding.low, coding.low + 1, coding.centre, coding.high - 1, coding.high}
    codes |= {draw.randint(coding.low, coding.high) for _ in range(3000)}
    for step in range(-40, 41):  # around where a square is half-way between two steps
        near = math.isqrt(max(0, (2 * step * step + 1) * one.reach // (2 * one.finer)))
        codes |= {min(coding.low + near, coding.high)}
    above = np.array(sorted(codes), dtype=np.float64) - float(coding.low)
    squares = np.rint(above * above * one.ratio)
    for code, square in zip(sorted(codes), squares.tolist(), strict=True):
        exact = Fraction((code - coding.low) ** 2 * one.finer, one.reach)
        assert abs(square - exact) <= Fraction(1, 2) + Fraction(1, 2**20)
        products = [
            rows + of_code * code + of_square * int(square)
            for rows, of_code, of_square in (part.terms for part in found)
        ]
        assert min(products) >= 0
        assert sum(products) == one.magnitude


def test_squares_of_small_integers_are_exact() -> None:
    found = blends(Coding(-3, 10, 0, is_integer=True))
    assert found is not None
    assert [part.finer for part in found] == [13] * 3
    assert found[0].scale == 1


@pytest.mark.parametrize(
    "coding",
    [
        Coding(4, 4, 0, is_integer=True),
        Coding(0, 2**31 + 1, 0, is_integer=True),
        coding_for(Domain(Type.FLOAT, 1e6, 1e6 + 1)),
    ],
    ids=["one value", "too wide", "too coarse"],
)
def test_there_are_none_where_squares_would_be_wrong(coding: Coding) -> None:
    assert blends(coding) is None


def test_no_blend_can_be_made_that_the_proof_does_not_cover() -> None:
    found = blends(Coding(0, 9, 0, is_integer=True))
    assert found is not None
    wide = Coding(0, 2**40, 0, is_integer=True)
    for changed in ({"above": 3}, {"finer": 0}, {"finer": 2**40}, {"coding": wide}):
        with pytest.raises(InternalError):
            replace(found[0], **changed)


# --- engines --------------------------------------------------------------------------------------

VALUES = [None, math.nan, math.inf, -math.inf, -0.0, 0.0, 5e-324, 1e308, 0.1, 7.3, 10.0, 10.1]
"""Whatever a float column may hold; its range is from 0 to 10."""


def opened(frame: pl.DataFrame, engine: Any, **options: Any) -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=100))
    columns = {
        "x": dp.Range(0, 10),
        "i": dp.Range(-3, 9),
        "k": dp.Keys(["a", "b", "c"]),
    }
    session.register("t", frame, columns=columns, engine=engine, **options)
    return session


def exact(frame: pl.DataFrame, select: str, engine: Any) -> tuple[Layout, list[list[int]]]:
    query = opened(frame, engine).query(f"SELECT {select} FROM t")
    layout = layout_for(query._compiled, 1)
    assert all(isinstance(part, Blend) for part in layout.parts)
    return layout, measured(query._engine, query._compiled, layout)


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_add_up_the_products_of_every_row(engine: Any) -> None:
    """NULL and NaN count in none of the three, and what lies outside of the range is at its end."""
    values = VALUES + np.random.default_rng(1).uniform(-1, 11, 300).tolist()
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64), "i": 0, "k": "a"})
    layout, found = exact(frame, "VAR_POP(x)", engine)
    part = layout.parts[0]
    assert isinstance(part, Blend)
    expected = [0, 0, 0]
    for value in values:
        if value is None or math.isnan(value):
            continue
        code = round(Fraction(min(max(value, 0.0), 10.0)) * part.coding.scale)
        square = round(Fraction(code * code * part.finer, part.reach))
        for j, (rows, of_code, of_square) in enumerate(p.terms for p in layout.parts):  # type: ignore[attr-defined]
            expected[j] += rows + of_code * code + of_square * square
    assert [values[0] for values in found] == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("rows", [0, 1, 50])
def test_integers_are_blended_without_rounding(engine: Any, rows: int) -> None:
    draw = random.Random(rows)
    values = [draw.choice([None, -50, -3, -2, 0, 4, 9, 2**62]) for _ in range(rows)]
    schema = {"x": pl.Float64, "i": pl.Int64, "k": pl.String}
    frame = pl.DataFrame({"x": [0.0] * rows, "i": values, "k": ["a"] * rows}, schema=schema)
    _, found = exact(frame, "VAR_POP(i) FILTER (WHERE k = 'a')", engine)
    above = [min(max(v, -3), 9) + 3 for v in values if v is not None]
    assert [v[0] for v in found] == [
        sum(a * a for a in above),
        sum(2 * a * (12 - a) for a in above),
        sum((12 - a) ** 2 for a in above),
    ]


def of_blends(compiled: Compiled, norm: float) -> Layout:
    """The blends of a query alone, whatever the layout of this norm would rather measure."""
    recipes = (recipe for choices in options_for(compiled) for recipe in choices)
    parts = dict.fromkeys(p for r in recipes for p in r.parts.values() if isinstance(p, Blend))
    context = compiled.context(norm)
    claims = tuple(sensitivity_of(part, context) for part in parts)
    bits = tuple(extra_bits(part, context) for part in parts)
    together = bounded_together(tuple(parts), context)
    return Layout(context, (), tuple(parts), claims, bits, (), 0.0, together)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("norm", [1, 2, EACH_GROUP])
@pytest.mark.parametrize("max_rows", [None, 1, 3])
def test_a_unit_moves_all_three_together_by_no_more_than_one(
    max_rows: int | None, norm: float, engine: Any
) -> None:
    """In L1 and in L2, over all groups; and a unit at an end of the range moves them as far."""
    if max_rows is None and norm == EACH_GROUP:
        pytest.skip("rows are not weighed")
    draw, furthest = random.Random(1), 0.0
    unit = None if max_rows is None else dp.Unit("u", max_rows=max_rows)
    for column, choices in (("x", VALUES), ("i", [None, -9, -3, 0, 4, 9, 10])):
        for own in ([choices[-1]], [draw.choice(choices) for _ in range(7)], [choices[-1]] * 5):
            own = own[:1] if max_rows is None else own
            values = [*[draw.choice(choices) for _ in range(20)], *own]
            frame = pl.DataFrame(
                {
                    "u": [*(draw.randint(1, 5) for _ in range(20)), *[0] * len(own)],
                    "x": pl.Series(
                        values if column == "x" else [0] * len(values), dtype=pl.Float64
                    ),
                    "i": pl.Series(values if column == "i" else [0] * len(values), dtype=pl.Int64),
                    "k": [draw.choice(["a", "b", "c", None, "z"]) for _ in range(20)]
                    + [draw.choice(["a", "a", "b"]) for _ in own],
                }
            )
            tables = []
            for data in (frame.head(20), frame):
                session = opened(data, engine, unit=unit)
                query = session.query(f"SELECT k, STDDEV({column}) FROM t GROUP BY k")
                layout = of_blends(query._compiled, norm)
                tables.append(measured(query._engine, query._compiled, layout))
            assert layout.together == ((0, 1, 2),)
            (claim,) = set(layout.sensitivities)
            before, after = tables
            moved = [
                [b - a for a, b in zip(x, y, strict=True)]
                for x, y in zip(before, after, strict=True)
            ]
            assert min(m for part in moved for m in part) >= 0  # a unit only ever adds
            flat = [m for part in moved for m in part]
            if norm == EACH_GROUP:
                groups = [sum(column) for column in zip(*moved, strict=True)]
                assert max(groups) <= claim.linf
                furthest = max(furthest, max(groups) / claim.linf)
                continue
            assert sum(m * m for m in flat) <= claim.l2_squared
            assert claim.l1 is None or sum(flat) <= claim.l1
            furthest = max(furthest, sum(m * m for m in flat) / claim.l2_squared)
    assert furthest > (0.3 if norm == 2 or max_rows is None else 0.2)


# --- which queries measure them -------------------------------------------------------------------

FRAME = pl.DataFrame({"u": [1], "x": [1.0], "i": [1], "k": ["a"]})


def compiled(select: str, **options: Any) -> Compiled:
    return opened(FRAME, "polars", **options).query(f"SELECT {select} FROM t")._compiled


@pytest.mark.parametrize("options", [{}, {"unit": dp.Unit("u", max_rows=4)}], ids=["row", "unit"])
@pytest.mark.parametrize(
    "select",
    [
        "STDDEV(x)",
        "COUNT(x), AVG(x), STDDEV(x)",
        "COUNT(i), AVG(i), SUM(i), STDDEV(i), VAR_POP(i)",
        "COUNT(*), AVG(i), STDDEV(i)",
    ],
)
def test_three_sums_with_one_loss_serve_the_whole_query(select: str, options: Any) -> None:
    where = " WHERE i IS NOT NULL" if "*" in select else ""
    query = opened(FRAME, "polars", **options).query(f"SELECT {select} FROM t{where}")
    layout = layout_for(query._compiled, 1)
    assert [type(part) for part in layout.parts] == [Blend] * 3
    assert layout.together == ((0, 1, 2),)
    assert layout.shares == (1, 1, 1)


def test_counts_and_sums_move_with_blends_as_far_as_their_weights_say() -> None:
    """They are linear, and error= relies on it."""
    query = compiled("COUNT(i), SUM(i), AVG(i), STDDEV(i)")
    layout = layout_for(query, 1)
    at = {"above": 500.0, "between": 200.0, "below": 300.0}
    for recipe in layout.recipes[:2]:
        for role in at:
            moved = [
                pl.select(recipe.finish({**{r: pl.lit(v) for r, v in at.items()}, role: pl.lit(s)}))
                for s in (at[role], at[role] + 144e6)
            ]
            change = abs(moved[1].item() - moved[0].item()) / 144e6
            assert change == pytest.approx(recipe.weights[role], rel=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_without_noise_are_those_of_plain_sql(
    monkeypatch: pytest.MonkeyPatch, engine: Any
) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))
    values = np.random.default_rng(2).uniform(0, 10, 400)
    frame = pl.DataFrame({"x": values, "i": [1] * 400, "k": "a"})
    session = opened(frame, engine)
    asked = "SELECT COUNT(x), SUM(x), AVG(x), VAR_POP(x), STDDEV_SAMP(x) FROM t"
    layout = layout_for(session.query(asked)._compiled, 1)
    assert all(isinstance(part, Blend) for part in layout.parts)
    found = session.sql(asked, epsilon=1).frame.row(0)
    truth = (400, values.sum(), values.mean(), values.var(), values.std(ddof=1))
    assert found == pytest.approx(truth, rel=1e-7)


@pytest.mark.parametrize(
    ("select", "options"),
    [
        ("STDDEV(x)", {"neighbors": "replace", "size": 10}),
        ("STDDEV(x)", {"public": True}),
        ("SKEWNESS(x)", {}),
        ("k, STDDEV(x)", {}),
    ],
    ids=["replaced", "public", "a shape", "several groupings"],
)
def test_blends_are_offered_only_where_they_are_bounded_together(select: str, options: Any) -> None:
    if options.get("public"):
        session = dp.Session(dp.Budget(epsilon=1))
        session.register("t", FRAME, public=True)
    else:
        session = opened(FRAME, "polars", **options)
    sets = " GROUP BY ROLLUP (k)" if select.startswith("k") else ""
    source = "(SELECT k, LEAST(GREATEST(x, 0), 10) AS x FROM t)" if options.get("public") else "t"
    found = session.query(f"SELECT {select} FROM {source}{sets}")._compiled
    recipes = [recipe for choices in options_for(found) for recipe in choices]
    assert recipes
    assert not any(isinstance(p, Blend) for r in recipes for p in r.parts.values())


def test_a_blend_has_no_bound_where_units_are_replaced() -> None:
    part = layout_for(compiled("STDDEV(x)"), 1).parts[0]
    context = compiled("STDDEV(x)", neighbors="replace", size=10).context(1)
    with pytest.raises(InternalError):
        sensitivity_of(part, context)
    assert bounded_together([part, replace(part, above=0)], context) == ((0,), (1,))  # type: ignore[call-arg]


def test_blends_of_other_rows_or_values_are_not_bounded_together() -> None:
    found = layout_for(compiled("STDDEV(x), STDDEV(i), STDDEV(x) FILTER (WHERE k = 'a')"), 1)
    assert found.together == ((0, 1, 2), (3, 4, 5), (6, 7, 8))
    first = Blends.around(found.parts[0])  # type: ignore[arg-type]
    assert first.coefficients(found.parts[3]) is None
    assert first.coefficients(replace(first.above.codes, condition=Column("k"))) is None


# --- answers for free -----------------------------------------------------------------------------


def test_a_count_after_a_variance_is_free() -> None:
    session = opened(pl.DataFrame({"x": [1.0] * 500, "i": [2] * 500, "k": ["a"] * 500}), "polars")
    session._source = Stream(1)
    first = session.sql("SELECT k, VAR_POP(i) AS v FROM t GROUP BY k", epsilon=1)
    again = session.sql("SELECT k, VAR_POP(i) AS v, STDDEV_POP(i) AS d FROM t GROUP BY k")
    assert again.frame["v"].to_list() == first.frame["v"].to_list()
    count = session.sql("SELECT k, COUNT(i) AS n FROM t GROUP BY k")
    assert again.loss.epsilon == count.loss.epsilon == 0
    assert count.frame["n"][0] == pytest.approx(500, abs=20)
    low, high = count.intervals(0.95).select("n_low", "n_high").row(0)
    assert high - low == pytest.approx(2 * 4.5, rel=0.3)  # three draws of scale 1


def test_a_mean_and_a_sum_after_a_variance_are_free_unless_the_cost_buys_more() -> None:
    frame = pl.DataFrame({"x": [1.0] * 500, "i": [2] * 500, "k": ["a"] * 500})
    session = opened(frame, "polars")
    session._source = Stream(1)
    session.sql("SELECT VAR_POP(i) AS v FROM t", epsilon=0.1)
    for asked in ("AVG(i) AS a", "SUM(i) AS a", "AVG(i) AS a, COUNT(i) AS n, STDDEV(i) AS d"):
        assert session.sql(f"SELECT {asked} FROM t").loss.epsilon == 0
    assert session.sql("SELECT AVG(i) AS a FROM t", epsilon=0.05).loss.epsilon == 0
    assert session.sql("SELECT AVG(i) AS a FROM t", epsilon=1).loss.epsilon == 1


def test_blends_of_other_rows_answer_nothing_for_free() -> None:
    session = opened(pl.DataFrame({"x": [1.0], "i": [2], "k": ["a"]}), "polars")
    session.sql("SELECT VAR_POP(i) AS v FROM t WHERE k = 'a'", epsilon=1)
    for asked in ("AVG(i) AS a FROM t", "AVG(x) AS a FROM t WHERE k = 'a'"):
        with pytest.raises(dp.ParameterError, match="no cost was said"):
            session.sql(f"SELECT {asked}")

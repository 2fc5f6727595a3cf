"""Codes on Polars: the bits of raised values are codes, and their sums are exact although they wrap."""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpframe.declare import Table
from dpframe.engines.polars import PolarsEngine
from dpframe.engines.polars_codes import code_of, narrow_sum, steps_in_one, summand_of, wide_sum
from dpframe.plan.coding import Coding, coding_for
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import Column
from dpframe.plan.parts import CodedSum

ENDS = [(0.0, 1000.0), (-3.0, 10.0), (-1e-9, 1e-9), (0.0, 1e49), (1e-300, 2e-300), (-1e199, 1e199)]


def part_for(low: float, high: float) -> tuple[CodedSum, Table]:
    domain = Domain(Type.FLOAT, low, high)
    storage = PolarsEngine(pl.DataFrame(schema={"x": pl.Float64})).storage()
    return CodedSum(None, Column("x"), coding_for(domain, 1)), Table("t", storage, {"x": domain})


def exact_code(value: float | None, coding: Coding) -> int | None:
    if value is None or math.isnan(value):
        return None
    inside = min(max(value, coding.value(coding.low)), coding.value(coding.high))
    return round(Fraction(inside) * Fraction(coding.scale))


@pytest.mark.parametrize("ends", ENDS)
@given(st.data())
def test_bits_of_raised_values_are_their_codes(
    ends: tuple[float, float], data: st.DataObject
) -> None:
    low, high = ends
    part, table = part_for(low, high)
    step = float(1 / Fraction(part.coding.scale))
    inside = st.floats(low, high)
    halves = st.integers(part.coding.low, part.coding.high).map(lambda k: (k + 0.5) * step)
    one = st.one_of(st.none(), st.floats(), inside, halves, st.sampled_from([low, high, -0.0]))
    values = data.draw(st.lists(one, max_size=30))
    frame = pl.DataFrame({"x": values}, schema={"x": pl.Float64})
    expected = [exact_code(v, part.coding) for v in values]
    assert frame.select(code_of(part, table))["x"].to_list() == expected
    total = sum(code for code in expected if code is not None)
    steps = steps_in_one(part.coding)
    for sum_of in (narrow_sum, wide_sum):
        assert frame.select(sum_of(summand_of(part, table), steps)).item() == total


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("value", [-3.0, 10.0])
def test_sums_of_bits_may_wrap_around(value: float, streaming: bool) -> None:
    """Bits of raised values are beyond 2^62, so a sum of five is beyond 64 bits."""
    part, table = part_for(-3.0, 10.0)
    steps, rows = steps_in_one(part.coding), 100_003
    frame = pl.DataFrame({"x": [value] * rows, "k": [i % 3 for i in range(rows)]})
    summed = narrow_sum(summand_of(part, table), steps).alias("s")
    code = round(value * Fraction(part.coding.scale))
    engine = "streaming" if streaming else "in-memory"
    assert frame.lazy().select(summed).collect(engine=engine).item() == code * rows
    by_key = frame.lazy().group_by("k").agg(summed).sort("k").collect(engine=engine)
    assert by_key["s"].to_list() == [code * n for n in (33335, 33334, 33334)]

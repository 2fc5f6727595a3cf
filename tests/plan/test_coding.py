"""Numbers become integers on a public grid: exactly, half to even, on every engine alike."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines.base import request_for
from dpframe.plan.coding import GRID_BITS, LARGEST_PLAIN_INTEGER, coding_for
from dpframe.plan.domains import Domain, Type
from dpframe.plan.parts import CodedSum, step_of

BOUNDS = st.floats(-1e200, 1e200, allow_nan=False)


@pytest.mark.parametrize("high", [1, 110, 2**20, LARGEST_PLAIN_INTEGER])
def test_integers_are_coded_as_they_are(high: int) -> None:
    coding = coding_for(Domain(Type.INT, -high, high))
    assert (coding.low, coding.high, coding.shift, coding.is_integer) == (-high, high, 0, True)


def test_large_integers_and_heavy_units_go_on_a_grid() -> None:
    assert not coding_for(Domain(Type.INT, 0, LARGEST_PLAIN_INTEGER + 1)).is_integer
    assert not coding_for(Domain(Type.INT, 0, 2**30), max_rows=2**20).is_integer


@given(low=BOUNDS, high=BOUNDS, rows=st.integers(1, 2**20))
def test_the_grid_is_fine_and_its_codes_are_small(low: float, high: float, rows: int) -> None:
    low, high = min(low, high), max(low, high)
    coding = coding_for(Domain(Type.FLOAT, low, high), rows)
    assert max(abs(coding.low), abs(coding.high)) * rows <= 2 ** (GRID_BITS + 2)
    step = Fraction(2) ** -coding.shift
    for end, code in ((low, coding.low), (high, coding.high)):
        assert abs(Fraction(end) - code * step) <= step / 2
    assert coding.low <= coding.centre <= coding.high
    assert coding.magnitude() >= 1
    assert coding.magnitude(coding.centre) >= 1


@given(low=BOUNDS, high=BOUNDS)
def test_the_scale_is_a_power_of_two_that_floats_hold_exactly(low: float, high: float) -> None:
    low, high = min(low, high), max(low, high)
    coding = coding_for(Domain(Type.FLOAT, low, high))
    scale = 2.0**coding.shift
    assert math.isfinite(scale)
    assert math.frexp(scale)[0] == 0.5


VALUES = st.one_of(
    st.none(),
    st.floats(-30, 30),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308, -1e308, 2.5, 0.5, 1.5]),
    st.builds(
        lambda i, bits: (i + 0.5) / 2**bits, st.integers(-(2**31), 2**31), st.integers(22, 27)
    ),
)


@settings(max_examples=40, deadline=None)
@given(values=st.lists(VALUES, max_size=30), low=st.integers(-20, 0), width=st.integers(1, 30))
def test_engines_sum_the_codes_of_exact_arithmetic(
    values: list[float | None], low: int, width: int
) -> None:
    domain = Domain(Type.FLOAT, float(low), float(low + width))
    coding = coding_for(domain)
    expected = 0
    for value in values:
        if value is None or math.isnan(value):
            continue
        inside = min(max(value, coding.value(coding.low)), coding.value(coding.high))
        expected += round(Fraction(inside) * Fraction(2) ** coding.shift)
    data = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})
    for engine in ("duckdb", "polars"):
        session = dp.Session(dp.Budget(epsilon=1))
        session.register("t", data, columns={"x": dp.Range(low, low + width)}, engine=engine)  # type: ignore[arg-type]
        query = session.query("SELECT SUM(x) FROM t")
        layout = layout_for(query._compiled, 1)
        (part,) = layout.parts
        ((measured,),) = query._engine.measure(request_for(query._compiled, layout))
        assert measured == expected - part.centre * sum(  # type: ignore[attr-defined]
            1 for v in values if v is not None and not math.isnan(v)
        )


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=4)])
def test_sums_of_decimals_are_exact(engine: Any, unit: dp.Unit | None) -> None:
    cells = [Decimal(n) / 100 for n in range(-500, 30_000, 7)]
    frame = pl.DataFrame({"x": pl.Series(cells, dtype=pl.Decimal(12, 2)), "u": range(len(cells))})
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", frame, columns={"x": dp.Range(0, 250)}, unit=unit, engine=engine)
    compiled = session.query("SELECT SUM(x) FROM t")._compiled
    layout = layout_for(compiled, 1)
    found = session._engines["t"].measure(request_for(compiled, layout))
    exact = sum(min(max(cell, Decimal(0)), Decimal(250)) for cell in cells)
    part = layout.parts[0]
    assert isinstance(part, CodedSum)
    total = Fraction(found[0][0]) * step_of(part, layout.bits[0])
    assert total + (part.centre * len(cells)) / part.coding.scale == Fraction(exact)

"""Sums on Polars: whichever way one is measured, it is the same integer."""

from __future__ import annotations

import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.layout import layout_for
from dpframe.engines import polars
from dpframe.engines.base import Request, request_for
from dpframe.engines.polars import PolarsEngine
from dpframe.engines.polars_sums import Way, way_for

VALUES = [0.1, -7.5, 3.25, None, float("nan"), float("inf"), 1e300, -1e300, 2.5 / 2**23] * 3


def asked(text: str, *, lazy: bool) -> tuple[PolarsEngine, Request]:
    frame = pl.DataFrame({"x": VALUES, "k": range(len(VALUES))}, strict=False)
    session = dp.Session(dp.Budget(epsilon=1))
    data = frame.lazy() if lazy else frame
    session.register("t", data, columns={"x": dp.Range(-3, 10)}, engine="polars")
    query = session.query(text)
    assert isinstance(query._engine, PolarsEngine)
    return query._engine, request_for(query._compiled, layout_for(query._compiled, 1))


@pytest.mark.parametrize("text", ["SUM(x)", "AVG(x)", "VAR_POP(x)", "SUM(x), SUM(x) FILTER (WHERE k > 3)"])  # fmt: skip
def test_every_way_gives_the_same_integers(text: str) -> None:
    engine, request = asked(f"SELECT {text} FROM t", lazy=False)
    rows = engine._prepared(request)
    first, *others = (engine._grouped(rows, request, [], way).rows() for way in Way)
    assert all(found == first for found in others)


def test_a_way_holds_all_sums_up_to_its_limit() -> None:
    assert way_for(0) is way_for(2**62 - 1) is Way.NARROW
    assert way_for(2**62) is Way.WIDE


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("needed", Way)
def test_sums_that_may_not_be_exact_are_measured_again(
    lazy: bool, needed: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a lazy frame the number of rows is known only afterwards."""
    engine, request = asked("SELECT SUM(x) FROM t", lazy=lazy)
    expected, taken = engine.measure(request), []
    grouped = engine._grouped

    def noted(rows: pl.LazyFrame, some: Request, by: list[str], way: Way) -> pl.DataFrame:
        taken.append(way)
        return grouped(rows, some, by, way)

    monkeypatch.setattr(engine, "_grouped", noted)
    monkeypatch.setattr(polars, "way_for", lambda size: needed if size else Way.NARROW)
    assert engine.measure(request) == expected
    first = [Way.NARROW] if lazy and needed is not Way.NARROW else []
    assert taken == [*first, needed]


_VARIES = [(-3, 10), (0, 1000), (2.5, 2.5), (-1e-9, 1e-9), (0, 1e49), (-1e-49, 1e-49)]
_ADDS_UP = [*_VARIES, (0, 1e70), (-1e-70, 1e-70), (-1e199, 1e199), (1e-300, 2e-300)]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        *(("VAR_POP(x)", ends) for ends in _VARIES),
        *((text, ends) for text in ("SUM(x)", "AVG(x)", "MEDIAN(x)") for ends in _ADDS_UP),
    ],
)
@pytest.mark.parametrize("nullable", [True, False])
def test_fine_and_coarse_grids_have_the_same_integers_as_on_duckdb(
    text: str, ends: tuple[float, float], nullable: bool
) -> None:
    """Summands are scaled after they are added up, on grids that are neither too fine nor too coarse."""
    low, high = ends
    step = (high - low) / 7 / 2**26
    values = [low, high, low + 0.5 * step, 3.5 * step, -2.5 * step, low / 3 + high / 3, *VALUES]
    frame = pl.DataFrame({"x": values}, strict=False)
    found = []
    for engine in ("polars", "duckdb"):
        session = dp.Session(dp.Budget(epsilon=1))
        session.register("t", frame, columns={"x": dp.Range(*ends, nullable=nullable)}, engine=engine)  # type: ignore[arg-type]  # fmt: skip
        query = session.query(f"SELECT {text} FROM t")
        found.append(query._engine.measure(request_for(query._compiled, layout_for(query._compiled, 1))))  # fmt: skip
    assert found[0] == found[1]

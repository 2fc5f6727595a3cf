"""The function table: one entry each, complete, total, and safe to nest."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from dpframe.errors import InternalError
from dpframe.plan.functions import FUNCTIONS, Function, by_sql_name

PARAMS: dict[str, list[tuple[Any, ...]]] = {
    "round": [(), (2,), (-1,)],
    "power": [(2,), (0.5,), (-1,), (0,)],
    "substring": [(1, 2), (2,)],
    "left": [(2,)],
    "replace": [("a", "b")],
    "like": [("a%",)],
    "starts_with": [("a",)],
    "ends_with": [("a",)],
    "contains": [("a",)],
    "in": [(1, 2)],
    "extract": [("month",), ("hour",)],
    "round_even": [(), (2,), (-1,)],
    "clip": [(0, 1), (None, 1), (0, None)],
    "strip_chars": [("x",)],
    "strip_chars_start": [("x",)],
    "strip_chars_end": [("x",)],
    "date_trunc": [("month",), ("month", "DATE"), ("decade",)],
    "date_add": [(1, 2, 3), (0, -5, 0, "DATE"), (0, 0, 0)],
    "add_days": [(1,), (-1,)],
    "days_and_date": [(1,)],
    "date_diff": [("month",), ("week",), ("hour",)],
    "strftime": [("%Y-%m",)],
    "ilike": [("a%",), ("a!%", "!")],
    "regexp_matches": [("a+",)],
    "right": [(2,)],
    "lpad": [(3, "0")],
    "rpad": [(3, "0")],
    "position": [("a",)],
    "split_part": [("-", 1)],
    "above": [(2**62, 2**62 + 9), (-1.5, 2.5)],
    "convert": [("FLOAT", "INT"), ("TEXT", "BIGINT"), ("TEXT", "DOUBLE"), ("INT", "BOOLEAN")],
}
ARGUMENTS = {"case": 3, "coalesce": 2, "least": 2, "greatest": 2, "and": 3, "or": 3, "concat": 2}
TWO = {"add", "subtract", "multiply", "divide", "integer_divide", "modulo", "concat_operator"} | {
    *("floor_divide", "floor_quotient", "floor_modulo"),
    *("add_days", "days_and_date", "days_between", "date_diff"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "is_distinct"),
}

GIVING_WAY = {"cast", "plus", "xor", "is_nan", "fill_nan", "total_days"}
"""Entries that the analysis replaces by others, once types are known."""


def cases() -> list[Any]:
    return [
        pytest.param(function, params, id=f"{name}{params or ''}")
        for name, function in sorted(FUNCTIONS.items())
        if name not in GIVING_WAY
        for params in PARAMS.get(name, [()])
    ]


def count(function: Function) -> int:
    return ARGUMENTS.get(function.name, 2 if function.name in TWO else 1)


@pytest.mark.parametrize(("function", "params"), cases())
def test_a_rendering_that_repeats_an_argument_says_so(
    function: Function, params: tuple[Any, ...]
) -> None:
    # Nested, an argument that is mentioned twice doubles at every level; stages prevent that, but
    # only where the entry says that it repeats.
    names = [f"argument{i}" for i in range(count(function))]
    sql = function.duckdb(names, params)
    tree = str(function.polars([pl.col(n) for n in names], params))
    repeated = any(sql.count(n) > 1 or tree.count(f'"{n}"') > 1 for n in names)
    assert function.repeats or not repeated, f"{sql}\n{tree}"


def test_every_entry_is_under_its_own_name() -> None:
    for name, function in FUNCTIONS.items():
        assert function.name == name
        for sql in function.sql:
            assert by_sql_name(sql) is function


@pytest.mark.parametrize("name", sorted(GIVING_WAY))
def test_what_gives_way_never_reaches_an_engine(name: str) -> None:
    for render in (FUNCTIONS[name].duckdb, FUNCTIONS[name].polars):
        with pytest.raises(InternalError):
            render(["argument"], ())  # type: ignore[operator]


def test_no_two_entries_share_a_name_in_sql() -> None:
    written = [sql for function in FUNCTIONS.values() for sql in function.sql]
    assert len(set(written)) == len(written)


@pytest.mark.parametrize(("function", "params"), cases())
def test_every_entry_renders_for_both_engines(function: Function, params: tuple[Any, ...]) -> None:
    names = [f"argument{i}" for i in range(count(function))]
    sql = function.duckdb(names, params)
    assert all(name in sql for name in names)
    assert sql.count("(") == sql.count(")")
    assert isinstance(function.polars([pl.col(n) for n in names], params), pl.Expr)


@pytest.mark.parametrize("name", [name for name, f in FUNCTIONS.items() if f.is_whole])
def test_what_is_said_to_be_whole_is_whole(name: str) -> None:
    values = [0.5, -0.5, 2.5, -2.5, 1e15 + 0.5, 1e300, -0.0, 5e-324, 0.49999999999999994, None]
    found = pl.select(FUNCTIONS[name].polars([pl.lit(pl.Series(values))], ())).to_series()
    assert found.to_list() == found.round(0).to_list()
    assert found.null_count() == 1

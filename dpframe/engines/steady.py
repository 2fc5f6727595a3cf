"""Whether data holds the same rows each time it is read, and how it is read once where it may not.

A unit is bounded by looking at its rows more than once: first all rows are added up, then those of
units with too many are weighed. Were these other rows (a sample, a random number, code of the user's
own, the first rows in no order), a unit that was light when it was weighed could count in full. So
what is not plainly the same each time is read once, and kept for as long as a query takes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import polars as pl

from dpframe.plan.sqltext import duckdb_name

_STEPS = {"DF", "FILTER", "FROM", "SELECT", "WITH_COLUMNS", "PROJECT", "ESTIMATED ROWS"}
"""Steps of a lazy frame that look at one row after the other, as Polars prints them."""

_SCANS = r"(?:Parquet|Ipc|Csv|NDJson) SCAN \["

_OF_ONE_ROW = {
    *("alias", "when", "then", "otherwise", "col", "dyn", "not", "is_null", "is_not_null"),
    *("is_in", "is_between", "is_nan", "is_not_nan", "is_finite", "fill_null", "fill_nan", "abs"),
    *("cast", "strict_cast", "clip", "round", "floor", "ceil", "coalesce", "sign", "exp", "log"),
    *("sqrt", "pow"),
}
"""Functions of a lazy frame that look at one row; beside those of texts and times."""


def is_steady(frame: pl.LazyFrame) -> bool:
    """Whether a lazy frame plainly computes the same rows each time it is collected.

    Its plan is read as Polars prints it. A step or a function that is not listed may depend on
    chance, on the order in which threads finish, or on code of the user's own.

    >>> frame = pl.LazyFrame({"x": [1, 2]})
    >>> is_steady(frame.filter(pl.col("x") > 0)), is_steady(frame.unique())
    (True, False)
    """
    plan = frame.explain(optimized=False)
    steps = re.findall(r"^ *(?!\[)(?:simple )?([^\W\d_][\w ]*)", plan, re.MULTILINE)
    scans = re.findall(rf"^ *{_SCANS}", plan, re.MULTILINE)
    others = [step.strip() for step in steps if not _is_listed(step.strip())]
    known = all(re.fullmatch(r"\w+ SCAN", step) for step in others) and len(others) == len(scans)
    called = re.findall(r"((?:\b(?:str|dt)\.)?\b\w+)\(", plan)
    return known and all(c in _OF_ONE_ROW or c.startswith(("str.", "dt.")) for c in called)


def _is_listed(step: str) -> bool:
    return any(step == known or step.startswith(f"{known} ") for known in _STEPS)


def scans_a_table(relation: Any, *, whole: bool = False) -> bool:
    """Whether a DuckDB relation is a table of the database, column by column: it has one state.

    With `whole`, all rows of it. Its plan is read as DuckDB prints it: before 2.0, in boxes with the
    title inside.
    """
    plan = relation.explain().lstrip()
    alone = plan.count("╭") + plan.count("┌") == 1  # a column may be called so
    scan = re.match(r"╭─ Seq Scan ─|┌─+┐\s*│ +SEQ_SCAN +│", plan)
    steps = ("sample", "filter") if whole else ("sample",)
    return alone and scan is not None and not any(step in plan.lower() for step in steps)


def reading_once(sql: str, views: Iterable[str]) -> str:
    """A query that reads each of these views once, however often it names them."""
    kept = [
        f"{name} AS MATERIALIZED (SELECT * FROM {name})"
        for name in map(duckdb_name, views)
        if sql.count(name) > 1
    ]
    return f"WITH {', '.join(kept)} SELECT * FROM ({sql})" if kept else sql

"""No unit moves a sum further than was claimed, where rows are added up without being clamped."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from fuzz import Broken, Harness, run

from dpframe.engines import duckdb, duckdb_sums, files, sandbox
from dpframe.engines.base import Request
from dpframe.engines.duckdb_parts import Statement
from dpframe.engines.duckdb_sums import Way

CASES = 160


def test_every_promise_holds_for_sums_of_whole_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: Counter[Way] = Counter()
    made = duckdb.statement_for

    def noted(request: Request, way: Way) -> Statement:
        tried[way] += 1
        return made(request, way)

    monkeypatch.setattr(duckdb, "statement_for", noted)
    harness = Harness()
    run(CASES, 5, harness, shrink=False, language="sums")
    assert harness.seen["accepted"] > CASES / 2
    # Both happen often: that nothing has to be clamped, and that it has to be after all.
    assert tried[Way.UNCLAMPED] > 60
    assert tried[Way.DOUBLES] > 30


@pytest.mark.parametrize(("language", "cases"), [("sums", CASES // 2), ("sql", CASES // 4)])
def test_every_promise_holds_for_files_with_statistics(
    language: str, cases: int, tmp_path: Path
) -> None:
    """Which DuckDB believes, and which leave NaN out."""
    harness = Harness(str(tmp_path))
    run(cases, 1, harness, shrink=False, language=language)
    assert harness.seen["accepted"] > cases / 2


def test_the_harness_finds_statistics_that_leave_nan_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(files, "parquet_sql", lambda read: f"read_parquet({read})")
    monkeypatch.setattr(sandbox, "BELIEVES", "")
    with pytest.raises(Broken):
        run(CASES, 1, Harness(str(tmp_path)), shrink=False, language="sums")


def test_the_harness_finds_sums_that_nobody_vouched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_sums, "EXACT_DOUBLES", 2**300)
    with pytest.raises(Broken):
        run(CASES, 5, Harness(), shrink=False, language="sums")

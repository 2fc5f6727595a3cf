"""Statements over several tables: what is answered means what it means to plain DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from shop import PLACES, session, tables
from test_accepted import compare, statements
from test_rejected import Rejected, refusal, underlined
from test_rejected import statements as rejections

import dpframe as dp
from dpframe.engines.base import Engine

STATEMENTS = list(statements(Path(__file__).parent / "accepted_joins.sql"))
# Both engines answer all of them; tables on different engines are put together in the same way.
CASES = [
    (place, claim, text)
    for i, (claim, text, *_) in enumerate(STATEMENTS)
    for place in PLACES
    if place != "mixed" or i % 4 == 0
]


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET ieee_floating_point_ops = false")
        connection.execute("SET error_on_division_by_zero = false")
        for name, frame in tables().items():
            connection.register(name, frame)
        yield connection


@pytest.fixture(scope="module")
def sessions() -> dict[str, dp.Session]:
    return {place: session(place) for place in PLACES}


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize(("place", "claim", "text"), CASES, ids=[f"{c[1]}-{c[0]}" for c in CASES])
def test_without_noise_the_answer_is_that_of_plain_duckdb(
    place: str,
    claim: str,
    text: str,
    sessions: dict[str, dp.Session],
    plain: duckdb.DuckDBPyConnection,
) -> None:
    expected = plain.execute(text).fetchall()
    query = sessions[place].query(text)
    cost = {} if query._compiled.table.public else {"epsilon": 1}
    compare(text, query.release(**cost, fresh=True), expected)  # type: ignore[arg-type]


def test_there_are_at_least_90_statements_with_claims_of_their_own() -> None:
    assert len(STATEMENTS) >= 90
    assert len({s.text for s in STATEMENTS}) == len(STATEMENTS)
    assert len({s.claim for s in STATEMENTS}) == len(STATEMENTS)


# --- what is refused ------------------------------------------------------------------------------

REJECTED = list(rejections(Path(__file__).parent / "rejected_joins.sql"))


@pytest.fixture(scope="module")
def small_sessions() -> dict[str, dp.Session]:
    budget = dp.Budget(epsilon=1, delta=1e-6)
    return {place: session(place, budget) for place in ("duckdb", "polars")}


@pytest.mark.parametrize("rejected", REJECTED, ids=[s.text[:80] for s in REJECTED])
def test_it_is_refused_with_its_place_and_costs_nothing(
    rejected: Rejected, small_sessions: dict[str, dp.Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(self: Engine, request: object) -> None:
        raise AssertionError("the data was touched")

    monkeypatch.setattr(Engine, "measure", measure)
    errors = [refusal(opened, rejected.text) for opened in small_sessions.values()]
    assert len({str(error) for error in errors}) == 1
    assert type(errors[0]).__name__ == rejected.kind
    assert rejected.words in str(errors[0])
    assert underlined(errors[0].what) == (rejected.place, rejected.underlined)
    assert errors[0].why
    assert errors[0].fix
    assert errors[0].__cause__ is None
    assert errors[0].__context__ is None


def test_there_are_at_least_50_refusals_of_their_own() -> None:
    assert len({rejected.text for rejected in REJECTED}) == len(REJECTED) >= 50

"""Statements over several tables: what is answered means what it means to plain DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from shop import PLACES, session, tables
from test_accepted import compare, statements

import dpframe as dp

STATEMENTS = list(statements(Path(__file__).parent / "accepted_joins.sql"))
# Both engines answer all of them; tables on different engines are put together in the same way.
CASES = [
    (place, claim, text)
    for i, (claim, text, _) in enumerate(STATEMENTS)
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
    assert len({text for _, text, _ in STATEMENTS}) == len(STATEMENTS)
    assert len({claim for claim, _, _ in STATEMENTS}) == len(STATEMENTS)

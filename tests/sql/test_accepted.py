"""What is answered means what it means to plain DuckDB, on every engine and for every unit."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import polars as pl
import pytest

import dpframe as dp

FILE = Path(__file__).parent / "accepted.sql"


class Accepted(NamedTuple):
    """A statement, the claim above it, and the lines that say how it is asked."""

    claim: str
    text: str
    about_units: bool
    plain: str
    dialect: str
    cost: dict[str, float]


def statements(file: Path = FILE, *, private: bool = False) -> Iterator[Accepted]:
    """All statements. Those with private keys take a delta, and are kept apart."""
    for chunk in re.split(r";[ \t]*\n", file.read_text(encoding="utf-8")):
        lines = chunk.split("\n")
        first = next((i for i, line in enumerate(lines) if line and not line.startswith("--")), 0)
        above = [line for line in lines[:first] if line]
        text = "\n".join(lines[first:]).strip()
        if text and ("--: private" in above) == private:
            claims = [line[3:] for line in above if line.startswith("-- ")]
            plain = next((line[4:] for line in above if line.startswith("--= ")), text)
            dialects = [line[12:] for line in above if line.startswith("--: dialect ")]
            cost = {} if "--: cost in the text" in above else {"epsilon": 1.0}
            dialect = (dialects or ["duckdb"])[0]
            yield Accepted(claims[-1], text, "--: unit" in above, plain, dialect, cost)


STATEMENTS = list(statements())
PRIVATE = list(statements(private=True))
# Engine, gaps, unit: each engine meets each state of the table and each unit.
PLACES = [
    ("duckdb", False, False),
    ("polars", True, False),
    ("duckdb", True, True),
    ("polars", False, True),
]


@pytest.fixture(scope="module")
def plain(tables: dict[bool, pl.DataFrame]) -> Iterator[dict[bool, duckdb.DuckDBPyConnection]]:
    """Plain DuckDB, told to yield NULL where a division has no answer, as dpframe does."""
    connections = {}
    for gaps, table in tables.items():
        connections[gaps] = duckdb.connect()
        connections[gaps].execute("SET ieee_floating_point_ops = false")
        connections[gaps].execute("SET error_on_division_by_zero = false")
        connections[gaps].register("visits", table)
    yield connections
    for connection in connections.values():
        connection.close()


def same(ours: Any, theirs: Any) -> bool:
    """Whether two values are equal, up to the grid that floats are coded on."""
    if isinstance(theirs, Decimal):
        theirs = float(theirs)
    number = isinstance(ours, int | float) and not isinstance(ours, bool)
    if number and isinstance(theirs, int | float) and not isinstance(theirs, bool):
        return math.isclose(ours, theirs, rel_tol=1e-7, abs_tol=1e-5)
    return bool(ours == theirs) and type(ours) is type(theirs)


def same_rows(ours: list[tuple[Any, ...]], theirs: list[tuple[Any, ...]]) -> bool:
    return len(ours) == len(theirs) and all(
        len(a) == len(b) and all(map(same, a, b)) for a, b in zip(ours, theirs, strict=True)
    )


def in_any_order(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=lambda row: [(v is not None, str(type(v)), v) for v in row])


def without_empty_groups(frame: pl.DataFrame) -> pl.DataFrame:
    """Public groups are present even where the plain engine, which reads keys from rows, has none."""
    names = {name.lower(): name for name in frame.columns}
    return frame.filter(pl.col(names["n"]) != 0) if "n" in names and frame.height > 1 else frame


def compare(text: str, release: dp.Release, expected: list[tuple[Any, ...]]) -> None:
    rows = without_empty_groups(release.frame).rows()
    # The order inside a window or an aggregate is not that of the answer.
    apart = re.sub(r"\b(OVER|WITHIN GROUP) \((?:[^()]|\([^()]*\))*\)", "", text)
    if not re.search(r"\bORDER\s+BY\b", apart, re.IGNORECASE):
        rows, expected = in_any_order(rows), in_any_order(expected)
    assert same_rows(rows, expected), f"{text}\nours   {rows[:8]}\ntheirs {expected[:8]}"


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("place", PLACES, ids=lambda p: f"{p[0]}-{'gaps' * p[1]}-{'unit' * p[2]}")
@pytest.mark.parametrize("accepted", STATEMENTS, ids=[s.claim for s in STATEMENTS])
def test_without_noise_the_answer_is_that_of_plain_duckdb(
    accepted: Accepted,
    place: tuple[str, bool, bool],
    sessions: dict[tuple[str, bool, bool], dp.Session],
    plain: dict[bool, duckdb.DuckDBPyConnection],
) -> None:
    if accepted.about_units and not place[2]:
        pytest.skip("each row is its own unit")
    expected = plain[place[1]].execute(accepted.plain).fetchall()
    release = sessions[place].sql(
        accepted.text, fresh=True, dialect=accepted.dialect, **accepted.cost
    )
    compare(accepted.text, release, expected)


@pytest.mark.usefixtures("no_noise")
@pytest.mark.filterwarnings("ignore::dpframe.PrivacyWarning")
@pytest.mark.parametrize("place", PLACES, ids=lambda p: f"{p[0]}-{'gaps' * p[1]}-{'unit' * p[2]}")
@pytest.mark.parametrize("accepted", PRIVATE, ids=[s.claim for s in PRIVATE])
def test_with_private_keys_of_several_units_the_answer_is_that_of_plain_duckdb(
    accepted: Accepted,
    place: tuple[str, bool, bool],
    sessions_with_delta: dict[tuple[str, bool, bool], dp.Session],
    plain: dict[bool, duckdb.DuckDBPyConnection],
) -> None:
    expected = plain[place[1]].execute(accepted.plain).fetchall()
    query = sessions_with_delta[place].query(accepted.text, dialect=accepted.dialect)
    delta = 0.01 if query._compiled.private else None
    # At such a cost a key of two units is always shown.
    compare(accepted.text, query.release(epsilon=3000, delta=delta, fresh=True), expected)


def test_there_are_at_least_300_statements_with_claims_of_their_own() -> None:
    assert len(STATEMENTS) >= 300
    assert len({(s.text, s.dialect) for s in STATEMENTS}) == len(STATEMENTS)
    assert len({s.claim for s in STATEMENTS}) > 0.95 * len(STATEMENTS)


# --- statements that nobody thought of -----------------------------------------------------------


class Grammar:
    """Random statements, with as few parentheses as SQL allows: precedence is part of the claim."""

    NUMBERS = ("age", "score", "change", "3", "-2", "0.5", "(age + 1)", "- score", "abs(score)")
    WHOLE = ("age % 7", "score // 3", "2 ** 2", "LEAST(age, score)", "COALESCE(age, 5)")
    TEXTS = ("ward", "name", "sex", "'er'", "lower(name)", "ward || 'x'", "LEFT(name, 2)")
    CONDITIONS = (
        "active",
        "TRUE",
        "NULL",
        "age IS NULL",
        "ward IN ('er', 'gp')",
        "ward NOT IN ('er', NULL)",
        "name LIKE '%b%'",
        "name NOT LIKE 'A%'",
        "age BETWEEN 10 AND 50",
        "age NOT BETWEEN 20 AND score",
        "ward IS DISTINCT FROM 'er'",
        "MONTH(day) > 6",
        "day < '2024-05-01'",
    )

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def number(self) -> str:
        parts = [self.random.choice(self.NUMBERS + self.WHOLE) for _ in range(3)]
        operators = [f" {self.random.choice('+-*/')} " for _ in range(2)]
        return (
            "".join(part for pair in zip(parts, [*operators, ""], strict=True) for part in pair)
            if self.random.random() < 0.6
            else parts[0]
        )

    def comparison(self) -> str:
        pick = self.random.choice
        match self.random.randrange(6):
            case 0 | 1:
                return f"{self.number()} {pick(['<', '<=', '=', '>', '>=', '<>'])} {self.number()}"
            case 2:
                return f"{pick(self.TEXTS)} {pick(['<', '=', '<>'])} {pick(self.TEXTS)}"
            case 3:
                return f"{self.number()} IS {pick(['', 'NOT '])}NULL"
            case 4:
                return f"{pick(self.NUMBERS)} IN ({pick(self.NUMBERS)}, {pick(self.NUMBERS)})"
            case _:
                return pick(self.CONDITIONS)

    def condition(self, depth: int = 2) -> str:
        found = []
        for _ in range(self.random.randint(1, 3)):
            nested = depth > 0 and self.random.random() < 0.3
            part = f"({self.condition(depth - 1)})" if nested else self.comparison()
            found.append(("NOT " if self.random.random() < 0.25 else "") + part)
        words = [self.random.choice([" AND ", " OR "]) for _ in found[1:]]
        return found[0] + "".join(w + c for w, c in zip(words, found[1:], strict=True))

    def statement(self) -> str:
        key = self.random.choice(["ward", "sex", "age // 25", "MONTH(day)", "score > 0", "active"])
        where = f" WHERE {self.condition()}" if self.random.random() < 0.7 else ""
        columns = f"COUNT({self.number()}) AS c, COUNT(*) FILTER (WHERE {self.condition(1)}) AS f"
        if self.random.random() < 0.5:
            return f"SELECT COUNT(*) AS total, {columns} FROM visits{where}"
        return f"SELECT {key} AS k, COUNT(*) AS n, {columns} FROM visits{where} GROUP BY {key}"


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("seed", range(25))
def test_random_statements_are_answered_as_plain_duckdb_does_or_refused(
    seed: int,
    sessions: dict[tuple[str, bool, bool], dp.Session],
    plain: dict[bool, duckdb.DuckDBPyConnection],
) -> None:
    grammar, answered = Grammar(seed), 0
    for _ in range(5):
        text = grammar.statement()
        for engine in ("duckdb", "polars"):
            try:
                release = sessions[engine, True, False].sql(text, epsilon=1, fresh=True)
            except dp.UserError:
                continue
            compare(text, release, plain[True].execute(text).fetchall())
            answered += 1
    assert answered

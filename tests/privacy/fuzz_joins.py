"""The harness for questions over several tables, and its command line.

    python tests/privacy/fuzz_joins.py --cases 3000 [--seed 7]

A case is a set of tables, a neighbour of it, and a query. Tables `a` and `b` are private and share
their unit: the neighbour lacks one unit in both, or has another in its place. In `e` each row is a
unit: the neighbour lacks one row, or has another in its place. `p` and `q` are public and stay. Keys
that are not public are among those grouped by. What is checked is what `fuzz.py` checks on single tables. The
grammar also writes what must be refused: one that is let through moves a part too far.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

import polars as pl

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz import NORMS, Broken, raising_nothing, same, same_plan, shuffled, with_some_keys, within

import dpframe as dp
from dpframe.aggregates.compile import Compiled, compile_plan
from dpframe.aggregates.layout import layout_for
from dpframe.bounds.lower import Lowering
from dpframe.declare import Row, Table, Unit, declare
from dpframe.engines.base import Engine, measured
from dpframe.engines.combined import _Frames, _Views
from dpframe.engines.duckdb import duckdb_storage
from dpframe.engines.learned import learned_domains
from dpframe.engines.polars import PolarsEngine
from dpframe.engines.sandbox import sandbox
from dpframe.errors import QueryError
from dpframe.frontends.sql import plan_of
from dpframe.plan.nodes import Node

QUERIES_PER_WORLD = 12
MOST, LEAST = 2**63 - 1, -(2**63)

UNITS: dict[str, list[Any]] = {
    "int": [1, 2, 3, 4, None, MOST, LEAST, 0],
    "text": ["a", "A", "á", "", " a", "it's", "日本", None],
    "date": [date(2024, 1, 1), date(1, 1, 1), date(9999, 12, 31), None, date(1970, 1, 1)],
}
TYPES: dict[str, pl.DataType] = {"int": pl.Int64(), "text": pl.String(), "date": pl.Date()}
INTEGERS = [0, 1, 2, 3, -1, 7, 99, None, MOST, LEAST]
FLOATS = [0.0, -0.0, 0.5, 1.25, 2.5, -3.0, math.nan, math.inf, -math.inf, 1e300, 5e-324, None]
TEXTS = ["p", "q", "P", "", "é", "o'", None]
KEYS = [1, 2, 3, 4, 5, None, MOST]

COLUMNS = {
    "n": dp.Range(-2, 5),
    "f": dp.Range(-1.0, 2.5),
    "t": dp.Keys(["p", "q", "é"]),
}


@dataclass(frozen=True)
class World:
    """Tables, their neighbours, and how the private ones are declared."""

    frames: dict[str, pl.DataFrame]
    neighbour: dict[str, pl.DataFrame]
    units: dict[str, dp.Row | dp.Unit]
    neighbors: Literal["add_remove", "replace"]
    seed: int

    def __repr__(self) -> str:
        lines = [f"seed {self.seed}, units {self.units}, neighbors {self.neighbors}"]
        for name, frame in self.frames.items():
            lines.append(f"{name} {frame.rows()}")
            if not frame.equals(self.neighbour[name]):
                lines.append(f"{name}, its neighbour {self.neighbour[name].rows()}")
        return "\n".join(lines)


def world(seed: int) -> World:
    """Small tables with hostile cells; some are empty."""
    draw = random.Random(seed)
    kind = draw.choice(list(UNITS))
    units_of = {
        "u": draw.sample(UNITS[kind], draw.randint(1, 5)),
        "v": draw.sample(UNITS[kind], draw.choice([1, 1, 2, 4])),
    }

    def rows(unit: str | None, size: int | None = None, owners: Any = None) -> pl.DataFrame:
        size = draw.choice([0, 1, 3, 6, 12, 20]) if size is None else size
        cells: dict[str, pl.Series] = {}
        if unit is not None:
            owners = units_of[unit] if owners is None else owners
            cells[unit] = pl.Series(draw.choices(owners, k=size), dtype=TYPES[kind])
        cells["k"] = pl.Series(draw.choices(KEYS, k=size), dtype=pl.Int64)
        cells["n"] = pl.Series(draw.choices(INTEGERS, k=size), dtype=pl.Int64)
        cells["f"] = pl.Series(draw.choices(FLOATS, k=size), dtype=pl.Float64)
        cells["t"] = pl.Series(draw.choices(TEXTS, k=size), dtype=pl.String)
        return pl.DataFrame(cells)

    keys = draw.sample(KEYS, draw.randint(0, 5))
    frames = {"a": rows("u"), "b": rows("v"), "e": rows(None), "p": rows(None), "q": rows(None)}
    frames["p"] = rows(None).clear().vstack(_with_keys(frames["p"], keys))
    # A unit of b alone that decides on rows of many units of a shows most clearly.
    gone_unit = draw.choice(units_of[draw.choice("uvv")])
    gone = pl.lit(gone_unit, dtype=TYPES[kind])
    neighbour = dict(frames)
    for name, unit in (("a", "u"), ("b", "v")):
        neighbour[name] = frames[name].filter(pl.col(unit).ne_missing(gone))
    replaced = draw.random() < 0.4
    if replaced:
        # Another unit: one that was nowhere, or the same with other rows.
        others = [u for u in UNITS[kind] if u not in units_of["u"] + units_of["v"]]
        owner = [draw.choice([gone_unit, *others])]
        for name, unit in (("a", "u"), ("b", "v")):
            came = rows(unit, draw.choice([0, 1, 4, 9]), owner)
            neighbour[name] = pl.concat([neighbour[name], came])
    if frames["e"].height:
        row = draw.randrange(frames["e"].height)
        came = [rows(None, 1)] if replaced else []
        neighbour["e"] = pl.concat([frames["e"][:row], *came, frames["e"][row + 1 :]])
    most = draw.choice([1, 2, 5])
    units: dict[str, dp.Row | dp.Unit] = {"a": Unit("u", most), "b": Unit("v", most), "e": Row()}
    return World(frames, neighbour, units, "replace" if replaced else "add_remove", seed)


def _with_keys(frame: pl.DataFrame, keys: list[Any]) -> pl.DataFrame:
    """The rows with different keys: rows that are units may be joined to them."""
    few = frame[: len(keys)]
    return few.with_columns(k=pl.Series(keys[: few.height], dtype=pl.Int64))


# --- the grammar ----------------------------------------------------------------------------------


class Grammar:
    """Random questions. Every source has columns u (not for rows that are units), n, f, t and k."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.by_unit = self.draw.random() < 0.75

    def pick(self, *options: str) -> str:
        return self.draw.choice(options)

    def statement(self) -> str:
        source = self.source(3)
        keys = self.pick("", "", "t", "n", "k", "n > 1", "t IS NULL", "LEAST(GREATEST(k, 0), 3)")
        if keys == "k":  # else a private key
            keys = self.pick("k", "k // 2", "CASE WHEN k BETWEEN 0 AND 4 THEN k END")
        where = f" WHERE {self.condition('')}" if self.draw.random() < 0.5 else ""
        listed = self.draw.sample(self.aggregates(), self.draw.randint(1, 4))
        if keys:
            return (
                f"SELECT {keys} AS g, {', '.join(listed)} FROM {source} AS z{where} GROUP BY {keys}"
            )
        return f"SELECT {', '.join(listed)} FROM {source} AS z{where}"

    def aggregates(self) -> list[str]:
        number = self.number("")
        return [
            "COUNT(*)",
            "COUNT(t)",
            f"SUM({self.bounded(number)})",
            f"AVG({self.bounded('f')})",
            f"SUM({self.bounded('f')})",
            f"COUNT_IF({self.condition('')})",
            "COUNT(DISTINCT u)" if self.by_unit else "COUNT(k)",
        ]

    def bounded(self, text: str) -> str:
        return f"LEAST(GREATEST({text}, -3), 6)"

    def number(self, p: str) -> str:
        return self.pick(f"{p}n", f"{p}n", f"{p}n + 1", f"-{p}n", f"{p}n * {p}n", f"ABS({p}n)", "2")

    def condition(self, p: str) -> str:
        return self.pick(
            f"{p}n > 0",
            f"{p}n <= 3",
            f"{p}f > 0.5",
            f"{p}t = 'p'",
            f"{p}t IN ('p', 'é')",
            f"{p}k BETWEEN 1 AND 3",
            f"{p}k IS NOT NULL",
            f"{p}n IS NULL OR {p}f < 1",
            f"NOT {p}t = 'q'",
        )

    def source(self, depth: int) -> str:
        """A table expression in parentheses."""
        if depth == 0 or self.draw.random() < 0.15:
            return self.table()
        build = self.draw.choice(
            [
                *(self.projected, self.grouped, self.stacked, self.joined, self.joined),
                *(self.with_public, self.with_public, self.matching, self.wrong),
            ]
        )
        return f"({build(depth - 1)})"

    def table(self) -> str:
        if not self.by_unit:
            return "e"
        return self.pick("(SELECT u, n, f, t, k FROM a)", "(SELECT v AS u, n, f, t, k FROM b)")

    def unit(self, p: str = "") -> str:
        return f"{p}u AS u, " if self.by_unit else ""

    def projected(self, depth: int) -> str:
        number, case = self.number(""), "CASE WHEN n > 1 THEN t ELSE 'p' END"
        columns = f"{self.unit()}{number} AS n, {self.bounded('f')} AS f, {case} AS t, k"
        return f"SELECT {columns} FROM {self.source(depth)} AS x WHERE {self.condition('')}"

    def grouped(self, depth: int) -> str:
        if not self.by_unit:
            return self.projected(depth)
        number = self.pick("COUNT(*)", "SUM(n)", "COUNT(DISTINCT k)", "MAX(n)", "COUNT(f)")
        if number == "SUM(n)":
            number = f"SUM({self.bounded('n')})"
        real = self.pick("MIN(f)", "MAX(f)", f"AVG({self.bounded('f')})")
        key = self.pick("k", "t", "k, t")
        left = {"k": "NULL AS t, k", "t": "t, 1 AS k", "k, t": "t, k"}[key]
        having = f" HAVING {self.pick('COUNT(*) > 1', 'MAX(n) > 0')}" * (self.draw.random() < 0.3)
        if self.draw.random() < 0.3:
            having, key, left = "", "", "'p' AS t, 2 AS k"
        return (
            f"SELECT u, {self.bounded(number)} AS n, {real} AS f, {left}"
            f" FROM {self.source(depth)} AS x GROUP BY u{', ' * bool(key)}{key}{having}"
        )

    def stacked(self, depth: int) -> str:
        columns = f"{self.unit()}n, f, t, k"
        sides = [f"SELECT {columns} FROM {self.source(depth)} AS x" for _ in range(2)]
        return " UNION ALL ".join(sides)

    def joined(self, depth: int) -> str:
        if not self.by_unit:
            return self.with_public(depth)
        how = self.pick("JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "SEMI JOIN", "ANTI JOIN")
        more = self.pick("", "", " AND l.k = r.k", " AND l.t = r.t", " AND r.n > 0")
        if how == "RIGHT JOIN":
            more = more.replace("r.n", "l.n")
        elif how == "JOIN":
            more += self.pick("", " AND l.n < r.n", " AND l.f > r.f")
        owner = "r." if how == "RIGHT JOIN" else "l."
        other = "l." if how in ("SEMI JOIN", "ANTI JOIN") else "r."
        columns = (
            f"{owner}u AS u, {self.pick('l.', other)}n AS n, {other}f AS f, l.t AS t, l.k AS k"
        )
        left, right = self.source(depth), self.source(0)
        return f"SELECT {columns} FROM {left} AS l {how} {right} AS r ON l.u = r.u{more}"

    def with_public(self, depth: int) -> str:
        public = self.pick("p", "p", "q")
        how = self.pick("JOIN", "LEFT JOIN", "JOIN")
        more = self.pick("", "", " AND r.n > 0", " AND r.t = 'p'")
        columns = f"{self.unit('l.')}{self.pick('l.', 'r.')}n AS n, r.f AS f, l.t AS t, l.k AS k"
        left = self.source(depth)
        return f"SELECT {columns} FROM {left} AS l {how} {public} AS r ON l.k = r.k{more}"

    def matching(self, depth: int) -> str:
        negated, public = self.pick("", "NOT "), self.pick("p", "q")
        found = f"{negated}EXISTS (SELECT 1 FROM {public} AS m WHERE m.k = x.k AND m.n > 0)"
        if self.by_unit and self.draw.random() < 0.5:
            inner = self.source(0)
            found = f"{negated}EXISTS (SELECT 1 FROM {inner} AS m WHERE m.u = x.u AND m.n > 0)"
        elif self.draw.random() < 0.4:
            found = f"x.k IN (SELECT k FROM {public})"
        columns = f"{self.unit('x.')}x.n, x.f, x.t, x.k"
        return f"SELECT {columns} FROM {self.source(depth)} AS x WHERE {found}"

    def wrong(self, depth: int) -> str:
        """What couples units, and has to be refused."""
        if self.draw.random() < 0.6:
            return self.projected(depth)
        left, right = self.source(depth), self.source(0)
        columns = f"{self.unit('l.')}l.n AS n, r.f AS f, l.t AS t, l.k AS k"
        kinds = [
            f"SELECT {columns} FROM {left} AS l JOIN {right} AS r ON l.k = r.k",
            f"SELECT {columns} FROM {left} AS l, {right} AS r",
            f"SELECT {columns} FROM q AS r LEFT JOIN {left} AS l ON l.k = r.k",
            f"SELECT {self.unit()}n, f, t, k FROM {left} AS l WHERE k NOT IN (SELECT k FROM {right})",
            f"SELECT {self.unit('l.')}l.n, l.f, l.t, l.k FROM {left} AS l LIMIT 2",
        ]
        if self.by_unit:
            kinds.append(f"SELECT MAX(u) AS u, SUM({self.bounded('n')}) AS n, MAX(f) AS f,"
                         f" 'p' AS t, k FROM {left} AS l GROUP BY k")  # fmt: skip
            kinds.append(
                f"SELECT l.u, l.n, r.f, l.t, l.k FROM {left} AS l"
                f" JOIN (SELECT k AS u, n, f, t, k FROM a) AS r ON l.k = r.u"
            )
        else:
            kinds.append(f"SELECT n, f, t, k FROM {left} AS l UNION ALL SELECT n, f, t, k FROM e")
        return self.draw.choice(kinds)


# --- the harness ----------------------------------------------------------------------------------


class SharedViews(_Views):
    """The DuckDB engine over several tables, on a connection that all cases share."""

    def __init__(self, engines: dict[str, PolarsEngine], connection: Any) -> None:
        super().__init__(engines)
        self._connection = connection


@dataclass
class Opened:
    """All tables on one engine."""

    engine: Engine
    tables: dict[str, Table]

    def compiled(self, plan: Node) -> Compiled:
        lowering = Lowering(self.tables, self.engine.is_unique)
        return compile_plan(plan, lowering, self.engine.evaluate)


@dataclass
class Harness:
    """Checks cases, and counts what it saw."""

    seen: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._connection = sandbox(threads=1)

    def check(self, case: World, statements: list[str]) -> None:
        """Check every statement on a world, or raise `Broken` with what is needed to repeat it."""
        variants = {
            "table": case.frames,
            "neighbour": case.neighbour,
            "shuffled": {name: shuffled(frame) for name, frame in case.frames.items()},
        }
        opened = {
            (engine, which): self._open(case, frames, engine)
            for which, frames in variants.items()
            for engine in ("polars", "duckdb")
        }
        for sql in statements:
            self.seen["cases"] += 1
            try:
                self._check_one(opened, sql)
            except Broken as broken:
                raise Broken(f"{broken}\n{sql}\n{case!r}") from broken

    def _open(self, case: World, frames: dict[str, pl.DataFrame], engine: str) -> Opened:
        engines = {name: PolarsEngine(frame) for name, frame in frames.items()}
        tables = {}
        for name, one in engines.items():
            storage = one.storage()
            if engine == "duckdb":
                cursor = self._connection.cursor()
                found = cursor.from_arrow(frames[name].clear().to_arrow())
                pairs = zip(found.columns, found.types, strict=True)
                storage = {c: duckdb_storage(str(t)) for c, t in pairs}
            public = name in ("p", "q")
            table = declare(
                name,
                storage,
                unit=case.units.get(name, Row()),
                columns={} if public else COLUMNS,
                neighbors="add_remove" if public else case.neighbors,
                size=_size(case, name),
                public=public,
            )
            if public:
                table = replace(table, domains=learned_domains(table, one))
            tables[name] = table
        if engine == "polars":
            return Opened(_Frames(engines), tables)
        return Opened(SharedViews(engines, self._connection), tables)

    def _check_one(self, opened: dict[tuple[str, str], Opened], sql: str) -> None:
        plans = self._plans(opened, sql)
        if plans is None:
            return
        compiled = plans["polars"]
        self.seen["accepted"] += 1
        self.seen["grouped"] += bool(compiled.keys)
        self.seen["units" if compiled.table.unit_column is not None else "rows"] += 1
        self.seen["replaced"] += compiled.table.neighbors == "replace"
        mark = zlib.crc32(sql.encode())  # what is done to some cases only, is done to the same ones
        if compiled.private:
            self.seen["private"] += 1
            plans = with_some_keys(opened, plans, mark, _is_measured)
            compiled = plans["polars"]
        for norm in NORMS if mark % 4 == 0 else NORMS[:1]:
            layout = layout_for(compiled, norm)
            exact = {
                place: raising_nothing(
                    lambda engine=place[0], one=one: measured(
                        one.engine,
                        plans[engine],
                        layout,  # noqa: B023
                    ),
                    place[0],
                )
                for place, one in opened.items()
                if _is_measured(place, norm, mark)
            }
            before, after = exact["polars", "table"], exact["polars", "neighbour"]
            self.seen["moved"] += before != after
            within(layout, before, after)
            for (engine, which), found in exact.items():
                same(f"{engine}, {which}", found, after if which == "neighbour" else before)

    def _plans(self, opened: dict[tuple[str, str], Opened], sql: str) -> dict[str, Compiled] | None:
        """The query on each engine, or None if it is refused; never because of the rows."""
        places = [("polars", "table"), ("duckdb", "table"), ("polars", "neighbour")]
        found: list[Compiled | str] = []
        plan: Node | None = None
        for place in places:
            try:
                plan = plan or plan_of(sql, opened[place].tables)
                found.append(opened[place].compiled(plan))
            except QueryError as refusal:
                found.append(str(refusal))
            except Exception as error:
                raise Broken(f"planning raised {type(error).__name__}: {error}") from error
        first, *others = found
        if isinstance(first, str):
            self.refusals[first.split("why: ")[-1].split("\n")[0]] += 1
            if found != [first] * len(found):
                raise Broken(f"it is refused, but not everywhere in the same words: {found}")
            return None
        for place, other in zip(places[1:], others, strict=True):
            if isinstance(other, str):
                raise Broken(f"{place} refuses what the first answers: {other}")
            same_plan(place, first, other)
        assert isinstance(found[1], Compiled)
        return {"polars": first, "duckdb": found[1]}


def _size(case: World, name: str) -> int | None:
    """The public number of units, where one takes the place of another."""
    if case.neighbors == "add_remove" or name in ("p", "q"):
        return None
    return max(1, case.frames[name].height) if name == "e" else 100


def _is_measured(place: tuple[str, str], norm: int, mark: int) -> bool:
    engine, which = place
    if which == "shuffled":
        return norm == 1 and mark % 6 == (engine == "duckdb")
    return engine == "polars" or which == "table" or mark % 3 == 0


def run(cases: int, seed: int, harness: Harness) -> None:
    """Check this many queries, the same ones for the same seed."""
    start = harness.seen["cases"]
    while harness.seen["cases"] - start < cases:
        first = seed * 1_000_003
        statements = [Grammar(first + i).statement() for i in range(QUERIES_PER_WORLD)]
        harness.check(world(seed), statements)
        seed += 1


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Look for tables that break a promise.")
    parser.add_argument("--cases", type=int, default=600, help="how many queries to check")
    parser.add_argument("--seed", type=int, default=None, help="where to start; random if left out")
    options = parser.parse_args()
    start = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"seed {start}", flush=True)
    harness, began = Harness(), time.perf_counter()
    try:
        run(options.cases, start, harness)
    except Broken as broken:
        print(broken)
        return 1
    print(f"{dict(harness.seen)} in {time.perf_counter() - began:.0f} s")
    for why, count in harness.refusals.most_common(8):
        print(f"  {count} refused: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

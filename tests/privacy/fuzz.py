"""The harness that looks for a broken promise, and its command line.

    python tests/privacy/fuzz.py --cases 10000 [--seed 7] [--language polars]

A case is a declared table, a neighbour of it, and a query. On both engines and in every norm:

(a) the exact parts of the two tables differ by no more than the claimed sensitivities;
(b) both engines return the same integers, for the same groups;
(c) a query that was accepted raises on no table;
(d) nothing about the plan, its groups, parts, sensitivities or shares depends on the rows;
(e) nothing depends on the order of rows, or on how they are chunked;
(f) where keys are not public, the totals that they are chosen by differ by no more than the rule
    of the choice claims, and (a), (b), (c) and (e) hold for any keys that may have been chosen;
(g) scores that groups are chosen by move in one direction where that is claimed;
(h) all of that holds for a query over some of its groups, as if there were no others.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import duckdb
import polars as pl
import pyarrow.parquet
from hypothesis import HealthCheck, Phase, given, seed, settings

import dpframe as dp
from dpframe.aggregates import tree
from dpframe.aggregates.compile import Compiled, compile_plan
from dpframe.aggregates.layout import Layout, layout_for, layout_to_choose_by, options_for
from dpframe.bounds.keys import ChosenKeys
from dpframe.bounds.lower import Lowering
from dpframe.bounds.sensitivity import (
    COUNT_BITS,
    EACH_GROUP,
    bounded_together,
    extra_bits,
    sensitivity_of,
)
from dpframe.declare import Table, declare
from dpframe.engines import files, sandbox
from dpframe.engines.base import Engine, measured
from dpframe.engines.duckdb import DuckDBEngine
from dpframe.engines.duckdb_text import ROWS
from dpframe.engines.polars import PolarsEngine
from dpframe.errors import ParameterError, QueryError
from dpframe.mechanisms import ThresholdedGaussian
from dpframe.plan.exprs import Call, walk
from dpframe.plan.nodes import Aggregate, Filter, Node, Project, chain
from dpframe.plan.parts import Blend, ChosenCells, CodedSum, GridCounts
from dpframe.plan.sqltext import duckdb_name
from dpframe.release.selection import Selection, most_keys, pure_selection

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from chains import chain_cases, frame_of
from strategies import World, cases, sum_cases

ENGINES = ("polars", "duckdb")
NORMS = (1, 2)
QUERIES_PER_WORLD = 8
LANGUAGES = {"sql": cases, "polars": chain_cases, "sums": sum_cases}


class Broken(AssertionError):
    """A promise that does not hold."""


class SharedDuckDB(DuckDBEngine):
    """The DuckDB engine on a cursor of a shared connection: opening one takes 40 ms.

    Only the door is another one; the SQL is what the engine itself generates. It is planned once,
    where a relation is planned to be described, and again to be run.
    """

    def __init__(
        self, cursor: duckdb.DuckDBPyConnection, frame: pl.DataFrame, folder: str | None = None
    ) -> None:
        """Take a frame; with a folder, it is written there and read as Parquet, with statistics."""
        wide = [name for name, dtype in frame.schema.items() if dtype == pl.Int128]
        # Arrow has no Int128. (By number, because Polars takes names such as "*" for patterns.)
        texts = [pl.nth(i).cast(pl.String) for i, name in enumerate(frame.columns) if name in wide]
        frame = frame.with_columns(texts)
        cursor.register("frame", frame)
        given = cursor.sql("SELECT * FROM frame")
        source = "frame"
        if folder is not None:
            number = len(os.listdir(folder))
            file = f"{folder}/{number}.parquet"
            # With a list of the values and without, in one run of rows and in several.
            layout = {
                "use_dictionary": number % 2 == 0,
                "row_group_size": 3 if number % 4 == 3 else 1000,
            }
            pyarrow.parquet.write_table(frame.to_arrow(), file, **layout)
            source = files.parquet_sql([file])
        columns = []
        for name, kind in zip(given.columns, given.types, strict=True):
            # Some types are others in a file.
            kind, text = "HUGEINT" if name in wide else kind, duckdb_name(name)
            cast = name in wide or (folder is not None and str(kind) not in ("DOUBLE", "BIGINT"))
            columns.append(f"CAST({text} AS {kind}) AS {text}" if cast else text)
        listed = ", ".join(columns)
        cursor.execute(f"CREATE TEMP VIEW {ROWS}_t AS SELECT {listed} FROM {source}")
        self._cursor = cursor
        super().__init__(cursor.table(f"{ROWS}_t"), repeats=folder is not None)

    def _run(self, sql: str, tables: Sequence[Table]) -> pl.DataFrame:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Arrow output on a DB-API result makes an extra copy")
            found = pl.from_arrow(self._cursor.execute(sql).to_arrow_table())
        assert isinstance(found, pl.DataFrame)
        return found


@dataclass
class Opened:
    """One registered table on one engine."""

    session: dp.Session
    engine: Engine

    @property
    def table(self) -> Table:
        return self.session._tables["t"]

    def compiled(self, plan: Node) -> Compiled:
        lowering = Lowering(self.session._tables, self.engine.is_unique)
        return compile_plan(plan, lowering, self.engine.evaluate)


@dataclass
class Harness:
    """Checks cases, and counts what it saw."""

    folder: str | None = None
    """Where DuckDB reads its tables from, as Parquet; None has it read the frames themselves."""
    seen: Counter[str] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._connection = sandbox.sandbox(threads=1)

    def check(self, world: World, statements: list[str]) -> None:
        """Check every statement on a world, or raise `Broken` with what is needed to repeat it."""
        frames = {
            "table": world.table,
            "neighbour": world.neighbour,
            "shuffled": shuffled(world.table),
        }
        tables = {
            (engine, which): self.open(world, frame, engine)
            for which, frame in frames.items()
            for engine in ENGINES
        }
        for sql in statements:
            self.seen["cases"] += 1
            try:
                with coarser_grids():
                    self._check_one(tables, sql)
            except Broken as broken:
                raise Broken(f"{broken}\n{sql}\n{world!r}") from broken

    def plan(self, world: World, statements: list[str]) -> None:
        """Plan every statement, and count the functions that the accepted ones call."""
        opened = self.open(world, world.table, "polars")
        for sql in statements:
            try:
                compiled = query_of(opened.session, sql)._compiled
            except (QueryError, ParameterError):
                continue
            self.functions.update(functions_of(compiled))

    def open(self, world: World, frame: pl.DataFrame, engine: str) -> Opened:
        """Register a frame with a session of its own."""
        session = dp.Session(dp.Budget(epsilon=10**6, delta=1e-9))
        opened: Engine = PolarsEngine(frame)
        if engine == "duckdb":
            opened = SharedDuckDB(self._connection.cursor(), frame, self.folder)
        # The empty frame stands for the data in what does not depend on it.
        data = frame.clear() if engine == "duckdb" else frame
        session.register("t", data, engine="polars", **world.registration)
        table = declare("t", opened.storage(), public=False, **world.registration)
        session._tables["t"], session._engines["t"] = table, opened
        return Opened(session, opened)

    def _check_one(self, tables: dict[tuple[str, str], Opened], sql: str) -> None:
        plans = self._plans(tables, sql)
        if plans is None:
            return
        compiled = plans["polars"]
        weighted = compiled.table.unit_column is not None
        self.seen["accepted"] += 1
        self.seen["grouped"] += bool(compiled.keys)
        self.seen["weighted"] += weighted
        self.seen["replaced"] += compiled.table.neighbors == "replace"
        self.functions.update(functions_of(compiled))
        mark = zlib.crc32(sql.encode())  # what is done to some cases only, is done to the same ones
        self.seen["sets"] += bool(compiled.sets)
        if compiled.private:
            self.seen["private"] += 1
            plans = with_some_keys(tables, plans, mark, self._is_measured)
        self._check_parts(tables, plans, mark)
        apart = compiled.private or compiled.sets or compiled.groups < 2
        if weighted and not apart and mark % 8 == 0:
            self.seen["some groups"] += 1
            some = range(mark // 8 % 2, compiled.groups, 2)
            self._check_parts(tables, {e: plan.among(some) for e, plan in plans.items()}, mark)
        if mark % 16 == 0:
            self._release(tables["polars", "table"], sql)

    def _check_parts(
        self, tables: dict[tuple[str, str], Opened], plans: dict[str, Compiled], mark: int
    ) -> None:
        compiled = plans["polars"]
        weighted = compiled.table.unit_column is not None
        layouts = [layout_for(compiled, norm) for norm in NORMS]
        if weighted and not compiled.private and mark % 4 == 0:
            parts = [p for p in layouts[0].parts if not isinstance(p, GridCounts)]
            layouts.append(layout_to_choose_by(compiled, parts))
        layouts += [found for norm in NORMS if (found := layout_of_blends(compiled, norm))]
        known: dict[object, dict[tuple[str, str], list[list[int]]]] = {}
        # By norm, because most is measured in the first one.
        for layout in sorted(layouts, key=lambda layout: layout.context.norm):
            norm = layout.context.norm
            if norm == 2 and mark % 2:
                continue  # half of the cases are enough to weigh in a second norm
            # Rows that are not weighted have the same integers in every norm.
            asked = (layout.parts, norm if weighted else 1)
            if asked not in known:
                known[asked] = self._exact(tables, plans, layout, mark)
            exact = known[asked]
            before, after = exact["polars", "table"], exact["polars", "neighbour"]
            within(layout, before, after)
            alone = norm == EACH_GROUP or not weighted
            if alone and compiled.table.neighbors == "add_remove":
                self.seen["scored"] += 1
                in_one_direction(layout, before, after)
            self.seen["blended"] += any(isinstance(p, Blend) for p in layout.parts)
            self.seen["chosen"] += any(isinstance(p, ChosenCells) for p in layout.parts)
            for (engine, which), found in exact.items():
                same(f"{engine}, {which}", found, after if which == "neighbour" else before)

    def _exact(
        self,
        tables: dict[tuple[str, str], Opened],
        plans: dict[str, Compiled],
        layout: Layout,
        mark: int,
    ) -> dict[tuple[str, str], list[list[int]]]:
        """The exact parts in each place where they are measured."""
        return {
            place: raising_nothing(
                lambda engine=place[0], opened=opened: measured(
                    opened.engine, plans[engine], layout
                ),
                place[0],
            )
            for place, opened in tables.items()
            if self._is_measured(place, layout.context.norm, mark)
        }

    def _is_measured(self, place: tuple[str, str], norm: float, mark: int) -> bool:
        """All places in one norm; in the others DuckDB, and shuffled rows, in some cases."""
        engine, which = place
        if which == "shuffled":
            return engine == ENGINES[mark // 2 % 2] and (norm == 1 or mark % 8 < 2)
        return norm == 1 or engine == "polars" or which == "table"

    def _plans(self, tables: dict[tuple[str, str], Opened], sql: str) -> dict[str, Compiled] | None:
        """The query as each engine is asked it, or None if it is refused."""
        places = [("polars", "table"), ("polars", "neighbour"), ("duckdb", "neighbour")]
        found: list[Compiled | str] = []
        for place in places:
            opened = tables[place]
            try:
                if not found:
                    query = query_of(opened.session, sql)
                    found.append(query._compiled)
                else:
                    found.append(opened.compiled(query._compiled.plan))
            except (QueryError, ParameterError) as refusal:
                found.append(str(refusal))
                self.refusals[refusal.why] += 1
                if len(found) == 1:
                    return None
            except Exception as error:
                raise Broken(f"planning raised {type(error).__name__}: {error}") from error
        first, *others = found
        assert isinstance(first, Compiled)
        for place, other in zip(places[1:], others, strict=True):
            if isinstance(other, str):
                raise Broken(f"{place} refuses what the first table answers: {other}")
            same_plan(place, first, other)
        assert isinstance(found[2], Compiled)
        return {"polars": first, "duckdb": found[2]}

    def _release(self, opened: Opened, sql: str) -> None:
        """Noise and finishing must not fail either: by then the charge is made."""
        query = query_of(opened.session, sql)
        release = raising_nothing(lambda: query.release(epsilon=1), "release")
        raising_nothing(lambda: (release.frame, repr(release)), "release")
        self.seen["released"] += 1


class HasEngine(Protocol):
    """What stands for the tables of a case, on one engine."""

    engine: Engine


def with_some_keys(
    tables: Mapping[tuple[str, str], HasEngine],
    plans: dict[str, Compiled],
    mark: int,
    is_measured: Callable[[tuple[str, str], int, int], bool],
) -> dict[str, Compiled]:
    """Check the totals that keys are chosen by; then the plans over some of the keys."""
    for rule in rules_for(plans["polars"].table):
        found = {
            place: raising_nothing(
                lambda engine=place[0], opened=opened: opened.engine.candidates(
                    rule.request(plans[engine])  # noqa: B023
                ),
                place[0],
            )
            for place, opened in tables.items()
            if is_measured(place, rule.norm, mark)
        }
        before, after = found["polars", "table"], found["polars", "neighbour"]
        totals_within(rule, totals_of(*before), totals_of(*after))
        for (engine, which), (keys, totals) in found.items():
            expected = after if which == "neighbour" else before
            if keys.schema != expected[0].schema or not keys.equals(expected[0]):
                raise Broken(f"{engine}, {which}: other keys: {keys} and {expected[0]}")
            same(f"{engine}, {which}", [totals.tolist()], [expected[1].tolist()])
    keys = pl.concat([before[0], after[0]]).unique().sort(before[0].columns)
    some = keys.filter(pl.int_range(pl.len()) % (2 + mark % 2) == 0)
    chosen = ChosenKeys(some, 1, 1)
    return {engine: compiled.with_keys(chosen) for engine, compiled in plans.items()}


def layout_of_blends(compiled: Compiled, norm: int) -> Layout | None:
    """The blends that a query may measure, whether or not the layout of the norm takes them."""
    recipes = (recipe for choices in options_for(compiled) for recipe in choices)
    parts = tuple({p: None for r in recipes for p in r.parts.values() if isinstance(p, Blend)})
    context = compiled.context(norm)
    claims = tuple(sensitivity_of(part, context) for part in parts)
    bits = tuple(extra_bits(part, context) for part in parts)
    together = bounded_together(parts, context)
    return Layout(context, (), parts, claims, bits, (), 0.0, together) if parts else None


@contextmanager
def coarser_grids() -> Iterator[None]:
    """Cells cut into 2 and not 16, which is as good a test and takes an eighth of the time."""
    usual = tree._MOST_CUTS
    tree._MOST_CUTS = 2
    try:
        yield
    finally:
        tree._MOST_CUTS = usual


def rules_for(table: Table) -> list[Selection]:
    """A rule that adds up in L1, and one in L2."""
    grid = 1 if table.unit_column is None else 1 << COUNT_BITS
    gaussian = ThresholdedGaussian(Fraction(1, 10), Fraction(1, 100), most_keys(table), grid)
    return [pure_selection(table, Fraction(1), Fraction(1, 100)), Selection(gaussian, table)]


def totals_of(keys: pl.DataFrame, totals: Any) -> dict[tuple[Any, ...], int]:
    return dict(zip(keys.rows(), totals.tolist(), strict=True))


def totals_within(
    rule: Selection, before: dict[tuple[Any, ...], int], after: dict[tuple[Any, ...], int]
) -> None:
    """One unit more or less moves the totals by no more than the rule was told."""
    moved = [abs(before.get(k, 0) - after.get(k, 0)) for k in {**before, **after}]
    one = 1 if rule.table.unit_column is None else 1 << COUNT_BITS
    times = 2 if rule.table.neighbors == "replace" else 1
    keys = sum(m > 0 for m in moved)
    size = sum(moved) if rule.norm == 1 else sum(m * m for m in moved)
    claim = times * one if rule.norm == 1 else (times * one) ** 2
    if size > claim or keys > times * most_keys(rule.table) or max(moved, default=0) > one:
        raise Broken(f"norm {rule.norm}: totals moved by {size}, claimed {claim}: {moved}")


def query_of(session: dp.Session, statement: str) -> dp.Query:
    """The query that SQL, or the code of a chain, stands for."""
    if statement.startswith("t."):
        return frame_of(statement, session).query()
    return session.query(statement)


def shuffled(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in another order, in several chunks of odd sizes."""
    order = random.Random(frame.height).sample(range(frame.height), frame.height)
    mixed = frame[order] if order else frame
    cuts = [0, 1, 4, 9, *range(40, frame.height, 37)]
    pieces = [mixed[a:b] for a, b in itertools.pairwise([*cuts, frame.height]) if a < b]
    return pl.concat(pieces, rechunk=False) if pieces else mixed


def raising_nothing(run: Callable[[], Any], where: str) -> Any:
    """The result of an accepted query, which must be there whatever the rows are."""
    try:
        return run()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Broken(f"{where} raised {type(error).__name__}: {error}") from error


def within(layout: Layout, before: list[list[int]], after: list[list[int]]) -> None:
    """The two tables are no further apart than was claimed: each part, and those bounded together."""
    for group in layout.together:
        pairs = [pair for i in group for pair in zip(before[i], after[i], strict=True)]
        moved = [abs(a - b) for a, b in pairs]
        part = layout.parts[group[0]]
        if isinstance(part, ChosenCells):  # what counts is how far each group moves in L1
            moved = [sum(moved[i : i + part.size]) for i in range(0, len(moved), part.size)]
        l1, l2_squared, linf = sum(moved), sum(m * m for m in moved), max(moved, default=0)
        for claim in (layout.sensitivities[i] for i in group):
            fine = l2_squared <= claim.l2_squared and linf <= claim.linf
            if not fine or (claim.l1 is not None and l1 > claim.l1):
                parts = " and ".join(str(layout.parts[i]) for i in group)
                raise Broken(
                    f"norm {layout.context.norm}: {parts} moved by L1 {l1}, L2 squared"
                    f" {l2_squared}, Linf {linf}; claimed {claim}\n  {pairs}"
                )


def in_one_direction(layout: Layout, before: list[list[int]], after: list[list[int]]) -> None:
    """Parts that a unit only adds to are all larger with it, in every group."""
    grows = [not isinstance(p, CodedSum) or p.coding.low >= p.centre for p in layout.parts]
    moves = [
        new - old
        for i, values in enumerate(zip(before, after, strict=True))
        if grows[i]
        for old, new in zip(*values, strict=True)
    ]
    if min(moves, default=0) < 0 < max(moves, default=0):
        raise Broken(f"scores move in both directions: {moves}")


def same(where: str, found: list[list[int]], expected: list[list[int]]) -> None:
    """Two ways to compute the same integers."""
    if found != expected:
        raise Broken(f"{where} differs\n  {where}: {found}\n  expected: {expected}")


def same_plan(place: tuple[str, str], first: Compiled, other: Compiled) -> None:
    """Everything that is decided before a row is read."""
    for what in ("plan", "where", "keys", "aggregates", "groups"):
        if getattr(first, what) != getattr(other, what):
            raise Broken(
                f"{place}: another {what}: {getattr(first, what)} and {getattr(other, what)}"
            )
    if first.frame.schema != other.frame.schema or not first.frame.equals(other.frame):
        raise Broken(f"{place}: other keys: {first.frame} and {other.frame}")
    for norm in NORMS:
        ours, theirs = layout_for(first, norm), layout_for(other, norm)
        for what in ("parts", "sensitivities", "bits", "shares", "together"):
            if getattr(ours, what) != getattr(theirs, what):
                raise Broken(f"{place}: other {what} in norm {norm}")


def functions_of(compiled: Compiled) -> Iterator[str]:
    """The names of the functions that a query calls, as written and as executed."""
    exprs = [key.expr for _, key in compiled.keys]
    exprs += [compiled.where] if compiled.where is not None else []
    for part in layout_for(compiled, 1).parts:
        exprs += [part.condition] if part.condition is not None else []
        exprs += [part.expr] if isinstance(part, CodedSum | Blend | GridCounts) else []
    for node in chain(compiled.plan):
        if isinstance(node, Filter):
            exprs.append(node.predicate)
        if isinstance(node, Project):
            exprs += [expr for _, expr in node.columns]
        if isinstance(node, Aggregate):
            exprs += [expr for _, expr in (*node.keys, *node.aggregates)]
    for expr in exprs:
        yield from (e.function for e in walk(expr) if isinstance(e, Call))


def run(
    number: int, start: int, harness: Harness, *, shrink: bool = True, language: str = "sql"
) -> None:
    """Check `number` cases, the same ones for the same `start`."""
    drawn = LANGUAGES[language](QUERIES_PER_WORLD)
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    while harness.seen["cases"] < number:
        left = number - harness.seen["cases"]

        @seed(start)
        @settings(
            max_examples=min(-(-left // QUERIES_PER_WORLD), 250),
            database=None,
            deadline=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
        )
        @given(drawn)
        def check(case: tuple[World, list[str]]) -> None:
            harness.check(*case)

        check()
        start += 1


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Look for a table that breaks a promise.")
    parser.add_argument("--cases", type=int, default=2000, help="how many queries to check")
    parser.add_argument("--seed", type=int, default=None, help="where to start; random if left out")
    parser.add_argument("--no-shrink", action="store_true", help="show the first failure as it is")
    parser.add_argument(
        "--language", choices=LANGUAGES, default="sql", help="how queries are written"
    )
    given_args = parser.parse_args()
    start = random.SystemRandom().randrange(2**32) if given_args.seed is None else given_args.seed
    print(f"seed {start}", flush=True)
    harness, began = Harness(), time.perf_counter()
    try:
        run(
            given_args.cases,
            start,
            harness,
            shrink=not given_args.no_shrink,
            language=given_args.language,
        )
    except Broken as broken:
        print(broken)
        return 1
    seconds = time.perf_counter() - began
    seen = harness.seen
    print(f"{seen['cases']} cases in {seconds:.0f} s; {dict(seen)}")
    print(f"accepted {seen['accepted'] / max(seen['cases'], 1):.0%}")
    for why, count in harness.refusals.most_common(5):
        print(f"  {count} refused: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""dpframe against the plain query, on the same engine in the same run.

    python tests/benchmarks/queries.py [--rows 20000000] [--repeat 3] [--only duckdb]

Prints, per engine, storage and query: seconds of the plain query, seconds of dpframe, their ratio
beside its target, and the peak memory of a process that runs each. Planning, the charge (to a ledger
in memory) and the noise are part of dpframe's time; the table is registered beforehand.

`empty` is dpframe's time for the same query of a table without rows: what a query costs whatever
there is to read. `rows` is the ratio without it. Where a plain query takes some milliseconds, that is
the ratio to look at, because planning has a target of its own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import polars as pl

import dpframe as dp

GROUPS = 100
UNITS = 1_000_000
COLUMNS = {
    "x": dp.Range(0, 1000),
    "w": dp.Range(0, 1000),
    "i": dp.Range(0, 1000),
    "k": dp.Keys(range(GROUPS)),
}


@dataclass(frozen=True)
class Case:
    name: str
    ours: str
    plain: str
    target: str
    by_unit: bool = False


ROW_LEVEL = [
    Case("COUNT", "SELECT COUNT(*) FROM t", "SELECT COUNT(*) FROM t", "1.1"),
    Case(
        "COUNT by group",
        "SELECT k, COUNT(*) FROM t GROUP BY k",
        "SELECT k, COUNT(*) FROM t GROUP BY k",
        "1.1",
    ),
    Case(
        "COUNT WHERE",
        "SELECT COUNT(*) FROM t WHERE i > 100",
        "SELECT COUNT(*) FROM t WHERE i > 100",
        "1.1 / report",
    ),
    Case(
        "COUNT WHERE group",
        "SELECT k, COUNT(*) FROM t WHERE x > 100 GROUP BY k",
        "SELECT k, COUNT(*) FROM t WHERE x > 100 GROUP BY k",
        "1.1 / report",
    ),
    Case("SUM", "SELECT SUM(x) FROM t", "SELECT SUM(x) FROM t", "1.4 / report"),
    Case("AVG", "SELECT AVG(x) FROM t", "SELECT AVG(x) FROM t", "1.4 / report"),
    Case("SUM, all inside", "SELECT SUM(w) FROM t", "SELECT SUM(w) FROM t", "1.4 / report"),
    Case("SUM of integers", "SELECT SUM(i) FROM t", "SELECT SUM(i) FROM t", "1.4 / report"),
    Case(
        "SUM by group",
        "SELECT k, SUM(x) FROM t GROUP BY k",
        "SELECT k, SUM(x) FROM t GROUP BY k",
        "1.4 / 2.5",
    ),
    Case(
        "AVG by group",
        "SELECT k, AVG(x) FROM t GROUP BY k",
        "SELECT k, AVG(x) FROM t GROUP BY k",
        "1.4 / 2.5",
    ),
]
_BIN = "CAST(FLOOR(x / 20) AS BIGINT)"
_EDGES = [20.0 * i for i in range(51)]
SHAPES = [
    Case(
        "HISTOGRAM",
        "SELECT HISTOGRAM(x, 50) FROM t",
        f"SELECT HISTOGRAM(x, {_EDGES}) FROM t",
        "1.3",
    ),
    Case(
        "bins by GROUP BY",
        f"SELECT {_BIN} AS b, COUNT(*) FROM t GROUP BY b",
        f"SELECT {_BIN} AS b, COUNT(*) FROM t GROUP BY b",
        "1.3",
    ),
    Case(
        "quantiles",
        "SELECT MEDIAN(x), QUANTILE_CONT(x, 0.25), QUANTILE_CONT(x, 0.75) FROM t",
        "SELECT MEDIAN(x), QUANTILE_CONT(x, 0.25), QUANTILE_CONT(x, 0.75) FROM t",
        "2",
    ),
    Case(
        "moments",
        "SELECT VAR_SAMP(x), STDDEV_SAMP(x) FROM t",
        "SELECT VAR_SAMP(x), STDDEV_SAMP(x) FROM t",
        "1.5",
    ),
]
# A user-level answer needs the totals per (unit, key); that is the plain query to compare with.
BY_UNIT = [
    Case(
        "COUNT", "SELECT COUNT(*) FROM t", "SELECT u, COUNT(*) AS v FROM t GROUP BY u", "1.3", True
    ),
    Case("SUM", "SELECT SUM(x) FROM t", "SELECT u, SUM(x) AS v FROM t GROUP BY u", "1.3", True),
    Case(
        "SUM by group",
        "SELECT k, SUM(x) FROM t GROUP BY k",
        "SELECT u, k, SUM(x) AS v FROM t GROUP BY u, k",
        "1.3",
        True,
    ),
    Case(
        "AVG by group",
        "SELECT k, AVG(x) FROM t GROUP BY k",
        "SELECT u, k, AVG(x) AS v FROM t GROUP BY u, k",
        "1.3",
        True,
    ),
]


def make(path: Path, rows: int) -> None:
    """A table on disk: floats, integers, 100 keys, a million units in random order.

    One `x` in 2,000 lies outside its declared range; those of `w` are all inside.
    """
    random = np.random.default_rng(1)
    x = random.gamma(2.0, 100.0, rows)
    pl.DataFrame(
        {
            "x": x,
            "w": x.clip(0, 1000),
            "i": random.integers(0, 1000, rows),
            "k": random.integers(0, GROUPS, rows),
            "u": random.integers(0, UNITS, rows),
        }
    ).write_parquet(path)


def session_for(data: object, engine: str, by_unit: bool) -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=1000))
    unit = dp.Unit("u", max_rows=50) if by_unit else dp.Row()
    session.register("t", data, unit=unit, columns=COLUMNS, engine=engine)
    return session


def plain_runner(
    data: object, engine: str, sql: str, path: Path, stored: str
) -> Callable[[], object]:
    """The same question asked of the engine itself, with its answer fetched.

    On both engines the many groups of a plain per-unit query are added up, not fetched, so that
    handing a million rows to Python is not what is compared. Were they counted alone, the engine
    would leave out the very sums that are compared.
    """
    counted = f"SELECT COUNT(*), SUM(v) FROM ({sql})" if "GROUP BY u" in sql else sql
    if engine == "duckdb":
        connection = duckdb.connect()
        if stored == "parquet":
            connection.sql(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}')")
        else:
            connection.register("t", data)
        return lambda: connection.sql(counted).fetchall()
    frame = data if stored == "memory" else pl.scan_parquet(path)
    if "HISTOGRAM" in sql:  # Polars has one, but not in its SQL
        bins = pl.col("x").hist(_EDGES, include_breakpoint=True)
        return lambda: frame.lazy().select(bins).collect(engine="streaming")
    context = pl.SQLContext({"t": frame}, eager=False)
    return lambda: (
        context.execute(sql)
        .select([pl.len(), pl.col("v").sum()] if counted != sql else pl.all())
        .collect(engine="streaming")
    )


def best(run: Callable[[], object], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(
    case: Case, engine: str, stored: str, path: Path, repeat: int
) -> tuple[float, float, float]:
    """Seconds of the plain query, of ours, and of ours without rows; a noisy moment hits them all."""
    data = pl.read_parquet(path) if stored == "memory" else str(path)
    plain = plain_runner(data, engine, case.plain, path, stored)
    ours = our_runner(case, session_for(data, engine, case.by_unit))
    nothing = pl.read_parquet_schema(path)
    empty: object = pl.DataFrame(schema=nothing)
    if stored == "parquet":
        pl.DataFrame(schema=nothing).write_parquet(path.with_name("empty.parquet"))
        empty = str(path.with_name("empty.parquet"))
    alone = our_runner(case, session_for(empty, engine, case.by_unit))
    runs = (plain, ours, alone)
    for run in runs:
        run()
    times = [[best(run, 1) for run in runs] for _ in range(repeat)]
    first, second, third = (min(column) for column in zip(*times, strict=True))
    return first, second, third


def our_runner(case: Case, session: dp.Session) -> Callable[[], object]:
    """The question asked of dpframe, measured every time."""

    def ours() -> object:
        # fresh: otherwise the second answer comes from the ledger, and nothing is measured.
        release = session.sql(case.ours, epsilon=0.1, fresh=True)
        assert not release.reused
        return release.frame

    return ours


def peak_memory(which: str, case: Case, engine: str, stored: str, path: Path) -> int:
    """Megabytes at the peak of a fresh process that runs the query once."""
    job = {
        "which": which,
        "case": case.__dict__,
        "engine": engine,
        "stored": stored,
        "path": str(path),
    }
    command = [sys.executable, __file__, "--child", json.dumps(job)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def child(job: dict[str, object]) -> None:
    case, path = Case(**job["case"]), Path(str(job["path"]))  # type: ignore[arg-type]
    engine, stored = str(job["engine"]), str(job["stored"])
    data = pl.read_parquet(path) if stored == "memory" else str(path)
    if job["which"] == "plain":
        plain_runner(data, engine, case.plain, path, stored)()
    else:
        _ = session_for(data, engine, case.by_unit).sql(case.ours, epsilon=0.1).frame
    # Not ru_maxrss: a child's begins at what its parent held when it was forked.
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) // 1024)


def planning(path: Path) -> tuple[float, float]:
    """Milliseconds of planning for a typical query, and for one over five tables."""
    session = session_for(str(path), "duckdb", by_unit=False)
    text = "SELECT k, COUNT(*) AS n, AVG(x) AS x FROM t WHERE i >= 65 GROUP BY k ORDER BY n DESC"
    return planned(session, text), planned(*five_tables())


def five_tables() -> tuple[dp.Session, str]:
    """Two private tables and three public ones, and a question that joins them all."""
    session = dp.Session(dp.Budget(epsilon=1000))
    people = pl.DataFrame({"id": range(100), "age": range(100)})
    orders = pl.DataFrame({"who": range(100), "item": range(100), "price": [1.5] * 100})
    ages, prices = {"age": dp.Range(0, 99)}, {"price": dp.Range(0, 9)}
    session.register("people", people, unit=dp.Unit("id", max_rows=5), columns=ages)
    session.register("orders", orders, unit=dp.Unit("who", max_rows=5), columns=prices)
    kinds = ["desk", "home", "wear", "food"] * 25
    items = pl.DataFrame({"item": range(100), "maker": [i % 9 for i in range(100)], "kind": kinds})
    session.register("items", items, public=True)
    makers = pl.DataFrame({"maker": range(9), "country": ["IT", "NO", "PE"] * 3})
    session.register("makers", makers, public=True)
    rates = pl.DataFrame({"country": ["IT", "NO", "PE"], "rate": [1.0, 1.5, 2.0]})
    session.register("rates", rates, public=True)
    text = """
        SELECT kind, r.country, COUNT(*) AS n, SUM(price * rate) AS turnover
        FROM people p JOIN orders o ON p.id = o.who JOIN items i ON i.item = o.item
        JOIN makers m ON m.maker = i.maker JOIN rates r ON r.country = m.country
        WHERE age >= 18 AND price > 0.5 GROUP BY kind, r.country HAVING COUNT(*) > 5 ORDER BY n DESC
        """
    return session, text


def planned(session: dp.Session, text: str) -> float:
    """Milliseconds from text to charge, median of 50; each text is a new one, and has to be read."""
    times = []
    for i in range(50):
        start = time.perf_counter()
        query = session.query(f"{text} -- {i}")
        query.cost(epsilon=0.01, fresh=True)
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def importing() -> tuple[float, float]:
    """Seconds to import dpframe, and its four packages; the least of five each."""

    def seconds(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5)

    return seconds("import dpframe"), seconds("import polars, duckdb, sqlglot, numpy")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", choices=["duckdb", "polars"])
    parser.add_argument("--no-memory", action="store_true")
    parser.add_argument("--cases", nargs="+", help="only those whose name begins with one of these")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(json.loads(options.child))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        make(path, options.rows)
        print(f"{options.rows:,} rows, {GROUPS} groups, {UNITS:,} units")
        ours, theirs = importing()
        print(f"import: {ours:.3f} s, its packages {theirs:.3f} s, ratio {ours / theirs:.2f} (1.3)")
        one, five = planning(path)
        print(f"planning: {one:.1f} ms (10); over five tables {five:.1f} ms (20)")
        print(
            f"{'engine':8}{'stored':9}{'unit':6}{'query':18}{'plain s':>9}{'ours s':>9}"
            f"{'ratio':>7}  {'target':14}{'empty s':>9}{'rows':>7}{'plain MB':>9}{'ours MB':>9}"
        )
        for engine in [options.only] if options.only else ["duckdb", "polars"]:
            for stored in ["parquet", "memory"]:
                for case in [*ROW_LEVEL, *SHAPES, *BY_UNIT]:
                    if options.cases and not case.name.startswith(tuple(options.cases)):
                        continue
                    plain, ours, empty = measure(case, engine, stored, path, options.repeat)
                    memory = (
                        ["", ""]
                        if options.no_memory
                        else [
                            f"{peak_memory(w, case, engine, stored, path):,}"
                            for w in ("plain", "ours")
                        ]
                    )
                    print(
                        f"{engine:8}{stored:9}{'unit' if case.by_unit else 'row':6}{case.name:18}"
                        f"{plain:9.4f}{ours:9.4f}{ours / plain:7.2f}  {case.target:14}"
                        f"{empty:9.4f}{(ours - empty) / plain:7.2f}{memory[0]:>9}{memory[1]:>9}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()

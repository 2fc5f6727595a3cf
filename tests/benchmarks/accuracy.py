"""The error of dpframe and of its peers, at equal epsilon, on the same 100,000 rows.

    python tests/benchmarks/accuracy.py [--epsilon 0.1 1] [--releases 200] [--seconds 4]
        [--questions count avg ...] [--tools dpframe opendp ...] [--markdown]

Each peer is installed in an environment of its own below `.venv/peers`, when it is first needed,
and asked by its script in `tests/benchmarks/peers`. A tool that cannot be installed, has nothing
for a question, or fails is shown as such. Where there are several ways to ask a peer, the best one
counts. Everyone has the same public knowledge: ranges, keys, rows per user, a bound on the rows.

Answers about rows are pure, except those of Qrlew, which needs a delta; for answers about users,
everyone has a delta. diffprivlib's means and variances, and OpenDP's variance, take the number of
rows for public; dpframe's protect it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dpframe as dp
from dpframe.budget.filters import Filter

sys.path.insert(0, str(Path(__file__).parent / "peers"))
from job import enough

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(__file__).parent / "peers"
ROWS = 100_000
DELTA = 1e-6
PUBLIC: dict[str, Any] = {
    "x": [0, 1000],
    "y": [0, 500],
    "keys": 20,
    "candidates": 12,
    "bins": 50,
    "max_rows": 8,
    "most_rows": 1_000_000,
    "quantiles": [0.25, 0.5, 0.75],
    "deciles": [round(0.1 * i, 1) for i in range(1, 10)],
    "extreme": 0.99,
}
PEERS = {
    "opendp": ["opendp[polars]"],
    "smartnoise": ["smartnoise-sql", "setuptools<81"],
    "pipelinedp": ["pipeline-dp"],
    "diffprivlib": ["diffprivlib", "scikit-learn<1.7"],
    "qrlew": ["pyqrlew", "duckdb", "pandas<3"],
}
TOOLS = ["dpframe", *PEERS]

Table = dict[str, "np.ndarray[Any, Any]"]
Losses = "np.ndarray[Any, Any]"
Score = Callable[[Table, list[list[float]], list[float]], "np.ndarray[Any, Any]"]


def make(rows: int) -> Table:
    """Skewed floats, a line with scatter, keys of unequal size, a close race, users of 1 to 8 rows."""
    random = np.random.default_rng(1)
    x = np.minimum(random.gamma(2.0, 100.0, rows), 1000)
    y = np.clip(50 + 0.2 * x + random.normal(0, 40, rows), 0, 500)
    keys = np.arange(1, PUBLIC["keys"] + 1) ** -0.8
    k = random.choice(PUBLIC["keys"], rows, p=keys / keys.sum())
    # The winner leads by a fiftieth of a percent of all rows: 20 of 100,000.
    shares = np.array([1.0, 1.0, 0.99, 0.97, *np.linspace(0.9, 0.3, PUBLIC["candidates"] - 4)])
    counts = np.floor(rows * shares / shares.sum()).astype(int)
    counts[0] += rows // 5000
    c = np.repeat(np.arange(PUBLIC["candidates"]), counts)[:rows]
    c = np.concatenate([c, np.full(rows - len(c), PUBLIC["candidates"] - 1)])
    sizes = np.minimum(random.geometric(0.3, rows), PUBLIC["max_rows"])
    u = np.repeat(np.arange(rows), sizes)[:rows]
    return {"x": x, "y": y, "k": k, "c": random.permutation(c), "u": random.permutation(u)}


def _squared(table: Table, answers: list[list[float]], truth: list[float]) -> Losses:
    """The squared error of every release, in the mean over its groups."""
    found: Losses = np.mean((np.array(answers) - np.array(truth)) ** 2, axis=1)
    return found


def _ranks(table: Table, answers: list[list[float]], truth: list[float]) -> Losses:
    """The same, in rows by which the rank is off; a tie is off by nothing."""
    ordered = np.sort(table["x"])
    first = np.searchsorted(ordered, np.array(answers), side="left")
    last = np.searchsorted(ordered, np.array(answers), side="right")
    wanted = np.array(truth) * len(ordered)
    off = np.maximum(np.maximum(first - wanted, wanted - last), 0)
    found: Losses = np.mean(off**2, axis=1)
    return found


def _gap(table: Table, answers: list[list[float]], truth: list[float]) -> Losses:
    """How many rows the chosen candidate is behind the best."""
    counts = np.bincount(table["c"], minlength=PUBLIC["candidates"])
    return np.array([float(counts.max() - counts[int(answer[0])]) for answer in answers])


@dataclass(frozen=True)
class Question:
    """A question: how it is shown, what dpframe is asked, the truth, and how answers are scored."""

    title: str
    sql: str
    truth: Callable[[Table], list[float]]
    score: Score = _squared
    unit: str = "rows"

    def error(self, table: Table, answers: list[list[float]]) -> tuple[float, float]:
        """The error over all releases, and its standard error as a share of it.

        It is the root of the mean of squares; for a choice, the mean.
        """
        losses = self.score(table, answers, self.truth(table))
        mean = float(losses.mean())
        spread = float(losses.std(ddof=1)) / max(mean, 1e-300) / len(losses) ** 0.5
        if self.score is _gap:
            return mean, spread if mean else 1.0
        return mean**0.5, spread / 2

    @property
    def by_user(self) -> bool:
        return self.unit == "users"


def _by_key(reduce: Callable[[Any], float]) -> Callable[[Table], list[float]]:
    return lambda t: [float(reduce(t["x"][t["k"] == key])) for key in range(PUBLIC["keys"])]


def _quantiles(alphas: list[float]) -> str:
    found = ", ".join(f"QUANTILE_CONT(x, {a}) AS q{i}" for i, a in enumerate(alphas))
    return f"SELECT {found} FROM t"


_BIN = "CAST(FLOOR(x / 20) AS BIGINT)"
_EDGES = np.linspace(*PUBLIC["x"], PUBLIC["bins"] + 1)
QUESTIONS: dict[str, Question] = {
    "count": Question("COUNT", "SELECT COUNT(*) FROM t", lambda t: [len(t["x"])]),
    "count_by": Question("COUNT by key", "SELECT COUNT(*) FROM t GROUP BY k", _by_key(len)),
    "sum": Question("SUM", "SELECT SUM(x) FROM t", lambda t: [t["x"].sum()]),
    "avg": Question("AVG", "SELECT AVG(x) FROM t", lambda t: [t["x"].mean()]),
    "avg_by": Question("AVG by key", "SELECT AVG(x) FROM t GROUP BY k", _by_key(np.mean)),
    "variance": Question("VAR_POP", "SELECT VAR_POP(x) FROM t", lambda t: [t["x"].var()]),
    "stddev": Question("STDDEV_POP", "SELECT STDDEV_POP(x) FROM t", lambda t: [t["x"].std()]),
    "median": Question("MEDIAN (rank)", _quantiles([0.5]), lambda t: [0.5], _ranks),
    "quantiles": Question(
        "3 quantiles (rank)",
        _quantiles(PUBLIC["quantiles"]),
        lambda t: PUBLIC["quantiles"],
        _ranks,
    ),
    "deciles": Question(
        "9 deciles (rank)", _quantiles(PUBLIC["deciles"]), lambda t: PUBLIC["deciles"], _ranks
    ),
    "extreme": Question(
        "quantile 0.99 (rank)",
        _quantiles([PUBLIC["extreme"]]),
        lambda t: [PUBLIC["extreme"]],
        _ranks,
    ),
    "histogram": Question(
        "histogram, 50 bins",
        "",
        lambda t: list(np.histogram(t["x"], bins=_EDGES)[0].astype(float)),
    ),
    "argmax": Question(
        "argmax, close (rows behind)",
        "SELECT c FROM t GROUP BY c ORDER BY COUNT(*) DESC LIMIT 1",
        lambda t: [0.0],
        _gap,
    ),
    "distinct": Question(
        "COUNT(DISTINCT k)", "SELECT COUNT(DISTINCT k) FROM t", lambda t: [len(np.unique(t["k"]))]
    ),
    "slope": Question(
        "slope of y on x",
        "SELECT REGR_SLOPE(y, x) FROM t",
        lambda t: [float(np.polyfit(t["x"], t["y"], 1)[0])],
    ),
    "user_count": Question(
        "COUNT, by user", "SELECT COUNT(*) FROM t", lambda t: [len(t["x"])], unit="users"
    ),
    "user_count_by": Question(
        "COUNT by key, by user", "SELECT COUNT(*) FROM t GROUP BY k", _by_key(len), unit="users"
    ),
    "user_sum": Question(
        "SUM, by user", "SELECT SUM(x) FROM t", lambda t: [t["x"].sum()], unit="users"
    ),
    "user_sum_by": Question(
        "SUM by key, by user", "SELECT SUM(x) FROM t GROUP BY k", _by_key(np.sum), unit="users"
    ),
    "user_avg": Question(
        "AVG, by user", "SELECT AVG(x) FROM t", lambda t: [t["x"].mean()], unit="users"
    ),
    "user_avg_by": Question(
        "AVG by key, by user", "SELECT AVG(x) FROM t GROUP BY k", _by_key(np.mean), unit="users"
    ),
}


def ways_of_ours(table: Table, question: str, epsilon: float) -> dict[str, Iterator[list[float]]]:
    """How dpframe is asked: with a pure epsilon, and about users with the whole budget's rho, too.

    Quantiles are asked for with error bars and without, because peers have none.
    """
    asked = QUESTIONS[question]
    columns = {
        "x": dp.Range(*PUBLIC["x"], nullable=False),
        "y": dp.Range(*PUBLIC["y"], nullable=False),
        "k": dp.Keys(range(PUBLIC["keys"])),
        "c": dp.Keys(range(PUBLIC["candidates"])),
    }
    unit = dp.Unit("u", max_rows=PUBLIC["max_rows"]) if asked.by_user else dp.Row()
    costs: dict[str, dict[str, Any]] = {"Laplace" if asked.by_user else "": {"epsilon": epsilon}}
    if asked.by_user:
        whole = Filter.for_budget(dp.Budget(epsilon=epsilon, delta=DELTA)).share(1)
        costs["Gaussian"] = {"rho": whole.rho}
    if asked.score is _ranks:
        costs["no error bars"] = {"epsilon": epsilon, "error_bars": False}

    def answers(cost: dict[str, Any]) -> Iterator[list[float]]:
        # One session with room for all releases: each of them is calibrated on its own.
        budget = dp.Budget(rho=10**6) if "rho" in cost else dp.Budget(epsilon=10**6)
        session = dp.Session(budget)
        session.register("t", pl.DataFrame(table), unit=unit, columns=columns)
        while True:
            if question == "histogram":
                released = session.histogram("t", "x", bins=PUBLIC["bins"], fresh=True, **cost)
                yield released.frame[:, -1].to_list()
            else:
                frame = session.sql(asked.sql, fresh=True, **cost).frame
                yield [float(v) for column in frame for v in column]

    return {name: answers(cost) for name, cost in costs.items()}


def environment(name: str) -> Path:
    """The interpreter of a peer's environment, made and filled if it is not there."""
    folder = ROOT / ".venv" / "peers" / name
    python = folder / "bin" / "python"
    wanted = "\n".join(PEERS[name])
    done = folder / "installed.txt"
    if not (done.exists() and done.read_text() == wanted):
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [python, "-m", "pip", "install", "--quiet", *PEERS[name]]
        subprocess.run(install, check=True, capture_output=True, text=True, timeout=900)
        done.write_text(wanted)
    return python


def version(python: Path, name: str) -> str:
    """The version of what was installed."""
    package = PEERS[name][0].split("[")[0]
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    run = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return run.stdout.strip()


Record = dict[str, Any]


def theirs(name: str, job: Path) -> Iterator[Record]:
    """What a peer's script prints, line by line; a failure is a record, too."""
    try:
        python = environment(name)
        print(f"{name} {version(python, name)}", file=sys.stderr, flush=True)
    except (subprocess.SubprocessError, OSError) as error:
        said = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        asked = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        yield {"broken": f"not installable on {asked}: {said[-1] if said else error}"}
        return
    log = job.parent / f"{name}.log"
    quiet = {**os.environ, "PYTHONWARNINGS": "ignore", "PYTHONPATH": ""}
    with log.open("w") as errors:
        process = subprocess.Popen(
            [python, SCRIPTS / f"ask_{name}.py", job],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=quiet,
        )
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith("{"):
                yield json.loads(line)
    if process.wait() != 0:
        yield {"broken": " ".join(log.read_text().split())[-200:]}


@dataclass
class Cell:
    """The best error of one tool for one question at one epsilon, or why there is none."""

    error: float = float("inf")
    spread: float = 0.0
    """The standard error of `error`, as a share of it."""
    releases: int = 0
    way: str = ""
    reason: str = "not asked"


Cells = dict[tuple[str, float, str], Cell]


def measure_ours(table: Table, options: argparse.Namespace) -> Iterator[Record]:
    """Our answers, in the form that peers print theirs in."""
    for question in options.questions:
        for epsilon in options.epsilon:
            for way, answers in ways_of_ours(table, question, epsilon).items():
                taken = enough(answers, options.releases, options.seconds)
                yield {"question": question, "epsilon": epsilon, "way": way, "answers": taken}


def kept(path: Path | None) -> Cells:
    """The figures of earlier runs, so that tools can be asked one after another."""
    if path is None or not path.exists():
        return {}
    figures = json.loads(path.read_text())
    return {(q, epsilon, tool): Cell(*cell) for q, epsilon, tool, *cell in figures}


def keep(cells: Cells, path: Path | None) -> None:
    """Write the figures down, after each tool."""
    if path is not None:
        path.write_text(json.dumps([[*key, *astuple(cell)] for key, cell in cells.items()]))


def collect(cells: Cells, tool: str, records: Iterator[Record], table: Table) -> None:
    """Score records into cells; the best way of asking counts."""
    for record in records:
        if "broken" in record:
            for (_, _, name), cell in cells.items():
                if name == tool and not cell.releases:
                    cell.reason = record["broken"]
            continue
        cell = cells[record["question"], record["epsilon"], tool]
        if "answers" not in record or not record["answers"]:
            cell.reason = record.get("missing") or record.get("failed") or "no answer"
            continue
        asked = QUESTIONS[record["question"]]
        error, spread = asked.error(table, record["answers"])
        if error < cell.error:
            cell.error, cell.spread, cell.releases = error, spread, len(record["answers"])
            cell.way = record["way"]


def show(cells: Cells, options: argparse.Namespace) -> None:
    """A line per question and epsilon: every tool's error, and ours over that of the best peer."""
    names = [t for t in TOOLS if any(tool == t for _, _, tool in cells)]
    lines = [["question", "epsilon", *names, "ours / best"]]
    behind = []
    for question, epsilon in itertools.product(options.questions, options.epsilon):
        asked = {n: cells.get((question, epsilon, n), Cell()) for n in names}
        ratio, is_worse = _compared(asked)
        title = QUESTIONS[question].title
        shown = [_shown(cell, options.releases) for cell in asked.values()]
        lines.append([title, f"{epsilon:g}", *shown, ratio])
        if is_worse:
            behind.append(f"{title} at {epsilon:g}")
    if options.markdown:
        lines.insert(1, ["---"] * len(lines[0]))
        print("\n".join("| " + " | ".join(line) + " |" for line in lines))
    else:
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            print("  ".join(f"{text:>{width}}" for text, width in zip(line, widths, strict=True)))
    print("\nempty: no answer; (n): of n releases, because it took long")
    print(f"worse than the best peer by over two standard errors: {'; '.join(behind) or 'none'}")
    _show_reasons(cells, names, options)


def _compared(asked: dict[str, Cell]) -> tuple[str, bool]:
    """Our error over that of the best peer with its standard error, and whether it is worse for sure.

    Of several peers in several ways, the luckiest sample is compared with: that favours peers.
    """
    own = asked.get("dpframe", Cell())
    best = min(
        (c for n, c in asked.items() if n != "dpframe"), default=Cell(), key=lambda c: c.error
    )
    if not np.isfinite(own.error) or not np.isfinite(best.error):
        return "", False
    if not best.error:
        return f"{own.error:.3g} / 0", False
    ratio, spread = own.error / best.error, float(np.hypot(own.spread, best.spread))
    return f"{ratio:.2f} ± {ratio * spread:.2f}", ratio * (1 - 2 * spread) > 1


def _show_reasons(cells: Cells, names: list[str], options: argparse.Namespace) -> None:
    """Why a tool has no answer, with the questions that this holds for."""
    for name in names:
        why: dict[str, list[str]] = {}
        for question in options.questions:
            missing = [cells.get((question, e, name), Cell()) for e in options.epsilon]
            for cell in missing:
                titles = why.setdefault(cell.reason, [])
                if not cell.releases and QUESTIONS[question].title not in titles:
                    titles.append(QUESTIONS[question].title)
        for reason, titles in why.items():
            if titles:
                shown = "everything" if len(titles) == len(options.questions) else "; ".join(titles)
                print(f"  {name}: {reason}: {shown}")


def _shown(cell: Cell, wanted: int) -> str:
    if not cell.releases:
        return ""
    few = "" if cell.releases >= wanted else f" ({cell.releases})"
    digits = f"{cell.error:,.0f}" if cell.error >= 1000 else f"{cell.error:.3g}"
    return f"{digits}{few}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.1, 1.0])
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=4, help="per question, way and epsilon")
    parser.add_argument("--questions", nargs="+", choices=list(QUESTIONS), default=list(QUESTIONS))
    parser.add_argument("--tools", nargs="+", choices=TOOLS, default=TOOLS)
    parser.add_argument("--keep", type=Path, help="a file of figures: shown again, and added to")
    parser.add_argument("--markdown", action="store_true", help="show a table for the README")
    options = parser.parse_args()
    table = make(options.rows)
    cells = kept(options.keep)
    for key in itertools.product(options.questions, options.epsilon, options.tools):
        cells[key] = Cell()
    with tempfile.TemporaryDirectory() as folder:
        stored, job = Path(folder) / "t.npz", Path(folder) / "job.json"
        np.savez(stored, **table)  # type: ignore[arg-type]
        given = {
            "table": str(stored),
            "public": PUBLIC,
            "delta": DELTA,
            "questions": options.questions,
            "epsilons": options.epsilon,
            "releases": options.releases,
            "seconds": options.seconds,
        }
        job.write_text(json.dumps(given))
        if "dpframe" in options.tools:
            collect(cells, "dpframe", measure_ours(table, options), table)
            keep(cells, options.keep)
        for name in PEERS:
            if name in options.tools:
                collect(cells, name, theirs(name, job), table)
                keep(cells, options.keep)
    show(cells, options)


if __name__ == "__main__":
    main()

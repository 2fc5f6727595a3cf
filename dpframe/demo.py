"""`dpframe demo`: twelve questions about a made-up hospital, each answer beside the truth.

Only a demo can show the truth: it makes the rows itself, so there is nobody to protect. The noise
is the session's own, from the operating system, as it is for any other table.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import textwrap
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, TextIO

import numpy as np
import polars as pl

from dpframe import (
    Budget,
    BudgetError,
    Keys,
    PrivacyWarning,
    Range,
    Release,
    Session,
    Unit,
)
from dpframe.release.display import number

CONFIDENCE = 0.95

# --- the hospital -------------------------------------------------------------------------------

WARDS = ("er", "gp", "icu", "maternity", "surgery")
INSURERS = ("none", "private", "public")

MAX_COST = 20_000
UNIT = Unit("patient_id", max_rows=4)
COLUMNS: Mapping[str, Range | Keys] = {
    "age": Range(0, 110, nullable=False),
    "smoker": Keys([True, False]),
    "insurer": Keys(INSURERS),
    "ward": Keys(WARDS),
    "admitted": Range(date(2024, 1, 1), date(2024, 12, 31), nullable=False),
    "nights": Range(0, 30, nullable=False),
    "cost": Range(0, MAX_COST),
}


def hospital(rows: int) -> pl.DataFrame:
    """Make up one row per visit: skewed costs, some of them unknown, and patients who come back.

    >>> hospital(3).columns
    ['patient_id', 'age', 'smoker', 'insurer', 'ward', 'admitted', 'nights', 'cost']
    """
    random = np.random.default_rng(2024)  # for the rows; noise has another source
    patient = _patients(rows, random)
    patients = int(patient.max()) + 1
    age = _ages(patients, random)[patient]
    smoker = random.choice([1, 0, -1], patients, p=[0.19, 0.73, 0.08])[patient]
    insurer = random.choice(3, patients, p=[0.09, 0.27, 0.64])[patient]
    ward = _wards(age, random)
    mean_nights = np.array([0.4, 0.1, 6.0, 2.6, 3.4])[ward]
    nights = np.minimum(random.geometric(1 / (1 + mean_nights)) - 1, 60)
    base = np.array([6.0, 4.8, 8.3, 7.6, 8.0])[ward]
    cost = np.round(random.lognormal(base, 0.6) + 310.0 * nights, 2)
    return pl.DataFrame(
        {
            "patient_id": 1_000_000 + patient * 7,
            "age": age,
            "smoker": pl.Series(smoker).replace_strict({1: True, 0: False, -1: None}),
            "insurer": np.array(INSURERS)[insurer],
            "ward": np.array(WARDS)[ward],
            "admitted": np.datetime64("2024-01-01") + _days(rows, random),
            "nights": nights,
            "cost": pl.Series(cost).set(pl.Series(random.random(rows) < 0.03), None),
        }
    ).sample(fraction=1.0, shuffle=True, seed=2024)


def _patients(rows: int, random: np.random.Generator) -> np.ndarray:
    """Who made each visit: most come once or twice a year, a few come all the time."""
    visits = random.choice([1, 2, 3, 4], rows, p=[0.6, 0.25, 0.1, 0.05])
    visits[:: max(1, rows // 8)] = 9
    return np.repeat(np.arange(rows), visits)[:rows]


def _ages(patients: int, random: np.random.Generator) -> np.ndarray:
    kind = random.choice(3, patients, p=[0.14, 0.46, 0.4])
    mean, spread = np.array([4.0, 38.0, 70.0])[kind], np.array([5.0, 14.0, 11.0])[kind]
    return np.clip(np.abs(random.normal(mean, spread)), 0, 104).astype(np.int64)


def _wards(age: np.ndarray, random: np.random.Generator) -> np.ndarray:
    weight = np.tile([0.36, 0.38, 0.04, 0.0, 0.14], (len(age), 1))
    weight[:, 2] += 0.05 * (age >= 65)
    weight[:, 3] += 0.12 * ((age >= 18) & (age < 45)) + 0.1 * (age == 0)
    chance = np.cumsum(weight, axis=1) / weight.sum(axis=1, keepdims=True)
    drawn = np.sum(random.random((len(age), 1)) > chance, axis=1)
    ward: np.ndarray = np.minimum(drawn, len(WARDS) - 1)
    return ward


def _days(rows: int, random: np.random.Generator) -> np.ndarray:
    """Days of 2024, which began on a Monday: more in winter, fewer at weekends."""
    day = np.arange(366)
    weight = (1 + 0.25 * np.cos(2 * np.pi * day / 366)) * np.where(day % 7 >= 5, 0.7, 1.0)
    return random.choice(day, rows, p=weight / weight.sum())


# --- the questions ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, in words and in SQL, and the percentage of the budget that it may cost."""

    words: str
    sql: str
    percent: int
    then: str = ""
    """ORDER BY, HAVING and LIMIT: they work on the noisy table, and are free."""


QUESTIONS = (
    Question("How many visits were there?", "SELECT COUNT(*) AS visits FROM visits", 5),
    Question(
        "How many patients?",
        "SELECT COUNT(DISTINCT patient_id) AS patients FROM visits",
        5,
    ),
    Question("What does a visit cost?", "SELECT AVG(cost) AS cost FROM visits", 5),
    Question(
        "How many percent of the visits are by smokers?",
        "SELECT 100.0 * COUNT(*) FILTER (WHERE smoker) / COUNT(*) AS percent\nFROM visits",
        8,
    ),
    Question(
        "How many visits does each ward have?",
        "SELECT ward, COUNT(*) AS visits FROM visits GROUP BY ward",
        8,
    ),
    Question(
        "Who are the patients? (The groups follow from the declared ages.)",
        "SELECT CASE WHEN age < 18 THEN 'under 18' WHEN age < 65 THEN '18 to 64'\n"
        "            ELSE '65 and over' END AS patients, COUNT(*) AS visits\n"
        "FROM visits GROUP BY 1",
        8,
    ),
    Question(
        "When do they come?",
        "SELECT EXTRACT(quarter FROM admitted) AS quarter, COUNT(*) AS visits\n"
        "FROM visits GROUP BY quarter",
        8,
    ),
    Question(
        "Do costs rise with age? (These groups follow from the WHERE clause, too.)",
        "SELECT age // 20 * 20 AS age_from, AVG(cost) AS cost\n"
        "FROM visits WHERE age < 80 GROUP BY age_from",
        8,
    ),
    Question(
        "What do patients of 65 and over cost in all?",
        "SELECT SUM(cost) AS total FROM visits WHERE age >= 65",
        8,
    ),
    Question(
        "What does one night in intensive care cost?",
        "SELECT SUM(cost) / SUM(nights) AS cost_a_night\nFROM visits WHERE ward = 'icu'",
        12,
    ),
    Question(
        "Which wards keep patients for long? (HAVING and ORDER BY are free.)",
        "SELECT ward, AVG(nights) AS nights, AVG(cost) AS cost\nFROM visits GROUP BY ward",
        15,
        "HAVING AVG(nights) > 2 ORDER BY nights DESC",
    ),
    Question(
        "Do the insured stay longer?",
        "SELECT insurer, AVG(nights) AS nights FROM visits GROUP BY insurer",
        10,
    ),
)

ONE_TOO_MANY = Question("One more, on an empty budget?", "SELECT AVG(age) AS age FROM visits", 5)


# --- the screen ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cell:
    """One noisy number beside the truth."""

    name: str
    true: float
    noisy: float
    low: float
    high: float

    @property
    def is_covered(self) -> bool:
        """Whether the interval holds the truth."""
        return self.low <= self.true <= self.high


_SYMBOLS = "█░├─┤●◇±✓✗"
_WIDTH = 80
_LEGEND = (
    "● is the noisy answer, and ◇ the true one, by a plain query without noise.",
    "Only a demo can show that: it made up the rows itself. A session never does.",
    "✓ says that the error bar holds the truth, ✗ that it does not.",
)


class Screen:
    """Lines of at most 80 columns, in colour where that is welcome."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        is_dumb = os.environ.get("TERM") == "dumb" or os.environ.get("NO_COLOR")
        self._has_colour = out.isatty() and not is_dumb
        try:
            _SYMBOLS.encode(out.encoding or "ascii")
            self._plain = {}
        except (UnicodeEncodeError, LookupError):
            self._plain = str.maketrans(_SYMBOLS, "#.[-]oX~vx")

    def line(self, text: str = "") -> None:
        """Write one line, at once: whoever reads along should not have to wait."""
        print(text.translate(self._plain), file=self._out, flush=True)

    def paint(self, text: str, code: int) -> str:
        """Colour a text: 1 is bold, 2 is dim, 31 red, 32 green, 36 cyan."""
        return f"\x1b[{code}m{text}\x1b[0m" if self._has_colour else text

    def question(self, index: int | str, question: Question) -> None:
        """Show what is asked."""
        self.line()
        self.line(self.paint(f"{index:>2}. {question.words}", 1))
        for line in f"{question.sql}\n{question.then}".strip().split("\n"):
            self.line(self.paint(f"    {line}", 36))

    def cells(self, cells: list[Cell]) -> None:
        """Show true and noisy values side by side, and where in the error bar the truth lies."""
        title = f"{'':17}{'true':>13}{'noisy':>13}  {f'± {CONFIDENCE:.0%}':<12} error bar"
        self.line(self.paint(f"    {title}", 2))
        for cell in cells:
            error = (cell.high - cell.low) / 2
            width = number(error, error) if math.isfinite(error) else "unknown"
            verdict = self.paint("✓", 32) if cell.is_covered else self.paint("✗", 31)
            self.line(
                f"    {cell.name[:17]:<17}{number(cell.true, error):>13}"
                f"{number(cell.noisy, error):>13}  {'± ' + width:<12}{_bar(cell)} {verdict}"
            )

    def refusal(self, error: BudgetError) -> None:
        """Show why an answer is refused."""
        for part in str(error).splitlines():
            for line in textwrap.wrap(part, _WIDTH - 4, subsequent_indent=" " * 7):
                self.line(self.paint(f"    {line}", 31))

    def budget(self, left: float, remaining: str) -> None:
        """Show what is left of the budget."""
        filled = math.ceil(left * 30 - 1e-9)
        bar = "█" * filled + "░" * (30 - filled)
        self.line(f"    {self.paint('budget', 2)} {bar} {left:4.0%} left: {remaining}")


def _bar(cell: Cell) -> str:
    """Draw the interval with its noisy value ● and the truth ◇, which may lie outside."""
    if not (math.isfinite(cell.low) and math.isfinite(cell.high) and cell.low < cell.high):
        return " " * 15
    bar = list(" ├───────────┤ ")
    bar[_place(cell.noisy, cell)] = "●"
    bar[_place(cell.true, cell)] = "◇"
    return "".join(bar)


def _place(value: float, cell: Cell) -> int:
    part = (value - cell.low) / (cell.high - cell.low)
    return 0 if part < 0 else 14 if part > 1 else 1 + round(12 * part)


# --- the show -----------------------------------------------------------------------------------


def run(
    *,
    rows: int = 200_000,
    budget: Budget,
    engine: Literal["duckdb", "polars"] = "duckdb",
    ledger: str | os.PathLike[str] | None = None,
    out: TextIO | None = None,
) -> int:
    """Make the hospital, ask the questions, and show the answers."""
    screen = Screen(sys.stdout if out is None else out)
    with tempfile.TemporaryDirectory(prefix="dpframe-demo-") as folder:
        place = Path(folder, "visits.parquet")
        frame = hospital(rows)
        frame.write_parquet(place)
        kept = Path(folder, "demo.ledger") if ledger is None else ledger
        # That the budget is nearly gone is what the show is about.
        with Session(budget, kept) as session, warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivacyWarning)
            session.register("visits", place, unit=UNIT, columns=COLUMNS, engine=engine)
            _show(screen, session, frame, place)
    return 0


def _show(screen: Screen, session: Session, frame: pl.DataFrame, place: Path) -> None:
    screen.line(screen.paint("dpframe demo: private answers about a made-up hospital", 1))
    screen.line()
    for line in (*session.describe().splitlines(), "", *_LEGEND):
        screen.line(line)
    cells: list[Cell] = []
    seconds = 0.0
    for index, question in enumerate((*QUESTIONS, ONE_TOO_MANY), 1):
        screen.question(index, question)
        started = time.perf_counter()
        try:
            release = session.sql(f"{question.sql} {question.then}", share=question.percent / 100)
        except BudgetError as error:
            screen.refusal(error)
            continue
        seconds += time.perf_counter() - started
        found = list(_beside_truth(release, _truth(question, place)))
        cells += found
        screen.cells(found)
        screen.budget(*_left(session))
    _conclude(screen, session, frame, cells, seconds)


def _left(session: Session) -> tuple[float, str]:
    """What is left of the budget, in the currency that it counts: epsilon, or rho with a delta."""
    room, whole = session.remaining, session.ledger.filter.share(1)
    if session.budget.delta is None:
        return float(room.epsilon / whole.epsilon), f"epsilon {float(room.epsilon):.4g}"
    return float(room.rho / whole.rho), f"rho {float(room.rho):.3g}"


def _truth(question: Question, place: Path) -> list[dict[str, Any]]:
    """Ask the plain engine, which has no session and no noise."""
    import duckdb

    with duckdb.connect() as connection:
        connection.read_parquet(str(place)).create_view("visits")
        found = connection.execute(question.sql)
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _beside_truth(release: Release, truth: list[dict[str, Any]]) -> Iterator[Cell]:
    bounds = release.intervals(CONFIDENCE)
    noisy = [name for name in release.frame.columns if f"{name}_low" in bounds.columns]
    keys = [name for name in release.frame.columns if name not in noisy]
    plain = {tuple(row[key] for key in keys): row for row in truth}
    for row in bounds.iter_rows(named=True):
        group = tuple(row[key] for key in keys)
        for name in noisy:
            true = plain.get(group, {}).get(name)  # a group without rows is absent from plain SQL
            label = [
                k if isinstance(k, str) else f"{n} {k}" for n, k in zip(keys, group, strict=True)
            ]
            if len(noisy) > 1 or not group:
                label.append(name)
            yield Cell(
                " ".join(label),
                0.0 if true is None else float(true),
                math.nan if row[name] is None else float(row[name]),
                row[f"{name}_low"],
                row[f"{name}_high"],
            )


def _conclude(
    screen: Screen, session: Session, frame: pl.DataFrame, cells: list[Cell], seconds: float
) -> None:
    clamped = frame.filter(pl.col("cost") > MAX_COST).height
    heavy = frame.group_by("patient_id").len().filter(pl.col("len") > UNIT.max_rows).height
    screen.line()
    if cells:
        covered = sum(cell.is_covered for cell in cells)
        screen.line(f"{covered} of {len(cells)} error bars hold the truth; 95% should.")
        screen.line(f"All answers together took {seconds:.1f} seconds on {frame.height:,} rows.")
    screen.line("Error bars cover the noise. They do not cover what the declarations change:")
    screen.line(f"  a cost above {MAX_COST:,} is read as {MAX_COST:,} ({clamped:,} of them);")
    most = UNIT.max_rows
    screen.line(
        f"  a patient with more than {most} visits weighs as much as {most} ({heavy:,} of them)."
    )
    screen.line(f"The ledger holds {session.spent.releases} charges: {session.ledger}.")

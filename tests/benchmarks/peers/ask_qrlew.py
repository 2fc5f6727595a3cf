"""Qrlew: rewrites SQL, which DuckDB then runs (it reads the PostgreSQL dialect).

Qrlew adds Gaussian noise, so it needs a delta. The epsilon that it is given is changed until the
event that it reports, Gaussians that compose, costs what the question may cost. The number of
rows, to which it clamps counts, is replaced by a public bound.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import sqlalchemy
from job import Job, NotOfferedError, Ways, forever
from pyqrlew import Dialect
from pyqrlew.wrappers import Dataset

job = Job(sys.argv[1])
table, public = job.table, job.public
low, high = public["x"]
width = (high - low) / public["bins"]
FRAME = pd.DataFrame(
    {
        "row": np.arange(len(table["x"])),
        "x": table["x"],
        "u": table["u"],
        "k": [f"k{v}" for v in table["k"]],
        "c": [f"c{v}" for v in table["c"]],
        "b": [f"b{int(v)}" for v in np.clip((table["x"] - low) // width, 0, public["bins"] - 1)],
    }
)
SIZES = {"k": public["keys"], "b": public["bins"], "c": public["candidates"]}
connection = duckdb.connect()
connection.register("t", FRAME)


def dataset() -> Dataset:
    """The schema, with ranges and keys that are declared, not read from the rows."""
    engine = sqlalchemy.create_engine("sqlite://")
    FRAME.head(1).to_sql("t", engine, index=False)  # for its column types
    found = Dataset.from_database("d", engine)
    size = re.sub(r'"size": "\d+"', f'"size": "{public["most_rows"]}"', found.size or "")
    described = str(found).splitlines()[0].removeprefix("Dataset: ")
    found = Dataset.from_str(described, found.schema, size)
    found = found.with_range(None, "t", "x", float(low), float(high))
    for name, count in SIZES.items():
        keys = [f"{name}{i}" for i in range(count)]
        found = found.with_possible_values(None, "t", name, keys)
    return found.with_constraint(None, "t", "row", Dataset.CONSTRAINT_UNIQUE)


QUERIES = {
    "count": "SELECT COUNT(*) AS a FROM t",
    "count_by": "SELECT k, COUNT(*) AS a FROM t GROUP BY k",
    "sum": "SELECT SUM(x) AS a FROM t",
    "avg": "SELECT AVG(x) AS a FROM t",
    "avg_by": "SELECT k, AVG(x) AS a FROM t GROUP BY k",
    "variance": "SELECT VARIANCE(x) AS a FROM t",
    "stddev": "SELECT STDDEV(x) AS a FROM t",
    "histogram": "SELECT b, COUNT(*) AS a FROM t GROUP BY b",
    "argmax": "SELECT c, COUNT(*) AS a FROM t GROUP BY c",
    "distinct": "SELECT COUNT(DISTINCT k) AS a FROM t",
}
QUERIES |= {
    f"user_{name}": QUERIES.get(name, "SELECT k, SUM(x) AS a FROM t GROUP BY k")
    for name in ("count", "count_by", "sum", "sum_by", "avg", "avg_by")
}


def gaussian_delta(sigma: float, epsilon: float) -> float:
    """The delta of a Gaussian of sensitivity 1 (Balle and Wang 2018)."""

    def normal(z: float) -> float:
        return 0.5 * math.erfc(-z / math.sqrt(2))

    left = normal(1 / (2 * sigma) - epsilon * sigma)
    return left - math.exp(epsilon) * normal(-1 / (2 * sigma) - epsilon * sigma)


def rewritten(query: str, epsilon: float, unit: str, most: int) -> str:
    """SQL with noise that costs epsilon and delta in total."""
    data = dataset()
    relation = data.relation(query)
    least, enough = 1e-3 * epsilon, 1e3 * epsilon
    best = None
    for _ in range(40):
        given = math.sqrt(least * enough)
        found = relation.rewrite_with_differential_privacy(
            data,
            [("t", [], unit)],
            {"epsilon": given, "delta": job.delta},
            max_multiplicity=float(most),
            max_privacy_unit_groups=most,
        )
        event = str(found.dp_event())
        multipliers = [float(m) for m in re.findall(r"noise_multiplier: ([\d.e+-]+)", event)]
        if not multipliers or "Gaussian" not in event:
            raise RuntimeError(f"no Gaussian event: {event}")
        sigma = 1 / math.sqrt(sum(m**-2 for m in multipliers))
        if gaussian_delta(sigma, epsilon) <= job.delta:
            best, least = found.relation().to_query(Dialect.PostgreSql), given
        else:
            enough = given
        if enough / least < 1.001:
            break
    if best is None:
        raise RuntimeError("no epsilon gives the wanted cost")
    return best


def ways_of(question: str, epsilon: float) -> Ways:
    """How Qrlew is asked."""
    if question not in QUERIES:
        raise NotOfferedError
    user = question.startswith("user")
    sql = rewritten(
        QUERIES[question], epsilon, "u" if user else "row", public["max_rows"] if user else 1
    )
    return {"Gaussian": forever(answer_of(question, sql))}


def answer_of(question: str, sql: str) -> Callable[[], list[float]]:
    """One answer, in the order of keys; a group that is not there is 0."""

    def ask() -> list[float]:
        rows: list[Any] = connection.sql(sql).fetchall()
        if len(rows[0]) == 1:
            return [float(rows[0][0])]
        values = [0.0] * SIZES[rows[0][0][0]]
        for key, value in rows:
            values[int(key[1:])] = float(value)
        return [float(np.argmax(values))] if question == "argmax" else values

    return ask


job.run(ways_of)

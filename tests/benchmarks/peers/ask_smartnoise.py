"""SmartNoise SQL on a pandas frame.

Its epsilon is that of each noisy column, so it is lowered until `get_privacy_cost` says what the
question may cost. Exact aggregates are computed by its own subquery and handed back as
`pre_aggregated`, which it documents: the same noise without another pass over the rows. Where rows
are sampled, several passes are made.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from job import Answers, Job, NotOfferedError, Ways
from snsql import Privacy, from_df

warnings.simplefilter("ignore")
job = Job(sys.argv[1])
table, public = job.table, job.public
PASSES = 2
low, high = public["x"]
width = (high - low) / public["bins"]
FRAME = pd.DataFrame(
    {
        "x": table["x"],
        "k": table["k"],
        "c": table["c"],
        "u": table["u"],
        "b": np.clip((table["x"] - low) // width, 0, public["bins"] - 1).astype(int),
    }
)


def metadata(by_user: bool) -> dict[str, Any]:
    """What SmartNoise is told about the table."""
    columns: dict[str, Any] = {
        "x": {"type": "float", "lower": low, "upper": high, "nullable": False},
        **{name: {"type": "int", "nullable": False} for name in ("k", "c", "b")},
    }
    settings: dict[str, Any] = {"censor_dims": False, "clamp_counts": False}
    if by_user:
        columns["u"] = {"type": "int", "private_id": True}
        settings |= {"max_ids": public["max_rows"], "sample_max_ids": True}
    else:
        settings["row_privacy"] = True
    return {"": {"main": {"t": {**settings, **columns}}}}


QUERIES = {
    "count": "SELECT COUNT(*) AS a FROM main.t",
    "count_by": "SELECT k, COUNT(*) AS a FROM main.t GROUP BY k",
    "sum": "SELECT SUM(x) AS a FROM main.t",
    "avg": "SELECT AVG(x) AS a FROM main.t",
    "avg_by": "SELECT k, AVG(x) AS a FROM main.t GROUP BY k",
    "variance": "SELECT VAR(x) AS a FROM main.t",
    "stddev": "SELECT STDDEV(x) AS a FROM main.t",
    "histogram": "SELECT b, COUNT(*) AS a FROM main.t GROUP BY b",
    "argmax": "SELECT c, COUNT(*) AS a FROM main.t GROUP BY c",
    "distinct": "SELECT COUNT(DISTINCT k) AS a FROM main.t",
    "user_count": "SELECT COUNT(*) AS a FROM main.t",
    "user_count_by": "SELECT k, COUNT(*) AS a FROM main.t GROUP BY k",
    "user_sum": "SELECT SUM(x) AS a FROM main.t",
    "user_sum_by": "SELECT k, SUM(x) AS a FROM main.t GROUP BY k",
    "user_avg": "SELECT AVG(x) AS a FROM main.t",
    "user_avg_by": "SELECT k, AVG(x) AS a FROM main.t GROUP BY k",
}


def reader_for(query: str, epsilon: float, by_user: bool) -> Any:
    """A reader whose answer to the query costs epsilon in total."""
    each = epsilon
    for _ in range(20):
        privacy = Privacy(epsilon=each, delta=job.delta)
        reader = from_df(FRAME, privacy=privacy, metadata=metadata(by_user))
        cost, _ = reader.get_privacy_cost(query)
        if cost <= epsilon * (1 + 1e-9):
            return reader
        each *= epsilon / cost
    raise RuntimeError("no epsilon per column gives the wanted cost")


SIZES = {"k": public["keys"], "b": public["bins"], "c": public["candidates"]}


def as_answer(question: str, rows: list[Any]) -> list[float]:
    """The answer in the order of keys; a group that is not there is 0."""
    head, body = rows[0], rows[1:]
    if len(head) == 1:
        return [float(body[0][0])]
    values = [0.0] * SIZES[head[0]]
    for key, value in body:
        values[int(key)] = float(value)
    return [float(np.argmax(values))] if question == "argmax" else values


def ways_of(question: str, epsilon: float) -> Ways:
    """How SmartNoise SQL is asked."""
    if question not in QUERIES:
        raise NotOfferedError
    query, by_user = QUERIES[question], question.startswith("user")
    reader = reader_for(query, epsilon, by_user)

    def answers() -> Iterator[list[float]]:
        passes = PASSES if by_user else 1
        for done in itertools.count():
            if done % -(-job.releases // passes) == 0:
                parsed = reader.parse_query_string(query)
                subquery, _ = reader._rewrite_ast(parsed)
                exact = list(reader._get_reader(subquery)._execute_ast(subquery))
            yield as_answer(question, reader.execute(query, pre_aggregated=exact))

    def asked() -> Answers:
        return answers()

    return {"": asked}


job.run(ways_of)

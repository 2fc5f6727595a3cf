"""PipelineDP on its local backend, with public partitions.

A pass over 100,000 rows takes seconds in pure Python, and noise comes last. So a backend of our own
keeps what the last stage gets and runs that stage many times: the same code and the same noise.
Where contributions are sampled, `PASSES` passes are made.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pipeline_dp as p
from job import Answers, Job, NotOfferedError, Ways

job = Job(sys.argv[1])
table, public = job.table, job.public
KEYS = public["keys"]
METRICS = p.Metrics
PASSES = 1


class Repeating(p.LocalBackend):
    """Computes the metrics of each partition many times."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times

    def map_values(self, col: Any, fn: Callable[[Any], Any], stage_name: str | None = None) -> Any:
        if stage_name != "Compute DP metrics":
            return super().map_values(col, fn, stage_name)
        return super().map_values(col, lambda v: [fn(v) for _ in range(self.times)], stage_name)


def released(
    epsilon: float,
    metrics: list[Any],
    partitions: Any,
    size: int,
    *,
    noise: Any = None,
    delta: float = 0.0,
    l0: int = 1,
    linf: int = 1,
    units: Any = None,
) -> Callable[[], Answers]:
    """Answers, one list of (partition, metrics) each."""
    rows = list(
        zip(
            (range(len(table["x"])) if units is None else units.tolist()),
            partitions.tolist(),
            table["x"].tolist(),
            strict=True,
        )
    )

    def answers() -> Iterator[Any]:
        passes = 1 if units is None else PASSES
        for _ in range(passes):
            accountant = p.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
            engine = p.DPEngine(accountant, Repeating(-(-job.releases // passes)))
            valued = any(m not in (METRICS.COUNT,) for m in metrics)
            params = p.AggregateParams(
                metrics=metrics,
                noise_kind=noise or p.NoiseKind.LAPLACE,
                max_partitions_contributed=l0,
                max_contributions_per_partition=linf,
                min_value=public["x"][0] if valued else None,
                max_value=public["x"][1] if valued else None,
                contribution_bounds_already_enforced=units is None,
            )
            extractors = p.DataExtractors(
                privacy_id_extractor=None if units is None else (lambda row: row[0]),
                partition_extractor=lambda row: row[1],
                value_extractor=lambda row: row[2],
            )
            result = engine.aggregate(rows, params, extractors, public_partitions=list(range(size)))
            accountant.compute_budgets()
            by_key = dict(result)
            yield from zip(*(by_key[key] for key in range(size)), strict=True)

    return answers


def finished(found: Callable[[], Answers], finish: Callable[[Any], list[float]]) -> Any:
    """Turn the metrics of all partitions into an answer."""
    return lambda: map(finish, found())


def each(name: str) -> Callable[[Any], list[float]]:
    """One metric of every partition."""
    return lambda groups: [getattr(group, name) for group in groups]


def percentiles(quantiles: list[float]) -> list[Any]:
    """The metrics of several quantiles."""
    return [METRICS.PERCENTILE(100 * q) for q in quantiles]


def ways_of(question: str, epsilon: float) -> Ways:
    """How PipelineDP is asked."""
    nothing = np.zeros(len(table["x"]), dtype=int)
    if question.startswith("user"):
        return user_ways(question, epsilon, nothing)
    low, high = public["x"]
    edges = np.linspace(low, high, public["bins"] + 1)
    bins = np.clip(np.searchsorted(edges, table["x"], side="right") - 1, 0, public["bins"] - 1)
    quantiles = {
        "median": [0.5],
        "quantiles": public["quantiles"],
        "deciles": public["deciles"],
        "extreme": [public["extreme"]],
    }

    def argmax(groups: Any) -> list[float]:
        return [int(np.argmax([group.count for group in groups]))]

    if question in quantiles:
        found = released(epsilon, percentiles(quantiles[question]), nothing, 1)
        return {"": finished(found, lambda groups: [float(v) for v in groups[0]])}
    asked = {
        "count": (METRICS.COUNT, nothing, 1, each("count")),
        "count_by": (METRICS.COUNT, table["k"], KEYS, each("count")),
        "sum": (METRICS.SUM, nothing, 1, each("sum")),
        "avg": (METRICS.MEAN, nothing, 1, each("mean")),
        "avg_by": (METRICS.MEAN, table["k"], KEYS, each("mean")),
        "variance": (METRICS.VARIANCE, nothing, 1, each("variance")),
        "stddev": (
            METRICS.VARIANCE,
            nothing,
            1,
            lambda groups: [max(groups[0].variance, 0) ** 0.5],
        ),
        "histogram": (METRICS.COUNT, bins, public["bins"], each("count")),
        "argmax": (METRICS.COUNT, table["c"], public["candidates"], argmax),
    }
    if question not in asked:
        raise NotOfferedError
    metric, partitions, size, finish = asked[question]
    return {"": finished(released(epsilon, [metric], partitions, size), finish)}


def user_ways(question: str, epsilon: float, nothing: Any) -> Ways:
    """Questions about units: the total bound as so many partitions times so many rows in each."""
    kind, grouped = question.removeprefix("user_").removesuffix("_by"), question.endswith("_by")
    metric = {"count": METRICS.COUNT, "sum": METRICS.SUM, "avg": METRICS.MEAN}[kind]
    name = {"avg": "mean"}.get(kind, kind)
    most = public["max_rows"]
    bounds = [(most, 1), (most // 2, 2)] if grouped else [(1, most)]
    ways = {}
    for l0, linf in bounds:
        for noise, delta in ((p.NoiseKind.LAPLACE, 0.0), (p.NoiseKind.GAUSSIAN, job.delta)):
            found = released(
                epsilon,
                [metric],
                table["k"] if grouped else nothing,
                KEYS if grouped else 1,
                noise=noise,
                delta=delta,
                l0=l0,
                linf=linf,
                units=table["u"],
            )
            ways[f"{noise.value}, {l0} x {linf}"] = finished(found, each(name))
    return ways


job.run(ways_of)

"""OpenDP: its Polars API where it has the question, its measurements otherwise.

Planning takes seconds and a pass over the rows a tenth of one, so each plan asks the same thing
several times for as many times epsilon: the same noise, scale for scale. Each time is about a
column of its own with the same values, because Polars would compute equal expressions once.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from job import Answers, Job, NotOfferedError, Ways, forever

dp.enable_features("contrib", "honest-but-curious")
warnings.simplefilter("ignore")
job = Job(sys.argv[1])
table, public = job.table, job.public
COPIES = 10
MOST_ROWS = public["most_rows"]
BOUNDS = tuple(map(float, public["x"]))
BINS = public["bins"]
low, high = BOUNDS
FRAME = pl.DataFrame(
    {**table, "b": np.clip((table["x"] - low) * BINS // (high - low), 0, BINS - 1)}
)
FRAME = FRAME.with_columns(
    pl.col("b").cast(pl.Int64),
    *(pl.col("x").alias(f"x{i}") for i in range(COPIES)),
    *(pl.col("k").alias(f"k{i}") for i in range(COPIES)),
)
KEYS = pl.LazyFrame({"k": range(public["keys"])}, schema={"k": FRAME.schema["k"]})
SIZES = {"k": public["keys"], "b": BINS, "c": public["candidates"]}


def context(
    epsilon: float | None, rho: float | None = None, user: bool = False, copies: int = COPIES
) -> Any:
    """A context with one query that may cost `copies` times epsilon, or rho."""
    loss = (
        dp.loss_of(epsilon=epsilon * copies)
        if rho is None
        else dp.loss_of(rho=rho * copies, delta=job.delta)
    )
    unit = (
        dp.unit_of(contributions=1, identifier=pl.col("u")) if user else dp.unit_of(contributions=1)
    )
    margins = [dp.polars.Margin(max_length=MOST_ROWS, max_groups=1)]
    margins += [
        dp.polars.Margin(by=[key], max_length=MOST_ROWS, max_groups=size, invariant="keys")
        for key, size in SIZES.items()
    ]
    return dp.Context.compositor(
        data=FRAME.lazy(),
        privacy_unit=unit,
        privacy_loss=loss,
        split_evenly_over=1,
        margins=margins,
    )


def asked(query: Any, key: str | None, finish: Callable[[list[float]], list[float]]) -> Any:
    """Answers to a query that holds the same question several times."""

    def answers() -> Iterator[list[float]]:
        measurement = query.resolve()
        while True:
            found = measurement(FRAME.lazy()).collect()
            found = found if key is None else found.sort(key).drop(key)
            names = dict.fromkeys(name.split("/")[0] for name in found.columns)
            for name in names:
                copy = [c for c in found.columns if c.split("/")[0] == name]
                yield finish([v for c in copy for v in found[c].to_list()])

    return answers


def copied(expr: Callable[[int], Any]) -> list[Any]:
    """The same question several times, named by copy."""
    return [expr(i).alias(f"{i}/0") for i in range(COPIES)]


def value(copy: int) -> Any:
    """A column of numbers without NaN and NULL."""
    return pl.col(f"x{copy}").fill_nan(0.0).fill_null(0.0)


def length(copy: int) -> Any:
    """The noisy number of rows."""
    return pl.col(f"x{copy}").dp.len(signed=True)


def total(copy: int) -> Any:
    """The noisy sum."""
    return value(copy).dp.sum(BOUNDS)


def mean(copy: int) -> Any:
    """The noisy mean."""
    return value(copy).dp.mean(BOUNDS)


def different(copy: int) -> Any:
    """The noisy number of different keys."""
    return pl.col(f"k{copy}").dp.n_unique(signed=True)


def same(values: list[float]) -> list[float]:
    """The answer as it is."""
    return values


def ways_of(question: str, epsilon: float) -> Ways:
    """How OpenDP is asked."""
    if question.startswith("user"):
        return user_ways(question, epsilon)
    if question in MEASUREMENTS:
        return MEASUREMENTS[question](epsilon)
    query = context(epsilon).query()
    plain = {
        "count": lambda: query.select(copied(length)),
        "count_by": lambda: query.group_by("k").agg(copied(length)),
        "sum": lambda: query.select(copied(total)),
        "avg": lambda: query.select(copied(mean)),
        "avg_by": lambda: query.group_by("k").agg(copied(mean)),
        "histogram": lambda: query.group_by("b").agg(copied(length)),
        "distinct": lambda: query.select(copied(different)),
    }
    keys = {"count_by": "k", "avg_by": "k", "histogram": "b"}
    if question in plain:
        return {"Polars": asked(plain[question](), keys.get(question), same)}
    raise NotOfferedError


def user_ways(question: str, epsilon: float) -> Ways:
    """Units of several rows: each is cut to its first rows, then counted on."""
    kind, grouped = question.removeprefix("user_").removesuffix("_by"), question.endswith("_by")
    expr = {"count": length, "sum": total, "avg": mean}[kind]
    # Bun and Steinke: rho of zCDP is (rho + 2 sqrt(rho ln(1 / delta)), delta); solved for rho.
    log = math.log(1 / job.delta)
    rho = (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
    ways = {}
    for name, given in (("Laplace", {}), ("Gaussian", {"rho": rho})):
        query = context(epsilon, user=True, **given).query().truncate_per_group(public["max_rows"])
        if grouped:
            shown = query.group_by("k").agg(copied(expr)).with_keys(KEYS)
        else:
            shown = query.select(copied(expr))
        ways[name] = asked(shown, "k" if grouped else None, same)
    return ways


CANDIDATES = np.linspace(low, high, 10_001).tolist()


def quantiles(alphas: list[float]) -> Callable[[float], Ways]:
    """Each quantile by private selection, or all of them from a tree of counts."""

    def ways(epsilon: float) -> Ways:
        found: Ways = {}
        exprs = [value(i).dp.quantile(a, CANDIDATES) for i, a in enumerate(alphas)]
        shown = [e.alias(f"0/{i}") for i, e in enumerate(exprs)]
        found["selection"] = asked(context(epsilon, copies=1).query().select(shown), None, same)
        if len(alphas) > 1:
            found["tree"] = tree(alphas, epsilon)
        return found

    return ways


def tree(alphas: list[float], epsilon: float) -> Callable[[], Answers]:
    """A noisy tree of counts, made consistent, as the documentation does."""
    cells = 4096
    edges = np.linspace(low, high, cells + 1)
    counts = np.histogram(table["x"], bins=edges)[0].tolist()
    branching = dp.t.choose_branching_factor(size_guess=len(table["x"]))
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    to_tree = dp.t.make_b_ary_tree(*space, leaf_count=cells, branching_factor=branching)
    noisy = dp.binary_search_chain(
        lambda scale: to_tree >> dp.m.then_laplace(scale), d_in=1, d_out=epsilon, T=float
    )
    consistent = dp.t.make_consistent_b_ary_tree(branching_factor=branching)
    finish = dp.t.make_quantiles_from_counts(edges.tolist(), alphas)

    def ask() -> list[float]:
        leaves = consistent(noisy(counts))
        return list(finish([max(0, round(v)) for v in leaves[:cells]]))

    return forever(ask)


def argmax(epsilon: float) -> Ways:
    """Report noisy max on exact counts."""
    counts = np.bincount(table["c"], minlength=public["candidates"]).tolist()
    space = (
        dp.vector_domain(dp.atom_domain(T=int)),
        dp.linf_distance(T=int, monotonic=True),
    )
    best = dp.m.make_noisy_max(*space, dp.max_divergence(), scale=1 / epsilon)
    if best.map(1) > epsilon * (1 + 1e-9):
        raise RuntimeError("the noise is too small for epsilon")
    return {"noisy max": forever(lambda: [best(counts)])}


def spread(root: bool) -> Callable[[float], Ways]:
    """The variance of a table whose number of rows is public."""

    def ways(epsilon: float) -> Ways:
        rows = len(table["x"])
        space = (
            dp.vector_domain(dp.atom_domain(bounds=BOUNDS), size=rows),
            dp.symmetric_distance(),
        )
        variance = dp.t.make_variance(*space)
        noisy = dp.binary_search_chain(
            lambda scale: variance >> dp.m.then_laplace(scale), d_in=2, d_out=epsilon, T=float
        )
        values = table["x"].tolist()

        def ask() -> list[float]:
            found = noisy(values)
            return [math.sqrt(max(found, 0)) if root else found]

        return {"rows public": forever(ask)}

    return ways


MEASUREMENTS = {
    "median": quantiles([0.5]),
    "quantiles": quantiles(public["quantiles"]),
    "deciles": quantiles(public["deciles"]),
    "extreme": quantiles([public["extreme"]]),
    "argmax": argmax,
    "variance": spread(root=False),
    "stddev": spread(root=True),
}

job.run(ways_of)

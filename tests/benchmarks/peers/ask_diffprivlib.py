"""diffprivlib: functions on arrays. Means and variances take the number of rows for public."""

from __future__ import annotations

import sys
import warnings

import numpy as np
from diffprivlib import models, tools
from job import Job, NotOfferedError, Ways, forever

job = Job(sys.argv[1])
table, public = job.table, job.public
warnings.simplefilter("ignore")  # that an epsilon was spent before: each answer is its own release
X = table["x"]
RANGE = tuple(public["x"])
KEYS = public["keys"]


def ways_of(question: str, epsilon: float) -> Ways:
    """How diffprivlib is asked."""
    if question.startswith("user"):
        raise NotOfferedError("no units of several rows")
    given = {"epsilon": epsilon, "bounds": RANGE}
    groups = [X[table["k"] == key] for key in range(KEYS)]

    def counted(column: str, size: int) -> list[float]:
        edges = np.arange(size + 1) - 0.5
        return list(tools.histogram(table[column], epsilon=epsilon, bins=edges)[0])

    def several(quantiles: list[float]) -> list[float]:
        return list(np.atleast_1d(tools.quantile(X, quantiles, **given)))

    def slope() -> list[float]:
        model = models.LinearRegression(
            epsilon=epsilon, bounds_X=RANGE, bounds_y=tuple(public["y"])
        )
        return list(model.fit(X.reshape(-1, 1), table["y"]).coef_.ravel())

    asked = {
        "count": lambda: [tools.count_nonzero(np.ones(len(X)), epsilon=epsilon)],
        "count_by": lambda: counted("k", KEYS),
        "sum": lambda: [tools.sum(X, **given)],
        "avg": lambda: [tools.mean(X, **given)],
        "avg_by": lambda: [tools.mean(group, **given) for group in groups],
        "variance": lambda: [tools.var(X, **given)],
        "stddev": lambda: [tools.std(X, **given)],
        "median": lambda: [tools.median(X, **given)],
        "quantiles": lambda: several(public["quantiles"]),
        "deciles": lambda: several(public["deciles"]),
        "extreme": lambda: several([public["extreme"]]),
        "histogram": lambda: list(
            tools.histogram(X, epsilon=epsilon, bins=public["bins"], range=RANGE)[0]
        ),
        "argmax": lambda: [int(np.argmax(counted("c", public["candidates"])))],
        "slope": slope,
    }
    if question not in asked:
        raise NotOfferedError
    return {"": forever(asked[question])}


job.run(ways_of)

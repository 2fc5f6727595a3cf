"""Histograms and quantiles: how a column is distributed, in bins and in ranks.

python examples/06_histograms_quantiles.py
"""

from datetime import date

import numpy as np
import polars as pl

import dpframe as dp

# --- some data: 50,000 visits of about 20,000 patients --------------------------------------------

random = np.random.default_rng(6)  # for made-up rows; noise never has a seed
rows = 50_000
visits = pl.DataFrame(
    {
        "patient_id": random.integers(0, 20_000, rows),
        "age": random.integers(0, 100, rows),
        "ward": random.choice(["er", "gp", "icu"], rows, p=[0.5, 0.4, 0.1]),
        "admitted": np.datetime64("2024-01-01") + random.integers(0, 366, rows),
        "cost": random.lognormal(6.5, 0.8, rows),
    }
)
session = dp.Session(dp.Budget(epsilon=4))
session.register(
    "visits",
    visits,
    unit=dp.Unit("patient_id", max_rows=5),
    columns={
        "age": dp.Range(0, 110),
        "ward": dp.Keys(["er", "gp", "icu"]),
        "admitted": dp.Range(date(2024, 1, 1), date(2024, 12, 31)),
        "cost": dp.Range(0, 10_000),
    },
)


def heading(text: str) -> None:
    print(f"\n--- {text} " + "-" * (76 - len(text)))


heading("a histogram cuts the declared range; its bins are not paid for singly")
print(session.histogram("visits", "age", bins=11, epsilon=0.25))

heading("or it is cut at given edges, for each ward apart")
print(session.histogram("visits", "cost", edges=[0, 500, 1_000, 10_000], by="ward", epsilon=0.25))

heading("the same in SQL and in Polars; the first is free, for it was asked before")
print(session.sql("SELECT HISTOGRAM(age, 11) FROM visits"))
print(session.table("visits").select(pl.col("age").hist([0, 18, 65, 110])).release(epsilon=0.25))

heading("sums of many bins: coarser bins are counted too, and all agree")
costs = session.histogram("visits", "cost", bins=200, cumulative=True, epsilon=0.25)
print(costs.between(0, 1_000))
print(f"the last of {len(costs)} cumulative counts: {costs.frame['cumulative'][-1]:,} of {rows:,}")

heading("what that measured, and why, can be seen before it is paid for")
question = session.table("visits").histogram("cost", bins=200, by="ward", cumulative=True)
print(question.explain(epsilon=0.25))

heading("the same question in SQL, and in Polars for bins that have their upper end")
print(session.sql("SELECT HISTOGRAM(cost, 200, cumulative := TRUE) FROM visits").between(0, 1_000))
chain = session.table("visits").select(pl.col("cost").hist(bin_count=200).cum_sum())
print(chain.explain(epsilon=0.25).split("\n")[-1])

heading("two columns: margins are counted beside the cells where that is better, and all agree")
plane = session.histogram("visits", ["age", "cost"], bins=20, margins=True, epsilon=0.25)
print(plane.margin("age"))
print(plane.between({"age": (None, 55), "cost": (0, 1_000)}))

heading("counts that could be counts: not negative, and they add up")
print(session.histogram("visits", "cost", bins=12, consistent=True, epsilon=0.25))

heading("all quantiles of a column share one measurement")
quartiles = """
    SELECT ward, QUANTILE_CONT(cost, 0.25) AS q1, MEDIAN(cost) AS q2, QUANTILE_CONT(cost, 0.75) AS q3
    FROM visits GROUP BY ward
"""
print(session.sql(quartiles, epsilon=0.5))

heading("so what is between them is free, with its own error")
spread = """
    SELECT ward, QUANTILE_CONT(cost, 0.75) - QUANTILE_CONT(cost, 0.25) AS iqr
    FROM visits GROUP BY ward
"""
print(session.sql(spread))

heading("days have quantiles too")
print(
    session.sql("SELECT MIN(admitted) AS first, MEDIAN(admitted) AS mid FROM visits", epsilon=0.5)
)

heading("a quantile alone: what its error bar would have cost makes it nearer")
print(session.sql("SELECT MEDIAN(age) AS mid FROM visits", epsilon=0.25, error_bars=False))

heading("what a quantile is made of")
print(session.query(quartiles).explain(epsilon=0.5, fresh=True))

"""Chain Polars expressions on a protected frame: a script that runs as it stands.

python examples/02_polars_chaining.py
"""

from datetime import date

import numpy as np
import polars as pl
import polars.selectors as cs

import dpframe as dp

# --- some data: 20,000 visits of about 8,000 patients ---------------------------------------------

random = np.random.default_rng(2)  # for made-up rows; noise never has a seed
rows = 20_000
visits = pl.LazyFrame(
    {
        "patient_id": random.integers(0, 8_000, rows),
        "age": random.integers(0, 100, rows),
        "ward": random.choice(["er", "gp", "icu"], rows, p=[0.5, 0.4, 0.1]),
        "admitted": np.datetime64("2024-01-01") + random.integers(0, 366, rows),
        "nights": random.integers(0, 12, rows),
        "cost": random.lognormal(6.5, 0.8, rows),
    }
)


def heading(text: str) -> None:
    print(f"\n--- {text} " + "-" * (76 - len(text)))


heading("protect a frame: what is declared of it is all that anybody sees")
session = dp.Session(
    dp.Budget(epsilon=3), queries=6
)  # each query costs a sixth, if nothing is said
frame = visits.dp.protect(
    session,
    name="visits",
    unit=dp.Unit("patient_id", max_rows=10),
    columns={
        "age": dp.Range(0, 110, nullable=False),
        "ward": dp.Keys(["er", "gp", "icu"]),
        "admitted": dp.Range(date(2024, 1, 1), date(2024, 12, 31), nullable=False),
        "nights": dp.Range(0, 30, nullable=False),
        "cost": dp.Range(0, 5_000, nullable=False),
    },
)
print(frame)

heading("an ordinary chain; explain it first, which spends nothing")
older = (
    frame.filter(pl.col("age") >= 65)
    .group_by("ward")
    .agg(pl.len().alias("visits"), pl.col("cost").mean().round(2))
    .sort("visits", descending=True)
)
print(older.explain())
print(older.release())

heading("the same question in SQL is the same question: it is free")
again = session.sql(
    "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost FROM visits WHERE age >= 65 GROUP BY ward"
)
print(again)
assert again.reused

heading("computed columns and keys, and arithmetic afterwards")
stays = (
    frame.with_columns(
        decade=pl.col("age") // 10 * 10,
        stay=pl.when(pl.col("nights") == 0).then(pl.lit("day")).otherwise(pl.lit("over night")),
    )
    .filter(pl.col("age").is_between(40, 89))
    .group_by("decade", "stay")
    .agg(pl.len().alias("n"), total=pl.col("cost").sum())
    .with_columns(each=(pl.col("total") / pl.col("n")).round(0))
    .drop("total")
)
print(stays.release())

heading("selectors, conditions inside an aggregate, name suffixes")
print(
    frame.select(
        pl.col("patient_id").n_unique().alias("patients"),
        (cs.numeric() - cs.by_name("patient_id")).as_expr().mean().name.suffix("_mean"),
        emergencies=pl.col("cost").filter(pl.col("ward") == "er").sum(),
    ).release()
)

heading("months, and the three busiest of them: ranking noisy numbers is free")
months = frame.group_by(pl.col("admitted").dt.truncate("1mo").alias("month")).len("visits")
print(months.top_k(3, by="visits").release())

heading("shares and changes of noisy numbers are free, too")
print(
    months.with_columns(
        share=pl.col("visits") / pl.col("visits").sum(),
        change=pl.col("visits").diff(),
    ).release()
)

heading("what cannot be answered says why, and what to write instead")
for attempt in (
    lambda: frame.with_columns(pl.col("cost").rank().over("ward")),
    lambda: frame.head(5),
    lambda: frame.filter(pl.col("cost") > pl.col("cost").mean()),
    lambda: frame.group_by("patient_id").len().release(),
):
    try:
        attempt()
    except dp.UserError as error:
        print(error)

heading("what is left")
print(session)

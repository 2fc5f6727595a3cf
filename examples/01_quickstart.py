"""Declare a table once, then ask SQL: a script that runs as it stands.

python examples/01_quickstart.py
"""

import tempfile
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

import dpframe as dp

# --- some data: 20,000 visits of about 8,000 patients ---------------------------------------------

random = np.random.default_rng(1)  # for made-up rows; noise never has a seed
rows = 20_000
visits = pl.DataFrame(
    {
        "patient_id": random.integers(0, 8_000, rows),
        "age": random.integers(0, 100, rows),
        "ward": random.choice(["er", "gp", "icu"], rows, p=[0.5, 0.4, 0.1]),
        "admitted": np.datetime64("2024-01-01") + random.integers(0, 366, rows),
        "cost": pl.Series(random.lognormal(6.5, 0.8, rows)).set(
            pl.Series(random.random(rows) < 0.02), None
        ),
    }
)

DECLARATION = {
    # All visits of one patient are protected together. Ten of them count in full; a patient with
    # more is scaled down to the weight of ten.
    "unit": dp.Unit("patient_id", max_rows=10),
    # What everybody may know about the columns. Values outside a range are clamped to it.
    "columns": {
        "age": dp.Range(0, 110, nullable=False),
        "ward": dp.Keys(["er", "gp", "icu"]),
        "admitted": dp.Range(date(2024, 1, 1), date(2024, 12, 31), nullable=False),
        "cost": dp.Range(0, 5_000),
    },
}

BUDGET = dp.Budget(epsilon=2)


def heading(text: str) -> None:
    print(f"\n--- {text} " + "-" * (76 - len(text)))


with tempfile.TemporaryDirectory() as folder:
    ledger = Path(folder, "visits.ledger")

    heading("open a session on a budget, and declare the table")
    session = dp.Session(BUDGET, ledger=ledger)
    session.register("visits", visits, **DECLARATION)
    print(session.describe())

    heading("explain a query: this spends nothing")
    by_ward = """
        SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost
        FROM visits
        WHERE age >= 65
        GROUP BY ward
        ORDER BY visits DESC
    """
    print(session.query(by_ward).explain(epsilon=0.5))

    heading("release it: a noisy table with error bars")
    release = session.sql(by_ward, epsilon=0.5)
    print(release)

    heading("the same numbers as frames")
    print(release.frame)
    print(release.intervals(0.9))
    print("cost:", release.loss, "| remaining:", session.remaining)

    heading("group keys that follow from the declarations")
    print(
        session.sql(
            """
            SELECT EXTRACT(quarter FROM admitted) AS quarter,
                   CASE WHEN age < 18 THEN 'minor' ELSE 'adult' END AS patients,
                   COUNT(*) AS visits
            FROM visits
            GROUP BY quarter, patients
            """,
            epsilon=0.5,
        )
    )

    heading("after a restart, the ledger goes on where it stopped")
    session.close()
    session = dp.Session(BUDGET, ledger=ledger)
    session.register("visits", visits, **DECLARATION)
    print(session, "| remaining:", session.remaining)
    print(session.ledger.verify())

    heading("what cannot be answered says why, and costs nothing")
    for text, epsilon in [
        ("SELECT * FROM visits", 0.1),
        ("SELECT SUM(patient_id) FROM visits", 0.1),
        ("SELECT AVG(costs) FROM visits", 0.1),
        ("SELECT COUNT(*) FROM visits", 1.5),
    ]:
        try:
            session.sql(text, epsilon=epsilon)
        except dp.UserError as error:
            print(f"{type(error).__name__}: {error}\n")
    print("remaining:", session.remaining)
    session.close()

"""Group by a column whose values nobody declared: a script that runs as it stands.

python examples/04_private_keys.py
"""

import numpy as np
import polars as pl

import dpframe as dp

# --- some data: what 5,000 people searched for ----------------------------------------------------

random = np.random.default_rng(4)  # for made-up rows; noise never has a seed
rows, words = 30_000, 4_000
popularity = 1 / np.arange(1, words + 1)
searches = pl.DataFrame(
    {
        "person": random.integers(0, 5_000, rows),
        "term": [f"term {i}" for i in random.choice(words, rows, p=popularity / popularity.sum())],
        "country": random.choice(["at", "ch", "de"], rows, p=[0.2, 0.3, 0.5]),
        "seconds": random.exponential(20, rows),
    }
)


def heading(text: str) -> None:
    print(f"\n--- {text} " + "-" * (76 - len(text)))


# Which terms exist is private: a term may name a person. Choosing terms takes a delta.
session = dp.Session(dp.Budget(epsilon=3, delta=1e-5))
session.register(
    "searches",
    searches,
    unit=dp.Unit("person", max_rows=10),
    columns={"seconds": dp.Range(0, 120, nullable=False), "country": dp.Keys(["at", "ch", "de"])},
)

heading("explain: how terms are chosen, and how many people one needs to appear")
query = session.query("SELECT term, COUNT(*) AS n FROM searches GROUP BY term ORDER BY n DESC")
print(query.explain(share=0.25))

heading("the terms that many people searched for")
top = query.release(share=0.25)
print(top)
print(f"{len(top)} of {searches['term'].n_unique():,} terms; the rest might give somebody away")

heading("the same terms again: keys were released, so only the sums are paid for")
times = session.sql("SELECT term, AVG(seconds) AS s FROM searches GROUP BY term", share=0.1)
print("cost:", times.loss)
assert times.frame["term"].sort().equals(top.frame["term"].sort())
assert times.loss.delta == 0

heading("terms that are listed need no choice")
listed = ["term 0", "term 1", "no such term"]
print(
    session.sql(
        "SELECT term, COUNT(*) AS n FROM searches GROUP BY 1", share=0.1, keys={"term": listed}
    )
)

heading("several groupings share one cost")
print(
    session.sql(
        """
        SELECT country, seconds < 30 AS quick, COUNT(*) AS n
        FROM searches GROUP BY ROLLUP (country, quick) ORDER BY GROUPING(country), country, quick
        """,
        share=0.1,
    )
)

heading("what is left")
print(session.remaining)

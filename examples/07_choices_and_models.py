"""Winners without their scores, different values, ranges that are learned, and a line that fits.

python examples/07_choices_and_models.py
"""

import numpy as np
import polars as pl

import dpframe as dp

# --- some data: 50,000 votes of 20,000 people for up to 5 of 30 dishes ----------------------------

random = np.random.default_rng(7)  # for made-up rows; noise never has a seed
rows = 50_000
dishes = [f"dish {i:02}" for i in range(30)]
liked = 1 / np.arange(2, 32)
age = random.integers(18, 90, rows)
spent = 5 + 0.3 * age + random.gamma(2.0, 6.0, rows)
votes = pl.DataFrame(
    {
        "person": random.integers(0, 20_000, rows),
        "dish": random.choice(dishes, rows, p=liked / liked.sum()),
        "postcode": random.integers(10_000, 14_000, rows),
        "age": age,
        "spent": spent,
    }
)


def heading(text: str) -> None:
    print(f"\n--- {text} " + "-" * (76 - len(text)))


session = dp.Session(dp.Budget(epsilon=10, delta=1e-6))
session.register(
    "votes",
    votes,
    unit=dp.Unit("person", max_rows=5),
    columns={"dish": dp.Keys(dishes), "age": dp.Range(18, 90, nullable=False)},
)

heading("the favourite dish: the winner alone, without its count")
favourite = "SELECT dish FROM votes GROUP BY dish ORDER BY COUNT(*) DESC LIMIT 1"
print(session.query(favourite).explain(epsilon=0.1))
print(session.sql(favourite, epsilon=0.1))

heading("what it costs to be within 200 votes of the favourite, surely enough")
print(session.query(favourite).cost(error=200, confidence=0.99, fresh=True))

heading("the same in Polars is the same question: it is free")
counted = session.table("votes").group_by("dish").agg(pl.len())
print(counted.top_k(1, by="len").select("dish").release(epsilon=0.1))

heading("and so is ARG_MAX over groups")
grouped = "SELECT dish, COUNT(*) AS n FROM votes GROUP BY dish"
print(session.sql(f"SELECT ARG_MAX(dish, n) AS dish FROM ({grouped})", epsilon=0.1))

heading("what one would pay in accuracy by releasing all counts")
print(session.sql("SELECT dish, COUNT(*) AS votes FROM votes GROUP BY dish", epsilon=0.1).errors)

heading("vote for as many as you like: each person counts once for each dish they named")
approved = "SELECT dish FROM votes GROUP BY dish ORDER BY COUNT(DISTINCT person) DESC LIMIT 3"
print(session.query(approved).explain(epsilon=0.5))
print(session.sql(approved, epsilon=0.5))

heading("candidates may be columns, too: what do people care about?")
print(
    session.select(
        """SELECT COUNT(DISTINCT person) FILTER (WHERE spent > 40) AS fine,
                  COUNT(DISTINCT person) FILTER (WHERE spent < 15) AS cheap FROM votes""",
        epsilon=0.1,
    )
)

heading("the mode of a column, among people of 65 and over")
print(session.sql("SELECT MODE(dish) AS dish FROM votes WHERE age >= 65", epsilon=0.1))

heading("and of every age group at once, which shares the cost")
by_age = (
    "SELECT age // 20 * 20 AS from_age, MODE(dish) AS dish, COUNT(*) AS votes FROM votes GROUP BY 1"
)
print(session.sql(by_age, epsilon=0.5))

heading("how many different postcodes there are")
print(session.sql("SELECT COUNT(DISTINCT postcode) AS postcodes FROM votes", epsilon=0.5))

heading("how what was spent varies: no range was declared, so one is learned")
print(
    session.sql(
        "SELECT AVG(spent) AS mean, STDDEV(spent) AS deviation FROM votes",
        epsilon=0.9,
        bounds="auto",
    )
)

heading("a line: what people spend, explained by their age")
clubs = dp.Session(dp.Budget(epsilon=10))
clubs.register("votes", votes, columns={"age": dp.Range(18, 90), "spent": dp.Range(0, 100)})
model = clubs.linear_regression("votes", "spent", x=["age"], epsilon=0.5)
print(model)
print(model.predict(pl.DataFrame({"age": [20, 40, 60, 80]})))

print(f"\nspent: {session.spent}, and {clubs.spent}")

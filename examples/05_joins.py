"""Several tables in one question: joins, subqueries and UNION ALL.

Rows of private tables may meet only where both belong to the same unit, so that no one's answer
depends on the rows of someone else. Public tables may be joined to them in any way.
"""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl

import dpframe as dp


def shop() -> dict[str, pl.DataFrame]:
    """Customers, their orders, and a public list of products."""
    random = np.random.default_rng(5)
    people, orders = 2_000, 12_000
    return {
        "customers": pl.DataFrame(
            {
                "id": range(people),
                "age": random.integers(18, 91, people),
                "city": random.choice(["Rome", "Oslo", "Lima"], people),
            }
        ),
        "orders": pl.DataFrame(
            {
                "customer": random.integers(0, people, orders),
                "product": random.integers(1, 7, orders),
                "quantity": random.integers(1, 5, orders),
                "day": pl.date_range(date(2024, 1, 1), date(2024, 12, 31), eager=True).sample(
                    orders, with_replacement=True, seed=5
                ),
            }
        ),
        "products": pl.DataFrame(
            {
                "product": range(1, 7),
                "kind": ["desk", "desk", "home", "home", "wear", "wear"],
                "price": [1.5, 12.0, 8.0, 30.0, 15.5, 60.0],
            }
        ),
    }


def main() -> None:
    """Ask four questions over three tables."""
    tables = shop()
    session = dp.Session(dp.Budget(epsilon=4))
    session.register(
        "customers",
        tables["customers"],
        unit=dp.Unit("id", max_rows=10),
        columns={"age": dp.Range(18, 90), "city": dp.Keys(["Rome", "Oslo", "Lima"])},
    )
    session.register(
        "orders",
        tables["orders"],
        unit=dp.Unit("customer", max_rows=10),
        columns={
            "quantity": dp.Range(0, 10),
            "day": dp.Range(date(2024, 1, 1), date(2024, 12, 31)),
        },
    )
    # What a public table holds is public: its columns need no declaration.
    session.register("products", tables["products"], public=True)

    print("Turnover by city and kind, over three tables:")
    print(
        session.sql(
            """
            SELECT city, kind, COUNT(*) AS orders, SUM(quantity * price) AS turnover
            FROM customers
            JOIN orders ON customers.id = orders.customer
            JOIN products USING (product)
            GROUP BY city, kind
            """,
            epsilon=1,
        )
    )

    print("\nWhat a customer spends. One row per customer, so one row is all that a unit weighs:")
    print(
        session.sql(
            """
            WITH spent AS (
                SELECT customer, SUM(quantity * price) AS total
                FROM orders JOIN products USING (product)
                GROUP BY customer
            )
            SELECT COUNT(*) AS customers, AVG(LEAST(total, 1000)) AS spent FROM spent
            """,
            epsilon=1,
        )
    )

    print("\nCustomers who bought nothing in December:")
    quiet = """
        SELECT city, COUNT(*) AS n FROM customers c
        WHERE NOT EXISTS (
            SELECT 1 FROM orders o WHERE o.customer = c.id AND o.day >= '2024-12-01'
        )
        GROUP BY city
        """
    print(session.sql(quiet, epsilon=1))

    print("\nThe same question with other aliases was answered already:")
    print(session.sql(quiet.replace("c.id", "x.id").replace("customers c", "customers x")))

    print("\nOrders of different customers do not meet, and the error says what would do:")
    try:
        session.sql("SELECT COUNT(*) FROM orders a JOIN orders b ON a.day = b.day", epsilon=0.1)
    except dp.QueryError as error:
        print(error)


if __name__ == "__main__":
    main()

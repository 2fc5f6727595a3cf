"""A small shop: two private tables of one unit, a row-level one, and three public ones."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl

import dpframe as dp

FIRST = date(2024, 1, 1)

PLACES: dict[str, dict[str, str]] = {
    "duckdb": dict.fromkeys(
        ["customers", "orders", "clicks", "products", "makers", "tags"], "duckdb"
    ),
    "polars": {},
    "mixed": {"orders": "duckdb", "makers": "duckdb"},
}
"""On which engine each table is registered; the rest is on Polars."""


def tables() -> dict[str, pl.DataFrame]:
    """Customers without orders, orders of nobody, products without a maker, NULL in every place."""
    random = np.random.default_rng(20_260_101)  # floats are eighths: exact on every grid

    def some(values: list[Any], every: int) -> list[Any]:
        return [None if i % every == every - 1 else v for i, v in enumerate(values)]

    def pick(values: list[Any], n: int) -> list[Any]:
        return [values[i] for i in random.integers(0, len(values), n)]

    customers, orders, clicks = 40, 160, 120
    days = [FIRST + timedelta(days=int(d)) for d in random.integers(0, 60, orders)]
    joined = [FIRST + timedelta(days=int(d)) for d in random.integers(0, 30, customers)]
    return {
        "customers": pl.DataFrame(
            {
                "id": [None if i == 7 else i for i in range(customers)],
                "age": some(random.integers(18, 91, customers).tolist(), 9),
                "city": some(pick(["Rome", "Oslo", "Lima"], customers), 11),
                "joined": joined,
                "vip": some(pick([True, False], customers), 6),
                "Tier": random.integers(1, 4, customers),
            }
        ),
        "orders": pl.DataFrame(
            {
                "customer": some(random.integers(0, 45, orders).tolist(), 31),
                "product": some(random.integers(1, 15, orders).tolist(), 17),
                "amount": some((random.integers(0, 801, orders) / 8).tolist(), 13),
                "quantity": random.integers(0, 10, orders).astype(np.int32),
                "day": some(days, 19),
                "status": some(pick(["paid", "open", "void"], orders), 8),
            }
        ),
        "clicks": pl.DataFrame(
            {
                "page": random.integers(1, 6, clicks),
                "seconds": some((random.integers(0, 481, clicks) / 8).tolist(), 10),
                "product": some(random.integers(1, 15, clicks).tolist(), 12),
            }
        ),
        "products": pl.DataFrame(
            {
                "product": list(range(1, 13)),
                "name": [
                    "pen",
                    "ink",
                    "cup",
                    "Jar",
                    "mat",
                    "bag",
                    "hat",
                    "sock",
                    "tea",
                    "é",
                    "",
                    "x",
                ],
                "kind": [
                    *("desk", "desk", "home", "home", "home", None),
                    *("wear", "wear", "food", "food", "desk", "wear"),
                ],
                "price": [1.5, 2.25, 8.0, 4.75, 12.0, 30.0, 15.5, 3.0, 6.0, None, 0.5, 99.0],
                "maker": [1, 1, 2, 2, 3, 3, 4, 4, None, 5, 1, 9],
            }
        ),
        "makers": pl.DataFrame(
            {"maker": [1, 2, 3, 4, 5], "country": ["IT", "NO", "PE", "IT", None]}
        ),
        "tags": pl.DataFrame(
            {
                "product": [1, 1, 2, 3, 3, 3, 5, 8, 8, None, 14],
                "tag": [
                    "new",
                    "sale",
                    "new",
                    "sale",
                    "eco",
                    "new",
                    "eco",
                    "new",
                    "old",
                    "old",
                    "eco",
                ],
            }
        ),
    }


DECLARED: dict[str, dict[str, Any]] = {
    "customers": {
        "unit": dp.Unit("id", max_rows=5_000),
        "columns": {
            "age": dp.Range(18, 90),
            "city": dp.Keys(["Rome", "Oslo", "Lima", None]),
            "joined": dp.Range(FIRST, FIRST + timedelta(days=29), nullable=False),
            "Tier": dp.Range(1, 3, nullable=False),
        },
    },
    "orders": {
        "unit": dp.Unit("customer", max_rows=5_000),
        "columns": {
            "amount": dp.Range(0, 100),
            "quantity": dp.Range(0, 9, nullable=False),
            "day": dp.Range(FIRST, FIRST + timedelta(days=59)),
            "status": dp.Keys(["paid", "open", "void", None]),
        },
    },
    "clicks": {"columns": {"seconds": dp.Range(0, 60), "page": dp.Range(1, 5, nullable=False)}},
    "products": {"public": True},
    "makers": {"public": True, "columns": {"country": dp.Keys(["IT", "NO", "PE", None])}},
    "tags": {"public": True},
}


def session(place: str, budget: dp.Budget | None = None) -> dp.Session:
    """All tables of the shop, on the engines of a place."""
    opened = dp.Session(budget or dp.Budget(epsilon=10**6))
    for name, frame in tables().items():
        engine = PLACES[place].get(name, "polars")
        opened.register(name, frame, engine=engine, **DECLARED[name])  # type: ignore[arg-type]
    return opened

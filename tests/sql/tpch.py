"""Small TPC-H tables, made in code: the same rows every time.

The unit is the customer. LINEITEM names its customer only through ORDERS, so its owner registers
it with the order's customer beside each line (`l_custkey`): whose row it is must be a column, not
the result of a query.
"""

from __future__ import annotations

from datetime import date, timedelta

import numpy as np
import polars as pl

import dpframe as dp

CUSTOMERS, ORDERS, SUPPLIERS, PARTS = 150, 1_200, 20, 200
FIRST, LAST = date(1992, 1, 1), date(1998, 12, 31)

REGIONS = ["AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST"]
NATIONS = [
    *(("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4)),
    *(("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2)),
    *(("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0), ("MOROCCO", 0)),
    *(("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3), ("SAUDI ARABIA", 4)),
    *(("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3), ("UNITED STATES", 1)),
]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"]
MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
INSTRUCTIONS = ["COLLECT COD", "DELIVER IN PERSON", "NONE", "TAKE BACK RETURN"]
TYPES = [
    f"{a} {b} {c}"
    for a in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
    for b in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
    for c in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
]
CONTAINERS = [
    f"{a} {b}" for a in ("SM", "MED", "LG", "JUMBO", "WRAP") for b in ("CASE", "BOX", "BAG", "PKG")
]
COLOURS = ["almond", "azure", "forest", "green", "ivory", "lemon", "navy", "plum"]


def tables() -> dict[str, pl.DataFrame]:
    """All eight tables by name."""
    random = np.random.default_rng(1992)

    def pick(values: list[str], size: int) -> list[str]:
        return [values[i] for i in random.integers(0, len(values), size)]

    def money(low: float, high: float, size: int) -> np.ndarray:
        return (low + random.random(size) * (high - low)).round(2)

    customer = pl.DataFrame(
        {
            "c_custkey": np.arange(1, CUSTOMERS + 1),
            "c_name": [f"Customer#{i:09}" for i in range(1, CUSTOMERS + 1)],
            "c_nationkey": random.integers(0, len(NATIONS), CUSTOMERS),
            "c_phone": [f"{p}-555-0100" for p in random.integers(10, 35, CUSTOMERS)],
            "c_acctbal": money(-999.99, 9999.99, CUSTOMERS),
            "c_mktsegment": pick(SEGMENTS, CUSTOMERS),
        }
    )
    days = random.integers(0, (LAST - FIRST).days - 150, ORDERS)
    # A third of all customers never order, as in the benchmark.
    buyers = [k for k in range(1, CUSTOMERS + 1) if k % 3]
    orders = pl.DataFrame(
        {
            "o_orderkey": np.arange(1, ORDERS + 1),
            "o_custkey": [buyers[i] for i in random.integers(0, len(buyers), ORDERS)],
            "o_orderstatus": pick(["F", "O", "P"], ORDERS),
            "o_totalprice": money(900, 500_000, ORDERS),
            "o_orderdate": [FIRST + timedelta(days=int(d)) for d in days],
            "o_orderpriority": pick(PRIORITIES, ORDERS),
            "o_shippriority": np.zeros(ORDERS, dtype=np.int64),
            "o_comment": pick(["fast", "special packages, many requests", "slow"], ORDERS),
        }
    )
    of_order = np.repeat(np.arange(ORDERS), random.integers(1, 5, ORDERS))
    lines = len(of_order)
    ordered = orders["o_orderdate"].gather(of_order)
    shipped = ordered + pl.Series([timedelta(days=int(d)) for d in random.integers(1, 121, lines)])
    lineitem = pl.DataFrame(
        {
            "l_orderkey": of_order + 1,
            "l_custkey": orders["o_custkey"].gather(of_order),
            "l_partkey": random.integers(1, PARTS + 1, lines),
            "l_suppkey": random.integers(1, SUPPLIERS + 1, lines),
            "l_linenumber": np.arange(lines) % 7 + 1,
            "l_quantity": random.integers(1, 51, lines),
            "l_extendedprice": money(900, 100_000, lines),
            "l_discount": random.integers(0, 11, lines) / 100,
            "l_tax": random.integers(0, 9, lines) / 100,
            "l_returnflag": pick(["A", "N", "R"], lines),
            "l_linestatus": pick(["F", "O"], lines),
            "l_shipdate": shipped,
            "l_commitdate": ordered
            + pl.Series([timedelta(days=int(d)) for d in random.integers(30, 91, lines)]),
            "l_receiptdate": shipped
            + pl.Series([timedelta(days=int(d)) for d in random.integers(1, 31, lines)]),
            "l_shipinstruct": pick(INSTRUCTIONS, lines),
            "l_shipmode": pick(MODES, lines),
        }
    )
    part = pl.DataFrame(
        {
            "p_partkey": np.arange(1, PARTS + 1),
            "p_name": [
                f"{a} {b}" for a, b in zip(pick(COLOURS, PARTS), pick(COLOURS, PARTS), strict=True)
            ],
            "p_brand": [f"Brand#{a}{b}" for a, b in random.integers(1, 6, (PARTS, 2))],
            "p_type": pick(TYPES, PARTS),
            "p_size": random.integers(1, 51, PARTS),
            "p_container": pick(CONTAINERS, PARTS),
        }
    )
    supplier = pl.DataFrame(
        {
            "s_suppkey": np.arange(1, SUPPLIERS + 1),
            "s_name": [f"Supplier#{i:09}" for i in range(1, SUPPLIERS + 1)],
            "s_nationkey": random.integers(0, len(NATIONS), SUPPLIERS),
            "s_acctbal": money(-999.99, 9999.99, SUPPLIERS),
            "s_comment": pick(["fine", "Customer Complaints"], SUPPLIERS),
        }
    )
    offers = [(p, (p + k) % SUPPLIERS + 1) for p in range(1, PARTS + 1) for k in (0, 7)]
    partsupp = pl.DataFrame(
        {
            "ps_partkey": [p for p, _ in offers],
            "ps_suppkey": [s for _, s in offers],
            "ps_availqty": random.integers(1, 10_000, len(offers)),
            "ps_supplycost": money(1, 1000, len(offers)),
        }
    )
    nation = pl.DataFrame(
        {
            "n_nationkey": range(len(NATIONS)),
            "n_name": [name for name, _ in NATIONS],
            "n_regionkey": [region for _, region in NATIONS],
        }
    )
    region = pl.DataFrame({"r_regionkey": range(len(REGIONS)), "r_name": REGIONS})
    return {
        "customer": customer,
        "orders": orders,
        "lineitem": lineitem,
        "part": part,
        "supplier": supplier,
        "partsupp": partsupp,
        "nation": nation,
        "region": region,
    }


PRIVATE: dict[str, tuple[str, int]] = {
    "customer": ("c_custkey", 1),
    "orders": ("o_custkey", 40),
    "lineitem": ("l_custkey", 120),
}
"""The unit's column and weight of each private table; no customer here has more rows than that."""

_DAYS = dp.Range(FIRST, LAST, nullable=False)

DECLARED: dict[str, dict[str, dp.Range | dp.Keys]] = {
    "customer": {
        "c_nationkey": dp.Range(0, 24, nullable=False),
        "c_acctbal": dp.Range(-1000, 10_000, nullable=False),
        "c_mktsegment": dp.Keys(SEGMENTS),
    },
    "orders": {
        "o_orderstatus": dp.Keys(["F", "O", "P"]),
        "o_totalprice": dp.Range(0, 500_000, nullable=False),
        "o_orderdate": _DAYS,
        "o_orderpriority": dp.Keys(PRIORITIES),
        "o_shippriority": dp.Range(0, 0, nullable=False),
    },
    "lineitem": {
        "l_quantity": dp.Range(1, 50, nullable=False),
        "l_extendedprice": dp.Range(0, 100_000, nullable=False),
        "l_discount": dp.Range(0, 0.1, nullable=False),
        "l_tax": dp.Range(0, 0.08, nullable=False),
        "l_returnflag": dp.Keys(["A", "N", "R"]),
        "l_linestatus": dp.Keys(["F", "O"]),
        "l_shipdate": _DAYS,
        "l_commitdate": _DAYS,
        "l_receiptdate": _DAYS,
        "l_shipinstruct": dp.Keys(INSTRUCTIONS),
        "l_shipmode": dp.Keys(MODES),
    },
}


def register(session: dp.Session, engine: str) -> dict[str, pl.DataFrame]:
    """Register the tables, customers protected and the catalogue public; the rows themselves."""
    made = tables()
    for name, frame in made.items():
        private = name in PRIVATE
        session.register(
            name,
            frame,
            unit=dp.Unit(PRIVATE[name][0], max_rows=PRIVATE[name][1]) if private else None,
            columns=DECLARED.get(name),
            engine=engine,  # type: ignore[arg-type]
            public=not private,
        )
    return made

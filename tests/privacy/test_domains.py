"""Every value that a function yields lies in the domain that was derived for it.

Bounds, nullability and keys decide what noise is drawn and that no integer overflows, so one that is
too narrow is a leak: an engine may stop at the one row that breaks it. Ranges are declared narrow and
at awkward places here, around ends of months and zeros, because most mistakes are at their ends.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Any

import polars as pl
import pytest
from function_cases import CASES, FLOATS, Bench, Case, rows

import dpframe as dp
from dpframe.plan.domains import Domain
from dpframe.plan.functions import shifts

DAYS = [
    *(date(2023, 1, 31), date(2024, 2, 29), date(1969, 12, 31), date(2000, 12, 30)),
    *(date(1, 1, 2), date(9999, 10, 30), date(2021, 1, 3), date(1900, 3, 1)),
]
INTEGERS = [0, 1, -1, 2, 3, 7, -7, 49, 50, 99, 100, -100, 999]
FRACTIONS = [0.0, -1.0, 0.5, -2.5, 1e-3, 49.0, -1e6, 1e5, 0.3]
SIZE = 96

NESTED = [
    *("DATE_TRUNC('month', t + INTERVAL 1 MONTH)", "EXTRACT(hour FROM t - INTERVAL 1 MONTH)"),
    *("DATE_TRUNC('day', t - INTERVAL 13 MONTH)", "CAST(t + INTERVAL 1 MONTH AS DATE)"),
    *("DATE_DIFF('hour', t, t + INTERVAL 1 MONTH)", "last_day(d + INTERVAL 1 MONTH)"),
    *("DATE_DIFF('day', d, CAST(d + INTERVAL 1 YEAR AS DATE))", "EXTRACT(isoyear FROM d)"),
    *("EXTRACT(epoch FROM t + INTERVAL 1 MONTH)", "d + CAST(j AS INT) - DATE '2024-01-01'"),
    *(
        "FLOOR(x / 7) * 7",
        "ROUND(x / 3, 1) - ROUND(z, 1)",
        "(i // 7) * (j % 3)",
        "ABS(x) * SIGN(y)",
    ),
    *("GREATEST(x, y) / (z + 1)", "POWER(x - y, 2)", "SQRT(ABS(x)) - LN(z)", "SIN(x) * COS(z)"),
]
"""Functions of functions, where one may be wrong about what it gets from the other."""

ALL = [*CASES, *(Case(sql, lambda row: None) for sql in NESTED)]


class Narrow:
    """A table with narrow ranges, and rows that lie in them, at their ends, or far outside."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.columns = self._declared()
        self.frame = self._rows()

    def _declared(self) -> dict[str, Any]:
        pick = self.random.choice
        day = self._near(pick(DAYS), before=40)
        moment = datetime.combine(self._near(pick(DAYS), before=3), datetime.min.time())
        moment += timedelta(hours=pick([0, 0, 12, 23]), microseconds=pick([0, 1, 999_999]))
        later = timedelta(days=pick([0, 0, 1, 2, 3, 31]), hours=pick([0, 1]))
        small = pick([-8, -3, -1, 0, 1, 4])
        return {
            **{name: self._range(pick(INTEGERS), pick([0, 1, 2, 5, 100])) for name in ("i", "n")},
            "j": self._range(small, pick([0, 1, 3, 8])),
            **{
                name: self._range(pick(FRACTIONS), pick([0.0, 0.1, 1.0, 7.3, 1e3]))
                for name in ("x", "y", "z", "f32")
            },
            "k": dp.Keys(self.random.sample(["er", "icu", "é", "12"], pick([1, 2, 3]))),
            "d": self._range(day, timedelta(days=pick([0, 1, 2, 5, 31, 70]))),
            "t": self._range(moment, later),
        }

    def _near(self, day: date, before: int) -> date:
        return date.fromordinal(max(day.toordinal() - self.random.randint(0, before), 1))

    def _range(self, low: Any, width: Any) -> dp.Range:
        return dp.Range(low, low + width, nullable=self.random.random() < 0.5)

    def _rows(self) -> pl.DataFrame:
        widest = {"i": 2**63, "n": 2**63, "j": 128}
        outside: dict[str, list[Any]] = {
            **{name: [-end, end - 1, None] for name, end in widest.items()},
            **{name: [*FLOATS, None] for name in ("x", "y", "z", "f32")},
            "d": [date.min, date.max, None],
            "t": [datetime.min, datetime.max, None],
        }
        others = rows()
        cells = {
            name: pl.Series(
                [self._value(name, far) for _ in range(SIZE)], dtype=others.schema[name]
            )
            for name, far in outside.items()
        }
        seed = self.random.randrange(10**6)
        drawn = others.sample(SIZE, with_replacement=True, seed=seed)
        return drawn.with_columns(**cells).select(others.columns)

    def _value(self, name: str, outside: list[Any]) -> Any:
        low, high = self.columns[name].low, self.columns[name].high
        kind = self.random.random()
        if kind < 0.45:
            return low if kind < 0.15 else high if kind < 0.3 else self.random.choice(outside)
        if isinstance(low, float):
            value = self.random.uniform(low, high)
            return self.random.choice([value, float(round(value)), math.floor(value) + 0.5])
        if isinstance(low, int):
            return self.random.randint(low, high)
        if not isinstance(low, datetime):
            return low + timedelta(days=self.random.randint(0, (high - low).days))
        step = timedelta(microseconds=1)
        value = low + self.random.randint(0, (high - low) // step) * step
        midnight = datetime.combine(value, datetime.min.time())
        return self.random.choice([value, midnight, midnight + timedelta(days=1) - step])


def fault(value: Any, domain: Domain) -> str | None:
    """What is wrong with a value, if anything is."""
    if value is None:
        return None if domain.nullable else "NULL"
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if domain.low is not None and value < domain.low:
        return "too low"
    if domain.high is not None and value > domain.high:
        return "too high"
    if domain.values is not None and value not in domain.values:
        return "not one of its values"
    return None


def faults(narrow: Narrow) -> Iterator[str]:
    bench = Bench(narrow.frame, ALL, narrow.columns, some_refused=True)
    assert len(bench.cases) > len(ALL) * 3 / 4
    on = {"Polars": bench.on_polars(narrow.frame), "DuckDB": bench.on_duckdb(narrow.frame)}
    for engine, found in on.items():
        columns = list(zip(*found, strict=True))[: len(bench.cases)]  # behind them, codes of sums
        for case, typed, values in zip(bench.cases, bench.exprs, columns, strict=True):
            for value in values:
                wrong = fault(value, typed.domain)
                if wrong is not None:
                    yield f"{case.sql} on {engine} is {value!r}, {wrong} for {typed.domain}"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(24))
def test_every_value_lies_in_the_domain_of_its_expression(seed: int) -> None:
    assert not list(faults(Narrow(seed)))


def test_a_domain_that_is_too_narrow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Months do not keep the order of instants: 30 January, 23:30 ends up behind the 31st."""

    def of_ends(low: datetime, high: datetime, interval: tuple[int, int, int]) -> Any:
        return shifts.shifted(low, *interval), shifts.shifted(high, *interval)

    monkeypatch.setattr(shifts, "_outermost", of_ends)
    assert any("INTERVAL" in found for seed in range(24) for found in faults(Narrow(seed)))

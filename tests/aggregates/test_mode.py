"""MODE by group: which values it is chosen among, what it says of itself, and what is kept."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest
from noiseless import without_noise

import dpframe as dp

RANDOM = np.random.default_rng(7)
ROWS = 3_000
DAYS = (date(2024, 1, 1), date(2024, 1, 20))
TABLE = pl.DataFrame(
    {
        "u": RANDOM.integers(0, 900, ROWS),
        "ward": RANDOM.choice(["er", "icu", "gp"], ROWS),
        "insurer": RANDOM.choice(["a", "b", "c'd", None, "zz"], ROWS, p=[0.1, 0.2, 0.4, 0.2, 0.1]),
        "age": RANDOM.binomial(110, 0.3, ROWS),
        "day": [DAYS[0] + timedelta(days=int(d)) for d in RANDOM.binomial(19, 0.6, ROWS)],
        "ok": RANDOM.random(ROWS) < 0.7,
        "cost": RANDOM.random(ROWS),
        "text": RANDOM.choice(["x", "y"], ROWS),
    }
)
COLUMNS = {
    "ward": dp.Keys(["er", "icu", "gp", "none"]),
    "insurer": dp.Keys(["a", "b", "c'd"]),
    "age": dp.Range(0, 110),
    "day": dp.Range(*DAYS),
    "cost": dp.Range(0, 1),
}
ASKED = "SELECT ward, MODE(insurer) AS i, MODE(age) AS a, MODE(day) AS d, MODE(ok) AS o FROM t GROUP BY ward"


def session(engine: Any = None, **options: Any) -> dp.Session:
    opened = dp.Session(dp.Budget(epsilon=10**4, delta=1e-6))
    opened.register("t", TABLE, columns=COLUMNS, engine=engine, **options)
    return opened


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("unit", [None, dp.Unit("u", max_rows=100)], ids=["row", "unit"])
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.5}], ids=["pure", "zcdp"])
def test_without_noise_it_is_the_most_frequent_value(
    engine: str, unit: dp.Unit | None, cost: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value outside the declared ones, and NULL, count nowhere."""
    without_noise(monkeypatch)
    found = session(engine, unit=unit).sql(ASKED, **cost).frame
    for row in found.filter(pl.col("ward") != "none").iter_rows(named=True):
        rows = TABLE.filter(pl.col("ward") == row["ward"])
        assert row["i"] == "c'd"
        assert row["o"] is True
        for name in ("age", "day"):
            counts = dict(rows.group_by(name).len().rows())
            assert counts[row[name[0]]] == max(counts.values())


def test_a_group_without_rows_has_some_value() -> None:
    found = session().sql(ASKED, epsilon=1).frame.filter(pl.col("ward") == "none")
    assert found["i"].item() in ("a", "b", "c'd")
    assert found.schema["d"] == pl.Date()


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_it_stands_beside_other_aggregates_groupings_and_post_processing() -> None:
    opened = session()
    found = opened.sql(
        "SELECT ward, COUNT(*) AS n, MODE(insurer) AS i, MODE(age) + COUNT(*) AS x FROM t"
        " GROUP BY ROLLUP (ward) HAVING MODE(insurer) <> 'none' ORDER BY i, ward",
        epsilon=50,
    )
    assert found.loss.epsilon <= 50
    some = found.frame.filter(pl.col("ward").ne_missing("none"))
    assert some["i"].to_list() == ["c'd"] * 4
    assert (
        opened.sql("SELECT MODE(insurer) AS i, COUNT(*) AS n FROM t", epsilon=5).frame["i"][0]
        == "c'd"
    )


def test_it_has_no_error_bar_and_says_how_far_it_may_fall_behind() -> None:
    found = session().sql(
        "SELECT ward, COUNT(*) AS n, MODE(age) AS a, MODE(age) + COUNT(*) AS x FROM t GROUP BY ward",
        epsilon=1,
    )
    assert found.intervals().columns == ["ward", "n", "n_low", "n_high", "a", "x"]
    assert found.errors["a"].null_count() == found.errors["x"].null_count() == 4
    assert "MODE(age): with 95% confidence in all groups no value has over" in repr(found)
    text = session().query(ASKED).explain(epsilon=1)
    assert "most frequent insurer, chosen among 3 values" in text
    assert "permute-and-flip with" in text
    assert "exponential mechanism with" in session().query(ASKED).explain(rho=0.1)


def test_what_was_chosen_is_kept() -> None:
    opened = session()
    first = opened.sql(ASKED, epsilon=1)
    assert opened.sql(ASKED).frame.equals(first.frame)
    assert opened.sql("SELECT ward, MODE(age) AS a FROM t GROUP BY ward", epsilon=1).reused
    # Choices of groups say nothing of their union.
    assert not opened.sql("SELECT MODE(age) AS a, MODE(ok) AS o FROM t", epsilon=1).reused


def test_a_public_table_has_its_exact_mode() -> None:
    found = session(public=True).sql(ASKED)
    assert found.frame.filter(pl.col("ward") != "none")["i"].to_list() == ["c'd"] * 3
    assert found.loss.epsilon == 0


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("MODE(cost)", "not known beforehand"),
        ("MODE(text)", "not known beforehand"),
        ("MODE(DISTINCT age)", "is not supported"),
        ("MODE(age * 1000000)", "is chosen among"),
    ],
)
def test_values_have_to_be_known_and_few(asked: str, words: str) -> None:
    with pytest.raises(dp.QueryError, match=words):
        session().query(f"SELECT ward, {asked} FROM t GROUP BY ward")


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_private_keys_have_modes_too() -> None:
    found = session().sql(
        "SELECT text, MODE(insurer) AS i FROM t GROUP BY text", epsilon=20, delta=1e-7
    )
    assert found.frame.rows() == [("x", "c'd"), ("y", "c'd")]


def test_without_groups_there_is_nothing_to_fall_behind() -> None:
    """Where no private key is released the answer is a table without rows, which can be shown."""
    opened = dp.Session(dp.Budget(epsilon=10, delta=1e-6))
    named = TABLE.with_columns(name=pl.int_range(ROWS).cast(pl.String))
    opened.register("t", named, columns=COLUMNS)
    asked = "SELECT name, MODE(ok) AS o, COUNT(*) AS n FROM t GROUP BY name"
    found = opened.sql(asked, epsilon=0.01, delta=1e-9)
    assert found.frame.is_empty()
    assert "MODE" not in repr(found)
    assert found._repr_html_()

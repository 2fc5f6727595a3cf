"""A question whose parts were measured before costs nothing, whatever words it is asked in."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import dpframe as dp

COLUMNS = {
    "age": dp.Range(0, 110, nullable=False),
    "cost": dp.Range(0, 100, nullable=False),
    "ward": dp.Keys(["er", "gp", "icu"]),
    "smoker": dp.Keys([False, True, None]),
}


def people(rows: int = 3_000) -> pl.DataFrame:
    random = np.random.default_rng(7)
    return pl.DataFrame(
        {
            "age": random.integers(0, 100, rows),
            "cost": random.uniform(0, 100, rows),
            "ward": random.choice(["er", "gp", "icu"], rows),
            "smoker": random.choice([True, False], rows),
            "pid": random.integers(0, 300, rows),
        }
    )


def session(data: object = None, **options: object) -> dp.Session:
    found = dp.Session(dp.Budget(epsilon=10, delta=1e-6))
    found.register("t", people() if data is None else data, columns=COLUMNS, **options)  # type: ignore[arg-type]
    return found


FIRST = (
    "SELECT ward, COUNT(*) AS n, AVG(cost) AS c FROM t WHERE age >= 18 AND cost < 90 GROUP BY ward"
)


@pytest.mark.parametrize(
    "again",
    [
        FIRST,
        FIRST.replace("t WHERE", "T AS visits WHERE").replace(" n,", " how_many,"),
        "SELECT ward, COUNT(*) FROM t WHERE cost < 90 AND age >= 18 GROUP BY 1",
        "SELECT ward, COUNT(*) FROM t WHERE 90 > cost AND 18 <= age GROUP BY ward ORDER BY 2 DESC",
        "SELECT ward, SUM(cost) FROM t WHERE age >= 18 AND cost < 90 GROUP BY ward",
        "SELECT ward, AVG(cost) / COUNT(*) AS r FROM t WHERE age >= 18 AND cost < 90 GROUP BY ward",
        "SELECT COUNT(*) AS n, ward FROM t WHERE age >= 18 AND cost < 90 GROUP BY ward HAVING n > 5",
    ],
)
def test_the_same_question_in_other_words_is_free(again: str) -> None:
    asked = session()
    first = asked.sql(FIRST, epsilon=1)
    spent = asked.spent
    second = asked.sql(again)
    assert second.reused
    assert not first.reused
    assert asked.spent == spent
    assert second.loss == dp.Loss.none()


def test_reused_counts_are_the_very_numbers_that_were_released() -> None:
    asked = session()
    first = asked.sql(FIRST, epsilon=1).frame
    again = asked.sql(FIRST, epsilon=1).frame
    assert first.equals(again)


@pytest.mark.parametrize(
    "other",
    [
        FIRST.replace(">= 18", "> 18"),
        FIRST.replace("< 90", "< 91"),
        FIRST.replace("ward", "smoker"),
        FIRST.replace("AVG(cost)", "AVG(age)"),
        "SELECT ward, COUNT(*) FILTER (WHERE smoker) FROM t WHERE age >= 18 AND cost < 90 GROUP BY ward",
    ],
)
def test_a_different_question_is_not_free(other: str) -> None:
    asked = session()
    asked.sql(FIRST, epsilon=1)
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        asked.sql(other)


def test_a_mean_knows_its_count_and_its_sum() -> None:
    asked = session()
    mean = asked.sql("SELECT ward, AVG(cost) AS c FROM t GROUP BY ward", epsilon=1).frame["c"]
    count = asked.sql("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward")
    total = asked.sql("SELECT ward, SUM(cost) AS s FROM t GROUP BY ward")
    assert count.reused
    assert total.reused
    assert asked.spent.releases == 1
    ratio = total.frame["s"] / count.frame["n"]
    assert ratio.to_list() == pytest.approx(mean.to_list(), rel=1e-3)
    # The noise of two sums, over the range.
    assert count.errors["n"].to_list() == pytest.approx([5, 5, 5], abs=1.5)


def test_a_count_and_a_sum_know_the_mean() -> None:
    asked = session()
    asked.sql("SELECT COUNT(*) AS n, SUM(cost) AS s FROM t", epsilon=1)
    assert asked.sql("SELECT AVG(cost) FROM t").reused


def test_groups_in_another_order_keep_their_numbers() -> None:
    asked = session()
    one = asked.sql("SELECT ward, smoker, COUNT(*) AS n FROM t GROUP BY ward, smoker", epsilon=1)
    two = asked.sql("SELECT smoker, ward, COUNT(*) AS n FROM t GROUP BY smoker, ward")
    assert two.reused
    keys = ["ward", "smoker", "n"]
    assert one.frame.select(keys).sort(keys).equals(two.frame.select(keys).sort(keys))


def test_fresh_measures_again_and_later_answers_average_both() -> None:
    asked = session()
    text = "SELECT COUNT(*) AS n FROM t"
    # Errors large enough that whole numbers tell them apart.
    one = asked.sql(text, epsilon=0.05)
    two = asked.sql(text, epsilon=0.1, fresh=True)
    assert not two.reused
    both = asked.sql(text)
    assert both.reused
    weight = 1 / (1 + 4)  # variances are as 4 to 1
    expected = weight * one.item() + (1 - weight) * two.item()
    assert both.item() == pytest.approx(expected, abs=1)
    assert both.errors.item() < two.errors.item()


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_measurements_with_noise_that_is_nearly_none_are_averaged_too() -> None:
    asked = dp.Session(dp.Budget(epsilon=10_000))
    asked.register("t", people(), columns=COLUMNS)
    text = "SELECT COUNT(*) AS n FROM t"
    # The variance of the noise is no float but 0 from epsilon 745 on, and 1 over it none from 710 on.
    for epsilon in (0.5, 720, 1_000, 2_000):
        asked.sql(text, epsilon=epsilon, fresh=True)
    again = asked.sql(text)
    assert again.reused
    assert again.item() == pytest.approx(3_000, abs=0.01)


def test_coarser_groups_follow_from_finer_ones_that_cover_every_row() -> None:
    asked = session()
    fine = asked.sql("SELECT age, ward, COUNT(*) AS n FROM t GROUP BY age, ward", epsilon=1)
    coarse = asked.sql("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward")
    assert coarse.reused
    summed = fine.frame.group_by("ward").agg(pl.col("n").sum()).sort("ward")
    assert coarse.frame.sort("ward").equals(summed)
    # A row may have a ward that is not among the keys, so ages do not follow by adding up wards.
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        asked.sql("SELECT age, COUNT(*) AS n FROM t GROUP BY age")


def test_sums_over_finer_groups_are_not_used_where_the_cost_buys_better() -> None:
    asked = session()
    asked.sql("SELECT age, ward, COUNT(*) AS n FROM t GROUP BY age, ward", epsilon=1)
    text = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ward"
    assert not asked.sql(text, epsilon=1).reused
    assert session_with_fine().sql(text, epsilon=0.01).reused


def session_with_fine() -> dp.Session:
    asked = session()
    asked.sql("SELECT age, ward, COUNT(*) AS n FROM t GROUP BY age, ward", epsilon=1)
    return asked


def test_error_bars_of_summed_groups_are_wider_than_those_of_their_members() -> None:
    asked = session()
    fine = asked.sql("SELECT smoker, ward, COUNT(*) AS n FROM t GROUP BY smoker, ward", epsilon=1)
    asked.sql("SELECT age, ward, COUNT(*) AS n FROM t GROUP BY age, ward", epsilon=1)
    coarse = asked.sql("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward")
    assert coarse.errors["n"].min() > 5 * fine.errors["n"].max()  # type: ignore[operator]


def test_user_level_answers_are_free_too() -> None:
    asked = session(unit=dp.Unit("pid", max_rows=5))
    asked.sql(FIRST, epsilon=1)
    assert asked.sql(FIRST).reused
    asked.sql(FIRST, rho=0.01, fresh=True)
    assert asked.sql(FIRST).reused


def test_a_file_that_changed_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    people().write_parquet(path)
    asked = session(str(path))
    asked.sql(FIRST, epsilon=1)
    assert asked.sql(FIRST).reused
    people(4_000).write_parquet(path)
    assert not asked.sql(FIRST, epsilon=1).reused


def test_a_file_that_did_not_change_is_free_in_the_next_session(tmp_path: Path) -> None:
    path, ledger = tmp_path / "t.parquet", tmp_path / "t.ledger"
    people().write_parquet(path)
    for expected in (False, True):
        asked = dp.Session(dp.Budget(epsilon=2), ledger=ledger)
        asked.register("t", path, columns=COLUMNS)
        assert asked.sql(FIRST, epsilon=1).reused is expected


def test_other_declarations_are_another_question(tmp_path: Path) -> None:
    ledger = tmp_path / "t.ledger"
    one = dp.Session(dp.Budget(epsilon=4), ledger=ledger)
    one.register("t", people(), columns=COLUMNS, version="v1")
    one.sql(FIRST, epsilon=1)
    two = dp.Session(dp.Budget(epsilon=4), ledger=ledger)
    two.register("t", people(), columns=COLUMNS | {"age": dp.Range(0, 99)}, version="v1")
    assert not two.sql(FIRST, epsilon=1).reused
    three = dp.Session(dp.Budget(epsilon=4), ledger=ledger)
    three.register("t", people(), columns=COLUMNS, version="v1")
    assert three.sql(FIRST).reused
    four = dp.Session(dp.Budget(epsilon=4), ledger=ledger)
    four.register("t", people(), columns=COLUMNS, version="v2")
    assert not four.sql(FIRST, epsilon=1).reused


def test_a_relation_is_reused_only_under_a_declared_version() -> None:
    connection = duckdb.connect()
    connection.register("frame", people())
    connection.execute("CREATE TABLE data AS SELECT * FROM frame")
    asked = session(connection.table("data"))
    asked.sql(FIRST, epsilon=1)
    connection.execute("INSERT INTO data SELECT * FROM frame")
    assert not asked.sql(FIRST, epsilon=1).reused
    versioned = session(connection.table("data"), version="monday")
    versioned.sql(FIRST, epsilon=1)
    assert versioned.sql(FIRST).reused


def test_an_analyst_is_free_only_from_what_they_were_told() -> None:
    asked = session()
    ann = asked.as_analyst("ann", dp.Budget(epsilon=3))
    bob = asked.as_analyst("bob", dp.Budget(epsilon=3))
    ann.sql(FIRST, epsilon=1)
    assert ann.sql(FIRST).reused
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        bob.sql(FIRST)
    with pytest.raises(dp.BudgetError):
        bob.sql(FIRST, epsilon=3.5)
    assert float(asked.remaining.epsilon) == pytest.approx(9)


def test_explain_and_cost_say_when_a_question_is_free() -> None:
    asked = session()
    asked.sql(FIRST, epsilon=1)
    assert asked.query(FIRST).cost() == dp.Loss.none()
    assert "measured before" in asked.query(FIRST).explain()
    assert asked.query(FIRST).cost(epsilon=1, fresh=True).epsilon == 1


def test_versions_of_two_tables_are_told_apart_whatever_is_in_their_names(tmp_path: Path) -> None:
    """Put side by side, other versions of both had the same name, and so had answers of other rows."""
    asked = "SELECT COUNT(*) FROM a JOIN b ON a.pid = b.pid"
    reused = []
    for versions in (("1; declared 2", "3"), ("1", "2; declared 3")):
        opened = dp.Session(dp.Budget(epsilon=10), tmp_path / "ledger")
        for name, version in zip("ab", versions, strict=True):
            bound = dp.Unit("pid", max_rows=10)
            opened.register(name, people().select("pid"), unit=bound, version=version)
        reused += [opened.sql(asked, epsilon=1).reused for _ in range(2)]
        opened.close()
    assert reused == [False, True, False, True]

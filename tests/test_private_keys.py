"""GROUP BY over keys that nobody declared: what it shows, what it costs, and what is free."""

from __future__ import annotations

from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import dpframe as dp

NAMES = ["ann", "bob", None, "dé", "it's"]
ROWS = 3000


def people() -> pl.DataFrame:
    """Five names of 600 rows each, and one that only one row has."""
    rows = range(ROWS)
    frame = pl.DataFrame(
        {
            "pid": [i // 3 for i in rows],
            "name": [NAMES[i % 5] for i in rows],
            "ward": [["er", "gp", "icu"][i % 3] for i in rows],
            "zip": [10_000 + i % 7 for i in rows],
            "day": [date(2024, 1, 1 + i % 4) for i in rows],
            "seen": [datetime(2024, 1, 1 + i % 2, 12, 0, 0, 7) for i in rows],
            "cost": [float(i % 50) for i in rows],
        }
    )
    alone = frame[:1].with_columns(name=pl.lit("lonely"), pid=pl.lit(ROWS, dtype=pl.Int64))
    return pl.concat([frame, alone])


def session(engine: Any = "polars", budget: dp.Budget | None = None, **options: Any) -> dp.Session:
    opened = dp.Session(budget or dp.Budget(epsilon=10, delta=1e-5))
    columns = {"cost": dp.Range(0, 50), "ward": dp.Keys(["er", "gp", "icu", "none"])}
    opened.register("t", people(), columns=columns, engine=engine, **options)
    return opened


BY_NAME = "SELECT name, COUNT(*) AS n FROM t GROUP BY name"
EVERYONE = ["ann", "bob", "dé", "it's", None]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("unit", [None, dp.Unit("pid", max_rows=3)], ids=["row", "unit"])
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.2}, {"share": 0.1}, {"error": 60}])
def test_keys_of_many_units_are_shown_sorted_and_those_of_one_are_not(
    engine: Any, unit: Any, cost: Any
) -> None:
    release = session(engine, unit=unit).sql(BY_NAME, **cost)
    assert release.frame["name"].to_list() == EVERYONE
    low, high = (release.intervals(0.999999)[f"n_{end}"] for end in ("low", "high"))
    assert (low <= 600).all()
    assert (high >= 600).all()
    assert release.loss.delta > 0


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("zip", list(range(10_000, 10_007))),
        ("day", [date(2024, 1, d) for d in range(1, 5)]),
        ("seen", [datetime(2024, 1, d, 12, 0, 0, 7) for d in (1, 2)]),
        ("UPPER(name)", ["ANN", "BOB", "DÉ", "IT'S", None]),
    ],
)
def test_keys_of_any_type_come_out_as_they_are(engine: Any, key: str, expected: Any) -> None:
    asked = session(engine)
    for _ in range(2):  # the second time from the ledger
        frame = asked.sql(f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY k", epsilon=1).frame
        assert frame["k"].to_list() == expected
    assert asked.spent.releases == 1


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("unit", [None, dp.Unit("pid", max_rows=3)], ids=["row", "unit"])
def test_public_keys_are_present_even_if_empty_beside_private_ones(engine: Any, unit: Any) -> None:
    asked = session(engine, unit=unit)
    frame = asked.sql(
        "SELECT name, ward, COUNT(*) AS n FROM t GROUP BY name, ward", epsilon=1
    ).frame
    assert frame["name"].unique(maintain_order=True).to_list() == EVERYONE
    assert frame.height == 5 * 4
    empty = frame.filter(pl.col("ward") == "none")["n"]
    assert empty.abs().max() < 200


def test_explain_says_how_keys_are_chosen_before_anything_is_spent() -> None:
    asked = session(unit=dp.Unit("pid", max_rows=3))
    text = asked.query("SELECT name, ward, COUNT(*) FROM t GROUP BY name, ward").explain(epsilon=1)
    assert "keys that are not public are chosen first: name" in text
    assert "discrete Laplace noise with 67% of the cost" in text
    assert "all 4 combinations of the public keys" in text
    assert "thresholded Laplace selection with 33% of the cost" in text
    assert "one with over 16 has no say" in text
    assert asked.spent.releases == 0


def test_the_caption_says_which_groups_are_missing() -> None:
    release = session().sql(BY_NAME, epsilon=1)
    chosen = release._parts.compiled.chosen
    assert chosen is not None
    for shown in (repr(release), release._repr_html_()):
        assert f"one of {chosen.half} units is shown half of the time" in shown
        assert f"one of {chosen.sure} units 99% of the time" in shown


def test_a_third_of_the_cost_chooses_keys_and_all_of_it_where_nothing_is_measured() -> None:
    asked = session()
    assert asked.query(BY_NAME).cost(epsilon=1).epsilon == 1
    offer = asked.query(BY_NAME)._offer(asked.query(BY_NAME)._compiled, dp_cost(epsilon=1))
    assert offer.selection is not None
    assert offer.selection.loss.epsilon == Fraction(1, 3)
    assert asked.query("SELECT DISTINCT name FROM t").cost(epsilon=1).epsilon == 1


def dp_cost(**cost: Any) -> Any:
    from dpframe.release.cost import Cost

    return Cost(**cost)


# --- what is free ----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("unit", [None, dp.Unit("pid", max_rows=3)], ids=["row", "unit"])
def test_the_same_question_is_free_and_another_aggregate_reuses_the_keys(
    engine: Any, unit: Any
) -> None:
    asked = session(engine, unit=unit)
    first = asked.sql(BY_NAME, epsilon=1)
    again = asked.sql("SELECT COUNT(*) AS n, name FROM t GROUP BY 2")
    assert again.reused
    assert again.frame.select("name", "n").equals(first.frame)
    assert repr(again).endswith(repr(first).split("\n")[-1])
    sums = asked.sql("SELECT name, SUM(cost) AS s FROM t GROUP BY name", epsilon=0.5)
    assert sums.loss.delta == 0  # no keys were chosen
    assert sums.loss.epsilon == Fraction(1, 2)
    assert sums.frame["name"].to_list() == first.frame["name"].to_list()
    assert asked.sql("SELECT DISTINCT name FROM t").reused
    assert asked.sql("SELECT name, SUM(cost) / COUNT(*) AS m FROM t GROUP BY name").reused
    assert asked.spent.releases == 2


def test_fresh_chooses_again_and_its_parts_are_not_mixed_with_the_old() -> None:
    asked = session()
    asked.sql(BY_NAME, epsilon=1)
    fresh = asked.sql(BY_NAME, epsilon=1, delta=1e-7, fresh=True)
    assert 0 < fresh.loss.delta <= Fraction(1, 10**7)
    assert asked.sql(BY_NAME).frame["name"].to_list() == fresh.frame["name"].to_list()
    # Few keys now, and counts of these alone.
    few = asked.sql(BY_NAME, epsilon="0.001", fresh=True)
    assert asked.sql(BY_NAME).frame.equals(few.frame)


@pytest.mark.parametrize(
    "other",
    [
        BY_NAME.replace("FROM t", "FROM t WHERE cost > 3"),
        BY_NAME.replace("name", "zip"),
        BY_NAME.replace("BY name", "BY name, zip"),
    ],
)
def test_other_rows_or_other_keys_are_another_choice(other: str) -> None:
    asked = session()
    asked.sql(BY_NAME, epsilon=1)
    assert asked.query(other).cost(epsilon=1).delta > 0


def test_keys_are_kept_by_the_ledger(tmp_path: Path) -> None:
    for turn in range(2):
        budget, path = dp.Budget(epsilon=10, delta=1e-5), tmp_path / "l.ledger"
        with dp.Session(budget, ledger=path) as asked:
            asked.register("t", people(), version="2024")
            sql = "SELECT name, day, seen, zip FROM t GROUP BY ALL"
            release = asked.sql(sql) if turn else asked.sql(sql, epsilon=1)
            assert release.reused == bool(turn)
            assert asked.spent.releases == 1


def test_an_analyst_is_not_told_the_keys_of_another_for_free() -> None:
    asked = session()
    asked.sql(BY_NAME, epsilon=1)
    budget = dp.Budget(epsilon=1, delta=1e-6)
    ana = asked.as_analyst("ana", budget)
    assert ana.query(BY_NAME).cost(epsilon=0.5).delta > 0
    pure = asked.as_analyst("bea", dp.Budget(epsilon=1))
    with pytest.raises(dp.QueryError, match="has no public set of values"):
        pure.query(BY_NAME)


def test_sums_over_public_keys_answer_for_the_private_ones_alone() -> None:
    asked = session()
    asked.sql("SELECT name, zip > 10003 AS z, day, COUNT(*) FROM t GROUP BY ALL", epsilon=1)
    assert asked.query("SELECT COUNT(*) FROM t").cost(epsilon=1) != dp.Loss.none()
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        asked.sql("SELECT COUNT(*) FROM t")  # rows of keys that were not shown are missing


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [dp.Budget(epsilon=1), dp.Budget(rho=1)])
def test_a_budget_without_delta_is_refused_with_three_ways_out(budget: dp.Budget) -> None:
    asked = session(budget=budget)
    with pytest.raises(dp.QueryError) as refusal:
        asked.sql(BY_NAME, share=0.5)
    assert "has no public set of values" in refusal.value.what
    for way in ("dp.Keys", "keys=", "delta="):
        assert way in refusal.value.fix
    assert asked.spent.releases == 0
    assert asked.sql(BY_NAME, share=0.5, keys={"name": ["ann", "bob", None]}).frame.height == 3


def test_a_delta_beyond_what_is_kept_is_refused_and_costs_nothing() -> None:
    asked = session()
    with pytest.raises(dp.BudgetError, match="delta"):
        asked.sql(BY_NAME, epsilon=1, delta=0.5)
    assert asked.spent.releases == 0


def test_delta_where_no_key_is_chosen_is_refused() -> None:
    with pytest.raises(dp.ParameterError, match="delta= is not needed"):
        session().sql("SELECT ward, COUNT(*) FROM t GROUP BY ward", epsilon=1, delta=1e-9)


def test_a_choice_needs_candidates_that_are_known() -> None:
    asked = session()
    with pytest.raises(dp.QueryError, match="has no public set of values"):
        asked.select(BY_NAME, epsilon=1)
    assert asked.select(BY_NAME, epsilon=1, keys={"name": ["ann", "zoe"]}).winner == "ann"


def test_a_choice_is_among_the_groups_of_one_grouping() -> None:
    with pytest.raises(dp.QueryError, match="one grouping"):
        session().select("SELECT ward, COUNT(*) FROM t GROUP BY ROLLUP (ward)", epsilon=1)


def test_keys_alone_have_no_error_to_meet() -> None:
    with pytest.raises(dp.ParameterError, match="says nothing about keys"):
        session().sql("SELECT DISTINCT name FROM t", error=10)


def test_more_keys_than_a_query_may_have_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By then the charge is made: an answer for some keys, not a refusal."""
    from dpframe.release import selection

    monkeypatch.setattr(selection, "MOST_GROUPS", 15)
    asked = session()
    by_both = "SELECT name, ward, COUNT(*) AS n FROM t GROUP BY name, ward"
    for _ in range(2):  # the second time from the ledger
        release = asked.sql(by_both, epsilon=1)
        assert release.frame["name"].unique(maintain_order=True).to_list() == ["ann", "bob", "dé"]
        assert release.frame.height == 3 * 4
        assert "2 more keys were chosen than a query may have" in repr(release)
    assert asked.spent.releases == 1


def test_known_keys_that_are_too_many_for_another_query_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dpframe.release import selection

    monkeypatch.setattr(selection, "MOST_CELLS", 64 * 2)
    asked = session()
    assert asked.sql(BY_NAME, epsilon=1).frame.height == 5
    medians = asked.sql("SELECT name, MEDIAN(cost) AS m FROM t GROUP BY name", epsilon=1)
    assert medians.frame["name"].to_list() == ["ann", "bob"]
    assert "3 more keys" in repr(medians)


def test_public_keys_that_leave_no_room_are_refused_before_any_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dpframe.release import selection

    monkeypatch.setattr(selection, "MOST_GROUPS", 3)
    asked = session()
    with pytest.raises(dp.QueryError, match="public keys alone make 4 groups"):
        asked.sql("SELECT name, ward, COUNT(*) FROM t GROUP BY name, ward", epsilon=1)
    assert asked.spent.releases == 0


def test_a_public_table_with_too_many_groups_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact means all of them, and nothing is charged."""
    from dpframe.release import selection

    monkeypatch.setattr(selection, "MOST_GROUPS", 1_999)
    asked = dp.Session(dp.Budget(epsilon=1))
    names = pl.DataFrame({"name": [f"n{i}" for i in range(2_000)]})  # too many to be listed
    asked.register("t", names, public=True)
    with pytest.raises(dp.QueryError, match="make 2,000 groups"):
        asked.sql(BY_NAME)


# --- keys= at query time ---------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_keys_said_with_the_query_are_public(engine: Any) -> None:
    asked = session(engine, budget=dp.Budget(epsilon=2))
    release = asked.sql(BY_NAME, epsilon=1, keys={"name": ["zoe", "ann", None]})
    assert release.frame["name"].to_list() == ["ann", "zoe", None]
    assert release.loss.delta == 0
    assert release.frame["n"][0] > 500
    narrower = asked.query(BY_NAME, keys={"name": dp.Keys(["ann"])})
    assert narrower.cost(epsilon=1) != dp.Loss.none()  # as if declared otherwise
    assert asked.sql(BY_NAME, keys={"name": [None, "ann", "zoe"]}).reused


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"nam": ["ann"]}, "did you mean 'name'"),
        ({"name": [7]}, "is not a VARCHAR"),
        ({"name": []}, "at least one value"),
        ({"name": "ann"}, "not a list of values"),
        ({"name": ["ann", "ann"]}, "listed twice"),
        (["ann"], "not a mapping"),
    ],
)
def test_keys_are_checked_like_declared_ones(keys: Any, words: str) -> None:
    with pytest.raises(dp.DeclarationError, match=words):
        session().query(BY_NAME, keys=keys)


# --- public tables, and public keys alone ----------------------------------------------------------


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_public_table_shows_every_key(engine: Any) -> None:
    release = session(engine, budget=dp.Budget(epsilon=1), public=True).sql(BY_NAME)
    assert release.frame["name"].to_list() == ["ann", "bob", "dé", "it's", "lonely", None]
    assert release.frame["n"].to_list() == [600, 600, 600, 600, 1, 600]
    assert "missing" not in repr(release)


def test_distinct_public_keys_are_answered_without_a_look() -> None:
    asked = session(budget=dp.Budget(epsilon=1))
    release = asked.sql("SELECT DISTINCT ward FROM t ORDER BY ward DESC")
    assert release.frame["ward"].to_list() == ["none", "icu", "gp", "er"]
    assert release.loss == dp.Loss.none()
    assert asked.spent.releases == 0


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("unit", [None, dp.Unit("pid", max_rows=3)], ids=["row", "unit"])
def test_an_empty_table_has_an_empty_answer(engine: Any, unit: Any) -> None:
    asked = dp.Session(dp.Budget(epsilon=1, delta=1e-6))
    asked.register("t", people().clear(), unit=unit, engine=engine)
    for sql in (BY_NAME, "SELECT DISTINCT name FROM t"):
        release = asked.sql(sql, epsilon=0.5)
        assert release.frame.height == 0
        assert release.errors.height == 0
        assert "name" in repr(release)


@pytest.mark.parametrize("number", ["MAX(i)", "MEDIAN(i)"])
def test_a_number_of_groups_of_which_none_is_shown_has_error_bars(number: str) -> None:
    opened = dp.Session(dp.Budget(epsilon=1, delta=1e-6))
    rows = pl.DataFrame({"k": ["x"] * 3, "i": [0.5] * 3})
    opened.register("t", rows, columns={"i": dp.Range(0, 2)})
    release = opened.sql(
        f"SELECT AVG(m) AS a, COUNT(*) AS n FROM (SELECT k, {number} AS m FROM t GROUP BY k)",
        epsilon=0.001,
    )
    assert release.frame.row(0) == (None, 0)
    assert release.errors.height == release.intervals().height == 1
    assert "a" in repr(release)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_keys_that_nobody_was_shown_are_those_of_their_own_question(engine: Any) -> None:
    """An empty choice says nothing of a question about other rows, and serves its own again."""
    opened = dp.Session(dp.Budget(epsilon=10, delta=1e-4))
    rows = pl.DataFrame({"k": ["x"] * ROWS, "i": [1] * ROWS})
    opened.register("t", rows, columns={"i": dp.Range(0, 2)}, engine=engine)
    every = opened.query("SELECT k, i, COUNT(*) AS n FROM t GROUP BY k, i")
    some = opened.query("SELECT k, i, COUNT(*) AS n FROM t WHERE i IS NOT NULL GROUP BY k, i")
    assert every.release(epsilon=0.0003).frame.height == 0  # too little: nobody's key is shown
    assert every.cost(epsilon=0.5) == dp.Loss.none()
    assert some.cost(epsilon=0.5).delta > 0
    assert some.release(epsilon=0.5).frame.height == 3


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("neighbors", [{}, {"neighbors": "replace", "size": ROWS + 1}], ids=str)
@pytest.mark.parametrize("by", ["name", "alone"], ids=["shown", "none shown"])
@pytest.mark.parametrize("options", ["", ", consistent := TRUE", ", nonnegative := TRUE"])
def test_a_histogram_of_groups_that_are_chosen_is_explained_and_answered(
    options: str, by: str, neighbors: dict[str, Any], engine: Any
) -> None:
    lonely = people().with_columns(alone=pl.int_range(ROWS + 1).cast(pl.String))
    opened = dp.Session(dp.Budget(epsilon=10, delta=1e-5))
    columns = {"cost": dp.Range(0, 50)}
    opened.register("t", lonely, columns=columns, engine=engine, **neighbors)
    query = opened.query(f"SELECT {by}, HISTOGRAM(cost, 5{options}) FROM t GROUP BY {by}")
    assert "cost" in query.explain(epsilon=1)
    found = query.release(epsilon=1)
    assert found.frame.height == (0 if by == "alone" else 25)
    assert found.intervals().height == found.frame.height
    assert repr(found)

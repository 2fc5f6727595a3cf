"""Costs, refusals, the ledger, public tables, replace-one neighbours, and what explain() promises."""

from __future__ import annotations

import copy
import math
import pickle
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe.budget.ledger import Ledger
from dpframe.engines.base import Engine
from dpframe.mechanisms import Law

ENGINES = ("duckdb", "polars")
DATA = pl.DataFrame(
    {
        "id": [i % 50 for i in range(200)],
        "x": [float(i % 10) for i in range(200)],
        "age": [30 + i % 40 for i in range(200)],
        "ward": [("er", "icu", "gp")[i % 3] for i in range(200)],
    }
)
COLUMNS = {
    "x": dp.Range(0, 10, nullable=False),
    "age": dp.Range(20, 90),
    "ward": dp.Keys(["er", "gp", "icu"]),
}
COUNT = "SELECT COUNT(*) AS n FROM visits"
PURE = dp.Budget(epsilon=1)
CONCENTRATED = dp.Budget(rho=Fraction(1, 2))
APPROXIMATE = dp.Budget(epsilon=1, delta=1e-6)


def session(budget: dp.Budget = PURE, **options: Any) -> dp.Session:
    opened = dp.Session(budget, options.pop("ledger", None), queries=options.pop("queries", None))
    data = options.pop("data", DATA)
    opened.register("visits", data, columns=options.pop("columns", COLUMNS), **options)
    return opened


@pytest.fixture
def no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Law, "draw", lambda self, n, source: np.zeros(n, dtype=np.int64))


# --- what a query costs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "epsilon",
    [0.25, "0.25", "1/4", Fraction(1, 4), Decimal("0.25"), np.float64(0.25), "25e-2"],
    ids=repr,
)
def test_an_epsilon_can_be_written_in_any_exact_way(epsilon: Any) -> None:
    opened = session()
    release = opened.sql(COUNT, epsilon=epsilon)
    assert release.loss.epsilon == Fraction(1, 4)
    assert opened.spent.epsilon == Fraction(1, 4)
    assert opened.remaining.epsilon == Fraction(3, 4)


NO_NUMBERS = [
    *(0, -1, -0.0, 0.0, math.nan, math.inf, -math.inf, True, False, "", "x", "nan", "inf", "1/0"),
    *([0.1], {"a": 1}, 1j, b"0.1", "no number", "1e9999", Decimal("NaN"), Decimal("Infinity")),
]


@pytest.mark.parametrize("name", ["epsilon", "rho", "share", "error"])
@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_a_cost_is_a_finite_number_above_zero(value: Any, name: str) -> None:
    opened = session(APPROXIMATE)
    for ask in (opened.query(COUNT).release, opened.query(COUNT).explain, opened.query(COUNT).cost):
        with pytest.raises(dp.ParameterError) as caught:
            ask(**{name: value})
        assert name in caught.value.what
        assert name in caught.value.fix
    assert opened.spent.releases == 0


def test_a_cost_has_to_be_said() -> None:
    opened = session()
    with pytest.raises(dp.ParameterError, match="no cost was said"):
        opened.sql(COUNT)
    assert opened.spent.releases == 0


@pytest.mark.parametrize(
    "cost",
    [
        {"epsilon": 0.1, "rho": 0.1},
        {"epsilon": 0.1, "share": 0.1},
        {"rho": 0.1, "share": 0.1, "epsilon": 0.1},
        {"epsilon": 0.1, "error": 5},
    ],
    ids=lambda cost: "+".join(cost),
)
def test_one_cost_is_said_not_several(cost: dict[str, float]) -> None:
    opened = session(APPROXIMATE)
    with pytest.raises(dp.ParameterError, match="several costs were said"):
        opened.sql(COUNT, **cost)  # type: ignore[arg-type]
    assert opened.spent.releases == 0


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_a_share_is_a_part_of_the_budget() -> None:
    opened = session()
    assert opened.sql(COUNT, share="1/3").loss.epsilon == Fraction(1, 3)
    with pytest.raises(dp.ParameterError, match="more than the whole budget"):
        opened.sql("SELECT COUNT(*) FROM visits WHERE x > 1", share=1.01)
    assert opened.sql("SELECT COUNT(*) FROM visits WHERE x > 2", share="2/3").loss.epsilon > 0
    assert not opened.remaining


@pytest.mark.parametrize(
    ("budget", "cost", "kind"),
    [
        (PURE, {"epsilon": 0.1}, "epsilon"),
        (PURE, {"share": 0.1}, "epsilon"),
        (CONCENTRATED, {"rho": 0.1}, "rho"),
        (CONCENTRATED, {"epsilon": 0.1}, "epsilon"),
        (CONCENTRATED, {"share": 0.1}, "rho"),
        (APPROXIMATE, {"epsilon": 0.1}, "epsilon"),
        (APPROXIMATE, {"rho": 0.001}, "rho"),
        (APPROXIMATE, {"share": 0.1}, "rho"),
    ],
)
def test_every_budget_takes_the_costs_it_can(
    budget: dp.Budget, cost: dict[str, Any], kind: str
) -> None:
    opened = session(budget)
    release = opened.sql(COUNT, **cost)
    assert str(release.loss).startswith(kind)
    assert opened.spent.releases == 1


def test_gaussian_noise_is_not_charged_to_a_pure_budget() -> None:
    opened = session(PURE)
    with pytest.raises(dp.BudgetError, match="rho= cannot be charged"):
        opened.sql(COUNT, rho=0.1)
    assert opened.spent.releases == 0


@pytest.mark.parametrize("name", ["epsilon", "rho"])
def test_a_cost_too_small_for_any_noise_speaks_of_the_cost(name: str) -> None:
    opened = session(APPROXIMATE)
    with pytest.raises(dp.ParameterError, match=f"{name} is too small"):
        opened.sql(COUNT, **{name: 1e-300})  # type: ignore[arg-type]
    assert opened.spent.releases == 0


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
def test_ten_tenths_fill_the_budget_exactly() -> None:
    opened = session(dp.Budget(epsilon=1))
    for i in range(10):
        opened.sql(f"SELECT COUNT(*) FROM visits WHERE age > {i}", epsilon=0.1)
    assert opened.spent.epsilon == 1
    assert not opened.remaining


@pytest.mark.parametrize("budget", [None, 1, 1.0, "1", dp.Budget, {"epsilon": 1}])
def test_a_session_needs_a_budget(budget: Any) -> None:
    with pytest.raises(dp.ParameterError, match="is not a Budget"):
        dp.Session(budget)


# --- over budget -----------------------------------------------------------------------------------


def test_over_budget_costs_nothing_and_the_session_goes_on() -> None:
    opened = session()
    opened.sql(COUNT, epsilon=0.5)
    spent, room = opened.spent, opened.remaining
    for _ in range(3):
        with pytest.raises(dp.BudgetError) as caught:
            opened.sql("SELECT COUNT(*) FROM visits WHERE x > 1", epsilon=0.75)
        assert "epsilon 0.5" in str(caught.value)
        assert caught.value.fix == "ask with epsilon <= 0.5"
    assert (opened.spent, opened.remaining) == (spent, room)
    assert opened.sql("SELECT COUNT(*) FROM visits WHERE x > 1", epsilon=0.25).frame.height == 1
    assert "visits" in opened.describe()


def test_a_refused_query_does_not_touch_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(self: Engine, request: object) -> None:
        raise AssertionError("the data was touched")

    monkeypatch.setattr(Engine, "measure", measure)
    opened = session()
    for cost in ({"epsilon": 2}, {"epsilon": 0}, {"rho": 1}, {}, {"share": 2}):
        with pytest.raises(dp.UserError):
            opened.sql(COUNT, **cost)  # type: ignore[arg-type]


def test_the_charge_comes_before_the_data_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = session()
    seen: list[Fraction | float] = []
    measure = Engine.measure

    def watched(self: Engine, request: Any) -> Any:
        seen.append(opened.spent.epsilon)
        return measure(self, request)

    monkeypatch.setattr(Engine, "measure", watched)
    opened.sql(COUNT, epsilon=0.5)
    assert seen == [Fraction(1, 2)]


def test_a_crash_after_the_charge_keeps_the_charge(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(self: Engine, request: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "measure", crash)
    opened = session()
    with pytest.raises(KeyboardInterrupt):
        opened.sql(COUNT, epsilon=0.5)
    assert opened.spent.epsilon == Fraction(1, 2)


# --- the ledger ------------------------------------------------------------------------------------


def test_a_ledger_goes_on_where_the_last_session_stopped(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    first = session(ledger=path)
    first.sql(COUNT, epsilon=0.5)
    first.ledger.close()
    second = session(ledger=path)
    assert second.spent.epsilon == Fraction(1, 2)
    with pytest.raises(dp.BudgetError):
        second.sql("SELECT COUNT(*) FROM visits WHERE x > 1", epsilon=0.75)
    second.sql("SELECT COUNT(*) FROM visits WHERE x > 1", epsilon=0.25)
    second.ledger.close()
    third = session(ledger=str(path))
    assert third.spent.epsilon == Fraction(3, 4)
    assert third.ledger.entries().height == 2
    third.ledger.close()


def test_a_ledger_keeps_its_budget_and_its_declarations(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    session(ledger=path).ledger.close()
    with pytest.raises((dp.LedgerError, dp.UserError)):
        session(dp.Budget(epsilon=5), ledger=path)
    with pytest.raises((dp.LedgerError, dp.UserError)):
        session(ledger=path, unit=dp.Unit("id", max_rows=3))


def test_two_sessions_on_one_ledger_share_its_budget(tmp_path: Path) -> None:
    path = tmp_path / "visits.ledger"
    first, second = session(ledger=path), session(ledger=path)
    first.sql(COUNT, epsilon=0.75)
    with pytest.raises(dp.BudgetError):
        second.sql("SELECT COUNT(*) FROM visits WHERE x > 1", epsilon=0.5)
    first.ledger.close()
    second.ledger.close()


def test_the_ledger_records_what_was_asked_and_how_it_was_answered() -> None:
    opened = session()
    opened.sql(COUNT, epsilon=0.5)
    (entry,) = opened.ledger.entries().to_dicts()
    assert entry["asked"] == COUNT
    assert entry["mechanism"] == "discrete Laplace"
    assert "0.5" in str(entry["loss"])


# --- queries=k -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")
@pytest.mark.parametrize("budget", [PURE, CONCENTRATED, APPROXIMATE], ids=str)
def test_queries_k_answers_k_queries(budget: dp.Budget) -> None:
    opened = session(budget, queries=4)
    for i in range(4):
        opened.sql(f"SELECT AVG(x) FROM visits WHERE age > {i}")
    with pytest.raises(dp.BudgetError):
        opened.sql("SELECT AVG(x) FROM visits WHERE age > 10")


def test_a_cost_that_is_said_goes_before_the_default() -> None:
    opened = session(queries=4)
    assert opened.sql(COUNT, epsilon=0.1).loss.epsilon == Fraction(1, 10)


@pytest.mark.parametrize("queries", [0, -1, 1.5, True, "3", math.nan])
def test_the_number_of_queries_is_a_positive_integer(queries: Any) -> None:
    with pytest.raises(dp.ParameterError, match="queries="):
        dp.Session(PURE, queries=queries)


# --- public tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_a_public_table_is_exact_and_free(engine: str) -> None:
    opened = session(engine=engine, public=True)
    release = opened.sql("SELECT ward, COUNT(*) AS n, AVG(x) AS x FROM visits GROUP BY ward")
    expected = DATA.group_by("ward").agg(n=pl.len(), x=pl.col("x").mean()).sort("ward")
    assert release.frame["n"].to_list() == expected["n"].to_list()
    assert release.frame["x"].to_list() == pytest.approx(expected["x"].to_list(), abs=1e-6)
    assert release.errors.select("n", "x").sum().row(0) == (0, 0)
    assert opened.spent.releases == 0
    assert "no cost" in repr(release)
    assert "public" in opened.describe()


def test_a_public_table_needs_no_cost_and_takes_one_without_charging_it() -> None:
    opened = session(public=True)
    assert opened.sql(COUNT, epsilon=5).item() == 200
    assert opened.query(COUNT).cost().epsilon == 0
    assert "nothing: the table is public" in opened.query(COUNT).explain()
    assert opened.spent.releases == 0


# --- replace-one neighbours ------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_the_number_of_rows_is_what_was_declared_not_what_is_there(engine: str) -> None:
    opened = session(engine=engine, neighbors="replace", size=250)
    release = opened.sql(COUNT, epsilon=0.5)
    assert release.item() == 250
    assert release.loss.epsilon == 0
    assert release.intervals().row(0) == (250, 250.0, 250.0)


def test_what_one_row_can_change_is_noisy_under_replacement() -> None:
    query = session(neighbors="replace", size=250).query
    for text in (
        "SELECT COUNT(*) FROM visits WHERE age > 5",
        "SELECT COUNT(age) FROM visits",
        "SELECT ward, COUNT(*) FROM visits GROUP BY ward",
        "SELECT COUNT(*) FILTER (WHERE age > 5) FROM visits",
        "SELECT SUM(x) FROM visits",
    ):
        assert query(text).cost(epsilon=0.5).epsilon == Fraction(1, 2), text


def test_the_average_of_a_public_number_of_rows_needs_one_part() -> None:
    text = session(neighbors="replace", size=250).query("SELECT AVG(x) FROM visits")
    explained = text.explain(epsilon=0.5)
    assert "no noise: no unit can change it" in explained
    assert "100% of the cost" in explained


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("engine", ENGINES)
def test_without_noise_replacement_gives_the_same_sums(engine: str) -> None:
    opened = session(engine=engine, neighbors="replace", size=200)
    (row,) = opened.sql("SELECT COUNT(*), SUM(x), COUNT(age) FROM visits", epsilon=0.5).frame.rows()
    assert row == (200, pytest.approx(900), 200)


# --- explain ---------------------------------------------------------------------------------------


def explained(text: str, **cost: Any) -> list[str]:
    opened = session(APPROXIMATE)
    lines = opened.query(text).explain(**cost).split("\n")
    assert opened.spent.releases == 0
    assert opened.remaining == session(APPROXIMATE).remaining
    return lines


def test_explain_says_everything_before_anything_is_spent() -> None:
    text = (
        "SELECT ward, AVG(age) AS a FROM visits WHERE x > 1 GROUP BY ward HAVING a > 5 ORDER BY a"
    )
    shown = "\n".join(explained(text, epsilon=0.1))
    for words in (
        "compute ward, a = AVG(age)",
        "sort by a",
        "filter (AVG(age) > 5)",
        "aggregate AVG(age) by ward",
        "filter (x > 1)",
        "scan visits",
        "unit    one row, added or removed",
        "groups  3, all public",
        "parts   2",
        "sensitivity 70 in L1",
        "discrete Laplace noise with 100% of the cost",
        "discrete Laplace noise paid for by part 1",
        "95% of the time within ±",
        "cost    epsilon 0.1",
        "left    epsilon 0.9",
    ):
        assert words in shown, words


def test_explain_predicts_the_error_that_the_release_has() -> None:
    (line,) = [line for line in explained(COUNT, epsilon=0.01) if "95% of the time within" in line]
    predicted = float(re.sub(r".*± ", "", line).replace(",", ""))
    assert session().sql(COUNT, epsilon=0.01).errors.item() == predicted


@pytest.mark.parametrize(
    ("cost", "mechanism", "norm"),
    [
        ({"epsilon": 0.1}, "discrete Laplace", "L1"),
        ({"rho": 0.001}, "discrete Gaussian", "L2"),
        ({"share": 0.1}, "discrete Gaussian", "L2"),
    ],
)
def test_explain_names_the_mechanism_and_its_norm(
    cost: dict[str, Any], mechanism: str, norm: str
) -> None:
    shown = "\n".join(explained(COUNT, **cost))
    assert mechanism in shown
    assert f"in {norm}:" in shown


def test_explain_without_a_cost_says_how_to_say_one() -> None:
    shown = "\n".join(explained(COUNT))
    assert "explain(epsilon=0.1)" in shown
    assert "noise" not in shown.split("cost ")[0]


def test_explain_says_that_a_cost_would_be_refused() -> None:
    assert "it would be refused" in "\n".join(explained(COUNT, epsilon=5))


def test_explain_shows_nothing_of_the_data() -> None:
    first = session().query("SELECT ward, AVG(age), SUM(x) FROM visits GROUP BY ward")
    other = session(data=DATA.clear()).query(
        "SELECT ward, AVG(age), SUM(x) FROM visits GROUP BY ward"
    )
    assert first.explain(epsilon=0.1) == other.explain(epsilon=0.1)


# --- parts -----------------------------------------------------------------------------------------


def parts_of(text: str, budget: dp.Budget = PURE, **options: Any) -> list[str]:
    lines = session(budget, **options).query(text).explain(epsilon=0.1).split("\n")
    return [re.sub(r"^\d+\. ", "", line.strip()) for line in lines if re.match(r"  \d+\. ", line)]


@pytest.mark.parametrize("unit", [None, dp.Unit("id", max_rows=4)], ids=["row", "unit"])
def test_count_mean_and_sum_of_a_column_without_null_are_two_parts(unit: dp.Unit | None) -> None:
    found = sorted(parts_of("SELECT COUNT(*), AVG(x), SUM(x) FROM visits", unit=unit))
    assert found == ["sum of x - 10 in [0, 10]", "sum of x in [0, 10]"]


def test_a_column_that_can_be_null_needs_a_count_of_its_own() -> None:
    found = parts_of("SELECT COUNT(*), AVG(age), SUM(age), COUNT(age) FROM visits")
    assert found == [
        "count of rows",
        "sum of age - 20 in [20, 90]",
        "sum of age - 90 in [20, 90]",
    ]


def test_the_same_aggregate_in_other_words_is_the_same_part() -> None:
    text = "SELECT COUNT(*), COUNT(1), COUNT(x), COUNT(*) + 1, COUNT_IF(TRUE) FROM visits"
    found = parts_of(text)
    assert found[0] == "count of rows"
    assert len(found) <= 2


def test_different_filters_are_different_parts() -> None:
    text = "SELECT COUNT(*) FILTER (WHERE age > 5), COUNT(*) FILTER (WHERE age > 6) FROM visits"
    assert len(parts_of(text)) == 2


def test_a_sum_alone_is_measured_directly_or_centred_by_its_predicted_error() -> None:
    # [0, 10]: the sum itself has sensitivity 10; from a centred sum and a count it would be worse.
    assert parts_of("SELECT SUM(x) FROM visits") == ["sum of x in [0, 10]"]
    # [1000, 1010]: deviations are tiny beside the values, but the count is multiplied by 1005.
    far = {"x": dp.Range(1000, 1010, nullable=False)}
    (only,) = parts_of("SELECT SUM(x) FROM visits", columns=far)
    assert only.startswith("sum of x")


def test_a_sum_beside_its_mean_comes_from_the_same_parts() -> None:
    lines = session().query("SELECT AVG(x), SUM(x) FROM visits").explain(epsilon=0.1)
    assert "AVG(x): from sums from both ends of the range" in lines
    assert "SUM(x): from the sum itself" in lines
    assert "parts   2" in lines


def test_shares_of_the_cost_add_up() -> None:
    lines = session().query("SELECT COUNT(*), AVG(age), SUM(x) FROM visits").explain(epsilon=0.1)
    shares = [int(found) for found in re.findall(r"noise with (\d+)% of the cost", lines)]
    assert len(shares) == 2  # COUNT(*) and SUM(x) from both ends of x, AVG(age) from those of age
    assert 98 <= sum(shares) <= 102


# --- what is left ----------------------------------------------------------------------------------


def test_describe_tells_of_tables_and_budget() -> None:
    shown = session(unit=dp.Unit("id", max_rows=4)).describe()
    for words in (
        "epsilon 0 of 1",
        "visits on Polars",
        "all rows of one id, weighing at most 4 rows",
        "from 0.0 to 10.0",
        "one of 'er', 'gp', 'icu'",
        "no bounds declared",
    ):
        assert words in shown, words


def test_reprs_are_short_and_show_no_rows() -> None:
    opened = session()
    assert repr(opened) == "<Session: visits; epsilon 0 of 1>"
    assert (
        repr(opened.query("SELECT  COUNT(*)\nFROM visits"))
        == "<Query: SELECT COUNT(*) FROM visits>"
    )
    assert repr(dp.Session(PURE)) == "<Session: no tables; epsilon 0 of 1>"


def test_several_tables_share_one_budget() -> None:
    opened = session()
    opened.register("other", DATA.head(5), columns={"age": dp.Range(0, 100)})
    opened.sql(COUNT, epsilon=0.5)
    opened.sql("SELECT SUM(age) FROM other", epsilon=0.25)
    assert opened.spent.epsilon == Fraction(3, 4)
    with pytest.raises(dp.SQLError, match="registered tables: visits, other"):
        opened.sql("SELECT COUNT(*) FROM third", epsilon=0.1)


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("engine", ENGINES)
def test_units_within_their_weight_are_untouched(engine: str) -> None:
    opened = session(engine=engine, unit=dp.Unit("id", max_rows=4))
    (row,) = opened.sql(
        "SELECT COUNT(*), SUM(x), COUNT(DISTINCT id) FROM visits", epsilon=0.5
    ).frame.rows()
    assert row == (200, pytest.approx(900), 50)


@pytest.mark.usefixtures("no_noise")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_heavy_unit_weighs_no_more_than_declared_and_its_mean_is_kept(engine: str) -> None:
    data = pl.DataFrame({"id": [1] * 1000 + [2], "x": [8.0] * 1000 + [2.0]})
    opened = session(
        engine=engine, data=data, unit=dp.Unit("id", max_rows=2), columns={"x": COLUMNS["x"]}
    )
    (row,) = opened.sql("SELECT COUNT(*), SUM(x), AVG(x) FROM visits", epsilon=0.5).frame.rows()
    assert row == (3, pytest.approx(18), pytest.approx(6))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("unit", [None, dp.Unit("id", max_rows=4)], ids=["row", "unit"])
@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": 0.02}], ids=["laplace", "gaussian"])
def test_an_empty_table_gets_noise_like_any_other(
    cost: dict[str, Any], unit: dp.Unit | None, engine: str
) -> None:
    opened = session(
        dp.Budget(epsilon=100, delta=1e-6), engine=engine, unit=unit, data=DATA.clear()
    )
    text = "SELECT ward, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM visits GROUP BY ward"
    release = opened.sql(text, **cost)
    assert release.frame["ward"].to_list() == ["er", "gp", "icu"]
    assert release.frame.select("n", "s", "a").null_count().row(0) == (0, 0, 0)
    assert (release.errors["n"] > 0).all()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("cost", [{"epsilon": 1e-22}, {"rho": 1e-60}], ids=str)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) AS n, SUM(x) AS s FROM t",
        "SELECT k, COUNT(*) AS n, SUM(COUNT(*)) OVER () AS all FROM t GROUP BY k",
        "SELECT HISTOGRAM(x, 3, cumulative := TRUE) FROM t",
    ],
)
def test_noise_beyond_64_bits_is_no_error(sql: str, cost: dict[str, Any], engine: Any) -> None:
    """A cost that buys next to nothing is answered with next to nothing, not by a failed cast."""
    opened = dp.Session(dp.Budget(rho=1))
    columns = {"x": dp.Range(0, 9), "k": dp.Keys(["a", "b"])}
    data = pl.DataFrame({"x": [1, 2, 3], "k": ["a", "b", "a"]})
    opened.register("t", data, columns=columns, engine=engine)
    for _ in range(5):
        found = opened.sql(sql, fresh=True, **cost)
        assert found.frame.height == found.intervals().height == found.errors.height
        assert repr(found)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("neighbors", [{}, {"neighbors": "replace", "size": 3}], ids=str)
@pytest.mark.parametrize("unit", [dp.Row(), dp.Unit("u", max_rows=2)], ids=["row", "unit"])
def test_a_column_that_can_only_be_zero_is_answered(
    unit: Any, neighbors: dict[str, Any], engine: Any
) -> None:
    data = pl.DataFrame({"u": [1, 2, 3], "x": [0, 0, 0], "k": ["a", "b", "a"]})
    opened = dp.Session(dp.Budget(epsilon=100))
    columns = {"x": dp.Range(0, 0), "k": dp.Keys(["a", "b"])}
    opened.register("t", data, columns=columns, unit=unit, engine=engine, **neighbors)
    asked = "SELECT SUM(x), AVG(x), STDDEV(x), SUM(x - x) FROM t"
    assert opened.sql(asked, epsilon=1).frame.height == 1
    assert opened.sql(f"SELECT k, {asked[7:]} GROUP BY k", epsilon=1).frame.height == 2
    winner = "SELECT k FROM t GROUP BY k ORDER BY SUM(x) DESC LIMIT 1"
    assert opened.sql(winner, epsilon=1).item() in ("a", "b")


def test_a_closed_session_can_be_looked_at_and_says_how_to_go_on(tmp_path: Path) -> None:
    with dp.Session(dp.Budget(epsilon=1), ledger=tmp_path / "a.ledger") as session:
        session.register("t", pl.DataFrame({"x": [1]}))
    assert "t; ledger" in repr(session)
    assert "is closed" in repr(session)
    with pytest.raises(dp.LedgerError, match=r"dp\.Session\(budget, ledger=\.\.\.\)"):
        session.sql("SELECT COUNT(*) FROM t", epsilon=0.1)


def test_sessions_and_releases_say_what_travels_between_processes_instead() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", pl.DataFrame({"x": [1]}))
    release = session.sql("SELECT COUNT(*) AS n FROM t", epsilon=0.1)
    for each, instead in ((session, "ledger="), (release, r"release\.frame")):
        with pytest.raises(dp.ParameterError, match=instead):
            pickle.dumps(each)
    with pytest.raises(dp.ParameterError, match="deep copy"):
        copy.deepcopy(session)
    assert copy.copy(session).sql("SELECT COUNT(*) AS n FROM t").reused
    for other in (copy.copy(release), copy.deepcopy(release)):
        assert other.intervals(0.9).equals(release.intervals(0.9))


@pytest.mark.parametrize("wrong", [b"x", 5, "a\0b", "a" * 5_000])
def test_what_is_no_path_is_no_ledger(wrong: Any) -> None:
    with pytest.raises(dp.LedgerError, match="cannot be the path of a ledger"):
        dp.Session(dp.Budget(epsilon=1), ledger=wrong)


@pytest.mark.parametrize("header", ["x,u", "u,x,y", "u", "v,x"])
def test_a_csv_file_with_another_header_costs_nothing(tmp_path: Path, header: str) -> None:
    """Cells belong to columns by place: the unit of a row would be what another column has."""
    place = tmp_path / "t.csv"
    place.write_text("u,x\n1,2\n")
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", place, unit=dp.Unit("u", max_rows=1), columns={"x": dp.Range(0, 9)})
    place.write_text("u,x\n1,2\n3,4\n")
    assert session.sql("SELECT COUNT(*) AS n FROM t", epsilon=0.5).frame.height == 1
    place.write_text(f"{header}\n1,2\n3,4\n5,6\n")
    for _ in range(2):
        with pytest.raises(dp.EngineError, match="not what it was"):
            session.sql("SELECT SUM(x) AS n FROM t", epsilon=0.25)
    assert session.spent.releases == 1


def test_a_lazy_frame_over_a_file_that_is_no_parquet_any_more_costs_nothing(tmp_path: Path) -> None:
    place = tmp_path / "t.parquet"
    pl.DataFrame({"x": [1, 2]}).write_parquet(place)
    session = dp.Session(dp.Budget(epsilon=1))
    lazy = pl.scan_parquet(place).filter(pl.col("x") > 0)
    session.register("t", lazy, columns={"x": dp.Range(0, 9)}, engine="polars")
    assert session.sql("SELECT SUM(x) AS n FROM t", epsilon=0.5).frame.height == 1
    place.write_bytes(b"no Parquet file")
    with pytest.raises(dp.EngineError, match="not what it was"):
        session.sql("SELECT COUNT(*) AS n FROM t", epsilon=0.25)
    assert session.spent.releases == 1


@pytest.mark.parametrize("version", [None, "2026-11"])
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("written", [b"", b"no Parquet file", None], ids=["empty", "other", "z"])
def test_a_file_that_became_another_costs_nothing(
    tmp_path: Path, engine: Any, written: bytes | None, version: str | None
) -> None:
    place, rows = tmp_path / "t.parquet", pl.DataFrame({"x": [1, 2], "y": [3, 4]})
    rows.write_parquet(place)
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", place, engine=engine, version=version)
    if written is None:
        rows.rename({"y": "z"}).write_parquet(place)
    else:
        place.write_bytes(written)
    for _ in range(2):
        with pytest.raises(dp.EngineError, match="not what it was") as raised:
            session.sql("SELECT COUNT(*) AS n FROM t WHERE y > 3", epsilon=0.1)
        assert raised.value.__context__ is None
    assert session.spent.epsilon == 0
    rows.with_columns(z=1).write_parquet(place)  # another column does no harm
    session.sql("SELECT COUNT(*) AS n FROM t WHERE y > 3", epsilon=0.1)


@pytest.mark.parametrize("version", [None, "2026-11"])
@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("engine", ["duckdb", "polars", "a lazy frame"])
def test_a_file_that_is_gone_costs_nothing(
    tmp_path: Path, engine: Any, fresh: bool, version: str | None
) -> None:
    place = tmp_path / "t.parquet"
    pl.DataFrame({"x": [1, 2]}).write_parquet(place)
    session = dp.Session(dp.Budget(epsilon=1))
    if engine == "a lazy frame":
        session.register("t", pl.scan_parquet(place), version=version)
    else:
        session.register("t", place, engine=engine, version=version)
    place.unlink()
    with pytest.raises(dp.EngineError, match="not where it was"):
        session.sql("SELECT COUNT(*) AS n FROM t", epsilon=0.1, fresh=fresh)
    assert session.spent.epsilon == 0


@pytest.mark.parametrize("gone", ["file", "space"])
@pytest.mark.parametrize(
    "asked",
    ["SELECT COUNT(*) AS n FROM t", "SELECT x FROM t GROUP BY x ORDER BY COUNT(*) DESC LIMIT 1"],
)
def test_an_answer_that_is_paid_for_is_given_though_it_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: str, gone: str
) -> None:
    place = tmp_path / "t.parquet"
    pl.DataFrame({"x": [1, 2]}).write_parquet(place)
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", place, columns={"x": dp.Keys([1, 2])})
    measure = Engine.measure

    def measured(engine: Engine, request: Any) -> Any:
        found = measure(engine, request)
        place.unlink()
        return found

    def full(*_: object) -> None:
        raise dp.LedgerError("the disk is full", why="of other files", fix="free some space")

    if gone == "file":
        monkeypatch.setattr(Engine, "measure", measured)
    else:
        monkeypatch.setattr(Ledger, "_store", full)
    release = session.sql(asked, epsilon=0.25)
    assert release.frame.height == 1
    assert str(release.loss) == "epsilon 0.25"
    assert session.spent.epsilon == Fraction(1, 4)


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_a_table_without_a_readable_column_is_counted(engine: Any) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("lists", pl.DataFrame({"x": [[1], [2]]}), engine=engine)
    session.register("t", pl.DataFrame({"x": [1, 2]}), engine=engine)
    for table in ("lists", "t"):  # beside others, too
        assert session.sql(f"SELECT COUNT(*) AS n FROM {table}", epsilon=0.1).frame.columns == ["n"]
    with pytest.raises(dp.QueryError, match="cannot be used"):
        session.sql("SELECT COUNT(x) FROM lists", epsilon=0.1)

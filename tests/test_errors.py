"""Errors say what, why and how to fix it; they travel, and carry nothing of private rows."""

from __future__ import annotations

import copy
import pickle
import traceback
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

import dpframe as dp
from dpframe import errors
from dpframe.engines.base import withhold_rows

CLASSES = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, dp.DPFrameError)
]


def example(kind: type[dp.DPFrameError]) -> dp.DPFrameError:
    if issubclass(kind, dp.InternalError):
        return kind("it broke")  # type: ignore[call-arg]
    return kind("it broke", why="a reason", fix="do_this()")


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_says_what_why_and_how_to_fix_it(kind: type[dp.DPFrameError]) -> None:
    error = example(kind)
    assert error.what == "it broke"
    assert error.why
    assert error.fix
    assert str(error) == f"it broke\n  why: {error.why}\n  fix: {error.fix}"


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_every_error_travels_between_processes(kind: type[dp.DPFrameError]) -> None:
    error = example(kind)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert (other.what, other.why, other.fix) == (error.what, error.why, error.fix)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = errors.__doc__ or ""
    for kind in CLASSES:
        assert kind.__name__ in drawn
        parent = kind.__mro__[1].__name__
        if parent in drawn:
            assert drawn.index(parent) < drawn.index(f"─ {kind.__name__}")


def test_our_bugs_are_not_the_users_mistakes() -> None:
    assert not issubclass(dp.InternalError, dp.UserError)
    assert not issubclass(dp.EngineError, dp.UserError)
    assert issubclass(dp.SQLError, dp.QueryError)
    assert issubclass(dp.BudgetError, dp.UserError)
    assert issubclass(dp.PrivacyWarning, UserWarning)


def secret_failure() -> None:
    raise ValueError("could not convert 'alice@example.com'")


@pytest.mark.parametrize(
    "failure", [ValueError, RuntimeError, MemoryError, pl.exceptions.ComputeError]
)
def test_an_engine_error_quotes_nothing_of_the_original(failure: type[Exception]) -> None:
    def fail() -> None:
        raise failure("could not convert 'alice@example.com'")

    with pytest.raises(dp.EngineError) as caught:
        withhold_rows("DuckDB", fail)
    shown = "".join(traceback.format_exception(caught.value))
    assert "alice" not in shown
    assert failure.__name__ in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_an_interrupt_stays_an_interrupt() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        withhold_rows("DuckDB", interrupt)


def test_a_row_that_breaks_the_engine_is_not_shown() -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    broken = pl.LazyFrame({"s": ["alice@example.com"]}).select(x=pl.col("s").cast(pl.Int64))
    session.register("t", broken, columns={"x": dp.Range(0, 1)})
    with pytest.raises(dp.EngineError) as caught:
        session.sql("SELECT SUM(x) FROM t", epsilon=0.5)
    assert "alice" not in "".join(traceback.format_exception(caught.value))
    # The rows may have been read: what was charged stays charged.
    assert session.spent.releases == 1


WRONG = {
    "the name of a table": lambda s: s.table(["people"]),
    "a frame as a table": lambda s: s.histogram(pl.DataFrame({"age": [1]}), "age", epsilon=0.1),
    "a number for an analyst's budget": lambda s: s.as_analyst("ana", 0.1),
    "a number for an analyst's name": lambda s: s.as_analyst(7, dp.Budget(epsilon=0.1)),
    "epsilons to compose": lambda s: dp.compose([0.1, 0.1], delta=1e-6),
    "one loss to compose": lambda s: dp.compose(0.1, delta=1e-6),
    "several columns of a unit": lambda s: s.register(
        "t", pl.DataFrame({"a": [1]}), unit=dp.Unit(["a"], max_rows=2)
    ),
    "a type as a bound": lambda s: s.register(
        "t", pl.DataFrame({"a": [1]}), columns={"a": dp.Range(0, int)}
    ),
    "a key beyond every float": lambda s: s.register(
        "t", pl.DataFrame({"a": [1.0]}), columns={"a": dp.Keys([10**400])}
    ),
    "a key with half of a character": lambda s: s.register(
        "t", pl.DataFrame({"a": ["x"]}), columns={"a": dp.Keys(["\ud800"])}
    ),
    "a table as its own path": lambda s: s.register("t", "a,b\n" + "1,2\n" * 2_000),
    "fresh as a text": lambda s: s.sql("SELECT COUNT(*) FROM people", epsilon=0.1, fresh="no"),
    "largest as a text": lambda s: s.select(
        "SELECT ward, COUNT(*) FROM people GROUP BY ward", epsilon=0.1, largest="no"
    ),
    "a regression of an expression": lambda s: s.linear_regression(
        "people", pl.col("age"), x=["age"], epsilon=0.1
    ),
    "edges that are one number": lambda s: s.histogram(
        "people", "age", edges=np.float64(3), epsilon=0.1
    ),
    "edges of edges": lambda s: s.histogram(
        "people", "age", edges=[0, np.array([1, 2]), 5], epsilon=0.1
    ),
    "a set as a constant": lambda s: s.table("people").filter(ward={"er", "gp"}),
    "an integer beyond every type": lambda s: s.table("people").filter(10**400),
    "a decimal that is no number": lambda s: s.table("people").filter(age=Decimal("NaN")),
    "half of a character as a column": lambda s: s.table("people").select("\ud800"),
    "names that are no mapping": lambda s: s.table("people").rename("age"),
    "a name that is no text": lambda s: s.table("people").rename({"age": 7}),
    "a join on a number": lambda s: s.table("people").join(s.table("wards"), on=7),
    "a suffix that is no text": lambda s: s.table("people").join(
        s.table("wards"), on="ward", suffix=7
    ),
    "a direction that is none": lambda s: (
        s.table("people").group_by("ward").len().sort("len", descending=None)
    ),
    "several confidences": lambda s: s.sql("SELECT COUNT(*) FROM people").intervals([0.9, 0.95]),
    "several confidences in bins": lambda s: s.histogram("people", "age", bins=3).intervals(
        [0.9, 0.95]
    ),
    "an edge beyond every float": lambda s: s.histogram("people", "age", bins=3).between(
        0, 10**400
    ),
    "an edge that is an array": lambda s: s.histogram("people", "age", bins=3).between(
        np.array([0, 1]), None
    ),
    "a margin of an expression": lambda s: s.histogram(
        "people", ["age", "ward"], bins={"age": 3}
    ).margin(pl.col("age")),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_of_a_wrong_type_is_an_error_of_this_library_and_costs_nothing(wrong: str) -> None:
    people = pl.DataFrame({"age": [31, 59], "ward": ["er", "gp"]})
    columns = {"age": dp.Range(0, 110), "ward": dp.Keys(["er", "gp"])}
    session = dp.Session(dp.Budget(epsilon=4), queries=4)
    session.register("people", people, columns=columns)
    session.register("wards", people.select("ward"), public=True)
    session.sql("SELECT COUNT(*) FROM people")  # so that asking for them again is free
    session.histogram("people", "age", bins=3)
    session.histogram("people", ["age", "ward"], bins={"age": 3})
    spent = session.spent.epsilon
    with pytest.raises(dp.UserError):
        WRONG[wrong](session)
    assert session.spent.epsilon == spent

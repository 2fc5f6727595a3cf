"""Errors say what, why and how to fix it; they travel, and carry nothing of private rows."""

from __future__ import annotations

import copy
import pickle
import traceback

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

"""The benchmark of accuracy asks what it says it asks; figures are not asserted, peers not needed."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).parent / "benchmarks" / "accuracy.py"
ROWS = 1_000


@pytest.fixture(scope="module")
def accuracy() -> Any:
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("accuracy", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["accuracy"] = module  # dataclasses look their module up
    before = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = before
    return module


def test_every_question_is_answered_and_scored(accuracy: Any) -> None:
    table = accuracy.make(ROWS)
    names = list(accuracy.QUESTIONS)
    options = argparse.Namespace(questions=names, epsilon=[1.0], releases=3, seconds=60)
    cells = {(name, 1.0, "dpframe"): accuracy.Cell() for name in names}
    accuracy.collect(cells, "dpframe", accuracy.measure_ours(table, options), table)
    for (name, _, _), cell in cells.items():
        assert cell.releases == 3, name
        assert np.isfinite(cell.error), name


def test_the_table_is_the_same_every_time(accuracy: Any) -> None:
    one, two = accuracy.make(ROWS), accuracy.make(ROWS)
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert {len(column) for column in one.values()} == {ROWS}
    sizes = np.unique(one["u"], return_counts=True)[1]
    assert sizes.max() <= accuracy.PUBLIC["max_rows"]
    assert np.bincount(one["c"]).argmax() == 0


def test_scores_of_true_answers_are_nothing(accuracy: Any) -> None:
    table = accuracy.make(ROWS)
    for question in accuracy.QUESTIONS.values():
        truth = [float(v) for v in question.truth(table)]
        if question.score is accuracy._ranks:
            continue  # the truth of a quantile is its rank, not a value
        assert question.score(table, [truth], truth) == 0
    median = float(np.median(table["x"]))
    assert accuracy._ranks(table, [[median]], [0.5]) <= 1


def test_what_a_tool_cannot_do_is_shown(accuracy: Any, capsys: pytest.CaptureFixture[str]) -> None:
    cells = {("count", 1.0, tool): accuracy.Cell() for tool in ("dpframe", "qrlew")}
    records = [{"question": "count", "epsilon": 1.0, "way": "", "answers": [[99.0], [101.0]]}]
    table = accuracy.make(100)
    accuracy.collect(cells, "dpframe", iter(records), table)
    accuracy.collect(cells, "qrlew", iter([{"broken": "not installable"}]), table)
    options = argparse.Namespace(questions=["count"], epsilon=[1.0], releases=2, markdown=False)
    accuracy.show(cells, options)
    shown = capsys.readouterr().out
    assert "qrlew: not installable: everything" in shown


def test_worse_is_what_chance_does_not_explain(accuracy: Any) -> None:
    table = accuracy.make(100)
    near, far = ([[100.0 + size * sign] for sign in (-1, 1) * 50] for size in (1, 2))
    own, peer = (accuracy.QUESTIONS["count"].error(table, answers) for answers in (far, near))
    assert (own[0], peer[0]) == (2.0, 1.0)
    for spread, is_worse in ((0.1, True), (0.6, False)):
        asked = {
            "dpframe": accuracy.Cell(own[0], spread, 100),
            "opendp": accuracy.Cell(peer[0], 0, 9),
        }
        assert accuracy._compared(asked) == (f"2.00 ± {2 * spread:.2f}", is_worse)


def test_there_is_a_script_for_every_peer(accuracy: Any) -> None:
    scripts = {path.stem.removeprefix("ask_") for path in accuracy.SCRIPTS.glob("ask_*.py")}
    assert scripts == set(accuracy.PEERS)


def test_it_says_how_it_is_used() -> None:
    run = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=True
    )
    assert "--epsilon" in run.stdout

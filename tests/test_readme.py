"""Every command and every snippet of the README runs as it stands."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import dpframe as dp
from dpframe.aggregates.base import AGGREGATES
from dpframe.aggregates.layout import layout_for
from dpframe.demo import COLUMNS, UNIT, hospital
from dpframe.plan.functions import FUNCTIONS
from dpframe.release.reuse import part_keys

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def table(header: str) -> list[list[str]]:
    """The rows of the table whose first column has this header."""
    body = README.partition(f"\n| {header} |")[2].partition("\n\n")[0].split("\n")[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in body]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@pytest.fixture(scope="module")
def session() -> dp.Session:
    session = dp.Session(dp.Budget(epsilon=1))
    declared = {name: column for name, column in COLUMNS.items() if name != "insurer"}
    session.register("visits", hospital(100), unit=UNIT, columns=declared)
    session.register("wards", hospital(10), public=True)
    return session


# --- Python -------------------------------------------------------------------------------------


def test_the_python_blocks_run_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = blocks("python")
    assert len(found) >= 6
    names: dict[str, object] = {"__name__": "__main__"}
    for block in found:
        exec(compile(block, "README.md", "exec"), names)
    names["session"].close()  # type: ignore[attr-defined]
    shown = capsys.readouterr().out
    # What does not depend on noise is quoted word for word.
    for text in blocks("text"):
        if "±" not in text or text.startswith("plan"):
            assert text in shown


def test_a_quoted_release_looks_like_one_of_today(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("python")[0], "README.md", "exec"), names := {})
    names["session"].close()
    (quote,) = [t for t in blocks("text") if t.startswith("ward  ")]
    shape = [re.sub(r"[-\d,.]+", "#", line.replace("─", "")).split() for line in quote.splitlines()]
    shown = capsys.readouterr().out.splitlines()
    today = [re.sub(r"[-\d,.]+", "#", line.replace("─", "")).split() for line in shown]
    assert sorted(shape) == sorted(today)


# --- commands -----------------------------------------------------------------------------------


def commands() -> list[str]:
    lines = "\n".join(blocks("sh")).splitlines()
    return [part.strip() for line in lines for part in line.split("&&") if part.strip()]


def test_every_command_exists_and_every_dpframe_command_runs(tmp_path):
    found = commands()
    assert found[:3] == [
        "python3 -m venv .venv",
        ".venv/bin/pip install --quiet .",
        ".venv/bin/dpframe demo",
    ]
    for command in found:
        program, *arguments = shlex.split(command)
        match Path(program).name:
            case "dpframe":
                run = [sys.executable, "-m", "dpframe", *arguments]
                ran = subprocess.run(run, cwd=tmp_path, capture_output=True, timeout=120)
                assert (ran.returncode, ran.stderr) == (0, b""), command
            case "python3":
                assert shutil.which("python3")
                __import__(arguments[1])
            case "pip":
                assert (ROOT / "pyproject.toml").is_file()
            case "bash":
                script = ROOT / arguments[0]
                assert script.is_file(), command
                assert subprocess.run(["bash", "-n", str(script)]).returncode == 0
            case _:
                pytest.fail(f"who runs {command!r}?")


def test_the_checks_run_exactly_the_test_command_of_the_readme():
    assert "bash .ci/test" in commands()
    assert "\ncheck bash .ci/test\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


# --- claims -------------------------------------------------------------------------------------


def test_everything_listed_as_answered_is_answered(session):
    listed = {row[0]: quoted(row[1]) for row in table("part of a query")}
    for kind in ("aggregates", "how values vary", "places", "different values"):
        for aggregate in listed.pop(kind):
            assert session.query(f"SELECT {aggregate} FROM visits")
    listed.pop("clauses")
    listed.pop("tables")
    for expressions in listed.values():
        for expression in expressions:
            assert session.query(f"SELECT COUNT(*) FROM visits WHERE ({expression}) IS NOT NULL")


def test_everything_that_is_answered_is_listed():
    listed = " ".join(row[1] for row in table("part of a query")).upper().replace("_", "")
    names = {name for function in FUNCTIONS.values() for name in function.sql}
    names -= {"strposition", "timetounix"}  # what the parser calls STRPOS and EPOCH
    # Operators are known by the names of their nodes.
    operators = (
        "add sub mul neg div intdiv mod pow eq neq lt lte gt gte nullsafeneq dpipe and or not like"
    )
    for name in names - set(operators.split()):
        assert f"{name.upper().replace('_', '')}(" in listed
    # Names that the parser gives to VAR_SAMP, VAR_POP and APPROX_COUNT_DISTINCT; one of Polars.
    others = {"MEAN", "VARIANCE_SAMP", "VARIANCE_POP", "APPROX_DISTINCT", "N_UNIQUE"}
    for name in AGGREGATES.keys() - others:
        assert f"{name.replace('_', '')}(" in listed


SIDE_BY_SIDE = [row for row in table("in Polars") if row[2].count("`") == 2]


@pytest.mark.parametrize("row", SIDE_BY_SIDE, ids=lambda row: row[2])
def test_what_stands_side_by_side_is_the_same_question(row, session):
    plain, sql, ours = (" ".join(quoted(cell)) for cell in row)
    assert eval(plain, {"lf": hospital(10).lazy(), "pl": pl}).collect().height
    chained = eval(ours, {"visits": session.table("visits"), "pl": pl}).query()
    assert plain.removeprefix("lf") == ours.removeprefix("visits")
    if sql:
        assert measured(chained) == measured(session.query(sql))


def measured(query):
    compiled = query._compiled
    return sorted(map(part_keys(compiled, 1, ""), layout_for(compiled, 1).parts))


def test_every_method_that_is_listed_is_there():
    listed = {row[0]: quoted(row[1]) for row in table("what") if row[0] != "expressions"}
    kinds = {"rows": dp.Frame, "the noisy table": dp.Summary}
    for what, kind in kinds.items():
        assert len(listed[what]) >= 6
        assert all(callable(getattr(kind, name)) for name in listed[what])


@pytest.mark.parametrize("row", table("refused"), ids=lambda row: row[0])
def test_everything_listed_as_refused_is_refused_at_no_cost(row, session):
    (query,) = quoted(row[0])
    with pytest.raises(dp.UserError):
        session.sql(query, epsilon=0.1)
    assert session.spent.releases == 0


def test_what_is_grouped_by_in_the_text_can_be_grouped_by(session):
    sentence = README.partition("`GROUP BY` takes columns")[2].partition("a `CASE`")[0]
    expressions = quoted(sentence)
    assert len(expressions) == 3
    for expression in expressions:
        assert session.query(f"SELECT {expression}, COUNT(*) FROM visits GROUP BY 1")


def test_every_public_name_is_one_that_exists():
    for name in set(re.findall(r"(?<!\.)\bdp\.([A-Za-z]+)", README)):
        assert name in dp.__all__


def test_no_path_or_host_of_a_machine_is_named():
    assert not re.search(r"https?://|/home/|/root/|/opt/|/work/|\.venv/lib", README)

"""The command `dpframe`, run as its users run it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import dpframe as dp
from dpframe.cli import main
from dpframe.demo import COLUMNS, QUESTIONS, UNIT, hospital

DPFRAME = [sys.executable, "-m", "dpframe"]


def dpframe(
    *arguments: str, folder: Path, encoding: str = "utf-8", **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*DPFRAME, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONIOENCODING": encoding} | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding=encoding,
        timeout=120,
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    place = tmp_path / "visits.ledger"
    session = dp.Session(dp.Budget(epsilon=1), ledger=place)
    session.register("visits", hospital(50), unit=UNIT, columns=COLUMNS)
    session.sql("SELECT COUNT(*) AS n FROM visits", epsilon=0.25)
    session.close()
    return place


# --- the demo -----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_the_demo_answers_a_dozen_questions_and_refuses_one_more(engine, tmp_path):
    ran = dpframe("demo", "--rows", "3000", "--engine", engine, folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    for question in QUESTIONS:
        assert question.words in ran.stdout
    left = [int(percent) for percent in re.findall(r"(\d+)% left", ran.stdout)]
    assert len(left) == len(QUESTIONS) == 12
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
    assert "epsilon 0.05 but nothing remains" in ran.stdout
    assert "The ledger holds 12 charges: epsilon 1 of 1." in ran.stdout
    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert "\x1b" not in ran.stdout  # it is no terminal
    assert list(tmp_path.iterdir()) == []


def test_most_error_bars_of_the_demo_hold_the_truth(capsys):
    assert main(["demo", "--rows", "20000", "--budget", "1,1e-6"]) == 0
    shown = capsys.readouterr().out
    held, bars = map(int, re.search(r"(\d+) of (\d+) error bars", shown).groups())
    assert bars >= 20
    assert held >= bars - 10  # ten misses of 30 have a chance below 1e-6


def test_the_demo_draws_with_ascii_where_nothing_else_is_understood(tmp_path):
    ran = dpframe("demo", "--rows", "1", folder=tmp_path, encoding="ascii")
    assert ran.returncode == 0
    assert "[-----" in ran.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_the_demo_is_coloured_on_a_terminal_unless_no_color_is_set(no_color, coloured, tmp_path):
    import pty

    ours, theirs = pty.openpty()
    environment = os.environ | {"NO_COLOR": no_color, "TERM": "xterm"}
    process = subprocess.Popen(
        [*DPFRAME, "demo", "--rows", "10"], cwd=tmp_path, env=environment, stdout=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while chunk := os.read(ours, 4096):
            shown += chunk
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(ours)
    assert process.wait(timeout=60) == 0
    assert (b"\x1b[" in shown) is coloured


def test_the_demo_can_keep_its_ledger_and_never_spends_it_twice(tmp_path, capsys):
    place = str(tmp_path / "demo.ledger")
    for _ in range(2):
        assert main(["demo", "--rows", "100", "--ledger", place]) == 0
        assert "The ledger holds 12 charges: epsilon 1 of 1." in capsys.readouterr().out
    assert main(["demo", "--budget", "2", "--ledger", place]) == 1
    assert "has a budget of epsilon 1, not epsilon 2" in capsys.readouterr().err


def test_made_up_rows_exercise_nulls_clamping_and_weighting():
    visits = hospital(50_000)
    assert visits.equals(hospital(50_000))
    assert visits.height == 50_000
    assert visits["cost"].null_count() > 0
    assert visits["smoker"].null_count() > 0
    assert visits["cost"].max() > COLUMNS["cost"].high
    assert visits["patient_id"].value_counts()["count"].max() > UNIT.max_rows


# --- interruptions ------------------------------------------------------------------------------


def _started(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [*DPFRAME, "demo", "--rows", "100000"],
        cwd=folder,
        env=os.environ | {"TMPDIR": str(folder), "PYTHONIOENCODING": "utf-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    while "1. How many visits" not in process.stdout.readline():
        pass
    return process


def test_a_reader_who_has_seen_enough_is_no_error(tmp_path):
    with _started(tmp_path) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3])
def test_ctrl_c_stops_at_once_without_a_traceback_or_leftovers(delay, tmp_path):
    process = _started(tmp_path)
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate(timeout=60)
    # A shell shows 130 for both: an engine may raise it once more when Python is on its way out.
    assert process.returncode in (130, -signal.SIGINT)
    assert complaint.strip() in ("interrupted", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_said_in_one_line(tmp_path):
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [*DPFRAME, "demo", "--rows", "10"],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=60,
        )
    assert ran.returncode == 1
    assert "No space left" in ran.stderr
    assert "Traceback" not in ran.stderr


# --- the ledger ---------------------------------------------------------------------------------


def test_ledger_show_lists_charges_and_what_is_left(ledger, tmp_path):
    ran = dpframe("ledger", "show", str(ledger), folder=tmp_path)
    assert ran.returncode == 0
    assert "SELECT COUNT(*) AS n FROM visits" in ran.stdout
    assert "epsilon 0.75" in ran.stdout


def test_ledger_verify_accepts_a_sound_ledger_and_its_head(ledger, tmp_path):
    ran = dpframe("ledger", "verify", str(ledger), folder=tmp_path)
    assert ran.returncode == 0
    head = re.search(r"head (\S+)", ran.stdout).group(1)
    assert dpframe("ledger", "verify", str(ledger), "--head", head, folder=tmp_path).returncode == 0


def test_ledger_verify_finds_an_edit(ledger, tmp_path, capsys):
    content = ledger.read_bytes()
    assert content.count(b"COUNT(*) AS n") > 0
    ledger.write_bytes(content.replace(b"COUNT(*) AS n", b"COUNT(*) AS m"))
    assert main(["ledger", "verify", str(ledger)]) == 1
    assert "damaged" in capsys.readouterr().err


@pytest.mark.parametrize("look", ["show", "verify"])
def test_a_missing_ledger_is_a_clear_error(look, tmp_path):
    ran = dpframe("ledger", look, "nowhere.ledger", folder=tmp_path)
    assert ran.returncode == 1
    assert ran.stdout == ""
    assert "there is no ledger" in ran.stderr
    assert "nowhere.ledger" in ran.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("look", ["show", "verify"])
def test_a_file_that_is_no_ledger_is_a_clear_error(look, tmp_path, capsys):
    place = tmp_path / "notes.ledger"
    place.write_text(json.dumps({"not": "a ledger"}))
    assert main(["ledger", look, str(place)]) == 1
    assert "is no ledger" in capsys.readouterr().err


# --- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["demo", "--rows", "0"], "'0' is not a whole number from 1"),
        (["demo", "--rows", "many"], "'many' is not a whole number"),
        (["demo", "--rows", "-5"], "whole number"),
        (["demo", "--budget", "0"], "--budget"),
        (["demo", "--budget", "nan"], "--budget"),
        (["demo", "--budget", "1,2"], "delta is 2"),
        (["demo", "--engine", "abacus"], "abacus"),
        (["demo", "surplus"], "unrecognized arguments: surplus"),
        (["ledger"], "required"),
        (["ledger", "show"], "path"),
        (["ledger", "erase", "x"], "erase"),
        (["dance"], "dance"),
    ],
)
def test_bad_arguments_give_a_message_and_status_2(arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_no_command_shows_the_help_and_gives_status_2(capsys):
    assert main([]) == 2
    assert "usage: dpframe" in capsys.readouterr().err


def test_version_is_the_one_that_is_installed(tmp_path):
    from importlib.metadata import version

    ran = dpframe("--version", folder=tmp_path)
    assert (ran.returncode, ran.stdout) == (0, f"dpframe {version('dpframe')}\n")


def test_the_command_leaves_signal_handlers_as_they_were(ledger, capsys):
    before = signal.getsignal(signal.SIGINT)
    main(["ledger", "verify", str(ledger)])
    assert signal.getsignal(signal.SIGINT) is before

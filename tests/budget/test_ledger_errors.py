"""What breaks a ledger's file gives a clear error and no answer, never a raw one."""

import gc
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import LedgerError

BUDGET = Budget(epsilon=100)


def charge(ledger, parts=None):
    made = ledger.charge(Loss.pure("0.1"), asked="q", mechanism="laplace")
    if parts:
        made.store(parts)
    return made


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, BUDGET) as ledger:
        charge(ledger)
    return path


def test_a_folder_is_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger.open(tmp_path, BUDGET)


def test_a_missing_folder_is_not_made(tmp_path):
    with pytest.raises(LedgerError, match="does not exist"):
        Ledger.open(tmp_path / "typo" / "visits.ledger", BUDGET)
    assert not (tmp_path / "typo").exists()


def test_a_missing_ledger_is_not_made_without_a_budget(tmp_path):
    with pytest.raises(LedgerError, match="no budget yet"):
        Ledger.open(tmp_path / "visits.ledger")
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(tmp_path / "visits.ledger", BUDGET, read_only=True)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("content", [b"", b"id,age\n1,2\n", bytes(8192), b"SQLite format 3\x00"])
def test_another_file_is_no_ledger_and_is_left_alone(tmp_path, content):
    path = tmp_path / "visits.csv"
    path.write_bytes(content)
    for read_only in (True, False):
        with pytest.raises(LedgerError):
            Ledger.open(path, BUDGET, read_only=read_only)
    assert path.read_bytes() == content


def test_another_database_is_no_ledger(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE entries (x)")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="is no ledger"):
        Ledger.open(path, BUDGET)


def test_a_ledger_in_a_folder_with_a_strange_name_opens(tmp_path):
    folder = tmp_path / "a?b#c%20 d'é"
    folder.mkdir()
    with Ledger.open(folder / "x?mode=memory.ledger", BUDGET) as ledger:
        charge(ledger)
    assert os.listdir(folder) == ["x?mode=memory.ledger"]


def test_a_locked_ledger_says_so_after_the_timeout(path):
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(LedgerError, match="locked by another process"):
        Ledger.open(path, BUDGET, timeout=0.05)
    other.execute("ROLLBACK")
    with Ledger.open(path, BUDGET, timeout=0.05) as ledger:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked by another process"):
            charge(ledger)
        other.execute("ROLLBACK")
        charge(ledger)
        assert ledger.verify().charges == 2
    other.close()


def test_a_writer_waits_for_a_reader_to_finish(path):
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM entries").fetchall()
    timer = threading.Timer(0.2, other.execute, ["ROLLBACK"])
    with Ledger.open(path, BUDGET) as ledger:
        timer.start()
        charge(ledger)
        assert ledger.spent.epsilon == Fraction(2, 10)
    timer.join()
    other.close()


@pytest.mark.parametrize("change", ["delete", "replace", "move"])
def test_a_file_that_is_taken_away_stops_the_session(path, change):
    copy = shutil.copy(path, path.with_name("copy"))
    with Ledger.open(path, BUDGET) as ledger:
        charge(ledger)
        match change:
            case "delete":
                os.unlink(path)
            case "replace":
                os.replace(copy, path)
            case "move":
                os.rename(path, path.with_name("elsewhere"))
        with pytest.raises(LedgerError, match="moved, deleted or replaced"):
            charge(ledger)
        with pytest.raises(LedgerError, match="moved, deleted or replaced"):
            ledger.find("key")


def test_a_file_that_is_overwritten_with_an_older_copy_stops_the_session(path):
    """`cp old.ledger visits.ledger` keeps the file and its name, but forgets charges."""
    old = path.read_bytes()
    with Ledger.open(path, BUDGET) as ledger:
        charge(ledger)
        assert ledger.spent.epsilon == Fraction(2, 10)
        with open(path, "r+b") as file:
            file.write(old)
            file.truncate()
        with pytest.raises(LedgerError, match="was there a moment ago"):
            charge(ledger)


def test_a_file_that_is_replaced_while_it_fails_stops_the_session(path):
    """Even a session that has to open its file again remembers which one it was."""
    copy = shutil.copy(path, path.with_name("copy"))
    with Ledger.open(path, BUDGET) as ledger:
        ledger._storage._use().close()  # as after a disk error
        ledger._storage._connection = None
        os.replace(copy, path)
        with pytest.raises(LedgerError, match="moved, deleted or replaced"):
            charge(ledger)


@pytest.fixture
def open_folder():
    """Give a folder that every user reaches, unlike pytest's own."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        inner = Path(folder, "inner")
        inner.mkdir()
        yield inner
        os.chmod(inner, 0o755)


@contextmanager
def ordinary_user():
    """Root may write anything, so give root up for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize(
    ("folder_mode", "file_mode"), [(0o777, 0o444), (0o555, 0o444), (0o555, 0o666)]
)
def test_a_read_only_file_or_folder_gives_a_clear_error_and_no_answer(
    open_folder, folder_mode, file_mode
):
    path = open_folder / "visits.ledger"
    with Ledger.open(path, BUDGET) as ledger:
        charge(ledger)
    os.chmod(path, file_mode)
    os.chmod(open_folder, folder_mode)
    with ordinary_user():
        with pytest.raises(LedgerError, match=r"may not be written|cannot be opened"):
            charge(Ledger.open(path, BUDGET))
        with Ledger.open(path, BUDGET, read_only=True) as ledger:
            assert ledger.verify().charges == 1


def test_a_ledger_is_not_made_in_a_read_only_folder(open_folder):
    os.chmod(open_folder, 0o555)
    path = open_folder / "visits.ledger"
    with ordinary_user(), pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.open(path, BUDGET)
    assert os.listdir(open_folder) == []


def test_a_database_that_may_not_grow_gives_a_clear_error_and_no_answer(path):
    with Ledger.open(path, BUDGET) as ledger:
        storage = ledger._storage
        pages = storage._use().execute("PRAGMA page_count").fetchone()[0]
        storage._use().execute(f"PRAGMA max_page_count = {pages + 1}")
        answers = []

        def ask():
            while True:
                answers.append(charge(ledger, {"key": bytes(500)}))

        with pytest.raises(LedgerError, match="disk is full"):
            ask()
        assert ledger.verify().charges >= 1 + len(answers)
        charge(ledger)  # on a new connection there is room again


FULL_DISK = """
import resource, signal, sys
from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import LedgerError

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = Ledger.open(sys.argv[1], Budget(epsilon=100))
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
released = 0
try:
    for _ in range(200):
        charge = ledger.charge(Loss.pure("0.1"), asked="q", mechanism="laplace")
        released += 1
        charge.store({"key": bytes(300)})
except LedgerError as error:
    print(released, error.what)
"""


@pytest.mark.parametrize("room", [20_480, 30_000])
def test_a_full_disk_gives_a_clear_error_and_no_answer(path, room):
    run = subprocess.run(
        [sys.executable, "-c", FULL_DISK, path, str(room)], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    released, said = run.stdout.split(maxsplit=1)
    assert "disk is full" in said or "cannot be read or written" in said
    with Ledger.open(path, BUDGET) as ledger:
        assert ledger.verify().charges >= 1 + int(released)
        charge(ledger)


def test_a_full_disk_leaves_no_half_made_ledger(tmp_path):
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (4096, -1))\n" + FULL_DISK,
            tmp_path / "visits.ledger",
            "4096",
        ],
        capture_output=True,
        text=True,
    )
    assert "LedgerError" in run.stderr
    assert os.listdir(tmp_path) == []


def test_a_read_only_look_at_a_ledger_that_was_killed_in_mid_charge_is_clear(path):
    """A hot journal has to be rolled back, which a reader may not do."""
    copy = path.with_name("copy.ledger")
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN IMMEDIATE")
        for number in range(100, 200):
            connection.execute(
                "INSERT INTO entries VALUES (?, 'table', '', ?, '', x'', x'')", (number, 500 * "x")
            )
        connection.execute("PRAGMA cache_spill")
        journal = path.with_name(path.name + "-journal")
        shutil.copy(path, copy)
        shutil.copy(journal, copy.with_name(copy.name + "-journal"))
        connection.execute("ROLLBACK")
    connection.close()
    with (
        pytest.raises(LedgerError, match="open it once for writing"),
        Ledger.open(copy, read_only=True) as looked_at,
    ):
        looked_at.verify()
    with Ledger.open(copy, BUDGET) as ledger:
        assert ledger.verify().charges == 1


def test_what_nobody_closed_is_closed_with_its_last_reference(path):
    """Python 3.13 warns of connections that are not, also while it takes its modules apart."""
    ledger = Ledger.open(path, BUDGET)
    connection = ledger._storage._connection
    ledger._storage.__del__(lambda: True)  # when Python goes, what closing needs may be gone
    assert connection.execute("SELECT 1").fetchone() == (1,)
    del ledger
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        connection.execute("SELECT 1")

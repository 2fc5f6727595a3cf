"""Any edit of a ledger is found, or makes it unreadable with a clear error."""

import json
import random
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from dpframe.budget.budget import Budget
from dpframe.budget.chain import GENESIS, Entry
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.budget.schema import COLUMNS
from dpframe.budget.spent import Spent
from dpframe.errors import LedgerError

BUDGET = Budget(epsilon=1, delta="1e-6")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, BUDGET) as ledger:
        ledger.declare("visits", {"unit": "patient_id", "max_rows": 5})
        ana = ledger.for_analyst("ana", Budget(epsilon="0.5"))
        for loss in (Loss.pure("0.1"), Loss.pure("0.2")):
            ana.charge(loss, asked="SELECT 1", mechanism="laplace", scale="10").store(
                {f"key {loss}": b"a noisy part"}
            )
        ledger.charge(Loss.zcdp("0.001"), asked="SELECT 2", mechanism="gaussian", scale="22.4")
    return path


def rows(path):
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(f"SELECT {COLUMNS} FROM entries ORDER BY number").fetchall()
    return [Entry(*row) for row in found]


def execute(path, *statements):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement, values in statements:
            connection.execute(statement, values)


def check(path, head=None):
    with Ledger.open(path, read_only=True) as ledger:
        ledger.entries()
        for entry in rows(path):
            ledger.find(entry.name)
        return ledger.verify(head)


def test_an_untouched_ledger_is_intact(path):
    assert check(path).charges == 3


def test_every_byte_of_every_entry_counts(path):
    """Flip one bit of each byte of each field where it lies in the file."""
    original, entries = path.read_bytes(), rows(path)
    fields = [entry.hash for entry in entries]
    for entry in entries:
        texts = (entry.kind, entry.name, entry.body, entry.spent)
        fields.append("".join(texts).encode() + entry.payload)
    places = set()
    for field in fields:
        start = original.find(field)
        assert start >= 0
        places.update(range(start, start + len(field)))
    for place in sorted(places):
        changed = bytearray(original)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(LedgerError), Ledger.open(path, read_only=True) as ledger:
            ledger.verify()
    path.write_bytes(original)
    check(path)


def test_a_flipped_bit_anywhere_is_found_or_changes_nothing(path):
    original, before = path.read_bytes(), rows(path)
    chance = random.Random(7)
    for _ in range(300):
        changed = bytearray(original)
        place = chance.choice([chance.randrange(len(original)), chance.randrange(100)])
        changed[place] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        try:
            check(path)
        except LedgerError:
            continue
        assert rows(path) == before


@pytest.mark.parametrize("keep", [0, 1, 50, 100, 4096, 5000, -1])
def test_a_cut_file_is_no_fresh_ledger(path, keep):
    path.write_bytes(path.read_bytes()[:keep])
    for read_only in (True, False):
        with pytest.raises(LedgerError):
            Ledger.open(path, BUDGET, read_only=read_only).verify()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET spent = (SELECT spent FROM entries WHERE number = 1)",
        "UPDATE entries SET name = 'bob' WHERE number = 4",
        "DELETE FROM entries WHERE number = 4",
        "DELETE FROM entries WHERE number = 1",
        "DELETE FROM entries",
        "UPDATE entries SET number = number + 1 WHERE number = (SELECT max(number) FROM entries)",
        "UPDATE entries SET body = replace(body, '1/10', '1/99')",
        "UPDATE entries SET payload = x'00' WHERE kind = 'parts'",
        "UPDATE entries SET body = x'00' WHERE number = 2",
        "UPDATE entries SET payload = 'text' WHERE number = 2",
        "CREATE TRIGGER forget AFTER INSERT ON entries BEGIN DELETE FROM entries; END",
        "CREATE TABLE more (x)",
        "DROP INDEX entries_by_name",
        "PRAGMA user_version = 0",
        "PRAGMA user_version = 9",
        "PRAGMA application_id = 0",
    ],
)
def test_edits_in_sql_are_found(path, statement):
    execute(path, (statement, ()))
    with pytest.raises(LedgerError):
        check(path)


def test_a_charge_checks_the_entry_it_builds_on(path):
    execute(path, ("UPDATE entries SET spent = ?", (Spent().to_json(),)))
    with Ledger.open(path, BUDGET) as ledger, pytest.raises(LedgerError, match="as it was written"):
        ledger.charge(Loss.pure("0.1"), asked="q", mechanism="m")


def test_a_found_part_is_checked(path):
    execute(path, ("UPDATE entries SET payload = x'00' WHERE kind = 'parts'", ()))
    with Ledger.open(path, BUDGET) as ledger, pytest.raises(LedgerError, match="as it was written"):
        ledger.find("key epsilon 0.1")


def rewrite(path, edit):
    """Edit entries and compute all hashes anew, as a forger who knows the format would."""
    edited, before = [], GENESIS
    for number, entry in enumerate(filter(None, map(edit, rows(path))), start=1):
        entry = replace(entry, number=number)
        last = replace(edited[-1]) if edited else None
        made = Entry.after(last, entry.kind, entry.name, entry.body, entry.spent, entry.payload)
        assert made.follows(before)
        edited.append(made)
        before = made.hash
    marks = ", ".join("?" * 7)
    statement = f"INSERT INTO entries ({COLUMNS}) VALUES ({marks})"
    inserts = [
        (statement, (e.number, e.kind, e.name, e.body, e.spent, e.payload, e.hash)) for e in edited
    ]
    execute(path, ("DELETE FROM entries", ()), *inserts)


def lower_loss(entry):
    if entry.kind != "charge":
        return entry
    body = json.loads(entry.body)
    body["loss"] = Loss.pure("0.0001").to_json()
    return replace(entry, body=json.dumps(body, sort_keys=True, separators=(",", ":")))


def raise_budget(entry):
    return replace(entry, body=entry.body.replace('\\"1\\"', '\\"9\\"'))


@pytest.mark.parametrize(
    "edit",
    [
        lower_loss,
        lambda entry: None if entry.kind == "charge" else entry,
        lambda entry: None if entry.kind == "analyst" else entry,
        lambda entry: replace(entry, spent=Spent().to_json()),
        lambda entry: replace(entry, kind="table") if entry.kind == "charge" else entry,
        lambda entry: replace(entry, body="{}") if entry.kind != "table" else entry,
        lambda entry: replace(entry, body="not json"),
    ],
    ids=["lower loss", "no charges", "no analyst", "no sums", "no kind", "no body", "no json"],
)
def test_a_forged_chain_whose_sums_are_wrong_is_found(path, edit):
    rewrite(path, edit)
    with pytest.raises(LedgerError):
        check(path)


def test_a_noted_head_finds_what_the_chain_alone_cannot(path):
    with Ledger.open(path, read_only=True) as ledger:
        head = ledger.head
    old = path.read_bytes()
    with Ledger.open(path, BUDGET) as ledger:
        ledger.charge(Loss.pure("0.1"), asked="q", mechanism="m")
        newer = ledger.head
        assert ledger.verify(head).head == newer  # still on the chain
    path.write_bytes(old)  # rolled back
    check(path)
    with pytest.raises(LedgerError, match="not on its chain"):
        check(path, newer)
    rewrite(path, raise_budget)  # forged throughout
    with pytest.raises(LedgerError, match="not on its chain"):
        check(path, head)
    execute(path, ("DELETE FROM entries WHERE number > 3", ()))  # cut off
    with pytest.raises(LedgerError, match="not on its chain"):
        check(path, head)

"""What a ledger promises while nothing breaks."""

import multiprocessing
import os
import subprocess
import sys
import threading
from fractions import Fraction

import polars as pl
import pytest

from dpframe.budget import schema
from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.ledger_commands import show, verify
from dpframe.budget.loss import Loss
from dpframe.errors import BudgetError, LedgerError, ParameterError

APPROXIMATE = Budget(epsilon=1, delta="1e-6")


@pytest.fixture(params=["file", "memory"])
def ledger(request, tmp_path):
    path = tmp_path / "visits.ledger" if request.param == "file" else None
    with Ledger.open(path, Budget(epsilon=1)) as opened:
        yield opened


def charge(ledger, epsilon, **others):
    return ledger.charge(Loss.pure(epsilon), asked="count", mechanism="laplace", **others)


def test_a_charge_is_remembered_and_its_remainder_told(ledger):
    assert charge(ledger, "0.3").room.epsilon == Fraction(7, 10)
    assert ledger.spent.epsilon == Fraction(3, 10)
    assert str(ledger) == "epsilon 0.3 of 1"
    assert str(ledger.room) == "epsilon 0.7"


def test_a_refused_query_costs_nothing_and_the_next_one_is_answered(ledger):
    charge(ledger, "0.75")
    before = ledger.head
    with pytest.raises(BudgetError) as refusal:
        charge(ledger, "0.5")
    assert ledger.head == before
    assert refusal.value.what == "'count' costs epsilon 0.5 but epsilon 0.25 remains"
    assert refusal.value.fix == "ask with epsilon <= 0.25"
    charge(ledger, "0.25")
    assert not ledger.room
    with pytest.raises(BudgetError, match="new ledger"):
        charge(ledger, "1e-100")
    assert ledger.verify().charges == 2


def test_a_question_that_costs_nothing_is_admitted_even_at_the_end(ledger):
    charge(ledger, 1)
    assert ledger.charge(Loss.none(), asked="n", mechanism="none").loss == Loss.none()


@pytest.mark.parametrize(
    ("budget", "loss", "why", "fix"),
    [
        (Budget(epsilon=1), Loss.zcdp(1), "no pure epsilon", "ask with epsilon <= 1"),
        (Budget(epsilon=1), Loss.approximate("0.1", "1e-9"), "has none", "declared keys"),
        (Budget(rho=1), Loss.approximate("0.1", "1e-9"), "has none", "declared keys"),
        (Budget(rho="0.1"), Loss.zcdp(1), "rho 0 of 0.1", "rho <= 0.1"),
        (APPROXIMATE, Loss.zcdp(1), "epsilon 0 of 1", "epsilon <= 1 or rho <= 0.02374"),
        (APPROXIMATE, Loss.approximate("0.1", "1e-6"), "epsilon 0 of 1", "delta <= 2.5e-7"),
    ],
)
def test_refusals_say_why_and_a_cost_that_would_be_admitted(budget, loss, why, fix):
    ledger = Ledger.open(None, budget)
    with pytest.raises(BudgetError) as refusal:
        ledger.charge(loss, asked="q", mechanism="m")
    assert why in refusal.value.why
    assert fix in refusal.value.fix


def test_after_pure_releases_that_closed_the_renyi_branch_the_refusal_says_so():
    ledger = Ledger.open(None, APPROXIMATE)
    charge(ledger, "0.9")
    with pytest.raises(BudgetError, match="what remains is pure epsilon"):
        ledger.charge(Loss.zcdp("0.001"), asked="q", mechanism="gaussian")
    charge(ledger, "0.1")


def test_long_questions_are_shortened_in_refusals(ledger):
    with pytest.raises(BudgetError) as refusal:
        ledger.charge(Loss.pure(2), asked="SELECT\n" + 100 * "x, ", mechanism="laplace")
    assert len(refusal.value.what) < 120


def test_parts_are_found_by_their_key_oldest_first(ledger):
    first, second = charge(ledger, "0.1"), charge(ledger, "0.1")
    first.store({"plan/visits/v1/count": b"\x00\x01", "plan/visits/v1/sum": b""})
    second.store({"plan/visits/v1/count": b"\xff"})
    assert ledger.find("plan/visits/v1/count") == [b"\x00\x01", b"\xff"]
    assert ledger.find("plan/visits/v1/sum") == [b""]
    assert ledger.find("plan/visits/v1") == []
    assert ledger.verify().entries == 6


def test_entries_tell_the_whole_story(ledger):
    ledger.charge(Loss.pure("0.1"), asked="SELECT 1", mechanism="laplace", scale="10", who="ana")
    ledger.charge(Loss.pure("1/3"), asked="SELECT 2", mechanism="laplace")
    table = ledger.entries()
    assert table.schema == {
        "when": pl.Datetime("us", "UTC"),
        **dict.fromkeys(["who", "asked", "mechanism", "scale", "loss", "remaining"], pl.String),
    }
    assert table.drop("when").rows() == [
        ("ana", "SELECT 1", "laplace", "10", "epsilon 0.1", "epsilon 0.9"),
        (None, "SELECT 2", "laplace", "", "epsilon 0.3334", "epsilon 0.5666"),
    ]
    assert table["when"].is_sorted()


def test_an_empty_ledger_has_an_empty_table(ledger):
    assert ledger.entries().shape == (0, 7)
    assert str(ledger) == "epsilon 0 of 1"


def test_a_budget_is_for_life(tmp_path):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, APPROXIMATE) as ledger:
        charge(ledger, "0.9")
        order = ledger.filter.order
    with Ledger.open(str(path), APPROXIMATE) as ledger:
        assert ledger.spent.epsilon == Fraction(9, 10)
        assert ledger.filter.order == order
        with pytest.raises(BudgetError):
            charge(ledger, "0.2")
    with pytest.raises(LedgerError, match="epsilon 1, delta 1e-6, not epsilon 2"):
        Ledger.open(path, Budget(epsilon=2))
    with Ledger.open(path) as ledger:
        assert ledger.budget == APPROXIMATE
    assert os.listdir(tmp_path) == ["visits.ledger"]


def test_the_order_of_an_older_version_is_kept(tmp_path, monkeypatch):
    path = tmp_path / "visits.ledger"
    with monkeypatch.context() as patch:
        patch.setattr("dpframe.budget.filters.order_for", lambda *_: Fraction(30))
        Ledger.open(path, APPROXIMATE).close()
    with Ledger.open(path, APPROXIMATE) as ledger:
        assert ledger.filter.order == 30


def test_tables_keep_the_terms_they_were_declared_with(tmp_path):
    path = tmp_path / "visits.ledger"
    terms = {"unit": "patient_id", "max_rows": 5, "neighbours": "add or remove", "size": None}
    with Ledger.open(path, APPROXIMATE) as ledger:
        ledger.declare("visits", terms)
        ledger.declare("visits", dict(reversed(terms.items())))
        ledger.declare("wards", {"unit": None})
    with Ledger.open(path, APPROXIMATE) as ledger:
        ledger.declare("visits", terms)
        for changed in ({**terms, "max_rows": 6}, {"unit": "patient_id"}, {**terms, "more": 1}):
            with pytest.raises(LedgerError, match="declared with other terms"):
                ledger.declare("visits", changed)
        with pytest.raises(ParameterError, match="JSON"):
            ledger.declare("other", {"unit": object()})
        assert ledger.verify().entries == 3


def test_analysts_have_budgets_of_their_own_below_the_total():
    total = Ledger.open(None, Budget(epsilon=1))
    ana = total.for_analyst("ana", Budget(epsilon="0.6"))
    bob = total.for_analyst("bob", Budget(rho="0.1"))
    charge(ana, "0.5")
    with pytest.raises(BudgetError, match="remains for ana"):
        charge(ana, "0.2")
    charge(bob, "0.4")
    assert str(bob) == "epsilon 0.9 of 1; rho 0.07896 of 0.1 for bob"
    with pytest.raises(BudgetError, match=r"epsilon 0\.1 remains"):
        charge(bob, "0.2")
    assert ana.room.epsilon == Fraction(1, 10)
    assert total.spent.epsilon == Fraction(9, 10)
    assert ana.entries()["who"].to_list() == ["ana"]
    assert total.entries()["who"].to_list() == ["ana", "bob"]
    total.verify()


def test_an_analyst_cannot_charge_somebody_else_or_pass_their_budget_by():
    total = Ledger.open(None, Budget(epsilon=1))
    ana = total.for_analyst("ana", Budget(epsilon="0.1"))
    with pytest.raises(BudgetError):
        charge(ana, "0.2", who="bob")
    with pytest.raises(BudgetError):
        charge(total, "0.2", who="ana")
    charge(ana, "0.1", who="bob")
    assert total.entries()["who"].to_list() == ["ana"]


def test_an_analyst_without_a_name_would_have_no_budget():
    with pytest.raises(ParameterError, match="no name"):
        Ledger.open(None, Budget(epsilon=1)).for_analyst("", Budget(epsilon="0.1"))


def test_an_analyst_finds_what_they_paid_for_and_the_owner_finds_all():
    total = Ledger.open(None, Budget(epsilon=1))
    ana, bob = (total.for_analyst(name, Budget(epsilon="0.5")) for name in ("ana", "bob"))
    charge(ana, "0.1").store({"count": b"ana's"})
    charge(bob, "0.1").store({"count": b"bob's"})
    charge(total, "0.1").store({"count": b"nobody's"})
    assert ana.find("count") == [b"ana's"]
    assert bob.find("count") == [b"bob's"]
    assert total.find("count") == [b"ana's", b"bob's", b"nobody's"]


def test_an_analysts_budget_is_for_life(tmp_path):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, Budget(epsilon=1)) as ledger:
        with pytest.raises(LedgerError, match="no budget yet"):
            ledger.for_analyst("ana")
        charge(ledger, "0.1", who="ana")  # before it was limited
        charge(ledger.for_analyst("ana", Budget(epsilon="0.5")), "0.4")
    with Ledger.open(path) as ledger:
        assert ledger.for_analyst("ana").room.epsilon == Fraction(1, 10)
        with pytest.raises(LedgerError, match=r"'ana' has a budget of epsilon 0.5"):
            ledger.for_analyst("ana", Budget(epsilon=1))
        ledger.verify()


def test_reading_does_not_need_writing(tmp_path):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, APPROXIMATE) as ledger:
        charge(ledger, "0.1").store({"key": b"value"})
        ledger.declare("visits", {"unit": "patient_id"})
        ledger.for_analyst("ana", Budget(epsilon="0.5"))
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.find("key") == [b"value"]
        assert ledger.entries().height == 1
        assert ledger.verify().charges == 1
        with pytest.raises(LedgerError, match="may not be written"):
            charge(ledger, "0.1")
        ledger.declare("visits", {"unit": "patient_id"})
        with pytest.raises(LedgerError, match="may not be written"):
            ledger.declare("wards", {})
        assert ledger.for_analyst("ana").room.epsilon == Fraction(1, 2)
        assert ledger.spent.epsilon == Fraction(1, 10)


def test_a_closed_ledger_says_so(ledger):
    ledger.close()
    with pytest.raises(LedgerError, match="is closed"):
        charge(ledger, "0.1")


def test_half_characters_are_refused(ledger):
    for use in (
        lambda: ledger.find("\ud800"),
        lambda: ledger.declare("\ud800", {}),
        lambda: charge(ledger, "0.1", who="\ud800"),
        lambda: ledger.charge(Loss.pure("0.1"), asked="\ud800", mechanism="laplace"),
    ):
        with pytest.raises(ParameterError, match="half of a character"):
            use()
    ledger.charge(Loss.pure("0.1"), asked="\x00 é 漢", mechanism="laplace", who="Zoë")
    assert ledger.entries()["who"].to_list() == ["Zoë"]
    ledger.verify()


def test_threads_share_a_ledger_without_overspending(ledger):
    admitted = []

    def hammer():
        for _ in range(10):
            try:
                admitted.append(charge(ledger, "0.04"))
            except BudgetError:
                return

    threads = [threading.Thread(target=hammer) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 25
    assert ledger.verify().charges == 25


FORKS = """
import os, sys
from dpframe.budget.budget import Budget
from dpframe.budget.ledger import Ledger
from dpframe.budget.loss import Loss
from dpframe.errors import LedgerError

def charge(ledger):
    return ledger.charge(Loss.pure("0.1"), asked="q", mechanism="m")

on_disk, in_memory = Ledger.open(sys.argv[1], Budget(epsilon=1)), Ledger.open(None, Budget(epsilon=1))
charge(on_disk)
charge(in_memory)
if os.fork() == 0:
    charge(on_disk)
    try:
        charge(in_memory)
    except LedgerError as error:
        print(error.what, flush=True)
    os._exit(0)
os.wait()
charge(on_disk)
charge(in_memory)
print(on_disk, on_disk.verify().charges, in_memory)
"""


def test_a_forked_process_continues_a_file_and_may_not_double_memory(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", FORKS, tmp_path / "visits.ledger"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == [
        "the ledger in memory belongs to another process",
        "epsilon 0.3 of 1 3 epsilon 0.2 of 1",
    ]


def test_two_processes_that_make_a_ledger_at_once_make_one(tmp_path):
    path = tmp_path / "visits.ledger"
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        pool.map(_open_and_charge, 8 * [str(path)])
    with Ledger.open(path) as ledger:
        assert ledger.verify().charges == 8
    assert os.listdir(tmp_path) == ["visits.ledger"]


def _open_and_charge(path):
    with Ledger.open(path, Budget(epsilon=1)) as ledger:
        charge(ledger, "0.1")


def test_an_older_version_is_migrated_when_it_is_opened_for_writing(tmp_path, monkeypatch):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, APPROXIMATE) as ledger:
        charge(ledger, "0.1")
    index = "CREATE INDEX entries_by_kind ON entries (kind)"
    monkeypatch.setattr(schema, "VERSION", 3)
    monkeypatch.setattr(schema, "MIGRATIONS", {1: (index,), 2: ()})
    monkeypatch.setattr(schema, "SCHEMA", (*schema.SCHEMA, index))
    with pytest.raises(LedgerError, match="old version 1"):
        Ledger.open(path, read_only=True)
    with Ledger.open(path, APPROXIMATE) as ledger:
        charge(ledger, "0.1")
        assert ledger.verify().charges == 2
    with Ledger.open(path, read_only=True) as ledger:
        assert ledger.spent.epsilon == Fraction(1, 5)


def test_the_commands_print_and_give_a_status(tmp_path):
    path = tmp_path / "visits.ledger"
    with Ledger.open(path, APPROXIMATE) as ledger:
        ledger.charge(Loss.pure("0.1"), asked="SELECT\n 1", mechanism="laplace", scale="10")
        head = ledger.head
    text, status = show(path)
    assert status == 0
    assert "epsilon 0.1  laplace 10  -  SELECT 1" in text
    assert "remaining  epsilon 0.9 or rho 0.0206" in text
    text, status = verify(path, head)
    assert status == 0
    assert text.startswith("intact: entries 2, charges 1, epsilon 0.1 of 1 (delta 1e-6)\nhead 2:")
    assert verify(path, "2:" + 64 * "0")[1] == 1
    assert verify(tmp_path / "other.ledger")[1] == 1

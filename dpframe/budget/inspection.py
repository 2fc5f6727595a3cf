"""Looking at a ledger: its charges as a table, and whether anybody edited it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from dpframe.budget.account import Account
from dpframe.budget.chain import Entry
from dpframe.budget.ledger_errors import damaged
from dpframe.budget.loss import Loss
from dpframe.budget.spent import Spent
from dpframe.budget.storage import Storage
from dpframe.errors import DPFrameError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Verification:
    """What a ledger without edits holds."""

    entries: int
    charges: int
    spent: str
    head: str

    def __str__(self) -> str:
        return (
            f"intact: entries {self.entries}, charges {self.charges}, {self.spent}\n"
            f"head {self.head}"
        )


def verify_entries(storage: Storage, head: str | None = None) -> Verification:
    """Walk the whole chain, and recompute every hash and every sum."""
    if not storage.pages_are_sound():
        raise damaged(storage.path, "its pages or indexes contradict each other")
    book = _Book()
    last, seen = "", head is None
    for entry in storage.walk():
        if not book.takes(entry):
            raise damaged(storage.path, f"entry {entry.number} does not add up")
        last, seen = entry.head, seen or entry.head == head
    if book.total is None:
        raise damaged(storage.path, "it has no entry")
    if not seen:
        raise damaged(storage.path, f"the head {head} that was noted is not on its chain")
    return Verification(book.entries, len(book.charges), str(book.total), last)


class _Book:
    """Keeps accounts by re-reading entries, independently of the sums they state."""

    def __init__(self) -> None:
        self.entries = 0
        self.charges: dict[int, str] = {}
        self.total: Account | None = None
        self._own: dict[str, Account] = {}

    def takes(self, entry: Entry) -> bool:
        """Read one more entry, and say whether it is what its predecessors allow."""
        self.entries += 1
        try:
            return self._follow(entry)
        except (ArithmeticError, LookupError, TypeError, ValueError, DPFrameError):
            return False  # not text that the ledger writes

    def _follow(self, entry: Entry) -> bool:
        if self.total is None:
            self.total = Account.from_terms(entry.body, Spent())
            return entry.kind == "open" and entry.spent == Spent().to_json()
        if entry.kind == "charge":
            return self._charge(entry, self.total)
        if entry.spent != self.total.spent.to_json():
            return False
        if entry.kind == "parts":
            body = json.loads(entry.body)
            return bool(self.charges[body["charge"]] == body["who"])
        if entry.kind == "analyst":
            known = entry.name in self._own
            self._own[entry.name] = Account.from_terms(entry.body, Spent(), entry.name)
            return not known
        return entry.kind == "table"

    def _charge(self, entry: Entry, total: Account) -> bool:
        body = json.loads(entry.body)
        loss = Loss.from_json(body["loss"])
        own = self._own.get(entry.name)
        after = [account.after(loss) for account in (total, own) if account is not None]
        self.total = after[0]
        if own is not None:
            self._own[entry.name] = after[1]
        self.charges[entry.number] = entry.name
        noted = [entry.spent, body["own"]] if own is not None else [entry.spent]
        sums = [account.spent.to_json() for account in after]
        return sums == noted and all(account.holds for account in after)


def charges_frame(entries: Iterable[Entry], who: str | None = None) -> pl.DataFrame:
    """Lay the charges (of one analyst) out as a table."""
    import polars as pl

    rows = []
    for entry in entries:
        if entry.kind == "charge" and who in (None, entry.name):
            body = json.loads(entry.body)
            rows.append(
                {
                    "when": datetime.fromisoformat(body["when"]),
                    "who": entry.name or None,
                    "asked": body["asked"],
                    "mechanism": body["mechanism"],
                    "scale": body["scale"],
                    "loss": str(Loss.from_json(body["loss"])),
                    "remaining": body["remaining"],
                }
            )
    text = dict.fromkeys(("who", "asked", "mechanism", "scale", "loss", "remaining"), pl.String)
    return pl.DataFrame(rows, schema={"when": pl.Datetime("us", "UTC"), **text})

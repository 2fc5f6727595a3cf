"""The ledger: what was spent, for life; check and charge are one step, on disk before any answer.

A ledger is a list of entries, in the order in which they were made:

- `open`: the budget, and the Renyi order of its filter;
- `table`: the terms that a table was declared with (its unit, its neighbours, ...);
- `analyst`: the budget of one analyst, below the total;
- `charge`: who asked what, with which mechanism, at what loss, and the sums after it;
- `parts`: noisy results of a charge, under the key that they are found by.

Each entry carries the running sums, so a charge reads the last entry and writes one, whatever the
number before. Each entry's hash covers the one before (see `budget.chain`), and every entry that a
charge or a lookup relies on is checked against its hash when it is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dpframe.budget.account import Account, room_of
from dpframe.budget.budget import Budget
from dpframe.budget.chain import Entry
from dpframe.budget.filters import Filter
from dpframe.budget.inspection import Verification, charges_frame, verify_entries
from dpframe.budget.ledger_errors import (
    decoded,
    missing,
    no_budget,
    other_budget,
    other_terms,
    place_of,
    title,
)
from dpframe.budget.loss import Loss
from dpframe.budget.room import Room
from dpframe.budget.spent import Spent
from dpframe.budget.storage import Storage
from dpframe.errors import LedgerError, ParameterError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Charge:
    """A loss that is on the ledger: the release may now read the data."""

    entry: int
    """Its number on the ledger."""
    who: str
    """The analyst, or "" if none was named."""
    loss: Loss
    room: Room
    """What remained after it."""
    _ledger: Ledger = field(repr=False, compare=False)

    def store(self, parts: Mapping[str, bytes]) -> None:
        """Keep noisy parts beside the charge, each under the key that `Ledger.find` looks for."""
        self._ledger._store(self.entry, self.who, parts)


class Ledger:
    """A budget, and everything that was charged to it.

    >>> ledger = Ledger.open(None, Budget(epsilon=1))
    >>> charge = ledger.charge(Loss.pure("0.8"), asked="SELECT COUNT(*)", mechanism="laplace")
    >>> charge.store({"count of visits": b"1042"})
    >>> print(ledger, "|", ledger.room, "|", ledger.find("count of visits"))
    epsilon 0.8 of 1 | epsilon 0.2 | [b'1042']
    >>> ledger.charge(Loss.pure("0.5"), asked="SELECT AVG(cost)", mechanism="laplace")
    Traceback (most recent call last):
    ...
    dpframe.errors.BudgetError: 'SELECT AVG(cost)' costs epsilon 0.5 but epsilon 0.2 remains
      why: releases compose; epsilon 0.8 of 1 is already spent on 1 release
      fix: ask with epsilon <= 0.2
    """

    filter: Filter
    """The filter of the total budget."""

    def __init__(self, storage: Storage, analyst: str | None = None) -> None:
        self._storage = storage
        self.analyst = analyst
        """Who charges, where this is one analyst's view of the ledger."""
        with storage.transaction(write=False), decoded(storage.path):
            self.filter = Account.from_terms(storage.first().body, Spent()).filter

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        budget: Budget | None = None,
        *,
        read_only: bool = False,
        timeout: float = 30.0,
    ) -> Ledger:
        """Open the ledger at a path, or make it if there is none; None keeps it in memory.

        A ledger that exists goes on with what it has spent, and its budget has to be the one given
        (None takes it as it is). Writers wait for each other up to `timeout` seconds.
        """
        if path is None:
            return cls(Storage.in_memory(_opening(budget, "a ledger in memory")))
        place = place_of(path)
        if not place.exists():
            if read_only:
                raise missing(place)
            Storage.create(place, _opening(budget, title(place)))
        storage = Storage(place, read_only=read_only, timeout=timeout)
        try:
            storage.probe()
            ledger = cls(storage)
            if budget is not None and budget != ledger.budget:
                raise other_budget(title(place), ledger.budget, budget)
        except BaseException:
            storage.close()
            raise
        return ledger

    @property
    def budget(self) -> Budget:
        """The total budget."""
        return self.filter.budget

    @property
    def accounts(self) -> list[Account]:
        """The accounts that a charge goes to: the total, then that of the analyst whose view it is."""
        with self._storage.transaction(write=False):
            return self._accounts(self._storage.head(), self.analyst or "")

    @property
    def spent(self) -> Spent:
        """The sums of all charges to the total."""
        return self.accounts[0].spent

    @property
    def room(self) -> Room:
        """What one more release may cost."""
        return room_of(self.accounts)

    @property
    def head(self) -> str:
        """The number and hash of the last entry: keep it elsewhere, and `verify(head=...)`."""
        with self._storage.transaction(write=False):
            return self._storage.head().head

    def declare(self, table: str, terms: Mapping[str, Any]) -> None:
        """Record the terms of a table (JSON values), or hold them against those on record.

        >>> ledger = Ledger.open(None, Budget(epsilon=1))
        >>> ledger.declare("visits", {"unit": "patient_id", "max_rows": 5})
        >>> ledger.declare("visits", {"unit": "patient_id", "max_rows": 9})
        Traceback (most recent call last):
        ...
        dpframe.errors.LedgerError: 'visits' was declared with other terms: max_rows was 5, is now 9
          why: the losses on the ledger protect what the table was first declared to protect
          fix: declare it as before, or start a new ledger
        """
        body = _json(dict(terms))
        known = self._once("table", _text(table), body)
        if known.body != body:
            raise other_terms(table, json.loads(known.body), json.loads(body))

    def for_analyst(self, name: str, budget: Budget | None = None) -> Ledger:
        """Give the ledger as one analyst charges it: to a budget of their own and to the total.

        The first call fixes the analyst's budget; later ones may leave it out.
        """
        if self.analyst is not None:
            raise ParameterError(
                f"this is the ledger as {self.analyst!r} charges it",
                why="an analyst cannot give budgets, to others or anew to themselves",
                fix=f'owner.as_analyst("{name}", dp.Budget(epsilon=0.5)), on the session of the owner',
            )
        if not isinstance(name, str) or not name:
            raise ParameterError(
                f"the analyst has no name: {name!r}",
                why="their charges are told from others' by it",
                fix='as_analyst("ana", dp.Budget(epsilon=0.5))',
            )
        if budget is not None and not isinstance(budget, Budget):
            raise ParameterError(
                f"budget={budget!r} is not a Budget",
                why="a budget says which kind of privacy is promised",
                fix='as_analyst("ana", dp.Budget(epsilon=0.5))',
            )
        terms = None if budget is None else Account.starting(budget).terms()
        known = self._once("analyst", _text(name), terms)
        with decoded(self._storage.path):
            own = Account.from_terms(known.body, Spent()).filter.budget
        if budget is not None and own != budget:
            raise other_budget(f"analyst {name!r}", own, budget)
        return Ledger(self._storage, name)

    def charge(
        self,
        loss: Loss,
        *,
        asked: str,
        mechanism: str,
        scale: str = "",
        who: str | None = None,
    ) -> Charge:
        """Spend a loss, or raise BudgetError and change nothing.

        When it returns, the charge is on disk. `who` names the analyst (an analyst's own view
        charges that analyst, whatever it says); one with a budget of their own is charged to that
        too, and both have to admit the loss.
        """
        who = _text(self.analyst or who or "")
        with self._storage.transaction(write=True):
            head = self._storage.head()
            after = _admitted(self._accounts(head, who), loss, asked)
            room = room_of(after)
            body = {
                "when": datetime.now(UTC).isoformat(timespec="microseconds"),
                "asked": _text(asked),
                "mechanism": _text(mechanism),
                "scale": _text(scale),
                "loss": loss.to_json(),
                "remaining": str(room),
                "own": after[1].spent.to_json() if len(after) > 1 else None,
            }
            entry = Entry.after(head, "charge", who, _json(body), after[0].spent.to_json())
            self._storage.append(entry)
        return Charge(entry.number, who, loss, room, self)

    def check(self, loss: Loss, *, asked: str) -> None:
        """Raise what `charge` would raise, and change nothing either way."""
        _admitted(self.accounts, loss, asked)

    def find(self, key: str) -> list[bytes]:
        """Give the noisy parts that were stored under a key, oldest first.

        An analyst's view finds what that analyst was charged for: what others were told would
        be more than the analyst's own budget covers.
        """
        key = _text(key)
        with self._storage.transaction(write=False), decoded(self._storage.path):
            return [
                entry.payload
                for entry in self._storage.named("parts", key)
                if self.analyst in (None, json.loads(entry.body)["who"])
            ]

    def has_parts(self) -> bool:
        """Whether noisy parts are stored at all; where none are, there is nothing to look for."""
        with self._storage.transaction(write=False), decoded(self._storage.path):
            return self._storage.has("parts")

    def entries(self) -> pl.DataFrame:
        """Give the charges as a table: when, who, asked, mechanism, scale, loss, remaining.

        An analyst's view shows that analyst's charges.
        """
        with decoded(self._storage.path):
            return charges_frame(self._storage.walk(), self.analyst)

    def verify(self, head: str | None = None) -> Verification:
        """Check every entry, hash and sum, and that `head` (noted earlier) is still on the chain.

        An edited ledger raises LedgerError.
        """
        return verify_entries(self._storage, head)

    def close(self) -> None:
        """Let go of the file; analysts' views of this ledger are closed too."""
        self._storage.close()

    def _once(self, kind: str, name: str, body: str | None) -> Entry:
        """Give the entry of a kind and name; the first call writes it."""
        with self._storage.transaction(write=False):
            known = self._storage.last(kind, name)
        if known is None:
            if body is None:
                raise no_budget(f"{kind} {name!r}")
            with self._storage.transaction(write=True):
                known = self._storage.last(kind, name)  # again: another process may have been here
                if known is None:
                    head = self._storage.head()
                    known = Entry.after(head, kind, name, body, head.spent)
                    self._storage.append(known)
        return known

    def _store(self, charge: int, who: str, parts: Mapping[str, bytes]) -> None:
        body = _json({"charge": charge, "who": who})
        with self._storage.transaction(write=True):
            head = self._storage.head()
            for key, payload in parts.items():
                head = Entry.after(head, "parts", _text(key), body, head.spent, payload)
                self._storage.append(head)

    def _accounts(self, head: Entry, who: str) -> list[Account]:
        """Give the accounts that a charge of `who` goes to: the total, then their own."""
        with decoded(self._storage.path):
            accounts = [Account(self.filter, Spent.from_json(head.spent))]
            terms = self._storage.last("analyst", who) if who else None
            if terms is not None:
                last = self._storage.last("charge", who)
                own = json.loads(last.body)["own"] if last is not None else None
                spent = Spent.from_json(own) if own is not None else Spent()
                accounts.append(Account.from_terms(terms.body, spent, who))
            return accounts

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __str__(self) -> str:
        return "; ".join(str(account) for account in self.accounts)

    def __repr__(self) -> str:
        try:
            return f"<Ledger {self}>"
        except LedgerError as error:
            return f"<Ledger: {error.what}>"


def _admitted(before: Sequence[Account], loss: Loss, asked: str) -> list[Account]:
    """Give the accounts after a loss that all of them have to admit."""
    after = [account.after(loss) for account in before]
    for account, later in zip(before, after, strict=True):
        if not later.holds:
            raise account.refuse(loss, asked, room_of(before))
    return after


def _opening(budget: Budget | None, whose: str) -> Entry:
    if budget is None:
        raise no_budget(whose)
    return Entry.after(None, "open", "", Account.starting(budget).terms(), Spent().to_json())


def _json(value: Mapping[str, Any]) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError):
        pass  # raised below, outside the handler
    raise ParameterError(
        f"{value!r} cannot be written to a ledger",
        why="terms are kept as JSON, to be compared when the table is declared again",
        fix="use strings, numbers, booleans, None, lists and dictionaries with string keys",
    )


def _text(name: str) -> str:
    if name.isprintable() or name.encode(errors="ignore").decode() == name:
        return name
    raise ParameterError(
        f"{name!r} is no text",
        why="names on a ledger are kept as Unicode, and it has half of a character",
        fix="give it as ordinary text",
    )

"""Entries of a ledger, and the chain of hashes that makes any edit visible.

The hash of an entry covers all of its fields and the hash before it, so the last hash (the *head*)
stands for the whole history. A chain without a key shows that somebody edited an entry. Somebody
who rewrites every later hash too, or cuts entries off the end, leaves a chain that is consistent
again: against that, keep a head elsewhere and give it to `Ledger.verify(head=...)`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

GENESIS = bytes(32)
"""What stands before the first entry."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger.

    >>> first = Entry.after(None, "open", "", "{}", "[]")
    >>> second = Entry.after(first, "charge", "ana", "{}", "[]")
    >>> second.number, second.follows(first.hash)
    (2, True)
    >>> from dataclasses import replace
    >>> replace(second, name="bob").follows(first.hash)
    False
    """

    number: int
    kind: str
    name: str
    body: str
    spent: str
    payload: bytes
    hash: bytes

    @classmethod
    def after(
        cls,
        previous: Entry | None,
        kind: str,
        name: str,
        body: str,
        spent: str,
        payload: bytes = b"",
    ) -> Entry:
        """Make the entry that follows `previous`."""
        number, before = (1, GENESIS) if previous is None else (previous.number + 1, previous.hash)
        digest = _digest(before, number, kind, name, body, spent, payload)
        return cls(number, kind, name, body, spent, payload, digest)

    def follows(self, before: bytes) -> bool:
        """Say whether this entry is as it was written, right after the entry with that hash."""
        fields = (self.number, self.kind, self.name, self.body, self.spent, self.payload)
        return self.hash == _digest(before, *fields)

    @property
    def head(self) -> str:
        """Name this entry and, through its hash, everything before it."""
        return f"{self.number}:{self.hash.hex()}"


def _digest(
    before: bytes, number: int, kind: str, name: str, body: str, spent: str, payload: bytes
) -> bytes:
    # Each field goes in with its length, so no two lists of fields give the same bytes.
    digest = hashlib.sha256(before + number.to_bytes(8, "big"))
    for field in (kind.encode(), name.encode(), body.encode(), spent.encode(), payload):
        digest.update(len(field).to_bytes(8, "big"))
        digest.update(field)
    return digest.digest()

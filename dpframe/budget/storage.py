"""Where a ledger's entries live: one SQLite file (or memory), written as if power could fail.

- *A rollback journal, not a write-ahead log.* Between transactions the ledger is one file. A copy
  of that file, or the loss of a file beside it, cannot hide charges, as losing a log would.
- *`synchronous=EXTRA`.* With a rollback journal a transaction commits when the journal is deleted.
  EXTRA also syncs the folder after that; without it a power cut could bring the journal back,
  and opening the ledger would undo a charge whose answer was already given.
- *A ledger appears complete or not at all.* It is made under another name, synced, and linked into
  place. So an empty file is never taken for a new ledger: a truncated one does not reset a budget.
- *Writers take the write lock before they read* (`BEGIN IMMEDIATE`): no other process can charge
  between a check and its charge.
- *The file is the one at the path.* A session whose file was moved, replaced or overwritten with
  an older copy stops.
- *Forks are met.* No fork happens inside a transaction, and a child opens the file for itself.

It relies on the file system's locks and syncs: a network folder without working locks is no place
for a ledger.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from dpframe.budget.chain import GENESIS, Entry
from dpframe.budget.ledger_errors import closed, damaged, explained, forked, moved
from dpframe.budget.schema import COLUMNS, connect, fill, insert, prepare, uri
from dpframe.errors import InternalError


class Storage:
    """Appends and reads entries, in transactions. Every failure is a LedgerError."""

    def __init__(self, path: Path | None, *, read_only: bool = False, timeout: float = 0) -> None:
        self.path = path
        self._read_only = read_only
        self._timeout = timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        self._pid = os.getpid()
        self._identity: tuple[int, int] | None = None
        self._seen: Entry | None = None
        self._left_to_parent: list[sqlite3.Connection] = []
        _STORAGES.add(self)

    @classmethod
    def in_memory(cls, first: Entry) -> Storage:
        """Make storage that lasts as long as this object."""
        storage = cls(None)
        storage._connection = connect(":memory:")
        fill(storage._connection, first)
        return storage

    @staticmethod
    def create(path: Path, first: Entry) -> None:
        """Make a ledger's file with its first entry, unless there is one by now."""
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with explained(path):
            try:
                connection = connect(uri(draft, "rwc"))
                try:
                    fill(connection, first)
                finally:
                    connection.close()
                with suppress(FileExistsError):  # another process was faster: its ledger counts
                    _put_in_place(draft, path)
            finally:
                draft.unlink(missing_ok=True)
            _sync_folder(path.parent)

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[None]:
        """Hold the file's lock, and commit unless the block raises."""
        with self._lock, explained(self.path):
            connection = self._use()
            if connection.in_transaction:  # by this thread: others wait for the lock
                raise InternalError("a transaction of the ledger inside another")
            try:
                connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                self._check_place()
                yield
                connection.execute("COMMIT")
            except BaseException as error:
                self._roll_back()
                if isinstance(error, sqlite3.Error) and self.path is not None:
                    self._drop()  # its cache may differ from the disk: the next use reads afresh
                raise

    def probe(self) -> None:
        """Fail now, not at the first query, if the file cannot be read or (if need be) written."""
        with self._lock, explained(self.path):
            connection = self._use()
            connection.execute("BEGIN" if self._read_only else "BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")  # a commit, even of nothing, would wait for readers

    def append(self, entry: Entry) -> None:
        """Write an entry."""
        insert(self._use(), entry)

    def head(self) -> Entry:
        """Read and check the last entry, and that the last one seen before is still there."""
        seen = self._seen
        if seen is not None and next(self._select("WHERE number = ?", seen.number), None) != seen:
            raise damaged(self.path, f"entry {seen.number} was there a moment ago")
        for entry in self._select("ORDER BY number DESC LIMIT 1"):
            self._seen = self._checked(entry)
            return entry
        raise damaged(self.path, "it has no entry")

    def first(self) -> Entry:
        """Read and check the entry that the ledger was made with."""
        for entry in self._select("WHERE number = 1"):
            return self._checked(entry)
        raise damaged(self.path, "its first entry is missing")

    def last(self, kind: str, name: str) -> Entry | None:
        """Read and check the last entry of a kind and name."""
        where = "WHERE kind = ? AND name = ? ORDER BY number DESC LIMIT 1"
        for entry in self._select(where, kind, name):
            return self._checked(entry)
        return None

    def named(self, kind: str, name: str) -> list[Entry]:
        """Read and check all entries of a kind and name, oldest first."""
        found = self._select("WHERE kind = ? AND name = ? ORDER BY number", kind, name)
        return [self._checked(entry) for entry in list(found)]

    def has(self, kind: str) -> bool:
        """Whether there is an entry of a kind."""
        found = self._use().execute("SELECT 1 FROM entries WHERE kind = ? LIMIT 1", (kind,))
        return found.fetchone() is not None

    def walk(self) -> Iterator[Entry]:
        """Read all entries in order, and check the whole chain on the way.

        Each thousand is a transaction of its own, so that a long walk does not keep writers
        waiting: entries are only ever added at the end.
        """
        number, before = 0, GENESIS
        while True:
            with self.transaction(write=False):
                found = list(self._select("WHERE number > ? ORDER BY number LIMIT 1000", number))
            for entry in found:
                number += 1
                if entry.number != number:
                    raise damaged(self.path, f"entry {number} is missing")
                if not entry.follows(before):
                    raise damaged(self.path, f"entry {number} is not as it was written")
                before = entry.hash
                yield entry
            if not found:
                return

    def pages_are_sound(self) -> bool:
        """Ask SQLite whether its pages and indexes agree with each other."""
        with self.transaction(write=False):
            found = self._use().execute("PRAGMA integrity_check(1)").fetchone()
        return found is not None and found[0] == "ok"

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._drop()
            self._closed = True

    def _select(self, where: str, *values: str | int) -> Iterator[Entry]:
        for row in self._use().execute(f"SELECT {COLUMNS} FROM entries {where}", values):
            if [type(value) for value in row] != [int, str, str, str, str, bytes, bytes]:
                raise damaged(self.path, f"entry {row[0]!r} has fields of the wrong type")
            yield Entry(*row)

    def _checked(self, entry: Entry) -> Entry:
        before = self._use().execute(
            "SELECT hash FROM entries WHERE number = ?", (entry.number - 1,)
        )
        row = before.fetchone() if entry.number > 1 else (GENESIS,)
        if row is None or not isinstance(row[0], bytes) or not entry.follows(row[0]):
            raise damaged(self.path, f"entry {entry.number} is not as it was written")
        return entry

    def _use(self) -> sqlite3.Connection:
        if self._closed:
            raise closed(self.path)
        if self._pid != os.getpid():
            if self.path is None:
                raise forked()
            # SQLite forbids using, and even closing, a connection that a parent opened.
            if self._connection is not None:
                self._left_to_parent.append(self._connection)
            self._connection, self._pid = None, os.getpid()
        if self._connection is None:
            assert self.path is not None  # memory keeps its one connection until it is closed
            if self._identity is None:
                self._identity = _identity(self.path)  # for good, whatever is opened again later
            mode = "ro" if self._read_only else "rw"
            connection = connect(uri(self.path, mode), self._timeout)
            try:
                prepare(connection, self.path, read_only=self._read_only)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _check_place(self) -> None:
        if self.path is not None and _identity(self.path) != self._identity:
            raise moved(self.path)

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):
            if self._connection is not None and self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        """Let go of the file: Python 3.13 warns of a connection that nobody closed.

        Not while Python itself goes, and takes the modules that this needs along.
        """
        if not is_finalizing():
            self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None and self._pid == os.getpid():
            with suppress(sqlite3.Error):
                connection.close()


def _identity(path: Path) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def _put_in_place(draft: Path, path: Path) -> None:
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without links. Of two processes that both get here one replaces the
        # other's ledger, and the other stops at its next transaction: `moved`.
        if path.exists():
            raise FileExistsError from None
        os.rename(draft, path)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # folders cannot be opened there; NTFS journals its names
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


_STORAGES: weakref.WeakSet[Storage] = weakref.WeakSet()


class _Forking:
    """Lets no fork happen inside a transaction of another thread."""

    held: ClassVar[list[Storage]] = []

    @classmethod
    def before(cls) -> None:
        cls.held = list(_STORAGES)
        for storage in cls.held:
            storage._lock.acquire()

    @classmethod
    def in_parent(cls) -> None:
        for storage in cls.held:
            storage._lock.release()
        cls.held = []

    @classmethod
    def in_child(cls) -> None:
        for storage in cls.held:
            storage._lock = threading.RLock()
        cls.held = []


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_Forking.before,
        after_in_parent=_Forking.in_parent,
        after_in_child=_Forking.in_child,
    )

"""What can go wrong with a ledger, in words: no SQLite or system error reaches a user."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpframe.budget.budget import Budget
from dpframe.errors import LedgerError, ParameterError

_NOTHING_RELEASED = "a charge must be on disk before data is read, so no answer was released"


@contextmanager
def explained(path: Path | None) -> Iterator[None]:
    """Turn errors of SQLite and of the system into a LedgerError about this ledger."""
    try:
        yield
    except sqlite3.Error as error:
        raise _from_sqlite(error, path) from None
    except OSError as error:
        raise _from_system(error, path) from None


@contextmanager
def decoded(path: Path | None) -> Iterator[None]:
    """Turn entries that no ledger writes into a LedgerError: their hash fits, their text does not."""
    try:
        yield
    except (ArithmeticError, LookupError, TypeError, ValueError, ParameterError):
        pass  # raised below, outside the handler
    else:
        return
    raise damaged(path, "an entry holds what no ledger writes")


def title(path: Path | None) -> str:
    """Name a ledger."""
    return "the ledger in memory" if path is None else f"ledger {str(path)!r}"


def place_of(path: str | os.PathLike[str]) -> Path:
    """Where a ledger is, links followed, or an error if none can be there."""
    try:
        place = Path(os.path.realpath(path))
        place.exists()  # which names that no file can have are not
    except (OSError, TypeError, ValueError) as error:
        problem = type(error).__name__
    else:
        _check_place(place)
        return place
    raise LedgerError(
        f"{str(path)[:80]!r} cannot be the path of a ledger ({problem})",
        why="a ledger is one file, with a name that files can have, in a folder that can be read",
        fix='ledger="visits.ledger"',
    )


def _check_place(place: Path) -> None:
    if place.is_dir():
        raise LedgerError(
            f"{str(place)!r} is a folder",
            why="a ledger is one file",
            fix=f"ledger={str(place / 'budget.ledger')!r}",
        )
    if not place.parent.is_dir():
        raise LedgerError(
            f"the folder {str(place.parent)!r} does not exist",
            why="a ledger is not made in a folder that may be a typing mistake",
            fix=f"Path({str(place.parent)!r}).mkdir(parents=True)",
        )


def missing(place: Path) -> LedgerError:
    """Make the error for reading a ledger that is not there."""
    return LedgerError(
        f"there is no {title(place)}",
        why="a ledger that does not exist cannot be read",
        fix="check the path, or open it for writing with a budget to make it",
    )


def no_budget(whose: str) -> LedgerError:
    """Make the error for something new that was given no budget."""
    return LedgerError(
        f"{whose} has no budget yet",
        why="the first to open it decides what may be spent, for life",
        fix="budget=Budget(epsilon=1, delta=1e-6)",
    )


def other_budget(whose: str, own: Budget, asked: Budget) -> LedgerError:
    """Make the error for opening something with a budget that it does not have."""
    return LedgerError(
        f"{whose} has a budget of {own}, not {asked}",
        why="a budget is for life: what it allows may not change once answers are out",
        fix=f"go on with {own}; a larger budget is a new ledger",
    )


def other_terms(table: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> LedgerError:
    """Make the error for a table that is declared otherwise than before."""
    changes = ", ".join(
        f"{name} was {old.get(name)}, is now {new.get(name)}"
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )
    return LedgerError(
        f"{table!r} was declared with other terms: {changes}",
        why="the losses on the ledger protect what the table was first declared to protect",
        fix="declare it as before, or start a new ledger",
    )


def damaged(path: Path | None, detail: str) -> LedgerError:
    """Make the error for a ledger that was edited or broken."""
    return LedgerError(
        f"{title(path)} is damaged: {detail}",
        why="entries form a chain of hashes, so that what was spent cannot be edited unseen",
        fix="restore the newest intact copy, and count what was released since as spent",
    )


def foreign(path: Path | None) -> LedgerError:
    """Make the error for a file that is something else."""
    return LedgerError(
        f"{title(path)} is no ledger",
        why="the file exists and holds something else; a ledger is never empty, not even a new one",
        fix="give the path of a new file, or the ledger's right path",
    )


def newer(path: Path | None, version: int) -> LedgerError:
    """Make the error for a ledger from the future."""
    return LedgerError(
        f"{title(path)} has version {version}",
        why="a newer dpframe made it, and this one could misread what was spent",
        fix="pip install --upgrade dpframe",
    )


def older(path: Path | None, version: int) -> LedgerError:
    """Make the error for a ledger that has to be migrated by opening it for writing."""
    return LedgerError(
        f"{title(path)} has the old version {version}",
        why="it is brought up to date when it is opened for writing, not for reading",
        fix="open it once without read_only=True",
    )


def moved(path: Path | None) -> LedgerError:
    """Make the error for a file that is no longer where it was."""
    return LedgerError(
        f"{title(path)} was moved, deleted or replaced while it was open",
        why="a charge to a file that nobody finds again would be forgotten",
        fix="put the file back, and open the session again",
    )


def closed(path: Path | None) -> LedgerError:
    """Make the error for a ledger used after `close`."""
    return LedgerError(
        f"{title(path)} is closed",
        why="its owner closed it",
        fix="dp.Session(budget, ledger=...) opens a file again, where it stopped",
    )


def forked() -> LedgerError:
    """Make the error for a ledger in memory that a fork would double."""
    return LedgerError(
        "the ledger in memory belongs to another process",
        why="a forked process has a copy of it, and both would spend the same budget",
        fix='keep the ledger in a file that both open: ledger="visits.ledger"',
    )


def _from_sqlite(error: sqlite3.Error, path: Path | None) -> LedgerError:
    # The low byte of an SQLite code is its family.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    name = getattr(error, "sqlite_errorname", "text that is not UTF-8")
    if code == sqlite3.SQLITE_READONLY_ROLLBACK:
        return LedgerError(
            f"{title(path)} was left in mid-charge",
            why="a session was killed there, and undoing the half-written charge needs writing",
            fix="open it once for writing",
        )
    match code & 0xFF:
        case sqlite3.SQLITE_FULL:
            return _full(path)
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LedgerError(
                f"{title(path)} is locked by another process",
                why="charges are made one at a time, and the other did not finish in time",
                fix="try again, or give it longer: Ledger.open(..., timeout=120)",
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return _read_only(path)
        case sqlite3.SQLITE_CANTOPEN:
            return LedgerError(
                f"{title(path)} cannot be opened",
                why="its file or its folder may not be read or written by this user",
                fix="give this user write access to the folder",
            )
        case sqlite3.SQLITE_NOTADB:
            return foreign(path)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_SCHEMA | sqlite3.SQLITE_ERROR:
            return damaged(path, f"SQLite cannot read it ({name})")
        case sqlite3.SQLITE_IOERR:
            return LedgerError(
                f"{title(path)} cannot be read or written ({name})",
                why=f"the disk reported an error or is full; {_NOTHING_RELEASED}",
                fix="free space or repair the disk, then ask again",
            )
        case _:
            return LedgerError(
                f"{title(path)} stopped with {name}",
                why=_NOTHING_RELEASED,
                fix="open the session again; if it comes back, report it",
            )


def _from_system(error: OSError, path: Path | None) -> LedgerError:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG:
            return _full(path)
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return _read_only(path)
        case errno.ENOENT:
            return moved(path)
        case _:
            return LedgerError(
                f"{title(path)} cannot be read or written",
                why=f"the system said {errno.errorcode.get(error.errno or 0, 'nothing')}; "
                f"{_NOTHING_RELEASED}",
                fix="repair the disk or choose another folder, then ask again",
            )


def _full(path: Path | None) -> LedgerError:
    return LedgerError(
        f"{title(path)} cannot grow: the disk is full",
        why=_NOTHING_RELEASED,
        fix="free some space, then ask again; nothing was lost",
    )


def _read_only(path: Path | None) -> LedgerError:
    return LedgerError(
        f"{title(path)} may not be written",
        why=f"the file or its folder is read-only; {_NOTHING_RELEASED}",
        fix="give this user write access, or look with Ledger.open(path, read_only=True)",
    )

"""What `dpframe ledger verify` and `dpframe ledger show` print, and their exit status."""

from __future__ import annotations

import os
from collections.abc import Callable

from dpframe.budget.ledger import Ledger
from dpframe.errors import LedgerError


def verify(path: str | os.PathLike[str], head: str | None = None) -> tuple[str, int]:
    """Check every entry of the ledger at a path, and that a head noted earlier is still there.

    >>> verify("no-such.ledger")[1]
    1
    """
    return _look(path, lambda ledger: str(ledger.verify(head)))


def show(path: str | os.PathLike[str]) -> tuple[str, int]:
    """List the charges of the ledger at a path, and what is left."""
    return _look(path, _describe)


def _describe(ledger: Ledger) -> str:
    lines = [
        f"{row['when']:%Y-%m-%d %H:%M:%S}Z  {row['loss']}  {row['mechanism']} {row['scale']}  "
        f"{row['who'] or '-'}  {' '.join(row['asked'].split())}"
        for row in ledger.entries().iter_rows(named=True)
    ]
    return "\n".join([*lines, f"spent      {ledger}", f"remaining  {ledger.room}"])


def _look(path: str | os.PathLike[str], describe: Callable[[Ledger], str]) -> tuple[str, int]:
    try:
        with Ledger.open(path, read_only=True) as ledger:
            return describe(ledger), 0
    except LedgerError as error:
        return str(error), 1

"""What the file of a ledger holds, its version, and how older versions are brought up to date."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple
from pathlib import Path
from typing import Any
from urllib.parse import quote

from dpframe.budget.chain import Entry
from dpframe.budget.ledger_errors import damaged, foreign, newer, older

APPLICATION_ID = 0x64706C67
"""Marks the file as ours: "dplg"."""

VERSION = 1
"""Of the tables, of what entries mean and of how losses add up; raised with a new migration."""

SCHEMA = (
    """CREATE TABLE entries (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    spent TEXT NOT NULL,
    payload BLOB NOT NULL,
    hash BLOB NOT NULL
)""",
    "CREATE INDEX entries_by_name ON entries (kind, name, number)",
)

MIGRATIONS: dict[int, tuple[str, ...]] = {}
"""For each older version, the statements that bring its tables to the next one.

They may add tables and indexes. They never rewrite an entry: the chain would show it."""

COLUMNS = "number, kind, name, body, spent, payload, hash"
"""In the order of the fields of `Entry`."""


def uri(path: Path, mode: str) -> str:
    """Name a file to SQLite, with "ro", "rw" or (to make it) "rwc"."""
    return f"file:{quote(str(path))}?mode={mode}"


def connect(name: str, timeout: float = 0) -> sqlite3.Connection:
    """Open a file, or ":memory:", so that commits survive a power cut."""
    connection = sqlite3.connect(
        name, uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    try:
        for setting in (
            "synchronous = EXTRA",
            "fullfsync = ON",  # macOS: fsync alone does not reach the platter
            "trusted_schema = OFF",
            "cell_size_check = ON",
        ):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def fill(connection: sqlite3.Connection, first: Entry) -> None:
    """Make the tables of a new ledger, with its first entry."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in SCHEMA:
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {VERSION}")
    insert(connection, first)
    connection.execute("COMMIT")


def insert(connection: sqlite3.Connection, entry: Entry) -> None:
    """Add an entry."""
    connection.execute(
        f"INSERT INTO entries ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", astuple(entry)
    )


def prepare(connection: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    """Check that the file is a ledger of this version, or bring it there."""
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise foreign(path)
    version = _pragma(connection, "user_version")
    if version > VERSION:
        raise newer(path, version)
    if version < VERSION:
        if version not in MIGRATIONS:
            raise damaged(path, f"there never was a version {version}")
        if read_only:
            raise older(path, version)
        _migrate(connection)
    found = connection.execute("SELECT sql FROM sqlite_master ORDER BY rowid").fetchall()
    if [row[0] for row in found] != list(SCHEMA):
        raise damaged(path, "its tables are not those of a ledger")
    if not read_only and _pragma(connection, "journal_mode") != "delete":
        connection.execute("PRAGMA journal_mode = DELETE")


def _migrate(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    version = _pragma(connection, "user_version")  # again: another process may have been faster
    while version in MIGRATIONS and version < VERSION:
        for statement in MIGRATIONS[version]:
            connection.execute(statement)
        version += 1
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("COMMIT")


def _pragma(connection: sqlite3.Connection, name: str) -> Any:
    return connection.execute(f"PRAGMA {name}").fetchone()[0]

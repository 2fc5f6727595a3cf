"""Names and literals as DuckDB SQL text. Nothing a user wrote reaches an engine another way."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

from dpframe.errors import InternalError


def duckdb_name(name: str) -> str:
    """Quote an identifier.

    >>> duckdb_name('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


def duckdb_literal(value: Any) -> str:
    """Write a constant with its type spelt out: a bare 0.1 would be a DECIMAL.

    >>> duckdb_literal(0.1), duckdb_literal("o'clock")
    ("CAST('0.1' AS DOUBLE)", "'o''clock'")
    """
    match value:
        case bool():
            return "TRUE" if value else "FALSE"
        case int():
            return f"CAST({value} AS BIGINT)" if -(2**63) < value < 2**63 else _int64_min()
        case float():
            return f"CAST('{value!r}' AS DOUBLE)"
        case str():
            # A NUL byte would end the statement's text; it is spliced in as a character instead.
            parts = [f"'{p.replace(chr(39), chr(39) * 2)}'" for p in value.split("\0")]
            return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"
        case datetime():
            return f"CAST('{value.isoformat(sep=' ')}' AS TIMESTAMP)"
        case date():
            return f"CAST('{value.isoformat()}' AS DATE)"
        case None:
            return "NULL"
    raise InternalError(f"no DuckDB literal for a {type(value).__name__}")


def _int64_min() -> str:
    return "CAST('-9223372036854775808' AS BIGINT)"

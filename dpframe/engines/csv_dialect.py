"""How the cells of CSV files are told apart."""

from __future__ import annotations

from dpframe.plan.sqltext import duckdb_literal


def dialect_of(files: list[str]) -> str:
    """How the cells of CSV files are told apart: as RFC 4180 says, with the separator of the header.

    DuckDB would find out from the rows, and one row with an odd quote would change how all others
    are read. The header is public, like any schema. Nor may the rows be read in parallel: a reader
    that starts in the middle guesses whether it is inside quotes.
    """
    headers = []
    for file in files:
        with open(file, "rb") as lines:
            headers.append(lines.readline())
    if len(set(headers)) > 1:
        raise ValueError("different columns")
    separator = max(b",;\t|", key=headers[0].count)
    line_end = r"\r\n" if headers[0].endswith(b"\r\n") else r"\n"
    return (
        f"delim = {duckdb_literal(chr(separator))}, quote = '\"', escape = '\"', comment = '',"
        f" new_line = '{line_end}', header = true, skip = 0, encoding = 'utf-8',"
        " ignore_errors = true, null_padding = true, strict_mode = false, parallel = false,"
        " hive_partitioning = false"
    )

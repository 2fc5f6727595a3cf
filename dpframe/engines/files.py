"""Parquet and CSV files, and the engines that read them."""

from __future__ import annotations

import glob
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import polars as pl

from dpframe.engines.base import Engine
from dpframe.engines.polars import PolarsEngine
from dpframe.engines.sandbox import in_their_types, locked, opened, sandbox
from dpframe.errors import DeclarationError
from dpframe.plan.sqltext import duckdb_literal, duckdb_name

EngineName = Literal["duckdb", "polars"]


_PARQUET = {".parquet", ".pq"}
_CSV = {".csv", ".tsv"}


def matching(path: str) -> list[str]:
    """The files that a path names, or a pattern matches, in order."""
    return sorted(glob.glob(path, recursive=True)) if _is_pattern(path) else [path]


def _is_pattern(path: str) -> bool:
    return any(c in path for c in "*?[") and not _is_file(path)


def files_version(files: list[str]) -> str | None:
    """The files themselves, their sizes, and when they were written.

    A file that took the place of another may have its size and its time of modification.
    """
    try:
        found = [(f, Path(f).stat()) for f in files]
    except OSError:
        return None
    listed = [
        f"{Path(f).resolve()} {s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_dev}:{s.st_ino}"
        for f, s in found
    ]
    return "files " + "; ".join(listed)


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # longer than any name, or with a NUL in it
        return False


def open_files(path: str, found: list[str], engine: EngineName | None) -> Engine:
    """Open files by what their names end in; `path` is what was asked for."""
    if not found or not all(map(_is_file, found)):
        raise DeclarationError(
            f"no file at {path!r}",
            why="the path must name a Parquet or CSV file, or be a pattern that matches some",
            fix='"visits.parquet", "visits/*.parquet" or "visits.csv"',
        )
    endings = {Path(f).suffix.lower() for f in found}
    if endings <= _PARQUET:
        return _parquet(found, engine)
    if endings <= _CSV:
        return _csv(found, engine)
    raise DeclarationError(
        f"{path!r} is neither Parquet nor CSV",
        why=f"the files end in {', '.join(sorted(endings))}",
        fix="convert them, or register pl.scan_ipc(...) and the like",
    )


def are_as_before(files: list[str], columns: frozenset[str], headers: list[bytes] | None) -> bool:
    """Whether Parquet files have these columns, in any types, and CSV files these headers, if any."""
    try:
        schemas = [pl.read_parquet_schema(f) for f in files if Path(f).suffix.lower() in _PARQUET]
        alike = headers is None or headers_of(files) == headers
        return alike and all(columns <= schema.keys() for schema in schemas)
    except Exception:  # no Parquet file any more: the message would quote it
        return False


def headers_of(files: list[str]) -> list[bytes]:
    """The headers of CSV files. Their cells belong to columns by place: to the unit's, for example."""
    found = []
    for file in files:
        if Path(file).suffix.lower() in _CSV:
            with open(file, "rb") as lines:
                found.append(lines.readline())
    return found


def parquet_sql(files: list[str]) -> str:
    """What DuckDB reads Parquet files by. NaN may be in them, whatever their statistics say."""
    listed = ", ".join(map(duckdb_literal, files))
    return f"read_parquet([{listed}], hive_partitioning = false, can_have_nan = true)"


def _parquet(files: list[str], engine: EngineName | None) -> Engine:
    connection = sandbox()

    def read() -> Engine:
        # Otherwise a file with other columns would be found after the charge.
        schemas = [pl.scan_parquet(f, glob=False).collect_schema() for f in files]
        if any(schema != schemas[0] for schema in schemas):
            raise ValueError("different columns")
        if engine == "polars":
            return PolarsEngine(_Scan(files))
        scan = parquet_sql(files)
        columns = in_their_types(connection.sql(f"SELECT * FROM {scan}"))
        return _queried(
            connection,
            f"SELECT {columns} FROM {scan}",
            repeats=True,
            height=lambda: _rows_in(files),
        )

    return opened(repr(files[0]), read)


class _Scan:
    """A lazy frame over Parquet files, as they are now, in the types that they had at first.

    What Polars knows of a file it keeps with the frame, and would read another one by it. What a
    column can hold is proven from its type, and a file may be written again with a wider one.
    """

    def __init__(self, files: list[str]) -> None:
        self._files = files
        self._version, self._frame = files_version(files), pl.scan_parquet(files, glob=False)
        self._schema = self._frame.collect_schema()

    def __call__(self) -> pl.LazyFrame:
        version = files_version(self._files)
        if version != self._version or version is None:
            frame = pl.scan_parquet(self._files, glob=False)
            if frame.collect_schema() != self._schema:
                types = self._schema.items()
                frame = frame.select(pl.col(n).cast(t, strict=False) for n, t in types)
            self._version, self._frame = version, frame
        return self._frame


def _rows_in(files: list[str]) -> int:
    """How many rows Parquet files have, which they say: the one thing that is taken from metadata.

    Unlike statistics it says the same whatever rows hold. Polars reads it in a tenth of the time.
    """
    return int(pl.scan_parquet(files, glob=False).select(pl.len()).collect().item())


def _csv(files: list[str], engine: EngineName | None) -> Engine:
    """CSV cells are read as text and converted totally: a cell that does not parse is NULL.

    The types are found once, now, and are taken as public, like any schema. If they were found
    again at query time, or a bad cell raised an error, a single row could be told from the outside.
    """
    if engine == "polars":
        raise DeclarationError(
            "CSV files are read by DuckDB",
            why="a quote that is not closed stops Polars, and an error would tell of that row",
            fix="leave engine= out, or register pl.read_csv(...)",
        )
    listed = ", ".join(duckdb_literal(f) for f in files)
    connection = sandbox()

    def read() -> Engine:
        dialect = _dialect_of(files)
        sniffed = connection.sql(f"SELECT * FROM read_csv([{listed}], {dialect})")
        texts = ", ".join(f"{duckdb_literal(c)}: 'VARCHAR'" for c in sniffed.columns)
        # SUBSTRING changes nothing, but a bare cast becomes the reader's own, and drops whole rows.
        columns = ", ".join(
            f"TRY_CAST(SUBSTRING({duckdb_name(c)}, 1) AS {t}) AS {duckdb_name(c)}"
            for c, t in zip(sniffed.columns, sniffed.types, strict=True)
        )
        fixed = f"{dialect}, auto_detect = false, columns = {{{texts}}}"
        return _queried(connection, f"SELECT {columns} FROM read_csv([{listed}], {fixed})")

    return opened(repr(files[0]), read)


def _dialect_of(files: list[str]) -> str:
    """How the cells of CSV files are told apart: as RFC 4180 says, with the separator of the header.

    DuckDB would find out from the rows, and one row with an odd quote would change how all others
    are read. The header is public, like any schema. Nor may the rows be read in parallel: a reader
    that starts in the middle guesses whether it is inside quotes.
    """
    headers = headers_of(files)
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


def _queried(
    connection: Any, sql: str, *, repeats: bool = False, height: Callable[[], int] | None = None
) -> Engine:
    """A query over files; another connection reads them by the same query.

    As a view of its own: two that replace one view of their database at once, are both refused.
    """
    return locked(
        connection,
        connection.sql(sql),
        lambda other, view: other.execute(
            f"CREATE OR REPLACE TEMP VIEW {duckdb_name(view)} AS {sql}"
        ),
        repeats=repeats,
        height=height,
    )

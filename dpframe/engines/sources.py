"""From the data that a user hands over to the engine that computes on it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dpframe.engines.base import Engine, withhold_rows
from dpframe.engines.files import (
    EngineName,
    are_as_before,
    files_version,
    headers_of,
    matching,
    open_files,
)
from dpframe.engines.polars import PolarsEngine
from dpframe.engines.relations import require_sound
from dpframe.engines.sandbox import in_their_types, locked, opened, sandbox
from dpframe.engines.steady import is_steady
from dpframe.errors import DeclarationError, EngineError, ParameterError


@dataclass(frozen=True, slots=True)
class Opened:
    """Opened data, and what tells whether it is still the same."""

    engine: Engine
    version: Callable[[], str | None]
    """Asked for before each charge, so an error if the data cannot be read any more."""


def open_data(data: Any, engine: EngineName | None) -> Opened:
    """Open data on the engine that suits it, or on the one that was asked for.

    Frames and Arrow tables do not change once they are registered, so each registration is one
    version. Files change with their size or when they are written, and so do lazy frames that read
    them. A relation or a pandas frame can change without a trace.
    """
    if isinstance(data, str | Path):
        files = matching(str(data))  # those that are opened, whatever a pattern matches later
        found = engine_for(data, engine, files)
        return Opened(found, _Files(files, frozenset(found.storage()), headers_of(files)))
    if isinstance(data, pl.DataFrame):
        data = data.clone()  # its owner may add rows or columns to it in place
    found = engine_for(data, engine)
    token = f"registered {uuid.uuid4()}"
    if isinstance(data, pl.LazyFrame):
        read = files_of(data)
        if read and files_version(read) is None:  # they are no files of this machine
            read = None
        if not read:
            return Opened(found, lambda: None if read is None else token)
        # Which columns it reads is not known, nor whether the first line of a CSV file is a row.
        files_read = _Files(read, frozenset(), None)
        return Opened(found, lambda: f"{token} {files_read()}")
    module = type(data).__module__.partition(".")[0]
    if module in ("duckdb", "_duckdb"):
        from dpframe.engines.duckdb import DuckDBEngine

        assert isinstance(found, DuckDBEngine)
        return Opened(found, found.version_of_relation)
    return Opened(found, lambda: None if module == "pandas" else token)


class _Files:
    """The version of files; whenever they have changed, they must still have the same columns."""

    def __init__(
        self, files: list[str], columns: frozenset[str], headers: list[bytes] | None
    ) -> None:
        self._files, self._columns, self._headers = files, columns, headers
        self._seen = files_version(files)

    def __call__(self) -> str:
        version = _version_of_files(self._files)
        changed = version != self._seen
        if changed and not are_as_before(self._files, self._columns, self._headers):
            raise EngineError(
                "a file of the table is not what it was",
                why=f"{_some(self._files)}: one has other columns, or in another order, or is no"
                " Parquet file any more; nothing was spent",
                fix="put it back, or register the files that there are in a new session",
            )
        self._seen = version
        return version


def _some(files: list[str]) -> str:
    return f"{', '.join(files[:3])}{', ...' if len(files) > 3 else ''}"


def _version_of_files(files: list[str]) -> str:
    version = files_version(files)
    if version is None:
        raise EngineError(
            "a file of the table is not where it was",
            why=f"{_some(files)}: one is gone, or cannot be read any more; nothing was spent",
            fix="put it back, or register the files that there are in a new session",
        )
    return version


_NEVER_THE_SAME = r"python|map_groups|\.shuffle\(|\.sample\(|\.rank\("
"""What computes other rows each time, or may: code of the user's own, and chance."""


def files_of(frame: pl.LazyFrame) -> list[str] | None:
    """The files that a lazy frame reads when it is collected; None if that cannot be told.

    Its plan is read as Polars prints it, so whatever is not plainly one file, or a frame in memory,
    cannot be told.

    >>> files_of(pl.LazyFrame({"x": [1]}).filter(pl.col("x") > 0))
    []
    """
    plan = frame.explain(optimized=False)
    listed = re.findall(r"^ *\w+ SCAN \[(.*)\]$", plan, re.MULTILINE)
    told = not re.search(_NEVER_THE_SAME, plan, re.IGNORECASE) and plan.count("SCAN") == len(listed)
    return listed if told and all(Path(file).is_file() for file in listed) else None


def engine_for(data: Any, engine: EngineName | None, files: list[str] | None = None) -> Engine:
    """Open data on the engine that suits it, or on the one that was asked for.

    Of a path, `files` are those that it matches.

    Polars frames stay on Polars; relations, Arrow tables, pandas frames and files go to DuckDB,
    which scans them in place.
    """
    if engine not in (None, "duckdb", "polars"):
        raise ParameterError(
            f"engine={engine!r} is unknown",
            why="parts are computed on DuckDB or on Polars",
            fix='engine="duckdb" or engine="polars", or leave it out',
        )
    if isinstance(data, str | Path):
        return open_files(str(data), matching(str(data)) if files is None else files, engine)
    kind, name = type(data).__module__.partition(".")[0], type(data).__name__
    if kind in ("duckdb", "_duckdb") and "Relation" in name:
        return _relation(data, engine)
    readers: dict[tuple[str, str], Callable[[Any], pl.DataFrame | pl.LazyFrame]] = {
        ("polars", "DataFrame"): lambda frame: frame,
        ("polars", "LazyFrame"): lambda frame: frame,
        ("pyarrow", "Table"): _from_arrow,
        ("pyarrow", "RecordBatch"): _from_arrow,
        ("pandas", "DataFrame"): pl.from_pandas,
    }
    if (kind, name) in readers:
        on_polars = engine == "polars" or (engine is None and kind == "polars")
        read = readers[kind, name]
        return opened(
            f"the {kind} {name}",
            (lambda: PolarsEngine(read(data))) if on_polars else lambda: _scanned_by_duckdb(data),
        )
    raise DeclarationError(
        f"a {type(data).__module__}.{type(data).__name__} cannot be registered",
        why="dpframe reads Polars frames, DuckDB relations, Arrow tables, pandas frames and files",
        fix='session.register("t", pl.DataFrame(...)), or a path such as "visits/*.parquet"',
    )


def _from_arrow(data: Any) -> pl.DataFrame:
    frame = pl.from_arrow(data)
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def _relation(data: Any, engine: EngineName | None) -> Engine:
    from dpframe.engines.duckdb import DuckDBEngine

    if engine == "polars":
        raise DeclarationError(
            "a DuckDB relation stays on DuckDB",
            why="moving it to Polars would copy the whole table",
            fix="leave engine= out, or register relation.pl()",
        )
    require_sound(data)
    return DuckDBEngine(data.project(in_their_types(data)))


def _scanned_by_duckdb(data: Any) -> Engine:
    connection = sandbox()
    typed = _with_types(data)
    connection.register("data", typed)
    connection.execute("SET enable_external_access = false")
    relation = withhold_rows("DuckDB", lambda: connection.table("data"))
    return locked(
        connection,
        relation,
        lambda other, view: other.register(view, typed),
        is_steady=not isinstance(data, pl.LazyFrame) or is_steady(data),
        height=(lambda: typed.height) if isinstance(typed, pl.DataFrame) else None,
    )


def _with_types(data: Any) -> Any:
    """A pandas frame whose columns of objects are given their types now, from all rows.

    DuckDB would guess them from a sample, and one row that does not fit would stop every query.
    """
    is_pandas = type(data).__module__.partition(".")[0] == "pandas"
    if not is_pandas or "object" not in map(str, data.dtypes):
        return data
    import pyarrow

    return pyarrow.Table.from_pandas(data, preserve_index=False)

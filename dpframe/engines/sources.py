"""From the data that a user hands over to the engine that computes on it."""

from __future__ import annotations

import glob
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from dpframe.engines.base import Engine, withhold_rows
from dpframe.engines.polars import PolarsEngine
from dpframe.errors import DeclarationError, ParameterError
from dpframe.plan.sqltext import duckdb_literal, duckdb_name

EngineName = Literal["duckdb", "polars"]


@dataclass(frozen=True, slots=True)
class Opened:
    """Opened data, and what tells whether it is still the same."""

    engine: Engine
    version: Callable[[], str | None]


def open_data(data: Any, engine: EngineName | None) -> Opened:
    """Open data on the engine that suits it, or on the one that was asked for.

    Frames and Arrow tables do not change once they are registered, so each registration is one
    version. Files change with their size or time of modification. A relation or a pandas frame can
    change without a trace.
    """
    opened = engine_for(data, engine)
    if isinstance(data, str | Path):
        return Opened(opened, lambda: _files_version(str(data)))
    mutable = type(data).__module__.partition(".")[0] in ("duckdb", "_duckdb", "pandas")
    token = None if mutable else f"registered {uuid.uuid4()}"
    return Opened(opened, lambda: token)


def _files_version(path: str) -> str | None:
    """The files, their sizes and times of modification."""
    try:
        found = [(f, Path(f).stat()) for f in _matching(path)]
    except OSError:
        return None
    listed = [f"{Path(f).resolve()} {s.st_size} {s.st_mtime_ns}" for f, s in found]
    return "files " + "; ".join(listed)


def _matching(path: str) -> list[str]:
    return sorted(glob.glob(path, recursive=True)) if _is_pattern(path) else [path]


def engine_for(data: Any, engine: EngineName | None) -> Engine:
    """Open data on the engine that suits it, or on the one that was asked for.

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
        return _files(str(data), engine or "duckdb")
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
        return _opened(
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
    _require_sound_statistics(data)
    return DuckDBEngine(data)


def _require_sound_statistics(relation: Any) -> None:
    """Refuse a relation over Parquet files whose statistics leave NaN out, which DuckDB believes.

    Where all other values are below 5, DuckDB would take `x <= 5` for TRUE, and isnan(x) for FALSE:
    whether NaN is counted, and whether a cast fails, would depend on other rows. `can_have_nan` makes
    NaN the largest value there may be. Tables of DuckDB know of their NaN.
    """
    kinds = zip(relation.columns, map(str, relation.types), strict=True)
    floats = [name for name, kind in kinds if kind in ("FLOAT", "DOUBLE")]
    if not floats or not re.search("PARQUET|ICEBERG|DELTA|DUCKLAKE", relation.explain().upper()):
        return
    asked = ", ".join(f"CAST(stats({duckdb_name(name)}) AS VARCHAR)" for name in floats)
    view = "dpframe_statistics"
    known = withhold_rows(  # a row may make the relation fail, whose error would quote it
        "DuckDB", lambda: relation.query(view, f"SELECT {asked} FROM {view} LIMIT 1").fetchall()
    )
    each = [str(text).lower() for row in known for text in row]
    if each and all("nan" in text or not re.search(r"max'?: [^n]", text) for text in each):
        return
    raise DeclarationError(
        "this relation reads files whose statistics leave NaN out",
        why="DuckDB believes them, so whether a row is counted could depend on other rows",
        fix='session.register("visits", "visits.parquet"), or a relation such as'
        " connection.sql(\"SELECT * FROM read_parquet('visits.parquet', can_have_nan = true)\")",
    )


def sandbox() -> Any:
    """A DuckDB that reads what it is given and nothing else."""
    import duckdb

    return duckdb.connect(
        config={
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
        }
    )


def _locked(
    connection: Any, relation: Any, attach: Callable[[Any, str], object], *, repeats: bool = False
) -> Engine:
    from dpframe.engines.duckdb import DuckDBEngine

    connection.execute("SET lock_configuration = true")
    return DuckDBEngine(relation, attach, connection, repeats=repeats)


def _queried(connection: Any, sql: str, *, repeats: bool = False) -> Engine:
    """A query over files; another connection reads them by the same query."""
    return _locked(
        connection,
        connection.sql(sql),
        lambda other, view: other.execute(f"CREATE OR REPLACE VIEW {duckdb_name(view)} AS {sql}"),
        repeats=repeats,
    )


def _scanned_by_duckdb(data: Any) -> Engine:
    connection = sandbox()
    typed = _with_types(data)
    connection.register("data", typed)
    connection.execute("SET enable_external_access = false")
    relation = withhold_rows("DuckDB", lambda: connection.table("data"))
    return _locked(connection, relation, lambda other, view: other.register(view, typed))


def _with_types(data: Any) -> Any:
    """A pandas frame whose columns of objects are given their types now, from all rows.

    DuckDB would guess them from a sample, and one row that does not fit would stop every query.
    """
    is_pandas = type(data).__module__.partition(".")[0] == "pandas"
    if not is_pandas or "object" not in map(str, data.dtypes):
        return data
    import pyarrow

    return pyarrow.Table.from_pandas(data, preserve_index=False)


def _files(path: str, engine: EngineName) -> Engine:
    found = _matching(path)
    if not found or not all(Path(f).is_file() for f in found):
        raise DeclarationError(
            f"no file at {path!r}",
            why="the path must name a Parquet or CSV file, or be a pattern that matches some",
            fix='"visits.parquet", "visits/*.parquet" or "visits.csv"',
        )
    endings = {Path(f).suffix.lower() for f in found}
    if endings <= {".parquet", ".pq"}:
        return _parquet(found, engine)
    if endings <= {".csv", ".tsv"}:
        return _csv(found, engine)
    raise DeclarationError(
        f"{path!r} is neither Parquet nor CSV",
        why=f"the files end in {', '.join(sorted(endings))}",
        fix="convert them, or register pl.scan_ipc(...) and the like",
    )


def _is_pattern(path: str) -> bool:
    return any(c in path for c in "*?[") and not Path(path).exists()


def parquet_sql(files: list[str]) -> str:
    """What DuckDB reads Parquet files by. NaN may be in them: see `_require_sound_statistics`."""
    listed = ", ".join(map(duckdb_literal, files))
    return f"read_parquet([{listed}], hive_partitioning = false, can_have_nan = true)"


def _parquet(files: list[str], engine: EngineName) -> Engine:
    connection = sandbox()

    def open_files() -> Engine:
        # Otherwise a file with other columns would be found after the charge.
        schemas = [pl.scan_parquet(f, glob=False).collect_schema() for f in files]
        if any(schema != schemas[0] for schema in schemas):
            raise ValueError("different columns")
        if engine == "polars":
            return PolarsEngine(pl.scan_parquet(files, glob=False))
        return _queried(connection, f"SELECT * FROM {parquet_sql(files)}", repeats=True)

    return _opened(repr(files[0]), open_files)


def _csv(files: list[str], engine: EngineName) -> Engine:
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

    def open_files() -> Engine:
        dialect = _dialect(files)
        sniffed = connection.sql(f"SELECT * FROM read_csv([{listed}], {dialect})")
        texts = ", ".join(f"{duckdb_literal(c)}: 'VARCHAR'" for c in sniffed.columns)
        # SUBSTRING changes nothing, but a bare cast becomes the reader's own, and drops whole rows.
        columns = ", ".join(
            f"TRY_CAST(SUBSTRING({duckdb_name(c)}, 1) AS {t}) AS {duckdb_name(c)}"
            for c, t in zip(sniffed.columns, sniffed.types, strict=True)
        )
        fixed = f"{dialect}, auto_detect = false, columns = {{{texts}}}"
        return _queried(connection, f"SELECT {columns} FROM read_csv([{listed}], {fixed})")

    return _opened(repr(files[0]), open_files)


def _dialect(files: list[str]) -> str:
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


def _opened(what: str, open_engine: Callable[[], Engine]) -> Engine:
    """Open data, or refuse it without quoting what is in it."""
    try:
        engine = open_engine()
        engine.storage()
        return engine
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of the engine is no Exception
        kind = type(error).__name__
    raise DeclarationError(
        f"{what} cannot be opened ({kind})",
        why="it is not readable, its columns have types or names that the engine does not take, or"
        " the files of a pattern have different columns",
        fix="read it with Polars or DuckDB alone to see what is wrong, or try the other engine=",
    )

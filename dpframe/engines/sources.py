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
from dpframe.engines.csv_dialect import dialect_of
from dpframe.engines.polars import PolarsEngine
from dpframe.engines.steady import is_steady
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
    version. Files change with their size or when they are written, and so do lazy frames that read
    them. A relation or a pandas frame can change without a trace.
    """
    if isinstance(data, str | Path):
        files = _matching(str(data))  # those that are opened, whatever a pattern matches later
        return Opened(engine_for(data, engine, files), lambda: _files_version(files))
    if isinstance(data, pl.DataFrame):
        data = data.clone()  # its owner may add rows or columns to it in place
    opened = engine_for(data, engine)
    token = f"registered {uuid.uuid4()}"
    if isinstance(data, pl.LazyFrame):
        read = files_of(data)
        return Opened(opened, lambda: _version_of_lazy(token, read))
    mutable = type(data).__module__.partition(".")[0] in ("duckdb", "_duckdb", "pandas")
    return Opened(opened, lambda: None if mutable else token)


def _version_of_lazy(token: str, files: list[str] | None) -> str | None:
    """A frame that is computed anew from these files whenever it is asked."""
    if not files:
        return None if files is None else token
    version = _files_version(files)
    return None if version is None else f"{token} {version}"


def _files_version(files: list[str]) -> str | None:
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


def _matching(path: str) -> list[str]:
    return sorted(glob.glob(path, recursive=True)) if _is_pattern(path) else [path]


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
        return _files(str(data), _matching(str(data)) if files is None else files, engine)
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
    _require_every_row_is_read(data)
    _require_plain_integers(data)
    return DuckDBEngine(data.project(_in_their_types(data)))


BELIEVES = "filter_pushdown,join_filter_pushdown,statistics_propagation"
"""What DuckDB's optimizer must not do, because it believes the statistics of a file.

They leave NaN out: where all other values are below 5, `x <= 5` is TRUE of NaN as well. And a condition
that reaches the scan is not asked of single rows: of a run of rows whose text is 'er' or NULL, either
all are kept or none, whatever `IS NULL` or COALESCE says of each. So one more row would decide how a
thousand others are counted. With all three off, every row is read, and looked at, whatever a query
asks for: so a text or a time that cannot be read does not tell by its error which rows that names.
"""


def _setting(relation: Any, name: str) -> str:
    """A setting of the connection that a relation is read on."""
    view, asked = "dpframe_settings", f"SELECT current_setting({duckdb_literal(name)})"
    return str(withhold_rows("DuckDB", lambda: relation.query(view, asked).fetchall())[0][0])


def _require_plain_integers(relation: Any) -> None:
    """Refuse a connection that hands over the integers of 128 bits that sums are as bytes."""
    if _setting(relation, "arrow_lossless_conversion").lower() == "false":
        return
    raise DeclarationError(
        "this relation's connection hands over wide integers as bytes",
        why="sums are integers of 128 bits, so that queries would fail after they were paid for",
        fix='connection.execute("SET arrow_lossless_conversion = false")',
    )


def _require_every_row_is_read(relation: Any) -> None:
    """Refuse a relation over files, unless its connection takes nothing from their statistics.

    A plan without rows was made by statistics, too.
    """
    if not re.search("PARQUET|ICEBERG|DELTA|DUCKLAKE|EMPTY.RESULT", relation.explain().upper()):
        return
    disabled = _setting(relation, "disabled_optimizers")
    if set(BELIEVES.split(",")) <= set(disabled.replace(" ", "").split(",")):
        return
    raise DeclarationError(
        "this relation reads files whose statistics DuckDB believes",
        why="they leave out NaN and NULL, so whether a row is counted could depend on other rows",
        fix='session.register("visits", "visits.parquet"); or, before the relation is made,'
        f" connection.execute(\"SET disabled_optimizers = '{BELIEVES}'\")",
    )


def sandbox(**settings: Any) -> Any:
    """A DuckDB that reads what it is given and nothing else, row by row."""
    import duckdb

    return duckdb.connect(
        config={
            "disabled_optimizers": BELIEVES,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
            **settings,
        }
    )


def _locked(
    connection: Any,
    relation: Any,
    attach: Callable[[Any, str], object],
    *,
    repeats: bool = False,
    is_steady: bool = True,
    height: Callable[[], int] | None = None,
) -> Engine:
    from dpframe.engines.duckdb import DuckDBEngine

    connection.execute("SET lock_configuration = true")
    return DuckDBEngine(
        relation, attach, connection, repeats=repeats, is_steady=is_steady, height=height
    )


def _queried(
    connection: Any, sql: str, *, repeats: bool = False, height: Callable[[], int] | None = None
) -> Engine:
    """A query over files; another connection reads them by the same query.

    As a view of its own: two that replace one view of their database at once, are both refused.
    """
    return _locked(
        connection,
        connection.sql(sql),
        lambda other, view: other.execute(
            f"CREATE OR REPLACE TEMP VIEW {duckdb_name(view)} AS {sql}"
        ),
        repeats=repeats,
        height=height,
    )


def _scanned_by_duckdb(data: Any) -> Engine:
    connection = sandbox()
    typed = _with_types(data)
    connection.register("data", typed)
    connection.execute("SET enable_external_access = false")
    relation = withhold_rows("DuckDB", lambda: connection.table("data"))
    return _locked(
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


def _files(path: str, found: list[str], engine: EngineName | None) -> Engine:
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
    """What DuckDB reads Parquet files by. NaN may be in them, whatever their statistics say."""
    listed = ", ".join(map(duckdb_literal, files))
    return f"read_parquet([{listed}], hive_partitioning = false, can_have_nan = true)"


def _parquet(files: list[str], engine: EngineName | None) -> Engine:
    connection = sandbox()

    def open_files() -> Engine:
        # Otherwise a file with other columns would be found after the charge.
        schemas = [pl.scan_parquet(f, glob=False).collect_schema() for f in files]
        if any(schema != schemas[0] for schema in schemas):
            raise ValueError("different columns")
        if engine == "polars":
            return PolarsEngine(pl.scan_parquet(files, glob=False))
        read = parquet_sql(files)
        columns = _in_their_types(connection.sql(f"SELECT * FROM {read}"))
        return _queried(
            connection,
            f"SELECT {columns} FROM {read}",
            repeats=True,
            height=lambda: _rows_in(files),
        )

    return _opened(repr(files[0]), open_files)


def _rows_in(files: list[str]) -> int:
    """How many rows Parquet files have, which they say: the one thing that is taken from metadata.

    Unlike statistics it says the same whatever rows hold. Polars reads it in a tenth of the time.
    """
    return int(pl.scan_parquet(files, glob=False).select(pl.len()).collect().item())


def _in_their_types(relation: Any) -> str:
    """The columns of a relation in the types that they have now, whatever they have later.

    What a column can hold is proven from its type. A file may be written again, and a table altered,
    with a wider one. As long as none is, DuckDB leaves these casts out.
    """
    from dpframe.engines.duckdb import duckdb_storage

    columns = []
    for name, kind in zip(
        map(duckdb_name, relation.columns), map(str, relation.types), strict=True
    ):
        stored = duckdb_storage(kind)
        is_read = stored.type is not None and stored.name == kind  # of ENUM, texts are read
        columns.append(f"TRY_CAST({name} AS {kind}) AS {name}" if is_read else name)
    return ", ".join(columns)


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

    def open_files() -> Engine:
        dialect = dialect_of(files)
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

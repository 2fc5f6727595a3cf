"""A DuckDB of our own, which reads what it is given and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpframe.engines.base import Engine
from dpframe.errors import DeclarationError
from dpframe.plan.sqltext import duckdb_name

BELIEVES = "filter_pushdown,join_filter_pushdown,statistics_propagation"
"""What DuckDB's optimizer must not do, because it believes the statistics of a file.

They leave NaN out: where all other values are below 5, `x <= 5` is TRUE of NaN as well. And a condition
that reaches the scan is not asked of single rows: of a run of rows whose text is 'er' or NULL, either
all are kept or none, whatever `IS NULL` or COALESCE says of each. So one more row would decide how a
thousand others are counted. With all three off, every row is read, and looked at, whatever a query
asks for: so a text or a time that cannot be read does not tell by its error which rows that names.
"""


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
            # Before 2.0, a file that is written again within a second is read from there.
            "enable_external_file_cache": False,
            **settings,
        }
    )


def locked(
    connection: Any,
    relation: Any,
    attach: Callable[[Any, str], object],
    *,
    repeats: bool = False,
    is_steady: bool = True,
    height: Callable[[], int] | None = None,
) -> Engine:
    """An engine on a connection of ours, whose settings nobody changes any more."""
    from dpframe.engines.duckdb import DuckDBEngine

    connection.execute("SET lock_configuration = true")
    return DuckDBEngine(
        relation, attach, connection, repeats=repeats, is_steady=is_steady, height=height
    )


def in_their_types(relation: Any) -> str:
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


def opened(what: str, open_engine: Callable[[], Engine]) -> Engine:
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

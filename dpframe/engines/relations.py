"""What has to hold of a DuckDB relation that a user hands over: its connection is not ours to set up."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from dpframe.engines.base import withhold_rows
from dpframe.engines.sandbox import BELIEVES
from dpframe.engines.steady import scans_a_table
from dpframe.errors import DeclarationError
from dpframe.plan.sqltext import duckdb_literal

_EVERY_ROW = 2**62
"""More rows than there are."""


def require_sound(relation: Any) -> None:
    """Refuse a relation that could be read otherwise than row by row, column by column."""
    _require_different_names(relation)
    _require_every_row_is_read(relation)
    _require_plain_integers(relation)
    _require_its_functions(relation)
    require_silence(relation)


def require_silence(relation: Any) -> None:
    """Refuse a connection that prints, beside each answer, how many rows passed every step.

    To be asked for before each query, since it can be switched on at any time.
    """
    if _setting(relation, "enable_profiling") in ("None", "no_output"):
        return
    raise DeclarationError(
        "this relation's connection prints a profile of each query",
        why="it says how many rows pass a condition, exactly",
        fix='connection.execute("PRAGMA disable_profiling")',
    )


def computed_first(relation: Any) -> Any:
    """A relation whose rows are all computed before a query names some of them.

    What computes it may raise (a cast, a sum that overflows). DuckDB moves conditions below that, and
    then whether a query fails tells of the very rows that it names. Below a LIMIT it moves none, also
    where the relation filters: a filter may raise as well. A table as it is cannot. The LIMIT takes
    one thread, so a connection that moves no condition does without.
    """
    safe = scans_a_table(relation, whole=True) or _reads_row_by_row(relation)
    return relation if safe else relation.limit(_EVERY_ROW)


def _reads_row_by_row(relation: Any) -> bool:
    """Whether the connection moves no condition to where rows are read, nor believes statistics."""
    disabled = _setting(relation, "disabled_optimizers")
    return set(BELIEVES.split(",")) <= set(disabled.replace(" ", "").split(","))


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


def _require_its_functions(relation: Any) -> None:
    """Refuse a connection on which a function of DuckDB's own means something else."""
    view, asked = "dpframe_functions", "SELECT internal, function_name FROM duckdb_functions()"
    functions = withhold_rows("DuckDB", lambda: relation.query(view, asked).fetchall())
    own = {name.lower() for internal, name in functions if internal}
    others = sorted({name for internal, name in functions if not internal and name.lower() in own})
    if others:
        raise DeclarationError(
            f"this relation's connection has a macro called {others[0]!r}",
            why="it takes the place of DuckDB's own function, which bounds and sums are computed by",
            fix="give it another name, and drop this one before the table is registered",
        )


def _require_different_names(relation: Any) -> None:
    """Refuse a relation with two columns of one name, such as all columns of a join.

    A column is found by its name: the type, which bounds are proven from, would be that of the one,
    and the values those of the other.
    """
    twice = [name for name, times in Counter(relation.columns).items() if times > 1]
    if twice:
        raise DeclarationError(
            f"this relation has several columns called {twice[0]!r}",
            why="what is proven of the one would be taken for the other",
            fix="name them apart: SELECT a.id, a.x, b.x AS other FROM a JOIN b USING (id)",
        )


def _require_every_row_is_read(relation: Any) -> None:
    """Refuse a relation over files, unless its connection takes nothing from their statistics.

    A plan without rows was made by statistics, too.
    """
    if not re.search("PARQUET|ICEBERG|DELTA|DUCKLAKE|EMPTY.RESULT", relation.explain().upper()):
        return
    if _reads_row_by_row(relation):
        return
    raise DeclarationError(
        "this relation reads files whose statistics DuckDB believes",
        why="they leave out NaN and NULL, so whether a row is counted could depend on other rows",
        fix='session.register("visits", "visits.parquet"); or, before the relation is made,'
        f" connection.execute(\"SET disabled_optimizers = '{BELIEVES}'\")",
    )

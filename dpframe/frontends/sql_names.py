"""Names in a statement: registered tables, aliases, ordinals and stars, resolved by sqlglot."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel, OptimizeError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from dpframe.declare import Table
from dpframe.errors import SQLError
from dpframe.frontends.sql_origin import sql_error
from dpframe.plan.nodes import RESERVED


def written(item: exp.Expr) -> str:
    """An item of SELECT as DuckDB would name its column.

    >>> from sqlglot import parse_one
    >>> written(parse_one("COUNT(DISTINCT a, b // 2)", read="duckdb"))
    'count(DISTINCT a, b // 2)'
    """
    item = item.copy()
    for distinct in list(item.find_all(exp.Distinct)):
        if len(distinct.expressions) > 1:
            # DuckDB has no COUNT(DISTINCT a, b): as a whole it would be written as a CASE.
            listed = ", ".join(map(written, distinct.expressions))
            distinct.set("expressions", [exp.Var(this=listed)])
    return item.sql(
        "duckdb",
        normalize_functions="lower",
        comments=False,
        unsupported_level=ErrorLevel.IGNORE,
    )


def check_tables(select: exp.Select, text: str, tables: Mapping[str, Table]) -> None:
    """Refuse a FROM that names anything but registered tables and subqueries."""
    for inner in select.find_all(exp.Select):
        source = inner.args.get("from_")
        if source is None:
            raise sql_error(
                None if inner is select else inner.expressions[0],
                text,
                "there is no FROM",
                why="a query needs a registered table",
                fix="SELECT COUNT(*) FROM t",
            )
        named = {cte.alias.lower() for cte in ctes_around(inner)}
        for node in (source.this, *(join.this for join in inner.args.get("joins") or [])):
            if not isinstance(node, exp.Subquery):
                _check_table(node, text, tables, named)
            _check_alias(node, text)
        for join in inner.args.get("joins") or []:
            if join.args.get("using") and str(join.args.get("side")).upper() == "RIGHT":
                raise sql_error(
                    join.this,
                    text,
                    "RIGHT JOIN with USING is not answered",
                    why="which side a column is from would be unclear",
                    fix="LEFT JOIN with the tables swapped, or ON a.id = b.id",
                )


def ctes_around(select: exp.Expression | None) -> list[exp.CTE]:
    """The common table expressions that a SELECT can name, the nearest first.

    One of them names those before it, but not itself: `WITH t AS (SELECT * FROM t)` reads a table.
    """
    found: list[exp.CTE] = []
    around: Any = select
    inside: Any = None
    while around is not None:
        clause = around.args.get("with_") or exp.With()
        listed, own = clause.expressions, [c is inside for c in clause.expressions]
        found += listed[: own.index(True)] if any(own) and not clause.recursive else listed
        inside = around if isinstance(around, exp.CTE) else inside
        around = around.parent
    return found


def _check_table(
    node: exp.Expression, text: str, tables: Mapping[str, Table], named: set[str]
) -> None:
    plain = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier)
    extras = {k for k, v in node.args.items() if v and k not in ("this", "alias")}
    if not plain or extras or not node.name.isidentifier():
        raise sql_error(
            node,
            text,
            "only a registered table can be queried",
            why="files, functions, samples and pivots have no declaration to follow",
            fix='session.register("t", data, columns={...}) first; registered: '
            + (", ".join(tables) or "nothing"),
        )
    by_name = {name.lower() for name in tables} | named
    if node.name.lower() not in by_name:
        near = difflib.get_close_matches(node.name.lower(), by_name, n=1)
        raise sql_error(
            node.this,
            text,
            "no such table" + (f"; did you mean {near[0]}?" if near else ""),
            why=f"registered tables: {', '.join(tables) or 'none'}",
            fix=f'session.register("{node.name}", data, columns={{...}})',
        )


def _check_alias(node: exp.Expression, text: str) -> None:
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise sql_error(
            alias,
            text,
            "columns cannot be renamed here",
            why="declarations go by the names that the table was registered with",
            fix=f"FROM ... AS {alias.name}; a subquery renames them with AS in its SELECT",
        )


@functools.lru_cache(maxsize=16)
def _schema(tables: tuple[tuple[str, tuple[str, ...]], ...]) -> MappingSchema:
    """The columns of tables, as sqlglot wants them; it takes a while to build."""
    columns: dict[str, object] = {
        # A table has at least one column for sqlglot, though maybe none that can be read.
        name: dict.fromkeys((c for c in found if c != "*"), "UNKNOWN") or {RESERVED: "UNKNOWN"}
        for name, found in tables
    }
    return MappingSchema(columns, dialect="duckdb")


def qualified(select: exp.Select, tables: Mapping[str, Table]) -> exp.Select:
    """Resolve aliases, ordinals and stars, and say of every column which table it is from."""
    using = [
        {
            name.name.lower()
            for join in s.args.get("joins") or []
            for name in join.args.get("using") or []
        }
        for s in select.find_all(exp.Select)
    ]
    schema = _schema(
        tuple((t.name.lower(), tuple(c.lower() for c in t.domains)) for t in tables.values())
    )
    problem = ""
    try:
        found: exp.Select = qualify(
            select.copy(),
            schema=schema,
            dialect="duckdb",
            validate_qualify_columns=False,
            quote_identifiers=False,
        )
        # Names are compared without regard to case or quotes, as DuckDB does.
        for name in found.find_all(exp.Identifier):
            name.set("quoted", False)
        _take_first_of_using(found, {n for names in using for n in names})
        return found
    except OptimizeError as error:
        problem = str(error).split("\n")[0]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        problem = "it could not be resolved"
    listed = "; ".join(f"columns of {t.name}: {', '.join(t.storage)}" for t in tables.values())
    raise SQLError(
        f"the names in the query do not resolve: {problem}",
        why=listed,
        fix="check the names, aliases and ordinals",
    )


def _take_first_of_using(select: exp.Expression, using: set[str]) -> None:
    """Of a column named in USING, sqlglot writes COALESCE of both sides: the first is enough.

    The two are equal where rows match, and in a left join the first is the one that is there.
    """
    for node in list(select.find_all(exp.Coalesce)) if using else []:
        columns = [node.this, *node.expressions]
        names = {c.name.lower() for c in columns if isinstance(c, exp.Column) and c.table}
        whole = all(isinstance(c, exp.Column) and c.table for c in columns)
        if whole and len(names) == 1 and names <= using:
            node.replace(node.this)


def refuse_reserved(item: exp.Expression, name: str, text: str) -> None:
    """Refuse what a column is called where that is the library's own."""
    if name.lower().startswith(RESERVED):
        raise sql_error(
            item,
            text,
            f"a name cannot begin with {RESERVED}",
            why="such names are the library's own",
            fix="name it otherwise: COUNT(*) AS n",
        )

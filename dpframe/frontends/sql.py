"""SQL text, read as a plan. The text itself is never executed."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel, OptimizeError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from dpframe.declare import Table, readable
from dpframe.errors import ParameterError, SQLError
from dpframe.frontends.sql_clauses import (
    group_keys,
    refuse_what_is_too_large,
    refuse_wrong_ordinals,
    row_count,
)
from dpframe.frontends.sql_dialects import DUCKDB, dialect_named
from dpframe.frontends.sql_exprs import ExprReader
from dpframe.frontends.sql_known import refuse_unread
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.frontends.sql_parse import parse
from dpframe.plan.exprs import AggregateCall, Column, Expr
from dpframe.plan.nodes import (
    HIDDEN,
    Aggregate,
    Filter,
    Limit,
    Node,
    Project,
    Scan,
    Sort,
    SortKey,
)

_RESERVED = "__dpframe"
"""Names that begin so are the library's own."""


def plan_of(text: str, tables: Mapping[str, Table], dialect: str = DUCKDB) -> Node:
    """Parse one SELECT over registered tables."""
    if not isinstance(text, str):
        raise ParameterError(
            f"the query is a {type(text).__name__}",
            why="SQL is text",
            fix='session.sql("SELECT COUNT(*) FROM t", epsilon=0.1)',
        )
    select = parse(text, dialect_named(dialect))
    refuse_what_is_too_large(select, text)
    table = _table_of(select, text, tables)
    names = _output_names(select, text, table)
    _refuse_rows(select, text)
    refuse_wrong_ordinals(select, text)
    qualified = _qualified(select, table)
    return _Builder(text, table, qualified.args["from_"].alias_or_name).build(qualified, names)


def _table_of(select: exp.Select, text: str, tables: Mapping[str, Table]) -> Table:
    source = select.args.get("from_")
    if source is None:
        raise SQLError(
            "there is no FROM",
            why="a query needs a registered table",
            fix="SELECT COUNT(*) FROM t",
        )
    node = source.this
    plain = isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier)
    extras = {k for k, v in node.args.items() if v and k not in ("this", "alias")}
    if not plain or extras or not node.name.isidentifier():
        raise sql_error(
            node,
            text,
            "only a registered table can be queried",
            why="files, functions, subqueries, samples and pivots have no declaration to follow",
            fix='session.register("t", data, columns={...}) first; registered: '
            + (", ".join(tables) or "nothing"),
        )
    alias = node.args.get("alias")
    if alias is not None and alias.args.get("columns"):
        raise sql_error(
            alias,
            text,
            "columns cannot be renamed here",
            why="declarations go by the names that the table was registered with",
            fix=f"FROM {node.name} AS {alias.name}",
        )
    by_name = {name.lower(): table for name, table in tables.items()}
    if node.name.lower() not in by_name:
        near = difflib.get_close_matches(node.name.lower(), by_name, n=1)
        raise sql_error(
            node.this,
            text,
            "no such table" + (f"; did you mean {near[0]}?" if near else ""),
            why=f"registered tables: {', '.join(tables) or 'none'}",
            fix=f'session.register("{node.name}", data, columns={{...}})',
        )
    return by_name[node.name.lower()]


def _output_names(select: exp.Select, text: str, table: Table) -> list[str]:
    """The names of the columns as they were written, made unique."""
    declared = {c.lower(): c for c in table.storage}
    names: list[str] = []
    for item in select.expressions:
        if isinstance(item, exp.Alias):
            name = item.alias
        elif isinstance(item, exp.Column):
            name = declared.get(item.name.lower(), item.name)
        else:
            name = item.sql(
                "duckdb",
                normalize_functions="lower",
                comments=False,
                unsupported_level=ErrorLevel.IGNORE,
            )
        if name.startswith(_RESERVED):
            raise sql_error(
                item,
                text,
                f"a name cannot begin with {_RESERVED}",
                why="such names are the library's own",
                fix="name it otherwise: COUNT(*) AS n",
            )
        unique, count = name, 1
        while unique in names:
            unique, count = f"{name}_{count}", count + 1
        names.append(unique)
    return names


def _refuse_rows(select: exp.Select, text: str) -> None:
    for star in select.expressions:
        inner = star.this if isinstance(star, exp.Column) else star
        if isinstance(inner, exp.Star):
            written = any(text[n.meta["start"]] == "*" for n in star.walk() if "start" in n.meta)
            raise _rows_error(star if written else None, text)


def _rows_error(node: exp.Expression | None, text: str) -> SQLError:
    return sql_error(
        node,
        text,
        "the query returns rows",
        why="rows are private; only aggregates of them can be released",
        fix="SELECT COUNT(*) FROM ..., or aggregate with SUM, AVG and GROUP BY",
    )


def _qualified(select: exp.Select, table: Table) -> exp.Select:
    """Resolve aliases and ordinals, and say of every column which table it is from."""
    columns = {c.lower(): "UNKNOWN" for c in table.storage if c != "*"}
    schema = MappingSchema({table.name.lower(): columns}, dialect="duckdb")
    problem = ""
    try:
        qualified: exp.Select = qualify(
            select.copy(),
            schema=schema,
            dialect="duckdb",
            validate_qualify_columns=False,
            quote_identifiers=False,
        )
        # Names are compared without regard to case or quotes, as DuckDB does.
        for name in qualified.find_all(exp.Identifier):
            name.set("quoted", False)
        return qualified
    except OptimizeError as error:
        problem = str(error).split("\n")[0]
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        problem = "it could not be resolved"
    raise SQLError(
        f"the names in the query do not resolve: {problem}",
        why=f"columns of {table.name}: {', '.join(table.storage)}",
        fix="check the names, aliases and ordinals",
    )


@dataclass(slots=True)
class _Builder:
    """Turns one qualified SELECT into nodes, collecting its keys and aggregates on the way."""

    text: str
    table: Table
    alias: str
    """What the query calls the table."""
    keys: dict[exp.Expression, str] = field(default_factory=dict)
    aggregates: dict[AggregateCall, str] = field(default_factory=dict)

    def build(self, select: exp.Select, names: list[str]) -> Node:
        rows = ExprReader(self.text, self._row_leaf)
        node: Node = Scan(self.table.name)
        where = select.args.get("where")
        if where is not None:
            node = Filter(node, rows.read(where.this))
        self.keys = {key: f"k{i}" for i, key in enumerate(group_keys(select, self.text))}
        keys = tuple((name, rows.read(key)) for key, name in self.keys.items())
        groups = ExprReader(self.text, self._group_leaf)
        columns = [
            (name, groups.read(item.unalias()))
            for name, item in zip(names, select.expressions, strict=True)
        ]
        having = select.args.get("having")
        kept = None if having is None else groups.read(having.this)
        sort_keys, hidden = self._order(select, names)
        if not self.aggregates:
            raise _rows_error(select.expressions[0] if select.expressions else None, self.text)
        node = Aggregate(node, keys, tuple((n, call) for call, n in self.aggregates.items()))
        if kept is not None:
            node = Filter(node, kept)
        node = Project(node, (*columns, *hidden))
        if sort_keys:
            node = Sort(node, tuple(sort_keys))
        limit, offset = (row_count(select, clause, self.text) for clause in ("limit", "offset"))
        if limit is not None or offset:
            node = Limit(node, limit, offset or 0)
        if hidden:
            node = Project(node, tuple((name, Column(name)) for name, _ in columns))
        return node

    def _order(
        self, select: exp.Select, names: list[str]
    ) -> tuple[list[SortKey], list[tuple[str, Expr]]]:
        """Sort keys, and the columns that exist only to sort by."""
        sort_keys: list[SortKey] = []
        hidden: list[tuple[str, Expr]] = []
        order = select.args.get("order")
        items = {item.alias_or_name.lower(): item.unalias() for item in select.expressions}
        outputs = {
            item.alias_or_name.lower(): name
            for item, name in zip(select.expressions, names, strict=True)
        }

        def leaf(node: exp.Expression) -> Expr | None:
            # In an expression a column goes before an alias of the same name; alone, after it.
            if isinstance(node, exp.Column) and not node.table:
                known = node.name.lower() in (c.lower() for c in self.table.storage)
                if not known and node.name.lower() in items:
                    return groups.read(items[node.name.lower()])
                node = exp.column(node.this.copy(), table=exp.to_identifier(self.alias))
            return self._group_leaf(node)

        groups = ExprReader(self.text, leaf)
        for item in order.expressions if order is not None else []:
            refuse_unread(item, {"this", "desc", "nulls_first"}, self.text)
            target, descending = item.this, bool(item.args.get("desc"))
            nulls_last = not item.args.get("nulls_first")
            if isinstance(target, exp.Var) and target.name.upper() == "ALL":
                sort_keys += [SortKey(Column(n), descending, nulls_last) for n in names]
                continue
            bare = isinstance(target, exp.Column) and not target.table
            name = outputs.get(target.name.lower()) if bare else None
            if name is None:
                name = f"{HIDDEN}{len(hidden)}"
                hidden.append((name, groups.read(target)))
            sort_keys.append(SortKey(Column(name), descending, nulls_last))
        return sort_keys, hidden

    # What a column or an aggregate means depends on where it stands.

    def _row_leaf(self, node: exp.Expression) -> Expr | None:
        if isinstance(node, exp.Column):
            return self._column(node)
        if _is_aggregate(node):
            raise sql_error(
                node,
                self.text,
                "an aggregate cannot stand here",
                why="WHERE, GROUP BY, FILTER and aggregates look at one row at a time",
                fix="move the condition to HAVING",
            )
        return None

    def _group_leaf(self, node: exp.Expression) -> Expr | None:
        key = self.keys.get(node)
        if key is not None:
            return Column(key, origin_of(node, self.text))
        if _is_aggregate(node):
            call = self._aggregate(node)
            name = self.aggregates.setdefault(call, f"a{len(self.aggregates)}")
            return Column(name, call.place)
        if isinstance(node, exp.Column):
            self._column(node)
            raise sql_error(
                node,
                self.text,
                "it is neither a group key nor inside an aggregate",
                why="a value of single rows cannot be released",
                fix=f"GROUP BY {node.name}, or AVG({node.name})",
            )
        return None

    def _column(self, node: exp.Column) -> Column:
        if node.args.get("db") or node.table.lower() not in ("", self.alias.lower()):
            raise sql_error(
                node,
                self.text,
                "no such table in this query",
                why=f"the query reads {self.table.name}"
                + ("" if self.alias == self.table.name.lower() else f" as {self.alias}"),
                fix=f"{self.alias}.{node.name}, or {node.name} alone",
            )
        declared = {c.lower(): c for c in self.table.storage}
        name = declared.get(node.name.lower())
        if name is None:
            near = difflib.get_close_matches(node.name.lower(), declared, n=1)
            raise sql_error(
                node,
                self.text,
                "no such column" + (f"; did you mean {declared[near[0]]}?" if near else ""),
                why=f"columns of {self.table.name}: {', '.join(self.table.storage)}",
                fix="check the name",
            )
        if name not in self.table.domains:
            why, fix = readable(self.table.storage[name])
            raise sql_error(
                node,
                self.text,
                f"a column of type {self.table.storage[name].name} cannot be used",
                why=why,
                fix=fix,
            )
        return Column(name, origin_of(node, self.text))

    def _aggregate(self, node: exp.Expression) -> AggregateCall:
        rows = ExprReader(self.text, self._row_leaf)
        place = origin_of(node, self.text)
        where: Expr | None = None
        if isinstance(node, exp.Filter):
            where = rows.read(node.expression.this)
            node = node.this
        refuse_unread(node, {*node.arg_types, "big_int"} - {"ignore_nulls"}, self.text)
        name = node.sql_names()[0] if isinstance(node, exp.Func) else node.key.upper()
        arguments = [a for key in node.arg_types for a in _expressions(node.args.get(key))]
        distinct = False
        if arguments and isinstance(arguments[0], exp.Distinct):
            refuse_unread(arguments[0], {"expressions"}, self.text)
            distinct, arguments = True, list(arguments[0].expressions)
        if arguments and isinstance(arguments[0], exp.Star):
            arguments = []
        return AggregateCall(name, tuple(rows.read(a) for a in arguments), distinct, where, place)


def _expressions(value: Any) -> list[exp.Expression]:
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, exp.Expression)]


def _is_aggregate(node: exp.Expression) -> bool:
    return isinstance(node, exp.AggFunc | exp.Filter)

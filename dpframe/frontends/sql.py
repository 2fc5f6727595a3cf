"""SQL text, read as a plan. The text itself is never executed."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import OptimizeError, ParseError, TokenError
from sqlglot.optimizer.qualify import qualify
from sqlglot.schema import MappingSchema

from dpframe.declare import Table
from dpframe.errors import ParameterError, SQLError
from dpframe.frontends.sql_exprs import ExprReader
from dpframe.frontends.sql_origin import SQLOrigin, origin_of, sql_error
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

_READ = {"expressions", "from_", "where", "group", "having", "order", "limit", "offset"}

_CLAUSES = {
    "with_": ("WITH", "write the query over the table itself"),
    "joins": ("JOIN", "query one table at a time"),
    "distinct": ("DISTINCT", "GROUP BY the columns"),
    "qualify": ("QUALIFY", "filter groups with HAVING"),
    "windows": ("WINDOW", "aggregate with GROUP BY"),
    "laterals": ("LATERAL", "query one table at a time"),
    "sample": ("TABLESAMPLE", "query the whole table; sampling gains no budget here"),
    "pivots": ("PIVOT", "GROUP BY the column, and pivot the answer"),
    "into": ("INTO", "keep the answer in a variable: release = session.sql(...)"),
}


def plan_of(text: str, tables: Mapping[str, Table]) -> Node:
    """Parse one SELECT over registered tables."""
    if not isinstance(text, str):
        raise ParameterError(
            f"the query is a {type(text).__name__}",
            why="SQL is text",
            fix='session.sql("SELECT COUNT(*) FROM t", epsilon=0.1)',
        )
    select = _parse(text)
    _refuse_clauses(select, text)
    table = _table_of(select, text, tables)
    names = _output_names(select, table)
    qualified = _qualified(select, text, table)
    return _Builder(text, table).build(qualified, names)


def _parse(text: str) -> exp.Select:
    first = re.match(r"(?:\s|--[^\n]*\n|/\*.*?\*/|\()*([A-Za-z_]*)", text, re.DOTALL)
    word = first.group(1).upper() if first else ""
    if word not in ("SELECT", "WITH", "FROM"):
        found = f"it begins with {word}" if word else "it is empty or no statement at all"
        raise SQLError(
            f"only SELECT is answered, and {found}",
            why="a query reads aggregates; nothing else can be made private",
            fix="SELECT COUNT(*) FROM t",
        )
    problem: tuple[str, int, int] | None = None
    try:
        statements = [s for s in sqlglot.parse(text, dialect="duckdb") if s is not None]
    except ParseError as error:
        detail = error.errors[0] if error.errors else {}
        line, column = detail.get("line") or 1, detail.get("col") or 1
        problem = (str(detail.get("description") or "it cannot be parsed"), line, column)
    except TokenError as error:
        problem = (str(error).split("\n")[0], 1, 1)
    except RecursionError:
        problem = ("it is nested too deeply", 1, 1)
    if problem is not None:
        what, line, column = problem
        start = sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + column - 1
        place = SQLOrigin(text, min(max(start - 1, 0), len(text)), min(start, len(text)))
        raise SQLError(
            f"the SQL does not parse: {what}{place.pointer()}",
            why="SQL is read in DuckDB's dialect",
            fix="check the underlined place",
        )
    if len(statements) != 1:
        raise SQLError(
            f"there are {len(statements)} statements",
            why="one query has one cost and one answer",
            fix="call session.sql once for each",
        )
    statement = statements[0]
    if isinstance(statement, exp.SetOperation):
        raise sql_error(
            statement,
            text,
            f"{type(statement).__name__.upper()} is not answered yet",
            why="rows of both sides would belong to several units",
            fix="ask one query for each side",
        )
    while isinstance(statement, exp.Subquery) and not statement.alias:
        statement = statement.this
    if not isinstance(statement, exp.Select):
        raise SQLError(
            "only SELECT is answered",
            why="a query reads aggregates; nothing else can be made private",
            fix="SELECT COUNT(*) FROM t",
        )
    return statement


def _refuse_clauses(select: exp.Select, text: str) -> None:
    for key, value in select.args.items():
        if key in _READ or not value:
            continue
        name, fix = _CLAUSES.get(key, (key.strip("_").upper(), "leave it out"))
        place = next((n for n in _nodes(value)), None)
        raise sql_error(
            place,
            text,
            f"{name} is not answered",
            why="each operation needs a proof of what one unit can change, and this has none yet",
            fix=fix,
        )


def _nodes(value: Any) -> list[exp.Expression]:
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, exp.Expression)]


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
    if not plain or extras:
        raise sql_error(
            node,
            text,
            "only a registered table can be queried",
            why="files, functions, subqueries, samples and pivots have no declaration to follow",
            fix=f"register the data first; registered: {', '.join(tables) or 'nothing'}",
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


def _output_names(select: exp.Select, table: Table) -> list[str]:
    """The names of the columns as they were written, made unique."""
    declared = {c.lower(): c for c in table.storage}
    names: list[str] = []
    for item in select.expressions:
        if isinstance(item, exp.Alias):
            name = item.alias
        elif isinstance(item, exp.Column):
            name = declared.get(item.name.lower(), item.name)
        else:
            name = item.sql("duckdb", normalize_functions="lower", comments=False)
        unique, count = name, 1
        while unique in names:
            unique, count = f"{name}_{count}", count + 1
        names.append(unique)
    return names


def _qualified(select: exp.Select, text: str, table: Table) -> exp.Select:
    for star in select.expressions:
        inner = star.this if isinstance(star, exp.Column) else star
        if isinstance(inner, exp.Star):
            raise _rows_error(star, text)
    columns = {c.lower(): "UNKNOWN" for c in table.storage}
    schema = MappingSchema({table.name.lower(): columns}, dialect="duckdb")
    problem = ""
    try:
        return qualify(
            select.copy(),
            schema=schema,
            dialect="duckdb",
            validate_qualify_columns=False,
            quote_identifiers=False,
        )
    except OptimizeError as error:
        problem = str(error).split("\n")[0]
    except (AttributeError, KeyError, TypeError, ValueError):
        problem = "it could not be resolved"
    raise SQLError(
        f"the names in the query do not resolve: {problem}",
        why=f"columns of {table.name}: {', '.join(table.storage)}",
        fix="check the names, aliases and ordinals",
    )


def _rows_error(node: exp.Expression | None, text: str) -> SQLError:
    return sql_error(
        node,
        text,
        "the query returns rows",
        why="rows are private; only aggregates of them can be released",
        fix="SELECT COUNT(*) FROM ..., or aggregate with SUM, AVG and GROUP BY",
    )


@dataclass(slots=True)
class _Builder:
    """Turns one qualified SELECT into nodes, collecting its keys and aggregates on the way."""

    text: str
    table: Table
    keys: dict[exp.Expression, str] = field(default_factory=dict)
    aggregates: dict[AggregateCall, str] = field(default_factory=dict)

    def build(self, select: exp.Select, names: list[str]) -> Node:
        rows = ExprReader(self.text, self._row_leaf)
        node: Node = Scan(self.table.name)
        where = select.args.get("where")
        if where is not None:
            node = Filter(node, rows.read(where.this))
        key_exprs = self._keys(select)
        self.keys = {key: f"k{i}" for i, key in enumerate(key_exprs)}
        keys = tuple((name, rows.read(key)) for key, name in self.keys.items())
        groups = ExprReader(self.text, self._group_leaf)
        columns = [
            (name, groups.read(item.unalias()))
            for name, item in zip(names, select.expressions, strict=True)
        ]
        having = select.args.get("having")
        kept = None if having is None else groups.read(having.this)
        sort_keys, hidden = self._order(select, names, groups)
        if not self.aggregates:
            raise _rows_error(select.expressions[0] if select.expressions else None, self.text)
        node = Aggregate(node, keys, tuple((n, call) for call, n in self.aggregates.items()))
        if kept is not None:
            node = Filter(node, kept)
        node = Project(node, (*columns, *hidden))
        if sort_keys:
            node = Sort(node, tuple(sort_keys))
        limit, offset = self._count(select, "limit"), self._count(select, "offset")
        if limit is not None or offset:
            node = Limit(node, limit, offset or 0)
        if hidden:
            node = Project(node, tuple((name, Column(name)) for name, _ in columns))
        return node

    def _keys(self, select: exp.Select) -> list[exp.Expression]:
        group = select.args.get("group")
        if group is None:
            return []
        for clause in ("cube", "rollup", "grouping_sets", "totals"):
            if group.args.get(clause):
                raise sql_error(
                    group,
                    self.text,
                    f"{clause.upper().replace('_', ' ')} is not answered yet",
                    why="several groupings in one query share a budget in a way not built yet",
                    fix="ask one query for each grouping",
                )
        if group.args.get("all"):
            items = [item.unalias() for item in select.expressions]
            return [i for i in items if not i.find(exp.AggFunc)]
        return list(dict.fromkeys(_without_parentheses(g) for g in group.expressions))

    def _order(
        self, select: exp.Select, names: list[str], groups: ExprReader
    ) -> tuple[list[SortKey], list[tuple[str, Expr]]]:
        """Sort keys, and the columns that exist only to sort by."""
        sort_keys, hidden = [], []
        order = select.args.get("order")
        by_alias = {
            item.alias_or_name.lower(): name
            for item, name in zip(select.expressions, names, strict=True)
        }
        for i, item in enumerate(order.expressions if order is not None else []):
            target = item.this
            alias = isinstance(target, exp.Column) and not target.table and target.name.lower()
            name = by_alias.get(alias) if alias else None
            if name is None:
                name = f"{HIDDEN}{i}"
                hidden.append((name, groups.read(target)))
            descending = bool(item.args.get("desc"))
            nulls_last = not item.args.get("nulls_first")
            sort_keys.append(SortKey(Column(name), descending, nulls_last))
        return sort_keys, hidden

    def _count(self, select: exp.Select, clause: str) -> int | None:
        node = select.args.get(clause)
        if node is None:
            return None
        given = node.expression
        if not isinstance(given, exp.Literal) or given.is_string or not given.this.isdigit():
            raise sql_error(
                node,
                self.text,
                f"{clause.upper()} takes a whole number",
                why="it keeps a number of rows of the noisy table",
                fix=f"{clause.upper()} 10",
            )
        return int(given.this)

    # What a column or an aggregate means depends on where it stands.

    def _row_leaf(self, node: exp.Expression) -> Expr | None:
        if isinstance(node, exp.Column):
            return self._column(node)
        if isinstance(node, exp.AggFunc) or _is_filtered(node):
            raise sql_error(
                node,
                self.text,
                "an aggregate cannot stand here",
                why="WHERE, GROUP BY and FILTER look at one row at a time",
                fix="move the condition to HAVING",
            )
        return None

    def _group_leaf(self, node: exp.Expression) -> Expr | None:
        key = self.keys.get(node)
        if key is not None:
            return Column(key, origin_of(node, self.text))
        if isinstance(node, exp.AggFunc) or _is_filtered(node):
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
            raise sql_error(
                node,
                self.text,
                f"a column of type {self.table.storage[name].name} cannot be used",
                why="its values have no order or code that every engine shares",
                fix="cast it to a number, text, date or naive timestamp before registering",
            )
        return Column(name, origin_of(node, self.text))

    def _aggregate(self, node: exp.Expression) -> AggregateCall:
        rows = ExprReader(self.text, self._row_leaf)
        place = origin_of(node, self.text)
        where: Expr | None = None
        if isinstance(node, exp.Filter):
            where = rows.read(node.expression.this)
            node = node.this
        name = node.sql_names()[0] if isinstance(node, exp.Func) else node.key.upper()
        arguments = [a for key in node.arg_types for a in _nodes(node.args.get(key))]
        distinct = False
        if arguments and isinstance(arguments[0], exp.Distinct):
            distinct, arguments = True, list(arguments[0].expressions)
        if arguments and isinstance(arguments[0], exp.Star):
            arguments = []
        return AggregateCall(name, tuple(rows.read(a) for a in arguments), distinct, where, place)


def _is_filtered(node: exp.Expression) -> bool:
    return isinstance(node, exp.Filter)


def _without_parentheses(node: exp.Expression) -> exp.Expression:
    while isinstance(node, exp.Paren):
        node = node.this
    return node

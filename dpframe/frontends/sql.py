"""SQL text, read as a plan. The text itself is never executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from dpframe.declare import Table
from dpframe.errors import ParameterError, SQLError
from dpframe.frontends.sql_aggregates import AggregateReader
from dpframe.frontends.sql_clauses import (
    group_keys,
    grouping_sets,
    refuse_what_is_too_large,
    refuse_wrong_ordinals,
    row_count,
)
from dpframe.frontends.sql_dialects import DUCKDB, dialect_named
from dpframe.frontends.sql_exprs import ExprReader
from dpframe.frontends.sql_histograms import expand_histograms
from dpframe.frontends.sql_known import is_aggregate, refuse_unread
from dpframe.frontends.sql_lists import PLACE, expand_lists
from dpframe.frontends.sql_names import check_tables, ctes_around, qualified, written
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.frontends.sql_parse import parse
from dpframe.frontends.sql_rows import Known, RowReader, unwrapped
from dpframe.frontends.sql_scope import Scope
from dpframe.frontends.sql_winners import best_row
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.nodes import (
    HIDDEN,
    RESERVED,
    Aggregate,
    Filter,
    Limit,
    Node,
    Project,
    Sort,
    SortKey,
    place_in_list,
)


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
    check_tables(select, text, tables)
    _refuse_rows(select, text)
    expand_histograms(select, _aggregating(select), text, tables)
    expand_lists(select, text)
    for inner in select.find_all(exp.Select):
        refuse_wrong_ordinals(inner, text)
    rows = RowReader(text, {name.lower(): table for name, table in tables.items()})
    resolved = qualified(select, tables)
    return _Statement(text, rows, select).plan(resolved, rows.with_ctes(resolved, {}))


def _refuse_rows(select: exp.Select, text: str) -> None:
    if not _reads_noisy(select):
        for star in select.expressions:
            inner = star.this if isinstance(star, exp.Column) else star
            if isinstance(inner, exp.Star):
                marks = (n for n in star.walk() if "start" in n.meta)
                written = any(text[n.meta["start"]] == "*" for n in marks)
                raise _rows_error(star if written else None, text)


def _rows_error(node: exp.Expression | None, text: str) -> SQLError:
    return sql_error(
        node,
        text,
        "the query returns rows",
        why="rows are private; only aggregates of them can be released",
        fix="SELECT COUNT(*) FROM ..., or aggregate with SUM, AVG and GROUP BY",
    )


def _aggregates(select: exp.Expression) -> bool:
    """Whether a SELECT aggregates by itself, whatever its subqueries do."""
    clauses = [select.args.get(k) for k in ("having", "order")]
    own = [*select.expressions, *(c for c in clauses if c is not None)]
    return bool(select.args.get("group")) or any(is_aggregate(n) for e in own for n in e.walk())


def _only_source(select: exp.Expression) -> exp.Expression | None:
    """The subquery or common table expression that a SELECT reads, if it reads nothing else."""
    source = select.args.get("from_")
    if source is None or select.args.get("joins"):
        return None
    node = source.this
    if isinstance(node, exp.Subquery):
        return unwrapped(node)
    for cte in ctes_around(select):
        if isinstance(node, exp.Table) and cte.alias.lower() == node.name.lower():
            inner: exp.Expression = cte.this
            return inner
    return None


def _reads_noisy(select: exp.Expression) -> bool:
    """Whether a SELECT only computes on what an inner one released: that is post-processing."""
    if not isinstance(select, exp.Select) or _aggregates(select) or select.args.get("distinct"):
        return False
    return _has_noisy_source(select)


def _has_noisy_source(select: exp.Expression) -> bool:
    inner = _only_source(select)
    return isinstance(inner, exp.Select) and (_aggregates(inner) or _reads_noisy(inner))


def _aggregating(select: exp.Expression) -> exp.Expression:
    """The SELECT whose groups are measured; those around it compute on what it released."""
    while _reads_noisy(select):
        inner = _only_source(select)
        assert inner is not None
        select = inner
    return select


@dataclass(frozen=True, slots=True)
class _Statement:
    """Turns qualified SELECTs into nodes."""

    text: str
    rows: RowReader
    written: exp.Select
    """The statement before its names were resolved."""

    def plan(self, select: exp.Select, known: Known) -> Node:
        return self._built(select, known, self._output_names(self.written))

    def _built(self, select: exp.Select, known: Known, names: list[str]) -> Node:
        if _has_noisy_source(select):
            select = best_row(select, self.text) or select
        build = self._above if _reads_noisy(select) else self._aggregated
        return build(select, known, names)

    def _inner(self, select: exp.Select, known: Known) -> Node:
        """A SELECT that another one computes on: its columns go by their names in small letters."""
        names = [item.alias_or_name.lower() for item in select.expressions]
        return self._built(select, self.rows.with_ctes(select, known), names)

    def _above(self, select: exp.Select, known: Known, names: list[str]) -> Node:
        """Post-processing of what an inner SELECT released."""
        source = _only_source(select)
        assert isinstance(source, exp.Select)
        node = self._inner(source, known)
        columns = {i.alias_or_name.lower() for i in source.expressions}

        def leaf(inner: exp.Expression) -> Expr | None:
            if not isinstance(inner, exp.Column):
                return None
            if inner.name.lower() not in columns:
                raise sql_error(
                    inner,
                    self.text,
                    "no such column",
                    why=f"the subquery has {', '.join(sorted(columns))}",
                    fix="check the name",
                )
            return Column(inner.name.lower(), origin_of(inner, self.text))

        reader = ExprReader(self.text, leaf)
        where = select.args.get("where")
        if where is not None:
            node = Filter(node, reader.read(where.this))
        items = [
            (n, reader.read(i.unalias())) for n, i in zip(names, select.expressions, strict=True)
        ]
        sort_keys, hidden = self._order(select, names, reader, frozenset(columns))
        return self._finished(
            Project(node, (*items, *hidden)), select, names, sort_keys, bool(hidden)
        )

    def _aggregated(self, select: exp.Select, known: Known, names: list[str]) -> Node:
        scope = self.rows.scope(select, known)
        keys, sets = group_keys(select, self.text), grouping_sets(select, self.text)
        reader = AggregateReader(self.text, scope, keys, sets)
        columns = [
            (name, reader.groups.read(item.unalias()))
            for name, item in zip(names, select.expressions, strict=True)
        ]
        having = select.args.get("having")
        kept = None if having is None else reader.groups.read(having.this)
        sort_keys, hidden = self._group_order(select, names, scope, reader)
        if not reader.aggregates and not reader.keys:
            raise _rows_error(select.expressions[0] if select.expressions else None, self.text)
        node: Node = Aggregate(scope.node, reader.keys, reader.aggregates, reader.sets)
        if kept is not None:
            node = Filter(node, kept)
        node = Project(node, (*columns, *hidden))
        return self._finished(node, select, names, sort_keys, bool(hidden))

    def _finished(
        self,
        node: Node,
        select: exp.Select,
        names: list[str],
        sort_keys: list[SortKey],
        has_hidden: bool,
    ) -> Node:
        if sort_keys:
            node = Sort(node, tuple(sort_keys))
        limit, offset = (row_count(select, clause, self.text) for clause in ("limit", "offset"))
        if limit is not None or offset:
            node = Limit(node, limit, offset or 0)
        if has_hidden:
            node = Project(node, tuple((name, Column(name)) for name in names))
        return node

    # --- names and order -------------------------------------------------------------------------

    def _output_names(self, select: exp.Select) -> list[str]:
        """The names of the columns as they were written, made unique."""
        items = select.expressions
        if any(isinstance(i, exp.Star) or i.find(exp.Star) is i.this for i in items):
            inner = _only_source(select)
            if inner is not None and any(isinstance(i, exp.Star) for i in items):
                return self._output_names(inner)  # type: ignore[arg-type]
        names: list[str] = []
        shown: list[str] = []  # several places of one list are one column
        for item in items:
            place = item.meta.get(PLACE)
            if place:
                names.append(place_in_list(shown[-1], place))
                continue
            if isinstance(item, exp.Alias):
                name = item.alias
            elif isinstance(item, exp.Column):
                name = self._registered_name(item)
            else:
                name = written(item)
            if name.startswith(RESERVED):
                raise sql_error(
                    item,
                    self.text,
                    f"a name cannot begin with {RESERVED}",
                    why="such names are the library's own",
                    fix="name it otherwise: COUNT(*) AS n",
                )
            unique, count = name, 1
            while unique in shown:
                unique, count = f"{name}_{count}", count + 1
            shown.append(unique)
            names.append(unique if place is None else place_in_list(unique, 0))
        return names

    def _registered_name(self, column: exp.Column) -> str:
        """A column's name in the letters that its table was registered with."""
        read = [t.name.lower() for t in self.written.find_all(exp.Table)]
        tables = [self.rows.tables[name] for name in read if name in self.rows.tables]
        spelled = {c.lower(): c for table in tables for c in table.storage}
        return spelled.get(column.name.lower(), str(column.name))

    def _group_order(
        self, select: exp.Select, names: list[str], scope: Scope, reader: AggregateReader
    ) -> tuple[list[SortKey], list[tuple[str, Expr]]]:
        items = {item.alias_or_name.lower(): item.unalias() for item in select.expressions}

        def leaf(node: exp.Expression) -> Expr | None:
            # In an expression a column goes before an alias of the same name; alone, after it.
            if isinstance(node, exp.Column) and not node.table:
                name = node.name.lower()
                if not scope.knows(name) and name in items:
                    return reader.groups.read(items[name])
                holders = [a for a, r in scope.relations.items() if name in r.columns]
                if len(holders) == 1:
                    node = exp.column(node.this.copy(), table=exp.to_identifier(holders[0]))
            return reader.leaf(node)

        return self._order(select, names, ExprReader(self.text, leaf), frozenset())

    def _order(
        self, select: exp.Select, names: list[str], reader: ExprReader, inside: frozenset[str]
    ) -> tuple[list[SortKey], list[tuple[str, Expr]]]:
        """Sort keys, and the columns that exist only to sort by."""
        sort_keys: list[SortKey] = []
        hidden: list[tuple[str, Expr]] = []
        order = select.args.get("order")
        outputs = {
            item.alias_or_name.lower(): name
            for item, name in zip(select.expressions, names, strict=True)
        }
        for item in order.expressions if order is not None else []:
            refuse_unread(item, {"this", "desc", "nulls_first"}, self.text)
            target, descending = item.this, bool(item.args.get("desc"))
            nulls_last = not item.args.get("nulls_first")
            if isinstance(target, exp.Var) and target.name.upper() == "ALL":
                sort_keys += [SortKey(Column(n), descending, nulls_last) for n in names]
                continue
            bare = isinstance(target, exp.Column) and (not target.table or bool(inside))
            name = outputs.get(target.name.lower()) if bare else None
            if name is None:
                name = f"{HIDDEN}{len(hidden)}"
                hidden.append((name, reader.read(target)))
            sort_keys.append(SortKey(Column(name), descending, nulls_last))
        return sort_keys, hidden

"""SQL text, read as a plan. The text itself is never executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from dpframe.declare import Table
from dpframe.errors import ParameterError, SQLError
from dpframe.frontends.sql_aggregates import AggregateReader
from dpframe.frontends.sql_clauses import (
    group_keys,
    grouping_sets,
    refuse_qualify,
    refuse_what_is_too_large,
    refuse_wrong_ordinals,
    row_count,
)
from dpframe.frontends.sql_dialects import DUCKDB, dialect_named
from dpframe.frontends.sql_exprs import ExprReader
from dpframe.frontends.sql_histograms import expand_histograms
from dpframe.frontends.sql_known import is_aggregate, refuse_unread
from dpframe.frontends.sql_lists import expand_lists
from dpframe.frontends.sql_names import check_tables, qualified, refuse_reserved
from dpframe.frontends.sql_origin import origin_of, place_of_word, sql_error
from dpframe.frontends.sql_outputs import is_star, output_names
from dpframe.frontends.sql_parse import parse
from dpframe.frontends.sql_released import (
    aggregates,
    around_groups,
    asks_of_groups,
    has_noisy_source,
    measures,
    only_source,
    reads_noisy,
    units_in,
)
from dpframe.frontends.sql_rows import Known, RowReader, unwrapped
from dpframe.frontends.sql_scope import Relation, Scope
from dpframe.frontends.sql_together import refuse_joined_groups
from dpframe.frontends.sql_windows import SCALAR, WindowReader, scalar_of
from dpframe.frontends.sql_winners import best_row
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.nodes import (
    HIDDEN,
    Aggregate,
    Filter,
    Limit,
    Node,
    Project,
    Regroup,
    Sort,
    SortKey,
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
    if not select.args.get("joins"):  # of released tables, a join is the first thing to refuse
        _refuse_rows(select, text)
    expand_histograms(select, around_groups(select), text, tables)
    expand_lists(select, text)
    for inner in select.find_all(exp.Select):
        refuse_wrong_ordinals(inner, text)
    rows = RowReader(text, {name.lower(): table for name, table in tables.items()})
    resolved = qualified(select, tables)
    return _Statement(text, rows, select).plan(resolved, rows.with_ctes(resolved, {}))


def _refuse_rows(select: exp.Select, text: str) -> None:
    if not reads_noisy(select):
        for star in select.expressions:
            if is_star(star):
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


@dataclass(frozen=True, slots=True)
class _Statement:
    """Turns qualified SELECTs into nodes."""

    text: str
    rows: RowReader
    written: exp.Select
    """The statement before its names were resolved."""

    def plan(self, select: exp.Select, known: Known) -> Node:
        if not aggregates(select) and not reads_noisy(select):
            self._refuse_joins(select, known)
        _refuse_rows(self.written, self.text)
        names = output_names(self.written, select, self.rows.tables, self.text)
        return self._built(select, known, names)

    def _refuse_joins(self, select: exp.Select, known: Known) -> None:
        """Refuse to show joined rows of released tables, here or in the SELECT that is read."""
        if select.args.get("joins"):
            scope = self.rows.scope(select, known)
            refuse_joined_groups(select, scope, known, self.rows.tables, self.text)
        source = only_source(select)
        if isinstance(source, exp.Select) and not aggregates(source):
            self._refuse_joins(source, self.rows.with_ctes(source, known))

    def _built(self, select: exp.Select, known: Known, names: list[str]) -> Node:
        if has_noisy_source(select):
            select = best_row(select, self.text) or select
        if reads_noisy(select):
            return self._above(select, known, names)
        source = only_source(select)
        if source is not None and aggregates(select) and self._is_released(source, known, select):
            return self._regrouped(select, known, names)
        return self._aggregated(select, known, names)

    def _is_released(self, select: exp.Expression, known: Known, around: exp.Select) -> bool:
        """Whether an inner SELECT has groups across units: they are released, or nothing is.

        Groups of public rows may be either; what is asked `around` them decides.
        """
        source = only_source(select)
        if reads_noisy(select) and source is not None:
            return self._is_released(source, self.rows.with_ctes(select, known), around)
        if not isinstance(select, exp.Select) or not aggregates(select):
            return False
        known = self.rows.with_ctes(select, known)
        if source is not None and self._is_released(source, known, select):
            return True
        if not measures(select):
            return False  # which keys there are is for the rows to tell, and they do not
        scope = self.rows.scope(select, known)
        units = units_in(scope.node, self.rows.tables)
        keys = [key for key in group_keys(select, self.text) if isinstance(key, exp.Column)]
        if any(scope.column(key).name in units for key in keys):
            return False
        return scope.is_private or asks_of_groups(around)

    def _inner(self, select: exp.Select, known: Known) -> Node:
        """A SELECT that another one computes on: its columns go by their names in small letters."""
        names = [item.alias_or_name.lower() for item in select.expressions]
        self.rows.check_names(select, names)
        for item, name in zip(select.expressions, names, strict=True):
            refuse_reserved(item, name, self.text)
        return self._built(select, self.rows.with_ctes(select, known), names)

    def _above(self, select: exp.Select, known: Known, names: list[str]) -> Node:
        """Post-processing of what an inner SELECT released."""
        source = only_source(select)
        assert isinstance(source, exp.Select)
        node = self._inner(source, known)
        columns = {i.alias_or_name.lower() for i in source.expressions}

        windows = WindowReader(self.text, taken=frozenset(columns))
        scalars = WindowReader(self.text, SCALAR, frozenset(columns))

        def leaf(inner: exp.Expression) -> Expr | None:
            if isinstance(inner, exp.Window):
                return windows.read(inner, reader)
            if isinstance(inner, exp.Subquery):
                return self._scalar(inner, source, scalars, column)
            return column(inner)

        def column(inner: exp.Expression) -> Expr | None:
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
        kept = None if where is None else self._condition(where.this, reader)
        items = [
            (n, reader.read(i.unalias())) for n, i in zip(names, select.expressions, strict=True)
        ]
        qualified = self._qualified(select, reader)
        sort_keys, hidden = self._order(select, names, reader, frozenset(columns))
        node = scalars.over(node)
        node = windows.over(node if kept is None else Filter(node, kept))
        node = node if qualified is None else Filter(node, qualified)
        return self._finished(
            Project(node, (*items, *hidden)), select, names, sort_keys, bool(hidden)
        )

    def _condition(self, node: exp.Expression, reader: ExprReader) -> Expr:
        """WHERE or HAVING, which choose the rows that windows look at."""
        window = node.find(exp.Window)
        if window is not None:
            raise sql_error(
                window,
                self.text,
                "a window cannot stand in WHERE or HAVING",
                why="windows look at the rows that these keep",
                fix="SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
                " QUALIFY RANK() OVER (ORDER BY n DESC) <= 3",
            )
        return reader.read(node)

    def _qualified(self, select: exp.Select, reader: ExprReader) -> Expr | None:
        """QUALIFY, which keeps rows by their windows; these look at what HAVING left.

        Guarantee: it reads released numbers, so it costs nothing (Dwork and Roth 2014, Prop. 2.1).
        """
        clause = select.args.get("qualify")
        if clause is None:
            return None
        if not any(item.find(exp.Window) for item in (*select.expressions, clause)):
            raise sql_error(
                place_of_word(self.text, "QUALIFY") or clause,
                self.text,
                "QUALIFY looks at no window",
                why="it keeps rows by what OVER (...) says of them; HAVING and WHERE do the rest",
                fix="HAVING COUNT(*) > 40, or QUALIFY RANK() OVER (ORDER BY COUNT(*) DESC) <= 3",
            )
        return reader.read(clause.this)

    def _scalar(
        self,
        node: exp.Expression,
        source: exp.Expression,
        scalars: WindowReader,
        column: Callable[[exp.Expression], Expr | None],
    ) -> Expr | None:
        """`(SELECT SUM(n) FROM w)` beside the rows of `w` itself."""
        found = scalar_of(node)
        inner = unwrapped(node)
        if found is None or only_source(inner) is not source:
            return None

        def leaf(each: exp.Expression) -> Expr | None:
            return scalars.everywhere(each, rows) if is_aggregate(each) else None

        rows = ExprReader(self.text, column)
        return ExprReader(self.text, leaf).read(found)

    def _aggregated(self, select: exp.Select, known: Known, names: list[str]) -> Node:
        return self._grouped(select, self.rows.scope(select, known), names, again=False)

    def _regrouped(self, select: exp.Select, known: Known, names: list[str]) -> Node:
        """Aggregates of what an inner SELECT released."""
        source = only_source(select)
        assert isinstance(source, exp.Select)
        columns = {i.alias_or_name.lower(): i.alias_or_name.lower() for i in source.expressions}
        alias = select.args["from_"].this.alias_or_name.lower()
        relation = Relation(self._inner(source, known), columns, False, alias or "the subquery")
        scope = Scope(self.text, relation.node, {alias: relation})
        where = select.args.get("where")
        if where is not None:
            kept = self._condition(where.this, ExprReader(self.text, scope.row_leaf))
            scope = replace(scope, node=Filter(scope.node, kept))
        return self._grouped(select, scope, names, again=True)

    def _grouped(self, select: exp.Select, scope: Scope, names: list[str], *, again: bool) -> Node:
        """A SELECT with aggregates: of private rows, or, `again`, of a noisy table."""
        keys, sets = group_keys(select, self.text), grouping_sets(select, self.text)
        if again and sets:
            raise sql_error(
                select.args["group"],
                self.text,
                "several groupings of a released table are not answered",
                why="each of them would be a table of its own",
                fix="GROUP BY ROLLUP (...) in the subquery, or one query for each grouping",
            )
        reader = AggregateReader(self.text, scope, keys, sets)
        if not aggregates(select):  # of rows: a window is the first thing to refuse
            for window in (n for item in select.expressions for n in item.find_all(exp.Window)):
                reader.rows.read(window)
            refuse_qualify(select, self.text)
        having = select.args.get("having")
        kept = None if having is None else self._condition(having.this, reader.groups)
        windows = WindowReader(self.text)
        reader.windows = windows
        columns = [
            (name, reader.groups.read(item.unalias()))
            for name, item in zip(names, select.expressions, strict=True)
        ]
        qualified = self._qualified(select, reader.groups)
        sort_keys, hidden = self._group_order(select, names, scope, reader)
        if not reader.aggregates and not reader.keys:
            raise _rows_error(select.expressions[0] if select.expressions else None, self.text)
        node: Node
        if again:
            node = Regroup(scope.node, reader.keys, reader.aggregates)
        else:
            node = Aggregate(scope.node, reader.keys, reader.aggregates, reader.sets)
        if kept is not None:
            node = Filter(node, kept)
        node = windows.over(node)
        node = node if qualified is None else Filter(node, qualified)
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

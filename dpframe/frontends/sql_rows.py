"""FROM and WHERE: tables, joins and subqueries, read as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from dpframe.declare import Table
from dpframe.frontends.sql_aggregates import AggregateReader
from dpframe.frontends.sql_clauses import group_keys, grouping_sets, refuse_qualify
from dpframe.frontends.sql_exprs import ExprReader
from dpframe.frontends.sql_joins import Conditions, joined
from dpframe.frontends.sql_known import is_aggregate, refuse_unread
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.frontends.sql_scope import Relation, Scope, of_table
from dpframe.plan.exprs import Column, Expr, conjunction
from dpframe.plan.nodes import Filter, GroupRows, Join, Node, Project, Union


@dataclass(frozen=True, slots=True)
class Named:
    """A common table expression, and those that were named before it."""

    query: exp.Expression
    known: Known


Known = Mapping[str, Named]
"""Common table expressions by name, in small letters."""


@dataclass(frozen=True, slots=True)
class RowReader:
    """Reads the row-wise parts of one statement."""

    text: str
    tables: Mapping[str, Table]
    """By their names in small letters."""

    def scope(self, select: exp.Select, known: Known) -> Scope:
        """The rows of FROM and WHERE."""
        scope, conditions = self._sources(select, known)
        return self._filtered(scope, conditions, known)

    def relation(self, query: exp.Expression, known: Known) -> Relation:
        """The rows of a subquery."""
        query = unwrapped(query)
        known = self.with_ctes(query, known)
        if isinstance(query, exp.Union):
            return self._union(query, known)
        if isinstance(query, exp.Table):
            raise sql_error(
                query,
                self.text,
                "parentheses around tables are not answered",
                why="joins are read one after another, as they are written",
                fix="leave the parentheses out, or SELECT the columns of the join in a subquery",
            )
        if not isinstance(query, exp.Select):
            raise sql_error(
                query,
                self.text,
                f"{query.key.upper()} cannot be answered",
                why="whether a row is kept would depend on the rows of other units",
                fix="UNION ALL keeps every row; for rows of the same unit use EXISTS",
            )
        return self._select(query, known)

    def with_ctes(self, query: exp.Expression, known: Known) -> Known:
        """The tables that WITH names, besides those that are known."""
        clause = query.args.get("with_")
        if clause is None:
            return known
        if clause.args.get("recursive"):
            raise sql_error(
                clause,
                self.text,
                "RECURSIVE is not answered",
                why="how often rows multiply has no bound",
                fix="WITH without RECURSIVE",
            )
        for cte in clause.expressions:
            refuse_unread(cte, {"this", "alias"}, self.text)
            known = {**known, cte.alias.lower(): Named(cte.this, known)}
        return known

    # --- FROM ------------------------------------------------------------------------------------

    def _sources(self, select: exp.Select, known: Known) -> tuple[Scope, Conditions]:
        """The tables of FROM, joined; and the conditions that are left to check."""
        first = select.args["from_"].this
        joins = select.args.get("joins") or []
        items = [(first, None), *((join.this, join) for join in joins)]
        relations = {}
        for node, _ in items:
            relations[node.alias_or_name.lower()] = self._source(node, known)
        where = select.args.get("where")
        conditions = Conditions(self.text, [] if where is None else [where.this])
        if len(items) == 1:
            (only,) = relations.values()
            return Scope(self.text, only.node, relations), conditions
        relations = {alias: r.prefixed(alias) for alias, r in relations.items()}
        scope = Scope(self.text, next(iter(relations.values())).node, relations)
        joinable = [(node.alias_or_name.lower(), join) for node, join in items]
        return joined(scope, joinable, conditions, self._reader(scope).read), conditions

    def _source(self, node: exp.Expression, known: Known) -> Relation:
        if isinstance(node, exp.Subquery):
            refuse_unread(node, {"this", "alias"}, self.text)
            return replace(self.relation(node.this, known), name=node.alias or "the subquery")
        name = node.name.lower()
        found = known.get(name)
        if found is not None:
            return replace(self.relation(found.query, found.known), name=node.name)
        return of_table(self.tables[name])

    # --- WHERE -----------------------------------------------------------------------------------

    def _filtered(self, scope: Scope, conditions: Conditions, known: Known) -> Scope:
        read = self._reader(scope).read
        predicates = []
        node = scope.node
        for condition in conditions.left:
            match = _subquery_condition(condition)
            if match is None:
                predicates.append(read(condition))
            else:
                node = self._matching(scope, node, condition, match, known)
        kept = conjunction(tuple(predicates))
        if conditions.whole is not None and len(predicates) == len(conditions.left):
            kept = read(conditions.whole)  # which has a place of its own
        if kept is not None:
            node = _below_matches(node, scope.node, kept)
        return replace(scope, node=node)

    def _matching(
        self, scope: Scope, node: Node, condition: exp.Expression, match: _Match, known: Known
    ) -> Node:
        """IN (SELECT ...) and EXISTS (SELECT ...) as semi-joins, their negations as anti-joins."""
        outer = self._reader(scope).read
        number = len(_spine(node, scope.node))
        inner, pairs = self._subquery(match, scope, known)
        named = inner.prefixed(f"match{number}")
        on = [(outer(mine), Column(named.columns[theirs])) for mine, theirs in pairs]
        if not on:
            raise sql_error(
                condition,
                self.text,
                "EXISTS does not say how its rows belong to those outside",
                why="a subquery that is the same for all rows would let one unit decide on others",
                fix="EXISTS (SELECT 1 FROM b WHERE b.id = a.id)",
            )
        place = origin_of(condition, self.text)
        if match.negated:
            return Join(node, named.node, "anti", tuple(on), match.listed, place)
        return Join(node, named.node, "semi", tuple(on), place=place)

    def _subquery(
        self, match: _Match, outer: Scope, known: Known
    ) -> tuple[Relation, list[tuple[exp.Expression, str]]]:
        """The rows of a subquery, and which of its columns equal what outside."""
        query = match.query
        known = self.with_ctes(query, known)
        inside = {s.alias_or_name.lower() for s in _from_items(query)}
        outside = set(outer.relations) - inside
        correlated = [c for c in query.find_all(exp.Column) if c.table.lower() in outside]
        pairs: list[tuple[exp.Expression, str]] = []
        if correlated:
            relation, pairs = self._correlated(query, outside, known, match)
        else:
            relation = self.relation(query, known)
        if match.listed:
            named = [item.alias_or_name.lower() for item in outputs_of(query)]
            if len(named) != len(match.values):
                raise sql_error(
                    query,
                    self.text,
                    f"the subquery has {len(named)} columns",
                    why=f"{len(match.values)} are compared with it",
                    fix="SELECT as many columns as stand before IN",
                )
            pairs = [*zip(match.values, named, strict=True), *pairs]
        return relation, pairs

    def _correlated(
        self, query: exp.Expression, outside: set[str], known: Known, match: _Match
    ) -> tuple[Relation, list[tuple[exp.Expression, str]]]:
        """A subquery that mentions columns from outside: it must say `mine = theirs`."""
        if not isinstance(query, exp.Select):
            raise self._not_understood(query)
        refuse_qualify(query, self.text)
        grouped = any(query.args.get(k) for k in ("group", "having", "distinct", "limit", "offset"))
        if grouped or any(is_aggregate(n) for s in query.expressions for n in s.walk()):
            raise self._not_understood(query)
        scope, conditions = self._sources(query, known)
        pairs, kept = [], []
        for condition in conditions.left:
            names = {c.table.lower() for c in condition.find_all(exp.Column)}
            if not names & outside:
                kept.append(condition)
                continue
            sides = [condition.this, condition.expression] if isinstance(condition, exp.EQ) else []
            mine = [s for s in sides if _tables_in(s) and _tables_in(s) <= outside]
            theirs = [s for s in sides if _tables_in(s) and not _tables_in(s) & outside]
            if len(mine) != 1 or len(theirs) != 1:
                raise self._not_understood(condition)
            pairs.append((mine[0], theirs[0]))
        conditions.left = kept
        scope = self._filtered(scope, conditions, known)
        read = self._reader(scope).read
        columns = {f"on{i}": read(theirs) for i, (_, theirs) in enumerate(pairs)}
        if match.listed:
            columns |= {s.alias_or_name.lower(): read(s.unalias()) for s in query.expressions}
        node = Project(scope.node, tuple(columns.items()))
        relation = Relation(node, {c: c for c in columns}, scope.is_private, "the subquery")
        return relation, [(mine, f"on{i}") for i, (mine, _) in enumerate(pairs)]

    def _not_understood(self, node: exp.Expression) -> Exception:
        return sql_error(
            node,
            self.text,
            "the subquery looks at the rows outside in a way that is not answered",
            why="only equations between a column inside and one outside say which rows match",
            fix="EXISTS (SELECT 1 FROM b WHERE b.id = a.id AND ...), with the other conditions on b"
            " alone; or join a subquery that groups by the unit",
        )

    # --- subqueries ------------------------------------------------------------------------------

    def _select(self, select: exp.Select, known: Known) -> Relation:
        for clause, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
            if select.args.get(clause):
                raise sql_error(
                    select.args[clause],
                    self.text,
                    f"{word} cannot stand in a subquery",
                    why="which rows are kept would depend on the rows of other units",
                    fix="put it after the outermost aggregate",
                )
        refuse_qualify(select, self.text)
        scope = self.scope(select, known)
        names = [item.alias_or_name.lower() for item in select.expressions]
        self.check_names(select, names)
        grouped = select.args.get("group") or any(
            is_aggregate(n) and not isinstance(n.parent, exp.Window)
            for item in select.expressions
            for n in item.walk()
        )
        node = self._grouped(select, scope, names) if grouped else self._projected(select, scope)
        if select.args.get("distinct"):
            refuse_unread(select.args["distinct"], {"this"}, self.text)
            place = origin_of(select.expressions[0], self.text)
            node = GroupRows(node, tuple((n, Column(n)) for n in names), (), place)
        return Relation(node, {n: n for n in names}, scope.is_private, "the subquery")

    def _projected(self, select: exp.Select, scope: Scope) -> Node:
        read = self._reader(scope).read
        columns = [(i.alias_or_name.lower(), read(i.unalias())) for i in select.expressions]
        return Project(scope.node, tuple(columns))

    def _grouped(self, select: exp.Select, scope: Scope, names: list[str]) -> Node:
        if grouping_sets(select, self.text):
            raise sql_error(
                select.args["group"],
                self.text,
                "several groupings cannot stand in a subquery",
                why="a total over all units belongs to none of them",
                fix="GROUP BY the unit, and others if need be",
            )
        reader = AggregateReader(self.text, scope, group_keys(select, self.text))
        columns = [
            (name, reader.groups.read(item.unalias()))
            for name, item in zip(names, select.expressions, strict=True)
        ]
        having = select.args.get("having")
        kept = None if having is None else reader.groups.read(having.this)
        place = origin_of(select.args.get("group") or select.expressions[0], self.text)
        node: Node = GroupRows(scope.node, reader.keys, reader.aggregates, place)
        if kept is not None:
            node = Filter(node, kept)
        return Project(node, tuple(columns))

    def check_names(self, select: exp.Select, names: list[str]) -> None:
        """Refuse names of a subquery that another of its columns has."""
        for item, name in zip(select.expressions, names, strict=True):
            if names.count(name) > 1:
                raise sql_error(
                    item,
                    self.text,
                    f"the subquery has several columns {name}",
                    why="the query outside could not tell them apart",
                    fix=f"name one otherwise: {name} AS other",
                )

    def _union(self, union: exp.Union, known: Known) -> Relation:
        refuse_unread(union, {"this", "expression", "distinct", "with_"}, self.text)
        if union.args.get("distinct"):
            raise sql_error(
                union.expression,
                self.text,
                "UNION drops rows that are there twice",
                why="whether a row is kept would depend on the rows of other units",
                fix="UNION ALL",
            )
        parts = [self.relation(side, known) for side in (union.this, union.expression)]
        names = list(parts[0].columns)
        if len(parts[1].columns) != len(names):
            raise sql_error(
                union.expression,
                self.text,
                f"it has {len(parts[1].columns)} columns, and the other side {len(names)}",
                why="UNION ALL puts columns under one another by position",
                fix="select as many columns on both sides",
            )
        nodes = []
        for part in parts:
            pairs = zip(names, part.columns.values(), strict=True)
            nodes.append(Project(part.node, tuple((name, Column(c)) for name, c in pairs)))
        place = origin_of(union.expression, self.text)
        private = any(part.is_private for part in parts)
        return Relation(Union(tuple(nodes), place), {n: n for n in names}, private, "the union")

    def _reader(self, scope: Scope) -> ExprReader:
        return ExprReader(self.text, scope.row_leaf)


@dataclass(frozen=True, slots=True)
class _Match:
    """A condition that compares with the rows of a subquery."""

    query: exp.Expression
    values: tuple[exp.Expression, ...]
    """What stands before IN."""
    listed: bool
    """Whether it is IN, not EXISTS."""
    negated: bool


def _subquery_condition(node: exp.Expression) -> _Match | None:
    negated = False
    while isinstance(node, exp.Not | exp.Paren):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    if isinstance(node, exp.Exists):
        return _Match(unwrapped(node.this), (), listed=False, negated=negated)
    if isinstance(node, exp.In) and node.args.get("query") is not None:
        before = node.this
        values = tuple(before.expressions) if isinstance(before, exp.Tuple) else (before,)
        return _Match(unwrapped(node.args["query"]), values, listed=True, negated=negated)
    return None


def unwrapped(query: exp.Expression) -> exp.Expression:
    """A query without the parentheses around it."""
    while isinstance(query, exp.Subquery):
        query = query.this
    return query


def outputs_of(query: exp.Expression) -> list[exp.Expression]:
    """The columns that a query selects; for a union, those of its first side."""
    query = unwrapped(query)
    return outputs_of(query.this) if isinstance(query, exp.SetOperation) else query.expressions


def _from_items(query: exp.Expression) -> list[exp.Expression]:
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        return []
    return [query.args["from_"].this, *(join.this for join in query.args.get("joins") or [])]


def _tables_in(node: exp.Expression) -> set[str]:
    return {c.table.lower() for c in node.find_all(exp.Column)}


def _spine(node: Node, bottom: Node) -> list[Join]:
    """The matches that stand on top of the rows of FROM."""
    found = []
    while node is not bottom and isinstance(node, Join):
        found.append(node)
        node = node.left
    return found


def _below_matches(node: Node, bottom: Node, kept: Expr) -> Node:
    """Filter first, then look for matches: fewer rows, and the same ones."""
    if node is bottom or not isinstance(node, Join):
        return Filter(node, kept)
    return replace(node, left=_below_matches(node.left, bottom, kept))

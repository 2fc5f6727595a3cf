"""What the names in a SELECT stand for: tables by their aliases, columns by table and name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from dpframe.declare import Storage, Table, readable
from dpframe.frontends.sql_known import is_aggregate
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.plan.exprs import Column, Expr
from dpframe.plan.nodes import Node, Project, Scan


@dataclass(frozen=True, slots=True)
class Relation:
    """A table, a subquery or a joined table, as FROM offers it."""

    node: Node
    columns: Mapping[str, str]
    """What the plan calls a column, by its name in small letters."""
    is_private: bool
    name: str
    unreadable: Mapping[str, Storage] = field(default_factory=dict)
    """Columns of a type that cannot be used, and how they are stored."""

    def prefixed(self, alias: str) -> Relation:
        """The same columns, under names that no other table has."""
        names = {c: f"{alias}.{plan}" for c, plan in self.columns.items()}
        columns = tuple((names[c], Column(plan)) for c, plan in self.columns.items())
        return Relation(
            Project(self.node, columns), names, self.is_private, self.name, self.unreadable
        )


def of_table(table: Table) -> Relation:
    """A registered table."""
    unreadable = {
        c.lower(): stored for c, stored in table.storage.items() if c not in table.domains
    }
    columns = {c.lower(): c for c in table.domains}
    return Relation(Scan(table.name), columns, not table.public, table.name, unreadable)


@dataclass(frozen=True, slots=True)
class Scope:
    """The tables of one SELECT by alias, and the rows of all of them together."""

    text: str
    node: Node
    relations: Mapping[str, Relation]

    @property
    def is_private(self) -> bool:
        """Whether some of the rows are."""
        return any(relation.is_private for relation in self.relations.values())

    def column(self, node: exp.Column) -> Column:
        """The column of the plan that a name stands for."""
        alias, name = node.table.lower(), node.name.lower()
        if node.args.get("db") or (alias and alias not in self.relations):
            raise self._no_such_table(node)
        holders = [
            r
            for a, r in self.relations.items()
            if alias in ("", a) and (name in r.columns or name in r.unreadable)
        ]
        if len(holders) > 1:
            raise sql_error(
                node,
                self.text,
                "several tables have such a column",
                why=f"it is in {' and in '.join(r.name for r in holders)}",
                fix=f"say which: {next(iter(self.relations))}.{node.name}",
            )
        if not holders:
            raise self._no_such_column(node, alias)
        if name in holders[0].unreadable:
            stored = holders[0].unreadable[name]
            why, fix = readable(stored)
            what = f"a column of type {stored.name} cannot be used"
            raise sql_error(node, self.text, what, why=why, fix=fix)
        return Column(holders[0].columns[name], origin_of(node, self.text))

    def row_leaf(self, node: exp.Expression) -> Expr | None:
        """What a column or an aggregate becomes where single rows are looked at."""
        if isinstance(node, exp.Column):
            return self.column(node)
        if is_aggregate(node):
            raise sql_error(
                node,
                self.text,
                "an aggregate cannot stand here",
                why="WHERE, GROUP BY, FILTER and aggregates look at one row at a time",
                fix="move the condition to HAVING",
            )
        return None

    def knows(self, name: str) -> bool:
        """Whether some table has a column of this name, in small letters."""
        return any(name in r.columns or name in r.unreadable for r in self.relations.values())

    def shown(self, node: exp.Column) -> str:
        """The name of a column as its table was registered with."""
        alias, name = node.table.lower(), node.name.lower()
        for known, relation in self.relations.items():
            if alias in ("", known) and name in relation.columns:
                return relation.columns[name].removeprefix(f"{known}.")
        return node.name

    def _no_such_table(self, node: exp.Column) -> Exception:
        listed = [
            r.name if a == r.name.lower() else f"{r.name} as {a}" for a, r in self.relations.items()
        ]
        alias = next(iter(self.relations))
        return sql_error(
            node,
            self.text,
            "no such table in this query",
            why=f"the query reads {' and '.join(listed)}",
            fix=f"{alias}.{node.name}, or {node.name} alone",
        )

    def _no_such_column(self, node: exp.Column, alias: str) -> Exception:
        searched = [r for a, r in self.relations.items() if alias in ("", a)]
        names = {
            c: plan.rpartition(".")[2] if len(self.relations) > 1 else plan
            for r in searched
            for c, plan in r.columns.items()
        }
        near = difflib.get_close_matches(node.name.lower(), names, n=1)
        listed = "; ".join(f"columns of {r.name}: {', '.join(_all(r))}" for r in searched)
        return sql_error(
            node,
            self.text,
            "no such column" + (f"; did you mean {names[near[0]]}?" if near else ""),
            why=listed,
            fix="check the name",
        )


def _all(relation: Relation) -> list[str]:
    return [*relation.columns.values(), *relation.unreadable]

"""JOIN, ON and the comma: which tables are put together in which order, and by what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

from sqlglot import exp

from dpframe.frontends.sql_known import refuse_unread
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.frontends.sql_scope import Scope
from dpframe.plan.exprs import Expr
from dpframe.plan.nodes import Filter, Join, Node

Read = Callable[[exp.Expression], Expr]


class Conditions:
    """Conditions that are ANDed together, some of which joins take over."""

    def __init__(self, text: str, given: Sequence[exp.Expression]) -> None:
        self.text = text
        self.left = [part for node in given for part in _conjuncts(node)]
        self._given = list(given)

    @property
    def whole(self) -> exp.Expression | None:
        """The one condition that was given, if all of it is left and nothing was added."""
        if len(self._given) == 1 and self.left == _conjuncts(self._given[0]):
            return self._given[0]
        return None

    def add(self, node: exp.Expression | None) -> None:
        """Check this as well."""
        self.left += [] if node is None else _conjuncts(node)

    def take_equations(
        self, new: str, before: set[str]
    ) -> list[tuple[exp.Expression, exp.Expression]]:
        """The equations between a new table and those before it, as (before, new)."""
        found = []
        for condition in list(self.left):
            pair = _equation(condition, new, before)
            if pair is not None:
                found.append(pair)
                self.left.remove(condition)
        return found

    def take_alone(self, alias: str) -> list[exp.Expression]:
        """The conditions that look at one table, and at nothing else."""
        found = [c for c in self.left if _aliases(c) == {alias} and not c.find(exp.Select)]
        self.left = [c for c in self.left if c not in found]
        return found


def _conjuncts(node: exp.Expression) -> list[exp.Expression]:
    if isinstance(node, exp.Paren):
        return _conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*_conjuncts(node.this), *_conjuncts(node.expression)]
    return [node]


def _equation(
    node: exp.Expression, new: str, before: set[str]
) -> tuple[exp.Expression, exp.Expression] | None:
    if not isinstance(node, exp.EQ):
        return None
    for first, second in ((node.this, node.expression), (node.expression, node.this)):
        if _aliases(second) == {new} and _aliases(first) and _aliases(first) <= before:
            return first, second
    return None


def _aliases(node: exp.Expression) -> set[str]:
    if isinstance(node, exp.Column):  # as most sides of equations are
        return {node.table.lower()}
    return {c.table.lower() for c in node.find_all(exp.Column)}


Item = tuple[str, exp.Join | None]
"""A table of FROM by its alias, and the JOIN that names it; None for the first."""

Kind = Literal["inner", "left", "right", "semi", "anti"]


def joined(
    scope: Scope,
    items: Sequence[Item],
    conditions: Conditions,
    read: Read,
) -> Scope:
    """The tables of FROM, joined one after another.

    The order of inner joins does not matter, so they begin with a private table and go on with one
    that some equation connects: then every table is compared with all that came before.

    A RIGHT JOIN brings in rows without a match, which WHERE sees and earlier conditions do not: up
    to the last one, joins are made by what stands in their own ON.
    """
    kinds = [_kind(join, scope.text) if join is not None else "inner" for _, join in items]
    last = max((i for i, kind in enumerate(kinds) if kind == "right"), default=0)
    work = _Work(scope, read)
    waiting: list[Item] = []
    own = Conditions(scope.text, [])
    for i, ((alias, join), kind) in enumerate(zip(items, kinds, strict=True)):
        used = conditions if i > last else own
        if kind == "inner":
            used.add(None if join is None else join.args.get("on"))
            waiting.append((alias, join))
            continue
        work.put_together(waiting, used)
        waiting = []
        if kind == "right":
            work.keep(own.left)
            own.left = []
        work.outer(alias, join, kind)
    work.put_together(waiting, conditions)
    return replace(scope, node=work.node)


def _kind(join: exp.Join, text: str) -> Kind:
    words = [str(join.args.get(k) or "").upper() for k in ("method", "side", "kind")]
    said = " ".join(word for word in words if word and word != "OUTER")
    kinds: dict[str, Kind] = {
        "": "inner",
        "INNER": "inner",
        "CROSS": "inner",
        "LEFT": "left",
        "RIGHT": "right",
        "SEMI": "semi",
        "ANTI": "anti",
        "LEFT SEMI": "semi",
        "LEFT ANTI": "anti",
    }
    if said not in kinds:
        reasons = {
            "FULL": ("rows without a match on the other side belong to no unit", "LEFT JOIN"),
            "NATURAL": ("which columns it compares changes when a table does", "USING (column)"),
        }
        why, fix = reasons.get(said, ("it has no bound on what one unit changes", "JOIN ... ON"))
        raise sql_error(join.this, text, f"{said} JOIN is not answered", why=why, fix=fix)
    refuse_unread(join, {"this", "on", "side", "kind", "method", "using"}, text)
    return kinds[said]


class _Work:
    """Rows joined so far, and the tables in them."""

    def __init__(self, scope: Scope, read: Read) -> None:
        self.scope = scope
        self.read = read
        self.node = scope.node
        self.done: set[str] = set()

    def put_together(self, waiting: list[Item], conditions: Conditions) -> None:
        """Join tables, the connected ones first."""
        # By name, so that the order in which they were written makes no other question.
        waiting = sorted(waiting, key=lambda w: self.scope.relations[w[0]].name.lower())
        if waiting and not self.done:
            private = [w for w in waiting if self.scope.relations[w[0]].is_private]
            first = (private or waiting)[0]
            waiting.remove(first)
            self.node, self.done = self.scope.relations[first[0]].node, {first[0]}
        while waiting:
            connected = [
                w for w in waiting if any(_equation(c, w[0], self.done) for c in conditions.left)
            ]
            item = (connected or waiting)[0]
            waiting.remove(item)
            pairs = conditions.take_equations(item[0], self.done)
            relation = self.scope.relations[item[0]]
            node = relation.node
            if not relation.is_private:  # first, so that what is left may match once
                for condition in conditions.take_alone(item[0]):
                    node = Filter(node, self.read(condition))
            self._join(item, node, pairs)

    def keep(self, conditions: Sequence[exp.Expression]) -> None:
        """Drop the rows that fail one of these."""
        for condition in conditions:
            self.node = Filter(self.node, self.read(condition))

    def outer(
        self,
        alias: str,
        join: exp.Join | None,
        kind: Kind,
    ) -> None:
        """LEFT, RIGHT, SEMI and ANTI JOIN: conditions of ON decide what matches."""
        assert join is not None
        on = Conditions(self.scope.text, [join.args["on"]] if join.args.get("on") else [])
        pairs = on.take_equations(alias, self.done)
        alone = alias if kind != "right" else None
        node = self.scope.relations[alias].node
        for condition in on.left:
            aliases = _aliases(condition)
            if alone is not None and aliases == {alone}:
                node = Filter(node, self.read(condition))
            elif kind == "right" and aliases <= self.done:
                self.node = Filter(self.node, self.read(condition))
            else:
                raise sql_error(
                    condition,
                    self.scope.text,
                    "ON has a condition that is not answered in this join",
                    why="besides equations, it may look at the side that may be missing alone",
                    fix="move the condition to WHERE, or into a subquery on that side",
                )
        place = origin_of(join.this, self.scope.text)
        if kind == "right":
            pairs = [(new, before) for before, new in pairs]
            on_exprs = tuple((self.read(a), self.read(b)) for a, b in pairs)
            self.node = Join(node, self.node, "left", on_exprs, place=place)
        else:
            on_exprs = tuple((self.read(a), self.read(b)) for a, b in pairs)
            self.node = Join(self.node, node, kind, on_exprs, place=place)
        self.done.add(alias)

    def _join(
        self, item: Item, node: Node, pairs: list[tuple[exp.Expression, exp.Expression]]
    ) -> None:
        alias, join = item
        on = tuple((self.read(a), self.read(b)) for a, b in pairs)
        place = origin_of(join.this, self.scope.text) if join is not None else None
        self.node = Join(self.node, node, "inner", on, place=place)
        self.done.add(alias)

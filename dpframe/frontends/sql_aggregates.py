"""Aggregates and keys of one SELECT: what stands above a GROUP BY."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from dpframe.frontends.sql_exprs import ExprReader
from dpframe.frontends.sql_histograms import bins_of, end_of
from dpframe.frontends.sql_known import (
    REFUSED_NAMES,
    function_of,
    is_aggregate,
    is_any_value,
    is_histogram,
    refuse_unread,
)
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.frontends.sql_scope import Scope
from dpframe.frontends.sql_windows import WindowReader
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, literal
from dpframe.plan.nodes import GROUPING

_OF_SINGLE_ROWS = (exp.AnyValue, exp.ArrayAgg, exp.First, exp.GroupConcat, exp.Last)
"""Aggregates that show values of single rows. They are refused for that, whatever their ORDER BY."""


class AggregateReader:
    """Reads expressions over groups, collecting the aggregates that they mention."""

    def __init__(
        self,
        text: str,
        scope: Scope,
        keys: Sequence[exp.Expression],
        sets: Sequence[Sequence[exp.Expression]] = (),
    ) -> None:
        self.text = text
        self.scope = scope
        self.rows = ExprReader(text, scope.row_leaf)
        self.groups = ExprReader(text, self.leaf)
        self._keys = {key: f"k{i}" for i, key in enumerate(keys)}
        self._aggregates: dict[AggregateCall, str] = {}
        self._sets = tuple(tuple(self._keys[key] for key in some) for some in sets)
        self._read = tuple((name, self.rows.read(key)) for key, name in self._keys.items())
        self._bins: dict[Call, str] = {}
        self.windows: WindowReader | None = None
        """Reads what stands over windows of groups; None where rows are private."""

    @property
    def keys(self) -> tuple[tuple[str, Expr], ...]:
        """The keys to group by; bins come last."""
        return (*self._read, *((name, bins) for bins, name in self._bins.items()))

    @property
    def sets(self) -> tuple[tuple[str, ...], ...]:
        """Several groupings; bins are in each of them."""
        return tuple((*some, *self._bins.values()) for some in self._sets)

    @property
    def aggregates(self) -> tuple[tuple[str, AggregateCall], ...]:
        """What was collected so far, each once."""
        return tuple((name, call) for call, name in self._aggregates.items())

    def leaf(self, node: exp.Expression) -> Expr | None:
        """What a column, a key or an aggregate becomes above the groups."""
        key = self._keys.get(node)
        if key is not None:
            return Column(key, origin_of(node, self.text))
        if isinstance(node, exp.Grouping | exp.GroupingId):
            return self._grouping(node)
        if isinstance(node, exp.Window) and self.windows is not None:
            return self.windows.read(node, self.groups)
        end = end_of(node)
        if end is not None:
            which, call, axis = end
            return Column(f"{which}{self._bin(call)[axis]}", origin_of(call, self.text))
        if is_aggregate(node) or self._looks_like_one(node):
            found = self._aggregate(node)
            name = self._aggregates.setdefault(found, f"a{len(self._aggregates)}")
            return Column(name, found.place)
        if isinstance(node, exp.Column):
            self.scope.column(node)
            raise sql_error(
                node,
                self.text,
                "it is neither a group key nor inside an aggregate",
                why="a value of single rows cannot be released",
                fix=f"GROUP BY {node.name}, or AVG({node.name})",
            )
        return None

    def _looks_like_one(self, node: exp.Expression) -> bool:
        """Whether a function that nobody knows must be an aggregate: it is of values of single rows.

        Which aggregates there are is known where the plan is analysed, so that is where it is refused.
        """
        if not isinstance(node, exp.Anonymous) or function_of(node) or node.find(exp.AggFunc):
            return False
        listed = node.name.lower() in REFUSED_NAMES
        return not listed and any(c not in self._keys for c in node.find_all(exp.Column))

    def _grouping(self, node: exp.Expression) -> Expr:
        """GROUPING(a, b): a bit for each key, set in rows that are not grouped by it."""
        found: Expr | None = None
        for item in node.expressions:
            key = self._keys.get(item)
            if key is None:
                raise sql_error(
                    item,
                    self.text,
                    "it is no group key",
                    why="GROUPING says by which keys a row is grouped",
                    fix=f"{node.key.upper()}(key), with a key of GROUP BY",
                )
            bit = Column(f"{GROUPING}{key}") if self._sets else literal(0)
            higher = None if found is None else Call("multiply", (found, literal(2)))
            found = bit if higher is None else Call("add", (higher, bit))
        return literal(0) if found is None else found

    def _aggregate(self, node: exp.Expression) -> AggregateCall:
        place = origin_of(node, self.text)
        where: Expr | None = None
        if isinstance(node, exp.Filter):
            where = self.rows.read(node.expression.this)
            node = node.this
        if is_any_value(node):
            node = node.this
        if is_histogram(node):
            self._bin(node)
            return AggregateCall("COUNT", (), False, where, place)
        if isinstance(node, exp.WithinGroup):
            return self._within_group(node, where)
        refuse_unread(node, {*node.arg_types, "big_int"} - {"ignore_nulls"}, self.text)
        name = node.sql_names()[0] if isinstance(node, exp.Func) else node.key.upper()
        if isinstance(node, exp.Anonymous):
            name = node.name.upper()
        arguments = [a for key in node.arg_types for a in _expressions(node.args.get(key))]
        if isinstance(node, _OF_SINGLE_ROWS):
            arguments = [a.this if isinstance(a, exp.Order) else a for a in arguments]
        distinct = False
        if arguments and isinstance(arguments[0], exp.Distinct):
            refuse_unread(arguments[0], {"expressions"}, self.text)
            distinct, arguments = True, list(arguments[0].expressions)
        if arguments and isinstance(arguments[0], exp.Star):
            arguments = []
        counts = isinstance(node, exp.ApproxDistinct) or (distinct and isinstance(node, exp.Count))
        inside = _tuple(arguments[0]) if counts and len(arguments) == 1 else []
        if inside:  # a tuple is not NULL, whatever is in it
            name, distinct, arguments = "N_UNIQUE", False, inside
        args = tuple(self.rows.read(a) for a in arguments)
        return AggregateCall(name, args, distinct, where, place)

    def _bin(self, call: exp.Expression) -> list[str]:
        """The names of the keys that the bins of a HISTOGRAM are."""
        return [
            self._bins.setdefault(bins, f"k{len(self._read) + len(self._bins)}")
            for bins in bins_of(call, self.text, self.rows.read, self.rows.value, self._keys.get)
        ]

    def _within_group(self, node: exp.WithinGroup, where: Expr | None) -> AggregateCall:
        """`PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x)`, which is a quantile of x."""
        place, ordered = origin_of(node, self.text), node.expression.expressions
        refuse_unread(node.expression, {"expressions"}, self.text)
        if not isinstance(node.this, exp.PercentileCont | exp.PercentileDisc) or len(ordered) != 1:
            raise sql_error(
                node,
                self.text,
                "WITHIN GROUP goes with a percentile or the MODE of one column",
                why="no other aggregate depends on an order",
                fix="PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY x)",
            )
        refuse_unread(node.this, {"this"}, self.text)
        (by,) = ordered
        # Where NULL goes says nothing: it is left out.
        refuse_unread(by, {"this", "desc", "nulls_first"}, self.text)
        quantile = self.rows.read(node.this.this)
        if by.args.get("desc"):
            quantile = Call("subtract", (literal(1), quantile), place=quantile.origin)
        name = node.this.sql_names()[0]
        return AggregateCall(name, (self.rows.read(by.this), quantile), False, where, place)


def _tuple(node: exp.Expression) -> list[exp.Expression]:
    """What is in (a, b) or ROW(a, b); nothing if a node is something else."""
    is_row = isinstance(node, exp.Anonymous) and node.name.upper() == "ROW"
    return list(node.expressions) if isinstance(node, exp.Tuple) or is_row else []


def _expressions(value: Any) -> list[exp.Expression]:
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, exp.Expression)]

"""Expressions over many rows of a noisy table, read as the windows of SQL that they are.

`pl.col("n").sum()` beside other columns is `SUM(n) OVER ()`, `.over("ward")` parts the rows, and
`cum_sum`, `shift` and the like take them in the order that they have, or in that of `order_by`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dpframe.frontends.polars_aggregates import is_aggregate, released_call
from dpframe.frontends.polars_exprs import TermReader
from dpframe.frontends.polars_terms import Term
from dpframe.frontends.polars_text import PolarsOrigin, polars_error
from dpframe.plan.exprs import Call, Column, Expr, WindowCall, WindowOrder, literal
from dpframe.plan.nodes import Aggregate, Node, Project, Regroup, Window

_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_FROM_HERE = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"

_CUMULATIVE = {"cum_sum": "SUM", "cum_count": "COUNT", "cum_min": "MIN", "cum_max": "MAX"}
_SHIFTS = ("shift", "shift_and_fill", "diff", "pct_change")
_RANKS = {"Min": "RANK", "Dense": "DENSE_RANK", "Ordinal": "ROW_NUMBER"}

Leaf = Callable[[Term], Expr | None]


@dataclass(frozen=True, slots=True)
class _Over:
    """What `.over(...)` says."""

    partition: tuple[Expr, ...] = ()
    order: tuple[WindowOrder, ...] = ()


class Windows:
    """Collects the windows of some expressions over one noisy table, each once."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._taken = columns_of_node(node)
        self._calls: dict[WindowCall, str] = {}

    def node(self) -> Node:
        """The table with what was collected beside its columns."""
        if not self._calls:
            return self._node
        return Window(self._node, tuple((name, call) for call, name in self._calls.items()))

    def leaf(self, column: Leaf) -> Leaf:
        """Reads what looks at many rows; `column` reads columns, and refuses the rest."""

        def read(term: Term) -> Expr | None:
            found = self._read(term, _Over(), rows)
            return column(term) if found is None else found

        rows = TermReader(column)
        return read

    def row_number(self, partition: tuple[Expr, ...], order: tuple[WindowOrder, ...]) -> Expr:
        """The place of each row among those of its part."""
        return self._named(WindowCall("ROW_NUMBER", (), partition, order))

    def _read(self, term: Term, over: _Over, rows: TermReader) -> Expr | None:
        if term.name == "over":
            return self._over(term, rows)
        if is_aggregate(term):
            call = released_call(term, rows)
            args = call.args
            if call.where is not None:
                value = args[0] if args else literal(1)
                args = (Call("case", (call.where, value, literal(None)), place=call.place),)
            name = "COUNT(DISTINCT x)" if call.distinct else call.name
            return self._named(WindowCall(name, args, over.partition, place=call.place))
        if term.name == "rank":
            return self._rank(term, over, rows)
        if term.name in _CUMULATIVE:
            frame = _FROM_HERE if term.options.get("reverse") else _SO_FAR
            value, place = rows.read(term.inputs[0]), PolarsOrigin(term)
            name = _CUMULATIVE[term.name]
            so_far = WindowCall(name, (value,), over.partition, over.order, frame, place)
            found = self._named(so_far)
            return found if term.name == "cum_count" else _where_present(value, found)
        return self._shift(term, over, rows) if term.name in _SHIFTS else None

    def _over(self, term: Term, rows: TermReader) -> Expr:
        inner, *rest = term.inputs
        if term.options.get("unread"):
            raise polars_error(
                term,
                "the way its rows are put together is not understood here",
                why="ignoring a part of an expression would answer another question",
                fix='.over("ward"), or .over("ward", order_by="month")',
            )
        order: tuple[WindowOrder, ...] = ()
        if term.options["ordered"]:
            *rest, by = rest
            down, last = term.options["descending"], term.options["nulls_last"]
            order = (WindowOrder(rows.read(by), down, last),)
        while inner.name == "alias":
            inner = inner.inputs[0]
        found = self._read(inner, _Over(tuple(map(rows.read, rest)), order), rows)
        if found is None:
            raise polars_error(
                term,
                "over goes with one function of many rows",
                why="only such a function looks at the rows that over puts together",
                fix='pl.col("n") / pl.col("n").sum().over("ward")',
            )
        return found

    def _rank(self, term: Term, over: _Over, rows: TermReader) -> Expr:
        """Ranks by value; NULL has none. An average one is between the first and the last rank."""
        options, place = term.options["options"], PolarsOrigin(term)
        value, method = rows.read(term.inputs[0]), options["method"]
        order = (WindowOrder(value, bool(options["descending"])),)

        def ranked(name: str) -> Expr:
            return self._named(WindowCall(name, (), over.partition, order, place=place))

        if method in _RANKS:
            found = ranked(_RANKS[method])
        elif method == "Max":  # how many rows are not behind, equal ones among them
            found = ranked("COUNT")
        elif method == "Average":
            both = Call("add", (ranked("RANK"), ranked("COUNT")), place=place)
            found = Call("divide", (both, literal(2)), place=place)
        else:
            raise polars_error(
                term,
                "ranks by chance are not answered",
                why="the same question would have another answer each time",
                fix='.rank("ordinal")',
            )
        return _where_present(value, found)

    def _shift(self, term: Term, over: _Over, rows: TermReader) -> Expr:
        place, value = PolarsOrigin(term), rows.read(term.inputs[0])
        step = term.inputs[1].options.get("value")
        if isinstance(step, bool) or not isinstance(step, int):
            raise polars_error(
                term,
                "has no fixed step",
                why="how many rows it looks back is said in the question",
                fix='pl.col("n").shift(1)',
            )
        args = (value, literal(abs(step)), *map(rows.read, term.inputs[2:]))
        frame = "" if over.order else _SO_FAR
        name = "LAG" if step >= 0 else "LEAD"
        found = self._named(WindowCall(name, args, over.partition, over.order, frame, place))
        if term.name == "diff":
            return Call("subtract", (value, found), place=place)
        if term.name == "pct_change":
            ratio = Call("divide", (value, found), place=place)
            return Call("subtract", (ratio, literal(1)), place=place)
        return found

    def _named(self, call: WindowCall) -> Expr:
        if call not in self._calls:
            name = f"w{len(self._calls)}"
            while name in self._taken:
                name += "_"
            self._calls[call] = name
        return Column(self._calls[call], call.place)


def _where_present(value: Expr, found: Expr) -> Expr:
    """NULL where the value is, as Polars has it; SQL goes on counting."""
    missing = Call("is_null", (value,), place=found.origin)
    return Call("case", (missing, literal(None), found), place=found.origin)


def columns_of_node(node: Node) -> set[str]:
    """The names of the columns of a noisy table."""
    match node:
        case Aggregate() | Regroup():
            return {name for name, _ in (*node.keys, *node.aggregates)}
        case Project():
            return {name for name, _ in node.columns}
        case Window():
            return columns_of_node(node.parent) | {name for name, _ in node.columns}
    (parent,) = node.parents
    return columns_of_node(parent)


def is_one_value(term: Term) -> bool:
    """Whether a term is one value of all rows, whatever their number: an aggregate, or a constant."""
    if is_aggregate(term) or term.name == "lit":
        return True
    if term.name in ("col", "over", "rank", *_CUMULATIVE, *_SHIFTS) or not term.inputs:
        return False
    return all(map(is_one_value, term.inputs))

"""GROUP BY in a subquery: one row per group inside each unit, and what is known of its values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from dpframe.bounds.analysis import Typed, condition, refused, typed
from dpframe.bounds.derive import derived, refused_at, selected
from dpframe.bounds.guard import guarded
from dpframe.bounds.near import Near, near_zero
from dpframe.bounds.refine import refined
from dpframe.bounds.rows import UNIT, Grouped, Measure, Rows
from dpframe.declare import Unit
from dpframe.errors import QueryError, UnboundedError
from dpframe.plan.bins import bins_in
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, Literal, literal
from dpframe.plan.nodes import GroupRows

_COUNT = Domain(Type.INT, 0, nullable=False)
"""How many rows a unit has is bounded by nothing that was declared."""


def group_rows(node: GroupRows, rows: Rows, needed: frozenset[str] | None) -> Rows:
    """Lower a GROUP BY whose keys include the unit, or any GROUP BY over public rows."""
    keys = {name: rows.over_source(expr) for name, expr in node.keys}
    _require_unit(node, rows, keys)
    for bins in bins_in(tuple(keys.values())):
        raise refused(
            bins,
            "makes bins inside each unit",
            why="only released rows have low, high and count, and these rows are private",
            fix="FLOOR(x / 10) among the keys of GROUP BY, beside COUNT(*)",
        )
    work = _Work(rows, refined(rows.table.domains, rows.where))
    wanted = [(n, call) for n, call in node.aggregates if needed is None or n in needed]
    columns: dict[str, Expr] = {}
    listed: tuple[str, ...] = () if rows.unit is None else (UNIT,)
    for i, (name, expr) in enumerate(keys.items()):
        if expr == rows.unit:
            columns[name] = Column(UNIT)
            continue
        key = f"k{i}"
        columns[name], listed, work.inputs[key] = Column(key), (*listed, key), expr
        _require_groupable(typed(expr, work.known))
    for name, call in wanted:
        columns[name] = work.value(call)
    chosen = selected(rows, work.inputs)
    domains = {n: chosen.result.domains[n] for n in listed if n != UNIT}
    domains |= {name: domain for name, (_, domain) in work.measures.items()}
    measures = tuple((name, measure) for name, (measure, _) in work.measures.items())
    private = [] if rows.table.public else [rows.table]
    table = derived(domains, private, chosen.result)
    if listed == (UNIT,):  # a single row for each unit: it weighs no more than that
        table = replace(table, unit=Unit(UNIT, 1))
    return Rows(table, Grouped(chosen, listed, measures), (), columns)


@dataclass(slots=True)
class _Work:
    """Collects what has to be computed per row and per group, each once."""

    rows: Rows
    known: dict[str, Domain]
    inputs: dict[str, Expr] = field(default_factory=dict)
    measures: dict[str, tuple[Measure, Domain]] = field(default_factory=dict)

    def value(self, call: AggregateCall) -> Expr:
        """An aggregate, as an expression over measures."""
        read = _READ.get(call.name)
        if read is None or (call.distinct and call.name != "COUNT"):
            known = ", ".join(_READ)
            raise refused(
                call,
                "is not answered in a subquery",
                why="its value would depend on the order of rows, or has no rule here",
                fix=f"use one of {known}, without DISTINCT except in COUNT",
            )
        return read(self, call)

    def over_source(self, expr: Expr) -> Expr:
        """An expression over the source's columns, total even in rows that are dropped."""
        return guarded(self.rows.over_source(expr), self.rows.table.domains, self.rows.where)

    def argument(self, call: AggregateCall) -> Typed:
        """What an aggregate ranges over: its argument where its FILTER holds, NULL elsewhere."""
        if len(call.args) != 1:
            raise refused(call, f"has {len(call.args)} arguments", why="it takes one", fix="SUM(x)")
        expr = self.over_source(call.args[0])
        if call.where is not None:
            kept = condition(self.over_source(call.where), self.known)
            nothing = Literal(None, Type.NULL)
            expr = Call("case", (kept.expr, expr, nothing), place=call.place)
        return typed(expr, self.known)

    def column(self, expr: Expr) -> str:
        """The column that holds an expression, computed once per row."""
        for name, existing in self.inputs.items():
            if existing == expr:
                return name
        name = f"in{len(self.inputs)}"
        self.inputs[name] = expr
        return name

    def measure(self, measure: Measure, domain: Domain, call: AggregateCall) -> Column:
        """The column that holds a measure, computed once per group."""
        for name, (existing, _) in self.measures.items():
            if existing == measure:
                return Column(name, call.place)
        name = f"out{len(self.measures)}"
        self.measures[name] = (measure, domain)
        return Column(name, call.place)

    def count(self, call: AggregateCall) -> Expr:
        if not call.args and call.where is None:
            return self.measure(Measure("rows"), replace(_COUNT, low=1), call)
        if not call.args:
            call = replace(call, args=(literal(1),))
        found = self.argument(call)
        if call.distinct:
            _require_groupable(found)
            return self.measure(Measure("distinct", self.column(found.expr)), _COUNT, call)
        return self.measure(Measure("values", self.column(found.expr)), _COUNT, call)

    def count_if(self, call: AggregateCall) -> Expr:
        kept = condition(self.over_source(call.args[0]), self.known).expr
        one = Call("case", (kept, literal(1), Literal(None, Type.NULL)), place=call.place)
        found = self.argument(replace(call, name="COUNT", args=(one,)))
        return self.measure(Measure("values", self.column(found.expr)), _COUNT, call)

    def total(self, call: AggregateCall) -> tuple[Expr, Near, Typed]:
        """The sum of how far values lie from an offset, that offset, and the argument."""
        found = self.argument(call)
        if found.domain.type is Type.BOOL:
            found = typed(Call("cast", (found.expr,), ("BIGINT",), call.place), self.known)
        if not found.domain.type.is_number or not found.domain.is_bounded:
            raise refused(
                call,
                "has no bounds",
                why="sums are exact on a grid that follows from declared ranges",
                fix="session.register(..., columns={...: dp.Range(low, high)}), or bound it in the"
                " query: SUM(GREATEST(low, LEAST(x, high)))",
                kind=UnboundedError,
            )
        near = near_zero(found.expr, found, self.known)
        coding = near.coding
        low = 0 if coding.low >= 0 else None
        high = 0 if coding.high <= 0 else None
        measure = Measure("total", self.column(near.typed.expr), coding)
        codes: Expr = self.measure(measure, Domain(Type.INT, low, high), call)
        if not coding.is_integer:
            codes = Call("cast", (codes,), ("DOUBLE",), call.place)
            codes = Call("divide", (codes, literal(float(coding.scale))), place=call.place)
        return codes, near, found

    def values(self, found: Typed, call: AggregateCall) -> Column:
        """The number of values that are not NULL."""
        return self.measure(Measure("values", self.column(found.expr)), _COUNT, call)

    def sum(self, call: AggregateCall) -> Expr:
        total, near, found = self.total(call)
        if not near.offset:
            return total
        offset = literal(float(near.offset))
        rest = Call("multiply", (self.values(found, call), offset), place=call.place)
        return Call("add", (total, rest), place=call.place)

    def mean(self, call: AggregateCall) -> Expr:
        total, near, found = self.total(call)
        values = self.values(found, call)
        mean = Call("divide", (total, values), place=call.place)
        if near.offset:
            mean = Call("add", (mean, literal(float(near.offset))), place=call.place)
        # Rounding could leave the range of the values, from which the bounds of the mean follow.
        low, high = literal(float(found.domain.low)), literal(float(found.domain.high))
        inside = Call("greatest", (low, Call("least", (high, mean))), place=call.place)
        some = Call("greater", (values, literal(0)))
        return Call("case", (some, inside, Literal(None, Type.NULL)), place=call.place)

    def least(self, call: AggregateCall) -> Expr:
        return self._extreme(call, Measure("least", ""))

    def most(self, call: AggregateCall) -> Expr:
        return self._extreme(call, Measure("most", ""))

    def _extreme(self, call: AggregateCall, measure: Measure) -> Expr:
        found = self.argument(call)
        if found.domain.type is Type.TEXT:
            raise refused(
                call,
                "compares text",
                why="engines do not sort text alike",
                fix="MIN and MAX of a number, a date or a boolean",
            )
        domain = replace(found.domain, nullable=True)
        return self.measure(replace(measure, column=self.column(found.expr)), domain, call)


_READ: dict[str, Callable[[_Work, AggregateCall], Expr]] = {
    "COUNT": _Work.count,
    "COUNT_IF": _Work.count_if,
    "SUM": _Work.sum,
    "AVG": _Work.mean,
    "MIN": _Work.least,
    "MAX": _Work.most,
    "LOGICAL_OR": _Work.most,
    "LOGICAL_AND": _Work.least,
}


def _require_unit(node: GroupRows, rows: Rows, keys: dict[str, Expr]) -> None:
    if rows.table.public or (rows.unit is not None and rows.unit in keys.values()):
        return
    if rows.unit is None:
        why = "each row is a unit of its own, so a group of several belongs to none"
        fix = 'register the table with unit=dp.Unit("person_id", max_rows=...), and group by it'
    else:
        why = "rows of different units would be in one group, which then belongs to none"
        fix = "group by the unit as well, or aggregate in the outermost query alone"
    raise refused_at(node.place, "a subquery groups rows across units", why=why, fix=fix)


def _require_groupable(found: Typed) -> None:
    if found.domain.type is Type.FLOAT:
        raise refused(
            found.expr,
            "cannot be grouped by in a subquery",
            why="fractions that were computed in two ways differ in their last digits",
            fix="group by an integer, text or a date: CAST(FLOOR(x) AS BIGINT)",
            kind=QueryError,
        )

"""What a query would do, before anything is spent."""

from __future__ import annotations

from dpframe.aggregates.compile import Compiled, layout_for
from dpframe.declare import Row, Table
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, Literal
from dpframe.plan.nodes import HIDDEN, Aggregate, Filter, Limit, Node, Project, Scan, Sort, chain
from dpframe.plan.parts import CodedSum, CountRows, CountUnits, Part
from dpframe.release.display import number
from dpframe.release.offer import Offer

_SYMBOLS = {
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "integer_divide": "//",
    "modulo": "%",
    "equal": "=",
    "not_equal": "<>",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "and": "AND",
    "or": "OR",
    "concat_operator": "||",
}


def expr_text(expr: Expr) -> str:
    """An expression in the words of SQL."""
    match expr:
        case Column():
            return expr.name
        case Literal():
            return "NULL" if expr.value is None else repr(expr.value)
        case Call("not", (Call("is_null", (arg,)),)):
            return f"{expr_text(arg)} IS NOT NULL"
        case Call("is_null", (arg,)):
            return f"{expr_text(arg)} IS NULL"
        case Call("convert", (arg,), params):
            return f"CAST({expr_text(arg)} AS {params[-1]})"
        case Call("case", args):
            arms = " ".join(
                f"WHEN {expr_text(args[i])} THEN {expr_text(args[i + 1])}"
                for i in range(0, len(args) - 1, 2)
            )
            return f"CASE {arms} ELSE {expr_text(args[-1])} END"
        case Call("in", (arg,), params):
            return f"{expr_text(arg)} IN ({', '.join(map(repr, params))})"
        case Call() if expr.function in _SYMBOLS:
            return "(" + f" {_SYMBOLS[expr.function]} ".join(map(expr_text, expr.args)) + ")"
        case Call():
            inside = [*map(expr_text, expr.args), *map(repr, expr.params)]
            return f"{expr.function.upper()}({', '.join(inside)})"
        case AggregateCall():
            inner = ", ".join(map(expr_text, expr.args)) or "*"
            distinct = "DISTINCT " if expr.distinct else ""
            where = f" FILTER (WHERE {expr_text(expr.where)})" if expr.where is not None else ""
            return f"{expr.name}({distinct}{inner}){where}"
    return type(expr).__name__


def unit_text(table: Table) -> str:
    """What is protected, in words."""
    if table.public:
        return "nothing: the table is public"
    if isinstance(table.unit, Row):
        unit = "one row"
    else:
        unit = f"all rows of one {table.unit.column}, weighing at most {table.max_rows:,} rows"
    relation = {
        "add_remove": "added or removed",
        "replace": f"replaced (of {table.size or 0:,}, a public number)",
    }[table.neighbors]
    return f"{unit}, {relation}"


def plan_text(plan: Node) -> list[str]:
    """The steps of a plan, topmost first."""
    return [_step(node) for node in chain(plan)]


def _step(node: Node) -> str:
    match node:
        case Scan():
            return f"scan {node.table}, every column read through its declared domain"
        case Filter():
            return f"filter {expr_text(node.predicate)}"
        case Aggregate():
            keys = ", ".join(f"{name} = {expr_text(e)}" for name, e in node.keys) or "none"
            found = ", ".join(f"{name} = {expr_text(e)}" for name, e in node.aggregates)
            return f"aggregate {found}; keys: {keys}"
        case Project():
            shown = [(n, expr_text(e)) for n, e in node.columns]
            return "compute " + ", ".join(
                e if n == e else f"{n} = {e}" for n, e in shown if not n.startswith(HIDDEN)
            )
        case Sort():
            return "sort by " + ", ".join(
                k.column.name.removeprefix("__dpframe_") + (" descending" if k.descending else "")
                for k in node.by
            )
        case Limit():
            return f"keep {'all' if node.rows is None else node.rows} rows after {node.offset}"
    return type(node).__name__


def part_text(part: Part) -> str:
    """A part in words."""
    where = f" where {expr_text(part.condition)}" if part.condition is not None else ""
    match part:
        case CountRows():
            return f"count of rows{where}"
        case CountUnits():
            return f"count of units{where}"
        case CodedSum():
            centre = f" - {part.coding.value(part.centre):g}" if part.centre else ""
            low, high = part.coding.value(part.coding.low), part.coding.value(part.coding.high)
            return f"sum of {expr_text(part.expr)}{centre} in [{low:,.6g}, {high:,.6g}]{where}"
    return type(part).__name__


def explain(compiled: Compiled, offer: Offer | None, cost: str, remains: str) -> str:
    """The plan, the unit, and for each part its sensitivity, noise and predicted error."""
    layout = offer.layout if offer is not None else layout_for(compiled, norm=1)
    lines = ["plan"]
    lines += [f"  {'  ' * i}{step}" for i, step in enumerate(plan_text(compiled.plan))]
    lines += [f"unit    {unit_text(compiled.table)}"]
    lines += [f"groups  {_groups_text(compiled)}"]
    lines += [f"parts   {len(layout.parts)}, measured once each and shared by the columns"]
    for i, part in enumerate(layout.parts):
        lines += [f"  {i + 1}. {part_text(part)}"]
        sensitivity = layout.sensitivities[i]
        size = sensitivity.l1 if layout.context.norm == 1 else sensitivity.l2_squared**0.5
        norm = f"L{layout.context.norm}"
        value = (size or 0) * layout.step(i)
        lines += [f"     sensitivity {value:,.6g} in {norm}: {sensitivity.why}"]
        if offer is not None:
            lines += [f"     {_noise_text(offer, i)}"]
    lines += ["columns"]
    for (name, _), recipe in zip(compiled.aggregates, layout.recipes, strict=True):
        call = dict(_aggregate_calls(compiled))[name]
        lines += [f"  {expr_text(call)}: from {recipe.name}"]
    lines += [f"cost    {cost}", f"left    {remains}"]
    return "\n".join(lines)


def _aggregate_calls(compiled: Compiled) -> tuple[tuple[str, AggregateCall], ...]:
    return next(n for n in chain(compiled.plan) if isinstance(n, Aggregate)).aggregates


def _groups_text(compiled: Compiled) -> str:
    if not compiled.keys:
        return "1, the whole table"
    return f"{compiled.groups:,}, all public: known from declared domains, present even if empty"


def _noise_text(offer: Offer, index: int) -> str:
    law = offer.laws[index]
    if law is None:
        return "no noise: no unit can change it"
    step = offer.layout.step(index)
    error = law.half_width(0.95) * step
    share = float(offer.layout.shares[index])
    return (
        f"{offer.mechanism} noise with {share:.0%} of the cost;"
        f" 95% of the time within ± {number(error, error)}"
    )

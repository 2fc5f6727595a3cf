"""Expressions, units and parts in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, datetime

from dpframe.budget.halving import rank_errors, rounds
from dpframe.declare import Row, Table
from dpframe.mechanisms import MeasuredQuantiles, ModeSelection
from dpframe.plan.exprs import (
    AggregateCall,
    Call,
    Column,
    Expr,
    Literal,
    WindowCall,
)
from dpframe.plan.parts import (
    Blend,
    CodedSum,
    CountDistinct,
    CountRows,
    CountUnits,
    FrequentCell,
    GridCounts,
    Part,
    RankedCells,
)
from dpframe.release.display import number

_SYMBOLS = {
    "add": "+",
    "plus": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "integer_divide": "//",
    "floor_divide": "//",
    "modulo": "%",
    "floor_modulo": "%",
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


def expr_text(expr: Expr, names: Mapping[str, str] | None = None) -> str:
    """An expression in the words of SQL; `names` says what columns of the plan stand for."""

    def text(inner: Expr) -> str:
        return expr_text(inner, names)

    match expr:
        case Column():
            return (names or {}).get(expr.name, expr.name)
        case Literal():
            return _constant(expr.value)
        case Call("not", (Call("is_null", (arg,)),)):
            return f"{text(arg)} IS NOT NULL"
        case Call("is_null", (arg,)):
            return f"{text(arg)} IS NULL"
        case Call("convert", (arg,), params):
            return f"CAST({text(arg)} AS {params[-1]})"
        case Call("case", args):
            arms = " ".join(
                f"WHEN {text(args[i])} THEN {text(args[i + 1])}" for i in range(0, len(args) - 1, 2)
            )
            return f"CASE {arms} ELSE {text(args[-1])} END"
        case Call("in", (arg,), params):
            return f"{text(arg)} IN ({', '.join(map(_constant, params))})"
        case Call("above", (arg,), (low, _)):
            return f"({text(arg)} - {_constant(low)})" if low >= 0 else f"({text(arg)} + {-low!r})"
        case Call("bins", (arg,), (bins, edges, *_)):
            return f"{bins or len(edges) - 1:,} bins of {text(arg)}"
        case Call() if expr.function in _SYMBOLS:
            return "(" + f" {_SYMBOLS[expr.function]} ".join(map(text, expr.args)) + ")"
        case Call():
            inside = [*map(text, expr.args), *map(_constant, expr.params)]
            return f"{expr.function.upper()}({', '.join(inside)})"
        case AggregateCall():
            inner = ", ".join(map(text, expr.args)) or "*"
            distinct = "DISTINCT " if expr.distinct else ""
            where = f" FILTER (WHERE {text(expr.where)})" if expr.where is not None else ""
            if expr.name == "N_UNIQUE" and len(expr.args) > 1:
                return f"COUNT(DISTINCT ({inner})){where}"
            return f"{expr.name}({distinct}{inner}){where}"
        case WindowCall():
            listed = ", ".join(map(text, expr.args)) or ("*" if expr.name == "COUNT" else "")
            parts = ", ".join(map(text, expr.partition))
            by = ", ".join(text(b.expr) + (" DESC" if b.descending else "") for b in expr.order)
            clauses = [f"PARTITION BY {parts}"] if parts else []
            clauses += [f"ORDER BY {by}"] if by else []
            clauses += [expr.frame] if expr.frame else []
            return f"{expr.name}({listed}) OVER ({' '.join(clauses)})"
    return type(expr).__name__


def _constant(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case datetime():
            return f"TIMESTAMP '{value}'"
        case date():
            return f"DATE '{value}'"
        case str():
            return "'" + value.replace("'", "''") + "'"
    return repr(value)


def unit_text(table: Table, column: str = "") -> str:
    """What is protected, in words; `column` is what a unit that tables share is called."""
    if table.public:
        return "nothing: the table is public"
    if isinstance(table.unit, Row):
        unit = "one row"
    else:
        unit = f"all rows of one {column or table.unit.column}, weighing at most {table.max_rows:,} rows"
    relation = {
        "add_remove": "added or removed",
        "replace": f"replaced (of {table.size or 0:,}, a public number)",
    }[table.neighbors]
    return f"{unit}, {relation}"


def part_text(part: Part, names: Mapping[str, str] | None = None) -> str:
    """A part in words."""
    where = f" where {expr_text(part.condition, names)}" if part.condition is not None else ""
    match part:
        case CountRows():
            return f"count of rows{where}"
        case CountDistinct():
            compared = ", ".join(expr_text(expr) for expr, _ in part.compared)
            kind = f"tuples ({compared})" if part.beside else f"values of {compared}"
            return f"count of different {kind}{where}"
        case CountUnits():
            return f"count of units{where}"
        case CodedSum():
            centre = f" - {part.coding.value(part.centre):g}" if part.centre else ""
            low, high = part.coding.value(part.coding.low), part.coding.value(part.coding.high)
            return (
                f"sum of {expr_text(part.expr, names)}{centre} in [{low:,.6g}, {high:,.6g}]{where}"
            )
        case Blend():
            value = expr_text(part.expr, names)
            low, high = (part.coding.value(c) for c in (part.coding.low, part.coding.high))
            above = f"({value} - {low:,.6g})" if low else value
            below = f"({high:,.6g} - {value})" if high else f"(-{value})"
            product = {2: f"{above}^2", 1: f"2 * {above} * {below}", 0: f"{below}^2"}[part.above]
            return f"sum of {product}{where}"
        case FrequentCell():
            # Days are numbered, and listed values too: what they are the numbers of is meant.
            value = _coded_text(part, names)
            return f"most frequent {value}{where}, chosen among {part.size:,} values"
        case RankedCells():
            levels, steps = part.levels, len(rounds(part.levels))
            listed = ", ".join(f"{float(level):g}" for level in levels)
            which = f"quantile{'s' * (len(levels) > 1)} {listed}"
            between = f"chosen among {part.inside:,} cells, in {steps} round{'s' * (steps > 1)}"
            return f"{which} of {expr_text(part.expr, names)}{where}, {between}"
        case GridCounts():
            if part.width == 1 and part.size == part.coding.high - part.coding.low + 1:
                return (
                    f"counts of {_coded_text(part, names)}, of each of {part.size:,} values{where}"
                )
            low, high = part.coding.value(part.coding.low), part.coding.value(part.coding.high)
            between = f"{part.size:,} cells over [{low:,.6g}, {high:,.6g}]"
            return f"counts of {expr_text(part.expr, names)} in {between}{where}"
    return type(part).__name__


def _coded_text(part: GridCounts, names: Mapping[str, str] | None) -> str:
    """What the cells are of: a number that stands for a value is ours."""
    expr = part.expr
    if isinstance(expr, Call) and expr.function == "case" and isinstance(expr.args[0], Call):
        expr = expr.args[0].args[0]  # CASE WHEN x = 'er' THEN 0 ... END
    elif isinstance(expr, Call) and expr.function == "day_number":
        expr = expr.args[0]
    return expr_text(expr, names)


def ranks_text(law: MeasuredQuantiles, part: RankedCells, step: float) -> str:
    """How many rows may lie between a quantile and where it should be."""
    rows = max(rank_errors(part.levels, law.choice.swap)) * math.sqrt(2)
    rows *= float(law.choice.scale) * step
    return f"where rows lie evenly, ranks are off by about {number(rows, rows)} rows"


def mode_text(law: ModeSelection, part: Part, step: float, groups: int) -> str:
    """How many rows the chosen value may have less than the most frequent one."""
    assert isinstance(part, FrequentCell)
    rows = law.error(0.95, part.size, groups) * step
    every = " in all groups" if groups > 1 else ""
    return f"with 95% confidence{every} no value has over {number(rows, rows)} rows more than it"

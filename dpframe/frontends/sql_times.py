"""Dates, times and intervals in SQL, read as calls of the function table."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpframe.frontends.sql_origin import origin_of
from dpframe.plan.exprs import Call, Expr, Literal, literal
from dpframe.plan.functions.shifts import shifted_constant

if TYPE_CHECKING:
    from dpframe.frontends.sql_exprs import ExprReader

Interval = tuple[int, int, int]
"""Months, days and microseconds."""

_UNITS: dict[str, Interval] = {
    "millennium": (12_000, 0, 0),
    "century": (1_200, 0, 0),
    "decade": (120, 0, 0),
    "year": (12, 0, 0),
    "quarter": (3, 0, 0),
    "month": (1, 0, 0),
    "week": (0, 7, 0),
    "day": (0, 1, 0),
    "hour": (0, 0, 3_600_000_000),
    "minute": (0, 0, 60_000_000),
    "second": (0, 0, 1_000_000),
    "millisecond": (0, 0, 1_000),
    "microsecond": (0, 0, 1),
}

_AMOUNT = re.compile(r"\s*([+-]?\d{1,18})\s*([A-Za-z]+)\s*")

_FIELDS = {
    "year": "year",
    "quarter": "quarter",
    "month": "month",
    "week": "week",
    "weekofyear": "week",
    "day": "day",
    "dayofmonth": "day",
    "dayofweek": "dow",
    "dayofweekiso": "isodow",
    "dayofyear": "doy",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
}
"""Nodes that are named after the field they read."""

_NAMED_FIELDS = {
    "weekday": "dow",
    **{
        name: name
        for name in (
            *("isodow", "isoyear", "decade", "century", "millennium", "yearweek"),
            *("millisecond", "microsecond"),
        )
    },
}
"""Functions of DuckDB, named after the field they read, that the parser does not know."""


def is_field(node: exp.Expression) -> bool:
    """Whether a node is YEAR(d) or the like, by a name that the parser knows."""
    return node.key in _FIELDS


def field_function(reader: ExprReader, node: exp.Expression) -> Expr | None:
    """YEAR(d) and the like; None for any other node."""
    if is_field(node):
        return reader.call("extract", node, [node.this], (_FIELDS[node.key],))
    if isinstance(node, exp.Anonymous):
        name, given = node.name.lower(), node.expressions
        if name in _NAMED_FIELDS and len(given) == 1:
            return reader.call("extract", node, given, (_NAMED_FIELDS[name],))
        if name in ("date_part", "datepart") and len(given) == 2:
            return _field(reader, node, reader.value(given[0]), given[1])
    return None


def _field(reader: ExprReader, node: exp.Expression, name: Any, of: exp.Expression) -> Expr:
    if str(name).lower() == "epoch":
        return reader.call("epoch", node, [of])
    return reader.call("extract", node, [of], (name,))


def _extract(reader: ExprReader, node: exp.Extract) -> Expr:
    return _field(reader, node, node.this.name.lower(), node.expression)


def _truncated(reader: ExprReader, node: exp.Expression) -> Expr:
    unit = node.args["unit"]
    params = [unit.name.lower()]
    if node.meta.get("keeps_dates"):
        params.append("DATE")
    return reader.call("date_trunc", node, [node.this], params)


def _written(reader: ExprReader, node: exp.TimeToStr) -> Expr:
    return reader.call("strftime", node, [node.this], (reader.value(node.args["format"]),))


def _names(text: str) -> Callable[[ExprReader, exp.Expression], Expr]:
    return lambda reader, node: reader.call("strftime", node, [node.this], (text,))


# --- intervals -----------------------------------------------------------------------------------


def _interval(
    reader: ExprReader, node: exp.Expression, unit: Any, whole: exp.Expression
) -> Interval:
    """The length that an INTERVAL, or a number of units, stands for; `whole` is what it is in."""
    if isinstance(node, exp.Interval):
        return _interval(reader, node.this, node.args.get("unit"), whole)
    if node.find(exp.Column):
        raise reader.error(
            node,
            "is not a literal",
            why="an interval is fixed before any row is read",
            fix="d + n adds n days to a date, with n a column of integers",
        )
    amount = reader.value(node)
    if unit is None and isinstance(amount, str):
        pairs = _AMOUNT.findall(amount)
        is_whole = bool(pairs) and _AMOUNT.sub("", amount) == ""
    else:
        named = getattr(unit, "name", "day")
        text = str(amount) if not isinstance(amount, bool) else ""
        pairs = [(text.strip(), named)]
        is_whole = re.fullmatch(r"\s*[+-]?\d{1,18}\s*", text) is not None
    units = [_UNITS.get(_singular(name)) for _, name in pairs]
    if not is_whole or None in units:
        raise reader.error(
            whole,
            "it has no interval of whole units",
            why=f"an interval is a whole number of one of {', '.join(_UNITS)}",
            fix="INTERVAL '3' MONTH",
        )
    months, days, microseconds = (
        sum(int(count) * unit[part] for (count, _), unit in zip(pairs, units, strict=True) if unit)
        for part in range(3)
    )
    return months, days, microseconds


def _singular(unit: str) -> str:
    name = unit.lower()
    irregular = {"centuries": "century", "millennia": "millennium"}
    return irregular.get(name, name.removesuffix("s"))


def _shifted(
    reader: ExprReader, node: exp.Expression, moment: exp.Expression, interval: Interval
) -> Expr:
    value, place = reader.read(moment), origin_of(node, reader.statement)
    keeps = ("DATE",) if node.meta.get("keeps_dates") else ()
    if isinstance(value, Literal) and isinstance(value.value, date):
        folded = shifted_constant(value.value, interval, keeps=bool(keeps))
        if folded is not None:
            return literal(folded, place)
    return Call("date_add", (value,), (*interval, *keeps), place)


def _sum(reader: ExprReader, node: Any) -> Expr:
    """Read + and -, of which one side may be an interval."""
    sign = 1 if isinstance(node, exp.Add) else -1
    left, right = node.this, node.expression
    if isinstance(right, exp.Interval) and not isinstance(left, exp.Interval):
        months, days, microseconds = _interval(reader, right, None, node)
        return _shifted(reader, node, left, (sign * months, sign * days, sign * microseconds))
    if isinstance(left, exp.Interval) and sign > 0 and not isinstance(right, exp.Interval):
        return _shifted(reader, node, right, _interval(reader, left, None, node))
    return reader.call("add" if sign > 0 else "subtract", node, [left, right])


def _added(sign: int) -> Callable[[ExprReader, exp.Expression], Expr]:
    def read(reader: ExprReader, node: exp.Expression) -> Expr:
        months, days, microseconds = _interval(reader, node.expression, node.args.get("unit"), node)
        return _shifted(reader, node, node.this, (sign * months, sign * days, sign * microseconds))

    return read


def _months_added(reader: ExprReader, node: exp.AddMonths) -> Expr:
    months, _, _ = _interval(reader, node.expression, exp.var("month"), node)
    return _shifted(reader, node, node.this, (months, 0, 0))


def _difference(reader: ExprReader, node: exp.Expression) -> Expr:
    unit = node.args.get("unit")
    name = "day" if unit is None else unit.name.lower()
    return reader.call("date_diff", node, [node.expression, node.this], (name,))


def _cast_to(target: str) -> Callable[[ExprReader, exp.Expression], Expr]:
    def read(reader: ExprReader, node: exp.Expression) -> Expr:
        if isinstance(node.this, exp.Literal):  # DATE('2024-01-31') is a constant
            return reader.read(exp.Cast(this=node.this.copy(), to=exp.DataType.build(target)))
        return reader.call("cast", node, [node.this], (target,))

    return read


TIME_READERS: dict[type[exp.Expression], Callable[[ExprReader, Any], Expr]] = {
    exp.Extract: _extract,
    exp.TimestampTrunc: _truncated,
    exp.DateTrunc: _truncated,
    exp.TimeToStr: _written,
    exp.Monthname: _names("%B"),
    exp.Dayname: _names("%A"),
    exp.Add: _sum,
    exp.Sub: _sum,
    exp.DateAdd: _added(1),
    exp.DateSub: _added(-1),
    exp.DatetimeAdd: _added(1),
    exp.DatetimeSub: _added(-1),
    exp.TimestampAdd: _added(1),
    exp.TimestampSub: _added(-1),
    exp.TsOrDsAdd: _added(1),
    exp.AddMonths: _months_added,
    exp.DateDiff: _difference,
    exp.DatetimeDiff: _difference,
    exp.Date: _cast_to("DATE"),
    exp.TsOrDsToDate: _cast_to("DATE"),
    exp.TsOrDsToTimestamp: _cast_to("TIMESTAMP"),
    exp.TimeStrToTime: _cast_to("TIMESTAMP"),
}

TIME_ARGUMENTS: dict[type[exp.Expression], set[str]] = {
    exp.DateTrunc: {"unit"},
    exp.TimestampTrunc: {"unit"},
    exp.TimeToStr: {"format"},
    exp.DateAdd: {"unit"},
    exp.DateSub: {"unit"},
    exp.DatetimeAdd: {"unit"},
    exp.DatetimeSub: {"unit"},
    exp.TimestampAdd: {"unit"},
    exp.TimestampSub: {"unit"},
    exp.TsOrDsAdd: {"unit", "return_type"},
    exp.DateDiff: {"unit", "date_part_boundary", "big_int"},
    exp.DatetimeDiff: {"unit", "date_part_boundary"},
}
"""What these nodes carry besides their operands, and is read."""

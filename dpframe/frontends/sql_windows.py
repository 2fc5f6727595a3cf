"""OVER (...): functions of many rows of a noisy table."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from dpframe.errors import SQLError
from dpframe.frontends.sql_exprs import ExprReader
from dpframe.frontends.sql_known import is_aggregate, refuse_unread
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.plan.domains import INT64
from dpframe.plan.exprs import Column, Expr, WindowCall, WindowOrder
from dpframe.plan.nodes import Node, Window

WINDOW = "w"
SCALAR = "s"
"""What the plan calls values of windows, and values that all rows share; a number follows."""


class WindowReader:
    """Reads windows of one SELECT, and collects them, each once."""

    def __init__(
        self, text: str, prefix: str = WINDOW, taken: frozenset[str] = frozenset()
    ) -> None:
        self.text = text
        self._prefix = prefix
        while any(name.startswith(self._prefix) for name in taken):
            self._prefix += "_"
        self._calls: dict[WindowCall, str] = {}

    def over(self, node: Node) -> Node:
        """The rows with what was collected beside them."""
        if not self._calls:
            return node
        return Window(node, tuple((name, call) for call, name in self._calls.items()))

    def named(self, call: WindowCall) -> Column:
        """The column that holds the value of a window."""
        name = self._calls.setdefault(call, f"{self._prefix}{len(self._calls)}")
        return Column(name, call.place)

    def read(self, node: exp.Window, reader: ExprReader) -> Expr:
        """A window whose arguments `reader` reads."""
        refuse_unread(node, {"this", "partition_by", "order", "spec", "over"}, self.text)
        parts = [node.this, *(node.args.get("partition_by") or []), node.args.get("order")]
        inner = next((n for n in parts if n is not None and n.find(exp.Window)), None)
        if inner is not None:
            raise self._error(
                node,
                "there is a window inside a window",
                "the inner one is computed first",
                "put the inner one into a subquery: SELECT SUM(x) OVER () FROM (SELECT ... AS x ...)",
            )
        name, args = self._function(node.this, reader)
        order = node.args.get("order")
        by = tuple(self._ordered(item, reader) for item in (order.expressions if order else []))
        parted = tuple(reader.read(each) for each in node.args.get("partition_by") or [])
        frame = "" if node.args.get("spec") is None else self._frame(node)
        place = origin_of(node, self.text)
        return self.named(WindowCall(name, args, parted, by, frame, place))

    def everywhere(self, node: exp.Expression, reader: ExprReader) -> Expr:
        """An aggregate of all rows, which each of them is given."""
        name, args = self._function(node, reader)
        return self.named(WindowCall(name, args, place=origin_of(node, self.text)))

    def _function(self, node: exp.Expression, reader: ExprReader) -> tuple[str, tuple[Expr, ...]]:
        if isinstance(node, exp.Filter | exp.IgnoreNulls | exp.RespectNulls | exp.WithinGroup):
            raise self._error(
                node,
                "FILTER and IGNORE NULLS do not go with released numbers here",
                "a function looks at all rows of its window",
                "SUM(CASE WHEN n > 0 THEN n END)",
            )
        refuse_unread(node, {*node.arg_types, "big_int"}, self.text)
        name = node.sql_names()[0] if isinstance(node, exp.Func) else node.key.upper()
        if isinstance(node, exp.Anonymous):
            return node.name.upper(), tuple(reader.read(a) for a in node.expressions)
        listed = [a for key in node.arg_types for a in _expressions(node.args.get(key))]
        if listed and isinstance(listed[0], exp.Distinct):
            raise self._error(
                node,
                "DISTINCT does not go with released numbers",
                "noisy numbers are all different, and keys are there once",
                "COUNT(*) counts the rows",
            )
        if listed and isinstance(listed[0], exp.Star):
            listed = []
        return name, tuple(reader.read(a) for a in listed)

    def _ordered(self, item: exp.Expression, reader: ExprReader) -> WindowOrder:
        refuse_unread(item, {"this", "desc", "nulls_first"}, self.text)
        nulls_last = not item.args.get("nulls_first")
        return WindowOrder(reader.read(item.this), bool(item.args.get("desc")), nulls_last)

    def _frame(self, node: exp.Window) -> str:
        """ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, word for word."""
        spec = node.args["spec"]
        refuse_unread(spec, {"kind", "start", "start_side", "end", "end_side"}, self.text)
        kind = str(spec.args.get("kind") or "").upper()
        start = self._end(spec, "start")
        end = self._end(spec, "end") if spec.args.get("end") is not None else "CURRENT ROW"
        fixed = all(e.startswith(("UNBOUNDED", "CURRENT")) for e in (start, end))
        if kind != "ROWS" and not (kind == "RANGE" and fixed):
            raise self._error(
                node,
                "the frame of this window is not answered",
                "rows are counted, whatever their values",
                "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
            )
        first, last = _place(start), _place(end)
        if first > last or first == len(_ENDS) - 1 or last == 0:
            raise self._error(
                node,
                "the frame of this window ends before it begins",
                "it goes from PRECEDING over CURRENT ROW to FOLLOWING",
                "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
            )
        return f"{kind} BETWEEN {start} AND {end}"

    def _end(self, spec: exp.Expression, which: str) -> str:
        at, side = spec.args.get(which), str(spec.args.get(f"{which}_side") or "").upper()
        if isinstance(at, str):
            return at.upper() if at.upper() == "CURRENT ROW" else f"{at.upper()} {side}"
        if isinstance(at, exp.Literal) and not at.is_string and at.this.isdigit():
            return f"{min(int(at.this), INT64[1])} {side}"
        raise self._error(
            spec,
            "the frame of this window is not fixed",
            "how many rows it looks at is said in the question",
            "ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
        )

    def _error(self, node: exp.Expression, what: str, why: str, fix: str) -> SQLError:
        return sql_error(node, self.text, what, why=why, fix=fix)


_ENDS = ("UNBOUNDED PRECEDING", " PRECEDING", "CURRENT ROW", " FOLLOWING", "UNBOUNDED FOLLOWING")
"""Ends of frames, from the first row to the last."""


def _place(end: str) -> int:
    """Which of these ends it is."""
    return _ENDS.index(end) if end in _ENDS else _ENDS.index(f" {end.split()[-1]}")


def scalar_of(node: exp.Expression) -> exp.Expression | None:
    """What `(SELECT SUM(n) FROM w)` selects, if that is an aggregate of all rows of `w`."""
    inner = node
    while isinstance(inner, exp.Subquery):
        inner = inner.this
    if not isinstance(inner, exp.Select) or len(inner.expressions) != 1:
        return None
    clauses = {k for k, v in inner.args.items() if v} - {"expressions", "from_"}
    found: exp.Expression = inner.expressions[0].unalias()
    kinds: Any = found.walk()
    return None if clauses or not any(is_aggregate(each) for each in kinds) else found


def _expressions(value: Any) -> list[exp.Expression]:
    values = value if isinstance(value, list) else [value]
    return [v for v in values if isinstance(v, exp.Expression)]

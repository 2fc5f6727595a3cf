"""Terms of Polars, read as plan expressions. What is not known is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from dpframe.errors import QueryError
from dpframe.frontends.polars_functions import READERS
from dpframe.frontends.polars_terms import Term
from dpframe.frontends.polars_text import SYMBOLS, PolarsOrigin, polars_error
from dpframe.frontends.polars_unknown import ROW_BY_ROW, unknown
from dpframe.plan.exprs import Call, Expr, Literal, literal

_DEEPEST = 100
"""Expressions nest this deep at most: reading, analysing and running them are all recursive."""

_PLAIN: dict[str, tuple[str, int | None]] = {
    "add": ("plus", 2),
    "sub": ("subtract", 2),
    "mul": ("multiply", 2),
    "truediv": ("divide", 2),
    "floordiv": ("floor_divide", 2),
    "mod": ("floor_modulo", 2),
    "eq": ("equal", 2),
    "ne": ("not_equal", 2),
    "lt": ("less", 2),
    "le": ("less_equal", 2),
    "gt": ("greater", 2),
    "ge": ("greater_equal", 2),
    "ne_missing": ("is_distinct", 2),
    "xor": ("xor", 2),
    "not_": ("not", 1),
    "abs": ("abs", 1),
    "sign": ("sign", 1),
    "floor": ("floor", 1),
    "ceil": ("ceil", 1),
    "sqrt": ("sqrt", 1),
    "exp": ("exp", 1),
    "sin": ("sin", 1),
    "cos": ("cos", 1),
    "arctan": ("atan", 1),
    "degrees": ("degrees", 1),
    "radians": ("radians", 1),
    "is_null": ("is_null", 1),
    "is_nan": ("is_nan", 1),
    "fill_nan": ("fill_nan", 2),
    "fill_null": ("coalesce", 2),
    "coalesce": ("coalesce", None),
    "min_horizontal": ("least", None),
    "max_horizontal": ("greatest", None),
    "str.to_lowercase": ("lower", 1),
    "str.to_uppercase": ("upper", 1),
    "str.len_chars": ("length", 1),
    "str.len_bytes": ("length_in_bytes", 1),
}
"""Functions that are one entry of the table, and how many inputs they take (None for any)."""

_CONNECTED = {"and": "and", "or": "or", "all_horizontal": "and", "any_horizontal": "or"}

_FIELDS = {
    "dt.millennium": "millennium",
    "dt.century": "century",
    "dt.iso_year": "isoyear",
    "dt.year": "year",
    "dt.quarter": "quarter",
    "dt.month": "month",
    "dt.week": "week",
    "dt.day": "day",
    "dt.weekday": "isodow",
    "dt.ordinal_day": "doy",
    "dt.hour": "hour",
    "dt.minute": "minute",
    "dt.second": "second",
}

_KNOWN = sorted({*_PLAIN, *_FIELDS, *READERS, *_CONNECTED} - {"lit", "when", *SYMBOLS})


@dataclass(frozen=True, slots=True)
class TermReader:
    """Reads terms; `leaf` decides what a column or an aggregate becomes."""

    leaf: Callable[[Term], Expr | None]

    def read(self, term: Term, depth: int = 0) -> Expr:
        """The plan expression of a term."""
        if depth > _DEEPEST:
            raise polars_error(
                term,
                "it is nested too deeply",
                why=f"expressions go {_DEEPEST} levels deep at most",
                fix="use is_in([...]) for a long list, or pl.any_horizontal(...)",
            )
        if term.name == "alias" or term.name.startswith("name."):
            return self.read(term.inputs[0], depth)  # the caller reads the name
        found = self.leaf(term)
        if found is not None:
            return found
        return Step(self, term, depth + 1).read()


@dataclass(frozen=True, slots=True)
class Step:
    """One term on its way to a plan expression."""

    reader: TermReader
    term: Term
    depth: int

    def read(self) -> Expr:
        term, name = self.term, self.term.name
        if name in _PLAIN:
            function, count = _PLAIN[name]
            self.expect(count)
            return self.call(function, *self.inputs())
        if name in _CONNECTED:
            return self._connected(_CONNECTED[name])
        if name in _FIELDS:
            self.expect(1)
            return self.call("extract", *self.inputs(), params=(_FIELDS[name],))
        if name in READERS:
            options, reader = READERS[name]
            self.expect(None, *options)
            return reader(self)
        raise unknown(term, _KNOWN)

    # --- what readers use ------------------------------------------------------------------------

    def error(self, what: str, *, why: str = ROW_BY_ROW, fix: str) -> QueryError:
        """An error about this term."""
        return polars_error(self.term, what, why=why, fix=fix)

    def expect(self, count: int | None, *options: str) -> None:
        """Refuse a term that says more than is read of it: ignoring it would change its meaning."""
        unread = set(self.term.options) ^ set(options)
        if unread or (count is not None and len(self.term.inputs) != count):
            raise self.error(
                f"{options_text(unread) or 'the number of inputs'} is not understood here",
                why="ignoring a part of an expression would answer another question",
                fix="write it without",
            )

    def inputs(self) -> list[Expr]:
        """All inputs, read."""
        return [self.reader.read(each, self.depth) for each in self.term.inputs]

    def first(self) -> Expr:
        """The first input, read."""
        return self.reader.read(self.term.inputs[0], self.depth)

    def call(self, function: str, *args: Expr, params: tuple[Any, ...] = ()) -> Expr:
        """A call of the function table, written here."""
        if function in ("coalesce", "least", "greatest") and len(args) == 1:
            return args[0]
        return Call(function, args, params, PolarsOrigin(self.term))

    def constant(self, index: int, what: str) -> Any:
        """The value of an input that must be fixed before any row is read."""
        given = self.term.inputs[index]
        if given.name != "lit":
            raise self.error(
                f"{what} is not a constant",
                why="it must be fixed before any row is read",
                fix="write a constant in its place",
            )
        return given.options["value"]

    def listed(self, index: int, what: str) -> list[Any]:
        """The values of an input that is a list of constants, or one."""
        found = self.constant(index, what)
        return found if isinstance(found, list) else [found]

    def literal(self, value: Any) -> Literal:
        """A constant, written here."""
        return _literal(value, self.term)

    def _connected(self, function: str) -> Expr:
        self.expect(None)
        args: list[Expr] = []
        for each in self.inputs():
            same = isinstance(each, Call) and each.function == function
            args += each.children if same else (each,)
        return args[0] if len(args) == 1 else self.call(function, *args)


def options_text(names: Iterable[str]) -> str:
    """Options in an error; `unread` is what stands for those that could not be made out."""
    return ", ".join(sorted("a part of it" if name == "unread" else name for name in names))


def _literal(value: Any, term: Term) -> Literal:
    known = value is None or isinstance(value, bool | int | float | str | date)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        known = False
    if isinstance(value, float) and not math.isfinite(value):
        known = False
    if not known or getattr(value, "tzinfo", None) is not None:
        raise polars_error(
            term,
            f"a constant of type {type(value).__name__} is not read",
            why="constants are finite numbers of 64 bits, texts, booleans, dates and naive times",
            fix="write one of those",
        )
    return literal(value, PolarsOrigin(term))

"""Functions of Polars that are more than a name of the function table: how each is read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dpframe.frontends.polars_strings import STRINGS
from dpframe.frontends.polars_text import operand_code
from dpframe.frontends.polars_times import TIMES
from dpframe.plan.exprs import Expr, literal

if TYPE_CHECKING:
    from dpframe.frontends.polars_exprs import Step

_TYPES = {
    "Int8": "TINYINT",
    "Int16": "SMALLINT",
    "Int32": "INT",
    "Int64": "BIGINT",
    "Float64": "DOUBLE",
    "String": "VARCHAR",
    "Date": "DATE",
    'Datetime("us")': "TIMESTAMP",
    "Boolean": "BOOLEAN",
}
_INTEGERS = ("TINYINT", "SMALLINT", "INT", "BIGINT")


def _read_literal(step: Step) -> Expr:
    return step.literal(step.term.options["value"])


def _negate(step: Step) -> Expr:
    (given,) = step.term.inputs
    value = given.options.get("value") if given.name == "lit" else None
    if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
        return step.literal(-value)  # a negative constant, as in SQL
    return step.call("negate", step.first())


def _when(step: Step) -> Expr:
    args: list[Expr] = []
    term = step.term
    while term.name == "when":
        test, then, term = term.inputs
        args += [step.reader.read(test, step.depth), step.reader.read(then, step.depth)]
    return step.call("case", *args, step.reader.read(term, step.depth))


def _is_between(step: Step) -> Expr:
    value, low, high = step.inputs()
    closed = step.term.options["closed"]
    above = "greater_equal" if closed in ("Both", "Left") else "greater"
    below = "less_equal" if closed in ("Both", "Right") else "less"
    return step.call("and", step.call(above, value, low), step.call(below, value, high))


def _is_in(step: Step) -> Expr:
    # A NULL in the list matches nothing, unless nulls_equal: as in Polars, and not as in SQL.
    value, listed = step.first(), step.listed(1, "the list")
    nulls_equal = step.term.options["nulls_equal"]
    params = tuple(step.literal(v).value for v in listed if v is not None)
    no = step.literal(False)
    unknown = no if nulls_equal else step.literal(None)
    found = step.call("in", value, params=params)
    if not params:
        found = step.call("case", step.call("is_null", value), unknown, no)
    if not nulls_equal:
        return found
    missing = step.call("is_null", value)
    if None in listed:
        return step.call("or", missing, found) if params else missing
    return step.call("and", step.call("not", missing), found) if params else found


def _replace(step: Step) -> Expr:
    strict = step.term.name == "replace_strict"
    if strict and (len(step.term.inputs) < 4 or step.term.options["return_dtype"] is not None):
        raise step.error(
            "needs a default, and no return_dtype",
            why="a value that is not in the mapping would be an error, and errors tell of rows",
            fix="replace_strict({...}, default=None)",
        )
    value = step.first()
    old, new = step.listed(1, "the mapping"), step.listed(2, "the mapping")
    if len(new) not in (1, len(old)):
        raise step.error("maps lists of different lengths", fix="replace({old: new})")
    args: list[Expr] = []
    for before, after in zip(old, new * len(old) if len(new) == 1 else new, strict=False):
        same = step.call("equal", value, step.literal(before))
        args += [step.call("is_null", value) if before is None else same, step.literal(after)]
    otherwise = step.reader.read(step.term.inputs[3], step.depth) if strict else value
    return step.call("case", *args, otherwise) if args else otherwise


def _cast(step: Step) -> Expr:
    dtype = step.term.options["dtype"]
    if dtype not in _TYPES or step.term.options["wraps"]:
        raise step.error(
            f"there is no cast to {dtype}",
            why="unsigned, wrapping and narrow types, decimals and nested ones have no exact code",
            fix="cast to one of " + ", ".join(f"pl.{name}" for name in _TYPES),
        )
    value, target = step.first(), _TYPES[dtype]
    if target in _INTEGERS:  # Polars drops the fraction; SQL rounds
        value = step.call("truncate", value)
    return step.call("cast", value, params=(target,))


def _strptime(step: Step) -> Expr:
    formats = {"Date": ("%Y-%m-%d", "%F"), 'Datetime("us")': ("%Y-%m-%d %H:%M:%S", "%F %T")}
    dtype, how = step.term.options["dtype"], step.term.options["format"]
    if how not in formats.get(dtype, ()) or not step.term.options["exact"]:
        raise step.error(
            "the format is not read",
            why="engines agree on ISO dates and times only",
            fix='str.to_date("%Y-%m-%d"), or str.to_datetime("%Y-%m-%d %H:%M:%S")',
        )
    return step.call("cast", step.first(), params=(_TYPES[dtype],))


def _to_integer(step: Step) -> Expr:
    dtype = step.term.options["dtype"]
    if dtype not in ("Int64", None) or step.constant(1, "the base") != 10:
        raise step.error("reads decimal 64-bit integers only", fix="str.to_integer()")
    return step.call("cast", step.first(), params=("BIGINT",))


def _round(step: Step) -> Expr:
    digits, mode = step.term.options["decimals"], step.term.options["mode"]
    functions = {"HalfToEven": "round_even", "HalfAwayFromZero": "round"}
    if mode not in functions:
        raise step.error(f"the mode {mode} is not known", fix="round(2)")
    return step.call(functions[mode], step.first(), params=(digits,) if digits else ())


def _truncate(step: Step) -> Expr:
    if step.term.options["decimals"] != 0:
        raise step.error("keeps digits", fix="truncate(0), or round(2)")
    return step.call("truncate", step.first())


def _clip(step: Step) -> Expr:
    has_low, has_high = step.term.options["has_min"], step.term.options["has_max"]
    low = step.constant(1, "the lower bound") if has_low else None
    high = step.constant(1 + has_low, "the upper bound") if has_high else None
    bounds = tuple(step.literal(end).value for end in (low, high))
    return step.call("clip", step.first(), params=bounds)


def _log(step: Step) -> Expr:
    base = step.constant(1, "the base")
    natural = step.call("ln", step.first())
    if not isinstance(base, int | float) or not base > 0 or base == 1:
        raise step.error(f"{base!r} is no base of logarithms", fix="log(10)")
    return natural if base == math.e else step.call("divide", natural, literal(math.log(base)))


def _log1p(step: Step) -> Expr:
    return step.call("ln", step.call("add", step.first(), literal(1)))


def _pow(step: Step) -> Expr:
    return step.call("power", step.first(), params=(step.constant(1, "the exponent"),))


def _sum_horizontal(step: Step) -> Expr:
    values = step.inputs()
    if step.term.options["ignore_nulls"]:
        values = [step.call("coalesce", v, literal(0)) for v in values]
    total = values[0]
    for value in values[1:]:
        total = step.call("add", total, value)
    return total


def _mean_horizontal(step: Step) -> Expr:
    number: Expr = literal(len(step.term.inputs))
    if step.term.options["ignore_nulls"]:
        there = [step.call("not", step.call("is_null", v)) for v in step.inputs()]
        counts = [step.call("cast", t, params=("BIGINT",)) for t in there]
        number = counts[0]
        for count in counts[1:]:
            number = step.call("add", number, count)
    return step.call("divide", _sum_horizontal(step), number)


def _cut(step: Step) -> Expr:
    options = step.term.options
    breaks, labels, left_closed = options["breaks"], options["labels"], options["left_closed"]
    if options["include_breaks"]:
        raise step.error("include_breaks makes a struct", fix="cut([...]) without include_breaks")
    _refuse_endless(step, breaks)
    if labels is None:
        ends = ["-inf", *map(_plain, breaks), "inf"]
        left, right = "[)" if left_closed else "(]"
        labels = [f"{left}{a}, {b}{right}" for a, b in itertools.pairwise(ends)]
    return _binned(step, breaks, labels, closed_right=not left_closed)


def _bin_intervals(step: Step) -> Expr:
    options = step.term.options
    breaks, labels = options["breaks"], options["labels"]
    if options["include_intervals"]:
        raise step.error(
            "include_intervals makes a struct", fix="bin_intervals([...], labels=False)"
        )
    _refuse_endless(step, breaks)
    named = list(range(len(breaks) + 1)) if labels is None else labels
    return _binned(step, breaks, named, closed_right=options["right_closed"])


def _plain(number: float) -> str:
    """A number as Polars writes it in a label: all digits, no exponent."""
    text = f"{Decimal(repr(float(number))):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _refuse_endless(step: Step, breaks: list[Any]) -> None:
    kept = [b for b in breaks if b is not None and (not isinstance(b, float) or math.isfinite(b))]
    if len(kept) < len(breaks):
        raise step.error(
            "a break is NaN, infinite or None",
            why="a break lies between two bins; the first and the last one have no end anyway",
            fix=_cut_at(step, sorted(set(kept)) or [0, 10]),
        )


def _cut_at(step: Step, breaks: list[Any], *labels: str) -> str:
    """The same bins with other breaks, as code."""
    given = [f"labels={list(labels)}"] if labels else []
    if step.term.name != "cut" and not labels:
        given = ["labels=False"]
    value = operand_code(step.term.inputs[0])
    return f"{value}.{step.term.name}({', '.join([repr(breaks), *given])})"


def _binned(step: Step, breaks: list[Any], labels: list[Any], *, closed_right: bool) -> Expr:
    if len(labels) != len(breaks) + 1 or any(a >= b for a, b in itertools.pairwise(breaks)):
        raise step.error(
            "needs rising breaks, and one label more than breaks",
            why="each bin reaches from one break to the next, and has a label",
            fix=_cut_at(step, [0, 10], "a", "b", "c"),
        )
    value, symbol = step.first(), "less_equal" if closed_right else "less"
    args: list[Expr] = [step.call("is_null", value), step.literal(None)]
    for end, label in zip(breaks, labels, strict=False):
        args += [step.call(symbol, value, step.literal(end)), step.literal(label)]
    return step.call("case", *args, step.literal(labels[-1]))


def _negated(function: str) -> Callable[[Step], Expr]:
    return lambda step: step.call("not", step.call(function, *step.inputs()))


READERS: dict[str, tuple[tuple[str, ...], Callable[[Step], Expr]]] = {
    "lit": (("value",), _read_literal),
    "neg": ((), _negate),
    "when": ((), _when),
    "is_not_null": ((), _negated("is_null")),
    "is_not_nan": ((), _negated("is_nan")),
    "eq_missing": ((), _negated("is_distinct")),
    "is_between": (("closed",), _is_between),
    "is_in": (("nulls_equal",), _is_in),
    "replace": ((), _replace),
    "replace_strict": (("return_dtype",), _replace),
    "cast": (("dtype", "wraps"), _cast),
    "round": (("decimals", "mode"), _round),
    "truncate": (("decimals",), _truncate),
    "clip": (("has_min", "has_max"), _clip),
    "log": ((), _log),
    "log1p": ((), _log1p),
    "pow": ((), _pow),
    "sum_horizontal": (("ignore_nulls",), _sum_horizontal),
    "mean_horizontal": (("ignore_nulls",), _mean_horizontal),
    "str.strptime": (("dtype", "format", "exact"), _strptime),
    "str.to_integer": (("dtype", "strict"), _to_integer),
    "cut": (("breaks", "labels", "left_closed", "include_breaks"), _cut),
    "bin_intervals": (("breaks", "labels", "right_closed", "include_intervals"), _bin_intervals),
    **STRINGS,
    **TIMES,
}
"""The options that each one looks at, and the reader itself."""

"""Terms as the Python code that a user would have written, for errors and for the ledger."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Any

from dpframe.errors import QueryError
from dpframe.frontends.polars_terms import Term

_LONGEST = 120
"""An expression is shown up to this many characters."""

SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
    "xor": "^",
}

_FUNCTIONS = {
    "coalesce",
    "concat_str",
    "corr",
    "cov",
    "format",
    "struct",
    "max_horizontal",
    "min_horizontal",
    "sum_horizontal",
    "mean_horizontal",
    "any_horizontal",
    "all_horizontal",
}
"""Written `pl.name(...)`, not as a method."""

_SHOWN = {
    "alias": ("name",),
    "name.prefix": ("value",),
    "name.suffix": ("value",),
    "round": ("decimals",),
    "cut": ("breaks",),
    "bin_intervals": ("breaks",),
    "hist": (),
}
"""Options that are shown, in order, as positional arguments; others are left out."""

_USUAL: dict[str, dict[str, Any]] = {
    "corr": {"method": "pearson"},
    "cov": {"ddof": 1},
    "kurtosis": {"fisher": True, "bias": True},
    "skew": {"bias": True},
    "std": {"ddof": 1},
    "var": {"ddof": 1},
}
"""Options that are shown by their names, where they are not what Polars takes them for."""


def code_of(term: Term) -> str:
    """The code of an expression.

    >>> code_of(Term("rank", (Term("col", options={"name": "cost"}),)))
    'pl.col("cost").rank()'
    """
    name, inputs = term.name, term.inputs
    if name == "col":
        return f"pl.col({_constant(term.options['name'])})"
    if name == "columns":
        return f"pl.col({', '.join(map(_constant, term.options['names']))})"
    if name == "lit":
        return f"pl.lit({_constant(term.options['value'])})"
    if name in SYMBOLS and len(inputs) >= 2:
        return f" {SYMBOLS[name]} ".join(operand_code(each, i) for i, each in enumerate(inputs))
    if name == "neg":
        return f"-{operand_code(inputs[0])}"
    if name == "not_":
        return f"~{operand_code(inputs[0])}"
    if name == "when" and len(inputs) == 3:
        return _when(term)
    if not inputs:
        return f"pl.{name}()"
    if name in _FUNCTIONS:
        return f"pl.{name}({', '.join([*map(_expression, inputs), *_unusual(term)])})"
    shown = [operand_code(inputs[0]), *map(_argument, inputs[1:])]
    if name == "cast":
        return f"{shown[0]}.cast(pl.{term.options['dtype']})"
    if name == "fill_null_with_strategy":
        return f"{shown[0]}.fill_null(strategy={_constant(str(term.options['value']).lower())})"
    if name == "hist" and term.options.get("bin_count") is not None:
        shown.append(f"bin_count={term.options['bin_count']}")
    shown += [_constant(term.options[key]) for key in _SHOWN.get(name, ()) if key in term.options]
    return f"{shown[0]}.{name}({', '.join([*shown[1:], *_unusual(term)])})"


def _unusual(term: Term) -> list[str]:
    """The options that are not as usual, as keyword arguments."""
    return [
        f"{key}={_constant(term.options[key])}"
        for key, usual in _USUAL.get(term.name, {}).items()
        if term.options.get(key, usual) != usual
    ]


def operand_code(term: Term, position: int = 0) -> str:
    """An operand, in parentheses where it is an operation itself; constants stand bare."""
    if term.name == "lit" and position:
        return _constant(term.options["value"])
    text = code_of(term)
    loose = term.name in SYMBOLS or term.name in ("neg", "not_")
    return f"({text})" if loose else text


def _expression(term: Term) -> str:
    """An argument that Polars takes for the name of a column where it is a text."""
    is_text = term.name == "lit" and isinstance(term.options["value"], str)
    return code_of(term) if is_text else _argument(term)


def _argument(term: Term) -> str:
    return _constant(term.options["value"]) if term.name == "lit" else code_of(term)


def _when(term: Term) -> str:
    text = ""
    while term.name == "when":
        test, then, term = term.inputs
        text += f"{'.' if text else 'pl.'}when({code_of(test)}).then({_expression(then)})"
    is_null = term.name == "lit" and term.options["value"] is None
    return text if is_null else f"{text}.otherwise({_expression(term)})"


def _constant(value: Any) -> str:
    match value:
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case date():  # and datetime
            return repr(value).removeprefix("datetime.")
        case list() | tuple():
            return f"[{', '.join(map(_constant, value))}]"
    return repr(value)


SQL_AGGREGATES = {
    "count": "COUNT",
    "len": "COUNT",
    "n_unique": "COUNT",
    "approx_n_unique": "COUNT",
    "null_count": "COUNT",
    "sum": "SUM",
    "mean": "AVG",
    "median": "MEDIAN",
    "quantile": "QUANTILE_CONT",
    "min": "MIN",
    "max": "MAX",
    "mode": "MODE",
    "hist": "HISTOGRAM",
    "var": "VAR_SAMP",
    "std": "STDDEV_SAMP",
    "skew": "SKEWNESS",
    "kurtosis": "KURTOSIS",
    "corr": "CORR",
    "cov": "COVAR_SAMP",
}
"""Aggregates of Polars, and those of SQL that they are unless an option says otherwise."""

_ADVICE = (
    (r"HISTOGRAM\((\w+)\), or beside .*", r'.group_by("\1").len()'),
    (r"HISTOGRAM\((.+?), 20\)", r"\1.hist(bin_count=20)"),
    (r"HISTOGRAM\(x, (\[.*?\])\)", r"x.hist(\1)"),
    (r"CAST\(FLOOR\((.+?)\) AS BIGINT\)", r"\1.floor().cast(pl.Int64)"),
    (r"CAST\(x AS BIGINT\)", "x.cast(pl.Int64)"),
    (r"CAST\(x AS DOUBLE\)", "x.cast(pl.Float64)"),
    (r"CAST\(x AS VARCHAR\)", "x.cast(pl.String)"),
    (r"CAST\(x AS DATE\)", "x.cast(pl.Date)"),
    (r"CAST\(x AS TIMESTAMP\)", 'x.cast(pl.Datetime("us"))'),
    (r"CAST\(x AS BOOLEAN\)", "x.cast(pl.Boolean)"),
    (r"SUM\(GREATEST\(low, LEAST\(x, high\)\)\)", "x.clip(low, high).sum()"),
    (r"MEDIAN\((.+?)\), or .*EPOCH.*", r"\1.median()"),
    (r"QUANTILE_(?:CONT|DISC)\((.+?), ([\d.]+)\)", r"\1.quantile(\2)"),
    (r"COUNT\(DISTINCT (pl\..+?)\)(?=,|$)", r"\1.drop_nulls().n_unique()"),
    (r"COUNT\(DISTINCT (\w+)\)", r'pl.col("\1").drop_nulls().n_unique()'),
    (r"SELECT (\S+), COUNT\(\*\) FROM \.\.\. GROUP BY \1", r".group_by(\1).len()"),
    (r"COUNT_IF\((\S+)\)", r"\1.sum()"),
    (r"COUNT\(\*\)", "pl.len()"),
    (r"\bCOUNT\((\S+)\)", r"\1.count()"),
    (r"\bSUM\((\S+)\)", r"\1.sum()"),
    (r"\bFLOOR\b", ".floor()"),
    (r"POWER\(x, 2\), or EXP\(20 \* LN\(x\)\)", "x ** 2, or (20 * x.log()).exp()"),
    (r"ROUND\(x, 2\)", "x.round(2)"),
    (
        r"DATE '2024-01-31' and times as .*",
        "date(2024, 1, 31), and times as datetime(2024, 1, 31, 12)",
    ),
    (r"ORDER BY and LIMIT go", "sort and head go"),
)
"""What fixes say in SQL, and what Polars users write instead."""


@dataclass(frozen=True, slots=True)
class PolarsOrigin:
    """The expression that something was read from."""

    term: Term

    def text(self) -> str:
        """The expression as code."""
        return shortened(code_of(self.term))

    def pointer(self) -> str:
        """Nothing: the text is the place."""
        return ""

    def advice(self, fix: str) -> str:
        """A fix in the words of Polars."""
        return in_polars_words(fix)


@dataclass(frozen=True, slots=True)
class Written:
    """The code of a method call, for errors."""

    code: str

    def text(self) -> str:
        """The code."""
        return shortened(self.code)

    def pointer(self) -> str:
        """Nothing: the text is the place."""
        return ""

    def advice(self, fix: str) -> str:
        """A fix in the words of Polars."""
        return in_polars_words(fix)


def in_polars_words(fix: str) -> str:
    """A fix that is written as SQL, as Polars code.

    >>> in_polars_words("SUM(CAST(x AS DOUBLE))")
    'x.cast(pl.Float64).sum()'
    """
    for sql, polars in _ADVICE:
        fix = re.sub(sql, polars, fix)
    listed = set(fix.removeprefix("use one of ").split(", "))
    known = [name for name, sql in SQL_AGGREGATES.items() if sql in listed]
    return f"use one of {', '.join(known)}" if known else fix


def shortened(code: str) -> str:
    """Code that fits into a line of an error."""
    line = " ".join(code.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 3] + "..."


def polars_error(term: Term | str, what: str, *, why: str, fix: str) -> QueryError:
    """An error about an expression, by its code."""
    text = shortened(term if isinstance(term, str) else code_of(term))
    return QueryError(f"{text}: {what}", why=why, fix=fix)

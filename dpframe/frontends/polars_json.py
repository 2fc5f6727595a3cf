"""Polars expressions as terms. This module alone knows what a serialised expression looks like.

`Expr.meta.serialize(format="json")` writes a tree of Polars' own nodes, whose shape is the same for
what is read here from 1.40 to 2.1. A `Term` says the same by the names that users write:
`pl.col("a").str.len_chars()` is `Term("str.len_chars", (Term("col", ...),))`. Every node becomes a
term, known or not; what cannot be made out is `Unreadable`. Nothing is ever executed here but a
constant or a selector, the latter on a table without rows.
"""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

from dpframe.frontends.polars_terms import Term, Unreadable, picked, spread, width

Schema = Callable[[], Mapping[str, pl.DataType]]
"""The columns that selectors choose from, and their types."""


def terms_of(expr: pl.Expr, schema: Schema) -> list[Term]:
    """The terms that an expression stands for: one, or one per column of its selectors.

    >>> terms_of(pl.col("a").abs(), dict)[0].name
    'abs'
    """
    try:
        root = json.loads(expr.meta.serialize(format="json"))
        found = _Decoder(schema).node(root)
        return [picked(found, i) for i in range(width(found))]
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except pl.exceptions.ColumnNotFoundError:
        raise Unreadable("it names a column that is not there") from None
    except pl.exceptions.ComputeError:
        raise Unreadable("it calls Python code") from None
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, pl.exceptions.PolarsError):
        raise Unreadable("it is written in a way that is not known") from None


_OPERATORS = {
    "Plus": "add",
    "Minus": "sub",
    "Multiply": "mul",
    "TrueDivide": "truediv",
    "Divide": "truediv",
    "FloorDivide": "floordiv",
    "Modulus": "mod",
    "Eq": "eq",
    "NotEq": "ne",
    "Lt": "lt",
    "LtEq": "le",
    "Gt": "gt",
    "GtEq": "ge",
    "And": "and",
    "LogicalAnd": "and",
    "Or": "or",
    "LogicalOr": "or",
    "Xor": "xor",
    "TruncDivide": "truncdiv",
    "EqValidity": "eq_missing",
    "NotEqValidity": "ne_missing",
}

_FAMILIES = {
    "Boolean": "",
    "StringExpr": "str.",
    "TemporalExpr": "dt.",
    "ListExpr": "list.",
    "ArrayExpr": "arr.",
    "StructExpr": "struct.",
    "Categorical": "cat.",
    "CategoricalExpr": "cat.",
    "BinaryExpr": "bin.",
    "Trigonometry": "",
    "Bitwise": "bitwise_",
    "Business": "dt.",
}
"""Functions come in families, most of them a namespace of `pl.Expr`."""

_NAMES = {
    "pow.generic": "pow",
    "pow.sqrt": "sqrt",
    "pow.cbrt": "cbrt",
    "negate": "neg",
    "as_struct": "struct",
    "arg_where": "arg_true",
    "q_cut": "qcut",
    "rleid": "rle_id",
    "round_sf": "round_sig_figs",
    **{f"arc_{name}": f"arc{name}" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "str.lowercase": "str.to_lowercase",
    "str.uppercase": "str.to_uppercase",
    "str.titlecase": "str.to_titlecase",
    "str.concat_horizontal": "concat_str",
    "str.concat_vertical": "str.join",
    "str.format": "format",
    "str.split_n": "str.splitn",
    "str.z_fill": "str.zfill",
    "dt.add_business_day": "dt.add_business_days",
    "dt.week_day": "dt.weekday",
    "dt.time_stamp": "dt.timestamp",
    "not": "not_",
}
"""Names that are not simply the node's own in lower case."""

_HORIZONTAL = {"coalesce", "concat_str", "struct", "format"}
"""Functions whose inputs a selector adds to, beside those named so: a selector is many inputs."""


class _Decoder:
    """Reads nodes against the columns that selectors choose from."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def node(self, node: Any) -> Term:
        """The term of a node; selectors stay in it, as terms of several columns."""
        if isinstance(node, str):
            return Term(_snake(node))
        ((kind, body),) = node.items()
        reader = _NODES.get(kind)
        return reader(self, body) if reader is not None else self._other(kind, body)

    def _column(self, name: str) -> Term:
        return Term("col", options={"name": name})

    def _selector(self, body: Any) -> Term:
        empty = pl.DataFrame(schema=self._schema())
        names = empty.select(_deserialised({"Selector": body})).columns
        return Term("columns", options={"names": tuple(names)})

    def _literal(self, body: Any) -> Term:
        return Term("lit", options={"value": _constant({"Literal": body})})

    def _binary_expr(self, body: Any) -> Term:
        name = _OPERATORS.get(body["op"], _snake(body["op"]))
        operands = [self.node(body["right"])]
        left = body["left"]
        # a & b & c is one term, however long the chain: it nests to the left.
        while name in ("and", "or") and "BinaryExpr" in left:
            if _OPERATORS.get(left["BinaryExpr"]["op"]) != name:
                break
            operands.append(self.node(left["BinaryExpr"]["right"]))
            left = left["BinaryExpr"]["left"]
        return Term(name, (self.node(left), *reversed(operands)))

    def _ternary(self, body: Any) -> Term:
        inputs = tuple(self.node(body[key]) for key in ("predicate", "truthy", "falsy"))
        test, kept, other = inputs
        # This is how Polars writes fill_nan.
        if test == Term("or", (Term("is_not_nan", (kept,)), Term("is_null", (kept,)))):
            return Term("fill_nan", (kept, other))
        return Term("when", inputs)

    def _cast(self, body: Any) -> Term:
        options = {"dtype": _dtype(body["dtype"]), "wraps": body["options"] == "Overflowing"}
        return Term("cast", (self.node(body["expr"]),), options)

    def _alias(self, body: Any) -> Term:
        return Term("alias", (self.node(body[0]),), {"name": body[1]})

    def _keep_name(self, body: Any) -> Term:
        return Term("name.keep", (self.node(body),))

    def _rename_alias(self, body: Any) -> Term:
        name, options = _named(body["function"])
        return Term(f"name.{name}", (self.node(body["expr"]),), options)

    def _filter(self, body: Any) -> Term:
        return Term("filter", (self.node(body["input"]), self.node(body["by"])))

    def _agg(self, body: Any) -> Term:
        ((kind, given),) = body.items()
        if isinstance(given, list):  # Var and Std
            return Term(_snake(kind), (self.node(given[0]),), {"ddof": given[1]})
        if "quantile" in given:
            inputs = (self.node(given["expr"]), self.node(given["quantile"]))
            return Term("quantile", inputs, {"method": given["method"]})
        if "input" not in given:
            return Term(_snake(kind), (self.node(given),))
        options = {key: value for key, value in given.items() if key != "input"}
        return Term(_snake(kind), (self.node(given["input"]),), options)

    def _function(self, body: Any) -> Term:
        name, options = _function_name(body["function"])
        inputs = tuple(self.node(each) for each in body["input"])
        if name in _HORIZONTAL or name.endswith("_horizontal"):
            inputs = tuple(column for each in inputs for column in spread(each))
        return Term(name, inputs, options)

    def _over(self, body: Any) -> Term:
        """A function, what its rows are parted by, and what they are ordered by, if they are."""
        nodes, order = [body["function"], *(body["partition_by"] or [])], body["order_by"]
        options: dict[str, Any] = {"ordered": order is not None}
        if order is not None:
            nodes.append(order[0])
            options |= {key: order[1][key] for key in ("descending", "nulls_last")}
        if body["mapping"] != "GroupsToRows":
            options["unread"] = True
        return Term("over", tuple(map(self.node, nodes)), options)

    def _other(self, kind: str, body: Any) -> Term:
        """A node that no query may hold, as far as it can be shown in an error."""
        name = _cut_name(kind, body)
        if isinstance(body, dict):
            for key in ("expr", "input", "function"):
                if isinstance(body.get(key), dict):
                    return Term(name, (self.node(body[key]),), {"unread": True})
        return Term(name, (), {"unread": True})


_NODES: dict[str, Callable[[_Decoder, Any], Term]] = {
    "Agg": _Decoder._agg,
    "Alias": _Decoder._alias,
    "BinaryExpr": _Decoder._binary_expr,
    "Cast": _Decoder._cast,
    "Column": _Decoder._column,
    "Filter": _Decoder._filter,
    "Function": _Decoder._function,
    "KeepName": _Decoder._keep_name,
    "Literal": _Decoder._literal,
    "Over": _Decoder._over,
    "RenameAlias": _Decoder._rename_alias,
    "Selector": _Decoder._selector,
    "Ternary": _Decoder._ternary,
}


def _function_name(function: Any) -> tuple[str, dict[str, Any]]:
    prefix = ""
    if isinstance(function, dict):
        ((kind, body),) = function.items()
        if kind in _FAMILIES:
            prefix, function = _FAMILIES[kind], body
        elif kind == "Pow":
            prefix, function = "pow.", body
        elif kind == "Bin":
            return _binned(body)
        elif kind == "Correlation":
            return _correlation(body["method"])
    name, options = _named(function)
    return _NAMES.get(prefix + name, prefix + name), options


def _named(function: Any) -> tuple[str, dict[str, Any]]:
    """A name, and its options where it has some."""
    if isinstance(function, str):
        return _snake(function), {}
    ((kind, body),) = function.items()
    if kind in _VARIANTS:
        return _VARIANTS[kind](body), dict(body) if isinstance(body, dict) else {"value": body}
    if kind == "Strptime":
        dtype, how = body
        return "strptime", {"dtype": _dtype(dtype), "format": how["format"], "exact": how["exact"]}
    if kind == "Skew":
        return "skew", {"bias": body}
    if kind == "Kurtosis":
        fisher, bias = body
        return "kurtosis", {"fisher": fisher, "bias": bias}
    return _snake(kind), dict(body) if isinstance(body, dict) else {"value": body}


_VARIANTS: dict[str, Callable[[Any], str]] = {
    "FillNullWithStrategy": lambda how: {
        "Forward": "forward_fill",
        "Backward": "backward_fill",
    }.get(_kind(how), "fill_null_with_strategy"),
    "Random": lambda how: "shuffle" if _kind(how["method"]) == "Shuffle" else "sample",
    "RollingExpr": lambda how: f"rolling_{_snake(_kind(how['function']))}",
    "TopK": lambda how: "bottom_k" if how["descending"] else "top_k",
    "TopKBy": lambda how: "bottom_k_by" if all(how["descending"]) else "top_k_by",
}
"""Nodes that stand for several methods, and which one it is."""


_EVALUATIONS = {
    "Array": "arr.eval",
    "ArrayAgg": "arr.agg",
    "Cumulative": "cumulative_eval",
    "List": "list.eval",
    "ListAgg": "list.agg",
}


def _kind(node: Any) -> str:
    """The name of a node that may have a body."""
    return node if isinstance(node, str) else str(*node)


def _cut_name(kind: str, body: Any) -> str:
    """What users call a node that picks some rows, or looks into lists; else its own name."""
    if kind == "Slice":
        start = _constant(body["offset"]) if "Literal" in body["offset"] else 1
        return "head" if start == 0 else "tail" if start < 0 else "slice"
    if kind == "Gather" and body.get("returns_scalar"):
        return "get"
    if kind == "Eval":
        return _EVALUATIONS.get(_kind(body["variant"]), "eval")
    return _snake(kind)


def _correlation(method: Any) -> tuple[str, dict[str, Any]]:
    if method == "Pearson":
        return "corr", {}
    if isinstance(method, dict) and "Covariance" in method:
        return "cov", {"ddof": method["Covariance"]}
    if isinstance(method, dict) and "SpearmanRank" in method:
        return "corr", {"method": "spearman"}
    return "corr", {"unread": True}


def _binned(body: Any) -> tuple[str, dict[str, Any]]:
    ((method, how),) = body["method"].items()
    name = f"bin_{_snake(method)}"
    breaks = how["spec"].get("Breaks") if method == "Intervals" else None
    if breaks is None:
        return name, {"unread": True}
    return name, {
        "breaks": _constant({"Literal": {"Series": breaks}}),
        "labels": body["labels"],
        "include_intervals": body["include_intervals"],
        "right_closed": how["right_closed"],
    }


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _dtype(dtype: Any) -> str:
    """A type as users write it: Int64, Datetime("us")."""
    named = dtype["Literal"]
    if isinstance(named, str):
        return named
    ((kind, body),) = named.items()
    if kind == "Datetime":
        unit = {"Milliseconds": "ms", "Microseconds": "us", "Nanoseconds": "ns"}[body[0]]
        return f'Datetime("{unit}")' if body[1] is None else f'Datetime("{unit}", time_zone=...)'
    return str(kind)


def _deserialised(node: Any) -> pl.Expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pl.Expr.deserialize(io.StringIO(json.dumps(node)), format="json")


def _constant(node: Any) -> Any:
    """The value of a literal, computed by Polars itself; a series is a list."""
    body = node["Literal"]
    if "Dyn" in body:
        ((kind, value),) = body["Dyn"].items()
        if value is None or kind not in ("Int", "Float", "Str"):
            raise Unreadable("a number in it is not finite")
        return value
    if "Scalar" in body:
        ((kind, value),) = body["Scalar"].items()
        if kind in ("String", "Boolean"):
            return value
        if kind in ("Float64", "Float32") and value is None:
            raise Unreadable("a number in it is not finite")
    values = pl.select(_deserialised(node)).to_series().to_list()
    if "Series" in body:
        return values
    (value,) = values
    return value

"""Aggregates under other names, and those that are made of others: read as the ones that are known.

A dialect may call an aggregate by a name that DuckDB does not have, or mean another one by a name
that it has: SKEWNESS is that of a sample in DuckDB, and of the rows themselves in Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import sqlglot
from sqlglot import exp

from dpframe.frontends.sql_formats import arguments
from dpframe.frontends.sql_names import written
from dpframe.frontends.sql_origin import sql_error

_NODES: dict[str, Callable[[exp.Expr], exp.Expr]] = {
    "AVG": lambda x: exp.Avg(this=x),
    "BOOL_AND": lambda x: exp.LogicalAnd(this=x),
    "GEOMETRIC_MEAN": lambda x: exp.Anonymous(this="GEOMETRIC_MEAN", expressions=[x]),
    "KURTOSIS_POP": lambda x: exp.Anonymous(this="KURTOSIS_POP", expressions=[x]),
    "PERCENTILE_CONT": lambda x: exp.PercentileCont(this=x),
    "PERCENTILE_DISC": lambda x: exp.PercentileDisc(this=x),
    "SKEWNESS_POP": lambda x: exp.Anonymous(this="SKEWNESS_POP", expressions=[x]),
    "STDDEV_POP": lambda x: exp.StddevPop(this=x),
    "STDDEV_SAMP": lambda x: exp.Stddev(this=x),
    "SUM": lambda x: exp.Sum(this=x),
    "VAR_POP": lambda x: exp.VariancePop(this=x),
    "VAR_SAMP": lambda x: exp.Variance(this=x),
}
"""What aggregates of one argument are to the parser, by DuckDB's names."""

_EVERYWHERE = {"MEAN": "AVG"}
_SPARK = {
    **{"EVERY": "BOOL_AND", "STD": "STDDEV_SAMP", "TRY_AVG": "AVG", "TRY_SUM": "SUM"},
    **{"KURTOSIS": "KURTOSIS_POP", "SKEWNESS": "SKEWNESS_POP"},
}
_SYNONYMS: dict[str, dict[str, str]] = {
    "databricks": _SPARK,
    "mysql": {"STD": "STDDEV_POP", "STDDEV": "STDDEV_POP", "VARIANCE": "VAR_POP"},
    "postgres": {"EVERY": "BOOL_AND"},
    "spark": _SPARK,
    "trino": {"EVERY": "BOOL_AND", "SKEWNESS": "SKEWNESS_POP"}
    | {"GEOMETRIC_MEAN": "GEOMETRIC_MEAN"},
    "tsql": {"STDEVP": "STDDEV_POP", "VAR": "VAR_SAMP", "VARP": "VAR_POP"}
    | {f"APPROX_PERCENTILE_{kind}": f"PERCENTILE_{kind}" for kind in ("CONT", "DISC")},
}
"""What DuckDB calls the aggregates that a dialect has under these names."""

KNOWN = "an aggregate of DuckDB"
"""What nodes that stand for an aggregate by its name are marked with."""

_MOST_BUCKETS = 255


def with_synonyms(select: exp.Select, dialect: str, text: str) -> exp.Select:
    """The same statement with its aggregates under the names that are known here.

    Names are those of the text: what kinds of nodes they are depends on the parser's version.
    """
    synonyms = _EVERYWHERE | _SYNONYMS.get(dialect, {})
    for node in list(select.find_all(exp.Anonymous, exp.AggFunc, exp.WithinGroup)):
        called = isinstance(node, exp.Anonymous)
        at = node.meta
        name = text[at["start"] : at["end"] + 1].upper() if "start" in at else node.key
        operands = node.expressions if called else [a for a in node.args.values() if a]
        if name in synonyms and len(operands) == 1:
            _replace(node, _NODES[synonyms[name]](operands[0]))
        elif isinstance(node, exp.Anonymous) and name == "IQR" and len(operands) == 1:
            _make_difference(node)
        elif isinstance(node, exp.Quantile) and dialect in ("databricks", "spark"):
            _make_percentile(node, dialect, text)
        elif isinstance(node, exp.ApproxQuantiles):
            _make_quantiles(node)
        elif isinstance(node, exp.WithinGroup) and isinstance(node.this, exp.Mode):
            _make_mode(node)
    return select


def _make_percentile(node: exp.Quantile, dialect: str, text: str) -> None:
    """PERCENTILE(x, 0.25) may lie between two values; PERCENTILE_APPROX, however exact, is one."""
    if isinstance(node, exp.ApproxQuantile):
        _replace(node, exp.ApproxQuantile(this=node.this, quantile=node.args["quantile"]))
        return
    tokens = sqlglot.tokenize(text, read=dialect)
    calls = [i for i, token in enumerate(tokens) if token.text.upper() == "PERCENTILE"]
    if any(len(arguments(tokens, i)) > 2 for i in calls):  # the parser leaves it out
        raise sql_error(
            node,
            text,
            "PERCENTILE has more than 2 arguments",
            why="a third one says how often each value counts, and values count once here",
            fix="PERCENTILE(x, 0.25)",
        )
    _replace(node, exp.PercentileCont(this=node.this, expression=node.args["quantile"]))


def _make_mode(node: exp.WithinGroup) -> None:
    """MODE() WITHIN GROUP (ORDER BY x): of values that are equally frequent, any is one."""
    ordered = node.expression.expressions
    said = {key for by in ordered for key, value in by.args.items() if value}
    if len(ordered) == 1 and not node.this.this and said <= {"this", "desc", "nulls_first"}:
        _replace(node, exp.Mode(this=ordered[0].this))


def _replace(node: exp.Expr, found: exp.Expr) -> None:
    found.meta.update(node.meta)
    found.meta[KNOWN] = True
    node.replace(found)


def _make_difference(node: exp.Anonymous) -> None:
    """IQR(x), with its FILTER and its OVER, becomes the distance of two quartiles."""
    whole: exp.Expr = node
    while isinstance(whole.parent, exp.Filter | exp.Window) and whole.arg_key == "this":
        whole = whole.parent
    ends = []
    for level in ("0.75", "0.25"):
        around = exp.Paren(this=whole.copy())
        (call,) = (n for n in _inwards(around) if isinstance(n, exp.Anonymous))
        quartile = exp.Literal.number(level)
        _replace(call, exp.PercentileCont(this=call.expressions[0], expression=quartile))
        ends.append(around.this)
    found: exp.Expr = exp.Paren(this=exp.Sub(this=ends[0], expression=ends[1]))
    if isinstance(whole.parent, exp.Select) and whole.arg_key == "expressions":
        name = exp.to_identifier(written(whole), quoted=True)
        found = exp.Alias(this=found, alias=name)
    whole.replace(found)


def _inwards(node: exp.Expr) -> Iterator[exp.Expr]:
    while isinstance(node, exp.Paren | exp.Filter | exp.Window):
        node = node.this
        yield node


def _make_quantiles(node: exp.ApproxQuantiles) -> None:
    """APPROX_QUANTILES(x, 4), from the least value to the largest, or only one of its places."""
    buckets, one = node.expression, node.parent
    if not (_is_whole(buckets) and 1 <= int(buckets.name) <= _MOST_BUCKETS):
        return
    count = int(buckets.name)
    levels = [exp.Literal.number(repr(i / count)) for i in range(count + 1)]
    if not isinstance(one, exp.Bracket):
        _replace(node, exp.Quantile(this=node.this, quantile=exp.Array(expressions=levels)))
        return
    places = [place for place in one.expressions if _is_whole(place)]
    at = int(places[0].name) - one.args.get("offset", 0) if len(places) == 1 else -1
    if 0 <= at <= count:
        one.meta.update(node.meta)
        _replace(one, exp.Quantile(this=node.this, quantile=levels[at]))


def _is_whole(node: exp.Expr | None) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and node.name.isdecimal()

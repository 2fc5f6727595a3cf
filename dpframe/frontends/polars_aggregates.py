"""Aggregates of Polars, read as the aggregates of SQL that they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from dpframe.frontends.polars_exprs import TermReader, options_text
from dpframe.frontends.polars_terms import Term
from dpframe.frontends.polars_text import SQL_AGGREGATES, PolarsOrigin, code_of, polars_error
from dpframe.frontends.polars_unknown import UNMEASURED
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, conjunction, literal
from dpframe.plan.nodes import place_in_list

_POPULATION = {"var": "VAR_POP", "std": "STDDEV_POP", "cov": "COVAR_POP"}
"""What they are where `ddof=0`; otherwise they are of a sample."""

_READ_OPTIONS = {"include_nulls", "ddof", "method", "bias", "fisher"}
_HARMLESS_OPTIONS = {"propagate_nans", "maintain_order"}
"""Options that say nothing here: there is no NaN, and a mode has no order."""

_NORMAL_KURTOSIS = 3
"""What `kurtosis(fisher=False)` adds: then a normal distribution has this one, and not 0."""


def is_aggregate(term: Term) -> bool:
    """Whether a term turns the rows of a group into one value."""
    return term.name in SQL_AGGREGATES


def has_aggregate(term: Term) -> bool:
    """Whether there is an aggregate anywhere in a term, be it one that is refused."""
    return any(is_aggregate(each) or each.name in UNMEASURED for each in _walk(term))


def aggregate_call(term: Term, rows: TermReader) -> AggregateCall:
    """The aggregate of a term; `rows` reads what it is computed from."""
    if term.name == "hist":
        raise polars_error(
            term,
            "hist makes a row for each bin",
            why="nothing can be computed with all of them at once here",
            fix=".select(pl.col(x).hist(bin_count=20)), and compute on its columns afterwards;"
            " .hist(bin_count=20).cum_sum() adds cumulative counts",
        )
    if term.name == "corr" and "method" in term.options:
        raise polars_error(
            term,
            "correlations of ranks are not measured",
            why="one row can move the ranks of all others, which noise would not cover",
            fix=code_of(replace(term, options={})),
        )
    unread = set(term.options) - _READ_OPTIONS - _HARMLESS_OPTIONS
    if unread:
        raise polars_error(
            term,
            f"{options_text(unread)} is not understood here",
            why="ignoring a part of an aggregate would answer another question",
            fix="write it without",
        )
    place = PolarsOrigin(term)
    if not term.inputs:
        return AggregateCall("COUNT", (), place=place)
    _refuse_constants(term)
    inner, conditions, dropped = unfiltered(term.inputs[0], rows)
    if inner.name == "struct" and term.name in ("n_unique", "approx_n_unique") and inner.inputs:
        # A struct is not NULL, whatever is in it: drop_nulls() drops none.
        fields = tuple(rows.read(each) for each in inner.inputs)
        return AggregateCall("N_UNIQUE", fields, where=conjunction(conditions), place=place)
    value = rows.read(inner)
    missing = Call("is_null", (value,), place=place)
    # len() of what drop_nulls() left; the other aggregates leave NULL out anyway.
    if dropped and _counts_nulls(term):
        conditions = (*conditions, Call("not", (missing,), place=place))
    where = conjunction(conditions)
    match term.name:
        case "count" if term.options["include_nulls"]:
            return AggregateCall("COUNT", (), where=where, place=place)
        case "count":
            return AggregateCall("COUNT", (value,), where=where, place=place)
        case "n_unique" | "approx_n_unique" if dropped:
            return AggregateCall("COUNT", (value,), distinct=True, where=where, place=place)
        case "n_unique" | "approx_n_unique":
            return AggregateCall("N_UNIQUE", (value,), where=where, place=place)
        case "null_count":
            where = conjunction((*conditions, missing))
            return AggregateCall("COUNT", (), where=where, place=place)
        case "quantile":
            name = "QUANTILE_CONT" if term.options["method"] == "Linear" else "QUANTILE_DISC"
            return AggregateCall(name, (value, rows.read(term.inputs[1])), where=where, place=place)
        case "skew" | "kurtosis":
            name = SQL_AGGREGATES[term.name] + ("_POP" if term.options["bias"] else "")
            return AggregateCall(name, (value,), where=where, place=place)
    others = tuple(rows.read(each) for each in term.inputs[1:])
    name = SQL_AGGREGATES[term.name]
    if term.options.get("ddof", 1) == 0:
        name = _POPULATION[term.name]
    elif term.options.get("ddof", 1) != 1:
        raise polars_error(
            term,
            f"ddof={term.options['ddof']} is not known",
            why="variances are of a sample or of a whole population",
            fix="ddof=1, or ddof=0",
        )
    return AggregateCall(name, (value, *others), where=where, place=place)


def released_call(term: Term, rows: TermReader) -> AggregateCall:
    """An aggregate of released numbers, where one of two neighbours is not as good as the other.

    Of private rows a quantile is measured as a place, and which neighbour it is makes no difference.
    """
    call = aggregate_call(term, rows)
    method = str(term.options.get("method", "")).lower()
    if term.name == "quantile" and method in _OF_NEIGHBOURS:
        return replace(call, name=f"QUANTILE_{method}")
    return call


_OF_NEIGHBOURS = ("nearest", "lower", "higher", "midpoint")
"""Interpolations of Polars that SQL has not: names in small letters are none of SQL."""


def with_places(given: Sequence[tuple[str, Term]]) -> list[tuple[str, Term]]:
    """Aggregates by name, a list of quantiles as one column for each; see `sql_lists`."""
    found: list[tuple[str, Term]] = []
    for name, term in given:
        inner = term
        while inner.name == "alias" or inner.name.startswith("name."):
            inner = inner.inputs[0]
        levels = inner.inputs[1].options.get("value") if inner.name == "quantile" else None
        if not isinstance(levels, list):
            found.append((name, term))
            continue
        if not levels:
            raise polars_error(
                term,
                "there are no quantiles in the list",
                why="a list has one of them, or more",
                fix="quantile([0.25, 0.5, 0.75])",
            )
        value = inner.inputs[0]
        found += [
            (place_in_list(name, i), replace(inner, inputs=(value, Term("lit", (), {"value": q}))))
            for i, q in enumerate(levels)
        ]
    return found


def _counts_nulls(term: Term) -> bool:
    return term.name == "null_count" or bool(term.options.get("include_nulls"))


def unfiltered(term: Term, rows: TermReader) -> tuple[Term, tuple[Expr, ...], bool]:
    """What is aggregated, of which rows, and whether NULL was dropped from it."""
    conditions: tuple[Expr, ...] = ()
    dropped = False
    while term.name in ("filter", "drop_nulls", "drop_nans"):
        if term.name == "filter":
            conditions = (rows.read(term.inputs[1]), *conditions)
        else:
            dropped = True
        term = term.inputs[0]
    return term, conditions, dropped


def _refuse_constants(term: Term) -> None:
    """In Polars the sum of a constant is the constant, whatever the rows; SQL adds it up."""
    if not any(each.name == "col" for each in _walk(term)):
        raise polars_error(
            term,
            "aggregates a constant",
            why="a constant has no rows to aggregate",
            fix="pl.len() counts rows; pl.col(...).sum() adds up a column",
        )


def _walk(term: Term) -> Iterator[Term]:
    yield term
    for each in term.inputs:
        yield from _walk(each)


def group_leaf(
    rows: TermReader,
    aggregates: dict[AggregateCall, str],
    called: Callable[[Term, TermReader], AggregateCall] = aggregate_call,
) -> Callable[[Term], Expr | None]:
    """Reads what stands in agg(...): aggregates become columns, which `aggregates` collects."""

    def leaf(term: Term) -> Expr | None:
        if term.name in ("first", "last") and term.inputs[0].name == "mode":
            term = term.inputs[
                0
            ]  # of values that are equally frequent, Polars has all; we have one
        if is_aggregate(term):
            call = called(term, rows)
            column = Column(aggregates.setdefault(call, f"a{len(aggregates)}"), call.place)
            if term.name == "kurtosis" and not term.options["fisher"]:
                return Call("plus", (column, literal(_NORMAL_KURTOSIS)), place=call.place)
            return column
        if term.name == "col":
            rows.read(term)  # a column that is not there is the first thing to say
            name = term.options["name"]
            raise polars_error(
                term,
                "stands outside an aggregate",
                why="the values of single rows cannot be released",
                fix=f'pl.col("{name}").sum(), or group_by("{name}")',
            )
        if term.name == "filter":
            raise polars_error(
                term,
                "filters an aggregate",
                why="rows are chosen before they are aggregated",
                fix="pl.col(...).filter(...).sum()",
            )
        return None

    return leaf

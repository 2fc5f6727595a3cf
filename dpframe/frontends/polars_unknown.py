"""What no reader knows: why it is refused, and what to write instead."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from dpframe.errors import QueryError
from dpframe.frontends.polars_terms import Term
from dpframe.frontends.polars_text import SQL_AGGREGATES, operand_code, polars_error

ROW_BY_ROW = (
    "each function needs proven bounds, and the same meaning on every engine, one row at a time"
)


def unknown(term: Term, known: Sequence[str]) -> QueryError:
    """The error for a step that is not read; `known` are the functions of single rows."""
    if term.name in ACROSS_ROWS or term.name.startswith(("rolling_", "ewm_")):
        return polars_error(
            term,
            f"{term.name.removesuffix('_with_strategy')} looks at several rows",
            why="one row could change the values of many others, which noise would not cover",
            fix=_INSTEAD.get(term.name, "aggregate instead: .group_by(...).agg(...)"),
        )
    if term.name in UNMEASURED:
        why, fix = UNMEASURED[term.name]
        value = operand_code(term.inputs[0]) if term.inputs else "pl.col(...)"
        return polars_error(
            term,
            f"{term.name} cannot be released",
            why=why,
            fix=fix.format(x=value, aggregates=", ".join(sorted(SQL_AGGREGATES))),
        )
    near = difflib.get_close_matches(term.name, known, n=1, cutoff=0.75)
    return polars_error(
        term,
        f"{term.name} is not known" + (f"; {near[0]} is" if near else ""),
        why=ROW_BY_ROW,
        fix=f"use one of {', '.join(known)}",
    )


ACROSS_ROWS = {
    *("over", "rank", "shift", "diff", "pct_change", "sort", "sort_by", "slice", "head", "tail"),
    *("is_unique", "is_first_distinct", "is_last_distinct", "rolling", "top_k", "bottom_k", "get"),
    *("cum_sum", "cum_count", "cum_min", "cum_max", "cum_prod", "interpolate", "reverse", "unique"),
    *("qcut", "bin_quantiles", "bin_ranks", "is_duplicated", "shuffle", "limit"),
    *("explode", "rle", "rle_id", "drop_nulls", "drop_nans", "filter", "arg_true"),
    *("value_counts", "arg_sort", "arg_unique", "arg_max", "arg_min", "sample", "search_sorted"),
    *("mode", "first", "last", "agg_groups", "backward_fill", "forward_fill", "gather"),
    *("top_k_by", "bottom_k_by", "max_by", "min_by", "cumulative_eval", "peak_max", "peak_min"),
    *("interpolate_by", "unique_counts", "set_sorted", "fill_null_with_strategy"),
}
"""Functions whose value in one row depends on other rows."""

_BEST = (
    'for the best group: .group_by("ward").agg(pl.len()).top_k(1, by="len").select("ward");'
    ' for the most frequent value: .select(pl.col("ward").mode())'
)
_OF_GROUPS = (
    'of groups: .group_by("ward").agg(n=pl.len()).with_columns(place=pl.col("n").rank("min"))'
)
_INSTEAD = {
    **dict.fromkeys(("over", "rank", "shift", "diff", "pct_change"), _OF_GROUPS),
    **dict.fromkeys(("cum_count", "cum_min", "cum_max"), _OF_GROUPS),
    "cum_sum": "of bins: .select(pl.col(x).hist(bin_count=20).cum_sum())",
    **dict.fromkeys(
        ("unique_counts", "value_counts"), '.group_by("ward").len().sort("len", descending=True)'
    ),
    "fill_null_with_strategy": "fill_null(0), or another constant",
    **dict.fromkeys(
        ("bin_quantiles", "bin_ranks", "qcut"),
        "release the quantiles, and cut at them: .select(pl.col(x).quantile([0.25, 0.5, 0.75]))",
    ),
    **dict.fromkeys(("arg_max", "arg_min", "first", "gather", "get", "last", "max_by"), _BEST),
    **dict.fromkeys(("min_by", "slice", "head", "tail", "sort_by"), _BEST),
    **dict.fromkeys(("top_k", "top_k_by", "bottom_k", "bottom_k_by"), _BEST),
}
"""What to write instead of them, where it is known."""

_OF_ALL_ROWS = (
    "one row decides the answer, so no noise could hide it",
    "{x}.sum() counts the rows where it holds, {x}.mean() is their part of all",
)
_BITS = (
    "one row can change every bit of the answer",
    "({x} % 2 == 1).sum() counts the rows with the last bit set; {x} // 2 % 2 is the one before it",
)
_LISTS = (
    "it lists the values of single rows, and answers are about many",
    ".group_by({x}).len(), for the values and how often they occur",
)
_NO_BOUND = (
    "each aggregate needs a proven bound on what one unit changes",
    "use one of {aggregates}",
)
UNMEASURED = {
    **dict.fromkeys(("all", "any"), _OF_ALL_ROWS),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor"), _BITS),
    **dict.fromkeys(("entropy", "index_of", "is_empty", "is_sorted", "item"), _NO_BOUND),
    "implode": _LISTS,
    "str.join": _LISTS,
    "has_nulls": (_OF_ALL_ROWS[0], "{x}.null_count()"),
    "product": (
        "one row can multiply the answer by any number, or make it 0",
        "{x}.clip(1, 1000).log().sum() adds up the logarithms of values from 1 to 1,000",
    ),
}
"""Aggregates of Polars that are never measured: why not, and what to ask instead of them."""

"""`pl.col("age").hist(...)`: a row for each bin, with its ends and the count.

Bins are those of Polars: they have their upper end, and the first one both. `bin_count=` cuts the
declared range, where Polars would look at the least and the largest value: that would tell of them.
With `.cum_sum()` the rows below each upper end are added, beside the counts.
"""

from __future__ import annotations

from dpframe.frontends.polars_aggregates import has_aggregate, unfiltered
from dpframe.frontends.polars_arguments import Named, output_name
from dpframe.frontends.polars_exprs import TermReader
from dpframe.frontends.polars_terms import Term
from dpframe.frontends.polars_text import PolarsOrigin, polars_error
from dpframe.plan.bins import HIGH, LOW, NO_WISH, Wish, binned
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, conjunction

_DEFAULT_BINS = 10
"""What Polars takes where nothing is said."""

_NAMES = {"alias", "name.keep", "name.prefix", "name.suffix", "name.to_lowercase"}


def is_hist(term: Term) -> bool:
    """Whether a term is a histogram, or its cumulative sums, under whatever name."""
    inner = _unnamed(term)
    return "hist" in (inner.name, inner.inputs[0].name if inner.name == "cum_sum" else "")


def _unnamed(term: Term) -> Term:
    while term.name in _NAMES:
        term = term.inputs[0]
    return term


def read_hist(
    given: Named, rows: TermReader, key: str, count: str, taken: set[str]
) -> tuple[Call, AggregateCall, dict[str, Expr]]:
    """The bins to group by, what is counted in them, and the columns to show.

    `key` and `count` are the names of these two in the plan, `taken` those of other columns.
    """
    ((name, whole),) = given if len(given) == 1 else (_refuse_company(given),)
    term = _unnamed(whole)
    wish = NO_WISH
    own_name = whole.name == "alias" or name != output_name(term)
    if term.name == "cum_sum":
        if term.options.get("reverse"):
            raise polars_error(
                term,
                "reverse=True is not answered",
                why="cumulative counts are those of the rows below each upper end",
                fix="cum_sum(), and subtract from release.between()",
            )
        wish = Wish(cumulative=True, cumulative_name=name if own_name else "cumulative")
        term, own_name = term.inputs[0], False
    inner, conditions, _ = unfiltered(term.inputs[0], rows)
    if has_aggregate(inner):
        rows.read(inner)  # which refuses it
    for option in ("include_category", "include_breakpoint"):
        if term.options.get(option):
            raise polars_error(
                term,
                f"{option} makes a struct",
                why="each bin is a row of the answer, with its ends in columns low and high",
                fix="hist(bin_count=20) without it",
            )
    place = PolarsOrigin(term)
    bins, edges = term.options.get("bin_count"), None
    if len(term.inputs) > 1:
        edges = _edges(term)
    elif bins is None:
        bins = _DEFAULT_BINS
    value = binned(rows.read(inner), bins, edges, "right", place, wish)
    call = AggregateCall("COUNT", (), where=conjunction(conditions), place=place)
    shown: dict[str, Expr] = {}
    for column, expr in (
        ("low", Column(f"{LOW}{key}", place)),
        ("high", Column(f"{HIGH}{key}", place)),
        (name if own_name else "count", Column(count, place)),
    ):
        while column in taken or column in shown:
            column += "_"
        shown[column] = expr
    return value, call, shown


def _edges(term: Term) -> list[object]:
    given = term.inputs[1]
    listed = given.options.get("value") if given.name == "lit" else None
    if not isinstance(listed, list):
        raise polars_error(
            term,
            "its bins are not a list of numbers",
            why="edges must be fixed before any row is read",
            fix="hist([0, 18, 65, 110])",
        )
    return listed


def _refuse_company(given: Named) -> tuple[str, Term]:
    term = next(term for _, term in given if not is_hist(term) or term is not given[0][1])
    raise polars_error(
        term,
        "hist has no other aggregates beside it",
        why="it makes a row for each bin, and they have one for each group",
        fix="ask one query for each; or group_by bins: pl.col(x).cut([...])",
    )

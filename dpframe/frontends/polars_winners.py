"""The best rows of a noisy table, asked for inside an expression: `pl.col("ward").max_by("len")`."""

from __future__ import annotations

from dataclasses import dataclass

from dpframe.errors import QueryError
from dpframe.frontends.polars_arguments import Named
from dpframe.frontends.polars_terms import Term
from dpframe.frontends.polars_text import polars_error

_SINGLE = {"max_by": True, "min_by": False}
"""They keep one row; whether it is the one with the largest value."""


@dataclass(frozen=True, slots=True)
class Best:
    """Which columns are kept of the first rows, and how they are sorted."""

    shown: Named
    by: tuple[Term, ...]
    descending: tuple[bool, ...]
    rows: int


def best_rows(given: Named) -> Best | None:
    """Columns that are all cut to the same best rows; None if none is.

    >>> ward, n = (Term("col", options={"name": name}) for name in ("ward", "n"))
    >>> found = best_rows([("ward", Term("max_by", (ward, n)))])
    >>> found.rows, found.descending, found.shown == [("ward", ward)]
    (1, (True,), True)
    """
    cuts = [(name, _cut(term)) for name, term in given]
    kept = [cut for _, cut in cuts if cut is not None]
    if not kept:
        return None
    if len(kept) < len(cuts) or any(cut[1:] != kept[0][1:] for cut in kept):
        raise _mixed(given[0][1])
    _, by, descending, rows = kept[0]
    shown = [(name, cut[0]) for name, cut in cuts if cut is not None]
    return Best(shown, by, descending, rows)


_Cut = tuple[Term, tuple[Term, ...], tuple[bool, ...], int]


def _cut(term: Term) -> _Cut | None:
    """What is shown of the best rows, what they are sorted by, in which directions, how many."""
    while term.name == "alias":
        term = term.inputs[0]
    if term.name in _SINGLE:
        value, by = term.inputs
        return value, (by,), (_SINGLE[term.name],), 1
    if term.name not in ("top_k_by", "bottom_k_by"):
        return None
    value, count, *keys = term.inputs
    rows = count.options.get("value")
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 0:
        raise polars_error(
            term,
            "has no fixed number of rows",
            why="how many rows an answer has is said in the question",
            fix='pl.col("ward").top_k_by("len", 3)',
        )
    # Polars writes bottom_k_by as top_k_by, the other way round.
    return value, tuple(keys), tuple(not turned for turned in term.options["descending"]), rows


def _mixed(term: Term) -> QueryError:
    return polars_error(
        term,
        "columns are not cut to the same rows",
        why="the rows of an answer belong together",
        fix='.top_k(1, by="len").select("ward")',
    )

"""Histograms in a plan: keys that are bins of a value, before the range of the value is known.

Front ends write `Call(BINS, (x,), (bins, edges, closed, wish))` as a group key, and name the ends of a
bin by columns of their own. `bounds.bins` puts the ends in their place once the range of x is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from dpframe.errors import ParameterError
from dpframe.plan.domains import Type, of_64_bits
from dpframe.plan.exprs import Call, Expr, Origin, walk
from dpframe.plan.nodes import RESERVED

BINS = "bins"
"""The number of the bin that a value is in. It is written out before anything is analysed."""

LOW, HIGH = f"{RESERVED}_low_", f"{RESERVED}_high_"
"""Columns whose names begin so are the ends of the bins of a key."""

MOST_BINS = 1000
"""Bins of one column."""

Closed: TypeAlias = Literal["left", "right"]
"""The end that belongs to a bin; at the other end of all bins, both do."""


OPTIONS = ("cumulative", "hierarchical", "margins", "nonnegative", "consistent")
"""What may be asked of a histogram."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of the counts of a histogram, beyond the counts themselves."""

    cumulative: bool = False
    hierarchical: bool | None = None
    """Whether coarser bins are counted too; None leaves it to what is predicted."""
    margins: bool = False
    nonnegative: bool = False
    consistent: bool = False
    cumulative_name: str = "cumulative"
    across: str | None = None
    """Of a plane of bins and categories: the key that the categories are."""

    @property
    def is_said(self) -> bool:
        """Whether anything was asked."""
        return replace(self, across=None) != Wish()

    @property
    def asked(self) -> list[str]:
        """The options that are asked for."""
        return [name for name in OPTIONS if getattr(self, name)]


NO_WISH = Wish()


def binned(
    expr: Expr,
    bins: Any = None,
    edges: Any = None,
    closed: Closed = "left",
    place: Origin | None = None,
    wish: Wish = NO_WISH,
) -> Call:
    """The key that says in which bin a value is: of even width, or between given edges."""
    if (bins is None) == (edges is None):
        raise ParameterError(
            f"a histogram of {_called(expr)} takes either bins= or edges={pointer(place)}",
            why=f"only keys, conditions, and up to {MOST_BINS:,} whole numbers or days have bins of"
            " their own",
            fix=f"{bins_fix(place)}, or {edges_fix(place)}",
        )
    if edges is not None:
        return Call(BINS, (expr,), (None, _given(expr, edges, place), closed, wish), place)
    if isinstance(bins, bool) or not isinstance(bins, Integral) or not 1 <= int(bins) <= MOST_BINS:
        raise ParameterError(
            f"bins={bins!r} is not a whole number from 1 to {MOST_BINS:,}{pointer(place)}",
            why="each bin is released with noise of its own",
            fix=bins_fix(place),
        )
    return Call(BINS, (expr,), (int(bins), None, closed, wish), place)


def _given(expr: Expr, edges: Any, place: Origin | None) -> tuple[Any, ...]:
    """Edges that are constants, each by itself; whether they fit the value is seen later."""
    listed = isinstance(edges, Sequence) and not isinstance(edges, str | bytes)
    if not listed and not (hasattr(edges, "__array__") and getattr(edges, "ndim", 1) == 1):
        raise edges_error(expr, f"are {shown_edge(edges)}, and no list", place)
    each = tuple(map(_plain, edges))
    for edge in each:
        if not isinstance(edge, Real | date | str):
            raise edges_error(
                expr, f"have {shown_edge(edge)}, which is no number and no day", place
            )
    if len(each) - 1 > MOST_BINS:
        raise ParameterError(
            f"{len(each) - 1:,} bins are too many{pointer(place)}",
            why=f"a column may have {MOST_BINS:,}; each is released with noise of its own",
            fix=edges_fix(place),
        )
    return tuple(map(of_64_bits, each))


def edges_error(
    expr: Expr, fault: str, place: Origin | None, of: Type = Type.FLOAT
) -> ParameterError:
    """What is wrong with the edges of the bins of a value."""
    return ParameterError(
        f"edges= for {_called(expr)} {fault}{pointer(place)}",
        why="each bin reaches from one edge to the next, and these are fixed before rows are read",
        fix=edges_fix(place, of),
    )


def _called(expr: Expr) -> str:
    return str(getattr(expr, "name", "the expression"))


def shown_edge(value: Any) -> str:
    """What was given for an edge, or for all of them, in an error."""
    text = str(value) if isinstance(value, date) else repr(value)
    return "NULL" if value is None else text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


_LONGEST = 40
"""Characters of what is no edge, in an error."""


def _plain(edge: Any) -> Any:
    """A number of numpy becomes one of Python; what has several numbers stays as it is."""
    return edge.item() if hasattr(edge, "item") and not hasattr(edge, "__len__") else edge


def pointer(place: Origin | None) -> str:
    """Where it was written, for an error."""
    return "" if place is None else place.pointer()


def bins_fix(place: Origin | None) -> str:
    """How a number of bins is written, there."""
    return "bins=20" if place is None else place.advice("HISTOGRAM(x, 20)")


def edges_fix(place: Origin | None, of: Type = Type.FLOAT) -> str:
    """How edges of values of a type are written, there."""
    if of in (Type.DATE, Type.TIMESTAMP):
        kind = of.name
        first, last = ("2025-01-01", "2026-01-01")
        if place is None:
            call = "datetime.date" if of is Type.DATE else "datetime.datetime"
            return f"edges=[{call}(2025, 1, 1), {call}(2026, 1, 1)]"
        return place.advice(f"HISTOGRAM(x, [{kind} '{first}', {kind} '{last}'])")
    edges = "[0, 18, 65, 110]"
    return f"edges={edges}" if place is None else place.advice(f"HISTOGRAM(x, {edges})")


def bins_in(exprs: Sequence[Expr]) -> Iterator[Call]:
    """The bins that expressions speak of, each once."""
    found = (e for expr in exprs for e in walk(expr))
    yield from dict.fromkeys(e for e in found if isinstance(e, Call) and e.function == BINS)

"""Histograms in a plan: keys that are bins of a value, before the range of the value is known.

Front ends write `Call(BINS, (x,), (bins, edges, closed))` as a group key, and name the ends of a bin
by columns of their own. `bounds.bins` puts the ends in their place once the range of x is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from numbers import Integral, Real
from typing import Any, Literal, TypeAlias

from dpframe.errors import ParameterError
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, Origin, literal, walk
from dpframe.plan.nodes import GROUPING, RESERVED, Aggregate, Filter, Node, Project

BINS = "bins"
"""The number of the bin that a value is in. It is written out before anything is analysed."""

LOW, HIGH = f"{RESERVED}_low_", f"{RESERVED}_high_"
"""Columns whose names begin so are the ends of the bins of a key."""

MOST_BINS = 1000
"""Bins of one column."""

Closed: TypeAlias = Literal["left", "right"]
"""The end that belongs to a bin; at the other end of all bins, both do."""


def binned(
    expr: Expr,
    bins: Any = None,
    edges: Any = None,
    closed: Closed = "left",
    place: Origin | None = None,
) -> Call:
    """The key that says in which bin a value is: of even width, or between given edges."""
    called = getattr(expr, "name", "the expression")
    if (bins is None) == (edges is None):
        raise ParameterError(
            f"a histogram of {called} takes either bins= or edges={pointer(place)}",
            why="only columns with declared keys have bins of their own",
            fix=f"{bins_fix(place)}, or {edges_fix(place)}",
        )
    if edges is not None:
        return Call(BINS, (expr,), (None, _given(edges, place), closed), place)
    if isinstance(bins, bool) or not isinstance(bins, Integral) or not 1 <= int(bins) <= MOST_BINS:
        raise ParameterError(
            f"bins={bins!r} is not a whole number from 1 to {MOST_BINS:,}{pointer(place)}",
            why="each bin is released with noise of its own",
            fix=bins_fix(place),
        )
    return Call(BINS, (expr,), (int(bins), None, closed), place)


def _given(edges: Any, place: Origin | None) -> tuple[Any, ...]:
    """Edges that are numbers or times, else none; whether they fit the value is seen later."""
    listed = isinstance(edges, Sequence) or hasattr(edges, "__array__")
    # Numbers of numpy become those of Python.
    each = tuple(e.item() if hasattr(e, "item") else e for e in edges) if listed else ()
    numbers = all(isinstance(e, Real) and not isinstance(e, bool) for e in each)
    if not numbers and not all(isinstance(e, date) for e in each):
        each = ()
    if len(each) - 1 > MOST_BINS:
        raise ParameterError(
            f"{len(each) - 1:,} bins are too many{pointer(place)}",
            why=f"a column may have {MOST_BINS:,}; each is released with noise of its own",
            fix=edges_fix(place),
        )
    return each


def pointer(place: Origin | None) -> str:
    """Where it was written, for an error."""
    return "" if place is None else place.pointer()


def bins_fix(place: Origin | None) -> str:
    """How a number of bins is written, there."""
    return "bins=20" if place is None else place.advice("HISTOGRAM(x, 20)")


def edges_fix(place: Origin | None) -> str:
    """How edges are written, there."""
    edges = "[0, 18, 65, 110]"
    return f"edges={edges}" if place is None else place.advice(f"HISTOGRAM(x, {edges})")


def bins_in(exprs: Sequence[Expr]) -> Iterator[Call]:
    """The bins that expressions speak of, each once."""
    found = (e for expr in exprs for e in walk(expr))
    yield from dict.fromkeys(e for e in found if isinstance(e, Call) and e.function == BINS)


# --- what a histogram shows ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Shown:
    """The columns of a histogram: groups, the ends of bins or their names, and the count."""

    by: tuple[str, ...]
    keys: tuple[str, ...]
    """The keys that are bins or categories; with one, ranges of bins can be added up."""
    low: str | None
    """The column of lower ends, where one key is bins."""
    high: str | None
    count: str
    ladder: int | None = None
    """How many bins make one of the next level, where counts were measured on several."""


def shown_by(plan: Node) -> Shown | None:
    """How a plan shows a histogram of one column, if that is all it does."""
    match plan:
        case Project(Aggregate(_, keys, ((name, AggregateCall("COUNT", ())),), ()), columns):
            pass
        case _:
            return None
    bins = [key for key, expr in keys if isinstance(expr, Call) and expr.function == BINS]
    names = {expr.name: shown for shown, expr in columns if isinstance(expr, Column)}
    groups = [key for key, _ in keys if key not in bins]
    if len(bins) != 1 or keys[-1][0] != bins[0] or len(names) != len(columns):
        return None
    ends = (f"{LOW}{bins[0]}", f"{HIGH}{bins[0]}")
    if set(names) != {*groups, *ends, name}:
        return None
    by = tuple(shown for shown, expr in columns if getattr(expr, "name", None) in groups)
    return Shown(by, tuple(bins), names[ends[0]], names[ends[1]], names[name])


def on_levels(plan: Node, branching: int, height: int) -> Node:
    """The same histogram, with `height` levels of coarser and coarser bins counted too.

    Each level is a grouping of its own, like those of ROLLUP: a unit is in each of them with its
    whole weight, so the sensitivity is `height` times that of one level. The answer shows the
    finest.
    """
    assert isinstance(plan, Project)
    assert isinstance(plan.parent, Aggregate)
    node = plan.parent
    *others, (finest, bins) = node.keys
    by = tuple(name for name, _ in others)
    coarser = [
        (f"{finest}_{level}", Call("integer_divide", (bins, literal(branching**level))))
        for level in range(1, height)
    ]
    levels = (finest, *(name for name, _ in coarser))
    counted = replace(
        node, keys=(*node.keys, *coarser), sets=tuple((*by, level) for level in levels)
    )
    is_finest = Call("equal", (Column(f"{GROUPING}{finest}"), literal(0)))
    return replace(plan, parent=Filter(counted, is_finest))

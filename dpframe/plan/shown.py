"""What a histogram shows, and the coarser counts that may be measured beside those of its bins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from dpframe.errors import ParameterError
from dpframe.plan.bins import BINS, HIGH, LOW, NO_WISH, Wish, bins_in, pointer
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, literal
from dpframe.plan.nodes import GROUPING, Aggregate, Filter, Node, Project, aggregate_of

Shape: TypeAlias = tuple[int, int] | None
"""How many bins make one of the next level, and the number of levels; None for the bins alone."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One column of a histogram: its bins, or its categories."""

    key: str
    title: str
    """What the analyst calls it."""
    columns: tuple[str, ...]
    """The columns of the lower and the upper ends of bins, or the one of categories."""

    @property
    def has_bins(self) -> bool:
        """Whether it has bins, which have an order; categories have none."""
        return len(self.columns) == 2


@dataclass(frozen=True, slots=True)
class Levels:
    """Which counts are measured: of the bins, and of coarser bins or of a plane's margins."""

    shapes: tuple[Shape, ...]
    """The levels of each axis. Each level of one is counted for each level of the other."""
    margins: bool = False
    """Whether the sums of rows and of columns are counted beside the cells of a plane."""

    @property
    def groupings(self) -> int:
        """How many counts each row is in."""
        return 3 if self.margins else math.prod(1 if s is None else s[1] for s in self.shapes)


@dataclass(frozen=True, slots=True)
class Shown:
    """The columns of a histogram: groups, the ends of bins or their names, and the count."""

    by: tuple[str, ...]
    axes: tuple[Axis, ...]
    count: str
    wish: Wish = NO_WISH

    def grouped_by(self, keys: Collection[str]) -> Shown:
        """The same with these keys as groups: categories that are chosen first are no axis."""
        apart = [axis for axis in self.axes if axis.key in keys]
        by = (*self.by, *(axis.title for axis in apart))
        return replace(self, by=by, axes=tuple(a for a in self.axes if a not in apart))


def shown_by(plan: Node) -> Shown | None:
    """How a plan shows a histogram of one value or two, if that is all it does.

    What is asked of the counts of a histogram is asked of them all, so nothing may be done to some.
    """
    calls = list(bins_in([key for _, key in aggregate_of(plan).keys]))
    found = _shown_by(plan)
    for call in calls:
        wish: Wish = call.params[-1]
        if found is None and wish.is_said:
            raise ParameterError(
                f"options of a histogram go with all of its bins{pointer(call.place)}",
                why="sums of bins, and counts that agree, are made of every bin of a group",
                fix="leave out what follows it (HAVING, ORDER BY, LIMIT, ROLLUP, a SELECT around it,"
                " filter, sort, head), and go on with release.frame",
            )
    return found if found is None else replace(found, wish=calls[0].params[-1])


def _shown_by(plan: Node) -> Shown | None:
    match plan:
        case Project(Aggregate(_, keys, ((name, AggregateCall("COUNT", ())),), ()), columns):
            pass
        case _:
            return None
    bins = [(key, expr) for key, expr in keys if isinstance(expr, Call) and expr.function == BINS]
    if not 1 <= len(bins) <= 2 or keys[-len(bins) :] != tuple(bins):
        return None
    names = {expr.name: shown for shown, expr in columns if isinstance(expr, Column)}
    groups = [group for group, _ in keys[: -len(bins)]]
    ends = [f"{end}{key}" for key, _ in bins for end in (LOW, HIGH)]
    if len(names) != len(columns) or set(names) != {*groups, *ends, name}:
        return None
    across = bins[0][1].params[-1].across if len(bins) == 1 else None
    apart = {group for group in groups if group != across}
    by = tuple(shown for shown, expr in columns if getattr(expr, "name", None) in apart)
    axes = []
    for key, call in bins:
        low, high = names[f"{LOW}{key}"], names[f"{HIGH}{key}"]
        (value,) = call.children
        title = value.name if isinstance(value, Column) else low.removesuffix("_low")
        axes.append(Axis(key, title, (low, high)))
    if across in names:  # in the order of the keys, which is that of the rows
        axes.insert(0, Axis(across, names[across], (names[across],)))
    return Shown(by, tuple(axes), names[name])


def on_levels(plan: Node, axes: Sequence[str], levels: Levels, inside: Expr | None = None) -> Node:
    """The same histogram, with coarser bins or margins counted too; `axes` are its own keys.

    Each level is a grouping of its own, like those of ROLLUP: a unit is in each of them with its
    whole weight, so the sensitivity is that of one times their number (in L2, times its root). The
    answer shows the finest. Rows that are not `inside` all axes are left out everywhere, so that
    coarser counts are those of the same rows.
    """
    assert isinstance(plan, Project)
    assert isinstance(plan.parent, Aggregate)
    node = plan.parent
    exprs = dict(node.keys)
    keys = [(name, expr) for name, expr in node.keys if name not in axes]
    by = tuple(name for name, _ in keys)
    names = []
    for axis, shape in zip(axes, levels.shapes, strict=True):
        branching, height = shape or (1, 1)
        own = [(axis, exprs[axis])]
        own += [
            (f"{axis}_{level}", Call("integer_divide", (exprs[axis], literal(branching**level))))
            for level in range(1, height)
        ]
        keys += own
        names.append([name for name, _ in own])
    if levels.margins:
        sets = [tuple(axes), *((axis,) for axis in axes)]
    else:
        sets = list(itertools.product(*names))
    parent = node.parent if inside is None else Filter(node.parent, inside)
    counted = replace(
        node, parent=parent, keys=tuple(keys), sets=tuple((*by, *one) for one in sets)
    )
    flags = [Column(f"{GROUPING}{axis}") for axis in axes]
    finest: Expr = flags[0]
    for flag in flags[1:]:
        finest = Call("add", (finest, flag))
    return replace(plan, parent=Filter(counted, Call("equal", (finest, literal(0)))))

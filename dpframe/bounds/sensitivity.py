"""How far one unit can move a part, over all groups together, in each norm.

Notation: a unit has N[k] rows in group k and contributes a vector v over the groups. Weighting
(`engines`) leaves the p-norm of N at most r = max_rows, and scales v by the same factor, so with
|v[k]| <= H * N[k] the p-norm of v is at most r * H. At row level r = 1 and N is a unit vector, so
every norm is at most H.

Replacing a unit is removing one and adding another. With rows worth between low <= 0 <= high, let
a[k] and b[k] be what the two contribute after weighting, and N and M their weighted rows. Then:

- each number moves by at most r * (high - low), because a[k] and b[k] lie in r * [low, high]. Where
  there is no more than one number, that bounds every norm;
- in L1 by at most twice as far as for one unit, which two groups attain;
- in L2: |a[k]| is at most high or -low times N[k], and |b[k]| likewise. If their signs differ, then
  |a[k] - b[k]| <= high * N[k] - low * M[k], or the same with N and M exchanged, and its square is at
  most (low^2 + high^2) (N[k]^2 + M[k]^2) (Cauchy and Schwarz). If not, it is at most the larger one
  of the two, and its square less than that. Added up, the square is at most 2 r^2 (low^2 + high^2):
  twice that of one unit where no row is negative, such as for counts.

Counts of units lie between 0 and 1 in each group, so both the L1 norm and the square of the L2 norm
are at most the number of groups as well. Different values: the units that stay have f[k] without the
other one, and either of the two raises that by a[k] >= 0 or b[k] >= 0, so the same argument holds.

Distinct values: let D[k] be the number of values that a unit holds in group k, and w its weight, at
most 1 and such that the p-norm of w * D is at most r. A value counts as the largest weight among the
units that hold it, so one more unit raises each of its values by at most w, and group k by at most
w * D[k]. At row level r = 1: a row holds one value in one group. Where no more than m values are
possible (declared keys, whole numbers or days of a range), D[k] is at most m. So no number moves by
more than m, and over G groups the L1 norm is at most m * G, and the square of the L2 norm m^2 * G.

Counts over a grid have a vector v[k, c] over groups and cells, where the v[k, .] are not negative
and add up to at most N[k] before weighting. Both norms of v are then at most that of N, which is r:
in L1 the sums over cells add up, and in L2 the sum over c of v[k, c]^2 is at most (sum over c of
v[k, c])^2 <= N[k]^2. That holds for every width of the cells, so for coarser grids that are added
up from finer ones too, and for weighting, which scales v by one factor and rounds it down.

Choosing among groups, without their scores, needs a bound on the change of each group alone. So
there (p = infinity, `EACH_GROUP`) a unit is weighed in every group by itself: v[k] is scaled by
r / N[k] where N[k] > r, whatever the unit has in other groups. With rows worth between low and high,
v[k] then lies in r * [min(low, 0), max(high, 0)], and rounding toward zero leaves it there. A unit
that is added moves a group by v[k], and one that is replaced by v'[k] - v[k], at most the length of
that interval: r for counts, and 1 for counts of units, which need no weighting at all. Of different
values, a unit that holds D[k] weighs min(1, r / D[k]) for each, so r for all: the heaviest holders'
weights add up to f[k], where 0 <= f[k] with the unit - f[k] without it <= r.

Cells that are chosen by their counts (`ChosenCells`): what a choice costs grows with d[k], the L1
distance of the counts of group k, so the norms here are those of d over the groups. The cells of a
group add up to at most N[k] before weighting, so d[k] <= N[k], and the norms of d are at most r. A
unit that is replaced moves d[k] by what leaves the group and what enters it, at most 2r in each
norm. That differs from `GridCounts`: a row that moves within a group has d = 2 there, and a square of
4, where the counts themselves have 1 + 1. Counts that are added up from the cells of a group after
the choice (`RankedCells`: cells around what was chosen, which share no row) move by at most d[k] in
L1, because |a + b| <= |a| + |b|, and so by at most d[k] in L2: the same norms of d bound them, too.
Where a unit is replaced, its quantiles need less than the norms of d: what leaves and what enters is
bounded each by itself (`Sensitivity.each`), as that of a unit which is removed, or added.

Sums from both ends of a range are bounded together. A row whose code is c adds a = c - low to one
and takes b = high - c from the other: neither is negative, and a + b is H = high - low, what each
part may move alone. So a unit's vector (a[k], b[k]) over groups and both parts has a[k] + b[k] <=
H * N[k] before weighting (less where NULL adds nothing), and the argument for grids applies: in
either norm it is at most H * r. Adding or removing a unit moves the two together no further than
one of them alone. Replacing one does: from (H, 0) to (0, H) it is twice as far, which is not used.

Blends are bounded together by the same argument. The three products of a row are integers, none is
negative, and they add up to one number T in every row with a value (`plan.parts.Blend`). So a
unit's vector over groups and all three parts has v[k, 0] + v[k, 1] + v[k, 2] <= T * N[k] before
weighting, and in either norm it is at most T * r: what each of the three may move alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpframe.declare import Table
from dpframe.errors import InternalError
from dpframe.plan.parts import (
    Blend,
    ChosenCells,
    CodedSum,
    CountDistinct,
    CountRows,
    CountUnits,
    Ends,
    GridCounts,
    Part,
)

COUNT_BITS = 20
"""Weighted counts are kept on a grid of 2^-20 of a row."""

SUM_BITS = 30
"""Weighted sums are kept on a grid on which a unit's contribution is about 2^30 steps."""


EACH_GROUP = math.inf
"""The norm that bounds what a unit moves in each group alone: for choosing among groups."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """The most that a part moves between neighbouring tables, in its own integer steps.

    `l1` is None where only the Euclidean norm was bounded. The square of the L2 bound is kept
    because the bound itself may be irrational. A part with all zero is a public constant.
    """

    l1: int | None
    l2_squared: int
    linf: int
    why: str
    each: Sensitivity | None = None
    """Of cells that are chosen, where a unit is replaced: what leaves, and what enters, by itself."""

    @property
    def is_zero(self) -> bool:
        """Whether no unit can move the part at all."""
        return self.l2_squared == 0


@dataclass(frozen=True, slots=True)
class Context:
    """What the sensitivity of a part depends on, besides the part."""

    table: Table
    groups: int
    """How many public groups there are; 1 and not `grouped` for a query without GROUP BY."""
    grouped: bool
    filtered: bool
    norm: float
    """The norm that weighting bounds: 1 for Laplace noise, 2 for Gaussian, or `EACH_GROUP`."""
    sets: int = 1
    """How many groupings there are, each with groups and a weighting of its own."""

    @property
    def weighted(self) -> bool:
        """Whether units are bounded by weight; rows need no bounding."""
        return self.table.unit_column is not None


def extra_bits(part: Part, context: Context) -> int:
    """How many bits finer than its own code a weighted part is kept, so that scaling stays exact."""
    if not context.weighted:
        return 0
    rows = context.table.max_rows
    match part:
        case CountRows() | CountDistinct() | GridCounts():
            return COUNT_BITS
        case CountUnits():
            return COUNT_BITS if _units_may_exceed(context) else 0
        case CodedSum() | Blend():
            return max(0, SUM_BITS - (part.magnitude * rows).bit_length())
    raise InternalError(f"no grid for a {type(part).__name__}")


def _units_may_exceed(context: Context) -> bool:
    if context.norm == EACH_GROUP:
        return False  # in one group, a unit is one
    rows = context.table.max_rows
    return context.groups > (rows if context.norm == 1 else rows * rows)


def sensitivity_of(part: Part, context: Context) -> Sensitivity:
    """The bound for one part. The harness in tests/privacy checks it on neighbouring tables."""
    return _in_groupings(_in_one_grouping(part, context), context.sets)


def _in_groupings(one: Sensitivity, sets: int) -> Sensitivity:
    """The bound over several groupings, each with that of one."""
    if sets == 1:
        return one
    return Sensitivity(
        None if one.l1 is None else sets * one.l1,
        sets * one.l2_squared,
        one.linf,
        f"{one.why}, in each of {sets} groupings",
        None if one.each is None else _in_groupings(one.each, sets),
    )


def bounded_together(parts: Sequence[Part], context: Context) -> tuple[tuple[int, ...], ...]:
    """The indices of all parts; those of which the bound of one holds for all stand together.

    >>> from dataclasses import replace
    >>> from dpframe.plan.coding import coding_for
    >>> from dpframe.plan.domains import Domain, Type
    >>> from dpframe.plan.exprs import Column
    >>> age = CodedSum(None, Column("age"), coding_for(Domain(Type.INT, 0, 110)))
    >>> table = Table("people", {}, {})
    >>> context = Context(table, groups=1, grouped=False, filtered=False, norm=1)
    >>> bounded_together([age, CountRows(None), replace(age, centre=110)], context)
    ((0, 2), (1,))
    >>> bounded_together([age, *(Blend.of(age, max_rows=1) or ())], context)
    ((0,), (1, 2, 3))
    """
    found: dict[Part | Ends, list[int]] = {}
    for i, part in enumerate(parts):
        found.setdefault(_bounded_with(part, context), []).append(i)
    return tuple(map(tuple, found.values()))


def _bounded_with(part: Part, context: Context) -> Part | Ends:
    if isinstance(part, CodedSum) and context.table.neighbors == "add_remove":
        ends = Ends.of(part)
        if ends is not None and part in (ends.above, ends.below):
            return ends
    if isinstance(part, Blend) and context.table.neighbors == "add_remove":
        return replace(part, above=0)
    return part


def _in_one_grouping(part: Part, context: Context) -> Sensitivity:
    if isinstance(part, Blend) and context.table.neighbors != "add_remove":
        raise InternalError("no bound for a Blend where units are replaced")
    if context.weighted:
        return _weighted(part, context)
    if context.table.neighbors == "replace":
        return _row_replaced(part, context)
    size = _size(part)
    why = f"one row adds or removes at most {_value(part, size)}"
    return Sensitivity(size, size * size, size, why)


def _size(part: Part) -> int:
    """The most that one row adds to a part."""
    return part.magnitude if isinstance(part, CodedSum | Blend) else 1


def _value(part: Part, steps: int) -> str:
    """A number of a part's steps, in units of value."""
    if isinstance(part, Blend):
        return f"{float(steps / part.scale):,.6g}"
    return f"{part.coding.value(steps):,.6g}" if isinstance(part, CodedSum) else f"{steps:,}"


def _row_replaced(part: Part, context: Context) -> Sensitivity:
    always_there = not context.filtered and part.condition is None
    if isinstance(part, CodedSum):
        low, high = part.coding.low - part.centre, part.coding.high - part.centre
        size = part.magnitude
        if context.grouped:
            across, within = 2 * size * size, (max(high, 0) - min(low, 0)) ** 2
            squared = max(across, within)
            why = f"one row leaves a group and enters another, by at most {_value(part, size)} each"
            return Sensitivity(2 * size, squared, max(size, max(high, 0) - min(low, 0)), why)
        if not always_there or part.nullable:
            low, high = min(low, 0), max(high, 0)  # a row that is not there adds nothing
        span = max(high - low, 1)
        return Sensitivity(
            span, span * span, span, f"one row changes by at most {_value(part, span)}"
        )
    if isinstance(part, ChosenCells):
        why = "one row leaves a cell and enters another, perhaps of the same group"
        return Sensitivity(2, 4, 2, why, _added(part, context))
    if isinstance(part, GridCounts):
        return Sensitivity(2, 2, 1, "one row leaves a cell and enters another")
    if context.grouped:
        return Sensitivity(2, 2, 1, "one row leaves a group and enters another")
    if isinstance(part, CountDistinct):
        return Sensitivity(1, 1, 1, "one row changes from one value to another")
    if always_there:
        return Sensitivity(0, 0, 0, "the number of rows is public")
    return Sensitivity(1, 1, 1, "one row begins or ceases to count")


def _added(part: Part, context: Context) -> Sensitivity:
    """The bound for one unit that is added or removed, whatever neighbours are."""
    table = replace(context.table, neighbors="add_remove", size=None)
    return _in_one_grouping(part, replace(context, table=table))


def _weighted(part: Part, context: Context) -> Sensitivity:
    if context.norm == EACH_GROUP:
        return _weighted_in_each_group(part, context)
    rows, bits = context.table.max_rows, extra_bits(part, context)
    groups, replaced = max(1, context.groups), context.table.neighbors == "replace"
    if isinstance(part, CountUnits):
        if replaced and not context.grouped:
            if not context.filtered and part.condition is None:
                return Sensitivity(0, 0, 0, "the number of units is public")
            return Sensitivity(1, 1, 1, "one unit begins or ceases to count")
        l1, squared, each = min(rows, context.groups), min(rows * rows, context.groups), 1
        what = "one unit is counted once in a group"
    else:
        size = _size(part)
        l1 = each = rows * size
        squared = each * each
        what = f"one unit weighs at most {rows:,} rows of at most {_value(part, size)} each"
        if isinstance(part, CountDistinct):
            each = _held(part, rows)
            l1, squared = min(rows, each * groups), min(rows * rows, each * each * groups)
            what = f"one unit holds values that weigh at most {rows:,} together"
            if each < rows:
                what = f"one unit holds at most {each:,} values in a group: no others are possible"
    if replaced:
        l1, squared, each = _unit_replaced(part, context, l1, squared, each)
        what += ", and is replaced by another"
    if context.norm == 1:
        squared = min(squared, l1 * l1)
    return Sensitivity(
        l1 << bits if context.norm == 1 else None,
        squared << 2 * bits,
        each << bits,
        what,
        _added(part, context) if replaced and isinstance(part, ChosenCells) else None,
    )


def _unit_replaced(
    part: Part, context: Context, l1: int, squared: int, each: int
) -> tuple[int, int, int]:
    """The norms of one unit's vector less another's, of those that bound each of the two.

    In L1, L2 squared, and each number by itself.
    """
    if isinstance(part, ChosenCells):
        return 2 * l1, 4 * squared, 2 * each
    rows, (low, high) = context.table.max_rows, _contributed(part)
    if isinstance(part, CountUnits):
        return min(2 * l1, context.groups), min(2 * squared, context.groups), each
    if isinstance(part, CountDistinct):
        return (2 * l1, 2 * squared, each) if context.grouped else (each, each * each, each)
    each = rows * (high - low)
    if context.grouped or isinstance(part, GridCounts):
        return 2 * l1, 2 * rows * rows * (low * low + high * high), each
    return each, each * each, each


def _held(part: CountDistinct, rows: int) -> int:
    """What the different values that a unit holds in a group weigh at most."""
    return rows if part.possible is None else min(rows, max(1, part.possible))


def _contributed(part: Part) -> tuple[int, int]:
    """The least and the most that one row adds to a part; one that is not there adds nothing.

    They are never the same: a part with rows in it is no public constant, whatever they are worth.
    """
    if not isinstance(part, CodedSum):
        return 0, _size(part)
    low = min(part.coding.low - part.centre, 0)
    return low, max(part.coding.high - part.centre, low + 1, 0)


def _weighted_in_each_group(part: Part, context: Context) -> Sensitivity:
    """The bound on each group, and what it comes to over all of them together."""
    rows, replaced = context.table.max_rows, context.table.neighbors == "replace"
    match part:
        case CountUnits():
            always_there = not context.filtered and part.condition is None
            if replaced and not context.grouped and always_there:
                return Sensitivity(0, 0, 0, "the number of units is public")
            each, what = 1, "one unit is counted once in each group that it is in"
        case CountRows():
            each, what = rows, f"in each group, one unit weighs at most {rows:,} rows"
        case CountDistinct():
            each = _held(part, rows)
            what = f"in each group, one unit weighs at most {each:,} values"
        case CodedSum() | Blend():
            size = part.magnitude
            if replaced:
                low, high = _contributed(part)
                size = high - low
            each = rows * size
            most = _value(part, size)
            what = f"in each group, one unit weighs at most {rows:,} rows of at most {most} each"
        case _:
            raise InternalError(f"no bound in each group for a {type(part).__name__}")
    each <<= extra_bits(part, context)
    return Sensitivity(
        each * context.groups,
        each * each * context.groups,
        each,
        what + (", and is replaced by another" if replaced else ""),
    )

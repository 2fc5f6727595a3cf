"""Parts: the closed vocabulary of exact integers that engines compute and noise is added to.

Front ends, engines, budget and mechanisms know parts, never aggregates by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from dpframe.errors import InternalError
from dpframe.plan.coding import Coding, bits_for
from dpframe.plan.domains import Type
from dpframe.plan.exprs import Call, Expr, conjunction, conjuncts
from dpframe.plan.surroundings import number_of_edges


@dataclass(frozen=True, slots=True)
class Part:
    """Exact integers per group, of the rows where `condition` holds (all of them for None)."""

    condition: Expr | None

    @property
    def cells(self) -> int:
        """How many integers are released per group."""
        return 1

    @property
    def adds_up(self) -> bool:
        """Whether the parts of groups add up to that of their union: what is there twice does not."""
        return True


@dataclass(frozen=True, slots=True)
class CountRows(Part):
    """The number of rows."""


@dataclass(frozen=True, slots=True)
class CountUnits(Part):
    """The number of units that have such a row."""

    @property
    def adds_up(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class CountDistinct(Part):
    """The number of different values of an expression, or of tuples of several; NULL is no value.

    A NULL inside a tuple is a value like any other, as in SQL's `COUNT(DISTINCT (a, b))`. Where units
    are bounded by weight, a value counts as much as the unit that holds it and weighs the most. A
    unit's weight is 1, unless it holds more values than it may weigh rows.
    """

    expr: Expr
    type: Type
    """What is compared: texts byte by byte, and -0.0 is 0.0."""
    beside: tuple[tuple[Expr, Type], ...] = ()
    """What else there is in a tuple."""
    possible: int | None = None
    """How many there can be, if that is known to be finite."""

    @property
    def compared(self) -> tuple[tuple[Expr, Type], ...]:
        """All that is compared."""
        return ((self.expr, self.type), *self.beside)

    @property
    def adds_up(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class CodedSum(Part):
    """The sum of an expression's integer codes, each less `centre`; NULL adds nothing."""

    expr: Expr
    coding: Coding
    centre: int = 0
    nullable: bool = True

    @property
    def magnitude(self) -> int:
        """The most that one row moves the sum by."""
        return self.coding.magnitude(self.centre)

    @property
    def counted(self) -> CountRows:
        """The count of the rows that are added up."""
        if not self.nullable:
            return CountRows(self.condition)
        # How far a value lies above an end is NULL where the value is: COUNT(x) asks for the same.
        value = self.expr
        if isinstance(value, Call) and value.function == "above":
            (value,) = value.args
        present = Call("not", (Call("is_null", (value,)),))
        return CountRows(conjunction((*conjuncts(self.condition), present)))


@dataclass(frozen=True, slots=True)
class Ends:
    """The values of an expression, measured from both ends of their range.

    `above` adds up how far they lie above the low end, `below` how far (less than zero) below the
    high end. Each row adds the whole range to the two together, so they know the count of rows,
    too: it is `above - below`, divided by the range.
    """

    above: CodedSum
    below: CodedSum

    @classmethod
    def of(cls, part: CodedSum) -> Ends | None:
        """Those of the values that a part adds up; None if all are one and the same."""
        low, high = part.coding.low, part.coding.high
        return cls(replace(part, centre=low), replace(part, centre=high)) if low < high else None

    @property
    def span(self) -> float:
        """The range, in units of value."""
        return self.above.coding.value(self.above.coding.high - self.above.coding.low)


@dataclass(frozen=True, slots=True)
class Blend(Part):
    """The sum of a product of two distances, each from an end of the values' range.

    A value lies c codes above the low end and H - c below the high end. The square of c + (H - c),
    which is H^2 in every row, is c^2 + 2c(H - c) + (H - c)^2: three products, one for each number of
    factors that are taken from the low end (`above`). The three sums know the count of rows, their
    sum, and the sum of their squares.

    They are kept on one grid, where H^2 is H * `finer` steps. With q the integer nearest to
    c^2 * finer / H, the products are q, 2(c * finer - q), and H * finer - 2c * finer + q. None is
    negative: c^2 / H lies between max(0, 2c - H) and c, so c^2 * finer / H lies between integers,
    and so does what it is rounded to. In every row they add up to H * finer, to the last step.

    All that an engine computes is q, of a code; so a row counts in all three, or in none. It may
    compute q in doubles: c and q are at most 2^31, so c is exact, three roundings after that are off
    by less than 2^-20 together, and what is off by less than 1/2 is still rounded to the same side
    of an integer.
    """

    expr: Expr
    coding: Coding
    finer: int
    above: int
    nullable: bool = True

    def __post_init__(self) -> None:
        """Refuse what the argument above does not hold for."""
        fits = 1 <= self.reach <= _WIDEST_REACH and 1 <= self.magnitude <= _WIDEST_REACH
        if not fits or self.above not in (0, 1, 2):
            raise InternalError("a Blend on a grid that it is not proven for")

    @classmethod
    def of(cls, codes: CodedSum, max_rows: int) -> tuple[Blend, Blend, Blend] | None:
        """The three of the values that a part adds up, those from the low end alone first.

        None where all values are one, where squares would not fit, or where a grid that is fine
        enough for the values is too coarse for their squares.
        """
        coding, reach = codes.coding, codes.coding.high - codes.coding.low
        exact = coding.is_integer or coding.decimals > 0
        if not (1 if exact else _COARSEST_REACH) <= reach <= _WIDEST_REACH:
            return None
        room = 1 << max(bits_for(max_rows), 0)
        finer = reach if reach * reach <= room else max(room // reach, 1)
        condition, expr, nullable = codes.condition, codes.expr, codes.nullable
        two, one, none = (cls(condition, expr, coding, finer, k, nullable) for k in (2, 1, 0))
        return two, one, none

    @property
    def codes(self) -> CodedSum:
        """The part with the codes that are blended."""
        return CodedSum(self.condition, self.expr, self.coding, 0, self.nullable)

    @property
    def reach(self) -> int:
        """The range, in codes."""
        return self.coding.high - self.coding.low

    @property
    def magnitude(self) -> int:
        """The most that one row moves the sum by: the three together, and so each of them."""
        return self.reach * self.finer

    @property
    def span(self) -> float:
        """The range, in units of value."""
        return self.coding.value(self.reach)

    @property
    def scale(self) -> Fraction:
        """How many steps one unit of value, squared, is."""
        return Fraction(self.magnitude) / (self.reach / self.coding.scale) ** 2

    @property
    def ratio(self) -> float:
        """What c^2 is multiplied with before it is rounded to q."""
        return float(Fraction(self.finer, self.reach))

    @property
    def terms(self) -> tuple[int, int, int]:
        """How often the count of rows, the sum of their codes and the sum of q are added up."""
        of_rows, of_distances, of_squares = {
            2: (0, 0, 1),
            1: (0, 2 * self.finer, -2),
            0: (self.magnitude, -2 * self.finer, 1),
        }[self.above]
        return of_rows - of_distances * self.coding.low, of_distances, of_squares


_WIDEST_REACH = 2**31
"""The largest range in codes, and in steps of a blend: beyond it, doubles were not proven to do."""

_COARSEST_REACH = 2**15
"""Rounding values to codes changes a variance by up to a quarter of a code, squared: 2^-32 of H^2."""


@dataclass(frozen=True, slots=True)
class GridCounts(Part):
    """The number of rows in each cell of a grid over an expression's codes; NULL is in none.

    Cell i holds the codes from `coding.low + i * width` on, `width` of them. The last cells may lie
    beyond the range: they are always empty, and have noise like any other.
    """

    expr: Expr
    coding: Coding
    width: int
    size: int
    """The number of cells."""

    @property
    def cells(self) -> int:
        return self.size

    @property
    def codes(self) -> CodedSum:
        """The part with the same codes: NULL where a row does not count."""
        return CodedSum(self.condition, self.expr, self.coding)


@dataclass(frozen=True, slots=True)
class ChosenCells(GridCounts):
    """A grid of which no count is released as it is: only what is chosen by the counts, or after it."""

    @property
    def adds_up(self) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class RankedCells(ChosenCells):
    """A grid on which the quantiles of some levels are chosen, and rows are counted around them.

    Released is a position for each level: cell i has the positions from `i * GRAINS` on. They say
    where in a cell a quantile lies if the rows of the cell lie evenly in it. After them come edges,
    which follow from the positions (`surroundings`), and noisy counts of the rows between these.
    """

    levels: tuple[Fraction, ...]
    counted: bool = True
    """Whether rows are counted around what is chosen; if not, positions are all that is released."""

    def __hash__(self) -> int:
        return hash((self.expr, self.width, len(self.levels)))  # hashing fractions takes long

    @property
    def cells(self) -> int:
        around = 2 * number_of_edges(len(self.levels), self.inside) - 1
        return len(self.levels) + (around if self.counted else 0)

    @property
    def inside(self) -> int:
        """How many of the cells begin inside the range."""
        return -(-(self.coding.high - self.coding.low + 1) // self.width)


@dataclass(frozen=True, slots=True)
class FrequentCell(ChosenCells):
    """A grid of which a cell with many rows is chosen: its number is released."""

    @property
    def cells(self) -> int:
        return 1


GRAINS = 4096
"""Positions in a cell of `RankedCells`."""


def step_of(part: Part, bits: int) -> Fraction:
    """The value of one integer step of a part that is measured some bits finer than its code."""
    scale = part.coding.scale if isinstance(part, CodedSum) else Fraction(1)
    scale = part.scale if isinstance(part, Blend) else scale
    return 1 / (scale * (1 << bits))

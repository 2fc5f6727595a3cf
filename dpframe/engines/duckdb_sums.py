"""Sums of codes on DuckDB, in the fastest arithmetic that is exact for the rows at hand.

Clamping every value, and casting it to an integer, costs DuckDB half as much again as reading and
adding up does. Neither has to be done row by row. What is measured is the same integer in all three
ways. Of a way that cannot vouch for its result the part is NULL, which it is otherwise never, and the
next way is tried. That takes time, which is not hidden; it changes no answer.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import reduce
from typing import Protocol

import polars as pl

from dpframe.bounds.rows import Stored
from dpframe.declare import Table
from dpframe.engines.base import Request
from dpframe.engines.duckdb_text import (
    clamped_once,
    code_of,
    double_code_of,
    unclamped_code_of,
)
from dpframe.plan.coding import EXACT_DOUBLES, ROUNDING
from dpframe.plan.exprs import Column
from dpframe.plan.parts import Blend, CodedSum, Part
from dpframe.plan.sqltext import duckdb_literal, duckdb_name


class Columns(Protocol):
    """The columns that are computed once per row, below the aggregation."""

    def __call__(self, sql: str) -> str:
        """The name of a column that holds some SQL."""

    def value(self, sql: str) -> str:
        """The same of one that these columns are computed from."""


class Way(Enum):
    """How codes are added up: each way is slower than the one before, and exact for more rows."""

    UNCLAMPED = auto()
    """In doubles, and no row is clamped: the range is known from two sums (`_from_distances`)."""
    DOUBLES = auto()
    """In doubles, which hold the sum of n codes of magnitude H exactly while n * H <= 2^53."""
    INTEGERS = auto()
    """In 128 bits, which hold any."""


def ways_of(request: Request, beyond: Collection[str]) -> list[Way]:
    """The ways that are worth trying for a request, in order; `beyond` names columns (`bare_columns`).

    Rows are left unclamped only where a whole table is added up, or its groups by columns as they
    are. Whether that succeeds depends on single rows, by NaN, infinity, or what is tens of millions
    of ranges off; so were there a WHERE, or a key that is computed, the time that a query takes
    would tell whether such a row is among those that it names. So it tells one bit about a column
    and the columns that it is grouped by, until it fails: `beyond` has the columns where it did.
    """
    if not any(_fits(part) for part in request.parts):
        return [Way.INTEGERS]
    bare = bare_columns(request)
    if bare and bare.isdisjoint(beyond):
        return list(Way)
    return [Way.DOUBLES, Way.INTEGERS]


def bare_columns(request: Request) -> set[str]:
    """Columns of a whole table that are added up, and need not be clamped for that."""
    if request.where is not None or not isinstance(request.source, Stored):
        return set()
    if not all(isinstance(key, Column) for key in request.keys):
        return set()
    return {
        part.expr.name
        for part in request.parts
        if isinstance(part, CodedSum)
        and isinstance(part.expr, Column)
        and _unclamped(part, request.table) is not None
    }


def _unclamped(part: CodedSum, table: Table) -> str | None:
    return unclamped_code_of(part, table) if _fits(part) else None


def _fits(part: Part) -> bool:
    """Whether a part adds up codes on a grid of which doubles hold more than a few."""
    if not isinstance(part, CodedSum | Blend) or part.coding.is_integer:
        return False
    return _largest(part) <= _LARGEST_DOUBLE


_LARGEST_DOUBLE = 2**31
"""Of larger codes, doubles would not hold the sum of a few million."""


def _largest(part: CodedSum | Blend) -> int:
    """The largest magnitude of what is added up for a part."""
    codes = part.coding.magnitude()
    return max(codes, part.magnitude) if isinstance(part, Blend) else codes


@dataclass(frozen=True, slots=True)
class Total:
    """A part in one group: aggregates times integers, added up, and divided by `divisor` at the end.

    It is known only where each aggregate that `below` names lies below its number. Aggregates are
    whole numbers, whatever their type.
    """

    terms: Mapping[str, int]
    """The SQL of an aggregate, and how often it counts."""
    divisor: int = 1
    below: Mapping[str, int] = field(default_factory=dict)

    @property
    def sql(self) -> str:
        """The part itself, where nothing is in question: it saves little, and costs planning."""
        assert self.divisor == 1
        assert not self.below
        one, *others = (
            f"COALESCE({sql}, 0)" if times == 1 else f"{times}::HUGEINT * COALESCE({sql}, 0)"
            for sql, times in self.terms.items()
        )
        return f"({' + '.join([one, *others])})" if others else one

    def read(self, column: Callable[[str], pl.Expr]) -> pl.Expr:
        """The part, from columns that hold the aggregates; NULL where it is not known."""
        # Not strictly: of an aggregate that is too large, or NaN, the part is not known.
        integers = {s: column(s).fill_null(0).cast(pl.Int128, strict=False) for s in self.terms}
        whole = [v if self.terms[s] == 1 else v * self.terms[s] for s, v in integers.items()]
        total = reduce(operator.add, whole)
        total = total if self.divisor == 1 else total // self.divisor
        if not self.below:
            return total
        # An aggregate of no rows is NULL; NaN is below nothing.
        known = [column(sql).fill_null(0) < most for sql, most in self.below.items()]
        return pl.when(*known).then(total)


class Aggregates:
    """The aggregates that some totals are made of, each selected once."""

    def __init__(self, totals: Sequence[Total]) -> None:
        self._totals = totals
        listed = dict.fromkeys(sql for t in totals for sql in (*t.terms, *t.below))
        self._names = {sql: f"a{i}" for i, sql in enumerate(listed)}

    @property
    def selected(self) -> list[str]:
        """What to select."""
        return [f"{sql} AS {name}" for sql, name in self._names.items()]

    @property
    def names(self) -> list[str]:
        """What the selected columns are called."""
        return list(self._names.values())

    @property
    def parts(self) -> list[pl.Expr]:
        """The totals, from these columns."""
        return [total.read(lambda sql: pl.col(self._names[sql])) for total in self._totals]


def total_of(part: CodedSum | Blend, table: Table, way: Way, column: Columns) -> Total:
    """How a part is added up in a way."""
    if isinstance(part, Blend):
        return _blended(part, table, way, column)
    unclamped = _unclamped(part, table) if way is Way.UNCLAMPED else None
    if unclamped is not None:
        return _from_distances(part, table, column(unclamped))
    repeated = clamped_once(part, table)
    if repeated is not None:
        return _from_values(part, table, column(repeated), column)
    doubles = _in_doubles(part, way)
    code = _code(part, table, doubles, column)
    terms = {f"SUM({code})": 1}
    if part.centre != 0:
        terms[f"COUNT({code})"] = -part.centre
    return Total(terms, below=_few(part, code) if doubles else {})


def count_of(part: CodedSum, table: Table, way: Way, column: Columns) -> Total:
    """The number of the rows that a part adds up."""
    unclamped = _unclamped(part, table) if way is Way.UNCLAMPED else None
    if unclamped is not None:  # NaN is no value, but only the sums tell that it is there
        code = column(unclamped)
        return Total({_rows(part, table, code): 1}, below=_exact(_distances(part, code)))
    if clamped_once(part, table) is not None:
        return Total({_rows(part, table, column(duckdb_name(_name(part)))): 1})
    return Total({f"COUNT({_code(part, table, _in_doubles(part, way), column)})": 1})


def _from_values(part: CodedSum, table: Table, clamped: str, column: Columns) -> Total:
    """The sum of a column that `clamped_once` clamps: of a NULL it makes the low end."""
    low, rows = part.coding.low, _rows(part, table, column(duckdb_name(_name(part))))
    # The low end of every row that has no value is taken away again, and the centre of those that do.
    terms: Counter[str] = Counter({f"SUM({clamped})": 1})
    terms.update({rows: low - part.centre})
    terms.subtract({"COUNT(*)": low})
    return Total({sql: times for sql, times in terms.items() if times})


def _blended(part: Blend, table: Table, way: Way, column: Columns) -> Total:
    """A blend, from sums that the three of them share; a code is read once for all."""
    doubles = _in_doubles(part, way)  # of the blend, for its codes as well
    code = _code(part.codes, table, doubles, column)
    low, ratio = duckdb_literal(float(part.coding.low)), duckdb_literal(part.ratio)
    if doubles:
        above, constant = f"({code} - {low})", duckdb_literal(ROUNDING)
        square = f"({above} * {above} * {ratio} + {constant}) - {constant}"
    else:
        above = f"(CAST({code} AS DOUBLE) - {low})"
        # Inside the range the cast cannot fail. A row that WHERE drops may be computed first,
        # whatever it holds; it must not raise.
        square = f"TRY_CAST({above} * {above} * {ratio} AS BIGINT)"
    rows, codes, squares = part.terms
    terms = {f"COUNT({code})": rows, f"SUM({code})": codes, f"SUM({square})": squares}
    return Total(terms, below=_few(part, code) if doubles else {})


def _code(part: CodedSum, table: Table, doubles: bool, column: Columns) -> str:
    return column((double_code_of if doubles else code_of)(part, table, column.value))


def _in_doubles(part: CodedSum | Blend, way: Way) -> bool:
    return way is not Way.INTEGERS and _fits(part)


def _few(part: CodedSum | Blend, code: str) -> dict[str, int]:
    """Doubles are added up exactly while no partial sum can be beyond 2^53."""
    return {f"COUNT({code})": EXACT_DOUBLES // _largest(part) + 1}


def _from_distances(part: CodedSum, table: Table, code: str) -> Total:
    """The sum of clamped codes, from how far the codes lie from both ends l and h of their range.

    |c - l| - |c - h| is h - l above the range, l - h below it, and 2c - l - h inside. So it is
    2k - l - h with k the clamped code, and the sum of k follows from the two sums of distances and
    the number of codes.

    Both sums are exact if they come out below 2^52. Codes are multiples of 1/2: rounding leaves whole
    numbers, but for halves between -2^52 and -2^51, where doubles are that dense. Adding what is not
    negative never makes a double smaller, in whatever order, so no partial sum was above the last
    one, and a multiple of 1/2 below 2^52 is a double: nothing was ever rounded. A distance that was
    itself rounded would be above 2^52. NaN and infinity are not below it, either. Twice the sums are
    whole numbers.
    """
    low, high = part.coding.low, part.coding.high
    above, below = distances = _distances(part, code)
    codes, rows = f"COUNT({code})", _rows(part, table, code)
    # Four times k - l for every code, and l - centre for every row. Some of these may be the same.
    terms: Counter[str] = Counter()
    terms.update({above: 1})
    terms.subtract({below: 1})
    terms.update({codes: 2 * (high - low)})
    terms.update({rows: 4 * (low - part.centre)})
    return Total(terms, 4, _exact(distances))


def _distances(part: CodedSum, code: str) -> tuple[str, str]:
    """Twice the sum of how far codes lie from the low end of their range, and from the high one."""
    low, high = (
        f"2 * SUM(ABS({code} - {duckdb_literal(float(end))}))" if end else f"2 * SUM(ABS({code}))"
        for end in (part.coding.low, part.coding.high)
    )
    return low, high


def _exact(distances: Iterable[str]) -> dict[str, int]:
    """Below these, the sums are exact."""
    return dict.fromkeys(distances, EXACT_DOUBLES)


def _rows(part: CodedSum, table: Table, code: str) -> str:
    """The rows that are added up: where NULL is read as the low end, all of them."""
    return f"COUNT({code})" if table.domains[_name(part)].nullable else "COUNT(*)"


def _name(part: CodedSum) -> str:
    """The column that a sum is of."""
    assert isinstance(part.expr, Column)
    return part.expr.name

"""Sums of codes on DuckDB, in the fastest arithmetic that is exact for the rows at hand.

Clamping every value, and casting it to an integer, costs DuckDB half as much again as reading and
adding up does. Neither has to be done row by row. What is measured is the same integer in all three
ways. A way that cannot vouch for its result says NULL, which no part is otherwise, and the next way
is tried. That takes time, which is not hidden; it changes no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import Enum, auto

from dpframe.bounds.rows import Stored
from dpframe.declare import Table
from dpframe.engines.base import Request
from dpframe.engines.duckdb_text import code_of, double_code_of, unclamped_code_of
from dpframe.plan.coding import EXACT_DOUBLES, ROUNDING
from dpframe.plan.exprs import Column
from dpframe.plan.parts import Blend, CodedSum, Part
from dpframe.plan.sqltext import duckdb_literal

Columns = Callable[[str], str]
"""The name of a column that holds some SQL, computed once per row below the aggregation."""


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

    Rows are left unclamped only where a whole table is added up. Whether that succeeds depends on
    single rows, by NaN, infinity, or what is farther off than a million ranges; so were there a
    WHERE, the time that a query takes would tell whether such a row is among those that it names.
    Of a whole table it tells one bit about a column, and `beyond` has the columns where that is known.
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


def sum_sql(part: CodedSum, table: Table, way: Way, column: Columns) -> str:
    """The exact sum of a part in one group, or NULL where this way does not know it."""
    unclamped = _unclamped(part, table) if way is Way.UNCLAMPED else None
    if unclamped is not None:
        return _from_distances(part, table, column(unclamped))
    code = _code(part, table, way, column)
    if way is Way.INTEGERS or not _fits(part):
        total = f"COALESCE(SUM({code}), 0)"
        return total if part.centre == 0 else f"({total} - {part.centre}::HUGEINT * COUNT({code}))"
    return _if_few(part, code, f"{_whole(code)} - {part.centre}::HUGEINT * COUNT({code})")


def count_sql(part: CodedSum, table: Table, way: Way, column: Columns) -> str:
    """The number of the rows that a part adds up."""
    unclamped = _unclamped(part, table) if way is Way.UNCLAMPED else None
    if unclamped is not None:
        return _rows(part, table, column(unclamped))
    return f"COUNT({_code(part, table, way, column)})"


def blend_sql(part: Blend, table: Table, way: Way, column: Columns) -> str:
    """A blend, from sums that the three of them share; a code is read once for all."""
    code = _code(part.codes, table, way, column)
    low = duckdb_literal(float(part.coding.low))
    rows, codes, squares = part.terms
    if way is not Way.INTEGERS and _fits(part):
        constant, above = duckdb_literal(ROUNDING), f"({code} - {low})"
        square = f"(({above} * {above} * {duckdb_literal(part.ratio)} + {constant}) - {constant})"
        total = (
            f"{rows}::HUGEINT * COUNT({code}) + {codes}::HUGEINT * {_whole(code)}"
            f" + ({squares}) * {_whole(square)}"
        )
        return _if_few(part, code, total)
    above = f"(CAST({code} AS DOUBLE) - {low})"
    # Inside the range the cast cannot fail. A row that WHERE drops may be computed first, whatever
    # it holds; it must not raise.
    square = f"TRY_CAST({above} * {above} * {duckdb_literal(part.ratio)} AS BIGINT)"
    return (
        f"({rows}::HUGEINT * COUNT({code}) + {codes}::HUGEINT * COALESCE(SUM({code}), 0)"
        f" + ({squares}) * COALESCE(SUM({square}), 0))"
    )


def _code(part: CodedSum, table: Table, way: Way, column: Columns) -> str:
    in_doubles = way is not Way.INTEGERS and _fits(part)
    return column(double_code_of(part, table) if in_doubles else code_of(part, table))


def _whole(code: str) -> str:
    """The sum of doubles that are whole numbers, as an integer."""
    return f"COALESCE(TRY_CAST(SUM({code}) AS HUGEINT), 0)"


def _if_few(part: CodedSum | Blend, code: str, total: str) -> str:
    """A total of doubles, where their number proves that it is exact: no partial sum is beyond 2^53."""
    return f"CASE WHEN COUNT({code}) <= {EXACT_DOUBLES // _largest(part)} THEN {total} END"


def _from_distances(part: CodedSum, table: Table, code: str) -> str:
    """The sum of clamped codes, from how far the codes lie from both ends l and h of their range.

    |c - l| - |c - h| is h - l above the range, l - h below it, and 2c - l - h inside. So it is
    2k - l - h with k the clamped code, and the sum of k follows from the two sums of distances, A
    and B, and the number of codes.

    A and B are exact if both come out below 2^52. Codes are multiples of 1/2: rounding leaves whole
    numbers, but for halves between -2^52 and -2^51, where doubles are that dense. Adding what is not
    negative never makes a double smaller, in whatever order, so no partial sum was above the last
    one, and a multiple of 1/2 below 2^52 is a double: nothing was ever rounded. A distance that was
    itself rounded would be above 2^52. NaN and infinity are not below it, either.
    """
    coding = part.coding
    zero, most = duckdb_literal(0.0), duckdb_literal(2.0**52)
    distances = (
        f"{code} - {duckdb_literal(float(end))}" if end else code
        for end in (coding.low, coding.high)
    )
    above, below = (f"COALESCE(SUM(ABS({distance})), {zero})" for distance in distances)
    clamped = (
        f"(TRY_CAST({above} - {below} AS HUGEINT)"
        f" + {coding.high - coding.low}::HUGEINT * COUNT({code})) // 2"
    )
    others = f"{coding.low - part.centre}::HUGEINT * {_rows(part, table, code)}"
    return f"CASE WHEN {above} < {most} AND {below} < {most} THEN {clamped} + {others} END"


def _rows(part: CodedSum, table: Table, code: str) -> str:
    """The rows that are added up: where NULL is read as the low end, all of them."""
    assert isinstance(part.expr, Column)
    return f"COUNT({code})" if table.domains[part.expr.name].nullable else "COUNT(*)"

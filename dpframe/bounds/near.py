"""Numbers in a narrow range far from 0, which are moved next to it before they are coded.

The grid of codes is as fine as the largest magnitude allows, so that a few values around 2^60 would
all have one code. How far they lie above the low end of their range has a grid of its own, and
whoever adds up, averages or orders that gets to what was asked for with the low end, which is public.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from dpframe.bounds.analysis import Typed, typed
from dpframe.plan.coding import Coding, coding_for, is_far_from_zero
from dpframe.plan.domains import Domain
from dpframe.plan.exprs import Call, Expr
from dpframe.plan.parts import CodedSum


@dataclass(frozen=True, slots=True)
class Near:
    """A number less `offset`, and how it is coded. Most numbers are coded as they are."""

    expr: Expr
    """The difference, not analysed yet."""
    typed: Typed
    offset: int | float
    coding: Coding

    def summed(self, where: Expr | None, centre: int) -> CodedSum:
        """The sum of the codes of the difference, each less `centre`."""
        domain = self.typed.domain
        return CodedSum(where, self.typed.expr, self.coding, centre, domain.nullable)

    def value(self, code: int) -> float:
        """The number that a code of the difference stands for."""
        return float(Fraction(self.offset) + code / self.coding.scale)


def near_zero(expr: Expr, found: Typed, columns: Mapping[str, Domain], max_rows: int = 1) -> Near:
    """A bounded number, of which a unit contributes up to `max_rows` values, next to 0.

    >>> from dpframe.plan.domains import Type
    >>> from dpframe.plan.exprs import Column
    >>> columns = {"x": Domain(Type.INT, 2**60, 2**60 + 1000)}
    >>> near = near_zero(Column("x"), typed(Column("x"), columns), columns)
    >>> near.coding.high, near.value(3) == 2.0**60 + 3
    (1000, True)
    """
    domain, offset = found.domain, 0
    if is_far_from_zero(domain, max_rows):
        offset = domain.low
        expr = Call("above", (expr,), (domain.low, domain.high), place=expr.origin)
        found = typed(expr, columns)
    return Near(expr, found, offset, coding_for(found.domain, max_rows))

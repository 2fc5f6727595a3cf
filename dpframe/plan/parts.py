"""Parts: the closed vocabulary of exact integers that engines compute and noise is added to.

Front ends, engines, budget and mechanisms know parts, never aggregates by name.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpframe.plan.coding import Coding
from dpframe.plan.exprs import Expr


@dataclass(frozen=True, slots=True)
class Part:
    """One exact integer per group, of the rows where `condition` holds (all of them for None)."""

    condition: Expr | None


@dataclass(frozen=True, slots=True)
class CountRows(Part):
    """The number of rows."""


@dataclass(frozen=True, slots=True)
class CountUnits(Part):
    """The number of units that have such a row."""


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

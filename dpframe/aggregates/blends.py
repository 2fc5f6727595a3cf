"""Blends: three sums with one loss, from which counts, sums, means and variances follow."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import polars as pl

from dpframe.aggregates.base import Recipe
from dpframe.aggregates.moments import LARGEST, SMALLEST
from dpframe.declare import Table
from dpframe.plan.parts import Blend, CodedSum, CountRows, Part

BLENDED = "squares and products of distances from both ends of a range"
"""What recipes of these parts are called."""

Noisy = Mapping[str, pl.Expr]


@dataclass(frozen=True, slots=True)
class Blends:
    """The three blends of the same values: squares from the low end, products, squares from above.

    They are worth a^2, 2ab and b^2 with a + b the range, in units of value. What is linear in 1, x
    and x^2 is linear in them: 1 has the coefficients (1, 1, 1) over the range squared, and x has
    the high end, the middle and the low end.
    """

    above: Blend
    between: Blend
    below: Blend

    @classmethod
    def around(cls, part: Blend) -> Blends:
        """The three of which a part is one."""
        return cls(*(replace(part, above=factors) for factors in (2, 1, 0)))

    @property
    def parts(self) -> dict[str, Part]:
        """The parts, by the role that they have in a recipe."""
        return {"above": self.above, "between": self.between, "below": self.below}

    @property
    def span(self) -> float:
        """The range of the values."""
        return self.above.span

    def moments(self, noisy: Noisy) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
        """The count of rows, and the means of a and of a^2, in ranges and squared ranges."""
        above, between, below = noisy["above"], noisy["between"], noisy["below"]
        whole = above + between + below
        return whole / self.span**2, (above + between / 2) / whole, above / whole

    def coefficients(self, part: Part) -> dict[str, float] | None:
        """A count or sum of the same values as a sum of the three, each times a number."""
        codes, square = self.above.codes, self.span**2
        if isinstance(part, CountRows) and part == codes.counted:
            return dict.fromkeys(self.parts, 1 / square)
        if isinstance(part, CodedSum) and replace(part, centre=0) == codes:
            coding = part.coding
            low, high = (coding.value(c - part.centre) for c in (coding.low, coding.high))
            ends = {"above": high, "between": (low + high) / 2, "below": low}
            return {role: value / square for role, value in ends.items()}
        return None

    def instead(self, recipe: Recipe) -> Recipe | None:
        """A recipe of counts and sums of these values, from blends; None if it needs others."""
        found = {role: self.coefficients(part) for role, part in recipe.parts.items()}
        known = {role: each for role, each in found.items() if each is not None}
        if len(known) < len(found) or recipe.place is not None:
            return None

        def replaced(noisy: Noisy) -> dict[str, pl.Expr]:
            return {
                role: reduce(add, (noisy[name] * factor for name, factor in each.items()))
                for role, each in known.items()
            }

        # Of a single part this is exact. Of several, their signs are not known.
        weights = {
            name: math.hypot(*(recipe.weights[role] * each[name] for role, each in known.items()))
            for name in self.parts
        }
        possible, redrawn, ends = recipe.possible, recipe.redrawn, recipe.ends
        return Recipe(
            self.parts,
            weights,
            lambda noisy: recipe.finish(replaced(noisy)),
            BLENDED,
            None if possible is None else lambda noisy: possible(replaced(noisy)),
            None if redrawn is None else lambda *given: redrawn(*map(replaced, given)),
            None if ends is None else lambda noisy: ends(replaced(noisy)),
        )


def blends_of(codes: CodedSum, table: Table) -> Blends | None:
    """The blends of values that a part adds up, where they are bounded together.

    They are not where units are replaced. A public table needs no noise, so nothing is gained. Of
    ranges whose squares are no floats there is no variance.
    """
    is_a_float = SMALLEST <= codes.coding.half_width <= LARGEST
    if table.public or table.neighbors != "add_remove" or not is_a_float:
        return None
    found = Blend.of(replace(codes, centre=0), table.max_rows)
    return None if found is None else Blends(*found)

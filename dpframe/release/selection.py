"""Which private keys are shown: partition selection, its odds and its loss.

Each unit adds to the keys that it holds, and a key is shown if its total, with noise, is large
enough; the mechanisms and their proofs are in `mechanisms.partitions`. Totals are exact integers:

- Where each row is a unit, it adds 1 to its one key. `TruncatedGeometric` shows as many keys as an
  (epsilon, delta) allows at all; for a rho, a Gaussian threshold may show more.
- Other units spread a weight of 1 over their keys: 1/t to each of t keys for Laplace noise (L1
  norm 1), 1/sqrt(t) for Gaussian noise (L2 norm 1), rounded down to the grid. No key is sampled. A
  unit in very many groups, more than `most_keys`, adds nothing: any one of its keys could give it
  away, and the threshold has to cover all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import polars as pl

from dpframe.aggregates.base import MOST_CELLS
from dpframe.aggregates.compile import Compiled
from dpframe.bounds.keys import MOST_GROUPS, ChosenKeys, refuse_private
from dpframe.bounds.sensitivity import COUNT_BITS
from dpframe.budget.budget import Budget
from dpframe.budget.convert import largest_epsilon_in_rho
from dpframe.budget.exact import Number, positive
from dpframe.budget.filters import Filter
from dpframe.budget.loss import Loss
from dpframe.declare import Table
from dpframe.engines.base import Engine, Request, candidates_request
from dpframe.errors import ParameterError, QueryError
from dpframe.mechanisms import (
    Source,
    ThresholdedGaussian,
    ThresholdedLaplace,
    TruncatedGeometric,
)
from dpframe.plan.parts import CountRows, CountUnits

SELECTION_SHARE = Fraction(1, 3)
"""The part of a query's cost that choosing its keys takes; all of it if nothing is measured."""

DELTA_SHARE = Fraction(1, 10)
"""The part of the delta kept for mechanisms that a query takes when nothing else is said."""

_FEWEST_KEYS = 16
_LEAST_DELTA = Fraction(1, 1 << 200)
_LEAST_GEOMETRIC = Fraction(1, 1 << 14), Fraction(1, 1 << 60)
"""The epsilon and delta from which on a table of probabilities is short and exact enough."""


def most_keys(table: Table) -> int:
    """How many keys a unit may hold and still have a say in which are shown.

    >>> from dpframe.declare import Unit
    >>> most_keys(Table("visits", {}, {}, Unit("patient", max_rows=10)))
    40
    """
    return 1 if table.unit_column is None else max(_FEWEST_KEYS, 4 * table.max_rows)


@dataclass(frozen=True)
class Selection:
    """A rule that decides which private keys are shown."""

    rule: TruncatedGeometric | ThresholdedLaplace | ThresholdedGaussian
    table: Table

    @cached_property
    def loss(self) -> Loss:
        """What showing keys costs: replacing a unit is removing one and adding another."""
        return self.rule.loss.for_group(2) if self.table.neighbors == "replace" else self.rule.loss

    @property
    def norm(self) -> int:
        """The norm in which a unit spreads its weight."""
        return 2 if isinstance(self.rule, ThresholdedGaussian) else 1

    @property
    def name(self) -> str:
        """For the ledger, and for people."""
        return {
            TruncatedGeometric: "truncated geometric",
            ThresholdedLaplace: "thresholded Laplace",
            ThresholdedGaussian: "thresholded Gaussian",
        }[type(self.rule)]

    def units_for(self, confidence: float) -> int:
        """How many units, that hold no other key, make a key shown with this confidence."""
        if isinstance(self.rule, TruncatedGeometric):
            return self.rule.units_for(confidence)
        return -(-self.rule.total_for(confidence) // _one(self.table))

    def request(self, compiled: Compiled) -> Request:
        """The totals that the rule decides by."""
        rows = compiled.table.unit_column is None
        return candidates_request(
            compiled,
            CountRows(None) if rows else CountUnits(None),
            bits=0 if rows else COUNT_BITS,
            norm=self.norm,
            most_groups=most_keys(compiled.table),
        )

    def choose(self, compiled: Compiled, engine: Engine, source: Source) -> ChosenKeys:
        """Choose keys. What comes out is released: nothing exact leaves this function."""
        keys, totals = engine.candidates(self.request(compiled))
        kept = keys.filter(pl.Series(self.rule.keep(totals, source), dtype=pl.Boolean))
        chosen = ChosenKeys(kept, self.units_for(0.5), self.units_for(0.99))
        return chosen.first(_most_chosen(compiled))


def every_key(compiled: Compiled, engine: Engine) -> ChosenKeys:
    """All keys, exactly: for public tables only."""
    keys, _ = engine.candidates(
        candidates_request(
            compiled,
            CountRows(None) if compiled.table.unit_column is None else CountUnits(None),
            bits=0,
            norm=1,
            most_groups=None,
        )
    )
    if keys.height <= _most_chosen(compiled):
        return ChosenKeys(keys, 1, 1)
    groups = keys.height * max(1, compiled.public.height)
    raise QueryError(
        f"the keys make {groups:,} groups",
        why=f"this query may have {_most_groups(compiled):,} groups",
        fix="group by fewer columns, or by coarser ones, for example LEFT(zip, 3)",
    )


def with_few_keys(compiled: Compiled) -> Compiled:
    """The query over released keys, no more of them than it may have.

    Another query may have been allowed more of them: where a group takes a whole grid of counts,
    there are fewer.
    """
    if compiled.chosen is None:
        return compiled
    return compiled.with_keys(compiled.chosen.first(_most_chosen(compiled)))


def refuse_crowded(compiled: Compiled) -> None:
    """Refuse public keys that leave no room for a single private one, before anything is spent."""
    if compiled.awaits_keys and not _most_chosen(compiled):
        raise QueryError(
            f"the public keys alone make {compiled.public.height:,} groups",
            why=f"this query may have {_most_groups(compiled):,} groups; each takes a grid of counts",
            fix="group by fewer columns, or by coarser ones, for example age // 10",
        )


def _most_groups(compiled: Compiled) -> int:
    return MOST_GROUPS if compiled.cells == 1 else MOST_CELLS // compiled.cells


def _most_chosen(compiled: Compiled) -> int:
    """How many private keys a query may have, each with every combination of the public ones."""
    return _most_groups(compiled) // max(1, compiled.public.height)


def _one(table: Table) -> int:
    """What a unit with one key adds to it, in integer steps."""
    return 1 if table.unit_column is None else 1 << COUNT_BITS


def pure_selection(table: Table, epsilon: Fraction, delta: Fraction) -> Selection:
    """The rule that a pure epsilon buys, beside its delta."""
    if table.neighbors == "replace":
        epsilon, delta = epsilon / 2, delta / 2
    least_epsilon, least_delta = _LEAST_GEOMETRIC
    optimal = table.unit_column is None and table.neighbors == "add_remove"
    if optimal and epsilon >= least_epsilon and delta >= least_delta:
        return Selection(TruncatedGeometric(epsilon, delta), table)
    one = _one(table)
    return Selection(
        ThresholdedLaplace(epsilon, delta, most_keys(table), per_key=one, l1_sensitivity=one), table
    )


def concentrated_selection(table: Table, rho: Fraction, delta: Fraction) -> Selection:
    """The rule that a rho buys, beside its delta: the one that shows smaller groups."""
    own_rho, own_delta = (rho / 4, delta / 2) if table.neighbors == "replace" else (rho, delta)
    gaussian = ThresholdedGaussian(own_rho, own_delta, most_keys(table), grid=_one(table))
    epsilon = largest_epsilon_in_rho(rho)
    offers = [Selection(gaussian, table)]
    if epsilon > 0:
        offers.append(pure_selection(table, epsilon, delta))
    return min(offers, key=lambda offer: offer.units_for(0.5))


def refuse_keys(compiled: Compiled, *budgets: Budget) -> None:
    """Refuse keys that cannot be chosen, or not on one of these budgets."""
    refuse_crowded(compiled)
    for budget in budgets:
        _refuse_without_delta(compiled, budget)


def _refuse_without_delta(compiled: Compiled, budget: Budget) -> None:
    """Refuse keys that would have to be chosen, on a budget that does not allow it."""
    if budget.delta is None and not compiled.table.public:
        why = f"choosing some takes a delta, which the budget ({budget}) has not"
        refuse_private(compiled.keys, compiled.private, why)


def delta_for(said: Number | None, share: Fraction | None, budget: Budget) -> Fraction:
    """The delta of a selection: as said, or a part of what the budget keeps for mechanisms.

    A query that costs a share of the budget takes that share of it, any other query a tenth.
    """
    if said is None:
        return Filter.for_budget(budget).share(DELTA_SHARE if share is None else share).delta
    delta = positive(said, "delta")
    if not _LEAST_DELTA <= delta < 1:
        raise ParameterError(
            f"delta={said} is not between 2**-200 and 1",
            why="it is the chance that a key which one unit alone holds is shown",
            fix="delta=1e-8, far below 1 over the number of units",
        )
    return delta

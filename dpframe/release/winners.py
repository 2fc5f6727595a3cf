"""Queries that return winners only: which groups come first, and not by how much.

`SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1` could be answered from noisy
counts. Choosing the winner privately, without its count, takes far less noise. For many winners
noisy counts may be the better way after all: of the two, the one with the smaller error is taken.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from fractions import Fraction

from dpframe.aggregates.compile import Compiled
from dpframe.budget.exact import readable
from dpframe.engines.base import Engine, request_for
from dpframe.errors import QueryError
from dpframe.mechanisms import Source
from dpframe.plan.exprs import Column, Expr, columns_of, transform
from dpframe.plan.fingerprint import canonical, canonical_part, canonical_where, fingerprint
from dpframe.plan.nodes import Aggregate, Limit, Node, Project, Sort, aggregate_of
from dpframe.release.choice import (
    Ballot,
    ChoiceOffer,
    ballot_by,
    choose,
    error_of,
    linear_terms,
)
from dpframe.release.cost import predicted_lead
from dpframe.release.kept_keys import Find, canonical_names, table_words
from dpframe.release.noisy import NoisyParts, keys_alone
from dpframe.release.offer import Offer

_CONFIDENCE = 0.95
"""The confidence at which two ways to find winners are compared, and a winner's error is said."""


@dataclass(frozen=True, slots=True)
class Contest:
    """A query for the `k` groups with the best score, that shows their keys and nothing else."""

    ballot: Ballot
    score: Expr
    k: int
    largest: bool
    outputs: tuple[tuple[str, Expr], ...]
    """What is shown, computed from keys."""

    @property
    def compiled(self) -> Compiled:
        """The query."""
        return self.ballot.compiled

    def is_better(self, choice: ChoiceOffer, counts: Offer) -> bool:
        """Whether a choice finds winners with a smaller error than noisy scores would."""
        return error_of(self.ballot, choice, _CONFIDENCE) < self.error_of_noisy(counts)

    def error_of_noisy(self, counts: Offer) -> float:
        """How far the j-th largest noisy score's group may be below the j-th best, for all j <= k.

        Of the j best groups, one is not among the first j - 1 that were taken. The j-th that was
        taken has a larger noisy score than that one, so it is behind by at most the difference of
        their noise. There are at most k (groups - 1) such pairs, and a union bound covers them.
        """
        terms = linear_terms(self.score)
        failure = (1 - _CONFIDENCE) / (self.k * (self.compiled.groups - 1) * len(terms))
        places = {name: i for i, (name, _) in enumerate(self.compiled.aggregates)}
        return sum(
            abs(float(factor)) * predicted_lead(counts, places[name], failure)
            for name, factor in terms.items()
        )

    def hold(self, engine: Engine, choice: ChoiceOffer, source: Source) -> list[int]:
        """Choose the winners. What comes out is released: nothing exact leaves this function."""
        measured = engine.measure(request_for(self.compiled, self.ballot.layout))
        return choose(self.ballot, choice, measured, source)

    def released(self, winners: list[int]) -> NoisyParts:
        """The winners as a table without noisy columns."""
        node = aggregate_of(self.compiled.plan)
        plan = Project(Aggregate(node.parent, node.keys, ()), self.outputs)
        frame = self.compiled.frame[winners]
        return keys_alone(replace(self.compiled, plan=plan, frame=frame, aggregates=()))

    def note(self, choice: ChoiceOffer) -> str:
        """How the winners were found."""
        error = readable(Fraction(error_of(self.ballot, choice, _CONFIDENCE)))
        return (
            f"chosen among {self.compiled.groups:,} groups by {choice.name}, without scores; with"
            f" {_CONFIDENCE:.0%} confidence within {error} of the best"
        )

    def note_of_noisy(self, choice: ChoiceOffer, counts: Offer) -> str:
        """How the winners are found where noisy scores are the better way."""
        noisy = readable(Fraction(self.error_of_noisy(counts)))
        error = readable(Fraction(error_of(self.ballot, choice, _CONFIDENCE)))
        return (
            f"{self.k:,}, those with the best noisy scores; with {_CONFIDENCE:.0%} confidence"
            f" within {noisy} of the best (chosen by {choice.name}, within {error})"
        )

    # --- kept on the ledger ----------------------------------------------------------------------

    def kept(self, winners: list[int], choice: ChoiceOffer, version: str) -> dict[str, bytes]:
        """What to store after winners were released."""
        places = {group: place for place, group in enumerate(self._order())}
        body = {"winners": [places[w] for w in winners], "note": self.note(choice)}
        return {self._place(version): json.dumps(body).encode()}

    def known(self, find: Find, version: str) -> tuple[list[int], str] | None:
        """Winners that were released before, the latest ones, and how they were found."""
        found = find(self._place(version))
        if not found:
            return None
        body, order = json.loads(found[-1]), self._order()
        return [order[place] for place in body["winners"]], body["note"]

    def _order(self) -> list[int]:
        """Groups in an order that does not depend on how the query lists its keys."""
        names = canonical_names(self.compiled.keys)
        rows = self.compiled.frame.with_row_index("__dpframe_row").sort(names, nulls_last=True)
        return rows["__dpframe_row"].to_list()

    def _place(self, version: str) -> str:
        compiled, layout = self.compiled, self.ballot.layout
        (weights,) = self.ballot.weights
        terms = [f"{w} {canonical_part(layout.parts[i])}" for i, w in weights.items()]
        keys = [canonical(key.expr) for _, key in compiled.keys]
        words = [*table_words(compiled, version), canonical_where(compiled.where), *sorted(keys)]
        return fingerprint(["winners", *words, f"{self.k} {self.ballot.step}", *sorted(terms)])


def contest_of(compiled: Compiled) -> Contest | None:
    """Read a query as a contest; None if it is none, or if no bound on its score is proven."""
    shape = _shape(compiled.plan)
    if shape is None or compiled.table.public or compiled.private or compiled.groups < 2:
        return None
    if compiled.sets:
        return None  # totals and their groups are no rivals
    outputs, limit, sort, inner = shape
    keys = {name for name, _ in compiled.keys}
    columns = dict(inner.columns)
    shown = tuple((name, _below(expr, columns)) for name, expr in outputs)
    first, *ties = (_below(key.column, columns) for key in sort.by)
    only_keys = all(set(columns_of(expr)) <= keys for expr in (*(e for _, e in shown), *ties))
    if not only_keys or set(columns_of(first)) & keys or not columns_of(first):
        return None
    largest = sort.by[0].descending
    try:
        ballot = ballot_by(compiled, [first], compiled.frame, largest=largest)
    except QueryError:
        return None  # a mean, say: noisy scores are sorted instead
    assert limit.rows is not None
    return Contest(ballot, first, min(limit.rows, compiled.groups), largest, shown)


Shape = tuple[tuple[tuple[str, Expr], ...], Limit, Sort, Project]


def _shape(plan: Node) -> Shape | None:
    """Columns of the first k rows of a sorted table of all groups."""
    match plan:
        case Project(Limit(Sort(Project(Aggregate()) as inner) as sort) as limit, outputs):
            found = outputs, limit, sort, inner
        case Limit(Sort(Project(Aggregate()) as inner) as sort) as limit:
            names = [name for name, _ in inner.columns]
            found = tuple((name, Column(name)) for name in names), limit, sort, inner
        case _:
            return None
    return found if found[1].rows and not found[1].offset else None


def _below(expr: Expr, columns: dict[str, Expr]) -> Expr:
    """An expression over projected columns, as one over what they were computed from."""

    def change(inner: Expr) -> Expr | None:
        return columns[inner.name] if isinstance(inner, Column) else None

    return transform(expr, change)

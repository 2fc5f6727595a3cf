"""Queries that return winners only: which groups come first, and not by how much.

`SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1` could be answered from noisy
counts. Choosing the winner privately, without its count, takes far less noise. For many winners
noisy counts may be the better way after all: of the two, the one with the smaller error is taken.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from dpframe.aggregates.compile import Compiled
from dpframe.budget.exact import readable
from dpframe.engines.base import Engine, request_for
from dpframe.errors import InternalError, QueryError
from dpframe.mechanisms import Source
from dpframe.plan.exprs import Column, Expr, columns_of, transform
from dpframe.plan.fingerprint import canonical, canonical_part, canonical_where, fingerprint
from dpframe.plan.nodes import Aggregate, Filter, Limit, Node, Project, Sort, aggregate_of
from dpframe.release.above import above, looks_at_many_rows, noisy_at_top, noisy_below, reads
from dpframe.release.choice import Ballot, ballot_by, linear_terms
from dpframe.release.chosen import ChoiceOffer, choose, error_of, restored, sure
from dpframe.release.cost import CONFIDENCE, predicted_lead
from dpframe.release.kept_keys import Find, canonical_names, canonical_order, table_words
from dpframe.release.noisy import NoisyParts, finish, keys_alone
from dpframe.release.offer import Offer
from dpframe.release.windows import ROW


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
        return error_of(self.ballot, choice, CONFIDENCE) < self.error_of_noisy(counts)

    def error_of_noisy(self, counts: Offer, confidence: float = CONFIDENCE) -> float:
        """How far the j-th largest noisy score's group may be below the j-th best, for all j <= k.

        Of the j best groups, one is not among the first j - 1 that were taken. The j-th that was
        taken has a larger noisy score than that one, so it is behind by at most the difference of
        their noise. There are at most k (groups - 1) such pairs, and a union bound covers them.
        """
        terms = linear_terms(self.score)
        failure = (1 - confidence) / (self.k * (len(self.ballot.among) - 1) * len(terms))
        places = {name: i for i, (name, _) in enumerate(self.compiled.aggregates)}
        return sum(
            abs(float(factor)) * predicted_lead(counts, places[name], failure)
            for name, factor in terms.items()
        )

    def hold(self, engine: Engine, choice: ChoiceOffer, source: Source) -> list[int]:
        """Choose the winners. What comes out is released: nothing exact leaves this function."""
        measured = engine.measure(request_for(self.compiled, self.ballot.layout))
        return [self.ballot.among[w] for w in choose(self.ballot, choice, measured, source)]

    def released(self, winners: list[int]) -> NoisyParts:
        """The winners as a table without noisy columns."""
        node = aggregate_of(self.compiled.plan)
        plan = Project(Aggregate(node.parent, node.keys, ()), self.outputs)
        frame = self.compiled.frame[winners]
        return keys_alone(replace(self.compiled, plan=plan, frame=frame, aggregates=()))

    def note(self, choice: ChoiceOffer) -> str:
        """How the winners were found."""
        error = readable(Fraction(error_of(self.ballot, choice, choice.confidence)))
        return (
            f"chosen among {len(self.ballot.among):,} groups by {choice.name}, without scores; with"
            f" {sure(choice)} confidence within {error} of the best"
        )

    def noted(self, counts: Offer, confidence: float) -> str:
        """What is said of winners that noisy scores decide."""
        error = readable(Fraction(self.error_of_noisy(counts, confidence)))
        return f"with {100 * confidence:g}% confidence within {error} of the best"

    def note_of_noisy(self, choice: ChoiceOffer, counts: Offer, *, promised: bool) -> str:
        """How the winners are found where noisy scores are the better way.

        It is nearer at the same cost, or cheaper where an error was `promised`.
        """
        cost = f" for {choice.loss}" if promised else ""
        error = readable(Fraction(error_of(self.ballot, choice, choice.confidence)))
        return (
            f"{self.k:,}, those with the best noisy scores; {self.noted(counts, choice.confidence)}"
            f" (chosen by {choice.name}, within {error}{cost})"
        )

    # --- kept on the ledger ----------------------------------------------------------------------

    def kept(self, winners: list[int], choice: ChoiceOffer, version: str) -> dict[str, bytes]:
        """What to store after winners were released."""
        places = {group: place for place, group in enumerate(self._order())}
        body = {"winners": [places[w] for w in winners], "note": self.note(choice)}
        body |= {"mechanism": choice.name, "epsilon": str(choice.mechanism.epsilon)}
        return {self._place(version): json.dumps(body).encode()}

    def known(
        self, find: Find, version: str, within: tuple[Fraction, float] | None = None
    ) -> tuple[list[int], str] | None:
        """Winners that were released before, the latest ones, and how they were found.

        Where an error and its confidence were asked for, the latest that were chosen `within` it.
        """
        found = [json.loads(stored) for stored in find(self._place(version))]
        if within is not None:
            found = [body for body in found if self._keeps(body, *within)]
        if not found:
            return None
        body, order = found[-1], self._order()
        return [order[place] for place in body["winners"]], body["note"]

    def _keeps(self, body: Mapping[str, str], error: Fraction, confidence: float) -> bool:
        choice = restored(self.ballot, self.k, body)
        return choice is not None and error_of(self.ballot, choice, confidence) <= error

    def _order(self) -> list[int]:
        """Groups in an order that does not depend on how the query lists its keys."""
        names = canonical_names(self.compiled.keys)
        return canonical_order(self.compiled.frame, names)

    def _place(self, version: str) -> str:
        compiled, layout = self.compiled, self.ballot.layout
        (weights,) = self.ballot.weights
        terms = [f"{w} {canonical_part(layout.parts[i])}" for i, w in weights.items()]
        keys = [canonical(key.expr) for _, key in compiled.keys]
        words = [*table_words(compiled, version), canonical_where(compiled.where), *sorted(keys)]
        places = {group: place for place, group in enumerate(self._order())}
        among = sorted(places[group] for group in self.ballot.among)
        words += [f"among {among}"] if len(among) < compiled.groups else []
        weighted = compiled.table.unit_column is not None
        words += [f"weighted in norm {layout.context.norm}"] if weighted else []
        return fingerprint(["winners", *words, f"{self.k} {self.ballot.step}", *sorted(terms)])


def contest_of(compiled: Compiled, *, with_scores: bool = False) -> Contest | None:
    """Read a query as a contest; None if it is none, or if no bound on its score is proven.

    A contest shows keys alone; or, `with_scores`, numbers of the groups beside them.
    """
    if compiled.sets:
        return None  # totals and their groups are no rivals
    shape = _shape(compiled.plan)
    if shape is None or compiled.table.public or compiled.private or compiled.groups < 2:
        return None
    keys = {name for name, _ in compiled.keys}
    first, *ties = shape.by
    over_keys = all(set(columns_of(expr)) <= keys for expr in (*ties, *shape.conditions))
    if not over_keys or set(columns_of(first)) & keys or not columns_of(first):
        return None
    only_keys = all(set(columns_of(expr)) <= keys for _, expr in shape.outputs)
    if only_keys == with_scores:
        return None
    among = _admitted(compiled, shape.conditions)
    if len(among) < 2:
        return None
    try:
        ballot = ballot_by(
            compiled, [first], compiled.frame[among], largest=shape.descending, among=among
        )
    except QueryError:
        return None  # a mean, say: noisy scores are sorted instead
    k = min(shape.rows, len(among))
    return Contest(ballot, first, k, shape.descending, shape.outputs)


def shows_winners_alone(compiled: Compiled) -> bool:
    """Whether an order by numbers decides which groups are shown, or in which order, but no number is.

    Such a query is a contest, or one whose winners no error is promised for.
    """
    sorts = [node for node in above(compiled.plan) if isinstance(node, Sort)]
    if not compiled.keys or not sorts or (compiled.groups < 2 and not compiled.awaits_keys):
        return False
    if looks_at_many_rows(compiled.plan):
        return _orders_by_noise_alone(compiled)
    keys, below = {name for name, _ in compiled.keys}, _opened(sorts[0].parent)[0]
    by = [_below(key.column, below) for key in sorts[0].by]
    shown = [expr for _, expr in _opened(compiled.plan)[0].items()]
    return any(set(columns_of(expr)) - keys for expr in by) and all(
        set(columns_of(expr)) <= keys for expr in shown
    )


def _orders_by_noise_alone(compiled: Compiled) -> bool:
    """The same, where numbers are computed from many groups."""
    aggregates = {name for name, _ in compiled.aggregates}
    by_noise = any(
        isinstance(node, Sort) and any(reads(key.column, noisy) for key in node.by)
        for node, noisy, _ in noisy_below(compiled.plan, aggregates)
    )
    return by_noise and not noisy_at_top(compiled.plan, aggregates)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The first rows of a sorted table of groups, in terms of what is grouped."""

    outputs: tuple[tuple[str, Expr], ...]
    by: tuple[Expr, ...]
    descending: bool
    """Whether the first of `by` is sorted so."""
    rows: int
    conditions: tuple[Expr, ...]
    """Which groups are there to be sorted."""


def _shape(plan: Node) -> _Shape | None:
    """Columns of the first k rows of a sorted table of groups."""
    if looks_at_many_rows(plan):
        return None  # numbers of all groups are asked for
    nodes = above(plan)
    limits = [i for i, node in enumerate(nodes) if isinstance(node, Limit)]
    sorts = [i for i, node in enumerate(nodes) if isinstance(node, Sort)]
    if len(limits) != 1 or len(sorts) != 1 or limits[0] > sorts[0]:
        return None
    limit, sort = nodes[limits[0]], nodes[sorts[0]]
    assert isinstance(limit, Limit)
    assert isinstance(sort, Sort)
    if any(isinstance(node, Filter) for node in nodes[: limits[0]]):
        return None  # it may drop the winners
    if not limit.rows or limit.offset:
        return None
    columns, conditions = _opened(plan)
    sorted_columns, _ = _opened(sort.parent)
    by = tuple(_below(key.column, sorted_columns) for key in sort.by)
    return _Shape(tuple(columns.items()), by, sort.by[0].descending, limit.rows, conditions)


def _opened(node: Node) -> tuple[dict[str, Expr], tuple[Expr, ...]]:
    """The columns of a noisy table and the conditions on its rows, over keys and aggregates."""
    match node:
        case Aggregate():
            names = [name for name, _ in (*node.keys, *node.aggregates)]
            return {name: Column(name) for name in names}, ()
        case Project(parent, shown):
            columns, conditions = _opened(parent)
            return {name: _below(expr, columns) for name, expr in shown}, conditions
        case Filter(parent, predicate):
            columns, conditions = _opened(parent)
            return columns, (*conditions, _below(predicate, columns))
        case Sort(parent) | Limit(parent):
            return _opened(parent)
    raise InternalError(f"a {type(node).__name__} above the aggregate")


def _admitted(compiled: Compiled, conditions: tuple[Expr, ...]) -> list[int]:
    """The groups that meet conditions on their keys, which are public."""
    if not conditions:
        return list(range(compiled.groups))
    grouped = aggregate_of(compiled.plan)
    plan: Node = Aggregate(grouped.parent, grouped.keys, ())
    for condition in conditions:
        plan = Filter(plan, condition)
    return finish(keys_alone(replace(compiled, plan=plan, aggregates=())))[ROW].to_list()


def _below(expr: Expr, columns: dict[str, Expr]) -> Expr:
    """An expression over projected columns, as one over what they were computed from."""

    def change(inner: Expr) -> Expr | None:
        return columns[inner.name] if isinstance(inner, Column) else None

    return transform(expr, change)

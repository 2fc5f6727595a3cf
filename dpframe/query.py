"""A question: understood, explained, charged, measured and answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from dpframe.aggregates.compile import Compiled
from dpframe.budget.cautions import warn_of
from dpframe.budget.exact import Number
from dpframe.budget.loss import Loss
from dpframe.engines.base import Engine, measured, request_for
from dpframe.errors import InternalError, ParameterError, QueryError
from dpframe.plan.domains import Domain
from dpframe.plan.nodes import list_name
from dpframe.release.asking import Asking, Said, keep
from dpframe.release.choice import ballot_of
from dpframe.release.chosen import Choice, ChoiceOffer, choice_offer, choose
from dpframe.release.consistency import reconciled
from dpframe.release.cost import Cost, check_flag, offer_for, predicted_width
from dpframe.release.explain import explain, explain_contest
from dpframe.release.kept_keys import with_known_keys
from dpframe.release.noisy import NoisyParts, PostProcessing, keys_alone
from dpframe.release.offer import Offer, of_public_rows, public_values, released
from dpframe.release.promised import is_cheaper, keeps, noisy_within, promise_of
from dpframe.release.reuse import kept_parts, reusable
from dpframe.release.selection import every_key, with_few_keys
from dpframe.release.table import Release
from dpframe.release.winners import Contest, contest_of
from dpframe.release.winners_first import known_winners_first, winners_first


class Query:
    """A question that was understood and costs nothing yet."""

    def __init__(
        self,
        asking: Asking,
        compiled: Compiled,
        engine: Engine,
        version: Callable[[], str | None],
        asked: str,
        said: Said | None = None,
    ) -> None:
        self._asking = asking
        self._compiled = compiled
        self._engine = engine
        self._version = version
        self._asked = asked
        self._said = said or Said()

    @property
    def columns(self) -> dict[str, Domain]:
        """The columns of the answer, and what is known of each before it is asked."""
        found = PostProcessing(self._compiled).domains(self._compiled.plan)
        return {list_name(name): domain for name, domain in found.items()}

    def cost(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        error_bars: bool = True,
        fresh: bool = False,
    ) -> Loss:
        """What a release would be charged. It spends nothing."""
        cost = Cost(epsilon, rho, share, error, confidence, delta, error_bars)
        return self.cost_of(cost, fresh=fresh)

    def cost_of(self, cost: Cost, *, fresh: bool) -> Loss:
        """What `answer` would be charged."""
        cost = self._checked(cost)
        compiled = self._settled(cost, fresh)
        said = self._said_offer(compiled, cost)
        if not fresh and self._is_free(compiled, said, cost):
            return Loss.none()
        offer = said or self._offer(compiled, cost)
        contest = self._contest(compiled, cost, offer)
        return offer.loss if contest is None else contest[1].loss

    def explain(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        error_bars: bool = True,
        fresh: bool = False,
    ) -> str:
        """The plan, sensitivities, noise, predicted error and cost, in words. It spends nothing."""
        cost = Cost(epsilon, rho, share, error, confidence, delta, error_bars)
        return self.explain_of(cost, fresh=fresh)

    def explain_of(self, cost: Cost, *, fresh: bool, notes: Sequence[str] = ()) -> str:
        """What `answer` would do; `notes` are lines about what is made of the noisy numbers."""
        cost = self._checked(cost)
        room, compiled = self._asking.ledger.room, self._settled(cost, fresh)
        said = self._said_offer(compiled, cost)
        if not fresh and self._is_free(compiled, said, cost):
            free = "nothing: every part was measured before (fresh=True measures again)"
            return explain(compiled, None, free, str(room), notes=notes)
        if not self.has_cost(cost) and not compiled.table.public:
            unsaid = "to be said: explain(epsilon=0.1) shows the noise and its error"
            return explain(compiled, None, unsaid, str(room), notes=notes)
        offer = said or self._offer(compiled, cost)
        contest = self._contest(compiled, cost, offer)
        loss = offer.loss if contest is None else contest[1].loss
        remains = self._asking.left_after(loss)
        if contest is not None:
            return explain_contest(*contest, remains)
        rejected = self._choice(compiled, cost)
        promised, winners = self._promise(cost) is not None, ""
        if rejected is not None:
            winners = rejected[0].note_of_noisy(rejected[1], offer, promised=promised)
        return explain(compiled, offer, str(loss), remains, winners, notes)

    def release(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        share: Number | None = None,
        error: Number | None = None,
        confidence: float | None = None,
        delta: Number | None = None,
        error_bars: bool = True,
        fresh: bool = False,
    ) -> Release:
        """Charge the cost, then measure, add noise and finish.

        The charge is on disk before the first row is read, so a crash never shows less than was
        spent. A refused release costs nothing, and neither does one whose parts are known. Keys
        that are not public are chosen first; `delta` bounds the chance that a key which one unit
        alone holds is shown. With `error_bars=False` nothing is spent on error bars alone.
        """
        cost = Cost(epsilon, rho, share, error, confidence, delta, error_bars)
        return self.answer(cost, fresh=fresh)

    def warn(self, loss: Loss) -> None:
        """Warn of what a loss on the account of this question means, before it is charged."""
        warn_of(loss, self._compiled.table.size, self._asking.ledger, self._asking.budget)

    def answer(self, cost: Cost, *, fresh: bool, warned: bool = False) -> Release:
        """Release at a cost; `warned` if what there is to warn of was said before."""
        return self._released(self._checked(cost), fresh, warned)

    def _released(self, cost: Cost, fresh: bool, warned: bool) -> Release:
        compiled = self._settled(cost, fresh)
        if not compiled.aggregates and not compiled.private:
            note = "the keys are public: no row was read, at no cost"
            return Release(keys_alone(compiled), Loss.none(), self._asking.source, note=note)
        said = self._said_offer(compiled, cost)
        known = None if fresh else self._known(compiled, said, cost)
        if known is not None:
            note = "measured before: no cost"
            parts = reconciled(known)
            return Release(parts, Loss.none(), self._asking.source, note=note, reused=True)
        winners = None if fresh else self._known_winners(compiled, cost)
        if winners is not None:
            return winners
        offer = said or self._offer(compiled, cost)
        contest = self._contest(compiled, cost, offer)
        loss = offer.loss if contest is None else contest[1].loss
        # Before the charge: where warnings are errors, nothing may be spent for no answer.
        if not warned and not compiled.table.public:
            self.warn(loss)
        if contest is not None:
            return self._winners(*contest)
        if compiled.table.public:
            if compiled.awaits_keys:
                compiled = compiled.with_keys(every_key(compiled, self._engine))
            measures = zip(offer.layout.parts, self._exact(compiled, offer), strict=True)
            exact = tuple(of_public_rows(part, values) for part, values in measures)
            note = "the table is public: exact, at no cost"
            parts = NoisyParts(compiled, offer.layout, offer.laws, exact)
            return Release(parts, offer.loss, self._asking.source, note=note)
        was = self._version()
        charge = self._asking.ledger.charge(
            offer.loss, asked=self._asked, mechanism=offer.mechanism, scale=offer.scales
        )
        source = self._asking.source
        compiled = offer.choose(compiled, self._engine, source)
        note = offer.note or self._promised_note(compiled, cost, offer)
        note = f"{note}; cost: {offer.loss}" if note else ""
        parts = NoisyParts(compiled, offer.layout, offer.laws, self._noisy(compiled, offer))
        keep(charge, self._version, was, lambda v: offer.kept(compiled, v) | kept_parts(parts, v))
        return Release(reconciled(parts), offer.loss, source, note=note)

    # --- of ways to answer one question ----------------------------------------------------------

    @property
    def compiled(self) -> Compiled:
        """What was found out about the question."""
        return self._compiled

    def has_cost(self, cost: Cost) -> bool:
        """Whether a release would have a cost, or what it costs is yet to be said."""
        said = self._said.epsilon is not None
        return said or cost.is_said or self._asking.default_share is not None

    def is_known(self) -> bool:
        """Whether it can be answered from earlier measurements, whatever their noise."""
        return self._known(self._settled(Cost(), False), None, Cost()) is not None

    def predicted(self, cost: Cost) -> tuple[float, float]:
        """The standard deviation of its first aggregate, and the half width of its 95% interval."""
        offer = self._offer(self._compiled, self._said.cost(cost))
        return offer.deviation(0), predicted_width(offer, 0, 0.95)

    # --- of winners ------------------------------------------------------------------------------

    def choose(self, cost: Cost, *, k: int, largest: bool) -> Choice:
        """Charge the cost, then choose the best candidates; see `Session.select`."""
        if self._compiled.table.public:
            raise QueryError(
                f"{self._compiled.table.name} is public",
                why="its scores are released exactly, at no cost",
                fix="session.sql(...) with ORDER BY the score, and LIMIT",
            )
        ballot = ballot_of(self._compiled, largest=largest)
        candidates = ballot.candidates.height
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= candidates:
            raise ParameterError(
                f"k={k!r} is not a whole number from 1 to {candidates}",
                why=f"there are {candidates} candidates, and each is chosen at most once",
                fix="k=1",
            )
        asking = self._asking
        cost = self._said.cost(cost)
        offer = choice_offer(ballot, k, cost, asking.budget, asking.default_share)
        self.warn(offer.loss)
        asking.ledger.charge(
            offer.loss,
            asked=self._asked,
            mechanism=offer.name,
            scale=offer.scale,
        )
        measured = self._engine.measure(request_for(self._compiled, ballot.layout))
        return Choice(ballot, offer, choose(ballot, offer, measured, asking.source))

    def _contest(
        self, compiled: Compiled, cost: Cost, counts: Offer
    ) -> tuple[Contest, ChoiceOffer] | None:
        """How to choose winners, if the query asks for no more and noisy scores are no better."""
        found = self._choice(compiled, cost)
        if found is None:
            return None
        if self._promise(cost) is not None:
            better = is_cheaper(found[1], counts, self._asking.budget)
        else:
            better = found[0].is_better(found[1], counts)
        return found if better else None

    def _choice(self, compiled: Compiled, cost: Cost) -> tuple[Contest, ChoiceOffer] | None:
        """How winners would be chosen without their scores, if the query asks for no more."""
        contest, asking = contest_of(compiled), self._asking
        if contest is None:
            return None
        try:
            found = choice_offer(
                contest.ballot, contest.k, cost, asking.budget, asking.default_share
            )
            contest.note(found)  # its error is a number
        except (ParameterError, OverflowError):  # costs or factors for which there is no noise
            return None
        return contest, found

    def _winners(self, contest: Contest, choice: ChoiceOffer) -> Release:
        """Charge, then choose."""
        source, loss = self._asking.source, choice.loss
        was = self._version()
        charge = self._asking.ledger.charge(
            loss, asked=self._asked, mechanism=choice.name, scale=choice.scale
        )
        winners = contest.hold(self._engine, choice, source)
        keep(charge, self._version, was, lambda v: contest.kept(winners, choice, v))
        note = f"{contest.note(choice)}; cost: {loss}"
        return Release(contest.released(winners), loss, source, note=note)

    def _promised_note(self, compiled: Compiled, cost: Cost, counts: Offer) -> str:
        """What was promised of winners, where noisy scores are what keeps it."""
        promise = self._promise(cost)
        contest = None if promise is None else contest_of(compiled)
        if promise is None or contest is None:
            return ""
        return f"by noisy scores of {compiled.groups:,} groups, {contest.noted(counts, promise[1])}"

    def _known_winners(self, compiled: Compiled, cost: Cost) -> Release | None:
        """Winners of the same contest, from an earlier release."""
        contest, version = contest_of(compiled), self._version()
        found = None
        if contest is not None and version is not None:
            found = contest.known(self._asking.ledger.find, version, self._promise(cost))
        if contest is None or found is None:
            return None
        winners, note = found
        parts, note = contest.released(winners), f"{note}; chosen before: no cost"
        return Release(parts, Loss.none(), self._asking.source, note=note, reused=True)

    def _checked(self, cost: Cost) -> Cost:
        """The cost with what the text says of it; refused if that does not fit together."""
        if cost.delta is not None and not self._compiled.private:
            raise ParameterError(
                "delta= is not needed here",
                why="it is spent on choosing keys, and this query has none to choose",
                fix="leave delta= out",
            )
        if cost.delta is None and self._compiled.private:
            cost = replace(cost, delta=self._said.delta)
        return self._said.cost(cost)

    def _settled(self, cost: Cost, fresh: bool) -> Compiled:
        """The query; over the keys that were released before, if its keys are not public."""
        check_flag("fresh", fresh, "to measure again what was measured before")
        compiled = self._compiled if cost.error_bars else self._compiled.without_bars()
        version = self._version()  # also where it is not used: before a charge, files must be there
        if version is None or fresh or compiled.table.public:
            return compiled
        return with_few_keys(with_known_keys(compiled, self._asking.ledger.find, version))

    def _known(self, compiled: Compiled, said: Offer | None, cost: Cost) -> NoisyParts | None:
        """The parts from earlier releases, if all are there, with no more noise than was said."""
        if not cost.error_bars:  # places that have some serve as well, where they are free
            with_bars = replace(cost, error_bars=True)
            known = self._known(self._settled(with_bars, False), said, with_bars)
            if known is not None:
                return known
        version = self._version()
        if version is None or compiled.table.public or compiled.awaits_keys:
            return None
        if not self._asking.ledger.has_parts():
            return None
        limits = None
        if said is not None:
            names = [name for name, _ in compiled.aggregates]
            limits = {name: said.deviation(i) for i, name in enumerate(names)}
        find = self._asking.ledger.find
        known, promise = reusable(compiled, find, version, limits), self._promise(cost)
        if known is not None and promise is not None and not keeps(known, *promise):
            known = None
        return known or known_winners_first(compiled, find, version, limits)

    def _is_free(self, compiled: Compiled, said: Offer | None, cost: Cost) -> bool:
        known = self._known(compiled, said, cost) is not None
        return known or self._known_winners(compiled, cost) is not None

    def _said_offer(self, compiled: Compiled, cost: Cost) -> Offer | None:
        """What a cost buys, where one was said, and there is something to measure."""
        measures = bool(compiled.aggregates) and self.has_cost(cost)
        return self._offer(compiled, cost) if measures else None

    def _offer(self, compiled: Compiled, cost: Cost) -> Offer:
        asking, promise = self._asking, self._promise(cost)
        winners = None if promise is None else noisy_within(compiled, *promise, asking.budget)
        offer = winners or offer_for(compiled, cost, asking.budget, asking.default_share)
        far = frozenset[int]() if cost.error is not None else offer.too_far(compiled)
        if far and contest_of(compiled) is None:
            nearer = replace(compiled, far=far)
            offer = offer_for(nearer, cost, asking.budget, asking.default_share)
        self._said.check(offer.loss)
        return winners_first(compiled, cost, offer, asking.budget, asking.default_share) or offer

    def _promise(self, cost: Cost) -> tuple[Fraction, float] | None:
        return promise_of(cost, self._asking.default_share)

    def _exact(self, compiled: Compiled, offer: Offer) -> tuple[tuple[int, ...], ...]:
        if not offer.layout.parts:
            return ()
        found = measured(self._engine, compiled, offer.layout)
        return tuple(tuple(values) for values in found)

    def _noisy(self, compiled: Compiled, offer: Offer) -> tuple[tuple[int, ...], ...]:
        """Measure, and add noise to every part; nothing exact leaves this function.

        A part that no unit can change is what was declared, not what the data holds.
        """
        public = public_values(offer.layout.parts, offer, compiled.table.size)
        exact = self._exact(compiled, offer)
        noisy: list[tuple[int, ...]] = []
        for i, (values, law) in enumerate(zip(exact, offer.laws, strict=True)):
            if i in public:
                noisy.append((public[i],) * len(values))
            elif law is None:
                raise InternalError("a private part has no noise")
            else:
                part = offer.layout.parts[i]
                noisy.append(released(part, law, values, self._asking.source))
        return tuple(noisy)

    def __repr__(self) -> str:
        return f"<Query: {' '.join(self._asked.split())}>"

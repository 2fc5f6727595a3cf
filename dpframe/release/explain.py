"""What a query would do, before anything is spent."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import layout_for
from dpframe.bounds.rows import Stored, stored_tables
from dpframe.budget.exact import readable
from dpframe.budget.halving import COUNTED
from dpframe.mechanisms import Law, ModeSelection
from dpframe.plan.bins import HIGH, LOW
from dpframe.plan.exprs import Column, walk
from dpframe.plan.nodes import (
    GROUPING,
    HIDDEN,
    Aggregate,
    Filter,
    GroupRows,
    Join,
    Limit,
    Node,
    Project,
    Regroup,
    Scan,
    Sort,
    Union,
    Window,
    aggregate_of,
    chain,
    list_name,
    listed,
)
from dpframe.plan.parts import (
    Blend,
    CodedSum,
    Part,
    RankedCells,
)
from dpframe.release.chosen import ChoiceOffer
from dpframe.release.display import number
from dpframe.release.offer import Offer
from dpframe.release.selection import SELECTION_SHARE, Selection, most_keys
from dpframe.release.winners import Contest
from dpframe.release.winners_first import CHOICE_SHARE, WinnersFirst
from dpframe.release.words import expr_text, mode_text, part_text, ranks_text, unit_text

_SORTED = (Sort, Limit)
"""A projection on top of these only drops the columns that existed to sort by."""


def plan_text(plan: Node) -> list[str]:
    """The steps of a plan, topmost first, in the words of the query."""
    grouped = aggregate_of(plan)
    names = {name: expr_text(expr) for name, expr in (*grouped.keys, *grouped.aggregates)}
    names |= {f"{GROUPING}{name}": f"GROUPING({expr_text(expr)})" for name, expr in grouped.keys}
    names |= {f"{LOW}{name}": "the lower end" for name, _ in grouped.keys}
    names |= {f"{HIGH}{name}": "the upper end" for name, _ in grouped.keys}
    nodes = list(chain(plan))
    above = nodes[: nodes.index(grouped)]
    texts: dict[int, Mapping[str, str]] = {}
    for node in reversed(above):  # what windows and second aggregates are called is ours to say
        if isinstance(node, Window):
            names = names | {name: expr_text(call, names) for name, call in node.columns}
        if isinstance(node, Regroup):
            inside = (*node.keys, *node.aggregates)
            names = {name: expr_text(expr, names) for name, expr in inside}
        if isinstance(node, Project):
            hidden = [c for c in node.columns if c[0].startswith(HIDDEN)]
            names = names | {name: expr_text(expr, names) for name, expr in hidden}
        texts[id(node)] = names
    shown = [n for n in above if not (isinstance(n, Project) and isinstance(n.parent, _SORTED))]
    lines = [f"{'  ' * i}{_step(n, texts[id(n)])}" for i, n in enumerate(shown)]
    return [*lines, *_rows_text(grouped, len(lines))]


def _rows_text(node: Node, depth: int) -> list[str]:
    """A node and what it is made from, each side further to the right."""
    if isinstance(node, Project) and all(isinstance(e, Column) for _, e in node.columns):
        return _rows_text(node.parent, depth)  # it renames columns, and computes nothing
    below = node
    while isinstance(below, Filter | Project):
        below = below.parent
    grouped = (*below.keys, *below.aggregates) if isinstance(below, GroupRows) else ()
    lines = [f"{'  ' * depth}{_step(node, {name: expr_text(e) for name, e in grouped})}"]
    for parent in node.parents:
        lines += _rows_text(parent, depth + 1)
    return lines


def _step(node: Node, names: Mapping[str, str]) -> str:
    match node:
        case Scan():
            return f"scan {node.table}, every column read through its declared domain"
        case Filter():
            return f"filter {expr_text(node.predicate, names)}"
        case Aggregate():
            found = ", ".join(expr_text(call) for _, call in node.aggregates)
            keys = ", ".join(expr_text(key) for _, key in node.keys)
            if node.sets:
                texts = {name: expr_text(key) for name, key in node.keys}
                keys = " and ".join(f"({', '.join(texts[n] for n in one)})" for one in node.sets)
            return f"aggregate {found}" + (f" by {keys}" if keys else "")
        case Join():
            on = " and ".join(f"{expr_text(a)} = {expr_text(b)}" for a, b in node.on)
            return f"{node.how} join" + (f" on {on}" if on else ", every row beside every row")
        case Union():
            return f"stack {len(node.inputs)} tables"
        case GroupRows():
            found = ", ".join(expr_text(call) for _, call in node.aggregates) or "one row each"
            return f"inside each unit: {found} by {', '.join(expr_text(k) for _, k in node.keys)}"
        case Window():
            calls = ", ".join(names.get(name, name) for name, _ in node.columns)
            return f"over the released rows: {calls}"
        case Regroup():
            calls = ", ".join(names.get(name, name) for name, _ in node.aggregates)
            keys = ", ".join(names.get(name, name) for name, _ in node.keys)
            found = f"of the released rows: {calls or 'one each'}"
            return found + (f" by {keys}" if keys else "")
        case Project():
            shown = [(n, expr_text(e, names)) for n, e in node.columns if not n.startswith(HIDDEN)]
            lists = itertools.groupby(
                shown, key=lambda one: (list_name(one[0]), listed(one[0]) is None)
            )
            named = []
            for (name, plain), each in lists:
                values = ", ".join(e for _, e in each)
                named += [(name, values if plain else f"[{values}]")]
            return "compute " + ", ".join(e if n == e else f"{n} = {e}" for n, e in named)
        case Sort():
            return "sort by " + ", ".join(
                names.get(k.column.name, k.column.name) + (" descending" if k.descending else "")
                for k in node.by
            )
        case Limit():
            return _limit_text(node.rows, node.offset)
    return type(node).__name__


def _limit_text(rows: int | None, offset: int) -> str:
    """Which rows are kept.

    >>> _limit_text(1, 0), _limit_text(3, 2), _limit_text(None, 1)
    ('keep the first row', 'keep 3 rows after the first 2', 'leave out the first row')
    """
    first = "row" if offset == 1 else f"{offset:,} rows"
    if rows is None:
        return f"leave out the first {first}"
    if offset:
        return f"keep {rows:,} row{'s' * (rows != 1)} after the first {offset:,}"
    return (
        "keep no row" if not rows else f"keep the first {'row' if rows == 1 else f'{rows:,} rows'}"
    )


def explain(
    compiled: Compiled,
    offer: Offer | None,
    cost: str,
    remains: str,
    winners: str = "",
    notes: Sequence[str] = (),
) -> str:
    """The plan, the unit, and for each part its sensitivity, noise and predicted error.

    `winners` says how they are found, in a query for keys alone that noisy numbers answer; `notes`
    are lines about what is made of the columns.
    """
    layout = offer.layout if offer is not None else layout_for(compiled, norm=1)
    lines = ["plan"]
    lines += [f"  {step}" for step in plan_text(compiled.written or compiled.plan)]
    lines += [f"unit    {unit_text(compiled.table, _shared_unit(compiled))}"]
    lines += [f"groups  {_groups_text(compiled)}"]
    if isinstance(offer, WinnersFirst):
        share = f"{float(CHOICE_SHARE):.0%} of the cost"
        lines += [f"  {offer.contest.k:,} with {share}: {offer.note}"]
    if offer is not None and offer.selection is not None:
        lines += [f"  {line}" for line in _selection_text(compiled, offer.selection)]
    lines += [f"parts   {len(layout.parts)}, measured once each and shared by the columns"]
    for i, part in enumerate(layout.parts):
        lines += [f"  {i + 1}. {part_text(part, _written(part, compiled))}"]
        sensitivity = layout.sensitivities[i]
        size = sensitivity.l1 if layout.context.norm == 1 else sensitivity.l2_squared**0.5
        norm = f"L{layout.context.norm}"
        value = (size or 0) * layout.step(i)
        lines += [f"     sensitivity {value:,.6g} in {norm}: {sensitivity.why}"]
        if offer is not None:
            lines += [f"     {_noise_text(offer, i)}"]
    lines += ["columns"]
    reasons = layout.reasons or ("",) * len(layout.recipes)
    calls = dict(aggregate_of(compiled.plan).aggregates)
    found = zip(compiled.aggregates, layout.recipes, reasons, strict=True)
    # Quantiles of one column are measured together, and for the same reason.
    for (way, reason), alike in itertools.groupby(found, key=lambda one: (one[1].name, one[2])):
        named = ", ".join(expr_text(calls[name]) for (name, _), *_ in alike)
        lines += [f"  {named}: from {way}"]
        lines += [f"     {reason}"] if reason else []
    lines += [f"winners {winners}"] if winners else []
    lines += notes
    lines += [f"cost    {cost}", f"left    {remains}"]
    return "\n".join(lines)


def _shared_unit(compiled: Compiled) -> str:
    """The columns that name the unit, in the tables that the query puts together."""
    read = stored_tables(compiled.source)
    return " = ".join(
        t.unit_column if len(read) == 1 else f"{t.name}.{t.unit_column}"
        for t in read
        if t.unit_column is not None and not t.public
    )


def _written(part: Part, compiled: Compiled) -> dict[str, str]:
    """What the user calls columns that were derived, as far as it was written down."""
    if isinstance(compiled.source, Stored):
        return {}
    exprs = [part.expr] if isinstance(part, CodedSum | Blend) else []
    exprs += [part.condition] if part.condition is not None else []
    found = [e for whole in exprs for e in walk(whole) if isinstance(e, Column)]
    return {c.name: c.origin.text() for c in found if c.origin is not None}


def explain_contest(contest: Contest, choice: ChoiceOffer, remains: str) -> str:
    """The same for a query whose winners are chosen without releasing their scores."""
    compiled, ballot = contest.compiled, contest.ballot
    moved = readable(ballot.sensitivity * ballot.step)
    direction = "all in one direction" if ballot.monotone else "in either direction"
    names = {n: expr_text(call) for n, call in aggregate_of(compiled.plan).aggregates}
    return "\n".join(
        [
            "plan",
            *(f"  {step}" for step in plan_text(compiled.plan)),
            f"unit    {unit_text(compiled.table)}",
            f"groups  {_groups_text(compiled)}",
            f"score   {expr_text(contest.score, names)}, which is not released",
            f"     one unit moves each group's by at most {moved}, {direction}",
            *(f"     {why}" for why in dict.fromkeys(s.why for s in ballot.layout.sensitivities)),
            f"winners {contest.k:,}, {contest.note(choice)}",
            f"cost    {choice.loss}",
            f"left    {remains}",
        ]
    )


def _groups_text(compiled: Compiled) -> str:
    if not compiled.keys:
        return "1, the whole table"
    if compiled.private:
        return _private_text(compiled) + _sets_text(compiled)
    public = f"{compiled.groups:,}, all public: known from declared domains, present even if empty"
    return public + _sets_text(compiled)


def _sets_text(compiled: Compiled) -> str:
    return f"; in {len(compiled.sets)} groupings that share the cost" if compiled.sets else ""


def _private_text(compiled: Compiled) -> str:
    private = [expr_text(key.expr) for name, key in compiled.keys if name in compiled.private]
    names = ", ".join(private)
    if compiled.chosen is not None:
        return f"{compiled.groups:,}, over keys that were released before: {names}"
    chosen = f"keys that are not public are chosen first: {names}"
    if len(private) == len(compiled.keys):
        return chosen
    return f"{chosen}; each with all {compiled.frame.height:,} combinations of the public keys"


def _selection_text(compiled: Compiled, selection: Selection) -> list[str]:
    share = SELECTION_SHARE if compiled.aggregates else 1
    half, sure = selection.units_for(0.5), selection.units_for(0.99)
    lines = [
        f"{selection.name} selection with {float(share):.0%} of the cost: {selection.loss}",
        f"a key of {half:,} units is shown half of the time, one of {sure:,} 99% of the time",
    ]
    if compiled.table.unit_column is not None:
        most = most_keys(compiled.table)
        lines.append(f"a unit spreads its weight over its keys; one with over {most:,} has no say")
    return lines


_REPLACED = "; what is replaced moves the rows below a place by what it weighs, not by twice that"


def _noise_text(offer: Offer, index: int) -> str:
    law = offer.laws[index]
    if law is None:
        return "no noise: no unit can change it"
    step = offer.layout.step(index)
    share = float(offer.layout.shares[index])
    if offer.selection is not None:
        share *= float(1 - SELECTION_SHARE)
    if isinstance(offer, WinnersFirst):
        share *= float(1 - CHOICE_SHARE)
    if not isinstance(law, Law):
        part = offer.layout.parts[index]
        if isinstance(law, ModeSelection):
            return f"{law.name} with {share:.0%} of the cost; {mode_text(law, part, step, 1)}"
        assert isinstance(part, RankedCells)
        choice = law.choice
        counted = float(COUNTED) * part.counted
        bars = f"from counts around what is chosen, with {share * counted:.0%} of the cost"
        return (
            f"exponential mechanism with {share * (1 - counted):.0%} of the cost;"
            f" {ranks_text(law, part, step)};"
            f" {'error bars ' + bars if part.counted else 'no error bars'}"
            f"{_REPLACED if choice.swap is not None and choice.swap.one_group else ''}"
        )
    error = law.half_width(0.95) * step
    group = next(group for group in offer.layout.together if index in group)
    paid = f"with {share:.0%} of the cost"
    if group[0] != index:
        those = "both" if len(group) == 2 else f"all {len(group)}"
        paid = (
            f"paid for by part {group[0] + 1}: one unit moves {those} together no further than one"
        )
    return f"{offer.noise} noise {paid}; 95% of the time within ± {number(error, error)}"

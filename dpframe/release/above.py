"""What stands above the aggregate: which columns depend on which, and on noise."""

from __future__ import annotations

from collections.abc import Iterator

from dpframe.bounds.analysis import refused
from dpframe.bounds.windows import PARTS_OF_RANK, QUANTILES, RANKS, SPREADS
from dpframe.errors import QueryError
from dpframe.plan.exprs import AggregateCall, Expr, WindowCall, columns_of
from dpframe.plan.nodes import (
    Aggregate,
    Filter,
    Limit,
    Node,
    Project,
    Regroup,
    Sort,
    Window,
    chain,
)


def above(plan: Node) -> list[Node]:
    """The nodes above the aggregate, topmost first."""
    nodes: list[Node] = []
    for node in chain(plan):
        if isinstance(node, Aggregate):
            break
        nodes.append(node)
    return nodes


def looks_at_many_rows(plan: Node) -> bool:
    """Whether something above the aggregate is computed from many groups."""
    return any(isinstance(node, Window | Regroup) for node in above(plan))


def reads(expr: Expr, names: set[str]) -> bool:
    """Whether an expression reads one of these columns."""
    return not names.isdisjoint(columns_of(expr))


def carried(node: Node, names: set[str]) -> set[str]:
    """The columns of a node that are computed from these columns of its parent."""
    match node:
        case Project():
            return {name for name, expr in node.columns if reads(expr, names)}
        case Window():
            return names | {name for name, call in node.columns if reads(call, names)}
        case Regroup():
            columns = (*node.keys, *node.aggregates)
            return {name for name, expr in columns if reads(expr, names)}
    return names


def carried_to_top(plan: Node, names: set[str]) -> set[str]:
    """The columns of the answer that are computed from these columns of the aggregate."""
    for node in reversed(above(plan)):
        names = carried(node, names)
    return names


def noisy_below(plan: Node, aggregates: set[str]) -> Iterator[tuple[Node, set[str], bool]]:
    """Each node from below, the noisy columns of its parent, and whether noise chose its rows."""
    names, chosen = set(aggregates), False
    for node in reversed(above(plan)):
        yield node, names, chosen
        chosen = chosen or _chooses_by(node, names)
        names = _noisy(node, names, chosen)


def noisy_at_top(plan: Node, aggregates: set[str]) -> set[str]:
    """The columns of the answer that depend on noise, be it by the rows that it chose."""
    names = set(aggregates)
    for node, below, chosen in noisy_below(plan, aggregates):
        names = _noisy(node, below, chosen)
    return names


def _noisy(node: Node, names: set[str], chosen: bool) -> set[str]:
    """The noisy columns of a node; of rows that noise chose, their number is noisy, too."""
    found = carried(node, names)
    if chosen and isinstance(node, Window):
        found |= {name for name, _ in node.columns}
    if chosen and isinstance(node, Regroup):
        found |= {name for name, _ in node.aggregates}
    return found


def _chooses_by(node: Node, noisy: set[str]) -> bool:
    """Whether a node keeps rows by noisy numbers."""
    if isinstance(node, Filter):
        return reads(node.predicate, noisy)
    below = node
    while isinstance(below, Limit | Filter | Window):
        below = below.parent
    if not isinstance(node, Limit) or not isinstance(below, Sort | Project):
        return False
    if isinstance(below, Project):  # it may have other names than what was sorted
        return any(isinstance(other, Sort) for other in above(below))
    return any(reads(key.column, noisy) for key in below.by)


def of_many_rows(plan: Node) -> set[str]:
    """The columns of the answer that are computed from many groups."""
    names: set[str] = set()
    for node in reversed(above(plan)):
        names = carried(node, names)
        if isinstance(node, Window):
            names |= {name for name, _ in node.columns}
        if isinstance(node, Regroup):
            names = {name for name, _ in node.aggregates}
    return names


def unknown_at_top(plan: Node, aggregates: set[str]) -> set[str]:
    """The columns of the answer whose error is not known: values in the order of noisy numbers.

    Where two rows may change places, a running total or the row before may be any of several.
    Ranks are no such values: how far these may be off is counted.
    """
    names: set[str] = set()
    for node, noisy, _ in noisy_below(plan, aggregates):
        names = carried(node, names)
        if isinstance(node, Window):
            sorted_by_noise = _chooses_by(Limit(node.parent, None), noisy)
            for name, call in node.columns:
                by_noise = any(reads(by.expr, noisy) for by in call.order)
                as_they_stand = bool(call.frame) and not call.order and sorted_by_noise
                if (by_noise or as_they_stand) and not is_rank(call):
                    names.add(name)
    return names


def is_rank(call: WindowCall) -> bool:
    """Whether it is a rank; COUNT(*) OVER (ORDER BY n) is that of the last of equal rows."""
    counts = call.name == "COUNT" and not call.args and not call.frame
    return call.name in (*RANKS, *PARTS_OF_RANK) or counts


def check_public(plan: Node, aggregates: set[str]) -> None:
    """Refuse what makes it unclear which rows an error bar is of."""
    nodes = above(plan)
    for node, noisy, chosen in noisy_below(plan, aggregates):
        if isinstance(node, Regroup | Window):
            _refuse_of_chosen(node, noisy, chosen)
        if isinstance(node, Regroup):
            for _, key in node.keys:
                if reads(key, noisy):
                    raise _noisy_key(key, "GROUP BY")
        if isinstance(node, Window):
            for part in (p for _, call in node.columns for p in call.partition):
                if reads(part, noisy):
                    raise _noisy_key(part, "PARTITION BY")
        if isinstance(node, Limit):
            later = nodes[: next(i for i, other in enumerate(nodes) if other is node)]
            many = any(isinstance(other, Window | Regroup) for other in later)
            if many and _chooses_by(node, noisy):
                raise QueryError(
                    "LIMIT keeps rows by noisy numbers, and others are computed from them",
                    why="how far the noise moves a number of the best rows is not known: it chose"
                    " the rows, too",
                    fix="put LIMIT after the outermost SELECT; or keep rows by their number:"
                    " WHERE n > 100",
                )


def _refuse_of_chosen(node: Regroup | Window, noisy: set[str], chosen: bool) -> None:
    """Refuse quantiles and deviations of rows that noise chose."""
    calls = node.aggregates if isinstance(node, Regroup) else node.columns
    for _, call in calls:
        where = call.where if isinstance(call, AggregateCall) else None
        by_noise = chosen or (where is not None and reads(where, noisy))
        if by_noise and call.name in (*QUANTILES, *SPREADS):
            raise refused(
                call,
                "is of rows that were kept by noisy numbers",
                why="other rows may belong there without the noise, and its error bar would not"
                " know how many",
                fix="keep rows by their keys: WHERE ward <> 'er'; or COUNT, SUM, MIN and MAX of them",
            )


def _noisy_key(key: Expr, clause: str) -> QueryError:
    return refused(
        key,
        "depends on noise, and rows are put together by it",
        why=f"which rows belong together would change with the noise; {clause} takes keys here",
        fix=f"{clause} a key of the released table: a column that it was grouped by",
    )

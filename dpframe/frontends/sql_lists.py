"""QUANTILE_CONT(x, [0.25, 0.5, 0.75]) in SQL: one column of lists, each number with its error bar.

Nothing between the front end and the release knows lists. `SELECT QUANTILE_CONT(x, [0.25, 0.5]) AS q`
is read as two columns, whose names say that they are the places of a list called q; the release puts
them together again, and so does whatever is said of their errors.
"""

from __future__ import annotations

from sqlglot import exp

from dpframe.frontends.sql_names import written
from dpframe.frontends.sql_origin import sql_error

PLACE = "place in a list"
"""What an item of SELECT is marked with, and its number."""

_QUANTILES = (exp.PercentileCont, exp.PercentileDisc, exp.Quantile, exp.ApproxQuantile)
_MOST = 256
"""Quantiles in one list."""


def expand_lists(select: exp.Select, text: str) -> None:
    """Put a column for each quantile in the place of a list of them, in what is released."""
    for item in list(select.expressions):
        levels = _levels(item)
        if levels is None:
            continue
        if not 1 <= len(levels.expressions) <= _MOST:
            raise sql_error(
                levels if levels.expressions else _call(item),
                text,
                f"there are {len(levels.expressions)} quantiles in the list",
                why=f"a list has 1 to {_MOST} of them, known before any row is read",
                fix="QUANTILE_CONT(x, [0.25, 0.5, 0.75])",
            )
        _refuse_use(item, select, text)
        position = [each is item for each in select.expressions].index(True)
        found = [_place(item, i) for i in range(len(levels.expressions))]
        _move_ordinals(select, position + 1, len(found) - 1, text)
        before, after = select.expressions[:position], select.expressions[position + 1 :]
        select.set("expressions", [*before, *found, *after])


def _call(item: exp.Expression) -> exp.Expression:
    """The aggregate in an item of SELECT, without its name, brackets and FILTER."""
    while isinstance(item, exp.Alias | exp.Paren | exp.Filter):
        item = item.this
    return item


def _levels(item: exp.Expression) -> exp.Array | None:
    """The list of quantiles that an item asks for, if it does."""
    call = _call(item)
    if isinstance(call, exp.WithinGroup) and isinstance(call.this, _QUANTILES):
        found = call.this.this
    elif isinstance(call, _QUANTILES):
        found = call.args.get("expression") or call.args.get("quantile")
    else:
        return None
    return found if isinstance(found, exp.Array) else None


def _place(item: exp.Expression, index: int) -> exp.Expression:
    name = item.alias or written(item)
    copied = (item.this if isinstance(item, exp.Alias) else item).copy()
    levels = _levels(copied)
    assert levels is not None
    levels.replace(levels.expressions[index])
    # No name of the list is there to be found by other clauses.
    found = exp.Alias(this=copied, alias=exp.to_identifier(name, quoted=True))
    found.meta[PLACE] = index
    return found


def _refuse_use(item: exp.Expression, select: exp.Select, text: str) -> None:
    """Refuse what would compare or order lists."""
    clauses = [select.args.get(key) for key in ("having", "order")]
    for node in (n for clause in clauses if clause is not None for n in clause.walk()):
        named = isinstance(node, exp.Column) and not node.table and bool(item.alias)
        if (
            named
            and node.name.lower() == item.alias.lower()
            and not node.find_ancestor(exp.AggFunc)
        ):
            raise _of_lists(node, text)


def _of_lists(node: exp.Expression, text: str) -> Exception:
    return sql_error(
        node,
        text,
        "a list of quantiles is neither compared nor ordered",
        why="what is computed from an answer is computed from its numbers, one by one",
        fix="ask for the one that is meant, too: QUANTILE_CONT(x, 0.5) AS mid; it costs nothing more",
    )


def _move_ordinals(select: exp.Select, position: int, more: int, text: str) -> None:
    """Let ORDER BY 3 and GROUP BY 3 name what they named before there were more columns."""
    group, order = select.args.get("group"), select.args.get("order")
    items = list(group.expressions) if group is not None else []
    items += [item.this for item in order.expressions] if order is not None else []
    for item in items:
        if not isinstance(item, exp.Literal) or item.is_string or not item.this.isdecimal():
            continue
        if int(item.this) == position:
            raise _of_lists(item, text)
        if int(item.this) > position:
            item.set("this", str(int(item.this) + more))

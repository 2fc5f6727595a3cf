"""HISTOGRAM(x, bins) in SQL: a row for each bin, with its ends and the count.

`SELECT ward, HISTOGRAM(age, 11) FROM visits GROUP BY ward` is read as if it said
`SELECT ward, low, high, count` of bins that are one more group key. So whatever may follow a GROUP
BY may follow it: HAVING, ORDER BY and LIMIT over the rows, or a SELECT around it.

`HISTOGRAM(age, 11, cost, 20)` is a plane: a row for each bin of one value and bin of the other. A
column without bins has categories there: `HISTOGRAM(ward, age, 11)`, `HISTOGRAM(ward, insurer)`. A
number behind a value is its bins, so a column of numbers is never taken for categories there.

`HISTOGRAM(age, 200, cumulative := TRUE)` says by name what is asked of the counts, as arguments of
`session.histogram` do; `=>` is read like `:=`. That is asked of all bins, so nothing follows it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlglot import exp

from dpframe.declare import Table
from dpframe.frontends.sql_known import is_aggregate, is_histogram
from dpframe.frontends.sql_origin import origin_of, sql_error
from dpframe.plan.bins import HIGH, LOW, OPTIONS, Wish, binned
from dpframe.plan.domains import Type
from dpframe.plan.exprs import Call, Expr

LOW_END, HIGH_END = f"{LOW}end", f"{HIGH}end"
"""What the ends of the bins of a HISTOGRAM are called while names are resolved."""

_CATEGORIES = "categories"
"""The mark of a call of two columns that are both of categories."""

_Option = exp.PropertyEQ | exp.Kwarg


def expand_histograms(
    select: exp.Select, around: Sequence[exp.Expression], text: str, tables: Mapping[str, Table]
) -> None:
    """Put three columns in the place of HISTOGRAM; `around` are the SELECTs that may have it."""
    calls = [node for node in select.find_all(exp.Anonymous) if is_histogram(node)]
    for call in calls:
        item = _item(call)
        owner = {id(each): each for each in around}.get(id(item.parent))
        if owner is None or item.arg_key != "expressions":
            raise sql_error(
                call,
                text,
                "HISTOGRAM makes a row for each bin",
                why="an answer is a table, and each of its values has an error bar of its own",
                fix="HISTOGRAM(age, 11, cumulative := TRUE) adds up the bins below each upper end"
                if select.find(exp.Window)
                else "SELECT HISTOGRAM(age, 11) FROM visits, alone or beside the keys of GROUP BY",
            )
        _refuse_company(call, owner, text)
        if _is_of_categories(call, tables):
            call.set(_CATEGORIES, True)
        _check_arguments(call, text)
        _expand(item, call, owner, text)


def _item(call: exp.Expression) -> exp.Expression:
    """The item of SELECT that a call is, with its FILTER and its name."""
    while isinstance(call.parent, exp.Paren | exp.Alias | exp.Filter) and call.arg_key == "this":
        call = call.parent
    return call


def _refuse_company(call: exp.Expression, select: exp.Expression, text: str) -> None:
    clauses = [select.args.get(k) for k in ("having", "order")]
    own = [*select.expressions, *(c for c in clauses if c is not None)]
    for node in (n for part in own for n in part.walk() if is_aggregate(n)):
        inside = node is call or (isinstance(node, exp.Filter) and node.this is call)
        if not inside:
            raise sql_error(
                node,
                text,
                "HISTOGRAM has no other aggregates beside it",
                why="it makes a row for each bin, and they have one for each group",
                fix="ask one query for each; or GROUP BY age // 10 with other aggregates",
            )


def _check_arguments(call: exp.Expression, text: str) -> None:
    arguments, options = _arguments(call), _options(call)
    for i, option in enumerate(options):
        _check_option(call, option, options[:i], text)
    axes = _axes(call)
    columns = all(isinstance(value, exp.Column) for value, how in axes if how is None)
    if not 1 <= len(axes) <= 2 or (len(axes) == 2 and not columns):
        raise sql_error(
            call,
            text,
            f"HISTOGRAM has {len(arguments)} arguments",
            why="it takes a value and its bins, or two values and the bins of each",
            fix="HISTOGRAM(age, 11), or HISTOGRAM(age, [0, 18, 65, 110]), or HISTOGRAM(ward), or"
            " HISTOGRAM(age, 11, cost, 20), or HISTOGRAM(ward, age, 11)",
        )
    if len(axes) == 2 and axes[0][0] == axes[1][0]:
        raise sql_error(
            call,
            text,
            "both values of the plane are the same",
            why="all its rows would be in one bin of one value for each bin of the other",
            fix="HISTOGRAM(age, 11, cost, 20), or HISTOGRAM(age, 11) alone",
        )
    if isinstance(arguments[0], exp.Distinct | exp.Star):
        raise sql_error(
            call,
            text,
            f"HISTOGRAM({'DISTINCT x' if isinstance(arguments[0], exp.Distinct) else '*'}) is not"
            " answered",
            why="a histogram counts the rows in each bin of a value",
            fix="HISTOGRAM(age, 11)",
        )
    if options and all(how is None for _, how in axes):
        raise sql_error(
            call,
            text,
            f"{options[0].name} goes with bins",
            why="without bins, HISTOGRAM counts the rows of each category, as GROUP BY does",
            fix="HISTOGRAM(age, 11, cumulative := TRUE)",
        )


def _arguments(call: exp.Expression) -> list[exp.Expression]:
    return [argument for argument in call.expressions if not isinstance(argument, _Option)]


def _axes(call: exp.Expression) -> list[tuple[exp.Expression, exp.Expression | None]]:
    """The values of a histogram, each with its bins, or with none."""
    axes: list[tuple[exp.Expression, exp.Expression | None]] = []
    arguments = _arguments(call)
    bare = len(arguments) == 2 and not call.args.get(_CATEGORIES)
    while arguments:
        value, *arguments = arguments
        how = None
        if arguments and (bare or not arguments[0].find(exp.Column)):
            how, *arguments = arguments
        axes.append((value, how))
    return axes


def _is_of_categories(call: exp.Expression, tables: Mapping[str, Table]) -> bool:
    """Whether two arguments are two columns, the second of which cannot be meant for bins."""
    arguments = _arguments(call)
    if len(arguments) != 2 or not all(isinstance(a, exp.Column) for a in arguments):
        return False
    stored = [{n.lower(): s for n, s in table.storage.items()} for table in tables.values()]
    kinds = [
        found[arguments[1].name.lower()].type
        for found in stored
        if arguments[1].name.lower() in found
    ]
    return bool(kinds) and all(kind in (Type.TEXT, Type.BOOL) for kind in kinds)


def _options(call: exp.Expression) -> list[exp.Expression]:
    return [argument for argument in call.expressions if isinstance(argument, _Option)]


def _check_option(
    call: exp.Expression, option: exp.Expression, before: list[exp.Expression], text: str
) -> None:
    name, value = option.name.lower(), option.expression
    if name not in OPTIONS or name in [other.name.lower() for other in before]:
        raise sql_error(
            call,
            text,
            f"HISTOGRAM has no option {name}" if name not in OPTIONS else f"{name} is said twice",
            why=f"its options are {', '.join(OPTIONS)}",
            fix="HISTOGRAM(age, 11, cumulative := TRUE)",
        )
    if not isinstance(value, exp.Boolean):
        raise sql_error(
            call,
            text,
            f"{name} is neither TRUE nor FALSE",
            why="it is asked for, or it is not, before any row is read",
            fix=f"{name} := TRUE",
        )


def _expand(item: exp.Expression, call: exp.Expression, select: exp.Expression, text: str) -> None:
    counted = item.this if isinstance(item, exp.Alias) else item
    name = item.alias or "count"
    axes = _axes(call)
    found: list[exp.Expression] = []
    for axis, (prefix, (value, how)) in enumerate(zip(_prefixes(call), axes, strict=True)):
        if how is None:
            found.append(value.copy() if isinstance(value, exp.Column) else _named(value, "value"))
            _group_by(select, value)
            continue
        number = sum(bins is not None for _, bins in axes[:axis])
        found += [
            _named(_end(which, call, number), f"{prefix}{end}")
            for which, end in ((LOW_END, "low"), (HIGH_END, "high"))
        ]
    if all(how is None for _, how in axes):
        counted = exp.Count(this=exp.Star())
        if isinstance(call.parent, exp.Filter):
            counted = exp.Filter(this=counted, expression=call.parent.expression.copy())
    found.append(_named(counted.copy(), name))
    position = 1 + [each is item for each in select.expressions].index(True)
    _move_ordinals(select, position, len(found) - 1, text)
    items = [i for each in select.expressions for i in (found if each is item else [each])]
    select.set("expressions", items)


def _move_ordinals(select: exp.Expression, position: int, more: int, text: str) -> None:
    """Let GROUP BY 2 name what it named before there were more columns."""
    group, columns = select.args.get("group"), len(select.expressions)
    for item in group.expressions if group is not None else []:
        if not isinstance(item, exp.Literal) or item.is_string or not item.this.isdecimal():
            continue
        number = int(item.this)
        if number == position or number > columns:
            raise sql_error(
                item,
                text,
                "GROUP BY takes a key, or its number",
                why="HISTOGRAM groups by its bins already"
                if number == position
                else f"the query has columns 1 to {columns}",
                fix="GROUP BY ward, or leave it out",
            )
        if number > position:
            item.set("this", str(number + more))


def _named(node: exp.Expression, name: str) -> exp.Expression:
    return exp.Alias(this=node.copy(), alias=exp.to_identifier(name))


def _prefixes(call: exp.Expression) -> list[str]:
    """What the columns of ends begin with: of a plane, the names of its values."""
    values = [value for value, _ in _axes(call)]
    if len(values) == 1:
        return [""]
    others = ("first", "second")
    named = [
        v.name if isinstance(v, exp.Column) else o for v, o in zip(values, others, strict=True)
    ]
    return [f"{name}_" for name in (named if named[0].lower() != named[1].lower() else others)]


def _end(name: str, call: exp.Expression, axis: int) -> exp.Expression:
    return exp.Anonymous(this=name, expressions=[call.copy(), exp.Literal.number(axis)])


def _group_by(select: exp.Expression, value: exp.Expression) -> None:
    """Group by what HISTOGRAM(x) counts the values of."""
    group = select.args.get("group")
    if group is None:
        select.set("group", exp.Group(expressions=[value.copy()]))
    elif not group.args.get("all"):
        group.append("expressions", value.copy())


def end_of(node: exp.Expression) -> tuple[str, exp.Expression, int] | None:
    """The end of a bin that a column shows, the HISTOGRAM that it is of, and which value's it is."""
    if isinstance(node, exp.Anonymous) and node.name in (LOW_END, HIGH_END):
        call, axis = node.expressions
        return (LOW if node.name == LOW_END else HIGH), call, int(axis.this)
    return None


def bins_of(
    call: exp.Expression,
    text: str,
    read: Callable[[exp.Expression], Expr],
    value: Callable[[exp.Expression], Any],
    key_of: Callable[[exp.Expression], str | None],
) -> list[Call]:
    """The keys that the bins of a HISTOGRAM are: `read` reads what is binned, `value` constants.

    `key_of` says which key of GROUP BY the categories of a plane are.
    """
    axes = _axes(call)
    said: dict[str, Any] = {o.name.lower(): bool(o.expression.this) for o in _options(call)}
    across = next((key_of(what) for what, how in axes if how is None), None)
    wish = Wish(**said, across=across)
    return [_bins(call, w, h, text, read, value, wish) for w, h in axes if h is not None]


def _bins(
    call: exp.Expression,
    what: exp.Expression,
    how: exp.Expression,
    text: str,
    read: Callable[[exp.Expression], Expr],
    value: Callable[[exp.Expression], Any],
    wish: Wish,
) -> Call:
    place = origin_of(call, text)
    if isinstance(how, exp.Array):
        edges = [value(e) for e in how.expressions]
        return binned(read(what), None, edges, place=place, wish=wish)
    return binned(read(what), value(how), None, place=place, wish=wish)

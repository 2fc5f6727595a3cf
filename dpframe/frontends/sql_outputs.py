"""What the columns of an answer are called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sqlglot import exp

from dpframe.declare import Table
from dpframe.frontends.sql_lists import PLACE
from dpframe.frontends.sql_names import refuse_reserved, written
from dpframe.frontends.sql_origin import sql_error
from dpframe.frontends.sql_released import only_source
from dpframe.plan.nodes import place_in_list


def output_names(
    select: exp.Select, resolved: exp.Select, tables: Mapping[str, Table], text: str
) -> list[str]:
    """The names of the columns as they were written, made unique.

    `resolved` is the same SELECT with its stars written out, `tables` go by small letters.
    """
    names: list[str] = []
    shown: list[str] = []  # several places of one list are one column
    stars = _written_out(select, resolved, tables, text)
    for item in select.expressions:
        place = item.meta.get(PLACE)
        if place:
            names.append(place_in_list(shown[-1], place))
        elif is_star(item):
            for name in next(stars):
                shown.append(_unique(name, shown))
                names.append(shown[-1])
        else:
            name = _name(item, select, tables)
            refuse_reserved(item, name, text)
            shown.append(_unique(name, shown))
            names.append(shown[-1] if place is None else place_in_list(shown[-1], 0))
    return names


def is_star(item: exp.Expression) -> bool:
    """Whether an item of a SELECT stands for all columns: `*`, or `t.*`."""
    return isinstance(item.this if isinstance(item, exp.Column) else item, exp.Star)


def _written_out(
    select: exp.Select, resolved: exp.Select, tables: Mapping[str, Table], text: str
) -> Iterator[list[str]]:
    """What the columns of each star are called, which is what the SELECT below calls them."""
    items = select.expressions
    places = [i for i, item in enumerate(items) if is_star(item)]
    if not places:
        return
    size, rest = divmod(len(resolved.expressions) - len(items) + len(places), len(places))
    if rest or len({items[i].sql() for i in places}) > 1:
        raise sql_error(
            items[places[1]],
            text,
            "one SELECT has two different stars",
            why="which of its columns is from which is not told apart",
            fix="name the columns",
        )
    inner, below = only_source(select), only_source(resolved)
    own: dict[str, str] = {}
    if isinstance(inner, exp.Select) and isinstance(below, exp.Select):
        called = output_names(inner, below, tables, text)
        found = (item.alias_or_name.lower() for item in below.expressions)
        own = dict(zip(found, called, strict=True))
    for number, place in enumerate(places):
        first = place + number * (size - 1)
        columns = [item.alias_or_name for item in resolved.expressions[first : first + size]]
        yield [own.get(name.lower(), name) for name in columns]


def _unique(name: str, shown: list[str]) -> str:
    unique, count = name, 1
    while unique in shown:
        unique, count = f"{name}_{count}", count + 1
    return unique


def _name(item: exp.Expression, select: exp.Select, tables: Mapping[str, Table]) -> str:
    """What an item was called, in the letters that its table was registered with."""
    if isinstance(item, exp.Alias):
        return str(item.alias)
    if not isinstance(item, exp.Column):
        return written(item)
    read = [t.name.lower() for t in select.root().find_all(exp.Table)]
    named = [tables[name] for name in read if name in tables]
    spelled = {c.lower(): c for table in named for c in table.storage}
    return spelled.get(item.name.lower(), str(item.name))

"""Columns that are the places of a list, put together where an answer is shown."""

from __future__ import annotations

import polars as pl

from dpframe.plan.nodes import listed


def with_lists(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with each list as one column, where its first place stood.

    As in DuckDB, a list of nothing but NULL is NULL.
    """
    lists: dict[str, list[pl.Series]] = {}
    for column in frame:
        place = listed(column.name)
        if place is not None:
            lists.setdefault(place[0], []).append(column)
    if not lists:
        return frame
    shown: list[pl.Series] = []
    for column in frame:
        place = listed(column.name)
        if place is None:
            shown.append(column)
        elif place[1] == 0:
            shown.append(_together(place[0], lists[place[0]]))
    return pl.DataFrame(shown)


def _together(name: str, places: list[pl.Series]) -> pl.Series:
    table = pl.DataFrame([each.alias(str(i)) for i, each in enumerate(places)])
    missing = pl.all_horizontal(pl.all().is_null())
    found = pl.when(~missing).then(pl.concat_list(pl.all())).alias(name)
    return table.select(found).to_series()

"""Functions tried on public values before anything is spent, where constants decide how they compute.

An engine may refuse a pattern, a place or a format, and only once a row is there to compute it of.
Then whether a query fails tells of rows: `WHERE name = 'alice' AND x LIKE '...'` would fail exactly if
she is there. What a function allows is known to be computed; this is for what is not known of engines.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date, datetime
from typing import Any

import polars as pl

from dpframe.aggregates.compile import Compiled
from dpframe.bounds.analysis import Typed, typed
from dpframe.bounds.rows import selections
from dpframe.engines.base import Engine
from dpframe.errors import EngineError, QueryError
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import Call, Column, Expr, walk
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.parts import Blend, CodedSum, CountDistinct, GridCounts, Part

_VALUES: Mapping[Type, tuple[Any, ...]] = {
    Type.BOOL: (True, False, None),
    Type.INT: (1, -12, None),
    Type.FLOAT: (1.5, -12.0, None),
    Type.TEXT: ("Zoë, 7", "2024-02-29 12:30:00", None),
    Type.DATE: (date(2024, 2, 29), date(1969, 12, 31), None),
    Type.TIMESTAMP: (datetime(2024, 2, 29, 12, 30), datetime(1969, 12, 31), None),
    Type.NULL: (None, None, None),
}

_tried: set[tuple[Any, ...]] = set()
_LOCK = threading.Lock()
_MOST_KEPT = 10_000


def require_computable(engine: Engine, compiled: Compiled) -> None:
    """Refuse a query with a function that the engine does not compute."""
    for expr, domains in _analysed(compiled):
        for call in walk(expr):
            if isinstance(call, Call) and call.params:
                _require_computable(engine, call, domains)


def _analysed(compiled: Compiled) -> Iterator[tuple[Expr, Mapping[str, Domain]]]:
    """All expressions that are computed of rows, with what is known of the columns that they read."""
    recipes = (recipe for _, found in compiled.aggregates for recipe in found.recipes())
    parts = (part for recipe in recipes for part in recipe.parts.values())
    # Recipes share the expressions themselves; comparing large ones would take long.
    own = list({id(expr): expr for part in parts for expr in _exprs_of(part)}.values())
    own += [key.expr for _, key in compiled.keys]
    own += [] if compiled.where is None else [compiled.where]
    yield from ((expr, compiled.table.domains) for expr in own)
    for each in selections(compiled.source):
        yield from ((expr, each.table.domains) for expr in each.exprs)


def _exprs_of(part: Part) -> list[Expr]:
    found = [] if part.condition is None else [part.condition]
    match part:
        case CountDistinct():
            return found + [expr for expr, _ in part.compared]
        case CodedSum() | Blend() | GridCounts():
            return [*found, part.expr]
    return found


def _require_computable(engine: Engine, call: Call, domains: Mapping[str, Domain]) -> None:
    kinds = tuple(typed(arg, domains).domain.type for arg in call.args)
    found = typed(call, domains).domain
    tried = (engine.name, call.function, kinds, found.type, *map(repr, call.params))
    if tried in _tried:
        return
    values = {
        f"a{i}": pl.Series(_VALUES[kind], dtype=POLARS_TYPES[kind]) for i, kind in enumerate(kinds)
    }
    alone = Call(call.function, tuple(map(Column, values)), call.params)
    with suppress(EngineError):
        engine.evaluate([Typed(alone, found)], pl.DataFrame(values))
        with _LOCK:
            if len(_tried) >= _MOST_KEPT:
                _tried.clear()
            _tried.add(tried)
        return
    raise QueryError(
        f"{engine.name} does not compute {call.function} with these constants",
        why="it would fail once a row is there, which would tell of it; nothing was spent",
        fix="use shorter patterns and smaller numbers, or ask in another way",
    )

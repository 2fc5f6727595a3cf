"""Public group keys, derived from declared domains: no row is looked at, so no delta is paid."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence

import polars as pl

from dpframe.bounds.analysis import Typed, refused
from dpframe.errors import QueryError
from dpframe.plan.domains import Domain, number_of_values, possible_values
from dpframe.plan.exprs import Column, columns_of
from dpframe.plan.functions.base import column
from dpframe.plan.functions.casts import POLARS_TYPES

MOST_ENUMERATED = 1_000_000
"""Inputs of key expressions are enumerated up to this many combinations."""

MOST_GROUPS = 1_000_000
"""A query may have this many groups."""

Evaluate = Callable[[Sequence[Typed], pl.DataFrame], pl.DataFrame]
"""Computes expressions on a small public table, with the engine that will run the query."""


def key_frame(
    keys: Sequence[tuple[str, Typed]], columns: Mapping[str, Domain], evaluate: Evaluate
) -> pl.DataFrame:
    """Every combination of keys that a row can have, sorted, one column per key.

    Keys that read the same columns are enumerated together: `GROUP BY age, age // 10` has 111
    groups, not 1,332.
    """
    if not keys:
        return pl.DataFrame()
    frames = [_component(members, columns, evaluate) for members in _components(keys)]
    _require_few_together(keys[0][1], math.prod(frame.height for frame in frames))
    product = frames[0]
    for frame in frames[1:]:
        product = product.join(frame, how="cross")
    names = [name for name, _ in keys]
    # Released keys are sorted: an order that followed the data would tell of it.
    return product.select(names).sort(names, nulls_last=True)


def _components(keys: Sequence[tuple[str, Typed]]) -> list[list[tuple[str, Typed]]]:
    """Split keys into sets that share no input column."""
    components: list[tuple[set[str], list[tuple[str, Typed]]]] = []
    for name, key in keys:
        reads, members = set(columns_of(key.expr)), [(name, key)]
        apart = []
        for other_reads, other_members in components:
            if other_reads & reads:
                reads |= other_reads
                members = other_members + members
            else:
                apart.append((other_reads, other_members))
        components = [*apart, (reads, members)]
    return [members for _, members in components]


def _component(
    members: list[tuple[str, Typed]], columns: Mapping[str, Domain], evaluate: Evaluate
) -> pl.DataFrame:
    if len(members) == 1 and isinstance(members[0][1].expr, Column):
        name, key = members[0]
        _require_few(key)
        return pl.DataFrame({name: _column(key.domain, declared_only=True)})
    inputs = tuple(dict.fromkeys(c for _, key in members for c in columns_of(key.expr)))
    if _combinations(inputs, columns) <= MOST_ENUMERATED:
        return _enumerated(members, inputs, columns, evaluate)
    for _, key in members:
        _require_few(key)
    values = [_column(key.domain, declared_only=False).to_list() for _, key in members]
    _require_few_together(members[0][1], math.prod(map(len, values)))  # before they are listed
    product = itertools.product(*values)
    schema = {name: POLARS_TYPES[key.domain.type] for name, key in members}
    return pl.DataFrame(list(product), schema=schema, orient="row")


def _combinations(inputs: Sequence[str], columns: Mapping[str, Domain]) -> float:
    sizes = [number_of_values(columns[c]) for c in inputs]
    return math.prod(math.inf if s is None else s + 1 for s in sizes)


def _column(domain: Domain, *, declared_only: bool) -> pl.Series:
    """The values of a domain as a column; NULL among them if it is one of the declared values."""
    values = list(possible_values(domain))
    if domain.nullable and (domain.null_is_value or not declared_only):
        values.append(None)
    return pl.Series(values, dtype=POLARS_TYPES[domain.type])


def _require_few_together(first: Typed, groups: int) -> None:
    if groups > MOST_GROUPS:
        raise refused(
            first.expr,
            f"and the other keys make {groups:,} groups",
            why=f"a query may have {MOST_GROUPS:,} groups; each one is released with noise",
            fix="group by fewer columns, or by coarser ones, for example age // 10",
        )


def _require_few(key: Typed) -> None:
    size = number_of_values(key.domain)
    if size is None:
        raise refused(
            key.expr,
            "has no public set of values to group by",
            why="keys read from the rows would tell who is there; they must follow from what is"
            " declared",
            fix='columns={"name": dp.Keys([...])} when registering, or dp.Range(low, high) for an'
            " integer or a date",
            kind=QueryError,
        )
    if size > MOST_GROUPS:
        raise refused(
            key.expr,
            f"has {size:,} possible values to group by",
            why=f"a query may have {MOST_GROUPS:,} groups; each one is released with noise",
            fix="group by something coarser, for example x // 1000",
        )


def _enumerated(
    members: list[tuple[str, Typed]],
    inputs: Sequence[str],
    columns: Mapping[str, Domain],
    evaluate: Evaluate,
) -> pl.DataFrame:
    """Evaluate the keys on every combination of their inputs.

    A NULL input stands for a missing value, and for one outside declared keys. The keys that it
    leads to are kept, but a NULL *key* only where NULL is a declared value of some input:
    `GROUP BY LOWER(ward)` has no NULL group if `GROUP BY ward` has none.
    """
    table = pl.DataFrame({"one": [0]}) if not inputs else pl.DataFrame()
    declared = pl.lit(True)
    for i, name in enumerate(inputs):
        values = _column(columns[name], declared_only=False).alias(name).to_frame()
        table = table.join(values, how="cross") if i else values
        if not columns[name].null_is_value:
            declared = declared & column(name).is_not_null()
    exprs = [key for _, key in members]
    kept = evaluate(exprs, table.filter(declared))
    extra = evaluate(exprs, table.filter(~declared)).drop_nulls()
    result = pl.concat([kept, extra]).unique()
    result.columns = [name for name, _ in members]
    return result

"""Group keys: public ones, derived from declared domains with no look at a row, and the rest.

Keys with no finite public set of values are private. They take partition selection
(`release.selection`), which shows only keys that many units hold, for a part of delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from dpframe.bounds.analysis import Typed, refused
from dpframe.bounds.finest import finest, name_of, values_of
from dpframe.errors import QueryError
from dpframe.plan.domains import Domain, Type, number_of_values, possible_values
from dpframe.plan.exprs import Column, columns_of
from dpframe.plan.functions.base import column
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.nodes import GROUPING

MOST_ENUMERATED = 1_000_000
"""Inputs of key expressions are enumerated up to this many combinations."""

MOST_GROUPS = 1_000_000
"""A query may have this many groups."""

Evaluate = Callable[[Sequence[Typed], pl.DataFrame], pl.DataFrame]
"""Computes expressions on a small public table, with the engine that will run the query."""


@dataclass(frozen=True, slots=True)
class ChosenKeys:
    """Keys that partition selection released: noisy, so they can be used like public ones."""

    frame: pl.DataFrame
    """One row per combination of the private keys, sorted."""
    half: int
    """A key of this many units was as likely to be released as not."""
    sure: int
    """A key of this many units was released with 99% probability."""
    left_out: int = 0
    """How many more keys were chosen than a query may have; the last ones in order are left out."""

    def first(self, most: int) -> ChosenKeys:
        """The first keys in order. That is post-processing: it looks at released keys alone."""
        more = max(0, self.frame.height - most)
        ordered = self.frame.sort(self.frame.columns, nulls_last=True)
        return replace(self, frame=ordered.head(most), left_out=self.left_out + more)


@dataclass(frozen=True, slots=True)
class KeySets:
    """The keys of a query: those with a public set of values, and those without."""

    public: pl.DataFrame
    """Every combination of the public keys, sorted, one column per key."""
    private: tuple[str, ...]
    """Names of the keys whose values are known from the rows alone."""


def key_sets(
    keys: Sequence[tuple[str, Typed]], columns: Mapping[str, Domain], evaluate: Evaluate
) -> KeySets:
    """Every combination of keys that a row can have, as far as declared domains tell.

    Keys that read the same columns are enumerated together: `GROUP BY age, age // 10` has 111
    groups, not 1,332. If that fails for one of them, all of them are private.
    """
    frames, private = [], set()
    for members in _components(keys):
        frame = _component(members, columns, evaluate)
        if frame is not None:
            frames.append(frame)
            continue
        for name, key in members:
            _refuse_uncountable(key)
            private.add(name)
    names = [name for name, _ in keys if name not in private]
    groups = math.prod(frame.height for frame in frames)
    if groups > MOST_GROUPS:
        raise _too_many(keys[0][1], groups)
    return KeySets(_product(frames, names), tuple(n for n, _ in keys if n in private))


def with_chosen(public: pl.DataFrame, chosen: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """The groups of a query: each released private key with every public one, sorted."""
    return _product([public, chosen] if public.width else [chosen], names)


def covers_every_row(key: Typed, public: pl.Series) -> bool:
    """Whether every row has one of a key's public values, so that its groups add up to all rows."""
    listed = key.domain.values is not None and key.domain.nullable
    return not listed and (not key.domain.nullable or public.null_count() > 0)


def in_sets(frames: Sequence[pl.DataFrame], schema: pl.Schema) -> pl.DataFrame:
    """The groups of several groupings as one table: NULL for keys that a row is not grouped by.

    Beside each key stands a column that says whether that is so.
    """
    tables = []
    for frame in frames:
        rows = frame if frame.width else pl.DataFrame({"one": [0]})
        keys = [
            pl.col(name) if name in frame.columns else pl.lit(None, dtype=kind).alias(name)
            for name, kind in schema.items()
        ]
        flags = [
            pl.lit(int(name not in frame.columns), dtype=pl.Int64).alias(f"{GROUPING}{name}")
            for name in schema
        ]
        tables.append(rows.with_columns(*keys, *flags).select(*schema, f"^{GROUPING}.*$"))
    return pl.concat(tables)


def _product(frames: Sequence[pl.DataFrame], names: list[str]) -> pl.DataFrame:
    if not frames:
        return pl.DataFrame()
    product = frames[0]
    for frame in frames[1:]:
        product = product.join(frame, how="cross")
    # Released keys are sorted: an order that followed the data would tell of it.
    return product.select(names).sort(names, nulls_last=True)


def _too_many(key: Typed, groups: int) -> QueryError:
    return refused(
        key.expr,
        f"and the other keys make {groups:,} groups",
        why=f"a query may have {MOST_GROUPS:,} groups; each one is released with noise",
        fix="group by fewer columns, or by coarser ones, for example age // 10",
    )


def refuse_private(keys: Sequence[tuple[str, Typed]], private: Sequence[str], why: str) -> None:
    """Refuse keys that are not public where they cannot be chosen privately either."""
    for name, key in keys:
        if name not in private:
            continue
        size = number_of_values(key.domain)
        if size is not None and size > MOST_GROUPS:
            raise refused(
                key.expr,
                f"has {size:,} possible values to group by",
                why=f"a query may have {MOST_GROUPS:,} public groups, and {why}",
                fix=f"{_bins_fix(key)}group by something coarser, for example"
                f" {_name(key)} // 1000; or {_DELTA_FIX}",
            )
        column = key.expr.name if isinstance(key.expr, Column) else "name"
        raise refused(
            key.expr,
            "has no public set of values to group by",
            why=f"keys read from the rows would tell who is there, and {why}",
            fix=f'{_bins_fix(key)}columns={{"{column}": dp.Keys([...])}} when registering, or'
            f' session.sql(..., keys={{"{column}": [...]}}); or {_DELTA_FIX}',
        )


_DELTA_FIX = "dp.Session(dp.Budget(epsilon=1, delta=1e-6)), which shows keys that many units hold"


def _refuse_uncountable(key: Typed) -> None:
    if key.domain.type in (Type.FLOAT, Type.NULL):
        raise refused(
            key.expr,
            "has no public set of values to group by",
            why="a float takes too many values: hardly any two rows share a key",
            fix=f"{_bins_fix(key)}group by something coarser, for example"
            f" CAST(FLOOR({_name(key)}) AS BIGINT)",
            kind=QueryError,
        )


def _bins_fix(key: Typed) -> str:
    """How to count the rows in bins of a key whose range is known; nothing for others."""
    wide = key.domain.type.is_number or key.domain.type.is_temporal
    return f"HISTOGRAM({_name(key)}, 20), or " if wide and key.domain.is_bounded else ""


def _name(key: Typed) -> str:
    """A column as it was written; x for an expression."""
    place = key.expr.origin
    return place.text() if isinstance(key.expr, Column) and place is not None else "x"


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
) -> pl.DataFrame | None:
    """The combinations of keys that share inputs, or None if there is no public set of them."""
    if len(members) == 1 and isinstance(members[0][1].expr, Column):
        name, key = members[0]
        size = number_of_values(key.domain)
        if size is None or size > MOST_GROUPS:
            return None
        return pl.DataFrame({name: _column(key.domain, declared_only=True)})
    inputs = tuple(dict.fromkeys(c for _, key in members for c in columns_of(key.expr)))
    if _combinations(inputs, columns) <= MOST_ENUMERATED:
        values = {
            c: (_column(columns[c], declared_only=False), columns[c].null_is_value) for c in inputs
        }
        return _evaluated([n for n, _ in members], [k for _, k in members], values, evaluate)
    few = finest([key for _, key in members], columns, MOST_GROUPS)
    if few is None:
        return None
    values = {
        name_of(i): (_listed(part), part.domain.null_is_value) for i, part in enumerate(few.parts)
    }
    combinations = math.prod(len(listed) for listed, _ in values.values())
    if combinations > MOST_GROUPS:  # before they are listed
        raise _too_many(members[0][1], combinations)
    return _evaluated([name for name, _ in members], few.keys, values, evaluate)


def _combinations(inputs: Sequence[str], columns: Mapping[str, Domain]) -> float:
    sizes = [number_of_values(columns[c]) for c in inputs]
    return math.prod(math.inf if s is None else s + 1 for s in sizes)


def _column(domain: Domain, *, declared_only: bool) -> pl.Series:
    """The values of a domain as a column; NULL among them if it is one of the declared values."""
    values = list(possible_values(domain))
    if domain.nullable and (domain.null_is_value or not declared_only):
        values.append(None)
    return pl.Series(values, dtype=POLARS_TYPES[domain.type])


def _listed(part: Typed) -> pl.Series:
    """The values of an expression as a column, NULL among them if it can be that."""
    values = [*values_of(part), *([None] if part.domain.nullable else [])]
    return pl.Series(values, dtype=POLARS_TYPES[part.domain.type])


def _evaluated(
    names: Sequence[str],
    keys: Sequence[Typed],
    inputs: Mapping[str, tuple[pl.Series, bool]],
    evaluate: Evaluate,
) -> pl.DataFrame:
    """Evaluate keys on every combination of their inputs, each with whether its NULL was declared.

    A NULL input stands for a missing value, and for one outside declared keys. The keys that it
    leads to are kept, but a NULL *key* only where NULL is a declared value of some input:
    `GROUP BY LOWER(ward)` has no NULL group if `GROUP BY ward` has none.
    """
    table = pl.DataFrame({"one": [0]}) if not inputs else pl.DataFrame()
    declared = pl.lit(True)
    for i, (name, (listed, null_is_value)) in enumerate(inputs.items()):
        values = listed.alias(name).to_frame()
        table = table.join(values, how="cross") if i else values
        if not null_is_value:
            declared = declared & column(name).is_not_null()
    kept = evaluate(keys, table.filter(declared))
    extra = evaluate(keys, table.filter(~declared)).drop_nulls()
    result = pl.concat([kept, extra]).unique()
    result.columns = list(names)
    return result

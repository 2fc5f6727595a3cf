"""Exact parts on Polars: lazy frames, collected by the streaming engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from dpframe.bounds.analysis import Typed
from dpframe.bounds.rows import Selected, Source, Stored, joined_columns, stored_tables
from dpframe.declare import Storage, Table
from dpframe.engines.base import (
    Engine,
    KeyFilter,
    Request,
    sum_that_counts,
    withhold_rows,
)
from dpframe.engines.polars_codes import as_code, steps_in_one, summand_of
from dpframe.engines.polars_exprs import (
    Read,
    collected,
    computed,
    filtered,
    polars_of,
    reader,
    stored,
    with_stages,
)
from dpframe.engines.polars_rows import Frames, selected_frame, source_frame
from dpframe.engines.polars_sums import Way, coded_at, part_of, way_for, with_squares
from dpframe.engines.polars_weights import factor_of, heavy_units, scaled
from dpframe.engines.steady import is_steady
from dpframe.plan.domains import Type
from dpframe.plan.exprs import Column
from dpframe.plan.functions.base import column
from dpframe.plan.functions.casts import POLARS_TYPES
from dpframe.plan.parts import Blend, CodedSum, CountDistinct, CountUnits, GridCounts
from dpframe.plan.stages import Staging

_INTEGER_BITS: dict[pl.DataType, tuple[int, bool]] = {
    pl.Int8(): (8, True),
    pl.Int16(): (16, True),
    pl.Int32(): (32, True),
    pl.Int64(): (64, True),
    pl.Int128(): (128, True),
    pl.UInt8(): (8, False),
    pl.UInt16(): (16, False),
    pl.UInt32(): (32, False),
    pl.UInt64(): (64, False),
}

_PLAIN: dict[pl.DataType, Type] = {
    pl.Boolean(): Type.BOOL,
    pl.Float64(): Type.FLOAT,
    pl.String(): Type.TEXT,
    pl.Date(): Type.DATE,
}


def polars_storage(dtype: pl.DataType) -> Storage:
    """How a Polars type is read.

    >>> polars_storage(pl.UInt8()).high
    255
    """
    if dtype in _INTEGER_BITS:
        bits, signed = _INTEGER_BITS[dtype]
        least = -(2 ** (bits - 1)) if signed else 0
        return Storage(Type.INT, str(dtype), least, least + 2**bits - 1)
    if dtype in _PLAIN:
        return Storage(_PLAIN[dtype], str(dtype))
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is None:
        return Storage(Type.TIMESTAMP, str(dtype))
    if isinstance(dtype, pl.Float32 | pl.Decimal):
        places = dtype.scale if isinstance(dtype, pl.Decimal) else None
        return Storage(Type.FLOAT, str(dtype), exact=False, decimals=places)
    if isinstance(dtype, pl.Enum | pl.Categorical):
        return Storage(Type.TEXT, str(dtype).split("(")[0], exact=False)
    return Storage(None, str(dtype))


class PolarsEngine(Engine):
    """A Polars frame, lazy or not."""

    name = "Polars"

    _rows: int | None = None
    """The number of rows, where that is known beforehand."""

    def __init__(self, data: pl.DataFrame | pl.LazyFrame | Callable[[], pl.LazyFrame]) -> None:
        """Take a frame, or what gives the frame to read now, with the same columns each time."""
        self._data = data
        self._rows = data.height if isinstance(data, pl.DataFrame) else None
        self._schema = self._now.lazy().collect_schema()

    @property
    def _now(self) -> pl.DataFrame | pl.LazyFrame:
        data = self._data
        return data if isinstance(data, pl.DataFrame | pl.LazyFrame) else data()

    @property
    def is_steady(self) -> bool:
        data = self._now
        return isinstance(data, pl.DataFrame) or is_steady(data)

    def height(self) -> int | None:
        return self._rows

    def lazy(self) -> pl.LazyFrame:
        """The data."""
        return self._now.lazy()

    def empty(self) -> pl.DataFrame:
        """A frame with the same columns and no rows."""
        return pl.DataFrame(schema=self._schema)

    def frames(self, source: Source) -> Frames:
        """The data of every registered table that a source reads."""
        joined = joined_columns(source)
        return {t.name: self.ahead_of_joins(joined.get(t.name)) for t in stored_tables(source)}

    def ahead_of_joins(self, names: Sequence[str] | None) -> pl.LazyFrame:
        """The data, whose columns of these names are joined, read to its end if that may fail.

        A join stops reading one side where the other has no rows, or none that match. Whether what
        cannot be read is met would tell of them.
        """
        rows = self.lazy()
        if names and self._rows is None:
            collected(rows.select(column(name).is_null().sum() for name in names))
        return rows

    def storage(self) -> Mapping[str, Storage]:
        return {name: polars_storage(dtype) for name, dtype in self._schema.items()}

    def groups(self, request: Request) -> pl.DataFrame:
        if request.table.unit_column is None:
            return self._totals(self._prepared(request), request, request.key_names)
        return self._weighted(request)

    def cells(self, request: Request) -> pl.DataFrame:
        (part,) = request.parts
        assert isinstance(part, GridCounts)
        rows = self._prepared(replace(request, parts=(part.codes,)))
        cell = (as_code(pl.col("c0"), steps_in_one(part.coding)) - part.coding.low) // part.width
        names, (bits,) = [*request.key_names, "cell"], request.bits
        count = (pl.len().cast(pl.Int128) * (1 << bits)).alias("p0")

        def counted(some: pl.LazyFrame, by: list[str]) -> pl.LazyFrame:
            inside = some.filter(pl.col("c0").is_not_null()).with_columns(cell.alias("cell"))
            return inside.group_by(by).agg(count)

        if request.table.unit_column is None:
            return collected(counted(rows, names))
        rows = self._to_read_again(rows)
        whole = collected(counted(rows, names))
        some = _of_suspects(rows, request)
        if some is None:
            return whole
        pairs = self._grouped(some, request.only([]), ["u", *request.key_names], Way.NARROW)
        heavy = heavy_units(_admitted(pairs, request), request).select("u", "m").drop_nulls("m")
        shrunk = pl.col("p0") * factor_of(request) // pl.col("m") - pl.col("p0")
        owned = counted(some, ["u", *names])
        fixes = owned.join(heavy.lazy(), on="u", how="inner", nulls_equal=True)
        fixes = fixes.select(*names, shrunk.alias("p0"))
        return _added_up(pl.concat([whole, collected(fixes)]), names)

    def public_rows(self, selected: Selected) -> pl.DataFrame:
        return selected_frame(selected, self.frames(selected.source)).collect()

    def attach(self, connection: Any, view: str) -> None:
        connection.register(view, self._now)

    def evaluate(self, exprs: Sequence[Typed], table: pl.DataFrame) -> pl.DataFrame:
        staging = Staging()
        staged = [staging.rewrite(e.expr) for e in exprs]
        columns = [polars_of(e, column).alias(f"c{i}") for i, e in enumerate(staged)]
        rows = with_stages(table.lazy(), staging.stages, column)
        return withhold_rows(self.name, lambda: computed(rows, columns).collect()).select(
            pl.col(f"c{i}").cast(POLARS_TYPES[e.domain.type]) for i, e in enumerate(exprs)
        )

    def _totals(self, rows: pl.LazyFrame, request: Request, by: list[str]) -> pl.DataFrame:
        """The parts of each group, in the fastest sums that are proven to hold them.

        Sums of 64 bits wrap silently. No sum of n codes of magnitude H is beyond n * H. So the number
        of rows of each group, measured along, tells afterwards whether sums are exact; if one may
        not be, they are measured again.
        """
        sums = [p for p in request.parts if isinstance(p, CodedSum | Blend)]
        largest = max([max(p.coding.magnitude(), p.magnitude) for p in sums] or [1])
        known = isinstance(request.source, Stored) and self._rows is not None
        way = way_for((self._rows or 0) * largest if known else 0)
        while True:
            found = self._grouped(rows, request, by, way)
            most = found["n"].max() if found.height else 0
            needed = way_for(most * largest) if isinstance(most, int) else Way.NARROW
            if needed.value <= way.value:
                return found
            way = needed

    def _grouped(
        self, rows: pl.LazyFrame, request: Request, by: list[str], way: Way
    ) -> pl.DataFrame:
        parts = [part_of(i, request, way).alias(f"p{i}") for i in range(len(request.parts))]
        columns = [pl.len().cast(pl.Int64).alias("n"), *parts]
        found = rows.group_by(by).agg(columns) if by else rows.select(columns)
        return collected(found)

    def _prepared(self, request: Request) -> pl.LazyFrame:
        """The rows that pass, with the unit and the keys beside the columns."""
        read = reader(request.table)
        rows = source_frame(request.source, self.frames(request.source))
        rows = with_stages(rows, request.stages, read)
        rows = filtered(rows, request.where, request.table)
        columns = []
        for name, key, kept in zip(
            request.key_names, request.keys, request.key_filters, strict=True
        ):
            if isinstance(key, Column) and kept.values is not None:
                # Rows outside declared keys are dropped after grouping: no need to look them up.
                columns.append(stored(request.table, key.name).alias(name))
            else:
                columns.append(polars_of(key, read).alias(name))
        if request.table.unit_column is not None:
            columns.append(_unit(request.table).alias("u"))
        for i, part in enumerate(request.parts):
            if isinstance(part, CodedSum | Blend):
                if coded_at(i, request.parts) == i:
                    codes = part.codes if isinstance(part, Blend) else part
                    columns.append(summand_of(codes, request.table).alias(f"c{i}"))
            elif isinstance(part, CountDistinct):
                columns.append(_value(part, read).alias(f"d{i}"))
            elif part.condition is not None and sum_that_counts(part, request.parts) is None:
                columns.append(polars_of(part.condition, read).alias(f"w{i}"))
        return with_squares(computed(rows, columns) if columns else rows, request.parts)

    def _to_read_again(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Rows that are the same each time: what bounds units reads them more than once."""
        return rows if self.is_steady else collected(rows).lazy()

    def _weighted(self, request: Request) -> pl.DataFrame:
        """Bound units by weight: see `duckdb_parts` for the two ways, which are the same here."""
        rows, names = self._to_read_again(self._prepared(request)), request.key_names
        if any(isinstance(part, CountDistinct) for part in request.parts):
            return _different_values(rows, request)
        if any(isinstance(part, CountUnits) for part in request.parts):
            pairs = _contributions(self._totals(rows, request, ["u", *names]), request)
            pairs = _admitted(pairs, request)
            return _added_up(scaled(pairs, request), names)
        whole = _added_up(_contributions(self._totals(rows, request, names), request), names)
        some = _of_suspects(rows, request)
        if some is None:
            return whole
        pairs = _contributions(self._totals(some, request, ["u", *names]), request)
        pairs = _admitted(pairs, request)
        before, after = _added_up(pairs, names), _added_up(scaled(pairs, request), names)
        negative = before.with_columns(
            (0 - pl.col(c)).alias(c) for c in before.columns if c not in names
        )
        return _added_up(pl.concat([whole, negative, after]), names)


def _of_suspects(rows: pl.LazyFrame, request: Request) -> pl.LazyFrame | None:
    """The rows of units with more than `max_rows`, if any: no other unit can be heavy."""
    totals = rows.group_by("u").agg(pl.len())
    suspects = totals.filter(pl.col("len") > request.table.max_rows).select("u")
    found = collected(suspects)
    if found.height == 0:
        return None
    return rows.join(found.lazy(), on="u", how="semi", nulls_equal=True)


def _unit(table: Table) -> pl.Expr:
    """The unit as it is stored, in a type that every operation compares alike.

    A join of Polars finds NaN in keys that it believes unsorted only: whether that unit is bounded
    would depend on the others. Text has no such exceptions.
    """
    name = str(table.unit_column)
    unit = column(name)
    if table.storage[name].name not in ("Float64", "Float32"):
        return unit
    return pl.when(unit == 0).then(0.0).otherwise(unit.cast(pl.Float64)).cast(pl.String)


def _value(part: CountDistinct, read: Read) -> pl.Expr:
    """What a count of different values compares; NULL where a row does not count."""
    values = [
        polars_of(expr, read) + 0.0 if kind is Type.FLOAT else polars_of(expr, read)
        for expr, kind in part.compared  # -0.0 and 0.0 are one number
    ]
    value = values[0]
    if part.beside:
        value = pl.struct(each.alias(str(i)) for i, each in enumerate(values))
    if part.condition is None:
        return value
    return pl.when(polars_of(part.condition, read)).then(value)


def _different_values(rows: pl.LazyFrame, request: Request) -> pl.DataFrame:
    """Weigh units by the values that they hold: see `duckdb_parts`, it is the same here."""
    names, (bits,) = request.key_names, request.bits
    held = rows.select("u", *names, "d0").filter(pl.col("d0").is_not_null()).unique()
    held_there = _admitted(collected(held), request)
    one = pl.lit(1 << bits, dtype=pl.Int128)
    pairs = held_there.group_by(["u", *names]).agg(pl.len().cast(pl.Int64).alias("n"))
    # What a unit adds for each value: its weight, which is less than one if it holds too many.
    weights = scaled(pairs.with_columns(one.alias("p0")), request).select("u", *names, "p0")
    found = held_there.join(weights, on=["u", *names], how="left", nulls_equal=True)
    heaviest = found.group_by([*names, "d0"]).agg(pl.col("p0").max())
    return _added_up(heaviest, names)


def _contributions(groups: pl.DataFrame, request: Request) -> pl.DataFrame:
    """The parts of groups on their finer grids; for units that are counted, 1 where there are rows."""
    columns = []
    for i, (part, bits) in enumerate(zip(request.parts, request.bits, strict=True)):
        value = pl.col(f"p{i}")
        if isinstance(part, CountUnits):
            value = (value > 0).cast(pl.Int128)
        columns.append((value * (1 << bits)).alias(f"p{i}"))
    return groups.with_columns(columns)


def _added_up(pairs: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """The parts of each group, over all units."""
    parts = [pl.col(c).sum() for c in pairs.columns if c.startswith("p")]
    return pairs.group_by(names).agg(parts) if names else pairs.select(parts)


def _admitted(groups: pl.DataFrame, request: Request) -> pl.DataFrame:
    """Only groups that are public."""
    for name, kept in zip(request.key_names, request.key_filters, strict=True):
        test = _test(pl.col(name), kept)
        if test is not None:
            groups = groups.filter(test)
    if request.chosen is None:
        return groups
    names, types = request.chosen.columns, request.chosen.schema
    same_types = [pl.col(name).cast(types[name]) for name in names]
    return groups.join(
        request.chosen, left_on=same_types, right_on=names, how="semi", nulls_equal=True
    )


def _test(key: pl.Expr, kept: KeyFilter) -> pl.Expr | None:
    if kept.values is None:
        return None if kept.null else key.is_not_null()
    listed = key.is_in(list(kept.values))
    return listed.fill_null(kept.null)

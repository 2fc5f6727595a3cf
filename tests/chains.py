"""Hypothesis strategies: chains of Polars methods over the worlds of `strategies`.

Expressions are drawn as Python code and, where SQL can say the same, as SQL beside it. So the one
grammar serves twice: `chains(world)` feeds the neighbouring-tables harness, and `twins(world)` the
test that both front ends read the same plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import polars as pl
import polars.selectors as cs
from hypothesis import strategies as st
from strategies import ColumnSpec, Draw, World, quoted, worlds

import dpframe as dp

SCOPE = {"pl": pl, "cs": cs, "date": date, "datetime": datetime}
"""What the code of a chain refers to, beside the table `t`."""


def frame_of(code: str, session: dp.Session) -> dp.Summary:
    """The chain that some code builds."""
    built: dp.Summary = eval(code, {**SCOPE, "t": session.table("t")})
    return built


@dataclass(frozen=True)
class Twin:
    """An expression as Polars code and as SQL; `sql` is empty where SQL has no such thing."""

    polars: str
    sql: str = ""
    bounded: bool = True


_WHOLE = ("0", "1", "2", "3", "5", "7", "10", "49", "-1", "-3")
_REAL = ("0.5", "1.5", "2.5", "0.1", "49.0", "-2.25", "3.0")
_TEXTS = ("", "a", "er", "é", "12", "%", "x y", "日本語", "it's")
_DAYS = (date(2024, 1, 1), date(2024, 2, 29), date(1970, 1, 1), date(2023, 12, 31))
_FIELDS = {
    **{name: name for name in ("year", "quarter", "month", "week", "day")},
    **{"weekday": "isodow", "ordinal_day": "doy", "hour": "hour", "minute": "minute"},
    "iso_year": "isoyear",
}
_UNITS = {"1y": "year", "1q": "quarter", "1mo": "month", "1w": "week", "1d": "day", "1h": "hour"}
_COMPARED = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


def column_code(name: str) -> str:
    """A column by its exact name: Polars takes some names for patterns."""
    is_pattern = name == "*" or (name.startswith("^") and name.endswith("$"))
    return f"cs.by_name({name!r}).as_expr()" if is_pattern else f"pl.col({name!r})"


class Chains:
    """Draws expressions of a wanted type over some columns."""

    def __init__(self, draw: Draw, columns: Sequence[ColumnSpec], *, shared: bool) -> None:
        self.draw, self.columns = draw, columns
        self.shared = shared
        """Whether SQL must be able to say the same."""

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def below(self, count: int) -> int:
        return int(self.draw(st.integers(0, count - 1)))

    def column(self, kind: str) -> Twin | None:
        found = [c for c in self.columns if c.kind == kind]
        if not found:
            return None
        chosen = self.pick(*found)
        return Twin(column_code(chosen.name), chosen.sql, chosen.is_bounded)

    def _either(self, *kinds: str) -> Twin:
        """A leaf, of a type that some column has."""
        names = {"whole": "int", "real": "float", "day": "date", "moment": "time"}
        there = {c.kind for c in self.columns}
        likely = [k for k in kinds if names.get(k, k) in there] or list(kinds)
        found: Callable[[int], Twin] = getattr(self, self.pick(*likely))
        return found(0)

    def _choice(self, kind: Callable[[int], Twin], depth: int) -> Twin:
        a, b, test = kind(depth - 1), kind(depth - 1), self.condition(depth - 1)
        both = a.bounded and b.bounded
        match self.below(5):
            case 0:
                return Twin(
                    f"pl.when({test.polars}).then({a.polars}).otherwise({b.polars})",
                    f"CASE WHEN {test.sql} THEN {a.sql} ELSE {b.sql} END",
                    both,
                )
            case 1:
                return Twin(
                    f"pl.when({test.polars}).then({a.polars})",
                    f"CASE WHEN {test.sql} THEN {a.sql} END",
                    a.bounded,
                )
            case 2:
                return Twin(
                    f"{a.polars}.fill_null({b.polars})", f"COALESCE({a.sql}, {b.sql})", both
                )
            case 3:
                return Twin(
                    f"pl.max_horizontal({a.polars}, {b.polars})",
                    f"GREATEST({a.sql}, {b.sql})",
                    both,
                )
            case _:
                return Twin(
                    f"pl.min_horizontal({a.polars}, {b.polars})", f"LEAST({a.sql}, {b.sql})", both
                )

    def whole(self, depth: int) -> Twin:
        """An integer."""
        if depth <= 0:
            constant = self.pick(*_WHOLE)
            return self._leaf("int", Twin(f"pl.lit({constant})", constant))
        a = self.whole(depth - 1)
        match self.below(8 if self.shared else 15):
            case 0 | 1:
                b, symbol = self.whole(depth - 1), self.pick("-", "*")
                return Twin(
                    f"({a.polars} {symbol} {b.polars})",
                    f"({a.sql} {symbol} {b.sql})",
                    a.bounded and b.bounded,
                )
            case 2:
                b = self.whole(depth - 1)
                return Twin(
                    f"({a.polars} + {b.polars})", f"({a.sql} + {b.sql})", a.bounded and b.bounded
                )
            case 3:
                return Twin(f"(-{a.polars})", f"(- {a.sql})", a.bounded)
            case 4:
                name = self.pick("abs", "sign")
                return Twin(f"{a.polars}.{name}()", f"{name}({a.sql})", name == "sign" or a.bounded)
            case 5 if self.below(4) == 0:
                start, end = self.day(depth - 1), self.day(0)
                return Twin(
                    f"({end.polars} - {start.polars}).dt.total_days()",
                    f"({end.sql} - {start.sql})",
                    start.bounded and end.bounded,
                )
            case 5:
                when = self._either("day", "moment")
                field = self.pick(*_FIELDS)
                bounded = "year" not in field or when.bounded
                return Twin(
                    f"{when.polars}.dt.{field}()",
                    f"EXTRACT({_FIELDS[field]} FROM {when.sql})",
                    bounded,
                )
            case 6:
                text = self.text(depth - 1)
                return Twin(f"{text.polars}.str.len_chars()", f"LENGTH({text.sql})", False)
            case 7:
                return self._choice(self.whole, depth)
            case 8 | 9:
                symbol, by = self.pick("//", "%"), self.pick("2", "7", "-3", "0", "10")
                return Twin(f"({a.polars} {symbol} {by})", bounded=a.bounded)
            case 10:
                b, symbol = self.whole(0), self.pick("//", "%")
                return Twin(f"({a.polars} {symbol} {b.polars})", bounded=a.bounded and b.bounded)
            case 11:
                x, kind = self.real(depth - 1), self.pick("Int64", "Int16")
                return Twin(f"{x.polars}.cast(pl.{kind})", bounded=x.bounded)
            case 12:
                low, high = self.pick(("0", "5"), ("None", "7"), ("-3", "None"), ("-2", "2.0"))
                closed = "None" not in (low, high) or a.bounded
                return Twin(f"{a.polars}.clip({low}, {high})", bounded=closed)
            case 13:
                text = self.text(depth - 1)
                return Twin(f"{text.polars}.str.len_bytes()", bounded=False)
            case _:
                mapping = self.pick("{1: 2, 3: 4}", "{0: None, None: 7}", "{5: 5}")
                return Twin(f"{a.polars}.replace({mapping})", bounded=a.bounded)

    def real(self, depth: int) -> Twin:
        """A float."""
        if depth <= 0:
            constant = self.pick(*_REAL)
            return self._leaf("float", Twin(f"pl.lit({constant})", constant))
        a = self.real(depth - 1) if self.below(2) else self.whole(depth - 1)
        x = self.real(depth - 1)
        match self.below(9 if self.shared else 14):
            case 0:
                symbol = self.pick("+", "-", "*")
                return Twin(
                    f"({x.polars} {symbol} {a.polars})",
                    f"({x.sql} {symbol} {a.sql})",
                    a.bounded and x.bounded,
                )
            case 1 | 2:
                by = self.pick("2", "7", "0.3", "49.0", "-3")
                return Twin(f"({a.polars} / {by})", f"({a.sql} / {by})", a.bounded)
            case 3:
                name = self.pick("floor", "ceil")
                return Twin(f"{a.polars}.{name}()", f"{name}({a.sql})", a.bounded)
            case 4:
                digits = self.pick(1, 2)
                return Twin(
                    f'{a.polars}.round({digits}, mode="half_away_from_zero")',
                    f"ROUND({a.sql}, {digits})",
                    a.bounded,
                )
            case 5:
                name, sql = self.pick(
                    *(("sqrt", "SQRT"), ("log", "LN"), ("exp", "EXP"), ("sin", "SIN")),
                    *(("arctan", "ATAN"), ("degrees", "DEGREES")),
                )
                return Twin(f"{a.polars}.{name}()", f"{sql}({a.sql})", False)
            case 6:
                power = self.pick("2", "3", "0.5", "-1")
                return Twin(f"({x.polars} ** {power})", f"POWER({x.sql}, {power})", False)
            case 7:
                return Twin(f"{a.polars}.cast(pl.Float64)", f"CAST({a.sql} AS DOUBLE)", a.bounded)
            case 8:
                return self._choice(self.real, depth)
            case 9:
                digits = self.pick(0, 1, 3)
                return Twin(f"{x.polars}.round({digits})", bounded=x.bounded)
            case 10:
                return Twin(f"({x.polars} // {self.pick('0.5', '3', '0')})", bounded=False)
            case 11:
                return Twin(f"{x.polars}.fill_nan(1.5)", bounded=x.bounded)
            case 12:
                name = self.pick("sum_horizontal", "mean_horizontal")
                return Twin(f"pl.{name}({x.polars}, {a.polars})", bounded=False)
            case _:
                return Twin(f"{x.polars}.clip(-0.5, 100.25)")

    def text(self, depth: int) -> Twin:
        """A text."""
        if depth <= 0:
            constant = self.pick(*_TEXTS)
            return self._leaf("text", Twin(f"pl.lit({constant!r})", quoted(constant)))
        a = self.text(depth - 1)
        match self.below(7 if self.shared else 12):
            case 0:
                name, sql = self.pick(("to_lowercase", "LOWER"), ("to_uppercase", "UPPER"))
                return Twin(f"{a.polars}.str.{name}()", f"{sql}({a.sql})")
            case 1:
                start, length = self.pick(0, 1, 4), self.pick(0, 1, 3)
                return Twin(
                    f"{a.polars}.str.slice({start}, {length})",
                    f"SUBSTRING({a.sql}, {start + 1}, {length})",
                )
            case 2:
                side, sql = self.pick(("head", "LEFT"), ("tail", "RIGHT"))
                return Twin(f"{a.polars}.str.{side}(2)", f"{sql}({a.sql}, 2)")
            case 3:
                old, new = self.pick("a", "1", "%"), self.pick("", "b")
                return Twin(
                    f"{a.polars}.str.replace_all({old!r}, {new!r}, literal=True)",
                    f"REPLACE({a.sql}, {quoted(old)}, {quoted(new)})",
                )
            case 4:
                b = self.text(0)
                return Twin(f"({a.polars} + {b.polars})", f"({a.sql} || {b.sql})")
            case 5 if self.below(2):
                b = self._either("day", "moment")
                return Twin(f"{b.polars}.dt.to_string('%Y-%m')", f"STRFTIME({b.sql}, '%Y-%m')")
            case 5:
                b = self.whole(0)
                return Twin(f"{b.polars}.cast(pl.String)", f"CAST({b.sql} AS VARCHAR)")
            case 6:
                return self._choice(self.text, depth)
            case 7:
                side = self.pick("start", "end")
                return Twin(f"{a.polars}.str.pad_{side}(3, 'é')")
            case 8 | 9 | 10:
                side, which = self.pick("", "_start", "_end"), self.pick("", "'a1'")
                return Twin(f"{a.polars}.str.strip_chars{side}({which})")
            case _:
                b = self.text(0)
                return Twin(f"pl.concat_str({a.polars}, {b.polars}, separator='-')")

    def day(self, depth: int) -> Twin:
        """A date."""
        constant = self.pick(*_DAYS)
        written = f"date({constant.year}, {constant.month}, {constant.day})"
        if depth <= 0:
            return self._leaf("date", Twin(f"pl.lit({written})", f"DATE '{constant}'"))
        if self.below(2):
            a = self.moment(depth - 1)
            return Twin(f"{a.polars}.dt.date()", f"CAST({a.sql} AS DATE)", a.bounded)
        return self._choice(self.day, depth)

    def moment(self, depth: int) -> Twin:
        """A timestamp."""
        if depth <= 0:
            known = Twin(
                "pl.lit(datetime(2024, 1, 1, 12, 34, 56))", "TIMESTAMP '2024-01-01 12:34:56'"
            )
            return self._leaf("time", known)
        if self.below(2):
            a, unit = self._either("day", "moment"), self.pick(*_UNITS)
            return Twin(
                f"{a.polars}.dt.truncate({unit!r})",
                f"DATE_TRUNC('{_UNITS[unit]}', {a.sql})",
                a.bounded,
            )
        if self.below(2):
            a = self.moment(depth - 1)
            return Twin(
                f"{a.polars}.dt.offset_by('1mo')", f"({a.sql} + INTERVAL 1 MONTH)", a.bounded
            )
        return self._choice(self.moment, depth)

    def condition(self, depth: int) -> Twin:
        """A boolean."""
        if depth <= 0:
            return self._leaf("bool", self._comparison(0))
        match self.below(9 if self.shared else 13):
            case 0:
                a, b = self.condition(depth - 1), self.condition(depth - 1)
                return Twin(f"({a.polars} & {b.polars})", f"({a.sql} AND {b.sql})")
            case 1:
                a, b = self.condition(depth - 1), self.condition(depth - 1)
                return Twin(f"({a.polars} | {b.polars})", f"({a.sql} OR {b.sql})")
            case 2:
                a = self.condition(depth - 1)
                return Twin(f"(~{a.polars})", f"(NOT {a.sql})")
            case 3:
                a = self._either("whole", "real", "text", "day")
                if self.below(2):
                    return Twin(f"{a.polars}.is_null()", f"({a.sql} IS NULL)")
                return Twin(f"{a.polars}.is_not_null()", f"({a.sql} IS NOT NULL)")
            case 4:
                a, b = self.whole(depth - 1), self.whole(0)
                return Twin(
                    f"{a.polars}.is_between({b.polars}, 7)", f"({a.sql} BETWEEN {b.sql} AND 7)"
                )
            case 5:
                return self._listed(depth)
            case 6:
                a, tested = self.text(depth - 1), self.pick("starts_with", "ends_with", "contains")
                what = self.pick("a", "é", "%")
                if tested == "contains":
                    what = self.pick("^a", "[a-c]1?$", "é|1")
                    return Twin(
                        f"{a.polars}.str.contains({what!r})",
                        f"REGEXP_MATCHES({a.sql}, {quoted(what)})",
                    )
                return Twin(
                    f"{a.polars}.str.{tested}({what!r})", f"{tested}({a.sql}, {quoted(what)})"
                )
            case 7:
                a, b = self.whole(depth - 1), self.whole(0)
                return Twin(
                    f"{a.polars}.ne_missing({b.polars})", f"({a.sql} IS DISTINCT FROM {b.sql})"
                )
            case 8:
                return self._comparison(depth - 1)
            case 9:
                a, b = self.condition(depth - 1), self.condition(0)
                return Twin(f"({a.polars} ^ {b.polars})")
            case 10:
                return Twin(f"{self.real(depth - 1).polars}.is_nan()")
            case 11:
                values = self.pick("[1, None]", "[None]", "[]")
                equal = self.pick("True", "False")
                return Twin(f"{self.whole(depth - 1).polars}.is_in({values}, nulls_equal={equal})")
            case _:
                a, b = self.condition(depth - 1), self.condition(0)
                return Twin(f"pl.any_horizontal({a.polars}, {b.polars})")

    def _listed(self, depth: int) -> Twin:
        if self.below(2):
            a, values = self.text(depth - 1), (self.pick(*_TEXTS), self.pick(*_TEXTS))
            listed = ", ".join(map(quoted, values))
            return Twin(f"{a.polars}.is_in({list(values)!r})", f"({a.sql} IN ({listed}))")
        a, numbers = self.whole(depth - 1), f"{self.pick(*_WHOLE)}, {self.pick(*_WHOLE)}"
        return Twin(f"{a.polars}.is_in([{numbers}])", f"({a.sql} IN ({numbers}))")

    def _comparison(self, depth: int) -> Twin:
        symbol = self.pick(*_COMPARED)
        names = {"whole": "int", "real": "float", "text": "text", "day": "date", "moment": "time"}
        there = {c.kind for c in self.columns}
        kind = self.pick(*([k for k, v in names.items() if v in there] or ["whole"]))
        a, b = getattr(self, kind)(depth), getattr(self, kind)(0)
        return Twin(f"({a.polars} {symbol} {b.polars})", f"({a.sql} {_COMPARED[symbol]} {b.sql})")

    def _leaf(self, kind: str, constant: Twin) -> Twin:
        found = self.column(kind)
        return found if found is not None and self.below(5) else constant

    def bounded_number(self, depth: int) -> Twin:
        """A number that sums and means take."""
        found = self.whole(depth) if self.below(2) else self.real(depth)
        if not any(column_code(c.name) in found.polars for c in self.columns):
            chosen = self.pick(*self.columns)  # Polars does not add up a constant
            return Twin(
                f"{column_code(chosen.name)}.is_null().cast(pl.Int64)",
                f"CAST({chosen.sql} IS NULL AS BIGINT)",
            )
        if found.bounded:
            return found
        if self.shared:
            return Twin(
                f"pl.max_horizontal(pl.lit(0), pl.min_horizontal({found.polars}, pl.lit(10)))",
                f"GREATEST(0, LEAST({found.sql}, 10))",
            )
        return Twin(f"{found.polars}.clip(0, 10)")


def _key(chains: Chains, column: ColumnSpec) -> Twin:
    plain = Twin(column_code(column.name), column.sql)
    match chains.below(4):
        case 0 if column.kind == "date":
            return Twin(f"{plain.polars}.dt.month()", f"EXTRACT(month FROM {plain.sql})")
        case 1 if column.kind in ("int", "float"):
            return Twin(f"({plain.polars} / 7).floor()", f"FLOOR({plain.sql} / 7)")
        case 2 if column.kind in ("int", "float") and not chains.shared:
            return Twin(f"{plain.polars}.cut([0, 2.5], labels=['a', 'b', 'c'])")
        case 3 if column.kind == "text":
            return Twin(f"{plain.polars}.str.head(1)", f"LEFT({plain.sql}, 1)")
    return plain


def _aggregate(chains: Chains, unit: ColumnSpec | None) -> Twin:
    depth = chains.pick(0, 1, 1, 2)
    match chains.below(10):
        case 0:
            return Twin("pl.len()", "COUNT(*)")
        case 9:
            value = chains.bounded_number(chains.pick(0, 1))
            polars, sql = chains.pick(
                ("std()", "STDDEV({})"),
                ("var(ddof=0)", "VAR_POP({})"),
                ("skew()", "SKEWNESS_POP({})"),
                ("skew(bias=False)", "SKEWNESS({})"),
                ("kurtosis()", "KURTOSIS_POP({})"),
                ("kurtosis(bias=False)", "KURTOSIS({})"),
                ("kurtosis(fisher=False)", "KURTOSIS_POP({}) + 3"),
            )
            return Twin(f"{value.polars}.{polars}", sql.format(value.sql))
        case 8:
            value = chains.bounded_number(depth)
            polars, sql = chains.pick(
                ("median()", "MEDIAN({})"),
                ("min()", "MIN({})"),
                ("max()", "MAX({})"),
                ("quantile(0.25, interpolation='linear')", "QUANTILE_CONT({}, 0.25)"),
                ("quantile(0.9)", "QUANTILE_DISC({}, 0.9)"),
            )
            return Twin(f"{value.polars}.{polars}", sql.format(value.sql))
        case 1 if chains.columns:
            chosen = chains.pick(*chains.columns)
            return Twin(f"{column_code(chosen.name)}.count()", f"COUNT({chosen.sql})")
        case 2 if unit is not None:
            return Twin(f"{column_code(unit.name)}.n_unique()", f"COUNT(DISTINCT {unit.sql})")
        case 3 if chains.columns:
            chosen = chains.pick(*chains.columns)
            missing = f"COUNT(*) FILTER (WHERE {chosen.sql} IS NULL)"
            return Twin(f"{column_code(chosen.name)}.null_count()", missing)
        case 4:
            value, test = chains.bounded_number(depth), chains.condition(1)
            return Twin(
                f"{value.polars}.filter({test.polars}).sum()",
                f"SUM({value.sql}) FILTER (WHERE {test.sql})",
            )
        case 5 | 6:
            value = chains.bounded_number(depth)
            return Twin(f"{value.polars}.sum()", f"SUM({value.sql})")
    value = chains.bounded_number(depth)
    return Twin(f"{value.polars}.mean()", f"AVG({value.sql})")


_MOST_KEYS = 130


@st.composite
def twins(draw: Draw, world: World, *, shared: bool = True) -> Twin:
    """A chain over the table `t`, and the same question in SQL."""
    chains = Chains(draw, world.columns, shared=shared)
    name = getattr(world.unit, "column", None)
    unit = next((c for c in world.columns if c.name == name), None)
    finite = [c for c in world.columns if c.size <= _MOST_KEYS and c.name != name]
    keys = []
    for column in (
        draw(st.lists(st.sampled_from(finite), max_size=2, unique=True)) if finite else []
    ):
        keys.append(_key(chains, column))
    wheres = [chains.condition(chains.pick(1, 2)) for _ in range(chains.below(3))]
    aggregates = [_aggregate(chains, unit) for _ in range(1 + chains.below(3))]
    if chains.below(3) == 0:
        first, other = aggregates[0], aggregates[-1]
        aggregates.append(
            Twin(f"({first.polars} / {other.polars})", f"({first.sql} / {other.sql})")
        )
    code = "t" + "".join(f".filter({w.polars})" for w in wheres)
    if not shared and chains.below(3) == 0:
        # A column that is computed first, and then used under its name.
        found = chains.bounded_number(2)
        code += f".with_columns(computed={found.polars})"
        aggregates.append(Twin("pl.col('computed').sum()"))
    given = ", ".join(f"a{i}={a.polars}" for i, a in enumerate(aggregates))
    by = ", ".join(f"key{i}={k.polars}" for i, k in enumerate(keys))
    code += f".group_by({by}).agg({given})" if keys else f".select({given})"
    items = [f"{k.sql} AS key{i}" for i, k in enumerate(keys)]
    items += [f"{a.sql} AS a{i}" for i, a in enumerate(aggregates)]
    sql = f"SELECT {', '.join(items)} FROM t"
    sql += f" WHERE {' AND '.join(w.sql for w in wheres)}" if wheres else ""
    sql += f" GROUP BY {', '.join(k.sql for k in keys)}" if keys else ""
    if chains.below(4) == 0:
        code, sql = f"{code}.filter(pl.col('a0') > 3)", f"{sql} HAVING {aggregates[0].sql} > 3"
    if chains.below(4) == 0:
        code += ".sort('a0', descending=True, nulls_last=True).head(2)"
        sql += " ORDER BY a0 DESC LIMIT 2"
    return Twin(code, sql)


@st.composite
def chain_cases(draw: Draw, queries: int = 1) -> tuple[World, list[str]]:
    """A world and some chains about it."""
    world = draw(worlds())
    return world, [draw(twins(world, shared=False)).polars for _ in range(queries)]


@st.composite
def twin_cases(draw: Draw, queries: int = 1) -> tuple[World, list[Twin]]:
    """A world and some questions about it, in both languages."""
    world = draw(worlds())
    return world, [draw(twins(world)) for _ in range(queries)]

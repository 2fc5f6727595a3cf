"""Functions of text. Positions and lengths count code points, on every engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    any_nullable,
    each,
    register,
)
from dpframe.plan.sqltext import duckdb_literal

# What DuckDB's TRIM removes: the Unicode category "space separator".
_SPACES = "".join(map(chr, (0x20, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)))

_LONGEST = 10_000
"""Lengths and counts in arguments are at most this."""

_LAST_CHARACTER = 2**31 - 1
"""No text has more characters.

DuckDB counts in 32 bits, and stops at a larger place to cut a text at, but only where there is one.
"""

_LONGEST_MADE = 2**18
"""Characters of a text that REPLACE or a concatenation makes; what is longer is cut first.

Functions of functions could make a text of a few letters longer than any memory. That stops the
engine, and whether it does would tell of a single row.
"""

_MOST_TIMES = 100
"""How many times as long REPLACE may make a text."""

_CAN_BE_WRITTEN = (Type.TEXT, Type.INT, Type.BOOL, Type.DATE, Type.NULL)
"""Types whose text form is the same on every engine; floats and timestamps are not among them."""


def _text(domains: Domains, params: Params) -> Domain:
    return Domain(Type.TEXT, nullable=any_nullable(domains))


def _text_to_text(name: str, sql: str, polars: Callable[[pl.Expr], pl.Expr]) -> Function:
    return Function(
        name,
        (name,),
        each(Type.TEXT),
        _text,
        lambda args, params: sql.format(args[0]),
        lambda args, params: polars(args[0]),
    )


def _concat_coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
    for domain in domains:
        if domain.type not in _CAN_BE_WRITTEN:
            raise Refused(
                f"a {domain.type.value} is not written the same on every engine",
                "concatenate text, integers, booleans or dates",
            )
    return (Type.TEXT,) * len(domains)


def _slice(params: Params) -> tuple[int, int | None]:
    start, length = params[0], params[1] if len(params) > 1 else None
    whole = isinstance(start, int) and all(isinstance(p, int) for p in params[1:])
    if not whole or start < 1 or (length is not None and length < 0):
        raise Refused(
            "SUBSTRING takes a start of 1 or more and a length of 0 or more",
            "SUBSTRING(x, 1, 3)",
        )
    return min(start, _LAST_CHARACTER), None if length is None else min(length, _LAST_CHARACTER)


def _substring_domain(domains: Domains, params: Params) -> Domain:
    _slice(params)
    return _text(domains, params)


def _substring_duckdb(args: Sequence[str], params: Params) -> str:
    start, length = _slice(params)
    return f"SUBSTRING({args[0]}, {start}" + (")" if length is None else f", {length})")


def _substring_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    start, length = _slice(params)
    return args[0].str.slice(start - 1, length)


def _left_params(params: Params) -> Params:
    if params[0] is None:
        raise Refused("LEFT takes a length of 0 or more", "LEFT(x, 3)")
    return (1, params[0])


def _count_of(params: Params, function: str) -> int:
    """A length that fits every engine."""
    count = params[0]
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count <= _LONGEST:
        raise Refused(f"{function} takes a length from 0 to {_LONGEST}", f"{function}(x, 3)")
    return count


def _right_domain(domains: Domains, params: Params) -> Domain:
    _count_of(params, "RIGHT")
    return _text(domains, params)


def _pad(name: str, polars: Callable[[pl.Expr, int, str], pl.Expr]) -> Function:
    """LPAD and RPAD: exactly as many characters as asked for, from the left."""

    def domain(domains: Domains, params: Params) -> Domain:
        _count_of(params, name.upper())
        if not isinstance(params[1], str) or len(params[1]) != 1:
            raise Refused(
                f"{name.upper()} fills up with one character", f"{name.upper()}(x, 5, '0')"
            )
        return _text(domains, params)

    return Function(
        name,
        (),
        each(Type.TEXT),
        domain,
        lambda args, params: f"{name.upper()}({args[0]}, {params[0]}, {duckdb_literal(params[1])})",
        lambda args, params: polars(args[0], params[0], params[1]).str.head(params[0]),
    )


def _part_of(domains: Domains, params: Params) -> str:
    if not isinstance(params[0], str) or not params[0]:
        raise Refused("the text to look for is empty or no text", "STRPOS(x, '@')")
    return params[0]


def _position_domain(domains: Domains, params: Params) -> Domain:
    _part_of(domains, params)
    (arg,) = domains
    longest = None if arg.values is None else max(map(len, arg.values), default=0)
    return Domain(Type.INT, 0, longest, arg.nullable)


def _position_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    """Count the characters before the part; Polars' own search counts bytes."""
    value, part = args[0], params[0]
    before = value.str.split_exact(part, 1).struct.field("field_0")
    there = value.str.contains(part, literal=True)
    return (
        pl.when(there)
        .then(before.str.len_chars().cast(pl.Int64) + 1)
        .otherwise(there.cast(pl.Int64))
    )


def _split_domain(domains: Domains, params: Params) -> Domain:
    _part_of(domains, params)
    index = params[1]
    if isinstance(index, bool) or not isinstance(index, int) or not 1 <= index <= _LONGEST:
        raise Refused("SPLIT_PART counts parts from 1", "SPLIT_PART(x, '-', 1)")
    return _text(domains, params)


def _split_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    """A part that is not there is the empty text, as in SQL; NULL stays NULL."""
    value, (separator, index) = args[0], params
    parts = value.str.split(separator).list.get(index - 1, null_on_oob=True)
    return pl.when(value.is_not_null()).then(parts.fill_null(""))


def _length_domain(domains: Domains, params: Params) -> Domain:
    (arg,) = domains
    if arg.values is None:
        return Domain(Type.INT, 0, None, arg.nullable)
    lengths = [len(v) for v in arg.values] or [0]
    return Domain(Type.INT, min(lengths), max(lengths), arg.nullable)


def _replace_domain(domains: Domains, params: Params) -> Domain:
    if not all(isinstance(p, str) for p in params) or params[0] == "":
        raise Refused("REPLACE takes two texts, the first not empty", "REPLACE(x, '-', '')")
    if _grows(params) > _MOST_TIMES:
        raise Refused(
            f"it could make a text more than {_MOST_TIMES} times as long", "REPLACE(x, '-', '')"
        )
    return _text(domains, params)


def _grows(params: Params) -> int:
    """How many times as long REPLACE can make a text."""
    old, new = (len(p.encode(errors="replace")) for p in params)
    return max(1, -(-new // old))


def _replace_duckdb(args: Sequence[str], params: Params) -> str:
    old, new = map(duckdb_literal, params)
    return f"REPLACE({_cut_duckdb(args[0], _grows(params))}, {old}, {new})"


def _replace_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    old, new = params
    return _cut_polars(args[0], _grows(params)).str.replace_all(old, new, literal=True)


def _cut_duckdb(text: str, times: int) -> str:
    """A text that may be made so many times as long."""
    return text if times == 1 else f"SUBSTRING({text}, 1, {_LONGEST_MADE // times})"


def _cut_polars(text: pl.Expr, times: int) -> pl.Expr:
    return text if times == 1 else text.str.head(_LONGEST_MADE // times)


def _each_cut_duckdb(texts: Sequence[str]) -> list[str]:
    """Texts that are put together."""
    return [_cut_duckdb(text, len(texts)) for text in texts]


def _each_cut_polars(texts: Sequence[pl.Expr]) -> list[pl.Expr]:
    return [_cut_polars(text, len(texts)) for text in texts]


def register_all() -> None:
    """Put these functions into the table."""
    register(
        _text_to_text("lower", "LOWER({0})", lambda x: x.str.to_lowercase()),
        _text_to_text("upper", "UPPER({0})", lambda x: x.str.to_uppercase()),
        _text_to_text("trim", f"TRIM({{0}}, '{_SPACES}')", lambda x: x.str.strip_chars(_SPACES)),
        _text_to_text(
            "ltrim", f"LTRIM({{0}}, '{_SPACES}')", lambda x: x.str.strip_chars_start(_SPACES)
        ),
        _text_to_text(
            "rtrim", f"RTRIM({{0}}, '{_SPACES}')", lambda x: x.str.strip_chars_end(_SPACES)
        ),
        Function(
            "length",
            ("length",),
            each(Type.TEXT),
            _length_domain,
            lambda args, params: f"LENGTH({args[0]})",
            lambda args, params: args[0].str.len_chars().cast(pl.Int64),
        ),
        Function(
            "substring",
            ("substring",),
            each(Type.TEXT),
            _substring_domain,
            _substring_duckdb,
            _substring_polars,
            literals=2,
        ),
        Function(
            "left",
            ("left",),
            each(Type.TEXT),
            lambda domains, params: _substring_domain(domains, _left_params(params)),
            lambda args, params: _substring_duckdb(args, _left_params(params)),
            lambda args, params: _substring_polars(args, _left_params(params)),
            literals=1,
        ),
        Function(
            "right",
            ("right",),
            each(Type.TEXT),
            _right_domain,
            lambda args, params: f"RIGHT({args[0]}, {params[0]})",
            lambda args, params: args[0].str.tail(params[0]),
            literals=1,
        ),
        _pad("lpad", lambda x, n, fill: x.str.pad_start(n, fill)),
        _pad("rpad", lambda x, n, fill: x.str.pad_end(n, fill)),
        Function(
            "position",
            ("strposition",),
            each(Type.TEXT),
            _position_domain,
            lambda args, params: f"STRPOS({args[0]}, {duckdb_literal(params[0])})",
            _position_polars,
            literals=1,
            repeats=True,
        ),
        Function(
            "split_part",
            ("splitpart",),
            each(Type.TEXT),
            _split_domain,
            lambda args, params: f"SPLIT_PART({args[0]}, {duckdb_literal(params[0])}, {params[1]})",
            _split_polars,
            literals=2,
            repeats=True,
        ),
        Function(
            "replace",
            ("replace",),
            each(Type.TEXT),
            _replace_domain,
            _replace_duckdb,
            _replace_polars,
            literals=2,
        ),
        Function(
            "concat",
            ("concat",),
            _concat_coerce,
            lambda domains, params: Domain(Type.TEXT, nullable=False),
            lambda args, params: f"CONCAT({', '.join(_each_cut_duckdb(args))})",
            lambda args, params: pl.concat_str(_each_cut_polars(args), ignore_nulls=True),
        ),
        Function(
            "concat_operator",
            ("dpipe",),
            _concat_coerce,
            _text,
            lambda args, params: "(" + " || ".join(_each_cut_duckdb(args)) + ")",
            lambda args, params: pl.concat_str(_each_cut_polars(args)),
        ),
    )

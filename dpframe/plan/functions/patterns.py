"""Tests of text against a fixed pattern: LIKE, ILIKE, regular expressions, parts of a text."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from dpframe.plan.domains import Domain, Type, boolean
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    Refused,
    any_nullable,
    each,
    register,
)
from dpframe.plan.functions.regexes import canonical
from dpframe.plan.sqltext import duckdb_literal


def _condition(domains: Domains, params: Params) -> Domain:
    return boolean(any_nullable(domains))


def _pattern(domains: Domains, params: Params) -> Params:
    if not isinstance(params[0], str):
        raise Refused("the pattern is not a text", "write it in quotes: x LIKE 'a%'")
    return params


# --- LIKE and ILIKE: the pattern, and the character that escapes % and _ --------------------------


_LONGEST_LIKE = 1_000
"""Characters of a LIKE pattern.

Polars refuses to compile much longer ones, but only where a row is there to match: whether a query
fails would tell whether any row passes its WHERE.
"""


def _like_fixed(domains: Domains, params: Params) -> Params:
    _pattern(domains, params)
    if len(params[0]) > _LONGEST_LIKE:
        raise Refused(f"the pattern has more than {_LONGEST_LIKE:,} characters", "x LIKE 'a%'")
    escape = params[1] if len(params) > 1 else ""
    if not isinstance(escape, str) or len(escape) > 1:
        raise Refused("ESCAPE takes one character", "x LIKE 'a!_%' ESCAPE '!'")
    if escape and _signs(params[0], escape)[-1:] == [escape]:
        raise Refused("the pattern ends with its escape character", f"write {escape * 2!r}")
    return params


def _ilike_fixed(domains: Domains, params: Params) -> Params:
    pattern, *escape = _like_fixed(domains, params)
    lowered = "".join(c.lower() for c in pattern)
    # The few letters whose lower case is two, or depends on what stands around it.
    if len(lowered) != len(pattern) or "Σ" in pattern:
        raise Refused(
            "the pattern has letters whose cases engines match differently",
            "write it in lower case: LOWER(x) LIKE 'pattern'",
        )
    return (lowered, *escape)


def _signs(pattern: str, escape: str) -> list[str]:
    """The signs of a pattern, an escaped one together with its escape."""
    signs, at = [], 0
    while at < len(pattern):
        width = 2 if escape and pattern[at] == escape and at + 1 < len(pattern) else 1
        signs.append(pattern[at : at + width])
        at += width
    return signs


def _like_to_regex(params: Params) -> str:
    """A LIKE pattern as an anchored regular expression: % any text, _ any one character."""
    pattern, *escape = params
    special = r"\.+*?()|[]{}^$#&-~"
    parts = []
    for sign in _signs(pattern, escape[0] if escape else ""):
        plain = sign[-1]
        literal = "\\" + plain if plain in special else plain
        parts.append({"%": ".*", "_": "."}.get(sign, literal))
    return "(?s)^" + "".join(parts) + "$"


def _like_duckdb(value: str, params: Params) -> str:
    pattern, *escape = params
    text = f"{value} LIKE {duckdb_literal(pattern)}"
    return f"({text} ESCAPE {duckdb_literal(escape[0])})" if escape and escape[0] else f"({text})"


# --- regular expressions -------------------------------------------------------------------------


def _regex_fixed(domains: Domains, params: Params) -> Params:
    """From (pattern, options, whether the whole text must match) to the one pattern that says it."""
    _pattern(domains, params)
    pattern = params[0]
    flags, full = params[1:] if len(params) > 1 else ("", False)
    if not isinstance(flags, str):
        raise Refused("the options are not a text", "REGEXP_MATCHES(x, 'pattern', 'i')")
    return (canonical(pattern, flags, full=bool(full)),)


def _regex_polars(value: pl.Expr, pattern: str) -> pl.Expr:
    # To Rust's regex, letters beyond ASCII are parts of words, too; not to RE2.
    return value.str.contains(pattern.replace("\\b", "(?-u:\\b)"))


def _text_pattern(
    name: str, sql: tuple[str, ...], polars: Callable[[pl.Expr, str], pl.Expr]
) -> Function:
    """A test of text against a fixed part."""
    return Function(
        name,
        sql,
        each(Type.TEXT),
        _condition,
        lambda args, params: f"{name}({args[0]}, {duckdb_literal(params[0])})",
        lambda args, params: polars(args[0], params[0]),
        literals=1,
        fixed=_pattern,
    )


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "like",
            ("like",),
            each(Type.TEXT),
            _condition,
            lambda args, params: _like_duckdb(args[0], params),
            lambda args, params: args[0].str.contains(_like_to_regex(params)),
            literals=1,
            fixed=_like_fixed,
        ),
        Function(
            "ilike",
            (),
            each(Type.TEXT),
            _condition,
            lambda args, params: _like_duckdb(f"LOWER({args[0]})", params),
            lambda args, params: args[0].str.to_lowercase().str.contains(_like_to_regex(params)),
            fixed=_ilike_fixed,
        ),
        Function(
            "regexp_matches",
            (),
            each(Type.TEXT),
            _condition,
            lambda args, params: f"regexp_matches({args[0]}, {duckdb_literal(params[0])})",
            lambda args, params: _regex_polars(args[0], params[0]),
            fixed=_regex_fixed,
        ),
        _text_pattern("starts_with", ("startswith", "prefix"), lambda x, p: x.str.starts_with(p)),
        _text_pattern("ends_with", ("endswith", "suffix"), lambda x, p: x.str.ends_with(p)),
        _text_pattern("contains", ("contains",), lambda x, p: x.str.contains(p, literal=True)),
    )

"""GoogleSQL's own words for privacy: SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.1, ...).

The parser does not know the clause, so it is read off the text and left blank before parsing; all
places in error messages stay what they were. What the options ask is checked against what the
owner declared: a query cannot loosen it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from dpframe.declare import Table
from dpframe.errors import SQLError
from dpframe.frontends.sql_origin import SQLOrigin, sql_error

_SKIPPED = re.compile(r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`", re.DOTALL)
_CLAUSE = re.compile(
    r"(?P<select>\bSELECT\s+)(?P<clause>WITH\s+(?P<word>DIFFERENTIAL_PRIVACY|ANONYMIZATION)\b"
    r"(?:\s*OPTIONS\s*\((?P<options>[^()]*)\))?)",
    re.IGNORECASE,
)
_BOUNDS = re.compile(r"\bcontribution_bounds_per_(?:group|row)\b", re.IGNORECASE)
_ANON = re.compile(r"\bANON_(\w+)\s*\(", re.IGNORECASE)
_OPTION = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<value>[^,\s]+)\s*")
_NUMBER = re.compile(r"\d{0,30}(?:\.\d{0,30})?(?:[eE][+-]?\d{1,3})?")

_WEIGHT = (
    "a unit's rows are weighed once, by the max_rows that its owner declared; no group is dropped",
    "leave it out",
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a statement itself says about its privacy."""

    epsilon: Fraction | None = None
    delta: Fraction | None = None
    unit_column: str | None = None
    place: SQLOrigin | None = None


def terms_of(text: str) -> Terms:
    """Read the clause, or nothing where there is none.

    >>> terms_of("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 0.5) COUNT(*) FROM t").epsilon
    Fraction(1, 2)
    """
    clause = _clause(text)
    if clause is None:
        return Terms()
    place = SQLOrigin(text, *clause.span("clause"))
    found: dict[str, str] = {}
    written, start = clause.group("options") or "", clause.start("options")
    for option in _options(written):
        name, value = option.group("name").lower(), option.group("value")
        here = SQLOrigin(text, start + option.start("name"), start + option.end("value"))
        if name in found:
            raise _error(here, text, "it is said twice", "one query has one cost", "say it once")
        if name.startswith("max_") and value.upper() != "NULL":
            raise _error(here, text, "it is not for a query to say", *_WEIGHT)
        if name not in ("epsilon", "delta", "privacy_unit_column", "max_groups_contributed"):
            raise _error(
                here,
                text,
                "the option is not known",
                "ignoring a part of a query would answer another question",
                "OPTIONS(epsilon = 0.1, delta = 1e-9, privacy_unit_column = id)",
            )
        found[name] = value
        if name in ("epsilon", "delta"):
            _number(value, here, text)
    if sum(1 for _ in _options(written)) != len([o for o in written.split(",") if o.strip()]):
        raise _error(
            place,
            text,
            "its options are not read",
            "each is name = value",
            "OPTIONS(epsilon = 0.1)",
        )
    numbers = {n: Fraction(v) for n, v in found.items() if n in ("epsilon", "delta")}
    unit = found.get("privacy_unit_column")
    return Terms(
        numbers.get("epsilon"), numbers.get("delta"), unit.strip('`"') if unit else None, place
    )


def without_terms(text: str) -> str:
    """The text with the clause left blank, so that what remains is plain SQL at the same places."""
    _refuse_other_words(text)
    clause = _clause(text)
    if clause is None:
        return text
    start, end = clause.span("clause")
    return text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]


def check_unit(terms: Terms, table: Table, text: str) -> None:
    """Refuse a statement that names another unit than the one that is protected."""
    if terms.unit_column is None or terms.place is None:
        return
    if terms.unit_column.lower() != (table.unit_column or "").lower():
        protected = table.unit_column or "each row by itself"
        raise _error(
            terms.place,
            text,
            f"{terms.unit_column} is not the protected unit",
            f"the owner of {table.name} declared {protected}",
            f"privacy_unit_column = {table.unit_column}" if table.unit_column else "leave it out",
        )


def _clause(text: str) -> re.Match[str] | None:
    return _CLAUSE.search(_without_quotes(text))


def _without_quotes(text: str) -> str:
    """The text with comments and quoted words left blank: what they hold is no SQL.

    A quoted name inside the options is kept, because it may name the unit.
    """
    return _SKIPPED.sub(
        lambda m: m.group() if m.group()[0] in '`"' and "\n" not in m.group() else _blank(m), text
    )


def _blank(found: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", found.group())


def _options(written: str) -> list[re.Match[str]]:
    found, at = [], 0
    for part in written.split(","):
        match = _OPTION.fullmatch(written, at, at + len(part))
        if match is not None:
            found.append(match)
        at += len(part) + 1
    return found


def _number(value: str, place: SQLOrigin, text: str) -> None:
    if not _NUMBER.fullmatch(value) or not any(c.isdigit() for c in value.split("e")[0]):
        raise _error(place, text, "it is not a positive number", "a cost is fixed", "epsilon = 0.1")


def _refuse_other_words(text: str) -> None:
    plain = _without_quotes(text)
    anon = _ANON.search(plain)
    if anon is not None:
        name = {"VAR_POP": "VARIANCE", "STDDEV_POP": "STDDEV"}.get(
            anon.group(1).upper(), anon.group(1).upper()
        )
        raise _error(
            SQLOrigin(text, anon.start(), anon.end() - 1),
            text,
            "every aggregate is made private here",
            "so none needs a name of its own",
            f"{name}(...)",
        )
    bounds = _BOUNDS.search(plain)
    if bounds is not None:
        raise _error(
            SQLOrigin(text, *bounds.span()),
            text,
            "bounds are not for a query to say",
            "values are clamped to the range that the owner declared",
            "leave it out, or clamp: SUM(GREATEST(0, LEAST(x, 100)))",
        )


def _error(place: SQLOrigin, text: str, what: str, why: str, fix: str) -> SQLError:
    return sql_error(place, text, what, why=why, fix=fix)

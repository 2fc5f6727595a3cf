"""Dates written as text: the formats of other dialects, in the directives of STRFTIME.

The parser translates formats as well, but what it does not know it passes on, as letters that would
stand in every answer: of `TO_CHAR(day, 'Mon')` it makes the word Mon. So a format is read from the
text of the statement itself, and one with anything in it that is not known here is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import sqlglot
from sqlglot import Token, TokenType, exp

from dpframe.frontends.sql_origin import sql_error

_CLOCK = {"HH": "%H", "hh": "%I", "mm": "%M", "ss": "%S"}
_MONTHS = {"MM": "%m", "MMM": "%b", "MMMM": "%B"}
_JAVA = {
    **{"yyyy": "%Y", "y": "%Y", "yy": "%y", "dd": "%d", "DDD": "%j", "a": "%p"},
    **{"E": "%a", "EE": "%a", "EEE": "%a", "EEEE": "%A"},
    **_MONTHS,
    **_CLOCK,
}
_NET = {
    **{"yyyy": "%Y", "yy": "%y", "dd": "%d", "ddd": "%a", "dddd": "%A", "tt": "%p"},
    **_MONTHS,
    **_CLOCK,
}
_RUNS = {"databricks": _JAVA, "spark": _JAVA, "tsql": _NET}
"""What each run of one letter stands for. Numbers are padded: no engine here writes others."""

_NUMBERS = {
    **{"YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d"},
    **{"HH24": "%H", "HH12": "%I", "MI": "%M", "SS": "%S"},
}
_NAMES = {"Mon": "%b", "Dy": "%a", "FMMonth": "%B", "FMDay": "%A", "AM": "%p", "PM": "%p"}
_ISO = {"DDD": "%j", "HH": "%I", "IYYY": "%G", "IW": "%V", "ID": "%u"}
_ANY_CASE = {**_NUMBERS, "MMMM": "%B", "MON": "%b", "DY": "%a", "AM": "%p", "PM": "%p"}
_WORDS = {
    "postgres": {
        **_NUMBERS,
        **_ISO,
        **{word.lower(): found for word, found in (_NUMBERS | _ISO).items()},
        **_NAMES,
    },
    "snowflake": {
        case(word): found
        for word, found in _ANY_CASE.items()
        for case in (str, str.lower, str.capitalize)
    },
}
"""What each word stands for, the longest one that fits; in lower case, numbers are the same."""

_LONGER = {
    "postgres": [case(word) for word in ("SSSSS", "SSSS", "IDDD") for case in (str, str.lower)]
}
"""Words that begin like known ones, and mean something else: SSSS is the seconds since midnight."""

_PLAIN = {f"%{letter}": f"%{letter}" for letter in "YymdjbaHIpS%"}
_MYSQL = {
    **_PLAIN,
    **{"%M": "%B", "%W": "%A", "%h": "%I", "%i": "%M", "%s": "%S", "%v": "%V", "%x": "%G"},
    **{"%T": "%H:%M:%S", "%r": "%I:%M:%S %p"},
}
_PERCENT = {
    "bigquery": {
        **_PLAIN,
        **{f"%{letter}": f"%{letter}" for letter in "BAuwGVM"},
        **{"%h": "%b", "%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y"},
    },
    "mysql": {**_MYSQL, "%w": "%w"},
    "trino": _MYSQL,
}
"""What each letter behind % stands for."""


def strftime_format(node: exp.Expression, dialect: str, text: str) -> str:
    """The format of a call, in directives of STRFTIME; an error if it has others."""
    known = _RUNS.get(dialect) or _WORDS.get(dialect) or _PERCENT[dialect]
    written = _written(node, dialect, text)
    what = None
    if written is None:
        what, written = "its format is not one text in quotes", ""
    elif dialect == "tsql" and len(written) == 1:
        what = f"the format {written!r} depends on a language"
    found = ""
    for piece, is_plain in _pieces(written, dialect, known):
        if not is_plain and piece not in known:
            what = what or f"{piece!r} in its format is not known"
        found += piece.replace("%", "%%") if is_plain else known.get(piece, "")
    if what is None:
        return found
    raise sql_error(
        node,
        text,
        what,
        why="what is not known here would stand in every answer as it is",
        fix="use " + " ".join(w for w in known if dialect not in _WORDS or w in _SHOWN),
    )


def called(node: exp.Expression, text: str) -> str:
    """The name that a function is called by in a statement."""
    return text[node.meta["start"] : node.meta["end"] + 1].upper()


_SHOWN = {*_NUMBERS, *_NAMES, *_ISO, *_ANY_CASE}


def _written(node: exp.Expression, dialect: str, text: str) -> str | None:
    """The one text in quotes that is an argument of a call, as it was written."""
    tokens = sqlglot.tokenize(text, read=dialect)
    names = [i for i, token in enumerate(tokens) if token.start == node.meta.get("start")]
    alone = [only[0] for only in arguments(tokens, names[0]) if len(only) == 1] if names else []
    found = [token.text for token in alone if token.token_type in _QUOTED]
    return found[0] if len(found) == 1 else None


def arguments(tokens: list[Token], name: int) -> list[list[Token]]:
    """The words of each argument of the call whose name is at a place in a statement."""
    found: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[name + 1 :]:
        depth += _DEEPER.get(token.token_type, 0)
        if depth == 0:
            break
        if depth == 1 and token.token_type is TokenType.COMMA:
            found.append([])
        elif depth > 1 or token.token_type is not TokenType.L_PAREN:
            found[-1].append(token)
    return found


_DEEPER = {
    **{TokenType.L_PAREN: 1, TokenType.R_PAREN: -1},
    **{TokenType.L_BRACKET: 1, TokenType.R_BRACKET: -1},
}
_QUOTED = (TokenType.STRING, TokenType.RAW_STRING)


def _pieces(written: str, dialect: str, known: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """The parts of a format, and whether each is text that stands for itself."""
    if dialect in _PERCENT:
        pattern = r"(?P<word>%.?)|(?P<plain>[^%]+)"
    elif dialect in _RUNS:
        # What else means something there, besides letters and quotes, is in no table.
        pattern = r"(?P<word>([A-Za-z])\2*|[\\%\"\[\]{}#])|'(?P<quoted>[^']+)'|(?P<plain>[^'])"
    else:
        found_as_one = [*known, *_LONGER.get(dialect, ())]
        words = "|".join(sorted(map(re.escape, found_as_one), key=len, reverse=True))
        pattern = rf"(?P<word>{words}|[A-Za-z]+|\\)|\"(?P<quoted>[^\"\\]*)\"|(?P<plain>[^\"])"
    at = 0
    while found := re.compile(pattern, re.DOTALL).match(written, at):
        at = found.end()
        groups = found.groupdict("")
        yield groups["word"] or groups.get("quoted", "") + groups["plain"], not groups["word"]
    if at < len(written):
        yield written[at:], False

"""SQL text, parsed as one SELECT by sqlglot. Everything else is refused here."""

from __future__ import annotations

import re
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from dpframe.errors import SQLError
from dpframe.frontends.sql_dialects import DUCKDB, in_duckdb_terms
from dpframe.frontends.sql_origin import SQLOrigin, place_of_word, sql_error
from dpframe.frontends.sql_synonyms import with_synonyms
from dpframe.frontends.sql_terms import without_terms

_READ = {
    "expressions",
    "from_",
    "joins",
    "where",
    "group",
    "having",
    "qualify",
    "order",
    "limit",
    "offset",
    "with_",
}

_CLAUSES = {
    "distinct": ("DISTINCT", "GROUP BY the columns"),
    "windows": ("WINDOW", "aggregate with GROUP BY"),
    "laterals": ("LATERAL", "query one table at a time"),
    "sample": ("SAMPLE", "query the whole table; sampling gains no budget here"),
    "pivots": ("PIVOT", "GROUP BY the column, and pivot the answer"),
    "into": ("INTO", "keep the answer in a variable: release = session.sql(...)"),
    "locks": ("FOR", "leave it out: a query changes nothing"),
}

_AROUND = {"order": "ORDER BY", "joins": "JOIN"}

# What the parser says, in words for someone who does not know its classes.
_COMPLAINTS = (
    ("Required keyword", "something is missing here"),
    ("Expected table name", "a table name is missing here"),
    ("The number of provided arguments", "there are too many arguments"),
    ("Invalid expression", "this is not expected here"),
)

_COMMENT_OR_QUOTE = re.compile(
    r"--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|(?P<open>/\*|'|\")", re.DOTALL
)


def parse(text: str, dialect: str = DUCKDB) -> exp.Select:
    """The one SELECT that a text holds, with nothing in it that could not be answered."""
    _refuse_other_statements(text)
    statements = _parsed(without_terms(text), dialect)
    if len(statements) != 1:
        raise SQLError(
            f"there are {len(statements)} statements",
            why="one query has one cost and one answer",
            fix="call session.sql once for each",
        )
    statement = statements[0]
    _refuse_around_parentheses(statement, text)
    while isinstance(statement, exp.Subquery) and not statement.alias:
        statement = statement.this
    if isinstance(statement, exp.SetOperation):
        raise sql_error(
            place_of_word(text, statement.key),
            text,
            f"{statement.key.upper()} is not answered yet",
            why="a unit may have rows on both sides, and each query bounds its own",
            fix="ask one query for each side",
        )
    if not isinstance(statement, exp.Select):
        raise SQLError(
            "only SELECT is answered",
            why="a query reads aggregates; nothing else can be made private",
            fix="SELECT COUNT(*) FROM t",
        )
    _group_distinct(statement)
    _refuse_clauses(statement, text)
    for inner in statement.find_all(exp.Select):
        if inner is not statement:
            _refuse_clauses(inner, text, besides=frozenset({"distinct"}))
    return in_duckdb_terms(with_synonyms(statement, dialect, text), dialect, text)


def _refuse_around_parentheses(statement: exp.Expression, text: str) -> None:
    """Refuse what belongs to a query as a whole, which is read without its parentheses."""
    for query in statement.find_all(exp.Subquery):
        around = [k for k, v in query.args.items() if v and k not in ("this", "alias")]
        if around:
            word = _AROUND.get(around[0], around[0].strip("_").upper())
            name, fix = _CLAUSES.get(around[0], (word, f"write {word} inside the parentheses"))
            raise sql_error(
                place_of_word(text, name) or query,
                text,
                f"{name} cannot stand beside a query in parentheses",
                why="it is a part of no SELECT, and to ignore it would answer another question",
                fix=fix,
            )


def _group_distinct(select: exp.Select) -> None:
    """Read SELECT DISTINCT a, b as SELECT a, b GROUP BY a, b; what else is DISTINCT stays so."""
    distinct = select.args.get("distinct")
    if distinct is None or distinct.args.get("on"):
        return
    # QUALIFY looks at rows before DISTINCT does, and not at groups.
    grouped = any(select.args.get(clause) for clause in ("group", "having", "qualify"))
    order = select.args.get("order")
    shown = [*select.expressions, *(order.expressions if order is not None else [])]
    if not grouped and not any(item.find(exp.AggFunc) for item in shown):
        select.set("distinct", None)
        select.set("group", exp.Group(all=True))


def _refuse_other_statements(text: str) -> None:
    first = re.match(r"(?:\s|;|--[^\n]*(?:\n|$)|/\*.*?\*/|\()*([A-Za-z_]*)", text, re.DOTALL)
    word = first.group(1).upper() if first else ""
    if word in ("SELECT", "WITH", "FROM"):
        return
    place = SQLOrigin(text, *first.span(1)) if first and word else None
    found = f"it begins with {word}" if word else "it is empty or no statement at all"
    raise SQLError(
        f"only SELECT is answered, and {found}{place.pointer() if place else ''}",
        why="a query reads aggregates; nothing else can be made private",
        fix="SELECT COUNT(*) FROM t",
    )


def _parsed(text: str, dialect: str) -> list[Any]:
    place: SQLOrigin | None = None
    fix = "check the underlined place"
    try:
        return [s for s in sqlglot.parse(text, dialect=dialect) if s is not None]
    except ParseError as error:
        what, place = _complaint(error.errors[0] if error.errors else {}, text)
    except TokenError:
        what, place = "a quote or a comment is not closed", _unclosed(text)
    except RecursionError:
        what, fix = "it is nested too deeply", "write it with less nesting"
    raise SQLError(
        f"the SQL does not parse: {what}{place.pointer() if place else ''}",
        why="SQL is read in DuckDB's dialect"
        if dialect == DUCKDB
        else f"SQL is read in the dialect of {dialect}",
        fix=fix,
    )


def _complaint(detail: dict[str, Any], text: str) -> tuple[str, SQLOrigin]:
    said = str(detail.get("description") or "it cannot be parsed")
    what = next((ours for theirs, ours in _COMPLAINTS if said.startswith(theirs)), said)
    line, word = detail.get("line") or 1, str(detail.get("highlight") or "")
    # The parser counts columns to the end of the word.
    end = sum(len(part) + 1 for part in text.split("\n")[: line - 1]) + (detail.get("col") or 1)
    return what, SQLOrigin(text, max(0, end - max(1, len(word))), min(end, len(text)))


def _unclosed(text: str) -> SQLOrigin | None:
    for found in _COMMENT_OR_QUOTE.finditer(text):
        if found.group("open"):
            return SQLOrigin(text, *found.span("open"))
    return None


def _refuse_clauses(select: exp.Select, text: str, besides: frozenset[str] = frozenset()) -> None:
    for key, value in select.args.items():
        if key in _READ | besides or not value:
            continue
        name, fix = _CLAUSES.get(key, (key.strip("_").upper(), "leave it out"))
        parts = value if isinstance(value, list) else [value]
        node = next((p for p in parts if isinstance(p, exp.Expression)), None)
        raise sql_error(
            place_of_word(text, name) or node,
            text,
            f"{name} is not answered",
            why="each operation needs a proof of what one unit can change, and this has none yet",
            fix=fix,
        )

"""Places in SQL text: what to quote and underline in an error."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from dpframe.errors import SQLError

_WIDEST = 120
"""A line is shown up to this many characters around the place."""

# The parser keeps the positions of names and constants only. The words around them that belong to
# a node of some type are found in the text: what stands before its first, and after its last.
_BEFORE = {
    exp.Cast: r"((TRY_)?CAST\s*\(\s*|\b(DATE|TIMESTAMP|DATETIME)\s+)$",
    exp.Case: r"\bCASE\s+(WHEN\s+)?$",
    exp.Not: r"\bNOT\s+$",
    exp.Neg: r"-\s*$",
    exp.Paren: r"\(\s*$",
    exp.Subquery: r"\(\s*SELECT\s+$",
    exp.Exists: r"\bEXISTS\s*\(\s*SELECT\s+$",
    exp.Func: r"\b[A-Za-z_]\w*\s*\(\s*((DISTINCT|BOTH|LEADING|TRAILING)\s+)?(\w+\s+FROM\s+)?$",
}
_IS = r"\s+(IS(\s+NOT)?\s+(NULL|UNKNOWN|TRUE|FALSE)|ISNULL|NOTNULL)\b"
_AFTER = {
    exp.Cast: r"\s*::\s*\w+(\s*\([\d\s,]*\))?",
    exp.Case: r"\s+END\b",
    exp.Is: _IS,
    exp.Not: _IS,
    exp.Window: r"\s+OVER\s*(\(\s*\)|\w+)?",
    exp.Func: r"\s*\(\s*(DISTINCT|NULL)?\s*\)",
}


@dataclass(frozen=True, slots=True)
class SQLOrigin:
    """The characters from `start` up to `end` of a statement."""

    statement: str
    start: int
    end: int

    def text(self) -> str:
        """The words themselves."""
        words = " ".join(self.statement[self.start : self.end].split())
        return words if len(words) <= _WIDEST else words[: _WIDEST - 3] + "..."

    def pointer(self) -> str:
        """The line of the statement, with the place underlined.

        >>> print(SQLOrigin("SELECT nope FROM t", 7, 11).pointer()[1:])
          line 1, column 8:
            SELECT nope FROM t
                   ^^^^
        """
        before = self.statement[: self.start]
        line_start = before.rfind("\n") + 1
        line = self.statement[line_start:].split("\n", 1)[0]
        column = self.start - line_start
        width = max(1, min(self.end - self.start, len(line) - column))
        first = max(0, column - _WIDEST // 2) if len(line) > _WIDEST else 0
        shown = "".join(c if c.isprintable() else " " for c in line[first : first + _WIDEST])
        underline = " " * (column - first) + "^" * min(width, _WIDEST - (column - first))
        number = before.count("\n") + 1
        return f"\n  line {number}, column {column + 1}:\n    {shown}\n    {underline}"

    def advice(self, fix: str) -> str:
        """The fix as it is: it is SQL."""
        return fix


def origin_of(node: exp.Expression, statement: str) -> SQLOrigin | None:
    """The place of a parsed node: from its first to its last token, parentheses balanced."""
    placed = [n for n in node.walk() if "start" in n.meta]
    if not placed:
        return _searched(node, statement)
    start = _beginning(min(placed, key=lambda n: int(n.meta["start"])), node, statement)
    end = max(n.meta["end"] for n in placed) + 1
    end = _balanced(statement, start, end)
    for kind in (kind for kind in _AFTER if isinstance(node, kind)):
        found = re.compile(_AFTER[kind], re.IGNORECASE).match(statement, end)
        end = found.end() if found else end
    return SQLOrigin(statement, start, _balanced(statement, start, end))


def _beginning(first: exp.Expr, node: exp.Expr, statement: str) -> int:
    """Where a node begins whose first name or constant is `first`.

    All that is around it, up to the node, begins there too, each with the words before it: in
    `MAX(x) - 1`, what is subtracted from begins at MAX.
    """
    start: int = first.meta["start"]
    around: exp.Expr | None = first
    while around is not None:
        kinds = [kind for kind in _BEFORE if isinstance(around, kind)]
        # AND and OR count as functions for the parser, but have no name before their operands.
        if kinds and "start" not in around.meta and not isinstance(around, exp.Connector):
            found = re.search(_BEFORE[kinds[0]], statement[:start], re.IGNORECASE)
            start = found.start() if found else start
        around = None if around is node else around.parent
    return start


def _balanced(statement: str, start: int, end: int) -> int:
    """Where the parentheses that were opened are closed."""
    missing = statement[start:end].count("(") - statement[start:end].count(")")
    while missing > 0 and end < len(statement):
        missing -= statement[end] == ")"
        end += 1
    return end


def place_of_word(statement: str, word: str) -> SQLOrigin | None:
    """Where a word stands, if it stands there only once.

    >>> place_of_word("SELECT DISTINCT a FROM t", "distinct").start
    7
    """
    found = list(re.finditer(rf"\b{word}\b", statement, re.IGNORECASE))
    return SQLOrigin(statement, *found[0].span()) if len(found) == 1 else None


def _searched(node: exp.Expression, statement: str) -> SQLOrigin | None:
    """The place of a node that has no name and no constant in it, by its keyword."""
    words = node.sql_names() if isinstance(node, exp.Func) else [node.key.upper()]
    places = (place_of_word(statement, word) for word in words)
    return next((place for place in places if place is not None), None)


def sql_error(
    node: exp.Expression | SQLOrigin | None, statement: str, what: str, *, why: str, fix: str
) -> SQLError:
    """An error about a node, with its line and column."""
    place = origin_of(node, statement) if isinstance(node, exp.Expression) else node
    if place is None:
        return SQLError(what, why=why, fix=fix)
    return SQLError(f"{place.text()}: {what}{place.pointer()}", why=why, fix=fix)

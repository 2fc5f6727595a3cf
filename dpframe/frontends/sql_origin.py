"""Places in SQL text: what to quote and underline in an error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dpframe.errors import SQLError

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True, slots=True)
class SQLOrigin:
    """The characters from `start` up to `end` of a statement."""

    statement: str
    start: int
    end: int

    def text(self) -> str:
        """The words themselves."""
        return " ".join(self.statement[self.start : self.end].split())

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
        number = before.count("\n") + 1
        shown = line.replace("\t", " ")
        underline = " " * column + "^" * width
        return f"\n  line {number}, column {column + 1}:\n    {shown}\n    {underline}"


def origin_of(node: exp.Expression, statement: str) -> SQLOrigin | None:
    """The place of a parsed node: from its first to its last token, parentheses balanced."""
    positions = [n.meta for n in node.walk() if "start" in n.meta]
    if not positions:
        return None
    start = min(p["start"] for p in positions)
    end = max(p["end"] for p in positions) + 1
    missing = statement[start:end].count("(") - statement[start:end].count(")")
    while missing > 0 and end < len(statement):
        missing -= statement[end] == ")"
        end += 1
    return SQLOrigin(statement, start, end)


def sql_error(
    node: exp.Expression | None, statement: str, what: str, *, why: str, fix: str
) -> SQLError:
    """An error about a node, with its line and column."""
    origin = None if node is None else origin_of(node, statement)
    if origin is None:
        return SQLError(what, why=why, fix=fix)
    return SQLError(f"{origin.text()}: {what}{origin.pointer()}", why=why, fix=fix)

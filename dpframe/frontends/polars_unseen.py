"""What Python asks of a frame whose rows are at hand, and of ours in vain: `frame["age"]`, `len(frame)`.

Each is refused with what to write instead. Nothing is read, and nothing is charged.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from dpframe.errors import QueryError
from dpframe.frontends.polars_arguments import terms
from dpframe.frontends.polars_text import code_of

_ROWS = "rows are private; only aggregates of them can be released"
_AGGREGATE = '.group_by("ward").agg(pl.len()), or .select(pl.len()) for all rows together'
_UNRELEASED = "its numbers are noisy, and there are none before the release"


class Unseen:
    """A table that is not at hand; `_kind` is what it is called."""

    _kind: str

    def _part(self, given: Any) -> str:
        """What to write for `self[given]`."""
        raise NotImplementedError

    def _height(self) -> str:
        """What to write for `len(self)`."""
        raise NotImplementedError

    def _each(self) -> str:
        """What to write for `for row in self`."""
        raise NotImplementedError

    def _table_code(self) -> str:
        """The code of the table that has columns."""
        raise NotImplementedError

    def _why(self) -> str:
        return _ROWS

    if not TYPE_CHECKING:  # so that it is found before it is run

        def __getitem__(self, given: Any) -> NoReturn:
            part = f"[{_shown(given)}]"
            self._refuse(f"{self._kind} has no {part} to look at", self._part(given))

        def __setitem__(self, given: Any, value: Any) -> NoReturn:
            name = _shown(given) if isinstance(given, str) else '"x"'
            self._refuse(
                f"{self._kind} is not changed in its place",
                f"{self._table_code()}.with_columns(pl.lit(1).alias({name}))",
                "each step makes a new one, of expressions that say what is computed",
            )

        def __len__(self) -> NoReturn:
            self._refuse(f"{self._kind} has no len()", self._height())

        def __bool__(self) -> NoReturn:
            self._refuse(f"{self._kind} is neither true nor false", self._height())

        def __iter__(self) -> NoReturn:
            self._refuse(f"{self._kind} is not iterated", self._each())

        def __contains__(self, given: Any) -> NoReturn:
            fix = f"{_shown(given)} in {self._table_code()}.columns"
            self._refuse(f'"in" does not look into {self._kind}', fix)

    def _refuse(self, what: str, fix: str, why: str | None = None) -> NoReturn:
        raise QueryError(what, why=why or self._why(), fix=fix)


class UnseenRows(Unseen):
    """Private rows, or groups of them."""

    _method: str

    def _code(self) -> str:
        raise NotImplementedError

    def _types(self) -> Mapping[str, pl.DataType]:
        raise NotImplementedError

    def _numbers(self) -> list[str]:
        """The columns that can be aggregated as they are."""
        raise NotImplementedError

    def _height(self) -> str:
        return f"{self._code()}.{self._method}(pl.len())"

    def _each(self) -> str:
        return f"{self._height()}, or {self._table_code()}.columns for the names of the columns"

    def _part(self, given: Any) -> str:
        if isinstance(given, pl.Expr):
            kept = ", ".join(map(code_of, terms(given, self._types)))
            return f"{self._table_code()}.filter({kept}).select(pl.len())"
        listed = given if isinstance(given, list) else [given]
        if not listed or not all(isinstance(name, str) for name in listed):
            return self._height()
        measured = dict.fromkeys(map(self._measured, listed))
        return f"{self._code()}.{self._method}({', '.join(measured)})"

    def _measured(self, name: str) -> str:
        """An aggregate of a column, or of the one that was meant, that can be asked for."""
        numbers = self._numbers()
        column = _meant(name, list(self._types()), numbers)
        return f"pl.col({_shown(column)}).{'mean' if column in numbers else 'count'}()"


class UnseenFrame(UnseenRows):
    """The rows of a frame, which are neither released nor sorted."""

    _kind, _method = "a frame of private rows", "select"

    def _table_code(self) -> str:
        return self._code()

    def release(self, **_: Any) -> NoReturn:
        """Refuse: rows are private."""
        raise QueryError(f"{self._code()} returns rows", why=_ROWS, fix=_AGGREGATE)

    collect = cost = explain = query = release

    def sort(self, *_: Any, **__: Any) -> NoReturn:
        """Refuse: an order of rows couples units."""
        raise QueryError(
            "private rows are not sorted or cut",
            why="one unit could decide which rows of others are kept, so noise would not cover it",
            fix="aggregate first: .group_by(...).agg(...).sort(...).head(10)",
        )

    head = limit = tail = slice = top_k = bottom_k = sort


class UnseenGroups(UnseenRows):
    """Groups of private rows, which are aggregated next."""

    _kind, _method = "group_by(...)", "agg"


class UnseenAnswer(Unseen):
    """A noisy table that is not released yet."""

    _kind = "a table that is not released yet"

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        raise NotImplementedError

    def _why(self) -> str:
        return _UNRELEASED

    def _height(self) -> str:
        return f"{self._released()}.height"

    def _each(self) -> str:
        return f"{self._released()}.iter_rows()"

    def _part(self, given: Any) -> str:
        if not isinstance(given, str):
            return self._released()
        return f"{self._released()}[{_shown(_meant(given, self.columns, []))}]"

    def _released(self) -> str:
        return f"{self._table_code()}.release(epsilon=0.1).frame"


def _meant(name: str, columns: list[str], others: list[str]) -> str:
    """The column of a name, or one that looks like it, or another one."""
    if name in columns:
        return name
    return (difflib.get_close_matches(name, columns, n=1) or others or columns)[0]


def _shown(given: Any) -> str:
    """A name as code; of anything else that it is there."""
    if isinstance(given, str):
        return json.dumps(given, ensure_ascii=False)
    if isinstance(given, list) and given and all(isinstance(each, str) for each in given):
        return f"[{', '.join(map(_shown, given))}]"
    return str(given) if isinstance(given, int) else "..."

"""The tables of a session: their data, their declarations, and what follows of their rows."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpframe.aggregates.compile import tables_of
from dpframe.bounds.derive import visible_table
from dpframe.bounds.lower import Lowering
from dpframe.bounds.rows import Selected, stored_tables
from dpframe.declare import Keys, Neighbors, Range, Row, Table, Unit, declare, with_keys
from dpframe.engines.base import Engine
from dpframe.engines.combined import combined
from dpframe.engines.files import EngineName
from dpframe.engines.learned import PublicFacts
from dpframe.engines.sources import open_data
from dpframe.errors import DeclarationError, QueryError
from dpframe.plan.domains import in_words
from dpframe.plan.nodes import Node
from dpframe.release.words import unit_text


class Catalog:
    """Registered tables, each on the engine that holds its data."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.engines: dict[str, Engine] = {}
        self._versions: dict[str, Callable[[], str | None]] = {}
        self._public = PublicFacts()
        self._combined: dict[frozenset[str], tuple[Engine, Mapping[str, Table]]] = {}

    def add(
        self,
        name: str,
        data: Any,
        *,
        unit: Row | Unit | None,
        columns: Mapping[str, Range | Keys] | None,
        engine: EngineName | None,
        public: bool,
        neighbors: Neighbors,
        size: int | None,
        version: str | None,
        agreed: Callable[[Table], object],
    ) -> None:
        """Check a declaration against the data, have it `agreed` to, and keep both."""
        if not isinstance(name, str) or not name.isidentifier():
            raise DeclarationError(
                f"{name!r} is not a table name",
                why="SQL refers to the table by a plain word",
                fix='session.register("visits", data)',
            )
        if name.lower() in (known.lower() for known in self.tables):
            raise DeclarationError(
                f"table {name!r} is registered already",
                why="answers that were paid for refer to it",
                fix="use another name, or a new session",
            )
        if columns is not None and not isinstance(columns, Mapping):
            raise DeclarationError(
                f"columns={columns!r} is not a mapping",
                why="each column is declared by name",
                fix='columns={"age": dp.Range(0, 110)}',
            )
        if version is not None and (not isinstance(version, str) or not version):
            raise DeclarationError(
                f"version={version!r} is not a text",
                why="it names a state of the data: the same name promises the same rows",
                fix='version="2026-11-16"',
            )
        opened = open_data(data, engine)
        table = declare(
            name,
            opened.engine.storage(),
            unit=Row() if unit is None else unit,
            columns=columns or {},
            neighbors=neighbors,
            size=size,
            public=public,
        )
        agreed(table)
        self.engines[name] = opened.engine
        self._versions[name] = _declared(version, opened.version) if version else opened.version
        self.tables[name] = table  # last: from then on a query in another thread finds it

    def table(self, name: str) -> Table:
        """The table of this name, or an error that names those there are."""
        if isinstance(name, str) and name in self.tables:
            return self.tables[name]
        near = difflib.get_close_matches(name, self.tables, n=1) if isinstance(name, str) else []
        # What is no text may be a frame, which would be shown with its rows.
        said = repr(name) if isinstance(name, str) else f"a {type(name).__name__}"
        raise QueryError(
            f"{said} is not a registered table" + (f"; did you mean {near[0]!r}?" if near else ""),
            why=f"registered tables: {', '.join(self.tables) or 'none'}",
            fix=f'session.register("{name if isinstance(name, str) else "visits"}", data,'
            " columns={...})",
        )

    def version(self, names: Sequence[str]) -> str | None:
        """The version of the data of all these tables together; None where one has none."""
        versions = [self._versions[name]() for name in sorted(names)]
        known = [version for version in versions if version is not None]
        if len(known) < len(names):
            return None
        # In quotes: an owner's names for versions may have any sign in them that could stand between.
        return known[0] if len(known) == 1 else json.dumps(known)

    def lowering(
        self, plan: Node, keys: Mapping[str, Iterable[Any]] | None = None
    ) -> tuple[Engine, Lowering]:
        """The engine that a plan runs on, and what follows of its rows from its tables."""
        names = tables_of(plan)
        engine, tables = self._opened(names)
        tables = {name: self._with_learned(tables[name]) for name in names}
        if keys is not None:
            tables = with_keys(tables, keys)
        return engine, Lowering(tables, lambda chosen: self._is_unique(engine, chosen))

    def described(self, node: Node) -> Table:
        """What is known of the columns of rows that several tables may have been made into."""
        _, lowering = self.lowering(node)
        return visible_table(lowering.rows(node))

    def _opened(self, names: Sequence[str]) -> tuple[Engine, Mapping[str, Table]]:
        """One engine over these tables, and the tables as it stores them."""
        if len(names) == 1:
            return self.engines[names[0]], self.tables
        chosen = frozenset(names)
        if chosen not in self._combined:
            engines = {name: self.engines[name] for name in sorted(names)}
            self._combined[chosen] = combined(engines, self.tables)
        return self._combined[chosen]

    def _with_learned(self, table: Table) -> Table:
        """A table; if it is public, with what its rows tell of the columns not declared."""
        if not table.public:
            return table
        name, version = table.name, self._versions[table.name]()
        domains = self._public.domains(self.tables[name], self.engines[name], version)
        return replace(table, domains=domains)

    def _is_unique(self, engine: Engine, chosen: Selected) -> bool:
        names = [table.name for table in stored_tables(chosen.source)]
        return self._public.is_unique(chosen, engine, self.version(names))

    def in_words(self) -> list[str]:
        """The tables and their declarations, line by line."""
        lines = []
        for table in self.tables.values():
            lines.append(f"table      {table.name} on {self.engines[table.name].name}")
            lines.append(f"  protects {unit_text(table)}")
            width = max(map(len, table.storage))
            types = max(len(stored.name) for stored in table.storage.values())
            for column, stored in table.storage.items():
                known = _known(table, column)
                lines.append(f"  {column.ljust(width)}  {stored.name.ljust(types)}  {known}")
        return lines


def _known(table: Table, column: str) -> str:
    if column not in table.domains:
        return "cannot be used"
    domain = table.domains[column]
    known = domain.values is not None or domain.is_bounded
    return "read from the table" if table.public and not known else in_words(domain)


def terms_of_table(table: Table) -> dict[str, Any]:
    """What a ledger must find unchanged when it is opened again."""
    return {
        "unit": table.unit_column,
        "max_rows": table.max_rows,
        "neighbors": table.neighbors,
        "size": table.size,
        "public": table.public,
    }


def _declared(version: str, found: Callable[[], str | None]) -> Callable[[], str]:
    """A version that an owner vouches for; what cannot be read any more is an error all the same."""

    def declared() -> str:
        found()
        return f"declared {version}"

    return declared

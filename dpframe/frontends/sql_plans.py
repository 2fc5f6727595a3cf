"""Plans of texts that were read before."""

from __future__ import annotations

from collections.abc import Mapping

from dpframe.declare import Table
from dpframe.plan.nodes import Node

_MOST = 256
"""How many plans are kept."""


class Plans:
    """Reads queries over some tables, each text once.

    Texts come again: a question is explained and then released, or asked every morning. Parsing it
    and resolving its names is half of planning, and depends on declarations alone: what is read from
    data (public tables, versions) is looked up for every question anew.
    """

    def __init__(self, tables: Mapping[str, Table]) -> None:
        """Take the tables, to which others may be added later; none changes, and none goes."""
        self._tables = tables
        self._plans: dict[tuple[str, str, int], Node] = {}

    def of(self, text: str, dialect: str) -> Node:
        """The plan of one SELECT."""
        from dpframe.frontends.sql import plan_of

        if not isinstance(text, str) or not isinstance(dialect, str):
            return plan_of(text, self._tables, dialect)  # refused there
        key = text, dialect, len(self._tables)
        plan = self._plans.get(key)
        if plan is None:
            plan = plan_of(text, self._tables, dialect)
            if len(self._plans) >= _MOST:
                self._plans.clear()
            self._plans[key] = plan
        return plan

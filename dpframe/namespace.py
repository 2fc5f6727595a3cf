"""`df.dp` and `lf.dp`: the way in from a frame that is at hand."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:  # `import dpframe` loads this module, and no more than it needs
    from dpframe.budget.budget import Budget
    from dpframe.declare import Keys, Neighbors, Range, Row, Unit
    from dpframe.frame import Frame
    from dpframe.session import Session


class DPNamespace:
    """Protects a frame; `import dpframe` adds it to every `pl.DataFrame` and `pl.LazyFrame`.

    >>> import dpframe as dp
    >>> people = pl.DataFrame({"age": [31, 59]})
    >>> frame = people.dp.protect(dp.Budget(epsilon=1), columns={"age": dp.Range(0, 110)})
    >>> frame.select(pl.col("age").mean()).release(epsilon=0.5).frame.columns
    ['age']
    """

    def __init__(self, frame: pl.DataFrame | pl.LazyFrame) -> None:
        self._frame = frame

    def session(
        self,
        budget: Budget,
        *,
        name: str = "data",
        unit: Row | Unit | None = None,
        columns: Mapping[str, Range | Keys] | None = None,
        neighbors: Neighbors = "add_remove",
        size: int | None = None,
        ledger: str | os.PathLike[str] | None = None,
        queries: int | None = None,
        version: str | None = None,
    ) -> Session:
        """Open a session on a budget, with this frame as the table `name`."""
        from dpframe.session import Session

        opened = Session(budget, ledger, queries=queries)
        opened.register(
            name,
            self._frame,
            unit=unit,
            columns=columns,
            neighbors=neighbors,
            size=size,
            version=version,
        )
        return opened

    def protect(
        self,
        on: Budget | Session,
        *,
        name: str = "data",
        unit: Row | Unit | None = None,
        columns: Mapping[str, Range | Keys] | None = None,
        neighbors: Neighbors = "add_remove",
        size: int | None = None,
        version: str | None = None,
    ) -> Frame:
        """The frame as one that can only be released, on a session or on a budget of its own."""
        from dpframe.session import Session

        session = on if isinstance(on, Session) else Session(on)
        session.register(
            name,
            self._frame,
            unit=unit,
            columns=columns,
            neighbors=neighbors,
            size=size,
            version=version,
        )
        return session.table(name)


for _kind, _decorate in (
    (pl.DataFrame, pl.api.register_dataframe_namespace),
    (pl.LazyFrame, pl.api.register_lazyframe_namespace),
):
    if not hasattr(_kind, "dp"):  # Polars warns where a name is taken already
        _decorate("dp")(DPNamespace)

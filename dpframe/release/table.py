"""The answer to a query: a noisy table that carries its error bars and its cost."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import polars as pl

from dpframe.budget.loss import Loss
from dpframe.mechanisms import Source
from dpframe.release.display import html_table, text_table
from dpframe.release.intervals import intervals
from dpframe.release.noisy import ROW, NoisyParts, finish

CONFIDENCE = 0.95
"""The confidence of `errors` and of what is displayed."""


class Release:
    """A noisy table. It can be used as a Polars frame, or read by anything that speaks Arrow.

    Error bars cover the noise that was added. They do not cover what declarations changed: values
    clamped to a range, units scaled down to `max_rows`, rows outside declared keys.
    """

    def __init__(
        self,
        parts: NoisyParts,
        loss: Loss,
        source: Source,
        *,
        note: str = "",
        reused: bool = False,
    ) -> None:
        self._parts = parts
        self._source = source
        self._note = note
        self._finished = finish(parts)
        self._intervals: dict[float, pl.DataFrame] = {}
        self.loss = loss
        self.reused = reused
        """Whether it was answered from earlier measurements, at no cost."""

    @property
    def frame(self) -> pl.DataFrame:
        """The noisy table."""
        return self._finished.drop(ROW)

    def intervals(self, confidence: float = CONFIDENCE) -> pl.DataFrame:
        """The table with `name_low` and `name_high` after every noisy column `name`.

        Each interval covers its noise-free value with probability `confidence`.
        """
        if confidence not in self._intervals:
            found = intervals(self._parts, self._finished, confidence, self._source)
            columns: list[pl.Series] = []
            for column in self.frame:
                columns.append(column)
                if column.name in found:
                    low, high = found[column.name]
                    columns.append(pl.Series(f"{column.name}_low", low))
                    columns.append(pl.Series(f"{column.name}_high", high))
            self._intervals[confidence] = pl.DataFrame(columns)
        return self._intervals[confidence]

    @cached_property
    def errors(self) -> pl.DataFrame:
        """The table with every noisy number replaced by its error: half its 95% interval."""
        bounds = self.intervals(CONFIDENCE)
        return self.frame.with_columns(
            ((bounds[f"{name}_high"] - bounds[f"{name}_low"]) / 2).alias(name)
            for name in self.frame.columns
            if f"{name}_low" in bounds.columns
        )

    def item(self) -> Any:
        """The only value of a table with one row and one column."""
        return self.frame.item()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the table over without copying, to DuckDB, pandas, pyarrow or Polars."""
        return self.frame.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return self._finished.height

    def __repr__(self) -> str:
        return text_table(self.frame, self.intervals(CONFIDENCE), self._caption())

    def _repr_html_(self) -> str:
        return html_table(self.frame, self.intervals(CONFIDENCE), self._caption())

    def _caption(self) -> str:
        cost = f"cost: {self.loss}" if not self._note else self._note
        return f"± covers the noise with {CONFIDENCE:.0%} confidence; {cost}"

"""Differentially private queries for dataframes: ordinary SQL in, noisy answers with error bars out.

>>> import dpframe as dp
>>> session = dp.Session(dp.Budget(epsilon=1.0))

Importing the package loads Polars and little else. Each public name is loaded with its module when
it is first used, so that a script which only declares, or only reads a ledger, starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

# Not left for later: it adds `df.dp` and `lf.dp` to the frames of Polars.
from dpframe.namespace import DPNamespace

if TYPE_CHECKING:
    from dpframe.budget.budget import Budget
    from dpframe.budget.compose import compose
    from dpframe.budget.ledger import Ledger
    from dpframe.budget.loss import Loss
    from dpframe.declare import Keys, Range, Row, Unit
    from dpframe.errors import (
        BudgetError,
        DeclarationError,
        DPFrameError,
        EngineError,
        InternalError,
        LedgerError,
        ParameterError,
        PrivacyWarning,
        QueryError,
        SQLError,
        UnboundedError,
        UserError,
    )
    from dpframe.frame import Frame, GroupBy
    from dpframe.histogram import HistogramQuery
    from dpframe.query import Query
    from dpframe.release.chosen import Choice
    from dpframe.release.histogram import Histogram
    from dpframe.release.table import Release
    from dpframe.session import Session
    from dpframe.summary import Summary

__all__ = [
    "Budget",
    "BudgetError",
    "Choice",
    "DPFrameError",
    "DPNamespace",
    "DeclarationError",
    "EngineError",
    "Frame",
    "GroupBy",
    "Histogram",
    "HistogramQuery",
    "InternalError",
    "Keys",
    "Ledger",
    "LedgerError",
    "Loss",
    "ParameterError",
    "PrivacyWarning",
    "Query",
    "QueryError",
    "Range",
    "Release",
    "Row",
    "SQLError",
    "Session",
    "Summary",
    "UnboundedError",
    "Unit",
    "UserError",
    "compose",
]

_HOMES = {
    "Budget": "budget.budget",
    "Choice": "release.chosen",
    "Frame": "frame",
    "GroupBy": "frame",
    "Histogram": "release.histogram",
    "HistogramQuery": "histogram",
    "Keys": "declare",
    "Ledger": "budget.ledger",
    "Loss": "budget.loss",
    "Query": "query",
    "Range": "declare",
    "Release": "release.table",
    "Row": "declare",
    "Session": "session",
    "Summary": "summary",
    "Unit": "declare",
    "compose": "budget.compose",
}
"""The modules that names are loaded from; what is not listed is an error."""


def __getattr__(name: str) -> object:
    """Load a public name when it is first asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """What completion offers: the public names, loaded or not."""
    return sorted({*globals(), *__all__})

"""Differentially private queries for dataframes: ordinary SQL in, noisy answers with error bars out.

>>> import dpframe as dp
>>> session = dp.Session(dp.Budget(epsilon=1.0))
"""

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
from dpframe.namespace import DPNamespace
from dpframe.query import Query
from dpframe.release.choice import Choice
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

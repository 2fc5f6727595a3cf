"""Every exception that dpframe raises.

```
DPFrameError                 what happened, why, and code that fixes it
├── UserError                something to change in what was written
│   ├── DeclarationError     a table was declared in a way its schema contradicts
│   ├── QueryError           a query that cannot be answered as asked
│   │   ├── SQLError         ... and the place in the SQL text
│   │   └── UnboundedError   a value whose size nothing declared bounds
│   ├── ParameterError       an argument out of its domain: epsilon=0, a negative scale
│   └── BudgetError          a release that the budget does not cover; nothing was spent
├── LedgerError              the ledger cannot be read, written or trusted
├── EngineError              the engine stopped; its message is withheld, it may quote rows
└── InternalError            our bug: please report it
```

No exception carries anything read from a private row. `PrivacyWarning` is the one category of
warnings.
"""

from __future__ import annotations


class DPFrameError(Exception):
    """What happened, why it matters, and what to write instead.

    >>> raise ParameterError("epsilon is 0", why="noise of infinite scale", fix="epsilon=0.1")
    Traceback (most recent call last):
    ...
    dpframe.errors.ParameterError: epsilon is 0
      why: noise of infinite scale
      fix: epsilon=0.1
    """

    def __init__(self, what: str, *, why: str, fix: str) -> None:
        self.what = what
        self.why = why
        self.fix = fix
        super().__init__(f"{what}\n  why: {why}\n  fix: {fix}")

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions with keyword-only arguments do not pickle by default, and
        # process pools send them across.
        return _rebuild, (type(self), self.what, self.why, self.fix)


def _rebuild(cls: type[DPFrameError], what: str, why: str, fix: str) -> DPFrameError:
    return cls(what, why=why, fix=fix)


class UserError(DPFrameError):
    """Something to change in what was written."""


class DeclarationError(UserError):
    """A table was declared in a way its schema contradicts."""


class QueryError(UserError):
    """A query that cannot be answered as asked."""


class UnboundedError(QueryError):
    """A value whose size nothing declared bounds."""


class SQLError(QueryError):
    """A query that cannot be answered as asked, and the place in its SQL text."""


class ParameterError(UserError):
    """An argument out of its domain."""


class BudgetError(UserError):
    """A release that the budget does not cover; nothing was spent."""


class LedgerError(DPFrameError):
    """The ledger cannot be read, written or trusted."""


class EngineError(DPFrameError):
    """The engine stopped. Its message is withheld because it may quote rows."""


class PrivacyWarning(UserWarning):
    """A release that is allowed, and that a careful owner would think about."""


class InternalError(DPFrameError):
    """Our bug, not yours."""

    def __init__(self, what: str) -> None:
        super().__init__(
            what,
            why="this is a bug in dpframe; no answer was released",
            fix="please report it with the query and the declarations (not the data)",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return InternalError, (self.what,)

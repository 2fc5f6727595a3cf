"""The function table: every function that a row expression may call, one entry each.

Adding a function is adding one entry to one of these modules. What is not in the table is refused.
"""

from dpframe.plan.functions import (
    casts,
    choices,
    conditions,
    dataframes,
    divisions,
    elapsed,
    mathematics,
    numbers,
    patterns,
    powers,
    rounding,
    shifts,
    texts,
    time_texts,
    times,
)
from dpframe.plan.functions.base import FUNCTIONS, Function, Refused, literal_as

__all__ = ["FUNCTIONS", "Function", "Refused", "by_sql_name", "literal_as"]

_MODULES = (
    *(numbers, divisions, rounding, powers, mathematics, conditions, patterns, choices, casts),
    *(texts, times, shifts, time_texts, elapsed, dataframes),
)
for _module in _MODULES:
    _module.register_all()

_BY_SQL_NAME = {name: function for function in FUNCTIONS.values() for name in function.sql}


def by_sql_name(name: str) -> Function | None:
    """The entry that is written so in SQL, or None.

    >>> by_sql_name("abs").name
    'abs'
    """
    return _BY_SQL_NAME.get(name)

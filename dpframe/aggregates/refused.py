"""Aggregates that are never measured: why not, and what to ask instead."""

from __future__ import annotations

_OF_A_ROW = (
    "it shows the value of a single row, and answers are about many",
    "MODE({0}) for the most frequent value, or AVG({0}) where it is a number",
)
_OF_ALL_ROWS = (
    "one row decides the answer, so no noise could hide it",
    "COUNT_IF({0}) and COUNT_IF(NOT {0}), or AVG(CAST({0} AS INT)) for the part of rows where it holds",
)
_BITS = (
    "one row can change every bit of the answer",
    "COUNT_IF({0} % 2 = 1) counts the rows with the last bit set; {0} // 2 % 2 is the one before it",
)
_LISTS = (
    "it lists the values of single rows, and answers are about many",
    "SELECT {0}, COUNT(*) FROM ... GROUP BY {0}, for the values and how often they occur",
)
_BEST_ROW = (
    "it shows the value of a single row, and answers are about many",
    "ask for a group: SELECT ARG_MAX({0}, n) FROM (SELECT {0}, COUNT(*) AS n FROM ... GROUP BY {0})",
)

_LEAST = "with the least {0} that counts in place of 1"

COMPUTED: dict[str, str] = {
    "AVERAGE": "AVG({0})",
    "MAD": "QUANTILE_CONT({0}, 0.75) - QUANTILE_CONT({0}, 0.25), which says how far values spread too",
    "PRODUCT": f"SUM(LN(GREATEST({{0}}, 1))) for its logarithm, {_LEAST}",
}
"""Aggregates that others say as well: what to ask of the arguments instead."""

REFUSED: dict[str, tuple[str, str]] = {
    "ANY_VALUE": _OF_A_ROW,
    "ARBITRARY": _OF_A_ROW,
    "APPROX_TOP_K": (
        "values are chosen by a query of their own",
        "SELECT {0} FROM ... GROUP BY {0} ORDER BY COUNT(*) DESC LIMIT 3",
    ),
    "ARG_MAX": _BEST_ROW,
    "ARG_MIN": _BEST_ROW,
    "ARRAY_AGG": _LISTS,
    "BITSTRING_AGG": _LISTS,
    "BITWISE_AND_AGG": _BITS,
    "BITWISE_OR_AGG": _BITS,
    "BITWISE_XOR_AGG": _BITS,
    "EVERY": _OF_ALL_ROWS,
    "FIRST": _OF_A_ROW,
    "FIRST_VALUE": _OF_A_ROW,
    "GROUP_CONCAT": _LISTS,
    "LAST": _OF_A_ROW,
    "LAST_VALUE": _OF_A_ROW,
    "LOGICAL_AND": _OF_ALL_ROWS,
    "LOGICAL_OR": _OF_ALL_ROWS,
}
"""By the name that the parser gives them: the reason, and what to ask of the argument instead."""

"""Functions that choose among their arguments: CASE, COALESCE, LEAST, GREATEST."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from dpframe.plan.domains import Domain, Type, union
from dpframe.plan.functions.base import (
    Domains,
    Function,
    Params,
    any_nullable,
    common_type,
    register,
    same_type,
)


def _results(domains: Domains) -> Domains:
    """Of (condition, result, condition, result, ..., otherwise), the results."""
    return (*domains[1::2], domains[-1])


def _case_coerce(domains: Domains, params: Params) -> tuple[Type, ...]:
    kind = common_type(_results(domains))
    types = [Type.BOOL if i % 2 == 0 else kind for i in range(len(domains))]
    types[-1] = kind
    return tuple(types)


def _case_duckdb(args: Sequence[str], params: Params) -> str:
    arms = [f"WHEN {args[i]} THEN {args[i + 1]}" for i in range(0, len(args) - 1, 2)]
    return f"CASE {' '.join(arms)} ELSE {args[-1]} END"


def _case_polars(args: Sequence[pl.Expr], params: Params) -> pl.Expr:
    result = args[-1]
    for i in range(len(args) - 3, -1, -2):
        result = pl.when(args[i]).then(args[i + 1]).otherwise(result)
    return result


_MOST_LISTED = 1_000
"""The results of a CASE are listed, and so can be grouped by, up to this many."""


def _case_domain(domains: Domains, params: Params) -> Domain:
    found = _union(_results(domains))
    listed = [d.values for d in _results(domains)]
    if None in listed:
        return found
    values = sorted({v for some in listed if some is not None for v in some})
    return replace(found, values=tuple(values)) if len(values) <= _MOST_LISTED else found


def _coalesce_domain(domains: Domains, params: Params) -> Domain:
    return _union(domains).with_nullable(all(d.nullable for d in domains))


def _union(domains: Domains) -> Domain:
    return union(_possible(domains)).with_nullable(any_nullable(domains))


def _possible(domains: Domains) -> list[Domain]:
    """Those that can be the answer; a NULL constant cannot, unless there is nothing else."""
    return [d for d in domains if d.values != ()] or list(domains)


def _least_domain(domains: Domains, params: Params) -> Domain:
    # NULL arguments are skipped: what is always there bounds the answer from above, but any
    # argument may be the answer.
    there = [d.high for d in domains if not d.nullable and d.high is not None]
    high = min(there) if there else _end(max, [d.high for d in _possible(domains)])
    low = _end(min, [d.low for d in _possible(domains)])
    return Domain(common_type(domains), low, high, all(d.nullable for d in domains))


def _greatest_domain(domains: Domains, params: Params) -> Domain:
    there = [d.low for d in domains if not d.nullable and d.low is not None]
    low = max(there) if there else _end(min, [d.low for d in _possible(domains)])
    high = _end(max, [d.high for d in _possible(domains)])
    return Domain(common_type(domains), low, high, all(d.nullable for d in domains))


def _end(pick: Callable[[list[Any]], Any], ends: list[Any]) -> Any:
    return None if None in ends else pick(ends)


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "case",
            (),
            _case_coerce,
            _case_domain,
            _case_duckdb,
            _case_polars,
        ),
        Function(
            "coalesce",
            ("coalesce",),
            same_type,
            _coalesce_domain,
            lambda args, params: f"COALESCE({', '.join(args)})",
            lambda args, params: pl.coalesce(*args),
        ),
        Function(
            "least",
            ("least",),
            same_type,
            _least_domain,
            lambda args, params: f"LEAST({', '.join(args)})",
            lambda args, params: pl.min_horizontal(*args),
        ),
        Function(
            "greatest",
            ("greatest",),
            same_type,
            _greatest_domain,
            lambda args, params: f"GREATEST({', '.join(args)})",
            lambda args, params: pl.max_horizontal(*args),
        ),
    )

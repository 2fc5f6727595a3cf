"""Functions that choose among their arguments: CASE, COALESCE, LEAST, GREATEST."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from dpframe.plan.domains import Domain, Type, union
from dpframe.plan.functions.base import Domains, Function, Params, common_type, register, same_type


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


def _coalesce_domain(domains: Domains, params: Params) -> Domain:
    return union(list(domains)).with_nullable(all(d.nullable for d in domains))


def _extreme_domain(pick: Callable[..., object]) -> Callable[[Domains, Params], Domain]:
    def domain(domains: Domains, params: Params) -> Domain:
        # NULL arguments are skipped, so any single argument may be the answer.
        whole = union(list(domains)).with_nullable(all(d.nullable for d in domains))
        if not whole.is_bounded or any(d.nullable for d in domains):
            return whole
        low = pick(d.low for d in domains)
        high = pick(d.high for d in domains)
        return Domain(whole.type, low, high, nullable=False)

    return domain


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "case",
            (),
            _case_coerce,
            lambda domains, params: union(list(_results(domains))),
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
            _extreme_domain(min),
            lambda args, params: f"LEAST({', '.join(args)})",
            lambda args, params: pl.min_horizontal(*args),
        ),
        Function(
            "greatest",
            ("greatest",),
            same_type,
            _extreme_domain(max),
            lambda args, params: f"GREATEST({', '.join(args)})",
            lambda args, params: pl.max_horizontal(*args),
        ),
    )

"""Days and instants as whole numbers without gaps, which quantiles are found among."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from dpframe.plan.domains import Domain, Type
from dpframe.plan.functions.base import Domains, Function, Params, register
from dpframe.plan.functions.times import temporal

_EPOCH = datetime(1970, 1, 1)


def _elapsed_domain(domains: Domains, params: Params) -> Domain:
    """Days or microseconds since 1970, whole numbers without gaps."""
    (arg,) = domains
    if not arg.is_bounded:
        return Domain(Type.INT, nullable=arg.nullable)
    if arg.type is Type.DATE:
        low, high = ((end - _EPOCH.date()).days for end in (arg.low, arg.high))
    else:
        low, high = ((end - _EPOCH) // timedelta(microseconds=1) for end in (arg.low, arg.high))
    return Domain(Type.INT, low, high, arg.nullable)


def register_all() -> None:
    """Put these functions into the table."""
    register(
        Function(
            "day_number",
            (),
            lambda domains, params: temporal(domains[0], Type.DATE),
            _elapsed_domain,
            lambda args, params: f"CAST({args[0]} - DATE '1970-01-01' AS BIGINT)",
            lambda args, params: args[0].to_physical().cast(pl.Int64),
        ),
        Function(
            "microseconds",
            (),
            lambda domains, params: temporal(domains[0], Type.TIMESTAMP),
            _elapsed_domain,
            lambda args, params: f"epoch_us({args[0]})",
            lambda args, params: args[0].to_physical().cast(pl.Int64),
        ),
    )

"""Two thousand tables with a neighbour each, and a random query: no promise is broken.

`python tests/privacy/fuzz.py --cases 10000` looks further.
"""

from __future__ import annotations

from collections import Counter

import pytest
from fuzz import Broken, Harness, run, within

from dpframe.plan.functions import FUNCTIONS

SHARDS, CASES = 8, 250

# What SQL cannot write by itself: the analysis puts these in, or takes them out.
_INTERNAL = {"cast", "is_distinct"}


@pytest.mark.parametrize("shard", range(SHARDS))
def test_no_random_query_breaks_a_promise_on_neighbouring_tables(shard: int) -> None:
    harness = Harness()
    run(CASES, 1000 * shard, harness)
    assert harness.seen["cases"] >= CASES
    # A harness that is refused everything checks nothing.
    assert harness.seen["accepted"] >= 0.8 * harness.seen["cases"]
    assert harness.seen["grouped"] >= 0.2 * harness.seen["cases"]
    assert harness.seen["weighted"] >= 0.05 * harness.seen["cases"]


def test_every_function_of_the_table_is_reached() -> None:
    harness = Harness()
    run(300, 424242, harness)
    missing = set(FUNCTIONS) - set(harness.functions) - _INTERNAL
    assert not missing


def test_the_harness_can_fail() -> None:
    """Claim half of what is true, and the harness notices."""
    from dataclasses import replace

    import dpframe.bounds.sensitivity as claims
    from dpframe.aggregates import compile as compiling

    true = claims.sensitivity_of

    def halved(part: object, context: object) -> claims.Sensitivity:
        found = true(part, context)  # type: ignore[arg-type]
        return replace(
            found,
            l1=None if found.l1 is None else found.l1 // 2,
            l2_squared=found.l2_squared // 4,
            linf=found.linf // 2,
        )

    outcomes: Counter[bool] = Counter()
    patch = pytest.MonkeyPatch()
    with patch.context() as patched:
        patched.setattr(compiling, "sensitivity_of", halved)
        try:
            run(60, 7, Harness(), shrink=False)
        except Broken as broken:
            outcomes["claimed" in str(broken)] += 1
    assert outcomes[True] == 1
    assert callable(within)

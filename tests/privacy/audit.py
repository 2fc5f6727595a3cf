"""A statistically sound lower bound on epsilon, from draws on two neighbouring inputs.

If a mechanism is (epsilon, delta)-private, `P(S) <= exp(epsilon) Q(S) + delta` for every event S,
where P and Q are its laws on two neighbours. So for any S, with p a lower confidence bound on P(S)
and q an upper one on Q(S), epsilon is at least `log((p - delta) / q)`.

What makes it sound:

- *Split sample.* The first half of the draws chooses the events, the second half alone bounds their
  probabilities. Given the first half, the events are fixed.
- *Clopper-Pearson.* The bounds are exact for binomial counts of any size, not asymptotic.
- *Bonferroni.* All bounds on all chosen events hold together, except with probability `failure`.

So a mechanism that keeps its promise exceeds it here with probability at most `failure`, whatever
its law; and one that breaks it is caught once the draws are many enough. The events are those that
the Neyman-Pearson lemma names: outputs whose estimated likelihood ratio is above a cut.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import stats

EVENTS = 8
"""How many events the first half may hand on, in each direction."""


def epsilon_at_least(one, other, *, delta: float = 0.0, failure: float = 1e-6) -> float:
    """Return a lower bound on epsilon at this delta that holds but for probability `failure`.

    `one` and `other` are integer codes of independent outputs on two neighbouring inputs.
    """
    one, other = np.asarray(one), np.asarray(other)
    first = one[: len(one) // 2], other[: len(other) // 2]
    second = one[len(one) // 2 :], other[len(other) // 2 :]
    each = failure / (4 * EVENTS)  # two directions, two bounds per event
    found = [0.0]
    for p, q in ((0, 1), (1, 0)):
        for event in _promising(first[p], first[q], delta, each):
            low = _lower(np.isin(second[p], event).sum(), len(second[p]), each)
            high = _upper(np.isin(second[q], event).sum(), len(second[q]), each)
            if low > delta:
                found.append(math.log((low - delta) / high))
    return max(found)


def _promising(one, other, delta: float, each: float) -> list[np.ndarray]:
    """Choose the events whose bounds would be largest if these draws were the second half."""
    outputs, codes = np.unique(np.concatenate([one, other]), return_inverse=True)
    p = np.bincount(codes[: len(one)], minlength=len(outputs))
    q = np.bincount(codes[len(one) :], minlength=len(outputs))
    order = np.argsort(-(p + 0.5) / (q + 0.5), kind="stable")
    low = _lower(np.cumsum(p[order]), len(one), each) - delta
    high = _upper(np.cumsum(q[order]), len(other), each)
    score = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
    return [outputs[order[: cut + 1]] for cut in np.argsort(-score)[:EVENTS]]


def _lower(successes, draws: int, failure: float):
    """Return the Clopper-Pearson lower bound on a probability."""
    k = np.asarray(successes, dtype=float)
    bound = stats.beta.ppf(failure, np.maximum(k, 1), draws - k + 1)
    return np.where(k > 0, bound, 0.0)


def _upper(successes, draws: int, failure: float):
    """Return the Clopper-Pearson upper bound on a probability."""
    k = np.asarray(successes, dtype=float)
    bound = stats.beta.ppf(1 - failure, k + 1, np.maximum(draws - k, 1))
    return np.where(k < draws, bound, 1.0)

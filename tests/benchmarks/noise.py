"""Nanoseconds per draw, and how many times longer OpenDP takes in the same run.

Run `python tests/benchmarks/noise.py`. The ratio is what carries over to another machine. Times are
of the processor, so that other work on the machine disturbs them less, and the fastest of several
repetitions. OpenDP draws vectors of at most 20,000, where its time per draw has levelled off.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial

from dpframe.mechanisms import DiscreteGaussian, DiscreteLaplace, Law, Source

SCALES = [Fraction(1, 2), Fraction(10), Fraction(1000), Fraction(10**7), Fraction(2**45)]
COUNTS = [1, 7, 100, 10_000, 1_000_000]
TARGETS = {  # nanoseconds per draw, for scales 0.5 .. 1e7
    DiscreteLaplace: {1: 15_000, 100: 1000, 1_000_000: 60},
    DiscreteGaussian: {1: 25_000, 100: 2000, 1_000_000: 120},
}
OPENDP_MOST = 20_000
SECONDS = 0.15


def fastest(run: Callable[[], object], repeats: int = 5) -> float:
    """Return the processor seconds of one call, from the fastest of several loops of about 0.15 s."""
    run()
    start = time.process_time()
    run()
    loops = max(1, int(SECONDS / max(time.process_time() - start, 1e-7)))
    best = math.inf
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(loops):
            run()
        best = min(best, (time.process_time() - start) / loops)
    return best


def opendp_draws(law: type[Law], scale: Fraction, count: int) -> Callable[[], object]:
    """Return a call that draws `count` variates of the same law with OpenDP."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    zeros = [0] * count
    if law is DiscreteLaplace:
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=float(scale))
    else:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=float(scale))
    return lambda: measurement(zeros)


def main() -> None:
    """Print one line per law, scale and number of draws."""
    source = Source()
    print(f"{'law':18} {'scale':>10} {'draws':>8} {'ns/draw':>9} {'target':>7} {'OpenDP/ours':>12}")
    for law, targets in TARGETS.items():
        for scale in SCALES:
            made = law(scale)
            for count in COUNTS:
                ours = fastest(partial(made.draw, count, source)) / count
                size = min(count, OPENDP_MOST)
                theirs = fastest(opendp_draws(law, scale, size), repeats=2) / size
                target = targets.get(count) if scale <= 10**7 else None
                verdict = "" if target is None else "ok" if ours * 1e9 <= target else "SLOW"
                print(
                    f"{law.__name__:18} {float(scale):>10.3g} {count:>8} {ours * 1e9:>9.0f}"
                    f" {target or '':>7} {theirs / ours:>11.0f}x {verdict}"
                )


if __name__ == "__main__":
    main()

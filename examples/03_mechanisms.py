"""The mechanisms on their own: classic exercises, measured error beside the theorem's bound.

python examples/03_mechanisms.py

Every function takes exact integers and returns a release. The script repeats each release on
made-up data, to show that 95% of the errors stay within what the theorem promises. On real data
every one of those releases would be charged.
"""

import math
from fractions import Fraction

import numpy as np

from dpframe.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    DiscreteLaplace,
    PermuteAndFlip,
    RandomizedResponse,
    Source,
    ThresholdedGaussian,
    TopK,
    rows_for_mean,
)

random = np.random.default_rng(3)  # for made-up rows; noise never has a seed
source = Source()
CONFIDENCE = 0.95


def mean(values: np.ndarray, noise: DiscreteGaussian) -> float:
    """Release the mean of n values in 0 .. high, n public: replacing one moves the sum by `high`."""
    return noise.add([int(values.sum())], source)[0] / len(values)


def sum_of_squares(values: np.ndarray, noise: DiscreteLaplace) -> int:
    """Release the sum of squares of values in 0 .. high: adding one row moves it by `high**2`."""
    return noise.add([int((values**2).sum())], source)[0]


def gram_matrix(rows: np.ndarray, noise: DiscreteGaussian) -> np.ndarray:
    """Release X^T X for n rows of integers with norm at most r, n public.

    Replacing row x by y changes the matrix by `y y^T - x x^T`, of squared Frobenius norm
    `|x|**4 + |y|**4 - 2 (x.y)**2 <= 2 r**4`. The upper triangle, which is released, changes by no
    more than the whole matrix.
    """
    exact = rows.T @ rows
    upper = np.triu_indices(len(exact))
    noisy = np.zeros(exact.shape)
    noisy[upper] = noise.add(exact[upper], source)
    return noisy + np.triu(noisy, 1).T


def nearest_positive_semidefinite(matrix: np.ndarray) -> np.ndarray:
    """Project onto the cone that X^T X lies in: post-processing, and never further from the truth."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0)) @ vectors.T


def frobenius_bound(sigma: float, dimensions: int) -> float:
    """Bound the noise of a symmetric matrix: `d` entries once, `d (d - 1) / 2` of them twice.

    Its squared norm is a sum of `a Z**2` with weights a of 1 and 2. The noise is sigma-subgaussian
    (Canonne, Kamath and Steinke 2020), so the sum exceeds
    `sigma**2 (sum(a) + 2 sqrt(t sum(a**2)) + 2 t max(a))` with probability at most `exp(-t)` (Hsu,
    Kakade and Zhang 2012).
    """
    weights = np.array([1] * dimensions + [2] * (dimensions * (dimensions - 1) // 2))
    t = -math.log(1 - CONFIDENCE)
    spread = 2 * math.sqrt(t * float((weights**2).sum())) + 2 * t * weights.max()
    return sigma * math.sqrt(weights.sum() + spread)


def within(errors: list[float]) -> float:
    return float(np.quantile(errors, CONFIDENCE))


def show(name: str, measured: float, bound: float, cost: object) -> None:
    print(f"{name:<44}{measured:>12,.2f}{bound:>12,.2f}   {cost}")


def exercises() -> None:
    print(f"{'95% of the errors are within':<44}{'measured':>12}{'theorem':>12}   cost")

    high, ages = 110, random.integers(0, 111, 5000)
    noise = DiscreteGaussian.for_rho(Fraction(1, 50), l2_squared_sensitivity=high**2)
    errors = [abs(mean(ages, noise) - ages.mean()) for _ in range(400)]
    bound = noise.half_width(CONFIDENCE) / len(ages)
    show("mean age of 5,000, Gaussian", within(errors), bound, noise.loss(high**2))

    squares = DiscreteLaplace.for_epsilon(Fraction(1, 2), l1_sensitivity=high**2)
    exact = int((ages**2).sum())
    errors = [abs(sum_of_squares(ages, squares) - exact) for _ in range(400)]
    show(
        "sum of squared ages, Laplace",
        within(errors),
        squares.half_width(CONFIDENCE),
        squares.loss(high**2),
    )

    # Rows near a plane in 6 dimensions, on a grid of 1/100, clipped to norm 1.
    grid, dimensions = 100, 6
    points = random.normal(size=(300, 2)) @ random.normal(size=(2, dimensions)) / 4
    points /= np.maximum(1, np.linalg.norm(points, axis=1, keepdims=True))
    rows = np.trunc(grid * points).astype(np.int64)  # rounding towards 0 keeps the norm
    gaussian = DiscreteGaussian.for_rho(Fraction(1, 2), l2_squared_sensitivity=2 * grid**4)
    exact_gram = rows.T @ rows
    releases = [gram_matrix(rows, gaussian) for _ in range(400)]
    raw = [float(np.linalg.norm(noisy - exact_gram)) for noisy in releases]
    projected = [
        float(np.linalg.norm(nearest_positive_semidefinite(noisy) - exact_gram))
        for noisy in releases
    ]
    bound = frobenius_bound(float(gaussian.sigma), dimensions)
    show(
        "X^T X, Frobenius norm", within(raw) / grid**2, bound / grid**2, gaussian.loss(2 * grid**4)
    )
    show(
        "  projected to the semidefinite cone",
        within(projected) / grid**2,
        bound / grid**2,
        "nothing more",
    )
    assert all(after <= before + 1e-6 for before, after in zip(raw, projected, strict=True))


def local_model() -> None:
    answers = (random.random(20_000) < 0.3).astype(np.int64)
    coin = RandomizedResponse(Fraction(1))
    errors = []
    for _ in range(200):
        counts = np.bincount(coin.apply(answers, source), minlength=2)
        errors.append(abs(float(coin.estimate(counts)[1]) - answers.sum()))
    bound = coin.error(len(answers), CONFIDENCE)
    show("yes answers of 20,000, randomized response", within(errors), bound, coin.loss)


def selections() -> None:
    visits = np.sort(random.integers(500, 700, 50))
    best = PermuteAndFlip(Fraction(1, 20), sensitivity=1, monotone=True)
    errors = [int(visits.max() - visits[best.select(visits, source)]) for _ in range(400)]
    show(
        "busiest of 50 wards, permute-and-flip",
        within(errors),
        best.error(CONFIDENCE, 50),
        best.loss,
    )

    top = TopK(Fraction(1, 2), sensitivity=1, k=3, monotone=True)
    third = visits[-3:][::-1]
    errors = [int((third - visits[top.select(visits, source)]).max()) for _ in range(400)]
    show("busiest three", within(errors), top.error(CONFIDENCE, 50), top.zcdp_loss)


def monitor() -> None:
    print("\nsparse vector: a year of daily cases, three alarms at 100, the rest is free")
    cases = random.poisson(40, 365)
    cases[[120, 200, 300]] = 250
    alarm = AboveThreshold(Fraction(1, 2), sensitivity=1, threshold=100, answers=3, monotone=True)
    running = alarm.start(source)
    days = [day for day in range(365) if running.left and running.ask(int(cases[day]))]
    print(f"  alarms on days {days}, and nothing else about them; {alarm.loss}")
    print(
        f"  with confidence 95% no answer is off by more than {alarm.error(CONFIDENCE, 365)} cases"
    )


def unknown_keys() -> None:
    print("\nset union: which of their own words do 2,000 people use? Nobody listed the words")
    rule = ThresholdedGaussian(Fraction(1, 10), Fraction(1, 10**6), groups=20)
    words = 4000
    held = random.random((2000, words)) < 0.8 / (1 + np.arange(words)) ** 0.9
    held[:, 0] = True
    held &= np.cumsum(held, axis=1) <= rule.groups  # a person with more drops the rest
    totals = (held * rule.weights(held.sum(axis=1))[:, None]).sum(axis=0)
    shown = rule.keep(totals, source)
    print(f"  {shown.sum()} of {np.count_nonzero(totals)} words in use are shown; {rule.loss}")
    needed = rule.units_for(CONFIDENCE, keys=10)
    print(f"  a word that {needed} people use among 10 each is shown with confidence 95%")


def accuracy_first() -> None:
    print("\naccuracy first: what does an error cost?")
    best = PermuteAndFlip.for_error(20, CONFIDENCE, 50, sensitivity=1, monotone=True)
    print(f"  the busiest of 50 wards, at most 20 visits off: {best.loss}")
    noise = DiscreteLaplace.for_half_width(100, CONFIDENCE, answers=10)
    print(f"  ten counts, none more than 100 off: {10 * noise.loss(1)}")
    sums = DiscreteLaplace.for_epsilon(Fraction(1, 10), l1_sensitivity=110)
    rows = rows_for_mean(sums, 1, CONFIDENCE)
    print(f"  a mean age to within a year at epsilon 0.1 needs {rows:,} rows")


if __name__ == "__main__":
    exercises()
    local_model()
    selections()
    monitor()
    unknown_keys()
    accuracy_first()

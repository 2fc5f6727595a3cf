"""Error bars of every aggregate: over 2,000 releases they cover at their rate, and theory agrees.

Noise is drawn independently for every group, so a table of many equal groups is as many simulated
releases, measured by one pass of the engine. Truths come from DuckDB, on one group without noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from streams import Stream

import dpframe as dp
from dpframe.aggregates.base import AGGREGATES
from dpframe.engines.base import measured
from dpframe.plan.exprs import AggregateCall, Call, Column, literal
from dpframe.plan.nodes import Aggregate, Scan
from dpframe.release.offer import Offer

pytestmark = pytest.mark.filterwarnings("ignore::dpframe.errors.PrivacyWarning")

RELEASES = 2_000

ELSEWHERE = {
    # Places on a grid of counts: they have a test of their own, with truths on that grid.
    **dict.fromkeys(
        (
            *("MEDIAN", "MIN", "MAX", "QUANTILE", "QUANTILE_CONT", "QUANTILE_DISC"),
            *("PERCENTILE_CONT", "PERCENTILE_DISC", "APPROX_QUANTILE"),
        ),
        ("aggregates/test_quantile.py", "test_intervals_cover_over_two_thousand_releases"),
    ),
    # A value has no interval: what is said is how many rows it may fall behind.
    "MODE": (
        "mechanisms/test_modes.py",
        "test_the_largest_count_is_missed_by_no_more_than_was_said",
    ),
}
"""Aggregates whose coverage is simulated in another file: which one, and by which test."""

ALIASES = {
    **dict.fromkeys(("MEAN", "FAVG"), "AVG"),
    **dict.fromkeys(("FSUM", "KAHAN_SUM", "SUMKAHAN"), "SUM"),
    "GEOMETRIC_MEAN": "GEOMEAN",
    "WAVG": "WEIGHTED_AVG",
    "VARIANCE": "VAR_SAMP",
    "VARIANCE_SAMP": "VAR_SAMP",
    "VARIANCE_POP": "VAR_POP",
    "STDDEV": "STDDEV_SAMP",
    "APPROX_DISTINCT": "N_UNIQUE",
}
"""Other names of the same aggregate."""

X, Y = Column("x"), Column("y")
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "COUNT": (),
    "COUNT_IF": (Call("greater", (X, literal(4.0))),),
    "N_UNIQUE": (Column("i"),),
    **dict.fromkeys(("COVAR_POP", "COVAR_SAMP", "CORR", "REGR_SLOPE", "REGR_INTERCEPT"), (Y, X)),
    **dict.fromkeys(("REGR_R2", "REGR_AVGX", "REGR_AVGY", "REGR_COUNT", "WEIGHTED_AVG"), (Y, X)),
    **dict.fromkeys(("REGR_SXX", "REGR_SYY", "REGR_SXY"), (Y, X)),
    "GEOMEAN": (Call("add", (X, literal(1.0))),),
    "SEM": (X,),
    **dict.fromkeys(("SUM", "AVG"), (X,)),
    **dict.fromkeys(("SKEWNESS", "SKEWNESS_POP", "KURTOSIS", "KURTOSIS_POP"), (X,)),
    **dict.fromkeys(("VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP"), (X,)),
}
IN_DUCKDB = {
    "N_UNIQUE": "COUNT(DISTINCT i)",
    "COUNT_IF": "COUNT_IF(x > 4)",
    "GEOMEAN": "GEOMEAN(x + 1)",
    "SKEWNESS_POP": "SKEWNESS(x) * (COUNT(x) - 2) / SQRT(COUNT(x) * (COUNT(x) - 1))",
}
WHOLE = ("COUNT", "COUNT_IF", "N_UNIQUE", "REGR_COUNT")
"""Whole numbers: one more or less jumps over 95%, so the exact probability is what is expected."""

FAMILIES: tuple[tuple[str, ...], ...] = (
    WHOLE,
    ("SUM",),
    ("AVG",),
    tuple(n for n in ARGUMENTS if n.startswith(("VAR", "STDDEV", "SEM"))),
    ("GEOMEAN",),
    ("WEIGHTED_AVG",),
    ("SKEWNESS", "SKEWNESS_POP", "KURTOSIS", "KURTOSIS_POP"),
    ("COVAR_POP", "COVAR_SAMP", "REGR_SXY"),
    ("REGR_SXX", "REGR_SYY"),
    ("REGR_AVGX", "REGR_AVGY"),
    ("REGR_SLOPE", "REGR_INTERCEPT"),
    ("CORR", "REGR_R2"),
)
"""Aggregates that are made of the same parts are simulated by one query."""


def group(shape: str, rows: int) -> pl.DataFrame:
    """The rows that every group has."""
    draw = np.random.default_rng(1)
    if shape == "spread":
        x = draw.gamma(4.0, 1.1, rows).clip(0, 10)
        y = (30 + 4 * x + draw.normal(0, 8, rows)).clip(0, 100)
    elif shape == "flat":  # hardly any variance, hardly any correlation
        x = 5 + draw.normal(0, 0.2, rows)
        y = 50 + draw.normal(0, 1.0, rows)
    elif shape == "apart":  # one row apart from all others: as skewed as it gets
        x, y = np.full(rows, 1.0), np.full(rows, 20.0)
        x[-1], y[-1] = 9.0, 90.0
    elif shape == "ends":  # as much variance as it gets
        x = np.where(np.arange(rows) % 2, 0.0, 10.0)
        y = 100 - 10 * x
    elif shape == "heaped":
        x = draw.exponential(1.0, rows).round().clip(0, 10)
        y = ((20 + 8 * x + draw.normal(0, 10, rows)) / 10).round().clip(0, 10) * 10
    else:  # at an end of the range, on a line
        x = draw.beta(1, 6, rows) * 10
        y = 10 * x
    return pl.DataFrame(
        {"x": x, "y": y, "i": draw.integers(0, 200, rows), "u": np.arange(rows) // 2}
    )


COLUMNS = {
    "g": dp.Range(0, RELEASES - 1, nullable=False),
    "x": dp.Range(0, 10, nullable=False),
    "y": dp.Range(0, 100, nullable=False),
    "i": dp.Range(0, 200, nullable=False),
}


@dataclass(frozen=True)
class Setting:
    """How many releases are simulated, and of what."""

    shape: str
    rows: int
    cost: tuple[str, float]
    by_unit: bool
    releases: int = RELEASES

    def opened(self) -> dp.Session:
        one, numbers = group(self.shape, self.rows), np.arange(self.releases)
        table = pl.concat([one] * self.releases).with_columns(g=np.repeat(numbers, self.rows))
        table = table.with_columns(u=pl.col("u") + pl.col("g") * self.rows)
        session = dp.Session(dp.Budget(epsilon=10**5, delta=1e-6))
        session._source = Stream(1)  # the same noise in every run
        unit = dp.Unit("u", max_rows=2) if self.by_unit else None
        groups = {"g": dp.Range(0, self.releases - 1, nullable=False)}
        session.register("t", table, columns=COLUMNS | groups, unit=unit)
        return session

    def truths(self, names: Sequence[str]) -> dict[str, float]:
        frame = group(self.shape, self.rows)  # noqa: F841  DuckDB finds it by its name
        found = {}
        for name in names:
            args = ", ".join(arg.name for arg in ARGUMENTS[name] if isinstance(arg, Column))
            sql = IN_DUCKDB.get(name, f"{name}({args})")
            found[name] = float(duckdb.sql(f"SELECT {sql} FROM frame").fetchall()[0][0])
        return found


@dataclass(frozen=True)
class Simulated:
    """2,000 releases of some aggregates, and what they should be."""

    query: dp.Query
    offer: Offer
    bounds: pl.DataFrame
    truths: dict[str, float]

    def covered(self, name: str) -> float:
        """How often the interval held the truth, up to the grid that floats are coded on."""
        truth = self.truths[name]
        slack = 1e-6 * abs(truth) + 1e-7
        low, high = self.bounds[f"{name}_low"], self.bounds[f"{name}_high"]
        return float(((low - slack <= truth) & (truth <= high + slack)).mean())  # type: ignore[arg-type]

    def among_answers(self) -> Simulated:
        """The releases in which nothing is NULL."""
        return replace(self, bounds=self.bounds.drop_nulls(list(self.truths)))

    def answered(self, name: str) -> np.ndarray:
        return self.bounds[name].drop_nulls().to_numpy().astype(float)


@cache
def simulated(setting: Setting, names: tuple[str, ...]) -> Simulated:
    session = setting.opened()
    calls = tuple((name, AggregateCall(name, ARGUMENTS[name])) for name in names)
    plan = Aggregate(Scan("t"), (("g", Column("g")),), calls)
    query = session._analysed(plan, "a simulation")
    kind, amount = setting.cost
    offer = query._offer(query._compiled, query._checked(_cost(kind, amount)))
    bounds = query.release(**{kind: amount}).intervals(0.95)  # type: ignore[arg-type]
    return Simulated(query, offer, bounds, setting.truths(names))


def _cost(kind: str, amount: float) -> Any:
    from dpframe.release.cost import Cost

    return Cost(**{kind: amount})  # type: ignore[arg-type]


def test_every_aggregate_is_simulated_here_or_elsewhere() -> None:
    assert set(AGGREGATES) == set(ARGUMENTS) | set(ELSEWHERE) | set(ALIASES)
    assert sorted(ARGUMENTS) == sorted(name for family in FAMILIES for name in family)
    for file, test in ELSEWHERE.values():
        assert f"def {test}(" in (Path(__file__).parents[1] / file).read_text()


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_an_alias_is_the_same_aggregate(alias: str, name: str) -> None:
    session = dp.Session(dp.Budget(epsilon=1))
    session.register("t", group("spread", 9).with_columns(g=0), columns=COLUMNS)
    found = []
    for called in (alias, name):
        plan = Aggregate(Scan("t"), (), (("v", AggregateCall(called, ARGUMENTS[name])),))
        found.append(session._analysed(plan, "an alias")._compiled.aggregates)
    assert found[0] == found[1]


ROW = Setting("spread", 100, ("epsilon", 12), by_unit=False)
UNIT = Setting("spread", 100, ("rho", 40), by_unit=True)


@pytest.mark.parametrize("names", FAMILIES, ids=lambda names: names[0])
@pytest.mark.parametrize("setting", [ROW, UNIT], ids=["row-laplace", "unit-gaussian"])
def test_intervals_cover_at_their_rate(setting: Setting, names: tuple[str, ...]) -> None:
    found = simulated(setting, names)
    for name in names:
        if name not in WHOLE:
            assert 0.93 <= found.covered(name) <= 0.98, (name, found.covered(name))
            continue
        expected = _exact_coverage(found.offer, names.index(name))
        assert expected >= 0.95
        spread = 4 * (expected * (1 - expected) / RELEASES) ** 0.5
        assert abs(found.covered(name) - expected) <= spread, (name, expected)


def _exact_coverage(offer: Offer, index: int) -> float:
    """The probability that a whole number's interval holds the truth."""
    (part,) = offer.layout.recipes[index].parts.values()
    place = offer.layout.parts.index(part)
    law, bits = offer.laws[place], offer.layout.bits[place]
    assert law is not None
    width = law.half_width(0.95)
    if not bits:
        return 1 - law.tail(width)
    # On a grid finer than whole numbers: the answer is rounded, and its interval half a one wider.
    reach = int(width / 2**bits + 0.5) + 0.5
    return 1 - law.tail(int(reach * 2**bits))


@pytest.mark.parametrize("names", FAMILIES, ids=lambda names: names[0])
@pytest.mark.parametrize("setting", [ROW, UNIT], ids=["row-laplace", "unit-gaussian"])
def test_the_error_is_what_theory_predicts(setting: Setting, names: tuple[str, ...]) -> None:
    """The deviations of the parts, each times how far the answer moves with the part."""
    found = simulated(setting, names)
    for index, name in enumerate(names):
        answers = found.answered(name)
        assert len(answers) == RELEASES  # none is NULL
        predicted = _deviation(found, setting, index)
        # Rounding to whole numbers adds a little where the noise is small.
        rounded = 1 / 12 if name in WHOLE and setting.by_unit else 0.0
        expected = (predicted**2 + rounded) ** 0.5
        assert np.std(answers) == pytest.approx(expected, rel=0.15), name
        assert np.mean(answers) == pytest.approx(found.truths[name], abs=0.5 * expected), name


def _deviation(found: Simulated, setting: Setting, index: int) -> float:
    """The predicted deviation of an aggregate, to first order in the noise."""
    offer, layout = found.offer, found.offer.layout
    recipe = layout.recipes[index]
    parts = {role: layout.parts.index(part) for role, part in recipe.parts.items()}
    exact = measured(found.query._engine, found.query._compiled, layout)
    at = {role: float(exact[i][0]) * layout.step(i) for role, i in parts.items()}

    def answer(**moved: float) -> float:
        values = {role: pl.lit(value) for role, value in {**at, **moved}.items()}
        return float(pl.select(recipe.finish(values)).item())

    moves = []
    for role, i in parts.items():
        law = offer.laws[i]
        assert law is not None
        deviation = law.variance**0.5 * layout.step(i)
        if found.query._compiled.aggregates[index][1].is_linear:  # it moves by fixed factors
            moves.append(recipe.weights[role] * deviation)
            continue
        step = 1e-3 * deviation
        up, down = (answer(**{role: at[role] + s}) for s in (step, -step))
        moves.append((up - down) / (2 * step) * deviation)
    return float(np.hypot.reduce(moves))


@pytest.mark.parametrize("setting", [ROW, UNIT], ids=["row-laplace", "unit-gaussian"])
def test_the_planners_prediction_is_of_the_right_size(setting: Setting) -> None:
    """It leaves out a factor that depends on the rows, and assumes where the values lie."""
    rows, frame = setting.rows, group(setting.shape, setting.rows)
    deviation = frame["x"].std()
    assert isinstance(deviation, float)
    factors = {
        "SUM": 1.0,
        "COUNT": 1.0,
        "AVG": 1 / rows,
        "VAR_POP": 1 / rows,
        "STDDEV_POP": 1 / rows / (2 * deviation),
        "COVAR_POP": 5.0 * 50.0 / rows,
        "REGR_AVGY": 50.0 / rows,
    }
    for name, factor in factors.items():
        (family,) = (names for names in FAMILIES if name in names)
        found = simulated(setting, family)
        predicted = found.offer.deviation(family.index(name)) * factor
        assert predicted / 2 < np.std(found.answered(name)) < predicted * 2, name


HARD = [
    *[(names, Setting("spread", 10, ("rho", 12), by_unit=False)) for names in FAMILIES[1:]],
    (("VAR_POP", "STDDEV_SAMP"), Setting("flat", 10, ("epsilon", 4), by_unit=False)),
    (("VAR_POP", "STDDEV_SAMP"), Setting("flat", 40, ("rho", 4), by_unit=True)),
    (("VAR_POP", "STDDEV_SAMP"), Setting("end", 40, ("epsilon", 4), by_unit=False)),
    (("COUNT", "AVG", "STDDEV_POP"), Setting("spread", 30, ("epsilon", 4), by_unit=False)),
    (("AVG", "SUM", "VAR_SAMP"), Setting("end", 20, ("epsilon", 6), by_unit=True)),
    (("VAR_POP",), Setting("spread", 5, ("epsilon", 6), by_unit=False)),
    (("CORR", "REGR_R2"), Setting("flat", 60, ("epsilon", 6), by_unit=False)),
    (("CORR", "REGR_R2"), Setting("end", 60, ("rho", 8), by_unit=False)),
    (("REGR_SLOPE", "REGR_INTERCEPT"), Setting("end", 10, ("epsilon", 4), by_unit=False)),
    (("SKEWNESS", "SKEWNESS_POP"), Setting("flat", 10, ("epsilon", 4), by_unit=False)),
    (("AVG", "SUM"), Setting("end", 5, ("epsilon", 1), by_unit=False)),
]
"""Few rows, variances near 0, correlations of 0 and 1, means at an end of the range."""


@pytest.mark.parametrize(("names", "setting"), HARD, ids=str)
def test_intervals_cover_where_noise_is_large(names: tuple[str, ...], setting: Setting) -> None:
    """At an end of what is possible one side cannot be missed, so they may cover a little more.

    The noise in a correlation of ten rows is as large as all that is possible; so is its interval,
    wherever the variance that it is divided by is not told apart from 0.
    """
    found = simulated(setting, names)
    for name in names:
        most = 1.0 if name.startswith(DIVIDED) else 0.995
        assert 0.93 <= found.covered(name) <= most, (name, found.covered(name))


DIVIDED = ("SKEWNESS", "KURTOSIS", "CORR", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2")
"""Aggregates that divide by a variance."""

SHAPES, LINE, CORRELATION = ("SKEWNESS", "KURTOSIS"), FAMILIES[7], FAMILIES[8]
SELECTED = [
    (SHAPES, Setting("apart", 100, ("epsilon", 1), by_unit=False)),
    (SHAPES, Setting("end", 100, ("rho", 0.1), by_unit=False)),
    (SHAPES, Setting("ends", 40, ("epsilon", 4), by_unit=False)),
    (LINE, Setting("heaped", 30, ("rho", 0.1), by_unit=False)),
    (LINE, Setting("heaped", 200, ("epsilon", 1), by_unit=False)),
    (CORRELATION, Setting("end", 40, ("epsilon", 1), by_unit=True)),
    (("VAR_POP", "STDDEV_SAMP"), Setting("ends", 2, ("epsilon", 2), by_unit=False)),
    (("COVAR_POP", "COVAR_SAMP"), Setting("ends", 4, ("epsilon", 0.5), by_unit=False)),
    (("REGR_AVGX", "REGR_AVGY"), Setting("end", 1, ("epsilon", 2), by_unit=False)),
    (("AVG",), Setting("ends", 1, ("epsilon", 0.5), by_unit=False)),
]
"""So few rows, or so little variance, that half of the answers are NULL: the others are a selection."""


@pytest.mark.parametrize(("names", "setting"), SELECTED, ids=str)
def test_intervals_cover_among_the_answers_that_are_not_null(
    names: tuple[str, ...], setting: Setting
) -> None:
    every = simulated(replace(setting, releases=600), names)
    found = every.among_answers()
    assert found.bounds.height > 0.2 * every.bounds.height
    for name in names:
        assert every.covered(name) >= 0.93, (name, every.covered(name))
        assert found.covered(name) >= 0.93, (name, found.covered(name))


@pytest.mark.parametrize("rows", [30, 100])
def test_a_ratio_whose_divisor_may_be_zero_may_be_anything(rows: int) -> None:
    """Its sign is not known, so neither is how large the ratio is; where it is known, a bar ends."""
    one = group("end", rows).select("x")
    table = pl.concat([one] * 1_000).with_columns(g=np.repeat(np.arange(1_000), rows))
    session = dp.Session(dp.Budget(epsilon=10**5))
    session._source = Stream(1)
    columns = {"g": dp.Range(0, 999, nullable=False), "x": COLUMNS["x"]}
    session.register("t", table, columns=columns)
    middle = one["x"].mean() + 0.1  # type: ignore[operator]
    asked = f"SELECT g, SUM(x) / SUM(x - {middle}) AS r FROM t GROUP BY g"
    bounds = session.sql(asked, epsilon=1).intervals(0.95)
    truth = one["x"].sum() / (-0.1 * rows)
    covered = (bounds["r_low"] <= truth) & (truth <= bounds["r_high"])
    assert covered.mean() >= 0.93
    wide = session.sql(asked, epsilon=1_000, fresh=True).intervals(0.95)
    assert (wide["r_high"] - wide["r_low"]).is_finite().all()


def test_intervals_cover_after_ranges_were_learned() -> None:
    """The range is learned once for all groups, and holds every value here."""
    rows = 60
    one = group("spread", rows).select("x")
    table = pl.concat([one] * RELEASES).with_columns(g=np.repeat(np.arange(RELEASES), rows))
    session = dp.Session(dp.Budget(epsilon=10**5, delta=1e-6))
    session._source = Stream(1)
    session.register("t", table, columns={"g": COLUMNS["g"]})
    asked = "SELECT g, SUM(x) AS s, AVG(x) AS a, VAR_POP(x) AS v FROM t GROUP BY g"
    found = session.sql(asked, epsilon=40, bounds="auto")
    ((low, high),) = found.learned.values()
    assert low <= one["x"].min() <= one["x"].max() <= high  # type: ignore[operator]
    truths = {"s": one["x"].sum(), "a": one["x"].mean(), "v": one["x"].var(ddof=0)}
    bounds = found.intervals(0.95)
    for name, truth in truths.items():
        slack = 1e-6 * abs(truth)
        covers = (bounds[f"{name}_low"] - slack <= truth) & (
            truth <= bounds[f"{name}_high"] + slack
        )
        assert 0.93 <= covers.mean() <= 0.98, (name, covers.mean())

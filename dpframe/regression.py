"""Linear regression: one noisy measurement of all means of products, and the line that fits them.

Every variable is centred and scaled to [-1, 1] by its declared range. The Gram matrix of the
variables and a constant holds all that least squares needs; its entries are a count and sums, which
one query measures. With noise the matrix may belong to no data at all, so it is projected to the
nearest one that does (positive semidefinite): post-processing, and never further from the truth.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpframe.budget.loss import Loss
from dpframe.declare import Table
from dpframe.errors import ParameterError, UnboundedError
from dpframe.plan.domains import Type
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, literal
from dpframe.plan.nodes import Aggregate, Filter, Node, Scan
from dpframe.release.table import CONFIDENCE, Release

Matrix = NDArray[np.float64]

_DRAWS = 2_000
"""How often the known noise is drawn again, for the standard errors."""

_NORMAL = 1.959964
"""The half width of a 95% interval, in standard errors."""

_MOST_TERMS = 40
"""Variables of one regression; the noise of each entry grows with the number of entries."""


@dataclass(frozen=True)
class Scales:
    """What the scaled variables mean: the middle and the half width of each declared range."""

    names: tuple[str, ...]
    """The explaining variables, then the explained one."""
    middles: Matrix
    halves: Matrix

    @classmethod
    def of(cls, table: Table, y: str, x: Sequence[str]) -> Scales:
        """Read the declared ranges, or refuse."""
        names = (*x, y)
        if not x or len(set(names)) < len(names) or len(names) > _MOST_TERMS:
            raise ParameterError(
                f"y={y!r} and x={list(x)!r}",
                why=f"one column is explained by 1 to {_MOST_TERMS - 1} others, each named once",
                fix='session.linear_regression("visits", "cost", x=["age", "days"], epsilon=0.5)',
            )
        ends = []
        for name in names:
            domain = table.domains.get(name)
            number = domain is not None and domain.type in (Type.INT, Type.FLOAT)
            if domain is None or not number or not domain.is_bounded or domain.is_constant:
                raise UnboundedError(
                    f"{name!r} of {table.name} has no range to scale it by",
                    why="the noise of a regression follows from the declared ranges of its numbers",
                    fix=f'session.register(..., columns={{"{name}": dp.Range(low, high)}})',
                )
            ends.append((float(domain.low), float(domain.high)))
        low, high = np.array(ends).T
        return cls(names, (low + high) / 2, (high - low) / 2)

    def plan(self, table: Table) -> Node:
        """The query for all entries of the Gram matrix, over rows that have all values."""
        rows: Node = Scan(table.name)
        scaled: list[Expr] = []
        for name, middle, half in zip(self.names, self.middles, self.halves, strict=True):
            column = Column(name)
            rows = Filter(rows, Call("not", (Call("is_null", (column,)),)))
            number = Call("cast", (column,), ("DOUBLE",))
            deviation = Call("subtract", (number, literal(float(middle))))
            scaled.append(Call("divide", (deviation, literal(float(half)))))
        entries: list[tuple[str, AggregateCall]] = [("n", AggregateCall("COUNT", ()))]
        entries += [(f"s{i}", AggregateCall("SUM", (v,))) for i, v in enumerate(scaled)]
        for i, j in itertools.combinations_with_replacement(range(len(scaled)), 2):
            product = Call("multiply", (scaled[i], scaled[j]))
            entries.append((f"p{i}_{j}", AggregateCall("SUM", (product,))))
        return Aggregate(rows, (), tuple(entries))

    def grams(self, frame: pl.DataFrame) -> Matrix:
        """One Gram matrix per row: of the constant, the explaining variables, the explained one."""
        size = len(self.names) + 1
        found = np.zeros((frame.height, size, size))
        for i, j in itertools.combinations_with_replacement(range(size), 2):
            name = "n" if j == 0 else f"s{j - 1}" if i == 0 else f"p{i - 1}_{j - 1}"
            found[:, i, j] = found[:, j, i] = frame[name].cast(pl.Float64).to_numpy()
        return found

    @property
    def unscaled(self) -> Matrix:
        """From coefficients of scaled variables to those of the columns, but for y's middle."""
        middles, halves = self.middles[:-1], self.halves[:-1]
        change = np.diag(np.concatenate([[1.0], 1 / halves]))
        change[0, 1:] = -middles / halves
        found: Matrix = change * self.halves[-1]
        return found


def positive_semidefinite(matrices: Matrix) -> Matrix:
    """The nearest matrices that can be Gram matrices.

    >>> positive_semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]])).round(2).tolist()
    [[1.5, 1.5], [1.5, 1.5]]
    """
    values, vectors = np.linalg.eigh(matrices)
    found: Matrix = (vectors * np.maximum(values, 0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return found


def _fitted(grams: Matrix) -> Matrix:
    """The coefficients of least squares, of scaled variables."""
    inverse = np.linalg.pinv(grams[..., :-1, :-1], rcond=1e-9, hermitian=True)
    found: Matrix = (inverse @ grams[..., :-1, -1:])[..., 0]
    return found


def _unexplained(grams: Matrix) -> Matrix:
    """The squared distances from the line, added up; never below 0."""
    explained = (_fitted(grams) * grams[..., :-1, -1]).sum(axis=-1)
    found: Matrix = np.maximum(grams[..., -1, -1] - explained, 0.0)
    return found


class Regression:
    """A fitted line, with standard errors that cover both the sampling of rows and the noise.

    Sampling errors suppose that rows are independent, as least squares does; where units have
    several rows they are too small. Values outside their declared ranges were clamped.
    """

    def __init__(self, scales: Scales, release: Release) -> None:
        self._scales = scales
        self.loss: Loss = release.loss
        """What it cost."""
        change = scales.unscaled
        gram = positive_semidefinite(scales.grams(release.frame))[0]
        fitted, terms = _fitted(gram), len(scales.names)
        rows = max(float(gram[0, 0]), terms + 1.0)
        inverse = np.linalg.pinv(gram[:-1, :-1], rcond=1e-9, hermitian=True)
        grams = positive_semidefinite(scales.grams(release.redraws(_DRAWS)))
        # What the line leaves unexplained is 0 in about half of all answers where noise hides it;
        # over all that it may have been it is not.
        unexplained = float(np.mean(_unexplained(grams)))
        sampling = np.diag(change @ inverse @ change.T) * unexplained / (rows - terms)
        redrawn = _fitted(grams) @ change.T
        # From the middle 95%, which is what intervals promise: Laplace noise has heavier tails than
        # its deviation tells, and a few redraws may have no variance left to divide by.
        low, high = np.quantile(redrawn, [0.025, 0.975], axis=0)
        errors = np.sqrt(sampling + ((high - low) / 2 / _NORMAL) ** 2)
        found = change @ fitted
        # Noise in what is divided by makes redraws lean to one side, so each side of an interval is
        # put together by itself, from the two errors (MOVER, Zou and Donner 2008).
        below, above = np.maximum(found - low, 0), np.maximum(high - found, 0)
        ends = (
            found - np.sqrt(_NORMAL**2 * sampling + below**2),
            found + np.sqrt(_NORMAL**2 * sampling + above**2),
        )
        for value in (found, *ends):
            value[0] += scales.middles[-1]
        self.frame = pl.DataFrame(
            {
                "term": ["intercept", *scales.names[:-1]],
                "coefficient": found,
                "standard_error": errors,
                "low": ends[0],
                "high": ends[1],
            }
        )
        """Each term with its coefficient, standard error and 95% interval."""

    @property
    def coefficients(self) -> Mapping[str, float]:
        """The coefficient of each term."""
        return dict(self.frame.select("term", "coefficient").iter_rows())

    def predict(self, frame: pl.DataFrame) -> pl.Series:
        """What the line says of each row of a frame that has the explaining columns."""
        terms = dict(self.coefficients)
        line = pl.lit(terms.pop("intercept"))
        for name, coefficient in terms.items():
            line = line + pl.col(name) * coefficient
        return frame.select(line.alias(self._scales.names[-1])).to_series()

    def __repr__(self) -> str:
        lines = [f"{self._scales.names[-1]} ="]
        for term, value, error, *_ in self.frame.iter_rows():
            lines.append(f"  {value:,.6g} ± {_NORMAL * error:,.3g}  {term}")
        covers = f"± covers noise and sampling with {CONFIDENCE:.0%} confidence"
        return "\n".join([*lines, f"{covers}; cost: {self.loss}"])

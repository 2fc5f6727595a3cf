"""Linear regression: one noisy measurement of all means of products, and the line that fits them.

Every variable is centred and scaled to [-1, 1] by its declared range. The Gram matrix of the
variables and a constant holds all that least squares needs; its entries are a count and sums, which
one query measures. With noise the matrix may belong to no data at all, so it is projected to the
nearest one that does (positive semidefinite): post-processing, and never further from the truth.
"""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dpframe.budget.loss import Loss
from dpframe.declare import Table
from dpframe.errors import ParameterError, QueryError, UnboundedError
from dpframe.plan.coding import is_far_from_zero
from dpframe.plan.domains import Domain, Type
from dpframe.plan.exprs import AggregateCall, Call, Column, Expr, literal
from dpframe.plan.nodes import Aggregate, Filter, Node, Scan
from dpframe.release.display import Bounds, html_table, plain, text_table
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
    def of(cls, table: Table, y: str, x: str | Sequence[str]) -> Scales:
        """Read the declared ranges, or refuse."""
        one = isinstance(x, str) or not isinstance(x, Iterable)  # what is no name is refused below
        names = (x, y) if one else (*x, y)
        texts = all(isinstance(name, str) for name in names)
        if not texts or not 1 < len(names) <= _MOST_TERMS or len(set(names)) < len(names):
            raise ParameterError(
                f"y={y!r} and x={x if one else list(names[:-1])!r}",
                why=f"one column is explained by 1 to {_MOST_TERMS - 1} others, each named once",
                fix=_example(table, y),
            )
        for name in names:
            _refuse_misspelt(name, names, table)
        ends = [tuple(map(Fraction, _ends(name, table))) for name in names]
        middles = np.array([float((low + high) / 2) for low, high in ends])
        return cls(names, middles, np.array([float((high - low) / 2) for low, high in ends]))

    def plan(self, table: Table) -> Node:
        """The query for all entries of the Gram matrix, over rows that have all values."""
        rows: Node = Scan(table.name)
        scaled: list[Expr] = []
        for name, middle, half in zip(self.names, self.middles, self.halves, strict=True):
            column = Column(name)
            rows = Filter(rows, Call("not", (Call("is_null", (column,)),)))
            number: Expr = column
            domain, centre = table.domains[name], float(middle)
            if domain.type is Type.BOOL:  # only whole numbers come from conditions
                number = Call("cast", (column,), ("BIGINT",))
            elif is_far_from_zero(domain, table.max_rows):
                number, centre = Call("above", (column,), (domain.low, domain.high)), float(half)
            number = Call("cast", (number,), ("DOUBLE",))
            deviation = Call("subtract", (number, literal(centre)))
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


def _refuse_misspelt(name: str, names: Sequence[str], table: Table) -> None:
    if name in table.storage:
        return
    near = difflib.get_close_matches(name, table.storage, n=1)
    meant = [near[0] if each == name and near else each for each in names]
    fits = all(each in table.storage for each in meant) and len(set(meant)) == len(meant)
    raise QueryError(
        f"{name!r} is not a column of {table.name}"
        + (f"; did you mean {near[0]!r}?" if near else ""),
        why=f"its columns are {', '.join(table.storage)}",
        fix=_asked(table, meant) if fits else _example(table, names[-1]),
    )


def _ends(name: str, table: Table) -> tuple[int | float, int | float]:
    """The ends of a column's declared range; those of a condition are 0 and 1."""
    domain = table.domains.get(name)
    if domain is not None and domain.type is Type.BOOL:
        return 0, 1
    if domain is None or not domain.type.is_number:
        kind = table.storage[name].name
        raise QueryError(
            f"{name!r} of {table.name} is a {kind}, not a number",
            why="a line is fitted to numbers; a condition counts as 0 and 1",
            fix=_as_number(name, domain),
        )
    if not domain.is_bounded or domain.is_constant:
        raise UnboundedError(
            f"{name!r} of {table.name} has no range to scale it by",
            why="the noise of a regression follows from the declared ranges of its numbers",
            fix=f'session.register(..., columns={{"{name}": dp.Range(low, high)}})',
        )
    return domain.low, domain.high


def _asked(table: Table, names: Sequence[str]) -> str:
    x = ", ".join(f'"{name}"' for name in names[:-1])
    return f'session.linear_regression("{table.name}", "{names[-1]}", x=[{x}], epsilon=0.5)'


def _example(table: Table, y: object) -> str:
    """A regression of columns that a line can be fitted to, of `y` if that is one."""
    fitting = [
        name
        for name, domain in table.domains.items()
        if domain.type.is_number and domain.is_bounded and not domain.is_constant
    ]
    explained = (
        [name for name in fitting if isinstance(y, str) and name == y] or fitting[-1:] or ["cost"]
    )
    others = [name for name in fitting if name not in explained] or ["age"]
    return _asked(table, (others[0], explained[0]))


def _as_number(name: str, domain: Domain | None) -> str:
    """How a column that is no number becomes one that a line can be fitted to."""
    column = f'pl.col("{name}")'
    if domain is not None and domain.type in (Type.DATE, Type.TIMESTAMP):
        first, last = domain.low or date(2000, 1, 1), domain.high or date(2050, 1, 1)
        start = f"pl.date({first.year}, {first.month}, {first.day})"
        return (
            f"session.register(..., data.with_columns(days=({column} - {start}).dt.total_days()),"
            f' columns={{"days": dp.Range(0, {(last - first).days})}})'
        )
    value = domain.values[0] if domain is not None and domain.values else "..."
    return f"session.register(..., data.with_columns(flag={column} == {value!r}))"


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
        terms = dict(self.frame.select("term", "coefficient").rows()[1:])
        if not isinstance(frame, pl.DataFrame):
            row = {name: [0] for name in terms}
            raise ParameterError(
                f"{type(frame).__name__} is not a polars DataFrame",
                why="a prediction is made for each row of a frame",
                fix=f"predict(pl.DataFrame({row}))",
            )
        line = pl.lit(self.coefficients["intercept"])
        for name, coefficient in terms.items():
            self._check_column(name, frame)
            line = line + pl.col(name).cast(pl.Float64) * coefficient
        return frame.select(line.alias(self._scales.names[-1])).to_series()

    def _check_column(self, name: str, frame: pl.DataFrame) -> None:
        kind = frame.schema.get(name)
        if kind is None:
            near = difflib.get_close_matches(name, frame.columns, n=1) or ["..."]
            raise ParameterError(
                f"the frame has no column {name!r}",
                why=f"the line is over {', '.join(self._scales.names[:-1])}; the frame has"
                f" {', '.join(frame.columns) or 'no columns'}",
                fix=f'predict(frame.rename({{"{near[0]}": "{name}"}}))',
            )
        if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null)):
            raise ParameterError(
                f"the frame's column {name!r} is a {kind}, not a number",
                why="the line multiplies it by a coefficient",
                fix=f'predict(frame.with_columns(pl.col("{name}").cast(pl.Float64)))',
            )

    def _shown(self) -> tuple[pl.DataFrame, Bounds, str]:
        """The table, its error bars, and what is below it."""
        low, high = (self.frame[end].to_numpy() for end in ("low", "high"))
        caption = (
            f"{plain(self._scales.names[-1])} is the intercept and each column times its coefficient"
            f"\n± covers noise and sampling with {CONFIDENCE:.0%} confidence; cost: {self.loss}"
        )
        terms = self.frame.select("term", "coefficient")
        return terms, {"coefficient": (low, high)}, caption

    def __repr__(self) -> str:
        return text_table(*self._shown(), most_rows=_MOST_TERMS)

    def _repr_html_(self) -> str:
        return html_table(*self._shown(), most_rows=_MOST_TERMS)

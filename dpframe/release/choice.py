"""Candidates and their scores, for private selection over aggregates.

The score is a combination of counts and sums with fixed coefficients. One unit moves it by at most
the sum of |coefficient| times what it moves each part in one group, which is what the mechanism
needs to know; nobody is asked for a sensitivity. Because only the change of each score matters, and
not that of all of them together, units are weighed in each group by itself (`EACH_GROUP`): a unit
with rows in many groups counts in all of them, and in a count of units it counts as one in each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction

import polars as pl

from dpframe.aggregates.compile import Compiled
from dpframe.aggregates.layout import Layout, layout_to_choose_by
from dpframe.bounds.analysis import refused
from dpframe.bounds.keys import refuse_private
from dpframe.errors import QueryError
from dpframe.plan.bins import bins_in
from dpframe.plan.domains import Type
from dpframe.plan.exprs import Call, Column, Expr, Literal
from dpframe.plan.nodes import Aggregate, Project, aggregate_of
from dpframe.plan.parts import CodedSum, Part, step_of
from dpframe.release.cost import check_flag


@dataclass(frozen=True, slots=True)
class Ballot:
    """Candidates, and the integer score of each as a combination of parts."""

    compiled: Compiled
    layout: Layout
    candidates: pl.DataFrame
    among: tuple[int, ...]
    """Which groups the candidates are; all columns where there are no groups."""
    weights: tuple[Mapping[int, int], ...]
    """Integer weights of parts: one combination for all groups, or one per column."""
    step: Fraction
    """The value of one integer step of a score."""
    sensitivity: int
    monotone: bool

    def scores(self, measured: list[list[int]]) -> list[int]:
        """The exact scores; they never leave the mechanism."""
        if self.compiled.keys:
            (weights,) = self.weights
            return [
                sum(weight * measured[i][group] for i, weight in weights.items())
                for group in self.among
            ]
        return [sum(w * measured[i][0] for i, w in column.items()) for column in self.weights]


def ballot_of(compiled: Compiled, *, largest: bool) -> Ballot:
    """Read a query as candidates and scores.

    With GROUP BY, the groups are the candidates and the one column that is no key is the score.
    Without, the columns are the candidates, each its own score.
    """
    check_flag("largest", largest, "the largest scores win, or the smallest")
    why = "a choice is made among candidates that are known beforehand"
    refuse_private(compiled.keys, compiled.private, why)
    if compiled.sets:
        raise QueryError(
            "a choice is made among the groups of one grouping",
            why="totals and the groups that they are made of are not alike",
            fix="GROUP BY ward, without ROLLUP, CUBE or GROUPING SETS",
        )
    project = compiled.plan
    if not isinstance(project, Project) or not isinstance(project.parent, Aggregate):
        raise QueryError(
            "HAVING, ORDER BY and LIMIT make no sense here",
            why="the candidates are all groups, and the best of them is chosen",
            fix="leave them out; k=3 chooses three",
        )
    keys = {name for name, _ in compiled.keys}
    shown = [(n, e) for n, e in project.columns if isinstance(e, Column) and e.name in keys]
    scored = [(n, e) for n, e in project.columns if not (isinstance(e, Column) and e.name in keys)]
    if compiled.bins:
        raise _no_choice_of_bins(compiled)
    if compiled.keys and len(scored) != 1:
        names = ", ".join(name for name, _ in scored)
        raise QueryError(
            f"there are {len(scored)} scores: {names}" if scored else "there is no score",
            why="groups are compared by one number: the one column that is no key of GROUP BY",
            fix=_grouped(compiled, _key_texts(compiled)),
        )
    if compiled.keys and not shown:
        raise QueryError(
            "there are no candidates: no key of GROUP BY is selected",
            why="a group that is chosen is shown by its keys",
            fix=_grouped(compiled, _key_texts(compiled), scored[0][1]),
        )
    if compiled.keys:
        candidates = compiled.frame.select(pl.col(e.name).alias(n) for n, e in shown)
    else:
        candidates = pl.DataFrame({"candidate": [name for name, _ in scored]})
    return ballot_by(compiled, [expr for _, expr in scored], candidates, largest=largest)


def _no_choice_of_bins(compiled: Compiled) -> QueryError:
    """The refusal of HISTOGRAM, whose columns are more than a candidate and its score."""
    (call, *_), edges = bins_in(_written_keys(compiled)), next(iter(compiled.bins.values()))
    value = _text(call.args[0])
    coarser = f"DATE_TRUNC('month', {value})"
    if not isinstance(edges[0], date):
        width = (edges[-1] - edges[0]) / (len(edges) - 1)
        coarser = f"CAST(FLOOR({value} / {width or 1:g}) AS BIGINT)"
    return QueryError(
        f"the bins of {value} are no candidates",
        why="HISTOGRAM has columns for the ends of each bin and for its count, and a choice is made"
        " by one score for each key",
        fix=_grouped(compiled, [coarser]),
    )


def _grouped(compiled: Compiled, keys: Sequence[str], score: Expr | None = None) -> str:
    """A statement that can be chosen from."""
    named, counted = ", ".join(keys), "COUNT(*)" if score is None else _text(score)
    return f"SELECT {named}, {counted} FROM {compiled.table.name or '...'} GROUP BY {named}"


def _written_keys(compiled: Compiled) -> list[Expr]:
    return [key for _, key in aggregate_of(compiled.written or compiled.plan).keys]


def _key_texts(compiled: Compiled) -> list[str]:
    return [_text(key) for key in _written_keys(compiled)]


def _text(expr: Expr) -> str:
    """An expression as it was written."""
    return "..." if expr.origin is None else expr.origin.text()


def ballot_by(
    compiled: Compiled,
    scores: Sequence[Expr],
    candidates: pl.DataFrame,
    *,
    largest: bool,
    among: Sequence[int] | None = None,
) -> Ballot:
    """Candidates with one score for every group, or with a score of each column.

    `among` says which groups they are, where not all are candidates.
    """
    combinations = [_combination(expr, compiled) for expr in scores]
    parts = list(dict.fromkeys(part for found in combinations for part in found))
    layout = layout_to_choose_by(compiled, parts)
    step, weights = _on_one_grid(combinations, layout, 1 if largest else -1)
    linf = [s.linf for s in layout.sensitivities]
    moved = max(sum(abs(w) * linf[i] for i, w in column.items()) for column in weights)
    return Ballot(
        compiled,
        layout,
        candidates,
        tuple(range(candidates.height) if among is None else among),
        weights,
        step,
        max(moved, 1),
        _is_monotone(compiled, layout, weights),
    )


def _combination(expr: Expr, compiled: Compiled) -> dict[Part, Fraction]:
    """A score as coefficients of parts, or a refusal."""
    aggregates = dict(compiled.aggregates)
    combined: dict[Part, Fraction] = {}
    for name, coefficient in linear_terms(expr).items():
        terms = aggregates[name].terms() if name in aggregates else None
        if terms is None:
            raise _not_linear(expr)
        for part, factor in terms.items():
            combined[part] = combined.get(part, Fraction(0)) + coefficient * factor
    return combined


def _not_linear(expr: Expr) -> QueryError:
    return refused(
        expr,
        "is no score",
        why="what one unit changes is proven for sums of counts and sums with fixed factors only",
        fix="COUNT(*), SUM(x), or COUNT(*) - 2 * COUNT(*) FILTER (WHERE ...)",
    )


def linear_terms(expr: Expr) -> dict[str, Fraction]:
    """A sum of columns with fixed factors, as the factor of each column; else a refusal."""
    match expr:
        case Column():
            return {expr.name: Fraction(1)}
        case Call("negate", (arg,)):
            return _scaled(linear_terms(arg), Fraction(-1))
        case Call("convert" | "cast", (arg,), params) if params[-1] in ("BIGINT", "DOUBLE"):
            return linear_terms(arg)
        case Call("add" | "subtract", (left, right)):
            sign = Fraction(1 if expr.function == "add" else -1)
            total = dict(linear_terms(left))
            for name, coefficient in _scaled(linear_terms(right), sign).items():
                total[name] = total.get(name, Fraction(0)) + coefficient
            return total
        case Call("multiply", (Literal() as factor, arg)) | Call(
            "multiply", (arg, Literal() as factor)
        ) if factor.type in (Type.INT, Type.FLOAT):
            return _scaled(linear_terms(arg), Fraction(factor.value))
        case Call("divide", (arg, Literal() as factor)) if (
            factor.type in (Type.INT, Type.FLOAT) and factor.value
        ):
            return _scaled(linear_terms(arg), 1 / Fraction(factor.value))
    raise _not_linear(expr)


def _scaled(terms: dict[str, Fraction], factor: Fraction) -> dict[str, Fraction]:
    return {name: coefficient * factor for name, coefficient in terms.items()}


def _on_one_grid(
    combinations: list[dict[Part, Fraction]], layout: Layout, sign: int
) -> tuple[Fraction, tuple[dict[int, int], ...]]:
    """Integer weights for every part, and the value of one step of the weighted sum."""
    index = {part: i for i, part in enumerate(layout.parts)}
    values = [
        {index[part]: c * step_of(part, layout.bits[index[part]]) for part, c in found.items()}
        for found in combinations
    ]
    everything = [v for column in values for v in column.values() if v]
    denominator = math.lcm(*(v.denominator for v in everything))
    numerator = math.gcd(*(int(v * denominator) for v in everything))
    step = Fraction(max(numerator, 1), denominator)
    return step, tuple({i: sign * int(v / step) for i, v in column.items()} for column in values)


def _is_monotone(compiled: Compiled, layout: Layout, weights: tuple[dict[int, int], ...]) -> bool:
    """Whether one more unit can only raise all scores, or only lower all of them."""
    if compiled.table.neighbors != "add_remove":
        return False
    grows = [not isinstance(p, CodedSum) or p.coding.low >= p.centre for p in layout.parts]
    signs = {w > 0 for column in weights for w in column.values() if w}
    return all(grows) and len(signs) <= 1

"""Nested expressions as stages, so that no engine is given the same text twice.

Some functions mention an argument more than once (`CASE WHEN b <> 0 THEN a / b END`). Nested, that
would double the text at every level. Instead, such an argument becomes a column of its own, computed
in an earlier stage.
"""

from __future__ import annotations

from dataclasses import replace

from dpframe.plan.exprs import Call, Column, Expr, columns_of, transform
from dpframe.plan.functions import FUNCTIONS

STAGED = "__dpframe_stage"
"""Columns whose names begin so hold intermediate values, which need no reading."""

Stages = tuple[tuple[tuple[str, Expr], ...], ...]
"""Named expressions, one tuple per stage; each stage reads the columns of those before it."""


class Staging:
    """Rewrites expressions, and collects the columns that they then read.

    >>> staging = Staging()
    >>> inner = Call("add", (Column("a"), Column("b")))
    >>> staging.rewrite(Call("sqrt", (inner,))).args[0].name, len(staging.stages)
    ('__dpframe_stage0', 1)
    """

    def __init__(self) -> None:
        self._names: dict[Expr, str] = {}
        self._levels: dict[str, int] = {}

    def rewrite(self, expr: Expr) -> Expr:
        """The same value, from columns of earlier stages."""
        return transform(expr, self._change)

    def _change(self, expr: Expr) -> Expr | None:
        if not isinstance(expr, Call) or not FUNCTIONS[expr.function].repeats:
            return None
        return replace(expr, args=tuple(self._named(self.rewrite(arg)) for arg in expr.args))

    def _named(self, arg: Expr) -> Expr:
        if not isinstance(arg, Call):
            return arg
        if arg not in self._names:
            name = f"{STAGED}{len(self._names)}"
            below = [self._levels[c] for c in columns_of(arg) if c in self._levels]
            self._names[arg], self._levels[name] = name, 1 + max(below, default=-1)
        return Column(self._names[arg], arg.origin)

    @property
    def stages(self) -> Stages:
        """The columns to compute first, stage by stage."""
        levels: dict[int, list[tuple[str, Expr]]] = {}
        for expr, name in self._names.items():
            levels.setdefault(self._levels[name], []).append((name, expr))
        return tuple(tuple(levels[level]) for level in sorted(levels))

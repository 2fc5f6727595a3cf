"""Terms: Polars expressions by the names that users write, and selectors, which stand for many columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any


class Unreadable(Exception):
    """A node that has no meaning here."""


@dataclass(frozen=True, slots=True)
class Term:
    """One step of an expression: its name as users write it, its inputs, its fixed options."""

    name: str
    inputs: tuple[Term, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)


def spread(term: Term) -> Iterator[Term]:
    """The columns that a selector stands for, or the one that a term is."""
    if term.name == "columns":
        yield from (Term("col", options={"name": name}) for name in term.options["names"])
    else:
        yield from (picked(term, i) for i in range(width(term)))


def width(term: Term) -> int:
    """How many columns a term stands for; what stands for one goes with each of many."""
    if term.name == "columns":
        return len(term.options["names"])
    widths = {width(each) for each in term.inputs} - {1}
    if len(widths) > 1:
        raise Unreadable("its selectors choose different numbers of columns")
    return widths.pop() if widths else 1


def picked(term: Term, index: int) -> Term:
    """The term for one of the columns."""
    if term.name == "columns":
        names = term.options["names"]
        return Term("col", options={"name": names[index if len(names) > 1 else 0]})
    if not term.inputs:
        return term
    return Term(term.name, tuple(picked(each, index) for each in term.inputs), term.options)

"""No unit moves a histogram further than was claimed, whatever its bins and levels; see `fuzz`."""

from __future__ import annotations

import json
from typing import Any

import fuzz
import pytest
from fuzz import Broken, Harness
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from strategies import Grammar, World, _keys, _where, worlds

import dpframe as dp
from dpframe.bounds import sensitivity
from dpframe.frontends.sql import plan_of
from dpframe.plan.nodes import aggregate_of
from dpframe.plan.shown import Levels, on_levels

CASES = 20
PER_WORLD = 5


@st.composite
def histograms(draw: Any, world: World) -> str:
    """A HISTOGRAM of some expression, in bins of even width or between edges."""
    rows = Grammar(draw, world.columns)
    # Edges that lie wholly beyond a range are refused, and ranges may lie anywhere.
    edges = rows.pick("[0, 1]", "[-5, 0.5, 3, 1000]", *["[-1000000, 0, 7, 8, 9, 1000000]"] * 2)
    bins = rows.pick("1", "2", "3", "7", "40", edges)
    number = rows.number(rows.pick(0, 0, 1)).text
    value = number if bins == edges else rows.bounded_number(rows.pick(0, 0, 1))
    keys = draw(_keys(world))[:1] if rows.below(3) == 0 else []
    text = f"SELECT {''.join(f'{key} AS key{i}, ' for i, key in enumerate(keys))}"
    text += f"HISTOGRAM({value}, {bins}) FROM t"
    text += f" WHERE {_where(rows)}" if rows.below(3) == 0 else ""
    return text + (f" GROUP BY {', '.join(keys)}" if keys else "")


@st.composite
def cases(draw: Any) -> tuple[World, list[str]]:
    world = draw(worlds())
    return world, [draw(histograms(world)) for _ in range(PER_WORLD)]


def check(harness: Harness, number: int, strategy: Any = None) -> None:
    @seed(number)
    @settings(
        max_examples=CASES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases() if strategy is None else strategy)
    def every_promise_holds(case: Any) -> None:
        harness.check(*case)

    every_promise_holds()


def query_on_levels(session: dp.Session, statement: str) -> dp.Query:
    plan = plan_of(statement, session._tables)
    key, _ = aggregate_of(plan).keys[-1]
    return session._analysed(on_levels(plan, [key], Levels(((2, 3),))), statement)


@pytest.mark.parametrize("levels", [False, True])
def test_every_promise_holds_for_histograms(levels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if levels:
        monkeypatch.setattr(fuzz, "query_of", query_on_levels)
    harness = Harness()
    check(harness, 11 + levels)
    assert harness.seen["accepted"] >= 0.6 * harness.seen["cases"]
    for kind in ("grouped", "weighted", "replaced", "released"):
        assert harness.seen[kind] > 0, f"no accepted case was {kind}"
    assert (harness.seen["sets"] > 0) == levels


def test_levels_that_are_not_paid_for_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit is in a bin of every level; claiming one level's sensitivity for all is too little."""
    monkeypatch.setattr(fuzz, "query_of", query_on_levels)
    one = sensitivity._in_one_grouping
    monkeypatch.setattr("dpframe.aggregates.layout.sensitivity_of", one)
    with pytest.raises(Broken, match="claimed"):
        check(Harness(), 12)


# --- planes, with what is counted beside their cells ---------------------------------------------

WAYS: dict[str, dict[str, bool]] = {
    "cells": {},
    "margins": {"margins": True},
    "levels": {"hierarchical": True},
}
EDGES = ([0, 1], [-5, 0.5, 3, 1000], [-1000000, 0, 7, 8, 9, 1000000])


@st.composite
def planes(draw: Any, world: World) -> str:
    """Two columns, in bins or in categories, and perhaps groups of a third."""
    names = [c.name for c in world.columns]
    chosen = draw(st.permutations([c for c in world.columns if c.kind not in ("time",)]))[:2]
    edges, bins = {}, draw(st.sampled_from([1, 2, 3, 7]))
    for column in chosen:
        if column.kind in ("int", "float") and draw(st.booleans()):
            edges[column.name] = draw(st.sampled_from(EDGES))
    by = [n for n in names if n not in [c.name for c in chosen]][: draw(st.integers(0, 1))]
    asked = {"column": [c.name for c in chosen], "bins": bins, "edges": edges, "by": by}
    return json.dumps(asked)


@st.composite
def plane_cases(draw: Any) -> tuple[World, list[str]]:
    world = draw(worlds())
    return world, [draw(planes(world)) for _ in range(PER_WORLD)]


def plane_query(way: str) -> Any:
    """The question that a plane asks in one way, whatever is predicted to be better."""

    def query_of(session: dp.Session, statement: str) -> dp.Query:
        try:
            found = session.table("t").histogram(**json.loads(statement), **WAYS[way])
            possible = found._possible() if WAYS[way] else []
        except dp.ParameterError as refused:
            raise dp.QueryError(refused.what, why=refused.why, fix=refused.fix) from None
        if len(possible) > 1:
            found._ways = (possible[0], possible[-1])
            found._compiled = possible[-1].query.compiled
        return found

    return query_of


@pytest.mark.parametrize("way", list(WAYS))
def test_every_promise_holds_for_planes(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz, "query_of", plane_query(way))
    harness, kinds = Harness(), ("weighted", "replaced", "released")
    for number in range(31, 36):  # chance decides what the cases of a seed are
        check(harness, number, plane_cases())
        if all(harness.seen[kind] for kind in kinds):
            break
    assert harness.seen["accepted"] >= 15
    for kind in kinds:
        assert harness.seen[kind] > 0, f"no accepted case was {kind}"
    assert (harness.seen["sets"] > 0) == (way != "cells")


def test_margins_that_are_not_paid_for_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit is in a cell, in a row and in a column: claiming one of them for all is too little."""
    monkeypatch.setattr(fuzz, "query_of", plane_query("margins"))
    one = sensitivity._in_one_grouping
    monkeypatch.setattr("dpframe.aggregates.layout.sensitivity_of", one)
    with pytest.raises(Broken, match="claimed"):
        check(Harness(), 31, plane_cases())

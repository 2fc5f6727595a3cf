"""The rooms, the doors between them, and what the package promises about itself."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import dpframe

PACKAGE = Path(dpframe.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Which rooms a room may know, beside `errors`. DESIGN section 2 draws the flow; these are its doors.
DOORS: dict[str, set[str]] = {
    "errors": set(),
    "plan": set(),
    "declare": {"plan"},
    "budget": set(),
    "mechanisms": {"budget"},  # a law of noise knows what it loses
    "frontends": {"declare", "plan"},
    "bounds": {"declare", "plan"},
    "aggregates": {"bounds", "budget", "declare", "plan"},  # budget: how a cost is split
    "engines": {"aggregates", "bounds", "declare", "plan"},
    "release": {"aggregates", "bounds", "budget", "declare", "engines", "mechanisms", "plan"},
    "query": {
        "aggregates",
        "bounds",
        "budget",
        "engines",
        "mechanisms",
        "plan",
        "release",
    },
    "ranges": {"bounds", "budget", "plan", "query", "release"},
    "regression": {"budget", "declare", "plan", "release"},
    "histogram": {"bounds", "budget", "plan", "query", "release"},
    # What a user holds: questions to be, and those that were analysed.
    "summary": {"budget", "frontends", "plan", "query", "release"},
    "frame": {"bounds", "declare", "frontends", "histogram", "plan", "release", "summary"},
    "catalog": {"aggregates", "bounds", "declare", "engines", "plan", "release"},
    "session": {
        "aggregates",
        "bounds",
        "budget",
        "catalog",
        "declare",
        "engines",
        "frame",
        "frontends",
        "histogram",
        "mechanisms",
        "plan",
        "query",
        "ranges",
        "regression",
        "release",
    },
    "namespace": {"budget", "declare", "frame", "session"},
    # Outside the rooms: the public names, and programs that use them.
    "__init__": {
        "budget",
        "declare",
        "frame",
        "histogram",
        "namespace",
        "query",
        "release",
        "session",
        "summary",
    },
    "__main__": {"cli"},
    "cli": {"budget", "demo"},
    "demo": {"__init__", "release"},
}


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else path.stem


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def rooms_imported(path: Path) -> set[str]:
    found = set()
    for name in imports(path):
        top, _, rest = name.partition(".")
        if top == "dpframe":
            inner = rest.partition(".")[0]
            known = (PACKAGE / inner).exists() or (PACKAGE / f"{inner}.py").exists()
            found.add(inner if inner and known else "__init__")
    return found - {room_of(path), "errors"}


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_through_the_doors(path: Path) -> None:
    beyond = rooms_imported(path) - DOORS[room_of(path)]
    if room_of(path) != "demo":
        beyond -= {"__init__"} if rooms_imported(path) != {"__init__"} else set()
    assert not beyond


def test_the_doors_lead_one_way() -> None:
    order: list[str] = []
    waiting = {room: doors - {"__init__"} for room, doors in DOORS.items()}
    while waiting:
        free = [room for room, doors in waiting.items() if doors <= set(order)]
        assert free, f"a circle among {sorted(waiting)}"
        order += free
        for room in free:
            del waiting[room]


def test_only_the_session_sees_every_room() -> None:
    rooms = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}
    seeing = {room for room, doors in DOORS.items() if {"frontends", "engines"} <= doors}
    assert seeing == {"session"}
    assert rooms - DOORS["session"] <= {"bounds"}


@pytest.mark.parametrize(
    "room", ["frontends", "engines", "budget", "mechanisms"], ids=lambda room: room
)
def test_no_aggregate_is_known_by_name_in(room: str) -> None:
    for path in (PACKAGE / room).glob("*.py"):
        named = {n for n in imports(path) if n.startswith("dpframe.aggregates.")}
        kinds = ("dpframe.aggregates.compile", "dpframe.aggregates.layout")
        named = {n for n in named if not n.startswith(kinds)}
        assert not named, f"{path.name} knows {named}"


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["duckdb", "sqlglot", "pyarrow", "pandas", "pyspark", "altair", "scipy", "matplotlib"]
    heavy += ["dpframe.session", "dpframe.engines.base", "dpframe.mechanisms"]
    program = f"import sys, dpframe; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_a_polars_table_needs_neither_duckdb_nor_arrow() -> None:
    program = (
        "import sys, dpframe as dp, polars as pl\n"
        "s = dp.Session(dp.Budget(epsilon=1))\n"
        "s.register('t', pl.DataFrame({'x': [1]}), columns={'x': dp.Range(0, 1)})\n"
        "repr(s.sql('SELECT COUNT(*), AVG(x) FROM t', epsilon=0.5))\n"
        "print([m for m in ('duckdb', 'pyarrow', 'pandas') if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"


def test_public_names_are_sorted_complete_and_there() -> None:
    assert dpframe.__all__ == sorted(dpframe.__all__)
    assert len(set(dpframe.__all__)) == len(dpframe.__all__)
    assert all(hasattr(dpframe, name) for name in dpframe.__all__)
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    # What type checkers see is imported below TYPE_CHECKING, and must be what is loaded.
    imported = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dpframe")
        for alias in node.names
    }
    assert set(imported) == set(dpframe.__all__)
    for name, module in imported.items():
        assert getattr(dpframe, name) is getattr(import_module(str(module)), name)
    assert set(dpframe.__all__) <= set(dir(dpframe))
    with pytest.raises(AttributeError, match="has no attribute 'session_'"):
        _ = dpframe.session_


def test_every_error_is_public() -> None:
    from dpframe import errors

    classes = {
        name
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, Exception)
    }
    assert classes <= set(dpframe.__all__)


def test_no_module_is_longer_than_400_lines() -> None:
    lengths = {
        path.relative_to(PACKAGE).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in MODULES
    }
    assert not {path for path, length in lengths.items() if length > 400}


def test_there_is_no_drawer_for_everything() -> None:
    names = {path.stem for path in MODULES}
    assert not names & {"utils", "util", "helpers", "misc", "common", "tools"}


_CHANCE = {"random", "secrets", "ssl", "numpy.random", "np.random", "os.urandom"}

# Chance that no answer depends on: the rows of the demo, and the name of a file being written.
_HARMLESS = {"demo.py", "storage.py"}


@pytest.mark.parametrize(
    "path",
    [p for p in MODULES if room_of(p) != "mechanisms" and p.name not in _HARMLESS],
    ids=lambda p: str(p.relative_to(PACKAGE)),
)
def test_randomness_enters_through_mechanisms_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not set(imports(path)) & _CHANCE
    tree = ast.parse(text)
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    drawn = {
        c for c in calls if c.split(".")[-1] in ("urandom", "default_rng", "sample", "shuffle")
    }
    assert not drawn


def test_there_is_no_seed_and_no_way_to_switch_noise_off() -> None:
    for path in MODULES:
        if room_of(path) == "demo":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = {a.arg for a in [*node.args.args, *node.args.kwonlyargs]}
                assert not names & {"seed", "no_noise", "noiseless", "without_noise"}, path


def test_every_module_says_what_it_is_for() -> None:
    for path in MODULES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_tests_mirror_the_rooms() -> None:
    tests = {p.name for p in Path(__file__).parent.iterdir() if p.is_dir()}
    rooms = {p.name for p in PACKAGE.iterdir() if (p / "__init__.py").exists()}
    assert rooms <= tests

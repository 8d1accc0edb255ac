"""Data flows one way: a module imports only from modules that come before it."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import pibls

ROOT = Path(pibls.__file__).parent
LAYERS = (
    ("_version", "arrays", "errors", "runtime", "status"),
    ("geometry", "basis", "linalg"),
    ("problem",),
    ("spaces", "analysis", "text"),
    ("assembly",),
    ("nonlinear",),
    ("adaptive",),
    ("solution",),
    ("sampling",),
    ("plot", "exchange"),
    ("notebook",),
    ("postprocess", "incremental", "regression"),
    ("inverse",),
    ("cases",),
    ("io",),
    ("cli",),
)
"""A module imports from layers below its own; two rooms of one layer do not know each other."""
# The front door names what it hands on to, and the cases the settings they hold, without importing
# them before they are needed.
LEVEL = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """First-level pibls modules that a file imports, wherever in the file."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pibls"):
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [a.name for a in node.names]
            found.update(names)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_from_before(path: Path) -> None:
    own = package_of(path)
    if path.stem == "accessors":
        return
    assert own in LEVEL, f"{own} is in no layer of the house: add it where it belongs"
    assert not {m for m in imported(path) if m != own and LEVEL[m] >= max(LEVEL[own], 1)}


def test_accessors_import_only_when_they_are_used() -> None:
    """They alone import from later layers, each inside a method that has a word of help."""
    tree = ast.parse((ROOT / "solution" / "accessors.py").read_text())
    modules = [str(n.module).split(".") for n in tree.body if isinstance(n, ast.ImportFrom)]
    assert not [m for m in modules if m[0] == "pibls" and LEVEL[m[1]] > 0]
    methods = [m for c in tree.body if isinstance(c, ast.ClassDef) for m in c.body]
    assert {"plot", "to_xarray", "save"} <= {m.name for m in methods if isinstance(m, ast.FunctionDef)}
    assert all(
        ast.get_docstring(m) for m in methods if isinstance(m, ast.FunctionDef) and m.name != "_solution"
    )


@pytest.mark.parametrize(
    "name",
    ["plot", "plot_cells", "plot_error", "plot_residual", "animate", "to_xarray", "to_vtk", "to_csv", "save"],
)
def test_a_door_and_its_room_have_one_signature(name: str) -> None:
    """But for what a room takes as options of a scene."""
    room = {"p": "plot", "a": "plot", "t": "exchange", "s": "io"}[name[0]]
    function = getattr(importlib.import_module(f"pibls.{room}"), name)
    door, behind = (inspect.signature(f) for f in (getattr(pibls.Solution, name), function))
    asked, taken = (list(f.parameters.values())[1:] for f in (door, behind))
    if name == "plot":
        scene = inspect.signature(importlib.import_module("pibls.plot.drawing").scene_of).parameters.values()
        taken = [p for p in taken if p.name != "options"] + [p for p in scene if p.kind is p.KEYWORD_ONLY]
        asked, taken = (sorted(some, key=lambda p: p.name) for some in (asked, taken))
    assert asked == taken
    assert door.return_annotation == behind.return_annotation


def test_every_public_name_exists() -> None:
    for name in pibls.__all__:
        assert getattr(pibls, name) is not None


def test_a_star_import_needs_no_optional_package() -> None:
    without = "import sys; sys.modules['sklearn'] = None"
    code = f"{without}; from pibls import *; import pibls as p; p.BroadRegressor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "needs scikit-learn" in done.stderr.splitlines()[-1]


def test_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Brod'"):
        pibls.Brod  # noqa: B018


ASKED = ("geometry", "basis", "spaces", "linalg", "assembly", "problem/regions", "adaptive")
"""Rooms whose things are asked by methods: shapes, bases, spaces, matrices, systems, regions, plans."""


def recognised(tree: ast.AST) -> set[str]:
    """What a module compares the kind of something with: by isinstance, by type(…) is, by a pattern."""
    found: set[str] = set()
    for node in ast.walk(tree):
        kinds: list[ast.AST] = []
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kind]):
                kinds = [kind]
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=others):
                kinds = list(others)
            case ast.MatchClass(cls=kind):
                kinds = [kind]
        found |= {n.id for kind in kinds for n in ast.walk(kind) if isinstance(n, ast.Name)}
    return found


def strangers(source: str, room: str) -> set[str]:
    """The kinds of other rooms that a module of this one recognises."""
    tree = ast.parse(source)
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module]
    homes = {a.asname or a.name: "/".join(str(n.module).split(".")[1:]) for n in imports for a in n.names}
    mine = [r for r in ASKED if room.startswith(r)]
    return {
        name
        for name in recognised(tree)
        if any(homes.get(name, "").startswith(r) for r in ASKED if r not in mine)
    }


def test_no_kind_is_recognised_outside_of_its_room() -> None:
    """A shape, a space or a matrix is asked for what it can do: a new one is one new file."""
    found = {
        str(p.relative_to(ROOT)): strangers(p.read_text(), str(p.parent.relative_to(ROOT))) for p in MODULES
    }
    assert not {path: names for path, names in found.items() if names}
    source = (
        "from pibls.spaces import CellSpace, SingleDomainSpace\n"
        "isinstance(a, (int, CellSpace))\nmatch a:\n case SingleDomainSpace(): pass"
    )
    assert strangers(source, "adaptive") == {"CellSpace", "SingleDomainSpace"}
    assert strangers(source, "spaces") == set()


def test_a_name_means_one_thing() -> None:
    """Two classes have two names, but for what a text is made of and what a module keeps to itself."""
    classes = [
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text()).body
        if path.parts[-2:] != ("text", "syntax_tree.py")
        and isinstance(node, ast.ClassDef)
        and node.name[0] != "_"
    ]
    assert not {name for name in classes if classes.count(name) > 1}


PLANS = ("tensor_products", "cells", "evolutions", "ode", "sweeps")
"""Ways of solving, each in a room of its own behind the loop that chooses between them."""


def plans_at_once(path: Path) -> set[str]:
    """The rooms of plans that a module of the search imports as soon as it is imported itself."""
    nodes = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ImportFrom) and n.module]
    parts = [str(n.module).split(".") for n in nodes]
    return {p[2] for p in parts if p[:2] == ["pibls", "adaptive"] and len(p) > 2 and p[2] in PLANS}


def test_a_plan_knows_no_other_plan() -> None:
    """Only orbits, which are evolutions too; the loop opens a room when its plan is asked for."""
    allowed = {"ode": {"evolutions"}, "pipeline.py": {"evolutions"}}
    for path in (ROOT / "adaptive").rglob("*.py"):
        own = path.relative_to(ROOT / "adaptive").parts[0]
        assert plans_at_once(path) <= {own} | allowed.get(own, set()), path

"""Architecture: each module imports only from lower layers."""

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
    ("_version", "arrays", "errors", "expressions", "runtime", "status"),
    ("geometry", "basis", "linalg"),
    ("problem",),
    ("spaces", "analysis", "text"),
    ("assembly",),
    ("nonlinear",),
    ("time",),
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
"""A module imports only from layers below its own, not from other packages of its layer."""
# `pibls/__init__.py` and the cases import other packages only when they are needed.
LEVEL = {package: level for level, packages in enumerate(LAYERS) for package in packages}
MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def package_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Return the first-level pibls modules that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pibls"):
            parts = node.module.split(".")
            names = [parts[1]] if len(parts) > 1 else [a.name for a in node.names]
            found.update(names)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_only_from_lower_layers(path: Path) -> None:
    own = package_of(path)
    if path.stem == "accessors":
        return
    assert own in LEVEL, f"{own} is in no layer: add it to LAYERS"
    assert not {m for m in imported(path) if m != own and LEVEL[m] >= max(LEVEL[own], 1)}


def test_accessors_import_inside_methods() -> None:
    """Only accessors import from higher layers, each inside a method with a docstring."""
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
def test_accessor_and_implementation_have_the_same_signature(name: str) -> None:
    """Except for the options of `plot`, which are those of `scene_of`."""
    package = {"p": "plot", "a": "plot", "t": "exchange", "s": "io"}[name[0]]
    function = getattr(importlib.import_module(f"pibls.{package}"), name)
    method, implementation = (inspect.signature(f) for f in (getattr(pibls.Solution, name), function))
    expected, accepted = (list(f.parameters.values())[1:] for f in (method, implementation))
    if name == "plot":
        scene = inspect.signature(importlib.import_module("pibls.plot.drawing").scene_of).parameters.values()
        accepted = [p for p in accepted if p.name != "options"] + [
            p for p in scene if p.kind is p.KEYWORD_ONLY
        ]
        expected, accepted = (sorted(each, key=lambda p: p.name) for each in (expected, accepted))
    assert expected == accepted
    assert method.return_annotation == implementation.return_annotation


def test_every_public_name_exists() -> None:
    for name in pibls.__all__:
        assert getattr(pibls, name) is not None


def test_star_import_needs_no_optional_package() -> None:
    block_sklearn = "import sys; sys.modules['sklearn'] = None"
    code = f"{block_sklearn}; from pibls import *; import pibls as p; p.BroadRegressor"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "needs scikit-learn" in done.stderr.splitlines()[-1]


def test_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Brod'"):
        pibls.Brod  # noqa: B018


POLYMORPHIC = ("geometry", "basis", "spaces", "linalg", "assembly", "problem/regions", "time", "adaptive")
"""Packages whose objects are used through methods (shapes, bases, spaces, matrices, systems, …)."""


def types_tested_in(tree: ast.AST) -> set[str]:
    """Return the types that a module tests for: by isinstance, by type(…) is, by a pattern."""
    found: set[str] = set()
    for node in ast.walk(tree):
        types: list[ast.AST] = []
        match node:
            case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, kind]):
                types = [kind]
            case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=others):
                types = list(others)
            case ast.MatchClass(cls=kind):
                types = [kind]
        found |= {n.id for kind in types for n in ast.walk(kind) if isinstance(n, ast.Name)}
    return found


def foreign_types(source: str, package: str) -> set[str]:
    """Return the types of other packages that a module tests for."""
    tree = ast.parse(source)
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module]
    modules = {a.asname or a.name: "/".join(str(n.module).split(".")[1:]) for n in imports for a in n.names}
    own = [r for r in POLYMORPHIC if package.startswith(r)]
    return {
        name
        for name in types_tested_in(tree)
        if any(modules.get(name, "").startswith(r) for r in POLYMORPHIC if r not in own)
    }


def test_no_type_is_tested_outside_its_package() -> None:
    """Shapes, spaces and matrices are used through methods: a new one needs only one new file."""
    found = {
        str(p.relative_to(ROOT)): foreign_types(p.read_text(), str(p.parent.relative_to(ROOT)))
        for p in MODULES
    }
    assert not {path: names for path, names in found.items() if names}
    source = (
        "from pibls.spaces import CellSpace, SingleDomainSpace\n"
        "isinstance(a, (int, CellSpace))\nmatch a:\n case SingleDomainSpace(): pass"
    )
    assert foreign_types(source, "adaptive") == {"CellSpace", "SingleDomainSpace"}
    assert foreign_types(source, "spaces") == set()


def test_class_names_are_unique() -> None:
    """Except for private classes and the nodes of the syntax tree."""
    classes = [
        node.name
        for path in MODULES
        for node in ast.parse(path.read_text()).body
        if path.parts[-2:] != ("text", "syntax_tree.py")
        and isinstance(node, ast.ClassDef)
        and node.name[0] != "_"
    ]
    assert not {name for name in classes if classes.count(name) > 1}


STRATEGIES = ("tensor_products", "cells", "evolutions", "sweeps")
"""Packages of solution strategies, which the scheduler chooses from."""


def strategies_imported(path: Path) -> set[str]:
    """Return the strategy packages that a module imports at the top level."""
    nodes = [n for n in ast.parse(path.read_text()).body if isinstance(n, ast.ImportFrom) and n.module]
    parts = [str(n.module).split(".") for n in nodes]
    return {p[2] for p in parts if p[:2] == ["pibls", "adaptive"] and len(p) > 2 and p[2] in STRATEGIES}


def test_strategy_packages_do_not_import_each_other() -> None:
    """The scheduler imports a strategy when it is needed."""
    allowed = {"pipeline.py": {"evolutions"}}
    for path in (ROOT / "adaptive").rglob("*.py"):
        own = path.relative_to(ROOT / "adaptive").parts[0]
        assert strategies_imported(path) <= {own} | allowed.get(own, set()), path

"""Data flows one way: a module imports only from modules that come before it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import pibls
from pibls.later import Later

ROOT = Path(pibls.__file__).parent
LAYERS = (
    ("_version", "arrays", "errors", "status", "optional", "later"),
    ("domain", "basis", "linalg"),
    ("problem",),
    ("space", "diagnose", "text"),
    ("system",),
    ("solver",),
    ("search",),
    ("solution",),
    ("sample",),
    ("plot", "exchange"),
    ("notebook",),
    ("solve",),
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
    assert own in LEVEL, f"{own} is in no layer of the house: add it where it belongs"
    assert not {m for m in imported(path) if m != own and LEVEL[m] >= max(LEVEL[own], 1)}


def test_what_comes_later_is_named_and_exists() -> None:
    """A solution names what is made from solutions; none of it may come before."""
    later = {name: m for name, m in vars(pibls.Solution).items() if isinstance(m, Later)}
    assert {"plot", "to_xarray", "_repr_html_"} <= later.keys()
    for name, method in later.items():
        module = method.place.partition(":")[0].split(".")[1]
        assert LEVEL[module] > LEVEL["solution"]
        assert getattr(pibls.Solution, name) is method.function
        assert method.function.__doc__


def test_every_public_name_exists() -> None:
    for name in pibls.__all__:
        assert getattr(pibls, name) is not None


def test_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Brod'"):
        pibls.Brod  # noqa: B018

"""What must work in an environment that holds nothing but pibls and what it depends on."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import sympy as sp

import pibls
from pibls.io import parse_problem
from pibls.io.templates import kinds, template

EXTRAS = {"pibls.cli", "pibls.plot", "pibls.exchange", "pibls.regression"}
"""Packages that may import what only an extra installs."""


def every_module() -> int:
    """How many modules there are; each can be imported, but for those that need an extra."""
    names = [m.name for m in pkgutil.walk_packages(pibls.__path__, "pibls.", onerror=lambda name: None)]
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as missing:
            if str(missing.name).startswith("pibls") or not name.startswith(tuple(EXTRAS)):
                raise
    return len(names)


def main() -> None:
    home = Path(pibls.__file__).parent
    assert "site-packages" in home.parts, f"{home} is not an installed package"
    assert (home / "py.typed").exists(), "py.typed is missing"
    assert pibls.__version__ == version("pibls"), "two versions"

    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x), u)], [pibls.Initial(u, 1)])
    solution = pibls.solve(problem)
    assert solution.converged, solution.message
    assert abs(solution(1.0) - float(sp.E)) < 1e-9, solution(1.0)
    with tempfile.TemporaryDirectory() as folder:
        assert pibls.load(solution.save(Path(folder) / "growth.pibls"))(0.5) == solution(0.5)
    for kind in kinds():
        assert parse_problem(template(kind), file=kind).problem.equations, kind
    modules = every_module()

    command = Path(sys.executable).with_name("pibls")
    said = subprocess.run([command, "--help"], capture_output=True, text=True)
    assert "pibls[cli]" in said.stdout + said.stderr or said.returncode == 0, said
    print(f"pibls {pibls.__version__}, {modules} modules, {len(kinds())} templates, max error", end=" ")
    print(f"{solution.error.max:.0e}; smoke test passed")


if __name__ == "__main__":
    main()

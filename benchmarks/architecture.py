"""Size and structure of the package, as numbers: lines, constants, complexity, imports, modules of a solve.

    python -m benchmarks.architecture            the table
    python -m benchmarks.architecture --detail   also the functions, modules and constants behind it

Counted are: fields with a numeric default in classes of `thresholds` modules; module constants that are
numbers (or containers of numbers); numbers inside functions that are compared with something, other than 0, 1
and 2. Complexity is McCabe's: one plus the branches, loops, handlers, conditional expressions, comprehensions
and boolean operators of a function.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1] / "src" / "pibls"
CORE = ("adaptive", "assembly", "analysis", "spaces", "nonlinear", "time", "linalg", "basis")
TRIVIAL_NUMBERS = {0, 1, 2, -1, 0.5, -1.0}
"""Numbers that are not counted: indices, halves, signs."""
BRANCHES = (
    ast.If,
    ast.For,
    ast.While,
    ast.ExceptHandler,
    ast.IfExp,
    ast.comprehension,
    ast.Assert,
    ast.BoolOp,
)
SOLVE = """
import sys, json
import sympy as sp
import pibls
x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
source = -2 * sp.pi**2 * sp.sin(sp.pi * x) * sp.sin(sp.pi * y)
equation = sp.Eq(u.diff(x, 2) + u.diff(y, 2), source)
problem = pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [equation], [pibls.Dirichlet(u, 0)])
entered = []
def trace(frame, event, argument):
    name = frame.f_globals.get("__name__", "")
    called = event == "call" and frame.f_code.co_name != "<module>"
    if called and name.startswith("pibls.") and name not in entered:
        entered.append(name)
sys.setprofile(trace)
pibls.solve(problem)
sys.setprofile(None)
print(json.dumps(entered))
"""


def modules() -> Iterator[tuple[Path, ast.Module]]:
    """Yield all modules with their syntax trees."""
    for path in sorted(ROOT.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def is_core(path: Path) -> bool:
    """Return whether a module belongs to the numerical core."""
    return path.relative_to(ROOT).parts[0] in CORE


def numbers(node: ast.AST) -> list[Any]:
    """Return the numeric literals in a node, without the trivial ones."""
    return [
        n.value
        for n in ast.walk(node)
        if isinstance(n, ast.Constant)
        and isinstance(n.value, int | float)
        and not isinstance(n.value, bool)
        and n.value not in TRIVIAL_NUMBERS
    ]


def complexity(function: ast.AST) -> int:
    """Return the cyclomatic complexity (McCabe) of a function."""
    found = [n for n in ast.walk(function) if isinstance(n, BRANCHES)]
    return 1 + sum(len(n.values) - 1 if isinstance(n, ast.BoolOp) else 1 for n in found)


def constants(path: Path, tree: ast.Module) -> dict[str, list[str]]:
    """Return threshold fields, module constants and compared numbers of a module."""
    fields, module_constants, inline = [], [], []
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and numbers(node.value):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if isinstance(target, ast.Name) and isinstance(
                node.value, ast.Constant | ast.Tuple | ast.List | ast.Dict | ast.UnaryOp | ast.BinOp
            ):
                module_constants.append(f"{path.relative_to(ROOT)}: {target.id}")
        if isinstance(node, ast.ClassDef) and "threshold" in str(path.relative_to(ROOT)):
            fields += [
                f"{path.relative_to(ROOT)}: {node.name}.{f.target.id}"
                for f in node.body
                if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name) and f.value is not None
            ]
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for compare in (n for n in ast.walk(function) if isinstance(n, ast.Compare | ast.Call)):
                name = (
                    compare.func.id
                    if isinstance(compare, ast.Call) and isinstance(compare.func, ast.Name)
                    else ""
                )
                if isinstance(compare, ast.Compare) or name in ("min", "max"):
                    inline += [f"{path.relative_to(ROOT)}:{compare.lineno}: {n}" for n in numbers(compare)]
    return {"fields": fields, "module": module_constants, "inline": sorted(set(inline))}


def modules_entered() -> list[str]:
    """Return the modules entered by a Poisson solve on a square, in the order of their first call."""
    run = subprocess.run([sys.executable, "-c", SOLVE], capture_output=True, text=True, check=True)
    names: list[str] = json.loads(run.stdout.strip().splitlines()[-1])
    return names


def measure() -> tuple[dict[str, Any], dict[str, list[str]]]:
    """Return the figures and the lists they are counted from."""
    lines = anys = getattrs = private = 0
    detail: dict[str, list[str]] = {"fields": [], "module": [], "inline": [], "complex": [], "imports": []}
    over = {12: 0, 20: 0}
    for path, tree in modules():
        text = path.read_text(encoding="utf-8")
        anys += len(re.findall(r"\bAny\b", text))
        getattrs += sum(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("getattr", "hasattr")
            for n in ast.walk(tree)
        )
        private += sum(
            isinstance(n, ast.Attribute)
            and n.attr.startswith("_")
            and not n.attr.startswith("__")
            and isinstance(n.value, ast.Name)
            and n.value.id not in ("self", "cls", "other", "super")
            for n in ast.walk(tree)
        )
        if is_core(path):
            lines += text.count("\n")
            for key, found in constants(path, tree).items():
                detail[key] += found
        own = {
            n.module
            for n in ast.walk(tree)
            if isinstance(n, ast.ImportFrom) and (n.module or "").startswith("pibls")
        }
        if len(own) > 12:
            detail["imports"].append(f"{len(own)} {path.relative_to(ROOT)}")
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                number = complexity(node)
                for bound in over:
                    over[bound] += number > bound
                if number > 12:
                    detail["complex"].append(f"{number} {path.relative_to(ROOT)}:{node.lineno} {node.name}")
    entered = modules_entered()
    assembly = next((i for i, name in enumerate(entered, 1) if name.startswith("pibls.assembly")), 0)
    return {
        "lines of the numerical core": lines,
        "threshold fields": len(detail["fields"]),
        "module constants": len(detail["module"]),
        "numbers that are compared": len(detail["inline"]),
        "functions with complexity > 20": over[20],
        "functions with complexity > 12": over[12],
        "modules entered by a Poisson solve": len(entered),
        "position of the first module of assembly/": assembly,
        "modules with more than 12 own imports": len(detail["imports"]),
        "getattr and hasattr": getattrs,
        "private members of other objects": private,
        "Any": anys,
    }, detail


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--detail", action="store_true", help="also list what was counted")
    arguments = parser.parse_args()
    figures, detail = measure()
    for name, value in figures.items():
        print(f"{name:45s} {value:7d}")
    if arguments.detail:
        for key, found in detail.items():
            print(f"\n{key}")
            print(
                "\n".join(
                    sorted(found, key=lambda s: (-int(s.split()[0]) if s.split()[0].isdigit() else 0, s))
                )
            )


if __name__ == "__main__":
    main()

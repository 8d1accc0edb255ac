"""Read, solve and plot the examples of the gallery, and measure max|u - u_exact| at points not fitted.

An example is a script that defines

- ``problem``, and ``tol``, the tolerance relative to max|u|;
- ``exact``: for each unknown a SymPy expression or a function of the coordinate arrays;
- optionally ``picture``, keyword arguments of ``solution.plot``, and ``animation``, those of
  ``solution.animate``.

Its docstring begins with a title, a full stop and the equation. ``python docs/gallery/NAME.py`` solves the
example, prints the summary with the true error, and shows the plot.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import pibls

HERE = Path(__file__).resolve().parent
OTHERS = ("common", "make")


@dataclass(frozen=True)
class Example:
    """Contents of an example file."""

    name: str
    text: str
    problem: pibls.Problem
    tol: float
    exact: Mapping[Any, Any]
    picture: Mapping[str, Any] = field(default_factory=dict)
    animation: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        """First sentence of the docstring."""
        return re.split(r"\.\s", self.text, maxsplit=1)[0].strip()

    @property
    def toml(self) -> Path:
        """Path of the corresponding problem file."""
        return HERE / f"{self.name}.toml"

    def solve(self) -> pibls.Solution:
        """Solve with automatic settings at the tolerance of the example."""
        return pibls.solve(self.problem, tol=self.tol)


@dataclass(frozen=True)
class TrueError:
    """True error, and max|u|, over all unknowns."""

    error: float
    magnitude: float


def names() -> list[str]:
    """Return the names of all examples."""
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem not in OTHERS)


@cache
def example(name: str) -> Example:
    """Read the example with that name."""
    space = runpy.run_path(str(HERE / f"{name}.py"))
    found = {key: space[key] for key in ("problem", "tol", "exact", "picture", "animation") if key in space}
    return Example(name, space["__doc__"].strip(), **found)


def fresh_points(problem: pibls.Problem, n: int = 2000) -> list[np.ndarray]:
    """Return n interior points from a seed that no solve uses, as one array per coordinate."""
    return list(problem.domain.interior(n, np.random.default_rng(20_261_116)).T)


def exact_function(example: Example, unknown: Any) -> Callable[..., Any]:
    """Return the exact solution as a function of arrays."""
    value = example.exact[unknown]
    if not isinstance(value, sp.Basic):
        return value  # type: ignore[no-any-return]
    return sp.lambdify(example.problem.coordinates, value, ["scipy", "numpy"])  # type: ignore[no-any-return]


def true_error(example: Example, solution: pibls.Solution) -> TrueError:
    """Return the true error of a solution at fresh points."""
    points = fresh_points(example.problem)
    pairs = [(solution[u](*points), exact_function(example, u)(*points)) for u in example.problem.unknowns]
    return TrueError(
        max(float(np.max(np.abs(computed - exact))) for computed, exact in pairs),
        max(float(np.max(np.abs(exact))) for _, exact in pairs),
    )


def draw(example: Example, solution: pibls.Solution) -> Any:
    """Plot a solution with the settings of the example and return the figure."""
    axes = np.ravel(solution.plot(**example.picture))
    return axes[0].figure


def show(file: str) -> None:
    """Solve one example, print its true error, and show the plot."""
    import matplotlib.pyplot as plt

    one = example(Path(file).stem)
    solution = one.solve()
    measured = true_error(one, solution)
    print(one.text, solution.summary(), sep="\n\n")
    print(f"true error: {measured.error:.1e} with max|u| = {measured.magnitude:.3g}")
    draw(one, solution)
    plt.show()

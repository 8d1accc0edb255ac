"""max |u - u_exact| over points that were not fitted: how each file of the gallery is run and drawn.

A file of the gallery is a plain script that defines

- ``problem``, the problem itself, and ``tol``, the wanted error relative to max|u|;
- ``exact``, for each unknown a SymPy expression or a function of the coordinate arrays;
- if it likes, ``picture``, the keyword arguments of ``solution.plot``, and ``film``, those of
  ``solution.animate``.

Its docstring begins with a title and a period. ``python docs/gallery/NAME.py`` solves it, prints the
summary with the true error, and shows the picture.
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
    """A file of the gallery, with its names read."""

    name: str
    text: str
    problem: pibls.Problem
    tol: float
    exact: Mapping[Any, Any]
    picture: Mapping[str, Any] = field(default_factory=dict)
    film: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        """The first words of the docstring."""
        return re.split(r"[:.]\s", self.text, maxsplit=1)[0].strip()

    @property
    def toml(self) -> Path:
        """The same problem as a problem file, where there is one."""
        return HERE / f"{self.name}.toml"

    def solve(self) -> pibls.Solution:
        """The solution, with nothing given but the problem and the tolerance."""
        return pibls.solve(self.problem, tol=self.tol)


@dataclass(frozen=True)
class Verdict:
    """The true error and max|u|, over all unknowns."""

    error: float
    size: float


def names() -> list[str]:
    """The files of the gallery."""
    return sorted(p.stem for p in HERE.glob("*.py") if p.stem not in OTHERS)


@cache
def example(name: str) -> Example:
    """The file of that name."""
    space = runpy.run_path(str(HERE / f"{name}.py"))
    found = {key: space[key] for key in ("problem", "tol", "exact", "picture", "film") if key in space}
    return Example(name, space["__doc__"].strip(), **found)


def fresh_points(problem: pibls.Problem, n: int = 2000) -> list[np.ndarray]:
    """n points inside, of a seed that no solve uses: one array per coordinate."""
    return list(problem.domain.interior(n, np.random.default_rng(20_261_116)).T)


def exact_function(example: Example, unknown: Any) -> Callable[..., Any]:
    """The exact solution as a function of arrays."""
    value = example.exact[unknown]
    if not isinstance(value, sp.Basic):
        return value  # type: ignore[no-any-return]
    return sp.lambdify(example.problem.coordinates, value, ["scipy", "numpy"])  # type: ignore[no-any-return]


def judge(example: Example, solution: pibls.Solution) -> Verdict:
    """The true error of a solution, on fresh points."""
    points = fresh_points(example.problem)
    pairs = [(solution[u](*points), exact_function(example, u)(*points)) for u in example.problem.unknowns]
    return Verdict(
        max(float(np.max(np.abs(mine - true))) for mine, true in pairs),
        max(float(np.max(np.abs(true))) for _, true in pairs),
    )


def draw(example: Example, solution: pibls.Solution) -> Any:
    """The picture of a solution, as the file wants it; the figure."""
    axes = np.ravel(solution.plot(**example.picture))
    return axes[0].figure


def show(file: str) -> None:
    """Solve one file of the gallery, say how well, and show the picture."""
    import matplotlib.pyplot as plt

    one = example(Path(file).stem)
    solution = one.solve()
    verdict = judge(one, solution)
    print(one.text, solution.summary(), sep="\n\n")
    print(f"true error: {verdict.error:.1e} with max|u| = {verdict.size:.3g}")
    draw(one, solution)
    plt.show()

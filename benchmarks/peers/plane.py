"""Cases with two coordinates for the finite-element peers, and the choice of order and mesh.

Time is treated like space: (x, t) is a rectangle, and u is given on some of its sides.

python -m benchmarks.peers.plane ngsolve TC-5      time and error of each order and mesh

The settings of both systems were chosen from these results: for the table the fastest with at most ten times
the smallest error, for the diagram others on the Pareto front.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import sympy as sp

import pibls
from benchmarks.peers.adapter import CannotError, Setting, Task
from pibls.arrays import Bounds
from pibls.cases.case import Case

T = TypeVar("T")
REPEATS = 5

# Sides with Dirichlet data: all, the inflow sides, or the initial time and the two ends.
_GIVEN = {
    "TC-4": ("left", "bottom"),
    "TC-5": ("left", "right", "bottom", "top"),
    "TC-6": ("left", "right", "bottom", "top"),
    "TC-7": ("bottom",),
    # The velocity 1 + x is zero on the left and points outward on the right.
    "TC-8": ("bottom",),
    "TC-11": ("left", "right", "bottom"),
}


@dataclass(frozen=True)
class Candidate:
    """Elements of order ``order`` on ``nx`` × ``ny`` rectangles."""

    order: int
    nx: int
    ny: int

    @property
    def label(self) -> str:
        return f"order {self.order}, {self.nx} × {self.ny}"


@dataclass(frozen=True)
class Plane:
    """A case on ``box`` = ((a, b), (c, d)), with its data as SymPy expressions.

    ``given`` has the value of u on each side where it is prescribed, by the name of the side; ``kind`` is
    "poisson" for Δu = f, "advection" for b·∇u = f with the velocity b, "burgers" for
    u_t + u u_x = ν u_xx + f.
    """

    kind: str
    coordinates: tuple[Any, Any]
    box: Bounds
    source: Any
    given: Mapping[str, Any]
    velocity: tuple[Any, Any]
    viscosity: float
    periodic: bool

    def function(self, expression: Any, names: Any = "numpy") -> Callable[..., Any]:
        """Return a function of the two coordinates; ``names`` are the modules of lambdify."""
        function: Callable[..., Any] = sp.lambdify(self.coordinates, expression, modules=names)
        return function


def plane_of(case: Case) -> Plane:
    """Return the case as problem on a rectangle; raises `CannotError` for cases on an interval."""
    if case.name not in _GIVEN:
        raise CannotError("the comparison uses it for 2D cases; 1D cases have solve_bvp and FEniCS")
    problem = case.problem
    a, b = problem.domain.coordinates
    (equation,) = problem.equations
    (u,) = problem.unknowns
    left = sp.expand(equation.lhs)
    first_order = left.coeff(u.diff(b, 2)) == 0
    kind = "poisson" if not first_order else "advection" if problem.is_linear else "burgers"
    values = {type(c): c.value for c in problem.conditions if hasattr(c, "value")}
    start = values.get(pibls.Initial)
    given = {
        side: start if side == "bottom" and start is not None else values[pibls.Dirichlet]
        for side in _GIVEN[case.name]
    }
    collected = sp.collect(left, [u.diff(a), u.diff(b)])
    return Plane(
        kind=kind,
        coordinates=(a, b),
        box=problem.domain.bounds,
        source=equation.rhs,
        given=given,
        velocity=(collected.coeff(u.diff(a)), collected.coeff(u.diff(b))),
        viscosity=-float(left.coeff(u.diff(a, 2))) if kind == "burgers" else 0.0,
        periodic=any(isinstance(c, pibls.Periodic) for c in problem.conditions),
    )


def settings_of(chosen: Sequence[tuple[int, int, int]]) -> list[Setting]:
    """Return one setting per (order, nx, ny); the last one is for the table."""
    found = [Candidate(*triple) for triple in chosen]
    return [Setting(c.label, vars(c), table=c is found[-1]) for c in found]


def median_time(solve: Callable[[], T], repeats: int = REPEATS) -> tuple[T, float, dict[str, Any]]:
    """Return the last result, the median time after one warm-up run, and facts about the timing.

    A run takes milliseconds; the first one in a process includes tables and lazy imports. CPU time well below
    the wall time shows that the machine was busy.
    """
    solve()
    seconds, processor = [], []
    for _ in range(repeats):
        began, began_processor = time.perf_counter(), time.process_time()
        result = solve()
        seconds.append(time.perf_counter() - began)
        processor.append(time.process_time() - began_processor)
    facts = {"repeats": repeats, "fastest": min(seconds), "processor_seconds": float(np.median(processor))}
    return result, float(np.median(seconds)), facts


def busy_note(seconds: float, processor_seconds: float) -> str:
    """Return a note if the wall time was measured on a busy machine, else an empty string."""
    if seconds <= 1.25 * processor_seconds:
        return ""
    return f"timed on a busy machine: {processor_seconds:.2g} s of processor time"


def candidates(plane: Plane) -> list[Candidate]:
    """Return orders 4 to 20 on coarse to fine meshes, up to a few thousand unknowns."""
    (a, b), (c, d) = plane.box
    aspect_ratios = (1,) if b - a == d - c else (1, 2, 3, 4)
    found = [
        Candidate(order, aspect_ratio * ny, ny)
        for order in (4, 6, 8, 10, 12, 14, 16, 18, 20)
        for ny in ((1, 2, 3, 4, 6, 8) if order <= 12 else (1, 2))
        for aspect_ratio in aspect_ratios
    ]
    return [c for c in found if c.order * c.nx > 7 and (c.order * c.nx + 1) * (c.order * c.ny + 1) <= 2600]


def main(system: str, name: str) -> None:
    """Print CPU time and error of each candidate by time; a star marks errors near the smallest."""
    from benchmarks import peers
    from benchmarks.worker import held_out

    adapter, case = peers.adapter(system), pibls.cases[name]
    X, rows = held_out(case), []
    for candidate in candidates(plane_of(case)):
        setting = Setting(candidate.label, vars(candidate))
        out = adapter.run(Task(case, setting, 0, X, 1, Path()))
        error = float(np.abs(out.values - case.exact(*X.T)).max())
        rows.append((out.facts["processor_seconds"], error, candidate.label))
    least = min(error for _, error, _ in rows)
    for seconds, error, label in sorted(rows):
        print(f"{1e3 * seconds:9.2f} ms  {error:.1e}  {label}{'  *' if error <= 10 * least else ''}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""What the finite-element peers share: a case with two coordinates, as such a library wants it stated.

Space and time are treated alike: (x, t) is a rectangle, and u is given on some of its sides.

python -m benchmarks.peers.plane ngsolve TC-5      what each order and mesh costs and gives

The settings of both systems were chosen from that: in the table the quickest whose error is at most ten times
the smallest of all, in the diagram others that no quicker one beats.
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
from pibls.cases.case import Case

T = TypeVar("T")
REPEATS = 5

# Where the equation takes data: everywhere, where the flow enters, or at the start and the two ends.
_GIVEN = {
    "TC-4": ("left", "bottom"),
    "TC-5": ("left", "right", "bottom", "top"),
    "TC-6": ("left", "right", "bottom", "top"),
    "TC-7": ("bottom",),
    # The speed 1 + x is zero on the left and leaves the domain on the right.
    "TC-8": ("bottom",),
    "TC-11": ("left", "right", "bottom"),
}


@dataclass(frozen=True)
class Candidate:
    """Order ``order`` on ``nx`` × ``ny`` rectangles."""

    order: int
    nx: int
    ny: int

    @property
    def label(self) -> str:
        return f"order {self.order}, {self.nx} × {self.ny}"


@dataclass(frozen=True)
class Plane:
    """A case on ``box`` = ((a, b), (c, d)), its data still in SymPy.

    ``given`` holds the value of u on each side where it is prescribed, by the side's name; ``kind`` is
    "poisson" for Δu = f, "advection" for b·∇u = f with the velocity b, "burgers" for
    u_t + u u_x = ν u_xx + f.
    """

    kind: str
    coordinates: tuple[Any, Any]
    box: tuple[tuple[float, float], tuple[float, float]]
    source: Any
    given: Mapping[str, Any]
    velocity: tuple[Any, Any]
    viscosity: float
    periodic: bool

    def function(self, expression: Any, names: Any = "numpy") -> Callable[..., Any]:
        """A function of the two coordinates; ``names`` are the modules or functions to make it from."""
        made: Callable[..., Any] = sp.lambdify(self.coordinates, expression, modules=names)
        return made


def plane_of(case: Case) -> Plane:
    """The case as a problem on a rectangle; raises `CannotError` for those on an interval."""
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
    """A setting for each (order, nx, ny), the last of them for the table."""
    found = [Candidate(*triple) for triple in chosen]
    return [Setting(c.label, vars(c), table=c is found[-1]) for c in found]


def repeated(solve: Callable[[], T], repeats: int = REPEATS) -> tuple[T, float, dict[str, Any]]:
    """The last result, the median of the seconds after one run that is not counted, and facts about them.

    A run takes milliseconds; the first in a process also pays for tables and lazy imports. Processor time
    well below the seconds says that the machine was busy with something else.
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


def busy(seconds: float, processor_seconds: float) -> str:
    """A word for the reader where the seconds are those of a busy machine, else nothing."""
    if seconds <= 1.25 * processor_seconds:
        return ""
    return f"timed on a busy machine: {processor_seconds:.2g} s of processor time"


def candidates(plane: Plane) -> list[Candidate]:
    """Orders 4 to 20 on meshes from coarse to fine, up to a few thousand unknowns."""
    (a, b), (c, d) = plane.box
    stretches = (1,) if b - a == d - c else (1, 2, 3, 4)
    found = [
        Candidate(order, stretch * ny, ny)
        for order in (4, 6, 8, 10, 12, 14, 16, 18, 20)
        for ny in ((1, 2, 3, 4, 6, 8) if order <= 12 else (1, 2))
        for stretch in stretches
    ]
    return [c for c in found if c.order * c.nx > 7 and (c.order * c.nx + 1) * (c.order * c.ny + 1) <= 2600]


def main(system: str, name: str) -> None:
    """Each candidate's processor time and error, the quickest first; a star at those near the least error."""
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

r"""SciPy's solve_bvp: collocation of fourth order on a mesh adapted to the residual.

y' = F(x, y) with as many conditions at the two ends as y has components; y = (u, u') except for TC-1, which
is of first order. TC-10 has both conditions at the left end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.peers.adapter import CannotError, Outcome, Setting, Task
from pibls.arrays import Array
from pibls.cases.case import Case

_STAGE = 1e-6  # a smaller tolerance starts from the mesh and solution at this one
_MAX_NODES = 500_000
_CURVE = (1e-3, 1e-6, 1e-9)


@dataclass(frozen=True)
class Equation:
    """Last component of y' = F(x, y): y_k' = rhs(x, y), with y_1' = y_2 if there are two components.

    ``slope`` is the row ∂rhs/∂y; ``ends`` are the conditions, each (which end, component, value).
    """

    interval: tuple[float, float]
    components: int
    rhs: Callable[[Array, Array], Array]
    slope: Callable[[Array, Array], list[Array | float]]
    ends: tuple[tuple[int, int, float], ...]
    first_mesh: int
    """Intervals of the first mesh."""
    tightest: float
    """Smallest tolerance, in steps of half a decade, at which the solver converges."""

    def fun(self, x: Array, y: Array) -> Array:
        return np.vstack([*y[1:], self.rhs(x, y)])

    def fun_jac(self, x: Array, y: Array) -> Array:
        out = np.zeros((self.components, self.components, x.size))
        for i in range(self.components - 1):
            out[i, i + 1] = 1.0
        for j, value in enumerate(self.slope(x, y)):
            out[-1, j] = value
        return out

    def bc(self, left: Array, right: Array) -> Array:
        return np.array([(left, right)[end][k] - value for end, k, value in self.ends])

    def bc_jac(self, left: Array, right: Array) -> tuple[Array, Array]:
        out = np.zeros((2, self.components, self.components))
        for row, (end, k, _) in enumerate(self.ends):
            out[end, row, k] = 1.0
        return out[0], out[1]


def equation(case: Case) -> Equation:
    """Return the case in the form of solve_bvp; the sources are derived from u* by hand."""
    if len(case.problem.coordinates) > 1:
        raise CannotError("solve_bvp is for ordinary differential equations")
    pi, sin, cos = np.pi, np.sin, np.cos

    def value(x: float) -> float:
        return float(case.exact(np.array(x)))

    def advection(x: Array, y: Array) -> Array:
        slope = cos(2 * pi * x) * cos(4 * pi * x) - 2 * sin(2 * pi * x) * sin(4 * pi * x)
        return np.asarray(2 * pi * slope)

    def diffusion(x: Array, y: Array) -> Array:
        wave, other = sin(pi * x / 2) * cos(2 * pi * x), cos(pi * x / 2) * sin(2 * pi * x)
        return np.asarray(-(pi**2) * (17.0 / 4.0 * wave + 2.0 * other))

    def helmholtz(x: Array, y: Array) -> Array:
        a, b = 3 * pi * x + 3 * pi / 20, 4 * pi * x - 2 * pi / 5
        u = sin(a) * cos(b) + 1.5 + x / 10
        curvature = -(pi**2) * (25.0 * sin(a) * cos(b) + 24.0 * cos(a) * sin(b))
        return np.asarray(curvature - 50 * (u - y[0]) + 10 * (sin(u) - sin(y[0])))

    def spring(t: Array, y: Array) -> Array:
        u = t * sin(t)
        return np.asarray(2 * cos(t) + 3 * u + 0.1 * sin(u) - 4 * y[0] - 0.1 * sin(y[0]))

    both = ((0, 0, value(0.0)), (1, 0, value(1.0)))
    table: dict[str, Callable[[], Equation]] = {
        "TC-1": lambda: Equation(
            (0.0, 1.0), 1, advection, lambda x, y: [0.0], ((0, 0, value(0.0)),), 40, 3e-11
        ),
        "TC-2": lambda: Equation((0.0, 1.0), 2, diffusion, lambda x, y: [0.0, 0.0], both, 20, 3e-11),
        "TC-3": lambda: Equation(
            (0.0, 1.0), 2, lambda x, y: 5.0 * y[1], lambda x, y: [0.0, 5.0], both, 20, 1e-12
        ),
        "TC-9": lambda: Equation(
            (0.0, 8.0), 2, helmholtz, lambda x, y: [50 - 10 * cos(y[0]), 0.0],
            ((0, 0, value(0.0)), (1, 0, value(8.0))), 400, 3e-10,
        ),
        "TC-10": lambda: Equation(
            (0.0, 2.5), 2, spring, lambda x, y: [-4 - 0.1 * cos(y[0]), 0.0],
            ((0, 0, 0.0), (0, 1, 0.0)), 20, 1e-12,
        ),
    }  # fmt: skip
    return table[case.name]()


def solve_in_stages(problem: Equation, tol: float) -> Any:
    """Return the result of solve_bvp, in two stages for small tolerances."""
    x = np.linspace(*problem.interval, problem.first_mesh + 1)
    y = np.zeros((problem.components, x.size))
    if tol < _STAGE:
        coarse = _solve(problem, _STAGE, x, y)
        # The residual is O(h³): choose a sufficient mesh instead of many refinements.
        parts = math.ceil(1.2 * (_STAGE / tol) ** (1.0 / 3.0))
        steps = np.diff(coarse.x)[:, None] * np.arange(parts) / parts
        x = np.append((coarse.x[:-1, None] + steps).ravel(), coarse.x[-1])
        y = coarse.sol(x)
    return _solve(problem, tol, x, y)


def _solve(problem: Equation, tol: float, x: Array, y: Array) -> Any:
    from scipy.integrate import solve_bvp

    return solve_bvp(
        problem.fun, problem.bc, x, y, fun_jac=problem.fun_jac, bc_jac=problem.bc_jac, tol=tol,
        max_nodes=_MAX_NODES,
    )  # fmt: skip


class SolveBVP:
    """`scipy.integrate.solve_bvp` at several tolerances."""

    name = "solve-bvp"
    title = "SciPy solve_bvp"
    packages = ("scipy",)
    install = "pip install scipy"
    fairness = (
        "Analytic Jacobians; tolerances below 1e-6 start from the solution at 1e-6 on its mesh, refined as "
        "far as the order of the method says, which is faster than one stage and ends where that does not. "
        "The table shows the smallest tolerance, in steps of half a digit, at which solve_bvp meets its own "
        "residual test within a minute; below, rounding errors of the residual keep it refining without end."
    )

    def missing(self) -> str | None:
        return None

    def settings(self, case: Case) -> list[Setting]:
        problem = equation(case)
        chosen = sorted({*_CURVE, problem.tightest}, reverse=True)
        return [Setting(f"tol={tol:g}", {"tol": tol}, table=tol == problem.tightest) for tol in chosen]

    def run(self, task: Task) -> Outcome:
        problem = equation(task.case)
        solve_in_stages(problem, 1e-2)  # imports are not measured
        began = time.perf_counter()
        result = solve_in_stages(problem, task.setting.values["tol"])
        seconds = time.perf_counter() - began
        return Outcome(
            result.sol(task.points[:, 0])[0],
            seconds,
            facts={
                "nodes": int(result.x.size),
                "converged": bool(result.success),
                "residual": float(result.rms_residuals.max()),
            },
            note="" if result.success else f"not converged: {result.message}",
        )

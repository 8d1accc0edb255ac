r"""NGSolve at high order: continuous elements on rectangles with static condensation.

Poisson     ∫ ∇u·∇v = -∫ f v
advection   ∫ (b·∇u - f) b·∇v = 0, least squares; in time the plane is (x, t) and b = (speed, 1)
Burgers     ∫ (u_t + u u_x - f) v + ν u_x v_x = 0 over (x, t), by Newton's method
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.peers.adapter import Outcome, Setting, Task, absent
from benchmarks.peers.plane import Candidate, Plane, busy_note, median_time, plane_of, settings_of
from pibls.cases.case import Case

# Additional quadrature degree, since the data are not polynomials.
_BONUS = 4
_NEWTON_STEPS = 20

# (order, nx, ny); see `benchmarks.peers.plane`.
_CHOSEN = {
    "TC-4": [(6, 2, 2), (8, 2, 2), (10, 2, 2), (12, 2, 2), (10, 4, 4), (14, 2, 2)],
    "TC-5": [(8, 1, 1), (8, 2, 2), (10, 2, 2), (12, 2, 2), (10, 4, 4), (14, 2, 2)],
    "TC-6": [(8, 1, 1), (10, 1, 1), (12, 1, 1), (14, 1, 1), (10, 3, 3)],
    "TC-7": [(6, 2, 1), (6, 4, 1), (8, 4, 1), (10, 4, 1), (12, 4, 1)],
    "TC-8": [(6, 2, 1), (8, 2, 1), (10, 2, 1), (12, 2, 1), (12, 2, 2), (14, 2, 2)],
    "TC-11": [(6, 2, 1), (8, 2, 1), (10, 3, 1), (12, 2, 1), (12, 3, 1), (14, 3, 1)],
}


class NGSolve:
    """Order and mesh chosen for each case."""

    name = "ngsolve"
    title = "NGSolve, high order"
    packages = ("ngsolve",)
    install = "pip install ngsolve"
    fairness = (
        "Continuous elements on structured rectangles, inner unknowns condensed out, sparse Cholesky "
        "(UMFPACK for Burgers); waves and Burgers are solved at once over (x, t). Upwind DG and HDG were "
        "tried for advection: slower at equal error. Newton's method for Burgers starts at half the order. "
        "Of the orders 4 to 20 and the meshes in `benchmarks.peers.plane` the table has the quickest whose "
        "error is at most ten times the smallest: a choice in its favour, since it needs the exact solution "
        "and is not counted. Nor is the translation of the data from SymPy. One run to warm up, then the "
        "median of five."
    )

    def missing(self) -> str | None:
        return absent(self.packages)

    def settings(self, case: Case) -> list[Setting]:
        plane_of(case)
        return settings_of(_CHOSEN[case.name])

    def run(self, task: Task) -> Outcome:
        import ngsolve as ng

        ng.SetNumThreads(task.threads)
        plane, chosen = plane_of(task.case), Candidate(**task.setting.values)
        data = Data(plane)
        (solution, facts), seconds, timing = median_time(lambda: solve(data, chosen))
        space = solution.space
        values = np.asarray(solution(space.mesh(*task.points.T))).reshape(-1)
        facts = {"unknowns": space.ndof, **facts, **timing}
        return Outcome(values, seconds, facts=facts, note=busy_note(seconds, timing["processor_seconds"]))


class Data:
    """The data of a plane case as coefficient functions of NGSolve."""

    def __init__(self, plane: Plane) -> None:
        import ngsolve as ng

        names = [{"sin": ng.sin, "cos": ng.cos, "exp": ng.exp, "sqrt": np.sqrt, "pi": np.pi}]

        def coefficient(expression: Any) -> Any:
            return ng.CF(plane.function(expression, names)(ng.x, ng.y)).Compile()

        self.plane = plane
        self.source = coefficient(plane.source)
        self.given = {side: coefficient(value) for side, value in plane.given.items()}
        if plane.kind == "advection":
            self.velocity = ng.CF(tuple(plane.function(b, names)(ng.x, ng.y) for b in plane.velocity))


def solve(data: Data, chosen: Candidate) -> tuple[Any, dict[str, Any]]:
    """Return the solution as grid function, and facts about the solve."""
    mesh = rectangles(data.plane, chosen.nx, chosen.ny)
    if data.plane.kind == "poisson":
        return poisson(mesh, chosen.order, data.source, data.given), {}
    if data.plane.kind == "advection":
        return _advection(mesh, chosen.order, data), {}
    return _burgers(mesh, chosen.order, data)


def rectangles(plane: Plane, nx: int, ny: int) -> Any:
    """Return a mesh of nx × ny rectangles with sides left, right, bottom, top."""
    from ngsolve.meshes import MakeStructured2DMesh

    (a, b), (c, d) = plane.box
    return MakeStructured2DMesh(
        quads=True,
        nx=nx,
        ny=ny,
        periodic_x=plane.periodic,
        mapping=lambda s, t: (a + (b - a) * s, c + (d - c) * t),
    )


def poisson(mesh: Any, order: int, source: Any, given: Mapping[str, Any]) -> Any:
    """Solve Δu = source with u given on the whole boundary."""
    import ngsolve as ng

    space = ng.H1(mesh, order=order, dirichlet="|".join(given))
    u, v = space.TnT()
    a = ng.BilinearForm(space, symmetric=True, condense=True)
    a += ng.grad(u) * ng.grad(v) * ng.dx
    f = ng.LinearForm(space)
    f += -source * v * ng.dx(bonus_intorder=_BONUS)
    solution = ng.GridFunction(space)
    solution.Set(mesh.BoundaryCF(dict(given)), ng.BND)
    _solve_condensed(a.Assemble(), f.Assemble(), solution, "sparsecholesky")
    return solution


def _advection(mesh: Any, order: int, data: Data) -> Any:
    import ngsolve as ng

    space = ng.H1(mesh, order=order, dirichlet="|".join(data.given))
    if data.plane.periodic:
        space = ng.Periodic(space)
    u, v = space.TnT()
    a = ng.BilinearForm(space, symmetric=True, condense=True)
    a += (data.velocity * ng.grad(u)) * (data.velocity * ng.grad(v)) * ng.dx
    f = ng.LinearForm(space)
    f += data.source * (data.velocity * ng.grad(v)) * ng.dx(bonus_intorder=_BONUS)
    solution = ng.GridFunction(space)
    solution.Set(mesh.BoundaryCF(data.given), ng.BND, definedon=mesh.Boundaries("|".join(data.given)))
    _solve_condensed(a.Assemble(), f.Assemble(), solution, "sparsecholesky")
    return solution


def _burgers(mesh: Any, order: int, data: Data) -> tuple[Any, dict[str, Any]]:
    """Newton's method at half the order from the initial value, then at the full order from that solution."""
    half_order, first = _newton(mesh, max(order // 2, 4), data, data.given["bottom"], 1e-3)
    solution, second = _newton(mesh, order, data, half_order, 1e-6)
    return solution, {"newton_steps": [first, second]}


def _newton(mesh: Any, order: int, data: Data, guess: Any, tolerance: float) -> tuple[Any, int]:
    import ngsolve as ng

    sides = "|".join(data.given)
    space = ng.H1(mesh, order=order, dirichlet=sides)
    solution, step = ng.GridFunction(space), ng.GridFunction(space)
    u, v = space.TnT()
    (u_x, u_t), v_x = ng.grad(u), ng.grad(v)[0]
    s_x, s_t = ng.grad(solution)
    nu = data.plane.viscosity
    a = ng.BilinearForm(space, condense=True)
    a += ((u_t + solution * u_x + s_x * u) * v + nu * u_x * v_x) * ng.dx(bonus_intorder=_BONUS)
    f = ng.LinearForm(space)
    f += ((data.source - s_t - solution * s_x) * v - nu * s_x * v_x) * ng.dx(bonus_intorder=_BONUS)
    solution.Set(guess)
    boundary = mesh.BoundaryCF(data.given)
    for count in range(1, _NEWTON_STEPS + 1):
        # The first step also imposes the boundary values on the guess.
        step.Set(boundary - solution, ng.BND, definedon=mesh.Boundaries(sides))
        _solve_condensed(a.Assemble(), f.Assemble(), step, "umfpack")
        solution.vec.data += step.vec
        # Quadratic convergence: the error is far below the last step.
        if step.vec.Norm() <= tolerance * solution.vec.Norm():
            return solution, count
    raise RuntimeError(f"Newton's method did not converge in {_NEWTON_STEPS} steps")


def _solve_condensed(a: Any, f: Any, solution: Any, inverse: str) -> None:
    """Solve a(solution, ·) = f by static condensation; ``solution`` has the boundary values."""
    free = solution.space.FreeDofs(coupling=True)
    r = f.vec.CreateVector()
    r.data = f.vec - a.mat * solution.vec
    r.data += a.harmonic_extension_trans * r
    solution.vec.data += a.mat.Inverse(free, inverse=inverse) * r
    solution.vec.data += a.harmonic_extension * solution.vec
    solution.vec.data += a.inner_solve * r

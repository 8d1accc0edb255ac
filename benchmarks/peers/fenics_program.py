"""Finite elements of order 1 or 2 in FEniCS (legacy dolfin), one run per process.

/usr/bin/python3 fenics_program.py request.json

It runs with the system Python, where Debian installs dolfin, and therefore does not import pibls. The request
has the case, the order k, the numbers of elements and time steps and a file of points; the reply is a file of
values and one of timings. The source is part of the form and integrated with degree 2k + 4, so that the
quadrature error is negligible.

Weak forms (v the test function, D the derivative along the flow):

    TC-1          (u' - f, v + h/2 v') = 0                  streamline upwinding (SUPG)
    TC-4          (Du - f, Dv) = 0                          least squares
    TC-2, 5, 6    (∇u, ∇v) + (f, v) = 0
    TC-3          (u', v) + (u', v')/5 - (f, v) = 0
    TC-7, 8       (u_t + c u', v + τ c v') = 0              SUPG, τ = h/2(c + h)
    TC-9          (u', v') + (50 u - 10 sin u + f, v) = 0
    TC-11         (u_t + u u' - f, v) + (u', v')/100 = 0
"""

from __future__ import annotations

import json
import logging
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dolfin as df
import numpy as np
from scipy.interpolate import CubicSpline

# Imported from the folder of this file: the benchmarks package needs pibls, which is not available.
from fenics_equations import EQUATIONS, Equation, numbers, symbol  # type: ignore[import-not-found] # isort: skip


@dataclass(frozen=True)
class Request:
    """Input of the program. ``stages`` per time step: 1 is Crank-Nicolson, 2 is Lobatto IIIA of order 4.
    ``published`` selects the formulation that reproduces the paper in place of the more accurate one."""

    case: str
    order: int
    elements: int
    steps: int = 0
    stages: int = 2
    published: bool = False


@dataclass(frozen=True)
class Result:
    """Coefficients (levels, unknowns) at the times (levels,), and further measured values."""

    space: Any
    times: Any
    levels: Any
    facts: dict[str, Any]


# Lobatto IIIA: one row per unknown level; the first column belongs to the old level.
_LOBATTO = {1: [[1 / 2, 1 / 2]], 2: [[5 / 24, 1 / 3, -1 / 24], [1 / 6, 2 / 3, 1 / 6]]}
_LEVELS = {1: [1.0], 2: [0.5, 1.0]}


# ----------------------------------------------------------------------------------------- mesh and data
def mesh_of(equation: Equation, n: int) -> Any:
    """Return n elements on an interval, or n × n squares split along the right diagonal on a rectangle."""
    if len(equation.box) == 1:
        return df.IntervalMesh(n, *equation.box[0])
    (a, b), (c, d) = equation.box
    return df.RectangleMesh(df.Point(a, c), df.Point(b, d), n, n)


class _Periodic(df.SubDomain):
    """Identifies the right end with the left end."""

    def __init__(self, a: float, b: float) -> None:
        super().__init__()
        self.a, self.b = a, b

    def inside(self, at: Any, on_boundary: bool) -> bool:
        return bool(on_boundary and df.near(at[0], self.a))

    def map(self, at: Any, to: Any) -> None:
        to[0] = at[0] - (self.b - self.a)


class _Left(df.SubDomain):
    def inside(self, at: Any, on_boundary: bool) -> bool:
        return bool(on_boundary and at[0] < df.DOLFIN_EPS)


def source_of(equation: Equation, request: Request, mesh: Any) -> Any:
    """Return f as part of the form; for the published numbers its interpolant in the elements."""
    if not request.published:
        return symbol(equation.source, mesh)
    V = df.FunctionSpace(mesh, "P", request.order)
    f = df.Function(V)
    f.vector().set_local(np.array(numbers(equation.source, V.tabulate_dof_coordinates())))
    return f


class Boundary:
    """Dirichlet data of a scalar space in the function ``g``, updated with the time."""

    def __init__(self, equation: Equation, V: Any, where: Any) -> None:
        self.equation, self.g = equation, df.Function(V)
        self.nodes = np.array(sorted(df.DirichletBC(V, self.g, where).get_boundary_values()), dtype=int)
        self.coordinates_of_nodes = V.tabulate_dof_coordinates()[self.nodes]
        self.values = self.g.vector().get_local()

    def at(self, when: float) -> Any:
        self.values[self.nodes] = numbers(self.equation.exact, self.coordinates_of_nodes, when)
        self.g.vector().set_local(self.values)
        return self.g


# ------------------------------------------------------------------------------------------------ steady
def residual(request: Request, u: Any, v: Any, f: Any, mesh: Any) -> Any:
    """Return the weak form of a steady case."""
    dx, dq, h = df.dx, df.dx(metadata={"quadrature_degree": 2 * request.order + 4}), df.CellDiameter(mesh)
    if request.case == "TC-1":
        w = v.dx(0) if request.published else v + h / 2 * v.dx(0)
        return u.dx(0) * w * dx - f * w * dq
    if request.case == "TC-3":
        return (u.dx(0) * v + u.dx(0) * v.dx(0) / 5) * dx - f * v * dq
    if request.case == "TC-4":

        def along(w: Any) -> Any:
            return w.dx(0) + w.dx(1) / 2

        return along(u) * along(v) * dx - f * along(v) * dq
    if request.case == "TC-9":
        return (u.dx(0) * v.dx(0) + 50 * u * v) * dx + (f - 10 * df.sin(u)) * v * dq
    return df.inner(df.grad(u), df.grad(v)) * dx + f * v * dq


def solve_linear(A: Any, b: Any, request: Request) -> Any:
    """Return A⁻¹b, by multigrid for the Laplacian in two dimensions, else by LU."""
    found = b.copy()
    found.zero()
    if request.case in ("TC-5", "TC-6"):
        solver = df.PETScKrylovSolver("cg", "hypre_amg")
        solver.parameters["relative_tolerance"] = 1e-13
        solver.set_operator(df.as_backend_type(A))
        solver.solve(found, b)
    else:
        df.LUSolver(A, "umfpack").solve(found, b)
    return found


def steady(equation: Equation, request: Request) -> Result:
    """Solve a steady case: one linear system, or Newton's method from zero."""
    mesh = mesh_of(equation, request.elements)
    V = df.FunctionSpace(mesh, "P", request.order)
    v, f, u = df.TestFunction(V), source_of(equation, request, mesh), df.Function(V)
    where = _Left() if request.published and request.case == "TC-1" else df.DomainBoundary()
    data = Boundary(equation, V, where)
    condition = df.DirichletBC(V, data.at(0.0), where)
    facts: dict[str, Any] = {"unknowns": V.dim()}
    if equation.linear:
        a, b = df.system(residual(request, df.TrialFunction(V), v, f, mesh))
        A, B = df.assemble_system(a, b, condition)
        u.vector().axpy(1.0, solve_linear(A, B, request))
        return Result(V, np.zeros(1), u.vector().get_local()[None], facts)
    F = residual(request, u, v, f, mesh)
    J = df.derivative(F, u)
    condition.apply(u.vector())
    condition.homogenize()
    change, rounds = np.inf, 0
    while change > 1e-10 and rounds < 20:
        A, B = df.assemble_system(J, F, condition)
        step = solve_linear(A, B, request)
        u.vector().axpy(-1.0, step)
        change, rounds = step.norm("linf") / u.vector().norm("linf"), rounds + 1
    facts["iterations"] = rounds
    return Result(V, np.zeros(1), u.vector().get_local()[None], facts)


# -------------------------------------------------------------------------------------------------- time
def spatial(request: Request, u: Any, v: Any, f: Any, mesh: Any) -> tuple[Any, Any]:
    """Return the spatial part S(u; v) of the weak form, and the test function of u_t."""
    dq, h = df.dx(metadata={"quadrature_degree": 2 * request.order + 4}), df.CellDiameter(mesh)
    if request.case == "TC-11":
        return (u * u.dx(0) - f) * v * dq + u.dx(0) * v.dx(0) / 100 * df.dx, v
    speed = 1 + df.SpatialCoordinate(mesh)[0] if request.case == "TC-8" else 1.0
    w = v if request.published else v + h / 2 * speed / (speed + h) * v.dx(0)
    return speed * u.dx(0) * w * dq, w


class StageSpace:
    """Product of s copies of the scalar space V; V itself for s = 1, which has another type in dolfin."""

    def __init__(self, V: Any, s: int, around: Any) -> None:
        self.s, self.V = s, V
        product = df.MixedElement([V.ufl_element()] * s)
        self.W = df.FunctionSpace(V.mesh(), product, constrained_domain=around) if s > 1 else V
        self.spaces = [self.W.sub(i) for i in range(s)] if s > 1 else [V]
        self.gather = df.FunctionAssigner(self.W, [V] * s if s > 1 else V)
        self.last = df.FunctionAssigner(V, self.spaces[-1])

    def parts(self, of: Any) -> tuple[Any, ...]:
        """Return the components of test functions, trial functions or a function."""
        return tuple(df.split(of)) if self.s > 1 else (of,)

    def put(self, into: Any, parts: list[Any]) -> None:
        self.gather.assign(into, parts if self.s > 1 else parts[0])

    def last_to(self, to: Any, of: Any) -> None:
        self.last.assign(to, of.sub(self.s - 1) if self.s > 1 else of)


def integrate(equation: Equation, request: Request) -> Result:
    """Integrate in time by collocation: U_i = u + dt Σ_j a_ij u_t(U_j), all levels of a step at once."""
    mesh, s = mesh_of(equation, request.elements), request.stages
    around = _Periodic(*equation.box[0]) if equation.periodic else None
    V = df.FunctionSpace(mesh, "P", request.order, constrained_domain=around)
    stages_space = StageSpace(V, s, around)
    dt = df.Constant(equation.end / request.steps)
    level_times = [df.Constant(0.0) for _ in range(s + 1)]
    tests, trials = (
        stages_space.parts(df.TestFunction(stages_space.W)),
        stages_space.parts(df.TrialFunction(stages_space.W)),
    )

    def part(levels: dict[int, Any]) -> Any:
        """Return the contribution of these levels (0: the old one) to the equations of the step."""
        form = 0
        for i, v in enumerate(tests):
            for j, u in levels.items():
                f = symbol(equation.source, mesh, level_times[j])
                S, w = spatial(request, u, v, f, mesh)
                form += dt * _LOBATTO[s][i][j] * S
                if j in (0, i + 1):
                    form += (u if j else -u) * w * _rule(request)
        return form

    old, new = df.Function(V), df.Function(stages_space.W)
    coordinates = V.tabulate_dof_coordinates()
    old.vector().set_local(np.array(numbers(equation.exact, coordinates)))
    edges = [] if equation.periodic else [Boundary(equation, V, df.DomainBoundary()) for _ in range(s)]
    conditions = [df.DirichletBC(w, e.g, df.DomainBoundary()) for w, e in zip(stages_space.spaces, edges)]
    fixed = [df.DirichletBC(w, df.Constant(0.0), df.DomainBoundary()) for w in stages_space.spaces]
    times = np.linspace(0.0, equation.end, request.steps + 1)
    history, rounds = [old.vector().get_local()], 0

    if equation.linear:
        A = df.assemble(part(dict(enumerate(trials, start=1))))
        B = df.assemble(-part({0: df.TrialFunction(V)}))
        for condition in conditions:
            condition.apply(A)
    else:
        F = part({0: old}) + part(dict(enumerate(stages_space.parts(new), start=1)))
        # As df.Form, which is looked up in the cache once and not at each assembly.
        F, J, A = df.Form(F), df.Form(df.derivative(F, new)), df.PETScMatrix()
        before = old.vector().copy()
    solver = df.LUSolver(A, "umfpack") if equation.linear else df.LUSolver("umfpack")

    for k in range(request.steps):
        for c, edge in zip(_LEVELS[s], edges):
            edge.at(times[k] + c * (times[k + 1] - times[k]))
        if equation.linear:
            b = B * old.vector()
            for condition in conditions:
                condition.apply(b)
            solver.solve(new.vector(), b)
        else:
            for level_time, c in zip(level_times, [0.0, *_LEVELS[s]]):
                level_time.assign(times[k] + c * (times[k + 1] - times[k]))
            stages_space.put(new, [_extrapolate(old, before, c) for c in _LEVELS[s]])
            for condition in conditions:
                condition.apply(new.vector())
            before = old.vector().copy()
            rounds += _newton(F, J, A, new, fixed, solver)
        stages_space.last_to(old, new)
        history.append(old.vector().get_local())
    facts: dict[str, Any] = {"unknowns": V.dim(), "steps": request.steps}
    return Result(V, times, np.array(history), facts | ({} if equation.linear else {"iterations": rounds}))


def _rule(request: Request) -> Any:
    return df.dx(metadata={"quadrature_degree": 2 * request.order + 4})


def _extrapolate(old: Any, before: Any, c: float) -> Any:
    """Extrapolate linearly from the last two levels."""
    guess = old.copy(deepcopy=True)
    guess.vector().axpy(c, old.vector() - before)
    return guess


def _newton(F: Any, J: Any, A: Any, new: Any, fixed: list[Any], solver: Any) -> int:
    """Newton's method with the Jacobian of the initial guess; mostly one factorisation per step.
    The Jacobian is updated where an iteration reduces the change by less than a factor of 10."""
    step, change, stale = new.vector().copy(), np.inf, True
    for rounds in range(1, 31):
        if stale:
            df.assemble(J, tensor=A)
            for condition in fixed:
                condition.apply(A)
            solver.set_operator(A)
        b = df.assemble(F)
        for condition in fixed:
            condition.apply(b)
        solver.solve(step, b)
        new.vector().axpy(-1.0, step)
        before, change = change, step.norm("linf") / new.vector().norm("linf")
        if change < 1e-11:
            return rounds
        stale = change > 0.1 * before
    raise RuntimeError("Newton's method did not converge within a step in time; take more steps")


# ------------------------------------------------------------------------------------------------- output
def evaluate(result: Result, X: Any) -> Any:
    """Return u at the points X (N, d): basis functions in space, cubic spline in time."""
    V, mesh = result.space, result.space.mesh()
    dim, tree = mesh.geometry().dim(), mesh.bounding_box_tree()
    curve = CubicSpline(result.times, result.levels) if len(result.times) > 1 else None
    values = np.empty(len(X))
    for k, point in enumerate(X):
        place = point[:dim]
        cell = df.Cell(mesh, tree.compute_first_entity_collision(df.Point(place)))
        weights = V.element().evaluate_basis_all(place, cell.get_vertex_coordinates(), cell.orientation())
        nodes = V.dofmap().cell_dofs(cell.index())
        level = result.levels[0] if curve is None else curve(point[dim])
        values[k] = weights @ level[nodes]
    return values


def nodal(equation: Equation, result: Result) -> dict[str, float]:
    """Return errors at the nodes: maximum and root mean square over all times, and the L2 norm of the
    finite-element function with the nodal errors at the last time."""
    X = result.space.tabulate_dof_coordinates()
    exact = np.array([numbers(equation.exact, X, when) for when in result.times])
    error, e = result.levels - exact, df.Function(result.space)
    e.vector().set_local(error[-1])
    return {
        "nodal_max_error": float(np.abs(error).max()),
        "nodal_rms_error": float(np.sqrt(np.mean(error**2))),
        "nodal_l2_norm": float(df.norm(e, "L2")),
    }


def solve(equation: Equation, request: Request) -> Result:
    return integrate(equation, request) if equation.end else steady(equation, request)


def compile_seconds_of(equation: Equation, request: Request) -> float:
    """Return the seconds of a solve on a tiny mesh, which compiles the forms unless they are cached."""
    began = time.perf_counter()
    solve(equation, replace(request, elements=4, steps=min(request.steps, 4)))
    return time.perf_counter() - began


def answer(ask: dict[str, Any]) -> None:
    """Solve a request; write values and timings to its files."""
    request = Request(**ask["request"])
    equation = EQUATIONS[request.case]
    compile_seconds = compile_seconds_of(equation, request)
    wall, cpu = time.perf_counter(), time.process_time()
    result = solve(equation, request)
    facts = {"cpu_seconds": time.process_time() - cpu}
    seconds = time.perf_counter() - wall
    np.save(ask["values"], evaluate(result, np.load(ask["points"])))
    reply = {
        "seconds": seconds,
        "compile_seconds": compile_seconds,
        "facts": {**result.facts, **nodal(equation, result), **facts, "dolfin": df.__version__},
    }
    Path(ask["reply"]).write_text(json.dumps(reply))


def quiet() -> None:
    """Disable logging; compile forms for this machine."""
    df.set_log_level(df.LogLevel.ERROR)
    for logger in ("FFC", "UFL", "dijitso"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    df.parameters["form_compiler"]["cpp_optimize"] = True
    df.parameters["form_compiler"]["cpp_optimize_flags"] = "-O3 -march=native"


if __name__ == "__main__":
    quiet()
    answer(json.loads(Path(sys.argv[1]).read_text()))

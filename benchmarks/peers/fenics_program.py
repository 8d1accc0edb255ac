"""Finite elements of order 1 or 2 in FEniCS (legacy dolfin), one run per process.

/usr/bin/python3 fenics_program.py request.json

It runs under the system's Python, where Debian puts dolfin, and therefore imports nothing of pibls. The
request names a case, the order k, the elements, the steps in time and a file of points; the reply is a file
of values and one of timings. The source is part of the form, integrated with a rule of degree 2k + 4, so
that quadrature is not the error.

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

# The folder of this file is where Python looks first; the package around it needs pibls, which is not here.
from fenics_equations import EQUATIONS, Equation, numbers, symbol  # type: ignore[import-not-found] # isort: skip


@dataclass(frozen=True)
class Request:
    """``stages`` unknown levels per step: 1 is Crank-Nicolson, 2 is Lobatto IIIA of order 4. ``published``
    takes the formulation that gives the paper's numbers in place of the better one."""

    case: str
    order: int
    elements: int
    steps: int = 0
    stages: int = 2
    published: bool = False


@dataclass(frozen=True)
class Result:
    """Coefficients (levels, unknowns) at the times (levels,), and what was measured on the way."""

    space: Any
    times: Any
    levels: Any
    facts: dict[str, Any]


# Lobatto IIIA: the rows of the unknown levels; the first column belongs to the old level.
_LOBATTO = {1: [[1 / 2, 1 / 2]], 2: [[5 / 24, 1 / 3, -1 / 24], [1 / 6, 2 / 3, 1 / 6]]}
_LEVELS = {1: [1.0], 2: [0.5, 1.0]}


# ----------------------------------------------------------------------------------------- mesh and data
def mesh_of(equation: Equation, n: int) -> Any:
    """n elements on an interval, n × n squares cut by their right diagonal on a rectangle."""
    if len(equation.box) == 1:
        return df.IntervalMesh(n, *equation.box[0])
    (a, b), (c, d) = equation.box
    return df.RectangleMesh(df.Point(a, c), df.Point(b, d), n, n)


class _Periodic(df.SubDomain):
    """The right end is the left end."""

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
    """f in the form itself; for the published numbers its interpolant in the elements, as with `Expression`
    of that degree."""
    if not request.published:
        return symbol(equation.source, mesh)
    V = df.FunctionSpace(mesh, "P", request.order)
    f = df.Function(V)
    f.vector().set_local(np.array(numbers(equation.source, V.tabulate_dof_coordinates())))
    return f


class Boundary:
    """Dirichlet data of a scalar space, held by the function ``g`` and renewed with the time."""

    def __init__(self, equation: Equation, V: Any, where: Any) -> None:
        self.equation, self.g = equation, df.Function(V)
        self.nodes = np.array(sorted(df.DirichletBC(V, self.g, where).get_boundary_values()), dtype=int)
        self.places = V.tabulate_dof_coordinates()[self.nodes]
        self.values = self.g.vector().get_local()

    def at(self, when: float) -> Any:
        self.values[self.nodes] = numbers(self.equation.exact, self.places, when)
        self.g.vector().set_local(self.values)
        return self.g


# ------------------------------------------------------------------------------------------------ steady
def residual(request: Request, u: Any, v: Any, f: Any, mesh: Any) -> Any:
    """The weak form of a steady case; zero for all v."""
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


def solved(A: Any, b: Any, request: Request) -> Any:
    """A⁻¹b: multigrid for the Laplacian in the plane, LU for all others."""
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
    """One linear system, or Newton's method from zero."""
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
        u.vector().axpy(1.0, solved(A, B, request))
        return Result(V, np.zeros(1), u.vector().get_local()[None], facts)
    F = residual(request, u, v, f, mesh)
    J = df.derivative(F, u)
    condition.apply(u.vector())
    condition.homogenize()
    change, rounds = np.inf, 0
    while change > 1e-10 and rounds < 20:
        A, B = df.assemble_system(J, F, condition)
        step = solved(A, B, request)
        u.vector().axpy(-1.0, step)
        change, rounds = step.norm("linf") / u.vector().norm("linf"), rounds + 1
    facts["iterations"] = rounds
    return Result(V, np.zeros(1), u.vector().get_local()[None], facts)


# -------------------------------------------------------------------------------------------------- time
def spatial(request: Request, u: Any, v: Any, f: Any, mesh: Any) -> tuple[Any, Any]:
    """(S(u; v), test function of u_t): the rest of the weak form of a case in time."""
    dq, h = df.dx(metadata={"quadrature_degree": 2 * request.order + 4}), df.CellDiameter(mesh)
    if request.case == "TC-11":
        return (u * u.dx(0) - f) * v * dq + u.dx(0) * v.dx(0) / 100 * df.dx, v
    speed = 1 + df.SpatialCoordinate(mesh)[0] if request.case == "TC-8" else 1.0
    w = v if request.published else v + h / 2 * speed / (speed + h) * v.dx(0)
    return speed * u.dx(0) * w * dq, w


class Stack:
    """The product of s copies of the scalar space V; for s = 1 that is V itself, in dolfin another type."""

    def __init__(self, V: Any, s: int, around: Any) -> None:
        self.s, self.V = s, V
        product = df.MixedElement([V.ufl_element()] * s)
        self.W = df.FunctionSpace(V.mesh(), product, constrained_domain=around) if s > 1 else V
        self.spaces = [self.W.sub(i) for i in range(s)] if s > 1 else [V]
        self.gather = df.FunctionAssigner(self.W, [V] * s if s > 1 else V)
        self.last = df.FunctionAssigner(V, self.spaces[-1])

    def parts(self, of: Any) -> tuple[Any, ...]:
        """Test functions, trial functions or a function, by copy."""
        return tuple(df.split(of)) if self.s > 1 else (of,)

    def put(self, into: Any, parts: list[Any]) -> None:
        self.gather.assign(into, parts if self.s > 1 else parts[0])

    def last_to(self, to: Any, of: Any) -> None:
        self.last.assign(to, of.sub(self.s - 1) if self.s > 1 else of)


def march(equation: Equation, request: Request) -> Result:
    """Collocation in time: U_i = u + dt Σ_j a_ij u_t(U_j), all levels of a step solved for at once."""
    mesh, s = mesh_of(equation, request.elements), request.stages
    around = _Periodic(*equation.box[0]) if equation.periodic else None
    V = df.FunctionSpace(mesh, "P", request.order, constrained_domain=around)
    stack = Stack(V, s, around)
    dt = df.Constant(equation.end / request.steps)
    moments = [df.Constant(0.0) for _ in range(s + 1)]
    tests, trials = stack.parts(df.TestFunction(stack.W)), stack.parts(df.TrialFunction(stack.W))

    def part(levels: dict[int, Any]) -> Any:
        """What these levels (0 the old one) contribute to the equations of the step."""
        form = 0
        for i, v in enumerate(tests):
            for j, u in levels.items():
                f = symbol(equation.source, mesh, moments[j])
                S, w = spatial(request, u, v, f, mesh)
                form += dt * _LOBATTO[s][i][j] * S
                if j in (0, i + 1):
                    form += (u if j else -u) * w * _rule(request)
        return form

    old, new = df.Function(V), df.Function(stack.W)
    coordinates = V.tabulate_dof_coordinates()
    old.vector().set_local(np.array(numbers(equation.exact, coordinates)))
    edges = [] if equation.periodic else [Boundary(equation, V, df.DomainBoundary()) for _ in range(s)]
    conditions = [df.DirichletBC(w, e.g, df.DomainBoundary()) for w, e in zip(stack.spaces, edges)]
    fixed = [df.DirichletBC(w, df.Constant(0.0), df.DomainBoundary()) for w in stack.spaces]
    times = np.linspace(0.0, equation.end, request.steps + 1)
    history, rounds = [old.vector().get_local()], 0

    if equation.linear:
        A = df.assemble(part(dict(enumerate(trials, start=1))))
        B = df.assemble(-part({0: df.TrialFunction(V)}))
        for condition in conditions:
            condition.apply(A)
    else:
        F = part({0: old}) + part(dict(enumerate(stack.parts(new), start=1)))
        # As dolfin's own forms, which are looked up in the cache once and not with each assembly.
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
            for moment, c in zip(moments, [0.0, *_LEVELS[s]]):
                moment.assign(times[k] + c * (times[k + 1] - times[k]))
            stack.put(new, [_ahead(old, before, c) for c in _LEVELS[s]])
            for condition in conditions:
                condition.apply(new.vector())
            before = old.vector().copy()
            rounds += _newton(F, J, A, new, fixed, solver)
        stack.last_to(old, new)
        history.append(old.vector().get_local())
    facts: dict[str, Any] = {"unknowns": V.dim(), "steps": request.steps}
    return Result(V, times, np.array(history), facts | ({} if equation.linear else {"iterations": rounds}))


def _rule(request: Request) -> Any:
    return df.dx(metadata={"quadrature_degree": 2 * request.order + 4})


def _ahead(old: Any, before: Any, c: float) -> Any:
    """The line through the two last levels."""
    guess = old.copy(deepcopy=True)
    guess.vector().axpy(c, old.vector() - before)
    return guess


def _newton(F: Any, J: Any, A: Any, new: Any, fixed: list[Any], solver: Any) -> int:
    """Newton's method with the Jacobian of the guess, which is close: mostly one factorisation per step.
    A new one is made where the old one does not gain a digit per round."""
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


# ----------------------------------------------------------------------------------------- what comes out
def evaluate(result: Result, X: Any) -> Any:
    """u at the points X (N, d): the basis functions in space, a cubic spline through the levels in time."""
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
    """Errors against the exact values at the nodes: largest and root mean square over all times, and the L2
    norm over the domain of the finite-element function that has the nodal errors at the last one."""
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
    return march(equation, request) if equation.end else steady(equation, request)


def warmed(equation: Equation, request: Request) -> float:
    """Seconds for the same forms on a tiny mesh, which compiles them unless a cache has them."""
    began = time.perf_counter()
    solve(equation, replace(request, elements=4, steps=min(request.steps, 4)))
    return time.perf_counter() - began


def answered(ask: dict[str, Any]) -> None:
    """Solve, and write values and timings where the request says."""
    request = Request(**ask["request"])
    equation = EQUATIONS[request.case]
    compile_seconds = warmed(equation, request)
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
    """No chatter; forms compiled for this machine."""
    df.set_log_level(df.LogLevel.ERROR)
    for logger in ("FFC", "UFL", "dijitso"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    df.parameters["form_compiler"]["cpp_optimize"] = True
    df.parameters["form_compiler"]["cpp_optimize_flags"] = "-O3 -march=native"


if __name__ == "__main__":
    quiet()
    answered(json.loads(Path(sys.argv[1]).read_text()))

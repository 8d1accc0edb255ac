"""NGSolve for the problems of `benchmarks.shape_problems`: time to the required error, meshing included.

Each problem is solved with curved elements of increasing order on a mesh chosen for it, until the required
error is reached; the seconds are those of the last solve. There is no peer where there is no mesh generator
for the shape (a level set) or no discretisation (five dimensions).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from benchmarks import shape_references as references
from pibls.arrays import Array

ORDERS = (3, 4, 5, 6, 8, 10, 12, 14)
Solve = Callable[[int], tuple[Any, dict[str, Any]]]
"""Function order ↦ (mesh, functions on it by the name of the unknown)."""


def field(e: Any) -> Any:
    """Return a SymPy expression of x, y, z as coefficient function of NGSolve."""
    import ngsolve as ng

    x, y, z = sp.symbols("x y z")
    words = {"sin": ng.sin, "cos": ng.cos, "exp": ng.exp, "sqrt": ng.sqrt, "log": ng.log, "atan2": ng.atan2}
    found = sp.lambdify((x, y, z), sp.sympify(e), [words])(ng.x, ng.y, ng.z)
    return found if isinstance(found, ng.CoefficientFunction) else ng.CF(float(found))


def plane_mesh(outer: Any, holes: list[Any], size: float, order: int) -> Any:
    import ngsolve as ng
    from netgen.geom2d import CSG2d

    shape = outer
    for hole in holes:
        shape = shape - hole
    geometry = CSG2d()
    geometry.Add(shape)
    mesh = ng.Mesh(geometry.GenerateMesh(maxh=size))
    mesh.Curve(order)
    return mesh


def polygon(points: list[tuple[float, float]]) -> Any:
    from netgen.geom2d import EdgeInfo, Solid2d

    parts: list[Any] = []
    for p in points:
        parts += [p, EdgeInfo(bc="outer")]
    return Solid2d(parts)


def circle(a: float, b: float, r: float, bc: str = "holes") -> Any:
    from netgen.geom2d import Circle

    return Circle(center=(a, b), radius=r, bc=bc)


def rectangle(low: tuple[float, float], high: tuple[float, float]) -> Any:
    from netgen.geom2d import Rectangle

    return Rectangle(pmin=low, pmax=high, bc="outer")


def poisson(mesh: Any, order: int, source: Any, value: Any, k: Any = 1.0, where: str = ".*") -> Any:
    """Solve ∇·(k∇u) = f with Dirichlet values on the boundary ``where``."""
    import ngsolve as ng

    space = ng.H1(mesh, order=order, dirichlet=where)
    u, v = space.TnT()
    form = ng.BilinearForm(space, condense=True)
    form += k * ng.grad(u) * ng.grad(v) * ng.dx(bonus_intorder=4)
    load = ng.LinearForm(space)
    load += -source * v * ng.dx(bonus_intorder=6)
    found = ng.GridFunction(space)
    found.Set(value, definedon=mesh.Boundaries(where))
    references.solve_condensed(form, load, found)
    return found


def elastic(mesh: Any, order: int, values: Any, body: Any, where: str) -> Any:
    """Solve ∇·σ = f, plane stress, E = 1, ν = 0.3; displacements given at ``where``, free elsewhere."""
    import ngsolve as ng

    nu = 0.3
    space = ng.VectorH1(mesh, order=order, dirichlet=where)
    u, v = space.TnT()

    def strain(w: Any) -> Any:
        return 0.5 * (ng.Grad(w) + ng.Grad(w).trans)

    def stress(w: Any) -> Any:
        e = strain(w)
        return ((1 - nu) * e + nu * ng.Trace(e) * ng.Id(2)) / (1 - nu**2)

    form = ng.BilinearForm(space, condense=True)
    form += ng.InnerProduct(stress(u), strain(v)) * ng.dx
    load = ng.LinearForm(space)
    load += -body * v * ng.dx(bonus_intorder=6)
    found = ng.GridFunction(space)
    found.Set(values, definedon=mesh.Boundaries(where))
    references.solve_condensed(form, load, found)
    return found


def _one(u: Any) -> tuple[Any, dict[str, Any]]:
    return u.space.mesh, {"u": u}


def peers() -> dict[str, Solve]:
    """Return the peers by the name of the problem."""
    import ngsolve as ng

    from benchmarks import shape_problems as problems

    x, y = problems.x, problems.y
    smooth, load = field(problems.SMOOTH), field(problems.laplacian(problems.SMOOTH, (x, y)))

    def two_holes(order: int) -> tuple[Any, dict[str, Any]]:
        outline = polygon([(0, 0), (3, 0), (3.5, 1.5), (2, 2.5), (0.5, 2)])
        holes = [
            polygon([(0.7, 0.5), (1.2, 0.5), (1.2, 1.0), (0.7, 1.1)]),
            polygon([(2, 0.8), (2.6, 1.0), (2.2, 1.6)]),
        ]
        return _one(poisson(plane_mesh(outline, holes, 0.7, 1), order, load, smooth))

    def discs(number: int, size: float) -> Solve:
        return lambda order: _one(references.plate(number)(size, order, 4))

    def four(order: int) -> tuple[Any, dict[str, Any]]:
        return _one(references.four_discs(0.25, order, 4))

    def l_shape(order: int) -> tuple[Any, dict[str, Any]]:
        mesh = references.graded_l(0.5, 24)
        angle = ng.IfPos(ng.y + 1e-14, ng.atan2(ng.y, ng.x), ng.atan2(ng.y, ng.x) + 2 * np.pi)
        value = (ng.x**2 + ng.y**2) ** (1 / 3) * ng.sin(2 * angle / 3)
        return _one(poisson(mesh, order, ng.CF(0.0), value))

    def inclusion(order: int) -> tuple[Any, dict[str, Any]]:
        from netgen.geom2d import CSG2d

        disc = circle(0.0, 0.0, 0.5, "inner").Mat("disc")
        geometry = CSG2d()
        geometry.Add((rectangle((-1.0, -1.0), (1.0, 1.0)) - disc).Mat("plate"))
        geometry.Add(disc)
        mesh = ng.Mesh(geometry.GenerateMesh(maxh=0.4))
        mesh.Curve(order)
        k = mesh.MaterialCF({"disc": 400.0, "plate": 1.0})
        value = ng.x * (1 - 399.0 / 401.0 * 0.25 / (ng.x**2 + ng.y**2))
        return _one(poisson(mesh, order, ng.CF(0.0), value, k))

    def kirsch(order: int) -> tuple[Any, dict[str, Any]]:
        mesh = plane_mesh(rectangle((-3.0, -3.0), (3.0, 3.0)), [circle(0.0, 0.0, 1.0)], 1.2, order)
        values = ng.CF(tuple(field(e) for e in problems.kirsch_field()))
        found = elastic(mesh, order, values, ng.CF((0.0, 0.0)), "outer")
        return mesh, {"u": found[0], "v": found[1]}

    def forty(order: int) -> tuple[Any, dict[str, Any]]:
        mesh = plane_mesh(
            rectangle((0.0, 0.0), (1.0, 1.0)), [circle(*d) for d in problems.discs(40)], 0.1, order
        )
        a = sp.sin(2 * x) * sp.cos(y) / 10
        b = x * y**2 / 7 + sp.exp(x) * sp.sin(y) / 20
        body = ng.CF(tuple(field(e) for e in problems.elasticity(a, b)))
        found = elastic(mesh, order, ng.CF((field(a), field(b))), body, ".*")
        return mesh, {"u": found[0], "v": found[1]}

    def ball(order: int) -> tuple[Any, dict[str, Any]]:
        from netgen.csg import CSGeometry, Pnt, Sphere

        geometry = CSGeometry()
        geometry.Add(Sphere(Pnt(0.2, 0, -0.1), 1.1))
        mesh = ng.Mesh(geometry.GenerateMesh(maxh=1.4))
        mesh.Curve(order)
        e = sp.exp(x / 2) * sp.cos(y + problems.z) + x * y * problems.z
        source = field(problems.laplacian(e, (x, y, problems.z)))
        return _one(poisson(mesh, order, source, field(e)))

    def ring(order: int) -> tuple[Any, dict[str, Any]]:
        mesh = plane_mesh(circle(0.0, 0.0, 1.0, "outer"), [circle(0.2, 0.1, 0.35)], 0.5, order)
        e = problems.SMOOTH
        around, along = e.diff(x) * x + e.diff(y) * y, e.diff(x) * (x - 0.2) + e.diff(y) * (y - 0.1)
        slope = mesh.BoundaryCF({"outer": field(around), "holes": field(-along / 0.35)})
        space = ng.H1(mesh, order=order)
        u, v = space.TnT()
        form = ng.BilinearForm(space, condense=True)
        form += ng.grad(u) * ng.grad(v) * ng.dx
        form += 2.0 * u * v * ng.ds("outer")
        right = ng.LinearForm(space)
        right += -load * v * ng.dx(bonus_intorder=6)
        right += slope * v * ng.ds(bonus_intorder=6)
        right += 2.0 * smooth * v * ng.ds("outer", bonus_intorder=6)
        found = ng.GridFunction(space)
        references.solve_condensed(form, right, found)
        return _one(found)

    def half_way(order: int) -> tuple[Any, dict[str, Any]]:
        from netgen.geom2d import SplineGeometry

        geometry = SplineGeometry()
        corners = ((0, 0), (1, 0), (1, 1), (-1, 1), (-1, 0))
        points = [geometry.AppendPoint(*p) for p in corners]
        for i in range(5):
            geometry.Append(["line", points[i], points[(i + 1) % 5]], bc="free" if i == 4 else "outer")
        mesh = ng.Mesh(geometry.GenerateMesh(maxh=0.5))
        for _ in range(32):
            for element in mesh.Elements(ng.VOL):
                near = any(abs(mesh[v].point[0]) + abs(mesh[v].point[1]) < 1e-12 for v in element.vertices)
                mesh.SetRefinementFlag(element, near)
            mesh.Refine()
        distance = ng.sqrt(ng.x**2 + ng.y**2)
        value = ng.sqrt(ng.IfPos(distance - ng.x, distance - ng.x, 0.0) / 2)
        return _one(poisson(mesh, order, ng.CF(0.0), value, where="outer"))

    def stokes(order: int) -> tuple[Any, dict[str, Any]]:
        holes = [circle(0.4, 0.5, 0.15), circle(1.0, 0.35, 0.12), circle(1.5, 0.65, 0.18)]
        mesh = plane_mesh(rectangle((0.0, 0.0), (2.0, 1.0)), holes, 0.25, order)
        psi = sp.sin(x * y) + x**2 * sp.cos(y)
        a, b, q = psi.diff(y), -psi.diff(x), sp.exp(x / 2) * sp.sin(2 * y)
        body = ng.CF(tuple(
            field(-problems.laplacian(w, (x, y)) + q.diff(c)) for w, c in ((a, x), (b, y))
        ))  # fmt: skip
        space = ng.VectorH1(mesh, order=order, dirichlet=".*") * ng.H1(mesh, order=order - 1)
        space = space * ng.NumberSpace(mesh)
        (u, p, m), (v, r, n) = space.TnT()
        form = ng.BilinearForm(space)
        form += (ng.InnerProduct(ng.Grad(u), ng.Grad(v)) - ng.div(v) * p - ng.div(u) * r) * ng.dx
        form += (m * r + n * p) * ng.dx
        right = ng.LinearForm(space)
        right += body * v * ng.dx(bonus_intorder=6)
        found = ng.GridFunction(space)
        found.components[0].Set(ng.CF((field(a), field(b))), definedon=mesh.Boundaries(".*"))
        form.Assemble()
        right.Assemble()
        left = right.vec.CreateVector()
        left.data = right.vec - form.mat * found.vec
        found.vec.data += form.mat.Inverse(space.FreeDofs(), inverse="umfpack") * left
        pressure = found.components[1]
        level = -float(pressure(mesh(0.0, 0.0)))  # the exact one is zero there
        flow = found.components[0]
        return mesh, {"u": flow[0], "v": flow[1], "p": pressure + level}

    return {
        "polygon with two holes": two_holes,
        "ball": ball,
        "ring, Neumann and Robin": ring,
        "Dirichlet meets Neumann": half_way,
        "Stokes, three holes": stokes,
        "four discs": four,
        "12 discs": discs(12, 0.12),
        "40 discs": discs(40, 0.08),
        "L-shape, r^(2/3)": l_shape,
        "inclusion, 1 : 400": inclusion,
        "Kirsch": kirsch,
        "elasticity, 40 holes": forty,
    }


def time_to_error(name: str, wanted: float, at: dict[str, tuple[Array, Array]]) -> dict[str, float] | None:
    """Return order, error and seconds of the first order with error ≤ ``wanted``; None without a peer.

    ``at`` has the points and reference values of each unknown.
    """
    solve = peers().get(name)
    if solve is None:
        return None
    best: dict[str, float] = {}
    for order in ORDERS:
        began = time.process_time()
        mesh, found = solve(order)
        seconds = time.process_time() - began
        errors = []
        for unknown, (points, values) in at.items():
            there = mesh(*points.T)
            inside = there["nr"] >= 0
            values_found = np.asarray(found[unknown](there[inside])).reshape(-1)
            errors.append(float(np.abs(values_found - values[inside]).max() / np.abs(values).max()))
        now = {"order": float(order), "error": max(errors), "seconds": seconds}
        if not best or now["error"] < best["error"]:
            best = now
        if best["error"] <= wanted:
            return best
    return best

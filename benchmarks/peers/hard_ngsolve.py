r"""∫ … = ∫ f v by NGSolve, for `benchmarks.hard_problems`, on meshes that are fine where these are hard.

Each function takes how fine the mesh is and the order of its elements, and gives the solution there as a
function of points (n, d). Where a solution is hard on a line at a slant, the mesh generator's triangles are
small there; elsewhere rectangles are graded along the axes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array

Found = Callable[[Array], Array]
Peer = Callable[[int, int], Found]
_BONUS = 8
"""Degrees that integrals of data have above those of the elements."""

_ITERATED = 1e-10
"""What is left where conjugate gradients take the place of a factorization, in space."""


def galerkin(
    mesh: Any,
    order: int,
    left: Callable[[Any, Any], Any],
    right: Callable[[Any], Any] | None,
    given: Any = 0.0,
    on: str = ".*",
    inverse: str = "sparsecholesky",
) -> Found:
    """u with ∫ left(u, v) = ∫ right(v) for all v, u = given on the sides ``on``; inner unknowns condensed."""
    import ngsolve as ng

    space = ng.H1(mesh, order=order, dirichlet=on)
    u, v = space.TnT()
    a = ng.BilinearForm(left(u, v) * ng.dx, condense=True)
    b = ng.LinearForm(space)
    if right is not None:
        b += right(v) * ng.dx(bonus_intorder=_BONUS)
    g = ng.GridFunction(space)
    pre = ng.Preconditioner(a, inverse) if inverse == "bddc" else None
    a.Assemble()
    b.Assemble()
    g.Set(given, ng.BND)
    if pre is None:
        ng.solvers.BVP(bf=a, lf=b, gf=g, inverse=inverse)
    else:
        ng.solvers.BVP(bf=a, lf=b, gf=g, pre=pre, maxsteps=500, tol=_ITERATED, print=False)
    return lambda X: np.asarray(g(mesh(*X.T))).reshape(-1)


def rectangles(n: int | tuple[int, ...], maps: Sequence[Callable[[float], float]]) -> Any:
    """n cells along each axis, with lines where ``maps`` send evenly spaced ones."""
    from ngsolve.meshes import Make1DMesh, MakeStructured2DMesh, MakeStructured3DMesh

    d = len(maps)
    counts = (n,) * d if isinstance(n, int) else n
    if d == 1:
        return Make1DMesh(counts[0], mapping=maps[0])
    make = MakeStructured2DMesh if d == 2 else MakeStructured3DMesh
    return make(True, *counts, mapping=lambda *p: tuple(f(s) for f, s in zip(maps, p, strict=True)))


def fine_at(centre: float, width: float) -> Callable[[float], float]:
    """[0, 1] → [0, 1], with lines ``width`` apart at a place and farther apart away from it."""
    low, high = np.arcsinh((0.0 - centre) / width), np.arcsinh((1.0 - centre) / width)
    return lambda s: float(centre + width * np.sinh(low + (high - low) * s))


def between(places: Sequence[float]) -> Callable[[float], float]:
    """[0, 1] → [0, 1], as many lines between each two of some places."""
    even = np.linspace(0.0, 1.0, len(places))
    return lambda s: float(np.interp(s, even, places))


def near_line(n: int, points: Array) -> Any:
    """Triangles of the unit square with sides of 1/n near some points and larger ones away from them."""
    import ngsolve as ng
    from netgen.geom2d import unit_square
    from netgen.meshing import MeshingParameters

    wanted = MeshingParameters(maxh=0.25, grading=0.4)
    for p in points:
        wanted.RestrictH(x=float(p[0]), y=float(p[1]), z=0.0, h=1.0 / n)
    return ng.Mesh(unit_square.GenerateMesh(mp=wanted))


def made(
    expression: Any, source: Any, wave: float, names: Sequence[sp.Symbol], mesh: Callable[[int], Any]
) -> Peer:
    """Δu + κ² u = f with a given solution."""

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        modules = {k: getattr(ng, k) for k in ("exp", "sin", "cos", "sqrt")}
        places = (ng.x, ng.y, ng.z)[: len(names)]
        given, f = (
            sp.lambdify(names, e.rewrite(sp.exp) if e.has(sp.tanh) else e, [modules])(*places)
            for e in (expression, sp.sympify(source))
        )

        def left(u: Any, v: Any) -> Any:
            return ng.grad(u) * ng.grad(v) - wave**2 * u * v

        kind = "umfpack" if wave else "sparsecholesky" if len(names) < 3 else "bddc"
        right = None if source == 0 else lambda v: -f * v
        return galerkin(mesh(n), order, left, right, given, inverse=kind)

    return peer


def outflow(e: float) -> Peer:
    """-ε u'' + u' = 1: half of the cells in the layer."""

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        mesh = rectangles(n, [between([0.0, 1.0 - min(40 * e, 0.5), 1.0])])

        def left(u: Any, v: Any) -> Any:
            return e * ng.grad(u)[0] * ng.grad(v)[0] + ng.grad(u)[0] * v

        return galerkin(mesh, order, left, lambda v: 1.0 * v, inverse="umfpack")

    return peer


def walls(edges: Sequence[float], k: Sequence[float], source: Sequence[float], d: int) -> Peer:
    """(k u')' = -s in layers: the same cells in each of them."""

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        def layered(values: Sequence[float]) -> Any:
            out = ng.CF(values[-1])
            for value, end in zip(values[-2::-1], edges[-2:0:-1], strict=True):
                out = ng.IfPos(end - ng.x, value, out)
            return out

        maps = [between(edges), float][:d]
        mesh = rectangles((n * len(k), n)[:d], maps)
        stiff, heat = layered(k), layered(source)

        def left(u: Any, v: Any) -> Any:
            return stiff * ng.grad(u) * ng.grad(v)

        return galerkin(mesh, order, left, lambda v: heat * v, ng.x, "left|right")

    return peer


def beam(a: float) -> Peer:
    """u'' = m, m'' = δ(x - a): both as unknowns; u(0) = u'(0) = 0, m(1) = m'(1) = 0."""

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        mesh = rectangles(2 * n, [between([0.0, a, 1.0])])
        space = ng.H1(mesh, order=order, dirichlet="left") * ng.H1(mesh, order=order, dirichlet="right")
        (u, m), (q, v) = space.TnT()
        form = ng.BilinearForm((m * v + ng.grad(u) * ng.grad(v) + ng.grad(m) * ng.grad(q)) * ng.dx).Assemble()
        # q(a) is the integral of q' up to there, since q vanishes at the left.
        load = ng.LinearForm(-ng.IfPos(a - ng.x, 1.0, 0.0) * ng.grad(q)[0] * ng.dx).Assemble()
        g = ng.GridFunction(space)
        g.vec.data = form.mat.Inverse(space.FreeDofs(), "umfpack") * load.vec
        return lambda X: np.asarray(g.components[0](mesh(*X.T))).reshape(-1)

    return peer


def convected(e: float) -> Peer:
    """-ε Δu + (1, 2)·∇u = 1: fine towards 0, for the corner, and towards 1, for the layer."""

    def grade(s: float) -> float:
        layer = min(12 * e, 0.35)
        if s < 0.3:
            return float(0.3 * (s / 0.3) ** 3)
        return float(0.3 + (s - 0.3) / 0.3 * (0.7 - layer)) if s < 0.6 else float(1 - layer * (1 - s) / 0.4)

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        def left(u: Any, v: Any) -> Any:
            return e * ng.grad(u) * ng.grad(v) + (ng.grad(u)[0] + 2 * ng.grad(u)[1]) * v

        return galerkin(rectangles(n, [grade] * 2), order, left, lambda v: 1.0 * v, inverse="umfpack")

    return peer


def plate(n: int, order: int) -> Found:
    """-Δu = 1 on the unit square, fine towards the corners."""
    import ngsolve as ng

    def grade(s: float) -> float:
        return float(4 * s**3 if s < 0.5 else 1 - 4 * (1 - s) ** 3)

    return galerkin(
        rectangles(n, [grade] * 2), order, lambda u, v: ng.grad(u) * ng.grad(v), lambda v: 1.0 * v
    )


def corner(n: int, order: int) -> Found:
    """r^(2/3) sin(2θ/3) in an L-shape: n layers of triangles, each 1/8 as large, towards the corner."""
    import ngsolve as ng
    from netgen.geom2d import SplineGeometry

    shape = SplineGeometry()
    places = [(-1, -1), (0, -1), (0, 0), (1, 0), (1, 1), (-1, 1)]
    numbers = [shape.AppendPoint(*p, hpref=1.0 if p == (0, 0) else 0.0) for p in places]
    for i, number in enumerate(numbers):
        shape.Append(["line", number, numbers[(i + 1) % 6]])
    mesh = ng.Mesh(shape.GenerateMesh(maxh=1.0))
    mesh.RefineHP(levels=n, factor=0.125)
    angle = ng.atan2(ng.y, ng.x)
    angle = ng.IfPos(angle + 1e-9, angle, angle + 2 * np.pi)
    exact = (ng.x**2 + ng.y**2 + 1e-300) ** (1 / 3) * ng.sin(2 / 3 * angle)
    return galerkin(mesh, order, lambda u, v: ng.grad(u) * ng.grad(v), None, exact)

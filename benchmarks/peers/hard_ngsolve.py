r"""NGSolve solutions of `benchmarks.hard_problems` on locally refined meshes.

Each peer is a function of the mesh fineness and the element order that returns the solution as a function of
points (n, d). Layers along oblique lines use triangles that are small there, all others rectangles graded
along the axes.
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
"""Additional quadrature degree for integrals of data."""

_ITERATED = 1e-10
"""Tolerance of conjugate gradients, used in three dimensions in place of a factorization."""


def galerkin(
    mesh: Any,
    order: int,
    left: Callable[[Any, Any], Any],
    right: Callable[[Any], Any] | None,
    given: Any = 0.0,
    on: str = ".*",
    inverse: str = "sparsecholesky",
) -> Found:
    """Solve ∫ left(u, v) = ∫ right(v) for all v, u = given on the sides ``on``, with static condensation."""
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
    """Return a structured mesh of n cells along each axis; ``maps`` maps equidistant grid lines."""
    from ngsolve.meshes import Make1DMesh, MakeStructured2DMesh, MakeStructured3DMesh

    d = len(maps)
    counts = (n,) * d if isinstance(n, int) else n
    if d == 1:
        return Make1DMesh(counts[0], mapping=maps[0])
    make = MakeStructured2DMesh if d == 2 else MakeStructured3DMesh
    return make(True, *counts, mapping=lambda *p: tuple(f(s) for f, s in zip(maps, p, strict=True)))


def clustered_at(centre: float, width: float) -> Callable[[float], float]:
    """Return a map [0, 1] → [0, 1] that clusters grid lines at ``centre`` on the scale ``width``."""
    low, high = np.arcsinh((0.0 - centre) / width), np.arcsinh((1.0 - centre) / width)
    return lambda s: float(centre + width * np.sinh(low + (high - low) * s))


def piecewise_linear(positions: Sequence[float]) -> Callable[[float], float]:
    """Return a map [0, 1] → [0, 1] with equally many grid lines between neighbouring positions."""
    even = np.linspace(0.0, 1.0, len(positions))
    return lambda s: float(np.interp(s, even, positions))


def refined_near(n: int, points: Array) -> Any:
    """Return a triangular mesh of the unit square with h = 1/n near some points and larger elsewhere."""
    import ngsolve as ng
    from netgen.geom2d import unit_square
    from netgen.meshing import MeshingParameters

    wanted = MeshingParameters(maxh=0.25, grading=0.4)
    for p in points:
        wanted.RestrictH(x=float(p[0]), y=float(p[1]), z=0.0, h=1.0 / n)
    return ng.Mesh(unit_square.GenerateMesh(mp=wanted))


def manufactured(
    expression: Any, source: Any, wave: float, names: Sequence[sp.Symbol], mesh: Callable[[int], Any]
) -> Peer:
    """Return a peer for Δu + κ² u = f with a manufactured solution."""

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        modules = {k: getattr(ng, k) for k in ("exp", "sin", "cos", "sqrt")}
        positions = (ng.x, ng.y, ng.z)[: len(names)]
        given, f = (
            sp.lambdify(names, e.rewrite(sp.exp) if e.has(sp.tanh) else e, [modules])(*positions)
            for e in (expression, sp.sympify(source))
        )

        def left(u: Any, v: Any) -> Any:
            return ng.grad(u) * ng.grad(v) - wave**2 * u * v

        kind = "umfpack" if wave else "sparsecholesky" if len(names) < 3 else "bddc"
        right = None if source == 0 else lambda v: -f * v
        return galerkin(mesh(n), order, left, right, given, inverse=kind)

    return peer


def outflow(e: float) -> Peer:
    """Return a peer for -ε u'' + u' = 1, with half of the cells in the layer."""

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        mesh = rectangles(n, [piecewise_linear([0.0, 1.0 - min(40 * e, 0.5), 1.0])])

        def left(u: Any, v: Any) -> Any:
            return e * ng.grad(u)[0] * ng.grad(v)[0] + ng.grad(u)[0] * v

        return galerkin(mesh, order, left, lambda v: 1.0 * v, inverse="umfpack")

    return peer


def material_layers(edges: Sequence[float], k: Sequence[float], source: Sequence[float], d: int) -> Peer:
    """Return a peer for (k u')' = -s with piecewise constant k and s, equally many cells per material."""

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        def layered(values: Sequence[float]) -> Any:
            out = ng.CF(values[-1])
            for value, end in zip(values[-2::-1], edges[-2:0:-1], strict=True):
                out = ng.IfPos(end - ng.x, value, out)
            return out

        maps = [piecewise_linear(edges), float][:d]
        mesh = rectangles((n * len(k), n)[:d], maps)
        stiff, heat = layered(k), layered(source)

        def left(u: Any, v: Any) -> Any:
            return stiff * ng.grad(u) * ng.grad(v)

        return galerkin(mesh, order, left, lambda v: heat * v, ng.x, "left|right")

    return peer


def beam(a: float) -> Peer:
    """Return a peer for u'' = m, m'' = δ(x - a) in mixed form; u(0) = u'(0) = 0, m(1) = m'(1) = 0."""

    def peer(n: int, order: int) -> Found:
        import ngsolve as ng

        mesh = rectangles(2 * n, [piecewise_linear([0.0, a, 1.0])])
        space = ng.H1(mesh, order=order, dirichlet="left") * ng.H1(mesh, order=order, dirichlet="right")
        (u, m), (q, v) = space.TnT()
        form = ng.BilinearForm((m * v + ng.grad(u) * ng.grad(v) + ng.grad(m) * ng.grad(q)) * ng.dx).Assemble()
        # q(a) is the integral of q' from 0 to a, since q(0) = 0.
        load = ng.LinearForm(-ng.IfPos(a - ng.x, 1.0, 0.0) * ng.grad(q)[0] * ng.dx).Assemble()
        g = ng.GridFunction(space)
        g.vec.data = form.mat.Inverse(space.FreeDofs(), "umfpack") * load.vec
        return lambda X: np.asarray(g.components[0](mesh(*X.T))).reshape(-1)

    return peer


def convection_diffusion(e: float) -> Peer:
    """Return a peer for -ε Δu + (1, 2)·∇u = 1, graded towards 0 (corner) and towards 1 (layer)."""

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
    """Solve -Δu = 1 on the unit square, graded towards the corners."""
    import ngsolve as ng

    def grade(s: float) -> float:
        return float(4 * s**3 if s < 0.5 else 1 - 4 * (1 - s) ** 3)

    return galerkin(
        rectangles(n, [grade] * 2), order, lambda u, v: ng.grad(u) * ng.grad(v), lambda v: 1.0 * v
    )


def corner(n: int, order: int) -> Found:
    """Solve for r^(2/3) sin(2θ/3) in an L-shape: n layers of triangles with ratio 1/8 towards the corner."""
    import ngsolve as ng
    from netgen.geom2d import SplineGeometry

    shape = SplineGeometry()
    positions = [(-1, -1), (0, -1), (0, 0), (1, 0), (1, 1), (-1, 1)]
    numbers = [shape.AppendPoint(*p, hpref=1.0 if p == (0, 0) else 0.0) for p in positions]
    for i, number in enumerate(numbers):
        shape.Append(["line", number, numbers[(i + 1) % 6]])
    mesh = ng.Mesh(shape.GenerateMesh(maxh=1.0))
    mesh.RefineHP(levels=n, factor=0.125)
    angle = ng.atan2(ng.y, ng.x)
    angle = ng.IfPos(angle + 1e-9, angle, angle + 2 * np.pi)
    exact = (ng.x**2 + ng.y**2 + 1e-300) ** (1 / 3) * ng.sin(2 / 3 * angle)
    return galerkin(mesh, order, lambda u, v: ng.grad(u) * ng.grad(v), None, exact)

"""Further problems: shapes and solids."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from validation.references.plane import at_points
from validation.statements.statement import stated
from validation.statements.symbols import RADIUS_SQUARED, R, laplacian, t, u_of, v_of, x, y, z

_X, _Y = (
    sp.cos(R(1, 2)) * (x - R(1, 2)) + sp.sin(R(1, 2)) * y,
    -sp.sin(R(1, 2)) * (x - R(1, 2)) + sp.cos(R(1, 2)) * y,
)


@stated(
    "shape",
    "elasticity",
    "Saint-Venant: torsion",
    tags="ellipse",
    tol=1e-10,
    exact={"u": (1 - _X**2 - R(25, 4) * _Y**2) * R(4, 29)},
)
def elliptic_bar(p: Any) -> Any:
    """Prandtl's stress function of an elliptic bar, turned by half a radian."""
    u = u_of(x, y)
    return p.Problem(
        p.Ellipse((x, y), center=(0.5, 0), radii=(1, 0.4), angle=0.5),
        [sp.Eq(-laplacian(u), 2)],
        [p.Dirichlet(u, 0)],
    )


_pipes = ((0.8 + 0.7j, 0.3, 1.0), (2.1 + 0.8j, 0.25, -0.5))


def _two_pipes(M: Any = 110, K: Any = 24) -> Any:
    """Logarithms and multipoles in the pipes, polynomials orthogonalised on the boundary; least squares."""
    g = -np.cos(np.pi * (np.arange(220) + 0.5) / 220)
    box = np.concatenate([1.5 + 1.5 * g, 1.5 + 1.5 * g + 1.5j, 0.75j + 0.75j * g, 3 + 0.75j + 0.75j * g])
    ring = np.exp(2j * np.pi * np.arange(160) / 160)
    Z = np.concatenate([box] + [c + a * ring for c, a, _ in _pipes])
    want = np.concatenate([0 * box.real] + [T + 0 * ring.real for _, _, T in _pipes])
    H = np.zeros((M + 1, M), complex)
    Q = np.ones((len(Z), M + 1), complex)
    for k in range(M):
        q = (Z - 1.5 - 0.75j) * Q[:, k]
        for j in range(k + 1):
            H[j, k] = np.vdot(Q[:, j], q) / len(Z)
            q = q - H[j, k] * Q[:, j]
        H[k + 1, k] = np.linalg.norm(q) / math.sqrt(len(Z))
        Q[:, k + 1] = q / H[k + 1, k]

    def columns(z: Any, Qz: Any) -> Any:
        parts = [Qz.real, Qz.imag[:, 1:]]
        for c, a, _ in _pipes:
            w = a / (z - c)
            powers = w[:, None] ** np.arange(1, K + 1)
            parts += [np.log(np.abs(w))[:, None], powers.real, powers.imag]
        return np.hstack(parts)

    coefficients = np.linalg.lstsq(columns(Z, Q), want, rcond=1e-15)[0]

    def f(X: Any, Y: Any) -> Any:
        X, Y = np.broadcast_arrays(np.asarray(X, float), np.asarray(Y, float))
        z = (X + 1j * Y).ravel()
        W = np.ones((len(z), M + 1), complex)
        for k in range(M):
            q = (z - 1.5 - 0.75j) * W[:, k] - W[:, : k + 1] @ H[: k + 1, k]
            W[:, k + 1] = q / H[k + 1, k]
        return (columns(z, W) @ coefficients).reshape(X.shape)

    return {"u": f}


def _two_pipes_fem() -> Any:
    import ngsolve as ng
    from netgen.geom2d import Circle, CSG2d, Rectangle

    geo = CSG2d()
    cuts = [Circle(center=(c.real, c.imag), radius=a, bc=n) for (c, a, _), n in zip(_pipes, "ab")]
    geo.Add(Rectangle(pmin=(0, 0), pmax=(3, 1.5), bc="o") - cuts[0] - cuts[1])
    mesh = ng.Mesh(geo.GenerateMesh(maxh=0.15))
    mesh.Curve(9)
    V = ng.H1(mesh, order=9, dirichlet=".*")
    u, v = V.TnT()
    g = ng.GridFunction(V)
    g.Set(mesh.BoundaryCF({"o": 0, "a": 1, "b": -0.5}), ng.BND)
    a = ng.BilinearForm(ng.grad(u) * ng.grad(v) * ng.dx).Assemble()
    res = g.vec.CreateVector()
    res.data = a.mat * g.vec
    g.vec.data -= a.mat.Inverse(V.FreeDofs()) * res
    return {"u": at_points(mesh, g)}


@stated(
    "shape",
    "heat",
    "Hahn-Oezisik: buried pipes",
    tags="box with holes",
    tol=1e-8,
    numeric=_two_pipes,
    second=_two_pipes_fem,
    accuracy=1e-10,
    second_tol=1e-6,
    patch=5e-3,
    residual_tol=1e-5,
)
def two_pipes(p: Any) -> Any:
    """A warm and a cold pipe in a block with sides at 0."""
    u = u_of(x, y)
    warm, cold = p.Disk((x, y), (0.8, 0.7), 0.3), p.Disk((x, y), (2.1, 0.8), 0.25)
    return p.Problem(
        p.Box({x: (0, 3), y: (0, 1.5)}) - warm - cold,
        [sp.Eq(laplacian(u), 0)],
        [p.Dirichlet(u, 1, on=warm), p.Dirichlet(u, -0.5, on=cold), p.Dirichlet(u, 0)],
    )


_tri = 1 - x**2 - y**2 + R(3, 10) * (x**3 - 3 * x * y**2)


@stated("shape", "elasticity", "Timoshenko-Goodier: torsion", tags="implicit", tol=1e-8, exact={"u": _tri})
def rounded_bar(p: Any) -> Any:
    """The stress function of a bar with a rounded triangle as its section.

    Which is a level line of the solution.
    """
    u = u_of(x, y)
    return p.Problem(
        p.Implicit(-_tri, {x: (-1.5, 1.5), y: (-1.5, 1.5)}), [sp.Eq(-laplacian(u), 4)], [p.Dirichlet(u, 0)]
    )


_lake = sp.exp(x + (sp.sqrt(3) - 1) * y) - sp.exp(2 * x + (sp.sqrt(3) - 1) * y) / 2 + 1


@stated("shape", "ecology", "Okubo: drift in a lake", tags="spline", tol=1e-8, exact={"u": _lake})
def drift_in_lake(p: Any) -> Any:
    """Plankton that drifts and spreads in a lake of irregular shape; given along the shore."""
    u = u_of(x, y)
    shore = [
        (1.2, 0.1),
        (0.9, 0.7),
        (0.2, 0.8),
        (-0.4, 1.1),
        (-1.0, 0.6),
        (-0.9, -0.1),
        (-1.1, -0.6),
        (-0.3, -0.9),
        (0.4, -0.6),
        (1.0, -0.5),
    ]
    return p.Problem(
        p.Spline((x, y), shore),
        [sp.Eq(-laplacian(u) + 3 * u.diff(x) - 2 * u.diff(y), 0)],
        [p.Dirichlet(u, _lake)],
    )


_cx, _cy = x - R(1, 10), y + R(1, 5)


_fibre_out, _fibre_in = _cx * (1 - R(19, 21) * R(4, 25) / (_cx**2 + _cy**2)), _cx * R(2, 21)


def _fibre_jump() -> Any:
    worst = 0.0
    for a in np.linspace(0.1, 6, 9):
        at = {x: 0.1 + 0.4 * math.cos(a), y: -0.2 + 0.4 * math.sin(a)}

        def slope(e: Any, a: Any = a, at: Any = at) -> Any:
            return float((e.diff(x) * math.cos(a) + e.diff(y) * math.sin(a)).subs(at))

        worst = max(
            worst,
            abs(float((_fibre_out - _fibre_in).subs(at))),
            abs(slope(_fibre_out) - 20 * slope(_fibre_in)),
        )
    return worst


@stated(
    "shape",
    "composites",
    "Maxwell: inclusion",
    tags="circular inclusion, flux form",
    tol=1e-6,
    exact={"u": sp.Piecewise((_fibre_in, _cx**2 + _cy**2 < R(4, 25)), (_fibre_out, True))},
    extra=_fibre_jump,
)
def fibre_in_matrix(p: Any) -> Any:
    """A fibre that conducts twenty times as well as the matrix around it."""
    u = u_of(x, y)
    fibre = p.Disk((x, y), (0.1, -0.2), 0.4)
    k = sp.Piecewise((20, fibre.inside), (1, True))
    return p.Problem(
        p.Box({x: (-1, 1), y: (-1, 1)}), [sp.Eq(p.div(k * p.grad(u)), 0)], [p.Dirichlet(u, _fibre_out)]
    )


_decay_outside = -R(100, 2 * 115000 + 10 * 77000)


_lame = [_decay_outside * c * (1 - 4 / RADIUS_SQUARED) for c in (x, y)]


def _hooke(u: Any, v: Any) -> Any:
    d = 115000 * (u.diff(x) + v.diff(y))
    return d + 154000 * u.diff(x), d + 154000 * v.diff(y), 77000 * (u.diff(y) + v.diff(x))


@stated(
    "shape",
    "elasticity",
    "Lame: thick pipe",
    tags="annulus, system, traction, units",
    tol=1e-8,
    exact={"u": _lame[0], "v": _lame[1]},
)
def pipe_under_pressure(p: Any) -> Any:
    """A thick steel pipe (moduli in MPa) under 100 MPa inside, held fast outside."""
    u, v = u_of(x, y), v_of(x, y)
    bore = p.Disk((x, y), (0, 0), 1)
    sxx, syy, sxy = _hooke(u, v)
    return p.Problem(
        p.Disk((x, y), (0, 0), 2) - bore,
        [sp.Eq(sp.expand(sxx.diff(x) + sxy.diff(y)), 0), sp.Eq(sp.expand(sxy.diff(x) + syy.diff(y)), 0)],
        [
            p.Condition(sp.Eq(sxx * x + sxy * y, -100 * x), on=bore),
            p.Condition(sp.Eq(sxy * x + syy * y, -100 * y), on=bore),
            p.Dirichlet(u, 0),
            p.Dirichlet(v, 0),
        ],
    )


def _bl(b: Any) -> Any:
    return 2 * sp.log((1 + b) / (1 + b * RADIUS_SQUARED))


@stated(
    "shape",
    "combustion",
    "Gelfand: disc",
    tags="disc, nonlinear, two solutions",
    tol=1e-8,
    exact={"u": _bl(R(1, 4))},
    also=({"u": _bl(4)},),
)
def warm_disc(p: Any) -> Any:
    """Self-heating in a round bar, Laplace(u) + 32/25 exp(u) = 0.

    The hotter of the two solutions is accepted too.
    """
    u = u_of(x, y)
    return p.Problem(
        p.Disk((x, y), (0, 0), 1), [sp.Eq(laplacian(u) + R(32, 25) * sp.exp(u), 0)], [p.Dirichlet(u, 0)]
    )


_r3 = sp.sqrt(x**2 + y**2 + z**2)


_Cb = -R(1, 9) / (sp.sinh(3) + (3 * sp.cosh(3) - sp.sinh(3)) / 2)


@stated(
    "solid",
    "nuclear engineering",
    "Lamarsh: sphere",
    tags="3d, ball, Robin",
    tol=1e-6,
    exact={"u": R(1, 9) + _Cb * sp.sinh(3 * _r3) / _r3},
)
def neutron_ball(p: Any) -> Any:
    """Neutrons in a ball with an even source, some of which leave through the surface."""
    u = u_of(x, y, z)
    return p.Problem(
        p.Ball((x, y, z), (0, 0, 0), 1),
        [sp.Eq(-laplacian(u, x, y, z) + 9 * u, 1)],
        [p.Robin(u, 0, alpha=1, beta=R(1, 2))],
    )


_age = 5 * t + 1


_spark = _age ** R(-3, 2) * sp.exp(-(x**2 + y**2 + z**2) / (R(2, 5) * _age))


@stated(
    "solid", "heat", "Carslaw-Jaeger: instantaneous source", tags="3d and time", tol=1e-5, exact={"u": _spark}
)
def fading_spark(p: Any) -> Any:
    """Heat spreads from a hot spot in space (u_t = Laplace(u)/2, four coordinates)."""
    u = u_of(x, y, z, t)
    return p.Problem(
        p.Box({x: (-1, 1), y: (-1, 1), z: (-1, 1)}).during(t, 0, 0.2),
        [sp.Eq(u.diff(t), laplacian(u, x, y, z) / 2)],
        [p.Dirichlet(u, _spark), p.Initial(u, _spark.subs(t, 0))],
    )


_five = sp.symbols("a b c d e")


_plane5 = sp.exp(sum(k * q for k, q in zip((1, 2, -1, 1, 3), _five)) / 4)


@stated("solid", "statistics", "Evans", tags="5d", tol=1e-6, exact={"u": _plane5 + _five[0] * 0})
def five_dimensions(p: Any) -> Any:
    """Laplace(u) = u in a box of five dimensions."""
    u = u_of(*_five)
    return p.Problem(
        p.Box(dict.fromkeys(_five, (0, 1))), [sp.Eq(laplacian(u, *_five), u)], [p.Dirichlet(u, _plane5)]
    )

"""Problems on shapes and systems of equations, with references that are independent of pibls.

References are exact solutions or NGSolve at high order (`benchmarks.shape_references`). The required error is
relative to max|u| of each unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy as sp

import pibls
from benchmarks import shape_references as finite_elements
from pibls.arrays import Array

x, y, z, t = sp.symbols("x y z t")
Exact = Mapping[Any, Any]


@dataclass(frozen=True)
class Entry:
    """A problem with the required relative error and its references."""

    name: str
    goal: float
    build: Callable[[], tuple[pibls.Problem, Mapping[str, Callable[..., Array]]]]
    """The problem, and a reference for each unknown (of arrays of coordinates)."""
    tol: float = 1e-10
    settings: Mapping[str, Any] = field(default_factory=dict)
    reference_names: tuple[str, ...] = ()
    """Names of its references by NGSolve."""


def exactly(coordinates: tuple[Any, ...], unknowns: Exact) -> dict[str, Callable[..., Array]]:
    """NumPy functions of SymPy expressions, by the name of the unknown."""

    def function(e: Any) -> Callable[..., Array]:
        f = sp.lambdify(coordinates, e, "numpy")
        return lambda *X: np.broadcast_to(np.asarray(f(*X), dtype=float), np.shape(X[0]))

    return {str(u.func): function(e) for u, e in unknowns.items()}


def laplacian(e: Any, coordinates: tuple[Any, ...]) -> Any:
    return sum(e.diff(c, 2) for c in coordinates)


def manufactured(
    domain: Any,
    operator: Callable[..., list[Any]],
    unknowns: Exact,
    conditions: Callable[..., list[Any]] | None = None,
) -> tuple[pibls.Problem, dict[str, Callable[..., Array]]]:
    """A problem whose solution is given: operator(u…) = operator(exact…), values on the whole boundary."""
    names = list(unknowns)
    values = [unknowns[u] for u in names]
    sides = zip(operator(*names), operator(*values), strict=True)
    equations = [sp.Eq(left, right.doit()) for left, right in sides]
    given = (
        [pibls.Dirichlet(u, e) for u, e in unknowns.items()]
        if conditions is None
        else conditions(*names, *values)
    )
    problem = pibls.Problem(domain=domain, equations=equations, conditions=given)
    return problem, exactly(tuple(domain.coordinates), unknowns)


U, V, W, P = (sp.Function(n) for n in "uvwp")
u, v, p = U(x, y), V(x, y), P(x, y)
SMOOTH = sp.exp(x / 2) * sp.cos(2 * y) + x * y**2 / 3 + sp.sin(x * y)


def poisson(w: Any) -> list[Any]:
    return [laplacian(w, (x, y))]


# -- smooth solutions on shapes --


def polygon_two_holes() -> Any:
    outline = [(0, 0), (3, 0), (3.5, 1.5), (2, 2.5), (0.5, 2)]
    holes = [[(0.7, 0.5), (1.2, 0.5), (1.2, 1.0), (0.7, 1.1)], [(2, 0.8), (2.6, 1.0), (2.2, 1.6)]]
    return manufactured(pibls.Polygon((x, y), outline, holes=holes), poisson, {u: SMOOTH})


def implicit_shape() -> Any:
    level = x**4 + y**4 + sp.sin(3 * x) * y / 3 - 1
    return manufactured(pibls.Implicit(level, {x: (-1.4, 1.4), y: (-1.4, 1.4)}), poisson, {u: SMOOTH})


def ball() -> Any:
    exact = sp.exp(x / 2) * sp.cos(y + z) + x * y * z
    w = U(x, y, z)
    return manufactured(
        pibls.Ball((x, y, z), (0.2, 0, -0.1), 1.1), lambda w: [laplacian(w, (x, y, z))], {w: exact}
    )


def ring_neumann_robin() -> Any:
    outer = pibls.Disk((x, y), (0, 0), 1)
    inner = pibls.Disk((x, y), (0.2, 0.1), 0.35)
    e = SMOOTH
    along = e.diff(x) * (x - 0.2) + e.diff(y) * (y - 0.1)
    around = e.diff(x) * x + e.diff(y) * y

    def conditions(w: Any, exact: Any) -> list[Any]:
        return [
            pibls.Neumann(w, -along / sp.Float(0.35), on=inner),
            pibls.Robin(w, 2 * exact + around, 2, 1, on=outer),
        ]

    return manufactured(outer - inner, poisson, {u: e}, conditions)


def spline() -> Any:
    angle = np.linspace(0, 2 * np.pi, 13)[:-1]
    radius = 1 + 0.25 * np.cos(3 * angle)
    points = list(zip((radius * np.cos(angle)).tolist(), (radius * np.sin(angle)).tolist(), strict=True))
    return manufactured(pibls.Spline((x, y), points), poisson, {u: SMOOTH})


# -- plates with holes --


def four_discs() -> Any:
    domain: pibls.Shape = pibls.Box({x: (-1, 1), y: (-1, 1)})
    holes = [pibls.Disk((x, y), (a, b), 0.2) for a in (-0.5, 0.5) for b in (-0.5, 0.5)]
    for hole in holes:
        domain = domain - hole
    source = 10 * (17 + x**2 + y**2) * sp.sin(sp.pi * x) * sp.sin(4 * sp.pi * y)
    problem = pibls.Problem(
        domain,
        [sp.Eq(-laplacian(u, (x, y)) + 64 * u, source)],
        [*(pibls.Dirichlet(u, 1, on=h) for h in holes), pibls.Dirichlet(u, sp.Float(0.2))],
    )
    return problem, {"u": finite_elements.stored("four_discs")}


def discs(number: int) -> list[tuple[float, float, float]]:
    """Centres and radii of discs in the unit square that do not touch, always the same."""
    rng = np.random.default_rng(number)
    found: list[tuple[float, float, float]] = []
    size = 0.5 / np.sqrt(number)
    while len(found) < number:
        a, b, r = (*rng.uniform(0.06, 0.94, 2), rng.uniform(0.35, 0.6) * size)
        gap = min(a, b, 1 - a, 1 - b) - r
        apart = min((np.hypot(a - c, b - d) - r - q for c, d, q in found), default=1.0)
        if gap > 0.25 * size and apart > 0.25 * size:
            found.append((float(round(a, 4)), float(round(b, 4)), float(round(r, 4))))
    return found


def plate(number: int) -> Callable[[], Any]:
    def build() -> Any:
        domain: pibls.Shape = pibls.Box({x: (0, 1), y: (0, 1)})
        holes = [pibls.Disk((x, y), (a, b), r) for a, b, r in discs(number)]
        for hole in holes:
            domain = domain - hole
        problem = pibls.Problem(
            domain,
            [sp.Eq(laplacian(u, (x, y)), 0)],
            [*(pibls.Dirichlet(u, 1, on=h) for h in holes), pibls.Dirichlet(u, 0)],
        )
        return problem, {"u": finite_elements.stored(f"discs_{number}")}

    return build


# -- fields --

NU = sp.Rational(3, 10)


def strain(a: Any, b: Any) -> tuple[Any, Any, Any]:
    return a.diff(x), b.diff(y), (a.diff(y) + b.diff(x)) / 2


def stress(a: Any, b: Any) -> tuple[Any, Any, Any]:
    """Plane stress with E = 1."""
    exx, eyy, exy = strain(a, b)
    c = 1 / (1 - NU**2)
    return c * (exx + NU * eyy), c * (eyy + NU * exx), exy / (1 + NU)


def elasticity(a: Any, b: Any) -> list[Any]:
    sxx, syy, sxy = stress(a, b)
    return [sxx.diff(x) + sxy.diff(y), sxy.diff(x) + syy.diff(y)]


def kirsch_field() -> tuple[Any, Any]:
    """Displacements of a plate under tension 1 along x with a hole of radius 1 (E = 1, plane stress)."""
    r, th = sp.sqrt(x**2 + y**2), sp.atan2(y, x)
    mu, kappa = 1 / (2 * (1 + NU)), (3 - NU) / (1 + NU)
    ur = (r * ((kappa - 1) / 2 + sp.cos(2 * th)) + (1 / r) * (1 + (1 + kappa) * sp.cos(2 * th))
          - sp.cos(2 * th) / r**3) / (4 * mu)  # fmt: skip
    ut = (-r - (kappa - 1) / r - 1 / r**3) * sp.sin(2 * th) / (4 * mu)
    c, s = x / r, y / r
    cos2, sin2 = (x**2 - y**2) / r**2, 2 * x * y / r**2
    swap = {sp.cos(2 * th): cos2, sp.sin(2 * th): sin2}
    ur, ut = ur.subs(swap), ut.subs(swap)
    return sp.expand(ur * c - ut * s), sp.expand(ur * s + ut * c)


def kirsch() -> Any:
    """A hole of radius 1 in a square of side 6; the free rim is a condition on stresses."""
    hole = pibls.Disk((x, y), (0, 0), 1)
    domain = pibls.Box({x: (-3, 3), y: (-3, 3)}) - hole
    a, b = kirsch_field()
    sxx, syy, sxy = stress(u, v)
    problem = pibls.Problem(
        domain,
        [sp.Eq(e, 0) for e in elasticity(u, v)],
        [
            pibls.Condition(sp.Eq(sxx * x + sxy * y, 0), on=hole),
            pibls.Condition(sp.Eq(sxy * x + syy * y, 0), on=hole),
            pibls.Dirichlet(u, a),
            pibls.Dirichlet(v, b),
        ],
    )
    return problem, exactly((x, y), {u: a, v: b})


def stokes_three_holes() -> Any:
    domain: pibls.Shape = pibls.Box({x: (0, 2), y: (0, 1)})
    for a, b, r in ((0.4, 0.5, 0.15), (1.0, 0.35, 0.12), (1.5, 0.65, 0.18)):
        domain = domain - pibls.Disk((x, y), (a, b), r)
    psi = sp.sin(x * y) + x**2 * sp.cos(y)
    exact = {u: psi.diff(y), v: -psi.diff(x), p: sp.exp(x / 2) * sp.sin(2 * y)}

    def flow(a: Any, b: Any, q: Any) -> list[Any]:
        return [
            -laplacian(a, (x, y)) + q.diff(x),
            -laplacian(b, (x, y)) + q.diff(y),
            a.diff(x) + b.diff(y),
        ]

    def conditions(a: Any, b: Any, q: Any, ea: Any, eb: Any, eq: Any) -> list[Any]:
        corner = {x: 0, y: 0}
        return [
            pibls.Dirichlet(a, ea),
            pibls.Dirichlet(b, eb),
            pibls.Dirichlet(q, eq.subs(corner), on=corner),
        ]

    return manufactured(domain, flow, exact, conditions)


def elasticity_forty_holes() -> Any:
    domain: pibls.Shape = pibls.Box({x: (0, 1), y: (0, 1)})
    for a, b, r in discs(40):
        domain = domain - pibls.Disk((x, y), (a, b), r)
    exact = {u: sp.sin(2 * x) * sp.cos(y) / 10, v: x * y**2 / 7 + sp.exp(x) * sp.sin(y) / 20}
    return manufactured(domain, elasticity, exact)


def elasticity_ball() -> Any:
    X = (x, y, z)
    fields = [f(*X) for f in (U, V, W)]
    exact = dict(
        zip(fields, (sp.sin(x + y) * z / 5, x * y * z + sp.cos(z) / 4, sp.exp(x / 2) * y / 6), strict=True)
    )

    def navier(*d: Any) -> list[Any]:
        lam, mu = sp.Rational(3, 5), sp.Rational(2, 5)
        dilation = sum(a.diff(c) for a, c in zip(d, X, strict=True))
        return [mu * laplacian(a, X) + (lam + mu) * dilation.diff(c) for a, c in zip(d, X, strict=True)]

    return manufactured(pibls.Ball(X, (0, 0, 0), 1), navier, exact)


def elasticity_box() -> Any:
    problem, exact = elasticity_ball()
    box = pibls.Box({x: (0, 1), y: (0, 1), z: (0, 0.5)})
    return pibls.Problem(box, problem.equations, problem.conditions), exact


def reaction_system() -> Any:
    """a + b → c: three substances that diffuse and react, in a disc with a hole."""
    A, B, C = (sp.Function(n)(x, y) for n in "abc")
    domain = pibls.Disk((x, y), (0, 0), 1) - pibls.Disk((x, y), (0.3, 0), 0.2)
    exact = {A: 1 + x / 3 + y**2 / 4, B: 2 + sp.sin(x - y) / 2, C: sp.exp(-(x**2) - y) / 2}

    def react(a: Any, b: Any, c: Any) -> list[Any]:
        rate = 3 * a * b
        return [
            laplacian(a, (x, y)) - rate,
            2 * laplacian(b, (x, y)) - rate + c,
            laplacian(c, (x, y)) / 2 + rate - c,
        ]

    return manufactured(domain, react, exact)


def mixed_order() -> Any:
    """A plate on a membrane: Δ²u + v = f, Δv - u = g, on an ellipse."""
    domain = pibls.Ellipse((x, y), (0, 0), (1, 0.6), 0.4)
    exact = {u: sp.cos(x + 2 * y) / 3, v: sp.exp(x * y)}

    def both(a: Any, b: Any) -> list[Any]:
        return [laplacian(laplacian(a, (x, y)), (x, y)) + b, laplacian(b, (x, y)) - a]

    def conditions(a: Any, b: Any, ea: Any, eb: Any) -> list[Any]:
        return [
            pibls.Dirichlet(a, ea),
            pibls.Condition(sp.Eq(laplacian(a, (x, y)), laplacian(ea, (x, y)))),
            pibls.Dirichlet(b, eb),
        ]

    return manufactured(domain, both, exact, conditions)


def different_sizes() -> Any:
    """A displacement of 1e-6 beside a pressure of 1e5, on a disc with a hole."""
    domain = pibls.Disk((x, y), (0, 0), 1) - pibls.Disk((x, y), (0, 0.3), 0.25)
    exact = {u: 1e-6 * sp.sin(x + y), p: 1e5 * (2 + x * y + sp.cos(y))}

    def both(a: Any, q: Any) -> list[Any]:
        return [laplacian(a, (x, y)) - 1e-11 * q, laplacian(q, (x, y)) - q + 1e10 * a.diff(x)]

    return manufactured(domain, both, exact)


# -- corners and materials --


def l_shape() -> Any:
    """r^(2/3) sin(2θ/3) around a re-entrant corner."""
    angle = sp.Piecewise((sp.atan2(y, x), y >= 0), (sp.atan2(y, x) + 2 * sp.pi, True))
    exact = (x**2 + y**2) ** sp.Rational(1, 3) * sp.sin(2 * angle / 3)
    room = pibls.Polygon((x, y), [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)])
    problem = pibls.Problem(room, [sp.Eq(laplacian(u, (x, y)), 0)], [pibls.Dirichlet(u, exact)])
    return problem, {
        "u": lambda a, b: np.hypot(a, b) ** (2 / 3) * np.sin(2 / 3 * np.mod(np.arctan2(b, a), 2 * np.pi))
    }


def half_way() -> Any:
    """r^(1/2) sin(θ/2) where a Dirichlet side becomes a Neumann side, in the middle of a straight line."""
    r = sp.sqrt(x**2 + y**2)
    exact = sp.sqrt((r - x) / 2)
    box = pibls.Box({x: (-1, 1), y: (0, 1)})
    conditions = [
        pibls.Dirichlet(u, 0, on=sp.And(sp.Eq(y, 0), x > 0)),
        pibls.Neumann(u, 0, on=sp.And(sp.Eq(y, 0), x < 0)),
        pibls.Dirichlet(u, exact),
    ]
    problem = pibls.Problem(box, [sp.Eq(laplacian(u, (x, y)), 0)], conditions)
    return problem, {"u": lambda a, b: np.sqrt(np.maximum(np.hypot(a, b) - a, 0.0) / 2)}


def slit() -> Any:
    """r^(1/2) sin(θ/2) around the end of a slit: it jumps across its lips, which let nothing through."""
    cut = pibls.Slit((x, y), [(-1, 0), (0, 0)])
    exact = sp.sqrt((sp.sqrt(x**2 + y**2) - x) / 2) * sp.Piecewise((1, y >= 0), (-1, True))
    box = pibls.Box({x: (-1, 1), y: (-1, 1)})
    conditions = [pibls.Neumann(u, 0, on=cut), pibls.Dirichlet(u, exact, on=box)]
    problem = pibls.Problem(box - cut, [sp.Eq(laplacian(u, (x, y)), 0)], conditions)

    def jumping(a: Array, b: Array) -> Array:
        return np.asarray(np.sqrt(np.maximum(np.hypot(a, b) - a, 0.0) / 2) * np.where(b >= 0, 1.0, -1.0))

    return problem, {"u": jumping}


def inclusion() -> Any:
    """A disc that conducts 400 times as well, in a uniform stream."""
    square, b = x**2 + y**2, sp.Rational(1 - 400, 1 + 400)
    k = sp.Piecewise((400, square < sp.Rational(1, 4)), (1, True))
    exact = sp.Piecewise(((1 + b) * x, square < sp.Rational(1, 4)), (x * (1 + b / (4 * square)), True))
    domain = pibls.Box({x: (-1, 1), y: (-1, 1)})
    problem = pibls.Problem(domain, [pibls.div(k * pibls.grad(u))], [pibls.Dirichlet(u, exact.args[-1].expr)])
    return problem, exactly((x, y), {u: exact})


# -- the lid-driven cavity --


def cavity(re: int) -> Callable[[], Any]:
    def build() -> Any:
        convection_u = u * u.diff(x) + v * u.diff(y)
        convection_v = u * v.diff(x) + v * v.diff(y)
        problem = pibls.Problem(
            pibls.Box({x: (0, 1), y: (0, 1)}),
            [
                sp.Eq(convection_u, -p.diff(x) + laplacian(u, (x, y)) / re),
                sp.Eq(convection_v, -p.diff(y) + laplacian(v, (x, y)) / re),
                sp.Eq(u.diff(x) + v.diff(y), 0),
            ],
            [
                pibls.Dirichlet(u, 1, on=sp.Eq(y, 1)),
                pibls.Dirichlet(u, 0),
                pibls.Dirichlet(v, 0),
                pibls.Dirichlet(p, 0, on={x: 0.5, y: 0}),
            ],
        )
        return problem, {"u": finite_elements.stored(f"cavity_{re}")}

    return build


# -- in time --


def heat_ring() -> Any:
    hole = pibls.Disk((x, y), (0.2, 0), 0.3)
    domain = (pibls.Disk((x, y), (0, 0), 1) - hole).during(t, 0, 0.5)
    w = U(x, y, t)
    exact = sp.exp(-t) * sp.cos(x + y / 2) + x * y * t / 2
    problem = pibls.Problem(
        domain,
        [sp.Eq(w.diff(t), laplacian(w, (x, y)) + sp.expand(exact.diff(t) - laplacian(exact, (x, y))))],
        [pibls.Initial(w, exact.subs(t, 0)), pibls.Dirichlet(w, exact)],
    )
    return problem, exactly((x, y, t), {w: exact})


def wave_room() -> Any:
    room = pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]).during(t, 0, 1)
    w = U(x, y, t)
    exact = sp.cos(sp.pi * x) * sp.cos(sp.pi * y) * sp.cos(sp.sqrt(2) * sp.pi * t)
    problem = pibls.Problem(
        room,
        [sp.Eq(w.diff(t, 2), laplacian(w, (x, y)))],
        [pibls.Initial(w, exact.subs(t, 0)), pibls.Initial(w.diff(t), 0), pibls.Neumann(w, 0)],
    )
    return problem, exactly((x, y, t), {w: exact})


# -- many dimensions --


def many(d: int, kind: str) -> Callable[[], Any]:
    def build() -> Any:
        X = sp.symbols(f"x1:{d + 1}")
        if kind == "additive":
            exact = sum(sp.sin(c + sp.Rational(i, 3)) for i, c in enumerate(X))
        elif kind == "gauss":
            exact = sp.exp(-sum(c**2 for c in X) / 4)
        else:
            exact = sp.sin(sum(X) / 2) + sp.exp(-X[0] * X[1]) * sp.cos(X[2])
        w = U(*X)
        domain = pibls.Box(dict.fromkeys(X, (0, 1)))
        return manufactured(domain, lambda w: [laplacian(w, X)], {w: exact})

    return build


ENTRIES = (
    Entry("polygon with two holes", 1e-9, polygon_two_holes),
    Entry("implicit shape", 1e-9, implicit_shape),
    Entry("ball", 1e-9, ball),
    Entry("ring, Neumann and Robin", 1e-9, ring_neumann_robin),
    Entry("spline", 1e-9, spline),
    Entry("four discs", 1e-6, four_discs, tol=1e-7, reference_names=("four_discs",)),
    Entry("12 discs", 1e-5, plate(12), tol=1e-6, reference_names=("discs_12",)),
    Entry("40 discs", 1e-5, plate(40), tol=1e-5, reference_names=("discs_40",)),
    Entry("L-shape, r^(2/3)", 1e-8, l_shape),
    Entry("slit", 1e-8, slit),
    Entry("Dirichlet meets Neumann", 1e-8, half_way),
    Entry("inclusion, 1 : 400", 1e-9, inclusion),
    Entry("Kirsch", 1e-8, kirsch),
    Entry("Stokes, three holes", 1e-8, stokes_three_holes),
    Entry("elasticity, 40 holes", 1e-8, elasticity_forty_holes),
    Entry("elasticity, ball", 1e-8, elasticity_ball, tol=1e-9),
    Entry("elasticity, box", 1e-8, elasticity_box, tol=1e-9),
    Entry("reaction system", 1e-8, reaction_system),
    Entry("mixed order", 1e-8, mixed_order),
    Entry("different sizes", 1e-8, different_sizes),
    Entry("heat, ring", 1e-6, heat_ring, tol=1e-7),
    Entry("wave, L-shaped room", 1e-6, wave_room, tol=1e-7),
    Entry("5-D, additive", 1e-10, many(5, "additive"), tol=1e-11),
    Entry("5-D, Gaussian", 1e-5, many(5, "gauss"), tol=1e-5),
    Entry("5-D, mixed", 1e-5, many(5, "mixed"), tol=1e-5),
    Entry("10-D, additive", 1e-4, many(10, "additive"), tol=1e-5),
    Entry("cavity, Re = 100", 1e-4, cavity(100), tol=1e-4, reference_names=("cavity_100",)),
    Entry("cavity, Re = 400", 1e-2, cavity(400), tol=1e-3, reference_names=("cavity_400",)),
)

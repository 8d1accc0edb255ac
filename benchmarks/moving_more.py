"""Further problems of `benchmarks.moving`: fronts, solitons, chaos, spot patterns, heat and vortices."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

import pibls
from benchmarks.evolutions import Evolution, Reference
from benchmarks.method_of_lines import (
    Chebyshev,
    Plane,
    Ring,
    etdrk4_reference,
    formula,
    integrating_factor_peer,
    method_of_lines_peers,
    sampled_reference,
    t,
    x,
    y,
)
from benchmarks.torus import flow_peers

u, v = sp.Function("u")(x, t), sp.Function("v")(x, t)


def phases() -> Evolution:
    """Even round its ring: the half of it with u_x = 0 at both ends is the same, and has no seam."""

    def grid_and_rates(n: int) -> tuple[Any, Any]:
        grid = Chebyshev(n, 0, 1)

        def rates(_: float, f: Any) -> Any:
            slope = grid.D @ f
            slope[[0, -1]] = 0
            return 1e-4 * (grid.D @ slope) + 5 * f - 5 * f**3

        return grid, rates

    def start(grid: Any) -> Any:
        return grid.nodes**2 * np.cos(np.pi * grid.nodes)

    def reference() -> Reference:
        from scipy.integrate import solve_ivp

        grid, rates = grid_and_rates(640)  # at 320 the front is known to 2e-5
        times = np.linspace(0, 1, 9)[1:]
        found = solve_ivp(rates, (0, 1), start(grid), method="BDF", rtol=1e-11, atol=1e-11, t_eval=times)
        X = np.concatenate([np.column_stack([grid.nodes[::6], np.full(107, s)]) for s in times])
        return Reference(X, found.y[::6].T.reshape(1, -1))

    grid, rates = grid_and_rates(400)
    return Evolution(
        "Allen-Cahn, 1e-4",
        lambda: pibls.Problem(
            pibls.Interval(x, -1, 1).during(t, 0, 1),
            [u.diff(t) - u.diff(x, 2) / 10_000 + 5 * u**3 - 5 * u],
            [pibls.Periodic(u, x), pibls.Initial(u, x**2 * sp.cos(sp.pi * x))],
        ),
        reference,
        lambda: method_of_lines_peers(rates, start(grid), grid, 1, 1, ["BDF", "LSODA", "Radau"]),
        1e-6,
    )


def soliton() -> Evolution:
    ring = Ring(320, -30, 30)
    return Evolution(
        "Schrödinger soliton",
        lambda: pibls.Problem(
            pibls.Interval(x, -30, 30).during(t, 0, 2),
            [
                u.diff(t) + v.diff(x, 2) / 2 + (u**2 + v**2) * v,
                v.diff(t) - u.diff(x, 2) / 2 - (u**2 + v**2) * u,
            ],
            [
                pibls.Periodic(u, x),
                pibls.Periodic(v, x),
                pibls.Initial(u, sp.cos(x) / sp.cosh(x)),
                pibls.Initial(v, sp.sin(x) / sp.cosh(x)),
            ],
        ),
        sampled_reference(
            [(-30, 30), (0, 2)], *formula(sp.cos(x) / sp.cosh(x - t), sp.sin(x) / sp.cosh(x - t))
        ),
        lambda: integrating_factor_peer(
            -0.5j * ring.k**2,
            lambda f: 1j * np.abs(f) ** 2 * f,
            np.exp(1j * ring.nodes) / np.cosh(ring.nodes),
            ring,
            2,
            lambda fields: [fields.real, fields.imag],
        ),
        1e-6,
    )


def chaos(stop: int = 100) -> Evolution:
    """Until an error of rounding has grown to the tolerance."""
    start = sp.cos(x / 16) * (1 + sp.sin(x / 16))

    def begun(ring: Ring) -> Any:
        return np.cos(ring.nodes / 16) * (1 + np.sin(ring.nodes / 16))

    def reference() -> Reference:
        ring = Ring(384, 0, 32 * np.pi)
        return etdrk4_reference(
            ring,
            [ring.k**2 - ring.k**4 + 0j],
            lambda f: -f * np.array([ring.d(f[0])]),
            [begun(ring)],
            stop,
            64_000,
        )

    ring = Ring(256, 0, 32 * np.pi)
    return Evolution(
        f"Kuramoto-Sivashinsky to t = {stop}",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 32 * sp.pi).during(t, 0, stop),
            [u.diff(t) + u * u.diff(x) + u.diff(x, 2) + u.diff(x, 4)],
            [pibls.Periodic(u, x), pibls.Initial(u, start)],
        ),
        reference,
        lambda: method_of_lines_peers(
            lambda _, f: -f * ring.d(f) - ring.d(f, 2) - ring.d(f, 4),
            begun(ring),
            ring,
            stop,
            1,
            ["LSODA", "BDF"],
        ),
        1e-6,
    )


def spots(stop: int = 200) -> Evolution:
    peak = sp.exp(-50 * x**2)

    def begun(ring: Ring) -> tuple[Any, Any]:
        bump = np.exp(-50 * ring.nodes**2)
        return 1 - bump / 2, bump / 4

    def reference() -> Reference:
        ring = Ring(512, -1, 1)
        rates = [-1e-4 * ring.k**2 - 0.04, -1e-5 * ring.k**2 - 0.1]

        def bent(f: Any) -> Any:
            eaten = f[0] * f[1] ** 2
            return np.array([0.04 - eaten, eaten])

        return etdrk4_reference(ring, rates, bent, begun(ring), stop, 16_000)

    ring = Ring(384, -1, 1)

    def rates(_: float, f: Any) -> Any:
        a, b = np.split(f, 2)
        eaten = a * b**2
        return np.concatenate(
            [1e-4 * ring.d(a, 2) - eaten + 0.04 * (1 - a), 1e-5 * ring.d(b, 2) + eaten - 0.1 * b]
        )

    return Evolution(
        f"Gray-Scott to t = {stop}",
        lambda: pibls.Problem(
            pibls.Interval(x, -1, 1).during(t, 0, stop),
            [
                u.diff(t) - u.diff(x, 2) / 10_000 + u * v**2 - sp.Rational(1, 25) * (1 - u),
                v.diff(t) - v.diff(x, 2) / 100_000 - u * v**2 + v / 10,
            ],
            [
                pibls.Periodic(u, x),
                pibls.Periodic(v, x),
                pibls.Initial(u, 1 - peak / 2),
                pibls.Initial(v, peak / 4),
            ],
        ),
        reference,
        lambda: method_of_lines_peers(rates, np.concatenate(begun(ring)), ring, stop, 2, ["DOP853", "RK45"]),
        1e-6,
    )


def heat() -> Evolution:
    exact = sp.exp(-(sp.pi**2) * t / 100) * sp.sin(sp.pi * x) + sp.exp(-9 * sp.pi**2 * t / 100) * sp.sin(
        3 * sp.pi * x
    )
    grid = Chebyshev(24, 0, 1)
    D2 = grid.D @ grid.D / 100

    def rates(_: float, f: Any) -> Any:
        out = D2 @ f
        out[[0, -1]] = 0
        return out

    start = np.sin(np.pi * grid.nodes) + np.sin(3 * np.pi * grid.nodes)
    return Evolution(
        "Heat to t = 10",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 10),
            [u.diff(t) - u.diff(x, 2) / 100],
            [pibls.Dirichlet(u, 0), pibls.Initial(u, exact.subs(t, 0))],
        ),
        sampled_reference([(0, 1), (0, 10)], *formula(exact)),
        lambda: method_of_lines_peers(rates, start, grid, 10, 1, ["LSODA", "BDF", "Radau", "DOP853"]),
        1e-8,
    )


def drift() -> Evolution:
    k = 2 * sp.pi
    exact = sp.exp(-(k**2) * t / 100) * sp.sin(k * (x - t))
    value, rate = formula(exact, exact.diff(t))
    grid = Chebyshev(24, 0, 1)
    D2 = grid.D @ grid.D / 100

    def rates(time: float, f: Any) -> Any:
        out = D2 @ f - grid.D @ f
        out[[0, -1]] = rate(grid.nodes[[0, -1]], time)
        return out

    return Evolution(
        "Advection and diffusion to t = 10",
        lambda: pibls.Problem(
            pibls.Interval(x, 0, 1).during(t, 0, 10),
            [u.diff(t) + u.diff(x) - u.diff(x, 2) / 100],
            [pibls.Dirichlet(u, exact), pibls.Initial(u, exact.subs(t, 0))],
        ),
        sampled_reference([(0, 1), (0, 10)], *formula(exact)),
        lambda: method_of_lines_peers(
            rates, value(grid.nodes, 0.0), grid, 10, 1, ["DOP853", "LSODA", "Radau"]
        ),
        1e-8,
    )


def plate() -> Evolution:
    w = sp.Function("w")(x, y, t)
    plane = Plane(16)
    a, b = plane.X.T

    def exact(a: Any, b: Any, c: Any) -> Any:
        low = np.sin(np.pi * a) * np.sin(np.pi * b) * np.exp(-2 * np.pi**2 * c)
        return low + np.sin(2 * np.pi * a) * np.sin(3 * np.pi * b) * np.exp(-13 * np.pi**2 * c) / 2

    start = sp.sin(sp.pi * x) * sp.sin(sp.pi * y) + sp.sin(2 * sp.pi * x) * sp.sin(3 * sp.pi * y) / 2
    return Evolution(
        "Heat on a square",
        lambda: pibls.Problem(
            pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, sp.Rational(1, 10)),
            [w.diff(t) - w.diff(x, 2) - w.diff(y, 2)],
            [pibls.Dirichlet(w, 0), pibls.Initial(w, start)],
        ),
        sampled_reference([(0, 1), (0, 1), (0, 0.1)], exact),
        lambda: method_of_lines_peers(
            lambda _, f: plane.inside(plane.laplace(f)),
            exact(a, b, 0.0),
            plane,
            0.1,
            1,
            ["BDF", "LSODA", "DOP853"],
        ),
        1e-6,
    )


def vortices(stop: int = 2) -> Evolution:
    """Taylor and Green's; the peer projects velocities on eight by eight points."""
    U, V, p = (sp.Function(name)(x, y, t) for name in ("u", "v", "p"))
    nu = sp.Rational(1, 100)
    fade = sp.exp(-2 * nu * t)
    exact = (
        -sp.cos(x) * sp.sin(y) * fade,
        sp.sin(x) * sp.cos(y) * fade,
        -(sp.cos(2 * x) + sp.cos(2 * y)) * fade**2 / 4,
    )

    def flow(f: Any, pressed: Any) -> Any:
        across = U * f.diff(x) + V * f.diff(y)
        return f.diff(t) + across + pressed - nu * (f.diff(x, 2) + f.diff(y, 2))

    return Evolution(
        "Taylor-Green, Re = 100",
        lambda: pibls.Problem(
            pibls.Box({x: (0, 2 * sp.pi), y: (0, 2 * sp.pi)}).during(t, 0, stop),
            [flow(U, p.diff(x)), flow(V, p.diff(y)), U.diff(x) + V.diff(y)],
            [
                *(pibls.Periodic(f, c) for f in (U, V, p) for c in (x, y)),
                pibls.Initial(U, exact[0].subs(t, 0)),
                pibls.Initial(V, exact[1].subs(t, 0)),
                pibls.Condition(sp.Eq(p, exact[2].subs({x: 0, y: 0})), on={x: 0, y: 0}),
            ],
        ),
        # Unknowns come in the order of their names.
        sampled_reference(
            [(0, 2 * np.pi), (0, 2 * np.pi), (0, stop)],
            *(sp.lambdify((x, y, t), e) for e in (exact[2], *exact[:2])),
        ),
        lambda: flow_peers(
            8,
            float(nu),
            lambda a, b: (-np.cos(a) * np.sin(b), np.sin(a) * np.cos(b)),
            lambda c: -0.5 * np.exp(-4 * float(nu) * c),
            stop,
        ),
        1e-6,
    )


MORE = [phases(), soliton(), chaos(), spots(), heat(), drift(), plate(), vortices()]

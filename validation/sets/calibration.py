"""Problems of many kinds on which the error estimate is calibrated, and the cases of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls import Box, Condition, Dirichlet, Initial, Interval, Neumann, Periodic, Robin
from validation.entry import Entry
from validation.known import Known, from_known, laplacian, one, s, several, t, x, y, z

half = sp.Rational(1, 2)


def paper_cases() -> list[Known]:
    """Return the eleven cases of the paper; their exact solutions are NumPy functions."""
    return [Known(c.name, "paper", c.problem, {c.problem.unknowns[0]: c}) for c in pibls.cases.values()]


def square_torsion() -> Known:
    """Return -Δu = 1 on the unit square, u = 0 on its sides: u has r² log r singularities at the corners."""
    x, y = sp.symbols("x y")
    u = sp.Function("u")(x, y)
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [sp.Eq(u.diff(x, 2) + u.diff(y, 2), -1)],
        [pibls.Dirichlet(u, 0)],
    )
    return Known("torsion of a square", "rough", problem, {u: torsion})


def torsion(x: Any, y: Any) -> Any:
    """Return its Fourier series along the axis of fast decay (60 terms along the other axis: error 3e-6)."""
    from_x, from_y = np.minimum(x, 1 - x), np.minimum(y, 1 - y)
    near, far = np.minimum(from_x, from_y), np.maximum(from_x, from_y)
    a = np.pi * np.arange(1, 8000, 2)[:, None]
    decay = (np.exp(-a * far) + np.exp(-a * (1 - far))) / (1 + np.exp(-a))
    return near * (1 - near) / 2 - (4 / a**3 * np.sin(a * near) * decay).sum(axis=0)


def _one_dimension() -> list[Known]:
    unit, wide = Interval(x, 0, 1), Interval(x, -1, 1)
    out = []

    def add(name: str, kind: str, domain: Any, operator: Any, exact: Any, conditions: Any) -> None:
        out.append(one(name, kind, domain, operator, exact, conditions))

    e = sp.sin(12 * x) + x
    add("Helmholtz", "oscillatory", unit, lambda u: u.diff(x, 2) + 100 * u, e, lambda u: [Dirichlet(u, e)])
    w = sp.sin(60 * x) + sp.cos(35 * x)
    add("fast waves", "oscillatory", unit, lambda u: u.diff(x, 2) - u, w, lambda u: [Dirichlet(u, w)])
    for n in (50, 200):
        layer = x - (sp.exp(n * (x - 1)) - sp.exp(-n)) / (1 - sp.exp(-n))
        add(f"boundary layer 1/{n}", "layered", unit, lambda u, n=n: -u.diff(x, 2) / n + u.diff(x), layer,
            lambda u, layer=layer: [Dirichlet(u, layer)])  # fmt: skip
    inner = sp.tanh(20 * (x - half))
    add("interior layer", "layered", unit, lambda u: u.diff(x, 2), inner, lambda u: [Dirichlet(u, inner)])
    runge = 1 / (1 + 25 * x**2)
    add("Runge", "layered", wide, lambda u: u.diff(x, 2) + u, runge, lambda u: [Dirichlet(u, runge)])
    rough = sp.Abs(x - half) ** sp.Rational(9, 2)
    add("limited smoothness", "rough", unit, lambda u: u.diff(x) + u, rough,
        lambda u: [Dirichlet(u, rough, on=sp.Eq(x, 0))])  # fmt: skip
    wavy = sp.exp(sp.sin(3 * x))
    add("variable coefficient", "smooth", unit, lambda u: ((1 + x**2) * u.diff(x)).diff(x) - u, wavy,
        lambda u: [Dirichlet(u, wavy)])  # fmt: skip
    decay = sp.cos(4 * x) * sp.exp(-x)
    add("Robin and Neumann", "smooth", unit, lambda u: u.diff(x, 2) - u, decay,
        lambda u: [Robin(u, 2 * decay - 3 * decay.diff(x), 2, 3, on=sp.Eq(x, 0)),
                   Neumann(u, decay.diff(x), on=sp.Eq(x, 1))])  # fmt: skip
    third = sp.sin(5 * x) + x**2
    add("third order", "smooth", unit, lambda u: u.diff(x, 3) + u, third,
        lambda u: [Dirichlet(u, third, on=unit),
                   Condition(sp.Eq(u.diff(x), third.diff(x)), on=sp.Eq(x, 0))])  # fmt: skip
    beam = x**2 * (1 - x) ** 2 * sp.exp(x)
    add("clamped beam", "smooth", unit, lambda u: u.diff(x, 4), beam,
        lambda u: [Dirichlet(u, 0), Neumann(u, 0)])  # fmt: skip
    forced = sp.cos(10 * t) + sp.exp(-t)
    add("forced decay", "smooth", Interval(t, 0, 4), lambda u: u.diff(t) + u, forced,
        lambda u: [Initial(u, forced.subs(t, 0))])  # fmt: skip
    return out


def _one_dimension_nonlinear() -> list[Known]:
    unit = Interval(x, 0, 1)
    bump, front = sp.sin(4 * x) + half, sp.tanh(3 * (x - half))
    swing, growth = sp.sin(2 * t) + sp.cos(t), 1 / (1 + 4 * sp.exp(-3 * t))
    return [
        one("Bratu", "nonlinear", unit, lambda u: u.diff(x, 2) + sp.exp(u), bump,
            lambda u: [Dirichlet(u, bump)]),
        one("steady Burgers", "nonlinear", unit, lambda u: u * u.diff(x) - u.diff(x, 2) / 10, front,
            lambda u: [Dirichlet(u, front)]),
        one("pendulum", "nonlinear", Interval(t, 0, 3), lambda u: u.diff(t, 2) + 3 * sp.sin(u), swing,
            lambda u: [Initial(u, 1), Initial(u.diff(t), 2)]),
        one("logistic growth", "nonlinear", Interval(t, 0, 2), lambda u: u.diff(t) - 3 * u * (1 - u), growth,
            lambda u: [Initial(u, sp.Rational(1, 5))]),
        one("radiating end", "nonlinear", unit, lambda u: u.diff(x, 2) - u, bump + 1,
            lambda u: [Dirichlet(u, bump + 1, on=sp.Eq(x, 0)),
                       Condition(sp.Eq(u.diff(x) + u**4, bump.diff(x) + (bump + 1) ** 4), on=sp.Eq(x, 1))]),
        several("predator and prey", "nonlinear system", Interval(t, 0, 2),
                lambda u, v: [u.diff(t) - u + u * v, v.diff(t) + v - u * v],
                [1 + sp.sin(3 * t) / 2, 2 + sp.cos(2 * t) / 2],
                lambda u, v: [Initial(u, 1), Initial(v, sp.Rational(5, 2))]),
    ]  # fmt: skip


def _two_dimensions() -> list[Known]:
    square = Box({x: (0, 1), y: (0, 1)})
    plane = sp.sin(6 * x + 8 * y)
    peak = sp.exp(-30 * ((x - half) ** 2 + (y - half) ** 2))
    mixed = sp.sin(2 * x) * sp.exp(y) + x * y
    smooth = sp.cos(2 * x + y) + x * y**2
    layer = sp.exp(-8 * x) * sp.cos(3 * y) + y
    w1, w2, p = sp.sin(x) * sp.sin(y), sp.cos(x) * sp.cos(y), sp.sin(2 * x) * sp.cos(y)

    def everywhere(exact: Any) -> Callable[[Any], list[Any]]:
        return lambda u: [Dirichlet(u, exact)]

    return [
        one("Helmholtz 2D", "oscillatory", square, lambda u: laplacian(u) + 50 * u, plane, everywhere(plane)),
        one("peak", "layered", square, laplacian, peak, everywhere(peak)),
        one("steep decay", "layered", square, lambda u: laplacian(u) - 64 * u, layer, everywhere(layer)),
        one("anisotropic diffusion", "smooth", square,
            lambda u: (1 + x) * u.diff(x, 2) + half * u.diff(x, y) + 2 * u.diff(y, 2) + u.diff(y), mixed,
            everywhere(mixed)),
        one("mixed conditions", "smooth", square, laplacian, smooth,
            lambda u: [Dirichlet(u, smooth), Neumann(u, smooth.diff(x), on=sp.Eq(x, 1)),
                       Neumann(u, -smooth.diff(y), on=sp.Eq(y, 0))]),
        one("biharmonic", "smooth", square, lambda u: laplacian(laplacian(u)), smooth,
            lambda u: [Dirichlet(u, smooth),
                       Condition(laplacian(u) - laplacian(smooth))]),
        one("cubic reaction", "nonlinear", square, lambda u: laplacian(u) - u**3, smooth, everywhere(smooth)),
        one("Liouville", "nonlinear", square, lambda u: laplacian(u) + sp.exp(u), mixed / 2,
            everywhere(mixed / 2)),
        several("Stokes", "system", square,
                lambda u, v, p: [-laplacian(u) + p.diff(x), -laplacian(v) + p.diff(y), u.diff(x) + v.diff(y)],
                [w1, w2, p],
                lambda u, v, q: [Dirichlet(u, w1), Dirichlet(v, w2), Dirichlet(q, 0, on={x: 0, y: 0})]),
    ]  # fmt: skip


def _time() -> list[Known]:
    strip, ring = Interval(x, 0, 1).during(t, 0, half), Interval(x, -1, 1).during(t, 0, 1)
    heat = sp.exp(-t) * sp.sin(3 * x) + x * t
    wave = sp.sin(sp.pi * x) * sp.cos(sp.pi * t)
    turning = sp.sin(sp.pi * (x - 3 * t))
    fisher = sp.Rational(1, 2) + sp.cos(2 * x + t) / 4
    c, w = sp.cos(2 * x - 3 * t), sp.sin(2 * x - 3 * t)
    tail = sp.exp(-t) * sp.cos(x + 2 * y)
    return [
        one("heat", "time", strip, lambda u: u.diff(t) - u.diff(x, 2), heat,
            lambda u: [Dirichlet(u, heat), Initial(u, heat.subs(t, 0))]),
        one("vibrating string", "time", strip, lambda u: u.diff(t, 2) - u.diff(x, 2), wave,
            lambda u: [Dirichlet(u, 0), Initial(u, wave.subs(t, 0)), Initial(u.diff(t), 0)]),
        one("turning wave", "time", ring, lambda u: u.diff(t) + 3 * u.diff(x), turning,
            lambda u: [Periodic(u, x), Initial(u, turning.subs(t, 0))]),
        one("Fisher", "nonlinear", strip, lambda u: u.diff(t) - u.diff(x, 2) / 5 - u * (1 - u), fisher,
            lambda u: [Neumann(u, -fisher.diff(x).subs(x, 0), on=sp.Eq(x, 0)), Dirichlet(u, fisher),
                       Initial(u, fisher.subs(t, 0))]),
        several("Schrödinger", "system", strip,
                lambda u, v: [u.diff(t) + v.diff(x, 2), v.diff(t) - u.diff(x, 2)], [c, w],
                lambda u, v: [Dirichlet(u, c), Dirichlet(v, w), Initial(u, c.subs(t, 0)),
                              Initial(v, w.subs(t, 0))]),
        one("heat, plane", "3D", Box({x: (0, 1), y: (0, 1)}).during(t, 0, half),
            lambda u: u.diff(t) - laplacian(u), tail,
            lambda u: [Dirichlet(u, tail), Initial(u, tail.subs(t, 0))]),
    ]  # fmt: skip


def _more_dimensions() -> list[Known]:
    cube = Box({x: (0, 1), y: (0, 1), z: (0, 1)})
    four = Box({x: (0, 1), y: (0, 1), z: (0, 1), s: (0, 1)})
    trig = sp.sin(x + 2 * y) * sp.exp(-z)
    added = sp.sin(x) + sp.cos(2 * y) + sp.exp(-z) + s**3
    return [
        one("Poisson 3D", "3D", cube, laplacian, trig, lambda u: [Dirichlet(u, trig)]),
        one("Poisson 4D, additive", "4D", four, laplacian, added, lambda u: [Dirichlet(u, added)]),
    ]


def all_problems() -> list[Known]:
    """Return all problems in a fixed order."""
    return [*_one_dimension(), *_one_dimension_nonlinear(), *_two_dimensions(), *_time(), *_more_dimensions()]


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for known in (*paper_cases(), *all_problems(), square_torsion()):
        yield from_known(known, "calibration")

"""Problems that were not used for tuning: the out-of-sample test of the error estimate.

None of these problems was used while the solver, its thresholds or the safety factor of the estimate were
developed, and none was removed because of its result. If the code is changed because of them, a new set is
needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls import Box, Condition, Dirichlet, Initial, Interval, Neumann, Periodic, Problem, Robin
from pibls.arrays import Array
from validation.entry import Entry, References
from validation.known import Known, from_known, s, t, x, y, z
from validation.references.shooting import OTHERS

POINTS, ON_FACES = 2000, 400
sin, cos, exp, tanh, pi, Eq = sp.sin, sp.cos, sp.exp, sp.tanh, sp.pi, sp.Eq


def R(p: int, q: int) -> Any:
    """p/q."""
    return sp.Rational(p, q)


def lap(u: Any) -> Any:
    """Δu in the space coordinates."""
    return sum(u.diff(c, 2) for c in (x, y, z, s) if u.has(c))


def pose(
    name: str, kind: str, domain: Any, operator: Callable[..., list[Any]], exact: list[Any],
    conditions: Callable[..., list[Any]], *, free: bool = False,
) -> Known:  # fmt: skip
    """N[u] = N[u*] for one unknown or several; ``free`` where the exact solution needs no source."""
    unknowns = [sp.Function(n)(*domain.coordinates) for n in ("u", "v", "p")[: len(exact)]]
    left = operator(*unknowns)
    right = [sp.Integer(0)] * len(left) if free else operator(*exact)
    equations = [Eq(a, b) for a, b in zip(left, right, strict=True)]
    return Known(name, kind, Problem(domain, equations, conditions(*unknowns)), dict(zip(unknowns, exact)))


def start(u: Any, exact: Any, *, order: int = 1) -> list[Any]:
    """u, ∂u/∂t, … below the order at t = 0, from the exact solution."""
    return [Initial(u.diff(t, k) if k else u, exact.diff(t, k).subs(t, 0)) for k in range(order)]


def _lines() -> list[Known]:
    """Linear, in one dimension."""
    unit = Interval(x, 0, 1)
    left, right = Eq(x, 0), Eq(x, 1)
    chirp = sin(10 * x**2)
    ends = (exp(-20 * x) + exp(-20 * (1 - x))) / (1 + exp(-20)) + x * cos(2 * x)
    turn = sp.erf(10 * x)
    bent = x**2 * sin(3 * x)
    ring = exp(cos(x))
    euler = cos(2 * sp.log(x)) / x
    ripple = sin(2 * x) + sin(80 * x) / 1000
    pulse = exp(-((50 * (x - R(37, 100))) ** 2))
    far = 10**6 * sin(2 * x) + 10**6
    root = x ** R(7, 2)
    dispersed = exp(-x) * sin(4 * x)
    return [
        pose("Airy", "oscillatory", Interval(x, -12, 2), lambda u: [u.diff(x, 2) - x * u], [sp.airyai(x)],
             lambda u: [Dirichlet(u, sp.airyai(-12).evalf(20), on=Eq(x, -12)),
                        Dirichlet(u, sp.airyai(2).evalf(20), on=Eq(x, 2))], free=True),
        pose("Bessel", "oscillatory", Interval(x, 1, 20),
             lambda u: [x**2 * u.diff(x, 2) + x * u.diff(x) + (x**2 - 4) * u], [sp.besselj(2, x)],
             lambda u: [Dirichlet(u, sp.besselj(2, 1).evalf(20), on=Eq(x, 1)),
                        Neumann(u, sp.besselj(2, x).diff(x).subs(x, 20).evalf(20), on=Eq(x, 20))],
             free=True),
        pose("chirp", "oscillatory", Interval(x, 0, 2), lambda u: [u.diff(x, 2) + 400 * x**2 * u], [chirp],
             lambda u: [Dirichlet(u, 0, on=left), Condition(u.diff(x), on=left)]),
        pose("layers at both ends", "layered", unit, lambda u: [-u.diff(x, 2) / 400 + u], [ends],
             lambda u: [Dirichlet(u, ends)]),
        pose("turning point", "layered", Interval(x, -1, 1), lambda u: [u.diff(x, 2) / 200 + x * u.diff(x)],
             [turn], lambda u: [Dirichlet(u, turn)], free=True),
        pose("cantilever on a bed", "4th order", unit,
             lambda u: [((1 + x**2) * u.diff(x, 2)).diff(x, 2) + 50 * u], [bent],
             lambda u: [Dirichlet(u, 0, on=left), Condition(u.diff(x), on=left),
                        Condition(Eq(u.diff(x, 2), bent.diff(x, 2)), on=right),
                        Condition(Eq(u.diff(x, 3), bent.diff(x, 3)), on=right)]),
        pose("ring, fourth order", "4th order", Interval(x, 0, 2 * pi),
             lambda u: [u.diff(x, 4) + 2 * u.diff(x, 2) + (3 + sin(x)) * u], [ring],
             lambda u: [Periodic(u, x)]),
        pose("third order, Robin", "3rd order", Interval(x, 0, 2),
             lambda u: [u.diff(x, 3) + (2 + sin(x)) * u.diff(x) + x * u], [dispersed],
             lambda u: [Robin(u, dispersed - 2 * dispersed.diff(x), 1, 2, on=left),
                        Condition(Eq(u.diff(x, 2), dispersed.diff(x, 2)), on=left),
                        Neumann(u, dispersed.diff(x), on=Eq(x, 2))]),
        pose("Euler's equation", "smooth", Interval(x, R(1, 4), 3),
             lambda u: [x**2 * u.diff(x, 2) + 3 * x * u.diff(x) + 5 * u], [euler],
             lambda u: [Dirichlet(u, euler, on=Eq(x, R(1, 4))), Neumann(u, euler.diff(x), on=Eq(x, 3))],
             free=True),
        pose("small fast ripple", "oscillatory", unit, lambda u: [u.diff(x) + u], [ripple],
             lambda u: [Dirichlet(u, 0, on=left)]),
        pose("narrow pulse", "layered", unit, lambda u: [u.diff(x, 2) - 4 * u], [pulse],
             lambda u: [Dirichlet(u, pulse, on=left), Robin(u, pulse + pulse.diff(x), 1, 1, on=right)]),
        pose("large and far from the origin", "smooth", Interval(x, 1000, 1003),
             lambda u: [u.diff(x, 2) - 3 * u.diff(x)], [far], lambda u: [Dirichlet(u, far)]),
        pose("half power at an end", "rough", unit, lambda u: [u.diff(x, 2) + u], [root],
             lambda u: [Dirichlet(u, root)]),
    ]  # fmt: skip


def _lines_nonlinear() -> list[Known]:
    """Nonlinear or coupled, in one dimension."""
    unit = Interval(x, 0, 1)
    wall = x - 1 + exp(-x)
    spring, cycle = exp(-t / 5) * cos(2 * t), sin(3 * t) + t / 4
    log, conduct = sp.log(1 + 9 * x), 2 + sin(5 * x)
    lorenz = [1 + sin(2 * t), cos(3 * t), 2 + sin(t)]
    beats = [cos(t) + cos(9 * t) / 2, cos(t) - cos(9 * t) / 2]
    return [
        pose("stretching sheet", "nonlinear, 3rd order", Interval(x, 0, 5),
             lambda u: [u.diff(x, 3) + u * u.diff(x, 2) / 2], [wall],
             lambda u: [Dirichlet(u, 0, on=Eq(x, 0)), Condition(u.diff(x), on=Eq(x, 0)),
                        Neumann(u, 1 - exp(-5), on=Eq(x, 5))]),
        pose("Duffing", "nonlinear", Interval(t, 0, 10),
             lambda u: [u.diff(t, 2) + u.diff(t) / 5 + u**3], [spring],
             lambda u: start(u, spring, order=2)),
        pose("van der Pol", "nonlinear", Interval(t, 0, 4),
             lambda u: [u.diff(t, 2) - 2 * (1 - u**2) * u.diff(t) + u], [cycle],
             lambda u: start(u, cycle, order=2)),
        pose("Riccati", "nonlinear", Interval(t, 0, R(7, 5)), lambda u: [u.diff(t) - 1 - u**2], [sp.tan(t)],
             lambda u: [Initial(u, 0)], free=True),
        pose("squared slope", "nonlinear", unit, lambda u: [u.diff(x, 2) + u.diff(x) ** 2], [log],
             lambda u: [Dirichlet(u, log)], free=True),
        pose("conductivity of u", "nonlinear", unit, lambda u: [((1 + u**2) * u.diff(x)).diff(x) - u],
             [conduct],
             lambda u: [Dirichlet(u, 2, on=Eq(x, 0)), Neumann(u, conduct.diff(x), on=Eq(x, 1))]),
        pose("Lorenz, forced", "nonlinear system", Interval(t, 0, 1),
             lambda u, v, p: [u.diff(t) - 10 * (v - u), v.diff(t) - u * (28 - p) + v,
                              p.diff(t) - u * v + 8 * p / 3], lorenz,
             lambda u, v, p: [Initial(u, 1), Initial(v, 1), Initial(p, 2)]),
        pose("beating masses", "system", Interval(t, 0, 6),
             lambda u, v: [u.diff(t, 2) + 41 * u - 40 * v, v.diff(t, 2) + 41 * v - 40 * u], beats,
             lambda u, v: start(u, beats[0], order=2) + start(v, beats[1], order=2), free=True),
    ]  # fmt: skip


def _planes() -> list[Known]:
    """Two dimensions in space, one unknown."""
    square, wide = Box({x: (0, 1), y: (0, 1)}), Box({x: (-1, 1), y: (-1, 1)})
    blob = exp(-4 * ((x - R(3, 10)) ** 2 + (y + R(1, 5)) ** 2))
    log, ray, tilt = sp.log(1 + x + 2 * y**2), cos(11 * x - 4 * y), sin(2 * x + y) + x**2
    torus = sin(x + sin(y))
    plate = sin(pi * x) ** 2 * sin(pi * y) ** 2
    flat, cone, scherk = exp(x) * cos(3 * y), sp.sqrt(1 + x**2 + y**2), sp.log(cos(y) / cos(x))
    layer = tanh(6 * (x + y - 1)) + y
    corner = (x**2 + y**2) ** R(5, 4) * cos(R(5, 2) * sp.atan2(y, x))
    k = 2 + sin(3 * x) * cos(2 * y)
    sides = ((Eq(x, 0), x, -1), (Eq(x, 1), x, 1), (Eq(y, 0), y, -1), (Eq(y, 1), y, 1))
    return [
        pose("rotating wind", "smooth", wide,
             lambda u: [-lap(u) / 20 + y * u.diff(x) - x * u.diff(y)], [blob],
             lambda u: [Dirichlet(u, blob)]),
        pose("Robin all round", "smooth", square,
             lambda u: [(k * u.diff(x)).diff(x) + (k * u.diff(y)).diff(y)], [log],
             lambda u: [Robin(u, (1 + x) * log + n * log.diff(c), 1 + x, 1, on=on) for on, c, n in sides]),
        pose("Helmholtz, Neumann", "oscillatory", square, lambda u: [lap(u) + 190 * u], [ray],
             lambda u: [Neumann(u, n * ray.diff(c), on=on) for on, c, n in sides]),
        pose("doubly periodic", "smooth", Box({x: (0, 2 * pi), y: (0, 2 * pi)}),
             lambda u: [u - lap(u) / 10 + cos(x) * u.diff(y)], [torus],
             lambda u: [Periodic(u, x), Periodic(u, y)]),
        pose("clamped plate on a bed", "4th order", square, lambda u: [lap(lap(u)) + 100 * u], [plate],
             lambda u: [Dirichlet(u, 0), Neumann(u, 0)]),
        pose("degenerate on a line", "smooth", Box({x: (-1, 1), y: (0, 1)}),
             lambda u: [u.diff(x, 2) + x**2 * u.diff(y, 2)], [flat], lambda u: [Dirichlet(u, flat)]),
        pose("oblique layer", "layered", square,
             lambda u: [-lap(u) / 10 + u.diff(x) + u.diff(y)], [layer], lambda u: [Dirichlet(u, layer)]),
        pose("corner, r to the 5/2", "rough", square, lambda u: [lap(u)], [corner],
             lambda u: [Dirichlet(u, corner)], free=True),
        pose("Scherk's minimal surface", "nonlinear", wide,
             lambda u: [(1 + u.diff(y) ** 2) * u.diff(x, 2) - 2 * u.diff(x) * u.diff(y) * u.diff(x, y)
                        + (1 + u.diff(x) ** 2) * u.diff(y, 2)], [scherk],
             lambda u: [Dirichlet(u, scherk)], free=True),
        pose("flux of the slope", "nonlinear", square,
             lambda u: [sum(((1 + u.diff(x) ** 2 + u.diff(y) ** 2) * u.diff(c)).diff(c) for c in (x, y))],
             [tilt],
             lambda u: [Dirichlet(u, tilt)]),
        pose("viscous eikonal", "nonlinear", wide,
             lambda u: [u.diff(x) ** 2 + u.diff(y) ** 2 - lap(u) / 5], [cone],
             lambda u: [Dirichlet(u, cone)]),
    ]  # fmt: skip


def _plane_systems() -> list[Known]:
    """Two dimensions in space, several unknowns."""
    square = Box({x: (0, 1), y: (0, 1)})
    solid = [sin(2 * x) * cos(y), cos(x) * y**2]
    mu, lam = 1, 2
    head = cos(3 * x) * exp(y)
    k = 1 + x * y
    darcy = [-k * head.diff(x), -k * head.diff(y), head]
    re = 20
    a = R(re, 2) - sp.sqrt(R(re, 2) ** 2 + 4 * pi**2)
    kovasznay = [1 - exp(a * x) * cos(2 * pi * y), a / (2 * pi) * exp(a * x) * sin(2 * pi * y),
                 (1 - exp(2 * a * x)) / 2]  # fmt: skip
    burgers = [sin(x + 2 * y), cos(2 * x - y)]

    def stress(u: Any, v: Any) -> tuple[Any, Any, Any]:
        div = lam * (u.diff(x) + v.diff(y))
        return div + 2 * mu * u.diff(x), div + 2 * mu * v.diff(y), mu * (u.diff(y) + v.diff(x))

    def balance(u: Any, v: Any) -> list[Any]:
        sxx, syy, sxy = stress(u, v)
        return [sxx.diff(x) + sxy.diff(y), sxy.diff(x) + syy.diff(y)]

    def pull(u: Any, v: Any) -> list[Any]:
        (sxx, _, sxy), (gxx, _, gxy) = stress(u, v), stress(solid[0], solid[1])
        return [Condition(Eq(sxx, gxx), on=Eq(x, 1)), Condition(Eq(sxy, gxy), on=Eq(x, 1))]

    return [
        pose("elastic block, pulled", "system", square, balance, solid,
             lambda u, v: [*[Dirichlet(w, e, on=on) for w, e in zip((u, v), solid, strict=True)
                             for on in (Eq(x, 0), Eq(y, 0), Eq(y, 1))], *pull(u, v)]),
        pose("Darcy, first order", "system", square,
             lambda u, v, p: [u + k * p.diff(x), v + k * p.diff(y), u.diff(x) + v.diff(y)], darcy,
             lambda u, v, p: [Dirichlet(p, head)]),
        pose("Kovasznay flow", "nonlinear system", Box({x: (R(-1, 2), 1), y: (R(-1, 2), R(3, 2))}),
             lambda u, v, p: [u * u.diff(x) + v * u.diff(y) + p.diff(x) - lap(u) / re,
                              u * v.diff(x) + v * v.diff(y) + p.diff(y) - lap(v) / re,
                              u.diff(x) + v.diff(y)], kovasznay,
             lambda u, v, p: [Dirichlet(u, kovasznay[0]), Dirichlet(v, kovasznay[1]),
                              Dirichlet(p, 0, on={x: 0, y: 0})], free=True),
        pose("coupled Burgers", "nonlinear system", square,
             lambda u, v: [u * u.diff(x) + v * u.diff(y) - lap(u) / 10,
                           u * v.diff(x) + v * v.diff(y) - lap(v) / 10], burgers,
             lambda u, v: [Dirichlet(u, burgers[0]), Dirichlet(v, burgers[1])]),
    ]  # fmt: skip


def _evolving() -> list[Known]:
    """One dimension and time."""
    unit = Interval(x, 0, 1)
    beam = sin(pi * x) * cos(pi**2 * t)
    damped = exp(-t) * sin(5 * x) * cos(3 * t)
    rod = 293 + 50 * exp(-(pi**2) * t / 10) * sin(1000 * pi * x)
    spread = 1 - R(3, 4) * exp(-2 * t)
    cloud = exp(-(x**2) / (2 * spread)) / sp.sqrt(spread)
    kink = 4 * sp.atan(exp((x - t / 2) / sp.sqrt(R(3, 4))))
    soliton = 2 / sp.cosh(x - 4 * t) ** 2
    front = 1 / (1 + exp((x - sp.sqrt(2) * t / 4) / sp.sqrt(2)))
    flame = sin(x - t) + exp(-t) * cos(2 * x) / 2
    packet = [cos(x) / sp.cosh(x - t), sin(x) / sp.cosh(x - t)]
    sound = [sin(2 * pi * x - t) + R(1, 2), cos(2 * pi * x) * exp(-t)]
    brussels = [2 + cos(pi * x) * exp(-t), 1 + cos(2 * pi * x) * sin(t) / 2]
    return [
        pose("beam in motion", "4th order", unit.during(t, 0, R(1, 2)),
             lambda u: [u.diff(t, 2) + u.diff(x, 4)], [beam],
             lambda u: [Dirichlet(u, 0), Condition(u.diff(x, 2)), *start(u, beam, order=2)], free=True),
        pose("telegraph", "time", unit.during(t, 0, 1),
             lambda u: [u.diff(t, 2) + 2 * u.diff(t) + u - u.diff(x, 2)], [damped],
             lambda u: [Dirichlet(u, 0, on=Eq(x, 0)),
                        Robin(u, 3 * damped + damped.diff(x), 3, 1, on=Eq(x, 1)),
                        *start(u, damped, order=2)]),
        pose("rod in metres and kelvin", "time", Interval(x, 0, R(1, 1000)).during(t, 0, 10),
             lambda u: [u.diff(t) - u.diff(x, 2) / 10**7], [rod],
             lambda u: [Dirichlet(u, 293), *start(u, rod)], free=True),
        pose("Ornstein-Uhlenbeck", "time", Interval(x, -4, 4).during(t, 0, 1),
             lambda u: [u.diff(t) - (x * u).diff(x) - u.diff(x, 2)], [cloud],
             lambda u: [Dirichlet(u, cloud), *start(u, cloud)], free=True),
        pose("sine-Gordon kink", "nonlinear", Interval(x, -4, 4).during(t, 0, 2),
             lambda u: [u.diff(t, 2) - u.diff(x, 2) + sin(u)], [kink],
             lambda u: [Dirichlet(u, kink), *start(u, kink, order=2)], free=True),
        pose("Korteweg-de Vries", "nonlinear, 3rd order", Interval(x, -5, 5).during(t, 0, R(1, 2)),
             lambda u: [u.diff(t) + 6 * u * u.diff(x) + u.diff(x, 3)], [soliton],
             lambda u: [Dirichlet(u, soliton), Condition(Eq(u.diff(x), soliton.diff(x)), on=Eq(x, 5)),
                        *start(u, soliton)], free=True),
        pose("Nagumo front", "nonlinear", Interval(x, -10, 10).during(t, 0, 5),
             lambda u: [u.diff(t) - u.diff(x, 2) - u * (1 - u) * (u - R(1, 4))], [front],
             lambda u: [Dirichlet(u, front), *start(u, front)], free=True),
        pose("Kuramoto-Sivashinsky", "nonlinear, 4th order", Interval(x, 0, 2 * pi).during(t, 0, 1),
             lambda u: [u.diff(t) + u * u.diff(x) + u.diff(x, 2) + u.diff(x, 4)], [flame],
             lambda u: [Periodic(u, x), *start(u, flame)]),
        pose("nonlinear Schrödinger", "nonlinear system", Interval(x, -4, 5).during(t, 0, 1),
             lambda u, v: [u.diff(t) + v.diff(x, 2) / 2 + (u**2 + v**2) * v,
                           v.diff(t) - u.diff(x, 2) / 2 - (u**2 + v**2) * u], packet,
             lambda u, v: [Dirichlet(u, packet[0]), Dirichlet(v, packet[1]),
                           *start(u, packet[0]), *start(v, packet[1])], free=True),
        pose("sound on a ring", "system", unit.during(t, 0, 1),
             lambda u, v: [u.diff(t) + v.diff(x), v.diff(t) + (1 + sin(2 * pi * x) / 2) * u.diff(x)], sound,
             lambda u, v: [Periodic(u, x), Periodic(v, x), *start(u, sound[0]), *start(v, sound[1])]),
        pose("Brusselator", "nonlinear system", unit.during(t, 0, 1),
             lambda u, v: [u.diff(t) - u.diff(x, 2) / 50 - 1 - u**2 * v + 4 * u,
                           v.diff(t) - v.diff(x, 2) / 50 - 3 * u + u**2 * v], brussels,
             lambda u, v: [Neumann(u, 0), Neumann(v, 0), *start(u, brussels[0]), *start(v, brussels[1])]),
    ]  # fmt: skip


def _more_dimensions() -> list[Known]:
    """Three and four dimensions."""
    square, cube = Box({x: (0, 1), y: (0, 1)}), Box({x: (0, 1), y: (0, 1), z: (0, 1)})
    tesseract = Box({x: (0, 1), y: (0, 1), z: (0, 1), s: (0, 1)})
    room = sin(3 * x) * cos(2 * y) * sin(z + 1)
    drift = 1 / (1 + x + y**2 + z)
    drum = sin(pi * x) * sin(2 * pi * y) * cos(sp.sqrt(5) * pi * t)
    oven = exp(-t) * cos(x + y - z)
    wave = cos(x + y - z + s / 2) + 2
    vortex = [-cos(x) * sin(y) * exp(-t / 5), sin(x) * cos(y) * exp(-t / 5),
              -(cos(2 * x) + cos(2 * y)) * exp(-2 * t / 5) / 4]  # fmt: skip
    return [
        pose("Helmholtz in a room", "3D", cube, lambda u: [lap(u) + 20 * u], [room],
             lambda u: [Dirichlet(u, room), Robin(u, room + room.diff(z), 1, 1, on=Eq(z, 1))]),
        pose("drift in a cube", "3D", cube,
             lambda u: [-(1 + x * y) * lap(u) + 3 * u.diff(x) - z * u.diff(y) + u], [drift],
             lambda u: [Dirichlet(u, drift), Neumann(u, -drift.diff(y), on=Eq(y, 0))]),
        pose("drum", "3D", square.during(t, 0, 1), lambda u: [u.diff(t, 2) - lap(u)], [drum],
             lambda u: [Dirichlet(u, 0), *start(u, drum, order=2)], free=True),
        pose("heat in a cube", "4D", cube.during(t, 0, 1), lambda u: [u.diff(t) - lap(u)], [oven],
             lambda u: [Dirichlet(u, oven), *start(u, oven)]),
        pose("square of u, 4D", "4D, nonlinear", tesseract, lambda u: [lap(u) - u**2], [wave],
             lambda u: [Dirichlet(u, wave)]),
        pose("Taylor-Green vortex", "3D, nonlinear system", Box({x: (0, pi), y: (0, pi)}).during(t, 0, 1),
             lambda u, v, p: [u.diff(t) + u * u.diff(x) + v * u.diff(y) + p.diff(x) - lap(u) / 10,
                              v.diff(t) + u * v.diff(x) + v * v.diff(y) + p.diff(y) - lap(v) / 10,
                              u.diff(x) + v.diff(y)], vortex,
             lambda u, v, p: [Dirichlet(u, vortex[0]), Dirichlet(v, vortex[1]),
                              Dirichlet(p, vortex[2], on=Eq(x, 0)), *start(u, vortex[0]),
                              *start(v, vortex[1])], free=True),
    ]  # fmt: skip


def unseen_problems() -> list[Known]:
    """Every problem, in a fixed order, the dearest last."""
    return [*_lines(), *_lines_nonlinear(), *_planes(), *_plane_systems(), *_evolving(), *_more_dimensions()]


def fresh_points(known: Known) -> Array:
    """Uniform in the box, some of them pushed onto a random face, where errors are often largest."""
    rng = np.random.default_rng(41_117)
    low, high = np.asarray(known.problem.domain.bounds, dtype=float).T
    share = rng.random((POINTS, len(low)))
    share[np.arange(ON_FACES), rng.integers(len(low), size=ON_FACES)] = rng.integers(2, size=ON_FACES)
    return np.asarray(low + (high - low) * share, dtype=float)


@cache
def other_solutions(name: str) -> tuple[Callable[[Array], Array], ...]:
    """Return further known solutions of a problem on an interval, by shooting."""
    return tuple(OTHERS[name]()) if name in OTHERS else ()


def _points(known: Known, problem: pibls.Problem, seed: int) -> Array:
    return fresh_points(known)


def _alternatives(known: Known) -> Sequence[References]:
    (name,) = (str(u.func) for u in known.exact) if len(known.exact) == 1 else (None,)
    return [{name: f} for f in other_solutions(known.name)] if name else ()


def entries() -> Iterator[Entry]:
    """Yield the problems in a fixed order."""
    for known in unseen_problems():
        entry = from_known(known, "unseen", partial(_points, known))
        yield replace(entry, alternatives=partial(_alternatives, known))

"""Evolutions, small ones, and what follows them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls.adaptive.evolutions.line_mesh import Places
from pibls.adaptive.evolutions.lines import LineFollower
from pibls.adaptive.evolutions.trajectory import Demand
from pibls.adaptive.validation.context import Bench
from pibls.problem.forms.lowering import lower

x, y, t = sp.symbols("x y t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, y, t)
ASKED = Demand(1e-9, 1e-6)


@cache
def bench_of(name: str, tol: float = 1e-8) -> Bench:
    rod, ring = (pibls.Interval(x, 0, 1).during(t, 0, 1), pibls.Interval(x, 0, 2 * sp.pi).during(t, 0, 1))
    plate = pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 1)
    disc = pibls.Disk((x, y), (0, 0), 1).during(t, 0, 1)
    heat, wave = u.diff(t) - u.diff(x, 2), u.diff(t, 2) - u.diff(x, 2)
    heated = v.diff(t) - v.diff(x, 2) - v.diff(y, 2)
    cold, hill = pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))
    at_rest = pibls.Initial(u.diff(t), 0)
    hot = [pibls.Dirichlet(v, 0), pibls.Initial(v, sp.sin(sp.pi * x) * sp.sin(sp.pi * y))]
    stated: dict[str, tuple[Any, Any, list[Any]]] = {
        "rod": (rod, heat, [cold, hill]),
        "ring": (ring, heat, [pibls.Periodic(u, x), pibls.Initial(u, sp.cos(x))]),
        "string": (rod, wave, [cold, hill, at_rest]),
        "weakly damped": (rod, wave + 10 * u.diff(t), [cold, hill, at_rest]),
        "damped": (rod, wave + 100 * u.diff(t), [cold, hill, at_rest]),
        "plate": (plate, heated, hot),
        "disc": (disc, heated, [pibls.Dirichlet(v, 0), pibls.Initial(v, 1 - x**2 - y**2)]),
    }
    domain, equation, conditions = stated[name]
    problem = pibls.Problem(domain, [equation], conditions)
    return Bench.of(lower(problem), problem.domain, 0, tol)


@cache
def places_of(name: str) -> Places:
    made = Places.of(bench_of(name))
    assert made is not None
    return made


def follower(name: str = "rod", tail: float = 1e-9) -> Any:
    made = LineFollower(Demand(tail, 1e-6), places_of(name), 20, 10)
    made._sizes = np.ones(1)
    return made

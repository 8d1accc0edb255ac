"""Small evolution problems, and the time windows that solve them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy as sp

import pibls
from pibls.adaptive.validation.context import ValidationContext
from pibls.problem.forms.compilation import compile_problem
from pibls.time.box.operator import CollocationOperator
from pibls.time.box.windows import CollocationWindows
from pibls.time.trajectory import Tolerances

x, y, t = sp.symbols("x y t")
u, v = sp.Function("u")(x, t), sp.Function("v")(x, y, t)
TOLERANCES = Tolerances(1e-9, 1e-6)


@cache
def validation_context(name: str, tol: float = 1e-8) -> ValidationContext:
    rod, ring = (pibls.Interval(x, 0, 1).during(t, 0, 1), pibls.Interval(x, 0, 2 * sp.pi).during(t, 0, 1))
    plate = pibls.Box({x: (0, 1), y: (0, 1)}).during(t, 0, 1)
    disc = pibls.Disk((x, y), (0, 0), 1).during(t, 0, 1)
    heat, wave = u.diff(t) - u.diff(x, 2), u.diff(t, 2) - u.diff(x, 2)
    heated = v.diff(t) - v.diff(x, 2) - v.diff(y, 2)
    cold, hill = pibls.Dirichlet(u, 0), pibls.Initial(u, sp.sin(sp.pi * x))
    at_rest = pibls.Initial(u.diff(t), 0)
    hot_conditions = [pibls.Dirichlet(v, 0), pibls.Initial(v, sp.sin(sp.pi * x) * sp.sin(sp.pi * y))]
    problems: dict[str, tuple[Any, Any, list[Any]]] = {
        "rod": (rod, heat, [cold, hill]),
        "ring": (ring, heat, [pibls.Periodic(u, x), pibls.Initial(u, sp.cos(x))]),
        "string": (rod, wave, [cold, hill, at_rest]),
        "weakly damped": (rod, wave + 10 * u.diff(t), [cold, hill, at_rest]),
        "damped": (rod, wave + 100 * u.diff(t), [cold, hill, at_rest]),
        "plate": (plate, heated, hot_conditions),
        "disc": (disc, heated, [pibls.Dirichlet(v, 0), pibls.Initial(v, 1 - x**2 - y**2)]),
    }
    domain, equation, conditions = problems[name]
    problem = pibls.Problem(domain, [equation], conditions)
    return ValidationContext.of(compile_problem(problem), problem.domain, 0, tol)


@cache
def collocation_operator(name: str) -> CollocationOperator:
    operator = CollocationOperator.of(validation_context(name))
    assert operator is not None
    return operator


def collocation_windows(name: str = "rod", tail: float = 1e-9) -> Any:
    windows = CollocationWindows(Tolerances(tail, 1e-6), collocation_operator(name), 20, 10)
    windows.magnitudes = np.ones(1)
    return windows

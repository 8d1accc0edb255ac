"""What a solve does: how many functions, windows and steps, and what it says of its error, one problem a way.

No number here is right or wrong. Whoever changes what the search decides by sees here what it changes, and
writes down what is new; a threshold that moves nothing here or elsewhere is to be deleted.
"""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

import pibls

x, y, t = sp.symbols("x y t")
u, v, w, q = sp.Function("u")(x, t), sp.Function("v")(x, y), sp.Function("w")(t), sp.Function("q")(x)
LONG, ROD, SQUARE = pibls.Interval(t, 0, 20), pibls.Interval(x, 0, 1), pibls.Box({x: (0, 1), y: (0, 1)})
DISC = pibls.Disk((x, y), (0, 0), 1)
FRONT, LEANING = sp.tanh(20 * (x + y - 1)), sp.sin(12 * x) * (1 + y)


def laplace(e: sp.Expr) -> sp.Expr:
    return e.diff(x, 2) + e.diff(y, 2)


def begun(*values: Any) -> list[Any]:
    """The conditions of w at its start."""
    return [pibls.Initial(w.diff(t, n) if n else w, value) for n, value in enumerate(values)]


def problem(domain: Any, equation: sp.Expr, *conditions: Any) -> pibls.Problem:
    return pibls.Problem(domain, [equation], list(conditions))


WALLS, HILL = pibls.Dirichlet(u, 0), pibls.Initial(u, sp.Min(x, 1 - x))
RING = pibls.Interval(x, 0, 2 * sp.pi).during(t, 0, 1)
SHOCK = u.diff(t) + u * u.diff(x) - u.diff(x, 2) / 30
SOLITONS = u.diff(t) + u * u.diff(x) + u.diff(x, 3) / 20
STRING = u.diff(t, 2) - (1 + x / 10) * u.diff(x, 2)
STIFF = w.diff(t, 2) - 20 * (1 - w**2) * w.diff(t) + w
CARRIED = laplace(v) + v.diff(x) - sp.exp(x) * sp.sin(3 * y)
BUMPED = laplace(v) + 30 * v - sp.sin(9 * x) * sp.exp(y)
PROBLEMS: dict[str, tuple[pibls.Problem, float]] = {
    "a pendulum near its top": (problem(LONG, w.diff(t, 2) + sp.sin(w), *begun(3, 0)), 1e-8),
    "a stiff oscillator": (problem(LONG, STIFF, *begun(2, 0)), 1e-8),
    "a pole": (problem(pibls.Interval(t, 0, 2), w.diff(t) - w**2, *begun(1)), 1e-6),
    "near a pole": (
        problem(pibls.Interval(t, 0, 3), w.diff(t, 2) + 1 / w**2 - 0.05 / w**3, *begun(1, 0)),
        1e-9,
    ),
    "a layer in cells": (
        problem(ROD, q.diff(x, 2) - 1e4 * (q - sp.sign(x - 0.3)), pibls.Dirichlet(q, 0)),
        1e-6,
    ),
    "products beside corners": (problem(SQUARE, BUMPED, pibls.Dirichlet(v, x * y)), 1e-8),
    "waves": (problem(DISC, CARRIED, pibls.Dirichlet(v, x * y)), 1e-8),
    "waves that lean": (problem(DISC, laplace(v) - laplace(LEANING), pibls.Dirichlet(v, LEANING)), 1e-6),
    "a nonlinear start": (problem(ROD, q.diff(x, 2) - sp.sqrt(q - 300), pibls.Dirichlet(q, 310)), 1e-10),
    "products": (problem(SQUARE, laplace(v) - laplace(FRONT), pibls.Dirichlet(v, FRONT)), 1e-6),
    "a shock": (
        problem(pibls.Interval(x, -1, 1).during(t, 0, 1), SHOCK, WALLS, pibls.Initial(u, -sp.sin(sp.pi * x))),
        1e-5,
    ),
    "a ring": (problem(RING, SOLITONS, pibls.Periodic(u, x), pibls.Initial(u, sp.cos(x))), 1e-6),
    "a kink that travels": (
        problem(ROD.during(t, 0, sp.Rational(1, 4)), STRING, WALLS, HILL, pibls.Initial(u.diff(t), 0)),
        1e-3,
    ),
}
COURSES: dict[str, tuple[str, int, int, int | None, float]] = {
    "a pendulum near its top": ("TOLERANCE", 272, 8, 38, 3.4e-12),
    "a stiff oscillator": ("TOLERANCE", 578, 17, 84, 7.7e-12),
    "a pole": ("INCOMPLETE", 1089, 33, 150, 7.5e10),
    "near a pole": (
        "TOLERANCE",
        544,
        16,
        None,
        2.9e-13,
    ),  # rounding: 57 and 88 tries were seen
    "a layer in cells": ("TOLERANCE", 288, 0, 1, 8.6e-10),
    "products beside corners": ("TOLERANCE", 10640, 0, 4, 9.5e-09),
    "waves": ("TOLERANCE", 256, 0, 1, 7.4e-13),
    "waves that lean": ("TOLERANCE", 512, 0, 1, 3.8e-07),
    "a nonlinear start": ("TOLERANCE", 32, 0, 1, 3.3e-12),
    "products": ("TOLERANCE", 23104, 0, 4, 7.7e-08),
    "a shock": ("TOLERANCE", 6840, 8, 53, 2.0e-08),
    "a ring": ("TOLERANCE", 3250, 6, 81, 3.4e-08),
    "a kink that travels": ("INCOMPATIBLE_DATA", 137280, 33, 76, 2.2e-03),
}


def course_of(name: str) -> tuple[str, int, int, int, float]:
    solved, tol = PROBLEMS[name]
    solution = pibls.solve(solved, tol=tol)
    windows = len(solution.windows or ())
    return solution.status.name, solution.nodes, windows, solution.steps, solution.error.max


def same(found: tuple[str, int, int, int, float], known: tuple[str, int, int, int | None, float]) -> bool:
    """The same ending, counts within a fifth and the estimate within five times, as rounding may have it."""
    counts = zip(found[1:4], known[1:4], strict=True)
    near = (abs(a - b) <= 0.2 * b + 1 for a, b in counts if b is not None)
    lost = known[4] > 1.0 and found[4] > 1.0
    return found[0] == known[0] and all(near) and (lost or 0.2 <= found[4] / known[4] <= 5.0)


@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
@pytest.mark.parametrize("name", list(COURSES))
def test_the_course_of_a_solve(name: str) -> None:
    found = course_of(name)
    assert same(found, COURSES[name]), found

r"""L u = λ u, ∇λ = 0, ∫ u² = 1: an eigenvalue is an additional unknown with zero gradient."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
import sympy as sp

import pibls
from pibls import Condition, Dirichlet, Problem
from pibls.analysis.coverage import overridden_conditions

x, y = sp.symbols("x y")
u, E = (sp.Function(name)(x) for name in "uE")
v, F = (sp.Function(name)(x, y) for name in "vF")
NORMALIZED = Condition(sp.Eq(pibls.integral(u**2), 1))


def _cantilever() -> Problem:
    clamped, free = sp.Eq(x, 0), sp.Eq(x, 1)
    ends = [
        Dirichlet(u, 0, on=clamped),
        Condition(u.diff(x), on=clamped),
        Condition(u.diff(x, 2), on=free),
        Condition(u.diff(x, 3), on=free),
    ]
    return Problem(pibls.Interval(x, 0, 1), [u.diff(x, 4) - E * u, E.diff(x)], [*ends, NORMALIZED])


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(("guess", "modes"), [(None, (1, 2, 3)), ({u: sp.sin(2 * sp.pi * x), E: 30}, (2,))])
def test_eigenvalues_of_a_string(guess: Any, modes: tuple[int, ...], seed: int) -> None:
    problem = Problem(
        pibls.Interval(x, 0, 1), [u.diff(x, 2) + E * u, E.diff(x)], [Dirichlet(u, 0), NORMALIZED]
    )
    solution = pibls.solve(problem, tol=1e-8, guess=guess, seed=seed)
    assert solution.converged
    n = min(modes, key=lambda k: abs((k * np.pi) ** 2 - solution[E](0.5)))
    assert abs(solution[E](0.5) - (n * np.pi) ** 2) <= solution[E].error.max
    X = np.linspace(0, 1, 201)
    assert np.abs(np.abs(solution[u](X)) - np.sqrt(2) * np.abs(np.sin(n * np.pi * X))).max() < 1e-8


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_eigenvalue_of_a_cantilever_is_determined(seed: int) -> None:
    # The fourth derivative makes row norms large; λ must not be taken for UNDETERMINED.
    solution = pibls.solve(_cantilever(), tol=1e-8, seed=seed)
    assert solution.converged
    k = float(mpmath.findroot(lambda s: mpmath.cosh(s) * mpmath.cos(s) + 1, solution[E](0.5) ** 0.25))
    assert abs(solution[E](0.5) - k**4) <= solution[E].error.max


def test_eigenvalue_of_a_membrane() -> None:
    problem = Problem(
        pibls.Disk((x, y), (0, 0), 1),
        [v.diff(x, 2) + v.diff(y, 2) + F * v, F.diff(x), F.diff(y)],
        [Dirichlet(v, 0), Condition(sp.Eq(pibls.integral(v**2), 1))],
    )
    solution = pibls.solve(problem, tol=1e-8, guess={v: 1 - x**2 - y**2, F: 6})
    assert solution.converged
    assert abs(solution[F](0.0, 0.0) - float(mpmath.besseljzero(0, 1)) ** 2) <= solution[F].error.max


def test_integral_condition_overrides_no_boundary_condition() -> None:
    assert overridden_conditions(_cantilever()) == ()

"""The convergence rate of random features is measured over a doubling of nodes, not a factor of 1.3."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import pibls

x, y, z = sp.symbols("x y z")


@pytest.mark.parametrize("tol", [1e-5, 1e-6])
def test_robin_problem_in_a_ball_needs_no_cells(tol: float) -> None:
    """-Δu + 9u = 1: after one step without gain (5.0e-7, 5.7e-7) cells were used until the time limit."""
    u = sp.Function("u")(x, y, z)
    problem = pibls.Problem(
        pibls.Ball((x, y, z), (0, 0, 0), 1),
        [sp.Eq(-sum(u.diff(c, 2) for c in (x, y, z)) + 9 * u, 1)],
        [pibls.Robin(u, 0, alpha=1, beta=sp.Rational(1, 2))],
    )
    cells: list[int] = []
    solution = pibls.solve(
        problem, tol=tol, time_limit=60.0, callback=lambda progress: cells.append(progress.cells)
    )
    assert solution.converged
    assert max(cells) == 1
    # u = 1/9 + C sinh(3r)/r, with u + u_r/2 = 0 at r = 1.
    C = -(1 / 9) / (np.sinh(3) + (3 * np.cosh(3) - np.sinh(3)) / 2)
    r = np.linspace(0.05, 0.99, 50)
    error = np.abs(solution(r, 0 * r, 0 * r) - (1 / 9 + C * np.sinh(3 * r) / r)).max()
    assert error <= min(tol, solution.error.max)

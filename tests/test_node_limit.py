"""max_nodes bounds every strategy: a dense system, cells (25 times as many), tensor products (n²/4)."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import sympy as sp

import pibls

x, y, z = sp.symbols("x y z")
u, v = sp.Function("u"), sp.Function("v")
HALF = sp.Rational(1, 2)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})
DISK = pibls.Disk((x, y), (0, 0), 1)


def poisson(domain: Any, source: Any = 1) -> pibls.Problem:
    w = u(*domain.coordinates)
    laplacian = sum(w.diff(c, 2) for c in domain.coordinates)
    return pibls.Problem(domain, [laplacian + source], [pibls.Dirichlet(w, 0)])


def with_jumping_coefficient(domain: Any, inside: Any) -> pibls.Problem:
    w, k = u(*domain.coordinates), sp.Piecewise((3, inside), (1, True))
    return pibls.Problem(domain, [pibls.div(k * pibls.grad(w)) + 1], [pibls.Dirichlet(w, 0)])


def boundary_layer() -> pibls.Problem:
    w = u(x)
    return pibls.Problem(
        pibls.Interval(x, 0, 1), [-w.diff(x, 2) / 10**4 + w.diff(x) - 1], [pibls.Dirichlet(w, 0)]
    )


def coupled_system() -> pibls.Problem:
    a, b = u(x), v(x)
    conditions = [pibls.Dirichlet(a, 0), pibls.Dirichlet(b, 1)]
    return pibls.Problem(pibls.Interval(x, 0, 1), [a.diff(x, 2) - b, b.diff(x, 2) - a - 1], conditions)


PROBLEMS = {
    "line": poisson(pibls.Interval(x, 0, 1), sp.exp(x)),
    "boundary layer": boundary_layer(),
    "jump": with_jumping_coefficient(pibls.Interval(x, 0, 1), x < HALF),
    "square": poisson(SQUARE),
    "disk": poisson(DISK),
    "cube": poisson(pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)})),
    "corner": poisson(pibls.Polygon((x, y), [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)])),
    "inclusion": with_jumping_coefficient(DISK, pibls.Disk((x, y), (0, 0), HALF).inside),
    "nonlinear": poisson(pibls.Interval(x, 0, 1), sp.exp(u(x))),
    "two unknowns": coupled_system(),
}
MIN_NODES = {"inclusion": 38, "two unknowns": 4}
LIMITS = {
    "SingleDomainSpace": lambda n: n,
    "SubdomainSpace": lambda n: n,
    "CellSpace": lambda n: 25 * n,
    "TensorGridSpace": lambda n: n * n // 4,
}


@pytest.mark.parametrize("max_nodes", [2, 7, 20, 64])
@pytest.mark.parametrize("kind", PROBLEMS)
def test_number_of_functions_is_bounded_by_max_nodes(kind: str, max_nodes: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        if max_nodes < MIN_NODES.get(kind, 2):
            with pytest.raises(pibls.ProblemError, match="max_nodes: expected at least"):
                pibls.solve(PROBLEMS[kind], max_nodes=max_nodes, tol=1e-3, time_limit=30.0)
            return
        solution = pibls.solve(PROBLEMS[kind], max_nodes=max_nodes, tol=1e-3, time_limit=30.0)
    limit = LIMITS[type(solution.space).__name__](max_nodes)
    assert solution.nodes * len(solution.problem.unknowns) <= limit


def test_max_nodes_too_small_for_any_basis_is_rejected() -> None:
    with pytest.raises(pibls.ProblemError, match="max_nodes: expected at least 4 for this problem, got 2"):
        pibls.solve(coupled_system(), max_nodes=2)

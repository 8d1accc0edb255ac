"""Algorithm 2 of the paper with fewer points than nodes, and its initial guesses."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.assembly.points import place
from pibls.assembly.system import assemble
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import SingleDomainSpace


def test_algorithm_2_with_fewer_rows_than_columns() -> None:
    """The triangular factor of a wide matrix is wide, too; its QR factorization used to fail."""
    case = pibls.cases["TC-10"]
    basis = pibls.Broad(4, 10, 2, 10, scale=3.0)
    points = pibls.Points(40, 0, 1)
    solution = pibls.solve(case.problem, basis=basis, points=points, method=pibls.NLSQPerturb())
    assert basis.size > 42
    assert solution.status is pibls.Status.SOLVED
    assert abs(solution(1.0) - case.exact(1.0)) < 1e-5


def test_initial_guesses_and_perturbations_of_other_codes() -> None:
    """Linear terms only, zero, and ξ₂w + Random(-ξ₁δ, ξ₁δ), as in Dong and Li and the authors' code."""
    case = pibls.cases["TC-10"]
    basis, points = pibls.Broad(4, 10, 2, 10, scale=3.0), pibls.Points(120, 0, 1)
    for start in ("linearised", "linear terms", "zero"):
        method = pibls.NLSQPerturb(start=start, random_factors=True, rounds=1, tolerance=0.0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pibls.ConvergenceWarning)
            solution = pibls.solve(case.problem, basis=basis, points=points, method=method)
        assert abs(solution(1.0) - case.exact(1.0)) < 1e-5
    with pytest.raises(pibls.ProblemError, match=r"(?s)NLSQPerturb\(start\).*'linear terms'"):
        pibls.NLSQPerturb(start="random")


def test_linear_part_drops_nonlinear_terms() -> None:
    t = sp.Symbol("t")
    u = sp.Function("u")(t)
    problem = pibls.Problem(pibls.Interval(t, 0, 1), [u.diff(t) + sp.sin(u) - 2], [pibls.Initial(u, 1)])
    compiled = compile_problem(problem)
    points = place(compiled, problem.domain, pibls.Points(5, 0, 1), np.random.default_rng(0))
    drawn = pibls.Broad(1, 3, scale=1.0).draw(np.array([[0.0, 1.0]]), np.random.default_rng(0))
    system = assemble(compiled, points, SingleDomainSpace.shared(drawn, 1))
    L, b = system.linear_part()
    J, _ = system.linearize(system.values_of_constant(0.0))
    np.testing.assert_allclose(b, [2.0] * 5 + [1.0])
    np.testing.assert_allclose(
        (J - L)[:5], drawn.jets(points[compiled.residuals[0].region].sites[0], [(0,)])[0]
    )

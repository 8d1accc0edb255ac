"""Nodes and points added to a broad basis: the same solution as from scratch at lower cost."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.basis import coefficient_order
from pibls.linalg.updated_qr import UpdatedQR

x, y = sp.symbols("x y")
u, v = sp.Function("u")(x), sp.Function("v")(x)
w = sp.Function("w")(x, y)

POISSON = pibls.Problem(
    pibls.Box({x: (0, 1), y: (0, 1)}),
    [sp.Eq(w.diff(x, 2) + w.diff(y, 2), -sp.exp(x * y))],
    [pibls.Dirichlet(w, sp.sin(3 * x) * y)],
)
BASIS = pibls.Broad(4, 10, 2, 5, scale=1.0, whiten=True)
POINTS = pibls.Points(300, 100)


def validation_points(problem: pibls.Problem, n: int = 400) -> Any:
    return problem.domain.interior(n, np.random.default_rng(5)).T


def difference(first: Any, second: Any, problem: pibls.Problem) -> float:
    """max|u₁ - u₂| relative to max|u|, at points that were not fitted."""
    X = validation_points(problem)
    found = [np.array([s[k](*X) for k in problem.unknowns]) for s in (first, second)]
    return float(np.abs(found[0] - found[1]).max() / np.abs(found[1]).max())


def solve_without_warning(model: pibls.IncrementalBroad) -> pibls.Solution:
    """Return the solution without a warning, also if the basis is too small."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pibls.ConvergenceWarning)
        return model.solve()


ADDITIONS = {
    "enhancement nodes": lambda m: m.add_enhancement_nodes(7),
    "feature nodes": lambda m: m.add_feature_nodes(6),
    "both, twice": lambda m: m.add_feature_nodes(3).add_enhancement_nodes(4).add_feature_nodes(2),
    "points": lambda m: m.add_points(pibls.Points(60, 20)),
    "points, then nodes": lambda m: m.add_points(pibls.Points(60, 0)).add_enhancement_nodes(5),
    "nodes, then points": lambda m: m.add_feature_nodes(5).add_points(pibls.Points(40, 12)),
}


@pytest.mark.parametrize("grow", ADDITIONS.values(), ids=ADDITIONS)
@pytest.mark.parametrize("seed", [0, 1])
def test_addition_equals_the_solve_from_scratch(grow: Any, seed: int) -> None:
    """Also if there are too few nodes, so that the residual is far above rounding."""
    model = pibls.IncrementalBroad(POISSON, BASIS, POINTS, seed=seed)
    before = solve_without_warning(model)
    grown = grow(model)
    scratch = pibls.IncrementalBroad(POISSON, grown.basis, grown.points, seed=seed)
    assert difference(solve_without_warning(grown), solve_without_warning(scratch), POISSON) < 1e-12
    assert difference(before, solve_without_warning(grown), POISSON) > 1e-9  # the addition has an effect
    assert solve_without_warning(grown).nodes == grown.nodes == grown.basis.size


def test_solve_with_the_grown_basis_has_the_same_nodes() -> None:
    case = pibls.cases["TC-2"]
    points = case.published.settings["points"]
    model = pibls.IncrementalBroad(case.problem, case.published.settings["basis"], points, seed=3)
    grown = model.add_feature_nodes(10).add_enhancement_nodes(4)
    solution = pibls.solve(case.problem, basis=grown.basis, points=points, seed=3)
    assert difference(grown.solve(), solution, case.problem) < 1e-12
    for a, b in zip(grown.solve().weights[:4], solution.weights[:4], strict=True):
        assert np.array_equal(a, b)


def test_additions_for_systems_and_nonlinear_problems() -> None:
    system = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2), v - sp.sin(3 * x)), sp.Eq(v.diff(x, 2), u + 1)],
        [pibls.Dirichlet(u, 0), pibls.Dirichlet(v, x)],
    )
    nonlinear = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2), sp.exp(u))], [pibls.Dirichlet(u, 0)]
    )
    for problem in (system, nonlinear):
        model = pibls.IncrementalBroad(problem, pibls.Broad(2, 6, 1, 4, scale=3.0), pibls.Points(80, 2))
        grown = model.add_feature_nodes(5).add_enhancement_nodes(6)
        scratch = pibls.IncrementalBroad(problem, grown.basis, grown.points)
        assert difference(solve_without_warning(grown), solve_without_warning(scratch), problem) < 1e-12
        assert (
            difference(solve_without_warning(grown.add_feature_nodes(30)), pibls.solve(problem), problem)
            < 1e-10
        )


def test_addition_does_not_change_the_model() -> None:
    model = pibls.IncrementalBroad(POISSON, BASIS, POINTS)
    before = solve_without_warning(model).coefficients.copy()
    first, second = model.add_enhancement_nodes(5), model.add_enhancement_nodes(5)
    assert np.array_equal(solve_without_warning(model).coefficients, before)
    assert np.array_equal(
        solve_without_warning(first).coefficients, solve_without_warning(second).coefficients
    )
    assert model.nodes == BASIS.size
    assert first.basis == pibls.GrownBroad(BASIS, ((0, 5),))


def test_more_nodes_reduce_the_error_and_the_estimate_is_a_bound() -> None:
    case = pibls.cases["TC-5"]
    model = pibls.IncrementalBroad(case.problem, pibls.Broad(4, 10, scale=2.0), pibls.Points(800, 200))
    X, errors = validation_points(case.problem), []
    for _ in range(3):
        solution = solve_without_warning(model)
        errors.append(float(np.abs(solution(*X) - case.exact(*X)).max()))
        assert errors[-1] <= solution.error.max
        model = model.add_feature_nodes(40).add_enhancement_nodes(20)
    assert errors[2] < 0.2 * errors[1] < 0.04 * errors[0]


def test_adding_a_tenth_of_the_nodes_costs_less_than_a_third_of_a_solve() -> None:
    """Processor time, minimum of three runs."""
    case = pibls.cases["TC-5"]
    basis, points = pibls.Broad(35, 20, 5, 20, scale=2.0, whiten=True), pibls.Points(1100, 300)
    model = pibls.IncrementalBroad(case.problem, basis, points)
    model.solve()
    nodes = basis.size // 10
    grown = model.add_enhancement_nodes(nodes)

    def seconds(work: Any) -> float:
        found = []
        for _ in range(3):
            start = time.process_time()
            work()
            found.append(time.process_time() - start)
        return min(found)

    scratch = seconds(lambda: pibls.solve(case.problem, basis=grown.basis, points=points))
    for add in (model.add_enhancement_nodes, model.add_feature_nodes):
        assert seconds(lambda add=add: add(nodes).solve()) < scratch / 3  # type: ignore[misc]


def test_solution_with_added_nodes_is_saved_and_loaded(tmp_path: Any) -> None:
    solution = solve_without_warning(pibls.IncrementalBroad(POISSON, BASIS, POINTS).add_enhancement_nodes(5))
    solution.save(tmp_path / "grown.pibls")
    loaded = pibls.load(tmp_path / "grown.pibls")
    assert loaded.settings["basis"] == pibls.GrownBroad(BASIS, ((0, 5),))
    assert np.array_equal(loaded.weights.W_h, solution.weights.W_h)


def test_old_enhancement_nodes_do_not_depend_on_new_feature_nodes() -> None:
    grown = pibls.GrownBroad(BASIS, ((6, 3),))
    box = np.array([[0.0, 1.0], [0.0, 1.0]])
    stages = grown.stages(box, np.random.default_rng(0))
    assert not stages[1].inner[40:, :10].any()
    assert stages[1].inner[40:, 10:].all()
    assert coefficient_order(stages, 1) == [*range(40), *range(50, 56), *range(40, 50), *range(56, 59)]


def test_updated_qr_solves_the_full_least_squares_problem() -> None:
    rng = np.random.default_rng(1)
    B, b = rng.standard_normal((60, 25)), rng.standard_normal((60, 2))
    ridge = np.full(25, 1e-14)
    factors = UpdatedQR.of(B[:40, :10], ridge[:10]).with_columns(B[:40, 10:17], ridge[10:17])
    factors = factors.with_rows(B[40:55, :17]).with_columns(B[:55, 17:], ridge[17:]).with_rows(B[55:])
    np.testing.assert_allclose(factors.apply(b), np.linalg.lstsq(B, b, rcond=None)[0], atol=1e-12)
    np.testing.assert_allclose(factors.triangle.T @ factors.triangle, B.T @ B, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((POISSON, pibls.Waves(20, scale=2.0), POINTS), r"IncrementalBroad\(basis\).*Broad"),
        ((POISSON, BASIS, 300), r"IncrementalBroad\(points\).*Points\(interior"),
    ],
)
def test_invalid_arguments_are_rejected(arguments: Any, message: str) -> None:
    with pytest.raises(pibls.ProblemError, match=f"(?s){message}"):
        pibls.IncrementalBroad(*arguments)


def test_invalid_additions_are_rejected() -> None:
    with pytest.raises(pibls.ProblemError, match=r"(?s)GrownBroad\(added\).*not both 0"):
        pibls.GrownBroad(BASIS, ((0, 0),))
    model = pibls.IncrementalBroad(POISSON, BASIS, POINTS)
    with pytest.raises(pibls.ProblemError, match=r"add_feature_nodes\(nodes\)"):
        model.add_feature_nodes(0)
    with pytest.raises(pibls.ProblemError, match=r"add_enhancement_nodes\(nodes\)"):
        model.add_enhancement_nodes(2.5)  # type: ignore[arg-type]
    k = sp.Piecewise((1, x < sp.Rational(1, 2)), (5, True))
    jump = pibls.Problem(
        pibls.Disk((x, y), center=(0, 0), radius=1),
        [pibls.div(k * pibls.grad(w)) + 1],
        [pibls.Dirichlet(w, 0)],
    )
    with pytest.raises(pibls.ProblemError, match=r"(?s)IncrementalBroad\(problem\).*several subdomains"):
        pibls.IncrementalBroad(jump, BASIS, POINTS)

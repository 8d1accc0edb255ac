"""Linear and nonlinear solvers on a set of systems; the two algorithms of the paper; Gauss-Newton."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.candidate import assemble_system, draw_space
from pibls.adaptive.point_counts import default_points
from pibls.adaptive.validation.context import ValidationContext
from pibls.arrays import Array
from pibls.assembly.system import System
from pibls.linalg import LeverageFactorization, LinearSolver
from pibls.linalg.matrix import Matrix, norms
from pibls.nonlinear import Method
from pibls.nonlinear.protocol import Equations
from pibls.problem.forms.compilation import compile_problem

LINEAR: list[LinearSolver] = [pibls.SVD(), pibls.PivotedQR(), pibls.RidgeQR()]
SHAPES = {"tall": (60, 20), "square": (30, 30), "wide": (20, 45), "large": (900, 600)}


def matrix(kind: str, shape: tuple[int, int], seed: int) -> Array:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal(shape)
    if kind == "full":
        return np.asfortranarray(A)
    rank = min(shape) // 5
    return np.asfortranarray(A[:, :rank] @ rng.standard_normal((rank, shape[1])))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))
@pytest.mark.parametrize("kind", ["full", "deficient"])
@pytest.mark.parametrize("solver", LINEAR, ids=lambda s: type(s).__name__)
def test_consistent_systems_are_solved(
    solver: LinearSolver, kind: str, shape: tuple[int, int], seed: int
) -> None:
    """A consistent system is solved, and its matrix is not modified."""
    A = matrix(kind, shape, seed)
    before = A.copy()
    b = A @ np.random.default_rng(seed + 9).standard_normal(shape[1])
    w = solver.factor(A).apply(b)
    assert np.linalg.norm(A @ w - b) <= 1e-9 * np.linalg.norm(b)
    assert np.array_equal(A, before), "the matrix must not be modified"


@pytest.mark.parametrize("solver", [pibls.SVD(), pibls.PivotedQR(rows=False)], ids=["svd", "qr"])
def test_residual_of_an_inconsistent_system_is_orthogonal(solver: LinearSolver) -> None:
    rng = np.random.default_rng(3)
    A, b = np.asfortranarray(rng.standard_normal((80, 25))), rng.standard_normal(80)
    w = solver.factor(A).apply(b)
    assert np.linalg.norm(A.T @ (A @ w - b)) <= 1e-12 * np.linalg.norm(A.T @ b)


def test_pivoted_qr_finds_the_rank_with_and_without_a_sketch() -> None:
    for shape in ((900, 600), (60, 40)):
        A = matrix("deficient", shape, 0)
        assert pibls.PivotedQR(cond=1e-12).factor(A).rank == min(shape) // 5


@dataclass(frozen=True)
class Circle:
    """The system x² + y² = 4, x = y with two coefficients; v = (x, y)."""

    shape: tuple[int, int] = (3, 2)
    is_linear: bool = False

    def residual(self, w: Array) -> Array:
        return np.array([w @ w - 4.0, w[0] - w[1], 0.0])

    def jacobian(self, w: Array) -> Array:
        return np.asfortranarray([[2 * w[0], 2 * w[1]], [1.0, -1.0], [0.0, 0.0]])

    def row_scales(self, J: Matrix) -> Array:
        return norms(J, 1)

    def values(self, w: Array) -> Array:
        return w

    def values_of_constant(self, u: float) -> Array:
        return np.array([u, 0.5 * u])

    def linear_part(self) -> tuple[Array, Array]:
        return self.linearize(np.zeros(2))

    def linearize(self, v: Array) -> tuple[Array, Array]:
        J = self.jacobian(v)
        return J, J @ v - self.residual(v)


@pytest.mark.parametrize(
    "method",
    [
        pibls.GaussNewton(),
        pibls.GaussNewton(linear=pibls.RidgeQR()),
        pibls.GaussNewton(linear=pibls.SVD()),
        pibls.NLSQPerturb(),
        pibls.LeastSquares(),
    ],
    ids=lambda m: type(m).__name__,
)
def test_methods_on_a_small_system(method: Method) -> None:
    system: Equations = Circle()
    rng = np.random.default_rng(0)
    if isinstance(method, pibls.LeastSquares):
        with pytest.raises(pibls.ProblemError, match="GaussNewton or NLSQPerturb"):
            method.solve(system, rng)
        return
    outcome = method.solve(system, rng)
    assert np.allclose(np.abs(outcome.w), np.sqrt(2.0), atol=1e-7)
    assert outcome.cost < 1e-12


def test_trust_region_agrees_with_scipy() -> None:
    """Same minimum as SciPy's implementation from the same start, on a published configuration."""
    from scipy.optimize import least_squares

    rng = np.random.default_rng(1)
    A, b = rng.standard_normal((40, 6)), rng.standard_normal(40)

    @dataclass(frozen=True)
    class Sines:
        shape: tuple[int, int] = (40, 6)
        is_linear: bool = False

        def residual(self, w: Array) -> Array:
            return np.asarray(np.sin(A @ w) - 0.5 * np.sin(b))

        def jacobian(self, w: Array) -> Array:
            return np.asfortranarray(np.cos(A @ w)[:, None] * A)

    system = Sines()
    start = 0.1 * rng.standard_normal(6)
    ours, cost, _, met = pibls.TrustRegion(1e-12, 1e-12, 1e-12).minimize(system, start)  # type: ignore[arg-type]
    theirs = least_squares(system.residual, start, jac=system.jacobian, ftol=1e-12, xtol=1e-12, gtol=1e-12)
    assert met
    assert cost == pytest.approx(theirs.cost, rel=1e-8)
    assert np.allclose(ours, theirs.x, atol=1e-5)


@pytest.mark.parametrize("nonlinear", [0, 1], ids=["linear", "nonlinear"])
def test_trust_region_as_method(nonlinear: int) -> None:
    """u'' + e^u = 0 and its linearization, from the linearized initial guess; a step limit is reported."""
    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    equation = u.diff(x, 2) + (sp.exp(u) if nonlinear else 1 + u)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(u, 0)])
    basis = pibls.Waves(24, scale=3.0)
    solution = pibls.solve(problem, basis=basis, method=pibls.TrustRegion())
    best = pibls.solve(problem)
    assert solution.converged, solution.message
    assert abs(solution(0.5) - best(0.5)) < 1e-8
    if nonlinear:
        with pytest.warns(pibls.ConvergenceWarning, match="step limit"):
            pibls.solve(problem, basis=basis, method=pibls.TrustRegion(max_steps=1))


def test_classes_implement_the_solver_protocols() -> None:
    """The assignments are checked by the type checker."""
    factors: LeverageFactorization = pibls.RidgeQR().factor(np.asfortranarray(np.eye(3)))  # type: ignore[assignment]
    np.testing.assert_allclose(factors.leverage(np.eye(3)), 1.0)
    system: type[Equations] = System
    assert hasattr(system, "linearize")


def test_perturbations_are_tried_until_the_tolerance_is_met() -> None:
    """With an unattainable tolerance all rounds are used, and the best result is kept."""
    case = pibls.cases["TC-11"]
    basis, points = pibls.Broad(5, 3, 4, 5, scale=1.1, whiten=True), pibls.Points(150, 60, 60)
    quick = pibls.TrustRegion(max_steps=8)
    runs = {
        rounds: pibls.solve(
            case.problem, basis=basis, points=points,
            method=pibls.NLSQPerturb(rounds=rounds, tolerance=1e-300, trust_region=quick),
        )
        for rounds in (0, 2)
    }  # fmt: skip
    assert runs[2].steps > runs[0].steps
    assert not runs[2].converged
    assert runs[2].residuals["equation"].rms <= 2.0 * runs[0].residuals["equation"].rms


@pytest.mark.parametrize("seed", range(3))
def test_gauss_newton_is_as_accurate_as_algorithm_2(seed: int) -> None:
    from benchmarks.nonlinear import max_error, published_system

    case = pibls.cases["TC-11"]
    system = published_system(case, seed)
    rng = np.random.default_rng(seed)
    gauss = max_error(case, system, pibls.GaussNewton().solve(system, rng).w)
    published = max_error(case, system, case.published.settings["method"].solve(system, rng).w)
    assert gauss <= max(published, 1e-14)


def test_iterative_refinement_reduces_the_rounding_error() -> None:
    """TC-5 with 400 features: the cost is 0.7 to 0.94 of that without refinement."""
    case, shares = pibls.cases["TC-5"], []
    for seed in range(5):
        context = ValidationContext.of(compile_problem(case.problem), case.problem.domain, seed, 1e-13)
        spec = context.family.spec(400)
        system = assemble_system(
            context, draw_space(spec, context, 1), default_points(spec, context.domain, 2.5), 1
        )
        assert isinstance(system, System)
        found = pibls.GaussNewton().linear_solve(system)
        assert found.factors is not None
        unrefined = system.residual(found.factors.apply(-system.constant))
        shares.append(found.cost / (0.5 * float(unrefined @ unrefined)))
    assert np.exp(np.mean(np.log(shares))) < 0.95

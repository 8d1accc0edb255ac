"""Streamed systems: the same solutions from blocks of rows, in the memory of a few blocks."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.arrays import Array
from pibls.assembly import streaming
from pibls.assembly.points import place
from pibls.assembly.residual_coefficients import PlacedPoints
from pibls.assembly.streaming import StreamedSystem, assemble_or_stream
from pibls.assembly.system import System, assemble
from pibls.basis.scale import scale_for
from pibls.geometry import box_of
from pibls.linalg import Factorization, LinearSolver
from pibls.linalg.matrix import Matrix, is_finite, norms
from pibls.linalg.streamed_matrix import StreamedMatrix
from pibls.linalg.streamed_qr import StreamedFactorization, reduce_to_triangle
from pibls.nonlinear import Method
from pibls.nonlinear.homotopy import Homotopy
from pibls.nonlinear.trust_region import Triangle
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import SingleDomainSpace

SOLVERS: list[LinearSolver] = [
    pibls.SVD(), pibls.PivotedQR(), pibls.PivotedQR(rows=False), pibls.RidgeQR(),
]  # fmt: skip


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stream every system, in small blocks."""
    monkeypatch.setattr(streaming, "MAX_STORED_ENTRIES", 0)
    monkeypatch.setattr(streaming, "_BLOCK_ENTRIES", 1 << 12)


def in_blocks(A: Array, sizes: tuple[int, ...]) -> StreamedMatrix:
    return StreamedMatrix((A.shape[0], A.shape[1]), lambda: iter(np.split(A, np.cumsum(sizes)[:-1])))


def two_unknowns() -> pibls.Problem:
    """u'' + v = f, v' - u = g with u = sin 3x, v = eˣ."""
    x = sp.Symbol("x")
    u, v = sp.Function("u")(x), sp.Function("v")(x)
    f, g = sp.sin(3 * x).diff(x, 2) + sp.exp(x), sp.exp(x) - sp.sin(3 * x)
    return pibls.Problem(
        pibls.Interval(x, 0, 1),
        [sp.Eq(u.diff(x, 2) + v, f), sp.Eq(v.diff(x) - u, g)],
        [pibls.Dirichlet(u, sp.sin(3 * x)), pibls.Dirichlet(v, 1, on=sp.Eq(x, 0))],
    )


PROBLEMS: dict[str, Any] = {
    **{name: pibls.cases[name].problem for name in ("TC-5", "TC-7", "TC-10", "TC-11")},
    "two unknowns": two_unknowns(),
}


def stored_and_streamed(problem: pibls.Problem, nodes: int = 40) -> tuple[System, StreamedSystem]:
    """Return the same system, stored and streamed."""
    rng = np.random.default_rng(3)
    compiled, domain = compile_problem(problem), problem.domain
    basis = pibls.Waves(nodes, 2.0).draw(box_of(domain), rng)
    space = SingleDomainSpace.shared(basis, compiled.unknowns)
    points = place(compiled, domain, pibls.Points(700, 150, 60), rng)
    return assemble(compiled, points, space), StreamedSystem.of(compiled, points, space)


@pytest.mark.parametrize("sizes", [(300,), (7, 93, 200), (120, 120, 60)])
def test_triangular_factor_of_blocks_is_that_of_all_rows(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    A, b, scale = rng.standard_normal((300, 20)), rng.standard_normal(300), rng.uniform(0.5, 2.0, 300)
    R, c = reduce_to_triangle(in_blocks(A, sizes), b, scale)
    D = A / scale[:, None]
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, D.T @ D, rtol=0, atol=1e-12)
    np.testing.assert_allclose(R.T @ c, D.T @ (b / scale), rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_every_linear_solver_accepts_blocks(solver: LinearSolver) -> None:
    """Full rank and a fifth of it, with columns of very different magnitude."""
    rng = np.random.default_rng(1)
    full = rng.standard_normal((400, 30)) * 10.0 ** rng.uniform(-3, 3, 30)
    low = rng.standard_normal((400, 6)) @ rng.standard_normal((6, 30))
    for A, noise in ((full, 1e-3), (low, 0.0)):
        b = A @ rng.standard_normal(30) + noise * rng.standard_normal(400)
        stored, streamed = solver.factor(np.asfortranarray(A)), solver.factor(in_blocks(A, (50, 250, 100)))
        assert isinstance(streamed, StreamedFactorization)
        expected = A @ stored.apply(b)
        np.testing.assert_allclose(A @ streamed.apply(b), expected, rtol=0, atol=1e-11 * np.abs(b).max())
        assert streamed.rank == stored.rank


def test_operations_of_a_streamed_matrix() -> None:
    A = np.random.default_rng(2).standard_normal((50, 4))
    A[3] = 0.0
    rows, w = in_blocks(A, (20, 30)), np.arange(4.0)
    np.testing.assert_allclose(rows @ w, A @ w, rtol=1e-14)
    np.testing.assert_allclose(norms(rows, 1), norms(A, 1), rtol=1e-14)
    np.testing.assert_array_equal(np.asarray(rows), A)
    assert is_finite(rows)
    A[40, 2] = np.nan
    assert not is_finite(in_blocks(A, (20, 30)))


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_streamed_system_has_the_rows_of_the_stored_one(name: str, stream: None) -> None:
    stored, streamed = stored_and_streamed(PROBLEMS[name])
    assert len(streamed.row_blocks) > 5
    assert streamed.shape == stored.shape
    w = np.random.default_rng(5).standard_normal(stored.shape[1])

    def assert_equal_up_to_order(a: Array, b: Array) -> None:
        """Compare the sorted values."""
        np.testing.assert_allclose(np.sort(a), np.sort(b), rtol=0, atol=1e-11 * np.abs(b).max(initial=1.0))

    assert_equal_up_to_order(streamed.residual(w), stored.residual(w))
    assert_equal_up_to_order(streamed.values(w), stored.values(w))
    assert_equal_up_to_order(streamed.values_of_constant(2.0), stored.values_of_constant(2.0))
    assert_equal_up_to_order(stored.values_of(stored.space, w), stored.values(w))
    assert_equal_up_to_order(streamed.values_of(stored.space, w), stored.values(w))
    v, v_stored = streamed.values(w), stored.values(w)
    (J, b), (J_stored, b_stored) = streamed.linearize(v), stored.linearize(v_stored)
    assert_equal_up_to_order(b, b_stored)
    assert_equal_up_to_order(J @ w, J_stored @ w)
    assert_equal_up_to_order(J @ w - b, stored.residual(w))
    assert_equal_up_to_order(norms(streamed.jacobian(w), 1), norms(J_stored, 1))
    if not stored.is_linear:
        blend = Homotopy(streamed, *streamed.linearize(streamed.values_of_constant(0.5)), 0.3)
        blend_stored = Homotopy(stored, *stored.linearize(stored.values_of_constant(0.5)), 0.3)
        assert_equal_up_to_order(blend.residual(w), blend_stored.residual(w))
        assert_equal_up_to_order(blend.linearize(v)[0] @ w, blend_stored.linearize(v_stored)[0] @ w)


def solution_values(problem: pibls.Problem, method: Method | None) -> Array:
    d = len(problem.coordinates)
    basis = pibls.Waves(256, scale_for("waves", 256, 2)) if d == 2 else pibls.Waves(48, 20.0)
    solution = pibls.solve(problem, basis=basis, points=pibls.Points(2000, 400, 200), method=method)
    X = problem.domain.interior(200, np.random.default_rng(7))
    return np.concatenate([solution[u](*X.T) for u in problem.unknowns])


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, None) for name in PROBLEMS),
        ("TC-5", pibls.LeastSquares()),
        ("TC-5", pibls.LeastSquares(pibls.RidgeQR())),
        ("TC-5", pibls.GaussNewton()),
        ("TC-10", pibls.GaussNewton(linear=pibls.PivotedQR(), rounds=0)),
    ],
    ids=lambda v: v if isinstance(v, str) else type(v).__name__,
)
def test_streamed_solution_is_the_same(
    name: str, method: Method | None, request: pytest.FixtureRequest
) -> None:
    """Equal up to rounding, amplified by the condition number of the matrix."""
    stored = solution_values(PROBLEMS[name], method)
    request.getfixturevalue("stream")
    streamed = solution_values(PROBLEMS[name], method)
    assert np.abs(streamed - stored).max() <= 1e-10 * np.abs(stored).max()
    assert not np.array_equal(streamed, stored), "the system was not streamed"


def test_trust_region_accepts_blocks() -> None:
    rng = np.random.default_rng(4)
    J, r, p = rng.standard_normal((200, 12)), rng.standard_normal(200), rng.standard_normal(12)
    stored, streamed = Triangle.of(np.asfortranarray(J), r), Triangle.of(in_blocks(J, (60, 140)), r)
    assert streamed.gradient_norm == pytest.approx(stored.gradient_norm, rel=1e-12)
    assert streamed.decrease(p) == pytest.approx(stored.decrease(p), rel=1e-12)
    np.testing.assert_allclose(streamed.step(0.1, 0.0)[0], stored.step(0.1, 0.0)[0], rtol=0, atol=1e-12)


def test_automatic_solve_streams(stream: None) -> None:
    """This includes the conditioning test and the warm start of a nonlinear problem."""
    for name, limit in (("TC-2", 1e-13), ("TC-10", 1e-12)):
        case = pibls.cases[name]
        solution = pibls.solve(case.problem, points=pibls.Points(2000, 2, 1, rule="chebyshev"), tol=1e-9)
        X = case.problem.domain.interior(300, np.random.default_rng(1))
        assert solution.converged
        assert np.abs(solution(*X.T) - case.exact(*X.T)).max() < max(limit, solution.error.max)


def test_missing_condition_is_detected_while_streaming(stream: None) -> None:
    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2), sp.sin(x))], [pibls.Dirichlet(u, 0, on=sp.Eq(x, 0))]
    )
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(problem, points=pibls.Points(800, 2))
    assert solution.status is pibls.Status.UNDETERMINED


@pytest.mark.parametrize("name", ["TC-5", "TC-11"])
@pytest.mark.filterwarnings("ignore::pibls.ConvergenceWarning")
def test_peak_memory_is_far_below_the_matrix(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entry limit switches to streaming; the peak memory is far below that of the full matrix."""
    monkeypatch.setattr(streaming, "MAX_STORED_ENTRIES", 1 << 20)
    monkeypatch.setattr(streaming, "_BLOCK_ENTRIES", 1 << 15)
    problem, nodes, count = pibls.cases[name].problem, 100, 16_000
    basis, points = pibls.Waves(nodes, 8.0), pibls.Points(count, 400, 200)
    method = None if problem.is_linear else pibls.GaussNewton(max_steps=1, rounds=0, continuation=0)
    pibls.solve(problem, basis=basis, points=pibls.Points(200, 40, 20), method=method)  # imports
    tracemalloc.start()
    try:
        pibls.solve(problem, basis=basis, points=points, method=method)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.5 * 8 * nodes * count


def test_small_systems_are_stored() -> None:
    problem = pibls.cases["TC-5"].problem
    compiled, rng = compile_problem(problem), np.random.default_rng(0)
    space = SingleDomainSpace.shared(pibls.Waves(20, 2.0).draw(box_of(problem.domain), rng), 1)
    points = place(compiled, problem.domain, pibls.Points(100, 40), rng)
    assert isinstance(assemble_or_stream(compiled, PlacedPoints(points), space), System)


def test_nonfinite_data_are_reported_while_streaming(stream: None) -> None:
    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, -1, 1), [sp.Eq(u.diff(x, 2), sp.log(x))], [pibls.Dirichlet(u, 0)]
    )
    with pytest.raises(pibls.ProblemError, match="finite values at every point"):
        pibls.solve(problem, basis=pibls.Waves(20, 4.0), points=pibls.Points(500, 2))


@dataclass(frozen=True)
class SolverWithoutBlocks:
    """A user-defined solver that does not support blocks."""

    def factor(self, A: Matrix) -> Factorization:
        return pibls.SVD().factor(np.asarray(A))


def test_solver_without_block_support_gets_all_rows(stream: None) -> None:
    found = solution_values(PROBLEMS["TC-5"], pibls.LeastSquares(SolverWithoutBlocks()))
    X = PROBLEMS["TC-5"].domain.interior(200, np.random.default_rng(7))
    assert np.abs(found - pibls.cases["TC-5"].exact(*X.T)).max() < 1e-9


def test_number_of_passes_over_the_blocks() -> None:
    """Norms are cached: a linear solve computes the rows once for the norms and once for the factors."""
    passes = 0

    def blocks() -> Iterator[Array]:
        nonlocal passes
        passes += 1
        yield np.eye(4)
        yield np.ones((3, 4))

    rows = StreamedMatrix((7, 4), blocks)
    assert is_finite(rows)
    pibls.RidgeQR().factor(rows).apply(np.ones(7))
    assert passes == 2

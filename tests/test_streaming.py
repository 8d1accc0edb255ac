"""More points than memory holds: the same solutions, block by block, in the memory of a few blocks."""

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
    """Nothing is held, and blocks are small."""
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


def both(problem: pibls.Problem, nodes: int = 40) -> tuple[System, StreamedSystem]:
    """The same system, held and streamed."""
    rng = np.random.default_rng(3)
    lowered, domain = compile_problem(problem), problem.domain
    basis = pibls.Waves(nodes, 2.0).draw(box_of(domain), rng)
    space = SingleDomainSpace.shared(basis, lowered.unknowns)
    points = place(lowered, domain, pibls.Points(700, 150, 60), rng)
    return assemble(lowered, points, space), StreamedSystem.of(lowered, points, space)


@pytest.mark.parametrize("sizes", [(300,), (7, 93, 200), (120, 120, 60)])
def test_the_triangle_is_that_of_all_rows(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    A, b, scale = rng.standard_normal((300, 20)), rng.standard_normal(300), rng.uniform(0.5, 2.0, 300)
    R, c = reduce_to_triangle(in_blocks(A, sizes), b, scale)
    D = A / scale[:, None]
    np.testing.assert_array_equal(R, np.triu(R))
    np.testing.assert_allclose(R.T @ R, D.T @ D, rtol=0, atol=1e-12)
    np.testing.assert_allclose(R.T @ c, D.T @ (b / scale), rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_every_solver_takes_blocks(solver: LinearSolver) -> None:
    """Full rank, and a fifth of it; also with columns of very different size."""
    rng = np.random.default_rng(1)
    full = rng.standard_normal((400, 30)) * 10.0 ** rng.uniform(-3, 3, 30)
    low = rng.standard_normal((400, 6)) @ rng.standard_normal((6, 30))
    for A, noise in ((full, 1e-3), (low, 0.0)):
        b = A @ rng.standard_normal(30) + noise * rng.standard_normal(400)
        held, streamed = solver.factor(np.asfortranarray(A)), solver.factor(in_blocks(A, (50, 250, 100)))
        assert isinstance(streamed, StreamedFactorization)
        expected = A @ held.apply(b)
        np.testing.assert_allclose(A @ streamed.apply(b), expected, rtol=0, atol=1e-11 * np.abs(b).max())
        assert streamed.rank == held.rank


def test_what_is_asked_of_a_matrix() -> None:
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
def test_a_streamed_system_has_the_rows_of_the_held_one(name: str, stream: None) -> None:
    held, streamed = both(PROBLEMS[name])
    assert len(streamed.row_blocks) > 5
    assert streamed.shape == held.shape
    w = np.random.default_rng(5).standard_normal(held.shape[1])

    def alike(a: Array, b: Array) -> None:
        """Equal up to the order."""
        np.testing.assert_allclose(np.sort(a), np.sort(b), rtol=0, atol=1e-11 * np.abs(b).max(initial=1.0))

    alike(streamed.residual(w), held.residual(w))
    alike(streamed.values(w), held.values(w))
    alike(streamed.values_of_constant(2.0), held.values_of_constant(2.0))
    alike(held.values_of(held.space, w), held.values(w))
    alike(streamed.values_of(held.space, w), held.values(w))
    v, v_held = streamed.values(w), held.values(w)
    (J, b), (J_held, b_held) = streamed.linearise(v), held.linearise(v_held)
    alike(b, b_held)
    alike(J @ w, J_held @ w)
    alike(J @ w - b, held.residual(w))
    alike(norms(streamed.jacobian(w), 1), norms(J_held, 1))
    if not held.is_linear:
        blend = Homotopy(streamed, *streamed.linearise(streamed.values_of_constant(0.5)), 0.3)
        blend_held = Homotopy(held, *held.linearise(held.values_of_constant(0.5)), 0.3)
        alike(blend.residual(w), blend_held.residual(w))
        alike(blend.linearise(v)[0] @ w, blend_held.linearise(v_held)[0] @ w)


def solved(problem: pibls.Problem, method: Method | None) -> Array:
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
def test_the_solution_is_the_same(name: str, method: Method | None, request: pytest.FixtureRequest) -> None:
    """To rounding, which the condition of the matrix amplifies."""
    held = solved(PROBLEMS[name], method)
    request.getfixturevalue("stream")
    streamed = solved(PROBLEMS[name], method)
    assert np.abs(streamed - held).max() <= 1e-10 * np.abs(held).max()
    assert not np.array_equal(streamed, held), "it has been streamed"


def test_the_trust_region_takes_blocks() -> None:
    rng = np.random.default_rng(4)
    J, r, p = rng.standard_normal((200, 12)), rng.standard_normal(200), rng.standard_normal(12)
    held, streamed = Triangle.of(np.asfortranarray(J), r), Triangle.of(in_blocks(J, (60, 140)), r)
    assert streamed.gradient_norm == pytest.approx(held.gradient_norm, rel=1e-12)
    assert streamed.decrease(p) == pytest.approx(held.decrease(p), rel=1e-12)
    np.testing.assert_allclose(streamed.step(0.1, 0.0)[0], held.step(0.1, 0.0)[0], rtol=0, atol=1e-12)


def test_the_search_streams_too(stream: None) -> None:
    """Also the probe for what is undetermined and the warm start of a nonlinear problem."""
    for name, limit in (("TC-2", 1e-13), ("TC-10", 1e-12)):
        case = pibls.cases[name]
        solution = pibls.solve(case.problem, points=pibls.Points(2000, 2, 1, rule="chebyshev"), tol=1e-9)
        X = case.problem.domain.interior(300, np.random.default_rng(1))
        assert solution.converged
        assert np.abs(solution(*X.T) - case.exact(*X.T)).max() < max(limit, solution.error.max)


def test_a_missing_condition_is_found_while_streaming(stream: None) -> None:
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
def test_memory_is_that_of_a_few_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit, not the user, decides; the peak is far below the matrix that is never there."""
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


def test_small_systems_are_held() -> None:
    problem = pibls.cases["TC-5"].problem
    lowered, rng = compile_problem(problem), np.random.default_rng(0)
    space = SingleDomainSpace.shared(pibls.Waves(20, 2.0).draw(box_of(problem.domain), rng), 1)
    points = place(lowered, problem.domain, pibls.Points(100, 40), rng)
    assert isinstance(assemble_or_stream(lowered, PlacedPoints(points), space), System)


def test_bad_data_are_named_as_ever(stream: None) -> None:
    x = sp.Symbol("x")
    u = sp.Function("u")(x)
    problem = pibls.Problem(
        pibls.Interval(x, -1, 1), [sp.Eq(u.diff(x, 2), sp.log(x))], [pibls.Dirichlet(u, 0)]
    )
    with pytest.raises(pibls.ProblemError, match="finite values at every point"):
        pibls.solve(problem, basis=pibls.Waves(20, 4.0), points=pibls.Points(500, 2))


@dataclass(frozen=True)
class Plain:
    """A user's solver that knows nothing of blocks."""

    def factor(self, A: Matrix) -> Factorization:
        return pibls.SVD().factor(np.asarray(A))


def test_a_solver_that_knows_no_blocks_gets_all_rows(stream: None) -> None:
    found = solved(PROBLEMS["TC-5"], pibls.LeastSquares(Plain()))
    X = PROBLEMS["TC-5"].domain.interior(200, np.random.default_rng(7))
    assert np.abs(found - pibls.cases["TC-5"].exact(*X.T)).max() < 1e-9


def test_blocks_are_made_once_per_pass() -> None:
    """Norms are remembered: a linear solve makes the rows for them and for the factors, no more."""
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

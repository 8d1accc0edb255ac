"""Decomposed bases: accuracy, and least squares with block-sparse matrices."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.arrays import Array
from pibls.assembly.points import Points
from pibls.basis import Features, Waves
from pibls.linalg.ridge_qr import RidgeQR
from pibls.linalg.tree import block_qr
from pibls.linalg.tree.block_sparse import BlockSparseMatrix, RowStrip
from pibls.linalg.tree.fronts import plan_fronts
from pibls.spaces import Decomposed

x, y, t = sp.symbols("x y t")


def error(name: str, basis: Any, points: Points, seed: int) -> float:
    case = pibls.cases[name]
    solution = pibls.solve(case.problem, basis=basis, points=points, method=pibls.GaussNewton(), seed=seed)
    X = case.problem.domain.interior(2000, np.random.default_rng(1))
    return float(np.abs(solution(*X.T) - case.exact(*X.T)).max())


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(
    ("name", "cells", "local", "points", "bound"),
    [
        ("TC-2", (3,), Waves(32, 14.0), Points(200, 2), 1e-11),
        ("TC-5", (2, 2), Waves(96, 1.5), Points(1000, 240), 1e-8),
        ("TC-7", (2, 2), Waves(96, 1.5), Points(1000, 240, 80), 1e-8),
        ("TC-9", (4,), Waves(64, 40.0), Points(600, 2), 1e-9),
        ("TC-10", (2,), Waves(32, 14.0), Points(160, 0, 1), 1e-11),
        ("TC-11", (2, 2), Waves(96, 1.5), Points(1000, 240, 80), 1e-5),
    ],
)
def test_published_cases_with_subdomains(
    name: str, cells: tuple[int, ...], local: Any, points: Points, bound: float, seed: int
) -> None:
    assert error(name, Decomposed(cells, local), points, seed) < bound


def test_three_dimensions_and_two_unknowns() -> None:
    """u_xx + u_yy + u_tt = v, and the Laplacian of v: C¹ across all faces, for both unknowns."""
    u, v = (sp.Function(n)(x, y, t) for n in "uv")
    exact = {u: sp.sin(x + y) * sp.exp(t / 2), v: sp.cos(x - t) + y**2}

    def laplacian(f: Any) -> Any:
        return sum(f.diff(c, 2) for c in (x, y, t))

    sources = [(laplacian(f) + g).subs(exact).doit() for f, g in ((u, v), (v, u))]
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1), t: (0, 1)}),
        [sp.Eq(laplacian(u) + v, sources[0]), sp.Eq(laplacian(v) + u, sources[1])],
        [pibls.Dirichlet(u, exact[u]), pibls.Dirichlet(v, exact[v])],
    )
    basis = Decomposed((2, 1, 2), Waves(160, 1.5))
    solution = pibls.solve(problem, basis=basis, points=Points(1800, 900), method=pibls.GaussNewton())
    X = problem.domain.interior(500, np.random.default_rng(0))
    for unknown in (u, v):
        value = sp.lambdify((x, y, t), exact[unknown])(*X.T)
        assert np.abs(solution[unknown](*X.T) - value).max() < 1e-4


def test_continuity_across_an_interface() -> None:
    case = pibls.cases["TC-5"]
    basis = Decomposed((2, 1), Waves(128, 2.0))
    solution = pibls.solve(case.problem, basis=basis, points=Points(800, 200), method=pibls.GaussNewton())
    s = np.linspace(0.05, 0.95, 9)
    below, above = np.nextafter(0.5, 0.0), 0.5
    u = case.problem.unknowns[0]
    for expression in (u, u.diff(case.problem.coordinates[0])):
        jump = solution.evaluate(expression, below, s) - solution.evaluate(expression, above, s)
        assert np.abs(jump).max() < 1e-6


def random_blocks(rng: np.random.Generator) -> tuple[BlockSparseMatrix, Array]:
    """A cyclic coupling of five blocks of different sizes, so every elimination has fill-in."""
    sizes = [3, 5, 4, 2, 6]
    strips = [RowStrip((p,), (rng.standard_normal((9, n)),)) for p, n in enumerate(sizes)]
    for p in range(5):
        q = (p + 1) % 5
        strips.append(RowStrip((p, q), tuple(rng.standard_normal((4, sizes[i])) for i in (p, q))))
    ends = np.cumsum([0, *sizes])
    shuffled = rng.permutation(ends[-1])
    columns = tuple(np.sort(shuffled[a:b]) for a, b in pairwise(ends))
    A = BlockSparseMatrix.of(strips, columns)
    return A, rng.standard_normal(A.shape[0])


@pytest.mark.parametrize("seed", range(5))
def test_block_qr_is_least_squares(seed: int) -> None:
    A, b = random_blocks(np.random.default_rng(seed))
    dense = np.asarray(A)
    scale = np.linalg.norm(dense, axis=1)
    w = block_qr.factor(A, scale, 1e-17).apply(b)
    expected = np.linalg.lstsq(dense / scale[:, None], b / scale, rcond=None)[0]
    np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(RidgeQR().factor(A).apply(b), RidgeQR().factor(dense).apply(b), atol=1e-12)
    np.testing.assert_allclose(A @ w, dense @ w, atol=1e-13)
    np.testing.assert_allclose(A.row_norms, scale)
    assert isinstance(RidgeQR().factor(A), block_qr.BlockFactorization)


def test_groups_are_eliminated_in_the_given_order() -> None:
    star = [(0, p) for p in range(1, 5)]
    assert [front.own for front in plan_fronts(star, 5)] == [(p,) for p in range(5)]
    prescribed_order = plan_fronts(star, 5, ((0, 3), (1,), (4, 2)))
    assert [front.own for front in prescribed_order] == [(0, 3), (1,), (4, 2)]


def test_chain_has_linear_fill() -> None:
    """Twice the cells, twice the entries: no front grows with the number of parts."""
    rng = np.random.default_rng(0)

    def entries(parts: int) -> int:
        strips = [RowStrip((p,), (rng.standard_normal((20, 8)),)) for p in range(parts)]
        strips += [RowStrip((p, p + 1), (rng.standard_normal((2, 8)),) * 2) for p in range(parts - 1)]
        A = BlockSparseMatrix.of(strips, tuple(np.arange(8 * p, 8 * p + 8) for p in range(parts)))
        found = block_qr.factor(A, np.ones(A.shape[0]), 1e-17)
        return sum(f.triangle.size + f.beside.size for f in A.engine.get(found.fronts)[0])

    assert entries(40) < 2.2 * entries(20)


def test_invalid_arguments_are_rejected() -> None:
    problem = pibls.cases["TC-5"].problem
    with pytest.raises(pibls.ProblemError, match=r"Decomposed\(cells\).*each of the 2 coordinates"):
        pibls.solve(problem, basis=Decomposed((4,), Features(50, scale=3.0)))
    with pytest.raises(pibls.ProblemError, match=r"Decomposed\(cells\).*at least 1"):
        Decomposed((0, 2), Features(50, scale=3.0))
    with pytest.raises(pibls.ProblemError, match=r"Decomposed\(local\).*a basis for each cell"):
        Decomposed((2, 2), "tanh")  # type: ignore[arg-type]


def test_default_method_keeps_the_matrix_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """solve(p, basis=Decomposed((28, 28), Features(64, scale=3.0))) needed 108 GiB."""
    case = pibls.cases["TC-5"]
    basis, points = Decomposed((3, 3), Waves(80, 1.5)), Points(2000, 360)
    dense_solution = pibls.solve(case.problem, basis=basis, points=points, method=pibls.LeastSquares())

    def dense(*_: Any, **__: Any) -> Array:
        raise AssertionError("the matrix was made dense")

    monkeypatch.setattr(BlockSparseMatrix, "__array__", dense)
    solution = pibls.solve(case.problem, basis=basis, points=points)
    X = case.problem.domain.interior(500, np.random.default_rng(1))
    exact = case.exact(*X.T)
    assert np.abs(solution(*X.T) - exact).max() < 1e-6
    assert np.abs(dense_solution(*X.T) - exact).max() < 1e-6


def test_dense_matrix_beyond_memory_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_memory_error(need: float) -> None:
        raise MemoryError

    columns = [np.arange(2), np.arange(2, 5)]
    A = BlockSparseMatrix.of(
        [RowStrip((0,), (np.ones((4, 2)),)), RowStrip((1,), (np.ones((4, 3)),))], columns
    )
    monkeypatch.setattr("pibls.linalg.tree.block_sparse.check_memory", raise_memory_error)
    with pytest.raises(
        pibls.ProblemError,
        match=r"method: expected a method that exploits the blocks.*got a method that needs all 8 x 5 "
        r"entries, .* GiB.*pass GaussNewton\(\)",
    ):
        pibls.LeastSquares().linear.factor(A)


def test_basis_beyond_memory_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_memory_error(need: float) -> None:
        raise MemoryError("8.0 GB are needed, 1.0 GB are available")

    monkeypatch.setattr("pibls.linalg.tree.engine.check_memory", raise_memory_error)
    with pytest.raises(
        pibls.ProblemError,
        match=r"basis: expected a number of functions and points whose matrices fit.*"
        r"got 80 functions for each unknown: 8\.0 GB are needed, 1\.0 GB are available.*"
        r"Use fewer functions or points",
    ):
        pibls.solve(pibls.cases["TC-5"].problem, basis=Decomposed((2, 2), Waves(20, 1.5)))

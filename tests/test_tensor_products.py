"""Steady problems on boxes, solved with tensor products of piecewise polynomials."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.assembly.tensor_products.box_problem import BoxProblem
from pibls.assembly.tensor_products.product_system import ProductSystem
from pibls.assembly.tensor_products.separable import SeparableFactorization
from pibls.assembly.tensor_products.static_condensation import CondensedFactorization
from pibls.basis.polynomials.local_splines import LocalSplines
from pibls.basis.polynomials.splines import Splines
from pibls.linalg.gmres import gmres
from pibls.linalg.kronecker import KroneckerSum, apply_along
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import TensorGridSpace

x, y, z = sp.symbols("x y z")


def laplace(w: Any) -> Any:
    return sum(w.diff(c, 2) for c in (x, y, z))


def front(steepness: int) -> Any:
    return sp.tanh(steepness * (x + y - 1))


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_splines_are_smooth_and_interpolate(order: int, periodic: bool) -> None:
    axis = Splines((0.0, 0.1, 0.35, 1.0), 14, order, periodic)
    assert len(axis.interpolation_points) == axis.dimension
    c = axis.from_values @ np.sin(2 * np.pi * axis.interpolation_points)
    s = np.linspace(0, 1, 77)
    assert np.abs(axis.evaluate(s, 0) @ c - np.sin(2 * np.pi * s)).max() < 1e-7
    for edge in (0.1, 0.35):
        for k in range(order):
            low, high = axis.evaluate(np.array([edge - 1e-13, edge + 1e-13]), k) @ np.eye(axis.dimension)
            assert np.abs(low - high).max() < 1e-8 * max(np.abs(low).max(), 1.0)
    values = axis.node_table(0) @ c
    assert abs(axis.weights @ values**2 - 0.5) < 1e-7


@pytest.mark.parametrize("kinds", ["ss", "st", "tt", "sss", "sts", "ttt", "tst"])
def test_kronecker_sum_is_inverted(kinds: str) -> None:
    """The matrices are symmetric (s) or triangular with a single eigenvector (t)."""
    rng = np.random.default_rng(0)

    def matrix(kind: str, n: int) -> Any:
        A = rng.standard_normal((n, n))
        return A @ A.T + np.eye(n) if kind == "s" else np.triu(np.ones((n, n)))

    matrices = [matrix(kind, n) for n, kind in enumerate(kinds, start=4)]
    W = rng.standard_normal([len(A) for A in matrices])
    R = sum((apply_along(A, W, i) for i, A in enumerate(matrices)), start=np.zeros_like(W))
    factors = KroneckerSum.of(matrices, [np.ones(len(A)) for A in matrices])
    assert [a.triangle is not None for a in factors.axes] == [kind == "t" for kind in kinds]
    assert np.abs(factors.solve(R) - W).max() < 1e-12


def test_gmres_converges_near_the_identity_and_detects_stalls() -> None:
    rng = np.random.default_rng(1)
    A = np.eye(30) + 0.1 * rng.standard_normal((30, 30))
    b = rng.standard_normal((5, 6))
    found = gmres(lambda v: (A @ v.ravel()).reshape(5, 6), b, rtol=1e-12, max_steps=30)
    assert np.abs(A @ found.z.ravel() - b.ravel()).max() < 1e-10
    stalled = gmres(
        lambda v: v[::-1] * 0.0 + np.roll(v, 1), b.ravel(), rtol=1e-12, max_steps=20, stall_steps=5
    )
    assert stalled.relative_residual > 1e-3


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("order", [1, 2, 4])
def test_local_splines_span_the_same_space(order: int, periodic: bool) -> None:
    axis = Splines((0.0, 0.1, 0.35, 1.0), 12, order, periodic)
    local = LocalSplines.of(axis)
    assert len(np.unique(local.indices)) == axis.dimension
    c = np.random.default_rng(0).standard_normal(axis.dimension)
    t = np.linspace(0, 1, 41)
    interval, table = local.evaluate(t, 1)
    assert (
        np.abs(
            (table * c[local.indices[interval]]).sum(axis=1) - axis.evaluate(t, 1) @ (local.to_splines @ c)
        ).max()
        < 1e-8
    )
    assert np.linalg.cond(local.to_splines) < 1e3 ** (order / 2)


@pytest.mark.parametrize("name", ["mixed conditions", "periodic", "front"])
def test_condensed_and_separable_factorizations_invert_the_operator(name: str) -> None:
    problem, _ = CASES[name][0]()
    box_problem = BoxProblem.of(compile_problem(problem), problem.domain, np.array(problem.domain.bounds))
    assert box_problem is not None
    axes = [
        Splines((0.0, 0.2, 0.6, 1.0), 8, m, r)
        for m, r in zip(box_problem.orders, box_problem.periodic, strict=True)
    ]
    rows = ProductSystem.of(box_problem, axes)
    U = np.random.default_rng(0).standard_normal(rows.shape)
    _, L = rows.residual(U)
    condensed, separable = CondensedFactorization.of(rows, L), SeparableFactorization.of(rows, L)
    assert condensed is not None
    assert separable is not None
    assert np.abs(condensed.solve(L(U)) - U).max() < 1e-8
    assert separable.is_exact == (name != "mixed conditions")
    if separable.is_exact:
        assert np.abs(separable.solve(L(U)) - U).max() < 1e-8


Conditions = Callable[[Any, Any], list[Any]]


def problem_with_solution(
    operator: Callable[[Any], Any], exact: Any, conditions: Conditions | None = None
) -> pibls.Problem:
    """A problem with a given solution, on the unit square or cube."""
    names = (x, y, z) if exact.has(z) else (x, y)
    u = sp.Function("u")(*names)
    given = [pibls.Dirichlet(u, exact)] if conditions is None else conditions(u, exact)
    domain = pibls.Box(dict.fromkeys(names, (0, 1)))
    return pibls.Problem(domain, [sp.Eq(operator(u), operator(exact).doit())], given)


def mixed_conditions(u: Any, s: Any) -> list[Any]:
    return [
        pibls.Robin(u, (1 + y) * s + s.diff(x), 1 + y, 1, on=sp.Eq(x, 1)),
        pibls.Neumann(u, s.diff(y), on=sp.Eq(y, 1)),
        pibls.Dirichlet(u, s),
    ]


CASES: dict[str, tuple[Any, float]] = {
    "front": (lambda: (problem_with_solution(laplace, front(12)), front(12)), 1e-8),
    "variable": (
        lambda: (
            problem_with_solution(
                lambda w: ((1 + x * y) * w.diff(x)).diff(x) + 2 * w.diff(y, 2) - w, front(10)
            ),
            front(10),
        ),
        1e-6,
    ),
    "mixed derivative": (
        lambda: (
            problem_with_solution(lambda w: laplace(w) + sp.Rational(1, 2) * w.diff(x, y), front(10)),
            front(10),
        ),
        1e-6,
    ),
    "mixed conditions": (
        lambda: (problem_with_solution(lambda w: laplace(w) - w, front(10), mixed_conditions), front(10)),
        1e-6,
    ),
    "nonlinear": (
        lambda: (problem_with_solution(lambda w: laplace(w) / 100 - w**3 + w, front(10)), front(10)),
        1e-6,
    ),
    "peak in a cube": (
        lambda: (
            problem_with_solution(
                laplace, exact := sp.exp(-60 * ((x - 0.4) ** 2 + (y - 0.5) ** 2 + (z - 0.6) ** 2))
            ),
            exact,
        ),
        1e-5,
    ),
    "rotating flow": (
        lambda: (
            problem_with_solution(
                lambda w: -laplace(w) / 200 - (y - 0.5) * w.diff(x) + (x - 0.5) * w.diff(y), front(12)
            ),
            front(12),
        ),
        1e-6,
    ),
    "periodic": (
        lambda: (
            problem_with_solution(
                lambda w: laplace(w) - w,
                exact := sp.exp(20 * sp.cos(2 * sp.pi * x) - 20) * sp.tanh(20 * y - 8),
                lambda u, s: [pibls.Periodic(u, x), pibls.Dirichlet(u, s)],
            ),
            exact,
        ),
        1e-6,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_manufactured_solution_is_found(name: str) -> None:
    build, tol = CASES[name]
    problem, exact = build()
    solution = pibls.solve(problem, tol=tol, seed=1)
    assert isinstance(solution.space, TensorGridSpace)
    X = np.random.default_rng(3).random((4000, len(problem.coordinates)))
    expected = sp.lambdify(problem.coordinates, exact)(*X.T)
    error = np.abs(solution(*X.T) - expected).max()
    assert solution.converged
    assert error <= solution.error.max <= 1.01 * tol


def convected(e: float) -> pibls.Problem:
    u = sp.Function("u")(x, y)
    equation = sp.Eq(-e * laplace(u) + u.diff(x) + 2 * u.diff(y), 1)
    return pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [equation], [pibls.Dirichlet(u, 0)])


def test_convection_layers_are_resolved() -> None:
    loose, tight = (pibls.solve(convected(1e-2), tol=tol) for tol in (1e-4, 1e-6))
    assert loose.converged
    assert tight.converged
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.random((2000, 2)), 1 - 0.05 * rng.random((2000, 2)), 0.05 * rng.random((2000, 2))]
    )
    assert np.abs(loose(*X.T) - tight(*X.T)).max() <= loose.error.max


def test_poisson_in_a_cube() -> None:
    """-Δu = 1, u = 0: 0.056212… at the center (a series of 1,000 terms)."""
    u = sp.Function("u")(x, y, z)
    box = pibls.Box({x: (0, 1), y: (0, 1), z: (0, 1)})
    solution = pibls.solve(pibls.Problem(box, [sp.Eq(-laplace(u), 1)], [pibls.Dirichlet(u, 0)]), tol=1e-5)
    odd = np.arange(1, 200, 2)
    j, k = np.meshgrid(odd, odd)
    sign = (-1.0) ** ((j + k) // 2 - 1)
    root = np.pi * np.hypot(j, k)
    series = (16 / np.pi**2 * sign / (j * k) / root**2 * (1 - 1 / np.cosh(0.5 * root))).sum()
    assert solution.converged
    assert abs(float(solution(0.5, 0.5, 0.5)) - series) <= max(solution.error.max, 2e-7)


def test_tensor_grid_solution_is_saved_plotted_and_differentiated(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    solution = pibls.solve(problem_with_solution(laplace, front(20)), tol=1e-6)
    assert isinstance(solution.space, TensorGridSpace)
    solution.save(tmp_path / "front.pibls")
    loaded = pibls.load(tmp_path / "front.pibls")
    X = np.random.default_rng(0).random((50, 2))
    assert np.array_equal(solution(*X.T), loaded(*X.T))
    u = solution.problem.unknowns[0]
    slope = solution.evaluate(u.diff(x), *X.T)
    assert np.abs(slope - 20 / np.cosh(20 * (X.sum(axis=1) - 1)) ** 2).max() < 1e-3
    assert len(solution.space.boxes) == len(solution.space)
    assert np.array_equal(
        solution.space.locate(solution.space.boxes.mean(axis=2)), np.arange(len(solution.space))
    )
    axes = solution.plot_cells()
    assert axes is not None


def test_anisotropic_tensor_grid_solution_is_saved(tmp_path: Path) -> None:
    u = sp.Function("u")(x, y)
    layered = sp.Eq(-u.diff(x, 2) / 1000 - u.diff(y, 2) + u.diff(x), 1)
    problem = pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), [layered], [pibls.Dirichlet(u, 0)])
    solution = pibls.solve(problem, tol=1e-5)
    assert isinstance(solution.space, TensorGridSpace)
    assert len(set(solution.space.counts)) == 2
    loaded = pibls.load(solution.save(tmp_path / "layer.pibls"))
    X = np.random.default_rng(0).random((2, 50))
    assert np.array_equal(solution(*X), loaded(*X))


def test_underdetermined_or_incompatible_problems_use_another_space() -> None:
    u = sp.Function("u")(x, y)
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    underdetermined = pibls.Problem(square, [sp.Eq(laplace(u), front(20).diff(x, 2))], [pibls.Neumann(u, 0)])
    incompatible = pibls.Problem(
        square, [sp.Eq(laplace(u), 0)], [pibls.Dirichlet(u, 1, on=sp.Eq(y, 1)), pibls.Dirichlet(u, 0)]
    )
    for problem in (underdetermined, incompatible):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pibls.ConvergenceWarning)
            solution = pibls.solve(problem, tol=1e-6, max_nodes=600, time_limit=20)
        assert not isinstance(solution.space, TensorGridSpace)
        assert solution.converged == (problem is incompatible)  # with singular functions at its corners


def test_flux_incompatible_at_the_corners() -> None:
    """u_y = 1 at y = 1, u = 0 elsewhere: r log r in two corners, and u_y = 1 holds between them."""
    u = sp.Function("u")(x, y)
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    equation = sp.Eq(-laplace(u) / 20 + u.diff(x), 1)
    problem = pibls.Problem(square, [equation], [pibls.Neumann(u, 1, on=sp.Eq(y, 1)), pibls.Dirichlet(u, 0)])
    solution, finer = pibls.solve(problem, tol=1e-3), pibls.solve(problem, tol=1e-5)
    t = np.linspace(0.05, 0.95, 19)
    slope = finer.evaluate(u.diff(y), t, np.ones_like(t))
    assert np.abs(slope - 1).max() < 1e-3
    X = np.random.default_rng(0).random((2000, 2))
    X = np.concatenate([X, 1 - 10.0 ** (-5 * X)])
    assert solution.converged
    assert np.abs(solution(*X.T) - finer(*X.T)).max() <= solution.error.max


def test_discontinuous_source() -> None:
    u = sp.Function("u")(x, y)
    square = pibls.Box({x: (0, 1), y: (0, 1)})
    source = sp.Piecewise((1, x < sp.Rational(1, 3)), (0, True)) * sp.sin(sp.pi * y)
    problem = pibls.Problem(square, [sp.Eq(laplace(u), source)], [pibls.Dirichlet(u, 0)])
    solution = pibls.solve(problem, tol=1e-8)
    assert solution.converged

    def exact(s: Any) -> Any:
        """-1/π² + a e^{πs} + b e^{-πs} for s < 1/3, c sinh π(1 - s) for s > 1/3, in C¹."""
        p, t = np.pi, 1 / 3
        A = np.array(
            [
                [1, 1, 0],
                [np.exp(p * t), np.exp(-p * t), -np.sinh(p * (1 - t))],
                [np.exp(p * t), -np.exp(-p * t), np.cosh(p * (1 - t))],
            ]
        )
        a, b, c = np.linalg.solve(A, [1 / p**2, 1 / p**2, 0])
        return np.where(s < t, -1 / p**2 + a * np.exp(p * s) + b * np.exp(-p * s), c * np.sinh(p * (1 - s)))

    X = np.random.default_rng(0).random((3000, 2))
    error = np.abs(solution(*X.T) - exact(X[:, 0]) * np.sin(np.pi * X[:, 1])).max()
    assert error <= solution.error.max


v, p = (sp.Function(name)(x, y) for name in "vp")
w = sp.Function("w")(x, y)


def system(left: list[Any], exact: dict[Any, Any], conditions: list[Any]) -> pibls.Problem:
    """A problem of several unknowns with a given solution, on the unit square."""
    equations = [sp.Eq(e, e.subs(exact).doit()) for e in left]
    return pibls.Problem(pibls.Box({x: (0, 1), y: (0, 1)}), equations, conditions)


def navier_stokes(pressure_condition: str) -> tuple[pibls.Problem, dict[Any, Any]]:
    """Navier-Stokes equations with the mean of the pressure or its value at a point prescribed."""
    psi = sp.sin(14 * x + 5 * y) / 10
    exact = {w: psi.diff(y), v: -psi.diff(x), p: sp.cos(12 * x) * sp.cos(sp.pi * y)}
    left = [w * f.diff(x) + v * f.diff(y) + p.diff(c) - laplace(f) / 5 for f, c in ((w, x), (v, y))]
    level = (
        pibls.Dirichlet(p, 1, on={x: 0, y: 0})
        if pressure_condition == "point"
        else pibls.Condition(sp.Eq(pibls.integral(p), 0))
    )
    boundary = [pibls.Dirichlet(f, exact[f]) for f in (w, v)]
    return system([*left, w.diff(x) + v.diff(y)], exact, [*boundary, level]), exact


def coupled_layers() -> tuple[pibls.Problem, dict[Any, Any]]:
    """Two coupled unknowns with boundary layers at different sides."""
    exact = {v: sp.exp(-30 * x) * sp.cos(y) + x * y, w: sp.exp(-30 * (1 - y)) * (1 + x)}
    left = [laplace(v) / 900 - v + w / 3, laplace(w) / 900 - w - v / 2]
    return system(left, exact, [pibls.Dirichlet(f, exact[f]) for f in (v, w)]), exact


@pytest.mark.parametrize("name", ["mean", "point", "layers"])
def test_systems_use_tensor_products(name: str) -> None:
    problem, exact = coupled_layers() if name == "layers" else navier_stokes(name)
    solution = pibls.solve(problem, tol=1e-8, seed=2)
    assert isinstance(solution.space, TensorGridSpace)
    assert solution.converged
    X = np.random.default_rng(3).random((3000, 2))
    for f, expected in exact.items():
        values = sp.lambdify((x, y), expected)(*X.T)
        assert (
            np.abs(solution[f](*X.T) - values).max() <= solution[f].error.max <= 2e-8 * np.abs(values).max()
        )


@pytest.mark.parametrize("periodic", [False, True])
def test_pressure_splines_have_as_many_points_as_functions(periodic: bool) -> None:
    for edges in ((0.0, 1.0), (0.0, 0.3, 1.0), (0.0, 0.1, 0.4, 1.0)):
        splines = Splines(edges, 9, 2, periodic).pressure_splines
        assert len(np.unique(splines.pressure_points)) == splines.dimension
        assert np.all(np.diff(splines.pressure_points) > 0)


def test_undetermined_pressure_is_not_a_box_problem() -> None:
    problem, _ = navier_stokes("mean")
    free = pibls.Problem(problem.domain, problem.equations, problem.conditions[:-1])
    assert (
        BoxProblem.of(compile_problem(problem), problem.domain, np.array(problem.domain.bounds)) is not None
    )
    assert BoxProblem.of(compile_problem(free), free.domain, np.array(free.domain.bounds)) is None


def test_narrow_peak_missed_by_coarse_grids() -> None:
    """Two coarse zero solutions agree to 1e-114; they must not be preferred to finer ones with the peak."""
    u, w = sp.Function("u")(x, y), 0.003
    peak = sp.exp(-(((x - sp.Rational(19, 60)) / w) ** 2) - ((y - sp.Rational(28, 45)) / w) ** 2) / (
        sp.pi * w**2
    )
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}), [u.diff(x, 2) + u.diff(y, 2) + peak], [pibls.Dirichlet(u, 0)]
    )
    solution = pibls.solve(problem, tol=1e-4)
    n = np.pi * np.arange(1, 300)
    smooth = np.exp(-((n * w / 2) ** 2))
    a, b = (smooth * np.sin(n * p) * np.sin(n * q) for p, q in ((19 / 60, 0.7), (28 / 45, 0.2)))
    exact = 4 * (np.outer(a, b) / (n[:, None] ** 2 + n**2)).sum()
    assert solution.converged
    assert abs(solution(0.7, 0.2) - exact) <= solution.error.max < 1e-4

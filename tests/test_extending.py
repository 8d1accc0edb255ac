"""A minimal example of each extension described in CONTRIBUTING: it is sufficient, and it is used."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import compute_candidate
from pibls.adaptive.scheduler import StrategyScheduler
from pibls.adaptive.singular import builder
from pibls.adaptive.singular.builder import SingularKind
from pibls.adaptive.singular.functions import SingularFunctions
from pibls.adaptive.strategies import TABLE, Row, Setup
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate
from pibls.analysis.analysis import Analysis
from pibls.analysis.singular_points import Strength
from pibls.arrays import Array, Mask, MultiIndex
from pibls.geometry import Boundary, Domain, box_of, is_in_cell
from pibls.problem import statement as problem_module
from pibls.problem.forms.compilation import compile_problem
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Notation, Region
from pibls.status import Status

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
SMOOTH = sp.exp(x) * sp.cos(y)
LINE = sp.Function("v")(x)


def smooth_problem(domain: Any) -> pibls.Problem:
    return pibls.Problem(domain, [u.diff(x, 2) + u.diff(y, 2)], [pibls.Dirichlet(u, SMOOTH)])


def line_problem() -> pibls.Problem:
    v = LINE
    return pibls.Problem(
        pibls.Interval(x, 0, 1), [v.diff(x, 2) + sp.pi**2 * sp.sin(sp.pi * x)], [pibls.Dirichlet(v, 0)]
    )


# -- a shape: five members ---------------------------------------------------------------------------


class Triangle:
    """{x, y > 0, x + y < 1}: only the members of the protocol, without a base class."""

    coordinates = (x, y)
    bounds = ((0.0, 1.0), (0.0, 1.0))

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        X = rng.random((n, 2))
        return np.asarray(np.where(X.sum(axis=1, keepdims=True) > 1, 1 - X, X))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        s, side = rng.random(n), np.arange(n) % 3
        ends = np.array([[[0, 0], [1, 0]], [[1, 0], [0, 1]], [[0, 1], [0, 0]]], dtype=float)[side]
        normals = np.array([[0, -1], [np.sqrt(0.5), np.sqrt(0.5)], [-1, 0]])[side]
        return Boundary(ends[:, 0] + s[:, None] * (ends[:, 1] - ends[:, 0]), normals, (self,) * n)

    def contains(self, X: Array) -> Mask:
        return np.asarray(np.all(X >= -1e-12, axis=1) & (X.sum(axis=1) <= 1 + 1e-12))


def test_user_defined_shape() -> None:
    triangle = Triangle()
    solution = pibls.solve(smooth_problem(triangle), tol=1e-8)
    assert solution.converged
    X = triangle.interior(200, np.random.default_rng(1))
    error = np.abs(solution(*X.T) - np.exp(X[:, 0]) * np.cos(X[:, 1])).max()
    assert error <= solution.error.max
    assert np.isnan(solution(0.8, 0.8))


# -- a region: where a condition holds ---------------------------------------------------------------


@dataclass(frozen=True)
class Diagonal(Region):
    """{x = y}: the diagonal of a box."""

    def sample(
        self,
        domain: Domain,
        points: Points,
        rng: np.random.Generator,
        box: Array | None = None,
        *,
        name: str = "",
    ) -> PointSet:
        low, high = box_of(domain).T
        X = low + np.linspace(0, 1, max(points.boundary, 8))[:, None] * (high - low)
        return PointSet.inside(X if box is None else X[is_in_cell(X, box, domain)])

    def allows_time_stepping(self, domain: Domain) -> bool:
        return False

    def describe(self, coordinates: tuple[Any, ...], notation: Notation) -> str:
        return "on the diagonal"


def test_user_defined_region(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patches `region_of` as a contributor would extend it."""
    builtin = getattr(problem_module, "region_of")  # noqa: B009
    monkeypatch.setattr(
        problem_module,
        "region_of",
        lambda condition, domain: (
            condition.on
            if isinstance(getattr(condition, "on", None), Diagonal)
            else builtin(condition, domain)
        ),
    )
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}), [u.diff(x) - 1], [pibls.Dirichlet(u, 0, on=Diagonal())]
    )
    solution = pibls.solve(problem, tol=1e-8)
    assert solution.converged
    assert abs(solution(0.9, 0.2) - 0.7) < 1e-7  # u = x - y


# -- a strategy: a solution method -------------------------------------------------------------------


@dataclass
class PaperStrategy(Strategy):
    """The broad basis of the paper, once, at a fixed size."""

    def advance(self) -> None:
        self.best = compute_candidate(self.context, pibls.Broad(5, 10, 2, 10, scale=2.0), None, None, key=1)
        self.report(self.best)
        self.status = Status.TOLERANCE


def test_user_defined_strategy() -> None:
    problem = line_problem()
    context = ValidationContext.of(compile_problem(problem), problem.domain, seed=0, tol=1e-6)
    setup = Setup(context, Budget(time.perf_counter(), None, 4000))
    paper = Row("the paper", lambda _: True, lambda setup: PaperStrategy(setup.context, setup.budget))
    scheduler = StrategyScheduler(setup, (paper, *TABLE))
    scheduler.run()
    assert isinstance(scheduler.best, PaperStrategy)  # it is the first row of the table
    assert scheduler.found is not None
    assert scheduler.found.relative_residual < 1e-6


# -- singular functions: a file with a function that yields blocks, and a row ---------------------------


@dataclass(frozen=True)
class LayerFunctions:
    """e^(-x/w) and e^((x - 1)/w), the layers at both ends of an interval."""

    width: float
    size = 2

    def draw(self, box: Array, rng: np.random.Generator) -> LayerFunctions:
        return self

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        rates = np.array([-1.0, 1.0]) / self.width
        values = np.exp(rates * (X - [0.0, 1.0]))
        return [np.asfortranarray(rates ** alpha[0] * values) for alpha in alphas]


@dataclass(frozen=True)
class LayerAtEnd:
    point: tuple[float, ...]
    strength = Strength.ESSENTIAL
    reason = "boundary layer"


def layers_at_ends(analysis: Analysis) -> list[LayerAtEnd]:
    return [LayerAtEnd((0.0,)), LayerAtEnd((1.0,))]


def functions_of_layers(analysis: Analysis) -> Iterator[SingularFunctions]:
    places = np.array([end.point for end in layers_at_ends(analysis)])
    yield SingularFunctions(Strength.ESSENTIAL, (LayerFunctions(1e-4),), places=places)


def test_user_defined_singular_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """1e-8 v'' - v + cos x = 0, v(0) = v(1) = 0: far fewer functions than cells need."""
    v = LINE
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [1e-8 * v.diff(x, 2) - v + sp.cos(x)], [pibls.Dirichlet(v, 0)]
    )
    without = pibls.solve(problem, tol=1e-8)
    row = SingularKind(functions_of_layers, layers_at_ends)
    monkeypatch.setattr(builder, "KINDS", (*builder.KINDS, row))
    solution = pibls.solve(problem, tol=1e-8)
    X = np.concatenate([np.linspace(0, 1, 200), np.geomspace(1e-6, 1e-2, 50)])
    exact = (np.cos(X) - np.exp(-X / 1e-4) - np.cos(1) * np.exp((X - 1) / 1e-4)) / (1 + 1e-8)
    assert solution.converged
    assert np.abs(solution(X) - exact).max() <= solution.error.max <= 1e-7
    assert solution.nodes < 0.7 * without.nodes


# -- an error estimator ------------------------------------------------------------------------------


def test_user_defined_error_estimator() -> None:
    """Compares two seeds instead of two scales; `error` and `summary` use the result."""
    problem = line_problem()
    first, second = (pibls.solve(problem, tol=1e-8, seed=seed) for seed in (0, 1))

    def by_seeds() -> ErrorEstimate:
        X = np.linspace(0, 1, 101)
        difference = np.abs(first(X) - second(X))
        return ErrorEstimate(
            4 * float(difference.max()) + 1e-15, 4 * float(np.sqrt(np.mean(difference**2))) + 1e-15
        )

    with_estimator = replace(first, estimator=by_seeds)
    assert with_estimator.error == by_seeds()
    assert f"{with_estimator.error.max:.1e}" in with_estimator.summary()


# -- a linear solver: factor, and apply --------------------------------------------------------------


class LstSq:
    """NumPy's least squares; ``factor_scaled`` is needed by nonlinear methods."""

    cond = 1e-15

    def factor(self, A: Any) -> Factors:
        return Factors(np.asarray(A), np.ones(len(A)), self.cond)

    def factor_scaled(self, A: Any, scale: Array, cond: float) -> Factors:
        return Factors(np.asarray(A) / scale[:, None], scale, cond)


@dataclass
class Factors:
    matrix: Array
    scale: Array
    cond: float
    rank: int = 0

    def apply(self, b: Array) -> Array:
        w, _, rank, _ = np.linalg.lstsq(self.matrix, b / self.scale, rcond=self.cond)
        self.rank = int(rank)
        return np.asarray(w, dtype=float)


def test_user_defined_linear_solver() -> None:
    basis = pibls.Waves(32, scale=6.0)
    solution = pibls.solve(line_problem(), basis=basis, method=pibls.LeastSquares(LstSq()))
    assert solution.converged
    assert abs(solution(0.5) - 1) < 1e-9
    v = LINE
    bratu = pibls.Problem(pibls.Interval(x, 0, 1), [v.diff(x, 2) + sp.exp(v)], [pibls.Dirichlet(v, 0)])
    default = pibls.solve(bratu)
    custom = pibls.solve(bratu, basis=basis, method=pibls.GaussNewton(linear=LstSq()))
    assert custom.converged
    assert abs(custom(0.5) - default(0.5)) < 1e-8


# -- output: a function of a solution ---------------------------------------------------------------


def to_json(solution: pibls.Solution, n: int = 5) -> dict[str, Any]:
    """Return values of a solution in one dimension as a dictionary."""
    (c,) = solution.problem.coordinates
    low, high = box_of(solution.problem.domain)[0]
    X = np.linspace(low, high, n)
    return {str(c): X.tolist(), "u": solution(X).tolist(), "error": solution.error.max}


def test_user_defined_output() -> None:
    out = to_json(pibls.solve(line_problem(), tol=1e-8))
    np.testing.assert_allclose(out["u"], np.sin(np.pi * np.array(out["x"])), atol=1e-7)
    assert out["error"] < 1e-7

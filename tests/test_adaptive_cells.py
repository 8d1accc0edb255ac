"""Adaptive cells: initial refinement at layers, hp selection, boundaries cut by cells, and error estimate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.adaptive.cells.hp_selection import CELL_NODES, SizedTree, resolved_wavelengths, wave_grid
from pibls.adaptive.decay_rates import layer_planes, refine_at_layers, wavelengths_across
from pibls.adaptive.hybridized import ReferenceCell, cell_system
from pibls.adaptive.validation.context import ValidationContext
from pibls.geometry import Boundary, faces_of
from pibls.geometry.faces.crossings import boundary_crossings
from pibls.nonlinear import GaussNewton
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import CellTree

x, y = sp.symbols("x y")
u = sp.Function("u")(x)
v = sp.Function("v")(x, y)
LINE = pibls.Interval(x, 0, 1)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})


def context(equation: Any, domain: Any = LINE, unknown: Any = u, tol: float = 1e-8) -> ValidationContext:
    problem = pibls.Problem(domain, [equation], [pibls.Dirichlet(unknown, 0)])
    return ValidationContext.of(compile_problem(problem), domain, 0, tol)


@pytest.mark.parametrize(
    ("equation", "levels"),
    [
        (-1e-4 * u.diff(x, 2) + u.diff(x) - 1, {1.0}),
        (-1e-4 * u.diff(x, 2) - (1 + x) * u.diff(x) - 1, {0.0}),
        (-1e-6 * u.diff(x, 2) + u - 1, {0.0, 1.0}),
        (1e-4 * u.diff(x, 2) + (x - 0.3) * u.diff(x) - 1, {0.3}),  # a turning point
        (u.diff(x, 2) + 1e6 * u - 1, set()),  # oscillating solutions have no layers
        (-u.diff(x, 2) + u.diff(x) - 1, set()),
    ],
)
def test_layers_are_located_where_solutions_decay_inwards(equation: Any, levels: set[float]) -> None:
    assert {round(site.level, 9) for site in layer_planes(context(equation))} == levels


def test_thin_layer_is_resolved_by_initial_refinement() -> None:
    """-ε u'' + u' = 1: the number of cells grows with log(1/ε), not with 1/ε."""
    e = 3e-6
    problem = pibls.Problem(LINE, [sp.Eq(-e * u.diff(x, 2) + u.diff(x), 1)], [pibls.Dirichlet(u, 0)])
    solution = pibls.solve(problem)
    X = np.concatenate([np.linspace(0, 1, 501), 1 - np.geomspace(1e-8, 1e-3, 200)])
    error = np.abs(solution(X) - (X - np.exp((X - 1) / e))).max()
    assert solution.converged
    assert error <= solution.error.max <= 1e-10
    assert solution.nodes < 2000


def test_cells_are_graded_towards_a_layer_only() -> None:
    found = context(-1e-3 * (v.diff(x, 2) + v.diff(y, 2)) + v.diff(x) + 2 * v.diff(y) - 1, SQUARE, v)
    assert {(s.axis, s.level) for s in layer_planes(found)} == {(0, 1.0), (1, 1.0)}
    tree = refine_at_layers(CellTree.grid(found.box, (2, 2)), layer_planes(found), 12)
    sizes = tree.boxes[:, :, 1] - tree.boxes[:, :, 0]
    assert sizes.min() < 4e-3
    assert sizes[tree.locate(np.array([[0.1, 0.1]]))[0]].min() == 0.5


def test_initial_grid_resolves_wavelengths() -> None:
    found = context(v.diff(x, 2) + v.diff(y, 2) + (60 * sp.pi) ** 2 * v - 1, SQUARE, v)
    wavelengths = wavelengths_across(found)
    assert np.allclose(wavelengths, 30)
    grid = wave_grid(wavelengths, 1e-8, 1e5)
    assert grid is not None
    level, counts = grid
    nodes = CELL_NODES[2][level]
    assert nodes * np.prod(counts) <= 1e5
    assert min(counts) * resolved_wavelengths(nodes, 2, 1e-8) >= 30
    assert wave_grid(wavelengths, 1e-8, 1e3) is None  # too few functions to resolve them


@pytest.mark.parametrize(("decay", "expected"), [(1.0, True), (0.01, False)])
def test_functions_are_added_where_the_spectrum_decays(decay: float, expected: bool) -> None:
    cells = SizedTree.uniform(CellTree.grid(np.array([[0.0, 1.0]] * 3), (2, 2, 2)), 1)
    assert cells.prefers_more_functions(0, np.ones(3), [0, 1, 2], decay, 6.0) is expected
    enlarged = cells.with_more_functions({0})
    assert enlarged.nodes[0] == CELL_NODES[3][2]
    assert not SizedTree.uniform(cells.tree, len(CELL_NODES[3]) - 1).prefers_more_functions(
        0, np.ones(3), [0], decay, 6.0
    )


def test_cells_are_not_coupled_along_the_boundary() -> None:
    """A cell outside an L-shape has no rows and no couplings; points on its sides are its neighbours'."""
    shape = pibls.Polygon((x, y), [(-1, -1), (0, -1), (0, 0), (1, 0), (1, 1), (-1, 1)])
    exact = sp.exp(x) * sp.cos(y)
    problem = pibls.Problem(shape, [sp.Eq(v.diff(x, 2) + v.diff(y, 2), 0)], [pibls.Dirichlet(v, exact)])
    box = np.array([[-1.0, 1.0]] * 2)
    tree = CellTree.grid(box, (2, 2))
    space = ReferenceCell.drawn(100, 2, 1.0, np.random.default_rng(0)).over(tree, 1)
    w = GaussNewton().solve(cell_system(compile_problem(problem), shape, space), np.random.default_rng(0)).w
    outside = int(tree.locate(np.array([[0.5, -0.5]]))[0])
    assert not w[space.starts[outside] : space.starts[outside + 1]].any()
    X = np.array([[0.0, -0.7], [0.4, 0.0], [0.0, 0.0], [0.0, -1.0]])
    values = space.values((X,), (pibls.problem.PartialDerivative(0, (0, 0)),), w[: space.columns])[0]
    assert np.abs(values - np.exp(X[:, 0]) * np.cos(X[:, 1])).max() < 1e-7


class LShape:
    """[-1, 1]² without its lower right quarter, as a user-defined shape."""

    coordinates = (x, y)
    bounds = ((-1.0, 1.0), (-1.0, 1.0))
    corners = np.array([[-1, -1], [0, -1], [0, 0], [1, 0], [1, 1], [-1, 1]], dtype=float)

    def contains(self, X: Any) -> Any:
        inside = np.all(np.abs(X) <= 1 + 1e-12, axis=1)
        return inside & ~((X[:, 0] > 1e-12) & (X[:, 1] < -1e-12))

    def interior(self, n: int, rng: np.random.Generator) -> Any:
        X = rng.uniform(-1, 1, (2 * n + 50, 2))
        return X[self.contains(X)][:n]

    def boundary(self, n: int, rng: np.random.Generator) -> Any:
        side = np.arange(n) % 6
        start, stop = self.corners[side], self.corners[(side + 1) % 6]
        along = (stop - start) / np.linalg.norm(stop - start, axis=1)[:, None]
        normals = np.stack([along[:, 1], -along[:, 0]], axis=1)
        return Boundary(start + rng.random((n, 1)) * (stop - start), normals, (self,) * n)


def corner_solution(a: Any, b: Any) -> Any:
    """r^(2/3) sin(2θ/3): it changes sign across θ = 0, so the boundary must be located exactly."""
    return np.hypot(a, b) ** (2 / 3) * np.sin(2 / 3 * np.mod(np.arctan2(b, a), 2 * np.pi))


@pytest.mark.parametrize("size", [0.5, 1e-3, 1e-7])
def test_boundary_of_user_defined_shape_is_located_in_cells_of_any_size(size: float) -> None:
    box = np.array([[0.0, size], [0.0, size]])
    (face,) = (part for f in faces_of(LShape()) for part in f.clipped(box))
    found = face.at(np.zeros((20, 1)), np.random.default_rng(0))
    assert len(found.points) == 20
    assert np.all(found.points[:, 1] == 0.0)  # exactly, although `contains` has a tolerance
    assert np.all(found.normals == [0.0, -1.0])
    assert np.ptp(found.points[:, 0]) > 0.9 * size
    if size < 0.1:
        assert face.measure(box[:, 1] - box[:, 0]) == pytest.approx(1.0, rel=0.05)


def test_curved_boundary_is_located_with_normals() -> None:
    disk = pibls.Disk((x, y), (0, 0), 1)
    box = np.array([[0.7, 0.703], [0.709, 0.713]])
    found = boundary_crossings(disk, box)
    assert len(found.points) > 50
    assert np.abs(np.linalg.norm(found.points, axis=1) - 1).max() < 1e-14
    assert np.abs(found.normals - found.points).max() < 1e-8
    within = np.all((box[:, 0] <= found.points) & (box[:, 1] >= found.points), axis=1)
    angle = np.arctan2(*found.points[within].T[::-1])
    assert found.sizes[within].sum() == pytest.approx(np.ptp(angle), rel=0.1)


def test_cells_are_graded_towards_undeclared_corner() -> None:
    """Δu = 0, u = r^(2/3) sin(2θ/3): in the corner only the boundary residuals are large."""
    f = sp.Function("f")(x, y)
    problem = pibls.Problem(
        LShape(), [sp.Eq(f.diff(x, 2) + f.diff(y, 2), 0)], [pibls.Dirichlet(f, corner_solution)]
    )
    solution = pibls.solve(problem, tol=1e-3)
    X = LShape().interior(4000, np.random.default_rng(1))
    X = np.concatenate([X, 1e-2 * X, 1e-4 * X])
    assert solution.converged
    assert np.abs(solution(*X.T) - corner_solution(*X.T)).max() <= solution.error.max <= 3e-3
    space: Any = solution.space
    boxes = space.tree.boxes
    sizes = (boxes[:, :, 1] - boxes[:, :, 0]).max(axis=1)
    assert sizes.min() < 1e-3
    assert len(boxes) < 250
    far = np.abs(boxes).min(axis=2).max(axis=1) > 0.3
    assert sizes[far].min() > 0.1


@pytest.mark.parametrize("rounds", [2, 3])
def test_error_is_estimated_from_last_refinement_after_time_limit(rounds: int) -> None:
    """-Δu = 1 is singular in the corners of a square: the error is largest there."""
    from pibls.adaptive.budget import Budget
    from pibls.adaptive.cells.strategy import CellStrategy
    from pibls.adaptive.validation.estimate import unknowns_at

    strategy = CellStrategy(
        context(v.diff(x, 2) + v.diff(y, 2) + 1, SQUARE, v, 1e-9), Budget(0.0, None, 4000)
    )
    strategy.advance()
    strategy.finalize_from_history()
    assert not strategy.error.checked  # there is no previous solution to compare with
    for _ in range(rounds - 1):
        strategy.advance()
    strategy.finalize_from_history()
    assert strategy.best is not None
    X = np.random.default_rng(1).random((400, 2))
    X = np.concatenate([X, 1e-2 * X])
    exact = pibls.solve(pibls.Problem(SQUARE, [v.diff(x, 2) + v.diff(y, 2) + 1], [pibls.Dirichlet(v, 0)]))
    found = unknowns_at(*strategy.best.function, X, 1)[0]
    assert np.abs(found - exact(*X.T)).max() <= strategy.error.max < 1e-2

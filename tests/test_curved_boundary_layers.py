"""Boundary layers along curved boundaries: exponentials that solve the equation, and graded cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy import special

import pibls
from pibls.adaptive.decay_rates import boundary_layer_rates
from pibls.adaptive.hybridized import ReferenceCell
from pibls.adaptive.validation.context import ValidationContext
from pibls.analysis.boundary_layers import BoundaryLayers, find_boundary_layers
from pibls.analysis.holes.enrichment import outer_faces
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import CellTree

x, y, z = sp.symbols("x y z")
u = sp.Function("u")(x, y)
DISC = pibls.Disk((x, y), (0, 0), 1)


def laplacian(w: Any, coordinates: Any = (x, y)) -> Any:
    return sum(w.diff(c, 2) for c in coordinates)


def problem_on(domain: Any, equation: Any) -> pibls.Problem:
    return pibls.Problem(domain, [sp.Eq(equation, 1)], [pibls.Dirichlet(u, 0)])


def layers_in(domain: Any, equation: Any) -> BoundaryLayers | None:
    return find_boundary_layers(compile_problem(problem_on(domain, equation)), domain, outer_faces(domain))


@pytest.mark.parametrize(
    "equation",
    [
        -laplacian(u) / 400 + u,
        -laplacian(u) / 50 + u.diff(x) - 2 * u.diff(y),
        -u.diff(x, 2) / 300 - u.diff(y, 2) / 500 + u.diff(x, y) / 900 + u.diff(x) / 10 + u,
        laplacian(laplacian(u)) / 10000 - laplacian(u),
    ],
)
def test_exponentials_solve_the_equation(equation: Any) -> None:
    layers = layers_in(pibls.Ellipse((x, y), (0, 0), (2, 1), 0.3), equation)
    assert layers is not None
    (basis,) = layers.functions(10.0)
    X = layers.domain.interior(50, np.random.default_rng(0))
    tables = dict(layers.symbol)
    terms = [c * A for c, A in zip(tables.values(), basis.jets(X, list(tables)), strict=True)]
    size = np.abs(terms).max(axis=0)
    assert basis.size > 20
    assert np.all(np.abs(sum(terms)) <= 1e-7 * size.max(axis=0))
    assert np.all(np.abs(basis.jets(X, [(0, 0)])[0]) <= 1.0 + 1e-12)
    # ∂y of the functions against a finite difference.
    ahead, behind = (basis.jets(X + [0.0, h], [(0, 0)])[0] for h in (1e-5, -1e-5))
    slope = basis.jets(X, [(0, 1)])[0]
    assert np.allclose((ahead - behind) / 2e-5, slope, atol=1e-4 * np.abs(slope).max())


def test_problems_without_layer_functions() -> None:
    thin = -laplacian(u) / 400 + u
    assert layers_in(DISC, -laplacian(u) + u) is None  # no thin layer
    assert layers_in(DISC, -laplacian(u) / 400 + (1 + x**2) * u) is None  # variable coefficients
    assert layers_in(pibls.Polygon((x, y), [(0, 0), (2, 0), (0.5, 1)]), thin) is None  # straight sides
    two_discs = pibls.Disk((x, y), (0.6, 0), 1) | pibls.Disk((x, y), (-0.6, 0), 1)
    assert layers_in(two_discs, thin) is None  # re-entrant corners
    assert (
        layers_in(DISC - pibls.Disk((x, y), (0.3, 0), 0.3), thin) is not None
    )  # a hole has its own functions


@pytest.mark.parametrize("width", [0.1, 0.01, 0.005])
def test_reaction_diffusion_in_a_disc(width: float, tmp_path: Path) -> None:
    problem = pibls.Problem(
        DISC, [sp.Eq(-(sp.Float(width) ** 2) * laplacian(u) + u, 1)], [pibls.Dirichlet(u, 0)]
    )
    solution = pibls.solve(problem, tol=1e-6)
    rng = np.random.default_rng(0)
    r = np.maximum(1.0 - rng.exponential(2 * width, 2000), 0.0)
    angle = rng.uniform(0, 2 * np.pi, 2000)
    exact = 1.0 - special.ive(0, r / width) / special.ive(0, 1 / width) * np.exp((r - 1.0) / width)
    found = solution(r * np.cos(angle), r * np.sin(angle))
    assert solution.converged
    assert np.abs(found - exact).max() <= solution.error.max < 2e-6
    solution.save(tmp_path / "layer.pibls")
    loaded = pibls.load(tmp_path / "layer.pibls")
    assert np.array_equal(loaded(r * np.cos(angle), r * np.sin(angle)), found)


def test_outflow_layer_in_a_disc() -> None:
    """u = x plus exponentials exp(w·x) with -ε|w|² + b·w = 0."""
    w = sp.Matrix([50, 0])  # b = (1, 0), ε = 1/50
    exact = x + sp.exp(w[0] * (x - 1)) + sp.exp(40 * (x - 1) + 20 * (y - sp.Rational(1, 2)))
    problem = pibls.Problem(DISC, [sp.Eq(-laplacian(u) / 50 + u.diff(x), 1)], [pibls.Dirichlet(u, exact)])
    solution = pibls.solve(problem, tol=1e-6)
    X = DISC.interior(2000, np.random.default_rng(0))
    values = sp.lambdify((x, y), exact)(*X.T)
    assert solution.converged
    assert np.abs(solution(*X.T) - values).max() <= solution.error.max


def test_boundary_layer_in_a_ball() -> None:
    w = sp.Function("u")(x, y, z)
    ball = pibls.Ball((x, y, z), (0, 0, 0), 1)
    problem = pibls.Problem(ball, [sp.Eq(laplacian(w, (x, y, z)), 225 * w)], [pibls.Dirichlet(w, 1)])
    solution = pibls.solve(problem, tol=1e-4)
    X = ball.boundary(500, np.random.default_rng(0)).points * np.linspace(0.5, 1.0, 500)[:, None]
    r = np.linalg.norm(X, axis=1)
    assert solution.converged
    assert np.abs(solution(*X.T) - np.sinh(15 * r) / np.sinh(15) / r).max() <= solution.error.max


def test_cells_are_refined_at_curved_boundary_layers() -> None:
    """With variable coefficients there are no exponentials: cells are graded towards the curved boundary."""
    equation = -laplacian(u) / 2500 + (1 + x**2) * u
    context = ValidationContext.of(compile_problem(problem_on(DISC, equation)), DISC, 0, 1e-6)
    boundary_rates = boundary_layer_rates(context)
    assert np.allclose(boundary_rates.rates.min(), 50.0, rtol=0.01)
    assert np.allclose(boundary_rates.rates.max(), 50.0 * np.sqrt(2.0), rtol=0.01)
    tree = boundary_rates.refine(CellTree.grid(context.box, (2, 2)), 9, 1000)
    lengths = np.ptp(tree.boxes, axis=2)[:, 0]
    at_boundary = np.unique(tree.locate(boundary_rates.points))
    assert lengths[at_boundary].max() <= 0.6 * 9 / 50.0
    assert lengths.max() >= 0.25
    assert len(boundary_rates.refine(CellTree.grid(context.box, (2, 2)), 9, 50)) <= 50
    square = pibls.Box({x: (0, 1), y: (0, 1)})  # its sides are parallel to the axes
    assert not len(
        boundary_layer_rates(
            ValidationContext.of(compile_problem(problem_on(square, equation)), square, 0, 1e-6)
        ).points
    )


def test_cell_without_points_copies_its_neighbour() -> None:
    """The solution must not be zero in a sliver of the domain without points."""
    tree = CellTree.grid(np.array([[0.0, 3.0], [0.0, 1.0]]), (3, 1))
    reference = ReferenceCell.drawn(16, 2, 1.0, np.random.default_rng(0))
    space = reference.over(tree, 1)
    w = np.concatenate([np.zeros(16), np.ones(16), np.full(16, 2.0)])
    filled, weights = space.with_empty_cells_filled(w, tree.boxes)
    X = np.array([[0.99, 0.5], [1.0, 0.5]])
    values = filled.values((X,), (PartialDerivative(0, (0, 0)),), weights)
    assert np.all(weights[:16] == 1.0)
    assert np.all(values != 0.0)
    assert np.isclose(values[0, 0], values[0, 1], rtol=0.2)
    assert space.with_empty_cells_filled(np.ones(48), tree.boxes)[0] is space

"""Cells that begin where the equation says that it is hard, have as many functions as pay, and end at ∂Ω."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.problem.lowering import lower
from pibls.search.bench import Bench
from pibls.search.divided import Reference, cell_system
from pibls.search.rates import sites, towards, waves_across
from pibls.search.sizes import NODES, Sized, grid_for, waves_in
from pibls.solver import GaussNewton
from pibls.space import CellTree

x, y = sp.symbols("x y")
u = sp.Function("u")(x)
v = sp.Function("v")(x, y)
LINE = pibls.Interval(x, 0, 1)
SQUARE = pibls.Box({x: (0, 1), y: (0, 1)})


def bench(equation: Any, domain: Any = LINE, unknown: Any = u, tol: float = 1e-8) -> Bench:
    problem = pibls.Problem(domain, [equation], [pibls.Dirichlet(unknown, 0)])
    return Bench.of(lower(problem), domain, 0, tol)


@pytest.mark.parametrize(
    ("equation", "levels"),
    [
        (-1e-4 * u.diff(x, 2) + u.diff(x) - 1, {1.0}),
        (-1e-4 * u.diff(x, 2) - (1 + x) * u.diff(x) - 1, {0.0}),
        (-1e-6 * u.diff(x, 2) + u - 1, {0.0, 1.0}),
        (1e-4 * u.diff(x, 2) + (x - 0.3) * u.diff(x) - 1, {0.3}),  # a turning point
        (u.diff(x, 2) + 1e6 * u - 1, set()),  # waves are no layers
        (-u.diff(x, 2) + u.diff(x) - 1, set()),
    ],
)
def test_layers_stand_where_solutions_decay_inwards(equation: Any, levels: set[float]) -> None:
    assert {round(site.level, 9) for site in sites(bench(equation))} == levels


def test_a_layer_of_any_width_is_found_at_once() -> None:
    """-ε u'' + u' = 1: a handful of cells for each power of ten, and not one for each width."""
    e = 3e-6
    problem = pibls.Problem(LINE, [sp.Eq(-e * u.diff(x, 2) + u.diff(x), 1)], [pibls.Dirichlet(u, 0)])
    solution = pibls.solve(problem)
    X = np.concatenate([np.linspace(0, 1, 501), 1 - np.geomspace(1e-8, 1e-3, 200)])
    error = np.abs(solution(X) - (X - np.exp((X - 1) / e))).max()
    assert solution.converged
    assert error <= solution.error.max <= 1e-10
    assert solution.nodes < 2000


def test_cells_are_graded_towards_a_layer_only() -> None:
    found = bench(-1e-3 * (v.diff(x, 2) + v.diff(y, 2)) + v.diff(x) + 2 * v.diff(y) - 1, SQUARE, v)
    assert {(s.axis, s.level) for s in sites(found)} == {(0, 1.0), (1, 1.0)}
    tree = towards(CellTree.grid(found.box, (2, 2)), sites(found), 12)
    sizes = tree.boxes[:, :, 1] - tree.boxes[:, :, 0]
    assert sizes.min() < 4e-3
    assert sizes[tree.locate(np.array([[0.1, 0.1]]))[0]].min() == 0.5


def test_waves_begin_in_a_grid_that_resolves_them() -> None:
    found = bench(v.diff(x, 2) + v.diff(y, 2) + (60 * sp.pi) ** 2 * v - 1, SQUARE, v)
    waves = waves_across(found)
    assert np.allclose(waves, 30)
    grid = grid_for(waves, 1e-8, 1e5)
    assert grid is not None
    level, counts = grid
    nodes = NODES[2][level]
    assert nodes * np.prod(counts) <= 1e5
    assert min(counts) * waves_in(nodes, 2, 1e-8) >= 30
    assert grid_for(waves, 1e-8, 1e3) is None  # nothing resolves them


@pytest.mark.parametrize(("fall", "more"), [(1.0, True), (0.01, False)])
def test_functions_are_added_where_the_spectrum_falls(fall: float, more: bool) -> None:
    cells = Sized.even(CellTree.grid(np.array([[0.0, 1.0]] * 3), (2, 2, 2)), 1)
    assert cells.wants_more(0, np.ones(3), [0, 1, 2], fall, 6.0) is more
    raised = cells.raised({0})
    assert raised.nodes[0] == NODES[3][2]
    assert not Sized.even(cells.tree, len(NODES[3]) - 1).wants_more(0, np.ones(3), [0], fall, 6.0)


def test_nothing_is_held_together_along_the_boundary() -> None:
    """A cell outside an L-shape has no rows and no ties; points on its sides are its neighbours'."""
    shape = pibls.Polygon((x, y), [(-1, -1), (0, -1), (0, 0), (1, 0), (1, 1), (-1, 1)])
    exact = sp.exp(x) * sp.cos(y)
    problem = pibls.Problem(shape, [sp.Eq(v.diff(x, 2) + v.diff(y, 2), 0)], [pibls.Dirichlet(v, exact)])
    box = np.array([[-1.0, 1.0]] * 2)
    tree = CellTree.grid(box, (2, 2))
    space = Reference.drawn(100, 2, 1.0, np.random.default_rng(0)).over(tree, 1)
    w = GaussNewton().solve(cell_system(lower(problem), shape, space), np.random.default_rng(0)).w
    outside = int(tree.locate(np.array([[0.5, -0.5]]))[0])
    assert not w[space.starts[outside] : space.starts[outside + 1]].any()
    X = np.array([[0.0, -0.7], [0.4, 0.0], [0.0, 0.0], [0.0, -1.0]])
    values = space.values((X,), (pibls.problem.Jet(0, (0, 0)),), w[: space.columns])[0]
    assert np.abs(values - np.exp(X[:, 0]) * np.cos(X[:, 1])).max() < 1e-7

"""Singular points √r sin(θ/2): slits, cracks, junctions of materials, corners of level sets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.arrays import Array

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)
LAPLACE = u.diff(x, 2) + u.diff(y, 2)
SQUARE = pibls.Box({x: (-1, 1), y: (-1, 1)})
SLIT = pibls.Slit((x, y), [(0, 0), (1, 0)])


def root(X: Array, Y: Array) -> Array:
    """√r sin(θ/2), 0 ≤ θ < 2π."""
    return np.asarray(np.sqrt(np.hypot(X, Y)) * np.sin(0.5 * (np.arctan2(Y, X) % (2 * np.pi))))


def test_square_root_at_the_tip_of_a_slit() -> None:
    conditions = [pibls.Dirichlet(u, root), pibls.Dirichlet(u, 0, on=SLIT)]
    solution = pibls.solve(pibls.Problem(SQUARE - SLIT, [sp.Eq(LAPLACE, 0)], conditions))
    X = np.random.default_rng(1).uniform(-1, 1, (2, 2000))
    error = np.abs(solution(*X) - root(*X)).max()
    assert solution.converged
    assert error < 1e-10
    assert error <= max(solution.error.max, 1e-13)


def test_crack_equals_half_problem(tmp_path: Path) -> None:
    """By symmetry u = 0 ahead of the crack, so one half of the plate can be solved separately."""
    ends = [pibls.Dirichlet(u, 1, on=sp.Eq(y, 1)), pibls.Dirichlet(u, -1, on=sp.Eq(y, -1))]
    cracked_plate = pibls.Polygon((x, y), [(-1, -1), (1, -1), (1, 0), (0, 0), (1, 0), (1, 1), (-1, 1)])
    cracked = pibls.solve(
        pibls.Problem(cracked_plate, [sp.Eq(LAPLACE, 0)], [*ends, pibls.Neumann(u, 0)]), tol=1e-8
    )
    upper = pibls.Box({x: (-1, 1), y: (0, 1)})
    ahead = pibls.Dirichlet(u, 0, on=sp.And(sp.Eq(y, 0), x < 0))
    half = pibls.solve(pibls.Problem(upper, [sp.Eq(LAPLACE, 0)], [ends[0], ahead, pibls.Neumann(u, 0)]))
    X = np.random.default_rng(2).uniform((-1, 0), (1, 1), (500, 2)).T
    assert cracked.converged
    for sign in (1, -1):
        assert np.abs(cracked(X[0], sign * X[1]) - sign * half(*X)).max() < 1e-8
    cracked.save(tmp_path / "crack.pibls")
    loaded = pibls.load(tmp_path / "crack.pibls")
    assert np.array_equal(loaded(*X), cracked(*X))


def test_both_sides_of_slits_are_faces() -> None:
    domain = SQUARE - pibls.Slit((x, y), [(-0.5, -0.3), (0.1, 0), (0.5, 0.4)])
    slit_sides = [face for face in domain.faces if face.is_slit_side]
    assert len(slit_sides) == 4
    for face in slit_sides:
        sample = face.at(np.array([[0.3], [0.7]]), np.random.default_rng(0))
        assert domain.contains(sample.points).all()
    filled = (SQUARE - SLIT) | pibls.Disk((x, y), (0.5, 0), 0.2)
    assert sum(face.is_slit_side for face in filled.faces) == 4
    moved = (SQUARE - SLIT).moved(1, 0).turned(0.3)
    assert sum(face.is_slit_side for face in moved.faces) == 2


def test_checkerboard_coefficient() -> None:
    """k = 10 | 1 | 10 | 1 around a point, where u behaves like r^0.39."""
    k = sp.Piecewise((10, sp.Or(sp.And(x > 0, y > 0), sp.And(x < 0, y < 0))), (1, True))
    problem = pibls.Problem(SQUARE, [sp.Eq(pibls.div(k * pibls.grad(u)), 0)], [pibls.Dirichlet(u, x)])
    solution = pibls.solve(problem, tol=1e-8)
    assert solution.converged
    # The problem is invariant under (x, y) -> (-x, -y) with u -> -u.
    assert abs(solution(0.2, 0.3) + solution(-0.2, -0.3)) < 1e-8
    assert abs(solution(0.2, 0.3) - 0.4219521261) < 1e-9


def test_two_arcs_with_different_values_meet() -> None:
    """u = 0 on one arc and 1 on the other: u is the angle subtended by the ends of the lens, scaled."""
    left, right = (pibls.Disk((x, y), (c, 0), 1) for c in (-0.5, 0.5))
    sides = [pibls.Dirichlet(u, 1, on=left), pibls.Dirichlet(u, 0, on=right)]
    solution = pibls.solve(pibls.Problem(left & right, [sp.Eq(LAPLACE, 0)], sides), tol=1e-6)
    X = (left & right).interior(500, np.random.default_rng(3)).T
    z, c = X[0] + 1j * X[1], 0.5j * np.sqrt(3)
    exact = np.angle((c - z) / (c + z) / np.exp(-1j * np.pi / 3)) / (2 * np.pi / 3)
    error = min(np.abs(solution(*X) - e).max() for e in (exact, 1 - exact))
    assert solution.converged
    assert error <= solution.error.max < 1e-6


def test_level_set_with_corners_equals_polygon() -> None:
    """An L-shape given by Max and Min."""
    bounds = {x: (-2, 2), y: (-2, 2)}
    level_set = pibls.Implicit(sp.Max(sp.Abs(x) - 1, sp.Abs(y) - 1, sp.Min(x, -y)), bounds)
    polygon = pibls.Polygon((x, y), [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)])
    one, two = (
        pibls.solve(pibls.Problem(shape, [sp.Eq(LAPLACE, -1)], [pibls.Dirichlet(u, 0)]), tol=1e-8)
        for shape in (level_set, polygon)
    )
    X = polygon.interior(500, np.random.default_rng(4)).T
    assert one.converged
    assert np.abs(one(*X) - two(*X)).max() < 1e-8 * two(*X).max()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pibls.Slit((x, y), [(0, 0)]), "at least 2 different points"),
        (
            lambda: pibls.Slit((x, y), [(0, 0), (1, 0), (1, 1), (0.5, -1)]),
            "does not intersect or touch itself",
        ),
        (lambda: pibls.Problem(SLIT, [LAPLACE], [pibls.Dirichlet(u, 0)]), "has zero width"),
    ],
)
def test_invalid_slits_are_rejected(make: Callable[[], object], message: str) -> None:
    with pytest.raises(pibls.ProblemError, match=message):
        make()

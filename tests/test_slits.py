"""√r sin(θ/2): slits, and other points that nothing may go around."""

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


def test_a_slit_has_its_root() -> None:
    conditions = [pibls.Dirichlet(u, root), pibls.Dirichlet(u, 0, on=SLIT)]
    solution = pibls.solve(pibls.Problem(SQUARE - SLIT, [sp.Eq(LAPLACE, 0)], conditions))
    X = np.random.default_rng(1).uniform(-1, 1, (2, 2000))
    error = np.abs(solution(*X) - root(*X)).max()
    assert solution.converged
    assert error < 1e-10
    assert error <= max(solution.error.max, 1e-13)


def test_a_crack_opens(tmp_path: Path) -> None:
    """Pulled apart, the plate has u = 0 before the crack, and one half of it is a problem of its own."""
    ends = [pibls.Dirichlet(u, 1, on=sp.Eq(y, 1)), pibls.Dirichlet(u, -1, on=sp.Eq(y, -1))]
    ring = pibls.Polygon((x, y), [(-1, -1), (1, -1), (1, 0), (0, 0), (1, 0), (1, 1), (-1, 1)])
    cracked = pibls.solve(pibls.Problem(ring, [sp.Eq(LAPLACE, 0)], [*ends, pibls.Neumann(u, 0)]), tol=1e-8)
    upper = pibls.Box({x: (-1, 1), y: (0, 1)})
    before = pibls.Dirichlet(u, 0, on=sp.And(sp.Eq(y, 0), x < 0))
    half = pibls.solve(pibls.Problem(upper, [sp.Eq(LAPLACE, 0)], [ends[0], before, pibls.Neumann(u, 0)]))
    X = np.random.default_rng(2).uniform((-1, 0), (1, 1), (500, 2)).T
    assert cracked.converged
    for sign in (1, -1):
        assert np.abs(cracked(X[0], sign * X[1]) - sign * half(*X)).max() < 1e-8
    cracked.save(tmp_path / "crack.pibls")
    again = pibls.load(tmp_path / "crack.pibls")
    assert np.array_equal(again(*X), cracked(*X))


def test_lips_know_their_side() -> None:
    domain = SQUARE - pibls.Slit((x, y), [(-0.5, -0.3), (0.1, 0), (0.5, 0.4)])
    lips = [face for face in domain.faces if face.is_slit_side]
    assert len(lips) == 4
    for face in lips:
        there = face.at(np.array([[0.3], [0.7]]), np.random.default_rng(0))
        assert domain.contains(there.points).all()
    filled = (SQUARE - SLIT) | pibls.Disk((x, y), (0.5, 0), 0.2)
    assert sum(face.is_slit_side for face in filled.faces) == 4
    moved = (SQUARE - SLIT).moved(1, 0).turned(0.3)
    assert sum(face.is_slit_side for face in moved.faces) == 2


def test_a_chessboard() -> None:
    """k = 10 | 1 | 10 | 1 around a point, where u is like r^0.39."""
    k = sp.Piecewise((10, sp.Or(sp.And(x > 0, y > 0), sp.And(x < 0, y < 0))), (1, True))
    problem = pibls.Problem(SQUARE, [sp.Eq(pibls.div(k * pibls.grad(u)), 0)], [pibls.Dirichlet(u, x)])
    solution = pibls.solve(problem, tol=1e-8)
    assert solution.converged
    # A function of |x|, |y| and signs: the problem is the same with x and y, and both signs, exchanged.
    assert abs(solution(0.2, 0.3) + solution(-0.2, -0.3)) < 1e-8
    assert abs(solution(0.2, 0.3) - 0.4219521261) < 1e-9


def test_two_arcs_meet() -> None:
    """0 on one arc and 1 on the other: the angle at which both ends of the lens are seen."""
    left, right = (pibls.Disk((x, y), (c, 0), 1) for c in (-0.5, 0.5))
    sides = [pibls.Dirichlet(u, 1, on=left), pibls.Dirichlet(u, 0, on=right)]
    solution = pibls.solve(pibls.Problem(left & right, [sp.Eq(LAPLACE, 0)], sides), tol=1e-6)
    X = (left & right).interior(500, np.random.default_rng(3)).T
    z, c = X[0] + 1j * X[1], 0.5j * np.sqrt(3)
    exact = np.angle((c - z) / (c + z) / np.exp(-1j * np.pi / 3)) / (2 * np.pi / 3)
    error = min(np.abs(solution(*X) - e).max() for e in (exact, 1 - exact))
    assert solution.converged
    assert error <= solution.error.max < 1e-6


def test_a_level_set_has_corners() -> None:
    """An L-shape as Max and Min is the polygon."""
    bounds = {x: (-2, 2), y: (-2, 2)}
    made = pibls.Implicit(sp.Max(sp.Abs(x) - 1, sp.Abs(y) - 1, sp.Min(x, -y)), bounds)
    drawn = pibls.Polygon((x, y), [(0, 0), (1, 0), (1, 1), (-1, 1), (-1, -1), (0, -1)])
    one, two = (
        pibls.solve(pibls.Problem(shape, [sp.Eq(LAPLACE, -1)], [pibls.Dirichlet(u, 0)]), tol=1e-8)
        for shape in (made, drawn)
    )
    X = drawn.interior(500, np.random.default_rng(4)).T
    assert one.converged
    assert np.abs(one(*X) - two(*X)).max() < 1e-8 * two(*X).max()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pibls.Slit((x, y), [(0, 0)]), "at least 2 different points"),
        (
            lambda: pibls.Slit((x, y), [(0, 0), (1, 0), (1, 1), (0.5, -1)]),
            "does not intersect or touch itself",
        ),
        (lambda: pibls.Problem(SLIT, [LAPLACE], [pibls.Dirichlet(u, 0)]), "has zero width"),
    ],
)
def test_bad_slits(make: Callable[[], object], words: str) -> None:
    with pytest.raises(pibls.ProblemError, match=words):
        make()

"""Domains so large or small that squares of derivatives overflow or underflow: rejected on construction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.io import parse_problem

x, y, z, t = sp.symbols("x y z t")
FILE = """
unknowns = ["u"]
equations = ["u_xx + u_yy + u_zz = 1"]
domain = {{ shape = "body" }}
shapes = {{ body = {{ ball = {{ center = {{ x = 0, y = 0, z = 0 }}, radius = {} }} }} }}
conditions = [{{ dirichlet = "u", value = 0 }}]
"""


@pytest.mark.parametrize("radius", ["1e300", "1e-300"])
def test_ball_of_extreme_size_in_a_problem_file(radius: str) -> None:
    with pytest.raises(pibls.ProblemError, match=r"a size from 1e-70 to 1e\+70, got 1e[+-]300"):
        parse_problem(FILE.format(radius))


@pytest.mark.parametrize(
    "make",
    [
        lambda: pibls.Interval(x, 0, 1e300),
        lambda: pibls.Interval(x, 0, 1e-300),
        lambda: pibls.Interval(x, 1e90, 2e90),
        lambda: pibls.Box({x: (0, 1), y: (0, 1e200)}),
        lambda: pibls.Disk((x, y), (0, 0), 1e100),
        lambda: pibls.Disk((x, y), (1e100, 0), 1),
        lambda: pibls.Ball((x, y, z), (0, 0, 0), 1e-100),
        lambda: pibls.Ellipse((x, y), (0, 0), (1, 1e100)),
        lambda: pibls.Polygon((x, y), [(0, 0), (1e100, 0), (0, 1e100)]),
        lambda: pibls.Polygon((x, y), [(0, 0), (1e-100, 0), (0, 1e-100)]),
        lambda: pibls.Interval(x, 0, 1).during(t, 0, 1e100),
        lambda: pibls.Disk((x, y), (0, 0), 1).scaled(1e100),
        lambda: pibls.Disk((x, y), (0, 0), 1).moved(1e100, 0),
    ],
)
def test_shapes_of_extreme_sizes_are_rejected(make: Callable[[], object]) -> None:
    with pytest.raises(pibls.ProblemError, match=r"(a size|a number) (from|between) .*1e\+70.*other units"):
        make()


def test_user_defined_shape_with_extreme_bounds_is_rejected() -> None:
    class UserShape:
        coordinates = (x,)
        bounds = ((0.0, 1e200),)

        def interior(self, n: int, rng: np.random.Generator) -> np.ndarray:
            return rng.random((n, 1))

        def boundary(self, n: int, rng: np.random.Generator) -> Any:
            return np.zeros((n, 1)), -np.ones((n, 1)), (self,) * n

        def contains(self, X: np.ndarray) -> np.ndarray:
            return X[:, 0] >= 0

    shape: Any = UserShape()
    u = sp.Function("u")(x)
    with pytest.raises(pibls.ProblemError, match=r"bounds: expected a number between -1e\+70 and 1e\+70"):
        pibls.Problem(shape, [u.diff(x, 2) - 1], [pibls.Dirichlet(u, 0)])


@pytest.mark.parametrize("length", [1e-60, 1e60])
def test_large_and_small_lengths_are_solved(length: float) -> None:
    u = sp.Function("u")(x)
    equation = sp.Eq(u.diff(x, 2), -1 / sp.Float(length) ** 2)
    solution = pibls.solve(pibls.Problem(pibls.Interval(x, 0, length), [equation], [pibls.Dirichlet(u, 0)]))
    assert solution.converged
    assert float(solution(0.5 * length)) == pytest.approx(0.125, abs=1e-12)

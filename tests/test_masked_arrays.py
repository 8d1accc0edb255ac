"""NumPy masked arrays: masked entries are missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.errors import ProblemError

x, t = sp.symbols("x t")
u = sp.Function("u")(x, t)


def masked(values: Any, mask: Any) -> Any:
    return np.ma.array(values, mask=mask, dtype=float)


def test_masked_values_points_and_sigmas_are_omitted() -> None:
    data = pibls.Data(
        u,
        {x: masked([0.1, np.nan, 0.3, 0.4, 0.5], [0, 1, 0, 0, 0]), t: 2.0},
        masked([1.0, 2.0, np.nan, 4.0, 5.0], [0, 0, 1, 0, 0]),
        sigma=masked([0.1, 0.2, 0.3, -1.0, 0.5], [0, 0, 0, 1, 0]),
    )
    np.testing.assert_array_equal(data.X, [[0.1, 2.0], [0.5, 2.0]])
    np.testing.assert_array_equal(data.values, [1.0, 5.0])
    np.testing.assert_array_equal(data.sigma, [0.1, 0.5])


def test_masked_replicate_does_not_affect_the_others() -> None:
    values = masked([[1.0, 2.0], [3.0, 4.0]], [[0, 1], [0, 0]])
    data = pibls.Data(u, {x: [0.1, 0.2], t: [0.0, 1.0]}, values)
    np.testing.assert_array_equal(data.values, [1.0, 3.0, 4.0])
    np.testing.assert_array_equal(data.X, [[0.1, 0.0], [0.1, 0.0], [0.2, 1.0]])


def test_masked_grid_point_is_omitted_in_all_replicates() -> None:
    points = {x: masked([[0.1], [0.2]], [[0], [1]]), t: [0.0, 1.0, 2.0]}
    data = pibls.Data(u, points, np.arange(12.0).reshape(2, 2, 3))
    np.testing.assert_array_equal(data.values, [0, 1, 2, 6, 7, 8])


def test_fully_masked_data_are_rejected() -> None:
    with pytest.raises(ProblemError, match="at least one value, got 2, all of them masked"):
        pibls.Data(u, {x: [0.1, 0.2], t: 0.0}, masked([1.0, 2.0], True))


def test_unmasked_nan_is_rejected() -> None:
    with pytest.raises(ProblemError, match="finite numbers, got 1 NaN or infinite of 3"):
        pibls.Data(u, {x: [0.1, 0.2, 0.3], t: 0.0}, masked([np.nan, np.nan, 1.0], [0, 1, 0]))


def test_solution_is_nan_at_masked_coordinates() -> None:
    v = sp.Function("v")(x)
    problem = pibls.Problem(pibls.Interval(x, 0, 1), [v.diff(x) - 1], [pibls.Dirichlet(v, 0, on=sp.Eq(x, 0))])
    found = pibls.solve(problem)(masked([0.25, 0.5, 0.75], [0, 1, 0]))
    np.testing.assert_allclose(found, [0.25, np.nan, 0.75], atol=1e-9)


def test_masked_vertices_of_triangles_are_rejected() -> None:
    triangles = masked(np.ones((4, 3, 3)), np.eye(3, dtype=bool)[None].repeat(4, axis=0))
    with pytest.raises(ProblemError, match="finite numbers in an array of shape"):
        pibls.Solid(sp.symbols("x y z"), triangles)

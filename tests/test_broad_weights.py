"""solution.weights: the weight arrays in the notation of the paper."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

import pibls

x = sp.Symbol("x")
u, v = sp.Function("u")(x), sp.Function("v")(x)
PROBLEM = pibls.Problem(pibls.Interval(x, 0, 2), [u.diff(x, 2) + sp.sin(3 * x)], [pibls.Dirichlet(u, 1)])


def test_weights_reproduce_the_solution() -> None:
    solution = pibls.solve(PROBLEM, basis=pibls.Broad(3, 4, 2, 5, scale=2.0), points=pibls.Points(60, 2))
    w = solution.weights
    assert [a.shape for a in w] == [(1, 12), (12,), (12, 10), (10,), (22, 1), (1,), (1,)]
    points = np.linspace(0, 2, 50)
    Z = np.tanh((points[:, None] - w.centre) / w.half @ w.W_e + w.beta_e)
    H = np.tanh(Z @ w.W_h + w.beta_h)
    np.testing.assert_allclose((np.hstack([Z, H]) @ w.W_out)[:, 0], solution(points), atol=1e-9)
    assert w._fields[:5] == ("W_e", "beta_e", "W_h", "beta_h", "W_out")


def test_each_unknown_has_a_column_of_output_weights() -> None:
    system = pibls.Problem(
        pibls.Interval(x, 0, 1),
        [u.diff(x) - v, v.diff(x) + u],
        [pibls.Initial(u, 1), pibls.Initial(v, 0)],
    )
    solution = pibls.solve(system, basis=pibls.Broad(4, 5, scale=2.0), points=pibls.Points(60, 2, 1))
    w = solution.weights
    assert w.W_out.shape == (20, 2)
    points = np.linspace(0, 1, 20)
    values = np.tanh((points[:, None] - w.centre) / w.half @ w.W_e + w.beta_e) @ w.W_out
    np.testing.assert_allclose(values, np.column_stack([solution[u](points), solution[v](points)]), atol=1e-8)


def test_weights_of_other_bases_raise() -> None:
    with pytest.raises(
        pibls.ProblemError, match=r"(?s)solution\.weights.*Broad basis.*solution\.coefficients"
    ):
        pibls.solve(PROBLEM).weights  # noqa: B018


def test_shared_bias_is_one_per_group() -> None:
    basis = pibls.Broad(3, 4, 2, 5, scale=2.0, shared_bias=True)
    drawn = basis.draw(np.array([[0.0, 1.0]]), np.random.default_rng(0))
    assert len(set(drawn.features.biases.tolist())) == 3
    assert len(set(drawn.offsets.tolist())) == 2
    assert np.ptp(drawn.features.biases[:4]) == 0 < np.ptp(drawn.features.weights[:, :4])

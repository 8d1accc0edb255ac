"""The forward problem of the scratch assay with published settings, and the status for too small a basis."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import sympy as sp
from benchmarks import assay_forward

import pibls
from pibls.cases import assay

STORED = json.loads(assay_forward.STORED.read_text())
x = sp.Symbol("x")
u = sp.Function("u")(x)


def test_published_settings() -> None:
    case = assay.forward(12_000)
    settings = case.settings
    assert settings["basis"] == pibls.Broad(20, 10, 20, 10, scale=5.0)
    assert settings["points"] == pibls.Points(2000, 800, 200)
    assert settings["method"].tolerance == 2e-3  # ½‖r‖² < 1e-3
    assert settings["method"].trust_region == pibls.TrustRegion(ftol=1e-8, xtol=1e-8, gtol=1e-8)
    assert settings["seed"] == 42
    assert np.allclose(case.problem.domain.bounds, [[0, 1950], [0, 48]])
    with pytest.raises(KeyError, match="no experiment with 11000 cells"):
        assay.forward(11_000)


def test_published_settings_end_unresolved_with_the_stored_errors() -> None:
    """400 nodes with R = 5 have an error of a few percent; the loss is that of the linearized problem."""
    result = assay_forward.measure(10_000, "published")
    assert result["status"] == "UNRESOLVED"
    assert result["losses"]["end"] <= 2 * result["losses"]["linearised"]
    assert result["losses"]["zero"] < 1e-3  # the loss threshold of the authors is met by u = 0
    assert 0.005 < max(result["errors"][1:]) < 0.06
    assert result["scores"] == pytest.approx(STORED["10000"]["published"]["scores"], rel=0.02)


def test_stored_predictions_agree_with_finite_differences() -> None:
    for result in STORED.values():
        assert result["no settings"]["status"] == "TOLERANCE"
        assert max(result["no settings"]["errors"]) < 1e-4
        assert max(result["published"]["errors"]) > 100 * max(result["no settings"]["errors"])


def oscillating_problem(size: float) -> pibls.Problem:
    """u'' - u³/size² = 20 size sin 40x: too many oscillations for a dozen nodes."""
    equation = sp.Eq(u.diff(x, 2) - u**3 / size**2, 900 * size * sp.sin(40 * x))
    return pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(u, size)])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("method", [pibls.NLSQPerturb(rounds=0), pibls.TrustRegion()])
def test_status_is_unresolved_for_too_small_basis_in_any_units(size: float, method: Any) -> None:
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(
            oscillating_problem(size),
            basis=pibls.Broad(4, 3, scale=2.0),
            points=pibls.Points(60, 2),
            method=method,
        )
    assert solution.status is pibls.Status.UNRESOLVED


def test_status_of_problem_without_solution_is_not_unresolved() -> None:
    problem = pibls.Problem(
        pibls.Interval(x, 0, 1), [sp.Eq(u.diff(x, 2) + 5 * sp.exp(u), 0)], [pibls.Dirichlet(u, 0)]
    )
    with pytest.warns(pibls.ConvergenceWarning):
        solution = pibls.solve(
            problem,
            basis=pibls.Broad(4, 10, scale=3.0),
            points=pibls.Points(80, 2),
            method=pibls.NLSQPerturb(rounds=1),
        )
    assert solution.status in (pibls.Status.STALLED, pibls.Status.STEP_LIMIT)

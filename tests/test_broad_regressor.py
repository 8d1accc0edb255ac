"""BroadRegressor, the scikit-learn estimator with a broad basis."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest

import pibls

pytest.importorskip("sklearn")


def data(n: int, seed: int = 0) -> Any:
    X = np.random.default_rng(seed).uniform(-2, 3, (n, 2))
    return X, np.sin(X[:, 0]) * np.exp(-0.3 * X[:, 1]) + 2.0


def test_regressor_passes_scikit_learn_checks() -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(pibls.BroadRegressor(), on_fail=None)
    assert not [r["check_name"] for r in results if r["status"] == "failed"]
    assert sum(r["status"] == "passed" for r in results) > 40


def test_regressor_fits_a_smooth_function_and_works_in_grid_search() -> None:
    from sklearn.model_selection import GridSearchCV, cross_val_score

    X, y = data(400)
    new, exact = data(200, seed=1)
    model = pibls.BroadRegressor(random_state=0).fit(X, y)
    assert np.abs(model.predict(new) - exact).max() < 1e-4
    assert cross_val_score(pibls.BroadRegressor(random_state=0), X, y).min() > 0.999999
    search = GridSearchCV(pibls.BroadRegressor(random_state=0), {"scale": [1e-4, 1.0]}, cv=3).fit(X, y)
    assert search.best_params_ == {"scale": 1.0}


def test_incremental_fit_equals_fit_from_scratch() -> None:
    X, y = data(300)
    model = pibls.BroadRegressor(4, 5, 1, 10, random_state=3, alpha=1e-6).fit(X[:250], y[:250])
    first = model.predict(X).copy()
    model.add_feature_nodes(8).partial_fit(X[250:], y[250:]).add_enhancement_nodes(6)
    A = model._table(model._nodes, X)
    ridge = np.diag(model._ridge(model._table(model._nodes, X[:250])))
    # The ridge depends on the data present when nodes are added; the last nodes see all data.
    ridge[-6:, -6:] = np.diag(model._ridge(A)[-6:])
    rows = np.vstack([ridge, A])
    target = np.concatenate([np.zeros(model.basis_.size), y - model.intercept_])
    scratch = np.linalg.lstsq(rows, target, rcond=None)[0]
    np.testing.assert_allclose(model.predict(X), model.intercept_ + A @ scratch, rtol=0, atol=1e-10)
    assert np.abs(model.predict(X) - y).max() < 0.5 * np.abs(first - y).max()
    assert model.basis_.added == ((8, 0), (0, 6))
    refitted = model.fit(X[:250], y[:250])
    np.testing.assert_allclose(refitted.predict(X), first, rtol=0, atol=0)


def test_several_outputs() -> None:
    X, y = data(300)
    model = pibls.BroadRegressor(random_state=0).fit(X, np.column_stack([y, -y]))
    np.testing.assert_allclose(model.predict(X)[:, 1], -model.predict(X)[:, 0], atol=1e-9)
    with pytest.raises(pibls.ProblemError, match=r"(?s)partial_fit\(y\).*as many outputs"):
        model.partial_fit(X, y)


@pytest.mark.parametrize(("alpha", "nodes"), [(0.0, 5), (1e-8, 0)])
def test_invalid_numbers_are_rejected(alpha: float, nodes: int) -> None:
    X, y = data(50)
    model = pibls.BroadRegressor(alpha=alpha)
    with pytest.raises(pibls.ProblemError, match=r"BroadRegressor\(alpha\)|add_feature_nodes\(nodes\)"):
        model.fit(X, y).add_feature_nodes(nodes)


def test_scikit_learn_is_imported_lazily() -> None:
    code = "import sys, pibls; pibls.Broad; assert 'sklearn' not in sys.modules; pibls.BroadRegressor"
    subprocess.run([sys.executable, "-c", code], check=True)

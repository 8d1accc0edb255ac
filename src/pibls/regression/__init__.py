"""Regression with a broad basis, with the interface of scikit-learn."""

from pibls.regression.regressor import BroadRegressor

__all__ = ["BroadRegressor"]

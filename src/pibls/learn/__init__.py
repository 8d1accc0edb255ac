"""The broad basis for plain regression, with the interface of scikit-learn."""

from pibls.learn.regressor import BroadRegressor

__all__ = ["BroadRegressor"]

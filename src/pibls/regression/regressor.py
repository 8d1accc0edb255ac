r"""Ridge regression with a broad basis, y ≈ ȳ + A W with A = [Z | H].

The weights minimize ‖A W - (y - ȳ)‖² + Σⱼ λⱼ²Wⱼ², λⱼ = α‖aⱼ‖ for the columns aⱼ of A. Samples and nodes can
be added later, by an update of the QR factors.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array, Indices
from pibls.basis import Broad, BroadBasis, GrownBroad, added_nodes
from pibls.errors import ProblemError
from pibls.linalg.updated_qr import UpdatedQR

try:
    from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import check_random_state
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as reason:  # pragma: no cover - the package is there where the tests run
    raise ImportError(
        "pibls.BroadRegressor needs scikit-learn 1.6 or later. Install it with: pip install 'pibls[learn]'"
    ) from reason


class BroadRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Regression with a broad basis: random feature and enhancement nodes, output weights by least squares.

    Parameters
    ----------
    feature_groups, feature_nodes
        n groups of k feature nodes, functions of the inputs.
    enhancement_groups, enhancement_nodes
        m groups of q enhancement nodes, functions of all feature nodes; both 0 for features alone.
    scale
        R: weights and biases are uniform in (-R, R), for inputs mapped from their range in `fit` to [-1, 1].
    activation, enhancement_activation
        φ and ξ by name; ξ = φ by default.
    whiten, sparse
        Orthonormal enhancement weights; sparse-autoencoder refinement of the feature weights.
    alpha
        α = λⱼ/‖aⱼ‖, the ridge relative to the norm of each column of [Z | H]; 1e-8 is close to ordinary least
        squares.
    random_state
        A seed, a `numpy.random.RandomState`, or None.

    Attributes
    ----------
    basis_ : GrownBroad
        The specification of the basis, including added nodes.
    W_out_ : array (nodes,) or (nodes, outputs)
        Output weights.
    intercept_ : float or array (outputs,)
        ȳ, the mean of the targets of `fit`.
    n_features_in_ : int
        The number of inputs.

    >>> import numpy as np, pibls
    >>> X = np.linspace(-1.0, 1.0, 200)[:, None]
    >>> model = pibls.BroadRegressor(random_state=0).fit(X, np.sin(3.0 * X[:, 0]))
    >>> bool(abs(model.predict([[0.25]])[0] - np.sin(0.75)) < 1e-5)
    True
    """

    basis_: GrownBroad
    W_out_: Array
    intercept_: Any
    _rng: np.random.Generator
    _nodes: BroadBasis
    _factors: UpdatedQR
    _inputs: Array
    _targets: Array
    _order: Indices

    def __init__(
        self,
        feature_groups: int = 10,
        feature_nodes: int = 10,
        enhancement_groups: int = 1,
        enhancement_nodes: int = 50,
        *,
        scale: float = 1.0,
        activation: str = "tanh",
        enhancement_activation: str | None = None,
        whiten: bool = True,
        sparse: bool = False,
        alpha: float = 1e-8,
        random_state: Any = None,
    ) -> None:
        self.feature_groups = feature_groups
        self.feature_nodes = feature_nodes
        self.enhancement_groups = enhancement_groups
        self.enhancement_nodes = enhancement_nodes
        self.scale = scale
        self.activation = activation
        self.enhancement_activation = enhancement_activation
        self.whiten = whiten
        self.sparse = sparse
        self.alpha = alpha
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Draw the nodes and solve for the output weights.

        X (samples, inputs), y (samples,) or (samples, outputs).
        """
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        y = np.asarray(y, dtype=float)
        if isinstance(self.alpha, bool) or not isinstance(self.alpha, Real) or not self.alpha > 0:
            raise ProblemError(
                "BroadRegressor(alpha)",
                expected="a positive number",
                got=repr(self.alpha),
                remedy="Leave alpha out to use the default, 1e-8.",
            )
        state = check_random_state(self.random_state)
        self._rng = np.random.default_rng(state.randint(np.iinfo(np.int32).max, size=4))
        self.basis_ = GrownBroad(
            Broad(
                self.feature_groups,
                self.feature_nodes,
                self.enhancement_groups,
                self.enhancement_nodes,
                scale=self.scale,
                activation=self.activation,
                enhancement_activation=self.enhancement_activation,
                whiten=self.whiten,
                sparse=self.sparse,
            )
        )
        self._nodes = self.basis_.base.draw(_box(X), self._rng)
        A = self._table(self._nodes, X)
        self._factors = UpdatedQR.of(A, self._ridge(A))
        self.intercept_ = y.mean(axis=0)
        self._inputs, self._targets = X, y - self.intercept_
        self._order = np.arange(self._nodes.size)
        return self._solved()

    def partial_fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Add data: the nodes, the input range and the intercept do not change, the factors are updated."""
        try:
            check_is_fitted(self, "W_out_")
        except NotFittedError:
            return self.fit(X, y)
        inputs, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, reset=False
        )
        y = np.asarray(y, dtype=float)
        if y.shape[1:] != self._targets.shape[1:]:
            raise ProblemError(
                "partial_fit(y)",
                expected=f"targets of the shape (samples, {', '.join(map(str, self._targets.shape[1:]))})",
                got=f"an array {y.shape}",
                remedy="Pass as many outputs as in fit.",
            )
        places = np.argsort(self._order)
        self._factors = self._factors.with_rows(np.take(self._table(self._nodes, inputs), places, axis=1))
        self._inputs = np.concatenate([self._inputs, inputs])
        self._targets = np.concatenate([self._targets, y - self.intercept_])
        return self._solved()

    def add_feature_nodes(self, nodes: int) -> Self:
        """Add one group of feature nodes; the factors are updated."""
        return self._extended(_count(nodes, "add_feature_nodes(nodes)"), 0)

    def add_enhancement_nodes(self, nodes: int) -> Self:
        """Add one group of enhancement nodes, which depend on all present feature nodes."""
        return self._extended(0, _count(nodes, "add_enhancement_nodes(nodes)"))

    def predict(self, X: npt.ArrayLike) -> Array:
        """Return y at the inputs X (samples, inputs)."""
        check_is_fitted(self)
        inputs = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(self.intercept_ + self._table(self._nodes, inputs) @ self.W_out_)

    def _extended(self, features: int, enhancement: int) -> Self:
        check_is_fitted(self)
        basis = self.basis_.base.extended(self._nodes, features, enhancement, self._rng)
        A = self._table(added_nodes(self._nodes, basis), self._inputs)
        self._factors = self._factors.with_columns(A, self._ridge(A))
        old, nk = self._nodes.size, self._nodes.features.size
        # Columns of the factors are ordered by addition; in the basis all feature nodes come first.
        order, new = self._order, np.arange(old, basis.size)
        self._order = np.concatenate([order[:nk], new[:features], order[nk:], new[features:]])
        self._nodes = basis
        self.basis_ = GrownBroad(self.basis_.base, (*self.basis_.added, (features, enhancement)))
        return self._solved()

    def _solved(self) -> Self:
        self.W_out_ = self._factors.apply(self._targets)[self._order]
        return self

    def _ridge(self, A: Array) -> Array:
        lengths = np.sqrt(np.einsum("ij,ij->j", A, A))
        return np.asarray(self.alpha * np.where(lengths > 0, lengths, 1.0))

    def _table(self, basis: Any, X: Array) -> Array:
        found: Array = basis.jets(X, [(0,) * X.shape[1]])[0]
        return found


def _box(X: Array) -> Array:
    """Return the range of each input, (d, 2); of length 2 if an input is constant."""
    low, high = X.min(axis=0), X.max(axis=0)
    flat = ~(high > low)
    return np.column_stack([np.where(flat, low - 1.0, low), np.where(flat, high + 1.0, high)])


def _count(value: object, argument: str) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ProblemError(
            argument,
            expected="a whole number of at least 1",
            got=repr(value),
            remedy="Pass the number of nodes to add.",
        )
    return int(value)

r"""The broad basis of the paper: A = [Z | H], Z = φ(xWₑ + βₑ), H = ξ(ZWₕ + βₕ).

n groups of k feature nodes depend on the inputs; m groups of q enhancement nodes depend on all feature nodes.
Derivatives are exact: those of Z by the chain rule for a linear argument, those of H by the chain rule of any
order (`chain_rule`), where the inner derivatives are matrix products,

    ∂^β (ZWₕ + βₕ) = φ^{(|β|)}(xWₑ + βₑ) · (diag(Wₑ^β) Wₕ).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import NamedTuple

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.basis.activation import Activation, activation
from pibls.basis.chain_rule import Composition, lower_closure
from pibls.basis.checks import check_integer, check_positive_scale
from pibls.basis.layer import ActivationCache, Layer
from pibls.basis.sparse_autoencoder import refine
from pibls.errors import ProblemError

_CODING_POINTS = 256


@dataclass(frozen=True)
class Broad:
    """n×k feature nodes and m×q enhancement nodes with weights and biases uniform in (-R, R).

    Parameters
    ----------
    feature_groups, feature_nodes
        n groups of k feature nodes.
    enhancement_groups, enhancement_nodes
        m groups of q enhancement nodes; both 0 for features alone.
    scale
        R, for inputs mapped to [-1, 1] per coordinate.
    activation, enhancement_activation
        φ and ξ; ξ = φ by default.
    whiten
        Orthonormalize the columns of each enhancement weight block (the rows where it is wider
        than tall), which keeps the second layer from saturating.
    sparse
        Refine the feature weights by a sparse autoencoder (see `pibls.basis.sparse_autoencoder`).
    shared_bias
        One bias for each group instead of one for each node, as in the code of the paper's authors.

    >>> Broad(10, 10, 4, 10, scale=3.9, whiten=True).size
    140
    """

    feature_groups: int
    feature_nodes: int
    enhancement_groups: int = 0
    enhancement_nodes: int = 0
    _: KW_ONLY
    scale: float
    activation: str | Activation = "tanh"
    enhancement_activation: str | Activation | None = None
    whiten: bool = False
    sparse: bool = False
    shared_bias: bool = False

    def __post_init__(self) -> None:
        check_integer(self.feature_groups, "Broad(feature_groups)", least=1)
        check_integer(self.feature_nodes, "Broad(feature_nodes)", least=1)
        check_integer(self.enhancement_groups, "Broad(enhancement_groups)", least=0)
        check_integer(self.enhancement_nodes, "Broad(enhancement_nodes)", least=0)
        if bool(self.enhancement_groups) != bool(self.enhancement_nodes):
            raise ProblemError(
                "Broad(enhancement_groups, enhancement_nodes)",
                expected="both positive, or both 0",
                got=(self.enhancement_groups, self.enhancement_nodes),
                remedy="m groups of q nodes: give both numbers.",
            )
        check_positive_scale(self.scale, "Broad(scale)")
        activation(self.activation, "Broad(activation)")
        if self.enhancement_activation is not None:
            activation(self.enhancement_activation, "Broad(enhancement_activation)")

    @property
    def size(self) -> int:
        """n·k + m·q."""
        features = self.feature_groups * self.feature_nodes
        return features + self.enhancement_groups * self.enhancement_nodes

    def draw(self, box: Array, rng: np.random.Generator) -> BroadBasis:
        d, R = len(box), self.scale
        k, q = self.feature_nodes, self.enhancement_nodes
        phi = activation(self.activation)
        xi = phi if self.enhancement_activation is None else activation(self.enhancement_activation)
        features = self.feature_groups * k
        weights = rng.uniform(-R, R, (d, features))
        biases = self._biases(self.feature_groups, k, rng)
        inner = rng.uniform(-R, R, (features, self.enhancement_groups * q))
        offsets = self._biases(self.enhancement_groups, q, rng)
        if self.sparse:
            inputs = rng.uniform(-1.0, 1.0, (_CODING_POINTS, d))
            for g in range(self.feature_groups):
                group = slice(g * k, (g + 1) * k)
                weights[:, group], biases[group] = refine(weights[:, group], biases[group], inputs)
        if self.whiten:
            for g in range(self.enhancement_groups):
                block = slice(g * q, (g + 1) * q)
                inner[:, block] = orthonormal(inner[:, block])
        return BroadBasis(Layer.on_box(weights, biases, phi, box), inner, offsets, xi)

    def extended(
        self, basis: BroadBasis, features: int, enhancement: int, rng: np.random.Generator
    ) -> BroadBasis:
        """Return a drawn basis with a group of feature nodes and then a group of enhancement nodes added.

        New enhancement nodes depend on all feature nodes, including the new ones. Existing enhancement nodes
        do not change: their weights for new feature nodes are zero.
        """
        R, layer = self.scale, basis.features
        if features:
            weights = rng.uniform(-R, R, (len(layer.weights), features))
            biases = self._biases(1, features, rng)
            if self.sparse:
                inputs = rng.uniform(-1.0, 1.0, (_CODING_POINTS, len(weights)))
                weights, biases = refine(weights, biases, inputs)
            layer = replace(
                layer,
                weights=np.hstack([layer.weights, weights]),
                biases=np.concatenate([layer.biases, biases]),
                cache=None if layer.cache is None else ActivationCache(layer.cache.sites),
            )
        inner = np.vstack([basis.inner, np.zeros((features, basis.inner.shape[1]))])
        offsets = basis.offsets
        if enhancement:
            new = rng.uniform(-R, R, (layer.size, enhancement))
            offsets = np.concatenate([offsets, self._biases(1, enhancement, rng)])
            inner = np.hstack([inner, orthonormal(new) if self.whiten else new])
        return BroadBasis(layer, inner, offsets, basis.outer)

    def _biases(self, groups: int, nodes: int, rng: np.random.Generator) -> Array:
        if self.shared_bias:
            return np.repeat(rng.uniform(-self.scale, self.scale, groups), nodes)
        return rng.uniform(-self.scale, self.scale, groups * nodes)


def orthonormal(block: Array) -> Array:
    """Return orthonormal columns with the same span, or orthonormal rows if the block is wider than tall."""
    if block.shape[0] >= block.shape[1]:
        return np.asarray(np.linalg.qr(block)[0])
    return np.asarray(np.linalg.qr(block.T)[0].T)


class BroadWeights(NamedTuple):
    """The arrays of u = [Z | H] W_out, Z = φ(X W_e + β_e), H = ξ(Z W_h + β_h), by name.

    φ and ξ are the activations, X = (x - centre)/half the coordinates mapped to [-1, 1].
    """

    W_e: Array
    """Feature weights, (d, nk)."""
    beta_e: Array
    """Feature biases, (nk,)."""
    W_h: Array
    """Enhancement weights, (nk, mq)."""
    beta_h: Array
    """Enhancement biases, (mq,)."""
    W_out: Array
    """Output weights, (nk + mq, unknowns)."""
    centre: Array
    """The middle of the bounding box of the domain, (d,)."""
    half: Array
    """Half of its lengths, (d,)."""


def broad_weights(basis: object, W_out: Array) -> BroadWeights | None:
    """Return the arrays of a drawn broad basis with these output weights; None for any other basis."""
    if not isinstance(basis, BroadBasis):
        return None
    layer = basis.features
    return BroadWeights(
        layer.weights, layer.biases, basis.inner, basis.offsets, W_out, layer.centre, layer.half
    )


@dataclass(frozen=True)
class BroadBasis:
    """A drawn broad basis [Z | H]: the feature layer, Wₕ (nk, mq), βₕ (mq,) and ξ."""

    features: Layer
    inner: Array
    offsets: Array
    outer: Activation
    _scaled: dict[MultiIndex, Array] = field(default_factory=dict, repr=False, compare=False)

    @property
    def size(self) -> int:
        return self.features.size + len(self.offsets)

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        nk = self.features.size
        needed = lower_closure(alphas) if len(self.offsets) else list(alphas)
        phi = self.features.activations(X, map(sum, needed))
        enhanced = self._compose(phi, needed) if len(self.offsets) else None
        out = []
        for alpha in alphas:
            A = np.empty((len(X), self.size), order="F")
            np.multiply(phi[sum(alpha)], self.features.weight_power(alpha), out=A[:, :nk])
            if enhanced is not None:
                A[:, nk:] = enhanced.derivative(alpha)
            out.append(A)
        return out

    def caching_at(self, sites: Sequence[Array]) -> BroadBasis:
        """Return the same basis with a cache of the values of its feature nodes at these points."""
        return replace(self, features=self.features.caching_at(sites))

    def enhancement(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        """Return ∂^α H, (N, mq), for each α."""
        needed = lower_closure(alphas)
        enhanced = self._compose(self.features.activations(X, map(sum, needed)), needed)
        return [enhanced.derivative(alpha) for alpha in alphas]

    def _weights(self, beta: MultiIndex) -> Array:
        """(diag(Wₑ^β) Wₕ)ᵀ, cached because points come in many small slices."""
        if beta not in self._scaled:
            self._scaled[beta] = np.ascontiguousarray(
                (self.features.weight_power(beta)[:, None] * self.inner).T
            )
        return self._scaled[beta]

    def _compose(self, phi: dict[int, Array], needed: list[MultiIndex]) -> Composition:
        inner = {beta: (self._weights(beta) @ phi[sum(beta)].T).T for beta in needed}
        zero = needed[0]
        g = inner.pop(zero)
        g += self.offsets
        orders = range(max(map(sum, needed)) + 1)
        outer = dict(zip(orders, self.outer.derivatives(g, orders), strict=True))
        return Composition(outer, inner)

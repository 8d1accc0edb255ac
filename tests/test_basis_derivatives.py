"""Derivatives of every basis, up to order 6 in up to 3 dimensions, against 50 digits; random weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import sympy as sp

import pibls
from pibls.arrays import Array, MultiIndex
from pibls.assembly.points import place
from pibls.assembly.system import assemble
from pibls.basis import Basis, Broad, Features
from pibls.basis.activation import ACTIVATIONS, Activation, activation
from pibls.basis.broad import BroadBasis, orthonormal
from pibls.basis.layer import Layer
from pibls.basis.sparse_autoencoder import lasso, refine
from pibls.problem.forms.compilation import compile_problem
from pibls.spaces import SingleDomainSpace
from tests.taylor_series import Series, add, affine, compose, derivative, indices, mp

ORDER = 6
TOLERANCE = 1e-11
# Bounds whose midpoints and half lengths are exact in binary.
BOX = np.array([[-1.0, 2.0], [0.0, 0.5], [3.0, 7.0]])


def points(d: int) -> Array:
    U = np.array([[0.19, 0.83, 0.41], [0.96, 0.07, 0.62]])[:, :d]
    return np.asarray(BOX[:d, 0] + U * (BOX[:d, 1] - BOX[:d, 0]))


def exact_features(layer: Layer, name: str, x: Array, box: Array) -> list[Series]:
    """The series of φ(w·ξ + b), ξ = (x - midpoint)/half, around the point x, one per node."""
    out = []
    for j in range(layer.size):
        constant, slopes = mp.mpf(float(layer.biases[j])), []
        for i, (low, high) in enumerate(box.tolist()):
            half = (mp.mpf(high) - mp.mpf(low)) / 2
            w = mp.mpf(float(layer.weights[i, j]))
            constant += w * (mp.mpf(float(x[i])) - mp.mpf(low) - half) / half
            slopes.append(w / half)
        out.append(compose(name, affine(constant, slopes), ORDER))
    return out


def exact_enhancements(basis: BroadBasis, name: str, features: list[Series]) -> list[Series]:
    """The series of ξ(Σ z_i W_ij + β_j), one per node."""
    zero = (0,) * basis.features.weights.shape[0]
    out = []
    for j, offset in enumerate(basis.offsets):
        terms = [(mp.mpf(float(w)), z) for w, z in zip(basis.inner[:, j], features, strict=True)]
        g = add([*terms, (mp.mpf(float(offset)), {zero: mp.one})])
        out.append(compose(name, g, ORDER))
    return out


def errors(got: list[Array], expected: list[list[Series]], alphas: list[MultiIndex]) -> tuple[float, float]:
    """The largest error relative to the value itself, and relative to the largest value of its derivative."""
    pointwise = normwise = 0.0
    for A, alpha in zip(got, alphas, strict=True):
        exact = np.array([[float(derivative(s, alpha)) for s in row] for row in expected])
        error = np.abs(A - exact)
        pointwise = max(pointwise, float((error / np.abs(exact)).max()))
        normwise = max(normwise, float(error.max() / np.abs(exact).max()))
    return pointwise, normwise


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_broad_derivatives_agree_with_fifty_digits(name: str, d: int) -> None:
    """Feature and enhancement nodes of one draw, every multi-index at once."""
    box, X, alphas = BOX[:d], points(d), indices(d, ORDER)
    basis = Broad(2, 2, 1, 3, scale=1.5, activation=name).draw(box, np.random.default_rng(d))
    nk = basis.features.size
    features = [exact_features(basis.features, name, x, box) for x in X]
    enhancements = [exact_enhancements(basis, name, z) for z in features]
    got = basis.jets(X, alphas)
    assert len(got) == len(alphas)
    assert errors([A[:, :nk] for A in got], features, alphas)[0] < TOLERANCE
    assert errors([A[:, nk:] for A in got], enhancements, alphas)[0] < TOLERANCE


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_feature_derivatives_agree_with_fifty_digits(name: str, d: int) -> None:
    box, X, alphas = BOX[:d], points(d), indices(d, ORDER)
    basis = Features(5, scale=4.0, activation=name).draw(box, np.random.default_rng(d))
    expected = [exact_features(basis.layer, name, x, box) for x in X]
    assert errors(basis.jets(X, alphas), expected, alphas)[0] < TOLERANCE


@pytest.mark.parametrize(("d", "scale"), [(1, 15.1), (2, 3.3), (3, 2.0)])
@pytest.mark.parametrize(("phi", "xi"), [("tanh", "sin"), ("sin", "gaussian"), ("swish", "tanh")])
def test_mixed_activations_at_published_scales(phi: str, xi: str, d: int, scale: float) -> None:
    """φ ≠ ξ, weights as large as the paper's, several seeds.

    Among so many values some lie next to a zero of their derivative, where no relative error is small;
    so errors are relative to the largest value of each derivative.
    """
    box, X, alphas = BOX[:d], points(d)[:1], indices(d, ORDER)
    spec = Broad(3, 2, 2, 2, scale=scale, activation=phi, enhancement_activation=xi, whiten=True)
    for seed in range(3):
        basis = spec.draw(box, np.random.default_rng(seed))
        nk = basis.features.size
        features = [exact_features(basis.features, phi, x, box) for x in X]
        expected = [exact_enhancements(basis, xi, z) for z in features]
        assert errors([A[:, nk:] for A in basis.jets(X, alphas)], expected, alphas)[1] < TOLERANCE


def specs(which: str | Activation) -> list[Broad | Features]:
    """Return one of each kind of basis with that activation."""
    return [
        Broad(2, 3, 2, 2, scale=2.0, activation=which),
        Broad(2, 3, scale=2.0, activation=which),
        Features(7, scale=3.0, activation=which),
    ]


def draw(spec: Broad | Features, d: int, seed: int = 0) -> Basis:
    return spec.draw(BOX[:d], np.random.default_rng(seed))


@pytest.mark.parametrize("spec", specs("tanh"), ids=lambda s: type(s).__name__)
def test_derivatives_do_not_depend_on_other_requested_derivatives(spec: Broad | Features) -> None:
    basis, X, alphas = draw(spec, 2), points(2), [(2, 1), (0, 0), (0, 3), (2, 1), (1, 0)]
    together = basis.jets(X, alphas)
    for A, alpha in zip(together, alphas, strict=True):
        np.testing.assert_allclose(A, basis.jets(X, [alpha])[0], rtol=1e-14, atol=0.0)


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_derivatives_are_fortran_ordered(name: str) -> None:
    X = np.random.default_rng(0).uniform(BOX[:2, 0], BOX[:2, 1], (11, 2))
    for spec in specs(name):
        for A in draw(spec, 2).jets(X, indices(2, 3)):
            assert A.shape == (11, spec.size)
            assert A.dtype == np.float64
            assert A.flags.f_contiguous
            assert not A.flags.c_contiguous


@dataclass
class CountingActivation:
    """Wrapper of an activation that records its evaluations: (order, number of points)."""

    inner: Activation
    calls: list[tuple[int, int]] = field(default_factory=list)
    name: str = "counting"

    def derivatives(self, s: Array, orders: Sequence[int]) -> list[Array]:
        self.calls += [(k, len(s)) for k in orders]
        return self.inner.derivatives(s, orders)


def test_each_activation_derivative_is_computed_once() -> None:
    """84 derivatives up to order 6 need φ and ξ of the orders 0 to 6: each once, on all points."""
    phi, xi = CountingActivation(ACTIVATIONS["tanh"]), CountingActivation(ACTIVATIONS["sin"])
    X, alphas = points(3), indices(3, ORDER)
    draw(Broad(2, 2, 2, 2, scale=1.0, activation=phi, enhancement_activation=xi), 3).jets(X, alphas)
    for counted in (phi, xi):
        assert sorted(counted.calls) == [(k, len(X)) for k in range(ORDER + 1)]
    single = CountingActivation(ACTIVATIONS["tanh"])
    draw(Features(5, scale=1.0, activation=single), 3).jets(X, alphas)
    assert sorted(single.calls) == [(k, len(X)) for k in range(ORDER + 1)]


def test_features_compute_only_needed_orders() -> None:
    single = CountingActivation(ACTIVATIONS["tanh"])
    draw(Features(5, scale=1.0, activation=single), 2).jets(points(2), [(2, 0), (0, 2), (4, 0)])
    assert sorted(single.calls) == [(2, 2), (4, 2)]


def test_system_computes_each_derivative_once_per_point() -> None:
    """Two unknowns, several derivatives, one set of points: σ⁽ᵏ⁾ is evaluated once at each point."""
    x, y = sp.symbols("x y")
    u, v = (sp.Function(name)(x, y) for name in "uv")
    problem = pibls.Problem(
        pibls.Box({x: (0, 1), y: (0, 1)}),
        [u.diff(x, 2) + u.diff(y, 2) + u * v, v.diff(x, 2) + v.diff(y, 2) - u],
        [pibls.Dirichlet(u, 0), pibls.Dirichlet(v, 1)],
    )
    phi = CountingActivation(activation("tanh"))
    compiled = compile_problem(problem)
    placed = place(compiled, problem.domain, pibls.Points(300, 40), np.random.default_rng(0))
    basis = Broad(10, 10, 5, 5, scale=1.0, activation=phi, enhancement_activation="sin")
    drawn = basis.draw(np.array([[0.0, 1.0], [0.0, 1.0]]), np.random.default_rng(0))
    assemble(compiled, placed, SingleDomainSpace.shared(drawn, 2))
    evaluations = {k: sum(n for order, n in phi.calls if order == k) for k in range(3)}
    # The orders 1 and 2 occur only in the equations; order 0 also in the conditions.
    assert len(placed) == 2
    assert evaluations == {0: sum(map(len, placed.values())), 1: 300, 2: 300}


BLOCKS = [(3, 4, 5), (2, 3, 9), (4, 1, 4)]
"""Groups and nodes of features, nodes of an enhancement block: tall, wide, square."""


@pytest.mark.parametrize(("n", "k", "q"), BLOCKS)
def test_whitened_blocks_are_orthonormal(n: int, k: int, q: int) -> None:
    """Columns, or rows if the block is wider than tall; the span is that of the random block."""
    plain = Broad(n, k, 3, q, scale=5.0).draw(BOX, np.random.default_rng(3))
    white = Broad(n, k, 3, q, scale=5.0, whiten=True).draw(BOX, np.random.default_rng(3))
    for g in range(3):
        P, Q = (b.inner[:, g * q : (g + 1) * q] for b in (plain, white))
        wide = q > n * k
        gram = Q @ Q.T if wide else Q.T @ Q
        np.testing.assert_allclose(gram, np.eye(min(n * k, q)), atol=1e-14)
        # Projecting the random block onto the span of the whitened one does not change it.
        np.testing.assert_allclose(P @ Q.T @ Q if wide else Q @ Q.T @ P, P, atol=1e-13)
    np.testing.assert_array_equal(plain.features.weights, white.features.weights)
    np.testing.assert_array_equal(plain.offsets, white.offsets)


def test_orthonormal() -> None:
    tall = np.random.default_rng(0).uniform(-1, 1, (6, 2))
    np.testing.assert_allclose(orthonormal(tall).T @ orthonormal(tall), np.eye(2), atol=1e-15)
    np.testing.assert_allclose(orthonormal(tall.T) @ orthonormal(tall.T).T, np.eye(2), atol=1e-15)


def refined(seed: int, **settings: Any) -> tuple[Array, Array]:
    """[W; β] of the features (d+1, n·k), and the inner weights."""
    basis = Broad(4, 6, 2, 3, scale=2.5, **settings).draw(BOX[:2], np.random.default_rng(seed))
    return np.vstack([basis.features.weights, basis.features.biases]), basis.inner


@pytest.mark.parametrize("seed", range(4))
def test_sparse_refinement_keeps_the_range_of_feature_weights(seed: int) -> None:
    plain, inner = refined(seed)
    sparse, same = refined(seed, sparse=True)
    np.testing.assert_array_equal(inner, same)
    for g in range(4):
        before, after = plain[:, 6 * g : 6 * g + 6], sparse[:, 6 * g : 6 * g + 6]
        assert np.abs(after - before).max() > 0.1
        assert np.abs(after).max() == pytest.approx(np.abs(before).max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_strong_penalty_zeroes_weights_but_no_node(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some weights become zero; a node that would lose all its weights keeps the random ones."""
    monkeypatch.setattr("pibls.basis.sparse_autoencoder._PENALTY", 1.0)
    plain, sparse = refined(seed)[0], refined(seed, sparse=True)[0]
    assert np.mean(sparse == 0.0) > 0.1
    assert not (plain == 0.0).any()
    assert sparse[:-1].any(axis=0).all()
    kept = (sparse == plain).all(axis=0)
    assert kept.any()
    assert not kept.all()


@pytest.mark.parametrize("seed", range(4))
def test_refined_weights_are_a_decoder(seed: int) -> None:
    """X̃ ≈ Z V: the transposed refined weights reconstruct the inputs from the random features."""
    rng = np.random.default_rng(seed)
    W, b = rng.uniform(-2, 2, (2, 6)), rng.uniform(-2, 2, 6)
    inputs = rng.uniform(-1, 1, (256, 2))
    X = np.column_stack([inputs, np.ones(256)])
    Z = X @ np.vstack([W, b])
    Z /= np.linalg.norm(Z, axis=0)
    found = np.vstack(refine(W, b, inputs)).T
    back = Z @ found
    factor = np.sum(back * X) / np.sum(back * back)
    assert np.abs(factor * back - X).max() < 1e-2


def test_sparse_is_deterministic() -> None:
    np.testing.assert_array_equal(refined(7, sparse=True)[0], refined(7, sparse=True)[0])
    assert not np.array_equal(refined(7, sparse=True)[0], refined(8, sparse=True)[0])


@pytest.mark.parametrize("penalty", [0.05, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_lasso_meets_its_optimality_conditions(seed: int, penalty: float) -> None:
    """Aᵀ(B - AV) is λ sign V where V ≠ 0 and at most λ elsewhere: zero is a subgradient."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((30, 8))
    A /= np.linalg.norm(A, axis=0)
    B = rng.standard_normal((30, 3))
    V = lasso(A, B, penalty, steps=400)
    slope = A.T @ (B - A @ V)
    on = V != 0.0
    np.testing.assert_allclose(slope[on], penalty * np.sign(V[on]), atol=1e-8)
    assert np.abs(slope[~on]).max(initial=0.0) <= penalty + 1e-8
    assert on.any() or penalty >= np.abs(A.T @ B).max()
    if penalty == 0.5:
        assert on.any()
        assert not on.all()


def test_lasso_is_near_its_optimum_after_the_default_steps() -> None:
    rng = np.random.default_rng(0)
    A = rng.standard_normal((50, 8))
    A /= np.linalg.norm(A, axis=0)
    B = rng.standard_normal((50, 3))

    def objective(V: Array) -> float:
        return float(0.5 * np.sum((A @ V - B) ** 2) + 0.1 * np.abs(V).sum())

    best = objective(lasso(A, B, 0.1, steps=2000))
    assert objective(lasso(A, B, 0.1)) == pytest.approx(best, rel=1e-9)
    assert objective(np.zeros((8, 3))) > 1.01 * best


DRAWS = [Broad(3, 4, 2, 3, scale=2.0), Broad(3, 4, 2, 3, scale=2.0, whiten=True), Features(9, scale=4.0)]


@pytest.mark.parametrize("spec", DRAWS, ids=str)
def test_same_seed_same_draw(spec: Broad | Features) -> None:
    X, alphas = points(2), indices(2, 2)
    first, repeated, other = (draw(spec, 2, seed).jets(X, alphas) for seed in (5, 5, 6))
    for A, B, C in zip(first, repeated, other, strict=True):
        np.testing.assert_array_equal(A, B)
        assert np.abs(A - C).max() > 1e-3


@pytest.mark.parametrize("scale", [0.5, 15.1])
def test_broad_weights_fill_their_range(scale: float) -> None:
    """Uniform in (-R, R): within it, and with the variance R²/3."""
    basis = Broad(20, 20, 20, 20, scale=scale).draw(BOX, np.random.default_rng(0))
    for values in (basis.features.weights, basis.features.biases, basis.inner, basis.offsets):
        assert np.abs(values).max() < scale
        assert np.abs(values).max() > 0.98 * scale
        assert np.mean(values**2) == pytest.approx(scale**2 / 3, rel=0.1)
        assert abs(values.mean()) < 0.1 * scale


@pytest.mark.parametrize("d", [1, 2, 3])
def test_feature_weights_fill_a_ball(d: int) -> None:
    """|w|^d is uniform in (0, R^d), so its mean is R^d/2."""
    basis = Features(4000, scale=3.0, activation="tanh").draw(BOX[:d], np.random.default_rng(0))
    radius = np.linalg.norm(basis.layer.weights, axis=0)
    assert radius.max() <= 3.0
    assert np.mean(radius**d) == pytest.approx(3.0**d / 2, rel=0.05)
    # The ridge w·ξ + b = 0 of every node meets a box 1.1 times the domain: max |w·ξ| there ≥ |b|.
    assert (np.abs(basis.layer.biases) <= 1.1 * np.abs(basis.layer.weights).sum(axis=0)).all()

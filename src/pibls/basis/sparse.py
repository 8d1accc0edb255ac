r"""min_V ½‖Z V - X̃‖² + λ‖V‖₁: the sparse autoencoder that may refine feature weights.

The formulation of the original broad learning system: a group of random features is read as the
code Z = X̃ W of the inputs X̃ = [x, 1] (before the activation, its columns scaled to unit length);
the sparse decoder V (k, d+1) that brings the inputs back is found by ADMM, and its transpose replaces
the random weights, W ← Vᵀ. Since Vᵀ comes out small, each group is scaled back to the largest entry
it had, so that ``scale`` keeps its meaning.
"""

from __future__ import annotations

import numpy as np

from pibls.arrays import Array

_PENALTY = 1e-3
_STEPS = 50


def refine(weights: Array, biases: Array, inputs: Array) -> tuple[Array, Array]:
    """Refined weights (d, k) and biases (k,) of one group; ``inputs`` (N, d) lie in [-1, 1]^d."""
    X = np.column_stack([inputs, np.ones(len(inputs))])
    random = np.vstack([weights, biases])
    Z = X @ random
    Z /= np.linalg.norm(Z, axis=0)
    decoder = lasso(Z, X, _PENALTY)
    refined = decoder.T
    refined *= np.abs(random).max() / max(np.abs(refined).max(), np.finfo(float).tiny)
    # A node whose weights all vanished is a constant: it keeps its random weights.
    dead = ~refined[:-1].any(axis=0)
    refined[:, dead] = random[:, dead]
    return refined[:-1], refined[-1]


def lasso(A: Array, B: Array, penalty: float, steps: int = _STEPS) -> Array:
    """argmin_V ½‖A V - B‖² + penalty·‖V‖₁ by ADMM with ρ = 1."""
    gram = A.T @ A + np.eye(A.shape[1])
    target = A.T @ B
    V = np.zeros_like(target)
    dual = np.zeros_like(target)
    for _ in range(steps):
        smooth = np.linalg.solve(gram, target + V - dual)
        V = np.sign(smooth + dual) * np.maximum(np.abs(smooth + dual) - penalty, 0.0)
        dual += smooth - V
    return V

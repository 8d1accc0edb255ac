r"""min ‖b - A z‖ over z in span{b, A b, A² b, …}: GMRES, for an operator that is nearly the identity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.deadline import go_on


@dataclass(frozen=True)
class Krylov:
    """What was found, what is left of b, and in how many steps."""

    z: Array
    left: float
    """‖b - A z‖ / ‖b‖."""
    steps: int


def gmres(
    A: Callable[[Array], Array],
    b: Array,
    *,
    left: float,
    most: int,
    patience: int = 30,
) -> Krylov:
    """Steps until ‖b - A z‖ ≤ ``left`` ‖b‖, at most ``most``.

    It is given up where ``patience`` steps leave more than half of what was there.
    """
    size = float(np.linalg.norm(b))
    if size == 0.0 or not np.isfinite(size):
        return Krylov(np.zeros_like(b), 0.0 if size == 0.0 else np.inf, 0)
    V = np.empty((most + 1, b.size))
    V[0] = b.ravel() / size
    H = np.zeros((most + 1, most))
    rotations: list[tuple[float, float]] = []
    g = np.zeros(most + 1)
    g[0] = size
    history = [1.0]
    k = 0
    while k < most:
        go_on(__name__)
        w = A(V[k].reshape(b.shape)).ravel()
        for _ in (0, 1):  # twice is enough
            h = V[: k + 1] @ w
            H[: k + 1, k] += h
            w = w - h @ V[: k + 1]
        norm = float(np.linalg.norm(w))
        H[k + 1, k] = norm
        for j, (c, s) in enumerate(rotations):
            H[j, k], H[j + 1, k] = c * H[j, k] + s * H[j + 1, k], -s * H[j, k] + c * H[j + 1, k]
        r = float(np.hypot(H[k, k], H[k + 1, k]))
        if not np.isfinite(r) or r == 0.0:
            break
        c, s = H[k, k] / r, H[k + 1, k] / r
        rotations.append((c, s))
        H[k, k], H[k + 1, k] = r, 0.0
        g[k], g[k + 1] = c * g[k], -s * g[k]
        k += 1
        history.append(abs(g[k]) / size)
        lost = k >= patience and history[k] > 0.5 * history[k - patience]
        if history[k] <= left or lost or norm <= 1e-15 * r:
            break
        V[k] = w / norm
    y = np.linalg.solve(np.triu(H[:k, :k]), g[:k]) if k else np.empty(0)
    return Krylov((y @ V[:k]).reshape(b.shape), history[-1], k)

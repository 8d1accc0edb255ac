r"""GMRES without restarts: min ‖b - A z‖ over z in span{b, A b, A² b, …}, for a preconditioned operator A.

The operator is a function z ↦ A z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.runtime.deadline import check_deadline


@dataclass(frozen=True)
class GMRESResult:
    """The approximate solution, its relative residual and the number of steps."""

    z: Array
    relative_residual: float
    """‖b - A z‖ / ‖b‖."""
    steps: int


def gmres(
    A: Callable[[Array], Array],
    b: Array,
    *,
    rtol: float,
    max_steps: int,
    stall_steps: int = 30,
) -> GMRESResult:
    """Iterate until ‖b - A z‖ ≤ ``rtol`` ‖b‖, at most ``max_steps`` steps.

    It stops early if ``stall_steps`` steps do not halve the residual.
    """
    size = float(np.linalg.norm(b))
    if size == 0.0 or not np.isfinite(size):
        return GMRESResult(np.zeros_like(b), 0.0 if size == 0.0 else np.inf, 0)
    V = np.empty((max_steps + 1, b.size))
    V[0] = b.ravel() / size
    H = np.zeros((max_steps + 1, max_steps))
    rotations: list[tuple[float, float]] = []
    g = np.zeros(max_steps + 1)
    g[0] = size
    history = [1.0]
    k = 0
    while k < max_steps:
        check_deadline(__name__)
        w, H[: k + 1, k] = _orthogonalized(A(V[k].reshape(b.shape)).ravel(), V[: k + 1])
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
        if history[k] <= rtol or _has_stalled(history, stall_steps) or norm <= 1e-15 * r:
            break
        V[k] = w / norm
    y = np.linalg.solve(np.triu(H[:k, :k]), g[:k]) if k else np.empty(0)
    return GMRESResult((y @ V[:k]).reshape(b.shape), history[-1], k)


def _has_stalled(history: list[float], steps: int) -> bool:
    """Whether the last ``steps`` steps did not halve the residual."""
    return len(history) > steps and history[-1] > 0.5 * history[-1 - steps]


def _orthogonalized(w: Array, V: Array) -> tuple[Array, Array]:
    """Return w - h V orthogonal to the rows of V, and h; one reorthogonalization is enough."""
    h = V @ w
    w = w - h @ V
    again = V @ w
    return w - again @ V, h + again

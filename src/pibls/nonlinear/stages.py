r"""u'(τ_i) = Σⱼ D_ij u(τ_j) + d_i u(0): a polynomial in time over one window, held at the nodes of Radau.

The equations hold at s moments of a window, of which the last is its end. Collocation at these moments is
accurate to the order 2s - 1 at the end, damps what is too quick for the window, and holds equations without
a rate (a pressure) at every moment. Higher rates are powers of D. Its eigenvectors part the moments from
each other: one system for each of them instead of a single one that is s times as large.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex
from pibls.basis.polynomials.nodes import jacobi


@dataclass(frozen=True)
class Stages:
    """The moments of a window of length one."""

    nodes: Array
    derivative: Array = field(repr=False)
    start: Array = field(repr=False)
    """d: what the value at the beginning adds to each rate."""
    values: Complex = field(repr=False)
    """Eigenvalues of D, of each pair the upper one."""
    vectors: Complex = field(repr=False)
    inverse: Complex = field(repr=False)
    """Rows of V⁻¹ for these."""
    series: Array = field(repr=False)
    """From values at 0 and at the nodes to coefficients of P₀, …, P_s over the window."""
    bare: Array = field(repr=False)
    """From values at the nodes alone to those coefficients: of what has no rate."""

    @property
    def count(self) -> int:
        return len(self.nodes)

    def rates(self, U: Array, beginning: Any, highest: int, h: float) -> list[Array]:
        """∂_t^a of functions (…, s), a = 0, …, ``highest``; ``beginning[a]`` are those at the start."""
        out = [U]
        for a in range(highest):
            out.append((out[-1] @ self.derivative.T + beginning[a][..., None] * self.start) / h)
        return out

    def apart(self, R: Array) -> Complex:
        """Values at the nodes (…, s) ↦ those of the eigenvectors, of each pair one."""
        return np.asarray(R @ self.inverse.T)

    def together(self, Z: Complex) -> Array:
        """Back again: of each pair the other is the conjugate."""
        twice = np.where(np.abs(self.values.imag) > 0, 2.0, 1.0)
        return np.ascontiguousarray(((Z * twice) @ self.vectors.T).real)


@lru_cache(maxsize=32)
def stages(s: int) -> Stages:
    """Radau's s nodes, with the end of the window among them."""
    nodes = 0.5 * (np.append(jacobi(s - 1, 1, 0), 1.0) + 1.0)
    every = np.concatenate([[0.0], nodes])
    gaps = every[:, None] - every[None, :] + np.eye(s + 1)
    weights = 1.0 / np.prod(gaps, axis=1)
    D = (weights[None, :] / weights[:, None]) / gaps
    np.fill_diagonal(D, 0.0)
    np.fill_diagonal(D, -D.sum(axis=1))
    inside = D[1:, 1:]
    values, vectors = np.linalg.eig(inside)
    inverse = np.linalg.inv(vectors)
    keep = values.imag > -1e-9 * np.abs(values)
    values = np.where(np.abs(values.imag) < 1e-9 * np.abs(values), values.real, values)
    series = np.asarray(np.linalg.inv(np.polynomial.legendre.legvander(2.0 * every - 1.0, s)), dtype=float)
    bare = np.zeros((s + 1, s))
    bare[:s] = np.linalg.inv(np.polynomial.legendre.legvander(2.0 * nodes - 1.0, s - 1))
    return Stages(
        nodes, inside, D[1:, 0], values[keep].astype(complex), vectors[:, keep], inverse[keep], series, bare
    )

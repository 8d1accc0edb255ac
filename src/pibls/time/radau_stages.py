r"""Radau IIA collocation on a time window of length one: u'(τ_i) = Σⱼ D_ij u(τ_j) + d_i u(0).

The equations are collocated at s times of a window, the last of which is its end. The method has order 2s - 1
at the end, damps components too fast for the window, and imposes equations without a time derivative (for a
pressure) at every stage. Higher time derivatives are powers of D. Its eigenvectors decouple the stages: s
systems instead of a single system that is s times as large.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex
from pibls.basis.polynomials.quadrature import jacobi_nodes


@dataclass(frozen=True)
class RadauStages:
    """Matrices of the s-stage Radau IIA method on a window of length one."""

    nodes: Array
    derivative: Array = field(repr=False)
    start_weights: Array = field(repr=False)
    """d: the weight of the initial value in the time derivative at each stage."""
    eigenvalues: Complex = field(repr=False)
    """Eigenvalues of D; of each complex-conjugate pair the one with positive imaginary part."""
    eigenvectors: Complex = field(repr=False)
    inverse_eigenvectors: Complex = field(repr=False)
    """Rows of V⁻¹ for these eigenvalues."""
    series: Array = field(repr=False)
    """Matrix from values at 0 and at the nodes to coefficients of P₀, …, P_s over the window."""
    series_without_start: Array = field(repr=False)
    """Matrix from values at the nodes alone to these coefficients, for unknowns without a time derivative."""

    @property
    def count(self) -> int:
        return len(self.nodes)

    def time_derivatives(self, U: Array, start_derivatives: Any, highest: int, h: float) -> list[Array]:
        """∂_t^a of functions (…, s), a = 0, …, ``highest``; ``beginning[a]`` are those at the start."""
        out = [U]
        for a in range(highest):
            out.append(
                (out[-1] @ self.derivative.T + start_derivatives[a][..., None] * self.start_weights) / h
            )
        return out

    def to_eigenbasis(self, R: Array) -> Complex:
        """Return the components (one of each pair) of values at the nodes (…, s) in the eigenbasis."""
        return np.asarray(R @ self.inverse_eigenvectors.T)

    def from_eigenbasis(self, Z: Complex) -> Array:
        """Return the values at the nodes from components in the eigenbasis."""
        twice = np.where(np.abs(self.eigenvalues.imag) > 0, 2.0, 1.0)
        return np.ascontiguousarray(((Z * twice) @ self.eigenvectors.T).real)


@lru_cache(maxsize=32)
def radau_stages(s: int) -> RadauStages:
    """Return the matrices for s stages."""
    nodes = 0.5 * (np.append(jacobi_nodes(s - 1, 1, 0), 1.0) + 1.0)
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
    return RadauStages(
        nodes, inside, D[1:, 0], values[keep].astype(complex), vectors[:, keep], inverse[keep], series, bare
    )

"""Affine maps x ↦ M x + b."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class Affine:
    """The affine map x ↦ M x + b with an invertible matrix M, stored as tuples so that it is hashable."""

    rows: tuple[tuple[float, ...], ...]
    offset: tuple[float, ...]

    @classmethod
    def about(cls, matrix: Array, center: Array) -> Affine:
        """Return the map x ↦ c + M (x - c)."""
        offset = center - matrix @ center
        return cls(tuple(map(tuple, matrix.tolist())), tuple(offset.tolist()))

    @cached_property
    def matrix(self) -> Array:
        return np.array(self.rows)

    @cached_property
    def inverse(self) -> Array:
        return np.asarray(np.linalg.inv(self.matrix))

    @cached_property
    def is_similarity(self) -> bool:
        """Whether all lengths are scaled by the same factor."""
        gram = self.matrix.T @ self.matrix
        return bool(np.allclose(gram, gram[0, 0] * np.eye(len(gram)), rtol=0, atol=1e-14 * gram[0, 0]))

    @cached_property
    def is_diagonal(self) -> bool:
        """Whether M is diagonal, so that axis-parallel boxes remain axis-parallel."""
        return bool(np.all(self.matrix == np.diag(np.diag(self.matrix))))

    @property
    def scale_factor(self) -> float:
        """The factor by which a similarity scales lengths."""
        return float(np.linalg.norm(self.matrix[:, 0]))

    def points(self, X: Array) -> Array:
        """Return M x + b for each row x of X."""
        if self.is_diagonal:
            return np.asarray(X * np.diag(self.matrix) + np.array(self.offset))
        return np.asarray(X @ self.matrix.T + np.array(self.offset))

    def inverse_points(self, X: Array) -> Array:
        """Return M⁻¹ (x - b) for each row x of X."""
        if self.is_diagonal:
            return np.asarray((X - np.array(self.offset)) / np.diag(self.matrix))
        return np.asarray((X - np.array(self.offset)) @ self.inverse.T)

    def normals(self, N: Array) -> Array:
        """Return M⁻ᵀ n, normalized, for each row n of N."""
        moved = N @ self.inverse
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))

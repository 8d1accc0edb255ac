"""x ↦ M x + b: moving, turning and scaling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.caching import cached_property


@dataclass(frozen=True)
class Affine:
    """x ↦ M x + b with an invertible M; rows as tuples, so that maps are equal where their numbers are."""

    rows: tuple[tuple[float, ...], ...]
    offset: tuple[float, ...]

    @classmethod
    def about(cls, matrix: Array, center: Array) -> Affine:
        """x ↦ c + M (x - c)."""
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
        """Whether lengths change alike in all directions."""
        gram = self.matrix.T @ self.matrix
        return bool(np.allclose(gram, gram[0, 0] * np.eye(len(gram)), rtol=0, atol=1e-14 * gram[0, 0]))

    @cached_property
    def is_parallel(self) -> bool:
        """Whether axis-parallel boxes stay so, each axis on itself."""
        return bool(np.all(self.matrix == np.diag(np.diag(self.matrix))))

    @property
    def factor(self) -> float:
        """By how much lengths grow, of a similarity."""
        return float(np.linalg.norm(self.matrix[:, 0]))

    def points(self, X: Array) -> Array:
        """M x + b for each row."""
        if self.is_parallel:
            return np.asarray(X * np.diag(self.matrix) + np.array(self.offset))
        return np.asarray(X @ self.matrix.T + np.array(self.offset))

    def back(self, X: Array) -> Array:
        """The x of each M x + b."""
        if self.is_parallel:
            return np.asarray((X - np.array(self.offset)) / np.diag(self.matrix))
        return np.asarray((X - np.array(self.offset)) @ self.inverse.T)

    def normals(self, N: Array) -> Array:
        """M⁻ᵀ n, of length 1."""
        moved = N @ self.inverse
        return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True))

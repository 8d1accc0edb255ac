r"""min_λ n‖(I - H)z‖²/(n - γ tr H)², H = A(AᵀA + λBᵀB)⁻¹Aᵀ: how smooth the data want a function to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array
from pibls.fitting.field import Field
from pibls.fitting.unknowns import Unknowns
from pibls.fitting.verdict import Verdict

_DEARER = 1.4  # γ: a degree of freedom counts that much, lest noise be taken for structure now and then
_RANGE = np.logspace(-12.0, 5.0, 69)
_TINY = 1e-13
_OPEN = 1.0  # a σ as large as the function itself: nothing is known about it


@dataclass
class Smoothing:
    """The penalty λ|B c|² of each field, in the order of all parameters."""

    blocks: list[tuple[list[int], Array]]
    """The places of a field's coefficients, and B."""
    strengths: list[float] = field(default_factory=list)
    """λ of each field."""

    @classmethod
    def of(cls, fields: Sequence[Field], unknowns: Unknowns) -> Smoothing:
        places = [[unknowns.symbols.index(s) for s in f.symbols] for f in fields]
        return cls([(p, f.roughness) for p, f in zip(places, fields, strict=True)], [1.0] * len(fields))

    def rows(self, parameters: int) -> Array:
        """√λ B of all fields, (rows, parameters)."""
        out = [np.zeros((0, parameters))]
        for (places, B), strength in zip(self.blocks, self.strengths, strict=True):
            part = np.zeros((len(B), parameters))
            part[:, places] = np.sqrt(strength) * B
            out.append(part)
        return np.concatenate(out)

    def choose(self, A: Array, z: Array) -> float:
        """λ of each field by cross-validation of min |A c - z|²; the degrees of freedom then."""
        for _ in range(2 if len(self.blocks) > 1 else 1):
            for i, (places, B) in enumerate(self.blocks):
                size = np.sum(A[:, places] ** 2) / max(np.sum(B**2), 1e-300)
                tried = []
                for strength in size * _RANGE:
                    self.strengths[i] = float(strength)
                    tried.append(self._score(A, z))
                self.strengths[i] = float(size * _RANGE[int(np.argmin(tried))])
        return self.freedom(A)

    def freedom(self, A: Array) -> float:
        """tr H."""
        return float(np.trace(np.linalg.solve(self._normal(A), A.T @ A)))

    def covariance(self, A: Array) -> Array:
        """(AᵀA + λBᵀB)⁻¹: what the data and the smoothness leave open."""
        return np.asarray(np.linalg.inv(self._normal(A)), dtype=float)

    def _normal(self, A: Array) -> Array:
        R = self.rows(A.shape[1])
        M = A.T @ A + R.T @ R
        return M + _TINY * np.diag(np.maximum(np.diag(M), np.diag(M).max() * 1e-6))

    def _score(self, A: Array, z: Array) -> float:
        M = self._normal(A)
        both = np.linalg.solve(M, np.column_stack([A.T @ z, A.T @ A]))
        left = float(np.sum((z - A @ both[:, 0]) ** 2))
        free = len(z) - _DEARER * float(np.trace(both[:, 1:]))
        return len(z) * left / free**2 if free > 0 else np.inf


def fields_verdict(
    fields: Sequence[Field], unknowns: Unknowns, smoothing: Smoothing, theta: Array, A: Array
) -> Verdict:
    """Whether the data say something about each function and each parameter beside them."""
    C = smoothing.covariance(A)
    words = []
    taken: set[int] = set()
    for f in fields:
        places = [unknowns.symbols.index(s) for s in f.symbols]
        taken.update(places)
        grids = np.meshgrid(*(np.linspace(a, b, 21) for a, b in f.ranges))
        phi = f.table([g.ravel() for g in grids])
        std = np.sqrt(np.einsum("nk,kl,nl->n", phi, C[np.ix_(places, places)], phi))
        size = 1.0 if f.positive else float(np.abs(phi @ theta[places]).max())
        if np.median(std) > _OPEN * size:
            words.append(f"the data hardly tell {f.name}: its standard deviation is as large as itself")
    for i, s in enumerate(unknowns.symbols):
        if i not in taken and np.sqrt(C[i, i]) > _OPEN * max(abs(theta[i]), 1e-300):
            words.append(f"the data hardly tell {s} beside {', '.join(f.name for f in fields)}")
    return Verdict(not words, tuple(words))

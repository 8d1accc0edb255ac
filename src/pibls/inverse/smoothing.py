r"""max_λ p(z | λ) = ∫ exp(-½|A c - z|² - ½λ|B c|²) |λBᵀB|^½ dc: how smooth the data want a function to be.

Measured on a conductivity from 30 values, 40 draws: a 95 % band held the truth in 87 % of the points with λ
by generalised cross-validation, in 96 % by the likelihood, in 97 % with what λ leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pibls.arrays import Array
from pibls.inverse.field import Field
from pibls.inverse.unknowns import Unknowns
from pibls.inverse.verdict import Verdict

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
    known: bool = False
    """Whether σ is given."""

    @classmethod
    def of(cls, fields: Sequence[Field], unknowns: Unknowns, known: bool) -> Smoothing:
        places = [[unknowns.symbols.index(s) for s in f.symbols] for f in fields]
        blocks = [(p, f.roughness) for p, f in zip(places, fields, strict=True)]
        return cls(blocks, [1.0] * len(fields), known)

    def rows(self, parameters: int) -> Array:
        """√λ B of all fields, (rows, parameters)."""
        out = [np.zeros((0, parameters))]
        for (places, B), strength in zip(self.blocks, self.strengths, strict=True):
            part = np.zeros((len(B), parameters))
            part[:, places] = np.sqrt(strength) * B
            out.append(part)
        return np.concatenate(out)

    def choose(self, A: Array, z: Array) -> float:
        """λ of each field by the likelihood of z = A c + noise; the degrees of freedom then."""
        for _ in range(2 if len(self.blocks) > 1 else 1):
            for i in range(len(self.blocks)):
                self.strengths[i] = min(self._range(A, i), key=partial(self._score_at, i, A, z))
        return self.freedom(A)

    def freedom(self, A: Array) -> float:
        """tr H."""
        return float(np.trace(np.linalg.solve(self._normal(A), A.T @ A)))

    def covariance(self, A: Array, z: Array | None = None) -> Array:
        """(AᵀA + λBᵀB)⁻¹, what the data and the smoothness leave open; with z also what λ leaves open.

        One λ is not all that the data allow: the others have their share, by their likelihood.
        """
        if z is None:
            return np.asarray(np.linalg.inv(self._normal(A)), dtype=float)
        here = np.linalg.solve(self._normal(A), A.T @ z)
        out = np.zeros((A.shape[1], A.shape[1]))
        for i in range(len(self.blocks)):
            tried = [self._at(i, v) for v in self._range(A, i)]
            scores = np.array([t._score(A, z) for t in tried])
            shares = np.exp(-0.5 * (scores - scores.min()))
            for share, t in zip(shares / shares.sum(), tried, strict=True):
                if share > _TINY:
                    off = np.linalg.solve(t._normal(A), A.T @ z) - here
                    out += share * (t.covariance(A) / len(self.blocks) + np.outer(off, off))
        return out

    def _range(self, A: Array, i: int) -> Array:
        places, B = self.blocks[i]
        return np.asarray(np.sum(A[:, places] ** 2) / max(np.sum(B**2), 1e-300) * _RANGE)

    def _at(self, i: int, strength: float) -> Smoothing:
        strengths = [float(strength) if j == i else s for j, s in enumerate(self.strengths)]
        return Smoothing(self.blocks, strengths, self.known)

    def _score_at(self, i: int, A: Array, z: Array, strength: float) -> float:
        return self._at(i, strength)._score(A, z)

    def _normal(self, A: Array) -> Array:
        R = self.rows(A.shape[1])
        M = A.T @ A + R.T @ R
        return M + _TINY * np.diag(np.maximum(np.diag(M), np.diag(M).max() * 1e-6))

    def _score(self, A: Array, z: Array) -> float:
        """-2 ln of the likelihood of λ, with c integrated out, and σ too where it is not known."""
        M, R = self._normal(A), self.rows(A.shape[1])
        c = np.linalg.solve(M, A.T @ z)
        left = float(np.sum((z - A @ c) ** 2) + np.sum((R @ c) ** 2))
        ranks = [_rank(B) for _, B in self.blocks]
        free = max(len(z) - (A.shape[1] - sum(ranks)), 1)
        size = left if self.known else free * np.log(max(left, 1e-300))
        volume = float(np.linalg.slogdet(M)[1])
        return float(size + volume - sum(r * np.log(s) for r, s in zip(ranks, self.strengths, strict=True)))


def _rank(B: Array) -> int:
    """Of a triangle R, where a linear function has no curvature."""
    return int(np.count_nonzero(np.abs(np.diag(B)) > 1e-8 * np.abs(B).max()))


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
        size = 1.0 if f.link.is_bounded else float(np.abs(phi @ theta[places]).max())
        if np.median(std) > _OPEN * size:
            words.append(f"the data hardly tell {f.name}: its standard deviation is as large as itself")
    for i, s in enumerate(unknowns.symbols):
        if i not in taken and np.sqrt(C[i, i]) > _OPEN * max(abs(theta[i]), 1e-300):
            words.append(f"the data hardly tell {s} beside {', '.join(f.name for f in fields)}")
    return Verdict(not words, tuple(words))

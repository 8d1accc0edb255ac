r"""Regularization of unknown functions by a roughness penalty λ|B c|², with λ estimated from the data.

λ maximizes the marginal likelihood p(z | λ) = ∫ exp(-½|A c - z|² - ½λ|B c|²) |λBᵀB|^½ dc. Coverage of the
95 % band of a conductivity fitted to 30 values, 40 samples: 87 % of the points with λ by generalized
cross-validation, 96 % with λ by marginal likelihood, 97 % if the uncertainty of λ is included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from pibls.arrays import Array
from pibls.inverse.fit_parameters import FitParameters
from pibls.inverse.identifiability import Identifiability
from pibls.inverse.unknown_function import Field

_RELATIVE_WEIGHTS = np.logspace(-12.0, 5.0, 69)
_TINY = 1e-13
_MAX_RELATIVE_STD = 1.0  # standard deviation, relative to the value, beyond which it is poorly determined


@dataclass
class Smoothing:
    """The penalties λ|B c|² of all fields."""

    blocks: list[tuple[list[int], Array]]
    """For each field the indices of its coefficients among all parameters, and B."""
    penalty_weights: list[float] = field(default_factory=list)
    """λ of each field."""
    sigma_is_known: bool = False
    """Whether σ is given."""

    @classmethod
    def for_fields(cls, fields: Sequence[Field], unknowns: FitParameters, known: bool) -> Smoothing:
        """Return the penalties of these fields, with all weights 1; ``known`` is whether σ is given."""
        places = [[unknowns.symbols.index(s) for s in f.symbols] for f in fields]
        blocks = [(p, f.roughness_matrix) for p, f in zip(places, fields, strict=True)]
        return cls(blocks, [1.0] * len(fields), known)

    def rows(self, parameters: int) -> Array:
        """Return √λ B of all fields, (rows, parameters)."""
        out = [np.zeros((0, parameters))]
        for (places, B), strength in zip(self.blocks, self.penalty_weights, strict=True):
            part = np.zeros((len(B), parameters))
            part[:, places] = np.sqrt(strength) * B
            out.append(part)
        return np.concatenate(out)

    def choose_weights(self, A: Array, z: Array) -> float:
        """Set λ of each field by the likelihood of z = A c + noise; return the effective parameters."""
        for _ in range(2 if len(self.blocks) > 1 else 1):
            for i in range(len(self.blocks)):
                self.penalty_weights[i] = min(
                    self._candidate_weights(A, i), key=partial(self._score_at, i, A, z)
                )
        return self.effective_parameters(A)

    def effective_parameters(self, A: Array) -> float:
        """Return the effective number of parameters, the trace of the hat matrix."""
        return float(np.trace(np.linalg.solve(self.normal_matrix(A), A.T @ A)))

    def covariance(self, A: Array, z: Array | None = None) -> Array:
        """Return (AᵀA + λBᵀB)⁻¹, the posterior covariance; with z including the uncertainty of λ.

        With z the covariance is averaged over λ, weighted by the marginal likelihood.
        """
        if z is None:
            return np.asarray(np.linalg.inv(self.normal_matrix(A)), dtype=float)
        here = np.linalg.solve(self.normal_matrix(A), A.T @ z)
        out = np.zeros((A.shape[1], A.shape[1]))
        for i in range(len(self.blocks)):
            candidates = [self._with_weight(i, v) for v in self._candidate_weights(A, i)]
            scores = np.array([t.score(A, z) for t in candidates])
            shares = np.exp(-0.5 * (scores - scores.min()))
            for share, t in zip(shares / shares.sum(), candidates, strict=True):
                if share > _TINY:
                    deviation = np.linalg.solve(t.normal_matrix(A), A.T @ z) - here
                    out += share * (t.covariance(A) / len(self.blocks) + np.outer(deviation, deviation))
        return out

    def _candidate_weights(self, A: Array, i: int) -> Array:
        places, B = self.blocks[i]
        return np.asarray(np.sum(A[:, places] ** 2) / max(np.sum(B**2), 1e-300) * _RELATIVE_WEIGHTS)

    def _with_weight(self, i: int, strength: float) -> Smoothing:
        strengths = [float(strength) if j == i else s for j, s in enumerate(self.penalty_weights)]
        return Smoothing(self.blocks, strengths, self.sigma_is_known)

    def _score_at(self, i: int, A: Array, z: Array, strength: float) -> float:
        return self._with_weight(i, strength).score(A, z)

    def normal_matrix(self, A: Array) -> Array:
        R = self.rows(A.shape[1])
        M = A.T @ A + R.T @ R
        return M + _TINY * np.diag(np.maximum(np.diag(M), np.diag(M).max() * 1e-6))

    def score(self, A: Array, z: Array) -> float:
        """Return -2 ln p(z | λ), with c integrated out, and σ too if it is not known."""
        M, R = self.normal_matrix(A), self.rows(A.shape[1])
        c = np.linalg.solve(M, A.T @ z)
        misfit = float(np.sum((z - A @ c) ** 2) + np.sum((R @ c) ** 2))
        ranks = [_rank(B) for _, B in self.blocks]
        free = max(len(z) - (A.shape[1] - sum(ranks)), 1)
        size = misfit if self.sigma_is_known else free * np.log(max(misfit, 1e-300))
        volume = float(np.linalg.slogdet(M)[1])
        return float(
            size + volume - sum(r * np.log(s) for r, s in zip(ranks, self.penalty_weights, strict=True))
        )


def _rank(B: Array) -> int:
    """Return the rank of a triangular B; linear functions have no curvature."""
    return int(np.count_nonzero(np.abs(np.diag(B)) > 1e-8 * np.abs(B).max()))


def assess_field_identifiability(
    fields: Sequence[Field], unknowns: FitParameters, smoothing: Smoothing, theta: Array, A: Array
) -> Identifiability:
    """Return whether the data determine each function and each further parameter."""
    C = smoothing.covariance(A)
    words = []
    taken: set[int] = set()
    for f in fields:
        places = [unknowns.symbols.index(s) for s in f.symbols]
        taken.update(places)
        grids = np.meshgrid(*(np.linspace(a, b, 21) for a, b in f.ranges))
        phi = f.basis_values([g.ravel() for g in grids])
        std = np.sqrt(np.einsum("nk,kl,nl->n", phi, C[np.ix_(places, places)], phi))
        size = 1.0 if f.link.is_bounded else float(np.abs(phi @ theta[places]).max())
        if np.median(std) > _MAX_RELATIVE_STD * size:
            words.append(f"{f.name} is poorly determined: its standard deviation is as large as its values")
    for i, s in enumerate(unknowns.symbols):
        if i not in taken and np.sqrt(C[i, i]) > _MAX_RELATIVE_STD * max(abs(theta[i]), 1e-300):
            others = ", ".join(f.name for f in fields)
            words.append(f"{s} is poorly determined if fitted together with {others}")
    return Identifiability(not words, tuple(words))

r"""(M₀ + λM₁ + λ²M₂) z = b for a few complex λ: factored once for each, dense or sparse, square or tall."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg, sparse
from scipy.sparse.linalg import splu

from pibls.arrays import Array

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class Shifted:
    """The factors of Σ_a λ^a M_a, rows of length one, for each λ."""

    scale: Array = field(repr=False)
    solvers: tuple[Any, ...] = field(repr=False)

    @classmethod
    def of(cls, parts: list[Any], shifts: Complex) -> Shifted:
        """Raises a LinAlgError or RuntimeError where one of them is singular."""
        scale = None
        solvers = []
        for shift in shifts:
            real = abs(shift.imag) == 0.0
            factor = shift.real if real else shift
            A = parts[0] if real else parts[0].astype(complex)
            for a, M in enumerate(parts[1:], start=1):
                A = A + factor**a * M
            if scale is None:
                size = abs(A).max(axis=1)
                size = np.asarray(size.todense()).ravel() if sparse.issparse(size) else size
                scale = 1.0 / np.where(size > 0, size, 1.0)
            solvers.append(_factored(A, scale))
        assert scale is not None
        return cls(scale, tuple(solvers))

    def solve(self, B: Complex) -> Complex:
        """One column of B (rows, number of λ) for each λ."""
        return np.stack([s(self.scale * B[:, i]) for i, s in enumerate(self.solvers)], axis=1)


def _factored(A: Any, scale: Array) -> Any:
    if sparse.issparse(A):
        lu = splu(sparse.diags(scale).dot(A).tocsc())
        if A.dtype.kind == "c":
            return lu.solve
        return lambda b: lu.solve(np.ascontiguousarray(b.real))
    A = scale[:, None] * A
    if A.shape[0] == A.shape[1]:
        factors = linalg.lu_factor(A, check_finite=False)
        if not np.all(np.abs(np.diag(factors[0])) > 0):
            raise np.linalg.LinAlgError("singular")
        return lambda b: linalg.lu_solve(factors, b, check_finite=False)
    Q, R, order = linalg.qr(A, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(R))
    rank = int(np.count_nonzero(diagonal > 1e-14 * diagonal[0]))
    Q, R = Q[:, :rank].conj().T.copy(), R[:rank, :rank].copy()

    def solve(b: Complex) -> Complex:
        z = np.zeros(A.shape[1], dtype=complex)
        z[order[:rank]] = linalg.solve_triangular(R, Q @ b, check_finite=False)
        return z

    return solve

r"""Shifted systems (M₀ + λM₁ + λ²M₂) z = b for a few complex λ, dense or sparse, square or least squares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, TypeAlias, cast

import numpy as np
from scipy import linalg

from pibls.arrays import Array, Complex, Indices, Numbers
from pibls.linalg.panels import lu_factor
from pibls.runtime.deadline import check_deadline
from pibls.runtime.memory import check_memory

_SINGULAR = 1e-14  # relative size of a diagonal entry of R that counts as zero

Solve: TypeAlias = Callable[[Complex], Complex]
"""Function b ↦ z of a factored system."""


@dataclass(frozen=True)
class DensePencil:
    """A matrix polynomial with dense M₀, M₁, … (rows, columns)."""

    parts: tuple[Array, ...]

    @property
    def bytes_of_factors(self) -> float:
        """Bytes of the matrix and its factors for one complex shift."""
        rows, columns = self.parts[0].shape
        return float(2 * 16 * rows * columns)

    def at(self, shift: complex) -> Numbers:
        """Return Σ_a λ^a M_a."""
        A = self.parts[0] + 0.0 * shift
        for a, M in enumerate(self.parts[1:], start=1):
            A = A + shift**a * M
        return cast("Numbers", A)

    def row_maxima(self, A: Numbers) -> Array:
        """Return the largest absolute value of each row."""
        return np.asarray(np.abs(A).max(axis=1))

    def factored(self, A: Numbers, scale: Array) -> Solve:
        """Return the function b ↦ z with diag(scale)·A z = b."""
        return _factored(scale[:, None] * A)


@dataclass(frozen=True)
class SparsePencil:
    """A matrix polynomial of sparse M₀, M₁, … with one pattern: ``data`` (parts, entries) in CSC order."""

    shape: tuple[int, int]
    starts: Indices
    rows: Indices
    data: Array

    @property
    def bytes_of_factors(self) -> float:
        """A lower bound: the fill-in is not known in advance."""
        return 2.0 * 24 * len(self.rows)

    def at(self, shift: complex) -> Numbers:
        return cast("Numbers", shift ** np.arange(len(self.data)) @ self.data)

    def row_maxima(self, A: Numbers) -> Array:
        out = np.zeros(self.shape[0])
        np.maximum.at(out, self.rows, np.abs(A))
        return out

    def factored(self, A: Numbers, scale: Array) -> Solve:
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        M = csc_matrix(self.shape, dtype=A.dtype)
        M.data, M.indices, M.indptr = A * scale[self.rows], self.rows, self.starts
        lu = splu(M)
        if np.iscomplexobj(A):
            return cast("Solve", lu.solve)
        return lambda b: lu.solve(np.ascontiguousarray(b.real)) + 1j * lu.solve(np.ascontiguousarray(b.imag))


@dataclass(frozen=True)
class ShiftedFactorization:
    """The factors of Σ_a λ^a M_a, with scaled rows, for each λ."""

    scale: Array = field(repr=False)
    solvers: tuple[Solve, ...] = field(repr=False)

    is_exact: ClassVar[bool] = True
    """The factors are those of the operator itself, not of an average over space."""

    @classmethod
    def of(cls, parts: DensePencil | SparsePencil, shifts: Complex) -> ShiftedFactorization:
        """Factor for each shift; raise LinAlgError or RuntimeError if one of the matrices is singular."""
        scale = None
        solvers = []
        check_memory(parts.bytes_of_factors * len(shifts))
        for shift in shifts:
            check_deadline(__name__)
            A = parts.at(shift.real if shift.imag == 0.0 else shift)
            if scale is None:
                size = parts.row_maxima(A)
                scale = 1.0 / np.where(size > 0, size, 1.0)
            solvers.append(parts.factored(A, scale))
        assert scale is not None
        return cls(scale, tuple(solvers))

    def solve(self, B: Complex) -> Complex:
        """Return the solutions for one column of B (rows, number of λ) for each λ."""
        return np.stack([s(self.scale * B[:, i]) for i, s in enumerate(self.solvers)], axis=1)


def _factored(A: Numbers) -> Solve:
    if A.shape[0] == A.shape[1]:
        factors = lu_factor(A)
        if not np.all(np.abs(np.diag(factors[0])) > 0):
            raise np.linalg.LinAlgError("singular")
        return lambda b: linalg.lu_solve(factors, b, check_finite=False)
    (reflectors, tau), R = linalg.qr(A, mode="raw", check_finite=False)
    diagonal = np.abs(np.diag(R))
    if diagonal.min() > _SINGULAR * diagonal.max():
        n = A.shape[1]
        multiply = linalg.get_lapack_funcs("unmqr" if np.iscomplexobj(A) else "ormqr", (reflectors,))
        turn = "C" if np.iscomplexobj(A) else "T"

        def solved(b: Complex) -> Complex:
            parts = b[:, None] if np.iscomplexobj(A) else np.stack([b.real, b.imag], axis=1)
            turned = multiply("L", turn, reflectors, tau, parts, 64 * parts.shape[1])[0]
            z = linalg.solve_triangular(R[:n], turned[:n], check_finite=False)
            return np.asarray(z[:, 0] if z.shape[1] == 1 else z[:, 0] + 1j * z[:, 1])

        return solved
    # Rank-deficient (for example a pressure, determined up to a constant): basic solution by pivoting.
    Q, R, order = linalg.qr(A, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.abs(np.diag(R))
    rank = int(np.count_nonzero(diagonal > _SINGULAR * diagonal[0]))
    Q, R = Q[:, :rank].conj().T.copy(), R[:rank, :rank].copy()

    def solve(b: Complex) -> Complex:
        z = np.zeros(A.shape[1], dtype=complex)
        z[order[:rank]] = linalg.solve_triangular(R, Q @ b, check_finite=False)
        return z

    return solve

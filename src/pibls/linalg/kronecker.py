r"""Fast diagonalization of Kronecker sums (A₁ ⊗ I ⊗ I + I ⊗ A₂ ⊗ I + I ⊗ I ⊗ A₃) w = r.

A matrix that is symmetric after scaling by its weights has orthonormal eigenvectors and is diagonalized. Any
other matrix is reduced to triangular (Schur) form, and the sum is solved by substitution, because convection
makes eigenvectors ill-conditioned. N³ operations for N² unknowns in the plane, N⁴ for N³ unknowns in space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast, overload

import numpy as np
from scipy import linalg

from pibls.arrays import Array, Complex, Numbers
from pibls.runtime.deadline import check_deadline

_MAX_ASYMMETRY = 1e-7  # relative to the geometric mean of two diagonal entries
_MAX_EIGENVECTOR_CONDITION = 1e4  # above it, the Schur form is used


@overload
def apply_along(M: Array, U: Array, axis: int) -> Array: ...
@overload
def apply_along(M: Complex, U: Numbers, axis: int) -> Complex: ...
@overload
def apply_along(M: Numbers, U: Complex, axis: int) -> Complex: ...
@overload
def apply_along(M: Numbers, U: Numbers, axis: int) -> Numbers: ...
def apply_along(M: Numbers, U: Numbers, axis: int) -> Numbers:
    """Return the matrix M applied along an axis of the array U."""
    if axis + 1 < U.ndim and np.iscomplexobj(U) and not np.iscomplexobj(M):
        parts = apply_along(M, np.ascontiguousarray(U).view(np.float64), axis)  # half the work
        return parts.view(np.complex128)
    out: Numbers
    if axis == 0:
        out = (M @ U.reshape(U.shape[0], -1)).reshape(M.shape[0], *U.shape[1:])
    elif axis == U.ndim - 1:
        out = U @ M.T
    else:
        out = np.matmul(M, U.reshape(-1, U.shape[axis], int(np.prod(U.shape[axis + 1 :])))).reshape(
            *U.shape[:axis], M.shape[0], *U.shape[axis + 1 :]
        )
    return out


@dataclass(frozen=True)
class AxisFactors:
    """A = F⁻¹ T F with F = ``forward``, F⁻¹ = ``backward``, and T diagonal or upper triangular."""

    forward: Numbers = field(repr=False)
    backward: Numbers = field(repr=False)
    values: Numbers = field(repr=False)
    """The diagonal of T, the eigenvalues of A."""
    triangle: Numbers | None = field(default=None, repr=False)
    """T if it is not diagonal, else None."""

    @classmethod
    def of(cls, A: Array, weights: Array, *, diagonalize: bool) -> AxisFactors:
        """Factor A; ``diagonalize`` allows eigenvectors of nonsymmetric A if they are well-conditioned."""
        check_deadline()
        root = np.sqrt(weights)
        S = root[:, None] * A / root
        size = np.sqrt(np.abs(np.diag(S)))
        scale = np.maximum(np.outer(size, size), 1e-300)
        if float((np.abs(S - S.T) / scale).max()) < _MAX_ASYMMETRY:
            values, V = np.linalg.eigh(0.5 * (S + S.T))
            return cls(V.T * root, V / root[:, None], values)
        if diagonalize:
            values, V = np.linalg.eig(S)
            if float(np.linalg.cond(V)) < _MAX_EIGENVECTOR_CONDITION:
                return cls(np.linalg.inv(V) * root, V / root[:, None], values)
        T, Q = linalg.schur(S, output="complex" if diagonalize else "real", check_finite=False)
        values = np.diag(T) if diagonalize else linalg.eigvals(T, check_finite=False)
        return cls(Q.conj().T * root, Q / root[:, None], values, T)


@dataclass(frozen=True)
class KroneckerSum:
    """The factors of a Kronecker sum of one matrix for each axis."""

    axes: tuple[AxisFactors, ...]

    @classmethod
    def of(
        cls, matrices: Sequence[Array], weights: Sequence[Array], *, shifted: bool = False
    ) -> KroneckerSum:
        """Factor the sum; ``weights`` (N,) of each axis are quadrature weights at its nodes.

        With ``shifted``, the sum plus a complex shift can be solved as well.
        """
        apart = len(matrices) != 2 or shifted
        return cls(
            tuple(AxisFactors.of(A, w, diagonalize=apart) for A, w in zip(matrices, weights, strict=True))
        )

    @property
    def eigenvalues(self) -> Numbers:
        """Eigenvalues of the sum, (N₁, N₂, …)."""
        d = len(self.axes)
        parts = [a.values.reshape((-1,) + (1,) * (d - 1 - i)) for i, a in enumerate(self.axes)]
        return sum(parts[1:], parts[0])

    def solve(self, R: Array) -> Array:
        """Return w for a right-hand side (N₁, N₂, …)."""
        out: Numbers = R
        for i, axis in enumerate(self.axes):
            out = apply_along(axis.forward, out, i)
        out = self.solve_transformed(out, 0.0)
        for i, axis in enumerate(self.axes):
            out = apply_along(axis.backward, out, i)
        return np.ascontiguousarray(out.real)

    def solve_transformed(self, R: Numbers, shift: complex) -> Numbers:
        """Solve (T₁ + T₂ + … + shift) w = r in transformed coordinates."""
        coupled = [i for i, a in enumerate(self.axes) if a.triangle is not None]
        if not coupled:
            shifted = self.eigenvalues + np.complex128(shift) if shift else self.eigenvalues
            return R / shifted
        if len(self.axes) == 2:
            first, second = map(_square, self.axes)
            if shift:
                first = first + shift * np.eye(len(first))
            return _plane(first, second, R)
        return self._slices(R, coupled, shift)

    def _slices(self, R: Numbers, coupled: list[int], shift: complex) -> Complex:
        """Solve slice by slice along one axis, preferably one with diagonal T."""
        free = [i for i in range(len(self.axes)) if i not in coupled]
        last = (free or coupled)[-1]
        others = [a for i, a in enumerate(self.axes) if i != last]
        out: Complex = np.array(np.moveaxis(R, last, 0), dtype=complex)
        mine, values = self.axes[last], self.axes[last].values + shift
        all_diagonal = all(a.triangle is None for a in others)
        total = others[0].values[:, None] + others[1].values
        first, second = (_square(a) for a in others)
        for k in range(len(out) - 1, -1, -1):
            if mine.triangle is not None and k + 1 < len(out):
                out[k] -= np.tensordot(mine.triangle[k, k + 1 :], out[k + 1 :], axes=1)
            if all_diagonal:
                out[k] /= total + values[k]
            else:
                out[k] = _plane(first + values[k] * np.eye(len(first)), second, out[k])
        return np.moveaxis(out, 0, last)


def _square(axis: AxisFactors) -> Numbers:
    return cast("Numbers", np.diag(axis.values)) if axis.triangle is None else axis.triangle


def _plane(S: Numbers, T: Numbers, R: Numbers) -> Numbers:
    """Solve the Sylvester equation S w + w Tᵀ = r for upper (quasi-)triangular S and T."""
    # In reversed order, the transpose of an upper triangle is an upper triangle.
    turned = np.ascontiguousarray(T.T[::-1, ::-1])
    kind = np.result_type(S, T, R)
    (trsyl,) = linalg.get_lapack_funcs(("trsyl",), dtype=kind)
    w, scale, _ = trsyl(S.astype(kind), turned.astype(kind), np.asarray(R[:, ::-1], dtype=kind))
    return cast("Numbers", w[:, ::-1] / scale)

r"""(A₁ ⊗ I ⊗ I + I ⊗ A₂ ⊗ I + I ⊗ I ⊗ A₃) w = r: one matrix for each axis, each factored by itself.

A matrix that is symmetric after a scaling by its weights has orthonormal eigenvectors; along such an axis the
sum falls apart into numbers. Any other is brought to triangular form (Schur), and the sum is
solved by substitution: convection makes eigenvectors that are useless as a basis. N³ operations in the plane,
N⁴ in space, for N² and N³ unknowns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg

from pibls.arrays import Array
from pibls.deadline import check_deadline

_SYMMETRIC = 1e-7  # of the geometric mean of two diagonal entries
_INDEPENDENT = 1e4  # condition of eigenvectors up to which they are used


def along(M: Any, U: Any, axis: int) -> Any:
    """A matrix applied along an axis of an array."""
    if axis + 1 < U.ndim and np.iscomplexobj(U) and not np.iscomplexobj(M):
        parts = along(M, np.ascontiguousarray(U).view(np.float64), axis)  # half the work
        return parts.view(np.complex128)
    if axis == 0:
        return (M @ U.reshape(U.shape[0], -1)).reshape(M.shape[0], *U.shape[1:])
    if axis == U.ndim - 1:
        return U @ M.T
    return np.matmul(M, U.reshape(-1, U.shape[axis], int(np.prod(U.shape[axis + 1 :])))).reshape(
        *U.shape[:axis], M.shape[0], *U.shape[axis + 1 :]
    )


@dataclass(frozen=True)
class Axis:
    """A = forth⁻¹ T forth, forth⁻¹ = back, with T diagonal or upper triangular."""

    forth: Any = field(repr=False)
    back: Any = field(repr=False)
    values: Any = field(repr=False)
    """The diagonal of T, the eigenvalues of A."""
    triangle: Any = field(default=None, repr=False)
    """T where it is not diagonal."""

    @classmethod
    def of(cls, A: Array, weights: Array, *, apart: bool) -> Axis:
        """``apart`` asks for numbers along this axis, if eigenvectors are any good."""
        check_deadline()
        root = np.sqrt(weights)
        S = root[:, None] * A / root
        size = np.sqrt(np.abs(np.diag(S)))
        scale = np.maximum(np.outer(size, size), 1e-300)
        if float((np.abs(S - S.T) / scale).max()) < _SYMMETRIC:
            values, V = np.linalg.eigh(0.5 * (S + S.T))
            return cls(V.T * root, V / root[:, None], values)
        if apart:
            values, V = np.linalg.eig(S)
            if float(np.linalg.cond(V)) < _INDEPENDENT:
                return cls(np.linalg.inv(V) * root, V / root[:, None], values)
        T, Q = linalg.schur(S, output="complex" if apart else "real", check_finite=False)
        values = np.diag(T) if apart else linalg.eigvals(T, check_finite=False)
        return cls(Q.conj().T * root, Q / root[:, None], values, T)


@dataclass(frozen=True)
class Kronecker:
    """The factors of a sum of one matrix for each axis."""

    axes: tuple[Axis, ...]

    @classmethod
    def of(cls, matrices: Sequence[Array], weights: Sequence[Array], *, shifted: bool = False) -> Kronecker:
        """``weights`` (N,) of each axis: those of a quadrature at its nodes.

        With ``shifted``, sums with a complex number added will be solved too.
        """
        apart = len(matrices) != 2 or shifted
        return cls(tuple(Axis.of(A, w, apart=apart) for A, w in zip(matrices, weights, strict=True)))

    @property
    def sums(self) -> Any:
        """The eigenvalues of the sum, (N₁, N₂, …)."""
        d = len(self.axes)
        parts = [a.values.reshape((-1,) + (1,) * (d - 1 - i)) for i, a in enumerate(self.axes)]
        return sum(parts[1:], parts[0])

    def solve(self, R: Array) -> Array:
        """w for a right side (N₁, N₂, …)."""
        out: Any = R
        for i, axis in enumerate(self.axes):
            out = along(axis.forth, out, i)
        out = self.inner(out, 0.0)
        for i, axis in enumerate(self.axes):
            out = along(axis.back, out, i)
        return np.ascontiguousarray(out.real)

    def inner(self, R: Any, shift: complex) -> Any:
        """(T₁ + T₂ + … + shift) w = r, between `Axis.forth` and `Axis.back`."""
        coupled = [i for i, a in enumerate(self.axes) if a.triangle is not None]
        if not coupled:
            return R / (self.sums + shift if shift else self.sums)
        if len(self.axes) == 2:
            first, second = map(_square, self.axes)
            if shift:
                first = first + shift * np.eye(len(first))
            return _plane(first, second, R)
        return self._slices(R, coupled, shift)

    def _slices(self, R: Any, coupled: list[int], shift: complex) -> Any:
        """Slice by slice along one axis, one that is not coupled if there is one."""
        free = [i for i in range(len(self.axes)) if i not in coupled]
        last = (free or coupled)[-1]
        others = [a for i, a in enumerate(self.axes) if i != last]
        R = np.array(np.moveaxis(R, last, 0), dtype=complex)
        mine, values = self.axes[last], self.axes[last].values + shift
        apart = all(a.triangle is None for a in others)
        total = others[0].values[:, None] + others[1].values
        first, second = (_square(a) for a in others)
        for k in range(len(R) - 1, -1, -1):
            if mine.triangle is not None and k + 1 < len(R):
                R[k] -= np.tensordot(mine.triangle[k, k + 1 :], R[k + 1 :], axes=1)
            if apart:
                R[k] /= total + values[k]
            else:
                R[k] = _plane(first + values[k] * np.eye(len(first)), second, R[k])
        return np.moveaxis(R, 0, last)


def _square(axis: Axis) -> Any:
    return np.diag(axis.values) if axis.triangle is None else axis.triangle


def _plane(S: Any, T: Any, R: Any) -> Any:
    """S w + w Tᵀ = r for upper (quasi-)triangular S and T."""
    # Backwards, the transpose of an upper triangle is an upper triangle again.
    turned = np.ascontiguousarray(T.T[::-1, ::-1])
    kind = np.result_type(S, T, R)
    (trsyl,) = linalg.get_lapack_funcs(("trsyl",), dtype=kind)
    w, scale, _ = trsyl(S.astype(kind), turned.astype(kind), np.asarray(R[:, ::-1], dtype=kind))
    return w[:, ::-1] / scale

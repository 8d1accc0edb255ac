r"""LAPACK factorizations panel by panel, with the deadline checked between panels.

LAPACK's tpqrt, tpmqrt, trtrs, geqrf and getrf cannot be interrupted: with 4,000 columns one call takes half a
minute. Large factorizations are therefore split into panels of columns, and the trailing columns into groups.
All work is still matrix-matrix products, and the factors have the same form as those of a single call. The
splitting depends on the sizes only: the same matrix gives the same result.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from pibls.arrays import Array, Indices, Numbers
from pibls.runtime.deadline import check_deadline

OPERATIONS_BETWEEN_CHECKS = 1e9
"""Operations between checks of the deadline: 0.05 s on an idle core, 0.3 s next to five busy processes."""
MAX_OPERATIONS_ONE_CALL = 5e9
"""Operations up to which geqrf is one call, since panels take 25 % longer (lu_factor: four times this)."""
BLOCK = 32
"""Reflectors per block in LAPACK, and columns of the smallest group."""
_WIDTH = 128
"""Columns per panel; 64 and 256 take the same time (2,000 and 4,000 columns)."""


def tpqrt(R: Array, B: Array, block: int) -> tuple[Array, Array, Array]:
    """Return R', V and T of [R; B] = Q [R'; 0]; R and B, in Fortran order, are overwritten.

    ``block`` is the number of reflectors per block in LAPACK.
    """
    rows, columns = B.shape
    if 2.0 * rows * columns**2 <= OPERATIONS_BETWEEN_CHECKS:
        R, V, T, _ = lapack.dtpqrt(0, block, R, B, overwrite_a=True, overwrite_b=True)
        return R, V, T
    width = _panel(rows, block)
    T = np.empty((block, columns), order="F")
    for left in range(0, columns, width):
        check_deadline()
        here = slice(left, min(left + width, columns))
        size = here.stop - left
        triangle, V, turn, _ = lapack.dtpqrt(
            0, min(block, size), np.asfortranarray(R[here, here]), B[:, here], overwrite_b=True
        )
        R[here, here], B[:, here] = triangle, V
        T[: len(turn), here] = turn
        T[len(turn) :, here] = 0.0
        for beside in _groups(here.stop, columns, 4.0 * rows * size):
            check_deadline()
            R[here, beside], B[:, beside], _ = lapack.dtpmqrt(
                0, V, turn, np.asfortranarray(R[here, beside]), B[:, beside], trans="T", overwrite_b=True
            )
    return R, B, T


def tpmqrt(V: Array, T: Array, above: Array, below: Array, trans: str) -> tuple[Array, Array]:
    """Return Q or Qᵀ times [above; below], which are overwritten if they are in Fortran order."""
    rows, columns = V.shape
    each = 4.0 * rows * columns
    if each * above.shape[1] <= OPERATIONS_BETWEEN_CHECKS:
        above, below, _ = lapack.dtpmqrt(0, V, T, above, below, trans=trans, overwrite_a=1, overwrite_b=1)
        return above, below
    for some in _groups(0, above.shape[1], each):
        check_deadline()
        above[:, some], below[:, some], _ = lapack.dtpmqrt(
            0, V, T, above[:, some], below[:, some], trans=trans, overwrite_a=1, overwrite_b=1
        )
    return above, below


def trtrs(R: Array, b: Array, trans: int = 0) -> Array:
    """Return R⁻¹ b or R⁻ᵀ b for several columns b."""
    each = float(len(R)) ** 2
    if each * b.shape[1] <= OPERATIONS_BETWEEN_CHECKS:
        return np.asarray(lapack.dtrtrs(R, b, trans=trans)[0])
    out = np.empty_like(b, order="F")
    for some in _groups(0, b.shape[1], each):
        check_deadline()
        out[:, some] = lapack.dtrtrs(R, b[:, some], trans=trans)[0]
    return out


def geqrf(A: Array, work: int) -> tuple[Array, Array]:
    """Return the reflectors and their factors τ of A = QR; A, in Fortran order, is overwritten."""
    rows, columns = A.shape
    if 2.0 * rows * columns**2 <= MAX_OPERATIONS_ONE_CALL:
        A, tau, _, _ = lapack.dgeqrf(A, lwork=work, overwrite_a=True)
        return A, tau
    tau = np.zeros(min(rows, columns))
    for left in range(0, len(tau), _WIDTH):
        check_deadline()
        here, below = slice(left, min(left + _WIDTH, len(tau))), slice(left, rows)
        panel, some, _, _ = lapack.dgeqrf(A[below, here], lwork=work)
        A[below, here], tau[here] = panel, some
        for beside in _groups(here.stop, columns, 4.0 * (rows - left) * _WIDTH):
            check_deadline()
            A[below, beside], _, _ = lapack.dormqr("L", "T", panel, some, A[below, beside], lwork=work)
    return A, tau


def qr(A: Array) -> tuple[Array, Array]:
    """Return Q (the size of A) and R of a tall A = QR."""
    rows, columns = A.shape
    if 2.0 * rows * columns**2 <= MAX_OPERATIONS_ONE_CALL or rows < columns:
        Q, R = linalg.qr(A, mode="economic", check_finite=False)
        return Q, R
    work = 64 * columns
    Q, tau = geqrf(np.array(A, order="F"), work)
    R = np.triu(Q[:columns])
    for left in reversed(range(0, columns, _WIDTH)):
        check_deadline()
        here, below = slice(left, min(left + _WIDTH, columns)), slice(left, rows)
        panel, some = np.asfortranarray(Q[below, here]), tau[here]
        Q[here, here.stop :] = 0.0
        for beside in _groups(here.stop, columns, 4.0 * (rows - left) * _WIDTH):
            check_deadline()
            Q[below, beside], _, _ = lapack.dormqr("L", "N", panel, some, Q[below, beside], lwork=work)
        Q[below, here], _, _ = lapack.dorgqr(panel, some, lwork=work)
        Q[:left, here] = 0.0
    return Q, R


def lu_factor(A: Numbers) -> tuple[Numbers, Indices]:
    """Return the LU factors and pivots of a real or complex square matrix, as `scipy.linalg.lu_factor`."""
    n, each = len(A), 8.0 if np.iscomplexobj(A) else 2.0
    if each / 3.0 * n**3 <= 4.0 * MAX_OPERATIONS_ONE_CALL:
        factors: tuple[Numbers, Indices] = linalg.lu_factor(A, check_finite=False)
        return factors
    getrf, trtrs = linalg.get_lapack_funcs(("getrf", "trtrs"), (A,))
    A, pivots = cast("Numbers", np.array(A, order="F")), np.arange(n)
    for left in range(0, n, 2 * _WIDTH):
        check_deadline()
        here, below = slice(left, min(left + 2 * _WIDTH, n)), slice(left, n)
        panel, swaps, _ = getrf(A[below, here])
        A[below, here], pivots[here] = panel, left + swaps
        order = np.arange(n - left)
        for i, j in enumerate(swaps):
            order[[i, j]] = order[[j, i]]
        moved = np.flatnonzero(order != np.arange(n - left))
        for others in (slice(0, left), slice(here.stop, n)):
            A[left + moved, others] = A[left + order[moved], others]
        size = here.stop - left
        for beside in _groups(here.stop, n, each * (n - left) * size):
            check_deadline()
            A[here, beside] = trtrs(panel[:size], A[here, beside], lower=1, unitdiag=1)[0]
            A[here.stop :, beside] -= panel[size:] @ A[here, beside]
    return A, pivots


def _panel(rows: int, block: int) -> int:
    """Return the columns per panel: a multiple of the block, at most OPERATIONS_BETWEEN_CHECKS of work."""
    most = min(_WIDTH, int(np.sqrt(0.5 * OPERATIONS_BETWEEN_CHECKS / max(rows, 1))))
    return max(most // block, 1) * block


def _groups(start: int, stop: int, each: float) -> list[slice]:
    """Return groups of columns of at most OPERATIONS_BETWEEN_CHECKS, with ``each`` operations per column."""
    size = max(int(OPERATIONS_BETWEEN_CHECKS / each), BLOCK)
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]

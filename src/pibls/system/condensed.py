r"""A u = r in the plane with few entries: what belongs to one box alone is eliminated there.

For operators that are far from any sum of one along each axis: a flow that turns, a reaction that
varies by much. Each box of the lattice has functions of its own, which are eliminated first; what is left are
values and derivatives on the edges between the boxes, a sparse matrix that is factored as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dgetrf
from scipy.sparse.linalg import splu

from pibls.arrays import Array
from pibls.basis.local import LocalSplines
from pibls.basis.splines import Numbers
from pibls.linalg.kronecker import along
from pibls.system.products import Group, Linear, Rows

_ENTRIES = 6e7
"""Of all boxes at most: half a gigabyte."""


@dataclass(frozen=True)
class Condensed:
    """The rows of a problem in the plane, factored."""

    axes: tuple[LocalSplines, LocalSplines]
    scales: Array = field(repr=False)
    """What the rows of each box are divided by, (boxes, rows)."""
    boxes: tuple[_Box, ...] = field(repr=False)
    inner: Numbers = field(repr=False)
    outer: Numbers = field(repr=False)
    """The numbers of the functions of each box, its own and those of its edges."""
    skeleton: Numbers = field(repr=False)
    """The numbers of all functions of edges."""
    sides: Array = field(repr=False)
    """What the rows on the sides are divided by."""
    factors: Any = field(repr=False)
    exact = True

    @classmethod
    def of(cls, rows: Rows, linear: Linear) -> Condensed | None:
        """None where there are more axes than two, or it would be too large, or is singular."""
        if len(rows.axes) != 2:
            return None
        (P, a, n), (Q, b, k) = ((s.pieces, s.size - s.order, s.size) for s in rows.axes)
        if P * Q * a * b * n * k > _ENTRIES:
            return None
        X, Y = axes = LocalSplines.of(rows.axes[0]), LocalSplines.of(rows.axes[1])
        number = (X.numbers[:, None, :, None] * rows.axes[1].functions + Y.numbers[None, :, None, :]).reshape(
            P * Q, n * k
        )
        mine = np.logical_and.outer(np.arange(n) >= n - X.own, np.arange(k) >= k - Y.own).ravel()
        scales, boxes = np.ones((P * Q, a * b)), []
        for i, block in enumerate(_blocks(rows.groups[0], linear.coefficients[0], axes)):
            size = np.abs(block).max(axis=1)
            scales[i] = np.where(size > 0, size, 1.0)
            block /= scales[i][:, None]
            box = _Box.of(block[:, mine], block[:, ~mine])
            if box is None:
                return None
            boxes.append(box)
        total = rows.axes[0].functions * rows.axes[1].functions
        outer = number[:, ~mine]
        skeleton = np.unique(outer)
        place = np.full(total, -1, dtype=np.intp)
        place[skeleton] = np.arange(len(skeleton))
        left = np.array([box.left for box in boxes])
        many = left.shape[1]
        row = np.broadcast_to(np.arange(P * Q * many).reshape(P * Q, many, 1), left.shape)
        column = np.broadcast_to(place[outer][:, None, :], left.shape)
        parts = [(left.ravel(), row.ravel(), column.ravel())]
        first = P * Q * many
        for side, g, c in zip(rows.boxed.sides, rows.groups[1:], linear.coefficients[1:], strict=True):
            V, row, column = _side(side.axis, side.end, g, c, axes)
            parts.append((V.ravel(), (first + row).ravel(), place[column].ravel()))
            first += len(V)
        V, row, column = (np.concatenate(p) for p in zip(*parts, strict=True))
        if first != len(skeleton):
            return None
        A = sparse.csc_matrix((V, (row, column)), shape=(first, first))
        size = np.asarray(abs(A).max(axis=1).todense()).ravel()
        size = np.where(size > 0, size, 1.0)
        try:
            factors = splu(sparse.csc_matrix(sparse.diags(1.0 / size) @ A))
        except RuntimeError:
            return None
        return cls(
            axes, scales, tuple(boxes), number[:, mine], outer, skeleton,
            size, factors,
        )  # fmt: skip

    def solve(self, left: list[Array]) -> Array:
        """U for which the rows are these."""
        X, Y = self.axes
        sx, sy = X.splines, Y.splines
        R = left[0].reshape(sx.pieces, sx.size - sx.order, sy.pieces, sy.size - sy.order)
        R = R.transpose(0, 2, 1, 3).reshape(len(self.scales), -1) / self.scales
        halves = [box.forth(r) for box, r in zip(self.boxes, R, strict=True)]
        b = [r for _, r in halves]
        b += [(r if r.shape[0] == 1 else r[: len(sx.nodes)]).ravel() for r in left[1:]]
        u = self.factors.solve(np.concatenate(b) / self.sides)
        U = np.zeros(sx.functions * sy.functions)
        U[self.skeleton] = u
        for box, (own, _), inner, outer in zip(self.boxes, halves, self.inner, self.outer, strict=True):
            U[inner] = box.back(own, U[outer])
        found = U.reshape(sx.functions, sy.functions)
        return np.asarray(along(Y.change, along(X.change, found, 0), 1))


@dataclass(frozen=True)
class _Box:
    """P [A, C] = [L₁; L₂] [U, X] + [0, left]: the own functions of a box eliminated from its rows."""

    factors: Array = field(repr=False)
    """L and U in one."""
    order: Numbers = field(repr=False)
    coupled: Array = field(repr=False)
    """X."""
    left: Array = field(repr=False)
    """What is left for the functions of the edges."""

    @classmethod
    def of(cls, A: Array, C: Array) -> _Box | None:
        own = A.shape[1]
        factors, swaps, singular = dgetrf(A)
        if singular:
            return None
        order = np.arange(len(A))
        for i, j in enumerate(swaps):
            order[[i, j]] = order[[j, i]]
        C = C[order]
        X = solve_triangular(factors[:own], C[:own], lower=True, unit_diagonal=True, check_finite=False)
        return cls(factors, order, X, C[own:] - factors[own:] @ X)

    def forth(self, r: Array) -> tuple[Array, Array]:
        """The right side of its own functions, and what is left of that of the others."""
        own, r = self.factors.shape[1], r[self.order]
        y = solve_triangular(self.factors[:own], r[:own], lower=True, unit_diagonal=True, check_finite=False)
        return y, r[own:] - self.factors[own:] @ y

    def back(self, y: Array, u: Array) -> Array:
        """Its own functions, from those of its edges."""
        own = self.factors.shape[1]
        return np.asarray(solve_triangular(self.factors[:own], y - self.coupled @ u, check_finite=False))


def _blocks(g: Group, coefficients: Array, axes: tuple[LocalSplines, LocalSplines]) -> Iterator[Array]:
    """Box by box the rows in its functions, (rows, functions)."""
    X, Y = axes
    tables = [{k: axis.table(k) for k in {alpha[i] for alpha in g.alphas}} for i, axis in enumerate(axes)]
    (P, a, n), (Q, b, k) = (X.table(0).shape, Y.table(0).shape)
    terms = [(alpha, c.reshape(P, a, Q, b)) for alpha, c in zip(g.alphas, coefficients, strict=True)]
    for p, q in product(range(P), range(Q)):
        out = np.zeros((a, b, n, k))
        for order, table in tables[0].items():
            # What is the same along the first axis is added up first.
            along_y = sum(
                c[p, :, q, :, None] * tables[1][alpha[1]][q] for alpha, c in terms if alpha[0] == order
            )
            out += table[p][:, None, :, None] * np.asarray(along_y)[:, :, None, :]
        yield out.reshape(a * b, n * k)


def _side(
    axis: int, end: int, g: Group, c: Array, axes: tuple[LocalSplines, LocalSplines]
) -> tuple[Array, Numbers, Numbers]:
    """Values, rows and columns of a condition on a side; corners belong to those across the first axis."""
    across, beside = axes[axis], axes[1 - axis]
    level = g.lines[axis]
    t = g.lines[1 - axis] if axis == 0 else beside.splines.nodes
    c = c.reshape(len(c), -1)[:, : len(t)]
    piece, _ = beside.at(t, 0)
    m = across.splines.order
    p = across.splines.pieces - 1 if end else 0
    chosen = np.arange(m, 2 * m) if end else np.arange(m)  # the functions of that edge
    V = np.zeros((len(t), m, beside.splines.size))
    for alpha, w in zip(g.alphas, c, strict=True):
        T = across.at(level, alpha[axis])[1][0]
        B = beside.at(t, alpha[1 - axis])[1]
        V += w[:, None, None] * T[chosen][None, :, None] * B[:, None, :]
    one, two = across.numbers[p, chosen], beside.numbers[piece]
    if axis == 0:
        column = one[None, :, None] * beside.splines.functions + two[:, None, :]
    else:
        column = two[:, None, :] * across.splines.functions + one[None, :, None]
    row = np.broadcast_to(np.arange(len(t))[:, None, None], V.shape)
    return V, row, np.broadcast_to(column, V.shape)

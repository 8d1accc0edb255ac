r"""(σ + L₁ + … + L_d) u = r for a few complex σ, B u = g on the sides: an evolution on a box, axis by axis.

For each equation and its own unknown the nearest sum of one operator along each coordinate (`system.nearest`)
takes the place of the operator; what the other unknowns do, and what such a sum has not, is left to steps
(`linalg.krylov`). Functions along a coordinate that meet no condition at its ends are known by their values
at its points, and what the sides ask is taken off first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pibls.arrays import Array
from pibls.basis.nodes import held_at, nodes_of, weights_of
from pibls.basis.product import legendre, waves
from pibls.linalg.kronecker import Kronecker, along
from pibls.system.frame import Frame, Side
from pibls.system.lines import Group, Lines
from pibls.system.nearest import SAME, Line, at_ends, nearest_sum

Complex = npt.NDArray[np.complex128]


@dataclass(frozen=True)
class _Unknown:
    """One equation with its own unknown: its nearest sum, factored."""

    spans: tuple[Line, ...]
    factors: Kronecker = field(repr=False)
    scale: Array = field(repr=False)
    """ρ at the nodes."""
    shifts: Complex
    """What the rates add to the sum."""
    sides: tuple[tuple[slice, Side, Array], ...]
    """Rows of each side across the coordinates in order, and what they are divided by."""

    @cached_property
    def _back(self) -> list[Any]:
        """From the factors to the functions that meet no condition."""
        return [s.free @ a.back for s, a in zip(self.spans, self.factors.axes, strict=True)]

    def solve(self, equation: Complex, B: Complex) -> Complex:
        """Coefficients (n₁, n₂, …, λ) from the rows of the equation, (nodes, λ), and all rows."""
        U, met = self._lifted(B)
        out: Any = equation.reshape([*(len(s.values) for s in self.spans), -1]) / self.scale[..., None]
        if met:
            out = out - self._applied(U)
        for i, axis in enumerate(self.factors.axes):
            out = along(axis.forth, out, i)
        out = np.stack([self.factors.inner(out[..., j], z) for j, z in enumerate(self.shifts)], axis=-1)
        for i, back in enumerate(self._back):
            out = along(back, out, i)
        return np.asarray(U + out if met else out)

    def _lifted(self, B: Complex) -> tuple[Complex, bool]:
        """A function with what the sides ask, one side after another, and whether they ask for anything."""
        sizes = [s.values.shape[1] for s in self.spans]
        U = np.zeros([*sizes, B.shape[1]], dtype=complex)
        met = False
        for i, span in enumerate(self.spans):
            mine = [
                (B[rows] / scale[:, None]).reshape(*side.counts, -1)
                for rows, side, scale in self.sides
                if side.axis == i
            ]
            if not any(map(np.any, mine)):
                continue
            D = np.concatenate(mine, axis=i)
            for j, other in enumerate(self.spans[i + 1 :], start=i + 1):
                D = along(other.from_values, D, j)
            if met:
                known = along(span.conditions, U, i)
                for j, other in enumerate(self.spans[:i]):
                    known = along(other.values, known, j)
                D = D - known
            for j, other in enumerate(self.spans[:i]):
                D = along(other.free, D, j)
            U, met = U + along(span.lift, D, i), True
        return U, met

    def _applied(self, U: Complex) -> Complex:
        """The sum, at the nodes: Horner's scheme over the coordinates."""
        last = self.spans[-1]
        values, total = (
            along(last.values, U, len(self.spans) - 1),
            along(last.operator, U, len(self.spans) - 1),
        )
        total = total + self.shifts * values
        for i in range(len(self.spans) - 2, -1, -1):
            span = self.spans[i]
            total = along(span.values, total, i) + along(span.operator, values, i)
            values = along(span.values, values, i) if i else values
        return np.asarray(total)


@dataclass(frozen=True)
class Axial:
    """The inverse of nearly all of the operator, for each λ."""

    unknowns: tuple[_Unknown, ...]
    order: tuple[int, ...]
    """The unknown of each equation."""
    starts: tuple[int, ...]
    """The first row of each equation."""
    is_exact: bool

    @classmethod
    def of(cls, lines: Lines, frame: Frame, weights: Sequence[Array], shifts: Complex) -> Axial | None:
        """None where an equation has no highest derivatives of its unknown, or the ends do not hold it."""
        order, equations = frame.order, len(frame.order)
        firsts = np.cumsum([0, *(g.rows for g in lines.groups)]).tolist()
        found, exact = [], True
        for e, k in enumerate(order):
            made = _unknown(lines, frame, e, k, weights, shifts, firsts)
            if made is None:
                return None
            found.append(made[0])
            exact = exact and made[1]
        return cls(tuple(found), order, tuple(firsts[:equations]), exact)

    def solve(self, B: Complex) -> Complex:
        """One column of B (rows, number of λ) for each λ."""
        n = int(np.prod([s.values.shape[1] for s in self.unknowns[0].spans]))
        out = np.empty((len(self.order) * n, B.shape[1]), dtype=complex)
        for first, k, unknown in zip(self.starts, self.order, self.unknowns, strict=True):
            rows = B[first : first + unknown.scale.size]
            out[k * n : (k + 1) * n] = unknown.solve(rows, B).reshape(n, -1)
        return out


def _unknown(
    lines: Lines,
    frame: Frame,
    e: int,
    k: int,
    weights: Sequence[Array],
    shifts: Complex,
    firsts: list[int],
) -> tuple[_Unknown, bool] | None:
    d = len(frame.sizes)
    orders = [o[k] for o in frame.orders]
    counts = [n if yes else n - m for n, yes, m in zip(frame.sizes, frame.repeated, orders, strict=True)]
    terms: dict[tuple[int, ...], Array] = {}
    rates: dict[int, Array] = {}
    exact = True
    for (_, unknown, alpha, a), w in zip(lines.groups[e].terms, weights[e], strict=True):
        c = w.reshape(counts)
        if unknown != k:
            exact = exact and not c.any()
        elif a and sum(alpha):
            return None
        elif a:
            rates[a] = rates.get(a, 0.0) + c
        else:
            terms[alpha] = terms[alpha] + c if alpha in terms else c
    quadrature = [weights_of(m, yes) for m, yes in zip(counts, frame.repeated, strict=True)]
    parts = nearest_sum(terms, orders, quadrature)
    if parts is None:
        return None
    rho, sums, same = parts
    exact = exact and same
    shift = np.zeros(len(shifts), dtype=complex)
    for a, c in rates.items():
        scaled = c / rho
        mean = float(scaled.mean())
        exact = exact and bool(np.abs(scaled - mean).max() <= 1e2 * SAME * abs(mean))
        shift += mean * shifts**a
    ends: list[list[Array]] = [[] for _ in range(d)]
    sides = []
    equations = len(frame.order)
    for number, (unknown, mine) in enumerate(frame.conditions):
        g, first = lines.groups[equations + number], firsts[equations + number]
        for side in mine:
            rows = slice(first, first + int(np.prod(side.counts)))
            if unknown == k:
                here = weights[equations + number][:, rows.start - firsts[equations + number] :][
                    :, : rows.stop - rows.start
                ]
                scale, row, uniform = _condition(g, here, k, side, frame)
                if not row.any():
                    return None
                ends[side.axis].append(row)
                sides.append((rows, side, scale))
                exact = exact and uniform
            first = rows.stop
    spans, matrices = [], []
    for i, (n, yes, m) in enumerate(zip(frame.sizes, frame.repeated, orders, strict=True)):
        nodes = nodes_of(counts[i], yes)
        family = waves if yes else legendre
        tables = {o: family(nodes, n, o) / frame.half[i] ** o for o in {0, *sums[i]}}
        operator = np.zeros_like(tables[0])
        for o, c in sums[i].items():
            operator = operator + c[:, None] * tables[o]
        conditions = np.array(ends[i]).reshape(-1, n)
        bounded = at_ends(tables[0], conditions, np.eye(n)[:, : m + 2])
        if bounded is None:
            return None
        points = held_at(n, m, yes)
        inverse = np.asarray(np.linalg.inv(family(points, n)), dtype=float)
        spans.append(Line(operator, tables[0], conditions, *bounded, inverse))
        matrices.append(operator @ bounded[1])
    try:
        factors = Kronecker.of(matrices, quadrature, shifted=True)
    except np.linalg.LinAlgError:
        return None
    sides.sort(key=lambda s: s[1].axis)
    return _Unknown(tuple(spans), factors, rho, shift, tuple(sides)), exact


def _condition(g: Group, W: Array, k: int, side: Side, frame: Frame) -> tuple[Array, Array, bool]:
    """What the rows of a side are divided by, the same everywhere then as a row, and whether they are."""
    natural = np.array([np.prod(frame.half ** -np.array(alpha, dtype=float)) for _, _, alpha, _ in g.terms])
    own = [unknown == k for _, unknown, _, _ in g.terms]
    scale = np.abs(W * natural[:, None])[own].max(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    i, end = side.axis, 2.0 * side.end - 1.0
    row, uniform = np.zeros(frame.sizes[i]), True
    for (_, unknown, alpha, _), c in zip(g.terms, W / scale, strict=True):
        if unknown != k or sum(alpha) != alpha[i]:
            uniform = uniform and not c.any()
            continue
        mean = float(c.mean())
        uniform = uniform and bool(np.abs(c - mean).max() <= SAME * np.abs(c).max())
        row += mean * legendre(np.array([end]), frame.sizes[i], alpha[i])[0] / frame.half[i] ** alpha[i]
    return scale, row, uniform

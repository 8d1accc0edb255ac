r"""ρ(x) (L₁ + … + L_d) ≈ L: of all sums of one operator along each axis the nearest to a given one.

Divided by ρ, the coefficient of the highest derivative along an axis depends on that coordinate alone, or
nearly so: k Δu + ∇k·∇u is k times Δu + …, and the Laplacian is such a sum. What is lower is averaged over
the other coordinates. Such a sum is solved at once (`linalg.kronecker`), with any data on the sides; where
the operator is no such sum, that is what makes it nearly the identity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.assembly.tensor_products.products import Linear, ProductRows
from pibls.basis.polynomials.product import legendre
from pibls.linalg.kronecker import Kronecker, along

_ROUNDS = 8  # of fitting ρ
SAME = 1e-13
_VANISHING = 1e-10  # a coefficient of that share of its largest value


@dataclass(frozen=True)
class Span:
    """The functions along an axis, with what their ends are asked."""

    values: Array = field(repr=False)
    """At the nodes of the equation, (nodes, functions)."""
    conditions: Array = field(repr=False)
    """What is asked of a function at the ends, (conditions, functions)."""
    lift: Array = field(repr=False)
    """Polynomials that meet one condition each, (functions, conditions)."""
    free: Array = field(repr=False)
    """From values at the nodes to the function that has these and meets no condition: (functions, nodes)."""
    from_values: Array = field(repr=False)
    """From values at as many points as functions to coefficients."""

    @property
    def kind(self) -> Array:
        """The same for conditions that the same functions meet."""
        Q = np.linalg.qr(self.conditions.T)[0]
        return np.asarray(Q @ Q.T)


@dataclass(frozen=True)
class AxisTerm(Span):
    """An axis with its part of the sum."""

    operator: Array = field(repr=False)


@dataclass(frozen=True)
class Nearest:
    """The nearest sum, factored."""

    lines: tuple[AxisTerm, ...]
    factors: Kronecker = field(repr=False)
    scales: tuple[Array, ...] = field(repr=False)
    """What the rows of each group are divided by."""
    places: tuple[tuple[int, int], ...]
    """For each group on a side its axis and its number there."""
    exact: bool
    """Whether it is the operator itself."""
    natural: float
    """How large its highest derivatives are of a function that varies over the whole box, along the axis
    where they are smallest."""

    @classmethod
    def of(cls, rows: ProductRows, linear: Linear) -> Nearest | None:
        """None where some axis has no highest derivative of its own."""
        terms: dict[MultiIndex, Array] = {}
        for (_, alpha), c in zip(rows.groups[0].terms, linear.coefficients[0], strict=True):
            terms[alpha] = terms[alpha] + c if alpha in terms else c
        parts = nearest_sum(terms, rows.boxed.orders, [a.weights for a in rows.axes])
        if parts is None:
            return None
        rho, sums, exact = parts
        scales, places = [rho], []
        ends: list[list[Array]] = [[] for _ in rows.axes]
        for side, g, a in zip(rows.boxed.sides, rows.groups[1:], linear.coefficients[1:], strict=True):
            at_end = {order: T[0] for order, T in g.tables[0][side.axis].items()}
            along_side = [(alpha, c) for (_, alpha), c in zip(g.terms, a, strict=True)]
            lengths = rows.boxed.box[:, 1] - rows.boxed.box[:, 0]
            scale, row, uniform = row_of(along_side, lengths, side.axis, at_end.__getitem__)
            if not row.any():
                return None
            exact = exact and uniform
            places.append((side.axis, len(ends[side.axis])))
            scales.append(scale)
            ends[side.axis].append(row)
        lines, matrices = [], []
        for axis, splines in enumerate(rows.axes):
            tables = rows.groups[0].tables[0][axis]
            operator = sum(c[:, None] * tables[k] for k, c in sums[axis].items())
            ends_here = np.array(ends[axis]).reshape(-1, splines.functions)
            low, high = splines.edges[0], splines.edges[-1]
            smooth = splines.from_values @ legendre(
                (2.0 * splines.traced - low - high) / (high - low), len(ends_here) + 2
            )
            bounded = at_ends(tables[0], ends_here, smooth)
            if bounded is None:
                return None
            made = AxisTerm(tables[0], ends_here, *bounded, splines.from_values, np.asarray(operator))
            lines.append(made)
            matrices.append(made.operator @ made.free)
        try:
            factors = Kronecker.of(matrices, [a.weights for a in rows.axes])
        except np.linalg.LinAlgError:
            return None
        half = 0.5 * (rows.boxed.box[:, 1] - rows.boxed.box[:, 0])
        natural = min(
            float(np.abs(sums[i][m]).max()) / float(half[i]) ** m for i, m in enumerate(rows.boxed.orders)
        )
        return cls(tuple(lines), factors, tuple(scales), tuple(places), exact, natural)

    def solve(self, left: Sequence[Array]) -> Array:
        """The function for which the rows of the sum are these."""
        R, *sides = (r / s for r, s in zip(left, self.scales, strict=True))
        U = np.zeros([line.values.shape[1] for line in self.lines])
        for axis, line in enumerate(self.lines):
            mine = [g for g, (i, _) in zip(sides, self.places, strict=True) if i == axis]
            if not mine:
                continue
            D = np.concatenate(mine, axis=axis)
            for i, other in enumerate(self.lines):
                if i != axis:
                    D = along(other.from_values, D, i)
            D = D - along(line.conditions, U, axis)
            for i, before in enumerate(self.lines[:axis]):
                # Where two sides meet, the first has the say; at the nodes nothing changes.
                if len(before.conditions):
                    D = along(before.free, along(before.values, D, i), i)
            U = U + along(line.lift, D, axis)
        R = R - self._sum(U)
        W = self.factors.solve(R)
        for i, line in enumerate(self.lines):
            W = along(line.free, W, i)
        return np.asarray(U + W).ravel()

    def _sum(self, U: Array) -> Array:
        out = np.zeros(1)
        for axis in range(len(self.lines)):
            part = U
            for i, line in enumerate(self.lines):
                part = along(line.operator if i == axis else line.values, part, i)
            out = out + part
        return out


def at_ends(values: Array, conditions: Array, smooth: Array) -> tuple[Array, Array] | None:
    """Functions that meet one condition each, and those with one value each that meet none.

    ``values`` (nodes, functions) and ``conditions`` (m, functions) are those of all functions, ``smooth`` are
    those that the first ones are made of, (functions, …). None where they are not determined.
    """
    m = len(conditions)
    null = np.eye(values.shape[1])
    lift = np.zeros((values.shape[1], 0))
    if m:
        met = conditions @ smooth
        if np.linalg.matrix_rank(met) < m:
            return None
        lift = smooth @ np.linalg.pinv(met)
        null = np.linalg.qr(conditions.T, mode="complete")[0][:, m:]
    try:
        return lift, null @ np.linalg.inv(values @ null)
    except np.linalg.LinAlgError:
        return None


def row_of(
    terms: Sequence[tuple[MultiIndex, Array]], lengths: Array, axis: int, at_end: Callable[[int], Array]
) -> tuple[Array, Array, bool]:
    """What a condition on a side is divided by, the same everywhere then as a row, and whether it is.

    ``terms`` are its coefficients all along the side; ``at_end`` gives a derivative of the functions there.
    """
    sizes = [np.abs(c) * np.prod(lengths ** -np.array(alpha, dtype=float)) for alpha, c in terms]
    scale = np.max(sizes, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    row, uniform = np.zeros_like(at_end(0)), True
    for alpha, c in ((alpha, c / scale) for alpha, c in terms):
        if sum(alpha) != alpha[axis]:
            uniform = uniform and not c.any()
            continue
        mean = float(c.mean())
        uniform = uniform and bool(np.abs(c - mean).max() <= SAME * np.abs(c).max())
        row += mean * at_end(alpha[axis])
    return scale, row, uniform


def nearest_sum(
    terms: dict[MultiIndex, Array], orders: Sequence[int], weights: Sequence[Array]
) -> tuple[Array, list[dict[int, Array]], bool] | None:
    """ρ at the nodes, the coefficients of each derivative along each axis, and whether that is all.

    ``terms`` are coefficients at the products of nodes, with ``weights`` of each axis. None where some axis
    has no highest derivative of its own.
    """
    d = len(orders)
    weights = [w / w.sum() for w in weights]

    def mean(values: Array, keep: int) -> Array:
        for i in range(d - 1, -1, -1):
            if i != keep:
                values = np.tensordot(values, weights[i], axes=(i, 0))
        return values

    def spread(line: Array, axis: int) -> Array:
        return line.reshape((-1,) + (1,) * (d - 1 - axis))

    tops = []
    for axis, m in enumerate(orders):
        alpha = tuple(m if i == axis else 0 for i in range(d))
        if alpha not in terms or not np.isfinite(terms[alpha]).all():
            return None
        tops.append(terms[alpha])
    signs = [np.sign(float(t.mean())) for t in tops]
    plain = all(bool((s * t).min() > _VANISHING * np.abs(t).max()) for s, t in zip(signs, tops, strict=True))
    rho = np.ones([len(w) for w in weights])
    if plain:
        logs = [np.log(np.abs(t)) for t in tops]
        fits = [np.zeros(len(w)) for w in weights]
        for _ in range(_ROUNDS):
            r = sum(log - spread(f, i) for i, (log, f) in enumerate(zip(logs, fits, strict=True))) / d
            fits = [mean(log - r, i) for i, log in enumerate(logs)]
        r = sum(log - spread(f, i) for i, (log, f) in enumerate(zip(logs, fits, strict=True))) / d
        rho = np.exp(r)
    exact = True
    sums: list[dict[int, Array]] = [{} for _ in range(d)]
    for alpha, given in terms.items():
        c = given / rho
        size = float(np.abs(c).max())
        if not size:
            continue
        used = [i for i in range(d) if alpha[i]]
        if len(used) > 1:
            exact = False
            continue
        if used:
            (axis,) = used
            f = mean(c, axis)
            exact = exact and bool(np.abs(c - spread(f, axis)).max() <= 1e2 * SAME * size)
            sums[axis][alpha[axis]] = f
            continue
        total = float(mean(mean(c, 0), 0)) if d == 1 else float(np.tensordot(mean(c, 0), weights[0], axes=1))
        found = [mean(c, i) - (d - 1) / d * total for i in range(d)]
        near = sum(spread(f, i) for i, f in enumerate(found))
        exact = exact and bool(np.abs(c - near).max() <= 1e2 * SAME * size)
        for i, f in enumerate(found):
            sums[i][0] = f
    return rho, sums, exact

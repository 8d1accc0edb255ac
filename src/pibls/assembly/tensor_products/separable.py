r"""Nearest separable operator on a box, ρ(x) (L₁ + … + L_d) ≈ L with L_i along axis i, and its inverse.

Divided by ρ, the coefficient of the highest derivative along an axis depends on that coordinate alone, or
nearly so: k Δu + ∇k·∇u is k times Δu + …, and the Laplacian is separable. Lower-order coefficients are
averaged over the other coordinates. A separable operator is inverted directly (`linalg.kronecker`), for any
data on the sides; for other operators its inverse is a preconditioner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.assembly.tensor_products.box_problem import BoxCondition
from pibls.assembly.tensor_products.product_system import ProductOperator, ProductStatement, ProductSystem
from pibls.basis.polynomials.product import legendre
from pibls.linalg.kronecker import KroneckerSum, apply_along

_FIT_ITERATIONS = 8  # of the fit of ρ
ROUNDING = 1e-13
_MIN_COEFFICIENT = (
    1e-10  # relative to its largest value: a smaller coefficient of a highest derivative is not divided out
)


@dataclass(frozen=True)
class ConstrainedAxis:
    """The functions along an axis, with the conditions at its ends."""

    values: Array = field(repr=False)
    """Values at the nodes of the equation, (nodes, functions)."""
    conditions: Array = field(repr=False)
    """Rows of the conditions at the ends, (conditions, functions)."""
    lift: Array = field(repr=False)
    """Polynomials that satisfy one condition each, (functions, conditions)."""
    from_node_values: Array = field(repr=False)
    """Maps nodal values to the function with these values and homogeneous conditions, (functions, nodes)."""
    from_values: Array = field(repr=False)
    """Maps values at as many points as functions to coefficients."""

    @property
    def condition_projector(self) -> Array:
        """Projector onto the row space of the conditions: equal for equivalent conditions."""
        Q = np.linalg.qr(self.conditions.T)[0]
        return np.asarray(Q @ Q.T)


@dataclass(frozen=True)
class AxisOperator(ConstrainedAxis):
    """An axis with its part L_i of the separable operator."""

    operator: Array = field(repr=False)


@dataclass(frozen=True)
class SeparableFactorization:
    """Factorization of the nearest separable operator."""

    axes: tuple[AxisOperator, ...]
    factors: KroneckerSum = field(repr=False)
    scales: tuple[Array, ...] = field(repr=False)
    """Divisors of the rows of each statement."""
    side_positions: tuple[tuple[int, int], ...]
    """For each condition its axis and its index there."""
    is_exact: bool
    """Whether the operator itself is separable."""
    min_natural_size: float
    """Size of the highest-derivative term of a function that varies over the whole box, along the axis where
    it is smallest."""

    @classmethod
    def of(cls, rows: ProductSystem, linear: ProductOperator) -> SeparableFactorization | None:
        """Factor the nearest separable operator; None if an axis has no highest derivative of its own."""
        terms = _equation_terms(rows, linear)
        weights = [a.weights for a in rows.axes]
        parts = nearest_separable(terms, rows.box_problem.orders, weights)
        if parts is None:
            return None
        rho, sums, exact = parts
        scales, places = [rho], []
        ends: list[list[Array]] = [[] for _ in rows.axes]
        for i, side in enumerate(rows.box_problem.sides, start=1):
            scale, row, uniform = _side_row(rows, side, rows.statements[i], linear.coefficients[i])
            if not row.any():
                return None
            exact = exact and uniform
            places.append((side.axis, len(ends[side.axis])))
            scales.append(scale)
            ends[side.axis].append(row)
        axis_operators, matrices = [], []
        for i in range(len(rows.axes)):
            line = _axis_operator(rows, i, sums[i], ends[i])
            if line is None:
                return None
            axis_operators.append(line)
            matrices.append(line.operator @ line.from_node_values)
        try:
            factors = KroneckerSum.of(matrices, weights)
        except np.linalg.LinAlgError:
            return None
        natural = min(_natural_sizes(rows, sums))
        return cls(tuple(axis_operators), factors, tuple(scales), tuple(places), exact, natural)

    def solve(self, left: Sequence[Array]) -> Array:
        """Return the function for which the rows of the separable operator equal ``left``."""
        R, *sides = (r / s for r, s in zip(left, self.scales, strict=True))
        U = np.zeros([line.values.shape[1] for line in self.axes])
        for axis, line in enumerate(self.axes):
            mine = [g for g, (i, _) in zip(sides, self.side_positions, strict=True) if i == axis]
            if not mine:
                continue
            D = np.concatenate(mine, axis=axis)
            for i, other in enumerate(self.axes):
                if i != axis:
                    D = apply_along(other.from_values, D, i)
            D = D - apply_along(line.conditions, U, axis)
            for i, before in enumerate(self.axes[:axis]):
                # Where two sides meet, the first one prevails; at the nodes nothing changes.
                if len(before.conditions):
                    D = apply_along(before.from_node_values, apply_along(before.values, D, i), i)
            U = U + apply_along(line.lift, D, axis)
        R = R - self._sum(U)
        W = self.factors.solve(R)
        for i, line in enumerate(self.axes):
            W = apply_along(line.from_node_values, W, i)
        return np.asarray(U + W).ravel()

    def _sum(self, U: Array) -> Array:
        out = np.zeros(1)
        for axis in range(len(self.axes)):
            part = U
            for i, line in enumerate(self.axes):
                part = apply_along(line.operator if i == axis else line.values, part, i)
            out = out + part
        return out


def _equation_terms(rows: ProductSystem, linear: ProductOperator) -> dict[MultiIndex, Array]:
    """Return the coefficients of the equation by derivatives; linear and nonlinear terms are summed."""
    terms: dict[MultiIndex, Array] = {}
    for (_, alpha), c in zip(rows.statements[0].terms, linear.coefficients[0], strict=True):
        terms[alpha] = terms[alpha] + c if alpha in terms else c
    return terms


def _natural_sizes(rows: ProductSystem, sums: Sequence[Mapping[int, Array]]) -> list[float]:
    """Return the size of the highest derivative along each axis if u varies by 1 over half of its length."""
    half = 0.5 * (rows.box_problem.box[:, 1] - rows.box_problem.box[:, 0])
    return [
        float(np.abs(sums[i][m]).max()) / float(half[i]) ** m for i, m in enumerate(rows.box_problem.orders)
    ]


def _side_row(
    rows: ProductSystem, side: BoxCondition, g: ProductStatement, a: Array
) -> tuple[Array, Array, bool]:
    """Return the divisor of a condition, its mean as a row of the functions across, and if it is uniform."""
    at_end = {order: T[0] for order, T in g.tables[0][side.axis].items()}
    along_side = [(alpha, c) for (_, alpha), c in zip(g.terms, a, strict=True)]
    lengths = rows.box_problem.box[:, 1] - rows.box_problem.box[:, 0]
    return uniform_row(along_side, lengths, side.axis, at_end.__getitem__)


def _axis_operator(
    rows: ProductSystem, axis: int, terms: dict[int, Array], ends: list[Array]
) -> AxisOperator | None:
    """Return an axis with its part of the operator; None if the conditions do not determine its functions."""
    splines, tables = rows.axes[axis], rows.statements[0].tables[0][axis]
    operator = sum(c[:, None] * tables[k] for k, c in terms.items())
    conditions = np.array(ends).reshape(-1, splines.dimension)
    low, high = splines.edges[0], splines.edges[-1]
    smooth = splines.from_values @ legendre(
        (2.0 * splines.interpolation_points - low - high) / (high - low), len(conditions) + 2
    )
    bounded = lift_and_homogeneous(tables[0], conditions, smooth)
    if bounded is None:
        return None
    return AxisOperator(tables[0], conditions, *bounded, splines.from_values, np.asarray(operator))


def lift_and_homogeneous(values: Array, conditions: Array, smooth: Array) -> tuple[Array, Array] | None:
    """Return functions that satisfy one condition each, and functions with one nodal value and none.

    ``values`` (nodes, functions) and ``conditions`` (m, functions) are those of all functions; the first kind
    is spanned by ``smooth`` (functions, …). None if the functions are not uniquely determined.
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


def uniform_row(
    terms: Sequence[tuple[MultiIndex, Array]], lengths: Array, axis: int, at_end: Callable[[int], Array]
) -> tuple[Array, Array, bool]:
    """Return the divisor of a condition on a side, its mean as a row, and whether it is uniform.

    ``terms`` are its coefficients along the side; ``at_end`` gives a derivative of the functions there.
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
        uniform = uniform and bool(np.abs(c - mean).max() <= ROUNDING * np.abs(c).max())
        row += mean * at_end(alpha[axis])
    return scale, row, uniform


def nearest_separable(
    terms: dict[MultiIndex, Array], orders: Sequence[int], weights: Sequence[Array]
) -> tuple[Array, list[dict[int, Array]], bool] | None:
    """Return ρ at the nodes, the coefficients of each derivative along each axis, and whether this is exact.

    ``terms`` are coefficients on the tensor grid of nodes, ``weights`` the quadrature weights of each axis.
    None if an axis has no highest derivative of its own.
    """
    grid = _WeightedGrid([w / w.sum() for w in weights])
    highest = _highest_coefficients(terms, orders)
    if len(highest) < grid.d:
        return None
    rho = _common_factor(highest, grid)
    exact = True
    sums: list[dict[int, Array]] = [{} for _ in range(grid.d)]
    for alpha, given in terms.items():
        c = given / rho
        size = float(np.abs(c).max())
        if not size:
            continue
        found, near = grid.nearest_sum(c, alpha)
        exact = exact and bool(np.abs(c - near).max() <= 1e2 * ROUNDING * size)
        for i, f in found.items():
            sums[i][alpha[i]] = f
    return rho, sums, exact


def _highest_coefficients(terms: Mapping[MultiIndex, Array], orders: Sequence[int]) -> list[Array]:
    """Return the coefficients of the highest derivative along each axis that has a finite one."""
    alphas = [tuple(m * (i == axis) for i in range(len(orders))) for axis, m in enumerate(orders)]
    return [terms[alpha] for alpha in alphas if alpha in terms and np.isfinite(terms[alpha]).all()]


@dataclass(frozen=True)
class _WeightedGrid:
    """Means over a tensor grid with quadrature weights along each axis."""

    weights: list[Array]

    @property
    def d(self) -> int:
        return len(self.weights)

    def mean(self, values: Array, keep: int) -> Array:
        """Return the mean over all axes but one, (points,)."""
        for i in range(self.d - 1, -1, -1):
            if i != keep:
                values = np.tensordot(values, self.weights[i], axes=(i, 0))
        return values

    def spread(self, line: Array, axis: int) -> Array:
        """Return values along an axis in the shape that broadcasts over the grid."""
        return line.reshape((-1,) + (1,) * (self.d - 1 - axis))

    def nearest_sum(self, c: Array, alpha: MultiIndex) -> tuple[dict[int, Array], Array]:
        """Return the parts along the axes of the coefficient of ∂^α, and their sum; none if α is mixed."""
        used = [i for i in range(self.d) if alpha[i]]
        if len(used) > 1:
            return {}, np.zeros_like(c)
        found = {i: self.mean(c, i) for i in used} or self.additive_parts(c)
        return found, np.asarray(sum(self.spread(f, i) for i, f in found.items()))

    def additive_parts(self, c: Array) -> dict[int, Array]:
        """Return f_i by axis whose sum Σ f_i(x_i) is nearest to c."""
        total = float(np.tensordot(self.mean(c, 0), self.weights[0], axes=1))
        return {i: self.mean(c, i) - (self.d - 1) / self.d * total for i in range(self.d)}


def _common_factor(highest: list[Array], grid: _WeightedGrid) -> Array:
    """Return ρ for which each coefficient over ρ depends nearly on its own coordinate alone.

    It is 1 if a coefficient changes its sign or nearly vanishes.
    """
    signs = [np.sign(float(t.mean())) for t in highest]
    if any((s * t).min() <= _MIN_COEFFICIENT * np.abs(t).max() for s, t in zip(signs, highest, strict=True)):
        return np.ones([len(w) for w in grid.weights])
    logs = [np.log(np.abs(t)) for t in highest]
    fits = [np.zeros(len(w)) for w in grid.weights]
    for _ in range(_FIT_ITERATIONS):
        r = _mean_remainder(logs, fits, grid)
        fits = [grid.mean(log - r, i) for i, log in enumerate(logs)]
    return np.asarray(np.exp(_mean_remainder(logs, fits, grid)))


def _mean_remainder(logs: list[Array], fits: list[Array], grid: _WeightedGrid) -> Array:
    """Return the mean over the axes of log - fit."""
    parts = (log - grid.spread(f, i) for i, (log, f) in enumerate(zip(logs, fits, strict=True)))
    return np.asarray(sum(parts) / grid.d)

r"""Approximate inverse for coupled unknowns on a box: Σ_k S_ek(μ₁, …, μ_d, λ) c_k = r_e for each mode.

Along each coordinate all unknowns are expanded in common modes (`assembly.evolutions.mode_groups`): the
eigenfunctions of ∂² + q under the conditions, their derivatives, or Fourier modes. Variable coefficients are
replaced by their mean; the inverse is then a preconditioner.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex, MultiIndex, Numbers
from pibls.assembly.evolutions.mode_groups import Parity
from pibls.assembly.evolutions.tensor_layout import TensorLayout
from pibls.assembly.tensor_products.separable import ROUNDING, ConstrainedAxis
from pibls.basis.polynomials.basis_1d import Basis1D
from pibls.basis.polynomials.product import legendre_derivative_matrix
from pibls.linalg.kronecker import AxisFactors, apply_along

Terms = Mapping[tuple[int, int], Mapping[tuple[MultiIndex, int], Array]]
"""By (unknown of the equation, unknown of the term): coefficients at the points, by derivatives."""
_MIN_COEFFICIENT = (
    1e-3  # relative to its largest value: a coefficient that falls below it cannot scale its equation
)


class NoCommonModesError(Exception):
    """The unknowns have no common modes."""


@dataclass(frozen=True)
class _ModeTransform:
    """Maps values of an unknown at the points of a coordinate to modes, and modes to functions."""

    to_modes: Any = field(repr=False)
    from_modes: Any = field(repr=False)
    parity: int
    condition_count: int


@dataclass(frozen=True)
class _AxisModes:
    """The modes along one coordinate, and the symbols of derivatives."""

    transforms: dict[int, _ModeTransform]
    count: int
    periodic: bool
    values: Any = field(default=None, repr=False)
    """Eigenvalues of ∂² + q, or of i∂ if periodic; None if no unknown has conditions."""
    vanish_at_ends: bool = True
    """Whether the modes vanish at the ends."""

    @property
    def min_count(self) -> int:
        return min(len(k.to_modes) for k in self.transforms.values())

    def present(self, k: int) -> Array:
        """Return 1 for the modes that an unknown has, else 0."""
        return np.asarray(np.arange(self.count) < len(self.transforms[k].to_modes), dtype=float)

    def symbol(self, row: int, k: int, order: int) -> tuple[Any, bool]:
        """Return the symbol of ∂^order of unknown k in the equation of another, and whether it is exact."""
        if self.periodic:
            return self.values**order, True
        mine, other = self.transforms[row], self.transforms[k]
        # Otherwise the values of the other unknown at the ends follow from its modes.
        ends = mine.condition_count > 0 or other.condition_count == 0
        if order == 0 and mine.parity == other.parity:
            return self.present(row) * self.present(k), ends or self.vanish_at_ends
        if order == other.condition_count and mine.parity == other.parity == 0:
            return self._eigenvalues, ends
        if order != 1:
            raise NoCommonModesError
        return self._first_derivative(mine, other)

    def _first_derivative(self, mine: _ModeTransform, other: _ModeTransform) -> tuple[Any, bool]:
        """Return the symbol of ∂ between modes and their derivatives, and whether it is exact."""
        if mine.parity == 0 and other.parity == 1:
            return -np.sqrt(-self._eigenvalues), mine.condition_count > 0
        if mine.parity == 1 and other.condition_count:
            return np.sqrt(-self._eigenvalues), True
        raise NoCommonModesError

    @property
    def _eigenvalues(self) -> Any:
        """The eigenvalues, followed by zeros for modes that not all unknowns have."""
        if self.values is None:
            raise NoCommonModesError
        padded = np.zeros(self.count, dtype=self.values.dtype)
        padded[: len(self.values)] = self.values
        return padded


@dataclass(frozen=True)
class CoupledInverse:
    """Inverse of the coupled operator with mean coefficients, for each λ."""

    members: tuple[int, ...]
    axis_modes: tuple[_AxisModes, ...] = field(repr=False)
    scales: tuple[Array, ...] = field(repr=False)
    """Divisors of the rows of each equation."""
    inverse: Complex = field(repr=False)
    """(modes, λ, unknowns, equations)."""
    is_exact: bool

    @classmethod
    def of(
        cls,
        layout: TensorLayout,
        group: dict[int, Parity],
        constrained_axes: Sequence[Sequence[ConstrainedAxis]],
        terms: Terms,
        shifts: Complex,
    ) -> CoupledInverse:
        """Build the inverse; raises `NoCommonModesError` or a LinAlgError if there are no common modes."""
        members = tuple(sorted(group))
        terms = {key: found for key, found in terms.items() if key[0] in group}
        scales = {r: _scale(r, terms, layout) for r in members}
        q = _potentials(layout, members, group, terms, scales)
        axes = tuple(
            _axis_modes(layout, i, group, [s[i] for s in constrained_axes], q[i])
            for i in range(len(layout.sizes))
        )
        inner = tuple(slice(a.min_count) for a in axes)
        operator = _MeanOperator.zero(axes, q, members, shifts)
        for (r, k), found in terms.items():
            if k in group:
                operator.add(r, k, {key: (c / scales[r])[inner] for key, c in found.items()})
            elif any(c.any() for c in found.values()):
                operator.is_exact = False
        inverse = operator.inverse()
        return cls(members, axes, tuple(scales[r] for r in members), inverse, operator.is_exact)

    def solve(self, rows: Sequence[Complex]) -> list[Complex]:
        """Return coefficients (n₁, n₂, …, λ) of each unknown from the rows of its equation, (points, λ)."""
        counts = [a.count for a in self.axis_modes]
        R: Any = np.zeros((*counts, self.inverse.shape[-3], len(self.members)), dtype=complex)
        for e, (k, row, scale) in enumerate(zip(self.members, rows, self.scales, strict=True)):
            made: Any = row.reshape(*scale.shape, -1) / scale[..., None]
            for i, axis in enumerate(self.axis_modes):
                made = apply_along(axis.transforms[k].to_modes, made, i)
            R[..., e][tuple(map(slice, made.shape[:-1]))] = made
        Z = np.matmul(self.inverse, R[..., None])[..., 0]
        out = []
        for e, k in enumerate(self.members):
            here = tuple(slice(len(a.transforms[k].to_modes)) for a in self.axis_modes)
            made = Z[..., e][here]
            for i, axis in enumerate(self.axis_modes):
                made = apply_along(axis.transforms[k].from_modes, made, i)
            out.append(np.asarray(made))
        return out


@dataclass
class _MeanOperator:
    """The coupled operator with mean coefficients, in the modes."""

    axes: tuple[_AxisModes, ...]
    potentials: Sequence[Array]
    """q of ∂² + q along each coordinate."""
    members: tuple[int, ...]
    shifts: Complex
    symbols: Complex
    """(modes, λ, equations, unknowns)."""
    is_exact: bool = True
    """Whether it is the operator itself: no coefficient varies and no term is left out."""

    @classmethod
    def zero(
        cls, axes: tuple[_AxisModes, ...], q: Sequence[Array], members: tuple[int, ...], shifts: Complex
    ) -> _MeanOperator:
        """Return the operator without terms."""
        shape = (*(a.count for a in axes), len(shifts), len(members), len(members))
        return cls(axes, q, members, shifts, np.zeros(shape, dtype=complex))

    def add(self, r: int, k: int, coefficients: Mapping[tuple[MultiIndex, int], Array]) -> None:
        """Add the terms of unknown k in the equation of r; those of order zero are summed first."""
        zeroth_order = np.zeros(())
        for (alpha, a), c in coefficients.items():
            if not c.any():
                continue
            if not sum(alpha) and not a:
                zeroth_order = zeroth_order + c
                continue
            mean = self._add_mean(r, k, (alpha, a), c, ROUNDING)
            if mean is not None:
                for potential in self._potentials_in(alpha):
                    zeroth_order = zeroth_order - mean * potential
        if np.any(zeroth_order):
            self._add_mean(r, k, ((0,) * len(self.axes), 0), zeroth_order, 1e2 * ROUNDING)

    def _add_mean(
        self, r: int, k: int, derivative: tuple[MultiIndex, int], c: Array, rounding: float
    ) -> float | None:
        """Add a term with the mean of its coefficient, and return the mean; None without a symbol."""
        alpha, a = derivative
        mean = float(c.mean())
        try:
            value, whole = _product(self.axes, r, k, alpha)
        except NoCommonModesError:
            if sum(alpha) and r != k:
                raise
            self.is_exact = False
            return None
        is_constant = bool(np.abs(c - mean).max() <= rounding * np.abs(c).max())
        self.is_exact = self.is_exact and whole and is_constant
        entry = self.members.index(r), self.members.index(k)
        self.symbols[..., entry[0], entry[1]] += mean * self.shifts**a * value[..., None]
        return mean

    def _potentials_in(self, alpha: MultiIndex) -> Iterator[Array]:
        """Yield q if the eigenvalues of ∂^α contain it; mixed derivatives have no common modes then."""
        for i, order in enumerate(alpha):
            if order and self.potentials[i].any():
                if sum(alpha) > order:
                    raise NoCommonModesError
                yield self.potentials[i].reshape(-1, *(1,) * (len(self.axes) - 1 - i))

    def inverse(self) -> Complex:
        """Return the inverse for each mode and λ; modes that an unknown does not have are mapped to 1."""
        for e, r in enumerate(self.members):
            self.symbols[..., e, e] += 1.0 - _present(self.axes, r)[..., None]
        inverse = np.asarray(np.linalg.inv(self.symbols), dtype=complex)
        if not np.isfinite(inverse).all():
            raise NoCommonModesError
        return inverse


def _product(axes: Sequence[_AxisModes], r: int, k: int, alpha: MultiIndex) -> tuple[Any, bool]:
    """Return the symbol of ∂^α over all modes, and whether it is exact."""
    value, whole = np.ones((1,) * len(axes)), True
    for i, (axis, order) in enumerate(zip(axes, alpha, strict=True)):
        line, all_of_it = axis.symbol(r, k, order)
        value, whole = value * line.reshape(-1, *(1,) * (len(axes) - 1 - i)), whole and all_of_it
    return value, whole


def _present(axes: Sequence[_AxisModes], k: int) -> Array:
    value = np.ones((1,) * len(axes))
    for i, axis in enumerate(axes):
        value = value * axis.present(k).reshape(-1, *(1,) * (len(axes) - 1 - i))
    return value


def _scale(r: int, terms: Terms, layout: TensorLayout) -> Array:
    """Return the largest coefficient of an equation over its mean, or 1 if it nearly vanishes somewhere."""
    best, strength = None, (False, -1.0)
    for (row, _), found in terms.items():
        for (alpha, a), c in found.items():
            natural = float(np.abs(c).mean() * np.prod(layout.half_lengths ** -np.array(alpha, dtype=float)))
            mine = bool(any(alpha)), natural
            if row == r and (any(alpha) or a) and mine > strength:
                best, strength = np.abs(c), mine
    assert best is not None  # every equation has a time derivative
    return best / best.mean() if best.min() > _MIN_COEFFICIENT * best.max() else np.ones_like(best)


def _potentials(
    layout: TensorLayout,
    members: Sequence[int],
    group: dict[int, Parity],
    terms: Terms,
    scales: dict[int, Array],
) -> list[Array]:
    """Return q of ∂² + q along each coordinate, from the zeroth-order term that varies most."""
    d = len(layout.sizes)
    bounded_axes = [i for i in range(d) if not layout.periodic[i]]
    q = [np.zeros(min(layout.equation_point_count(k, i) for k in members)) for i in range(d)]
    bound = [k for k in members if all(layout.condition_counts[i][k] for i in bounded_axes)]
    found = _varying_coefficient(layout, bound, bounded_axes, terms, scales)
    if found is None:
        return q
    c, means = found
    for i, mean in zip(bounded_axes, means, strict=True):
        if not any(parity[i] for parity in group.values()):
            line = c.mean(axis=tuple(j for j in range(d) if j != i))
            q[i] = (line - line.mean()) / mean
    return q


def _varying_coefficient(
    layout: TensorLayout, bound: list[int], axes: list[int], terms: Terms, scales: dict[int, Array]
) -> tuple[Array, list[float]] | None:
    """Return the zeroth-order coefficient that varies most, relative to the means of highest derivatives."""
    d = len(layout.sizes)
    best, most = None, 1e-12
    for (r, k), found in terms.items():
        c = found.get(((0,) * d, 0))
        if c is None or r not in bound or k not in bound:
            continue
        highest = [
            found.get((tuple(layout.condition_counts[i][k] * (i == j) for j in range(d)), 0)) for i in axes
        ]
        means = [0.0 if t is None else float((t / scales[r]).mean()) for t in highest]
        c = c / scales[r]
        if all(means) and float(c.std()) > most * max(map(abs, means)):
            best, most = (c, means), float(c.std()) / max(map(abs, means))
    return best


def _axis_modes(
    layout: TensorLayout, i: int, group: dict[int, Parity], constrained_axes: list[ConstrainedAxis], q: Array
) -> _AxisModes:
    basis, half = layout.axis_bases[i], float(layout.half_lengths[i])
    n = basis.size
    if layout.periodic[i]:
        numbers = np.zeros(n)
        numbers[1::2], numbers[2::2] = np.arange(1, n // 2 + 1), -np.arange(1, n // 2 + 1)
        points = layout.points(next(iter(group)), i)
        forth = np.exp(-1j * np.pi * numbers[:, None] * points) / n
        back = np.zeros((n, n), dtype=complex)
        back[0, 0] = 1.0
        up, down = np.arange(1, n, 2), np.arange(2, n, 2)
        back[up, up], back[up, down], back[down, up], back[down, down] = 1.0, 1.0, 1j, -1j
        transforms = {k: _ModeTransform(forth, back, 0, 0) for k in group}
        return _AxisModes(transforms, n, True, 1j * np.pi * numbers / half)
    bound = next((k for k in group if layout.condition_counts[i][k]), None)
    if bound is None:
        transforms = {
            k: _ModeTransform(np.eye(n), constrained_axes[k].from_values, group[k][i], 0) for k in group
        }
        return _AxisModes(transforms, n, False)
    own, m = constrained_axes[bound], layout.condition_counts[i][bound]
    points = layout.points(bound, i)
    nodes, ends = points[: n - m], points[n - m :]
    A = basis.evaluate(nodes, m) @ own.from_node_values / half**m + np.diag(q)
    found = AxisFactors.of(A, basis.weights(m), diagonalize=True)
    if found.triangle is not None:
        raise NoCommonModesError
    origin, modes = group[bound][i], own.from_node_values @ found.backward
    closed = bool(np.abs(basis.evaluate(ends) @ modes).max() <= 1e-10 * np.abs(found.backward).max())
    transforms = {}
    for k, parity in group.items():
        odd = (parity[i] + origin) % 2
        if layout.condition_counts[i][k]:
            transforms[k] = _ModeTransform(found.forward, modes, 0, m)
        elif not odd:
            ended = np.eye(n, dtype=found.forward.dtype)
            ended[: n - m, : n - m] = found.forward
            back = np.eye(n, dtype=found.backward.dtype)
            back[: n - m, : n - m] = found.backward
            transforms[k] = _ModeTransform(ended, constrained_axes[k].from_values @ back, 0, 0)
        else:
            transforms[k] = _slopes(basis, constrained_axes[k], nodes, modes, found.values, half, m)
    return _AxisModes(
        transforms, max(len(k.to_modes) for k in transforms.values()), False, found.values, closed
    )


def _slopes(
    basis: Basis1D, span: ConstrainedAxis, nodes: Array, modes: Numbers, values: Numbers, half: float, m: int
) -> _ModeTransform:
    """Return the transform to derivatives of the modes, and to the kernel of ∂ at the nodes."""
    n = len(modes)
    if (
        m != 2
        or basis.intervals > 1
        or np.iscomplexobj(values)
        or values.max() > -1e-8 * np.abs(values).max()
    ):
        raise NoCommonModesError
    derivative = legendre_derivative_matrix(n) / half
    steep = derivative @ modes / np.sqrt(-values)
    kernel = np.linalg.svd(basis.evaluate(nodes, 1))[2][len(nodes) :].T
    back = np.concatenate([steep, kernel * np.abs(steep).max()], axis=1)
    return _ModeTransform(np.linalg.inv(back) @ span.from_values, back, 1, 0)

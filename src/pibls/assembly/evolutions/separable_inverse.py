r"""Approximate inverse of an evolution on a box: (σ + L₁ + … + L_d) u = r, B u = g, for a few complex σ.

Unknowns that are coupled through common modes are solved together (`assembly.evolutions.coupled_inverse`).
Otherwise each equation is replaced by the nearest separable operator of its own unknown
(`assembly.tensor_products.separable`). The remainder is left to Krylov iterations (`linalg.gmres`). The data
of the sides are lifted first (`assembly.evolutions.side_conditions`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex, MultiIndex
from pibls.assembly.evolutions.coupled_inverse import CoupledInverse, NoCommonModesError, Terms
from pibls.assembly.evolutions.mode_groups import ModeGroups, Parity
from pibls.assembly.evolutions.semidiscrete import SemidiscreteSystem
from pibls.assembly.evolutions.side_conditions import SideConditions
from pibls.assembly.evolutions.tensor_layout import TensorLayout
from pibls.assembly.tensor_products.separable import ROUNDING, ConstrainedAxis, nearest_separable
from pibls.linalg.kronecker import KroneckerSum, apply_along
from pibls.runtime.caching import cached_property


@dataclass(frozen=True)
class ScalarInverse:
    """Factorization of the nearest separable operator of one equation and its own unknown."""

    members: tuple[int]
    axes: tuple[ConstrainedAxis, ...]
    factors: KroneckerSum = field(repr=False)
    scale: Array = field(repr=False)
    """The factor ρ at the nodes."""
    shifts: Complex
    """What the time derivatives add to the operator, per λ."""
    is_exact: bool

    @classmethod
    def of(
        cls, layout: TensorLayout, k: int, axes: tuple[ConstrainedAxis, ...], terms: Terms, shifts: Complex
    ) -> ScalarInverse | None:
        """Factor the operator; None if the equation lacks the highest derivatives of its unknown."""
        steady, rates = _by_time_derivative(terms.get((k, k), {}))
        if steady is None:
            return None
        quadrature = layout.quadrature_weights(k)
        parts = nearest_separable(steady, [o[k] for o in layout.orders], quadrature)
        if parts is None:
            return None
        rho, sums, exact = parts
        others = [found for (row, j), found in terms.items() if row == k != j]
        exact = exact and not any(c.any() for found in others for c in found.values())
        shift = np.zeros(len(shifts), dtype=complex)
        for a, c in rates.items():
            scaled = c / rho
            mean = float(scaled.mean())
            exact = exact and bool(np.abs(scaled - mean).max() <= 1e2 * ROUNDING * abs(mean))
            shift += mean * shifts**a
        matrices = [
            _axis_operator(layout, k, i, part) @ axes[i].from_node_values for i, part in enumerate(sums)
        ]
        try:
            factors = KroneckerSum.of(matrices, quadrature, shifted=True)
        except np.linalg.LinAlgError:
            return None
        return cls((k,), axes, factors, rho, shift, exact)

    @cached_property
    def _back(self) -> list[Any]:
        """Maps the modes of the factors to functions with homogeneous conditions."""
        return [s.from_node_values @ a.backward for s, a in zip(self.axes, self.factors.axes, strict=True)]

    def solve(self, rows: Sequence[Complex]) -> list[Complex]:
        """Return coefficients (n₁, n₂, …, λ) from the rows of the equation, (nodes, λ)."""
        out: Any = rows[0].reshape([*(len(s.values) for s in self.axes), -1]) / self.scale[..., None]
        for i, axis in enumerate(self.factors.axes):
            out = apply_along(axis.forward, out, i)
        out = np.stack(
            [self.factors.solve_transformed(out[..., j], z) for j, z in enumerate(self.shifts)], axis=-1
        )
        for i, back in enumerate(self._back):
            out = apply_along(back, out, i)
        return [np.asarray(out)]


@dataclass(frozen=True)
class SeparableInverse:
    """Approximate inverse of the operator for each λ, by separable parts."""

    system: SemidiscreteSystem = field(repr=False)
    weights: Sequence[Array] = field(repr=False)
    shifts: Complex
    equation_unknowns: tuple[int, ...]
    """The unknown of each equation."""
    side_conditions: tuple[SideConditions, ...] = field(repr=False)
    parts: tuple[ScalarInverse | CoupledInverse, ...] = field(repr=False)
    has_uniform_sides: bool
    """Whether the conditions are uniform along their sides."""
    is_exact: bool

    @classmethod
    def of(
        cls, system: SemidiscreteSystem, layout: TensorLayout, weights: Sequence[Array], shifts: Complex
    ) -> SeparableInverse | None:
        """Build the inverse; None if an equation lacks highest derivatives or conditions of its unknown."""
        bounds = [SideConditions.of(system, layout, k, weights) for k in range(system.unknowns)]
        bounded = [b for b in bounds if b is not None]
        if len(bounded) < len(bounds):
            return None
        terms = _terms(system, layout, weights)
        pairing = ModeGroups.of(_kinds(bounded), layout.periodic, _couplings(terms))
        axes = [b.axes for b in bounded]
        parts: list[ScalarInverse | CoupledInverse] = []
        for group in pairing.groups:
            # Advection is part of the separable operator, but not of the modes.
            has_advection = any(r == k and r in group for r, k, _ in pairing.left_out)
            made = _group_inverses(layout, group, axes, terms, shifts, has_advection)
            if made is None:
                return None
            parts += made
        sides = all(b.is_uniform for b in bounded)
        exact = sides and all(p.is_exact for p in parts)
        return cls(
            system, weights, shifts, layout.equation_unknowns, tuple(bounded), tuple(parts), sides, exact
        )

    def solve(self, B: Complex) -> Complex:
        """Solve for B (rows, number of λ), one column per λ; B may lack the rows of homogeneous sides."""
        n = self.system.functions
        out = np.zeros((self.system.unknowns, n, B.shape[1]), dtype=complex)
        met = []
        for k, bound in enumerate(self.side_conditions):
            U = bound.lift(B) if len(B) == self.system.rows else None
            if U is not None:
                out[k] = U.reshape(n, -1)
                met.append(k)
        rows = {}
        for e, k in enumerate(self.equation_unknowns):
            g, first = self.system.statements[e], self.system.first_rows[e]
            rows[k] = B[first : first + g.rows]
            for (site, j, alpha, a), w in zip(g.terms, self.weights[e], strict=True):
                if j in met and w.any():
                    rows[k] = (
                        rows[k] - w[:, None] * g.sites[site].sums(alpha, out[None, j])[0] * self.shifts**a
                    )
        for part in self.parts:
            for k, found in zip(part.members, part.solve([rows[k] for k in part.members]), strict=True):
                out[k] += found.reshape(n, -1)
        return out.reshape(-1, B.shape[1])


def _by_time_derivative(
    terms: Mapping[tuple[MultiIndex, int], Array],
) -> tuple[dict[MultiIndex, Array] | None, dict[int, Array]]:
    """Return the coefficients of space and of time derivatives; None for the former if some are mixed."""
    steady: dict[MultiIndex, Array] = {}
    rates: dict[int, Array] = {}
    for (alpha, a), c in terms.items():
        if a and sum(alpha):
            return None, {}
        if a:
            rates[a] = c
        else:
            steady[alpha] = c
    return steady, rates


def _axis_operator(layout: TensorLayout, k: int, i: int, terms: Mapping[int, Array]) -> Array:
    """Return Σ c ∂^o along a coordinate at the nodes of the equation, (nodes, functions)."""
    basis, nodes = layout.axis_bases[i], layout.equation_points(k)[i]
    operator = np.zeros((len(nodes), basis.size))
    for o, c in terms.items():
        operator = operator + c[:, None] * basis.evaluate(nodes, o) / layout.half_lengths[i] ** o
    return operator


def _group_inverses(
    layout: TensorLayout,
    group: dict[int, Parity],
    axes: Sequence[tuple[ConstrainedAxis, ...]],
    terms: Terms,
    shifts: Complex,
    has_advection: bool,
) -> Sequence[ScalarInverse | CoupledInverse] | None:
    """Return the inverse of a group of coupled unknowns, or one per unknown; None if there is neither."""
    singles = [ScalarInverse.of(layout, k, axes[k], terms, shifts) for k in sorted(group)]
    alone = [s for s in singles if s is not None]
    is_separable = len(alone) == len(group)
    if is_separable and (len(group) == 1 or has_advection):
        return alone
    try:
        return [CoupledInverse.of(layout, group, axes, terms, shifts)]
    except (NoCommonModesError, np.linalg.LinAlgError):
        return alone if is_separable else None


def _terms(system: SemidiscreteSystem, layout: TensorLayout, weights: Sequence[Array]) -> Terms:
    """Return the coefficients at the points of each equation, by unknowns and derivatives."""
    out: dict[tuple[int, int], dict[tuple[MultiIndex, int], Array]] = {}
    for e, k in enumerate(layout.equation_unknowns):
        shape = [layout.equation_point_count(k, i) for i in range(len(layout.sizes))]
        for (_, unknown, alpha, a), w in zip(system.statements[e].terms, weights[e], strict=True):
            found = out.setdefault((k, unknown), {})
            found[alpha, a] = found.get((alpha, a), 0.0) + w.reshape(shape)
    return out


def _couplings(terms: Terms) -> list[tuple[int, int, MultiIndex]]:
    """Return (unknown of the equation, unknown of the term, derivative) of the terms that are not zero."""
    return [(r, k, alpha) for (r, k), found in terms.items() for (alpha, _), c in found.items() if c.any()]


def _kinds(bounds: Sequence[SideConditions]) -> list[list[int | None]]:
    """Return for each unknown and coordinate a number that identifies its conditions, or None without any."""
    known: list[Array] = []
    out = []
    for bound in bounds:
        row: list[int | None] = []
        for span in bound.axes:
            if not len(span.conditions):
                row.append(None)
                continue
            kind = span.condition_projector
            same = (
                j
                for j, other in enumerate(known)
                if other.shape == kind.shape and np.abs(other - kind).max() < ROUNDING
            )
            number = next(same, len(known))
            if number == len(known):
                known.append(kind)
            row.append(number)
        out.append(row)
    return out

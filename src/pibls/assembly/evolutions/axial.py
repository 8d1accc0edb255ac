r"""(σ + L₁ + … + L_d) u = r for a few complex σ, B u = g on the sides: an evolution on a box, axis by axis.

Unknowns that move each other through the same modes are solved together (`system.evolutions.joint`). Else,
for each equation and its own unknown, the nearest sum of one operator along each coordinate
(`system.boxes.nearest`) takes the place of the operator. What is left out is left to steps
(`linalg.krylov`). What the sides ask is taken off first (`system.evolutions.span`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.arrays import Array, Complex, MultiIndex
from pibls.assembly.evolutions.frame import Frame
from pibls.assembly.evolutions.joint import JointInverse, NotJointError, Terms
from pibls.assembly.evolutions.lines import Lines
from pibls.assembly.evolutions.pairing import Pairing
from pibls.assembly.evolutions.span import Bound
from pibls.assembly.tensor_products.nearest import SAME, Span, nearest_sum
from pibls.caching import cached_property
from pibls.linalg.kronecker import Kronecker, along


@dataclass(frozen=True)
class Single:
    """One equation with its own unknown: its nearest sum, factored."""

    members: tuple[int]
    spans: tuple[Span, ...]
    factors: Kronecker = field(repr=False)
    scale: Array = field(repr=False)
    """ρ at the nodes."""
    shifts: Complex
    """What the rates add to the sum."""
    is_exact: bool

    @classmethod
    def of(
        cls, frame: Frame, k: int, spans: tuple[Span, ...], terms: Terms, shifts: Complex
    ) -> Single | None:
        """None where an equation has no highest derivatives of its unknown."""
        others = [found for (row, j), found in terms.items() if row == k != j]
        exact = not any(c.any() for found in others for c in found.values())
        still: dict[MultiIndex, Array] = {}
        rates: dict[int, Array] = {}
        for (alpha, a), c in terms.get((k, k), {}).items():
            if a and sum(alpha):
                return None
            if a:
                rates[a] = c
            else:
                still[alpha] = c
        quadrature = frame.weights(k)
        parts = nearest_sum(still, [o[k] for o in frame.orders], quadrature)
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
        matrices = []
        for i, (strand, nodes) in enumerate(zip(frame.strands, frame.held(k), strict=True)):
            operator = np.zeros((len(nodes), strand.size))
            for o, c in sums[i].items():
                operator = operator + c[:, None] * strand.at(nodes, o) / frame.half[i] ** o
            matrices.append(operator @ spans[i].free)
        try:
            factors = Kronecker.of(matrices, quadrature, shifted=True)
        except np.linalg.LinAlgError:
            return None
        return cls((k,), spans, factors, rho, shift, exact)

    @cached_property
    def _back(self) -> list[Any]:
        """From the factors to the functions that meet no condition."""
        return [s.free @ a.back for s, a in zip(self.spans, self.factors.axes, strict=True)]

    def solve(self, rows: Sequence[Complex]) -> list[Complex]:
        """Coefficients (n₁, n₂, …, λ) from the rows of the equation, (nodes, λ)."""
        out: Any = rows[0].reshape([*(len(s.values) for s in self.spans), -1]) / self.scale[..., None]
        for i, axis in enumerate(self.factors.axes):
            out = along(axis.forth, out, i)
        out = np.stack([self.factors.inner(out[..., j], z) for j, z in enumerate(self.shifts)], axis=-1)
        for i, back in enumerate(self._back):
            out = along(back, out, i)
        return [np.asarray(out)]


@dataclass(frozen=True)
class Axial:
    """The inverse of nearly all of the operator, for each λ."""

    lines: Lines = field(repr=False)
    weights: Sequence[Array] = field(repr=False)
    shifts: Complex
    order: tuple[int, ...]
    """The unknown of each equation."""
    bounds: tuple[Bound, ...] = field(repr=False)
    parts: tuple[Single | JointInverse, ...] = field(repr=False)
    holds_sides: bool
    """Whether conditions are the same all along their sides."""
    is_exact: bool

    @classmethod
    def of(cls, lines: Lines, frame: Frame, weights: Sequence[Array], shifts: Complex) -> Axial | None:
        """None where an equation has no highest derivatives of its unknown, or the ends do not hold it."""
        bounds = [Bound.of(lines, frame, k, weights) for k in range(lines.unknowns)]
        held = [b for b in bounds if b is not None]
        if len(held) < len(bounds):
            return None
        terms = _terms(lines, frame, weights)
        couplings = [
            (r, k, alpha) for (r, k), found in terms.items() for (alpha, _), c in found.items() if c.any()
        ]
        pairing = Pairing.of(_kinds(held), frame.repeated, couplings)
        spans = [b.spans for b in held]
        parts: list[Single | JointInverse] = []
        for group in pairing.groups:
            # A wind is along its coordinate in the sum, and in no mode.
            windy = any(r == k and r in group for r, k, _ in pairing.left_out)
            singles = [Single.of(frame, k, spans[k], terms, shifts) for k in sorted(group)]
            alone = [s for s in singles if s is not None]
            made: list[Single | JointInverse] = [*alone]
            if len(alone) < len(group) or (len(group) > 1 and not windy):
                try:
                    made = [JointInverse.of(frame, group, spans, terms, shifts)]
                except (NotJointError, np.linalg.LinAlgError):
                    if len(alone) < len(group):
                        return None
            parts += made
        sides = all(b.is_uniform for b in held)
        exact = sides and all(p.is_exact for p in parts)
        return cls(lines, weights, shifts, frame.order, tuple(held), tuple(parts), sides, exact)

    def solve(self, B: Complex) -> Complex:
        """One column of B (rows, number of λ) for each λ; without the rows of the sides, they ask nothing."""
        n = self.lines.functions
        out = np.zeros((self.lines.unknowns, n, B.shape[1]), dtype=complex)
        met = []
        for k, bound in enumerate(self.bounds):
            U = bound.lifted(B) if len(B) == self.lines.rows else None
            if U is not None:
                out[k] = U.reshape(n, -1)
                met.append(k)
        rows = {}
        for e, k in enumerate(self.order):
            g, first = self.lines.groups[e], self.lines.firsts[e]
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


def _terms(lines: Lines, frame: Frame, weights: Sequence[Array]) -> Terms:
    """Coefficients at the points of each equation, by unknowns and derivatives."""
    out: dict[tuple[int, int], dict[tuple[MultiIndex, int], Array]] = {}
    for e, k in enumerate(frame.order):
        shape = [frame.count(k, i) for i in range(len(frame.sizes))]
        for (_, unknown, alpha, a), w in zip(lines.groups[e].terms, weights[e], strict=True):
            found = out.setdefault((k, unknown), {})
            found[alpha, a] = found.get((alpha, a), 0.0) + w.reshape(shape)
    return out


def _kinds(bounds: Sequence[Bound]) -> list[list[int | None]]:
    """The same number for the same conditions along a coordinate, None without any."""
    known: list[Array] = []
    out = []
    for bound in bounds:
        row: list[int | None] = []
        for span in bound.spans:
            if not len(span.conditions):
                row.append(None)
                continue
            kind = span.kind
            same = (
                j
                for j, other in enumerate(known)
                if other.shape == kind.shape and np.abs(other - kind).max() < SAME
            )
            number = next(same, len(known))
            if number == len(known):
                known.append(kind)
            row.append(number)
        out.append(row)
    return out

r"""Expressions that are continuous across a plane because of an equation: Σ a ∂ᵐG = f ⇒ [Σ ∂ᵐ⁻¹⁻ʲ(aG)] = 0.

The left-hand side contains no delta distribution on the plane and no derivative of one. In a term ∂ᵐG the
coefficient of δ⁽ʲ⁾ is the jump of ∂ᵐ⁻¹⁻ʲG, so that for each j the sum of these jumps over all terms is zero.
For (EI w'')'' + (N w')' = q the continuous expressions are EI w'' and (EI w'')' + N w'. A term is considered
if it may contain a delta distribution:

- a flux term ∂ᵐF with arbitrary coefficients inside;
- a plain derivative a ∂^α u of the highest order of u in the system. Lower ones are bounded: for
  (k u')' + a w' = 0 with w'' in another equation, k u' alone is continuous.

A smooth factor is moved under the derivative: a ∂ᵐG = Σᵢ (-1)ⁱ C(m, i) ∂ᵐ⁻ⁱ(a⁽ⁱ⁾ G). The product of a
discontinuous factor and a delta distribution is undefined; then G and its derivatives below order m are
continuous separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import NamedTuple

import sympy as sp
from sympy.core.function import AppliedUndef

from pibls.arrays import MultiIndex
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Expression
from pibls.problem.forms.flux import Orders, find_fluxes
from pibls.problem.forms.known import is_known
from pibls.problem.interfaces.switches import find_switches


class InterfaceFlux(NamedTuple):
    """An expression that is continuous across planes normal to an axis."""

    axis: int
    expression: Expression
    is_outermost: bool
    """Whether it is the coefficient of δ, so that it jumps by the strength of a delta source."""
    lacks_factor: bool = False
    """Whether its factor was dropped and differs from that of other fluxes, so that they cannot be added."""


@dataclass(frozen=True)
class _Term:
    """The term weight · ∂_c^times inner."""

    weight: Expression
    inner: Expression
    times: int
    is_flux: bool

    def levels(self, c: Coordinate) -> Iterator[tuple[int, Expression]]:
        """Yield (m, G) of the terms ∂ᵐG, m > 0, of which it is the sum."""
        factor = self.weight
        for i in range(self.times):
            yield self.times - i, (-1) ** i * comb(self.times, i) * factor * self.inner
            factor = sp.diff(factor, c) if i + 1 < self.times else factor


def interface_fluxes(
    expression: Expression, coordinates: Sequence[Coordinate], orders: Orders, name: str
) -> list[InterfaceFlux]:
    """Return the expressions of one equation that are continuous across planes normal to each coordinate.

    ``orders`` are those of the unknowns in the system.
    """
    return _Reader(tuple(coordinates), orders, name).read(expression, (0,) * len(coordinates))


@dataclass(frozen=True)
class _Reader:
    coordinates: tuple[Coordinate, ...]
    orders: Orders
    name: str

    def read(self, expression: Expression, outer: MultiIndex) -> list[InterfaceFlux]:
        """Return the fluxes of an expression under the given outer derivatives."""
        fluxes = find_fluxes(expression)
        if not fluxes:
            return []
        top = not any(outer)
        plain = self._highest(expression.xreplace(dict.fromkeys(fluxes, sp.Integer(0))), outer)
        weights = _weights(expression, fluxes, plain)
        # A common factor of all fluxes is irrelevant, unless a delta source determines the jump of the flux.
        sources = top and expression.has(sp.DiracDelta)
        shared = not sources and len(set(weights.values())) == 1
        out: list[InterfaceFlux] = []
        for axis, c in enumerate(self.coordinates):
            terms = self._terms(axis, fluxes, plain, outer, weights)
            if sources:
                self._check_factors(terms, axis)
            if not terms or (len(terms) == 1 and (shared or self._has_unknown(terms[0].weight))):
                together, apart = [], terms
            else:
                together = [t for t in terms if self._is_continuous(t.weight, axis)]
                apart = [t for t in terms if t not in together]
            out += _across(axis, c, together, apart, top, alone=not shared)
        for f in fluxes:
            out += self.read(f.expr, _sum(outer, self._counts(f)))
        return out

    def _terms(
        self,
        axis: int,
        fluxes: Sequence[Expression],
        plain: Sequence[Expression],
        outer: MultiIndex,
        weights: Mapping[Expression, Expression],
    ) -> list[_Term]:
        """Return the terms that may contain a delta in one coordinate; none without a flux along it."""
        out = []
        for f in fluxes:
            counts = self._counts(f)
            if counts[axis]:
                inner = self._derivative(f.expr, _without(counts, axis, counts[axis]))
                out.append(_Term(weights[f], inner, counts[axis], is_flux=True))
        most = max((t.times for t in out), default=0)
        axes = [i for i in range(len(outer)) if any(self._counts(f)[i] for f in fluxes)]
        for d in plain if out else ():
            counts, each = self._counts(d), self.orders[d.expr][0]
            reached = [i for i in axes if counts[i] and counts[i] + outer[i] == each[i]]
            # A mixed derivative u_xy counts once: as the derivative of u_y or of u_x.
            if axis in (reached or [i for i in axes if counts[i]][:1]):
                times = min(most, counts[axis])
                inner = self._derivative(d.expr, _without(counts, axis, times))
                out.append(_Term(weights[d], inner, times, is_flux=False))
        return out

    def _highest(self, expression: Expression, outer: MultiIndex) -> list[Expression]:
        """Return the plain derivatives of highest order in the system, in a coordinate or in total."""
        out = []
        for d in sorted(expression.atoms(sp.Derivative), key=sp.default_sort_key):
            if d.expr not in self.orders or is_known(d.expr):
                continue
            each, total = self.orders[d.expr]
            counts = self._counts(d)
            reached = _sum(counts, outer)
            if sum(reached) == total or any(
                n and m == k for n, m, k in zip(counts, reached, each, strict=True)
            ):
                out.append(d)
        return out

    def _is_continuous(self, weight: Expression, axis: int) -> bool:
        """Return whether a factor is continuous: it has no switch and no derivative that may jump."""
        if find_switches(weight, self.coordinates, ()):
            return False
        unknowns = [a for a in weight.atoms(AppliedUndef, sp.Derivative) if self._has_unknown(a)]
        for a in unknowns:
            u = a.expr if isinstance(a, sp.Derivative) else a
            times = self._counts(a)[axis] if isinstance(a, sp.Derivative) else 0
            if u not in self.orders or times > self.orders[u][0][axis] - 2:
                return False
        return True

    def _has_unknown(self, e: Expression) -> bool:
        return any(not is_known(u) for u in e.atoms(AppliedUndef))

    def _check_factors(self, terms: Sequence[_Term], axis: int) -> None:
        for t in terms:
            bound = self._has_unknown(t.weight)
            if bound or (t.is_flux and not self._is_continuous(t.weight, axis)):
                kind = "depends on the solution" if bound else "may jump"
                raise ProblemError(
                    self.name,
                    expected=f"no factor that {kind} in front of a flux, beside a DiracDelta",
                    got=f"the derivative of {t.inner} times such a factor",
                    remedy="Divide the equation by it, or move it under the derivative.",
                )

    def _counts(self, d: sp.Derivative) -> MultiIndex:
        counts = dict(d.variable_count)
        return tuple(int(counts.get(c, 0)) for c in self.coordinates)

    def _derivative(self, e: Expression, counts: MultiIndex) -> Expression:
        return _derivative(e, *((c, n) for c, n in zip(self.coordinates, counts, strict=True) if n))


def _across(
    axis: int, c: Coordinate, together: Sequence[_Term], apart: Sequence[_Term], top: bool, *, alone: bool
) -> Iterator[InterfaceFlux]:
    for t in apart:
        for m in range(t.times):
            yield InterfaceFlux(axis, _derivative(t.inner, (c, m)), top and m == t.times - 1, alone)
    levels = [pair for t in together for pair in t.levels(c)]
    for j in range(max((m for m, _ in levels), default=0)):
        parts = [_derivative(G, (c, m - 1 - j)) for m, G in levels if m > j]
        yield InterfaceFlux(axis, sp.Add(*parts), top and j == 0)


def _weights(
    expression: Expression, fluxes: Sequence[Expression], plain: Sequence[Expression]
) -> dict[Expression, Expression]:
    """Return the factor of each flux and of each plain derivative."""
    marks = {d: sp.Dummy() for d in (*fluxes, *plain)}
    back = {m: d for d, m in marks.items()}
    marked = expression.xreplace({f: marks[f] for f in fluxes}).xreplace({d: marks[d] for d in plain})
    return {d: sp.diff(marked, m).xreplace(back) for d, m in marks.items()}


def _derivative(e: Expression, *counts: tuple[Coordinate, int]) -> Expression:
    counts = tuple((c, n) for c, n in counts if n)
    return sp.Derivative(e, *counts) if counts else e


def _sum(a: MultiIndex, b: MultiIndex) -> MultiIndex:
    return tuple(n + m for n, m in zip(a, b, strict=True))


def _without(counts: MultiIndex, axis: int, times: int) -> MultiIndex:
    return tuple(n - times * (i == axis) for i, n in enumerate(counts))

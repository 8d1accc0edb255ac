r"""Scales s_k of the unknowns in the error criterion |e_k| ≤ tol·s_k.

The scale of an unknown is max|u_k|. An unknown that is zero relative to the others gets the magnitude at
which its strongest term would balance the largest term of its equation. If no data drive it, as in v'' = v
with v = 0 at both ends, its scale follows from the other unknowns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.assembly.residual_coefficients import ResidualCoefficients
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.spaces import Space


def undriven_unknowns(
    compiled: CompiledProblem, known: Callable[[Residual], ResidualCoefficients]
) -> frozenset[int]:
    """Return the unknowns that are zero whatever the others are.

    Zero satisfies as many equations as there are such unknowns, and all conditions on them alone. A term
    whose coefficient is zero everywhere, such as a parameter with the value zero, is ignored.
    """
    statements = _Statements.of(compiled, known)
    found = set().union(*statements.solved_by_zero(set(range(compiled.unknowns))))
    while found:
        own = [a & found for a in statements.solved_by_zero(found)]
        contrary = statements.violated_by_zero(found)
        if contrary is not None:
            # Drop the unknown without which zero still satisfies the most equations.
            found = found - {max(sorted(contrary), key=lambda k: len(statements.solved_by_zero(found - {k})))}
        elif found == set().union(*own):
            return frozenset(found if len(own) >= len(found) else ())
        else:
            found = set().union(*own)
    return frozenset()


@dataclass(frozen=True)
class _Statements:
    """Equations and conditions with their coefficients, and the unknowns in each."""

    parts: list[list[ResidualCoefficients]]
    """The coefficients of each statement; the parts of an integral are one statement."""
    unknowns: list[set[int]]

    @classmethod
    def of(cls, compiled: CompiledProblem, known: Callable[[Residual], ResidualCoefficients]) -> _Statements:
        together: dict[object, list[ResidualCoefficients]] = {}
        for i, r in enumerate(compiled.residuals):
            together.setdefault(r.name if r.region.is_integral else i, []).append(known(r))
        parts = list(together.values())
        return cls(parts, [set().union(*map(_unknowns_in, each)) for each in parts])

    def _holds(self, number: int, zero: set[int]) -> bool:
        return all(holds_for_zero(zero, k) for k in self.parts[number])

    def solved_by_zero(self, zero: set[int]) -> list[set[int]]:
        """Return the unknowns of each equation that holds if these unknowns are zero."""
        return [
            a
            for i, a in enumerate(self.unknowns)
            if self.parts[i][0].residual.region.is_interior and self._holds(i, zero)
        ]

    def violated_by_zero(self, zero: set[int]) -> set[int] | None:
        """Return the unknowns of the first statement on these unknowns alone that does not hold for zero."""
        return next((a for i, a in enumerate(self.unknowns) if a <= zero and not self._holds(i, zero)), None)


def _unknowns_in(known: ResidualCoefficients) -> set[int]:
    """Return the unknowns of a statement whose coefficients are not zero everywhere."""
    r = known.residual
    linear = {j.unknown for j, c in zip(r.linear, known.coefficients, strict=True) if c.any()}
    return linear | {j.unknown for j in r.nonlinear}


def holds_for_zero(zero: Collection[int], known: ResidualCoefficients) -> bool:
    """Whether a statement holds if these unknowns are zero, whatever the others are."""
    r, X = known.residual, known.points.sites[0]
    anything = np.linspace(0.7, 1.3, len(X))
    nonlinear_values = [0.0 * anything if j.unknown in zero else anything for j in r.nonlinear]
    with np.errstate(all="ignore"):
        rest = r.rest(X, known.points.normals, known.data, np.array(nonlinear_values).reshape(-1, len(X)))
    others = [c for j, c in zip(r.linear, known.coefficients, strict=True) if j.unknown not in zero]
    return not rest.any() and not np.any(others)


def balanced_magnitudes(
    equations: CompiledProblem,
    space: Space,
    w: Array,
    X: Array,
    half: Array,
    idle: frozenset[int] = frozenset(),
) -> Array:
    """Return the magnitude of each unknown at which its strongest term balances the largest term."""
    out = np.full(equations.unknowns, np.inf)
    points = PointSet((X,), np.zeros_like(X))
    wanted = tuple(dict.fromkeys(j for r in equations.residuals for j in (*r.linear, *r.nonlinear)))
    found = dict(zip(wanted, space.values((X,), wanted, w), strict=True))
    for r in equations.residuals:
        derivatives = r.derivatives
        known = ResidualCoefficients.of(r, points)
        if idle and holds_for_zero(idle, known):
            continue
        values = np.array([found[j] for j in derivatives]).reshape(len(derivatives), -1)
        k = len(r.linear)
        weights = np.concatenate([known.coefficients, r.partials(X, points.normals, known.data, values[k:])])
        largest = float(np.nan_to_num(np.abs(weights * values)).max(initial=0.0))
        strongest = np.zeros(equations.unknowns)
        for derivative, c in zip(derivatives, weights, strict=True):
            size = float(np.nan_to_num(np.abs(c)).max()) / float(np.prod(half ** np.array(derivative.alpha)))
            strongest[derivative.unknown] = max(strongest[derivative.unknown], size)
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.minimum(out, np.where(strongest > 0, largest / strongest, np.inf))
    return np.where(np.isfinite(out), out, 0.0)


def error_scales(sizes: Array, natural: Array, tol: float) -> Array:
    """Return max|u| of each unknown, or its balanced magnitude if max|u| is negligible."""
    return np.where(sizes > 10.0 * tol * natural, sizes, np.maximum(sizes, natural))

r"""Number of boundary conditions that an evolution on an interval needs at each end.

With frozen coefficients there are solutions exp(λt + κx) with det Σ A_jk λʲκᵏ = 0. For λ → ∞, those with Re κ
< 0 decay away from the lower end and need a condition there, those with Re κ > 0 one at the upper end: one
each for the heat and the wave equation, one and two for u_t + u_xxx = 0, the incoming characteristics of a
first-order system. Any further condition is redundant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from pibls.analysis.evolution import Evolution, evolution_of, orders_in
from pibls.arrays import Array
from pibls.geometry import Domain, box_of, faces_of
from pibls.problem.forms.compilation import CompiledProblem, Residual

_LARGE_RATE = 10**8  # λ times the duration; terms of lower order are negligible
_AXIS_TOLERANCE = 1e-6  # of abs(κ): a root closer to the imaginary axis belongs to neither end


@dataclass(frozen=True)
class EndConditions:
    """Boundary conditions of an evolution on an interval, by end."""

    is_on_end: Mapping[int, Sequence[bool]]
    """For each condition, by its index: whether it holds at the lower and at the upper end."""
    needed: Callable[[], list[int] | None]
    """Compute the number of conditions needed at each end; None if undecided."""
    highest: int
    """Sum of the highest orders in space of all unknowns: no more conditions are ever needed."""

    @property
    def count(self) -> int:
        """Number of conditions at both ends."""
        return sum(sum(ends) for ends in self.is_on_end.values())


def _end_conditions(compiled: CompiledProblem, domain: Domain) -> EndConditions | None:
    """Return the boundary conditions by end; None unless this is an evolution with conditions at the ends."""
    evolution = evolution_of(compiled, domain)
    if evolution is None or compiled.dimension != 2 or evolution.axis != 1:
        return None
    inside = compiled.equations
    sides = [
        i
        for i, r in enumerate(compiled.residuals)
        if r not in inside and i not in evolution.initial_conditions
    ]
    regions = [compiled.residuals[i].region for i in sides]
    if not all(region.is_boundary and region.sites == 1 for region in regions):
        return None
    faces = sorted(faces_of(domain), key=lambda face: float(face.at(np.array([[0.5]])).points[0, 0]))
    is_on_end = {
        i: [bool(compiled.residuals[i].region.mask(face.at(np.array([[0.37]])))[0]) for face in faces]
        for i in sides
    }
    needed = partial(_needed_counts, inside, evolution, box_of(domain))
    return EndConditions(is_on_end, needed, sum(orders_in(compiled, 0)))


def redundant_boundary_conditions(compiled: CompiledProblem, domain: Domain) -> tuple[int, ...]:
    """Return the indices of boundary conditions beyond the number needed at their end of an interval."""
    ends = _end_conditions(compiled, domain)
    if ends is None or ends.count <= ends.highest:
        return ()
    missing = ends.needed()
    if missing is None:
        return ()
    redundant = []
    for i, at in ends.is_on_end.items():
        if all(n <= 0 for n, here in zip(missing, at, strict=True) if here):
            redundant.append(i)
        missing = [n - here for n, here in zip(missing, at, strict=True)]
    return tuple(redundant) if max(missing) <= 0 else ()


def has_missing_boundary_conditions(compiled: CompiledProblem, domain: Domain) -> bool:
    """Whether both ends of an interval together have fewer conditions than the evolution needs.

    u_t + u_xxx = 0 with u at the lower end and u_x at the upper end lacks u there.
    """
    ends = _end_conditions(compiled, domain)
    if ends is None or ends.count >= ends.highest:
        return False
    needed = ends.needed()
    return needed is not None and ends.count < sum(needed)


def _needed_counts(inside: Sequence[Residual], evolution: Evolution, box: np.ndarray) -> list[int] | None:
    """Return the number at the lower and at the upper end; None if undecided or changing in time."""
    if _has_nonlinear_leading_terms(inside):
        return None
    sizes = np.ptp(box, axis=1)
    rate = _LARGE_RATE if evolution.forward else -_LARGE_RATE
    found: tuple[set[int], set[int]] = (set(), set())
    for end, share in ((0, 0.0), (0, 0.02), (1, 1.0), (1, 0.98)):
        X = box[:, 0] + sizes * np.array([[share, s] for s in (0.1, 0.5, 0.9)])
        tables = [r.coefficients(X, np.zeros_like(X), r.data_function_values(X)) for r in inside]
        for n in np.unique(np.concatenate(tables), axis=1, return_index=True)[1]:
            roots = _spatial_roots(inside, [table[:, n] for table in tables], sizes, rate)
            if roots is None or (np.abs(roots.real) <= _AXIS_TOLERANCE * np.abs(roots)).any():
                return None
            found[end].add(int(((roots.real > 0) == bool(end)).sum()))
    lower, upper = found
    return [*lower, *upper] if len(lower) == len(upper) == 1 else None


def _has_nonlinear_leading_terms(inside: Sequence[Residual]) -> bool:
    """Whether the highest derivatives in space, or derivatives in time, enter nonlinearly."""
    highest = [
        max((j.alpha[0] for r in inside for j in r.linear if j.unknown == k), default=0)
        for k in range(len(inside))
    ]
    return any(
        any(j.alpha) and (j.alpha[1] or j.alpha[0] >= highest[j.unknown]) for r in inside for j in r.nonlinear
    )


def _spatial_roots(
    inside: Sequence[Residual], coefficients: Sequence[Array], sizes: Array, rate: int
) -> Any | None:
    """Return the roots κ of det Σ A_jk λʲκᵏ at λ = ``rate``; None if a coefficient is not finite."""
    kappa = sp.Symbol("kappa")
    M = sp.zeros(len(inside))
    for i, (r, row) in enumerate(zip(inside, coefficients, strict=True)):
        for j, c in zip(r.linear, row, strict=True):
            if not np.isfinite(c):
                return None
            scaled = sp.Rational(float(c / np.prod(sizes ** np.array(j.alpha))))
            M[i, j.unknown] += scaled * rate ** j.alpha[1] * kappa ** j.alpha[0]
    return np.roots([float(c) for c in sp.Poly(M.det(method="berkowitz"), kappa).all_coeffs()])

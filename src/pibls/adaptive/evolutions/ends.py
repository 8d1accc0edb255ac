r"""det Σ A_jk λʲκᵏ = 0, λ → ∞: how many conditions an evolution on an interval needs at each of its ends.

With its coefficients frozen it has solutions exp(λt + κx). Those with Re κ < 0 fade away from the lower end
and are told there, those with Re κ > 0 at the upper one: one each of heat and of waves, one and two of
u_t + u_xxx = 0, of a system of the first order what comes in. What is told beyond that is decided already.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import sympy as sp

from pibls.adaptive.evolution import Evolution, evolution_of, orders_in
from pibls.geometry import Domain, box_of, faces_of
from pibls.problem.forms.lowering import LoweredProblem, Residual

_LARGE = 10**8  # λ in units of the whole time: what has fewer derivatives counts for nothing
_ASIDE = 1e-6  # of |κ|: a root that is no further from the axis belongs to neither end


def told_beyond(lowered: LoweredProblem, domain: Domain) -> tuple[int, ...]:
    """The conditions at the ends of an interval that an evolution does not need beside those before them."""
    evolution = evolution_of(lowered, domain)
    if evolution is None or lowered.dimension != 2 or evolution.axis != 1:
        return ()
    inside = [r for r in lowered.residuals if r.region.is_inside]
    sides = [i for i, r in enumerate(lowered.residuals) if r not in inside and i not in evolution.beginning]
    regions = [lowered.residuals[i].region for i in sides]
    if not all(region.is_boundary and region.sites == 1 for region in regions):
        return ()
    faces = sorted(faces_of(domain), key=lambda face: float(face.at(np.array([[0.5]])).points[0, 0]))
    holds = {
        i: [bool(lowered.residuals[i].region.mask(face.at(np.array([[0.37]])))[0]) for face in faces]
        for i in sides
    }
    if sum(sum(h) for h in holds.values()) <= sum(orders_in(lowered, 0)):
        return ()
    left = _needed(inside, evolution, box_of(domain))
    if left is None:
        return ()
    surplus = []
    for i, at in holds.items():
        if all(n <= 0 for n, here in zip(left, at, strict=True) if here):
            surplus.append(i)
        left = [n - here for n, here in zip(left, at, strict=True)]
    return tuple(surplus) if max(left) <= 0 else ()


def _needed(inside: Sequence[Residual], evolution: Evolution, box: np.ndarray) -> list[int] | None:
    """At the lower end, and at the upper one; None where one cannot tell, or it changes in time."""
    many = len(inside)
    highest = [
        max((j.alpha[0] for r in inside for j in r.linear if j.unknown == k), default=0) for k in range(many)
    ]
    if any(
        any(j.alpha) and (j.alpha[1] or j.alpha[0] >= highest[j.unknown]) for r in inside for j in r.nonlinear
    ):
        return None
    sizes, kappa = np.ptp(box, axis=1), sp.Symbol("kappa")
    found: tuple[set[int], set[int]] = (set(), set())
    for end, share in ((0, 0.0), (0, 0.02), (1, 1.0), (1, 0.98)):
        X = box[:, 0] + sizes * np.array([[share, s] for s in (0.1, 0.5, 0.9)])
        tables = [r.coefficients(X, np.zeros_like(X), r.known_data(X)) for r in inside]
        for n in np.unique(np.concatenate(tables), axis=1, return_index=True)[1]:
            M = sp.zeros(many)
            for i, (r, table) in enumerate(zip(inside, tables, strict=True)):
                for j, c in zip(r.linear, table[:, n], strict=True):
                    if not np.isfinite(c):
                        return None
                    rate = (_LARGE if evolution.forward else -_LARGE) ** j.alpha[1]
                    scaled = sp.Rational(float(c / np.prod(sizes ** np.array(j.alpha))))
                    M[i, j.unknown] += scaled * rate * kappa ** j.alpha[0]
            roots = np.roots([float(c) for c in sp.Poly(M.det(method="berkowitz"), kappa).all_coeffs()])
            if (np.abs(roots.real) <= _ASIDE * np.abs(roots)).any():
                return None
            found[end].add(int(((roots.real > 0) == bool(end)).sum()))
    return [n for counts in found for n in counts] if all(len(counts) == 1 for counts in found) else None

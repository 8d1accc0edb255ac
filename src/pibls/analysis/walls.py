r"""B u = g, one at each point of ∂Ω: what Σ a_ij ∂_i∂_j u + … = f takes where (a_ij) is definite.

Fewer leave u undetermined, whatever the functions it is sought in; what is told twice is `surplus`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pibls.analysis.coverage import probed
from pibls.arrays import Array, Mask, Numbers
from pibls.geometry import Domain, faces_of, time_of
from pibls.problem.forms.lowering import LoweredProblem, Residual

_DEFINITE = 1e-6  # of the coefficients: what vanishes at a wall asks for nothing there


def is_bare(lowered: LoweredProblem, domain: Domain) -> bool:
    """Whether nothing is told of a part of the boundary, and nowhere more than one thing."""
    found = list(_held(lowered, domain))
    twice = any((held > 1).any() for held, _ in found)
    return not twice and any((elliptic & (held == 0)).any() for held, elliptic in found)


def _conditions(lowered: LoweredProblem) -> list[Residual]:
    """All that is told, once: of what is periodic the values, and not the slopes that follow them."""
    told = (r for r in lowered.residuals if not r.region.is_inside)
    return [r for r in told if r.region.sites == 1 or not any(any(j.alpha) for j in r.jets)]


def _held(lowered: LoweredProblem, domain: Domain) -> Iterator[tuple[Numbers, Mask]]:
    """At points of each face how many conditions hold, and whether the equation is elliptic."""
    inside = [r for r in lowered.residuals if r.region.is_inside]
    walls = _conditions(lowered)
    if lowered.unknowns != 1 or len(inside) != 1 or lowered.dimension < 2 or time_of(domain) is not None:
        return
    (equation,) = inside
    if max(sum(j.alpha) for j in equation.jets) != 2 or any(any(j.alpha) for j in equation.nonlinear):
        return
    if lowered.interfaces.planes or not all(r.region.is_boundary and r.jets for r in walls):
        return
    rng = np.random.default_rng(0)
    for face in faces_of(domain):
        there, held = probed(face, [r.region for r in walls], rng)
        yield held, _is_elliptic(equation, there.points)


def _is_elliptic(equation: Residual, X: Array) -> Mask:
    """Where all directions have the same sign, and nothing is infinite."""
    with np.errstate(all="ignore"):
        factors = equation.coefficients(X)
    A = np.zeros((len(X), X.shape[1], X.shape[1]))
    for jet, c in zip(equation.linear, factors, strict=True):
        if sum(jet.alpha) == 2:
            i, *rest = np.flatnonzero(jet.alpha)
            k = rest[0] if rest else i
            A[:, i, k] += 0.5 * c
            A[:, k, i] += 0.5 * c
    finite = np.isfinite(factors).all(axis=0)
    A[~finite] = 0.0
    values = np.linalg.eigvalsh(A)
    one_sign = np.sign(values[:, 0]) * np.sign(values[:, -1]) > 0
    sizes = np.abs(np.where(finite, factors, 0.0)).sum(axis=0)
    return np.asarray(one_sign & (np.abs(values).min(axis=1) > _DEFINITE * sizes))

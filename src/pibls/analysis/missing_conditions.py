r"""Missing boundary conditions of a scalar elliptic equation of second order.

Σ a_ij ∂_i∂_j u + … = f with definite (a_ij) needs one condition at each boundary point; with fewer, u is not
determined in any space of functions. For redundant conditions see `redundant_conditions`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pibls.analysis.coverage import count_conditions
from pibls.arrays import Array, Indices, Mask
from pibls.geometry import Domain, faces_of, time_of
from pibls.problem.forms.compilation import CompiledProblem, Residual

_DEFINITE = 1e-6  # relative to the coefficients: where they vanish on the boundary, no condition is needed


def lacks_boundary_condition(compiled: CompiledProblem, domain: Domain) -> bool:
    """Whether a part of the boundary has no condition, and no part has more than one."""
    found = list(_condition_counts(compiled, domain))
    twice = any((counts > 1).any() for counts, _ in found)
    return not twice and any((elliptic & (counts == 0)).any() for counts, elliptic in found)


def _conditions(compiled: CompiledProblem) -> list[Residual]:
    """Return all conditions; of periodic ones only the values, not the derivatives."""
    given = (r for r in compiled.residuals if not r.region.is_interior)
    return [r for r in given if r.region.sites == 1 or not any(any(j.alpha) for j in r.derivatives)]


def _second_order_equation(compiled: CompiledProblem, domain: Domain) -> Residual | None:
    """Return the equation of a stationary scalar problem, if of second order and linear in derivatives."""
    inside = compiled.equations
    if compiled.unknowns != 1 or len(inside) != 1 or compiled.dimension < 2 or time_of(domain) is not None:
        return None
    if compiled.interfaces.planes or any(any(j.alpha) for j in inside[0].nonlinear):
        return None
    return inside[0] if max(sum(j.alpha) for j in inside[0].derivatives) == 2 else None


def _condition_counts(compiled: CompiledProblem, domain: Domain) -> Iterator[tuple[Indices, Mask]]:
    """Yield for points of each face the number of conditions, and whether the equation is elliptic there."""
    equation, conditions = _second_order_equation(compiled, domain), _conditions(compiled)
    if equation is None or not all(r.region.is_boundary and r.derivatives for r in conditions):
        return
    rng = np.random.default_rng(0)
    for face in faces_of(domain):
        there, counts = count_conditions(face, [r.region for r in conditions], rng)
        yield counts, _is_elliptic(equation, there.points)


def _is_elliptic(equation: Residual, X: Array) -> Mask:
    """Return where the second-order coefficients are definite and all coefficients are finite."""
    with np.errstate(all="ignore"):
        factors = equation.coefficients(X)
    A = np.zeros((len(X), X.shape[1], X.shape[1]))
    for derivative, c in zip(equation.linear, factors, strict=True):
        if sum(derivative.alpha) == 2:
            i, *rest = np.flatnonzero(derivative.alpha)
            k = rest[0] if rest else i
            A[:, i, k] += 0.5 * c
            A[:, k, i] += 0.5 * c
    finite = np.isfinite(factors).all(axis=0)
    A[~finite] = 0.0
    values = np.linalg.eigvalsh(A)
    one_sign = np.sign(values[:, 0]) * np.sign(values[:, -1]) > 0
    sizes = np.abs(np.where(finite, factors, 0.0)).sum(axis=0)
    return np.asarray(one_sign & (np.abs(values).min(axis=1) > _DEFINITE * sizes))

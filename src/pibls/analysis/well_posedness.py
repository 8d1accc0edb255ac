r"""Well-posedness of evolutions: growth of short waves, and conditions at inflow and outflow boundaries.

With frozen coefficients, a linear evolution has solutions exp(λt + iξ·x) with det Σ_k A_k(iξ) λᵏ = 0. If Re λ
grows without bound with abs(ξ) (the backward heat equation, a Cauchy problem for the Laplace equation), the
problem is ill-posed: any error in the data, rounding included, has components of arbitrarily short
wavelength. A first-order equation needs conditions where the flow enters the domain and ignores those where
it leaves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from pibls.analysis.coverage import count_conditions
from pibls.analysis.evolution import Evolution, evolution_of
from pibls.analysis.thresholds import WELL_POSEDNESS
from pibls.arrays import Array
from pibls.geometry import Domain, box_of, faces_of
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.problem.regions.points import Points


def short_wave_growth(compiled: CompiledProblem, domain: Domain) -> float | None:
    """Return by how many decimal digits waves of a tenth of the domain's width grow until the final time.

    None if the problem is not an evolution, if growth does not increase with the wavenumber, or if it cannot
    be determined.
    """
    evolution = evolution_of(compiled, domain)
    inside = compiled.equations
    if evolution is None or compiled.dimension < 2 or len(inside) != compiled.unknowns:
        return None
    if any(any(j.alpha) for r in inside for j in r.nonlinear):
        return None
    box = box_of(domain)
    X = np.asarray(domain.interior(WELL_POSEDNESS.sample_points, np.random.default_rng(0)), dtype=float)
    tables = [r.coefficients(X, np.zeros_like(X), r.data_function_values(X)) for r in inside]
    space = [i for i in range(len(box)) if i != evolution.axis]
    lengths = box[space, 1] - box[space, 0]
    exponents = []
    _, *directions = itertools.product((0.0, 1.0), repeat=len(space))  # the first one is zero
    for signs in directions:
        rates = _growth_rates(inside, tables, evolution, np.array(signs), lengths, space)
        if not np.isfinite(rates).all():
            return None
        if np.all((rates[:, 0] > 0) & (rates[:, 1] > WELL_POSEDNESS.min_growth_ratio * rates[:, 0])):
            exponents.append(float(np.median(rates[:, 2])) * abs(evolution.stop - evolution.start))
    return max(exponents) / math.log(10.0) if exponents else None


def _growth_rates(
    inside: Sequence[Residual],
    tables: Sequence[Array],
    evolution: Evolution,
    direction: Array,
    lengths: Array,
    space: Sequence[int],
) -> Array:
    """Return the growth rates at each point for two short waves and one of a tenth of the width, (n, 3)."""
    # One point per distinct set of coefficients.
    points = np.unique(np.concatenate(tables), axis=1, return_index=True)[1]
    waves = (WELL_POSEDNESS.wave_number, 10.0 * WELL_POSEDNESS.wave_number, 20.0 * math.pi)
    return np.array(
        [
            [_growth_rate(inside, tables, n, evolution, w * direction / lengths, space) for w in waves]
            for n in points
        ]
    )


def _growth_rate(
    inside: Sequence[Residual],
    tables: Sequence[Array],
    n: int,
    evolution: Evolution,
    xi: Array,
    space: Sequence[int],
) -> float:
    """Return the largest Re λ at a point, in the direction of integration; zero if it is negligible."""
    unknowns, order_in_time = len(inside), max(evolution.orders)
    A = np.zeros((order_in_time + 1, unknowns, unknowns), dtype=complex)
    for i, (r, table) in enumerate(zip(inside, tables, strict=True)):
        for j, c in zip(r.linear, table[:, n], strict=True):
            factor = np.prod([(1j * w) ** j.alpha[k] for w, k in zip(xi, space, strict=True)])
            A[j.alpha[evolution.axis], i, j.unknown] += c * factor
    if not order_in_time or not np.isfinite(A).all() or min(evolution.orders) < order_in_time:
        return math.nan
    try:
        B = -np.linalg.solve(A[-1], np.concatenate(list(A[:-1]), axis=1))
    except np.linalg.LinAlgError:
        return math.nan
    companion = np.eye(order_in_time * unknowns, k=unknowns, dtype=complex)
    companion[-unknowns:] = B
    roots = np.linalg.eigvals(companion)
    # Roots that should be zero (geostrophic balance) are nonzero by rounding.
    sizes = np.abs(roots)
    rates = np.where(
        np.abs(roots.real) > np.maximum(WELL_POSEDNESS.min_relative_real_part * sizes, 1e-12 * sizes.max()),
        roots.real,
        0.0,
    )
    return float((rates if evolution.forward else -rates).max())


_MIN_COEFFICIENT = 1e-6  # relative; smaller coefficients at the boundary need no condition


def outflow_conditions(compiled: CompiledProblem, domain: Domain) -> tuple[int, ...]:
    """Return the indices of conditions prescribed where u_t + b·∇u + … = 0 has outflow."""
    found = _scalar_evolution(compiled, domain)
    if found is None or found[1] > 1:
        return ()
    equation, _, evolution = found
    out = []
    for i, r in enumerate(compiled.residuals):
        plain = len(r.linear) == 1 and not r.nonlinear and not any(r.linear[0].alpha)
        if not plain or not r.region.is_boundary or i in evolution.initial_conditions:
            continue
        points = r.region.sample(domain, Points(1, WELL_POSEDNESS.sample_points, 1), np.random.default_rng(0))
        speed = _outflow_speed(equation, evolution, points.sites[0], points.normals)
        if len(speed) and bool((speed > 0).all()):
            out.append(i)
    return tuple(out)


def _outflow_speed(equation: Residual, evolution: Evolution, X: Array, normals: Array) -> Array:
    """Return b·n of u_t + b·∇u + … = 0, up to a positive factor, at points of the boundary."""
    a = equation.coefficients(X, np.zeros_like(X), equation.data_function_values(X))
    normal_flux, rate = np.zeros(len(X)), np.zeros(len(X))
    for j, c in zip(equation.linear, a, strict=True):
        if j.alpha[evolution.axis]:
            rate += c
        elif any(j.alpha):
            normal_flux += c * normals[:, j.alpha.index(1)]
    return np.asarray(normal_flux * np.sign(rate) * (1.0 if evolution.forward else -1.0))


def _scalar_evolution(compiled: CompiledProblem, domain: Domain) -> tuple[Residual, int, Evolution] | None:
    """Return the only equation of an evolution in space, if linear in all derivatives, and its order."""
    evolution = evolution_of(compiled, domain)
    inside = compiled.equations
    if evolution is None or compiled.unknowns != 1 or len(inside) != 1 or compiled.dimension < 2:
        return None
    (equation,) = inside
    if any(any(j.alpha) for j in equation.nonlinear):
        return None
    return equation, max(sum(j.alpha) for j in equation.derivatives), evolution


def has_missing_inflow_conditions(compiled: CompiledProblem, domain: Domain) -> bool:
    """Whether u_t + b·∇u - ∇·(a∇u) + … = 0 lacks a condition on a part of the boundary where it needs one.

    One is needed at inflow (b·n < 0) and where the equation has second derivatives normal to the boundary,
    but not where coefficients vanish or are infinite, as at r = 0.
    """
    found = _scalar_evolution(compiled, domain)
    if found is None or found[1] > 2:
        return False
    equation, order, evolution = found
    prescribed = [
        r.region
        for i, r in enumerate(compiled.residuals)
        if not r.region.is_interior and i not in evolution.initial_conditions
    ]
    if not all(r.is_boundary for r in prescribed):
        return False
    rng = np.random.default_rng(0)
    scanned = [count_conditions(face, prescribed, rng) for face in faces_of(domain)]
    if any((counts > 1).any() for _, counts in scanned):
        return False  # two conditions at one end may replace one at each end
    return any(
        _needs_condition(
            equation, order, evolution, boundary.points[counts == 0], boundary.normals[counts == 0]
        )
        for boundary, counts in scanned
    )


def _needs_condition(equation: Residual, order: int, evolution: Evolution, X: Array, normals: Array) -> bool:
    """Whether an equation of order 1 or 2 needs a condition at one of these points of the boundary."""
    if not len(X):
        return False
    with np.errstate(all="ignore"):
        a = equation.coefficients(X, np.zeros_like(X), equation.data_function_values(X))
    across, rate, sizes = np.zeros(len(X)), np.zeros(len(X)), np.zeros(len(X))
    for j, c in zip(equation.linear, a, strict=True):
        if j.alpha[evolution.axis]:
            rate = rate + c
        elif sum(j.alpha) == order:
            across = across + c * np.prod(normals ** np.array(j.alpha), axis=1)
        sizes = sizes + np.abs(c)
    # First order: inflow; second order: any normal derivative.
    direction = np.sign(rate) * (1.0 if evolution.forward else -1.0)
    needed = -across * direction if order == 1 else np.abs(across)
    return bool((np.isfinite(sizes) & (needed > _MIN_COEFFICIENT * sizes)).any())

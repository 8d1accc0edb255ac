r"""Conditioning of the linearized least-squares problem, and the share of the data left unexplained.

The stability constant is c = min over points x of min ‖J w‖ over functions with u(x) = 1, the smallest
residual of a function with the value one somewhere: |u(x)| ≤ ‖J w‖/c. It is the inverse of the largest
leverage, 1/max ‖R⁻ᵀφ(x)‖ for J = QR, over 24 sample points. If it is zero, the problem is under-determined.
If it is small, rounding errors are amplified: near a resonance two solutions may agree far better than
either is accurate.

`unexplained_share` compares the residual of a solution with that of u = 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import Norms
from pibls.arrays import Array
from pibls.assembly.even_odd import EvenOddSystem
from pibls.assembly.scaled_residuals import residuals_at
from pibls.assembly.shared_coefficients import SharedCoefficientSystem
from pibls.assembly.system import System
from pibls.linalg.matrix import is_finite
from pibls.linalg.protocol import LeverageFactorization, as_leverage_factorization
from pibls.linalg.ridge_qr import leverage_factors
from pibls.nonlinear import Outcome
from pibls.spaces import SingleDomainSpace, Space

_SAMPLE_POINTS = 24
_POSITION_ROUNDING = 4e-15
"""Rounding of a coordinate, relative to its distance from the centre."""
_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Conditioning:
    """Stability constant of a problem at its solution, and the effect of rounding."""

    stability_constant: float
    """The smallest residual caused by a change of the solution by 1 at some point."""
    rounding: Array = field(default_factory=lambda: np.zeros(1))
    """Change of each unknown by rounding errors in the terms of the equations."""


UNKNOWN_CONDITIONING = Conditioning(np.inf)


def conditioning_at(
    context: ValidationContext,
    system: System | SharedCoefficientSystem | EvenOddSystem,
    outcome: Outcome,
    sample_offset: int,
    *,
    exactly: bool,
) -> Conditioning:
    """Return the conditioning at a solution, from the factors of its solve or ``exactly`` from new ones.

    ``sample_offset`` selects which of the comparison points are the sample points. Factors of a nonlinear
    solve that ended early are truncated: a small stability constant is computed again exactly.
    """
    found_with = as_leverage_factorization(outcome.factors)
    if system.is_linear and found_with is not None:
        return compute_conditioning(context, system, found_with, outcome.w, sample_offset)
    J, _ = system.linearize(system.values(outcome.w))
    if not is_finite(J):
        return UNKNOWN_CONDITIONING
    known = None if exactly else found_with
    found = compute_conditioning(
        context, system, leverage_factors(J) if known is None else known, outcome.w, sample_offset
    )
    if system.is_linear or exactly or found.stability_constant > context.thresholds.min_stability:
        return found
    return compute_conditioning(context, system, leverage_factors(J), outcome.w, sample_offset)


def compute_conditioning(
    context: ValidationContext,
    system: System | SharedCoefficientSystem | EvenOddSystem,
    factors: LeverageFactorization,
    w: Array,
    sample_offset: int,
) -> Conditioning:
    """Return min 1/‖R⁻ᵀφ(x)‖ over points x, for rows of unit length, and Σᵢ|∂u/∂rᵢ| ε|terms| there.

    ``sample_offset`` selects which of the comparison points are the points x. If a condition is missing,
    some function has no residual, and the minimum is zero up to rounding.
    """
    space: SingleDomainSpace = system.space
    # A regular subset of random points is random too.
    X = context.comparison_points.all[
        sample_offset % _SAMPLE_POINTS :: max(len(context.comparison_points.all) // _SAMPLE_POINTS, 1)
    ][:_SAMPLE_POINTS]
    zero = (0,) * context.compiled.dimension
    # Functions of a subdomain are evaluated only there: elsewhere they are undetermined.
    places = [X] * len(space.bases) if context.subdomains is None else context.subdomains.points_by_unknown(X)
    stability_constant, least_determined = np.inf, []
    for k, points in enumerate(places):
        if not len(points):
            continue
        values = np.zeros((len(points), space.columns))
        values[:, space.slices[k]] = space.bases[k].jets(points, [zero])[0]
        values = system.merge_columns(values)
        leverages = factors.leverage(values)
        index = int(np.argmax(leverages))
        stability_constant = min(stability_constant, 1.0 / float(leverages[index]))
        least_determined.append(values[index])
    if stability_constant > context.thresholds.min_safe_stability or len(least_determined) < len(places):
        return Conditioning(stability_constant)
    return Conditioning(
        stability_constant, _EPS * factors.influence(np.array(least_determined), system.term_magnitudes(w))
    )


def unexplained_share(
    context: ValidationContext, space: Space, w: Array, residuals: Mapping[str, Norms]
) -> float:
    """Return max|r(w)| / max|r(0)|: the share of the data that a solution leaves unexplained.

    Relative to the terms of an unbounded solution any residual is small; relative to the data it is not. Data
    that are zero up to rounding, as sin(πx) at x = 1, change completely with a rounding of x and are ignored.
    """
    beside = {
        region: replace(
            p, sites=tuple(X + _POSITION_ROUNDING * (context.box.mean(axis=1) - X) for X in p.sites)
        )
        for region, p in context.held_out.items()
    }
    given, near = (
        residuals_at(context.compiled, points, space, np.zeros_like(w), context.box)[0]
        for points in (context.held_out, beside)
    )
    sizes = {
        name: float(np.abs(there.values).max(initial=0.0))
        for name, there in given.items()
        if np.abs(there.values - near[name].values).max(initial=0.0)
        < 0.5 * np.abs(there.values).max(initial=0.0)
    }
    shares = [residuals[name].max / size for name, size in sizes.items() if 0 < size < np.inf]
    return max(shares, default=0.0)

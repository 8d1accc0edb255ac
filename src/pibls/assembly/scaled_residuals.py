r"""Residuals at points that were not fitted, with the size of their terms.

A residual r(x) = Σ terms(x) is compared with the size of its terms at the same point. Near a singularity the
terms are large, and a residual that is small relative to them must not hide one elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.assembly.points import PointSet
from pibls.assembly.residual_coefficients import ResidualCoefficients
from pibls.problem import PartialDerivative, Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.spaces import Space


@dataclass(frozen=True)
class ScaledResidual:
    """A residual at points, and the size of its largest term at each of them."""

    values: Array
    term_sizes: Array

    def __add__(self, other: ScaledResidual) -> ScaledResidual:
        """Add another part of the same sum."""
        return ScaledResidual(self.values + other.values, np.maximum(self.term_sizes, other.term_sizes))

    @property
    def relative(self) -> Array:
        """Return |r| relative to its terms at each point; infinite where it is not finite."""
        with np.errstate(all="ignore"):
            out = np.abs(self.values) / np.where(self.term_sizes > 0, self.term_sizes, 1.0)
        return np.where(np.isfinite(out), out, np.inf)


@dataclass(frozen=True)
class UnknownScales:
    """The magnitude of each unknown, and the half-lengths of the box over which it varies."""

    magnitudes: Array
    half_lengths: Array

    @classmethod
    def of(cls, unknowns: Array, box: Array, min_magnitudes: Array | float = 0.0) -> UnknownScales:
        """From the values (unknowns, n) in a box, and a lower bound of their magnitudes."""
        half = 0.5 * (box[:, 1] - box[:, 0])
        sizes = np.maximum(np.abs(unknowns).max(axis=1, initial=0.0), min_magnitudes)
        return cls(sizes, np.where(half > 0, half, 1.0))

    def derivative_scale(self, unknown: int, alpha: MultiIndex) -> float:
        """Return the size of ∂^α of an unknown that varies over the whole box."""
        return float(self.magnitudes[unknown]) / math.prod(
            float(h) ** a for h, a in zip(self.half_lengths, alpha, strict=True)
        )


def residuals_at(
    compiled: CompiledProblem,
    points: Mapping[Region, PointSet],
    space: Space,
    w: Array,
    box: Array,
    min_magnitudes: Array | float = 0.0,
    cache: dict[int, ResidualCoefficients] | None = None,
) -> tuple[dict[str, ScaledResidual], Array]:
    """Return r(w) by name at given points, and the unknowns there (unknowns, n), without forming a matrix.

    ``min_magnitudes`` are lower bounds of the magnitudes of the unknowns. ``cache`` keeps the coefficients of
    the residuals at these points for later calls.
    """
    zero = (0,) * compiled.dimension
    derivatives: dict[Region, dict[PartialDerivative, Array]] = {}
    for region, found in points.items():
        wanted = {
            j: None for r in compiled.residuals if r.region == region for j in (*r.linear, *r.nonlinear)
        }
        wanted |= {
            PartialDerivative(k, zero, s): None
            for s in range(len(found.sites))
            for k in range(compiled.unknowns)
        }
        keys = tuple(wanted)
        derivatives[region] = dict(zip(keys, space.values(found.sites, keys, w), strict=True))
    unknowns = np.array(
        [
            np.concatenate(
                [
                    derivatives[r][PartialDerivative(k, zero, s)]
                    for r in points
                    for s in range(len(points[r].sites))
                ]
            )
            for k in range(compiled.unknowns)
        ]
    )
    scale = UnknownScales.of(unknowns, box, min_magnitudes)
    judged: dict[str, ScaledResidual] = {}
    for r in compiled.residuals:
        if len(points[r.region]):
            term = _scaled_residual(
                ResidualCoefficients.of(r, points[r.region], cache), derivatives[r.region], scale
            )
            judged[r.name] = term if r.name not in judged else judged[r.name] + term
    return judged, unknowns


def _scaled_residual(
    known: ResidualCoefficients, derivatives: Mapping[PartialDerivative, Array], scale: UnknownScales
) -> ScaledResidual:
    residual, where = known.residual, known.points
    X, normals, data, a = where.sites[0], where.normals, known.data, known.coefficients
    nonlinear = np.array([derivatives[j] for j in residual.nonlinear]).reshape(-1, len(where))
    rest = residual.rest(X, normals, data, nonlinear) if known.rest is None else known.rest
    sizes = np.abs(rest)
    if residual.nonlinear:
        # At a solution the terms of ρ may cancel: their size is estimated from the partial derivatives.
        slopes = residual.partials(X, normals, data, nonlinear)
        for slope, derivative in zip(slopes, residual.nonlinear, strict=True):
            part = np.abs(slope) * np.maximum(
                np.abs(derivatives[derivative]), scale.derivative_scale(derivative.unknown, derivative.alpha)
            )
            sizes = np.maximum(sizes, np.where(np.isfinite(part), part, 0.0))
    values = rest
    for c, derivative in zip(a, residual.linear, strict=True):
        values = values + c * derivatives[derivative]
        natural = scale.derivative_scale(derivative.unknown, derivative.alpha)
        sizes = np.maximum(sizes, np.abs(c) * np.maximum(np.abs(derivatives[derivative]), natural))
    if where.weights is not None:
        # The parts of an integral may cancel: it is compared with the integral of their absolute values.
        return ScaledResidual(
            where.summed(values), (sizes.reshape(where.weights.shape) * np.abs(where.weights)).sum(1)
        )
    return ScaledResidual(values, sizes)

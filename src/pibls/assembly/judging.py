r"""r(x) = Σ terms(x), beside Σ |terms(x)|: residuals at points that were not fitted, next to their terms.

A residual says little by itself. It is compared with the terms that it is the sum of, where it is taken: near
a singularity the terms are huge, and a residual that is small next to them must not hide one elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, MultiIndex
from pibls.assembly.known import Known
from pibls.assembly.points import PointSet
from pibls.problem import Jet, Region
from pibls.problem.forms.lowering import LoweredProblem
from pibls.spaces import Space


@dataclass(frozen=True)
class Judged:
    """A residual at points, and the size of the terms that it is the sum of there."""

    values: Array
    sizes: Array

    def __add__(self, other: Judged) -> Judged:
        """Two terms of one sum."""
        return Judged(self.values + other.values, np.maximum(self.sizes, other.sizes))

    @property
    def relative(self) -> Array:
        """|r| next to its terms, at each point; infinite where it is not a number."""
        with np.errstate(all="ignore"):
            out = np.abs(self.values) / np.where(self.sizes > 0, self.sizes, 1.0)
        return np.where(np.isfinite(out), out, np.inf)


@dataclass(frozen=True)
class UnknownScales:
    """How large each unknown is, and over which lengths it varies at least."""

    unknowns: Array
    half: Array

    @classmethod
    def of(cls, unknowns: Array, box: Array, least: Array | float = 0.0) -> UnknownScales:
        """From the values (unknowns, n) in a box, and what is known to be their least size."""
        half = 0.5 * (box[:, 1] - box[:, 0])
        sizes = np.maximum(np.abs(unknowns).max(axis=1, initial=0.0), least)
        return cls(sizes, np.where(half > 0, half, 1.0))

    def at_least(self, unknown: int, alpha: MultiIndex) -> float:
        """∂^α of a function of that size that varies over the whole of the piece."""
        return float(self.unknowns[unknown]) / math.prod(
            float(h) ** a for h, a in zip(self.half, alpha, strict=True)
        )


def residuals_at(
    lowered: LoweredProblem,
    points: Mapping[Region, PointSet],
    space: Space,
    w: Array,
    box: Array,
    least: Array | float = 0.0,
    known: dict[int, Known] | None = None,
) -> tuple[dict[str, Judged], Array]:
    """r(w) by name at other points, and the unknowns there (unknowns, n); no matrix is formed.

    ``least``: the sizes that the unknowns have elsewhere. ``known`` keeps what the equations are at these
    points, for the next time that they are asked there.
    """
    zero = (0,) * lowered.dimension
    jets: dict[Region, dict[Jet, Array]] = {}
    for region, found in points.items():
        wanted = {j: None for r in lowered.residuals if r.region == region for j in (*r.linear, *r.nonlinear)}
        wanted |= {Jet(k, zero, s): None for s in range(len(found.sites)) for k in range(lowered.unknowns)}
        keys = tuple(wanted)
        jets[region] = dict(zip(keys, space.values(found.sites, keys, w), strict=True))
    unknowns = np.array(
        [
            np.concatenate([jets[r][Jet(k, zero, s)] for r in points for s in range(len(points[r].sites))])
            for k in range(lowered.unknowns)
        ]
    )
    scale = UnknownScales.of(unknowns, box, least)
    judged: dict[str, Judged] = {}
    for r in lowered.residuals:
        if len(points[r.region]):
            term = _judge(Known.of(r, points[r.region], known), jets[r.region], scale)
            judged[r.name] = term if r.name not in judged else judged[r.name] + term
    return judged, unknowns


def _judge(known: Known, jets: Mapping[Jet, Array], scale: UnknownScales) -> Judged:
    residual, where = known.residual, known.points
    X, normals, data, a = where.sites[0], where.normals, known.data, known.coefficients
    nonlinear = np.array([jets[j] for j in residual.nonlinear]).reshape(-1, len(where))
    rest = residual.rest(X, normals, data, nonlinear) if known.rest is None else known.rest
    sizes = np.abs(rest)
    if residual.nonlinear:
        # At a solution the rest may cancel within itself: its terms are as large as its slopes say.
        slopes = residual.partials(X, normals, data, nonlinear)
        for slope, jet in zip(slopes, residual.nonlinear, strict=True):
            part = np.abs(slope) * np.maximum(np.abs(jets[jet]), scale.at_least(jet.unknown, jet.alpha))
            sizes = np.maximum(sizes, np.where(np.isfinite(part), part, 0.0))
    values = rest
    for c, jet in zip(a, residual.linear, strict=True):
        values = values + c * jets[jet]
        natural = scale.at_least(jet.unknown, jet.alpha)
        sizes = np.maximum(sizes, np.abs(c) * np.maximum(np.abs(jets[jet]), natural))
    if where.weights is not None:
        # The parts of an integral may cancel: it is compared with what they are without their signs.
        return Judged(
            where.summed(values), (sizes.reshape(where.weights.shape) * np.abs(where.weights)).sum(1)
        )
    return Judged(values, sizes)

"""Singular functions of one place: columns for a basis, and the points that resolve them.

Singular functions of corners, junctions, holes, layers and end points, and those given by the user, are
such blocks; `builder` lists the kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from pibls.adaptive.basis_parts import ReducibleSpec
from pibls.adaptive.thresholds import ENRICHMENT
from pibls.analysis.singular_points import Strength
from pibls.arrays import Array, Complex, Mask
from pibls.basis import BasisSpec
from pibls.geometry import Boundary, Domain, box_of
from pibls.spaces import VectorFunctions


def _no_points() -> Array:
    return np.empty((0, 0))


class FunctionFamily(Protocol):
    """Functions whose number grows with the accuracy: those around holes and in boundary layers."""

    def functions(self, efolds: float) -> tuple[BasisSpec, ...]:
        """Return as many functions as leave an error of e^-efolds."""

    def boundary_points(self, efolds: float, shift: float = 0.0) -> Boundary:
        """Return the boundary points that these functions need."""

    def fit_points(self, efolds: float, domain: Domain) -> Array:
        """Return the interior points that they need, (n, d)."""


@dataclass(frozen=True, eq=False)
class SingularFunctions:
    """Singular functions of one place, and their points (n, d)."""

    strength: Strength = Strength.WEAK
    parts: tuple[BasisSpec, ...] = ()
    """Functions with separate coefficients for each unknown."""
    fields: tuple[VectorFunctions, ...] = ()
    """Vector-valued functions with one coefficient for all unknowns."""
    family: FunctionFamily | None = None
    """Functions whose number grows with each refinement."""
    places: Array = field(default_factory=_no_points, repr=False)
    """Positions of the singularities."""
    inside: Array | None = field(default=None, repr=False)
    """A point (d,) of the subdomain in which ``parts`` are used; None: in all of them."""
    validation_points: Array = field(default_factory=_no_points, repr=False)
    fit_points: Array = field(default_factory=_no_points, repr=False)
    comparison_points: Array = field(default_factory=_no_points, repr=False)
    """Points at which two solutions are compared, but no residuals are evaluated."""
    boundary_validation_points: Boundary | None = field(default=None, repr=False)
    boundary_fit_points: Boundary | None = field(default=None, repr=False)

    @property
    def size(self) -> int:
        """Number of functions, without those of the family."""
        return sum(p.size for p in self.parts) + sum(f.size for f in self.fields)

    def reduced(self, share: float) -> SingularFunctions:
        """Return the block without the highest powers of ``parts``."""
        return replace(self, parts=tuple(reduced(p, share) for p in self.parts))

    def without_functions(self) -> SingularFunctions:
        """Return the block with its points alone."""
        return replace(self, parts=(), fields=(), family=None)

    def parts_in(self, locates: Callable[[Array], Mask]) -> tuple[BasisSpec, ...]:
        """Return ``parts`` if they belong to a subdomain, else none."""
        own = self.inside is None or bool(locates(self.inside[None, :])[0])
        return self.parts if own else ()


def reduced(part: BasisSpec, share: float) -> BasisSpec:
    """Drop the highest orders, if there are any."""
    return part.reduced(share) if isinstance(part, ReducibleSpec) else part


def graded_points(
    points_at: Callable[[Complex], Array],
    sector: tuple[float, float],
    domain: Domain,
    shift: float,
    angles: int | None = None,
) -> Array:
    """Return points of the domain at geometrically decreasing distances in a sector (first angle, width).

    ``points_at`` maps complex offsets from the singular point to points (n, 2).
    """
    box, angles = box_of(domain), angles or ENRICHMENT.validation_angles
    reach = 0.25 * float((box[:, 1] - box[:, 0]).min())
    r = reach * 0.5 ** (np.arange(ENRICHMENT.validation_levels) + shift)
    angle = sector[0] + sector[1] * (np.arange(angles) + shift) / angles
    X = points_at((r[:, None] * np.exp(1j * angle)).ravel())
    return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])

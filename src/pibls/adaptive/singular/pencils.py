"""Singular functions of an operator pencil: at corners of systems, and where interfaces meet, bend or end.

The exponents are computed in `analysis.corners`; each function has a component in the basis of every unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from pibls.adaptive.singular.functions import SingularFunctions, graded_points
from pibls.adaptive.singular.reach import Cut, sectors_reached
from pibls.adaptive.thresholds import ENRICHMENT, SYSTEM_CORNERS
from pibls.analysis.analysis import Analysis
from pibls.analysis.corners.pencil import CornerPower, with_bessel
from pibls.analysis.corners.system_corners import (
    PencilPoint,
    SystemCorner,
    corner_bases,
    lower_order_bases,
    max_distance,
)
from pibls.analysis.singular_points import Strength
from pibls.analysis.thresholds import SCALAR_CORNERS
from pibls.arrays import Array, Complex
from pibls.geometry import Domain
from pibls.problem.interfaces.decomposition import SubdomainDecomposition
from pibls.spaces import VectorFunctions

Exponents = Sequence[tuple[complex, int]]


def functions_at_system_corners(analysis: Analysis) -> Iterator[SingularFunctions]:
    """Yield the singular functions of corners of a system.

    For nonlinear systems high powers gain less than the nonlinear terms leave, and weak corners are left to
    refined cells.
    """
    known: dict[tuple[float, int], Exponents] = {}
    for corner in analysis.system_corners:
        if not (analysis.is_linear or corner.is_strong):
            continue
        most = SYSTEM_CORNERS.max_degree if analysis.is_linear else SYSTEM_CORNERS.max_degree_nonlinear
        # Corners of equal angle usually have the same exponents, as the four of a square.
        key = round(corner.angle, 9), len(corner.pencil.conditions)
        exponents = _exponents(corner, most, known.get(key, ()))
        known.setdefault(key, exponents)
        powers = corner.pencil.powers(most, exponents)
        where = _subdomain_of(corner, analysis.domain, analysis.decomposition)
        yield _functions_at(corner, powers, exponents, {where: 0}, (where,), analysis.domain)


def functions_at_junctions(analysis: Analysis) -> Iterator[SingularFunctions]:
    """Yield the singular functions where interfaces meet, bend or end."""
    exponents: Exponents = ()
    domain, decomposition = analysis.domain, analysis.decomposition
    for junction in analysis.junctions:
        assert decomposition is not None
        cuts = [Cut(np.array(junction.point), s.middle) for s in junction.pencil.sectors]
        own = {p: i for i, p in enumerate(junction.subdomains)}
        if any(cuts[i].crosses(p, domain, decomposition) for p, i in own.items()):
            continue
        exponents = _exponents(junction, SYSTEM_CORNERS.max_degree, exponents)
        powers = junction.pencil.powers(SYSTEM_CORNERS.max_degree, exponents)
        if powers:
            if junction.is_reaction_only:
                powers = with_bessel(powers, SCALAR_CORNERS.max_power_reaction)
            reached = sectors_reached(own, cuts, domain, decomposition)
            yield _functions_at(junction, powers, exponents, reached, junction.subdomains, domain)


def _exponents(place: PencilPoint, most: float, known: Exponents) -> Exponents:
    """Return the exponents of a pencil: those ``known`` from another one, if they fit."""
    return known if place.pencil.has_exponents(known) else place.pencil.exponents(most)


def _subdomain_of(corner: SystemCorner, domain: Domain, decomposition: SubdomainDecomposition | None) -> int:
    if decomposition is None:
        return 0
    sector = corner.start, corner.angle
    X = graded_points(partial(_points_at, corner.point), sector, domain, 0.5, 1)
    return int(decomposition.locate(X[-1:])[0])


def _functions_at(
    place: PencilPoint,
    powers: Sequence[CornerPower],
    exponents: Exponents,
    reached: Mapping[int, int],
    own: Sequence[int],
    domain: Domain,
) -> SingularFunctions:
    """Return the functions of a pencil and of terms of lower order.

    ``reached``: the sector of each subdomain with these functions; ``own``: the subdomains of the sectors.
    """
    strong = place.strength is Strength.ESSENTIAL
    length = max_distance(place.point, domain)
    found = corner_bases(place.point, place.pencil, powers, length)
    bases = {(p, k): basis for (i, k), basis in found.items() for p, j in reached.items() if i == j}
    fields = [VectorFunctions(bases, tuple(p.degree.real for p in powers), place.point, strong)]
    near, inner = [], []
    for sector, p in zip(place.pencil.sectors, own, strict=True):
        more = lower_order_bases(place, sector, exponents, domain, length)
        fields += [
            VectorFunctions({(p, k): basis}, tuple(basis.terms[:, 0].tolist()), place.point, strong, False)
            for k, basis in more.items()
        ]
        fine = SYSTEM_CORNERS.lower_order_angles if more else ENRICHMENT.validation_angles
        at, angles = partial(_points_at, place.point), (sector.start, sector.stop - sector.start)
        near.append(graded_points(at, angles, domain, 0.5))
        inner.append(graded_points(at, angles, domain, 0.2, fine))
    return SingularFunctions(
        place.strength,
        fields=tuple(fields),
        places=np.array([place.point]),
        validation_points=np.concatenate(near),
        fit_points=np.concatenate(inner),
        boundary_fit_points=place.sides,
    )


def _points_at(point: tuple[float, float], z: Complex) -> Array:
    return np.array(point) + np.stack([z.real, z.imag], axis=-1)

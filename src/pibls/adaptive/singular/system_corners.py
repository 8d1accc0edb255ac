r"""Enrichment A_k(x) = [random features | corner functions of unknown k] for systems and interfaces.

The corner functions are computed in `analysis.corners.system_corners` and `analysis.corners.junctions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pibls.adaptive.singular.enrichment import Enrichment, corner_enrichment
from pibls.adaptive.thresholds import ENRICHMENT, SYSTEM_CORNERS
from pibls.analysis.corners.junctions import Junction
from pibls.analysis.corners.pencil import Sector, with_bessel
from pibls.analysis.corners.scalar_corners import Corner
from pibls.analysis.corners.system_corners import (
    SystemCorner,
    corner_bases,
    lower_order_bases,
    max_distance,
)
from pibls.analysis.thresholds import JUNCTIONS, SCALAR_CORNERS, SEGMENTS
from pibls.arrays import Array
from pibls.basis import BasisSpec
from pibls.basis.singular.corner_functions import as_singular
from pibls.geometry import Domain, box_of
from pibls.geometry.faces.face import join_boundaries
from pibls.problem.forms.compilation import CompiledProblem
from pibls.problem.interfaces.decomposition import SubdomainDecomposition
from pibls.spaces import VectorFunctions


def enrich_subdomains(
    corners: Sequence[Corner],
    corners_of_system: Sequence[SystemCorner],
    compiled: CompiledProblem,
    decomposition: SubdomainDecomposition,
    given: Sequence[BasisSpec],
) -> Enrichment:
    """Return the enrichment by corners of the domain, each in its subdomain."""
    domain = decomposition.domain
    size = float(np.linalg.norm(np.ptp(box_of(domain), axis=1)))

    def piece(corner: Corner) -> Domain:
        z = SEGMENTS.corner_offset * size * np.exp(1j * (corner.start + 0.5 * corner.angle))
        return decomposition.subdomain(int(decomposition.locate(corner.points_at(np.array([z])))[0]))

    found = corner_enrichment(corners, compiled, domain, given, piece)
    if _artificial_interfaces(decomposition):
        found = _extend_across_interfaces(found, compiled.unknowns, decomposition)
    return with_system_corners(found, corners_of_system, domain, decomposition)


def _extend_across_interfaces(
    extra: Enrichment, unknowns: int, decomposition: SubdomainDecomposition
) -> Enrichment:
    """Extend corner functions across artificial interfaces, to subdomains close to the corner."""
    fields, parts = list(extra.vector_functions), []
    for part in extra.parts:
        corner = as_singular(part)
        if corner is None:
            parts.append(part)
            continue
        tip, basis = corner.tip, corner.draw(np.empty((0, 2)), np.random.default_rng(0))
        own = {int(decomposition.locate(tip.inside[None, :])[0]): 0}
        way = tip.inside - np.array(tip.point)
        cut = (np.array(tip.point), float(np.arctan2(way[1], way[0])))
        reached = (
            own if tip.end is not None else _sectors_reached(own, [cut], decomposition.domain, decomposition)
        )
        degrees = tuple(float(p + q) for p, q, _, _ in corner.terms)
        fields += [
            VectorFunctions({(p, k): basis for p in reached}, degrees, tip.point) for k in range(unknowns)
        ]
    return replace(extra, parts=tuple(parts), vector_functions=tuple(fields))


def with_system_corners(
    extra: Enrichment,
    corners_of_system: Sequence[SystemCorner],
    domain: Domain,
    decomposition: SubdomainDecomposition | None = None,
    *,
    is_linear: bool = True,
) -> Enrichment:
    """Add the corner functions of a system to an enrichment.

    For nonlinear systems high powers gain less than the nonlinear terms leave, and weak corners are left to
    refined cells.
    """
    corners_of_system = [w for w in corners_of_system if is_linear or w.is_strong]
    highest = SYSTEM_CORNERS.max_degree if is_linear else SYSTEM_CORNERS.max_degree_nonlinear
    if not corners_of_system:
        return extra
    known: dict[tuple[float, int], list[tuple[complex, int]]] = {}
    fields, inner = list(extra.vector_functions), []
    for corner in corners_of_system:
        # Corners of equal angle usually have the same exponents, as the four of a square.
        key = round(corner.angle, 9), len(corner.pencil.conditions)
        exponents = known.get(key, [])
        if not corner.pencil.has_exponents(exponents):
            exponents = corner.pencil.exponents(highest)
        known.setdefault(key, exponents)
        leading, *lower_order = _functions_of_corner(corner, exponents, highest, domain, decomposition)
        fields += [leading, *lower_order]
        angles = SYSTEM_CORNERS.lower_order_angles if lower_order else ENRICHMENT.validation_angles
        inner.append(_graded_points(corner, domain, 0.2, angles))
    near = [_graded_points(w, domain, 0.5, ENRICHMENT.validation_angles) for w in corners_of_system]
    sides = [w.sides for w in corners_of_system]
    strong_points = [w.point for w in corners_of_system if w.is_strong]
    return replace(
        extra,
        vector_functions=tuple(fields),
        is_essential=extra.is_essential or bool(strong_points),
        validation_points=np.concatenate([extra.validation_points, *near]),
        fit_points=np.concatenate([extra.fit_points, *inner]),
        boundary_fit_points=join_boundaries(
            sides if extra.boundary_fit_points is None else [extra.boundary_fit_points, *sides], 2
        ),
        corners=np.concatenate([extra.corners, np.array([w.point for w in corners_of_system])]),
        # At weak corners even the pressure is smooth enough for a standard quadrature rule.
        singular_points=np.concatenate([extra.singular_points, np.array(strong_points).reshape(-1, 2)]),
    )


def _functions_of_corner(
    corner: SystemCorner,
    exponents: list[tuple[complex, int]],
    highest: float,
    domain: Domain,
    decomposition: SubdomainDecomposition | None,
) -> list[VectorFunctions]:
    """Return the singular functions of a corner, then those that its terms of lower order add."""
    powers = corner.pencil.powers(highest, exponents)
    length = max_distance(corner.point, domain)
    found = corner_bases(corner.point, corner.pencil, powers, length)
    where = 0
    if decomposition is not None:
        where = int(decomposition.locate(_graded_points(corner, domain, 0.5, 1)[-1:])[0])
    bases = {(where, k): basis for (_, k), basis in found.items()}
    leading = VectorFunctions(bases, tuple(p.degree.real for p in powers), corner.point, corner.is_strong)
    more = lower_order_bases(corner, corner.pencil.sectors[0], exponents, domain, length)
    return [
        leading,
        *(
            VectorFunctions(
                {(where, k): basis},
                tuple(basis.terms[:, 0].tolist()),
                corner.point,
                corner.is_strong,
                exact=False,
            )
            for k, basis in more.items()
        ),
    ]


def with_junctions(
    extra: Enrichment, junctions: Sequence[Junction], domain: Domain, decomposition: SubdomainDecomposition
) -> Enrichment:
    """Add the singular functions where interfaces meet, bend or end."""
    new: list[VectorFunctions] = []
    near, inner = [extra.validation_points], [extra.fit_points]
    exponents: list[tuple[complex, int]] = []
    for junction in junctions:
        cuts = [(np.array(junction.point), sector.middle) for sector in junction.pencil.sectors]
        if any(
            _crosses_branch_cut(*cut, p, domain, decomposition)
            for cut, p in zip(cuts, junction.subdomains, strict=True)
        ):
            continue
        if not junction.pencil.has_exponents(exponents):
            exponents = junction.pencil.exponents(SYSTEM_CORNERS.max_degree_junction)
        leading = _functions_of_junction(junction, exponents, cuts, domain, decomposition)
        if leading is None:
            continue
        new.append(leading)
        for sector, p in zip(junction.pencil.sectors, junction.subdomains, strict=True):
            lower_order = _lower_order_functions(junction, sector, p, exponents, domain)
            new += lower_order
            fine = SYSTEM_CORNERS.lower_order_angles if lower_order else ENRICHMENT.validation_angles
            for points, shift, angles in ((near, 0.5, ENRICHMENT.validation_angles), (inner, 0.2, fine)):
                points.append(
                    _graded_sector_points(junction.point, sector.start, sector.stop, domain, shift, angles)
                )
    if not new:
        return extra
    parts, before = _away_from(new, extra, domain)
    return replace(
        extra,
        parts=parts,
        vector_functions=(*before, *new),
        validation_points=np.concatenate(near),
        fit_points=np.concatenate(inner),
    )


def _functions_of_junction(
    junction: Junction,
    exponents: list[tuple[complex, int]],
    cuts: Sequence[tuple[Array, float]],
    domain: Domain,
    decomposition: SubdomainDecomposition,
) -> VectorFunctions | None:
    """Return the singular functions of a junction on all subdomains they reach; None if there are none."""
    powers = junction.pencil.powers(SYSTEM_CORNERS.max_degree_junction, exponents)
    if not powers:
        return None
    if junction.is_reaction_only:
        powers = with_bessel(powers, SCALAR_CORNERS.max_power_reaction)
    found = corner_bases(junction.point, junction.pencil, powers, max_distance(junction.point, domain))
    own = {p: i for i, p in enumerate(junction.subdomains)}
    reached = _sectors_reached(own, cuts, domain, decomposition)
    bases = {(p, k): basis for (i, k), basis in found.items() for p, j in reached.items() if i == j}
    return VectorFunctions(bases, tuple(p.degree.real for p in powers), junction.point)


def _lower_order_functions(
    junction: Junction,
    sector: Sector,
    subdomain: int,
    exponents: list[tuple[complex, int]],
    domain: Domain,
) -> list[VectorFunctions]:
    """Return the functions that terms of lower order add in a sector of a junction."""
    if junction.is_reaction_only or not any(junction.lower_order):
        return []
    more = lower_order_bases(junction, sector, exponents, domain, max_distance(junction.point, domain))
    return [
        VectorFunctions({(subdomain, k): basis}, tuple(basis.terms[:, 0].tolist()), junction.point)
        for k, basis in more.items()
    ]


def _away_from(
    new: Sequence[VectorFunctions], extra: Enrichment, domain: Domain
) -> tuple[tuple[BasisSpec, ...], list[VectorFunctions]]:
    """Return the corner functions that are kept: a junction at a corner replaces those of the corner."""
    places = np.array([f.point for f in new])
    size = SEGMENTS.corner_offset * max_distance(tuple(places[0]), domain)

    def is_away(point: tuple[float, ...]) -> bool:
        return bool(np.linalg.norm(places - point, axis=1).min() > size)

    parts = tuple(
        part for part in extra.parts if (own := as_singular(part)) is None or is_away(own.tip.point)
    )
    return parts, [f for f in extra.vector_functions if is_away(f.point)]


def _sectors_reached(
    subdomain_indices: Mapping[int, int],
    cuts: Sequence[tuple[Array, float]],
    domain: Domain,
    decomposition: SubdomainDecomposition,
) -> dict[int, int]:
    """Return the sector of each subdomain, continued across artificial interfaces.

    ``cuts`` are the point and the bisector of each sector: functions jump on the ray opposite to it.
    """
    out = dict(subdomain_indices)
    artificial_interfaces, around = (
        _artificial_interfaces(decomposition),
        2.0 * np.pi * np.arange(SYSTEM_CORNERS.lower_order_angles) / SYSTEM_CORNERS.lower_order_angles,
    )
    circle = np.column_stack([np.cos(around), np.sin(around)])
    beside = cuts[0][0] + JUNCTIONS.offset * max_distance(tuple(cuts[0][0]), domain) * circle
    beside = beside[np.asarray(domain.contains(beside), dtype=bool)]
    out |= {int(p): -1 for p in np.unique(decomposition.locate(beside)) if p not in out}  # across a slit
    while True:
        beyond = {
            q: out[p]
            for pair in artificial_interfaces
            for p, q in (pair, pair[::-1])
            if out.get(p, -1) >= 0
            and q not in out
            and _is_close(cuts[0][0], q, decomposition)
            and not _crosses_branch_cut(*cuts[out[p]], q, domain, decomposition)
        }
        if not beyond:
            return {p: sector for p, sector in out.items() if sector >= 0}
        out |= beyond


def _is_close(point: Array, piece: int, decomposition: SubdomainDecomposition) -> bool:
    """Whether a subdomain is so close to a singular point that it needs its functions."""
    box = decomposition.partition.box(piece)
    away = float(np.linalg.norm(decomposition.partition.samples[piece] - point, axis=1).min())
    return away < SYSTEM_CORNERS.max_relative_distance * float(np.linalg.norm(box[:, 1] - box[:, 0]))


def _artificial_interfaces(decomposition: SubdomainDecomposition) -> list[tuple[int, int]]:
    """Return the pairs of subdomains with an artificial interface: both have the same material."""
    pairs = {r.region.subdomains for r in decomposition.interface_residuals}  # type: ignore[attr-defined]
    return [pair for pair in sorted(pairs) if decomposition.partition.have_same_material(*pair)]


def _crosses_branch_cut(
    point: Array, middle: float, piece: int, domain: Domain, decomposition: SubdomainDecomposition
) -> bool:
    """Whether a subdomain intersects the ray on which the functions of a sector jump."""
    box = box_of(domain)
    s = np.linspace(1e-4, 1.0, 1000) * float(np.linalg.norm(box[:, 1] - box[:, 0]))
    ray = point - s[:, None] * np.array([np.cos(middle), np.sin(middle)])
    ray = ray[np.asarray(domain.contains(ray), dtype=bool)]
    return bool(len(ray) and np.any(decomposition.locate(ray) == piece))


def _graded_points(corner: SystemCorner, domain: Domain, shift: float, angles: int) -> Array:
    """Return points of the domain at geometrically decreasing distances from a corner."""
    return _graded_sector_points(
        corner.point, corner.start, corner.start + corner.angle, domain, shift, angles
    )


def _graded_sector_points(
    point: tuple[float, float], start: float, stop: float, domain: Domain, shift: float, angles: int
) -> Array:
    box = box_of(domain)
    reach = 0.25 * float((box[:, 1] - box[:, 0]).min())
    r = reach * 0.5 ** (np.arange(ENRICHMENT.validation_levels) + shift)
    angle = start + (stop - start) * (np.arange(angles) + shift) / angles
    R, T = (g.ravel() for g in np.meshgrid(r, angle, indexing="ij"))
    X = np.array(point) + np.stack([R * np.cos(T), R * np.sin(T)], axis=-1)
    return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])

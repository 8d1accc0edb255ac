r"""Points where interfaces between materials meet each other, bend, or end: u_p ~ r^α φ_p(θ) in subdomain p.

Around such a point the plane is divided into sectors, each of one material, by the interfaces and, on the
boundary of the domain, its sides. The continuity conditions on the interfaces and the conditions on the sides
are the conditions of an operator pencil with several sectors (`pencil`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from pibls.analysis.corners.boundary_segments import opening_angle
from pibls.analysis.corners.pencil import Pencil, PencilCondition, Sector
from pibls.analysis.corners.scalar_corners import is_helmholtz, leading_operator
from pibls.analysis.corners.system_corners import lower_terms, pencil_condition, principal_part
from pibls.analysis.singular_points import Strength
from pibls.analysis.thresholds import JUNCTIONS, SEGMENTS
from pibls.arrays import Array
from pibls.geometry import Boundary, Domain, box_of, faces_of, time_of
from pibls.problem import PartialDerivative
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.problem.interfaces.decomposition import SubdomainDecomposition


@dataclass(frozen=True)
class Junction:
    """A junction point, its operator pencil, and the subdomain of each sector."""

    point: tuple[float, float]
    pencil: Pencil = field(compare=False, repr=False)
    subdomains: tuple[int, ...]
    lower_order: tuple[bool, bool] = (False, False)
    """Whether terms of lower order, other than c·u, add functions, and whether these terms are nonlinear."""
    is_reaction_only: bool = False
    """Whether the only lower-order term is c·u, equal in all sectors."""

    has_incompatible_data = False
    sides = None

    @property
    def start(self) -> float:
        return self.pencil.sectors[0].start

    @property
    def angle(self) -> float:
        return self.pencil.sectors[-1].stop - self.start

    @property
    def is_full_angle(self) -> bool:
        """Whether the domain surrounds the point: an interior point, or the tip of a slit."""
        return self.angle > 2.0 * math.pi - SEGMENTS.min_angle

    @property
    def strength(self) -> Strength:
        """Essential at interior corners and the tips of slits."""
        return Strength.ESSENTIAL if self.is_full_angle else Strength.WEAK

    @property
    def reason(self) -> str:
        return f"junction of {len(self.subdomains)} subdomains"


@dataclass(frozen=True)
class _Ray:
    """A line that leaves a point: an interface between two subdomains, or a side of the domain."""

    angle: float
    normal: Array
    conditions: tuple[Residual, ...]
    pair: tuple[int, int] | None

    @property
    def is_first(self) -> bool:
        """Whether the domain lies to the left of the side."""
        return bool(-math.cos(self.angle) * self.normal[1] + math.sin(self.angle) * self.normal[0] > 0)


def junctions_of(
    compiled: CompiledProblem, domain: Domain, materials: SubdomainDecomposition
) -> tuple[Junction, ...]:
    """Return all points where interfaces meet, bend or end."""
    if compiled.dimension != 2 or time_of(domain) is not None:
        return ()
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    rays = list(_interface_rays(materials))
    out, done = [], np.zeros(len(rays), dtype=bool)
    for i, (point, _) in enumerate(rays):
        if done[i]:
            continue
        near = np.array([np.linalg.norm(q - point) < JUNCTIONS.same_point_tol * size for q, _ in rays])
        done |= near
        mine = [ray for j, (_, ray) in enumerate(rays) if near[j]]
        directions = [np.array([math.cos(ray.angle), math.sin(ray.angle)]) for ray in mine]
        # At a slit, only the side on which the interfaces lie.
        sides = _sides(point, compiled, domain, size)
        mine += [side for side in sides if any(side.normal @ direction < 1e-6 for direction in directions)]
        ends = [q for j, (q, _) in enumerate(rays) if near[j]]
        point = _crossing(point, ends, mine, faces_of(domain), size)
        found = _junction(point, mine, compiled, domain, materials, size)
        if found is not None:
            out.append(found)
    return tuple(out)


def _interface_rays(materials: SubdomainDecomposition) -> Iterator[tuple[Array, _Ray]]:
    """Yield the end points of all interfaces, and the ray that leaves each of them."""
    by_region: dict[Any, list[Residual]] = {}
    for r in materials.interface_residuals:
        by_region.setdefault(r.region, []).append(r)
    for region, conditions in by_region.items():
        for face in region.faces:
            if face.is_closed or not face.has_chart:
                continue
            for end, step in ((0.0, 1e-4), (1.0, -1e-4)):
                here = face.at(np.array([[end], [end + step]]))
                along = here.points[1] - here.points[0]
                tangent = np.array([-here.normals[0, 1], here.normals[0, 0]])
                tangent = tangent if tangent @ along > 0 else -tangent
                angle = math.atan2(tangent[1], tangent[0])
                yield here.points[0], _Ray(angle, here.normals[0], tuple(conditions), region.subdomains)


def _crossing(point: Array, ends: list[Array], rays: list[_Ray], faces: Any, size: float) -> Array:
    """Return the intersection of the lines of all rays, whose ends are known to limited accuracy."""
    A = np.array([ray.normal for ray in rays])
    b = [float(ray.normal @ end) for ray, end in zip(rays, ends, strict=False)]
    for ray in rays[len(ends) :]:
        for face in faces:
            if (
                face.has_chart
                and face.touches(point[None, :], np.full(2, JUNCTIONS.same_point_tol * size))[0]
            ):
                dense = face.at(np.linspace(0.0, 1.0, SEGMENTS.dense_samples)[:, None])
                near = int(np.argmin(np.linalg.norm(dense.points - point, axis=1)))
                if abs(dense.normals[near] @ ray.normal) > 1.0 - 1e-6:
                    b.append(float(ray.normal @ dense.points[near]))
                    break
        else:
            return point
    found = np.linalg.lstsq(A, np.array(b), rcond=1e-9)[0]
    return (
        np.asarray(found) if np.linalg.norm(found - point) < 4.0 * JUNCTIONS.same_point_tol * size else point
    )


def _sides(point: Array, compiled: CompiledProblem, domain: Domain, size: float) -> list[_Ray]:
    """Return the sides of the domain that leave from a point."""
    boundary = [r for r in compiled.residuals if r.region.is_boundary and r.region.sites == 1]
    out = []
    for face in faces_of(domain):
        if (
            not face.has_chart
            or not face.touches(point[None, :], np.full(2, JUNCTIONS.same_point_tol * size))[0]
        ):
            continue
        normals = face.normals(point[None, :])
        if normals is None:
            continue
        n = normals[0]
        for tangent in (np.array([-n[1], n[0]]), np.array([n[1], -n[0]])):
            X = (point + JUNCTIONS.offset * size * tangent)[None, :]
            if not face.touches(X, np.full(2, 1e-2 * JUNCTIONS.offset * size))[0]:
                continue
            dense = face.at(np.linspace(0.0, 1.0, SEGMENTS.dense_samples)[:, None])
            distance = np.linalg.norm(dense.points - X, axis=1)
            ahead = (dense.points - point) @ tangent > 0
            nearest = int(np.argmin(np.where(ahead, distance, np.inf)))
            there = Boundary(X, n[None, :], dense.owners[nearest : nearest + 1])
            ray_conditions = tuple(r for r in boundary if r.region.mask(there)[0])
            out.append(_Ray(math.atan2(tangent[1], tangent[0]), n, ray_conditions, None))
    return out


def _junction(
    point: Array,
    rays: list[_Ray],
    compiled: CompiledProblem,
    domain: Domain,
    materials: SubdomainDecomposition,
    size: float,
) -> Junction | None:
    ordered = _counter_clockwise(rays)
    if ordered is None:
        return None
    rays, gaps = ordered
    if len(rays) < 2 or min(gaps) < SEGMENTS.min_angle or _is_smooth(rays, gaps, materials):
        return None
    fan = _fan(point, rays[0].angle, gaps, compiled, domain, materials, size)
    pencil = None if fan is None else _pencil(point, rays, fan, compiled.unknowns)
    if fan is None or pencil is None:
        return None
    samples = [materials.partition.samples[p][: JUNCTIONS.samples] for p in fan.subdomains]
    lower = [lower_terms(compiled, s.symbol, X) for s, X in zip(fan.sectors, samples, strict=True)]
    has_lower_terms = any(a for a, _ in lower)
    only_reaction = has_lower_terms and _is_uniform_helmholtz(compiled, fan.subdomains, materials)
    return Junction(
        (float(point[0]), float(point[1])),
        pencil,
        fan.subdomains,
        (has_lower_terms and not only_reaction, any(b for _, b in lower)),
        only_reaction,
    )


def _counter_clockwise(rays: list[_Ray]) -> tuple[list[_Ray], list[float]] | None:
    """Return the rays in order and the angles between them; None if not two sides enclose the domain."""
    sides = [r for r in rays if r.pair is None]
    inner = [r for r in rays if r.pair is not None]
    if not sides:
        inner = sorted(inner, key=lambda r: r.angle)
        following = [*inner[1:], inner[0]]
        return inner, [opening_angle(a.angle, b.angle) for a, b in zip(inner, following, strict=True)]
    # Begin with the side that has the domain to its left.
    first, last = ([r for r in sides if r.is_first == begins] for begins in (True, False))
    if len(first) != 1 or len(last) != 1:
        return None
    start, angle = first[0].angle, opening_angle(first[0].angle, last[0].angle)
    inner = sorted(inner, key=lambda r: (r.angle - start) % (2.0 * math.pi))
    turns = [0.0, *((r.angle - start) % (2.0 * math.pi) for r in inner), angle]
    return [*first, *inner, *last], [b - a for a, b in pairwise(turns)]


@dataclass(frozen=True)
class _Fan:
    """The sectors around a point, and the subdomain in which each lies."""

    sectors: tuple[Sector, ...]
    subdomains: tuple[int, ...]


def _fan(
    point: Array,
    start: float,
    gaps: list[float],
    compiled: CompiledProblem,
    domain: Domain,
    materials: SubdomainDecomposition,
    size: float,
) -> _Fan | None:
    """Return the sectors; None if one is not elliptic or two of them belong to the same subdomain."""
    sectors: list[Sector] = []
    subdomains: list[int] = []
    for gap in gaps:
        t = start + 0.5 * gap
        X = (point + JUNCTIONS.offset * size * np.array([math.cos(t), math.sin(t)]))[None, :]
        symbol = principal_part(compiled, X)
        if symbol is None or not np.asarray(domain.contains(X), dtype=bool)[0]:
            return None
        sectors.append(Sector(start, start + gap, symbol))
        subdomains.append(int(materials.locate(X)[0]))
        start = start + gap
    degrees = sectors[0].symbol.degrees
    if len(set(subdomains)) != len(subdomains) or any(s.symbol.degrees != degrees for s in sectors):
        return None
    return _Fan(tuple(sectors), tuple(subdomains))


def _pencil(point: Array, rays: list[_Ray], fan: _Fan, unknowns: int) -> Pencil | None:
    """Return the pencil; None if a condition has no leading part, or their number is not that needed."""
    starts = [*(s.start for s in fan.sectors), fan.sectors[-1].stop]
    out: list[PencilCondition] = []
    for number, ray in enumerate(rays):

        def place(
            derivative: PartialDerivative, ray: _Ray = ray, number: int = number
        ) -> tuple[int, int] | None:
            subdomain, unknown = divmod(derivative.unknown, unknowns)
            if ray.pair is None:
                return 0 if number == 0 else len(fan.subdomains) - 1, unknown
            return (fan.subdomains.index(subdomain), unknown) if subdomain in fan.subdomains else None

        for r in ray.conditions:
            condition = pencil_condition(r, (point, ray.normal), starts[number], fan.sectors[0].symbol, place)
            if condition is None:
                return None
            out.append(condition)
    pencil = Pencil(fan.sectors, tuple(out))
    return pencil if pencil.is_square else None


def _is_uniform_helmholtz(
    compiled: CompiledProblem, subdomains: tuple[int, ...], materials: SubdomainDecomposition
) -> bool:
    """Whether all subdomains have the same equation Δu + c·u = f of one unknown."""
    same = all(materials.partition.have_same_material(subdomains[0], p) for p in subdomains)
    leading = leading_operator(compiled, 0) if same and compiled.unknowns == 1 else None
    return leading is not None and leading[1] == 1j and is_helmholtz(leading[0], 0)


def _is_smooth(rays: list[_Ray], gaps: list[float], materials: SubdomainDecomposition) -> bool:
    """Whether the solution is smooth there: only a straight side or interface, and artificial interfaces."""
    turns = np.concatenate([[0.0], np.cumsum(gaps)])
    true = [(t, r) for t, r in zip(turns, rays, strict=False)
            if r.pair is None or not materials.partition.have_same_material(*r.pair)]  # fmt: skip
    if not true:
        return True
    straight = len(true) == 2 and abs(true[1][0] - true[0][0] - math.pi) < SEGMENTS.min_angle
    (a, b) = (r.pair is None for _, r in (true[0], true[-1]))
    return straight and a == b and (not a or true[0][1].conditions == true[1][1].conditions)

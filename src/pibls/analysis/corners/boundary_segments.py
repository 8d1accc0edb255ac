r"""Segments of the boundary of a plane domain, and the corners where they meet.

A segment is a part of a face on which the same conditions hold. The point where one ends and the next begins
is a corner, even on a straight side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.relational import Relational

from pibls.analysis.thresholds import SEGMENTS
from pibls.arrays import Array
from pibls.geometry import Boundary, Domain, box_of, faces_of, time_of
from pibls.geometry.faces.face import Face, bisect, face_intervals
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.problem.forms.compiled_expressions import compile_expressions


@dataclass(frozen=True)
class BoundarySegment:
    """A part of a face: its midpoint, the normal there, and its conditions."""

    middle: Array
    normal: Array
    conditions: tuple[Residual, ...] = field(repr=False)
    is_periodic: bool
    """Whether a periodic condition couples it to another segment."""
    is_straight: bool


@dataclass(frozen=True)
class SegmentEnd:
    """An end of a segment: point, tangent into the segment, normal, and points that approach the end."""

    point: Array
    tangent: Array
    normal: Array
    segment: BoundarySegment
    approach_points: Boundary

    @property
    def direction(self) -> float:
        return math.atan2(self.tangent[1], self.tangent[0])

    @property
    def is_first(self) -> bool:
        """Whether the domain lies to the left of the tangent."""
        inward = -self.normal
        return bool(self.tangent[0] * inward[1] - self.tangent[1] * inward[0] > 0)


def has_charted_boundary(compiled: CompiledProblem, domain: Domain) -> bool:
    """Whether the domain is plane and steady, and all of its boundary has charts."""
    faces = faces_of(domain) if compiled.dimension == 2 and time_of(domain) is None else ()
    return bool(faces) and all(face.has_chart and face.dimension == 1 for face in faces)


def meeting_ends(compiled: CompiledProblem, domain: Domain) -> Iterator[tuple[SegmentEnd, SegmentEnd]]:
    """Yield the pairs of ends that meet; the domain lies to the left of the first."""
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    ends = [end for face in faces_of(domain) for end in _ends(face, compiled)]
    if len(ends) < 2:
        return
    points = np.array([end.point for end in ends])
    for one in (end for end in ends if end.is_first):
        here = np.flatnonzero(
            np.linalg.norm(points - one.point, axis=1) < SEGMENTS.same_point_tol * size
        ).tolist()
        others = [ends[j] for j in here if not ends[j].is_first]
        if others:
            # At the mouth of a slit there are two corners; take the end with the smallest opening angle.
            yield one, min(others, key=lambda end: opening_angle(one.direction, end.direction))


def opening_angle(start: float, stop: float) -> float:
    """Return the counter-clockwise angle from one direction to another; 2π at the tip of a slit."""
    angle = (stop - start) % (2.0 * math.pi)
    return angle if SEGMENTS.min_angle < angle < 2.0 * math.pi - SEGMENTS.min_angle else 2.0 * math.pi


def _ends(face: Face, compiled: CompiledProblem) -> list[SegmentEnd]:
    """Return both ends of every segment of a face."""
    boundary = [r for r in compiled.residuals if r.region.is_boundary]
    places = _segment_parameters(face, boundary)
    return [end for a, b in pairwise(places) for end in _segment_ends(face, a, b, boundary)]


def _segment_parameters(face: Face, boundary: Sequence[Residual]) -> list[float]:
    """Return the parameters at which segments of a face begin or end; none if it is one closed segment."""
    known = _region_ends(face, dict.fromkeys(r.region for r in boundary if r.region.sites == 1))
    places = [c for i, c in enumerate(known) if i == 0 or c - known[i - 1] > 1e-9]
    if not face.is_closed:
        return places
    if len(places) == 2:
        return []
    if _changes_at_seam(face, boundary):
        return places
    inner = [c for c in places if 1e-9 < c < 1.0 - 1e-9]
    return [*inner, inner[0] + 1.0]


def _region_ends(face: Face, regions: Iterable[Region]) -> list[float]:
    """Return the parameters of the ends of a face and of all regions on it, in ascending order."""
    shares = np.linspace(0.0, 1.0, 65)
    cuts: list[float] = [0.0, 1.0]
    exact: list[float] = []
    for region in regions:
        parameters = np.union1d(shares, region.breakpoints(face))
        ends = [c for pair in face_intervals(face, parameters, region.mask) for c in pair]
        for cut in (c % 1.0 if c > 1.0 else c for c in ends):
            place = _equality_parameter(face, cut, region)
            (cuts if place is None else exact).append(cut if place is None else place)
    # The remaining part begins where a relation ends, up to the tolerance of the relation.
    return sorted([*exact, *(c for c in cuts if all(abs(c - e) > SEGMENTS.same_point_tol for e in exact))])


def _segment_ends(face: Face, a: float, b: float, boundary: Sequence[Residual]) -> Iterator[SegmentEnd]:
    """Yield both ends of the segment between two parameters."""
    u = np.array([a, b, 0.5 * (a + b), a + 0.25 * (b - a), a + 0.75 * (b - a)])
    found = face.at(np.where(u > 1.0, u - 1.0, u)[:, None])
    X, N = found.points, found.normals
    straight = bool(np.abs(N[2:] - N[0]).max() < 1e-9 and np.abs(N[1] - N[0]).max() < 1e-9)
    middle = found.select(np.array([False, False, True, False, False]))
    conditions = tuple(r for r in boundary if r.region.sites == 1 and r.region.mask(middle)[0])
    paired = any(r.region.sites == 2 and r.region.mask(middle)[0] for r in boundary)
    segment = BoundarySegment(X[2:3], N[2:3], conditions, paired, straight)
    close = face.at(np.array([[a + 1e-4 * (b - a)], [b - 1e-4 * (b - a)]]) % (1.0 + 1e-15)).points
    steps = 0.5 * (b - a) * SEGMENTS.approach_ratio ** np.arange(SEGMENTS.approach_levels)
    for i, u in enumerate((a + steps, b - steps)):
        tangent = np.array([-N[i, 1], N[i, 0]])
        tangent *= 1.0 if tangent @ (close[i] - X[i]) > 0 else -1.0
        near = face.at(np.where(u > 1.0, u - 1.0, u)[:, None])
        yield SegmentEnd(X[i], tangent, N[i], segment, near)


def _changes_at_seam(face: Face, boundary: Sequence[Residual]) -> bool:
    """Whether the conditions differ on the two sides of the parameter origin of a closed face."""
    both = face.at(np.array([[SEGMENTS.same_point_tol], [1.0 - SEGMENTS.same_point_tol]]))
    masks = (r.region.mask(both) for r in boundary if r.region.sites == 1)
    return any(bool(m[0]) != bool(m[1]) for m in masks)


def _equality_parameter(face: Face, cut: float, region: Region) -> float | None:
    """Return the parameter near ``cut`` at which a relation of the region is an equality, or None."""
    relation = region.relation
    if relation is None or not SEGMENTS.same_point_tol < cut < 1.0 - SEGMENTS.same_point_tol:
        return None
    for atom in relation.expression.atoms(Relational):
        if isinstance(atom, (sp.Equality, sp.Unequality)):
            continue
        f = compile_expressions(list(relation.coordinates), [atom.lhs - atom.rhs])

        def below(u: Array, f: Any = f) -> Any:
            return np.asarray(f(*face.at(u[:, None]).points.T)[0] + 0.0 * u) < 0

        a, b = np.array([cut - SEGMENTS.same_point_tol]), np.array([cut + SEGMENTS.same_point_tol])
        first = below(a)
        if below(b)[0] != first[0]:
            return float(bisect(lambda u, first=first: below(u) == first, a, b)[0][0])  # type: ignore[misc]
    return None

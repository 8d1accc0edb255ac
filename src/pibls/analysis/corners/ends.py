r"""Γᵢ ∩ Γⱼ: where two stretches of the boundary of a plane domain meet.

A stretch is a part of a face on which the same conditions hold. Where one ends and the next begins is a
corner, also on a straight side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.relational import Relational

from pibls.analysis.thresholds import ENDS
from pibls.arrays import Array
from pibls.geometry import Boundary, Domain, box_of, faces_of, time_of
from pibls.geometry.faces.face import Face, bisected, stretches
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.problem.forms.program import program


@dataclass(frozen=True)
class Stretch:
    """A part of a face: its middle, the normal there, and the conditions that hold on it."""

    middle: Array
    normal: Array
    holding: tuple[Residual, ...] = field(repr=False)
    paired: bool
    """Whether something ties it to another place."""
    straight: bool


@dataclass(frozen=True)
class End:
    """The end of a stretch: where it is, which way it goes on from there, its normal, points towards it."""

    point: Array
    along: Array
    normal: Array
    stretch: Stretch
    near: Boundary

    @property
    def direction(self) -> float:
        return math.atan2(self.along[1], self.along[0])

    @property
    def is_first(self) -> bool:
        """Whether the domain lies to the left of it."""
        inward = -self.normal
        return bool(self.along[0] * inward[1] - self.along[1] * inward[0] > 0)


def has_corners(lowered: LoweredProblem, domain: Domain) -> bool:
    """Whether its boundary is known well enough to have any."""
    faces = faces_of(domain) if lowered.dimension == 2 and time_of(domain) is None else ()
    return bool(faces) and all(face.has_chart and face.dimension == 1 for face in faces)


def meetings(lowered: LoweredProblem, domain: Domain) -> Iterator[tuple[End, End]]:
    """The ends that meet, two by two; the domain lies to the left of the first."""
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    ends = [end for face in faces_of(domain) for end in _ends(face, lowered)]
    if len(ends) < 2:
        return
    points = np.array([end.point for end in ends])
    for one in (end for end in ends if end.is_first):
        here = np.flatnonzero(np.linalg.norm(points - one.point, axis=1) < ENDS.same * size).tolist()
        others = [ends[j] for j in here if not ends[j].is_first]
        if others:
            # Where a slit begins there are two corners; the next side is that of this one.
            yield one, min(others, key=lambda end: opened(one.direction, end.direction))


def opened(start: float, stop: float) -> float:
    """The angle from one direction to another, counter-clockwise; around the tip of a slit it is 2π."""
    angle = (stop - start) % (2.0 * math.pi)
    return angle if ENDS.flat < angle < 2.0 * math.pi - ENDS.flat else 2.0 * math.pi


def _ends(face: Face, lowered: LoweredProblem) -> list[End]:
    """Both ends of every stretch of a face."""
    boundary = [r for r in lowered.residuals if r.region.is_boundary]
    shares = np.linspace(0.0, 1.0, 65)
    cuts: list[float] = [0.0, 1.0]
    exact: list[float] = []
    for region in dict.fromkeys(r.region for r in boundary):
        if region.sites == 1:
            looked = np.union1d(shares, region.cuts(face))
            ends = [c for pair in stretches(face, looked, region.mask) for c in pair]
            for cut in (c % 1.0 if c > 1.0 else c for c in ends):
                place = _exactly(face, cut, region)
                (cuts if place is None else exact).append(cut if place is None else place)
    # What is left to others begins where a relation ends, but for its slack.
    known = [*exact, *(c for c in cuts if all(abs(c - e) > ENDS.same for e in exact))]
    places = [c for i, c in enumerate(sorted(known)) if i == 0 or c - sorted(known)[i - 1] > 1e-9]
    out = []
    closed = face.is_closed
    if closed and len(places) == 2:
        return []
    if closed and not _changes_at_seam(face, boundary):
        inner = [c for c in places if 1e-9 < c < 1.0 - 1e-9]
        places = [*inner, inner[0] + 1.0]
    for a, b in pairwise(places):
        u = np.array([a, b, 0.5 * (a + b), a + 0.25 * (b - a), a + 0.75 * (b - a)])
        found = face.at(np.where(u > 1.0, u - 1.0, u)[:, None])
        X, N = found.points, found.normals
        straight = bool(np.abs(N[2:] - N[0]).max() < 1e-9 and np.abs(N[1] - N[0]).max() < 1e-9)
        middle = found.select(np.array([False, False, True, False, False]))
        holding = tuple(r for r in boundary if r.region.sites == 1 and r.region.mask(middle)[0])
        paired = any(r.region.sites == 2 and r.region.mask(middle)[0] for r in boundary)
        stretch = Stretch(X[2:3], N[2:3], holding, paired, straight)
        close = face.at(np.array([[a + 1e-4 * (b - a)], [b - 1e-4 * (b - a)]]) % (1.0 + 1e-15)).points
        for i in (0, 1):
            tangent = np.array([-N[i, 1], N[i, 0]])
            tangent *= 1.0 if tangent @ (close[i] - X[i]) > 0 else -1.0
            steps = 0.5 * (b - a) * ENDS.closer ** np.arange(ENDS.levels)
            u = a + steps if i == 0 else b - steps
            near = face.at(np.where(u > 1.0, u - 1.0, u)[:, None])
            out.append(End(X[i], tangent, N[i], stretch, near))
    return out


def _changes_at_seam(face: Face, boundary: Sequence[Residual]) -> bool:
    """Whether other statements hold before the parameter of a closed face begins anew than after."""
    both = face.at(np.array([[ENDS.same], [1.0 - ENDS.same]]))
    masks = (r.region.mask(both) for r in boundary if r.region.sites == 1)
    return any(bool(m[0]) != bool(m[1]) for m in masks)


def _exactly(face: Face, cut: float, region: Region) -> float | None:
    """Where the sides of a relation are equal: it holds only up to a slack beside that place."""
    relation = region.relation
    if relation is None or not ENDS.same < cut < 1.0 - ENDS.same:
        return None
    for atom in relation.expression.atoms(Relational):
        if isinstance(atom, (sp.Equality, sp.Unequality)):
            continue
        f = program(list(relation.coordinates), [atom.lhs - atom.rhs])

        def below(u: Array, f: Any = f) -> Any:
            return np.asarray(f(*face.at(u[:, None]).points.T)[0] + 0.0 * u) < 0

        a, b = np.array([cut - ENDS.same]), np.array([cut + ENDS.same])
        first = below(a)
        if below(b)[0] != first[0]:
            return float(bisected(lambda u, first=first: below(u) == first, a, b)[0][0])  # type: ignore[misc]
    return None

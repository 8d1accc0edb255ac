r"""u_p ~ r^α φ_p(θ) in each piece p: where interfaces between materials meet each other, bend, or end.

Around such a point the plane is divided into sectors, each of one material, with the interfaces between them
and, on the boundary of the domain, its sides. What is continuous across each interface and what holds on the
sides are the ties of a pencil of several sectors (`pencil`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from pibls.analysis.corners.ends import opened
from pibls.analysis.corners.pencil import Pencil, Sector, Tie
from pibls.analysis.corners.singular import is_even, lead_of
from pibls.analysis.corners.symbol import Symbol
from pibls.analysis.corners.wedges import lower_terms, principal_part, tie_of
from pibls.analysis.thresholds import ENDS, JUNCTIONS
from pibls.arrays import Array
from pibls.geometry import Boundary, Domain, box_of, faces_of, time_of
from pibls.problem import Jet
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.problem.interfaces.materials import Materials


@dataclass(frozen=True)
class Junction:
    """A point, its sectors, and the piece in which each of them is."""

    point: tuple[float, float]
    pencil: Pencil = field(compare=False, repr=False)
    pieces: tuple[int, ...]
    lower: tuple[bool, bool] = (False, False)
    """Whether the equations have more than their highest part, and whether that is nonlinear."""
    even: bool = False
    """Whether that is c·u, the same all around."""

    clash = False

    @property
    def start(self) -> float:
        return self.pencil.sectors[0].start

    @property
    def angle(self) -> float:
        return self.pencil.sectors[-1].stop - self.start

    @property
    def is_around(self) -> bool:
        """Whether it has the domain all around it: a corner inside, the tip of a slit."""
        return self.angle > 2.0 * math.pi - ENDS.flat


@dataclass(frozen=True)
class _Ray:
    """A line that leaves a point: an interface between two pieces, or a side of the domain."""

    angle: float
    normal: Array
    holding: tuple[Residual, ...]
    pair: tuple[int, int] | None

    @property
    def is_first(self) -> bool:
        """Whether the domain lies to the left of a side."""
        return bool(-math.cos(self.angle) * self.normal[1] + math.sin(self.angle) * self.normal[0] > 0)


def junctions_of(lowered: LoweredProblem, domain: Domain, materials: Materials) -> tuple[Junction, ...]:
    """All places where interfaces meet, bend or end."""
    if lowered.dimension != 2 or time_of(domain) is not None:
        return ()
    box = box_of(domain)
    size = float(np.linalg.norm(box[:, 1] - box[:, 0]))
    rays: list[tuple[Array, _Ray]] = []
    by_region: dict[Any, list[Residual]] = {}
    for r in materials.between:
        by_region.setdefault(r.region, []).append(r)
    for region, holding in by_region.items():
        for face in region.faces:
            if face.is_closed or not face.has_chart:
                continue
            for end, step in ((0.0, 1e-4), (1.0, -1e-4)):
                here = face.at(np.array([[end], [end + step]]))
                along = here.points[1] - here.points[0]
                tangent = np.array([-here.normals[0, 1], here.normals[0, 0]])
                tangent = tangent if tangent @ along > 0 else -tangent
                ray = _Ray(math.atan2(tangent[1], tangent[0]), here.normals[0], tuple(holding), region.pieces)
                rays.append((here.points[0], ray))
    out, done = [], np.zeros(len(rays), dtype=bool)
    for i, (point, _) in enumerate(rays):
        if done[i]:
            continue
        near = np.array([np.linalg.norm(q - point) < JUNCTIONS.same * size for q, _ in rays])
        done |= near
        mine = [ray for j, (_, ray) in enumerate(rays) if near[j]]
        ways = [np.array([math.cos(ray.angle), math.sin(ray.angle)]) for ray in mine]
        # Of a slit, the lip on which they are.
        sides = _sides(point, lowered, domain, size)
        mine += [side for side in sides if any(side.normal @ way < 1e-6 for way in ways)]
        ends = [q for j, (q, _) in enumerate(rays) if near[j]]
        point = _crossing(point, ends, mine, faces_of(domain), size)
        found = _junction(point, mine, lowered, domain, materials, size)
        if found is not None:
            out.append(found)
    return tuple(out)


def _crossing(point: Array, ends: list[Array], rays: list[_Ray], faces: Any, size: float) -> Array:
    """Where the lines of all rays meet: their ends are known to some digits only."""
    A = np.array([ray.normal for ray in rays])
    b = [float(ray.normal @ end) for ray, end in zip(rays, ends, strict=False)]
    for ray in rays[len(ends) :]:
        for face in faces:
            if face.has_chart and face.touches(point[None, :], np.full(2, JUNCTIONS.same * size))[0]:
                dense = face.at(np.linspace(0.0, 1.0, ENDS.dense)[:, None])
                near = int(np.argmin(np.linalg.norm(dense.points - point, axis=1)))
                if abs(dense.normals[near] @ ray.normal) > 1.0 - 1e-6:
                    b.append(float(ray.normal @ dense.points[near]))
                    break
        else:
            return point
    found = np.linalg.lstsq(A, np.array(b), rcond=1e-9)[0]
    return np.asarray(found) if np.linalg.norm(found - point) < 4.0 * JUNCTIONS.same * size else point


def _sides(point: Array, lowered: LoweredProblem, domain: Domain, size: float) -> list[_Ray]:
    """The sides of the domain that leave from a point."""
    boundary = [r for r in lowered.residuals if r.region.is_boundary and r.region.sites == 1]
    out = []
    for face in faces_of(domain):
        if not face.has_chart or not face.touches(point[None, :], np.full(2, JUNCTIONS.same * size))[0]:
            continue
        normals = face.normals(point[None, :])
        if normals is None:
            continue
        n = normals[0]
        for tangent in (np.array([-n[1], n[0]]), np.array([n[1], -n[0]])):
            X = (point + JUNCTIONS.inside * size * tangent)[None, :]
            if not face.touches(X, np.full(2, 1e-2 * JUNCTIONS.inside * size))[0]:
                continue
            dense = face.at(np.linspace(0.0, 1.0, ENDS.dense)[:, None])
            distance = np.linalg.norm(dense.points - X, axis=1)
            ahead = (dense.points - point) @ tangent > 0
            nearest = int(np.argmin(np.where(ahead, distance, np.inf)))
            there = Boundary(X, n[None, :], dense.owners[nearest : nearest + 1])
            holding = tuple(r for r in boundary if r.region.mask(there)[0])
            out.append(_Ray(math.atan2(tangent[1], tangent[0]), n, holding, None))
    return out


def _junction(
    point: Array, rays: list[_Ray], lowered: LoweredProblem, domain: Domain, materials: Materials, size: float
) -> Junction | None:
    sides = [r for r in rays if r.pair is None]
    inner = [r for r in rays if r.pair is not None]
    if sides:
        # Begin with the side after which the domain comes.
        first, last = ([r for r in sides if r.is_first == begins] for begins in (True, False))
        if len(first) != 1 or len(last) != 1:
            return None
        start, angle = first[0].angle, opened(first[0].angle, last[0].angle)
        inner = sorted(inner, key=lambda r: (r.angle - start) % (2.0 * math.pi))
        rays = [*first, *inner, *last]
        turns = [0.0, *((r.angle - start) % (2.0 * math.pi) for r in inner), angle]
        gaps = [b - a for a, b in pairwise(turns)]
    else:
        rays = sorted(inner, key=lambda r: r.angle)
        gaps = [opened(a.angle, b.angle) for a, b in zip(rays, [*rays[1:], rays[0]], strict=True)]
    if len(rays) < 2 or min(gaps) < ENDS.flat or _is_smooth(rays, gaps, materials):
        return None
    symbols: list[Symbol] = []
    pieces: list[int] = []
    starts = [rays[0].angle]
    for gap in gaps:
        t = starts[-1] + 0.5 * gap
        X = (point + JUNCTIONS.inside * size * np.array([math.cos(t), math.sin(t)]))[None, :]
        symbol = principal_part(lowered, X)
        if symbol is None or not np.asarray(domain.contains(X), dtype=bool)[0]:
            return None
        symbols.append(symbol)
        pieces.append(int(materials.locate(X)[0]))
        starts.append(starts[-1] + gap)
    if len(set(pieces)) != len(pieces) or any(s.degrees != symbols[0].degrees for s in symbols):
        return None
    sectors = tuple(Sector(a, b, s) for a, b, s in zip(starts, starts[1:], symbols, strict=False))
    ties: list[Tie] = []
    for number, ray in enumerate(rays):
        angle = starts[min(number, len(starts) - 1)]

        def place(jet: Jet, ray: _Ray = ray, number: int = number) -> tuple[int, int] | None:
            piece, unknown = divmod(jet.unknown, lowered.unknowns)
            if ray.pair is None:
                return 0 if number == 0 else len(pieces) - 1, unknown
            return (pieces.index(piece), unknown) if piece in pieces else None

        for r in ray.holding:
            tie = tie_of(r, (point, ray.normal), angle, symbols[0], place)
            if tie is None:
                return None
            ties.append(tie)
    pencil = Pencil(sectors, tuple(ties))
    if not pencil.is_square:
        return None
    samples = [materials.division.samples[p][: JUNCTIONS.looked] for p in pieces]
    lower = [lower_terms(lowered, s, X) for s, X in zip(symbols, samples, strict=True)]
    alike = all(materials.division.are_alike(pieces[0], p) for p in pieces)
    lead = lead_of(lowered, 0) if alike and lowered.unknowns == 1 and any(a for a, _ in lower) else None
    return Junction(
        (float(point[0]), float(point[1])),
        pencil,
        tuple(pieces),
        (any(a for a, _ in lower), any(b for _, b in lower)),
        lead is not None and lead[1] == 1j and is_even(lead[0], 0),
    )


def _is_smooth(rays: list[_Ray], gaps: list[float], materials: Materials) -> bool:
    """Whether nothing but a seam ends or bends there: on a straight side, or on a straight interface."""
    turns = np.concatenate([[0.0], np.cumsum(gaps)])
    true = [(t, r) for t, r in zip(turns, rays, strict=False)
            if r.pair is None or not materials.division.are_alike(*r.pair)]  # fmt: skip
    if not true:
        return True
    straight = len(true) == 2 and abs(true[1][0] - true[0][0] - math.pi) < ENDS.flat
    (a, b) = (r.pair is None for _, r in (true[0], true[-1]))
    return straight and a == b and (not a or true[0][1].holding == true[1][1].holding)

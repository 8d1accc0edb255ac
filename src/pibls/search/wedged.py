r"""A_k(x) = [waves | corner functions of unknown k]: what corners of a system bring (`diagnose.wedges`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pibls.arrays import Array
from pibls.diagnose.junctions import Junction
from pibls.diagnose.singular import lead_of
from pibls.diagnose.wedges import Wedge, bases_of, reach_of, richer, wedges_of
from pibls.domain import Domain, box_of
from pibls.domain.face import join
from pibls.problem.lowering import LoweredProblem
from pibls.problem.materials import Materials
from pibls.search.enrich import Enrichment
from pibls.space import Field

_HIGHEST = 36.0  # degrees
_HIGHEST_BENT = 12.0
_HIGHEST_JOINED = 32.0
_LEVELS, _ANGLES = 12, 5  # held-out points towards a corner
_RICH_ANGLES = 20  # points that are fitted, where there are polynomials of the angle
_MOST_WEDGES = 12


def worst_wedges(lowered: LoweredProblem, domain: Domain) -> tuple[Wedge, ...]:
    """Corners of a system; none where each unknown has a second-order equation of its own."""
    leads = [lead_of(lowered, k) for k in range(lowered.unknowns)]
    if all(lead is not None for lead in leads) and len({lead[1] for lead in leads if lead}) == 1:
        return ()
    found = wedges_of(lowered, domain)
    return found if len(found) <= _MOST_WEDGES else ()


def with_wedges(
    extra: Enrichment, wedges: Sequence[Wedge], domain: Domain, is_linear: bool = True
) -> Enrichment:
    """What a system has at its corners, beside what there is.

    Terms that are not linear leave more than high powers would add, and mild corners to small cells.
    """
    wedges = [w for w in wedges if is_linear or w.strong]
    highest = _HIGHEST if is_linear else _HIGHEST_BENT
    if not wedges:
        return extra
    known: dict[tuple[float, int], list[tuple[complex, int]]] = {}
    fields, more = [], []
    for wedge in wedges:
        # Corners of one angle mostly have the same exponents; the square has four of them.
        key = round(wedge.angle, 9), len(wedge.pencil.ties)
        exponents = known.get(key, [])
        if not wedge.pencil.has(exponents):
            exponents = wedge.pencil.exponents(highest)
        known.setdefault(key, exponents)
        powers = wedge.pencil.powers(highest, exponents)
        length = reach_of(wedge.point, domain)
        bases = bases_of(wedge.point, wedge.pencil, powers, length)
        fields.append(Field(bases, tuple(p.degree.real for p in powers), wedge.point, wedge.strong))
        more.append(richer(wedge, exponents, domain, length))
        for k, basis in more[-1].items():
            degrees = tuple(basis.terms[:, 0].tolist())
            fields.append(Field({(0, k): basis}, degrees, wedge.point, wedge.strong, exact=False))
    near = np.concatenate([_towards(w, domain, 0.5, _ANGLES) for w in wedges])
    angles = [_ANGLES if not len(rich) else _RICH_ANGLES for rich in more]
    inner = np.concatenate([_towards(w, domain, 0.2, n) for w, n in zip(wedges, angles, strict=True)])
    sides = [w.sides for w in wedges]
    return replace(
        extra,
        fields=tuple(fields),
        strong=extra.strong or any(w.strong for w in wedges),
        near=np.concatenate([extra.near, near]),
        inner=np.concatenate([extra.inner, inner]),
        rim=join(sides if extra.rim is None else [extra.rim, *sides], 2),
        points=np.concatenate([extra.points, np.array([w.point for w in wedges])]),
        # In mild corners even the pressure is smooth enough for any rule.
        tips=np.concatenate([extra.tips, np.array([w.point for w in wedges if w.strong]).reshape(-1, 2)]),
    )


def with_junctions(
    extra: Enrichment, junctions: Sequence[Junction], domain: Domain, materials: Materials
) -> Enrichment:
    """What solutions have where interfaces meet, bend or end, beside what there is."""
    fields, near, inner = list(extra.fields), [extra.near], [extra.inner]
    for junction in junctions:
        if any(_wraps(junction, i, domain, materials) for i in range(len(junction.pieces))):
            continue
        exponents = junction.pencil.exponents(_HIGHEST_JOINED)
        powers = junction.pencil.powers(_HIGHEST_JOINED, exponents)
        if not powers:
            continue
        length = reach_of(junction.point, domain)
        found = bases_of(junction.point, junction.pencil, powers, length)
        bases = {(junction.pieces[sector], k): basis for (sector, k), basis in found.items()}
        fields.append(Field(bases, tuple(p.degree.real for p in powers), junction.point))
        for points, shift in ((near, 0.5), (inner, 0.2)):
            for sector in junction.pencil.sectors:
                points.append(_fan(junction.point, sector.start, sector.stop, domain, shift, _ANGLES))
    if len(fields) == len(extra.fields):
        return extra
    return replace(extra, fields=tuple(fields), near=np.concatenate(near), inner=np.concatenate(inner))


def _wraps(junction: Junction, number: int, domain: Domain, materials: Materials) -> bool:
    """Whether a piece lies also on the ray on which the functions of its sector jump."""
    sector, piece = junction.pencil.sectors[number], junction.pieces[number]
    box = box_of(domain)
    s = np.linspace(1e-4, 1.0, 1000) * float(np.linalg.norm(box[:, 1] - box[:, 0]))
    way = np.array([np.cos(sector.middle), np.sin(sector.middle)])
    ray = np.array(junction.point) - s[:, None] * way
    ray = ray[np.asarray(domain.contains(ray), dtype=bool)]
    return bool(len(ray) and np.any(materials.locate(ray) == piece))


def _towards(wedge: Wedge, domain: Domain, shift: float, angles: int) -> Array:
    """Points of the domain at ever smaller distances from a corner."""
    return _fan(wedge.point, wedge.start, wedge.start + wedge.angle, domain, shift, angles)


def _fan(
    point: tuple[float, float], start: float, stop: float, domain: Domain, shift: float, angles: int
) -> Array:
    box = box_of(domain)
    reach = 0.25 * float((box[:, 1] - box[:, 0]).min())
    r = reach * 0.5 ** (np.arange(_LEVELS) + shift)
    angle = start + (stop - start) * (np.arange(angles) + shift) / angles
    R, T = (g.ravel() for g in np.meshgrid(r, angle, indexing="ij"))
    X = np.array(point) + np.stack([R * np.cos(T), R * np.sin(T)], axis=-1)
    return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])

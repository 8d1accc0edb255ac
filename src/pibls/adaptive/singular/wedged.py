r"""A_k(x) = [waves | corner functions of unknown k]: corners of a system (`diagnose.corners.wedges`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from pibls.adaptive.singular.enrich import Enrichment, enrichment_of
from pibls.adaptive.thresholds import ENRICH, WEDGED
from pibls.analysis.corners.junctions import Junction
from pibls.analysis.corners.pencil import with_bessel
from pibls.analysis.corners.singular import Corner, lead_of
from pibls.analysis.corners.wedges import Wedge, bases_of, reach_of, richer, wedges_of
from pibls.analysis.thresholds import ENDS, JUNCTIONS, SINGULAR
from pibls.arrays import Array
from pibls.basis import BasisSpec
from pibls.basis.singular.tips import as_singular
from pibls.geometry import Domain, box_of
from pibls.geometry.faces.face import join
from pibls.problem.forms.lowering import LoweredProblem
from pibls.problem.interfaces.materials import Materials
from pibls.spaces import TiedFunctions


def worst_wedges(lowered: LoweredProblem, domain: Domain) -> tuple[Wedge, ...]:
    """Corners of a system; none where each unknown has a second-order equation of its own."""
    leads = [lead_of(lowered, k) for k in range(lowered.unknowns)]
    if all(lead is not None for lead in leads) and len({lead[1] for lead in leads if lead}) == 1:
        return ()
    found = wedges_of(lowered, domain)
    return found if len(found) <= WEDGED.most else ()


def in_pieces(
    corners: Sequence[Corner],
    wedges: Sequence[Wedge],
    lowered: LoweredProblem,
    materials: Materials,
    given: Sequence[BasisSpec],
) -> Enrichment:
    """What corners of the domain bring, each in its piece."""
    domain = materials.domain
    size = float(np.linalg.norm(np.ptp(box_of(domain), axis=1)))

    def piece(corner: Corner) -> Domain:
        z = ENDS.beside * size * np.exp(1j * (corner.start + 0.5 * corner.angle))
        return materials.piece(int(materials.locate(corner.at(np.array([z])))[0]))

    found = enrichment_of(corners, lowered, domain, given, piece)
    if _seams(materials):
        found = _beyond_seams(found, lowered.unknowns, materials)
    return with_wedges(found, wedges, domain, materials)


def _beyond_seams(extra: Enrichment, unknowns: int, materials: Materials) -> Enrichment:
    """The functions of corners, which go on beyond seams: a piece may pass close by a corner of the next."""
    fields, parts = list(extra.fields), []
    for part in extra.parts:
        corner = as_singular(part)
        if corner is None:
            parts.append(part)
            continue
        tip, basis = corner.tip, corner.draw(np.empty((0, 2)), np.random.default_rng(0))
        own = {int(materials.locate(tip.inside[None, :])[0]): 0}
        way = tip.inside - np.array(tip.point)
        cut = (np.array(tip.point), float(np.arctan2(way[1], way[0])))
        reached = own if tip.end is not None else _reached(own, [cut], materials.domain, materials)
        degrees = tuple(float(p + q) for p, q, _, _ in corner.terms)
        fields += [
            TiedFunctions({(p, k): basis for p in reached}, degrees, tip.point) for k in range(unknowns)
        ]
    return replace(extra, parts=tuple(parts), fields=tuple(fields))


def with_wedges(
    extra: Enrichment,
    wedges: Sequence[Wedge],
    domain: Domain,
    materials: Materials | None = None,
    *,
    is_linear: bool = True,
) -> Enrichment:
    """What a system has at its corners, beside what there is.

    Terms that are not linear leave more than high powers would add, and mild corners to small cells.
    """
    wedges = [w for w in wedges if is_linear or w.strong]
    highest = WEDGED.highest if is_linear else WEDGED.highest_bent
    if not wedges:
        return extra
    known: dict[tuple[float, int], list[tuple[complex, int]]] = {}
    fields, more = list(extra.fields), []
    for wedge in wedges:
        # Corners of one angle mostly have the same exponents; the square has four of them.
        key = round(wedge.angle, 9), len(wedge.pencil.ties)
        exponents = known.get(key, [])
        if not wedge.pencil.has(exponents):
            exponents = wedge.pencil.exponents(highest)
        known.setdefault(key, exponents)
        powers = wedge.pencil.powers(highest, exponents)
        length = reach_of(wedge.point, domain)
        found = bases_of(wedge.point, wedge.pencil, powers, length)
        where = 0 if materials is None else int(materials.locate(_towards(wedge, domain, 0.5, 1)[-1:])[0])
        bases = {(where, k): basis for (_, k), basis in found.items()}
        fields.append(TiedFunctions(bases, tuple(p.degree.real for p in powers), wedge.point, wedge.strong))
        more.append(richer(wedge, wedge.pencil.sectors[0], exponents, domain, length))
        for k, basis in more[-1].items():
            degrees = tuple(basis.terms[:, 0].tolist())
            fields.append(TiedFunctions({(where, k): basis}, degrees, wedge.point, wedge.strong, exact=False))
    near = np.concatenate([_towards(w, domain, 0.5, ENRICH.angles) for w in wedges])
    angles = [ENRICH.angles if not len(rich) else WEDGED.rich_angles for rich in more]
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
    exponents: list[tuple[complex, int]] = []
    for junction in junctions:
        cuts = [(np.array(junction.point), sector.middle) for sector in junction.pencil.sectors]
        if any(_wraps(*cut, p, domain, materials) for cut, p in zip(cuts, junction.pieces, strict=True)):
            continue
        if not junction.pencil.has(exponents):
            exponents = junction.pencil.exponents(WEDGED.highest_joined)
        powers = junction.pencil.powers(WEDGED.highest_joined, exponents)
        if not powers:
            continue
        powers = with_bessel(powers, SINGULAR.highest_lower) if junction.even else powers
        length = reach_of(junction.point, domain)
        found = bases_of(junction.point, junction.pencil, powers, length)
        reached = _reached({p: i for i, p in enumerate(junction.pieces)}, cuts, domain, materials)
        bases = {(p, k): basis for (i, k), basis in found.items() for p, j in reached.items() if i == j}
        fields.append(TiedFunctions(bases, tuple(p.degree.real for p in powers), junction.point))
        rich = any(junction.lower) and not junction.even
        for number, sector in enumerate(junction.pencil.sectors):
            more = richer(junction, sector, exponents, domain, length) if rich else {}
            for k, basis in more.items():
                degrees = tuple(basis.terms[:, 0].tolist())
                fields.append(TiedFunctions({(junction.pieces[number], k): basis}, degrees, junction.point))
            fine = WEDGED.rich_angles if more else ENRICH.angles
            for points, shift, angles in ((near, 0.5, ENRICH.angles), (inner, 0.2, fine)):
                points.append(_fan(junction.point, sector.start, sector.stop, domain, shift, angles))
    if len(fields) == len(extra.fields):
        return extra
    # A junction has the functions of a corner that it is at, too.
    places = np.array([f.point for f in fields[len(extra.fields) :]])
    size = ENDS.beside * reach_of(tuple(places[0]), domain)
    at_corners = map(as_singular, extra.parts)
    parts = tuple(
        part
        for part, own in zip(extra.parts, at_corners, strict=True)
        if own is None or np.linalg.norm(places - own.tip.point, axis=1).min() > size
    )
    before, new = fields[: len(extra.fields)], fields[len(extra.fields) :]
    before = [f for f in before if np.linalg.norm(places - f.point, axis=1).min() > size]
    return replace(
        extra,
        parts=parts,
        fields=(*before, *new),
        near=np.concatenate(near),
        inner=np.concatenate(inner),
    )


def _reached(
    pieces: Mapping[int, int], cuts: Sequence[tuple[Array, float]], domain: Domain, materials: Materials
) -> dict[int, int]:
    """The sector of each piece: its own, or beyond seams that which goes on there.

    ``cuts`` are the point and the middle of each sector: functions jump on the ray opposite to that.
    """
    out = dict(pieces)
    seams, around = _seams(materials), 2.0 * np.pi * np.arange(WEDGED.rich_angles) / WEDGED.rich_angles
    circle = np.column_stack([np.cos(around), np.sin(around)])
    beside = cuts[0][0] + JUNCTIONS.inside * reach_of(tuple(cuts[0][0]), domain) * circle
    beside = beside[np.asarray(domain.contains(beside), dtype=bool)]
    out |= {int(p): -1 for p in np.unique(materials.locate(beside)) if p not in out}  # across a slit
    while True:
        beyond = {
            q: out[p]
            for pair in seams
            for p, q in (pair, pair[::-1])
            if out.get(p, -1) >= 0
            and q not in out
            and _is_close(cuts[0][0], q, materials)
            and not _wraps(*cuts[out[p]], q, domain, materials)
        }
        if not beyond:
            return {p: sector for p, sector in out.items() if sector >= 0}
        out |= beyond


def _is_close(point: Array, piece: int, materials: Materials) -> bool:
    """Whether what is singular at a point is not smooth enough for the waves of a piece."""
    box = materials.division.box(piece)
    away = float(np.linalg.norm(materials.division.samples[piece] - point, axis=1).min())
    return away < WEDGED.close * float(np.linalg.norm(box[:, 1] - box[:, 0]))


def _seams(materials: Materials) -> list[tuple[int, int]]:
    """The pieces between which there is a seam."""
    pairs = {r.region.pieces for r in materials.between}  # type: ignore[attr-defined]
    return [pair for pair in sorted(pairs) if materials.division.are_alike(*pair)]


def _wraps(point: Array, middle: float, piece: int, domain: Domain, materials: Materials) -> bool:
    """Whether a piece lies also on the ray on which the functions of a sector jump."""
    box = box_of(domain)
    s = np.linspace(1e-4, 1.0, 1000) * float(np.linalg.norm(box[:, 1] - box[:, 0]))
    ray = point - s[:, None] * np.array([np.cos(middle), np.sin(middle)])
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
    r = reach * 0.5 ** (np.arange(ENRICH.levels) + shift)
    angle = start + (stop - start) * (np.arange(angles) + shift) / angles
    R, T = (g.ravel() for g in np.meshgrid(r, angle, indexing="ij"))
    X = np.array(point) + np.stack([R * np.cos(T), R * np.sin(T)], axis=-1)
    return np.asarray(X[np.asarray(domain.contains(X), dtype=bool)])

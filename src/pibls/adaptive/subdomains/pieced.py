r"""u = u_p in each piece p: one system for all pieces of a domain, tied where they touch.

Each piece has waves over its own box, and waves in the mirror of each of its gaps
(`basis.singular.mirrored`): the others lie there, and with them the singularities of what is smooth here.
Statements of the problem hold in each piece for its own functions; on the interfaces those of
`problem.breaks.materials` hold for two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from pibls.adaptive.singular.enrich import Enrichment
from pibls.adaptive.subdomains.family import PerPiece, PieceFamily
from pibls.adaptive.thresholds import ENRICH, PIECED
from pibls.analysis.holes.holes import Around, holes_in
from pibls.analysis.thresholds import ENDS, JUNCTIONS
from pibls.arrays import Array
from pibls.assembly.judging import Judged, residuals_at
from pibls.assembly.known import Placed
from pibls.assembly.points import Points, PointSet
from pibls.assembly.streaming import StreamedSystem, held_or_streamed
from pibls.assembly.system import System
from pibls.basis import BasisSpec
from pibls.basis.quasi import sobol
from pibls.caching import cached_property
from pibls.deadline import go_on
from pibls.errors import ProblemError
from pibls.geometry import Boundary, box_of, lengths_of, time_of
from pibls.geometry.faces.face import join
from pibls.geometry.subdomains.piece import Piece
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem, Residual
from pibls.problem.interfaces.materials import Materials
from pibls.spaces import Pieces, Space, TiedFunctions, Whole, with_fields

Rims = dict[tuple[int, int], Boundary]


@dataclass(frozen=True)
class Pieced:
    """How a problem is set up in the pieces of its domain."""

    lowered: LoweredProblem
    materials: Materials
    extra: Enrichment = field(default_factory=Enrichment)

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        return tuple(self.materials.piece(i) for i in range(len(self.materials)))

    @cached_property
    def family(self) -> PieceFamily:
        division = self.materials.division
        # In space there are no such functions, and there may be one piece, without any division.
        flat = time_of(self.materials.domain) is None and self.lowered.dimension == 2
        known = [
            holes_in(self.lowered, self.materials.closed[i]) if flat else None
            for i in range(len(self.pieces))
        ]
        gaps = (division.gaps(i) if k is None else () for i, k in enumerate(known))
        found = [Around() if k is None else k for k in known]
        return PieceFamily(tuple(gaps), self.lowered.dimension, tuple(k.beside(found) for k in found))

    @property
    def blocks(self) -> float:
        """How many times as many functions as in one piece are to begin with."""
        return sum(self.family.shares)

    @cached_property
    def _corners(self) -> tuple[Enrichment, ...]:
        """What is added in each piece."""
        return tuple(self.extra.within(p.locates) for p in self.pieces)

    def joined(self, spec: Any, share: float, extra: Enrichment) -> PerPiece:
        """The same with singular functions, each in its piece."""
        own = [replace(extra.within(p.locates), fields=()) for p in self.pieces]
        specs = (cast("BasisSpec", e.joined(s, share)) for e, s in zip(own, spec.specs, strict=True))
        return PerPiece(tuple(specs), extra.reduced_fields(share), spec.waves)

    def drawn(self, spec: Any, rng: np.random.Generator) -> Space:
        """The space of a basis: one for each piece, or the same kind in all of them."""
        n = len(self.pieces)
        specs = getattr(spec, "specs", None) or (cast("BasisSpec", spec),) * n
        bases = [s.draw(p.bounds, rng) for s, p in zip(specs, self.pieces, strict=True)]
        fields: tuple[TiedFunctions, ...] = getattr(spec, "fields", ())
        unknowns = self.lowered.unknowns
        whole = Whole(
            tuple(with_fields(b, fields, i, k) for i, b in enumerate(bases) for k in range(unknowns))
        )
        return whole if n == 1 else Pieces(n, whole, self.materials.locate)

    def system(self, space: Space, points: Points, rng: np.random.Generator) -> System | StreamedSystem:
        """The system of all pieces, with points for each as its functions need them."""
        together = space.together
        assert together is not None
        sizes = [together.bases[i * self.lowered.unknowns].size for i in range(len(self.pieces))]
        counts = [_share(points, size / max(sum(sizes), 1), self.lowered.dimension) for size in sizes]
        found = self.placed(counts, rng, self._rims(sum(sizes)))
        everything = replace(
            self.lowered,
            residuals=tuple(r for r, _ in found),
            unknowns=self.lowered.unknowns * len(self.pieces),
        )
        where = Placed({r.region: there for r, there in found})
        return held_or_streamed(everything, where, together)

    def placed(
        self, counts: Sequence[Points], rng: np.random.Generator, rims: Rims | None = None
    ) -> list[tuple[Residual, PointSet]]:
        """Every statement in each piece and on each interface, with its points there; those that are fitted
        have more of them at ``rims``."""
        out: list[tuple[Residual, PointSet]] = []
        fitted = rims is not None
        for number in range(len(self.pieces)):
            more = None if rims is None else rims.get((number, -1))
            for (region, pieces), there in self._regions(number, counts, rng, fitted, more).items():
                out += [
                    (self.materials.own(r, pieces), there)
                    for r in self.lowered.residuals
                    if r.region == region
                ]
        known: dict[Region, PointSet] = {}
        for r in self.materials.between:
            if r.region not in known:
                p, q = r.region.pieces  # type: ignore[attr-defined]
                finer = max(counts[p], counts[q], key=lambda c: c.boundary)
                known[r.region] = self._on(r.region, finer, rng, fitted)
                more = None if rims is None else rims.get((p, q))
                if more is not None:
                    there = PointSet((more.points,), more.normals)
                    known[r.region] = PointSet.joined([known[r.region], there])
            out.append((r, known[r.region]))
        return out

    def _on(self, region: Any, points: Points, rng: np.random.Generator, fitted: bool) -> PointSet:
        """Points of an interface: more of them towards its corners, none where derivatives are infinite."""
        found: PointSet = region.place(self.materials.domain, points, rng)
        corners = np.array([f.point for f in self.extra.fields]).reshape(-1, self._d)
        if not len(corners) or self._d != 2:
            return found
        size = float(np.linalg.norm(np.ptp(box_of(self.materials.domain), axis=1)))

        def away(X: Array) -> Array:
            return np.asarray(np.linalg.norm(X[:, None, :] - corners, axis=2).min(axis=1) / size)

        shares = (
            0.5 * ENDS.closer ** np.arange(ENDS.levels) if fitted else 0.5 ** (np.arange(ENRICH.levels) + 1.5)
        )
        parts = []
        for face in region.faces:
            for end, U in ((0.0, shares), (1.0, 1.0 - shares)):
                if away(face.at(np.array([[end]]), rng).points)[0] < JUNCTIONS.same:
                    there = face.at(U[:, None], rng)
                    parts.append(PointSet((there.points,), there.normals))
        kept = away(found.sites[0]) > ENRICH.beside
        return PointSet.joined([PointSet((found.sites[0][kept],), found.normals[kept]), *parts])

    def _rims(self, nodes: int) -> Rims:
        """What functions around gaps need: points of the interface of two pieces, or of one piece with -1."""
        division, out = self.materials.division, dict[tuple[int, int], list[Boundary]]()
        for number, known in enumerate(self.family.known(nodes)):
            if not known:
                continue
            rim = known.rim()
            beyond = (
                rim.points + JUNCTIONS.inside * float(lengths_of(self.pieces[number]).min()) * rim.normals
            )
            others = np.full(len(beyond), -1)
            inside = np.asarray(self.materials.domain.contains(beyond), dtype=bool)
            others[inside] = division.locate(beyond[inside])
            for other in np.unique(others).tolist():
                pair = (number, -1) if other < 0 else (min(number, other), max(number, other))
                out.setdefault(pair, []).append(rim.select(others == other))
        return {pair: join(parts, 2) for pair, parts in out.items()}

    def _regions(
        self,
        number: int,
        counts: Sequence[Points],
        rng: np.random.Generator,
        fitted: bool,
        more: Boundary | None = None,
    ) -> dict[tuple[Region, tuple[int, ...]], PointSet]:
        """The points of all regions in a piece, by the pieces of their sites."""
        found: dict[Region, PointSet] = {}
        piece, points = self.pieces[number], counts[number]
        most = max(counts, key=lambda c: c.interior)  # an integral has as many rows in all pieces
        for r in self.lowered.residuals:
            go_on(__name__)
            if r.region not in found and r.region.is_sum:
                found[r.region] = self._share_of(r.region, number, most, rng)
            elif r.region not in found:
                there = r.region.place(piece, points, rng, piece.bounds, name=r.name)
                if r.region.is_inside:
                    there = PointSet.inside(self._beside_gaps(there.sites[0], number, rng))
                found[r.region] = self._kept(there, piece)
        if fitted and self.extra:
            found = self._corners[number].placed(found)
        if more is not None:
            found = Enrichment(rim=more).placed(found)
        out: dict[tuple[Region, tuple[int, ...]], PointSet] = {}
        for region, there in found.items():
            if not len(there):
                continue
            if len(there.sites) == 1:
                out[region, (number,)] = there
                continue
            others = self.materials.locate(there.sites[1])
            for other in np.unique(others):
                rows = others == other
                sites = tuple(s[rows] for s in there.sites)
                out[region, (number, int(other))] = PointSet(sites, there.normals[rows])
        return out

    def _check_parts(
        self, r: Residual, found: PointSet | None, points: Points, rng: np.random.Generator
    ) -> None:
        """The pieces must make up the whole of what is integrated over: along an interface they do not."""
        whole = r.region.place(self.materials.domain, points, rng, name=r.name).weights
        mine = None if found is None else found.weights
        assert whole is not None
        if mine is None or not np.allclose(mine.sum(1), whole.sum(1), rtol=PIECED.whole):
            raise ProblemError(
                r.name,
                expected="an integral over the domain, a shape, a part of the boundary, or a line that "
                "crosses the materials",
                got="one along a surface on which something jumps",
                remedy="Integrate a little beside it, or fix the value at a point instead.",
            )

    def _share_of(self, region: Any, number: int, points: Points, rng: np.random.Generator) -> PointSet:
        """What a piece adds to an integral."""
        materials = self.materials
        if region.is_constant:
            return region.place(materials.domain, points, rng) if number == 0 else PointSet.none(self._d)
        found = region.place_in(materials.closed[number], materials.domain, points, rng)
        return found or PointSet.none(self._d)

    @property
    def _d(self) -> int:
        return self.lowered.dimension

    def _beside_gaps(self, X: Array, number: int, rng: np.random.Generator) -> Array:
        """Some of the points of a piece, and instead of the others such as are even in its mirrors."""
        mine = self.family.gaps[number]
        if not mine:
            return X
        piece, n = self.pieces[number], int(len(X) * PIECED.share / (1.0 + PIECED.share * len(mine)))
        out = [X[: len(X) - len(mine) * n]]
        low, high = piece.bounds.T
        for centre, radius in mine:
            k = len(centre)
            U = sobol(4 * n, len(low), rng)
            Y = low * (1.0 - U) + high * U
            image = 2.0 * U[:, :k] - 1.0
            with np.errstate(all="ignore"):
                Y[:, :k] = np.array(centre) + radius * image / (image**2).sum(axis=1, keepdims=True)
            Y = Y[np.all((low <= Y) & (high >= Y), axis=1)]
            out.append(Y[piece.contains(Y)][:n])
        return np.concatenate(out)

    def _kept(self, found: PointSet, piece: Piece) -> PointSet:
        box = piece.bounds
        X = found.sites[0]
        mine = piece.locates(X - ENRICH.beside * (box[:, 1] - box[:, 0]).min() * found.normals)
        division = piece.division
        return found.select(mine & ~division.is_between(X[:, : len(division.domain.coordinates)]))

    def held_out(
        self, n: int, faces: int, rule: str, rng: np.random.Generator
    ) -> tuple[dict[Region, PointSet], dict[Region, PointSet]]:
        """Points of each region in all pieces, as many in each; and those of the interfaces."""
        counts = [Points(n, faces, faces // 2, rule=rule)] * len(self.pieces)
        together: dict[Region, list[PointSet]] = {}
        for number in range(len(self.pieces)):
            for (region, _), there in self._regions(number, counts, rng, False).items():
                together.setdefault(region, []).append(there)
        inside = {region: PointSet.joined(parts) for region, parts in together.items()}
        for r in self.lowered.residuals:
            if r.region.is_sum:
                self._check_parts(r, inside.get(r.region), counts[0], rng)
        regions = dict.fromkeys(r.region for r in self.materials.between)
        return inside, {region: self._on(region, counts[0], rng, False) for region in regions}

    def judged(
        self, where: Mapping[Region, PointSet], space: Space, w: Array, box: Array, sizes: Array
    ) -> dict[str, Judged]:
        """How well what holds on the interfaces does, by name; ``sizes`` are those of the unknowns."""
        together = space.together
        assert together is not None
        out: dict[str, Judged] = {}
        least = np.tile(sizes, len(self.pieces))
        for region, there in where.items():
            here = tuple(r for r in self.materials.between if r.region == region)
            part = replace(self.lowered, residuals=here, unknowns=len(together.bases))
            for name, found in residuals_at(part, {region: there}, together, w, box, least)[0].items():
                before = out.get(name)
                out[name] = found if before is None else Judged(
                    np.concatenate([before.values, found.values]), np.concatenate([before.sizes, found.sizes])
                )  # fmt: skip
        return out

    def probes(self, X: Array) -> list[Array]:
        """For each unknown of each piece the points that lie in the piece."""
        where = self.materials.locate(X)
        return [X[where == p] for p in range(len(self.pieces)) for _ in range(self.lowered.unknowns)]


def _share(points: Points, share: float, d: int) -> Points:
    """The points of one piece, of those for all functions."""
    on_face = share ** ((d - 1) / d)
    return replace(
        points,
        interior=max(int(points.interior * share), 8),
        boundary=max(int(points.boundary * on_face), 8),
        initial=max(int(points.initial * on_face), 1) if points.initial else 0,
    )

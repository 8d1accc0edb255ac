r"""Problem on subdomains: u = u_p in subdomain p, coupled by conditions on the interfaces, in one system.

Each subdomain has random features over its own box, and random features mirrored at each of its cavities
(`basis.singular.mirrored`), because the analytic continuation of its solution is singular there. The
equations and conditions of the problem hold in each subdomain; the interface conditions of
`problem.interfaces.decomposition` couple two of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from pibls.adaptive.basis_parts import vector_functions_of
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.singular.functions import SingularFunctions
from pibls.adaptive.subdomains.family import SubdomainFamily, SubdomainSpecs
from pibls.adaptive.thresholds import ENRICHMENT, SUBDOMAINS
from pibls.analysis.holes.enrichment import HoleEnrichment, holes_in
from pibls.analysis.thresholds import JUNCTIONS, SEGMENTS
from pibls.arrays import Array
from pibls.assembly.points import Points, PointSet
from pibls.assembly.residual_coefficients import PlacedPoints
from pibls.assembly.scaled_residuals import ScaledResidual, residuals_at
from pibls.assembly.streaming import StreamedSystem, assemble_or_stream
from pibls.assembly.system import System
from pibls.basis import BasisSpec
from pibls.basis.cube_points import sobol
from pibls.errors import ProblemError
from pibls.geometry import Boundary, box_of, lengths_of, time_of
from pibls.geometry.faces.face import join_boundaries
from pibls.geometry.subdomains.subdomain import Subdomain
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem, Residual
from pibls.problem.interfaces.decomposition import SubdomainDecomposition
from pibls.runtime.caching import cached_property
from pibls.runtime.deadline import check_deadline
from pibls.spaces import Choice, SingleDomainSpace, Space, SubdomainSpace, enriched_basis

HoleBoundaries = dict[tuple[int, int], Boundary]


@dataclass(frozen=True)
class SubdomainProblem:
    """A compiled problem on the subdomains of its domain."""

    compiled: CompiledProblem
    decomposition: SubdomainDecomposition
    enrichment: Enrichment = field(default_factory=Enrichment)

    @cached_property
    def subdomains(self) -> tuple[Subdomain, ...]:
        return tuple(self.decomposition.subdomain(i) for i in range(len(self.decomposition)))

    @cached_property
    def family(self) -> SubdomainFamily:
        division = self.decomposition.partition
        # In 3D such functions are not known, and there may be a single subdomain.
        flat = time_of(self.decomposition.domain) is None and self.compiled.dimension == 2
        known = [
            holes_in(self.compiled, self.decomposition.closed_subdomains[i]) if flat else None
            for i in range(len(self.subdomains))
        ]
        gaps = (division.cavities(i) if k is None else () for i, k in enumerate(known))
        found = [HoleEnrichment() if k is None else k for k in known]
        return SubdomainFamily(
            tuple(gaps), self.compiled.dimension, tuple(k.with_neighbours(found) for k in found)
        )

    @property
    def relative_size(self) -> float:
        """Initial number of functions relative to a single domain."""
        return sum(self.family.shares)

    @cached_property
    def _enrichments(self) -> tuple[Enrichment, ...]:
        """Enrichment of each subdomain."""
        return tuple(self.enrichment.restricted_to(p.is_in_subdomain) for p in self.subdomains)

    def with_enrichment(self, spec: SubdomainSpecs, share: float, extra: Enrichment) -> SubdomainSpecs:
        """Return the bases with singular functions, each in its subdomain."""
        specs = (
            extra.parts_added_to(s, p.is_in_subdomain, share)
            for s, p in zip(spec.specs, self.subdomains, strict=True)
        )
        return SubdomainSpecs(tuple(specs), extra.reduced_vector_functions(share), spec.waves)

    def draw_space(self, spec: Choice, rng: np.random.Generator) -> Space:
        """Return the space of a basis: one basis per subdomain, or the same kind in all of them."""
        n = len(self.subdomains)
        specs = spec.specs if isinstance(spec, SubdomainSpecs) else (cast("BasisSpec", spec),) * n
        bases = [s.draw(p.bounds, rng) for s, p in zip(specs, self.subdomains, strict=True)]
        fields = vector_functions_of(spec)
        unknowns = self.compiled.unknowns
        whole = SingleDomainSpace(
            tuple(enriched_basis(b, fields, i, k) for i, b in enumerate(bases) for k in range(unknowns))
        )
        return whole if n == 1 else SubdomainSpace(n, whole, self.decomposition.locate)

    def assemble(self, space: Space, points: Points, rng: np.random.Generator) -> System | StreamedSystem:
        """Assemble the system of all subdomains, with points in proportion to their functions."""
        together = space.by_kind(single_domain=_itself)
        sizes = [together.bases[i * self.compiled.unknowns].size for i in range(len(self.subdomains))]
        counts = [_share_points(points, size / max(sum(sizes), 1), self.compiled.dimension) for size in sizes]
        found = self.residual_points(counts, rng, self._hole_boundaries(sum(sizes)))
        everything = replace(
            self.compiled,
            residuals=tuple(r for r, _ in found),
            unknowns=self.compiled.unknowns * len(self.subdomains),
        )
        where = PlacedPoints({r.region: there for r, there in found})
        return assemble_or_stream(everything, where, together)

    def residual_points(
        self, counts: Sequence[Points], rng: np.random.Generator, rims: HoleBoundaries | None = None
    ) -> list[tuple[Residual, PointSet]]:
        """Return every statement in each subdomain and on each interface with its points.

        Collocation points include those on ``rims``, the boundaries of holes; validation points have none.
        """
        out: list[tuple[Residual, PointSet]] = []
        fitted = rims is not None
        for number in range(len(self.subdomains)):
            more = None if rims is None else rims.get((number, -1))
            for (region, pieces), there in self._region_points(number, counts, rng, fitted, more).items():
                out += [
                    (self.decomposition.residual_in(r, pieces), there)
                    for r in self.compiled.residuals
                    if r.region == region
                ]
        known: dict[Region, PointSet] = {}
        for r in self.decomposition.interface_residuals:
            if r.region not in known:
                p, q = r.region.subdomains  # type: ignore[attr-defined]
                finer = max(counts[p], counts[q], key=lambda c: c.boundary)
                known[r.region] = self._interface_points(r.region, finer, rng, fitted)
                more = None if rims is None else rims.get((p, q))
                if more is not None:
                    there = PointSet((more.points,), more.normals)
                    known[r.region] = PointSet.joined([known[r.region], there])
            out.append((r, known[r.region]))
        return out

    def _interface_points(
        self, region: Any, points: Points, rng: np.random.Generator, fitted: bool
    ) -> PointSet:
        """Return points of an interface, graded towards its singular points but not at them."""
        found: PointSet = region.sample(self.decomposition.domain, points, rng)
        corners = np.array([f.point for f in self.enrichment.vector_functions]).reshape(-1, self._dimension)
        if not len(corners) or self._dimension != 2:
            return found
        size = float(np.linalg.norm(np.ptp(box_of(self.decomposition.domain), axis=1)))

        def away(X: Array) -> Array:
            return np.asarray(np.linalg.norm(X[:, None, :] - corners, axis=2).min(axis=1) / size)

        shares = (
            0.5 * SEGMENTS.approach_ratio ** np.arange(SEGMENTS.approach_levels)
            if fitted
            else 0.5 ** (np.arange(ENRICHMENT.validation_levels) + 1.5)
        )
        parts = []
        for face in region.faces:
            for end, U in ((0.0, shares), (1.0, 1.0 - shares)):
                if away(face.at(np.array([[end]]), rng).points)[0] < JUNCTIONS.same_point_tol:
                    there = face.at(U[:, None], rng)
                    parts.append(PointSet((there.points,), there.normals))
        kept = away(found.sites[0]) > ENRICHMENT.corner_offset
        return PointSet.joined([PointSet((found.sites[0][kept],), found.normals[kept]), *parts])

    def _hole_boundaries(self, nodes: int) -> HoleBoundaries:
        """Return points on the boundaries of holes, by the pair of subdomains; -1 is the exterior."""
        division, out = self.decomposition.partition, dict[tuple[int, int], list[Boundary]]()
        for number, known in enumerate(self.family.hole_functions):
            if not known:
                continue
            rim = known.boundary_points(self.family.hole_efolds(nodes))
            beyond = (
                rim.points + JUNCTIONS.offset * float(lengths_of(self.subdomains[number]).min()) * rim.normals
            )
            others = np.full(len(beyond), -1)
            inside = np.asarray(self.decomposition.domain.contains(beyond), dtype=bool)
            others[inside] = division.locate(beyond[inside])
            for other in np.unique(others).tolist():
                pair = (number, -1) if other < 0 else (min(number, other), max(number, other))
                out.setdefault(pair, []).append(rim.select(others == other))
        return {pair: join_boundaries(parts, 2) for pair, parts in out.items()}

    def _region_points(
        self,
        number: int,
        counts: Sequence[Points],
        rng: np.random.Generator,
        fitted: bool,
        more: Boundary | None = None,
    ) -> dict[tuple[Region, tuple[int, ...]], PointSet]:
        """Return the points of all regions in a subdomain, by the subdomains of their sites."""
        found: dict[Region, PointSet] = {}
        piece, points = self.subdomains[number], counts[number]
        most = max(counts, key=lambda c: c.interior)  # an integral has equally many rows in all subdomains
        for r in self.compiled.residuals:
            check_deadline(__name__)
            if r.region not in found and r.region.is_integral:
                found[r.region] = self._integral_share(r.region, number, most, rng)
            elif r.region not in found:
                there = r.region.sample(piece, points, rng, piece.bounds, name=r.name)
                if r.region.is_interior:
                    there = PointSet.inside(self._with_cavity_points(there.sites[0], number, rng))
                found[r.region] = self._in_subdomain(there, piece)
        if fitted and self.enrichment:
            found = self._enrichments[number].add_fit_points(found)
        if more is not None:
            found = Enrichment((SingularFunctions(boundary_fit_points=more),)).add_fit_points(found)
        out: dict[tuple[Region, tuple[int, ...]], PointSet] = {}
        for region, there in found.items():
            if not len(there):
                continue
            if len(there.sites) == 1:
                out[region, (number,)] = there
                continue
            others = self.decomposition.locate(there.sites[1])
            for other in np.unique(others):
                rows = others == other
                sites = tuple(s[rows] for s in there.sites)
                out[region, (number, int(other))] = PointSet(sites, there.normals[rows])
        return out

    def _check_integral(
        self, r: Residual, found: PointSet | None, points: Points, rng: np.random.Generator
    ) -> None:
        """Raise a ProblemError if the subdomains do not add up to the integral, as along an interface."""
        whole = r.region.sample(self.decomposition.domain, points, rng, name=r.name).weights
        mine = None if found is None else found.weights
        assert whole is not None
        if mine is None or not np.allclose(mine.sum(1), whole.sum(1), rtol=SUBDOMAINS.integral_tolerance):
            raise ProblemError(
                r.name,
                expected="an integral over the domain, a shape, a part of the boundary, or a line that "
                "crosses the materials",
                got="an integral along a surface on which coefficients or sources jump",
                remedy="Integrate along a line next to it, or prescribe the value at a point instead.",
            )

    def _integral_share(self, region: Any, number: int, points: Points, rng: np.random.Generator) -> PointSet:
        """Return the quadrature points of an integral in a subdomain."""
        decomposition = self.decomposition
        if region.is_constant:
            return (
                region.sample(decomposition.domain, points, rng)
                if number == 0
                else PointSet.none(self._dimension)
            )
        found = region.sample_subdomain(
            decomposition.closed_subdomains[number], decomposition.domain, points, rng
        )
        return found or PointSet.none(self._dimension)

    @property
    def _dimension(self) -> int:
        return self.compiled.dimension

    def _with_cavity_points(self, X: Array, number: int, rng: np.random.Generator) -> Array:
        """Replace some points of a subdomain by points that are uniform in its mirrored cavities."""
        mine = self.family.cavities[number]
        if not mine:
            return X
        piece, n = (
            self.subdomains[number],
            int(len(X) * SUBDOMAINS.inclusion_share / (1.0 + SUBDOMAINS.inclusion_share * len(mine))),
        )
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

    def _in_subdomain(self, found: PointSet, piece: Subdomain) -> PointSet:
        box = piece.bounds
        X = found.sites[0]
        mine = piece.is_in_subdomain(
            X - ENRICHMENT.corner_offset * (box[:, 1] - box[:, 0]).min() * found.normals
        )
        division = piece.partition
        return found.select(mine & ~division.is_on_interface(X[:, : len(division.domain.coordinates)]))

    def held_out(
        self, n: int, faces: int, rule: str, rng: np.random.Generator
    ) -> tuple[dict[Region, PointSet], dict[Region, PointSet]]:
        """Return held-out points of each region, equally many per subdomain, and those of the interfaces."""
        counts = [Points(n, faces, faces // 2, rule=rule)] * len(self.subdomains)
        together: dict[Region, list[PointSet]] = {}
        for number in range(len(self.subdomains)):
            for (region, _), there in self._region_points(number, counts, rng, False).items():
                together.setdefault(region, []).append(there)
        inside = {region: PointSet.joined(parts) for region, parts in together.items()}
        for r in self.compiled.residuals:
            if r.region.is_integral:
                self._check_integral(r, inside.get(r.region), counts[0], rng)
        regions = dict.fromkeys(r.region for r in self.decomposition.interface_residuals)
        return inside, {region: self._interface_points(region, counts[0], rng, False) for region in regions}

    def interface_residuals(
        self, where: Mapping[Region, PointSet], space: Space, w: Array, box: Array, sizes: Array
    ) -> dict[str, ScaledResidual]:
        """Return the residuals of the interface conditions by name; ``sizes`` are max|u| of the unknowns."""
        together = space.by_kind(single_domain=_itself)
        out: dict[str, ScaledResidual] = {}
        least = np.tile(sizes, len(self.subdomains))
        for region, there in where.items():
            here = tuple(r for r in self.decomposition.interface_residuals if r.region == region)
            part = replace(self.compiled, residuals=here, unknowns=len(together.bases))
            for name, found in residuals_at(part, {region: there}, together, w, box, least)[0].items():
                before = out.get(name)
                out[name] = found if before is None else ScaledResidual(
                    np.concatenate([before.values, found.values]), np.concatenate([before.term_sizes,
                    found.term_sizes])
                )  # fmt: skip
        return out

    def points_by_unknown(self, X: Array) -> list[Array]:
        """Return for each unknown of each subdomain the points in that subdomain."""
        where = self.decomposition.locate(X)
        return [X[where == p] for p in range(len(self.subdomains)) for _ in range(self.compiled.unknowns)]


def _itself(space: SingleDomainSpace) -> SingleDomainSpace:
    return space


def _share_points(points: Points, share: float, d: int) -> Points:
    """Return the point counts of one subdomain, given those of all."""
    on_face = share ** ((d - 1) / d)
    return replace(
        points,
        interior=max(int(points.interior * share), 8),
        boundary=max(int(points.boundary * on_face), 8),
        initial=max(int(points.initial * on_face), 1) if points.initial else 0,
    )

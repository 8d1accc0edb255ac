"""What all attempts at a problem share: the compiled problem, three sets of held-out points, random streams.

Points that choose between ways of solving, points that accept a solution, and points for norms are three
sets: a choice made at some points makes the choice look good there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pibls.adaptive.evolution import Evolution, evolution_of
from pibls.adaptive.random_features.family import WaveFamily
from pibls.adaptive.singular.enrich import Enrichment
from pibls.adaptive.subdomains.family import PieceFamily
from pibls.adaptive.subdomains.pieced import Pieced
from pibls.adaptive.thresholds import BENCH, DEFAULT, Thresholds
from pibls.adaptive.validation.data_scan import extremes
from pibls.adaptive.validation.estimate import Where, unknowns_at
from pibls.adaptive.validation.scales import idle_unknowns, measured_against, natural_sizes
from pibls.analysis.ripples import shortest
from pibls.arrays import Array
from pibls.assembly.even_odd import Inversion, inversion_of
from pibls.assembly.known import Known, Placed
from pibls.assembly.points import Points, PointSet, place
from pibls.caching import cached_property
from pibls.geometry import Domain, box_of
from pibls.linalg.tree.engine import HERE, Engine
from pibls.problem import Region
from pibls.problem.forms.lowering import LoweredProblem
from pibls.problem.interfaces.materials import Materials
from pibls.spaces import Space

_RIPPLED = 4  # places at which their coefficients are looked at
_MEASURED = 64  # places at which the terms of the equations are looked at
_KEPT = 32  # seeds whose points are kept for the next solve of a problem


@dataclass(frozen=True)
class Bench:
    """A compiled problem with the points that judge it."""

    lowered: LoweredProblem
    domain: Domain
    held_out: Mapping[Region, PointSet]
    """Where residuals are taken to choose."""
    where: Where
    """Where two solutions are compared, to accept, and for norms."""
    seed: int
    tol: float
    evolution: Evolution | None
    limits: Thresholds = field(default=DEFAULT, repr=False)
    extra: Enrichment = field(default_factory=Enrichment)
    """Singular functions to add to a basis."""
    known: dict[int, Known] = field(default_factory=dict, repr=False, compare=False)
    """What the equations are at the points that choose."""
    places: dict[tuple[Points, Inversion | None], tuple[Placed, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Where functions were fitted last: a second solution is fitted at the same places."""
    narrow: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """Places inside where the data are far larger than at the points that choose."""
    engine: Engine = field(default=HERE, repr=False)
    """Where the cells are eliminated."""
    kept: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was found out about the problem, for the next solve of it."""
    moved: list[Array] = field(default_factory=list, repr=False, compare=False)
    """How far rounding moves each unknown, relative to its size, where that is known; the last is best."""
    pieced: Pieced | None = field(default=None, repr=False)
    """The pieces of the domain, where coefficients or sources jump on any surface."""
    interfaces: Mapping[Region, PointSet] = field(default_factory=dict, repr=False)
    """Where residuals are taken between pieces."""

    @classmethod
    def of(
        cls,
        lowered: LoweredProblem,
        domain: Domain,
        seed: int,
        tol: float,
        extra: Enrichment | None = None,
        kept: dict[str, Any] | None = None,
    ) -> Bench:
        """``kept``: what was found out about the problem before, whatever the seed and the tolerance."""
        kept = {} if kept is None else kept
        benches: dict[int, Bench] = kept.setdefault("benches", {})
        again = benches.get(seed) if not extra else None
        if again is not None and again.lowered is lowered:
            # A Python function may say something else today.
            known = {key: k for key, k in again.known.items() if not k.residual.data}
            return replace(again, tol=tol, moved=[], known=known)
        d = lowered.dimension
        n = BENCH.held_out.get(d, 1000)
        faces = max(n // 2, 2) if d > 1 else 2
        rng = stream(seed, 0)
        held_out = place(lowered, domain, Points(n, faces, faces // 2, rule="halton"), rng)
        peaks = kept.setdefault("peaks", {})
        narrow = {r: extremes(r, found, lowered.at(r), domain, peaks) for r, found in held_out.items()}
        held_out = {r: PointSet.joined([found, *narrow[r]]) for r, found in held_out.items()}
        extra = Enrichment() if extra is None else extra
        held_out = {r: _judged(r, found, extra) for r, found in held_out.items()}
        other = stream(seed, 6)
        accepting = place(lowered, domain, Points(n, faces, faces // 2, rule="uniform"), other)
        sites = [site for found in accepting.values() for site in found.sites]
        even = np.asarray(domain.interior(n // 2, other), dtype=float)
        evolution = evolution_of(lowered, domain)
        axis = None if evolution is None else evolution.axis
        if evolution is not None:
            sites.append(_at_the_end(np.concatenate(sites), evolution))
        where = Where(
            np.concatenate([*sites, *(p.sites[0] for each in narrow.values() for p in each)]), even, axis
        )
        inside = [p.sites[0] for r, each in narrow.items() if r.is_inside for p in each]
        made = cls(
            lowered,
            domain,
            held_out,
            where,
            seed,
            tol,
            evolution,
            extra=extra,
            kept=kept,
            narrow=np.concatenate([np.empty((0, d)), *inside]),
        )
        if not extra:
            if len(benches) >= _KEPT:
                benches.clear()
            benches[seed] = made
        return made

    def in_pieces(self, materials: Materials) -> Bench:
        """The same in pieces: each has as many points that judge."""
        pieced = Pieced(self.lowered, materials, self.extra)
        n = BENCH.held_out.get(self.lowered.dimension, 1000)
        held_out, interfaces = pieced.held_out(n, n // 2, "halton", self.stream(0, 1))
        held_out = {r: _judged(r, found, self.extra) for r, found in held_out.items()}
        accepting, on = pieced.held_out(n, n // 2, "uniform", self.stream(6, 1))
        sites = [site for found in (*accepting.values(), *on.values()) for site in found.sites]
        where = replace(self.where, all=np.concatenate([self.where.all, *sites]))
        return replace(self, held_out=held_out, interfaces=interfaces, where=where, pieced=pieced)

    @property
    def family(self) -> WaveFamily | PieceFamily:
        """What a basis is, at any width."""
        if self.pieced is not None:
            return self.pieced.family
        return WaveFamily.isotropic(self.lowered.dimension)

    @property
    def where_held(self) -> Where:
        """The same for values that were taken at the points that choose."""
        return replace(self.where, axis=None)

    @cached_property
    def box(self) -> Array:
        return box_of(self.domain)

    @property
    def inversion(self) -> Inversion | None:
        """The inversion that leaves the equations as they are, where waves alone are used; asked for once."""
        if self.extra or self.pieced is not None or self.evolution is not None:
            return None
        known = self.kept.get("inversion")
        if known is None or known[0] is not self.lowered:
            known = self.kept["inversion"] = self.lowered, inversion_of(self.lowered, self.domain)
        found: Inversion | None = known[1]
        return found

    @property
    def ripples(self) -> float:
        """The shortest waves that solve the equations by themselves, 1/ξ of half the box; asked for once."""
        if not self.lowered.is_linear or self.evolution is not None or self.lowered.dimension > 2:
            return 0.0
        if "ripples" not in self.kept:
            inside = [r for r in self.lowered.residuals if r.region.is_inside]
            given = [Known.of(r, self.held_out[r.region], self.known).coefficients for r in inside]
            some = [c[:, :: max(c.shape[1] // _RIPPLED, 1)] for c in given]
            self.kept["ripples"] = shortest(self.lowered, some, self.box)
        found: float = self.kept["ripples"]
        return found

    @property
    def density(self) -> float:
        """Points inside per node, once the solution is resolved."""
        return 2.5 if self.tol < self.limits.dense_below else 1.75

    def judging(self, extra: Enrichment) -> Bench:
        """With functions to add, and points that judge them."""
        held_out = {r: _judged(r, found, extra) for r, found in self.held_out.items()}
        rims = () if extra.held is None else (extra.held.points,)
        where = replace(self.where, all=np.concatenate([self.where.all, extra.near, extra.mild, *rims]))
        return replace(self, extra=extra, held_out=held_out, where=where)

    def placed(self, points: Points, key: int, inversion: Inversion | None = None) -> tuple[Placed, ...]:
        """Where functions are fitted: of attempts with as many points each, those of the first.

        With an inversion: those on one side of it, and their images.
        """
        found = self.places.get((points, inversion))
        if found is None:
            where = Placed(self.extra.placed(place(self.lowered, self.domain, points, self.stream(2, key))))
            found = (where,) if inversion is None else inversion.halves(where)
            self.places.clear()
            self.places[points, inversion] = found
        return found

    def held_values(self, space: Space, w: Array) -> Array:
        """The unknowns of a function at the points that choose, (unknowns, n)."""
        X = np.concatenate([site for found in self.held_out.values() for site in found.sites])
        return unknowns_at(space, w, X, self.lowered.unknowns)

    def rounding(self, sizes: Array) -> Array | None:
        """How far rounding moves each unknown of these sizes, where that is known."""
        return self.moved[-1] * sizes if self.moved and len(self.moved[-1]) == len(sizes) else None

    def stream(self, *key: int) -> np.random.Generator:
        """An independent stream of random numbers for this seed and purpose."""
        return stream(self.seed, *key)

    def measured(self, space: Space, w: Array, sizes: Array) -> Array:
        """What the error of each unknown of these sizes is measured against."""
        half = 0.5 * (self.box[:, 1] - self.box[:, 0])
        with np.errstate(all="ignore"):
            natural = natural_sizes(self.equations(), space, w, self.where.even[:_MEASURED], half, self.idle)
        for k in self.idle:
            natural[k] = natural[k] or sizes.max()
        return measured_against(sizes, natural, self.tol)

    @cached_property
    def idle(self) -> frozenset[int]:
        """Unknowns that nothing drives but the others, if they do."""
        if self.lowered.unknowns == 1 or self.pieced is not None:
            return frozenset()
        return idle_unknowns(self.lowered, lambda r: Known.of(r, self.held_out[r.region], self.known))

    def equations(self) -> LoweredProblem:
        """The same without conditions."""
        inside = tuple(r for r in self.lowered.residuals if r.region.is_inside)
        return replace(self.lowered, residuals=inside)


def stream(seed: int, *key: int) -> np.random.Generator:
    """An independent stream of random numbers for a seed and a purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _judged(region: Region, found: PointSet, extra: Enrichment) -> PointSet:
    """The same points, and those towards the corners and at the rims of holes."""
    if region.is_sum:
        return extra.summed(region, found, 1.7)
    if region.is_inside and len(extra.near):
        sites = np.concatenate([found.sites[0], extra.near])
        return PointSet((sites,), np.zeros_like(sites))
    if region.is_boundary and region.sites == 1 and extra.held is not None:
        more = extra.held.select(region.mask(extra.held))
        sites = np.concatenate([found.sites[0], more.points])
        return PointSet((sites,), np.concatenate([found.normals, more.normals]))
    return found


def _at_the_end(X: Array, evolution: Evolution) -> Array:
    """Some of the points, moved to the end of time: no condition holds there, and errors are largest."""
    out = X[:: BENCH.ending].copy()
    out[:, evolution.axis] = evolution.stop
    return out

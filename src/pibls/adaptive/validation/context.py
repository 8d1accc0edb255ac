"""Shared data of all candidates: the compiled problem, validation points and random streams.

The points that select between candidates, those that accept a solution and those for norms are three
different sets: after a selection the residual at the selection points is biased.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.random_features.family import RandomFeatureFamily
from pibls.adaptive.singular.enrichment import Enrichment
from pibls.adaptive.subdomains.family import SubdomainFamily
from pibls.adaptive.subdomains.subdomain_problem import SubdomainProblem
from pibls.adaptive.thresholds import DEFAULT, VALIDATION, Thresholds
from pibls.adaptive.validation.data_scan import DataExtremes, narrow_extremes
from pibls.adaptive.validation.estimate import ComparisonPoints, unknowns_at
from pibls.adaptive.validation.scales import balanced_magnitudes, error_scales, undriven_unknowns
from pibls.analysis.evolution import Evolution, evolution_of
from pibls.analysis.homogeneous_waves import max_wavenumber
from pibls.arrays import Array
from pibls.assembly.even_odd import Inversion, inversion_of
from pibls.assembly.points import Points, PointSet, place
from pibls.assembly.residual_coefficients import PlacedPoints, ResidualCoefficients
from pibls.assembly.tensor_products.box_problem import BoxProblem
from pibls.geometry import Domain, box_of
from pibls.linalg.tree.engine import LOCAL, Engine
from pibls.problem import Problem, Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.problem.interfaces.decomposition import SubdomainDecomposition
from pibls.runtime.caching import cached_property
from pibls.spaces import Space

_WAVE_SAMPLES = 4  # points at which coefficients are evaluated to find homogeneous waves
_SCALE_SAMPLES = 64  # points at which the terms of the equations are evaluated
_MAX_CACHED_SEEDS = 32  # seeds whose points are kept for the next solve of a problem


@dataclass
class ValidationCache:
    """Results about one compiled problem that the next solve of it reuses; stored in `Problem.memo`."""

    contexts: dict[int, ValidationContext] = field(default_factory=dict)
    """Contexts without enrichment, by seed."""
    extremes: dict[Region, list[DataExtremes]] = field(default_factory=dict)
    """Extremes of the data, by region."""
    inversion: tuple[Inversion | None] | None = None
    """The point symmetry of the problem, or None in a tuple if it has none; None before it was looked for."""
    max_wavenumber: float | None = None
    box_problem: tuple[BoxProblem | None] | None = None

    def store(self, context: ValidationContext) -> None:
        """Store the context of its seed."""
        if len(self.contexts) >= _MAX_CACHED_SEEDS:
            self.contexts.clear()
        self.contexts[context.seed] = context


def validation_cache(problem: Problem) -> ValidationCache:
    """Return the cache of a problem at its values of the parameters."""
    return problem.memo(_new_cache)


def _new_cache(_: Problem) -> ValidationCache:
    return ValidationCache()


@dataclass(frozen=True)
class ValidationContext:
    """A compiled problem with its validation points."""

    compiled: CompiledProblem
    domain: Domain
    held_out: Mapping[Region, PointSet]
    """Held-out points at which candidates are selected by their residuals."""
    comparison_points: ComparisonPoints
    """Points at which two solutions are compared, for acceptance and for norms."""
    seed: int
    tol: float
    evolution: Evolution | None
    thresholds: Thresholds = field(default=DEFAULT, repr=False)
    enrichment: Enrichment = field(default_factory=Enrichment)
    """Singular functions to add to a basis."""
    coefficients_cache: dict[int, ResidualCoefficients] = field(
        default_factory=dict, repr=False, compare=False
    )
    """Coefficients of the equations at the held-out points."""
    points_cache: dict[tuple[Points, Inversion | None], tuple[PlacedPoints, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    """Collocation points used last: a companion solution is fitted at the same points."""
    narrow_data_points: Array = field(default_factory=lambda: np.empty((0, 0)), repr=False)
    """Interior points at which the data are far larger than at the other held-out points."""
    engine: Engine = field(default=LOCAL, repr=False)
    """Engine that eliminates the cells."""
    cache: ValidationCache = field(default_factory=lambda: ValidationCache(), repr=False, compare=False)
    """Results about the problem that are reused by its next solve."""
    rounding_shifts: list[Array] = field(default_factory=list, repr=False, compare=False)
    """Effect of rounding on each unknown, relative to its magnitude; the last entry is the best."""
    subdomains: SubdomainProblem | None = field(default=None, repr=False)
    """Subdomains, if coefficients or sources jump on general surfaces."""
    interface_points: Mapping[Region, PointSet] = field(default_factory=dict, repr=False)
    """Held-out points on the interfaces between subdomains."""

    @classmethod
    def of(
        cls,
        compiled: CompiledProblem,
        domain: Domain,
        seed: int,
        tol: float,
        extra: Enrichment | None = None,
        cache: ValidationCache | None = None,
    ) -> ValidationContext:
        """Create the context; ``cache`` has results of earlier solves, independent of seed and tol."""
        cache = ValidationCache() if cache is None else cache
        extra = Enrichment() if extra is None else extra
        if extra.blocks:
            return cls._with_points(compiled, domain, seed, tol, extra, cache)
        cached = cache.contexts.get(seed)
        if cached is not None and cached.compiled is compiled:
            # Values of Python functions are not reused: they may have changed.
            known = {key: k for key, k in cached.coefficients_cache.items() if not k.residual.data}
            return replace(cached, tol=tol, rounding_shifts=[], coefficients_cache=known)
        context = cls._with_points(compiled, domain, seed, tol, extra, cache)
        cache.store(context)
        return context

    @classmethod
    def _with_points(
        cls,
        compiled: CompiledProblem,
        domain: Domain,
        seed: int,
        tol: float,
        extra: Enrichment,
        cache: ValidationCache,
    ) -> ValidationContext:
        """Place the validation points."""
        d = compiled.dimension
        n = VALIDATION.held_out.get(d, 1000)
        faces = max(n // 2, 2) if d > 1 else 2
        held_out = place(
            compiled, domain, Points(n, faces, faces // 2, rule="halton"), random_stream(seed, 0)
        )
        narrow_points = {
            r: narrow_extremes(r, found, compiled.on_region(r), domain, cache.extremes)
            for r, found in held_out.items()
        }
        held_out = {
            r: extra.add_validation_points(r, PointSet.joined([found, *narrow_points[r]]))
            for r, found in held_out.items()
        }
        evolution = evolution_of(compiled, domain)
        comparison_points = _comparison_points(
            compiled, domain, Points(n, faces, faces // 2, rule="uniform"), seed, evolution
        )
        narrow_sites = [p.sites[0] for each in narrow_points.values() for p in each]
        inside = [p.sites[0] for r, each in narrow_points.items() if r.is_interior for p in each]
        return cls(
            compiled,
            domain,
            held_out,
            replace(comparison_points, all=np.concatenate([comparison_points.all, *narrow_sites])),
            seed,
            tol,
            evolution,
            enrichment=extra,
            cache=cache,
            narrow_data_points=np.concatenate([np.empty((0, d)), *inside]),
        )

    def on_subdomains(self, materials: SubdomainDecomposition) -> ValidationContext:
        """Return the context on subdomains, with the same number of validation points in each."""
        subdomains = SubdomainProblem(self.compiled, materials, self.enrichment)
        n = VALIDATION.held_out.get(self.compiled.dimension, 1000)
        held_out, interfaces = subdomains.held_out(n, n // 2, "halton", self.stream(0, 1))
        held_out = {r: self.enrichment.add_validation_points(r, found) for r, found in held_out.items()}
        accepted_points, on = subdomains.held_out(n, n // 2, "uniform", self.stream(6, 1))
        sites = [site for found in (*accepted_points.values(), *on.values()) for site in found.sites]
        where = replace(self.comparison_points, all=np.concatenate([self.comparison_points.all, *sites]))
        return replace(
            self,
            held_out=held_out,
            interface_points=interfaces,
            comparison_points=where,
            subdomains=subdomains,
        )

    @property
    def family(self) -> RandomFeatureFamily | SubdomainFamily:
        """Family of bases, parametrized by the number of functions."""
        if self.subdomains is not None:
            return self.subdomains.family
        return RandomFeatureFamily.isotropic(self.compiled.dimension)

    @property
    def comparison_at_held_out(self) -> ComparisonPoints:
        """Comparison at the held-out points, without error history."""
        return replace(self.comparison_points, axis=None)

    @cached_property
    def box(self) -> Array:
        return box_of(self.domain)

    @property
    def inversion(self) -> Inversion | None:
        """Point reflection under which the equations are invariant, for random features alone; cached."""
        if self.enrichment or self.subdomains is not None or self.evolution is not None:
            return None
        if self.cache.inversion is None:
            self.cache.inversion = (inversion_of(self.compiled, self.domain),)
        return self.cache.inversion[0]

    @property
    def shortest_homogeneous_wave(self) -> float:
        """Largest frequency of waves that solve the homogeneous equations, per half box; cached."""
        if not self.compiled.is_linear or self.evolution is not None or self.compiled.dimension > 2:
            return 0.0
        if self.cache.max_wavenumber is None:
            inside = [r for r in self.compiled.residuals if r.region.is_interior]
            given = [
                ResidualCoefficients.of(r, self.held_out[r.region], self.coefficients_cache).coefficients
                for r in inside
            ]
            some = [c[:, :: max(c.shape[1] // _WAVE_SAMPLES, 1)] for c in given]
            self.cache.max_wavenumber = max_wavenumber(self.compiled, some, self.box)
        return self.cache.max_wavenumber

    @property
    def density(self) -> float:
        """Interior points per node, once the solution is resolved."""
        return 2.5 if self.tol < self.thresholds.dense_points_tol else 1.75

    def with_enrichment(self, extra: Enrichment) -> ValidationContext:
        """Return the context with singular functions and their validation points."""
        held_out = {r: extra.add_validation_points(r, found) for r, found in self.held_out.items()}
        rims = () if extra.boundary_validation_points is None else (extra.boundary_validation_points.points,)
        where = replace(
            self.comparison_points,
            all=np.concatenate(
                [self.comparison_points.all, extra.validation_points, extra.comparison_points, *rims]
            ),
        )
        return replace(self, enrichment=extra, held_out=held_out, comparison_points=where)

    def fit_points(
        self, points: Points, key: int, inversion: Inversion | None = None
    ) -> tuple[PlacedPoints, ...]:
        """Return the collocation points; candidates with equal point counts share them.

        With an inversion: the points on one side of it, and their images.
        """
        found = self.points_cache.get((points, inversion))
        if found is None:
            where = PlacedPoints(
                self.enrichment.add_fit_points(place(self.compiled, self.domain, points, self.stream(2, key)))
            )
            found = (where,) if inversion is None else inversion.split_points(where)
            self.points_cache.clear()
            self.points_cache[points, inversion] = found
        return found

    def values_at_held_out(self, space: Space, w: Array) -> Array:
        """Return the unknowns of a function at the held-out points, (unknowns, n)."""
        X = np.concatenate([site for found in self.held_out.values() for site in found.sites])
        return unknowns_at(space, w, X, self.compiled.unknowns)

    def rounding(self, sizes: Array) -> Array | None:
        """Return the effect of rounding on unknowns of these magnitudes, if it is known."""
        return (
            self.rounding_shifts[-1] * sizes
            if self.rounding_shifts and len(self.rounding_shifts[-1]) == len(sizes)
            else None
        )

    def stream(self, *key: int) -> np.random.Generator:
        """Return an independent random stream for this seed and purpose."""
        return random_stream(self.seed, *key)

    def error_scales(self, space: Space, w: Array, sizes: Array) -> Array:
        """Return the scale of each unknown by which its error is divided."""
        half_lengths = 0.5 * (self.box[:, 1] - self.box[:, 0])
        with np.errstate(all="ignore"):
            natural = balanced_magnitudes(
                self.without_conditions(),
                space,
                w,
                self.comparison_points.even[:_SCALE_SAMPLES],
                half_lengths,
                self.undriven_unknowns,
            )
        for k in self.undriven_unknowns:
            natural[k] = natural[k] or sizes.max()
        return error_scales(sizes, natural, self.tol)

    @cached_property
    def undriven_unknowns(self) -> frozenset[int]:
        """Unknowns without data of their own, which are zero unless other unknowns drive them."""
        if self.compiled.unknowns == 1 or self.subdomains is not None:
            return frozenset()
        return undriven_unknowns(
            self.compiled,
            lambda r: ResidualCoefficients.of(r, self.held_out[r.region], self.coefficients_cache),
        )

    def without_conditions(self) -> CompiledProblem:
        """Return the compiled problem without its conditions."""
        inside = tuple(r for r in self.compiled.residuals if r.region.is_interior)
        return replace(self.compiled, residuals=inside)


def random_stream(seed: int, *key: int) -> np.random.Generator:
    """Return an independent random stream for a seed and a purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def _comparison_points(
    compiled: CompiledProblem, domain: Domain, points: Points, seed: int, evolution: Evolution | None
) -> ComparisonPoints:
    """Return the points at which two solutions are compared: in all regions, and at the final time."""
    rng = random_stream(seed, 6)
    placed = place(compiled, domain, points, rng)
    sites = [site for found in placed.values() for site in found.sites]
    even = np.asarray(domain.interior(points.interior // 2, rng), dtype=float)
    if evolution is None:
        return ComparisonPoints(np.concatenate(sites), even, None)
    sites.append(_at_final_time(np.concatenate(sites), evolution))
    return ComparisonPoints(np.concatenate(sites), even, evolution.axis)


def _at_final_time(X: Array, evolution: Evolution) -> Array:
    """Return some of the points, moved to the final time: errors are largest there."""
    out = X[:: VALIDATION.end_time_stride].copy()
    out[:, evolution.axis] = evolution.stop
    return out

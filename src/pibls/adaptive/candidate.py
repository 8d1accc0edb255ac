"""Candidates: one space, one set of collocation points, one solve, validated on held-out points."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pibls.adaptive.basis_parts import (
    CompositeSpec,
    FourierSpec,
    GridSpec,
    ScaledSpec,
    SpaceBuilder,
    vector_functions_of,
)
from pibls.adaptive.initial_guess.guess_sequence import solve_from_data, solve_from_guess, solve_from_solution
from pibls.adaptive.point_counts import default_points
from pibls.adaptive.subdomains.family import SubdomainSpecs
from pibls.adaptive.thresholds import DEFAULT, POINT_COUNTS
from pibls.adaptive.validation.conditioning import UNKNOWN_CONDITIONING, Conditioning, conditioning_at
from pibls.adaptive.validation.context import ValidationContext, random_stream
from pibls.adaptive.validation.estimate import Norms, norms_by_name
from pibls.arrays import Array
from pibls.assembly.even_odd import Inversion
from pibls.assembly.points import Points, PointSet
from pibls.assembly.residual_coefficients import ResidualCoefficients
from pibls.assembly.scaled_residuals import ScaledResidual, residuals_at
from pibls.assembly.shared_coefficients import SharedCoefficientSystem
from pibls.assembly.streaming import assemble_or_stream
from pibls.basis import BasisSpec
from pibls.basis.random_fourier import RandomFourierBasis
from pibls.linalg.threads import limit_blas_threads
from pibls.nonlinear import GaussNewton, Method, Outcome
from pibls.problem import Region
from pibls.runtime.caching import cached_property
from pibls.spaces import (
    CellSpace,
    Choice,
    SingleDomainSpace,
    Space,
    coefficient_map,
)
from pibls.status import Status

if TYPE_CHECKING:
    # Cells take a while to import, and most problems need none.
    from pibls.assembly.system_types import AnySystem, AssembledSystem


@dataclass(frozen=True)
class Candidate:
    """A solved system with its residuals at held-out points."""

    space: Space
    outcome: Outcome
    residuals: dict[str, Norms]
    values: Array
    """The unknowns at the held-out points, (unknowns, n)."""
    seconds: float
    settings: dict[str, Any] = field(default_factory=dict)
    conditioning: Conditioning = UNKNOWN_CONDITIONING
    """Coercivity of the problem at the solution, if it was computed."""

    @property
    def w(self) -> Array:
        return self.outcome.w

    @property
    def function(self) -> tuple[Space, Array]:
        """The function found, as space and coefficients."""
        return self.space, self.outcome.w

    @cached_property
    def relative_residual(self) -> float:
        """The largest held-out residual, relative to the terms of its equation."""
        return _max_relative_residual(self.residuals)

    @cached_property
    def magnitudes(self) -> Array:
        """max|u| of each unknown."""
        return np.asarray(np.abs(self.values).max(axis=1, initial=0.0))


NEWTON = GaussNewton(rounds=0)
"""Method for nonlinear systems if none is given."""


def compute_candidate(
    context: ValidationContext,
    spec: Choice,
    points: Points | None,
    method: Method | None,
    key: int,
    start: Candidate | None = None,
    guess: Space | None = None,
    *,
    with_conditioning: bool = False,
    skip_continuation: bool = False,
    validate: bool = True,
    newton: GaussNewton = NEWTON,
) -> Candidate:
    """Draw the space, assemble, solve and validate; ``key`` selects the random stream.

    Without a ``method``, ``newton`` starts from the data or from a constant. ``with_conditioning`` computes
    whether the problem is under-determined; ``skip_continuation`` gives up where the plain Newton iteration
    fails; without ``validate`` the candidate has no residuals.
    """
    began = time.perf_counter()
    compiled, inversion = context.compiled, None
    if points is None:
        inversion = context.inversion if method is None else None
        is_unresolved = start is not None and start.relative_residual > context.thresholds.unresolved_residual
        points = default_points(
            spec, context.domain, POINT_COUNTS.unresolved_density if is_unresolved else context.density
        )
    # The nonlinear solver detects overflow itself and reduces the step.
    with limit_blas_threads(spec.size * compiled.unknowns), np.errstate(over="ignore", invalid="ignore"):
        space = draw_space(spec, context, key)
        system = with_shared_coefficients(
            assemble_system(context, space, points, key, inversion), spec, compiled.unknowns
        )
        newton_method = replace(newton, continuation=0) if skip_continuation else newton
        outcome = _solve(system, context, method, start, guess, key, newton_method)
        full = replace(outcome, w=system.expand(outcome.w))
        found, values = (
            validation_residuals(context, space, full.w)
            if validate
            else ({}, np.empty((compiled.unknowns, 0)))
        )
        residuals = norms_by_name(found)
        probed = UNKNOWN_CONDITIONING
        if system.conditioning_target is not None and (
            with_conditioning or _may_be_undetermined(context, outcome, residuals)
        ):
            probed = conditioning_at(
                context, system.conditioning_target, outcome, key, exactly=with_conditioning
            )
    outcome = replace(full, factors=None)  # frees matrices that are no longer needed
    seconds = time.perf_counter() - began
    settings = {"basis": spec, "points": points}
    return Candidate(space, outcome, residuals, values, seconds, settings, probed)


def draw_space(spec: Choice, context: ValidationContext, key: int) -> Space:
    """Return the space of a basis: shared by all unknowns, unless the basis defines its own."""
    unknowns = context.compiled.unknowns
    if isinstance(spec, FourierSpec) and context.subdomains is None:
        kept = _frequencies(spec, len(context.box), context.seed, key)
        return SingleDomainSpace.shared(RandomFourierBasis.on_box(context.box, kept), unknowns)
    rng = context.stream(1, key)
    if context.subdomains is not None:
        return context.subdomains.draw_space(spec, rng)
    if isinstance(spec, SpaceBuilder):
        return spec.space(context.box, rng, unknowns)
    return SingleDomainSpace.shared(spec.draw(context.box, rng), unknowns)


def rescaled(spec: Choice) -> Choice:
    """Return the same basis at the companion scale, including its parts and local bases."""
    match spec:
        case CompositeSpec():
            return _with(spec, parts=_rescaled_parts(spec.parts))
        case SubdomainSpecs():
            return replace(spec, specs=_rescaled_parts(spec.specs))
        case GridSpec():
            return _with(spec, local=_rescaled_parts((spec.local,))[0])
        case ScaledSpec():
            scale = spec.scale
            factor = DEFAULT.companion_scale
            changed = tuple(factor * s for s in scale) if isinstance(scale, tuple) else factor * scale
            return _with(spec, scale=changed)
    return spec


def _with(spec: Any, **changes: Any) -> Choice:
    return cast("Choice", replace(spec, **changes))


def _rescaled_parts(parts: tuple[BasisSpec, ...]) -> tuple[BasisSpec, ...]:
    return tuple(cast("BasisSpec", rescaled(part)) for part in parts)


@lru_cache(maxsize=64)
def _frequencies(spec: FourierSpec, d: int, seed: int, key: int) -> Array:
    """Return frequencies shared by all problems of that dimension; the array is read-only by convention."""
    return spec.frequencies(d, random_stream(seed, 1, key))


def assemble_system(
    context: ValidationContext, space: Space, points: Points, key: int, inversion: Inversion | None = None
) -> AssembledSystem:
    """Assemble a problem in a space; with an inversion as an even and an odd half, if the space allows."""
    if context.subdomains is not None:
        return context.subdomains.assemble(space, points, context.stream(2, key))

    def in_cells(cells: CellSpace) -> AssembledSystem:
        from pibls.adaptive.hybridized import system_with_points

        (placed,) = context.fit_points(points, key)
        return system_with_points(context, cells, placed.points)

    def on_single_domain(whole: SingleDomainSpace) -> AssembledSystem:
        if inversion is not None and inversion.applies_to(whole, points):
            return inversion.system(context.compiled, context.fit_points(points, key, inversion), whole)
        (placed,) = context.fit_points(points, key)
        return assemble_or_stream(context.compiled, placed, whole)

    return space.by_kind(single_domain=on_single_domain, cells=in_cells)


def with_shared_coefficients(system: AssembledSystem, spec: Choice, unknowns: int) -> AnySystem:
    """Return the system with shared coefficients of functions that belong to several unknowns."""
    fields = vector_functions_of(spec)
    single_domain = system.as_single_matrix
    if not fields or single_domain is None:
        return system
    return SharedCoefficientSystem(single_domain, coefficient_map(single_domain.space, fields, unknowns))


def validation_residuals(
    context: ValidationContext, space: Space, w: Array
) -> tuple[dict[str, ScaledResidual], Array]:
    """Return the residual of each equation and condition at held-out points, and the unknowns there."""
    shares = space.by_kind(cells=partial(_integral_points_in_cells, context), other=_no_points)
    compiled, box = context.compiled, context.box
    if shares:  # integrals over layers need a quadrature rule in every cell
        rest = replace(compiled, residuals=tuple(r for r in compiled.residuals if r.region not in shares))
        held_out = {region: found for region, found in context.held_out.items() if region not in shares}
        judged, unknowns = residuals_at(rest, held_out, space, w, box, cache=context.coefficients_cache)
        sums = replace(compiled, residuals=tuple(r for r in compiled.residuals if r.region in shares))
        judged |= residuals_at(sums, shares, space, w, box, np.abs(unknowns).max(axis=1, initial=0.0))[0]
        return judged, unknowns
    judged, unknowns = residuals_at(
        compiled, context.held_out, space, w, box, cache=context.coefficients_cache
    )
    if context.undriven_unknowns:
        # Residuals of undriven unknowns, which are zero up to rounding, are scaled by the other unknowns.
        least = context.error_scales(space, w, np.abs(unknowns).max(axis=1, initial=0.0))
        judged, _ = residuals_at(compiled, context.held_out, space, w, box, least, context.coefficients_cache)
    if context.subdomains is not None:
        sizes = np.abs(unknowns).max(axis=1, initial=0.0)
        judged |= context.subdomains.interface_residuals(
            context.interface_points, space, w, context.box, sizes
        )
    return judged, unknowns


def _integral_points_in_cells(context: ValidationContext, cells: CellSpace) -> dict[Region, PointSet]:
    from pibls.adaptive.hybridized import integral_validation_points

    return integral_validation_points(context, cells)


def _no_points(_: Space) -> dict[Region, PointSet]:
    return {}


def condition_errors(context: ValidationContext, residuals: Mapping[str, Norms]) -> Array:
    """Return max|u - g| of each unknown where boundary, initial or mean values g are prescribed."""
    out = np.zeros(context.compiled.unknowns)
    means: dict[str, Array] = {}
    for r in context.compiled.residuals:
        found = residuals.get(r.name)
        if found is None or r.nonlinear or r.region.is_interior or not len(context.held_out[r.region]):
            continue
        known = ResidualCoefficients.of(r, context.held_out[r.region], context.coefficients_cache)
        if r.region.is_integral:
            mine = means.setdefault(r.name, np.zeros(context.compiled.unknowns))
            _add_integrals(mine, known, context)
            continue
        if len(r.linear) == 1 and not any(r.linear[0].alpha) and known.coefficients.all():
            k = r.linear[0].unknown
            out[k] = max(out[k], found.max / float(np.abs(known.coefficients).max(initial=0.0)))
    for name, mine in means.items():
        # Two solutions share the error of a quadrature rule; it shows in another rule.
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.maximum(out, np.where(mine > 0, residuals[name].max / mine, 0.0))
    return out


def _add_integrals(integrals: Array, known: ResidualCoefficients, context: ValidationContext) -> None:
    """Add the integral of the coefficient of each unknown in a condition on a mean value."""
    weights = np.abs(np.asarray(context.held_out[known.residual.region].weights)).ravel()
    for derivative, c in zip(known.residual.linear, known.coefficients, strict=True):
        integrals[derivative.unknown] += float(weights @ np.abs(c)) if not any(derivative.alpha) else 0.0


def _max_relative_residual(residuals: Mapping[str, Norms]) -> float:
    return max((n.relative for n in residuals.values()), default=np.inf)


def _may_be_undetermined(
    context: ValidationContext, outcome: Outcome, residuals: Mapping[str, Norms]
) -> bool:
    """Whether a nonlinear solve ended with a small residual that is too large for a solution."""
    if context.compiled.is_linear or context.evolution is not None or outcome.status is not Status.SOLVED:
        return False
    return (
        context.thresholds.rounding_residual
        < _max_relative_residual(residuals)
        < context.thresholds.min_contradiction_residual
    )


def _evaluation_space(space: Space, context: ValidationContext) -> Space:
    """Return the space of an initial guess as the system evaluates it."""
    return space if context.subdomains is None else space.on_all_subdomains(context.compiled.unknowns)


def _solve(
    system: AnySystem,
    context: ValidationContext,
    method: Method | None,
    start: Candidate | None,
    guess: Space | None,
    key: int,
    newton_method: GaussNewton,
) -> Outcome:
    if method is None and system.is_linear:
        return newton_method.linear_solve(system)
    rng = context.stream(3, key)
    if method is not None:
        return method.solve(system, rng)
    single_domain = system.as_single_matrix
    if single_domain is None:
        return newton_method.solve(system, rng)
    if start is not None and start.relative_residual < context.thresholds.max_start_residual:
        return solve_from_solution(
            single_domain,
            _evaluation_space(start.space, context),
            start.w,
            start.relative_residual,
            newton_method,
        )
    if guess is not None:
        relative = _max_relative_residual(norms_by_name(validation_residuals(context, guess, np.empty(0))[0]))
        # A guess that is a solution already must not be damped by the first step.
        relative = relative if relative < context.thresholds.unresolved_residual else 1.0
        return solve_from_guess(single_domain, _evaluation_space(guess, context), relative, newton_method)
    return solve_from_data(single_domain, newton_method, context, rng)

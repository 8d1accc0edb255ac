r"""Nonlinear solve on one domain from a sequence of initial guesses.

The guesses are the harmonic extension of the conditions, Δu = 0 (∂_t u = 0 for an evolution), then
constants, then exponential functions; or the user's guess; or an earlier solution. An initial guess must
not depend on the origin or the unit of u: temperatures in kelvin are near 300, and √(u - 300) is undefined
at zero. The harmonic extension of the conditions scales and shifts with them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pibls.adaptive.thresholds import INITIAL_GUESS
from pibls.adaptive.validation.context import ValidationContext
from pibls.arrays import Array
from pibls.assembly.shared_coefficients import SharedCoefficientSystem
from pibls.assembly.streaming import StreamedSystem
from pibls.assembly.system import System
from pibls.basis import ExponentialBasis
from pibls.errors import ProblemError
from pibls.linalg import RidgeQR
from pibls.linalg.matrix import is_finite
from pibls.nonlinear import GaussNewton, Outcome
from pibls.nonlinear.protocol import START_CONSTANTS
from pibls.problem import PartialDerivative
from pibls.spaces import SingleDomainSpace, Space
from pibls.status import Status

SingleDomainSystem = System | StreamedSystem | SharedCoefficientSystem


def harmonic_lift(system: System, context: ValidationContext) -> Array | None:
    """Return coefficients of a smooth function that satisfies the linear conditions; None if all are zero."""
    space = system.space
    A, b = [], []
    interior = _interior_points(system)
    for block in system.blocks:
        if not block.residual.region.is_interior and not block.tables:
            rows = system.linear[block.rows]
            scale = np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), 1e-300)
            A.append(INITIAL_GUESS.condition_weight * rows / scale[:, None])
            b.append(-INITIAL_GUESS.condition_weight * system.constant[block.rows] / scale)
    if not interior or not A or not np.concatenate(b).any():
        return None
    flat = _smoothness_rows(space, interior, context)
    matrix = np.asfortranarray(np.concatenate([*A, flat]))
    target = np.concatenate([*b, np.zeros(len(flat))])
    factors = RidgeQR().factor_scaled(matrix, np.ones(len(matrix)), INITIAL_GUESS.relative_cutoff)
    return factors.apply(target)


def _interior_points(system: System) -> dict[int, Array]:
    """Return for each unknown the interior points of an equation that contains it."""
    out: dict[int, Array] = {}
    for block in system.blocks:
        if block.residual.region.is_interior:
            derivatives = (*block.residual.linear, *block.residual.nonlinear)
            out |= {derivative.unknown: block.points.sites[0] for derivative in derivatives}
    return out


def _smoothness_rows(space: SingleDomainSpace, places: dict[int, Array], context: ValidationContext) -> Array:
    """Return rows of Δu in units of the box, or of ∂_t u for an evolution, for each unknown."""
    d = context.compiled.dimension
    half = 0.5 * (context.box[:, 1] - context.box[:, 0])
    axes, order = (range(d), 2) if context.evolution is None else ([context.evolution.axis], 1)
    alphas = {i: tuple(order if j == i else 0 for j in range(d)) for i in axes}
    out = []
    for k, X in places.items():
        tables = space.tables(X, ((space.basis_owners[k], a) for a in alphas.values()))
        rows = sum(tables[space.basis_owners[k], a] * half[i] ** order for i, a in alphas.items())
        scale = np.sqrt(np.einsum("ij,ij->", rows, rows) / len(rows)) or 1.0
        out.append(np.zeros((len(X), space.columns)))
        out[-1][:, space.slices[k]] = rows / scale
    return np.concatenate(out)


def solve_from_data(
    system: SingleDomainSystem, method: GaussNewton, context: ValidationContext, rng: np.random.Generator
) -> Outcome:
    """Solve from the data; if that stalls, from constants, and from exponential functions."""
    best: Outcome | None = None
    all_infinite = True
    for v, w in _initial_guesses(system, context):
        if not all(is_finite(part) for part in system.linearize(v)):
            continue
        all_infinite = False
        found = method.descend(system, v, w=w)
        # With singular functions, a moderate residual is due to few random features, not to the guess.
        guess_may_be_at_fault = (
            not system.has_singular_functions or found.relative > INITIAL_GUESS.max_unresolved_residual
        )
        if found.status is Status.STALLED and method.continuation and guess_may_be_at_fault:
            continued = method.follow_homotopy(system, v)
            found = continued if continued.cost < found.cost else found
        best = found if best is None or found.cost < best.cost else best
        if best.status is not Status.STALLED or not guess_may_be_at_fault:
            return best
        if system.shape[1] > INITIAL_GUESS.max_columns:
            return best
    if all_infinite or best is None:
        raise ProblemError(
            "problem",
            expected="equations that are finite for some initial guess: the data, or a constant",
            got=f"infinite or undefined terms at the data and at each of {START_CONSTANTS}",
            remedy="Give an initial guess with guess=…, or rewrite the equation without the singularity.",
        )
    return best


def _initial_guesses(
    system: SingleDomainSystem, context: ValidationContext
) -> Iterator[tuple[Array, Array | None]]:
    w = None if system.as_stored is None else harmonic_lift(system.as_stored, context)
    if w is not None:
        yield system.values(w), w
    columns = system.shape[1]
    for u in START_CONSTANTS:
        v = system.values_of_constant(u)
        # With singular functions the first step is not damped: near a corner their second-order terms make
        # the residual larger after the step than before.
        damped = not v.any() and not system.has_singular_functions
        yield v, np.zeros(columns) if damped else None
        if all(is_finite(part) for part in system.linearize(v)):
            break
    # exp(Σᵢ (xᵢ - cᵢ)/hᵢ) is positive with all its derivatives: about a constant log u' has no linearization.
    rates = 2.0 / np.ptp(context.box, axis=1)
    level = np.array([context.box.mean(axis=1) @ rates])
    growing = ExponentialBasis(rates[:, None], np.zeros((len(rates), 1)), level, np.zeros(1))
    growth = SingleDomainSpace.shared(growing, len(system.space.bases))
    for sign in (1.0, -1.0):
        yield system.values_of(growth, np.full(growth.columns, sign)), None


def solve_from_guess(
    system: SingleDomainSystem, guess: Space, relative: float, method: GaussNewton
) -> Outcome:
    """Solve from a guess with damped steps; if they stall, with a full first step.

    A full step may lead to another solution far from the guess.
    """
    nothing = np.empty(0)
    if system.as_stored is not None:
        v, w = system.values_of(guess, nothing), _project_guess(system.as_stored, guess)
        found = method.descend(system, v, relative, w=w)
        if found.status is not Status.STALLED:
            return found
    return solve_from_solution(system, guess, nothing, relative, method)


def _project_guess(system: System, guess: Space) -> Array:
    """Return the coefficients of a guess in the basis of the system, by least squares."""
    space, out = system.space, np.zeros(system.space.columns)
    for k, X in _interior_points(system).items():
        zero, owner = (0,) * X.shape[1], space.basis_owners[k]
        A, b = (
            space.tables(X, [(owner, zero)])[owner, zero],
            guess.values((X,), (PartialDerivative(k, zero),), np.empty(0))[0],
        )
        if not np.isfinite(b).all():
            raise ProblemError(
                "guess",
                expected="finite values inside the domain",
                got=f"{b[~np.isfinite(b)][0]} at {X[~np.isfinite(b)][0]}",
                remedy="Give another initial guess, or none.",
            )
        out[space.slices[k]] = (
            RidgeQR().factor_scaled(A, np.ones(len(A)), INITIAL_GUESS.relative_cutoff).apply(b)
        )
    return out


def solve_from_solution(
    system: SingleDomainSystem, space: Space, w: Array, relative: float, method: GaussNewton
) -> Outcome:
    """Solve from a solution in another space with a known relative residual."""
    return method.descend(system, system.values_of(space, w), relative)

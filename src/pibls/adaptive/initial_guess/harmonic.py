r"""Δu = 0 (or ∂_t u = 0) with the problem's own conditions: where a nonlinear solve begins.

A start must not depend on where zero is, nor on the unit: temperatures in kelvin are all near 300, and an
equation with √(u - 300) has no value at zero. The smooth function that the conditions themselves describe
is a start that moves along with them. Constants, and functions that grow, are tried after it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pibls.adaptive.thresholds import STARTS
from pibls.adaptive.validation.context import Bench
from pibls.arrays import Array
from pibls.assembly.streaming import StreamedSystem
from pibls.assembly.system import System
from pibls.assembly.tied import TiedSystem
from pibls.basis import ExponentialBasis
from pibls.errors import ProblemError
from pibls.linalg import RidgeQR
from pibls.linalg.matrix import is_finite
from pibls.nonlinear import GaussNewton, Outcome
from pibls.nonlinear.protocol import LEVELS
from pibls.problem import Jet
from pibls.spaces import Space, Whole
from pibls.status import Status

AnyWhole = System | StreamedSystem | TiedSystem


def lift(system: System, bench: Bench) -> Array | None:
    """The coefficients of the smooth function that meets the linear conditions; None where all are zero."""
    space = system.space
    A, b = [], []
    interior = _interior(system)
    for block in system.blocks:
        if not block.residual.region.is_inside and not block.jets:
            rows = system.linear[block.rows]
            scale = np.maximum(np.sqrt(np.einsum("ij,ij->i", rows, rows)), 1e-300)
            A.append(STARTS.firm * rows / scale[:, None])
            b.append(-STARTS.firm * system.constant[block.rows] / scale)
    if not interior or not A or not np.concatenate(b).any():
        return None
    flat = _flatness(space, interior, bench)
    matrix = np.asfortranarray(np.concatenate([*A, flat]))
    target = np.concatenate([*b, np.zeros(len(flat))])
    factors = RidgeQR().factor_scaled(matrix, np.ones(len(matrix)), STARTS.cond)
    return factors.apply(target)


def _interior(system: System) -> dict[int, Array]:
    """Points inside at which equations hold that have an unknown, for each of them."""
    out: dict[int, Array] = {}
    for block in system.blocks:
        if block.residual.region.is_inside:
            jets = (*block.residual.linear, *block.residual.nonlinear)
            out |= {jet.unknown: block.points.sites[0] for jet in jets}
    return out


def _flatness(space: Whole, places: dict[int, Array], bench: Bench) -> Array:
    """Rows of Δu in units of the box, or of ∂_t u where there is a beginning, for each unknown."""
    d = bench.lowered.dimension
    half = 0.5 * (bench.box[:, 1] - bench.box[:, 0])
    axes, order = (range(d), 2) if bench.evolution is None else ([bench.evolution.axis], 1)
    alphas = {i: tuple(order if j == i else 0 for j in range(d)) for i in axes}
    out = []
    for k, X in places.items():
        tables = space.tables(X, ((space.owners[k], a) for a in alphas.values()))
        rows = sum(tables[space.owners[k], a] * half[i] ** order for i, a in alphas.items())
        scale = np.sqrt(np.einsum("ij,ij->", rows, rows) / len(rows)) or 1.0
        out.append(np.zeros((len(X), space.columns)))
        out[-1][:, space.slices[k]] = rows / scale
    return np.concatenate(out)


def from_scratch(system: AnyWhole, method: GaussNewton, bench: Bench, rng: np.random.Generator) -> Outcome:
    """From the data; where that leads nowhere, from constants, and from functions that grow or fall."""
    best: Outcome | None = None
    refused = True
    for v, w in _candidates(system, bench):
        if not all(is_finite(part) for part in system.linearise(v)):
            continue
        refused = False
        found = method.descend(system, v, w=w)
        # Where singular functions do most of it, what few waves leave is no sign of a wrong way.
        astray = not system.has_corners or found.relative > STARTS.astray
        if found.status is Status.STALLED and method.continuation and astray:
            led = method.lead(system, v)
            found = led if led.cost < found.cost else found
        best = found if best is None or found.cost < best.cost else best
        if best.status is not Status.STALLED or not astray:
            return best
        if system.shape[1] > STARTS.many:
            return best
    if refused or best is None:
        raise ProblemError(
            "problem",
            expected="equations that are finite for some start: the data, or a constant",
            got=f"infinite or undefined terms at the data and at each of {LEVELS}",
            remedy="Give a start with guess=…, or rewrite the equation without the singularity.",
        )
    return best


def _candidates(system: AnyWhole, bench: Bench) -> Iterator[tuple[Array, Array | None]]:
    w = None if system.held is None else lift(system.held, bench)
    if w is not None:
        yield system.values(w), w
    columns = system.shape[1]
    for u in LEVELS:
        v = system.level(u)
        # With singular functions the first step is not to be damped: without what they bring at second
        # order the residual beside a corner is larger after it than before.
        damped = not v.any() and not system.has_corners
        yield v, np.zeros(columns) if damped else None
        if all(is_finite(part) for part in system.linearise(v)):
            break
    # exp(Σᵢ (xᵢ - cᵢ)/hᵢ) is positive with all its derivatives: about a constant log u' has no linearisation.
    rates = 2.0 / np.ptp(bench.box, axis=1)
    level = np.array([bench.box.mean(axis=1) @ rates])
    growing = ExponentialBasis(rates[:, None], np.zeros((len(rates), 1)), level, np.zeros(1))
    growth = Whole.shared(growing, len(system.space.bases))
    for sign in (1.0, -1.0):
        yield system.values_of(growth, np.full(growth.columns, sign)), None


def from_guess(system: AnyWhole, guess: Space, relative: float, method: GaussNewton) -> Outcome:
    """From a guess, with steps that come closer; where these end nowhere, with a whole first step.

    Far from the guess there may be other solutions, and a whole step may end beside one of them.
    """
    nothing = np.empty(0)
    if system.held is not None:
        v, w = system.values_of(guess, nothing), _written(system.held, guess)
        found = method.descend(system, v, relative, w=w)
        if found.status is not Status.STALLED:
            return found
    return warm(system, guess, nothing, relative, method)


def _written(system: System, guess: Space) -> Array:
    """The coefficients of a guess in the functions of the system."""
    space, out = system.space, np.zeros(system.space.columns)
    for k, X in _interior(system).items():
        zero, owner = (0,) * X.shape[1], space.owners[k]
        A, b = (
            space.tables(X, [(owner, zero)])[owner, zero],
            guess.values((X,), (Jet(k, zero),), np.empty(0))[0],
        )
        if not np.isfinite(b).all():
            raise ProblemError(
                "guess",
                expected="finite values inside of the domain",
                got=f"{b[~np.isfinite(b)][0]} at {X[~np.isfinite(b)][0]}",
                remedy="Give another start, or none.",
            )
        out[space.slices[k]] = RidgeQR().factor_scaled(A, np.ones(len(A)), STARTS.cond).apply(b)
    return out


def warm(system: AnyWhole, space: Space, w: Array, relative: float, method: GaussNewton) -> Outcome:
    """From the solution in another space, whose relative residual is known."""
    return method.descend(system, system.values_of(space, w), relative)

"""One space, one set of points, one solve: what the automatic choice is made of."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pibls.adaptive.counts import default_points
from pibls.adaptive.initial_guess.harmonic import from_guess, from_scratch, warm
from pibls.adaptive.thresholds import COUNTS, DEFAULT
from pibls.adaptive.validation.conditioning import UNPROBED, Probed, probed_at
from pibls.adaptive.validation.context import Bench, stream
from pibls.adaptive.validation.estimate import Norms, norms_by_name
from pibls.adaptive.work import dense
from pibls.arrays import Array
from pibls.assembly.even_odd import Inversion
from pibls.assembly.judging import Judged, residuals_at
from pibls.assembly.known import Known
from pibls.assembly.points import Points, PointSet
from pibls.assembly.streaming import held_or_streamed
from pibls.assembly.tied import TiedSystem
from pibls.basis import BasisSpec
from pibls.basis.waves import WaveBasis
from pibls.caching import cached_property
from pibls.linalg.threads import sensible_threads
from pibls.nonlinear import GaussNewton, Method, Outcome
from pibls.problem import Region
from pibls.spaces import Choice, Space, Whole, ties_of
from pibls.status import Status

if TYPE_CHECKING:
    # Cells take a while to import, and most problems need none.
    from pibls.assembly.kinds import AnySystem, Assembled


@dataclass(frozen=True)
class Attempt:
    """A solved system, judged on held-out points."""

    space: Space
    outcome: Outcome
    residuals: dict[str, Norms]
    values: Array
    """The unknowns at the held-out points, (unknowns, n)."""
    seconds: float
    work: float
    """What it cost, without the clock (`search.work`)."""
    settings: dict[str, Any] = field(default_factory=dict)
    probed: Probed = UNPROBED
    """How firmly the problem holds its solution, where that was asked."""

    @property
    def w(self) -> Array:
        return self.outcome.w

    @property
    def function(self) -> tuple[Space, Array]:
        """What was found: a space and coefficients."""
        return self.space, self.outcome.w

    @cached_property
    def relative(self) -> float:
        """The worst held-out residual, relative to the terms it is made of."""
        return _worst(self.residuals)

    @cached_property
    def sizes(self) -> Array:
        """max|u| of each unknown."""
        return np.asarray(np.abs(self.values).max(axis=1, initial=0.0))


NEWTON = GaussNewton(rounds=0)
"""What solves a nonlinear system where no method is given."""


def attempt(
    bench: Bench,
    spec: Choice,
    points: Points | None,
    method: Method | None,
    key: int,
    start: Attempt | None = None,
    guess: Space | None = None,
    *,
    probe: bool = False,
    quickly: bool = False,
    judged: bool = True,
    newton: GaussNewton = NEWTON,
) -> Attempt:
    """Draw the space, assemble, solve and judge. ``key`` names the random stream.

    Without a ``method``, ``newton`` starts from the data or from a constant. ``probe`` asks whether the
    problem leaves anything undetermined; ``quickly`` gives up where a plain descent finds nothing; without
    ``judged`` it has no residuals.
    """
    began = time.perf_counter()
    lowered, inversion = bench.lowered, None
    if points is None:
        inversion = bench.inversion if method is None else None
        rough = start is not None and start.relative > bench.limits.rough
        points = default_points(spec, bench.domain, COUNTS.rough if rough else bench.density)
    # Overflow on the way of a nonlinear solve is looked for, and stepped back from, where it happens.
    with sensible_threads(spec.size * lowered.unknowns), np.errstate(over="ignore", invalid="ignore"):
        space = drawn(spec, bench, key)
        system = tied(system_in(bench, space, points, key, inversion), spec, lowered.unknowns)
        plain = replace(newton, continuation=0) if quickly else newton
        outcome = _solve(system, bench, method, start, guess, key, plain)
        full = replace(outcome, w=system.full(outcome.w))
        found, values = judge(bench, space, full.w) if judged else ({}, np.empty((lowered.unknowns, 0)))
        residuals = norms_by_name(found)
        probed = UNPROBED
        if system.probed is not None and (probe or _may_wander(bench, outcome, residuals)):
            probed = probed_at(bench, system.probed, outcome, key, exactly=probe)
    outcome = replace(full, factors=None)  # it holds matrices that are no longer needed
    seconds = time.perf_counter() - began
    work = dense(system.shape[1] // system.fronts, system.fronts * outcome.steps)
    settings = {"basis": spec, "points": points}
    return Attempt(space, outcome, residuals, values, seconds, work, settings, probed)


def drawn(spec: Choice, bench: Bench, key: int) -> Space:
    """The space of a basis: shared by all unknowns, unless the basis knows better."""
    unknowns = bench.lowered.unknowns
    if hasattr(spec, "frequencies") and bench.pieced is None:
        kept = _frequencies(cast("Any", spec), len(bench.box), bench.seed, key)
        return Whole.shared(WaveBasis.over(bench.box, kept), unknowns)
    rng = bench.stream(1, key)
    if bench.pieced is not None:
        return bench.pieced.drawn(spec, rng)
    own = getattr(spec, "space", None)
    if own is not None:
        made: Space = own(bench.box, rng, unknowns)
        return made
    return Whole.shared(cast("BasisSpec", spec).draw(bench.box, rng), unknowns)


def rescaled(spec: Any) -> Choice:
    """The same basis at another scale; of several joined, or in cells, each of them."""
    changed: dict[str, Any] = {}
    scale = getattr(spec, "scale", None)
    if isinstance(scale, tuple):
        changed["scale"] = tuple(DEFAULT.other_scale * s for s in scale)
    elif isinstance(scale, (int, float)):
        changed["scale"] = DEFAULT.other_scale * scale
    if hasattr(spec, "parts"):
        changed["parts"] = tuple(rescaled(part) for part in spec.parts)
    if hasattr(spec, "specs"):
        changed["specs"] = tuple(rescaled(part) for part in spec.specs)
    if hasattr(spec, "local"):
        changed["local"] = rescaled(spec.local)
    return cast("Choice", replace(spec, **changed) if changed else spec)


@lru_cache(maxsize=64)
def _frequencies(spec: Any, d: int, seed: int, key: int) -> Array:
    """Of waves that any problem with so many coordinates has: do not write into them."""
    found: Array = spec.frequencies(d, stream(seed, 1, key))
    return found


def system_in(
    bench: Bench, space: Space, points: Points, key: int, inversion: Inversion | None = None
) -> Assembled:
    """The system of a problem in a space; with an inversion in two halves, if the space has them."""
    if bench.pieced is not None:
        return bench.pieced.system(space, points, bench.stream(2, key))
    whole = space.whole
    if inversion is not None and whole is not None and inversion.serves(whole, points):
        return inversion.system(bench.lowered, bench.placed(points, key, inversion), whole)
    (placed,) = bench.placed(points, key)
    if space.cells is not None:
        from pibls.adaptive.cells.hybridized import scattered_system

        return scattered_system(bench, space.cells, placed.points)
    assert whole is not None
    return held_or_streamed(bench.lowered, placed, whole)


def tied(system: Assembled, spec: Choice, unknowns: int) -> AnySystem:
    """The same, with one coefficient for what is one function of several unknowns."""
    fields = getattr(spec, "fields", ())
    whole = system.in_one_piece
    if not fields or whole is None:
        return system
    return TiedSystem(whole, ties_of(whole.space, fields, unknowns))


def judge(bench: Bench, space: Space, w: Array) -> tuple[dict[str, Judged], Array]:
    """How well each equation and condition holds on points that were not fitted, and the unknowns there."""
    shares: dict[Region, PointSet] = {}
    if space.cells is not None:
        from pibls.adaptive.cells.hybridized import shares_in

        shares = shares_in(bench, space.cells)
    lowered, box = bench.lowered, bench.box
    if shares:  # over layers only a rule of every cell is a rule
        rest = replace(lowered, residuals=tuple(r for r in lowered.residuals if r.region not in shares))
        held_out = {region: found for region, found in bench.held_out.items() if region not in shares}
        judged, unknowns = residuals_at(rest, held_out, space, w, box, known=bench.known)
        sums = replace(lowered, residuals=tuple(r for r in lowered.residuals if r.region in shares))
        judged |= residuals_at(sums, shares, space, w, box, np.abs(unknowns).max(axis=1, initial=0.0))[0]
        return judged, unknowns
    judged, unknowns = residuals_at(lowered, bench.held_out, space, w, box, known=bench.known)
    if bench.idle:
        # Rounding is no large share of a term that is rounding itself.
        least = bench.measured(space, w, np.abs(unknowns).max(axis=1, initial=0.0))
        judged, _ = residuals_at(lowered, bench.held_out, space, w, box, least, bench.known)
    if bench.pieced is not None:
        sizes = np.abs(unknowns).max(axis=1, initial=0.0)
        judged |= bench.pieced.judged(bench.interfaces, space, w, bench.box, sizes)
    return judged, unknowns


def misfits(bench: Bench, residuals: Mapping[str, Norms]) -> Array:
    """max|u - g| of each unknown where its values g are given: on the boundary, at the start, as a mean."""
    out = np.zeros(bench.lowered.unknowns)
    means: dict[str, Array] = {}
    for r in bench.lowered.residuals:
        found = residuals.get(r.name)
        if found is None or r.nonlinear or r.region.is_inside or not len(bench.held_out[r.region]):
            continue
        known = Known.of(r, bench.held_out[r.region], bench.known)
        if r.region.is_sum:
            mine = means.setdefault(r.name, np.zeros(bench.lowered.unknowns))
            weights = np.abs(np.asarray(bench.held_out[r.region].weights)).ravel()
            for jet, c in zip(r.linear, known.coefficients, strict=True):
                mine[jet.unknown] += float(weights @ np.abs(c)) if not any(jet.alpha) else 0.0
            continue
        if len(r.linear) == 1 and not any(r.linear[0].alpha) and known.coefficients.all():
            k = r.linear[0].unknown
            out[k] = max(out[k], found.max / float(np.abs(known.coefficients).max(initial=0.0)))
    for name, mine in means.items():
        # Two solutions share what a rule leaves: it shows in another rule.
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.maximum(out, np.where(mine > 0, residuals[name].max / mine, 0.0))
    return out


def _worst(residuals: Mapping[str, Norms]) -> float:
    return max((n.relative for n in residuals.values()), default=np.inf)


def _may_wander(bench: Bench, outcome: Outcome, residuals: Mapping[str, Norms]) -> bool:
    """Whether a solve ended close to a solution, but not at one: with nothing to hold it, it wanders."""
    if bench.lowered.is_linear or bench.evolution is not None or outcome.status is not Status.SOLVED:
        return False
    return bench.limits.small < _worst(residuals) < bench.limits.contradiction


def _seen(space: Space, bench: Bench) -> Space:
    """A function as the system asks for it."""
    return space if bench.pieced is None else space.in_every_piece(bench.lowered.unknowns)


def _solve(
    system: AnySystem,
    bench: Bench,
    method: Method | None,
    start: Attempt | None,
    guess: Space | None,
    key: int,
    plain: GaussNewton,
) -> Outcome:
    if method is None and system.is_linear:
        return plain.linear_solve(system)
    rng = bench.stream(3, key)
    if method is not None:
        return method.solve(system, rng)
    whole = system.in_one_piece
    if whole is None:
        return plain.solve(system, rng)
    if start is not None and start.relative < bench.limits.trust_start:
        return warm(whole, _seen(start.space, bench), start.w, start.relative, plain)
    if guess is not None:
        relative = _worst(norms_by_name(judge(bench, guess, np.empty(0))[0]))
        # A guess that is a solution already is not smoothed away by the first step.
        relative = relative if relative < bench.limits.rough else 1.0
        return from_guess(whole, _seen(guess, bench), relative, plain)
    return from_scratch(whole, plain, bench, rng)

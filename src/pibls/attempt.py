"""One basis, one set of points, one solve: what the automatic choice is made of."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pibls.arrays import Array
from pibls.basis import Basis, BasisSpec
from pibls.domain import Domain, box_of, time_of
from pibls.estimate import Norms, judge
from pibls.lowering import LoweredProblem
from pibls.points import Points, PointSet, place
from pibls.problem import Inside, Region
from pibls.solver import GaussNewton, Method, Outcome, RidgeQR
from pibls.system import System, assemble, jet_values, residuals_at
from pibls.threads import sensible_threads

_HELD_OUT = {1: 160, 2: 320, 3: 600}
_CANDIDATES = 16  # points looked at for each place that is drawn
_TRUST_START = 0.3  # relative residual below which the last solution is a better start than zero


@dataclass(frozen=True)
class Bench:
    """What all attempts at a problem share: the compiled problem, held-out points, random streams."""

    lowered: LoweredProblem
    domain: Domain
    held_out: Mapping[Region, PointSet]
    check: Array
    """Every held-out point, inside and on the boundary: where two solutions are compared."""
    seed: int

    @classmethod
    def of(cls, lowered: LoweredProblem, domain: Domain, seed: int) -> Bench:
        n = _HELD_OUT.get(lowered.dimension, 1000)
        faces = max(n // 2, 2) if lowered.dimension > 1 else 2
        points = Points(n, faces, faces // 2, rule="halton")
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        held_out = place(lowered, domain, points, rng)
        check = np.concatenate([site for found in held_out.values() for site in found.sites])
        return cls(lowered, domain, held_out, check, seed)

    def stream(self, *key: int) -> np.random.Generator:
        """An independent stream of random numbers for this seed and purpose."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


@dataclass(frozen=True)
class Attempt:
    """A solved system, judged on held-out points."""

    spec: BasisSpec
    points: Points
    basis: Basis
    outcome: Outcome
    residuals: dict[str, Norms]
    values: Array
    """The unknowns at the check points, (unknowns, n)."""
    seconds: float
    freedom: float
    """How much of a random function the equations and conditions leave undetermined, 0 to 1."""

    @property
    def relative(self) -> float:
        """The worst held-out residual, relative to the terms it is made of."""
        return max(n.relative for n in self.residuals.values())

    @property
    def size(self) -> float:
        """max|u| over all unknowns."""
        return float(np.abs(self.values).max(initial=0.0))


def attempt(
    bench: Bench,
    spec: BasisSpec,
    points: Points | None,
    method: Method | None,
    key: int,
    start: Attempt | None = None,
    *,
    probe: bool = False,
) -> Attempt:
    """Draw the basis, assemble, solve and judge. ``key`` names the random stream.

    ``probe`` asks whether the problem leaves anything undetermined.
    """
    began = time.perf_counter()
    lowered = bench.lowered
    points = points if points is not None else default_points(spec, bench.domain)
    with sensible_threads(spec.size * lowered.unknowns):
        basis = spec.draw(box_of(bench.domain), bench.stream(1, key))
        where = place(lowered, bench.domain, points, bench.stream(2, key))
        system = assemble(lowered, where, basis)
        outcome = _solve(system, bench, method, start, key)
        residuals, values = judge(lowered, bench.held_out, basis, outcome.w)
        freedom = _freedom(bench, system, basis, outcome, key) if probe else 0.0
    outcome = replace(outcome, factors=None)  # it holds matrices that are no longer needed
    seconds = time.perf_counter() - began
    return Attempt(spec, points, basis, outcome, residuals, values, seconds, freedom)


def _freedom(bench: Bench, system: System, basis: Basis, outcome: Outcome, key: int) -> float:
    """max|u(w - J⁺Jw)| / max|u(w)| for random weights w: what is left of u where J sees nothing.

    Of a well-posed problem rounding leaves some 1e-14; a missing condition leaves all of some
    function.
    """
    J, _ = system.linearise(system.values(outcome.w))
    if not np.isfinite(J).all():
        return 0.0
    factors = outcome.factors if system.is_linear else None
    factors = factors if factors is not None else RidgeQR().factor(J)
    w = bench.stream(4, key).standard_normal(system.shape[1])
    phi = basis.jets(bench.check, [(0,) * bench.lowered.dimension])[0]
    left = w - factors.apply(J @ w)
    left -= factors.apply(J @ left)
    before, after = (np.abs(_unknowns(phi, v)).max(axis=1) for v in (w, left))
    return float(np.max(after / np.maximum(before, np.finfo(float).tiny)))


def _solve(system: System, bench: Bench, method: Method | None, start: Attempt | None, key: int) -> Outcome:
    rng = bench.stream(3, key)
    if method is not None:
        return method.solve(system, rng)
    if system.is_linear or start is None or not start.relative < _TRUST_START:
        return GaussNewton(rounds=0).solve(system, rng)
    values = [
        jet_values(start.basis, b.points.sites, b.residual.nonlinear, start.outcome.w).ravel()
        for b in system.blocks
        if b.jets
    ]
    return GaussNewton().descend(system, np.concatenate(values), start.relative)


def _unknowns(phi: Array, w: Array) -> Array:
    """Every unknown from the basis functions at some points (n, M): (unknowns, n)."""
    return np.asarray(w.reshape(-1, phi.shape[1]) @ phi.T)


def where_large(bench: Bench, found: Attempt, n: int, key: int) -> tuple[tuple[float, ...], ...]:
    """n places inside, drawn in proportion to the residual of an attempt."""
    rng = bench.stream(5, key)
    X = np.asarray(bench.domain.interior(_CANDIDATES * n, rng), dtype=float)
    inside = replace(
        bench.lowered,
        residuals=tuple(r for r in bench.lowered.residuals if isinstance(r.region, Inside)),
    )
    where: dict[Region, PointSet] = {Inside(): PointSet((X,), np.zeros_like(X))}
    judged, _ = residuals_at(inside, where, found.basis, found.outcome.w)
    weight = sum((np.abs(j.values) / (j.size or 1.0) for j in judged.values()), np.zeros(len(X)))
    total = float(weight.sum())
    share = weight / total if np.isfinite(total) and total > 0 else None
    return tuple(map(tuple, X[rng.choice(len(X), n, p=share)].tolist()))


def default_points(spec: BasisSpec, domain: Domain) -> Points:
    """2 to 2.5 N points inside, and as densely spread ones on the boundary, clustered to the edges.

    A basis that leans towards some coordinates needs more points on the faces that hold them.
    """
    d, nodes = len(box_of(domain)), spec.size
    if d == 1:
        return Points(2 * nodes, 2, 1, rule="chebyshev")
    stretch = _stretch(spec, d)
    face = 1.5 * (2 * nodes) ** ((d - 1) / d)
    density = [face * max(1.0, float(np.prod(np.delete(stretch, axis)))) for axis in range(d)]
    space = d - 1 if time_of(domain) is not None else d
    rule = "chebyshev" if d == 2 else "sobol"
    boundary = 2 * space * int(max(density[:space]))
    return Points(5 * nodes // 2, boundary, int(density[-1]), rule="sobol", boundary_rule=rule)


def _stretch(spec: BasisSpec, d: int) -> Array:
    """How much the basis leans towards each coordinate, 1 on the average."""
    scale = np.asarray(getattr(spec, "scale", 1.0), dtype=float)
    if scale.shape != (d,):
        return np.ones(d)
    return np.asarray(scale / np.exp(np.mean(np.log(scale))))

"""One basis, one set of points, one solve: what the automatic choice is made of."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from pibls.arrays import Array
from pibls.basis import Basis, BasisSpec
from pibls.basis.growth import Growth
from pibls.domain import Domain, box_of, time_of
from pibls.errors import ProblemError
from pibls.linalg import Factorization, RidgeQR
from pibls.linalg.block_qr import BlockFactorization
from pibls.linalg.ridge_qr import RidgeQRFactorization
from pibls.linalg.rows import Matrix, is_finite
from pibls.linalg.streamed_qr import StreamedFactorization
from pibls.linalg.threads import sensible_threads
from pibls.problem import Inside, Region, Slice
from pibls.problem.lowering import LoweredProblem, Residual
from pibls.search.estimate import Norms, judge, norms_of
from pibls.solver import GaussNewton, Method, Outcome
from pibls.space import Decomposed, DecomposedBasis
from pibls.status import Status
from pibls.system.decomposition import jumps
from pibls.system.points import Points, PointSet, place
from pibls.system.streaming import AnySystem, system_of
from pibls.system.system import residuals_at

_HELD_OUT = {1: 160, 2: 320, 3: 600}
_CANDIDATES = 16  # points looked at for each place that is drawn
_PROBES = 24
_MANY_STARTS = 300  # columns up to which several starts are tried: beyond that each takes too long
_SCANNED = 10_000  # points at which the data are looked at for narrow extremes
_NARROW = 1.5  # a source that much larger than at the held-out points hides between them
_EXTREMES = 24
# Points inside per node: usually; where rounding errors are to be averaged out; and while the solution is
# not resolved, lest the nodes fit the points and nothing between them.
_USUAL, _DENSE, _ROUGH = 1.75, 2.5, 3.0
_DEMANDING = 1e-11  # tolerance
_UNRESOLVED = 1e-2  # relative residual
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
    density: float
    """Points inside per node, once the solution is resolved."""

    @classmethod
    def of(cls, lowered: LoweredProblem, domain: Domain, seed: int, tol: float) -> Bench:
        n = _HELD_OUT.get(lowered.dimension, 1000)
        faces = max(n // 2, 2) if lowered.dimension > 1 else 2
        points = Points(n, faces, faces // 2, rule="halton")
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0,)))
        held_out = place(lowered, domain, points, rng)
        held_out = {r: _with_extremes(r, found, lowered, domain, rng) for r, found in held_out.items()}
        check = np.concatenate([site for found in held_out.values() for site in found.sites])
        density = _DENSE if tol < _DEMANDING else _USUAL
        return cls(lowered, domain, held_out, check, seed, density)

    def over(self, domain: Domain) -> Bench:
        """The same for another domain."""
        return replace(Bench.of(self.lowered, domain, self.seed, 1.0), density=self.density)

    def stream(self, *key: int) -> np.random.Generator:
        """An independent stream of random numbers for this seed and purpose."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))


def _with_extremes(
    region: Region, found: PointSet, lowered: LoweredProblem, domain: Domain, rng: np.random.Generator
) -> PointSet:
    """The same points, and those inside where the data are largest, lest a narrow source be missed."""
    if not isinstance(region, Inside):
        return found
    X = np.asarray(domain.interior(_SCANNED, rng), dtype=float)
    chosen = []
    for residual in lowered.residuals:
        if residual.region != region:
            continue
        size, usual = (_data_size(residual, Y) for Y in (X, found.sites[0]))
        if np.nanmax(size, initial=0.0) > _NARROW * np.nanmax(usual, initial=0.0):
            chosen.append(X[np.argsort(np.nan_to_num(size))[-_EXTREMES:]])
    sites = np.concatenate([found.sites[0], *chosen])
    return PointSet((sites,), np.zeros_like(sites))


def _data_size(residual: Residual, X: Array) -> Array:
    """|r| of the zero function: the source, wherever it comes from."""
    normals = np.zeros_like(X)
    zero = np.zeros((len(residual.nonlinear), len(X)))
    return np.abs(residual.rest(X, normals, residual.known_data(X), zero))


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
    stiffness: float
    """The least residual that a change of the solution by 1 somewhere causes; infinite if not probed."""

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
    persistent: bool = True,
) -> Attempt:
    """Draw the basis, assemble, solve and judge. ``key`` names the random stream.

    ``probe`` asks whether the problem leaves anything undetermined; what is not ``persistent`` gives up
    where a plain descent finds nothing.
    """
    began = time.perf_counter()
    lowered = bench.lowered
    if points is None:
        rough = start is not None and start.relative > _UNRESOLVED
        points = default_points(spec, bench.domain, _ROUGH if rough else bench.density)
    # Overflow on the way of a nonlinear solve is looked for, and stepped back from, where it happens.
    with sensible_threads(spec.size * lowered.unknowns), np.errstate(over="ignore", invalid="ignore"):
        basis = spec.draw(box_of(bench.domain), bench.stream(1, key))
        where = place(lowered, bench.domain, points, bench.stream(2, key))
        system = system_of(lowered, where, basis)
        outcome = _solve(system, bench, method, start, key, persistent)
        residuals, values = judge(lowered, bench.held_out, basis, outcome.w)
        if isinstance(basis, DecomposedBasis):
            residuals["continuity"] = norms_of(jumps(lowered, basis, outcome.w), 1.0)
        stiffness = _stiffness(bench, system, basis, outcome, key) if probe else np.inf
    outcome = replace(outcome, factors=None)  # it holds matrices that are no longer needed
    seconds = time.perf_counter() - began
    return Attempt(spec, points, basis, outcome, residuals, values, seconds, stiffness)


def _stiffness(bench: Bench, system: AnySystem, basis: Basis, outcome: Outcome, key: int) -> float:
    """min over places x of 1/‖R⁻ᵀφ(x)‖: min ‖J w‖ over functions with u(x) = 1, rows of unit length.

    Of the well-posed problems tried it was 7e-5 or more; where a condition is missing, some function costs
    nothing, and only the width of the basis keeps it from being zero.
    """
    J, _ = system.linearise(system.values(outcome.w))
    if not is_finite(J):
        return np.inf
    factors = _ridge_factors(J, outcome.factors if system.is_linear else None)
    X = bench.check[bench.stream(4, key).choice(len(bench.check), _PROBES)]
    phi = basis.jets(X, [(0,) * bench.lowered.dimension])[0]
    least = np.inf
    for k in range(bench.lowered.unknowns):
        values = np.zeros((_PROBES, system.shape[1]))
        values[:, k * basis.size : (k + 1) * basis.size] = phi
        least = min(least, 1.0 / float(factors.leverage(values).max()))
    return least


def _ridge_factors(J: Matrix, known: Factorization | None) -> RidgeQRFactorization | BlockFactorization:
    """The factors of J: the known ones where they serve."""
    found = known.inner if isinstance(known, StreamedFactorization) else known
    if isinstance(found, (RidgeQRFactorization, BlockFactorization)):
        return found
    made = RidgeQR().factor(J)
    return made.factored() if isinstance(made, StreamedFactorization) else made


def _solve(
    system: AnySystem,
    bench: Bench,
    method: Method | None,
    start: Attempt | None,
    key: int,
    persistent: bool,
) -> Outcome:
    rng = bench.stream(3, key)
    if method is not None:
        return method.solve(system, rng)
    if system.is_linear or start is None or not start.relative < _TRUST_START:
        plain = GaussNewton(rounds=0) if persistent else GaussNewton(rounds=0, continuation=0)
        return _from_scratch(system, plain, bench, rng)
    values = system.values_of(start.basis, start.outcome.w)
    return GaussNewton().descend(system, values, start.relative)


def _from_scratch(system: AnySystem, method: GaussNewton, bench: Bench, rng: np.random.Generator) -> Outcome:
    """From a constant; where that leads nowhere, from a function that grows or falls."""
    best, refusal = None, None
    try:
        best = method.solve(system, rng)
    except ProblemError as error:  # no constant has a linearisation
        refusal = error
    if refusal is None and (best is None or best.status is not Status.STALLED):
        assert best is not None
        return best
    # What has initial values is followed from them, which does more than another start.
    starts = any(isinstance(r.region, Slice) for r in bench.lowered.residuals)
    if refusal is not None or (not starts and system.shape[1] <= _MANY_STARTS):
        growth = Growth(box_of(bench.domain))
        for sign in (1.0, -1.0):
            v = system.values_of(growth, np.full(bench.lowered.unknowns, sign))
            if all(is_finite(part) for part in system.linearise(v)):
                found = method.descend(system, v)
                best = found if best is None or found.cost < best.cost else best
    if best is None:
        assert refusal is not None
        raise refusal
    return best


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


def left_over(bench: Bench, found: Attempt) -> float:
    """max|r(w)| / max|r(0)|: the share of the data that a solution leaves unexplained.

    Next to the terms of a runaway solution any residual is small; next to the data it is not.
    """
    zero, _ = residuals_at(bench.lowered, bench.held_out, found.basis, np.zeros_like(found.outcome.w))
    sizes = {name: float(np.abs(judged.values).max(initial=0.0)) for name, judged in zero.items()}
    shares = [found.residuals[name].max / size for name, size in sizes.items() if 0 < size < np.inf]
    return max(shares, default=0.0)


def default_points(spec: BasisSpec, domain: Domain, density: float) -> Points:
    """``density``·N points inside (2 N on a line), and on the boundary ones that are clustered to the edges.

    A basis that leans towards some coordinates needs more points on the faces that hold them.
    """
    d, nodes = len(box_of(domain)), spec.size
    if isinstance(spec, Decomposed):
        local = default_points(spec.local, domain, density)
        across = max(prod(spec.cells) // c for c in spec.cells)
        return replace(
            local, interior=local.interior * prod(spec.cells), boundary=local.boundary * across,
            initial=local.initial * across, rule="sobol",
        )  # fmt: skip
    if d == 1:
        return Points(2 * nodes, 2, 1, rule="chebyshev")
    stretch = _stretch(spec, d)
    face = 1.5 * (2 * nodes) ** ((d - 1) / d)
    faces = [face * max(1.0, float(np.prod(np.delete(stretch, axis)))) for axis in range(d)]
    space = d - 1 if time_of(domain) is not None else d
    rule = "chebyshev" if d == 2 else "sobol"
    boundary = 2 * space * int(max(faces[:space]))
    return Points(int(density * nodes), boundary, int(faces[-1]), rule="sobol", boundary_rule=rule)


def _stretch(spec: BasisSpec, d: int) -> Array:
    """How much the basis leans towards each coordinate, 1 on the average."""
    scale = np.asarray(getattr(spec, "scale", 1.0), dtype=float)
    if scale.shape != (d,):
        return np.ones(d)
    return np.asarray(scale / np.exp(np.mean(np.log(scale))))

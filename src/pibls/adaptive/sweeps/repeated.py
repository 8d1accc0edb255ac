r"""A(k) w = b(k) for many k: one problem at many values of its parameters.

The first solve finds a basis, its width and its points. They serve the neighbouring values too: what the
basis functions are at these points is a table that is kept, and a solution is accepted, as always, on
held-out points and against a second one at another scale. Where only b depends on k, the factors of A are
kept as well, and all values are solved at once. Where A depends on k, solutions at some values are combined
to those at the others (`reduced`); the second of the two does without the nearest of them, so that what the
combination lacks is seen in the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pibls.adaptive.candidate import rescaled
from pibls.adaptive.pipeline import Answer
from pibls.adaptive.sweeps.reduced import Reduced
from pibls.adaptive.thresholds import DEFAULT, REPEATED
from pibls.adaptive.validation.conditioning import probed
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import ErrorEstimate, KnownEstimate, Norms, Where, estimated
from pibls.arrays import Array, MultiIndex
from pibls.assembly.points import PointSet, place
from pibls.assembly.system import System, assemble
from pibls.basis import Basis
from pibls.geometry import box_of
from pibls.linalg.matrix import norms
from pibls.linalg.protocol import levered
from pibls.linalg.ridge_qr import RidgeQR
from pibls.linalg.threads import sensible_threads
from pibls.nonlinear import GaussNewton
from pibls.problem import Problem, Region
from pibls.problem.forms.lowering import LoweredProblem, lower
from pibls.spaces import Whole

Values = tuple[Array, Array]
"""The unknowns at all points of comparison, and at those spread evenly."""


@dataclass(frozen=True)
class Tabled:
    """A basis that remembers its values at the points it was asked for."""

    basis: Basis
    _tables: dict[tuple[bytes, MultiIndex], Array] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        return self.basis.size

    def jets(self, X: Array, alphas: Sequence[MultiIndex]) -> list[Array]:
        where = X.tobytes()
        missing = [a for a in alphas if (where, a) not in self._tables]
        if missing:
            found = self.basis.jets(X, missing)
            self._tables.update({(where, a): phi for a, phi in zip(missing, found, strict=True)})
        return [self._tables[where, a] for a in alphas]


@dataclass
class RepeatedSolve:
    """One of the two solutions at every value: a basis, points, and what is known from the last value."""

    space: Whole
    basis: Tabled
    where: Mapping[Region, PointSet]
    factors: Any = None
    system: System | None = None
    scale: Array | None = None
    reduced: Reduced | None = None

    def solve(
        self,
        lowered: LoweredProblem,
        data: Array | None,
        moved: bool,
        start: tuple[Whole, Array, float] | None,
    ) -> tuple[Array, int]:
        """W (columns, problems), and the steps taken; problems differ in their ``data`` (rows, problems).

        ``moved`` says that the operator is another one than before; a nonlinear problem starts from a
        function with a known relative residual.
        """
        if moved or self.system is None:
            self.system = assemble(lowered, self.where, self.space)
            if not self.system.is_linear:
                return self._nonlinear(self.system, start)
            solver = RidgeQR()
            self.scale = norms(self.system.linear, 1)
            self.factors = solver.factor_scaled(self.system.linear, self.scale, solver.cond)
        assert data is not None
        W = self.factors.apply(data)
        return W + self.factors.apply(data - self.system.linear @ W), 1

    def is_held(self, bench: Bench, w: Array) -> bool:
        """Whether nothing moves the solution freely: zero solves every problem without data."""
        factors = levered(self.factors)
        if factors is None or self.system is None:
            return True
        return probed(bench, self.system, factors, w, 0).stiffness > bench.limits.suspect

    def remember(self, lowered: LoweredProblem, w: Array) -> None:
        """Keep a solution for those at other values."""
        if self.reduced is None:
            assert self.scale is not None
            self.reduced = Reduced(self.basis, self.where, lowered.unknowns, self.scale)
        self.reduced.add(lowered, w)

    def _nonlinear(self, system: System, start: tuple[Whole, Array, float] | None) -> tuple[Array, int]:
        if start is None:
            found = GaussNewton().solve(system, np.random.default_rng(0))
        else:
            space, w, relative = start
            found = GaussNewton().descend(system, system.values_of(space, w), relative)
        self.scale, self.factors = norms(system.jacobian(found.w), 1), found.factors
        return found.w[:, None], found.steps


def constants(lowered: LoweredProblem, where: Mapping[Region, PointSet]) -> Array:
    """ρ of a linear problem at its points: what the data give."""
    none = np.empty((0, 0))
    parts = []
    for r in lowered.residuals:
        found = where[r.region]
        parts.append(r.rest(found.sites[0], found.normals, r.known_data(found.sites[0]), none))
    return np.concatenate(parts)


@dataclass(frozen=True)
class Judge:
    """Held-out points, where several solutions are judged at once."""

    held_out: Mapping[Region, PointSet]
    where: Where
    box: Array
    dimension: int
    unknowns: int

    def values(self, basis: Basis, W: Array) -> Values:
        """The unknowns where two solutions are compared, each (unknowns, n, problems)."""
        zero = (0,) * self.dimension
        parts = _split(W, self.unknowns)
        tables = [basis.jets(X, [zero])[0] for X in (self.where.all, self.where.even)]
        everywhere, even = (np.array([phi @ w for w in parts]) for phi in tables)
        return everywhere, even

    def error(self, first: Values, second: Values, k: int) -> ErrorEstimate:
        """The estimated error of solution number k."""
        (u, m), (v, n) = ((a[:, :, k], b[:, :, k]) for a, b in (first, second))
        return estimated(u - v, m - n, np.abs(u).max(axis=1, initial=0.0), self.where)

    def residuals(
        self, problems: Sequence[LoweredProblem], basis: Basis, W: Array, sizes: Array
    ) -> list[dict[str, Norms]]:
        """The residuals of each solution, next to the largest of their terms; max|u| is ``sizes``."""
        half = 0.5 * np.ptp(self.box, axis=1)
        parts = _split(W, self.unknowns)
        out: list[dict[str, Norms]] = [{} for _ in problems]
        for i, r in enumerate(problems[0].residuals):
            found = self.held_out[r.region]
            X = found.sites[0]
            data = r.known_data(X)
            jets = {
                j: basis.jets(found.sites[j.site], [j.alpha])[0] @ parts[j.unknown]
                for j in (*r.linear, *r.nonlinear)
            }
            natural = {j: sizes[j.unknown] / np.prod(half ** np.array(j.alpha)) for j in jets}
            bent = np.array([jets[j] for j in r.nonlinear]).reshape(-1, len(X), len(problems))
            values = np.column_stack(
                [p.residuals[i].rest(X, found.normals, data, bent[:, :, k]) for k, p in enumerate(problems)]
            )
            largest = np.abs(values).max(axis=0)
            slopes = [*zip(r.linear, r.coefficients(X, found.normals, data), strict=True)]
            for jet, a in slopes:
                values = values + a[:, None] * jets[jet]
            if r.nonlinear:
                slopes += zip(r.nonlinear, r.partials(X, found.normals, data, bent[:, :, 0]), strict=True)
            for jet, a in slopes:
                size = np.maximum(np.abs(jets[jet]).max(axis=0), natural[jet])
                largest = np.maximum(largest, np.abs(a).max() * size)
            rms = np.sqrt(np.mean(values**2, axis=0))
            relative = rms / np.where(largest > 0, largest, 1.0)
            for k, norm in enumerate(zip(np.abs(values).max(axis=0), rms, relative, strict=True)):
                out[k][r.name] = Norms(*map(float, norm))
        return out


def _split(W: Array, unknowns: int) -> list[Array]:
    size = len(W) // unknowns
    return [W[i * size : (i + 1) * size] for i in range(unknowns)]


@dataclass
class KeptForms:
    """What is kept of a solved problem for the same problem at other values."""

    bench: Bench
    judge: Judge
    settings: dict[str, Any]
    sides: tuple[RepeatedSolve, RepeatedSolve]
    tol: float
    bound: float
    """The estimated error, relative to max|u|, that is accepted."""
    last: tuple[Whole, Array, float] | None = None
    """The solution at the last value, with its relative residual."""
    places: list[Array] = field(default_factory=list)
    """The values of the parameters at which there is a snapshot."""

    @classmethod
    def of(cls, problem: Problem, found: Any) -> KeptForms | None:
        """From a problem and its solution, which has the basis and the points that served it."""
        spec, points = found.settings.get("basis"), found.settings.get("points")
        if spec is None or points is None or found.space.whole is None:
            return None  # cells and windows know no such shortcut yet
        lowered, domain = lower(problem), problem.domain
        if any(r.region.is_sum for r in lowered.residuals):
            return None
        bench = Bench.of(lowered, domain, found.seed, found.tol)
        sides = []
        where = place(lowered, domain, points, bench.stream(2, 0))
        for key, one in enumerate((spec, rescaled(spec))):
            basis = Tabled(one.draw(box_of(domain), bench.stream(1, key)))
            sides.append(RepeatedSolve(Whole.shared(basis, lowered.unknowns), basis, where))
        judge = Judge(bench.held_out, bench.where, box_of(domain), lowered.dimension, lowered.unknowns)
        return cls(bench, judge, found.settings, (sides[0], sides[1]), found.tol, found.tol)

    def answers(self, problems: Sequence[Problem], status: Any, operator: bool) -> list[Answer | None]:
        """The solutions at other values; None where what was kept does not serve.

        With ``operator`` there is one problem; otherwise only the data of the problems differ.
        """
        lowered = [lower(p) for p in problems]
        first, second = self.sides
        near = self._combined(problems[0], status) if operator else None
        if near is not None:
            return [near]
        columns = first.basis.size * self.judge.unknowns
        with sensible_threads(columns), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            # Both are fitted at the same places, where the data are asked for once.
            data = (
                -np.column_stack([constants(p, first.where) for p in lowered])
                if lowered[0].is_linear
                else None
            )
            W, steps = first.solve(lowered[0], data, operator, self.last)
            # From the first solution a step or two are enough.
            other, _ = second.solve(lowered[0], data, operator, (first.space, W[:, 0], 0.0))
            if operator and not second.is_held(self.bench, other[:, 0]):
                return [None]  # what else solves it is for a search to find out
            u, v = self.judge.values(first.basis, W), self.judge.values(second.basis, other)
            sizes = np.abs(u[0]).max(axis=1)
            residuals = self.judge.residuals(lowered, first.basis, W, sizes)
        out = [self._judged(W[:, k], u, v, k, found, status, steps) for k, found in enumerate(residuals)]
        if out[-1] is not None:
            self.last = (first.space, W[:, -1], 0.0)
        if operator and out[0] is not None and len(self.places) < REPEATED.snapshots:
            first.remember(lowered[0], W[:, 0])
            second.remember(lowered[0], other[:, 0])
            self.places.append(_place(problems[0]))
        return out

    def _combined(self, problem: Problem, status: Any) -> Answer | None:
        """A combination of the solutions at other values, if it is good enough."""
        if len(self.places) < 3:
            return None
        lowered, (first, second) = lower(problem), self.sides
        assert first.reduced is not None
        assert second.reduced is not None
        nearest = np.argsort(np.linalg.norm(np.array(self.places) - _place(problem), axis=1))[: REPEATED.used]
        with np.errstate(all="ignore"):
            w = first.reduced.solve(lowered, nearest.tolist(), 0)[:, None]
            if not w.any():
                return None  # zero solves every problem without data, also those with other solutions
            other = second.reduced.solve(lowered, nearest[1:].tolist(), 0)[:, None]
            u, v = self.judge.values(first.basis, w), self.judge.values(second.basis, other)
            (residuals,) = self.judge.residuals([lowered], first.basis, w, np.abs(u[0]).max(axis=1))
        return self._judged(w[:, 0], u, v, 0, residuals, status, 1)

    def _judged(
        self, w: Array, u: Values, v: Values, k: int, residuals: dict[str, Norms], status: Any, steps: int
    ) -> Answer | None:
        """Solution number k with its estimate, where it is as good as it was asked for."""
        relative = max(n.relative for n in residuals.values())
        error = self.judge.error(u, v, k)
        sizes = np.abs(u[0][:, :, k]).max(axis=1)
        sizes = np.where(
            sizes > self.tol * sizes.max(), sizes, sizes.max()
        )  # zero, as far as anyone can tell
        fine = all(e.max <= self.bound * s for e, s in zip(error.each, sizes, strict=True))
        if not (fine and relative <= max(DEFAULT.holds, 10 * self.tol)):
            return None
        space = Whole.shared(self.sides[0].basis.basis, self.judge.unknowns)
        w = np.ascontiguousarray(w)
        return Answer(space, w, status, residuals, steps, self.settings, (), KnownEstimate(error), {})


def _place(problem: Problem) -> Array:
    return np.array(list(problem.parameters.values()))

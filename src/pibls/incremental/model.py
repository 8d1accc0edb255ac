r"""Incremental broad learning: nodes and points are added at a fraction of the cost of a new solve."""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from pibls.adaptive.candidate import compute_candidate, condition_errors, validation_residuals
from pibls.adaptive.split_conditions import split_piecewise_conditions
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import ErrorEstimate, compare, norms_by_name, with_lower_bound
from pibls.arrays import Array
from pibls.assembly.points import Points, place
from pibls.assembly.residual_coefficients import PlacedPoints
from pibls.assembly.system import System, assemble
from pibls.basis import Broad, BroadBasis, GrownBroad, added_nodes, coefficient_order
from pibls.basis.checks import check_integer
from pibls.errors import ConvergenceWarning, ProblemError
from pibls.incremental.least_squares import UpdatableLeastSquares
from pibls.incremental.rows import RowBatch
from pibls.linalg import PivotedQR
from pibls.linalg.threads import limit_blas_threads
from pibls.nonlinear import GaussNewton, LeastSquares
from pibls.problem import Problem, Region
from pibls.problem.forms.compilation import CompiledProblem, compile_problem
from pibls.problem.interfaces.decomposition import subdomain_decomposition
from pibls.runtime.caching import cached_property
from pibls.solution import Solution
from pibls.spaces import SingleDomainSpace
from pibls.status import Status


@dataclass(frozen=True)
class GrownState:
    """State of a model: the basis after each addition, the points, the factors, and the solution."""

    stages: tuple[BroadBasis, ...]
    placed: tuple[PlacedPoints, ...]
    factored: UpdatableLeastSquares
    w: Array
    """Coefficients in the order of the additions."""
    steps: int
    seconds: float
    rng: np.random.Generator = field(compare=False)
    """Random stream of the next nodes; copied before it is used."""


@dataclass(frozen=True)
class IncrementalBroad:
    """A problem in a broad basis to which nodes and points are added (incremental broad learning).

    The object holds the factors of the least-squares matrix. An addition returns a new object with updated
    factors; the old one does not change. The same seed gives the same nodes:
    ``pibls.solve(problem, basis=model.basis, seed=seed)`` uses the same basis.

    Parameters
    ----------
    problem
        A linear or nonlinear problem without interfaces between materials.
    basis
        `Broad`, or the ``basis`` of an extended model, which is then factored from scratch.
    points
        `Points`, or a tuple of them if points were added.
    seed
        Same seed, same result.
    tol
        Tolerance of the maximum error relative to max|u|.

    >>> import sympy as sp, pibls
    >>> x = sp.Symbol("x")
    >>> u = sp.Function("u")(x)
    >>> equation = u.diff(x, 2) + sp.sin(3 * x)
    >>> problem = pibls.Problem(pibls.Interval(x, 0, 1), [equation], [pibls.Dirichlet(u, 0)])
    >>> model = pibls.IncrementalBroad(problem, pibls.Broad(4, 5, scale=3.0), points=pibls.Points(100, 2))
    >>> grown = model.add_feature_nodes(10).add_enhancement_nodes(10)
    >>> grown.solve().nodes
    40
    """

    problem: Problem
    basis: Broad | GrownBroad
    points: Points | tuple[Points, ...]
    _: KW_ONLY
    seed: int = 0
    tol: float = 1e-10
    _updated: GrownState | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not hasattr(self.basis, "extended") and not hasattr(self.basis, "added"):
            raise ProblemError(
                "IncrementalBroad(basis)",
                expected="Broad(…), or the basis of an extended model",
                got=repr(self.basis),
                remedy="Write basis=Broad(10, 10, 4, 10, scale=3.9).",
            )
        if not self._batches or not all(hasattr(p, "interior") for p in self._batches):
            raise ProblemError(
                "IncrementalBroad(points)",
                expected="Points(interior, boundary, initial), or a tuple of them",
                got=repr(self.points),
                remedy="Write points=Points(400, 80).",
            )
        if self.problem.has_interior_discontinuities or subdomain_decomposition(self.problem) is not None:
            raise ProblemError(
                "IncrementalBroad(problem)",
                expected="coefficients and sources without jumps on interfaces",
                got="a problem with several subdomains",
                remedy="Use pibls.solve(problem), which solves in all subdomains at once.",
            )

    @property
    def nodes(self) -> int:
        """The number of nodes, added ones included."""
        return self.basis.size

    def solve(self) -> Solution:
        """Return the solution with all nodes at all points."""
        state = self.state
        with limit_blas_threads(self.basis.size):
            solution = self._solution(state)
        if not solution.converged:
            warnings.warn(solution.message, ConvergenceWarning, stacklevel=2)
        return solution

    def add_feature_nodes(self, nodes: int) -> IncrementalBroad:
        """Return the model with one more group of feature nodes.

        Existing enhancement nodes do not depend on them; enhancement nodes added later do.
        """
        check_integer(nodes, "add_feature_nodes(nodes)", least=1)
        return self._with_nodes(int(nodes), 0)

    def add_enhancement_nodes(self, nodes: int) -> IncrementalBroad:
        """Return the model with one more group of enhancement nodes, functions of all feature nodes."""
        check_integer(nodes, "add_enhancement_nodes(nodes)", least=1)
        return self._with_nodes(0, int(nodes))

    def add_points(self, points: Points) -> IncrementalBroad:
        """Return the model with more points: interior, boundary and initial ones by their counts.

        The rules "sobol", "halton", "uniform" and "lhs" give points different from the previous ones.
        """
        began, state = time.perf_counter(), self.state
        with limit_blas_threads(self.basis.size):
            compiled, placed = self._more(points, len(self._batches))
            batch = RowBatch(
                tuple(_assembled(compiled, placed, stage) for stage in _parts(state.stages, compiled))
            )
            factored = state.factored.with_rows(batch, batch.values(state.w))
            state = replace(state, placed=(*state.placed, placed), factored=factored)
            return replace(self, points=(*self._batches, points), _updated=_solved(state, state.w, began))

    @cached_property
    def state(self) -> GrownState:
        """The current state; computed from scratch if nothing was added yet."""
        if self._updated is not None:
            return self._updated
        began = time.perf_counter()
        with limit_blas_threads(self.basis.size), np.errstate(over="ignore", invalid="ignore"):
            rng = self._context.stream(1, 0)
            lowereds, placed = zip(*map(self._more, self._batches, range(len(self._batches))), strict=True)
            # Every enhancement node needs the feature nodes at all points: their values are cached.
            sites = [site for at in placed for found in at.points.values() for site in found.sites]
            stages = tuple(stage.caching_at(sites) for stage in self._grown.stages(self._context.box, rng))
            batches = [
                RowBatch(tuple(_assembled(low, at, part) for part in _parts(stages, low)))
                for low, at in zip(lowereds, placed, strict=True)
            ]
            start = self._start(stages, placed[0], batches)
            factored = UpdatableLeastSquares.of(batches, [batch.values(start) for batch in batches])
            return _solved(GrownState(stages, placed, factored, start, 0, 0.0, rng), start, began)

    def _with_nodes(self, features: int, enhancement: int) -> IncrementalBroad:
        began, state, compiled = time.perf_counter(), self.state, self._context.compiled
        grown = self._grown
        rng = copy.deepcopy(state.rng)
        with limit_blas_threads(self.basis.size):
            basis = grown.base.extended(state.stages[-1], features, enhancement, rng)
            space = SingleDomainSpace.shared(added_nodes(state.stages[-1], basis), compiled.unknowns)
            parts = [_assembled(_only(compiled, placed), placed, space) for placed in state.placed]
            factored = state.factored.with_columns(parts)
            w = np.concatenate([state.w, np.zeros(space.columns)])
            stages = (*state.stages, basis)
            state = replace(state, stages=stages, factored=factored, rng=rng)
            return replace(
                self,
                basis=replace(grown, added=(*grown.added, (features, enhancement))),
                _updated=_solved(state, w, began),
            )

    @property
    def _grown(self) -> GrownBroad:
        basis: Any = self.basis
        return basis if hasattr(basis, "added") else GrownBroad(basis)

    @property
    def _batches(self) -> tuple[Points, ...]:
        return self.points if isinstance(self.points, tuple) else (self.points,)

    @cached_property
    def _context(self) -> ValidationContext:
        problem = split_piecewise_conditions(self.problem)
        return ValidationContext.of(
            compile_problem(problem), problem.domain, self.seed, self.tol, None, problem.value_cache
        )

    def _more(self, points: Points, key: int) -> tuple[CompiledProblem, PlacedPoints]:
        """Return the points of a batch and the problem with the residuals that have rows in it.

        Integrals and single points have rows in the first batch only.
        """
        context = self._context
        compiled = context.compiled
        if key:
            counts = {True: points.boundary, False: points.initial}
            kept = tuple(r for r in compiled.residuals if _is_repeated(r.region, counts))
            compiled = replace(compiled, residuals=kept)
        return compiled, PlacedPoints(place(compiled, context.domain, points, context.stream(2, key)))

    def _start(self, stages: tuple[BroadBasis, ...], placed: PlacedPoints, batches: list[RowBatch]) -> Array:
        """Return the coefficients about which to linearise: zero, or a Gauss-Newton solution."""
        context, compiled = self._context, self._context.compiled
        columns = int(batches[0].ends[-1])
        if compiled.is_linear:
            return np.zeros(columns)
        space = SingleDomainSpace.shared(stages[-1], compiled.unknowns)
        system = assemble(compiled, placed.points, space, placed.cache)
        w = np.empty(columns)
        w[coefficient_order(stages, compiled.unknowns)] = (
            GaussNewton(rounds=0).solve(system, context.stream(3, 0)).w
        )
        return w

    def _solution(self, state: GrownState) -> Solution:
        context = self._context
        space = SingleDomainSpace.shared(state.stages[-1].caching_at(()), context.compiled.unknowns)
        w = state.w[coefficient_order(state.stages, context.compiled.unknowns)]
        judged, _ = validation_residuals(context, space, w)
        residuals = norms_by_name(judged)
        relative = max((n.relative for n in residuals.values()), default=np.inf)
        status = Status.SOLVED if relative <= DEFAULT.max_resolved_residual else Status.UNRESOLVED

        def error() -> ErrorEstimate:
            other = replace(
                self._grown,
                base=replace(self._grown.base, scale=DEFAULT.companion_scale * self._grown.base.scale),
            )
            method = LeastSquares(PivotedQR()) if context.compiled.is_linear else GaussNewton()
            second = compute_candidate(replace(context), other, self._all_points, method, key=1)
            found = compare((space, w), second.function, context.compiled.unknowns, context.comparison_points)
            return with_lower_bound(found, condition_errors(context, residuals))

        return Solution(
            problem=self.problem,
            space=space,
            coefficients=w,
            status=status,
            residuals=residuals,
            seconds=state.seconds,
            seed=self.seed,
            tol=self.tol,
            steps=state.steps,
            settings={"basis": self.basis, "points": self._all_points},
            history=(),
            estimator=error,
        )

    @property
    def _all_points(self) -> Points:
        """The total numbers of points of all batches, with the rules of the first."""
        first, *more = self._batches
        return replace(
            first,
            interior=first.interior + sum(p.interior for p in more),
            boundary=first.boundary + sum(p.boundary for p in more),
            initial=first.initial + sum(p.initial for p in more),
        )


def _is_repeated(region: Region, counts: dict[bool, int]) -> bool:
    """Whether later batches of points have rows in a region."""
    if region.is_interior:
        return True
    return (
        not region.is_integral
        and (region.is_boundary or region.plane() is not None)
        and counts[region.is_boundary] > 0
    )


def _parts(stages: tuple[BroadBasis, ...], compiled: CompiledProblem) -> list[SingleDomainSpace]:
    """Return the space of each addition."""
    before: tuple[BroadBasis | None, ...] = (None, *stages[:-1])
    return [
        SingleDomainSpace.shared(added_nodes(old, new), compiled.unknowns)
        for old, new in zip(before, stages, strict=True)
    ]


def _only(compiled: CompiledProblem, placed: PlacedPoints) -> CompiledProblem:
    """Return the problem with the residuals that have rows at a batch of points."""
    kept = tuple(r for r in compiled.residuals if r.region in placed.points)
    return replace(compiled, residuals=kept)


def _assembled(compiled: CompiledProblem, placed: PlacedPoints, space: SingleDomainSpace) -> System:
    return assemble(compiled, placed.points, space, placed.cache)


def _solved(state: GrownState, w: Array, began: float) -> GrownState:
    """Return the state with the solution of its least-squares problem, started from w if it is nonlinear."""
    with np.errstate(over="ignore", invalid="ignore"):
        w, steps, factored = state.factored.solve(w)
    return replace(state, w=w, steps=steps, factored=factored, seconds=time.perf_counter() - began)

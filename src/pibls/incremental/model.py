r"""A broad basis that grows: nodes and points are added, the solution follows at a fraction of the cost."""

from __future__ import annotations

import copy
import time
import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

import numpy as np

from pibls.adaptive.candidate import attempt, judge, misfits
from pibls.adaptive.split_conditions import with_divided_sides
from pibls.adaptive.thresholds import DEFAULT
from pibls.adaptive.validation.context import Bench
from pibls.adaptive.validation.estimate import ErrorEstimate, at_least, compare, norms_by_name
from pibls.arrays import Array
from pibls.assembly.known import Placed
from pibls.assembly.points import Points, place
from pibls.assembly.system import System, assemble
from pibls.basis import Broad, BroadBasis, GrownBroad, natural_order, nodes_since
from pibls.basis.checks import whole
from pibls.caching import cached_property
from pibls.errors import ConvergenceWarning, ProblemError
from pibls.incremental.factored import Factored
from pibls.incremental.rows import RowBatch
from pibls.linalg import PivotedQR
from pibls.linalg.threads import sensible_threads
from pibls.nonlinear import GaussNewton, LeastSquares
from pibls.problem import Problem, Region
from pibls.problem.forms.lowering import LoweredProblem, lower
from pibls.problem.interfaces.materials import materials_of
from pibls.solution import Solution
from pibls.spaces import Whole
from pibls.status import Status


@dataclass(frozen=True)
class GrownState:
    """What an update needs: the basis after each addition, the points, the factors, and the solution."""

    stages: tuple[BroadBasis, ...]
    placed: tuple[Placed, ...]
    factored: Factored
    w: Array
    """Coefficients in the order of the additions."""
    steps: int
    seconds: float
    rng: np.random.Generator = field(compare=False)
    """The stream that the next nodes are drawn from; copied before it is used."""


@dataclass(frozen=True)
class IncrementalBroad:
    """A problem in a broad basis to which nodes and points are added (incremental broad learning).

    The value holds the factors of the least-squares matrix. An addition gives a new value with updated
    factors; the old one stays as it is. Same seed, same nodes: ``pibls.solve(problem, basis=model.basis,
    seed=seed)`` has the same ones.

    Parameters
    ----------
    problem
        What to solve; linear or not, without interfaces between materials.
    basis
        `Broad`, or the ``basis`` of a grown model, which is then factored from scratch.
    points
        `Points`; a tuple of them where points were added.
    seed
        Same seed, same result.
    tol
        The maximum error, relative to max|u|, that the estimate is compared with.

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
                expected="Broad(…), or the basis of a grown model",
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
        if self.problem.is_broken_inside or materials_of(self.problem) is not None:
            raise ProblemError(
                "IncrementalBroad(problem)",
                expected="coefficients and sources without jumps on interfaces",
                got="a problem in several pieces",
                remedy="Write pibls.solve(problem), which solves in all pieces at once.",
            )

    @property
    def nodes(self) -> int:
        """The number of nodes, added ones included."""
        return self.basis.size

    def solve(self) -> Solution:
        """The solution with all nodes at all points."""
        state = self.state
        with sensible_threads(self.basis.size):
            solution = self._solution(state)
        if not solution.converged:
            warnings.warn(solution.message, ConvergenceWarning, stacklevel=2)
        return solution

    def add_feature_nodes(self, nodes: int) -> IncrementalBroad:
        """With one more group of feature nodes, which see the coordinates.

        Enhancement nodes that are there do not see them; those that are added later do.
        """
        whole(nodes, "add_feature_nodes(nodes)", least=1)
        return self._with_nodes(int(nodes), 0)

    def add_enhancement_nodes(self, nodes: int) -> IncrementalBroad:
        """With one more group of enhancement nodes, which see all feature nodes that are there."""
        whole(nodes, "add_enhancement_nodes(nodes)", least=1)
        return self._with_nodes(0, int(nodes))

    def add_points(self, points: Points) -> IncrementalBroad:
        """With the equations at more points inside; by their counts also on the boundary and at the start.

        Points by the rules "sobol", "halton", "uniform" and "lhs" are new ones.
        """
        began, state = time.perf_counter(), self.state
        with sensible_threads(self.basis.size):
            lowered, placed = self._more(points, len(self._batches))
            batch = RowBatch(
                tuple(_assembled(lowered, placed, stage) for stage in _parts(state.stages, lowered))
            )
            factored = state.factored.with_rows(batch, batch.values(state.w))
            state = replace(state, placed=(*state.placed, placed), factored=factored)
            return replace(self, points=(*self._batches, points), _updated=_solved(state, state.w, began))

    @cached_property
    def state(self) -> GrownState:
        """The factors and what they were made from; made from scratch where there was no addition yet."""
        if self._updated is not None:
            return self._updated
        began = time.perf_counter()
        with sensible_threads(self.basis.size), np.errstate(over="ignore", invalid="ignore"):
            rng = self._bench.stream(1, 0)
            lowereds, placed = zip(*map(self._more, self._batches, range(len(self._batches))), strict=True)
            # Every enhancement node sees the feature nodes at all points: their values there are kept.
            sites = [site for at in placed for found in at.points.values() for site in found.sites]
            stages = tuple(stage.keeping(sites) for stage in self._grown.stages(self._bench.box, rng))
            batches = [
                RowBatch(tuple(_assembled(low, at, part) for part in _parts(stages, low)))
                for low, at in zip(lowereds, placed, strict=True)
            ]
            start = self._start(stages, placed[0], batches)
            factored = Factored.of(batches, [batch.values(start) for batch in batches])
            return _solved(GrownState(stages, placed, factored, start, 0, 0.0, rng), start, began)

    def _with_nodes(self, features: int, enhancement: int) -> IncrementalBroad:
        began, state, lowered = time.perf_counter(), self.state, self._bench.lowered
        grown = self._grown
        rng = copy.deepcopy(state.rng)
        with sensible_threads(self.basis.size):
            basis = grown.base.extended(state.stages[-1], features, enhancement, rng)
            space = Whole.shared(nodes_since(state.stages[-1], basis), lowered.unknowns)
            parts = [_assembled(_only(lowered, placed), placed, space) for placed in state.placed]
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
    def _bench(self) -> Bench:
        problem = with_divided_sides(self.problem)
        return Bench.of(lower(problem), problem.domain, self.seed, self.tol, None, problem.derived)

    def _more(self, points: Points, key: int) -> tuple[LoweredProblem, Placed]:
        """The points of a batch and the residuals that it has rows for; integrals and single points once."""
        bench = self._bench
        lowered = bench.lowered
        if key:
            counts = {True: points.boundary, False: points.initial}
            kept = tuple(r for r in lowered.residuals if _is_repeated(r.region, counts))
            lowered = replace(lowered, residuals=kept)
        return lowered, Placed(place(lowered, bench.domain, points, bench.stream(2, key)))

    def _start(self, stages: tuple[BroadBasis, ...], placed: Placed, batches: list[RowBatch]) -> Array:
        """Coefficients about which to linearise: of a nonlinear problem a solution by Gauss-Newton."""
        bench, lowered = self._bench, self._bench.lowered
        columns = int(batches[0].ends[-1])
        if lowered.is_linear:
            return np.zeros(columns)
        space = Whole.shared(stages[-1], lowered.unknowns)
        system = assemble(lowered, placed.points, space, placed.known)
        w = np.empty(columns)
        w[natural_order(stages, lowered.unknowns)] = GaussNewton(rounds=0).solve(system, bench.stream(3, 0)).w
        return w

    def _solution(self, state: GrownState) -> Solution:
        bench = self._bench
        space = Whole.shared(state.stages[-1].keeping(()), bench.lowered.unknowns)
        w = state.w[natural_order(state.stages, bench.lowered.unknowns)]
        judged, _ = judge(bench, space, w)
        residuals = norms_by_name(judged)
        relative = max((n.relative for n in residuals.values()), default=np.inf)
        status = Status.SOLVED if relative <= DEFAULT.holds else Status.UNRESOLVED

        def error() -> ErrorEstimate:
            other = replace(
                self._grown,
                base=replace(self._grown.base, scale=DEFAULT.other_scale * self._grown.base.scale),
            )
            method = LeastSquares(PivotedQR()) if bench.lowered.is_linear else GaussNewton()
            second = attempt(replace(bench), other, self._all_points, method, key=1)
            found = compare((space, w), second.function, bench.lowered.unknowns, bench.where)
            return at_least(found, misfits(bench, residuals))

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
        """As many points as there are in all batches, by the rules of the first."""
        first, *more = self._batches
        return replace(
            first,
            interior=first.interior + sum(p.interior for p in more),
            boundary=first.boundary + sum(p.boundary for p in more),
            initial=first.initial + sum(p.initial for p in more),
        )


def _is_repeated(region: Region, counts: dict[bool, int]) -> bool:
    """Whether a batch of further points has rows in a region."""
    if region.is_inside:
        return True
    return (
        not region.is_sum
        and (region.is_boundary or region.plane() is not None)
        and counts[region.is_boundary] > 0
    )


def _parts(stages: tuple[BroadBasis, ...], lowered: LoweredProblem) -> list[Whole]:
    """The space of the columns of each addition."""
    before: tuple[BroadBasis | None, ...] = (None, *stages[:-1])
    return [
        Whole.shared(nodes_since(old, new), lowered.unknowns) for old, new in zip(before, stages, strict=True)
    ]


def _only(lowered: LoweredProblem, placed: Placed) -> LoweredProblem:
    """The residuals that a batch of points has rows for."""
    kept = tuple(r for r in lowered.residuals if r.region in placed.points)
    return replace(lowered, residuals=kept)


def _assembled(lowered: LoweredProblem, placed: Placed, space: Whole) -> System:
    return assemble(lowered, placed.points, space, placed.known)


def _solved(state: GrownState, w: Array, began: float) -> GrownState:
    """The state with the solution of its least-squares problem, from w where it is nonlinear."""
    with np.errstate(over="ignore", invalid="ignore"):
        w, steps, factored = state.factored.solved(w)
    return replace(state, w=w, steps=steps, factored=factored, seconds=time.perf_counter() - began)

r"""Incremental broad learning: nodes and points are added at a fraction of the cost of a new solve."""

from __future__ import annotations

import time
import warnings
from dataclasses import KW_ONLY, dataclass, field, replace

import numpy as np

from pibls.adaptive.validation.context import ValidationContext
from pibls.assembly.points import Points, is_points
from pibls.basis import Broad, GrownBroad, as_grown
from pibls.basis.checks import check_integer
from pibls.errors import ConvergenceWarning, ProblemError
from pibls.incremental.context import check_without_interfaces, model_context
from pibls.incremental.state import GrownState
from pibls.incremental.validation import ValidatedFunction
from pibls.linalg.threads import limit_blas_threads
from pibls.problem import Problem
from pibls.runtime.caching import cached_property
from pibls.solution import Solution


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
        if as_grown(self.basis) is None:
            raise ProblemError(
                "IncrementalBroad(basis)",
                expected="Broad(…), or the basis of an extended model",
                got=repr(self.basis),
                remedy="Write basis=Broad(10, 10, 4, 10, scale=3.9).",
            )
        if not self._batches or not all(map(is_points, self._batches)):
            raise ProblemError(
                "IncrementalBroad(points)",
                expected="Points(interior, boundary, initial), or a tuple of them",
                got=repr(self.points),
                remedy="Write points=Points(400, 80).",
            )
        check_without_interfaces(self.problem)

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
            updated = state.with_points(self._context, points, began)
            return replace(self, points=(*self._batches, points), _updated=updated)

    @cached_property
    def state(self) -> GrownState:
        """The current state; computed from scratch if nothing was added yet."""
        if self._updated is not None:
            return self._updated
        with limit_blas_threads(self.basis.size), np.errstate(over="ignore", invalid="ignore"):
            return GrownState.of(self._context, self._grown, self._batches)

    def _with_nodes(self, features: int, enhancement: int) -> IncrementalBroad:
        began, state, grown = time.perf_counter(), self.state, self._grown
        added = (features, enhancement)
        with limit_blas_threads(self.basis.size):
            updated = state.with_nodes(self._context, grown.base, added, began)
            return replace(self, basis=replace(grown, added=(*grown.added, added)), _updated=updated)

    @property
    def _grown(self) -> GrownBroad:
        grown = as_grown(self.basis)
        assert grown is not None  # checked when the model was built
        return grown

    @property
    def _batches(self) -> tuple[Points, ...]:
        return self.points if isinstance(self.points, tuple) else (self.points,)

    @cached_property
    def _context(self) -> ValidationContext:
        return model_context(self.problem, self.seed, self.tol)

    def _solution(self, state: GrownState) -> Solution:
        found = ValidatedFunction.of(self._context, self._grown, self._all_points, state)
        return Solution(
            problem=self.problem,
            space=found.space,
            coefficients=found.w,
            status=found.status,
            residuals=found.residuals,
            seconds=state.seconds,
            seed=self.seed,
            tol=self.tol,
            steps=state.steps,
            settings={"basis": self.basis, "points": self._all_points},
            history=(),
            estimator=found.error,
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

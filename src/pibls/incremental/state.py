r"""State of an incremental model: the basis after each addition, the points, the factors and the solution."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.validation.context import ValidationContext
from pibls.arrays import Array
from pibls.assembly.points import Points, place
from pibls.assembly.residual_coefficients import PlacedPoints
from pibls.assembly.system import System, assemble
from pibls.basis import Broad, BroadBasis, GrownBroad, added_nodes, coefficient_order
from pibls.incremental.least_squares import UpdatableLeastSquares
from pibls.incremental.rows import RowBatch
from pibls.nonlinear import GaussNewton
from pibls.problem import Region
from pibls.problem.forms.compilation import CompiledProblem
from pibls.spaces import SingleDomainSpace


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

    @classmethod
    def of(cls, context: ValidationContext, basis: GrownBroad, batches: tuple[Points, ...]) -> GrownState:
        """Draw the nodes, factor the matrix at all points and solve."""
        began = time.perf_counter()
        rng = context.stream(1, 0)
        compiled, placed = zip(*(_placed(context, p, key) for key, p in enumerate(batches)), strict=True)
        # Every enhancement node needs the feature nodes at all points: their values are cached.
        sites = [site for at in placed for found in at.points.values() for site in found.sites]
        stages = tuple(stage.caching_at(sites) for stage in basis.stages(context.box, rng))
        rows = [_row_batch(low, at, stages) for low, at in zip(compiled, placed, strict=True)]
        start = _start(context, stages, placed[0], rows)
        factored = UpdatableLeastSquares.of(rows, [batch.values(start) for batch in rows])
        return cls(stages, placed, factored, start, 0, 0.0, rng).solved(start, began)

    def with_points(self, context: ValidationContext, points: Points, began: float) -> GrownState:
        """Return the state with one more batch of points; ``began`` is when the addition began."""
        compiled, placed = _placed(context, points, len(self.placed))
        batch = _row_batch(compiled, placed, self.stages)
        factored = self.factored.with_rows(batch, batch.values(self.w))
        return replace(self, placed=(*self.placed, placed), factored=factored).solved(self.w, began)

    def with_nodes(
        self, context: ValidationContext, base: Broad, added: tuple[int, int], began: float
    ) -> GrownState:
        """Return the state with ``added`` (feature nodes, enhancement nodes), one group of each."""
        compiled, rng = context.compiled, copy.deepcopy(self.rng)
        extended = base.extended(self.stages[-1], *added, rng)
        space = SingleDomainSpace.shared(added_nodes(self.stages[-1], extended), compiled.unknowns)
        parts = [_assembled(_only(compiled, placed), placed, space) for placed in self.placed]
        factored = self.factored.with_columns(parts)
        w = np.concatenate([self.w, np.zeros(space.columns)])
        return replace(self, stages=(*self.stages, extended), factored=factored, rng=rng).solved(w, began)

    def solved(self, w: Array, began: float) -> GrownState:
        """Solve the least-squares problem, started from w if it is nonlinear."""
        with np.errstate(over="ignore", invalid="ignore"):
            w, steps, factored = self.factored.solve(w)
        return replace(self, w=w, steps=steps, factored=factored, seconds=time.perf_counter() - began)


def _placed(context: ValidationContext, points: Points, key: int) -> tuple[CompiledProblem, PlacedPoints]:
    """Return the points of a batch and the problem with the residuals that have rows in it.

    Integrals and single points have rows in the first batch only.
    """
    compiled = context.compiled
    if key:
        counts = {True: points.boundary, False: points.initial}
        kept = tuple(r for r in compiled.residuals if _is_repeated(r.region, counts))
        compiled = replace(compiled, residuals=kept)
    return compiled, PlacedPoints(place(compiled, context.domain, points, context.stream(2, key)))


def _start(
    context: ValidationContext, stages: tuple[BroadBasis, ...], placed: PlacedPoints, batches: list[RowBatch]
) -> Array:
    """Return the coefficients about which to linearize: zero, or a Gauss-Newton solution."""
    compiled, columns = context.compiled, int(batches[0].ends[-1])
    if compiled.is_linear:
        return np.zeros(columns)
    space = SingleDomainSpace.shared(stages[-1], compiled.unknowns)
    system = assemble(compiled, placed.points, space, placed.cache)
    w = np.empty(columns)
    w[coefficient_order(stages, compiled.unknowns)] = (
        GaussNewton(rounds=0).solve(system, context.stream(3, 0)).w
    )
    return w


def _row_batch(compiled: CompiledProblem, placed: PlacedPoints, stages: tuple[BroadBasis, ...]) -> RowBatch:
    """Assemble the rows of a batch of points, in the columns of each addition."""
    before: tuple[BroadBasis | None, ...] = (None, *stages[:-1])
    spaces = [
        SingleDomainSpace.shared(added_nodes(old, new), compiled.unknowns)
        for old, new in zip(before, stages, strict=True)
    ]
    return RowBatch(tuple(_assembled(compiled, placed, space) for space in spaces))


def _is_repeated(region: Region, counts: dict[bool, int]) -> bool:
    """Whether later batches of points have rows in a region."""
    if region.is_interior:
        return True
    return (
        not region.is_integral
        and (region.is_boundary or region.plane() is not None)
        and counts[region.is_boundary] > 0
    )


def _only(compiled: CompiledProblem, placed: PlacedPoints) -> CompiledProblem:
    """Return the problem with the residuals that have rows at a batch of points."""
    kept = tuple(r for r in compiled.residuals if r.region in placed.points)
    return replace(compiled, residuals=kept)


def _assembled(compiled: CompiledProblem, placed: PlacedPoints, space: SingleDomainSpace) -> System:
    return assemble(compiled, placed.points, space, placed.cache)

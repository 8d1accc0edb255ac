r"""Strategy with an adaptive tree of cells, refined until every cell is resolved.

All cells share the same few random features. A cell is divided, along the axes that need it, if the Chebyshev
spectrum of the solution has not decayed at its highest degrees, or if the equations do not hold between its
points. When all cells are resolved, the error is estimated from a companion solution at another scale.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.box_detection import integrals_are_divisible
from pibls.adaptive.budget import Budget
from pibls.adaptive.candidate import Candidate, condition_errors, validation_residuals
from pibls.adaptive.cell_indicators import (
    ClippedCells,
    cell_differences,
    cell_space_of,
    clipped_cell_tails,
    residual_indicators,
    spectral_decay,
)
from pibls.adaptive.cells.face_residuals import FaceResiduals, share_at_corners
from pibls.adaptive.cells.hp_selection import (
    CELL_NODES,
    SizedTree,
    function_count,
    initial_size_level,
    wave_grid,
)
from pibls.adaptive.decay_rates import (
    boundary_layer_rates,
    layer_planes,
    refine_at_layers,
    wavelengths_across,
)
from pibls.adaptive.hybridized import ReferenceCell, cell_system
from pibls.adaptive.singular.cell_corners import CellCornerFunctions
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import CELLS, INITIAL_GUESS, SCHEDULER
from pibls.adaptive.validation.context import ValidationContext
from pibls.adaptive.validation.estimate import (
    ComparisonPoints,
    ErrorEstimate,
    compare,
    norms_by_name,
    with_lower_bound,
)
from pibls.arrays import Array, Mask
from pibls.assembly.hybridized.cell_system import CellSystem
from pibls.linalg.threads import limit_blas_threads
from pibls.linalg.tree.engine import TooLargeError
from pibls.nonlinear import GaussNewton, Outcome
from pibls.nonlinear.protocol import starting_values
from pibls.runtime.caching import cached_property
from pibls.spaces import CellTree, Node, Space, graded_node
from pibls.spaces.spectral_tail import resolved_degree
from pibls.status import Status


@dataclass
class CellStrategy(Strategy):
    """Adaptive tree of cells with hp-refinement."""

    initial_candidate: Candidate | None = None
    """Candidate of another strategy, as initial guess of a nonlinear problem."""
    guess: Space | None = None
    sized_tree: SizedTree | None = None
    """The cells with the number of functions of each."""
    _refinements: int = 0
    _key: int = 0
    _last_result: tuple[float, float, float] | None = None
    """Work, seconds and largest indicator of the last candidate."""
    _digits_gained: float = field(default=1.0)
    """Digits gained by the last refinement."""
    _previous: tuple[Space, Array] | None = None
    """The previous solution."""
    _last_comparison: tuple[Candidate, FaceResiduals, tuple[Space, Array]] | None = None
    """The last candidate, its face residuals, and the solution before it."""
    _worst_points: Array = field(default_factory=lambda: np.empty((0, 0)))
    """Point of each cell with the largest residual."""
    _singular: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Cells whose face residual is much larger than their interior indicator."""
    _at_corner: Mask = field(default_factory=lambda: np.zeros(0, dtype=np.bool_))
    """Cells whose point of largest residual is a corner."""
    _halvings: int = 1
    """Number of halvings of the worst cell in the last refinement."""
    _per_halving: float = 1.0
    """Digits gained per halving."""

    @cached_property
    def _clipped_cells(self) -> ClippedCells:
        return ClippedCells(self.context)

    @property
    def tree(self) -> CellTree:
        assert self.sized_tree is not None
        return self.sized_tree.tree

    @property
    def _max_functions(self) -> int:
        """Maximum number of functions per unknown in all cells together."""
        return CELLS.columns_per_node * self.budget.max_nodes // self.context.compiled.unknowns

    @property
    def applies(self) -> bool:
        """Whether the first cells are within the node limit, and integrals are sums over cells."""
        d, unknowns = self.context.compiled.dimension, self.context.compiled.unknowns
        if d not in CELL_NODES or not integrals_are_divisible(self.context):
            return False
        each = CELL_NODES[d][initial_size_level(self.context.tol)] * unknowns
        first: int = CELLS.initial_cells**d * each
        return first <= CELLS.columns_per_node * self.budget.max_nodes

    @property
    def has_ended(self) -> bool:
        too_many = (
            self._last_result is not None
            and self.sized_tree is not None
            and function_count(self.sized_tree) > self._max_functions
        )
        return self.status is not None or too_many or self._refinements >= SCHEDULER.max_rounds

    @property
    def expected_seconds(self) -> float:
        if self._last_result is None or self.sized_tree is None:
            return 0.0
        work, seconds, _ = self._last_result
        return float(seconds * (self.sized_tree.work / work) ** 1.3)

    def warm_start(self, found: Candidate | None) -> None:
        self.initial_candidate = self.initial_candidate or found

    def for_nearby_problem(self, context: ValidationContext, budget: Budget) -> CellStrategy:
        return CellStrategy(context, budget, initial_candidate=self.recent[-1], sized_tree=self.sized_tree)

    @property
    def indicator(self) -> float:
        return math.inf if self._last_result is None else self._last_result[2]

    def advance(self) -> None:
        if self.sized_tree is None:
            self.sized_tree = self._initial_tree()
            if function_count(self.sized_tree) > self._max_functions:
                self._refinements = SCHEDULER.max_rounds
                return
        self._refinements += 1
        try:
            self._solve_and_refine()
        except TooLargeError:
            if self.best is None:
                raise
            self.status = Status.MEMORY_LIMIT

    def _solve_and_refine(self) -> None:
        """Solve in the cells of the tree, then refine or accept."""
        context = self.context
        assert self.sized_tree is not None
        found, face_residuals = self._solve(1.0)
        indicator, axes = self._indicators(found, face_residuals)
        worst = float(indicator.max())
        self._record(found, face_residuals, worst)
        limit = context.thresholds.max_cell_tail * context.tol
        at_rounding_limit = self._digits_gained < 0.05 and worst < 1e-9 and self._refinements > 3
        if worst > CELLS.max_comparison_indicator * limit and not at_rounding_limit:
            self.sized_tree, self._previous = self._refine(found, indicator, axes, limit), found.function
            return
        # The companion has finer cells where the indicator is largest: the error at a singular point is the
        # same in the same cells.
        refined_tree = self._refine_worst(found, indicator, axes)
        second, _ = self._solve(context.thresholds.companion_scale, found, refined_tree)
        face_errors = self._face_errors(face_residuals)
        error = self._estimate_error(found, second, face_errors)
        excess = self.relative_error(found, error)
        if excess > context.tol:
            error = self._with_summed_errors(found, face_errors, error)
        self._keep_if_better(self._with_filled_cells(found), error)
        self.report(found, excess, cells=len(self.tree))
        per_cell = cell_differences(found, second, self._comparison_points(found).all, self.scales(found))
        self._note_cell_errors(found, per_cell, face_errors)
        if excess <= context.tol and found.relative_residual < context.thresholds.max_solution_residual:
            self.status = Status.TOLERANCE
            return
        if worst <= limit and at_rounding_limit:
            self.status = Status.ROUNDING_LIMIT
            return
        # Refine towards the missing factor, and not everywhere: a division gains a digit or more.
        combined_indicator = np.maximum(indicator, per_cell)
        target = (
            float(combined_indicator.max())
            * context.tol
            / (CELLS.refinement_margin * max(excess, context.tol))
        )
        self.sized_tree = self._refine(
            found, combined_indicator, axes, max(0.1 * context.tol, min(target, context.tol))
        )
        self._previous = found.function

    def _record(self, found: Candidate, face_residuals: FaceResiduals, worst: float) -> None:
        """Record a candidate, and the digits gained by the last refinement."""
        assert self.sized_tree is not None
        if self._last_result is not None and worst > 0:
            self._digits_gained = math.log10(max(self._last_result[2], 1e-300) / worst)
            self._per_halving = self._digits_gained / max(self._halvings, 1)
        self._last_result = (self.sized_tree.work, found.seconds, worst)
        self.residual_history.append(found.relative_residual)
        if self.best is None or not self.error.checked:
            self.best = self._with_filled_cells(found)
        self.report(found, None, cells=len(self.tree))
        self._last_comparison = None if self._previous is None else (found, face_residuals, self._previous)

    def _face_errors(self, face_residuals: FaceResiduals) -> Array:
        """Return the error of each cell at its faces, which is a part of the error at a singular corner."""
        factors: Array = np.where(self._singular, CELLS.corner_error_factor, 1.0)
        return factors * face_residuals.max_residual

    def _estimate_error(self, found: Candidate, second: Candidate, face_errors: Array) -> ErrorEstimate:
        """Return the error estimated from the companion solution, the faces and the last refinement."""
        context, where = self.context, self._comparison_points(found)
        error = compare(found.function, second.function, context.compiled.unknowns, where)
        error = with_lower_bound(
            error, condition_errors(context, found.residuals), context.rounding(found.magnitudes)
        )
        error = with_lower_bound(error, float(face_errors.max()) * self.scales(found))
        if self._previous is None:
            return error
        # The error at a singularity is the same in both; the change by the last refinement shows it.
        expected_ratio = min(max(10.0**-self._digits_gained, CELLS.min_residual_fraction), 1.0)
        change = compare(
            found.function, self._previous, context.compiled.unknowns, where, 2.0 * expected_ratio
        )
        return max(error, change, key=lambda e: e.max)

    def _note_cell_errors(self, found: Candidate, per_cell: Array, face_errors: Array) -> None:
        """Record the estimated error of each cell, for plots."""
        thresholds = self.context.thresholds
        shown = np.maximum(
            thresholds.safety_factor * per_cell, thresholds.condition_error_factor * face_errors
        )
        self.notes["cell_errors"] = shown * float(self.scales(found).max())

    def finalize_from_history(self) -> None:
        """Bound the error by the last change, which is larger than the error while refinements gain."""
        if self._last_comparison is None or self._digits_gained < CELLS.min_gain:
            return
        context, (found, face_residuals, before) = self.context, self._last_comparison
        error = compare(found.function, before, context.compiled.unknowns, self._comparison_points(found))
        error = with_lower_bound(
            error, condition_errors(context, found.residuals), context.rounding(found.magnitudes)
        )
        self._keep_if_better(
            self._with_filled_cells(found),
            self._with_summed_errors(found, self._face_errors(face_residuals), error),
        )

    def _with_summed_errors(
        self, found: Candidate, face_errors: Array, error: ErrorEstimate
    ) -> ErrorEstimate:
        """Raise the estimate to the sum of the face residuals of all cells.

        Two trees may agree although each cell loses a little of the flux towards a small contact.
        """
        thresholds = self.context.thresholds
        most = (
            thresholds.safety_factor
            / thresholds.condition_error_factor
            * float(face_errors.sum())
            * self.scales(found)
        )
        return with_lower_bound(error, most, most)

    def may_fit_budget(self) -> bool:
        return self.budget.fits(SCHEDULER.min_duration_share * self.expected_seconds)

    def _with_filled_cells(self, found: Candidate) -> Candidate:
        """Return the candidate with cells without points filled from their neighbours."""
        if self.context.evolution is not None:
            return found
        space = cell_space_of(found)
        filled, w = space.with_empty_cells_filled(found.w, self._clipped_cells.clipped_boxes(space.tree))
        return found if filled is space else replace(found, space=filled, outcome=replace(found.outcome, w=w))

    def _initial_tree(self) -> SizedTree:
        """Return the first tree, from boundary layers and wavelengths of the equations."""
        context, d = self.context, self.context.compiled.dimension
        level = initial_size_level(context.tol)
        if CellCornerFunctions.of(context.enrichment):
            # With corner functions the cells need more functions from the start.
            level = max(level, 1)
        planes = context.compiled.interfaces.planes
        tree = (
            CellTree.divided_at(context.box, planes)
            if planes
            else CellTree.grid(context.box, (CELLS.initial_cells,) * d)
        )
        if context.evolution is not None:
            return SizedTree.uniform(tree, level)
        waves = wavelengths_across(context)
        grid = wave_grid(waves, context.tol, 0.9 * self._max_functions) if waves.any() else None
        if grid is not None and not planes:
            level, counts = grid
            tree = CellTree.grid(context.box, counts)
        degree, most = (
            resolved_degree(CELL_NODES[d][level], d),
            self._max_functions // (2 * CELL_NODES[d][level]),
        )
        tree = boundary_layer_rates(context).refine(tree, degree, most)
        fine = SizedTree.uniform(refine_at_layers(tree, layer_planes(context), degree), level)
        return fine if function_count(fine) <= self._max_functions // 2 else SizedTree.uniform(tree, level)

    def _refine_worst(self, found: Candidate, indicator: Array, along: Array) -> SizedTree:
        """Return the tree with the worst cells divided, unless the solution is smooth there."""
        assert self.sized_tree is not None
        mark = max(0.1 * float(indicator.max()), float(np.sort(indicator)[-max(len(indicator) // 5, 1)]))

        def division(number: int, box: Array) -> Node:
            if (
                indicator[number] < mark
                or spectral_decay(self._clipped_cells, found, number, box, along) > CELLS.min_spectral_digits
            ):
                return None
            axes = [i for i in range(len(box)) if along[number, i] >= 0.1 * along[number].max()]
            return graded_node(self._clipped_cells.clipped_box(box), axes, self._worst_points[number], 1)

        return self.sized_tree.divided(division)

    def _solve(
        self, shrink: float, near: Candidate | None = None, sized: SizedTree | None = None
    ) -> tuple[Candidate, FaceResiduals]:
        """Solve in the cells, and return the candidate with its face residuals."""
        context = self.context
        began = time.perf_counter()
        self._key += 1
        d, unknowns = context.compiled.dimension, context.compiled.unknowns
        sized = sized or self.sized_tree
        assert sized is not None
        references = {
            level: ReferenceCell.drawn(CELL_NODES[d][level], d, shrink, context.stream(1, 2000 + self._key))
            for level in set(sized.size_levels)
        }
        frames = self._clipped_cells.clipped_boxes(sized.tree)
        corners = CellCornerFunctions.of(context.enrichment, shrink)
        space = corners.enrich(sized.cell_space(references, unknowns, frames))
        with limit_blas_threads(1), np.errstate(over="ignore", invalid="ignore"):
            system = cell_system(
                context.compiled, context.domain, space, context.engine, frames=frames, corners=corners
            )
            outcome = self._newton(system, near or self.best or self.initial_candidate)
            w = system.function_coefficients(outcome.w)
            judged, values = validation_residuals(context, space, w)
        kept = Outcome(w, outcome.cost, outcome.steps, outcome.status)
        seconds = time.perf_counter() - began
        settings = {"cells": len(sized), "nodes": max(sized.nodes)}
        found = Candidate(space, kept, norms_by_name(judged), values, seconds, settings)
        worst, places = system.misfits(outcome.w, self.scales(found))
        return found, FaceResiduals(worst, places, system.neighbours)

    def _newton(self, system: CellSystem, before: Candidate | None) -> Outcome:
        """Solve from an earlier candidate, or from the initial guess.

        Truncation of pivots is not needed in cells and would cost two to four factorizations each time. The
        residual of the first few cells is due to their resolution, and continuation does not reduce it.
        """
        newton = GaussNewton(rounds=0)
        if system.is_linear:
            return newton.linear_solve(system)
        if self.guess is not None and self._key == 1:
            return newton.descend(system, system.values_of(self.guess, np.empty(0)))
        quick = replace(newton, truncation=0.0, to_the_last=False)
        if before is not None and before.relative_residual < self.context.thresholds.max_start_residual:
            start = system.values_of(*before.function)
            return quick.descend(system, start, before.relative_residual)
        outcome = quick.descend(system, starting_values(system))
        if outcome.status is Status.STALLED and not outcome.relative < INITIAL_GUESS.max_unresolved_residual:
            return newton.solve(system, self.context.stream(3, 2000 + self._key))
        return outcome

    def _indicators(self, found: Candidate, face_residuals: FaceResiduals) -> tuple[Array, Array]:
        """Return the indicator of each cell, relative to max|u|, and its spectral tails along each axis."""
        space, scales = cell_space_of(found), self.scales(found)
        pairs = zip(
            space.parts_with_coefficients(found.w), self._clipped_cells.clipped_boxes(space.tree), strict=True
        )
        spectra = [clipped_cell_tails(self._clipped_cells, part, w, box) for (part, w), box in pairs]
        with np.errstate(invalid="ignore", divide="ignore"):
            along = np.nan_to_num(np.array(spectra) / scales[None, :, None]).max(axis=1)
        unmet, self._worst_points = residual_indicators(self._clipped_cells, found, scales)
        # With corner functions in the cell, its other coefficients are not unique: the tails are meaningless.
        corners = CellCornerFunctions.of(self.context.enrichment)
        has_corner = np.array([corners.has_corner(box) for box in space.tree.boxes])
        along[has_corner] = np.maximum(unmet, face_residuals.max_residual)[has_corner, None]
        smooth = np.maximum(along.max(axis=1), unmet)
        misfit = face_residuals.originating(smooth)
        self._singular = face_residuals.singular(smooth)
        more = misfit > smooth
        places, self._at_corner = face_residuals.snap_to_corners(space.tree.boxes)
        self._worst_points[more] = places[more]
        worst = np.maximum(smooth, misfit)
        at_corners = self._singular & self._at_corner
        shared_indicator = share_at_corners(space.tree.boxes, worst, self._worst_points, at_corners)
        self._singular |= at_corners
        self._at_corner |= at_corners
        return shared_indicator, along

    def _comparison_points(self, found: Candidate) -> ComparisonPoints:
        """Validation points plus a few per cell."""
        boxes, where = (
            self._clipped_cells.clipped_boxes(cell_space_of(found).tree),
            self.context.comparison_points,
        )
        X = self._clipped_cells.sample_points(boxes, 8, 11)
        singular = np.flatnonzero(self._singular)
        corners = self._worst_points[singular]
        X = np.concatenate(
            [X, corners + CELLS.corner_comparison_offset * (boxes[singular].mean(axis=2) - corners)]
        )
        X = X[np.asarray(self.context.domain.contains(X), dtype=bool)]
        return replace(where, all=np.concatenate([where.all, X]))

    def _refine(self, found: Candidate, indicator: Array, along: Array, limit: float) -> SizedTree:
        """Divide the marked cells along every axis whose spectral tail is not much smaller than the largest.

        Cells whose spectrum decays fast enough get more functions instead.
        """
        sized = self.sized_tree
        assert sized is not None
        mark = max(limit, self.context.thresholds.min_cell_share * float(indicator.max()))
        # At most double the number of cells, within the limit of functions: the worst cells first.
        free_functions = (self._max_functions - function_count(sized)) // (3 * max(sized.nodes))
        most = max(min(len(indicator), free_functions), 4)
        if np.count_nonzero(indicator >= mark) > most:
            mark = float(np.sort(indicator)[-most])
        share = self.context.thresholds.min_axis_share
        more: set[int] = set()
        done = [(0.0, 1)]

        def division(number: int, box: Array) -> Node:
            if indicator[number] < mark:
                return None
            mine = along[number]
            axes = [i for i in range(len(box)) if mine[i] >= share * mine.max()]
            singular = bool(self._singular[number])
            levels = self._halving_levels(float(indicator[number]) / limit, singular)
            if singular and not self._at_corner[number]:
                levels = min(levels, CELLS.max_interior_levels)
            done.append((float(indicator[number]), levels))
            if singular:
                axes = list(range(len(box)))
            elif levels == 1 and indicator[number] < self.context.thresholds.unresolved_residual:
                missing = math.log10(float(indicator[number]) / limit)
                steep = spectral_decay(self._clipped_cells, found, number, box, along)
                falls = steep / resolved_degree(sized.nodes[number], len(box))
                if sized.prefers_more_functions(number, mine, axes, falls, missing):
                    more.add(number)
                    return None
            return graded_node(self._clipped_cells.clipped_box(box), axes, self._worst_points[number], levels)

        divided = sized.divided(division)
        self._halvings = max(done)[1]
        where = {int(i): n for n, i in enumerate(sized.tree.locate(divided.tree.boxes.mean(axis=2)))}
        return divided.with_more_functions({where[i] for i in more})

    def _halving_levels(self, excess: float, singular: bool) -> int:
        """Return how often a cell is halved at once: more often where a halving gains little."""
        if singular:
            if self._refinements > 1 and self._per_halving > 0.5 * CELLS.min_smooth_gain:
                return 1
            wanted = math.log10(max(excess, 1.0)) / max(self._per_halving, 0.1)
            return int(min(max(wanted, 1.0), CELLS.max_corner_levels if self._refinements > 2 else 2))
        assert self._last_result is not None
        if (
            self._refinements < 3
            or self._digits_gained > CELLS.min_smooth_gain
            or self._last_result[2] > self.context.thresholds.unresolved_residual
        ):
            return 1
        return int(min(max(0.5 * math.log10(max(excess, 1.0)) / max(self._digits_gained, 0.3), 1.0), 4.0))

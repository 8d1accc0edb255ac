"""Strategy for evolutions: integrate twice on different time windows and compare the two solutions."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.budget import OutOfTimeError, Progress
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.evolutions.accumulated_error import with_divergence, with_lost_accuracy, with_rounding
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import SCHEDULER, WINDOW_STRATEGY
from pibls.adaptive.validation.estimate import (
    UNCHECKED,
    ComparisonPoints,
    ErrorEstimate,
    compare,
    norms_by_name,
)
from pibls.arrays import Array, Mask
from pibls.assembly.points import PointSet
from pibls.assembly.scaled_residuals import residuals_at
from pibls.basis.cube_points import fixed_halton
from pibls.linalg.threads import limit_blas_threads
from pibls.nonlinear import Outcome
from pibls.problem import Interior, Region
from pibls.runtime.deadline import deadline
from pibls.runtime.interruption import clear_pending_interrupt
from pibls.status import Status
from pibls.time.companion import CompanionSolution
from pibls.time.data_monitor import reason_to_stop
from pibls.time.discretizations import EvolutionIntegrator, TimeDiscretization, WithoutSpace
from pibls.time.trajectory import (
    OUT_OF_MEMORY,
    TIME_LIMIT_REACHED,
    ProgressCheck,
    Tolerances,
    Trajectory,
    min_tail_tolerance,
)

Layers = tuple[tuple[float, float], ...]
"""Time intervals (start, end) after incompatible data in which no error estimate is given."""


def reliable_times(t: Array, trajectory: Trajectory, layers: Layers) -> Mask:
    """Return which of the times t (N,) were reached by the trajectory and lie outside all layers."""
    low, high = sorted((trajectory.evolution.start, trajectory.end_time))
    keep = (t >= low) & (t <= high)
    for a, b in layers:
        sign = 1.0 if trajectory.evolution.forward else -1.0
        keep &= (sign * t < sign * a) | (sign * t >= sign * b)
    return np.asarray(keep)


def _stride(X: Array, trajectory: Trajectory, entries: int) -> int:
    """Return the stride that keeps points times functions per box below ``entries``.

    On a cube, evaluating at every point takes longer than the integration itself.
    """
    return 1 + len(X) * trajectory.max_functions_per_box // entries


def concentrate_at_corners(U: Array, more: Array, box: Array, whole: Array, axis: int) -> Array:
    """Return points of [0, 1]^d, half of them graded towards the faces that ``box`` shares with ``whole``.

    In a box with n polynomials the error of a corner singularity is largest within 1/n² of the corner, so
    boxes at a corner use the larger set of points ``more`` instead of ``U``.
    """
    at = [(i, end) for i in range(len(box)) if i != axis for end in (0, 1) if box[i, end] == whole[i, end]]
    V = (U if len(at) < 2 else more).copy()
    for i, end in at:
        near = 10.0 ** (-2.0 * WINDOW_STRATEGY.corner_digits * V[:, i])
        V[:, i] = np.where(V[:, i] < 0.5, 1.0 - near if end else near, 2.0 * V[:, i] - 1.0)
    return V


@dataclass
class TimeWindowStrategy(Strategy):
    """Radau collocation in time windows: integrate twice on different windows and compare."""

    is_conclusive = True  # longer windows do not reduce the rounding error of an evolution
    discretization: TimeDiscretization = field(default_factory=WithoutSpace)
    """How one time window is discretized and solved."""
    tolerances: Tolerances | None = None

    @property
    def applies(self) -> bool:
        """Whether the problem is an evolution that the discretization supports."""
        return self.context.evolution is not None and self.discretization.supports(self.context)

    def warm_start(self, found: Candidate | None) -> None:
        if found is not None and found.relative_residual < self.context.thresholds.max_solution_residual:
            self.discretization.expected_magnitudes = found.magnitudes

    def advance(self) -> None:
        """Integrate, compute the companion solution, and estimate the error from their difference.

        Above the tolerance, the tolerances of the windows are tightened for the next call, down to rounding.
        """
        if self.tolerances is None:
            self.tolerances = self.discretization.initial_tolerances(self.context)
        began = time.perf_counter()
        with limit_blas_threads(1), np.errstate(all="ignore"):
            earlier = dict(self.notes)
            integrator = self.discretization.integrator(self.context, self.tolerances, self._check(True))
            first = None if integrator is None else self._integrate(integrator)
            if integrator is None or first is None or self._is_useless(first):
                self.status = Status.STALLED
                return
            found = self._validated(first, time.perf_counter() - began)
            known = self.best, self.error, earlier
            self.best, self.error = found, UNCHECKED
            self.report(found, None, t=first.end_time, windows=len(first.windows), cells=first.cells)
            if self.discretization.has_free_solutions(first):
                self.status = Status.UNDETERMINED
                return
            second = self._companion(integrator, first)
            if second is not None and (second.rounding is not None or second.end_time == first.end_time):
                self.error = self._estimated_error(first, found, second)
        self._conclude(first, found)
        self.restore_if_better(*known)

    def _is_useless(self, first: Trajectory) -> bool:
        return not first.windows or self.discretization.has_failed(first)

    def _estimated_error(
        self, first: Trajectory, found: Candidate, second: CompanionSolution
    ) -> ErrorEstimate:
        """Return the error estimate outside the layers, with its history from the start."""
        if second.rounding is not None:
            return self._accumulated_error(first, found, second, *second.rounding)
        context = self.context
        rounding = 4.0 * context.thresholds.rounding * len(first.windows)
        pair, unknowns = (found.function, second.function), context.compiled.unknowns
        everywhere = compare(*pair, unknowns, self._comparison_points(first), rounding=rounding)
        layers = self.notes.get("layers", ())
        if not layers:
            return everywhere
        # The first resolved window may still carry the error of the layer, so longer layers are tried until
        # the two solutions agree.
        e = first.evolution
        late = everywhere
        for factor in WINDOW_STRATEGY.layer_extension_factors:
            wider = tuple((began, began + factor * (since - began)) for began, since in layers)
            if max(abs(b - a) for a, b in wider) > self.discretization.max_layer_fraction * abs(
                e.stop - e.start
            ):
                break
            self._note_layers(wider)
            even = self._comparison_points(first, wider).even
            where = replace(self._comparison_points(first), even=even, left_out=wider)
            late = compare(*pair, unknowns, where, rounding=rounding)
            if self.relative_error(found, late) <= context.tol:
                break
        return late

    def _accumulated_error(
        self, first: Trajectory, found: Candidate, second: CompanionSolution, t: Array, rounding: Array
    ) -> ErrorEstimate:
        """Return the error estimate with the accumulated rounding error (unknowns, times t).

        From the time at which the two solutions diverge, or all accuracy is lost, it is their magnitude.
        """
        where = self._comparison_points(first)
        reached = np.abs(where.all[:, 0] - first.evolution.start) <= abs(
            second.end_time - first.evolution.start
        )
        inside = np.abs(where.even[:, 0] - first.evolution.start) <= abs(
            second.end_time - first.evolution.start
        )
        where = replace(where, all=where.all[reached], even=where.even[inside])
        error = compare(found.function, second.function, self.context.compiled.unknowns, where)
        error = with_rounding(error, t, rounding)
        if second.end_time != first.end_time:
            error = with_divergence(error, found.magnitudes, (second.end_time, first.end_time))
        accurate = self.context.thresholds.max_solution_residual
        if self.relative_error(found, error) > accurate:
            error = with_lost_accuracy(error, found.magnitudes, accurate, first.end_time)
        return error

    def _conclude(self, first: Trajectory, found: Candidate) -> None:
        excess = self.relative_error(found, self.error)
        self.report(found, excess, t=first.end_time, windows=len(first.windows), cells=first.cells)
        if first.stopped is not None:
            limits = {TIME_LIMIT_REACHED: Status.TIME_LIMIT, OUT_OF_MEMORY: Status.MEMORY_LIMIT}
            self.status = limits.get(first.stopped, Status.INCOMPLETE)
            stopped = self.status is Status.INCOMPLETE
            why = reason_to_stop(self.context, first.end_time, first.stopped) if stopped else first.stopped
            self.notes["stopped"] = (first.end_time, why)
            return
        if excess <= self.context.tol:
            self.status = Status.TOLERANCE
            return
        if "rough" in self.notes:
            self.status = Status.INCOMPATIBLE_DATA
            return
        if self.discretization.is_exhausted:
            self.status = Status.NODE_LIMIT
            return
        assert self.tolerances is not None
        floor = min_tail_tolerance(self.context)
        if self.tolerances.spectral_tail <= floor or not math.isfinite(excess):
            self.status = Status.ROUNDING_LIMIT
            return
        most, aim = self.discretization.tightening
        share = min(most, aim * self.context.tol / excess)
        self.tolerances = Tolerances(
            self.tolerances.spectral_tail * share, self.tolerances.residual * share
        ).clipped_to_rounding(self.context)

    def _check(self, is_first: bool) -> ProgressCheck:
        """Return a function that stops the first or the second solution in time and reports its progress."""
        until = self._until(is_first)
        reported = 0

        def check(t: float, windows: int, cells: int) -> None:
            nonlocal reported
            self.budget.check(__name__, until)
            if windows >= reported + self.discretization.report_interval:
                reported = windows
                nodes = self.discretization.nodes_per_cell(self.context) * cells * windows
                self.budget.report(Progress(nodes, 0.0, None, self.budget.spent, t, windows, cells))

        return check

    def _until(self, is_first: bool) -> float | None:
        """Return the time at which the first or the second solution is stopped."""
        shares = (
            (WINDOW_STRATEGY.first_solution_time_share, 1.0)
            if is_first
            else (1.0, SCHEDULER.time_limit_factor)
        )
        return self.budget.time_at_share(*shares)

    def _deadline(self, is_first: bool) -> AbstractContextManager[None]:
        until = self._until(is_first)
        return deadline(lambda step: self.budget.check(step, until))

    def _integrate(self, integrator: EvolutionIntegrator) -> Trajectory | None:
        """Return the trajectory, up to the time limit or as far as memory suffices."""
        try:
            with self._deadline(True):
                found = integrator.run()
        except OutOfTimeError:
            partial = integrator.partial()
            return None if partial is None else replace(partial, stopped=TIME_LIMIT_REACHED)
        except MemoryError:
            partial = integrator.partial()
            if partial is None:
                raise
            return replace(partial, stopped=OUT_OF_MEMORY)
        except KeyboardInterrupt:
            clear_pending_interrupt()
            partial = integrator.partial()
            if partial is not None:
                self.best = self._validated(replace(partial, stopped="interrupted"), 0.0)
                self.notes["stopped"] = (partial.end_time, "it was interrupted there")
            raise
        self.notes.pop("rough", None)
        if integrator.nonsmooth_since is not None:
            self.notes["rough"] = integrator.nonsmooth_since
        self._note_layers(tuple(integrator.layers.items()))
        return found

    def _companion(self, integrator: EvolutionIntegrator, first: Trajectory) -> CompanionSolution | None:
        """Compute the companion solution; None if time or memory do not suffice."""
        try:
            with self._deadline(False):
                return integrator.companion(first, self._check(False))
        except OutOfTimeError:
            return None
        except MemoryError:
            if first.stopped == OUT_OF_MEMORY:
                return None
            raise
        except KeyboardInterrupt:
            clear_pending_interrupt()
            raise

    def _note_layers(self, layers: Layers) -> None:
        """Record the layers after incompatible initial data or after a switching time."""
        for note in ("layers", "promised"):
            self.notes.pop(note, None)
        if layers:
            self.notes["layers"] = layers
        e = self.context.evolution
        for began, since in layers:
            if e is not None and began == e.start:
                self.notes["promised"] = since

    def _validated(self, trajectory: Trajectory, seconds: float) -> Candidate:
        """Return the trajectory as a candidate, with its residuals at validation points it has reached."""
        context, e = self.context, trajectory.evolution
        space, w = trajectory.function()
        layers = self.notes.get("layers", ())
        points: dict[Region, PointSet] = {}
        initial_regions = {context.compiled.residuals[i].region for i in e.initial_conditions}
        for region, chosen in context.held_out.items():
            t = chosen.sites[0][:, e.axis]
            keep = reliable_times(t, trajectory, layers)
            if "promised" in self.notes and region in initial_regions:
                keep &= False
            points[region] = chosen.select(keep)
        X = self._comparison_points(trajectory, layers).all
        # At a switching time, equation and solution may belong to different sides.
        switched = np.array([level for axis, level in context.compiled.interfaces.planes if axis == e.axis])
        rounding = 1e-14 * abs(e.stop - e.start)
        X = X[(np.abs(X[:, e.axis, None] - switched) > rounding).all(axis=1)]
        X = X[:: _stride(X, trajectory, WINDOW_STRATEGY.max_evaluations)]
        narrow = context.narrow_data_points[
            reliable_times(context.narrow_data_points[:, e.axis], trajectory, layers)
        ]
        if len(narrow):
            # Points in narrow features of the data make up at least a third, however many other points there
            # are.
            X = np.concatenate([X, np.resize(narrow, (max(len(narrow), len(X) // 2), len(context.box)))])
        points[Interior()] = PointSet.inside(X)
        half = np.median(np.abs([x.stop - x.start for x in trajectory.windows]))
        box = context.box.copy()
        box[e.axis] = (0.0, half)
        norms_at_points, values = residuals_at(context.compiled, points, space, w, box)
        residuals = norms_by_name(norms_at_points)
        outcome = Outcome(w, 0.0, trajectory.newton_steps, Status.SOLVED)
        settings = {**self.discretization.settings, "windows": len(trajectory.windows)}
        return Candidate(space, outcome, residuals, values, seconds, settings)

    def _comparison_points(self, trajectory: Trajectory, layers: Layers = ()) -> ComparisonPoints:
        """Return points in every window and cell, outside ``layers``, at which two solutions are compared.

        The points of the L2 norm are those that the evolution has reached.
        """
        e, context = trajectory.evolution, self.context
        d = len(context.box)
        parts = []
        total = WINDOW_STRATEGY.points_per_function * sum(window.space.nodes for window in trajectory.windows)
        # Limit the points before they are generated; four times as many because some lie outside the domain.
        max_count = WINDOW_STRATEGY.max_evaluations // trajectory.max_functions_per_box
        share = WINDOW_STRATEGY.points_per_function / max(
            total / (4.0 * min(WINDOW_STRATEGY.max_points, max_count)), 1.0
        )
        fewest = WINDOW_STRATEGY.min_points_per_cell
        if d == 1:
            share, least = 0.0, WINDOW_STRATEGY.min_points_without_space
            fewest = max(fewest, least // len(trajectory.windows))
        for window in trajectory.windows:
            # The number of points is proportional to the number of functions. With its square root, the
            # largest spot of a Gray-Scott solution was missed and the estimate was 0.8 of the error.
            boxes = window.space.cell_boxes(context.box)
            count = max(fewest, int(share * window.space.nodes / len(boxes)))
            U, more = (
                fixed_halton(count, d, 7),
                fixed_halton(WINDOW_STRATEGY.corner_point_factor * count, d, 7),
            )
            for box in boxes:
                V = concentrate_at_corners(U, more, box, context.box, e.axis) if d > 2 else U
                X = box[:, 0] + (box[:, 1] - box[:, 0]) * V
                X[:, e.axis] = window.start + (window.stop - window.start) * V[:, e.axis]
                parts.append(X)
            parts[-1][-1, e.axis] = window.stop
        X = np.concatenate(parts)
        X = X[np.asarray(context.domain.contains(X), dtype=bool)]
        if len(X) > WINDOW_STRATEGY.max_points:
            X = np.concatenate(
                [X[:: len(X) // WINDOW_STRATEGY.max_points + 1], X[-1:]]
            )  # keeps the final time
        X = X[:: -_stride(X, trajectory, WINDOW_STRATEGY.max_evaluations)]  # starts at the final time
        t = context.comparison_points.even[:, e.axis]
        X = X[reliable_times(X[:, e.axis], trajectory, layers)]
        return ComparisonPoints(
            X, context.comparison_points.even[reliable_times(t, trajectory, layers)], e.axis
        )

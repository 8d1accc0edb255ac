"""Strategy for evolutions: integrate twice on different time windows and compare the two solutions."""

from __future__ import annotations

import math
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.budget import OutOfTimeError, Progress
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import SCHEDULER, WINDOW_STRATEGY
from pibls.adaptive.validation.estimate import (
    UNCHECKED,
    ComparisonPoints,
    ErrorEstimate,
    compare,
    norms_by_name,
)
from pibls.analysis.evolution import has_jumps_in_time
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
from pibls.time.data_monitor import reason_to_stop
from pibls.time.discretizations import AnyStepper, CollocationInSpace, TimeDiscretization
from pibls.time.trajectory import (
    OUT_OF_MEMORY,
    TIME_LIMIT_REACHED,
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
    return 1 + len(X) * _max_functions_per_box(trajectory) // entries


def _max_functions_per_box(trajectory: Trajectory) -> int:
    """Return the largest number of functions in one box of any window."""
    return max(x.space.nodes // x.boxes for x in trajectory.windows)


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
    """Radau collocation in time windows, with a spatial discretization in each of them."""

    is_conclusive = True  # longer windows do not reduce the rounding error of an evolution
    discretization: TimeDiscretization = field(default_factory=CollocationInSpace)
    """How one time window is discretized and solved."""
    tolerances: Tolerances | None = None
    _key: int = 0

    @property
    def applies(self) -> bool:
        """Whether the problem is an evolution without jumps in time, of a supported dimension."""
        context = self.context
        return (
            context.evolution is not None
            and not has_jumps_in_time(context.compiled, context.evolution)
            and self.discretization.supports(context)
        )

    def warm_start(self, found: Candidate | None) -> None:
        if found is not None and found.relative_residual < self.context.thresholds.max_solution_residual:
            self.discretization.expected_magnitudes = found.magnitudes

    def advance(self) -> None:
        context = self.context
        if self.tolerances is None:
            self.tolerances = self.discretization.initial_tolerances(context)
        began = time.perf_counter()
        with limit_blas_threads(1), np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            earlier = dict(self.notes)
            first = self._integrate(None)
            if first is None or not first.windows or self.discretization.has_failed(first):
                self.status = Status.STALLED
                return
            found = self._validated(first, time.perf_counter() - began)
            known = self.best, self.error, earlier
            self.best, self.error = found, UNCHECKED
            self.report(found, None, t=first.end_time, windows=len(first.windows), cells=first.cells)
            second = self._integrate(first)
            if second is not None and second.windows and second.end_time == first.end_time:
                self.error = self._estimated_error(first, found, second)
        self._conclude(first, found)
        self.restore_if_better(*known)

    def _estimated_error(self, first: Trajectory, found: Candidate, second: Trajectory) -> ErrorEstimate:
        """Return the error estimate outside the layers, with its history from the start."""
        context = self.context
        rounding = 4.0 * context.thresholds.rounding * len(first.windows)
        pair, unknowns = (found.function, second.function()), context.compiled.unknowns
        everywhere = compare(*pair, unknowns, self._comparison_points(first), rounding=rounding)
        layers = self.notes.get("layers", ())
        if not layers:
            return everywhere
        # The first resolved window may still carry the error of the layer, so longer layers are tried until
        # the
        # two solutions agree.
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

    def _integrate(self, before: Trajectory | None) -> Trajectory | None:
        """Return a solution, or the companion of one; None if there is none within the limits."""
        self._key += 1
        assert self.tolerances is not None
        until = self.budget.time_at_share(
            *(
                (WINDOW_STRATEGY.first_solution_time_share, 1.0)
                if before is None
                else (1.0, SCHEDULER.time_limit_factor)
            )
        )

        def check(t: float, windows: int, cells: int) -> None:
            self.budget.check(__name__, until)
            if windows > 0:
                nodes = self.discretization.nodes_per_cell(self.context) * cells
                self.budget.report(Progress(nodes, 0.0, None, self.budget.spent, t, windows, cells))

        stepper = self.discretization.stepper(self.context, self.tolerances, self._key, before, check)
        if stepper is None:
            return None
        limited = deadline(lambda step: self.budget.check(step, until))
        return (
            self._run(stepper, limited) if before is None else self._run_companion(stepper, before, limited)
        )

    def _run(self, stepper: AnyStepper, limited: AbstractContextManager[None]) -> Trajectory | None:
        """Return the trajectory, up to the time limit or as far as memory suffices."""
        try:
            with limited:
                found = stepper.run()
        except OutOfTimeError:
            partial = stepper.partial()
            return None if partial is None else replace(partial, stopped=TIME_LIMIT_REACHED)
        except MemoryError:
            partial = stepper.partial()
            if partial is None:
                raise
            return replace(partial, stopped=OUT_OF_MEMORY)
        except KeyboardInterrupt:
            clear_pending_interrupt()
            partial = stepper.partial()
            if partial is not None:
                self.best = self._validated(replace(partial, stopped="interrupted"), 0.0)
                self.notes["stopped"] = (partial.end_time, "it was interrupted there")
            raise
        self.notes.pop("rough", None)
        if stepper.nonsmooth_since is not None:
            self.notes["rough"] = stepper.nonsmooth_since
        self._note_layers(tuple(stepper.layers.items()))
        return found

    def _run_companion(
        self, stepper: AnyStepper, trajectory: Trajectory, limited: AbstractContextManager[None]
    ) -> Trajectory | None:
        """Return the companion solution; None if time or memory do not suffice."""
        try:
            with limited:
                return stepper.run_companion(trajectory)
        except OutOfTimeError:
            return None
        except MemoryError:
            if trajectory.stopped == OUT_OF_MEMORY:
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
        return Candidate(space, outcome, residuals, values, seconds, {"windows": len(trajectory.windows)})

    def _comparison_points(self, trajectory: Trajectory, layers: Layers = ()) -> ComparisonPoints:
        """Return points in every window and cell, outside ``layers``, at which two solutions are compared.

        The points of the L2 norm are those that the evolution has reached.
        """
        e, context = trajectory.evolution, self.context
        d = len(context.box)
        parts = []
        total = WINDOW_STRATEGY.points_per_function * sum(window.space.nodes for window in trajectory.windows)
        # Limit the points before they are generated; four times as many because some lie outside the domain.
        max_count = WINDOW_STRATEGY.max_evaluations // _max_functions_per_box(trajectory)
        share = WINDOW_STRATEGY.points_per_function / max(
            total / (4.0 * min(WINDOW_STRATEGY.max_points, max_count)), 1.0
        )
        for window in trajectory.windows:
            # The number of points is proportional to the number of functions. With its square root, the
            # largest
            # spot of a Gray-Scott solution was missed and the estimate was 0.8 of the error.
            boxes = window.space.cell_boxes(context.box)
            count = max(WINDOW_STRATEGY.min_points_per_cell, int(share * window.space.nodes / len(boxes)))
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

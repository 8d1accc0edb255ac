"""Strategy for ordinary differential equations: a trajectory, a companion solution, and their difference."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace

import numpy as np

from pibls.adaptive.budget import OutOfTimeError, Progress
from pibls.adaptive.candidate import Candidate
from pibls.adaptive.strategy import Strategy
from pibls.adaptive.thresholds import WINDOW_STRATEGY
from pibls.adaptive.validation.estimate import (
    UNCHECKED,
    ComparisonPoints,
    ErrorEstimate,
    combine_unknowns,
    compare,
    norms_by_name,
)
from pibls.arrays import Array
from pibls.assembly.points import PointSet
from pibls.assembly.scaled_residuals import residuals_at
from pibls.basis.cube_points import fixed_halton
from pibls.basis.polynomials.chebyshev import Chebyshev
from pibls.linalg.threads import limit_blas_threads
from pibls.nonlinear import Outcome
from pibls.problem import Interior, Region
from pibls.runtime.interruption import clear_pending_interrupt
from pibls.status import Status
from pibls.time.data_monitor import reason_to_stop
from pibls.time.ode.companion_solution import CompanionSolution, companion_solution
from pibls.time.ode.initial_values import impulses
from pibls.time.ode.integrator import ODEIntegrator, ODETrajectory
from pibls.time.ode.setup import ODESetup, ode_setup
from pibls.time.ode.singular_start import has_free_solutions
from pibls.time.thresholds import ODE
from pibls.time.trajectory import TIME_LIMIT_REACHED, Tolerances


@dataclass
class ODEStrategy(Strategy):
    """Radau collocation in time windows for ordinary differential equations."""

    is_conclusive = True  # longer windows do not reduce the rounding error of an evolution
    tolerances: Tolerances | None = None
    _setup: ODESetup | None = None
    _reported_windows: int = 0
    _setup_done: bool = field(default=False)

    @property
    def applies(self) -> bool:
        """Whether the problem is an initial value problem with as many equations as unknowns."""
        if not self._setup_done:
            self._setup_done = True
            self._setup = ode_setup(self.context.compiled, self.context.evolution)
        return self._setup is not None

    def advance(self) -> None:
        """Integrate, compute the companion solution, and estimate the error from their difference.

        Above the tolerance, the tolerances of the windows are tightened for the next call, down to rounding.
        """
        context = self.context
        if self.tolerances is None:
            tail, residual = (
                context.thresholds.max_ode_tail * context.tol,
                context.thresholds.max_window_residual * context.tol,
            )
            self.tolerances = Tolerances(tail, residual).clipped_to_rounding(context)
        began = time.perf_counter()
        with limit_blas_threads(1), np.errstate(all="ignore"):
            trajectory = self._integrate()
            if trajectory is None or not trajectory.windows:
                self.status = Status.STALLED
                return
            found = self._validated(trajectory, time.perf_counter() - began)
            known = self.best, self.error, dict(self.notes)
            self.best, self.error = found, UNCHECKED
            self._report(trajectory, found, None)
            assert self._setup is not None
            if has_free_solutions(trajectory, self._setup.collocation):
                self.status = Status.UNDETERMINED
                return
            second = self._companion(trajectory)
            if second is not None:
                where = self._comparison_points(trajectory, second.end_time)
                error = compare(found.function, second.function, context.compiled.unknowns, where)
                self.error = _with_rounding(error, second)
                if second.end_time != trajectory.end_time:
                    self.error = _with_divergence(
                        self.error, found.magnitudes, (second.end_time, trajectory.end_time)
                    )
            if self.relative_error(found, self.error) > context.thresholds.max_solution_residual:
                self.error = _with_lost_accuracy(
                    self.error,
                    found.magnitudes,
                    context.thresholds.max_solution_residual,
                    trajectory.end_time,
                )
        self._conclude(trajectory, found)
        self.restore_if_better(*known)

    def _conclude(self, trajectory: ODETrajectory, found: Candidate) -> None:
        excess = self.relative_error(found, self.error)
        self._report(trajectory, found, excess)
        if trajectory.stopped is not None:
            late = trajectory.stopped == TIME_LIMIT_REACHED
            why = (
                trajectory.stopped
                if late
                else reason_to_stop(self.context, trajectory.end_time, trajectory.stopped)
            )
            self.notes["stopped"] = (trajectory.end_time, why)
            self.status = Status.TIME_LIMIT if late else Status.INCOMPLETE
            return
        if excess <= self.context.tol:
            self.status = Status.TOLERANCE
            return
        assert self.tolerances is not None
        if self.tolerances.spectral_tail <= self.context.thresholds.window_rounding[0] or not math.isfinite(
            excess
        ):
            self.status = Status.ROUNDING_LIMIT
            return
        share = 0.1 * min(1.0, self.context.tol / excess)
        self.tolerances = Tolerances(
            self.tolerances.spectral_tail * share, self.tolerances.residual * share
        ).clipped_to_rounding(self.context)

    def _report(self, trajectory: ODETrajectory, found: Candidate, excess: float | None) -> None:
        self.report(found, excess, t=trajectory.end_time, windows=len(trajectory.windows), cells=1)

    def _integrate(self) -> ODETrajectory | None:
        assert self._setup is not None
        assert self.tolerances is not None
        self._reported_windows = 0
        context, collocation = self.context, self._setup.collocation
        e = context.evolution
        assert e is not None
        found_impulses = impulses(context.compiled, e, collocation.equations)
        data_extrema = context.narrow_data_points[:, 0]
        integrator = ODEIntegrator(
            e,
            collocation,
            self._setup.initial_values,
            self.tolerances,
            self._check,
            data_extrema,
            found_impulses,
        )
        try:
            return integrator.run()
        except OutOfTimeError:
            return integrator.partial(TIME_LIMIT_REACHED)
        except KeyboardInterrupt:
            clear_pending_interrupt()
            partial = integrator.partial("it was interrupted there")
            if partial is not None:
                self.best = self._validated(partial, 0.0)
                self.notes["stopped"] = (partial.end_time, partial.stopped)
            raise

    def _check(self, t: float, windows: int) -> None:
        self.budget.check()
        if windows >= self._reported_windows + ODE.report_interval:
            self._reported_windows = windows
            assert self._setup is not None
            nodes = self._setup.collocation.radau.size * windows
            self.budget.report(Progress(nodes, 0.0, None, self.budget.spent, t, windows, 1))

    def _companion(self, trajectory: ODETrajectory) -> CompanionSolution | None:
        assert self._setup is not None
        if trajectory.stopped == TIME_LIMIT_REACHED:
            return None
        switched = {level for _, level in self.context.compiled.interfaces.planes}
        return companion_solution(trajectory, self._setup.collocation, switched)

    def _validated(self, trajectory: ODETrajectory, seconds: float) -> Candidate:
        """Return the trajectory as a candidate, with its residuals at validation points it has reached."""
        context = self.context
        space, w = trajectory.function()
        low, high = space.edges[0], space.edges[-1]
        points: dict[Region, PointSet] = {}
        for region, chosen in context.held_out.items():
            t = chosen.sites[0][:, 0]
            keep = (t >= low) & (t <= high)
            points[region] = chosen.select(keep)
        X = np.concatenate(
            [
                self._comparison_points(trajectory).all,
                *(p.sites[0] for r, p in points.items() if r.is_interior),
            ]
        )
        # At a switching time, equation and solution may belong to different sides.
        switched = np.array([level for _, level in context.compiled.interfaces.planes])
        X = X[(np.abs(X - switched) > 1e-14 * (high - low)).all(axis=1)]
        points[Interior()] = PointSet((X,), np.zeros_like(X))
        half = float(np.median(np.diff(space.edges)))
        norms_at_points, values = residuals_at(context.compiled, points, space, w, np.array([[0.0, half]]))
        residuals = norms_by_name(norms_at_points)
        assert self._setup is not None
        settings = {
            "basis": Chebyshev(self._setup.collocation.radau.size),
            "windows": len(trajectory.windows),
        }
        outcome = Outcome(w, 0.0, trajectory.newton_steps, Status.SOLVED)
        return Candidate(space, outcome, residuals, values, seconds, settings)

    def _comparison_points(self, trajectory: ODETrajectory, until: float | None = None) -> ComparisonPoints:
        """Return points in every window, up to ``until``, at which two solutions are compared."""
        edges = trajectory.edges
        U = fixed_halton(
            max(WINDOW_STRATEGY.min_points_per_cell, ODE.min_comparison_points // (len(edges) - 1)), 1, 7
        )[:, 0].copy()
        U[-1] = 1.0
        X = (edges[:-1, None] + np.diff(edges)[:, None] * U).reshape(-1, 1)
        if len(X) > WINDOW_STRATEGY.max_points:
            X = X[:: len(X) // WINDOW_STRATEGY.max_points + 1]
        low, high = min(edges[0], edges[-1]), max(edges[0], edges[-1])
        X = np.clip(X, low, high)
        if until is not None:
            low, high = min(edges[0], until), max(edges[0], until)
        X, even = (A[(A[:, 0] >= low) & (A[:, 0] <= high)] for A in (X, self.context.comparison_points.even))
        return ComparisonPoints(X, even, 0)


def _with_rounding(error: ErrorEstimate, second: CompanionSolution) -> ErrorEstimate:
    """Add the rounding error to the estimate: both solutions may deviate alike by chance."""
    by = ODE.rounding_deviations
    each = [
        e.with_history(
            zip((t for t, _ in e.history), _added_over_time(e.history, second.t, by * r), strict=True),
            l2=e.l2 + by * float(np.sqrt(np.mean(r**2))),
        )
        for e, r in zip(error.each, second.rounding, strict=True)
    ]
    return replace(combine_unknowns(each), pair=error.pair)


def _added_over_time(history: tuple[tuple[float, float], ...], t: Array, more: Array) -> list[float]:
    """Return the errors of a history increased by the largest of ``more`` (at times t) near each time."""
    times, errors = np.array(history).T
    order = np.argsort(t)
    out = errors + np.interp(times, t[order], more[order])
    # The end of a window between two times counts for both.
    position = np.searchsorted(times, t)
    for k in (np.maximum(position - 1, 0), np.minimum(position, len(times) - 1)):
        np.maximum.at(out, k, errors[k] + more)
    return [float(e) for e in out]


def _with_lost_accuracy(error: ErrorEstimate, sizes: Array, fits: float, until: float) -> ErrorEstimate:
    """Set the error to the magnitude of the solution from the time on at which all accuracy is lost.

    That is the first time at which the error of an unknown exceeds ``fits`` of its magnitude; from there on,
    two solutions may agree by chance.
    """
    if not error.each:
        return error
    lost = [t for e, size in zip(error.each, sizes, strict=True) for t, d in e.history if d > fits * size]
    since = min(lost, key=lambda t: -abs(t - until), default=until)
    each = [
        e.with_history(
            (t, max(d, 2.0 * float(size)) if abs(t - until) <= abs(since - until) else d)
            for t, d in e.history
        )
        for e, size in zip(error.each, sizes, strict=True)
    ]
    return replace(combine_unknowns(each), pair=error.pair)


def _with_divergence(error: ErrorEstimate, sizes: Array, times: tuple[float, ...]) -> ErrorEstimate:
    """Set the error to the magnitude of the solution at the times after two solutions have diverged."""
    each = []
    for e, size in zip(error.each, sizes, strict=True):
        most = max(e.max, 2.0 * float(size))
        each.append(e.with_history(sorted((*e.history, *((t, most) for t in times))), l2=most))
    return replace(combine_unknowns(each), pair=error.pair)

"""Companion solution of an evolution: integrated once more on other windows, for the error estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from pibls.arrays import Array
from pibls.spaces import TimeWindows
from pibls.time.interval import TimeInterval
from pibls.time.trajectory import ProgressCheck, Trajectory, Window, WindowFailedError

StateT = TypeVar("StateT")
ResolutionT = TypeVar("ResolutionT")


@dataclass(frozen=True)
class CompanionSolution:
    """Second solution of an evolution."""

    function: tuple[TimeWindows, Array]
    end_time: float
    """Final time of the first solution, or the time at which the two diverge."""
    rounding: tuple[Array, Array] | None = None
    """Times, and standard deviations of the unknowns due to rounding (unknowns, times)."""


def integrate_companion(
    trajectory: Trajectory,
    time_interval: TimeInterval,
    windows: Iterable[tuple[float, float, ResolutionT]],
    solve: Callable[[StateT | None, float, float, ResolutionT], tuple[Window, StateT]],
    check: ProgressCheck,
) -> CompanionSolution | None:
    """Solve prescribed windows (start, stop, resolution) one after another; halve one that fails.

    ``solve`` starts from the initial data if there is no state.
    """
    done: list[Window] = []
    state: StateT | None = None
    for t, stop, chosen in windows:
        ends = [stop]
        while ends:
            try:
                window, state = solve(state, t, ends[-1], chosen)
            except WindowFailedError:
                if time_interval.window_end(t, 0.5 * abs(ends[-1] - t)) is None:
                    return None
                ends.append(0.5 * (t + ends[-1]))
                continue
            done.append(window)
            t = ends.pop()
            check(t, 0, window.boxes)
    second = Trajectory(tuple(done), trajectory.evolution, trajectory.stopped)
    return CompanionSolution(second.function(), second.end_time) if done else None


def staggered_windows(
    trajectory: Trajectory,
    chosen: Sequence[ResolutionT],
    switch_times: Iterable[float],
    size: Callable[[ResolutionT], Any],
) -> Iterator[tuple[float, float, ResolutionT]]:
    """Yield (start, stop, resolution) of windows from the middle of one window to the middle of the next.

    They end at switching times. Of the two resolutions they take the one of larger ``size``.
    """
    ends, group, resolutions = {*switch_times, trajectory.end_time}, [], []
    for window, resolution in zip(trajectory.windows, chosen, strict=True):
        group.append(window)
        resolutions.append(resolution)
        if window.stop not in ends:
            continue
        edges = [group[0].start, *(0.5 * (x.start + x.stop) for x in group), window.stop]
        if len(group) == 1:
            edges[1] = 0.55 * window.start + 0.45 * window.stop
        pairs = zip([resolutions[0], *resolutions], [*resolutions, resolutions[-1]], strict=True)
        yield from zip(edges[:-1], edges[1:], (max(p, key=size) for p in pairs), strict=True)
        group, resolutions = [], []

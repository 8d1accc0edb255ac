"""Thresholds of the strategy for evolutions; those of the integration itself are in `time.thresholds`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WindowStrategyThresholds:
    """Time budget and comparison points of the strategy for evolutions (`evolutions.strategy`)."""

    first_solution_time_share: float = 0.6
    """Fraction of the remaining time after which the first solution is stopped: the companion solution takes
    about as long, and without it there is no error estimate."""
    min_points_per_cell: int = 6
    """Comparison points in each window and cell, at least."""
    min_points_without_space: int = 256
    """Comparison points of an ordinary differential equation, at least."""
    points_per_function: float = 0.4
    """Comparison points per function."""
    max_points: int = 20_000
    """Comparison points in all windows, at most."""
    corner_digits: float = 4.0
    """Half of the points of a box are graded towards a singular corner, down to 10^-this of its size. Without
    them, the estimate for u_t = Δu + 1 on a square was 0.8 of the error."""
    corner_point_factor: int = 8
    """Points of a box at a corner over those of other boxes: with as many as elsewhere, that estimate was 1.1
    of the error."""
    max_evaluations: int = 1_000_000_000
    """Comparison points times functions of a window, at most: 20,000 points took 1.5 s for a spark in a cube
    whose windows took 0.7 s."""
    layer_extension_factors: tuple[float, ...] = (1.0, 4.0, 20.0, 100.0, 1e3, 1e4)
    """Factors by which a layer is extended until the two solutions agree after it."""


WINDOW_STRATEGY = WindowStrategyThresholds()

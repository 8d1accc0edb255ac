"""Thresholds of the strategy table: point counts, initial guesses and sweeps."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SchedulerThresholds:
    """Thresholds of `adaptive.strategies` and `adaptive.scheduler`."""

    cheap_columns: int = 512
    """Columns up to which a dense system is solved faster than tensor products or time windows are begun: 512
    random features take 0.065 s in 2D."""
    fallback_nodes: int = 64
    """Functions per unknown in the fallback solve, and …"""
    fallback_steps: int = 4
    """… its Newton steps."""
    unstable_nodes: int = 512
    """Random features that may find a solution of an ill-posed evolution nevertheless."""
    report_interval: float = 2.0
    """Seconds: a candidate that takes longer, and longer than everything before it, is announced to the
    callback; and the callback is called at least this often."""
    time_limit_factor: float = 1.15
    """A candidate, or a step of one, that is expected to end after this multiple of the time limit is not
    started. For a cavity with 3,800 functions a step takes 5 s."""
    min_duration_share: float = 0.5
    """Of the predicted duration: a candidate may take as little as this. The second refinement of an extruded
    disc was predicted to take 4.2 s after a first one of 0.3 s, and takes 1.9 s."""
    repeated_minima: int = 3
    """Number of spaces in which Newton's method must end at one local minimum of the residual before
    NO_SOLUTION is reported: u'' + 4eᵘ = 0 has 0.10477570 with 32 and with 128 functions, and 0.104776 in 8
    cells."""
    max_rounds: int = 40
    """Refinements of one strategy."""


SCHEDULER = SchedulerThresholds()


@dataclass(frozen=True)
class ValidationThresholds:
    """Numbers of validation points (`adaptive.validation.context`)."""

    held_out: dict[int, int] = field(default_factory=lambda: {1: 160, 2: 320, 3: 600})
    """Held-out points, by dimension."""
    scan_points: int = 10_000
    """Points at which the data are scanned for narrow extremes."""
    points_per_extreme: int = 24
    """Validation points added at a narrow extreme of the data."""
    end_time_stride: int = 3
    """Every such comparison point is repeated at the final time."""


VALIDATION = ValidationThresholds()


@dataclass(frozen=True)
class PointCountThresholds:
    """Numbers of collocation points (`adaptive.point_counts`)."""

    unresolved_density: float = 3.0
    """Interior points per function while the solution is not resolved."""
    singular_boundary_factor: int = 2
    """Factor of the number of boundary points for functions that are singular on the boundary: on half of the
    points the powers fit (residuals of 1e-9), and between them they do not (1e-6)."""
    max_uniform_dimension: int = 3
    """Dimensions; in higher ones there are …"""
    max_face_density: float = 3.0
    """… at most this many points on all faces together per function: the rule of a square would put 25,000
    of them on the faces of a cube in ten dimensions with 900 functions."""


POINT_COUNTS = PointCountThresholds()


@dataclass(frozen=True)
class FeatureFamilyThresholds:
    """Distribution of random features over coordinates (`adaptive.random_features.family`)."""

    low_share: float = 0.6
    """Of the nodes, in four dimensions and more, for functions of one or two coordinates, and …"""
    other_shares: tuple[float, ...] = (0.3,)
    """… the alternatives: exp(-|x|²/4) in five dimensions has an error of 25e-6 with 0.6 of 1200 functions,
    2e-6 with 0.3 (and 55e-6 with none)."""
    growth_per_coordinate: float = 2.5
    """Factor of the number of functions for each further coordinate of a group of coupled coordinates."""
    full_dimension_share: float = 0.05
    """Share of functions of all coordinates, where the data couple few of them."""
    sample_points: int = 64
    """Points at which the data are tested for coupling."""


FEATURE_FAMILY = FeatureFamilyThresholds()


@dataclass(frozen=True)
class InitialGuessThresholds:
    """Initial guess of a nonlinear problem (`adaptive.initial_guess.guess_sequence`)."""

    condition_weight: float = 1e3
    """Weight of the conditions relative to smoothness."""
    relative_cutoff: float = 1e-9
    """Relative to the largest singular value: smaller ones are dropped from an initial guess."""
    max_columns: int = 300
    """Columns up to which several initial guesses are tried; beyond that each takes too long."""
    max_unresolved_residual: float = 0.05
    """Relative to the residual of zero: a stalled Newton iteration below this, with singular functions or in
    the first cells, is limited by the resolution and not by the initial guess."""


INITIAL_GUESS = InitialGuessThresholds()


@dataclass(frozen=True)
class SweepThresholds:
    """Reuse of solutions for other parameter values (`adaptive.sweeps`)."""

    max_rank_share: float = 0.25
    """Of the number of problems: up to this rank of the data, superposition is used. 100 loads on a square,
    whose corners prevent a shared basis, took 1.1 times as long together as separately, now 0.01."""
    max_snapshots: int = 60
    """Snapshots that are stored, and …"""
    combined_snapshots: int = 16
    """… the number of them that is combined."""
    max_steps: int = 12
    """Newton steps in the space of snapshots."""
    step_tolerance: float = 1e-13
    """Relative to the data: change of the residual in a step at which the iteration ends."""
    relative_cutoff: float = 1e-14
    """Singular values that count as zero: many snapshots are nearly dependent."""


SWEEPS = SweepThresholds()

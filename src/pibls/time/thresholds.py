"""Thresholds of the time integration of evolutions by windows."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class TimeSteppingThresholds:
    """Thresholds of the integrator and of the step control (`time.integrator`, `time.step_control`).

    Lengths are fractions of the duration. Where no measurement is given, half and double the value made no
    difference on the problem lists of `benchmarks`.
    """

    min_relative_length: float = 1e-12
    """Smallest length of a window or of a cell."""
    scan_points: int = 10_000
    """Points at which data are sampled over time or over an interval."""
    first_length: float = 0.02
    """Length of the first window that is tried."""
    safety_factor: float = 0.85
    """Factor of the length predicted from the spectral tail."""
    failure_reduction: float = 0.4
    """Factor of the length if the equations of a window cannot be solved."""
    reduction_range: tuple[float, float] = (0.1, 0.7)
    """Smallest factor of the length of a rejected window, and largest one if it needs new matrix factors."""
    rounding_test_reduction: float = 0.05
    """Factor of the length with which an error of an ordinary differential equation is tested for being
    rounding."""
    max_rounding_error: tuple[float, float] = (1e-6, 1e-11)
    """Largest error that may be taken for rounding: in general, and where data may be incompatible."""
    min_layer_length_ratio: float = 0.2
    """Shortest window in a layer over the time since its start."""
    max_growth: float = 3.0
    """Largest ratio of the lengths of two consecutive windows."""
    min_worthwhile_growth: float = 1.25
    """Ratio of lengths above which a longer window is worth a new factorization."""
    max_relaxation: float = 1e5
    """Largest factor by which tolerances are relaxed for rounding."""
    spatial_term_weight: float = 0.1
    """Weight of terms with spatial derivatives in the scale of a residual; rounding is below it."""
    incompatibility_limit: tuple[float, float] = (10.0, 1e-9)
    """Mismatch of initial and boundary data above which a layer forms: in units of the tail tolerance, and at
    least."""
    derivative_uncertainty: tuple[float, float] = (3.0, 3e-11)
    """Uncertainty of initial derivatives: in units of the spectral tail, and at most. u_xxx = 0 at the end of
    a beam is off by 4e-9 with 24 polynomials that represent the data to sixteen digits."""
    relative_rounding: float = 3e-14
    """Rounding error of an unknown relative to the terms of its equation times the time since the start. For
    a Kelvin wave along a coast, whose second velocity is zero, v = 4e-16 was refined without end."""
    min_residual: float = 3e-12
    """Smallest useful tolerance for residuals relative to their terms."""
    newton_tail_fraction: tuple[float, float] = (1e-3, 1e-5)
    """Tolerance of Newton's method over the tail tolerance: in general, and on a box, except with Krylov
    iterations for first-order time derivatives. A breather over ten periods had an error of 3e-5 at 1e-3,
    4e-7 at 1e-4 and 8e-8 at 1e-5, where the truncation error in time dominates."""
    max_newton_steps: int = 36
    """Large, because steps with one small matrix per Fourier mode cost little."""
    max_rounding_tail: float = 1e-8
    """An initial spectral tail below this that no longer decreases is rounding. Around a hole it ends at
    1e-10; the modes of a beam, differences of cosh 11, had 280 cells."""
    min_magnitude: float = 1e-150
    """Smallest scale of an unknown, in any unit. An unknown that starts at zero and is driven by exp(-((t -
    a)/w)²) has no digits at 1e-320, and no window was short enough for it; the fallback took six times as
    long."""
    attempts_before_layer: int = 4
    """Rejected first windows after which the initial data are treated as incompatible though their values
    match: for 1 - r² in a cooling disc, six take 15 s, four 10 s."""


TIME_STEPPING = TimeSteppingThresholds()


@dataclass(frozen=True)
class ODEThresholds:
    """Thresholds of the integration of ordinary differential equations (`time.ode`)."""

    probe_length: float = 1e-6
    """Length, as a fraction of the duration, of the window that measures the time scales of the solution."""
    first_length_fraction: float = 0.3
    """First window of a nonlinear equation over the shortest time scale."""
    tail_start_fraction: float = 0.75
    """Fraction of the coefficients after which they count as the spectral tail."""
    min_reciprocal_condition: float = 1e-12
    """Initial conditions whose matrix has a smaller reciprocal condition number do not determine initial
    values: four of sixteen digits would be left."""
    tail_slack: float = 10.0
    """Accepted tail over the one aimed at; without slack, eight test problems took 15 % longer."""
    # -- equations that are singular at the start --
    max_singular_value_ratio: float = 1e-6
    """Smallest singular value of the matrix of the highest derivatives at the start over that after the first
    window, below which the start is singular."""
    start_halvings: tuple[int, int] = (30, 15)
    """Halvings of the first window between which the growth of a perturbation is measured."""
    min_perturbation_growth: float = 2.0
    """Growth above which the solution is not unique: a free t^λ grows by 2^(15 (λ - m + 1)), others by 1 +
    3e-5."""
    # -- strategy and companion solution --
    many_unknowns: int = 5
    """Number of unknowns from which fewer points are cheaper: the cost of a window is cubic in both."""
    collocation_points: tuple[int, int] = (32, 24)
    """Points of a window, for few and for many unknowns."""
    rounding_deviations: float = 3.0
    """Standard deviations of the rounding error added to the difference of two solutions. With 2, the
    estimate for the Lorenz equations was 0.97 of the error on one processor."""
    report_interval: int = 16
    """Number of windows between two progress reports."""
    companion_newton_steps: int = 6
    """Largest number of Newton steps for the companion solution."""
    companion_change_tolerance: float = 1e-7
    """Relative change at which Newton's method stops: its square is below rounding."""
    rounding_per_window: float = 2.0 * 2.2e-16
    """Relative rounding error of the state passed from window to window, as measured on Kepler orbits."""
    companion_points_fraction: float = 0.75
    """Points of a companion window over those of the first solution."""


ODE = ODEThresholds()


@dataclass(frozen=True)
class CollocationThresholds:
    """Thresholds of time stepping with collocation in space (`time.box`).

    Lengths are fractions of the duration or of the domain. Where no measurement is given, half and double the
    value made no difference on the problem lists of `benchmarks`.
    """

    # -- resolutions --
    first_fourier_functions: int = 21
    """First number of functions of a periodic interval."""
    first_product_functions: tuple[int, int] = (12, 13)
    """First number of functions per coordinate in several dimensions, without and with periodicity."""
    max_fourier_functions: int = 525
    """Largest number of functions of a periodic interval."""
    max_dense_functions: int = 900
    """Largest number of functions in several dimensions (all unknowns together: 1.5 times this), and of
    columns up to which Fourier modes use one common matrix if separate ones do not converge."""
    max_seam_tail: float = 30.0
    """Largest tail, in tail tolerances, of initial data that may count as not exactly periodic."""
    min_seam_gain: float = 4.0
    """If 40 % more Fourier modes reduce the tail by less than this factor, the initial data are not exactly
    periodic. sech x on (-15, 15) leaves 8e-7; a hundred more modes left a third of it, in four times the
    windows."""
    max_separable_functions: dict[int, int] = field(default_factory=lambda: {2: 40_000, 3: 120_000})
    """Largest number of functions of all unknowns if the system is solved along each coordinate, by
    dimension."""
    layer_functions: dict[int, int] = field(default_factory=lambda: {2: 64, 3: 28})
    """Functions along a coordinate of a box with incompatible initial data, by dimension."""
    max_cells: int = 300
    layer_marking_fraction: float = 0.05
    """Cells with a tail above this fraction of the largest are divided at incompatible initial data."""
    layer_grading_levels: int = 3
    """Number of divisions towards the boundary at once."""
    merge_tail_fraction: float = 0.1
    """Cells whose tail, at twice the length, is below this fraction of the tolerance are merged."""

    # -- initial data --
    initial_tail_fraction: tuple[float, float] = (1e-3, 0.03)
    """Tail of the initial data over the tail tolerance, on an interval and in several dimensions; undamped
    waves keep this error. A rotating cloud has 78 polynomials along each axis instead of 97."""
    max_initial_refinements: int = 14
    """Refinements of the initial data, at most: a jump at an unknown place is never resolved."""
    layer_first_length: tuple[float, float] = (1e-7, 1e-11)
    """First window after incompatible data, for a single cell and for many cells."""
    max_layer_fraction: tuple[float, float] = (0.1, 1e-4)
    """Longest layer of unresolved windows without error estimate, for a single cell and for many cells."""

    # -- propagating discontinuities of derivatives --
    undamped_rate: float = 10.0
    """Short waves whose phase changes by more than this over the duration, and that decay by less, are
    undamped."""
    nonsmooth_cells: int = 16
    """Number of cells for nonsmooth solutions; the companion solution has twice as many."""
    nonsmooth_time_tail_fraction: float = 0.03
    """Tail in time over the tail in space."""
    max_nonsmooth_windows: int = 120
    """Number of windows below which the tail in time is enforced. A plucked string has an error of 2e-3 over
    a period, in 1 s."""

    # -- one window --
    max_contraction: float = 0.5
    """Ratio of Newton steps above which the Jacobian is recomputed."""
    max_krylov_steps: int = 60
    min_krylov_tolerance: tuple[float, float] = (1e-3, 1e-11)
    """Smallest relative tolerance of the Krylov iteration, for nonlinear and for linear equations."""
    max_krylov_residual: float = 0.3
    """Relative residual above which the Krylov iteration has failed; a shorter window is closer to the
    identity."""


COLLOCATION = CollocationThresholds()


@dataclass(frozen=True)
class GalerkinThresholds:
    """Thresholds of time stepping with a Galerkin method in space (`time.shape`)."""

    # -- functions --
    first_degree: int = 8
    degree_growth: float = 1.25
    """Ratio of consecutive degrees; each costs four times as much as the last."""
    companion_degree_ratio: dict[int, float] = field(default_factory=lambda: {3: 1.15, 4: 1.0})
    """Degree of the companion solution over the first, plus two, by the number of coordinates."""
    max_columns: int = 2000
    """Largest number of functions of all unknowns; their factorization takes about ten seconds."""
    max_corner_power: float = 14.0
    """Highest power of corner functions. The first mode of an L-shape has an error of 3e-6 at degree 20 and
    2e-8 at 28, both with powers up to 12 and up to 16."""
    max_first_corner_power: float = 4.0
    """Corners whose lowest noninteger power is higher are resolved by polynomials alone."""
    dependence_tolerance: float = 1e-10
    """Relative remainder below which a function is dependent on others. Rounding over it is the deviation
    from orthonormality, for which 1e-6 suffices."""

    # -- points --
    extra_quadrature_nodes: dict[int, int] = field(default_factory=lambda: {3: 8, 4: 2})
    """Nodes of a quadrature rule per direction beyond the degree, by the number of coordinates."""
    min_points_per_function: float = 1.5
    """Interior points per function, at least."""
    boundary_rank_tolerance: float = 1e-2
    """Boundary functionals below this fraction of the largest are left to the equations. At 1e-5, the
    boundary residual of a spline comes back 100 times larger in the interior; at 1e-1, waves at the boundary
    grow by 1 % per unit of time; at 1e-2, errors are those of the best approximation and nothing grows."""

    # -- windows --
    initial_tail_fraction: float = 0.3
    """Tail of the initial data over the tail tolerance."""
    residual_tolerance_factor: float = 30.0
    """Tolerance of the residual between the points in units of tol; the companion solution decides."""
    layer_first_length: float = 2e-4
    """First window after incompatible data as a fraction of the duration; the next are as long as the time
    since the start."""
    layer_columns: int = 650
    """Number of functions for incompatible data: the more, the sooner they are resolved. A disc at 1 whose
    boundary value jumps to 0 is resolved, with 630 functions, from 1.3 % of the duration on."""


GALERKIN = GalerkinThresholds()


@dataclass(frozen=True)
class TimeDiscretizationThresholds:
    """Size of the time discretizations (`time.discretizations`)."""

    functions_per_cell: dict[bool, int] = field(default_factory=lambda: {False: 20, True: 24})
    """Functions of a cell of an interval, for a loose and a tight tolerance."""
    collocation_times: dict[bool, int] = field(default_factory=lambda: {False: 8, True: 10})
    """Collocation times of a window, for a loose and a tight tolerance."""
    many_collocation_times: int = 12
    """Collocation times of a window if matrix factors are reused for long: for linear evolutions, or with one
    small matrix per Fourier mode. A wave up to t = 10 takes 27 windows instead of 95, a breather over ten
    periods 73 instead of 149."""
    min_progress: float = 1e-3
    """Fraction of the duration that must be reached for a partial trajectory to be useful."""
    tail_fraction: float = 0.03
    """Tail tolerance over tol: a third of it costs a tenth more windows, a second run twice as many."""


TIME_DISCRETIZATIONS = TimeDiscretizationThresholds()

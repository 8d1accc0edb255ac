"""Thresholds of acceptance: when a function is a solution, and when a strategy is given up for another."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Thresholds:
    """Thresholds shared by all strategies."""

    # -- error estimate --
    companion_scale: float = 0.85
    """Scale of the companion solution. Two draws at one scale span nearly the same band-limited space and
    share their truncation error: estimate/error was 0.03 to 2.3 at one scale, 0.21 to 3.6 at this one."""
    safety_factor: float = 4.0
    """The estimate is this multiple of the difference of two solutions (705 runs: 100 % held, median 8)."""
    condition_error_factor: float = 2.0
    """The estimate is at least this multiple of the residual of a condition that gives values, which is the
    error itself at the points where it is evaluated (r^(5/2) in a corner: up to 1.4 times as much between);
    and of Σ|∂u/∂rᵢ| ε|terms|, the effect of rounding in the equations: near a resonance, missed by 0.1 to
    1e-6, that was 1.5 to 9.5 of the error, while two solutions agreed to 0.06 of it; in well-posed problems
    it is 2e-16 to 1e-14."""
    min_safe_stability: float = 1e-2
    """Stability constant above which the effect of rounding is not computed (TC-1 to TC-11: 1e-2 to 0.2)."""
    rounding: float = 8.0 * 2.2e-16
    """Smallest estimate relative to max|u|: two solutions may agree by chance to the last digit."""
    max_resolved_residual: float = 1e-6
    """Relative residual up to which equations hold: two functions that agree while they do not are two local
    minima. Raised to 10 tol for loose tolerances."""
    max_solution_residual: float = 0.1
    """A function with a larger residual is no solution, even if the residual decreases: relative to its
    terms, or to the data where the solution is unbounded; and an estimate of this fraction of max|u| means
    that nothing was found."""
    min_solution_difference: float = 1e-3
    """Two functions that both solve the equations and differ by more are two solutions."""
    min_stability: float = 1e-6
    """With a smaller stability constant (`adaptive.validation.conditioning`) the problem may be
    under-determined: well-posed problems had 4e-4 and more, a resonance missed by 1e-4 had 6e-7 to 6e-9, a
    missing condition 1e-9 to 1e-18."""
    zero_stability: float = 1e-13
    """A smaller stability constant is rounding: the problem is under-determined."""
    max_stability_decay: float = 0.1
    """Decrease of the stability constant at twice the width, beyond R^-m of an equation of order m, where a
    condition is missing (8e-3 and less, 2e-3 for the heat equation without an initial condition); resonances
    missed by 1e-2 to 1e-6 and an eigenfrequency of a cantilever have 0.4 to 15."""
    min_contradiction_residual: float = 1e-4
    """Relative residual above which, if nothing changes any more, conditions contradict each other."""
    max_unchanged: float = 0.05
    """Relative change of the residual and of the solution that counts as none."""
    near_tolerance_factor: float = 30.0
    """An estimate up to this multiple of the tolerance is worth one more refinement, however slow the
    convergence: in five dimensions 1,300 random features had an estimate of 2.7e-5 for a tolerance of 1e-5,
    and were the last."""

    # -- one basis --
    loose_tol: float = 1e-5
    """Tolerance that fewer functions meet, mostly at the first width: 112 of them leave 1e-8 to 3e-5 in four
    of TC-4 to TC-8, and tol = 1e-4 takes 0.24 to 0.45 of the time of 1e-10."""
    tight_tol: float = 1e-7
    """Tolerance below which cells and time windows have more functions from the start."""
    first_width_residual: tuple[float, float] = (0.03, 0.5)
    """Residual, relative to a tight and to a loose tol, at which the first width is compared at once."""
    max_flat_ratio: float = 0.5
    """A doubling that leaves more than this share of the residual gains nothing, and …"""
    rounding_residual: float = 1e-9
    """… below this relative residual, or estimate, that means rounding."""
    max_slow_ratio: float = 0.15
    """A doubling that leaves more than this share calls for another strategy (random features on smooth
    problems leave 1e-3)."""
    max_anisotropy_ratio: float = 0.7
    """Another anisotropy of the random features must reduce the residual to this share to be used."""
    max_anisotropy_columns: int = 600
    """Columns up to which other anisotropies of the random features are tried."""
    max_start_residual: float = 0.3
    """Relative residual below which the last solution is a better initial guess than the data."""

    # -- points --
    dense_points_tol: float = 1e-11
    """Tolerance below which rounding errors are averaged out over more points."""
    unresolved_residual: float = 1e-2
    """Relative residual, or indicator of a cell, above which nothing is resolved yet: more points keep the
    functions from overfitting, and cells are divided before they get more functions."""
    narrow_data_ratio: float = 1.5
    """Data that are larger by this factor between the held-out points than at them are narrow."""

    # -- cells --
    max_cell_tail: float = 0.3
    """Relative to tol: last Chebyshev coefficients of a resolved cell."""
    min_axis_share: float = 0.1
    """An axis is divided where its spectral tail is at least this share of the largest."""
    min_cell_share: float = 0.02
    """Cells are divided whose indicator is at least this share of the largest."""

    min_relative_length: float = 1e-12
    """Relative to the domain along an axis: smallest length of a cell or interval, however thin a layer."""

    # -- time windows --
    max_ode_tail: float = 1e-4
    """Last coefficients of a window of an ordinary differential equation, relative to tol: errors add up over
    many windows. The next digit costs a tenth more of them, and a second run with a tighter tolerance twice
    as many."""
    max_window_residual: float = 3.0
    """Relative to tol: held-out residual, relative to its terms, of a window. Without it Van der Pol's
    equation passed with an error of 3e-4, with it 1e-16."""
    window_rounding: tuple[float, float] = (2e-15, 2e-13)
    """Smallest tolerance of a window of an ordinary and of a partial differential equation: a window of 32
    functions attains 1e-16; with 2e-13 a pendulum near its top ended with 2e-9 after 140 windows, now with
    5e-11."""


DEFAULT = Thresholds()


@dataclass(frozen=True)
class RandomFeatureThresholds:
    """Widths of a basis of random features (`adaptive.random_features.strategy`)."""

    initial_nodes: dict[int, int] = field(default_factory=lambda: {1: 32, 2: 128, 3: 256})
    """Functions of the first candidate, by dimension."""
    max_anisotropy_steps: int = 6
    """Anisotropies that are tried one after another."""
    cheap_nodes: int = 256
    """Functions up to which a doubling costs next to nothing, at least on a line."""
    min_extrapolation_digits: float = 3.0
    """Digits of the residual from which the required width is extrapolated."""
    safety_digits: float = 1.0
    """Digits below the tolerance that are aimed at."""
    min_spectral_digits: float = 0.5
    """Digits of the residual from which convergence is said to have begun."""
    min_growth: float = 1.3
    """Ratio of the next width to the last, at least."""
    work_exponent: float = 2.6
    """Exponent of the width in the duration of a candidate: a doubling takes about six times as long."""
    min_widths: int = 4
    """Widths to try with functions around holes and in layers, whatever the first ones gain."""
    initial_subdomain_nodes: int = 1024
    """Functions of the first candidate in all subdomains: of twenty polygons 128 each take 2 s; …"""
    min_subdomain_nodes: int = 72
    """… but at least this many in each."""
    max_wave_nodes: int = 1024
    """Functions at most that are spent on resolving homogeneous waves: 160 wavelengths across a line, 7
    across a square. Without it flow in a tube with rippled walls took 18 s instead of 0.4 s."""
    share_selection_widths: int = 2
    """Widths at which the share of functions of few coordinates is chosen."""


RANDOM_FEATURES = RandomFeatureThresholds()

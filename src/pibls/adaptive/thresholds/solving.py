"""What decides whether something is a solution, and when one way of solving is given up for another."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Thresholds:
    """What the search decides by."""

    # -- trust --
    other_scale: float = 0.85
    """The scale of the second solution. Two draws at one scale span nearly the same band-limited space and
    share their truncation error: estimate/error was 0.03 to 2.3 at one scale, 0.21 to 3.6 at this one."""
    safety: float = 4.0
    """The estimate is this many times the difference of two solutions (705 runs: 100 % held, median 8)."""
    misfit: float = 2.0
    """The estimate is at least this many times the residual of a condition that gives values, which is the
    error itself at the points that were looked at (r^(5/2) in a corner: up to 1.4 times as much between); and
    Σ|∂u/∂rᵢ| ε|terms|, what rounding in the equations does to the solution: beside a resonance, missed by 0.1
    to 1e-6, that was 1.5 to 9.5 of the error, while two solutions agreed to 0.06 of it; in well-posed
    problems it is 2e-16 to 1e-14."""
    firm: float = 1e-2
    """A stiffness above which that need not be asked (TC-1 to TC-11: 1e-2 to 0.2)."""
    rounding: float = 8.0 * 2.2e-16
    """The least estimate, relative to max|u|: two solutions may agree by chance to the last digit."""
    holds: float = 1e-6
    """A relative residual up to which equations hold: two functions that agree while they do not are two
    local minima. Raised to 10 tol for loose tolerances."""
    fits: float = 0.1
    """A residual that large is no solution, however it falls: of its terms, or of the data beside a runaway
    solution; and an estimate of that much of max|u| says that nothing was found."""
    different: float = 1e-3
    """Two functions that both solve the equations and differ by more are two solutions."""
    suspect: float = 1e-6
    """Where some function costs less than this, something may be undetermined: well-posed problems had 4e-4
    and more, a resonance missed by 1e-4 had 6e-7 to 6e-9, a missing condition 1e-9 to 1e-18."""
    soft: float = 1e-13
    """Less than this is rounding: nothing determines that function."""
    sinking: float = 0.1
    """How much less it costs at twice the width, beyond R^-m of an equation of order m, where a condition is
    missing (8e-3 and less, 2e-3 for the heat equation without a beginning); resonances missed by 1e-2 to
    1e-6 and a cantilever's tone have 0.4 to 15."""
    contradiction: float = 1e-4
    """A relative residual above which, if nothing changes any more, conditions contradict each other."""
    settled: float = 0.05
    """A change of the residual and of the solution, relative, that is none."""
    reach: float = 30.0
    """An estimate of that many tolerances is worth one more attempt, however slowly residuals fall: in five
    dimensions 1,300 waves had an estimate of 2.7e-5 where 1e-5 was wanted, and were the last."""

    # -- one basis --
    loose: float = 1e-5
    """A tolerance that fewer functions meet, mostly at the first width: 112 of them leave 1e-8 to 3e-5 in
    four of TC-4 to TC-8, and tol = 1e-4 takes 0.24 to 0.45 of the time of 1e-10."""
    tight: float = 1e-7
    """A tolerance below which cells and windows have more functions from the start."""
    at_once: tuple[float, float] = (0.03, 0.5)
    """A residual, in units of a tight and of a loose tol, at which the first width is confirmed at once."""
    flat: float = 0.5
    """A doubling that does not halve the residual gains nothing, and …"""
    small: float = 1e-9
    """… below this relative residual, or estimate, that means rounding."""
    slow: float = 0.15
    """A doubling that gains less than this asks for another way (waves on smooth problems gain 1e-3)."""
    gain: float = 0.7
    """Another stretch of the waves must be that much better to be worth a change."""
    searched: int = 600
    """Columns up to which other stretches of the waves are tried."""
    trust_start: float = 0.3
    """Relative residual below which the last solution is a better start than the problem's data."""

    # -- points --
    dense_below: float = 1e-11
    """Tolerance below which rounding errors are averaged out over more points."""
    rough: float = 1e-2
    """A relative residual, or an indicator of a cell, above which nothing was found yet: more points keep the
    functions from fitting the points alone, and cells are divided before they get more functions."""
    narrow: float = 1.5
    """A source that much larger between the held-out points than at them hides there."""

    # -- cells --
    cell_tail: float = 0.3
    """Chebyshev coefficients at the end of a cell's spectrum, in units of tol, that are small enough."""
    cell_axis: float = 0.1
    """An axis is divided where its tail is that share of the largest."""
    cell_share: float = 0.02
    """Cells are divided whose indicator is that share of the largest."""

    shortest: float = 1e-12
    """Of the domain along an axis: no cell and no piece is smaller, however thin a layer."""

    # -- windows --
    orbit_tail: float = 1e-4
    """The same for ordinary evolutions, in units of tol: errors add up over many windows. The next digit
    costs a tenth more of them, and a second run with a tighter demand twice as many."""
    window_residual: float = 3.0
    """Held-out residual next to its terms, in units of tol, that a window may have: without it Van der Pol's
    equation passed with an error of 3e-4, with it 1e-16."""
    window_floor: tuple[float, float] = (2e-15, 2e-13)
    """No window, on a line or in space, is asked for less than rounding leaves: a window of 32 waves has
    1e-16, and asked for 2e-13 a pendulum near its top ended with 2e-9 after 140 of them, now with 5e-11."""


DEFAULT = Thresholds()


@dataclass(frozen=True)
class WaveThresholds:
    """Widths of one basis of waves (`search.waves.plan`)."""

    first: dict[int, int] = field(default_factory=lambda: {1: 32, 2: 128, 3: 256})
    """Functions of the first attempt, by the number of coordinates."""
    moves: int = 6  # stretches of the waves that are tried one after another
    cheap: int = 256  # functions: up to there a doubling costs next to nothing, on a line at least
    sure: float = 3.0  # digits from which their number says how many more are needed
    spare: float = 1.0  # digits that are aimed at beyond the tolerance
    begun: float = 0.5  # digits at which convergence may be said to have begun
    least_growth: float = 1.3  # the next width over the last, at least
    growth: float = 6.0  # work of an attempt over that of one half as wide
    widths: int = 4  # with functions around holes and in layers: widths to try, whatever the first ones gain
    hope: float = 3.0  # times its own work: what is said to be left where nothing tells
    long: float = 200.0
    """What corners of a nonlinear system take, which cells divided towards them do far sooner."""
    together: int = 1024
    """Functions in all pieces to begin with: of twenty polygons 128 each take 2 s, …"""
    each: int = 72  # … but no fewer than that many
    rippled: int = 1024
    """Functions at most that are spent on waves that may be free: 160 across a line, 7 across a square.
    Without it flow in a tube whose walls ripple went on for 18 s instead of 0.4."""
    choosing: int = 2  # widths at which the share of functions of few coordinates is chosen


WAVES = WaveThresholds()

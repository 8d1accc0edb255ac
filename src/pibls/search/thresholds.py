"""Every number that the search decides by, in one place, each with what was measured for it.

All of them are relative and without unit. Those of the error estimate were calibrated
(benchmarks/calibration.py); the others say when a way of solving is given up for another, and cost time
when they are wrong, not trust.
"""

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
    error itself at the points that were looked at (r^(5/2) in a corner: up to 1.4 times as much between)."""
    conditioned: float = 2.0
    """The estimate is at least this many times Σ|∂u/∂rᵢ| ε|terms|, what rounding in the equations does to the
    solution: beside a resonance, missed by 0.1 to 1e-6, that was 1.5 to 9.5 of the error, while two solutions
    agreed to 0.06 of it; in well-posed problems it is 2e-16 to 1e-14."""
    firm: float = 1e-2
    """A stiffness above which that need not be asked (TC-1 to TC-11: 1e-2 to 0.2)."""
    rounding: float = 8.0 * 2.2e-16
    """The least estimate, relative to max|u|: two solutions may agree by chance to the last digit."""
    holds: float = 1e-6
    """A relative residual up to which equations hold: two functions that agree while they do not are two
    local minima. Raised to 10 tol for loose tolerances."""
    fits: float = 0.1
    """A residual that large is no solution, however it falls."""
    different: float = 1e-3
    """Two functions that both solve the equations and differ by more are two solutions."""
    suspect: float = 1e-6
    """Where some function costs less than this, something may be undetermined: well-posed problems had 4e-4
    and more, a resonance missed by 1e-4 had 6e-7 to 6e-9, a missing condition 1e-9 to 1e-18."""
    soft: float = 1e-13
    """Less than this is rounding: nothing determines that function."""
    sinking: float = 1e-2
    """How much less it costs at twice the width where a condition is missing (1e-4 and less for the heat
    equation without a beginning); a resonance loses a factor of ten, as well-posed problems do."""
    contradiction: float = 1e-4
    """A relative residual above which, if nothing changes any more, conditions contradict each other."""
    settled: float = 0.05
    """A change of the residual and of the solution, relative, that is none."""
    left_over: float = 0.1
    """The share of the data that a runaway solution leaves unexplained where they contradict each other."""
    lost: float = 0.1
    """An estimate of that much of max|u| says that nothing was found."""

    reach: float = 30.0
    """An estimate of that many tolerances is worth one more attempt, however slowly residuals fall: in five
    dimensions 1,300 waves had an estimate of 2.7e-5 where 1e-5 was wanted, and were the last."""

    # -- one basis --
    loose: float = 1e-5
    """A tolerance that fewer functions meet, mostly at the first width: 112 of them leave 1e-8 to 3e-5 in
    four of TC-4 to TC-8, and tol = 1e-4 takes 0.24 to 0.45 of the time of 1e-10."""
    at_once: tuple[float, float] = (0.03, 0.5)
    """A residual, in units of a tight and of a loose tol, at which the first width is confirmed at once."""
    flat: float = 0.5
    """A doubling that does not halve the residual gains nothing, and …"""
    small: float = 1e-9
    """… below this relative residual that means rounding."""
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
    rough_above: float = 1e-2
    """Relative residual above which more points keep the functions from fitting the points alone."""
    narrow: float = 1.5
    """A source that much larger between the held-out points than at them hides there."""

    # -- cells --
    cell_tail: float = 0.3
    """Chebyshev coefficients at the end of a cell's spectrum, in units of tol, that are small enough."""
    cell_axis: float = 0.1
    """An axis is divided where its tail is that share of the largest."""
    cell_share: float = 0.02
    """Cells are divided whose indicator is that share of the largest."""

    # -- windows --
    window_tail: tuple[float, float] = (1e-3, 0.005)
    """The same for windows on a line and in space, in units of tol: errors add up over many of them. On a
    line a tenth of it costs a tenth more windows, and a second run with a tighter demand twice as many."""
    orbit_tail: float = 1e-4
    """The same for ordinary evolutions: the next digit costs a tenth more windows, and a second run with a
    tighter demand twice as many."""
    window_residual: float = 3.0
    """Held-out residual next to its terms, in units of tol, that a window may have: without it Van der Pol's
    equation passed with an error of 3e-4, with it 1e-16."""
    window_floor: tuple[float, float] = (2e-15, 2e-13)
    """No window, on a line or in space, is asked for less than rounding leaves: a window of 32 waves has
    1e-16, and asked for 2e-13 a pendulum near its top ended with 2e-9 after 140 of them, now with 5e-11."""
    window_growth: float = 2.0
    """The longest of two windows in a row over the shorter one."""


DEFAULT = Thresholds()


@dataclass(frozen=True)
class MarchThresholds:
    """What every way of following an evolution (`search.march`) decides by: first values that served.

    Lengths are shares of the whole time. Where no measurement is named, half and double were not told apart
    on the lists of `benchmarks`.
    """

    first: float = 0.02
    """The first window that is tried."""
    tries: int = 80
    """Of one window."""
    shortest: float = 1e-14
    safe: float = 0.85
    """Of the length that the tail asks for."""
    growth: float = 3.0
    """The longest of two windows in a row over the shorter one."""
    longer: tuple[float, float] = (1.25, 2.0)
    """Times longer, a window is worth new factors: on a line, and in the plane, where they are expensive."""
    nothing: float = 1e-14
    """A tail that says nothing about how much smaller it would be."""
    hopeless: float = 1e5
    """More than was asked for, that much, is not rounding."""
    share: float = 0.1
    """Of what a derivative in space is where a function varies over a cell: rounding is below."""
    misfit: tuple[float, float] = (10.0, 1e-9)
    """A beginning that contradicts the sides by more, in tails or at least, has a layer."""


MARCH = MarchThresholds()


@dataclass(frozen=True)
class WindowThresholds:
    """What windows of waves (`search.windows`) decide by, where they differ from the others."""

    tries: int = 60
    shortest: float = 1e-13
    most_cells: int = 400
    held: dict[int, int] = field(default_factory=lambda: {1: 31, 2: 40, 3: 60})
    """Points of a cell at which the residual is looked at, by the number of coordinates."""
    extrapolated: int = 2
    """The degree in time by which Newton's method starts from the last window."""
    fading: float = 0.7
    """Of what earlier windows left unresolved, the next may leave again."""
    across: float = 4.0
    """Tails in space are looked at further from the end of the spectrum: they may be larger."""
    stubborn: int = 3
    """Divisions of the first window that gain nothing: its beginning contradicts the sides …"""
    patience: int = 8
    """… and after so many tries it is taken as it is."""
    open: float = 1e-5
    """Of the domain: a cell in which such a beginning is left open."""
    kept: float = 0.85
    """Of a window in space and time: at its very end nothing but the equation holds the functions. What is
    handed on from there grew by 2.5 from window to window for the wave equation, to 1e-6 after 25; from here
    it does not grow (7e-14)."""
    nothing: float = 3e-14
    """A tail that says nothing about how much smaller it would be."""
    worth: float = 1.6
    """Times longer, a window is worth new factors."""
    left: float = 1e-3
    """Of what is asked of a window's spectrum: what Newton's method may leave."""


WINDOWS = WindowThresholds()


@dataclass(frozen=True)
class OrbitThresholds:
    """What an ordinary evolution (`search.orbit`) decides by."""

    shortest: float = 1e-13
    first: float = 1e-6
    """Of the whole time: the window that shows how fast the solution is …"""
    careful: float = 0.3
    """… and of what it shows, the first window of a nonlinear equation."""
    tail_from: float = 0.75
    """Of the coefficients: from there on they are the tail."""
    spare: float = 10.0
    """Times the tail that is aimed at, a window may have."""
    failed: float = 0.4
    """Of its length, where Newton's method does not settle …"""
    failures: int = 2
    """… and so often, a window starts from constant derivatives."""
    rejected: tuple[float, float] = (0.2, 0.9)
    """Of its length, at least and at most, where a window is rejected …"""
    shrink: float = 0.5
    """… and at least after one that was accepted."""
    left: float = 1e-3
    """Of what is asked of the coefficients: what Newton's method may leave."""
    taylor: int = 3
    """Derivatives of the highest derivative that a window starts from."""
    probe: float = 0.05
    """Of its length: so much shorter is tried before what is left is called rounding …"""
    rounding: float = 1e-6
    """… which is less than that."""
    fading: float = 0.7
    """Of what earlier windows left unresolved, the next may leave again."""
    small: float = 1e-3
    """Of what is asked of the residual: it may be rounding, and says nothing about the length."""
    anyway: tuple[float, float] = (2.5, 1.5)
    """A spectrum that allows so much longer a window makes it so much longer."""


ORBITS = OrbitThresholds()


@dataclass(frozen=True)
class LineThresholds:
    """What an evolution in moments and points (`search.lines`) decides by: first values that served.

    Counts end a search that gains nothing; lengths are shares of the whole time or of the domain. Where no
    measurement is named, half and double were not told apart on the lists of `benchmarks`.
    """

    # -- resolutions --
    waves_first: int = 21
    """Functions of a periodic coordinate at first …"""
    product_first: tuple[int, int] = (12, 13)
    """… and in the plane along each coordinate, without and with a period."""
    most_waves: int = 525
    """Functions of a periodic coordinate, at most."""
    whole: int = 600
    """Columns up to which waves have a matrix together, where one for each does not serve."""
    seam: float = 30.0
    """In tails: what half as many waves again …"""
    rough_gain: float = 4.0
    """… make less smaller by than this is a seam, where the beginning does not quite fit to itself round a
    ring: sech x on (-15, 15) leaves 8e-7, and a hundred waves more left a third of it, in four times the
    windows."""
    most_products: int = 900
    """Functions in the plane, at most; of all unknowns half as many again."""
    most_framed: dict[int, int] = field(default_factory=lambda: {2: 40_000, 3: 120_000})
    """The same of all unknowns where they are solved along each coordinate by itself."""
    most_cells: int = 300
    hardest: float = 0.05
    """Of the largest tail: cells that are divided at a beginning that does not fit …"""
    levels: int = 3
    """… so often at once."""
    smallest: float = 1e-10
    """The smallest cell, of the domain."""
    joined: float = 0.1
    """Of what may be left: cells of less, at twice the length, are joined again."""

    # -- the beginning --
    begun: float = 1e-3
    """What is left out at the start, of what windows may leave: a wave keeps it for ever."""
    rounds: int = 14
    """Divisions until the beginning is resolved."""
    first: float = 1e-11
    """The first window of such a beginning, of the whole time."""
    hard: int = 6
    """Tries after which the beginning is taken for one that does not fit."""
    layer: float = 1e-3
    """Of the whole time: later than that, a window that is not resolved is none …"""
    forced: int = 30
    """… and after so many, what was not smoothed will not be."""
    ratio: float = 0.2
    """Of the time since the start: shorter windows are not tried in the layer."""

    # -- kinks that travel --
    fades: float = 10.0
    """Over the whole time: short waves that turn by more and fade by less carry kinks along."""
    rough_waves: int = 525
    rough_cells: int = 16
    """What it is followed in; twice as much is the estimate …"""
    rough_level: float = 0.03
    """What windows leave in time, of what is left in space …"""
    rough_windows: int = 120
    """… as well as so many windows can. A plucked string has 2e-3 over a period, in 1 s."""

    # -- one window --
    halvings: int = 40
    """Failures of a window of the second solution, whose windows are given: each time it is halved."""
    steps: int = 12
    """Of Newton's method …"""
    left: float = 1e-5
    """… and what it may leave, of what a window may: a breather over ten periods had an error of 3e-5 at
    1e-3, 4e-7 at 1e-4 and 8e-8 at this, where the series in time are what is left."""
    contraction: float = 0.25
    """Steps that shrink less ask for a matrix nearer to the solution."""
    cheap_steps: int = 24
    """More steps where each wave has a matrix of its own, which costs next to nothing …"""
    cheap_contraction: float = 0.6
    """… as long as they shrink by that …"""
    cheap_again: int = 20
    """… and else not for so many matrices."""
    krylov_steps: int = 60
    krylov_left: tuple[float, float] = (1e-3, 1e-11)
    """What Krylov's steps leave, of what is not linear and of what is …"""
    krylov_lost: float = 0.3
    """… and more than that is nothing: a shorter window is nearer to the identity."""


LINES = LineThresholds()


@dataclass(frozen=True)
class RoomThresholds:
    """What an evolution on any shape (`search.rooms`) decides by."""

    # -- functions --
    first: int = 8
    """The first degree …"""
    more: float = 1.25
    """… and the next one, over the last, where nothing tells which it should be: each costs four times as
    much."""
    most_at_once: float = 1.6
    """The next one over the last, where tails that fall tell."""
    second: dict[int, float] = field(default_factory=lambda: {3: 1.15, 4: 1.0})
    """The degree of the second solution over the first, by the number of coordinates, and two more."""
    most: dict[int, int] = field(default_factory=lambda: {3: 2000, 4: 2100})
    """Functions of all unknowns, by the number of coordinates: 2,000 take some ten seconds to factor."""
    corner_power: float = 14.0
    """The highest power at a corner: an L-shape's first tone is off by 3e-6 at degree 20, by 2e-8 at 28, both
    with powers to 12 and to 16."""
    weakest: float = 4.0
    """A first power at a corner above which polynomials do without it."""
    dependent: float = 1e-10
    """What is left of a function beside others, of itself, that makes it dependent: rounding over it is how
    far the functions are from orthonormal, and 1e-6 will do."""

    # -- points --
    spare: dict[int, int] = field(default_factory=lambda: {3: 8, 4: 2})
    """Nodes of a rule along a side, beyond the degree, by the number of coordinates."""
    dense: float = 1.5
    """Points inside per function, at least."""
    unfelt: float = 1e-2
    """Of the most that functions have at the walls: those of less are left to the equations. With 1e-5 what
    is left over at the walls of a spline comes back 100 times larger inside, with 1e-1 waves there grow by
    1 % in a unit of time; with 1e-2 errors are those of the best approximation, and nothing grows."""

    # -- windows --
    begun: float = 0.3
    """What is left out at the start, of what windows may leave."""
    rounding: float = 1e-8
    """A tail at the start that is smaller and no longer falls is rounding: around a hole it ends at 1e-10."""
    residual: float = 30.0
    """What the equations may leave between the points, in units of tol: the second solution has the say."""
    left: float = 1e-3
    """What Newton's method may leave, of what a window may."""
    eased: float = 1e5
    """What windows may leave where there may be no more functions, over what was asked for: beyond, nothing
    was found."""
    layer: float = 0.1
    """Of the whole time: what is not resolved from then on is not."""
    shortest: float = 2e-4
    """The first window of a beginning that does not fit, of the whole time; the next are as long as that is
    ago."""
    layered: dict[int, int] = field(default_factory=lambda: {3: 650, 4: 650})
    """Functions where the beginning does not fit: the more, the sooner it is resolved. A disc at 1 whose rim
    is suddenly 0 is, with 630 of them, from 1.3 % of its time on."""


ROOMS = RoomThresholds()

"""What decides how an evolution is followed, window after window."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class MarchThresholds:
    """What every way of following an evolution (`evolutions.march`) decides by: first values that served.

    Lengths are shares of the whole time. Where no measurement is named, half and double were not told apart
    on the lists of `benchmarks`.
    """

    first: float = 0.02
    """The first window that is tried."""
    safe: float = 0.85
    """Of the length that the tail asks for."""
    growth: float = 3.0
    """The longest of two windows in a row over the shorter one."""
    longer: float = 1.25
    """Times longer, a window is worth new factors."""
    hopeless: float = 1e5
    """More than was asked for, that much, is not rounding."""
    share: float = 0.1
    """Of what a derivative in space is where a function varies over a cell: rounding is below."""
    misfit: tuple[float, float] = (10.0, 1e-9)
    """A beginning that contradicts the sides by more, in tails or at least, has a layer."""
    uncertain: tuple[float, float] = (3.0, 3e-11)
    """Times what its series leaves out, and at most, a beginning is unknown: u_xxx = 0 at the end of a bar is
    off by 4e-9 in 24 polynomials that have all sixteen digits."""
    rounded: float = 3e-14
    """Of the terms of an equation, over the time since the start: what an unknown is off by anyway. Kelvin's
    wave along a coast, whose second velocity is zero, had v = 4e-16, and ever more functions."""
    residual_floor: float = 3e-12  # no residual next to its terms is smaller
    left: tuple[float, float] = (1e-3, 1e-5)
    """Of what is asked of a window: what Newton's method may leave; on a box, but for Krylov's steps of the
    first order in time: a breather over ten periods had an error of 3e-5 at 1e-3, 4e-7 at 1e-4 and 8e-8 at
    this, where the series in time are what is left."""
    steps: int = 36
    """Of Newton's method; those with a matrix for each wave, which costs next to nothing, may be many."""
    noise: float = 1e-8
    """A tail at the start that is smaller and no longer falls is rounding: around a hole it ends at 1e-10; a
    bar's tones, differences of cosh 11, had 280 cells."""
    nothing: float = 1e-150
    """In any unit: what begins at zero and is driven by exp(-((t - a)/w)²) has no digits at 1e-320, and
    no window was short enough for it; cells took six times as long."""
    hard: int = 4
    """Tries after which the beginning is taken for one that does not fit, though its values do: six of
    them take 15 s for 1 - r² in a disc that cools, four 10 s."""


MARCH = MarchThresholds()


@dataclass(frozen=True)
class OrbitThresholds:
    """What an ordinary evolution (`search.orbits.orbit`) decides by."""

    first: float = 1e-6
    """Of the whole time: the window that shows how fast the solution is …"""
    careful: float = 0.3
    """… and of what it shows, the first window of a nonlinear equation."""
    tail_from: float = 0.75
    """Of the coefficients: from there on they are the tail."""
    independent: float = 1e-12
    """Conditions at the start whose matrix is nearer to a singular one give no values to begin with: of
    sixteen digits four would be left."""
    spare: float = 10.0
    """Times the tail that is aimed at, a window may have: without it eight orbits took 15 % longer."""
    failed: float = 0.4
    """Of its length, where Newton's method does not settle."""
    probe: float = 0.05
    """Of its length: so much shorter is tried before what is left is called rounding …"""
    rounding: float = 1e-6
    """… which is less than that."""
    # -- a start at which the equation is singular --
    singular: float = 1e-6
    """A least singular value of the highest derivatives, next to that after the first window."""
    origin: tuple[int, int] = (30, 15)
    """Halvings of the first window between which a change of the orbit …"""
    free: float = 2.0
    """… grows so much: t^λ beyond what is given does by 2^(15 (λ - m + 1)), anything else by 1 + 3e-5."""
    # -- the plan, and the second orbit --
    many: int = 5  # unknowns from which fewer points are cheaper: a window costs their cube
    points: tuple[int, int] = (32, 24)  # of a window, of few and of many unknowns
    places: int = 256  # of all windows together, where two orbits are compared, at least
    deviations: float = 3.0
    """Of what rounding makes of an orbit, beside the difference of two. On one processor the estimate of
    Lorenz' equations is 0.97 of the error with 2."""
    every: int = 16  # windows between two reports of how far it is
    work: float = 2e-4  # of one step of Newton's method in a window, roughly
    shadow_rounds: int = 6  # steps of Newton's method for the second orbit
    exact: float = 1e-7  # a relative change whose square is nothing
    noise: float = 2.0 * 2.2e-16  # of what is handed on, relative: Kepler's orbits lose about that much
    shadow_points: float = 0.75  # of the points


ORBITS = OrbitThresholds()


@dataclass(frozen=True)
class LineThresholds:
    """What an evolution in moments and points (`evolutions.lines`) decides by: first values that served.

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
    whole: int = 900
    """Functions in the plane, at most, of all unknowns half as many again; and columns up to which waves have
    a matrix together, where one for each does not serve."""
    seam: float = 30.0
    """In tails: what half as many waves again …"""
    rough_gain: float = 4.0
    """… make less smaller by than this is a seam, where the beginning does not quite fit to itself round a
    ring: sech x on (-15, 15) leaves 8e-7, and a hundred waves more left a third of it, in four times the
    windows."""
    most_framed: dict[int, int] = field(default_factory=lambda: {2: 40_000, 3: 120_000})
    """The same of all unknowns where they are solved along each coordinate by itself."""
    layered: dict[int, int] = field(default_factory=lambda: {2: 64, 3: 28})
    """Functions along a coordinate of a box whose beginning does not fit its walls."""
    most_cells: int = 300
    hardest: float = 0.05
    """Of the largest tail: cells that are divided at a beginning that does not fit …"""
    levels: int = 3
    """… so often at once."""
    joined: float = 0.1
    """Of what may be left: cells of less, at twice the length, are joined again."""

    # -- the beginning --
    begun: tuple[float, float] = (1e-3, 0.03)
    """What is left out at the start, of what windows may leave, on a line and in the plane: a wave keeps it
    for ever. A cloud that turns has 78 polynomials along each side instead of 97."""
    rounds: int = 14
    """Divisions until the beginning is resolved: a jump that nothing tells of is never."""
    first: tuple[float, float] = (1e-7, 1e-11)
    """The first window of such a beginning, of the whole time: in one piece, and in cells."""
    layer: tuple[float, float] = (0.1, 1e-4)
    """Of the whole time: later than that, an unresolved window is none, in one piece and in cells; nor may
    more of it be left out."""
    ratio: float = 0.2
    """Of the time since the start: shorter windows are not tried in the layer."""

    # -- kinks that travel --
    fades: float = 10.0
    """Over the whole time: short waves that turn by more and fade by less carry kinks along."""
    rough_cells: int = 16
    """What it is followed in; twice as much is the estimate …"""
    rough_level: float = 0.03
    """What windows leave in time, of what is left in space …"""
    rough_windows: int = 120
    """… as well as so many windows can. A plucked string has 2e-3 over a period, in 1 s."""

    # -- one window --
    contraction: float = 0.5
    """Steps that shrink less ask for a matrix nearer to the solution."""
    krylov_steps: int = 60
    krylov_left: tuple[float, float] = (1e-3, 1e-11)
    """What Krylov's steps leave, of what is not linear and of what is …"""
    krylov_lost: float = 0.3
    """… and more than that is nothing: a shorter window is nearer to the identity."""


LINES = LineThresholds()


@dataclass(frozen=True)
class RoomThresholds:
    """What an evolution on any shape (`search.evolutions.rooms`) decides by."""

    # -- functions --
    first: int = 8
    """The first degree …"""
    more: float = 1.25
    """… and the next one, over the last: each costs four times as much."""
    second: dict[int, float] = field(default_factory=lambda: {3: 1.15, 4: 1.0})
    """The degree of the second solution over the first, by the number of coordinates, and two more."""
    most: int = 2000
    """Functions of all unknowns: they take some ten seconds to factor."""
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
    residual: float = 30.0
    """What the equations may leave between the points, in units of tol: the second solution has the say."""
    shortest: float = 2e-4
    """The first window of a beginning that does not fit, of the whole time; the next are as long as that is
    ago."""
    layered: int = 650
    """Functions where the beginning does not fit: the more, the sooner it is resolved. A disc at 1 whose rim
    is suddenly 0 is, with 630 of them, from 1.3 % of its time on."""


ROOMS = RoomThresholds()


@dataclass(frozen=True)
class WayThresholds:
    """Which way an evolution is followed (`search.evolutions.ways`), and what it usually takes."""

    quick: dict[int, float] = field(default_factory=lambda: {2: 0.5, 3: 5.0, 4: 20.0})
    """Seconds that windows on a box take until the tolerance is met, roughly, …"""
    roomy: dict[int, float] = field(default_factory=lambda: {3: 6.0, 4: 30.0})
    """… and those on any shape."""
    functions: dict[bool, int] = field(default_factory=lambda: {False: 20, True: 24})
    """Of a cell on a line, for a loose and a tight tolerance."""
    moments: dict[bool, int] = field(default_factory=lambda: {False: 8, True: 10})
    """Of a window, for a loose and a tight tolerance."""
    many: int = 12
    """Moments where a matrix serves for long: of a linear evolution, or on a ring, where each wave has
    its own. A wave to t = 10 takes 27 windows instead of 95, a breather over ten periods 73 instead of
    149."""
    on_the_way: float = 1e-3  # of the time: what stops before has not begun
    tail: float = 0.03
    """Of the tolerance: a third of it costs a tenth more windows, and a second run twice as many."""


WAYS = WayThresholds()


@dataclass(frozen=True)
class FollowingThresholds:
    """When windows are stopped, and where two solutions are compared (`search.evolutions.plan`)."""

    first: float = 0.6
    """Of what is left of the time limit: then a solution is stopped. Without the second one, which takes
    about as long, nothing is known of the error."""
    times: int = 6  # places in each window and cell where two solutions are compared
    share: float = 0.4  # … for each of its functions
    most: int = 20_000  # … and in all windows at most
    near: float = 4.0
    """Digits of a box: so close to a singular corner half of the places in it are. Without them u_t = Δu + 1
    on a square had an estimate of 0.8 of its error …"""
    cornered: int = 8  # … and so many times as many places there as elsewhere: with as many, of 1.1
    compared: int = 1_000_000_000
    """Places times functions of a window at which residuals are looked at, and two solutions compared: 20,000
    places took 1.5 s for a spark in a cube, whose windows took 0.7 s until then."""
    later: tuple[float, ...] = (1.0, 4.0, 20.0, 100.0, 1e3, 1e4)
    """Times the layer: from when on an estimate may be promised."""


FOLLOWING = FollowingThresholds()

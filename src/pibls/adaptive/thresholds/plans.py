"""What decides which plan is tried, from where, with how many points."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class LoopThresholds:
    """What the loop over plans (`search.loop`) decides by."""

    same: float = 0.1
    """Of max|u|: ends of Newton's method that differ by less are one. u'' + 5eᵘ = 0, which has no solution,
    ended within 6 % of one function in 64 to 256 waves, and went on in cells until its time limit."""
    soon: float = 0.5  # seconds that others may need before what weak corners bring is tried
    few: int = 64  # functions of each unknown that the last resort has …
    steps: int = 4  # … and its steps
    trifle: float = 0.02
    """Of what the best plan needs: an attempt that costs less is made where the last one gained."""
    silence: float = 2.0
    """Seconds: an attempt that takes longer, and longer than all before it, is announced; and after so many
    a callback is told that it is still under way."""
    slack: float = 1.15
    """Times the limit: an attempt, or a step of one, that is expected to end after it is not begun. Of a
    cavity with 3,800 functions a step takes 5 s."""
    unsure: float = 0.5
    """Of what an attempt is expected to take: so much it may be. The second one of cells in an extruded disc
    was expected to take 4.2 s after a first one of 0.3 s, and takes 1.9."""
    minima: int = 3
    """Spaces in which Newton's method ends at one local minimum of the residual, where there is no solution:
    u'' + 4eᵘ = 0 has 0.10477570 in 32 and in 128 functions, and 0.104776 in 8 cells."""
    rounds: int = 40  # attempts of one plan after which nothing more is expected


LOOP = LoopThresholds()


@dataclass(frozen=True)
class CostThresholds:
    """What an attempt costs (`search.work`), in seconds of a machine that has nothing else to do."""

    fixed: float = 3e-3
    """Drawing, assembling and judging of a system without size (32 waves on a line: 3.5 ms)."""
    cubed: float = 3e-10
    """Per column cubed, points in proportion: 512 waves in the plane take 0.065 s, 1458 in space 0.98 s."""
    cell: float = 1e-3
    """A cell without size, and …"""
    together: float = 1.2
    """… how the cost of all grows with their number: 16, 73 and 274 of 64 waves take 0.06, 0.42 and 1.7 s."""
    factored: float = 4e-9
    """Per function of an axis cubed: 162 and 162 take 0.013 s, 290 and 290 0.06 s; and of products …"""
    along: float = 1.6e-9
    """… per function and function of an axis: 62 along each of three axes take 0.07 s each time."""
    eliminated: float = 5e-11
    """Per box, row and own function squared where boxes are eliminated: 64 boxes of 22² take 0.5 s …"""
    skeleton: float = 3e-5
    """… and per function of their edges: 256 boxes of 12² have 9,860 of them, and take 0.44 s."""


COSTS = CostThresholds()


@dataclass(frozen=True)
class BenchThresholds:
    """Where a solution is judged (`search.judging.bench`)."""

    held_out: dict[int, int] = field(default_factory=lambda: {1: 160, 2: 320, 3: 600})
    """Points that judge, by the number of coordinates."""
    scanned: int = 10_000  # points at which the data are looked at for narrow extremes
    extremes: int = 24  # narrow extremes of the data that are judged too
    ending: int = 3  # every so many points is looked at once more at the end of time


BENCH = BenchThresholds()


@dataclass(frozen=True)
class CountThresholds:
    """How many points functions are fitted at (`search.counts`)."""

    rough: float = 3.0  # points inside for each function, where little is resolved yet
    crowded: int = 2
    """Points on the boundary where functions are singular on it, over the usual number: on half of the
    points the powers fit (residuals of 1e-9), and between them they do not (1e-6)."""
    plain: int = 3  # dimensions; in more, there are …
    most_on_faces: float = 3.0
    """… at most so many points on all faces together for each function: the rule of a square would put
    25,000 of them around a cube of ten dimensions with 900 functions."""


COUNTS = CountThresholds()


@dataclass(frozen=True)
class FamilyThresholds:
    """How waves are shared out between coordinates (`search.waves.family`)."""

    low_share: float = 0.6
    """Of the nodes, in four dimensions and more, for functions of one or two coordinates …"""
    other_shares: tuple[float, ...] = (0.3,)
    """… and what else is tried: exp(-|x|²/4) in five dimensions is 25e-6 off with 0.6 of 1200
    functions, 2e-6 with 0.3 (and 55e-6 with none)."""
    per_coordinate: float = (
        2.5  # times as many functions of one coordinate more, of those that data couple, …
    )
    besides: float = 0.05  # … and that share is of all coordinates, where data couple few
    places: int = 64  # at which data are asked what they couple


FAMILY = FamilyThresholds()


@dataclass(frozen=True)
class StartThresholds:
    """Where a nonlinear problem starts (`search.starts.harmonic`)."""

    firm: float = 1e3  # how much heavier the conditions weigh than smoothness
    cond: float = 1e-9  # of the largest singular value: what is less is left out of a start
    many: int = 300  # columns up to which several starts are tried: beyond that each takes too long
    astray: float = 0.05
    """Of the residual of zero: Newton's method that leaves less, with singular functions or in the first
    cells, has left what these functions cannot do."""


STARTS = StartThresholds()


@dataclass(frozen=True)
class RepeatedThresholds:
    """When earlier solutions serve for other parameters (`search.sweeps`)."""

    shapes: float = 0.25
    """Of the problems: data of so many shapes, at most, are sums of a few (`superposed`). 100 loads on a
    square, which corners keep from one basis, took 1.1 times as long together as apart, now 0.01."""
    snapshots: int = 60  # that are kept …
    used: int = 16  # … and how many of them are combined
    steps: int = 12  # of Newton's method among snapshots
    settled: float = 1e-13  # of the data, in what the equations see of a step
    cut: float = 1e-14  # singular values that count as zero: many snapshots are nearly dependent


REPEATED = RepeatedThresholds()


@dataclass(frozen=True)
class GrowthThresholds:
    """Evolutions whose ripples grow the faster the finer they are (`search.evolutions.growth`)."""

    fine: float = 1e5  # the wave number, times the width; ripples ten times as fine as that …
    faster: float = 5.0
    """… grow that much faster at least: ten times for Laplace's equation, a hundred for heat; the root of
    ten where a first derivative is alone beside u_tt."""
    trifle: float = 1e-2  # of |λ|: a real part that may be rounding, or damping of waves
    nodes: int = 512  # waves that may find a solution nevertheless


GROWTH = GrowthThresholds()

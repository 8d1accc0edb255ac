"""Every number by which singular places are found and told apart, each with what was measured for it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class HoleThresholds:
    """Functions around holes (`diagnose.holes.holes`)."""

    reach: float = 1.35  # of its circle, that a centre serves
    most_centres: int = 12  # centres of one hole, at most
    grid: int = 40  # places along each side at which a centre is looked for
    per_spacing: float = 10.0  # circles as far apart as they are large leave e^-10 (an ellipse of 3 : 1)
    round: float = 1.02  # the rim of a disc, in units of its circle; so far off are the images of others
    fastest: float = 0.15  # what is left from one order to the next around a disc, at least and at most
    slowest: float = 0.97  # … at most
    of_its_shape: float = 0.37  # the same around a centre of a hole that is no disc
    most_orders: tuple[int, int] = (120, 40)  # of powers, and of Bessel functions
    weak: float = 1e-3  # κ times the radius of a hole, below which κ is as good as zero
    per_function: float = 2.5  # points of a rim, or of a wall that has images behind it, per function
    steepest: float = 60.0  # e-folds over the domain that they may have


HOLES = HoleThresholds()


@dataclass(frozen=True)
class ImageThresholds:
    """Images of holes in walls (`diagnose.holes.images`)."""

    reach: float = 0.6
    """Of the smaller side of the box: what is farther away is smooth enough.

    A disc in the middle of a square ended at 6e-8 without its images at 0.45 of the side, and with them at
    8e-11."""
    few: int = 8  # circles of all holes, above which images stand only within …
    near: float = 0.4
    """… so much of the side: more waves are needed then anyway (nine to sixteen discs took half as long again
    with all images, and were no better)."""
    same: float = 1e-3  # of its radius


IMAGES = ImageThresholds()


@dataclass(frozen=True)
class LayerThresholds:
    """Functions of layers along walls (`diagnose.layers`)."""

    thin: float = 8.0  # decay over the domain from which a layer has functions of its own
    seen: int = 2048  # points of the boundary that tell how far the domain reaches, three for each direction
    closer: float = 0.6  # than evenly spaced directions need be: they never are quite even (a disc, λ = 100)
    most: int = 1500  # functions in space, at most
    per_function: float = 3.0  # points of the boundary per function
    depths: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
    """In widths of the layer: where solutions are judged."""
    judging: int = 160  # points of the wall above which solutions are judged
    across: float = 1.2  # periods of carried waves, over the width of the domain
    carried: float = 0.9  # how many of them for each e that is left out
    missed: float = 2.0  # a wall where every function is smaller than e^-2 is in a dent
    straight: float = 0.05
    """Of the domain: along such a side directions are all one, and its ends are corners."""


LAYERS = LayerThresholds()


@dataclass(frozen=True)
class SymbolThresholds:
    """Roots of the symbol of a system (`diagnose.corners.symbol`)."""

    most_unknowns: int = 4  # of a system whose corners are looked at
    highest_weight: int = 4  # orders by which unknowns may differ, and of the equations
    nodes: int = 24  # on the unit circle: enough for a determinant of degree 16 and its minors
    same: float = 3e-3
    """Two roots that close are one: rounding splits a double one by 1e-8, a fourfold one by 1e-4."""
    real: float = 1e-3  # a root that close to the real line: the equations are not elliptic, or nearly so


SYMBOL = SymbolThresholds()


@dataclass(frozen=True)
class ClashThresholds:
    """Conditions that contradict each other in a corner (`diagnose.corners.clashes`)."""

    tolerance: float = 1e-6  # of the values: what is less does not clash
    elsewhere: tuple[float, float] = (0.41, 0.87)
    """Of the way to the middle of the domain: how large terms are at all …"""
    rounding: float = 1e-10  # … and what they leave of zero where large ones cancel


CLASHES = ClashThresholds()


@dataclass(frozen=True)
class EndThresholds:
    """Where sides end and meet (`diagnose.corners.ends`)."""

    same: float = 1e-7  # of the domain, or of a side: two ends that are that close meet, and are one
    flat: float = 1e-5  # an angle that is none: pieces of materials are known to 1e-6
    beside: float = (
        1e-6  # of the domain: as far from a corner conditions, coefficients and data are looked up
    )
    dense: int = 257  # points of a side, an interface or the rim of a hole that tell where it goes
    closer: float = 0.6  # of the way that is left: the next point on a side towards its end …
    levels: int = 28  # … and so many of them


ENDS = EndThresholds()


@dataclass(frozen=True)
class SingularEndThresholds:
    """Powers at the ends of a line (`diagnose.frobenius`)."""

    most: int = 8  # functions of an end: Bessel's of order 1/3 over ten periods has 2e-9, with two 1e-5


SINGULAR_ENDS = SingularEndThresholds()


@dataclass(frozen=True)
class JunctionThresholds:
    """Where interfaces meet each other or a side (`diagnose.corners.junctions`)."""

    same: float = 1e-5  # of the domain: two ends that are that close meet; pieces are known to 1e-6
    inside: float = 1e-4  # of the domain: as far from the point materials and coefficients are looked up
    looked: int = 32  # points of a piece, and of each of its faces, that tell what it is


JUNCTIONS = JunctionThresholds()


@dataclass(frozen=True)
class PencilThresholds:
    """Powers at corners of systems (`diagnose.corners.pencil`)."""

    null: float = 1e-8  # a singular value that is zero
    circle: float = 1e-3  # radius of a circle that counts roots: those in one half of it are one
    strip: tuple[float, ...] = (0.0, 2.0)  # imaginary parts to start from
    least: float = 1e-3  # a power below this is none: energies would be infinite


PENCIL = PencilThresholds()


@dataclass(frozen=True)
class SingularThresholds:
    """Powers at corners of one equation (`diagnose.corners.singular`)."""

    whole: float = 1e-6  # a power that is that close to a whole number is one
    highest: float = 48.0
    """Powers; errors fell like those of a power series: 1e-9 at 20, 1e-11 at 28, 1e-13 at 48."""
    highest_bent: float = 20.0
    """Where sides are bent, or the cut ends, and twice as many functions are needed."""
    highest_lower: float = 16.0  # of what a term c·u of the equation brings along …
    poles: int = 16  # orders of rational functions with their pole in a hole
    highest_rich: float = 6.0  # … and of what other terms do
    steepest: float = 8.0
    """E-folds over the domain that functions of a corner may have: what grows more is too small in its own
    corner (four discs with 64 u, e²³: 0.3 instead of 1e-8; an L with 25 u, e⁷: 1e-15)."""


SINGULAR = SingularThresholds()


@dataclass(frozen=True)
class WedgeThresholds:
    """Corners of systems and of fourth order (`diagnose.corners.wedges`)."""

    jump: float = 1e-4  # of the data along both sides: they jump at the corner
    leading: float = 1.5  # of the least whole degree: powers whose products and shifts are added too …
    rich: int = 3  # … up to so many degrees above it,
    angular: int = 10  # as polynomials of the angle


WEDGES = WedgeThresholds()


@dataclass(frozen=True)
class BalanceThresholds:
    """Sources against what flows through the boundary (`diagnose.balance`)."""

    nodes: dict[int, tuple[int, int]] = field(
        default_factory=lambda: {1: (200, 320), 2: (80, 128), 3: (20, 32)}
    )
    """Nodes of two rules along each side, by the number of coordinates."""
    aside: float = 4e-15  # a rounding of a place, as a share of its distance to the middle
    tried: int = 3  # functions of which conditions must give the flux …
    same: float = 1e-7  # … to that share of it
    apart: float = 1e-4
    """Of all sources and fluxes: what is missing in a balance that does not hold. What is rounded to five
    digits by hand holds."""
    sure: float = 1e-3
    """The difference of the two rules over what is missing: what they leave of a narrow peak or a jump
    differs by about all of it, smooth data agree to 1e-9."""


BALANCE = BalanceThresholds()


@dataclass(frozen=True)
class SurplusThresholds:
    """Conditions beyond those that decide an equation (`diagnose.surplus`)."""

    probes: int = 32  # places on each face
    places: int = 16  # … and inside, at which the leading terms are looked at, …
    directions: int = 64  # … in so many directions
    elliptic: float = 1e-3
    """Of the largest: what the leading terms are at least in every direction. u_xx - u_yy changes its sign,
    and of u_xx + 0.01 u_yy the least is 0.01."""


SURPLUS = SurplusThresholds()

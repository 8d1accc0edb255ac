"""Every number by which singular places are found and told apart, each with what was measured for it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HoleThresholds:
    """Functions around holes (`diagnose.holes`)."""

    same: float = 1e-7  # of the size of the domain: two ends that are that close meet
    reach: float = 1.35  # of its circle, that a centre serves
    most_centres: int = 12  # centres of one hole, at most
    grid: int = 40  # places along each side at which a centre is looked for
    dense: int = 129  # points of a rim that tell its shape
    fine: int = 720  # … and of one that centres follow closely
    most_in_a_ring: int = 200  # circles one beside another that follow a rim, at most
    per_spacing: float = 10.0  # circles as far apart as they are large leave e^-10 (an ellipse of 3 : 1)
    round: float = 1.02  # the rim of a disc, in units of its circle
    fastest: float = 0.15  # what is left from one order to the next around a disc, at least and at most
    slowest: float = 0.97  # … at most
    of_its_shape: float = 0.37  # the same around a centre of a hole that is no disc
    reflections: int = 20  # of two holes in one another, after which nothing changes
    most_orders: tuple[int, int] = (120, 40)  # of powers, and of Bessel functions
    weak: float = 1e-3  # κ times the radius of a hole, below which κ is as good as zero
    per_function: float = 2.5  # points of the rim per function around it


HOLES = HoleThresholds()


@dataclass(frozen=True)
class ImageThresholds:
    """Images of holes in walls (`diagnose.images`)."""

    dense: int = 257  # points of a wall that mirrors
    reach: float = 0.4  # of the smaller side of the box: what is farther away is smooth enough
    clear: float = 1.02  # an image is that many of its radii away from the domain
    same: float = 1e-3  # of its radius
    least: int = 1  # orders around an image, at least
    per_function: float = 2.0  # points of the wall per function of the images


IMAGES = ImageThresholds()


@dataclass(frozen=True)
class LayerThresholds:
    """Functions of layers along walls (`diagnose.layers`)."""

    thin: float = 8.0  # decay over the domain from which a layer has functions of its own
    angles: int = 720  # directions in which the boundary is looked at
    seen: int = 2048  # points of the boundary that tell how far the domain reaches
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
    """Roots of the symbol of a system (`diagnose.symbol`)."""

    most_unknowns: int = 4  # of a system whose corners are looked at
    highest_weight: int = 4  # orders by which unknowns may differ
    nodes: int = 24  # on the unit circle: enough for a determinant of degree 16 and its minors
    same: float = 3e-3
    """Two roots that close are one: rounding splits a double one by 1e-8, a fourfold one by 1e-4."""
    real: float = 1e-3  # a root that close to the real line: the equations are not elliptic, or nearly so


SYMBOL = SymbolThresholds()


@dataclass(frozen=True)
class ClashThresholds:
    """Conditions that contradict each other in a corner (`diagnose.corners`)."""

    near: float = 1e-6  # of a side: how near to the corner the conditions are looked up
    tolerance: float = 1e-6  # of the values: what is less does not clash
    elsewhere: tuple[float, float] = (0.41, 0.87)
    """Of the way to the middle of the domain: how large terms are at all …"""
    rounding: float = 1e-10  # … and what they leave of zero where large ones cancel


CLASHES = ClashThresholds()

"""What decides how axes are divided, cells sized, and faces judged."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class AxisThresholds:
    """How an axis is divided into pieces (`search.boxes.axes`)."""

    first: tuple[tuple[float, int], ...] = ((1e-5, 10), (1e-7, 12), (1e-9, 14), (0.0, 16))
    """A tolerance, and the polynomials of a piece from there on."""
    most: int = 28  # polynomials of a piece
    waves: int = 22  # and of one for many waves
    towards: float = 0.15
    """Of a piece at an end: where it is divided if it does not fall there, again and again; each time gains
    1.6 digits of r² log r."""
    power: float = 0.5  # of what a straight line misses the digits by: a power that misses less is one
    levels: tuple[float, float] = (0.5, 0.8)
    """Of all degrees: between these it is taken how fast coefficients fall."""
    lowest: int = 2  # the first degree that is looked at
    spare: float = 0.2  # digits that are aimed at beyond the limit


AXES = AxisThresholds()


@dataclass(frozen=True)
class ProductThresholds:
    """Products of piecewise polynomials (`search.boxes.plan`)."""

    share: int = 4  # products may have one coefficient for so many entries of the largest dense matrix
    usual: dict[int, float] = field(default_factory=lambda: {2: 0.08, 3: 0.04})
    """Work until the tolerance is met, roughly."""
    looked: dict[int, tuple[int, int]] = field(default_factory=lambda: {2: (6, 400), 3: (4, 80)})
    """Points of each piece where two solutions are compared, and of an axis at most …"""
    ends: int = 9
    """… and so many towards each of its ends: without them an estimate was 0.6 of the error of r² log
    r."""
    clash: float = 1e-3
    """Of max|u|: what neighbouring sides may disagree by in their corner, once it is resolved."""


PRODUCTS = ProductThresholds()


@dataclass(frozen=True)
class RateThresholds:
    """How fast solutions decay and oscillate, from their equations (`search.rates`)."""

    samples: int = 33  # places along an axis at which coefficients are looked at
    steep: float = 50.0  # decay over the domain from which a layer is too thin for one piece
    per_degree: float = 0.3  # decay over a cell or a piece of an axis that each of its degrees resolves
    many: float = 4.0  # wavelengths across the domain from which they decide
    along_walls: int = 3000  # places of the boundary at which they are looked at
    at_walls: float = 2.0  # times as large as that cells may be at walls at first: the next halving is chosen


RATES = RateThresholds()


@dataclass(frozen=True)
class SizeThresholds:
    """How many functions a cell has (`search.cells.sizes`)."""

    growth: dict[int, float] = field(default_factory=lambda: {1: 1.0, 2: 1.1, 3: 1.5})
    """How the work grows with the number of cells: as this power of it."""
    phase: float = 0.1  # of the tolerance, for the waves in a cell or a piece of an axis


SIZES = SizeThresholds()


@dataclass(frozen=True)
class SeamThresholds:
    """What stands on the sides of cells, and who caused it (`search.cells.seams`)."""

    most: float = 0.7
    """Of what a neighbour leaves on its sides: less was caused by it (r^(2/3): 0.13, a peak: 0.35)."""
    caused: float = 0.3  # of what a cell leaves on its sides: a neighbour with larger tails has caused it
    singular: float = 10.0
    """Times what tails and residuals tell of stand on the sides of a singular cell (60 to 160)."""
    large: float = 0.1  # an indicator above which one cannot tell
    at_a_corner: float = 0.03  # of a cell


SEAMS = SeamThresholds()


@dataclass(frozen=True)
class CellThresholds:
    """Cells that are divided where it is hard (`search.cells.plan`)."""

    first: dict[int, int] = field(default_factory=lambda: {1: 4, 2: 2, 3: 2})  # cells along each axis
    usual: dict[int, float] = field(default_factory=lambda: {1: 0.3, 2: 4.0, 3: 30.0})
    """Seconds until the tolerance is met, roughly."""
    held: dict[int, int] = field(default_factory=lambda: {1: 13, 2: 24, 3: 40})
    """Points of a cell at which the residual is looked at, by the number of coordinates."""
    columns: int = 25  # columns in cells for each one that a dense system may have
    spectral: float = 7.0
    """Digits from the first degree to the last: of singular corners some 4 to 6, whatever the degree."""
    close: float = 10.0  # an indicator up to this many times its limit: tails say more than what is left out
    digits: float = 2.0  # times less than wanted is aimed at where a comparison was not good enough
    last: float = 20.0
    """Times its usual work: all of space and time at once is what an evolution comes to last."""
    looked_at: int = 768  # places that tell where in a cell the domain is
    smooth: float = 1.2  # digits that a halving gains at least where the solution is smooth
    deep: int = 8  # halvings at once towards the corner of a cell …
    shallow: int = 3  # … and to a place that is known roughly
    in_the_corner: float = 3.0  # r^(2/3): the error in the corner was up to 3.6 times what stood on the sides
    beside: float = 1e-3  # of a cell, from its singular corner: where two solutions are compared
    gaining: float = 0.3  # digits: a division that gains more changes more than it leaves
    least_fall: float = 0.02  # of what the last division changed is left at least


CELLS = CellThresholds()

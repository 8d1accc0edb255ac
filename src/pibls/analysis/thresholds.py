"""Numerical thresholds of the analysis, each with the measurement that justifies it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class HoleThresholds:
    """Functions around holes (`analysis.holes.enrichment`)."""

    circle_reach: float = 1.35  # a centre covers the boundary of the hole within this multiple of its radius
    max_centres: int = 12  # centres per hole
    grid_points: int = 40  # candidate centres along each side of the bounding box
    efolds_per_spacing: float = 10.0
    """Circles spaced by their radius leave an error of e^-10 (measured on an ellipse of 3 : 1)."""
    max_disc_ratio: float = 1.02
    """A hole is a disc if its boundary lies within this multiple of its circle; images of other circles are
    at least that far away."""
    min_decay: float = 0.15  # lower bound of the ratio of successive orders around a disc
    max_decay: float = 0.97  # upper bound of that ratio
    min_decay_noncircular: float = 0.37  # lower bound around a centre of a hole that is not a disc
    max_orders: tuple[int, int] = (120, 40)  # of powers, and of Bessel functions
    min_rate_times_radius: float = 1e-3  # for smaller κ·radius, κ is set to zero
    points_per_function: float = 2.5  # points per function on the boundary of a hole or on a mirroring face
    max_growth_efolds: float = 60.0  # growth of e^{g·x} over the domain, in e-folds


HOLES = HoleThresholds()


@dataclass(frozen=True)
class ImageThresholds:
    """Mirror images of holes in the outer boundary (`analysis.holes.mirror_images`)."""

    max_distance: float = 0.6
    """Relative to the smaller side of the box; the effect of images farther away is smooth enough.

    A disc in the middle of a square: error 6e-8 without its images at 0.45 of the side, 8e-11 with them."""
    max_circles: int = 8  # with more circles in total, `max_distance_many` applies
    max_distance_many: float = 0.4
    """As `max_distance`, for many circles, which need a larger basis in any case. Nine to sixteen discs took
    1.5 times as long with all images and were not more accurate."""
    same_centre_tol: float = 1e-3  # relative to the radius


IMAGES = ImageThresholds()


@dataclass(frozen=True)
class LayerThresholds:
    """Functions for boundary layers (`analysis.boundary_layers`)."""

    min_decay: float = 8.0  # decay over the domain, in e-folds, from which a layer gets its own functions
    boundary_samples: int = 2048  # points that sample the outer boundary, three per direction
    spacing_factor: float = 0.6  # reduces the spacing of directions, which is never uniform (disc, λ = 100)
    max_functions: int = 1500  # in three dimensions
    points_per_function: float = 3.0  # boundary points per function
    validation_depths: tuple[float, ...] = (0.1, 0.5, 1.0, 2.0, 4.0, 8.0)
    """Distances of the validation points from the boundary, in widths of the layer."""
    validation_points: int = 160  # boundary points above which the validation points lie
    periods_per_width: float = 1.2  # periods of advected waves over the width of the domain
    waves_per_efold: float = 0.9  # number of advected waves per e-fold of accuracy
    max_unreached_efolds: float = 2.0
    """At a boundary point where every function is below e^-2 the boundary is re-entrant."""
    min_straight_length: float = 0.05
    """Relative to the domain: a longer straight side has a single direction, and its ends are corners."""


LAYERS = LayerThresholds()


@dataclass(frozen=True)
class SymbolThresholds:
    """Roots of the symbol of a system (`analysis.corners.symbol`)."""

    max_unknowns: int = 4  # of a system whose corners are analysed
    max_weight: int = 4  # largest order of an equation
    nodes: int = 24  # on the unit circle: enough for a determinant of degree 16 and its minors
    same_root_tol: float = 3e-3
    """Closer roots are merged: rounding splits a double root by 1e-8, a fourfold root by 1e-4."""
    min_imaginary_ratio: float = 1e-3  # below this Im μ / |μ| the equations are not elliptic, or nearly so


SYMBOL = SymbolThresholds()


@dataclass(frozen=True)
class CompatibilityThresholds:
    """Compatibility of conditions at corners (`analysis.corners.incompatible_conditions`)."""

    relative_tol: float = 1e-6  # smaller differences, relative to the values, are ignored
    sample_shares: tuple[float, float] = (0.41, 0.87)
    """Points on the way from the corner to the centre of the domain that give the usual size of the terms."""
    rounding_tol: float = 1e-10  # relative to that size: remainder where large terms cancel


COMPATIBILITY = CompatibilityThresholds()


@dataclass(frozen=True)
class SegmentThresholds:
    """Boundary segments and their ends (`analysis.corners.boundary_segments`)."""

    same_point_tol: float = 1e-7  # relative to the domain or to a side: closer ends coincide
    min_angle: float = 1e-5  # smaller angles count as zero; interfaces are known to 1e-6
    corner_offset: float = 1e-6
    """Distance from a corner, relative to the domain, at which conditions and coefficients are taken."""
    dense_samples: int = 257  # points that sample a side, an interface or the boundary of a hole
    approach_ratio: float = 0.6  # ratio of successive distances of points that approach the end of a side
    approach_levels: int = 28  # number of these points


SEGMENTS = SegmentThresholds()


@dataclass(frozen=True)
class SingularEndThresholds:
    """Powers at singular end points of an interval (`analysis.frobenius`)."""

    max_functions: int = 8
    """Functions per end. Bessel's equation of order 1/3 over ten periods: error 2e-9, with two 1e-5."""


SINGULAR_ENDS = SingularEndThresholds()


@dataclass(frozen=True)
class JunctionThresholds:
    """Points where interfaces meet each other or the boundary (`analysis.corners.junctions`)."""

    same_point_tol: float = 1e-5  # relative to the domain: closer ends coincide; interfaces are known to 1e-6
    offset: float = 1e-4  # distance, relative to the domain, at which materials and coefficients are taken
    samples: int = 32  # points that sample a subdomain and each of its faces


JUNCTIONS = JunctionThresholds()


@dataclass(frozen=True)
class PencilThresholds:
    """Exponents at corners of systems (`analysis.corners.pencil`)."""

    null_tol: float = 1e-8  # relative size of a singular value that counts as zero
    root_circle_radius: float = (
        1e-3  # radius of the circle that counts roots; roots within half of it are merged
    )
    imaginary_starts: tuple[float, ...] = (0.0, 2.0)  # imaginary parts of the starting values
    min_power: float = 1e-3  # smaller powers are discarded: their energy would be infinite


PENCIL = PencilThresholds()


@dataclass(frozen=True)
class ScalarCornerThresholds:
    """Powers at corners of scalar equations (`analysis.corners.scalar_corners`)."""

    max_corners: int = 24
    """Corners that get singular functions, the strongest first."""
    integer_tol: float = 1e-6  # powers closer to an integer are integers
    max_power: float = 48.0
    """The error falls as that of a power series: 1e-9 at 20, 1e-11 at 28, 1e-13 at 48."""
    max_power_curved: float = 20.0
    """For curved sides or a branch cut that ends, where twice as many functions are needed."""
    max_power_reaction: float = 16.0  # of the functions that a term c·u of the equation adds
    pole_orders: int = 16  # orders of rational functions with their pole in a hole
    max_power_general: float = 6.0  # of the functions that other lower-order terms add
    max_growth_efolds: float = 8.0
    """Growth of the corner functions over the domain, in e-folds; functions that grow more are too small at
    their own corner (four discs with 64 u, e²³: error 0.3 instead of 1e-8; an L with 25 u, e⁷: 1e-15)."""


SCALAR_CORNERS = ScalarCornerThresholds()


@dataclass(frozen=True)
class SystemCornerThresholds:
    """Corners of systems and of equations of fourth order (`analysis.corners.system_corners`)."""

    max_corners: int = 12
    """With more corners, no corner functions are used."""
    min_relative_jump: float = 1e-4  # relative to the data of both sides: a jump of the data at the corner
    max_leading_degree: float = 1.5
    """Above the least integer degree: powers whose products and shifts are added too …"""
    lower_order_degrees: int = 3  # … up to this many degrees above it,
    angular_terms: int = 10  # as polynomials of the angle


SYSTEM_CORNERS = SystemCornerThresholds()


@dataclass(frozen=True)
class BalanceThresholds:
    """Balance of sources and boundary fluxes (`analysis.flux_balance`)."""

    nodes: dict[int, tuple[int, int]] = field(
        default_factory=lambda: {1: (200, 320), 2: (80, 128), 3: (20, 32)}
    )
    """Nodes of two quadrature rules along each side, by the number of coordinates."""
    point_shift: float = 4e-15  # shift of the points by rounding, relative to their distance to the centre
    test_functions: int = 3  # functions for which the conditions must give the flux …
    flux_tol: float = 1e-7  # … to this relative accuracy
    min_relative_imbalance: float = 1e-4
    """Relative to all sources and fluxes. Data rounded to five digits by hand are accepted."""
    max_rule_difference: float = 1e-3
    """Difference of the two rules, relative to the imbalance. For a narrow peak or a jump it is about 1, for
    smooth data 1e-9."""


BALANCE = BalanceThresholds()


@dataclass(frozen=True)
class RedundancyThresholds:
    """Redundant conditions (`analysis.redundant_conditions`)."""

    face_samples: int = 32  # points on each face
    interior_samples: int = 16  # points at which the principal symbol is evaluated, …
    directions: int = 64  # … in this many directions
    min_ellipticity: float = 1e-3
    """Least over largest value of the principal symbol over all directions. u_xx - u_yy changes sign; for
    u_xx + 0.01 u_yy the ratio is 0.01."""


REDUNDANCY = RedundancyThresholds()


@dataclass(frozen=True)
class WellPosednessThresholds:
    """Evolutions whose short waves grow without bound (`analysis.well_posedness`)."""

    sample_points: int = 33
    """Points of the domain or of its boundary at which the coefficients are evaluated."""
    wave_number: float = 1e5
    """Wave number times the width. Waves that are ten times shorter …"""
    min_growth_ratio: float = 5.0
    """… grow at least this much faster in an ill-posed problem: ten times for Laplace's equation, a hundred
    times for the backward heat equation; √10 where a first derivative stands beside u_tt."""
    min_relative_real_part: float = 1e-2
    """Relative to |λ|: a smaller real part may be rounding, or damping of waves."""


WELL_POSEDNESS = WellPosednessThresholds()

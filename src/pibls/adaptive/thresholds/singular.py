"""Thresholds of singular functions at corners, holes and interfaces."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class CellCornerThresholds:
    """Corner functions in cells (`adaptive.singular.cell_corners`)."""

    global_degree_range: float = 2.0
    """Degrees above the first one up to which functions are used in all cells."""
    max_local_degree: float = 8.0
    """Degree of the functions that are added in the cell of a corner."""


CELL_CORNERS = CellCornerThresholds()


@dataclass(frozen=True)
class CornerFunctionThresholds:
    """Corners of systems, and points where materials meet (`adaptive.singular.pencils`)."""

    max_degree: float = 32.0
    """Degree for a linear system and where materials meet, and …"""
    max_degree_nonlinear: float = 12.0
    """… for a nonlinear system."""
    lower_order_angles: int = 20
    """Angles of fitted points where lower-order terms add polynomials of the angle."""
    max_relative_distance: float = 0.25
    """Relative to the subdomain: one that is closer to a singular point beyond an artificial interface gets
    its functions."""


SYSTEM_CORNERS = CornerFunctionThresholds()


@dataclass(frozen=True)
class EnrichmentThresholds:
    """Singular functions added to random features (`adaptive.singular.enrichment`)."""

    validation_levels: int = 12
    """Distances of held-out points from a corner, and …"""
    validation_angles: int = 5
    """… their angles."""
    corner_offset: float = 1e-9
    """Relative to the domain: points that are closer to a corner are dropped or moved."""
    hole_exponents: tuple[float, ...] = (8.0, 12.0, 18.0, 26.0, 33.0, 41.0)
    """Truncation e^-x of the functions around holes, by refinement."""
    max_corner_functions: tuple[int, ...] = (500, 1000, 2000, 4000)
    """Functions of all corners together, by refinement."""
    min_power_share: float = 0.1
    """Smallest share of the highest power to which corner functions are reduced."""
    integral_levels: dict[bool, int] = field(default_factory=lambda: {False: 20, True: 40})
    """Halvings towards a corner in a quadrature rule: 20 integrate r^(1/2) to rounding; the pressure of a
    system (True) may behave as 1/r."""
    integral_points: tuple[int, int] = (36, 1000)
    """Quadrature points in the smallest boxes, and additional ones in a box that is the whole domain."""
    validation_hole_exponent: float = 6.0
    """Truncation e^-x that determines the validation points on the boundary of a hole."""


ENRICHMENT = EnrichmentThresholds()


@dataclass(frozen=True)
class SubdomainThresholds:
    """Subdomains of several materials (`adaptive.subdomains.subdomain_problem`)."""

    inclusion_share: float = 0.5
    """Functions mirrored at a cavity, and random features in an inclusion, relative to the random features of
    the surrounding subdomain: as many in each of five inclusions as outside gave a hundred times the
    residual."""
    initial_hole_exponent: float = 14.0
    """Truncation e^-x of the functions around inclusions in the first candidate, and …"""
    hole_exponent_per_doubling: float = 7.0
    """… its increase with each doubling of the random features."""
    integral_tolerance: float = 1e-6
    """Relative: the integrals over the subdomains must add up to that over the domain."""


SUBDOMAINS = SubdomainThresholds()

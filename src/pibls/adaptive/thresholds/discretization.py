"""Thresholds of tensor-product and cell discretizations: axis partitions, hp-selection, face residuals."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class AxisThresholds:
    """Partition of an axis into intervals (`adaptive.tensor_products.axes`)."""

    initial_degrees: tuple[tuple[float, int], ...] = ((1e-5, 10), (1e-7, 12), (1e-9, 14), (0.0, 16))
    """Pairs of a tolerance and the number of polynomials of an interval from that tolerance on."""
    max_polynomials: dict[int, int] = field(default_factory=lambda: {1: 40, 2: 28, 3: 28})
    """Polynomials of an interval, by dimension."""
    line_polynomials: int = 28
    """Polynomials of the first intervals of a line, where most of the time of an interval does not depend on
    their number: ten problems take 1.2 s with 14, 1.0 s with 20 and 24, 0.8 s with 28."""
    wave_polynomials: int = 22
    """Polynomials of an interval for oscillating solutions."""
    max_power_misfit: float = 0.5
    """Relative to the misfit of an exponential decay: with a smaller misfit of a power law the decay of the
    coefficients is algebraic."""
    rate_range: tuple[float, float] = (0.5, 0.8)
    """Of all degrees: range in which the decay rate of the coefficients is measured."""
    min_degree: int = 2
    """First degree used in the decay test."""
    safety_digits: float = 0.2
    """Digits below the limit that a refinement aims at."""


AXES = AxisThresholds()


@dataclass(frozen=True)
class TensorProductThresholds:
    """Products of piecewise polynomials (`adaptive.tensor_products.strategy`)."""

    entries_per_coefficient: int = 4
    """Entries of the largest dense matrix for which products may have one coefficient."""
    comparison_points: dict[int, tuple[int, int]] = field(
        default_factory=lambda: {1: (8, 4000), 2: (6, 400), 3: (4, 80)}
    )
    """Points per interval at which two solutions are compared, and their maximum per axis, by dimension; …"""
    end_points: int = 9
    """… and further points towards each end of an axis: without them an estimate was 0.6 of the error for
    r² log r."""
    max_corner_mismatch: float = 1e-3
    """Relative to max|u|: largest disagreement of neighbouring sides in their corner, once it is resolved."""


TENSOR_PRODUCTS = TensorProductThresholds()


@dataclass(frozen=True)
class DecayRateThresholds:
    """Decay and oscillation of solutions, from the coefficients (`adaptive.decay_rates`)."""

    sample_points: int = 33
    """Points along an axis at which the coefficients are evaluated."""
    min_layer_decay: float = 50.0
    """Exponent of the decay across the domain above which a boundary layer needs cells of its own."""
    decay_per_degree: float = 0.3
    """Exponent of the decay across a cell or interval that each of its degrees resolves."""
    min_wavelengths: float = 4.0
    """Wavelengths across the domain above which they determine the first grid."""
    boundary_samples: int = 3000
    """Points of the boundary at which layers are looked for."""
    curved_layer_factor: float = 2.0
    """Factor of the cell size at curved boundaries in the first grid; the next halving is adaptive."""


DECAY_RATES = DecayRateThresholds()


@dataclass(frozen=True)
class HpSelectionThresholds:
    """Number of functions of a cell (`adaptive.cells.hp_selection`)."""

    cost_exponent: dict[int, float] = field(default_factory=lambda: {2: 1.1, 3: 1.5})
    """Exponent of the number of cells in the work, by dimension."""
    wave_tolerance: float = 0.1
    """Relative to the tolerance: truncation error of a wave in a cell or interval."""


HP_SELECTION = HpSelectionThresholds()


@dataclass(frozen=True)
class FaceResidualThresholds:
    """Residuals on the faces of cells and their origin (`adaptive.cells.face_residuals`)."""

    min_neighbour_ratio: float = 0.7
    """Relative to the face residual of the neighbours: a cell with less is not the origin (r^(2/3): 0.13, a
    peak: 0.35)."""
    max_neighbour_indicator: float = 0.3
    """Relative to the face residual of a cell: a neighbour with a larger indicator is its origin."""
    min_singular_ratio: float = 10.0
    """Ratio of the face residual to the interior indicator in a singular cell (60 to 160 are observed)."""
    max_resolved_indicator: float = 0.1
    """Indicator above which singular cells cannot be recognized."""
    corner_distance: float = 0.03
    """Relative to the cell: distance within which the largest residual is attributed to a corner."""


FACE_RESIDUALS = FaceResidualThresholds()


@dataclass(frozen=True)
class CellThresholds:
    """Adaptive cells (`adaptive.cells.strategy`)."""

    initial_cells: int = 2
    """Cells along each axis."""
    residual_points: dict[int, int] = field(default_factory=lambda: {1: 13, 2: 24, 3: 40})
    """Points of a cell at which the residual is evaluated, by dimension."""
    columns_per_node: int = 25
    """Columns in all cells for each column that a dense system may have."""
    min_spectral_digits: float = 7.0
    """Digits by which the spectrum of a smooth solution falls from the first degree to the last: near
    singular corners it falls by 4 to 6, whatever the degree."""
    max_comparison_indicator: float = 10.0
    """Relative to the limit: up to this indicator a comparison with a second solution is made."""
    refinement_margin: float = 2.0
    """Factor below the tolerance that is aimed at after a comparison that was not good enough."""
    domain_samples: int = 768
    """Points that show which part of a cell lies in the domain."""
    min_smooth_gain: float = 1.2
    """Digits that a halving gains at least where the solution is smooth."""
    max_corner_levels: int = 8
    """Halvings at once towards a corner of a cell, and …"""
    max_interior_levels: int = 3
    """… towards a point that is known only approximately."""
    corner_error_factor: float = 3.0
    """For r^(2/3) the error in the corner was up to 3.6 times the face residual."""
    corner_comparison_offset: float = 1e-3
    """Relative to the cell: distance from its singular corner at which two solutions are compared."""
    min_gain: float = 0.3
    """Digits: after a division that gains more, the change bounds the remaining error."""
    min_residual_fraction: float = 0.02
    """Smallest fraction of the change by the last division that is assumed to remain as error."""


CELLS = CellThresholds()

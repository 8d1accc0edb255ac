"""Thresholds of all adaptive decisions, each with the measurements that justify it.

They are relative and dimensionless unless stated otherwise. Those of the error estimate were calibrated
(benchmarks/calibration.py). The others determine when one strategy is given up for another; a poor value
costs time but does not affect the reliability of the estimate.
"""

from pibls.adaptive.thresholds.acceptance import DEFAULT, RANDOM_FEATURES, Thresholds
from pibls.adaptive.thresholds.discretization import (
    AXES,
    CELLS,
    DECAY_RATES,
    FACE_RESIDUALS,
    HP_SELECTION,
    TENSOR_PRODUCTS,
)
from pibls.adaptive.thresholds.evolutions import WINDOW_STRATEGY
from pibls.adaptive.thresholds.scheduling import (
    FEATURE_FAMILY,
    INITIAL_GUESS,
    POINT_COUNTS,
    SCHEDULER,
    SWEEPS,
    VALIDATION,
)
from pibls.adaptive.thresholds.singular import CELL_CORNERS, ENRICHMENT, SUBDOMAINS, SYSTEM_CORNERS

__all__ = [
    "AXES",
    "CELLS",
    "CELL_CORNERS",
    "DECAY_RATES",
    "DEFAULT",
    "ENRICHMENT",
    "FACE_RESIDUALS",
    "FEATURE_FAMILY",
    "HP_SELECTION",
    "INITIAL_GUESS",
    "POINT_COUNTS",
    "RANDOM_FEATURES",
    "SCHEDULER",
    "SUBDOMAINS",
    "SWEEPS",
    "SYSTEM_CORNERS",
    "TENSOR_PRODUCTS",
    "VALIDATION",
    "WINDOW_STRATEGY",
    "Thresholds",
]

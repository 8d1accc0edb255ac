"""Every number that the search decides by, in one place, each with what was measured for it.

All of them are relative and without unit. Those of the error estimate were calibrated
(benchmarks/calibration.py); the others say when a way of solving is given up for another, and cost time
when they are wrong, not trust.
"""

from pibls.adaptive.thresholds.evolutions import FOLLOWING, LINES, MARCH, ORBITS, ROOMS, WAYS
from pibls.adaptive.thresholds.pieces import AXES, CELLS, PRODUCTS, RATES, SEAMS, SIZES
from pibls.adaptive.thresholds.plans import BENCH, COSTS, COUNTS, FAMILY, GROWTH, LOOP, REPEATED, STARTS
from pibls.adaptive.thresholds.singular import CORNERED, ENRICH, PIECED, WEDGED
from pibls.adaptive.thresholds.solving import DEFAULT, WAVES, Thresholds

__all__ = [
    "AXES",
    "BENCH",
    "CELLS",
    "CORNERED",
    "COSTS",
    "COUNTS",
    "DEFAULT",
    "ENRICH",
    "FAMILY",
    "FOLLOWING",
    "GROWTH",
    "LINES",
    "LOOP",
    "MARCH",
    "ORBITS",
    "PIECED",
    "PRODUCTS",
    "RATES",
    "REPEATED",
    "ROOMS",
    "SEAMS",
    "SIZES",
    "STARTS",
    "WAVES",
    "WAYS",
    "WEDGED",
    "Thresholds",
]

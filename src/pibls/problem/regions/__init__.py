"""Where statements hold: one protocol, one class each."""

from pibls.problem.regions.inside import Inside
from pibls.problem.regions.interface import Interface, Within
from pibls.problem.regions.pair import Pair
from pibls.problem.regions.part import Part, same
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Pen, Region
from pibls.problem.regions.rim import Rim
from pibls.problem.regions.scattered import Scattered
from pibls.problem.regions.slice import Slice
from pibls.problem.regions.spot import Spot
from pibls.problem.regions.total import Total

__all__ = [
    "Inside",
    "Interface",
    "Pair",
    "Part",
    "Pen",
    "PointSet",
    "Points",
    "Region",
    "Rim",
    "Scattered",
    "Slice",
    "Spot",
    "Total",
    "Within",
    "same",
]

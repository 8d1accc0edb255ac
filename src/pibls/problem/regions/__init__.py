"""Regions where equations and conditions hold: the base class `Region` and one class for each kind."""

from pibls.problem.regions.boundary_part import BoundaryPart, is_same_shape
from pibls.problem.regions.inner_surface import InnerSurface
from pibls.problem.regions.integral_region import IntegralRegion
from pibls.problem.regions.interface import Interface, SubdomainRegion
from pibls.problem.regions.interior import Interior
from pibls.problem.regions.periodic_faces import PeriodicFaces
from pibls.problem.regions.points import Points, PointSet
from pibls.problem.regions.protocol import Notation, Region
from pibls.problem.regions.scattered_points import ScatteredPoints
from pibls.problem.regions.single_point import SinglePoint
from pibls.problem.regions.slice import Slice

__all__ = [
    "BoundaryPart",
    "InnerSurface",
    "IntegralRegion",
    "Interface",
    "Interior",
    "Notation",
    "PeriodicFaces",
    "PointSet",
    "Points",
    "Region",
    "ScatteredPoints",
    "SinglePoint",
    "Slice",
    "SubdomainRegion",
    "is_same_shape",
]

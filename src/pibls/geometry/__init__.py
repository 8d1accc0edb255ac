"""Domains of differential equations: shapes, their combinations and images, and space-time cylinders."""

from pibls.geometry.ball import Ball
from pibls.geometry.box import Box
from pibls.geometry.cell_clipping import clipped_bounds, faces_in_cell, is_in_cell
from pibls.geometry.checks.domain_protocol import check_domain
from pibls.geometry.csg import Difference, Intersection, Union
from pibls.geometry.disk import Disk
from pibls.geometry.ellipse import Ellipse
from pibls.geometry.extrusion import Extrusion
from pibls.geometry.faces.face import Boundary, Face
from pibls.geometry.implicit import Implicit
from pibls.geometry.interval import Interval
from pibls.geometry.mapped import Mapped
from pibls.geometry.polygon import Polygon
from pibls.geometry.protocol import (
    Domain,
    box_of,
    faces_of,
    fills_box,
    is_box,
    is_domain,
    leaves_of,
    lengths_of,
    space_of,
    time_of,
    with_range,
    within,
)
from pibls.geometry.revolution import Revolution
from pibls.geometry.shape import Shape
from pibls.geometry.slit import Slit
from pibls.geometry.solid import Solid
from pibls.geometry.space_time import During
from pibls.geometry.spline import Spline

__all__ = [
    "Ball",
    "Boundary",
    "Box",
    "Difference",
    "Disk",
    "Domain",
    "During",
    "Ellipse",
    "Extrusion",
    "Face",
    "Implicit",
    "Intersection",
    "Interval",
    "Mapped",
    "Polygon",
    "Revolution",
    "Shape",
    "Slit",
    "Solid",
    "Spline",
    "Union",
    "box_of",
    "check_domain",
    "clipped_bounds",
    "faces_in_cell",
    "faces_of",
    "fills_box",
    "is_box",
    "is_domain",
    "is_in_cell",
    "leaves_of",
    "lengths_of",
    "space_of",
    "time_of",
    "with_range",
    "within",
]

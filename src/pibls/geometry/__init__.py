"""Domains: one shape per file, and time. Each is a `Domain`: points inside, points on the boundary."""

from pibls.geometry.ball import Ball
from pibls.geometry.box import Box
from pibls.geometry.checks.audit import check_domain
from pibls.geometry.csg import Difference, Intersection, Union
from pibls.geometry.disk import Disk
from pibls.geometry.ellipse import Ellipse
from pibls.geometry.extrusion import Extrusion
from pibls.geometry.faces.face import Boundary, Face
from pibls.geometry.frame import frame, owned, parts_in
from pibls.geometry.implicit import Implicit
from pibls.geometry.interval import Interval
from pibls.geometry.mapped import Mapped
from pibls.geometry.mesh import Solid
from pibls.geometry.polygon import Polygon
from pibls.geometry.protocol import (
    Domain,
    between,
    box_of,
    faces_of,
    has_sides,
    is_domain,
    leaves_of,
    lengths_of,
    space_of,
    time_of,
    within,
)
from pibls.geometry.revolution import Revolution
from pibls.geometry.shape import Shape
from pibls.geometry.slit import Slit
from pibls.geometry.spline import Spline
from pibls.geometry.time import During

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
    "between",
    "box_of",
    "check_domain",
    "faces_of",
    "frame",
    "has_sides",
    "is_domain",
    "leaves_of",
    "lengths_of",
    "owned",
    "parts_in",
    "space_of",
    "time_of",
    "within",
]

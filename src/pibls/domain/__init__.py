"""Domains: one shape per file, and time. Each is a `Domain`: points inside, points on the boundary."""

from pibls.domain.ball import Ball
from pibls.domain.box import Box
from pibls.domain.checks.audit import check_domain
from pibls.domain.csg import Difference, Intersection, Union
from pibls.domain.disk import Disk
from pibls.domain.ellipse import Ellipse
from pibls.domain.extrusion import Extrusion
from pibls.domain.faces.face import Boundary, Face
from pibls.domain.frame import frame, owned, parts_in
from pibls.domain.implicit import Implicit
from pibls.domain.interval import Interval
from pibls.domain.mapped import Mapped
from pibls.domain.mesh import Solid
from pibls.domain.polygon import Polygon
from pibls.domain.protocol import (
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
from pibls.domain.revolution import Revolution
from pibls.domain.shape import Shape
from pibls.domain.slit import Slit
from pibls.domain.spline import Spline
from pibls.domain.time import During

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

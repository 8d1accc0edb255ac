"""Domains: one shape per file, and time. Each is a `Domain`: points inside, points on the boundary."""

from pibls.domain.audit import check_domain
from pibls.domain.box import Box
from pibls.domain.face import Boundary, Face
from pibls.domain.interval import Interval
from pibls.domain.protocol import (
    Domain,
    FullDomain,
    box_of,
    faces_of,
    full,
    leaves_of,
    lengths_of,
    space_of,
    time_of,
    within,
)
from pibls.domain.shape import Shape
from pibls.domain.time import During

__all__ = [
    "Boundary",
    "Box",
    "Domain",
    "During",
    "Face",
    "FullDomain",
    "Interval",
    "Shape",
    "box_of",
    "check_domain",
    "faces_of",
    "full",
    "leaves_of",
    "lengths_of",
    "space_of",
    "time_of",
    "within",
]

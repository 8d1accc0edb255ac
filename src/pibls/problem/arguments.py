"""Types of the arguments of conditions and integrals: values, and parts of a domain or of its boundary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pibls.arrays import PointFunction, Rng
from pibls.expressions import Coordinate, Expression, Logical, Number
from pibls.geometry.faces.face import Boundary
from pibls.geometry.protocol import Domain

ConditionValue: TypeAlias = Expression | complex | PointFunction
"""A number, an expression of the coordinates, or a Python function of the coordinate arrays."""
Place: TypeAlias = Logical | Domain | Mapping[Coordinate, Number] | None
"""Where a condition holds: a relation, a shape, a point {x: 0}, or None for the rest of the boundary."""
IntegrationPlace: TypeAlias = Place | Callable[[int, Rng], Boundary]
"""A place, or ``shape.boundary``."""

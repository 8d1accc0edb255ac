"""Space-time domains Ω × (t₀, t₁)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Number
from pibls.geometry.checks.arguments import (
    check_coordinate,
    check_distinct_names,
    check_sign_assumption,
    ordered_ends,
)
from pibls.geometry.checks.domain_protocol import check_domain
from pibls.geometry.faces.extruded_face import ExtrudedFace
from pibls.geometry.faces.face import Boundary, Face, draw_boundary
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, lengths_of, time_of
from pibls.geometry.shape import BuiltinDomain
from pibls.runtime.caching import cached_property


@dataclass(frozen=True, init=False)
class During(BuiltinDomain):
    """The space-time domain Ω × (t₀, t₁). Its boundary is ∂Ω × (t₀, t₁), without initial and final time."""

    space: Domain
    time: Coordinate
    start: float
    stop: float

    def __init__(self, space: Domain, t: Coordinate, t0: Number, t1: Number) -> None:
        check_domain(space, "During(space)")
        if time_of(space) is not None:
            raise ProblemError(
                "During(space)",
                expected="a domain without a time coordinate",
                got=f"{space!r}, which already has a time coordinate",
                remedy="Call during(t, t0, t1) only once, as the last step.",
            )
        check_coordinate(t, "during(t)")
        if t in space.coordinates:
            raise ProblemError(
                "during(t)",
                expected=f"a symbol that is not a space coordinate ({space.coordinates})",
                got=t,
                remedy="Use another symbol for time.",
            )
        check_distinct_names((*space.coordinates, t), "during(t)")
        start, stop = ordered_ends(t0, t1, "during(t0, t1)")
        check_sign_assumption(t, start, stop, "during(t)")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "time", t)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "stop", stop)

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return (*self.space.coordinates, self.time)

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return (*((float(a), float(b)) for a, b in box_of(self.space)), (self.start, self.stop))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The faces of ∂Ω, extruded in time."""
        return tuple(ExtrudedFace(face, self.start, self.stop) for face in faces_of(self.space))

    @property
    def leaves(self) -> tuple[object, ...]:
        """The primitive spatial shapes that own the boundary."""
        return leaves_of(self.space)

    def with_range(self, axis: int, start: float, stop: float) -> During | None:
        """Return the same spatial domain over another time interval; None for a spatial axis."""
        return None if axis + 1 < len(self.coordinates) else During(self.space, self.time, start, stop)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return np.column_stack([self.space.interior(n, rng), rng.uniform(self.start, self.stop, n)])

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return draw_boundary(self.faces, n, lengths_of(self), rng)

    def contains(self, X: Array) -> Mask:
        t = X[:, -1]
        return self.space.contains(X[:, :-1]) & (self.start <= t) & (self.stop >= t)

    def __repr__(self) -> str:
        return f"{self.space!r}.during({self.time}, {self.start:g}, {self.stop:g})"

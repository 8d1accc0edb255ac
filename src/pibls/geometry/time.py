"""Ω × (t₀, t₁)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.geometry.checks.arguments import coordinate, distinct, ordered, signed
from pibls.geometry.checks.audit import check_domain
from pibls.geometry.faces.extruded import Extruded
from pibls.geometry.faces.face import Boundary, Face, draw
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, lengths_of, time_of
from pibls.geometry.shape import FullyKnown


@dataclass(frozen=True, init=False)
class During(FullyKnown):
    """Ω × (t₀, t₁): any domain, in time. Its boundary is ∂Ω × (t₀, t₁), without start and end."""

    space: Domain
    time: Any
    start: float
    stop: float

    def __init__(self, space: Domain, t: Any, t0: Any, t1: Any) -> None:
        check_domain(space, "During(space)")
        if time_of(space) is not None:
            raise ProblemError(
                "During(space)",
                expected="a domain in space",
                got=f"{space!r}, which has a time already",
                remedy="A problem has one time: add it once, last.",
            )
        coordinate(t, "during(t)")
        if t in space.coordinates:
            raise ProblemError(
                "during(t)",
                expected=f"a symbol that is not a space coordinate ({space.coordinates})",
                got=t,
                remedy="Use another symbol for time.",
            )
        distinct((*space.coordinates, t), "during(t)")
        start, stop = ordered(t0, t1, "during(t0, t1)")
        signed(t, start, stop, "during(t)")
        object.__setattr__(self, "space", space)
        object.__setattr__(self, "time", t)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "stop", stop)

    @cached_property
    def coordinates(self) -> tuple[Any, ...]:
        return (*self.space.coordinates, self.time)

    @cached_property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        return (*((float(a), float(b)) for a, b in box_of(self.space)), (self.start, self.stop))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The space-time side walls."""
        return tuple(Extruded(face, self.start, self.stop) for face in faces_of(self.space))

    @property
    def leaves(self) -> tuple[object, ...]:
        """The shapes in space that own its boundary."""
        return leaves_of(self.space)

    def between(self, axis: int, start: float, stop: float) -> During | None:
        """The same space, over another time."""
        return None if axis + 1 < len(self.coordinates) else During(self.space, self.time, start, stop)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        return np.column_stack([self.space.interior(n, rng), rng.uniform(self.start, self.stop, n)])

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        return draw(self.faces, n, lengths_of(self), rng)

    def contains(self, X: Array) -> Mask:
        t = X[:, -1]
        return self.space.contains(X[:, :-1]) & (self.start <= t) & (self.stop >= t)

    def __repr__(self) -> str:
        return f"{self.space!r}.during({self.time}, {self.start:g}, {self.stop:g})"

"""Bodies of revolution {(x, y, z) : (√(x² + y²), z) ∈ Ω}."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.errors import ProblemError
from pibls.expressions import Coordinate, Logical
from pibls.geometry.checks.arguments import (
    check_coordinate,
    check_distinct_names,
    check_sign_assumptions,
    format_coordinates,
)
from pibls.geometry.checks.domain_protocol import check_domain
from pibls.geometry.faces.face import ON_FACE_TOLERANCE, Boundary, Face, draw_boundary
from pibls.geometry.faces.patch import Patch
from pibls.geometry.faces.sampled_face import SampledFace
from pibls.geometry.faces.surface import Surface
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, time_of
from pibls.geometry.shape import Shape, inside_condition
from pibls.runtime.caching import cached_property

_AREA_STEPS = 512


@dataclass(frozen=True, init=False, repr=False)
class Revolution(Shape):
    """The body of revolution of a profile in (r, z), r ≥ 0; its faces are owned by the shapes of the profile.

    >>> import sympy as sp, pibls
    >>> x, y, r, z = sp.symbols("x y r z")
    >>> torus = pibls.Disk((r, z), (2, 0), 1).revolved(x, y)
    >>> torus.coordinates, torus.bounds[0]
    ((x, y, z), (-3.0, 3.0))
    """

    profile: Domain
    across: tuple[Coordinate, Coordinate]

    def __init__(self, profile: Domain, x: Coordinate, y: Coordinate) -> None:
        check_domain(profile, "revolved: profile")
        if len(profile.coordinates) != 2 or time_of(profile) is not None:
            raise ProblemError(
                "revolved: profile",
                expected="a shape in the plane of (r, z)",
                got=f"a shape with {format_coordinates(profile.coordinates)}",
                remedy="Define the profile in two coordinates, the distance from the axis first.",
            )
        for symbol in (x, y):
            check_coordinate(symbol, "revolved(x, y)")
        check_distinct_names((x, y, profile.coordinates[1]), "revolved(x, y)")
        if profile.coordinates[0] in (x, y):
            raise ProblemError(
                "revolved(x, y)",
                expected=f"two symbols other than {profile.coordinates[0]}, the distance from the axis",
                got=format_coordinates((x, y)),
                remedy="Use another symbol for it: a profile in (r, z) becomes a body in (x, y, z).",
            )
        low, high = box_of(profile)[0]
        if low < -ON_FACE_TOLERANCE * (high - low):
            raise ProblemError(
                "revolved: profile",
                expected=f"{profile.coordinates[0]} >= 0, the distance from the axis",
                got=f"a shape that starts at {profile.coordinates[0]} = {low:g}",
                remedy="Cut it at the axis with shape & Box({r: (0, …), z: (…)}), or move it.",
            )
        object.__setattr__(self, "profile", profile)
        object.__setattr__(self, "across", (x, y))
        check_sign_assumptions((x, y), self.bounds[:2], "revolved(x, y)")

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return (*self.across, self.profile.coordinates[1])

    @property
    def bounds(self) -> tuple[tuple[float, float], ...]:
        (_, reach), (a, b) = box_of(self.profile).tolist()
        return ((-reach, reach), (-reach, reach), (a, b))

    @property
    def leaves(self) -> tuple[object, ...]:
        return (self, *leaves_of(self.profile))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        profile_faces = faces_of(self.profile)
        if not all(face.has_chart for face in profile_faces):
            return (SampledFace(self),)
        reach = self.bounds[0][1]
        return tuple(
            Patch(RevolvedFace(face))
            for face in profile_faces
            if face.dense_points()[:, 0].max() > ON_FACE_TOLERANCE * reach
        )

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        """Return n random points; profile points are accepted with a probability proportional to r."""
        found, reach = np.empty((0, 2)), self.bounds[0][1]
        while len(found) < n:
            P = np.asarray(self.profile.interior(2 * n + 16, rng), dtype=float)
            found = np.concatenate([found, P[rng.random(len(P)) * reach < P[:, 0]]])
        return _rotated(found[:n], rng.random(n))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        if self.faces[0].has_chart:
            return draw_boundary(self.faces, n, np.ones(3), rng)
        P, N, owners, reach = np.empty((0, 2)), np.empty((0, 2)), [], self.bounds[0][1]
        while len(P) < n:
            points, normals, point_owners = self.profile.boundary(2 * n + 16, rng)
            points, normals = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
            keep = rng.random(len(points)) * reach < points[:, 0]
            P, N = np.concatenate([P, points[keep]]), np.concatenate([N, normals[keep]])
            owners += [o for o, k in zip(point_owners, keep, strict=True) if k]
        turn = rng.random(n)
        return Boundary(_rotated(P[:n], turn), _rotated(N[:n], turn), tuple(owners[:n]))

    def contains(self, X: Array) -> Mask:
        return np.asarray(self.profile.contains(_to_profile(X)))

    @property
    def inside(self) -> Logical:
        x, y = self.across
        return inside_condition(self.profile).subs(self.profile.coordinates[0], sp.sqrt(x**2 + y**2))

    def __repr__(self) -> str:
        return f"({self.profile!r}).revolved({self.across[0]}, {self.across[1]})"


class RevolvedFace(Surface):
    """A revolved face of the profile with area-preserving parameters U = (angle, position along the face)."""

    is_closed = True

    def __init__(self, face: Face) -> None:
        self._face = face
        s = np.linspace(0.0, 1.0, _AREA_STEPS + 1)
        found = face.at(s[:, None])
        self.owner = found.owners[0]
        steps = np.linalg.norm(np.diff(found.points, axis=0), axis=1)
        area = np.concatenate([[0.0], np.cumsum(steps * 0.5 * (found.points[1:, 0] + found.points[:-1, 0]))])
        self._s, self._share = s, area / area[-1]

    def _profile_points(self, U: Array) -> Boundary:
        s = np.interp(U[:, 1], self._share, self._s)
        return self._face.at(s[:, None])

    def position(self, U: Array) -> Array:
        return _rotated(self._profile_points(U).points, U[:, 0])

    def normal(self, U: Array) -> Array:
        return _rotated(self._profile_points(U).normals, U[:, 0])

    def touches(self, X: Array, tolerance: Array) -> Mask:
        return self._face.touches(_to_profile(X), np.full(2, tolerance.max()))

    def normal_at(self, X: Array) -> Array | None:
        normals = self._face.normals(_to_profile(X))
        turn = np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi)
        return None if normals is None else _rotated(normals, turn)


def _rotated(P: Array, turn: Array) -> Array:
    """Return points or vectors (r, z), rotated about the z-axis by ``turn`` full turns, in (x, y, z)."""
    a = 2 * np.pi * turn
    return np.column_stack([P[:, 0] * np.cos(a), P[:, 0] * np.sin(a), P[:, 1]])


def _to_profile(X: Array) -> Array:
    return np.column_stack([np.hypot(X[:, 0], X[:, 1]), X[:, 2]])

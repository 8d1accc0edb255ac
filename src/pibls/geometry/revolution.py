"""{(x, y, z) : (√(x² + y²), z) ∈ Ω}: a body of revolution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.errors import ProblemError
from pibls.geometry.checks.arguments import coordinate, distinct, mentioned, signed_in
from pibls.geometry.checks.audit import check_domain
from pibls.geometry.faces.cloud import Cloud
from pibls.geometry.faces.face import ON, Boundary, Face, draw
from pibls.geometry.faces.patch import Patch
from pibls.geometry.faces.surface import Surface
from pibls.geometry.protocol import Domain, box_of, faces_of, leaves_of, time_of
from pibls.geometry.shape import Shape, inside_of

_STEPS = 512


@dataclass(frozen=True, init=False, repr=False)
class Revolution(Shape):
    """A profile in (r, z), r ≥ 0, turned about the z-axis. Each side belongs to the shape of the profile.

    >>> import sympy as sp, pibls
    >>> x, y, r, z = sp.symbols("x y r z")
    >>> torus = pibls.Disk((r, z), (2, 0), 1).revolved(x, y)
    >>> torus.coordinates, torus.bounds[0]
    ((x, y, z), (-3.0, 3.0))
    """

    profile: Domain
    across: tuple[Any, Any]

    def __init__(self, profile: Domain, x: Any, y: Any) -> None:
        check_domain(profile, "revolved: profile")
        if len(profile.coordinates) != 2 or time_of(profile) is not None:
            raise ProblemError(
                "revolved: profile",
                expected="a shape in the plane of (r, z)",
                got=f"one of {mentioned(profile.coordinates)}",
                remedy="Draw the profile with two coordinates, the distance from the axis first.",
            )
        for symbol in (x, y):
            coordinate(symbol, "revolved(x, y)")
        distinct((x, y, profile.coordinates[1]), "revolved(x, y)")
        if profile.coordinates[0] in (x, y):
            raise ProblemError(
                "revolved(x, y)",
                expected=f"two symbols other than {profile.coordinates[0]}, the distance from the axis",
                got=mentioned((x, y)),
                remedy="Name the distance r: a profile in (r, z) becomes a body in (x, y, z).",
            )
        low, high = box_of(profile)[0]
        if low < -ON * (high - low):
            raise ProblemError(
                "revolved: profile",
                expected=f"{profile.coordinates[0]} >= 0, the distance from the axis",
                got=f"a shape that begins at {profile.coordinates[0]} = {low:g}",
                remedy="Cut it at the axis: shape & Box({r: (0, …), z: (…)}), or move it.",
            )
        object.__setattr__(self, "profile", profile)
        object.__setattr__(self, "across", (x, y))
        signed_in((x, y), self.bounds[:2], "revolved(x, y)")

    @property
    def coordinates(self) -> tuple[Any, ...]:
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
        sides = faces_of(self.profile)
        if not all(face.has_chart for face in sides):
            return (Cloud(self),)
        reach = self.bounds[0][1]
        return tuple(Patch(Revolved(face)) for face in sides if face.dense()[:, 0].max() > ON * reach)

    def interior(self, n: int, rng: np.random.Generator) -> Array:
        """A point of the profile stands for a circle: the further out, the longer."""
        found, reach = np.empty((0, 2)), self.bounds[0][1]
        while len(found) < n:
            P = np.asarray(self.profile.interior(2 * n + 16, rng), dtype=float)
            found = np.concatenate([found, P[rng.random(len(P)) * reach < P[:, 0]]])
        return _around(found[:n], rng.random(n))

    def boundary(self, n: int, rng: np.random.Generator) -> Boundary:
        if self.faces[0].has_chart:
            return draw(self.faces, n, np.ones(3), rng)
        P, N, owners, reach = np.empty((0, 2)), np.empty((0, 2)), [], self.bounds[0][1]
        while len(P) < n:
            points, normals, whose = self.profile.boundary(2 * n + 16, rng)
            points, normals = np.asarray(points, dtype=float), np.asarray(normals, dtype=float)
            keep = rng.random(len(points)) * reach < points[:, 0]
            P, N = np.concatenate([P, points[keep]]), np.concatenate([N, normals[keep]])
            owners += [o for o, k in zip(whose, keep, strict=True) if k]
        turn = rng.random(n)
        return Boundary(_around(P[:n], turn), _around(N[:n], turn), tuple(owners[:n]))

    def contains(self, X: Array) -> Mask:
        return np.asarray(self.profile.contains(_flat(X)))

    @property
    def inside(self) -> Any:
        x, y = self.across
        return inside_of(self.profile).subs(self.profile.coordinates[0], sp.sqrt(x**2 + y**2))

    def __repr__(self) -> str:
        return f"({self.profile!r}).revolved({self.across[0]}, {self.across[1]})"


class Revolved(Surface):
    """A side of the profile, turned: U = (angle, place along the side), equal areas for equal parts of U."""

    closed = True

    def __init__(self, face: Face) -> None:
        self._face = face
        s = np.linspace(0.0, 1.0, _STEPS + 1)
        found = face.at(s[:, None])
        self.owner = found.owners[0]
        steps = np.linalg.norm(np.diff(found.points, axis=0), axis=1)
        area = np.concatenate([[0.0], np.cumsum(steps * 0.5 * (found.points[1:, 0] + found.points[:-1, 0]))])
        self._s, self._share = s, area / area[-1]

    def _below(self, U: Array) -> Boundary:
        s = np.interp(U[:, 1], self._share, self._s)
        return self._face.at(s[:, None])

    def position(self, U: Array) -> Array:
        return _around(self._below(U).points, U[:, 0])

    def normal(self, U: Array) -> Array:
        return _around(self._below(U).normals, U[:, 0])

    def on(self, X: Array, tolerance: Array) -> Mask:
        return self._face.touches(_flat(X), np.full(2, tolerance.max()))

    def normal_at(self, X: Array) -> Array | None:
        normals = self._face.normals(_flat(X))
        turn = np.arctan2(X[:, 1], X[:, 0]) / (2 * np.pi)
        return None if normals is None else _around(normals, turn)


def _around(P: Array, turn: Array) -> Array:
    """(r, z) at a share of the full turn, in space."""
    a = 2 * np.pi * turn
    return np.column_stack([P[:, 0] * np.cos(a), P[:, 0] * np.sin(a), P[:, 1]])


def _flat(X: Array) -> Array:
    return np.column_stack([np.hypot(X[:, 0], X[:, 1]), X[:, 2]])

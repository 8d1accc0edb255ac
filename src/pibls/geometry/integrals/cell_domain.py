"""The intersection Ω ∩ B of a domain with a cell, for integrals taken cell by cell."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pibls.arrays import Array, Mask
from pibls.expressions import Coordinate
from pibls.geometry.box import Box
from pibls.geometry.cell_clipping import is_in_cell
from pibls.geometry.faces.face import ON_FACE_TOLERANCE, Boundary, BoundaryFilter, Face
from pibls.geometry.protocol import Domain, box_of, faces_of, lengths_of, within
from pibls.geometry.shape import BuiltinDomain
from pibls.geometry.subdomains.subdomain import Subdomain
from pibls.runtime.caching import cached_property

_RELATIVE_MARGIN = 0.02  # of the cell: the ends of a clipped curve are only approximate
_TEST_PARAMETERS = np.linspace(0.0, 1.0, 129)


class CellDomain(BuiltinDomain):
    """The part Ω ∩ B of a domain in a cell; a point between two cells belongs to the upper one only."""

    def __init__(self, domain: Domain, box: Array) -> None:
        self.domain, self.box = domain, box
        self._step = ON_FACE_TOLERANCE * lengths_of(domain)
        self._cell = Box({s: (a, b) for s, (a, b) in zip(self.coordinates, box.tolist(), strict=True)})

    @property
    def bounds(self) -> Array:
        return self.box

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        return tuple(self.domain.coordinates)

    @cached_property
    def nearby_faces(self) -> tuple[Face, ...]:
        """The parts of the domain's faces in a slightly enlarged cell."""
        return self.clipped_faces(faces_of(self.domain))

    def clipped_faces(self, faces: tuple[Face, ...]) -> tuple[Face, ...]:
        """Return the parts of faces in a slightly enlarged cell."""
        enlarged = self._expanded_box(_RELATIVE_MARGIN)
        return tuple(part for face in faces for part in face.clipped(enlarged))

    def _expanded_box(self, fraction: float) -> Array:
        size = (self.box[:, 1] - self.box[:, 0])[:, None]
        return np.asarray(self.box + fraction * size * np.array([-1.0, 1.0]))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """The sides of the cell, and the domain's faces trimmed to the cell."""
        (low, high), nothing = self._expanded_box(ON_FACE_TOLERANCE).T, np.empty((0, len(self.box)))

        def inside(found: Boundary) -> Mask:
            return np.asarray(np.all((low <= found.points) & (found.points <= high), axis=1))

        return (
            *self._cell.faces,
            *(part for face in self.nearby_faces for part in face.trimmed(inside, nothing)),
        )

    @cached_property
    def is_crossed(self) -> bool:
        """Whether the boundary of the domain passes through the interior of the cell."""
        low, high = self._expanded_box(-ON_FACE_TOLERANCE).T
        for face in self.nearby_faces:
            X = face.at(_TEST_PARAMETERS[:, None]).points if face.dimension == 1 else face.dense_points()
            if np.any(np.all((low < X) & (high > X), axis=1)):
                return True
        return False

    def as_box(self) -> Box | None:
        """Return an uncrossed cell as a box if it lies in the domain, None if it lies outside."""
        middle = self.box.mean(axis=1)[None, :]
        return self._cell if bool(np.asarray(self.domain.contains(middle))[0]) else None

    def is_in_cell(self, X: Array) -> Mask:
        """Return which points belong to this cell."""
        return is_in_cell(X, self.box, self.domain)

    def contains(self, X: Array) -> Mask:
        return self.is_in_cell(X) & np.asarray(self.domain.contains(X), dtype=np.bool_)

    def is_on_boundary(self, found: Boundary) -> Mask:
        """Return which boundary points of the domain bound its part in the cell."""
        return self.is_in_cell(found.points - self._step * found.normals)


def boundary_faces(space: Domain) -> tuple[tuple[Face, ...], BoundaryFilter]:
    """Return the faces of a domain, and a filter of their points that bound it.

    Of a subdomain or a cell, the faces include points of the boundary of the whole domain.
    """
    if isinstance(space, CellDomain):
        return space.nearby_faces, space.is_on_boundary
    if not isinstance(space, Subdomain):
        return faces_of(space), lambda found: np.ones(len(found.points), dtype=np.bool_)
    size = float((space.bounds[:, 1] - space.bounds[:, 0]).min())
    return faces_of(space.domain), lambda found: space.is_in_subdomain(
        found.points - ON_FACE_TOLERANCE * size * found.normals
    )


def representative_point(space: Domain) -> Array:
    """Return one point of the domain, (1, d); for a cell that does not contain it, an empty array (0, d)."""
    if isinstance(space, CellDomain):
        X = _point_in(space.domain)
        return np.asarray(X[space.is_in_cell(X)])
    return _point_in(space)


def _point_in(domain: Domain) -> Array:
    """Return the centre of the bounds, or a random interior point if that lies outside, (1, d)."""
    X = np.asarray(box_of(domain).mean(axis=1)[None, :])
    if np.asarray(domain.contains(X)).all():
        return X
    return np.asarray(domain.interior(1, np.random.default_rng(0)), dtype=float)[:1]


def faces_near(space: Domain, faces: tuple[Face, ...]) -> tuple[tuple[Face, ...], Callable[[Array], Mask]]:
    """Return the faces, clipped if ``space`` is a cell, and a test of which points lie in ``space``."""
    if isinstance(space, CellDomain):
        return space.clipped_faces(faces), space.contains
    return faces, lambda X: within(space, X)

"""Ω ∩ B: what of a domain lies in a cell, for integrals that are taken cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pibls.arrays import Array, Mask
from pibls.caching import cached_property
from pibls.geometry.box import Box
from pibls.geometry.faces.face import ON, Boundary, Face, Keep
from pibls.geometry.frame import owned
from pibls.geometry.protocol import Domain, box_of, faces_of, lengths_of, within
from pibls.geometry.shape import FullyKnown
from pibls.geometry.subdomains.piece import Piece

_WIDER = 0.02  # of the cell: the ends of a clipped curve are found roughly, and must not be missed
_SEEN = np.linspace(0.0, 1.0, 129)


class Cut(FullyKnown):
    """Cells share nothing: a point on a face between two of them belongs to the upper one."""

    def __init__(self, domain: Domain, box: Array) -> None:
        self.domain, self.box, self.bounds = domain, box, box
        self.coordinates = tuple(domain.coordinates)
        self._step = ON * lengths_of(domain)
        self._cell = Box({s: (a, b) for s, (a, b) in zip(self.coordinates, box.tolist(), strict=True)})

    @cached_property
    def near(self) -> tuple[Face, ...]:
        """The parts of the domain's faces in the cell, and a little beyond."""
        return self.clipped(faces_of(self.domain))

    def clipped(self, faces: tuple[Face, ...]) -> tuple[Face, ...]:
        """The parts of some faces in the cell, and a little beyond."""
        wider = self._wider(_WIDER)
        return tuple(part for face in faces for part in face.clipped(wider))

    def _wider(self, share: float) -> Array:
        size = (self.box[:, 1] - self.box[:, 0])[:, None]
        return np.asarray(self.box + share * size * np.array([-1.0, 1.0]))

    @cached_property
    def faces(self) -> tuple[Face, ...]:
        """Its sides, and the domain's faces in it: where they cross its sides, they end."""
        (low, high), nothing = self._wider(ON).T, np.empty((0, len(self.box)))

        def inside(found: Boundary) -> Mask:
            return np.asarray(np.all((low <= found.points) & (found.points <= high), axis=1))

        return (*self._cell.faces, *(part for face in self.near for part in face.trimmed(inside, nothing)))

    @cached_property
    def is_crossed(self) -> bool:
        """Whether the boundary of the domain goes through the cell, and not along its sides."""
        low, high = self._wider(-ON).T
        for face in self.near:
            X = face.at(_SEEN[:, None]).points if face.dimension == 1 else face.dense()
            if np.any(np.all((low < X) & (high > X), axis=1)):
                return True
        return False

    def plain(self) -> Box | None:
        """The cell itself, where nothing crosses it; None where nothing of the domain is in it."""
        middle = self.box.mean(axis=1)[None, :]
        return self._cell if bool(np.asarray(self.domain.contains(middle))[0]) else None

    def located(self, X: Array) -> Mask:
        """Which points are in this cell and in no other."""
        return owned(X, self.box, self.domain)

    def contains(self, X: Array) -> Mask:
        return self.located(X) & np.asarray(self.domain.contains(X), dtype=np.bool_)

    def bounds_it(self, found: Boundary) -> Mask:
        """Which boundary points of the domain bound what lies in the cell."""
        return self.located(found.points - self._step * found.normals)


def bounded(space: Any) -> tuple[tuple[Face, ...], Keep]:
    """The faces of a domain, and which points of them bound it: of a piece and of a cell not all do."""
    if isinstance(space, Cut):
        return space.near, space.bounds_it
    if not isinstance(space, Piece):
        return faces_of(space), lambda found: np.ones(len(found.points), dtype=np.bool_)
    size = float((space.bounds[:, 1] - space.bounds[:, 0]).min())
    return faces_of(space.domain), lambda found: space.locates(found.points - ON * size * found.normals)


def middles(space: Any) -> Array:
    """One place of the domain, (1, d); of a cell only where that lies in it, else (0, d)."""
    if isinstance(space, Cut):
        X = _place(space.domain)
        return np.asarray(X[space.located(X)])
    return _place(space)


def _place(domain: Domain) -> Array:
    """The middle of its box, or any place where that is in a hole: no function is there, and no cell."""
    X = np.asarray(box_of(domain).mean(axis=1)[None, :])
    if np.asarray(domain.contains(X)).all():
        return X
    return np.asarray(domain.interior(1, np.random.default_rng(0)), dtype=float)[:1]


def around(space: Any, faces: tuple[Face, ...]) -> tuple[tuple[Face, ...], Callable[[Array], Mask]]:
    """Faces inside a domain as far as they lie near it, and which of their points are in it."""
    if isinstance(space, Cut):
        return space.clipped(faces), space.contains
    return faces, lambda X: within(space, X)

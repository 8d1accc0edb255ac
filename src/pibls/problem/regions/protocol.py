"""Where a statement holds: it places points, knows which points are its own, and says where it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.geometry import Boundary, Domain, Face
from pibls.geometry.integrals.gauss import Rule

if TYPE_CHECKING:
    from pibls.problem.regions.points import Points, PointSet


class Pen(Protocol):
    """A way of writing where something holds."""

    def relation(self, e: Any) -> str:
        """Where something holds."""

    def point(self, values: Mapping[Any, float]) -> str:
        """x = 0.5, y = 0."""

    def thing(self, value: object) -> str:
        """A Python object."""


class Region(ABC):
    """One kind of place. Most have one site, are not the interior, and have nothing of the boundary."""

    sites: int = 1
    """How many places a row connects: 2 for a pair of faces, else 1."""
    is_inside: bool = False
    """Whether it is the domain itself, where the equations hold."""
    is_boundary: bool = False
    """Whether it takes its share of the boundary from a condition without ``on``."""
    is_handed: bool = False
    """Whether it is where a window begins, with what the last one handed on."""
    is_sum: bool = False
    """Whether its points make rows together, which residuals of one name share: an integral."""
    is_rim: bool = False
    """Whether it is a curve or surface inside the domain."""
    relation: Any = None
    """The relation between coordinates that says which points are its own; None where none does."""
    by_owner: bool = False
    """Whether a face belongs to it as a whole or not at all: a face mostly has one owner."""
    faces: tuple[Any, ...] = ()
    """The curves or surfaces inside of the domain that it lies on."""
    is_whole_slice: bool = False
    """Whether it is all of the domain in its plane."""
    period: int | None = None
    """The axis along which the solution repeats, of a pair of faces."""

    @property
    def has_normal(self) -> bool:
        """Whether dn(u) means something there."""
        return False

    @property
    def continues(self) -> bool:
        """Whether it belongs to the condition of the statement before."""
        return False

    @abstractmethod
    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """Its points: of the whole domain, or of what lies in ``box`` (d, 2).

        The counts of ``points`` are then those of a box that is full. Where the boundary cuts the box, points
        inside are as many, as far as they are found; points of a boundary or a slice are as dense. What has
        nothing in the box has no points there. ``name`` is that of the condition, for what may go wrong.
        """

    @abstractmethod
    def follows(self, domain: Domain) -> bool:
        """Whether it holds at the start, or alike at every time: whether one can go forward in time."""

    @abstractmethod
    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        """Where it is, such as "on the boundary where x = 0"."""

    def is_divisible(self, domain: Domain) -> bool:
        """Whether cells can each take their part of it."""
        return True

    def rule_in(self, domain: Domain, box: Array, n: int) -> Rule:
        """Of an integral: points and weights in a cell of space, about n along each of its sides."""
        raise NotImplementedError

    def mask(self, boundary: Boundary) -> Mask:
        """Which boundary points are its own."""
        return np.zeros(len(boundary.points), dtype=np.bool_)

    def cuts(self, face: Face) -> Array:
        """Where along a face of one parameter it may begin or end."""
        return np.empty(0)

    def holds(self, X: Array) -> Mask:
        """Which of the points of the domain that lie in its plane are its own."""
        return np.ones(len(X), dtype=np.bool_)

    def plane(self) -> tuple[int, float] | None:
        """(axis, level) of a slice of the domain, else None."""
        return None

    def spots(self, domain: Domain) -> Array:
        """The single points it is made of, (n, d); none of a continuum."""
        return np.empty((0, len(domain.coordinates)))

    def without(self, taken: tuple[Any, ...]) -> Region:
        """What is left when others take their share; only a part of the boundary becomes less."""
        return self

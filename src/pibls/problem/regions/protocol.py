"""Where a statement holds: it places points, knows which points are its own, and says where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pibls.arrays import Array, Mask, Rng
from pibls.domain import Boundary, Domain
from pibls.domain.gauss import Rule

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


class Region(Protocol):
    """One kind of place. What is common to most of them stands in `Place`."""

    @property
    def sites(self) -> int:
        """How many places a row connects: 2 for a pair of faces, else 1."""

    @property
    def is_inside(self) -> bool:
        """Whether it is the domain itself, where the equations hold."""

    @property
    def is_boundary(self) -> bool:
        """Whether it takes its share of the boundary from a condition without ``on``."""

    @property
    def has_normal(self) -> bool:
        """Whether dn(u) means something there."""

    @property
    def is_handed(self) -> bool:
        """Whether it is where a window begins, with what the last one handed on."""

    @property
    def is_sum(self) -> bool:
        """Whether its points make rows together, which residuals of one name share: an integral."""

    def is_divisible(self, domain: Domain) -> bool:
        """Whether cells can each take their part of it."""

    def rule_in(self, domain: Domain, box: Array, n: int) -> Rule:
        """Of an integral: points and weights in a cell of space, about n along each of its sides."""

    @property
    def is_rim(self) -> bool:
        """Whether it is a curve or surface inside the domain."""

    @property
    def continues(self) -> bool:
        """Whether it belongs to the condition of the statement before."""

    def place(
        self, domain: Domain, points: Points, rng: Rng, box: Array | None = None, *, name: str = ""
    ) -> PointSet:
        """Its points: of the whole domain, or of what lies in ``box`` (d, 2).

        The counts of ``points`` are then those of a box that is full. Where the boundary cuts the box, points
        inside are as many, as far as they are found; points of a boundary or a slice are as dense. What has
        nothing in the box has no points there. ``name`` is that of the condition, for what may go wrong.
        """

    def mask(self, boundary: Boundary) -> Mask:
        """Which boundary points are its own."""

    def holds(self, X: Array) -> Mask:
        """Which of the points of the domain that lie in its plane are its own."""

    def plane(self) -> tuple[int, float] | None:
        """(axis, level) of a slice of the domain, else None."""

    @property
    def relation(self) -> Any:
        """The relation between coordinates that says which points are its own; None where none does."""

    @property
    def by_owner(self) -> bool:
        """Whether a face belongs to it as a whole or not at all: a face mostly has one owner."""

    @property
    def faces(self) -> tuple[Any, ...]:
        """The curves or surfaces inside of the domain that it lies on."""

    @property
    def is_whole_slice(self) -> bool:
        """Whether it is all of the domain in its plane."""

    @property
    def period(self) -> int | None:
        """The axis along which the solution repeats, of a pair of faces."""

    def spots(self, domain: Domain) -> Array:
        """The single points it is made of, (n, d); none of a continuum."""

    def follows(self, domain: Domain) -> bool:
        """Whether it holds at the start, or alike at every time: whether one can go forward in time."""

    def without(self, taken: tuple[Any, ...]) -> Region:
        """What is left when others take their share; only a part of the boundary becomes less."""

    def words(self, coordinates: tuple[Any, ...], pen: Pen) -> str:
        """Where it is, such as "on the boundary where x = 0"."""


class Place:
    """What most regions answer alike: one site, not the interior, nothing of the boundary."""

    sites = 1
    is_inside = False
    is_whole_slice = False
    period: int | None = None
    is_boundary = False
    is_sum = False
    is_rim = False
    is_handed = False
    relation: Any = None
    by_owner = False
    faces: tuple[Any, ...] = ()

    @property
    def continues(self) -> bool:
        return False

    def is_divisible(self, domain: Domain) -> bool:
        return True

    def rule_in(self, domain: Domain, box: Array, n: int) -> Rule:
        raise NotImplementedError

    @property
    def has_normal(self) -> bool:
        return False

    def mask(self, boundary: Boundary) -> Mask:
        return np.zeros(len(boundary.points), dtype=np.bool_)

    def holds(self, X: Array) -> Mask:
        return np.ones(len(X), dtype=np.bool_)

    def plane(self) -> tuple[int, float] | None:
        return None

    def spots(self, domain: Domain) -> Array:
        return np.empty((0, len(domain.coordinates)))

    def without(self, taken: tuple[Any, ...]) -> Any:
        return self

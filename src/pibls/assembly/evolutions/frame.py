r"""n₁ × n₂ × … rows: how the rows of an evolution on a box are products of points along its coordinates."""

from __future__ import annotations

from dataclasses import dataclass

from pibls.arrays import Array
from pibls.basis.polynomials.strand import Strand


@dataclass(frozen=True)
class Side:
    """A side across a coordinate, at one end, with the numbers of points along all of them."""

    axis: int
    end: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Frame:
    """How the rows of an evolution on a box are products of lines."""

    strands: tuple[Strand, ...]
    """The functions along each coordinate."""
    half: Array
    order: tuple[int, ...]
    """For each equation the unknown that it determines."""
    orders: tuple[tuple[int, ...], ...]
    """Along each coordinate, of each unknown."""
    asked: tuple[tuple[int, ...], ...]
    """How many conditions there are at the ends: along each coordinate, of each unknown."""
    conditions: tuple[tuple[int, tuple[Side, ...]], ...]
    """The unknown of each condition, and its sides in the order of its rows."""

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(s.size for s in self.strands)

    @property
    def repeated(self) -> tuple[bool, ...]:
        return tuple(s.repeats for s in self.strands)

    def points(self, k: int, i: int) -> Array:
        """As many points along a coordinate as there are functions.

        First those at which the equation of an unknown is held. One without conditions is held at the points
        of the others, and at the ends.
        """
        return self.strands[i].held(self.asked[i][k] or max(self.asked[i]))

    def held(self, k: int) -> list[Array]:
        """The points along each coordinate at which the equation of an unknown is held."""
        return [self.points(k, i)[: self.count(k, i)] for i in range(len(self.sizes))]

    def count(self, k: int, i: int) -> int:
        """How many those are."""
        return self.sizes[i] if self.repeated[i] else self.sizes[i] - self.asked[i][k]

    def weights(self, k: int) -> list[Array]:
        """Of a rule at these points, along each coordinate."""
        return [s.weights(self.asked[i][k]) for i, s in enumerate(self.strands)]

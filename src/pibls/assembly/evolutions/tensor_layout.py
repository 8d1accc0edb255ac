r"""Tensor-product layout of the rows of an evolution on a box."""

from __future__ import annotations

from dataclasses import dataclass

from pibls.arrays import Array
from pibls.basis.polynomials.basis_1d import Basis1D


@dataclass(frozen=True)
class Side:
    """A side of the box at one end of a coordinate, with the numbers of points along all coordinates."""

    axis: int
    end: int
    counts: tuple[int, ...]


@dataclass(frozen=True)
class TensorLayout:
    """How the rows of an evolution on a box are tensor products of points along its coordinates."""

    axis_bases: tuple[Basis1D, ...]
    """The basis along each coordinate."""
    half_lengths: Array
    equation_unknowns: tuple[int, ...]
    """The unknown that each equation determines."""
    orders: tuple[tuple[int, ...], ...]
    """The order in space: along each coordinate, per unknown."""
    condition_counts: tuple[tuple[int, ...], ...]
    """The number of conditions at the ends: along each coordinate, per unknown."""
    conditions: tuple[tuple[int, tuple[Side, ...]], ...]
    """The unknown of each condition, and its sides in the order of its rows."""

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(s.size for s in self.axis_bases)

    @property
    def periodic(self) -> tuple[bool, ...]:
        return tuple(s.periodic for s in self.axis_bases)

    def points(self, k: int, i: int) -> Array:
        """Return as many points along a coordinate as there are functions, for the equation of unknown k.

        The collocation points of the equation come first. An equation of an unknown without conditions is
        collocated at the points of the others and at the ends.
        """
        return self.axis_bases[i].collocation_points(
            self.condition_counts[i][k] or max(self.condition_counts[i])
        )

    def equation_points(self, k: int) -> list[Array]:
        """Return the collocation points of the equation of an unknown along each coordinate."""
        return [self.points(k, i)[: self.equation_point_count(k, i)] for i in range(len(self.sizes))]

    def equation_point_count(self, k: int, i: int) -> int:
        """Return the number of these points along coordinate i."""
        return self.sizes[i] if self.periodic[i] else self.sizes[i] - self.condition_counts[i][k]

    def quadrature_weights(self, k: int) -> list[Array]:
        """Return quadrature weights at these points along each coordinate."""
        return [s.weights(self.condition_counts[i][k]) for i, s in enumerate(self.axis_bases)]

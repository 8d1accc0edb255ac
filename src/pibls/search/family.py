r"""N ↦ basis: families of functions, each at any width with the scale that the width demands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Protocol

from pibls.basis import BasisSpec, Broad, Features, Joined, Ridges, Waves
from pibls.basis.scale import scale_for
from pibls.basis.waves import few_coordinates
from pibls.space import Decomposed

_LOW_SHARE = 0.6  # of the nodes, in four dimensions and more, for functions of one or two coordinates
_LEAST_GROUP = 8
_IN_CELL = {1: (24, 128), 2: (64, 256), 3: (160, 500)}  # nodes: fewer resolve nothing, more cost too much


class Family(Protocol):
    """Functions of one kind, at any width."""

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        """At most ``nodes`` functions, at ``shrink`` times the scale of the scale-width rule."""

    def neighbours(self) -> list[Family]:
        """Families of the same kind that differ in one respect."""

    def further(self, before: Family) -> list[Family]:
        """One more step in the direction that led here from ``before``."""


@dataclass(frozen=True)
class WaveFamily:
    """Waves with |w| ≤ R(N, d), stretched per coordinate."""

    stretch: tuple[float, ...]

    @classmethod
    def isotropic(cls, dimension: int) -> WaveFamily:
        return cls((1.0,) * dimension)

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        d = len(self.stretch)
        subsets = few_coordinates(d) if d > 3 else []
        each = 2 * int(_LOW_SHARE * nodes / (2 * len(subsets))) if subsets else 0
        if each < _LEAST_GROUP:
            subsets, each = [], 0
        dense = nodes - each * len(subsets)
        radius = shrink * scale_for("waves", max(dense, 32), d)
        groups = tuple((c, each, shrink * scale_for("waves", max(each, 32), len(c))) for c in subsets)
        return Waves(dense, tuple(radius * s for s in self.stretch), groups)

    def leaning(self, axis: int, factor: float) -> WaveFamily:
        """More frequencies along one coordinate, fewer along the others.

        The volume of the band, and with it the numerical rank, stays the same.
        """
        others = factor ** (-1.0 / (len(self.stretch) - 1))
        return WaveFamily(tuple(s * (factor if i == axis else others) for i, s in enumerate(self.stretch)))

    def neighbours(self) -> list[Family]:
        if len(self.stretch) == 1:
            return []
        return [self.leaning(axis, 2.0) for axis in range(len(self.stretch))]

    def further(self, before: Family) -> list[Family]:
        if not isinstance(before, WaveFamily):
            return []
        return [WaveFamily(tuple(a * a / b for a, b in zip(self.stretch, before.stretch, strict=True)))]


@dataclass(frozen=True)
class RidgeFamily:
    """Ridge functions of one activation with their centres all over the domain."""

    activation: str
    dimension: int

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        scale = shrink * scale_for(self.activation, nodes, self.dimension)
        return Features(nodes, scale, self.activation)

    def neighbours(self) -> list[Family]:
        return []

    def further(self, before: Family) -> list[Family]:
        return []


@dataclass(frozen=True)
class BroadFamily:
    """The paper's basis, half feature nodes and half enhancement nodes."""

    dimension: int

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        half = nodes // 2
        scale = shrink * scale_for("tanh", max(half, 32), self.dimension)
        return Broad(1, half, 1, nodes - half, scale=scale, whiten=True)

    def neighbours(self) -> list[Family]:
        return []

    def further(self, before: Family) -> list[Family]:
        return []


@dataclass(frozen=True)
class CellFamily:
    """Waves in each cell of a grid: for what is rough in places. A front costs a cell's width cubed."""

    cells: tuple[int, ...]

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        cells, (least, most) = self.cells, _IN_CELL[len(self.cells)]
        while nodes // prod(cells) > most:
            cells = tuple(c + 1 for c in cells)
        while nodes // prod(cells) < least and max(cells) > 1:
            cells = tuple(max(c - 1, 1) for c in cells)
        local = nodes // prod(cells) // 2 * 2
        return Decomposed(cells, WaveFamily.isotropic(len(cells)).spec(local, shrink))

    def neighbours(self) -> list[Family]:
        finer = [tuple(c + 1 for c in self.cells)]
        if len(self.cells) > 1:
            finer += [
                tuple(c + (i == axis) for i, c in enumerate(self.cells)) for axis in range(len(self.cells))
            ]
        return [CellFamily(cells) for cells in finer]

    def further(self, before: Family) -> list[Family]:
        if not isinstance(before, CellFamily):
            return self.neighbours()
        return [CellFamily(tuple(2 * a - b for a, b in zip(self.cells, before.cells, strict=True)))]


@dataclass(frozen=True)
class LocalFamily:
    """Half waves, half ridges up to the steepness ``reach`` around places of large residual."""

    dimension: int
    reach: float
    centres: tuple[tuple[float, ...], ...]

    def spec(self, nodes: int, shrink: float = 1.0) -> BasisSpec:
        ridges = Ridges(nodes // 2, max(shrink * self.reach, 1.0), self.centres)
        waves = WaveFamily.isotropic(self.dimension).spec(nodes - nodes // 2, shrink)
        return Joined((waves, ridges))

    def around(self, centres: tuple[tuple[float, ...], ...]) -> LocalFamily:
        """The same around other places."""
        return replace(self, centres=centres)

    def neighbours(self) -> list[Family]:
        return []

    def further(self, before: Family) -> list[Family]:
        return []

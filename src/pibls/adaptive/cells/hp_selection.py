r"""h against p: a tree of cells with so many functions in each, and which of the two is to be changed.

Halving a cell multiplies the coefficient of degree n by about 2⁻ⁿ, and makes 2ᵃ cells of it along a axes.
More functions take the spectrum on from where it ends, as fast as it has been falling: cheap where the
solution is smooth or oscillates, useless where the cell resolves nothing yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.adaptive.cells.hybridized import Reference
from pibls.adaptive.thresholds import DEFAULT, SIZES
from pibls.arrays import Array
from pibls.assembly.hybridized.traces import degree_of
from pibls.caching import cached_property
from pibls.spaces import Cells, CellTree, Node
from pibls.spaces.spectrum import degree_in

NODES = {1: (24, 32), 2: (64, 128, 256, 400, 700), 3: (160, 250, 500, 1000)}
"""Functions that a cell may have."""


def first_level(tol: float) -> int:
    """Where the numbers of functions begin."""
    return int(tol < DEFAULT.tight)


@lru_cache(maxsize=64)
def work(nodes: int, d: int) -> float:
    """(N + 2d f)³: what the elimination of a cell takes, f being the coefficients of a face."""
    f = 2 * math.comb(degree_of(nodes, d) + d - 1, d - 1)
    return float(nodes + 2 * d * f) ** 3


def waves_in(nodes: int, d: int, tol: float) -> float:
    """Wavelengths that a cell resolves: J_D(z) ≈ (ez/2D)^D is small beyond the degree D, z = π per wave."""
    degree = degree_in(nodes, d)
    return float(2.0 * degree / math.e * (SIZES.phase * tol) ** (1.0 / degree) / math.pi)


def grid_for(waves: Array, tol: float, most: float) -> tuple[int, tuple[int, ...]] | None:
    """The number of functions (its place among all) and the grid of cells that resolve waves with least work.

    ``most`` limits the functions of all cells together.
    """
    d, found = len(waves), []
    for level in range(first_level(tol), len(NODES[d])):
        nodes = NODES[d][level]
        counts = tuple(max(math.ceil(n / waves_in(nodes, d, tol)), 1) for n in waves)
        if math.prod(counts) * nodes <= most:
            found.append((math.prod(counts) * work(nodes, d), level, counts))
    return min(found)[1:] if found else None


@dataclass(frozen=True)
class Sized:
    """A tree of cells, and for each cell the place of its number of functions among all."""

    tree: CellTree
    levels: tuple[int, ...]

    @classmethod
    def even(cls, tree: CellTree, level: int) -> Sized:
        return cls(tree, (level,) * len(tree))

    def __len__(self) -> int:
        return len(self.tree)

    @property
    def dimension(self) -> int:
        return len(self.tree.box)

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Functions of each cell."""
        return tuple(NODES[self.dimension][level] for level in self.levels)

    @property
    def work(self) -> float:
        return sum(work(n, self.dimension) for n in self.nodes)

    def over(self, references: Mapping[int, Reference], unknowns: int, frames: Array) -> Cells:
        """The waves of the reference cells in the frame of every cell."""
        pairs = zip(self.levels, frames, strict=True)
        return Cells(self.tree, tuple(references[level].on(box, unknowns) for level, box in pairs))

    def divided(self, division: Callable[[int, Array], Node]) -> Sized:
        """Some cells divided; their parts have as many functions as they had."""
        tree = self.tree.refine(division)
        where = self.tree.locate(tree.boxes.mean(axis=2))
        return Sized(tree, tuple(self.levels[i] for i in where))

    def raised(self, cells: set[int]) -> Sized:
        """More functions in some cells."""
        return Sized(self.tree, tuple(level + (i in cells) for i, level in enumerate(self.levels)))

    def wants_more(self, cell: int, tails: Array, axes: list[int], fall: float, missing: float) -> bool:
        """Whether more functions promise more than halves along these axes, at the same price.

        The spectrum, which ends with these tails, falls by ``fall`` digits per degree; ``missing`` digits are
        wanted.
        """
        d, level = self.dimension, self.levels[cell]
        if level + 1 >= len(NODES[d]):
            return False
        now, then = NODES[d][level], NODES[d][level + 1]
        degree = degree_in(now, d)
        more = fall * (degree_in(then, d) - degree)
        halved = math.log10(2.0) * degree
        others = np.delete(tails, axes).max(initial=0.0)
        if others > 0:  # then these are what is left
            halved = min(halved, math.log10(tails.max() / others))
        price = 2.0 ** (SIZES.growth[d] * len(axes)) - 1.0
        return bool(min(more, missing) * price > min(halved, missing) * (work(then, d) / work(now, d) - 1.0))


def functions(sized: Sized) -> int:
    """Of all cells together."""
    return int(np.sum(sized.nodes))

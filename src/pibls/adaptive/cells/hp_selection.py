r"""hp-selection: trees of cells with a number of functions per cell, and the choice between h and p.

The number of functions of a cell is given by its size level, an index into the list `CELL_NODES`.

Halving a cell multiplies the coefficient of degree n by about 2⁻ⁿ, and makes 2ᵃ cells along a axes. More
functions extend the spectrum at its present rate of decay: cheap where the solution is smooth or oscillates,
useless where the cell resolves nothing yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pibls.adaptive.hybridized import ReferenceCell
from pibls.adaptive.thresholds import DEFAULT, HP_SELECTION
from pibls.arrays import Array
from pibls.assembly.hybridized.face_traces import trace_degree
from pibls.runtime.caching import cached_property
from pibls.spaces import CellSpace, CellTree, Node
from pibls.spaces.spectral_tail import resolved_degree

CELL_NODES = {2: (64, 128, 256, 400, 700), 3: (160, 250, 500, 1000)}
"""Numbers of functions that a cell may have, by dimension; a size level is an index into these."""


def initial_size_level(tol: float) -> int:
    """Return the size level of the first cells for a tolerance."""
    return int(tol < DEFAULT.tight_tol)


@lru_cache(maxsize=64)
def cell_work(nodes: int, d: int) -> float:
    """Return (N + 2d f)³, the work of eliminating a cell with f coefficients per face."""
    f = 2 * math.comb(trace_degree(nodes, d) + d - 1, d - 1)
    return float(nodes + 2 * d * f) ** 3


def resolved_wavelengths(nodes: int, d: int, tol: float) -> float:
    """Return the wavelengths that a cell resolves: J_D(z) ≈ (ez/2D)^D at degree D, z = π per wave."""
    degree = resolved_degree(nodes, d)
    return float(2.0 * degree / math.e * (HP_SELECTION.wave_tolerance * tol) ** (1.0 / degree) / math.pi)


def wave_grid(waves: Array, tol: float, most: float) -> tuple[int, tuple[int, ...]] | None:
    """Return the size level and the grid of cells that resolve waves with the least work.

    ``waves`` holds the number of wavelengths along each axis; ``most`` limits the functions of all cells
    together.
    """
    d, found = len(waves), []
    for level in range(initial_size_level(tol), len(CELL_NODES[d])):
        nodes = CELL_NODES[d][level]
        counts = tuple(max(math.ceil(n / resolved_wavelengths(nodes, d, tol)), 1) for n in waves)
        if math.prod(counts) * nodes <= most:
            found.append((math.prod(counts) * cell_work(nodes, d), level, counts))
    return min(found)[1:] if found else None


@dataclass(frozen=True)
class SizedTree:
    """A tree of cells with the size level of each cell."""

    tree: CellTree
    size_levels: tuple[int, ...]

    @classmethod
    def uniform(cls, tree: CellTree, size_level: int) -> SizedTree:
        return cls(tree, (size_level,) * len(tree))

    def __len__(self) -> int:
        return len(self.tree)

    @property
    def dimension(self) -> int:
        return len(self.tree.box)

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """Number of functions of each cell."""
        return tuple(CELL_NODES[self.dimension][level] for level in self.size_levels)

    @property
    def work(self) -> float:
        return sum(cell_work(n, self.dimension) for n in self.nodes)

    def cell_space(self, references: Mapping[int, ReferenceCell], unknowns: int, frames: Array) -> CellSpace:
        """Return the space with the reference functions of its size level in every clipped cell."""
        pairs = zip(self.size_levels, frames, strict=True)
        return CellSpace(self.tree, tuple(references[level].on(box, unknowns) for level, box in pairs))

    def divided(self, division: Callable[[int, Array], Node]) -> SizedTree:
        """Divide some cells; their parts keep the size level."""
        tree = self.tree.refine(division)
        where = self.tree.locate(tree.boxes.mean(axis=2))
        return SizedTree(tree, tuple(self.size_levels[i] for i in where))

    def with_more_functions(self, cells: set[int]) -> SizedTree:
        """Raise the size level of some cells by one."""
        return SizedTree(self.tree, tuple(level + (i in cells) for i, level in enumerate(self.size_levels)))

    def prefers_more_functions(
        self, cell: int, tails: Array, axes: list[int], fall: float, missing: float
    ) -> bool:
        """Whether more functions gain more digits per work than halving along these axes.

        The spectrum ends with ``tails`` and decays by ``fall`` digits per degree; ``missing`` digits are
        required.
        """
        d, level = self.dimension, self.size_levels[cell]
        if level + 1 >= len(CELL_NODES[d]):
            return False
        now, then = CELL_NODES[d][level], CELL_NODES[d][level + 1]
        degree = resolved_degree(now, d)
        more = fall * (resolved_degree(then, d) - degree)
        halved = math.log10(2.0) * degree
        others = np.delete(tails, axes).max(initial=0.0)
        if others > 0:  # the tails along the other axes remain
            halved = min(halved, math.log10(tails.max() / others))
        price = 2.0 ** (HP_SELECTION.cost_exponent[d] * len(axes)) - 1.0
        return bool(
            min(more, missing) * price > min(halved, missing) * (cell_work(then, d) / cell_work(now, d) - 1.0)
        )


def function_count(sized: SizedTree) -> int:
    """Return the number of functions of all cells together."""
    return int(np.sum(sized.nodes))

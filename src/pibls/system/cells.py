r"""r_c(w_c) in each cell, T_c w_c - P λ = 0 on each face: the system of a space of cells.

Each cell is a small system of its own, with its own points and functions; faces hold them together
(`traces`). The matrix has one part per cell and one per face, and is eliminated cell by cell, then face by
face from the leaves of the tree to its root.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from pibls.arrays import Array
from pibls.linalg.blocks import Blocks, Strip
from pibls.problem import Region
from pibls.problem.lowering import LoweredProblem
from pibls.space import Cells, Space
from pibls.space.tree import Numbers
from pibls.system.points import PointSet
from pibls.system.system import System, assemble
from pibls.system.traces import Tied


@dataclass(frozen=True)
class CellSystem:
    """What `System` is, in cells; w holds the coefficients of all cells, then those of all faces."""

    space: Cells
    systems: tuple[System, ...]
    ties: tuple[Tied, ...]
    is_linear: bool
    strips: tuple[Strip, ...] = field(repr=False)
    """The rows that tie cells to faces: they depend on neither data nor solution."""
    groups: tuple[tuple[int, ...], ...] = field(repr=False)
    """The parts of the matrix in the order of elimination."""

    @classmethod
    def of(
        cls,
        lowered: LoweredProblem,
        points: Sequence[Mapping[Region, PointSet]],
        space: Cells,
        ties: Sequence[Tied],
    ) -> CellSystem:
        """``points`` are those of each cell."""
        systems = []
        for here, part in zip(points, space.parts, strict=True):
            found = {region: chosen for region, chosen in here.items() if len(chosen)}
            local = tuple(r for r in lowered.residuals if r.region in found)
            systems.append(assemble(replace(lowered, residuals=local), found, part))
        strips = []
        cells = len(space.parts)
        for number, tied in enumerate(ties):
            low, high = tied.joint.low, tied.joint.high
            sides = tied.rows(space.parts[low], space.parts[high])
            strips += [
                Strip((cell, cells + number), side) for cell, side in zip((low, high), sides, strict=True)
            ]
        order = space.tree.groups([t.joint for t in ties])
        groups = [(c,) for c in range(cells)] + [tuple(cells + i for i in group) for group in order]
        return cls(space, tuple(systems), tuple(ties), lowered.is_linear, tuple(strips), tuple(groups))

    @cached_property
    def _columns(self) -> tuple[Numbers, ...]:
        widths = [p.columns for p in self.space.parts] + [t.columns for t in self.ties]
        ends = np.cumsum([0, *widths])
        return tuple(np.arange(a, b, dtype=np.intp) for a, b in pairwise(ends))

    @cached_property
    def shape(self) -> tuple[int, int]:
        rows = sum(s.shape[0] for s in self.systems) + sum(map(len, self.strips))
        return rows, sum(map(len, self._columns))

    def _parts(self, w: Array) -> list[Array]:
        return [w[a:b] for a, b in pairwise(self.space.starts)]

    @cached_property
    def _jumps(self) -> Array:
        """How much each row of the strips is to be: nothing, but where a source lives on the face."""
        parts = [side for t in self.ties for side in (np.zeros(t.jumps.size), t.jumps.ravel())]
        return np.concatenate(parts) if parts else np.empty(0)

    @cached_property
    def _tied(self) -> Blocks:
        return Blocks(self.strips, self._columns)

    def residual(self, w: Array) -> Array:
        """r(w), (rows,)."""
        local = [s.residual(mine) for s, mine in zip(self.systems, self._parts(w), strict=True)]
        return np.concatenate([*local, self._tied @ w - self._jumps])

    def jacobian(self, w: Array) -> Blocks:
        """J(w), (rows, columns)."""
        return self.linearise(self.values(w))[0]

    def values(self, w: Array) -> Array:
        """v: the nonlinear jets at the points, where the solution enters nonlinearly."""
        return np.concatenate([s.values(mine) for s, mine in zip(self.systems, self._parts(w), strict=True)])

    def values_of(self, space: Space, w: Array) -> Array:
        """v of the function with coefficients w in any space."""
        return np.concatenate([s.values_of(space, w) for s in self.systems])

    def level(self, u: float) -> Array:
        """v of the constant function u."""
        return np.concatenate([s.level(u) for s in self.systems])

    def linearise(self, v: Array) -> tuple[Blocks, Array]:
        """J and b of the system linearised about v: its solution is the next w."""
        strips, targets, start = [], [], 0
        for cell, system in enumerate(self.systems):
            stop = start + system.nonlinear_values
            J, b = system.linearise(v[start:stop])
            start = stop
            strips.append(Strip((cell,), (J,)))
            targets.append(b)
        matrix = Blocks((*strips, *self.strips), self._columns, self.groups)
        return matrix, np.concatenate([*targets, self._jumps])

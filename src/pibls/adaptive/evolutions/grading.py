r"""More cells or more functions where a spectrum has not fallen, fewer where nothing is left to resolve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pibls.adaptive.edges import moved_edges, towards_ends
from pibls.adaptive.evolutions.line_mesh import Places
from pibls.adaptive.evolutions.resolution import Resolution, waves_from
from pibls.adaptive.thresholds import DEFAULT, LINES, WAYS
from pibls.arrays import Array
from pibls.basis.polynomials.strand import WHOLE
from pibls.spaces import CellTree, Node, crossed, graded


@dataclass(frozen=True)
class Grading:
    """The resolutions that an evolution goes through."""

    places: Places
    pieces: bool = False
    """Whether the sides of a box are divided."""

    def first(self, functions: int, waves: bool) -> Resolution:
        """What is tried first: ``functions`` in a cell on a line, or ``waves`` all round a period."""
        places = self.places
        repeated = tuple(yes and waves for yes in places.repeated)
        bench = places.bench
        tree = CellTree.cut(bench.box, [p for p in bench.lowered.interfaces.planes if p[0] != places.axis])
        if len(places.free) == 1:
            return Resolution(tree, (LINES.waves_first if repeated[0] else functions,), repeated)
        return Resolution(tree, tuple(LINES.product_first[yes] for yes in repeated), repeated)

    @staticmethod
    def finer(found: Resolution) -> Resolution:
        """The same cells with a few functions more, for the second solution.

        On a ring a fifth more: with two more, what a seam leaves out was left out by both, and the estimate
        of a soliton was 1.1 times its error.
        """
        if found.edges:  # from the middle of one piece to the middle of the next
            return _pieces(found, [moved_edges(e, set()) for e in found.edges], found.strands[0].degrees)
        ring = found.repeated == (True,)
        sizes = tuple(waves_from(1.2 * n) if ring else n + 2 for n in found.sizes)
        return Resolution(found.tree, sizes, found.repeated)

    @staticmethod
    def _is_piece(found: Resolution) -> bool:
        """Whether there are no cells, but more functions where more is needed."""
        return any(found.repeated) or len(found.sizes) > 1

    def refined(self, found: Resolution, across: Array, residual: Array) -> Resolution | None:
        """More of what is not enough, where it is not enough; None where there is no more.

        ``across`` (cells, axes) and ``residual`` (cells,) are above one where they are too large.
        """
        unknowns = self.places.bench.lowered.unknowns
        if self.pieces and max(found.sizes) > self._degrees(found):
            divided = self._divided(found, across, 1.0)
            if divided is not None or found.edges:
                return divided
        if self._is_piece(found):
            sizes = []
            for i, (n, yes) in enumerate(zip(found.sizes, found.repeated, strict=True)):
                needs = across[:, i].max() > 1.0 or (across.max() <= 1.0 and residual.max() > 1.0)
                more = waves_from(1.4 * n) if yes else n + max(n // 4, 2)
                sizes.append(more if needs else n)
            most = LINES.most_waves if len(sizes) == 1 else 1.5 * LINES.whole / unknowns
            if self.places.is_apart:
                most = LINES.most_framed[len(sizes)] / unknowns
            if int(np.prod(sizes)) > most:
                return None
            return Resolution(found.tree, tuple(sizes), found.repeated)
        needs_it = np.maximum(across[:, 0], residual if across.max() <= 1.0 else 0.0)
        axis = self.places.free[0]

        def division(number: int, box: Array) -> Node:
            return crossed([(axis, float(box[axis].mean()))]) if needs_it[number] > 1.0 else None

        tree = found.tree.refine(division)
        return None if len(tree) > LINES.most_cells else Resolution(tree, found.sizes, found.repeated)

    def steeper(self, found: Resolution, across: Array) -> Resolution:
        """The hardest cells divided; those at a side or at a face of a material towards it, at once."""
        if self._is_piece(found):
            return self._towards_walls(found, across)
        axis, bench = self.places.free[0], self.places.bench
        box = bench.box[axis]
        ends = {*map(float, box), *(level for i, level in bench.lowered.interfaces.planes if i == axis)}
        mark = LINES.hardest * float(across.max())

        def division(number: int, cell: Array) -> Node:
            if across[number, 0] < mark or np.ptp(cell[axis]) < DEFAULT.shortest * np.ptp(box):
                return None
            touching = [end for end in map(float, cell[axis]) if end in ends]
            if len(touching) != 1:
                return crossed([(axis, float(cell[axis].mean()))])
            place = np.full(len(cell), touching[0])
            return graded(cell, [axis], place, LINES.levels)

        return Resolution(found.tree.refine(division), found.sizes, found.repeated)

    def _towards_walls(self, found: Resolution, across: Array) -> Resolution:
        """Pieces become smaller towards the walls of a box; one of n polynomials resolves layers of 1/n²."""
        if self.places.framed is None:
            return found
        if self.pieces:
            return self._divided(found, across, LINES.hardest * float(across.max())) or found
        most = LINES.layered[len(found.sizes)]
        sizes = tuple(n if yes else max(n, most) for n, yes in zip(found.sizes, found.repeated, strict=True))
        return Resolution(found.tree, sizes, found.repeated)

    def _degrees(self, found: Resolution) -> int:
        """How many polynomials a piece has."""
        bench = self.places.bench
        return found.strands[0].degrees if found.edges else WAYS.functions[bench.tol < bench.limits.tight]

    def _divided(self, found: Resolution, across: Array, limit: float) -> Resolution | None:
        """Pieces of more than the limit divided: at the walls towards them, others in the middle."""
        framed = self.places.framed
        assert framed is not None
        bench, edges, n = self.places.bench, [], self._degrees(found)
        for i, e in enumerate(found.edges or [WHOLE] * len(found.sizes)):
            at = np.arange(len(e) - 1)
            hard = (across[: len(at), i] > limit) & (np.diff(e) > DEFAULT.shortest)
            low, high = hard & (at == 0), hard & (at == len(at) - 1)
            halved = hard & ~(low | high)
            edges.append(towards_ends(e, low, high, halved))
        most = LINES.most_framed[len(edges)] / bench.lowered.unknowns
        made = _pieces(replace(found, orders=framed.joints), edges, n)
        return made if made.functions <= most and made.edges != found.edges else None

    def coarser(self, found: Resolution, across: Array, tail: float) -> Resolution:
        """Pieces joined again, at the walls first, that have nothing left to resolve."""
        edges = []
        for i, e in enumerate(found.edges):
            small = across[: len(e) - 1, i] < LINES.joined * tail
            out = {
                *([1] if len(e) > 2 and small[:2].all() else []),
                *([len(e) - 2] if len(e) > 2 and small[-2:].all() else []),
            }
            edges.append(tuple(x for p, x in enumerate(e) if p not in out))
        return _pieces(found, edges, found.strands[0].degrees) if edges else found

    def joined(self, found: Resolution, across: Array, tail: float) -> Resolution:
        """Cells joined again where nothing is left to resolve."""
        if self._is_piece(found) or len(found.tree) == 1:
            return found
        small = tail * LINES.joined * 2.0 ** (-0.75 * found.sizes[0])
        kept = set(self.places.bench.lowered.interfaces.planes)
        tree = found.tree.merge(
            lambda i, j, plane: plane not in kept and bool(max(across[i, 0], across[j, 0]) < small)
        )
        return Resolution(tree, found.sizes, found.repeated)


def _pieces(found: Resolution, edges: Sequence[tuple[float, ...]], n: int) -> Resolution:
    """Other pieces, of n polynomials each."""
    sizes = tuple((len(e) - 1) * (n - m) + m for e, m in zip(edges, found.orders, strict=True))
    return replace(found, sizes=sizes, edges=tuple(edges))

r"""A binary tree of axis-parallel cells over a bounding box (a k-d tree).

A cell is a leaf; a plane that divides a box is a branch. Two cells are neighbours if their boxes share a face
of positive area; their sizes may differ. The tree also defines the order of elimination: faces between two
halves are eliminated last (nested dissection).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from pibls.arrays import Array, Indices
from pibls.runtime.caching import cached_property

Side = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Branch:
    """A division at the plane x_axis = level: ``low`` has x_axis < level, ``high`` the rest."""

    axis: int
    level: float
    low: Node
    high: Node


Node = Branch | None
"""None is a leaf."""


@dataclass(frozen=True)
class SharedFace:
    """A face shared by the cells ``low`` and ``high``, normal to ``axis``; ``box`` (d, 2) is its extent.

    ``shift`` is the offset along the axis from the face of the lower cell to that of the upper cell: zero
    between neighbours, minus the period between the two ends of a periodic coordinate.
    """

    low: int
    high: int
    axis: int
    box: Array
    shift: float = 0.0


@dataclass(frozen=True)
class CellTree:
    """A box and its division; cells are numbered from low to high sides."""

    box: Side
    root: Node = None

    @classmethod
    def single_cell(cls, box: Array) -> CellTree:
        """Return the tree of one cell."""
        return cls(tuple((float(a), float(b)) for a, b in box))

    @classmethod
    def divided_at(cls, box: Array, planes: Sequence[tuple[int, float]]) -> CellTree:
        """Return a box divided at these planes (axis, level)."""
        return cls.single_cell(box).refine(lambda _, b: divided_at_planes(planes))

    @classmethod
    def grid(cls, box: Array, counts: tuple[int, ...]) -> CellTree:
        """Return counts[i] equal cells along each axis, by recursive bisection."""
        tree = cls.single_cell(box)
        edges = [np.linspace(a, b, n + 1) for (a, b), n in zip(tree.box, counts, strict=True)]

        def divide(ranges: tuple[tuple[int, int], ...]) -> Node:
            lengths = [stop - start for start, stop in ranges]
            axis = int(np.argmax(lengths))
            if lengths[axis] <= 1:
                return None
            start, stop = ranges[axis]
            middle = (start + stop) // 2
            halves = [
                divide(tuple(part if i == axis else r for i, r in enumerate(ranges)))
                for part in ((start, middle), (middle, stop))
            ]
            return Branch(axis, float(edges[axis][middle]), *halves)

        return cls(tree.box, divide(tuple((0, n) for n in counts)))

    def _walk(self, node: Node, box: Side, path: tuple[int, ...]) -> Iterator[tuple[Side, tuple[int, ...]]]:
        if node is None:
            yield box, path
            return
        for side, child in enumerate((node.low, node.high)):
            yield from self._walk(child, _half(box, node, side), (*path, side))

    @cached_property
    def _leaves(self) -> tuple[tuple[Side, tuple[int, ...]], ...]:
        return tuple(self._walk(self.root, self.box, ()))

    @cached_property
    def boxes(self) -> Array:
        """All cells, (M, d, 2)."""
        return np.array([box for box, _ in self._leaves])

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """For each cell, the sides (0 low, 1 high) taken from the root to it."""
        return tuple(path for _, path in self._leaves)

    def __len__(self) -> int:
        return len(self._leaves)

    def refine(self, division: Callable[[int, Array], Node]) -> CellTree:
        """Return the tree with each cell divided by ``division(number, box)``."""
        count = iter(range(len(self)))

        def visit(node: Node, box: Side) -> Node:
            if node is None:
                return division(next(count), np.array(box))
            low, high = (visit(c, _half(box, node, s)) for s, c in enumerate((node.low, node.high)))
            return Branch(node.axis, node.level, low, high)

        return CellTree(self.box, visit(self.root, self.box))

    def merge(self, joined: Callable[[int, int, tuple[int, float]], bool]) -> CellTree:
        """Return the tree with the two cells of a branch merged if ``joined(low, high, plane)`` is true."""
        count = iter(range(len(self)))

        def visit(node: Node) -> tuple[Node, int | None]:
            if node is None:
                return None, next(count)
            (low, i), (high, j) = visit(node.low), visit(node.high)
            if i is not None and j is not None and joined(i, j, (node.axis, node.level)):
                return None, None
            return Branch(node.axis, node.level, low, high), None

        return CellTree(self.box, visit(self.root)[0])

    def with_extent(self, axis: int, low: float, high: float) -> CellTree:
        """Return the same divisions with another extent along an axis that is not divided."""
        box = tuple((low, high) if i == axis else side for i, side in enumerate(self.box))
        return CellTree(box, self.root)

    def locate(self, X: Array) -> Indices:
        """Return the cell of each point; a point on a face belongs to the upper cell."""
        out = np.zeros(len(X), dtype=np.intp)
        count = 0

        def visit(node: Node, rows: Indices) -> None:
            nonlocal count
            if node is None:
                out[rows] = count
                count += 1
                return
            above = X[rows, node.axis] >= node.level
            visit(node.low, rows[~above])
            visit(node.high, rows[above])

        visit(self.root, np.arange(len(X), dtype=np.intp))
        return out

    def shared_faces(self, periodic: tuple[int, ...] = ()) -> list[SharedFace]:
        """Return all faces shared by two cells, including those between the ends of periodic axes."""
        boxes, out = self.boxes, []
        for axis, (a, b) in enumerate(self.box):
            out += _faces_between(boxes, axis, boxes[:, axis, 1], 0.0)
            if axis in periodic:
                out += _faces_between(boxes, axis, np.where(boxes[:, axis, 1] == b, a, np.nan), a - b)
        return out

    def elimination_groups(self, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
        """Return the indices of pairs of cells, grouped by their common branch, deepest branches first."""
        by_branch: dict[tuple[int, ...], list[int]] = {}
        for number, (low, high) in enumerate(pairs):
            one, two = self.paths[low], self.paths[high]
            depth = next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), len(one))
            by_branch.setdefault(one[:depth], []).append(number)
        return [by_branch[path] for path in sorted(by_branch, key=lambda p: (-len(p), p))]


def _faces_between(boxes: Array, axis: int, ends: Array, shift: float) -> list[SharedFace]:
    """Return the faces between cells that end at ``ends`` and cells that begin there, sorted by both cells.

    Only cells at the same level are compared: M^(3/2) pairs in the plane instead of M².
    """
    begins, found = boxes[:, axis, 0], []
    others = [i for i in range(boxes.shape[1]) if i != axis]
    for level in np.intersect1d(ends[~np.isnan(ends)], begins):
        lows, highs = np.flatnonzero(ends == level), np.flatnonzero(begins == level)
        start = np.maximum(boxes[lows][:, None, :, 0], boxes[highs][None, :, :, 0])
        stop = np.minimum(boxes[lows][:, None, :, 1], boxes[highs][None, :, :, 1])
        for i, j in zip(*np.nonzero((stop > start)[:, :, others].all(axis=2)), strict=True):
            box = np.stack([start[i, j], stop[i, j]], axis=1)
            box[axis] = boxes[lows[i], axis, 1]
            found.append(SharedFace(int(lows[i]), int(highs[j]), axis, box, float(shift)))
    return sorted(found, key=lambda joint: (joint.low, joint.high))


def divided_at_planes(planes: Sequence[tuple[int, float]]) -> Node:
    """Return a cell divided at all of these planes (axis, level), axis by axis, the median plane first."""
    if not planes:
        return None
    axis = planes[0][0]
    own = sorted(level for other, level in planes if other == axis)
    level = own[len(own) // 2]
    rest = [p for p in planes if p != (axis, level)]
    within = [[p for p in rest if p[0] != axis or (p[1] < level) == low] for low in (True, False)]
    return Branch(axis, level, divided_at_planes(within[0]), divided_at_planes(within[1]))


def graded_node(box: Array, axes: Sequence[int], point: Array, levels: int) -> Node:
    """Return a box halved along some axes, with the part that contains ``point`` halved ``levels`` times."""
    if levels == 0:
        return None

    def divide(left: list[int], here: Array, holds: bool) -> Node:
        if not left:
            return graded_node(here, axes, point, levels - 1) if holds else None
        axis, *rest = left
        middle = float(here[axis].mean())
        parts = []
        for side in (0, 1):
            half = here.copy()
            half[axis, 1 - side] = middle
            parts.append(divide(rest, half, holds and bool((point[axis] >= middle) == side)))
        return Branch(axis, middle, parts[0], parts[1])

    return divide(list(axes), box, True)


def graded_tree(box: Array, points: Array, levels: int) -> CellTree:
    """Return a box with cells no larger than their distance from the ``points``, in ``levels`` levels."""
    tree = CellTree.single_cell(box)
    least = 1e-9 * (box[:, 1] - box[:, 0])
    for point in points:

        def through(_: int, here: Array, point: Array = point) -> Node:
            if np.any((point < here[:, 0]) | (point > here[:, 1])):
                return None
            inner = [
                (i, float(p))
                for i, p in enumerate(point)
                if here[i, 0] + least[i] < p < here[i, 1] - least[i]
            ]
            return divided_at_planes(inner)

        def towards(_: int, here: Array, point: Array = point) -> Node:
            if np.any((point < here[:, 0] - least) | (point > here[:, 1] + least)):
                return None
            # If the point is at the end of a side, move it inside so that it is in one half.
            middle = here.mean(axis=1)
            inwards = point + np.where(point < middle, least, -least)
            return graded_node(here, range(len(here)), inwards, levels)

        tree = tree.refine(through).refine(towards)
    return tree


def _half(box: Side, node: Branch, side: int) -> Side:
    low, high = box[node.axis]
    part = (low, node.level) if side == 0 else (node.level, high)
    return tuple(part if i == node.axis else ends for i, ends in enumerate(box))
